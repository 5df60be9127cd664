"""LapRLS and LapSVM that choose their parameters by the labelled samples alone: `LapRLSCV` and `LapSVMCV`.

The deformed kernel G ignores the labels, so that the decisions of left-out samples follow from it without refitting
anything of size n (`specmargin.objectives.held_out.leave_one_out`). One factorisation is paid per kernel width, graph,
power of the Laplacian and ratio gamma_I / gamma_A; gamma_A, classes, balance and criteria are nearly free (LapRLS) or
cost a few problems with l unknowns each (LapSVM).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._class_balance import Balance
from specmargin.estimators._docstrings import documented
from specmargin.estimators._manifold_grid import Deformed
from specmargin.estimators._manifold_search import LeftOut, ManifoldCV
from specmargin.estimators._semi_supervised import columns
from specmargin.estimators.laprls import LapRLS
from specmargin.estimators.lapsvm import LapSVM
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.losses import LOSSES
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.held_out.principal_pivots import squared_hinge_leave_one_out
from specmargin.objectives.held_out.refitting import refitted, solution_near
from specmargin.objectives.intercept import hinge_intercept
from specmargin.typing import FloatArray

__all__ = ["LapRLSCV", "LapSVMCV"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LapRLSCV(ManifoldCV):
    """LapRLS that chooses kernel, neighbours, power, gamma_A and gamma_I by exact leave-one-out.

    Parameters
    ----------
    criterion : {"nll", "sq", "01", "gcv"}
        Of the decisions of left-out samples: "nll", log-loss of the probabilities that `predict_proba` would make of
        them; "sq", mean squared residual of f before balancing; "01", errors, ties broken by nll; "gcv", generalised
        cross-validation, which looks at no fold.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006 (LapRLS). Golub, Heath & Wahba, Generalized
    cross-validation as a method for choosing a good ridge parameter, Technometrics 1979.

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.estimators.manifold_cv import LapRLSCV
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=6, random_state=0)
    >>> clf = LapRLSCV().fit(X, y)
    >>> bool((clf.transduction_ == y_true).mean() > 0.95), clf.comparison_.verdict[:26]
    (True, 'cannot tell with 12 labels')
    >>> again = sm.LapRLS(**clf.best_params_).fit(X, y)
    >>> bool((again.scores_ == clf.scores_).all())
    True
    """

    _refitted: ClassVar[type[LapSVM]] = LapRLS

    def _held_out(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed, left_out: LeftOut
    ) -> tuple[FloatArray, list[Balance]]:
        labels, folds, rule = left_out
        decisions = path.held_out(gamma_As, folds)
        if rule is None:
            return decisions, []
        solutions = [path.solution(gamma_A) for gamma_A in gamma_As]
        v, b = _stacked(solutions)
        f = deformed.decisions(v.reshape(len(v), -1), b.ravel()).reshape(-1, *v.shape[1:])
        return decisions, [Balance.of(f[:, i], labels, rule) for i in range(len(gamma_As))]


def _stacked(solutions: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Return v (l, P[, K]) and b (P[, K]) of P settings."""
    return np.stack([v for v, _ in solutions], axis=1), np.stack([b for _, b in solutions])


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LapSVMCV(ManifoldCV):
    """LapSVM that chooses kernel, neighbours, power, gamma_A and gamma_I by exact leave-one-out.

    A left-out sample that is no support vector changes nothing; others cost a problem with l - 1 unknowns, or, with
    the squared hinge, mostly a formula. `LapRLSCV` is faster, and chooses from the same grid.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}
        Loss of the labelled samples.

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, JMLR 2011.

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.estimators.manifold_cv import LapSVMCV
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = LapSVMCV(kernels=["rbf"], gammas=[4.0], n_neighbors=[5, 10], powers=[1, 2]).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-6), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    loss: str = "squared_hinge"

    _criteria: ClassVar[tuple[str, ...]] = ("nll", "sq", "01")
    _units: ClassVar[FloatArray] = 10.0 ** np.arange(-4.0, 1.0)  # each costs l problems

    def _check_grid(self) -> None:
        super()._check_grid()
        known = [name for name, loss in LOSSES.items() if loss.slack_power]
        if self.loss not in known:
            names = " or ".join(map(repr, known))
            raise InvalidInputError(f"loss={self.loss!r} must be {names}; LapRLSCV takes the squared loss.")

    def _held_out(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed, left_out: LeftOut
    ) -> tuple[FloatArray, list[Balance]]:
        labels, folds, rule = left_out
        loss = LOSSES[self.loss]
        formula = loss.smooth and isinstance(self.cv, str)
        # A loss without curvature leaves an interval of intercepts.
        rule_of_b = None if loss.curved or not self.fit_intercept else hinge_intercept
        nearby = partial(solution_near, loss=self.loss, fit_intercept=self.fit_intercept)
        decisions, maps, own = [], [], () if labels.weights is None else (labels.weights,)
        before: dict[int, tuple[FloatArray, float]] = {}
        for gamma_A in gamma_As:
            # Rounding is all that tells constant functions apart, and would be solved for at length.
            G, parts, solutions = path.G / gamma_A if path.unit > 0 else np.zeros_like(path.G), [], []
            for k, binary in enumerate(labels.one_vs_rest()):
                near = nearby(G, binary.sign, *before[k], *own) if k in before else None
                full = before[k] = self._solve(G, binary.sign, *own) if near is None else near
                known: Any = {"full": full, "nearby": nearby, "weights": labels.weights}
                if formula:
                    part = squared_hinge_leave_one_out(
                        G, binary.sign, self._solve, fit_intercept=self.fit_intercept, **known
                    )
                else:
                    part = refitted(G, binary.sign, folds, self._solve, intercept=rule_of_b, **known)
                parts.append(part)
                solutions.append((full[0] / gamma_A, np.asarray(full[1])))
            decisions.append(columns(parts))
            if rule is not None:
                f = deformed.decisions(*_stacked(solutions))
                maps.append(Balance.of(f[:, 0] if labels.is_binary else f, labels, rule))
        return np.stack(decisions), maps

    def _solve(self, G: FloatArray, sign: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, float]:
        """Solve the problem whose kernel is the deformed one."""
        labels = Labels(sign, np.arange(len(sign)), np.array([False, True]), len(sign), weights)
        result = solvers.factorized(
            objectives.LapSVM(G, None, labels, loss=self.loss, gamma_A=1.0, fit_intercept=self.fit_intercept)
        )
        return np.asarray(result.variables["v"]), float(result.variables["b"])
