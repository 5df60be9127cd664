"""Several decision functions on one scale."""

import numpy as np
import pytest

from specmargin.plots import DecisionDisplay, decision_panels

x = np.linspace(-1, 1, 11)


def displays(*slopes):
    return {f"slope {slope}": DecisionDisplay(x, x, slope * np.add.outer(x, x)) for slope in slopes}


def test_panels_share_a_scale_and_a_bar_per_full_row():
    drawn = displays(0.5, 1.0, 3.0)
    figure = decision_panels(drawn, n_rows=2)
    assert [display.surface_.get_clim() for display in drawn.values()] == [(-6.0, 6.0)] * 3
    assert [ax.get_title() for ax in figure.axes[:4]] == ["slope 0.5", "slope 1.0", "slope 3.0", ""]
    bars = [ax for panel in figure.axes for ax in panel.child_axes]
    assert len(bars) == 1
    assert len([ax for ax in decision_panels(displays(1, 2, 3, 4), n_rows=2).axes[:4] if ax.child_axes]) == 2
    assert not figure.axes[3].axison
    figure.draw_without_rendering()
    clipped = decision_panels(drawn, limit=1.5, margins=True)
    assert drawn["slope 3.0"].surface_.get_clim() == (-1.5, 1.5)
    assert clipped.axes[2].child_axes[0]._colorbar.extend == "both"


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="names none"):
        decision_panels({})
    with pytest.raises(TypeError, match=r"displays\['a'\]=3"):
        decision_panels({"a": 3})
