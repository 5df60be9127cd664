"""The reader of a user's graph: a matrix of weights, or a graph of networkx, checked and made clean."""

from __future__ import annotations

from typing import Any

from specmargin.graphs._adjacency_matrix import clean_adjacency
from specmargin.graphs.node_names import named_adjacency
from specmargin.typing import SparseArray

__all__ = ["check_adjacency"]


def check_adjacency(W: Any, n_samples: int | None = None) -> SparseArray:
    """Return `W` as a clean CSR adjacency: symmetric, nonnegative, without self loops or stored zeros.

    Parameters
    ----------
    W : sparse matrix, ndarray, networkx.Graph or frame
        Weights between nodes; or a table of edges, a frame with the columns source, target and, where edges have
        weights, weight. Nodes that are the numbers 0 to n - 1 are rows of these numbers, others are taken in the order
        of the graph or of the table, which a warning says. `W` is not modified.
    n_samples : int, optional
        Number of rows of the data that the graph must match.

    Returns
    -------
    csr_array of shape (n, n)

    Raises
    ------
    ValueError
        If W is not square, has the wrong size, is asymmetric, or holds negative or non-finite weights.
    TypeError
        If W is no matrix of real numbers.

    Warns
    -----
    UserWarning
        If W has self loops: they change no difference along an edge, and are removed. If nodes have names, and if
        edges without a weight hold other numbers.

    Examples
    --------
    >>> check_adjacency([[0, 1], [1, 0]], n_samples=2).nnz
    2
    """
    return clean_adjacency(named_adjacency(W, n_samples)[0], n_samples, stacklevel=3)
