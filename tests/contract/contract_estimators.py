"""The estimators against every input: fit, prediction, score, and every parameter."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

import all_estimators
import contract_inputs as given
import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from contract_inputs import ANSWERED, NEW, SAME, TRUTH, Bad, N, Promise, W, X, Y, bad, changed, locked, refused, told
from sklearn.utils.validation import has_fit_parameter

import specmargin as sm
from specmargin.solvers import Search
from specmargin.solvers.parts import SEARCHES
from specmargin.spectra import laplacian_eigenpairs
from specmargin.tables.candidates import CONSTANTS

SINGLE = {
    "widths": 0.5,
    "components": 2,
    "graph_neighbors": 5,
    "powers": 1,
    "ratios": 1e2,
    "penalties": 1e-2,
    "Cs": 1.0,
}
FEW = replace(CONSTANTS, **{name: (value,) for name, value in SINGLE.items()})
MANIFOLD: dict[str, Any] = {"kernel": [1.0], "graph": [5], "laplacian": [1], "gamma_I": ["100 gamma_A"]}
SPECTRUM: dict[str, Any] = {"graph": [5], "q": [10], "B": [1.5], "C": [1.0]}
SMALL: dict[str, dict[str, Any]] = {
    "AutoSSL": {"constants": FEW},
    "LabelSearch": {"grid": MANIFOLD},
    "LabelSearch LapRLSRegressor": {"grid": MANIFOLD},
    "LabelSearch SpectralFilterClassifier": {"grid": {"learn": ["alignment", "single"]}, "cv": 2},
    "LabelSearch SpectralRidge": {"grid": {"penalty": [0.1]}, "cv": 2},
    "LabelSearch STORM": {"grid": SPECTRUM, "cv": 2},
    "RegularizedSpectralClustering": {"random_state": 0},
    "S3VM": {"search": Search("continuation", options={"n_steps": 2})},
    "S3VM annealing": {"search": Search("annealing", max_iter=5)},
    "S3VM label_switching": {"search": Search("label_switching", options={"rate": 8.0})},
}
"""Parameters that keep a fit short."""
CLUSTERING = ("RegularizedEigenmaps", "RegularizedSpectralClustering")
REGRESSORS = ("LapRLSRegressor", "LabelSearch LapRLSRegressor", "SpectralFilterRegressor")
OTHERS = [f"S3VM {search}" for search in SEARCHES if search not in ("continuation", "branch_and_bound")]
SEARCHED = [name for name in SMALL if name.startswith("LabelSearch ")]
NAMES = [*(name for name in all_estimators.NAMES if name != "S3VM"), "S3VM", *OTHERS, *SEARCHED]
CLASSIFIERS = [name for name in NAMES if name not in (*CLUSTERING, *REGRESSORS)]
CONFORMAL = ("LapRLS", "SpectralFilterClassifier", "SpectralRidge")
METHODS = ("predict", "decision_function", "predict_proba", "transform", "score")
SPECTRAL = ("KTA", "MKL", "SpectralGraphTransducer", "SpectralKernelSVM", "STOAM", "STORM", "XuSpectralSVM")
OVER_SPECTRA = (*SPECTRAL, "LabelSearch STORM", "SpectralRidge")
LAPLACIAN = ("AutoSSL", "LabelSearch", "LabelSearch STORM", "LapRLS", "LapSVM")
LAPLACIAN += ("SpectralFilterClassifier", "SpectralRidge", *SPECTRAL)
WEIGHTED = tuple(
    name for name in CLASSIFIERS if has_fit_parameter(getattr(sm, name.partition(" ")[0]), "sample_weight")
)
OF_GRAPHS = (*LAPLACIAN, *REGRESSORS, *CLUSTERING, "S3VM quasi_newton with a graph", "S3VM cccp with a graph")


class Cell(NamedTuple):
    """One entry point with one input."""

    entry: str
    group: str
    input: str
    promise: Promise
    run: Callable[[], Any]
    reference: Callable[[], Any] | None = None


def each(
    entry: str, group: str, cases: Iterable[tuple[Any, ...]], run: Callable[..., Any], same: Any = None
) -> Iterator[Cell]:
    """Yield a cell for every name, value and promise; `run` takes the value, `same` has the answer to a plain one."""
    for what, value, promise, *_ in cases:
        yield Cell(entry, group, what, promise, partial(run, value), same)


def make(name: str, **parameters: Any) -> Any:
    """Return a small estimator; an S3VM may have the name of a search, and "with a graph" makes a hybrid of it."""
    name, _, graph = name.partition(" with a ")
    cls, _, inner = name.partition(" ")
    own = {"estimator": getattr(sm, inner)()} if cls == "LabelSearch" and inner else {"search": inner}
    more = {**(own if inner else {}), **SMALL.get(name, {}), **({"gamma_I": 1.0} if graph else {})}
    if "unlabeled" in parameters and "grid" in more:
        parameters["estimator__unlabeled"] = parameters.pop("unlabeled")
    return getattr(sm, cls)(**more).set_params(**parameters)


def learned(fitted: Any, at: Any = None) -> Any:
    """Return what a fit learned, as numbers: classes, or coordinates, and the decisions `at` some rows."""
    if hasattr(fitted, "embedding_"):
        return np.abs(fitted.embedding_)
    if not hasattr(fitted, "classes_"):
        return np.concatenate([np.ravel(fitted.transduction_), [] if at is None else fitted.predict(at).ravel()])
    codes = np.searchsorted(fitted.classes_, fitted.transduction_)
    assert (fitted.classes_[codes] == fitted.transduction_).all()
    decisions = [] if at is None else fitted.decision_function(at).ravel()
    return np.concatenate([codes.astype(float), decisions])


def fit(name: str, X: Any, y: Any, unlabeled: Any = -1, graph: Any = None, at: Any = None, **parameters: Any) -> Any:
    """Fit, and return what was learned and the fitted estimator."""
    if name in CLUSTERING:
        fitted = make(name, **parameters).fit(X, graph=graph)
    elif name in REGRESSORS:
        y = np.where(y == -1, np.nan, y) if isinstance(y, np.ndarray) and y.dtype.kind == "i" else y
        fitted = make(name, **parameters).fit(X, y, graph=graph)
    else:
        words = {} if graph is None else {"graph": graph}
        fitted = make(name, unlabeled=unlabeled, **parameters).fit(X, y, **words)
    return learned(fitted, at), fitted


@cache
def plain(name: str, graph: bool = False, rows: bytes = X.tobytes()) -> Any:
    """Return the answer to plain numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        at = np.frombuffer(rows).reshape(N, -1).copy()
        return fit(name, at, Y, graph=W if graph else None, at=at)


