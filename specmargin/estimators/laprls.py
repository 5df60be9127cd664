"""Laplacian regularised least squares: `LapRLS`, LapSVM with the squared loss.

One linear system for all classes where the support vector machine has a problem per class. ``gamma_I=0`` is
regularised least-squares classification (kernel ridge regression on the labels). `LabelSearch` chooses the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from specmargin.estimators._base.label_robustness import Smoother
from specmargin.estimators._base.linear_decisions import LinearDecisions
from specmargin.estimators._base.manifold import KernelBlocks
from specmargin.estimators._base.semi_supervised import in_batches
from specmargin.estimators.lapsvm import LapSVM
from specmargin.labels import Labels
from specmargin.objectives.held_out.conformal import ConformalRidge
from specmargin.objectives.held_out.label_flips import smoother
from specmargin.typing import FloatArray, Matrix

__all__ = ["LapRLS"]


@dataclass(kw_only=True, eq=False, repr=False)
class LapRLS(LinearDecisions, LapSVM):
    """Laplacian regularised least squares.

    Minimises, per class against the rest, sum_i (y_i - f_i)^2 + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha
    (eq. 14 of the primal paper) over f(x) = sum_j alpha_j k(x_j, x) + b. The sums are not means: `from_published`
    converts the gammas of tables.

    Parameters
    ----------
    gamma_A : float or "auto", default "auto"
        Weight of the ambient norm, > 0, next to a loss that is a sum over the labelled samples. "auto": 0.1 tr(H G
        H) / l, in units that depend neither on their number l nor on the scale of the kernel; or a tenth or ten times
        of that, where the labels choose the kernel, too; see the notes.
    gamma_I : float or str, default "auto"
        Weight of the intrinsic norm, >= 0; 0 is supervised and builds no graph. "100 gamma_A": 100 times gamma_A
        over the mean of the kernel's diagonal, so that it suits kernels of any unit. "auto": a multiple in units of
        graph and kernel, or 0 where the labels speak against the graph; see the notes.
    kernel : Kernel, str, float or callable, default RBF(gamma="auto")
        Kernel of the expansion: one of `specmargin.kernels` such as ``RBF(1.0)``, a name ("rbf", "poly", "linear",
        "cosine", "precomputed"), a number (the gamma of `RBF`), or a function of two data matrices. The width "auto" is
        "local", or where ``gamma_I="auto"`` leaves the graph out "4 median", if the labels say so; see the notes.
    graph : KNN, int or callable, default KNN()
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them.
    laplacian : Laplacian or int, default Laplacian(power=2, normalized="auto")
        Which Laplacian of the graph, and its power, the short form. Its ``normalized="auto"`` is D - W where
        `gamma_I` is "auto", there is an intercept, and the functions are those of a kernel, else the normalized
        one, in whose units papers report weights; see the notes.
    functions : {"auto", "kernel"}, Landmarks or Eigenvectors, default "auto"
        Functions to choose from. "kernel": the expansion over all samples, which stores n x n numbers twice; of more
        than 2,000 samples only n x r where the numerical rank r of the kernel is below n / 8, as of a few features.
        `specmargin.kernels.Landmarks`: that over some of them (Nyström), the labelled ones included.
        `specmargin.spectra.Eigenvectors`: the lowest eigenvectors of the graph Laplacian, with no kernel. In each
        the optimum is exact. "auto" takes "kernel" up to 5,000 samples, and up to 10,000 where its rank is low; then
        200 eigenvectors, or 500 to 1,000 landmarks where the labels lose less by them when they are left out, or
        where gamma_I is 0. ``result_`` tells in whose span it is.
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes in the losses of the labelled samples, times `sample_weight` of `fit`. A dict from
        class values, whose missing classes have the weight 1; "balanced": l / (K l_k) for l_k of the l labels of K
        classes, so that all classes weigh the same.
    class_balance : {"shrunk", "zscore", "mass"}, dict or None, default "shrunk"
        How the scores of the classes are made comparable; with two classes the threshold moves. "shrunk": for two
        classes, to where the scores of the training samples are sparse and the share above fits that of the labels;
        for more classes as "zscore". "zscore": by their means and deviations over all samples, unless the label counts
        reject classes of equal size (chi-square test, 5 % level). "mass": by the label proportions over the masses of
        the classes. None: as they are. See the notes.
        A dict from each class to its share of all samples, or an interval (low, high) of it, where that is known:
        each class is compared above the threshold that leaves this share of its training decisions.
    model : callable, optional
        Change of the problem that is solved: ``specmargin.problems.models.fairness(group=0)``, or a function that gets
        the built problem, in the form whose ``expressions`` have the decisions, and returns ``built.with_(...)``; with
        more than two classes each problem of one class against the rest, ``built.positive``. CVXPY solves it then, and
        certificates are those of the changed problem (`specmargin.problems.BuiltProblem.with_`).
    solver : str, sequence of str or Solver, default "auto"
        "factorized": one factorisation, exact, for losses that are piecewise quadratic
        (`specmargin.solvers.factorized`). "newton" and "pcg": in the primal, for those with a continuous slope
        (`specmargin.solvers.newton`, `specmargin.solvers.pcg`, all classes at once). "dual": the dual through CVXPY
        by Clarabel, then ECOS, for any convex loss. Any installed CVXPY solver, or an order of them, for the same
        problem. "auto": "factorized" where it takes the loss, else "dual". `specmargin.solvers.Solver` holds the
        name with tol, the relative gap to which the answer has to be certified, max_iter and options, such as
        ``Solver("pcg", options={"stopping": "safe"})``.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included. Where decisions are equal but for rounding
        (with two classes: zero), it is the first of these classes, and a warning counts such samples.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Decisions of the training samples, as `decision_function` returns those of new ones.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate, multipliers, and the decisions f before they were balanced, per class with more than two.
    proved_ : ndarray of bool, of shape (n,) or (n, n_classes)
        Whether predictions are proved to be those of the optimum (`proved_decisions`); computed when it is asked for.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    balance_ : object
        Map from f to the scores that `decision_function` returns; the numbers are those of the training samples.
    kernel_ : Kernel
        The kernel in use, with a number for its width.
    gamma_A_, gamma_I_ : float
        The weights in use; gamma_I_ is 0 where the supervised classifier was taken.
    laplacian_ : Laplacian
        The Laplacian in use.
    calibration_ : float
        The scale T of `predict_proba`.
    dual_coef_ : ndarray of shape (n_outputs, n)
        Expansion coefficients alpha; one row with two classes. Those of the features with landmarks; with eigenvectors
        the values f - b at the training samples.

    Notes
    -----
    A component of the graph without a labelled sample is predicted by the kernel expansion alone, far from every
    labelled sample by the intercept; a warning counts such samples.

    **Large samples.** Beyond 10,000 samples neighbours are searched in 50 principal components where there are more
    than 100 features. Functions that do not fit into the memory are refused before anything is computed. Of new samples
    eigenvectors know their neighbours only: they get the weighted mean of the neighbours' scores.

    `LapSVM` has the notes on weights, Laplacians, graphs that mislead, and the balance of classes.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006. Melacci & Belkin, Laplacian support vector
    machines trained in the primal, JMLR 2011. Zhu, Ghahramani & Lafferty, Semi-supervised learning using Gaussian
    fields and harmonic functions, ICML 2003 (class mass normalisation).

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = sm.LapRLS(gamma_A=1e-2, gamma_I=1.0, kernel=sm.kernels.RBF(4.0), graph=5).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-9), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    loss: str = field(init=False, default="squared")

    def _conformal(self, X: Matrix | None, labels: Labels) -> tuple[ConformalRidge, KernelBlocks]:
        blocks, gamma_A = self._kernel_blocks(X)
        return ConformalRidge(blocks.G, labels.sign, gamma_A, self.fit_intercept), blocks

    def _smoother(self, X: Matrix | None) -> Smoother:
        apart, objective = self._apart()
        reduction, functions = objective.reduction, apart._functions
        cross = np.asarray(objective.K @ reduction.X)
        new = cross
        if X is not None:
            coefficients = functions.from_dual(reduction.X).T
            new = in_batches(lambda rows: functions.values(rows, coefficients), X, len(cross))

        def smooth(weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
            at = smoother(
                reduction.G, np.vstack([cross, new]) if X is not None else cross, 1.0, self.fit_intercept, weights
            )
            return at[: len(cross)], at[len(cross) :] if X is not None else at

        return smooth
