"""What an archive holds is checked before it is used."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from reproduction import data as datasets
from specmargin.exceptions import SpecmarginError

Archive = Callable[[str, dict[str, Any] | bytes], Path]
pytestmark = pytest.mark.usefixtures("empty_cache")


def test_sparse_layout(tmp_path: Path, archive: Archive) -> None:
    dense = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    X = sparse.csr_matrix(dense.astype(np.float32))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    archive("20news", parts | {"y": np.array([2, 0, 1], np.int16), "class_names": np.array(["a", "b", "c"])})
    data = datasets.load("20news", data_home=str(tmp_path))
    np.testing.assert_array_equal(data.X.toarray(), dense)
    np.testing.assert_array_equal(data.y, [2, 0, 1])
    assert data.extras["class_names"] == ("a", "b", "c")


TINY = {"X": np.arange(8.0).reshape(4, 2), "y": np.array([-1, 1, 1, -1], np.int16)}


WORDS = {
    "data": np.ones(4, np.float32),
    "indices": np.array([0, 2, 1, 0], np.int32),
    "indptr": np.array([0, 1, 2, 3, 4], np.int32),
    "shape": np.array([4, 3]),
    "y": np.array([0, 1, 1, 0], np.int16),
}


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("g10n", {"X": np.zeros((3, 2)), "y": np.zeros(2)}, "3 samples but 2 labels in y"),
        ("g10n", {"X": np.array([{}], dtype=object), "y": np.zeros(1)}, ""),
        ("g10n", b"", ""),
        ("g10n", b"PK\x03\x04 and then nothing", ""),
        ("g10n", b"\x93NUMPY\x01\x00v\x00{}", ""),
        ("g10n", {"X": np.array([[0.0, np.nan]] * 4)}, "8|4 values of X are not finite"),
        ("g10n", {"X": np.zeros((4, 2), dtype=complex)}, "complex128, not rows of numbers"),
        ("g10n", {"X": np.zeros(4)}, r"shape \(4,\)"),
        ("g10n", {"y": np.array([-1, 0, 1, 1])}, r"labels \[-1, 0, 1\]; they must be -1 and 1, or count from 0"),
        ("g10n", {"y": np.array([0.5, 0, 1, 1])}, "no whole numbers"),
        ("g10n", {"y": np.array(["a", "b", "a", "b"])}, "no whole numbers"),
        ("g10n", {"y": np.zeros((4, 1), int)}, r"of the shape \(4, 1\)"),
        ("g10n", {"labeled_idx": np.array([[0, 0]])}, "different samples out of 4"),
        ("g10n", {"labeled_idx": np.array([0, 1])}, "labeled_idx has the shape"),
        ("g10n", {"n_train": np.array(5)}, "n_train=5 for 4 samples"),
        ("g10n", {"X_test": np.zeros((2, 2))}, "no array 'y_test'"),
        ("20news", {"indices": np.array([0, 2, 1, 2**28], np.int32)}, "indices must be"),
        ("20news", {"indptr": np.array([0, 1, 2, 3, 2**28], np.int32)}, "Last value of index pointer"),
        ("20news", {"indptr": np.array([0, 3, 2, 3, 4], np.int32)}, "non-decreasing"),
        ("20news", {"shape": np.array([4])}, "pass a row per sample"),
        ("20news", {"data": np.array([1, np.inf, 1, 1])}, "1 values of data are not finite"),
        ("20news", {"class_names": np.array(["one"])}, "1 class_names for classes up to 1"),
    ],
)
def test_contents_that_cannot_be_right(
    tmp_path: Path, archive: Archive, name: str, change: dict[str, Any] | bytes, text: str
) -> None:
    right = WORDS if name == "20news" else TINY
    archive(name, right)
    assert datasets.load(name, data_home=tmp_path).X.shape[0] == 4
    archive(name, change if isinstance(change, bytes) else right | change)
    with pytest.raises(SpecmarginError, match=f"is not an archive of .*({text}).*delete it or replace it"):
        datasets.load(name, data_home=tmp_path)


def test_an_archive_of_something_else(tmp_path: Path, archive: Archive) -> None:
    archive("g10n", {"Z": np.zeros(3)})
    with pytest.raises(SpecmarginError, match="is not an archive of X"):
        datasets.load("g10n", data_home=tmp_path)


def _refusal(folder: Path) -> str | None:
    """Name of the error behind the refusal; None where the damage is of no consequence."""
    try:
        data = datasets.load("usps", data_home=folder)
    except SpecmarginError as error:
        return type(error.__cause__).__name__ if "usps.npz is not an archive of X" in str(error) else "another message"
    return None if np.isfinite(data.X).all() and not data.is_published else "nonsense was read"


def test_every_damaged_byte_gives_one_message(tmp_path: Path) -> None:
    """The record matches, as after a conversion that was damaged on its way: what numpy and zlib raise is caught."""
    rng = np.random.default_rng(0)
    path = tmp_path / "usps.npz"
    np.savez_compressed(path, X=rng.normal(size=(6, 3)), y=np.arange(6) % 3)
    whole = path.read_bytes()
    outcomes = set()
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        path.with_name("usps.npz.sha256").write_text(digest, encoding="ascii")
        outcomes.add(_refusal(tmp_path))
    assert outcomes - {None} == {"BadContentError", "KeyError"}


def test_a_graph_with_its_splits(tmp_path: Path, archive: Archive) -> None:
    rng = np.random.default_rng(0)
    X, W = sparse.random(5, 3, 0.5, "csr", random_state=rng), sparse.csr_matrix(np.ones((5, 5)) - np.eye(5))
    parts = {
        f"{key}_{part}": np.asarray(getattr(matrix, part))
        for key, matrix in (("X", X), ("W", W))
        for part in ("data", "indices", "indptr", "shape")
    }
    archive("cora", parts | {"y": np.arange(5) % 2, "train_idx": np.array([0, 1])})
    data = datasets.load("cora", data_home=tmp_path)
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    np.testing.assert_array_equal(data.extras["W"].toarray(), W.toarray())
    assert data.extras["train_idx"].tolist() == [0, 1]
    assert data.is_published
    archive("cora", parts | {"W_shape": np.array([5, 6]), "y": np.arange(5) % 2})
    with pytest.raises(SpecmarginError, match=r"W has the shape \(5, 6\) for 5 samples"):
        datasets.load("cora", data_home=tmp_path)
