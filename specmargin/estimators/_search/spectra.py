"""STORM and KTA by the labels: graphs, eigenvectors, bounds and costs over eigenpairs that are computed once per graph.

Every graph is decomposed once, and fewer eigenvectors are its lowest. A fold trains from the start without the left-out
labels, the spectrum included: nothing else would be honest, for it is the spectrum that the labels choose.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._base.bound import within_bound
from specmargin.estimators._base.semi_supervised import own_spectrum
from specmargin.estimators._search.candidates import Candidates
from specmargin.estimators._search.trials import Settings
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.graphs import check_adjacency
from specmargin.graphs.parts import built_each
from specmargin.labels import Labels
from specmargin.labels.shares import Balance
from specmargin.objectives import SpectrumMargin
from specmargin.results import SolveResult
from specmargin.spectra import Spectrum
from specmargin.spectra.reuse import USUAL_Q, labeled_eigenpairs, labeled_part, reused
from specmargin.typing import FloatArray, IntArray

_LOGGER = logging.getLogger(__name__)

_FREE = 1.0 - 1e-6
"""Share of C below which the largest multiplier does not feel it."""


class SpectrumCandidates(Candidates):
    """Settings of `STORM` over one graph."""

    usual: ClassVar[Mapping[str, Sequence[Any]]] = {
        "graph__n_neighbors": (10, 20, 5),
        "q": (200,),
        "B": (1.5, np.inf),
        "C": (1.0, 10.0, 0.1, 100.0),  # ties, and labels that cannot choose, take the first
    }
    names: ClassVar[tuple[str, ...]] = ("graph", "laplacian", "q", "B", "C")

    @classmethod
    def serve(cls, template: Any, graph: Any) -> bool:
        """Whether there is one graph, and no other model."""
        several = (graph, template.graph, template.laplacian, template.q)
        return super().serve(template, graph) and not any(isinstance(one, list | tuple) for one in several)

    def settings(self) -> Iterator[Settings]:
        """Yield the settings of each graph and number of eigenvectors."""
        Bs, Cs = self.values("B"), self._costs()
        asked = [USUAL_Q if q is None else int(q) for q in self.values("q")]
        self._known = list(self._decomposed(max(asked)))
        for params, _, spectrum in self._known:
            for q in dict.fromkeys(min(q, spectrum.q) for q in asked):
                tried = [{**params, "q": q, "B": B, "C": C} for B in Bs for C in Cs]
                yield self._by_folds(tried, partial(self._left_out, spectrum.truncate(q), Bs, Cs))

    def graph_of(self, params: Mapping[str, Any]) -> Any:
        """Return the eigenpairs that are known where they are all that a setting asks for, else its graph."""
        graph, spectrum = next(one[1:] for one in self._known if one[0].items() <= params.items())
        return spectrum if spectrum.q == params["q"] else graph

    def _costs(self) -> Sequence[float]:
        return [float(C) for C in self.values("C")]

    def _decomposed(self, q: int) -> Iterator[tuple[dict[str, Any], Any, Spectrum]]:
        """Yield the parameters of every graph, the graph, and its eigenpairs, q of them if there are as many."""
        n, labeled, graph = self.labels.n_samples, self.labels.labeled, self.graph
        searched = any(key.partition("__")[0] == "laplacian" for key in self.tried)
        if graph is None:
            graphs: list[Any] = [({"graph": part}, W) for part, W, _ in built_each(self.values("graph"), self.X)]
        else:
            graphs = [({}, own_spectrum(graph) if isinstance(graph, Spectrum) else check_adjacency(graph, n))]
        for params, W in graphs:
            for part in self.values("laplacian"):
                own = {**params, "laplacian": part} if searched else params
                if isinstance(W, Spectrum):
                    kind: dict[str, Any] = {"normalized": bool(part.normalized), "power": part.power}
                    pairs = labeled_part(reused(W, n, q=min(q, W.q), **kind), labeled)
                    yield own, pairs, pairs
                    continue
                options = {"of": part.of, "random_state": self.template.random_state}
                yield own, W, labeled_eigenpairs(W, labeled, min(q, n), **options)

    def _left_out(
        self, spectrum: Spectrum, Bs: Sequence[Any], Cs: Sequence[float], train: IntArray, test: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the decisions at the tested samples of a fold, and what classes are compared by, per setting."""
        known, at, rule = self.labels.at(train), self.labels.labeled[test], self.template.class_balance
        parts = [self._decisions(spectrum, binary, Bs, Cs) for binary in known.one_vs_rest()]
        decisions = parts[0] if known.is_binary else np.stack(parts, axis=-1)
        compared = decisions[:, at].copy()
        for k, f in enumerate(decisions):
            if rule is not None and np.isfinite(f).all():
                compared[k] = Balance.of(spectrum.reached(f), known, rule)(f)[at]
        return decisions[:, at], compared

    def _decisions(self, spectrum: Spectrum, labels: Labels, Bs: Sequence[Any], Cs: Sequence[float]) -> FloatArray:
        """Return the decisions of two classes at all samples, per setting; nan where there is none."""
        shape = (len(Bs), len(Cs), labels.n_samples)
        if (labels.sign == labels.sign[0]).all():
            return np.full(shape, labels.sign[0]).reshape(-1, shape[-1])
        decisions = np.full(shape, np.nan)
        try:
            path = Path(self._objective(spectrum, labels))
            for c in np.argsort(Cs, kind="stable"):
                for k, B in enumerate(Bs):
                    result, _ = within_bound(B, partial(path, float(Cs[c])), labels.labeled)
                    decisions[k, c] = result.variables["f"]
        except (InvalidInputError, SolverError) as error:
            _LOGGER.info("q=%d with %d labels: %s", spectrum.q, labels.n_labeled, error)
        return decisions.reshape(-1, shape[-1])

    def _objective(self, spectrum: Spectrum, labels: Labels) -> SpectrumMargin:
        return SpectrumMargin(spectrum, labels, eps=self.template.eps)


class AlignedCandidates(SpectrumCandidates):
    """Settings of `KTA`: the alignment sees no label that a fold leaves out, and depends on neither C nor B."""

    usual: ClassVar[Mapping[str, Sequence[Any]]] = {**SpectrumCandidates.usual, "B": (np.inf,)}

    def _objective(self, spectrum: Spectrum, labels: Labels) -> SpectrumMargin:
        aligned = solvers.alignment(objectives.Alignment(spectrum, replace(labels, weights=None)), tol=1e-6)
        return SpectrumMargin(spectrum, labels, delta=aligned.variables["delta"])


class Path:
    """Answers for ascending C, each under its bound; where no multiplier feels C, larger ones have the same answer."""

    def __init__(self, objective: SpectrumMargin) -> None:
        self.objective = objective
        self._before: dict[float, tuple[float, SolveResult]] = {}

    def __call__(self, C: float, bound: float) -> SolveResult:
        if bound in self._before:
            before, result = self._before[bound]
            labels = self.objective.labels
            felt = labels.sign * result.variables["gamma"] / labels.weights_or_ones
            if felt.max() < _FREE * before:
                return result
        # No warm start: for a learned spectrum it saves nothing, and where the intercept is an interval, as with a
        # small C, it would end at another point of it than the estimator does.
        result = solvers.spectrum_margin(self.objective.with_(C=C, B=bound), tol=1e-6)
        self._before[bound] = (C, result)
        return result
