"""Data of one's own: from a table with some labels to a comparison of methods, predictions, a model and a page.

`compare` and `compare_file` do all of it; `fit_table` fits one method, `load_model` and `predict_file` use it later.
`read_table` and `split_target` get features and labels from a file.

Behind them: `preparation` makes features of columns, `flaws` names what is wrong with a table, `evaluation` lets each
of the `methods` decide about left-out labels, `comparison` puts the differences into words, and `page` draws them.
"""

from specmargin.tables.assessment.model import TableModel, load_model
from specmargin.tables.assessment.predictions import Predictions
from specmargin.tables.assessment.reading import read_table
from specmargin.tables.assessment.result import Comparison
from specmargin.tables.assessment.run import compare, compare_file, fit_table, predict_file
from specmargin.tables.assessment.table import Table, as_table, split_target

__all__ = [
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
