"""The reader of a user's graph: a matrix of weights, or a graph that names its nodes, checked and made clean.

A matrix must be square and symmetric, with finite nonnegative weights. A graph of networkx, a table of edges, a frame
with the same names for rows and columns, and the pair that `from_networkx` returns name their nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import numbers_array
from specmargin.checks import shown, warn
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.convert import from_networkx, numbered
from specmargin.labels.markers import is_missing
from specmargin.typing import Matrix, SparseArray

__all__ = ["check_adjacency", "named_adjacency", "named_graph", "refuse_lists", "to_networkx", "warn_of_order"]

_ROWS_ONLY = (
    "Cross-validation of scikit-learn cuts the rows of what is passed to fit, and leaves the columns: pass "
    "sm.Nodes(X, graph=W) in the place of X, of which every fold keeps all nodes, with the labels of the test fold "
    "hidden; or give each fold its own graph by leaving graph= out."
)
"""Why a graph that was cut like rows of features is not square."""

_ASYMMETRY = 1e-10  # relative to the largest weight: rounding, which is averaged away


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
    return _clean(named_adjacency(W, n_samples)[0], n_samples)


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


class NamedGraph(NamedTuple):
    """A graph with names: its nodes, and what makes a matrix with rows in an order of them."""

    nodes: list[Hashable]
    matrix: Callable[[list[Hashable]], Matrix]
    is_ordered: bool = False
    """Whether who made it knows its order."""


def named_graph(graph: Any, complete: Sequence[Hashable] = ()) -> NamedGraph | None:
    """Return a graph that names its nodes, None of any other; a table of edges gets nodes without an edge, too."""
    columns = [str(name).lower() for name in getattr(graph, "columns", [])]
    if {"source", "target"} <= set(columns):
        graph = _of_edges(graph)
        if set(graph.nodes) <= set(complete):
            graph.add_nodes_from(complete)
    if hasattr(graph, "is_directed") and hasattr(graph, "adjacency"):
        from_networkx(graph, nodelist=list(graph.nodes)[:1])  # refused before its nodes are compared with others
        return NamedGraph(list(graph.nodes), lambda order: from_networkx(graph, nodelist=order)[0])
    if isinstance(graph, tuple) and len(graph) == 2 and sp.issparse(graph[0]) and isinstance(graph[1], list):
        W, nodes = graph
        if len(nodes) != W.shape[0]:
            raise InvalidInputError(
                f"the graph has {W.shape[0]} rows and {len(nodes)} names; pass what graphs.from_networkx returns."
            )
    elif hasattr(graph, "iloc") and len(columns) == len(graph) and list(graph.columns) == list(graph.index):
        W, nodes = graph.to_numpy(), list(graph.index)
    else:
        refuse_lists(graph)
        return None
    clean, at = _clean(W), {node: i for i, node in enumerate(nodes)}
    if len(at) < len(nodes):
        raise InvalidInputError(f"the graph names {len(nodes)} rows by {len(at)} different names; name each once.")

    def ordered(order: list[Hashable]) -> Matrix:
        rows = [at[node] for node in order]
        return clean[rows][:, rows]

    return NamedGraph(nodes, ordered, is_ordered=isinstance(graph, tuple) or nodes == list(range(len(nodes))))


def _of_edges(table: Any) -> Any:
    """Return the networkx graph of a table of edges; its other columns are attributes of the edges."""
    import networkx as nx

    small = {"source", "target", "weight", "type"}  # Gephi writes Source, Target, Weight and Type
    columns = {
        str(name).lower() if str(name).lower() in small else str(name): list(table[name]) for name in table.columns
    }
    sources, targets = columns.pop("source"), columns.pop("target")
    if "directed" in [str(kind).lower() for kind in columns.pop("type", ())]:
        raise InvalidInputError(
            "the table has edges of the type 'Directed', but a Laplacian needs symmetric weights; merge both "
            "directions and drop the column."
        )
    graph: Any = nx.Graph()
    for k, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if is_missing(source) or is_missing(target):
            raise InvalidInputError(f"edge {k} of the table, ({source!r}, {target!r}), lacks a node; drop such rows.")
        if "weight" in columns and is_missing(columns["weight"][k]):
            raise InvalidInputError(
                f"edge {k} of the table, ({source!r}, {target!r}), lacks a weight: it is {columns['weight'][k]!r}; "
                "drop such rows, or say what they weigh, e.g. by fillna({'weight': 1.0})."
            )
        data = {name: values[k] for name, values in columns.items()}
        before = graph.get_edge_data(source, target, data)
        if before.get("weight") != data.get("weight"):
            raise InvalidInputError(
                f"the table has the edge ({source!r}, {target!r}) twice, of the weights {before['weight']!r} and "
                f"{data['weight']!r}; merge them first, e.g. by groupby(['source', 'target']).sum()."
            )
        graph.add_edge(source, target, **data)
    return graph


def named_adjacency(
    graph: Any, n_samples: int | None = None, rows: Sequence[Hashable] | None = None, *, say: bool = True
) -> tuple[Any, list[Hashable] | None]:
    """Return the matrix of a graph that names its nodes, and the names in row order; any other as it is, and None.

    Parameters
    ----------
    graph : object
        What `specmargin.graphs.check_adjacency` reads.
    n_samples : int, optional
        Number of rows of the data; a table of edges with numbers for names then has the nodes 0 to n_samples - 1.
    rows : sequence of names, optional
        Those of the rows of the data. Where they are those of the nodes, the graph is brought into their order.
    say : bool, default True
        Whether to warn where the graph's own order is taken.

    Examples
    --------
    >>> import networkx as nx
    >>> W, nodes = named_adjacency(nx.Graph([("b", "a"), ("a", "c")]), rows=["a", "b", "c"])
    >>> W.toarray().tolist(), nodes
    ([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], ['a', 'b', 'c'])
    """
    named = named_graph(graph, range(n_samples or 0) if rows is None else rows)
    if named is None:
        return graph, None
    nodes = named.nodes
    if rows is not None and n_samples is None and set(rows) < set(nodes):
        rows, say = None, False  # of labels, which need not name all
    if rows is not None and set(rows) == set(nodes):
        order = list(rows)
    elif numbered(nodes):
        order = list(range(len(nodes)))
    else:
        if rows is not None and set(rows) & set(nodes):
            apart = [node for node in nodes if node not in set(rows)] or [row for row in rows if row not in set(nodes)]
            raise InvalidInputError(
                f"the graph has {len(nodes)} nodes and the data {len(rows)} rows of other names: {apart[0]!r} is in "
                f"one of them only ({len(apart)} such names); pass a row for every node."
            )
        order = nodes
        if say and not named.is_ordered:
            warn_of_order(nodes)
    return named.matrix(order), order


def warn_of_order(nodes: list[Hashable]) -> None:
    """Warn that rows are taken for nodes in the graph's own order."""
    digits = all(isinstance(node, str) and node.isdecimal() for node in nodes)
    warn(
        f"the {len(nodes)} nodes of the graph have names ({', '.join(map(repr, nodes[:3]))}, ...) and the samples have "
        "none: row 0 is taken for the first node, and so on in the graph's own order. Pass y as a mapping by node or X "
        "as a frame with the nodes as its index, or choose an order by graph=from_networkx(graph, nodelist=[...])."
        + " Numbers that were read as texts become numbers by nodetype=int."
        * digits
    )


