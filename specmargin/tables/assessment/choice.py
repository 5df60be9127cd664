"""Which method to take, and what to do next, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.tables.assessment.comparison import FEWEST, Row, labels_needed
from specmargin.tables.assessment.methods import BASELINE

__all__ = ["choose", "next_steps"]


def choose(rows: Sequence[Row], n_labeled: int) -> tuple[str, str]:
    """Return the name of the method to be used, and why."""
    ran = [row for row in rows if row.was_run and row.name not in ("majority", "mean")]
    if not ran:
        reasons = "; ".join(f"{row.title}: {', '.join(row.notes)}" for row in rows if not row.was_run)
        raise InvalidInputError(f"no method could be run ({reasons}); allow more time or memory, or name others.")
    by_name = {row.name: row for row in ran}
    better = [row for row in ran if row.verdict.startswith("better than supervised")]
    automatic = by_name.get("AutoSSL")
    if better:
        best = min(better, key=_loss)
        return best.name, f"It is {best.verdict} (p = {best.p:.3f})."
    if automatic is not None and not automatic.verdict.startswith("worse"):
        if n_labeled < FEWEST:
            return (
                "AutoSSL",
                f"With {n_labeled} labels nothing can be counted; its mixture holds supervised classifiers, too.",
            )
        return "AutoSSL", "No method is shown to be better; its mixture holds supervised classifiers, too."
    if BASELINE in by_name or "ridge" in by_name:
        return (
            BASELINE if BASELINE in by_name else "ridge",
            "No method that uses unlabelled rows is shown to be better.",
        )
    return min(ran, key=_loss).name, "It has the least log-loss of those that were run."


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
