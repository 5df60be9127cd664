"""Global bounds, branch and bound, probing and one-flip descent against the enumeration of all labelings.

With fixed labels the S3VM is a convex SVM whose dual is a least-squares problem in a box: scipy's active-set
methods solve it here, with code that the package does not share. Its value at w is an upper bound, that of its
multipliers a lower bound, and both must meet.
"""

import itertools
import time
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize, nnls

from specmargin import verify
from specmargin.labels import encode_labels
from specmargin.losses import ExpSquared, SymmetricRamp
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import s3vm_relaxation
from specmargin.optima.bound import s3vm_bound, with_bound
from specmargin.optima.branching import branch_and_bound
from specmargin.optima.interior_point import barrier
from specmargin.optima.label_flips import one_flip
from specmargin.optima.label_svms import LabelSVMs
from specmargin.optima.probing import probe
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.results import Status
from specmargin.solvers import weighted_svm

KINDS = ["moons", "gaussians", "digits", "linear"]
LOSSES = ["squared_hinge", "hinge"]


@cache
def digits():
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def kernel_features(X, gamma):
    K = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    eigenvalues, vectors = np.linalg.eigh(K)
    kept = eigenvalues > 1e-10
    return vectors[:, kept] * np.sqrt(eigenvalues[kept])


def problem(kind="moons", C=1.0, balance=0.0, loss="squared_hinge", seed=0, u=6, l=4, **options):
    """A random S3VM; the first l samples are labelled, alternating."""
    rng = np.random.default_rng([seed, KINDS.index(kind), int(C)])
    n = u + l
    side = np.arange(n) % 2
    if kind == "moons":
        t = rng.uniform(0, np.pi, n)
        X = np.where(side[:, None], np.c_[1 - np.cos(t), 0.5 - np.sin(t)], np.c_[np.cos(t), np.sin(t)])
        X = kernel_features(X + 0.1 * rng.standard_normal((n, 2)), 2.0)
    elif kind == "gaussians":
        X = rng.standard_normal((n, 10))
        X[:, 0] += 3.0 * side
        X = kernel_features(X, 0.02)
    elif kind == "digits":
        images, digit = digits()
        rows = np.empty(n, dtype=int)
        for s, d in enumerate((3, 8)):
            rows[side == s] = rng.choice(np.flatnonzero(digit == d), int((side == s).sum()), replace=False)
        X = kernel_features(images[rows] / 16.0, 0.1)
    else:
        X = rng.standard_normal((n, 3)) + 1.2 * side[:, None]
    y = np.where(np.arange(n) < l, side, -1)
    return S3VM(X, encode_labels(y), loss, C=C, balance=balance, **options)


def trained(obj, labels):
    """The convex SVM with these labels of the unlabelled samples: its dual and its primal value, and w."""
    A, b = obj.features.dense(), obj.features.offset
    y, c = np.empty(len(A)), np.full(len(A), obj.C_star)
    y[obj.labels.labeled], c[obj.labels.labeled] = obj.labels.sign, obj.C
    y[obj.unlabeled] = labels
    q, rows = 1 - y * b, y[:, None] * A

    def values(a):
        w = rows.T @ a
        slack = np.maximum(1 - y * (A @ w + b), 0)
        if obj.loss.name == "squared_hinge":
            return q @ a - (a**2 / (4 * c)).sum() - 0.5 * w @ w, 0.5 * w @ w + c @ slack**2, w
        return q @ a - 0.5 * w @ w, 0.5 * w @ w + c @ slack, w

    if obj.loss.name == "squared_hinge":
        # min 1/2 a'(rows rows' + 1/(2c)) a - q'a over a >= 0, as least squares.
        return values(nnls(np.vstack([rows.T, np.diag((2 * c) ** -0.5)]), np.append(0 * A[0], (2 * c) ** 0.5 * q))[0])
    found = []
    for ridge, method in itertools.product((3e-5, 3e-4), ("bvls", "trf")):
        # A tiny ridge makes it one, too; which method copes differs, and the gap says so.
        tiny = ridge / np.sqrt(c)
        M, d = np.vstack([rows.T, np.diag(tiny)]), np.append(0 * A[0], q / tiny)
        found.append(values(np.clip(lsq_linear(M, d, (0, c), method=method, tol=1e-15, max_iter=1000).x, 0, c)))
        if found[-1][1] - found[-1][0] < 1e-7 * found[-1][1]:
            break
    return min(found, key=lambda values: values[1] - values[0])


