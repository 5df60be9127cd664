"""What every classifier shares: `fit`, labels and their weights, scores, predictions and probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.stats import betabinom
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from specmargin.checks import warn
from specmargin.estimators._base.calibrated import Calibration, OnReduction
from specmargin.estimators._base.proved_decisions import ProvedDecisions, proved_decisions
from specmargin.estimators._base.semi_supervised import SemiSupervised, numerical_failures, require_rows
from specmargin.estimators._base.sklearn_bases import ClassifierMixin
from specmargin.exceptions import (
    ClassShareWarning,
    DisconnectedGraphWarning,
    InvalidInputError,
    SingleClassWarning,
    UndecidedWarning,
)
from specmargin.graphs import check_adjacency
from specmargin.graphs.node_names import n_rows, row_names, with_new_nodes
from specmargin.labels import Labels, is_unlabeled, label_array, label_vector, warn_of_marker
from specmargin.labels.encoding import labels_of
from specmargin.labels.shares import UNDECIDED, Balance, codes_of, credible_shares
from specmargin.model_selection import labeled_accuracy
from specmargin.objectives.held_out.calibration import class_probabilities
from specmargin.solvers.manifold.left_out import MOST
from specmargin.spectra.extension import harmonic
from specmargin.spectra.reuse import reached
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray, Matrix, SparseArray

_CUT = "shrunk"  # the rule of class balance that moves the threshold of two classes to a share
_BY_CHANCE = 0.05  # up to which the labels contradict that all unlabelled samples are of one class


def _proves(estimator: Any) -> bool:
    """Whether the problems of a classifier have a norm that is given."""
    return getattr(estimator, "_objectives", None) is not None


class SemiSupervisedClassifier(ClassifierMixin, SemiSupervised):
    """Classifier that learns from labelled and unlabelled samples.

    A subclass implements ``_fit(X, labels, graph)``, whose f are the decisions, ``_decision(X)``, and ``_problem(X,
    labels, graph)`` where its problem can be had before it is solved. Decisions have one column per binary problem.
    What knows decisions at left-out labels is left by ``_fit`` in ``_held_out``.
    """

    unlabeled: Any

    _joint: ClassVar[bool] = False
    """Whether one problem holds all classes."""
    _held_out: FloatArray | OnReduction | None = None
    _calibration: Calibration
    balance_: Balance
    classes_: AnyArray
    scores_: FloatArray

    @property
    def _marker(self) -> Any:
        return self.unlabeled

    @property
    def _rounding(self) -> float:
        """What decisions must differ by to be told apart."""
        return UNDECIDED * float(np.abs(self.scores_).max(initial=0.0))

    def _conclude(self, f: FloatArray, labels: Labels) -> None:
        self.scores_ = f
        codes = codes_of(f, self._rounding)
        self.transduction_ = np.asarray(labels.classes[codes])
        warn_of_classes(self, labels, codes)

    def _encoded(self, y: Any, n: int) -> Labels:
        marker = self.unlabeled
        if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iu" and isinstance(marker, int):
            hidden = np.asarray(y == marker)
        else:
            y = label_array(y)
            y = label_vector(column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y)
            hidden = is_unlabeled(y, marker)
        if len(y) != n:
            require_rows(n, len(y), "labels")
        labels = labels_of(y, hidden, marker)
        self.classes_ = labels.classes
        if labels.classes.dtype.kind == "f":
            fractions = labels.classes[labels.sign_codes] % 1 != 0
            if fractions.any():
                raise InvalidInputError(
                    f"Unknown label type: continuous. y[{labels.labeled[fractions][0]}] is "
                    f"{labels.classes[labels.sign_codes][fractions][0]}; pass class values: whole numbers or strings."
                )
        warn_of_marker(y, marker, hidden)
        return labels

    def _classes_of(self, scores: FloatArray) -> AnyArray:
        return np.asarray(self.classes_[codes_of(scores, self._rounding)])

    def decision_function(self, X: Matrix, graph: Any = None) -> FloatArray:
        """Return f at new samples, or at new nodes of a graph.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features) or None
            Features; the (m, n) kernel block where ``kernel="precomputed"``. None where new nodes have none.
        graph : {ndarray, sparse matrix} of shape (n + m, n + m), networkx.Graph or table of edges, optional
            The n nodes of `fit` first, then the new ones, with their edges; where nodes have names, those of `fit` are
            found by them, and the new ones are the index of X, or come in the order of the graph. What was learned
            stays: an expansion over a kernel decides about the features of new nodes, `SpectralFilterClassifier`
            filters them, and all others extend their scores harmonically, so that each new node has the weighted mean
            of its neighbours' scores. A new node that no path joins to an old one has the intercept. Of several graphs
            a list.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            Positive means ``classes_[1]`` with two classes; with more the largest column wins.

        Raises
        ------
        ValueError
            If the graph lacks nodes of `fit`, or the classifier learned from none.
        """
        return self._at_new(X, self._decision) if graph is None else self._on_graph(X, graph)

    def predict(self, X: Matrix, graph: Any = None) -> AnyArray:
        """Return the classes of new samples, or of new nodes of a graph.

        Parameters
        ----------
        X, graph
            The same as for `decision_function`.

        Returns
        -------
        ndarray of shape (m,)
        """
        more = {} if graph is None else {"graph": graph}  # of one's own decision_function, perhaps of X alone
        return self._classes_of(self.decision_function(X, **more))

    def score(self, X: Matrix, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the share of the labelled samples that are predicted correctly; unlabelled ones are left out.

        So scikit-learn's cross-validation and searches can be used with markers in y. Folds that have labelled samples
        to test on, and train on all unlabelled ones, are those of `specmargin.LabeledKFold`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features) or None
            The same as for `decision_function`. None: the samples (nodes) of `fit`, whose classes are
            ``transduction_``.
        y : array-like of shape (m,), or mapping by row or node
            Labels and markers; matched by name, as `fit` does, where rows or nodes have names.
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

    def _decisions_without(self, apart: Any, X: Matrix, labels: Labels, graph: Any) -> FloatArray:
        """Return the decisions of all samples by fewer labels; `apart` is a classifier like this one, not fitted."""
        scores: FloatArray = apart._fit(X, labels, graph)[0]
        return scores

    @property
    def calibration_(self) -> float:
        """The scale T of `predict_proba`; the first look at it may take five fits."""
        check_is_fitted(self)
        return self._calibration.scale_of(self)

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probabilities of the classes at new samples.

        softmax(T f) of `decision_function`, with two classes 1 / (1 + exp(-T f)). T is calibrated on decisions at
        labelled samples that were left out (`specmargin.objectives.held_out.calibration`), never on those that were
        learned from: by exact leave-one-out where that follows from the fit (least squares; LapSVM with a loss that is
        piecewise quadratic), else by five folds of the labels, whose fits are paid for by the first call. The most
        probable class is the one that `predict` names. With few labels probabilities stay near equal shares.

        A soft vote is the mean of several classifiers' probabilities. `sklearn.ensemble.VotingClassifier` numbers
        classes and marker in their order: take a marker that sorts behind the K classes, and ``unlabeled=K`` for the
        members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            The same as for `decision_function`.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Rows sum to one, in the order of ``classes_``.
        """
        check_is_fitted(self)
        scores: FloatArray = self.decision_function(X)
        p = class_probabilities(self.calibration_ * (scores[:, None] if scores.ndim == 1 else scores))
        # Decisions may differ by less than probabilities can: the largest is that of the class that is predicted.
        own = codes_of(scores, self._rounding)
        for i in np.flatnonzero(p.argmax(axis=1) != own):
            p[i, own[i]] = np.nextafter(p[i].max(), 2.0)
        return p

    def _calibrate(self, X: Matrix, labels: Labels, graph: Any) -> None:
        """Keep what the scale of the probabilities follows from; where a few folds are cheap, compute it."""
        known, self._held_out = self._held_out, None
        self._calibration = Calibration(labels, known, None if known is not None else (clone(self), X, graph))
        if known is not None and labels.n_labeled > MOST:
            self.calibration_  # noqa: B018 - a few folds next to such a fit, and no matrix is kept for later

    @property
    def proved_(self) -> BoolArray:
        """Whether each prediction of a training sample is proved to be that of the optimum (`proved_decisions`)."""
        try:
            return self.proved_decisions().proved
        except InvalidInputError as error:
            raise AttributeError(f"there is no proved_: {error}") from error

    @available_if(_proves)
    def proved_decisions(self, X: Matrix | None = None) -> ProvedDecisions:
        """Return which predictions are proved to be those of the optimum.

        A gap proves how good the objective is. The norm is strongly convex, so that it also proves how far the
        decisions can be from those of the optimum (`specmargin.objectives.proved_decisions`), rounding included. What
        is proved is the class at the thresholds of `balance_`, which are held: it is what every optimum of the problem
        that was solved would be given by the same map. It takes a factorisation, and is computed when it is asked for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples; by default the training samples.

        Returns
        -------
        ProvedDecisions
            ``proved``, ``share``, and the ends of the intervals of scores, ``low`` and ``high``.

        Raises
        ------
        ValueError
            Where nothing can be proved: `model` changes the problem, or ``kernel="precomputed"`` leaves no samples to
            compute it from.

        Examples
        --------
        >>> import specmargin as sm
        >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
        >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
        >>> print(sm.LapSVM().fit(X, y).proved_decisions())
        120 of 120 predictions (100.0 %) are proved to be those of the optimum
        """
        return proved_decisions(self, X)

    @available_if(lambda self: hasattr(self, "_problem"))
    def build_problem(self, X: Matrix, y: Any, graph: Any = None, sample_weight: npt.ArrayLike | None = None) -> Any:
        """Return the CVXPY problem that `fit` solves for these data: fresh, unsolved, and apart from this estimator.

        Parameters
        ----------
        X, y, graph, sample_weight
            The same as for `fit`; two classes, or more where one problem holds all classes (`SpectralRidge`).

        Returns
        -------
        specmargin.problems.BuiltProblem
            Its objective is the one whose certificate `fit` reports; `specmargin.solve` takes it.

        Raises
        ------
        ValueError
            As `fit`, and for more than two classes that are as many problems.
        """
        apart: Any = clone(self)  # of this very class, whose private methods serve both
        X, _, labels, graph, _ = apart._read(X, y, graph, sample_weight)
        if not (labels.is_binary or self._joint):
            raise InvalidInputError(
                f"{len(labels.classes)} classes make as many problems; build them one against the rest."
            )
        with numerical_failures(self):
            return apart._problem(X, labels, graph)

    def _decision(self, X: Matrix) -> FloatArray:
        raise NotImplementedError

    def _on_graph(self, X: Any, graph: Any) -> FloatArray:
        """Return scores at new nodes: the harmonic extension of those of fit."""
        return self._or_intercept(harmonic(self.scores_, self._larger(X, graph)))

    def _larger(self, X: Any, graph: Any) -> SparseArray:
        """Return the adjacency of a graph with the nodes of fit first, and then new ones."""
        check_is_fitted(self)
        n = len(self.transduction_)
        if not self._needs_graph():
            raise InvalidInputError(f"{type(self).__name__} learned from no graph; leave graph out.")
        m = None if X is None else n_rows(X)
        W = check_adjacency(with_new_nodes(graph, getattr(self, "nodes_", range(n)), row_names(X), m))
        if W.shape[0] < n or (m is not None and W.shape[0] != n + m):
            new = "the new ones" if m is None else f"the {m} rows of X"
            raise InvalidInputError(
                f"the graph has {W.shape[0]} nodes, which are not the {n} of fit and then {new}; pass the graph of fit "
                "with the new nodes added."
            )
        return W

    def _or_intercept(self, scores: FloatArray) -> FloatArray:
        """Return scores at new nodes, those that are nan replaced by what an intercept alone decides; warn of these."""
        apart = np.isnan(scores if scores.ndim == 1 else scores[:, 0])
        if apart.any():
            b = np.asarray(getattr(self, "intercept_", np.zeros(1)))
            scores[apart] = self.balance_(b[0] if scores.ndim == 1 else b)
            warn(
                f"{np.count_nonzero(apart)} new nodes are joined to no old one: the intercept decides about them.",
                DisconnectedGraphWarning,
            )
        return self._finite(scores)


