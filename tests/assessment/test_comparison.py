"""Tests, corrections and verdicts against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from specmargin.assessment.comparison import compare_outcomes, holm
from specmargin.assessment.evaluation import Outcome, log_loss


def outcome(name: str, wrong: list[int], l: int, n: int = 300, supervised: bool = False) -> Outcome:
    """Return an outcome that is wrong at some labels of alternate classes, and decides 0 about all other rows."""
    codes = np.arange(l) % 2
    decided = codes.copy()
    decided[wrong] = 1 - decided[wrong]
    held = np.full((l, 2), 0.2)
    held[np.arange(l), decided] = 0.8
    p = np.tile([0.9, 0.1], (n, 1))
    return Outcome(name, name, is_supervised=supervised, held_out=held, probabilities=p, seconds=1.0)


def codes_of(l: int, n: int = 300) -> np.ndarray:
    return np.r_[np.arange(l) % 2, np.full(n - l, -1)]


def test_holm_by_hand() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert holm([]).tolist() == []
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_numbers_of_a_row() -> None:
    l = 60
    base, better = outcome("baseline", list(range(20)), l), outcome("good", [0, 1, 40], l)
    rows = {row.name: row for row in compare_outcomes([base, better], codes_of(l), "baseline")}
    row = rows["good"]
    assert (row.wins, row.losses) == (18, 1)
    assert row.p == pytest.approx(binomtest(18, 19, alternative="greater").pvalue)
    assert row.p_worse == pytest.approx(binomtest(1, 19, alternative="greater").pvalue)
    assert row.error == pytest.approx(3.5 / 61)
    assert row.interval == pytest.approx(beta.ppf([0.025, 0.975], 3.5, 57.5))
    assert row.balanced_accuracy == pytest.approx(np.mean([28 / 30, 29 / 30]))
    assert row.log_loss == pytest.approx(-(57 * np.log(0.8) + 3 * np.log(0.2)) / 60)
    assert row.verdict == "better than supervised"
    assert rows["baseline"].verdict == "the baseline"


def test_holm_takes_a_verdict_back() -> None:
    """p = 0.031 alone says better; not so with two more methods."""
    l = 60
    base, good = outcome("baseline", list(range(20)), l), outcome("good", list(range(5, 20)), l)
    others = [outcome(name, list(range(20)), l) for name in ("a", "b")]
    alone = compare_outcomes([base, good], codes_of(l), "baseline")[1]
    assert alone.p == pytest.approx(1 / 32)
    assert alone.verdict == "better than supervised"
    row = compare_outcomes([base, good, *others], codes_of(l), "baseline")[1]
    assert row.p == pytest.approx(3 / 32)
    assert not row.verdict.startswith("better")


def test_verdicts() -> None:
    def verdict(l: int, base: list[int], own: list[int], **options: bool) -> str:
        rows = compare_outcomes([outcome("b", base, l), outcome("m", own, l, **options)], codes_of(l), "b")
        return rows[1].verdict

    assert verdict(60, [], list(range(9))) == "worse: take the supervised one"
    assert verdict(60, [], list(range(9)), supervised=True) == "worse than the baseline"
    assert verdict(40, [0], [1]).startswith("cannot tell with 40 labels (power 0.")
    assert verdict(200, list(range(60)), list(range(60))) == "no difference seen"
    assert verdict(8, [0], []) == "too few labels to judge"


def test_below_ten_labels_there_are_no_numbers() -> None:
    row = compare_outcomes([outcome("b", [], 9), outcome("m", [0], 9)], codes_of(9), "b")[1]
    assert np.isnan([row.error, row.balanced_accuracy, row.log_loss, row.p, *row.interval]).all()


def test_disagreement_is_named() -> None:
    l, base = 60, outcome("b", [0], 60)
    other = outcome("m", [0], l)
    other.probabilities[l:160] = [0.1, 0.9]
    row = compare_outcomes([base, other], codes_of(l), "b")[1]
    assert row.differs == pytest.approx(100 / 240)
    assert "check some of these rows" in row.verdict


def test_log_loss_is_finite() -> None:
    assert log_loss(np.array([[1.0, 0.0]]), np.array([1])) == pytest.approx(-np.log(1e-6))
