"""The table of the failure contract as a page of markdown."""

from __future__ import annotations

from collections.abc import Iterable

from contract import SAME_TO
from contract_estimators import Cell

_HEAD = """# The failure contract

What every public entry point does with every input that is bad or odd. This page is written by
`python tests/contract/test_failure_contract.py` from the cells that the tests run; a test checks that it is current.

Three things are promised of all {cells} cells, {entries} entry points:

- **No unpromised exception.** What is refused raises `specmargin.exceptions.InvalidInputError`, which is a `ValueError`
  (`InvalidTypeError`, where the kind is wrong, is a `TypeError`, too), before any work; its text names the value (the
  number, the label, the type, the shape, or the first bad entry by its indices) and says what to do. Scikit-learn's
  `NotFittedError` comes before `fit`. Where no solver finds an answer, or a factorisation fails, `SolverError` says so.
  All but `NotFittedError` are `SpecmarginError`.
- **No silent NaN.** Decisions, predictions and coordinates are finite, or `SolverError` says how many are not.
- **No silent single class.** Where all training samples are predicted to be of one class though several are labelled,
  a `SingleClassWarning` says so.

"refused": the error. "answered": a finite answer. "same": the answer to the same numbers in a plain float64 array, to
{same:.0e} of its largest number, decisions and coordinates included. "answered or refused": either, as the class can;
never anything else. A warning in brackets comes with the answer.

Features whose largest entry is below 1e-150 or above 1e75 are refused, since their squares underflow, or the fourth
powers that a linear kernel's objective holds overflow; weights of a graph below 1e-75 or above 1e75, likewise. Among
neighbours at equal distances a search takes any: dense and sparse features with such ties may have different graphs.

"""


def _outcome(cell: Cell) -> str:
    promise = cell.promise
    outcome = {"either": "answered or refused"}.get(promise.outcome, promise.outcome)
    return outcome + (f" ({promise.warning.__name__})" if promise.warning else "")


def page(cells: Iterable[Cell]) -> str:
    """Return the page: per group of inputs the entry points, then inputs and promises."""
    cells = list(cells)
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.group.partition(":")[0],), []).append(cell)
    parts = [_HEAD.format(cells=len(cells), entries=len({cell.entry for cell in cells}), same=SAME_TO)]
    for (name,), members in groups.items():
        rows: dict[tuple[str, str], list[str]] = {}
        for cell in members:
            what = cell.input if ":" not in cell.group else _parameter(cell)
            rows.setdefault((what, _outcome(cell)), []).append(cell.entry.partition("(")[0].strip())
        entries = sorted({entry for found in rows.values() for entry in found})
        parts.append(f"## {name[0].upper()}{name[1:]}\n\n{len(members)} cells. Entry points: {', '.join(entries)}.\n\n")
        parts.append("| input | promise | entry points |\n|---|---|---|\n")
        for (what, outcome), found in rows.items():
            named = sorted(set(found))
            which = "all" if len(named) == len(entries) else f"{len(named)}: {', '.join(named)}"
            if len(named) > 4 and which != "all":
                which = f"{len(named)} of them"
            parts.append(f"| {_escaped(what)} | {outcome} | {which} |\n")
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n"


def _parameter(cell: Cell) -> str:
    parameter = cell.group.partition(":")[2].strip()
    return cell.input if "=" in cell.input else f"{parameter}={cell.input}"


def _escaped(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`" if "=" in text else text.replace("|", "\\|")
