"""Shares of the classes that a few labels speak for, and scores that are balanced by them.

A few labels say little of how large the classes are. `shrunken_shares` is the estimate that every classifier of the
package uses, the mean of the posterior under two labels of each class that nobody gave, and `credible_shares` its
interval. `cut` is the threshold that leaves a share of the scores above.

With few labels the decisions of one class may all be lower than those of another, whichever sample of it was
labelled. Each rule of `Balance` is an affine map per class whose numbers come from all training samples, and which new
samples get, too. With two classes there is one score, and balancing moves its threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.special import betaincinv
from scipy.stats import chisquare

from specmargin.exceptions import InvalidInputError
from specmargin.labels.encoding import Labels
from specmargin.typing import AnyArray, FloatArray, IntArray

__all__ = [
    "CUT_LABELS",
    "UNDECIDED",
    "Balance",
    "codes_of",
    "credible_shares",
    "cut",
    "in_force",
    "known_shares",
    "shrunken_cut",
    "shrunken_shares",
    "sparse_share",
]

CUT_LABELS = 20.0
"""Labels of two classes up to which they and the gaps between the scores alone decide where scores are cut."""

UNDECIDED = 1e-9
"""Of the largest decision: up to here the sign of a decision, or the order of two, is that of rounding."""

_EQUAL = 0.05  # at which label counts reject equal classes
_LEVEL = 0.05  # of the credible intervals
_PSEUDO_LABELS = 2.0  # per class
_TRUSTED = 10.0  # labels, up to which their shares alone decide where scores are cut
_SUM = 1e-6  # by which known shares may miss one
_TIED = 1e-9  # of the size of the scores
_MORE_PSEUDO_LABELS = 10.0  # per class where sparse scores have a say
_TAIL = 0.02  # of the scores on either side, beyond which none is cut
_BINS, _WIDTH = 200, 10.0  # of a histogram of scores, and the bins that smooth it
_POWER, _FLOOR = 5.0, 0.1  # of the density, in units of its mean: no gap is so empty that labels have no say


def shrunken_shares(counts: FloatArray | IntArray, pseudo_labels: float = _PSEUDO_LABELS) -> FloatArray:
    """Return the shares (K,) of the classes that label counts (K,) speak for, with two more labels of each class.

    They are the means of the Dirichlet posterior; with few labels they lie near equal shares.

    Examples
    --------
    >>> shrunken_shares(np.array([1, 5])).tolist()
    [0.3, 0.7]
    """
    more = np.asarray(counts) + pseudo_labels
    return np.asarray(more / more.sum())


def sparse_share(scores: FloatArray, counts: FloatArray | IntArray) -> float:
    r"""Return the share of the scores above a cut where they are sparse, as far as the labels' shares allow.

    With few labels neither their shares nor the gaps between the scores say well where to cut; both together say more.
    A cut t between a low and a high percentile of the scores gets the weight

    .. math:: s(t)^{l_1 + a - 1} (1 - s(t))^{l_0 + a - 1} \, / \, (p(t) + 0.1)^5 ,

    s the share of the scores above it, p their density in units of its mean, by a kernel of a twentieth of that range,
    and a the pseudo-labels of each class, 10 up to 20 labels, 200 / l beyond, and at least 2. Below ten labels, whose
    scores have gaps anywhere, the mean of these shares counts (l - 2) / 8, `shrunken_shares` the rest. The percentiles
    are the 2nd and the 98th, or lie half the share of the rarer class from either end if that is less. A share outside
    of the interval of `credible_shares` becomes the nearer end of it.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Scores of all samples; an affine map of them changes nothing.
    counts : ndarray of shape (2,)
        Labels of each class.

    Notes
    -----
    The constants were chosen on half of the sets of the table ``auto_ssl``, as those of `specmargin.AutoSSL`.

    Examples
    --------
    >>> scores = np.concatenate([np.linspace(-2, -1, 70), np.linspace(1, 2, 30)])
    >>> [round(sparse_share(scores, np.array(counts)), 2) for counts in ([1, 1], [5, 5], [300, 300])]
    [0.5, 0.3, 0.5]
    """
    told = shrunken_shares(counts)
    tail = min(_TAIL, float(told.min()) / 2.0)
    low, high = np.quantile(scores, [tail, 1.0 - tail])
    if high - low <= _TIED * float(np.abs(scores).max()):
        return float(told[1])  # equal scores are sparse nowhere
    n, ordered = len(scores), np.clip(np.sort(scores), low, high)
    at = (ordered - low) / (high - low) * _BINS
    # Each score is shared by the bins to both sides: all that follows is continuous in the scores, copies or not.
    left = np.minimum(at.astype(np.intp), _BINS - 1)
    mass = np.bincount(left, 1.0 - (at - left), _BINS + 1) + np.bincount(left + 1, at - left, _BINS + 1)
    smooth = gaussian_filter1d(mass, _WIDTH, mode="reflect")
    gaps = np.flatnonzero(np.diff(at) > 0.0)
    density = np.interp((at[1:] + at[:-1])[gaps] / 2.0, np.arange(_BINS + 1), smooth / smooth.mean())
    share = 1.0 - (gaps + 1) / n
    l = float(np.sum(counts))
    pseudo = max(_PSEUDO_LABELS, _MORE_PSEUDO_LABELS * min(1.0, CUT_LABELS / max(l, 1.0)))
    l0, l1 = np.asarray(counts, dtype=np.float64) + pseudo - 1.0
    log_weight = l1 * np.log(share) + l0 * np.log1p(-share) - _POWER * np.log(density + _FLOOR)
    weight = np.exp(log_weight - log_weight.max()) * np.diff(at)[gaps]
    seen = min(1.0, max(0.0, l - 2.0) / (_TRUSTED - 2.0))
    (_, least), (_, most) = credible_shares(counts)
    return float(np.clip(seen * (share @ weight / weight.sum()) + (1.0 - seen) * told[1], least, most))


def credible_shares(counts: FloatArray | IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the credible intervals of the shares of the classes, each (K,).

    With two classes they are the 95 % intervals of Beta(l1 + 2, l0 + 2); with K they are those of the Dirichlet
    posterior at the level 1 - 0.05 / K, so that all of them hold at once in 95 % of cases.

    Examples
    --------
    >>> [ends.round(2).tolist() for ends in credible_shares(np.array([3, 1]))]
    [[0.29, 0.1], [0.9, 0.71]]
    """
    more = np.asarray(counts) + _PSEUDO_LABELS
    tail = _LEVEL / 2.0 / (1 if len(more) == 2 else len(more))
    # Not scipy.stats.beta, which takes three hundred times as long: searches ask at every fit and fold.
    low, high = (np.asarray(betaincinv(more, more.sum() - more, p)) for p in (tail, 1.0 - tail))
    return low, high


