"""S3VM: thin over objective and search, alike in and out of sample, and careful with bad input."""

import warnings
from dataclasses import replace
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import specmargin as sm
from specmargin.arrays import available_memory
from specmargin.estimators._base.feature_maps import KernelFunctions
from specmargin.estimators.s3vm import S3VM, _votes
from specmargin.kernels import RBF, Cosine, Landmarks, Linear, Polynomial, PrincipalComponents
from specmargin.kernels.maps import deformed_kernel, kernel_map
from specmargin.losses import SymmetricRamp
from specmargin.results import Certificate, Status
from specmargin.solvers import Search, gradient, quasi_newton
from specmargin.spectra import Eigenvectors

LOCAL = {
    "continuation": (sm.solvers.continuation, "hinge", "exp"),
    "gradient": (gradient, "squared_hinge", "exp"),
    "quasi_newton": (quasi_newton, "smooth_hinge", "exp"),
    "multi_switch": (sm.solvers.multi_switch, "squared_hinge", "symmetric_squared_hinge"),
    "annealing": (sm.solvers.annealing, "squared_hinge", "symmetric_squared_hinge"),
    "cccp": (sm.solvers.cccp, "hinge", SymmetricRamp(s=-0.3)),
    "label_switching": (sm.solvers.label_switching, "hinge", "symmetric_hinge"),
}
"""The searches for a local minimum, and what each of them solves."""
PLAIN = {"kernel": RBF("scale"), "C": 1.0, "C_star": None, "balance": None}
"""As in the papers: one weight for all losses, the balance of the labels."""


def plain(search, **params):
    return S3VM(search=search, **{**PLAIN, **params})


all_searches = pytest.mark.parametrize("search", LOCAL)
two_searches = pytest.mark.parametrize("search", ["gradient", "label_switching"])
"""A descent and a search over labels, where what is tested is common to all."""


@pytest.fixture
def moons():
    """Two moons of 60 samples, true classes, and classes of which 4 per moon are known."""
    X, y_true = sm.datasets.make_two_moons(n_samples=60, noise=0.13, random_state=3)
    return X, y_true, sm.hide_labels(y_true, per_class=4, random_state=3)


@pytest.fixture
def text(rng):
    """Sparse features of two classes with words of their own: (X, y)."""
    n, d = 60, 40
    truth = np.arange(n) % 2
    rate = np.full((n, d), 0.05)
    rate[truth == 1, :10] = rate[truth == 0, 10:20] = 0.4
    X = sp.csr_array((rng.random((n, d)) < rate) * rng.random((n, d)))
    y = np.where(np.arange(n) < 6, truth, -1)
    return X, truth, y


# Each search is one call of its solver


@all_searches
def test_it_is_its_solver_on_its_objective(search, moons):
    X, _, y = moons
    solver, loss, unlabeled_loss = LOCAL[search]
    clf = plain(search, kernel=RBF(2.0), C=3.0, C_star=0.5, balance=0.1).fit(X, y)
    Z = kernel_map(sm.kernels.gram(X, gamma=2.0)).Z
    obj = sm.objectives.S3VM(Z, sm.encode_labels(y), loss, unlabeled_loss, C=3.0, C_star=0.5, balance=0.1)
    expected = solver(obj)
    assert clf.result_.solver == expected.solver
    assert clf.result_.status in (Status.STATIONARY, Status.MAX_ITER)
    assert clf.result_.certificate.primal_objective == expected.certificate.primal_objective
    np.testing.assert_array_equal(clf.result_.variables["f"], expected.variables["f"])
    np.testing.assert_array_equal(clf.transduction_, (expected.variables["f"] > 0).astype(int))
    assert clf.n_iter_ == max(1, expected.n_iter)
    assert (clf.classes_.tolist(), clf.n_features_in_, clf.kernel_) == ([0, 1], 2, RBF(2.0))


# In and out of the sample


INPUTS = [
    {"kernel": RBF(2.0)},
    {"kernel": Linear()},
    {"kernel": RBF(2.0), "functions": Landmarks(30)},
    {"kernel": RBF(2.0), "functions": PrincipalComponents(20)},
    {"kernel": RBF(2.0), "gamma_I": 10.0},
    {"kernel": Linear(), "gamma_I": 10.0},
    {"kernel": Linear(), "gamma_I": 10.0, "functions": PrincipalComponents(1)},
    {"kernel": RBF(2.0), "functions": Landmarks(30), "gamma_I": 10.0},
    {"kernel": Polynomial(degree=2, gamma=1.0), "search": Search("gradient", intercept="regularized")},
    {"kernel": Cosine(), "search": Search("gradient", intercept="free")},
]


