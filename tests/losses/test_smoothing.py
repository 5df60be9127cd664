"""Smoothed losses against quadrature of the convolution, differences, limits and extreme scales."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad

from specmargin.losses import (
    ExpSquared,
    Hinge,
    Ramp,
    SmoothHinge,
    Squared,
    SquaredHinge,
    SymmetricHinge,
    SymmetricRamp,
    SymmetricSquaredHinge,
    smoothed,
)

KINKS = (-1.0, -0.7, -0.3, 0.0, 0.3, 0.7, 1.0)
known = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "smooth_hinge": SmoothHinge(),
    "smooth_hinge, s=3": SmoothHinge(3.0),
    "ramp": Ramp(-0.3),
    "ramp, s=0.7": Ramp(0.7),
    "symmetric_hinge": SymmetricHinge(),
    "symmetric_squared_hinge": SymmetricSquaredHinge(),
    "exp": ExpSquared(),
    "exp, s=0.5": ExpSquared(0.5),
    "symmetric_ramp": SymmetricRamp(),
    "symmetric_ramp, s=-0.7": SymmetricRamp(-0.7),
}
losses = pytest.mark.parametrize("loss", known.values(), ids=known)
widths = pytest.mark.parametrize("sigma", [0.01, 0.049, 0.051, 0.51, 10.0])


def convolved(loss, t, sigma):
    """E V(t + sigma z), from the definition, split where the loss or the Gaussian turns."""
    reach = 12.0 * sigma
    points = sorted({*(k for k in KINKS if abs(k - t) < reach), t, *(t + k * sigma for k in (-8, -4, -1, 1, 4, 8))})
    ends = [t - reach, *points, t + reach]

    def integrand(u):
        return float(loss.value(np.array([u]))[0]) * np.exp(-0.5 * ((u - t) / sigma) ** 2)

    total = sum(quad(integrand, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in itertools.pairwise(ends))
    return total / (sigma * np.sqrt(2.0 * np.pi))


@losses
@widths
def test_value_is_the_convolution(loss, sigma):
    t = np.array([-2.5, -1.0, -0.31, 0.0, 0.4, 1.0, 1.3, 3.0])
    expected = [convolved(loss, u, sigma) for u in t]
    np.testing.assert_allclose(smoothed(loss, sigma).value(t), expected, rtol=1e-10, atol=1e-13)


@losses
@widths
def test_gradient_and_curvature_are_difference_quotients(loss, sigma, rng):
    t, h = rng.uniform(-4.0, 4.0, 200), 2e-3 * min(sigma, 1.0)
    smooth = smoothed(loss, sigma)

    def quotient(g):
        return (8 * (g(t + h) - g(t - h)) - (g(t + 2 * h) - g(t - 2 * h))) / (12 * h)

    np.testing.assert_allclose(smooth.gradient(t), quotient(smooth.value), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(smooth.curvature(t), quotient(smooth.gradient), rtol=1e-8, atol=1e-8 / sigma)


@losses
def test_every_sample_has_its_own_width(loss, rng):
    t, sigma = rng.uniform(-2, 2, 50), np.concatenate([[0.0], np.geomspace(1e-3, 30.0, 49)])
    together = smoothed(loss, sigma)
    for i in range(0, 50, 7):
        alone = smoothed(loss, sigma[i])
        for part in ("value", "gradient", "curvature"):
            one = getattr(alone, part)(t[i : i + 1])
            assert getattr(together, part)(t)[i] == pytest.approx(one[0], rel=1e-13, abs=1e-15)


@losses
def test_no_smoothing_is_the_loss_itself(loss, rng):
    t = rng.uniform(-3, 3, 200)
    t = t[np.abs(t[:, None] - np.array(KINKS)).min(axis=1) > 1e-6]
    for part in ("value", "gradient", "curvature"):
        expected = getattr(loss, part)(t)
        for sigma in (0.0, 1e-12):
            np.testing.assert_allclose(getattr(smoothed(loss, sigma), part)(t), expected, rtol=1e-9, atol=1e-12)


@losses
def test_any_scale_without_warnings(loss):
    """Rows of length 1e-150 to 1e150: no NaN anywhere, and no inf but where the loss itself is that large."""
    t = np.concatenate([s * np.array([0.0, 1e-300, 1e-8, 1.0, 1e8, 1e150]) for s in (-1.0, 1.0)])
    for sigma in (0.0, 1e-150, 1e-20, 1e-3, 1.0, 1e5, 1e20, 1e150):
        smooth = smoothed(loss, sigma)
        with np.errstate(over="ignore", under="ignore", divide="raise", invalid="raise"):
            for part in (smooth.value, smooth.gradient, smooth.curvature):
                assert np.isfinite(part(t)).all()


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), SmoothHinge()])
def test_tail_keeps_its_digits(loss):
    """Ten deviations on the empty side the value is about 1e-25, and exact: no difference of large numbers."""
    sigma, t = 0.2, 3.0
    assert smoothed(loss, sigma).value(np.array([t]))[0] == pytest.approx(convolved(loss, t, sigma), rel=1e-9)


@pytest.mark.parametrize("sigma", [1e3, 1e6, 1e12])
@pytest.mark.parametrize(
    ("loss", "area"),
    [
        (SymmetricHinge(), 1.0),
        (SymmetricSquaredHinge(), 2 / 3),
        (SymmetricRamp(-0.7), 1.0 - 0.49),
        (ExpSquared(3.0), np.sqrt(np.pi / 3.0)),
    ],
)
def test_much_smoothing_leaves_a_gaussian_of_the_losses_area(loss, area, sigma):
    """No difference of large numbers either where the Gaussian is far wider than the loss."""
    f = sigma * np.array([0.0, 0.5, -1.0, 2.0])
    density = np.exp(-0.5 * (f / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    smooth = smoothed(loss, sigma)
    np.testing.assert_allclose(smooth.value(f), area * density, rtol=1e-6)
    np.testing.assert_allclose(smooth.gradient(f), -f / sigma**2 * area * density, rtol=1e-5, atol=1e-300)


@losses
def test_widths_add_in_squares(loss):
    """Smoothing by 0.6 what has been smoothed by 0.8 is smoothing by 1."""
    inner, z, weight = smoothed(loss, 0.8), *np.polynomial.hermite_e.hermegauss(60)
    t = np.array([-1.2, 0.0, 0.5, 1.0, 2.0])
    twice = (inner.value((t[:, None] + 0.6 * z).ravel()).reshape(len(t), -1) @ weight) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(smoothed(loss, 1.0).value(t), twice, rtol=1e-8)


def test_hinge_is_eq_6_of_the_paper_with_the_variance_gamma():
    """C sqrt(gamma / 2) |x| (exp(-e^2) / sqrt(pi) - e erfc(e)), e = (y f - 1) / (sqrt(2 gamma) |x|)."""
    from scipy.special import erfc

    t, gamma, length = np.linspace(-1.0, 3.0, 9), 0.3, 1.7
    e = (t - 1.0) / (np.sqrt(2 * gamma) * length)
    printed = np.sqrt(gamma / 2) * length * (np.exp(-(e**2)) / np.sqrt(np.pi) - e * erfc(e))
    np.testing.assert_allclose(smoothed(Hinge(), np.sqrt(gamma) * length).value(t), printed, rtol=1e-10)


def test_exp_is_eq_6_of_the_paper():
    """a^(-1/2) exp(-s f^2 / a), a = 1 + 2 gamma s |x|^2."""
    f, gamma, length = np.linspace(-2.0, 2.0, 9), 0.3, 1.7
    a = 1 + 2 * gamma * 3.0 * length**2
    np.testing.assert_allclose(
        smoothed(ExpSquared(), np.sqrt(gamma) * length).value(f), np.exp(-3.0 * f**2 / a) / np.sqrt(a), rtol=1e-13
    )


@pytest.mark.parametrize("loss", [Hinge(), Ramp(-0.3), SymmetricHinge(), ExpSquared(), SmoothHinge()])
def test_what_is_smoothed_is_curved(loss):
    assert smoothed(loss, 0.5).curved


@pytest.mark.parametrize("loss", [Squared(), object()])
def test_unknown_losses_are_refused(loss):
    with pytest.raises(TypeError, match=rf"{type(loss).__name__}.* has no Gaussian smoothing"):
        smoothed(loss, 0.1)
