"""One page of HTML with a whole comparison, and the columns of its table of methods, in a terminal as on the page.

The page loads nothing, and suits phones and desktops, light and dark screens. This computes what the template
``page.html`` shows; Jinja2 escapes every text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from specmargin import __version__
from specmargin.checks import visible
from specmargin.tables.assessment.columns import needed
from specmargin.tables.assessment.comparison import FEWEST, Row

__all__ = ["Measure", "explanations", "measures", "page"]


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


_SHOWN = 12
"""Rows of a table of predictions."""
_UNFOLDED = 150
"""Words of the flaws that are not folded."""
_CAPTIONS = (
    "Errors at left-out labels. The intervals come from the labels that chose, too, and hold in about 80 % of cases; "
    "two methods are compared by the test in the table, not by their intervals.",
    "Root of the mean squared error at left-out labels, as a fraction of the labels' standard deviation: 100 % is that "
    "of naming the mean. Two methods are compared by the test in the table, not by their intervals.",
)


def page(comparison: Any) -> str:
    """Return the page of a `Comparison` as text."""
    jinja2 = needed("jinja2", "the page is made with Jinja2")
    Markup = needed("markupsafe", "the page is made with Jinja2").Markup

    def written_out(value: Any) -> Any:
        return value if isinstance(value, Markup) else visible(str(value))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("specmargin", "tables/assessment"), autoescape=True, finalize=written_out
    )
    known = _facts(comparison) | _pictures(comparison, Markup)
    if len(comparison.data.classes):
        known |= _predictions(comparison)
    return environment.get_template("page.html").render(known, c=comparison, version=__version__, zip=zip) + "\n"


def _facts(c: Any) -> dict[str, Any]:
    data, ran = c.data, [row for row in c.rows if row.was_run]
    counts = [(name, int((data.codes == k).sum())) for k, name in enumerate(data.classes)]
    warned: dict[str, list[str]] = {}
    for row in ran:
        for note in row.notes:
            warned.setdefault(note, []).append(row.title)
    columns, flaws = measures(len(counts) == 0), [(flaw.kind, flaw.text) for flaw in c.flaws]
    listed, titles = [list(row.values()) for row in data.columns], {column.name: column.title for column in columns}
    facts: dict[str, Any] = {"rows": len(data.codes), "labels": data.n_labeled, "classes": len(counts)}
    return {
        "target": repr(data.target),
        "chosen": c.row(c.chosen),
        "error": c.told_error or f"With {data.n_labeled} labels no error can be told: {FEWEST} are the least.",
        "facts": [(name, n) for name, n in (facts | {"features": data.X.shape[1]}).items() if n],
        "counts": counts,
        "columns": listed,
        "columns_head": [name.capitalize() for name in data.columns[0]] if listed else [],
        "flaws": flaws,
        "n_flaws": sum(total <= _UNFOLDED for total in accumulate(len(" ".join(flaw).split()) for flaw in flaws)),
        "heads": [column.title for column in columns],
        "methods": [(row, [column.text(row) for column in columns]) for row in ran],
        "skipped": [(row.title, "; ".join(row.notes)) for row in c.rows if not row.was_run],
        "warned": [(", ".join(who), note) for note, who in warned.items()],
        "explained": [(titles.get(name, name.capitalize()), text) for name, text in explanations(len(counts) == 0)],
        "judged": [(row.title, row.judged) for row in ran],
        "error_caption": _CAPTIONS[not counts],
    }


def _pictures(c: Any, markup: Callable[[str], Any]) -> dict[str, Any]:
    """Return the pictures as SVG, by what the template calls them."""
    from specmargin.plots import subplots
    from specmargin.tables.plots import assessment

    pictures: dict[str, Any] = {}

    def draw(name: str, width: float, aspect: float, how: Callable[[Any], object], description: str) -> None:
        figure, axes = subplots(width=width, aspect=aspect)
        how(axes[0, 0])
        pictures[name] = markup(assessment.inline_svg(figure, description))

    numbers, names = not len(c.data.classes), [str(name) for name in c.data.classes]
    rows = [row for row in c.rows if row.was_run and np.isfinite(row.error)]
    if rows:
        baseline = next((row.error for row in rows if row.verdict == "the baseline"), float("nan"))
        drawn = [row.title for row in rows], [row.error for row in rows], [row.interval for row in rows], baseline
        told = "Errors: " + "; ".join(f"{row.title} {row.error:.1%}" for row in rows)
        draw(
            "errors", 3.8, (0.75 + 0.2 * len(rows)) / 3.8, lambda ax: assessment.draw_errors(ax, *drawn, numbers), told
        )
    if numbers:
        return pictures
    codes, outcome = c.data.codes[c.data.codes >= 0], c.outcomes[c.chosen]
    if len(codes) >= FEWEST and outcome.was_run and len(names) <= 40:
        counts = np.zeros((len(names), len(names)), dtype=np.intp)
        np.add.at(counts, (codes, outcome.held_out.argmax(axis=1)), 1)
        told = "; ".join(
            f"of {counts[k].sum()} labels {name!r}, {counts[k, k]} are right" for k, name in enumerate(names)
        )
        draw("confusion", 3.4, 0.8, lambda ax: assessment.draw_confusion(ax, counts, names), told)
    if curve := c.learning_curve:
        last = "; ".join(
            f"{name} {errors[-1]:.1%} with {curve.sizes[-1]} labels" for name, errors in curve.errors.items()
        )
        known = curve.sizes, curve.errors, curve.deviations
        draw("curve", 3.4, 0.72, lambda ax: assessment.draw_learning_curve(ax, *known), f"Learning curve: {last}")
    if d := c.diagnosis:
        from specmargin.tables.diagnosis.text import entries, sentences

        pictures |= {"sentences": sentences(d), "entries": entries(d)}
        panels = [subplots(width=3.4, aspect=0.85) for _ in range(4)]
        d.plot([axes[0, 0] for _, axes in panels])
        titles = ("Graph and labels", "Eigenvalues of the graph", "Degrees and hubs", "Labels against chance")
        drawings = zip(panels, titles, strict=True)
        pictures["diagnosis"] = [markup(assessment.inline_svg(figure, title)) for (figure, _), title in drawings]
    return pictures


def _predictions(c: Any) -> dict[str, Any]:
    p, classes = c.predictions, c.data.classes
    hidden, best = np.flatnonzero(~p.labeled), p.probabilities.argmax(axis=1)
    order = np.argsort(-p.probabilities, axis=1, kind="stable")

    def lines(rows: Iterable[int], other: Any) -> list[tuple[Any, ...]]:
        return [(i + 1, classes[best[i]], f"{p.probabilities[i, best[i]]:.2f}", classes[other[i]]) for i in rows]

    unsure = hidden[np.argsort(p.probabilities.max(axis=1)[hidden], kind="stable")][:_SHOWN]
    known = {"n_hidden": len(hidden), "unsure": lines(unsure, order[:, 1])}
    known["predicted"] = [(name, int(np.sum(best[hidden] == k))) for k, name in enumerate(classes)]
    baseline = next((row.name for row in c.rows if row.verdict == "the baseline"), c.chosen)
    theirs = c.outcomes[baseline].probabilities.argmax(axis=1)
    differs = hidden[theirs[hidden] != best[hidden]]
    return known | {"differing": lines(differs[:_SHOWN], theirs), "n_differing": len(differs)}
