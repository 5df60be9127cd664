"""Checks of arrays: numbers, finite, of a scale whose squares are representable; rows of features; sparse matrices.

`require_memory` checks, before memory is taken, that there is enough of it.

A sparse matrix enters by `checked_sparse`, one in parts that a file held by `sparse_from_parts`: scipy's own routines
trust the indices, and read and write beyond the arrays where they are wrong.

Every check raises `specmargin.exceptions.InvalidInputError`, as those of `specmargin.checks` do, with the first bad
entry or the shape. Features also pass scikit-learn's checks, whose errors become the same class and keep their text.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.checks import Rule, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import FloatArray, Matrix

__all__ = [
    "available_memory",
    "checked_sparse",
    "feature_rows",
    "finite_numbers",
    "finite_rows",
    "first_of",
    "numbers_array",
    "operator_like",
    "require_memory",
    "sparse_from_parts",
    "vector",
]

_GROUP = Path("/sys/fs/cgroup")
_SHARE = 0.9  # of what is free that one fit may take
_LARGEST, _SMALLEST = 1e75, 1e-150
"""Fourth powers of features, times their number, stay below the largest double; squares stay above the smallest."""
_LONGEST = 2**27
"""Rows or columns of a sparse matrix: a vector with a number for each is a gigabyte, and a fit holds several."""
_INT32 = 2**31 - 1
"""Entries up to which indices are int32, which libsvm and SuperLU demand."""


def checked_sparse(name: str, S: Any) -> Any:
    """Return a sparse matrix in canonical CSR form, an array or a matrix as `S` is; `S` itself stays as it was.

    Canonical: row by row in increasing columns, an entry stored once, no stored zeros, int32 indices unless there are
    2**31 entries. So two sparse matrices that are equal as dense ones have equal arrays, whatever their formats.

    Parameters
    ----------
    name : str
        Name for messages.
    S : sparse array or sparse matrix of shape (n, d), in any format

    Raises
    ------
    InvalidInputError
        If its arrays do not fit together, an index is out of range, or a side is longer than 2**27.

    Examples
    --------
    >>> twice = sp.csr_array((np.array([1.0, 2.0, 0.5]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 3))
    >>> checked_sparse("X", twice).data.tolist()
    [2.0, 1.5]
    """
    if S.format in ("lil", "dok"):
        _require_short(name, S.shape)
        with _refused_parts(name, S.shape):
            if S.format == "lil" and not (
                (S.shape[0],) == S.rows.shape == S.data.shape
                and all(len(columns) == len(values) for columns, values in zip(S.rows, S.data, strict=True))
            ):
                raise IndexError("the lists of columns and of values have other lengths")
            S = S.tocsr() if S.format == "lil" else S.tocoo()
    second = {"coo": ("coords",), "dia": ("offsets",)}.get(S.format, ("indices", "indptr"))
    parts = (S.data, *(getattr(S, part) for part in second))
    rows = sparse_from_parts(name, parts, S.shape, form=S.format, is_array=isinstance(S, sp.sparray))
    with _refused_parts(name, S.shape):
        rows = rows.tocsr()
        if not rows.has_canonical_format or not rows.data.all():
            rows = rows.copy()
            rows.sum_duplicates()
            rows.eliminate_zeros()
    return rows


def sparse_from_parts(
    name: str, parts: tuple[Any, ...], shape: Any, *, form: str = "csr", is_array: bool = True
) -> Any:
    """Return the sparse matrix of arrays that fit together, which is checked; its indices are int32 where these do.

    Parameters
    ----------
    name : str
        Name for messages.
    parts : tuple of ndarray
        Arrays as scipy's constructor of `form` takes them: data, indices and indptr for csr, csc and bsr.
    shape : pair of int
    form : {"csr", "csc", "bsr", "coo", "dia"}, default "csr"
    is_array : bool, default True
        Whether it is a sparse array, else a sparse matrix.

    Raises
    ------
    InvalidInputError
        As `checked_sparse`.

    Examples
    --------
    >>> sparse_from_parts("X", (np.array([1.0]), np.array([1]), np.array([0, 1])), (1, 3)).toarray().tolist()
    [[0.0, 1.0, 0.0]]
    """
    with _refused_parts(name, shape):
        shape = tuple(operator.index(size) for size in shape)
        _require_short(name, shape)
        for part in parts[1:]:
            for index in part if isinstance(part, tuple) else (part,):
                if index.dtype.kind not in "iu":
                    raise IndexError(f"its indices have the type {index.dtype}")
                if form == "dia" and np.abs(index).max(initial=0) > _INT32:
                    raise IndexError("a diagonal lies outside it")
        made = getattr(sp, f"{form}_{'array' if is_array else 'matrix'}")(parts, shape=shape)
        if form in ("csr", "csc", "bsr"):
            made.check_format(full_check=True)
            if (made.indptr[1:] < made.indptr[:-1]).any():  # scipy looks only where the last is not 0, at what can wrap
                raise IndexError("indptr must be a non-decreasing sequence")
        if form == "bsr" and (shape[0] % made.blocksize[0] or shape[1] % made.blocksize[1]):
            raise IndexError(f"it has no whole number of blocks of the shape {made.blocksize}")
        if form in ("csr", "csc", "bsr") and made.indices.size <= _INT32:  # sparse arrays keep int64 themselves
            made.indices = made.indices.astype(np.int32, copy=False)
            made.indptr = made.indptr.astype(np.int32, copy=False)
    return made


def _require_short(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or max(shape) > _LONGEST:
        raise InvalidInputError(
            f"{name} is a sparse matrix of the shape {shape}; pass a row per sample, and at most {_LONGEST} rows and "
            "columns (leave out columns without an entry)."
        )


@contextmanager
def _refused_parts(name: str, shape: Any) -> Iterator[None]:
    """Raise what scipy says of parts that do not fit together as the package's error."""
    try:
        yield
    except InvalidInputError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError, IndexError) as error:
        raise InvalidInputError(
            f"{name} of the shape {shape} is no sparse matrix: {error}; make it anew from its entries, e.g. by "
            "scipy.sparse.coo_array((values, (rows, columns)), shape=...)."
        ) from error


