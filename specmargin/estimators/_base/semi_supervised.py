"""What classifiers and regressors share: nodes and graphs, checks of features, and reporting of results.

An estimator validates, calls and keeps arrays; the mathematics is in the objectives, the work in problems and
solvers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from specmargin.arrays import feature_rows
from specmargin.checks import warn
from specmargin.estimators._base.label_weights import weights_of_classes, weights_of_labeled
from specmargin.estimators._base.parameters import Composed, part_of
from specmargin.exceptions import (
    ColumnScaleWarning,
    DisconnectedGraphWarning,
    InvalidInputError,
    InvalidTypeError,
    SolverError,
)
from specmargin.graphs import NeighborSearch, check_adjacency
from specmargin.graphs.laplacians import KERNEL, components_of, unconnected
from specmargin.graphs.node_names import by_row, in_one_order, number_of_nodes, row_names
from specmargin.graphs.parts import built, ties
from specmargin.labels import Labels
from specmargin.model_selection import Nodes
from specmargin.results import INACCURATE_GAP, SolveResult, Status
from specmargin.solvers.parts import Solver
from specmargin.spectra import Spectrum, extend
from specmargin.typing import AnyArray, FloatArray, Matrix, SparseArray

BATCH_ELEMENTS = 2**25
"""Entries of a kernel block that `decision_function` holds at once."""
_DOUBTFUL = {Status.CONDITIONAL, Status.OPTIMAL_INACCURATE, Status.MAX_ITER, Status.UNPROVED, Status.NUMERICAL}
"""Statuses of which estimators warn."""

_SCALES = 1e3
"""Ratio of the ranges of two columns that is warned of."""
_ROUNDING = 1e-12
"""Range of a column, relative to its largest entry, up to which it is constant."""
_UNIT = 1e-3
"""By which the squared length of a row may differ from one."""

NUMERICAL = (np.linalg.LinAlgError, ArpackError, ArithmeticError)
"""What a factorisation that fails raises."""

_FITS: ContextVar[int] = ContextVar("_FITS", default=0)
"""Fits that are under way, one within the other: what the outermost one copied, the others need not copy."""


class Training(NamedTuple):
    """What a fit was given, checked: the samples, their labels (or targets), and the graph."""

    X: Matrix
    labels: Any
    graph: SparseArray | None


class SemiSupervised(Composed):
    """What classifiers and regressors share: `fit`, the graph, and what is reported of results.

    A subclass implements ``_encoded(y, n)``, which reads labels or targets, ``_fit(X, labels, graph)``, which returns f
    at the training samples and the results behind it, and ``_conclude(f, labels)``.
    """

    _without_graph: ClassVar[str] = "fit(K, y, graph=W), or gamma_I=0 for supervised learning"
    """What else a precomputed kernel without a graph can be asked for."""
    _takes_graph_alone: ClassVar[bool] = False
    """Whether nothing but the graph is learned from where one is given, so that X may be left out."""
    _keeps_training: ClassVar[bool] = False
    """Whether what was learned from is remembered: references, but no kernel matrix."""
    _place: Matrix | NeighborSearch | None = None
    """What new samples find their neighbours in, where neighbours were searched for."""
    _training: Training | None = None
    _rows: Sequence[Hashable] | None = None
    """Names of the samples, by which `score` matches labels."""
    _unreached: ClassVar[str] = KERNEL
    """How samples of components without a label are predicted."""
    _nodes: str | None = None
    """Key of the `Nodes` that were learned from."""
    _alone: bool = False
    """Whether nothing but a graph was passed to `fit`."""
    graph: Any
    class_weight: Any = None
    model: Any = None
    transduction_: AnyArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    def _needs_graph(self) -> bool:
        return True

    @property
    def _marker(self) -> Any:
        """Label of the nodes that a mapping leaves out."""
        return np.nan

    def fit(self, X: Matrix, y: Any = None, graph: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from labelled and unlabelled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
            Features; an (n, n) Gram matrix where ``kernel="precomputed"``.
        y : array-like of shape (n,) or (n, n_outputs), or mapping by node
            Labels; unlabelled samples hold the marker `unlabeled`, or are left out of a mapping. For a regressor
            targets, NaN for unlabelled samples, in all outputs at once.
        graph : {ndarray, sparse matrix} of shape (n, n), networkx.Graph or table of edges, optional
            Symmetric, nonnegative adjacency in the order of the rows (nodes), in the place of the parameter `graph`. A
            table is a frame with the columns source, target and, with weights, weight. Nodes with names are matched
            with a frame X, or a mapping or series y, that has them as its index; else 0 to n - 1 are the rows.
            `STORM`, `STOAM` and `MKL` take a list of several, too. Estimators over a spectrum also take the eigenpairs
            of a graph, a `specmargin.spectra.Spectrum`, which then serve many fits.
        sample_weight : array-like of shape (n,), optional
            Weights of the losses of the labelled samples, >= 0; those of unlabelled samples are not looked at. A label
            of weight 0 has no loss: its sample is an unlabelled one.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinite features, fewer than two classes among the labels, targets that are infinite, given in
            part, or all NaN, an asymmetric or negative graph, parameters out of range, weights that are negative or not
            finite, and a class all of whose labels have the weight 0.
        SolverError
            If no solver gives a usable answer; its ``result`` says what is known.
        """
        with fitting(self):
            self._learn(*self._read(X, y, graph, sample_weight))
        return self

    def _read(self, X: Any, y: Any, graph: Any, sample_weight: Any) -> tuple[Matrix, Any, Any, Any, Any]:
        """Return what `fit` is given, checked: samples, y by row, the weighted labels, the graph, weights by row.

        The graph is that of the neighbours where one is needed.
        """
        self._nodes = X.key if isinstance(X, Nodes) else None
        if isinstance(X, Nodes):
            graph = X.graph if graph is None else graph
            y = None if y is None else X.labels(y, self._marker)
            sample_weight = None if sample_weight is None else X.labels(sample_weight, 0.0)
            X = X.X
        given = X
        self._alone, self._rows = X is None, None
        self.__dict__.pop("nodes_", None)
        if graph is not None or any(hasattr(one, "iloc") or isinstance(one, Mapping) for one in (X, y)):
            X, y, graph = self._by_node(X, y, graph)
        self._check_parameters()
        if y is None:
            raise InvalidTypeError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Unlabelled samples hold "
                f"the marker {self._marker!r}; pass one label (a regressor: one number) or marker per sample."
            )
        X = check_features(self, X, ensure_min_samples=2)
        labels = self._encoded(y, X.shape[0])
        graph = self._graph(X, graph) if self._needs_graph() else None
        if sample_weight is not None:
            sample_weight = by_row(sample_weight, given, self._rows, np.nan)
            labels = labels.weighted(weights_of_labeled(sample_weight, labels.labeled, labels.n_samples))
        if self.class_weight is not None:
            labels = labels.weighted(labels.weights_or_ones * weights_of_classes(labels, self.class_weight))
        return X, y, labels, graph, sample_weight

    def _learn(self, X: Matrix, y: Any, labels: Any, graph: Any, sample_weight: Any) -> None:
        """Learn from checked data; warn where the graph or the answer is less than one may expect."""
        self._training = Training(X, labels, graph) if self._keeps_training and not self._is_precomputed else None
        if isinstance(labels, Labels) and not self._is_precomputed:
            warn_of_scales(self, X)
        for W in graph if isinstance(graph, list) else [graph]:
            nodes = W.component if isinstance(W, Spectrum) else W
            if nodes is not None and (parts := components_of(nodes)).n > 1:
                warn(unconnected(parts, labels.labeled, self._unreached), DisconnectedGraphWarning)
        f, results = self._fit(X, labels, graph)
        self.n_iter_ = max([1, *(result.n_iter for result in results)])
        if not np.isfinite(f).all():
            self._refuse_infinite(f)
        self._conclude(f, labels)
        self._warn_of_gaps(results)
        self._calibrate(X, labels, graph)

    def _encoded(self, y: Any, n: int) -> Any:
        raise NotImplementedError

    def _fit(self, X: Matrix, labels: Any, graph: Any) -> tuple[FloatArray, list[SolveResult]]:
        raise NotImplementedError

    def _conclude(self, f: FloatArray, labels: Any) -> None:
        raise NotImplementedError

    def _calibrate(self, X: Matrix, labels: Any, graph: Any) -> None:
        """Keep what a classifier's probabilities follow from."""

    def _by_node(self, X: Any, y: Any, graph: Any) -> tuple[Any, Any, Any]:
        """Return what `fit` is given in one order of the nodes, whose names are kept; for X=None the identity."""
        y, graph, nodes = in_one_order(X, y, graph, self._marker)
        names = row_names(X) if nodes is None else nodes
        self._rows = names if names and all(isinstance(name, str | int) for name in names) else None  # as files hold
        if nodes is not None:
            self.nodes_ = nodes
        if X is None and graph is not None:
            if not self._takes_graph_alone:
                raise InvalidTypeError(
                    f"X=None, but {type(self).__name__} learns from features, too; pass them, or take AutoSSL, "
                    "STORM, SpectralRidge or SpectralFilterClassifier, which learn from a graph alone."
                )
            several = isinstance(graph, list) and hasattr(graph[0] if graph else None, "shape")
            graph = graph if several or isinstance(graph, Spectrum) else check_adjacency(graph)
            X = sp.eye_array(number_of_nodes(graph), format="csr")
        return X, y, graph

    def _graph(self, X: Matrix, graph: Any) -> Any:
        """Return the graph that was passed, checked, or the one that the parameter `graph` makes of the samples."""
        self._place = None
        if graph is not None:
            return check_adjacency(graph, X.shape[0])
        if self._is_precomputed:
            self._require_features()
        W, self._place = built(part_of("graph", self.graph), X)
        return W

    def _require_features(self) -> None:
        """Raise where a graph of nearest neighbours is needed and there is nothing but a kernel."""
        if self._is_precomputed:
            raise InvalidInputError(
                f"kernel='precomputed' leaves no features to build a graph from; pass {self._without_graph}."
            )

    def _remembered(self) -> Training:
        check_is_fitted(self)
        if self._training is None:
            raise InvalidInputError(
                f"{type(self).__name__} keeps no kernel matrix, and kernel='precomputed' leaves it nothing else; pass "
                "the kernel's blocks to ConformalRidge of specmargin.objectives.held_out.conformal, or to smoother of "
                "label_flips there."
            )
        return self._training

    def _neighbor_mean(self, X: Matrix, values: FloatArray) -> FloatArray:
        """Return the weighted mean of training values at the nearest training samples of new ones."""
        assert self._place is not None
        return extend(values, ties(part_of("graph", self.graph)).weights(X, self._place))

    def _warn_of_gaps(self, results: list[SolveResult]) -> None:
        """Warn of answers that are proved less well than was asked for."""
        for result in results:
            if result.status in _DOUBTFUL:
                gap, assumptions = result.certificate.relative_gap, result.certificate.assumptions
                supposing = f", supposing {'; '.join(assumptions)}" if assumptions else ""
                proved = (
                    f"the answer is proved to a relative gap of {gap:.1e} only{supposing}"
                    if 0 <= gap <= INACCURATE_GAP
                    else f"NOTHING is proved about this answer (relative gap {gap:.1e}); do not rely on it"
                )
                warn(
                    f"{type(self).__name__}: {result!r}; {proved}. Try another solver, a larger max_iter, or a smaller "
                    "ratio between the weights of loss and penalty.",
                    ConvergenceWarning,
                )

    def _at_new(self, X: Matrix, values: Callable[[Matrix], FloatArray]) -> FloatArray:
        """Return values at new samples, which are checked."""
        check_is_fitted(self)
        if X is None:
            raise InvalidTypeError(
                "X=None are no new samples; pass their features. What is predicted of the samples (nodes) of fit is "
                "transduction_, and score(None, y) compares that with y."
            )
        if isinstance(X, Nodes):
            known: FloatArray = getattr(self, "scores_", self.transduction_)
            if X.key != self._nodes:
                raise InvalidInputError(
                    f"these nodes are not the {len(known)} of fit; pass rows of those, or features of new samples."
                )
            return known[X.rows]
        X = check_features(self, X, reset=False)
        with numerical_failures(self):
            return self._finite(in_batches(values, X, len(self.transduction_)))

    def _finite(self, scores: FloatArray) -> FloatArray:
        return scores if np.isfinite(scores).all() else self._refuse_infinite(scores)

    def _refuse_infinite(self, scores: FloatArray) -> NoReturn:
        raise SolverError(
            f"{type(self).__name__}: {np.count_nonzero(~np.isfinite(scores))} of {scores.size} decisions are not "
            "finite: features and parameters are of a scale beyond double precision; scale the features, and take "
            f"parameters nearer to 1 (they are {self.get_params(deep=False)})."
        )


