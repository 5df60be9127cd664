"""Bad and odd inputs, each made of good ones: features, labels, graphs, and values of parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from specmargin.datasets import make_two_moons
from specmargin.exceptions import DisconnectedGraphWarning, MarkerWarning
from specmargin.graphs import from_networkx, knn_graph
from specmargin.labels import Labels, hide_labels

N = 24
X, TRUTH = make_two_moons(n_samples=N, noise=0.05, random_state=0)
Y = hide_labels(TRUTH, per_class=3, random_state=0)
W = knn_graph(X, n_neighbors=5).toarray()
OLD, NEW = X[:20], X[20:]


class Promise(NamedTuple):
    """What happens.

    Parameters
    ----------
    outcome : {"refused", "answered", "same", "either"}
        An error of the package that names value and remedy; a finite answer; the answer to the plain input; one of the
        first two, which the table says where the class decides.
    says : str
        A regular expression that the error, or a warning, matches.
    warning : type, optional
        A warning that goes with the answer.
    value : str
        A regular expression of the offending value, which every error names besides.
    """

    outcome: str
    says: str = ""
    warning: type[Warning] | None = None
    value: str = ""


class Input(NamedTuple):
    """A named input, what is promised for it, and the plain float64 array of the same numbers where that is another."""

    name: str
    value: Any
    promise: Promise
    plain: Any = None


class Bad(NamedTuple):
    """A value that is bad beside other arguments only: what names it in a message, and in the table."""

    value: Any
    told: str
    name: str = ""


def told(value: Any) -> str:
    """Return a regular expression of what must be in a message for it to name a bad value.

    A number, a text or a list as Python writes it; anything else by its type; an array by its first entry that is
    masked, not finite or no number, by the type of its entries, or by its shape.
    """
    if isinstance(value, Bad):
        return value.told
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, Labels):
        return rf"\b{value.n_samples} (samples|rows)|\b{len(value.classes)} classes|Labels"
    if isinstance(value, list | tuple | dict) and len(value):
        return f"{re.escape(repr(value)[:40])}|{told(next(iter(value)))}"  # of several, the first is the bad one
    if isinstance(value, int | float | complex):
        return rf"(?<![\w.]){re.escape(repr(value))}(?!\.?\w)"
    if value is None or isinstance(value, str | list | tuple | dict | set):
        return re.escape(repr(value)[:40])
    shape = getattr(value, "shape", ())
    if len(shape) == 0:
        return re.escape(type(value).__name__)
    array = value.toarray() if sp.issparse(value) else np.ma.filled(value, np.nan) if _masks(value) else value
    array = np.asarray(array)
    if array.dtype.kind not in "buifO":
        return re.escape(str(array.dtype)) + (rf"|\[0(, 0)?\] is '{array.flat[0]}'" if array.dtype.kind in "US" else "")
    with np.errstate(all="ignore"):
        bad = pd.isna(array) if array.dtype.kind == "O" else ~np.isfinite(array)
    for at in map(tuple, np.argwhere(bad)):
        return rf"[\[(]{', '.join(map(str, at))},?[\])]"
    small = "|" + re.escape(" ".join(repr(value).split())) if array.size <= 6 else ""
    return re.escape(str(tuple(shape))) + small


def _masks(value: Any) -> bool:
    return isinstance(value, np.ma.MaskedArray) and value.dtype.kind == "f"


def frame(X: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame(X, schema=[f"column {j}" for j in range(X.shape[1])])


def refused(value: str, says: str = "") -> Promise:
    assert value
    return Promise("refused", says, value=value)


ANSWERED, SAME = Promise("answered"), Promise("same")


def changed(X: np.ndarray, at: Any, value: Any, dtype: Any = None) -> np.ndarray:
    X = np.array(X, dtype=dtype)
    X[at] = value
    return X


def locked(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def strided(X: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


def masked(X: np.ndarray, at: Any = None) -> Any:
    mask = np.zeros(X.shape, dtype=bool)
    if at is not None:
        mask[at] = True
    return np.ma.masked_array(X, mask)


def with_duplicates(X: np.ndarray) -> Any:
    """Return a COO matrix that stores every entry in two halves."""
    rows, cols = (np.tile(at.ravel(), 2) for at in np.indices(X.shape))
    return sp.coo_matrix((np.tile(X.ravel() / 2, 2), (rows, cols)), shape=X.shape)


def unsorted(X: np.ndarray) -> Any:
    n, d = X.shape
    indices = np.tile(np.arange(d)[::-1], n)
    return sp.csr_matrix((X[:, ::-1].ravel(), indices, np.arange(0, n * d + 1, d)), shape=X.shape)


SPARSE = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")


def representations(X: np.ndarray) -> Iterator[Input]:
    """Yield the same numbers in other clothes."""
    for name, value in (
        ("read-only", locked(X)),
        ("not contiguous", strided(X)),
        ("in Fortran's order", np.asfortranarray(X)),
        ("big-endian", X.astype(">f8")),
        ("long double", X.astype(np.longdouble)),
        ("a list of lists", X.tolist()),
        ("an array of objects", X.astype(object)),
        ("a masked array without masked entries", masked(X)),
        ("a frame of pandas", pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])),
        ("a frame of pandas with an index", pd.DataFrame(X, index=[f"row {i}" for i in range(len(X))])),
        ("a frame of pandas with extension types", pd.DataFrame(X).astype("Float64")),
        ("a frame of polars", frame(X)),
        (
            "a frame of polars of objects",
            pl.DataFrame({f"c{j}": pl.Series(x.tolist(), dtype=pl.Object) for j, x in enumerate(X.T)}),
        ),
    ):
        yield Input(name, value, SAME)
    for kind in SPARSE:
        yield Input(f"a {kind} matrix", getattr(sp, f"{kind}_matrix")(X), SAME)
        yield Input(f"a {kind} array", getattr(sp, f"{kind}_array")(X), SAME)
    yield Input("a sparse matrix with duplicate entries", with_duplicates(X), SAME)
    yield Input("a csr matrix with unsorted indices", unsorted(X), SAME)
    yield Input("a csr array with entries in two parts", split(X), SAME)
    for kind in ("csr_matrix", "csr_array", "csc_array", "bsr_array"):
        yield Input(f"a {kind.replace('_', ' ')} with 64-bit indices", _wide(getattr(sp, kind)(X)), SAME)


def split(X: np.ndarray) -> Any:
    """Return a CSR array that stores every entry in two parts of other signs, from the last column to the first."""
    n, d = X.shape
    data = np.stack([2.0 * X[:, ::-1], -X[:, ::-1]], axis=-1)
    indices = np.tile(np.repeat(np.arange(d)[::-1], 2), n)
    return sp.csr_array((data.ravel(), indices, np.arange(0, 2 * n * d + 1, 2 * d)), shape=X.shape)


def malformed(X: np.ndarray) -> Iterator[tuple[str, Bad]]:
    """Yield sparse matrices whose arrays do not fit together: to scipy's routines they are places in memory."""
    for name, form, part, at, value in (
        ("an index beyond the columns", "csr", "indices", 3, 10**6),
        ("an index beyond 32 bits", "csr", "indices", 3, 2**33),
        ("a negative index", "csr", "indices", 3, -(10**6)),
        ("an indptr beyond the entries", "csr", "indptr", 3, 10**7),
        ("an indptr that ends in zero", "csr", "indptr", -1, 0),
        ("an index beyond the rows", "csc", "indices", 3, 10**6),
        ("a block beyond the columns", "bsr", "indices", 1, 10**6),
        ("a row beyond the last", "coo", "row", 3, 10**6),
        ("a diagonal beyond 32 bits", "dia", "offsets", 0, 2**33),
    ):
        made = getattr(sp, f"{form}_matrix")(X)
        setattr(made, part, changed(getattr(made, part), at, value, np.int64))
        yield f"a {form} matrix with {name}", Bad(made, "is no sparse matrix")
    short = sp.csr_array(X)
    short.indices = short.indices[:-1]
    yield "a csr array with an index missing", Bad(short, "is no sparse matrix.*same size")
    entries = np.nonzero(X)
    wide = sp.csr_array((X[entries], entries), shape=(len(X), 2**40))
    yield "a csr array with 2^40 columns", Bad(wide, r"1099511627776")


