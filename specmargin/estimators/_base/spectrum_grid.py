"""What `STORMCV` and `KTACV` share: the grid over shared eigenpairs, honest folds, the comparison, and the refit.

Every graph is decomposed once, and fewer eigenvectors are its lowest. A fold trains from the start without the left-out
labels, the spectrum included: nothing else would be honest, for it is the spectrum that the labels choose.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specmargin import solvers
from specmargin.estimators._base.bound import within_bound
from specmargin.estimators._base.class_balance import Balance
from specmargin.estimators._base.label_search import LabelSearch, Settings, Space
from specmargin.estimators._base.semi_supervised import own_spectrum
from specmargin.estimators._base.spectrum_classifier import Graph, is_graph
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.graphs.parts import built_each
from specmargin.labels import Labels
from specmargin.objectives import SpectrumMargin
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.results import SolveResult
from specmargin.spectra import Spectrum
from specmargin.spectra.reuse import USUAL_Q, labeled_eigenpairs, labeled_part, reused
from specmargin.typing import FloatArray, Matrix

_LOGGER = logging.getLogger(__name__)

_FREE = 1.0 - 1e-6
"""Share of C below which the largest multiplier does not feel it."""


class Neighborhood(NamedTuple):
    """One graph with its eigenpairs, and what describes it."""

    params: dict[str, Any]
    graph: Graph
    spectrum: Spectrum


def _asked(space: Space) -> list[int]:
    """Return the numbers of eigenvectors that are asked for."""
    return [USUAL_Q if q is None else int(q) for q in space.values("q")]


class SpectrumCV(LabelSearch):
    """A search over graphs, eigenvectors, bounds and costs.

    A subclass says which problem its estimator solves for a spectrum: ``_problem_of``.
    """

    _candidates: ClassVar[Mapping[str, Sequence[Any]]] = {
        "graph__n_neighbors": (10, 20, 5),
        "q": (200,),
        "B": (1.5, np.inf),
        "C": (1.0, 10.0, 0.1, 100.0),  # ties, and labels that cannot choose, take the first
    }
    _searched: ClassVar[tuple[str, ...]] = ("graph", "laplacian", "q", "B", "C")
    _takes_graph_alone: ClassVar[bool] = False  # the twin learns from features
    _Bs: list[Any]

    def _problem_of(self, spectrum: Spectrum, labels: Labels) -> SpectrumMargin:
        raise NotImplementedError

    def _graph(self, X: Matrix, graph: Any) -> Graph | None:
        if isinstance(graph, list | tuple) and len(graph) and all(map(is_graph, graph)):
            raise InvalidInputError(f"{type(self).__name__} searches over one graph, got {len(graph)}; pass one.")
        return own_spectrum(graph) if isinstance(graph, Spectrum) else super()._graph(X, graph)

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: Graph | None, sample_weight: Any) -> None:
        neighborhoods = list(self._neighborhoods(X, labels, graph, self._space()))
        super()._learn(X, y, labels, neighborhoods, sample_weight)

    def _settings(
        self, space: Space, X: Matrix, labels: Labels, graph: list[Neighborhood], folds: list[loo.Fold]
    ) -> Iterator[Settings]:
        self._Bs, self._Cs = space.values("B"), [float(C) for C in space.values("C")]
        for params, _, spectrum in graph:
            for q in dict.fromkeys(min(int(q), spectrum.q) for q in _asked(space)):
                tried = [{**params, "q": q, "B": B, "C": C} for B in self._Bs for C in self._Cs]
                yield Settings(tried, *self._left_out_decisions(spectrum.truncate(q), labels, folds))

    def _refit(self, X: Matrix, y: Any, graph: list[Neighborhood], sample_weight: Any) -> None:
        """Fit with the eigenpairs that are known, where they are all that the chosen setting asks for."""
        chosen = next(one for one in graph if one.params.items() <= self.best_params_.items())
        known = chosen.spectrum if chosen.spectrum.q == self.best_params_["q"] else chosen.graph
        super()._refit(X, y, known, sample_weight)

    def _neighborhoods(self, X: Matrix, labels: Labels, graph: Graph | None, space: Space) -> Iterator[Neighborhood]:
        """Yield every graph with its eigenpairs, as many as are asked for."""
        searched = any(key.partition("__")[0] == "laplacian" for key in space.tried)
        q = max(_asked(space))
        graphs: list[tuple[dict[str, Any], Any]] = [({}, graph)]
        if graph is None:
            graphs = [({"graph": part}, W) for part, W, _ in built_each(space.values("graph"), X)]
        for params, W in graphs:
            for part in space.values("laplacian"):
                own = {**params, "laplacian": part} if searched else params
                if isinstance(W, Spectrum):
                    kind: dict[str, Any] = {"normalized": bool(part.normalized), "power": part.power}
                    pairs = labeled_part(reused(W, X.shape[0], q=min(q, W.q), **kind), labels.labeled)
                    yield Neighborhood(own, pairs, pairs)
                    continue
                options = {"of": part.of, "random_state": self._template.random_state}
                yield Neighborhood(own, W, labeled_eigenpairs(W, labels.labeled, min(q, X.shape[0]), **options))

    def _left_out_decisions(
        self, spectrum: Spectrum, labels: Labels, folds: list[loo.Fold]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the decisions at the tested samples, fold by fold, and what classes are compared by, per setting."""
        raw, compared = [], []
        for fold in folds:
            loo.check_fold(fold.left_out, labels.n_labeled)
            train = labels.at(np.setdiff1d(np.arange(labels.n_labeled), fold.left_out))
            parts = [self._decisions(spectrum, binary) for binary in train.one_vs_rest()]
            f = parts[0] if labels.is_binary else np.stack(parts, axis=-1)
            at = labels.labeled[fold.test]
            raw.append(f[:, at])
            compared.append(np.stack([self._balanced(spectrum, one, train)[at] for one in f]))
        return np.concatenate(raw, axis=1), np.concatenate(compared, axis=1)

    def _balanced(self, spectrum: Spectrum, f: FloatArray, labels: Labels) -> FloatArray:
        if self._template.class_balance is None or not np.isfinite(f).all():
            return f
        return Balance.of(spectrum.reached(f), labels, self._template.class_balance)(f)

    def _decisions(self, spectrum: Spectrum, labels: Labels) -> FloatArray:
        """Return the decisions of two classes at all samples, per setting; nan where there is none."""
        shape = (len(self._Bs), len(self._Cs), labels.n_samples)
        if (labels.sign == labels.sign[0]).all():
            return np.full(shape, labels.sign[0]).reshape(-1, shape[-1])
        decisions = np.full(shape, np.nan)
        try:
            path = _Path(self._problem_of(spectrum, labels))
            for c in np.argsort(self._Cs, kind="stable"):
                for k, B in enumerate(self._Bs):
                    result, _ = within_bound(B, partial(path, float(self._Cs[c])), labels.labeled)
                    decisions[k, c] = result.variables["f"]
        except (InvalidInputError, SolverError) as error:
            _LOGGER.info("q=%d with %d labels: %s", spectrum.q, labels.n_labeled, error)
        return decisions.reshape(-1, shape[-1])


class _Path:
    """Answers for ascending C, each under its bound; where no multiplier feels C, larger ones have the same answer."""

    def __init__(self, objective: SpectrumMargin) -> None:
        self.objective = objective
        self._before: dict[float, tuple[float, SolveResult]] = {}

    def __call__(self, C: float, bound: float) -> SolveResult:
        before, result = self._before.get(bound, (C, None))
        labels = self.objective.labels
        felt = None if result is None else labels.sign * result.variables["gamma"] / labels.weights_or_ones
        if result is not None and felt is not None and felt.max() < _FREE * before:
            return result
        # No warm start: for a learned spectrum it saves nothing, and where the intercept is an interval, as with a
        # small C, it would end at another point of it than the estimator does.
        result = solvers.spectrum_margin(self.objective.with_(C=C, B=bound), tol=1e-6)
        self._before[bound] = (C, result)
        return result
