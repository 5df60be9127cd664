"""Conformal p-values and intervals against literal refits, and coverage where theory gives it."""

from fractions import Fraction

import numpy as np
import pytest
from exact_fractions import solved

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.held_out.conformal import ConformalRidge, label_sets, level_rank

intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def refit(K, targets, penalty, fit_intercept, at):
    """Decisions at some kernel rows of the ridge on a kernel, from its normal equations."""
    l = len(K)
    if not fit_intercept:
        return at @ np.linalg.solve(K + penalty * np.eye(l), targets)
    A = np.block([[K + penalty * np.eye(l), np.ones((l, 1))], [np.ones((1, l)), np.zeros((1, 1))]])
    solution = np.linalg.solve(A, np.concatenate([targets, np.zeros((1, targets.shape[1]))]))
    return at @ solution[:l] + solution[l]


def left_out(K, targets, penalty, fit_intercept):
    """Decision at every sample by the others: one refit each."""
    rows = np.arange(len(K))
    return np.stack(
        [
            refit(K[np.ix_(rows != i, rows != i)], targets[rows != i], penalty, fit_intercept, K[i, rows != i])
            for i in rows
        ]
    )


def literal_p_values(K, codes, n_classes, penalty, fit_intercept, class_conditional, tie=1e-8):
    """l + 1 refits per class for the last sample of K, whose label is not known."""
    p = []
    for k in range(n_classes):
        own = np.append(codes, k)
        # One against the rest, also of two classes.
        targets = np.where(own[:, None] == np.arange(n_classes), 1.0, -1.0)
        f = left_out(K, targets, penalty, fit_intercept)
        scores = np.array([np.delete(row, c).max() - row[c] for row, c in zip(f, own, strict=True)])
        among = (codes == k) if class_conditional else np.full(len(codes), True)
        size = np.abs(scores).max()
        p.append((1 + (scores[:-1][among] >= scores[-1] - tie * size).sum()) / (1 + among.sum()))
    return np.array(p)


def problem(rng, l, m, n_classes, d=3):
    X = rng.normal(size=(l + m, d))
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=l - n_classes)])
    X[np.arange(l), codes % d] += 1.0
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(-1))
    return K, codes


def signs(codes, n_classes):
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


@intercepts
@pytest.mark.parametrize("class_conditional", [False, True])
@pytest.mark.parametrize(("l", "n_classes"), [(2, 2), (3, 2), (9, 2), (3, 3), (10, 3), (14, 5)])
@pytest.mark.parametrize("penalty", [1e-3, 0.1, 30.0])
def test_p_values_are_those_of_literal_refits(rng, l, n_classes, penalty, fit_intercept, class_conditional):
    K, codes = problem(rng, l, 4, n_classes)
    ridge = ConformalRidge(K[:l, :l], signs(codes, n_classes), penalty, fit_intercept)
    p = ridge.p_values(K[l:, :l], np.diag(K)[l:], class_conditional=class_conditional)
    for j in range(4):
        rows = np.append(np.arange(l), l + j)
        expected = literal_p_values(K[np.ix_(rows, rows)], codes, n_classes, penalty, fit_intercept, class_conditional)
        np.testing.assert_allclose(p[j], expected, atol=1e-10)


def test_the_sum_of_ranks_is_that_of_a_permutation(rng):
    """Exchangeability, exactly: over all choices of the sample that is added the ranks of true labels are all ranks."""
    K, codes = problem(rng, 30, 0, 3)
    p = []
    for j in range(30):
        rows = np.append(np.delete(np.arange(30), j), j)
        again = K[np.ix_(rows, rows)]
        ridge = ConformalRidge(again[:-1, :-1], signs(codes[rows[:-1]], 3), 0.1)
        p.append(ridge.p_values(again[[-1], :-1], again[[-1], [-1]])[0, codes[j]])
    np.testing.assert_allclose(np.sort(p), np.arange(1, 31) / 30, atol=1e-12)
    for level in (0.5, 0.8, 0.9):
        assert label_sets(np.array(p)[:, None], level).mean() >= level - 1e-12


