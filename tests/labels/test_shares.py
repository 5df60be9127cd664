"""Shares against numerical integration, thresholds against counting."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import beta, gaussian_kde

from specmargin.labels.shares import credible_shares, cut, shrunken_shares, sparse_share, trust_in_shares


def test_shares_and_trust_by_hand():
    np.testing.assert_allclose(shrunken_shares(np.array([3.0, 0.0, 1.0])), np.array([5, 2, 3]) / 10)
    np.testing.assert_allclose(shrunken_shares(np.array([3, 1]), 1.0), np.array([4, 2]) / 6)
    assert [trust_in_shares(l, 10.0) for l in (0, 1, 10, 40)] == [1.0, 1.0, 1.0, 0.25]
    assert trust_in_shares(40, 20.0) == 0.5


@pytest.mark.parametrize("counts", [(1, 1), (3, 9), (50, 10), (2, 3, 5), (1, 1, 1, 40)])
def test_shares_and_intervals_are_those_of_the_posterior(counts):
    K, l = len(counts), sum(counts)
    shares, (low, high) = shrunken_shares(np.array(counts)), credible_shares(np.array(counts))
    level = 0.05 if K == 2 else 0.05 / K
    for k, count in enumerate(counts):
        a, b = count + 2, l - count + 2 * (K - 1)
        log_norm = gammaln(a + b) - gammaln(a) - gammaln(b)

        def density(p, a=a, b=b, log_norm=log_norm):
            return np.exp(log_norm + (a - 1) * np.log(p) + (b - 1) * np.log1p(-p))

        mean = quad(lambda p: p * density(p), 0, 1)[0]
        assert shares[k] == pytest.approx(mean, rel=1e-7)
        assert quad(density, 0, low[k])[0] == pytest.approx(level / 2, rel=1e-6)
        assert quad(density, high[k], 1)[0] == pytest.approx(level / 2, rel=1e-6)
    assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("counts", [(5, 5), (2, 8), (9, 1), (40, 60), (300, 100)])
def test_where_no_gap_is_the_share_is_the_posterior_mean(counts):
    # Scores of constant density: the share above a cut has the posterior Beta(l1 + a, l0 + a).
    l0, l1 = counts
    a = max(2.0, 10.0 * min(1.0, 20.0 / (l0 + l1)))
    share = sparse_share(np.linspace(0.0, 1.0, 2001), np.array(counts))
    assert share == pytest.approx((l1 + a) / (l0 + l1 + 2 * a), abs=0.005)  # by the integral of s over the cuts


@pytest.mark.parametrize("counts", [(1, 1), (5, 5), (2, 8), (30, 12)])
def test_gaps_and_labels_together_by_another_density(counts):
    rng = np.random.default_rng(4)
    scores = np.concatenate([rng.normal(-1.0, 0.5, 700), rng.normal(1.5, 0.7, 300)])
    low, high = np.quantile(scores, [0.02, 0.98])
    inside = scores[(scores >= low) & (scores <= high)]
    mirrored = np.concatenate([inside, 2 * low - inside, 2 * high - inside])  # no density is lost beyond the ends
    t = np.linspace(low, high, 2000)
    density = gaussian_kde(mirrored, (high - low) / 20.0 / mirrored.std(ddof=1))(t)
    density /= density.mean()
    l0, l1 = counts
    a = 10.0 * min(1.0, 20.0 / (l0 + l1))
    s = np.array([np.mean(scores > one) for one in t])
    weight = s ** (l1 + a - 1) * (1 - s) ** (l0 + a - 1) / (density + 0.1) ** 5
    seen = min(1.0, (l0 + l1 - 2) / 8.0)
    expected = seen * (s @ weight / weight.sum()) + (1.0 - seen) * shrunken_shares(np.array(counts))[1]
    expected = np.clip(expected, *beta(l1 + 2, l0 + 2).ppf([0.025, 0.975]))
    assert sparse_share(scores, np.array(counts)) == pytest.approx(expected, abs=0.01)
    assert abs(expected - 0.3) < 0.08 or counts in ((1, 1), (2, 8))  # the gap has its say, as far as the labels allow


def test_a_class_rarer_than_the_usual_ends_is_found_by_its_gap():
    scores = np.concatenate([np.linspace(0.0, 1.0, 990), np.linspace(5.0, 5.5, 10)])
    assert sparse_share(scores, np.array([396, 4])) == pytest.approx(0.01, abs=0.004)
    assert sparse_share(-scores, np.array([4, 396])) == pytest.approx(0.99, abs=0.004)


def test_units_signs_and_few_scores_change_no_share():
    scores = np.random.default_rng(0).standard_t(2, 500)
    share = sparse_share(scores, np.array([3, 6]))
    for scaled in (1e8 * scores + 1e9, 1e-150 * scores):
        assert sparse_share(scaled, np.array([3, 6])) == pytest.approx(share, abs=1e-4)
    # Two labels: their share alone, to the last bit.
    assert sparse_share(scores, np.array([1, 1])) == 0.5
    assert sparse_share(-scores, np.array([6, 3])) == pytest.approx(1.0 - share, abs=0.01)
    assert sparse_share(np.zeros(7), np.array([1, 3])) == shrunken_shares(np.array([1, 3]))[1]
    copies = np.repeat([0.0, 1.0], [900, 100])  # one gap, however unlikely its share
    for counts in ([8, 2], [900, 100], [9 * 10**5, 10**5]):
        assert sparse_share(copies, np.array(counts)) == pytest.approx(0.1)
    for few in ([0.0], [0.0, 1.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 5.0]):
        assert 0.0 <= sparse_share(np.array(few), np.array([1, 1])) <= 1.0
        assert 0.0 <= sparse_share(np.array(few), np.array([1, 0])) <= 1.0


@pytest.mark.parametrize("counts", [(18, 2), (9, 1), (2, 18), (10, 10), (300, 20), (1, 1)])
@pytest.mark.parametrize("positive", [10, 300, 700, 990])
def test_no_gap_draws_the_share_out_of_the_interval_of_the_labels(counts, positive):
    rng = np.random.default_rng(0)
    scores = np.r_[rng.normal(-1, 0.2, 1000 - positive), rng.normal(1, 0.2, positive)]
    low, high = beta(counts[1] + 2, counts[0] + 2).ppf([0.025, 0.975])
    share = sparse_share(scores, np.array(counts))
    assert low <= share <= high
    if counts == (18, 2) and positive == 700:  # the gap leaves 0.7 above
        assert share == pytest.approx(high)


@pytest.mark.parametrize("unit", [None, 1.0])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.73])
def test_cut_leaves_the_share_above(share, unit):
    scores = np.random.default_rng(0).standard_normal(200)
    assert np.mean(scores > cut(scores, share, unit=unit)) == pytest.approx(share, abs=1 / 200)


@pytest.mark.parametrize("unit", [None, 1.0])
def test_copies_stay_together_and_no_side_is_empty(unit):
    scores = np.array([0.0] * 3 + [1.0] * 97) + 1e-14 * np.arange(100)
    for share in (0.0, 0.5, 0.9, 1.0):
        assert np.count_nonzero(scores > cut(scores, share, unit=unit)) == 97
    assert cut(np.ones(5), 0.5, unit=unit) == 0.0


def test_copies_are_told_by_the_range_or_by_a_unit():
    tiny, far = 1e-12 * np.arange(4.0), 1e12 + np.array([0.0, 0.0, 1.0, 1.0])
    assert cut(tiny, 0.5) == pytest.approx(1.5e-12)
    assert cut(tiny, 0.5, unit=1.0) == 0.0
    assert cut(far, 0.5) == 1e12 + 0.5
    assert cut(far, 0.5, unit=1.0) == 0.0


def test_scores_of_the_other_sign_are_cut_at_the_same_place():
    rng = np.random.default_rng(0)
    for n in (5, 6, 9):
        for share in (0.3, 0.5, 0.5 + 0.5 / n, 0.5 / n):  # the last two lie half-way between two places
            scores = rng.standard_normal(n)
            assert cut(-scores, 1.0 - share) == pytest.approx(-cut(scores, share), abs=1e-15)


def test_of_two_cuts_that_are_alike_but_for_rounding_the_upper_one_is_taken():
    scores = np.repeat([-1.0, 0.0, 1.0], [2, 16, 2])
    for shift in (1e-16, -1e-16, 0.0):
        assert cut(scores + np.where(scores == 0, shift, 0.0), 0.5) == pytest.approx(0.5)
