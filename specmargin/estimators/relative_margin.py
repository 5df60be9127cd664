"""The relative margin machine on a kernel of one's choice: `RMM`, the supervised baseline of `STORM`.

It learns from the labelled samples alone. Where the SVM asks for a large margin, it asks for one that is large
relative to the spread of the data: the decisions stay within [-B, B].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._calibrated import CalibratedScores
from specmargin.estimators._docstrings import documented
from specmargin.estimators._label_weights import BuildsWeightedProblem, LabelWeights
from specmargin.estimators._memory import require_memory
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier, unpacked
from specmargin.estimators._shared_parameters import (
    BoundParameter,
    KernelParameters,
    SolverParameters,
    bound_in_use,
    precomputed,
    within_bound,
)
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import gram
from specmargin.kernels.matrices import near_origin
from specmargin.labels import Labels
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, Matrix

__all__ = ["RMM"]

_HELD = 6
"""Matrices of the labelled samples that are held at once: the kernel, its symmetric part, and what eigh needs."""


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class RMM(
    CalibratedScores,
    LabelWeights,
    BuildsWeightedProblem,
    BoundParameter,
    KernelParameters,
    SolverParameters,
    SemiSupervisedClassifier,
):
    """Relative margin machine on a kernel.

    Solves, per class against the rest, 1/2 w'w + C sum max(0, 1 - y_i f_i) with labelled decisions confined to
    |f_i| <= B (eq. 5 of the spectrum paper). It is supervised: unlabelled samples are predicted, but neither they nor
    their geometry play a part in learning, and there is no graph. For that take `STORM`, or `LapSVM`.

    Parameters
    ----------
    C : float
        Weight of the loss, > 0, as in `sklearn.svm.SVC`: the sum over the samples, not their mean. With B = inf it is
        that SVC.
    gamma : float, "scale" or "median"
        Kernel parameter, 1 / (2 sigma^2) for "rbf"; the rules look at the labelled samples.

    Attributes
    ----------
    labeled_ : ndarray of shape (l,)
        Indices of the labelled samples.
    dual_coef_ : ndarray of shape (n_outputs, l)
        Coefficients of the expansion over them; one row with two classes. With the linear kernel and dense rows more
        than a hundred standard deviations from the origin that is one of the rows less the mean of the labelled ones.

    References
    ----------
    Shivaswamy & Jebara, Maximum relative margin and data-dependent regularization, JMLR 2010.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=6, random_state=0)
    >>> rmm = sm.RMM(C=10.0, B="auto", gamma=2.0).fit(X, y)
    >>> svm = sm.RMM(C=10.0, B=np.inf, gamma=2.0).fit(X, y)
    >>> largest = [float(abs(fitted.decision_function(X[y != -1])).max()) for fitted in (rmm, svm)]
    >>> largest[0] < largest[1], abs(rmm.B_ - (1 + largest[1]) / 2) < 1e-6
    (True, True)
    """

    C: float = 1.0
    B: float | str = 1.5

    def _graph(self, X: Matrix, graph: Any) -> None:
        if graph is not None:
            raise InvalidInputError(
                "RMM learns from the labelled samples alone and has no use for a graph; take LapSVM or STORM."
            )

    def _fit(self, X: Matrix, labels: Labels, graph: None) -> tuple[FloatArray, list[SolveResult]]:
        block, K = self._kernels(X, labels)
        answers = [within_bound(self.B, self._trained(K, binary), slice(None)) for binary in labels.one_vs_rest()]
        results = [result for result, _ in answers]
        bounds = np.array([bound for _, bound in answers])
        self.B_ = float(bounds[0]) if len(bounds) == 1 else bounds
        self.result_ = unpacked(results)
        self.dual_coef_ = np.vstack([result.variables["gamma"] for result in results])
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        return self._scores(block), results

    def _problem(self, X: Matrix, labels: Labels, graph: None) -> Any:
        from specmargin import problems

        _, K = self._kernels(X, labels)
        bound = bound_in_use(self.B, self._trained(K, labels), slice(None))
        return problems.rmm(objectives.RMM(K, labels, C=self.C, B=bound))

    def _trained(self, K: FloatArray, labels: Labels) -> Callable[[float], SolveResult]:
        """Return what solves for two classes under a bound."""

        def solve(bound: float) -> SolveResult:
            objective = objectives.RMM(K, labels, C=self.C, B=bound)
            if self.solver == "auto":
                return solvers.relative_margin(objective, **self._options())
            from specmargin import problems

            return self._cvxpy(problems.rmm(objective))

        return solve

    def _kernels(self, X: Matrix, labels: Labels) -> tuple[FloatArray, FloatArray]:
        """Return the kernel between all and the labelled samples, (n, l), and that of the labelled ones."""
        self.labeled_ = labels.labeled
        n, l = labels.n_samples, labels.n_labeled
        require_memory(
            8.0 * (n * l + _HELD * l * l),
            f"the kernel of {l} labelled and {n} samples, and its eigenvectors",
            "label or pass fewer samples, or take LapSVM(span='landmarks', gamma_I=0)",
        )
        if self._is_precomputed:
            gram(X, kernel="precomputed")  # which checks that it is square and symmetric
        self._X_labeled = None if self._is_precomputed else X[labels.labeled]
        self._resolve_gamma(self._X_labeled)
        block = self._block(X)
        K = block[labels.labeled]
        return block, (K + K.T) / 2  # BLAS rounds the two triangles differently

    def _block(self, X: Matrix) -> FloatArray:
        """Return the kernel between X and the labelled samples, (m, l)."""
        if self._is_precomputed:
            return precomputed(X[:, self.labeled_], X)
        known = self._X_labeled
        X, known = near_origin(X, known) if self.kernel == "linear" else (X, known)
        return self._gram(X, known)

    def _scores(self, block: FloatArray) -> FloatArray:
        scores = block @ self.dual_coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _decision(self, X: Matrix) -> FloatArray:
        return self._scores(self._block(X))
