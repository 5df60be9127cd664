"""The scale of probabilities: a literal minimisation, closed forms, and that no order changes."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp
from scipy.stats import beta

from specmargin.objectives.held_out import calibration
from specmargin.objectives.held_out.calibration import (
    calibrated_scale,
    calibrated_scales,
    class_probabilities,
    log_probabilities,
)


def literal_loss(T, h, sign, a=0.5):
    """Log-loss of the samples, and of a right and a wrong sample at the mean distance, each of the weight a."""
    F = np.column_stack([-h / 2, h / 2]) if h.ndim == 1 else h
    own = (sign > 0).astype(int) if h.ndim == 1 else sign.argmax(axis=1)
    K = F.shape[1]
    ordered = np.sort(F, axis=1)
    m = (ordered[:, -1] - ordered[:, :-1].mean(axis=1)).mean()
    loss = (logsumexp(T * F, axis=1) - T * F[np.arange(len(F)), own]).sum()
    pseudo = np.concatenate([[m], np.zeros(K - 1)])
    return loss + a * sum(logsumexp(T * pseudo) - T * pseudo[k] for k in (0, 1))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_it_is_the_minimum_of_the_literal_loss(rng, n_classes):
    own = rng.integers(n_classes, size=30)
    h = rng.normal(size=(30, n_classes))
    h[np.arange(30), own] += 1.5
    sign = np.where(own[:, None] == np.arange(n_classes), 1.0, -1.0)
    if n_classes == 2:
        h, sign = h[:, 1] - h[:, 0], sign[:, 1]
    for scale in (1e-6, 1.0, 1e6):
        T = calibrated_scale(scale * h, sign)
        expected = minimize_scalar(lambda t: literal_loss(t, h, sign), bounds=(1e-4, 50), options={"xatol": 1e-10})
        assert scale * T == pytest.approx(expected.x, rel=1e-5)
    for a in (0.1, 1.0, 4.0):
        T = calibrated_scale(h, sign, pseudo=a)
        expected = minimize_scalar(
            lambda t, a=a: literal_loss(t, h, sign, a), bounds=(1e-4, 50), options={"xatol": 1e-10}
        )
        assert abs(T - expected.x) < 1e-5 * expected.x


def test_all_right_by_one_margin_is_a_closed_form():
    """Of l right samples, and the pseudo-samples, l + a of l + 2 a are right: the mean under a Beta(a, a) prior."""
    for l in (1, 4, 50):
        sign = np.where(np.arange(l) % 2, 1.0, -1.0)
        assert expit(0.5 * calibrated_scale(0.5 * sign, sign)) == pytest.approx(beta(l + 0.5, 0.5).mean())
        assert expit(0.5 * calibrated_scale(0.5 * sign, sign, pseudo=1.0)) == pytest.approx(beta(l + 1, 1).mean())


def test_decisions_that_are_wrong_or_none_keep_their_order():
    sign = np.array([1.0, 1.0, -1.0])
    assert 0 < calibrated_scale(-2.0 * sign, sign) < 1e-2
    assert calibrated_scale(np.zeros(3), sign) == 1.0
    assert calibrated_scale(np.zeros(0), np.zeros(0)) == 1.0
    assert calibrated_scale(np.zeros((0, 3)), np.zeros((0, 3))) == 1.0


def test_one_scale_is_that_of_several_models(rng):
    codes = rng.integers(3, size=40)
    sign = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    held = np.stack([sign * a + b * rng.normal(size=(40, 3)) for a, b in ((1, 0.3), (1, 2), (0.2, 1), (-1, 1))])
    T = calibrated_scales(held, codes, bounds=(1e-3, 1e3))
    for one, h in zip(T[:3], held[:3], strict=True):
        expected = minimize_scalar(
            lambda t, h=h: literal_loss(t, h, sign, 1.0), bounds=(1e-4, 50), options={"xatol": 1e-10}
        )
        assert one == pytest.approx(expected.x, rel=1e-5)
        assert calibrated_scale(h, sign, pseudo=1.0) == pytest.approx(one, rel=1e-9)
    assert T[3] == 1e-3  # mostly wrong: the least


def test_bounds_hold():
    codes = np.arange(20) % 2
    held = np.where(codes == 1, 0.5, -0.5)[None, :, None]
    assert calibrated_scales(-held, codes, bounds=(0.1, 30.0))[0] == 0.1
    assert calibrated_scales(held, codes, bounds=(0.1, 30.0))[0] == pytest.approx(np.log(21) / 0.5)
    assert calibrated_scales(held, codes, bounds=(0.1, 2.0))[0] == pytest.approx(2.0)


@pytest.mark.parametrize("columns", [1, 4])
def test_probabilities_sum_to_one_at_any_scale(rng, columns):
    z = rng.normal(size=(50, columns)) * 10.0 ** np.arange(-8, 42)[:, None]
    p = class_probabilities(z)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(log_probabilities(z)), p, atol=1e-14)
    if columns > 1:
        np.testing.assert_array_equal(p.argmax(axis=1), z.argmax(axis=1))
    else:
        np.testing.assert_array_equal(p[:, 1] > 0.5, z[:, 0] > 1e-15)
        # The less probable class keeps its digits.
        np.testing.assert_allclose(class_probabilities(np.array([[40.0]]))[0, 0], np.exp(-40.0), rtol=1e-12)


def test_decisions_of_any_size_have_derivatives():
    """Of three classes: exponentials of what one lacks of the best, which do not overflow."""
    apart = np.array([[[0.0, -3.0, 2.0], [0.0, 5.0, -1.0]]])
    for T in (1e-3, 1.0, 30.0, 1e4):
        first, second = calibration._derivatives(apart, np.zeros(1), 2, np.array([T]), 1.0)
        z = T * apart[0]
        p = np.exp(z - logsumexp(z, axis=1)[:, None])
        mean = (p * apart[0]).sum(axis=1)
        assert first[0] == pytest.approx(mean.sum(), rel=1e-12)
        assert second[0] == pytest.approx((p * (apart[0] - mean[:, None]) ** 2).sum(), rel=1e-9, abs=1e-12)