def literal_p_value(K, y, t, penalty, fit_intercept):
    """p-value of the number t as the target of the last sample, by the inverse of the augmented system."""
    n = len(K)
    targets = np.append(y, t)
    A = K + penalty * np.eye(n)
    if fit_intercept:
        A = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    M = np.linalg.inv(A)[:n, :n]
    # Studentised: residual of the fit over the root of 1 - h_i, with both from the hat matrix.
    hat = np.eye(n) - penalty * M
    scores = np.abs(targets - hat @ targets) / np.sqrt(1.0 - np.diag(hat))
    return (1 + (scores[:-1] >= scores[-1] - 1e-12).sum()) / n


@intercepts
@pytest.mark.parametrize("l", [1, 2, 5, 12])
def test_intervals_are_where_literal_p_values_exceed_the_level(rng, l, fit_intercept):
    K, _ = problem(rng, l + 1, 3, 1)
    K, y = K[1:, 1:], 3.0 * rng.normal(size=l) + 5.0
    ridge = ConformalRidge(K[:l, :l], y, 0.2, fit_intercept)
    for level in (0.3, 0.5, 0.75, 0.9):
        ends = ridge.intervals(K[l:, :l], np.diag(K)[l:], level)
        for j in range(3):
            rows = np.append(np.arange(l), l + j)
            again = K[np.ix_(rows, rows)]
            for t in np.concatenate([np.linspace(-40, 50, 181), *(ends[j] + step for step in (-1e-6, 1e-6))]):
                if not np.isfinite(t):
                    continue
                inside = bool(ends[j, 0] <= t <= ends[j, 1])
                p = literal_p_value(again, y, t, 0.2, fit_intercept)
                assert inside == (p > 1 - level + 1e-9), (t, ends[j], p)


def test_intervals_of_several_outputs_are_those_of_each(rng):
    K, _ = problem(rng, 12, 4, 2)
    Y = rng.normal(size=(12, 2))
    both = ConformalRidge(K[:12, :12], Y, 0.2).intervals(K[12:, :12], np.diag(K)[12:], 0.8)
    assert both.shape == (4, 2, 2)
    for k in range(2):
        one = ConformalRidge(K[:12, :12], Y[:, k], 0.2).intervals(K[12:, :12], np.diag(K)[12:], 0.8)
        np.testing.assert_allclose(both[:, :, k], one, rtol=1e-12)


def test_levels_that_are_whole_ranks_are_read_as_meant():
    assert [level_rank(0.9, l) for l in (8, 9, 10, 19, 29, 99)] == [0, 1, 1, 2, 3, 10]
    assert [level_rank(level, 9) for level in (0.1, 0.3, 0.7, 0.8)] == [9, 7, 3, 2]
    # 1 - 0.9 is below 0.1 in floating point; the set is that of p > 0.1.
    assert not label_sets(np.array([[0.1]]), 0.9)[0, 0]
    for level in (0.0, 1.0, -1.0, np.nan, 2.0):
        with pytest.raises(InvalidInputError, match="level="):
            label_sets(np.ones((1, 1)), level)
        with pytest.raises(InvalidInputError, match="level="):
            ConformalRidge(np.eye(2), np.array([1.0, -1.0])).intervals(np.zeros((1, 2)), np.ones(1), level)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_of_kernel_and_targets_change_nothing(rng, scale):
    K, codes = problem(rng, 10, 20, 3)
    cross, diagonal, known = K[10:, :10], np.diag(K)[10:], K[:10, :10]
    p = ConformalRidge(known, signs(codes, 3), 0.1).p_values(cross, diagonal)
    again = ConformalRidge(scale * known, signs(codes, 3), scale * 0.1).p_values(scale * cross, scale * diagonal)
    np.testing.assert_array_equal(p, again)
    y = rng.normal(size=10)
    ends = ConformalRidge(known, y, 0.1).intervals(cross, diagonal, 0.8)
    again = ConformalRidge(known, scale * y + 3.0 * scale, 0.1).intervals(cross, diagonal, 0.8)
    np.testing.assert_allclose(again, scale * ends + 3.0 * scale, rtol=1e-9, atol=1e-11 * scale)