@pytest.mark.parametrize(
    "kwargs",
    [{"search": "gradient", **kwargs} for kwargs in INPUTS]
    + [{"search": search, **INPUTS[0]} for search in LOCAL if search != "gradient"],
    ids=lambda kwargs: "-".join(f"{name}={value}" for name, value in kwargs.items()),
)
def test_decisions_on_the_training_rows_are_those_of_training(kwargs, moons):
    X, _, y = moons
    clf = plain(C=2.0, **kwargs).fit(X, y)
    f = clf.result_.variables["f"]
    np.testing.assert_allclose(clf.decision_function(X), f, rtol=0, atol=1e-7 * np.abs(f).max())
    np.testing.assert_array_equal(clf.predict(X), clf.transduction_)
    # Near a training sample the decision is near its own: nothing is left over from the training rows.
    np.testing.assert_allclose(clf.decision_function(X + 1e-7), f, atol=1e-4 * np.abs(f).max())
    # By blocks, or one at a time.
    np.testing.assert_allclose(clf.decision_function(X[:1]), f[:1], rtol=0, atol=1e-7 * np.abs(f).max())


def test_the_expansions_are_what_they_say(moons):
    from sklearn.metrics.pairwise import rbf_kernel

    X, _, y = moons
    new = X[:9] + 0.05
    for kwargs in ({}, {"gamma_I": 5.0}, {"functions": PrincipalComponents(15)}):
        clf = plain("gradient", kernel=RBF(2.0), **kwargs).fit(X, y)
        expected = rbf_kernel(new, X, gamma=2.0) @ clf.dual_coef_[0] + clf.intercept_[0]
        np.testing.assert_allclose(clf.decision_function(new), expected, atol=1e-8)
        assert not hasattr(clf, "coef_")
    for kwargs in ({}, {"gamma_I": 5.0}, {"functions": PrincipalComponents(1)}):
        clf = plain("gradient", kernel="linear", **kwargs).fit(X, y)
        np.testing.assert_allclose(clf.decision_function(new), new @ clf.coef_[0] + clf.intercept_[0], atol=1e-10)
        assert not hasattr(clf, "dual_coef_")


@all_searches
def test_sparse_features_are_the_dense_ones(search, text):
    X, _, y = text
    sparse = plain(Search(search, tol=1e-9), kernel="linear", C=1.0, C_star=0.2, balance=0.0).fit(X, y)
    dense = clone(sparse).fit(X.toarray(), y)
    value = dense.result_.certificate.primal_objective
    assert sparse.result_.certificate.primal_objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_array_equal(sparse.transduction_, dense.transduction_)
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X.toarray()), atol=1e-3)
    np.testing.assert_allclose(sparse.decision_function(X), sparse.decision_function(X.toarray()), atol=1e-12)


def test_sparse_features_stay_sparse(monkeypatch, text):
    X, _, y = text
    seen = []

    def spy(obj, **kwargs):
        seen.append(obj.features)
        return quasi_newton(obj, **kwargs)

    monkeypatch.setattr("specmargin.solvers.s3vm.quasi_newton.quasi_newton", spy)
    plain("quasi_newton", kernel="linear").fit(X, y)
    assert seen[0].is_sparse
    assert seen[0].X.nnz == X.nnz


def test_a_precomputed_kernel_is_the_named_one(moons):
    (X, _, y), search = moons, "gradient"
    K = sm.kernels.gram(X, gamma=2.0)
    named, given = plain(search, kernel=RBF(2.0)).fit(X, y), plain(search, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(given.decision_function(K), named.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(given.dual_coef_, named.dual_coef_, rtol=1e-6, atol=1e-9)
    by_function = plain(search, kernel=partial(sm.kernels.gram, kernel=RBF(2.0))).fit(X, y)
    np.testing.assert_allclose(by_function.decision_function(X), named.decision_function(X), atol=1e-9)


def test_all_landmarks_and_all_components_are_the_kernel(moons):
    X, _, y = moons
    precise = Search("gradient", tol=1e-10)
    whole = plain(precise, kernel=RBF(2.0)).fit(X, y)
    for functions in (Landmarks(60), Landmarks(5000), PrincipalComponents(60), PrincipalComponents()):
        other = plain(precise, kernel=RBF(2.0), functions=functions).fit(X, y)
        np.testing.assert_allclose(other.decision_function(X), whole.decision_function(X), atol=1e-4)
    few = plain("gradient", kernel=RBF(2.0), functions=PrincipalComponents(5)).fit(X, y)
    assert few.result_.variables["w"].shape == (5,)
    landmarks = plain("gradient", kernel=RBF(2.0), functions=Landmarks(9)).fit(X, y)
    assert landmarks.dual_coef_.shape[1] <= 9


# The hybrid


def test_eigenvectors_are_functions_of_the_nodes_and_new_samples_get_means(moons):
    X, _, y = moons
    clf = plain("gradient", C=2.0, gamma_I=10.0, graph=7, functions=Eigenvectors(20)).fit(X, y)
    f = clf.result_.variables["f"]
    assert clf.dual_coef_.shape == (1, 60)
    np.testing.assert_allclose(clf.decision_function(X), f, rtol=0, atol=1e-9)
    np.testing.assert_allclose(clf.dual_coef_[0] + clf.intercept_[0], f, rtol=0, atol=1e-9)
    new = X[:9] + 0.05
    expected = sm.spectra.extend(f, sm.graphs.neighbor_weights(new, X, 7))
    np.testing.assert_allclose(clf.decision_function(new), expected, rtol=0, atol=1e-9)
    # They are functions of the lowest eigenvectors alone.
    U = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, 7), q=20, normalized=True).eigenvectors
    centred = f - clf.intercept_[0]
    np.testing.assert_allclose(U @ (U.T @ centred), centred, rtol=0, atol=1e-9)