def _clean(W: Matrix, n_samples: int | None = None) -> SparseArray:
    """Return a matrix of weights as `check_adjacency` does."""
    refuse_lists(W)
    if hasattr(W, "eigenvectors"):
        raise InvalidTypeError(
            f"the graph is a {type(W).__name__}, which estimators over a spectrum take (STORM, KTA, SpectralRidge, "
            "...); here the adjacency itself is needed: pass the W whose eigenpairs these are."
        )
    W, distances = _as_csr(W), _stored_zeros(W)
    n = W.shape[0]
    if n != W.shape[1]:
        cut = n == n_samples and n < W.shape[1]
        remedy = f". {_ROWS_ONLY}" if cut else "; graphs.knn_graph(X) builds one from data."
        raise InvalidInputError(
            f"the adjacency must be square, one row and one column per sample, got the shape {W.shape}{remedy}"
        )
    if n_samples is not None and n != n_samples:
        raise InvalidInputError(
            f"the graph has {n} nodes but the data has {n_samples} rows; build it on the same rows, labelled and "
            "unlabelled together, in the same order."
        )
    _check_values(W)
    W = _symmetric(W, distances)
    loops = int(np.count_nonzero(W.diagonal()))
    if loops:
        warn(f"the graph has {loops} self loops, which are removed; they do not change any difference along an edge.")
        W.setdiag(0.0)
        W.eliminate_zeros()
    return W


