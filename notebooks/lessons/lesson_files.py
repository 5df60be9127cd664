"""The files of the lessons, written from ``NN_name_sol.py``, their only source.

A source is in the percent format of jupytext: ``# %%`` begins a cell of code, ``# %% [markdown]`` one of text, and
``tags=["..."]`` may follow. In the student's notebook a line ``# solution`` and what follows it in its cell become
"Write your code here", up to a call of `teaching`, which stays. What a tag says of a cell:

* solution: only in the notebook with solutions.
* slide: also one of the slides.
* quiz: only in the quiz, without its line "Answer:".
* answers: in no file. It fills ``answers[exercise] = right, {hint: wrong answer}``, of which
  ``teaching/exercises.json`` keeps the marks.

Only ``NN_feedback.md`` is written by hand: who tried the lesson, where one stumbles, what was changed for it.

    python notebooks/lessons/lesson_files.py            # notebooks, slides and quizzes
    python notebooks/lessons/lesson_files.py --marks    # runs the sources and writes the marks of the answers, too
    python notebooks/lessons/lesson_files.py --teacher  # build/teacher.zip: solutions, slides, quizzes with answers
    python notebooks/lessons/lesson_files.py --marimo marimo  # for_marimo/NN_name.py of four lessons, by that command

A marimo file is what ``marimo convert`` makes of the student's notebook: names that several cells use begin with an
underscore there, since marimo allows one cell for each name. Its head names what it needs, this checkout among it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MARKS = HERE / "teaching" / "exercises.json"
ARCHIVE = ROOT / "build" / "teacher.zip"
MARIMO = ("02", "05", "07", "09")
BLANK = "# Write your code here."
DECIMALS = 3
HEAD = """# /// script
# requires-python = ">=3.11"
# dependencies = ["cvxpy", "marimo", "matplotlib", "numpy", "scikit-learn", "scipy", "specmargin"]
#
# [tool.uv.sources]
# specmargin = { path = "../../.." }
# ///

# Written by `lesson_files.py --marimo` from the source of the lesson. `uvx marimo edit --sandbox FILE` opens it.

"""


class Cell(NamedTuple):
    """A cell of a source: "code" or "markdown", its text, its tags."""

    kind: str
    text: str
    tags: tuple[str, ...]


def sources(folder: Path = HERE) -> list[Path]:
    """List the sources of the lessons in their order."""
    return sorted(folder.glob("*_sol.py"))


def cells(source: Path) -> list[Cell]:
    """Return the cells of a source."""
    _, *parts = re.split(r"(?m)^# %%(.*)\n", source.read_text(encoding="utf-8"))
    found = []
    for head, body in zip(parts[::2], parts[1::2], strict=True):
        tags = tuple(json.loads(re.sub(r".*tags=(\[.*?\]).*", r"\1", head))) if "tags=" in head else ()
        text = body.strip("\n")
        if "[markdown]" in head:
            found.append(Cell("markdown", re.sub(r"(?m)^# ?", "", text), tags))
        else:
            found.append(Cell("code", re.sub(r"(?m)^# (%\w)", r"\1", text), tags))
    return found


def runnable(cell: Cell) -> str:
    """Return the code of a cell without the magics of Jupyter."""
    return re.sub(r"(?m)^%.*\n?", "", cell.text)


def without_solution(cell: Cell) -> Cell:
    """Return a cell of code as students get it."""
    head, cut, rest = cell.text.partition("# solution\n")
    kept = re.search(r"(?m)^(?=teaching\.)", rest)
    return cell._replace(text=f"{head}{BLANK}\n" + (rest[kept.start() :] if kept else "")) if cut else cell


def notebook_cells(source: Path, *, solution: bool) -> list[Cell]:
    """Return the cells of the notebook with solutions, or of the one for students."""
    dropped = {"answers", "quiz"} if solution else {"answers", "quiz", "solution"}
    kept = [cell for cell in cells(source) if not dropped & set(cell.tags)]
    if solution:
        return [cell._replace(text=cell.text.replace("# solution\n", "")) for cell in kept]
    return [without_solution(cell)._replace(text=without_solution(cell).text.rstrip("\n")) for cell in kept]


def notebook(source: Path, *, solution: bool) -> str:
    """Return the text of a notebook."""
    made = []
    for number, cell in enumerate(notebook_cells(source, solution=solution)):
        new = nbformat.v4.new_code_cell if cell.kind == "code" else nbformat.v4.new_markdown_cell
        made.append(new(cell.text, id=f"cell-{number:02d}"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return nbformat.writes(nbformat.v4.new_notebook(cells=made, metadata=metadata)) + "\n"


def marimo_path(source: Path) -> Path:
    """Return the path of the marimo file of a source."""
    return source.with_name("for_marimo") / f"{source.name.removesuffix('_sol.py')}.py"


def marimo_file(source: Path, command: list[str]) -> str:
    """Return the text of the marimo file of the student's notebook, which the command of marimo converts."""
    plain = nbformat.reads(notebook(source, solution=False), 4)
    for cell in plain.cells:
        if cell.cell_type == "code":
            cell.source = re.sub(r"(?m)^%.*\n+", "", cell.source)
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "lesson.ipynb", Path(folder) / "lesson.py"
        nbformat.write(plain, given)
        subprocess.run([*command, "-q", "-y", "convert", str(given), "-o", str(made)], check=True)
        subprocess.run([sys.executable, "-m", "ruff", "format", "-q", "--line-length=120", str(made)], check=True)
        return HEAD + made.read_text(encoding="utf-8")


