"""The lessons: files are those of their sources and have the form of a lesson; solutions pass, mistakes have hints."""

import ast
import inspect
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import lesson_files
import nbformat
import numpy as np
import pytest
import teaching
from full_size import shortened
from teaching.exercises import EXERCISES

import specmargin as sm

SOURCES = lesson_files.sources()
each_lesson = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name[:2])

MOST_CELLS, MOST_LINES = 14, 25

# Commands of LaTeX that are no symbols of a lesson, and letters that count.
STRUCTURE = """
    pmatrix mathbf mathbb quad qquad top le ge lt gt ne in min max sum frac tfrac sqrt cdot dots ldots times bigl bigr
    Bigl Bigr left right exp log pm to infty approx iff star odot hat mathcal subset cup cap perp langle rangle not
"""
INDICES = set("ijk")


# The files


@each_lesson
def test_files_are_those_of_the_source(source: Path) -> None:
    for path, text in lesson_files.files(source).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python notebooks/lessons/lesson_files.py"


def test_no_file_has_lost_its_source() -> None:
    written = {path.name for source in SOURCES for path in lesson_files.files(source)}
    by_hand = {f"{source.name[:2]}_feedback.md" for source in SOURCES}
    there = {path.name for path in lesson_files.HERE.iterdir() if path.suffix in (".ipynb", ".md")}
    assert there - by_hand == written


PLANTED = """# %% [markdown] tags=["slide"]
# # Title
#
# text

# %%
# %matplotlib inline
x = ...
# solution
x = 2
teaching.check("99.E1", x)

# %% tags=["solution"]
y = 3

# %% tags=["answers"]
answers["99.E1"] = 2.0, {}

# %% [markdown] tags=["quiz"]
# **1.** Two?
#
# Answer: two.
"""


def test_a_source_becomes_its_files(tmp_path: Path) -> None:
    source = tmp_path / "99_title_sol.py"
    source.write_text(PLANTED)
    made = {path.name: text for path, text in lesson_files.files(source).items()}
    student, solution = (nbformat.reads(made[f"99_title{end}.ipynb"], 4) for end in ("", "_solution"))
    head, check = "%matplotlib inline\nx = ...\n", 'teaching.check("99.E1", x)'
    assert [cell.source for cell in student.cells] == ["# Title\n\ntext", f"{head}# Write your code here.\n{check}"]
    assert [cell.source for cell in solution.cells] == ["# Title\n\ntext", f"{head}x = 2\n{check}", "y = 3"]
    assert made["99_slides.md"] == "# Title\n\ntext\n"
    assert made["99_quiz.md"] == "**1.** Two?\n"


def test_the_archive_of_teachers_holds_what_the_public_files_do_not(tmp_path: Path) -> None:
    path = tmp_path / "new" / "teacher.zip"
    lesson_files.write_archive(path, lesson_files.teacher_files())
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    for source in SOURCES:
        name = source.name.removesuffix("_sol.py")
        solution, slides = (
            source.with_name(f"{end}").read_text(encoding="utf-8")
            for end in (f"{name}_solution.ipynb", f"{name[:2]}_slides.md")
        )
        assert texts.pop(f"teacher/solutions/{name}.ipynb") == solution
        assert texts.pop(f"teacher/slides/{name[:2]}_slides.md") == slides
        questions = texts.pop(f"teacher/quizzes/{name[:2]}_quiz_answers.md")
        asked = re.findall(r"(?m)^\*\*\d\.\*\*", questions)
        assert len(re.findall(r"(?m)^Answer: [a-d]\.?", questions)) == len(asked) >= 3
        given = texts.pop(f"teacher/answers/{name[:2]}_answers.py")
        assert set(re.findall(r'answers\["([^"]+)"\] = ', given)) == {e for e in EXERCISES if e[:2] == name[:2]}
    assert texts.pop("teacher/marks.json") == lesson_files.MARKS.read_text(encoding="utf-8")
    assert texts.keys() == {"teacher/teaching.md"}

    first = path.read_bytes()
    lesson_files.write_archive(path, lesson_files.teacher_files())
    assert path.read_bytes() == first


