"""Every entry point x every bad input: the promised error, or the promised answer.

The promises are made in `contract_inputs`, `contract_estimators` and `contract_functions`, and judged by `contract`;
``failure_contract.md`` beside this file is written from the same cells by this file, run as a command.
"""

from __future__ import annotations

import re
from importlib import import_module
from itertools import chain
from pathlib import Path

import contract
import contract_estimators
import contract_functions
import contract_table
import pytest

import specmargin as sm

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLE = HERE / "failure_contract.md"

CELLS = list(chain(contract_estimators.cells(), contract_functions.cells()))
GROUPS: dict[str, list[contract_estimators.Cell]] = {}
for _cell in CELLS:
    GROUPS.setdefault(f"{_cell.entry} x {_cell.group}", []).append(_cell)


QUICK = ("LapRLS", "LapRLSRegressor", "RegularizedEigenmaps", "S3VM quasi_newton", "STORM", "SpectralRidge")
"""One estimator of each family: others meet what the code that all share reads, by some hundred fits, in slow tests."""


def _marked(group: str) -> object:
    entry, kind = group.split(" x ")
    name = entry.rpartition(".")[0]
    many = kind in ("features", "labels", "targets", "graphs", "weights of samples", "new samples")
    slow = many and (entry == "diagnose" or name in set(contract_estimators.NAMES).difference(QUICK))
    return pytest.param(group, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("group", map(_marked, GROUPS))
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


MODULES = (
    *("datasets", "graphs", "kernels", "labels", "losses", "objectives", "plots", "problems", "solvers"),
    *("problems.models", "spectra", "spectra.transforms", "terms"),
)


def test_every_entry_point_is_in_the_table() -> None:
    entries = {re.split(r"[ (]", cell.entry)[0] for cell in CELLS}
    entries |= {name for entry in entries for name in (entry.rpartition(".")[0], entry.rpartition(".")[2])}
    public = [name for name in sm.__all__ if callable(getattr(sm, name))]
    for path in MODULES:
        module = import_module(f"specmargin.{path}")
        public += [f"{path}.{name}" for name in module.__all__ if callable(getattr(module, name))]
    missing = {name for name in public if not {name, name.removeprefix("labels.")} & entries}
    assert missing - contract.NO_ENTRY == set()
    assert contract.NO_ENTRY - missing == set()


def test_every_error_cell_knows_the_value_that_its_message_names() -> None:
    refused = [cell for cell in CELLS if cell.promise.outcome == "refused"]
    assert len(refused) >= 9000
    assert [cell for cell in refused if not cell.promise.value or re.search(cell.promise.value, "")] == []


def test_the_table_in_the_documents_is_current() -> None:
    assert TABLE.read_text(encoding="utf-8") == contract_table.page(CELLS), "run: python tests/write_pages.py"


def test_bad_arguments_raise_the_class_of_the_package() -> None:
    """No module raises a bare ValueError or TypeError of its own words."""
    plain = {
        path.name: lines
        for path in sorted((ROOT / "specmargin").rglob("*.py"))
        if (lines := re.findall(r"raise (?:ValueError|TypeError)\(.*", path.read_text(encoding="utf-8")))
    }
    assert plain == {}


def test_a_broken_promise_is_noticed() -> None:
    def raised(error: Exception) -> object:
        raise error

    promise = contract_estimators.refused("C=0", "positive")
    for run, says in (
        (lambda: raised(KeyError("C")), "unpromised"),
        (lambda: raised(ValueError("C=0 must be positive")), "unpromised"),
        (lambda: raised(sm.exceptions.InvalidInputError("C=0 is bad")), "names no remedy"),
        (lambda: raised(sm.exceptions.InvalidInputError("C=1 must be positive")), "does not name the value"),
        (lambda: raised(sm.exceptions.InvalidInputError("C=0 must be larger")), "does not say"),
        (lambda: 3.0, "accepted"),
        (lambda: raised(sm.exceptions.InvalidInputError("C=0 must be positive")), None),
    ):
        said = contract.verdict(contract_estimators.Cell("f", "g", "i", promise, run))
        assert said is None if says is None else says in said
    answered = contract_estimators.given.ANSWERED
    same = contract_estimators.given.SAME
    for promise, run, says in (
        (answered, lambda: float("nan"), "silently not finite"),
        (answered, lambda: 1.0, None),
        (same, lambda: 2.0, "differs"),
        (same, lambda: 1.0 + 1e-9, None),
    ):
        said = contract.verdict(contract_estimators.Cell("f", "g", "i", promise, run, lambda: 1.0))
        assert said is None if says is None else says in said


if __name__ == "__main__":
    TABLE.write_text(contract_table.page(CELLS), encoding="utf-8")
