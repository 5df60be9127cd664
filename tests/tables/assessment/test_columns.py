"""Cells become numbers, dates, categories or texts; what cannot be read is named, what is ambiguous is stated."""

import decimal
import sys
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from specmargin.exceptions import SolverNotInstalledError
from specmargin.tables.assessment.columns import ColumnType, as_cells, as_texts, distinct, infer_types, missing_in


def read(*cells, separator=",", stated="", others=None):
    """Return the type and the values of a column."""
    columns = {"m": as_cells(list(cells)), **{k: as_cells(v) for k, v in (others or {}).items()}}
    kind = infer_types(columns, {"m": stated} if stated else {}, separator)["m"]
    return kind, kind.read(columns["m"])[0].tolist()


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,234", "950", "12,500"], [1234, 950, 12500]),
        (["1,234.50", "950.25"], [1234.5, 950.25]),
        (["1,234,567", "950,000", "87"], [1234567, 950000, 87]),
        (["1.234,5", "-2,25"], [1234.5, -2.25]),
        (["0,123", "1,234"], [0.123, 1.234]),
        (["1.234", "2.5"], [1.234, 2.5]),
        (["1e3", " 2 ", ".5", "+7", "\u22123"], [1000, 2, 0.5, 7, -3]),
        (["1 234", "87", "12\u202f500"], [1234, 87, 12500]),
        (["1'234.5", "87"], [1234.5, 87]),
        (["45.1 %", "7%"], [45.1, 7]),
        (["$1,200.50", "$7"], [1200.5, 7]),
        (["5 kg", "7.5 kg"], [5, 7.5]),
        ([decimal.Decimal("1.5"), 2], [1.5, 2]),
        ([np.int64(3), 4.5], [3, 4.5]),
    ],
)
def test_numbers(cells, values) -> None:
    kind, got = read(*cells)
    assert kind.kind == "number"
    assert got == values


@pytest.mark.parametrize("cell", ["", "NA", "None", "-", "--", "#DIV/0!", "n.a.", "nil", "?", "NaN", "<NA>", None])
def test_what_holds_no_number_is_missing_and_not_odd(cell) -> None:
    kind = read("1.5", "2", "4")[0]
    values, odd = kind.read(as_cells(["3", cell]))
    assert values[0] == 3.0
    assert np.isnan(values[1])
    assert not odd.any()


def test_one_odd_cell_of_twenty_and_one_of_ten() -> None:
    kind, values = read(*["1", "2", "3", "4"] * 5, "x")
    assert kind.kind == "number"
    assert kind.read(as_cells(["x", "5"]))[1].tolist() == [True, False]
    assert np.isnan(values[-1])
    kind, _ = read(*["1", "2", "3"] * 3, "x")
    assert kind.kind == "category"
    assert "holds numbers in 90% of its cells, others such as 'x' (row 10)" in kind.note
    assert read(*["1", "2", "3"] * 3, "x", stated="number")[0].kind == "number"
    # Another unit is another thing.
    assert read(*["5 kg"] * 30, "7 g")[0].read(as_cells(["7 g", "6 kg"]))[1].tolist() == [True, False]


def test_ambiguous_marks_are_decided_by_the_file_and_said() -> None:
    kind, values = read("1.234", "950", separator=";")
    assert values == [1234, 950]
    assert kind.note == "reads '1.234' as 1234; if it is 1.234, say --columns m=number:1,234.5"
    assert read("1.234", "950", separator=";", stated="number:1,234.5")[1] == [1.234, 950]
    assert read("1,234", "2,345", separator=";")[1] == [1.234, 2.345]
    assert read("1,234", "2,345")[1] == [1234, 2345]
    assert read("1,234", "2,345", others={"z": ["3,5", "4,5"]})[1] == [1.234, 2.345]
    assert read("1.234", "2.345", others={"z": ["3,5", "4,5"]})[1] == [1234, 2345]
    kind, values = read("1.234", "2.345")
    assert (values, kind.note) == ([1.234, 2.345], "")


def test_names_that_look_like_numbers() -> None:
    for cells in (
        ["007", "012"],
        ["1234567890123456789", "1234567890123456790"],
        ["A11", "A12"],
        ["1st", "2nd", "3rd"],
    ):
        kind, values = read(*cells)
        assert kind.kind == "category"
        assert values == cells
    assert "leading zeros" in read("007", "012")[0].note
    assert as_texts(np.array([1234567.0, 0.5, np.inf])).tolist() == ["1234567", "0.5", None]


@pytest.mark.parametrize(
    "spelling",
    [
        "%Y-%m-%d",
        "%Y-%m-%dT%H:%M:%S+00:00",
        "%Y-%m-%d %H:%M",
        "%Y/%m/%d",
        "%d.%m.%Y",
        "%d.%m.%y",
        "%m/%d/%Y",
        "%d/%m/%Y",
        "%m/%d/%y",
        "%d %b %Y",
        "%B %d, %Y",
        "%d-%b-%y",
        "%m/%d/%Y %H:%M",
        "%d.%m.%Y %H:%M:%S",
    ],
)
def test_dates_in_every_spelling(spelling) -> None:
    days = [datetime(2024, 1, 1) + timedelta(int(k)) for k in np.random.default_rng(0).permutation(300)[:60]]
    kind, values = read(*(day.strftime(spelling) for day in days), "")
    assert kind.kind == "date", kind
    assert values == [*days, None]
    assert kind.note == ""


