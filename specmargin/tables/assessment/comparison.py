"""Rows of a comparison: errors at left-out labels, the exact McNemar test against the baseline with Holm, and words.

The mathematics of one row is `specmargin.estimators.comparison`; this adds Holm's correction over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, norm

from specmargin.estimators.comparison import FEWEST, compare_errors, error_estimate, mcnemar_power
from specmargin.tables.assessment.evaluation import Outcome, log_loss
from specmargin.tables.assessment.measurement import labeled_rows
from specmargin.typing import AnyArray, FloatArray, IntArray

__all__ = [
    "FEWEST",
    "Row",
    "compare_outcomes",
    "error_of_choice",
    "holm",
    "labels_needed",
    "relative_error",
    "told_help",
]

_LEVEL = 0.05
_NAN = float("nan")
_BLIND = ("majority", "mean")
"""Methods that look at no feature."""


@dataclass(frozen=True)
class Row:
    """One method against the supervised baseline.

    Parameters
    ----------
    name, title : str
    error : float
        Error at left-out labels, (wrong + 1/2) / (l + 1); nan with fewer than 10 labels, as all that is counted.
    interval : tuple of float
        95 % interval of the counted errors, which holds in about 80 % of cases.
    balanced_accuracy : float
        Mean over the classes of the share of left-out labels that is right.
    log_loss : float
        Mean of -log of the probability of the right class, in nats.
    wins, losses : int
        Left-out labels that it alone has right, and that the baseline alone has right.
    p : float
        P-value of the exact one-sided McNemar test that it is better, corrected by Holm over the rows.
    p_worse : float
        P-value of the test that it is worse, corrected likewise.
    power : float
        Probability that this test shows a method of half the baseline's error.
    differs : float
        Share of the unlabelled rows that it decides otherwise than the baseline.
    seconds, megabytes : float
        Seconds and megabytes of tuning, judging and fitting.
    chosen, judged, verdict : str
    notes : tuple of str
    is_supervised, was_run : bool
    """

    name: str
    title: str
    error: float = _NAN
    interval: tuple[float, float] = (_NAN, _NAN)
    balanced_accuracy: float = _NAN
    log_loss: float = _NAN
    wins: int = 0
    losses: int = 0
    p: float = _NAN
    p_worse: float = _NAN
    power: float = _NAN
    differs: float = _NAN
    seconds: float = _NAN
    megabytes: float = _NAN
    chosen: str = ""
    judged: str = ""
    verdict: str = ""
    notes: tuple[str, ...] = ()
    is_supervised: bool = False
    was_run: bool = True


def holm(p: npt.ArrayLike) -> FloatArray:
    """Return p-values (k,) corrected for k tests by Holm's step-down method.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p, dtype=float)
    order = np.argsort(given, kind="stable")
    stepped = np.maximum.accumulate(given[order] * (len(given) - np.arange(len(given))))
    out = np.empty(len(given))
    out[order] = np.minimum(stepped, 1.0)
    return out


def compare_outcomes(outcomes: Sequence[Outcome], codes: AnyArray, baseline: str) -> list[Row]:
    """Return the row of each outcome.

    Parameters
    ----------
    outcomes : sequence of Outcome
    codes : ndarray of shape (n,)
        Classes, -1 for unlabelled rows.
    baseline : str
        Name of the outcome that all are compared with; if it was not run, nothing is compared.
    """
    labelled = labeled_rows(codes)
    known, hidden = codes[labelled], ~np.isin(np.arange(len(codes)), labelled)
    reference = next((one for one in outcomes if one.name == baseline and one.was_run), None)
    rows = [_row(one, reference, known, hidden) for one in outcomes]
    before = next((row.error for row in rows if reference is not None and row.name == reference.name), _NAN)
    tested = [k for k, row in enumerate(rows) if np.isfinite(row.p) and row.name not in _BLIND]
    better, worse = holm([rows[k].p for k in tested]), holm([rows[k].p_worse for k in tested])
    for at, k in enumerate(tested):
        row = replace(rows[k], p=float(better[at]), p_worse=float(worse[at]))
        rows[k] = replace(row, verdict=_verdict(row, len(known), before))
    return rows


