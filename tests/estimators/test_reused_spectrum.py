"""Eigenpairs that are computed once and passed to many fits: the same answers, without graphs and eigensolvers."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import specmargin as sm
from specmargin.exceptions import DisconnectedGraphWarning, SavedVersionWarning
from specmargin.graphs import Laplacian

METHODS = [
    sm.STORM(C=10.0, B="auto"),
    sm.STOAM(laplacian=Laplacian(power=2)),
    sm.MKL(laplacian=Laplacian(normalized=True)),
    sm.KTA(),
    sm.SpectralKernelSVM(laplacian=Laplacian(power=2), transformation="inverse"),
    sm.XuSpectralSVM(),
    sm.SpectralGraphTransducer(),
    sm.SpectralRidge(laplacian=Laplacian(normalized=False)),
]
methods = pytest.mark.parametrize("method", METHODS, ids=repr)


def of(method, X, q=30):
    """Eigenpairs of the graph that the estimator makes by itself."""
    W = method.graph(X)
    tol = {"tol": method.eigen_tol} if isinstance(method, sm.SpectralRidge) else {}
    return sm.spectra.laplacian_eigenpairs(W, q=q, normalized=method.laplacian.normalized, **tol)


def refused(*args):
    raise AssertionError("a graph was made")


def assert_same(one, other, X):
    for name in ("scores_", "transduction_", "delta_", "eigenvalues_", "eigenvectors_", "intercept_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    new = X[:20] + 0.05
    np.testing.assert_array_equal(one.decision_function(new), other.decision_function(new))


@methods
@pytest.mark.parametrize("several", [False, True])
def test_fits_are_the_same_to_the_last_bit(moons, blobs, method, several, monkeypatch):
    X, _, y = blobs if several else moons
    method = clone(method).set_params(q=30, unlabeled="?" if several else -1)
    literal = clone(method).fit(X, y)
    spectrum = of(method, X)
    monkeypatch.delattr("specmargin.spectra.reuse.eigenpairs_of")
    monkeypatch.setattr("specmargin.graphs.KNN.__call__", refused)
    assert_same(clone(method).fit(X, y, graph=spectrum), literal, X)
    assert_same(clone(method).fit(X, y, graph=literal.spectrum_), literal, X)


@methods
def test_fewer_eigenvectors_are_the_lowest(moons, method):
    X, _, y = moons
    spectrum, few = of(method, X), clone(method).set_params(q=12)
    fitted, literal = clone(few).fit(X, y, graph=spectrum), clone(few).fit(X, y)
    assert fitted.eigenvectors_.shape == (120, 12)
    np.testing.assert_allclose(fitted.scores_, literal.scores_, atol=1e-4)
    assert clone(method).set_params(q=None).fit(X, y, graph=spectrum).delta_.shape == (30,)
    with pytest.raises(ValueError, match="q=31, but the spectrum that was passed holds 30"):
        clone(method).set_params(q=31).fit(X, y, graph=spectrum)
    with pytest.raises(ValueError, match="of 120 nodes but the data has 119 rows"):
        clone(method).fit(X[1:], y[1:], graph=spectrum)


def test_several_graphs_may_be_mixed(moons):
    X, _, y = moons
    W = [sm.graphs.knn_graph(X, n_neighbors=k) for k in (5, 12)]
    spectra = [sm.spectra.laplacian_eigenpairs(graph, q=15, normalized=False) for graph in W]
    storm = sm.STORM(q=15, graph=[5, 12], laplacian=Laplacian(normalized=False))
    literal = clone(storm).fit(X, y)
    for graph in (spectra, [spectra[0], W[1]], literal.spectrum_):
        assert_same(clone(storm).fit(X, y, graph=graph), literal, X)
    with pytest.raises(ValueError, match="works on one graph, got 2"):
        sm.KTA(q=15, laplacian=Laplacian(normalized=False)).fit(X, y, graph=spectra)


@pytest.mark.parametrize(
    "method",
    [
        sm.STORM(q=8, laplacian=Laplacian(normalized=False)),
        sm.SpectralRidge(q=8, laplacian=Laplacian(normalized=False)),
    ],
    ids=repr,
)
def test_components_without_a_label_are_warned_of(method):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((30, 2)) + 20.0 * c for c in range(3)])
    y = np.full(90, -1)
    y[[0, 1, 30, 31]] = [0, 0, 1, 1]
    W = sm.graphs.knn_graph(X, n_neighbors=10)
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=8, normalized=False)
    texts = []
    for graph in (W, spectrum):
        with pytest.warns(DisconnectedGraphWarning) as caught:
            clone(method).fit(X, y, graph=graph)
        texts += [str(warning.message) for warning in caught if warning.category is DisconnectedGraphWarning]
    assert texts[0] == texts[1]
    assert "1 with 30 samples hold no label" in texts[0]


def test_a_problem_is_built_from_it(moons):
    X, _, y = moons
    storm = sm.STORM(q=30)
    built = storm.build_problem(X, y, graph=of(storm, X))
    value = sm.solve(built).certificate.primal_objective
    assert value == pytest.approx(storm.fit(X, y).result_.certificate.primal_objective, rel=1e-6)


def test_what_is_kept_is_kept_once(moons):
    X, _, y = moons
    fitted = sm.STORM(q=30).fit(X, y)
    assert fitted.eigenvectors_ is fitted.spectrum_.eigenvectors
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.eigenvectors_ is copy.spectrum_.eigenvectors
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(sm.STORM(q=30).fit(X, y, graph=copy.spectrum_), fitted, X)


@methods
@pytest.mark.parametrize("several", [False, True])
def test_a_pickle_holds_no_eigenvectors_and_decides_the_same(moons, blobs, method, several):
    X, _, y = blobs if several else moons
    fitted = clone(method).set_params(q=60, unlabeled="?" if several else -1).fit(X, y)
    content = pickle.dumps(fitted)
    assert fitted.eigenvectors_[:, 40].tobytes() not in content
    copy, again = pickle.loads(content), pickle.loads(pickle.dumps(pickle.loads(content)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (copy, again):
            assert_same(other, fitted, X)
    np.testing.assert_array_equal(pickle.loads(content).predict_proba(X[:9]), fitted.predict_proba(X[:9]))


def test_eigenvectors_of_several_graphs_come_back(moons):
    X, _, y = moons
    fitted = sm.MKL(graph=[sm.graphs.KNN(5), sm.graphs.KNN(9)], q=12).fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    assert_same(copy, fitted, X)
    assert [spectrum.q for spectrum in copy.spectrum_] == [12, 12]


@pytest.mark.parametrize("start", [None, np.random.default_rng(3)])
def test_without_a_seed_and_of_passed_spectra_eigenvectors_are_stored(moons, start, monkeypatch):
    X, _, y = moons
    fits = [sm.STORM(q=20, random_state=start).fit(X, y)]
    fits.append(sm.STORM(q=20).fit(X, y, graph=fits[0].spectrum_))
    monkeypatch.delattr("specmargin.spectra.reuse.eigenpairs_of")
    for fitted in fits:
        assert_same(pickle.loads(pickle.dumps(fitted)), fitted, X)


def test_other_eigenvectors_than_those_of_the_fit_are_told(moons):
    X, _, y = moons
    fitted = sm.STORM(q=20).fit(X, y)
    kept = fitted._spectra[0]
    state = {**kept.__getstate__(), "_checksum": 1}
    other = object.__new__(type(kept))
    vars(other).update(state)
    with pytest.warns(SavedVersionWarning, match="computed again"):
        spectrum = other.spectrum
    np.testing.assert_array_equal(spectrum.eigenvectors, fitted.eigenvectors_)
