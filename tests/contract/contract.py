"""Does a cell keep its promise? `verdict` says why not."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from contract_estimators import Cell
from sklearn.exceptions import NotFittedError

from specmargin.exceptions import InvalidInputError, SingleClassWarning, SpecmarginError

REMEDY = re.compile(
    r"\b(add|ask|build|call|check|choose|clip|download|drop|fill|give|impute|keep|label|leave|lower|make|merge|must be|"
    r"name|needs?|pass|put|raise|replace|reshape|scale|set|take|use|write|iterate|show)\b",
    re.IGNORECASE,
)
"""What to do: an imperative."""
COMMANDS = ("specmargin.experiments", "specmargin.cli")
"""What is called from the command line, whose errors are texts."""
SAID = (InvalidInputError, NotFittedError, SpecmarginError)


NO_ENTRY = {
    "SolveResult",
    "Status",
    "Certificate",
    "SolverError",
    "DataNotFoundError",
    "graphs.Laplacian",
    "graphs.Components",
    "kernels.DeformedKernel",
    "kernels.KernelMap",
    "kernels.KernelOperator",
    "kernels.LandmarkFeatures",
    "kernels.is_semidefinite",
    "kernels.kernel_rows",
    "kernels.kernel_trace",
    "kernels.require_semidefinite",
    "spectra.Spectrum",
    "problems.BuiltProblem",
    "problems.Form",
    "problems.Recovered",
    "problems.as_cvxpy",
    "problems.conjugate_as_cvxpy",
    "problems.default_solvers",
    "objectives.ClusteringBasis",
    "objectives.Cone",
    "objectives.Features",
    "objectives.FixedSpectrum",
    "objectives.ProductCone",
    "objectives.Reduction",
    "objectives.RelativeMargin",
    "objectives.S3VMRelaxation",
    "objectives.SpectrumCone",
    "objectives.SpectrumPoint",
    "objectives.WeightedSVM",
    "datasets.Dataset",
    "datasets.make_clock",
    "datasets.mnist_pair",
    "plots.decision_colormap",
    "plots.method_styles",
    "plots.save",
    "plots.style",
    "plots.subplots",
    "plots.DecisionDisplay",
}
"""Public names that are answers, or are built by the package for itself, or take nothing that could be bad."""


def verdict(cell: Cell) -> str | None:
    """Return what is wrong, or None."""
    promise = cell.promise
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = _state()
        try:
            answer = cell.run()
        except SAID as error:
            return _refusal(cell, error)
        except Exception as error:
            return f"unpromised {type(error).__module__}.{type(error).__name__}: {str(error)[:300]}"
        if _state() != before:
            return "drew from numpy's global random state"
    if promise.outcome == "refused":
        return f"accepted: {_shown(answer)}"
    if promise.warning is not None and not any(
        issubclass(one.category, promise.warning) and re.search(promise.says, str(one.message)) for one in caught
    ):
        return (
            f"no {promise.warning.__name__} that matches {promise.says!r}: {[str(one.message)[:80] for one in caught]}"
        )
    return _answer(cell, answer, caught)


def _state() -> tuple[bytes, int]:
    _, key, position, *_ = np.random.get_state()  # noqa: NPY002
    return key.tobytes(), int(position)


def _refusal(cell: Cell, error: Exception) -> str | None:
    text = str(error)
    if cell.promise.outcome not in ("refused", "either"):
        return f"refused, though an answer is promised: {type(error).__name__}: {text[:300]}"
    if not REMEDY.search(text):
        return f"names no remedy: {text[:300]}"
    if cell.promise.outcome == "refused" and not re.search(cell.promise.says, text, re.DOTALL):
        return f"does not match {cell.promise.says!r}: {text[:300]}"
    return None


def _answer(cell: Cell, answer: Any, caught: list[Any]) -> str | None:
    values, fitted = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
    wrong = _not_finite(values) or (_not_finite(getattr(fitted, "scores_", None)) if fitted is not None else None)
    if wrong:
        return wrong
    if fitted is not None and hasattr(fitted, "transduction_"):
        one = len(set(fitted.transduction_.tolist())) < 2
        if one and not any(issubclass(warning.category, SingleClassWarning) for warning in caught):
            return "silently one class for all"
    if cell.promise.outcome == "same" and cell.reference is not None:
        expected = cell.reference()
        expected = expected[0] if isinstance(expected, tuple) and len(expected) == 2 else expected
        mine, theirs = _numbers(values), _numbers(expected)
        if mine.shape != theirs.shape:
            return f"another shape than with the plain input: {mine.shape}, {theirs.shape}"
        if not np.allclose(mine, theirs, rtol=1e-5, atol=1e-5):
            return f"differs from the answer to the plain input by {np.abs(mine - theirs).max():.1e}"
    return None


def _numbers(value: Any) -> np.ndarray:
    value = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
    return value.astype(float) if value.dtype.kind in "biuf" else np.unique(value, return_inverse=True)[1].astype(float)


def _not_finite(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return None
    if sp.issparse(value):
        value = value.data
    with np.errstate(all="ignore"):
        array = np.asarray(value) if not hasattr(value, "toarray") else value.toarray()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return f"silently not finite: {np.count_nonzero(~np.isfinite(array))} of {array.size} numbers"
    return None


def _shown(answer: Any) -> str:
    return " ".join(repr(answer).split())[:160]