def warn_of_scales(estimator: Any, X: Matrix) -> None:
    """Warn where columns that are not constant differ in range by a factor of 1000 or more.

    Of words, that is where most entries are zero and none is negative, rows of length one say what counts, as tf-idf
    makes them; and what centres columns is no remedy.
    """
    low, high = min_max_axis(X, axis=0) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))
    ranges = high - low
    used = np.flatnonzero(ranges > _ROUNDING * np.maximum(np.abs(low), np.abs(high)))
    if len(used) < 2:
        return
    wide, narrow = used[ranges[used].argmax()], used[ranges[used].argmin()]
    if ranges[wide] < _SCALES * ranges[narrow]:
        return
    remedy = "scale them, e.g. by make_pipeline(StandardScaler(), ...) of scikit-learn"
    entries = X.nnz if sp.issparse(X) else np.count_nonzero(X)
    if low.min() >= 0 and 2 * entries < X.shape[0] * X.shape[1]:
        squares = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1)).ravel()
        if (np.abs(squares[squares > 0] - 1.0) < _UNIT).all():
            return
        remedy = (
            "scale them: most entries are zero, which TfidfTransformer() (of words and their counts) or MaxAbsScaler() "
            "of scikit-learn keeps"
        )
    names = getattr(estimator, "feature_names_in_", None)
    first, second = (f"column {k}" if names is None else f"column {names[k]!r}" for k in (wide, narrow))
    warn(
        f"{type(estimator).__name__}: columns of X differ in scale: {first} spans {ranges[wide]:.2g} and {second} "
        f"{ranges[narrow]:.2g}, so that kernel and neighbours hardly see the latter. Unless all are in one unit, "
        f"{remedy}.",
        ColumnScaleWarning,
    )


