"""Fewer functions than samples: exact in themselves, near the whole, and chosen by size and memory."""

import re

import numpy as np
import pytest

import specmargin as sm
from specmargin import arrays
from specmargin.estimators._base import feature_maps, manifold
from specmargin.estimators._base.feature_maps import EigenvectorFunctions, KernelFunctions, LandmarkFunctions
from specmargin.kernels import RBF, Landmarks, LowRankKernel, landmark_features
from specmargin.objectives import LapSVM as Objective
from specmargin.solvers import Solver
from specmargin.spectra import Eigenvectors

OPTIONS = {"kernel": RBF(4.0), "gamma_A": 1e-2, "gamma_I": 1.0, "graph": 6, "laplacian": 1, "class_balance": None}
losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])


@losses
def test_all_samples_as_landmarks_are_the_whole_expansion(moons, loss):
    X, _, y = moons
    whole = sm.LapSVM(**OPTIONS, loss=loss).fit(X, y)
    landmarks = sm.LapSVM(loss=loss, functions=Landmarks(), **OPTIONS).fit(X, y)
    assert landmarks.result_.certificate.is_optimal(1e-9)
    np.testing.assert_allclose(landmarks.decision_function(X), whole.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(landmarks.decision_function(X + 0.1), whole.decision_function(X + 0.1), atol=1e-4)


def test_landmarks_are_the_optimum_in_their_span(moons):
    X, _, y = moons
    clf = sm.LapSVM(functions=Landmarks(30, random_state=3), **OPTIONS).fit(X, y)
    labels = sm.encode_labels(y)
    F = landmark_features(X, 30, gamma=4.0, include=labels.labeled, random_state=3)(X)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6), normalized=True)
    obj = Objective(LowRankKernel(F), L, labels, gamma_A=1e-2, gamma_I=1.0)
    expected = sm.solve(sm.problems.lapsvm_primal(obj)).certificate.primal_objective
    assert clf.result_.certificate.primal_objective == pytest.approx(expected, rel=1e-6)
    assert clf.result_.certificate.is_optimal(1e-9)
    np.testing.assert_allclose(clf.decision_function(X), clf.result_.variables["f"], atol=1e-9)


def test_every_labelled_sample_is_a_landmark_however_few_are_asked_for(moons):
    X, _, y = moons
    n_labeled = sm.encode_labels(y).n_labeled
    few, all_labelled = (sm.LapSVM(functions=Landmarks(m), **OPTIONS).fit(X, y) for m in (2, n_labeled))
    assert few.dual_coef_.shape == (1, n_labeled)
    np.testing.assert_array_equal(few.decision_function(X), all_labelled.decision_function(X))


@losses
def test_eigenvectors_are_ridge_like_regression_with_their_eigenvalues(moons, loss):
    """In the basis sqrt(n/q) U the penalty is diagonal: gamma_A + gamma_I n/q lambda^p, by CVXPY."""
    import cvxpy as cp

    X, _, y = moons
    clf = sm.LapSVM(loss=loss, functions=Eigenvectors(20), **{**OPTIONS, "laplacian": 2}).fit(X, y)
    labels = sm.encode_labels(y)
    s = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=6), q=20, normalized=True)
    scale = len(X) / 19  # the first is the intercept's
    a, b = cp.Variable(19), cp.Variable()
    t = cp.multiply(labels.sign, np.sqrt(scale) * s.eigenvectors[labels.labeled, 1:] @ a + b)
    penalty = cp.sum(cp.multiply(1e-2 + scale * s.eigenvalues[1:] ** 2, cp.square(a)))
    value, factor = {
        "hinge": (cp.sum(cp.pos(1 - t)), 1.0),
        "squared_hinge": (cp.sum_squares(cp.pos(1 - t)), 0.5),
        "squared": (cp.sum_squares(1 - t), 1.0),
    }[loss]
    problem = cp.Problem(cp.Minimize(factor * (value + penalty)))
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    assert clf.result_.certificate.primal_objective == pytest.approx(problem.value, rel=1e-6)
    assert clf.result_.certificate.is_optimal(1e-9)
    # A training sample is its own nearest neighbour: it gets its own score.
    np.testing.assert_allclose(clf.decision_function(X), clf.result_.variables["f"], atol=1e-9)


def test_several_classes_of_fewer_functions(blobs):
    X, y_true, y = blobs
    for functions in (Landmarks(40), Eigenvectors(40)):
        clf = sm.LapSVM(class_balance="zscore", unlabeled="?", kernel=RBF(0.5), functions=functions).fit(X, y)
        assert (clf.transduction_ == y_true).mean() > 0.85
        assert (clf.predict(X + 1e-3) == clf.transduction_).mean() > 0.95
        f = np.column_stack([result.variables["f"] for result in clf.result_])
        np.testing.assert_allclose(clf.decision_function(X), (f - f.mean(axis=0)) / f.std(axis=0), atol=1e-6)


