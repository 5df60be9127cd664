"""Decisions of left-out samples against literal refits, in which the left-out sample stays as an unlabelled one."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss
from sklearn.svm import SVC

import specmargin as sm
from specmargin.labels import Labels
from specmargin.objectives import LapSVM
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.held_out import principal_pivots
from specmargin.objectives.held_out.principal_pivots import squared_hinge_leave_one_out
from specmargin.objectives.held_out.refitting import refitted, solution_near
from specmargin.objectives.intercept import hinge_intercept
from specmargin.solvers import factorized

intercepts = pytest.mark.parametrize("fit_intercept", [True, False])
GAMMAS = [1e-3, 0.1, 2.0]


def several(labels, n_classes, rng):
    """The same samples with more classes, each labelled at least once."""
    l = labels.n_labeled
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=l - n_classes)])
    y = np.full(labels.n_samples, -1)
    y[labels.labeled] = codes
    return sm.encode_labels(y)


def literal(K, L, labels, folds, gamma_A, ratio, loss="squared", fit_intercept=True):
    """Refit with n samples, S and its factorisation, per fold and class."""
    found = []
    for left_out, test in folds:
        columns = []
        kept = np.setdiff1d(np.arange(labels.n_labeled), left_out)
        for binary in labels.at(kept).one_vs_rest():
            obj = LapSVM(K, L, binary, loss=loss, gamma_A=gamma_A, gamma_I=ratio * gamma_A, fit_intercept=fit_intercept)
            columns.append(factorized(obj).variables["f"][labels.labeled[test]])
        found.append(columns[0] if labels.is_binary else np.column_stack(columns))
    return np.concatenate(found)


def deformed(K, L, labels, ratio):
    return LapSVM(K, L, next(iter(labels.one_vs_rest())), loss="squared", gamma_I=ratio).reduction.G


def some_folds(l, rng, n_folds=3):
    order = rng.permutation(l)
    return [loo.Fold(part, part) for part in np.array_split(order, n_folds)]


@intercepts
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ratio", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("folds", ["loo", 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_least_squares_without_a_label_is_the_literal_refit(
    manifold_data, rng, fit_intercept, n_classes, ratio, folds, weighted
):
    K, L, labels = manifold_data(30, 9)
    if n_classes > 2:
        labels = several(labels, n_classes, rng)
    labels = labels.weighted(rng.uniform(0.2, 5.0, 9)) if weighted else labels
    folds = loo.one_left_out(9) if folds == "loo" else some_folds(9, rng)
    path = loo.RidgePath(deformed(K, L, labels, ratio), labels.sign, fit_intercept, labels.weights)
    found = path.held_out(GAMMAS, folds)
    for gamma_A, decisions in zip(GAMMAS, found, strict=True):
        expected = literal(K, L, labels, folds, gamma_A, ratio, fit_intercept=fit_intercept)
        np.testing.assert_allclose(decisions, expected, rtol=0, atol=1e-8)


@intercepts
def test_folds_of_one_are_leave_one_out_and_parts_of_folds_can_be_tested(manifold_data, fit_intercept):
    K, L, labels = manifold_data(30, 9)
    path = loo.RidgePath(deformed(K, L, labels, 10.0), labels.sign, fit_intercept)
    left_out = np.array([1, 4, 6])
    whole = path.held_out(GAMMAS, [loo.Fold(left_out, left_out)])
    part = path.held_out(GAMMAS, [loo.Fold(left_out, left_out[[2]]), loo.Fold(np.array([3]), np.array([3]))])
    np.testing.assert_allclose(part[:, 0], whole[:, 2], atol=1e-13)
    np.testing.assert_allclose(part[:, 1], path.leave_one_out(GAMMAS)[:, 3], atol=1e-11)


@pytest.mark.parametrize(("copies", "parts"), [(3, 1), (1, 2), (3, 2)])
def test_duplicates_singular_kernels_and_torn_graphs(manifold_data, rng, copies, parts):
    """Of the labelled samples some are copies of one another, with equal and with opposite labels."""
    K, L, labels = manifold_data(36, 12, copies=copies, parts=parts)
    if copies > 1:
        assert np.linalg.matrix_rank(K, tol=1e-9) <= 12
        assert len(np.unique(labels.labeled // copies)) < 12
    for folds in (loo.one_left_out(12), some_folds(12, rng)):
        path = loo.RidgePath(deformed(K, L, labels, 100.0), labels.sign)
        expected = [literal(K, L, labels, folds, gamma_A, 100.0) for gamma_A in GAMMAS]
        np.testing.assert_allclose(path.held_out(GAMMAS, folds), expected, atol=1e-8)


@intercepts
def test_the_full_solution_and_its_unit(manifold_data, rng, fit_intercept, tol):
    K, L, labels = manifold_data(30, 9)
    for sign in (labels.sign, several(labels, 3, rng).sign):
        G = deformed(K, L, labels, 50.0)
        path = loo.RidgePath(G, sign, fit_intercept)
        v, b = path.solution(0.2)
        one = np.ones(9)
        A = np.block([[G + 0.2 * np.eye(9), one[:, None]], [one[None], np.zeros((1, 1))]])
        if fit_intercept:
            expected = np.linalg.solve(A, np.concatenate([sign, np.zeros((1, *sign.shape[1:]))]))
        else:
            expected = np.concatenate([np.linalg.solve(A[:9, :9], sign), np.zeros((1, *sign.shape[1:]))])
        np.testing.assert_allclose(v, expected[:9], atol=tol["linalg"])
        np.testing.assert_allclose(b, expected[9], atol=tol["linalg"])
        H = np.eye(9) - fit_intercept * np.ones((9, 9)) / 9
        assert path.unit == pytest.approx(np.trace(H @ G @ H) / 9)


@intercepts
def test_gcv_is_the_textbook_formula(manifold_data, rng, fit_intercept):
    K, L, labels = manifold_data(30, 9)
    labels = several(labels, 3, rng)
    G = deformed(K, L, labels, 50.0)
    # The hat matrix, column by column: decisions of unit targets.
    smoother = np.column_stack(
        [G @ v + b for v, b in (loo.RidgePath(G, e, fit_intercept).solution(0.3) for e in np.eye(9))]
    )
    residual = labels.sign - smoother @ labels.sign
    expected = (residual**2).mean() / (1 - np.trace(smoother) / 9) ** 2
    assert loo.RidgePath(G, labels.sign, fit_intercept).gcv([0.3])[0] == pytest.approx(expected, rel=1e-9)


def test_two_labels_and_classes_of_one(manifold_data, tol):
    """One label left is repeated everywhere; a class without any is refused everywhere."""
    K, L, labels = manifold_data(30, 2)
    G = deformed(K, L, labels, 10.0)
    np.testing.assert_allclose(
        loo.RidgePath(G, labels.sign).leave_one_out(GAMMAS), [-labels.sign] * 3, atol=tol["exact"]
    )
    assert not loo.counted(labels.sign, loo.one_left_out(2)).any()
    y = np.full(30, -1)
    y[:6] = 0, 0, 1, 1, 1, 2
    labels = sm.encode_labels(y)
    G = deformed(K, L, labels, 10.0)
    found = loo.RidgePath(G, labels.sign).leave_one_out(GAMMAS)
    np.testing.assert_allclose(found[:, 5, 2], -1.0, atol=1e-9)
    assert loo.counted(labels.sign, loo.one_left_out(6)).tolist() == [True] * 5 + [False]
    # Class 1 in one fold: its samples do not count; with class 0 and 2 alone there, neither do those of class 1.
    folds = [loo.Fold(np.array(part), np.array(part)) for part in ([2, 3, 4], [0, 1, 5])]
    assert not loo.counted(labels.sign, folds).any()


# Hinges


def solve_with(loss, fit_intercept=True, calls=None):
    def solve(G, sign):
        if calls is not None:
            calls.append(len(sign))
        labels = Labels(sign, np.arange(len(sign)), np.array([0, 1]), len(sign))
        found = factorized(LapSVM(G, None, labels, loss=loss, fit_intercept=fit_intercept))
        return found.variables["v"], float(found.variables["b"])

    return solve


@intercepts
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("ratio", [0.0, 30.0])
@pytest.mark.parametrize("folds", ["loo", 3])
def test_hinges_without_a_label_are_the_literal_refit(manifold_data, rng, fit_intercept, loss, ratio, folds):
    K, L, labels = manifold_data(40, 14, seed=3)
    l = labels.n_labeled
    folds = loo.one_left_out(l) if folds == "loo" else some_folds(l, rng)
    G = deformed(K, L, labels, ratio)
    for gamma_A in GAMMAS:
        solve = solve_with(loss, fit_intercept)
        expected = literal(K, L, labels, folds, gamma_A, ratio, loss, fit_intercept)
        found = refitted(G / gamma_A, labels.sign, folds, solve)
        np.testing.assert_allclose(found, expected, atol=1e-8)
        nearby = partial(solution_near, loss=loss, fit_intercept=fit_intercept)
        found = refitted(G / gamma_A, labels.sign, folds, solve, nearby=nearby)
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_single_support_vector_is_refitted():
    G, sign = np.diag([1.0, 4.0, 9.0]) + 0.1, np.array([1.0, -1.0, 1.0])
    solve = solve_with("squared_hinge", False)
    full = np.array([0.0, -0.2, 0.0]), 0.0
    found = squared_hinge_leave_one_out(G, sign, solve, full=full, fit_intercept=False)
    np.testing.assert_allclose(found, refitted(G, sign, loo.one_left_out(3), solve, full=full))


def test_samples_that_are_no_support_vectors_are_not_refitted(rng):
    X = np.concatenate([rng.normal(size=(20, 2)) - 3, rng.normal(size=(20, 2)) + 3])
    y = np.repeat([-1.0, 1.0], 20)
    calls = []
    found = refitted(X @ X.T / 0.5, y, loo.one_left_out(40), solve_with("hinge", calls=calls))
    assert len(calls) < 12
    for i in range(40):
        kept = np.arange(40) != i
        svc = SVC(C=1.0, kernel="linear", tol=1e-10).fit(X[kept], y[kept])
        assert found[i] == pytest.approx(svc.decision_function(X[[i]])[0], abs=1e-4)


@intercepts
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_solution_nearby_is_the_optimum_and_seldom_missed(manifold_data, rng, fit_intercept, loss):
    """From the solution with one sample more, over gammas and scales; from far away it may decline, but not err."""
    solve = solve_with(loss, fit_intercept)
    near, far = [], []
    for seed in range(3):
        K, L, labels = manifold_data(40, 16, seed=seed)
        y = labels.sign
        for gamma_A in (1e-5, *GAMMAS):
            G = deformed(K, L, labels, 5.0) / gamma_A
            v, b = solve(G, y)
            for i in np.flatnonzero(v)[:5]:
                kept = np.arange(16) != i
                part = G[np.ix_(kept, kept)]
                expected = np.append(*solve(part, y[kept]))
                for start, told in ((v[kept], near), (rng.normal(size=15), far)):
                    found = solution_near(part, y[kept], start, b, loss=loss, fit_intercept=fit_intercept)
                    told.append(found is not None)
                    if found is not None:
                        f, g = part @ found[0] + found[1], part @ expected[:15] + expected[15]
                        np.testing.assert_allclose(f, g, atol=1e-8)
    # Newton's method for the squared hinge cycles where one class is left among the active samples; with the intercept
    # rounding decides one of the 60, so that 48 or 49 are found.
    assert np.mean(near) > (0.95 if loss == "hinge" else 0.75)
    assert np.mean(far) > 0.3


def test_the_solution_nearby_is_not_claimed_where_it_cannot_be_known():
    """A kernel of zeros, a singular one of copies with opposite labels, and an intercept that is an interval."""
    near = partial(solution_near, loss="hinge")
    y = np.array([1.0, -1.0, 1.0, -1.0])
    assert near(np.zeros((4, 4)), y, np.zeros(4), 0.0) is None
    copies = np.kron(np.eye(2), np.ones((2, 2))) / 0.01
    assert near(copies, y, 0.01 * y, 0.0) is None
    assert near(1e-3 * np.eye(4), y, y / 2, 0.0) is None


# Criteria


@pytest.mark.parametrize("n_classes", [2, 4])
def test_nll_is_scikit_learns_log_loss_of_the_calibrated_probabilities(rng, n_classes):
    own = rng.integers(n_classes, size=30)
    for shift in (0.0, 1.0):
        f = rng.normal(size=(30, n_classes)) + shift * np.eye(n_classes)[own]
        sign = np.where(np.eye(n_classes)[own] > 0, 1.0, -1.0)
        ordered = np.sort(f, axis=1)
        m = (ordered[:, -1] - ordered[:, :-1].mean(axis=1)).mean()

        def mean_loss(log_T, f=f):
            e = np.exp(np.exp(log_T) * f)
            return log_loss(own, e / e.sum(axis=1, keepdims=True), labels=np.arange(n_classes))

        def with_pseudo_samples(log_T, mean_loss=mean_loss, m=m):
            Tm = np.exp(log_T) * m
            return 30 * mean_loss(log_T) + 2 * np.log(1 + (n_classes - 1) * np.exp(-Tm)) + Tm

        log_T = minimize_scalar(with_pseudo_samples, bounds=(-6, 5), method="bounded", options={"xatol": 1e-9}).x
        expected = mean_loss(log_T)
        if n_classes == 2:
            f, sign = f[:, 1] - f[:, 0], sign[:, 1]
        assert loo.nll(f, sign) == pytest.approx(expected, abs=1e-6)
        # Settings stand in front; the scale does not matter.
        both = loo.nll(np.stack([f, 1e3 * f, 1e200 * f, -f]), sign)
        np.testing.assert_allclose(both[:3], expected, atol=1e-6)
        assert both[3] == pytest.approx(np.log(n_classes), abs=0.05)
        np.testing.assert_allclose(loo.log_losses(f, sign).mean(), expected, atol=1e-6)


def test_settings_without_an_error_are_told_apart_by_their_margins():
    sign = np.repeat([1.0, -1.0], 4)
    wide, narrow = sign.copy(), sign * [1.0, 1.0, 1.0, 0.1, 1.0, 1.0, 1.0, 0.1]
    assert loo.nll(wide, sign) < loo.nll(narrow, sign) - 0.02
    assert np.isnan(loo.nll(np.array([wide, [np.nan, *wide[1:]]]), sign)).tolist() == [False, True]


def test_square_and_errors_are_the_literal_means(rng):
    f, sign = rng.normal(size=(3, 12)), np.where(rng.random(12) > 0.5, 1.0, -1.0)
    np.testing.assert_allclose(loo.squared_error(f, sign), [((g - sign) ** 2).mean() for g in f])
    np.testing.assert_allclose(loo.zero_one(f, sign), [(np.sign(g) != sign).mean() for g in f])
    own = rng.integers(3, size=12)
    f, sign = rng.normal(size=(2, 12, 3)), np.where(np.eye(3)[own] > 0, 1.0, -1.0)
    np.testing.assert_allclose(loo.squared_error(f, sign), [((g - sign) ** 2).mean() for g in f])
    np.testing.assert_allclose(loo.zero_one(f, sign), [(g.argmax(axis=1) != own).mean() for g in f])


def test_constant_decisions_have_the_loss_of_a_guess():
    sign = np.array([1.0, -1.0, 1.0])
    with np.errstate(all="raise"):
        assert loo.nll(np.zeros(3), sign) == pytest.approx(np.log(2))


def test_folds_are_dealt_out_and_leave_a_label_of_every_class():
    rng = np.random.default_rng(0)
    for _ in range(30):
        codes = rng.integers(0, 4, rng.integers(6, 20))
        sign = np.where(codes[:, None] == np.arange(4), 1.0, -1.0)
        folds = loo.dealt_folds(sign, 5)
        alone = np.isin(codes, np.flatnonzero(np.bincount(codes) == 1))
        tested = np.concatenate([fold.test for fold in folds])
        assert sorted(tested) == np.flatnonzero(~alone).tolist()
        for left_out, _ in folds:
            assert set(np.delete(codes, left_out)) == set(codes)
    assert loo.dealt_folds(np.array([1.0, -1.0]), 5) == []


def test_folds_are_dealt_in_the_order_of_the_samples(rng):
    """Class by class, sample by sample, like cards; of each class every fold has its share."""
    sign = rng.choice([-1.0, 1.0], 60)
    folds = loo.dealt_folds(sign, 4)
    order = [*np.flatnonzero(sign == sign[0]), *np.flatnonzero(sign != sign[0])]
    assert [fold.test.tolist() for fold in folds] == [[int(i) for i in order[k::4]] for k in range(4)]
    assert all(np.array_equal(fold.left_out, fold.test) for fold in folds)


def test_a_kernel_in_which_the_unit_matrix_is_lost_is_refitted():
    """Two samples that 1e20 makes copies of one another: no formula, one refit for each support vector."""
    G, sign = np.full((3, 3), 1e20), np.array([1.0, -1.0, 1.0])
    asked = []

    def solve(part, signs):
        asked.append(len(signs))
        return np.arange(1.0, len(signs) + 1.0), 0.5

    full = np.array([0.5, -1.0, 0.5]), 0.25
    found = squared_hinge_leave_one_out(G, sign, solve, full=full)
    assert asked == [2, 2, 2]
    np.testing.assert_allclose(found, np.full(3, 3e20))


def test_lists_of_numbers_are_read_as_arrays():
    G, sign = [[2.0, 1.0], [0.0, 2.0]], [1, -1]
    path = loo.RidgePath(G, sign)
    np.testing.assert_array_equal(path.G, [[2.0, 0.5], [0.5, 2.0]])
    expected = loo.RidgePath(path.G, np.array([1.0, -1.0])).leave_one_out([0.5])
    np.testing.assert_array_equal(path.leave_one_out([0.5]), expected)


# Weights of the labels


def weighted_case(manifold_data, rng, n_classes=2, low=0.2, high=5.0):
    """A kernel, a Laplacian, labels with weights, and their deformed kernel."""
    K, L, labels = manifold_data(30, 9)
    if n_classes > 2:
        labels = several(labels, n_classes, rng)
    labels = labels.weighted(10.0 ** rng.uniform(np.log10(low), np.log10(high), 9))
    return K, L, labels, deformed(K, L, labels, 10.0)


@intercepts
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_solution_with_weights_solves_its_system(manifold_data, rng, fit_intercept, n_classes):
    _, _, labels, G = weighted_case(manifold_data, rng, n_classes, 1e-4, 1e4)
    v, b = loo.RidgePath(G, labels.sign, fit_intercept, labels.weights).solution(0.2)
    f = G @ v + b
    np.testing.assert_allclose(0.2 * v, (labels.weights * (labels.sign - f).T).T, atol=1e-8)
    if fit_intercept:
        np.testing.assert_allclose(v.sum(axis=0), 0.0, atol=1e-8)


def test_generalised_cross_validation_with_weights_is_that_of_scaled_rows(manifold_data, rng):
    _, _, labels, G = weighted_case(manifold_data, rng)
    r = np.sqrt(labels.weights)
    ours = loo.RidgePath(G, labels.sign, False, labels.weights).gcv(GAMMAS)
    np.testing.assert_allclose(ours, loo.RidgePath(r[:, None] * G * r, r * labels.sign, False).gcv(GAMMAS), rtol=1e-12)
    path = loo.RidgePath(G, labels.sign, True, labels.weights)
    for gamma_A, found in zip(GAMMAS, path.gcv(GAMMAS), strict=True):
        unit = np.eye(9)
        S = np.column_stack([fitted_with_weights(G, one, labels.weights, gamma_A) for one in unit])
        residual = r * (labels.sign - S @ labels.sign)
        free = (unit - S).trace() / 9
        assert found == pytest.approx((residual**2).mean() / free**2, rel=1e-8)


def fitted_with_weights(G, y, c, gamma_A):
    """Decisions at the labelled samples from the linear system of v and b."""
    l = len(y)
    A = np.block([[G + np.diag(gamma_A / c), np.ones((l, 1))], [np.ones((1, l)), np.zeros((1, 1))]])
    solution = np.linalg.solve(A, np.append(y, 0.0))
    return G @ solution[:l] + solution[l]


def test_a_label_that_outweighs_all_others_is_left_out_with_all_digits(manifold_data, rng):
    _, _, labels, G = weighted_case(manifold_data, rng)
    c = np.where(np.arange(9) == 4, 1e14, 1.0)
    rest = np.delete(np.arange(9), 4)
    v, b = loo.RidgePath(G[np.ix_(rest, rest)], labels.sign[rest]).solution(0.1)
    found = loo.RidgePath(G, labels.sign, True, c).leave_one_out([0.1])[0]
    assert found[4] == pytest.approx(G[4, rest] @ v + b, rel=1e-6)


@intercepts
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_support_vectors_with_weights_are_refitted(manifold_data, rng, fit_intercept, loss):
    def solve(G, sign, weights):
        one = Labels(sign, np.arange(len(sign)), np.array([False, True]), len(sign), weights)
        answer = factorized(LapSVM(G, None, one, loss=loss, gamma_A=1.0, fit_intercept=fit_intercept)).variables
        return answer["v"], float(answer["b"])

    rule = hinge_intercept if loss == "hinge" and fit_intercept else None
    nearby = partial(solution_near, loss=loss, fit_intercept=fit_intercept)
    for low, high in ((0.2, 5.0), (1e-3, 1e3)):
        for _ in range(2):
            K, L, labels, G = weighted_case(manifold_data, rng, low=low, high=high)
            for gamma_A in (0.01, 0.5):
                for folds in (loo.one_left_out(9), some_folds(9, rng)):
                    expected = literal(K, L, labels, folds, gamma_A, 10.0, loss, fit_intercept)
                    args = (G / gamma_A, labels.sign, folds, solve)
                    for near in (None, nearby):
                        found = refitted(*args, nearby=near, intercept=rule, weights=labels.weights)
                        np.testing.assert_allclose(found, expected, atol=1e-6)
                if loss == "squared_hinge":
                    expected = literal(K, L, labels, loo.one_left_out(9), gamma_A, 10.0, loss, fit_intercept)
                    for near in (None, nearby):
                        found = squared_hinge_leave_one_out(
                            *args[:2], solve, fit_intercept=fit_intercept, nearby=near, weights=labels.weights
                        )
                        np.testing.assert_allclose(found, expected, atol=1e-6)


@intercepts
@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e3, 1e6])
def test_pivots_are_the_refits_of_the_squared_hinge(rng, fit_intercept, scale):
    """With copies, singular kernels and single labels; only rounding in large kernels makes them decline."""
    asked = support = 0
    for trial in range(24):
        l = int(rng.integers(3, 24))
        X = rng.normal(size=(l, int(rng.integers(1, 6))))
        if trial % 3 == 0:
            X = np.round(X)
        G = scale * (X @ X.T + (trial % 2) * 1e-3 * np.eye(l))
        y = np.where(X[:, 0] + 0.7 * rng.normal(size=l) > rng.choice([0.0, 1.5]), 1.0, -1.0)
        y[0] *= -1.0 if abs(y.sum()) == l else 1.0
        calls = []
        solve = solve_with("squared_hinge", fit_intercept, calls)
        full = solve(G, y)
        calls.clear()
        found = squared_hinge_leave_one_out(G, y, solve, full=full, fit_intercept=fit_intercept)
        single = min((y > 0).sum(), (y < 0).sum()) == 1
        asked, support = asked + len(calls) - (single and fit_intercept and bool(calls)), support + (full[0] != 0).sum()
        expected = refitted(G, y, loo.one_left_out(l), solve, full=full)
        np.testing.assert_allclose(found, expected, atol=1e-7, rtol=1e-7)
    assert asked <= (0 if scale <= 1 else 0.5 * support)


def test_more_changes_than_memory_holds_are_refitted(manifold_data, monkeypatch):
    K, L, labels = manifold_data(40, 16, seed=0)
    G, y, calls = deformed(0.1 * K, L, labels, 5.0) / GAMMAS[0], labels.sign, []
    solve = solve_with("squared_hinge", True, calls)
    expected = squared_hinge_leave_one_out(G, y, solve)
    assert len(calls) == 1
    monkeypatch.setattr(principal_pivots, "_MOST_CHANGED", 1)
    np.testing.assert_allclose(squared_hinge_leave_one_out(G, y, solve), expected, atol=1e-9)
    assert len(calls) > 2


def test_what_all_classes_gain_alike_changes_no_log_loss(rng):
    """However large, and another number for every sample."""
    own = rng.integers(3, size=12)
    f, sign = rng.normal(size=(2, 12, 3)), np.where(np.eye(3)[own] > 0, 1.0, -1.0)
    for size in (1.0, 1e8):
        shift = size * rng.normal(size=(12, 1))
        np.testing.assert_allclose(loo.log_losses(f + shift, sign), loo.log_losses(f, sign), rtol=1e-5)


def test_settings_do_not_see_each_other(rng):
    """To the last bit, whatever the size of the others is."""
    sign = np.where(rng.permutation(9) < 4, 1.0, -1.0)
    decisions = 10.0 ** np.arange(-3.0, 3.0)[:, None] * (0.5 * sign + rng.normal(size=(6, 9)))
    together = loo.log_losses(decisions, sign)
    for one, losses in zip(decisions, together, strict=True):
        np.testing.assert_array_equal(loo.log_losses(one, sign), losses)


def test_names_of_classes_change_no_dealt_fold():
    codes = np.random.default_rng(3).integers(0, 3, 23)
    folds = [fold.test.tolist() for fold in loo.dealt_folds(np.where(codes == 0, 1.0, -1.0), 5)]
    assert folds == [fold.test.tolist() for fold in loo.dealt_folds(np.where(codes == 0, -1.0, 1.0), 5)]
    sign = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    folds = [fold.test.tolist() for fold in loo.dealt_folds(sign, 5)]
    assert folds == [fold.test.tolist() for fold in loo.dealt_folds(sign[:, [2, 0, 1]], 5)]
