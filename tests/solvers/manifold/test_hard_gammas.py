"""LapSVM and LapRLS where gamma_A is far below gamma_I: what is claimed, held against arithmetic in a hundred digits.

The objective of a returned point, and the dual objective at its multipliers, are evaluated by `exact_values`; the
reported gap must cover the difference.
"""

import decimal
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from exact_losses import margin_loss
from exact_numbers import ONE, number, wide
from exact_values import Manifold as Exact

import specmargin as sm
from specmargin import problems
from specmargin.kernels import LowRankKernel
from specmargin.objectives import LapSVM
from specmargin.objectives.rounding import lapsvm as parts
from specmargin.results import Certificate, SolveResult, Status
from specmargin.solvers import factorized, newton
from specmargin.solvers.manifold.answer import never_worse_than_zero
from specmargin.solvers.manifold.pcg import pcg

LOSSES = ("hinge", "squared_hinge", "squared")


def hard_problem(seed, kernel="dense"):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 15))
    X = rng.normal(size=(n, 2))
    if seed % 4 == 3:
        X[n // 2 :] = X[: n - n // 2]  # duplicates: a singular kernel
    K = sm.kernels.gram(X, kernel=["rbf", "rbf", "poly"][seed % 3], gamma=float(10 ** rng.uniform(-3, 1)))
    # Semidefinite in exact arithmetic, too, without which there is no optimum to compare with.
    K = K + 1e-13 * n * np.abs(K).max() * np.eye(n)
    if kernel == "low rank":
        K = LowRankKernel(rng.normal(size=(n, 4)))
    W = sm.graphs.knn_graph(X, n_neighbors=3)
    L = sm.graphs.laplacian(W, normalized=bool(rng.integers(2)), power=int(rng.integers(1, 3)))
    y = np.full(n, -1)
    labeled = rng.permutation(n)[: int(rng.integers(2, n + 1))]
    y[labeled] = X[labeled, 0] > 0
    y[labeled[:2]] = 0, 1
    gamma_A, gamma_I = float(10 ** rng.uniform(-10, 0)), float(10 ** rng.uniform(-2, 5))
    loss = LOSSES[seed // 2 % 3]
    labels = sm.encode_labels(y)
    return LapSVM(K, L, labels, loss=loss, gamma_A=gamma_A, gamma_I=gamma_I, fit_intercept=seed % 5 > 0)


def at_zero(obj):
    y = obj.labels.sign
    if not obj.fit_intercept:
        return obj.scale * len(y)
    if obj.loss.name == "hinge":
        return 2.0 * min((y > 0).sum(), (y < 0).sum())
    return obj.scale * float(((1 - y * y.mean()) ** 2).sum())


def check(obj, exact, result, tol):
    primal = exact.primal(result.variables["alpha"], result.variables["b"])
    missing = primal - exact.dual(result.variables["beta"])
    certificate = result.certificate
    assert missing <= wide(certificate.gap)
    assert abs(primal - wide(certificate.primal_objective)) <= wide(certificate.rounding)
    assert primal <= wide(at_zero(obj)) * (ONE + number("1e-12"))
    if result.status is Status.OPTIMAL:
        assert missing <= wide(tol) * primal
    elif result.status is Status.OPTIMAL_INACCURATE:
        assert tol < certificate.relative_gap <= 1e-2


@pytest.mark.parametrize("seed", range(18))
def test_no_claim_is_more_than_exact_arithmetic_bears_out(seed):
    obj = hard_problem(seed)
    exact, solve = Exact(obj), {"factorized": lambda obj: factorized(obj)}
    if obj.loss.name != "hinge":
        solve |= {"newton": newton, "pcg": lambda obj: pcg(obj, max_iter=300)}
    for name, solver in solve.items():
        check(obj, exact, solver(obj), 1e-6 if name == "pcg" else 1e-9)
    if seed % 3 == 0:
        check(obj, exact, problems.solve(problems.lapsvm_dual(obj)), 1e-6)


@pytest.mark.parametrize("share", [1e-9, 1e-2])
@pytest.mark.parametrize("seed", range(3))
def test_rounding_covers_what_an_error_of_the_products_does(seed, share):
    """Errors of the very size that the image admits, in the worst directions and in others, at points of any kind."""
    rng, obj = np.random.default_rng(seed), hard_problem(seed)
    exact, (n, y) = Exact(obj), (obj.labels.n_samples, obj.labels.sign)
    best = factorized(obj).variables
    for alpha, theta in (
        (rng.normal(size=n), rng.normal(size=len(y))),
        (best["alpha"], y * best["beta"]),
        (4.0 * best["alpha"], y),  # margins beyond 1, where the multipliers should be zero
    ):
        b, theta = 0.1 * float(rng.normal()), obj.repair_multipliers(theta)
        primal, dual = exact.primal(alpha, b), exact.dual(y * theta)
        image = obj.products.image(alpha)
        push = 2 * obj.gamma_I * image.g + obj.gamma_A * alpha
        for pull in (0.0, theta, -y * obj.margin_loss.gradient(y * (image.f[obj.labels.labeled] + b))):
            slope = push.copy()
            slope[obj.labels.labeled] -= pull
            for direction in (np.sign(slope), -np.sign(slope)):
                error = image.f_error + share * np.abs(image.f)
                f = image.f + (error - image.f_error) * direction
                g, g_error = obj.products.graph(f)
                false = replace(image, f=f, f_error=error, g=g, g_error=g_error, g_shift=obj.products.spread(error))
                certificate = obj.prove(alpha, b, theta, Ka=false, thorough=False)
                rounding = wide(certificate.rounding)
                assert abs(primal - wide(certificate.primal_objective)) <= rounding
                assert wide(certificate.dual_objective) - rounding <= dual
                assert primal - dual <= wide(certificate.gap) * (ONE + number("1e-12"))


@pytest.mark.parametrize("seed", range(3))
def test_rounding_counts_for_either_point(seed):
    rng, obj = np.random.default_rng(seed), hard_problem(seed)
    exact = Exact(obj)
    theta = obj.repair_multipliers(rng.normal(size=len(exact.y)))
    other = obj.reduction.coefficients(theta / 2)
    alpha = np.zeros_like(other)
    certificate = obj.prove(alpha, 0.0, theta, other, thorough=False)
    rounding = wide(certificate.rounding)
    assert abs(exact.primal(alpha, 0.0) - wide(certificate.primal_objective)) <= rounding
    assert wide(certificate.dual_objective) - rounding <= exact.dual(obj.labels.sign * theta)
    first, second = (obj.products.image(point) for point in (alpha, other))
    penalties = [parts.penalty_with_error(obj, theta, image) for image in (first, second)]
    errors = [
        parts.primal_with_error(obj, first, 0.0, theta, penalties[0][0])[1],
        parts.dual_with_error(obj, theta, second, penalties[1], False)[1],
    ]
    assert certificate.rounding == pytest.approx(
        sum(errors) + obj.scale * sum(error for _, error in penalties), rel=1e-9
    )


@pytest.mark.parametrize("seed", range(6))
def test_low_rank_kernels_are_claimed_honestly(seed):
    obj = hard_problem(seed, "low rank")
    check(obj, Exact(obj), factorized(obj), 1e-9)


@pytest.mark.parametrize("offset", [1e3, 1e8, 1e12])
@pytest.mark.parametrize("loss", LOSSES)
def test_factors_far_from_the_origin(offset, loss):
    """The form over the span of the factor was indefinite by rounding: LinAlgError, once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14, 3))
    y = np.where(np.arange(14) < 8, X[:, 0] > 0, -1)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=3), normalized=False)
    K = LowRankKernel(np.column_stack([X + offset, np.ones(14)]))
    obj = LapSVM(K, L, sm.encode_labels(y), loss=loss, gamma_A=1e-2, gamma_I=10.0)
    exact = Exact(obj)
    check(obj, exact, factorized(obj), 1e-9)
    built = problems.solve(problems.lapsvm_dual(obj))
    if built.status.has_solution:  # of a quadratic form of 1e20 Clarabel may make nothing
        check(obj, exact, built, 1e-6)


class Cancelling:
    """L as a difference of large numbers: its products are off by far more than their own size would tell."""

    def __init__(self, L):
        self.dense, self.shape = L.toarray(), L.shape

    def __matmul__(self, x):
        return (self.dense @ x + 1e8 * x) - 1e8 * x


@pytest.mark.parametrize("seed", [0, 2, 4, 5, 8])
def test_a_graph_that_is_known_by_its_products_is_their_matrix(seed):
    obj = hard_problem(seed)
    hidden = replace(obj, L=Cancelling(obj.L), gamma_A=max(obj.gamma_A, 1e-3))
    columns = np.column_stack([hidden.L @ unit for unit in np.eye(len(obj.K))])
    written = replace(hidden, L=sm.graphs.LaplacianOperator(sp.csr_array(columns), 1, False, np.ones(len(columns))))
    check(hidden, Exact(written), factorized(hidden), 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_ambient_norm_that_hardly_weighs(loss):
    """A hinge objective of 14,367 where alpha = 0 has 20, and LinAlgError for the squares, once."""
    X = np.random.default_rng(1).normal(size=(150, 2))
    y = np.where(np.arange(150) < 20, X[:, 0] > 0, -1)
    K = sm.kernels.gram(X, gamma=1 / 200)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6), normalized=False)
    obj = LapSVM(K, L, sm.encode_labels(y), loss=loss, gamma_A=1e-10, gamma_I=1.0)
    result = factorized(obj)
    assert result.certificate.is_optimal(1e-5)
    assert result.certificate.primal_objective < 0.96 * at_zero(obj)


@pytest.mark.parametrize(
    ("primal", "rounding", "kept"),
    [(5.0, 0.0, True), (5.0, 1e6, False), (1e3, 0.0, False), (np.nan, 0.0, False), (np.inf, 0.0, False)],
)
def test_what_rounding_may_hide_counts_against_an_answer(primal, rounding, kept):
    """An objective of 5 that is known to 1e6 only may lie far above that of alpha = 0, which is 13."""
    obj = replace(hard_problem(0), fit_intercept=False)
    n = obj.labels.n_samples
    variables = {"alpha": np.ones(n), "b": np.zeros(()), "f": np.ones(n)}
    unproved = Certificate(primal, -np.inf, rounding=rounding)
    result = SolveResult("lapsvm", Status.UNPROVED, variables, unproved)
    answer = never_worse_than_zero(obj, result, 1e-9)
    assert (answer is result) == kept
    if not kept:
        assert not answer.variables["alpha"].any()
        assert answer.certificate.primal_objective == at_zero(obj)
        assert answer.status is Status.UNPROVED


def test_smooth_losses_far_beyond_their_margins():
    """They see 1 - slack, whose rounding at a slack of -9 is worth sixty times what was charged; at both ends, too."""
    rng, y = np.random.default_rng(0), np.array([-1.0, 1.0])
    obj = LapSVM(np.eye(2), None, sm.encode_labels([0, 1]), loss=sm.losses.SmoothHinge(40.0), fit_intercept=False)
    with decimal.localcontext(prec=400):  # 1 + exp(-600)
        for _ in range(300):
            alpha, b = y * rng.uniform(7, 15, 2), float(rng.uniform(-0.2, 0.2))
            primal, rounding = parts.primal_with_error(obj, obj.products.image(alpha, slices=2), b, np.zeros(2), 0.0)
            exact = sum(margin_loss(obj.loss, wide(s) * (wide(f) + wide(b))) for s, f in zip(y, alpha, strict=True))
            assert abs(wide(primal) - exact) <= wide(rounding) <= wide(primal) * number("1e-11")


@pytest.mark.parametrize("gamma_A", [1e-300, 1e-160])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_kernel_whose_products_overflow_is_refused_in_own_words(gamma_A, fit_intercept):
    X, truth = sm.datasets.make_two_moons(n_samples=60, random_state=0)
    y = sm.hide_labels(truth, per_class=4, random_state=0)
    with pytest.raises(
        sm.exceptions.SolverError, match=rf"entries up to .* at gamma_A={gamma_A}.*take a larger gamma_A"
    ):
        sm.LapSVM(gamma_A=gamma_A, fit_intercept=fit_intercept).fit(X, y)
    for small in (1e-100, 1e-40):  # beyond single precision, in which libsvm keeps a kernel
        assert sm.LapSVM(gamma_A=small, fit_intercept=fit_intercept).fit(X, y).result_.status is Status.OPTIMAL