def test_the_size_decides(moons, monkeypatch):
    X, _, y = moons
    monkeypatch.setattr(manifold, "_FULL_SAMPLES", len(X) - 1)
    assert isinstance(sm.LapSVM().fit(X, y)._functions, EigenvectorFunctions)
    assert isinstance(sm.LapSVM(gamma_I=0.0).fit(X, y)._functions, LandmarkFunctions)
    monkeypatch.setattr(manifold, "_FULL_SAMPLES", len(X))
    assert isinstance(sm.LapSVM().fit(X, y)._functions, KernelFunctions)


def test_what_does_not_fit_is_refused_before_it_is_computed(moons, monkeypatch):
    X, _, y = moons
    monkeypatch.setattr(feature_maps, "_STORED", 100)
    monkeypatch.setattr(arrays, "available_memory", lambda: 1e5)
    with monkeypatch.context() as computed:
        for name in ("truncated_kernel", "feature_map"):
            computed.setattr(feature_maps, name, lambda *a, **k: pytest.fail("computed"))
        computed.setattr("specmargin.estimators._base.semi_supervised.built", lambda *a: pytest.fail("a graph"))
        kernel = r"stored kernel of 120 samples.*0\.0 GB are free; take functions=Eigenvectors\(\d+\), or Landmarks"
        for functions in ("auto", "kernel"):
            with pytest.raises(MemoryError, match=kernel + r"\(\d+\); a kernel of \d+ samples fits"):
                sm.LapSVM(functions=functions).fit(X, y)
        with pytest.raises(MemoryError, match=r"landmarks for 120 samples.*take fewer: Landmarks\(\d+\)"):
            sm.LapSVM(functions=Landmarks()).fit(X, y)
        monkeypatch.setattr(arrays, "available_memory", lambda: 100.0)
        with pytest.raises(MemoryError, match="take fewer samples; a kernel of 2 samples fits"):
            sm.LapSVM().fit(X, y)
    monkeypatch.setattr(arrays, "available_memory", lambda: None)
    sm.LapSVM().fit(X, y)


