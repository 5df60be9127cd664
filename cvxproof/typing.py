"""Types of the arrays that the layers exchange."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["AnyArray", "BoolArray", "FloatArray", "IntArray", "Matrix", "MatrixLike", "SparseArray"]

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]
SparseArray: TypeAlias = Any
"""A scipy CSR array or matrix; scipy's stubs are not complete enough for more."""
Matrix: TypeAlias = Any
"""Dense array or scipy sparse matrix: features, adjacencies."""


class MatrixLike(Protocol):
    """Anything that multiplies: a dense or sparse matrix, a linear operator, a powered Laplacian."""

    def __matmul__(self, other: FloatArray, /) -> FloatArray: ...