def _row(one: Outcome, reference: Outcome | None, known: AnyArray, hidden: npt.NDArray[np.bool_]) -> Row:
    row = Row(
        one.name,
        one.title,
        chosen=one.chosen,
        judged=one.judged,
        seconds=one.seconds,
        megabytes=one.peak_bytes / 1e6,
        notes=tuple(one.notes),
        is_supervised=one.is_supervised,
        was_run=one.was_run,
    )
    if not one.was_run:
        return replace(row, verdict="not run")
    of_numbers = known.dtype.kind == "f"
    if not of_numbers and reference is not None and one is not reference and hidden.any():
        decided, other = (outcome.probabilities[hidden].argmax(axis=1) for outcome in (one, reference))
        row = replace(row, differs=float(np.mean(decided != other)))
    if len(known) < FEWEST:
        return replace(row, verdict=_TOO_FEW if one is not reference else "the baseline")
    row = (_of_numbers if of_numbers else _of_classes)(row, one, reference, known)
    if reference is None:
        return replace(row, verdict="the supervised baseline was not run")
    verdict = "the baseline" if one is reference else "looks at no feature" if one.name in _BLIND else row.verdict
    return replace(row, verdict=verdict)


def _of_classes(row: Row, one: Outcome, reference: Outcome | None, known: IntArray) -> Row:
    """Add errors at left-out labels, and McNemar's test against the reference."""
    wrong = one.held_out.argmax(axis=1) != known
    estimate = error_estimate(wrong)
    balanced = 1.0 - float(np.mean([wrong[known == c].mean() for c in np.unique(known)]))
    loss = log_loss(one.held_out, known)
    row = replace(row, error=estimate.error, interval=estimate.interval, balanced_accuracy=balanced, log_loss=loss)
    if reference is None or one is reference:
        return row
    test = compare_errors(wrong, reference.held_out.argmax(axis=1) != known, row.differs)
    return replace(row, wins=test.gains, losses=test.losses, p=test.p_better, p_worse=test.p_worse, power=test.power)


def _of_numbers(row: Row, one: Outcome, reference: Outcome | None, known: FloatArray) -> Row:
    """Add the relative error at left-out labels, and the sign test against the reference."""
    residuals, rng = one.held_out[:, 0] - known, np.random.default_rng(0)
    drawn = np.sqrt((residuals[rng.integers(len(known), size=(500, len(known)))] ** 2).mean(axis=1)) / known.std()
    low, high = np.quantile(drawn, [0.025, 0.975])
    row = replace(row, error=relative_error(residuals, known), interval=(float(low), float(high)))
    if reference is None or one is reference:
        return row
    ours, theirs = np.abs(residuals), np.abs(reference.held_out[:, 0] - known)
    wins, losses = int((ours < theirs).sum()), int((ours > theirs).sum())
    p, p_worse = (float(binom.sf(k - 1, wins + losses, 0.5)) for k in (wins, losses))
    return replace(row, wins=wins, losses=losses, p=p, p_worse=p_worse)


def relative_error(residuals: FloatArray, labels: FloatArray) -> float:
    """Return the root of the mean squared error in units of the labels' standard deviation.

    Examples
    --------
    >>> relative_error(np.array([1.0, -1.0]), np.array([0.0, 4.0]))
    0.5
    """
    return float(np.sqrt((residuals**2).mean()) / labels.std())


def labels_needed(error: float) -> int | None:
    """Return about how many labels show a halving of an error with probability 0.8; None for more than 5000.

    Examples
    --------
    >>> labels_needed(0.4), labels_needed(0.1), labels_needed(0.001)
    (70, 300, None)
    """
    for n in (10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000):
        if mcnemar_power(error, error / 2.0, n) >= 0.8:
            return n
    return None


