"""Tasks: which samples, which classes, which splits, and what is noted of missing data."""

from types import SimpleNamespace

import numpy as np
import pytest

from reproduction import tasks
from reproduction.tasks import (
    Task,
    available_tasks,
    is_available,
    missing_data,
    published_or_drawn_moons,
    random_draws,
    rbf,
    samples,
    splits,
)
from specmargin.datasets import make_two_moons

WHERE = (
    "by --data or SPECMARGIN_DATA. Where each set comes from, and which can be downloaded: "
    "python -m reproduction datasets list."
)


@pytest.fixture
def made(monkeypatch, rng):
    """Let every data set be 60 samples of the classes 0 to 5, the last 20 of them a test set, with two splits."""
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 6
    rows = np.array([rng.permutation(60)[:24] for _ in range(2)])
    whole = SimpleNamespace(name="made", X=X, y=y, labeled_idx=rows, extras={"n_train": 40}, sha256="abc")
    monkeypatch.setattr(tasks, "dataset", lambda source, data=None: whole)
    return whole


def test_classes_are_numbered_in_their_order(made):
    drawn = samples(Task("t", "made", (4, 1)))
    np.testing.assert_array_equal(drawn.rows, np.flatnonzero(np.isin(made.y, (1, 4))))
    np.testing.assert_array_equal(drawn.y, made.y[drawn.rows] == 1)
    np.testing.assert_array_equal(drawn.X, made.X[drawn.rows])
    np.testing.assert_array_equal(samples(Task("t", "made", "halves")).y, made.y >= 3)
    np.testing.assert_array_equal(samples(Task("t", "made")).y, made.y)
    for classes in ((1, 9), (2, 2)):
        with pytest.raises(ValueError, match="take some of its set's"):
            samples(Task("t", "made", classes))


def test_a_number_of_samples_is_random_or_the_first(made):
    first = samples(Task("t", "made", (0, 1), n=20, first=True))
    assert first.rows.tolist() == [0, 1, 6, 7, 12, 13, 18, 19]  # of the first 20 samples
    some = samples(Task("t", "made", (0, 1), n=9))
    assert len(some.rows) == 9
    assert (np.diff(some.rows) > 0).all()
    assert set(made.y[some.rows]) == {0, 1}
    assert some.rows.tolist() != np.flatnonzero(made.y < 2)[:9].tolist()
    with pytest.raises(ValueError, match="n=21, but t has 20 samples"):
        samples(Task("t", "made", (0, 1), n=21))


def test_units_and_a_fixed_test_set(made):
    drawn = samples(Task("t", "made", (0, 1), scale=lambda X: 2.0 * X, fixed_test=True))
    np.testing.assert_array_equal(drawn.X, 2.0 * made.X[drawn.rows])
    assert drawn.n_train == (drawn.rows < 40).sum()
    assert samples(Task("t", "made", (0, 1))).n_train is None


def test_splits_leave_out_what_the_task_leaves_out(made):
    task = Task("t", "made", (0, 1))
    rows = samples(task).rows
    for labeled, split in zip(made.labeled_idx, splits(task).values(), strict=True):
        assert set(rows[split.labeled]) == set(labeled) & set(rows)
        assert set(rows[split.train]) == set(rows)
    drawn = splits(Task("t", "made", draw=random_draws(12, 3, seed=5)))
    assert list(drawn) == [f"random12-seed5-0{i}" for i in range(3)]


def test_what_is_read_need_no_data_set():
    X, y = np.eye(4), np.array([0, 0, 1, 1])
    task = Task("t", "", read=lambda task, data: (X, y), draw=random_draws(2, 1), kernel=rbf(1.0))
    assert samples(task).X is X
    assert samples(task).n_train is None
    assert samples(Task("t", "", read=lambda task, data: (X, y, 3))).n_train == 3
    (split,) = splits(task).values()
    assert sorted(y[split.labeled]) == [0, 1]
    np.testing.assert_allclose(tasks.kernel_matrix(task), np.exp(-1.0) + (1 - np.exp(-1.0)) * np.eye(4))


def test_missing_data_are_named_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.delenv("SPECMARGIN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    real, bundled = Task("g", "g50c"), Task("d", "digits")
    assert missing_data([]) == []
    assert available_tasks([real, bundled], [], "", tmp_path) == (
        [bundled],
        [f"NOT AVAILABLE: g; name their folder {WHERE}"],
    )
    left, missing = available_tasks([real], [bundled], "digits", tmp_path)
    assert (left, missing) == ([bundled], [f"NOT AVAILABLE: g. In their place: digits; name their folder {WHERE}"])
    (text,) = missing_data(["a", "b"], "c", word="its", joint=" and ")
    assert text == f"NOT AVAILABLE: a and b. In its place: c; name its folder {WHERE}"


def test_the_default_folder_may_change(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(tasks, "load", lambda source, **options: asked.append(source) or object())
    tasks._dataset.cache_clear()
    try:
        for folder in ("one", "one", "two"):
            monkeypatch.setenv("SPECMARGIN_DATA", str(tmp_path / folder))
            tasks.dataset("g50c")
        assert len(asked) == 2
    finally:
        tasks._dataset.cache_clear()


def test_moons_are_drawn_where_none_are_published(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECMARGIN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for n_unseen in (0, 50):
        moons, source = published_or_drawn_moons(3, n_unseen)
        X, y = make_two_moons(n_samples=200 + n_unseen, noise=0.07, random_state=3)
        np.testing.assert_array_equal(np.vstack([moons.X, moons.extras["X_test"]]), X)
        np.testing.assert_array_equal(np.append(moons.y, moons.extras["y_test"]), y)
        assert moons.X.shape == (200, 2)
        assert not moons.is_published
        assert source == {"kind": "generated by make_two_moons", "sha256": None}


@pytest.mark.data
def test_moons_are_those_of_the_data_folder(data_folder):
    moons, source = published_or_drawn_moons(3)
    assert moons.is_published == (source["sha256"] is not None) == (source["kind"] == "published points")
    assert moons.is_published == bool(data_folder and is_available("two_moons", data_folder))
    assert len(moons.X) == len(moons.y) == 200
