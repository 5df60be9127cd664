"""One door to all convex losses: each ends at the optimum of CVXPY with a gap that proves it."""

import numpy as np
import pytest
import scipy.sparse as sp
from s3vm_problems import convex_svm, weighted_by_cvxpy
from scipy.optimize import minimize

import specmargin as sm
from specmargin.objectives import S3VM, Features, WeightedSVM
from specmargin.results import Status
from specmargin.solvers.s3vm.weighted_svm import supervised_svm, weighted_svm

intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber_hinge", "squared", "smooth_hinge"])


@losses
@intercepts
@pytest.mark.parametrize(("n", "d", "C"), [(40, 6, 0.1), (40, 6, 10.0), (40, 40, 1.0), (20, 60, 10.0)])
def test_every_loss_ends_at_the_optimum_that_cvxpy_finds(loss, intercept, n, d, C, rng):
    svm = convex_svm(rng, loss, intercept, n, d, C)
    result = weighted_svm(svm)
    assert result.status is Status.OPTIMAL
    assert result.certificate.relative_gap < 1e-10
    assert result.certificate.primal_objective == pytest.approx(weighted_by_cvxpy(svm, 1e-10)[0], rel=1e-8)
    again = weighted_svm(svm, result.variables["w"])
    assert again.certificate.is_optimal(1e-10)
    assert again.n_iter <= max(2, result.n_iter // 2)


@losses
@intercepts
def test_sparse_features_change_nothing(loss, intercept, rng):
    state = rng.bit_generator.state
    dense = weighted_svm(convex_svm(rng, loss, intercept))
    rng.bit_generator.state = state
    sparse = weighted_svm(convex_svm(rng, loss, intercept, sparse=True))
    assert sparse.status is Status.OPTIMAL
    assert sparse.certificate.primal_objective == pytest.approx(dense.certificate.primal_objective, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@intercepts
def test_copies_zero_rows_and_constant_features(loss, intercept, rng):
    X = np.column_stack([np.repeat(rng.normal(size=(12, 3)), 3, axis=0), np.full(36, 4.0)])
    X[:3] = 0.0
    y = np.tile([1.0, -1.0, 1.0], 12)  # copies with opposite labels
    values = []
    for features in (X, sp.csr_array(X)):
        svm = WeightedSVM(Features.of(features, intercept, rows=np.arange(36)), 2.0 * (y > 0), 2.0 * (y < 0), loss)
        result = weighted_svm(svm)
        assert result.status is Status.OPTIMAL
        np.testing.assert_allclose(result.variables["f"][::3], result.variables["f"][2::3], atol=1e-12)
        values.append(result.certificate.primal_objective)
    assert values == pytest.approx(2 * [weighted_by_cvxpy(svm, 1e-10)[0]], rel=1e-8)


def test_sharp_smooth_hinge_tends_to_the_hinge(rng):
    svm = convex_svm(rng, "hinge", "balance")
    hinge = weighted_svm(svm).certificate.primal_objective
    above = [
        weighted_svm(svm.with_(loss=sm.losses.SmoothHinge(s=s))).certificate.primal_objective - hinge
        for s in (10.0, 100.0, 1000.0)
    ]
    assert above[0] > above[1] > above[2] > -1e-9
    assert above[2] <= np.log(2) / 1000 * (svm.plus + svm.minus).sum()


@losses
def test_guessed_labels_are_the_supervised_svm_of_those_labels(loss, rng):
    """All labels known: the SVM of S3VM with guesses equals that with the labels given."""
    X, truth = rng.normal(size=(20, 3)), rng.integers(2, size=20)
    truth[:2] = (0, 1)
    known = S3VM(X, sm.encode_labels(truth), loss, C=0.5, intercept="free")
    hidden = S3VM(X, sm.encode_labels(np.where(np.arange(20) < 5, truth, -1)), loss, C=0.5, intercept="free")
    one = weighted_svm(known.guessed(np.zeros(0)))
    other = weighted_svm(hidden.guessed(np.where(truth[5:] > 0, 1.0, -1.0)))
    assert one.certificate.primal_objective == pytest.approx(other.certificate.primal_objective, rel=1e-9)
    assert one.certificate.primal_objective == pytest.approx(known.value_at(one.variables["w"]), rel=1e-12)


@losses
def test_a_tilt_that_a_free_intercept_follows_to_infinity_is_refused(loss, rng):
    svm = convex_svm(rng, loss, "free")
    svm = svm.with_(linear=np.full(40, 5.0), plus=np.zeros(40))
    if loss == "squared":
        assert np.abs(svm.gradient(weighted_svm(svm).variables["w"])).max() < 1e-9
        return
    with pytest.raises(ValueError, match="the linear term sums to 200, but the losses hold only 0 against it"):
        weighted_svm(svm)


@losses
def test_bad_input_is_refused(loss, rng):
    svm = convex_svm(rng, loss, "balance")
    for w in (np.zeros(7), np.full(6, np.inf)):
        with pytest.raises(ValueError, match=rf"start w must be finite and of the shape \(6,\), got \({len(w)},\)"):
            weighted_svm(svm, w)
    huge = Features.of(1e200 * rng.normal(size=(40, 3)), "free", rows=np.arange(40))
    with pytest.raises(ValueError, match="squares of the features overflow; scale them"):
        weighted_svm(WeightedSVM(huge, svm.plus, svm.minus, loss))


def supervised_problem(seed, loss):
    """Labels without gaps, of any mixture, features over four orders of magnitude, weights over eight."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 60)), int(rng.integers(1, 30))
    X = 10.0 ** rng.uniform(-2, 2) * rng.normal(size=(n, d)) + rng.choice([0.0, 0.0, 3.0])
    y = (X @ rng.normal(size=d) + rng.normal(size=n) > 0).astype(int)
    if rng.random() < 0.3:
        y = (rng.random(n) < 0.9).astype(int)
    y[:2] = (0, 1)
    intercept = str(rng.choice(["free", "regularized"]))
    return S3VM(X, sm.encode_labels(y), loss, "exp", C=10.0 ** rng.uniform(-3, 5), intercept=intercept)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("s", [20.0, 200.0])
def test_smooth_hinge_is_minimised_from_where_it_is_straight(s):
    """From w = 0 the loss has no curvature to speak of at most samples: 22 of 59 such problems had ended there."""
    for seed in range(10):
        obj = supervised_problem(seed, sm.losses.SmoothHinge(s=s))
        result = supervised_svm(obj, None, solver="any", start=0.0)
        assert result.status is Status.OPTIMAL
        assert result.certificate.relative_gap < 1e-10
        assert result.n_iter < 100
        best = min(
            minimize(obj.value_and_gradient, w, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).fun
            for w in (np.zeros(obj.size), result.variables["w"])
        )
        assert result.certificate.primal_objective <= best * (1.0 + 1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
def test_the_other_losses_end_at_their_optimum_too(loss):
    for seed in range(25):
        result = supervised_svm(supervised_problem(seed, loss), None, solver="any", start=0.0)
        assert result.status is Status.OPTIMAL
        assert result.certificate.relative_gap < 1e-6


def test_a_loss_that_knows_no_parabola_above_itself_is_minimised_as_well(rng):
    class Plain(sm.losses.SmoothHinge):
        majorant = None

    svm = convex_svm(rng, Plain(), "free", C=1e3)
    known = weighted_svm(svm.with_(loss="smooth_hinge")).certificate.primal_objective
    result = weighted_svm(svm)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(known, rel=1e-9)
