"""Laplacian regularised least squares (LapRLS) for numbers: `LapRLSRegressor`.

The targets of unlabelled samples are NaN. ``gamma_I=0`` is kernel ridge regression on the labelled samples, with an
unpenalised intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._conformal import ManifoldBlocks
from specmargin.estimators._docstrings import documented
from specmargin.estimators._feature_maps import ChosenFunctions
from specmargin.estimators._manifold_weights import ManifoldWeights
from specmargin.estimators._semi_supervised import numerical_failures, unpacked
from specmargin.estimators._semi_supervised_regressor import SemiSupervisedRegressor
from specmargin.estimators._shared_parameters import KernelParameters, LaplacianParameters, SearchedNeighbors
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Targets
from specmargin.objectives.held_out.conformal import ConformalRidge, level_rank
from specmargin.objectives.held_out.leave_one_out import RidgePath
from specmargin.results import SolveResult
from specmargin.solvers.manifold.left_out import weighted_squares_left_out
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["LapRLSRegressor"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LapRLSRegressor(
    ManifoldBlocks,
    ManifoldWeights,
    KernelParameters,
    LaplacianParameters,
    SearchedNeighbors,
    ChosenFunctions,
    SemiSupervisedRegressor,
):
    """Laplacian regularised least squares for numbers.

    Minimises, per output, sum_i c_i (z_i - f_i)^2 + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha over
    f(x) = sum_j alpha_j k(x_j, x) + b: the least squares of eq. 14 of the primal LapSVM paper with numbers z_i in the
    place of signs, and weights c that are one unless `fit` is given others. The intercept takes the level of the
    targets, and their unit changes nothing: gamma_A and gamma_I are those of `LapRLS`. The sums are not means.

    Parameters
    ----------
    fit_intercept : bool
        Whether f has an unpenalised intercept.
    tol : float
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.

    Attributes
    ----------
    leave_one_out_ : ndarray of shape (l,) or (l, n_outputs)
        What the other labelled samples predict at each labelled sample, in the order of the rows: exact, without
        refitting. NaN where one sample is labelled.
    dual_coef_ : ndarray of shape (n_outputs, n)
        Expansion coefficients alpha. Those of the features with landmarks; with eigenvectors the values f - b at the
        training samples.

    Notes
    -----
    The mean square of ``y[labelled] - leave_one_out_`` compares settings by the labels alone; of many settings the
    smallest is no estimate of the error.

    A component of the graph without a labelled sample is predicted by the kernel expansion alone, far from every
    labelled sample by the intercept; a warning counts such samples.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006, section 4.2.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> X = np.random.default_rng(0).uniform(0.0, 6.0, (150, 1))
    >>> y = np.where(np.arange(150) < 15, np.sin(X[:, 0]), np.nan)
    >>> model = sm.LapRLSRegressor(gamma_A=1e-3, gamma_I=1e-3).fit(X, y)
    >>> model.result_.certificate.is_optimal(1e-9), model.score(X, np.sin(X[:, 0])) > 0.95
    (True, True)
    """

    gamma: float | str = "median"
    fit_intercept: bool = True
    power: int = 2
    tol: float = 1e-6

    _tells_classes: ClassVar[bool] = False
    _without_graph: ClassVar[str] = "fit(K, y, graph=W), or gamma_I=0 for supervised learning"

    def _needs_graph(self) -> bool:
        return not self._is_supervised

    def _fit(self, X: Matrix, targets: Targets, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        base = self._objective(X, targets, graph)
        G = base.reduction.G
        results = [solvers.factorized(base.with_(targets=z), tol=self.tol) for z in targets.columns.T]
        self.result_ = unpacked(results)
        self.dual_coef_ = np.vstack([self._functions.from_dual(result.variables["alpha"]) for result in results])
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        self._functions.forget()
        self.leave_one_out_ = np.full(targets.values.shape, np.nan)
        if len(targets.labeled) > 1:
            if targets.weights is None:
                left_out = RidgePath(G, targets.values, self.fit_intercept).leave_one_out([1.0])[0]
            else:
                left_out = weighted_squares_left_out(G, targets.values, targets.weights, self.fit_intercept)
            self.leave_one_out_[:] = left_out
        return np.column_stack([np.asarray(result.variables["f"]) for result in results]), results

    def _objective(self, X: Matrix, targets: Targets, graph: SparseArray | None) -> objectives.LapRLS:
        """Return the objective of the first output; set the functions that it chooses from."""
        self._resolve_gamma(X)
        L = self._laplacian(X, graph)
        self._functions = self._manifold_map(X, targets, L, self.gamma_, self._count(X.shape[0]))
        K, at, z = self._functions.kernel, targets.labeled, targets.columns[:, 0]
        made = partial(
            objectives.LapRLS,
            K,
            L,
            labeled=at,
            targets=z,
            weights=targets.weights,
            fit_intercept=self.fit_intercept,
        )
        weighted: objectives.LapRLS = self._with_weights(K, L, made, targets.values, numbers=True)
        return weighted

    def _values(self, X: Matrix) -> FloatArray:
        return np.asarray(self._functions.values(X, self.dual_coef_) + self.intercept_)

    def conformal_intervals(self, X: Matrix | None = None, level: float = 0.9) -> FloatArray:
        """Return an interval for each sample, which holds its target with a probability of at least `level`.

        Full conformal prediction by studentised residuals: exact, without targets set aside, and whatever the model is
        worth; a bad one has wide intervals, and one with so small a gamma_A that it follows noise wider ones than split
        conformal prediction. The probability is over the draw of the labelled samples and of the sample
        itself. It is **proved** where

        - these are exchangeable: the labelled samples were drawn at random, each as likely as any other;
        - the parameters were fixed without these targets. ``gamma_A="auto"`` is in units of all training samples here,
          and the graph that ``ratio="auto"`` may leave out takes part, so that the defaults keep the proof; parameters
          that these targets chose, as by `LapRLSRegressorCV`, do not;
        - for new samples, too, nothing is taken from the training samples: no ``gamma="median"`` (the default) or
          "scale", no ``gamma_A="auto"``.

        `SpectralFilterRegressor`, which learns its weights from the targets, has no intervals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples, where no graph takes part; by default the training samples.
        level : float, default 0.9
            In (0, 1).

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, n_outputs)
            Lower and upper ends, closed; every output by itself. Infinite where fewer than 1 / (1 - level) - 1 samples
            are labelled. Of a labelled training sample both are its target: it is known.

        Raises
        ------
        ValueError
            For a level that is no number between 0 and 1; if new samples are given where a graph takes part, or where
            the functions depend on which samples are labelled: the intervals would prove nothing.

        References
        ----------
        Burnaev & Nazarov, Conformalized kernel ridge regression, ICMLA 2016.

        Examples
        --------
        >>> import numpy as np, specmargin as sm
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, (200, 1))
        >>> truth = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
        >>> model = sm.LapRLSRegressor(gamma_A=1e-3, gamma_I=1e-3).fit(X, np.where(np.arange(200) < 40, truth, np.nan))
        >>> low, high = model.conformal_intervals(level=0.9)[40:].T
        >>> bool(0.8 < ((low <= truth[40:]) & (truth[40:] <= high)).mean() < 1.0)
        True
        """
        level_rank(level, 1)
        with numerical_failures(self):
            targets = self._remembered().labels
            if targets.weights is not None:
                raise InvalidInputError(
                    "targets with weights are not exchangeable, and intervals would promise nothing; fit without "
                    "sample_weight."
                )
            blocks, gamma_A = self._kernel_blocks(X)
            ridge = ConformalRidge(blocks.G, targets.values, gamma_A, self.fit_intercept)
            ends = ridge.intervals(blocks.cross, blocks.diagonal, level)
        if X is None:
            ends[targets.labeled] = targets.values[:, None]
        return ends