def enumerated(obj):
    """All labelings with their values, (2^u, u) and (2^u,)."""
    labelings = np.array(list(itertools.product([-1.0, 1.0], repeat=len(obj.unlabeled))))
    found = [trained(obj, labels) for labels in labelings]
    lower, upper = np.array([f[0] for f in found]), np.array([f[1] for f in found])
    assert lower.min() == pytest.approx(upper.min(), rel=1e-6)  # the enumeration itself is exact
    return labelings, upper


def check_against_enumeration(obj):
    labelings, values = enumerated(obj)
    optimum = values.min()
    above = optimum * (1 + 1e-9)
    optimal = labelings[values <= optimum * (1 + 1e-7)]

    bound = s3vm_bound(obj)
    assert bound.status is Status.OPTIMAL
    assert 0 < bound.certificate.dual_objective <= above

    local = one_flip(obj)
    assert local.status is Status.STATIONARY
    assert local.certificate.primal_objective >= optimum * (1 - 1e-7)
    certified = with_bound(obj, local)
    assert certified.certificate.dual_objective == pytest.approx(bound.certificate.dual_objective, rel=1e-6)
    assert certified.certificate.gap >= -1e-9 * optimum

    exact = branch_and_bound(obj)
    assert exact.status is Status.OPTIMAL
    assert exact.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert exact.certificate.dual_objective <= above
    assert exact.certificate.dual_objective >= optimum * (1 - 2e-6)

    probed = probe(obj)
    assert probed.certificate.dual_objective <= above
    assert probed.certificate.dual_objective >= bound.certificate.dual_objective * (1 - 1e-6)
    proved = probed.variables["proved"]
    assert (optimal[:, proved != 0] == proved[proved != 0]).all()
    for column, label in enumerate((-1.0, 1.0)):
        # The bounds of single labels, each against the best labeling with that label.
        best = np.array([values[labelings[:, j] == label].min() for j in range(len(proved))])
        known = np.minimum(probed.variables["bounds"][:, column], probed.certificate.primal_objective)
        assert (known <= best * (1 + 1e-9)).all()
    return int(np.count_nonzero(proved))


GRID = list(itertools.product(KINDS, [1.0, 100.0], [0.0, 0.2], LOSSES))


def test_bounds_optimum_and_local_values():
    """A quarter of the grid; the slow test below takes all of it, seven times."""
    proved = [check_against_enumeration(problem(*case, u=5)) for case in GRID[::4] + GRID[3::8]]
    assert sum(count > 0 for count in proved) > len(proved) // 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 8))
def test_bounds_optimum_and_local_values_of_224_problems(seed):
    for case in GRID:
        check_against_enumeration(problem(*case, seed=seed, u=8 if case[3] == "squared_hinge" else 6))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_branch_and_bound_equals_enumeration_of_4096_labelings(kind):
    check_against_enumeration(problem(kind, C=100.0, u=12, seed=11))


def test_mixed_losses():
    """V the squared hinge and U the symmetric hinge: decided samples have another loss than labelled ones."""
    obj = problem(C=3.0, u=5, unlabeled_loss="symmetric_hinge")
    A, b = obj.features.dense(), obj.features.offset
    best = np.inf
    for labels in itertools.product([-1.0, 1.0], repeat=5):
        y = np.concatenate([obj.labels.sign, labels])

        def value(x, y=y):
            w, xi = x[: A.shape[1]], x[A.shape[1] :]
            return 0.5 * w @ w + obj.C * (xi[:4] ** 2).sum() + obj.C_star * xi[4:].sum()

        constraints = [
            {"type": "ineq", "fun": lambda x, y=y: y * (A @ x[: A.shape[1]] + b) - 1 + x[A.shape[1] :]},
            {"type": "ineq", "fun": lambda x: x[A.shape[1] :]},
        ]
        x0 = np.concatenate([np.zeros(A.shape[1]), np.ones(9)])
        best = min(best, minimize(value, x0, constraints=constraints, method="SLSQP", options={"ftol": 1e-12}).fun)
    exact = branch_and_bound(obj)
    assert exact.status is Status.OPTIMAL
    assert exact.certificate.primal_objective == pytest.approx(best, rel=1e-5)
    assert s3vm_bound(obj).certificate.dual_objective <= best * (1 + 1e-6)


