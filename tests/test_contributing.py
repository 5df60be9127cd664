"""The worked examples of docs/adding.md are carried out: their files are added to a copy, and their checks run there.

One copy gets all of them, and the tests that go through what exists pass there: a newcomer turns none of them red.

An example is a section ``## ...`` of the page. The first line of each of its blocks says what the block is:

    # new file: PATH
    # PATH, at the end
    # PATH, below: LINE        the line must stand there once; the block follows it
    # PATH, above: LINE        the same, and the block comes first, with two empty lines between them
    # check                    a script that is run in the copy, with the copy's package

The first line is left out where the block is not Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow  # processes of their own

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "adding.md"
LONGEST = 40
"""Lines of Python of an example, without its check."""

WANTED = {
    *("A loss", "An edge weight", "A rule of the spectrum", "A data set", "A solver", "An estimator", "A table"),
    *("A figure", "A paper"),
}

LOOKING = (
    *("losses", "graphs/test_neighbor_graphs.py", "graphs/test_weights.py", "spectra/test_transforms.py"),
    *("spectra/test_parts.py", "solvers/test_requirements.py", "reproduction/data/test_registry.py"),
    *("reproduction/papers/test_bibliography.py", "reproduction/test_judging.py"),
    "reproduction/test_gallery.py::test_captions_are_short_and_speak_of_no_data_set_that_may_be_replaced",
    "reproduction/test_gallery.py::test_every_figure_of_the_package_says_how_long_it_takes",
    "test_paper_pages.py::test_the_index_has_every_page_table_and_figure",
    "test_house.py::test_losses_say_what_they_are_by_their_attributes",
)
"""Tests that go through all losses, weights, rules, data sets, tables, figures and papers."""


class Block(NamedTuple):
    """A block of code: its language, what it is, and its text."""

    language: str
    header: str
    text: str


def examples(page: str) -> dict[str, list[Block]]:
    """Return the blocks of every example by its title."""
    found = {}
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title = part.partition("\n")[0]
        blocks = re.findall(r"^```(\w+)\n# (.*?)\n(.*?)^```$", part, flags=re.MULTILINE | re.DOTALL)
        found[title] = [Block(*block) for block in blocks]
    return found


def apply(block: Block, tree: Path) -> Path:
    """Write a block into a copy and return the file that it changed."""
    if block.header.startswith("new file: "):
        path = tree / block.header.removeprefix("new file: ")
        if path.exists():
            raise AssertionError(f"{path.relative_to(tree)} is there already")
        path.write_text(block.text, encoding="utf-8")
        return path
    name, _, place = block.header.partition(", ")
    path = tree / name
    text = path.read_text(encoding="utf-8")
    if place == "at the end":
        path.write_text(f"{text}\n\n{block.text}", encoding="utf-8")
        return path
    where, _, line = place.partition(": ")
    times = text.split("\n").count(line)
    if where not in ("below", "above") or times != 1:
        raise AssertionError(f"{name} has the line {line!r} {times} times; the example needs it once")
    both = f"{line}\n{block.text}" if where == "below" else f"{block.text}\n\n{line}\n"
    path.write_text(f"\n{text}".replace(f"\n{line}\n", f"\n{both}").removeprefix("\n"), encoding="utf-8")
    return path


def run(command: list[str], tree: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "SPECMARGIN_DATA"}
    env |= {"PYTHONPATH": str(tree), "MPLBACKEND": "Agg", "XDG_CACHE_HOME": str(tree / "cache")}
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def carry_out(blocks: list[Block], tree: Path) -> None:
    """Add an example to a copy, hold what it changed against the style, and run its checks."""
    changed = [apply(block, tree) for block in blocks if block.header != "check"]
    names = [str(path.relative_to(tree)) for path in dict.fromkeys(changed) if path.suffix == ".py"]
    if names:  # without any name ruff would check the whole copy
        for command in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
            run([sys.executable, "-m", "ruff", *command, *names], tree)
    for block in blocks:
        if block.header == "check":
            run([sys.executable, "-c", block.text], tree)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of what examples are added to."""
    for folder in ("specmargin", "reproduction", "figures"):
        ignored = shutil.ignore_patterns("__pycache__", "output")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


PAGE_EXAMPLES = examples(PAGE.read_text(encoding="utf-8"))


def test_every_example_is_there_and_short() -> None:
    assert PAGE_EXAMPLES.keys() == WANTED
    for title, blocks in PAGE_EXAMPLES.items():
        assert blocks[-1].header == "check", f"{title}: the last block is the check"
        lines = sum(len(block.text.splitlines()) for block in blocks[:-1] if block.language == "python")
        assert lines <= LONGEST, f"{title}: {lines} lines"


@pytest.mark.parametrize("title", sorted(PAGE_EXAMPLES))
def test_example_does_what_the_page_says(title: str, copy: Path) -> None:
    carry_out(PAGE_EXAMPLES[title], copy)


def test_all_examples_keep_the_layers_and_turn_no_test_red(copy: Path) -> None:
    for blocks in PAGE_EXAMPLES.values():
        for block in blocks:
            if block.header != "check":
                apply(block, copy)
    lint = "import sys, importlinter.cli as cli; sys.exit(cli.lint_imports(no_logo=True, no_cache=True))"
    run([sys.executable, "-c", lint], copy)
    for folder in ("tests", "docs/papers"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "golden"))
    run([sys.executable, "tests/test_paper_pages.py"], copy)  # the page that these examples are on
    places = [f"tests/{place}" for place in LOOKING]
    run([sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", *places], copy)


@pytest.mark.parametrize(
    ("header", "text", "message"),
    [
        ("check", "assert 1 + 1 == 3\n", "AssertionError"),
        ("new file: specmargin/results.py", "x = 1\n", "is there already"),
        ("specmargin/results.py, below: no such line", "x = 1\n", "0 times"),
        ("specmargin/results.py, before: __all__", "x = 1\n", "0 times"),
        ("new file: specmargin/planted.py", "import os\n", "F401"),
        ("specmargin/results.py, at the end", "planted = [1,2]\n", "format"),
    ],
)
def test_an_example_that_fails_is_noticed(copy: Path, header: str, text: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        carry_out([Block("python", header, text)], copy)


def test_blocks_are_found_with_their_headers() -> None:
    page = "## One\n```python\n# check\nassert True\n```\ntext\n```text\nno header\n```\n## Two\n"
    assert examples(page) == {"One": [Block("python", "check", "assert True\n")], "Two": []}
