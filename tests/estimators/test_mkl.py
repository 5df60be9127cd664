"""`MKL` over kernels of one's own: optima of SimpleMKL's problem, precomputed blocks, and what is refused."""

import pickle

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.kernels import RBF, gram


def sample(n_classes=2, n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 4))
    X[:, 0] += y
    X[:, 1] -= (y == 1) * 0.7
    return X, y


def grams(X):
    given = [gram(X, gamma=0.3), gram(X, gamma=2.0), X[:, :2] @ X[:, :2].T, X[:, 2:] @ X[:, 2:].T]
    return [K / np.diagonal(K).mean() for K in given]


KERNELS = {"wide": RBF(0.3), "narrow": RBF(2.0), "first": ("linear", [0, 1]), "last": ("linear", [2, 3])}


def simple_mkl(Ks, y, C, order=False):
    """The dual of SimpleMKL's problem, eq. 12 there: one quadratic per kernel, no feature map, no cone of the package.

    With an order the extreme weights are the means of the first r kernels.
    """
    if order:
        Ks = [np.mean(Ks[: r + 1], axis=0) for r in range(len(Ks))]
    sign = np.where(y == 1, 1.0, -1.0)
    a, t = cp.Variable(len(y)), cp.Variable()
    rows = []
    for K in Ks:
        w, V = np.linalg.eigh(K)
        F = V * np.sqrt(np.maximum(w, 0.0))
        rows.append(cp.sum_squares(F.T @ cp.multiply(sign, a)) / 2 <= t)
    problem = cp.Problem(cp.Maximize(cp.sum(a) - t), [a >= 0, a <= C, sign @ a == 0, *rows])
    return problem.solve("CLARABEL")


def between(clf, Ks, y, C, order):
    """Return both objectives of that problem at the answer, by its formulas alone: the optimum lies between them."""
    gamma, delta, f = (clf.result_.variables[name] for name in ("gamma", "delta", "f"))
    sign = np.where(y == 1, 1.0, -1.0)
    a = np.clip(sign * gamma.ravel(), 0.0, C)
    assert abs(sign @ a) < 1e-9
    extreme = [np.mean(Ks[: r + 1], axis=0) for r in range(len(Ks))] if order else Ks
    dual = a.sum() - max(gamma.ravel() @ K @ gamma.ravel() for K in extreme) / 2
    norm = sum(weight * (gamma.ravel() @ K @ gamma.ravel()) for weight, K in zip(delta, Ks, strict=True))
    return dual, norm / 2 + C * np.maximum(0.0, 1.0 - sign * f.ravel()).sum()


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_optima_are_those_of_simple_mkl(C, order):
    X, y = sample()
    clf = sm.MKL(kernels=KERNELS, C=C, order=order, class_balance=None).fit(X, y)
    value, (dual, primal) = clf.result_.certificate.primal_objective, between(clf, grams(X), y, C, order)
    assert value == pytest.approx(primal, rel=1e-8)
    assert value == pytest.approx(dual, rel=1e-8)
    assert value == pytest.approx(simple_mkl(grams(X), y, C, order), rel=1e-6)
    assert clf.result_.certificate.relative_gap < 1e-8
    assert clf.kernel_names_ == list(KERNELS)
    assert clf.kernel_weights_.sum() == pytest.approx(1.0)
    if order:
        assert (np.diff(clf.kernel_weights_) <= 1e-12).all()
    np.testing.assert_allclose(clf.scores_, clf.result_.variables["f"], atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_precomputed_matrices_and_blocks_decide_as_kernels_do(n_classes):
    X, y = sample(n_classes, n=60)
    seen = np.where(np.arange(45) % 3 > 0, y[:45], -1)
    own = sm.MKL(kernels=KERNELS).fit(X[:45], seen)
    Ks = grams(X)
    given = sm.MKL(kernels="precomputed").fit([K[:45, :45] for K in Ks], seen)
    np.testing.assert_allclose(given.kernel_weights_, own.kernel_weights_, atol=1e-7)
    blocks = [K[45:, :45] for K in Ks]
    np.testing.assert_allclose(given.decision_function(blocks), own.decision_function(X[45:]), atol=1e-6)
    np.testing.assert_array_equal(given.predict(np.hstack(blocks)), given.predict(blocks))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(own)).predict(X[45:]), own.predict(X[45:]))
    assert own.score(X[45:], y[45:]) > 0.4


