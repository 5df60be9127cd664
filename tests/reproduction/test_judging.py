"""Claims as data: each kind of condition holds and fails on numbers made by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.judging import ClaimRow, frame_of, judge, named_frame, read_claims, wide_frame

ERRORS = {"near": (1.0, 2.0, 3.5), "far": (4.0, 5.5, 6.0), "odd": (9.0, 1.0, 2.0)}


def errors(dataset, factor=1.0):
    return [
        {"dataset": dataset, "split": f"s{k}", "method": method, "error_test": factor * error}
        for method, own in ERRORS.items()
        for k, error in enumerate(own)
    ]


WIDE = wide_frame([*errors("a"), *errors("b", 0.5)], {"T": "error_test"})
NAMED = named_frame({"one": {"x": 1.0, "y": 4.0}, "two": {"x": 2.0, "y": 2.0}}, fact="a fact")


def sentence(holds, numbers="{part} of {whole}", frame=WIDE, **options):
    found = judge([ClaimRow("p", "s", "the claim", holds, numbers, **options)], {"s": frame})
    return found[0] if found else ""


@pytest.mark.parametrize(
    ("condition", "frame", "part", "whole"),
    [
        ("T_near < T_far", WIDE, 6, 6),  # lower in pairs
        ("T_odd < T_far", WIDE, 4, 6),
        ("@lower(T_near, T_far)", WIDE, 2, 2),  # in the mean of a data set
        ("@lower(T_far, T_near)", WIDE, 0, 2),
        ("@clearly_lower(T_near, T_far)", WIDE, 2, 2),  # and significantly
        ("@clearly_lower(T_odd, T_far)", WIDE, 0, 2),
        ("@not_clearly_higher(T_odd, T_near)", WIDE, 2, 2),
        ("@not_clearly_higher(T_far, T_near)", WIDE, 0, 2),
        ("@spread(T_near) < @spread(T_odd)", WIDE, 2, 2),
        ("abs(@mean(T_near) - @mean(T_odd)) <= 1", WIDE, 1, 2),  # within d: 1.83 and 0.92
        ("two / one >= 2", NAMED, 1, 2),  # a ratio
        ("one >= 1", NAMED, 2, 2),  # a share of cells
        ("1 <= one <= two", NAMED, 1, 2),  # an order
        ("@correlation(T_near, T_far) > 0.8", WIDE, 1, 1),  # a correlation
        ("@correlation(T_near, T_odd) > 0.9", WIDE, 0, 1),
        ("@p(T_near, T_far) < 0.01", WIDE, 1, 1),
        ("@p(T_near, T_odd) < 0.01", WIDE, 0, 1),
    ],
)
def test_a_condition_is_counted_over_its_cases(condition, frame, part, whole):
    word = "reproduced" if part == whole else "not reproduced" if part < whole / 2 else "partly reproduced"
    assert sentence([condition], frame=frame) == f"{word}: the claim. {part} of {whole}."


def test_conditions_add_up():
    assert "10 of 12" in sentence(["T_near < T_far", "T_odd < T_near"])
    assert sentence(["one < two"], strict=True, frame=NAMED) == "not reproduced: the claim. 1 of 2."
    assert "1 of 1" in sentence(["one > two"], means=True, frame=NAMED)
    assert "1 of 1" in sentence(["one < two"], where="one < 2", frame=NAMED)


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("one:.1f", "2.5"),
        ("two / one:.2f", "1.25"),
        ("one.max():.0f", "4"),
        ("@furthest(one - two):+.1f", "+2.0 (y)"),
        ("@lowest(one):.0f", "1 (x)"),
        ("@highest(one):.0f", "4 (y)"),
        ("@largest(one - two, two):.0f", "2"),
        ("@median(one, two):.0f", "2"),
        ("fact", "a fact"),
        ("missing:.2f", "-"),
    ],
)
def test_numbers_are_expressions(field, shown):
    assert sentence(["one > 0"], f"It is {{{field}}}", NAMED) == f"reproduced: the claim. It is {shown}."


def test_comparisons_are_counted_in_their_unit():
    line = sentence(["T_near < T_far"], "{@total(@compare(T_near, T_far), @compare(T_far, T_near)):rows}")
    assert line.endswith("lower mean error in 2 of 4 rows (2 significant), higher in 2 (2).")
    line = sentence(["T_near < T_far"], "{@compare(T_near, T_far, 1 / 3):corrected rows}")
    assert "2 of 2 rows (2 significant; 2 corrected)" in line


def test_what_the_rows_do_not_have_is_not_judged():
    assert sentence(["T_missing < T_far"]) == ""
    assert "of 6" in sentence(["T_missing < T_far", "T_near < T_far"])
    assert sentence(["one < two"], where="one < 0", frame=NAMED) == ""
    assert sentence(["one < two"], where="one < 2", frame=pd.DataFrame()) == ""
    assert judge([ClaimRow("p", "other", "t", ["a < b"], "n")], {"s": WIDE}) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"each": "{name} {one:.0f}"}, "partly reproduced: the claim. 1 of 2, x 1, y 4, missed x 1."),
        ({"each": "{name}", "apart": " and "}, "partly reproduced: the claim. 1 of 2, x and y, missed x."),
        ({"each": "{name}", "partly": "in its sign only"}, "in its sign only: the claim. 1 of 2, x, y, missed x."),
        ({"each": "{name}", "claimed": False}, "the claim. 1 of 2, x, y, missed x."),
    ],
)
def test_the_rows_of_a_claim_are_listed_and_its_words_chosen(options, expected):
    assert sentence(["one > 2"], "{part} of {whole}, {each}, missed {missed}", NAMED, **options) == expected
    whole = sentence(["one > 0"], "missed {missed}", NAMED, **options)
    assert whole == ("" if "claimed" in options else "reproduced: ") + "the claim. missed none."


def test_runs_that_one_method_lacks_are_not_compared():
    rows = [row for row in errors("a") if (row["method"], row["split"]) != ("far", "s2")]
    frame = wide_frame(rows, {"T": "error_test"})
    assert np.isnan(frame["T_far"].iloc[-1])
    assert "1 of 1" in sentence(["@lower(T_near, T_far)"], frame=frame)


def test_means_of_data_sets_and_derived_columns():
    rows = [{"dataset": name, "a": value} for name, value in (("x 1", 1.0), ("x 1", 3.0), ("y", 5.0))]
    frame = frame_of(rows, lambda frame: {"most": frame["a"].max()})
    assert frame[["a_on_x_1", "a_on_y", "most"]].drop_duplicates().values.tolist() == [[2.0, 5.0, 5.0]]


def test_claims_are_read_by_paper(tmp_path):
    lines = ["[[claim]]", 'paper = "p"', 'source = "s"', 'text = "t"', 'holds = ["a < b"]', 'numbers = "n"']
    (tmp_path / "c.toml").write_text("\n".join(lines))
    assert read_claims(tmp_path / "c.toml") == {"p": [ClaimRow("p", "s", "t", ["a < b"], "n")]}