def _labels_for(value: Any) -> Any:
    n = value.shape[0] if hasattr(value, "shape") and len(value.shape) else N
    return Y[:n] if n else Y


def feature_cells() -> Iterator[Cell]:
    for name in NAMES:
        for one in given.features(X):
            at = None if one.promise.outcome != "same" else X if one.plain is None else one.plain
            run = partial(fit, name, one.value, _labels_for(one.value), at=at)
            same = None if at is None else partial(plain, name, rows=at.tobytes())
            yield Cell(f"{name}.fit", "features", one.name, one.promise, run, same)


def label_cells() -> Iterator[Cell]:
    for name in CLASSIFIERS:
        run = lambda value, name=name: fit(name, X, value.y, value.unlabeled, at=X)
        yield from each(f"{name}.fit", "labels", given.labels(), run, partial(plain, name))


def target_cells() -> Iterator[Cell]:
    numbers = np.where(Y == -1, np.nan, Y)
    hidden = np.isnan(numbers)
    for name in REGRESSORS:
        alone = refused("fewer than 2 labelled samples", "label more") if name.startswith("LabelSearch") else ANSWERED
        cases = (
            ("None", None, refused("the target y is None")),
            ("a number", 3, refused(r"shape \(\)")),
            ("a string", "moon", refused(r"shape \(\)")),
            ("strings", ["moon"] * N, refused(told(np.array(["moon"] * N)), "numbers")),
            ("numbers in strings", np.where(hidden, None, "1.5"), refused("'1.5'", "numbers")),
            ("complex", numbers + 1j, refused(told(numbers + 1j), "complex128")),
            ("with inf", changed(numbers, 3, np.inf), refused(r"\[3\] is inf")),
            ("beyond squares", changed(numbers, 3, 1e101), refused(r"\[3\] is 1e\+101")),
            ("without a label", np.full(N, np.nan), refused(f"no labelled sample: all {N} are NaN")),
            ("one too few", numbers[:-1], refused(rf"X has {N} rows, but y has {N - 1} targets")),
            ("empty", [], refused(r"shape \(0,\)")),
            ("ragged", [[0], [1, 2]], refused(r"\[\[0\], \[1, 2\]\]")),
            ("in three dimensions", np.ones((N, 2, 2)), refused(rf"shape \({N}, 2, 2\)")),
            ("given in part", changed(np.ones((N, 2)), (3, 1), np.nan), refused(r"\[3\]=array\(\[ ?1\., nan\]\)")),
            ("one labelled sample", changed(np.full(N, np.nan), 0, 2.0), alone),
            ("all labelled", TRUTH, ANSWERED),
            ("all equal", np.full(N, 0.1), ANSWERED),
            ("two outputs", np.column_stack([numbers, 1.0 - numbers]), ANSWERED),
            ("scaled by 1e-300", 1e-300 * numbers, ANSWERED),
            ("scaled by 1e99", 1e99 * numbers, ANSWERED),
            ("a list", numbers.tolist(), SAME),
            ("a column", numbers[:, None], SAME),
            ("None for NaN", np.where(hidden, None, numbers), SAME),
            ("masked", np.ma.masked_array(np.nan_to_num(numbers), hidden), SAME),
            ("a series", pd.Series(numbers), SAME),
            ("of Float64", pd.Series(numbers).astype("Float64"), SAME),
            ("a series of polars with nulls", pl.Series(numbers.tolist()).fill_nan(None), SAME),
            ("of float32", numbers.astype(np.float32), SAME),
            ("read-only", locked(numbers), SAME),
        )
        run = lambda y, name=name: fit(name, X, y, at=X)
        yield from each(f"{name}.fit", "targets", cases, run, partial(plain, name))
        scored = (("one", 1, refused("y holds 1 of 4")), ("none", 0, refused("all 4 are NaN")), ("two", 2, ANSWERED))
        yield from each(f"{name}.score", "targets to score", scored, partial(_scored, name))


