"""What the tests of experiments share."""

import pytest

from reproduction.engine.significance import significance_marks
from reproduction.report import MarkedRow, MarkedSection, Report


@pytest.fixture
def report():
    """A table of three methods, in one row of which one has failed; its texts need escaping."""

    def entries(**errors):
        return significance_marks({m: {f"s{i}": v for i, v in enumerate(values)} for m, values in errors.items()})

    rows = [
        MarkedRow("p & q", 20, entries(one=[10 / 3, 4], two=[4, 3.5], three=[8, 9]), {"one": "C=1"}),
        MarkedRow("p & q", 40, entries(one=[6, 7.5], three=[1, 2])),
    ]
    marked = MarkedSection(rows, ["one", "two", "three"], "unlabelled error, optimistic", "nothing published")
    return Report("t", "Title", [marked], ["HEAD <x>"], ["FOOT"], ["CLAIM"])
