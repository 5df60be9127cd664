"""Graph, features and labels brought into one order by the names of nodes.

A matrix has rows, and row i of the features is its node i. A graph of networkx, a table of edges, a frame with the same
names for rows and columns, and the pair that `from_networkx` returns name their nodes. Features (a frame with the
names as its index) and labels (a mapping, or a series with the names as its index) are then matched by name; nodes
that are the numbers 0 to n - 1 are rows of these numbers. Where neither says which row is which node, the graph's own
order is taken, with a warning.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from specmargin.checks import shown, warn
from specmargin.exceptions import InvalidInputError
from specmargin.graphs.adjacency import named_adjacency, named_graph, refuse_lists, warn_of_order
from specmargin.graphs.convert import numbered

__all__ = ["by_node", "by_row", "in_one_order", "n_rows", "number_of_nodes", "row_names", "with_new_nodes"]


def row_names(values: Any) -> list[Hashable] | None:
    """Return the names in the index of a frame or a series, None where they are but the numbers of its rows.

    Examples
    --------
    >>> row_names([[1.0], [2.0]]) is None
    True
    """
    if not hasattr(values, "iloc"):
        return None
    names = list(values.index)
    return names if names != list(range(len(names))) and len(set(names)) == len(names) else None


def n_rows(X: Any) -> int:
    """Return the number of rows of an array-like, 0 of what has none.

    Examples
    --------
    >>> n_rows([[1.0], [2.0]]), n_rows(3.0)
    (2, 0)
    """
    return int(X.shape[0]) if getattr(X, "shape", ()) else len(X) if hasattr(X, "__len__") else 0


def by_node(values: Any, names: Sequence[Hashable] | None, missing: Any) -> Any:
    """Return what a mapping, or a series with the names as its index, holds for each name; anything else as it is.

    Examples
    --------
    >>> by_node({"b": 1}, ["a", "b"], -1).tolist(), by_node([0, 1], ["a", "b"], -1)
    ([-1, 1], [0, 1])
    """
    if names is None:
        return values
    if isinstance(values, Mapping):
        unknown = [name for name in values if name not in set(names)]
        if unknown:
            raise InvalidInputError(
                f"y names {len(unknown)} nodes that graph and rows lack, the first {unknown[0]!r}; name some of them."
            )
        held = np.empty(len(names), dtype=object)
        held[:] = [values.get(name, missing) for name in names]
        return held
    index = row_names(values)
    if index is None or not set(index) & set(names):
        return values
    if set(index) == set(names) or (values.ndim > 1 and set(index) <= set(names)):
        return values.reindex(list(names))
    return by_node(dict(zip(index, values.to_numpy(), strict=True)), names, missing)


def by_row(values: Any, X: Any, nodes: Sequence[Hashable] | None, missing: Any) -> Any:
    """Return labels, targets or weights in the order of the rows of X, where both have names.

    Parameters
    ----------
    values : array-like or mapping
        Labels, targets or weights by name, or in the order of the rows.
    X : array-like or None
        Features, a frame for names; None for the samples that were learned from.
    nodes : sequence of names or None
        Names of those samples, or their numbers as a range; rows without names that are as many have these.
    missing : scalar
        What rows hold that are not named.

    Examples
    --------
    >>> by_row({1: "b", 0: "a"}, [[0.0], [1.0], [2.0]], None, -1).tolist()
    ['a', 'b', -1]
    """
    rows, named = row_names(X), row_names(values)
    if X is None and isinstance(nodes, range) and named is not None:
        raise InvalidInputError(
            f"y has an index of names, such as {named[0]!r}, and the samples of fit have none; pass y.to_numpy() in "
            "their order."
        )
    if rows is None and nodes is not None and (X is None or n_rows(X) == len(nodes)):
        rows = list(nodes)
    if hasattr(values, "iloc") and (X is None or hasattr(X, "iloc")):
        numbers = list(range(len(values)))
        if (rows is None) != (named is None) and set(rows or named or ()) == set(numbers) and rows != numbers:
            warn(
                "X and y are indexed by the numbers of the rows, one of them in another order, so that these may be "
                "names or places: y is taken row by row as it is. Pass y.loc[X.index] to match names, y.array if not."
            )
    if rows is None and isinstance(values, Mapping):
        rows = list(range(n_rows(X)))
    return by_node(values, rows, missing)


def in_one_order(X: Any, y: Any, graph: Any, missing: Any) -> tuple[Any, Any, list[Hashable] | None]:
    """Return labels and graph in the order of the rows of X, and the names of these, None where nothing names them.

    Parameters
    ----------
    X : array-like or None
        Features. A frame whose index holds the nodes says which row is which; without features a series of labels does.
    y : array-like or mapping
        Labels, by node or in the order of the rows.
    graph : object
        A graph or a list of them, with names or without.
    missing : scalar
        Label of nodes that a mapping leaves out.

    Examples
    --------
    >>> import networkx as nx
    >>> y, W, nodes = in_one_order(None, {"c": 1, "a": 0}, nx.path_graph(["c", "b", "a"]), -1)
    >>> y.tolist(), nodes
    ([1, -1, 0], ['c', 'b', 'a'])
    """
    if graph is None:
        return by_row(y, X, None, missing), None, None
    if isinstance(graph, list):
        refuse_lists(graph)
    rows = row_names(y) if X is None else row_names(X)
    n = None if X is None else n_rows(X)
    nodes: list[Hashable] | None = None
    read = []
    for one in graph if isinstance(graph, list) else [graph]:
        say = X is not None or not isinstance(y, Mapping)
        W, names = named_adjacency(one, n, rows if nodes is None else nodes, say=say)
        nodes = nodes or names
        read.append(W)
    labels = nodes
    if nodes is None and isinstance(y, Mapping):
        labels = list(range(number_of_nodes(read[0]) if n is None else n)) if rows is None else rows
    return by_node(y, labels, missing), read if isinstance(graph, list) else read[0], nodes


def number_of_nodes(graph: Any) -> int:
    """Return the number of nodes of a matrix, of a list of rows, of eigenpairs, or of the first of several graphs."""
    if isinstance(graph, list | tuple) and len(graph) and hasattr(graph[0], "shape"):
        return number_of_nodes(graph[0])
    return n_rows(getattr(graph, "eigenvectors", graph))


def with_new_nodes(graph: Any, known: Sequence[Hashable], rows: Sequence[Hashable] | None, n_new: int | None) -> Any:
    """Return the matrix of a graph with the known nodes first and new ones behind; of a matrix, itself.

    Parameters
    ----------
    graph : object
        What `specmargin.graphs.check_adjacency` reads.
    known : sequence of names
        Names of the nodes that were learned from, in their order.
    rows : sequence of names or None
        Names of the new ones, in the order of their features.
    n_new : int or None
        Number of the new ones; None: those that the graph has.

    Raises
    ------
    InvalidInputError
        If the graph lacks a known node, or has no node of a name in `rows`.

    Examples
    --------
    >>> import networkx as nx
    >>> with_new_nodes(nx.Graph([(2, 0), (0, 1)]), [0, 1], None, 1).toarray().tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    named = named_graph(graph) if n_new is None else None
    numbers = range(len(known), len(known) + (n_new or 0)) if named is None else named.nodes
    named = named_graph(graph, [*known, *(numbers if rows is None else rows)])
    if named is None:
        return graph
    lacking = [node for node in known if node not in set(named.nodes)]
    if lacking:
        raise InvalidInputError(
            f"the graph lacks {len(lacking)} of the {len(known)} nodes of fit, the first {lacking[0]!r}; pass "
            "the graph of fit with the new nodes added, under the same names."
        )
    new = [node for node in named.nodes if node not in set(known)]
    if rows is not None and set(rows) == set(new):
        new = list(rows)
    elif numbered([*known, *new]):
        new = sorted(new)  # type: ignore[type-var]  # they are numbers
    elif rows is not None and set(rows) & set(new):
        raise InvalidInputError(
            f"the graph has the new nodes {shown(new)} and X the rows {shown(list(rows))}; pass both of the same names."
        )
    elif len(new) > 1 and not named.is_ordered:
        warn_of_order(new)
    return named.matrix([*known, *new])
