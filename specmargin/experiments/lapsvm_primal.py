"""The experiment of the primal-LapSVM paper: tables 3 to 11 on the data sets that are at hand.

**Protocol**, the paper's (section 6.2): four stratified folds, dealt three times, are twelve splits; L, U, V and T as
in table 2. Kernel and graph are the published ones (`lapsvm_primal_tasks`). gamma_A and gamma_I run over the published
grid, and the least mean error on V over the splits chooses one setting per task and method. T and U take no part on
the split on which they are measured, but a sample of T may belong to V on another split.

**Variants.** Conjugate gradients are tuned by themselves (tables 6 and 7) and take Newton's parameters (tables 10 and
11); every method also runs with the printed parameters (tables 8 and 9).

A sweep has three kinds of cells: "exact", all exact methods under all gammas of one ratio; "tuned", one stopping rule
under all gammas of one gamma_A; and "timed", the chosen and the printed settings one after the other in one process,
declared from the results of the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from specmargin.datasets import load
from specmargin.experiments.engine.protocol import select
from specmargin.experiments.engine.provenance import collect
from specmargin.experiments.engine.published import published_parameters
from specmargin.experiments.engine.records import Cell, Row, canonical_json
from specmargin.experiments.engine.sweep import run_sweep
from specmargin.experiments.lapsvm_primal_methods import (
    EXACT,
    METHODS,
    RULES,
    Fit,
    Setting,
    early_stopped,
    exact,
    timed,
)
from specmargin.experiments.lapsvm_primal_report import CHOICE, SectionedReport, sections, verdicts
from specmargin.experiments.lapsvm_primal_tasks import BUNDLED, TASKS, problem, splits, tasks_at_hand
from specmargin.experiments.tables import TableOptions, footer

__all__ = ["GRID", "Measurements", "Plan", "lapsvm_primal", "lapsvm_primal_mnist", "measure", "work"]

GRID = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""Of gamma_A and of gamma_I, section 6.3."""

SMALL = ("g50c", "coil20b", "mac_windows", "uspstb", "coil20", "uspst")
LARGE = ("mnist3vs8",)


