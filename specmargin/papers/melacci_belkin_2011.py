"""The experiment of the primal-LapSVM paper: tables 3 to 11 on the data sets that are available.

**Protocol**, the paper's (section 6.2): four stratified folds, dealt three times, are twelve splits; L, U, V and T as
in table 2. Kernel and graph are the published ones (table 8). gamma_A and gamma_I run over the published
grid, and the least mean error on V over the splits chooses one setting per task and method. T and U take no part on
the split on which they are measured, but a sample of T may belong to V on another split.

**Variants.** Conjugate gradients are tuned by themselves (tables 6 and 7) and take Newton's parameters (tables 10 and
11); every method also runs with the printed parameters (tables 8 and 9).

A sweep has three kinds of cells: "exact", all exact methods under all gammas of one ratio; "tuned", one stopping rule
under all gammas of one gamma_A; and "timed", the chosen and the printed settings one after the other in one process,
declared from the results of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

from specmargin.experiments.engine.protocol import select
from specmargin.experiments.engine.records import Cell, Row
from specmargin.experiments.run import Experiment, Findings, Options, Run, Setup
from specmargin.experiments.tasks import checksums, splits
from specmargin.papers._melacci_belkin_faces import FACES, task_of_faces
from specmargin.papers._melacci_belkin_faces import Plan as FacesPlan
from specmargin.papers._melacci_belkin_faces import work as faces_work
from specmargin.papers._melacci_belkin_faces_report import (
    LAPSVM_PRIMAL_FACES,
    curves,
)
from specmargin.papers._melacci_belkin_fits import (
    RULES,
    STOPPING,
    Setting,
    fits_of,
    printed_setting,
    work,
)
from specmargin.papers._melacci_belkin_laplacian import LAPSVM_PRIMAL_LAPLACIAN
from specmargin.papers._melacci_belkin_sections import CHOICE, sections, verdicts
from specmargin.papers._melacci_belkin_tasks import (
    BUNDLED,
    LARGE,
    SMALL,
    Problem,
    problem,
    task_named,
    tasks_available,
)

__all__ = [
    "FACES",
    "GRID",
    "LAPSVM_PRIMAL",
    "LAPSVM_PRIMAL_FACES",
    "LAPSVM_PRIMAL_LAPLACIAN",
    "LAPSVM_PRIMAL_MNIST",
    "SMALL",
    "FacesPlan",
    "Measurements",
    "Plan",
    "Problem",
    "curves",
    "faces_work",
    "measure",
    "printed_setting",
    "problem",
    "task_named",
    "task_of_faces",
    "tasks_available",
    "work",
]

GRID = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""Of gamma_A and of gamma_I, section 6.3."""


@dataclass(frozen=True)
class Plan:
    """What is computed.

    Parameters
    ----------
    tasks : sequence of str
        Of `_melacci_belkin_tasks.TASKS` or `BUNDLED`.
    gamma_A, gamma_I : sequence of float
        The grid.
    n_splits : int, default 12
        The first splits of each task.
    weight : {"heat", "binary"}, default "heat"
        Weights of the graph, which the paper does not name.
    """

    tasks: Sequence[str]
    gamma_A: Sequence[float] = GRID
    gamma_I: Sequence[float] = GRID
    n_splits: int = 12
    weight: str = "heat"

    def quick(self) -> Plan:
        """Return a plan of seconds: two tasks, two splits, four settings."""
        return replace(self, tasks=tuple(self.tasks)[:2], gamma_A=(1e-4, 1e-1), gamma_I=(1e-2, 1.0), n_splits=2)

    def exact_cells(self, data: Path | None) -> list[Cell]:
        """Return a cell per task, split and ratio gamma_I / gamma_A, each with all of its settings."""
        by_ratio: dict[str, list[Setting]] = {}
        for gamma_A, gamma_I in product(self.gamma_A, (0.0, *self.gamma_I)):
            by_ratio.setdefault(f"{gamma_I / gamma_A:.6g}", []).append((gamma_A, gamma_I))
        return self._cells("exact", [("exact", settings) for settings in by_ratio.values()], data)

    def tuned_cells(self, data: Path | None) -> list[Cell]:
        """Return a cell per task, split, stopping rule and gamma_A, each with every gamma_I."""
        return self._cells(
            "tuned", [(name, [(a, i) for i in self.gamma_I]) for name in RULES for a in self.gamma_A], data
        )

    def timed_cells(self, fits: Mapping[str, list[tuple[str, Setting]]], data: Path | None) -> list[Cell]:
        """Return a cell per split of the tasks in `fits`, with all of its methods and settings."""
        return [
            Cell("lapsvm_primal", "timed", task, split, {"phase": "timed", "weight": self.weight, "fits": fits[task]})
            for task in self.tasks
            if task in fits
            for split in self._splits(task, data)
        ]

    def _splits(self, task: str, data: Path | None) -> list[str]:
        return list(splits(task_named(task), data))[: self.n_splits]

    def _cells(self, phase: str, what: Iterable[tuple[str, list[Setting]]], data: Path | None) -> list[Cell]:
        what = list(what)
        # Cells of one split follow one another: a process makes its kernel and its graph once.
        return [
            Cell("lapsvm_primal", method, task, split, {"phase": phase, "weight": self.weight, "settings": settings})
            for task in self.tasks
            for split in self._splits(task, data)
            for method, settings in what
        ]


