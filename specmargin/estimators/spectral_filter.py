"""Learned spectra over the features of a graph's nodes as a classifier: `SpectralFilterClassifier`.

A family of filters is applied to the features, one weight per filter is learned from the labels by a convex problem,
and ridge regression on the kernel that they make classifies. The weights are the graph's frequency response: low-pass
where neighbours are alike, high-pass where they are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sla

from specmargin.checks import Rule, choice, number
from specmargin.estimators._base.classifier import SemiSupervisedClassifier
from specmargin.estimators._base.filter_model import FilterModel
from specmargin.estimators._base.label_robustness import Smoother
from specmargin.estimators._base.linear_decisions import LinearDecisions
from specmargin.estimators._base.manifold import NO_NODES
from specmargin.estimators._base.parameters import or_word
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import KNN
from specmargin.labels import Labels
from specmargin.labels.shares import Balance
from specmargin.objectives.held_out.conformal import ConformalRidge
from specmargin.objectives.held_out.label_flips import smoother
from specmargin.results import SolveResult
from specmargin.solvers.spectrum.block_weights import COSTS, RULES, learn_weights, ridge_on_blocks
from specmargin.spectra import filter_bank
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["SpectralFilterClassifier"]

_BY_MARGIN = ("margin", "ordered")
TOL = 1e-6
"""Relative gap to which weights have to be certified, by a search, too."""


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralFilterClassifier(LinearDecisions, FilterModel, SemiSupervisedClassifier):
    """Filters of node features, their weights learned from the labels, and ridge regression on the kernel they make.

    With S the normalised adjacency with self-loops and X the features, blocks F_b = h_b(S) X are normalised without a
    label; K(delta) = sum_b delta_b F_b F_b' is learned, and f = K(delta) gamma + b fitted by least squares, for all
    classes with one delta: "a filter of the data set". `fit` takes the graph as ``graph=``; without one it is that of
    the nearest neighbours of the features.

    Parameters
    ----------
    learn : {"alignment", "margin", "ordered", "single", "mean"}, default "alignment"
        How weights are found: by centred alignment with the labels; by eq. 7 of the spectrum paper with blocks in
        place of eigenvectors, free or not rising from the smoothest filter to the roughest; one filter by
        leave-one-out; all alike. Where several choices are equally good, as all alignments are with one label of each
        of two classes, the smoothest filters are taken. The certificate has to prove a relative gap of 1e-6.
    filters : {"resolvents", "powers", "bernstein", "bands"} or a family of `specmargin.spectra`, default "resolvents"
        Filters h_b. A resolvent keeps a part of each node's own features. Where these are mostly noise and the graph is
        large, all weight goes to the smoothest one, ``filter_weights_[-1]``, and that is too rough: powers, which
        average over more neighbours, err less. `LabelSearch` tries both.
    loss : {"squared", "squared_hinge", "hinge"}, default "squared"
        Loss of the margin, where one is solved.
    C : float or "loo", default "loo"
        Weight of the margin's loss per unit mean kernel diagonal; "loo" chooses by leave-one-out on the labelled
        nodes.
    penalty : float or "loo", default "loo"
        Penalty of the ridge regression, per unit mean kernel diagonal; "loo" chooses by leave-one-out on the
        labelled nodes.
    self_loops : float, default 1.0
        Weight of the loop at every node, in units of the median weight of an edge.
    normalization : {"unit", "centered"}, default "unit"
        "unit": rows of features and of blocks have length one, so that their direction counts, as for words; blocks
        are centred after that. "centered": blocks are centred as they are, so that sizes of features count; scale
        them.
    joint : bool, default True
        Whether all classes (outputs) share one delta, "a filter of the data set"; else each has its own, and its
        own penalty.
    graph : KNN, int or callable, default KNN()
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes in the losses of the labelled samples, times `sample_weight` of `fit`. A dict from
        class values, whose missing classes have the weight 1; "balanced": l / (K l_k) for l_k of the l labels of K
        classes, so that all classes weigh the same.
    class_balance : {"shrunk", "zscore", "mass"}, dict or None, default None
        How the scores of the classes are made comparable; with two classes the threshold moves. "shrunk": for two
        classes, to where the scores of the training samples are sparse and the share above fits that of the labels;
        for more classes as "zscore". "zscore": by their means and deviations over all samples, unless the label counts
        reject classes of equal size (chi-square test, 5 % level). "mass": by the label proportions over the masses of
        the classes. None: as they are, which errs less here than "shrunk" where classes differ in size; with two
        classes of equal size "shrunk" errs less. `LapSVM` has the formulas.
        A dict from each class to its share of all samples, or an interval (low, high) of it, where that is known:
        each class is compared above the threshold that leaves this share of its training decisions.
    unlabeled : scalar, nan or None, default -1
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
    calibration_ : float
        The scale T of `predict_proba`.
    C_ : float or ndarray of shape (n_classes,)
        Value in use; nan where no margin was solved.
    leave_one_out_ : ndarray of shape (l,) or (l, n_classes)
        Decisions at each labelled node by the labels of the others. The weights saw the label: optimistic.

    Notes
    -----
    Isolated nodes keep their features, and nodes without features get the intercept. A class without a label has no
    column.

    `conformal_sets` learns the weights of the filters, and ``penalty="loo"``, anew with every unlabelled node as one of
    each class: weights that saw the labels alone would keep no promise. That takes milliseconds per node and class.
    With ``learn="margin"`` or "ordered" it is refused.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010. Cortes, Mohri & Rostamizadeh, Algorithms for learning
    kernels based on centered alignment, JMLR 2012.

    Examples
    --------
    >>> import networkx as nx, specmargin as sm
    >>> graph = nx.karate_club_graph()
    >>> y_true = np.array([graph.nodes[i]["club"] == "Officer" for i in graph]).astype(int)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = SpectralFilterClassifier().fit(np.eye(34), y, graph=graph)
    >>> clf.result_.certificate.is_optimal(1e-9), bool((clf.transduction_ == y_true).mean() > 0.9)
    (True, True)
    """

    learn: str = "alignment"
    filters: Any = "resolvents"
    loss: str = "squared"
    C: float | str = "loo"
    penalty: float | str = "loo"
    self_loops: float = 1.0
    normalization: str = "unit"
    joint: bool = True
    graph: Any = KNN()
    class_weight: Any = None
    class_balance: Any = None
    unlabeled: Any = -1

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "C": or_word(number(above=0), "loo"),
        "learn": choice(*RULES),
        "loss": choice("squared", "squared_hinge", "hinge"),
    }

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray) -> tuple[FloatArray, list[SolveResult]]:
        parts = [labels] if self.joint or labels.is_binary else list(labels.one_vs_rest())
        options: dict[str, Any] = {"loss": self.loss, "costs": self._costs(), "tol": TOL}
        f, learned = self._fit_blocks(X, graph, parts, self.learn, **options)
        costs = np.array([np.nan if one.C is None else one.C for one in learned])
        self.C_ = float(costs[0]) if len(parts) == 1 else costs
        self._held_out = self.leave_one_out_
        self.balance_ = Balance.of(f, labels, self.class_balance)
        return self.balance_(f), [result for one in learned for result in one.results]

    def _costs(self) -> Sequence[float]:
        return COSTS if isinstance(self.C, str) else (float(self.C),)

    def _on_graph(self, X: Any, graph: Any) -> FloatArray:
        return self.balance_(self._at_new_nodes(X, graph))

    def _decision(self, X: Matrix) -> FloatArray:
        return self._neighbor_mean(X, self.scores_)

    def _p_values(self, X: Matrix | None, labels: Labels, class_conditional: bool) -> FloatArray:
        """Return p-values whose weights of filters, and penalty, are learned anew with each sample and candidate."""
        if X is not None:
            raise InvalidInputError(NO_NODES)
        if not (self.joint or labels.is_binary):
            raise InvalidInputError(
                "joint=False makes a kernel per class, and conformal sets compare classes in one; take joint=True."
            )
        if self.learn in _BY_MARGIN:
            raise InvalidInputError(
                f"learn={self.learn!r}: weights that saw the labels keep no promise, and a margin would be solved anew "
                "for every sample and class; take learn='alignment', 'single' or 'mean'."
            )
        penalties, at, maps = self._penalties(), labels.labeled, self._maps()
        cross = np.stack([F @ F[at].T for F in maps])
        own = np.stack([np.einsum("ij,ij->i", F, F) for F in maps])
        if self.learn == "mean":
            return ConformalRidge(cross[:, at].mean(axis=0), labels.sign, penalties).p_values(
                cross.mean(axis=0), own.mean(axis=0), class_conditional=class_conditional
            )
        n, l, n_classes = labels.n_samples, labels.n_labeled, len(labels.classes)
        p, grams = np.ones((n, n_classes)), np.empty((len(maps), l + 1, l + 1))
        grams[:, :l, :l] = cross[:, at]
        for j in np.setdiff1d(np.arange(n), at):
            grams[:, l, :l] = grams[:, :l, l] = cross[:, j]
            grams[:, l, l] = own[:, j]
            rows = [_root(gram) for gram in grams]
            for k in range(n_classes):
                candidate = 2.0 * k - 1.0 if labels.is_binary else np.where(np.arange(n_classes) == k, 1.0, -1.0)
                sign = np.concatenate([labels.sign, [candidate]])
                all_known = Labels(sign, np.arange(l + 1), labels.classes, l + 1)
                delta = self._weights_with(rows, all_known)
                penalty = ridge_on_blocks(delta, grams, all_known, penalties).penalty
                G = np.tensordot(delta, grams, 1)
                p[j, k] = ConformalRidge(G[:l, :l], labels.sign, penalty).p_values(
                    G[l:, :l], G[l:, l], class_conditional=class_conditional
                )[0, k]
        return p

    def _weights_with(self, rows: list[FloatArray], labels: Labels) -> FloatArray:
        try:
            return learn_weights(rows, labels, self.learn, penalties=self._penalties(), tol=TOL).delta
        except InvalidInputError:  # no filter is like these labels
            return np.full(len(rows), 1.0 / len(rows))

    def _maps(self) -> list[FloatArray]:
        """Return the filtered features of the training samples."""
        known = self.bank_
        bank = filter_bank(known.operator, known.features, known.filters, normalization=known.normalization)
        return [np.asarray(F, dtype=np.float64) for F in bank.blocks]

    def _smoother(self, X: Matrix | None) -> Smoother:
        at, maps = self._remembered().labels.labeled, self._maps()
        parts = np.atleast_2d(self.filter_weights_)
        crosses = [np.asarray(sum(d * (F @ F[at].T) for d, F in zip(delta, maps, strict=True))) for delta in parts]
        penalties = np.atleast_1d(self.penalty_)

        def smooth(weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
            each = [smoother(K[at], K, p, weights=weights) for K, p in zip(crosses, penalties, strict=True)]
            new = each if X is None else [self._neighbor_mean(X, H) for H in each]
            return (each[0], new[0]) if len(each) == 1 else (np.stack(each), np.stack(new))

        return smooth


def _root(gram: FloatArray) -> FloatArray:
    """Return rows that have these products."""
    w, V = sla.eigh(gram, check_finite=False)
    return np.asarray(V * np.sqrt(np.maximum(w, 0.0)))
