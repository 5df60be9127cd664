"""The size of the house: what `python tests/house_counts.py` prints, and what tests hold below ceilings.

    python tests/house_counts.py [--json FILE]

Code lines are lines with a token that is neither a comment nor part of a docstring. A fit is followed by Python's own
profile: how many functions of this package it enters, in how many files, and how deep they call each other.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import json
import re
import sys
import tokenize
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(file: Path) -> int:
    """Return the number of lines that hold code."""
    return _code_lines(file.read_text(encoding="utf-8"))


@cache
def _code_lines(source: str) -> int:
    told: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            told |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - told)


def rooms(folder: str, root: Path = ROOT) -> dict[str, tuple[int, int]]:
    """Return code lines and files of every room of a folder: its packages, and its modules together."""
    counted: dict[str, tuple[int, int]] = {}
    for file in sorted((root / folder).rglob("*.py")):
        parts = file.relative_to(root / folder).parts
        room = parts[0] if len(parts) > 1 else "(modules)"
        lines, files = counted.get(room, (0, 0))
        counted[room] = lines + code_lines(file), files + 1
    return counted


class Entered(NamedTuple):
    """What a call enters of the package."""

    functions: int
    files: int
    depth: int


def entered(call: Callable[[], Any], packages: tuple[str, ...] = ("cvxproof", "specmargin")) -> Entered:
    """Return how many own functions, in how many own files, how deep, a call enters."""
    home = tuple(str(ROOT / package) for package in packages)
    functions: set[Any] = set()
    depth = deepest = 0

    def follow(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, deepest
        if not frame.f_code.co_filename.startswith(home):
            return
        if event == "call":
            depth += 1
            deepest = max(deepest, depth)
            if not frame.f_code.co_name.startswith("<"):
                functions.add(frame.f_code)
        elif event == "return":
            depth -= 1

    sys.setprofile(follow)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Entered(len(functions), len({code.co_filename for code in functions}), deepest)


def fits() -> dict[str, Entered]:
    """Return what one fit of four estimators enters, the second of two so that no import counts."""
    import specmargin as sm

    X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    y = sm.hide_labels(truth, per_class=3, random_state=0)
    made: dict[str, Callable[[], Any]] = {
        "LapSVM()": sm.LapSVM,
        "STORM()": sm.STORM,
        "LapRLS()": sm.LapRLS,
        "S3VM('quasi_newton')": lambda: sm.S3VM(search="quasi_newton"),
    }
    found = {}
    for name, make in made.items():
        make().fit(X, y)
        found[name] = entered(lambda make=make: make().fit(X, y))
    return found


def above(cls: type) -> list[str]:
    """Return the own classes that a class stands on, itself left out."""
    return [each.__name__ for each in cls.__mro__[1:] if each.__module__.startswith("specmargin.")]


def estimators() -> dict[str, tuple[int, int]]:
    """Return the number of own classes above every estimator, and that of its parameters."""
    from sklearn.base import BaseEstimator

    import specmargin as sm

    found = {name: getattr(sm, name) for name in sm.__all__ if isinstance(getattr(sm, name), type)}
    return {
        name: (len(above(cls)), len(inspect.signature(cls).parameters))
        for name, cls in found.items()
        if issubclass(cls, BaseEstimator)
    }


def words(file: Path) -> int:
    """Return the number of words of a page, its tables, code and addresses among them, without what is a comment."""
    return len(re.sub(r"<!--.*?-->", "", file.read_text(encoding="utf-8"), flags=re.DOTALL).split())


def counts() -> dict[str, Any]:
    """Return all that is counted, as JSON values."""
    folders = [
        name
        for name in ("cvxproof", "specmargin", "reproduction", "tests", "figures", "benchmarks")
        if (ROOT / name).is_dir()
    ]
    per_room = {folder: rooms(folder) for folder in folders}
    return {
        "rooms": per_room,
        "lines": {folder: sum(lines for lines, _ in found.values()) for folder, found in per_room.items()},
        "fits": {name: path._asdict() for name, path in fits().items()},
        "estimators": estimators(),
        "README words": words(ROOT / "README.md"),
    }


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write them to this file, too")
    options = parser.parse_args()
    found = counts()
    for folder in ("cvxproof", "specmargin", "reproduction"):
        for room, (lines, files) in sorted(found["rooms"].get(folder, {}).items(), key=lambda item: -item[1][0]):
            print(f"{folder + '/' + room:<28} {lines:>6} code lines in {files:>3} files")
    for folder, lines in found["lines"].items():
        print(f"{folder:<28} {lines:>6} code lines")
    for name, path in found["fits"].items():
        print(f"{name + '.fit':<28} {path['functions']:>6} functions in {path['files']} files, {path['depth']} deep")
    classes = [n for n, _ in found["estimators"].values()]
    parameters = [n for _, n in found["estimators"].values()]
    print(
        f"{'estimators':<28} {len(classes):>6}: own classes above, median {np.median(classes):g}, most {max(classes)};"
        f" parameters, median {np.median(parameters):g}, most {max(parameters)}"
    )
    print(f"{'README.md':<28} {found['README words']:>6} words")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