def test_several_classes_share_their_weights():
    X, y = sample(3)
    clf = sm.MKL(kernels=KERNELS).fit(X, y)
    assert clf.kernel_weights_.shape == (4,)
    assert clf.scores_.shape == (40, 3)
    assert clf.result_.certificate.relative_gap < 1e-8
    for k, scores in enumerate((clf.decision_function(X)).T):
        np.testing.assert_allclose(scores, clf.scores_[:, k], atol=1e-9)


def test_copies_and_one_kernel_have_the_value_of_that_kernel():
    X, y = sample()
    alone, twice = sm.MKL(kernels=["rbf"]).fit(X, y), sm.MKL(kernels=["rbf", "rbf"]).fit(X, y)
    assert alone.kernel_weights_.tolist() == [1.0]
    one, two = (clf.result_.certificate.primal_objective for clf in (alone, twice))
    assert one == pytest.approx(two, rel=1e-8)
    np.testing.assert_allclose(alone.scores_, twice.scores_, atol=1e-5)


def test_a_search_weighs_kernels_and_files_keep_them(tmp_path):
    X, y = sample(n=60)
    seen = np.where(np.arange(60) % 3 > 0, y, -1)
    search = sm.LabelSearch(sm.MKL(kernels=KERNELS), grid={"C": [0.1, 10.0]}).fit(X, seen)
    assert search.best_estimator_.kernel_weights_.shape == (4,)
    sm.save(search.best_estimator_, tmp_path / "mkl.npz")
    np.testing.assert_array_equal(sm.load(tmp_path / "mkl.npz").predict(X), search.best_estimator_.predict(X))


def test_a_refit_over_a_spectrum_leaves_the_kernels():
    X, y = sample()
    clf = sm.MKL(kernels=KERNELS).fit(X, y)
    clf.set_params(kernels=None).fit(X, y)
    assert clf.predict(X).shape == (40,)
    assert not hasattr(clf, "kernel_weights_")
    clf.set_params(kernels=KERNELS).fit(X, y)
    assert not hasattr(clf, "delta_")
    assert not hasattr(clf, "spectrum_")


X40, Y40 = sample()


@pytest.mark.parametrize(
    ("kernels", "X", "message"),
    [
        ([], X40, "holds no kernel"),
        (["rfb"], X40, "kernels\\[0\\]='rfb' is unknown"),
        ([("linear", 0, 1)], X40, "a pair"),
        ([("linear", [9])], X40, "not among the 4"),
        ([("linear", slice(4, 9))], X40, "leave none"),
        (["rbf", ("linear", [3])], np.column_stack([X40[:, :3], np.zeros(40)]), "is zero at the labelled"),
        ("precomputed", [np.eye(40), np.eye(39)], "none of the same samples"),
        ("precomputed", [np.eye(40), np.diag(np.r_[-1.0, np.ones(39)])], "kernel '1'"),
        ("precomputed", [np.eye(40), np.triu(np.ones((40, 40)))], "kernel '1'"),
        ("precomputed", np.eye(40)[:, :39], "39 columns"),
    ],
)
def test_kernels_that_are_none_are_named(kernels, X, message):
    with pytest.raises(InvalidInputError, match=message):
        sm.MKL(kernels=kernels).fit(X, Y40)


def test_what_kernels_leave_no_place_for_is_refused():
    with pytest.raises(InvalidTypeError, match="no list of kernels"):
        sm.MKL(kernels=RBF(1.0)).fit(X40, Y40)
    with pytest.raises(InvalidInputError, match="no place for graph"):
        sm.MKL(kernels=KERNELS).fit(X40, Y40, graph=np.ones((40, 40)) - np.eye(40))
    with pytest.raises(InvalidInputError, match="take STOAM"):
        sm.MKL(order=True).fit(X40, Y40)
    with pytest.raises(InvalidInputError, match="leave graph out"):
        sm.MKL(kernels=KERNELS).fit(X40, Y40).predict(None, graph=np.ones((41, 41)))
