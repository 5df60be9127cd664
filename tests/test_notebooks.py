"""Notebooks are committed without outputs; `make test` runs them from top to bottom, the folded solutions too."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]

# Each of them asks the reader to write a CVXPY problem.
PROBLEMS = {
    "03_newton_pcg_early_stopping",
    "04_regularized_spectral_clustering",
    "05_s3vm_local_minima",
    "06_from_laprls_to_a_graph_network",
}


def complaints(notebook: nbformat.NotebookNode) -> list[str]:
    """List what keeps a notebook from being committed."""
    found = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            found.append(f"cell {number} holds outputs: run make format")
        if cell.cell_type == "code" and re.search(r"\bwith style\(\)|import matplotlib", cell.source):
            found.append(f"cell {number} draws with matplotlib: move it into specmargin.plots")
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append("the kernel is not python3, the only one that every environment has")
    opening = notebook.cells[0].source if notebook.cells else ""
    if not opening.startswith("# "):
        found.append("the first cell is not a title")
    parts = ("**Aims.**", "**Time.**", "**Before.**")
    found += [f"the first cell has no {part}" for part in parts if part not in opening]
    return found + tasks_without_a_solution(notebook)


def is_folded(cell: nbformat.NotebookNode) -> bool:
    """Tell whether a cell is folded away, on the site and in JupyterLab."""
    folded_there = cell.metadata.get("jupyter", {}).get("source_hidden", False)
    return "hide-cell" in cell.metadata.get("tags", []) and folded_there


def is_task(cell: nbformat.NotebookNode) -> bool:
    """Tell whether a cell asks the reader for code."""
    asks = re.search(r"^\*\*(Exercise \d+\.|Write it|Change it|Compare)", cell.source, flags=re.MULTILINE)
    return cell.cell_type == "markdown" and asks is not None


def tasks_without_a_solution(notebook: nbformat.NotebookNode) -> list[str]:
    """List the exercises that no folded solution follows, and the folded cells that solve none."""
    found, cells = [], [*notebook.cells, nbformat.v4.new_markdown_cell("")]
    for number, (cell, after) in enumerate(pairwise(cells)):
        solved = after.cell_type == "code" and is_folded(after) and "assert" in after.source
        if is_task(cell) and not solved:
            found.append(f"cell {number} is an exercise; a folded cell with its solution and an assert must follow")
        if cell.cell_type == "code" and is_folded(cell) and not (number and is_task(cells[number - 1])):
            found.append(f"cell {number} is folded, but no exercise comes before it")
    found += [f"cell {number} does not name the assertion that code should pass" for number in without_assertion(cells)]
    numbers = [int(one) for cell in notebook.cells for one in re.findall(r"^\*\*Exercise (\d+)\.", cell.source)]
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        found.append(f"the exercises are numbered {numbers}")
    return found


def without_assertion(cells: list[nbformat.NotebookNode]) -> list[int]:
    """Number the tasks that do not end in an assertion with names of the solution, or of what stands before."""
    found, known = [], set(dir(builtins))
    for number, (cell, after) in enumerate(pairwise(cells)):
        known |= names_in(cell)
        if is_task(cell):
            stated = re.findall(r"^\* `(assert [^`]+)`", cell.source, flags=re.MULTILINE)
            asked = {name for line in stated for name in names_of(ast.parse(line))}
            if not stated or not asked <= known | names_in(after):
                found.append(number)
    return found


def names_in(cell: nbformat.NotebookNode) -> set[str]:
    """Return the names in a cell of code."""
    return names_of(ast.parse(re.sub("(?m)^%.*", "", cell.source))) if cell.cell_type == "code" else set()


def names_of(tree: ast.AST) -> set[str]:
    """Return the names that stand in code, those of its functions, and those that it imports."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return found | {
        alias.asname or alias.name
        for node in ast.walk(tree)
        for alias in getattr(node, "names", [])
        if isinstance(alias, ast.alias)
    }


# Names of data: one that means two sets in one notebook sends a reader's own code to the wrong one.
DATA = {"X", "x", "y", "y_true", "labels", "labeled", "sign", "known", "K", "L", "W"}


