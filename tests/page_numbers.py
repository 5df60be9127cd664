"""Where the numbers of README.md and docs come from: a comment below each passage says so, and is resolved here.

    python tests/page_numbers.py             write the generated tables of all pages anew
    python tests/page_numbers.py --list      numbers without a source, and records in which they stand
    python tests/page_numbers.py --kept      what is on the pages and in no file of the repository

A passage (a paragraph, a list, a table) that reports decimals, percent, points, times, seconds or "7 of 10" is followed
by a comment of lines ``NUMBER, NUMBER = SOURCE``, with a source of one of these forms:

    lapsvm_svm | g50c | svm | 5 labelled folds      a line of a recorded table, column "ours" (the mean)
    defaults | # Next to a tuned SVM | g10n | 100 | LapSVM()
                                                    a cell of a table of a page: part, cells of its row, column
    lapsvm_primal_table03_times.csv | uspst | lapsvm_pcg | mean
                                                    a cell of a file of numbers that others have published
    lapsvm_svm: words with the number in them       words that the record or the page has
    test tests/test_misprints.py::test_it    a test that computes it
    given: the level of the test                    no result: a setting, or what others say
    not kept: a command prints it                   no file has it; `tests/test_page_numbers.py` lists it

Tables between ``<!-- numbers: NAME -->`` and ``<!-- end of numbers -->`` are written by `page_tables.TABLES`.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RECORDED = "results/recorded"
PUBLISHED = "reproduction/engine/published_data"

# Written whole by a program, from rows that are too many to keep, or kept beside them and compared in the test.
WRITTEN = (
    "docs/defaults.md",
    "docs/default_choices.md",
    "docs/failures.md",
    "docs/real_tools.md",
)
MADE = ("_build", "api", "gallery", "notebooks", "recorded")

FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!--(.*?)-->[ \t]*$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"(<!-- numbers: (\w+) -->\n)(.*?)<!-- end of numbers -->", re.DOTALL)

_PLACE = r"\d[\d.]*[a-z]?(?: [a-z]\b)?"
_NAMED = r"sections?|figures?|tables?|eqs?\.?|theorems?|lemmas?|Python|version|arXiv|CC BY"
_FURTHER = rf"(?:(?:,\s+|\s+and\s+|\s+to\s+){_PLACE})*"
_REFERENCE = re.compile(rf"\b(?:{_NAMED})[\s:]+{_PLACE}{_FURTHER}|\(\d\.\d [a-z]\)", re.IGNORECASE)
_UNITS = r"%|percent\b|points?\b|times\b|seconds?\b|minutes?\b|hours?\b|of (?:the )?\d|(?:an|one) hour\b"
NUMBER = re.compile(
    rf"(?<![\w.,^{{/-])[-+]?(?:\d+(?:,\d{{3}})*)?\.\d+(?![\w/]|\.\d)"
    rf"|(?<![\w.,^/])\d+(?:,\d{{3}})*(?=\s(?:{_UNITS}))"
)


class Passage(NamedTuple):
    """Lines without an empty one between them, the heading above, and the sources in the comment below."""

    line: int
    heading: str
    text: str
    sources: str


def pages() -> list[str]:
    """Name README.md and the pages of docs, but for those that a command makes or that a program writes whole."""
    paths = [path.relative_to(ROOT) for path in sorted((ROOT / "docs").rglob("*.md"))]
    kept = [path.as_posix() for path in paths if path.parts[1] not in MADE]
    return ["README.md", *(name for name in kept if name not in WRITTEN)]


def passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a page; code, generated tables and other comments are none."""
    hidden = BLOCK.sub(_blank, FENCE.sub(_blank, text))
    heading, begun = "", 0
    lines: list[str] = []
    sources = {hidden.count("\n", 0, m.start()): m for m in COMMENT.finditer(hidden) if m[1].startswith(" sources\n")}
    waiting: Passage | None = None
    for k, line in enumerate([*COMMENT.sub(_blank, hidden).split("\n"), ""]):
        if not line.strip() or line.startswith("#"):
            if lines:
                if waiting is not None:
                    yield waiting
                waiting = Passage(begun + 1, heading, "\n".join(lines), "")
                lines = []
            if line.startswith("#"):
                heading = line.lstrip("# ")
            if k in sources and waiting is not None:
                yield waiting._replace(sources=sources[k][1].removeprefix(" sources\n").strip())
                waiting = None
        else:
            begun = begun if lines else k
            lines.append(line)
    if waiting is not None:
        yield waiting


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def shown(text: str) -> list[str]:
    """Return the numbers of a passage that report something, as they are written.

    Examples
    --------
    >>> shown("On 12 of 15 sets (section 3.2, `tol=0.1`) it errs 2.5 % less, 1,200 times as fast, $x^{0.5}$")
    ['12', '2.5', '1,200']
    """
    plain = re.sub(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)", "#", text.replace("\n", " "))
    return NUMBER.findall(_REFERENCE.sub("#", plain))


