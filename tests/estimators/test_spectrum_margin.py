"""The classifiers over a graph spectrum as estimators: what they share, and STORM, STOAM, MKL and KTA."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import specmargin as sm
from specmargin.graphs import KNN, Laplacian
from specmargin.solvers import Solver

METHODS = [
    sm.STORM(C=10.0),
    sm.STORM(C=10.0, B="auto"),
    sm.STOAM(C=10.0),
    sm.MKL(C=10.0),
    sm.MKL(C=10.0, B=1.5),
    sm.KTA(C=10.0),
    sm.KTA(B=1.5),
    sm.SpectralKernelSVM(C=10.0),
    sm.SpectralKernelSVM(B=1.5, transformation="power"),
    sm.XuSpectralSVM(C=10.0, class_balance=None, laplacian=Laplacian(normalized=False)),
    sm.SpectralGraphTransducer(),
]
WITH_A_MARGIN = METHODS[:-1]  # with a margin, and a choice of solvers


@pytest.fixture(params=METHODS, ids=lambda method: repr(method))
def method(request):
    return clone(request.param).set_params(q=30, graph=5, class_balance=None)


@pytest.fixture(params=WITH_A_MARGIN, ids=lambda method: repr(method))
def classifier(request):
    return clone(request.param).set_params(q=30, graph=5, class_balance=None)


def test_the_answer_is_certified_and_the_spectrum_admissible(moons, method):
    X, y_true, y = moons
    fitted = method.fit(X, y)
    assert fitted.result_.certificate.is_optimal(1e-9)
    assert fitted.delta_.shape == (30,)
    assert fitted.delta_.min() >= 0
    assert fitted.delta_.sum() == pytest.approx(1.0, abs=1e-12)
    assert fitted.graph_weights_.tolist() == pytest.approx([1.0])
    if not isinstance(method, sm.MKL):
        assert np.diff(fitted.delta_[1:]).max() <= 1e-12
        # Without the order eight labels overfit, and Xu's spectrum is weak: that is the paper's point, not an error.
        assert (fitted.transduction_ == y_true).mean() > (0.7 if isinstance(method, sm.XuSpectralSVM) else 0.85)
    np.testing.assert_array_equal(fitted.transduction_, (fitted.scores_ > 0).astype(int))


def test_decisions_are_those_of_a_classifier_on_the_spectrum(moons, classifier):
    """At the optimum the classifier is the relative margin machine of the kernel that the spectrum makes."""
    X, _, y = moons
    fitted = classifier.fit(X, y)
    U = np.sqrt(len(X)) * fitted.eigenvectors_
    K = (U * fitted.delta_) @ U.T
    known, bound = y != -1, getattr(fitted, "B_", np.inf)
    if np.isinf(bound):
        svc = SVC(C=fitted.C, kernel="precomputed", tol=1e-10).fit(K[np.ix_(known, known)], y[known])
        np.testing.assert_allclose(fitted.scores_, svc.decision_function(K[:, known]), atol=2e-4)
        return
    rmm = sm.RMM(C=fitted.C, B=bound, kernel="precomputed", solver=sm.problems.default_solvers()).fit(K, y)
    np.testing.assert_allclose(fitted.scores_, rmm.decision_function(K), atol=2e-4)


def test_the_solvers_agree(moons, classifier):
    X, _, y = moons
    own = classifier.fit(X, y)
    order = sm.problems.default_solvers()
    for solver in (order[0], order[::-1]):
        other = clone(classifier).set_params(solver=solver).fit(X, y)
        assert other.result_.solver in order
        values = [fitted.result_.certificate.primal_objective for fitted in (own, other)]
        assert values[0] == pytest.approx(values[1], rel=3e-6)
        np.testing.assert_allclose(other.delta_, own.delta_, atol=2e-3)
        np.testing.assert_allclose(other.scores_, own.scores_, atol=2e-2)


@pytest.mark.parametrize("method", [sm.STORM(C=100.0, B=1.05), sm.MKL(C=100.0, B=1.05), sm.KTA(C=100.0, B=1.05)])
def test_the_bound_holds_on_the_labelled_samples(moons, method):
    X, _, y = moons
    bounded = clone(method).set_params(q=30, graph=5, class_balance=None).fit(X, y)
    assert np.abs(bounded.scores_[y != -1]).max() <= 1.05 * (1 + 1e-9)
    free = clone(bounded).set_params(B=np.inf).fit(X, y)
    assert np.abs(free.scores_[y != -1]).max() > (1.2 if isinstance(method, sm.KTA) else 1.06)


def test_storm_without_a_bound_is_stoam_and_without_order_is_mkl(moons):
    X, _, y = moons
    storm, stoam = sm.STORM(C=5.0, B=np.inf, q=20).fit(X, y), sm.STOAM(C=5.0, q=20).fit(X, y)
    np.testing.assert_allclose(storm.delta_, stoam.delta_, atol=1e-12)
    mkl = sm.MKL(C=5.0, q=20).fit(X, y)
    assert np.diff(mkl.delta_[1:]).max() > 0.01  # it breaks the order
    assert mkl.result_.certificate.primal_objective <= stoam.result_.certificate.primal_objective * (1 + 1e-9)


@pytest.mark.parametrize("normalized", [True, False])
def test_the_eigenpairs_are_those_of_the_laplacian_that_was_asked_for(moons, normalized):
    X, _, y = moons
    fitted = sm.STORM(q=15, laplacian=Laplacian(normalized=normalized)).fit(X, y)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, 10), normalized=normalized).toarray()
    np.testing.assert_allclose(fitted.eigenvalues_, np.linalg.eigvalsh(L)[:15], atol=1e-12)
    np.testing.assert_allclose(L @ fitted.eigenvectors_, fitted.eigenvectors_ * fitted.eigenvalues_, atol=1e-12)


def test_an_answer_that_is_not_proved_warns_with_its_gap(moons):
    X, _, y = moons
    with pytest.warns(
        ConvergenceWarning, match=r"STORM: STORM: .* NOTHING is proved about .* \(relative gap"
    ) as caught:
        sm.STORM(q=20, solver=Solver(options={"max_iter": 1})).fit(X, y)
    assert caught[0].filename == __file__


def test_kta_warns_of_either_of_its_two_solves(moons):
    X, _, y = moons
    with pytest.warns(ConvergenceWarning) as caught:
        sm.KTA(C=10.0, q=20, solver=Solver("SCS", options={"max_iters": 2})).fit(X, y)
    messages = [str(entry.message) for entry in caught if entry.category is ConvergenceWarning]
    assert any("KTA: KTA" in text for text in messages)
    assert any("KTA: SVM" in text for text in messages)


def test_kta_keeps_the_results_of_both_its_solves(moons, blobs):
    X, _, y = moons
    for B, name in ((np.inf, "SVM"), (1.5, "RMM")):
        kta = sm.KTA(C=10.0, q=20, B=B, class_balance=None).fit(X, y)
        assert kta.result_.certificate.sense == "maximize"
        assert kta.margin_result_.problem == name
        assert kta.margin_result_.certificate.is_optimal(1e-9)
        np.testing.assert_allclose(kta.margin_result_.variables["delta"], kta.delta_, atol=1e-15)
        np.testing.assert_array_equal(kta.margin_result_.variables["f"], kta.scores_)
    X, _, y = blobs
    assert [result.problem for result in sm.KTA(q=20, unlabeled="?").fit(X, y).margin_result_] == ["SVM"] * 3


def test_eps_is_the_least_drop(moons):
    X, _, y = moons
    delta = sm.STORM(C=5.0, q=20, eps=1e-4).fit(X, y).delta_
    assert -np.diff(delta[1:]).max() >= 1e-4 * (1 - 1e-9)


def test_several_classes_share_the_eigenpairs(blobs):
    X, y_true, y = blobs
    fitted = sm.STOAM(C=10.0, q=20, class_balance=None, unlabeled="?").fit(X, y)
    assert fitted.delta_.shape == (3, 20)
    assert fitted.scores_.shape == (120, 3)
    assert len(fitted.result_) == 3
    assert (fitted.transduction_ == y_true).mean() > 0.9
    one = np.where(y == "?", -1, (y == "c").astype(int))
    alone = sm.STOAM(C=10.0, q=20, class_balance=None).fit(X, one)
    np.testing.assert_allclose(fitted.scores_[:, 2], alone.scores_, atol=1e-9)
    np.testing.assert_allclose(fitted.delta_[2], alone.delta_, atol=1e-9)
    assert not np.allclose(fitted.delta_[0], fitted.delta_[2], atol=1e-3)


def test_training_samples_get_their_own_scores_and_neighbours_similar_ones(moons, method):
    X, _, y = moons
    fitted = method.fit(X, y)
    np.testing.assert_allclose(fitted.decision_function(X), fitted.scores_, atol=1e-12)
    agree = fitted.predict(X + 0.01) == fitted.transduction_
    assert agree.mean() > 0.95


@pytest.mark.filterwarnings("ignore::specmargin.exceptions.DisconnectedGraphWarning")
def test_sparse_text_like_features_with_the_cosine(rng):
    topics = rng.random((2, 40)) ** 4
    y_true = np.repeat([0, 1], 40)
    X = sp.csr_matrix(rng.poisson(3 * topics[y_true]))
    y = sm.hide_labels(y_true, per_class=4, random_state=0)
    fitted = sm.STORM(C=10.0, q=20, graph=KNN(metric="cosine")).fit(X, y)
    assert (fitted.transduction_ == y_true).mean() > 0.9
    # The cosine does not see the length of a document, neither here nor among the neighbours of new ones.
    new = sp.csr_matrix(rng.poisson(3 * topics[y_true]))
    np.testing.assert_allclose(fitted.decision_function(7.0 * new), fitted.decision_function(new), atol=1e-12)
    lengths = sp.diags_array(rng.uniform(1, 9, size=80))
    np.testing.assert_array_equal(fitted.predict(lengths @ X), fitted.predict(X))


@pytest.mark.parametrize("method", [sm.STORM(C=3.0, q=9), sm.SpectralGraphTransducer(q=9)])
def test_the_answer_does_not_depend_on_the_basis_of_tied_eigenvalues(method):
    """A cycle has pairs of equal eigenvalues; rotating the samples around it rotates the basis inside each pair."""
    n = 24
    W = np.roll(np.eye(n), 1, axis=1)
    W = W + W.T
    y = np.full(n, -1)
    y[[0, 1, 2]], y[[12, 13]] = 0, 1
    X = np.arange(n, dtype=float)[:, None]
    shift = np.roll(np.arange(n), 5)
    a = clone(method).fit(X, y, graph=W)
    b = clone(method).fit(X, y[shift], graph=W[np.ix_(shift, shift)])
    learned = isinstance(method, sm.STORM)
    np.testing.assert_allclose(a.delta_, b.delta_, atol=1e-5)
    np.testing.assert_allclose(a.scores_[shift], b.scores_, atol=1e-4 if learned else 1e-8)
    if learned:
        np.testing.assert_allclose(a.delta_[1::2], a.delta_[2::2], atol=1e-15)


def test_duplicates_and_full_labels_simply_work(moons, method):
    X, y_true, y = moons
    full = method.fit(X, y_true)  # more labels than eigenvectors
    assert full.result_.certificate.is_optimal(1e-6)
    twice = clone(method).set_params(graph=12).fit(np.concatenate([X, X]), np.concatenate([y, y]))
    assert twice.result_.certificate.is_optimal(1e-6)
    np.testing.assert_allclose(twice.decision_function(X), (twice.scores_[:120] + twice.scores_[120:]) / 2, atol=1e-12)


def test_rounded_training_rows_are_training_rows():
    X, truth = sm.datasets.make_two_moons(n_samples=200, noise=0.25, random_state=0)
    y = sm.hide_labels(truth, per_class=4, random_state=0)

    for method in (
        sm.MKL(),
        sm.STORM(),
        sm.XuSpectralSVM(),
        sm.SpectralRidge(),
        sm.SpectralFilterClassifier(),
        sm.KTA(),
    ):
        fitted = method.fit(X, y)
        for moved in (X.astype(np.float32), X + 1e-9):
            np.testing.assert_array_equal(fitted.decision_function(moved), fitted.scores_)
