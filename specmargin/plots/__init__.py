"""Figures: matplotlib lives in this sub-package and nowhere else.

A *display* holds plain arrays and draws them, after scikit-learn's convention: ``Display.from_estimator(s)``
reads fitted estimators, ``.plot(ax)`` draws and returns the display with ``figure_`` and ``ax_``. Start with
`DecisionDisplay.from_estimator` for points in the plane, `SpectrumDisplay.from_estimators` for learned
spectra, `SpectrumPathDisplay.from_results` for their path over C and `GraphDisplay` for a graph. Of filters of node
features `FilterResponseDisplay` draws the frequency response, `WeightsDisplay` the weights. `CurveDisplay` draws
numbers of your own over a weight or an iteration, `LandscapeDisplay` an objective of two weights, `MultiplierDisplay`
dual multipliers, `LabelRobustnessDisplay` what false labels would change; `style`, `subplots` and `save` give other
figures the same look.
"""

from __future__ import annotations

from specmargin.plots.curves import CurveDisplay
from specmargin.plots.decision import DecisionDisplay, decision_grid, decision_panels
from specmargin.plots.filter_response import FilterResponseDisplay
from specmargin.plots.graph import GraphDisplay
from specmargin.plots.label_robustness import LabelRobustnessDisplay
from specmargin.plots.landscape import LandscapeDisplay
from specmargin.plots.multipliers import MultiplierDisplay
from specmargin.plots.path import SpectrumPathDisplay
from specmargin.plots.points import LabelDisplay, ring
from specmargin.plots.spectrum import SpectrumDisplay
from specmargin.plots.theme import PALETTE, decision_colormap, method_styles, save, style, subplots
from specmargin.plots.weights import WeightsDisplay

__all__ = [
    "CurveDisplay",
    "DecisionDisplay",
    "FilterResponseDisplay",
    "GraphDisplay",
    "LabelDisplay",
    "LabelRobustnessDisplay",
    "LandscapeDisplay",
    "MultiplierDisplay",
    "PALETTE",
    "SpectrumDisplay",
    "SpectrumPathDisplay",
    "WeightsDisplay",
    "decision_colormap",
    "decision_grid",
    "decision_panels",
    "method_styles",
    "ring",
    "save",
    "style",
    "subplots",
]