def warn_of_classes(estimator: Any, labels: Labels, predicted: IntArray) -> None:
    """Warn where a fitted classifier cannot decide, predicts one class only, or shares that the labels speak against.

    `predicted` are the positions of the classes of all samples.
    """
    scores, rounding = estimator.scores_[labels.unlabeled], getattr(estimator, "_rounding", 0.0)
    if scores.ndim == 1:
        undecided = np.abs(scores) <= rounding
    else:
        first, second = -np.partition(-scores, 1, axis=1)[:, :2].T
        undecided = first - second <= rounding
    if undecided.any():
        _warn_of_undecided(estimator, labels, predicted, undecided)
    hidden = predicted[labels.unlabeled]
    alike = any(len(some) and bool((some == some[0]).all()) for some in (predicted, hidden))
    if not (alike and _warned_of_one_class(estimator, labels, predicted)) and len(hidden):
        _warn_of_shares(estimator, labels, predicted)


def _warn_of_undecided(estimator: Any, labels: Labels, predicted: AnyArray, undecided: AnyArray) -> None:
    """Warn where nothing but rounding would tell unlabelled samples' classes apart."""
    names = ", ".join(_name(labels, int(k)) for k in np.unique(predicted[labels.unlabeled][undecided]))
    warn(
        f"{type(estimator).__name__}: {np.count_nonzero(undecided)} of the {len(undecided)} unlabelled samples are "
        f"undecided: their decisions are {'zero' if labels.is_binary else 'equal'} but for rounding. They are given "
        f"the first of the classes that are equal ({names}). Label some of them, or add what tells them apart.",
        UndecidedWarning,
    )


