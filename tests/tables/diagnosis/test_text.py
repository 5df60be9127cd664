"""The text of a diagnosis: its length, and its numbers are those of the record."""

import re

import numpy as np
import pytest
from scipy.stats import binomtest

import specmargin as sm
from specmargin.tables.diagnosis.text import VERDICTS, judge


def test_fifteen_lines_with_the_numbers() -> None:
    X, truth = sm.datasets.make_two_moons(n_samples=150, noise=0.1, random_state=0)
    d = sm.diagnose(X, sm.hide_labels(truth, per_class=10, random_state=0))
    text = str(d)
    assert 10 <= len(text.splitlines()) <= 16
    assert text.splitlines()[0] == "150 samples in 2 columns, 20 labels (10 of 0, 10 of 1)"
    assert d.evidence is not None
    assert f"graph {d.evidence.graph.error:.0%}" in text
    assert f"{d.edges.share:.0%} of {d.edges.n_pairs} edges" in text
    assert f"behind {d.gap.n_clusters}" in text
    assert all(len(line) < 160 for line in text.splitlines())


def test_without_labels_or_features() -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    text = str(sm.diagnose(X))
    assert "no labels" in text
    assert "left-out" not in text
    assert "none between labels" in text
    many = str(sm.diagnose(X, np.arange(40) % 9))
    assert "of 3 more classes" in many


def test_pieces_and_advice_are_told() -> None:
    X = np.arange(12.0)[:, None] + 100.0 * (np.arange(12) > 5)[:, None]
    text = str(sm.diagnose(X, [0, 1] * 3 + [-1] * 6, n_neighbors=2))
    assert "2 components (6, 6), 1 without a label" in text
    assert "To do: label a sample in each of 1 components" in text
    assert "all are zero" in str(sm.diagnose(np.ones((8, 2))))


def moons(per_class: int) -> sm.Diagnosis:
    X, truth = sm.datasets.make_two_moons(n_samples=200, noise=0.05, random_state=0)
    return sm.diagnose(X, sm.hide_labels(truth, per_class=per_class, random_state=0))


def gaussians(distance: float, n_labeled: int, *, seed: int = 0, d: int = 10) -> sm.Diagnosis:
    rng = np.random.default_rng(seed)
    truth = np.arange(300) % 2
    X = rng.standard_normal((300, d))
    X[:, 0] += distance * truth
    return sm.diagnose(X, sm.hide_labels(truth, n_labeled=n_labeled, random_state=seed))


def test_moons_are_a_manifold() -> None:
    assert moons(15).verdict == moons(30).verdict == "manifold"


def test_two_gaussians_are_clusters() -> None:
    assert gaussians(8.0, 20, seed=1).verdict == gaussians(4.0, 60).verdict == "clusters"


def test_noise_is_none() -> None:
    rng, told = np.random.default_rng(0), []
    for _ in range(10):
        y = np.where(rng.permutation(200) < 60, rng.integers(0, 2, 200), -1)
        told.append(sm.diagnose(rng.standard_normal((200, 5)), y).verdict)
    assert told.count("none") >= 8


def test_linear_truth_without_clusters_needs_no_graph() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 20))
    truth = (X @ rng.standard_normal(20) > 0).astype(int)
    told = sm.diagnose(X, sm.hide_labels(truth, n_labeled=100, random_state=0))
    assert told.verdict == "none"
    assert "features alone" in told.reason


def test_few_labels_cannot_tell() -> None:
    few = moons(4)
    assert few.verdict == "cannot tell"
    assert "8 labels are too few" in few.reason
    assert "would show half" in gaussians(0.0, 14).reason
    X = np.random.default_rng(0).standard_normal((60, 3))
    single = np.full(60, -1)
    single[:20] = np.arange(20)  # every class has one label
    told = sm.diagnose(X, single)
    assert told.verdict == "cannot tell"
    assert "0 of 20 labels have another one of their class" in told.reason
    assert any("LapRLSRegressor" in one for one in told.advice)


def test_power_is_that_of_half_the_error_of_naming_one_class() -> None:
    """By random labels: of the error a quarter is common to both, and as much is of the better classifier alone."""
    told = gaussians(0.0, 14)
    named = re.search(r"14 labels would show half of the error .* with the probability (\S+) only", told.reason)
    assert named is not None
    error, rng = told.evidence.majority, np.random.default_rng(0)
    u = rng.random((40_000, 14))
    gains = ((u > error / 4) & (u < error)).sum(axis=1)
    losses = ((u > error) & (u < error + error / 4)).sum(axis=1)
    table = {
        (g, m): binomtest(int(g), int(m), alternative="greater").pvalue for m in range(1, 15) for g in range(m + 1)
    }
    shown = [m > 0 and table[g, m] < 0.05 for g, m in zip(gains, gains + losses, strict=True)]
    assert float(named[1]) == pytest.approx(np.mean(shown), abs=0.015)


def test_many_classes_of_few_labels_look_like_numbers() -> None:
    """Advised above half as many classes as labels: of twelve labels seven classes are, six are not."""
    X = np.random.default_rng(0).standard_normal((60, 3))
    for n_classes, advised in ((7, True), (6, False)):
        y = np.full(60, -1)
        y[:12] = np.arange(12) % n_classes
        assert any("LapRLSRegressor" in one for one in sm.diagnose(X, y).advice) == advised


def test_nothing_to_tell() -> None:
    X = np.random.default_rng(0).standard_normal((30, 2))
    assert sm.diagnose(X).reason == "there are no labels"
    one = sm.diagnose(X, [1] * 5 + [-1] * 25)
    assert one.reason == "all 5 labels are of one class"
    assert any("unlabeled=" in advice for advice in one.advice)
    alike = sm.diagnose(np.ones((30, 2)), [0, 1] * 8 + [-1] * 14)
    assert alike.verdict == "none"
    assert "alike" in alike.reason
    assert judge(None, 0, False)[0] in VERDICTS


def test_advice_names_every_flaw() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    X[:, 1] *= 1e4
    X[:, 2] = 3.0
    X[:, 4] = X[:, 3]
    X[7] = X[3]
    X[70:, 1] += 1e6  # apart, and without a label
    y = np.full(80, -1)
    y[:20] = np.arange(20) % 2
    y[3], y[7] = 0, 1
    advice = " | ".join(sm.diagnose(X, y, n_neighbors=5).advice)
    for text in (
        "scale the columns, unless all are in one unit: column 1",
        "1 constant",
        "1 columns that repeat",
        "labels of 2 samples",
    ):
        assert text in advice, advice
    assert "1 components without a label (10 samples)" in advice
    wide = sm.diagnose(rng.standard_normal((200, 400)))
    assert "principal components" in " ".join(wide.advice)
    assert sm.diagnose(*_plain()).advice == ()


def _plain() -> tuple[np.ndarray, np.ndarray]:
    X, truth = sm.datasets.make_two_moons(n_samples=100, random_state=0)
    return X, sm.hide_labels(truth, per_class=20, random_state=0)
