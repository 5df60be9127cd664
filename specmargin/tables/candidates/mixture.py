r"""The mixture of candidates: weights by the losses of left-out labels, and one threshold for the mean probabilities.

A candidate j of a family gets the weight

.. math:: w_j \propto \frac{\text{prior of the family}}{\text{candidates of it}} \exp\Big(-\frac1c \sum_i \ell_{ij}\Big)

with the log-loss :math:`\ell_{ij}` of its decision about label i without that label. With few labels the weights are
nearly the prior, and the threshold decides; with many the best candidates remain. With two classes the priors of the
families that use the unlabelled samples are multiplied by a power of the ratio of
`specmargin.tables.candidates.agreement`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import logsumexp
from scipy.stats import chisquare

from specmargin.objectives.held_out.calibration import calibrated_scales, class_probabilities, log_probabilities
from specmargin.tables.candidates.agreement import disagreement_ratio
from specmargin.tables.candidates.ambient_maps import Known, once
from specmargin.tables.candidates.constants import CONSTANTS, SUPERVISED, Constants
from specmargin.tables.candidates.offsets import log_offsets
from specmargin.tables.candidates.training import CandidateGroup
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray, Matrix

__all__ = ["Mixture"]

_LEVEL = 0.05  # at which label counts reject equal classes
_SLOPES = (0.1, 30.0)
"""A candidate that is mostly wrong keeps the order of its scores, so that no threshold sees only ties."""
_LEAST_DEVIATION = 1e-3  # of decisions whose targets are +-1
_LEAST_WEIGHT = 1e-4  # of the largest: candidates below are not read
_ENTRIES = 2**24  # of an array of probabilities that is held at once


class Mixture:
    """A weighted mean of candidates' probabilities, with one threshold.

    Parameters
    ----------
    groups : list of CandidateGroup
        Groups of all families that take part.
    codes : ndarray of shape (l,)
        Classes of the labels.
    n_classes : int
    constants : Constants
    known_shares : tuple of two ndarrays of shape (n_classes,), optional
        Ends of the intervals of known shares of the classes, one of which the threshold gives to the predictions.
    random_state : int
        Draws the samples from which thresholds are recomputed.

    Attributes
    ----------
    families, names : ndarray of shape (J,)
        Family and name of each candidate.
    weights : ndarray of shape (J,)
    losses : ndarray of shape (J, l)
        Log-losses of left-out labels.
    disagreement_ratio : float
        Ratio by `specmargin.tables.candidates.agreement`; 1 where it is not asked for, with several classes or without
        one of the sides.
    offsets : ndarray of shape (n_classes,)
        Added to the log-probabilities.
    log_probabilities : ndarray of shape (n, n_classes)
        Logarithms of the probabilities of the training samples.
    """

    def __init__(
        self,
        groups: Sequence[CandidateGroup],
        codes: IntArray,
        n_classes: int,
        *,
        constants: Constants = CONSTANTS,
        known_shares: tuple[FloatArray, FloatArray] | None = None,
        random_state: int = 0,
    ) -> None:
        self.groups, self.constants, self.n_classes = list(groups), constants, n_classes
        self._codes, self._known_shares = codes, known_shares
        self.counts = np.bincount(codes, minlength=n_classes).astype(np.float64)
        unknown = known_shares is None and n_classes > 2
        self.equal = unknown and bool(chisquare(self.counts).pvalue >= _LEVEL)
        self.families: AnyArray = np.concatenate([[group.family] * len(group.names) for group in groups])
        self.names: AnyArray = np.concatenate([group.names for group in groups])
        held = np.concatenate([group.held_out for group in groups])
        intercepts = np.concatenate([group.intercept for group in groups])
        without = np.concatenate([group.intercept_without for group in groups])
        deviations = np.concatenate([group.deviations for group in groups])
        if self.equal:
            # Classes of equal size: each score less its mean, over its deviation.
            self._centres, scales = intercepts, np.maximum(deviations, _LEAST_DEVIATION)
        else:
            self._centres = np.zeros_like(intercepts)
            scales = np.maximum(deviations.mean(axis=1, keepdims=True), _LEAST_DEVIATION)
        held = (held - self._centres[:, None]) / scales[:, None]
        slope = calibrated_scales(held, codes, bounds=_SLOPES)
        self._slopes = slope[:, None] / scales
        self._held = slope[:, None, None] * held
        # What the threshold makes up for: a fit without a label has another intercept.
        self._moves = (intercepts[:, None] - without) * self._slopes[:, None]
        at = np.arange(len(codes))
        self.losses = -log_probabilities(self._held)[:, at, codes]
        sizes = {family: np.count_nonzero(self.families == family) for family in set(self.families.tolist())}
        prior = dict(constants.prior)
        self._log_prior = np.log([prior[family] / sizes[family] for family in self.families.tolist()])
        self.weights = self._weights(self.losses.sum(axis=1))
        self._seed = random_state
        self.disagreement_ratio = self._disagreement_ratio()
        if self.disagreement_ratio != 1.0:
            unlabeled = ~np.isin(self.families, SUPERVISED)
            self._log_prior[unlabeled] += constants.agreement * np.log(self.disagreement_ratio)
            self.weights = self._weights(self.losses.sum(axis=1))
        log_p = self._log_mean(self.weights)
        self.offsets = self._offsets(log_p, self.counts)
        self.log_probabilities = _normalized(log_p + self.offsets)

    def _weights(self, losses: FloatArray) -> FloatArray:
        """Return weights (..., J) of the candidates from their summed losses (..., J)."""
        z = self._log_prior - losses / self.constants.temperature
        return np.exp(z - logsumexp(z, axis=-1, keepdims=True))

    def _offsets(self, log_p: FloatArray, counts: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """Return the offsets of the threshold; none where the scores of equal classes have been standardised."""
        if self.equal:
            return np.zeros(self.n_classes)
        return log_offsets(log_p, counts, self.constants, start, self._known_shares)

    def _disagreement_ratio(self) -> float:
        """Return the ratio for the families, each cut by its own threshold."""
        if self.n_classes > 2 or not self.constants.agreement:
            return 1.0
        supervised = np.isin(self.families, SUPERVISED)
        others = [self.families == family for family in dict.fromkeys(self.families[~supervised].tolist())]
        if len(others) < 2 or not supervised.any():
            return 1.0

        def predicted(own: BoolArray) -> IntArray:
            log_p = self._log_mean(np.where(own, self.weights, 0.0))
            return np.asarray((log_p + self._offsets(log_p, self.counts)).argmax(axis=1))

        return disagreement_ratio(predicted(supervised), [predicted(own) for own in others])

    @property
    def used(self) -> BoolArray:
        """Which candidates have a weight that matters."""
        return _mattering(self.weights)

    def _log_mean(self, weights: FloatArray, features: Sequence[FloatArray] | None = None) -> FloatArray:
        """Return log-probabilities (m, K) of a weighted mean, of the training samples or from the maps' features."""
        used = _mattering(weights)
        features = [group.map.values for group in self.groups] if features is None else features
        m = len(features[0])
        total = np.zeros((m, self.n_classes))
        for (group, own, at), values in zip(_placed(self.groups, used), features, strict=True):
            for rows in _batches(m, len(own) * self.n_classes) if len(own) else ():
                p = class_probabilities(self._scores(group, values[rows], own, at))
                total[rows] += np.einsum("j,mjk->mk", weights[at], p)
        return np.log(np.maximum(total / weights[used].sum(), 1e-300))

    def _scores(self, group: CandidateGroup, values: FloatArray, own: IntArray, at: IntArray) -> FloatArray:
        """Return scores times slopes, (m, j, C), of candidates `own` of a group, which are `at` among all."""
        r = len(group.coefficients)
        f = (values @ group.coefficients[:, own].reshape(r, -1)).reshape(len(values), len(own), -1)
        return (f + (group.intercept[own] - self._centres[at])) * self._slopes[at]

    def log_proba(self, X: Matrix) -> FloatArray:
        """Return log-probabilities (m, K) of new samples; each feature map is evaluated once."""
        features = _values_at(self.groups, self.used, X)
        return _normalized(self._log_mean(self.weights, features) + self.offsets)

    def family_weights(self) -> dict[str, float]:
        """Return the weight of each family, the largest first."""
        sums = {
            family: float(self.weights[self.families == family].sum())
            for family in dict.fromkeys(self.families.tolist())
        }
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def held_out_proba(self) -> FloatArray:
        """Return probabilities (l, K) of each label when weights, shares and threshold are computed without it."""
        l, K, codes = len(self._codes), self.n_classes, self._codes
        weights = self._weights((self.losses.sum(axis=1, keepdims=True) - self.losses).T)
        own = np.einsum("ij,jik->ik", weights, class_probabilities(self._held + self._moves))
        log_p = np.log(np.maximum(own, 1e-300))
        if self.equal:
            return np.exp(_normalized(log_p))
        some = self._sampled()
        out = np.empty((l, K))
        m = some.shape[1]
        for rows in _batches(l, m * K):
            # One product for many labels: reading all candidates once per label takes longer than the sums.
            means = np.log(np.maximum(weights[rows] @ some.reshape(-1, m * K), 1e-300)).reshape(-1, m, K)
            for i, mean in enumerate(means, start=rows.start):
                counts = self.counts - (np.arange(K) == codes[i])
                out[i] = log_p[i] + self._offsets(mean, counts, self.offsets)
        return np.exp(_normalized(out))

    def forget(self) -> None:
        """Drop what predictions for new samples do not need: held-out decisions, and candidates without weight."""
        groups, kept = [], self.used
        for group, own, _ in _placed(self.groups, kept):
            if len(own):
                names, nothing = [group.names[j] for j in own], np.empty((len(own), 0, group.intercept.shape[1]))
                # In one order in memory: a copy in a file decides the same to the last bit.
                coefficients = np.ascontiguousarray(group.coefficients[:, own])
                groups.append(
                    CandidateGroup(group.family, group.map, names, coefficients, group.intercept[own], nothing, nothing)
                )
        self.groups, self._held, self._moves, self.losses = _reduced(groups), np.empty(0), np.empty(0), np.empty(0)
        for name in ("families", "names", "weights", "_centres", "_slopes", "_log_prior"):
            setattr(self, name, getattr(self, name)[kept])

    def _sampled(self) -> FloatArray:
        """Return the probabilities of all candidates at some samples, (J, m, K)."""
        n = len(self.groups[0].map.values)
        m = min(n, self.constants.sampled, max(100, 4 * _ENTRIES // (len(self.weights) * self.n_classes)))
        rows = np.random.default_rng(self._seed).choice(n, m, replace=False)
        out = np.empty((len(self.weights), m, self.n_classes))
        for group, own, at in _placed(self.groups, np.ones(len(out), dtype=bool)):
            p = class_probabilities(self._scores(group, group.map.values[rows], own, at))
            out[at] = p.transpose(1, 0, 2)
        return out


def _placed(groups: Sequence[CandidateGroup], used: BoolArray) -> Iterator[tuple[CandidateGroup, IntArray, IntArray]]:
    """Yield each group, which of its candidates are used, and where these are among all."""
    start = 0
    for group in groups:
        own = np.flatnonzero(used[start : start + len(group.names)])
        yield group, own, start + own
        start += len(group.names)


def _mattering(weights: FloatArray) -> BoolArray:
    return np.asarray(weights > _LEAST_WEIGHT * weights.max())


def _normalized(log_p: FloatArray) -> FloatArray:
    return np.asarray(log_p - logsumexp(log_p, axis=1, keepdims=True))


def _batches(m: int, columns: int) -> list[slice]:
    step = max(1, _ENTRIES // max(1, columns))
    return [slice(start, start + step) for start in range(0, m, step)]


def _values_at(groups: Sequence[CandidateGroup], used: BoolArray, X: Matrix) -> list[FloatArray]:
    """Return the features of new samples for each group, none for groups that are not read."""
    known: Known = {}
    nothing = np.empty((X.shape[0], 0))
    return [
        once(known, id(group.map), partial(group.map.at, X, known)) if len(own) else nothing
        for group, own, _ in _placed(groups, used)
    ]


def _reduced(groups: Sequence[CandidateGroup]) -> list[CandidateGroup]:
    """Return groups whose maps have one feature per score, where these are less than half of the features."""
    shared: dict[int, list[int]] = {}
    for at, group in enumerate(groups):
        shared.setdefault(id(group.map), []).append(at)
    out = list(groups)
    for members in shared.values():
        r = len(groups[members[0]].coefficients)
        flat = [groups[at].coefficients.reshape(r, -1) for at in members]
        columns = np.concatenate(flat, axis=1)
        few = groups[members[0]].map.reduced(columns) if 2 * columns.shape[1] <= r else None
        if few is None:
            continue
        ends = np.cumsum([part.shape[1] for part in flat])
        for at, part, end in zip(members, flat, ends, strict=True):
            unit = np.eye(columns.shape[1])[:, end - part.shape[1] : end]
            group = groups[at]
            coefficients = np.ascontiguousarray(unit).reshape(-1, *group.coefficients.shape[1:])
            out[at] = replace(group, map=few, coefficients=coefficients)
    return out
