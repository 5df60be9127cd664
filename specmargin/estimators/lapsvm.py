"""Laplacian support vector machines: `LapSVM`.

The decisions are a kernel expansion over *all* training samples, f(x) = sum_j alpha_j k(x_j, x) + b, smooth in the
ambient space (gamma_A) and along the graph of the samples (gamma_I). ``gamma_I=0`` is the ordinary SVM with
C = 1 / (2 gamma_A).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._calibrated import CalibratedScores, OnReduction
from specmargin.estimators._class_balance import Balance, ClassBalanceParameter
from specmargin.estimators._docstrings import documented
from specmargin.estimators._feature_maps import ChosenFunctions
from specmargin.estimators._label_weights import BuildsWeightedProblem, LabelWeights
from specmargin.estimators._manifold_weights import ManifoldWeights
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier, columns, unpacked
from specmargin.estimators._shared_parameters import (
    KernelParameters,
    LaplacianParameters,
    SearchedNeighbors,
    SolverParameters,
)
from specmargin.labels import Labels
from specmargin.losses import get_loss
from specmargin.results import SolveResult
from specmargin.solvers.requirements import takers
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["LapSVM"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LapSVM(
    CalibratedScores,
    LabelWeights,
    BuildsWeightedProblem,
    ManifoldWeights,
    KernelParameters,
    LaplacianParameters,
    SearchedNeighbors,
    ChosenFunctions,
    ClassBalanceParameter,
    SolverParameters,
    SemiSupervisedClassifier,
):
    """Laplacian support vector machine.

    Solves, per class against the rest, the objective of `specmargin.objectives.LapSVM`: with the hinge
    sum_i max(0, 1 - y_i f_i) + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha (eq. 4 of the primal paper), with the
    squared hinge half of the same with squares (eq. 7). The sums are not means: `from_published` converts the gammas
    of tables.

    Parameters
    ----------
    loss : str or MarginLoss
        Loss of the labelled samples: "hinge", "squared_hinge", "huber_hinge", "squared", "smooth_hinge", or any convex
        loss object with a CVXPY expression (`specmargin.losses.MarginLoss`).
    fit_intercept : bool
        Whether f has an unpenalised intercept.
    solver : str or sequence of str
        "factorized": one factorisation, exact, for losses that are piecewise quadratic
        (`specmargin.solvers.factorized`). "newton" and "pcg": in the primal, for those with a continuous slope
        (`specmargin.solvers.newton`, `specmargin.solvers.pcg`, all classes at once). "dual": the dual through CVXPY by
        Clarabel, then ECOS, for any convex loss. Any installed CVXPY solver, or an order of them, for the same problem.
        "auto": "factorized" where it takes the loss, else "dual".
    solver_params : dict
        Passed on to the solver, e.g. ``{"stopping": "safe"}`` for "pcg".

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_outputs, n)
        Expansion coefficients alpha; one row with two classes. Those of the features with landmarks; with eigenvectors
        the values f - b at the training samples.
    result_ : SolveResult or tuple of SolveResult
        Status, certificate, multipliers, and the decisions f before they were balanced, per class with more than two.

    Notes
    -----
    A component of the graph without a labelled sample is predicted by the kernel expansion alone, far from every
    labelled sample by the intercept; a warning counts such samples.

    **Large samples.** Beyond 10,000 samples neighbours are searched in 50 principal components where there are more
    than 100 features. A span that does not fit into the memory is refused before anything is computed. Of new samples
    the span of eigenvectors knows their neighbours only: they get the weighted mean of the neighbours' scores.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006. Melacci & Belkin, Laplacian support vector
    machines trained in the primal, JMLR 2011.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = sm.LapSVM(gamma=4.0, gamma_A=1e-2, gamma_I=1.0, n_neighbors=5).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-9), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    gamma: float | str = "local"
    loss: Any = "hinge"
    fit_intercept: bool = True
    power: int = 2
    class_balance: str | None = "shrunk"

    _without_graph: ClassVar[str] = "fit(K, y, graph=W), or gamma_I=0 for supervised learning"

    def _needs_graph(self) -> bool:
        return not self._is_supervised

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        base = self._objective(X, labels, graph)
        results = self._solved(base, labels)
        # The primal solvers factorise nothing that left-out decisions follow from.
        if self.solver not in ("newton", "pcg") and "factorized" in takers("LapSVM", base.loss):
            solutions = [result.variables for result in results if "v" in result.variables]
            known = [(np.asarray(one["v"]), float(one["b"])) for one in solutions] if solutions else None
            self._held_out = OnReduction(base.reduction.G, labels, get_loss(base.loss), self.fit_intercept, known)
        self.result_ = unpacked(results)
        self.dual_coef_ = np.vstack([self._functions.from_dual(result.variables["alpha"]) for result in results])
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        self._functions.forget()
        scores = columns([np.asarray(result.variables["f"]) for result in results])
        self.balance_ = Balance.of(scores, labels, self.class_balance)
        return self.balance_(scores), results

    def _problem(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> Any:
        from specmargin import problems

        return problems.lapsvm_problem(self._objective(X, labels, graph))

    def _objective(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> objectives.LapSVM:
        """Return the objective of the first class, or of two; set the functions that it chooses from."""
        self._resolve_gamma(X)
        L = self._laplacian(X, graph)
        self._functions = self._manifold_map(X, labels, L, self.gamma_, self._count(X.shape[0]))
        return self._weighted(self._functions.kernel, L, labels)

    def _solved(self, base: objectives.LapSVM, labels: Labels) -> list[SolveResult]:
        """Return the answers of all classes."""
        if self.solver == "pcg":
            return solvers.pcg_one_vs_rest(base, labels, **self._options(gap_tol=self.tol))
        options = self._options()
        if self.solver == "newton":
            return [solvers.newton(replace(base, labels=one), **options) for one in labels.one_vs_rest()]
        exact = "factorized" in takers("LapSVM", base.loss)
        if self.solver == "factorized" or (self.solver == "auto" and exact):
            return [solvers.factorized(one, **options) for one in base.one_vs_rest(labels)]
        from specmargin import problems

        order = problems.default_solvers() if self.solver in ("auto", "dual") else self.solver
        return [self._cvxpy(problems.lapsvm_problem(one), order) for one in base.one_vs_rest(labels)]

    def _decision(self, X: Matrix) -> FloatArray:
        scores = self._functions.values(X, self.dual_coef_) + self.intercept_
        return self.balance_(scores[:, 0] if scores.shape[1] == 1 else scores)
