"""What a caller changes in place after `fit` changes nothing that was learned: features, labels, weights, graphs."""

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import specmargin as sm

ESTIMATORS = [
    method
    for method in (getattr(sm, name) for name in sm.__all__)
    if isinstance(method, type) and hasattr(method, "fit") and method is not sm.WithUnlabeled
]
each_estimator = pytest.mark.parametrize("method", ESTIMATORS, ids=lambda method: method.__name__)
METHODS = ("predict", "decision_function", "predict_proba", "transform")
LATE = ("label_robustness", "conformal_p_values", "conformal_intervals")
pytestmark = pytest.mark.filterwarnings("ignore")

X, TRUTH = sm.datasets.make_two_moons(n_samples=40, noise=0.1, random_state=0)
W = sm.graphs.knn_graph(X, n_neighbors=6)
PAIRS = sm.spectra.laplacian_eigenpairs(sm.graphs.laplacian(W, normalized=True), q=12)
NEW = X[::4] + 0.01
COLUMNS = ["a", "b"]
FEATURES = {
    "float": (np.array, NEW),
    "columns": (np.asfortranarray, NEW),
    "csr": (sp.csr_array, sp.csr_array(NEW)),
    "csc": (sp.csc_matrix, sp.csr_array(NEW)),
    "frame": (lambda X: pd.DataFrame(X, columns=COLUMNS), pd.DataFrame(NEW, columns=COLUMNS)),
}
GRAPHS = {
    "matrix": W,
    "dense": W.toarray(),
    "networkx": nx.from_scipy_sparse_array(W),
    "spectrum": PAIRS,
    "list": [W, W.toarray()],
    "spectra": [PAIRS, copy.deepcopy(PAIRS)],
}


def labels_of(method):
    if not hasattr(method, "score"):
        return {}
    y = sm.hide_labels(TRUTH, per_class=4, random_state=0)
    return {"y": y} if hasattr(method, "predict_proba") else {"y": np.where(y < 0, np.nan, X[:, 1])}


def change(given):
    """Overwrite all numbers of what was given to `fit`."""
    if isinstance(given, dict | list):
        for part in given.values() if isinstance(given, dict) else given:
            change(part)
        given.clear()
    elif isinstance(given, nx.Graph):
        given.remove_edges_from(list(given.edges)[::2])
    elif isinstance(given, sm.spectra.Spectrum):
        change([given.eigenvalues, given.eigenvectors])
    elif isinstance(given, pd.DataFrame | pd.Series):
        given.iloc[:] = given.to_numpy()[::-1] * -2
    else:
        numbers = given.data if sp.issparse(given) else given
        numbers[...] = numbers[::-1] * -2
        if sp.issparse(given):
            given.indices[...] = given.indices[::-1].copy()


def answers(fitted, new):
    said = [getattr(fitted, name)(new) for name in METHODS if hasattr(fitted, name)]
    for name in LATE:
        try:
            late = getattr(fitted, name)(**({"max_flips": 1} if name == "label_robustness" else {}))
        except (AttributeError, ValueError):  # not of this method, or not of this fit
            continue
        said.append((late.radius, late.flips) if name == "label_robustness" else late)
    return pickle.dumps([np.asarray(value) for part in said for value in (part if isinstance(part, tuple) else [part])])


def assert_unchanged(estimator, given, new):
    kept, fitted = copy.deepcopy(estimator), copy.deepcopy(estimator)
    untouched = copy.deepcopy(given)
    kept.fit(**untouched)
    fitted.fit(**given)
    change(given)
    assert answers(fitted, new) == answers(kept, new)


@each_estimator
@pytest.mark.parametrize("kind", FEATURES)
def test_features_and_labels_that_are_changed_after_fit(method, kind):
    made, new = FEATURES[kind]
    y = {name: pd.Series(y) if kind == "frame" else y.copy() for name, y in labels_of(method).items()}
    weights = {"sample_weight": np.ones(40)} if y and method is not sm.AutoSSL and kind == "float" else {}
    assert_unchanged(method(), {"X": made(X), **y, **weights}, new)


@each_estimator
@pytest.mark.parametrize("kind", GRAPHS)
def test_graphs_that_are_changed_after_fit(method, kind):
    given = {"X": X.copy(), "graph": copy.deepcopy(GRAPHS[kind]), **labels_of(method)}
    try:
        method().fit(**given)
    except (TypeError, ValueError):  # it takes no such graph
        return
    assert_unchanged(method(), given, NEW)


@pytest.mark.parametrize("method", [sm.LapSVM, sm.LapRLS, sm.RMM, sm.S3VM, sm.RegularizedEigenmaps])
def test_kernel_matrices_that_are_changed_after_fit(method):
    K = sm.kernels.gram(X, gamma=2.0)
    graph = {} if method in (sm.RMM, sm.S3VM) else {"graph": W.copy()}
    assert_unchanged(method(kernel="precomputed"), {"X": K.copy(), **graph, **labels_of(method)}, K[::4])


def test_unlabelled_samples_that_are_changed_after_fit():
    known = np.arange(40) < 20
    estimator = sm.WithUnlabeled(sm.LapSVM(), X[~known])
    kept = copy.deepcopy(estimator).fit(X[known], TRUTH[known])
    estimator.fit(X[known], TRUTH[known])
    change(estimator.X_unlabeled)
    assert answers(estimator, NEW) == answers(kept, NEW)


@pytest.mark.parametrize("method", [sm.LapSVM, sm.LabelSearch, sm.STORM, sm.SpectralRidge])
def test_features_are_kept_once(method):
    wide = np.hstack([X, np.zeros((40, 4_000))])
    fitted = method().fit(wide, labels_of(method)["y"])
    fitted.predict_proba(wide[:2])
    assert len(pickle.dumps(fitted)) < 1.5 * wide.nbytes


def test_features_far_from_the_origin_are_kept_once():
    """The search among centred rows serves the graph, and is kept by what finds neighbours of new samples alone."""
    wide = np.hstack([X, np.zeros((40, 4_000))]) + 1e4
    assert len(pickle.dumps(sm.LapSVM(kernel=4.0).fit(wide, labels_of(sm.LapSVM)["y"]))) < 1.5 * wide.nbytes
