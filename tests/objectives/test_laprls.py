"""LapRLS with numbers for targets: normal equations, finite differences, CVXPY, and bounds that hold."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.objectives import LapRLS, LapSVM
from specmargin.solvers import factorized

intercepts = pytest.mark.parametrize("fit_intercept", [True, False])
weights = pytest.mark.parametrize("weighted", [False, True])


def problem(
    manifold_data, rng, *, scale=1.0, offset=0.0, gamma_A=0.05, gamma_I=0.3, fit_intercept=True, weighted=False, **more
):
    K, L, labels = manifold_data(**more)
    z = scale * (rng.normal(size=labels.n_labeled) + offset)
    c = np.exp(2.0 * rng.normal(size=len(z))) if weighted else None
    options = {"gamma_A": gamma_A, "gamma_I": gamma_I, "fit_intercept": fit_intercept, "weights": c}
    return LapRLS(K, L, labeled=labels.labeled, targets=z, **options)


def normal_equations(obj):
    """Decisions from the derivatives by alpha (less a factor K) and b."""
    n, lab = len(obj.K), obj.labeled
    J = np.zeros(n)
    J[lab] = 1.0 if obj.weights is None else obj.weights
    z = np.zeros(n)
    z[lab] = obj.targets * J[lab]
    A = J[:, None] * obj.K + obj.gamma_A * np.eye(n) + obj.gamma_I * np.asarray(obj.L @ obj.K)
    if not obj.fit_intercept:
        return obj.K @ np.linalg.solve(A, z)
    A = np.block([[A, J[:, None]], [(J @ obj.K)[None], J.sum()[None, None]]])
    solution = np.linalg.solve(A, np.append(z, z.sum()))
    return obj.K @ solution[:n] + solution[n]


@intercepts
@weights
def test_the_answer_is_that_of_the_normal_equations(manifold_data, rng, fit_intercept, weighted):
    obj = problem(manifold_data, rng, fit_intercept=fit_intercept, weighted=weighted)
    result = factorized(obj)
    np.testing.assert_allclose(result.variables["f"], normal_equations(obj), atol=1e-10)
    assert result.problem == "LapRLS"
    assert result.certificate.is_optimal(1e-10)
    again = sm.certify(obj, result)
    assert again.is_optimal(1e-10)


@intercepts
@weights
def test_cvxpy_agrees_in_both_forms(manifold_data, rng, fit_intercept, weighted):
    obj = problem(manifold_data, rng, fit_intercept=fit_intercept, weighted=weighted)
    ours = factorized(obj)
    for build in (sm.problems.lapsvm_dual, sm.problems.lapsvm_primal, sm.problems.lapsvm_problem):
        theirs = sm.solve(build(obj))
        assert theirs.certificate.is_optimal(1e-6)
        np.testing.assert_allclose(theirs.variables["f"], ours.variables["f"], atol=1e-5)


def test_signs_for_targets_are_the_classifier(manifold_data):
    K, L, labels = manifold_data()
    weights = {"gamma_A": 0.05, "gamma_I": 0.3}
    classifier = factorized(LapSVM(K, L, labels, loss="squared", **weights))
    numbers = factorized(LapRLS(K, L, labeled=labels.labeled, targets=labels.sign, **weights))
    np.testing.assert_allclose(numbers.variables["f"], classifier.variables["f"], atol=1e-12)
    assert numbers.certificate.primal_objective == pytest.approx(classifier.certificate.primal_objective, rel=1e-12)


def test_without_the_graph_it_is_scikit_learns_kernel_ridge(manifold_data, rng):
    obj = problem(manifold_data, rng, gamma_I=0.0, fit_intercept=False)
    ridge = KernelRidge(alpha=0.05, kernel="precomputed")
    ridge.fit(obj.K[np.ix_(obj.labeled, obj.labeled)], obj.targets)
    np.testing.assert_allclose(factorized(obj).variables["f"], ridge.predict(obj.K[:, obj.labeled]), atol=1e-10)


@intercepts
@weights
def test_derivatives_are_finite_differences(manifold_data, rng, fit_intercept, weighted):
    obj = problem(manifold_data, rng, fit_intercept=fit_intercept, offset=2.0, weighted=weighted)
    alpha, direction, b, step = rng.normal(size=18), rng.normal(size=18), 0.3 * fit_intercept, 1e-5
    slope, slope_b = obj.gradient(alpha, b)
    residuals = obj.targets - (obj.K @ alpha)[obj.labeled] - b
    np.testing.assert_allclose(obj.multipliers(alpha, b), 2.0 * obj.labels.weights_or_ones * residuals, atol=1e-12)
    by_alpha = (obj.value_at(alpha + step * direction, b) - obj.value_at(alpha - step * direction, b)) / (2 * step)
    assert slope @ direction == pytest.approx(by_alpha, rel=1e-7)
    by_b = (obj.value_at(alpha, b + step) - obj.value_at(alpha, b - step)) / (2 * step)
    assert slope_b == pytest.approx(by_b * fit_intercept, rel=1e-7)
    change, change_b = obj.hessian_product(alpha, b, direction, 0.7 * fit_intercept)
    ahead = obj.gradient(alpha + step * direction, b + step * 0.7 * fit_intercept)
    np.testing.assert_allclose(change, (ahead[0] - slope) / step, atol=1e-4)
    assert change_b == pytest.approx((ahead[1] - slope_b) / step, abs=1e-4)


@intercepts
@weights
def test_no_multipliers_bound_from_above(manifold_data, rng, fit_intercept, weighted):
    obj = problem(manifold_data, rng, fit_intercept=fit_intercept, offset=3.0, weighted=weighted)
    optimum = factorized(obj).certificate.primal_objective
    for size in (1e-3, 1.0, 10.0):
        theta = obj.repair_multipliers(size * rng.normal(size=7))
        assert obj.dual_bound(theta) <= optimum
        assert obj.certificate({"alpha": rng.normal(size=18), "b": 0.0}, {"beta": theta}).gap >= 0
    best = factorized(obj).variables["beta"]
    assert obj.dual_bound(obj.repair_multipliers(best)) == pytest.approx(optimum, rel=1e-10)


def exact_gap(obj, result):
    """Primal less dual objective at the returned points, in fractions; the kernel is that of float64."""
    n, lab = len(obj.K), obj.labeled

    def vector(x):
        return [Fraction(float(v)) for v in x]

    def product(A, x):
        return [sum(a * v for a, v in zip(row, x, strict=True)) for row in A]

    K, L = [vector(row) for row in np.asarray(obj.K)], [vector(row) for row in np.asarray(obj.L)]
    alpha, b = vector(result.variables["alpha"]), Fraction(float(result.variables["b"]))
    c = vector(np.ones(len(lab)) if obj.weights is None else obj.weights)
    z, theta = vector(obj.targets), vector(obj.repair_multipliers(np.asarray(result.variables["beta"])))
    assert not obj.fit_intercept or sum(theta) == 0
    A, I = Fraction(obj.gamma_A), Fraction(obj.gamma_I)
    f = product(K, alpha)
    Lf = product(L, f)
    penalty = A * sum(a * v for a, v in zip(alpha, f, strict=True)) + I * sum(a * v for a, v in zip(f, Lf, strict=True))
    primal = sum(w * (t - f[i] - b) ** 2 for w, t, i in zip(c, z, lab, strict=True)) + penalty
    r = [2 * (A * alpha[i] + I * Lf[i]) for i in range(n)]
    for t, i in zip(theta, lab, strict=True):
        r[i] -= t
    rKr = sum(a * v for a, v in zip(r, product(K, r), strict=True))
    dual = sum(t * v - t * t / (4 * w) for w, t, v in zip(c, theta, z, strict=True)) + penalty
    dual -= sum(t * f[i] for t, i in zip(theta, lab, strict=True)) + rKr / (4 * A)
    return primal, primal - dual


@intercepts
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize(("offset", "weighted"), [(0.0, False), (0.0, True), (1e8, False), (1e8, True)])
def test_the_gap_is_no_smaller_than_that_of_exact_arithmetic(
    manifold_data, rng, fit_intercept, scale, offset, weighted
):
    obj = problem(manifold_data, rng, scale=scale, offset=offset, fit_intercept=fit_intercept, weighted=weighted)
    result = factorized(obj)
    primal, gap = exact_gap(obj, result)
    certificate = result.certificate
    assert certificate.is_optimal(1e-6), result
    assert abs(certificate.primal_objective - primal) <= certificate.rounding
    # The bound may be taken at another point than alpha: never above the optimum, which the primal is near.
    assert certificate.dual_objective - certificate.rounding <= primal
    assert certificate.gap >= 0
    assert float(gap) <= 1e-6 * float(primal)


@pytest.mark.parametrize("gammas", [(1e-10, 1.0), (1e10, 1.0), (1.0, 1e10), (1e-10, 1e-10), (1e10, 1e10)])
def test_extreme_gammas_are_answered_with_a_proof(manifold_data, rng, gammas):
    result = factorized(problem(manifold_data, rng, gamma_A=gammas[0], gamma_I=gammas[1]))
    assert result.certificate.is_optimal(1e-6), result


@pytest.mark.parametrize("size", [1e-10, 1.0, 1e10])
def test_far_weights_are_answered_with_a_proof(manifold_data, rng, size):
    obj = problem(manifold_data, rng)
    c = np.where(np.arange(7) < 3, size, 1.0)
    result = factorized(obj.with_(weights=c))
    assert result.certificate.is_optimal(1e-6), result


def test_a_weight_of_two_is_a_target_given_twice(manifold_data, rng):
    obj = problem(manifold_data, rng, gamma_I=0.0)
    at, z = np.array([2, 5, 9]), np.array([1.0, -1.0, 3.0])
    K = np.asarray(obj.K)
    twice, rows = K[np.ix_([2, 2, 5, 9], [2, 2, 5, 9])], np.array([0, 1, 2, 3])
    weighted = factorized(LapRLS(K, None, labeled=at, targets=z, weights=np.array([2.0, 1.0, 1.0]), gamma_A=0.3))
    repeated = factorized(LapRLS(twice, None, labeled=rows, targets=np.array([1.0, *z]), gamma_A=0.3))
    assert weighted.certificate.primal_objective == pytest.approx(repeated.certificate.primal_objective, rel=1e-12)
    np.testing.assert_allclose(weighted.variables["f"][at], repeated.variables["f"][1:], atol=1e-12)


def test_equal_targets_are_met_exactly(manifold_data):
    K, L, labels = manifold_data(copies=2)
    for value in (0.1, 1e8 + 0.1, -3e-9):
        obj = LapRLS(K, L, labeled=labels.labeled, targets=np.full(7, value), gamma_A=0.1, gamma_I=1.0)
        result = factorized(obj)
        assert result.status is sm.Status.OPTIMAL
        np.testing.assert_allclose(result.variables["f"], value, rtol=1e-15)


def test_one_labelled_sample_is_a_constant(manifold_data):
    K, L, _ = manifold_data()
    result = factorized(LapRLS(K, L, labeled=np.array([3]), targets=np.array([2.5]), gamma_A=0.1, gamma_I=1.0))
    np.testing.assert_allclose(result.variables["f"], 2.5)


def test_changed_targets_share_the_factorisation(manifold_data, rng):
    obj = problem(manifold_data, rng)
    reduction = obj.reduction
    other = obj.with_(targets=np.arange(7.0))
    assert other.reduction is reduction
    np.testing.assert_allclose(factorized(other).variables["f"], normal_equations(other), atol=1e-10)
    fewer = obj.with_(labeled=obj.labeled[:4], targets=obj.targets[:4])
    np.testing.assert_allclose(factorized(fewer).variables["f"], normal_equations(fewer), atol=1e-10)
    scaled = obj.with_(gamma_A=0.1, gamma_I=0.6)
    np.testing.assert_allclose(factorized(scaled).variables["f"], normal_equations(scaled), atol=1e-10)
    with pytest.raises(InvalidInputError, match=r"targets have the shape \(6,\)"):
        obj.with_(targets=np.arange(6.0))
    with pytest.raises(InvalidTypeError, match="no loss to change"):
        obj.with_(loss="hinge")
