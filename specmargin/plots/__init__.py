"""Figures: matplotlib lives in this sub-package and nowhere else.

A *display* holds plain arrays and draws them, after scikit-learn's convention: ``Display.from_estimator(s)``
reads fitted estimators, ``.plot(ax)`` draws and returns the display with ``figure_`` and ``ax_``. Start with
`DecisionDisplay.from_estimator` for points in the plane, `SpectrumDisplay.from_estimators` for learned
spectra, `SpectrumPathDisplay.from_objective` for their path over C and `GraphDisplay` for a graph; `style`,
`subplots` and `save` give other figures the same look.
"""

from __future__ import annotations

from specmargin.plots.decision import DecisionDisplay, decision_grid
from specmargin.plots.diagnosis import DiagnosisDisplay
from specmargin.plots.graph import GraphDisplay
from specmargin.plots.path import SpectrumPathDisplay
from specmargin.plots.points import LabelDisplay
from specmargin.plots.spectrum import SpectrumDisplay
from specmargin.plots.theme import PALETTE, decision_colormap, method_styles, save, style, subplots

__all__ = [
    "DecisionDisplay",
    "DiagnosisDisplay",
    "GraphDisplay",
    "LabelDisplay",
    "PALETTE",
    "SpectrumDisplay",
    "SpectrumPathDisplay",
    "decision_colormap",
    "decision_grid",
    "method_styles",
    "save",
    "style",
    "subplots",
]
