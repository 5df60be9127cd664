"""Words that the project no longer uses, what to write instead, and how often they still stand somewhere.

A word is looked for in prose (docstrings, comments, messages and other strings, Markdown, text of notebooks), in names
(variables, arguments, attributes, functions, classes), or in both. In a name it counts as a part between underscores or
capitals. What a word may mean is in `ALLOWED`; `CEILING` in `tests/test_house.py` is how often it may still stand.

    python tests/house_words.py            # the counts
    python tests/house_words.py machine    # where
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Word(NamedTuple):
    """An old word: a regular expression for prose and one for a part of a name; empty is looked for nowhere."""

    instead: str
    prose: str = ""
    part: str = ""


WORDS = {
    "machine": Word("classifier, SVM, model", "machines?", "machines?"),
    "found": Word("what it is, as a variable", part="found"),
    "slop": Word("rounding allowance", "slop", "slop"),
    "slip": Word("rounding allowance", "slips?", "slips?"),
    "watch": Word("Monitor, or what is watched", part="watch(es)?"),
    "height": Word("slope, value", "heights?", "heights?"),
    "bend": Word("curvature, kink", "bends?", "bends?"),
    "tilt": Word("linear term", "tilt(s|ed)?", "tilt(s|ed)?"),
    "lift": Word("diagonal shift", "lift(s|ed)?", "lift(s|ed)?"),
    "reach": Word("step bound", part="reach"),
    "fall": Word("decrease", part="falls?"),
    "miss": Word("residual", part="miss(es)?"),
    "relieve": Word("precondition", "relieve[sd]?", "relieve[sd]?"),
    "words": Word("keyword arguments, text, names", part="words"),
    "faces": Word("variants (of a solver)", "faces", "faces"),
    "settled": Word("converged", "settle[sd]?", "settle[sd]?"),
    "at hand": Word("available", r"at\s+hand", ""),
    "beside": Word("next to, compared with, in addition to", "beside", ""),
    "said": Word("note, reported", "said", "said"),
    "printed": Word("published", "printed", "printed"),
    "so many": Word("number of, every k-th", r"so\s+many", "manieth|maniest"),
    "plane": Word("coefficients and intercept", "planes?", "planes?"),
    "duel": Word("comparison", "duels?", "duels?"),
    "shade": Word("significance mark", "shade[sd]?", "shade[sd]?"),
    "pulled": Word("regularisation part of the gradient", "pulled", "pull(ed)?"),
    "pushed": Word("loss part of the gradient", "pushed", "push(ed)?"),
    "span, route": Word("feature map", part="Span|Route|route"),
    "door": Word("public entry, argument check", "doors?", "doors?"),
    "leftovers": Word("a plain word", "left[- ]?overs?", "leftovers?"),
}

# What is no old word: a phrase that is taken out before counting, and files in which the word means something else.
ALLOWED = {
    "machine": [
        r"(support[- ]vector|relative[- ]margin|kernel|learning)\s+machines?",
        r"machine\s+(precision|epsilon|learning)",
        r"(another|other|this|one|every|each|whole|same|different|which|that)\s+machines?",  # a computer
    ],
    "faces": [r"(CBCL|of|are|has no CBCL)\s+faces", r"faces_\w+", r"faces\s+(of\s+CBCL|\(1\))"],
    "plane": [r"(of|in|over|the|points of)\s+the\s+plane", r"hyperplanes?"],
    "found": [r"not_found"],
    "height": [r"(figure|bar|page|line)_?\s*heights?"],
}
ALLOWED_IN = {
    "height": ("specmargin/plots/", "figures/"),  # of a picture
    "plane": ("specmargin/plots/", "figures/"),  # where samples are drawn
    "faces": ("faces",),  # FACEMIT
    "words": ("reproduction/data/text.py",),  # of a document
    "shade": ("specmargin/plots/",),  # of a colour
}

_SKIPPED = tuple(f"docs/{made}/" for made in ("_build", "api", "gallery", "notebooks", "recorded"))
"""Written by programs."""


class Place(NamedTuple):
    """Where a word stands."""

    path: str
    line: int
    text: str


def texts(root: Path) -> Iterator[Path]:
    """Yield the files that are read."""
    for pattern in (
        "cvxproof/**/*.py",
        "specmargin/**/*.py",
        "figures/*.py",
        "README.md",
        "docs/**/*.md",
        "notebooks/*.ipynb",
        "*/README.md",
    ):
        for path in sorted(root.glob(pattern)):
            if not any(part in path.as_posix() for part in _SKIPPED) and "output" not in path.parts:
                yield path


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every name of a syntax tree with its line."""
    for node in ast.walk(tree):
        for attribute in ("id", "attr", "arg", "name"):
            value = getattr(node, attribute, None)
            if isinstance(value, str):
                yield getattr(node, "lineno", 0), value


