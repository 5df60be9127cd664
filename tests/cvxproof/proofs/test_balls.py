"""Ball arithmetic against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("flint")
from flint import arb, arb_mat, ctx, fmpq

from cvxproof.proofs import balls as proofs_balls
from cvxproof.proofs.balls import (
    BITS,
    INFINITE,
    LARGE,
    ONE,
    ZERO,
    Refuted,
    balanced,
    balls,
    column,
    dense_times,
    diagonal,
    dominance,
    entries,
    exact_bits,
    floats,
    gram,
    gram_times,
    is_definite,
    largest,
    least_eigenvalue,
    outward,
    positive_part,
    shift,
    slices,
    solution,
    sparse_times,
    times,
    total,
)


@pytest.fixture(autouse=True)
def precision():
    with ctx.workprec(BITS):
        yield


def fraction(x):
    """An exact ball."""
    q = x.fmpq()
    return Fraction(int(q.p), int(q.q))


def test_floats_become_balls_exactly(rng):
    x = rng.standard_normal(5) * 10.0 ** rng.integers(-300, 300, 5)
    assert [fraction(one) for one in balls(x)] == [Fraction(one) for one in x]
    assert floats(balls(x)).tolist() == x.tolist()
    assert floats(entries(arb_mat([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert balls([fmpq(1, 3)])[0] * 3 == 1 or abs(balls([fmpq(1, 3)])[0] * 3 - 1) < 1e-70


def test_sums_and_products_are_exact(rng):
    A, v = rng.standard_normal((4, 3)), rng.standard_normal(3)
    exact = [sum((Fraction(a) * Fraction(b) for a, b in zip(row, v, strict=True)), Fraction(0)) for row in A]
    assert [fraction(x) for x in times(arb_mat(A.tolist()), balls(v))] == exact
    G = gram(arb_mat(A.tolist()))
    assert (G.nrows(), G.ncols()) == (4, 4)
    assert fraction(G[0, 1]) == sum((Fraction(a) * Fraction(b) for a, b in zip(A[0], A[1], strict=True)), Fraction(0))
    assert fraction(total(balls(v))) == sum(map(Fraction, v), Fraction(0))
    assert total([]) == 0
    assert isinstance(total([]), arb)
    assert floats(entries(diagonal([1.0, 2.0]))).tolist() == [[1, 0], [0, 2]]
    assert floats(entries(column(balls(v))))[:, 0].tolist() == v.tolist()


def test_a_ball_is_between_two_floats():
    third = ONE / 3
    low, high = outward(third)
    assert low < third < high
    assert high - low < 3e-16
    assert outward(ONE) == (1 - 2.0**-53, 1 + 2.0**-52)
    assert outward(-INFINITE)[0] == -np.inf
    assert outward(arb(1, 0.25)) == pytest.approx((0.75, 1.25), abs=1e-9)


def test_maxima_enclose_what_cannot_be_compared():
    blurred = arb(0, 1e-3)
    assert positive_part(blurred).contains(arb(1e-4))
    assert positive_part(balls([-1.0, 2.0])).tolist() == [0, 2]
    assert largest(balls([1.0, 3.0, 2.0])) == 3
    assert largest([]) == -INFINITE
    assert largest([blurred, arb(1e-4)]).contains(arb(9e-4))


def test_least_eigenvalue_is_proved_and_close(rng):
    A = rng.standard_normal((12, 12))
    A = A + A.T
    least = float(least_eigenvalue(A))
    true = np.linalg.eigvalsh(A)[0]
    assert true - 1e-12 < least <= true + 1e-14
    assert float(least_eigenvalue(np.array([[2.0, 1.0], [1.0, 2.0]]))) == pytest.approx(1.0, abs=1e-14)
    assert least_eigenvalue(np.array([[2.0, 1.0], [1.0, 2.0]])) <= 1
    # A singular matrix is never proved to be more than that.
    X = rng.standard_normal((6, 2))
    assert least_eigenvalue(X @ X.T) > -1e-13


@pytest.mark.parametrize("scale", [1e-290, 1e-150, 1.0, 1e150])
@pytest.mark.parametrize("n", [1, 2, 15, 70])
def test_a_shift_by_the_least_eigenvalue_leaves_a_definite_matrix(rng, n, scale):
    for A in (rng.standard_normal((n, n)), np.exp(-(np.subtract.outer(*[rng.standard_normal(n)] * 2) ** 2))):
        A = scale * (A + A.T)
        least = least_eigenvalue(A)
        size = np.abs(A).sum(axis=1).max()
        assert abs(float(least) - np.linalg.eigvalsh(A)[0]) <= 1e-14 * (n + 1) * size + 1e-298 * n
        assert is_definite(arb_mat(A.tolist()) - diagonal([least - 1e-30 * size] * n))


def test_any_guess_of_a_factor_gives_a_bound(rng, monkeypatch):
    A = rng.standard_normal((9, 9))
    A = A @ A.T
    values, V = np.linalg.eigh(A)
    for noise in (1e-12, 1e-4, 0.3):
        wrong = V + noise * rng.standard_normal(V.shape), values + noise * rng.random(9)
        monkeypatch.setattr("numpy.linalg.eigh", lambda A, wrong=wrong: (np.sort(wrong[1]), wrong[0]))
        least = least_eigenvalue(A)
        monkeypatch.undo()
        assert values[0] - 600 * noise <= least <= values[0] * (1 + 1e-12)


def test_sums_of_what_is_left_are_rounded_up(monkeypatch):
    # With a guess of 0 for the eigenvalue -1, and no factor, all of it is left.
    monkeypatch.setattr("numpy.linalg.eigh", lambda A: (np.zeros(len(A)), np.eye(len(A))))
    for n in (1, 2, 12):
        assert -1 - 1e-12 * n < least_eigenvalue(-np.eye(n)) <= -1


def test_a_bound_that_is_not_finite_proves_nothing():
    least = least_eigenvalue(1e308 * np.ones((3, 3)))
    assert not least > -1e308


def test_dominance_proves_laplacians(rng):
    W = rng.random((12, 12)) * (rng.random((12, 12)) < 0.3)
    W = np.triu(W, 1) + np.triu(W, 1).T
    W[0] = W[:, 0] = 0.0  # a vertex of its own
    d = W.sum(axis=1)
    root = np.sqrt(np.maximum(d, 1e-9))
    for L in (np.diag(d) - W, (np.diag(d) - W) / np.outer(root, root)):
        s = dominance(L)
        assert 0 <= s <= 1e-14
        assert is_definite(arb_mat(L.tolist()) + diagonal([s + 1e-30] * 12))
        assert dominance(L - 0.25 * np.eye(12)) >= 0.25
        assert dominance(L, sparse_times(L)) == s
    assert dominance(np.diag([1.0, 2.0])) == 0
    # A product with the matrix itself is of no use where entries beside the diagonal are above zero.
    assert dominance(np.ones((2, 2)) + np.eye(2), lambda x: -5 * x) == 0
    # What is sufficient is not necessary: here the least eigenvalue is 0.1.
    X = np.full((3, 3), 0.9) + 0.1 * np.eye(3)
    assert not dominance(X) <= 0.79
    assert dominance(np.zeros((2, 2))) == INFINITE


def test_dominance_returns_the_upper_end(monkeypatch):
    monkeypatch.setattr("cvxproof.proofs.balls.largest", lambda x: arb(1, 0.5))
    assert dominance(np.diag([1.0, 2.0])) >= 1.5


def test_sparse_products_are_exact(rng):
    A = rng.standard_normal((6, 6)) * (rng.random((6, 6)) < 0.4)
    A[2] = 0.0
    v = balls(rng.standard_normal(6))
    assert [fraction(x) for x in sparse_times(A)(v)] == [fraction(x) for x in times(arb_mat(A.tolist()), v)]
    assert sparse_times(np.zeros((3, 3)))(balls(np.ones(3))).tolist() == [0, 0, 0]


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 1e300])
def test_slices_are_whole_numbers_and_nothing_is_lost(rng, scale):
    A = scale * rng.standard_normal((4, 5)) * 10.0 ** rng.uniform(-20, 0, (4, 5))
    A[0, 0], A[0, 1] = 0.0, 5e-324
    for bits, count in ((21, 3), (20, 6), (5, 2)):
        parts, k, missed = slices(A, bits, count)
        assert len(parts) == count
        assert np.abs(parts[0]).max() <= 2**bits
        assert all(np.abs(part).max() <= 2 ** (bits - 1) for part in parts[1:])
        assert all((part == np.rint(part)).all() for part in parts)
        unit = Fraction(2) ** k
        for at in np.ndindex(A.shape):
            whole = sum(Fraction(int(part[at])) * unit / 2 ** (i * bits) for i, part in enumerate(parts))
            assert abs(Fraction(A[at]) - whole) <= Fraction(missed) * unit
        assert missed <= 0.5000001 * 2.0 ** -(bits * (count - 1))
    assert np.abs(parts[0]).max() > 2 ** (bits - 1) - 1  # no bit is wasted


def test_what_slices_leave_out_is_bounded_by_the_largest_of_it():
    A = np.array([[1.0, 2.0**-9]])  # with bits=4 units of 2^-3: 1 is 8 of them, and 2^-9 leaves the first two parts
    parts, k, missed = slices(A, 4, 2)
    assert (k, parts[0].tolist(), parts[1].tolist()) == (-3, [[8, 0]], [[0, 0]])
    assert missed == 2.0**-6


@pytest.mark.parametrize("n", [1, 2, 127, 128, 255, 256, 3000])
def test_sums_of_eight_times_n_products_stay_below_the_range_of_whole_floats(n):
    bits = exact_bits(n)
    assert 8 * n * 2 ** (2 * bits) <= 2**53 < 8 * n * 2 ** (2 * bits + 4)


def test_a_factor_that_leaves_the_range_of_floats_proves_nothing():
    for size in (1e-320, 1e-160):
        assert -1e-290 < least_eigenvalue(size * np.eye(3), 0.5 * size) <= size
    assert not least_eigenvalue(1e308 * (np.eye(4) + 0.5), 1e300) > 1e308


def scattered(rng, n):
    """Numbers of very different sizes."""
    return rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-30, 0, (n, n))


@pytest.mark.parametrize("n", [LARGE - 1, LARGE, LARGE + 5])
@pytest.mark.parametrize("bits", [BITS // 2, BITS])
def test_dense_products_hold_the_exact_ones(rng, n, bits):
    A, x = scattered(rng, n) * 1e9, rng.standard_normal(n) * 10.0 ** rng.uniform(-30, 0, n)
    A[3] = 0.0
    with ctx.workprec(4000):
        exact = times(arb_mat(A.tolist()), balls(x))
    with ctx.workprec(bits):
        product = dense_times(A)(balls(x))
    size = float(np.abs(A).max() * np.abs(x).sum())
    assert all(p.contains(e) for p, e in zip(product, exact, strict=True))
    assert max(float(p.rad()) for p in product) <= size * 2.0 ** (8 - 5 * bits // 8)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_dense_products_of_balls_hold_those_of_all_that_is_in_them(rng, scale):
    n = LARGE
    A, x = rng.standard_normal((n, n)), balls(rng.standard_normal(n)) * scale / 3
    with ctx.workprec(BITS // 2):
        product = dense_times(A)
        wide = product(x + arb(0, 1e-9 * scale))
        close = product(x)
        nothing = product(balls(np.zeros(n)))
    for sign in (-1, 0, 1):
        corner = x + sign * scale * balls(1e-9 * np.sign(A[0]))
        assert wide[0].contains(times(arb_mat(A.tolist()), corner)[0])
    assert (wide[0].rad() / scale) < 20e-9 * n
    assert (close[0].rad() / scale) < 1e-22
    assert close[0].contains(times(arb_mat(A.tolist()), x)[0])
    assert nothing.tolist() == [0] * n


def test_dense_products_bound_what_their_whole_numbers_leave_out():
    # Every entry ends in the same bits below the last integer, so that what is left out is as large as it can be.
    n, tail = LARGE, 2.0**-51
    with ctx.workprec(BITS // 4):
        bits = exact_bits(n)
        assert ctx.prec // 32 * bits < 51
        A, ones = np.full((n, n), 1.0 + tail), np.ones(n)
        for left, right in ((A, ones), (np.ones((n, n)), A[0]), (A, A[0]), (-A, A[0])):
            exact = times(arb_mat(left.tolist()), balls(right))[0]
            product = dense_times(left)(balls(right))[0]
            assert product.contains(exact)
            assert product.rad() <= 4 * n * tail


def test_products_with_a_factor_twice(rng):
    X, v = arb_mat(rng.standard_normal((4, 2)).tolist()), balls(rng.standard_normal(4))
    assert [fraction(x) for x in gram_times(X)(v)] == [fraction(x) for x in times(gram(X), v)]


def test_a_factor_of_a_guessed_shift_proves_it(rng):
    X = rng.standard_normal((30, 30))
    A = X @ X.T
    A = (A + A.T) / 2 + 0.5 * np.eye(30)
    true = np.linalg.eigvalsh(A)[0]
    assert 0.4 - 1e-11 < least_eigenvalue(A, 0.4) <= 0.4
    assert -3 - 1e-11 < least_eigenvalue(A, -3.0) <= -3
    with pytest.raises(np.linalg.LinAlgError):
        least_eigenvalue(A, 1.01 * true)


def test_a_shift_is_zero_of_definite_matrices_and_of_rounding_of_singular_ones(rng):
    X = rng.standard_normal((30, 4))
    singular = X @ X.T
    singular = (singular + singular.T) / 2
    assert shift(singular + 1e-9 * np.eye(30), "K") == ("K", 0, True)
    name, s, is_rounding = shift(singular, "K")
    assert name == "K"
    assert is_rounding
    assert 0 < s < 1e-12 * singular.max()
    assert is_definite(arb_mat(singular.tolist()) + diagonal([s + 1e-30] * 30))
    # Between nothing and rounding: the factor of the guess does not exist, but eigenvectors prove it.
    size = (singular + np.eye(30)).diagonal().max()
    nearly = singular + 4e-14 * size * np.eye(30)
    assert np.linalg.eigvalsh(nearly)[0] < 30 * 2.0**-48 * size
    assert shift(nearly, "K").s == 0
    coarse = shift(singular - 1e-10 * size * np.eye(30), "K")
    assert not coarse.is_rounding
    assert 1e-10 * size * 0.99 < coarse.s < 1.01e-10 * size
    with pytest.raises(Refuted, match=r"K with a diagonal of .* has eigenvalues down to -"):
        shift(singular - 1e-5 * size * np.eye(30), "K")


@pytest.mark.parametrize(("share", "small"), [(0.75, True), (1.25, False)])
def test_what_counts_as_rounding(share, small):
    A = np.diag([1.0, 1.0, 1.0, -share * 4 * 2.0**-48])
    for scale in (1.0, 2.0**40):
        found = shift(scale * A, "K")
        assert float(found.s) == pytest.approx(scale * share * 4 * 2.0**-48, rel=0.1, abs=0)
        assert found.is_rounding is small


def test_the_shift_of_a_graph_is_the_smaller_of_two_proofs(rng):
    W = np.triu(rng.random((12, 12)), 1)
    L = np.diag((W + W.T).sum(axis=1)) - W - W.T
    assert 0 <= shift(L, "L").s <= dominance(L)
    # Dominance proves this with a shift of 0.8 only.
    dense = np.full((3, 3), 0.9) + 0.1 * np.eye(3)
    assert shift(dense, "L").s == 0


@pytest.mark.parametrize("exponent", [-3, -40, -100])
def test_definiteness_is_decided_by_the_last_digit(exponent):
    tiny = arb(2) ** exponent
    assert is_definite(arb_mat([[ONE, ONE], [ONE, 1 + tiny]]))
    assert not is_definite(arb_mat([[ONE, ONE], [ONE, 1 - tiny]]))
    assert not is_definite(arb_mat([[ONE, ONE], [ONE, ONE]]))


def test_definiteness_of_large_and_badly_scaled_matrices(rng):
    X = rng.standard_normal((20, 20))
    scales = 10.0 ** rng.uniform(-12, 12, 20)
    A = gram(arb_mat((X * scales[:, None]).tolist()))
    assert is_definite(A)
    assert is_definite(diagonal(balls([1e-200, 1.0, 1e200])))
    assert not is_definite(A - diagonal([arb(1)] * 20))
    assert not is_definite(gram(arb_mat(X[:, :19].tolist())))
    assert not is_definite(diagonal(balls([1.0, -1e-300])))
    assert is_definite(arb_mat([[3.0]]))


def solved(A, b, stored=None):
    return solution(floats(entries(A)), lambda x: times(A, x), b, (lambda: A) if stored is None else stored)


def test_refinement_by_floats_needs_no_stored_matrix(rng):
    A, b = arb_mat((rng.standard_normal((5, 5)) + 4 * np.eye(5)).tolist()), balls(rng.standard_normal(5))

    def never():
        raise AssertionError

    missed = b - times(A, solved(A, b, never))
    assert total(missed**2) <= 1e-48 * total(b**2)
    assert solved(A, balls(np.zeros(5)), never).tolist() == [0] * 5


@pytest.mark.parametrize("n", [3, 9, 14])
def test_linear_systems_are_solved_to_nearly_all_bits(n):
    hilbert = [[fmpq(1, i + j + 1) for j in range(n)] for i in range(n)]  # condition numbers to 1e20
    A, b = arb_mat([[arb(x) for x in row] for row in hilbert]), balls(np.ones(n))
    x = solved(A, b)
    missed = max(abs(float(one)) for one in b - times(A, x))
    assert missed < 1e-20
    # The sum of the inverse's entries is n^2.
    assert float(total(x)) == pytest.approx(n**2, rel=1e-12)


def test_a_singular_system_has_no_solution():
    with pytest.raises(ZeroDivisionError):
        solved(arb_mat([[1.0, 1.0], [1.0, 1.0]]), balls([1.0, 2.0]))


def sums(y, s):
    return sum((Fraction(float(a)) * b for a, b in zip(y, s, strict=True)), Fraction(0))


def near(found, exact):
    """Balls that enclose rational numbers, and nearly nothing else."""
    wide = [arb(fmpq(x.numerator, x.denominator)) for x in exact]
    return all(a.overlaps(b) and abs(a - b) <= 1e-70 * (1 + abs(b)) for a, b in zip(found, wide, strict=True))


def test_multipliers_are_clipped_and_the_heavier_side_is_scaled():
    y = balls([1.0, -1.0, 1.0])
    # Clipped to (0, 1, 1/2): the positive side weighs 1/2, the negative one 1 and gives up half of it.
    assert near(balanced(y, balls([-0.5, 3.0, 0.5]), ZERO, ONE), [Fraction(0), Fraction(1, 2), Fraction(1, 2)])
    assert near(balanced(-y, balls([-0.5, 3.0, 0.5]), ZERO, ONE), [Fraction(0), Fraction(1, 2), Fraction(1, 2)])
    assert near(
        balanced(y, balls([0.1, 0.2, 0.3]), ZERO, INFINITE),
        [
            Fraction(x) * share
            for x, share in zip(
                (0.1, 0.2, 0.3),
                (Fraction(0.2) / (Fraction(0.1) + Fraction(0.3)), 1, Fraction(0.2) / (Fraction(0.1) + Fraction(0.3))),
                strict=True,
            )
        ],
    )
    assert floats(balanced(y, balls([-0.5, 3.0, 0.5]), ZERO, ONE, False)).tolist() == [0, 1, 0.5]
    assert floats(balanced(y, balls([0.25, 0.5, 0.25]), ZERO, ONE)).tolist() == [0.25, 0.5, 0.25]


def test_what_has_no_weight_keeps_its_multiplier():
    found = balanced(balls([2.0, -1.0, 0.0]), balls([1.0, 1.0, 0.75]), ZERO, INFINITE)
    assert near(found, [Fraction(1, 2), Fraction(1), Fraction(3, 4)])
    found = balanced(balls([1.0, -2.0, 0.0]), balls([1.0, 1.0, 0.75]), ZERO, INFINITE)
    assert near(found, [Fraction(1), Fraction(1, 2), Fraction(3, 4)])


def test_multipliers_without_bounds_are_shifted():
    y = balls([1.0, -1.0, 1.0])  # the sum is 2 - 5 + 1 = -2
    assert near(
        balanced(y, balls([2.0, 5.0, 1.0]), -INFINITE, INFINITE), [Fraction(8, 3), Fraction(13, 3), Fraction(5, 3)]
    )
    weights = balls([2.0, -4.0, 0.0])  # 4 - 20 = -16
    exact = [2 + Fraction(16, 6), 5 - Fraction(16, 6), 1 - Fraction(16, 6)]
    assert near(balanced(weights, balls([2.0, 5.0, 1.0]), -INFINITE, INFINITE), exact)


def test_the_linear_term_takes_part_in_the_balance():
    y = balls([2.0, -1.0])
    # 2 * 1 - 4 + (0.5 + 0.5) = -1: the negative side gives up a quarter.
    assert near(balanced(y, balls([1.0, 4.0]), ZERO, INFINITE, True, balls([0.5, 0.5])), [Fraction(1), Fraction(3)])
    assert near(
        balanced(y, balls([1.0, 4.0]), -INFINITE, INFINITE, True, balls([0.5, 0.5])), [Fraction(4, 3), Fraction(11, 3)]
    )
    with pytest.raises(ZeroDivisionError):
        balanced(y, balls([0.0, 0.0]), ZERO, INFINITE, True, balls([1.0]))


def test_sums_of_any_numbers_balance_exactly(rng):
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    s = 10.0 ** rng.uniform(-250, 250, 30)
    out = balanced(balls(y), balls(s), ZERO, INFINITE)
    heavy = y * float(np.sign(sums(y, map(Fraction, s)))) > 0
    assert (floats(out)[~heavy] == s[~heavy]).all()
    assert abs(total(balls(y) * out)) <= 1e-70 * float(total(out))


@pytest.mark.parametrize("worst", [False, True])
def test_remainders_of_a_factor_are_charged(rng, worst, monkeypatch):
    """Against the exact remainder A - guess I - RR' of the factor: also where BLAS rounds sums as badly as it may."""
    factors, factorise, multiply = [], proofs_balls.dpotrf, proofs_balls.dtrmm

    def dpotrf(*given, **options):
        factor, failed = factorise(*given, **options)
        factors.append(factor[::-1, ::-1].copy())
        return factor, failed

    def dtrmm(alpha, S, T):
        lengths = np.outer(np.linalg.norm(S, axis=1), np.linalg.norm(T, axis=0))
        return multiply(alpha, S, T) + worst * rng.choice([-1.0, 1.0], lengths.shape) * len(S) * 2.0**-53 * lengths

    monkeypatch.setattr(proofs_balls, "dpotrf", dpotrf)
    monkeypatch.setattr(proofs_balls, "dtrmm", dtrmm)
    for _ in range(40):
        n = int(rng.integers(2, 7))
        X = rng.standard_normal((n, n + 2))
        A = X @ X.T
        A = (A + A.T) / 2
        guess = 0.5 * float(np.linalg.eigvalsh(A)[0])
        least = fraction(least_eigenvalue(A, guess))
        R = [[Fraction(x) for x in row] for row in factors[-1].tolist()]
        rows = []
        for i in range(n):
            products = [sum(a * b for a, b in zip(R[i], R[j], strict=True)) for j in range(n)]
            left = [Fraction(A[i, j]) - Fraction(guess) * (i == j) - products[j] for j in range(n)]
            rows.append(sum(map(abs, left)))
        assert least <= Fraction(guess) - max(rows)


@pytest.mark.parametrize("n", [2, 65, 130, 300])
def test_products_of_whole_numbers_are_exact_as_lapack_makes_them(rng, n):
    """Rows of norms just below 2^26, in the shape in which a factor is multiplied with itself."""
    H = np.triu(np.rint(rng.uniform(-1, 1, (n, n)) * 2.0**26 / np.sqrt(n)))
    H[0] *= 0
    H[0, -1] = 2**26 - 1
    product, exact = proofs_balls.dlauum(np.asfortranarray(H))[0], H.astype(int).tolist()
    some = np.sort(rng.integers(n, size=(30, 2)), axis=1).tolist()
    for i, j in [(0, 0), (0, n - 1), *some]:
        assert int(product[i, j]) == sum(a * b for a, b in zip(exact[i], exact[j], strict=True))
