"""The two-class tasks of the papers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from reproduction import data as datasets
from reproduction.data.pairs import NEWSGROUPS_PAIRS

Archive = Callable[[str, dict[str, Any] | bytes], Path]
PAIR_SIZES = {
    "baseball-hockey": (994, 999),
    "pc-mac": (982, 963),
    "religion-atheism": (628, 799),
    "windows-xwindows": (985, 988),
    "mideast-misc": (940, 775),
}


def standardised(X: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1, column by column; 0 where a column is constant."""
    out = np.zeros(X.shape)
    for j in range(X.shape[1]):
        if X[:, j].min() < X[:, j].max():
            out[:, j] = (X[:, j] - X[:, j].mean()) / np.sqrt(np.mean((X[:, j] - X[:, j].mean()) ** 2))
    return out


@pytest.mark.data
def test_mnist_pair(real_data: Path, tol: Mapping[str, float]) -> None:
    X, y = datasets.mnist_pair(3, 8, data_home=real_data)
    assert X.shape == (1000, 784)
    assert 400 < y.sum() < 600
    constant = np.ptp(X, axis=0) == 0
    assert constant.any()
    assert not X[:, constant].any()
    np.testing.assert_allclose(X[:, ~constant].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X[:, ~constant].var(axis=0), 1, rtol=tol["linalg"])
    again, y_again = datasets.mnist_pair(3, 8, data_home=real_data)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(y_again, y)
    other, _ = datasets.mnist_pair(3, 8, random_state=1, data_home=real_data)
    assert not np.array_equal(other, X)
    X, y = datasets.mnist_pair(3, 8, n=None, data_home=real_data)
    assert X.shape == (13966, 784)
    np.testing.assert_array_equal(np.bincount(y), [7141, 6825])


@pytest.mark.data
def test_newsgroups_pairs(real_data: Path) -> None:
    assert PAIR_SIZES.keys() == NEWSGROUPS_PAIRS.keys()
    for task, sizes in PAIR_SIZES.items():
        X, y = datasets.newsgroups_pair(task, n=None, data_home=real_data)
        np.testing.assert_array_equal(np.bincount(y), sizes)
        assert X.shape[0] == sum(sizes)
    X, y = datasets.newsgroups_pair("pc-mac", data_home=real_data)
    assert X.shape[0] == 1000
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.getnnz(axis=0).min() > 0
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths[X.getnnz(axis=1) > 0], 1.0, rtol=1e-12)


@pytest.mark.data
def test_newsgroups_classes_are_in_the_order_of_the_name(real_data: Path) -> None:
    data = datasets.load("20news", data_home=real_data)
    religion, atheism = (data.extras["class_names"].index(n) for n in ("talk.religion.misc", "alt.atheism"))
    X, y = datasets.newsgroups_pair("religion-atheism", n=None, data_home=real_data)
    # The numbers of distinct words per message survive tf-idf.
    for label, group in enumerate((religion, atheism)):
        expected = np.sort(data.X[data.y == group].getnnz(axis=1))
        np.testing.assert_array_equal(np.sort(X[y == label].getnnz(axis=1)), expected)


def test_tf_idf_by_its_formula(tmp_path: Path, empty_cache: Path, archive: Archive, rng: np.random.Generator) -> None:
    counts = rng.poisson(0.7, size=(30, 12)).astype(float)
    counts[:, 4] = 0
    counts[:, 0] = 1
    X = sparse.csr_matrix(counts)
    groups = NEWSGROUPS_PAIRS["mideast-misc"]
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    names = np.array(["else", groups[1], groups[0]])
    archive("20news", parts | {"y": np.arange(30) % 3, "class_names": names})
    got, y = datasets.newsgroups_pair("mideast-misc", n=15, random_state=2, data_home=tmp_path)
    # Find the rows again by the same draw: a permutation of the rows of the two groups.
    pool = np.flatnonzero(np.arange(30) % 3 != 0)
    rows = np.random.default_rng(2).permutation(pool)[:15]
    np.testing.assert_array_equal(y, (rows % 3 == 1).astype(int))
    part = counts[rows]
    part = part[:, part.any(axis=0)]
    tf = np.where(part > 0, 1 + np.log(np.maximum(part, 1)), 0.0)
    idf = np.log((1 + 15) / (1 + (part > 0).sum(axis=0))) + 1
    expected = tf * idf
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(got.toarray(), expected, rtol=1e-12)


def test_mnist_pair_of_a_small_archive(
    tmp_path: Path, empty_cache: Path, archive: Archive, rng: np.random.Generator
) -> None:
    X, y = rng.integers(0, 256, (40, 784), dtype=np.uint8), np.arange(40) % 10
    archive("mnist", {"X": X, "y": y})
    drawn, labels = datasets.mnist_pair(3, 8, n=None, data_home=tmp_path)
    rows = np.random.default_rng(0).permutation(np.flatnonzero((y == 3) | (y == 8)))
    np.testing.assert_allclose(drawn, standardised(X[rows].astype(float)), atol=1e-12)
    np.testing.assert_array_equal(labels, y[rows] == 8)