def slides(source: Path) -> str:
    """Return the slides: the cells with that tag."""
    shown = [cell for cell in cells(source) if "slide" in cell.tags]
    return "\n\n---\n\n".join(c.text if c.kind == "markdown" else f"```python\n{c.text}\n```" for c in shown) + "\n"


def quiz(source: Path, *, answers: bool = False) -> str:
    """Return the questions of the quiz, without their answers or with them."""
    asked = [cell.text for cell in cells(source) if "quiz" in cell.tags]
    shown = asked if answers else [re.sub(r"(?ms)\n*^Answer:.*", "", text) for text in asked]
    return "\n\n".join(shown) + "\n"


def registered_answers(source: Path) -> str:
    """Return the code that registers the right answers and the wrong ones with their hints, as it stands."""
    return "\n\n".join(cell.text for cell in cells(source) if "answers" in cell.tags) + "\n"


def files(source: Path) -> dict[Path, str]:
    """Return the text of every file that is made of a source."""
    name = source.name.removesuffix("_sol.py")
    return {
        source.with_name(f"{name}.ipynb"): notebook(source, solution=False),
        source.with_name(f"{name}_solution.ipynb"): notebook(source, solution=True),
        source.with_name(f"{name[:2]}_slides.md"): slides(source),
        source.with_name(f"{name[:2]}_quiz.md"): quiz(source),
    }


def teacher_files(folder: Path = HERE) -> dict[str, str]:
    """Return the text of every file of the archive for teachers, by its name."""
    made = {
        "teaching.md": (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8"),
        "marks.json": MARKS.read_text(encoding="utf-8"),
    }
    for source in sources(folder):
        name = source.name.removesuffix("_sol.py")
        made |= {
            f"solutions/{name}.ipynb": notebook(source, solution=True),
            f"slides/{name[:2]}_slides.md": slides(source),
            f"quizzes/{name[:2]}_quiz_answers.md": quiz(source, answers=True),
            f"answers/{name[:2]}_answers.py": registered_answers(source),
        }
    return made


def write_archive(path: Path, texts: dict[str, str]) -> None:
    """Write a zip file of texts. It has no date, so that the same texts make the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(texts.items()):
            entry = zipfile.ZipInfo(f"teacher/{name}")
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, text)


def registered(source: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Run a source without its checks, and return what it registers: the right answer, and the wrong ones by hint."""
    names: dict[str, Any] = {"answers": {}}
    for cell in cells(source):
        if cell.kind == "code":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(re.sub(r"(?m)^teaching\.check\(.*\n?", "", runnable(cell)), names)
    return names["answers"]


def entry(exercise: str, right: Any, wrong: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of an exercise: hashes, and the hints that no property gives."""
    import numpy as np
    from teaching.exercises import mark, marks
    from teaching.properties import PROPERTIES

    def valued(answer: Any) -> Any:
        return (
            answer.lower()
            if isinstance(answer, str)
            else answer
            if callable(answer)
            else np.asarray(answer, dtype=float)
        )

    kept = {
        hint: answer for hint, answer in wrong.items() if hint != _by_property(PROPERTIES, exercise, valued(answer))
    }
    kind = "text" if isinstance(right, str) else "function" if callable(right) else list(np.shape(right))
    made = {
        "kind": kind,
        "decimals": DECIMALS,
        "wrong": {hint: mark(exercise, valued(answer), DECIMALS) for hint, answer in kept.items()},
    }
    if exercise not in PROPERTIES:
        made["right"] = mark(exercise, valued(right), DECIMALS)
    all_marks = [made.get("right"), *made["wrong"].values()]
    near = marks(exercise, valued(right), DECIMALS)
    if len(set(all_marks)) < len(all_marks) or near & set(made["wrong"].values()):
        raise ValueError(f"{exercise}: two answers cannot be distinguished by {DECIMALS} decimals")
    return made


def _by_property(properties: dict[str, Any], exercise: str, value: Any) -> str | None:
    return properties[exercise](value) if exercise in properties else None


def main(arguments: list[str]) -> None:
    """Write all files; with ``--marks`` those of the answers, too; or the archive alone, or the marimo files alone."""
    parser = argparse.ArgumentParser(prog="lesson_files.py", description=__doc__.splitlines()[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--marks", action="store_true", help="run the sources and write the marks of the answers, too")
    which.add_argument("--teacher", action="store_true", help="build/teacher.zip alone, the archive for teachers")
    which.add_argument("--marimo", nargs="+", metavar="COMMAND", help="the marimo files alone, by this command")
    given = parser.parse_args(arguments)
    if given.teacher:
        write_archive(ARCHIVE, texts := teacher_files())
        print(f"{ARCHIVE.relative_to(ROOT)} holds {len(texts)} files of {len(sources())} lessons.")
        return
    if given.marimo:
        for source in (one for one in sources() if one.name[:2] in MARIMO):
            text = marimo_file(source, given.marimo)
            marimo_path(source).write_text(text, encoding="utf-8")
        print(f"{len(MARIMO)} marimo files are written.")
        return
    for source in sources():
        for path, text in files(source).items():
            path.write_text(text, encoding="utf-8")
    if given.marks:
        import matplotlib

        matplotlib.use("Agg")
        made = {}
        for source in sources():
            made |= {name: entry(name, *answer) for name, answer in registered(source).items()}
        MARKS.write_text(json.dumps(dict(sorted(made.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(sources())} lessons are written.")


if __name__ == "__main__":
    main(sys.argv[1:])