# exp(-s f^2)


def scanned(obj, size):
    """The global optimum in one or two dimensions: a dense grid, then descents from its best points."""
    d = obj.size
    reach = np.sqrt(2 * obj.value_at(np.zeros(d)))
    axes = np.linspace(-reach, reach, size)
    W = np.stack(np.meshgrid(*[axes] * d, indexing="ij"), axis=-1).reshape(-1, d)
    F = W @ obj.features.dense().T + obj.features.offset
    loss, unlabeled = obj.loss, obj.unlabeled_loss
    values = 0.5 * (W**2).sum(axis=1) + obj.C * loss.value(F[:, obj.labels.labeled] * obj.labels.sign).sum(axis=1)
    values += obj.C_star * unlabeled.value(F[:, obj.unlabeled]).sum(axis=1)
    starts = W[np.argsort(values)[:200:8]]
    return min(
        minimize(obj.value_at, w, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).fun for w in starts
    )


def low_dimensional(d, seed, C=10.0, s=3.0, n=14, loss="squared_hinge"):
    rng = np.random.default_rng([d, seed])
    side = np.arange(n) % 2
    X = rng.standard_normal((n, d)) + side[:, None]
    y = np.where(np.arange(n) < 4, side, -1)
    return S3VM(X, encode_labels(y), loss, ExpSquared(s), C=C, balance=0.1)


@pytest.mark.parametrize("loss", ["smooth_hinge", "huber_hinge", "hinge"])
@pytest.mark.parametrize("unlabeled_loss", [ExpSquared(), SymmetricRamp(-0.3), SymmetricRamp(-0.7)], ids=repr)
def test_bounds_of_smooth_losses_and_of_ramps_against_scans(loss, unlabeled_loss):
    """Below the optimum, above the bound of the known labels alone, and the relaxation is solved."""
    for seed, C in enumerate((1.0, 30.0)):
        obj = low_dimensional(1, seed, C=C, loss=loss).with_(unlabeled_loss=unlabeled_loss)
        optimum, alone = scanned(obj, 20001), scanned(obj.supervised(), 20001)
        bound = s3vm_bound(obj, tol=1e-6)
        assert bound.status is Status.OPTIMAL
        assert alone * (1 + 1e-3) < bound.certificate.dual_objective <= optimum * (1 + 1e-9)


def check_exp(obj, size):
    optimum = scanned(obj, size)
    bound = s3vm_bound(obj)
    assert 0 < bound.certificate.dual_objective <= optimum * (1 + 1e-9)
    result = branch_and_bound(obj, time_limit=2)  # not all are proved in that time
    assert result.certificate.dual_objective <= optimum * (1 + 1e-9)
    assert result.certificate.primal_objective >= optimum * (1 - 1e-7)
    assert result.status in (Status.OPTIMAL, Status.MAX_ITER)
    probed = probe(obj)
    assert probed.certificate.dual_objective <= optimum * (1 + 1e-9)
    return optimum, result


def test_exp_against_a_scan_in_two_dimensions():
    optimum, result = check_exp(low_dimensional(2, 0), 301)
    assert result.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("loss", ["smooth_hinge", "huber_hinge"])