def test_ambiguous_and_impossible_days() -> None:
    kind, values = read("01/05/2024", "02/03/2024")
    assert values[0] == datetime(2024, 1, 5)
    assert "if it is 2024-05-01, say --columns m=date:%d/%m/%Y" in kind.note
    assert "reads '02/03/2024' as 2024-02-03; if it is 2024-03-02" in read("01/01/2024", "02/03/2024")[0].note
    assert read("01/05/2024", stated="date:%d/%m/%Y")[1] == [datetime(2024, 5, 1)]
    assert read("2024-02-31", "2024-01-01")[0].kind == "category"
    kind, _ = read(*["2024-01-01", "2024-01-02"] * 10, "2024-02-31")
    assert kind.read(as_cells(["2024-02-31"]))[1].tolist() == [True]
    days = as_cells([date(2024, 2, 1), None, datetime(2024, 2, 1, 12, tzinfo=UTC)])
    assert days.astype(str).tolist() == ["2024-02-01T00:00:00", "NaT", "2024-02-01T12:00:00"]


@pytest.mark.parametrize(
    ("cells", "marks"),
    [
        ([*range(30, 60), -999], (-999.0,)),
        ([*range(30, 60), -999, -999, 9999], (9999.0, -999.0)),
        ([*range(30, 60), 99999999], (99999999.0,)),
        ([*range(30, 60), 1e200], (1e200,)),
        ([1, 2, 3, 4, 5, 99], (99.0,)),
        ([*range(18, 99), 99], ()),  # an age
        ([10.0**k for k in range(12)], ()),  # heavy tails
        ([0, 1, 0, 1, 99], ()),  # too few values to say what is far
        ([*range(20_000, 60_000, 1_000), -999], (-999.0,)),  # codes below all others
        ([*range(20_000, 60_000, 1_000), 999], (999.0,)),
        ([*range(3_000, 9_000, 100), 999], ()),
        ([*range(30, 110), -1], (-1.0,)),
        ([*range(30), -1], ()),
        ([*range(-3, 30), -9], ()),
    ],
)
def test_numbers_that_stand_for_missing_ones(cells, marks) -> None:
    kind, values = read(*cells)
    assert kind.marks == marks
    assert int(np.isnan(values).sum()) == sum(cell in marks for cell in cells)
    assert read(*cells, stated="number:all")[0].marks == ()


def test_types_are_kept_for_other_cells() -> None:
    kind = ColumnType("category")
    assert kind.read(as_cells([1234567, 7654321]))[0].tolist() == ["1234567", "7654321"]
    assert kind.read(as_cells([True, False]))[0].tolist() == ["True", "False"]
    kind = read("1.300,5", "2,5")[0]
    assert kind.read(as_cells(["1.300"]))[0].tolist() == [1300.0]
    assert ColumnType("number").read(as_cells(["2024-01-01"]))[1].tolist() == [True]
    assert missing_in(np.array([1.0, np.inf, np.nan])).tolist() == [False, True, True]
    assert distinct(as_cells(["b", None, "a", "b"])).tolist() == ["a", "b"]


def test_without_pandas_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SolverNotInstalledError, match=r"pip install 'specmargin\[tables\]'"):
        infer_types({"m": np.array(["1"], dtype=object)})


@pytest.mark.parametrize(
    ("cells", "form", "first"),
    [
        (
            ["2023-10-07", "07.10.2023", "7 Oct 2023", "Oct 25, 2023"] * 5,
            "ISO8601|%d.%m.%Y|%d %b %Y|%b %d, %Y",
            "2023-10-07",
        ),
        (["07/Oct/2023", "08/Nov/2023"], "%d/%b/%Y", "2023-10-07"),
        (["Fri 06 Oct 2023", "Sat 07 Oct 2023"], "%a %d %b %Y", "2023-10-06"),
        (["Oct 2023", "Nov 2023"], "%b %Y", "2023-10-01"),
        (["20231007", "20231108", "20220301", "20210405"], "%Y%m%d", "2023-10-07"),
    ],
)
def test_dates_in_other_spellings_and_in_several(cells, form, first) -> None:
    kind, values = read(*cells)
    assert (kind.kind, kind.form) == ("date", form)
    assert str(values[0])[:10] == first
    assert None not in values


def test_dates_in_a_spelling_that_is_not_known_are_named() -> None:
    kind = read(*["2023-10-07", "07.10.2023", "7 Okt 2023"] * 5)[0]
    assert kind.kind == "category"
    assert "such as '7 Okt 2023' (row 3)" in kind.note


@pytest.mark.parametrize(
    ("days", "gone"),
    [
        (["2023-10-07", "2022-10-08", "9999-12-31"], [False, False, True]),
        (["2023-10-07", "2022-10-08", "1900-01-01"], [False, False, True]),
        (["1923-10-07", "1913-10-08", "1900-01-01"], [False, False, False]),
    ],
)
def test_days_that_stand_for_no_day(days, gone) -> None:
    assert [day is None for day in read(*days)[1]] == gone
    assert None not in read(*days, stated="date:all")[1]


def test_units_with_a_digit_and_two_numbers_in_a_cell() -> None:
    kind, values = read("85.0 m2", "70 m2")
    assert (kind.unit, values) == ("m2", [85.0, 70.0])
    assert "two numbers in a cell, as in '143/80'" in read("143/80", "120/70")[0].note


def test_a_number_far_from_the_others_of_its_column_is_named() -> None:
    note = read("33,604", "22.395,5", "41.200,1", "18.333,0")[0].note
    assert "reads '33,604' as 33.604, far from its other numbers; if it is 33604" in note
    assert read("1.234", "1.234,5", "87", "3.100")[0].note == ""
