"""The arrays of an archive, checked before they are used.

A sha256 shows that a file is the recorded one, not that its numbers make sense. `read_archive` refuses
values that are not finite, labels that do not count the classes, and indices outside of their range: scipy does not
check those, and a product with such a matrix reads memory out of bounds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cvxproof.files import Members
from reproduction.data.registry import LAYOUTS, Entry
from specmargin.arrays import sparse_from_parts
from specmargin.exceptions import InvalidInputError, SpecmarginError
from specmargin.typing import AnyArray, IntArray, Matrix

__all__ = ["read_archive"]


def read_archive(entry: Entry, content: bytes, path: Path) -> tuple[Matrix, IntArray, IntArray | None, dict[str, Any]]:
    """Return features, classes from 0, published splits (or None) and the other contents of an archive.

    Parameters
    ----------
    entry : Entry
        Which arrays are wanted.
    content : bytes
        The file.
    path : Path
        Its name, for messages.

    Raises
    ------
    SpecmarginError
        If it is no such archive, or its arrays are invalid.
    """
    try:
        return _contents(entry, dict(Members(content)))
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        why = f"it has no array {error}" if isinstance(error, KeyError) else str(error)
        layout = LAYOUTS[entry.layout]
        raise SpecmarginError(f"{path} is not an archive of {layout} ({why}); delete it or replace it.") from error


def _contents(entry: Entry, arrays: dict[str, AnyArray]) -> tuple[Matrix, IntArray, IntArray | None, dict[str, Any]]:
    extras: dict[str, Any] = {}
    prefix = "X_" if entry.layout == "graph" else ""
    X = _features(arrays.pop("X"), "X") if entry.layout == "dense" else _csr(arrays, prefix)
    n = X.shape[0]
    if entry.layout == "graph":
        extras["W"] = _csr(arrays, "W_")
        if extras["W"].shape != (n, n):
            raise InvalidInputError(f"W has the shape {extras['W'].shape} for {n} samples")
    y = _classes_from_zero(arrays.pop("y"), "y", n)
    if "host_shape" in arrays:
        extras["host"] = _csr(arrays, "host_")
    labeled_idx = _splits(arrays.pop("labeled_idx"), n) if "labeled_idx" in arrays else None
    if "X_test" in arrays:
        extras["X_test"] = _features(arrays.pop("X_test"), "X_test")
        extras["y_test"] = _classes_from_zero(arrays.pop("y_test"), "y_test", len(extras["X_test"]))
    if "class_names" in arrays:
        extras["class_names"] = tuple(map(str, arrays.pop("class_names")))
        if len(extras["class_names"]) <= y.max():
            raise InvalidInputError(f"{len(extras['class_names'])} class_names for classes up to {y.max()}")
    extras |= {key: value.item() if value.ndim == 0 else value for key, value in arrays.items()}
    n_train = extras.get("n_train")
    if n_train is not None and not (isinstance(n_train, int) and 0 < n_train <= n):
        raise InvalidInputError(f"n_train={n_train!r} for {n} samples")
    return X, y, labeled_idx, extras


def _features(X: AnyArray, name: str) -> AnyArray:
    if X.ndim != 2 or X.dtype.kind not in "buif" or 0 in X.shape:
        raise InvalidInputError(f"{name} has the shape {X.shape} and the type {X.dtype}, not rows of numbers")
    if X.dtype == np.uint8:
        return X
    _finite(X, name)
    return X.astype(np.float64)


def _finite(values: AnyArray, name: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        raise InvalidInputError(f"{np.count_nonzero(bad)} values of {name} are not finite")


def _csr(arrays: dict[str, AnyArray], prefix: str) -> Matrix:
    data, indices, indptr = (arrays.pop(prefix + part) for part in ("data", "indices", "indptr"))
    shape = tuple(arrays.pop(prefix + "shape").tolist())
    if data.dtype.kind not in "buif":
        raise InvalidInputError(f"{prefix}data has the type {data.dtype}, not that of numbers")
    _finite(data, prefix + "data")
    name = prefix.rstrip("_") or "X"
    return sparse_from_parts(name, (data.astype(np.float64), indices, indptr), shape, is_array=False)


def _classes_from_zero(y: AnyArray, name: str, n: int) -> IntArray:
    """Classes counted from 0; the archives of two classes have -1 and 1."""
    if y.shape != (n,):
        raise InvalidInputError(f"{n} samples but {y.size} labels in {name}, of the shape {y.shape}")
    if y.dtype.kind not in "iuf" or (y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.floor(y))).all()):
        raise InvalidInputError(f"{name} holds values of the type {y.dtype} that are no whole numbers")
    y = y.astype(np.intp)
    labels = np.unique(y)
    if labels.tolist() == [-1, 1]:
        return (y + 1) // 2
    if labels[0] < 0:
        raise InvalidInputError(
            f"{name} holds the labels {labels[:5].tolist()}; they must be -1 and 1, or count from 0"
        )
    return y


def _splits(labeled_idx: AnyArray, n: int) -> IntArray:
    if labeled_idx.ndim != 2 or labeled_idx.dtype.kind not in "iu" or labeled_idx.shape[1] == 0:
        raise InvalidInputError(f"labeled_idx has the shape {labeled_idx.shape} and the type {labeled_idx.dtype}")
    ordered = np.sort(labeled_idx.astype(np.intp), axis=1)
    if ordered.min() < 0 or ordered.max() >= n or (np.diff(ordered, axis=1) == 0).any():
        raise InvalidInputError(f"a row of labeled_idx is not one of different samples out of {n}")
    return labeled_idx.astype(np.intp)
