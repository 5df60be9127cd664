"""LapRLS for numbers that chooses its parameters by the labelled samples alone: `LapRLSRegressorCV`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from specmargin.estimators._base.label_search import Judged, Search, Trials
from specmargin.estimators._base.manifold_grid import CANDIDATES, SEARCHED, ManifoldGrid
from specmargin.estimators._base.semi_supervised_regressor import SemiSupervisedRegressor
from specmargin.estimators.laprls_regressor import LapRLSRegressor
from specmargin.labels import Targets
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["LapRLSRegressorCV"]

_UNITS = 10.0 ** np.arange(-4.0, 0.5, 0.5)


@dataclass(kw_only=True, eq=False, repr=False)
class LapRLSRegressorCV(Search, SemiSupervisedRegressor):
    """LapRLS for numbers that chooses kernel, neighbours, power, gamma_A and gamma_I by exact leave-one-out.

    The grid is that of `LapRLSCV`, the criterion the mean square of what the other labelled samples predict wrongly at
    each one, by weights where `fit` is given some.

    Parameters
    ----------
    estimator : LapRLSRegressor, optional
        Estimator whose parameters are chosen; it has all others, such as the marker of unlabelled samples and the
        solver of the refit. By default ``LapRLSRegressor()``.
    grid : dict, optional
        What is tried, by the names of parameters and of those inside of parts: a dict from names to lists, a full
        product. Where it does not name kernel, graph, Laplacian or gamma_I, it is {"kernel": ["linear", RBF("0.5
        median"), RBF("median")], "graph__n_neighbors": [2, 5, 15, 50], "laplacian__power": [1, 2, 4], "gamma_I":
        ["0 gamma_A", "100 gamma_A"]}, but for what the estimator sets itself; "0 gamma_A" is supervised learning,
        tried once per kernel, and of no cost. gamma_A is tried at nine values from 1e-4 to 1 in units of tr(H G H)
        / l, G the deformed kernel at gamma_A = 1 and H the centring, which suit any kernel and graph. Numbers for
        gamma_I need numbers for gamma_A; a factorisation is paid for each distinct ratio. Neighbours decide, with
        the power: images want 4 to 10, views of one object 2, Gaussian clusters and text 15 to 50; more than n - 1
        are n - 1.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,) or (n, n_outputs)
        Predicted numbers of the training samples, labelled ones included.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per output with more than one.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    best_params_ : dict
        Keyword arguments that make `estimator_` again: what was chosen, and all that its defaults do not imply.
    best_score_ : float
        Minus the mean square at left-out targets, over outputs, too. **No estimate of the error**: see the notes.
    best_index_ : int
        Its position in `cv_results_`.
    cv_results_ : dict of ndarray
        ``params``, ``param_*``, ``supervised`` (whether no graph takes part), ``mean_test_score``,
        ``rank_test_score``, and the mean square ``sq``.
    estimator_ : LapRLSRegressor
        Fitted with `best_params_` to all samples; the other attributes are copied from it.
    baseline_ : LapRLSRegressor or None
        The supervised candidate that the same criterion chooses, fitted; `estimator_` itself where that is supervised,
        None where no ratio is 0.
    leave_one_out_ : ndarray of shape (l,) or (l, n_outputs)
        What the other labelled samples predict at each labelled sample, with the parameters that were chosen.
    dual_coef_ : ndarray of shape (n_outputs, n)
        Coefficients, as of `LapRLSRegressor`.
    kernel_ : Kernel
        The kernel that was chosen.
    gamma_A_, gamma_I_ : float
        The weights that were chosen.
    laplacian_ : Laplacian
        The Laplacian that was chosen, where a graph was.

    Notes
    -----
    The labelled samples alone choose, and two are needed. The smallest of many mean squares is smaller than that of a
    setting named in advance: `best_score_` is no estimate of the error. Outputs of different units should be scaled.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006, section 4.2.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> X = np.random.default_rng(0).uniform(0.0, 6.0, (100, 1))
    >>> y = np.where(np.arange(100) < 15, np.sin(X[:, 0]), np.nan)
    >>> model = sm.LapRLSRegressorCV(grid={"graph": [5], "laplacian__power": [1, 2]}).fit(X, y)
    >>> again = sm.LapRLSRegressor(**model.best_params_).fit(X, y)
    >>> model.score(X, np.sin(X[:, 0])) > 0.95, bool((again.transduction_ == model.transduction_).all())
    (True, True)
    """

    estimator: Any = field(default=None, kw_only=False)
    grid: Mapping[str, Sequence[Any]] | None = field(default=None, kw_only=False)

    _searched: ClassVar[tuple[str, ...]] = SEARCHED
    _candidates: ClassVar[Mapping[str, Sequence[Any]]] = CANDIDATES

    @classmethod
    def _usual(cls) -> LapRLSRegressor:
        return LapRLSRegressor()

    def _learn(self, X: Matrix, y: Any, labels: Targets, graph: SparseArray | None, sample_weight: Any) -> None:
        """Choose the parameters by the labelled samples, then learn from all."""
        grid, trials = ManifoldGrid(self._space(), _UNITS), Trials("sq", np.arange(len(labels.labeled)))
        for deformed in grid.factorisations(X, labels, graph):
            path = loo.RidgePath(deformed.reduction.G, labels.values, self._template.fit_intercept, labels.weights)
            gamma_As, tried = grid.tried(deformed, path)
            squares = loo.squares(path.leave_one_out(gamma_As), labels.values)
            means = np.average(squares, axis=1, weights=labels.weights)
            judgement = Judged({"sq": means}, squares, np.zeros(squares.shape, dtype=bool))
            trials.add(tried, judgement, common=grid.space.kept(), supervised=deformed.is_supervised)
        self._record(trials)
        self._refit(X, y, graph, sample_weight)
        self.baseline_: LapRLSRegressor | None = self._refit_supervised(trials, X, y, sample_weight)

    def _values(self, X: Matrix) -> FloatArray:
        predicted = self.estimator_.predict(X)
        return predicted[:, None] if predicted.ndim == 1 else predicted