def test_extreme_penalties_and_singular_kernels_are_answered(rng):
    x = rng.normal(size=14)
    K = np.outer(x, x)
    for penalty in (1e-10, 1e10):
        ridge = ConformalRidge(K[:8, :8], np.where(x[:8] > 0, 1.0, -1.0), penalty)
        p = ridge.p_values(K[8:, :8], np.diag(K)[8:])
        assert ((p >= 1 / 9 - 1e-12) & (p <= 1)).all()
        ends = ConformalRidge(K[:8, :8], x[:8], penalty).intervals(K[8:, :8], np.diag(K)[8:], 0.5)
        assert np.isfinite(ends).all()
        assert (ends[:, 0] <= ends[:, 1]).all()


@intercepts
@pytest.mark.parametrize("class_conditional", [False, True])
def test_two_columns_of_signs_are_one(fit_intercept, class_conditional, rng):
    K, codes = problem(rng, 9, 4, 2)
    args = K[9:, :9], K.diagonal()[9:]
    one, two = (
        ConformalRidge(K[:9, :9], targets, 0.3, fit_intercept).p_values(*args, class_conditional=class_conditional)
        for targets in (signs(codes, 2), np.where(codes[:, None] == np.arange(2), 1.0, -1.0))
    )
    np.testing.assert_allclose(two, one)


def exact_p_values(K, codes, n_classes, penalty, fit_intercept, class_conditional):
    """p-values in fractions, and the least difference of two scores that are no tie."""
    n, answers = len(K), []
    A = [[Fraction(K[i][j]) + Fraction(penalty) * (i == j) for j in range(n)] for i in range(n)]
    if fit_intercept:
        A = [[*row, Fraction(1)] for row in A] + [[Fraction(1)] * n + [Fraction(0)]]
    M = solved(A, np.eye(len(A)))
    for k in range(n_classes):
        own, scores = [*codes, k], []
        signs = [[1 if o == c else -1 for o in own] for c in range(n_classes)]
        for i in range(n):
            f = [t[i] - sum(M[i, j] * t[j] for j in range(n)) / M[i, i] for t in signs]
            scores.append(max(f[: own[i]] + f[own[i] + 1 :]) - f[own[i]])
        among = [scores[i] for i in range(n - 1) if not class_conditional or codes[i] == k]
        gap = min((float(abs(score - scores[-1])) for score in among if score != scores[-1]), default=np.inf)
        answers.append((Fraction(1 + sum(score >= scores[-1] for score in among), 1 + len(among)), gap))
    return answers


@pytest.mark.parametrize("kind", ["binary", "zeros", "copies", "few values"])
@intercepts
@pytest.mark.parametrize("class_conditional", [False, True])
def test_ties_are_those_of_fractions(rng, kind, fit_intercept, class_conditional):
    """Binary features, rows of zeros and copies: no p-value is too low, and none too high where doubles can tell."""
    ties = 0
    for penalty in (1e-5, 1e-4, 1e-3, 1.0, 10.0):
        for n_classes in (2, 3):
            for _ in range(4):
                l, d = int(rng.integers(n_classes, 7)), int(rng.integers(1, 5))
                X = rng.integers(0, 2, (l + 1, d)) if kind != "few values" else rng.integers(-2, 3, (l + 1, d))
                if kind == "zeros":
                    X[rng.random(l + 1) < 0.5] = 0
                if kind == "copies":
                    X = X[rng.integers(0, l + 1, l + 1)]
                codes = np.append(np.arange(n_classes), rng.integers(0, n_classes, l - n_classes))
                K = (X @ X.T).astype(float)
                ridge = ConformalRidge(K[:l, :l], signs(codes, n_classes), penalty, fit_intercept)
                p = ridge.p_values(K[l:, :l], K.diagonal()[l:], class_conditional=class_conditional)[0]
                exact = exact_p_values(K.tolist(), codes.tolist(), n_classes, penalty, fit_intercept, class_conditional)
                for ours, (theirs, gap) in zip(p, exact, strict=True):
                    assert ours >= float(theirs) - 1e-12
                    assert ours == pytest.approx(float(theirs), abs=1e-12) or gap < 1e-6
                    ties += theirs == 1
    assert ties > 20


