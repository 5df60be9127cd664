"""Every entry point x every bad input: the promised error, or the promised answer.

The promises are made in `contract_inputs`, `contract_estimators` and `contract_functions`, and judged by `contract`;
``docs/failure_contract.md`` is written from the same cells by ``python tests/contract/test_failure_contract.py``.
"""

from __future__ import annotations

import ast
import sys
from itertools import chain
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLE = ROOT / "docs" / "failure_contract.md"
sys.path.insert(0, str(HERE))

import contract  # noqa: E402
import contract_estimators  # noqa: E402
import contract_functions  # noqa: E402
import contract_table  # noqa: E402

sys.path.remove(str(HERE))

import specmargin as sm  # noqa: E402

CELLS = list(chain(contract_estimators.cells(), contract_functions.cells()))
GROUPS: dict[str, list[contract_estimators.Cell]] = {}
for _cell in CELLS:
    GROUPS.setdefault(f"{_cell.entry} x {_cell.group}", []).append(_cell)


@pytest.mark.parametrize("group", GROUPS)
def test_every_promise_is_kept(group: str) -> None:
    wrong = {}
    for cell in GROUPS[group]:
        said = contract.verdict(cell)
        if said:
            wrong[cell.input] = said
    assert not wrong


def test_there_are_enough_cells() -> None:
    assert len(CELLS) >= 3000
    assert len({(cell.entry, cell.group, cell.input) for cell in CELLS}) >= 3000


def test_every_entry_point_is_in_the_table() -> None:
    entries = " ".join({cell.entry for cell in CELLS})
    public = [name for name in sm.__all__ if callable(getattr(sm, name)) and name not in contract.NO_ENTRY]
    inside = [
        f"{module}.{name}"
        for module in ("graphs", "kernels", "spectra", "solvers", "problems", "objectives", "datasets", "plots")
        for name in getattr(sm, module).__all__
        if callable(getattr(getattr(sm, module), name)) and f"{module}.{name}" not in contract.NO_ENTRY
    ]
    assert [name for name in (*public, *inside) if name not in entries] == []


def test_the_table_in_the_documents_is_current() -> None:
    assert TABLE.read_text(encoding="utf-8") == contract_table.page(CELLS), (
        "write it again: python tests/contract/test_failure_contract.py"
    )


def test_bad_arguments_raise_the_class_of_the_package() -> None:
    """No module raises a bare ValueError or TypeError of its own words."""
    plain = {}
    for path in sorted((ROOT / "specmargin").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lines = [
            node.lineno
            for node in ast.walk(tree)
            if isinstance(node, ast.Raise)
            and isinstance(node.exc, ast.Call)
            and isinstance(node.exc.func, ast.Name)
            and node.exc.func.id in ("ValueError", "TypeError")
        ]
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if lines and not name.startswith(contract.COMMANDS):
            plain[name] = lines
    assert plain == {}


def test_a_broken_promise_is_noticed() -> None:
    def raised(error: Exception) -> object:
        raise error

    promise = contract_estimators.refused("C=0")
    for run, says in (
        (lambda: raised(KeyError("C")), "unpromised"),
        (lambda: raised(ValueError("C=0 must be positive")), "unpromised"),
        (lambda: raised(sm.exceptions.InvalidInputError("C=0 is bad")), "names no remedy"),
        (lambda: raised(sm.exceptions.InvalidInputError("C=1 must be positive")), "does not match"),
        (lambda: 3.0, "accepted"),
        (lambda: raised(sm.exceptions.InvalidInputError("C=0 must be positive")), None),
    ):
        said = contract.verdict(contract_estimators.Cell("f", "g", "i", promise, run))
        assert said is None if says is None else says in said
    answered = contract_estimators.given.ANSWERED
    for run, says in ((lambda: float("nan"), "silently not finite"), (lambda: 1.0, None)):
        said = contract.verdict(contract_estimators.Cell("f", "g", "i", answered, run))
        assert said is None if says is None else says in said


if __name__ == "__main__":
    TABLE.write_text(contract_table.page(CELLS), encoding="utf-8")