class Measurements(NamedTuple):
    """Fits of the grid and of the timed cells; the chosen setting by task and method."""

    grid: list[Row]
    timed: list[Row]
    chosen: dict[tuple[str, str], Setting]


def measure(plan: Plan, run: Run, data: Path | None = None) -> Measurements:
    """Walk the grid, choose on V, and time.

    Parameters
    ----------
    plan : Plan
        What to compute.
    run : callable
        Takes cells and returns their rows: `run_sweep` with its folder and `work`, or a plain loop.
    data : path, optional
        Folder of the data sets.
    """
    rows = [*run(plan.exact_cells(data)), *run(plan.tuned_cells(data))]
    grid = fits_of(rows)
    chosen = {(row["dataset"], row["method"]): row["setting"] for row in select(grid, CHOICE)}
    cells = plan.timed_cells({task: _to_time(task, chosen) for task in plan.tasks}, data)
    return Measurements(grid, fits_of(run(cells)), chosen)


def _to_time(task: str, chosen: Mapping[tuple[str, str], Setting]) -> list[tuple[str, Setting]]:
    """Return what is fitted once more, alone: exact methods and all rules with several settings."""
    newton = chosen.get((task, "lapsvm_newton"))
    if newton is None:
        return []
    fits: list[tuple[str, Setting]] = [("lapsvm_newton", newton)]
    fits += [(name, chosen[task, name]) for name in ("lapsvm_dual", *RULES) if (task, name) in chosen]
    fits += [(name, newton) for name in STOPPING]
    fits += [(name, setting) for name in RULES if (setting := printed_setting(task, name))]
    return list(dict.fromkeys(fits))


def _setup(names: tuple[str, ...], options: Options) -> Setup:
    tasks, header = tasks_available(names, options.data)
    if options.quick and names == LARGE:
        tasks, header = list(BUNDLED), [*header, "QUICK: 600 of scikit-learn's digits in the place of MNIST."]
    plan = Plan(tasks).quick() if options.quick else Plan(tasks)
    return Setup(plan, checksums((task_named(task).source for task in plan.tasks), options.data), header)


def _report(found: Measurements, plan: Plan, options: Options) -> Findings:
    parts = sections(found.grid, found.timed, found.chosen, printed_setting)
    moved = {where for where, setting in found.chosen.items() if setting != printed_setting(*where)}
    return Findings(parts, _protocol(plan), [*verdicts(parts, moved), "", *_settings(found.chosen)])


def _protocol(plan: Plan) -> list[str]:
    """Say what was done, and where that is not known to be the paper's."""
    return [
        "FACEMIT (CBCL faces) has the table lapsvm_primal_faces; lapsvm_primal_laplacian compares D - W with the "
        "normalised Laplacian of this table.",
        f"Splits: 4 stratified folds x 3, the first {plan.n_splits} (MNIST: its own test set, 3 draws). L and V are "
        "drawn uniformly until every class is there. The paper's own draws are not published.",
        f"Graph of the training samples only (L and U), symmetric, {plan.weight} weights of mean width (the paper does "
        "not name them), normalised Laplacian. No intercept, as in the authors' code; eq. 7 has one, and "
        "lapsvm_newton_intercept shows what it does.",
        "COIL20: rows of unit length, since the scaling that sigma = 0.6 belongs to is not stated. With two labels of "
        "every class, which the paper does not say, SVM and RLS err as published; why LapSVM does not is unknown. "
        "MNIST: rows of unit length, ((x'y + 1) / 2)^9.",
        "gamma_A, gamma_I: least mean error on V over the splits, one setting per task and method, as in tables 8 and "
        f"9; grid {', '.join(f'{value:g}' for value in plan.gamma_A)} and "
        f"{', '.join(f'{value:g}' for value in plan.gamma_I)}. lapsvm_pcg_safe is ours.",
    ]


def _settings(chosen: Mapping[tuple[str, str], Setting]) -> list[str]:
    """Say what was chosen next to what is published: tables 8 and 9."""
    said = ["Tables 8 and 9: gamma_A, gamma_I, and the printed ones."]
    for (task, method), setting in chosen.items():
        printed = printed_setting(task, method)
        words = "nothing printed" if printed is None else f"printed {printed[0]:g}, {printed[1]:g}"
        said.append(f"  {task} {method}: {setting[0]:g}, {setting[1]:g} ({words})")
    return said


LAPSVM_PRIMAL = Experiment(
    "lapsvm_primal",
    "Tables 3 to 11 of the primal-LapSVM paper: errors, iterations and times on its six smaller data sets",
    "Laplacian support vector machines trained in the primal: tables 3 to 11",
    partial(_setup, SMALL),
    work,
    _report,
    measure,
    quick="two tasks, two splits, four settings; for a look, not for the record.",
)
LAPSVM_PRIMAL_MNIST = replace(
    LAPSVM_PRIMAL,
    name="lapsvm_primal_mnist",
    summary="The same on MNIST, 3 against 8: 11,902 training samples, hours",
    setup=partial(_setup, LARGE),
)
"""Three splits of 11,902 training samples; quick on the bundled digits, whatever data are there."""
