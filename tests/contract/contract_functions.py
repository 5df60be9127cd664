"""The functions, the data classes and the command line against bad input."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import contract_inputs as given
import cvxpy as cp
import networkx as nx
import numpy as np
import scipy.sparse as sp
from contract_estimators import ACCURACY, COUNT, FLAG, NONNEGATIVE, NOTHING, POSITIVE, WORD, Cell, each
from contract_inputs import ANSWERED, NEW, SAME, TRUTH, Bad, Promise, W, X, Y, changed, refused, told
from sklearn.pipeline import make_pipeline

import specmargin as sm
from reproduction import data as published
from specmargin import graphs, kernels, losses, objectives, optima, plots, problems, solvers, spectra, terms

LABELS = sm.encode_labels(Y)
K = kernels.gram(X, gamma=2.0)
L = graphs.laplacian(W)
SPECTRUM = spectra.laplacian_eigenpairs(W, q=8, normalized=False)
EITHER = Promise("either")
SEED = ("seed", -1, 1.5, NOTHING)
NO_LAPLACIAN = (None, "graph", np.eye(3), NOTHING)
MATRICES = (None, "kernel", K[:20], K[0], changed(K, (0, 1), np.nan), changed(K, (2, 3), np.inf))
MATRICES += (np.full(K.shape, "a"), K + 1j, Bad(changed(K, (0, 1), 5.0), r"\[0, 1\] = 5", "asymmetric"))

Call = Callable[..., Any]


def _name(value: Any) -> str:
    if isinstance(value, Bad):
        return value.name or _name(value.value)
    if value is NOTHING:
        return "an object"
    if hasattr(value, "shape") and len(value.shape):
        finite = value.dtype.kind not in "fc" or np.isfinite(value.data if sp.issparse(value) else value).all()
        return f"{value.dtype} {value.shape}" + ("" if finite else " with NaN or inf")
    if value is None or isinstance(value, type | bool | int | float | complex | str | list | tuple | dict | set):
        return getattr(value, "__name__", " ".join(repr(value).split())[:60])
    return type(value).__name__


def nonsense(
    entry: str, given: Call | dict[str, Any] | None = None, *, called: str = "", **values: tuple[Any, ...]
) -> Iterator[Cell]:
    """Yield a cell for every bad value of every argument of a function; `called`: how else messages call them.

    Without a function it is the one of the entry's name; of a dict, with these values of its other arguments.
    """
    function = given if callable(given) else with_defaults(attrgetter(entry)(sm), **(given or {}))
    for name, bad in values.items():
        names = rf"(?i){name}|{name.replace('_', ' ')}|marker|seed{'|' + called if called else ''}"
        for value in bad:
            plain = value.value if isinstance(value, Bad) else value
            run = partial(function, **{name: plain})
            yield Cell(entry, f"arguments: {name}", f"{name}={_name(value)}", refused(told(value), names), run)


def with_defaults(function: Call, **defaults: Any) -> Call:
    """Return a function of names alone that has good values for what is not given."""
    return lambda **more: function(**{**defaults, **more})


def rows(entry: str, function: Call, *, good: np.ndarray = X) -> Iterator[Cell]:
    """Yield cells of a function of rows of features."""
    for one in (*given.not_numbers(good), *given.representations(good), *given.types(good)):
        if one.value is None and entry == "graphs.NeighborSearch.kneighbors":
            continue  # the rows themselves
        same = partial(function, good if one.plain is None else one.plain)
        yield Cell(entry, "rows", one.name, one.promise, partial(function, one.value), same)
    odd = (("of alike", np.ones_like(good)), ("of zero", np.zeros_like(good)), ("of 1e60", 1e60 * good))
    yield from each(entry, "rows", ((*one, EITHER) for one in odd), function)


def adjacencies(entry: str, function: Call, *, strict: bool = False) -> Iterator[Cell]:
    """Yield cells of a function of a graph; a strict one takes the matrix that check_adjacency returns, alone."""
    for one in given.graphs():
        if "of other nodes" in one.name or "those of X" in one.name:
            continue
        promise = one.promise
        if promise.warning is not None and "loops" not in one.name:
            promise = EITHER
        named = ("graph", "loops", "list of n", "of edges", "an edge", "a dict", "the pair")
        if strict and any(word in one.name for word in named):
            promise = refused(r"Graph of networkx|24 self loops|W=\[AtlasView|W=[({]|not square \(shape")
        yield Cell(entry, "graphs", one.name, promise, partial(function, one.value), partial(function, W))


def graph_functions() -> Iterator[Cell]:
    words: dict[str, tuple[Any, ...]] = {
        "kind": (*WORD, None),
        "weight": (*WORD, None),
        "metric": (*WORD, None),
        "sigma": POSITIVE,
        "reduce": (0, -1, 1.5, "nonsense", True, [], NOTHING),
        "search": (*WORD, None),
        "n_neighbors": (*COUNT, None, 24, 100),
        "random_state": SEED,
    }
    search = ("metric", "reduce", "search", "random_state")
    for name, function, names in (
        ("knn_graph", graphs.knn_graph, words),
        ("resolve_sigma", graphs.resolve_sigma, (*search, "n_neighbors")),
        ("radius_graph", lambda X, radius=0.5, **more: graphs.radius_graph(X, radius, **more), ("weight", "metric")),
        ("neighbor_weights", lambda X, **more: graphs.neighbor_weights(NEW, X, **more), (*search, "weight", "sigma")),
        ("NeighborSearch", lambda X, **more: graphs.NeighborSearch(X, **more).kneighbors(n_neighbors=5)[0], search),
    ):
        yield from rows(f"graphs.{name}", function)
        bad = {name: words[name] for name in names}
        yield from nonsense(f"graphs.{name}", lambda function=function, **more: function(X, **more), **bad)
    yield from nonsense("graphs.radius_graph", {"X": X}, radius=NONNEGATIVE)
    new = with_defaults(lambda **more: graphs.neighbor_weights(NEW, X, **more))
    yield from nonsense("graphs.neighbor_weights", new, n_neighbors=(*COUNT, None, 25, 100))
    yield from rows("graphs.neighbor_weights (new rows)", lambda new: graphs.neighbor_weights(new, X), good=NEW)
    yield from rows(
        "graphs.NeighborSearch.kneighbors", lambda new: graphs.NeighborSearch(X).kneighbors(new)[0], good=NEW
    )
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    yield from nonsense(
        "graphs.knn_graph (metric='precomputed')",
        lambda X: graphs.knn_graph(X, metric="precomputed"),
        called="distance",
        X=(np.ones((24, 3)), Bad(-distances, r"\[0, 1\] is -", "negative"), changed(distances, (0, 1), np.nan)),
    )
    for name, function in (
        ("check_adjacency", graphs.check_adjacency),
        ("laplacian", lambda W: graphs.laplacian(W).toarray()),
        ("to_networkx", lambda W: nx.to_numpy_array(graphs.to_networkx(W))),
        ("components", lambda W: graphs.components(W).sizes),
        ("warn_components", lambda W: graphs.warn_components(W, np.array([0])).sizes),
    ):
        yield from adjacencies(f"graphs.{name}", function)
    yield from adjacencies("graphs.normalized_adjacency", lambda W: graphs.normalized_adjacency(W).toarray())
    yield from nonsense("graphs.normalized_adjacency", {"W": W}, self_loops=(*NONNEGATIVE, None))
    eigenvalues = lambda W: spectra.laplacian_eigenpairs(W, q=5, normalized=False).eigenvalues
    yield from adjacencies("spectra.laplacian_eigenpairs", eigenvalues, strict=True)
    yield from nonsense(
        "graphs.check_adjacency",
        {"W": W},
        called="the data has",
        n_samples=tuple(Bad(n, f"24 nodes but the data has {n} rows") for n in (23, 25)),
    )
    yield from nonsense(
        "graphs.laplacian",
        {"W": W},
        normalized=FLAG,
        power=(*COUNT, None, 10**9),
        W=tuple(
            Bad(nx.Graph([(0, 1, {"weight": weight})]), says, f"networkx with a weight of {weight!r}")
            for weight, says in ((np.nan, r"\[0, 1\] = nan"), ("a", "'a'"))
        ),
        called="weight",
    )
    yield from nonsense(
        "graphs.from_networkx",
        called="graph",
        graph=(
            *(W, "graph", None),
            Bad(nx.DiGraph([(0, 1)]), "directed", "a directed graph"),
            Bad(nx.MultiGraph([(0, 1)]), "multigraph", "a multigraph"),
            Bad(nx.Graph(), "no nodes", "a graph without nodes"),
        ),
    )
    yield from nonsense(
        "graphs.from_networkx",
        {"graph": nx.path_graph(4)},
        nodelist=(Bad([0, 9], "first 9"), Bad([0, 0], "2 entries but only 1 different"), Bad([], "no nodes")),
        called="nodes",
    )
    named = nx.path_graph(3)
    nx.set_node_attributes(named, 1.0, "x")
    nx.set_node_attributes(named, "a", "word")
    yield from nonsense(
        "graphs.node_features",
        {"graph": named, "attribute": "x"},
        graph=(*(W, "graph", None), Bad(nx.Graph(), "no nodes", "a graph without nodes")),
        attribute=(Bad("y", "has no attribute 'y'"), Bad("word", "not finite numbers"), Bad(None, "has no attribute")),
        nodelist=(Bad([9], "first 9"), Bad([], "nodelist")),
        called="attributes",
    )
    yield from nonsense(
        "graphs.to_networkx",
        {"W": W},
        nodes=(Bad(["a"], "holds 1 names"), Bad(["a"] * 24, "24 names .1 different")),
    )


def kernel_functions() -> Iterator[Cell]:
    words: dict[str, tuple[Any, ...]] = {
        "kernel": (*WORD, None),
        "gamma": (*POSITIVE, None),
        "degree": (*NONNEGATIVE, None),
        "coef0": (np.nan, np.inf, "much", [1.0], None, NOTHING),
    }
    for kernel in ("rbf", "poly", "linear", "cosine"):
        yield from rows(f"kernels.gram (kernel={kernel!r})", lambda X, kernel=kernel: kernels.gram(X, kernel=kernel))
    yield from rows("kernels.gram (two sets)", lambda new: kernels.gram(new, X), good=NEW)
    yield from rows("kernels.resolve_gamma", lambda X: kernels.resolve_gamma(X, "median"))
    yield from rows("kernels.landmark_features", lambda X: np.abs(kernels.landmark_features(X, 6)(X)))
    yield from rows("kernels.BlockKernel", lambda X: kernels.BlockKernel(X, gamma=2.0) @ np.ones(24))
    landmarks = with_defaults(kernels.landmark_features, X=X, n_landmarks=6)
    yield from nonsense("kernels.gram", {"X": X}, **words)
    yield from nonsense("kernels.resolve_gamma", {"X": X}, gamma=words["gamma"])
    yield from nonsense("kernels.BlockKernel", {"X": X}, **words)
    yield from nonsense(
        "kernels.landmark_features",
        landmarks,
        **words,
        n_landmarks=(*COUNT, None, 25),
        include=([24], [-1], [0.5], "rows", [[0]]),
        random_state=SEED[:-1],
    )
    none = lambda: landmarks(include=[])(X)
    yield Cell("kernels.landmark_features", "arguments: include", "include=[]", ANSWERED, none)
    indefinite = Bad(K - 2 * np.eye(24), r"eigenvalue -\d", "indefinite")
    for entry, function, bad in (
        ("kernels.gram (kernel='precomputed')", lambda K: kernels.gram(K, kernel="precomputed"), MATRICES),
        (
            "kernels.kernel_map",
            lambda K: kernels.kernel_map(K).Z,
            (*MATRICES, indefinite, Bad(0 * K, "24 samples", "zero")),
        ),
        ("kernels.deformed_kernel", lambda K: kernels.deformed_kernel(K, L, 1.0).matrix, MATRICES),
    ):
        yield from nonsense(entry, function, called="kernel|X", K=bad)
        for one in given.representations(K):
            promise = EITHER if "gram" not in entry and ("matrix" in one.name or "array" in one.name) else SAME
            yield Cell(entry, "kernels", one.name, promise, partial(function, one.value), partial(function, K))
    yield from nonsense(
        "kernels.kernel_map",
        {"K": K},
        rank=(*COUNT, 25),
        tol=(-1.0, 1.0, np.nan, "tight", None),
    )
    yield from nonsense(
        "kernels.deformed_kernel",
        {"K": K, "L": L, "ratio": 1.0},
        ratio=(*NONNEGATIVE, None),
        L=NO_LAPLACIAN,
    )
    yield from nonsense(
        "kernels.deformed_features",
        {"F": X, "L": L, "ratio": 1.0},
        ratio=(*NONNEGATIVE, None),
        L=NO_LAPLACIAN,
        F=(None, "features", X[:, 0], Bad(X[:5], "F has 5 rows"), X * np.nan, X + 1j),
        called="factor",
    )
    numbers = tuple(bad for bad in MATRICES[:-1] if bad is not MATRICES[2])
    yield from nonsense("kernels.LowRankKernel", factor=numbers)
    yield from nonsense("kernels.as_kernel", K=numbers, called="kernel")
    yield from nonsense(
        "kernels.is_semidefinite",
        {"kernel": "poly"},
        degree=words["degree"],
        coef0=words["coef0"],
        kernel=words["kernel"][:1],
    )


def spectral_functions() -> Iterator[Cell]:
    yield from nonsense(
        "spectra.laplacian_eigenpairs",
        {"W": W, "q": 5},
        q=(*COUNT, None, 25),
        normalized=tuple(bad for bad in FLAG if bad is not None),
        method=(*WORD, None),
        tol=(-1.0, np.nan, np.inf, "tight", NOTHING),
        random_state=SEED,
    )
    weights = graphs.neighbor_weights(NEW, X)
    tied = (None, "weights", Bad(-weights, r"\[0, \d+\] is -", "negative"), weights * np.nan)
    tied += (Bad(weights[:, :5], r"\(4, 5\)"),)
    yield from nonsense(
        "spectra.extend",
        {"values": np.ones(24), "weights": weights},
        values=(None, Bad(np.ones(3), "3 training"), np.full(24, np.nan), np.full(24, "a")),
        weights=(*tied, Bad(0 * weights, "row 0", "zero")),
    )
    yield from nonsense(
        "spectra.nystrom",
        {"spectrum": SPECTRUM, "weights": weights},
        spectrum=(None, "spectrum", np.ones((2, 2))),
        weights=tied,
        floor=(-1.0, 0.0, np.nan, "low", None),
    )
    bad = {
        "spectrum": (None, "spectrum", np.ones((2, 2)), np.array([0.0, np.nan])),
        "sigma": POSITIVE,
        "exponent": (*NONNEGATIVE, None),
        "k": (*COUNT, None, 9),
        "w": (0.5, -1.0, np.nan, np.inf, "much", None, [1.0]),
    }
    good = {"spectrum": SPECTRUM, "sigma": 1.0, "exponent": 1.0, "k": 2}
    for name in (*spectra.transforms.TRANSFORMS, "analytic_centre"):
        function = getattr(spectra.transforms, name)
        known = inspect.signature(function).parameters
        yield from nonsense(
            f"spectra.transforms.{name}",
            with_defaults(function, **{name: value for name, value in good.items() if name in known}),
            called="eigenvalue",
            **{name: values for name, values in bad.items() if name in known},
        )
    S = graphs.normalized_adjacency(W)
    yield from nonsense(
        "spectra.filter_bank",
        {"S": S, "X": X},
        S=(None, "operator", Bad(np.ones((3, 2)), r"\(3, 2\)"), Bad(5 * S, "eigenvalue", "too large"), S * np.nan),
        X=("features", X[:, 0], Bad(X[:5], r"\(5, 2\)"), X * np.nan, X + 1j, np.full(X.shape, "a"), 0 * X),
        filters=("resolvents", 3),
        normalization=WORD,
        tol=(0.0, -1.0, 1.0, np.nan, "tight", None),
        dtype=(int, "wide"),
    )
    bank = spectra.filter_bank(S, X)
    yield from nonsense(
        "spectra.filter_new_nodes",
        {"bank": bank, "S": graphs.normalized_adjacency(np.kron(np.eye(2), W)), "X": X},
        bank=(None, "bank", Bad(spectra.filter_bank(S, None), "have no features", "a bank without features")),
        S=(None, "operator", Bad(np.ones((3, 2)), r"\(3, 2\)"), Bad(S, "known before", "the old graph")),
        X=("features", X[:, 0], Bad(X[:5], r"\(5, 2\)"), X * np.nan, X + 1j, Bad(X[:, :1], "1 features")),
    )
    inside = (None, "strong", [], [1.0], [-1.5], [np.nan])
    yield from nonsense("spectra.Resolvents", g=inside)
    degrees = (-1, 1.5, 61, np.nan, "many", None)
    yield from nonsense("spectra.Powers", degree=degrees)
    yield from nonsense("spectra.Bernstein", degree=(0, *degrees))
    edges = (0, None, "four", [0.0, 1.0], [0.0, 1.0, 1.0, 2.0], Bad([0.0, np.nan, 2.0], r"edges\[1\] is nan"))
    yield from nonsense("spectra.Bands", edges=edges)
    yield from nonsense(
        "spectra.Spectrum",
        {"eigenvalues": np.ones(8), "eigenvectors": SPECTRUM.eigenvectors, "n_components": 1},
        eigenvalues=(None, "values", np.ones(3), np.full(8, np.nan)),
        eigenvectors=(None, "vectors", np.ones(8), SPECTRUM.eigenvectors * np.nan),
    )


def objective_cells() -> Iterator[Cell]:
    many = sm.encode_labels(np.where(Y == -1, -1, np.arange(24) % 3))
    other = sm.encode_labels(Y[:20])
    labels = (None, Y, "labels", other, many)
    of_spectrum = {"spectrum": (None, "spectrum", W), "labels": labels, "C": (*POSITIVE, None)}
    bound = (-1.0, np.nan, "wide", None, [1.5])
    deltas = ("weights", np.ones(3), Bad(-np.ones(8), r"\[0\] is -1", "negative"), np.full(8, np.nan))
    order = {"order": FLAG, "ties": FLAG}
    spectral = {"spectrum": SPECTRUM, "labels": LABELS}
    laplacians = NO_LAPLACIAN[:-1]
    penalties = {"gamma_A": (*POSITIVE, None), "gamma_I": (*NONNEGATIVE, None), "fit_intercept": FLAG}
    cases: dict[str, tuple[dict[str, Any], dict[str, tuple[Any, ...]]]] = {
        "LapSVM": (
            {"K": K, "L": L, "labels": LABELS, "gamma_I": 1.0},
            {"K": MATRICES, "labels": labels, "L": laplacians, "loss": (*WORD, None), **penalties},
        ),
        "LapRLS": (
            {"K": K, "L": L, "labeled": np.array([0, 3, 5]), "targets": np.array([0.5, 2.0, -1.0]), "gamma_I": 1.0},
            {
                "K": MATRICES,
                "L": laplacians,
                "labeled": (None, "labelled", np.array([3, 0, 5]), np.array([0, 3, 24]), np.array([0.0, 3.0, 5.0])),
                "targets": (None, "numbers", np.ones(2), np.array([1.0, np.nan, 2.0]), np.array([1.0, np.inf, 2.0])),
                **penalties,
            },
        ),
        "RMM": (
            {"K": K[:6, :6], "labels": LABELS},
            {"K": MATRICES, "labels": labels, "C": (*POSITIVE, None), "B": bound},
        ),
        "S3VM": (
            {"X": X, "labels": LABELS},
            {
                "X": (None, "features", Bad(X[:20], "20 rows"), X[0], X * np.nan, np.full(X.shape, "a"), X + 1j),
                "labels": labels,
                "loss": WORD,
                "unlabeled_loss": WORD,
                "C": (*POSITIVE, None),
                "C_star": NONNEGATIVE,
                "balance": (-2.0, np.nan, "even", [0.1]),
                "intercept": (*WORD, None),
            },
        ),
        "SpectrumMargin": (
            spectral,
            {**of_spectrum, **order, "B": bound, "eps": (*NONNEGATIVE, None), "delta": deltas},
        ),
        "BlockMargin": (
            {"blocks": [X, X[:, :2]], "labels": LABELS},
            {
                "blocks": (
                    None,
                    "features",
                    [],
                    Bad([X, X[:5]], r"\(5, 2\)", "blocks of different samples"),
                    Bad([X * np.nan], r"blocks\[0\]", "blocks of nan"),
                    Bad([np.full(X.shape, "a")], r"\(24, 2\)", "blocks of text"),
                ),
                "labels": labels[:-1],
                "C": (*POSITIVE, None),
                "loss": (*WORD, None),
                "B": bound,
                "order": FLAG,
                "eps": (*NONNEGATIVE, None),
                "delta": (
                    "weights",
                    Bad(np.ones(3), r"\(3,\)", "one too many"),
                    Bad(-np.ones(2), r"\[0\] is -1", "negative"),
                    np.full(2, np.nan),
                ),
            },
        ),
        "BlockAlignment": (
            {"blocks": [X, X[:, :2]], "labels": LABELS},
            {
                "blocks": (None, "features", [], Bad([X, X[:5]], r"\(5, 2\)", "blocks of different samples")),
                "labels": labels[:-1],
                "order": FLAG,
                "centered": FLAG,
            },
        ),
        "MonotoneCone": ({"q": 8}, {"q": (*COUNT, None)}),
        "BlockCone": (
            {"blocks": objectives.MonotoneCone(2), "sizes": [1, 2]},
            {"blocks": (None, "cone", 3), "sizes": (None, [1], [0, 1], [1.5, 2.0], "sizes")},
        ),
        "Alignment": (spectral, {"spectrum": of_spectrum["spectrum"], "labels": labels, **order}),
        "SpectralRidge": (
            {**spectral, "delta": np.ones(8) / 8},
            {
                "spectrum": of_spectrum["spectrum"],
                "labels": labels[:-1],
                "penalty": (*POSITIVE, None),
                "delta": (None, *deltas),
            },
        ),
        "SpectralGraphTransducer": (
            {**spectral, "C": 1.0},
            {**of_spectrum, "Q": ("weights", np.ones(3), Bad(-np.ones(7), "is -1", "negative"), np.full(7, np.nan))},
        ),
        "RegularizedClustering": (
            {"K": K, "L": L, "gamma": 1.0},
            {"K": MATRICES, "L": laplacians, "gamma": (*POSITIVE, None)},
        ),
        "RelativeMargin": ({"C": 1.0}, {"C": (*POSITIVE, None), "B": bound}),
        "FixedSpectrum": ({"delta": np.ones(8)}, {"delta": (None, *deltas[:1], *deltas[2:])}),
        "SpectrumCone": ({"q": 8}, {"q": (*COUNT, None), "order": FLAG}),
        "WeightedSVM": (
            {"features": objectives.Features(X), "plus": np.ones(24), "minus": np.ones(24)},
            {
                "features": (None, "features", X),
                "plus": (None, "weights", np.ones(3), np.full(24, np.nan), Bad(-np.ones(24), r"\[0\] is -1")),
                "minus": (np.ones(3), np.full(24, np.nan)),
                "loss": WORD,
            },
        ),
        "S3VMRelaxation": ({}, {"obj": (None, "objective", X)}),
    }
    for name, (good, bad) in cases.items():
        room = optima if name == "S3VMRelaxation" else objectives
        called = "samples|eigen|loss|spectr|transducer|kernel|bound|weight|binary"
        entry = f"{room.__name__.removeprefix('specmargin.')}.{name}"
        yield from nonsense(entry, with_defaults(getattr(room, name), **good), called=called, **bad)
    rmm = objectives.RMM(K[:6, :6], LABELS)
    answer = {"gamma": np.zeros(6), "b": 0.0}
    wrong = (
        Bad({}, "lack 'gamma', 'b'", "nothing"),
        Bad({**answer, "gamma": np.zeros(5)}, r"gamma has the shape \(5,\)", "of another problem"),
        Bad({**answer, "b": np.nan}, "b holds NaN", "with NaN"),
        Bad({**answer, "gamma": ["a"] * 6}, "gamma must hold numbers", "of text"),
    )
    yield from nonsense(
        "objectives.certify",
        with_defaults(objectives.certify, objective=rmm, result=answer),
        called="variables|gamma|b holds",
        objective=(None, "objective", X, objectives.RMM),
        result=(None, "answer", X, 3, *wrong),
        duals=("multipliers", 3, Bad({"gamma": np.zeros(5)}, r"\(5,\)", "of another problem")),
    )
    yield from nonsense(
        "problems.certify",
        with_defaults(sm.certify, problem=rmm, result=answer),
        called="variables|gamma|b holds|problem|objective",
        problem=(None, "objective", X, objectives.RMM),
        result=("answer", X, 3, *wrong),
        duals=("multipliers", 3, Bad({"gamma": np.zeros(5)}, r"\(5,\)", "of another problem")),
    )
    yield from saved_results(rmm)
    yield from nonsense(
        "verify",
        {"objective": rmm, "result": solvers.relative_margin(rmm)},
        objective=(None, "objective", X, objectives.RMM),
        result=(None, "answer", X, 3, Bad(answer, "result=.* must be a SolveResult", "a mapping")),
    )
    yield from nonsense(
        "objectives.Features.of",
        {"X": X, "intercept": "balance", "rows": LABELS.unlabeled},
        X=(None, "features", X[0], X * np.nan, np.full(X.shape, "a"), X[:, :0]),
        intercept=(*WORD, None),
        balance=(-2.0, np.nan, "even", [0.1]),
    )
    for name in losses.__all__:
        if name.startswith("get_"):
            yield from nonsense(
                f"losses.{name}",
                lambda value, name=name: getattr(losses, name)(value),
                called="loss",
                value=(*WORD, None),
            )
    for name, bad in (
        ("Ramp", (np.nan, np.inf, 1.0, "s", None)),
        ("SmoothHinge", POSITIVE),
        ("ExpSquared", POSITIVE),
        ("SymmetricRamp", (np.nan, 2.0, "s", None)),
    ):
        yield from nonsense(f"losses.{name}", getattr(losses, name), s=bad)
    yield from nonsense("losses.HuberHinge", h=POSITIVE)
    smoothed = with_defaults(losses.smoothed, loss=losses.Hinge(), sigma=1.0)
    yield from nonsense("losses.smoothed", smoothed, loss=WORD, sigma=(-1.0, np.nan, "wide", None))
    for name in ("as_cvxpy", "conjugate_as_cvxpy"):
        function = lambda loss, name=name: getattr(problems, name)(loss, np.ones(2))
        yield from nonsense(f"problems.{name}", function, loss=("hinge", None, Bad(losses.Ramp(-0.3), "Ramp")))
    yield from nonsense(
        "problems.squares",
        {"M": K, "x": cp.Variable(len(K))},
        M=(*WORD, None, K[0], K[:3], K * np.nan, Bad(-K, "eigenvalue"), Bad(np.triu(K), "not symmetric")),
        x=(*WORD, None, K[0]),
    )


def saved_results(obj: objectives.RMM) -> Iterator[Cell]:
    folder = Path(tempfile.mkdtemp())
    (folder / "text.npz").write_text("text")
    (folder / "empty.npz").touch()
    np.savez(folder / "foreign.npz", K=K)
    result, path = solvers.relative_margin(obj), folder / "result.npz"
    sm.save_result(path, obj, result)
    content = path.read_bytes()
    (folder / "truncated.npz").write_bytes(content[:-200])
    (folder / "changed.npz").write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
    no_path = (None, 3, NOTHING, ["a"])
    yield from nonsense(
        "save_result",
        {"path": path, "objective": obj, "result": result},
        path=(*no_path, Bad(folder, "is a folder", "a folder"), Bad(folder / "no/a.npz", "no folder", "in no folder")),
        objective=(None, "objective", X, objectives.RMM, sm.RMM()),
        result=(None, "answer", X, answer_of(objectives.RMM(K[:5, :5], sm.encode_labels(TRUTH[:5])))),
        note=(3, NOTHING, Bad({"seed": NOTHING}, "object", "one object")),
        called="header|gamma",
    )
    wrong = {"text": "begins with b'text'", "empty": "is empty", "foreign": "none of cvxproof"}
    wrong |= {"truncated": "truncated", "changed": "changed after it was", "missing": "does not exist"}
    files = tuple(Bad(folder / f"{name}.npz", says, f"a file: {name}") for name, says in wrong.items())
    yield from nonsense("load_result", path=(*no_path, Bad(folder, "is a folder", "a folder"), *files))
    result_file = Bad(path, "holds 'result', not 'estimator'", "a file of another kind")
    yield from nonsense("load", path=(*no_path, Bad(folder, "is a folder", "a folder"), *files, result_file))
    yield from nonsense(
        "save",
        {"path": folder / "model.npz", "estimator": sm.LapSVM()},
        path=(*no_path, Bad(folder, "is a folder", "a folder"), Bad(folder / "no/a.npz", "no folder", "in no folder")),
        estimator=(None, "model", X, sm.LapSVM, obj, Bad(make_pipeline(sm.LapSVM()), "pass its fitted step")),
    )
    cannot: dict[str, tuple[Any, ...]] = {
        "kernel": (Bad(kernels.gram, "function", "a function"),),
        "functions": (Bad(kernels.Landmarks(5, np.random.default_rng(0)), "set a whole number"),),
        "loss": (Bad(type("Own", (losses.HuberHinge,), {})(0.5), "not among those", "a loss of one's own"),),
        "solver": (Bad(solvers.Solver(options={"a": kernels.gram}), "function", "with a function"),),
    }
    yield from nonsense("save", lambda **more: sm.save(sm.LapSVM(**more), folder / "model.npz"), **cannot)


def answer_of(obj: objectives.RMM) -> Any:
    """The answer to another problem."""
    return Bad(solvers.relative_margin(obj), r"gamma has the shape \(5,\)", "of another problem")


MORE: dict[str, tuple[Any, ...]] = {
    "with_bound": (None,),
    "pcg_one_vs_rest": (LABELS,),
    "polish": (np.ones(2),),
    "spectrum_path": ([1.0],),
    "cccp_subproblem": (np.ones(2),),
}
"""Arguments that a solver or a problem needs besides the objective."""
PROBLEMS = (
    *("block_margin", "cccp_subproblem", "kta", "lapsvm_dual", "lapsvm_primal", "lapsvm_problem", "mkl", "rmm"),
    *("primal", "rmm_primal", "spectral_ridge_primal", "stoam", "storm"),
)


def solver_cells() -> Iterator[Cell]:
    obj: dict[str, Any] = {
        "S3VM": objectives.S3VM(X, LABELS, "squared_hinge"),
        "LapSVM": objectives.LapSVM(K, L, LABELS, loss="squared_hinge", gamma_I=1.0),
        "SpectrumMargin": objectives.SpectrumMargin(SPECTRUM, LABELS),
        "BlockMargin": objectives.BlockMargin([X, X[:, :2]], LABELS, loss="squared"),
        "Alignment": objectives.Alignment(SPECTRUM, LABELS),
        "RMM": objectives.RMM(K[np.ix_(LABELS.labeled, LABELS.labeled)], LABELS),
        "SpectralGraphTransducer": objectives.SpectralGraphTransducer(SPECTRUM, LABELS, C=1.0),
        "SpectralRidge": objectives.SpectralRidge(SPECTRUM, LABELS, np.ones(8) / 8),
        "RegularizedClustering": objectives.RegularizedClustering(K, L, gamma=1.0),
    }
    strangers = (*(Bad(bad, type(bad).__name__) for bad in (None, "objective", X)), objectives.LapSVM, NOTHING)
    functions = [name for name in solvers.__all__ if not isinstance(getattr(solvers, name), type)]
    searches = ("branch_and_bound", "one_flip", "probe", "s3vm_bound", "s3vm_relaxation", "with_bound")
    for module, names in ((solvers, functions), (optima, searches), (problems, PROBLEMS)):
        for name in names:
            function, more = getattr(module, name), MORE.get(name, ())
            first, *_ = inspect.signature(function).parameters.values()
            entry = f"{module.__name__.removeprefix('specmargin.')}.{name}"
            of_obj = lambda obj, function=function, more=more: function(obj, *more)
            bad = (
                strangers
                if module in (solvers, optima)
                else (*strangers[:2], Bad(obj["RegularizedClustering"], "RegularizedClustering"))
            )
            yield from nonsense(entry, of_obj, called="result|start", obj=bad)
            kind = str(first.annotation)
            if module is problems or kind not in obj or name in MORE:
                continue
            known = inspect.signature(function).parameters
            accuracy = ACCURACY[1:] if name in ("annealing", "cccp", "pcg") else ACCURACY  # 0: until nothing changes
            counts = (0, -1, 1.5, np.nan, "many", [], NOTHING)
            yield from nonsense(
                entry,
                lambda function=function, kind=kind, **more: function(obj[kind], **more),
                **{name: bad for name, bad in (("tol", accuracy), ("max_iter", counts)) if name in known},
                nonsense=(Bad(1, "nonsense"),),
            )
    built = problems.kta(obj["Alignment"])
    yield from nonsense(
        "problems.solve",
        {"built": built},
        solver=("NONSENSE", Bad([], "empty"), 3),
        tol=(np.nan, -1.0, "tight"),
        built=(None, obj["RMM"]),
    )


def term_cells() -> Iterator[Cell]:
    weight = (*NONNEGATIVE, None)
    delta = (np.ones((2, 4)), Bad(-np.ones(8), r"\[0\] is -1", "negative"), np.full(8, np.nan), "weights")
    cases: dict[str, tuple[dict[str, Any], dict[str, tuple[Any, ...]]]] = {
        "Loss": ({"loss": "hinge"}, {"loss": (*WORD, None, losses.Ramp()), "bound": (0, -1.0, np.nan, "wide", None)}),
        "Norm": ({"K": K}, {"K": (None, "kernel", K[0], changed(K, (0, 1), np.nan), np.full(K.shape, "a"))}),
        "Smoothness": ({"L": L}, {"L": (None, "graph", K[:20], K[0], NOTHING)}),
        "TotalVariation": ({"W": W}, {"W": (None, "graph", K[:20], Bad(-K, r"W\[", "negative weights"))}),
        "SpectrumNorm": ({"spectrum": SPECTRUM}, {"spectrum": (None, W), "order": FLAG, "delta": delta}),
        "Alignment": ({}, {}),
    }
    for name, (good, bad) in cases.items():
        function = with_defaults(getattr(terms, name), **good)
        yield from nonsense(f"terms.{name}", function, called="kernel|loss|spectr", weight=weight, **bad)
    model = terms.Loss("hinge") + terms.Norm(K)
    yield from nonsense(
        "terms.Model", terms.Model, terms=(None, "terms", Bad([1], r"terms\[0\]=1"), terms.Loss("hinge"))
    )
    for name in ("objective", "build", "solve"):
        few = Bad(sm.encode_labels(Y[:20]), "Norm of 24 and labels of 20", "labels of other samples")
        yield from nonsense(f"terms.Model.{name}", getattr(model, name), labels=(None, Y, "labels", few))


def model_cells() -> Iterator[Cell]:
    lapsvm = problems.lapsvm_primal(objectives.LapSVM(K, L, LABELS, gamma_I=1.0))
    storm = problems.storm(objectives.SpectrumMargin(SPECTRUM, LABELS), "primal")
    graphs_of_two = problems.storm(objectives.SpectrumMargin([SPECTRUM, SPECTRUM], LABELS), "primal")
    mask = np.arange(len(Y)) < 9
    pairs = (
        None,
        3,
        "pairs",
        [3],
        [[0, 1, 2]],
        [[0, 0]],
        [[0, len(Y)]],
        [[-1, 0]],
        [["a", "b"]],
        [[0, 1], [2]],
        NOTHING,
    )
    cases: dict[str, tuple[dict[str, Any], dict[str, tuple[Any, ...]]]] = {
        "band_limited": ({"built": storm, "q": 3}, {"q": (*COUNT, None, Bad(8, "q=8", "all of them"))}),
        "grouped": (
            {"built": storm, "groups": np.arange(8) // 2},
            {"groups": (None, "groups", 3, [0, 1], list(range(8)), np.full(8, np.nan), NOTHING)},
        ),
        "smooth": ({"built": storm, "weight": 1.0}, {"weight": (*NONNEGATIVE, None)}),
        "convex": ({"built": storm}, {}),
        "fairness": (
            {"built": lapsvm, "group": mask},
            {
                "group": (None, "women", 0, True, 1.0 * mask, mask[:5], mask | True, mask & False, NOTHING),
                "at_most": (*NONNEGATIVE, None),
                "label": (None, 3, NOTHING),
            },
        ),
        "links": (
            {"built": lapsvm, "must": [(0, 1)]},
            {"must": pairs, "cannot": pairs, "within": (*NONNEGATIVE, None)},
        ),
        "class_shares": (
            {"built": lapsvm, "positive": 0.5},
            {"positive": (-0.5, 1.5, np.nan, "half", None, [0.5], (0.6, 0.5), NOTHING), "within": (*NONNEGATIVE, None)},
        ),
        "robust_margins": ({"built": lapsvm, "radius": 1.0}, {"radius": (*NONNEGATIVE, None)}),
        "insensitive_smoothness": (
            {"built": lapsvm, "W": W, "eps": 0.1, "weight": 1.0},
            {
                "W": (
                    None,
                    "graph",
                    Bad(np.eye(3), "3 nodes.*24 rows", "of 3 nodes"),
                    changed(W, (0, 1), np.nan),
                    NOTHING,
                ),
                "eps": (*NONNEGATIVE, None),
                "weight": (*NONNEGATIVE, None),
                "label": (None, 3, NOTHING),
            },
        ),
        "graph_budget": (
            {"built": graphs_of_two, "budgets": [1.0, 1.0]},
            {"budgets": (None, "budgets", 1.0, [0.4, 0.4], [1.0], [-1.0, 3.0], [np.nan, 1.0], NOTHING)},
        ),
    }
    # A problem that has none of the parts that models are made of, and what is no problem.
    other = Bad(problems.kta(objectives.Alignment(SPECTRUM, LABELS)), "KTA", "the problem of KTA")
    for name, (good, bad) in cases.items():
        built = (None, "problem", SPECTRUM, other)
        make = getattr(problems.models, name)
        run = with_defaults(lambda built, make=make, **options: make(**options)(built), **good)
        yield from nonsense(f"problems.models.{name}", run, called="edge|graph|sample", built=built, **bad)


def data_cells() -> Iterator[Cell]:
    data = sm.datasets
    for name in ("two_moons", "two_circles", "two_spirals", "g2c", "g4c", "g50c"):
        bad: dict[str, tuple[Any, ...]] = {"n_samples": (*COUNT, None), "random_state": SEED}
        bad |= {"noise": (*NONNEGATIVE, None)} if "two" in name else {"n_features": (*COUNT, None)}
        if name == "g50c":
            bad["bayes_error"] = (0.0, 0.5, -1.0, np.nan, "low", None)
        if name == "two_circles":
            bad["radii"] = ((1.0,), (1.0, -1.0), (np.nan, 1.0), "wide", None, 3, ("a", "b"))
        yield from nonsense(f"datasets.make_{name}", getattr(data, f"make_{name}"), **bad)
    yield from nonsense(
        "datasets.digits_pair",
        with_defaults(data.digits_pair, a=3, b=8),
        b=(3, 10, 3.5, "eight", None),
        n=(10**6, 1, 10.5),
        random_state=("seed",),
        called="digit",
    )


def published_cells() -> Iterator[Cell]:
    folder, at = Path(tempfile.mkdtemp()), "reproduction.data."
    names = ("iris", "", None, 3, ["g50c"], NOTHING)
    yield from nonsense(f"{at}load", published.load, called="data set", name=names)
    for name in ("find_text", "load_text"):
        yield from nonsense(at + name, getattr(published, name), called="text set", name=names)
    yield from nonsense(f"{at}newsgroups_pair", published.newsgroups_pair, task=names)
    damaged = folder / "damaged"
    damaged.mkdir()
    (damaged / "g50c.npz").write_bytes(b"PK nonsense")
    yield from nonsense(
        f"{at}load",
        lambda data_home, name="g50c": published.load(name, data_home=data_home),
        data_home=(3, NOTHING, ["a"], Bad(damaged, "g50c.*sha256.*was expected", "a folder with a damaged file")),
        called="g50c",
    )
    yield from nonsense(
        f"{at}load",
        lambda name: published.load(name, data_home=folder),
        name=(Bad("g10n", "'g10n'.* is not available", "one that is not in the folder"),),
    )
    yield from nonsense(f"{at}available", published.available, data_home=(3, NOTHING, ["a"]))
    yield from nonsense(
        f"{at}mnist_pair",
        with_defaults(published.mnist_pair, a=3, b=8),
        b=(3, 10, 3.5, "eight", None),
        n=(1, 10.5),
        random_state=("seed",),
        called="digit",
    )


def label_functions() -> Iterator[Cell]:
    here = ("one too", "real", "number", "string", "None", "empty", "columns", "ragged")
    for one in given.labels():
        y, marker = one.value
        if one.promise.outcome == "refused":
            if any(text in one.name for text in here):
                continue
            yield Cell("encode_labels", "labels", one.name, one.promise, lambda y=y, m=marker: sm.encode_labels(y, m))
        elif "column" not in one.name:
            same, promise = one.promise.outcome == "same", one.promise if one.promise.outcome == "same" else ANSWERED
            for entry, function, plain in (
                ("encode_labels", lambda y, m: sm.encode_labels(y, m).sign, LABELS.sign),
                ("labels.is_unlabeled", sm.labels.is_unlabeled, Y == -1),
                ("labels.label_array", lambda y, m: sm.labels.is_unlabeled(sm.labels.label_array(y), m), Y == -1),
            ):
                expected = (lambda plain=plain: plain) if same else None
                yield Cell(entry, "labels", one.name, promise, partial(function, y, marker), expected)
    y_alone = (None, 3, "moon", np.zeros((3, 2)), Bad([], r"\(0,\)|\b0 ", "empty"), [[0], [1, 2]])
    yield from nonsense("encode_labels", y=y_alone)
    yield from nonsense("hide_labels", {"per_class": 1}, y=y_alone)
    for name in ("is_unlabeled", "warn_of_marker"):
        function = with_defaults(getattr(sm.labels, name), y=Y)
        yield from nonsense(f"labels.{name}", function, y=y_alone[-1:], unlabeled=([-1], {}))
    outputs = Bad([[1.0, 2.0], [np.nan, 3.0]], r"\[1\]", "given in part")
    numbers = (Bad([np.nan], r"all 1"), Bad([np.inf], r"\[0\] is inf"), Bad(["a"], r"'a'"), outputs)
    yield from nonsense("labels.encode_targets", y=(*numbers, Bad([], r"\(0,\)")))
    yield from nonsense("labels.label_array", y=y_alone[-1:])
    yield from nonsense("labels.label_vector", y=(*y_alone[:4], y_alone[-1]))
    hidden = lambda **more: sm.hide_labels(TRUTH, **({"per_class": 2} if "n_labeled" not in more else {}) | more)
    yield from nonsense(
        "hide_labels",
        hidden,
        per_class=(0, -1, 1.5, np.nan, "two", 100, [1], NOTHING, Bad(None, "None and None")),
        n_labeled=(0, 1, -1, 2.5, np.nan, "two", 100, [2], NOTHING),
        unlabeled=([-1], {}, 0, 1),
        random_state=SEED,
    )
    both = lambda n_labeled: sm.hide_labels(TRUTH, n_labeled=n_labeled, per_class=2)
    yield from nonsense("hide_labels", both, n_labeled=(Bad(4, "got 4 and 2", "4, per_class=2"),))
    yield from nonsense(
        "compare",
        {"X": X, "y": Y, "methods": ["majority"]},
        X=(None, 3, "moon", X[0], np.zeros((2, 2, 2)), X + 1j, np.zeros((24, 0)), Bad(X[:20], "20 rows", "of 20 rows")),
        y=(
            None,
            3,
            "moon",
            np.zeros((24, 2)),
            Bad(np.full(24, -1), "no row is labelled", "without a label"),
            Bad(Y[:20], "20 labels", "of 20"),
        ),
        methods=(3, [], "", "moon", [3], ["moon"], NOTHING),
        budget=(0, -1, np.nan, "two", [1], NOTHING),
        random_state=(-1, 1.5, None, NOTHING),
        text=("x0", [3], ["moon"], 3, NOTHING),
        columns=(
            3,
            NOTHING,
            Bad(["moon"], "'moon' is not of the form", "['moon']"),
            Bad({"zap": "number"}, "'zap'", "of a column that is not there"),
            Bad({"x0": "numbr"}, "'numbr'", "of no kind"),
        ),
        exact=(3, "two", NOTHING),
        ignore=("x0", [3], ["moon"], 3, NOTHING),
        target=(3, None, NOTHING),
        folder=(3, NOTHING),
        progress=(3, NOTHING),
        spread=(3, "tcp://127.0.0.1:8786", NOTHING),
        unlabeled=([-1], {}),
    )
    yield from nonsense(
        "LabeledKFold",
        lambda **more: list(sm.LabeledKFold(**more).split(X, Y)),
        n_splits=(1, 0, -1, 2.5, np.nan, "two", None, 7, [2], NOTHING),
        shuffle=FLAG,
        random_state=SEED,
        unlabeled=([-1], {}),
    )
    bad = (None, 3, np.zeros((24, 2)), Bad(np.full(24, -1), r"(24 samples|0 labelled).*-1", "without a label"))
    bad += (Bad([], r"\b0 (samples|labelled|labels)|\(0,\)", "empty"),)
    yield from nonsense("LabeledKFold.split", lambda y: list(sm.LabeledKFold().split(X, y)), y=bad)
    short = (Bad([0, 1, 1], "3 labels for 8 rows", "too few"),)
    yield from nonsense("Nodes.labels", lambda y: sm.Nodes(X)[:8].labels(y, -1), y=short)
    constant = SimpleNamespace(unlabeled=-1, predict=lambda X: np.ones(len(X)))
    yield from nonsense("labeled_accuracy", lambda y: sm.labeled_accuracy(constant, X, y), y=bad, called="labelled")
    with_them = with_defaults(
        lambda estimator, X_unlabeled, y: sm.WithUnlabeled(estimator, X_unlabeled).fit(X[:8], y).predict(X),
        estimator=sm.LapRLS(),
        X_unlabeled=X[8:],
        y=TRUTH[:8],
    )
    yield from nonsense(
        "WithUnlabeled",
        with_them,
        estimator=(None, "LapRLS", 3),
        X_unlabeled=(None, 3, "rows", Bad(X[:, :1], r"\(24, 1\)")),
        y=(None, 3, np.zeros((8, 2)), Bad([0, 1, None, 1, 0, 1, 0, 1], r"\[2\] is None", "one missing")),
    )
    yield from nonsense(
        "precision_recall_breakeven",
        {"y_true": [1, 0], "scores": [1.0, 2.0]},
        y_true=(None, np.ones((2, 2)), Bad([0, 0], "pos_label=1", "no positive"), Bad([], r"\(0,\)")),
        scores=([1.0], Bad([1.0, np.nan], r"\[1\] is nan"), Bad(["a", "b"], r"'a'"), np.ones((2, 2))),
    )


def plot_cells() -> Iterator[Cell]:
    points = (None, X[:, :1], "features", X * np.nan, X[:0])
    yield from nonsense(
        "plots.decision_grid",
        {"X": X},
        X=points,
        resolution=(0, 1, -1, 1.5, "fine", None),
        margin=(-1.0, np.nan, "wide", None),
    )
    lopsided, few = Bad(changed(W, (0, 1), 7.0), r"\[0, 1\] = 7", "asymmetric"), Bad(W[:20, :20], "20 nodes")
    yield from nonsense(
        "plots.GraphDisplay",
        {"X": X, "W": W},
        X=points,
        W=(None, "graph", few, changed(W, (0, 1), np.nan), lopsided),
        called="adjacency",
    )
    yield from nonsense(
        "plots.LabelDisplay",
        {"X": X, "y": Y},
        X=points,
        y=(None, Y[:-1], np.zeros((24, 2)), Bad([], r"\(0,\)", "empty")),
        unlabeled=([-1], {}),
    )
    yield from nonsense(
        "plots.DecisionDisplay",
        {"xx0": np.arange(3), "xx1": np.arange(2), "response": np.ones((2, 3))},
        xx0=(None, "grid", np.ones((2, 2)), np.array([0.0, np.nan, 1.0])),
        xx1=(np.ones(5),),
        response=(None, "surface", np.ones(3), changed(np.ones((2, 3)), (1, 2), np.nan), np.full((2, 3), "a")),
        points=(3, "points", X),
    )
    yield from nonsense(
        "plots.DecisionDisplay.from_function",
        {"decision_function": lambda nodes: nodes[:, 0], "X": X},
        decision_function=(None, 3, "f", Bad(lambda nodes: nodes, "shape", "of two columns")),
        X=points,
        resolution=(0, 1.5, "fine", None),
        margin=(-1.0, np.nan, "wide", None),
        points=(3, "points"),
    )
    told = plots.DecisionDisplay(np.arange(3), np.arange(2), np.ones((2, 3)))
    yield from nonsense(
        "plots.decision_panels",
        {"displays": {"f": told}},
        displays=(None, {}, 3, "displays", Bad({"f": 3}, "'f'.*3", "no display")),
        n_rows=(0, -1, 1.5, "two", None),
        limit=(0.0, -1.0, np.nan, "wide"),
        aspect=(0.0, np.nan, "square", None),
    )
    line = plots.subplots()[1][0, 0]
    yield from nonsense("plots.ring", {"ax": line, "X": X}, ax=(None, 3, "axes"), X=points, size=(0.0, np.nan, "big"))
    curve = {"J": (np.arange(3.0), np.arange(3.0))}
    yield from nonsense(
        "plots.CurveDisplay",
        {"curves": curve},
        curves=(
            *(None, {}, 3, "curves", Bad({"a": 1.0}, "'a'.*1.0"), Bad({"a": ("b", [1.0])}, "'b'", "a text")),
            Bad({"a": ([0.0, 1.0], [np.nan, 1.0])}, "'a'.* is nan", "not a number"),
            Bad({"a": ([0.0, 1.0], [1.0])}, r"'a' has the shape \(1,\)", "too few"),
        ),
        points=(3, "points", Bad({"a": ([0.0], np.ones((1, 2)))}, r"'a' has the shape \(1, 2\)", "draws of points")),
        looks=(3, "blue", Bad({"J": "beige"}, "'beige'"), Bad({"K": "blue"}, "'K'", "of no curve")),
    )
    yield from nonsense(
        "plots.LabelRobustnessDisplay",
        results=(None, 3, "results", Bad({}, "results is empty", "nothing"), Bad({"a": 3}, "3", "a number")),
    )
    yield from nonsense(
        "plots.LandscapeDisplay",
        {"w1": np.arange(3), "w2": np.arange(2), "values": np.ones((2, 3))},
        w1=(None, "grid", np.ones((2, 2)), np.array([0.0, np.nan, 1.0]), Bad(np.zeros(3), "increasing", "equal")),
        w2=(np.arange(5),),
        values=(None, "surface", np.ones(3), changed(np.ones((2, 3)), (1, 2), np.nan)),
        trails=(3, "trails", Bad({"a": np.ones((2, 3))}, r"'a' has the shape \(2, 3\)", "of three weights")),
    )
    yield from nonsense(
        "plots.MultiplierDisplay",
        {"beta": [1.0, 0.0], "margin": [0.0, 2.0], "sign": [1, -1]},
        beta=(None, "beta", Bad([-1.0, 0.0], r"\[0\] is -1", "negative"), [np.nan, 1.0], np.ones((2, 2))),
        margin=(None, "margin", Bad([1.0], r"\(1,\)", "too few"), [np.nan, 1.0]),
        sign=(None, "sign", Bad([1], r"\(1,\)", "too few"), Bad([0, 1], "sign holds 0", "of zero")),
    )
    yield from nonsense(
        "plots.SpectrumDisplay",
        spectra=(
            None,
            {},
            Bad({"a": "b"}, "'b'"),
            Bad({"a": [np.nan, 1.0]}, r"\['a'\]\[0\] is nan"),
            Bad({"a": np.ones((2, 2))}, r"\['a'\] has the shape \(2, 2\)", "a matrix"),
            Bad({"a": 1.0}, "1.0"),
            3,
            "spectra",
        ),
    )
    yield from nonsense(
        "plots.SpectrumPathDisplay",
        {"Cs": [1.0, 2.0], "deltas": np.ones((2, 4))},
        Cs=(
            *(None, "weights", Bad([-1.0, 1.0], r"-1\."), Bad([2.0, 1.0], r"\[2., 1.\]")),
            *(Bad([np.nan, 1.0], r"\[0\] is nan"), Bad([1.0, np.inf], r"\[1\] is inf")),
        ),
        deltas=(
            *(None, "spectra", np.ones((3, 4)), changed(np.ones((2, 4)), (1, 2), np.nan)),
            Bad(-np.ones((2, 4)), r"\[0, 0\] is -1", "negative"),
        ),
        margins=("wide", np.ones(3), 3.0),
    )
    yield from nonsense(
        "plots.WeightsDisplay",
        {"weights": {"a": [1.0, 2.0]}, "names": ["b", "c"]},
        weights=(
            *(None, {}, 3, "weights", Bad({"a": "b"}, "'b'"), Bad({"a": [np.nan, 1.0]}, "'a'.* nan", "not a number")),
            Bad({"a": [-1.0, 1.0]}, r"'a' hold -1 at \(0, 0\)", "negative"),
            Bad({"a": [1.0]}, r"'a' have the shape \(1,\)", "too few"),
        ),
        names=(None, 3, "b", [3, 4]),
    )
    yield from nonsense(
        "plots.FilterResponseDisplay",
        {"frequencies": [0.0, 1.0], "responses": {"a": [1.0, 2.0]}},
        frequencies=(
            None,
            3,
            "low",
            np.ones((2, 2)),
            Bad([0.0, np.nan], r"\[1\] is nan"),
            Bad([1.0, 0.0], r"\[1.0, 0.0\]", "falling"),
        ),
        responses=(
            *(None, {}, 3, "responses", Bad({"a": "b"}, "'b'"), Bad({"a": [np.nan, 1.0]}, "'a'.* nan", "not a number")),
            Bad({"a": [-1.0, 1.0]}, r"'a'\] is negative at \(0, 0\)", "negative"),
            Bad({"a": [1.0]}, r"'a'\] has the shape \(1,\)", "too few"),
        ),
    )
    folder = tempfile.mkdtemp()
    yield from nonsense(
        "plots.subplots",
        n_rows=(0, -1, 1.5, "two", None),
        n_cols=(0, -1, 1.5, "two", None),
        width=("wide", 0.0, -1.0, np.nan, None, [3.0]),
        aspect=(0.0, -1.0, np.nan, "square", None),
    )
    yield from nonsense(
        "plots.save",
        lambda figure=None, path=f"{folder}/a", formats=("png",): plots.save(
            plots.subplots()[0] if figure is None else figure, path, formats
        ),
        figure=(3, "figure"),
        path=(3, ["a"], NOTHING),
        formats=(("bmp",), "bmp", 3, (3,)),
    )
    yield from nonsense("plots.method_styles", names=(None, 3, [3], [["a"]]))


def diagnosis_cells() -> Iterator[Cell]:
    def diagnosed(X: Any, y: Any = Y, graph: Any = None, **more: Any) -> np.ndarray:
        told = sm.diagnose(X, y, graph, **{"n_neighbors": 5, **more})
        shares = [one.share or 0.0 for one in (told.edges, told.nearest)]
        errors = [] if told.evidence is None else [told.evidence.graph.error, told.evidence.graph.by_chance]
        return np.array([*told.gap.eigenvalues, *shares, *errors])

    yield from rows("diagnose", diagnosed)
    yield from adjacencies("diagnose", lambda W: diagnosed(None, Y, W))
    # Labels of one class, or none, still leave a graph to look at; numbers are classes, which the advice doubts.
    answered = ("None", "without a label", "of one class", "of one class and -1 as the other", "real numbers")
    for one in given.labels():
        promise = ANSWERED if one.name in answered else one.promise
        run = partial(diagnosed, X, one.value.y, unlabeled=one.value.unlabeled)
        yield Cell("diagnose", "labels", one.name, promise, run, partial(diagnosed, X))
    yield from nonsense(
        "diagnose",
        with_defaults(diagnosed, X=X),
        n_neighbors=(*COUNT, None),
        metric=(*WORD, None),
        random_state=SEED,
        graph=(Bad(W[:20, :20], "20 nodes.*24 rows", "of 20 nodes"),),
    )
    yield from nonsense("tables.plots.DiagnosisDisplay", diagnosis=(None, 3, "diagnosis", NOTHING))
    four = lambda axes: sm.diagnose(X, Y).plot(axes)
    yield from nonsense("tables.plots.DiagnosisDisplay", four, axes=(3, "axes", [3, 4]))


def sensitivity_cells() -> Iterator[Cell]:
    yield from nonsense("sensitivity", estimator=(None, 3, "LapSVM", sm.STORM(), NOTHING, Bad(sm.LapSVM(), "LapSVM")))


def command_cells() -> Iterator[Cell]:
    """Yield command lines; what is refused ends with a message and no traceback."""
    from typer.testing import CliRunner

    from specmargin.tables.cli import app

    folder = Path(tempfile.mkdtemp())
    (folder / "file").write_text("a file")
    (folder / "table.csv").write_text("size,share,full,none,kind\n1,0.5,a,,a\n2,1.5,b,,b\n3,2.5,a,,\n4,,b,,\n")
    lines = (
        ("nonsense", "nonsense"),
        ("compare FOLDER/nonsense.csv --target kind", "nonsense"),
        ("compare FOLDER --target kind", "a folder"),
        ("compare FOLDER/file --target kind", "1 lines"),
        ("compare FOLDER/table.csv --target nonsense", "'nonsense'"),
        ("compare FOLDER/table.csv --target share", "0.5"),
        ("compare FOLDER/table.csv --target none", "'none'"),
        ("compare FOLDER/table.csv --target full", "4 rows"),
        ("compare FOLDER/table.csv --target kind --columns nonsense", "'nonsense'"),
        ("compare FOLDER/table.csv --target kind --columns share=nonsense", "'nonsense'"),
        ("compare FOLDER/table.csv --target kind --budget 0", "budget=0"),
        ("compare FOLDER/table.csv --target kind --methods nonsense", "'nonsense'"),
        ("compare FOLDER/table.csv --target kind --text nonsense", "'nonsense'"),
        ("compare FOLDER/table.csv --target kind --ignore nonsense", "'nonsense'"),
        ("fit FOLDER/table.csv --target nonsense", "'nonsense'"),
        ("fit FOLDER/table.csv --target kind --method nonsense", "'nonsense'"),
        ("predict FOLDER/nonsense.npz FOLDER/table.csv", "nonsense"),
        ("predict FOLDER/file FOLDER/table.csv", "a file"),
    )
    for line, value in lines:
        run = partial(_command, CliRunner(), app, line.replace("FOLDER", str(folder)).split())
        yield Cell(f"specmargin {line.split()[0]}", "command lines", line, refused(value), run)


def _command(runner: Any, app: Any, words: list[str]) -> str:
    done = runner.invoke(app, words)
    if done.exit_code == 0 or not isinstance(done.exception, SystemExit):
        raise done.exception or AssertionError(f"exit code 0: {done.output[:200]}")
    raise sm.exceptions.InvalidInputError(done.output)


def cells() -> Iterator[Cell]:
    groups = (
        graph_functions,
        kernel_functions,
        spectral_functions,
        objective_cells,
        solver_cells,
        term_cells,
        model_cells,
        data_cells,
        published_cells,
    )
    for group in (*groups, label_functions, plot_cells, diagnosis_cells, sensitivity_cells, command_cells):
        yield from group()
