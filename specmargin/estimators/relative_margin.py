"""The relative margin machine on a kernel of one's choice: `RMM`, the supervised baseline of `STORM`.

It learns from the labelled samples alone. Where the SVM asks for a large margin, it asks for one that is large
relative to the spread of the data: the decisions stay within [-B, B].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._base import SemiSupervisedClassifier, unpacked
from specmargin.estimators._bound import within_bound
from specmargin.estimators._docs import documented
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import gram, resolve_gamma
from specmargin.labels import Labels
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["RMM"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class RMM(SemiSupervisedClassifier):
    """Relative margin machine on a kernel.

    Solves, per class against the rest, 1/2 w'w + C sum max(0, 1 - y_i f_i) with labelled decisions confined to
    |f_i| <= B (eq. 5 of the spectrum paper). It is supervised: unlabelled samples are predicted, but neither they nor
    their geometry play a part in learning, and there is no graph. For that take `STORM`, or `LapSVM`.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss, > 0, as in `sklearn.svm.SVC`: the sum over the samples, not their mean.
    B : float or "auto", default 1.5
        <bound>. With inf it is `sklearn.svm.SVC`.
    kernel : {"rbf", "poly", "linear", "cosine", "precomputed"} or callable, default "rbf"
        Kernel of the expansion.
    gamma : float, "scale" or "median", default "scale"
        Kernel parameter, 1 / (2 sigma^2) for "rbf"; the rules look at the labelled samples.
    degree, coef0 : int, float
        Parameters of the polynomial kernel.
    <solver>
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included.
    labeled_ : ndarray of shape (l,)
        Indices of the labelled samples.
    dual_coef_ : ndarray of shape (n_outputs, l)
        Coefficients of the expansion over them; one row with two classes.
    intercept_ : ndarray of shape (n_outputs,)
    <bound_>
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per class with more than two.
    gamma_ : float
        The kernel parameter in use.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str

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
    >>> reach = [float(abs(fitted.decision_function(X[y != -1])).max()) for fitted in (rmm, svm)]
    >>> reach[0] < reach[1], abs(rmm.B_ - (1 + reach[1]) / 2) < 1e-6
    (True, True)
    """

    C: float = 1.0
    B: float | str = 1.5
    kernel: Any = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 1.0
    solver: str | Sequence[str] = "auto"
    solver_params: Mapping[str, Any] | None = None
    tol: float = 1e-6
    unlabeled: Any = -1

    def _needs_graph(self) -> bool:
        return False

    def _validated(self, X: Matrix, y: Any, graph: Any) -> tuple[Matrix, Labels, SparseArray | None]:
        if graph is not None:
            raise InvalidInputError(
                "RMM learns from the labelled samples alone and has no use for a graph; take LapSVM or STORM."
            )
        return super()._validated(X, y, None)

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        self.labeled_ = labels.labeled
        precomputed = self.kernel == "precomputed"
        if precomputed:
            gram(X, kernel="precomputed")  # which checks that it is square and symmetric
        else:
            self._X_labeled = X[labels.labeled]
        self.gamma_ = np.nan if precomputed else resolve_gamma(self._X_labeled, self.gamma)
        block = self._block(X)
        K = block[labels.labeled]
        K = (K + K.T) / 2  # BLAS rounds the two triangles differently
        answers = [self._solve(K, binary) for binary in labels.one_vs_rest()]
        results = [result for result, _ in answers]
        bounds = np.array([bound for _, bound in answers])
        self.B_ = float(bounds[0]) if len(bounds) == 1 else bounds
        self.result_ = unpacked(results)
        self.dual_coef_ = np.vstack([result.variables["gamma"] for result in results])
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        return self._scores(block), results

    def _solve(self, K: FloatArray, labels: Labels) -> tuple[SolveResult, float]:
        params = dict(self.solver_params or {})

        def solve(bound: float) -> SolveResult:
            objective = objectives.RMM(K, labels, C=self.C, B=bound)
            if self.solver == "auto":
                return solvers.relative_margin(objective, tol=self.tol, **params)
            from specmargin import problems

            return problems.solve(problems.rmm(objective), self.solver, tol=self.tol, check=True, **params)

        return within_bound(self.B, solve, slice(None))

    def _block(self, X: Matrix) -> FloatArray:
        """Return the kernel between X and the labelled samples, (m, l)."""
        if self.kernel == "precomputed":
            block = X[:, self.labeled_]
            return np.asarray(block.toarray() if hasattr(block, "toarray") else block)
        return gram(X, self._X_labeled, kernel=self.kernel, gamma=self.gamma_, degree=self.degree, coef0=self.coef0)

    def _scores(self, block: FloatArray) -> FloatArray:
        scores = block @ self.dual_coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _decision(self, X: Matrix) -> FloatArray:
        return self._scores(self._block(X))
