"""Graphs of networkx read: their weights as an adjacency, and the features of their nodes as rows of numbers.

networkx keeps nodes by name, this package by row number. `from_networkx` returns the adjacency together with
the list that translates one into the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.checks import foreign, shown, warn
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import FloatArray, SparseArray

__all__ = ["from_networkx", "node_features", "numbered"]


def from_networkx(
    graph: Any, *, weight: str | None = "weight", nodelist: Sequence[Hashable] | None = None
) -> tuple[SparseArray, list[Hashable]]:
    """Return the adjacency of an undirected networkx graph, and its nodes in row order.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected and simple.
    weight : str or None, default "weight"
        Edge attribute that holds the weight; an edge without it weighs 1, which a warning says where edges hold other
        numbers, or some of them this one. None: every edge weighs 1.
    nodelist : sequence of nodes, optional
        Row order; by default 0 to n - 1 where these are the nodes, else the order in which the graph lists them. A
        subset takes the induced subgraph.

    Returns
    -------
    W : csr_array of shape (n, n)
        Self loops included: `check_adjacency` removes them with a warning.
    nodes : list
        ``nodes[i]`` is the node of row i.

    Raises
    ------
    TypeError
        If `graph` is no networkx graph, or is directed or a multigraph.
    ValueError
        If the graph is empty or `nodelist` names other nodes, or one twice.

    Examples
    --------
    >>> import networkx as nx
    >>> W, nodes = from_networkx(nx.path_graph(["a", "b", "c"]))
    >>> W.toarray().tolist(), nodes
    ([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], ['a', 'b', 'c'])
    """
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise InvalidTypeError(f"graph={shown(graph)} is no networkx.Graph; pass a matrix to check_adjacency instead.")
    if graph.is_directed():
        raise InvalidTypeError(
            "the graph is directed, but a Laplacian needs symmetric weights; pass graph.to_undirected()."
        )
    if graph.is_multigraph():
        raise InvalidTypeError(
            "the graph is a multigraph; merge parallel edges first, or pass networkx.Graph(graph), which keeps one of "
            "each."
        )
    nodes = _row_order(graph, nodelist)
    if len(set(nodes)) < len(nodes):
        raise InvalidInputError(
            f"nodelist holds {len(nodes)} entries but only {len(set(nodes))} different nodes; name each once."
        )
    if weight is not None and len(nodes) > 1:
        _say_weights(graph, weight)
    dtype: Any = np.float64  # the stubs ask for an instance
    with foreign("give every edge a number as its weight"):
        return sp.csr_array(nx.to_scipy_sparse_array(graph, nodelist=nodes, weight=weight, dtype=dtype)), nodes


def node_features(graph: Any, attribute: str, *, nodelist: Sequence[Hashable] | None = None) -> FloatArray:
    """Return what the nodes of a networkx graph hold under one attribute, a row per node.

    Parameters
    ----------
    graph : networkx.Graph
        Graph of any kind.
    attribute : str
        Name of the node attribute: a number, or a sequence of as many numbers at every node.
    nodelist : sequence of nodes, optional
        Row order; by default that of `from_networkx` and of every ``graph=`` of the package: 0 to n - 1 where these
        are the nodes, else the order in which the graph lists them.

    Returns
    -------
    ndarray of shape (n, d)

    Raises
    ------
    TypeError
        If `graph` is no networkx graph.
    ValueError
        If a node lacks the attribute, or what it holds is no number, not finite, or of another length.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.path_graph(["a", "b"])
    >>> nx.set_node_attributes(graph, {"a": [1.0, 2.0], "b": [0.0, 3.0]}, "x")
    >>> node_features(graph, "x").tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise InvalidTypeError(f"graph={shown(graph)} is no networkx.Graph; pass the matrix of features itself.")
    nodes = _row_order(graph, nodelist)
    rows: list[FloatArray] = []
    for node in nodes:
        held = graph.nodes[node].get(attribute)
        if held is None:
            others = sorted(map(str, graph.nodes[node]))
            raise InvalidInputError(
                f"the node {node!r} has no attribute {attribute!r} (it has {others}); name one that every node has."
            )
        try:
            row = np.atleast_1d(np.asarray(held, dtype=np.float64))
        except (TypeError, ValueError):
            row = np.full(1, np.nan)
        if row.ndim != 1 or not np.isfinite(row).all() or (rows and len(row) != len(rows[0])):
            wanted = f"{len(rows[0])} finite" if rows else "finite"
            raise InvalidInputError(
                f"the attribute {attribute}={shown(held)} of the node {node!r} is not {wanted} numbers; give every "
                "node as many, and code words by columns of zeros and ones."
            )
        rows.append(row)
    return np.stack(rows)


def numbered(nodes: Sequence[Hashable]) -> bool:
    """Whether nodes are the whole numbers from 0 on, in any order.

    Examples
    --------
    >>> numbered([1, 0, 2]), numbered([1, 2]), numbered(["0", "1"])
    (True, False, False)
    """
    whole = all(isinstance(node, int | np.integer) and not isinstance(node, bool) for node in nodes)
    return whole and set(nodes) == set(range(len(nodes)))


def _row_order(graph: Any, nodelist: Sequence[Hashable] | None) -> list[Hashable]:
    """Return the nodes in the order of the rows: as listed, by number, or else as the graph has them."""
    nodes = list(graph.nodes if nodelist is None else nodelist)
    if not nodes:
        raise InvalidInputError("there are no nodes; give the graph, or nodelist, one node per sample.")
    unknown = [node for node in nodes if node not in graph]
    if unknown:
        raise InvalidInputError(
            f"nodelist names {len(unknown)} nodes that the graph lacks, the first {unknown[0]!r}; name nodes of it."
        )
    return list(range(len(nodes))) if nodelist is None and numbered(nodes) else nodes


def _say_weights(graph: Any, weight: str) -> None:
    """Warn where edges weigh 1 though they hold numbers under other names, or others of them a weight."""
    held = [data for _, _, data in graph.edges(data=True)]
    without = sum(weight not in data for data in held)
    names = {str(name) for data in held for name, value in data.items() if isinstance(value, Real)}
    others = ", ".join(map(repr, sorted(names - {weight})))
    if without and names:
        though = "" if without == len(held) else f"the other {len(held) - without} hold one"
        though += " and " * bool(though and others) + f"edges hold numbers under {others}" * bool(others)
        instead = "name one by graph=from_networkx(graph, weight=...)" if others else "give each a weight"
        warn(
            f"{without} of the {len(held)} edges of the graph hold no {weight!r} and weigh 1, though {though}; "
            f"{instead}, or say weight=None."
        )
