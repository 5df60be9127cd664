"""The worked examples of CONTRIBUTING.md are carried out: their files are added to a copy, and their checks run there.

An example is a section ``### ...`` of the page. The first line of each of its blocks says what the block is:

    # new file: PATH
    # PATH, at the end
    # PATH, below: LINE        the line must stand there once; the block follows it
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
PAGE = ROOT / "CONTRIBUTING.md"
LONGEST = 40
"""Lines of code of an example, without its check."""

WANTED = {"A loss", "An edge weight", "A data set", "A solver", "An estimator", "A table", "A figure", "A paper"}


class Block(NamedTuple):
    """A block of code: its language, what it is, and its text."""

    language: str
    header: str
    text: str


def examples(page: str) -> dict[str, list[Block]]:
    """Return the blocks of every example by its title."""
    found = {}
    for part in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
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
    line = place.removeprefix("below: ")
    times = text.split("\n").count(line)
    if not place.startswith("below: ") or times != 1:
        raise AssertionError(f"{name} has the line {line!r} {times} times; the example needs it once")
    path.write_text(f"\n{text}".replace(f"\n{line}\n", f"\n{line}\n{block.text}").removeprefix("\n"), encoding="utf-8")
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
        lines = sum(len(block.text.splitlines()) for block in blocks[:-1])
        assert lines <= LONGEST, f"{title}: {lines} lines"


@pytest.mark.parametrize("title", sorted(PAGE_EXAMPLES))
def test_example_does_what_the_page_says(title: str, copy: Path) -> None:
    carry_out(PAGE_EXAMPLES[title], copy)


def test_examples_keep_the_layers(copy: Path) -> None:
    for blocks in PAGE_EXAMPLES.values():
        for block in blocks:
            if block.header != "check":
                apply(block, copy)
    lint = "import sys, importlinter.cli as cli; sys.exit(cli.lint_imports(no_logo=True, no_cache=True))"
    run([sys.executable, "-c", lint], copy)


@pytest.mark.parametrize(
    ("header", "text", "message"),
    [
        ("check", "assert 1 + 1 == 3\n", "AssertionError"),
        ("new file: specmargin/results.py", "x = 1\n", "is there already"),
        ("specmargin/results.py, below: no such line", "x = 1\n", "0 times"),
        ("new file: specmargin/planted.py", "import os\n", "F401"),
        ("specmargin/results.py, at the end", "planted = [1,2]\n", "format"),
    ],
)
def test_an_example_that_fails_is_noticed(copy: Path, header: str, text: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        carry_out([Block("python", header, text)], copy)


def test_blocks_are_found_with_their_headers() -> None:
    page = "### One\n```python\n# check\nassert True\n```\ntext\n```text\nno header\n```\n### Two\n"
    assert examples(page) == {"One": [Block("python", "check", "assert True\n")], "Two": []}