@two_searches
def test_the_hybrid_is_the_classifier_on_the_deformed_kernel(search, moons):
    X, _, y = moons
    W = sm.graphs.knn_graph(X, n_neighbors=7)
    clf = plain(search, kernel=RBF(2.0), gamma_I=20.0, graph=7, laplacian=2).fit(X, y)
    deformed = deformed_kernel(sm.kernels.gram(X, gamma=2.0), sm.graphs.laplacian(W, power=2), 20.0)
    by_hand = plain(search, kernel="precomputed").fit(deformed.matrix, y)
    np.testing.assert_array_equal(clf.transduction_, by_hand.transduction_)
    assert clf.result_.certificate.primal_objective == pytest.approx(
        by_hand.result_.certificate.primal_objective, rel=1e-9
    )
    given = clone(clf).fit(X, y, graph=W)
    np.testing.assert_allclose(given.decision_function(X), clf.decision_function(X), atol=1e-9)
    block = sm.kernels.gram(X[:5] + 0.1, X, gamma=2.0)
    np.testing.assert_allclose(
        clf.decision_function(X[:5] + 0.1), by_hand.decision_function(deformed.rows(block)), rtol=1e-4, atol=1e-6
    )


@all_searches
def test_the_hybrid_solves_two_moons(search):
    X, truth = sm.datasets.make_two_moons(n_samples=200, noise=0.1, random_state=1)
    y = sm.hide_labels(truth, per_class=1, random_state=1)
    # Annealing wants small weights, see its notes.
    weights = {"C": 10.0, "C_star": 1.0} if search == "annealing" else {"C": 100.0}
    clf = plain(search, kernel=RBF(4.0), gamma_I=100.0, **weights).fit(X, y)
    assert (clf.transduction_ == truth).mean() >= 0.99
    new, new_truth = sm.datasets.make_two_moons(n_samples=300, noise=0.1, random_state=2)
    assert clf.score(new, new_truth) > 0.97
    without_graph = clone(clf).set_params(gamma_I=0.0, C_star=0.0).fit(X, y)
    assert (without_graph.transduction_ == truth).mean() < 0.9


def test_two_features_deform_alike_by_either_map(moons):
    """The linear hybrid works on d x d numbers where it can; on n x n of the Gram matrix it is the same classifier."""
    X, _, y = moons
    kwargs = {"gamma_I": 30.0, "C": 5.0}
    precise = Search("gradient", tol=1e-10)
    small = plain(precise, kernel="linear", **kwargs).fit(X, y)
    by_gram = plain(precise, kernel="linear", functions=PrincipalComponents(2), **kwargs).fit(X, y)
    sparse = plain(precise, kernel="linear", **kwargs).fit(sp.csr_array(X), y)
    for other in (by_gram, sparse):
        np.testing.assert_allclose(other.coef_, small.coef_, rtol=1e-4)
        np.testing.assert_allclose(other.intercept_, small.intercept_, atol=1e-4)


# Several classes


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@two_searches
def test_three_blobs(search, multi_class, blobs):
    X, truth, y = blobs
    clf = plain(search, multi_class=multi_class, kernel=RBF(0.3), C=1.0, C_star=0.1, unlabeled="?").fit(X, y)
    assert (clf.transduction_ == truth).mean() > 0.9
    np.testing.assert_array_equal(clf.predict(X), clf.transduction_)
    assert clf.decision_function(X).shape == (120, 3)
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert clf.dual_coef_.shape == (3, 120)
    assert len(clf.result_) == 3