def prose(source: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every string and comment of a Python file with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def read(path: Path) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return prose and names of a file, each with its line."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return list(enumerate(source.splitlines(), start=1)), []
    if path.suffix == ".ipynb":
        cells = json.loads(source)["cells"]
        written = [(k, "".join(cell["source"])) for k, cell in enumerate(cells) if cell["cell_type"] == "markdown"]
        code = [re.sub("(?m)^%.*", "", "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
        trees = [(text, ast.parse(text)) for text in code]
        return (
            [*written, *(line for text, tree in trees for line in prose(text, tree))],
            [name for _, tree in trees for name in names(tree)],
        )
    tree = ast.parse(source)
    return list(prose(source, tree)), list(names(tree))


def occurrences(root: Path) -> dict[str, list[Place]]:
    """Return where each old word stands."""
    files = [(path.relative_to(root).as_posix(), *read(path)) for path in texts(root)]
    # All that a file says in one string, so that most of its lines need not be looked at one by one.
    files = [(path, *lists, "\n".join(text for lines in lists for _, text in lines)) for path, *lists in files]
    return {name: list(_places(name, word, files)) for name, word in WORDS.items()}


def _places(name: str, word: Word, files: list) -> Iterator[Place]:
    anywhere = re.compile(f"{word.prose or '(?!)'}|{word.part or '(?!)'}", re.IGNORECASE)
    in_prose = re.compile(rf"\b(?:{word.prose})\b", re.IGNORECASE) if word.prose else None
    # A part of a name stands between underscores, or starts with a capital inside of a name.
    lower = rf"(?:^|_)(?:{word.part})(?=_|\d|$)"
    upper = rf"(?:{word.part.title() if word.part.islower() else word.part})(?=[A-Z_\d]|$)"
    in_names = re.compile(rf"{lower}|{upper}|(?:^|_)(?:{word.part.upper()})(?=_|$)") if word.part else None
    allowed = re.compile("|".join(ALLOWED.get(name, ["(?!)"])), re.IGNORECASE)
    for path, written, named, everything in files:
        if any(part in path for part in ALLOWED_IN.get(name, ())) or not anywhere.search(everything):
            continue
        for pattern, lines in ((in_prose, written), (in_names, named)):
            for line, text in lines if pattern else ():
                for match in pattern.finditer(allowed.sub("", text)):
                    yield Place(path, line + text[: match.start()].count("\n"), text[max(match.start() - 30, 0) :][:70])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="words whose places are listed; all are counted else")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in WORDS]:
        parser.error(f"no word {unknown[0]!r} is looked for; take one of {', '.join(WORDS)}")
    stands = occurrences(Path(__file__).resolve().parents[1])
    for name in given.names:
        for path, line, text in stands[name]:
            print(f"{path}:{line}: {' '.join(text.split())}")
    if not given.names:
        for name, word in WORDS.items():
            print(f"{len(stands[name]):5}  {name:12} {word.instead}")
