"""What columns are used as; names of rows, and columns that give the labels away."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from specmargin.exceptions import InvalidInputError
from specmargin.tables import as_table
from specmargin.tables.assessment.columns import objects
from specmargin.tables.assessment.roles import choose_roles, described, shifts


def test_roles(messy) -> None:
    labels = objects([cell or None for cell in messy["label"]])
    table = as_table(messy)
    roles = choose_roles(table.without("label"), labels, target="label")
    assert roles.used == {"age": "number", "income": "number", "town": "category", "comment": "text", "since": "date"}
    assert roles.dropped.keys() == {"customer_id", "income_copy", "country"}
    assert roles.identifier == "customer_id"
    leak = choose_roles(table.reading({"since": "ignore", "town": "text"}), labels, target="label")
    assert leak.dropped["label"].startswith("repeats the labels")
    assert leak.dropped["since"] == "is ignored, as you asked"
    assert leak.used["town"] == "text"
    with pytest.raises(InvalidInputError, match="no column 'towm'"):
        table.reading({"towm": "text"})
    with pytest.raises(InvalidInputError, match="no column is left"):
        choose_roles(as_table({"a": [1.0, 1.0]}), labels[:2])


def rows_of(**columns):
    n = len(next(iter(columns.values())))
    labels = objects(["a" if i % 3 else "b" for i in range(n // 2)] + [None] * (n - n // 2))
    x = np.random.default_rng(0).normal(size=n)
    return as_table({"x": x, **columns}), labels


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("Unnamed: 0", np.random.default_rng(0).permutation(200)[:40], "numbers the rows"),
        ("anything", [3 * i + i % 2 for i in range(40, 0, -1)], "grows from row to row"),
        ("obs", np.random.default_rng(0).permutation(200)[:40], "numbers the rows"),
        ("case_id", np.random.default_rng(0).permutation(200)[:40], "numbers the rows"),
        ("code", [f"P{i:03d}" for i in range(40)], "names the row"),
        ("code", [f"P{i:03d}" for i in range(39)] + ["P000"], "has 39 values in 40 rows, and names the row"),
        ("code", [f"P{i:03d}" for i in range(39)] + [None], "names the row"),  # one was forgotten
        ("code", [str(10**18 + 7 * i) for i in range(40)], "names the row"),
    ],
)
def test_names_of_rows(name, values, why) -> None:
    table, labels = rows_of(**{name: values})
    roles = choose_roles(table, labels)
    assert why in roles.dropped[name]
    assert roles.identifier == name
    kind = "number" if name in ("anything", "obs") else "category"
    assert choose_roles(table.reading({name: kind}), labels).used[name] == kind


def test_numbers_of_rows_that_are_repeated() -> None:
    """A row that stands there twice has its number twice; of one column alone, or another feature, nothing is told."""
    rng = np.random.default_rng(0)
    rows, x, labels = np.r_[1:41, 3, 8, 21, 21], rng.normal(size=44), np.full(44, None, dtype=object)
    labels[:20] = ["a", "b"] * 10
    x[40:] = x[[2, 7, 20, 20]]
    table = as_table({"nr": rows.astype(float), "x": x})
    assert "numbers the rows" in choose_roles(table, labels).dropped["nr"]
    assert "nr" in choose_roles(as_table({"nr": rows.astype(float)}), labels, strict=False).used
    other = np.r_[x[:40], rng.normal(size=4)]  # equal numbers, other rows
    assert "nr" in choose_roles(as_table({"nr": rows.astype(float), "x": other}), labels, strict=False).used


def test_whole_numbers_that_do_not_grow_are_numbers() -> None:
    table, labels = rows_of(pay=np.random.default_rng(0).permutation(2000)[:40])
    assert choose_roles(table, labels).used["pay"] == "number"
    stated = choose_roles(table.reading({"pay": "id"}), labels)
    assert (stated.identifier, stated.dropped["pay"]) == ("pay", "names the row, as stated")


def test_the_label_in_other_words() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=90)
    words = objects([("setosa", "versicolor", "virginica")[k] if i < 45 else None for i, k in enumerate(kind)])
    columns = {
        "code": [10 * k + 3 for k in kind],
        "again": [("Setosa ", "VERSICOLOR", "virginica")[k] for k in kind],
        "rough": ["one" if k == 0 else "other" for k in kind],
        "fine": [f"{k}{'ab'[i % 2]}" for i, k in enumerate(kind)],
        "noise": rng.integers(3, size=90),
        "size": rng.normal(size=90) + kind,
    }
    roles = choose_roles(as_table(columns), words)
    assert "tells the class on all 45 labelled rows, one value for each" in roles.dropped["code"]
    assert roles.dropped["again"].startswith("repeats the labels")
    assert "the class tells its value" in roles.doubts["rough"]
    assert "its value tells the class" in roles.doubts["fine"]
    assert roles.doubts.keys() == {"rough", "fine"}
    assert roles.used.keys() == {"rough", "fine", "noise", "size"}
    # Where no error is told it is used and named, and where the user says what it is, it is used.
    assert "tells the class" in choose_roles(as_table(columns), words, strict=False).doubts["code"]
    assert choose_roles(as_table(columns).reading({"code": "category"}), words).used["code"] == "category"


def test_a_few_labels_prove_nothing() -> None:
    """With two labels of each class every third binary column tells the class by chance."""
    labels = objects(["a", "a", "b", "b", None, None, None, None])
    roles = choose_roles(as_table({"x": list("ppqqpqpq"), "z": [0.5, 1, 2, 4, 3, 2, 1, 0]}), labels)
    assert roles.used == {"x": "category", "z": "number"}
    assert roles.doubts == {}


@pytest.mark.parametrize(
    "values",
    [
        [("moved", "price")[i % 2] if i < 40 else None for i in range(100)],  # known for labelled rows only
        [("moved", "price")[i % 2] if i < 40 else "none" for i in range(100)],  # another value for the others
        [i % 7 + 1.0 if i < 40 else 0.0 for i in range(100)],  # the same in numbers
        [np.datetime64("2024-01-01") + i % 9 if i < 40 else np.datetime64("2030-01-01") for i in range(100)],
    ],
)
def test_what_differs_between_labelled_and_unlabelled_rows(values) -> None:
    labels = objects(["a" if i % 3 else "b" for i in range(40)] + [None] * 60)
    table = as_table({"reason": values, "x": np.random.default_rng(0).normal(size=100)})
    roles = choose_roles(table, labels)
    assert roles.used == {"x": "number"}
    assert "of the unlabelled rows" in roles.dropped["reason"]
    kind = choose_roles(table, labels, strict=False)
    assert "reason" in kind.used
    assert "reason" in kind.doubts


def test_other_shares_of_the_classes_are_no_shift() -> None:
    """Twenty labels of each class, where one class has nine of ten rows: the distribution differs, and may."""
    rng, named = np.random.default_rng(1), 0
    for _ in range(40):
        kind = np.r_[np.repeat([0, 1], 20), rng.random(400) < 0.1].astype(int)
        table = as_table({"x": rng.normal(size=440) + 4.0 * kind, "c": np.array(["u", "v"])[kind]})
        labels = objects([("a", "b")[k] if i < 40 else None for i, k in enumerate(kind)])
        named += len(shifts(table, {"x": "number", "c": "category"}, labels))
    assert named <= 2


def test_the_p_value_is_that_of_fishers_exact_test() -> None:
    """One class, one column whose cells are missing in 3 of 20 labelled and 15 of 30 unlabelled rows."""
    gone = np.r_[np.arange(20) < 3, np.arange(30) < 15]
    labels = objects(["a"] * 20 + [None] * 30)
    table = as_table({"m": [None if g else "v" for g in gone]})
    p = fisher_exact([[15, 15], [3, 17]], alternative="greater").pvalue
    text, large = shifts(table, {"m": "category"}, labels).get("m", ("", False))
    assert (text == "") == (4 * p >= 0.01)
    gone[20:] = np.arange(30) < 20
    table = as_table({"m": [None if g else "v" for g in gone]})
    p = fisher_exact([[20, 10], [3, 17]], alternative="greater").pvalue
    text, large = shifts(table, {"m": "category"}, labels)["m"]
    assert f"(p = {4 * p:.1g})" in text
    assert large == (20 / 30 - 3 / 20 >= 0.5)


def test_the_table_of_what_was_read() -> None:
    cells = ["1,5 kg", "k.A.", *(["2,5 kg"] * 40), "heavy", ""]
    table = as_table({"weight": cells, "id": range(100, 144), "kept": np.arange(44) % 5})
    labels = objects(["a", "b"] * 10 + [None] * 24)
    rows = described(table.reading({"kept": "category"}), choose_roles(table, labels), labels, "y")
    assert rows[0] == {
        "column": "y",
        "role": "label",
        "type": "2 classes",
        "example": "a",
        "missing": 24,
        "odd cells": "",
    }
    assert [row["role"] for row in rows] == ["label", "feature", "id", "feature"]
    assert rows[1]["type"] == "number, decimal comma, kg"
    assert (rows[1]["missing"], rows[1]["odd cells"]) == (2, "'heavy' (row 43)")
    assert rows[3]["type"] == "category, as stated"


def test_the_label_in_other_words_or_in_empty_cells() -> None:
    rng = np.random.default_rng(1)
    kind = rng.integers(2, size=80)
    labels = objects([("no", "yes")[k] if i < 40 else None for i, k in enumerate(kind)])
    columns = {
        "some": objects([("dead", "alive")[k] if rng.random() < 0.6 else None for k in kind]),
        "days": objects([str(rng.integers(1, 99)) if k else None for k in kind]),
        "often": objects([str(rng.integers(9)) if rng.random() < 0.7 else None for _ in kind]),
    }
    roles = choose_roles(as_table(columns), labels)
    assert "labelled rows that have one, one value for each" in roles.dropped["some"]
    assert roles.dropped["days"].startswith("by being empty or not tells the class on all 40 labelled rows")
    assert roles.used.keys() == {"often"}


def test_columns_that_follow_numbers_to_be_predicted(rng) -> None:
    price = np.round(rng.uniform(100, 300, 40), 2)
    labels = np.array(price.tolist(), dtype=object)
    labels[30:] = None
    table = as_table({"eur": np.round(1.08 * price, 2), "rank": price**2, "x": rng.normal(size=40)})
    roles = choose_roles(table, labels, target="price")
    assert roles.dropped == {"eur": "is the label 'price' in another unit on all 30 labelled rows"}
    assert "orders the rows as 'price' does on all 30 labelled rows" in roles.doubts["rank"]
    assert list(roles.used) == ["rank", "x"]