def _wide(X: Any) -> Any:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def types(X: np.ndarray) -> Iterator[Input]:
    """Yield features of other types, with the plain array of the numbers that they hold.

    Those of the sparse one are fine: among neighbours that are equally far, each search takes what it likes.
    """
    short, whole = X.astype(np.float16), np.round(40 * (X - X.min()))
    for dtype in ("float32", "float16"):
        yield Input(f"of {dtype}", short.astype(dtype), SAME, short.astype(float))
    for dtype in ("int64", "int8", "uint8"):
        yield Input(f"of {dtype}", whole.astype(dtype), SAME, whole)
    fine = np.round(1e6 * X)
    yield Input("sparse, of int64", sp.csr_matrix(fine.astype(np.int64)), SAME, fine)
    yield Input("a frame of polars of Int32", frame(whole.astype(np.int32)), SAME, whole)
    above = np.median(X, axis=0) < X
    yield Input("of bool", above, SAME, above.astype(float))
    yield Input("a frame of polars of Boolean", frame(above), SAME, above.astype(float))


def not_numbers(X: np.ndarray) -> Iterator[Input]:
    """Yield what is no matrix of finite real numbers: refused wherever features go in."""
    words, holes = pl.Series(["a", "b"] * (len(X) // 2)), pl.Series([1.0, None] * (len(X) // 2))
    for name, value in (
        ("None", None),
        ("a number", 3.0),
        ("a string", "features"),
        ("a dict", {"a": 1}),
        ("an object", object()),
        ("one-dimensional", X[:, 0]),
        ("three-dimensional", X[:, :, None]),
        ("without rows", X[:0]),
        ("without columns", X[:, :0]),
        ("ragged", [[1.0, 2.0], [3.0]]),
        ("strings", Bad(np.full(X.shape, "a"), r"\[0, 0\] is .*'a'")),
        ("objects", Bad(changed(X, (0, 0), {}, object), r"\[0, 0\] is \{\}")),
        ("complex", X + 1j),
        ("dates", np.full(X.shape, "2020-01-01", "datetime64[D]")),
        ("with NaN", changed(X, (3, 1), np.nan)),
        ("with inf", changed(X, (3, 1), np.inf)),
        ("with -inf", changed(X, (3, 1), -np.inf)),
        ("with None", changed(X, (3, 1), None, object)),
        ("with pandas.NA", pd.DataFrame(X).astype("Float64").mask(X > 1)),
        ("masked", masked(X, (3, 1))),
        ("all masked", masked(X, slice(None))),
        ("sparse with NaN", sp.csr_matrix(changed(X, (3, 1), np.nan))),
        ("sparse with inf", sp.csc_matrix(changed(X, (3, 1), np.inf))),
        ("sparse complex", sp.csr_matrix(X + 1j)),
        ("a frame of polars with nulls", pl.DataFrame({"a": X[:, 0], "b": holes})),
        ("a frame of polars with whole numbers and nulls", pl.DataFrame({"a": X[:, 0], "b": holes.cast(pl.Int64)})),
        ("a frame of polars with strings", Bad(pl.DataFrame({"a": X[:, 0], "b": words}), r"\[0, 1\] is 'a'")),
        (
            "a frame of polars with categories",
            Bad(pl.DataFrame({"a": X[:, 0], "b": words.cast(pl.Categorical)}), r"\[0, 1\] is 'a'"),
        ),
        ("a series of polars", Bad(holes, rf"\({len(X)},\)")),
        *malformed(X),
        ("scaled by 1e160", Bad(1e160 * X, r"e\+160, whose fourth powers overflow")),
        ("scaled by 1e300", Bad(1e300 * X, r"e\+300, whose fourth powers overflow")),
    ):
        yield bad(name, value)


def bad(name: str, value: Any, says: str = "") -> Input:
    """Return an input that is refused in words that name it."""
    return Input(name, value.value if isinstance(value, Bad) else value, refused(told(value), says))


def features(X: np.ndarray) -> Iterator[Input]:
    """Yield everything that can be passed to fit as X."""
    yield from not_numbers(X)
    yield from representations(X)
    yield from types(X)
    for power in (300, 160):
        yield bad(f"scaled by 1e-{power}", Bad(10.0**-power * X, rf"e-{power}, whose squares underflow"))
    yield bad("one row", X[:1])
    for scale in (1e-140, 1e-80, 1e-60, 1e-30, 1e-8, 1e8, 1e30, 1e60):
        yield Input(f"scaled by {scale:.0e}", scale * X, Promise("either"))
    for name, value in (
        ("far from the origin (1e6)", X + 1e6),
        ("with a constant column", np.column_stack([X, np.ones(len(X))])),
        ("with a column of zeros", np.column_stack([X, np.zeros(len(X))])),
        ("with a column 1e8 times as large", X * [1.0, 1e8]),
        ("with more columns than rows", np.hstack([X] * 15)),
        ("with one column", X[:, :1]),
        ("with a row of zeros", changed(X, 5, 0.0)),
        ("with every row twice", np.repeat(X[: len(X) // 2], 2, axis=0)),
    ):
        yield Input(name, value, ANSWERED)
    for name, value in (
        ("with all rows alike", np.ones_like(X)),
        ("zero", np.zeros_like(X)),
        ("with two different rows", np.where((np.arange(len(X)) % 2 == 0)[:, None], 1.0, -1.0) * np.ones_like(X)),
        ("sparse without entries", sp.csr_matrix(X.shape)),
    ):
        yield Input(name, value, Promise("either"))


class Labeled(NamedTuple):
    """Labels with the marker that goes with them."""

    y: Any
    unlabeled: Any = -1


def labels() -> Iterator[Input]:
    """Yield everything that can be passed to fit as y."""
    named = np.array(["moon", "sun"])[TRUTH].astype(object)
    hidden = Y == -1
    ends = r"a missing value.*pass unlabeled=np\.nan$"
    many = np.where(hidden, -1, np.arange(N) % 3)
    series = pl.Series(Y).to_frame("y").select(pl.when(pl.col("y") >= 0).then("y"))["y"]
    first = rf"y\[{int(np.flatnonzero(hidden)[0])}\]"
    for name, y, marker, promise in (
        ("None", None, -1, refused("the target y is None")),
        ("a number", 3, -1, refused("y=3")),
        ("a string", "moon", -1, refused("y='moon'")),
        ("in two columns", np.column_stack([Y, Y]), -1, refused(rf"shape \({N}, 2\)")),
        ("ragged", [[0], [1, 2]], -1, refused(r"\[\[0\], \[1, 2\]\]")),
        ("one too few", Y[:-1], -1, refused(rf"X has {N} rows, but y has {N - 1} labels")),
        ("one too many", [*Y, 0], -1, refused(rf"X has {N} rows, but y has {N + 1} labels")),
        ("empty", [], -1, refused(rf"X has {N} rows, but y has 0 labels")),
        ("without a label", np.full(N, -1), -1, refused(f"no labelled sample: all {N} values equal the marker -1")),
        ("of one class", np.where(Y == 1, -1, Y), -1, refused(r"one class only \(0\)")),
        ("of one class and -1 as the other", 2 * TRUTH - 1, -1, refused(r"one class only \(1\)", "unlabeled=0")),
        ("real numbers", np.where(hidden, -1.0, X[:, 0]), -1, refused(rf"y\[2\] is {X[2, 0]}", "continuous")),
        ("with inf", np.where(hidden, np.inf, Y), -1, refused(rf"{first} is inf", r"unlabeled=float\('inf'\)")),
        ("mixed types", [*np.where(hidden, -1, Y).tolist()[:-1], "moon"], -1, refused(r"'int', 'str'")),
        ("with nan under -1", np.where(hidden, np.nan, Y), -1, refused(f"{first} is nan, {ends}")),
        ("with None under -1", np.where(hidden, None, named), -1, refused(f"{first} is None, {ends}")),
        ("with '' under -1", np.where(hidden, "", named), -1, refused(f"{first} is '', {ends}")),
        ("with NA under -1", pd.Series(Y).mask(hidden).astype("Int64"), -1, refused(f"{first} is (<NA>|nan), {ends}")),
        ("masked under -1", np.ma.masked_array(TRUTH, hidden), -1, refused(f"{first} is None, {ends}")),
        ("nulls of polars under -1", series, -1, refused(f"{first} is (nan|None), {ends}")),
        ("under a list as marker", Y, [-1], refused(r"\[-1\]", "name one value")),
        ("under a dict as marker", Y, {}, refused(r"\{\}", "name one value")),
        ("one label per class", hide_labels(TRUTH, per_class=1, random_state=0), -1, ANSWERED),
        ("one label in a class", changed(Y, np.flatnonzero(Y == 1)[1:], -1), -1, ANSWERED),
        ("three classes", many, -1, ANSWERED),
        ("without a marker", TRUTH, -1, Promise("answered", "no sample carries the marker", MarkerWarning)),
        (
            "under a marker that never occurs",
            np.where(hidden, "moon", named),
            "?",
            Promise("answered", "'[?]'", MarkerWarning),
        ),
        (
            "-1, 0 and 1 with 0 for unlabelled",
            np.where(hidden, 0, 2 * TRUTH - 1),
            -1,
            Promise("answered", "pass unlabeled=0", MarkerWarning),
        ),
        ("-1 and 1 under 0", np.where(hidden, 0, 2 * TRUTH - 1), 0, SAME),
        ("a list", Y.tolist(), -1, SAME),
        ("a tuple", tuple(Y.tolist()), -1, SAME),
        ("a column", Y[:, None], -1, SAME),
        ("read-only", locked(Y), -1, SAME),
        ("not contiguous", np.repeat(Y, 2)[::2], -1, SAME),
        ("of int8", Y.astype(np.int8), -1, SAME),
        ("of float32", Y.astype(np.float32), -1, SAME),
        ("of objects", Y.astype(object), -1, SAME),
        ("of uint8 under 255", np.where(hidden, 255, Y).astype(np.uint8), 255, SAME),
        ("a series", pd.Series(Y), -1, SAME),
        ("a series of polars", pl.Series(Y), -1, SAME),
        ("a series of polars of Int8", pl.Series(Y).cast(pl.Int8), -1, SAME),
        ("a series of polars with nulls", series, None, SAME),
        ("a series of polars of strings with nulls", series.replace_strict({0: "moon", 1: "sun"}), np.nan, SAME),
        (
            "a series of polars of categories with nulls",
            series.replace_strict({0: "moon", 1: "sun"}).cast(pl.Categorical),
            None,
            SAME,
        ),
        ("a series of polars of Boolean with nulls", series.cast(pl.Boolean), None, SAME),
        ("a series with an index", pd.Series(Y, index=np.arange(N)[::-1]), -1, SAME),
        ("of Int64", pd.Series(Y).astype("Int64"), -1, SAME),
        ("strings under '?'", np.where(hidden, "?", named).astype(str), "?", SAME),
        ("strings of objects under -1", np.where(hidden, -1, named), -1, SAME),
        ("bytes", np.where(hidden, "?", named).astype("S4"), b"?", SAME),
        ("truth values under None", np.where(hidden, None, TRUTH == 1), None, SAME),
        ("huge integers", np.where(hidden, -1, TRUTH + 2**60), -1, SAME),
    ):
        yield Input(name, Labeled(y, marker), promise)
    # Before pandas 3 "str" turns what is missing into a word, "None", say: texts are columns of objects there.
    text = "str" if pd.Series([None, "moon"], dtype=object).astype("str").isna().any() else "object"
    for spelling, missing in (("None", None), ("nan", np.nan), ("NA", pd.NA), ("''", "")):
        for kind in ("object", "str", "string", "category"):
            column = pd.Series(named).astype(object)
            column[hidden] = missing
            marker = np.nan if spelling == "None" else None
            held = column.astype(text if kind == "str" else kind)
            yield Input(f"{spelling} in a column of {kind}", Labeled(held, marker), SAME)
    for spelling, missing in (("None", None), ("nan", np.nan), ("NA", pd.NA)):
        for kind in ("object", "Int64", "Float64", "category"):
            column = pd.Series(TRUTH).astype(object)
            column[hidden] = missing
            yield Input(f"{spelling} in a column of numbers of {kind}", Labeled(column.astype(kind), pd.NA), SAME)
    yield Input("nan of float64", Labeled(np.where(hidden, np.nan, Y), np.nan), SAME)
    yield Input("masked under None", Labeled(np.ma.masked_array(TRUTH, hidden), None), SAME)


def graphs() -> Iterator[Input]:
    """Yield everything that can be passed as a graph of N nodes."""
    G = nx.from_numpy_array(W)
    mixed = nx.Graph()
    mixed.add_nodes_from(np.random.default_rng(0).permutation(N).tolist())
    mixed.add_edges_from(G.edges(data=True))
    named = nx.relabel_nodes(G, "node {}".format)
    table = nx.to_pandas_edgelist(G).sample(frac=1.0, random_state=0)
    edges = np.array(G.edges)
    lopsided, negative = changed(W, (0, 1), 2.0), changed(W, ([0, 1], [1, 0]), -1.0)
    lopsided[1, 0] = 0.5
    cut = W * (TRUTH[:, None] == TRUTH)
    alone = changed(changed(W, 2, 0.0), (slice(None), 2), 0.0)
    square = rf"square.*\({N}, 20\)"
    for name, value in (
        ("a number", 3.0),
        ("a string", "graph"),
        ("an object", object()),
        ("one-dimensional", W[0]),
        ("three-dimensional", W[:, :, None]),
        ("empty", Bad(W[:0, :0], r"\(0, 0\)|\b0 nodes")),
        ("of other nodes", Bad(W[:20, :20], rf"graph has 20 nodes but the data has {N} rows")),
        ("with columns cut out", Bad(W[:, :20], square)),
        ("with rows cut out", Bad(W[:20], rf"square.*\(20, {N}\)")),
        ("with rows cut out, as those of X are", Bad(W[:20], rf"square.*\(20, {N}\)\. Cross-validation")),
        *malformed(W),
        ("a list of edges", Bad(edges.tolist(), rf"a list of {len(edges)} edges; pass networkx\.Graph\(edges\)")),
        ("an array of edges", Bad(edges, rf"shape \({len(edges)}, 2\), as a list of edges is")),
        ("an edge_index", Bad(edges.T, rf"shape \(2, {len(edges)}\), as an edge_index is.*edge_index\.T")),
        ("a dict of neighbours", Bad(nx.to_dict_of_lists(G), rf"a mapping of {N} nodes; pass networkx\.Graph")),
        ("a table that has an edge twice", Bad(pd.concat([table, table[:1].assign(weight=9.0)]), "twice")),
        ("a list of neighbourhoods", Bad([G[i] for i in range(N)], rf"list of {N} neighbourhoods.*Cross-validation")),
        ("asymmetric", Bad(lopsided, r"W\[0, 1\] = 2 but W\[1, 0\] = 0.5")),
        ("negative", Bad(negative, r"negative.*, the first W\[0, 1\] (=|is) -1")),
        ("with NaN", np.where(W > 0, np.nan, 0.0)),
        ("with inf", np.where(W > 0, np.inf, 0.0)),
        ("of strings", np.full(W.shape, "a")),
        ("a frame of polars with nulls", frame(W).with_columns(pl.lit(None, pl.Float64).alias("column 3"))),
        ("complex", W + 0j),
        ("scaled by 1e300", Bad(1e300 * W, r"e\+300, whose fourth powers overflow")),
        ("scaled by 1e-300", Bad(1e-300 * W, r"e-300, whose fourth powers underflow")),
        ("a directed graph", Bad(nx.DiGraph(G), "directed")),
        ("a multigraph", Bad(nx.MultiGraph(G), "multigraph")),
        ("a graph without nodes", Bad(nx.Graph(), "no nodes")),
    ):
        yield bad(name, value)
    loops = W + np.eye(N)
    for name, value in (
        ("dense", W),
        ("a list of lists", W.tolist()),
        ("of integers", W.astype(int)),
        ("of bool", W > 0),
        ("of float32", W.astype(np.float32)),
        ("read-only", locked(W)),
        ("in Fortran's order", np.asfortranarray(W)),
        ("not contiguous", strided(W)),
        ("a frame of pandas", pd.DataFrame(W)),
        ("a frame of polars", frame(W)),
        ("a masked array", np.ma.masked_equal(W, 0)),
        ("a networkx graph", G),
        ("a networkx graph with its nodes in another order", mixed),
        ("a table of edges of pandas", table),
        ("a table of edges of polars", pl.DataFrame(table.to_dict("list"))),
        ("the pair of a matrix and names", from_networkx(named)),
        *((f"a {kind} matrix", getattr(sp, f"{kind}_matrix")(W)) for kind in SPARSE),
        *((f"a {kind} array", getattr(sp, f"{kind}_array")(W)) for kind in SPARSE),
        ("sparse with duplicate entries", with_duplicates(W)),
        ("a csr array with entries in two parts", split(W)),
        ("a csr array with 64-bit indices", _wide(sp.csr_array(W))),
    ):
        yield Input(name, value, SAME)
    by_name = Promise("same", f"the {N} nodes of the graph have names \\('node 0'", UserWarning)
    yield Input("a networkx graph of names", named, by_name)
    yield Input("a frame of pandas with names", nx.to_pandas_adjacency(named), by_name)
    yield Input("with self loops", loops, Promise("same", "24 self loops", UserWarning))
    yield Input("scaled by 1e-8", 1e-8 * W, Promise("either"))
    yield Input("scaled by 1e8", 1e8 * W, Promise("either"))
    yield Input("in two pieces", cut, Promise("answered", "2 components", DisconnectedGraphWarning))
    yield Input("with an isolated node", alone, Promise("answered", "1 isolated", DisconnectedGraphWarning))
    yield Input("without edges", np.zeros_like(W), Promise("either", "24 isolated", DisconnectedGraphWarning))
