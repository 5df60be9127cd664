"""Experiments: tasks, methods, protocols of tuning, resumable sweeps, published numbers, reports.

Describe the work as `Cell` s, write a function that computes one (mostly a call of `evaluate`), and give both to
`run_sweep`. `select` chooses the parameters afterwards, and `compare` puts the published numbers next to the result. An
`Experiment` is all of that under a name, and `run_experiment` makes its table; those of the papers are in
`reproduction.papers`.
"""

from reproduction.comparison import Reference, compare
from reproduction.engine.evaluation import evaluate
from reproduction.engine.protocol import (
    FixedSetting,
    LabeledFolds,
    Tuning,
    UnlabeledPoints,
    ValidationSet,
    select,
)
from reproduction.engine.published import published, published_parameters, published_sizes
from reproduction.engine.records import Cell
from reproduction.engine.splits import Split, published_splits, random_splits
from reproduction.engine.sweep import StaleResultsError, SweepInterruptedError, read_sweep, run_sweep
from reproduction.grid import grid_experiment
from reproduction.methods import Method
from reproduction.report import Line, Report, Section
from reproduction.run import Experiment, Findings, Options, Setup, run_experiment
from reproduction.tasks import Task

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