def solved_by_cvxpy(problem: Any, solver: Solver, names: str | Sequence[str] | None = None) -> SolveResult:
    """Solve a built problem through CVXPY, by the solvers of an estimator or those that are named."""
    from specmargin import problems

    if solver.max_iter is not None:
        raise InvalidInputError(
            f"max_iter={solver.max_iter} limits the solvers of the package, and {solver.name!r} is one of CVXPY's; "
            "name its own option, e.g. Solver('CLARABEL', options={'max_iter': 50})."
        )
    order = solver.name if names is None else names
    return problems.solve(problem, order, tol=solver.tol, check=True, **(solver.options or {}))


def unpacked(results: list[SolveResult]) -> Any:
    """Return the one result of a binary problem, a tuple of several: no type that is both has attributes."""
    return results[0] if len(results) == 1 else tuple(results)


def columns(parts: list[FloatArray]) -> FloatArray:
    """Return one array for one binary problem, columns for several."""
    return parts[0] if len(parts) == 1 else np.column_stack(parts)


def check_features(estimator: Any, X: Any, *, reset: bool = True, **options: Any) -> Matrix:
    """Return features as float64, dense or CSR: finite, of the width of the training, of a scale that has squares.

    Those that a fit learns from are a copy, which stays as it is when the caller changes the array that was given.
    """
    options |= {"accept_sparse": "csr", "dtype": np.float64, "reset": reset, "ensure_all_finite": False}
    if reset and _FITS.get() <= 1:
        options |= {"copy": True, "order": "C"}
    return feature_rows(X, "X", lambda X: validate_data(estimator, X, **options), small=reset)


