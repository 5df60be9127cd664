"""One-flip descent where there is no relaxation to descend in; with one it is tested next to the bounds."""

import numpy as np
import pytest
from sklearn.svm import SVC

from specmargin.labels import encode_labels
from specmargin.losses import SymmetricRamp
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.label_flips import one_flip
from specmargin.results import Status


def problem(loss="squared_hinge", C=1.0, seed=0, **options):
    """Twelve samples of two overlapping clusters; the first four are labelled."""
    rng = np.random.default_rng(seed)
    side = np.arange(12) % 2
    X = rng.standard_normal((12, 3))
    X[:, 0] += 1.5 * side
    return S3VM(X, encode_labels(np.where(np.arange(12) < 4, side, -1)), loss, C=C, **options)


def test_one_flip_needs_no_relaxation_for_a_free_intercept():
    """No labels one flip away are better, as libsvm trains them; the intercept is free in both."""
    gained = 0
    for seed in range(6):
        obj = problem(loss="hinge", seed=seed, intercept="free")
        X, y = obj.features.X, np.zeros(len(obj.features.X))
        y[obj.labels.labeled] = obj.labels.sign

        def value(labels, X=X, y=y, obj=obj):
            y[obj.unlabeled] = labels
            svc = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, y)
            return 0.5 * float((svc.coef_**2).sum()) + np.maximum(1 - y * svc.decision_function(X), 0).sum()

        start = np.append(np.zeros(X.shape[1]), 0.1)
        for given in (start, None):
            result = one_flip(obj, given)
            labels, found = result.variables["labels"], result.certificate.primal_objective
            assert result.status is Status.STATIONARY
            gained += result.n_iter
            assert found == pytest.approx(value(labels), rel=1e-5)
            for j in range(8):
                flipped = labels.copy()
                flipped[j] *= -1
                assert value(flipped) >= found * (1 - 1e-5)
    assert gained > 0


@pytest.mark.parametrize(
    ("loss", "unlabeled_loss"),
    [("smooth_hinge", "exp"), ("hinge", "exp"), ("squared_hinge", "exp"), ("squared_hinge", None), ("squared", "exp")],
)
def test_one_flip_descends_in_a_free_intercept(loss, unlabeled_loss, rng):
    obj = problem(loss=loss, C=10.0, unlabeled_loss=unlabeled_loss, intercept="free")
    start = rng.standard_normal(obj.size)
    result = one_flip(obj, start)
    assert result.certificate.primal_objective < obj.value_at(start)
    if loss != "hinge":
        assert result.certificate.dual_residual < 1e-6
    assert one_flip(obj, result.variables["w"]).n_iter == 0
    assert one_flip(obj.supervised(), start).certificate.primal_objective <= obj.supervised().value_at(start)


def test_one_flip_without_a_bound_takes_a_smooth_hinge(rng):
    obj = problem(loss="smooth_hinge", C=10.0)
    result = one_flip(obj, rng.standard_normal(obj.size))
    assert result.status is Status.STATIONARY
    assert result.certificate.dual_residual < 1e-6


def test_one_flip_refuses_a_ramp_and_unlike_losses():
    with pytest.raises(ValueError, match="not convex in f\\^2"):
        one_flip(problem(unlabeled_loss=SymmetricRamp(-0.3)))
    with pytest.raises(ValueError, match=r"unlabelled loss 'symmetric_ramp': it is not convex in f\^2"):
        one_flip(problem(intercept="free", unlabeled_loss=SymmetricRamp(-0.3), loss="hinge"))
    with pytest.raises(ValueError, match="with a free intercept one_flip retrains the labelled loss"):
        one_flip(problem(intercept="free", unlabeled_loss="symmetric_hinge"))


def test_no_more_flips_are_kept_than_are_asked_for():
    X = np.random.default_rng(5).standard_normal((24, 2))
    obj = S3VM(X, encode_labels(np.append([0, 1], np.full(22, -1))), "hinge", C=10.0)
    whole = one_flip(obj)
    assert whole.n_iter > 2
    for kept in (1, 2):
        result = one_flip(obj, max_iter=kept)
        assert (result.n_iter, result.status) == (kept, Status.MAX_ITER)
        assert result.history["objective"] == whole.history["objective"][: kept + 1]
