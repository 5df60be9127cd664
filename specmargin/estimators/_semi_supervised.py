"""What every classifier of the package shares: validation, labels, scores, and reporting of results.

An estimator validates, calls and keeps arrays; the mathematics is in the objectives, the work in problems and
solvers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from specmargin.arrays import feature_rows
from specmargin.checks import outside
from specmargin.estimators._class_balance import UNDECIDED, codes_of
from specmargin.estimators._fit_warnings import warn_of_classes, warn_of_scales
from specmargin.estimators._parameter_rules import check_parameters
from specmargin.exceptions import InvalidInputError, InvalidTypeError, SolverError
from specmargin.graphs import check_adjacency, warn_components
from specmargin.graphs.node_names import in_one_order, number_of_nodes
from specmargin.labels import Labels, encode_labels, label_array, label_vector, warn_of_marker
from specmargin.model_selection import labeled_accuracy
from specmargin.results import INACCURATE_GAP, SolveResult, Status
from specmargin.spectra import Spectrum
from specmargin.typing import AnyArray, FloatArray, Matrix, SparseArray

BATCH_ELEMENTS = 2**25
"""Entries of a kernel block that `decision_function` holds at once."""


class SemiSupervised(BaseEstimator):
    """What classifiers and regressors share: the graph, and what is reported of results."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _needs_graph(self) -> bool:
        return True

    _takes_graph_alone: ClassVar[bool] = False
    """Whether nothing but the graph is learned from where one is given, so that X may be left out."""

    @property
    def _marker(self) -> Any:
        """Label of the nodes that a mapping leaves out."""
        return np.nan

    def _by_node(self, X: Any, y: Any, graph: Any) -> tuple[Any, Any, Any]:
        """Return what `fit` is given in one order of the nodes, whose names are kept; for X=None the identity."""
        y, graph, nodes = in_one_order(X, y, graph, self._marker)
        self.__dict__.pop("nodes_", None)
        if nodes is not None:
            self.nodes_ = nodes
        if X is None and graph is not None:
            if not self._takes_graph_alone:
                raise InvalidTypeError(
                    f"X=None, but {type(self).__name__} learns from features, too; pass them, or take STORM, "
                    "SpectralRidge or SpectralFilterClassifier, which learn from a graph alone."
                )
            several = isinstance(graph, list) and hasattr(graph[0] if graph else None, "shape")
            graph = graph if several or isinstance(graph, Spectrum) else check_adjacency(graph)
            X = sp.eye_array(number_of_nodes(graph), format="csr")
        return X, y, graph

    def _graph(self, X: Matrix, graph: Any) -> Any:
        """Return the graph that was passed, checked, or that of the neighbours."""
        return self._neighbor_graph(X) if graph is None else check_adjacency(graph, X.shape[0])

    def _neighbor_graph(self, X: Matrix) -> SparseArray:
        raise NotImplementedError

    def _warn_of_gaps(self, results: list[SolveResult]) -> None:
        """Warn of answers that are proved less well than was asked for."""
        for result in results:
            if result.status in (Status.OPTIMAL_INACCURATE, Status.MAX_ITER, Status.UNPROVED, Status.NUMERICAL):
                gap = result.certificate.relative_gap
                proved = (
                    f"the answer is proved to a relative gap of {gap:.1e} only"
                    if 0 <= gap <= INACCURATE_GAP
                    else f"NOTHING is proved about this answer (relative gap {gap:.1e}); do not rely on it"
                )
                warnings.warn(
                    f"{type(self).__name__}: {result!r}; {proved}. Try another solver, a larger max_iter, or a smaller "
                    "ratio between the weights of loss and penalty.",
                    ConvergenceWarning,
                    stacklevel=outside(),
                )

    def _finite(self, scores: FloatArray) -> FloatArray:
        if not np.isfinite(scores).all():
            raise SolverError(
                f"{type(self).__name__}: {np.count_nonzero(~np.isfinite(scores))} of {scores.size} decisions are not "
                "finite: features and parameters are of a scale beyond double precision; scale the features, and take "
                f"parameters nearer to 1 (they are {self.get_params(deep=False)})."
            )
        return scores