def _scored(name: str, n_known: int) -> float:
    return plain(name)[1].score(NEW, np.where(np.arange(4) < n_known, np.arange(4.0), np.nan))


def conformal_cells() -> Iterator[Cell]:
    levels = (0.0, 1.0, -0.5, 2.0, np.nan, "high", None, [0.9], True, NOTHING)
    for name in (*CONFORMAL, "LapRLSRegressor"):
        methods = ("conformal_intervals",) if name in REGRESSORS else ("conformal_sets", "conformal_p_values")
        for method in methods:
            few = {} if method == "conformal_p_values" else {"level": 0.5}
            bad = {"level": () if method == "conformal_p_values" else levels}
            bad["class_conditional"] = () if name in REGRESSORS else FLAG
            cases = [
                ("of training samples", few, ANSWERED),
                ("of new samples of a graph", {"X": NEW}, refused("new samples are no nodes", "leave X out")),
                *(
                    (f"{word}={_shown(value)}", {word: value}, refused(told(value), word))
                    for word, values in bad.items()
                    for value in values
                ),
            ]
            entry, unfitted = f"{name}.{method}", refused(name.partition(" ")[0], "not fitted yet.*Call 'fit'")
            before = lambda name=name, method=method: getattr(make(name), method)()
            yield Cell(entry, "conformal sets", "before fit", unfitted, before)
            run = lambda more, name=name, method=method: getattr(plain(name)[1], method)(**more)
            yield from each(entry, "conformal sets", cases, run)


