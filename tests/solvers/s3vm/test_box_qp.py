"""The hinge's box-constrained dual against CVXPY and libsvm; its parts against brute force."""

import itertools

import numpy as np
import pytest
import s3vm_problems
from s3vm_problems import weighted_by_cvxpy
from sklearn.svm import SVC

from specmargin.objectives import Features, WeightedSVM
from specmargin.solvers.s3vm import box_qp as _box_qp
from specmargin.solvers.s3vm.box_qp import Partition, hinge_svm
from specmargin.solvers.s3vm.hinge_envelope import Envelope, exact_step
from specmargin.solvers.s3vm.weighted_svm import weighted_svm

intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])


def convex_svm(rng, n, d, intercept, C=1.0, kind="one"):
    return s3vm_problems.convex_svm(rng, "hinge", intercept, n, d, C, kind=kind)


@pytest.mark.slow
def test_small_weights_and_a_free_intercept_are_no_trap():
    """Hardly anyone is on a kink: Newton steps may zigzag at one width, and once did in one of a thousand SVMs."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        for n, d in ((60, 3), (40, 5), (30, 2)):
            for C, kind in itertools.product((0.003, 0.01, 0.03, 1.0), ("one", "both")):
                result = weighted_svm(convex_svm(rng, n, d, "free", C, kind))
                assert result.certificate.is_optimal(1e-10), (seed, n, d, C, kind)


@pytest.mark.parametrize("C", [0.05, 5.0])
def test_libsvm_has_the_same_svm_with_sample_weights(C, rng):
    svm = convex_svm(rng, 80, 80, "free", C)
    weights = rng.uniform(0.2, 3.0, 80)
    svm = svm.with_(plus=svm.plus * weights, minus=svm.minus * weights)
    y = np.where(svm.plus > 0, 1, -1)
    X = svm.features.X
    theirs = SVC(kernel="precomputed", C=C, tol=1e-8).fit(X @ X.T, y, sample_weight=weights)
    result = weighted_svm(svm)
    np.testing.assert_allclose(result.variables["f"], theirs.decision_function(X @ X.T), atol=1e-4)
    alpha = np.zeros(80)
    alpha[theirs.support_] = np.abs(theirs.dual_coef_[0])
    ours = svm.plus * result.duals["plus"] + svm.minus * result.duals["minus"]
    np.testing.assert_allclose(ours, alpha, atol=1e-4 * C)


@intercepts
@pytest.mark.parametrize("d", [4, 60])
def test_warm_start_at_the_optimum_is_one_system(intercept, d, rng):
    for kind in ("one", "both"):
        svm = convex_svm(rng, 60, d, intercept, 0.5, kind)
        cold = weighted_svm(svm)
        again = weighted_svm(svm, cold.variables["w"])
        assert again.n_iter == 1
        certificate = again.certificate
        assert certificate.gap - certificate.rounding <= 1e-13 * certificate.primal_objective
        assert certificate.is_optimal(1e-11)  # a free intercept's multipliers balance up to rounding, which is charged


@intercepts
def test_warm_start_after_a_switch_of_labels(intercept, rng):
    """With a Gram matrix of full rank the partition alone gets there, in a handful of systems."""
    svm = convex_svm(rng, 120, 150, intercept)
    w, taken = weighted_svm(svm).variables["w"], []
    plus, minus = svm.plus.copy(), svm.minus.copy()
    for i in range(20):
        plus[i], minus[i] = minus[i], plus[i]
        result = weighted_svm(svm.with_(plus=plus, minus=minus), w)
        assert result.certificate.is_optimal(1e-11)
        w = result.variables["w"]
        taken.append(result.n_iter)
    assert np.median(taken) <= 8


@intercepts
def test_the_augmented_lagrangian_alone_gets_there(intercept, monkeypatch, rng):
    """Without the search for the partition, which would hide a wrong step of Newton's method."""
    monkeypatch.setattr(Partition, "search", lambda self, state, max_iter: (None, 0))
    for d in (5, 50):
        svm = convex_svm(rng, 40, d, intercept, 1.0, "both")
        point = hinge_svm(svm, np.zeros(svm.size), svm.features.decisions(np.zeros(svm.size)), warm=False)
        certificate = svm.prove(point.w, point.theta_plus, point.theta_minus)
        assert certificate.relative_gap < 1e-7
        assert certificate.primal_objective == pytest.approx(weighted_by_cvxpy(svm, 1e-10)[0], rel=1e-7)


