"""Every flaw is named."""

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.tables import as_table, read_table, split_target
from specmargin.tables.assessment.columns import objects
from specmargin.tables.assessment.flaws import find_flaws
from specmargin.tables.assessment.roles import choose_roles


def kinds(table, labels) -> dict[str, str]:
    roles = choose_roles(table, labels, target="label")
    return {flaw.kind: flaw.text for flaw in find_flaws(table, labels, roles, "label")}


def test_a_messy_file(messy_file) -> None:
    table, labels = split_target(read_table(messy_file), "label")
    flaws = kinds(table, labels)
    assert flaws.keys() == {
        "constant column",
        "repeated column",
        "column that numbers the rows",
        "file",
        "missing entries",
        "columns of different scale",
        "class with one label",
        "classes of unequal size",
    }
    assert "'country' holds one value, 'IT'" in flaws["constant column"]
    assert "'income'" in flaws["repeated column"]
    assert "'bot'" in flaws["class with one label"]


def test_flaws_of_labels_and_rows() -> None:
    labels = np.array(["a", "b", "A ", "unknown", "a", None], dtype=object)
    table = as_table({"x": [1.0, 1.0, 2.0, np.inf, 2.0, 7.0], "z": ["u", "u", "v", "w", "v", "v"]})
    flaws = kinds(table, labels)
    assert "rows 1, 2 ('a' and 'b')" in flaws["equal rows with different labels"]
    assert "'a' and 'A ' count as one class, 'a'" in flaws["spelling of labels"]
    assert "'unknown' counts as a class" in flaws["label that looks like a marker"]
    assert flaws["few labels"].startswith("5 labels")
    assert "'x' holds 1" in flaws["infinite entries"]
    assert "2 of 6 rows" in flaws["repeated rows"]


def test_a_clean_table_has_none() -> None:
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b"] * 10 + [None] * 20, dtype=object)
    assert kinds(as_table(rng.normal(size=(40, 3))), labels) == {}
    X = sp.csr_array(rng.normal(size=(40, 2)) * np.array([1.0, 1e6]))
    assert kinds(as_table(X), labels).keys() == {"columns of different scale"}


@pytest.mark.parametrize(("factor", "seen"), [(900.0, False), (1100.0, True)])
def test_deviations_that_differ_by_a_thousand_are_named(factor, seen) -> None:
    x = np.random.default_rng(0).permutation(np.arange(40.0) ** 2)
    table, labels = as_table({"a": x, "b": factor * x[::-1]}), np.array(["p", "q"] * 20, dtype=object)
    named = kinds(table, labels)
    assert ("columns of different scale" in named) == seen


@pytest.mark.parametrize(("n", "seen"), [(62, True), (63, False)])
def test_fewer_than_three_labels_for_each_of_many_classes_are_named(n, seen) -> None:
    labels = np.array([f"c{k % 21}" for k in range(n)], dtype=object)
    table = as_table({"a": np.random.default_rng(0).normal(size=n)})
    named = kinds(table, labels)
    assert ("many classes" in named) == seen


def test_odd_cells_and_numbers_for_missing_ones_are_named() -> None:
    cells = [f"{30 + i % 23}" for i in range(58)]
    table = as_table({"m": [*cells[:20], "abc", *cells[20:], "-999"], "z": np.arange(60) % 7})
    labels = np.array(["a", "b"] * 15 + [None] * 30, dtype=object)
    flaws = kinds(table, labels)
    assert "'abc' (row 21)" in flaws["odd cells"]
    assert "'m' holds -999" in flaws["numbers for missing ones"]
    assert "--columns m=number:all" in flaws["numbers for missing ones"]
    kept = kinds(table.reading({"m": "number:all"}), labels)
    assert "numbers for missing ones" not in kept


def test_classes_are_counted_as_they_are_learned() -> None:
    table = as_table({"x": np.random.default_rng(0).normal(size=60), "z": np.arange(60) % 7})
    several = ["nein"] * 26 + ["Nein "] * 18
    near = kinds(table, objects([*several, *["ja"] * 3, *["Ja"] * 12, "JA"]))
    assert "classes of unequal size" not in near  # 44 and 16
    assert "class with one label" not in near
    few = kinds(table, objects([*several, "ja", "Ja", "JA", *[None] * 13]))
    assert "44 labels of 'nein', 3 of 'ja'" in few["classes of unequal size"]
    same = as_table({"x": [1.0, 1.0, 2.0, 3.0], "z": [5.0, 5.0, 2.0, 9.0]})
    assert "equal rows with different labels" not in kinds(same, objects(["ja", "JA", "nein", None]))


def test_exact_labels_stay_apart() -> None:
    labels = np.array(["ja", "Ja", "JA", "nein", None, "ja"], dtype=object)
    table = as_table({"x": [0.5, 1.0, 2.5, 3.0, 2.0, 7.0]})
    told = {
        exact: {f.kind: f.text for f in find_flaws(table, labels, choose_roles(table, labels), exact=exact)}
        for exact in (False, True)
    }
    assert told[False]["spelling of labels"].startswith("'ja' and 'Ja' and 'JA' count as one class, 'ja'")
    assert "count as different classes, as stated" in told[True]["spelling of labels"]
