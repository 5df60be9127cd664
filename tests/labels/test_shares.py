"""Shares against numerical integration, thresholds and balanced decisions against counting."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import beta, gaussian_kde
from sklearn.base import clone

import specmargin as sm
from specmargin.kernels import RBF
from specmargin.labels.shares import (
    Balance,
    credible_shares,
    cut,
    in_force,
    shrunken_cut,
    shrunken_shares,
    sparse_share,
)


def test_shares_by_hand():
    np.testing.assert_allclose(shrunken_shares(np.array([3.0, 0.0, 1.0])), np.array([5, 2, 3]) / 10)
    np.testing.assert_allclose(shrunken_shares(np.array([3, 1]), 1.0), np.array([4, 2]) / 6)


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


def labels_of(*counts, n=1000):
    known = np.repeat(np.arange(len(counts)), counts)
    return sm.encode_labels(np.concatenate([known, np.full(n - len(known), -1)]))


@pytest.mark.parametrize("counts", [(1, 1), (2, 8), (5, 5), (3, 17), (60, 40), (700, 200)])
def test_the_cut_leaves_the_shrunken_share_above(rng, counts):
    labels, l = labels_of(*counts), sum(counts)
    assert labels.counts.tolist() == list(counts)
    for f in (rng.normal(size=1000), rng.normal(size=1000) - 3.0, rng.exponential(size=1000) - 0.2):
        s, A = sparse_share(f, np.array(counts)), min(1.0, 20.0 / l)
        share = A * s + (1 - A) * np.mean(f > 0)
        balanced = Balance.of(f, labels, "shrunk")
        above = np.mean(balanced(f) > 0)
        assert above == pytest.approx(share, abs=0.001)
        np.testing.assert_allclose(balanced(f), f - shrunken_cut(f, labels), rtol=0, atol=0)
        # No decision lies at the cut: the class of none of them is one of rounding.
        assert np.abs(balanced(f)).min() > 0


def test_equal_decisions_stay_together_and_both_classes_are_named():
    labels = labels_of(3, 3, n=100)
    f = np.repeat([-0.5, -0.4, 0.9], [5, 90, 5]) + 1e-14 * np.arange(100)
    above = f > shrunken_cut(f, labels)
    assert above.sum() in (5, 95)
    assert len(set(above[5:95])) == 1
    skewed = labels_of(900, 1, n=1000)
    assert np.sum(np.linspace(-2, -1, 1000) > shrunken_cut(np.linspace(-2, -1, 1000), skewed)) == 1
    for constant in (-3.0, 0.0, 2.0):
        assert shrunken_cut(np.full(1000, constant), skewed) == 0.0


def test_it_moves_with_scale_and_place_of_the_decisions(rng):
    labels, f = labels_of(4, 6), rng.normal(size=1000)
    cut = shrunken_cut(f, labels)
    assert shrunken_cut(f + 7.0, labels) == pytest.approx(cut + 7.0)
    for scale in (1e-8, 1e8):
        assert shrunken_cut(scale * f, labels) == pytest.approx(scale * cut)


def test_with_several_classes_it_is_the_z_score(rng):
    f = rng.normal(size=(1000, 3)) * [1.0, 2.0, 3.0]
    for counts, rule in (((5, 5, 5), "zscore"), ((20, 1, 1), None)):
        labels = labels_of(*counts)
        assert in_force("shrunk", labels) == rule
        expected = (f - f.mean(axis=0)) / f.std(axis=0) if rule else f
        np.testing.assert_allclose(Balance.of(f, labels, "shrunk")(f), expected, atol=1e-12)
    assert in_force("shrunk", labels_of(20, 1)) == "shrunk"


@pytest.mark.parametrize(
    "clf",
    [sm.LapSVM(), sm.LapRLS(), sm.LabelSearch(sm.LapRLS()), sm.LabelSearch(sm.LapSVM()), sm.SpectralRidge()],
    ids=repr,
)
def test_a_rare_class_keeps_its_share(clf):
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(size=(240, 2)), rng.normal(size=(60, 2)) + 4.0])
    truth = np.repeat([0, 1], [240, 60])
    y = np.full(300, -1)
    y[:8], y[240:242] = 0, 1
    if "grid" in clf.get_params():
        kernels = [RBF("0.5 median"), RBF("median")]
        grid = {"kernel": kernels, "graph": [5], "laplacian__power": [1], "gamma_I": ["100 gamma_A"]}
        clf = clone(clf).set_params(grid=grid, estimator__class_balance="shrunk").fit(X, y)
    else:
        clf = clone(clf).set_params(class_balance="shrunk").fit(X, y)
    assert np.mean(clf.transduction_ == 1) == pytest.approx(60 / 300, abs=2 / 300)  # 4 / 14 by the labels alone
    np.testing.assert_array_equal(clf.predict(X), clf.transduction_)
    # The cut is kept for new samples, wherever they lie.
    assert clf.predict(X[truth == 1]).mean() == clf.transduction_[truth == 1].mean()
    f = clf.result_.variables["f"]
    np.testing.assert_allclose(
        clf.scores_, np.asarray(f) - shrunken_cut(np.asarray(f), sm.encode_labels(y)), atol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("STORM", {}),
        ("STORM", {"graph": [5, 10]}),
        ("STOAM", {}),
        ("KTA", {}),
        ("SpectralGraphTransducer", {}),
        ("XuSpectralSVM", {}),
    ],
    ids=str,
)
def test_over_a_spectrum_every_rule_is_offered(name, params):
    X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.13, random_state=3)
    y = sm.hide_labels(truth, per_class=4, random_state=3)
    cls = getattr(sm, name)
    assert cls().class_balance == "shrunk"
    plain = cls(class_balance=None, **params).fit(X, y)
    assert plain.balance_.is_identity
    f, labels = plain.scores_, sm.encode_labels(y)
    for rule in ("shrunk", "zscore", "mass"):
        clf = cls(class_balance=rule, **params).fit(X, y)
        np.testing.assert_allclose(clf.scores_, Balance.of(f, labels, rule)(f), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(clf.predict(X), clf.transduction_)
        # New samples: the balanced mean of their neighbours' decisions is the mean of the balanced ones.
        new = X[:9] + 0.05
        expected = clf.balance_(plain.decision_function(new))
        np.testing.assert_allclose(clf.decision_function(new), expected, rtol=0, atol=1e-9)


# Known shares


@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.82])
def test_known_shares_of_two_classes_are_those_of_the_predictions(rng, share):
    labels = labels_of(3, 4)
    for f in (rng.normal(size=1000), rng.exponential(size=1000) + 2.0):
        balanced = Balance.of(f, labels, {0: 1.0 - share, 1: share})(f)
        assert np.mean(balanced > 0) == pytest.approx(share, abs=1e-9)
        np.testing.assert_allclose(np.diff(balanced), np.diff(f), atol=1e-12)


def test_an_interval_moves_the_threshold_to_its_nearer_end_or_not_at_all(rng):
    labels, f = labels_of(3, 4), rng.normal(size=1000) - 0.5  # a share of 0.31 above 0
    above = np.mean(f > 0)
    for low, high, wanted in ((0.2, 0.4, above), (0.4, 0.6, 0.4), (0.05, 0.2, 0.2)):
        for given in ({0: (0.0, 1.0), 1: (low, high)}, {0: (1.0 - high, 1.0 - low), 1: (0.0, 1.0)}):
            assert np.mean(Balance.of(f, labels, given)(f) > 0) == pytest.approx(wanted, abs=1e-9)
    assert Balance.of(f, labels, {0: (0.6, 0.8), 1: (0.2, 0.4)}).is_identity


def test_each_of_several_classes_has_its_share_above_its_threshold(rng):
    labels, shares = labels_of(3, 4, 5), {0: 0.2, 1: 0.5, 2: 0.3}
    f = rng.normal(size=(1000, 3)) * [1.0, 2.0, 0.5] - 1.0
    np.testing.assert_allclose((Balance.of(f, labels, shares)(f) > 0).mean(axis=0), [0.2, 0.5, 0.3], atol=1e-9)
    # Where each sample lies above one threshold, predictions have the shares.
    truth = rng.permutation(np.repeat([0, 1, 2], [200, 500, 300]))
    f = np.where(truth[:, None] == np.arange(3), 0.1, -1.0) + 0.05 * rng.random((1000, 3)) + [0.7, 0.0, -0.3]
    codes = Balance.of(f, labels, shares)(f).argmax(axis=1)
    np.testing.assert_array_equal(codes, truth)


@pytest.mark.parametrize(
    ("cls", "params"),
    [
        (sm.LapSVM, {"gamma_A": 0.01, "gamma_I": 1.0, "kernel": RBF(4.0)}),
        (sm.LapRLS, {"gamma_A": 0.01, "gamma_I": 1.0, "kernel": RBF(4.0)}),
        (sm.SpectralRidge, {"penalty": 0.1}),
        (sm.STORM, {"C": 1.0}),
    ],
)
@pytest.mark.filterwarnings("error::specmargin.exceptions.ClassShareWarning")
def test_known_shares_of_fits(cls, params, tmp_path):
    X, truth = sm.datasets.make_two_moons(n_samples=100, noise=0.1, random_state=0)
    y = np.array(["a", "b", "?"])[sm.hide_labels(truth, per_class=3, unlabeled=2, random_state=0)]
    clf = cls(class_balance={"a": 0.3, "b": (0.7, 0.9)}, unlabeled="?", **params).fit(X, y)
    assert np.mean(clf.transduction_ == "b") == pytest.approx(0.7, abs=0.02)
    # New samples are compared with the same thresholds.
    offset = clf.balance_.offset
    np.testing.assert_allclose(clf.decision_function(X + 0.01) - offset, plain_at(cls, params, X, y), atol=1e-9)
    sm.save(clf, tmp_path / "clf.npz")
    again = sm.load(tmp_path / "clf.npz")
    assert again.get_params()["class_balance"] == clf.class_balance
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))


def plain_at(cls, params, X, y):
    return cls(class_balance=None, unlabeled="?", **params).fit(X, y).decision_function(X + 0.01)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({0: 0.5, 1: 0.4}, "their sum is 0.9, which is never 1"),
        ({0: (0.6, 0.7), 1: (0.5, 1.0)}, "their sum is from 1.1 to 1.7"),
        ({0: (0.1, 0.3), 1: (0.0, 0.6)}, "from 0.1 to 0.9, which is never 1"),
        ({0: 0.5, 2: 0.5}, r"names the classes \[0, 2\], but the labels are of \[0, 1\]"),
        ({1: 1.0}, "names the classes"),
        ({0: 1.5, 1: -0.5}, "must be"),
        ({0: (0.7, 0.3), 1: 0.5}, "are no shares from 0 to 1"),
        ({0: (0.1, 0.2, 0.3), 1: 0.5}, "are no shares"),
        ({0: "half", 1: 0.5}, r"class_balance\[0\]='half'"),
        ({0: 1.0, 1: 0.0}, "are no shares from 0 to 1"),
    ],
)
def test_shares_that_cannot_be_are_refused(shares, words):
    X, truth = sm.datasets.make_two_moons(n_samples=40, noise=0.1, random_state=0)
    y = sm.hide_labels(truth, per_class=3, random_state=0)
    for clf in (sm.LapRLS(class_balance=shares), sm.SpectralRidge(class_balance=shares)):
        with pytest.raises((ValueError, TypeError), match=words):
            clf.fit(X, y)


def test_false_labels_under_known_shares():
    X, truth = sm.datasets.make_two_moons(n_samples=40, noise=0.1, random_state=0)
    y = sm.hide_labels(truth, per_class=3, random_state=0)
    clf = sm.SpectralRidge(penalty=0.1, class_balance={0: 0.4, 1: 0.6}).fit(X, y)
    robust, first = clf.label_robustness(max_flips=1), np.full(40, 2)
    for i in np.flatnonzero(y >= 0):
        moved = np.where(np.arange(40) == i, 1 - y, y)
        first[sm.SpectralRidge(**clf.get_params(deep=False)).fit(X, moved).transduction_ != clf.transduction_] = 1
    np.testing.assert_array_equal(robust.radius, first)
