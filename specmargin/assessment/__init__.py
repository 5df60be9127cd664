"""Data of one's own: from a table with some labels to a comparison of methods, predictions, a model and a page.

`compare` does all of it. `read_table` and `split_target` get a table from a file, `Preparation` makes features of its
columns, `find_flaws` names what is wrong with it, `evaluate` lets each `Method` decide about left-out labels, and
`compare_outcomes` puts the differences into words.
"""

from specmargin.assessment.comparison import Row, compare_outcomes, holm
from specmargin.assessment.evaluation import Outcome, evaluate
from specmargin.assessment.flaws import Flaw, find_flaws
from specmargin.assessment.methods import Method, choose_methods
from specmargin.assessment.model import TableModel, load_model
from specmargin.assessment.predictions import Predictions
from specmargin.assessment.preparation import Preparation
from specmargin.assessment.result import Comparison
from specmargin.assessment.run import compare, compare_file, fit_table, predict_file
from specmargin.assessment.table import Table, as_table, read_table, split_target

__all__ = [
    "Comparison",
    "Flaw",
    "Method",
    "Outcome",
    "Predictions",
    "Preparation",
    "Row",
    "Table",
    "TableModel",
    "as_table",
    "choose_methods",
    "compare",
    "compare_file",
    "compare_outcomes",
    "evaluate",
    "find_flaws",
    "fit_table",
    "holm",
    "load_model",
    "predict_file",
    "read_table",
    "split_target",
]
