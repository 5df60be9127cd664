"""Saved estimators are the same to the last bit; what no file can hold is named; reading a file runs nothing."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import all_estimators
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.svm import SVC

import specmargin as sm
from cvxproof.archive import read_archive, write_archive
from specmargin.estimators import storage
from specmargin.estimators._base.spectrum_classifier import GraphSpectrumClassifier
from specmargin.exceptions import InvalidInputError, InvalidTypeError, SavedVersionWarning
from specmargin.graphs import KNN
from specmargin.kernels import RBF, Landmarks
from specmargin.solvers import Search, Solver
from specmargin.solvers.parts import SEARCHES
from specmargin.spectra import Eigenvectors
from specmargin.tables.candidates.constants import CONSTANTS

N = 400
METHODS = ("predict", "decision_function", "predict_proba", "transform")
CONFORMAL = {
    "LapRLS": "conformal_p_values",
    "SpectralFilterClassifier": "conformal_p_values",
    "LapRLSRegressor": "conformal_intervals",
}
CV: dict[str, Any] = {
    "grid": {"kernel": [RBF(4.0)], "graph": np.array([5]), "laplacian": [1], "gamma_I": ["100 gamma_A"]}
}
SEARCHES_OF: dict[str, tuple[dict[str, Any], str]] = {
    "spectra": ({"estimator": sm.STORM(), "grid": {"q": [20], "graph": [5], "C": [1.0]}, "cv": 3}, "moons"),
    "filters": ({"estimator": sm.SpectralFilterClassifier(), "grid": {"learn": ["single"]}, "cv": 3}, "moons"),
    "numbers": ({"estimator": sm.LapRLSRegressor(), **CV}, "targets"),
    "refits": ({"estimator": sm.SpectralRidge(q=50), "grid": {"penalty": [0.1, 1.0]}, "cv": 3}, "moons"),
    "texts": ({"estimator": sm.LapRLS(unlabeled="?"), **CV}, "search of texts"),
    "sklearn folds": ({**CV, "cv": StratifiedKFold(3)}, "moons"),
    "our folds": ({"estimator": sm.LapSVM(), **CV, "cv": sm.LabeledKFold(3)}, "moons"),
}
KINDS = {"LapRLSRegressor": "targets", "SpectralFilterRegressor": "targets"}
KINDS["SpectralFilterClassifier"] = "few"  # its conformal sets learn anew for every sample and class
SMALL = {"LabelSearch": CV}

LOCAL = [name for name in SEARCHES if name not in ("branch_and_bound", "continuation")]
VARIANTS: dict[str, tuple[str, dict[str, Any], str]] = {
    name: (name, dict(SMALL.get(name, {})), KINDS.get(name, "moons")) for name in all_estimators.NAMES
}
VARIANTS |= {f"S3VM, {name}": ("S3VM", {"search": name}, "moons") for name in LOCAL}
FUNCTIONS = {"landmarks": Landmarks(20), "eigenvectors": Eigenvectors(20)}
VARIANTS |= {
    f"{name}, {kind}": (name, {"functions": functions}, VARIANTS[name][2])
    for name in ("LapSVM", "LapRLS", "LapRLSRegressor")
    for kind, functions in FUNCTIONS.items()
}
VARIANTS |= {
    f"LabelSearch, {kind}": ("LabelSearch", {"estimator": sm.LapRLS(functions=functions), **CV}, "moons")
    for kind, functions in FUNCTIONS.items()
}
VARIANTS |= {
    f"S3VM, {kind}": ("S3VM", {"search": Search("cccp", s=-0.2), "functions": functions, "gamma_I": 1.0}, "moons")
    for kind, functions in FUNCTIONS.items()
}
VARIANTS |= {
    f"{name}, texts": (name, VARIANTS[name][1], "texts") for name in ("LapSVM", "STORM", "SpectralRidge", "S3VM", "RMM")
}
VARIANTS |= {
    "S3VM, gradient, texts": ("S3VM", {"search": "gradient"}, "texts"),
    "bools": ("LapRLS", {"unlabeled": None}, "bools"),
    "floats": ("LapSVM", {"unlabeled": np.nan, "gamma_A": np.float64(0.5)}, "floats"),
    "a frame": ("LapRLS", {}, "frame"),
    "sparse": ("LapSVM", {"graph": KNN(metric="cosine", weight="cosine")}, "sparse"),
    "sparse S3VM": ("S3VM", {"search": "annealing"}, "sparse"),
    "a given kernel": ("LapSVM", {"kernel": "precomputed", "gamma_I": 0.0}, "kernel"),
    "several graphs": ("STORM", {"graph": [4, KNN(5)], "solver": Solver(options={"max_iter": 50})}, "moons"),
    "principal components": ("SpectralRidge", {"graph": KNN(reduce=3)}, "wide"),
    "sparse components": ("SpectralRidge", {"graph": KNN(reduce=3)}, "sparse"),
    "weights of classes": ("LapSVM", {"class_weight": {"a": 2.0, "float": 0.5}}, "texts"),
    "several clusters": ("RegularizedSpectralClustering", {"n_clusters": 3}, "moons"),
    "pairs of classes": (
        "S3VM",
        {"search": "cccp", "multi_class": "ovo", "balance": {"a": -0.4, "float": -0.2}},
        "texts",
    ),
    "the loss itself": ("LapSVM", {"loss": sm.losses.HuberHinge(0.5)}, "moons"),
    "by CVXPY": ("LapSVM", {"solver": ("CLARABEL",), "graph": 5}, "few"),
    **{f"LabelSearch, {name}": ("LabelSearch", *one) for name, one in SEARCHES_OF.items()},
    "a mixture of texts": (
        "AutoSSL",
        {"constants": replace(CONSTANTS, graph_neighbors=(5,), landmarks=50), "families": ["sup", "graph"]},
        "texts",
    ),
    "several targets": ("LapRLSRegressor", {}, "several targets"),
}

COPIED = [
    *all_estimators.NAMES,
    *(f"S3VM, {name}" for name in LOCAL),
    *(name for name in VARIANTS if "landmarks" in name or "eigenvectors" in name),
    "LabelSearch, sklearn folds",
]


def data(kind: str) -> tuple[Any, Any, Any]:
    """Return samples, labels, and new samples."""
    n = 60 if kind == "few" else N
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.1, random_state=0)
    y, new = sm.hide_labels(truth, per_class=6, random_state=0), X[:50] + 0.01
    if kind in ("texts", "search of texts", "sparse"):
        names = np.array(["a", "b", "float"])[truth + (X[:, 0] > 1.0)]
        y = sm.hide_labels(names, per_class=6, unlabeled="?", random_state=0)
    if kind == "sparse":
        X = np.abs(np.hstack([X, X**2, X[:, ::-1] > 0.3]))
        return sp.csr_array(X), y, sp.csr_array(X[:50] + 0.01)
    if kind == "bools":
        y = np.array([None if one == -1 else bool(one) for one in y], dtype=object)
    if kind in ("floats", "targets", "several targets"):
        y = np.where(y == -1, np.nan, y)
    if kind == "several targets":
        y = np.column_stack([y, y + X[:, 0]])
    if kind == "frame":
        return pd.DataFrame(X, columns=["left", "right"]), y, pd.DataFrame(new, columns=["left", "right"])
    if kind == "kernel":
        return sm.kernels.gram(X, gamma=4.0), y, sm.kernels.gram(new, X, gamma=4.0)
    if kind == "wide":
        turn = np.random.default_rng(0).normal(size=(2, 20))
        return X @ turn + 5.0, y, new @ turn + 5.0
    return X, y, new


@cache
def fitted(variant: str) -> tuple[Any, Any]:
    """Return a fitted estimator, and new samples."""
    name, given, kind = VARIANTS[variant]
    params, (X, y, new) = dict(given), data(kind)
    if hasattr(getattr(sm, name)(), "q"):
        params.setdefault("q", 50)  # of the eigenvectors that are kept; the default would be half of n
    if kind in ("texts", "sparse"):
        params["unlabeled"] = "?"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = getattr(sm, name)(**params).fit(X, y)
        if name == "S3VM" and params.get("search") != "gradient":
            assert estimator.calibration_ > 0  # five fits, once; those of the gradient wait in the file
        return estimator, new


def outputs(estimator: Any, new: Any) -> list[Any]:
    """Return all that an estimator says of new samples."""
    return [getattr(estimator, method)(new) for method in METHODS if hasattr(estimator, method)]


@cache
def expected(variant: str) -> list[Any]:
    """Return the outputs of a fitted estimator."""
    return outputs(*fitted(variant))


def require_alike(again: Any, variant: str) -> None:
    """Raise unless another estimator says the same as a fitted one, to the last bit."""
    estimator, new = fitted(variant)
    assert type(again) is type(estimator)
    for ours, theirs in zip(outputs(again, new), expected(variant), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def require_same(one: Any, other: Any, at: str, seen: dict[int, tuple[Any, Any]]) -> None:
    """Raise unless two values are equal in type, dtype, order in memory and bits, and share what they share."""
    assert type(one) is type(other), at
    if one is None or isinstance(one, str | bool | int | float | np.generic | np.dtype | range):
        assert one == other or (one != one and other != other), at
        return
    if id(one) in seen and not isinstance(one, list | tuple | dict):
        assert seen[id(one)][1] is other, f"{at} is shared before, and is not after"
        return
    seen[id(one)] = (one, other)
    if isinstance(one, np.ndarray):
        assert one.flags.forc or one.ndim == 1, f"{at} is in an order in memory that no file keeps: sums may differ"
        assert (one.dtype, one.shape, one.flags.fnc) == (other.dtype, other.shape, other.flags.fnc), at
        np.testing.assert_array_equal(one, other, err_msg=at)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), at
        for k, pair in enumerate(zip(one, other, strict=True)):
            require_same(*pair, f"{at}[{k}]", seen)
    elif isinstance(one, dict):
        assert list(one) == list(other), at
        for key in one:
            require_same(one[key], other[key], f"{at}[{key!r}]", seen)
    elif sp.issparse(one):
        for part in ("data", "indices", "indptr"):
            require_same(getattr(one, part), getattr(other, part), f"{at}.{part}", {})
    else:
        require_same(one.__getstate__(), other.__getstate__(), f"{at}.", seen)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_loaded_estimator_is_the_saved_one(variant: str, tmp_path: Path) -> None:
    estimator, _ = fitted(variant)
    sm.save(estimator, tmp_path / "model.npz")
    again = sm.load(tmp_path / "model.npz")
    require_same(estimator, again, "", {})
    assert repr(again.get_params()) == repr(estimator.get_params())
    require_alike(again, variant)
    if variant in CONFORMAL:
        of_training = CONFORMAL[variant]
        np.testing.assert_array_equal(getattr(again, of_training)(), getattr(estimator, of_training)())


@pytest.mark.parametrize("variant", ["LapSVM", "a mixture of texts", "LapRLSRegressor", "floats", "several graphs"])
def test_a_loaded_estimator_scores_and_learns_again(variant: str, tmp_path: Path) -> None:
    estimator, new = fitted(variant)
    X, y, _ = data(VARIANTS[variant][2])
    sm.save(estimator, tmp_path / "model.npz")
    again = sm.load(tmp_path / "model.npz")
    assert again.score(X, y) == estimator.score(X, y)
    np.testing.assert_array_equal(again.fit(X, y).predict(new), estimator.predict(new))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        *((name, {}) for name in all_estimators.NAMES),
        *(("S3VM", {"search": Search(name, tol=1e-4)}) for name in SEARCHES),
    ],
)
def test_unfitted_estimators_are_their_parameters(name: str, params: dict[str, Any], tmp_path: Path) -> None:
    estimator = getattr(sm, name)(**params)
    sm.save(estimator, tmp_path / "model.npz")
    again = sm.load(tmp_path / "model.npz")
    require_same(estimator, again, "", {})
    assert again.get_params() == estimator.get_params()


def test_parameters_come_back_as_they_were(tmp_path: Path) -> None:
    params = {
        "kernel__gamma": [1, 2.0, "median", np.float32(3.0)],
        "gamma_A": np.array([1.0, np.inf]),
        "gamma_I": range(3),
        "graph": (5, np.int64(7), KNN(3)),
        "kernel": [np.str_("rbf"), RBF(np.float64(2.0))],
        "odd": {"float": "nan", "a": {1: None, False: (), "": [np.nan] * 20}, "é/\\": [1.5] * 20},
        "large": 10**400,
    }
    template = sm.LapRLS(unlabeled="?/\n\ud800", solver=Solver(options={"é/\\": [1.5] * 20}))
    estimator = sm.LabelSearch(template, params, criterion=np.str_("nll"))
    sm.save(estimator, tmp_path / "model.npz")
    require_same(estimator, sm.load(tmp_path / "model.npz"), "", {})


def test_names_of_features_and_settings_of_scikit_learn_are_kept(tmp_path: Path) -> None:
    import sklearn

    estimator, new = fitted("a frame")
    sm.save(estimator, tmp_path / "model.npz")
    again = sm.load(tmp_path / "model.npz")
    assert again.feature_names_in_.tolist() == ["left", "right"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(new[["right", "left"]])
    maps = sm.RegularizedEigenmaps().fit(new).set_output(transform="pandas")
    sm.save(maps, tmp_path / "maps.npz")
    pd.testing.assert_frame_equal(sm.load(tmp_path / "maps.npz").transform(new), maps.transform(new))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = sm.LapSVM().set_fit_request(graph=True)
        sm.save(routed, tmp_path / "routed.npz")
        assert sm.load(tmp_path / "routed.npz").get_metadata_routing().fit.requests["graph"] is True


def test_the_same_estimator_makes_the_same_file_which_numpy_reads(tmp_path: Path) -> None:
    estimator, _ = fitted("LapSVM")
    sm.save(estimator, tmp_path / "one.npz")
    sm.save(sm.load(tmp_path / "one.npz"), tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with np.load(tmp_path / "one.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["dual_coef_"], estimator.dual_coef_)


# Sizes, and other ways to keep an estimator


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_square_matrix_is_kept(variant: str, tmp_path: Path) -> None:
    estimator, _ = fitted(variant)
    sm.save(estimator, tmp_path / "model.npz")
    n = len(getattr(estimator, "transduction_", np.empty(N)))
    share = 0.5 if VARIANTS[variant][0] == "AutoSSL" else 0.3  # which keeps the maps of all its candidates
    if variant == "several graphs":
        share = 0.4  # two graphs with their eigenvectors
    for size in (len(pickle.dumps(estimator)), os.path.getsize(tmp_path / "model.npz")):
        assert size < max(8 * n * n * share, 50_000)


def by_pickle(estimator: Any) -> Any:
    return pickle.loads(pickle.dumps(estimator))


def by_skops(estimator: Any) -> Any:
    skops = pytest.importorskip("skops.io")
    content = skops.dumps(estimator)
    foreign = skops.get_untrusted_types(data=content)
    assert all(name.startswith(("specmargin.", "cvxproof.", "numpy.", "scipy.", "sklearn.")) for name in foreign)
    return skops.loads(content, trusted=foreign)


@pytest.mark.parametrize(
    ("variant", "way"),
    [
        *((variant, by_skops) for variant in COPIED),
        *((variant, way) for variant in COPIED for way in (by_pickle, copy.copy, copy.deepcopy)),
    ],
)
def test_copies_are_the_same(variant: str, way: Any) -> None:
    again = way(fitted(variant)[0])
    require_alike(again, variant)
    if hasattr(again, "result_"):
        assert repr(again.result_) == repr(fitted(variant)[0].result_)


# What no file can hold


class OwnLoss(sm.losses.HuberHinge):
    """A loss of the user's own."""


