"""The text of a diagnosis: its length, and its numbers are those of the record."""

import numpy as np

import specmargin as sm


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
