"""Bad and odd inputs, each made of good ones: features, labels, graphs, and values of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp

from specmargin.datasets import make_two_moons
from specmargin.exceptions import DisconnectedGraphWarning, MarkerWarning
from specmargin.graphs import knn_graph
from specmargin.labels import hide_labels

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
    """

    outcome: str
    says: str = ""
    warning: type[Warning] | None = None


class Input(NamedTuple):
    """A named input and what is promised for it."""

    name: str
    value: Any
    promise: Promise


class Frame:
    """Stands for a frame of a library that is not installed: columns, a shape, and conversion to an array."""

    def __init__(self, X: np.ndarray) -> None:
        self._X, self.shape = X, X.shape
        self.columns = [f"column {j}" for j in range(X.shape[1])]

    def __len__(self) -> int:
        return len(self._X)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._X, dtype=dtype)


def frame(X: np.ndarray) -> Any:
    """Return a frame of polars where it is installed, else what looks like one."""
    with suppress(ImportError):
        import polars

        return polars.DataFrame(X, schema=[f"column {j}" for j in range(X.shape[1])])
    return Frame(X)


def refused(says: str) -> Promise:
    return Promise("refused", says)


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
    ):
        yield Input(name, value, SAME)
    for kind in SPARSE:
        yield Input(f"a {kind} matrix", getattr(sp, f"{kind}_matrix")(X), SAME)
        yield Input(f"a {kind} array", getattr(sp, f"{kind}_array")(X), SAME)
    yield Input("a sparse matrix with duplicate entries", with_duplicates(X), SAME)
    yield Input("a csr matrix with unsorted indices", unsorted(X), SAME)
    yield Input("a csr matrix with 64-bit indices", _wide(sp.csr_matrix(X)), SAME)


def _wide(X: Any) -> Any:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def types(X: np.ndarray) -> Iterator[Input]:
    """Yield features of other types: an answer to what they hold."""
    for dtype in ("float32", "float16", "int64", "int8", "uint8"):
        yield Input(f"of {dtype}", np.round(10 * (X - X.min())).astype(dtype), ANSWERED)
    yield Input("of bool", np.median(X, axis=0) < X, ANSWERED)
    yield Input("sparse, of int64", sp.csr_matrix(np.round(10 * X).astype(np.int64)), ANSWERED)


def not_numbers(X: np.ndarray) -> Iterator[Input]:
    """Yield what is no matrix of finite real numbers: refused wherever features go in."""
    shape = r"(?i)array|matrix|dimension|2D|shape|row"
    for name, value, says in (
        ("None", None, r"(?i)None|NaN|scalar|NoneType|object|dtype"),
        ("a number", 3.0, shape),
        ("a string", "features", r"(?i)features|scalar|string"),
        ("a dict", {"a": 1}, r"(?i)dict|scalar|0d|shape"),
        ("an object", object(), r"(?i)object|scalar"),
        ("one-dimensional", X[:, 0], shape),
        ("three-dimensional", X[:, :, None], shape),
        ("without rows", X[:0], r"(?i)0 sample|0 rows|empty|shape"),
        ("without columns", X[:, :0], r"(?i)0 feature|shape|columns"),
        ("ragged", [[1.0, 2.0], [3.0]], r"(?i)inhomogeneous|sequence|shape"),
        ("strings", np.full(X.shape, "a"), r"(?i)string|'a'"),
        ("objects", changed(X, (0, 0), {}, object), r"(?i)dict|object"),
        ("complex", X + 1j, r"(?i)complex"),
        ("dates", np.full(X.shape, "2020-01-01", "datetime64[D]"), r"(?i)date|DType"),
        ("with NaN", changed(X, (3, 1), np.nan), r"\[3, 1\] is nan"),
        ("with inf", changed(X, (3, 1), np.inf), r"\[3, 1\] is inf"),
        ("with -inf", changed(X, (3, 1), -np.inf), r"\[3, 1\] is -inf"),
        ("with None", changed(X, (3, 1), None, object), r"\[3, 1\] is nan|NoneType"),
        ("with pandas.NA", pd.DataFrame(X).astype("Float64").mask(X > 1), r"is nan|NA"),
        ("masked", masked(X, (3, 1)), r"1 masked entries, the first at \(3, 1\)"),
        ("all masked", masked(X, slice(None)), r"masked entries"),
        ("sparse with NaN", sp.csr_matrix(changed(X, (3, 1), np.nan)), r"\[3, 1\] is nan"),
        ("sparse with inf", sp.csc_matrix(changed(X, (3, 1), np.inf)), r"\[3, 1\] is inf"),
        ("sparse complex", sp.csr_matrix(X + 1j), r"(?i)complex"),
        ("scaled by 1e160", 1e160 * X, r"e\+160, whose squares overflow"),
        ("scaled by 1e300", 1e300 * X, r"e\+300, whose squares overflow"),
    ):
        yield Input(name, value, refused(says))


