"""Tables: files of every kind, and what no table is."""

import re
import sys
from dataclasses import replace

import numpy as np
import polars
import pytest
import scipy.sparse as sp

from specmargin.exceptions import InvalidInputError
from specmargin.tables import as_table, read_table, split_target
from specmargin.tables.assessment.reading import read_settings


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_csv_of_every_separator_and_encoding(tmp_path, separator: str, encoding: str) -> None:
    lines = ("größe,note,kind", '1.5,"a,""b""",yes', "2,é,", "")
    text = "\r\n".join(lines).replace(",", separator)
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    table = read_table(path)
    assert list(table.columns) == ["größe", "note", "kind"]
    assert table.columns["größe"].tolist() == [1.5, 2.0]
    assert table.columns["note"].tolist() == [f'a{separator}"b"', "é"]
    assert bool(table.notes) == (encoding == "cp1252")
    assert split_target(table, "kind")[1].tolist() == ["yes", None]


def test_npz_dense_sparse_and_frames(tmp_path) -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, -1])
    np.savez(tmp_path / "dense.npz", X=X, y=y)
    table, labels = split_target(read_table(tmp_path / "dense.npz"), "y", "-1")
    assert np.column_stack(list(table.columns.values())).tolist() == X.tolist()
    assert labels.tolist() == [0, 1, None]
    parts = sp.csr_array(X)
    np.savez(
        tmp_path / "sparse.npz", data=parts.data, indices=parts.indices, indptr=parts.indptr, shape=parts.shape, y=y
    )
    table, labels = split_target(read_table(tmp_path / "sparse.npz"), "y", -1)
    assert (table.matrix != parts).nnz == 0
    assert labels.tolist() == [0, 1, None]
    frame = polars.DataFrame({"a": [1, None, 3], "b": ["u", None, "v"]})
    assert as_table(frame).columns["a"].tolist()[::2] == [1.0, 3.0]
    assert as_table(frame.to_pandas() if "pyarrow" in sys.modules else frame).columns["b"].tolist() == ["u", None, "v"]


def test_parquet_asks_for_pyarrow(tmp_path, monkeypatch) -> None:
    path = tmp_path / "table.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidInputError, match=re.escape("pip install 'specmargin[parquet]'")):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.csv", None, "does not exist"),
        ("short.csv", b"a,b\n", "has 1 lines"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "line 3 .* has 3 cells, its first line has 2"),
        ("binary.csv", b"a\0b,c\n1,2\n", "zero bytes"),
        ("wrong.npz", b"no zip", "cannot be read as npz"),
        ("quote.csv", b'a,y\n"5 inch,p\n6,q\n"7 inch,p\n8,q\n', "stops to be CSV at line 4"),
        ("open.csv", b'a,y\n5,p\n"6,q\n', "stops to be CSV at line 3"),
        ("blanks.csv", b"a b  y\n1 2  p\n3 4  q\n", "separated by blanks"),
    ],
)
def test_what_no_table_is(tmp_path, name: str, content: bytes | None, says: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=says):
        read_table(path)


def test_labels_are_classes() -> None:
    table = as_table({"x": [1.0, 2.0, 3.0], "a": [0.5, 1.0, np.nan], "b": [1.0, 2.0, np.nan]})
    with pytest.raises(InvalidInputError, match=r"0\.5 .*quantity.*--columns a=number.*LapRLSRegressor"):
        split_target(table, "a")
    assert split_target(table, "b")[1].tolist() == [1, 2, None]
    with pytest.raises(InvalidInputError, match=r"no column 'c'; name the one of the labels\. The columns are x, a, b"):
        split_target(table, "c")


def labels_of(*cells, **stated):
    table = as_table({"x": np.arange(len(cells)) % 3, "y": list(cells)})
    return split_target(table.reading(stated), "y")[1].tolist()


def test_labels_are_what_was_written() -> None:
    assert labels_of("007", "012", "") == ["007", "012", None]
    long = ["1234567890123456789", "1234567890123456790"]
    assert labels_of(*long) == long
    assert labels_of("1", "-2", "NA") == [1, -2, None]
    assert labels_of("1.0", "0.0", "1.0") == [1, 0, 1]
    assert labels_of("2024-01-01", "2024-02-01") == ["2024-01-01", "2024-02-01"]
    assert labels_of(np.datetime64("2024-01-01"), np.datetime64("2024-02-01")) == ["2024-01-01", "2024-02-01"]
    assert labels_of(True, False, None) == ["True", "False", None]
    assert labels_of("1", "x") == ["1", "x"]


