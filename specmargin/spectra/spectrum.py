"""`Spectrum`: eigenpairs of a Laplacian, with what is known about their quality and their ties."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from specmargin.arrays import numbers_array
from specmargin.checks import AsText
from specmargin.exceptions import InvalidInputError
from specmargin.typing import AnyArray, FloatArray, IntArray, SparseArray

__all__ = ["TIE", "Spectrum", "pieces", "residual_norms", "tied"]

_ROWS = 4096
TIE = 1e-8
"""Eigenvalues closer than this, relative to the larger one, count as equal."""


def tied(a: float, b: float) -> bool:
    """Whether two neighbouring eigenvalues count as equal."""
    return bool(abs(b - a) <= TIE * max(abs(a), abs(b)))


@dataclass(frozen=True, eq=False)
class Spectrum(AsText):
    """The q lowest eigenpairs of a Laplacian.

    Parameters
    ----------
    eigenvalues : ndarray of shape (q,)
        Eigenvalues, not decreasing, >= 0; those of the null space are exactly 0. Of ``L**power``.
    eigenvectors : ndarray of shape (n, q)
        Orthonormal columns U. Column 0 is constant (combinatorial) or proportional to the roots of the
        degrees (normalized).
    n_components : int
        Number of columns that span (part of) the null space: the number of components of the graph, at most
        q.
    normalized : bool, default False
        Which Laplacian.
    residual : float, default nan
        ``max_j |L u_j - lambda_j u_j|``, recomputed; nan where it was not.
    cuts_tie : bool, default False
        Whether eigenvalue q + 1 equals the q-th, or cannot be distinguished from it at the accuracy of both: the
        span of the columns is itself arbitrary.
    degrees : ndarray of shape (n,), optional
        Row sums of the adjacency; `nystrom` needs them when `normalized`.
    power : int, default 1
        p in ``L**p``.
    component : ndarray of shape (n,), optional
        Connected component of every node, by number.
    nodes : ndarray of int, optional
        The nodes that the eigenpairs are of, where some components of the graph are left out, as those without a
        label: the other rows of `eigenvectors` are zero. By default all.

    Examples
    --------
    >>> s = Spectrum(np.array([0.0, 1.0, 1.0, 2.0]), np.eye(4), n_components=1)
    >>> s.q, s.n_samples, s.block_ends().tolist(), s.truncate(2).cuts_tie
    (4, 4, [2, 3], True)
    """

    eigenvalues: FloatArray
    eigenvectors: FloatArray
    n_components: int
    normalized: bool = False
    residual: float = math.nan
    cuts_tie: bool = False
    degrees: FloatArray | None = None
    power: int = 1
    component: IntArray | None = None
    nodes: IntArray | None = None
    q: int = field(init=False)
    """Number of eigenpairs."""
    n_samples: int = field(init=False)
    """Number of nodes, n."""
    n_reached: int = field(init=False)
    """Number of nodes that the eigenpairs are of."""
    unit: float = field(init=False)
    """Factor of sqrt(n) U: with it the diagonal of the kernel has the mean one over the nodes that it is of."""

    def __post_init__(self) -> None:
        for name, given in (("eigenvalues", self.eigenvalues), ("eigenvectors", self.eigenvectors)):
            # What is plainly right is not asked further.
            if type(given) is not np.ndarray or given.dtype != np.float64 or not np.isfinite(given).all():
                numbers_array("eigenpairs of a Laplacian, one eigenvalue per column of (n, q)")(name, given)
        if self.eigenvectors.ndim != 2 or self.eigenvalues.shape != self.eigenvectors.shape[1:]:
            raise InvalidInputError(
                f"eigenvectors must be (n, q) with one of the eigenvalues per column, got the shapes "
                f"{self.eigenvectors.shape} and {self.eigenvalues.shape}."
            )
        n = len(self.eigenvectors)
        reached = n if self.nodes is None else len(self.nodes)
        unit = math.sqrt(reached / n) if n else math.nan
        vars(self).update(q=len(self.eigenvalues), n_samples=n, n_reached=reached, unit=unit)

    def reached(self, values: AnyArray) -> AnyArray:
        """Return the rows of those nodes, of one row per node."""
        return values if self.nodes is None else values[self.nodes]

    def block_ends(self, tol: float = TIE) -> IntArray:
        """Return the last column of every block of equal eigenvalues among columns 1 to q - 1.

        Column 0, the constant, is a block of its own and not listed. Neighbours count as equal when they
        differ by at most `tol` times the largest eigenvalue in modulus.
        """
        if self.q < 2:
            return np.empty(0, dtype=np.intp)
        threshold = tol * float(np.abs(self.eigenvalues).max())
        gaps = np.flatnonzero(np.abs(np.diff(self.eigenvalues[1:])) > threshold) + 1
        return np.append(gaps, self.q - 1).astype(np.intp)

    def truncate(self, q: int) -> Spectrum:
        """Return the first `q` eigenpairs; `residual` stays as a bound.

        Raises
        ------
        ValueError
            If `q` is not between 1 and the number of eigenpairs.
        """
        if not 1 <= q <= self.q:
            raise InvalidInputError(f"q={q}, but this spectrum holds {self.q} eigenpairs; take 1 to {self.q}.")
        if q == self.q:
            return self
        return replace(
            self,
            eigenvalues=self.eigenvalues[:q],
            eigenvectors=self.eigenvectors[:, :q],
            n_components=min(self.n_components, q),
            cuts_tie=tied(self.eigenvalues[q - 1], self.eigenvalues[q]),
        )

    def __repr__(self) -> str:
        kind = "normalized" if self.normalized else "combinatorial"
        return (
            f"Spectrum({self.q} eigenpairs of {self.n_samples} nodes, {kind}, {self.n_components} in the "
            f"null space, residual {self.residual:.1e}{', last block cut' if self.cuts_tie else ''})"
        )


def residual_norms(L: SparseArray, vectors: FloatArray, values: FloatArray) -> FloatArray:
    """Return ``|L u_j - lambda_j u_j|`` for every column."""
    squares = np.zeros(len(values))
    for rows in pieces(len(vectors)):
        R = L[rows] @ vectors
        R -= vectors[rows] * values
        squares += np.einsum("ij,ij->j", R, R)
    return np.sqrt(squares)


def pieces(n: int) -> list[slice]:
    """Return the rows 0 to n - 1 in pieces, so that temporaries stay in the cache."""
    return [slice(start, min(start + _ROWS, n)) for start in range(0, n, _ROWS)]
