"""Docstrings that list the registries."""

from specmargin.graphs import knn_graph
from specmargin.graphs.docs import choices, with_graph_sections
from specmargin.graphs.kinds import KINDS
from specmargin.graphs.weights import EDGE_WEIGHTS


def test_markers_of_functions_and_classes_are_filled():
    @with_graph_sections
    def function(kind):
        """Take one of <kinds>:

        <each kind>
        """

    @with_graph_sections
    class Weighted:
        """weight : <weights>"""

    assert choices(KINDS) in function.__doc__
    assert Weighted.__doc__ == f"weight : {choices(EDGE_WEIGHTS)}"
    for name, kind in KINDS.items():
        assert f'* "{name}": {kind.__doc__}' in function.__doc__


def test_every_weight_has_an_entry_in_one_line():
    for name, weight in EDGE_WEIGHTS.items():
        assert weight.summary
        assert f'    * "{name}": {weight.summary}\n' in knn_graph.__doc__
    # All stand one under the other, whether or not the Python strips a docstring's own indentation.
    entries = [line for line in knn_graph.__doc__.splitlines() if line.lstrip().startswith('* "')]
    assert len({len(line) - len(line.lstrip()) for line in entries}) == 1


def test_no_marker_is_left():
    assert "<" not in knn_graph.__doc__.partition("Examples")[0]


def test_without_docstrings():
    def bare():
        pass

    assert with_graph_sections(bare).__doc__ is None
