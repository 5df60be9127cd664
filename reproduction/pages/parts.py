"""Parts of the page in HTML: a recorded table, a finished report, a figure, and the claims of several of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reproduction.engine.progress import duration
from reproduction.engine.provenance import since_commit
from reproduction.pages.contents import Figure, Table
from reproduction.pages.pictures import Source, picture_html
from reproduction.report import Report
from reproduction.report_page import notes_html, section_html
from reproduction.verdicts import VERDICTS, Claim, agreement, figure_claims, parse_claims
from specmargin.markup import escape, items

__all__ = [
    "Judged",
    "anchor",
    "badge",
    "claims_html",
    "claims_of",
    "figure_html",
    "judged_figure",
    "missing_html",
    "record_html",
    "report_parts",
    "tally",
    "thumbnail_html",
]

_OPEN = 80
"""Numbers that are shown unfolded: of a whole table, or of its first section."""

_KINDS = dict(zip(VERDICTS, ("good", "partly", "bad"), strict=True))


class Judged(NamedTuple):
    """The claims that a table or a figure speaks of, and what it is called; `main` ones are shown at once."""

    name: str
    link: str
    claims: Sequence[Claim]
    main: bool = True


def anchor(kind: str, name: str) -> str:
    """Return the id of a part.

    Examples
    --------
    >>> anchor("table", "spectrum_learning-graph=mutual+mst")
    'table-spectrum_learning-graph-mutual-mst'
    """
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_]+', '-', name)}"


def badge(text: str, kind: str = "plain") -> str:
    """Return a few words in a frame."""
    return f'<span class="badge {kind}">{escape(text)}</span>'


def claims_of(report: Report) -> list[Claim]:
    """Return the claims that a report judges; where its remarks judge none, whether the published numbers came out."""
    return parse_claims(report) or agreement(report)


def judged_figure(figure: Figure) -> Judged:
    """Return the claims in the sidecar of a figure."""
    size = figure.sidecar.get("size", "standard")
    name = f"figure {figure.name}{'' if size == 'standard' else f', {size}'}"
    return Judged(name, f"#{anchor('figure', figure.name)}", figure_claims(figure.sidecar.get("results")), False)


def tally(claims: Iterable[Claim]) -> str:
    """Return how many claims have each verdict, in words.

    Examples
    --------
    >>> tally([Claim("reproduced", "a"), Claim("not reproduced", "b"), Claim("reproduced", "c")])
    '2 reproduced, 0 partly reproduced, 1 not reproduced'
    """
    count = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{count[name]} {name}" for name in VERDICTS)


def claims_html(judged: Sequence[Judged]) -> str:
    """Return the claims as a table, under the tables and figures that they come from; others than main ones folded."""
    main = [each for each in judged if each.main and each.claims]
    others = [each for each in judged if not each.main and each.claims]
    parts = [_claims_table(main)] if main else []
    if others:
        told = tally(claim for each in others for claim in each.claims)
        parts.append(
            f"<details><summary>Judged by figures, quick forms and other choices: {escape(told)}</summary>"
            f"{_claims_table(others)}</details>"
        )
    return "".join(parts)


def _claims_table(judged: Sequence[Judged]) -> str:
    rows = []
    for each in judged:
        context = None
        for claim in each.claims:
            if claim.context != context:
                context = claim.context
                head = (
                    f"<a href={escape(each.link)!r}>{escape(each.name)}</a>{escape(f': {context}') if context else ''}"
                )
                rows.append(f"<tr><th colspan=3 scope=rowgroup>{head}</th></tr>\n")
            rows.append(
                f"<tr><td>{badge(claim.verdict, _KINDS[claim.verdict])}</td><td>{escape(claim.text)}</td>"
                f"<td>{_folded(claim.reason)}</td></tr>\n"
            )
    return (
        "<table class=claims><colgroup><col class=v><col class=c><col></colgroup><thead><tr><th scope=col>Verdict</th>"
        "<th scope=col>Claim</th><th scope=col>Numbers and reason</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


_LONG = 420
"""Letters of a reason that are shown unfolded."""


def _folded(text: str) -> str:
    if len(text) <= _LONG:
        return escape(text)
    cut = text.rfind(" ", 0, _LONG)
    return f"{escape(text[:cut])} <details><summary>more</summary>{escape(text[cut + 1 :])}</details>"


def report_parts(report: Report, *, footer: bool = True) -> str:
    """Return what a finished table says: protocol, sections, remarks, and with `footer` where it comes from."""
    parts = [_unfolded("Protocol, and what to know", notes_html(report.header), len(report.header) <= 2)]
    short = len(report.lines) <= _OPEN
    for k, section in enumerate(report.sections):
        table = section_html(section, section.title or report.title)
        title = f"<b>{escape(section.title or 'Numbers')}</b> ({len(section.lines)})"
        is_open = short or (k == 0 and len(section.lines) <= _OPEN)
        parts.append(f"<details{' open' if is_open else ''}><summary>{title}</summary>{table}</details>")
    parts.append(_unfolded("What the numbers say", notes_html(report.remarks), False))
    parts += [_unfolded("Where this comes from", items(report.footer), False)] if footer else []
    return "".join(parts)


def _unfolded(title: str, body: str, is_open: bool) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{body}</details>" if body else ""


def record_html(table: Table, title: str) -> str:
    """Return a recorded table with its provenance; `title` is for an unfinished one, which has none of its own."""
    record = table.record
    badges = [badge("quick: for a look, not for the record", "partly")] if table.quick else []
    badges += [badge("unfinished", "partly")] if record.report is None else []
    badges += [badge(f"{record.failed} cells failed", "bad")] if record.failed else []
    chosen = ", ".join(f"{axis}={value}" for axis, value in sorted(record.choices.items()))
    head = record.report.title if record.report else title
    parts = [f"<h3>{escape(head)}{escape(f' ({chosen})') if chosen else ''}</h3>", *badges]
    if record.report is None:
        cells = f"{record.cells:,} cell{'s' if record.cells != 1 else ''} of the table"
        verb = "are" if record.cells != 1 else "is"
        parts.append(
            f"<p class=missing>{cells} {verb} recorded, no table yet. The command below goes on from there.</p>"
        )
    else:
        parts.append(report_parts(record.report, footer=False))
    parts += [f"<div class=note>{escape(line)}</div>" for commit in record.commits if (line := since_commit(commit))]
    parts.append(_provenance(record.runs, record.cells, record.failed, record.seconds, table.command, record.report))
    return f"<article id={anchor('table', record.name)!r}>{''.join(parts)}</article>"


def _provenance(
    runs: Mapping[str, Mapping[str, Any]], cells: int, failed: int, seconds: float, command: str, report: Report | None
) -> str:
    days = sorted({str(run.get("utc", ""))[:10] for run in runs.values()} - {""})
    when = "" if not days else days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    work = f"{seconds / 3600:.2f} core hours ({duration(seconds)}) in {cells:,} cells, {failed} of them failed"
    named = sorted({name for run in runs.values() for name in run.get("data") or {}})
    gap = next((line.partition(": ")[2] for line in (report.footer if report else ()) if line.startswith("worst")), "")
    facts = {
        "Command": f"<code>{escape(command)}</code>",
        "Computed": escape(f"{when}, {work}" if when else work),
        "Code": escape("; ".join(dict.fromkeys(_commit(run) for run in runs.values()))),
        "Versions": escape("; ".join(dict.fromkeys(_versions(run) for run in runs.values()))),
        "Data sets": escape(", ".join(named)),
        "Worst relative gap": escape(gap),
    }
    return _facts(facts)


def _facts(facts: Mapping[str, str]) -> str:
    """Return a list of terms; texts are HTML."""
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{text}</dd>' for name, text in facts.items() if text)}</dl>"


def _commit(run: Mapping[str, Any]) -> str:
    git = run.get("git")
    if not git:
        return "outside a checkout"
    return f"commit {str(git['commit'])[:12]}{' with uncommitted changes' if git.get('dirty') else ''}"


def _versions(run: Mapping[str, Any]) -> str:
    versions = run.get("versions") or {}
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version)


def figure_html(figure: Figure, source: Source) -> str:
    """Return a figure: picture, caption below, and where it comes from."""
    sidecar = figure.sidecar
    caption, size = str(sidecar["caption"]), str(sidecar.get("size", ""))
    badges = [badge("quick: for a look, not for the record", "partly")] if size == "quick" else []
    told = [_code(" ".join(each.split())) for each in str(sidecar.get("description", "")).strip().split("\n\n")]
    text = f"<p>{told[0]}</p>"
    if told[1:]:
        text += f"<details><summary>More</summary>{''.join(f'<p>{each}</p>' for each in told[1:])}</details>"
    if figure.pictures:
        picture = picture_html(figure.pictures, source, caption)
    else:
        picture = f"<p class=missing>The picture is not here; <code>{escape(figure.command)}</code> draws it.</p>"
    seconds, run = sidecar.get("seconds") or {}, sidecar.get("provenance") or {}
    facts = {
        "Command": f"<code>{escape(figure.command)}</code>",
        "Computed": escape(
            f"{str(run.get('utc', ''))[:10]}, size {size}, seed {sidecar['depends'].get('seed')}, "
            f"{float(seconds.get('compute', 0.0)):.0f} s"
        ),
        "Code": escape(_commit(run)),
        "Versions": escape(_versions(run)),
        "Data sets": escape(", ".join(sidecar.get("data") or {})),
    }
    return (
        f"<article id={anchor('figure', figure.name)!r}><h3>{_code(caption.rstrip('.'))}</h3>"
        f"{''.join(badges)}<figure>{picture}<figcaption>{text}</figcaption></figure>"
        f"<details><summary>Where this comes from</summary>{_facts(facts)}</details></article>"
    )


def thumbnail_html(figure: Figure, source: Source) -> str:
    """Return a small picture with its title, which leads to the figure."""
    picture = f'<img src="{source(figure.pictures)}" alt="" loading=lazy>' if figure.pictures else ""
    title = _code(str(figure.sidecar["caption"]).rstrip("."))
    return f"<a href='#{anchor('figure', figure.name)}'>{picture}<span>{title}</span></a>"


def _code(text: str) -> str:
    """Escape a text, and set what stands between backticks as code."""
    return re.sub(r"``?([^`]+)``?", r"<code>\1</code>", escape(text))


def missing_html(kind: str, name: str, summary: str, command: str) -> str:
    """Say that a table or a figure is not there, and what to type."""
    told = f" ({summary.rstrip('.')})" if summary else ""
    return (
        f"<p class=missing id={anchor(kind, name)!r}>{kind.capitalize()} <b>{escape(name)}</b> is not here yet"
        f"{escape(told)}: <code>{escape(command)}</code></p>"
    )