def numbers_array(what: str, *, ndim: int | None = None, finite: bool = True) -> Rule:
    """Return the rule of an array of real numbers, dense or sparse; `what` describes it, for the message.

    The rule returns what it was given, a sparse matrix as `checked_sparse` does.
    """

    def rule(name: str, value: Any) -> Any:
        try:
            value = checked_sparse(name, value) if sp.issparse(value) else value
            array: Any = value if sp.issparse(value) else np.asarray(value)
            if array.dtype.kind == "O" and array.ndim:
                array = array.astype(np.float64)
        except InvalidInputError:
            raise
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


def operator_like(what: str, remedy: str) -> Rule:
    """Return the rule of a square matrix, or of whatever multiplies one by ``@``; `remedy` says how to get one."""

    def rule(name: str, value: Any) -> Any:
        shape = getattr(value, "shape", None)
        if not (isinstance(shape, tuple) and len(shape) == 2 and shape[0] == shape[1] and hasattr(value, "__matmul__")):
            raise InvalidTypeError(f"{name}={shown(value)} is no {what}; {remedy}.")
        if sp.issparse(value):
            value = checked_sparse(name, value)
        if sp.issparse(value) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
            finite_numbers(name, value, f"a finite {what}")
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
    if getattr(getattr(X, "dtype", None), "kind", "f") in "mMV":  # dates, which scikit-learn would read as numbers
        raise InvalidTypeError(
            f"{name} holds values of the type {X.dtype}, which have no scale; pass numbers, e.g. days since a date."
        )
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        at = tuple(int(i[0]) for i in np.nonzero(np.ma.getmaskarray(X)))
        raise InvalidInputError(
            f"{name} has {int(np.ma.count_masked(X))} masked entries, the first at {at}: they have no distance to "
            "anything; drop such rows or fill them first, e.g. by X.filled(X.mean())."
        )
    X = checked_sparse(name, X) if sp.issparse(X) else X
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
        Array as scikit-learn's ``check_array`` returns it.
    name : str, default "X"
        Name for messages.
    small : bool, default True
        Whether values whose squares all underflow are refused: in a sample that is learned from, not in a new one,
        which may lie at the origin.

    Raises
    ------
    InvalidInputError
        With the first bad entry.
    """
    values = X.data if sp.issparse(X) and X.format == "csr" else _stored(X) if sp.issparse(X) else X
    largest = float(np.abs(values).max(initial=0.0))
    if not largest < np.inf:
        bad = ~np.isfinite(values)
        kind = "NaN" if np.isnan(values[bad][0]) else "infinity"
        raise InvalidInputError(
            f"Input {name} contains {kind}: {first_of(name, X, bad)}, which has no distance to anything; drop such "
            "rows or impute them first, e.g. with sklearn.impute.SimpleImputer."
        )
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


def _stored(array: Any) -> Any:
    """Return the entries of a dense array, or those that a sparse one stores, in the order of its `tocoo`."""
    if not sp.issparse(array):
        return array
    return array.data if array.format in ("csr", "csc", "coo") else array.tocoo().data


def available_memory() -> float | None:
    """Return the free bytes of the computer, or of the control group if it has less; None where that is unknown."""
    sizes = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes += [1024.0 * float(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
            sizes.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    try:
        limit = (_GROUP / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            sizes.append(float(limit) - float((_GROUP / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass
    return min(sizes) if sizes else None


def room_for(each: float) -> float:
    """Return how many times that many bytes may be taken; inf where it is unknown what is free."""
    there = available_memory()
    return math.inf if there is None else _SHARE * there / each


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Raise a MemoryError where `needed` bytes are too many, before hours are lost in swapping.

    It says what needs the memory, how much there is, and what to do instead.
    """
    there = available_memory()
    if there is not None and needed > _SHARE * there:
        raise MemoryError(f"{what} needs about {needed / 1e9:.1f} GB, and {there / 1e9:.1f} GB are free; {remedy}.")
