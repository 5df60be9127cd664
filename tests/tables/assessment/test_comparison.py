"""Tests, corrections and verdicts against scipy and by hand."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, binomtest, multinomial

from specmargin.estimators.comparison import mcnemar_power
from specmargin.tables.assessment.choice import choose
from specmargin.tables.assessment.comparison import (
    Row,
    compare_outcomes,
    error_of_choice,
    holm,
    labels_needed,
    told_help,
)
from specmargin.tables.assessment.evaluation import Outcome


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


def test_whether_unlabelled_rows_helped_by_hand() -> None:
    """p12 = 19 / 62 and p21 = 2 / 62: 17 / 62 +- 1.96 sqrt((21 / 62 - (17 / 62)^2) / 62)."""
    base, better = outcome("baseline", list(range(20)), 60), outcome("good", [0, 1, 40], 60)
    rows = compare_outcomes([base, better], codes_of(60), "baseline")
    counted = "of 60 left-out labels there are 18 that good alone has right and 1 that the baseline alone has right"
    assert told_help(rows, 60) == f"Unlabelled rows helped: {counted} (+28.3 points, 95 % interval +14.6 to +40.2)."
    turned = compare_outcomes(
        [replace(better, name="baseline"), replace(base, name="AutoSSL")], codes_of(60), "baseline"
    )
    assert told_help(turned, 60).startswith("Unlabelled rows did harm: of 60")
    assert told_help(turned, 60).endswith("(-28.3 points, 95 % interval -40.2 to -14.6).")
    same = compare_outcomes([base, replace(base, name="good")], codes_of(60), "baseline")
    assert told_help(same, 60).startswith("Whether unlabelled rows help could not be told: of 60")


def test_the_comparison_is_planned() -> None:
    """AutoSSL is compared wherever it stands, and whatever looks better."""
    base, best = outcome("baseline", list(range(20)), 60), outcome("good", [], 60)
    poor = outcome("AutoSSL", list(range(30)), 60)
    rows = compare_outcomes([base, best, poor], codes_of(60), "baseline")
    assert "AutoSSL alone" in told_help(rows, 60)
    assert told_help(rows[:1], 60).endswith("could not be told: no method that uses them was run.")
    assert told_help(compare_outcomes([best], codes_of(60), "baseline"), 60).endswith("no supervised baseline was run.")
    assert told_help(rows, 6).endswith("could not be told: 6 labels are too few to count errors.")


@pytest.mark.parametrize("gains", [0.02, 0.1, 0.3])
def test_intervals_hold_the_difference_by_enumeration(gains: float) -> None:
    """Of all counts that 40 labels can have, with losses of 5 %: the exact coverage."""
    held = 0.0
    for wins, losses in product(range(41), repeat=2):
        chance = multinomial.pmf([wins, losses, 40 - wins - losses], 40, [gains, 0.05, 0.95 - gains])
        if chance > 1e-9:
            rows = [
                Row("svm", "svm", verdict="the baseline", is_supervised=True),
                Row("AutoSSL", "", wins=wins, losses=losses),
            ]
            low, high = map(float, re.findall(r"[-+][0-9.]+", told_help(rows, 40).split("interval")[1].rstrip(").")))
            held += chance * (low - 0.05 <= 100 * (gains - 0.05) <= high + 0.05)
    assert held > 0.94


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
    assert verdict(40, [0], [1]) == "cannot tell with 40 labels: a halved error shows with about 1000"
    assert verdict(40, [], [1]).endswith("shows with about 3000")
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


def test_labels_needed_have_the_power_and_fewer_do_not() -> None:
    for error in (0.4, 0.2, 0.1, 0.05):
        n = labels_needed(error)
        assert mcnemar_power(error, error / 2, n) >= 0.8 > mcnemar_power(error, error / 2, n // 2)


def noise(seed: int, n_methods: int, l: int = 60, n: int = 300):
    """Methods that decide at random."""
    rng = np.random.default_rng(seed)
    wrong = [np.flatnonzero(rng.random(l) < 0.5).tolist() for _ in range(n_methods)]
    return [outcome(f"m{k}", each, l) for k, each in enumerate(wrong)], codes_of(l, n)


def test_the_error_of_the_choice_is_not_that_of_the_luckiest() -> None:
    """On noise the least of eight errors is far below 1/2; corrected it is not."""

    def luckiest(rows, n_labeled):
        return min(rows, key=lambda row: row.error).name, ""

    least, corrected = [], []
    for seed in range(5):
        outcomes, codes = noise(seed, 8)
        least.append(min(row.error for row in compare_outcomes(outcomes, codes, "m0")))
        error, low, high = error_of_choice(outcomes, codes, "m0", luckiest, n_draws=60)
        assert low <= error <= high
        corrected.append(error)
    assert np.mean(least) < 0.43
    assert abs(np.mean(corrected) - 0.5) < 0.04


def test_one_choice_keeps_its_error() -> None:
    outcomes, codes = [outcome("baseline", [0, 1], 40), outcome("a", [0, 1], 40)], codes_of(40)
    (row, _) = compare_outcomes(outcomes, codes, "baseline")
    assert error_of_choice(outcomes, codes, "baseline", choose) == (row.error, *row.interval)
    assert np.isnan(error_of_choice([outcome("baseline", [], 8)], codes_of(8), "baseline", choose)).all()


def test_numbers_have_relative_errors_and_a_sign_test() -> None:
    rng = np.random.default_rng(0)
    y = np.r_[rng.normal(size=40), np.full(60, np.nan)]

    def regressor(name: str, deviation: float) -> Outcome:
        held = y[:40, None] + deviation * np.random.default_rng(len(name)).normal(size=(40, 1))
        return Outcome(name, name, held_out=held, probabilities=np.zeros((100, 1)))

    base, good = regressor("ridge", 1.0), regressor("good", 0.2)
    rows = compare_outcomes([base, good], y, "ridge")
    assert rows[1].error == pytest.approx(np.sqrt(np.mean((good.held_out[:, 0] - y[:40]) ** 2)) / y[:40].std())
    assert rows[1].interval[0] < rows[1].error < rows[1].interval[1]
    nearer = int(np.sum(np.abs(good.held_out[:, 0] - y[:40]) < np.abs(base.held_out[:, 0] - y[:40])))
    assert (rows[1].wins, rows[1].losses) == (nearer, 40 - nearer)
    assert rows[1].p == pytest.approx(binomtest(nearer, 40, alternative="greater").pvalue)
    assert rows[1].verdict == "better than supervised"
    assert choose(rows, 40)[0] == "good"