def robustness_cells() -> Iterator[Cell]:
    for name in CONFORMAL:
        bad = (0, -1, 1.5, "two", 10**6, True, NOTHING)
        cases = [(f"max_flips={_shown(value)}", value, refused(told(value), "max_flips")) for value in bad]
        run = lambda value, name=name: plain(name)[1].label_robustness(max_flips=value)
        yield from each(f"{name}.label_robustness", "false labels", cases, run)


def _shown(value: Any) -> str:
    return "an object" if value is NOTHING else repr(value)


def graph_cells() -> Iterator[Cell]:
    for name in OF_GRAPHS:
        for one in given.graphs():
            n = 20 if one.name.endswith("of X are") else N
            run = partial(fit, name, X[:n], Y[:n], graph=one.value, at=X)
            yield Cell(f"{name}.fit", "graphs", one.name, one.promise, run, partial(plain, name, graph=True))


def spectrum_cells() -> Iterator[Cell]:
    def of(graph: Any, normalized: bool) -> Any:
        return laplacian_eigenpairs(graph, q=10, normalized=normalized)

    for name in OF_GRAPHS:
        normalized = name in OVER_SPECTRA
        pairs = of(W, normalized)
        cases = [
            ("eigenpairs", pairs, ANSWERED),
            ("eigenpairs of other samples", of(W[:12, :12], normalized), refused("of 12 nodes but the data has")),
            ("eigenpairs of the other Laplacian", of(W, not normalized), refused("asks for the")),
            ("eigenpairs of L squared", replace(pairs, power=2), refused(r"L\^2, but power=1")),
            ("eigenvectors of length two", replace(pairs, eigenvectors=2.0 * pairs.eigenvectors), refused("has 2;")),
            ("descending eigenvalues", replace(pairs, eigenvalues=-pairs.eigenvalues), refused("ascend from 0")),
        ]
        if name not in OVER_SPECTRA:
            cases = [(*case[:2], refused("the adjacency itself is needed", "pass the W")) for case in cases]
        at_most = {} if name not in OVER_SPECTRA or name.startswith("LabelSearch") else {"q": 10}
        run = lambda value, name=name, at_most=at_most: fit(name, X, Y, graph=value, at=X, **at_most)
        yield from each(f"{name}.fit", "eigenpairs as graphs", cases, run)


def _methods(name: str) -> list[str]:
    return [method for method in METHODS if hasattr(make(name), method)]


def _call(name: str, method: str, rows: Any) -> Any:
    fitted = plain(name)[1]
    answer = fitted.score(rows, TRUTH[20:]) if method == "score" else getattr(fitted, method)(rows)
    if method == "predict":
        assert answer.dtype.kind == ("f" if name in REGRESSORS else "i"), f"predictions of the type {answer.dtype}"
        assert not hasattr(fitted, "classes_") or np.isin(answer, fitted.classes_).all()
    return answer