@dataclass(kw_only=True, eq=False, repr=False)
class SemiSupervisedClassifier(ClassifierMixin, SemiSupervised):
    """Classifier that learns from labelled and unlabelled samples.

    A subclass implements ``_fit(X, labels, graph)``, which returns the decisions of the training samples and the
    results behind them, and ``_decision(X)``; decisions have one column per binary problem.

    Parameters
    ----------
    unlabeled : scalar, nan or None
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
    """

    unlabeled: Any = -1

    _rounding = 0.0
    """What decisions must differ by to be told apart."""

    def fit(self, X: Matrix, y: Any = None, graph: Any = None) -> Any:
        """Learn from labelled and unlabelled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
            Features; an (n, n) Gram matrix where ``kernel="precomputed"``.
        y : array-like of shape (n,), or mapping by node
            Labels; unlabelled samples hold the marker `unlabeled`, or are left out of a mapping.
        graph : {ndarray, sparse matrix} of shape (n, n), networkx.Graph or table of edges, optional
            Symmetric, nonnegative adjacency in the order of the rows (nodes) to use instead of nearest neighbours. A
            table is a frame with the columns source, target and, with weights, weight. Nodes with names are matched
            with a frame X, or a mapping or series y, that has them as its index; else 0 to n - 1 are the rows.
            `STORM`, `STOAM` and `MKL` take a list of several, too. Estimators over a spectrum also take the eigenpairs
            of a graph, a `specmargin.spectra.Spectrum`, which then serve many fits.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinite features, fewer than two classes among the labels, an asymmetric or negative
            graph, or parameters out of range.
        SolverError
            If no solver gives a usable answer; its ``result`` says what is known.
        """
        with fitting(self):
            X, y, graph = self._by_node(X, y, graph)
            X, labels, graph = self._validated(X, y, graph)
            self._learn(X, y, labels, graph)
        return self

    @property
    def _marker(self) -> Any:
        return self.unlabeled

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: Any) -> None:
        """Learn from checked data; warn where the graph or the answer is less than one may expect."""
        if not getattr(self, "_is_precomputed", False):
            warn_of_scales(self, X)
        for W in graph if isinstance(graph, list) else [graph]:
            nodes = W.component if isinstance(W, Spectrum) else W
            if nodes is not None:
                warn_components(nodes, labels.labeled, stacklevel=outside() + 1)
        self.classes_ = labels.classes
        scores, results = self._fit(X, labels, graph)
        self.n_iter_ = max([1, *(result.n_iter for result in results)])
        self.scores_ = self._finite(scores)
        self._rounding = UNDECIDED * float(np.abs(scores).max(initial=0.0))
        self.transduction_ = self._classes_of(scores)
        warn_of_classes(self, labels)
        self._warn_of_gaps(results)

    def _validated(self, X: Matrix, y: Any, graph: Any) -> tuple[Matrix, Labels, Any]:
        """Check everything that `fit` is given; the graph is that of the neighbours where one is needed."""
        check_parameters(self)
        if y is None:
            raise InvalidTypeError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Unlabelled samples hold "
                f"the marker unlabeled={self.unlabeled!r}; pass one label or marker per sample."
            )
        X = check_features(self, X, ensure_min_samples=2)
        labels = self._labels(X, y)
        return X, labels, self._graph(X, graph) if self._needs_graph() else None

    def _labels(self, X: Matrix, y: Any) -> Labels:
        y = label_array(y)
        y = label_vector(column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y)
        if len(y) != X.shape[0]:
            raise InvalidInputError(
                f"X has {X.shape[0]} rows, but y has {len(y)} labels: inconsistent numbers of samples; pass one label "
                "or marker per row, in the order of the rows."
            )
        labels = encode_labels(y, self.unlabeled)
        if labels.classes.dtype.kind == "f":
            fractions = labels.classes[labels.sign_codes] % 1 != 0
            if fractions.any():
                raise InvalidInputError(
                    f"Unknown label type: continuous. y[{labels.labeled[fractions][0]}] is "
                    f"{labels.classes[labels.sign_codes][fractions][0]}; pass class values: whole numbers or strings."
                )
        warn_of_marker(y, self.unlabeled, stacklevel=outside() + 1)
        return labels

    def _classes_of(self, scores: FloatArray) -> AnyArray:
        return np.asarray(self.classes_[codes_of(scores, self._rounding)])

    def decision_function(self, X: Matrix) -> FloatArray:
        """Return f at new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            Features; the (m, n) kernel block where ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            Positive means ``classes_[1]`` with two classes; with more the largest column wins.
        """
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        with numerical_failures(self):
            return self._finite(in_batches(self._decision, X, len(self.transduction_)))

    def predict(self, X: Matrix) -> AnyArray:
        """Return the classes of new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._classes_of(self.decision_function(X))

    def score(self, X: Matrix, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the share of the labelled samples that are predicted correctly; unlabelled ones are left out.

        So scikit-learn's cross-validation and searches can be used with markers in y. Folds that have labelled samples
        to test on, and train on all unlabelled ones, are those of `specmargin.LabeledKFold`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            As for `decision_function`.
        y : array-like of shape (m,)
            Labels and markers.
        sample_weight : array-like of shape (m,), optional
            Weights of the samples.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If no sample is labelled.
        """
        return labeled_accuracy(self, X, y, sample_weight)

    def _fit(self, X: Matrix, labels: Labels, graph: Any) -> tuple[FloatArray, list[SolveResult]]:
        raise NotImplementedError

    def _decision(self, X: Matrix) -> FloatArray:
        raise NotImplementedError


