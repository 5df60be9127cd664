"""The large text sets: made files of svmlight's format under their names, and the message where there is none."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from reproduction.data import DataNotFoundError, text
from specmargin.exceptions import SpecmarginError


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    """Let every set have 12 samples of 30 features."""
    for name, known in text.TEXT_SETS.items():
        monkeypatch.setitem(text.TEXT_SETS, name, text.TextSet(12, 30, known.summary))


def write(path: Path, rng: np.random.Generator, n: int = 12, labels: tuple[int, ...] = (-1, 1)) -> np.ndarray:
    X = sparse.random(n, 25, density=0.3, format="csr", random_state=rng)
    dump_svmlight_file(X, np.resize(labels, n), str(path), zero_based=False)
    if path.suffix == ".bz2":
        import bz2

        path.write_bytes(bz2.compress(path.read_bytes()))
    return X.toarray()


@pytest.mark.parametrize("file", ["real-sim", "real_sim.svm", "real-sim.bz2", "real-sim.svm.bz2"])
def test_set_is_read_from_its_file(small: None, tmp_path: Path, rng: np.random.Generator, file: str) -> None:
    X = write(tmp_path / file, rng)
    data = text.load_text("real_sim", data_home=tmp_path)
    assert text.find_text("real_sim", tmp_path) == tmp_path / file
    assert data.X.shape == (12, 30)  # the last columns hold nothing
    np.testing.assert_allclose(data.X.toarray()[:, :25], X)
    assert data.y.tolist() == [0, 1] * 6
    assert data.sha256 is not None
    assert len(data.sha256) == 64


def test_missing_set_says_where_to_put_it(empty_cache: Path, tmp_path: Path) -> None:
    assert text.find_text("aut_avn", tmp_path) is None
    with pytest.raises(
        DataNotFoundError, match=r"'aut_avn' is not available.*svmlight.*SPECMARGIN_DATA.*71175 x 20707"
    ):
        text.load_text("aut_avn", data_home=tmp_path)


@pytest.mark.parametrize(("n", "labels"), [(11, (-1, 1)), (12, (1,)), (12, (1, 2, 3))])
def test_other_sizes_are_refused(
    small: None, tmp_path: Path, rng: np.random.Generator, n: int, labels: tuple[int, ...]
) -> None:
    write(tmp_path / "gcat", rng, n, labels)
    with pytest.raises(SpecmarginError, match="another set or another version"):
        text.load_text("gcat", data_home=tmp_path)


def test_other_formats_are_refused(small: None, tmp_path: Path) -> None:
    (tmp_path / "ccat").write_text("not numbers at all\n")
    with pytest.raises(SpecmarginError, match="not a file of svmlight's format"):
        text.load_text("ccat", data_home=tmp_path)


def test_damage_and_values_that_are_not_finite_are_refused(
    small: None, tmp_path: Path, rng: np.random.Generator
) -> None:
    import gzip

    write(tmp_path / "ccat", rng)
    packed = bytearray(gzip.compress((tmp_path / "ccat").read_bytes()))
    (tmp_path / "ccat").unlink()
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "ccat.gz").write_bytes(packed)
    with pytest.raises(SpecmarginError, match="not a file of svmlight's format"):
        text.load_text("ccat", data_home=tmp_path)
    (tmp_path / "gcat").write_text("1 1:nan\n" + "-1 2:1\n" * 11)
    with pytest.raises(SpecmarginError, match="not finite; replace it"):
        text.load_text("gcat", data_home=tmp_path)
