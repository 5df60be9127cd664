"""The relative margin machine on a kernel of one's choice: `RMM`, the supervised baseline of `STORM`.

It learns from the labelled samples alone. Where the SVM asks for a large margin, it asks for one that is large
relative to the spread of the data: the decisions stay within [-B, B].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from specmargin import objectives, solvers
from specmargin.arrays import require_memory
from specmargin.estimators._base.bound import bound_in_use, within_bound
from specmargin.estimators._base.changed_model import ChangedModel, changes
from specmargin.estimators._base.classifier import SemiSupervisedClassifier
from specmargin.estimators._base.parameters import part_of
from specmargin.estimators._base.semi_supervised import solved_by_cvxpy, unpacked
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import RBF, Linear, gram
from specmargin.kernels.matrices import near_origin
from specmargin.labels import Labels
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, Matrix

__all__ = ["RMM"]

_HELD = 6
"""Matrices of the labelled samples that are held at once: the kernel, its symmetric part, and what eigh needs."""


@dataclass(kw_only=True, eq=False, repr=False)
class RMM(SemiSupervisedClassifier):
    """Relative margin machine on a kernel.

    Solves, per class against the rest, 1/2 w'w + C sum max(0, 1 - y_i f_i) with labelled decisions confined to
    |f_i| <= B (eq. 5 of the spectrum paper). It is supervised: unlabelled samples are predicted, but neither they nor
    their geometry play a part in learning, and there is no graph. For that take `STORM`, or `LapSVM`.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss, > 0, as in `sklearn.svm.SVC`: the sum over the samples, not their mean. With B = inf it
        is that SVC.
    B : float or "auto", default 1.5
        Bound on the labelled decisions: a relative margin; inf is the absolute margin of the SVM. Only values
        between 1 and the largest |f| of the absolute margin change anything; "auto" is the middle of that range:
        the absolute margin is solved first, r is its largest labelled |f|, and B = (1 + r) / 2, or inf (nothing to
        bound) where r <= 1.
    kernel : Kernel, str, float or callable, default RBF(gamma="scale")
        Kernel of the expansion: one of `specmargin.kernels` such as ``RBF(1.0)``, a name ("rbf", "poly", "linear",
        "cosine", "precomputed"), a number (the gamma of `RBF`), or a function of two data matrices. Rules for its
        width look at the labelled samples.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes in the losses of the labelled samples, times `sample_weight` of `fit`. A dict from
        class values, whose missing classes have the weight 1; "balanced": l / (K l_k) for l_k of the l labels of K
        classes, so that all classes weigh the same.
    model : callable, optional
        Change of the problem that is solved: ``specmargin.problems.models.fairness(group=0)``, or a function that gets
        the built problem, in the form whose ``expressions`` have the decisions, and returns ``built.with_(...)``; with
        more than two classes each problem of one class against the rest, ``built.positive``. CVXPY solves it then, and
        certificates are those of the changed problem (`specmargin.problems.BuiltProblem.with_`). Decisions are an
        expansion over the labelled samples, whatever the change looks at.
    solver : str, sequence of str or Solver, default "auto"
        "auto": the package's own, in numpy. Or any installed CVXPY solver ("CLARABEL"), or an order of them.
        `specmargin.solvers.Solver` holds the name with tol, the relative gap to which the answer has to be
        certified, max_iter and options.
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
        Status, certificate and multipliers, per class with more than two.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    kernel_ : Kernel
        The kernel in use, with a number for its width.
    B_ : float or ndarray of shape (n_classes,)
        The bound in use, inf where there is none.
    calibration_ : float
        The scale T of `predict_proba`.
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
    >>> rmm = sm.RMM(C=10.0, B="auto", kernel=2.0).fit(X, y)
    >>> svm = sm.RMM(C=10.0, B=np.inf, kernel=2.0).fit(X, y)
    >>> largest = [float(abs(fitted.decision_function(X[y != -1])).max()) for fitted in (rmm, svm)]
    >>> largest[0] < largest[1], abs(rmm.B_ - (1 + largest[1]) / 2) < 1e-6
    (True, True)
    """

    C: float = 1.0
    B: float | str = 1.5
    kernel: Any = RBF("scale")
    class_weight: Any = None
    model: Any = None
    solver: Any = "auto"
    unlabeled: Any = -1

    def _graph(self, X: Matrix, graph: Any) -> None:
        if graph is not None:
            raise InvalidInputError(
                "RMM learns from the labelled samples alone and has no use for a graph; take LapSVM or STORM."
            )

    def _fit(self, X: Matrix, labels: Labels, graph: None) -> tuple[FloatArray, list[SolveResult]]:
        block, K = self._kernels(X, labels)
        answers = [
            within_bound(self.B, partial(self._under, change, K, binary), slice(None))
            for binary, change in changes(self, X, labels, block)
        ]
        results = [result for result, _ in answers]
        bounds = np.array([bound for _, bound in answers])
        self.B_ = float(bounds[0]) if len(bounds) == 1 else bounds
        self.result_ = unpacked(results)
        self.dual_coef_ = np.vstack([result.variables["gamma"] for result in results])
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        return self._scores(block), results

    def _problem(self, X: Matrix, labels: Labels, graph: None) -> Any:
        from specmargin import problems

        block, K = self._kernels(X, labels)
        change = ChangedModel.of(self, X, labels.classes[1], block)
        bound = bound_in_use(self.B, partial(self._under, change, K, labels), slice(None))
        objective = objectives.RMM(K, labels, C=self.C, B=bound)
        return change(objective) if change else problems.rmm(objective)

    def _under(self, change: ChangedModel, K: FloatArray, labels: Labels, bound: float) -> SolveResult:
        """Return the answer under a bound."""
        objective, solver = objectives.RMM(K, labels, C=self.C, B=bound), part_of("solver", self.solver)
        if change:
            return change.solved(objective, solver)
        if solver.name == "auto":
            return solvers.relative_margin(objective, **solver.arguments())
        from specmargin import problems

        return solved_by_cvxpy(problems.rmm(objective), solver)

    def _kernels(self, X: Matrix, labels: Labels) -> tuple[FloatArray, FloatArray]:
        """Return the kernel between all and the labelled samples, (n, l), and that of the labelled ones."""
        self.labeled_ = labels.labeled
        n, l = labels.n_samples, labels.n_labeled
        require_memory(
            8.0 * (n * l + _HELD * l * l),
            f"the kernel of {l} labelled and {n} samples, and its eigenvectors",
            "label or pass fewer samples, or take LapSVM(functions='landmarks', gamma_I=0)",
        )
        if self._is_precomputed:
            gram(X, kernel="precomputed")  # which checks that it is square and symmetric
        self._X_labeled = None if self._is_precomputed else X[labels.labeled]
        kernel = part_of("kernel", self.kernel)
        self.kernel_ = kernel if self._is_precomputed else kernel.fitted_to(self._X_labeled)
        block = self._block(X)
        K = block[labels.labeled]
        return block, (K + K.T) / 2  # BLAS rounds the two triangles differently

    def _block(self, X: Matrix) -> FloatArray:
        """Return the kernel between X and the labelled samples, (m, l)."""
        if self._is_precomputed:
            return self.kernel_(X[:, self.labeled_], X)
        known = self._X_labeled
        X, known = near_origin(X, known) if isinstance(self.kernel_, Linear) else (X, known)
        return self.kernel_(X, known)

    def _scores(self, block: FloatArray) -> FloatArray:
        scores = block @ self.dual_coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _decision(self, X: Matrix) -> FloatArray:
        return self._scores(self._block(X))
