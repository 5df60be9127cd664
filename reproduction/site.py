"""Results as pages of Markdown: claims with verdicts, recorded tables with their provenance, and figures.

`record_pages` and `figure_pages` return texts by name, which the site has in docs/recorded and docs/gallery. Nothing is
computed here. What cannot be read is named, and the rest is shown.
"""

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from cvxproof.files import parse_json, read_file
from reproduction import papers
from reproduction.engine.provenance import since_commit
from reproduction.figure_scripts import described, expected_seconds, figure_scripts
from reproduction.papers.bibliography import PAPERS, Paper, homeless_tables, paper_of_figure
from reproduction.recorded import RecordedTable, read_record
from reproduction.verdicts import VERDICTS, Claim, figure_claims, number_counts, parse_claims, tally
from specmargin.exceptions import InvalidInputError


class Pages(NamedTuple):
    """Texts of pages by their names, and sentences on what could not be read."""

    texts: dict[str, str]
    problems: list[str]


class _Judged(NamedTuple):
    """Claims that a table or a figure judges; those that are not `main` count for no verdict of a paper.

    `numbers` says how many published errors of the table ours agree with.
    """

    link: str
    claims: Sequence[Claim]
    main: bool
    numbers: str = ""


class _Place(NamedTuple):
    """A claim, where it was judged, and whether it may count there."""

    claim: Claim
    link: str
    main: bool


def page_name(record: str) -> str:
    """Return the name of the page of a record.

    Examples
    --------
    >>> page_name("auto_ssl-draws=30")
    'auto_ssl-draws-30'
    """
    return re.sub(r"[^\w.-]", "-", record)


