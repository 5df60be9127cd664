"""Learned spectra over the features of a graph's nodes as a classifier: `SpectralFilterClassifier`.

A family of filters is applied to the features, one weight per filter is learned from the labels by a convex problem,
and ridge regression on the kernel that they make classifies. The weights are the graph's frequency response: low-pass
where neighbours are alike, high-pass where they are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sla
from sklearn.utils.validation import check_is_fitted

from specmargin.checks import Rule, choice
from specmargin.estimators._calibrated import CalibratedScores
from specmargin.estimators._class_balance import Balance, ClassBalanceParameter
from specmargin.estimators._conformal import NO_NODES, ConformalSets, KeepsTraining, require_no_weights
from specmargin.estimators._docstrings import documented
from specmargin.estimators._filter_parameters import FilterParameters, LearnsWeights
from specmargin.estimators._label_weights import LabelWeights
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier, check_features, numerical_failures
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.objectives.held_out.conformal import ConformalRidge
from specmargin.results import SolveResult
from specmargin.solvers.spectrum.block_weights import RULES, learn_weights, ridge_on_blocks
from specmargin.spectra import filter_bank
from specmargin.typing import AnyArray, FloatArray, Matrix, SparseArray

__all__ = ["SpectralFilterClassifier"]

_BY_MARGIN = ("margin", "ordered")


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SpectralFilterClassifier(
    CalibratedScores,
    LabelWeights,
    ConformalSets,
    KeepsTraining,
    ClassBalanceParameter,
    LearnsWeights,
    FilterParameters,
    SemiSupervisedClassifier,
):
    """Filters of node features, their weights learned from the labels, and ridge regression on the kernel they make.

    With S the normalised adjacency with self-loops and X the features, blocks F_b = h_b(S) X are normalised without a
    label; K(delta) = sum_b delta_b F_b F_b' is learned, and f = K(delta) gamma + b fitted by least squares, for all
    classes with one delta: "a filter of the data set". `fit` takes the graph as ``graph=``; without one it is that of
    the nearest neighbours of the features.

    Parameters
    ----------
    learn : {"alignment", "margin", "ordered", "single", "mean"}
        How weights are found: by centred alignment with the labels; by eq. 7 of the spectrum paper with blocks in place
        of eigenvectors, free or not rising from the smoothest filter to the roughest; one filter by leave-one-out; all
        alike.
    tol : float
        Relative gap to which the weights have to be certified; a ConvergenceWarning says so where it is not.
    random_state : int, Generator or None
        Of the search for neighbours, where there are many features.

    Attributes
    ----------
    C_ : float or ndarray of shape (n_classes,)
        In use; nan where no margin was solved.
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
    tol: float = 1e-6
    random_state: Any = 0

    _parameter_rules: ClassVar[dict[str, Rule]] = {"learn": choice(*RULES)}

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray) -> tuple[FloatArray, list[SolveResult]]:
        parts = [labels] if self.joint or labels.is_binary else list(labels.one_vs_rest())
        options: dict[str, Any] = {"loss": self.loss, "costs": self._costs(), "tol": self.tol}
        f, learned = self._fit_blocks(X, graph, parts, self.learn, **options)
        costs = np.array([np.nan if one.C is None else one.C for one in learned])
        self.C_ = float(costs[0]) if len(parts) == 1 else costs
        self._held_out = self.leave_one_out_
        self.balance_ = Balance.of(f, labels, self.class_balance)
        return self.balance_(f), [result for one in learned for result in one.results]

    def decision_function(self, X: Matrix, graph: Any = None) -> FloatArray:
        """Return f at new samples, or at new nodes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (k, n_features)
            Features.
        graph : {ndarray, sparse matrix} of shape (n + k, n + k), networkx.Graph or table of edges, optional
            The n nodes of `fit` first, then the new ones, with their edges; where nodes have names, those of `fit` are
            found by them, and the new ones are the index of X, or the numbers from n on. Features are filtered on it;
            what was learned stays. Without it new samples get the weighted mean of the scores of their nearest training
            samples.

        Returns
        -------
        ndarray of shape (k,) or (k, n_classes)
            Positive means ``classes_[1]`` with two classes; with more the largest column wins.
        """
        if graph is None:
            return super().decision_function(X)
        check_is_fitted(self)
        graph = self._with_new_nodes(X, graph)
        X = check_features(self, X, reset=False)
        with numerical_failures(self):
            return self._finite(self.balance_(self._at_new_nodes(X, graph)))

    def predict(self, X: Matrix, graph: Any = None) -> AnyArray:
        """Return the classes of new samples, or of new nodes.

        Parameters
        ----------
        X, graph
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (k,)
        """
        return self._classes_of(self.decision_function(X, graph))

    def _decision(self, X: Matrix) -> FloatArray:
        return self._neighbor_mean(X, self.scores_)

    def _p_values(self, X: Matrix | None, class_conditional: bool) -> FloatArray:
        """Return p-values whose weights of filters, and penalty, are learned anew with each sample and candidate."""
        labels = self._remembered().labels
        require_no_weights(labels)
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
        known, penalties, at = self.bank_, self._penalties(), labels.labeled
        bank = filter_bank(known.operator, known.features, known.filters, normalization=known.normalization)
        maps = [np.asarray(F, dtype=np.float64) for F in bank.blocks]
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
            return learn_weights(rows, labels, self.learn, penalties=self._penalties(), tol=self.tol).delta
        except InvalidInputError:  # no filter is like these labels
            return np.full(len(rows), 1.0 / len(rows))


def _root(gram: FloatArray) -> FloatArray:
    """Return rows that have these products."""
    w, V = sla.eigh(gram, check_finite=False)
    return np.asarray(V * np.sqrt(np.maximum(w, 0.0)))
