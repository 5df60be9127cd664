"""Which method to take, what to do next, and how many false labels would decide how much, in words."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from specmargin.estimators import LapRLS, SpectralFilterClassifier, SpectralRidge
from specmargin.exceptions import InvalidInputError, SpecmarginError
from specmargin.tables.assessment.comparison import FEWEST, Row, labels_needed
from specmargin.tables.assessment.methods import BASELINE

__all__ = ["choose", "next_steps", "told_false_labels"]


def choose(rows: Sequence[Row], n_labeled: int) -> tuple[str, str]:
    """Return the name of the method to be used, and why."""
    ran = {row.name: row for row in rows if row.was_run and row.name not in ("majority", "mean")}
    if not ran:
        reasons = "; ".join(f"{row.title}: {', '.join(row.notes)}" for row in rows if not row.was_run)
        raise InvalidInputError(f"no method could be run ({reasons}); allow more time or memory, or name others.")
    better = [row for row in ran.values() if row.verdict.startswith("better than supervised")]
    if better:
        best = min(better, key=_loss)
        return best.name, f"It is {best.verdict} (p = {best.p:.3f})."
    if "AutoSSL" in ran and not ran["AutoSSL"].verdict.startswith("worse"):
        why = (
            "No method is shown to be better"
            if n_labeled >= FEWEST
            else f"With {n_labeled} labels nothing can be counted"
        )
        return "AutoSSL", f"{why}; its mixture holds supervised classifiers, too."
    for name in (BASELINE, "ridge"):
        if name in ran:
            return name, "No method that uses unlabelled rows is shown to be better."
    return min(ran.values(), key=_loss).name, "It has the least log-loss of those that were run."


def _loss(row: Row) -> float:
    return next((value for value in (row.log_loss, row.error) if np.isfinite(value)), np.inf)


def next_steps(rows: Sequence[Row], name: str, n_labeled: int) -> list[str]:
    """Return what to do next, in words."""
    l: int = n_labeled
    steps: list[str] = []
    row = next(one for one in rows if one.name == name)
    if l < FEWEST:
        steps.append(f"Label at least {FEWEST - l} more rows: below {FEWEST} labels no error can be counted.")
    elif np.isfinite(row.power) and row.power < 0.5:
        needed = labels_needed(next((one.error for one in rows if one.verdict == "the baseline"), np.nan))
        if needed:
            steps.append(f"A method of half the error would be told from the baseline with about {needed} labels.")
        else:
            steps.append("So few labels are wrong that even 5000 would not tell the methods apart: take the simplest.")
    if np.isfinite(row.differs) and row.differs > 0:
        steps.append(
            f"Check rows that it decides otherwise than the supervised baseline ({row.differs:.0%} of the unlabelled "
            "ones): labels there say most."
        )
    return steps


_NONE = (
    "False labels: of {} it is not told how many labels decide, because its decisions are no linear map of the labels; "
    "SpectralRidge().fit(X, y).label_robustness() tells it of another classifier."
)


def told_false_labels(estimator: Any, title: str) -> str:
    """Return how many labels decide how many predictions of a fitted classifier, in words; or why that is not told.

    The classifiers are those whose answer is exact and costs no more than a fit, each set of labels a product. Named
    are three labels, chosen one after the other: each changes predictions when it is false alone, so that their share
    is a lower bound of what as many false labels can change.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    >>> clf = sm.SpectralRidge().fit(X, sm.hide_labels(truth, per_class=3, random_state=0))
    >>> told_false_labels(clf, "SpectralRidge")[:35]
    'False labels: 3 of 6 labels (rows 3'
    """
    own = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(own, LapRLS | SpectralRidge | SpectralFilterClassifier):
        return _NONE.format(title)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fewer labels, and what fit reported
            robust = own.label_robustness(max_flips=1)
    except (SpecmarginError, MemoryError) as error:
        return f"False labels: of {title} it is not told how many labels decide: {error}"
    (rows, share), l = robust.deciding(), len(robust.labeled)
    fixed = "" if own is estimator else ", its parameters held fixed"
    if not len(rows):
        return f"False labels: none of the {l} labels changes a prediction of {title} when it alone is false{fixed}."
    named = ", ".join(map(str, rows.tolist()))
    return (
        f"False labels: {len(rows)} of {l} labels (rows {named}) decide {share:.0%} of the predictions of "
        f"{title}{fixed}. Each changes some when it alone is false, so that together they may change more; look at "
        "them twice."
    )