def told_help(rows: Sequence[Row], n_labeled: int, of_numbers: bool = False) -> str:
    """Return whether unlabelled rows helped, in a sentence with its numbers.

    One comparison, fixed beforehand: AutoSSL, or else the first method that uses unlabelled rows, against the
    supervised baseline, at the same left-out labels. The interval is that of Bonett and Price (2012) for the difference
    of two paired shares.

    Examples
    --------
    >>> rows = [Row("svm", "tuned SVM", verdict="the baseline", is_supervised=True), Row("AutoSSL", "AutoSSL", wins=9)]
    >>> told_help(rows, 60).partition(":")[0]
    'Unlabelled rows helped'
    """
    before = next((row for row in rows if row.verdict == "the baseline"), None)
    ran = [row for row in rows if row.was_run and not row.is_supervised and row is not before]
    row = min(ran, key=lambda row: row.name != "AutoSSL", default=None)
    if n_labeled < FEWEST:
        return f"{_NOT_TOLD}: {n_labeled} labels are too few to count errors."
    if before is None or row is None:
        return f"{_NOT_TOLD}: no {'method that uses them' if before else 'supervised baseline'} was run."
    gains, losses = ((count + 1.0) / (n_labeled + 2.0) for count in (row.wins, row.losses))
    half = norm.ppf(0.975) * np.sqrt((gains + losses - (gains - losses) ** 2) / (n_labeled + 2.0))
    low, high = gains - losses - half, gains - losses + half
    verdict = "Unlabelled rows helped" if low > 0 else "Unlabelled rows did harm" if high < 0 else _NOT_TOLD
    right = "is nearer to" if of_numbers else "has right"
    points = 100.0 * np.array([(row.wins - row.losses) / n_labeled, low, high])
    return (
        f"{verdict}: of {n_labeled} left-out labels there are {row.wins} that {row.title} alone {right} and "
        f"{row.losses} that the {before.title} alone {right} "
        f"({points[0]:+.1f} points, 95 % interval {points[1]:+.1f} to {points[2]:+.1f})."
    )


def error_of_choice(
    outcomes: Sequence[Outcome],
    codes: AnyArray,
    baseline: str,
    choose: Callable[[Sequence[Row], int], tuple[str, str]],
    n_draws: int = 100,
) -> tuple[float, float, float]:
    """Return the error of the chosen method without the favour of its choice, and a 95 % interval.

    The least of several errors at the same labels is too small. Labels are drawn with replacement, the choice is made
    by those that were drawn, and the error is counted at the others (the bootstrap bias correction of Tsamardinos,
    Greasidou and Borboudakis, 2018).

    Parameters
    ----------
    outcomes : sequence of Outcome
    codes : ndarray of shape (n,)
    baseline : str
    choose : callable
        Returns a name and a reason, from rows and the number of labels.
    n_draws : int, default 100
    """
    known, ran = codes[labeled_rows(codes)], [one for one in outcomes if one.was_run]
    l, rng, errors = len(known), np.random.default_rng(0), []
    if l < FEWEST:
        return _NAN, _NAN, _NAN
    names = set()
    for _ in range(n_draws):
        drawn = rng.integers(l, size=l)
        out = np.setdiff1d(np.arange(l), drawn)
        if not len(out) or len(np.unique(known[drawn])) < 2:
            continue
        some = [replace(one, held_out=one.held_out[drawn], probabilities=one.probabilities[:0]) for one in ran]
        name, _ = choose(compare_outcomes(some, known[drawn], baseline), l)
        names.add(name)
        held = next(one.held_out for one in ran if one.name == name)[out]
        if known.dtype.kind == "f":
            errors.append(relative_error(held[:, 0] - known[out], known))
        else:
            errors.append((float(np.mean(held.argmax(axis=1) != known[out])) * l + 0.5) / (l + 1.0))
    if len(names) < 2:  # every draw chooses the same: there is nothing to correct
        row = next((row for row in compare_outcomes(ran, codes, baseline) if row.name in names), Row("", ""))
        return row.error, *row.interval
    low, high = np.quantile(errors, [0.025, 0.975])
    return float(np.mean(errors)), float(low), float(high)


_NOT_TOLD = "Whether unlabelled rows help could not be told"
_TOO_FEW = "too few labels to judge"


def _verdict(row: Row, n_labeled: int, before: float) -> str:
    if row.p < _LEVEL:
        return "better than supervised" if not row.is_supervised else "better than the baseline"
    if row.p_worse < _LEVEL:
        verdict = "worse: take the supervised one" if not row.is_supervised else "worse than the baseline"
    elif row.power < 0.5:
        needed = labels_needed(before)
        told = f"about {needed}" if needed else "more than 5000"
        verdict = f"cannot tell with {n_labeled} labels: a halved error shows with {told}"
    else:
        verdict = "no difference seen"
    if row.differs > 0.3 and not row.is_supervised:
        verdict += "; it decides much otherwise: check some of these rows"
    return verdict