class OwnSVM(sm.LapSVM):
    """An estimator of the user's own."""


def own_kernel(X: Any, Y: Any) -> Any:
    """Return a linear kernel."""
    return X @ Y.T


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("LapSVM", {"kernel": own_kernel}, r"^kernel=<function own_kernel.*is a function.*'precomputed'"),
        ("STORM", {"graph": KNN(metric=own_kernel)}, r"^graph/metric=.*is a function.*name one of the package's"),
        ("STORM", {"random_state": np.random.default_rng(0)}, r"^random_state=.*numpy.*set a whole number"),
        (
            "LapSVM",
            {"graph": KNN(random_state=np.random.default_rng(0))},
            r"^graph/random_state=.*numpy.*set a whole number",
        ),
        (
            "LabelSearch",
            {"grid": {"kernel": ["linear", own_kernel]}},
            r"^grid/kernel/1=<function own_kernel.*is a function",
        ),
        ("LapSVM", {"loss": OwnLoss(0.5)}, r"^loss=.*OwnLoss.*not among those that files hold"),
        ("LabelSearch", {"cv": GroupKFold(2)}, r"^cv=.*GroupKFold.*not among"),
        ("LapSVM", {"solver": Solver(options={"callback": print})}, r"^solver/options/callback=.*function"),
        ("LapSVM", {"unlabeled": nx.path_graph(3)}, r"^unlabeled=.*networkx.*from_networkx"),
    ],
)
def test_parameters_that_no_file_can_hold_are_named(name: str, params: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidTypeError, match=message):
        sm.save(getattr(sm, name)(**params), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_function_that_was_fitted_with_is_named(tmp_path: Path) -> None:
    X, y, _ = data("few")
    fit = sm.LapSVM(kernel=own_kernel).fit(X, y).set_params(kernel="linear")
    with pytest.raises(InvalidTypeError, match=r"kernel_/function=<function own_kernel.*is a function"):
        sm.save(fit, tmp_path / "model.npz")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GridSearchCV(sm.LapSVM(), {"gamma_I": [0.0]}), r"GridSearchCV.*best_estimator_.*skops"),
        (SVC(), r"sklearn\.svm.*SVC, which is not the package's"),
        (OwnSVM(), r"OwnSVM, which is not the package's"),
    ],
)
def test_what_is_no_estimator_of_the_package_is_refused(estimator: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidTypeError, match=message):
        sm.save(estimator, tmp_path / "model.npz")


