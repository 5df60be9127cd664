"""Tables: files of every kind, and what no table is."""

from __future__ import annotations

import re
import sys
from datetime import UTC, date, datetime

import numpy as np
import polars
import pytest
import scipy.sparse as sp

from specmargin.assessment import as_table, read_table, split_target
from specmargin.assessment.columns import as_column, distinct, missing_in, typed_column
from specmargin.exceptions import InvalidInputError


def test_cells_become_numbers_dates_or_texts() -> None:
    assert typed_column(["1.234,5", "-2,25", "?"]).tolist()[:2] == [1234.5, -2.25]
    assert typed_column(["1e3", " 2 ", ".5"]).tolist() == [1000.0, 2.0, 0.5]
    assert typed_column(["01.02.2024", ""]).astype(str).tolist() == ["2024-02-01T00:00:00", "NaT"]
    assert typed_column(["2024-02-31", "2024-01-01"]).dtype == object  # no such day
    assert typed_column(["1", "x"]).tolist() == ["1", "x"]
    assert missing_in(np.array([1.0, np.inf, np.nan])).tolist() == [False, True, True]
    assert distinct(as_column(["b", None, "a", "b"])).tolist() == ["a", "b"]
    assert as_column([3, None]).tolist()[0] == 3.0
    days = as_column([date(2024, 2, 1), None, datetime(2024, 2, 1, 12, tzinfo=UTC)])
    assert days.astype(str).tolist() == ["2024-02-01T00:00:00", "NaT", "2024-02-01T12:00:00"]


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
    with pytest.raises(InvalidInputError, match=r"quantity.*LapRLSRegressor"):
        split_target(table, "a")
    assert split_target(table, "b")[1].tolist() == [1, 2, None]
    with pytest.raises(InvalidInputError, match="no column 'c'; the columns are 'x', 'a', 'b'"):
        split_target(table, "c")
