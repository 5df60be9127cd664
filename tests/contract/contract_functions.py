"""The functions and the data classes against bad input."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import contract_inputs as given
import networkx as nx
import numpy as np
import scipy.sparse as sp
from contract_estimators import ACCURACY, COUNT, FLAG, NONNEGATIVE, NOTHING, POSITIVE, WORD, Cell
from contract_inputs import ANSWERED, NEW, TRUTH, Promise, W, X, Y, changed, refused

import specmargin as sm
from specmargin import graphs, kernels, losses, objectives, plots, problems, solvers, spectra

LABELS = sm.encode_labels(Y)
K = kernels.gram(X, gamma=2.0)
L = graphs.laplacian(W)
SPECTRUM = spectra.laplacian_eigenpairs(W, q=8)
EITHER = Promise("either")

Call = Callable[..., Any]


def _name(value: Any) -> str:
    return "an object" if value is NOTHING else " ".join(repr(value).split())[:60]


def nonsense(entry: str, function: Call, **values: tuple[Any, ...]) -> Iterator[Cell]:
    """Yield a cell for every bad value of every argument."""
    for name, bad in values.items():
        for value in bad:
            yield Cell(
                entry,
                f"arguments: {name}",
                f"{name}={_name(value)}",
                refused(".")
                if value is NOTHING or isinstance(value, np.ndarray)
                else refused(rf"(?i){name}|{name.replace('_', ' ')}|marker|seed"),
                lambda function=function, name=name, value=value: function(**{name: value}),
            )


def rows(entry: str, function: Call, *, good: np.ndarray = X, same: bool = True, least: int = 1) -> Iterator[Cell]:
    """Yield cells of a function of rows of features."""
    for one in given.not_numbers(good):
        if one.value is None and entry == "graphs.NeighborSearch.kneighbors":
            continue  # the rows themselves
        yield Cell(entry, "rows", one.name, one.promise, lambda one=one: function(one.value))
    for one in given.representations(good):
        promise = one.promise if same else ANSWERED
        yield Cell(entry, "rows", one.name, promise, lambda one=one: function(one.value), lambda: function(good))
    for one in given.types(good):
        yield Cell(entry, "rows", one.name, ANSWERED, lambda one=one: function(one.value))
    for name, value in (("alike", np.ones_like(good)), ("zero", np.zeros_like(good)), ("1e60", 1e60 * good)):
        yield Cell(entry, "rows", f"of {name}", EITHER, lambda value=value: function(value))


def adjacencies(entry: str, function: Call, *, strict: bool = False) -> Iterator[Cell]:
    """Yield cells of a function of a graph."""
    for one in given.graphs():
        if "of other nodes" in one.name or "those of X" in one.name:
            continue
        promise = one.promise
        if promise.warning is not None and "loops" not in one.name:
            promise = EITHER
        if "cut out" in one.name:
            promise = refused("square")
        if strict:  # of the matrix that check_adjacency returns
            if promise.outcome == "refused" or "networkx" in one.name or "loops" in one.name:
                promise = refused(r"adjacency|graph|W")
            elif "list of lists" in one.name or "frame" in one.name:
                promise = EITHER
        yield Cell(entry, "graphs", one.name, promise, lambda one=one: function(one.value), lambda: function(W))


def graph_functions() -> Iterator[Cell]:
    words: dict[str, tuple[Any, ...]] = {
        "kind": (*WORD, None),
        "weight": (*WORD, None),
        "metric": (*WORD, None),
        "sigma": POSITIVE,
        "reduce": (0, -1, 1.5, "nonsense", True, [], NOTHING),
        "search": (*WORD, None),
        "n_neighbors": (*COUNT, None, 24, 100),
        "random_state": ("seed", 1.5, -1, NOTHING),
    }
    for entry, function, names in (
        ("graphs.knn_graph", graphs.knn_graph, words),
        ("graphs.resolve_sigma", graphs.resolve_sigma, ("metric", "reduce", "search", "n_neighbors", "random_state")),
        (
            "graphs.radius_graph",
            lambda X, **more: graphs.radius_graph(X, **{"radius": 0.5, **more}),
            ("weight", "metric", "sigma"),
        ),
        (
            "graphs.neighbor_weights",
            lambda X, **more: graphs.neighbor_weights(NEW, X, **more),
            [n for n in words if n != "kind"],
        ),
        (
            "graphs.NeighborSearch",
            lambda X, **more: graphs.NeighborSearch(X, **more).kneighbors(n_neighbors=5)[0],
            ("metric", "reduce", "search", "random_state"),
        ),
    ):
        yield from rows(entry, function)
        bad = {name: words[name] for name in names}
        if entry == "graphs.neighbor_weights":
            bad["n_neighbors"] = (*COUNT, None, 25, 100)
        yield from nonsense(entry, lambda function=function, **more: function(X, **more), **bad)
    yield from rows("graphs.neighbor_weights (new rows)", lambda new: graphs.neighbor_weights(new, X), good=NEW)
    yield from rows(
        "graphs.NeighborSearch.kneighbors", lambda new: graphs.NeighborSearch(X).kneighbors(new)[0], good=NEW
    )
    yield from nonsense("graphs.radius_graph", lambda **more: graphs.radius_graph(X, **more), radius=NONNEGATIVE)
    for name, D in (
        ("distances that are not square", np.ones((24, 3))),
        ("negative distances", -np.ones((24, 24))),
        ("distances of NaN", np.full((24, 24), np.nan)),
    ):
        yield Cell(
            "graphs.knn_graph",
            "rows",
            name,
            refused("square|distance"),
            lambda D=D: graphs.knn_graph(D, metric="precomputed"),
        )
    for entry, function in (
        ("graphs.check_adjacency", graphs.check_adjacency),
        ("graphs.laplacian", lambda W: graphs.laplacian(W).toarray()),
        ("graphs.to_networkx", lambda W: nx.to_numpy_array(graphs.to_networkx(W))),
        ("graphs.components", lambda W: graphs.components(W).sizes),
        ("graphs.warn_components", lambda W: graphs.warn_components(W, np.array([0])).sizes),
    ):
        yield from adjacencies(entry, function)
    yield from adjacencies(
        "spectra.laplacian_eigenpairs", lambda W: spectra.laplacian_eigenpairs(W, q=5).eigenvalues, strict=True
    )
    for n in (23, 25):
        yield Cell(
            "graphs.check_adjacency",
            "arguments: n_samples",
            f"n_samples={n}",
            refused(f"24 nodes but the data has {n} rows"),
            lambda n=n: graphs.check_adjacency(W, n),
        )
    yield from nonsense(
        "graphs.laplacian", lambda **more: graphs.laplacian(W, **more), normalized=FLAG, power=(*COUNT, None, 10**9)
    )
    for name, graph in (
        ("a matrix", W),
        ("a string", "graph"),
        ("None", None),
        ("a directed graph", nx.DiGraph(nx.from_numpy_array(W))),
        ("a multigraph", nx.MultiGraph()),
        ("an empty graph", nx.Graph()),
    ):
        yield Cell(
            "graphs.from_networkx",
            "graphs",
            name,
            refused("networkx|directed|multigraph|nodes"),
            lambda graph=graph: graphs.from_networkx(graph),
        )
    path = nx.path_graph(4)
    for name, nodes in (("unknown nodes", [0, 9]), ("a node twice", [0, 0]), ("no nodes", [])):
        yield Cell(
            "graphs.from_networkx",
            "arguments: nodelist",
            name,
            refused("nodelist|nodes"),
            lambda nodes=nodes: graphs.from_networkx(path, nodelist=nodes),
        )
    for name, nodes in (("too few names", ["a"]), ("a name twice", ["a"] * 24)):
        yield Cell(
            "graphs.to_networkx",
            "arguments: nodes",
            name,
            refused("names"),
            lambda nodes=nodes: graphs.to_networkx(W, nodes),
        )
    for name, weight in (("NaN", np.nan), ("a string", "a")):
        bad = nx.path_graph(3)
        bad[0][1]["weight"] = weight
        yield Cell(
            "graphs.laplacian",
            "graphs",
            f"networkx with a weight of {name}",
            refused("finite|convert|numbers"),
            lambda bad=bad: graphs.laplacian(bad),
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
    yield from nonsense("kernels.gram", lambda **more: kernels.gram(X, **more), **words)
    yield from nonsense(
        "kernels.resolve_gamma", lambda **more: kernels.resolve_gamma(X, **more), gamma=(*POSITIVE, None)
    )
    yield from nonsense("kernels.BlockKernel", lambda **more: kernels.BlockKernel(X, **more), **words)
    more = {
        "n_landmarks": (*COUNT, None, 25),
        "include": ([], [24], [-1], [0.5], "rows", [[0]]),
        "random_state": ("seed", -1, 1.5),
    }
    yield from nonsense(
        "kernels.landmark_features",
        lambda **more: kernels.landmark_features(X, **{"n_landmarks": 6, **more}),
        **words,
        **{**more, "include": more["include"][1:]},
    )
    yield Cell(
        "kernels.landmark_features",
        "arguments: include",
        "include=[]",
        ANSWERED,
        lambda: kernels.landmark_features(X, 6, include=[])(X),
    )
    squares = {
        "None": (None, "(?i)None|NaN|matrix"),
        "a string": ("kernel", "(?i)kernel|matrix|string|convert"),
        "one-dimensional": (K[0], "(?i)shape|dimension|2D"),
        "not square": (K[:20], "(?i)shape|square"),
        "with NaN": (changed(K, (0, 1), np.nan), "(?i)nan|finite"),
        "with inf": (changed(K, (0, 1), np.inf), "(?i)inf|finite"),
        "asymmetric": (changed(K, (0, 1), 5.0), r"symmetric: K\[0, 1\]"),
        "of strings": (np.full(K.shape, "a"), "(?i)string|convert|<U"),
        "complex": (K + 1j, "(?i)complex"),
    }
    indefinite = (K - 2 * np.eye(24), "(?i)eigenvalue|definite")
    for entry, function, extra in (
        ("kernels.gram (kernel='precomputed')", lambda K: kernels.gram(K, kernel="precomputed"), {}),
        (
            "kernels.kernel_map",
            lambda K: kernels.kernel_map(K).Z,
            {"indefinite": indefinite, "zero": (0 * K, "zero|vanish")},
        ),
        ("kernels.deformed_kernel", lambda K: kernels.deformed_kernel(K, L, 1.0).matrix, {}),
    ):
        for name, (bad, says) in {**squares, **extra}.items():
            yield Cell(entry, "kernels", name, refused(says), lambda function=function, bad=bad: function(bad))
        for one in given.representations(K):
            if "frame" in one.name or "list" in one.name or "matrix" in one.name or "array" in one.name:
                yield Cell(entry, "kernels", one.name, EITHER, lambda function=function, one=one: function(one.value))
    yield from nonsense(
        "kernels.kernel_map",
        lambda **more: kernels.kernel_map(K, **more),
        rank=(*COUNT, 25),
        tol=(-1.0, 1.0, np.nan, "tight", None),
    )
    yield from nonsense(
        "kernels.deformed_kernel",
        lambda **more: kernels.deformed_kernel(K, **{"L": L, "ratio": 1.0, **more}),
        ratio=(*NONNEGATIVE, None),
        L=(None, "graph", np.eye(3), NOTHING),
    )
    yield from nonsense(
        "kernels.deformed_features",
        lambda **more: kernels.deformed_features(**{"F": X, "L": L, "ratio": 1.0, **more}),
        ratio=(*NONNEGATIVE, None),
        L=(None, "graph", np.eye(3)),
        F=(None, "features", X[:, 0], X[:5], X * np.nan),
    )
    for name in ("one-dimensional", "with NaN", "with inf", "of strings", "complex", "None", "a string"):
        bad, says = squares[name]
        yield Cell(
            "kernels.LowRankKernel",
            "kernels",
            name,
            refused(f"{says}|factor"),
            lambda bad=bad: kernels.LowRankKernel(bad),
        )
        if name not in ("one-dimensional",):
            yield Cell(
                "kernels.as_kernel", "kernels", name, refused(f"{says}|K "), lambda bad=bad: kernels.as_kernel(bad)
            )


def spectral_functions() -> Iterator[Cell]:
    yield from nonsense(
        "spectra.laplacian_eigenpairs",
        lambda **more: spectra.laplacian_eigenpairs(W, **{"q": 5, **more}),
        q=(*COUNT, None, 25),
        normalized=FLAG,
        method=(*WORD, None),
        tol=(-1.0, np.nan, np.inf, "tight", NOTHING),
        random_state=("seed", -1, 1.5, NOTHING),
    )
    weights = graphs.neighbor_weights(NEW, X)
    for name, values, w in (
        ("None", None, weights),
        ("too few values", np.ones(3), weights),
        ("values of NaN", np.full(24, np.nan), weights),
        ("strings", np.full(24, "a"), weights),
        ("weights of None", np.ones(24), None),
        ("weights of strings", np.ones(24), "weights"),
        ("negative weights", np.ones(24), -weights),
        ("weights of zero", np.ones(24), 0 * weights),
        ("weights of NaN", np.ones(24), np.nan * weights),
    ):
        yield Cell(
            "spectra.extend", "arguments", name, refused("."), lambda values=values, w=w: spectra.extend(values, w)
        )
    for name, spectrum, w in (
        ("no spectrum", None, weights),
        ("weights of None", SPECTRUM, None),
        ("other weights", SPECTRUM, weights[:, :5]),
    ):
        yield Cell(
            "spectra.nystrom",
            "arguments",
            name,
            refused("."),
            lambda spectrum=spectrum, w=w: spectra.nystrom(spectrum, w),
        )
    yield from nonsense(
        "spectra.nystrom",
        lambda **more: spectra.nystrom(SPECTRUM, weights, **more),
        floor=(-1.0, 0.0, np.nan, "low", None),
    )
    T = spectra.transforms
    for name, bad in (
        ("diffusion", {"sigma": POSITIVE}),
        ("gaussian_field", {"sigma": POSITIVE}),
        ("power", {"exponent": (*NONNEGATIVE, None)}),
        ("step", {"k": (*COUNT, None, 9)}),
        ("analytic_centre", {"w": (0.5, -1.0, np.nan, np.inf, "much", None, [1.0])}),
    ):
        function = getattr(T, name)
        yield from nonsense(
            f"spectra.transforms.{name}", lambda function=function, **more: function(SPECTRUM, **more), **bad
        )
        yield from nonsense(
            f"spectra.transforms.{name}",
            lambda function=function, **more: function(**more),
            spectrum=(None, "spectrum", np.ones((2, 2))),
        )


def objective_cells() -> Iterator[Cell]:
    many = sm.encode_labels(np.where(Y == -1, -1, np.arange(24) % 3))
    other = sm.encode_labels(Y[:20])
    labels = (None, Y, "labels", other, many)
    matrices = (None, "kernel", K[:20], K[0], K * np.nan, np.full(K.shape, "a"))
    cases: dict[str, tuple[Call, dict[str, tuple[Any, ...]]]] = {
        "LapSVM": (
            lambda **more: objectives.LapSVM(**{"K": K, "L": L, "labels": LABELS, "gamma_I": 1.0, **more}),
            {
                "K": matrices,
                "labels": labels,
                "L": (None, "graph", np.eye(3)),
                "loss": (*WORD, None),
                "gamma_A": (*POSITIVE, None),
                "gamma_I": (*NONNEGATIVE, None),
                "fit_intercept": FLAG,
            },
        ),
        "RMM": (
            lambda **more: objectives.RMM(**{"K": K[:6, :6], "labels": LABELS, **more}),
            {"K": matrices, "labels": labels, "C": (*POSITIVE, None), "B": (-1.0, np.nan, "wide", None, [1.5])},
        ),
        "S3VM": (
            lambda **more: objectives.S3VM(**{"X": X, "labels": LABELS, **more}),
            {
                "X": (None, "features", X[:20], X[0], X * np.nan, np.full(X.shape, "a")),
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
            lambda **more: objectives.SpectrumMargin(**{"spectrum": SPECTRUM, "labels": LABELS, **more}),
            {
                "spectrum": (None, "spectrum", W, []),
                "labels": labels,
                "C": (*POSITIVE, None),
                "B": (-1.0, np.nan, "wide", None, [1.5]),
                "eps": (*NONNEGATIVE, None),
                "order": FLAG,
                "ties": FLAG,
                "delta": ("weights", np.ones(3), -np.ones(8), np.full(8, np.nan)),
            },
        ),
        "Alignment": (
            lambda **more: objectives.Alignment(**{"spectrum": SPECTRUM, "labels": LABELS, **more}),
            {"spectrum": (None, "spectrum", W, []), "labels": labels, "order": FLAG, "ties": FLAG},
        ),
        "SpectralRidge": (
            lambda **more: objectives.SpectralRidge(
                **{"spectrum": SPECTRUM, "labels": LABELS, "delta": np.ones(8) / 8, **more}
            ),
            {
                "spectrum": (None, "spectrum", W),
                "labels": labels[:-1],
                "penalty": (*POSITIVE, None),
                "delta": (None, "weights", np.ones(3), -np.ones(8), np.full(8, np.nan)),
            },
        ),
        "SpectralGraphTransducer": (
            lambda **more: objectives.SpectralGraphTransducer(
                **{"spectrum": SPECTRUM, "labels": LABELS, "C": 1.0, **more}
            ),
            {
                "spectrum": (None, "spectrum", W),
                "labels": labels,
                "C": (*POSITIVE, None),
                "Q": ("weights", np.ones(3), -np.ones(7), np.full(7, np.nan)),
            },
        ),
        "RegularizedClustering": (
            lambda **more: objectives.RegularizedClustering(**{"K": K, "L": L, "gamma": 1.0, **more}),
            {"K": matrices, "L": (None, "graph", np.eye(3)), "gamma": (*POSITIVE, None)},
        ),
    }
    for name, (function, bad) in cases.items():
        for argument, values in bad.items():
            for value in values:
                yield Cell(
                    f"objectives.{name}",
                    f"arguments: {argument}",
                    f"{argument}={_name(value)}",
                    refused("."),
                    lambda function=function, argument=argument, value=value: function(**{argument: value}),
                )
    for name in losses.__all__:
        if name.startswith("get_"):
            for value in (*WORD, None):
                yield Cell(
                    f"losses.{name}",
                    "arguments",
                    _name(value),
                    refused("loss"),
                    lambda name=name, value=value: getattr(losses, name)(value),
                )
    for name, bad in (
        ("Ramp", (np.nan, np.inf, 1.0, "s", None)),
        ("SmoothHinge", POSITIVE),
        ("ExpSquared", POSITIVE),
        ("SymmetricRamp", (np.nan, 2.0, "s", None)),
    ):
        for value in bad:
            yield Cell(
                f"losses.{name}",
                "arguments",
                _name(value),
                refused("."),
                lambda name=name, value=value: getattr(losses, name)(value),
            )


MORE: dict[str, tuple[Any, ...]] = {
    "certify": (None,),
    "pcg_one_vs_rest": (LABELS,),
    "polish": (np.ones(2),),
    "spectrum_path": ([1.0],),
}
"""Arguments that a solver needs besides the objective."""


def solver_cells() -> Iterator[Cell]:
    import inspect

    obj: dict[str, Any] = {
        "S3VM": objectives.S3VM(X, LABELS, "squared_hinge"),
        "LapSVM": objectives.LapSVM(K, L, LABELS, loss="squared_hinge", gamma_I=1.0),
        "SpectrumMargin": objectives.SpectrumMargin(SPECTRUM, LABELS),
        "Alignment": objectives.Alignment(SPECTRUM, LABELS),
        "RMM": objectives.RMM(K[np.ix_(LABELS.labeled, LABELS.labeled)], LABELS),
        "SpectralGraphTransducer": objectives.SpectralGraphTransducer(SPECTRUM, LABELS, C=1.0),
        "SpectralRidge": objectives.SpectralRidge(SPECTRUM, LABELS, np.ones(8) / 8),
        "RegularizedClustering": objectives.RegularizedClustering(K, L, gamma=1.0),
    }
    for name in solvers.__all__:
        function = getattr(solvers, name)
        parameters = list(inspect.signature(function).parameters.values())
        kind, more = str(parameters[0].annotation), MORE.get(name, ())
        for what, value in (
            ("None", None),
            ("a string", "objective"),
            ("a matrix", X),
            ("a class", objectives.LapSVM),
            ("an object", NOTHING),
        ):
            yield Cell(
                f"solvers.{name}",
                "arguments: the objective",
                what,
                refused("not"),
                lambda function=function, value=value, more=more: function(value, *more),
            )
        if kind not in obj or name in ("certify", "spectrum_path", "pcg_one_vs_rest", "polish"):
            continue
        for parameter, bad in (
            # Zero is a tolerance of those that then go on until nothing changes.
            ("tol", ACCURACY[1:] if name in ("annealing", "cccp", "pcg") else ACCURACY),
            ("max_iter", (0, -1, 1.5, np.nan, "many", [], NOTHING)),
            ("nonsense", (1,)),
        ):
            if parameter == "nonsense" or parameter in inspect.signature(function).parameters:
                for value in bad:
                    yield Cell(
                        f"solvers.{name}",
                        f"arguments: {parameter}",
                        f"{parameter}={_name(value)}",
                        refused(parameter),
                        lambda function=function, kind=kind, parameter=parameter, value=value: function(
                            obj[kind], **{parameter: value}
                        ),
                    )
    built = problems.kta(obj["Alignment"])
    for name in (
        "cccp_subproblem",
        "kta",
        "lapsvm_dual",
        "lapsvm_primal",
        "mkl",
        "rmm",
        "s3vm_relaxation",
        "stoam",
        "storm",
    ):
        for what, value in (("None", None), ("a string", "objective"), ("another objective", obj["SpectralRidge"])):
            more = (np.ones(2),) if name == "cccp_subproblem" else ()
            yield Cell(
                f"problems.{name}",
                "arguments: the objective",
                what,
                refused("not"),
                lambda name=name, value=value, more=more: getattr(problems, name)(value, *more),
            )
    for what, words in (
        ("an unknown solver", {"solver": "NONSENSE"}),
        ("no solver", {"solver": []}),
        ("a number as solver", {"solver": 3}),
        ("tol=nan", {"tol": np.nan}),
        ("tol=-1", {"tol": -1.0}),
        ("tol of a string", {"tol": "tight"}),
    ):
        yield Cell(
            "problems.solve",
            "arguments",
            what,
            refused("solver|tol|NONSENSE"),
            lambda words=words: problems.solve(built, **words),
        )
    for what, value in (("None", None), ("an objective", obj["RMM"])):
        yield Cell(
            "problems.solve", "arguments: the problem", what, refused("not"), lambda value=value: problems.solve(value)
        )


def data_cells() -> Iterator[Cell]:
    for name, function in (
        ("make_two_moons", sm.datasets.make_two_moons),
        ("make_two_circles", sm.datasets.make_two_circles),
        ("make_two_spirals", sm.datasets.make_two_spirals),
        ("make_g2c", sm.datasets.make_g2c),
        ("make_g4c", sm.datasets.make_g4c),
        ("make_g50c", sm.datasets.make_g50c),
    ):
        bad: dict[str, tuple[Any, ...]] = {"n_samples": (*COUNT, None), "random_state": ("seed", -1, 1.5, NOTHING)}
        bad |= {"noise": (*NONNEGATIVE, None)} if "two" in name else {"n_features": (*COUNT, None)}
        if name == "make_g50c":
            bad["bayes_error"] = (0.0, 0.5, -1.0, np.nan, "low", None)
        if name == "make_two_circles":
            bad["radii"] = ((1.0,), (1.0, -1.0), (np.nan, 1.0), "wide", None, 3, ("a", "b"))
        yield from nonsense(f"datasets.{name}", function, **bad)
    folder = tempfile.mkdtemp()
    for value in ("iris", "", None, 3, ["g50c"], NOTHING):
        yield Cell(
            "datasets.load",
            "arguments: name",
            _name(value),
            refused("no data set"),
            lambda value=value: sm.datasets.load(value),
        )
        yield Cell(
            "datasets.find_text",
            "arguments: name",
            _name(value),
            refused("no text set"),
            lambda value=value: sm.datasets.find_text(value),
        )
        yield Cell(
            "datasets.load_text",
            "arguments: name",
            _name(value),
            refused("no text set"),
            lambda value=value: sm.datasets.load_text(value),
        )
        yield Cell(
            "datasets.newsgroups_pair",
            "arguments: task",
            _name(value),
            refused("no task"),
            lambda value=value: sm.datasets.newsgroups_pair(value),
        )
    yield Cell(
        "datasets.load",
        "files",
        "a folder without it",
        refused("is not at hand"),
        lambda: sm.datasets.load("g10n", data_home=folder),
    )
    damaged = Path(folder) / "g50c.npz"
    damaged.write_bytes(b"PK nonsense")
    yield Cell(
        "datasets.load",
        "files",
        "a damaged file",
        refused("sha256.*was expected"),
        lambda: sm.datasets.load("g50c", data_home=folder),
    )
    for value in (3, NOTHING, ["a"]):
        yield Cell(
            "datasets.load",
            "arguments: data_home",
            _name(value),
            refused("data_home"),
            lambda value=value: sm.datasets.load("g50c", data_home=value),
        )
        yield Cell(
            "datasets.available",
            "arguments: data_home",
            _name(value),
            refused("data_home"),
            lambda value=value: sm.datasets.available(value),
        )
    for what, words in (
        ("equal digits", {"b": 3}),
        ("no digit", {"b": 10}),
        ("half a digit", {"b": 3.5}),
        ("a word", {"b": "eight"}),
        ("None", {"b": None}),
        ("too many", {"n": 10**6}),
        ("one", {"n": 1}),
        ("half an image", {"n": 10.5}),
        ("a seed that is none", {"random_state": "seed"}),
    ):
        yield Cell(
            "datasets.digits_pair",
            "arguments",
            what,
            refused("."),
            lambda words=words: sm.datasets.digits_pair(**{"a": 3, "b": 8, **words}),
        )


def label_functions() -> Iterator[Cell]:
    for one in given.labels():
        y, marker = one.value
        if one.promise.outcome == "refused" and not any(
            text in one.name for text in ("one too", "real", "number", "string", "None", "empty", "columns", "ragged")
        ):
            yield Cell(
                "encode_labels", "labels", one.name, one.promise, lambda y=y, marker=marker: sm.encode_labels(y, marker)
            )
        elif one.promise.outcome in ("same", "answered") and "column" not in one.name:
            yield Cell(
                "encode_labels",
                "labels",
                one.name,
                ANSWERED,
                lambda y=y, marker=marker: sm.encode_labels(y, marker).sign,
            )
            yield Cell(
                "labels.is_unlabeled",
                "labels",
                one.name,
                ANSWERED,
                lambda y=y, marker=marker: sm.labels.is_unlabeled(y, marker),
            )
    for name, y in (
        ("None", None),
        ("a number", 3),
        ("a string", "moon"),
        ("a matrix", np.zeros((3, 2))),
        ("empty", []),
        ("ragged", [[0], [1, 2]]),
    ):
        yield Cell("encode_labels", "labels", name, refused("y "), lambda y=y: sm.encode_labels(y))
        yield Cell("hide_labels", "labels", name, refused("y "), lambda y=y: sm.hide_labels(y, per_class=1))
    yield from nonsense(
        "hide_labels",
        lambda **more: (
            sm.hide_labels(
                TRUTH,
                **({} if "n_labeled" in more else {"per_class": 2}),
                **{k: v for k, v in more.items() if k != "per_class"},
            )
            if "per_class" not in more
            else sm.hide_labels(TRUTH, **more)
        ),
        per_class=(0, -1, 1.5, np.nan, "two", 100, [1], NOTHING),
        n_labeled=(0, 1, -1, 2.5, np.nan, "two", 100, [2], NOTHING),
        unlabeled=([-1], {}, 0, 1),
        random_state=("seed", -1, 1.5, NOTHING),
    )
    yield Cell("hide_labels", "arguments", "no count", refused("one of the two"), lambda: sm.hide_labels(TRUTH))
    yield Cell(
        "hide_labels",
        "arguments",
        "two counts",
        refused("one of the two"),
        lambda: sm.hide_labels(TRUTH, n_labeled=4, per_class=2),
    )
    yield from nonsense(
        "LabeledKFold",
        lambda **more: list(sm.LabeledKFold(**more).split(X, Y)),
        n_splits=(1, 0, -1, 2.5, np.nan, "two", None, 7, [2], NOTHING),
        shuffle=FLAG,
        random_state=("seed", -1, 1.5, NOTHING),
        unlabeled=([-1], {}),
    )
    for name, y in (
        ("None", None),
        ("a number", 3),
        ("a matrix", np.zeros((24, 2))),
        ("without a label", np.full(24, -1)),
        ("empty", []),
    ):
        yield Cell("LabeledKFold.split", "labels", name, refused("y "), lambda y=y: list(sm.LabeledKFold().split(X, y)))
        yield Cell(
            "labeled_accuracy",
            "labels",
            name,
            refused("y |labelled"),
            lambda y=y: sm.labeled_accuracy(_always_one(), X, y),
        )
    for name, y, scores in (
        ("None", None, [1.0]),
        ("other lengths", [1, 0], [1.0]),
        ("matrices", np.ones((2, 2)), np.ones((2, 2))),
        ("scores of NaN", [1, 0], [1.0, np.nan]),
        ("scores of strings", [1, 0], ["a", "b"]),
        ("no positive", [0, 0], [1.0, 2.0]),
        ("nothing", [], []),
    ):
        yield Cell(
            "precision_recall_breakeven",
            "arguments",
            name,
            refused("."),
            lambda y=y, scores=scores: sm.precision_recall_breakeven(y, scores),
        )


class _AlwaysOne:
    unlabeled = -1

    def predict(self, X: Any) -> np.ndarray:
        return np.ones(len(X))


def _always_one() -> Any:
    return _AlwaysOne()


def plot_cells() -> Iterator[Cell]:
    for name, bad in (
        ("None", None),
        ("one column", X[:, :1]),
        ("a string", "features"),
        ("with NaN", X * np.nan),
        ("without rows", X[:0]),
    ):
        yield Cell("plots.decision_grid", "rows", name, refused("."), lambda bad=bad: plots.decision_grid(bad))
        yield Cell("plots.GraphDisplay", "rows", name, refused("."), lambda bad=bad: plots.GraphDisplay(bad, W))
        yield Cell("plots.LabelDisplay", "rows", name, refused("."), lambda bad=bad: plots.LabelDisplay(bad, Y))
    yield from nonsense(
        "plots.decision_grid",
        lambda **more: plots.decision_grid(X, **more),
        resolution=(0, 1, -1, 1.5, "fine", None),
        margin=(-1.0, np.nan, "wide", None),
    )
    for name, y in (("None", None), ("one too few", Y[:-1]), ("a matrix", np.zeros((24, 2)))):
        yield Cell("plots.LabelDisplay", "labels", name, refused("."), lambda y=y: plots.LabelDisplay(X, y))
    for name, values in (
        ("None", None),
        ("empty", {}),
        ("strings", {"a": "b"}),
        ("NaN", {"a": [np.nan, 1.0]}),
        ("matrices", {"a": np.ones((2, 2))}),
        ("numbers", {"a": 1.0}),
    ):
        yield Cell(
            "plots.SpectrumDisplay",
            "arguments",
            name,
            refused("."),
            lambda values=values: plots.SpectrumDisplay(values),
        )
    for name, Cs, deltas in (
        ("None", None, None),
        ("other lengths", [1.0, 2.0], np.ones((3, 4))),
        ("negative", [-1.0, 1.0], np.ones((2, 4))),
        ("NaN", [np.nan, 1.0], np.ones((2, 4))),
    ):
        yield Cell(
            "plots.SpectrumPathDisplay",
            "arguments",
            name,
            refused("."),
            lambda Cs=Cs, deltas=deltas: plots.SpectrumPathDisplay(Cs, deltas),
        )


def cells() -> Iterator[Cell]:
    yield from graph_functions()
    yield from kernel_functions()
    yield from spectral_functions()
    yield from objective_cells()
    yield from solver_cells()
    yield from data_cells()
    yield from label_functions()
    yield from plot_cells()


__all__ = ["cells", "sp"]