def test_one_against_the_rest_is_as_many_binary_classifiers(blobs):
    X, _, y = blobs
    clf = plain("gradient", kernel=RBF(0.3), unlabeled="?").fit(X, y)
    for k, name in enumerate("abc"):
        binary = np.where(y == "?", "?", np.where(y == name, "yes", "no"))
        alone = plain("gradient", kernel=RBF(0.3), unlabeled="?").fit(X, binary)
        np.testing.assert_allclose(clf.decision_function(X)[:, k], alone.decision_function(X), atol=1e-9)


@pytest.mark.slow
def test_digits_one_against_one():
    """As published: pairs do far better than one against the rest, and than the supervised SVM."""
    X, truth = load_digits(n_class=5, return_X_y=True)
    X, truth = X[:200] / 16.0, truth[:200]
    y = sm.hide_labels(truth, per_class=5, random_state=1)
    errors = {}
    for name, kwargs in (("ovo", {}), ("ovr", {}), ("supervised", {"C_star": 0.0})):
        multi_class = "ovr" if name == "ovr" else "ovo"
        clf = plain("continuation", kernel=RBF(0.05), C=100.0, multi_class=multi_class, **kwargs).fit(X, y)
        errors[name] = (clf.transduction_ != truth)[y == -1].mean()
    assert errors["ovo"] < 0.01
    assert errors["supervised"] > 0.015
    assert errors["ovr"] > 0.04


def test_votes_and_their_ties():
    pairs = list(combinations(range(3), 2))
    f = np.array([[-1.0, -2.0, 5.0], [3.0, -0.5, -1.0], [9e9, -1e9, 2.0]])
    votes = _votes(f, pairs, 3)
    # Class 0 wins both its pairs; then a circle 1 > 0 > 2 > 1... which class 1 leads; then 1 > 0, 0 > 2, 2 > 1.
    assert votes.argmax(axis=1).tolist() == [0, 1, 1]
    assert (np.abs(votes - np.round(votes)) < 1 / 3).all()
    np.testing.assert_array_equal(np.round(votes), [[2, 0, 1], [1, 2, 0], [1, 1, 1]])


# The balance


def test_the_balance_is_that_of_the_unlabelled_decisions(moons):
    X, _, y = moons
    for balance in (-0.4, 0.0, 0.3):
        f = plain("quasi_newton", kernel=RBF(2.0), balance=balance).fit(X, y).decision_function(X)
        assert f[y == -1].mean() == pytest.approx(balance, abs=1e-8)
    lopsided = np.where(np.cumsum(y == 1) > 2, -1, y)
    f = plain("quasi_newton", kernel=RBF(2.0)).fit(X, lopsided).decision_function(X)
    known = lopsided[lopsided != -1]
    assert f[lopsided == -1].mean() == pytest.approx(2 * known.mean() - 1, abs=1e-8)


def test_balances_of_several_classes(blobs):
    X, _, y = blobs
    given = {"a": -0.2, "c": -0.5}
    f = plain("gradient", kernel=RBF(0.3), balance=given, unlabeled="?").fit(X, y).decision_function(X)[y == "?"]
    np.testing.assert_allclose(f.mean(axis=0), [-0.2, -1 / 3, -0.5], atol=1e-8)
    by_order = plain("gradient", kernel=RBF(0.3), balance=[-0.2, None, -0.5], unlabeled="?").fit(X, y)
    np.testing.assert_allclose(by_order.decision_function(X)[y == "?"], f, atol=1e-9)
    # In a pair the shares p = (1 + r) / 2 of both classes count: here 0.4 and 0.25 of classes a and c.
    pairs = plain("gradient", kernel=RBF(0.3), balance=given, multi_class="ovo", unlabeled="?").fit(X, y)
    means = [result.variables["f"] for result in pairs.result_]
    hidden = [len(result.variables["labels"]) for result in pairs.result_]
    assert len(means[1]) == hidden[1] + 6
    # Each of 111 unlabelled samples takes part in the two pairs of its class: none that looks like another one.
    assert sum(hidden) == 222
    assert min(hidden) > 60
    # The mean over all but the labelled rows is the balance; those are known by their classes.
    assert _mean_of_hidden(pairs, X, y, 1) == pytest.approx((0.25 - 0.4) / (0.25 + 0.4), abs=1e-8)
    # The share of class b is that of its labels, shrunk: (3 + 2) / (9 + 6).
    assert _mean_of_hidden(pairs, X, y, 0) == pytest.approx((1 / 3 - 0.4) / (1 / 3 + 0.4), abs=1e-8)


