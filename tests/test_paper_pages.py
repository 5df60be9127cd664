"""The pages of the papers: names, tests, commands, files and links on them exist, and every page has all its parts.

Tables and figures of the index are written from `reproduction/papers/bibliography.toml`, when this file is run.
"""

import ast
import importlib
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from reproduction.gallery import available_figures
from reproduction.papers import tables
from reproduction.papers.bibliography import PAPERS as BIBLIOGRAPHY
from reproduction.papers.bibliography import Paper

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "papers"
PAGES = sorted(FOLDER.glob("*.md"))
PAPERS = [path for path in PAGES if path.name != "index.md"]
INDEX = FOLDER / "index.md"
PARTS = ["In short", "From the paper to the code", "Misprints", "Protocol", "Claims", "Not judged yet"]


@cache
def functions_of(path: str) -> set[str]:
    """Return the functions of a file of tests."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def resolves(name: str) -> bool:
    """Whether a name that begins with "sm." is one of the package."""
    place = importlib.import_module("specmargin")
    for part in name.split(".")[1:]:
        if not hasattr(place, part):
            return False
        place = getattr(place, part)
    return True


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def faults(text: str, folder: Path = FOLDER) -> list[str]:
    """Return what a page names and nobody has."""
    wrong = [name for name in re.findall(r"\bsm(?:\.\w+)+", text) if not resolves(name)]
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
        if not (ROOT / path).is_file() or name not in functions_of(path):
            wrong.append(f"{path}::{name}")
    paths = re.findall(
        r"`((?:specmargin|reproduction|figures|benchmarks|notebooks|tests|docs)/[\w/]+(?:\.\w+)?)(?=[`:])", text
    )
    wrong += [path for path in paths if not (ROOT / path).exists()]
    known = {"tables": tables(), "figures": available_figures()}
    for kind, names in re.findall(r"`python -m reproduction (tables|figures) ([\w ]+)", text):
        wrong += [f"python -m reproduction {kind} {name}" for name in names.split() if name not in known[kind]]
    for target, anchor in re.findall(r"\]\(([\w./]+)(?:#([\w-]+))?\)", text):
        path = folder / target
        headings = re.findall(r"(?m)^#+ (.*)$", path.read_text(encoding="utf-8")) if path.is_file() else []
        if not path.is_file() or (anchor and anchor not in map(slug, headings)):
            wrong.append(f"link {target}#{anchor}")
    return wrong


def commands(paper: Paper) -> str:
    """Return what computes the tables and the figures of a paper, in two cells."""
    cells = {"tables": paper.tables, "figures": paper.figures}
    return " | ".join(
        f"`python -m reproduction {kind} {' '.join(names)}`" if names else "" for kind, names in cells.items()
    )


def indexed(text: str, papers: tuple[Paper, ...] = BIBLIOGRAPHY) -> str:
    """Return the index with the commands of all papers: in the row of a page, and in a table of those without one."""
    further = ["| what | tables | figures |", "|---|---|---|"]
    for paper in papers:
        row = rf"(?m)^(\| \[[^|]*\| {re.escape(paper.authors)} [^|]*\b{paper.year} \|).*$"
        if paper.authors and re.search(row, text):
            text = re.sub(row, rf"\1 {commands(paper)} |", text)
        else:
            further.append(f"| {paper.name} | {commands(paper)} |")
    begin, end = "<!-- further -->\n", "<!-- end -->"
    before, _, rest = text.partition(begin)
    return "\n".join([f"{before}{begin}", *further, "", rest[rest.index(end) :]])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_what_a_page_names_exists(page):
    assert faults(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAPERS, ids=lambda path: path.stem)
def test_a_page_has_all_its_parts_and_tests_of_its_misprints(page):
    text = page.read_text(encoding="utf-8")
    _, *rest = re.split(r"(?m)^## (.*)\n", text)
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    assert list(parts) == PARTS
    assert re.findall(r"`tests/[\w/]+\.py::\w+`", parts["Misprints"])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_tables_and_formulas_are_whole_lines(page):
    """A bar within a cell shifts the others, and not every reader of Markdown takes a formula over two lines."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
            assert line.count("|") in (4, 5, 7), line
        else:
            assert len(line) <= 120 or re.match(r"[\d., ]+ = ", line), line  # a source is one line
        assert line.count("$") % 2 == 0, line
        assert not re.search(r"\\[,;:!{}]", line), line  # Markdown takes the backslash away


def test_the_index_has_every_page_table_and_figure():
    text = INDEX.read_text(encoding="utf-8")
    assert {path.name for path in PAPERS} <= set(re.findall(r"\]\((\w+\.md)\)", text))
    assert len(re.findall(r"(?m)^\| \[", text)) == len(PAPERS)
    assert indexed(text) == text, "run: python tests/write_pages.py"
    for kind, known in (("tables", tables()), ("figures", available_figures())):
        named = re.findall(rf"`python -m reproduction {kind} ([\w ]+)`", text)
        assert sorted(name for names in named for name in names.split()) == sorted(known)


def test_a_paper_without_a_page_gets_a_line_in_the_index():
    added = Paper("toy", "A toy", "One. Two.", ("lapsvm_svm",), ("clock",), "Nobody", "Nowhere", 2030)
    row = "| Nobody (2030) | `python -m reproduction tables lapsvm_svm` | `python -m reproduction figures clock` |\n"
    text = INDEX.read_text(encoding="utf-8")
    assert row in indexed(text, (*BIBLIOGRAPHY, added))
    page = text.replace("| [QN-S3VM]", "| [Toy](toy.md) | Nobody 2029, 2030 | old | |\n| [QN-S3VM]")
    written = indexed(page, (*BIBLIOGRAPHY, added))
    assert row.replace("| Nobody (2030)", "| [Toy](toy.md) | Nobody 2029, 2030") in written
    assert "| Nobody (2030)" not in written


def test_what_does_not_exist_is_named():
    text = """`sm.objectives.LapSVN`, `tests/test_paper_pages.py::test_nothing`, `tests/test_nowhere.py::test_it`,
    `python -m reproduction tables lapsvm_primal lapsvm_dual`, `python -m reproduction figures moons --quick`,
    `figures/moons.py`, `sm.LapSVM`, [a](nowhere.md),
    [b](../../README.md#figures-and-tables), [c](../../README.md#nothing)"""
    assert faults(text) == [
        "sm.objectives.LapSVN",
        "tests/test_paper_pages.py::test_nothing",
        "tests/test_nowhere.py::test_it",
        "tests/test_nowhere.py",
        "figures/moons.py",
        "python -m reproduction tables lapsvm_dual",
        "python -m reproduction figures moons",
        "link nowhere.md#",
        "link ../../README.md#nothing",
    ]


if __name__ == "__main__":
    INDEX.write_text(indexed(INDEX.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{INDEX.relative_to(ROOT)} is up to date.\n")
