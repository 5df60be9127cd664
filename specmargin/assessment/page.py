"""One page of HTML with a whole comparison: it loads nothing, and suits phones and desktops, light and dark screens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from specmargin import __version__
from specmargin.assessment._style import CSS
from specmargin.assessment.comparison import FEWEST, Row
from specmargin.markup import captioned, document, escape, table

__all__ = ["page"]

_SHOWN = 12
"""Rows of a table that are shown."""
_MOST_COLUMNS = 300


def page(comparison: Any) -> str:
    """Return the page of a `Comparison` as text."""
    numbers = not len(comparison.data.classes)
    sections = [_summary(comparison), _columns(comparison), _methods(comparison)]
    if not numbers:
        details = (_mistakes, _curve, _diagnosis, _predictions, _explained)
        sections += [section(comparison) for section in details]
    title = f"specmargin: {comparison.data.target!r}"
    body = "\n".join(section for section in sections if section)
    return document(title, f"{body}\n<footer>specmargin {escape(__version__)}</footer>", CSS)


def _summary(c: Any) -> str:
    data = c.data
    counts = "".join(
        f"<li><b>{escape(str(name))}</b> {int((data.codes == k).sum())}</li>" for k, name in enumerate(data.classes)
    )
    row = c.row(c.chosen)
    steps = "".join(f"<li>{escape(step)}</li>" for step in c.next_steps) or "<li>Nothing stands out.</li>"
    error = c.told_error or f"With {data.n_labeled} labels no error can be told: {FEWEST} are the least."
    classes = f"<div><b>{len(data.classes)}</b>classes</div>" if counts else ""
    told = f"<p>Labels of each class:</p><ul class=inline>{counts}</ul>" if counts else ""
    return (
        f"<header><h1>Which method for {escape(repr(data.target))}?</h1>"
        f"<p class=lead>Take <b>{escape(row.title)}</b>. {escape(c.why)} {escape(error)}</p></header>"
        f"<section><div class=facts><div><b>{len(data.codes)}</b>rows</div><div><b>{data.n_labeled}</b>labels</div>"
        f"{classes}<div><b>{data.X.shape[1]}</b>features</div></div>"
        f"{told}<h2>What to do next</h2><ul>{steps}</ul></section>"
    )


def _columns(c: Any) -> str:
    """Return what was read, and what is wrong with it."""
    listed = "<p>No flaw was seen.</p>"
    if c.flaws:
        lines = [f"<li><b>{escape(flaw.kind)}</b>: {escape(flaw.text)}</li>" for flaw in c.flaws]
        more = f"<details><summary>{len(lines) - 8} more</summary><ul>{''.join(lines[8:])}</ul></details>"
        listed = f"<ul class=flaws>{''.join(lines[:8])}</ul>{more if len(lines) > 8 else ''}"
    rows, read = c.data.columns, ""
    if rows:
        body = [[str(cell) for cell in row.values()] for row in rows[:_MOST_COLUMNS]]
        whole = table([name.capitalize() for name in rows[0]], body, label="What was read", texts=(1, 2, 3, 5))
        more = f"<p>... and {len(rows) - _MOST_COLUMNS} more columns.</p>" if len(rows) > _MOST_COLUMNS else ""
        read = f"<h2>What was read</h2>{whole}{more}"
        if len(rows) > _SHOWN:
            read = f"<h2>What was read</h2><details><summary>{len(rows)} columns</summary>{whole}{more}</details>"
        read += "<p><small>Another type or role is stated by <code>--columns NAME=KIND</code>.</small></p>"
    return f"<section>{read}<h2>Flaws of the data</h2>{listed}</section>"


_COLUMNS = (
    ("error", "Error"),
    ("interval", "95 % interval"),
    ("balanced", "Balanced accuracy"),
    ("loss", "Log-loss (nats)"),
    ("signs", "Right alone / baseline alone"),
    ("p", "p (Holm)"),
    ("differs", "Decides otherwise"),
    ("seconds", "Seconds"),
    ("memory", "MB"),
)


def _methods(c: Any) -> str:
    head = "".join(f"<th scope=col>{escape(heading)}</th>" for _, heading in (("", "Method"), *_COLUMNS))
    body = "".join(_line(row, row.name == c.chosen) for row in c.rows if row.was_run)
    skipped = "".join(
        f"<li><b>{escape(row.title)}</b>: {escape('; '.join(row.notes))}</li>" for row in c.rows if not row.was_run
    )
    skipped = f"<p>Not run:</p><ul>{skipped}</ul>" if skipped else ""
    by_note: dict[str, list[str]] = {}
    for row in c.rows:
        for note in row.notes if row.was_run else ():
            by_note.setdefault(note, []).append(row.title)
    warned = "".join(f"<li><b>{escape(', '.join(who))}</b>: {escape(note)}</li>" for note, who in by_note.items())
    warned = f"<details><summary>What methods warned of</summary><ul>{warned}</ul></details>" if warned else ""
    return (
        f"<section><h2>Methods</h2>{_errors(c)}"
        f"<table class=methods><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{skipped}{warned}</section>"
    )


def _line(row: Row, chosen: bool) -> str:
    nothing = np.isnan(row.error)
    values = {
        "error": _percent(row.error),
        "interval": "–" if nothing else f"{100 * row.interval[0]:.1f} to {_percent(row.interval[1])}",
        "balanced": _percent(row.balanced_accuracy),
        "loss": _number(row.log_loss, ".2f"),
        "signs": "–" if np.isnan(row.p) else f"{row.wins} / {row.losses}",
        "p": _number(row.p, ".3f"),
        "differs": _percent(row.differs),
        "seconds": _number(row.seconds, ".1f"),
        "memory": _number(row.megabytes, ".0f"),
    }
    cells = "".join(f'<td data-label="{escape(text)}">{values[key]}</td>' for key, text in _COLUMNS)
    mark = " class=chosen" if chosen else ""
    kind = _kind(row.verdict)
    return (
        f"<tr{mark}><th scope=row>{escape(row.title)}</th>{cells}</tr>"
        f"<tr{mark}><td colspan={len(_COLUMNS) + 1} class=verdict><span class='{kind}'>{escape(row.verdict)}</span>"
        f"{escape(f'; chosen: {row.chosen}') if row.chosen else ''}</td></tr>"
    )


def _kind(verdict: str) -> str:
    return "good" if verdict.startswith("better") else "bad" if verdict.startswith("worse") else "plain"


def _errors(c: Any) -> str:
    rows = [row for row in c.rows if row.was_run and np.isfinite(row.error)]
    if not rows:
        return f"<p>With fewer than {FEWEST} labels no error is told: counted errors would say nothing.</p>"
    from specmargin.plots import subplots
    from specmargin.plots.assessment import draw_errors, inline_svg

    figure, axes = subplots(width=3.8, aspect=(0.75 + 0.2 * len(rows)) / 3.8)
    baseline = next((row.error for row in rows if row.verdict == "the baseline"), float("nan"))
    draw_errors(
        axes[0, 0], [row.title for row in rows], [row.error for row in rows], [row.interval for row in rows], baseline
    )
    text = "; ".join(f"{row.title} {row.error:.1%}" for row in rows)
    return captioned(
        inline_svg(figure, f"Errors: {text}"),
        "Errors at left-out labels. The intervals come from the labels that chose, too, and hold in about 80 % of "
        "cases; two methods are compared by the test in the table, not by their intervals.",
        wide=True,
    )


def _mistakes(c: Any) -> str:
    codes = c.data.codes[c.data.codes >= 0]
    outcome = c.outcomes[c.chosen]
    if len(codes) < FEWEST or not outcome.was_run or len(c.data.classes) > 40:
        return ""
    from specmargin.plots import subplots
    from specmargin.plots.assessment import draw_confusion, inline_svg

    K, names = len(c.data.classes), [str(name) for name in c.data.classes]
    counts = np.zeros((K, K), dtype=np.intp)
    np.add.at(counts, (codes, outcome.held_out.argmax(axis=1)), 1)
    figure, axes = subplots(width=3.4, aspect=0.8)
    draw_confusion(axes[0, 0], counts, names)
    rows = [f"of {int(counts[k].sum())} labels {name!r}, {int(counts[k, k])} are right" for k, name in enumerate(names)]
    picture = captioned(
        inline_svg(figure, "; ".join(rows)),
        f"Numbers of left-out labels of each class (rows), and what {c.row(c.chosen).title} decided (columns). Colour: "
        "share of the row.",
    )
    return f"<section><h2>Where it is wrong</h2>{picture}</section>"


def _curve(c: Any) -> str:
    curve = c.learning_curve
    if curve is None:
        return ""
    from specmargin.plots import subplots
    from specmargin.plots.assessment import draw_learning_curve, inline_svg

    figure, axes = subplots(width=3.4, aspect=0.72)
    draw_learning_curve(axes[0, 0], curve.sizes, curve.errors, curve.deviations)
    last = {name: values[-1] for name, values in curve.errors.items()}
    text = "; ".join(f"{name} {value:.1%} with {curve.sizes[-1]} labels" for name, value in last.items())
    picture = captioned(
        inline_svg(figure, f"Learning curve: {text}"),
        f"Mean error at the labels that were not given, over {curve.n_draws} draws of each size, with its standard "
        "error. A curve that still falls says that more labels help.",
    )
    return f"<section><h2>Would more labels help?</h2>{picture}</section>"


def _diagnosis(c: Any) -> str:
    d = c.diagnosis
    if d is None:
        return ""
    from specmargin.plots import subplots
    from specmargin.plots.assessment import inline_svg

    names = ("Graph and labels", "Eigenvalues of the graph", "Degrees and hubs", "Labels against chance")
    figures, panels = [], []
    for _ in names:
        figure, axes = subplots(width=3.4, aspect=0.8)
        figures.append(figure)
        panels.append(axes[0, 0])
    d.plot(panels)
    pictures = "".join(captioned(inline_svg(figure, name), "") for figure, name in zip(figures, names, strict=True))
    return (
        f"<section><h2>The graph of neighbours</h2>{_diagnosis_text(str(d))}<div class=pair>{pictures}</div></section>"
    )


def _diagnosis_text(text: str) -> str:
    """Return the lines of a diagnosis: sentences, then a list of terms."""
    sentences, terms = [], []
    for line in text.splitlines()[1:]:
        entry = re.match(r"  ([a-z][a-z\- ]*):\s+(.*)", line)
        if entry:
            terms.append(f"<dt>{escape(entry[1])}</dt><dd>{escape(entry[2])}</dd>")
        else:
            sentences.append(f"<p>{escape(line.strip())}</p>")
    return "".join(sentences) + f"<dl>{''.join(terms)}</dl>"


def _predictions(c: Any) -> str:
    p, labels = c.predictions, c.data
    hidden = np.flatnonzero(~p.labeled)
    predicted, sure = p.predicted, p.probabilities.max(axis=1)
    counts = "".join(
        f"<li><b>{escape(str(name))}</b> {int(np.sum(predicted[hidden] == name))}</li>" for name in labels.classes
    )
    unsure = hidden[np.argsort(sure[hidden], kind="stable")][:_SHOWN]
    parts = [
        f"<p>Of {len(hidden)} unlabelled rows:</p><ul class=inline>{counts}</ul>",
        f"<h3>Least sure</h3><p>Labels of these rows would teach most.</p>{_rows_table(c, unsure)}",
    ]
    baseline = next((row.name for row in c.rows if row.verdict == "the baseline"), "")
    if baseline and baseline != c.chosen:
        other = c.outcomes[baseline].probabilities
        differs = hidden[other[hidden].argmax(axis=1) != p.probabilities[hidden].argmax(axis=1)]
        if len(differs):
            parts.append(
                f"<h3>Decided otherwise than by the supervised baseline</h3><p>{len(differs)} unlabelled rows; the "
                f"first {min(len(differs), _SHOWN)}:</p>{_rows_table(c, differs[:_SHOWN], other)}"
            )
    return f"<section><h2>Predictions</h2>{''.join(parts)}</section>"


def _rows_table(c: Any, rows: Sequence[int] | Any, other: Any = None) -> str:
    classes, p = c.data.classes, c.predictions
    head = ["Row", "Predicted", "Probability", *(["Baseline"] if other is not None else ["Second"])]
    body = []
    for i in rows:
        order = np.argsort(-p.probabilities[i], kind="stable")
        last = classes[order[1]] if other is None else classes[other[i].argmax()]
        body.append((str(i + 1), str(classes[order[0]]), f"{p.probabilities[i, order[0]]:.2f}", str(last)))
    return _table(head, body)


def _table(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    top = "".join(f"<th scope=col>{escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
    return f"<table class=small><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def _explained(c: Any) -> str:
    judged = {row.title: row.judged for row in c.rows if row.was_run}
    how = "".join(f"<li>{escape(title)}: {escape(text)}</li>" for title, text in judged.items())
    return (
        "<section><h2>How this was computed</h2><ul>"
        "<li>Every method is tuned on labels alone. A left-out label was used neither for fitting nor for tuning.</li>"
        "<li>Error is (wrong + 1/2) / (labels + 1). Balanced accuracy is the mean over the classes of the share that "
        "is right. Log-loss is the mean of -log of the probability of the right class.</li>"
        "<li>The test is the exact one-sided McNemar test against the supervised baseline, with Holm's correction for "
        "the number of methods. 'Cannot tell' means that this many labels would miss a halving of the error more often "
        "than not.</li></ul>"
        f"<details><summary>How each method was judged</summary><ul>{how}</ul></details>"
        "</section>"
    )


def _percent(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.1f} %"


def _number(value: float, text: str) -> str:
    return "–" if np.isnan(value) else format(value, text)
