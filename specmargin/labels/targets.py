"""Numbers to be predicted, of which a part is known: `Targets`, for regression."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.labels.markers import label_array, missing_values
from specmargin.typing import FloatArray, IntArray

__all__ = ["Targets", "encode_targets"]

_LARGEST = 1e100
"""Squares of targets, times their number, stay far below the largest double."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of the labelled samples.

    Parameters
    ----------
    values : ndarray of shape (l,) or (l, n_outputs)
        Finite.
    labeled : ndarray of shape (l,)
        Increasing indices of the labelled samples.
    n_samples : int
        Labelled and unlabelled samples together.
    weights : ndarray of shape (l,), optional
        Weights of the losses, > 0; None where all are one.
    """

    values: FloatArray
    labeled: IntArray
    n_samples: int
    weights: FloatArray | None = None

    @property
    def n_labeled(self) -> int:
        """Number of labelled samples, l."""
        return len(self.labeled)

    @property
    def columns(self) -> FloatArray:
        """The values with a column per output, (l, n_outputs)."""
        return self.values[:, None] if self.values.ndim == 1 else self.values

    def weighted(self, weights: FloatArray) -> Targets:
        """Return the targets with weights of their losses, of which those of weight zero are unlabelled samples.

        Parameters
        ----------
        weights : ndarray of shape (l,)
            Finite, >= 0.

        Raises
        ------
        ValueError
            If all are zero.

        Examples
        --------
        >>> targets = encode_targets([0.5, float("nan"), 2.0, 1.0]).weighted(np.array([2.0, 0.0, 1.0]))
        >>> targets.values.tolist(), targets.labeled.tolist(), targets.weights.tolist()
        ([0.5, 1.0], [0, 3], [2.0, 1.0])
        """
        kept = np.flatnonzero(weights > 0)
        if len(kept) == 0:
            raise InvalidInputError("all labelled samples have the weight zero; give one of them a positive weight.")
        c = weights[kept]
        return replace(
            self, values=self.values[kept], labeled=self.labeled[kept], weights=None if (c == 1.0).all() else c
        )

    def shaped(self, columns: FloatArray) -> FloatArray:
        """Return an array whose last axis has an entry per output, without that axis where y had one dimension."""
        return columns[..., 0] if self.values.ndim == 1 else columns


def encode_targets(y: npt.ArrayLike) -> Targets:
    """Read numbers, of which NaN (None, ``pandas.NA``, masked) are those of unlabelled samples, into `Targets`.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, n_outputs)
        Targets; with several outputs a sample has all of them, or none.

    Raises
    ------
    ValueError
        If no sample is labelled, a number is infinite or beyond 1e100, or a sample lacks some of its outputs.

    Examples
    --------
    >>> targets = encode_targets([0.5, float("nan"), 2.0])
    >>> targets.values.tolist(), targets.labeled.tolist()
    ([0.5, 2.0], [0, 2])
    """
    given = label_array(y)
    if given.ndim not in (1, 2) or 0 in given.shape:
        raise InvalidInputError(f"y has the shape {given.shape}; pass one number per sample, or a column per output.")
    array = _numbers(given)
    hidden = np.isnan(array)
    unlabeled = hidden if array.ndim == 1 else hidden.all(axis=1)
    if array.ndim == 2 and (hidden.any(axis=1) & ~unlabeled).any():
        i = int((hidden.any(axis=1) & ~unlabeled).argmax())
        raise InvalidInputError(
            f"y[{i}]={shown(array[i])} has some of its outputs only; give all of them or none, or fit one "
            "estimator for each output."
        )
    labeled = np.flatnonzero(~unlabeled)
    if len(labeled) == 0:
        raise InvalidInputError(
            f"y has no labelled sample: all {len(array)} are NaN, which marks unlabelled ones. Give one number or more."
        )
    values = array[labeled]
    if not np.abs(values).max() <= _LARGEST:
        at = np.unravel_index(int(np.abs(values).argmax()), values.shape)
        what = "infinity or a value too large for" if np.isinf(values[at]) else "a value too large for squares in"
        raise InvalidInputError(
            f"Input y contains {what} dtype('float64'): y[{labeled[at[0]]}] is {values[at]}; pass finite numbers up to "
            f"{_LARGEST:g}, NaN for unlabelled samples."
        )
    return Targets(values, labeled, len(array))


def _numbers(given: Any) -> FloatArray:
    """Return an array of float64, missing values as NaN."""
    if given.dtype.kind not in "buifO":
        raise InvalidTypeError(f"y={shown(given)} holds {given.dtype}; pass numbers, NaN for unlabelled samples.")
    missing = missing_values(given)
    array, known = np.full(given.shape, np.nan), given[~missing]
    if given.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in known):
        text = next(value for value in known if isinstance(value, str | bytes))
        raise InvalidTypeError(f"y holds the text {text!r}, which is no number; pass numbers, NaN for unlabelled ones.")
    try:
        array[~missing] = known.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidTypeError(
            f"y={shown(given)} holds what is no number ({error}); pass numbers, NaN for unlabelled samples."
        ) from error
    return array
