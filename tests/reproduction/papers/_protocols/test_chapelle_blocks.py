"""Tasks, features, cells and v* of the S3VM experiments on published splits: against their definitions."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import specmargin as sm
from reproduction import tasks as common
from reproduction.data import load
from reproduction.engine.records import Cell
from reproduction.methods import decide
from reproduction.papers._protocols import chapelle_blocks as blocks
from reproduction.papers._protocols.s3vm_methods import Setting, fit
from reproduction.papers.chapelle_2006 import ContinuationBlock
from specmargin.kernels.maps import kernel_map
from specmargin.objectives.s3vm import S3VM
from specmargin.solvers.s3vm.continuation import continuation, smoothing_path

DIGITS = ContinuationBlock("t", "digits", ("digits 3-8",), ("cs3vm",), sigma=20.0, C=10.0, C_star=1.0)


def samples(name):
    return common.samples(blocks.task_named(name))


def splits(name):
    return common.splits(blocks.task_named(name))


@pytest.fixture
def made(monkeypatch, rng):
    """Let every set be 60 samples of six classes with two published splits."""
    y = np.arange(60) % 6
    X = rng.normal(size=(60, 5))
    rows = np.array([rng.permutation(60)[:24] for _ in range(2)])
    dataset = SimpleNamespace(name="made", X=X, y=y, labeled_idx=rows, classes=np.arange(6))
    caches = (common._dataset, common.samples, common.splits, common.task_laplacian, blocks.features, blocks.task_named)
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
    drawn = splits("made 1-4")
    assert list(drawn) == ["published-00", "published-01"]
    for row, split in zip(made.labeled_idx, drawn.values(), strict=True):
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
    drawn = splits("made 0-1 n=50")
    y = samples("made 0-1 n=50")[1]
    assert len(drawn) == blocks.N_SPLITS
    assert all(len(split.labeled) == 20 == 2 * y[split.labeled].sum() for split in drawn.values())


@pytest.mark.parametrize("task", ["made 1", "made 1-1", "made a-b", "made 1-2 m=3", "made 1-2 n=x"])
def test_unknown_task(made, task):
    with pytest.raises(ValueError, match="there is no task"):
        samples(task)


def test_classes_that_the_set_lacks_are_refused(made):
    with pytest.raises(ValueError, match=r"'made 1-9' keeps the classes \(1, 9\); take some"):
        samples("made 1-9")


def test_sets_without_published_splits_have_two_labels_per_class():
    y = samples("digits 3-8")[1]
    drawn = splits("digits 3-8")
    assert len(drawn) == 10
    for split in drawn.values():
        assert np.bincount(y[split.labeled]).tolist() == [2, 2]
    labels = common.labels_of(y, next(iter(drawn.values())).labeled)
    np.testing.assert_array_equal(labels.sign, 2 * y[labels.labeled] - 1)


def test_widths_of_coil_are_in_grey_values(made):
    np.testing.assert_array_equal(samples("coil20 0-1")[0], 255 * samples("made 0-1")[0])


def test_pairs_are_the_papers():
    assert (len(blocks.pairs("uspst", 10)), len(blocks.pairs("coil20", 20))) == (45, 190)
    assert blocks.pairs("uspst", 10, 22) == ("uspst 0-1", "uspst 2-8", "uspst 8-9")


def test_features_have_the_kernel_as_inner_products(made, tol):
    K = np.exp(-cdist(samples("made 0-3")[0], samples("made 0-3")[0], "sqeuclidean") / (2 * 1.7**2))
    Z = blocks.features("made 0-3", sigma=1.7)
    np.testing.assert_allclose(Z @ Z.T, K, atol=tol["linalg"])
    np.testing.assert_allclose(blocks.features("made 0-3", sigma=1.7, rank=4), Z[:, :4], atol=tol["linalg"])
    some = blocks.features("made 0-3", sigma=1.7, landmarks=6)
    assert some.shape == (20, 6)
    gap = K - some @ some.T
    # Nystroem: exact at the landmarks, below K everywhere.
    assert np.linalg.eigvalsh(gap).min() > -tol["linalg"]
    assert np.isclose(np.diag(gap), 0, atol=tol["linalg"]).sum() == 6
    np.testing.assert_array_equal(blocks.features("made 0-3"), samples("made 0-3")[0])


def test_graph_deforms_the_kernel(made, monkeypatch, tol):
    monkeypatch.setitem(blocks.GRAPHS, "made", (4, 2))
    X = samples("made 0-3")[0]
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 1.7**2))
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=4, weight="heat"), normalized=True).toarray()
    Z = blocks.features("made 0-3", sigma=1.7, graph=5.0)
    expected = np.linalg.inv(np.linalg.inv(K) + 5.0 * L @ L)
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 3}, "need a kernel"),
        ({"landmarks": 3}, "need a kernel"),
        ({"sigma": 1.0, "graph": 1.0}, "no graph is known"),
        ({"sigma": 1.0, "rank": 3, "landmarks": 3}, "neither a rank nor a graph"),
    ],
)
def test_impossible_features(made, options, message):
    with pytest.raises(ValueError, match=message):
        blocks.features("made 0-1", **options)


def test_row_is_the_solvers_answer(tol):
    row = blocks.work(DIGITS.cells()[0])
    X, y = load("digits").X, load("digits").y
    kept = np.flatnonzero((y == 3) | (y == 8))
    X, y = X[kept], (y[kept] == 8).astype(int)
    labels = common.labels_of(y, next(iter(splits("digits 3-8").values())).labeled)
    Z = kernel_map(sm.kernels.gram(X, gamma=1 / 800)).Z
    result = continuation(S3VM(Z, labels, "hinge", "exp", C=10.0, C_star=1.0))
    wrong = (result.variables["labels"] > 0) != (y[labels.unlabeled] == 1)
    assert row["error_unlabeled"] == pytest.approx(100 * wrong.mean())
    # With the mean decision balanced the common objective is the method's own.
    assert row["objective"] == pytest.approx(result.certificate.primal_objective, rel=tol["objective"])
    assert row["ended"] == "stationary"
    assert 0 < row["stationarity"] <= 1e-4
    assert row["features"] == Z.shape[1]


def test_exact_ratio_is_that_of_the_hidden_labels():
    cells = {exact: replace(DIGITS, methods=("grad_s3vm",), exact=exact).cells()[0] for exact in (False, True)}
    plain, exact = (blocks.work(cell) for cell in cells.values())
    assert "error_unshifted" not in plain
    assert exact["objective"] != plain["objective"]  # another balance
    y, split = samples("digits 3-8").y, splits("digits 3-8")[cells[True].split]
    share = np.mean(y[split.unlabeled] == 1)
    labels = common.labels_of(y, split.labeled)
    fitted = fit("grad_s3vm", blocks.features("digits 3-8", 20.0), labels, Setting(10.0, 1.0, (2 * share - 1,)))
    f, hidden = fitted.f[split.unlabeled], y[split.unlabeled]
    assert exact["error_unshifted"] == 100 * np.mean(decide(f) != hidden)
    assert exact["error_unlabeled"] == 100 * np.mean(decide(f, np.array([share])) != hidden)
    np.testing.assert_allclose(blocks._shares(np.array([1, 1, 0, 1]), 2), [0.75])
    np.testing.assert_allclose(blocks._shares(np.array([2, 1, 0, 1]), 3), [0.25, 0.5, 0.25])


def test_cells_of_equal_settings_are_one():
    first = DIGITS.cells()[0]
    assert first == replace(DIGITS, title="other", tuning="x").cells()[0] == Cell(**first.to_dict())
    assert replace(DIGITS, C_star=2.0).cells()[0] != first


def test_v_star_is_the_leading_eigenvector_of_m(rng):
    A = rng.normal(size=(40, 6)) * np.array([3.0, 2.0, 1.0, 1.0, 0.5, 0.1])
    A -= A.mean(axis=0)
    M = sum(np.outer(x, x) / np.linalg.norm(x) ** 3 for x in A)
    v, p = blocks.directions(np.vstack([A, np.zeros(6)]))
    for direction, matrix in ((v, M), (p, A.T @ A)):
        top = np.linalg.eigh(matrix)[1][:, -1]
        assert abs(direction @ top) == pytest.approx(1.0, abs=1e-9)
    assert abs(v @ p) < 1 - 1e-6


def test_at_gamma_0_the_smoothed_objective_is_flat_along_v_star(rng):
    """With C* alone the smallest eigenvalue of the Hessian at w = 0 is at v*, and it is what gamma_0 promises."""
    X = rng.normal(size=(60, 5)) * np.array([4.0, 1.0, 1.0, 0.5, 0.5])
    labels = sm.encode_labels(np.where(np.arange(60) < 2, np.arange(60) % 2, -1))
    obj = S3VM(X, labels, "hinge", "exp", C=1e-9, C_star=30.0, balance=0.0)
    H = obj.smoothed(float(smoothing_path(obj)[0])).hessian(np.zeros(5))
    values, vectors = np.linalg.eigh(H)
    v, _ = blocks.directions(obj.features.dense()[obj.unlabeled])
    assert values[0] >= 0
    assert abs(vectors[:, 0] @ v) > 0.9


def test_a_row_holds_the_split_along_v_star():
    cell = replace(DIGITS, tasks=("digits 0-1",), methods=(blocks.DIRECTION,), C_star=10.0).cells()[0]
    row = blocks.work(cell)
    assert row["error_unlabeled"] < 10
    assert row["cosine_principal"] > 0.9
    assert 0 <= row["cosine_end"] <= 1
    X, y, split = blocks.features(cell.dataset, 20.0), samples(cell.dataset).y, splits(cell.dataset)[cell.split]
    labels = common.labels_of(y, split.labeled)
    fitted = blocks.along_direction(X, labels, Setting(10.0, 10.0))
    f = fitted.f[:, 0]
    np.testing.assert_allclose(f, X @ fitted.v[:, 0] + fitted.b, atol=1e-9)
    assert f[split.unlabeled].mean() == pytest.approx(0.0, abs=1e-9)
    assert ((2 * y - 1) * f)[split.labeled].sum() > 0
