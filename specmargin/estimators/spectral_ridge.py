"""Ridge regression in the span of the eigenvectors as a classifier: `SpectralRidge`, the fast baseline.

One neighbour graph, its lowest eigenvectors, one small Cholesky factorisation for all classes: seventy thousand
samples of ten classes take little longer than the search for their neighbours. What it does not do is learn the
spectrum: it is fixed beforehand, delta_j proportional to lambda_j^-power. `STORM` learns it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import chisquare

from specmargin.checks import Rule, choice, count, maybe, number
from specmargin.estimators._base import SemiSupervisedClassifier
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import NeighborSearch, knn_graph, neighbor_weights
from specmargin.labels import Labels
from specmargin.objectives import spectral_ridge as ridge
from specmargin.results import SolveResult
from specmargin.solvers.spectrum.spectral_ridge import choose_penalty, seeded_kmeans, spectral_ridge
from specmargin.spectra import Spectrum, extend, laplacian_eigenpairs
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["SpectralRidge"]

_DEFAULT_Q = 200
_DEFAULT_NEIGHBORS = 10
_CLUSTER_COLUMNS = 5  # eigenvectors per class in which clusters are looked for; fewer or more were no better
_LEVEL = 0.05  # at which label counts reject equal classes


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralRidge(SemiSupervisedClassifier):
    """Least squares on the labels in the span of the graph's lowest eigenvectors.

    Minimises, for all classes at once, sum_ik (y_ik - f_k(x_i))^2 + penalty sum_kj v_jk^2 / delta_j over
    f = sqrt(n) U v + b with y = 1 for the own and -1 for every other class and delta_j proportional to
    lambda_j^-power: LapRLS (eq. 14 of the primal LapSVM paper) with the graph norm f'L^power f alone, on the smooth
    functions of the graph.

    Parameters
    ----------
    penalty : float or "loo", default "loo"
        Weight of the norm per unit mean kernel diagonal (delta has sum one), > 0. "loo" chooses by exact
        leave-one-out on the labelled samples (`choose_penalty` of its solver); unless two classes have five labels,
        too little is left when one is left out, and it is 0.3.
    power : float, default 2.0
        p of the graph norm f'L^p f, >= 0: the larger, the smoother.
    class_balance : {"zscore"} or None, default "zscore"
        "zscore" compares classes by their z-scores: each class's decisions over all samples less their mean, over
        their standard deviation. See the notes: it supposes classes of similar size.
    refine : {"kmeans"} or None, default None
        "kmeans" starts spherical k-means from the predicted classes, in the rows of the 5 K leading eigenvectors (K
        classes); labelled samples keep their class. For one or two labels per class and classes that are clusters.
    q : int, optional
        Number of eigenvectors, 2 to n; default min(200, n).
    n_neighbors : int, optional
        Neighbours of the graph; default min(10, n - 1).
    kind : {"symmetric", "mutual", "mutual+mst"}, default "symmetric"
        How the neighbour relation is made symmetric.
    weight : {"self_tuning", "binary", "heat", "cosine"}, default "self_tuning"
        Edge weights.
    metric : str, default "euclidean"
        Metric of the neighbours; "cosine" for text.
    reduce : int, "auto" or None, default "auto"
        Principal components in which neighbours are searched; "auto": 50 for more than 10,000 dense samples of more
        than 100 features, else none.
    normalized : bool, default True
        Whether the Laplacian is I - D^-1/2 W D^-1/2 or D - W.
    eigen_tol : float, default 1e-3
        Accuracy of the eigenvectors of more than 2,000 samples, as ``tol`` of
        `specmargin.spectra.laplacian_eigenpairs`; predictions hardly depend on it.
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        What classes are compared by: z-scores, decisions f where they are not balanced, or the cosines with the
        centres of the clusters (with two classes their difference; the own cosine of a labelled sample is set to 1).
    penalty_ : float
        The penalty in use.
    balanced_ : bool
        Whether the classes were compared by z-scores.
    delta_ : ndarray of shape (q,)
        The spectrum, of sum one, the same for all classes.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult
        Status, certificate, and the decisions f before they were balanced, of all classes.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    **Balance.** With few labels the decisions of one class may all be lower than those of another, whichever sample
    of it was labelled, and the largest decision says more of that than of the sample. z-scores undo it. They suppose
    classes of similar size: a rare class has its decisions raised as much as a frequent one. Where the label counts
    speak against equal classes (chi-square test, 5 % level), decisions are therefore compared as they are. Equal
    numbers of labels drawn per class say nothing of the classes' sizes: then, if they are known to differ, take None.

    With two classes there is one decision, and balancing moves its threshold from 0 to its mean: right for classes
    of equal size, where 0 may put nearly all samples on one side, and wrong where one class is rare, as one digit
    against nine. The same rule decides.

    **New samples** get the weighted mean of the scores of their nearest training samples (the Nyström extension of
    the eigenvectors to lowest order); a sample that coincides with training samples gets theirs. A component of the
    graph without a labelled sample is predicted by the intercept and the eigenvectors that are constant on it; a
    warning counts such samples.

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, JMLR 2011. Basu, Banerjee & Mooney,
    Semi-supervised clustering by seeding, ICML 2002.

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.estimators.spectral_ridge import SpectralRidge
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = SpectralRidge(q=20).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-12), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    penalty: float | str = "loo"
    power: float = 2.0
    class_balance: str | None = "zscore"
    refine: str | None = None
    q: int | None = None
    n_neighbors: int | None = None  # type: ignore[assignment]
    kind: str = "symmetric"
    weight: str = "self_tuning"
    metric: str = "euclidean"
    reduce: int | str | None = "auto"
    normalized: bool = True
    eigen_tol: float = 1e-3
    tol: float = 1e-6
    unlabeled: Any = -1

    _parameter_rules: ClassVar[dict[str, Rule]] = {
        "class_balance": choice("zscore", None),
        "n_neighbors": maybe(count(1)),
        "power": number(least=0),
    }

    def _validated(self, X: Matrix, y: Any, graph: Any) -> tuple[Matrix, Labels, SparseArray | None]:
        for name, choices in (("class_balance", ("zscore", None)), ("refine", ("kmeans", None))):
            if getattr(self, name) not in choices:
                raise InvalidInputError(f"{name}={getattr(self, name)!r} is unknown; take {choices[0]!r} or None.")
        if isinstance(self.penalty, str) and self.penalty != "loo":
            raise InvalidInputError(f"penalty={self.penalty!r} must be a positive number or 'loo'.")
        self._search: NeighborSearch | None = None
        return super()._validated(X, y, graph)

    def _opened(self, X: Matrix) -> NeighborSearch:
        angles = self.weight == "cosine" or self.metric == "cosine"
        return NeighborSearch(X, metric=self.metric, reduce=self.reduce, angles=angles)

    def _neighbor_graph(self, X: Matrix) -> SparseArray:
        # Kept for new samples: the projection and the distances among the training samples are not computed twice.
        self._search = self._opened(X)
        return knn_graph(self._search, self._count(X), kind=self.kind, weight=self.weight)

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        if self._search is None:
            self._search = self._opened(X)
        q = min(_DEFAULT_Q, X.shape[0]) if self.q is None else self.q
        spectrum = laplacian_eigenpairs(graph, q=q, normalized=self.normalized, tol=self.eigen_tol)
        self.balanced_ = self.class_balance == "zscore" and _may_be_equal(labels)
        result = self._solve(spectrum, labels)
        self.eigenvalues_, self.eigenvectors_ = spectrum.eigenvalues, spectrum.eigenvectors
        self.delta_ = np.asarray(result.variables["delta"])
        self.intercept_ = np.atleast_1d(result.variables["b"])
        self.result_ = result
        self.scores_ = np.asarray(result.variables["f"])
        if self.balanced_:
            self.scores_ = _standardized(self.scores_)
        if self.refine == "kmeans":
            self.scores_ = _refined(self.scores_, spectrum, labels)
        return self.scores_, [result]

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        objective = ridge.SpectralRidge(spectrum, labels, ridge.power_spectrum(spectrum, self.power))
        penalty = (
            choose_penalty(objective, standardize=self.balanced_)
            if isinstance(self.penalty, str)
            else float(self.penalty)
        )
        self.penalty_ = penalty
        return spectral_ridge(objective.with_(penalty=penalty), tol=self.tol)

    def _count(self, training: Matrix) -> int:
        return min(_DEFAULT_NEIGHBORS, training.shape[0] - 1) if self.n_neighbors is None else self.n_neighbors

    def _decision(self, X: Matrix) -> FloatArray:
        assert self._search is not None
        weights = neighbor_weights(X, self._search, self._count(self.scores_), weight=self.weight)
        return extend(self.scores_, weights)


