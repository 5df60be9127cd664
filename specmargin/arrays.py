"""Checks of arrays: numbers, finite, of a scale whose squares are representable; and rows of features.

Every check raises `specmargin.exceptions.InvalidInputError`, as those of `specmargin.checks` do, with the first bad
entry or the shape. Features also pass scikit-learn's checks, whose errors become the same class and keep their text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.checks import Rule, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import FloatArray, Matrix

__all__ = ["feature_rows", "finite_numbers", "finite_rows", "first_of", "numbers_array", "vector"]

_LARGEST, _SMALLEST = 1e75, 1e-150
"""Fourth powers of features, times their number, stay below the largest double; squares stay above the smallest."""


def numbers_array(what: str, *, ndim: int | None = None, finite: bool = True) -> Rule:
    """Return the rule of an array of real numbers, dense or sparse; `what` describes it, for the message."""

    def rule(name: str, value: Any) -> Any:
        try:
            array: Any = value if sp.issparse(value) else np.asarray(value)
            if array.dtype.kind == "O" and array.ndim:
                array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InvalidTypeError(f"{name}: {_described(value, name)} ({error}); pass {what}.") from error
        if array.ndim == 0 and (ndim or array.dtype.kind not in "buif"):
            raise InvalidTypeError(f"{name}={shown(value)} is no array of numbers; pass {what}.")
        if array.dtype.kind not in "buif":
            raise InvalidTypeError(f"{name}={shown(value)} holds {array.dtype}; pass {what}.")
        if ndim is not None and array.ndim != ndim:
            raise InvalidInputError(f"{name} has the shape {array.shape}; pass {what}.")
        if finite:
            finite_numbers(name, array, what)
        return value

    return rule


def vector(name: str, value: Any, what: str, *, least: float = -math.inf) -> FloatArray:
    """Return a vector of finite numbers of at least `least` as float64; `what` describes it, for the message."""
    numbers_array(what, ndim=1, finite=False)(name, value)
    array = np.asarray(value, dtype=np.float64)
    finite_numbers(name, array, what, least=least)
    return array


def finite_numbers(name: str, array: Any, what: str, *, least: float = -math.inf) -> None:
    """Check that all numbers of a dense or sparse array are finite and at least `least`; name the first other."""
    stored = _stored(array)
    if not (np.isfinite(stored).all() and (least == -math.inf or (stored >= least).all())):
        bad = ~np.isfinite(stored) | (stored < least)
        wrong = "not finite" if least == -math.inf else f"not finite or below {least:g}"
        raise InvalidInputError(
            f"{name} holds {np.count_nonzero(bad)} values that are {wrong}, the first {first_of(name, array, bad)}; "
            f"pass {what}."
        )


def first_of(name: str, array: Any, bad: Any) -> str:
    """Return place and value of the first bad entry, for a message; of a sparse matrix `bad` masks the stored ones."""
    k = int(bad.ravel().argmax())
    at: tuple[Any, ...]
    if sp.issparse(array):
        entries = array.tocoo()
        at, value = (int(entries.row[k]), int(entries.col[k])), entries.data[k]
    else:
        at = tuple(int(i) for i in np.unravel_index(k, np.shape(array)))
        value = np.asarray(array)[at]
    return f"{name}[{', '.join(map(str, at))}] is {value.item() if hasattr(value, 'item') else repr(value)}"


def feature_rows(X: Any, name: str, validate: Callable[[Any], Matrix], *, small: bool = True) -> Matrix:
    """Return rows of features as `validate`, a check of scikit-learn's, returns them, or raise the package's error.

    Raises
    ------
    InvalidInputError
        With the text of scikit-learn without the array in it, and with the first bad entry or the shape.
    """
    _refuse_masked_and_dates(X, name)
    try:
        checked = validate(X)
    except InvalidInputError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        text, _, rest = str(error).partition(":\narray=")
        text = text.partition("not supported\n")[0] + "not supported" * ("not supported\n" in text)
        advice = rest[rest.find("Reshape") :].rstrip(".") + ", or " if "Reshape" in rest else ""
        kind = InvalidTypeError if isinstance(error, TypeError | AttributeError) else InvalidInputError
        raise kind(
            f"{text.rstrip('.')}: {_described(X, name)}. {advice or 'Please '}pass an array, a frame or a sparse "
            "matrix of numbers, a row per sample."
        ) from error
    return finite_rows(checked, name, small=small)


def finite_rows(X: Matrix, name: str = "X", *, small: bool = True) -> Matrix:
    """Return `X`, an array or a sparse matrix of numbers, if it is finite and its squares are representable.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        As scikit-learn's ``check_array`` returns it.
    name : str, default "X"
        For messages.
    small : bool, default True
        Whether values whose squares all underflow are refused: in a sample that is learned from, not in a new one,
        which may lie at the origin.

    Raises
    ------
    InvalidInputError
        With the first bad entry.
    """
    values = _stored(X)
    bad = ~np.isfinite(values)
    if bad.any():
        kind = "NaN" if np.isnan(values[bad][0]) else "infinity"
        raise InvalidInputError(
            f"Input {name} contains {kind}: {first_of(name, X, bad)}, which has no distance to anything; drop such "
            "rows or impute them first, e.g. with sklearn.impute.SimpleImputer."
        )
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _LARGEST or (small and 0 < largest < _SMALLEST):
        powers = "fourth powers overflow" if largest > 1 else "squares underflow"
        raise InvalidInputError(
            f"{name} holds values up to {largest:.1e}, whose {powers}; "
            "scale the features, e.g. by sklearn.preprocessing.MaxAbsScaler."
        )
    return X


def _described(X: Any, name: str) -> str:
    """Describe X for a message: by its first entry that is no number, else by its shape and type, else by itself."""
    try:
        array: Any = X if hasattr(X, "dtype") and hasattr(X, "shape") else np.asarray(X)
    except (TypeError, ValueError):
        return f"{name}={shown(X)} is of the type {type(X).__name__}"
    if len(array.shape) == 0:
        return f"{name}={shown(X)} is of the type {type(X).__name__}"
    if isinstance(array, np.ndarray) and array.dtype.kind in "OUS":
        bad = np.array([not _is_number(value) for value in array.ravel()])
        if bad.any():
            return first_of(name, array.astype(object), bad)
    return f"{name} has the shape {tuple(array.shape)} and the type {array.dtype}"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _refuse_masked_and_dates(X: Any, name: str = "X") -> None:
    """Raise for masked entries and for dates, which scikit-learn would read as numbers."""
    if getattr(getattr(X, "dtype", None), "kind", "f") in "mMV":
        raise InvalidTypeError(
            f"{name} holds values of the type {X.dtype}, which have no scale; pass numbers, e.g. days since a date."
        )
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        at = tuple(int(i[0]) for i in np.nonzero(np.ma.getmaskarray(X)))
        raise InvalidInputError(
            f"{name} has {int(np.ma.count_masked(X))} masked entries, the first at {at}: they have no distance to "
            "anything; drop such rows or fill them first, e.g. by X.filled(X.mean())."
        )


def _stored(array: Any) -> Any:
    """Return the entries of a dense array, or those that a sparse one stores, in the order of its `tocoo`."""
    if not sp.issparse(array):
        return array
    return array.data if array.format in ("csr", "csc", "coo") else array.tocoo().data
