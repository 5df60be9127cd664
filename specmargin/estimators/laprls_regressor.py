"""Laplacian regularised least squares (LapRLS) for numbers: `LapRLSRegressor`.

The targets of unlabelled samples are NaN. ``gamma_I=0`` is kernel ridge regression on the labelled samples, with an
unpenalised intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._base.changed_model import ChangedModel, refuse_changed
from specmargin.estimators._base.manifold import ManifoldModel
from specmargin.estimators._base.semi_supervised import numerical_failures
from specmargin.estimators._base.semi_supervised_regressor import SemiSupervisedRegressor
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import KNN, Laplacian
from specmargin.kernels import RBF
from specmargin.labels import Targets
from specmargin.objectives.held_out.conformal import ConformalRidge, level_rank
from specmargin.objectives.held_out.leave_one_out import RidgePath
from specmargin.results import SolveResult
from specmargin.solvers.parts import Solver
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["LapRLSRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class LapRLSRegressor(ManifoldModel, SemiSupervisedRegressor):
    """Laplacian regularised least squares for numbers.

    Minimises, per output, sum_i c_i (z_i - f_i)^2 + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha over
    f(x) = sum_j alpha_j k(x_j, x) + b: the least squares of eq. 14 of the primal LapSVM paper with numbers z_i in the
    place of signs, and weights c that are one unless `fit` is given others. The intercept takes the level of the
    targets, and their unit changes nothing: gamma_A and gamma_I are those of `LapRLS`. The sums are not means.

    Parameters
    ----------
    gamma_A : float or "auto", default "auto"
        Weight of the ambient norm, > 0, next to a loss that is a sum over the labelled samples. "auto": 0.1 tr(H G
        H) / l, in units that depend neither on their number l nor on the scale of the kernel; see the notes.
    gamma_I : float or str, default "auto"
        Weight of the intrinsic norm, >= 0; 0 is supervised and builds no graph. "100 gamma_A": 100 times gamma_A
        over the mean of the kernel's diagonal, so that it suits kernels of any unit. "auto": a multiple in units of
        graph and kernel, or 0 where the labels speak against the graph; see the notes.
    kernel : Kernel, str, float or callable, default RBF(gamma="median")
        Kernel of the expansion: one of `specmargin.kernels` such as ``RBF(1.0)``, a name ("rbf", "poly", "linear",
        "cosine", "precomputed"), a number (the gamma of `RBF`), or a function of two data matrices.
    graph : KNN, int or callable, default KNN()
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them.
    laplacian : Laplacian or int, default Laplacian(power=2, normalized="auto")
        Which Laplacian of the graph, and its power, the short form. Its ``normalized="auto"`` is the normalized
        one.
    functions : {"auto", "kernel"}, Landmarks or Eigenvectors, default "auto"
        Functions to choose from. "kernel": the expansion over all samples, which stores n x n numbers twice; of more
        than 2,000 samples only n x r where the numerical rank r of the kernel is below n / 8, as of a few features.
        `specmargin.kernels.Landmarks`: that over some of them (Nyström), the labelled ones included.
        `specmargin.spectra.Eigenvectors`: the lowest eigenvectors of the graph Laplacian, with no kernel. In each
        the optimum is exact. "auto" takes "kernel" up to 5,000 samples, and up to 10,000 where its rank is low; then
        200 eigenvectors, or 500 to 1,000 landmarks where the targets lose less by them when they are left out, or
        where gamma_I is 0. ``result_`` tells in whose span it is.
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.
    model : callable, optional
        Change of the problem that is solved: ``specmargin.problems.models.fairness(group=0)``, or a function that gets
        the built problem and returns ``built.with_(...)``. CVXPY solves it then, and certificates are those of the
        changed problem (`specmargin.problems.BuiltProblem.with_`).
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.

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
    kernel_ : Kernel
        The kernel in use, with a number for its width.
    gamma_A_, gamma_I_ : float
        The weights in use; gamma_I_ is 0 where the supervised classifier was taken.
    laplacian_ : Laplacian
        The Laplacian in use.
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

    **Weights.** With d the mean of the kernel's diagonal, G = J K (I + r L K)^-1 J', r = gamma_I / gamma_A, is the
    deformed kernel of the l labelled samples (rows J), and tr(H G H) / l the mean eigenvalue that is left when H takes
    constants out (nothing is taken out without an intercept). A tenth of it is ``gamma_A="auto"``; where gamma_I is 0,
    G is the kernel itself. On 19 data sets its size hardly mattered between a tenth and ten times of that. With m =
    tr(K)^2 / |K|^2 the number of functions that K holds in effect and p the power of the Laplacian, ``gamma_I="auto"``
    of a classifier with an intercept sets r to 10000 m / tr(L^p K): the graph norm of an average function of K weighs
    10,000 times its ambient norm, whatever the number of samples and the units of K and L. Without an intercept, and
    for numbers, which vary within clusters, it is 100 over the mean of K's diagonal. ``gamma_A_`` and ``gamma_I_``
    given as numbers, with ``laplacian=laplacian_``, make the same classifier again. A solver that factorises nothing
    ("pcg", "newton") pays one factorisation for "auto".

    **Which Laplacian.** The graph norm of I - D^-1/2 W D^-1/2 vanishes on the square roots of the degrees, and with a
    large ratio and few labels decisions follow the degrees; that of D - W vanishes on constants, which the intercept
    takes. Where the functions are eigenvectors the first one, constant or these roots, is left to the intercept.

    **Graphs that mislead.** No weight repairs a graph that says nothing about the classes. ``gamma_I="auto"`` asks the
    labels: least squares with the graph and without it decide about each labelled sample from the others (exact
    leave-one-out), and where the sum of the log-losses of their calibrated probabilities is larger by more than one
    with the graph, it is left out. A few labels seldom say that, so that the graph is taken then.

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

    gamma_A: float | str = "auto"
    gamma_I: float | str = "auto"
    kernel: Any = RBF("median")
    graph: Any = KNN()
    laplacian: Any = Laplacian(power=2, normalized="auto")
    functions: Any = "auto"
    fit_intercept: bool = True
    model: Any = None
    tol: float = 1e-6

    _tells_classes: ClassVar[bool] = False

    def _fit(self, X: Matrix, targets: Targets, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        base = self._objective(X, targets, graph)
        G = base.reduction.G
        outputs = [base.with_(targets=z) for z in targets.columns.T]
        if change := ChangedModel.of(self, X):
            results = [change.solved(one, Solver(tol=self.tol)) for one in outputs]
        else:
            results = [solvers.factorized(one, tol=self.tol) for one in outputs]
        self._keep_answers(results)
        self.leave_one_out_ = np.full(targets.values.shape, np.nan)
        if len(targets.labeled) > 1 and not change:
            path = RidgePath(G, targets.values, self.fit_intercept, targets.weights)
            self.leave_one_out_[:] = path.leave_one_out([1.0])[0]
        return np.column_stack([np.asarray(result.variables["f"]) for result in results]), results

    def _objective(self, X: Matrix, targets: Targets, graph: SparseArray | None) -> objectives.LapRLS:
        """Return the objective of the first output; set the functions that it chooses from."""
        made = partial(
            objectives.LapRLS,
            labeled=targets.labeled,
            targets=targets.columns[:, 0],
            weights=targets.weights,
            fit_intercept=self.fit_intercept,
        )
        numbers = targets.values
        weighted: objectives.LapRLS = self._with_functions(X, targets, graph, made, numbers, numbers=True)
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
          and the graph that ``gamma_I="auto"`` may leave out takes part, so that the defaults keep the proof;
          parameters that these targets chose, as by `LabelSearch`, do not;
        - for new samples, too, nothing is taken from the training samples: a kernel with a number for its width, no
          rule such as "median" (the default), no ``gamma_A="auto"``.

        `SpectralFilterRegressor`, which learns its weights from the targets, has no intervals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples, where no graph takes part; by default the training samples.
        level : float, default 0.9
            Level in (0, 1).

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
        refuse_changed(self, "conformal intervals")
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
