"""Classifiers that learn the spectrum of a graph Laplacian: `STORM`, `STOAM`, `MKL` and `KTA`.

All of them work in the span of the q lowest eigenvectors of the graph over labelled and unlabelled samples,
f = sqrt(n) U v + b. They differ in how the weights delta of the eigenvectors are found: STORM and STOAM jointly with
the classifier under the order of the eigenvalues, MKL without that order, KTA beforehand, by alignment with the
labels. C is per unit mean kernel diagonal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from specmargin import objectives
from specmargin.estimators._base import SemiSupervisedClassifier, columns
from specmargin.graphs import neighbor_weights
from specmargin.labels import Labels
from specmargin.results import SolveResult
from specmargin.spectra import Spectrum, extend, laplacian_eigenpairs
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["KTA", "MKL", "STOAM", "STORM"]

_DEFAULT_Q = 200


class _SpectrumClassifier(SemiSupervisedClassifier):
    """The graph, its eigenpairs, one problem per class, and the extension of the scores to new samples."""

    C: float
    q: int | None
    normalized: bool
    solver: str | Sequence[str]
    solver_params: Mapping[str, Any] | None
    tol: float

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> FloatArray:
        n = X.shape[0]
        W = self._adjacency(X, labels, graph)
        spectrum = laplacian_eigenpairs(
            W, q=min(_DEFAULT_Q, n) if self.q is None else self.q, normalized=self.normalized
        )
        results = [self._solve(spectrum, binary) for binary in labels.one_vs_rest()]
        self.eigenvalues_, self.eigenvectors_ = spectrum.eigenvalues, spectrum.eigenvectors
        self._report(results)
        deltas = [np.asarray(result.variables["delta"]) for result in results]
        self.delta_ = deltas[0] if len(deltas) == 1 else np.vstack(deltas)
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        self.scores_ = columns([np.asarray(result.variables["f"]) for result in results])
        self._X_fit = X
        return self.scores_

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        raise NotImplementedError

    def _cvxpy(self, built: Any) -> SolveResult:
        from specmargin import problems

        order = ("CLARABEL", "ECOS") if self.solver == "auto" else self.solver
        return problems.solve(built, order, tol=self.tol, check=True, **dict(self.solver_params or {}))

    def _decision(self, X: Matrix) -> FloatArray:
        weights = neighbor_weights(X, self._X_fit, n_neighbors=self.n_neighbors, weight=self.weight, metric=self.metric)
        return extend(self.scores_, weights)


_GRAPH_PARAMETERS = """q : int, optional
        Number of eigenvectors, at most n; default min(200, n).
    n_neighbors : int, default 5
        Neighbours of the graph.
    kind : {"symmetric", "mutual", "mutual+mst"}, default "symmetric"
        How the neighbour relation is made symmetric. The mutual graph of the paper falls apart on real data.
    weight : {"binary", "heat", "cosine"}, default "binary"
        Edge weights.
    metric : str, default "euclidean"
        Metric of the neighbours; "cosine" for text.
    normalized : bool, default False
        Whether the Laplacian is I - D^-1/2 W D^-1/2 or D - W.
    solver : str or sequence of str, default "auto"
        "auto": Clarabel on the compact CVXPY form, then ECOS. Or any installed CVXPY solver, or an order of them.
    solver_params : dict, optional
        Passed on to the solver.
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y."""

_ATTRIBUTES = """classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Their decisions f.
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The learned spectrum, of sum one.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per class with more than two.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str"""

_NOTES = """New samples get the weighted mean of the scores of their nearest training samples (the Nyström extension of
    the eigenvectors to lowest order); a sample that coincides with training samples gets theirs. A component of the
    graph without a labelled sample is predicted by the intercept; a warning counts such samples."""


def _documented(cls: type) -> type:
    """Fill the sections that all classes of this module share into a docstring."""
    assert cls.__doc__ is not None
    for marker, text in (("<graph>", _GRAPH_PARAMETERS), ("<attributes>", _ATTRIBUTES), ("<notes>", _NOTES)):
        cls.__doc__ = cls.__doc__.replace(marker, text)
    return cls


@_documented
class STORM(_SpectrumClassifier):
    """Spectrum transformation that optimises the relative margin.

    Learns an ordered spectrum delta_2 >= ... >= delta_q of the graph Laplacian and a classifier on it in one convex
    problem: 1/2 w'w + C sum xi with labelled decisions confined to |f| <= B (eqs. 7 and 16).

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    B : float, default 1.5
        Bound on the labelled decisions; inf makes it `STOAM`.
    eps : float, default 0.0
        Least drop between consecutive weights; the paper's experiments used 1e-6, zero is exact.
    <graph>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    <notes>

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.05, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> storm = sm.STORM(C=10.0, B=1.5, q=20).fit(X, y)
    >>> storm.result_.certificate.is_optimal(1e-6), storm.delta_.shape
    (True, (20,))
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        B: float = 1.5,
        eps: float = 0.0,
        q: int | None = None,
        n_neighbors: int = 5,
        kind: str = "symmetric",
        weight: str = "binary",
        metric: str = "euclidean",
        normalized: bool = False,
        solver: str | Sequence[str] = "auto",
        solver_params: Mapping[str, Any] | None = None,
        tol: float = 1e-6,
        unlabeled: Any = -1,
    ) -> None:
        self.C = C
        self.B = B
        self.eps = eps
        self.q = q
        self.n_neighbors = n_neighbors
        self.kind = kind
        self.weight = weight
        self.metric = metric
        self.normalized = normalized
        self.solver = solver
        self.solver_params = solver_params
        self.tol = tol
        self.unlabeled = unlabeled

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        from specmargin import problems

        return self._cvxpy(
            problems.storm(objectives.SpectrumMargin(spectrum, labels, C=self.C, B=self.B, eps=self.eps))
        )