def prediction_cells() -> Iterator[Cell]:
    columns = rf"\b3 features.*expecting {X.shape[1]}"
    inputs = [
        *given.not_numbers(NEW),
        *given.representations(NEW),
        *given.types(NEW),
        bad("of other columns", Bad(np.ones((4, 3)), columns)),
        bad("sparse, of other columns", Bad(sp.csr_matrix(np.ones((4, 3))), columns)),
        given.Input("scaled by 1e-300", 1e-300 * NEW, ANSWERED),
        given.Input("of zeros", 0.0 * NEW, ANSWERED),
        given.Input("far away", NEW + 1e6, ANSWERED),
    ]
    for name in NAMES:
        for method in _methods(name):
            entry, unfitted = f"{name}.{method}", refused(name.partition(" ")[0], "not fitted yet.*Call 'fit'")
            given_to = [X, Y] if method == "score" else [X]
            before = lambda name=name, method=method, given_to=given_to: getattr(make(name), method)(*given_to)
            yield Cell(entry, "new samples", "before fit", unfitted, before)
            for one in inputs:
                same = partial(_call, name, method, NEW if one.plain is None else one.plain)
                yield Cell(entry, "new samples", one.name, one.promise, partial(_call, name, method, one.value), same)


def score_cells() -> Iterator[Cell]:
    weights = r"sample_weight"
    for name in CLASSIFIERS:
        cases = (
            ("None", None, None, refused("y=None")),
            ("without a label", np.full(4, -1), None, refused("none of the 4 samples is labelled", "LabeledKFold")),
            ("one too few", [0, 1, 0], None, refused("X has 4 rows, but y has 3 labels")),
            ("in two columns", np.zeros((4, 2)), None, refused(r"shape \(4, 2\)")),
            ("a few labelled", [0, -1, -1, 1], None, ANSWERED),
            ("unseen labels", [0, 7, "moon", 1], None, ANSWERED),
            ("with weights", [0, 1, 0, 1], [1.0, 2.0, 0.0, 1.0], ANSWERED),
            ("with too few weights", [0, 1, 0, 1], [1.0], refused(r"shape \(1,\)", weights)),
            ("with negative weights", [0, 1, 0, 1], [1.0, -1, 1, 1], refused(r"\[1\] is -1", weights)),
            ("with weights of NaN", [0, 1, 0, 1], [np.nan] * 4, refused(r"\[0\] is nan", weights)),
            ("without weight", [0, 1, 0, 1], [0.0] * 4, refused(r"sum.* 0", weights)),
        )
        run = lambda given, name=name: plain(name)[1].score(NEW, *given)
        named = ((what, (y, weight), promise) for what, y, weight, promise in cases)
        yield from each(f"{name}.score", "labels to score", named, run)


def weight_cells() -> Iterator[Cell]:
    known = np.flatnonzero(Y != -1)
    ones, few = np.ones(N), int(known[2])
    for name in WEIGHTED:
        cases = (
            ("None", None, SAME),
            ("ones", ones, SAME),
            ("a list", ones.tolist(), SAME),
            ("a series", pd.Series(ones), SAME),
            ("whole numbers", ones.astype(int), SAME),
            ("NaN at unlabelled samples", np.where(Y == -1, np.nan, 1.0), SAME),
            ("negative at unlabelled samples", np.where(Y == -1, -1.0, 1.0), SAME),
            ("others", np.linspace(0.5, 2.0, N), ANSWERED),
            ("one of zero", changed(ones, few, 0.0), ANSWERED),
            ("a number", 2.0, refused(r"2\.0", "sample_weight")),
            ("a string", "much", refused("much", "sample_weight")),
            ("strings", ["much"] * N, refused("much", "sample_weight")),
            ("complex", ones + 1j, refused(told(ones + 1j), "sample_weight")),
            ("in two columns", np.ones((N, 2)), refused(rf"\({N}, 2\)", "sample_weight")),
            ("one too few", ones[:-1], refused(rf"{N - 1} entries for {N}", "sample_weight")),
            ("negative", changed(ones, few, -1.0), refused("-1", "sample_weight")),
            ("NaN", changed(ones, few, np.nan), refused("nan", "sample_weight")),
            ("inf", changed(ones, few, np.inf), refused("inf", "sample_weight")),
            ("zero for a class", (Y != 0).astype(float), refused("class 0", "weight zero")),
            ("zero for all", 0.0 * ones, refused("class 0", "weight zero")),
        )
        run = lambda weight, name=name: learned(make(name).fit(X, Y, sample_weight=weight), X)
        same = lambda name=name: learned(plain(name)[1], X)
        yield from each(f"{name}.fit", "weights of samples", cases, run, same)