@dataclass(frozen=True)
class Plan:
    """What is computed.

    Parameters
    ----------
    tasks : sequence of str
        Of `lapsvm_primal_tasks.TASKS` or `BUNDLED`.
    gamma_A, gamma_I : sequence of float
        The grid.
    n_splits : int, default 12
        The first so many splits of each task.
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
        return list(splits(task, data))[: self.n_splits]

    def _cells(self, phase: str, what: Iterable[tuple[str, list[Setting]]], data: Path | None) -> list[Cell]:
        what = list(what)
        # Cells of one split follow one another: a process makes its kernel and its graph once.
        return [
            Cell("lapsvm_primal", method, task, split, {"phase": phase, "weight": self.weight, "settings": settings})
            for task in self.tasks
            for split in self._splits(task, data)
            for method, settings in what
        ]


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit what a cell names.

    Returns
    -------
    dict
        ``fits``, as JSON: a list of method, gamma_A, gamma_I, and the fields of `Fit`. ``relative_gap`` of the worst
        certificate of exact methods; that of early-stopped ones proves nothing and stays in the list.
    """
    normalized = cell.parameters.get("normalized", True)
    shared = problem(cell.dataset, cell.split, data, cell.parameters["weight"], normalized)
    phase = cell.parameters["phase"]
    found: list[tuple[str, Setting, Fit]]
    if phase == "timed":
        found = [(name, (a, i), timed(shared, name, (a, i))) for name, (a, i) in cell.parameters["fits"]]
    else:
        settings = [(a, i) for a, i in cell.parameters["settings"]]
        if phase == "tuned":
            found = [(cell.method, setting, early_stopped(shared, cell.method, setting)) for setting in settings]
        else:
            # Each setting has as many fits as there are methods for it, in the order of the settings.
            fits = list(exact(shared, settings))
            each = len(fits) // len(settings)
            found = [(name, settings[k // each], fit) for k, (name, fit) in enumerate(fits)]
    gaps = [fit.relative_gap for name, _, fit in found if name in EXACT]
    return {
        "fits": canonical_json([[name, *setting, fit._asdict()] for name, setting, fit in found]),
        **({"relative_gap": max(gaps, key=abs)} if gaps else {}),
    }


def fits_of(rows: Iterable[Row]) -> list[Row]:
    """Return a row per fit, as `select` and `compare` read them; no failed cells."""
    found = []
    for row in rows:
        if row["status"] != "ok":
            continue
        for name, gamma_A, gamma_I, fit in json.loads(row["fits"]):
            found.append(
                {
                    **{key: row[key] for key in ("experiment", "dataset", "split", "status")},
                    "method": name,
                    "parameters": canonical_json({"gamma_A": gamma_A, "gamma_I": gamma_I}),
                    "setting": (gamma_A, gamma_I),
                    "normalized": row.get("param_normalized", True),
                    **{f"error_{part}": fit[part] for part in ("unlabeled", "validation", "test")},
                    **{key: fit[key] for key in ("relative_gap", "seconds", "iterations")},
                }
            )
    return found


class Measurements(NamedTuple):
    """Rows of the sweep; fits of the grid and of the timed cells; the chosen setting by task and method."""

    rows: list[Row]
    grid: list[Row]
    timed: list[Row]
    chosen: dict[tuple[str, str], Setting]


def measure(plan: Plan, run: Callable[[list[Cell]], list[Row]], data: Path | None = None) -> Measurements:
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
    last = run(cells)
    return Measurements([*rows, *last], grid, fits_of(last), chosen)


def _to_time(task: str, chosen: Mapping[tuple[str, str], Setting]) -> list[tuple[str, Setting]]:
    """Return what is fitted once more, alone: exact methods and all rules with several settings."""
    newton = chosen.get((task, "lapsvm_newton"))
    if newton is None:
        return []
    fits: list[tuple[str, Setting]] = [("lapsvm_newton", newton)]
    fits += [(name, chosen[task, name]) for name in ("lapsvm_dual", *RULES) if (task, name) in chosen]
    fits += [(name, newton) for name, method in METHODS.items() if method.rule]
    fits += [(name, setting) for name in RULES if (setting := printed_setting(task, name))]
    return list(dict.fromkeys(fits))


@cache  # asked once per fit, of which there are thousands
def printed_setting(task: str, method: str) -> Setting | None:
    """Return the gamma_A and gamma_I of table 8, or of table 9 for the stopping rules; None where there are none."""
    table = published_parameters("lapsvm_primal_2009", "9" if METHODS[method].rule else "8")
    rows = table[(table["dataset"] == task) & (table["method"] == method)].set_index("parameter")["value"]
    if "gamma_A" not in rows:
        return None
    return float(rows["gamma_A"]), float(rows.get("gamma_I", 0.0))


def lapsvm_primal(options: TableOptions) -> SectionedReport:
    """Compute the tables on the six smaller data sets.

    Parameters
    ----------
    options : TableOptions
        Folder, quick or full, data, processes.

    Returns
    -------
    SectionedReport
        On the bundled digits, and saying so, where no data set is at hand.
    """
    return _report("lapsvm_primal", SMALL, options)


def lapsvm_primal_mnist(options: TableOptions) -> SectionedReport:
    """Compute the tables on MNIST, 3 against 8: three splits of 11,902 training samples, hours.

    Quick on the bundled digits, whatever data are at hand.
    """
    return _report("lapsvm_primal_mnist", LARGE, options)


def _report(name: str, names: tuple[str, ...], options: TableOptions) -> SectionedReport:
    tasks, header = tasks_at_hand(names, options.data)
    if options.quick and names == LARGE:
        tasks, header = list(BUNDLED), [*header, "QUICK: 600 of scikit-learn's digits in the place of MNIST."]
    plan = Plan(tasks).quick() if options.quick else Plan(tasks)
    sources = sorted({{**TASKS, **BUNDLED}[task].source for task in plan.tasks})
    data = {source: load(source, data_home=options.data).sha256 for source in sources}
    first = True

    def run(cells: list[Cell]) -> list[Row]:
        nonlocal first
        fresh, first = options.fresh and first, False
        return run_sweep(
            cells,
            partial(work, data=options.data),
            provenance=collect(data=data, solver="numpy"),
            **options.of_sweep() | {"fresh": fresh},  # once: later phases add to the folder
        )

    found = measure(plan, run, options.data)
    parts = sections(found.grid, found.timed, found.chosen, printed_setting)
    moved = {where for where, setting in found.chosen.items() if setting != printed_setting(*where)}
    if options.quick:
        header = [*header, "QUICK: two tasks, two splits, four settings; for a look, not for the record."]
    command = f"specmargin tables {name}{' --quick' if options.quick else ''} --jobs {options.jobs}"
    return SectionedReport(
        f"{name}-quick" if options.quick else name,
        "Laplacian support vector machines trained in the primal: tables 3 to 11",
        [line for part in parts for line in part.lines],
        [*header, *_protocol(plan)],
        footer(found.rows, options.folder, command),
        parts,
        [*verdicts(parts, moved), "", *_settings(found.chosen)],
    )


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
    """Say what was chosen beside what is printed: tables 8 and 9."""
    said = ["Tables 8 and 9: gamma_A, gamma_I, and the printed ones."]
    for (task, method), setting in chosen.items():
        printed = printed_setting(task, method)
        words = "nothing printed" if printed is None else f"printed {printed[0]:g}, {printed[1]:g}"
        said.append(f"  {task} {method}: {setting[0]:g}, {setting[1]:g} ({words})")
    return said