def bound_twice(notebook: nbformat.NotebookNode) -> set[str]:
    """Name the data that two cells define, outside of functions."""
    count: Counter[str] = Counter()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            count.update(set(bound(ast.parse(re.sub("(?m)^%.*", "", cell.source)))))
    return {name for name in DATA if count[name] > 1}


def bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that code binds, but for those inside of functions and comprehensions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif not isinstance(child, ast.FunctionDef | ast.Lambda | ast.comprehension):
            yield from bound(child)


def test_names_of_data_mean_one_set() -> None:
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert {path.name: twice for path in paths if (twice := bound_twice(nbformat.read(path, as_version=4)))} == {}


def test_names_of_two_sets_are_noticed(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[1].source = "def f(X):\n    y = X\n    return y\n\n\nX, y = 1, [x for x in (1, 2)]"
    notebook.cells[3].source = "for y in (1, 2):\n    x = y\nassert x == 2"
    assert bound_twice(notebook) == {"y"}


def test_notebooks_are_clean() -> None:
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        if listed := complaints(notebook):
            found[path.name] = listed
    assert found == {}


def test_four_notebooks_ask_for_a_problem_in_cvxpy() -> None:
    for name in PROBLEMS:
        notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        assert all(
            re.search(rf"^\*\*{word}\b", text, flags=re.MULTILINE) for word in ("Write it", "Change it", "Compare")
        )
        written = [cell for cell in notebook.cells if is_folded(cell) and "cp.Problem(" in cell.source]
        assert len(written) >= 2, name


@pytest.fixture
def notebook() -> nbformat.NotebookNode:
    folded = {"tags": ["hide-cell"], "jupyter": {"source_hidden": True}}
    cells = [
        nbformat.v4.new_markdown_cell("# Title\n\n**Aims.** To add.\n\n**Time.** A second.\n\n**Before.** Numbers."),
        nbformat.v4.new_code_cell("1 + 1"),
        nbformat.v4.new_markdown_cell("**Exercise 1. Sums.** Add one and one.\n\n* `assert total == 2`"),
        nbformat.v4.new_code_cell("total = 1 + 1\nassert total == 2", metadata=folded),
    ]
    kernel = {"name": "python3", "display_name": "Python 3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def test_complaints_about_a_spoilt_notebook(notebook: nbformat.NotebookNode) -> None:
    assert complaints(notebook) == []
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="2")]
    assert len(complaints(notebook)) == 1
    notebook.cells[1].outputs = []
    notebook.cells[1].execution_count = 1
    notebook.metadata.kernelspec.name = "mine"
    notebook.cells[0].source = notebook.cells[0].source.replace("# Title", "no title")
    assert len(complaints(notebook)) == 3


def test_complaints_about_a_notebook_without_aims_and_with_a_drawing(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[0].source = "# Title"
    notebook.cells[1].source = "with style():\n    ax.plot([0, 1])"
    assert len(complaints(notebook)) == 4


@pytest.mark.parametrize(
    "spoilt",
    ["not folded", "open in JupyterLab", "no assert", "missing", "misnumbered", "no claim", "a claim of other names"],
)
def test_complaints_about_a_solution(notebook: nbformat.NotebookNode, spoilt: str) -> None:
    solution = notebook.cells[3]
    if spoilt == "not folded":
        solution.metadata["tags"] = []
    elif spoilt == "open in JupyterLab":
        del solution.metadata["jupyter"]
    elif spoilt == "no assert":
        solution.source = "total = 1 + 1"
    elif spoilt == "missing":
        notebook.cells[3] = nbformat.v4.new_code_cell("total = 1 + 1")
    elif spoilt == "no claim":
        notebook.cells[2].source = "**Exercise 1. Sums.** Add one and one."
    elif spoilt == "a claim of other names":
        notebook.cells[2].source = notebook.cells[2].source.replace("total", "amount")
    else:
        notebook.cells[2].source = notebook.cells[2].source.replace("Exercise 1", "Exercise 2")
    assert len(complaints(notebook)) == 1


def test_complaints_about_a_folded_cell_that_solves_nothing(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[1].metadata = notebook.cells[3].metadata
    assert len(complaints(notebook)) == 1