NOTHING = object()
POSITIVE = (0, -1.0, np.nan, np.inf, -np.inf, "much", [1.0], True, 1j, NOTHING)
NONNEGATIVE = (-1.0, np.nan, np.inf, "much", [1.0], True, 1j, NOTHING)
FINITE = (np.nan, np.inf, "much", [1.0], True, 1j, NOTHING)
COUNT = (0, -1, 1.5, np.nan, np.inf, "many", True, [], NOTHING)
FLAG = ("no", None, 2, np.nan, [], NOTHING)
WORD = ("nonsense", 0, np.nan, ["rbf", 1], {}, NOTHING)
ACCURACY = (0.0, -1e-6, np.nan, np.inf, "tight", [1e-6], True, NOTHING)
LISTED = ((), [], "", 3, np.nan, {}, [np.nan], ["a lot"], NOTHING)

PART = ("nonsense", -1, np.nan, [], {}, True, None, NOTHING)
OPTIONS = ("nonsense", 3, [1], {1: 2})

NONSENSE: dict[str, tuple[Any, ...]] = {
    "B": (-0.5, np.nan, "wide", None, [1.5], True, 1j, NOTHING),
    "C": (*POSITIVE, None),
    "C_star": (*NONNEGATIVE, "half share", "-1 share"),
    "assign": (*WORD, None),
    "balance": (-1.5, 2.0, np.nan, "even", True, [0.1, 0.2, 0.3], {7: 0.5}, 1j, NOTHING),
    "class_balance": WORD,
    "class_weight": ("heavy", 0, np.nan, [1.0, 2.0], {7: 1.0}, {0: -1.0}, {0: 0.0}, {1: np.nan}, {0: "much"}, NOTHING),
    "criterion": (*WORD, None),
    "constants": ({}, (), "usual", 3, np.nan, NOTHING),
    "cv": ("nonsense", 1, 0, 1.5, True, None, NOTHING),
    "eigen_tol": (*ACCURACY[1:], None),
    "eps": (*NONNEGATIVE, None),
    "estimator": ("nonsense", 3, {}, [], NOTHING),
    "exponent": (*NONNEGATIVE, None),
    "families": (*LISTED, None, ["graph", "trees"]),
    "filters": (*WORD, None),
    "fit_intercept": FLAG,
    "functions": (*WORD, None),
    "gamma_A": (*POSITIVE, None),
    "gamma_I": (*NONNEGATIVE, None, "-1 gamma_A", "half gamma_A"),
    "graph": (*PART, 0, 1.5),
    "grid": ("nonsense", 3, [1], NOTHING),
    "joint": FLAG,
    "kernel": (*PART, 0),
    "kernels": ("nonsense", 3, np.nan, [], {}, ["nonsense"], [("rbf",)], {0: "rbf"}, NOTHING),
    "laplacian": (*PART, 0, 1.5, 10**9),
    "learn": (*WORD, None),
    "loss": (*WORD, None),
    "metric": (*WORD, None),
    "model": ("nonsense", 3, np.nan, [], {}, NOTHING),
    "multi_class": (*WORD, None),
    "n_clusters": (*COUNT, None, 100),
    "n_components": (*COUNT, 100),
    "normalization": ("trace", None, 3),
    "order": FLAG,
    "penalty": (*POSITIVE, None),
    "power": (*COUNT[1:], None),
    "q": (*COUNT, 100),
    "random_state": (-1, 1.5, np.nan, "seed", [1.5], NOTHING),
    "refine": WORD,
    "search": PART,
    "self_loops": (*NONNEGATIVE, None),
    "solver": (0, None, [], {}, ["CLARABEL", 3], NOTHING),
    "tol": (*ACCURACY,),
    "transformation": (*WORD, None),
    "unlabeled": ([-1], (0, 1), {}, np.array([1]), {3}),
    "w": (0.5, -1.0, np.nan, np.inf, "much", None, [1.0], True, NOTHING),
}


