# The public names: read by type checkers, and at run time by lazy_loader.

from . import candidates, diagnosis, plots
from .assessment.model import Predictions, TableModel, load_model
from .assessment.reading import read_table
from .assessment.result import Comparison
from .assessment.run import compare, compare_file, fit_table, predict_file
from .assessment.table import Table, as_table, split_target

__all__ = [
    "candidates",
    "diagnosis",
    "plots",
    "Comparison",
    "Predictions",
    "Table",
    "TableModel",
    "as_table",
    "compare",
    "compare_file",
    "fit_table",
    "load_model",
    "predict_file",
    "read_table",
    "split_target",
]
