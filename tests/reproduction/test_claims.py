"""Verdicts and comparisons: by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from scipy.stats import ttest_1samp

from reproduction import claims
from reproduction.claims import verdict, verdict_on
from reproduction.report import Line


def test_verdict_rule():
    assert {verdict(part, 100) for part in (100, 90)} == {"reproduced"}
    assert {verdict(part, 100) for part in (89, 50)} == {"partly reproduced"}
    assert {verdict(part, 100) for part in (49, 0)} == {"not reproduced"} == {verdict(0, 0)}


@pytest.mark.parametrize(
    ("plain", "normalised", "tolerances", "text"),
    [
        ([10.1, 20.1], [10.2, 20.2], None, "both Laplacians explain the print"),
        ([10.1, 20.1], [10.2, 21.0], None, "D - W explains the print"),
        ([10.1, 21.0], [10.2, 21.0], None, "nor is one clearly nearer"),
        ([14.0, 24.0], [11.0, 21.0], None, "neither Laplacian explains the print, the normalised Laplacian is nearer"),
        ([14.0, 24.0], [11.0, 21.0], [2.0, 2.0], "the normalised Laplacian explains the print"),
    ],
)
def test_verdicts_on_a_laplacian(plain, normalised, tolerances, text):
    sentence = verdict_on("x", [10.0, 20.0], {False: plain, True: normalised}, tolerances)
    assert text in sentence.split(".")[0]
    assert "largest" in sentence


def row(method, dataset, split, error, objective):
    names = {"method": method, "dataset": dataset, "split": split}
    return {"status": "ok", **names, "error_unlabeled": error, "objective": objective}


def test_order_and_distance():
    lines = [
        Line("d", method, "fixed", mean, 1.0, 10, published)
        for method, mean, published in (("svm", 9.0, 9.2), ("cs3vm", 2.8, 2.9), ("mine", 5.0, math.nan))
    ]
    assert claims.order(lines) == "reproduced: the order of the methods on d: cs3vm < svm."
    swapped = [lines[0], replace(lines[1], mean=9.5)]
    assert claims.order(swapped).startswith("not reproduced: the order of the methods on d: svm < cs3vm; published")
    assert claims.order(lines[2:]).startswith("order: nothing published")
    assert claims.within(lines[0], 0.21).startswith("reached: d svm 9.00, published 9.20")
    assert claims.within(lines[0], 0.19).startswith("missed")


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


def test_significance_over_runs_tasks_and_splits(rng):
    rows = []
    for task, split in ((t, s) for t in range(12) for s in range(5)):
        error = 5.0 + rng.normal()
        rows.append(row("a", f"t{task}", f"s{split}", error, 1.0))
        rows.append(row("b", f"t{task}", f"s{split}", error + 0.3 + 0.3 * rng.normal(), 1.0))
    text = claims.significance(rows, "a", "b", True)
    assert text.startswith("reproduced: significance: a errs -0.")
    assert "over 60 runs" in text
    assert "over 12 tasks" in text
    assert "over 5 splits" in text
    differences = [
        one["error_unlabeled"] - two["error_unlabeled"] for one, two in zip(rows[::2], rows[1::2], strict=True)
    ]
    assert f"p = {ttest_1samp(differences, 0.0).pvalue:.2g} over" in text
    assert claims.significance(rows, "a", "b", False).startswith("not reproduced")
    assert claims.significance(rows[:2], "a", "b").endswith("share fewer than two runs.")
