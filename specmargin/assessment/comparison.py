"""Rows of a comparison: errors at left-out labels, the exact McNemar test against the baseline with Holm, and words.

The mathematics of one row is `specmargin.candidates.comparison`; this adds Holm's correction over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from specmargin.assessment.evaluation import Outcome, log_loss
from specmargin.candidates import compare_errors, error_estimate
from specmargin.candidates.comparison import FEWEST
from specmargin.typing import FloatArray, IntArray

__all__ = ["FEWEST", "Row", "compare_outcomes", "holm"]

_LEVEL = 0.05
_NAN = float("nan")


@dataclass(frozen=True)
class Row:
    """One method against the supervised baseline.

    Parameters
    ----------
    name, title : str
    error : float
        At left-out labels, (wrong + 1/2) / (l + 1); nan with fewer than 10 labels, as all that is counted.
    interval : tuple of float
        95 % interval of the counted errors, which holds in about 80 % of cases.
    balanced_accuracy : float
        Mean over the classes of the share of left-out labels that is right.
    log_loss : float
        Mean of -log of the probability of the right class, in nats.
    wins, losses : int
        Left-out labels that it alone has right, and that the baseline alone has right.
    p : float
        Of the exact one-sided McNemar test that it is better, corrected by Holm over the rows.
    p_worse : float
        Of the test that it is worse, corrected likewise.
    power : float
        Probability that this test shows a method of half the baseline's error.
    differs : float
        Share of the unlabelled rows that it decides otherwise than the baseline.
    seconds, megabytes : float
        Of tuning, judging and fitting.
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


def compare_outcomes(outcomes: Sequence[Outcome], codes: IntArray, baseline: str) -> list[Row]:
    """Return the row of each outcome.

    Parameters
    ----------
    outcomes : sequence of Outcome
    codes : ndarray of shape (n,)
        Classes, -1 for unlabelled rows.
    baseline : str
        Name of the outcome that all are compared with; if it was not run, nothing is compared.
    """
    known, hidden = codes[codes >= 0], codes < 0
    reference = next((one for one in outcomes if one.name == baseline and one.was_run), None)
    rows = [_row(one, reference, known, hidden) for one in outcomes]
    tested = [k for k, row in enumerate(rows) if np.isfinite(row.p) and row.name != "majority"]
    better, worse = holm([rows[k].p for k in tested]), holm([rows[k].p_worse for k in tested])
    for at, k in enumerate(tested):
        row = replace(rows[k], p=float(better[at]), p_worse=float(worse[at]))
        rows[k] = replace(row, verdict=_verdict(row, len(known)))
    return rows


def _row(one: Outcome, reference: Outcome | None, known: IntArray, hidden: npt.NDArray[np.bool_]) -> Row:
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
    if reference is not None and one is not reference:
        decided, other = (outcome.probabilities[hidden].argmax(axis=1) for outcome in (one, reference))
        row = replace(row, differs=float(np.mean(decided != other)))
    if len(known) < FEWEST:
        return replace(row, verdict=_TOO_FEW if one is not reference else "the baseline")
    wrong = one.held_out.argmax(axis=1) != known
    estimate = error_estimate(wrong)
    row = replace(
        row,
        error=estimate.error,
        interval=estimate.interval,
        balanced_accuracy=1.0 - float(np.mean([wrong[known == c].mean() for c in np.unique(known)])),
        log_loss=log_loss(one.held_out, known),
    )
    if reference is None:
        return replace(row, verdict="the supervised baseline was not run")
    if one is reference:
        return replace(row, verdict="the baseline")
    test = compare_errors(wrong, reference.held_out.argmax(axis=1) != known, row.differs)
    row = replace(row, wins=test.gains, losses=test.losses, p=test.p_better, p_worse=test.p_worse, power=test.power)
    return replace(row, verdict="looks at no feature") if one.name == "majority" else row


_TOO_FEW = "too few labels to judge"


def _verdict(row: Row, n_labeled: int) -> str:
    if row.p < _LEVEL:
        return "better than supervised" if not row.is_supervised else "better than the baseline"
    if row.p_worse < _LEVEL:
        verdict = "worse: take the supervised one" if not row.is_supervised else "worse than the baseline"
    elif row.power < 0.5:
        verdict = f"cannot tell with {n_labeled} labels (power {row.power:.2f} for halving the error)"
    else:
        verdict = "no difference seen"
    if row.differs > 0.3 and not row.is_supervised:
        verdict += "; it decides much otherwise: check some of these rows"
    return verdict