def listed(sources: str) -> Iterator[tuple[str, str]]:
    """Yield the numbers and sources of a comment, a number each; ValueError where a line is none of either."""
    for line in sources.splitlines():
        numbers, found, source = line.partition(" = ")
        if not found:
            raise ValueError(f"{line!r} is not NUMBER = SOURCE")
        for number in re.split(r",\s+", numbers.strip()):
            yield number, source.strip()


def faults(page: str, text: str) -> list[str]:
    """Return what is wrong with the numbers of a page: without a source, not as the source has it, or not shown."""
    found = []
    for passage in passages(text):
        where = f"{page}:{passage.line}"
        numbers = Counter(shown(passage.text))
        sources = list(listed(passage.sources))
        if [number for number, _ in sources] == ["all"]:
            sources = [(number, sources[0][1]) for number in numbers.elements()]
        counted = Counter(number for number, _ in sources)
        found += [f"{where}: {number} has no source" for number in (numbers - counted).elements()]
        found += [f"{where}: {number} has a source and is not shown" for number in (counted - numbers).elements()]
        for number, source in sources:
            wrong = disagreement(number, source)
            if wrong:
                found.append(f"{where}: {number} = {source}: {wrong}")
    return found


def not_kept(page: str, text: str) -> set[tuple[str, str]]:
    """Return the reasons for which numbers of a page are in no file, each with the page."""
    sources = (source for passage in passages(text) for _, source in listed(passage.sources))
    return {(page, source.removeprefix("not kept: ")) for source in sources if source.startswith("not kept: ")}


def disagreement(number: str, source: str) -> str:
    """Return how a number differs from its source, or what is wrong with the source; empty where all is well."""
    kind, colon, rest = source.partition(": ")
    if kind in ("given", "not kept") and colon and rest:
        return ""
    if source.startswith("test "):
        path, _, name = source.removeprefix("test ").partition("::")
        text = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
        return "" if re.search(rf"^def {name}\(", text, re.MULTILINE) and name else "there is no such test"
    try:
        if " | " in source:
            cell = cell_of(source)
            return "" if agrees(number, cell) else f"there it is {cell}"
        text = " ".join(text_of(kind).split())
    except LookupError as error:
        return str(error.args[0])
    if not colon or f"#{number}#" not in "#".join(["", *re.findall(r"[-+]?[\d,]*\.?\d+", rest), ""]):
        return "the words do not hold the number"
    return "" if " ".join(rest.split()) in text else f"{kind} does not have these words"


def agrees(number: str, cell: str) -> bool:
    """Whether a number is that of a cell, rounded to the digits that are shown.

    Examples
    --------
    >>> agrees("9.3", "9.34 (1.2)"), agrees("9.4", "9.34"), agrees("9.30", "9.34"), agrees("9.35", "9.3")
    (True, False, False, False)
    """
    found = re.match(r"[-+]?[\d,]*\.?\d+", cell)
    if found is None:
        return False
    (a, shown_digits), (b, digits) = (_parsed(text) for text in (number, found[0]))
    # A cell that is itself rounded may lie on either side of the half.
    slack = 0.5 * 10.0**-shown_digits + 0.5 * 10.0**-digits if digits > shown_digits else 0.0
    return digits >= shown_digits and abs(a - b) <= slack + 1e-9


def _parsed(text: str) -> tuple[float, int]:
    return float(text.replace(",", "")), len(text.partition(".")[2])


