"""The shrunken share, its credible interval, and the cut: against numerical integration and counting."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

import specmargin as sm
from specmargin.estimators._class_balance import (
    Balance,
    credible_shares,
    in_force,
    label_counts,
    shrunken_cut,
    shrunken_shares,
)


def labels_of(*counts, n=1000):
    known = np.repeat(np.arange(len(counts)), counts)
    return sm.encode_labels(np.concatenate([known, np.full(n - len(known), -1)]))


@pytest.mark.parametrize("counts", [(1, 1), (2, 8), (5, 5), (3, 17), (60, 40), (700, 200)])
def test_the_cut_leaves_the_shrunken_share_above(rng, counts):
    labels, l = labels_of(*counts), sum(counts)
    assert label_counts(labels).tolist() == list(counts)
    for f in (rng.normal(size=1000), rng.normal(size=1000) - 3.0, rng.exponential(size=1000) - 0.2):
        s, A = (counts[1] + 2) / (l + 4), min(1.0, 10.0 / l)
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


@pytest.mark.parametrize("counts", [(1, 1), (0 + 3, 9), (50, 10), (2, 3, 5), (1, 1, 1, 40)])
def test_shares_and_intervals_are_those_of_the_posterior(counts):
    labels, K, l = labels_of(*counts), len(counts), sum(counts)
    shares, (low, high) = shrunken_shares(labels), credible_shares(labels)
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


def test_with_several_classes_it_is_the_z_score(rng):
    f = rng.normal(size=(1000, 3)) * [1.0, 2.0, 3.0]
    for counts, rule in (((5, 5, 5), "zscore"), ((20, 1, 1), None)):
        labels = labels_of(*counts)
        assert in_force("shrunk", labels) == rule
        expected = (f - f.mean(axis=0)) / f.std(axis=0) if rule else f
        np.testing.assert_allclose(Balance.of(f, labels, "shrunk")(f), expected, atol=1e-12)
    assert in_force("shrunk", labels_of(20, 1)) == "shrunk"


@pytest.mark.parametrize("cls", [sm.LapSVM, sm.LapRLS, sm.LapRLSCV, sm.LapSVMCV, sm.SpectralRidge])
def test_a_rare_class_keeps_its_share(cls):
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(size=(240, 2)), rng.normal(size=(60, 2)) + 4.0])
    truth = np.repeat([0, 1], [240, 60])
    y = np.full(300, -1)
    y[:8], y[240:242] = 0, 1
    clf = cls(class_balance="shrunk").fit(X, y)
    assert np.mean(clf.transduction_ == 1) == pytest.approx(4 / 14, abs=1 / 300)
    np.testing.assert_array_equal(clf.predict(X), clf.transduction_)
    # The cut is kept for new samples, wherever they lie.
    assert clf.predict(X[truth == 1]).mean() == clf.transduction_[truth == 1].mean()
    f = clf.result_.variables["f"]
    np.testing.assert_allclose(
        clf.scores_, np.asarray(f) - shrunken_cut(np.asarray(f), sm.encode_labels(y)), atol=1e-12
    )
