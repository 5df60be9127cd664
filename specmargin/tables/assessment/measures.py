"""Columns of the table of methods, in a terminal and on a page, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from specmargin.tables.assessment.comparison import Row

__all__ = ["Measure", "explanations", "measures"]


class Measure(NamedTuple):
    """A column of the table of methods: its name in a terminal, its title on a page, and the text of a row."""

    name: str
    title: str
    text: Callable[[Row], str]


def _number(field: str, form: str) -> Callable[[Row], str]:
    return lambda row: "-" if np.isnan(getattr(row, field)) else format(getattr(row, field), form)


_MEASURES = (
    Measure("error", "Error", _number("error", ".1%")),
    Measure(
        "95 % interval",
        "95 % interval",
        lambda row: "-" if np.isnan(row.error) else f"{row.interval[0]:.1%} to {row.interval[1]:.1%}",
    ),
    Measure("balanced", "Balanced accuracy", _number("balanced_accuracy", ".1%")),
    Measure("log-loss", "Log-loss (nats)", _number("log_loss", ".3f")),
    Measure(
        "+/-", "Right alone / baseline alone", lambda row: "-" if np.isnan(row.p) else f"+{row.wins} -{row.losses}"
    ),
    Measure("p", "p (Holm)", _number("p", ".3f")),
    Measure("differs", "Decides otherwise", _number("differs", ".1%")),
    Measure("seconds", "Seconds", _number("seconds", ".1f")),
    Measure("MB", "MB", _number("megabytes", ".0f")),
)
_TUNED = "every method is tuned on the labels alone; a left-out label was used neither for fitting nor for tuning."
_EXPLAINED = {
    "judged": _TUNED,
    "error": "fraction of left-out labels that is wrong, (wrong + 1/2) / (labels + 1); the 95 % interval of the "
    "counted errors holds in about 80 % of cases.",
    "balanced": "mean over the classes of the fraction that is right.",
    "log-loss": "mean of -log of the probability of the right class, in nats.",
    "+/-": "labels that it alone has right, and that the supervised baseline alone has right.",
    "p": "exact one-sided McNemar test that it is better than the baseline, Holm over the rows.",
    "differs": "fraction of the unlabelled rows that it decides otherwise than the baseline.",
    "cannot tell": "this many labels would miss a halving of the error more often than not.",
}
_EXPLAINED_NUMBERS = {
    "judged": _TUNED,
    "error": "root of the mean squared error at left-out labels, as a fraction of their standard deviation; the "
    "interval is that of 500 draws of the labels with replacement.",
    "+/-": "labels that it has come nearer to than ridge, and that ridge has come nearer to.",
    "p": "exact one-sided sign test that it comes nearer than ridge, Holm over the rows.",
}


def measures(of_numbers: bool) -> list[Measure]:
    """Return the columns of the table of methods, for classes or for labels that are numbers."""
    if not of_numbers:
        return list(_MEASURES)
    kept = [column for column in _MEASURES if column.name not in ("balanced", "log-loss", "differs")]
    return [column._replace(title="Nearer / ridge nearer") if column.name == "+/-" else column for column in kept]


def explanations(of_numbers: bool) -> list[tuple[str, str]]:
    """Return what these columns mean, each with its name."""
    return list((_EXPLAINED_NUMBERS if of_numbers else _EXPLAINED).items())
