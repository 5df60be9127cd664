"""Learned spectra over node features whose rule and filters the labels choose: `SpectralFilterCV`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from specmargin.checks import Rule, choice, number
from specmargin.estimators._class_balance import Balance, ClassBalanceParameter
from specmargin.estimators._docstrings import documented
from specmargin.estimators._filter_parameters import (
    FilterParameters,
    LearnsWeights,
    decisions_at_nodes,
    filtered,
    filters_rule,
    smooth_first,
)
from specmargin.estimators._label_search import Trials, judged
from specmargin.estimators._parameter_rules import candidates
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier, columns
from specmargin.estimators._supervised_twin import TwinnedSearch
from specmargin.estimators.spectral_filter import SpectralFilterClassifier
from specmargin.exceptions import InvalidInputError, MarkerWarning, SolverError
from specmargin.labels import Labels
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.solvers.spectrum.block_weights import (
    RULES,
    BlockRidge,
    labeled_grams,
    learn_weights,
    ridge_on_blocks,
)
from specmargin.spectra import FilterBank
from specmargin.typing import AnyArray, FloatArray, IntArray, Matrix, SparseArray

__all__ = ["SpectralFilterCV"]

_LOGGER = logging.getLogger(__name__)
_TWIN_COSTS = (1.0, 10.0, 0.1, 100.0)
"""C of the supervised twin."""
_OF_THE_REFIT = (
    *("classes_", "transduction_", "scores_", "intercept_", "balance_", "result_", "n_iter_", "filter_weights_"),
    *("bank_", "C_", "penalty_", "leave_one_out_"),
)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SpectralFilterCV(TwinnedSearch, ClassBalanceParameter, LearnsWeights, FilterParameters, SemiSupervisedClassifier):
    """`SpectralFilterClassifier` whose rule, filters and self-loops are chosen by the labelled nodes alone.

    Left-out labels are decided about by weights that have not seen them: every fold learns them anew, and chooses C and
    penalty by leave-one-out among its own labels. The blocks of features know no label, and are filtered once.

    Parameters
    ----------
    learns : sequence of str
        Rules to try, as `learn` of `SpectralFilterClassifier`. Of those that are equally good, and where the labels
        cannot choose, the first is taken.
    filters : sequence of str or of families of `specmargin.spectra`
        Filters to try.
    self_loops : sequence of float
        Weights of the loops to try.
    tol : float
        Relative gap to which the weights of the refit have to be certified; a ConvergenceWarning says so where it is
        not.
    random_state : int, Generator or None
        Of the search for neighbours, where there are many features.

    Attributes
    ----------
    C_ : float or ndarray of shape (n_classes,)
        In use; nan where no margin was solved.
    leave_one_out_ : ndarray of shape (l,) or (l, n_classes)
        As of `SpectralFilterClassifier`: by weights that saw the label, other than what chooses here.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import networkx as nx, specmargin as sm
    >>> graph = nx.karate_club_graph()
    >>> y_true = np.array([graph.nodes[i]["club"] == "Officer" for i in graph]).astype(int)
    >>> y = sm.hide_labels(y_true, per_class=6, random_state=0)
    >>> clf = SpectralFilterCV(learns=["alignment", "single"]).fit(np.eye(34), y, graph=graph)
    >>> sorted(clf.best_params_), bool((clf.transduction_ == y_true).mean() > 0.9)
    (['filters', 'learn', 'self_loops'], True)
    """

    learns: Sequence[str] = ("alignment", "margin", "ordered", "single")
    filters: Sequence[Any] = ("resolvents", "powers")
    self_loops: Sequence[float] = (1.0,)  # type: ignore[assignment]  # a search takes a list
    tol: float = 1e-6
    random_state: Any = 0

    _parameter_rules: ClassVar[dict[str, Rule]] = {
        "learns": candidates(choice(*RULES)),
        "filters": candidates(filters_rule),
        "self_loops": candidates(number(least=0)),
    }
    _refitted: ClassVar[type] = SpectralFilterClassifier

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: SparseArray) -> None:
        """Choose the parameters by the labelled nodes, then learn from all."""
        self._check_criterion()
        sample_weight, c = self._taken_weight(), labels.weights
        folds = self._folds(X, labels)
        kept = self._counted(labels, folds)
        tested = np.concatenate([fold.test for fold in folds])[kept]
        trials = Trials(self.criterion, tested)
        common = self._kept_parameters(["filters", "self_loops"])
        for filters, loops in product(self.filters, self.self_loops):
            bank = filtered(X, graph, filters, float(loops), self.normalization)
            raw, compared = (f[:, kept] for f in self._held_out(bank, labels, folds))
            tried = [{"learn": learn, "filters": filters, "self_loops": float(loops)} for learn in self.learns]
            weights = None if c is None else c[tested]
            trials.add(tried, judged(raw, compared, labels.sign[tested], self.criterion, weights), common=common)
        self._record(trials)
        _LOGGER.info(
            "%s: best %s %.4g at %s", type(self).__name__, self.criterion, -self.best_score_, self.best_params_
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarkerWarning)  # warned of before
            refit = SpectralFilterClassifier(**self.best_params_)
            self.estimator_ = refit.fit(X, y, graph=graph, sample_weight=sample_weight)
        for name in _OF_THE_REFIT:
            setattr(self, name, getattr(self.estimator_, name))
        self._compare(X, y, labels, folds, trials, _TWIN_COSTS)

    def _held_out(self, bank: FilterBank, labels: Labels, folds: list[loo.Fold]) -> tuple[FloatArray, FloatArray]:
        """Return the decisions at the tested nodes, fold by fold, and what classes are compared by, per rule."""
        rows = tuple(_reduced(F[labels.labeled]) for F in bank.blocks)
        grams, first = labeled_grams(rows, np.arange(labels.n_labeled)), smooth_first(bank)
        raw, compared = [], []
        for fold in folds:
            loo.check_fold(fold.left_out, labels.n_labeled)
            train = np.setdiff1d(np.arange(labels.n_labeled), fold.left_out)
            known, own = labels.at(train), grams[:, train][:, :, train]
            taken = [R[train] for R in rows]
            each = [list(self._fold(learn, taken, own, known, first)) for learn in self.learns]
            tested = grams[:, fold.test][:, :, train]
            raw.append(np.stack([columns([_at(tested, fit) for fit in fits]) for fits in each]))
            if self.class_balance is None:
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
        options: dict[str, Any] = {"loss": self.loss, "costs": self._costs(), "smooth_first": first, "tol": 1e-6}
        options["penalties"] = penalties = self._penalties()
        for part in [alone] if self.joint else alone.one_vs_rest():
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
        return Balance.of(everywhere, labels, self.class_balance)(f)


def _at(grams: FloatArray, fitted: BlockRidge) -> FloatArray:
    """Return f where rows of kernels are given, (m, t, l)."""
    return np.tensordot(fitted.delta, grams, 1) @ fitted.gamma + fitted.b


def _reduced(rows: AnyArray) -> FloatArray:
    """Return rows of as few columns that have the same products."""
    R = np.asarray(rows, dtype=np.float64)
    return R if R.shape[1] <= len(R) else np.ascontiguousarray(np.asarray(np.linalg.qr(R.T, mode="r")).T)