def test_free_intercept_with_nobody_on_a_kink():
    """Balanced slopes at their bounds: any intercept in an interval will do, and the gap is zero."""
    X = np.array([[-1.0], [1.0], [-0.9], [0.9]])
    svm = WeightedSVM(
        Features.of(X, "free", rows=np.arange(4)),
        1e-3 * np.array([0, 1.0, 0, 1]),
        1e-3 * np.array([1.0, 0, 1, 0]),
        "hinge",
    )
    result = weighted_svm(svm)
    assert abs(result.certificate.relative_gap) < 1e-14
    assert result.certificate.primal_objective == pytest.approx(weighted_by_cvxpy(svm, 1e-10)[0], abs=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_one_class_of_labels_is_the_intercept_alone(loss):
    features = Features.of(np.eye(4), "free", rows=np.arange(4))
    result = weighted_svm(WeightedSVM(features, np.ones(4), np.zeros(4), loss))
    assert result.certificate.primal_objective == pytest.approx(0.0, abs=1e-10)
    assert (result.variables["f"] >= 1 - 1e-4).all()


def test_large_problems_go_without_the_whole_gram_matrix(monkeypatch, rng):
    svm = convex_svm(rng, 80, 20, "free")
    expected = weighted_svm(svm).certificate.primal_objective
    monkeypatch.setattr(_box_qp, "_GRAM", 60)
    again = WeightedSVM(Features.of(svm.features.X, "free", rows=np.arange(80)), svm.plus, svm.minus, "hinge")
    result = weighted_svm(again)
    assert "gram" not in vars(again.features)
    assert result.certificate.primal_objective == pytest.approx(expected, rel=1e-10)


def slopes(envelope, f):
    low, high = envelope.parts(f)
    return envelope.lowest + low + high


def test_envelope_is_the_infimal_convolution(rng):
    """a(u) is the slope of min_z h(z) + (z - u)^2 / (2 eps), by a grid of z."""
    svm = convex_svm(rng, 6, 3, "balance", 1.0, "both")
    eps, centre = 0.4, rng.normal(size=6)
    envelope = Envelope(svm, centre, eps)
    z = np.linspace(-6, 6, 240_001)[:, None]
    h = svm.plus * np.maximum(1 - z, 0) + svm.minus * np.maximum(1 + z, 0) + svm.linear * z
    for f in rng.normal(scale=1.5, size=(20, 6)):
        u = f + eps * centre
        prox = z[np.argmin(h + (z - u) ** 2 / (2 * eps), axis=0), 0]
        np.testing.assert_allclose(slopes(envelope, f), (u - prox) / eps, atol=1e-3)
        low, high = envelope.parts(f)
        bends = envelope.curvatures(low, high)
        numeric = (slopes(envelope, f + 1e-7) - slopes(envelope, f - 1e-7)) / 2e-7
        np.testing.assert_allclose(bends, numeric, atol=1e-6)


def test_line_search_finds_the_root(rng):
    svm = convex_svm(rng, 30, 3, "balance", 1.0, "both")
    envelope = Envelope(svm, np.zeros(30), 0.05)
    for _ in range(20):
        f, df = rng.normal(size=30), rng.normal(size=30)
        if df @ slopes(envelope, f) > 0:
            df = -df
        slope, curvature = -0.5, 0.3
        s = exact_step(envelope, f, df, slope, curvature)
        assert s > 0
        assert abs(slope + s * curvature + df @ slopes(envelope, f + s * df)) < 1e-9