def _warned_of_one_class(estimator: Any, labels: Labels, predicted: AnyArray) -> bool:
    """Warn where all training samples are predicted alike, or all unlabelled ones against all likelihood."""
    hidden = predicted[labels.unlabeled]
    everything = bool((predicted == predicted[0]).all())
    if not everything:
        own = labels.counts[hidden[0]] + 2.0
        if (
            betabinom.pmf(len(hidden), len(hidden), own, labels.n_labeled + 2.0 * len(labels.classes) - own)
            > _BY_CHANCE
        ):
            return False
    n, kind = (len(predicted), "training") if everything else (len(hidden), "unlabelled")
    name = _name(labels, int(predicted[0] if everything else hidden[0]))
    warn(
        f"{type(estimator).__name__}: all {n} {kind} samples are predicted to be of the class {name}, though "
        f"{len(labels.classes)} classes are labelled: the features, the graph or the parameters do not tell them apart."
        f" Check these, or label more samples{_other_cut(estimator)}.",
        SingleClassWarning,
    )
    return True


def _warn_of_shares(estimator: Any, labels: Labels, predicted: AnyArray) -> None:
    """Warn where the share of a class, as decided without a balance or with it, is no credible one."""
    if isinstance(getattr(estimator, "class_balance", None), Mapping):
        return  # who gives the shares knows better than the labels
    low, high = credible_shares(labels.counts)
    scores, told = estimator.scores_, [kept.spectrum for kept in getattr(estimator, "_spectra", ())]
    if told:  # samples that no label reaches say nothing of the shares
        scores, predicted = reached(told, scores), reached(told, predicted)
    shares = np.bincount(predicted, minlength=len(labels.classes)) / len(predicted)
    # With two classes this rule is always in force.
    cut = labels.is_binary and hasattr(estimator, "balance_") and getattr(estimator, "class_balance", None) == _CUT
    moved = cut and getattr(estimator, "refine", None) is None  # refined scores are no decisions
    before = shares
    if moved:
        positive = float(np.mean(scores - estimator.balance_.offset > 0))
        before = np.array([1.0 - positive, positive])
    for each in (shares, before):
        outside_of = np.maximum(low - each, each - high)
        k = int(outside_of.argmax())
        if outside_of[k] > 0:
            break
    else:
        return
    verb, also = "are", ""
    if each is not shares:
        verb, also = (
            "would be",
            f"; class_balance={estimator.class_balance!r} moved the threshold, and {shares[k]:.0%} are",
        )
    reason = (
        "the graph or the parameters may mislead, or few labels be far from the shares by chance: label more nodes"
        if getattr(estimator, "_alone", False)
        else "features, graph or parameters may mislead, or few labels be far from the shares by chance: compare with "
        "a supervised classifier, or label more samples"
    )
    warn(
        f"{type(estimator).__name__}: {each[k]:.0%} of the {len(predicted)} training samples {verb} predicted to be of "
        f"the class {_name(labels, k)}, but by the labels ({labels.counts[k]} of {labels.n_labeled}) "
        f"{low[k]:.0%} to {high[k]:.0%} are credible{also}. If labels were drawn at random, {reason}"
        f"{_other_cut(estimator)}. If they were drawn class by class, they say nothing of the shares.",
        ClassShareWarning,
    )


def _other_cut(estimator: Any) -> str:
    """Say which parameter of the classifier moves the shares, if any."""
    if hasattr(estimator, "balance"):
        return ", or give balance= where the shares are known"
    if getattr(estimator, "class_balance", None) == _CUT and not hasattr(estimator, "balance_"):
        return ", or give class_balance= where the shares are known"
    known = getattr(estimator, "class_balance", _CUT) != _CUT and len(estimator.classes_) == 2
    return ", or take class_balance='shrunk'" if known else ""


def _name(labels: Labels, k: int) -> str:
    return repr(labels.classes[k : k + 1].tolist()[0])