def test_a_quantity_is_refused_or_is_a_number_as_was_said() -> None:
    for cells in (["1,5", "2,5", "3"], [str(k * k) for k in range(40)], [float(k) for k in range(40)]):
        with pytest.raises(InvalidInputError, match="quantity"):
            labels_of(*cells)
        numbers = labels_of(*cells, "", y="number")
        assert all(isinstance(value, float) for value in numbers[:-1])
        assert numbers[-1] is None
        assert len(set(labels_of(*cells, y="category"))) == len(cells)
    with pytest.raises(InvalidInputError, match="'x' in row 2, which is no number"):
        labels_of("1", "x", y="number")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"Age, years";"Income, EUR";y\n30;5,5;a\n40;6,5;b\n', ["Age, years", "Income, EUR", "y"]),
        ("sep=;\nage;y\n30;a\n40;b\n", ["age", "y"]),
        ('"sep=;"\nage;y\n30;a\n40;b\n', ["age", "y"]),
        ("\n\nage\ty\n30\ta\n40\tb\n", ["age", "y"]),
        ('"Weight\n(kg, dry)";"y"\n1;p\n2;q\n', ["Weight\n(kg, dry)", "y"]),
        ("name,2019,2020,2021\na,1,2,3\nb,4,5,6\n", ["name", "2019", "2020", "2021"]),
        ("a,a.2,a,y\n1,2,3,p\n4,5,6,q\n", ["a", "a.2", "a.3", "y"]),
        ("a,a,a.2,y\n1,2,3,p\n4,5,6,q\n", ["a", "a.3", "a.2", "y"]),
        ("column 2,,y\n1,2,p\n3,4,q\n", ["column 2", "column 2.2", "y"]),
        ("5.1,3.5,a\n4.9,3.0,b\n4.7,3.2,a\n", ["column 1", "column 2", "column 3"]),
        ("p,x,s\ne,x,s\np,y,t\ne,x,t\np,y,s\n", ["column 1", "column 2", "column 3"]),
    ],
)
def test_names_of_columns(tmp_path, text: str, names: list[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    table = read_table(path)
    assert list(table.columns) == names
    cells = text.removesuffix("\n").count("\n") + 1
    assert table.n_rows in (2, 3, 5)
    assert (names[0] == "column 1") == any("holds values, not names" in note for note in table.notes)
    if names[0] == "column 1":
        assert table.n_rows == cells
        assert read_table(path, names=True).n_rows == cells - 1


def test_a_cell_that_swallows_lines_is_named(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b,y\n"5 inch,1,p\n6,2,q\n7 inch",3,p\n8,4,q\n')
    assert "is a quote missing?" in " ".join(read_table(path).notes)


def test_a_long_cell_is_read_and_the_limit_of_csv_is_as_before(tmp_path) -> None:
    import csv

    before = csv.field_size_limit()
    path = tmp_path / "t.csv"
    path.write_text('a,y\n"' + "word " * 40000 + '",p\nb,q\n')
    assert read_table(path).n_rows == 2
    assert csv.field_size_limit() == before


def test_what_is_said_of_columns(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("zip,day,pay,y\n100,01/02/2024,1,p\n200,03/04/2024,2,q\n")
    (tmp_path / "columns.toml").write_text('[columns]\nzip = "category"\nday = "date:%d/%m/%Y"\n')
    for stated in (str(tmp_path / "columns.toml"), {"zip": "category", "day": "date:%d/%m/%Y"}):
        table = read_table(path, columns=stated)
        assert table.columns["zip"].tolist() == ["100", "200"]
        assert table.columns["day"].astype(str).tolist()[0] == "2024-02-01T00:00:00"
    assert read_table(path).columns["zip"].tolist() == [100.0, 200.0]
    assert "--columns day=date:%d/%m/%Y" in " ".join(read_table(path).notes)
    assert read_settings(["a=b=number"]) == {"a=b": "number"}
    for wrong, says in (
        ({"zap": "number"}, "no column 'zap' .*name some of zip, day, pay, y. Did you mean 'zip'"),
        ({"zip": "numbr"}, "cannot be 'numbr'; take one of number, date.*Did you mean 'number'"),
        (["zip"], "not of the form NAME=KIND"),
        ([str(tmp_path / "none.toml")], r"no table \[columns\]"),
    ):
        with pytest.raises(InvalidInputError, match=says):
            read_table(path, columns=wrong)


def test_lakhs_words_for_missing_and_a_first_line_with_a_gap(tmp_path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('gain,land,y\n"12,34,567",NA,a\n"9,50,000",US,b\n87,FR,a\n')
    table = read_table(file)
    assert table.columns["gain"].tolist() == [1234567.0, 950000.0, 87.0]
    assert any("'land' holds 'NA' (1 times): counted as missing" in note for note in table.notes)
    file.write_text("1,?,3.5,a\n2,7,4.5,b\n3,8,1.5,a\n")
    assert read_table(file).n_rows == 3
    file.write_text("m,land\n")
    with pytest.raises(InvalidInputError, match="no row below its names"):
        read_table(file)


def test_numbers_to_be_predicted_are_written_as_the_columns_are_and_codes_among_them_are_named() -> None:
    cells = {"price": ["2.382", "943", "3.100", ""] * 5, "x": ["1,5", "2,5", "3,25", "4"] * 5}
    table = replace(as_table(cells), separator=";").reading({"price": "number"})
    table, labels = split_target(table, "price")
    assert labels[:4].tolist() == [2382.0, 943.0, 3100.0, None]
    assert any("'price' reads '2.382' as 2382; if it is 2.382" in note for note in table.notes)
    prices = [100.0, 120.0, 130.0, -999.0, 140.0, 150.0] * 3
    table = as_table({"price": prices, "x": list(range(18))}).reading({"price": "number"})
    table, labels = split_target(table, "price")
    assert labels[3] is None
    assert any("'price' holds -999 in 3 rows" in note and "price=number:all" in note for note in table.notes)
    kept = split_target(as_table({"price": prices, "x": list(range(18))}).reading({"price": "number:all"}), "price")[1]
    assert kept[3] == -999.0
