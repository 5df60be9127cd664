"""`diagnose` end to end: kinds of input, JSON, size, and that nothing of the input is changed."""

import json
import time
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.graphs import knn_graph


def moons(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.1, random_state=0)
    return X, sm.hide_labels(truth, per_class=12, random_state=0)


def numbers(d: sm.Diagnosis) -> dict[str, object]:
    parts = d.to_dict()
    for name in ("label_counts", "columns", "n_neighbors"):
        parts.pop(name)
    return parts


def test_json_and_frozen() -> None:
    d = sm.diagnose(*moons())
    back = json.loads(json.dumps(d.to_dict(), allow_nan=False))
    assert back["evidence"]["graph"]["error"] == d.evidence.graph.error
    assert back["label_counts"] == {"0": 12, "1": 12}
    assert "embedding" not in back
    assert repr(d).startswith("Diagnosis(n_samples=120, n_labeled=24, label_counts={0: 12, 1: 12}")
    with pytest.raises(FrozenInstanceError):
        d.verdict = "none"


def test_other_spellings_of_the_same_data_tell_the_same() -> None:
    X, y = moons()
    expected = numbers(sm.diagnose(X, y))
    names = np.array(["?", "cat", "dog"])[y + 1]
    for other in (
        sm.diagnose(X.tolist(), names, unlabeled="?"),
        sm.diagnose(X, np.where(y < 0, np.nan, y), unlabeled=np.nan),
    ):
        assert numbers(other) == expected
    sparse = sm.diagnose(sp.csr_matrix(X), y)
    assert sparse.verdict == expected["verdict"]
    assert sparse.edges == sm.diagnose(X, y).edges


def test_given_graph_with_and_without_features() -> None:
    X, y = moons()
    own, W = sm.diagnose(X, y), knn_graph(X, 10)
    given = sm.diagnose(X, y, graph=W)
    assert given.n_neighbors is None
    assert given.degrees.counted == "degree"
    for name in ("edges", "nearest", "evidence", "gap", "connectivity", "verdict"):
        assert getattr(given, name) == getattr(own, name)
    alone = sm.diagnose(None, y, graph=W.toarray())
    assert (alone.columns, alone.distances, alone.nearest.n_pairs) == (None, None, 0)
    assert alone.evidence is not None
    assert own.evidence is not None
    assert alone.evidence.graph == own.evidence.graph
    assert alone.verdict == "manifold"
    assert "as given" in str(alone)


def test_distances_and_metrics() -> None:
    X, y = moons()
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    told = sm.diagnose(D, y, metric="precomputed")
    assert told.columns is None
    assert told.gap.eigenvalues == pytest.approx(sm.diagnose(X, y).gap.eigenvalues, abs=1e-9)
    assert told.verdict == "manifold"
    for metric in ("cityblock", "cosine", lambda a, b: float(np.abs(a - b).max())):
        assert sm.diagnose(X, y, metric=metric).verdict in ("manifold", "clusters", "none", "cannot tell")


def test_same_seed_same_numbers_and_input_untouched() -> None:
    X, y = moons()
    kept = X.copy(), y.copy()
    assert sm.diagnose(X, y, random_state=3).to_dict() == sm.diagnose(X, y, random_state=3).to_dict()
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])
    assert numbers(sm.diagnose(X * 1e8, y))["evidence"] == numbers(sm.diagnose(X, y))["evidence"]
    assert numbers(sm.diagnose(X * 1e-8, y))["gap"] == numbers(sm.diagnose(X, y))["gap"]


@pytest.mark.parametrize("X", [np.ones((5, 2)), np.zeros((6, 1)), np.arange(3.0)[:, None], np.repeat(np.eye(3), 4, 0)])
def test_small_and_alike_samples(X: np.ndarray) -> None:
    for y in (None, [0, 1] + [-1] * (len(X) - 2), [0, 1] * (len(X) // 2) + [0] * (len(X) % 2)):
        d = sm.diagnose(X, y)
        json.dumps(d.to_dict(), allow_nan=False)
        assert d.n_neighbors == min(10, len(X) - 1)
        assert d.verdict in str(d) or d.reason in str(d)


@pytest.mark.slow
def test_twenty_thousand_samples_take_less_than_a_minute() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, 20_000)
    X = rng.standard_normal((20_000, 100)) + 3.0 * rng.standard_normal((10, 100))[truth]
    start = time.process_time()
    d = sm.diagnose(X, sm.hide_labels(truth, per_class=20, random_state=0))
    assert time.process_time() - start < 60.0
    assert d.gap.n_clusters == 10
    assert d.verdict == "clusters"
