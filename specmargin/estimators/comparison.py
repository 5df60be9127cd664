"""Do unlabelled samples help, and how sure is that: counted errors of left-out labels against the supervised baseline.

`compare_errors` puts an error rate and an interval (Jeffreys) on each, and the exact one-sided McNemar test on their
difference; `mcnemar_power` says which difference that many labels can show at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import beta, binom

from specmargin.typing import BoolArray

__all__ = ["FEWEST", "Comparison", "ErrorEstimate", "compare_errors", "error_estimate", "mcnemar_power"]

FEWEST = 10
"""Labels below which counted errors say nothing."""
_LEVEL = 0.05
_DISAGREEMENT = 0.3


@dataclass(frozen=True)
class ErrorEstimate:
    """Errors at left-out labels.

    Parameters
    ----------
    wrong, n_labeled : int
        How many were wrong, of how many.
    error : float
        (wrong + 1/2) / (n_labeled + 1).
    interval : tuple of float
        95 % interval of Jeffreys, Beta(wrong + 1/2, right + 1/2). It is computed from the labels that chose, too: it
        holds the error on other samples in about 80 % of cases.
    """

    wrong: int
    n_labeled: int
    error: float
    interval: tuple[float, float]


def error_estimate(wrong: BoolArray) -> ErrorEstimate:
    """Return the error rate and its interval from what was wrong, (l,).

    Examples
    --------
    >>> estimate = error_estimate(np.array([True] + 19 * [False]))
    >>> round(estimate.error, 3), tuple(round(end, 3) for end in estimate.interval)
    (0.071, (0.005, 0.211))
    """
    e, l = int(wrong.sum()), len(wrong)
    low, high = beta.ppf([0.025, 0.975], e + 0.5, l - e + 0.5)
    return ErrorEstimate(e, l, (e + 0.5) / (l + 1.0), (float(low), float(high)))


@dataclass(frozen=True)
class Comparison:
    """A classifier against the supervised baseline, at left-out labels.

    Parameters
    ----------
    gains, losses : int
        Labels where only the baseline was wrong, and where only the classifier was.
    p_better, p_worse : float
        P-values of the exact one-sided McNemar test.
    power : float
        Probability that the test shows a classifier of half the baseline's error.
    disagreement : float
        Share of all samples that the two predict differently.
    verdict : str
    """

    gains: int
    losses: int
    p_better: float
    p_worse: float
    power: float
    disagreement: float
    verdict: str


def compare_errors(wrong: BoolArray, wrong_baseline: BoolArray, disagreement: float) -> Comparison:
    """Compare what was wrong, (l,), with what the baseline had wrong at the same labels.

    Parameters
    ----------
    wrong, wrong_baseline : ndarray of shape (l,)
    disagreement : float
        Share of all samples that the two predict differently.

    Examples
    --------
    >>> baseline = np.arange(40) < 12
    >>> compare_errors(np.arange(40) < 3, baseline, 0.1).verdict
    'better than supervised'
    >>> compare_errors(np.arange(40) < 11, baseline, 0.1).verdict[:26]
    'cannot tell with 40 labels'
    """
    l = len(wrong)
    gains = int((wrong_baseline & ~wrong).sum())
    losses = int((wrong & ~wrong_baseline).sum())
    p_better = float(binom.sf(gains - 1, gains + losses, 0.5))
    p_worse = float(binom.sf(losses - 1, gains + losses, 0.5))
    before = error_estimate(wrong_baseline).error
    power = mcnemar_power(before, before / 2.0, l)
    if l < FEWEST:
        verdict = "too few labels to judge"
    elif p_better < _LEVEL:
        verdict = "better than supervised"
    elif p_worse < _LEVEL:
        verdict = "worse: take the supervised one"
    elif power < 0.5:
        verdict = f"cannot tell with {l} labels (power {power:.2f} for halving the error)"
    else:
        verdict = "no difference seen"
    if disagreement > _DISAGREEMENT and not (l >= FEWEST and p_better < _LEVEL):
        verdict += "; the families disagree: check some of these points"
    return Comparison(gains, losses, p_better, p_worse, power, disagreement, verdict)


@lru_cache(maxsize=4096)  # comparisons of many draws of labels ask for the same few
def mcnemar_power(before: float, after: float, n_labeled: int, level: float = _LEVEL) -> float:
    """Return the probability that the exact one-sided McNemar test shows an error that decreases.

    Half of the smaller error is common to both classifiers.

    Parameters
    ----------
    before, after : float
        Error rates, the second the smaller one.
    n_labeled : int
    level : float, default 0.05

    Examples
    --------
    >>> round(mcnemar_power(0.4, 0.2, 100), 2), round(mcnemar_power(0.2, 0.1, 50), 2)
    (0.93, 0.35)
    """
    common = after / 2.0
    gain, loss = before - common, after - common
    discordant = np.arange(n_labeled + 1)
    # The least number of gains that rejects: P(Binomial(m, 1/2) >= gains) < level.
    needed = binom.isf(level, discordant, 0.5) + 1
    needed = np.where(binom.sf(needed - 1, discordant, 0.5) < level, needed, needed + 1)
    shown = binom.sf(needed - 1, discordant, gain / (gain + loss))
    return float(binom.pmf(discordant, n_labeled, gain + loss) @ shown)