@_documented
class STOAM(_SpectrumClassifier):
    """Spectrum transformation that optimises the absolute margin: `STORM` with B = inf.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    eps : float, default 0.0
        Least drop between consecutive weights; the paper's experiments used 1e-6, zero is exact.
    <graph>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    <notes>

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.05, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> sm.STOAM(C=10.0, q=20).fit(X, y).result_.certificate.is_optimal(1e-6)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        eps: float = 0.0,
        q: int | None = None,
        n_neighbors: int = 5,
        kind: str = "symmetric",
        weight: str = "binary",
        metric: str = "euclidean",
        normalized: bool = False,
        solver: str | Sequence[str] = "auto",
        solver_params: Mapping[str, Any] | None = None,
        tol: float = 1e-6,
        unlabeled: Any = -1,
    ) -> None:
        self.C = C
        self.eps = eps
        self.q = q
        self.n_neighbors = n_neighbors
        self.kind = kind
        self.weight = weight
        self.metric = metric
        self.normalized = normalized
        self.solver = solver
        self.solver_params = solver_params
        self.tol = tol
        self.unlabeled = unlabeled

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        from specmargin import problems

        return self._cvxpy(problems.stoam(objectives.SpectrumMargin(spectrum, labels, C=self.C, eps=self.eps)))


@_documented
class MKL(_SpectrumClassifier):
    """Multiple kernel learning over the rank-one kernels u_j u_j': a spectrum without order.

    With B finite it is the paper's MKL-R, with B = inf MKL-S. It solves a relaxation of `STORM` and so reaches a lower
    objective, at the price of a haphazard spectrum.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    B : float, default inf
        Bound on the labelled decisions.
    <graph>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    <notes>

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010, eq. 8 without its order.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.05, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> mkl, stoam = sm.MKL(C=10.0, q=20).fit(X, y), sm.STOAM(C=10.0, q=20).fit(X, y)
    >>> a, b = (fitted.result_.certificate for fitted in (mkl, stoam))
    >>> a.primal_objective < b.primal_objective
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        B: float = np.inf,
        q: int | None = None,
        n_neighbors: int = 5,
        kind: str = "symmetric",
        weight: str = "binary",
        metric: str = "euclidean",
        normalized: bool = False,
        solver: str | Sequence[str] = "auto",
        solver_params: Mapping[str, Any] | None = None,
        tol: float = 1e-6,
        unlabeled: Any = -1,
    ) -> None:
        self.C = C
        self.B = B
        self.q = q
        self.n_neighbors = n_neighbors
        self.kind = kind
        self.weight = weight
        self.metric = metric
        self.normalized = normalized
        self.solver = solver
        self.solver_params = solver_params
        self.tol = tol
        self.unlabeled = unlabeled

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        from specmargin import problems

        return self._cvxpy(problems.mkl(objectives.SpectrumMargin(spectrum, labels, C=self.C, B=self.B, order=False)))


