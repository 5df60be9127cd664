"""What the estimators over filtered node features share: the filters, and the ridge regression on learned weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from specmargin.arrays import require_memory
from specmargin.checks import Rule, choice, flag, number
from specmargin.estimators._base.feature_maps import opened
from specmargin.estimators._base.parameters import part_of
from specmargin.estimators._base.semi_supervised import check_features, numerical_failures
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import check_adjacency, normalized_adjacency
from specmargin.graphs.node_names import n_rows, row_names, with_new_nodes
from specmargin.labels import Labels, Targets
from specmargin.solvers.spectrum.block_weights import (
    PENALTIES,
    BlockRidge,
    LearnedWeights,
    labeled_grams,
    learn_weights,
    ridge_on_blocks,
)
from specmargin.spectra import FilterBank, GraphFilters, filter_bank, filter_new_nodes
from specmargin.spectra.filtered_features import LARGE
from specmargin.spectra.filters import FAMILIES, family_rule
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray


def filters_rule(name: str, value: Any) -> Any:
    """Check the name of a family of filters, or a family."""
    return choice(*FAMILIES)(name, value) if isinstance(value, str) else family_rule(name, value)


def filtered(X: Matrix, graph: SparseArray, filters: Any, self_loops: float, normalization: str) -> FilterBank:
    """Return the blocks of features that the parameters of these names mean."""
    family: GraphFilters = FAMILIES[filters]() if isinstance(filters, str) else filters
    (n, d), n_filters = X.shape, len(family.parameters)
    numbers = float(n_filters) * n * d
    require_memory(
        (4.0 if 8.0 * numbers > LARGE else 8.0) * numbers,
        f"filtering {d} features of {n} nodes by {n_filters} filters, which makes them dense,",
        "reduce the features first, such as by sklearn.decomposition.TruncatedSVD(n_components=300)",
    )
    S = normalized_adjacency(graph, self_loops=self_loops * unit_of_edges(graph))
    return filter_bank(S, X, family, normalization=normalization)


def unit_of_edges(W: SparseArray) -> float:
    """Return the median weight of an edge, 1 where there is none: the unit in which edges are given decides nothing."""
    return float(np.median(W.data)) if W.nnz else 1.0


class FilterModel:
    """Filters of a graph's node features, and the ridge regression on the kernel that their weights make.

    It is mixed into an estimator with the parameters filters, normalization, penalty, self_loops, joint and graph.
    """

    bank_: FilterBank
    filter_weights_: FloatArray
    penalty_: Any
    coef_: FloatArray

    _takes_graph_alone: ClassVar[bool] = True
    _parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "self_loops": number(least=0),
        "filters": filters_rule,
        "normalization": choice("unit", "centered"),
        "joint": flag,
    }

    def _fit_blocks(
        self: Any, X: Matrix, graph: SparseArray, parts: Sequence[Labels | Targets], learn: str, **options: Any
    ) -> tuple[FloatArray, list[LearnedWeights]]:
        """Return f at all nodes, with a column per part where there are several, and how weights were found."""
        _, self._place = opened(part_of("graph", self.graph), self._place, X)
        bank, penalties = filtered(X, graph, self.filters, self.self_loops, self.normalization), self._penalties()
        grams = labeled_grams(bank.blocks, parts[0].labeled)
        learned, fitted, decisions = [], [], []
        for part in parts:
            options |= {"penalties": penalties, "smooth_first": smooth_first(bank)}
            learned.append(learn_weights(bank, part, learn, **options))
            fitted.append(ridge_on_blocks(learned[-1].delta, grams, part, penalties))
            decisions.append(decisions_at_nodes(bank, fitted[-1], part.labeled))
        several = len(parts) > 1
        self._unit = unit_of_edges(graph)
        self.bank_ = replace(bank, blocks=())
        self.filter_weights_ = np.stack([one.delta for one in learned]) if several else learned[0].delta
        self.penalty_ = np.array([one.penalty for one in fitted]) if several else fitted[0].penalty
        self.leave_one_out_ = np.stack([one.left_out for one in fitted], 1) if several else fitted[0].left_out
        weights = [_coefficients(bank, one, parts[0].labeled) for one in fitted]
        self.coef_ = np.stack(weights, axis=-1) if several else weights[0]
        self.intercept_ = np.ravel([one.b for one in fitted])
        results = [one.results[0] for one in learned if one.results]
        self.result_ = None if not results else tuple(results) if several else results[0]
        return np.stack(decisions, axis=1) if several else decisions[0], learned

    def _penalties(self: Any) -> Sequence[float]:
        return PENALTIES if isinstance(self.penalty, str) else (float(self.penalty),)

    def _at_new_nodes(self: Any, X: Any, graph: Any) -> FloatArray:
        """Return f at new nodes of a graph that holds the training nodes first, or by their names."""
        check_is_fitted(self)
        if X is None:
            raise InvalidInputError(
                f"{type(self).__name__} filters features, and X=None has none of the new nodes; fit it with features, "
                "and pass those of the new nodes, or take SpectralRidge, which extends scores along the graph."
            )
        n = self.bank_.n_samples
        graph = with_new_nodes(graph, getattr(self, "nodes_", range(n)), row_names(X), n_rows(X))
        X = check_features(self, X, reset=False)
        with numerical_failures(self):
            W = check_adjacency(graph, n + X.shape[0])
            S = normalized_adjacency(W, self_loops=self.self_loops * self._unit)
            blocks = filter_new_nodes(self.bank_, S, X)
            f = np.asarray(sum(F @ w for F, w in zip(blocks, self.coef_, strict=True)))
            return self._finite(f + (self.intercept_ if f.ndim > 1 else self.intercept_[0]))


def _coefficients(bank: FilterBank, fitted: BlockRidge, labeled: IntArray) -> FloatArray:
    return np.stack([d * (F[labeled].T @ fitted.gamma) for d, F in zip(fitted.delta, bank.blocks, strict=True)])


def decisions_at_nodes(bank: FilterBank, fitted: BlockRidge, labeled: IntArray) -> FloatArray:
    """Return f = sum_b delta_b F_b F_b[labelled]' gamma + b at all nodes."""
    f: FloatArray = np.zeros((bank.n_samples, *fitted.gamma.shape[1:]))
    for weight, F in zip(fitted.delta, bank.blocks, strict=True):
        if weight > 0:
            f += weight * (F @ (F[labeled].T @ fitted.gamma).astype(F.dtype, copy=False))
    return f + fitted.b


def smooth_first(bank: FilterBank) -> IntArray:
    """Return the blocks from the smoothest on: by the mean frequency of each filter's power."""
    lam = np.linspace(0.0, 2.0, 201)
    h = bank.filters.response(1.0 - lam) ** 2
    return np.argsort((h @ lam) / np.maximum(h.sum(axis=1), 1e-300), kind="stable")