def _mean_of_hidden(clf, X, y, k):
    """Return the mean decision of the unlabelled samples of a pair, from the sum of all its decisions."""
    i, j = clf._pairs[k]
    known = np.isin(y, clf.classes_[[i, j]])
    f = clf._functions.values(X[known], clf._coefficients)[:, k] + clf.intercept_[k]
    decisions = clf.result_[k].variables["f"]
    return (decisions.sum() - f.sum()) / (len(decisions) - known.sum())


def test_balances_that_do_not_fit_the_classes(blobs):
    X, _, y = blobs
    for bad, text in (
        (0.2, r"does not tell 3 classes apart"),
        ([0.1, 0.2], r"does not tell 3 classes apart"),
        ({"d": 0.1}, r"balance names the classes \['d'\]"),
        ({"a": 2.0}, r"balance=2.0 must be a number in \[-1, 1\]"),
    ):
        with pytest.raises(ValueError, match=text):
            plain("gradient", balance=bad, unlabeled="?").fit(X, y)


# The defaults: units of the features, a share of the losses, the shrunken balance


@all_searches
def test_the_defaults_are_numbers_that_can_be_given(search, moons):
    X, _, y = moons
    y = np.where((y == 1) & (np.cumsum(y == 1) > 2), -1, y)  # two labels of one class, four of the other
    clf = S3VM(search=search).fit(X, y)
    spread = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert pytest.approx(10.0 / spread) == clf.C_
    assert clf.C_star_ == pytest.approx(clf.C_ * 6 / 54)
    numbers = {"C": clf.C_, "C_star": clf.C_star_, "balance": 2 * (2 + 2) / (6 + 4) - 1, "kernel": "linear"}
    np.testing.assert_array_equal(S3VM(search=search, **numbers).fit(X, y).scores_, clf.scores_)
    f = clf.decision_function(X[y == -1])
    if search not in ("label_switching", "multi_switch", "annealing"):  # these balance labels
        assert f.mean() == pytest.approx(-0.2, abs=1e-6)


def test_words_and_numbers_of_the_unlabelled_weight(moons):
    X, _, y = moons
    for C_star, expected in (("share", 3.0 * 8 / 52), ("0.5 share", 1.5 * 8 / 52), (None, 3.0), (0.7, 0.7), (0.0, 0.0)):
        clf = S3VM(search="gradient", C=3.0, C_star=C_star, balance=0.0).fit(X, y)
        assert (clf.C_, clf.C_star_) == pytest.approx((3.0, expected))


@two_searches
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_and_the_place_of_the_features_do_not_matter(search, scale, moons):
    X, _, y = moons
    expected = S3VM(search=search).fit(X, y)
    for moved in (scale * X, scale * (X + 5.0)):
        clf = S3VM(search=search).fit(moved, y)
        assert (clf.transduction_ == expected.transduction_).mean() > 0.95
        assert clf.C_ * scale**2 == pytest.approx(expected.C_)


def test_the_unit_is_that_of_the_kernels_space(moons):
    X, _, y = moons
    K = sm.kernels.gram(X, gamma=2.0)
    clf = S3VM(search="gradient", kernel=RBF(2.0)).fit(X, y)
    assert pytest.approx(10.0 / (np.trace(K) / 60 - K.mean())) == clf.C_
    deformed = S3VM(gamma_I=10.0, search="gradient", kernel=RBF(2.0)).fit(X, y)
    assert deformed.C_ > clf.C_  # the graph shrinks the kernel


def test_several_classes_have_shares_of_their_own(blobs):
    X, _, y = blobs
    y = np.where((y == "c") & (np.cumsum(y == "c") > 1), "?", y)  # 3, 3 and 1 labels
    clf = S3VM(unlabeled="?", search="gradient").fit(X, y)
    f = clf.decision_function(X[y == "?"])
    np.testing.assert_allclose(f.mean(axis=0), 2 * np.array([5, 5, 3]) / 13 - 1, atol=1e-6)
    assert clf.C_star_ == pytest.approx(clf.C_ * 7 / 113)
    pairs = S3VM(unlabeled="?", multi_class="ovo", search="gradient").fit(X, y)
    hidden = np.array([len(result.variables["f"]) for result in pairs.result_]) - [6, 4, 4]
    np.testing.assert_allclose(pairs.C_star_, pairs.C_ * np.array([6, 4, 4]) / hidden)
    assert _mean_of_hidden(pairs, X, y, 1) == pytest.approx((3 - 5) / 8, abs=1e-6)
    np.testing.assert_allclose(
        S3VM(unlabeled="?", balance=None, search="gradient").fit(X, y).decision_function(X[y == "?"]).mean(axis=0),
        2 * np.array([3, 3, 1]) / 7 - 1,
        atol=1e-6,
    )