class BuildsProblem:
    """A classifier whose problem can be had before it is solved; it implements ``_problem(X, labels, graph)``."""

    _joint: ClassVar[bool] = False
    """Whether one problem holds all classes."""

    def build_problem(self, X: Matrix, y: Any, graph: Any = None) -> Any:
        """Return the CVXPY problem that `fit` solves for these data: fresh, unsolved, and apart from this estimator.

        Parameters
        ----------
        X, y, graph
            As for `fit`; two classes, or more where one problem holds all classes (`SpectralRidge`).

        Returns
        -------
        specmargin.problems.BuiltProblem
            Its objective is the one whose certificate `fit` reports; `specmargin.solve` takes it.

        Raises
        ------
        ValueError
            As `fit`, and for more than two classes that are as many problems.
        """
        return self._built_apart(X, y, graph, lambda _, labels: labels)

    def _built_apart(self, X: Matrix, y: Any, graph: Any, weighted: Callable[[Any, Labels], Labels]) -> Any:
        apart: Any = clone(self)  # of this very class, whose private methods serve both
        X, labels, graph = apart._validated(*apart._by_node(X, y, graph))
        labels = weighted(apart, labels)
        if not (labels.is_binary or self._joint):
            raise InvalidInputError(
                f"{len(labels.classes)} classes make as many problems; build them one against the rest."
            )
        with numerical_failures(self):
            return apart._problem(X, labels, graph)


def unpacked(results: list[SolveResult]) -> SolveResult | tuple[SolveResult, ...]:
    """Return the one result of a binary problem, a tuple of several."""
    return results[0] if len(results) == 1 else tuple(results)


def columns(parts: list[FloatArray]) -> FloatArray:
    """Return one array for one binary problem, columns for several."""
    return parts[0] if len(parts) == 1 else np.column_stack(parts)


def check_features(estimator: Any, X: Any, *, reset: bool = True, **options: Any) -> Matrix:
    """Return features as float64, dense or CSR: finite, of the width of the training, of a scale that has squares."""
    options |= {"accept_sparse": "csr", "dtype": np.float64, "reset": reset, "ensure_all_finite": False}
    return feature_rows(X, "X", lambda X: validate_data(estimator, X, **options), small=reset)


def in_batches(values: Callable[[Matrix], FloatArray], X: Matrix, n: int) -> FloatArray:
    """Return values at new samples, by so few of them at a time that a kernel block with n columns stays small."""
    rows = max(1, BATCH_ELEMENTS // max(1, n))
    return np.concatenate([values(X[batch]) for batch in gen_batches(X.shape[0], rows)])


@contextmanager
def fitting(estimator: Any) -> Iterator[None]:
    """Leave an estimator whose fit fails, or is stopped, as it was: with what it had learned, or with nothing."""
    before = dict(vars(estimator))
    try:
        with numerical_failures(estimator):
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def numerical_failures(estimator: Any) -> Iterator[None]:
    """Let a factorisation that fails be the package's error, with what can be done about it."""
    try:
        yield
    except (np.linalg.LinAlgError, ArpackError, ArithmeticError) as error:
        raise SolverError(
            f"{type(estimator).__name__}: a factorisation failed ({type(error).__name__}: {error}); scale the "
            "features, drop duplicates, and take parameters nearer to 1 (they are "
            f"{estimator.get_params(deep=False)})."
        ) from error
