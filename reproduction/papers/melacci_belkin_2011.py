"""The primal-LapSVM paper: tables 3 to 11 on the data sets that are available, and table 4 with either Laplacian.

**Protocol**, the paper's (section 6.2): four stratified folds, dealt three times, are twelve splits; L, U, V and T as
in table 2. Kernel and graph are the published ones (table 8). gamma_A and gamma_I run over the published grid, and the
least mean error on V over the splits chooses one setting per task and method. T and U take no part on the split on
which they are measured, but a sample of T may belong to V on another split.

**Variants.** Conjugate gradients are tuned by themselves (tables 6 and 7) and take Newton's parameters (tables 10 and
11); every method also runs with the published parameters (tables 8 and 9).

A sweep has three kinds of cells: all exact methods under all gammas of one ratio; one stopping rule under all gammas of
one gamma_A; and the chosen and the published settings, timed one after the other in one process, declared from the
results of the others.

**Which Laplacian.** The paper says that it used the normalised one. `LAPSVM_PRIMAL_LAPLACIAN` fits the exact methods
with a graph under D - W as well, gamma_A and gamma_I on every second value of the grid and at the published settings.
On six splits the normalised Laplacian explains g50c, mac_windows and uspst, as the paper says, D - W coil20b (mean
distance from the published errors 0.4 points, normalised 3.5) and uspstb (0.7; 0.9), and neither coil20 (3.7; 4.3).

FACEMIT, the faces of CBCL, has the table `LAPSVM_PRIMAL_FACES`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from reproduction.engine.protocol import select
from reproduction.engine.records import Cell, Row
from reproduction.papers._claims import melacci_belkin as claims
from reproduction.papers._protocols.melacci_belkin_faces import FACEMIT, FacemitPlan, facemit_task
from reproduction.papers._protocols.melacci_belkin_faces_report import LAPSVM_PRIMAL_FACES, figure_12
from reproduction.papers._protocols.melacci_belkin_fits import (
    BUNDLED,
    LARGE,
    MNIST_KERNEL,
    RULES,
    SMALL,
    STOPPING,
    TASKS,
    Setting,
    fits_of,
    problem,
    published_setting,
    tasks_available,
    work,
)
from reproduction.papers._protocols.melacci_belkin_iterates import iterates
from reproduction.papers._protocols.melacci_belkin_sections import (
    CHOICE,
    METHODS_WITH_GRAPH,
    laplacian_findings,
    proof_remark,
    reason_of,
    sections,
)
from reproduction.run import Experiment, Findings, Options, Run, Setup, words
from reproduction.tasks import Task, splits
from reproduction.verdicts import told_numbers

__all__ = [
    "FACEMIT",
    "LAPSVM_PRIMAL",
    "LAPSVM_PRIMAL_FACES",
    "LAPSVM_PRIMAL_LAPLACIAN",
    "LAPSVM_PRIMAL_MNIST",
    "SMALL",
    "FacemitPlan",
    "Plan",
    "LARGE",
    "TASKS",
    "claims",
    "figure_12",
    "iterates",
    "problem",
    "published_setting",
    "facemit_task",
    "tasks_available",
]

GRID = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""Of gamma_A and of gamma_I, section 6.3."""

Wanted: TypeAlias = list[tuple[str, dict[str, Any]]]
Chosen: TypeAlias = Mapping[tuple[str, str], Setting]
"""By task and method."""


@dataclass(frozen=True)
class Plan:
    """What is computed.

    Parameters
    ----------
    experiment : str
        Name in the cells.
    gamma_A, gamma_I : sequence of float
        The grid; the methods without a graph take part where gamma_I holds 0.
    n_splits : int, default 12
        The first splits of each task.
    laplacians : sequence of bool, default (True,)
        Whether they are normalised.
    published : sequence of str
        The methods whose published settings are added to the grid.
    tasks : sequence of Task
        Tasks to compute.
    protocol : mapping of str to str
        What the cells name besides.
    """

    experiment: str
    gamma_A: Sequence[float] = GRID
    gamma_I: Sequence[float] = (0.0, *GRID)
    n_splits: int = 12
    laplacians: Sequence[bool] = (True,)
    published: Sequence[str] = ()
    tasks: Sequence[Task] = ()
    protocol: Mapping[str, str] = field(default_factory=dict)

    def cells(self, data: Path | None) -> list[Cell]:
        """Return the cells of the exact methods: one per task, split, Laplacian and ratio gamma_I / gamma_A."""

        def wanted(task: Task) -> Wanted:
            added = sorted({setting for name in self.published if (setting := published_setting(task.name, name))})
            by_ratio: dict[str, list[Setting]] = {}
            for gamma_A, gamma_I in dict.fromkeys([*product(self.gamma_A, self.gamma_I), *added]):
                by_ratio.setdefault(f"{gamma_I / gamma_A:.6g}", []).append((gamma_A, gamma_I))
            return [("exact", {"settings": settings}) for settings in by_ratio.values()]

        return self._cells(wanted, data)

    def tuned_cells(self, data: Path | None) -> list[Cell]:
        """Return a cell per task, split, stopping rule and gamma_A, each with every gamma_I."""
        wanted = [
            (name, {"fits": [(name, (gamma_A, gamma_I)) for gamma_I in self.gamma_I if gamma_I]})
            for name, gamma_A in product(RULES, self.gamma_A)
        ]
        return self._cells(lambda task: wanted, data)

    def timed_cells(self, chosen: Chosen, data: Path | None) -> list[Cell]:
        """Return a cell per split of the tasks of which something is chosen, with all of its methods and settings."""
        return self._cells(
            lambda task: [("timed", {"fits": fits})] if (fits := to_time(task.name, chosen)) else [], data
        )

    def _cells(self, wanted: Callable[[Task], Wanted], data: Path | None) -> list[Cell]:
        # Cells of one split follow one another: a process makes its kernel and its graph once.
        return [
            Cell(self.experiment, method, task.name, split, {"normalized": normalized, **self.protocol, **parameters})
            for task in self.tasks
            for split, normalized in product(list(splits(task, data))[: self.n_splits], self.laplacians)
            for method, parameters in wanted(task)
        ]