# No unlabelled samples: the supervised SVM


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_without_unlabelled_samples_of_several_classes(multi_class, blobs):
    X, truth, _ = blobs
    assert plain("gradient", kernel=RBF(0.3), multi_class=multi_class).fit(X, truth).score(X, truth) > 0.9


@pytest.mark.parametrize("search", ["cccp", "gradient", "multi_switch", "quasi_newton"])
@pytest.mark.parametrize("kernel", [RBF("scale"), Linear()], ids=repr)
def test_without_unlabelled_samples_it_is_the_optimum(search, kernel, moons):
    """Four samples of one class among forty: QN-S3VM had stopped after one step, at 22.5 in place of 8.26, untold."""
    X, _, y = moons
    y = np.where(y == 1, 1, 0)
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, RuntimeWarning):
            warnings.simplefilter("error", kind)
        clf = plain(search, kernel=kernel, C=10.0).fit(X, y)
    assert clf.result_.status is Status.OPTIMAL
    assert clf.result_.certificate.relative_gap < 1e-9
    loss, linear = LOCAL[search][1], kernel == Linear()
    if loss == "hinge":
        known = {"kernel": "linear"} if linear else {"kernel": "rbf", "gamma": clf.kernel_.gamma}
        svc = SVC(**known, C=10.0, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(clf.decision_function(X), svc.decision_function(X), atol=1e-2)
        return
    Z = X if linear else kernel_map(sm.kernels.gram(X, gamma=clf.kernel_.gamma)).Z
    obj = sm.objectives.S3VM(Z, sm.encode_labels(y), loss, "exp", C=10.0, intercept="free")
    scipy = minimize(obj.value_and_gradient, np.zeros(obj.size), jac=True, method="BFGS", options={"gtol": 1e-7})
    assert clf.result_.certificate.primal_objective == pytest.approx(scipy.fun, rel=1e-8)


@pytest.mark.parametrize(
    ("status", "gap", "match"),
    [
        (Status.UNPROVED, 1.0, "NOTHING is proved about this answer"),
        (Status.OPTIMAL_INACCURATE, 1e-3, "proved to a relative gap of 1.0e-03 only"),
        (Status.MAX_ITER, 1e-3, "MAX_ITER, .*proved to a relative gap of 1.0e-03 only"),
        (Status.NUMERICAL, -1.0, "NOTHING is proved"),
        (Status.NUMERICAL, None, "1 of 1 searches failed"),
        (Status.MAX_ITER, None, "1 of 1 binary classifiers were stopped at their limit"),
    ],
)
def test_every_answer_that_is_not_what_was_asked_for_warns(status, gap, match, moons, monkeypatch):
    """Convex answers by their gap, searches by their status."""
    X, _, y = moons

    def failing(obj, **kwargs):
        result = quasi_newton(obj, **kwargs)
        value = result.certificate.primal_objective
        dual = -np.inf if gap is None else value * (1.0 - gap)
        return replace(result, status=status, certificate=Certificate(value, dual))

    monkeypatch.setattr("specmargin.solvers.s3vm.quasi_newton.quasi_newton", failing)
    with pytest.warns(ConvergenceWarning, match=match) as caught:
        S3VM(search="quasi_newton").fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]


# scikit-learn


def test_refitting_leaves_nothing_behind(moons):
    X, _, y = moons
    clf = plain("gradient", kernel="linear").fit(X, y)
    clf.set_params(kernel=RBF("scale")).fit(X, y)
    assert not hasattr(clf, "coef_")
    fresh = plain("gradient").fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X), fresh.decision_function(X))


def test_parameters_that_change_later_do_not_matter(moons):
    X, _, y = moons
    clf = plain("gradient", kernel=RBF(2.0)).fit(X, y)
    f = clf.decision_function(X)
    clf.set_params(kernel__gamma=9.0, search__name="cccp", multi_class="ovo")
    np.testing.assert_array_equal(clf.decision_function(X), f)
    clf.set_params(kernel="linear", functions=Landmarks(7), gamma_I=1.0)
    np.testing.assert_array_equal(clf.decision_function(X), f)


