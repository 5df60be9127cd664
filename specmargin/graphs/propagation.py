"""The normalised adjacency of a graph, with self-loops: the operator that graph filters are functions of."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.checks import numeric
from specmargin.exceptions import InvalidInputError
from specmargin.graphs.adjacency import check_adjacency
from specmargin.typing import SparseArray

__all__ = ["normalized_adjacency"]


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