def refuse_lists(W: Any) -> None:
    """Raise for edges or neighbours in lists, with the line that makes a graph of them.

    Examples
    --------
    >>> refuse_lists([[0, 1, 2], [1, 0, 0], [2, 0, 0]])
    """
    W = list(W) if isinstance(W, Set) else W  # edges of networkx, too
    if isinstance(W, list | tuple) and len(W) and isinstance(W[0], Mapping):
        raise InvalidTypeError(f"the graph is a list of {len(W)} neighbourhoods of nodes. {_ROWS_ONLY}")
    listed = isinstance(W, list | tuple) and len(W) > 0 and all(isinstance(edge, list | tuple) for edge in W)
    listed = listed and all(np.ndim(end) == 0 and not sp.issparse(end) for edge in W for end in edge[:2])
    lengths = {len(edge) for edge in W} if listed else set()
    named = listed and any(isinstance(end, str) for edge in W for end in edge[:2])
    numbers = hasattr(W, "shape") and not sp.issparse(W) and 2 in W.shape and np.asarray(W).dtype.kind in "iuUSO"
    shape = (len(W), *lengths) if listed else tuple(W.shape) if numbers or hasattr(W, "columns") else ()
    rows, columns = shape if len(shape) == 2 else (0, 0)
    if isinstance(W, Mapping) and not sp.issparse(W):
        what, line = (
            f"a mapping of {len(W)} nodes",
            "networkx.Graph(neighbours), with weights as {a: {b: {'weight': w}}}",
        )
    elif hasattr(W, "columns") and shape != shape[::-1]:
        what = f"a frame with the columns {shown(list(W.columns))}, of {len(W)} rows"
        line = "a table of edges with the columns source, target and maybe weight, e.g. by table.rename(columns=...)"
    elif listed and columns == 3 and (named or rows != 3):
        what, line = f"a list of {rows} edges", "graph = networkx.Graph(); graph.add_weighted_edges_from(edges)"
    elif columns == 2 and (named or rows != 2):
        what = f"a list of {rows} edges" if listed else f"an array of the shape {shape}, as a list of edges is"
        line = "networkx.Graph(edges)" if listed else "networkx.Graph(edges.tolist())"
    elif rows == 2 != columns:
        what, line = f"of the shape {shape}, as an edge_index is", "networkx.Graph(edge_index.T.tolist())"
    else:
        return
    raise InvalidTypeError(
        f"the graph is {what}; pass {line}, and nodes without an edge by graph.add_nodes_from(range(n)); or the "
        "adjacency, a square matrix."
    )


