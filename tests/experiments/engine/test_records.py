"""Keys are stable, and rows survive JSON, pickle and pandas exactly."""

from __future__ import annotations

import hashlib
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

from specmargin.experiments import Cell, from_frame, to_frame
from specmargin.experiments.engine.records import make_row, worst_gap


def test_key_is_the_hash_of_canonical_json():
    cell = Cell("e", "m", "d", "s", {"gamma_A": 1e-6, "B": np.inf, "kinds": ("a", "b"), "q": np.int64(3), "x": None})
    text = (
        '{"dataset":"d","experiment":"e","method":"m",'
        '"parameters":{"B":Infinity,"gamma_A":1e-06,"kinds":["a","b"],"q":3,"x":null},"split":"s"}'
    )
    assert cell.key == hashlib.sha256(text.encode()).hexdigest()


def test_key_is_equal_in_another_process():
    code = "from specmargin.experiments import Cell; print(Cell('e', 'm', 'd', 's', {'b': 0.1 + 0.2, 'a': 1}).key)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == Cell("e", "m", "d", "s", {"a": 1, "b": 0.1 + 0.2}).key


def test_cells_are_values():
    a, b = Cell("e", "m", "d", "s", {"k": 1, "l": 2}), Cell("e", "m", "d", "s", {"l": 2, "k": 1})
    others = [
        Cell("E", "m", "d", "s", {"k": 1, "l": 2}),
        Cell("e", "M", "d", "s", {"k": 1, "l": 2}),
        Cell("e", "m", "D", "s", {"k": 1, "l": 2}),
        Cell("e", "m", "d", "S", {"k": 1, "l": 2}),
        Cell("e", "m", "d", "s", {"k": 1, "l": 3}),
    ]
    assert len({a, b, *others}) == 6
    again = pickle.loads(pickle.dumps(a))
    assert again == a
    assert again.parameters == {"k": 1, "l": 2}
    with pytest.raises(TypeError):
        a.parameters["k"] = 2


def test_parameters_that_json_cannot_hold_are_refused():
    with pytest.raises(TypeError, match=r"array.*arrays are made inside the cell"):
        Cell("e", "m", "d", "s", {"X": np.zeros(2)})


def rows_with_gaps():
    settings = [{"k": 5, "kernel": "rbf"}, {"k": 50, "gamma": None, "B": math.inf}, {"powers": [1, 2]}, {"k": 5.0}]
    rows = [
        make_row(Cell("e", "m", "d", f"s{i}", p), {"status": "ok", "error_test": 1.0 / (3 + i), "seconds": 0.5})
        for i, p in enumerate(settings)
    ]
    rows[1] |= {"status": "failed", "error": "ValueError: x"}
    del rows[1]["error_test"]
    rows[2]["relative_gap"] = 1e-9
    return rows


def test_frame_and_back():
    rows = rows_with_gaps()
    frame = to_frame(rows)
    assert frame["error_test"].dtype == np.float64
    assert frame["error_test"].mean() == pytest.approx((1 / 3 + 1 / 5 + 1 / 6) / 3)
    for part in (frame, to_frame(rows[:3])):  # 50 does not become 50.0 for a float or a gap beside it
        assert [type(value) for value in part["param_k"][:2]] == [int, int]
    assert to_frame(rows[:2])["param_k"].dtype == np.int64
    back = from_frame(frame)
    assert back == rows
    assert [type(row.get("param_k")) for row in back] == [int, int, type(None), float]


def test_frame_survives_csv(tmp_path):
    import pandas as pd

    rows = rows_with_gaps()
    to_frame(rows).to_csv(tmp_path / "rows.csv", index=False)
    exact = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}  # the default since
    back = from_frame(pd.read_csv(tmp_path / "rows.csv", **exact))
    assert back == rows


def test_worst_gap():
    assert worst_gap([]) is None
    assert worst_gap([{"relative_gap": None}, {"status": "failed"}]) is None
    assert worst_gap([{"relative_gap": 1e-9}, {"relative_gap": -1e-8}]) == -1e-8
    assert worst_gap([{"relative_gap": 1.0}, {"relative_gap": math.inf}]) == math.inf