def features(X: np.ndarray) -> Iterator[Input]:
    """Yield everything that can be passed to fit as X."""
    yield from not_numbers(X)
    yield from representations(X)
    yield from types(X)
    for name, scale in (("1e-300", 1e-300), ("1e-160", 1e-160), ("1e-80", 1e-80)):
        yield Input(f"scaled by {name}", scale * X, refused("whose squares underflow"))
    yield Input("one row", X[:1], refused(r"(?i)1 sample|minimum of 2|inconsistent"))
    for scale in (1e-60, 1e-30, 1e-8, 1e8, 1e30, 1e60):
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
    for name, y, marker, promise in (
        ("None", None, -1, refused("target y is None")),
        ("a number", 1, -1, refused("(?i)shape|1d|y")),
        ("a string", "moon", -1, refused("(?i)shape|1d|y")),
        ("in two columns", np.column_stack([Y, Y]), -1, refused(r"(?i)shape \(24, 2\)|1d array|columns")),
        ("ragged", [[0], [1, 2]], -1, refused("(?i)inhomogeneous|labels")),
        ("one too few", Y[:-1], -1, refused(r"\[24, 23\]")),
        ("one too many", [*Y, 0], -1, refused(r"\[24, 25\]")),
        ("empty", [], -1, refused(r"\[24, 0\]|0 sample")),
        ("without a label", np.full(N, -1), -1, refused("no labelled sample: all 24 values equal the marker -1")),
        ("of one class", np.where(Y == 1, -1, Y), -1, refused(r"one class only \(0\)")),
        ("of one class and -1 as the other", 2 * TRUTH - 1, -1, refused(r"one class only \(1\).*unlabeled=0")),
        ("real numbers", np.where(hidden, -1.0, X[:, 0]), -1, refused("(?i)unknown label type.*continuous")),
        ("with inf", np.where(hidden, np.inf, Y), -1, refused(r"is inf.*unlabeled=float\('inf'\)")),
        ("mixed types", [*np.where(hidden, -1, Y).tolist()[:-1], "moon"], -1, refused("(?i)types|sorted")),
        ("with nan under -1", np.where(hidden, np.nan, Y), -1, refused(f"is nan, {ends}")),
        ("with None under -1", np.where(hidden, None, named), -1, refused(f"is None, {ends}")),
        ("with '' under -1", np.where(hidden, "", named), -1, refused(f"is '', {ends}")),
        ("with NA under -1", pd.Series(Y).mask(hidden).astype("Int64"), -1, refused(f"is (<NA>|nan), {ends}")),
        ("masked under -1", np.ma.masked_array(TRUTH, hidden), -1, refused(f"is None, {ends}")),
        ("under a list as marker", Y, [-1], refused(r"\[-1\].*name one value")),
        ("under a dict as marker", Y, {}, refused(r"\{\}.*name one value")),
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
        ("a series with an index", pd.Series(Y, index=np.arange(N)[::-1]), -1, SAME),
        ("of Int64", pd.Series(Y).astype("Int64"), -1, SAME),
        ("strings under '?'", np.where(hidden, "?", named).astype(str), "?", SAME),
        ("strings of objects under -1", np.where(hidden, -1, named), -1, SAME),
        ("bytes", np.where(hidden, "?", named).astype("S4"), b"?", SAME),
        ("truth values under None", np.where(hidden, None, TRUTH == 1), None, SAME),
        ("huge integers", np.where(hidden, -1, TRUTH + 2**60), -1, SAME),
    ):
        yield Input(name, Labeled(y, marker), promise)
    for spelling, missing in (("None", None), ("nan", np.nan), ("NA", pd.NA), ("''", "")):
        for kind in ("object", "str", "string", "category"):
            column = pd.Series(named).astype(object)
            column[hidden] = missing
            marker = np.nan if spelling == "None" else None
            yield Input(f"{spelling} in a column of {kind}", Labeled(column.astype(kind), marker), SAME)
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
    lopsided, negative = changed(W, (0, 1), 2.0), changed(W, ([0, 1], [1, 0]), -1.0)
    lopsided[1, 0] = 0.5
    cut = W * (TRUTH[:, None] == TRUTH)
    alone = changed(changed(W, 2, 0.0), (slice(None), 2), 0.0)
    for name, value, says in (
        ("a number", 3.0, "dimensions|shape"),
        ("a string", "graph", "(?i)real weights|convert|string"),
        ("an object", object(), "(?i)object|float"),
        ("one-dimensional", W[0], "dimensions|shape"),
        ("three-dimensional", W[:, :, None], "dimensions|shape"),
        ("empty", W[:0, :0], "empty|0 nodes"),
        ("of other nodes", W[:20, :20], "graph has 20 nodes but the data has 24 rows"),
        ("with columns cut out", W[:, :20], r"square.*\(24, 20\)"),
        ("with rows cut out", W[:20], r"square.*\(20, 24\)"),
        ("with rows cut out, as those of X are", W[:20], r"square.*\(20, 24\)\. Cross-validation"),
        ("a list of neighbourhoods", [G[i] for i in range(N)], "neighbourhoods.*Cross-validation"),
        ("asymmetric", lopsided, r"W\[0, 1\] = 2 but W\[1, 0\] = 0.5"),
        ("negative", negative, r"negative weights, the first W\[0, 1\] = -1"),
        ("with NaN", np.where(W > 0, np.nan, 0.0), "not finite, the first W"),
        ("with inf", np.where(W > 0, np.inf, 0.0), "not finite, the first W"),
        ("of strings", np.full(W.shape, "a"), "(?i)real weights|convert|string"),
        ("complex", W + 0j, "complex"),
        ("scaled by 1e300", 1e300 * W, "squares overflow"),
        ("scaled by 1e-300", 1e-300 * W, "squares underflow"),
        ("a directed graph", nx.DiGraph(G), "directed"),
        ("a multigraph", nx.MultiGraph(G), "multigraph"),
        ("a graph without nodes", nx.Graph(), "no nodes"),
    ):
        yield Input(name, value, refused(says))
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
        ("a masked array", np.ma.masked_equal(W, 0)),
        ("a networkx graph", G),
        *((f"a {kind} matrix", getattr(sp, f"{kind}_matrix")(W)) for kind in SPARSE),
        *((f"a {kind} array", getattr(sp, f"{kind}_array")(W)) for kind in SPARSE),
        ("sparse with duplicate entries", with_duplicates(W)),
    ):
        yield Input(name, value, SAME)
    yield Input("with self loops", loops, Promise("same", "24 self loops", UserWarning))
    yield Input("scaled by 1e-8", 1e-8 * W, Promise("either"))
    yield Input("scaled by 1e8", 1e8 * W, Promise("either"))
    yield Input("in two pieces", cut, Promise("answered", "2 components", DisconnectedGraphWarning))
    yield Input("with an isolated node", alone, Promise("answered", "1 isolated", DisconnectedGraphWarning))
    yield Input("without edges", np.zeros_like(W), Promise("either", "24 isolated", DisconnectedGraphWarning))


CONVERTERS: dict[str, Callable[[Any], Any]] = {"plain": lambda value: value}
