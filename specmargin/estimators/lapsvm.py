"""Laplacian support vector machines: `LapSVM`.

The decisions are a kernel expansion over *all* training samples, f(x) = sum_j alpha_j k(x_j, x) + b, smooth in the
ambient space (gamma_A) and along the graph of the samples (gamma_I). ``gamma_I=0`` is the ordinary SVM with
C = 1 / (2 gamma_A).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._base.calibrated import OnReduction
from specmargin.estimators._base.changed_model import ChangedModel, changes
from specmargin.estimators._base.classifier import SemiSupervisedClassifier
from specmargin.estimators._base.feature_maps import EigenvectorFunctions
from specmargin.estimators._base.manifold import ManifoldModel
from specmargin.estimators._base.parameters import part_of
from specmargin.estimators._base.semi_supervised import solved_by_cvxpy
from specmargin.graphs import KNN, Laplacian
from specmargin.kernels import RBF
from specmargin.labels import Labels
from specmargin.labels.shares import Balance
from specmargin.losses import LOSSES
from specmargin.results import SolveResult
from specmargin.solvers.manifold.factorized import REQUIRES, solved
from specmargin.solvers.parts import missing
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["LapSVM"]


@dataclass(kw_only=True, eq=False, repr=False)
class LapSVM(ManifoldModel, SemiSupervisedClassifier):
    """Laplacian support vector machine.

    Solves, per class against the rest, the objective of `specmargin.objectives.LapSVM`: with the hinge
    sum_i max(0, 1 - y_i f_i) + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha (eq. 4 of the primal paper), with the
    squared hinge half of the same with squares (eq. 7). The sums are not means: `from_published` converts the gammas
    of tables.

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
    loss : str or MarginLoss, default "hinge"
        Loss of the labelled samples: "hinge", "squared_hinge", "huber_hinge", "squared", "smooth_hinge", or any
        convex loss object with a CVXPY expression (`specmargin.losses.MarginLoss`).
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
    with the graph, it is left out. A few labels seldom say that, so that the graph is taken then. The default width of
    the kernel, "auto", is a third candidate: what knows distances only, with a graph or without it, errs where classes
    differ along a direction in which samples vary little, and a kernel of four times the median distance, nearly
    linear, finds that direction. Each of the three is tried with a tenth of the usual gamma_A, with that, and with ten
    times of it, where ``gamma_A="auto"``; losses of bounded slope, such as the hinge, get a tenth of what is best for
    squares. More than 10,000 samples have eigenvectors instead of a kernel: of these
    only the graph is in question.

    **Shrunken share.** With few labels the error is mostly that of the threshold. ``class_balance="shrunk"`` cuts the
    decisions of the training samples where a share A s + (1 - A) t of them is positive: t is the share above 0, s that
    above a cut where decisions are sparse and which the labels' share, shrunk to one half, makes likely
    (`specmargin.labels.shares.sparse_share`), and A = min(1, 20 / l). Up to 20 labels s alone decides; with 200 hardly
    anything changes. It is right where labels were drawn at random, and where classes are of equal size; where neither
    holds, take None, or give the shares.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006. Melacci & Belkin, Laplacian support vector
    machines trained in the primal, JMLR 2011.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = sm.LapSVM(gamma_A=1e-2, gamma_I=1.0, kernel=sm.kernels.RBF(4.0), graph=5).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-9), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    gamma_A: float | str = "auto"
    gamma_I: float | str = "auto"
    loss: Any = "hinge"
    kernel: Any = RBF("auto")
    graph: Any = KNN()
    laplacian: Any = Laplacian(power=2, normalized="auto")
    functions: Any = "auto"
    fit_intercept: bool = True
    class_weight: Any = None
    class_balance: Any = "shrunk"
    model: Any = None
    solver: Any = "auto"
    unlabeled: Any = -1

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        base, solver = self._objective(X, labels, graph), part_of("solver", self.solver)
        factorizes = not missing(base.loss, REQUIRES)
        results: list[SolveResult]
        if self.model:
            each = zip(changes(self, X, labels), base.one_vs_rest(labels), strict=True)
            results = [change.solved(one, solver) for (_, change), one in each]
        elif solver.name == "pcg":
            results = solvers.pcg_one_vs_rest(base, labels, **solver.arguments(gap_tol=solver.tol))
        elif solver.name == "newton":
            results = [solvers.newton(replace(base, labels=one), **solver.arguments()) for one in labels.one_vs_rest()]
        elif solver.name == "auto" and not solver.options and factorizes:
            results = [solved(one, solver.tol, solver.max_iter or 300) for one in base.one_vs_rest(labels)]
        elif solver.name == "factorized" or (solver.name == "auto" and factorizes):
            results = [solvers.factorized(one, **solver.arguments()) for one in base.one_vs_rest(labels)]
        else:
            from specmargin import problems

            names = problems.default_solvers() if solver.name in ("auto", "dual") else None
            built = map(problems.lapsvm_problem, base.one_vs_rest(labels))
            results = [solved_by_cvxpy(one, solver, names) for one in built]
        # The primal solvers factorise nothing that left-out decisions follow from.
        if factorizes and self.model is None and solver.name not in ("newton", "pcg"):
            solutions = [result.variables for result in results if "v" in result.variables]
            known = [(np.asarray(one["v"]), float(one["b"])) for one in solutions] if solutions else None
            loss: Any = base.loss
            self._held_out = OnReduction(base.reduction.G, labels, loss, self.fit_intercept, known)
        self._keep_answers(results, base)
        f = [np.asarray(result.variables["f"]) for result in results]
        scores = f[0] if len(f) == 1 else np.column_stack(f)
        self.balance_ = Balance.of(scores, labels, self.class_balance)
        return self.balance_(scores), results

    def _problem(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> Any:
        from specmargin import problems

        objective = self._objective(X, labels, graph)
        change = ChangedModel.of(self, X, labels.classes[1])
        return change(objective) if change else problems.lapsvm_problem(objective)

    def _objective(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> objectives.LapSVM:
        """Return the objective of the first class, or of two; set the functions that it chooses from."""
        first = labels if labels.is_binary else next(labels.one_vs_rest())
        # A loss of the package, a kernel and a Laplacian that were made here are known to be right.
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else None
        known = loss is not None and type(part_of("laplacian", self.laplacian)) is Laplacian
        make = objectives.LapSVM.of if known else objectives.LapSVM
        made = partial(make, labels=first, loss=loss or self.loss, fit_intercept=self.fit_intercept)
        weighted: objectives.LapSVM = self._with_functions(X, labels, graph, made, labels.sign)
        return weighted

    def _on_graph(self, X: Any, graph: Any) -> FloatArray:
        if X is None or isinstance(self._functions, EigenvectorFunctions):
            return super()._on_graph(X, graph)
        self._larger(X, graph)  # that its nodes are those of fit and the rows of X
        return self._at_new(X, self._decision)

    def _decision(self, X: Matrix) -> FloatArray:
        scores = self._functions.values(X, self.dual_coef_) + self.intercept_
        return self.balance_(scores[:, 0] if scores.shape[1] == 1 else scores)
