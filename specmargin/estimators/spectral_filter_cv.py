"""Learned spectra over node features whose rule and filters the labels choose: `SpectralFilterCV`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from specmargin.estimators._base.class_balance import Balance
from specmargin.estimators._base.filter_model import decisions_at_nodes, filtered, smooth_first
from specmargin.estimators._base.label_search import LabelSearch, Settings, Space
from specmargin.estimators._base.parameters import part_of
from specmargin.estimators._base.semi_supervised import columns
from specmargin.estimators.spectral_filter import TOL, SpectralFilterClassifier
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.graphs.parts import built
from specmargin.labels import Labels
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.solvers.spectrum.block_weights import (
    BlockRidge,
    labeled_grams,
    learn_weights,
    ridge_on_blocks,
)
from specmargin.spectra import FilterBank
from specmargin.typing import AnyArray, FloatArray, IntArray, Matrix, SparseArray

__all__ = ["SpectralFilterCV"]

_LOGGER = logging.getLogger(__name__)


class SpectralFilterCV(LabelSearch):
    """`SpectralFilterClassifier` whose rule, filters and self-loops are chosen by the labelled nodes alone.

    Left-out labels are decided about by weights that have not seen them: every fold learns them anew, and chooses C and
    penalty by leave-one-out among its own labels. The blocks of features know no label, and are filtered once.

    Parameters
    ----------
    estimator : SpectralFilterClassifier, optional
        Estimator whose parameters are chosen; it has all others, such as the marker of unlabelled samples and the
        solver of the refit. By default ``SpectralFilterClassifier()``.
    grid : dict, optional
        What is tried: a dict from learn, filters and self_loops to lists, a full product. By default {"learn":
        ["alignment", "margin", "ordered", "single"], "filters": ["resolvents", "powers"], "self_loops": [1.0]}, but
        for what the estimator sets itself. Of settings that are equally good, and where the labels cannot choose,
        the first is taken.
    criterion : {"nll", "sq", "01"}, default "nll"
        What is asked of the decisions at left-out samples: "nll", log-loss of the probabilities that
        `predict_proba` would make of them; "sq", mean squared residual of f before balancing; "01", errors, ties
        broken by nll.
    cv : "auto", "loo", int or splitter, default "auto"
        "auto": leave one labelled sample out up to 10 labels, beyond that 10 folds. "loo": leave one out, whatever
        it takes. A number of folds (those of `LabeledKFold`, in the order of the samples), or any splitter, which
        is shown the labelled samples only. Left-out samples stay as unlabelled ones.

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
    filter_weights_ : ndarray of shape (m,), or (n_outputs, m) where they are not joint
        delta, of sum one, in the order of ``bank_.filters.parameters``.
    bank_ : FilterBank
        The filters, their power and what they were applied to, without the blocks: a learned filter's frequency
        response is ``bank_.response(filter_weights_, lam)``.
    coef_ : ndarray of shape (m, n_features) or (m, n_features, n_outputs)
        Weights of the filtered features, delta_b F_b[labelled]' gamma.
    penalty_ : float or ndarray of shape (n_outputs,)
        Value in use.
    balance_ : object
        Map from f to the scores that `decision_function` returns; the numbers are those of the training samples.
    best_params_ : dict
        Keyword arguments that make `estimator_` again: what was chosen, and all that its defaults do not imply.
    best_score_ : float
        The criterion with its sign changed, so that larger is better. **No estimate of accuracy**: see the notes.
    best_index_ : int
        Its position in `cv_results_`.
    cv_results_ : dict of ndarray
        ``params``, ``param_*``, ``supervised`` (whether no graph takes part), ``mean_test_score``,
        ``rank_test_score``, and every criterion under its name.
    estimator_ : estimator
        Fitted with `best_params_` to all samples; the other attributes are copied from it.
    baseline_ : RMM
        The supervised twin: an SVM on the features of the labelled samples, fitted. Kernel (linear, or RBF with half
        the median distance for sigma, with it, and with twice it) and C (per unit mean diagonal of the centred kernel)
        are chosen by the same folds and criterion.
    baseline_score_ : float
        Its criterion with the sign changed, as `best_score_`.
    comparison_ : specmargin.estimators.comparison.Comparison
        The search against its twin, by their errors at left-out labels, each label judged by the settings that the
        other labels choose: exact McNemar test, and a ``verdict`` in words.
    C_ : float or ndarray of shape (n_classes,)
        Value in use; nan where no margin was solved.
    leave_one_out_ : ndarray of shape (l,) or (l, n_classes)
        The values of `SpectralFilterClassifier`: by weights that saw the label, other than what chooses here.

    Notes
    -----
    **Is it worth it?** The twin knows the labelled samples alone. `comparison_` counts at which left-out labels each of
    the two errs; its verdict is "too few labels to judge" below ten.

    The labelled samples alone choose. The minimum of a criterion over many settings is smaller than the criterion of a
    setting named in advance: `best_score_` is no estimate of the error. Keep labels aside for that.

    A sample that is the only labelled one of its class, or whose fold leaves one class to train on, does not count: no
    setting could name its class. If none counts, as with one label per class, the labels cannot choose, and a warning
    says what is taken. Classes are balanced while choosing and after it.

    **Weights** of samples and classes are those of the losses, of the fits and of what chooses: criteria are means by
    them, and the supervised candidates have them, too. ``comparison_`` counts labels, whatever they weigh. To make the
    fit again, pass `sample_weight` again; `best_params_` has the `class_weight`.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import networkx as nx, specmargin as sm
    >>> graph = nx.karate_club_graph()
    >>> y_true = np.array([graph.nodes[i]["club"] == "Officer" for i in graph]).astype(int)
    >>> y = sm.hide_labels(y_true, per_class=6, random_state=0)
    >>> clf = SpectralFilterCV(grid={"learn": ["alignment", "single"]}).fit(np.eye(34), y, graph=graph)
    >>> sorted(clf.best_params_), bool((clf.transduction_ == y_true).mean() > 0.9)
    (['filters', 'learn', 'self_loops'], True)
    """

    _candidates: ClassVar[Mapping[str, Sequence[Any]]] = {
        "learn": ("alignment", "margin", "ordered", "single"),
        "filters": ("resolvents", "powers"),
        "self_loops": (1.0,),
    }
    _searched: ClassVar[tuple[str, ...]] = ("learn", "filters", "self_loops")
    _Cs = (1.0, 10.0, 0.1, 100.0)

    @classmethod
    def _usual(cls) -> SpectralFilterClassifier:
        return SpectralFilterClassifier()

    def _graph(self, X: Matrix, graph: Any) -> SparseArray:
        return built(part_of("graph", self._template.graph), X)[0] if graph is None else super()._graph(X, graph)

    def _settings(
        self, space: Space, X: Matrix, labels: Labels, graph: SparseArray, folds: list[loo.Fold]
    ) -> Iterator[Settings]:
        learns = space.values("learn")
        for filters, loops in product(space.values("filters"), space.values("self_loops")):
            bank = filtered(X, graph, filters, float(loops), self._template.normalization)
            tried = [{"learn": learn, "filters": filters, "self_loops": float(loops)} for learn in learns]
            yield Settings(tried, *self._left_out_decisions(bank, labels, folds, learns))

    def _left_out_decisions(
        self, bank: FilterBank, labels: Labels, folds: list[loo.Fold], learns: Sequence[str]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the decisions at the tested nodes, fold by fold, and what classes are compared by, per rule."""
        rows = tuple(_reduced(F[labels.labeled]) for F in bank.blocks)
        grams, first = labeled_grams(rows, np.arange(labels.n_labeled)), smooth_first(bank)
        raw, compared = [], []
        for fold in folds:
            loo.check_fold(fold.left_out, labels.n_labeled)
            train = np.setdiff1d(np.arange(labels.n_labeled), fold.left_out)
            known, own = labels.at(train), grams[:, train][:, :, train]
            taken = [R[train] for R in rows]
            each = [list(self._fold(learn, taken, own, known, first)) for learn in learns]
            tested = grams[:, fold.test][:, :, train]
            raw.append(np.stack([columns([_at(tested, fit) for fit in fits]) for fits in each]))
            if self._template.class_balance is None:
                compared.append(raw[-1])
                continue
            compared.append(np.stack([self._balanced(*one, bank, known) for one in zip(raw[-1], each, strict=True)]))
        return np.concatenate(raw, axis=1), np.concatenate(compared, axis=1)

    def _fold(
        self, learn: str, rows: Sequence[FloatArray], grams: FloatArray, labels: Labels, first: IntArray
    ) -> Iterator[BlockRidge]:
        """Yield what the labelled nodes of a fold learn, one problem after the other; their rows are of them alone."""
        l = labels.n_labeled
        alone = Labels(labels.sign, np.arange(l), labels.classes, l, labels.weights)
        own = self._template
        options: dict[str, Any] = {"loss": own.loss, "costs": own._costs(), "smooth_first": first, "tol": TOL}
        options["penalties"] = penalties = own._penalties()
        for part in [alone] if own.joint else alone.one_vs_rest():
            nothing = BlockRidge(np.zeros(len(rows)), 1.0, np.zeros(part.sign.shape), part.sign[0], part.sign, np.nan)
            if part.is_binary and (part.sign == part.sign[0]).all():
                yield nothing
                continue
            try:
                delta = learn_weights(rows, part, learn, **options).delta
                yield ridge_on_blocks(delta, grams, part, penalties)
            except (InvalidInputError, SolverError) as error:
                _LOGGER.info("%s with %d labels: %s", learn, l, error)
                yield replace(nothing, b=part.sign[0] * np.nan)

    def _balanced(self, f: FloatArray, fits: list[BlockRidge], bank: FilterBank, labels: Labels) -> FloatArray:
        if not np.isfinite(f).all():
            return f
        everywhere = columns([decisions_at_nodes(bank, fit, labels.labeled) for fit in fits])
        return Balance.of(everywhere, labels, self._template.class_balance)(f)


def _at(grams: FloatArray, fitted: BlockRidge) -> FloatArray:
    """Return f where rows of kernels are given, (m, t, l)."""
    return np.tensordot(fitted.delta, grams, 1) @ fitted.gamma + fitted.b


def _reduced(rows: AnyArray) -> FloatArray:
    """Return rows of as few columns that have the same products."""
    R = np.asarray(rows, dtype=np.float64)
    return R if R.shape[1] <= len(R) else np.ascontiguousarray(np.asarray(np.linalg.qr(R.T, mode="r")).T)
