"""Tasks of the S3VM experiments: restricted splits, units, features against their definitions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import specmargin as sm
from specmargin.experiments import tasks as common
from specmargin.papers import _chapelle_tasks as tasks
from specmargin.papers._chapelle_tasks import Representation


def samples(name):
    return common.samples(tasks.task_named(name))


def splits(name):
    return common.splits(tasks.task_named(name))


@pytest.fixture
def made(monkeypatch, rng):
    """Let every set be 60 samples of six classes with two published splits."""
    y = np.arange(60) % 6
    X = rng.normal(size=(60, 5))
    rows = np.array([rng.permutation(60)[:24] for _ in range(2)])
    dataset = SimpleNamespace(name="made", X=X, y=y, labeled_idx=rows, classes=np.arange(6))
    caches = (common._dataset, common.samples, common.splits, tasks.features)
    for cache in caches:
        cache.cache_clear()
    monkeypatch.setattr(common, "load", lambda *args, **kwargs: dataset)
    yield dataset
    for cache in caches:
        cache.cache_clear()


def test_pair_leaves_other_classes_out_of_both_parts(made):
    X, y, *_ = samples("made 1-4")
    rows = np.flatnonzero(np.isin(made.y, (1, 4)))
    np.testing.assert_array_equal(X, made.X[rows])
    np.testing.assert_array_equal(y, made.y[rows] == 4)
    found = splits("made 1-4")
    assert list(found) == ["published-00", "published-01"]
    for row, split in zip(made.labeled_idx, found.values(), strict=True):
        assert set(rows[split.labeled]) == set(row) & set(rows)
        assert set(rows[split.unlabeled]) == set(rows) - set(row)


def test_halves_and_whole_keep_all_samples(made):
    assert samples("made")[1].tolist() == made.y.tolist()
    assert samples("made halves")[1].tolist() == (made.y > 2).tolist()
    assert len(splits("made halves")["published-00"].train) == 60


def test_task_with_a_number_of_samples_draws_its_own_labels(made):
    X, y, *_ = samples("made 0-1 n=14")
    assert (X.shape, sorted(set(y.tolist()))) == ((14, 5), [0, 1])
    made.y[:] = np.arange(60) % 2
    common.samples.cache_clear()
    found = splits("made 0-1 n=50")
    y = samples("made 0-1 n=50")[1]
    assert len(found) == tasks.N_SPLITS
    assert all(len(split.labeled) == 20 == 2 * y[split.labeled].sum() for split in found.values())


@pytest.mark.parametrize("task", ["made 1", "made 1-1", "made a-b", "made 1-2 m=3", "made 1-2 n=x"])
def test_unknown_task(made, task):
    with pytest.raises(ValueError, match="there is no task"):
        samples(task)


def test_classes_that_the_set_lacks_are_refused(made):
    with pytest.raises(ValueError, match=r"'made 1-9' keeps the classes \(1, 9\); take some"):
        samples("made 1-9")


def test_sets_without_published_splits_have_two_labels_per_class():
    y = samples("digits 3-8")[1]
    found = splits("digits 3-8")
    assert len(found) == 10
    for split in found.values():
        assert np.bincount(y[split.labeled]).tolist() == [2, 2]
    labels = common.labels_of(y, next(iter(found.values())).labeled)
    np.testing.assert_array_equal(labels.sign, 2 * y[labels.labeled] - 1)


def test_widths_of_coil_are_in_grey_values(made):
    np.testing.assert_array_equal(samples("coil20 0-1")[0], 255 * samples("made 0-1")[0])


def test_pairs_are_the_papers():
    assert (len(tasks.pairs("uspst", 10)), len(tasks.pairs("coil20", 20))) == (45, 190)
    assert tasks.pairs("uspst", 10, 22) == ["uspst 0-1", "uspst 2-8", "uspst 8-9"]


def test_features_have_the_kernel_as_inner_products(made, tol):
    K = np.exp(-cdist(samples("made 0-3")[0], samples("made 0-3")[0], "sqeuclidean") / (2 * 1.7**2))
    Z = tasks.features("made 0-3", Representation(1.7))
    np.testing.assert_allclose(Z @ Z.T, K, atol=tol["linalg"])
    np.testing.assert_allclose(tasks.features("made 0-3", Representation(1.7, rank=4)), Z[:, :4], atol=tol["linalg"])
    some = tasks.features("made 0-3", Representation(1.7, landmarks=6))
    assert some.shape == (20, 6)
    gap = K - some @ some.T
    # Nystroem: exact at the landmarks, below K everywhere.
    assert np.linalg.eigvalsh(gap).min() > -tol["linalg"]
    assert np.isclose(np.diag(gap), 0, atol=tol["linalg"]).sum() == 6
    np.testing.assert_array_equal(tasks.features("made 0-3", Representation()), samples("made 0-3")[0])


def test_graph_deforms_the_kernel(made, monkeypatch, tol):
    monkeypatch.setitem(tasks.GRAPHS, "made", {"n_neighbors": 4, "power": 2})
    X = samples("made 0-3")[0]
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 1.7**2))
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=4, weight="heat"), normalized=True).toarray()
    Z = tasks.features("made 0-3", Representation(1.7, graph=5.0))
    expected = np.linalg.inv(np.linalg.inv(K) + 5.0 * L @ L)
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("representation", "message"),
    [
        (Representation(rank=3), "need a kernel"),
        (Representation(landmarks=3), "need a kernel"),
        (Representation(1.0, graph=1.0), "no graph is known"),
        (Representation(1.0, rank=3, landmarks=3), "neither a rank nor a graph"),
    ],
)
def test_impossible_features(made, representation, message):
    with pytest.raises(ValueError, match=message):
        tasks.features("made 0-1", representation)