def known_shares(name: str, shares: Mapping[Any, Any], classes: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends (K,) of known shares of the classes, in their order, as far as those of the others allow.

    Parameters
    ----------
    name : str
        What an error calls them.
    shares : mapping
        Share of each class, or an interval (low, high) of it.
    classes : ndarray of shape (K,)
        Class values.

    Raises
    ------
    ValueError
        If other classes are named than there are, a share is no number from 0 to 1, or no shares of sum one are there.

    Examples
    --------
    >>> low, high = known_shares("class_balance", {0: (0.5, 0.7), 1: (0.2, 1.0)}, np.array([0, 1]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.5, 0.3], [0.7, 0.5])
    """
    names = classes.tolist()
    remedy = f"pass a share, or (low, high), for each of the classes {names}, which can sum to 1."
    if set(shares) != set(names):
        raise InvalidInputError(
            f"{name}={dict(shares)!r} names the classes {list(shares)}, but the labels are of {names}; {remedy}"
        )
    pairs = [value if isinstance(value, tuple | list) else (value, value) for value in map(shares.get, names)]
    try:
        low, high = np.array(pairs, dtype=np.float64).T
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name}={dict(shares)!r} are no shares; {remedy}") from None
    if not ((low >= 0.0) & (low <= high) & (high > 0.0) & (high <= 1.0)).all():
        raise InvalidInputError(f"{name}={dict(shares)!r} are no shares from 0 to 1; {remedy}")
    if low.sum() > 1.0 + _SUM or high.sum() < 1.0 - _SUM:
        least, most = float(low.sum()), float(high.sum())
        total = f"their sum is {least:.6g}" if least == most else f"their sum is from {least:.6g} to {most:.6g}"
        raise InvalidInputError(f"{name}={dict(shares)!r}: {total}, which is never 1; {remedy}")
    return np.maximum(low, 1.0 - (high.sum() - high)), np.minimum(high, 1.0 - (low.sum() - low))


def cut(scores: FloatArray, share: float, *, unit: float | None = None) -> float:
    """Return the threshold above which about a share of the scores lies: never within copies, never beyond all.

    It lies half-way between two scores that differ: those that are equal but for rounding stay together, and there are
    scores on both sides wherever two differ. Of two such places that are equally near the wider one is taken, so that
    scores of the other sign are cut at the same place; of those that are equally wide, too, but for rounding, the upper
    one. It is 0 where all are equal.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    share : float
    unit : float, optional
        Scores closer than 1e-9 of it, or of their own size, are those of copies; by default 1e-9 of the range.

    Examples
    --------
    >>> cut(np.array([0.0, 1.0, 1.0, 2.0]), 0.3), cut(np.array([0.0, 1.0, 2.0, 3.0]), 0.5)
    (1.5, 1.5)
    """
    ordered = np.sort(scores)
    size = ordered[-1] - ordered[0] if unit is None else np.maximum(np.abs(ordered[1:]), unit)
    below = 1 + np.flatnonzero(np.diff(ordered) > _TIED * size)
    if len(below) == 0:
        return 0.0
    distance = np.abs(below - (1.0 - share) * len(scores))
    near = below[distance <= distance.min() + _TIED]
    widths = ordered[near] - ordered[near - 1]
    at = near[np.flatnonzero(widths >= (1.0 - _TIED) * widths.max())[-1]]
    return float(ordered[at - 1] + (ordered[at] - ordered[at - 1]) / 2.0)


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
    rejected = rule == "zscore" and chisquare(labels.counts).pvalue < _EQUAL
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
    trust = min(1.0, CUT_LABELS / max(labels.n_labeled, 1))
    return cut(f, float(trust * sparse_share(f, labels.counts) + (1.0 - trust) * np.mean(f > 0)))
