"""The Laplacian of an adjacency, and its normalised form with self-loops, which graph filters are functions of.

``L = D - W`` measures how much a function differs along the edges, ``f'Lf = 1/2 sum_ij w_ij (f_i - f_j)**2``;
the normalised form ``I - D**-1/2 W D**-1/2`` discounts the degrees. A power p is *applied* p times and never formed:
``L**p`` fills up quickly.

A Laplacian does not relate two connected components: one without a labelled point learns nothing from the graph. On
real data a mutual neighbour graph has hundreds of components, and every method over its spectrum does no better than
chance. `components` counts them, `warn_components` warns the user.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from specmargin.checks import flag, numeric, shown
from specmargin.exceptions import DisconnectedGraphWarning, InvalidInputError
from specmargin.graphs.adjacency import check_adjacency
from specmargin.typing import BoolArray, FloatArray, IntArray, SparseArray

__all__ = ["Components", "LaplacianOperator", "components", "laplacian", "normalized_adjacency", "warn_components"]


@dataclass(frozen=True, eq=False)
class Components:
    """Connected components, the largest first.

    Parameters
    ----------
    n : int
        Their number.
    index : ndarray of shape (n_samples,)
        Component of every node.
    sizes : ndarray of shape (n,)
        Nodes per component, not increasing.
    n_isolated : int
        Components of one node.
    """

    n: int
    index: IntArray
    sizes: IntArray
    n_isolated: int


def components(W: SparseArray | IntArray) -> Components:
    """Return the connected components of an adjacency.

    Parameters
    ----------
    W : sparse matrix of shape (n_samples, n_samples)
        See `check_adjacency`. Or the component of every node, (n_samples,), where these are known by number.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> c = components(sp.csr_array([[0, 0, 0], [0, 0, 1], [0, 1, 0]]))
    >>> c.n, c.index.tolist(), c.sizes.tolist(), c.n_isolated
    (2, [1, 0, 0], [2, 1], 1)
    """
    is_index = isinstance(W, np.ndarray) and W.ndim == 1 and W.dtype.kind in "iu"
    return components_of(W if is_index else check_adjacency(W))


def components_of(W: SparseArray | IntArray) -> Components:
    """Return the components of an adjacency that has been checked, as `components` does."""
    if isinstance(W, np.ndarray):
        values, raw = np.unique(W, return_inverse=True)
        n = len(values)
    else:
        n, raw = csgraph.connected_components(W, directed=False)
    sizes = np.bincount(raw, minlength=n)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(n, dtype=np.intp)
    rank[order] = np.arange(n)
    return Components(int(n), rank[raw], sizes[order].astype(np.intp), int(np.count_nonzero(sizes == 1)))


def warn_components(W: SparseArray | IntArray, labeled: IntArray | BoolArray, stacklevel: int = 2) -> Components:
    """Warn once if the graph is not connected, and say what is predicted in components without a label.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
        Adjacency as `check_adjacency` returns it; or the component of every node, (n,).
    labeled : ndarray
        Indices (or the mask) of the labelled samples.
    stacklevel : int, default 2
        The same as in `warnings.warn`: 2 points at the line that calls this function, 3 at its caller's.

    Returns
    -------
    Components

    Warns
    -----
    DisconnectedGraphWarning
        If there is more than one component, an isolated node included.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> warn_components(sp.csr_array([[0, 1], [1, 0]]), np.array([0])).n
    1
    """
    parts = components(W)
    if parts.n > 1:
        warnings.warn(unconnected(parts, np.asarray(labeled)), DisconnectedGraphWarning, stacklevel=stacklevel)
    return parts


KERNEL = "by the intercept/offset and, for kernel methods, by the kernel expansion"
"""How samples of components without a label are predicted."""
INTERCEPT = "by the intercept alone, whatever they are: their eigenvectors are left out"
"""The same over a spectrum."""


def unconnected(parts: Components, labeled: Any, by: str = KERNEL) -> str:
    """Return the text of a warning about several components: how samples without a label are predicted, the remedy."""
    shown = ", ".join(str(size) for size in parts.sizes[:3])
    text = (
        f"the graph has {parts.n} components (sizes {shown}{', ...' if parts.n > 3 else ''}; "
        f"{parts.n_isolated} isolated nodes)"
    )
    has_label = np.zeros(parts.n, dtype=bool)
    has_label[parts.index[labeled]] = True
    if has_label.all():
        text += ", each with a labelled sample; nothing is learnt across them: each is decided by its own labels."
    else:
        text += (
            f", of which {np.count_nonzero(~has_label)} with {parts.sizes[~has_label].sum()} samples hold no label: "
            f"the graph says nothing of these samples, and they are predicted {by}. Label one of each."
        )
    return text + (
        " To connect a graph of neighbours, raise n_neighbors, or take its kind 'symmetric' or 'mutual+mst'; to one "
        "that was passed add the edges that it lacks, if any."
    )


POWERS = 100
"""Largest power: beyond it the products overflow on any graph."""


@dataclass(frozen=True, eq=False)
class LaplacianOperator:
    """The operator ``L**p``; multiply with ``@``.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        L itself, exactly symmetric.
    power : int
        p, the number of times that ``@`` applies `matrix`.
    normalized : bool
        Whether L is ``I - D**-1/2 W D**-1/2`` instead of ``D - W``.
    degrees : ndarray of shape (n,)
        Row sums of W.

    Examples
    --------
    >>> L = laplacian([[0, 1], [1, 0]], normalized=False, power=2)
    >>> (L @ np.array([1.0, 0.0])).tolist(), L.quadratic(np.array([1.0, 0.0]))
    ([2.0, -2.0], 2.0)
    """

    matrix: SparseArray
    power: int
    normalized: bool
    degrees: FloatArray

    # ndarray @ LaplacianOperator must come here instead of being tried element by element.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        if (
            not isinstance(self.power, int | np.integer)
            or isinstance(self.power, bool)
            or not 1 <= self.power <= POWERS
        ):
            raise InvalidInputError(
                f"power={shown(self.power)}, but L is applied a whole number of times; take an integer >= 1 and at "
                f"most {POWERS}."
            )
        object.__setattr__(self, "power", int(self.power))

    @classmethod
    def of(cls, W: SparseArray, normalized: bool, power: int) -> Self:
        """Return the operator of an adjacency that `check_adjacency` has returned."""
        degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
        L = sp.csr_array(csgraph.laplacian(W, normed=normalized))
        # scipy divides by the two roots one after the other, which rounds the two triangles differently.
        L = sp.csr_array((L + L.T) / 2)
        L.eliminate_zeros()
        L.sort_indices()
        return cls(L, power, normalized, degrees)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        n = len(self.degrees)
        return n, n

    def __matmul__(self, other: FloatArray) -> FloatArray:
        for _ in range(self.power):
            other = self.matrix @ other
        return other

    def __rmatmul__(self, other: FloatArray) -> FloatArray:
        return (self @ np.asarray(other).T).T  # L is symmetric

    def toarray(self) -> FloatArray:
        """Return the dense (n, n) matrix ``L**p``: for tests and small examples."""
        return self @ np.eye(len(self.degrees))

    def quadratic(self, f: FloatArray) -> float:
        """Return ``f'L**p f`` for a vector `f` of shape (n,): how much it differs along the edges."""
        f = np.asarray(f, dtype=np.float64)
        if f.shape != self.degrees.shape:
            raise InvalidInputError(f"f must have the shape {self.degrees.shape}, one value per node, got {f.shape}.")
        for _ in range(self.power // 2):
            f = self.matrix @ f
        return float(f @ (self.matrix @ f)) if self.power % 2 else float(f @ f)

    def __repr__(self) -> str:
        kind = "normalized" if self.normalized else "combinatorial"
        return f"LaplacianOperator({kind}, power={self.power}, {len(self.degrees)} nodes, {self.matrix.nnz} entries)"


def laplacian(W: Any, *, normalized: bool = True, power: int = 1) -> LaplacianOperator:
    """Return the Laplacian of the adjacency `W`, to be applied `power` times.

    Parameters
    ----------
    W : sparse matrix, ndarray or networkx.Graph of shape (n, n)
        Symmetric nonnegative weights; see `check_adjacency`.
    normalized : bool, default True
        ``I - D**-1/2 W D**-1/2`` (eigenvalues in [0, 2]) instead of ``D - W``. A node without edges has a row
        of zeros in both, so that it is not penalised at all.
    power : int, default 1
        p in ``L**p``, 1 to 100.

    Returns
    -------
    LaplacianOperator

    Raises
    ------
    ValueError
        If `power` is no positive integer, or `W` is no adjacency.

    Examples
    --------
    >>> laplacian([[0, 4, 0], [4, 0, 0], [0, 0, 0]], normalized=True).toarray().tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    flag("normalized", normalized)
    return LaplacianOperator.of(check_adjacency(W), bool(normalized), power)


def normalized_adjacency(W: Any, *, self_loops: float = 1.0) -> SparseArray:
    """Return S = D^-1/2 (W + c I) D^-1/2, D the degrees of W + c I.

    Its eigenvalues lie in [-1, 1]; those of the normalised Laplacian of W + c I are one less them. Self-loops keep
    them off -1.

    Parameters
    ----------
    W : sparse matrix, ndarray or networkx.Graph of shape (n, n)
        Symmetric nonnegative weights; see `check_adjacency`. Nodes with names are taken as it says.
    self_loops : float, default 1
        c >= 0, the weight of the loop at every node.

    Returns
    -------
    csr_array of shape (n, n)
        Exactly symmetric. A node without edges has 1 on its diagonal, or a row of zeros without self-loops.

    Raises
    ------
    ValueError
        If `W` is no adjacency, or `self_loops` is negative or not finite.

    References
    ----------
    Kipf & Welling, Semi-supervised classification with graph convolutional networks, ICLR 2017, eq. 2.

    Examples
    --------
    >>> normalized_adjacency([[0, 1, 0], [1, 0, 0], [0, 0, 0]]).toarray().round(3).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    if not (np.isfinite(numeric("self_loops", self_loops)) and self_loops >= 0):
        raise InvalidInputError(f"self_loops={self_loops!r} must be a finite weight >= 0; 1 is the usual one.")
    W = check_adjacency(W)
    A = sp.csr_array(W + self_loops * sp.eye_array(W.shape[0], format="csr")) if self_loops else W
    degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    A = sp.coo_array(A)
    row, column = A.coords
    # The root of one product, so that both triangles round alike.
    scale = np.sqrt(degrees[row] * degrees[column])
    return sp.csr_array((A.data / scale, (row, column)), shape=A.shape)
