"""Spectrum and classifier in one convex problem: `JointClassifier`, what `STORM`, `STOAM` and `MKL` share."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from specmargin import solvers
from specmargin.estimators._bound import bound_in_use, within_bound
from specmargin.estimators._parameters import part_of
from specmargin.estimators._semi_supervised import solved_by_cvxpy
from specmargin.estimators._spectrum_classifier import Answer, Spectra, SpectrumClassifier
from specmargin.labels import Labels
from specmargin.objectives import SpectrumMargin
from specmargin.results import SolveResult


class JointClassifier(SpectrumClassifier):
    """Spectrum and classifier in one problem, over one graph or several."""

    _several_graphs: ClassVar[bool] = True
    _order: ClassVar[bool] = True

    def _objective(self, spectrum: Spectra, labels: Labels, bound: float) -> SpectrumMargin:
        eps = getattr(self, "eps", 0.0)
        return SpectrumMargin(spectrum, labels, C=self.C, B=bound, order=self._order, eps=eps)

    def _under(self, spectrum: Spectra, labels: Labels, bound: float) -> SolveResult:
        objective, solver = self._objective(spectrum, labels, bound), part_of(self, "solver")
        if solver.name == "auto":
            return solvers.spectrum_margin(objective, **solver.arguments())
        from specmargin import problems

        return solved_by_cvxpy(problems.storm(objective, "compact"), solver)

    def _solve(self, spectrum: Spectra, labels: Labels) -> Answer:
        result, bound = within_bound(self._bound, partial(self._under, spectrum, labels), labels.labeled)
        return Answer(result, result, bound)

    def _built(self, spectrum: Spectra, labels: Labels) -> Any:
        from specmargin import problems

        bound = bound_in_use(self._bound, partial(self._under, spectrum, labels), labels.labeled)
        return problems.storm(self._objective(spectrum, labels, bound), "compact")
