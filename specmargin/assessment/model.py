"""A fitted classifier of tables: preparation of the columns, estimator and classes, saved without pickle."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from specmargin.assessment.methods import FittedMethod
from specmargin.assessment.predictions import Predictions
from specmargin.assessment.preparation import Preparation
from specmargin.assessment.table import as_table
from specmargin.objectives.calibration import class_probabilities
from specmargin.typing import AnyArray, FloatArray

__all__ = ["TableModel"]


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A classifier for tables with the same columns as those that it was fitted to.

    Parameters
    ----------
    preparation : Preparation
        From columns to features.
    fitted : FittedMethod
        The estimator, fitted to codes of the classes.
    classes_ : ndarray of shape (K,)
        Objects.
    scale : float
        Of decisions that are no probabilities.
    name : str
        Of the method.
    target : str
        Name of the labels.
    """

    preparation: Preparation
    fitted: FittedMethod
    classes_: AnyArray
    scale: float = 1.0
    name: str = ""
    target: str = "y"

    @property
    def estimator(self) -> Any:
        """The estimator on prepared features, fitted to the codes 0, 1, ... of ``classes_``."""
        return self.fitted.estimator

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities (m, K) of the rows of a table."""
        features = self.preparation.transform(as_table(X))
        scores = self.fitted.scores(features, len(self.classes_))
        p = np.exp(scores) if self.fitted.is_calibrated else class_probabilities(self.scale * scores)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> AnyArray:
        """Return the classes (m,) of the rows of a table."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predictions(self, X: Any, labels: AnyArray | None = None) -> Predictions:
        """Return classes and probabilities of the rows of a table, next to the labels that it has."""
        p = self.predict_proba(X)
        return Predictions(self.classes_, p, np.full(len(p), None, dtype=object) if labels is None else labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which holds arrays and JSON and no pickle."""
        from specmargin.exceptions import InvalidInputError

        raise InvalidInputError(f"path={path!r}: saving comes later.")

    def __repr__(self) -> str:
        return f"TableModel({self.name}: {self.fitted.chosen}; classes {self.classes_.tolist()})"
