"""Axes to draw into."""

import pytest
from matplotlib.axes import Axes

from specmargin.plots import subplots


@pytest.fixture
def ax() -> Axes:
    return subplots(width="column")[1][0, 0]
