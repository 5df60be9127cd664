"""Laplacian support vector machines: `LapSVM`.

The decisions are a kernel expansion over *all* training samples, f(x) = sum_j alpha_j k(x_j, x) + b, smooth in the
ambient space (gamma_A) and along the graph of the samples (gamma_I). ``gamma_I=0`` is the ordinary SVM with
C = 1 / (2 gamma_A).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._balance import Balance, in_force
from specmargin.estimators._base import SemiSupervisedClassifier, columns, unpacked
from specmargin.estimators._docs import documented
from specmargin.estimators._parameters import check_parameters
from specmargin.estimators._span import EigenvectorSpan, KernelSpan, LandmarkSpan, Span, precomputed
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian, NeighborSearch, knn_graph, laplacian
from specmargin.kernels import gram, require_semidefinite, resolve_gamma
from specmargin.labels import Labels
from specmargin.results import SolveResult
from specmargin.solvers.requirements import takers
from specmargin.spectra import laplacian_eigenpairs
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["LapSVM"]

_FULL_SAMPLES = 10_000  # up to here one factorisation takes seconds
_LANDMARKS, _EIGENVECTORS = 2000, 200


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LapSVM(SemiSupervisedClassifier):
    """Laplacian support vector machine.

    Solves, per class against the rest, the objective of `specmargin.objectives.LapSVM`: with the hinge
    sum_i max(0, 1 - y_i f_i) + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha (eq. 4 of the primal paper), with the
    squared hinge half of the same with squares (eq. 7). The sums are not means: gammas of tables that divide by l
    and (l+u)^2 convert by gamma_A = l gamma_A', gamma_I = l gamma_I' / (l+u)^2.

    Parameters
    ----------
    <kernel>
    gamma_A : float, default 0.01
        Weight of the ambient norm, > 0.
    gamma_I : float, default 1.0
        Weight of the intrinsic norm, >= 0; 0 is the supervised SVM and builds no graph.
    <laplacian>
    loss : str or MarginLoss, default "hinge"
        Loss of the labelled samples: "hinge", "squared_hinge", "huber_hinge", "squared", "smooth_hinge", or any convex
        loss object with a CVXPY expression (`specmargin.losses.MarginLoss`).
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.
    <class_balance>
    span : {"auto", "kernel", "landmarks", "eigenvectors"}, default "auto"
        The functions to choose from. "kernel": the expansion over all samples, which stores n x n numbers twice;
        "landmarks": that over `n_functions` of them (Nyström), the labelled ones included; "eigenvectors": the
        `n_functions` lowest eigenvectors of the graph Laplacian, with no kernel. In each the optimum is exact. "auto"
        takes "kernel" up to 10,000 samples, then "eigenvectors", or "landmarks" where gamma_I is 0.
    n_functions : int, optional
        Size of the smaller spans; default 2000 landmarks, 200 eigenvectors.
    solver : str or sequence of str, default "auto"
        "factorized": one factorisation, exact, for losses that are piecewise quadratic
        (`specmargin.solvers.factorized`). "newton" and "pcg": in the primal, for those with a continuous slope
        (`specmargin.solvers.newton`, `specmargin.solvers.pcg`, all classes at once). "dual": the dual through CVXPY by
        Clarabel, then ECOS, for any convex loss. Any installed CVXPY solver, or an order of them, for the same problem.
        "auto": "factorized" where it takes the loss, else "dual".
    solver_params : dict, optional
        Passed on to the solver, e.g. ``{"stopping": "safe"}`` for "pcg".
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    random_state : int, Generator or None, default 0
        Draws landmarks; starts the search for eigenvectors.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included.
    dual_coef_ : ndarray of shape (n_outputs, n)
        Expansion coefficients alpha; one row with two classes. In the span of landmarks their features' coefficients,
        in that of eigenvectors the values f - b at the training samples.
    balance_ : object
        The map from f to the scores that `decision_function` returns; the numbers are those of the training samples.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per class with more than two.
    gamma_ : float
        The kernel parameter in use.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str

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

    kernel: Any = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 1.0
    gamma_A: float = 0.01
    gamma_I: float = 1.0
    n_neighbors: int = 6
    kind: str = "symmetric"
    weight: str = "binary"
    metric: str = "euclidean"
    normalized: bool = True
    power: int = 1
    loss: Any = "hinge"
    fit_intercept: bool = True
    class_balance: str | None = None
    span: str = "auto"
    n_functions: int | None = None
    solver: str | Sequence[str] = "auto"
    solver_params: Mapping[str, Any] | None = None
    tol: float = 1e-6
    random_state: Any = 0
    unlabeled: Any = -1

    def _validated(self, X: Matrix, y: Any, graph: Any) -> tuple[Matrix, Labels, SparseArray | None]:
        check_parameters(self)
        self._search: NeighborSearch | None = None
        X, labels, graph = super()._validated(X, y, graph)
        in_force(self.class_balance, labels)  # an unknown rule is named before the work
        return X, labels, graph

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        self.gamma_ = np.nan if self.kernel == "precomputed" else resolve_gamma(X, self.gamma)
        L = laplacian(graph, normalized=self.normalized, power=self.power) if graph is not None else None
        self._span = self._functions(X, labels, L)
        base = self._objective(self._span.kernel, next(iter(labels.one_vs_rest())), L)
        results = self._solved(base, labels)
        self.result_ = unpacked(results)
        self.dual_coef_ = np.vstack([self._span.coefficients(result.variables["alpha"]) for result in results])
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        self._span.forget()
        scores = columns([np.asarray(result.variables["f"]) for result in results])
        self.balance_ = Balance.of(scores, labels, self.class_balance)
        return self.balance_(scores), results

    def _functions(self, X: Matrix, labels: Labels, L: Laplacian | None) -> Span:
        """Return the span that was asked for, or that suits the number of samples."""
        span, n = self.span, X.shape[0]
        if span == "auto":
            large = n > _FULL_SAMPLES and self.kernel != "precomputed"
            span = ("eigenvectors" if L is not None else "landmarks") if large else "kernel"
        if span == "kernel":
            whole = KernelSpan(
                X, precomputed if self.kernel == "precomputed" else partial(gram, **self._kernel_words())
            )
            words = {"kernel": self.kernel, "degree": self.degree, "coef0": self.coef0}
            require_semidefinite(whole.kernel, **words, name="the kernel matrix")
            return whole
        if span == "landmarks":
            if self.kernel == "precomputed":
                raise InvalidInputError(
                    "span='landmarks' draws samples, and kernel='precomputed' holds none; take 'kernel'."
                )
            m = min(n, _LANDMARKS if self.n_functions is None else self.n_functions)
            return LandmarkSpan(X, m, labels.labeled, self.random_state, **self._kernel_words())
        if L is None:
            raise InvalidInputError(
                "span='eigenvectors' are those of the graph, which gamma_I=0 leaves out; take 'landmarks'."
            )
        plain = replace(L, power=1)
        q = min(n, _EIGENVECTORS if self.n_functions is None else self.n_functions)
        spectrum = laplacian_eigenpairs(plain, q=q, random_state=self.random_state)
        search = self._opened(X) if self._search is None else self._search
        return EigenvectorSpan(spectrum, search, {"n_neighbors": self.n_neighbors, "weight": self.weight})

    def _kernel_words(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}

    def _needs_graph(self) -> bool:
        return self.gamma_I != 0

    def _opened(self, X: Matrix) -> NeighborSearch:
        angles = self.weight == "cosine" or self.metric == "cosine"
        return NeighborSearch(X, metric=self.metric, reduce="auto", angles=angles)

    def _neighbor_graph(self, X: Matrix) -> SparseArray:
        if self.kernel == "precomputed":
            raise InvalidInputError(
                "kernel='precomputed' leaves no features to build a graph from; pass fit(K, y, graph=W), or "
                "gamma_I=0 for the supervised SVM."
            )
        # Kept for new samples: the distances among the training samples are not computed twice.
        self._search = self._opened(X)
        return knn_graph(self._search, self.n_neighbors, kind=self.kind, weight=self.weight)

    def _objective(self, K: Any, labels: Labels, L: Laplacian | None) -> objectives.LapSVM:
        return objectives.LapSVM(
            K, L, labels, loss=self.loss, gamma_A=self.gamma_A, gamma_I=self.gamma_I, fit_intercept=self.fit_intercept
        )

    def _solved(self, base: objectives.LapSVM, labels: Labels) -> list[SolveResult]:
        """Return the answers of all classes."""
        params = dict(self.solver_params or {})
        if self.solver == "pcg":
            return solvers.pcg_one_vs_rest(base, labels, **{"gap_tol": self.tol, **params})
        if self.solver == "newton":
            binary = labels.one_vs_rest()
            return [solvers.newton(replace(base, labels=one), **{"tol": self.tol, **params}) for one in binary]
        exact = "factorized" in takers("LapSVM", base.loss)
        if self.solver == "factorized" or (self.solver == "auto" and exact):
            return [solvers.factorized(one, **{"tol": self.tol, **params}) for one in base.one_vs_rest(labels)]
        from specmargin import problems

        order = problems.default_solvers() if self.solver in ("auto", "dual") else self.solver
        built = [problems.lapsvm_problem(one) for one in base.one_vs_rest(labels)]
        return [problems.solve(one, order, tol=self.tol, check=True, **params) for one in built]

    def _decision(self, X: Matrix) -> FloatArray:
        scores = self._span.values(X, self.dual_coef_) + self.intercept_
        return self.balance_(scores[:, 0] if scores.shape[1] == 1 else scores)

    def build_problem(self, X: Matrix, y: Any, graph: Any = None) -> Any:
        """Return the dual QP of these data as a fresh, unsolved `specmargin.problems.BuiltProblem`.

        Parameters
        ----------
        X, y, graph
            As for `fit`; two classes.
        """
        from specmargin import problems

        X, labels, graph = self._validated(X, y, graph)
        if not labels.is_binary:
            raise InvalidInputError(
                f"{len(labels.classes)} classes make as many problems; build them one against the rest."
            )
        self.gamma_ = np.nan if self.kernel == "precomputed" else resolve_gamma(X, self.gamma)
        L = laplacian(graph, normalized=self.normalized, power=self.power) if graph is not None else None
        return problems.lapsvm_dual(self._objective(self._functions(X, labels, L).kernel, labels, L))
