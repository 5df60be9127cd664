"""Experiments: tasks, methods, protocols of tuning, resumable sweeps, published numbers, reports.

Describe the work as `Cell` s, write a function that computes one (mostly a call of `evaluate`), and give both to
`run_sweep`. `select` chooses the parameters afterwards, and `compare` puts the published numbers next to the result. An
`Experiment` is all of that under a name, and `run_experiment` makes its table; those of the papers are in
`specmargin.papers`.
"""

from specmargin.experiments.comparison import Reference, compare
from specmargin.experiments.engine.evaluation import evaluate
from specmargin.experiments.engine.protocol import (
    FixedSetting,
    LabeledFolds,
    Tuning,
    UnlabeledPoints,
    ValidationSet,
    select,
)
from specmargin.experiments.engine.published import published, published_parameters, published_sizes
from specmargin.experiments.engine.records import Cell
from specmargin.experiments.engine.splits import Split, published_splits, random_splits
from specmargin.experiments.engine.sweep import StaleResultsError, SweepInterruptedError, read_sweep, run_sweep
from specmargin.experiments.grid import grid_experiment
from specmargin.experiments.methods import Method
from specmargin.experiments.report import Line, Report, Section
from specmargin.experiments.run import Experiment, Findings, Options, Setup, run_experiment
from specmargin.experiments.tasks import Task

__all__ = [
    "Split",
    "published_splits",
    "random_splits",
    "evaluate",
    "Tuning",
    "ValidationSet",
    "LabeledFolds",
    "UnlabeledPoints",
    "FixedSetting",
    "select",
    "Cell",
    "run_sweep",
    "read_sweep",
    "StaleResultsError",
    "SweepInterruptedError",
    "published",
    "published_parameters",
    "published_sizes",
    "Reference",
    "compare",
    "Line",
    "Section",
    "Report",
    "Task",
    "Method",
    "Experiment",
    "Options",
    "Setup",
    "Findings",
    "grid_experiment",
    "run_experiment",
]
