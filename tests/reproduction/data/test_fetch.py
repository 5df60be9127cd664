"""Finding, checking and reading archives; on the real ones where a data folder is given."""

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from reproduction import data as datasets
from reproduction.data import DataNotFoundError, fetch, registry
from specmargin.datasets import make_clock, make_two_spirals
from specmargin.exceptions import SpecmarginError

Register = Callable[[Path], None]


def tiny(folder: Path, name: str = "g10n", shift: float = 0.0) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.npz"
    np.savez(path, X=np.arange(8.0).reshape(4, 2) + shift, y=np.array([-1, 1, 1, -1], np.int16))
    return path


# The published archives.


@pytest.mark.data
def test_archives_are_as_published(real_data: Path, published: tuple[str, Any]) -> None:
    name, facts = published
    data = datasets.load(name, data_home=real_data)
    n = sum(facts.counts)
    assert data.name == name
    assert data.X.shape == (n, facts.n_features)
    assert data.y.dtype == np.intp
    np.testing.assert_array_equal(data.classes, np.arange(len(facts.counts)))
    assert tuple(np.bincount(data.y)) == facts.counts
    assert data.X.dtype == (np.uint8 if name == "mnist" else np.float64)
    assert sparse.issparse(data.X) == (registry.REGISTRY[name].layout == "sparse")
    values = data.X.data if sparse.issparse(data.X) else data.X
    assert np.isfinite(values).all()
    assert data.sha256 == registry.REGISTRY[name].sha256
    if facts.splits is None:
        assert data.labeled_idx is None
    else:
        assert data.labeled_idx.shape == facts.splits
        assert data.labeled_idx.dtype == np.intp
        for row in data.labeled_idx:
            assert len(set(row.tolist())) == facts.splits[1]
            assert row.min() >= 0
            assert row.max() < n
            assert set(data.y[row].tolist()) == set(data.classes.tolist())
    assert data.extras.get("n_train") == facts.n_train
    if "image_shape" in data.extras:
        assert np.prod(data.extras["image_shape"]) == facts.n_features
    assert repr(data).startswith(f"{name}: {n} samples, {facts.n_features} features")


@pytest.mark.data
def test_g50c_has_five_percent_bayes_error(real_data: Path) -> None:
    data = datasets.load("g50c", data_home=real_data)
    error = np.mean((data.X.sum(axis=1) > 0) != data.y)
    assert abs(error - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 550)


@pytest.mark.data
def test_clock_archive_is_the_formula(real_data: Path, tol: Mapping[str, float]) -> None:
    data = datasets.load("clock", data_home=real_data)
    X, y = make_clock()
    np.testing.assert_allclose(data.X, X, atol=tol["exact"])
    np.testing.assert_array_equal(data.y, y)


@pytest.mark.data
def test_two_spirals_archive_is_the_formula(real_data: Path, tol: Mapping[str, float]) -> None:
    data = datasets.load("two_spirals", data_home=real_data)
    X, y = make_two_spirals()
    # The published points were computed with pi = 3.1416, which turns point i by this angle.
    turn = np.exp(1j * np.arange(97) * (3.1416 - np.pi) / 16)
    for label in (0, 1):
        published = data.X[data.y == label] @ [1.0, 1.0j]
        ours = X[y == label] @ [1.0, 1.0j]
        np.testing.assert_allclose(published, ours * turn, atol=tol["published"])


@pytest.mark.data
def test_two_moons_archive_has_test_points(real_data: Path) -> None:
    extras = datasets.load("two_moons", data_home=real_data).extras
    assert len(extras["X_test"]) == len(extras["y_test"])
    assert set(extras["y_test"].tolist()) == {0, 1}


@pytest.mark.data
def test_20news_archive_has_names_and_words(real_data: Path) -> None:
    data = datasets.load("20news", data_home=real_data)
    assert data.extras["class_names"][10] == "rec.sport.hockey"
    assert len(data.extras["vocab"]) == data.X.shape[1]
    assert data.extras["host"].shape[0] == data.X.shape[0]


# Reading.


def test_values_survive_and_minus_one_becomes_zero(tmp_path: Path, empty_cache: Path, register: Register) -> None:
    register(tiny(tmp_path))
    data = datasets.load("g10n", data_home=tmp_path)
    np.testing.assert_array_equal(data.X, np.arange(8.0).reshape(4, 2))
    np.testing.assert_array_equal(data.y, [0, 1, 1, 0])
    assert data.source == str(tmp_path / "g10n.npz")