def test_the_archive_of_teachers_is_neither_kept_nor_shipped() -> None:
    place = lesson_files.ARCHIVE.relative_to(lesson_files.ROOT)
    assert f"{place.parts[0]}/" in (lesson_files.ROOT / ".gitignore").read_text(encoding="utf-8").split()
    settings = (lesson_files.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    shipped = tomllib.loads(settings)["tool"]["hatch"]["build"]["targets"]
    assert shipped["wheel"]["only-include"] == ["cvxproof", "specmargin"]
    assert place.parts[0] not in shipped["sdist"]["include"]
    assert place.parts[0] != "docs"


# The marimo files

MARIMO = [source for source in SOURCES if source.name[:2] in lesson_files.MARIMO]


def cells_of_marimo(path: Path) -> list[tuple[str, str]]:
    """Return the cells of a marimo file: the kind, and a text or the syntax tree of code without comments."""
    made = []
    for function in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        body = [part for part in function.body if not isinstance(part, ast.Return)]
        match body:
            case [ast.Expr(ast.Call(ast.Attribute(ast.Name("mo"), "md"), [ast.Constant(text)]))]:
                made.append(("markdown", inspect.cleandoc(text)))
            case _:
                made.append(("code", ast.dump(ast.Module(body, []))))
    return made


@pytest.mark.parametrize("source", MARIMO, ids=lambda source: source.name[:2])
def test_marimo_files_are_those_of_the_source(source: Path) -> None:
    """Without marimo: the same texts and the same code, so that no name is in two cells and none was changed."""
    student = [
        (cell.kind, ast.dump(ast.parse(lesson_files.runnable(cell))) if cell.kind == "code" else cell.text.strip())
        for cell in lesson_files.notebook_cells(source, solution=False)
    ]
    path = lesson_files.marimo_path(source)
    first, *others = cells_of_marimo(path)
    assert first == ("code", ast.dump(ast.parse("import marimo as mo")))
    assert others == student, f"{path.name}: run lesson_files.py --marimo"
    head = re.search(r"(?ms)^# /// script\n(.*?)^# ///$", path.read_text(encoding="utf-8"))
    assert head is not None
    needed = tomllib.loads(re.sub(r"(?m)^# ?", "", head[1]))
    assert {"marimo", "specmargin"} <= set(needed["dependencies"])
    here = path.parent / needed["tool"]["uv"]["sources"]["specmargin"]["path"]
    assert here.resolve() == lesson_files.ROOT
    settings = tomllib.loads((lesson_files.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (helper,) = settings["tool"]["marimo"]["runtime"]["pythonpath"]
    assert (lesson_files.ROOT / helper / "teaching" / "exercises.json") == lesson_files.MARKS


def test_cells_of_a_marimo_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "lesson.py"
    path.write_text(
        "@app.cell\ndef _():\n    _k = 1\n    return\n\n\n@app.cell\ndef _(mo):\n    mo.md('a')\n    return\n"
    )
    assert cells_of_marimo(path) == [("code", ast.dump(ast.parse("_k = 1"))), ("markdown", "a")]


@pytest.mark.slow
@pytest.mark.parametrize("source", MARIMO, ids=lambda source: source.name[:2])
def test_marimo_files_run_and_print_what_the_notebook_prints(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # outside of a kernel a slider prints what it shows
    run(source, solution=False, monkeypatch=monkeypatch)
    path = lesson_files.marimo_path(source)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True, check=True)
    told = re.sub(r"\x1b\[2K|\r|Figure\(\d+x\d+\)", "", done.stdout)
    assert sorted(filter(None, told.split("\n"))) == sorted(filter(None, capsys.readouterr().out.split("\n")))


# The form


def markdown(source: Path) -> list[str]:
    """Return the texts of a lesson, without its quiz."""
    return [cell.text for cell in lesson_files.notebook_cells(source, solution=True) if cell.kind == "markdown"]


@each_lesson
def test_a_lesson_has_its_form(source: Path) -> None:
    code = [cell.text for cell in lesson_files.notebook_cells(source, solution=True) if cell.kind == "code"]
    assert len(code) <= MOST_CELLS
    assert max(len(text.splitlines()) for text in code) <= MOST_LINES
    assert not any("matplotlib" in text.replace("%matplotlib", "") for text in code)

    number, texts = source.name[:2], markdown(source)
    assert texts[0].startswith(f"# {number} · ")
    assert all(f"**{part}**" in texts[0] for part in ("Question.", "Aims.", "Minutes."))
    assert len(re.findall(r"(?m)^\* ", texts[0])) == 3
    assert all(f"**{part}**" in texts[1] for part in ("Needs.", "Symbols."))
    whole = "\n".join(texts)
    assert [f"**E{k}. " in whole for k in (1, 2, 3, 4)] == [True] * 4
    assert "## Common mistakes" in whole
    assert "## Reading" in whole
    assert "teaching.guess(" in code[0]
    assert f'teaching.guess("{number}.q1")' in code[-1]
    assert {name for name in EXERCISES if name.startswith(number)} == {
        f"{number}.{k}" for k in ("W", "E1", "E2", "E3", "E4")
    }
    assert lesson_files.slides(source).count("\n---\n") == 4  # five slides
    assert lesson_files.quiz(source).count("**") >= 6
    assert "Answer:" not in lesson_files.quiz(source)


def formulas(text: str) -> str:
    """Return what stands between dollars, without words."""
    found = re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", text, flags=re.DOTALL)
    joined = " ".join(one for pair in found for one in pair)
    return re.sub(r"\\(text|operatorname|mathrm)\{[^}]*\}|\\(begin|end)\{[^}]*\}(\{[^}]*\})?|\\\\", " ", joined)


def symbols(source: Path) -> dict[str, str]:
    """Return the section that introduces each symbol of the head's table."""
    rows = re.findall(r"(?m)^\| (\$.+?) \| .* \| (\d+|E\d) \|$", markdown(source)[1])
    return {symbol: section for cell, section in rows for symbol in re.findall(r"\$(.+?)\$", cell)}


def tokens(text: str) -> set[str]:
    """Return the symbols of formulas: single letters, commands, a bold 1; an index counts where it is a capital."""
    given = re.findall(r"\\mathbf *\w|(?:\\[A-Za-z]+|[A-Za-z])(?:_[A-Z]\b)?", text)
    return {re.sub(" ", "", one) for one in given if one.strip("\\") not in STRUCTURE.split()}


def late_symbols(source: Path) -> list[str]:
    """List the symbols that are used outside of the table, or before the section that is to introduce them."""
    table = {"".join(tokens(symbol) - INDICES): section for symbol, section in symbols(source).items()}
    first: dict[str, str] = {}
    section = "0"
    for text in markdown(source)[2:]:
        if heading := re.search(r"(?m)^## (\d+)\. |^## ", text):
            section = heading[1] or "E"
        for part in re.split(r"(?m)^(?=\*\*E\d\.)", text):
            section = part[2:4] if re.match(r"\*\*E\d\.", part) else section
            first = dict.fromkeys(tokens(formulas(part)) - INDICES, section) | first
    unknown = [f"{one} of section {place} is not in the table" for one, place in first.items() if one not in table]
    return unknown + [
        f"{one}: first used in {first.get(one)}" for one, place in table.items() if first.get(one) != place
    ]


@each_lesson
def test_no_symbol_is_used_before_it_is_introduced(source: Path) -> None:
    assert late_symbols(source) == []


def test_late_symbols_are_noticed(tmp_path: Path) -> None:
    source = tmp_path / "99_title_sol.py"
    head = "# %% [markdown]\n# # Title\n\n# %% [markdown]\n"
    head += "# | $x_i$ | `x` | point | 1 |\n# | $\\gamma_A$ | `g` | weight | 2 |\n\n"
    source.write_text(
        head + "# %% [markdown]\n# ## 1. One\n# $x_j + 1$\n\n# %% [markdown]\n# ## 2. Two\n# $\\gamma_A x$\n"
    )
    assert late_symbols(source) == []
    source.write_text(head + "# %% [markdown]\n# ## 1. One\n# $x_j \\le \\gamma_A + \\beta + z$\n")
    assert len(late_symbols(source)) == 3  # gamma_A too early, two not in the table


# The checks


def run(source: Path, *, solution: bool, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a notebook's code from top to bottom; return the verdicts of its checks by exercise."""
    verdicts: dict[str, Any] = {}
    real = teaching.check

    def remember(exercise: str, answer: Any) -> Any:
        verdicts[exercise] = real(exercise, answer)
        return verdicts[exercise]

    monkeypatch.setattr(teaching, "check", remember)
    names: dict[str, Any] = {}
    for cell in lesson_files.notebook_cells(source, solution=solution):
        if cell.kind == "code":
            exec(compile(ast.parse(lesson_files.runnable(cell)), source.name, "exec"), names)
    return verdicts


PROGRAMS = SOURCES[:3] + SOURCES[5:9]
"""Lessons with a program, whose solutions run with usual names; without them at full size, too."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    shortened([source for source in SOURCES if source not in PROGRAMS], SOURCES),
    ids=lambda source: source.name[:2],
)
def test_solutions_pass_every_check(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = run(source, solution=True, monkeypatch=monkeypatch)
    assert verdicts.keys() == {name for name in EXERCISES if name[:2] == source.name[:2]}
    assert {name: verdict.hint for name, verdict in verdicts.items() if not verdict} == {}


@pytest.mark.slow
@each_lesson
def test_student_files_run_and_fail_every_check(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = run(source, solution=False, monkeypatch=monkeypatch)
    assert verdicts.keys() == {name for name in EXERCISES if name[:2] == source.name[:2]}
    assert [name for name, verdict in verdicts.items() if verdict] == []


@pytest.mark.slow
@each_lesson
def test_each_registered_wrong_answer_has_its_own_hint(source: Path) -> None:
    answers = lesson_files.registered(source)
    assert answers.keys() == {name for name in EXERCISES if name[:2] == source.name[:2]}
    for exercise, (right, wrong) in answers.items():
        assert len(wrong) >= 3, exercise
        assert teaching.check(exercise, right), exercise
        said = {hint: teaching.check(exercise, answer).hint for hint, answer in wrong.items()}
        assert said == {hint: hint for hint in wrong}, exercise
    stored = {name: lesson_files.entry(name, *answer) for name, answer in answers.items()}
    assert stored == {name: EXERCISES[name] for name in answers}, "run python notebooks/lessons/lesson_files.py --marks"


# Names that students give in their first program, as most texts on CVXPY do.
USUAL = (
    "objective = result = problem = prob = primal = dual = built = constraints = loss = beta = value = solution = None"
)


@pytest.mark.slow
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: source.name[:2])
def test_usual_names_of_a_program_break_no_later_cell(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = lesson_files.notebook_cells
    check = f'teaching.check("{source.name[:2]}.W"'

    def renamed(source: Path, *, solution: bool) -> list[lesson_files.Cell]:
        made = real(source, solution=solution)
        assert sum(check in cell.text for cell in made) == 1
        return [cell._replace(text=cell.text.replace(check, f"{USUAL}\n{check}")) for cell in made]

    monkeypatch.setattr(lesson_files, "notebook_cells", renamed)
    verdicts = run(source, solution=True, monkeypatch=monkeypatch)
    assert verdicts.keys() == {name for name in EXERCISES if name[:2] == source.name[:2]}
    assert {name: verdict.hint for name, verdict in verdicts.items() if not verdict} == {}


def test_graphs_that_say_nothing_do_not_pass() -> None:
    """Ties and the shares of the classes make half of the points wrong, and are no lie."""
    constant = np.ones((60, 60)) - np.eye(60)
    assert "says nothing" in teaching.check("01.E4", constant).hint
    _, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    silent = (sm.hide_labels(truth, per_class=3, random_state=0) == 1).astype(float)
    one_class = np.where(silent[:, None] + silent > 0, 1e-9, constant) * constant
    assert "Less than two thirds" in teaching.check("01.E4", one_class).hint


@pytest.mark.parametrize(
    ("exercise", "answer", "hint"),
    [
        ("02.E4", 2.551824, "the box is missing"),
        ("02.E4", 1.800811, "the two largest hinges"),
        ("02.W", np.zeros(4), "All multipliers are 0"),
        ("03.W", np.full(12, 1e-9), "All multipliers are 0"),
        ("02.W", [0.3, 0.3, 0.0, 0.0], "no balance, or one with classes 0 and 1"),
        ("04.E4", [508, 5150], "one triangle"),
        ("05.E1", [-1 / 3, 1 / 3], "signs are exchanged"),
        ("05.E2", [191, 22, 86], "the hinge"),  # was passed: its shares were within a thousandth of those of the square
        ("05.E2", [201, 73, 80], "none of the mistakes"),  # the right ones of the weights that the exercise once had
        ("05.E4", 158, "heat weights"),  # was passed: 13.73 percent are left, against 13.76
        ("05.E4", 0.1376, "none of the mistakes"),
    ],
)
def test_answers_that_once_passed_or_had_a_false_hint(exercise: str, answer: Any, hint: str) -> None:
    verdict = teaching.check(exercise, answer)
    assert not verdict
    assert hint in verdict.hint


def test_lesson_10_quotes_the_recorded_tables() -> None:
    source = next(source for source in SOURCES if source.name[:2] == "10")
    told = re.search(
        r"of tied settings the means are ([\d.]+) and ([\d.]+), the deviations ([\d.]+) and ([\d.]+)",
        "\n".join(markdown(source)),
    )
    assert told is not None
    for k, folder in enumerate(("qn_s3vm", "qn_s3vm-labels=uniform-rows=few")):
        table = lesson_files.ROOT / "results" / "recorded" / folder / "table.md"
        number = r"([\d.]+) \(([\d.]+)\)"
        row = rf"\| mnist_3_8 \| qn_s3vm \| l=20 u=480, 5 labelled folds, {{}} \| {number} \| 10 \| {number}"
        first, last = (
            re.search(row.format(rule), table.read_text(encoding="utf-8")) for rule in ("first", "largest lam")
        )
        assert first is not None
        assert last is not None
        mean, deviation, *published = first.groups()
        text = source.read_text(encoding="utf-8")
        assert f"| {mean} | {deviation} |" in text
        assert f"({mean}, {deviation})" in text
        assert f"({', '.join(published)}), [(" in text
        assert (last[1], last[2]) == (told[k + 1], told[k + 3])


def test_marks_do_not_tell_answers() -> None:
    """What is in the wheel are hashes: no number of an answer."""
    for entry in EXERCISES.values():
        assert all(
            re.fullmatch("[0-9a-f]{12}", one) for one in [*entry["wrong"].values(), entry.get("right", "0" * 12)]
        )


def test_answers_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be distinguished"):
        lesson_files.entry("99.E1", 2.0, {"near": 2.0004})
    with pytest.raises(ValueError, match="cannot be distinguished"):
        lesson_files.entry("99.E1", np.ones(2), {"one": np.zeros(2), "other": np.full(2, 1e-5)})
