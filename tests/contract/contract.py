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
    r"\b(add|ask|build|call|check|choose|clip|count|download|draw|drop|fill|give|impute|keep|label|leave|lower|make|"
    r"merge|must be|name|needs?|pass|put|raise|replace|reshape|scale|set|take|try|use|write|iterate|show)\b",
    re.IGNORECASE,
)
"""What to do: an imperative."""
SAME_TO = 1e-6
"""How far the answer to the same numbers may be away, relative to the larger of 1 and the largest number of it."""
SAID = (InvalidInputError, NotFittedError, SpecmarginError)


ANSWERS = """
Certificate Comparison Diagnosis Sensitivity SolveResult SolverError Status graphs.Components
graphs.LaplacianOperator kernels.DeformedKernel kernels.KernelMap kernels.LandmarkFeatures labels.Labels
labels.Targets Verification objectives.ClusteringBasis objectives.SpectrumPoint problems.BuiltProblem problems.Recovered
spectra.FilterBank
"""
INSIDE = """
kernels.kernel_rows
kernels.kernel_trace kernels.require_semidefinite labels.several losses.Pieces losses.better_label
losses.is_better_label objectives.ProductCone objectives.Reduction
"""
WITHOUT_INPUT = """
datasets.make_clock kernels.Cosine kernels.Kernel kernels.KernelOperator
kernels.Linear kernels.Precomputed losses.Hinge losses.Loss losses.MarginLoss losses.SmoothLoss
losses.Squared losses.SquaredHinge losses.SymmetricHinge losses.SymmetricSquaredHinge losses.UnlabeledLoss
objectives.Cone objectives.Objective plots.decision_colormap plots.style problems.BlockForm
problems.Form problems.default_solvers spectra.GraphFilters
"""
NO_ENTRY = frozenset(f"{ANSWERS} {INSIDE} {WITHOUT_INPUT}".split())
"""Public names without a cell: what functions return; what the package calls with what it checked itself (arrays of
`kernels.as_kernel`, parts of an objective, rows of a sweep); what takes no argument, protocols and base classes."""


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
    _, key, position, *_ = np.random.get_state()  # noqa: NPY002 - the global stream is what is looked at
    return key.tobytes(), int(position)


def _refusal(cell: Cell, error: Exception) -> str | None:
    text = str(error)
    if cell.promise.outcome not in ("refused", "either"):
        return f"refused, though an answer is promised: {type(error).__name__}: {text[:300]}"
    if not REMEDY.search(text):
        return f"names no remedy: {text[:300]}"
    if cell.promise.outcome == "refused":
        for what, pattern in (("name the value", cell.promise.value), ("say", cell.promise.says)):
            if not re.search(pattern, text, re.DOTALL):
                return f"does not {what}, {pattern!r}: {text[:300]}"
    return None


def _answer(cell: Cell, answer: Any, caught: list[Any]) -> str | None:
    values, fitted = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
    wrong = _not_finite(values) or (_not_finite(getattr(fitted, "scores_", None)) if fitted is not None else None)
    if wrong:
        return wrong
    if fitted is not None and hasattr(fitted, "classes_") and hasattr(fitted, "transduction_"):
        one = len(set(fitted.transduction_.tolist())) < 2
        if one and not any(issubclass(warning.category, SingleClassWarning) for warning in caught):
            return "silently one class for all"
    if cell.promise.outcome == "same" and cell.reference is not None:
        expected = cell.reference()
        expected = expected[0] if isinstance(expected, tuple) and len(expected) == 2 else expected
        mine, theirs = _numbers(values), _numbers(expected)
        if mine.shape != theirs.shape:
            return f"another shape than with the plain input: {mine.shape}, {theirs.shape}"
        apart = np.abs(mine - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0))
        if not apart <= SAME_TO:
            return f"differs from the answer to the plain input by {apart:.1e} of the largest number"
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