@cache
def text_of(name: str) -> str:
    """Return a recorded table or a page by its name; LookupError if there is none."""
    for path in (ROOT / RECORDED / name / "table.md", ROOT / "docs" / f"{name}.md"):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise LookupError(f"{name!r} is no record of {RECORDED} and no page of docs")


class Table(NamedTuple):
    """A table of Markdown: the heading above it, its columns, its rows."""

    heading: str
    columns: list[str]
    rows: list[list[str]]


@cache
def tables_of(name: str) -> list[Table]:
    """Return the tables of a record or a page, or the one of a file of published numbers."""
    if name.endswith(".csv"):
        with (ROOT / PUBLISHED / name).open(encoding="utf-8", newline="") as file:
            columns, *body = csv.reader(file)
        return [Table("", columns, body)]
    found: list[Table] = []
    heading, rows = "", []
    for line in [*text_of(name).split("\n"), ""]:
        if line.startswith("|"):
            rows.append([cell.strip().strip("*`").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            found.append(Table(heading, rows[0], rows[2:]))
            rows = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
    return found


def cell_of(source: str) -> str:
    """Return the cell that a source names; LookupError unless there is exactly one."""
    name, *wanted = source.split(" | ")
    part = wanted.pop(0)[2:] if wanted[0].startswith("# ") else ""
    tables = [table for table in tables_of(name) if not part or table.heading == part]
    if not tables:
        raise LookupError(f"{name!r} has no table below {part!r}")
    cells = set()
    for table in tables:
        column, keys = ("ours", wanted) if "ours" in table.columns else (wanted[-1], wanted[:-1])
        if keys and keys[-1] in ("published", "difference") and "published" in table.columns:
            column, keys = keys[-1], keys[:-1]
        if column in table.columns:
            at = table.columns.index(column)
            cells |= {row[at] for row in table.rows if not Counter(keys) - Counter(row)}
    if len(cells) != 1:
        raise LookupError(f"{len(cells)} cells of {name!r} are called so")
    return cells.pop()


def rewritten(text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with its generated tables made anew; LookupError for one that nobody makes."""

    def made(match: re.Match[str]) -> str:
        if match[2] not in tables:
            raise LookupError(f"nothing makes the table {match[2]!r}; take one of {', '.join(tables)}")
        return f"{match[1]}\n{tables[match[2]]().strip()}\n\n<!-- end of numbers -->"

    return BLOCK.sub(made, text)


def _suggestions(number: str) -> Iterator[str]:
    """Yield lines and sentences of records that have a number."""
    for place in sorted((ROOT / RECORDED).glob("*/table.md")):
        name = place.parent.name
        for table in tables_of(name):
            at = table.columns.index("ours") if "ours" in table.columns else None
            if at is not None and "." in number:
                yield from (" | ".join([name, *row[:at]]) for row in table.rows if agrees(number, row[at]))
        for line in text_of(name).splitlines():
            if line.lstrip().startswith("- ") and re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", line):
                yield f"{name}: {line.strip()[2:]}"


def main(arguments: list[str]) -> None:
    """Do what the first lines of this file say."""
    parser = argparse.ArgumentParser(prog="page_numbers.py", description=str(__doc__).splitlines()[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--list", action="store_true", help="numbers without a source, and records in which they stand")
    which.add_argument("--kept", action="store_true", help="what is on the pages and in no file of the repository")
    given = parser.parse_args(arguments)
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in pages()}
    if given.list:
        for page, text in texts.items():
            for fault in faults(page, text):
                print(fault)
                number = fault.split(": ")[1].split(" ")[0]
                if fault.endswith("has no source"):
                    print(*(f"    {number} = {each[:300]}" for each in list(_suggestions(number))[:8]), sep="\n")
    elif given.kept:
        print(*(f"{page}: {reason}" for name, text in texts.items() for page, reason in not_kept(name, text)), sep="\n")
    else:
        sys.path.insert(0, str(Path(__file__).parent))
        from page_tables import TABLES

        for page, text in texts.items():
            new = rewritten(text, TABLES)
            if new != text:
                (ROOT / page).write_text(new, encoding="utf-8")
                print(f"{page} is up to date.")


if __name__ == "__main__":
    main(sys.argv[1:])