def own_spectrum(spectrum: Spectrum) -> Spectrum:
    """Return the eigenpairs that a fit is given as a copy, as `check_features` does the features."""
    return deepcopy(spectrum) if _FITS.get() <= 1 else spectrum


def require_rows(n: int, given: int, what: str) -> None:
    """Raise where there are not as many labels (targets) as rows of X."""
    if given != n:
        raise InvalidInputError(
            f"X has {n} rows, but y has {given} {what}: inconsistent numbers of samples; pass one of them or a marker "
            "per row, in the order of the rows."
        )


def in_batches(values: Callable[[Matrix], FloatArray], X: Matrix, n: int) -> FloatArray:
    """Return values at new samples, by so few of them at a time that a kernel block with n columns stays small."""
    rows = max(1, BATCH_ELEMENTS // max(1, n))
    return np.concatenate([values(X[batch]) for batch in gen_batches(X.shape[0], rows)])


@contextmanager
def fitting(estimator: Any) -> Iterator[None]:
    """Leave an estimator whose fit fails, or is stopped, as it was: with what it had learned, or with nothing."""
    before = dict(vars(estimator))
    fits = _FITS.set(_FITS.get() + 1)
    try:
        yield
    except BaseException as error:
        if isinstance(error, NUMERICAL):
            error = _failed(estimator, error)
        vars(estimator).clear()
        vars(estimator).update(before)
        raise error from error.__cause__
    finally:
        _FITS.reset(fits)


@contextmanager
def numerical_failures(estimator: Any) -> Iterator[None]:
    """Let a factorisation that fails be the package's error, with what can be done about it."""
    try:
        yield
    except NUMERICAL as error:
        raise _failed(estimator, error) from error


def _failed(estimator: Any, error: BaseException) -> SolverError:
    return SolverError(
        f"{type(estimator).__name__}: a factorisation failed ({type(error).__name__}: {error}); scale the "
        f"features, drop duplicates, and take parameters nearer to 1 (they are {estimator.get_params(deep=False)})."
    )
