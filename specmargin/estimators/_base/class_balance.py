"""Comparing the scores of the classes: `Balance` for classifiers with `class_balance`.

With few labels the decisions of one class may all be lower than those of another, whichever sample of it was
labelled. Each rule is an affine map per class whose numbers come from all training samples; `Balance` keeps them for
new samples. With two classes there is one score, and balancing moves its threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chisquare

from specmargin.labels import Labels
from specmargin.labels.shares import CUT_LABELS, cut, known_shares, sparse_share, trust_in_shares
from specmargin.typing import FloatArray, IntArray

UNDECIDED = 1e-9
"""Of the largest decision: up to here the sign of a decision, or the order of two, is that of rounding."""

_LEVEL = 0.05  # at which label counts reject equal classes


@dataclass(frozen=True, eq=False)
class Balance:
    """The map ``scores * slope + offset``, with numbers per class, of shape () or (K,)."""

    slope: FloatArray
    offset: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return balanced scores, of training or of new samples."""
        return scores * self.slope + self.offset

    @property
    def is_identity(self) -> bool:
        """Whether scores are compared as they are."""
        return bool((self.slope == 1).all() and (self.offset == 0).all())

    @classmethod
    def of(cls, scores: FloatArray, labels: Labels, rule: Any) -> Balance:
        r"""Return the map that a rule finds on the scores of all training samples, (n,) or (n, K).

        "shrunk": the threshold of two classes at the cut of `shrunken_cut`; for more classes it is "zscore".
        "zscore": each class less its mean, over its standard deviation, which supposes classes of similar size;
        scores stay as they are where the label counts reject equal classes (chi-square test, 5 % level).
        "mass": class mass normalisation (Zhu, Ghahramani & Lafferty, Semi-supervised learning using Gaussian fields
        and harmonic functions, ICML 2003). With :math:`h = (1 + f) / 2` the share of a class in a sample, compared
        are :math:`q_k h_{ik} / \frac1n \sum_i \max(0, h_{ik})`, q the label proportions. None: as they are.
        A mapping, known shares: each class less its threshold, 0 where the share above 0 is in the class's interval,
        else where the nearer end of that lies above. Two classes have the shares then; more have them where each sample
        lies above the threshold of one class.

        Examples
        --------
        >>> from specmargin.labels import encode_labels
        >>> scores, labels = np.array([-1.0, 1.0, 0.5, 0.5]), encode_labels([0, 1, -1, -1])
        >>> Balance.of(scores, labels, "mass")(scores).round(3).tolist()
        [-1.333, 0.8, 0.267, 0.267]
        """
        if rule == "shrunk" and labels.is_binary:
            return cls(np.asarray(1.0), np.asarray(-shrunken_cut(scores, labels)))
        rule = in_force(rule, labels)
        if isinstance(rule, Mapping):
            low, high = known_shares("class_balance", rule, labels.classes)
            columns = scores[:, None] if scores.ndim == 1 else scores
            k, rounding = columns.shape[1], UNDECIDED * float(np.abs(scores).max())
            parts = zip(columns.T, low[-k:], high[-k:], strict=True)
            cuts = np.array([_cut_within(f, least, most, rounding) for f, least, most in parts])
            return cls(np.ones(scores.shape[1:]), -cuts.reshape(scores.shape[1:]))
        if rule is None:
            return cls(np.ones(scores.shape[1:]), np.zeros(scores.shape[1:]))
        if rule == "zscore":
            deviation = scores.std(axis=0)
            # Constant but for rounding: nothing to scale up.
            slope = 1.0 / np.where(deviation > 1e-12 * np.abs(scores).max(), deviation, 1.0)
            return cls(slope, -scores.mean(axis=0) * slope)
        shares = (1.0 + (np.column_stack([-scores, scores]) if scores.ndim == 1 else scores)) / 2.0
        mass = np.maximum(shares, 0.0).mean(axis=0)
        counts = labels.counts
        weights = counts / counts.sum() / np.where(mass > 0, mass, 1.0)
        if scores.ndim > 1:
            return cls(weights / 2.0, weights / 2.0)
        # q_1 h / m_1 - q_0 (1 - h) / m_0
        return cls(np.asarray(weights.sum() / 2.0), np.asarray((weights[1] - weights[0]) / 2.0))


def _cut_within(f: FloatArray, low: float, high: float, rounding: float) -> float:
    """Return 0 where a share of f from `low` to `high` lies above, else the threshold of the nearer end."""
    above = float(np.mean(f > rounding))
    share = min(max(above, low), high)
    return 0.0 if share == above else cut(f, share)


def codes_of(scores: FloatArray, rounding: float = 0.0) -> IntArray:
    """Return the positions of the classes that decisions name; of those that are equal but for rounding the first.

    Otherwise equal samples would get different classes.
    """
    if scores.ndim == 1:
        return (scores > rounding).astype(np.intp)
    return np.asarray((scores >= scores.max(axis=1, keepdims=True) - rounding).argmax(axis=1))


def in_force(rule: Any, labels: Labels) -> Any:
    """Return the rule that a word means for these labels, or None where their counts speak against it.

    Known shares, a mapping, stay.
    """
    if isinstance(rule, Mapping):
        return rule
    if rule == "shrunk" and not labels.is_binary:
        rule = "zscore"
    rejected = rule == "zscore" and chisquare(labels.counts).pvalue < _LEVEL
    return None if rejected else rule


def shrunken_cut(f: FloatArray, labels: Labels) -> float:
    """Return the threshold of two classes: in a gap between the decisions f of all samples that fits the labels.

    With s of `sparse_share` and A = min(1, 20 / l) it is a share A s + (1 - A) t, t the share above 0.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> shrunken_cut(np.array([0.1, 0.2, 0.3, 0.9]), encode_labels([0, 1, -1, -1]))  # half of them
    0.25
    """
    trust = trust_in_shares(labels.n_labeled, CUT_LABELS)
    return cut(f, float(trust * sparse_share(f, labels.counts) + (1.0 - trust) * np.mean(f > 0)))