def _may_be_equal(labels: Labels) -> bool:
    """Whether the label counts are compatible with classes of equal size."""
    counts = (np.column_stack([-labels.sign, labels.sign]) if labels.is_binary else labels.sign) > 0
    return bool(chisquare(counts.sum(axis=0)).pvalue >= _LEVEL)


def _standardized(scores: FloatArray) -> FloatArray:
    deviation = scores.std(axis=0)
    return (scores - scores.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def _refined(scores: FloatArray, spectrum: Spectrum, labels: Labels) -> FloatArray:
    """Return the cosines with the centres of the clusters that start from the predicted classes."""
    binary = labels.is_binary
    start = (scores > 0).astype(np.intp) if binary else scores.argmax(axis=1)
    own = (labels.sign > 0).astype(np.intp) if binary else labels.sign.argmax(axis=1)
    start[labels.labeled] = own
    leading = spectrum.eigenvectors[:, : _CLUSTER_COLUMNS * len(labels.classes)]
    found = seeded_kmeans(leading, start, labels.labeled)
    cosines = found.similarities.copy()
    # Where no direction speaks for a class, the one of the start stays ahead.
    silent = ~leading.any(axis=1)
    cosines[silent, start[silent]] = np.finfo(np.float64).eps
    cosines[labels.labeled, own] = 1.0
    return cosines[:, 1] - cosines[:, 0] if binary else cosines
