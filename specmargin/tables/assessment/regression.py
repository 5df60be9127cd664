"""The methods that are compared where the labels are numbers: the mean, ridge, regressors of the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from specmargin import estimators
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.tables.assessment.methods import FittedMethod, Method, Supervised, estimators_of
from specmargin.typing import AnyArray, Matrix

__all__ = ["Numbers", "choose_regressors"]

_NUMBERS = ("ridge", "mean", "SpectralFilterRegressor", "LapRLSRegressor")
"""What is compared by default where the labels are numbers; all others are compared with the first."""


class Numbers(Method):
    """A regressor of the package by its name, with its defaults; what tunes itself is tuned on the labels alone."""

    def __init__(self, name: str) -> None:
        self.name = self.title = name

    def fit(self, X: Matrix, codes: AnyArray, seed: int) -> FittedMethod:
        """Fit to labels with nan for unlabelled rows."""
        return FittedMethod(getattr(estimators, self.name)().fit(X, codes), "its defaults")


def _mean(X: Matrix, numbers: AnyArray, seed: int) -> tuple[Any, str]:
    from sklearn.dummy import DummyRegressor

    return DummyRegressor().fit(np.zeros((len(numbers), 1)), numbers), ""


def _ridge(X: Matrix, numbers: AnyArray, seed: int) -> tuple[Any, str]:
    from sklearn.linear_model import RidgeCV

    ridge = RidgeCV(np.logspace(-3, 5, 17)).fit(X, numbers)
    return ridge, f"alpha = {ridge.alpha_:.3g}"


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
    own = {"ridge": ("ridge (supervised)", _ridge), "mean": ("mean of the labels", _mean)}
    names = dict.fromkeys(("ridge", *(known[one.lower()] for one in wanted)))
    return [Supervised(name, *own[name]) if name in own else Numbers(name) for name in names]
