"""The reader of a user's graph: a matrix of weights, or a graph of networkx, checked and made clean."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from specmargin.exceptions import InvalidInputError
from specmargin.graphs._adjacency_matrix import clean_adjacency
from specmargin.graphs.node_names import named_adjacency
from specmargin.typing import SparseArray

__all__ = ["check_adjacency", "to_networkx"]


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


def to_networkx(W: Any, nodes: Sequence[Hashable] | None = None) -> Any:
    """Return the networkx graph of an adjacency, with edge attribute "weight".

    Parameters
    ----------
    W : sparse matrix or ndarray of shape (n, n)
        Symmetric nonnegative weights.
    nodes : sequence of n different nodes, optional
        Name of every row; by default 0 to n - 1.

    Returns
    -------
    networkx.Graph
        Its nodes in row order.

    Raises
    ------
    ValueError
        If `W` is no adjacency, or `nodes` does not name every row once.

    Examples
    --------
    >>> graph = to_networkx([[0, 2], [2, 0]], nodes=["a", "b"])
    >>> list(graph.edges(data="weight"))
    [('a', 'b', 2.0)]
    """
    import networkx as nx

    graph = nx.from_scipy_sparse_array(check_adjacency(W))
    if nodes is None:
        return graph
    names = list(nodes)
    if len(names) != len(graph) or len(set(names)) != len(names):
        raise InvalidInputError(
            f"nodes holds {len(names)} names ({len(set(names))} different) for {len(graph)} rows; name every row once."
        )
    return nx.relabel_nodes(graph, dict(enumerate(names)))
