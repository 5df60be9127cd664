"""Comparisons apart from claims: by hand."""

import pytest

from reproduction import claims
from reproduction.claims import verdict_on


@pytest.mark.parametrize(
    ("plain", "normalised", "text"),
    [
        ([10.1, 20.1], [10.2, 20.2], "both Laplacians explain the print"),
        ([10.1, 20.1], [10.2, 21.0], "D - W explains the print"),
        ([10.1, 21.0], [10.2, 21.0], "nor is one clearly nearer"),
        ([14.0, 24.0], [11.0, 21.0], "neither Laplacian explains the print, the normalised Laplacian is nearer"),
    ],
)
def test_verdicts_on_a_laplacian(plain, normalised, text):
    sentence = verdict_on("x", [10.0, 20.0], {False: plain, True: normalised})
    assert text in sentence.split(".")[0]
    assert "largest" in sentence


def row(method, dataset, split, error, objective):
    names = {"method": method, "dataset": dataset, "split": split}
    return {"status": "ok", **names, "error_unlabeled": error, "objective": objective}


def test_figures_3_and_4_in_sentences():
    runs = {"s0": ((1.0, 10.0), (2.0, 12.0)), "s1": ((3.0, 10.0), (2.0, 9.0)), "s2": ((5.0, 7.0), (5.0, 7.0001))}
    rows = [
        row(name, "d", split, *value)
        for split, both in runs.items()
        for name, value in zip(("a", "b"), both, strict=True)
    ]
    rows += [row("a", "d", "s3", 1.0, 1.0), {**row("b", "d", "s3", 9.0, 9.0), "status": "failed"}]
    text = claims.objective_and_error(rows, "a", "b")
    assert "in 1 of 3 runs; a is lower in 1, b in 1" in text
    assert "lower error 2 times, the higher one 0 times" in text
    assert "a errs less than b in 1 of 3 runs, more in 1, as much in 1" in claims.wins(rows, "a", "b")
    pairing = claims.paired(rows, "b", "a")
    assert pairing.first_error.tolist() == [2.0, 2.0, 5.0]
    assert pairing.second_objective.tolist() == [10.0, 10.0, 7.0]
    with pytest.raises(ValueError, match="a occurs twice on d s0"):
        claims.paired([*rows, rows[0]], "a", "b")
