"""The form of a problem that has decisions, whichever objective it is of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from specmargin.exceptions import InvalidTypeError
from specmargin.objectives import RMM, LapSVM, SpectralRidge, SpectrumMargin
from specmargin.problems.base import BuiltProblem
from specmargin.problems.lapsvm import lapsvm_primal
from specmargin.problems.relative_margin import rmm_primal
from specmargin.problems.spectral_ridge import spectral_ridge_primal
from specmargin.problems.spectrum_margin import storm

__all__ = ["primal"]

_BUILDERS: dict[type, Callable[[Any], BuiltProblem]] = {
    LapSVM: lapsvm_primal,
    RMM: rmm_primal,
    SpectralRidge: spectral_ridge_primal,
    SpectrumMargin: lambda obj: storm(obj, "primal"),
}


def primal(obj: Any) -> BuiltProblem:
    """Build the problem of an objective in the form whose ``expressions`` have the decisions.

    They are those of all samples; of `RMM`, which knows no others, those of the labelled ones.

    Parameters
    ----------
    obj : LapSVM, LapRLS, RMM, SpectrumMargin or SpectralRidge
        The objective; the problem is that of `lapsvm_primal`, `rmm_primal`, `storm` or `spectral_ridge_primal`.

    Returns
    -------
    BuiltProblem

    Raises
    ------
    TypeError
        If there is no such form of the problem.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> obj = sm.objectives.LapSVM(np.eye(3), None, sm.encode_labels([0, 1, -1]))
    >>> sm.problems.primal(obj).expressions["decisions"].shape
    (3,)
    """
    for kind, build in _BUILDERS.items():
        if isinstance(obj, kind):
            return build(obj)
    known = ", ".join(kind.__name__ for kind in _BUILDERS)
    raise InvalidTypeError(
        f"no problem of {type(obj).__name__} has decisions in CVXPY; pass an objective of these: {known}."
    )
