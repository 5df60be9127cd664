"""What the tests of the papers share."""

import hashlib
import json

import numpy as np
import pytest

from reproduction.gallery import run_figures


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Return a data folder with nothing in it, and no cache."""
    monkeypatch.delenv("SPECMARGIN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def isolet(nowhere, rng):
    """Put an archive like Isolet's into the data folder: four letters, 31 speakers in groups 1 and 5."""
    letters = np.array([0, 12, 13, 25])
    speaker = np.repeat([*range(1, 31), 121], 4)
    y = np.tile(letters, 31)
    X = np.eye(26)[y] * 30 + rng.normal(size=(31, 26))[np.repeat(np.arange(31), 4)] + rng.normal(size=(124, 26))
    group = np.where(speaker > 30, 5, 1)
    path = nowhere / "isolet.npz"
    np.savez(path, X=X, y=y, speaker=speaker, group=group, n_train=np.array(120))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (nowhere / "isolet.npz.sha256").write_text(digest)
    return X, y, speaker


@pytest.fixture
def beside_figure(tmp_path):
    """Return what draws a quick figure, with these warnings at most, and returns the numbers that stand beside it."""

    def draw(name, warnings=()):
        (result,) = run_figures([name], quick=True, out=tmp_path, progress=False, formats=("svg",))
        assert all(one.startswith(warnings) for one in result.warnings)
        return json.loads(result.sidecar.read_text())

    return draw
