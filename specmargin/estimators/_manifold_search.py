"""The search over manifold regularization: the choice, the refit, and the best supervised candidate, `ManifoldCV`.

The grid and its factorisations are in `_manifold_grid`, folds and criteria in `_label_search`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specmargin.candidates.comparison import Comparison
from specmargin.estimators._class_balance import Balance, in_force
from specmargin.estimators._label_search import OF_DECISIONS, LabelSearch, Trials, judged
from specmargin.estimators._manifold_grid import CANDIDATES, SEARCHED, Deformed, ManifoldGrid
from specmargin.exceptions import MarkerWarning
from specmargin.graphs import check_adjacency
from specmargin.labels import Labels
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.typing import FloatArray, Matrix, SparseArray

_LOGGER = logging.getLogger(__name__)
_OF_THE_REFIT = (
    *("classes_", "transduction_", "_rounding", "scores_", "dual_coef_", "intercept_", "balance_", "result_"),
    *("kernel_", "gamma_A_", "gamma_I_", "n_iter_"),
)


class LeftOut(NamedTuple):
    """The labelled samples, those that each fold leaves out, and how the scores of the classes are compared."""

    labels: Labels
    folds: list[loo.Fold]
    rule: str | None


class ManifoldCV(LabelSearch):
    """The choice, the refit and the supervised twin; a subclass knows the decisions of left-out samples."""

    _candidates: ClassVar[Mapping[str, Sequence[Any]]] = CANDIDATES
    _searched: ClassVar[tuple[str, ...]] = SEARCHED
    _units: ClassVar[FloatArray] = 10.0 ** np.arange(-4.0, 0.5, 0.5)

    def _needs_graph(self) -> bool:
        return True

    @property
    def _instead(self) -> str:  # type: ignore[override]  # a constant above
        return f"the setting nearest to the defaults of {type(self._template).__name__} is taken"

    def _graph(self, X: Matrix, graph: Any) -> SparseArray | None:
        return None if graph is None else check_adjacency(graph, X.shape[0])  # the grid makes them

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: SparseArray | None) -> None:
        """Choose the parameters by the labelled samples, then learn from all."""
        grid, template = ManifoldGrid(self._space(), self._units), self._template
        sample_weight, c = self._taken_weight(), labels.weights
        folds = self._folds(X, labels)
        left_out = LeftOut(labels, folds, in_force(template.class_balance, labels))
        kept = self._counted(labels, folds)
        tested = np.concatenate([fold.test for fold in folds])[kept]
        trials = Trials(self.criterion, tested)
        distances: list[float] = []
        n_factorized = 0
        for deformed in grid.factorisations(X, labels, graph):
            n_factorized += not deformed.is_supervised
            path = loo.RidgePath(deformed.reduction.G, labels.sign, template.fit_intercept, c)
            gamma_As, tried = grid.tried(deformed, path)
            raw, maps = self._left_out_decisions(path, gamma_As, deformed, left_out)
            raw = raw[:, kept]
            compared = np.stack([change(f) for change, f in zip(maps, raw, strict=True)]) if maps else raw
            judgement = judged(raw, compared, labels.sign[tested], self.criterion, None if c is None else c[tested])
            if "gcv" in self._criteria:
                judgement.values["gcv"] = path.gcv(gamma_As)
            trials.add(tried, judgement, common=grid.common, supervised=deformed.is_supervised)
            if not kept.any():
                distances += [grid.from_defaults(X, deformed, path, one) for one in tried]
            _LOGGER.debug("%s, ratio %g: %s", deformed.params, deformed.ratio, judgement.values[self.criterion].min())
        best, supervised = trials.best(), trials.best(trials.supervised)
        if not kept.any() and self.criterion in OF_DECISIONS:
            best = int(np.argmin(distances))
            supervised = int(np.where(trials.supervised, distances, np.inf).argmin())
        self._record(trials, best)
        _LOGGER.info(
            "%s: %d settings from %d factorisations, best %s %.4g at %s",
            *(type(self).__name__, len(trials), n_factorized),
            *(self.criterion, -self.best_score_, self.best_params_),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarkerWarning)  # warned of before
            self.estimator_ = type(template)(**self.best_params_).fit(X, y, graph=graph, sample_weight=sample_weight)
        for name in _OF_THE_REFIT:
            setattr(self, name, getattr(self.estimator_, name))
        self._compare(trials, supervised, X, y, sample_weight)

    def _compare(self, trials: Trials, supervised: int, X: Matrix, y: Any, sample_weight: Any) -> None:
        """Fit the best supervised setting, and compare what the labels say of both."""
        self.baseline_: Any = None
        self.comparison_: Comparison | None = None
        without = trials.supervised
        if not without.any():
            return
        if supervised == self.best_index_:
            self.baseline_ = self.estimator_
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the answer is that of `estimator_`, which has had its say
                self.baseline_ = type(self._template)(**trials.params[supervised]).fit(
                    X, y, sample_weight=sample_weight
                )
        chosen = trials.wrong_when_chosen_by_others()
        self.comparison_ = self._compared(chosen, trials.wrong_when_chosen_by_others(without))

    def _left_out_decisions(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed, left_out: LeftOut
    ) -> tuple[FloatArray, list[Balance]]:
        """Return the decisions at the tested samples, (n_settings, m[, K]), and the balance per setting if any."""
        raise NotImplementedError
