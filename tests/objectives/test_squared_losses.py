"""Squared losses: conjugates by a grid, intercepts by a search, bounds by fractions; classes by their columns."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.objectives.squared_losses import ClassLosses, SquaredHingeMargin, SquaredMargin, loss_of

LOSSES = {"squared": SquaredMargin, "squared_hinge": SquaredHingeMargin}
losses = pytest.mark.parametrize("name", LOSSES)


@losses
@pytest.mark.parametrize("C", [0.3, 4.0])
def test_the_dual_value_is_the_concave_conjugate(name, C):
    loss, t = LOSSES[name](C), np.linspace(-60, 60, 240_001)
    for s in (0.0, 0.2, 1.5, 7.0) + ((-0.5,) if name == "squared" else ()):
        least = float((loss.value(t) + s * t).min())
        assert float(loss.dual_value(np.array(s))) == pytest.approx(least, abs=1e-6 * (1 + C))
    if name == "squared_hinge":
        assert loss.dual_value(np.array([-1e-9])).tolist() == [-np.inf]


@losses
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_intercepts_are_those_of_a_search(name, weighted, seed):
    rng = np.random.default_rng(seed)
    y, f = np.where(rng.random(9) < 0.4, 1.0, -1.0), rng.normal(size=9) * 10.0 ** rng.integers(-2, 3)
    loss = LOSSES[name](rng.random(9) + 0.1 if weighted else 2.0)
    scale, b = loss.repair_decisions(y, f, 0.0)

    def value(at):
        return float(loss.value(y * (f + at)).sum())

    wide = np.abs(f).max() + 2
    found = minimize_scalar(value, bounds=(-wide, wide), method="bounded", options={"xatol": 1e-10})
    assert scale == 1.0
    assert value(b) <= found.fun + 1e-9 * (1 + found.fun)


def test_an_intercept_that_is_free_stays_where_it_was():
    """Decisions with room on both sides of the margins: the squared hinge is zero on an interval of intercepts."""
    loss, y, f = SquaredHingeMargin(1.0), np.array([1.0, 1.0, -1.0]), np.array([3.0, 4.0, -3.0])
    assert loss.repair_decisions(y, f, 0.5) == (1.0, 0.5)
    assert loss.repair_decisions(y, f, 9.0) == (1.0, 2.0)
    assert loss.repair_decisions(y, f, -9.0) == (1.0, -2.0)
    assert loss.repair_decisions(-np.ones(2), np.array([-3.0, -2.0]), -4.0) == (1.0, -4.0)


@losses
def test_multipliers_are_repaired_to_balanced_ones_within_bounds(name, rng):
    loss, y = LOSSES[name](rng.random(30) + 0.5), np.where(rng.random(30) < 0.3, 1.0, -1.0)
    repaired = loss.repair_multipliers(y, rng.normal(size=30))
    assert abs(sum(map(Fraction, repaired.tolist()))) <= 2.0**-50 * np.abs(repaired).max()
    assert np.isfinite(loss.dual_value(y * repaired)).all()
    np.testing.assert_array_equal(loss.nearest_multipliers(y, repaired), repaired)
    far = loss.nearest_multipliers(y, repaired + 1.0)
    assert abs(far.sum()) < 1e-12


@losses
def test_bounds_hold_in_exact_arithmetic_and_are_narrow(name, rng):
    C, y = 3.7, np.where(rng.random(40) < 0.5, 1.0, -1.0)
    loss, f, b = LOSSES[name](C), rng.normal(size=40) * 3, 0.3
    value, most = loss.value_bounds(y, f, np.full(40, 1e-12), b)

    def exact(shift):
        total = Fraction(0)
        for sign, at in zip(y.tolist(), f.tolist(), strict=True):
            residual = 1 - Fraction(sign) * (Fraction(at) + Fraction(b)) + shift
            total += residual**2 if name == "squared" or residual > 0 else 0
        return float(Fraction(C) / 2 * total)

    worst = max(exact(Fraction(1e-12)), exact(-Fraction(1e-12)))
    assert value == pytest.approx(exact(0), rel=1e-15)
    assert worst <= most <= value * (1 + 1e-10)
    s = np.abs(y * f)
    value, least = loss.dual_bounds(s)
    exact_dual = sum(Fraction(x) - Fraction(x) ** 2 / (2 * Fraction(C)) for x in s.tolist())
    assert Fraction(float(least)) <= exact_dual
    assert float(value) == pytest.approx(float(exact_dual), rel=1e-15)
    assert float(value - least) <= 1e-15 * float((s + s**2).sum())
    if name == "squared_hinge":
        assert loss.dual_bounds(-s) == (-np.inf, -np.inf)


@pytest.mark.parametrize("one", [RelativeMargin(2.0, 1.5), SquaredMargin(2.0), SquaredHingeMargin(2.0)])
def test_losses_of_classes_are_those_of_their_columns(one, rng):
    loss = ClassLosses(one)
    Y, F, b = np.where(rng.random((12, 3)) < 0.5, 1.0, -1.0), 0.2 * rng.normal(size=(12, 3)), rng.normal(size=3)
    columns = list(zip(Y.T, F.T, b, strict=True))
    np.testing.assert_array_equal(loss.value(Y * F), np.column_stack([one.value(y * f) for y, f, _ in columns]))
    np.testing.assert_array_equal(
        loss.dual_value(Y * F), np.column_stack([one.dual_value(y * f) for y, f, _ in columns])
    )
    repaired = [one.repair_multipliers(y, f) for y, f, _ in columns]
    np.testing.assert_array_equal(loss.repair_multipliers(Y, F), np.column_stack(repaired))
    scales, offsets = loss.repair_decisions(Y, F, b)
    for k, (y, f, at) in enumerate(columns):
        assert (scales[k], offsets[k]) == one.repair_decisions(y, f, at)
    total = sum(one.value_bounds(y, f, np.zeros(12), at)[0] for y, f, at in columns)
    assert loss.value_bounds(Y, F, np.zeros((12, 3)), b)[0] == pytest.approx(total, rel=1e-15)
    gamma = loss.repair_multipliers(Y, F)
    total, least = loss.dual_bounds(Y * gamma)
    assert float(total) == pytest.approx(float(one.dual_value(Y * gamma).sum()), rel=1e-14)
    assert least < total


def test_losses_are_found_by_their_names():
    assert loss_of("hinge", 2.0, np.inf, None, 1) == RelativeMargin(2.0)
    assert loss_of("squared", 2.0, np.inf, None, 3) == ClassLosses(SquaredMargin(2.0))
    with pytest.raises(InvalidInputError, match="loss='logistic' is unknown here; take one of 'hinge'"):
        loss_of("logistic", 1.0, np.inf, None, 1)
    with pytest.raises(InvalidInputError, match="loss='squared' leave it at inf"):
        loss_of("squared", 1.0, 1.5, None, 1)
    with pytest.raises(InvalidInputError, match=r"C=0\.0 must be a positive number"):
        loss_of("squared", 0.0, np.inf, None, 1)


def test_an_intercept_that_was_off_is_taken_off_multipliers_by_their_costs(rng):
    """Multipliers C (y - f) of the squared loss, all residuals off by the same: the repair finds the right ones."""
    C, residual = rng.random(12) + 0.5, rng.normal(size=12)
    residual -= C @ residual / C.sum()
    loss = SquaredMargin(C)
    np.testing.assert_allclose(loss.repair_multipliers(np.ones(12), C * (residual + 0.3)), C * residual, atol=1e-14)
