"""Choosing models when most labels are hidden.

Plain cross-validation goes wrong on partly labelled samples: it puts unlabelled points into the test folds
and counts their marker as a class, so that every hidden label is an error. `LabeledKFold` tests on labelled
points only, and lets the unlabelled ones always train. `labeled_accuracy` is the score that ignores the
marker. Pass both to scikit-learn: ``GridSearchCV(estimator, grid, cv=LabeledKFold(),
scoring=labeled_accuracy)``. The estimators' own ``score`` ignores the marker, too, so that plain folds give a number
that means something; their test folds may hold few labelled samples.

A graph, or a kernel matrix, cannot be cut like rows of features. `Nodes` holds either: of its slices every fit keeps
all samples, those of the test fold among the unlabelled ones.

Tools that read y as plain classes (voting, stacking, calibration, one against the rest, bagging) know no marker:
`specmargin.WithUnlabeled` brings the unlabelled samples to every fit by itself, so that such tools are given labelled
samples alone. docs/scikit_learn.md has a table of the tools.

`precision_recall_breakeven` is the figure of merit of the text experiments.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from copy import copy
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from specmargin.arrays import finite_numbers, first_of, numbers_array
from specmargin.checks import flag, seed, shown, whole
from specmargin.exceptions import InvalidInputError
from specmargin.graphs.node_names import by_row, n_rows, number_of_nodes
from specmargin.labels import is_unlabeled, label_array, label_vector
from specmargin.labels.encoding import class_by_class
from specmargin.typing import AnyArray, IntArray

__all__ = ["LabeledKFold", "Nodes", "labeled_accuracy", "precision_recall_breakeven"]


class LabeledKFold:
    """Folds whose test parts hold labelled samples only; unlabelled samples always train.

    Each labelled sample is tested exactly once. The folds are stratified: the samples are dealt out class by
    class, the classes as they first appear, so that neither the size of a fold nor its share of a class differs from
    another's by more than one, and names of classes change nothing.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds, 2 or more.
    shuffle : bool, default True
        Whether to shuffle within each class before dealing; otherwise in the order of the sample.
    random_state : int, Generator or None, default 0
        Seed of ``numpy.random.default_rng``: the same folds each time, unless it is None. Of no effect without
        `shuffle`.
    unlabeled : scalar, nan or None, default -1
        The marker of the unlabelled samples, as given to the estimator.

    Examples
    --------
    >>> y = [0, -1, 1, -1, 0, 1]
    >>> for train, test in LabeledKFold(2, shuffle=False).split(y, y):
    ...     train.tolist(), test.tolist()
    ([1, 3, 4, 5], [0, 2])
    ([0, 1, 2, 3], [4, 5])
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = True,
        random_state: int | np.random.Generator | None = 0,
        unlabeled: Any = -1,
    ) -> None:
        if whole("n_splits", n_splits) < 2:
            raise InvalidInputError(f"n_splits={n_splits} leaves nothing to train or to test on; take 2 or more.")
        self.n_splits = operator.index(n_splits)
        self.shuffle = flag("shuffle", shuffle)
        self.random_state = seed("random_state", random_state)
        self.unlabeled = unlabeled

    def __repr__(self) -> str:
        return (
            f"LabeledKFold({self.n_splits}, shuffle={self.shuffle}, random_state={self.random_state}, "
            f"unlabeled={self.unlabeled!r})"
        )

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds; the arguments are scikit-learn's and are ignored."""
        return self.n_splits

    def split(self, X: Any, y: npt.ArrayLike, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the increasing indices of the training and of the test samples of each fold.

        Parameters
        ----------
        X : object
            Ignored; there for scikit-learn.
        y : array-like of shape (n,)
            Labels and markers.
        groups : object
            Ignored.

        Yields
        ------
        train : ndarray
            Unlabelled samples and the labelled ones of the other folds.
        test : ndarray
            Labelled samples of this fold.

        Raises
        ------
        ValueError
            If there are fewer labelled samples than folds.

        Warns
        -----
        UserWarning
            If a class has one labelled sample, which cannot be in the training and the test part at once.
        """
        y = _labels(y)
        labeled = np.flatnonzero(~is_unlabeled(y, self.unlabeled))
        if len(labeled) < self.n_splits:
            raise InvalidInputError(
                f"y has {len(labeled)} labelled samples for n_splits={self.n_splits} folds (those equal to "
                f"{self.unlabeled!r} are unlabelled); take at most {len(labeled)} folds or label more samples."
            )
        classes, counts = np.unique(y[labeled], return_counts=True)
        if counts.min() < 2:
            warnings.warn(
                f"the class {classes[counts.argmin()]} has one labelled sample: the fold that tests it "
                "trains without that class. Label another sample of it.",
                stacklevel=2,
            )
        if self.shuffle:
            labeled = labeled[np.random.default_rng(self.random_state).permutation(len(labeled))]
        dealt = labeled[class_by_class(y[labeled])]
        train = np.ones(len(y), dtype=bool)
        for k in range(self.n_splits):
            test = np.sort(dealt[k :: self.n_splits])
            train[test] = False
            yield np.flatnonzero(train), test
            train[test] = True


class Nodes:
    """Samples whose slices keep all of them: a graph, or a kernel matrix, for scikit-learn's cross-validation.

    Pass it in the place of X. A tool that takes rows of it takes labels: an estimator that is fitted to such rows
    learns from all samples, with the labels of these rows alone, and predicts rows by their ``transduction_``. No label
    of another row is passed on.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, n_features), optional
        Features; an (n, n) Gram matrix where ``kernel="precomputed"``. None where a graph alone is learned from.
    graph : {ndarray, sparse matrix} of shape (n, n), networkx.Graph or list, optional
        What `fit` of the estimator takes. One of X and graph is needed.

    Attributes
    ----------
    rows : ndarray of int
        The rows that this slice is of.
    key : str
        What all slices of the same samples share, and no others.
    shape : tuple of int
        Their number, and that of the columns of X, n without it.

    Raises
    ------
    ValueError
        If there is neither X nor a graph.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=6, random_state=0)
    >>> nodes = sm.Nodes(graph=sm.graphs.knn_graph(X, n_neighbors=6))
    >>> search = GridSearchCV(sm.SpectralRidge(), {"q": [5, 20]}, cv=sm.LabeledKFold(3)).fit(nodes, y)
    >>> search.predict(nodes).shape, nodes[:3].shape
    ((120,), (3, 120))
    """

    def __init__(self, X: Any = None, *, graph: Any = None) -> None:
        if X is None and graph is None:
            raise InvalidInputError("Nodes need features, a kernel matrix or a graph; pass X, graph or both.")
        self.X, self.graph = X, graph
        n = n_rows(X) if X is not None else number_of_nodes(graph) or len(graph)
        self.rows: IntArray = np.arange(n)
        shape = getattr(X, "shape", None) or np.shape(X if X is not None else np.zeros((0, n)))
        self.key = uuid4().hex
        self._all, self._columns = n, int(shape[1]) if len(shape) > 1 else 1

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows of this slice, and of columns."""
        return len(self.rows), self._columns

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> Nodes:
        """Return a slice of rows; of the rows and columns of a kernel matrix the rows decide."""
        first = key[0] if isinstance(key, tuple) else key
        part = copy(self)
        part.rows = self.rows[np.ravel(first) if isinstance(first, np.ndarray | list) else first]
        return part

    def labels(self, values: npt.ArrayLike, other: Any) -> AnyArray:
        """Return labels, targets or weights of all samples: those of this slice, and another value for all others."""
        given = values if isinstance(values, np.ndarray) else label_array(values)
        if len(given) != len(self.rows):
            raise InvalidInputError(f"y has {len(given)} labels for {len(self.rows)} rows; pass one per row.")
        plain = given.dtype.kind in "biuf" and isinstance(other, int | float) and not isinstance(other, bool)
        kind = np.result_type(given, type(other)) if plain else object
        held = np.full((self._all, *given.shape[1:]), other, dtype=kind)
        held[self.rows] = given
        return held


