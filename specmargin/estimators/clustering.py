"""Clusters and coordinates of a graph: `RegularizedSpectralClustering` and `RegularizedEigenmaps`.

Spectral clustering and Laplacian eigenmaps end at the samples that the graph was built on. The regularized forms of
the manifold-regularization paper (section 5.4) look for the same smooth functions among kernel expansions
f(x) = sum_j alpha_j k(x_j, x), which have values everywhere. `RegularizedSpectralClustering` cuts them into clusters,
`RegularizedEigenmaps` returns them as coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from specmargin.checks import Rule, count, maybe, number, warn
from specmargin.estimators._base.parameters import part_of
from specmargin.estimators._base.semi_supervised import SemiSupervised, check_features, fitting, in_batches
from specmargin.estimators._base.sklearn_bases import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from specmargin.exceptions import DisconnectedGraphWarning, InvalidInputError
from specmargin.graphs import KNN, Laplacian
from specmargin.graphs.laplacians import components_of
from specmargin.graphs.parts import whole_seed
from specmargin.kernels import RBF
from specmargin.objectives.clustering import RegularizedClustering
from specmargin.results import SolveResult, Status
from specmargin.solvers.manifold.eigenmaps import eigenmaps
from specmargin.typing import FloatArray, IntArray, Matrix

__all__ = ["RegularizedEigenmaps", "RegularizedSpectralClustering"]


class _RegularizedEigenfunctions(SemiSupervised):
    """What both estimators share: validation, kernel and graph, the eigenfunctions and their values anywhere."""

    gamma_A: float
    kernel: Any
    laplacian: Any
    tol: float
    result_: SolveResult

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {"gamma_A": number(above=0)}

    _without_graph: ClassVar[str] = "fit(K, graph=W) with an adjacency"

    def fit(self, X: Matrix, y: Any = None, graph: Any = None) -> Self:  # type: ignore[override]  # no labels
        """Find the eigenfunctions, and the clusters or coordinates that they make.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
            Features; an (n, n) Gram matrix where ``kernel="precomputed"``.
        y : ignored
            Ignored; scikit-learn passes it.
        graph : {ndarray, sparse matrix} of shape (n, n), networkx.Graph or table of edges, optional
            Symmetric, nonnegative adjacency in the order of the rows (nodes), instead of the parameter `graph`. A
            table is a frame with the columns source, target and, with weights, weight. Nodes with names are matched
            with a frame X that has them as its index; else 0 to n - 1 are the rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinite features, parameters out of range, or too few samples for as many eigenfunctions.

        Warns
        -----
        DisconnectedGraphWarning
            If the graph is not connected.
        """
        with fitting(self):
            self._find(X, graph)
        return self

    def _find(self, X: Matrix, graph: Any) -> None:
        self._check_parameters()
        n_functions = self._n_functions()
        X, _, graph = self._by_node(X, None, graph)
        X = check_features(self, X, ensure_min_samples=2)
        self._check_size(X.shape[0])
        W = self._graph(X, graph)
        self.kernel_ = part_of("kernel", self.kernel).fitted_to(X)
        parts = components_of(W)
        if parts.n > 1:
            warn(
                f"the graph has {parts.n} components ({parts.n_isolated} isolated nodes): the lowest eigenfunctions "
                "tell them apart before anything else. Raise n_neighbors of the graph, or take its kind 'mutual+mst', "
                "to connect it.",
                DisconnectedGraphWarning,
            )
        L = part_of("laplacian", self.laplacian).of(W)
        objective = RegularizedClustering(self.kernel_(X), L, gamma=self.gamma_A)
        result = eigenmaps(objective, n_functions, tol=self.tol)
        if result.status is not Status.OPTIMAL:
            warn(
                f"{type(self).__name__}: {result!r}, constraints violated by {result.certificate.primal_residual:.1e}; "
                "the eigenfunctions are proved less well than was asked for. Take a larger gamma_A or a narrower "
                "kernel (larger gamma).",
                ConvergenceWarning,
            )
        self._X_fit = None if self._is_precomputed else X  # whose predictions are given their block
        self._keep(result)

    def _n_functions(self) -> int:
        raise NotImplementedError

    def _check_size(self, n: int) -> None:
        """Raise where there are too few samples."""

    def _keep(self, result: SolveResult) -> None:
        """Set `result_` and what follows from it."""
        self.result_ = result
        self.dual_coef_ = np.ascontiguousarray(result.variables["alpha"].T)
        self.embedding_ = np.asarray(result.variables["f"])
        self.eigenvalues_ = np.asarray(result.variables["eigenvalues"])

    def _values(self, X: Matrix) -> FloatArray:
        """Return the eigenfunctions (m, n_functions) at new samples."""
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        reference = X if self._X_fit is None else self._X_fit
        return in_batches(lambda part: self.kernel_(part, reference) @ self.dual_coef_.T, X, len(self.embedding_))


@dataclass(kw_only=True, eq=False, repr=False)
class RegularizedSpectralClustering(ClusterMixin, _RegularizedEigenfunctions):
    """Spectral clustering by functions that have values at new samples, too.

    Computes the lowest eigenfunctions of gamma_A |f|_K^2 + f'L f over f = K alpha with |f| = 1 and 1'f = 0 (eqs. 12 and
    13 of the manifold-regularization paper, by `specmargin.solvers.eigenmaps`). Two clusters are the signs of the
    first; more come from k-means on the rows of several.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, optional
        Number of eigenfunctions to cluster by; by default n_clusters - 1: the constant, which usual spectral
        clustering counts as one more, is ruled out by 1'f = 0.
    gamma_A : float, default 0.01
        Weight of the ambient norm, > 0: the gamma of the paper's eq. 12, under the name it has where labels have a
        say. The graph norm f'L f has weight one (gamma_I = 1).
    kernel : Kernel, str, float or callable, default RBF(gamma="scale")
        Kernel of the expansion: one of `specmargin.kernels` such as ``RBF(1.0)``, a name ("rbf", "poly", "linear",
        "cosine", "precomputed"), a number (the gamma of `RBF`), or a function of two data matrices.
    graph : KNN, int or callable, default KNN()
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them.
    laplacian : Laplacian or int, default Laplacian(normalized=False)
        Which Laplacian of the graph. The paper's is D - W, whose constant null vector 1'f = 0 removes; that of the
        normalized one is D^1/2 1.
    assign : {"auto", "sign", "kmeans"}, default "auto"
        "sign": the first eigenfunction, two clusters. "kmeans": k-means on the eigenfunctions; for two clusters a
        threshold halfway between two means instead of zero. "auto": "sign" for two clusters, else "kmeans".
    tol : float, default 1e-6
        Relative gap to which the eigenfunctions have to be certified; a ConvergenceWarning says so where they are
        not.
    random_state : int, Generator, RandomState or None, default 0
        Starts of k-means.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel in use, with a number for its width.
    embedding_ : ndarray of shape (n, n_components)
        Eigenfunctions f at the training samples; orthonormal columns of sum zero.
    eigenvalues_ : ndarray of shape (n_components,)
        Their values gamma_A |f|_K^2 + f'L f, rising.
    dual_coef_ : ndarray of shape (n_components, n)
        Expansion coefficients alpha.
    result_ : SolveResult
        Status and certificate.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    labels_ : ndarray of shape (n,)
        Clusters of the training samples, 0 to n_clusters - 1.
    cluster_centers_ : ndarray of shape (n_clusters, n_components)
        Means of k-means, where it was used.

    Notes
    -----
    A graph in several components has as many functions that cost the ambient norm alone. They come first, so the
    components are told apart before anything else, isolated samples included; a warning says so.

    References
    ----------
    Belkin, Niyogi & Sindhwani, On manifold regularization, AISTATS 2005, section 5.4.

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.estimators.clustering import RegularizedSpectralClustering
    >>> X, y = sm.datasets.make_two_moons(n_samples=200, noise=0.08, random_state=0)
    >>> clusters = RegularizedSpectralClustering(kernel=10.0, graph=8).fit(X[:150])
    >>> agree = clusters.predict(X[150:]) == y[150:]
    >>> bool(max(agree.mean(), 1 - agree.mean()) > 0.95)
    True
    """

    n_clusters: int = field(default=2, kw_only=False)
    n_components: int | None = None
    gamma_A: float = 0.01
    kernel: Any = RBF("scale")
    graph: Any = KNN()
    laplacian: Any = Laplacian(normalized=False)
    assign: str = "auto"
    tol: float = 1e-6
    random_state: Any = 0

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {"n_components": maybe(count(1))}

    def _n_functions(self) -> int:
        if self.assign == "sign" and self.n_clusters != 2:
            raise InvalidInputError(
                f"assign='sign' makes two clusters, not n_clusters={self.n_clusters}; take 'kmeans'."
            )
        return max(1, self.n_clusters - 1) if self.n_components is None else self.n_components

    def _check_size(self, n: int) -> None:
        if n < self.n_clusters:
            raise InvalidInputError(f"n_clusters={self.n_clusters}, but there are {n} samples; ask for fewer.")

    def _keep(self, result: SolveResult) -> None:
        super()._keep(result)
        self._kmeans = None
        if not (self.assign == "sign" or (self.assign == "auto" and self.n_clusters == 2)):
            from sklearn.cluster import KMeans

            seed = whole_seed(self.random_state)
            self._kmeans = KMeans(self.n_clusters, n_init=10, random_state=seed).fit(self.embedding_)
            self.cluster_centers_ = self._kmeans.cluster_centers_
        self.labels_ = self._clusters(self.embedding_)

    def _clusters(self, values: FloatArray) -> IntArray:
        if self._kmeans is None:
            return (values[:, 0] > 0).astype(np.intp)
        return np.asarray(self._kmeans.predict(values), dtype=np.intp)

    def decision_function(self, X: Matrix) -> FloatArray:
        """Return the eigenfunctions at new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            Features; the (m, n) kernel block where ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (m,) or (m, n_components)
            One column as a vector; its sign is the cluster where ``assign`` is by sign.
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Matrix) -> IntArray:
        """Return the clusters of new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            The same as for `decision_function`.

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._clusters(self._values(X))


@dataclass(kw_only=True, eq=False, repr=False)
class RegularizedEigenmaps(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _RegularizedEigenfunctions):
    """Laplacian eigenmaps with coordinates for new samples.

    The coordinates are the `n_components` lowest eigenfunctions of gamma_A |f|_K^2 + f'L f over f = K alpha with
    f'f = I and 1'f = 0 (eq. 13 of the manifold-regularization paper, several eigenvectors).

    Parameters
    ----------
    n_components : int, default 2
        Number of coordinates; the constant is not among them.
    gamma_A : float, default 0.01
        Weight of the ambient norm, > 0: the gamma of the paper's eq. 12, under the name it has where labels have a
        say. The graph norm f'L f has weight one (gamma_I = 1).
    kernel : Kernel, str, float or callable, default RBF(gamma="scale")
        Kernel of the expansion: one of `specmargin.kernels` such as ``RBF(1.0)``, a name ("rbf", "poly", "linear",
        "cosine", "precomputed"), a number (the gamma of `RBF`), or a function of two data matrices.
    graph : KNN, int or callable, default KNN()
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them.
    laplacian : Laplacian or int, default Laplacian(normalized=False)
        Which Laplacian of the graph. The paper's is D - W, whose constant null vector 1'f = 0 removes; that of the
        normalized one is D^1/2 1.
    tol : float, default 1e-6
        Relative gap to which the eigenfunctions have to be certified; a ConvergenceWarning says so where they are
        not.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel in use, with a number for its width.
    embedding_ : ndarray of shape (n, n_components)
        Coordinates of the training samples; orthonormal columns of sum zero.
    eigenvalues_ : ndarray of shape (n_components,)
        Their values gamma_A |f|_K^2 + f'L f, rising.
    dual_coef_ : ndarray of shape (n_components, n)
        Expansion coefficients alpha.
    result_ : SolveResult
        Status and certificate.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.

    Notes
    -----
    A graph in several components has as many functions that cost the ambient norm alone. They come first, so the
    components are told apart before anything else, isolated samples included; a warning says so.

    References
    ----------
    Belkin & Niyogi, Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15,
    2003. Belkin, Niyogi & Sindhwani, On manifold regularization, AISTATS 2005, section 5.4.

    Examples
    --------
    >>> import numpy as np
    >>> from specmargin.estimators.clustering import RegularizedEigenmaps
    >>> angle = np.linspace(2.0, 9.0, 60)
    >>> X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])  # a spiral
    >>> maps = RegularizedEigenmaps(n_components=1, kernel=0.5, graph=2).fit(X[::2])
    >>> unrolled = maps.transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(unrolled, angle)[0, 1]) > 0.95)
    True
    """

    n_components: int = field(default=2, kw_only=False)
    gamma_A: float = 0.01
    kernel: Any = RBF("scale")
    graph: Any = KNN()
    laplacian: Any = Laplacian(normalized=False)
    tol: float = 1e-6

    def _n_functions(self) -> int:
        return self.n_components

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def fit_transform(self, X: Matrix, y: Any = None, graph: Any = None) -> FloatArray:
        """Find the coordinates and return those of the training samples, `embedding_`.

        Parameters
        ----------
        X, y, graph
            The same as for `fit`.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        return np.asarray(self.fit(X, graph=graph).embedding_)

    def transform(self, X: Matrix) -> FloatArray:
        """Return the coordinates of new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            Features; the (m, n) kernel block where ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (m, n_components)
        """
        return self._values(X)
