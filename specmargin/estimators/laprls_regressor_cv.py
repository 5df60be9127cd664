"""LapRLS for numbers that chooses its parameters by the labelled samples alone: `LapRLSRegressorCV`."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from specmargin.estimators._docstrings import documented
from specmargin.estimators._label_search import Judged, Trials
from specmargin.estimators._label_weights import PassesWeights
from specmargin.estimators._manifold_grid import ManifoldGrid
from specmargin.estimators._semi_supervised_regressor import SemiSupervisedRegressor
from specmargin.estimators.laprls_regressor import LapRLSRegressor
from specmargin.labels import Targets
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["LapRLSRegressorCV"]

_LOGGER = logging.getLogger(__name__)
_OF_THE_REFIT = (
    *("transduction_", "dual_coef_", "intercept_", "result_", "leave_one_out_"),
    *("gamma_", "gamma_A_", "gamma_I_", "n_iter_"),
)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LapRLSRegressorCV(PassesWeights, ManifoldGrid, SemiSupervisedRegressor):
    """LapRLS for numbers that chooses kernel, neighbours, power, gamma_A and gamma_I by exact leave-one-out.

    The grid is that of `LapRLSCV`, the criterion the mean square of what the other labelled samples predict wrongly at
    each one, by weights where `fit` is given some.

    Parameters
    ----------
    tol : float
        Relative gap to which the refit has to be certified; a ConvergenceWarning says so where it is not.

    Attributes
    ----------
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
    gamma_ : float
        The kernel parameter that was chosen.
    gamma_A_, gamma_I_ : float
        The weights that were chosen.

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
    >>> model = sm.LapRLSRegressorCV(n_neighbors=[5], powers=[1, 2]).fit(X, y)
    >>> again = sm.LapRLSRegressor(**model.best_params_).fit(X, y)
    >>> model.score(X, np.sin(X[:, 0])) > 0.95, bool((again.transduction_ == model.transduction_).all())
    (True, True)
    """

    tol: float = 1e-6

    _refitted: ClassVar[type[LapRLSRegressor]] = LapRLSRegressor

    def _learn(self, X: Matrix, y: Any, targets: Targets, graph: SparseArray | None) -> None:
        """Choose the parameters by the labelled samples, then learn from all."""
        self._check_grid()
        sample_weight, c = self._taken_weight(), targets.weights
        self._one_output = targets.values.ndim == 1
        trials = Trials("sq", np.arange(len(targets.labeled)))
        for deformed in self._factorisations(X, targets, graph):
            path = loo.RidgePath(deformed.reduction.G, targets.values, self.fit_intercept, c)
            gamma_As, tried = self._tried(deformed, path)
            squares = loo.squares(path.leave_one_out(gamma_As), targets.values)
            means = np.average(squares, axis=1, weights=c)
            judgement = Judged({"sq": means}, squares, np.zeros(squares.shape, dtype=bool))
            trials.add(tried, judgement, common=self._common, supervised=deformed.is_supervised)
        self.best_index_ = trials.best()
        self.cv_results_ = trials.results(["sq"])
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = dict(self.cv_results_["params"][self.best_index_])
        _LOGGER.info(
            "%s: %d settings, best mean square %.4g at %s",
            *(type(self).__name__, len(trials), -self.best_score_, self.best_params_),
        )
        self.estimator_ = self._refitted(**self.best_params_).fit(X, y, graph=graph, sample_weight=sample_weight)
        for name in _OF_THE_REFIT:
            setattr(self, name, getattr(self.estimator_, name))
        self.baseline_: LapRLSRegressor | None = None
        if trials.supervised.any():
            at = trials.best(trials.supervised)
            self.baseline_ = self.estimator_
            if at != self.best_index_:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the answer is that of `estimator_`, which has had its say
                    self.baseline_ = self._refitted(**trials.params[at]).fit(X, y, sample_weight=sample_weight)

    def _values(self, X: Matrix) -> FloatArray:
        predicted = self.estimator_.predict(X)
        return predicted[:, None] if self._one_output else predicted
