"""The methods that are compared where the labels are numbers: the mean, ridge, regressors of the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from specmargin import estimators
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.tables.assessment.measurement import labeled_rows
from specmargin.tables.assessment.methods import FittedMethod, Method, estimators_of
from specmargin.typing import AnyArray, Matrix

__all__ = ["Numbers", "choose_regressors"]

_NUMBERS = ("ridge", "mean", "SpectralFilterRegressor", "LapRLSRegressor")
"""What is compared by default where the labels are numbers; all others are compared with the first."""


class Numbers(Method):
    """The mean, ridge regression on the labelled rows, or a regressor of the package: for labels that are numbers."""

    def __init__(self, name: str) -> None:
        self.name, self.title = name, {"ridge": "ridge (supervised)", "mean": "mean of the labels"}.get(name, name)
        self.is_supervised = name in ("ridge", "mean")

    def fit(self, X: Matrix, codes: AnyArray, seed: int) -> FittedMethod:
        """Fit to labels with nan for unlabelled rows; what tunes itself is tuned on the labels alone."""
        from sklearn.dummy import DummyRegressor
        from sklearn.linear_model import RidgeCV

        known = labeled_rows(codes)
        if not self.is_supervised:
            return FittedMethod(getattr(estimators, self.name)().fit(X, codes), "its defaults")
        if self.name == "mean":
            return FittedMethod(DummyRegressor().fit(np.zeros((len(known), 1)), codes[known]), "")
        ridge = RidgeCV(np.logspace(-3, 5, 17)).fit(X[known], codes[known])
        return FittedMethod(ridge, f"alpha = {ridge.alpha_:.3g}")


def choose_regressors(methods: Sequence[Any] | str | None) -> list[Method]:
    """Return the methods of names, the standard ones for None; ridge, which all are compared with, comes first.

    Examples
    --------
    >>> [method.name for method in choose_regressors("mean, lapRLSRegressor")]
    ['ridge', 'mean', 'LapRLSRegressor']
    """
    known = {name.lower(): name for name in (*_NUMBERS, *estimators_of(RegressorMixin))}
    wanted = [name.strip() for name in methods.split(",")] if isinstance(methods, str) else (methods or _NUMBERS)
    for one in wanted:
        if not isinstance(one, str) or one.lower() not in known:
            raise InvalidInputError(
                f"methods names {shown(one)}, which fits no numbers; take some of {', '.join(known.values())}."
            )
    return [Numbers(name) for name in dict.fromkeys(("ridge", *(known[one.lower()] for one in wanted)))]
