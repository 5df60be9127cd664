"""Features of the nodes of a networkx graph, as rows of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.convert import numbered
from specmargin.typing import FloatArray

__all__ = ["node_features"]


def node_features(graph: Any, attribute: str, *, nodelist: Sequence[Hashable] | None = None) -> FloatArray:
    """Return what the nodes of a networkx graph hold under one attribute, a row per node.

    Parameters
    ----------
    graph : networkx.Graph
        Of any kind.
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
    nodes = list(graph.nodes) if nodelist is None else list(nodelist)
    if nodelist is None and numbered(nodes):
        nodes = list(range(len(nodes)))
    if not nodes:
        raise InvalidInputError(f"{'the graph' if nodelist is None else 'nodelist'} has no nodes; name one at least.")
    unknown = [node for node in nodes if node not in graph]
    if unknown:
        raise InvalidInputError(f"nodelist names {unknown[0]!r}, which the graph lacks; name nodes of it.")
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