def parameter_cells() -> Iterator[Cell]:
    for name in all_estimators.NAMES:
        for parameter in make(name).get_params(deep=False):
            for value in NONSENSE[parameter]:
                if (name, parameter, value) == ("SpectralRidge", "power", 1.5):  # which makes sense to it
                    continue
                entry, promise = f"{name}({parameter}=)", refused(told(value), parameter)
                run = partial(_with, name, parameter, value)
                yield Cell(entry, f"parameters: {parameter}", _shown(value), promise, run)


def _with(name: str, parameter: str, value: Any) -> Any:
    if parameter == "unlabeled":
        return fit(name, X, Y, unlabeled=value)
    if parameter == "graph":  # that of the class; `fit` here has one of its own
        made = make(name, graph=value)
        return (
            made.fit(X)
            if name in CLUSTERING
            else made.fit(X, np.where(Y == -1, np.nan, Y) if name in REGRESSORS else Y)
        )
    return fit(name, X, Y, **{parameter: value})


SEED = NONSENSE["random_state"]
PARTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "kernels.RBF": {"gamma": (*POSITIVE, None, "-1 median", "half median")},
    "kernels.Polynomial": {"gamma": (*POSITIVE, None), "degree": (*NONNEGATIVE, None), "coef0": (*FINITE, None)},
    "kernels.Landmarks": {"n": (*COUNT, None), "random_state": SEED},
    "kernels.PrincipalComponents": {"rank": COUNT},
    "graphs.KNN": {
        "n_neighbors": COUNT,
        "weight": (*WORD, None),
        "kind": (*WORD, None),
        "metric": (*WORD, None),
        "reduce": (0, -1, 1.5, np.nan, "nonsense", True, [], NOTHING),
        "random_state": SEED,
    },
    "graphs.Laplacian": {"power": (*COUNT, None, 10**9), "normalized": FLAG},
    "spectra.Eigenvectors": {"q": (*COUNT, None), "random_state": SEED},
    "spectra.Transform": {
        "rule": ("nonsense", 0, np.nan, None, NOTHING),
        "sigma": POSITIVE,
        "exponent": (*NONNEGATIVE, None),
        "k": (*COUNT, None),
        "w": NONSENSE["w"],
    },
    "solvers.Solver": {"name": NONSENSE["solver"], "tol": (*ACCURACY, None), "max_iter": COUNT, "options": OPTIONS},
    "solvers.Search": {
        "name": (*WORD, None),
        "tol": ACCURACY,
        "max_iter": COUNT,
        "intercept": (*WORD, None),
        "one_flip": FLAG,
        "s": (*FINITE, None),
        "options": OPTIONS,
    },
}
"""Parts, and what their parameters must not be."""


def part_cells() -> Iterator[Cell]:
    for name, nonsense in PARTS.items():
        make_part = attrgetter(name)(sm)
        for parameter, values in nonsense.items():
            for value in values:
                run = partial(make_part, **{parameter: value})
                promise = refused(told(value), parameter)
                yield Cell(f"{name}({parameter}=)", "parameters of parts", _shown(value), promise, run)


def cells() -> Iterator[Cell]:
    groups = (feature_cells, label_cells, target_cells, conformal_cells, graph_cells, spectrum_cells, prediction_cells)
    for group in (*groups, robustness_cells, score_cells, weight_cells, parameter_cells, part_cells):
        yield from group()


__all__ = ["Cell", "cells"]
