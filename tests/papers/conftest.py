"""What the tests of the papers share."""

from __future__ import annotations

import pytest


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Return a data folder with nothing in it, and no cache."""
    monkeypatch.delenv("SPECMARGIN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"
