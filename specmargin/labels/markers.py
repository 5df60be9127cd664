"""Markers of samples without a label, in arrays of labels of every type.

A *missing value* has many spellings: None, nan, ``pandas.NA``, ``NaT``, the empty string, a masked entry; in arrays of
numbers, strings or objects, and in columns of pandas of every type. They are equivalent: a marker that is any of them
stands for all of them, and under any other marker each of them is refused.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from specmargin.checks import shown, warn
from specmargin.exceptions import InvalidInputError, InvalidTypeError, MarkerWarning
from specmargin.typing import AnyArray, BoolArray

__all__ = ["is_missing", "is_unlabeled", "label_array", "label_vector", "missing_values", "warn_of_marker"]


def label_array(y: npt.ArrayLike) -> AnyArray:
    """Return `y` as an array in which no value has changed its type.

    numpy reads ``["cat", -1]`` as the strings ``"cat"`` and ``"-1"``, and the marker would become a class;
    such a sequence becomes an array of objects instead. Masked entries become None.

    Parameters
    ----------
    y : array-like
        Labels and markers.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> label_array(["cat", -1]).tolist(), label_array([0, -1]).dtype.kind
    (['cat', -1], 'i')
    """
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise InvalidInputError(f"y={shown(y)} is no array of labels ({error}); pass one label per sample.") from error
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        array = array.astype(object)
        array[np.ma.getmaskarray(y)] = None
    if array.dtype.kind in "US" and array.ndim == 1 and not hasattr(y, "dtype"):
        values = list(y)  # type: ignore[arg-type]  # it made an array of one dimension
        if not all(isinstance(value, str if array.dtype.kind == "U" else bytes) for value in values):
            array = np.empty(len(values), dtype=object)
            array[:] = values
    return array


def label_vector(y: npt.ArrayLike) -> AnyArray:
    """Return `y` as `label_array` does, if it has one dimension.

    Raises
    ------
    InvalidInputError
        With the value or the shape of what has none or several.

    Examples
    --------
    >>> label_vector(["cat", "dog"]).shape
    (2,)
    """
    array = label_array(y)
    if array.ndim != 1:
        what = f"y={shown(y)} is no array" if array.ndim == 0 else f"y has the shape {array.shape}"
        raise InvalidInputError(f"{what}; pass a 1d array: one label or marker per sample.")
    return array


def is_unlabeled(y: npt.ArrayLike, unlabeled: Any = -1) -> BoolArray:
    """Return the mask of the samples that carry the marker `unlabeled`.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels and markers.
    unlabeled : scalar, nan or None, default -1
        The marker; a missing value (None, nan, ``pandas.NA``, ``""``) stands for every spelling of one.

    Raises
    ------
    TypeError
        If the marker is not one scalar.

    Examples
    --------
    >>> is_unlabeled([0, 1, -1]).tolist(), is_unlabeled([0.0, np.nan], unlabeled=np.nan).tolist()
    ([False, False, True], [False, True])
    >>> is_unlabeled(["cat", None, "", np.nan], unlabeled=np.nan).tolist()
    [False, True, True, True]
    """
    if np.ndim(unlabeled) != 0 or isinstance(unlabeled, Mapping | Set):
        raise InvalidTypeError(f"the marker must be one scalar, nan or None, not {unlabeled!r}; name one value.")
    y = label_array(y)
    if is_missing(unlabeled):
        return missing_values(y)
    if y.dtype.kind in "US" and not isinstance(unlabeled, str if y.dtype.kind == "U" else bytes):
        return np.zeros(y.shape, dtype=bool)
    if y.dtype.kind == "O":
        # Not y == unlabeled: pandas.NA is equal to nothing and has no truth value.
        same = [not is_missing(value) and bool(np.all(value == unlabeled)) for value in y.ravel()]
        return np.array(same, dtype=bool).reshape(y.shape)
    with np.errstate(over="ignore"):  # a marker that a narrow float cannot hold is not in y
        return np.broadcast_to(np.asarray(y == unlabeled, dtype=bool), y.shape).copy()


def missing_values(y: AnyArray) -> BoolArray:
    """Return the mask of the missing values, in any spelling."""
    if y.dtype.kind in "fc":
        return np.asarray(np.isnan(y))
    if y.dtype.kind in "mM":
        return np.asarray(np.isnat(y))
    if y.dtype.kind in "US":
        return np.asarray(y == ("" if y.dtype.kind == "U" else b""))
    if y.dtype.kind == "O":
        return np.array([is_missing(value) for value in y.ravel()], dtype=bool).reshape(y.shape)
    return np.zeros(y.shape, dtype=bool)


def is_missing(value: Any) -> bool:
    """Whether a value is a missing one, in any spelling."""
    # By their names: pandas need not be installed.
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str | bytes):
        return len(value) == 0
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, numbers.Number) and bool(value != value)


def _written_markers(known: AnyArray, unlabeled: Any) -> list[Any]:
    """Return the labels that are the marker but for their type: the text "-1" of the number, "nan" of a missing one."""
    written = ("nan", "none", "<na>", "nat") if is_missing(unlabeled) else (str(unlabeled),)
    return [value for value in known.ravel().tolist() if str(value).strip().lower() in written]


def warn_of_marker(y: npt.ArrayLike, unlabeled: Any = -1, hidden: BoolArray | None = None) -> None:
    """Warn where the marker probably has another meaning than the one that it is read with.

    The warning points at the line outside of the package that led here.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels and markers.
    unlabeled : scalar, nan or None, default -1
        The marker.
    hidden : ndarray of bool, of shape (n,), optional
        The mask that `is_unlabeled` returns, of a y that `label_array` has returned.

    Warns
    -----
    MarkerWarning
        If no sample carries the marker, or some carry it as a text ("-1"); or if the marker is -1, the classes are 0
        and 1, and 0 is the most frequent value of y: labels -1 and 1 with 0 for the unlabelled samples look like that.

    Examples
    --------
    >>> warn_of_marker([0, 1, -1, -1])
    """
    if hidden is None:
        y = label_array(y)
        hidden = is_unlabeled(y, unlabeled)
    assert isinstance(y, np.ndarray)
    if (y.dtype.kind in "USO" or isinstance(unlabeled, str)) and (texts := _written_markers(y[~hidden], unlabeled)):
        warn(
            f"y holds {texts[0]!r} {len(texts)} times, which counts as a class: the marker is {unlabeled!r}, which is "
            f"something else. If it means 'unlabelled', pass unlabeled={texts[0]!r}, or replace it by the marker.",
            MarkerWarning,
        )
    elif not hidden.any():
        values = set(y.ravel().tolist()) if y.dtype.kind in "iu" else set()
        inside = (
            " Inside VotingClassifier, BaggingClassifier or StackingClassifier, which number classes and marker anew, "
            "the marker has become one of the classes: give them labelled samples alone, and "
            "specmargin.WithUnlabeled(estimator, X_unlabeled)."
        )
        warn(
            f"no sample carries the marker unlabeled={unlabeled!r}: all {y.size} count as labelled, and values like "
            f"{y.ravel()[:1].tolist()[0]!r} as classes. If some are unlabelled, name their marker by unlabeled=."
            + inside
            * (len(values) > 2 and values == set(range(len(values)))),
            MarkerWarning,
        )
    elif y.dtype.kind in "if" and isinstance(unlabeled, int | float | np.number) and unlabeled == -1:
        counts = {value: int(np.count_nonzero(y == value)) for value in (-1, 0, 1)}
        if sum(counts.values()) == y.size and counts[0] > max(counts[-1], counts[1]) and counts[1]:
            warn(
                f"y holds -1, 0 and 1 ({counts[-1]}, {counts[0]} and {counts[1]} times): -1 is read as 'unlabelled', 0 "
                "and 1 as the classes. If 0 means 'unlabelled' and -1 is a class, pass unlabeled=0.",
                MarkerWarning,
            )
