"""Notebooks are committed without outputs; `make notebooks` runs them from top to bottom."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]


def complaints(notebook: nbformat.NotebookNode) -> list[str]:
    """List what keeps a notebook from being committed."""
    found = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            found.append(f"cell {number} holds outputs: run make format")
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append("the kernel is not python3, the only one that every environment has")
    if not notebook.cells or not notebook.cells[0].source.startswith("# "):
        found.append("the first cell is not a title")
    return found


def test_notebooks_are_clean() -> None:
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        if listed := complaints(notebook):
            found[path.name] = listed
    assert found == {}


@pytest.fixture
def notebook() -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell("1 + 1")]
    kernel = {"name": "python3", "display_name": "Python 3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def test_complaints_about_a_spoilt_notebook(notebook: nbformat.NotebookNode) -> None:
    assert complaints(notebook) == []
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="2")]
    assert len(complaints(notebook)) == 1
    notebook.cells[1].outputs = []
    notebook.cells[1].execution_count = 1
    notebook.metadata.kernelspec.name = "mine"
    notebook.cells[0].source = "no title"
    assert len(complaints(notebook)) == 3
