"""The page of all results, and the index of a folder of tables or figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reproduction import papers
from reproduction.claims import RULE
from reproduction.engine.artifacts import explained, require_folder
from reproduction.gallery import available_figures
from reproduction.pages import parts
from reproduction.pages._style import CSS
from reproduction.pages.contents import Figure, Table, read_figures, read_reports, read_tables
from reproduction.pages.parts import Judged, anchor
from reproduction.pages.pictures import Source, embedded, embedded_small, linked
from reproduction.papers.bibliography import PAPERS, Paper, homeless_tables, paper_of_figure
from reproduction.recorded import recorded_folder
from reproduction.verdicts import Claim
from specmargin import __version__
from specmargin.exceptions import InvalidInputError
from specmargin.files import replace_file
from specmargin.markup import document, escape, items

__all__ = ["MOST", "Written", "write_index", "write_page"]

MOST = 15_000_000
"""Bytes of a page beyond which PNG takes the place of larger SVG."""

_FIGURES = Path("figures/output")
_OWN = Paper("others", "Other tables and figures", "No paper names them in its bibliography yet.", ())


class Written(NamedTuple):
    """A page that was written: where, its bytes, the form of its pictures, and what could not be read."""

    path: Path
    size: int
    pictures: str
    problems: Sequence[str] = ()


class _Results(NamedTuple):
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    problems: Sequence[str]
    folders: tuple[Path, Path]


def write_page(
    out: str | Path = "report.html", *, results: str | Path | None = None, figures: str | Path | None = None
) -> Written:
    """Write the page of all recorded tables and figures; it is whole by itself.

    Parameters
    ----------
    out : path
        The file.
    results : path, optional
        Folder of recorded tables; by default ``results/recorded`` of the checkout, else of the current folder.
    figures : path, optional
        Folder of figures, by default ``figures/output``.

    Returns
    -------
    Written
        What could not be read is in its `problems`, and in the page.

    Raises
    ------
    ValueError
        If a folder that was named is not there, or `out` cannot be a file.
    NotWrittenError
        If `out` cannot be written.
    """
    target = Path(out)
    if target.is_dir():
        raise InvalidInputError(f"{str(target)!r} is a folder; name the file that is to be written.")
    require_folder(target.parent)
    places = (_folder(results, "results") or recorded_folder() or Path("results/recorded"), _folder(figures, "figures"))
    recorded, drawn = places[0], places[1] or _FIGURES
    records, problems = read_tables(recorded)
    pictures, more = read_figures(drawn)
    everything = _Results(records, pictures, [*problems, *more], (recorded, drawn))
    page, form = _page(everything, embedded).encode(), "SVG"
    if len(page) > MOST:
        page, form = (
            _page(everything, embedded_small).encode(),
            f"PNG where SVG is larger, for with SVG it has {_mb(page)}",
        )
    with explained(target.parent, lambda: f"{target.name} is as it was."):
        replace_file(target, page)
    return Written(target, len(page), form, everything.problems)


def _folder(place: str | Path | None, option: str) -> Path | None:
    if place is None:
        return None
    if not Path(place).is_dir():
        raise InvalidInputError(f"--{option} {str(place)!r} is not a folder; name the one that holds the {option}.")
    return Path(place)


def _mb(page: bytes) -> str:
    return f"{len(page) / 1e6:.1f} MB"


def _page(everything: _Results, source: Source) -> str:
    """Return the whole page."""
    shown = [*PAPERS, *_others(everything)]
    body = [_head(shown, everything), _contents(shown, everything), _claims(shown, everything)]
    body += [_paper(paper, everything, source) for paper in shown]
    body.append(_problems(everything.problems))
    body.append(f"<footer>specmargin {escape(__version__)}</footer>")
    return document("specmargin: five papers, made again", "\n".join(part for part in body if part), CSS)


def _others(everything: _Results) -> list[Paper]:
    """Return a place for tables and figures that no paper names, if there are any."""
    names = tuple(name for name in {**available_figures(), **everything.figures} if paper_of_figure(name) is None)
    return [_OWN] if names or homeless_tables() else []


def _tables_of(paper: Paper) -> tuple[str, ...]:
    return homeless_tables() if paper is _OWN else paper.tables


def _figures_of(paper: Paper, everything: _Results) -> tuple[str, ...]:
    if paper is not _OWN:
        return paper.figures
    return tuple(name for name in {**available_figures(), **everything.figures} if paper_of_figure(name) is None)


def _records(name: str, everything: _Results) -> list[Table]:
    """Return the records of a table, the plain one first, quick ones only where there is no whole one."""
    mine = [table for table in everything.tables.values() if table.record.experiment == name]
    whole = {tuple(sorted(table.record.choices.items())) for table in mine if not table.quick}
    kept = [each for each in mine if not each.quick or tuple(sorted(each.record.choices.items())) not in whole]
    return sorted(kept, key=lambda table: (bool(table.record.choices), table.record.name))


def _judged(paper: Paper, everything: _Results) -> list[Judged]:
    judged = []
    for name in _tables_of(paper):
        for table in _records(name, everything):
            record = table.record
            if record.report is not None:
                label, link = f"table {record.name}", f"#{anchor('table', record.name)}"
                judged.append(Judged(label, link, parts.claims_of(record.report), table.plain))
    names = _figures_of(paper, everything)
    return [*judged, *(parts.judged_figure(everything.figures[name]) for name in names if name in everything.figures)]


def _main_claims(judged: Iterable[Judged]) -> list[Claim]:
    return [claim for each in judged if each.main for claim in each.claims]


def _head(shown: Sequence[Paper], everything: _Results) -> str:
    """Say what came out, then what of it is there."""
    claims = [claim for paper in shown for claim in _main_claims(_judged(paper, everything))]
    told = [f"Of {len(claims)} claims that recorded tables judge: {parts.tally(claims)}."]
    if not claims:
        told = ["No claim is judged yet: no table is recorded whole."]
    known, drawn = papers.tables(), available_figures()
    finished = {each.record.experiment for each in everything.tables.values() if each.plain and each.record.report}
    begun = {each.record.experiment for each in everything.tables.values() if each.plain} - finished
    quick = {each.record.experiment for each in everything.tables.values() if each.quick} - finished - begun
    hours = sum(each.record.hours for each in everything.tables.values())
    missing = len(known) - len(finished | begun | quick)
    counts = {"recorded whole": len(finished), "unfinished": len(begun), "there in their quick form only": len(quick)}
    tables = ", ".join(f"{count} are {what}" for what, count in {**counts, "missing": missing}.items() if count)
    pictures = len(set(drawn) & set(everything.figures))
    told += [
        f"Of {len(known)} tables {tables}; of {len(drawn)} figures {pictures} are drawn. "
        f"The records took {hours:.1f} core hours.",
    ]
    problems = len(everything.problems)
    if problems:
        told.append(
            f"{problems} thing{'s' if problems > 1 else ''} could not be read; the end of this page names them."
        )
    text = "".join(f"<p>{escape(each)}</p>" for each in told if each.strip())
    return f"<header id=top><h1>Five papers on semi-supervised large-margin learning, made again</h1>{text}</header>"


def _contents(shown: Sequence[Paper], everything: _Results) -> str:
    lines = ["<li><a href='#claims'>Claims, with verdicts</a></li>"]
    for paper in shown:
        links = [
            (anchor("table", each), each)
            for name in _tables_of(paper)
            for each in [table.record.name for table in _records(name, everything)] or [name]
        ]
        titles = {name: str(figure.sidecar["caption"]) for name, figure in everything.figures.items()}
        titles = {**available_figures(), **titles}
        links += [(anchor("figure", name), titles[name].rstrip(".")) for name in _figures_of(paper, everything)]
        inner = "".join(f"<li><a href='#{link}'>{escape(text)}</a></li>" for link, text in links)
        below = f"<ul>{inner}</ul>" if inner else ""
        lines.append(f"<li><a href='#{anchor('paper', paper.key)}'>{escape(paper.name)}</a>{below}</li>")
    if everything.problems:
        lines.append("<li><a href='#problems'>What could not be read</a></li>")
    return f"<section><nav aria-label=Contents><h2>Contents</h2><ul>{''.join(lines)}</ul></nav></section>"


def _claims(shown: Sequence[Paper], everything: _Results) -> str:
    body = []
    for paper in shown:
        judged = _judged(paper, everything)
        main = _main_claims(judged)
        told_of = parts.claims_html(judged)
        if not told_of and not paper.authors:
            continue  # a question of our own claims nothing
        told = f"{parts.tally(main)}." if main else "No claim is judged yet: its tables are not recorded whole."
        if not main and any(each.main for each in judged):
            told = "Its recorded tables hold no number that was published."
        link = f"<a href='#{anchor('paper', paper.key)}'>{escape(paper.name)}</a>"
        title = f": {escape(paper.title)}" if paper.authors else ""
        body.append(f"<h3>{link}{title}</h3><p>{escape(told)}</p>{told_of}")
    rule = (
        f"A claim is called by the share of cases in which it holds ({RULE}). A published mean came out if it is "
        "within two standard errors of ours, unless a table says another distance."
    )
    head = "<h2>What the papers claim, and what came out</h2>"
    return f"<section id=claims>{head}<p>{escape(rule)}</p>{''.join(body)}</section>"


def _paper(paper: Paper, everything: _Results, source: Source) -> str:
    doi = f"<a href='https://doi.org/{escape(paper.doi)}'>doi:{escape(paper.doi)}</a>" if paper.doi else ""
    venue = ", ".join(part for part in (escape(paper.venue), str(paper.year or ""), doi) if part)
    title = f"<i>{escape(paper.title)}</i>" if paper.authors else ""
    known, captions = papers.tables(), available_figures()
    body = [
        f"<a class=top href='#top'>to the top</a><h2>{escape(paper.name)}</h2>",
        f"<p class=paper>{'. '.join(part for part in (title, venue) if part)}</p>" if title else "",
        f"<p>{escape(paper.protocol)}</p>",
    ]
    main = _main_claims(_judged(paper, everything))
    body += [f"<p>Claims: {escape(parts.tally(main))} (<a href='#claims'>all of them</a>).</p>"] if main else []
    for name in _tables_of(paper):
        records = _records(name, everything)
        if not any(each.plain for each in records):
            command = f"python -m reproduction tables {name} --record"
            body.append(
                parts.missing_html("table" if not records else "whole table", name, known[name].summary, command)
            )
        body += [parts.record_html(each, known[name].title) for each in records]
    for name in _figures_of(paper, everything):
        if name in everything.figures:
            body.append(parts.figure_html(everything.figures[name], source))
        else:
            body.append(
                parts.missing_html("figure", name, captions.get(name, ""), f"python -m reproduction figures {name}")
            )
    return f"<section id='{anchor('paper', paper.key)}'>{''.join(body)}</section>"


def _problems(problems: Sequence[str]) -> str:
    if not problems:
        return ""
    return f"<section id=problems><h2>What could not be read</h2>{items(problems)}</section>"


def write_index(folder: str | Path) -> Written:
    """Write ``index.html`` into a folder that a command has written: its figures, and the tables of its ``tables``.

    Pictures are those that lie there.
    """
    place = Path(folder)
    reports, problems = read_reports(place / "tables")
    figures, more = read_figures(place)
    judged = [
        Judged(f"table {name}", f"#{anchor('table', name)}", parts.claims_of(report))
        for name, report in reports.items()
    ]
    judged += [parts.judged_figure(figure)._replace(main=True) for figure in figures.values()]
    listed = "".join(f"<li><a href='#{anchor('table', name)}'>table {escape(name)}</a></li>" for name in reports)
    thumbnails = "".join(parts.thumbnail_html(figure, linked) for figure in figures.values())
    claims = parts.claims_html(judged)
    claimed = f"<section id=claims><h2>Claims</h2>{claims}</section>" if claims else ""
    kinds = " and ".join(kind for kind, some in (("Tables", reports), ("Figures", figures)) if some)
    body = [
        f"<header id=top><h1>{kinds or 'Nothing is finished yet'}</h1><nav aria-label=Contents><ul>{listed}</ul>"
        f"<div class=thumbnails>{thumbnails}</div></nav></header>",
        claimed if reports else "",
        *(
            f"<section id='{anchor('table', name)}'><h2>{escape(report.title)}</h2>"
            f"{parts.report_parts(report)}</section>"
            for name, report in reports.items()
        ),
        *(f"<section>{parts.figure_html(figure, linked)}</section>" for figure in figures.values()),
        "" if reports else claimed,  # in a gallery pictures come first
        _problems([*problems, *more]),
        f"<footer>specmargin {escape(__version__)}</footer>",
    ]
    page = document(f"specmargin: {place.resolve().name}", "\n".join(part for part in body if part), CSS).encode()
    target = place / "index.html"
    with explained(place, lambda: "What is in the folder stays."):
        replace_file(target, page)
    return Written(target, len(page), "their own files", [*problems, *more])