@pytest.mark.parametrize("search", ["cccp", "gradient", "label_switching"])
@pytest.mark.parametrize(
    ("params", "intercept"),
    [
        ({"kernel": RBF(4.0), "functions": PrincipalComponents(6)}, "balance"),
        ({"kernel": "linear"}, "free"),
    ],
    ids=["kernel", "free intercept"],
)
def test_one_flip_descends_further(search, params, intercept, moons):
    """Also with a free intercept: a local descent needs no relaxation, which that does not have."""
    X, truth, y = moons
    params = {"C": 10.0, **params}
    alone = Search(search, intercept=intercept)
    afterwards = alone.with_(one_flip=True)
    if search == "cccp":
        with pytest.raises(ValueError, match=r"symmetric_ramp.*convex in f\^2"):
            plain(afterwards, **params).fit(X, y)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        local, flipped = plain(alone, **params).fit(X, y), plain(afterwards, **params).fit(X, y)
    before, after = (clf.result_.certificate.primal_objective for clf in (local, flipped))
    assert after <= before * (1 + 1e-12)
    assert flipped.result_.solver == "one_flip"
    # Nothing to flip.
    assert plain(afterwards, **params).fit(X, truth).result_.solver != "one_flip"


# The global optimum


@pytest.fixture
def few():
    """Ten samples of two classes that overlap, two labels of each: (X, y)."""
    rng = np.random.default_rng(5)
    truth = np.arange(10) % 2
    return rng.normal(size=(10, 2)) + 1.5 * truth[:, None], np.where(np.arange(10) < 4, truth, -1)


@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)], ids=repr)
def test_branch_and_bound_finds_the_global_optimum_and_proves_it(intercept, kernel, few):
    X, y = few
    weights = {"C": 5.0, "C_star": 2.0, "kernel": kernel}
    found = plain(Search("branch_and_bound", intercept=intercept), **weights).fit(X, y)
    best = found.result_.certificate.primal_objective
    assert found.result_.status is Status.OPTIMAL
    assert found.result_.certificate.is_optimal(1e-6)
    # Others with its losses; the ramp that ends at 0 is the hinge at the better of both labels.
    _, loss, unlabeled_loss = LOCAL["label_switching"]
    assert found.result_.certificate.dual_objective <= best
    for search in (Search("label_switching"), Search("label_switching", one_flip=True), Search("cccp", s=0.0)):
        other = plain(search.with_(intercept=intercept), **weights).fit(X, y)
        value = other.result_.certificate.primal_objective
        assert best <= value * (1 + 1e-6)
    # And the supervised SVMs of all 64 labelings.
    Z = X if kernel == Linear() else kernel_map(kernel(X)).Z
    obj = sm.objectives.S3VM(Z, sm.encode_labels(y), loss, unlabeled_loss, C=5.0, C_star=2.0, intercept=intercept)
    labelings = (obj.guessed(np.array(signs), obj.C_star) for signs in product([-1.0, 1.0], repeat=6))
    literal = min(sm.solvers.weighted_svm(one).certificate.primal_objective for one in labelings)
    assert best == pytest.approx(literal, rel=1e-6)


def test_what_branch_and_bound_cannot_do_is_said(few):
    X, y = few
    # Cut off, it warns with the gap that it has proved.
    with pytest.warns(ConvergenceWarning, match="MAX_ITER"):
        clf = plain(Search("branch_and_bound", options={"max_nodes": 0})).fit(X, y)
    assert clf.result_.status is Status.MAX_ITER
    assert 0 < clf.result_.certificate.relative_gap < np.inf


def test_without_unlabelled_samples_branch_and_bound_is_the_supervised_svm(few):
    X, _ = few
    y = np.arange(10) % 2
    exact = plain(Search("branch_and_bound", bound=5.0), unlabeled=None).fit(X, y).result_
    other = plain(Search("label_switching"), unlabeled=None).fit(X, y).result_
    assert exact.status is Status.OPTIMAL
    assert exact.certificate.primal_objective == pytest.approx(other.certificate.primal_objective, rel=1e-9)


# A bound after the search