@_documented
class KTA(_SpectrumClassifier):
    """Kernel-target alignment: an ordered spectrum from the labels alone, then a classifier on its kernel.

    The spectrum maximises the alignment of the labelled kernel with yy' (eq. 2); an SVM (``margin="absolute"``, the
    paper's KTA-S) or a relative margin machine (``"relative"``, KTA-R) is then trained on it.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the classifier's loss per unit mean kernel diagonal, > 0.
    margin : {"absolute", "relative"}, default "absolute"
        SVM or relative margin machine.
    B : float, default 1.5
        Bound on the labelled decisions, with ``margin="relative"``.
    <graph>

    Attributes
    ----------
    <attributes>
    margin_result_ : SolveResult or tuple of SolveResult
        The classifier's; ``result_`` is the alignment's.

    Notes
    -----
    <notes>

    References
    ----------
    Zhu, Kandola, Ghahramani & Lafferty, Nonparametric transforms of graph kernels for semi-supervised learning,
    NIPS 2004. Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.05, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> kta = sm.KTA(C=10.0, q=20).fit(X, y)
    >>> kta.result_.certificate.sense, kta.result_.certificate.is_optimal(1e-6)
    ('maximize', True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        margin: Literal["absolute", "relative"] = "absolute",
        B: float = 1.5,
        q: int | None = None,
        n_neighbors: int = 5,
        kind: str = "symmetric",
        weight: str = "binary",
        metric: str = "euclidean",
        normalized: bool = False,
        solver: str | Sequence[str] = "auto",
        solver_params: Mapping[str, Any] | None = None,
        tol: float = 1e-6,
        unlabeled: Any = -1,
    ) -> None:
        self.C = C
        self.margin = margin
        self.B = B
        self.q = q
        self.n_neighbors = n_neighbors
        self.kind = kind
        self.weight = weight
        self.metric = metric
        self.normalized = normalized
        self.solver = solver
        self.solver_params = solver_params
        self.tol = tol
        self.unlabeled = unlabeled

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> FloatArray:
        self._margins: list[SolveResult] = []
        scores = super()._fit(X, labels, graph)
        margins = self._margins
        del self._margins
        self.margin_result_ = margins[0] if len(margins) == 1 else tuple(margins)
        return scores

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        from dataclasses import replace

        from specmargin import problems

        if self.margin not in ("absolute", "relative"):
            raise ValueError(f"margin={self.margin!r} must be 'absolute' (SVM) or 'relative' (RMM).")
        alignment = objectives.Alignment(spectrum, labels)
        found = self._cvxpy(problems.kta(alignment))
        delta, U = found.variables["delta"], alignment.U
        B = self.B if self.margin == "relative" else np.inf
        machine = self._cvxpy(problems.rmm(objectives.RMM((U * delta) @ U.T, labels, C=self.C, B=B)))
        self._margins.append(machine)
        v, b = delta * (U.T @ machine.variables["gamma"]), machine.variables["b"]
        f = np.sqrt(spectrum.n_samples) * (spectrum.eigenvectors @ v) + b
        return replace(found, variables={**found.variables, "v": v, "b": b, "f": f})
