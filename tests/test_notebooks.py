"""Notebooks are committed without outputs; `make notebooks` runs them from top to bottom, the folded solutions too."""

from __future__ import annotations

import re
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
    numbers = [int(one) for cell in notebook.cells for one in re.findall(r"^\*\*Exercise (\d+)\.", cell.source)]
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        found.append(f"the exercises are numbered {numbers}")
    return found


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
        nbformat.v4.new_markdown_cell("**Exercise 1. Sums.** Add one and one."),
        nbformat.v4.new_code_cell("assert 1 + 1 == 2", metadata=folded),
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


@pytest.mark.parametrize("spoilt", ["not folded", "open in JupyterLab", "no assert", "missing", "misnumbered"])
def test_complaints_about_a_solution(notebook: nbformat.NotebookNode, spoilt: str) -> None:
    solution = notebook.cells[3]
    if spoilt == "not folded":
        solution.metadata["tags"] = []
    elif spoilt == "open in JupyterLab":
        del solution.metadata["jupyter"]
    elif spoilt == "no assert":
        solution.source = "1 + 1"
    elif spoilt == "missing":
        notebook.cells.pop()
    else:
        notebook.cells[2].source = "**Exercise 2. Sums.** Add one and one."
    assert len(complaints(notebook)) == 1


def test_complaints_about_a_folded_cell_that_solves_nothing(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[1].metadata = notebook.cells[3].metadata
    assert len(complaints(notebook)) == 1
