"""Experiments: splits, protocols of tuning, resumable sweeps, published numbers, tables.

Describe the work as `Cell` s, write a function that computes one (mostly a call of `evaluate`), and give both to
`run_sweep`. `select` chooses the parameters afterwards, `compare` puts the published numbers beside, and `run_table`
makes any table of the register `TABLES`.
"""

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
from specmargin.experiments.engine.records import Cell, Row, from_frame, to_frame
from specmargin.experiments.engine.splits import Split, published_splits, random_splits
from specmargin.experiments.engine.sweep import StaleResultsError, SweepInterruptedError, read_sweep, run_sweep
from specmargin.experiments.table_report import Line, TableReport
from specmargin.experiments.tables import TABLES, Reference, TableOptions, compare, footer, run_table

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
    "Row",
    "run_sweep",
    "read_sweep",
    "StaleResultsError",
    "SweepInterruptedError",
    "to_frame",
    "from_frame",
    "published",
    "published_parameters",
    "published_sizes",
    "Reference",
    "Line",
    "TableReport",
    "TableOptions",
    "TABLES",
    "compare",
    "footer",
    "run_table",
]
