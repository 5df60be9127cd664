"""Keys are stable, and cells are values that survive JSON and pickle exactly."""

import hashlib
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

from reproduction.engine.records import Cell, worst_gap


def test_key_is_the_hash_of_canonical_json():
    cell = Cell("e", "m", "d", "s", {"gamma_A": 1e-6, "B": np.inf, "kinds": ("a", "b"), "q": np.int64(3), "x": None})
    text = (
        '{"dataset":"d","experiment":"e","method":"m",'
        '"parameters":{"B":Infinity,"gamma_A":1e-06,"kinds":["a","b"],"q":3,"x":null},"split":"s"}'
    )
    assert cell.key == hashlib.sha256(text.encode()).hexdigest()


def test_key_is_equal_in_another_process():
    code = "from reproduction.engine.records import Cell; print(Cell('e', 'm', 'd', 's', {'b': 0.1 + 0.2, 'a': 1}).key)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == Cell("e", "m", "d", "s", {"a": 1, "b": 0.1 + 0.2}).key


def test_cells_are_values():
    a, b = Cell("e", "m", "d", "s", {"k": 1, "l": 2}), Cell("e", "m", "d", "s", {"l": 2, "k": 1})
    others = [Cell(*names, {"k": 1, "l": 2}) for names in ("Emds", "eMds", "emDs", "emdS")]
    others.append(Cell("e", "m", "d", "s", {"k": 1, "l": 3}))
    assert len({a, b, *others}) == 6
    again = pickle.loads(pickle.dumps(a))
    assert again == a
    assert again.parameters == {"k": 1, "l": 2}
    with pytest.raises(TypeError):
        a.parameters["k"] = 2


def test_worst_gap():
    assert worst_gap([]) is None
    assert worst_gap([{"relative_gap": None}, {"status": "failed"}]) is None
    assert worst_gap([{"relative_gap": 1e-9}, {"relative_gap": -1e-8}]) == -1e-8
    assert worst_gap([{"relative_gap": 1.0}, {"relative_gap": math.inf}]) == math.inf