def test_a_file_that_cannot_be_read(tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(tmp_path)

    def denied(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(SpecmarginError, match=r"cannot be read.*make it readable"):
        datasets.load("g10n", data_home=tmp_path)


def test_mismatch_names_both_hashes_and_the_remedy(tmp_path: Path, empty_cache: Path) -> None:
    path = tiny(tmp_path)
    with pytest.raises(SpecmarginError) as caught:
        datasets.load("g10n", data_home=tmp_path)
    text = str(caught.value)
    assert hashlib.sha256(path.read_bytes()).hexdigest() in text
    assert registry.REGISTRY["g10n"].sha256 in text
    assert "Delete it" in text
    assert str(path) in text


# Finding.


def test_order_of_the_folders(
    tmp_path: Path, empty_cache: Path, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tiny(folder, shift=k) for k, folder in enumerate([tmp_path / "home", tmp_path / "env", empty_cache])]
    register(paths[2])
    assert datasets.load("g10n").source == str(paths[2])
    monkeypatch.setenv("SPECMARGIN_DATA", str(tmp_path / "env"))
    register(paths[1])
    assert datasets.load("g10n").source == str(paths[1])
    register(paths[0])
    assert datasets.load("g10n", data_home=tmp_path / "home").source == str(paths[0])
    # A folder that was named replaces the environment's; the cache stays.
    paths[0].unlink()
    register(paths[2])
    assert datasets.load("g10n", data_home=tmp_path / "home").source == str(paths[2])


def test_available(tmp_path: Path, empty_cache: Path) -> None:
    nothing = datasets.available()
    assert list(nothing) == list(registry.REGISTRY)
    assert nothing["digits"] == "scikit-learn"
    assert nothing["clock"] == "formula"
    assert {name for name, where in nothing.items() if where is None} == set(nothing) - {"digits", "clock"}
    path = tiny(tmp_path)
    assert datasets.available(tmp_path) == {**nothing, "g10n": str(path)}


@pytest.mark.parametrize("name", ["g50c", "mac_windows"])
def test_without_a_public_source(tmp_path: Path, empty_cache: Path, name: str) -> None:
    with pytest.raises(DataNotFoundError) as caught:
        datasets.load(name, data_home=tmp_path)
    text = str(caught.value)
    assert f"{name}.npz" in text
    assert str(tmp_path) in text
    assert "SPECMARGIN_DATA" in text
    assert "no public source" in text
    assert ("indptr" in text) == (name == "mac_windows")
    assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize("name", ["isolet", "cbcl_faces"])
def test_archive_that_nobody_converted_is_refused(tmp_path: Path, empty_cache: Path, name: str) -> None:
    path = tiny(tmp_path, name)
    with pytest.raises(SpecmarginError, match="load again to download it"):
        datasets.load(name, data_home=tmp_path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / f"{name}.npz.sha256").write_text(digest + "\n", encoding="ascii")
    assert datasets.load(name, data_home=tmp_path).sha256 == digest


def test_a_record_serves_converted_downloads_only(tmp_path: Path, empty_cache: Path) -> None:
    for name in ("g10n", "clock", "two_moons"):
        path = tiny(tmp_path, name)
        record = path.with_name(f"{path.name}.sha256")
        record.write_text(hashlib.sha256(path.read_bytes()).hexdigest() + "\n", encoding="ascii")
        with pytest.raises(SpecmarginError, match=registry.REGISTRY[name].sha256):
            datasets.load(name, data_home=tmp_path)


def test_download_can_be_forbidden(empty_cache: Path) -> None:
    with pytest.raises(DataNotFoundError, match="download=False"):
        datasets.load("mnist", download=False)


def test_clock_without_a_file(empty_cache: Path) -> None:
    data = datasets.load("clock")
    np.testing.assert_array_equal(data.X, make_clock()[0])
    assert data.source == "formula"
    assert data.sha256 is None


def test_digits_are_always_there(empty_cache: Path) -> None:
    data = datasets.load("digits", download=False)
    X, y = load_digits(return_X_y=True)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.extras["image_shape"] == (8, 8)


def test_cache_folder_without_pooch(monkeypatch: pytest.MonkeyPatch) -> None:
    import pooch

    assert fetch.cache_folder() == Path(pooch.os_cache("specmargin"))
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert fetch.cache_folder() == Path.home() / ".cache" / "specmargin"