def test_what_there_is_room_for_fits(monkeypatch):
    """The numbers of the refusal are those of a fit that is not refused."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 12)), np.where(np.arange(150) < 20, np.arange(150) % 2, -1)
    monkeypatch.setattr(feature_maps, "_STORED", 20)
    monkeypatch.setattr(arrays, "available_memory", lambda: 1.5e5)
    with pytest.raises(MemoryError) as refused:
        sm.LapSVM().fit(X, y)
    m, n = map(int, re.search(r"Landmarks\((\d+)\); a kernel of (\d+)", str(refused.value)).groups())
    sm.LapSVM(functions=Landmarks(m)).fit(X, y)
    sm.LapSVM().fit(X[:n], y[:n])
    with pytest.raises(MemoryError):
        sm.LapSVM().fit(X[: n + 5], y[: n + 5])


def test_a_kernel_of_low_rank_is_looked_for_where_there_is_room_for_its_factor(monkeypatch):
    X, y_true = sm.datasets.make_two_moons(n_samples=2500, noise=0.1, random_state=0)
    y = np.where(np.arange(2500) < 40, y_true, -1)
    monkeypatch.setattr(arrays, "available_memory", lambda: 3e7)  # of a stored one, 100 MB
    clf = sm.LapSVM(functions="kernel", kernel=RBF(1.0)).fit(X, y)
    assert isinstance(next(clf._objectives()).K, LowRankKernel)


@pytest.mark.parametrize("name", ["LapSVM", "LapRLS", "LapRLSRegressor"])
def test_the_labels_choose_among_functions_of_many_samples(name, monkeypatch):
    """Against fits with each of them: the one that is taken loses less, is told, and is taken again."""
    rng = np.random.default_rng(1)
    monkeypatch.setattr(manifold, "STORED_SAMPLES", 200)
    monkeypatch.setattr(manifold, "is_of_low_rank", lambda *a: False)
    taken = set()
    for on_graph in (True, False):
        truth = rng.integers(2, size=300)
        X = rng.normal(size=(300, 5)) + 2.0 * truth[:, None] * (np.arange(5) < 1)
        near = truth if on_graph else rng.integers(2, size=300)  # the graph tells all, or nothing
        W = sm.graphs.knn_graph(near[:, None] * 9.0 + 0.1 * rng.normal(size=(300, 2)), n_neighbors=8)
        y = np.where(np.arange(300) < 60, truth, np.nan if "Regressor" in name else -1)
        weights = {"gamma_I": "100 gamma_A"}  # which does not leave the graph out
        fits = {
            type(functions): getattr(sm, name)(functions=functions, **weights).fit(X, y, W)
            for functions in (Eigenvectors(), Landmarks(1000))
        }
        clf = getattr(sm, name)(**weights).fit(X, y, W)
        kind = Eigenvectors if isinstance(clf._functions, EigenvectorFunctions) else Landmarks
        taken.add(kind)
        np.testing.assert_array_equal(clf.dual_coef_, fits[kind].dual_coef_)
        result = clf.result_[0] if isinstance(clf.result_, tuple) else clf.result_
        assert f"over {clf.dual_coef_.shape[1] if kind is Landmarks else 199}" in str(result)
        assert ("landmarks" in str(result)) == (kind is Landmarks)
        unlabeled = np.arange(300) >= 60
        errors = {one: np.mean((fit.transduction_ > 0.5)[unlabeled] != truth[unlabeled]) for one, fit in fits.items()}
        assert errors[kind] <= min(errors.values()) + 0.02
    assert taken == {Eigenvectors, Landmarks}


@pytest.mark.parametrize("gamma_A", [1e-3, "auto", 10.0])
def test_what_the_labels_lose_is_what_refits_without_each_of_them_lose(moons, monkeypatch, gamma_A):
    X, y_true, _ = moons
    y = np.where(np.arange(120) % 6 == 0, y_true + 0.1 * X[:, 0], np.nan)
    monkeypatch.setattr(manifold, "STORED_SAMPLES", 60)
    monkeypatch.setattr(manifold, "is_of_low_rank", lambda *a: False)
    lost, own = [], manifold.ManifoldModel._losses
    monkeypatch.setattr(manifold.ManifoldModel, "_losses", lambda *a, **k: lost.append(own(*a, **k)) or lost[-1])
    sm.LapRLSRegressor(gamma_A=gamma_A, gamma_I="100 gamma_A").fit(X, y)
    fits = [
        sm.LapRLSRegressor(gamma_A=gamma_A, gamma_I="100 gamma_A", functions=f)
        for f in (Eigenvectors(), Landmarks(1000))
    ]
    left_out = [fit.fit(X, y).leave_one_out_ for fit in fits]
    known = np.isfinite(y)
    expected = [np.mean((np.ravel(one) - y[known]) ** 2) for one in left_out]
    ratio = np.exp(2.0 * (lost[0] - lost[1]) / known.sum())
    assert ratio == pytest.approx(expected[0] / expected[1], rel=1e-6)


def test_the_memory_of_this_computer_is_known_or_unknown():
    free = arrays.available_memory()
    assert free is None or 1e6 < free < 1e15


def test_bad_input_is_named(moons):
    X, _, y = moons
    K = sm.kernels.gram(X)
    W = sm.graphs.knn_graph(X, n_neighbors=5)
    with pytest.raises(ValueError, match="kernel='precomputed' holds none"):
        sm.LapSVM(kernel="precomputed", functions=Landmarks()).fit(K, y, graph=W)
    with pytest.raises(ValueError, match="which gamma_I=0 leaves out"):
        sm.LapSVM(gamma_I=0.0, functions=Eigenvectors()).fit(X, y)


@pytest.mark.parametrize("solver", ["newton", "pcg"])
def test_solvers_in_the_primal_end_at_the_same_classifier(moons, blobs, solver):
    for (X, y), marker in (((moons[0], moons[2]), -1), ((blobs[0], blobs[2]), "?")):
        kwargs = {"kernel": RBF(1.0), "gamma_A": 0.1, "loss": "squared_hinge", "unlabeled": marker}
        exact = sm.LapSVM(**kwargs).fit(X, y)
        clf = sm.LapSVM(**kwargs, solver=solver).fit(X, y)
        np.testing.assert_allclose(clf.decision_function(X), exact.decision_function(X), atol=1e-4)
        results = clf.result_ if isinstance(clf.result_, tuple) else (clf.result_,)
        assert all(result.certificate.is_optimal(1e-6) and result.solver.startswith(solver) for result in results)


def test_an_early_stop_is_asked_for_by_its_name(moons):
    X, _, y = moons
    kwargs = {"kernel": RBF(1.0), "gamma_A": 1e-4, "loss": "squared_hinge"}
    clf = sm.LapSVM(solver=Solver("pcg", options={"stopping": "safe"}), **kwargs).fit(X, y)
    assert clf.result_.status is sm.Status.EARLY_STOPPED
    with pytest.raises(ValueError, match=r"takes it: solvers\.factorized"):
        sm.LapSVM(solver="pcg").fit(X, y)