def plain(text: str) -> str:
    r"""Return a text as Markdown shows it; what stands between backticks is code already.

    Examples
    --------
    >>> plain("C* = 1, |f|_K of `gamma_A`")
    'C\\* = 1, \\|f\\|\\_K of `gamma_A`'
    """
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    parts[::2] = [re.sub(r"([*_|<\[\]$\\])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _items(lines: Iterable[str]) -> str:
    return "".join(f"- {plain(line.strip())}\n" for line in lines)


def record_pages(results: Path, figures: Path) -> Pages:
    """Return the page ``index`` of claims and tables, and a page for each record of the folder `results`.

    Claims are also those that the sidecars in the folder `figures` hold. Folders that are not there hold nothing.
    """
    records, problems = _records(results)
    sidecars, more = _sidecars(figures)
    problems += more
    pages = {page_name(record.name): _record_page(record) for record in records}
    return Pages({"index": _index(records, sidecars, problems), **pages}, problems)


def _records(folder: Path) -> tuple[list[RecordedTable], list[str]]:
    """Read the records of a folder, their rows included; of a quick one and a whole one, the whole one is kept."""
    there: dict[str, RecordedTable] = {}
    problems = []
    known = papers.tables()
    for place in sorted(each for each in folder.glob("*") if each.is_dir() and not each.name.startswith(".")):
        try:
            record = read_record(place)
            count = len(record.rows())
            if record.experiment not in known:
                remedy = "which this version does not have; update specmargin, or move the record elsewhere"
                raise InvalidInputError(f"the record {str(place)!r} is of a table {record.experiment!r}, {remedy}.")
            if count != record.cells:
                told = f"has {count} rows and says that it has {record.cells}; take it from version control again"
                raise InvalidInputError(f"the record {str(place)!r} {told}.")
            there[record.name] = record
        except InvalidInputError as error:
            problems.append(str(error))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problems.append(f"the record {str(place)!r} is damaged ({type(error).__name__}: {error}); make it anew.")
    kept = (each for name, each in there.items() if not _quick(each) or name.removesuffix("-quick") not in there)
    return list(kept), problems


def _quick(record: RecordedTable) -> bool:
    return record.name.endswith("-quick")


def _again(record: RecordedTable) -> str:
    return f"{record.command}{' --quick' if _quick(record) else ''} --record"


def _sidecars(folder: Path) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """Read what figures say of themselves, by their names."""
    there: dict[str, Mapping[str, Any]] = {}
    problems = []
    for file in sorted(folder.glob("*.json")):
        again = f"make the figure again by python -m reproduction figures {file.stem}"
        try:
            sidecar = parse_json(read_file(file))
            if sidecar["name"] != file.stem or not isinstance(sidecar["caption"], str):
                raise InvalidInputError("it is no sidecar of that figure")
            there[file.stem] = sidecar
            if not file.with_suffix(".png").is_file():
                problems.append(f"the figure {file.stem!r} has no {file.stem}.png in {str(folder)!r}; {again}.")
        except (ValueError, KeyError, TypeError) as error:
            told = f"{type(error).__name__}: {error}"
            problems.append(f"{str(file)!r} is no sidecar of a figure ({told}); {again}, or move the file elsewhere.")
    return there, problems


def _record_page(record: RecordedTable) -> str:
    """Return a table with what it was computed by, when, on what, and whether the code is still that."""
    report, chosen = record.report, ", ".join(f"{axis}={value}" for axis, value in sorted(record.choices.items()))
    title = papers.tables()[record.experiment].title if report is None else report.title
    told = [f"**{record.failed} cells failed.**"] if record.failed else []
    told += ["**A quick form: for a look, not for the record.**"] if _quick(record) else []
    if report is None:
        told.append(f"**Unfinished:** {record.cells:,} cells are recorded, no table yet; the command below goes on.")
    shown = [""] if report is None else replace(report, footer=()).markdown().split("\n")[1:]
    days = sorted({str(run.get("utc", ""))[:10] for run in record.runs.values()} - {""})
    named = sorted({name for run in record.runs.values() for name in run.get("data") or {}})
    lines = [
        *(report.footer if report else (_run(run) for run in record.runs.values())),
        f"computed {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else "",
        f"{record.hours:.2f} core hours in {record.cells:,} cells, {record.failed} of them failed",
        f"data sets: {', '.join(named)}" if named else "",
        *(since_commit(commit) for commit in record.commits),
        f"made again by: `{_again(record)}`",
    ]
    head = [f"# {title}{f' ({chosen})' if chosen else ''}", "", *(f"{line}\n" for line in told)]
    return "\n".join([*head, *shown, "## Where this comes from", "", _items(dict.fromkeys(filter(None, lines)))])


def _run(run: Mapping[str, Any]) -> str:
    git, versions = run.get("git"), run.get("versions") or {}
    dirty = " with uncommitted changes" if git and git.get("dirty") else ""
    commit = f"commit {str(git['commit'])[:12]}{dirty}" if git else "outside a checkout"
    return ", ".join([*(f"{name} {version}" for name, version in versions.items() if version), commit])


def _index(records: Sequence[RecordedTable], sidecars: Mapping[str, Any], problems: Sequence[str]) -> str:
    """Return the page of claims and tables; its last section is that of the tables, which Sphinx appends there."""
    of_tables = {each.name: _judged_table(each) for each in records}
    of_figures = {name: _judged_figure(name, each) for name, each in sidecars.items()}
    others = tuple(name for name in sidecars if paper_of_figure(name) is None)
    groups = [(_heading(paper), paper.tables, paper.figures) for paper in PAPERS]
    homeless = "## Other tables and figures\n\nNo paper names them in its bibliography.\n\n"
    groups.append((homeless, homeless_tables(), others))
    body, counted = [], []
    for heading, tables, figures in groups:
        judged = [of_tables[each.name] for name in tables for each in records if each.experiment == name]
        judged += [of_figures[name] for name in figures if name in of_figures]
        claims = _by_text(judged)
        counted += [places[0].claim.verdict for places in claims.values() if places[0].main]
        body += [heading, *_claims(judged, claims)] if claims or any(each.numbers for each in judged) else []
    told = (
        f"Of {len(counted)} claims that recorded tables judge: {tally(counted)}."
        if counted
        else "No claim is judged yet."
    )
    damaged = f"## What could not be read\n\n{_items(problems)}\n" if problems else ""
    head = f"# Claims and recorded tables\n\n{told} {_RULE}\n\n{damaged}"
    return f"{head}{''.join(body)}{_table_of_tables(records, of_tables)}"


_RULE = """\
A claim is a quantity and the range in which the paper has it. It is measured on every draw of the labels, and its 90 %
interval over the draws lies inside of the range (agrees), outside (differs), or across its end (inconclusive): two
one-sided tests at 5 %. Quantities are differences of two methods on the same draw; tasks and numbers of labels that
share the draws are averaged first. A claim is not judged where there are fewer than three draws, or where its rival
does nothing.

Every claim counts once, at the setting of the paper; other settings stand below it. Published errors are asked one by
one whether ours are the same: within a quarter of the published number, or its deviation where that is less, and half a
point at the least."""


def _by_text(judged: Sequence[_Judged]) -> dict[str, list[_Place]]:
    """Return where each claim was judged: first the one place that counts, that of the paper's own setting."""
    places: dict[str, list[_Place]] = {}
    for each in sorted(judged, key=lambda each: not each.main):
        for claim in each.claims:
            places.setdefault(claim.text, []).append(_Place(claim, each.link, each.main))
    return places


def _heading(paper: Paper) -> str:
    doi = f"[doi:{paper.doi}](https://doi.org/{paper.doi})" if paper.doi else ""
    title = f"*{plain(paper.title)}*" if paper.authors else ""
    source = ", ".join(part for part in (title, paper.venue, str(paper.year or ""), doi) if part)
    lines = [f"## {plain(paper.name)}", f"{source}." if source else "", plain(paper.protocol)]
    return "".join(f"{line}\n\n" for line in lines if line)


def _judged_table(record: RecordedTable) -> _Judged:
    link = f"table [{plain(record.name)}]({page_name(record.name)}.md)"
    if record.report is None:
        return _Judged(link, [], False)
    counts = number_counts(record.report.sections)
    numbers = f"{counts.total()} published errors: {tally(counts.elements())}" if counts else ""
    return _Judged(link, parse_claims(record.report), not (_quick(record) or record.choices), numbers)


def _judged_figure(name: str, sidecar: Mapping[str, Any]) -> _Judged:
    link = f"figure [{plain(name)}](../gallery/{name}.md), {sidecar.get('size', 'standard')} size"
    return _Judged(link, figure_claims(sidecar.get("results")), False)


def _claims(judged: Sequence[_Judged], claims: Mapping[str, Sequence[_Place]]) -> Iterator[str]:
    """Yield every claim with the one verdict that counts, other settings below it; then what counts for none."""
    main = [places for places in claims.values() if places[0].main]
    if main:
        yield f"{tally(places[0].claim.verdict for places in main)}.\n\n"
        yield "".join(_claim(*places) for places in main) + "\n"
    numbers = [f"{each.numbers}, by {each.link}" for each in judged if each.numbers]
    yield "".join(f"- {each}.\n" for each in numbers) + "\n" * bool(numbers)
    others = [places for places in claims.values() if not places[0].main]
    if others:
        yield "### Judged by figures, quick forms and other choices alone\n\n"
        yield "".join(_claim(*places) for places in others) + "\n"


def _claim(first: _Place, *others: _Place) -> str:
    below = "".join(f"  - {_where(each)}: {_badge(each.claim)} {plain(each.claim.reason)}\n" for each in others)
    text = f"{_badge(first.claim)} **{plain(first.claim.text.strip())}.** {plain(first.claim.reason)}"
    return f"- {text} ({_where(first)})\n{below}"


def _badge(claim: Claim) -> str:
    return f"[{claim.verdict}]{{.{claim.verdict.replace(' ', '-')}}}"


def _where(place: _Place) -> str:
    return f"{place.link}{f', {plain(place.claim.context)}' if place.claim.context else ''}"


def _table_of_tables(records: Sequence[RecordedTable], judged: Mapping[str, _Judged]) -> str:
    lines = [
        "## Recorded tables",
        "",
        "Tables that were computed whole and are kept in the repository, with every row behind them",
        "(`results/recorded/NAME/rows.jsonl.gz`). Each command goes on from the rows that are there.",
        f"Claims are counted as {' / '.join(VERDICTS)}.",
        "",
        "| table | claims | cells | hours of one core | made again by |",
        "|---|---|---|---|---|",
    ]
    for each in records:
        count = Counter(claim.verdict for claim in judged[each.name].claims)
        claims = " / ".join(str(count[verdict]) for verdict in VERDICTS) if count else ""
        claims = claims if each.report else "unfinished"
        name = f"[{plain(each.name)}]({page_name(each.name)}.md)"
        lines.append(f"| {name} | {claims} | {each.cells} | {each.hours:.2f} | `{_again(each)}` |")
    whole = {each.experiment for each in records if each.report and not _quick(each) and not each.choices}
    lines += [
        f"| {plain(name)} | not recorded | | | `python -m reproduction tables {name} --record` |"
        for name in papers.tables()
        if name not in whole
    ]
    return "\n".join(lines) + f"\n\nThe records took {sum(each.hours for each in records):.1f} core hours.\n"


def figure_pages(output: Path, folder: Path) -> dict[str, str]:
    """Return the page of every figure: its picture in `output`, its caption, what was drawn of what, and more.

    The pages are for `folder`, from which pictures are linked. A figure that is not drawn is there with its command.
    """
    sidecars, place = _sidecars(output)[0], os.path.relpath(output, folder)
    return {
        name: _figure_page(name, path.read_text(encoding="utf-8"), sidecars.get(name), output, place)
        for name, path in figure_scripts().items()
    }


def _figure_page(name: str, source: str, sidecar: Mapping[str, Any] | None, output: Path, place: str) -> str:
    title, caption, details = described(source)
    # No table of contents of the site has the page: nineteen titles would fill the menu.
    lines = ["---", "orphan: true", "---", f"# {plain(title.rstrip('.'))}", "", "[All figures](../gallery.md)", ""]
    picture = (output / f"{name}.png").is_file()
    lines += [f"```{{figure}} {place}/{name}.png", f":alt: {title}", ""] if picture else []
    lines += [plain(caption), *(["```"] if picture else []), ""]
    seconds = expected_seconds(source, "standard", real=False)
    time = "unknown" if seconds is None else f"{seconds:.0f} seconds"
    time = time if seconds is None or seconds < 100 else f"{math.ceil(seconds / 60)} minutes"
    command = f'`make figures ARGS="{name}"`, {time} on one core'
    if picture and sidecar:
        of = ", ".join(f"`{data}`" for data in sidecar.get("data") or {}) or "generated points"
        run = sidecar.get("provenance") or {}
        told = f"Drawn of {of}, {sidecar.get('size', 'standard')} size, on {str(run.get('utc', ''))[:10]}: {_run(run)}."
        lines += [told, "", f"Draw it by {command}.", ""]
    else:
        lines += [f"Not drawn yet in this checkout; draw it by {command}.", ""]
    return "\n".join([*lines, plain(details)]) + "\n"


def write_pages(folder: Path, texts: Mapping[str, str]) -> None:
    """Write pages into a folder, touch those alone that change, and remove those that are no longer any."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        page = folder / f"{name}.md"
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    for stale in {page for page in folder.glob("*.md") if page.stem not in texts}:
        stale.unlink()