# Files that are not what they should be


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a saved estimator."""
    sm.save(fitted("LapSVM")[0], tmp_path / "model.npz")
    return tmp_path / "model.npz"


def changed(file: Path, change: Any) -> Path:
    """Write an archive of which all checksums are right, but not the contents."""
    header, arrays = read_archive(file, "estimator")
    header = json.loads(json.dumps(header, allow_nan=True))
    change(header, arrays)
    write_archive(file, "estimator", header, arrays)
    return file


def test_later_versions_are_refused_and_others_are_told(file: Path) -> None:
    changed(file, lambda header, arrays: header["versions"].update({"specmargin": "0.0.1"}))
    with pytest.warns(SavedVersionWarning, match=r"written with specmargin 0\.0\.1, not .*Fit again") as caught:
        sm.load(file)
    assert caught[0].filename == __file__
    changed(file, lambda header, arrays: header.update(contents_version=3))
    with pytest.raises(InvalidInputError, match=r"in the version 3, written by specmargin 0\.0\.1.*use a newer"):
        sm.load(file)


def set_class(name: str) -> Any:
    return lambda header, arrays: header["objects"][0].update({"class": name})


def set_state(value: Any) -> Any:
    return lambda header, arrays: header["objects"][0]["state"]["items"].update(x=value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_class("os.system"), "class 'os.system', which this version"),
        (set_class("antigravity.fly"), "class 'antigravity.fly'"),
        (set_class("sklearn.pipeline.Pipeline"), "class 'sklearn.pipeline.Pipeline'"),
        (set_class("objectives.LapSVM"), "class 'objectives.LapSVM'"),
        (set_class("LapSVM"), "class 'LapSVM'"),
        (set_class("labels.Labels"), "which is no estimator"),
        (set_class("kernels.KernelOperator"), "contents of another version"),
        (set_state({"array": "none"}), "contents of another version .KeyError"),
        (set_state({"object": 10**6}), "contents of another version .IndexError"),
        (set_state({"enum": "results.Status", "value": "x"}), "contents of another version .ValueError"),
        (set_state({"enum": "estimators.LapSVM", "value": "x"}), "class 'estimators.LapSVM'"),
        (set_state({"tuple": [], "class": "results.Status"}), "class 'results.Status'"),
        (set_state({"unknown": 1}), "contents of another version .KeyError"),
        (lambda header, arrays: header.pop("root"), "contents of another version .KeyError"),
        (lambda header, arrays: header["objects"].append({"class": "results.Certificate", "state": 3}), "TypeError"),
    ],
)
def test_only_known_classes_are_made(file: Path, change: Any, message: str) -> None:
    changed(file, change)
    before = set(sys.modules)
    with pytest.raises(InvalidInputError, match=message):
        sm.load(file)
    assert not {"antigravity"} & (set(sys.modules) - before)


def test_sparse_matrices_point_nowhere_else(tmp_path: Path) -> None:
    sm.save(fitted("LapRLS")[0], tmp_path / "model.npz")

    def change(header: Any, arrays: Any) -> None:
        (name,) = [name for name in arrays if name.endswith("/indices")]
        arrays[name] = arrays[name] + 10**7

    with pytest.raises(InvalidInputError, match=r"contents of another version .ValueError"):
        sm.load(changed(tmp_path / "model.npz", change))


def test_known_classes_hold_data() -> None:
    known = storage.known_classes()
    assert len(set(known.values())) == len(known)
    for name, cls in known.items():
        ours = [one for one in cls.__mro__ if one.__module__.startswith(("cvxproof.", "specmargin."))]
        assert ours or name.startswith("sklearn."), name
        assert not any({"__del__", "__reduce__", "__reduce_ex__"} & vars(one).keys() for one in ours), name
        if any("__setstate__" in vars(one) for one in ours):
            trusted = cls in (sm.SolveResult, sm.Certificate) or issubclass(cls, GraphSpectrumClassifier)
            assert trusted, f"{name}: does its __setstate__ run anything that a file could choose?"


@pytest.mark.slow
def test_a_file_is_read_by_a_process_that_has_imported_nothing(file: Path, tmp_path: Path) -> None:
    estimator, new = fitted("LapSVM")
    np.save(tmp_path / "new.npy", new)
    code = (
        f"import numpy as np, specmargin as sm, sys; clf = sm.load({str(file)!r})\n"
        f"np.save({str(tmp_path / 'f.npy')!r}, clf.decision_function(np.load({str(tmp_path / 'new.npy')!r})))\n"
        "assert not {'cvxpy', 'matplotlib', 'networkx', 'pickle5'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), estimator.decision_function(new))


def test_an_estimator_is_part_of_a_larger_file(tmp_path: Path) -> None:
    estimator, new = fitted("LapRLS")
    arrays: dict[str, Any] = {}
    packed = storage.pack_estimator(estimator, arrays, "model/")
    assert all(name.startswith("model/") for name in arrays)
    write_archive(tmp_path / "both.npz", "table", {"columns": ["a"], "model": packed}, arrays)
    header, arrays = read_archive(tmp_path / "both.npz", "table")
    again = storage.unpack_estimator(header["model"], arrays)
    np.testing.assert_array_equal(again.decision_function(new), estimator.decision_function(new))


def test_arguments_in_the_wrong_order_are_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidTypeError, match=r"is a path; pass it last, save\(estimator, path\)"):
        sm.save(str(tmp_path / "model.npz"), sm.LapSVM())
