"""Rows with weights, as squares of labelled samples have them: their mean, the rows apart from it, the complement."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla

from specmargin.arrays import finite_numbers
from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray

__all__ = ["centred_basis", "checked_weights", "less_mean", "weighted_mean"]


def checked_weights(values: Any, l: int) -> FloatArray | None:
    """Return weights of l labelled samples as an array of positive numbers; None where there are none."""
    if values is None:
        return None
    weights = np.asarray(values, dtype=np.float64)
    if weights.shape != (l,):
        raise InvalidInputError(
            f"weights have the shape {weights.shape}, but {l} samples are labelled; pass one positive number for each."
        )
    finite_numbers("weights", weights, "positive numbers, one per labelled sample", least=0.0)
    if not (weights > 0).all():
        raise InvalidInputError("weights hold a zero; leave out the labelled samples whose loss does not count.")
    return weights


def weighted_mean(rows: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the mean of rows by weights, () of (l,) or (K,) of (l, K), where None is ones.

    Examples
    --------
    >>> rows, weights = np.array([1.0, 4.0]), np.array([2.0, 1.0])
    >>> float(weighted_mean(rows, weights)), float(weighted_mean(rows, None))
    (2.0, 2.5)
    """
    if weights is None:
        return np.asarray(rows.mean(axis=0))
    heaviest = rows[weights.argmax()]  # equal rows are met exactly
    return np.asarray(heaviest + np.average(rows - heaviest, axis=0, weights=weights))


def less_mean(rows: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return rows less their `weighted_mean`; what is left of a row that outweighs all others keeps its digits.

    Examples
    --------
    >>> less_mean(np.array([1.0, 4.0]), np.array([2e20, 1.0])).tolist()
    [-1.5e-20, 3.0]
    """
    if weights is None:
        return np.asarray(rows - rows.mean(axis=0))
    apart = rows - rows[weights.argmax()]
    return np.asarray(apart - np.average(apart, axis=0, weights=weights))


def centred_basis(l: int, weights: FloatArray | None) -> FloatArray:
    """Return orthonormal columns (l, l - 1) that are orthogonal to the roots of the weights, where None is ones.

    Examples
    --------
    >>> weights = np.array([4.0, 1.0])
    >>> abs(centred_basis(2, weights)[:, 0]).round(6).tolist()  # the roots are 2 and 1
    [0.447214, 0.894427]
    """
    return np.asarray(sla.helmert(l).T if weights is None else sla.qr(np.sqrt(weights)[:, None])[0][:, 1:])
