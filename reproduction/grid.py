"""The plainest experiment: methods over their grids on tasks, a cell for each setting and split."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from reproduction.comparison import Reference, compare
from reproduction.engine.protocol import LabeledFolds, Tuning, select
from reproduction.engine.records import Cell, Row
from reproduction.judging import TABLE_CLAIMS, judge, wide_frame
from reproduction.methods import Method
from reproduction.report import Section
from reproduction.run import Experiment, Findings, Options, Setup
from reproduction.tasks import Task, available_tasks, splits
from specmargin.exceptions import InvalidInputError


@dataclass(frozen=True)
class GridPlan:
    """Cells of all tasks, settings, splits and methods.

    Parameters
    ----------
    experiment : str
        Name in the cells.
    tasks : sequence of Task
        Tasks to compute.
    methods : mapping of str to Method
        Methods by name.
    grid : mapping of str to sequence of float
        Values of every hyper-parameter; each method takes those of its own.
    folds : int
        Labelled folds of the cross-validation.
    n_splits : int, optional
        The first splits only.
    protocol : mapping of str to str
        Parts of the protocol that every cell names, so that rows of another one are not taken for its own.
    """

    experiment: str
    tasks: Sequence[Task]
    methods: Mapping[str, Method]
    grid: Mapping[str, Sequence[float]]
    folds: int = 5
    n_splits: int | None = None
    protocol: Mapping[str, str] = field(default_factory=dict)

    def cells(self, data: Path | None) -> list[Cell]:
        """Return the cells: settings outside, splits inside, so that what settings share is made once."""
        values = product(*self.grid.values())
        everything = [dict(zip(self.grid, combination, strict=True)) for combination in values]
        return list(
            dict.fromkeys(
                Cell(
                    self.experiment,
                    name,
                    task.name,
                    split,
                    {**{key: setting[key] for key in method.parameters}, "folds": self.folds, **self.protocol},
                )
                for task in self.tasks
                for setting in everything
                for split in list(splits(task, data))[: self.n_splits]
                for name, method in self.methods.items()
            )
        )


def grid_experiment(
    name: str,
    summary: str,
    title: str,
    *,
    tasks: Sequence[Task],
    methods: Mapping[str, Method],
    grid: Mapping[str, Sequence[float]],
    work: Callable[..., Mapping[str, Any]],
    references: Mapping[str, Sequence[Reference]],
    tunings: Sequence[Tuning] = (),
    quick_grid: Mapping[str, Sequence[float]] | None = None,
    stand_ins: Sequence[Task] = (),
    instead: str = "",
    header: Sequence[str] = (),
    solver: str = "auto",
    axes: Mapping[str, Sequence[str]] | None = None,
) -> Experiment:
    """Return the experiment in which labelled folds, and other protocols, choose among the settings of a grid.

    Claims under the name of the experiment, of the source "errors", are judged by the errors on the unlabelled samples
    at what the folds chose: ``E_method``.

    Parameters
    ----------
    name, summary, title, solver
        The same as in `Experiment`.
    tasks, methods, grid
        The same as in `GridPlan`; of the tasks those whose data are there.
    work : callable
        Mostly a call of `fit_cell`.
    references : mapping of str to sequence of Reference
        Published numbers by method.
    tunings : sequence of Tuning
        Protocols next to that of five labelled folds (of two in the quick table).
    quick_grid : mapping of str to sequence of float, optional
        Values of the quick table, by default the first two values of each; it has two splits.
    stand_ins : sequence of Task
        Tasks instead of `tasks` where none of their data are there; `instead` says what they are.
    header : sequence of str
        The protocol in words.
    axes : mapping of str to sequence of str, optional
        Parts of the protocol that ``--set`` may choose, with their values, the usual one first. `work` finds the chosen
        value among the parameters of its cell.
    """
    axes = axes or {}
    small = {key: values[:2] for key, values in grid.items()} if quick_grid is None else quick_grid

    def setup(options: Options) -> Setup:
        for axis, value in options.choices.items():
            if value not in axes[axis]:
                raise InvalidInputError(f"--set {axis}={value} is unknown; take one of {', '.join(axes[axis])}.")
        protocol = {axis: options.choices.get(axis, values[0]) for axis, values in axes.items()}
        there, missing = available_tasks(tasks, stand_ins, instead, options.data, joint=" and ")
        size: dict[str, Any] = {"grid": small, "folds": 2, "n_splits": 2} if options.quick else {"grid": grid}
        plan = GridPlan(name, there, methods, protocol=protocol, **size)
        return Setup(plan, {task.source for task in there}, missing)

    def report(rows: list[Row], plan: GridPlan, options: Options) -> Findings:
        folds = LabeledFolds(plan.folds)
        lines = compare(rows, [folds, *tunings], references)
        claims = TABLE_CLAIMS.get(name, [])
        frames = {"errors": wide_frame(select(rows, folds), {"E": "error_unlabeled"})} if claims else {}
        return Findings([Section("", lines)], header, judge(claims, frames))

    note = "two splits, few settings, two folds; for a look, not for the record."
    return Experiment(name, summary, title, setup, work, report, solver=solver, quick=note, axes=tuple(axes))