def _marker_of(estimator: Any) -> Any:
    """Marker of the estimator, looked for inside pipelines and meta-estimators too."""
    while estimator is not None:
        if hasattr(estimator, "unlabeled"):
            return estimator.unlabeled
        steps = getattr(estimator, "steps", None)
        estimator = steps[-1][1] if steps else getattr(estimator, "estimator", None)
    return -1


def labeled_accuracy(estimator: Any, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
    """Return the share of the labelled samples that the estimator predicts correctly.

    Parameters
    ----------
    estimator : fitted classifier
        Its parameter ``unlabeled`` names the marker; -1 if it has none. Pipelines and search objects are
        asked for the estimator that they end in.
    X : array-like of shape (n, d) or None
        Features. None: the samples (nodes) of `fit`, whose predictions are ``transduction_``.
    y : array-like of shape (n,), or mapping by row or node
        Labels and markers. A mapping or a series is matched by name, as `fit` does, where rows or nodes have names.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples, >= 0, matched as y.

    Returns
    -------
    float
        Number in [0, 1].

    Raises
    ------
    ValueError
        If no sample is labelled, or the labelled ones have no weight.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> always_one = DummyClassifier(strategy="constant", constant=1).fit([[0], [0]], [0, 1])
    >>> labeled_accuracy(always_one, [[0]] * 4, [1, -1, -1, 0])
    0.5
    """
    marker, fitted = _marker_of(estimator), getattr(estimator, "transduction_", None)
    predicted = np.asarray(fitted if X is None and fitted is not None else estimator.predict(X))
    nodes = getattr(estimator, "_rows", None) or (range(len(predicted)) if X is None else None)
    y, sample_weight = _labels(by_row(y, X, nodes, marker)), by_row(sample_weight, X, nodes, 0.0)
    known = ~is_unlabeled(y, marker)
    if not known.any():
        raise InvalidInputError(
            f"none of the {len(y)} samples is labelled (all equal the marker {marker!r}), so that there is "
            "no accuracy; take the folds of LabeledKFold, whose test folds hold labelled samples only."
        )
    if predicted.shape != y.shape:
        rows = f"X has {len(predicted)} rows" if X is not None else f"X=None are the {len(predicted)} samples of fit"
        raise InvalidInputError(f"{rows}, but y has {len(y)} labels; pass one label per sample.")
    if sample_weight is not None:
        numbers_array("one weight per sample", ndim=1, finite=False)("sample_weight", sample_weight)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    finite_numbers("sample_weight", weight, "numbers >= 0, one per sample", least=0.0)
    if weight.shape != y.shape or not 0 < weight[known].sum() < np.inf:
        raise InvalidInputError(
            f"sample_weight={shown(weight)} of shape {weight.shape} does not weigh {len(y)} samples (its sum is "
            f"{weight.sum():g}); pass numbers >= 0, one each, not all zero."
        )
    return float(np.average(predicted[known] == y[known], weights=weight[known]))


def _labels(y: npt.ArrayLike) -> AnyArray:
    y = label_array(y)
    return label_vector(y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y)


def precision_recall_breakeven(y_true: npt.ArrayLike, scores: npt.ArrayLike, pos_label: Any = 1) -> float:
    """Return the precision at the threshold where precision equals recall.

    With P positives in `y_true`, the P samples of the largest scores are called positive; then
    ``precision = TP / P = recall``. Where ties straddle that cut the value is the mean over all orders of the
    tied samples: r places left for m tied samples, t of them positive, count r t / m true positives.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels; all that are not `pos_label` are negative.
    scores : array-like of shape (n,)
        Larger means more likely positive; only the order matters. Finite or infinite, not NaN.
    pos_label : scalar, default 1
        The positive class.

    Returns
    -------
    float
        Number in [0, 1].

    Raises
    ------
    ValueError
        If the shapes differ, a score is NaN, or no sample is positive.

    Examples
    --------
    >>> precision_recall_breakeven([1, 0, 1, 0], [0.9, 0.8, 0.3, 0.1])
    0.5
    >>> precision_recall_breakeven([1, 0, 0, 0], [0, 0, 0, 0])
    0.25
    """
    positive = np.asarray(np.asarray(y_true) == pos_label, dtype=bool)
    numbers_array("one number per sample", ndim=1, finite=False)("scores", scores)
    given, scores = scores, np.asarray(scores, dtype=np.float64)
    if positive.ndim != 1 or positive.shape != scores.shape:
        raise InvalidInputError(
            f"y_true={shown(y_true)} and scores={shown(given)} have the shapes {np.shape(y_true)} and {scores.shape}; "
            "pass one label and one score per sample."
        )
    if np.isnan(scores).any():
        raise InvalidInputError(
            f"{first_of('scores', scores, np.isnan(scores))} and has no rank; give every sample one."
        )
    n_positive = int(positive.sum())
    if n_positive == 0:
        raise InvalidInputError(
            f"no sample of y_true equals pos_label={pos_label!r}, so that recall is not defined; name the "
            "positive class with pos_label=."
        )
    cut = np.partition(scores, len(scores) - n_positive)[len(scores) - n_positive]
    above, tied = scores > cut, scores == cut
    places = n_positive - int(above.sum())
    hits = positive[above].sum() + places * positive[tied].mean()
    return float(hits / n_positive)
