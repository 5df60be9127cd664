"""One estimator for data of one's own: `AutoSSL`, a mixture of semi-supervised and supervised candidates.

The mathematics is in `specmargin.tables.candidates`: the bank of kernels, decisions at left-out labels, the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from specmargin.checks import Rule, instance, maybe
from specmargin.estimators._base.calibrated import Calibration
from specmargin.estimators._base.classifier import SemiSupervisedClassifier
from specmargin.estimators._base.parameters import or_shares
from specmargin.estimators.comparison import compare_errors, error_estimate
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import check_adjacency
from specmargin.graphs.neighbors import METRIC
from specmargin.graphs.parts import whole_seed
from specmargin.labels import Labels
from specmargin.labels.encoding import as_they_appear
from specmargin.labels.shares import known_shares
from specmargin.objectives.held_out.calibration import calibrated_scale, log_probabilities
from specmargin.objectives.held_out.leave_one_out import counted, one_left_out
from specmargin.results import SolveResult
from specmargin.tables.candidates import (
    CONSTANTS,
    FAMILIES,
    SUPERVISED,
    Constants,
    Mixture,
    SelectionReport,
    build_bank,
    graph_bank,
    train_candidates,
)
from specmargin.tables.candidates.constants import check_families
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray, Matrix, SparseArray

__all__ = ["AutoSSL", "FittedMixture"]

_LEADING = 5
_LEAST = 1e-300  # probability of which a logarithm is taken
_ROUNDING = 1e-9  # log-odds nearer to 0 say nothing


@dataclass(frozen=True, eq=False, repr=False)
class FittedMixture:
    """A mixture with the classes that it predicts: what `AutoSSL.baseline_` is.

    Parameters
    ----------
    classes_ : ndarray of shape (n_classes,)
    mixture : specmargin.tables.candidates.Mixture
    held_out_ : ndarray of shape (l, n_classes)
        Probabilities of the labelled samples in the mixture, each computed without its label, weights and threshold
        included.
    calibration_ : float
        The scale T of the mixture's log-probabilities: those here are softmax(T log p).
    """

    classes_: AnyArray
    mixture: Mixture
    held_out_: FloatArray
    calibration_: float

    @classmethod
    def of(cls, mixture: Mixture, labels: Labels) -> FittedMixture:
        """Return the mixture with the scale that is calibrated on its decisions at left-out labels.

        A mean of probabilities is less sure than it is right where good candidates are averaged with poor ones, as they
        are while labels are few.
        """
        held = mixture.held_out_proba()
        # Where the only label of a class is left out, nothing could name the class.
        kept = counted(labels.sign, one_left_out(labels.n_labeled))
        log_p = np.log(np.maximum(held, _LEAST))
        # The weights of candidates are not as free of a label as refits are: whole pseudo-samples.
        odds = _log_odds(log_p)[kept]
        scale = calibrated_scale(np.where(np.abs(odds) > _ROUNDING, odds, 0.0), labels.sign[kept], pseudo=1.0)
        return cls(labels.classes, mixture, held, scale)

    @property
    def transduction_(self) -> AnyArray:
        """Predicted classes of the training samples, (n,)."""
        return np.asarray(self.classes_[self.mixture.log_probabilities.argmax(axis=1)])

    @property
    def probabilities_(self) -> FloatArray:
        """Probabilities of the training samples, (n, n_classes)."""
        return np.exp(self.scaled(self.mixture.log_probabilities))

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probabilities (m, n_classes) of new samples."""
        return np.exp(self.log_proba(X))

    def log_proba(self, X: Matrix) -> FloatArray:
        """Return the logarithms of those."""
        return self.scaled(self.mixture.log_proba(X))

    def scaled(self, log_p: FloatArray) -> FloatArray:
        """Return the calibrated log-probabilities (m, n_classes) of those of the mixture."""
        return log_probabilities(self.calibration_ * log_p)

    def predict(self, X: Matrix) -> AnyArray:
        """Return the classes (m,) of new samples."""
        return np.asarray(self.classes_[self.mixture.log_proba(X).argmax(axis=1)])

    def __repr__(self) -> str:
        weights = ", ".join(f"{family} {weight:.2f}" for family, weight in self.mixture.family_weights().items())
        return f"FittedMixture({weights})"