@pytest.mark.parametrize("search", [*LOCAL, "branch_and_bound"])
@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
def test_a_bound_after_any_search(search, intercept, few, moons):
    """The answer is that of the search; the bound is below J wherever descents from many points end."""
    for X, y in (few, moons[::2]):
        params = {"kernel": RBF(0.5), "C": 5.0, "C_star": 2.0}
        if search == "branch_and_bound" and len(X) > 10:
            continue
        found = plain(Search(search, intercept=intercept, bound=1.0), **params).fit(X, y)
        without = plain(Search(search, intercept=intercept), **params).fit(X, y)
        np.testing.assert_array_equal(found.scores_, without.scores_)
        certificate = found.result_.certificate
        assert certificate.primal_objective == without.result_.certificate.primal_objective
        assert 0 < certificate.dual_objective <= certificate.primal_objective * (1 + 1e-12)
        assert found.result_.status is (Status.OPTIMAL if certificate.is_optimal(1e-6) else without.result_.status)
        _, loss, unlabeled_loss = LOCAL["label_switching" if search == "branch_and_bound" else search]
        obj = sm.objectives.S3VM(
            *(kernel_map(RBF(0.5)(X)).Z, sm.encode_labels(y), loss, unlabeled_loss),
            C=5.0,
            C_star=2.0,
            intercept=intercept,
        )
        starts = np.random.default_rng(0).standard_normal((30, obj.size))
        ends = [minimize(obj.value_and_gradient, 3.0 * w, jac=True, method="BFGS").fun for w in starts]
        assert certificate.dual_objective <= min(ends) * (1 + 1e-9)
        if search != "branch_and_bound" and intercept != "free":
            assert sm.verify(obj, found.result_).holds


def test_a_bound_for_every_class_and_none_unless_it_is_asked_for(rng):
    X = np.repeat(3.0 * np.eye(3), 8, axis=0) + rng.normal(size=(24, 3))
    y = np.where(np.arange(24) % 8 < 2, np.arange(24) // 8, -1)
    results = plain(Search("gradient", bound=10.0)).fit(X, y).result_
    assert len(results) == 3
    assert all(0 <= one.certificate.relative_gap < 1 for one in results)
    assert all(one.certificate.relative_gap == np.inf for one in plain("gradient").fit(X, y).result_)


def test_a_search_that_was_cut_off_says_so_with_a_bound_as_well(moons):
    X, _, y = moons
    with pytest.warns(ConvergenceWarning, match="limit of iterations") as caught:
        clf = plain(Search("gradient", max_iter=1, bound=10.0)).fit(X, y)
    assert len(caught) == 1
    assert clf.result_.status is Status.MAX_ITER
    assert np.isfinite(clf.result_.certificate.gap)


@pytest.mark.parametrize("given", [{}, {"bound": 10.0}])
def test_one_unlabelled_sample(given, few):
    X, _ = few
    y = np.where(np.arange(10) < 9, np.arange(10) % 2, -1)
    for search in (*LOCAL, "branch_and_bound"):
        clf = plain(Search(search, intercept="regularized", **given)).fit(X, y)
        assert clf.result_.status in (Status.STATIONARY, Status.OPTIMAL)


# Bad input


def test_data_too_large_for_the_kernel(monkeypatch, moons):
    """Refused before it is computed, with the numbers; landmarks and the linear kernel are not."""
    X, _, y = moons
    free = available_memory()
    if free is None:
        pytest.skip("the free memory is not known here")
    n = int(np.sqrt(free / 8.0))
    huge = np.broadcast_to(np.zeros(1), (n, 2))

    def refuse(*args, **kwargs):
        raise AssertionError("computed")

    with pytest.raises(
        MemoryError, match=rf"kernel of {n} samples .* needs about .* GB, and .* Landmarks\(500\)"
    ) as caught:
        KernelFunctions(huge, refuse, 6)
    assert f"{48.0 * n * n / 1e9:.1f} GB" in str(caught.value)
    with pytest.raises(MemoryError, match=f"{64.0 * n * n / 1e9:.1f} GB"):
        KernelFunctions(huge, refuse, 8)
    monkeypatch.setattr("specmargin.arrays.available_memory", lambda: 48.0 * 60 * 60)
    monkeypatch.setattr("specmargin.estimators._base.feature_maps._STORED", 50)
    with pytest.raises(MemoryError, match="kernel of 60 samples"):
        plain("gradient").fit(X, y)
    plain("gradient", kernel="linear").fit(X, y)
    plain("gradient", functions=Landmarks(10)).fit(X, y)


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        (
            {"C": 1e300},
            r"C=1e\+300 with features of length up to .* is beyond double precision.* Take C from 1e-100 to",
        ),
        ({"functions": Landmarks(9), "kernel": "precomputed"}, r"functions=Landmarks\(n=9\) draws samples"),
    ],
)
def test_parameters_out_of_range(kwargs, text, moons):
    X, _, y = moons
    with pytest.raises(ValueError, match=text):
        plain("gradient", **kwargs).fit(X, y)


def test_a_graph_that_would_be_ignored_is_refused(moons):
    X, _, y = moons
    W = sm.graphs.knn_graph(X, 5)
    with pytest.raises(ValueError, match=r"S3VM has gamma_I=0.* would ignore graph=; set gamma_I"):
        S3VM().fit(X, y, graph=W)
