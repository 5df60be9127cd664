"""The primal-LapSVM paper's table 4 with either Laplacian: the normalised one, which it says it used, and D - W.

Protocol, kernels, graphs and choice are those of `specmargin.papers.melacci_belkin_2011`; only the exact methods with a
graph take part, gamma_A and gamma_I run over every second value of the published grid and the printed settings.

On six splits the normalised Laplacian explains g50c, mac_windows and uspst, as the paper says, D - W coil20b (mean
distance from the print 0.4 points, normalised 3.5) and uspstb (0.7; 0.9), and neither coil20 (3.7; 4.3).

A Laplacian explains a printed error if ours differs from it by no more than two standard errors of the difference of
two means over twelve splits, with the printed deviation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from specmargin.experiments.claims import LAPLACIANS, verdict_on
from specmargin.experiments.engine.records import Cell, Row
from specmargin.experiments.report import Line, Section
from specmargin.experiments.run import Experiment, Findings, Options, Setup
from specmargin.experiments.tasks import checksums, splits
from specmargin.papers._melacci_belkin_fits import Setting, fits_of, printed_setting, work
from specmargin.papers._melacci_belkin_sections import N_PUBLISHED, error_sections
from specmargin.papers._melacci_belkin_tasks import SMALL, task_named, tasks_available

__all__ = ["LAPSVM_PRIMAL_LAPLACIAN", "METHODS_WITH_GRAPH", "Plan", "verdicts"]

METHODS_WITH_GRAPH = ("laprls", "lapsvm_dual", "lapsvm_newton")
GRID = (1e-6, 1e-4, 1e-2, 1.0, 100.0)
N_SPLITS = 12


@dataclass(frozen=True)
class Plan:
    """What is computed: tasks, the number of their splits, the grid of either gamma."""

    tasks: Sequence[str]
    n_splits: int = N_SPLITS
    grid: Sequence[float] = GRID

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per task, split, Laplacian and ratio gamma_I / gamma_A, each with all of its settings."""
        found = []
        for task in self.tasks:
            printed = {s for name in METHODS_WITH_GRAPH if (s := printed_setting(task, name))}
            by_ratio: dict[str, list[Setting]] = {}
            for gamma_A, gamma_I in dict.fromkeys([*product(self.grid, self.grid), *sorted(printed)]):
                by_ratio.setdefault(f"{gamma_I / gamma_A:.6g}", []).append((gamma_A, gamma_I))
            for split, normalized in product(list(splits(task_named(task), data))[: self.n_splits], LAPLACIANS):
                shared = {"phase": "exact", "weight": "heat", "normalized": normalized}
                found += [
                    Cell("lapsvm_primal_laplacian", "exact", task, split, {**shared, "settings": settings})
                    for settings in by_ratio.values()
                ]
        return found


def _setup(options: Options) -> Setup:
    tasks, header = tasks_available(SMALL, options.data)
    plan = Plan(tasks[:2], 2, (1e-4, 1e-2)) if options.quick else Plan(tasks)
    return Setup(plan, checksums((task_named(task).source for task in plan.tasks), options.data), header)


def _report(rows: list[Row], plan: Plan, options: Options) -> Findings:
    fits = [row for row in fits_of(rows) if row["method"] in METHODS_WITH_GRAPH]
    return Findings(
        [part for normalized in LAPLACIANS for part in _sections(fits, normalized)],
        [
            "The paper used the normalised Laplacian; heat weights of mean width, no intercept, as in lapsvm_primal.",
            f"Grid {', '.join(f'{value:g}' for value in GRID)} for either gamma, and the printed settings.",
        ],
        verdicts(fits),
    )


def _at_printed(fits: list[Row]) -> list[Row]:
    return [row for row in fits if row["setting"] == printed_setting(row["dataset"], row["method"])]


def _sections(fits: list[Row], normalized: bool) -> list[Section]:
    """Return table 4 with one Laplacian: gammas chosen on V, and printed ones."""
    mine = [row for row in fits if row["normalized"] == normalized]
    title = f"Table 4, {LAPLACIANS[normalized]}"
    found = [
        *error_sections(title, "4", METHODS_WITH_GRAPH, mine, None),
        *error_sections(f"{title}, printed gammas", "4", METHODS_WITH_GRAPH, _at_printed(mine), "printed gammas"),
    ]
    return [part for part in found if part.lines and "on V" not in part.title]


def verdicts(fits: list[Row]) -> list[str]:
    """Say task by task which Laplacian explains the published errors on U and T.

    Parameters
    ----------
    fits : list of rows
        Of `fits_of`, with either Laplacian.
    """
    said = ["Which Laplacian the printed numbers belong to (table 4, errors on U and T of LapRLS and both LapSVMs):"]
    for task in dict.fromkeys(row["dataset"] for row in fits):
        for words, rows in (("gammas chosen on V", fits), ("printed gammas", _at_printed(fits))):
            mine = [row for row in rows if row["dataset"] == task]
            lines = {normalized: _lines(mine, normalized, words) for normalized in LAPLACIANS}
            common = [key for key in lines[False] if key in lines[True]]
            if common:
                printed = [lines[True][key] for key in common]
                ours = {normalized: [each[key].mean for key in common] for normalized, each in lines.items()}
                sentence = verdict_on(
                    f"{task}, {words}",
                    [line.published_mean for line in printed],
                    ours,
                    [2.0 * line.published_std * math.sqrt(2.0 / N_PUBLISHED) for line in printed],
                )
                said.append(f"  {sentence}")
    return said if len(said) > 1 else []


def _lines(rows: list[Row], normalized: bool, words: str) -> dict[tuple[str, str], Line]:
    """Return the lines that stand next to a published number, by section and method."""
    mine = [row for row in rows if row["normalized"] == normalized]
    tuned = words if words == "printed gammas" else None
    parts = error_sections("", "4", METHODS_WITH_GRAPH, mine, tuned)
    return {
        (part.title, line.method): line
        for part in parts
        if "on V" not in part.title
        for line in part.lines
        if line.published_mean == line.published_mean
    }


LAPSVM_PRIMAL_LAPLACIAN = Experiment(
    "lapsvm_primal_laplacian",
    "Table 4 of the primal-LapSVM paper with either Laplacian, normalised and D - W",
    "Laplacian support vector machines trained in the primal: table 4 with either Laplacian",
    _setup,
    work,
    _report,
    solver="factorized",
    quick="two tasks, two splits, four settings; for a look, not for the record.",
)
