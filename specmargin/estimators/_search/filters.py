"""Filters of node features by the labels: rules, families and self-loops; the blocks know no label, and are made once.

Left-out labels are decided about by weights that have not seen them: every fold learns them anew, and chooses C and
penalty by leave-one-out among its own labels.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np

from specmargin.estimators._base.filter_model import decisions_at_nodes, filtered, smooth_first
from specmargin.estimators._base.parameters import part_of
from specmargin.estimators._base.semi_supervised import columns
from specmargin.estimators._search.candidates import Candidates
from specmargin.estimators._search.trials import Settings
from specmargin.estimators.spectral_filter import TOL
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.graphs import check_adjacency
from specmargin.graphs.parts import built
from specmargin.labels import Labels
from specmargin.labels.shares import Balance
from specmargin.solvers.spectrum.block_weights import BlockRidge, labeled_grams, learn_weights, ridge_on_blocks
from specmargin.spectra import FilterBank
from specmargin.typing import AnyArray, FloatArray, IntArray

_LOGGER = logging.getLogger(__name__)


class FilterCandidates(Candidates):
    """Settings of `SpectralFilterClassifier`."""

    usual: ClassVar[Mapping[str, Sequence[Any]]] = {
        "learn": ("alignment", "margin", "ordered", "single"),
        "filters": ("resolvents", "powers"),
        "self_loops": (1.0,),
    }
    names: ClassVar[tuple[str, ...]] = ("learn", "filters", "self_loops")

    def settings(self) -> Iterator[Settings]:
        """Yield the settings of each bank of filters."""
        template, X = self.template, self.X
        if self.graph is None:
            self.graph = built(part_of("graph", template.graph), X)[0]
        self.graph = check_adjacency(self.graph, X.shape[0])
        learns = self.values("learn")
        for filters, loops in product(self.values("filters"), self.values("self_loops")):
            bank = filtered(X, self.graph, filters, float(loops), template.normalization)
            rows = tuple(_reduced(F[self.labels.labeled]) for F in bank.blocks)
            grams = labeled_grams(rows, np.arange(self.labels.n_labeled))
            tried = [{"learn": learn, "filters": filters, "self_loops": float(loops)} for learn in learns]
            yield self._by_folds(tried, partial(self._left_out, bank, rows, grams, learns))

    def _left_out(
        self,
        bank: FilterBank,
        rows: Sequence[FloatArray],
        grams: FloatArray,
        learns: Sequence[str],
        train: IntArray,
        test: IntArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the decisions at the tested nodes of a fold, and what classes are compared by, per rule."""
        known, rule, taken = self.labels.at(train), self.template.class_balance, [R[train] for R in rows]
        own, tested = grams[:, train][:, :, train], grams[:, test][:, :, train]
        raw, compared = [], []
        for learn in learns:
            fits = list(self._fits(learn, taken, own, known, bank))
            f = columns([np.tensordot(fit.delta, tested, 1) @ fit.gamma + fit.b for fit in fits])
            raw.append(f)
            if rule is not None and np.isfinite(f).all():
                everywhere = columns([decisions_at_nodes(bank, fit, known.labeled) for fit in fits])
                f = Balance.of(everywhere, known, rule)(f)
            compared.append(f)
        return np.stack(raw), np.stack(compared)

    def _fits(
        self, learn: str, rows: Sequence[FloatArray], grams: FloatArray, labels: Labels, bank: FilterBank
    ) -> Iterator[BlockRidge]:
        """Yield what the labelled nodes of a fold learn, one problem after the other; their rows are of them alone."""
        l, own = labels.n_labeled, self.template
        alone = Labels(labels.sign, np.arange(l), labels.classes, l, labels.weights)
        options: dict[str, Any] = {"loss": own.loss, "costs": own._costs(), "smooth_first": smooth_first(bank)}
        options |= {"tol": TOL, "penalties": own._penalties()}
        for part in [alone] if own.joint else alone.one_vs_rest():
            nothing = BlockRidge(np.zeros(len(rows)), 1.0, np.zeros(part.sign.shape), part.sign[0], part.sign, np.nan)
            if part.is_binary and (part.sign == part.sign[0]).all():
                yield nothing
                continue
            try:
                delta = learn_weights(rows, part, learn, **options).delta
                yield ridge_on_blocks(delta, grams, part, options["penalties"])
            except (InvalidInputError, SolverError) as error:
                _LOGGER.info("%s with %d labels: %s", learn, l, error)
                yield replace(nothing, b=part.sign[0] * np.nan)


def _reduced(rows: AnyArray) -> FloatArray:
    """Return rows of as few columns that have the same products."""
    R = np.asarray(rows, dtype=np.float64)
    return R if R.shape[1] <= len(R) else np.ascontiguousarray(np.asarray(np.linalg.qr(R.T, mode="r")).T)
