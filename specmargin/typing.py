"""Types of the arrays that the layers exchange."""

from cvxproof.typing import AnyArray, BoolArray, FloatArray, IntArray, Matrix, MatrixLike, SparseArray

__all__ = ["AnyArray", "BoolArray", "FloatArray", "IntArray", "Matrix", "MatrixLike", "SparseArray"]
