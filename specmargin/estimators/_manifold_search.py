"""The search over manifold regularization: left-out decisions of every factorisation, `ManifoldCV`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specmargin.checks import Rule
from specmargin.estimators._class_balance import Balance, in_force
from specmargin.estimators._label_search import LabelSearch, Settings, Space, Trials
from specmargin.estimators._manifold_grid import CANDIDATES, SEARCHED, Deformed, ManifoldGrid
from specmargin.estimators._parameters import RULES
from specmargin.labels import Labels
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.typing import FloatArray, Matrix, SparseArray

_LOGGER = logging.getLogger(__name__)


class LeftOut(NamedTuple):
    """The labels, how they are left out in turn, and the rule by which classes are balanced meanwhile."""

    labels: Labels
    folds: list[loo.Fold]
    rule: str | None


@dataclass(kw_only=True, eq=False, repr=False)
class ManifoldCV(LabelSearch):
    """A search over kernels, graphs, powers and weights.

    A subclass says how its learner decides about left-out samples: ``_left_out_decisions``.
    """

    cv: Any = "loo"

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {"cv": RULES["cv"]}
    _candidates: ClassVar[Mapping[str, Sequence[Any]]] = CANDIDATES
    _searched: ClassVar[tuple[str, ...]] = SEARCHED
    _units: ClassVar[FloatArray] = 10.0 ** np.arange(-4.0, 0.5, 0.5)

    @property
    def _instead(self) -> str:
        return f"the setting nearest to the defaults of {type(self._template).__name__} is taken"

    def _settings(
        self, space: Space, X: Matrix, labels: Labels, graph: SparseArray | None, folds: list[loo.Fold]
    ) -> Iterator[Settings]:
        grid, template = ManifoldGrid(space, self._units), self._template
        left_out = LeftOut(labels, folds, in_force(template.class_balance, labels))
        can_choose = loo.counted(labels.sign, folds).any()
        for deformed in grid.factorisations(X, labels, graph):
            path = loo.RidgePath(deformed.reduction.G, labels.sign, template.fit_intercept, labels.weights)
            gamma_As, tried = grid.tried(deformed, path)
            raw, maps = self._left_out_decisions(path, gamma_As, deformed, left_out)
            compared = np.stack([change(f) for change, f in zip(maps, raw, strict=True)]) if maps else raw
            criteria = {"gcv": path.gcv(gamma_As)} if "gcv" in self._criteria else {}
            ranks = None if can_choose else [grid.from_defaults(X, deformed, path, one) for one in tried]
            _LOGGER.debug("%s, ratio %g: %d settings", deformed.params, deformed.ratio, len(tried))
            yield Settings(tried, raw, compared, deformed.is_supervised, criteria, ranks)

    def _compare(
        self, X: Matrix, y: Any, labels: Labels, folds: list[loo.Fold], trials: Trials, sample_weight: Any
    ) -> None:
        """Fit the best supervised candidate, and compare what the labels say of both."""
        self.baseline_ = self._refit_supervised(trials, X, y, sample_weight)
        self.comparison_ = None
        if self.baseline_ is not None:
            without = trials.wrong_when_chosen_by_others(trials.supervised)
            self.comparison_ = self._compared(trials.wrong_when_chosen_by_others(), without)

    def _left_out_decisions(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed, left_out: LeftOut
    ) -> tuple[FloatArray, list[Balance]]:
        """Return the decisions at the tested samples, (P, m) or (P, m, K), and the balance of each setting if any."""
        raise NotImplementedError
