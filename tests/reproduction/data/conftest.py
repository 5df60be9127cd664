"""What is published about the sets, and archives of a test's own."""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from reproduction.data import fetch, registry


class Facts(NamedTuple):
    """What is published about a set."""

    n_features: int
    counts: tuple[int, ...]
    splits: tuple[int, int] | None = None
    n_train: int | None = None


USPS_COUNTS = (1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821)
LETTER_COUNTS = (*[300] * 5, 298, *[300] * 6, 299, *[300] * 13)
MNIST_COUNTS = (6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958)
NEWS_COUNTS = (799, 973, 985, 982, 963, 988, 975, 990, 996, 994, 999, 991, 984, 990, 987, 997, 910, 940, 775, 628)

FACTS = {
    "g50c": Facts(50, (275, 275), (10, 50)),
    "g10n": Facts(10, (276, 274), (10, 50)),
    "uspst": Facts(256, (327, 273, 206, 178, 196, 140, 174, 173, 160, 180), (10, 50)),
    "usps": Facts(256, USPS_COUNTS, None, 7291),
    "mac_windows": Facts(7511, (961, 985), (10, 50)),
    "pcmac_counts": Facts(3289, (982, 961)),
    "coil20": Facts(1024, (72,) * 20),
    "mnist": Facts(784, MNIST_COUNTS, None, 60000),
    "isolet": Facts(617, LETTER_COUNTS, None, 6238),
    "cbcl_faces": Facts(361, (28120, 2901), None, 6977),
    "20news": Facts(63294, NEWS_COUNTS, None, 11314),
    "rcv1_ccat_sample": Facts(47236, (930, 817)),
    "two_moons": Facts(2, (96, 104)),
    "clock": Facts(2, (47, 100)),
    "two_circles": Facts(2, (157, 158)),
    "two_spirals": Facts(2, (97, 97)),
}


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the user's cache be an empty folder, and no data folder be named."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(fetch, "cache_folder", lambda: folder)
    monkeypatch.delenv(fetch.DATA_VARIABLE, raising=False)
    return folder


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Make the registry expect the sha256 of a file of the test."""

    def expect(path: Path) -> None:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        entry = dataclasses.replace(registry.REGISTRY[path.stem], sha256=digest)
        monkeypatch.setitem(registry.REGISTRY, path.stem, entry)

    return expect


@pytest.fixture
def archive(tmp_path: Path, register: Callable[[Path], None]) -> Callable[[str, dict[str, Any] | bytes], Path]:
    """Put an archive of arrays, or bytes in its place, into the folder of the test; the registry expects it."""

    def put(name: str, content: dict[str, Any] | bytes) -> Path:
        path = tmp_path / f"{name}.npz"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            np.savez(path, **content)
        register(path)
        return path

    return put


@pytest.fixture(params=sorted(FACTS))
def published(request: pytest.FixtureRequest) -> tuple[str, Facts]:
    """Name and facts of every archive in turn."""
    return request.param, FACTS[request.param]