@dataclass(kw_only=True, eq=False, repr=False)
class AutoSSL(SemiSupervisedClassifier):
    r"""Mixture of semi-supervised and supervised classifiers, weighted by the labelled samples alone.

    Some 150 candidates share some 15 decompositions that ignore the labels: kernels of graph eigenvectors, of few
    principal components, ambient kernels deformed by a graph (LapRLS), S3VMs (two classes), and the supervised ridge
    and SVM. Each is judged by its decisions about left-out labels (exact leave-one-out for the ridge, folds for the
    others), and its probabilities count with :math:`w_j \propto \text{prior}_j \exp(-\sum_i \ell_{ij} / c)`. With two
    classes the prior favours the supervised candidates where their predictions lie between those of the others. While
    labels are few the threshold is that of the labels' shares. `report_` says whether the unlabelled samples helped;
    `baseline_` is the same mixture of the supervised candidates alone. There is nothing to tune.

    Parameters
    ----------
    families : sequence of str, default ("graph", "pca", "lap", "s3vm", "sup", "svm")
        Families of candidates; "s3vm" is for two classes.
    metric : str, default "euclidean"
        Metric of the neighbours; "cosine" for text.
    class_balance : {"shrunk"} or dict, default "shrunk"
        How the scores of the classes are made comparable. "shrunk": for two classes, cut where scores are sparse and
        the share above fits that of the labels; with more by the mean and deviation of each score, unless the label
        counts reject classes of equal size (chi-square test, 5 % level).
        A dict from each class to its share of all samples, or an interval (low, high) of it, where that is known: with
        two classes the predictions of the training samples have this share, with more the mean probabilities, before
        `calibration_`. Of an interval it is the share nearest to that of "shrunk".
    constants : specmargin.tables.candidates.Constants, optional
        Widths, neighbours, penalties and prior weights instead of the usual ones.
    random_state : int, Generator or None, default 0
        Seed of landmarks, of folds, and of the search for eigenvectors.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included. Where decisions are equal but for rounding
        (with two classes: zero), it is the first of these classes, and a warning counts such samples.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Log-odds of ``classes_[1]`` with two classes, else log-probabilities; of the training samples.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    baseline_ : FittedMixture
        The mixture of the supervised candidates, with ``predict``, ``predict_proba`` and ``transduction_``.
    report_ : specmargin.tables.candidates.SelectionReport
        What was tried and chosen, the expected error, and the difference to the baseline.
    probabilities_ : ndarray of shape (n, n_classes)
        Probabilities of the training samples.
    held_out_ : ndarray of shape (l, n_classes)
        Probabilities of the labelled samples in the mixture, each computed without its label: what `report_` counts.
    calibration_ : float
        The scale T of the mixture's log-probabilities, calibrated on `held_out_`
        (`specmargin.objectives.held_out.calibration`); it changes no prediction.

    Notes
    -----
    There is no program to be solved, and no certificate: what is exact are the decisions at left-out labels.

    **No weights.** It takes neither `sample_weight` nor `class_weight`: labels count as labels in the shrunken means
    and pseudo-labels that hold the intercepts, in the threshold and in the expected error, and there is no one meaning
    that weights would have in all of these. The candidates take them one by one: `LabelSearch`, `SpectralRidge`, `RMM`.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006 (LapRLS). Chapelle, Weston & Schölkopf, Cluster
    kernels for semi-supervised learning, NIPS 2002. Catoni, PAC-Bayesian supervised classification, 2007 (exponential
    weights).

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=6, random_state=0)
    >>> clf = sm.AutoSSL().fit(X, y)
    >>> bool((clf.transduction_ == y_true).mean() > 0.9), clf.predict_proba(X[:2]).shape
    (True, (2, 2))
    >>> clf.report_.n_labeled, clf.report_.estimate.wrong <= 2
    (12, True)
    """

    families: Sequence[str] = FAMILIES
    metric: str = "euclidean"
    class_balance: Any = "shrunk"
    constants: Constants | None = None
    random_state: Any = 0
    unlabeled: Any = -1

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "families": check_families,
        "class_balance": or_shares("shrunk"),
        "metric": METRIC,
        "constants": maybe(
            instance(Constants, "pass dataclasses.replace(specmargin.tables.candidates.CONSTANTS, ...)")
        ),
    }

    def fit(self, X: Matrix, y: Any = None, graph: Any = None) -> Self:  # type: ignore[override]  # it takes no weights
        """Learn from labelled and unlabelled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features) or None
            Features; None where a graph alone is learned from. Candidates are then filters of its spectrum and label
            spreading, all with exact leave-one-out, and `baseline_` is this very mixture: nothing is supervised.
        y : array-like of shape (n,), or mapping by node
            Labels; unlabelled samples hold the marker `unlabeled`, or are left out of a mapping.
        graph : {ndarray, sparse matrix} of shape (n, n), networkx.Graph or table of edges, optional
            Symmetric, nonnegative adjacency in the order of the rows (nodes), instead of nearest neighbours. A
            table is a frame with the columns source, target and, with weights, weight. Nodes with names are matched
            with a frame X, or a mapping or series y, that has them as its index; else 0 to n - 1 are the rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinite features, fewer than two classes among the labels, an asymmetric or negative graph, or
            parameters out of range.
        """
        return super().fit(X, y, graph)

    def _learn(self, X: Matrix, y: Any, labels: Any, graph: Any, sample_weight: Any) -> None:
        constants = CONSTANTS if self.constants is None else self.constants
        # Hundreds of small decompositions: threads that share one of them wait longer than they work.
        with nullcontext() if X.shape[0] > constants.large else threadpool_limits(1):
            super()._learn(X, y, labels, graph, sample_weight)

    def _calibrate(self, X: Matrix, labels: Labels, graph: Any) -> None:
        self._calibration = Calibration(labels, scale=self._fitted.calibration_)

    _takes_graph_alone: ClassVar[bool] = True

    def _graph(self, X: Matrix, graph: Any) -> SparseArray | None:
        return None if graph is None else check_adjacency(graph, X.shape[0])

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        constants = CONSTANTS if self.constants is None else self.constants
        seed = whole_seed(self.random_state)
        families = check_families("families", self.families)
        both = tuple(dict.fromkeys([*families, *SUPERVISED]))
        codes, n_classes = labels.sign_codes, len(labels.classes)
        given = isinstance(self.class_balance, Mapping)
        known = known_shares("class_balance", self.class_balance, labels.classes) if given else None
        if families == ("s3vm",) and n_classes > 2:
            raise InvalidInputError(
                f"families={families!r} is for two classes, and y has {n_classes}; add another family, such as 'graph'."
            )
        if self._alone and "graph" not in families:
            raise InvalidInputError(
                f"families={self.families!r} need features, and X=None has none; add 'graph', or pass features."
            )
        if self._alone:
            constants = replace(constants, penalties=constants.graph_penalties)
            bank = graph_bank(graph, constants=constants, random_state=seed)
            families = both = ("graph",)
        else:
            bank = build_bank(X, families=both, constants=constants, graph=graph, metric=self.metric, random_state=seed)
        options: dict[str, Any] = {"constants": constants, "random_state": seed, "dealt": as_they_appear(codes)}
        trained = train_candidates(bank, labels.labeled, codes, n_classes, families=both, **options)

        def mixture(wanted: Sequence[str]) -> Mixture:
            # Samples that are all alike have neither neighbours nor components.
            groups = [group for group in trained if group.family in wanted] or trained
            return Mixture(groups, codes, n_classes, constants=constants, known_shares=known, random_state=seed)

        chosen, baseline = mixture(families), mixture(SUPERVISED)
        self._fitted, self.baseline_ = FittedMixture.of(chosen, labels), FittedMixture.of(baseline, labels)
        self.held_out_, self.probabilities_ = self._fitted.held_out_, self._fitted.probabilities_
        self.report_ = _report(self._fitted, self.baseline_, labels, sum(len(group.names) for group in bank))
        for one in (chosen, baseline):
            one.forget()
        for group in trained:
            group.map.forget()
        return _log_odds(self._fitted.scaled(chosen.log_probabilities)), []

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probabilities of the classes at new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            Features.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Calibrated on left-out labels; the largest is the class that `predict` returns.
        """
        check_is_fitted(self)
        self._require_rows()
        return self._at_new(X, self._fitted.predict_proba)

    def _require_rows(self) -> None:
        if self._alone:
            raise InvalidInputError(
                "AutoSSL learned from a graph alone, which says nothing of features: predict(None, graph=...) takes "
                "the graph with new nodes after those of fit; transduction_ and probabilities_ are of the nodes of fit."
            )

    def _decision(self, X: Matrix) -> FloatArray:
        self._require_rows()
        return _log_odds(self._fitted.log_proba(X))


def _log_odds(log_p: FloatArray) -> FloatArray:
    """Return the log-odds (m,) of the second of two classes; of more the log-probabilities as they are."""
    return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p


def _report(fitted: FittedMixture, supervised: FittedMixture, labels: Labels, n_kernels: int) -> SelectionReport:
    codes, chosen, baseline = labels.sign_codes, fitted.mixture, supervised.mixture
    wrong, wrong_baseline = (one.held_out_.argmax(axis=1) != codes for one in (fitted, supervised))
    differs = chosen.log_probabilities.argmax(axis=1) != baseline.log_probabilities.argmax(axis=1)
    order = np.argsort(-chosen.weights, kind="stable")[:_LEADING]
    return SelectionReport(
        n_samples=labels.n_samples,
        label_counts=dict(zip(labels.classes.tolist(), chosen.counts.astype(int).tolist(), strict=True)),
        n_kernels=n_kernels,
        n_candidates=len(chosen.weights),
        families=chosen.family_weights(),
        leading=tuple((str(chosen.families[j]), str(chosen.names[j]), float(chosen.weights[j])) for j in order),
        estimate=error_estimate(wrong),
        baseline_estimate=error_estimate(wrong_baseline),
        balanced_error=_balanced(wrong, codes),
        baseline_balanced_error=_balanced(wrong_baseline, codes),
        comparison=compare_errors(wrong, wrong_baseline, float(differs.mean())),
    )


def _balanced(wrong: BoolArray, codes: IntArray) -> float:
    return float(np.mean([wrong[codes == code].mean() for code in np.unique(codes)]))
