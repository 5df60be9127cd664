"""What a loss is taken to declare where it states nothing."""

import numpy as np
import pytest

from specmargin.losses import LOSSES, Loss, MarginLoss


class Silent(MarginLoss):
    """exp(-t), which states no fact."""

    name = "silent"

    def value(self, t):
        return np.exp(-t)


def test_a_fact_that_is_not_stated_does_not_hold():
    loss = Silent()
    for fact in ("convex", "smooth", "curved", "piecewise_quadratic", "nonincreasing", "gaussian", "box_dual"):
        assert getattr(loss, fact) is False, fact
    assert (loss.slack_power, loss.curvature_bound, loss.lapsvm_scale, loss.pieces) == (0, np.inf, 1.0, None)
    with pytest.raises(TypeError, match="Silent has no derivatives of its dual value"):
        loss.dual_derivatives(np.ones(1))


def test_values_of_slacks_and_their_rounding_have_defaults():
    loss, t = Silent(), np.array([-2.0, 3.0])
    np.testing.assert_array_equal(loss.value_of_slack(1.0 - t), loss.value(t))
    np.testing.assert_array_equal(loss.rounding_scale(t, loss.value(t)), [np.exp(2.0), 1.0])


def test_every_registered_loss_follows_the_protocol():
    assert all({MarginLoss, Loss} <= set(type(loss).__mro__) for loss in LOSSES.values())