def test_copies_at_a_small_penalty_are_ties():
    x = np.array([0.0, 1.0, 1.0])
    p = ConformalRidge(np.outer(x, x), np.array([-1.0, -1.0, 1.0]), 1e-5).p_values(np.outer([1.0], x), np.array([1.0]))
    assert p.tolist() == [[0.75, 1.0]]


@intercepts
@pytest.mark.parametrize("penalty", [1e-8, 1e-5, 1e-2])
def test_the_rank_of_copies_in_a_kernel_of_rounded_entries_is_never_too_low(rng, fit_intercept, penalty):
    """The label of a copy of m labelled samples of its class has a p-value of at least (m + 1) / (l + 1)."""
    for _ in range(40):
        X = rng.normal(size=(5, 3))
        copies = np.repeat(np.arange(5), rng.integers(2, 5, size=5))
        codes = np.array([0, 1, 1, 0, 1])[copies]
        # Rounded another way in every row, as products of blocks may be.
        K = np.exp(-0.2 * ((X[copies][:, None] - X[copies][None]) ** 2).sum(-1))
        K *= 1.0 + 2.0**-52 * rng.integers(-2, 3, size=K.shape)
        rows = np.append(np.arange(1, len(K)), 0)
        ridge = ConformalRidge(K[1:, 1:], signs(codes[1:], 2), penalty, fit_intercept)
        p = ridge.p_values(K[[0]][:, rows[:-1]], K[[0], [0]])[0]
        assert p[codes[0]] >= (copies == 0).sum() / len(K) - 1e-12


@intercepts
@pytest.mark.parametrize("penalty", [1e-8, 1e-4, 1.0])
def test_the_interval_of_a_copy_holds_its_target_where_fractions_say_so(rng, fit_intercept, penalty):
    """The target of a labelled copy has the copy's residual: a tie, at the end of the interval or inside."""
    at_the_end = 0
    for _ in range(12):
        X, y = np.repeat(rng.normal(size=(4, 2)), 2, axis=0), np.repeat(100.0 + rng.normal(size=4), 2)
        K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
        ridge = ConformalRidge(K[1:, 1:], y[1:], penalty, fit_intercept)
        A = [[Fraction(K[i, j]) + Fraction(penalty) * (i == j) for j in range(8)] for i in range(8)]
        if fit_intercept:
            A = [[*row, Fraction(1)] for row in A] + [[Fraction(1)] * 8 + [Fraction(0)]]
        M = solved(A, np.eye(len(A)))
        squares = [sum(M[i, j] * Fraction(y[j]) for j in range(8)) ** 2 / M[i, i] for i in range(8)]
        p = Fraction(sum(square >= squares[0] for square in squares), 8)
        for level in (0.6, 0.75, 0.85):
            low, high = ridge.intervals(K[[0], 1:], K[[0], [0]], level)[0]
            assert (low <= y[0] <= high) == (p > 1.0 - level + 1e-9)
            at_the_end += min(abs(y[0] - low), abs(y[0] - high)) < 1e-6 * (high - low)
    assert at_the_end


@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_several_penalties_the_best_of_all_samples_is_taken(rng, n_classes):
    K, codes = problem(rng, 11, 5, n_classes)
    penalties, chosen = [0.3, 3.0, 10.0, 30.0], []
    ridge = ConformalRidge(K[:11, :11], signs(codes, n_classes), penalties)
    p = ridge.p_values(K[11:, :11], np.diag(K)[11:])
    for j in range(5):
        rows = np.append(np.arange(11), 11 + j)
        for k in range(n_classes):
            targets = signs(np.append(codes, k), n_classes).reshape(12, -1)
            errors = [np.sum((left_out(K[np.ix_(rows, rows)], targets, q, True) - targets) ** 2) for q in penalties]
            chosen.append(int(np.argmin(errors)))
            literal = literal_p_values(K[np.ix_(rows, rows)], codes, n_classes, penalties[chosen[-1]], True, False)
            assert p[j, k] == pytest.approx(literal[k], abs=1e-12)
    assert len(set(chosen)) > 1
    with pytest.raises(InvalidInputError, match="intervals are of one penalty"):
        ConformalRidge(np.eye(2), np.ones(2), [1.0, 2.0]).intervals(np.zeros((1, 2)), np.ones(1))
