"""Learned spectra over the features of a graph's nodes as a classifier: `SpectralFilterClassifier`.

A family of filters is applied to the features, one weight per filter is learned from the labels by a convex problem,
and ridge regression on the kernel that they make classifies. The weights are the graph's frequency response: low-pass
where neighbours are alike, high-pass where they are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from specmargin.checks import Rule, choice, instance, number
from specmargin.estimators._calibrated import CalibratedScores
from specmargin.estimators._class_balance import Balance, ClassBalanceParameter
from specmargin.estimators._conformal import ConformalSets, KeepsTraining, KernelBlocks, require_no_weights
from specmargin.estimators._docstrings import documented
from specmargin.estimators._label_weights import LabelWeights
from specmargin.estimators._parameter_rules import or_word
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier
from specmargin.estimators._shared_parameters import SearchedNeighbors
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import neighbor_weights, normalized_adjacency
from specmargin.labels import Labels
from specmargin.objectives.conformal import ConformalRidge
from specmargin.results import SolveResult
from specmargin.solvers.spectrum.block_weights import COSTS, PENALTIES, RULES, learn_weights, ridge_on_blocks
from specmargin.spectra import Bands, Bernstein, FilterBank, Powers, Resolvents, extend, filter_bank
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

__all__ = ["SpectralFilterClassifier"]

_FAMILIES: dict[str, Any] = {"resolvents": Resolvents, "powers": Powers, "bernstein": Bernstein, "bands": Bands}
"""Families of filters by name."""


def _family(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return choice(*_FAMILIES)(name, value)
    return instance(tuple(_FAMILIES.values()), "pass one of specmargin.spectra, such as Resolvents()")(name, value)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SpectralFilterClassifier(
    CalibratedScores,
    LabelWeights,
    ConformalSets,
    KeepsTraining,
    ClassBalanceParameter,
    SearchedNeighbors,
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
    filters : {"resolvents", "powers", "bernstein", "bands"} or a family of `specmargin.spectra`
        The filters h_b.
    loss : {"squared", "squared_hinge", "hinge"}
        Of the margin.
    C : float or "loo"
        Weight of the margin's loss per unit mean kernel diagonal; "loo" chooses by leave-one-out on the labelled nodes.
    penalty : float or "loo"
        Of the ridge regression, per unit mean kernel diagonal; "loo" likewise.
    self_loops : float
        Weight of the loop at every node.
    tol : float
        Relative gap to which the weights have to be certified; a ConvergenceWarning says so where it is not.
    random_state : int, Generator or None
        Of the search for neighbours, where there are many features.

    Attributes
    ----------
    filter_weights_ : ndarray of shape (m,)
        delta, of sum one, in the order of ``bank_.filters.parameters``.
    bank_ : FilterBank
        The filters, their power and what they were applied to, without the blocks: a learned filter's frequency
        response is ``bank_.response(filter_weights_, lam)``.
    C_, penalty_ : float
        Those in use; C_ is nan where no margin was solved.
    leave_one_out_ : ndarray of shape (l,) or (l, n_classes)
        Decisions at each labelled node by the labels of the others. The weights saw the label: optimistic.

    Notes
    -----
    New samples get the weighted mean of the scores of their nearest training samples; new nodes with edges make a new
    graph, which is fitted.

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
    tol: float = 1e-6
    random_state: Any = 0

    _parameter_rules: ClassVar[dict[str, Rule]] = {
        "C": or_word(number(above=0), "loo"),
        "learn": choice(*RULES),
        "loss": choice("squared", "squared_hinge", "hinge"),
        "self_loops": number(least=0),
        "filters": _family,
    }

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray) -> tuple[FloatArray, list[SolveResult]]:
        if self._search is None:
            self._search = self._opened(X)
        bank = filter_bank(normalized_adjacency(graph, self_loops=self.self_loops), X, self._family())
        costs = COSTS if isinstance(self.C, str) else (float(self.C),)
        penalties: Sequence[float] = PENALTIES if isinstance(self.penalty, str) else (float(self.penalty),)
        learned = learn_weights(
            bank, labels, self.learn, loss=self.loss, costs=costs, smooth_first=_smooth_first(bank), tol=self.tol
        )
        grams = np.stack([_gram(F, labels) for F in bank.blocks])
        fitted = ridge_on_blocks(learned.delta, grams, labels, penalties)
        f = np.zeros((labels.n_samples, *fitted.gamma.shape[1:]))
        for delta, F in zip(learned.delta, bank.blocks, strict=True):
            if delta > 0:
                f += delta * (F @ (F[labels.labeled].T @ fitted.gamma))
        f = f + fitted.b
        self.bank_, self.filter_weights_ = replace(bank, blocks=()), learned.delta
        self.C_ = np.nan if learned.C is None else learned.C
        self.penalty_, self.leave_one_out_ = fitted.penalty, fitted.left_out
        self.intercept_ = np.atleast_1d(fitted.b)
        self.result_ = learned.results[0] if learned.results else None
        self._held_out = fitted.left_out
        self.balance_ = Balance.of(f, labels, self.class_balance)
        return self.balance_(f), learned.results

    def _family(self) -> Any:
        return _FAMILIES[self.filters]() if isinstance(self.filters, str) else self.filters

    def _decision(self, X: Matrix) -> FloatArray:
        assert self._search is not None
        weights = neighbor_weights(X, self._search, self._count(len(self.scores_)), weight=self.weight)
        return extend(self.scores_, weights)

    def _conformal(self, X: Matrix | None) -> tuple[ConformalRidge, KernelBlocks]:
        labels = self._remembered().labels
        require_no_weights(labels)
        if X is not None:
            raise InvalidInputError(
                "new samples are no nodes of the graph, and not exchangeable with the labelled samples, which are; fit "
                "with them among the unlabelled samples and leave X out."
            )
        bank = filter_bank(self.bank_.operator, self.bank_.features, self.bank_.filters)
        blocks = _kernel_blocks(bank, self.filter_weights_, labels)
        return ConformalRidge(blocks.G, labels.sign, self.penalty_), blocks


def _gram(F: FloatArray, labels: Labels) -> FloatArray:
    rows = np.asarray(F[labels.labeled], dtype=np.float64)
    return rows @ rows.T


def _kernel_blocks(bank: FilterBank, delta: FloatArray, labels: Labels) -> KernelBlocks:
    """Return the learned kernel's rows and diagonal, without the features of all blocks side by side."""
    used = [(weight, F) for weight, F in zip(delta, bank.blocks, strict=True) if weight > 0]
    cross = sum(weight * (F @ F[labels.labeled].T) for weight, F in used)
    diagonal = sum(weight * np.einsum("ij,ij->i", F, F) for weight, F in used)
    return KernelBlocks(np.asarray(cross[labels.labeled]), np.asarray(cross), np.asarray(diagonal))


def _smooth_first(bank: FilterBank) -> IntArray:
    """Return the blocks from the smoothest on: by the share of each filter's power at low frequencies."""
    lam = np.linspace(0.0, 2.0, 201)
    h = bank.filters.response(1.0 - lam) ** 2
    return np.argsort((h @ lam) / np.maximum(h.sum(axis=1), 1e-300), kind="stable")
