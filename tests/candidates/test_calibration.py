"""Slopes against a scalar minimiser of the loss that they are said to minimise."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from specmargin.candidates.calibration import class_probabilities, log_probabilities, slopes


def loss(T, held, codes):
    """Return the summed log-loss with the two pseudo-samples, computed one by one."""
    p = np.exp(log_probabilities(T * held))
    total = -np.log(p[np.arange(len(codes)), codes]).sum()
    if held.shape[1] == 1:
        pseudo = np.array([[np.abs(held).mean()]])
        return total - log_probabilities(T * pseudo)[0].sum()
    ordered = np.sort(held, axis=1)
    gap = (ordered[:, -1] - ordered[:, :-1].mean(axis=1)).mean()
    pseudo = np.zeros((1, held.shape[1]))
    pseudo[0, 0] = gap
    return total - log_probabilities(T * pseudo)[0, :2].sum()


@pytest.mark.parametrize("n_columns", [1, 3, 6])
def test_slopes_minimise_the_loss(n_columns):
    rng = np.random.default_rng(n_columns)
    codes = rng.integers(max(n_columns, 2), size=25)
    own = np.where(codes == 1, 1.0, -1.0)[:, None] if n_columns == 1 else 2.0 * (codes[:, None] == np.arange(n_columns))
    held = np.stack([own * a + b * rng.standard_normal((25, n_columns)) for a, b in ((1, 0.3), (1, 2), (0.2, 1))])
    for T, one in zip(slopes(held, codes), held, strict=True):
        best = minimize_scalar(loss, bounds=(0.1, 30.0), args=(one, codes), method="bounded", options={"xatol": 1e-9})
        assert pytest.approx(best.x, abs=1e-5) == T
        assert loss(T, one, codes) <= best.fun + 1e-10


def test_a_candidate_that_is_always_wrong_keeps_the_least_slope():
    codes = np.array([0, 1, 0, 1])
    held = -np.where(codes == 1, 1.0, -1.0)[None, :, None]
    assert slopes(held, codes)[0] == pytest.approx(0.1)


def test_perfect_decisions_keep_a_finite_slope():
    codes = np.arange(20) % 2
    held = np.where(codes == 1, 1.0, -1.0)[None, :, None] * 0.5
    assert slopes(held, codes)[0] == pytest.approx(np.log(21) / 0.5)


@pytest.mark.parametrize("columns", [1, 4])
def test_probabilities_sum_to_one_at_any_scale(columns):
    z = np.random.default_rng(0).standard_normal((50, columns)) * 10.0 ** np.arange(-8, 42)[:, None]
    p = class_probabilities(z)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(log_probabilities(z)), p, atol=1e-14)