def _as_csr(W: Matrix) -> SparseArray:
    """Return a float64 copy in CSR form with sorted indices and no stored zeros."""
    if isinstance(W, np.ma.MaskedArray):
        W = W.filled(0)  # no weight, no edge
    what = "the adjacency: a sparse or dense matrix of real weights, or a networkx.Graph"
    given = numbers_array(what, finite=False)("W", W)
    W = given if sp.issparse(given) else np.asarray(given)
    if W.dtype.kind == "O":
        W = W.astype(np.float64)
    if W.ndim != 2:
        raise InvalidInputError(
            f"the adjacency W={shown(given)} must have two dimensions, got the shape {W.shape}; pass a square matrix, "
            "a row per sample."
        )
    if W.shape[0] == 0:
        raise InvalidInputError(
            f"the adjacency is empty, of the shape {W.shape}; pass a square matrix, a row per sample."
        )
    return sp.csr_array(W, dtype=np.float64, copy=True)


def _check_values(W: SparseArray) -> None:
    bad = ~np.isfinite(W.data)
    if bad.any():
        i, j, value = _entry(W, int(bad.argmax()))
        raise InvalidInputError(
            f"the adjacency holds {np.count_nonzero(bad)} weights that are not finite, the first W[{i}, "
            f"{j}] = {value}; leave out edges without a weight."
        )
    largest = float(W.data.max(initial=0.0))
    if not 1e-75 <= largest <= 1e75 and largest > 0:
        raise InvalidInputError(
            f"the adjacency holds weights up to {largest:.1e}, whose fourth powers {'over' if largest > 1 else 'under'}"
            "flow; scale them, e.g. divide by the largest."
        )
    bad = W.data < 0
    if bad.any():
        i, j, value = _entry(W, int(bad.argmax()))
        raise InvalidInputError(
            f"the adjacency holds {np.count_nonzero(bad)} negative weights, the first W[{i}, {j}] = {value:.6g}; "
            "weights are similarities >= 0. Clip them at 0; if this is a Laplacian, pass its adjacency instead."
        )


def _stored_zeros(W: Any) -> str:
    """Return what zeros off the diagonal of a sparse matrix, whose arrays fit together, probably mean."""
    if not sp.issparse(W) or W.format in ("lil", "dok") or W.data.all():
        return ""
    entries = W.tocoo()
    zero = np.flatnonzero((entries.data == 0) & (entries.row != entries.col))
    if len(zero) == 0:
        return ""
    i, j = int(entries.row[zero[0]]), int(entries.col[zero[0]])
    return (
        f"the adjacency stores {len(zero)} zeros off its diagonal, the first W[{i}, {j}], which are no edges. If these "
        "are distances, 0 between copies, make similarities of them, the larger the nearer, e.g. W.data = "
        "numpy.exp(-(W.data / scale) ** 2); if not, W.eliminate_zeros()"
    )


def _symmetric(W: SparseArray, distances: str) -> SparseArray:
    """Return the mean of a matrix and its transpose where these differ by rounding; `distances` is a doubt."""
    difference = abs(W - W.T).tocoo()
    if difference.nnz == 0:
        if distances:
            warn(f"{distances}.")
        return W
    k = int(difference.data.argmax())
    if difference.data[k] > _ASYMMETRY * W.data.max():
        i, j = int(difference.row[k]), int(difference.col[k])
        raise InvalidInputError(
            f"the adjacency is not symmetric: W[{i}, {j}] = {W[i, j]:.6g} but W[{j}, {i}] = {W[j, i]:.6g}; "
            + (
                f"{distances}, and then W.maximum(W.T)."
                if distances
                else "pass (W + W.T) / 2, or W.maximum(W.T) to keep every edge at full weight; if these are distances, "
                "make similarities of them first, e.g. W.data = numpy.exp(-(W.data / scale) ** 2)."
            )
        )
    W = sp.csr_array((W + W.T) / 2)
    W.sort_indices()
    return W


def _entry(W: SparseArray, k: int) -> tuple[int, int, float]:
    """Row, column and value of the k-th stored entry."""
    row = int(np.searchsorted(W.indptr, k, side="right")) - 1
    return row, int(W.indices[k]), float(W.data[k])
