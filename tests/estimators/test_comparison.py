"""Counted errors: the note's table of powers, McNemar's test against scipy's binomial test, verdicts."""

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from specmargin.estimators.comparison import compare_errors, error_estimate, mcnemar_power

LABELS = (10, 20, 50, 100, 200, 400)
# Simulated by another program, rounded to two digits.
POWERS = {
    (0.4, 0.2): (0.08, 0.26, 0.68, 0.93, 1, 1),
    (0.3, 0.15): (0.03, 0.18, 0.54, 0.85, 0.99, 1),
    (0.2, 0.1): (0.01, 0.08, 0.35, 0.68, 0.93, 1),
    (0.2, 0.15): (0, 0.03, 0.12, 0.23, 0.42, 0.69),
    (0.1, 0.05): (0, 0.01, 0.13, 0.35, 0.67, 0.93),
    (0.1, 0.08): (0, 0, 0.03, 0.08, 0.17, 0.30),
}


@pytest.mark.parametrize(("before", "after"), POWERS)
def test_power_is_that_of_the_table(before, after):
    for l, power in zip(LABELS, POWERS[before, after], strict=True):
        assert mcnemar_power(before, after, l) == pytest.approx(power, abs=0.012)


def test_power_is_that_of_simulated_tests():
    rng = np.random.default_rng(0)
    before, after, l, shown = 0.3, 0.15, 40, 0
    for _ in range(4000):
        gains, losses, _ = rng.multinomial(l, [before - after / 2, after / 2, 1 - before])
        shown += gains + losses > 0 and binomtest(gains, gains + losses, alternative="greater").pvalue < 0.05
    assert mcnemar_power(before, after, l) == pytest.approx(shown / 4000, abs=0.03)


def test_estimate_and_interval():
    estimate = error_estimate(np.arange(30) < 4)
    assert (estimate.wrong, estimate.n_labeled, estimate.error) == (4, 30, 4.5 / 31)
    assert beta.cdf(estimate.interval[1], 4.5, 26.5) - beta.cdf(estimate.interval[0], 4.5, 26.5) == pytest.approx(0.95)
    assert error_estimate(np.zeros(10, bool)).interval[0] >= 0


def test_p_values_are_those_of_the_binomial_test():
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b = rng.random((2, 30)) < 0.3
        c = compare_errors(a, b, 0.0)
        m = c.gains + c.losses
        if m:
            assert c.p_better == pytest.approx(binomtest(c.gains, m, alternative="greater").pvalue)
            assert c.p_worse == pytest.approx(binomtest(c.losses, m, alternative="greater").pvalue)
    same = compare_errors(a, a, 0.0)
    assert (same.p_better, same.p_worse) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("wrong", "baseline", "l", "disagreement", "verdict"),
    [
        (0, 5, 9, 0.1, "too few labels to judge"),
        (3, 12, 40, 0.5, "better than supervised"),
        (12, 3, 40, 0.1, "worse: take the supervised one"),
        (2, 3, 20, 0.1, "cannot tell with 20 labels (power 0."),
        (50, 50, 400, 0.1, "no difference seen"),
        (50, 50, 400, 0.4, "no difference seen; the families disagree: check some of these points"),
    ],
)
def test_verdicts(wrong, baseline, l, disagreement, verdict):
    assert compare_errors(np.arange(l) < wrong, np.arange(l) < baseline, disagreement).verdict.startswith(verdict)