def to_time(task: str, chosen: Chosen) -> list[tuple[str, Setting]]:
    """Return what is fitted once more, alone: exact methods and all rules with several settings."""
    newton = chosen.get((task, "lapsvm_newton"))
    if newton is None:
        return []
    fits = [("lapsvm_newton", newton)]
    fits += [(name, chosen[task, name]) for name in ("lapsvm_dual", *RULES) if (task, name) in chosen]
    fits += [(name, newton) for name in STOPPING]
    fits += [(name, setting) for name in RULES if (setting := published_setting(task, name))]
    return list(dict.fromkeys(fits))


def _measure(plan: Plan, run: Run, data: Path | None) -> tuple[list[Row], list[Row], Chosen]:
    """Return the fits of the grid, those that are timed alone, and what V chose between the two."""
    grid = fits_of([*run(plan.cells(data)), *run(plan.tuned_cells(data))])
    chosen = {(row["dataset"], row["method"]): row["setting"] for row in select(grid, CHOICE)}
    return grid, fits_of(run(plan.timed_cells(chosen, data))), chosen


def _setup(names: Sequence[str], full: Plan, quick: Plan, options: Options) -> Setup:
    tasks, header = tasks_available(names, options.data)
    if options.quick and names == LARGE:
        tasks = [TASKS[name] for name in BUNDLED]
        header = [*header, "QUICK: 600 of scikit-learn's digits in the place of MNIST."]
    plan = replace(quick, tasks=tasks[:2]) if options.quick else replace(full, tasks=tasks)
    return Setup(plan, {task.source for task in plan.tasks}, header)


def _report(results: tuple[list[Row], list[Row], Chosen], plan: Plan, options: Options) -> Findings:
    parts, chosen = sections(*results), results[-1]
    published = {where: published_setting(*where) for where in chosen}
    moved = {where for where, setting in chosen.items() if setting != published[where]}
    # The digits of a quick table prove nothing of the paper's.
    concluded = [] if options.quick else [*claims.sentences(*results), ""]
    remarks = [
        *told_numbers(parts, lambda line: reason_of(line, moved)),
        "",
        *concluded,
        "Tables 8 and 9: gamma_A, gamma_I, and the published ones.",
    ]
    for (task, method), setting in chosen.items():
        theirs = published[task, method]
        note = f"published {_listed(theirs)}" if theirs else "nothing published"
        remarks.append(f"  {task} {method}: {_listed(setting)} ({note})")
    facts = {"splits": plan.n_splits, "kernel": MNIST_KERNEL, "gamma_A": _listed(plan.gamma_A)}
    facts["gamma_I"] = _listed(filter(None, plan.gamma_I))
    return Findings(parts, remarks=remarks, facts=facts)


def _report_laplacian(rows: list[Row], plan: Plan, options: Options) -> Findings:
    fits = fits_of(rows)
    parts, remarks = laplacian_findings(fits)
    facts = {"grid": _listed(_EITHER.gamma_A)}
    return Findings(parts, remarks=[*remarks, "", proof_remark(fits)], facts=facts)


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


_FULL = Plan("lapsvm_primal")
_QUICK = replace(_FULL, gamma_A=(1e-4, 1e-1), gamma_I=(0.0, 1e-2, 1.0), n_splits=2)
LAPSVM_PRIMAL = Experiment(
    **words("lapsvm_primal"), setup=partial(_setup, SMALL, _FULL, _QUICK), work=work, report=_report, measure=_measure
)
_MNIST: Any = replace(_FULL, experiment="lapsvm_primal_mnist", protocol={"kernel": MNIST_KERNEL})
LAPSVM_PRIMAL_MNIST = replace(
    LAPSVM_PRIMAL,
    **words("lapsvm_primal_mnist"),
    setup=partial(_setup, LARGE, _MNIST, replace(_QUICK, experiment="lapsvm_primal_mnist")),
)
"""Three splits of 11,902 training samples; quick on the bundled digits, whatever data are there."""

_HALF_GRID = (1e-6, 1e-4, 1e-2, 1.0, 100.0)
_EITHER = Plan(
    "lapsvm_primal_laplacian", _HALF_GRID, _HALF_GRID, laplacians=(False, True), published=METHODS_WITH_GRAPH
)
LAPSVM_PRIMAL_LAPLACIAN = Experiment(
    **words("lapsvm_primal_laplacian"),
    setup=partial(_setup, SMALL, _EITHER, replace(_EITHER, gamma_A=(1e-4, 1e-2), gamma_I=(1e-4, 1e-2), n_splits=2)),
    work=work,
    report=_report_laplacian,
)
