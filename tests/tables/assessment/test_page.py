"""Columns of the table of methods: each shows its own number of a row."""

from specmargin.tables.assessment.comparison import Row
from specmargin.tables.assessment.page import explanations, measures

ROW = Row(
    "a",
    "A",
    0.125,
    (0.1, 0.25),
    balanced_accuracy=0.5,
    log_loss=1.5,
    wins=3,
    losses=1,
    p=0.25,
    differs=0.75,
    seconds=2.0,
)
SHOWN = {
    "error": "12.5%",
    "95 % interval": "10.0% to 25.0%",
    "balanced": "50.0%",
    "log-loss": "1.500",
    "+/-": "+3 -1",
    "p": "0.250",
    "differs": "75.0%",
    "seconds": "2.0",
    "MB": "-",
}


def test_every_column_shows_its_number() -> None:
    assert {column.name: column.text(ROW) for column in measures(of_numbers=False)} == SHOWN
    of_classes = ("balanced", "log-loss", "differs")
    numbers = {column.name: column.text(ROW) for column in measures(of_numbers=True)}
    assert numbers == {name: text for name, text in SHOWN.items() if name not in of_classes}
    assert {column.text(Row("a", "A")) for column in measures(of_numbers=False)} == {"-"}


def test_what_is_explained_is_shown() -> None:
    for of_numbers in (False, True):
        shown = {column.name for column in measures(of_numbers)} | {"judged", "cannot tell"}
        assert {name for name, _ in explanations(of_numbers)} <= shown
