"""LapSVM and LapRLS with weights in units of the data, as numbers, and as papers report them."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from sklearn.base import clone

import specmargin as sm
from specmargin.exceptions import SingleClassWarning
from specmargin.graphs import Laplacian
from specmargin.kernels import RBF, Landmarks, Linear, Polynomial
from specmargin.spectra import Eigenvectors

both = pytest.mark.parametrize("cls", [sm.LapSVM, sm.LapRLS])
CLASSIC = {"gamma_A": 0.02, "gamma_I": 0.5, "graph": 6, "laplacian": 1, "class_balance": None}


def literal(X, y, K, ratio="auto", power=2, k=10, centred=True):
    """Return gamma_A and gamma_I from the formula, by dense matrices; D - W where the ratio is in its units."""
    n, labeled = len(X), np.flatnonzero(y != -1)
    W = sm.graphs.knn_graph(X, n_neighbors=k).toarray()
    root = np.sqrt(W.sum(axis=1))
    L = np.diag(root**2) - W if ratio == "auto" else np.eye(n) - W / np.outer(root, root)
    L = np.linalg.matrix_power(L, power)
    if ratio == "auto":
        ratio = 1e4 * np.trace(K) ** 2 / (K**2).sum() / np.trace(L @ K)
    else:
        ratio = ratio / np.trace(K) * n
    G = (K @ np.linalg.solve(np.eye(n) + ratio * L @ K, np.eye(n)))[np.ix_(labeled, labeled)]
    H = np.eye(len(labeled)) - centred / len(labeled)
    gamma_A = 0.1 * np.trace(H @ G @ H) / len(labeled)
    return gamma_A, ratio * gamma_A


def with_graph(X, y):
    """Return LapRLS with the usual ratio, whatever the labels say of the graph."""
    K = sm.kernels.gram(X, gamma="local")
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, 10), normalized=False, power=2)
    return sm.LapRLS(
        laplacian=Laplacian(power=2, normalized=False),
        gamma_I=f"{sm.objectives.manifold_weights.usual_ratio(K, L)} gamma_A",
    ).fit(X, y)


@both
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_defaults_are_the_formula(moons, cls, fit_intercept):
    X, _, y = moons
    kernels = {RBF(2.0): sm.kernels.gram(X, gamma=2.0), Polynomial(3, 2.0): (2.0 * X @ X.T + 1) ** 3}
    for kernel, K in kernels.items():
        clf = cls(kernel=kernel, fit_intercept=fit_intercept).fit(X, y)
        expected = literal(X, y, K, "auto" if fit_intercept else 100.0, centred=fit_intercept)
        assert (clf.gamma_A_, clf.gamma_I_) == pytest.approx(expected, rel=1e-6)
        assert clf.laplacian_ == Laplacian(2, not fit_intercept)
        assert clf.result_.certificate.is_optimal(1e-6)
        alone = cls(kernel=kernel, fit_intercept=fit_intercept, gamma_I=0.0).fit(X, y)
        assert alone.gamma_A_ == pytest.approx(literal(X, y, K, 0.0, centred=fit_intercept)[0], rel=1e-9)
        assert alone.gamma_I_ == 0.0
    other = cls(kernel=RBF(2.0), gamma_I="7 gamma_A", laplacian=Laplacian(1, "auto"), graph=5).fit(X, y)
    expected = literal(X, y, kernels[RBF(2.0)], 7.0, power=1, k=5)
    assert (other.gamma_A_, other.gamma_I_) == pytest.approx(expected, rel=1e-9)
    assert other.laplacian_ == Laplacian()


@both
def test_the_kind_of_laplacian_is_that_of_the_weights_unless_it_is_named(moons, cls):
    X, _, y = moons
    assert cls(gamma_A=0.1).fit(X, y).laplacian_ == Laplacian(2, False)
    assert cls(gamma_I=0.1).fit(X, y).laplacian_ == Laplacian(2, True)
    assert cls(functions="eigenvectors").fit(X, y).laplacian_ == Laplacian(2, True)
    for named in (Laplacian(2, True), Laplacian(2, False)):
        for params in ({}, {"gamma_I": 0.1}, {"functions": "eigenvectors"}):
            assert cls(laplacian=named, **params).fit(X, y).laplacian_ == named


@both
def test_the_weights_in_use_given_as_numbers_make_the_same_classifier(moons, blobs, cls):
    for X, y, marker in ((moons[0], moons[2], -1), (blobs[0], blobs[2], "?")):
        for functions in ("kernel", Eigenvectors(30)):
            own = {"kernel": RBF(1.0), "unlabeled": marker, "functions": functions}
            first = cls(**own).fit(X, y)
            numbers = {"gamma_A": first.gamma_A_, "gamma_I": first.gamma_I_}
            for given in (numbers, {"gamma_A": first.gamma_A_}):
                again = cls(**own, **given, laplacian=first.laplacian_).fit(X, y)
                np.testing.assert_allclose(again.scores_, first.scores_, rtol=0, atol=1e-8)
                assert (again.gamma_A_, again.gamma_I_) == pytest.approx((first.gamma_A_, first.gamma_I_), rel=1e-12)


@both
def test_numbers_mean_what_they_mean_to_the_last_bit(moons, cls):
    X, _, y = moons
    loss = "squared" if cls is sm.LapRLS else "hinge"
    K, L = sm.kernels.gram(X, gamma=2.0), sm.graphs.laplacian(sm.graphs.knn_graph(X, 6))
    for gamma_I in (0.5, 0.0):
        clf = cls(kernel=RBF(2.0), **{**CLASSIC, "gamma_I": gamma_I}).fit(X, y)
        problem = sm.objectives.LapSVM(K, L if gamma_I else None, sm.encode_labels(y), loss, 0.02, gamma_I)
        result = sm.solvers.factorized(problem, tol=1e-6)
        np.testing.assert_array_equal(clf.dual_coef_[0], result.variables["alpha"])
        np.testing.assert_array_equal(clf.scores_, result.variables["f"])
        assert (clf.gamma_A_, clf.gamma_I_) == (0.02, gamma_I)


@both
@pytest.mark.parametrize("scale", [1e-30, 1e8])
def test_the_scale_of_the_kernel_does_not_matter(moons, cls, scale):
    X, _, y = moons
    K, W = sm.kernels.gram(X, gamma=2.0), sm.graphs.knn_graph(X, 8)
    hundred = {"gamma_I": "100 gamma_A"}
    for params in (hundred, {}, {"gamma_I": 0.0}, {**hundred, "fit_intercept": False}):
        plain = cls(kernel="precomputed", **params).fit(K, y, graph=W)
        scaled = cls(kernel="precomputed", **params).fit(scale * K, y, graph=W)
        np.testing.assert_allclose(scaled.scores_, plain.scores_, rtol=0, atol=1e-10)
        assert scaled.gamma_A_ == pytest.approx(scale * plain.gamma_A_, rel=1e-10)
        # The larger ratio of the default costs digits: the kernel that it deforms is that much worse conditioned.
        assert scaled.result_.certificate.is_optimal(1e-9 if params else 1e-7)


@both
def test_the_scale_and_the_place_of_the_features_do_not_matter(moons, cls):
    X, _, y = moons
    plain = cls().fit(X, y)
    for scaled in (1e-8 * X, 1e8 * X, X + 1e3):
        np.testing.assert_allclose(cls().fit(scaled, y).scores_, plain.scores_, rtol=0, atol=1e-6)


def test_the_search_takes_the_same_words_and_gives_the_same_classifier(moons):
    X, _, y = moons
    one = {"gamma_A": ["auto"], "gamma_I": ["100 gamma_A"], "graph": [10], "laplacian": [2]}
    for kernel in (RBF("median"), Linear()):
        given = {"kernel": kernel, "gamma_I": "100 gamma_A"}
        expected = sm.LapRLS(**given).fit(X, y)
        search = sm.LabelSearch(sm.LapRLS(), grid={"kernel": [kernel], **one}).fit(X, y)
        np.testing.assert_allclose(search.scores_, expected.scores_, rtol=0, atol=1e-8)
        assert (search.gamma_A_, search.gamma_I_) == pytest.approx((expected.gamma_A_, expected.gamma_I_), rel=1e-10)
        svm = sm.LabelSearch(sm.LapSVM(loss="hinge"), {"kernel": [kernel], **one}).fit(X, y)
        np.testing.assert_allclose(svm.scores_, sm.LapSVM(**given).fit(X, y).scores_, rtol=0, atol=1e-6)
    mixed = sm.LabelSearch(sm.LapRLS(), grid={**one, "kernel": [RBF("median")], "gamma_A": ["auto", 0.5]}).fit(X, y)
    assert mixed.cv_results_["param_gamma_A"].tolist() == [mixed.cv_results_["param_gamma_A"][0], 0.5]
    again = sm.LapRLS(**mixed.best_params_).fit(X, y)
    np.testing.assert_array_equal(again.scores_, mixed.scores_)
    with pytest.raises(ValueError, match=r"=\[1.0\] holds numbers, which need numbers for gamma_A in the grid"):
        sm.LabelSearch(sm.LapRLS(), grid={"gamma_A": ["auto"], "gamma_I": [1.0]}).fit(X, y)


def test_every_solver_and_span_takes_them(moons):
    X, _, y = moons
    expected = sm.LapSVM(loss="squared_hinge", kernel=RBF(2.0)).fit(X, y)
    for solver in ("newton", "pcg", "dual"):
        clf = sm.LapSVM(loss="squared_hinge", kernel=RBF(2.0), solver=solver).fit(X, y)
        assert clf.gamma_A_ == expected.gamma_A_
        np.testing.assert_array_equal(clf.transduction_, expected.transduction_)
    for span in ("landmarks", "eigenvectors"):
        clf = sm.LapSVM(kernel=RBF(2.0), functions=span).fit(X, y)
        assert 0.2 < clf.gamma_A_ / expected.gamma_A_ < 5
        assert clf.result_.certificate.is_optimal(1e-6)
    assert sm.LapSVM(gamma_I=0.0, kernel=RBF(2.0), functions=Landmarks(60)).fit(X, y).gamma_I_ == 0.0


def test_no_ratio_no_graph(moons):
    X, _, y = moons
    K = sm.kernels.gram(X, gamma=2.0)
    clf = sm.LapSVM(kernel="precomputed", gamma_I="0.0 gamma_A").fit(K, y)
    assert clf.gamma_I_ == 0.0
    np.testing.assert_array_equal(clf.scores_, sm.LapSVM(gamma_I=0.0, kernel="precomputed").fit(K, y).scores_)
    with pytest.raises(ValueError, match="leaves no features to build a graph"):
        sm.LapSVM(kernel="precomputed").fit(K, y)


def test_fewer_than_eleven_samples_have_fewer_neighbours():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = sm.LapSVM().fit(X, [0, -1, -1, -1, -1, 1])
    assert clf.transduction_.tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="n_neighbors=10"):
        sm.LapSVM(graph=10).fit(X, [0, -1, -1, -1, -1, 1])


def test_equal_labelled_samples_have_a_weight_all_the_same():
    X = np.array([[0.0, 0.0]] * 2 + [[1.0, 1.0], [1.0, 2.0], [2.0, 0.0]])
    with pytest.warns(SingleClassWarning):
        clf = sm.LapRLS(gamma_I=0.0, kernel=RBF(1.0)).fit(X, [0, 1, -1, -1, -1])
    assert clf.gamma_A_ == pytest.approx(0.1)
    assert np.isfinite(clf.scores_).all()


@both
def test_weights_of_papers(moons, cls):
    X, _, y = moons
    clf = cls.from_published(
        gamma_A=0.005,
        gamma_I=0.045,
        l=8,
        u=112,
        form="means",
        laplacian=1,
        graph=6,
        kernel=RBF(2.0),
        class_balance=None,
    )
    assert type(clf) is cls
    assert (clf.gamma_A, clf.gamma_I) == pytest.approx((8 * 0.005, 8 * 0.045 / 120**2))
    assert clf.graph == 6
    clone(clf).fit(X, y)
    same = cls.from_published(gamma_A=0.005, gamma_I=0.045, l=8, u=112, form="sums")
    assert (same.gamma_A, same.gamma_I) == (0.005, 0.045)
    with pytest.raises(ValueError, match="form='mean' is unknown; take one of means, sums"):
        cls.from_published(gamma_A=0.005, gamma_I=0.045, l=8, u=112, form="mean")


# Whether the labels leave the graph out


def by_refits(X, y, **weights):
    """Return the sum of the log-losses of calibrated probabilities at left-out labels, each from a fit without it."""
    labels = sm.encode_labels(y)
    f = np.empty(labels.n_labeled)
    for k, i in enumerate(labels.labeled):
        without = y.copy()
        without[i] = -1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f[k] = sm.LapRLS(class_balance=None, **weights).fit(X, without).scores_[i]
    m = np.abs(f).mean()

    def loss(t):
        T = np.exp(t) / m
        return np.logaddexp(0, -T * labels.sign * f).sum() + 2 * np.logaddexp(0, -T * m) + T * m

    T = np.exp(minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-9}).x) / m
    return np.logaddexp(0, -T * labels.sign * f).sum()


def test_the_graph_is_left_out_where_the_labels_speak_against_it():
    rng, chosen = np.random.default_rng(0), []
    for seed in range(6):
        X = rng.standard_normal((80, 6 + seed))
        X[:, 0] += (seed % 3) * np.sign(X[:, 0])  # from one cluster to two
        y = sm.hide_labels((X[:, 0] > 0).astype(int), n_labeled=24, random_state=seed)
        graph = with_graph(X, y)
        local = RBF("local")
        alone, auto = (sm.LapRLS(gamma_I=gamma_I, kernel=local).fit(X, y) for gamma_I in ("0 gamma_A", "auto"))
        weights = [{"gamma_A": one.gamma_A_, "gamma_I": one.gamma_I_} for one in (graph, alone)]
        losses = [by_refits(X, y, laplacian=Laplacian(2, False), **each) for each in weights]
        assert abs(losses[0] - losses[1] - 1.0) > 1e-3
        expected = alone if losses[0] - losses[1] > 1.0 else graph
        assert (auto.gamma_A_, auto.gamma_I_) == pytest.approx((expected.gamma_A_, expected.gamma_I_), rel=1e-12)
        np.testing.assert_allclose(auto.scores_, expected.scores_, atol=1e-10)
        assert sm.LapSVM(kernel=local).fit(X, y).gamma_I_ == auto.gamma_I_  # of any loss least squares decide
        chosen.append(auto.gamma_I_ == 0)
    assert 0 < sum(chosen) < 6


def test_labels_choose_graph_width_and_weight_by_refits_without_each_of_them():
    rng, chosen = np.random.default_rng(1), set()
    for seed in range(6):
        X = rng.standard_normal((70, 4)) * (1.0 if seed % 2 else [0.05, 1.0, 1.0, 1.0])
        X[:, 0] += (seed % 3) * 0.5 * np.sign(X[:, 0])
        y = sm.hide_labels((X[:, 0] > 0).astype(int), n_labeled=20, random_state=seed)
        graph = sm.LapRLS(gamma_I="auto", kernel=RBF("local")).fit(X, y)
        tried = []
        for kernel, ratio in ((RBF("local"), "auto"), (RBF("local"), 0.0), (RBF("4 median"), 0.0)):
            one = with_graph(X, y) if ratio == "auto" else sm.LapRLS(kernel=kernel, gamma_I=0.0).fit(X, y)
            for size in (0.1, 1.0, 10.0):
                weights = {"gamma_A": size * one.gamma_A_, "gamma_I": size * one.gamma_I_, "kernel": one.kernel_}
                loss = by_refits(X, y, laplacian=Laplacian(2, False), **weights) + (one.gamma_I_ == 0)
                tried.append((loss, *weights.values()))
        least = min(tried, key=lambda one: one[0])
        auto = sm.LapRLS().fit(X, y)
        assert (auto.gamma_A_, auto.gamma_I_) == pytest.approx(least[1:3], rel=1e-9)
        assert auto.kernel_.gamma == pytest.approx(least[3].gamma, rel=1e-12)
        svm = sm.LapSVM().fit(X, y)  # of any loss least squares decide
        assert svm.kernel_ == auto.kernel_
        assert (svm.gamma_A_, svm.gamma_I_) == pytest.approx((0.1 * auto.gamma_A_, 0.1 * auto.gamma_I_), rel=1e-12)
        assert sm.LapSVM(loss="squared_hinge").fit(X, y).gamma_A_ == pytest.approx(auto.gamma_A_, rel=1e-12)
        given = {"gamma_A": auto.gamma_A_, "gamma_I": auto.gamma_I_, "kernel": auto.kernel_}
        again = sm.LapRLS(**given, laplacian=auto.laplacian_).fit(X, y)
        np.testing.assert_allclose(auto.scores_, again.scores_, atol=1e-9)
        np.testing.assert_allclose(auto.decision_function(X), auto.scores_, atol=1e-8)
        auto.conformal_sets()
        assert auto.kernel_ == svm.kernel_  # what is asked of it afterwards changes nothing
        chosen.add((auto.kernel_ == graph.kernel_, auto.gamma_I_ > 0))
    assert len(chosen) > 1


def test_numbers_leave_the_graph_out_for_more_than_one_unit_of_log_likelihood():
    """Of normal errors whose deviation is that of the left-out ones: l / 2 times the log of the ratio of squares."""
    gains = []
    for seed in (2, 4, 5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((80, 4))
        X[:, 0] += np.sign(X[:, 0]) * (seed % 4)
        y = np.full(80, np.nan)
        y[:24] = (X[:, 0] + 0.5 * np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(80))[:24]
        graph, alone = (sm.LapRLSRegressor(gamma_I=f"{ratio} gamma_A").fit(X, y) for ratio in (100.0, 0.0))
        off = [y[:24] - one.leave_one_out_ for one in (graph, alone)]
        best = [norm.logpdf(each, scale=np.sqrt(np.mean(each**2))).sum() for each in off]
        gains.append(best[1] - best[0])
        assert (sm.LapRLSRegressor().fit(X, y).gamma_I_ == 0) == (gains[-1] > 1)
    assert gains[2] < 0.2 < gains[0] < 1 < gains[1] < 5


def test_two_numbers_keep_the_graph():
    x = np.random.default_rng(0).uniform(0, 6, (150, 1))
    z = np.where(np.arange(150) < 15, np.sin(x[:, 0]), np.nan)
    assert sm.LapRLSRegressor().fit(x, z).gamma_I_ > 0
    two = np.where(np.arange(150) < 2, z, np.nan)
    assert sm.LapRLSRegressor().fit(x, two).gamma_I_ > 0  # two numbers do not say how large errors are


@both
def test_labels_that_say_nothing_keep_the_graph(moons, cls):
    X, y_true, _ = moons
    one_each = sm.hide_labels(y_true, per_class=1, random_state=0)
    assert cls().fit(X, one_each).gamma_I_ > 0
    several = sm.hide_labels(np.arange(len(X)) % 3, per_class=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = cls(gamma_A=0.1).fit(X, several)
    assert clf.gamma_A_ == 0.1
    assert np.isfinite(clf.scores_).all()
    given = cls(gamma_I=0.3).fit(X, one_each)
    assert given.gamma_I_ == 0.3