def test_smooth_labelled_losses_with_exp_against_scans(loss):
    """The objective of QN-S3VM: proved in one dimension, and replayed from its log."""
    for seed, C in enumerate((1.0, 30.0)):
        obj = low_dimensional(1, seed, C=C, loss=loss)
        optimum = scanned(obj, 20001)
        result = branch_and_bound(obj, log=True)
        assert result.status is Status.OPTIMAL
        assert result.certificate.primal_objective == pytest.approx(optimum, rel=1e-7)
        assert optimum * (1 - 1e-6) <= result.certificate.dual_objective <= optimum * (1 + 1e-9)
        assert verify(obj, result).holds
    obj = low_dimensional(2, 1, loss=loss, n=10)
    optimum, result = scanned(obj, 201), branch_and_bound(obj, time_limit=20.0)
    assert result.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert optimum * (1 - 1e-3) <= result.certificate.dual_objective <= optimum * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_exp_against_scans(loss):
    for seed in range(10):
        check_exp(low_dimensional(1, seed, C=[1.0, 30.0][seed % 2], s=[3.0, 5.0][seed // 5], loss=loss), 20001)
    for seed in range(6):
        check_exp(low_dimensional(2, seed, C=[1.0, 30.0][seed % 2], loss=loss), 401)


# Bounds from anywhere


def test_any_feasible_theta_bounds_and_any_theta_is_repaired(rng):
    obj = problem("gaussians", C=10.0, balance=0.2, u=6)
    optimum = enumerated(obj)[1].min()
    best = s3vm_bound(obj, tol=1e-7).certificate.dual_objective
    relaxation = S3VMRelaxation(obj)
    for scale in 10.0 ** rng.uniform(-4, 4, 40):
        theta, beta = scale * rng.exponential(size=6), rng.exponential(size=4)
        lower = relaxation.dual_bound(*relaxation.best_inwards(theta, beta))
        assert 0.0 <= lower <= min(optimum, best) * (1 + 1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_returned_proves_what_is_said(loss):
    """The multipliers attain the lower bound, and M the relaxed value."""
    obj = problem("gaussians", C=10.0, balance=0.2, loss=loss, u=6)
    relaxation = S3VMRelaxation(obj)
    solved = s3vm_bound(obj, tol=1e-7)
    M = solved.variables["M"]
    assert solved.certificate.primal_objective == pytest.approx(relaxation.value({"M": M}), rel=1e-9)
    proved = relaxation.dual_bound(solved.variables["theta"], solved.variables["beta"])
    assert solved.certificate.dual_objective == pytest.approx(proved, rel=1e-9)
    assert solved.solver == "s3vm_bound"
    assert solved.problem == relaxation.name
    assert 0.0 < solved.seconds < 600.0


def test_bound_does_not_depend_on_the_coordinates(rng):
    """More features than samples, a rotation, and copies of features that only add directions without samples."""
    obj = problem("linear", C=10.0, u=12)
    plain = s3vm_bound(obj, tol=1e-7).certificate.dual_objective
    X = obj.features.X
    rotation = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    wide = np.column_stack([X, np.zeros((len(X), 37))]) @ rotation
    other = S3VM(wide, obj.labels, C=10.0, balance=0.0)
    assert S3VMRelaxation(other).rank == 3
    result = s3vm_bound(other, tol=1e-7)
    assert result.certificate.dual_objective == pytest.approx(plain, rel=1e-6)
    assert result.variables["w"].shape == (40,)
    np.testing.assert_allclose(result.variables["f"], other.decisions_at(result.variables["w"]))


def test_regularized_intercept_is_a_constant_feature():
    optimum = enumerated(problem("linear", C=5.0, u=5, intercept="regularized"))[1].min()
    exact = branch_and_bound(problem("linear", C=5.0, u=5, intercept="regularized"))
    assert exact.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_unlabelled_losses_the_bound_is_exact(loss):
    obj = problem("moons", C=10.0, loss=loss, C_star=0.0)
    labeled = replace(obj, X=obj.features.subset(obj.labels.labeled), labels=encode_labels([0, 1, 0, 1]))
    optimum = trained(labeled, np.zeros(0))[1]
    for result in (s3vm_bound(obj, tol=1e-8), branch_and_bound(obj), probe(obj), one_flip(obj)):
        assert result.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert s3vm_bound(obj, tol=1e-8).certificate.dual_objective == pytest.approx(optimum, rel=1e-6)
    for smooth in ("smooth_hinge", "huber_hinge"):
        solved = s3vm_bound(obj.with_(loss=smooth), tol=1e-9).certificate
        svm = weighted_svm(obj.with_(loss=smooth).guessed(np.zeros(6), 0.0)).certificate
        assert solved.dual_objective == pytest.approx(svm.primal_objective, rel=1e-7)
        assert solved.dual_objective <= svm.primal_objective * (1 + 1e-10)
    everything = S3VM(np.array([[-1.0], [0.5], [2.0]]), encode_labels([0, 1, 1]), loss, C=2.0, intercept="regularized")
    assert branch_and_bound(everything).status is Status.OPTIMAL


def test_degenerate_data():
    """Zero rows, copies and constant features: samples that nothing can push off the plane."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((11, 2))
    X[5] = X[6]
    X[7:9] = 0.0
    y = np.array([0, 1, 0, 1] + [-1] * 7)
    for loss in LOSSES:
        obj = S3VM(X, encode_labels(y), loss, C=10.0, intercept="regularized")
        check_against_enumeration(obj)
    same = S3VM(np.ones((6, 1)), encode_labels([0, 1, -1, -1, -1, -1]), C=1.0, balance=0.0)
    # Centred, all features vanish: f = 0 everywhere, and J = 2 + 4.
    assert s3vm_bound(same, tol=1e-6).certificate.dual_objective == pytest.approx(6.0, rel=1e-5)
    assert branch_and_bound(same).certificate.primal_objective == 6.0
    assert (probe(same).variables["proved"] == 0).all()


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scale_of_the_features(scale):
    obj = problem("linear", C=1.0, u=5)
    scaled = S3VM(obj.features.X * scale, obj.labels, C=scale**-2, balance=0.0)
    value, other = (branch_and_bound(o).certificate for o in (obj, scaled))
    assert other.is_optimal(1e-6)
    assert other.primal_objective == pytest.approx(value.primal_objective / scale**2, rel=1e-6)


# Hard margins, features far away, and alarms


def hard(scale=1.0, C=1e3, loss="squared_hinge", far=0.0, **options):
    X = np.random.default_rng(0).standard_normal((16, 3))
    y = np.append([0, 1, 1], np.full(13, -1))
    return S3VM(scale * X + far, encode_labels(y), loss, C=C, balance=0.1, **options)


@pytest.mark.parametrize("scale", [1e3, 1e4, 1e6])
def test_hard_margins_are_proved(scale):
    """C |z|^2 of 1e9 to 1e15: the slack of a soft margin is nearly nothing, and J times scale^2 does not change."""
    optimum = 10.753718  # as scale grows; 10.7537181499 at 1e3
    obj = hard(scale)
    root = s3vm_bound(obj)
    assert root.certificate.dual_objective > 0.8 * optimum / scale**2
    exact, probed = branch_and_bound(obj), probe(obj)
    for result in (exact, probed):
        assert result.status is Status.OPTIMAL
        assert result.certificate.primal_objective * scale**2 == pytest.approx(optimum, rel=1e-6)
        assert result.certificate.is_optimal(1e-6)


@pytest.mark.parametrize("C", [1e4, 1e10])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("unlabeled_loss", ["symmetric_hinge", "symmetric_squared_hinge"])
def test_clusters_are_proved_for_every_mix_of_losses(loss, unlabeled_loss, C):
    """Twelve points in four dimensions: leaves that a barrier leaves open at 1e-6 to 1e-3."""
    X = np.random.default_rng(1).standard_normal((12, 4))
    y = np.append([0, 1, 0, 1], np.full(8, -1))
    obj = S3VM(X, encode_labels(y), loss, unlabeled_loss, C=C, balance=0.0)
    exact = branch_and_bound(obj)
    assert exact.status is Status.OPTIMAL
    assert exact.certificate.relative_gap < 1e-9
    assert exact.certificate.primal_objective == pytest.approx(13.8477903, rel=1e-3)


@pytest.mark.parametrize("far", [1e6, 1e12])
@pytest.mark.parametrize("loss", LOSSES)
def test_features_far_from_the_origin(loss, far):
    """J at the answer in fractions, of the features that were given: nothing is off by more than rounding."""
    obj = hard(C=1.0, loss=loss, far=far)
    exact = branch_and_bound(obj)
    assert exact.status is Status.OPTIMAL
    near = S3VM((obj.features.X - far), obj.labels, loss, C=1.0, balance=0.1)  # exact: the digits were lost before
    assert exact.certificate.primal_objective == pytest.approx(
        branch_and_bound(near).certificate.primal_objective, rel=1e-9
    )
    X = [[Fraction(x) for x in row] for row in obj.features.X.tolist()]
    mu = [sum(row[k] for row in X[3:]) / 13 for k in range(3)]
    w = [Fraction(x) for x in exact.variables["w"].tolist()]
    J = sum(x * x for x in w) / 2
    for i, row in enumerate(X):
        f = sum((x - m) * z for x, m, z in zip(row, mu, w, strict=True)) + Fraction(0.1)
        slack = max(1 - ([-f, f, f][i] if i < 3 else abs(f)), Fraction(0))
        J += slack if loss == "hinge" else slack * slack
    assert exact.certificate.primal_objective == pytest.approx(float(J), rel=1e-12)
    assert exact.certificate.dual_objective <= float(J)


def test_bounds_are_never_negative():
    """At least what the labelled samples cost alone, however the multipliers come out."""
    for scale in (1.0, 1e4, 1e8):
        obj = hard(scale)
        alone = branch_and_bound(obj.with_(C_star=0.0)).certificate.dual_objective
        assert alone > 0
        local = with_bound(obj, obj.result(np.zeros(3), solver="zero"))
        for result in (s3vm_bound(obj), s3vm_bound(obj, max_iter=0), local):
            assert result.certificate.dual_objective >= alone * (1 - 1e-9)


def test_a_bound_above_the_objective_is_an_alarm(monkeypatch):
    """Nothing is clipped: what contradicts itself says so."""
    obj = hard(C=1.0)
    start = obj.result(np.zeros(3), solver="zero")
    monkeypatch.setattr(S3VMRelaxation, "dual_bound", lambda self, theta, beta: 1e3)
    certified = with_bound(obj, start)
    assert certified.status is Status.NUMERICAL
    assert "above the objective" in certified.message
    assert certified.certificate.gap < 0
    monkeypatch.setattr("specmargin.optima.branching.is_for_boxes", lambda *_: False)
    for solver in (branch_and_bound, probe):
        result = solver(obj, log=True)
        assert result.status is Status.NUMERICAL
        assert result.certificate.dual_objective == 1e3
    assert s3vm_bound(obj).status is Status.NUMERICAL


def test_leaves_that_are_not_solved_are_a_numerical_failure(monkeypatch):
    """With labels there is always something left to branch upon, or the arithmetic has failed."""
    lower = LabelSVMs.lower
    monkeypatch.setattr(LabelSVMs, "lower", lambda self, point: 0.9 * lower(self, point))
    monkeypatch.setattr("specmargin.optima.branching.is_for_boxes", lambda *_: False)
    result = branch_and_bound(hard())
    assert result.status is Status.NUMERICAL
    assert "leaves not solved" in result.message
    assert 1e-3 < result.certificate.relative_gap < 0.12


# Limits, starts and reports


def test_time_limit_leaves_a_valid_bound():
    obj = problem("gaussians", C=100.0, u=120, seed=2)
    seen = []
    start = time.perf_counter()
    result = branch_and_bound(obj, time_limit=1.0, progress=lambda *values: seen.append(values))
    assert time.perf_counter() - start < 15.0  # without the limit it takes minutes
    assert result.status is Status.MAX_ITER
    root = s3vm_bound(obj).certificate.dual_objective
    lower, upper = result.certificate.dual_objective, result.certificate.primal_objective
    assert root * (1 - 1e-3) <= lower <= upper
    assert result.certificate.primal_objective == pytest.approx(obj.value_at(result.variables["w"]), rel=1e-12)
    nodes, bounds, uppers = (np.array(column) for column in zip(*seen, strict=True))
    assert (np.diff(nodes) == 1).all()
    assert (np.diff(bounds) >= 0).all()
    assert (np.diff(uppers) <= 0).all()
    assert len(nodes) == int(result.variables["n_nodes"]) == result.n_iter
    assert result.history["bound"][-1] == pytest.approx(lower, rel=1e-9)
    assert branch_and_bound(obj, max_nodes=3).n_iter == 3
    assert probe(obj, time_limit=0.3).status is Status.MAX_ITER


def test_probing_that_ends_without_a_proof_is_stationary():
    result = probe(problem("linear", C=1.0, unlabeled_loss="exp"))
    assert result.certificate.relative_gap > 1e-5
    assert result.status is Status.STATIONARY


def test_a_bound_that_is_cut_off_holds():
    obj = problem("gaussians", C=10.0, u=6)
    optimum = enumerated(obj)[1].min()
    late = barrier(S3VMRelaxation(obj), deadline=0.0)
    assert late.n_iter == 0
    assert s3vm_bound(obj, max_iter=3).status is Status.MAX_ITER
    cut = s3vm_bound(obj, time_limit=1e-9)
    assert (cut.status, cut.n_iter) == (Status.MAX_ITER, 0)
    assert 0 < cut.certificate.dual_objective <= optimum
    bounds = [late.lower, *(barrier(S3VMRelaxation(obj), max_iter=steps).lower for steps in (1, 3, 6, 50))]
    assert (np.diff(bounds) >= -1e-9).all()
    assert bounds[-1] <= optimum * (1 + 1e-9)
    full = barrier(S3VMRelaxation(obj))
    assert full.lower <= full.upper
    # A target within reach is passed and no more; one out of reach is given up soon.
    reached = barrier(S3VMRelaxation(obj), prune=0.5 * full.lower)
    assert 0.5 * full.lower < reached.lower
    assert reached.n_iter < full.n_iter
    missed = barrier(S3VMRelaxation(obj), prune=3.0 * full.upper, tol=1e-8)
    assert missed.upper < 3.0 * full.upper
    assert missed.n_iter < full.n_iter


def test_a_given_start_is_used(monkeypatch):
    """Where our own descents miss the optimum, branch and bound begins with the given one."""
    missed, way = 0, "specmargin.optima.branching.is_for_boxes"
    for seed in range(4):
        obj = problem("gaussians", C=100.0, u=16, seed=seed)
        monkeypatch.setattr(way, lambda *_: False)
        exact = branch_and_bound(obj)
        optimum = exact.certificate.primal_objective
        missed += exact.history["objective"][0] > optimum * (1 + 1e-6)
        for by_boxes in (False, True):
            monkeypatch.setattr(way, lambda *_, by_boxes=by_boxes: by_boxes)
            warm = branch_and_bound(obj, exact.variables["w"])
            assert warm.history["objective"][0] == pytest.approx(optimum, rel=1e-9)
    assert missed > 0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-6, 3.0, 1e4])
def test_exp_is_proved_in_one_dimension(loss, C):
    """Against a dense scan: soft problems by curvature at the root, others by boxes."""
    obj = low_dimensional(1, 1, C, n=10, loss=loss)
    optimum = scanned(obj, 200001)
    result = branch_and_bound(obj)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert result.certificate.dual_objective <= optimum * (1 + 1e-12)


def test_nothing_is_worse_than_the_start(rng):
    obj = problem("gaussians", C=100.0, u=14, seed=4)
    exact = branch_and_bound(obj)
    w = exact.variables["w"]
    stopped = branch_and_bound(obj, w, max_nodes=1)
    assert stopped.certificate.primal_objective <= exact.certificate.primal_objective * (1 + 1e-12)
    for scale in (0.0, 0.3, 3.0):
        start = w + scale * rng.standard_normal(len(w))
        flipped = one_flip(obj, start)
        value = flipped.certificate.primal_objective
        assert value <= obj.value_at(start)
        assert value >= exact.certificate.primal_objective * (1 - 1e-6)
        objectives = flipped.history["objective"]
        assert (np.diff(objectives) < 0).all()


def test_one_flip_leaves_no_single_flip_that_pays():
    gained = 0
    for seed in range(6):
        obj = problem("gaussians", C=1.0, u=8, seed=seed)
        start = trained(obj, np.where(np.arange(8) < 4, 1.0, -1.0))[2]
        result = one_flip(obj, start)
        labels, value = result.variables["labels"], result.certificate.primal_objective
        gained += result.n_iter
        for j in range(8):
            flipped = labels.copy()
            flipped[j] *= -1
            assert trained(obj, flipped)[1] >= value * (1 - 1e-8)
    assert gained > 0


def test_one_flip_descends_the_exponential_loss(rng):
    obj = problem("gaussians", C=10.0, u=10, unlabeled_loss="exp")
    start = rng.standard_normal(obj.size)
    result = one_flip(obj, start)
    assert result.certificate.primal_objective < obj.value_at(start)
    assert result.certificate.dual_residual < 1e-3
    assert one_flip(obj, result.variables["w"]).n_iter == 0


def test_certify_keeps_the_status_until_the_gap_is_closed():
    obj = problem("gaussians", C=100.0, u=10, seed=1)
    start = obj.result(np.zeros(obj.size), solver="mine")
    certified = with_bound(obj, start)
    assert certified.status is Status.STATIONARY
    assert "of the global optimum" in certified.message
    assert certified.certificate.relative_gap > 0.1
    exact = branch_and_bound(obj)
    evidence = certified.variables["theta"], certified.variables["beta"]
    assert S3VMRelaxation(obj).dual_bound(*evidence) == certified.certificate.dual_objective
    kept = with_bound(obj, exact)
    assert "theta" not in kept.variables
    assert kept.status is Status.OPTIMAL
    assert "global optimum proved" in kept.message
    assert kept.certificate.dual_objective == exact.certificate.dual_objective
    with pytest.raises(ValueError, match="no variable 'w'"):
        with_bound(obj, replace(start, variables={}))


# Bad input


@pytest.mark.parametrize("function", [s3vm_bound, branch_and_bound, probe])
def test_what_has_no_bound_is_refused(function):
    if function is not branch_and_bound:
        with pytest.raises(ValueError, match="unbounded for a free intercept"):
            function(problem(intercept="free"))
    with pytest.raises(ValueError, match=r"take the loss 'squared': it (is no power of max|rises beyond)"):
        function(problem(loss="squared"))
    if function is not s3vm_bound:
        with pytest.raises(ValueError, match="not convex in f\\^2"):
            function(problem(unlabeled_loss=SymmetricRamp(-0.3)))
        with pytest.raises(ValueError, match=r"of the loss 'smooth_hinge', it is no power of|'smooth_hinge': it is no"):
            function(problem(loss="smooth_hinge", unlabeled_loss="symmetric_hinge"))
    with pytest.raises(ValueError, match=r"signs are decided, but a side of SymmetricRamp\(s=-0.3\) is no convex"):
        S3VMRelaxation(problem(unlabeled_loss=SymmetricRamp(-0.3)), np.ones(6))
    with pytest.raises(ValueError, match=r"no CVXPY form here; optima.s3vm_bound takes it"):
        s3vm_relaxation(problem(unlabeled_loss=SymmetricRamp(-0.3)))


def test_a_ramp_without_a_plateau_is_the_symmetric_hinge():
    ramp = problem(loss="hinge", unlabeled_loss="symmetric_ramp")
    bounds = [s3vm_bound(o).certificate.dual_objective for o in (ramp, problem(loss="hinge"))]
    assert bounds[0] == bounds[1]


def test_bad_arguments():
    obj = problem()
    searches, bad = (branch_and_bound, probe, one_flip), (np.full(obj.size, np.nan), np.zeros(3))
    for function, options, message in (
        (S3VMRelaxation, {"signs": np.full(6, 0.5)}, "signs must hold 6"),
        *((function, {"w": w}, "w must") for function, w in itertools.product(searches, bad)),
    ):
        with pytest.raises(ValueError, match=message):
            function(obj, **options)
    with pytest.raises(ValueError, match="theta must hold 6"):
        S3VMRelaxation(obj).repair(np.ones(5))
    assert S3VMRelaxation(obj).repair(np.full(6, np.nan)).tolist() == [0.0] * 6
