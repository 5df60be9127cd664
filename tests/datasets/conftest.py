"""Made archives that look like the published ones, for computers without a data folder."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from specmargin.datasets import fetch, make_g50c, registry


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
NEWS_NAMES = [
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
]

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


def made_arrays(name: str) -> dict[str, np.ndarray]:
    """Arrays in the layout of the archive `name`, with its sizes and invented values."""
    facts, rng = FACTS[name], np.random.default_rng(5)
    y = np.repeat(np.arange(len(facts.counts)), facts.counts)
    if len(facts.counts) == 2:
        y = 2 * y - 1
    n, arrays = len(y), {}
    if registry.REGISTRY[name].layout == "sparse":
        words = rng.integers(0, facts.n_features, size=(n, 6))
        indptr = np.arange(0, 6 * n + 1, 6)
        X = sparse.csr_matrix((np.full(6 * n, 1.0), words.ravel(), indptr), shape=(n, facts.n_features))
        X.sum_duplicates()
        arrays |= {"data": X.data.astype(np.float32), "indices": X.indices, "indptr": X.indptr}
        arrays["shape"] = np.array(X.shape)
    elif name == "mnist":
        X = np.zeros((n, 784), dtype=np.uint8)
        X[:, 100:110] = rng.integers(0, 256, size=(n, 10))
        arrays["X"] = X
    elif name == "g50c":
        X, labels = make_g50c(random_state=1)
        arrays["X"] = X[np.argsort(labels, kind="stable")].astype(np.float32)
    elif name == "two_spirals":
        i = np.arange(97)
        arm = (6.5 * (104 - i) / 104 * np.exp(1j * 3.1416 / 16 * i))[:, None]
        arrays["X"] = np.round(np.vstack([np.hstack([s * arm.real, s * arm.imag]) for s in (-1, 1)]), 5)
    elif name == "clock":
        dial = np.exp(0.063j * np.arange(100))[:, None]
        hands = np.vstack([np.outer(np.arange(26), [0.01, -0.03]), np.outer(np.arange(21), [0.025, 0.0125])])
        arrays["X"], y = np.vstack([np.hstack([dial.real, dial.imag]), hands]), y[::-1]
    else:
        arrays["X"] = rng.uniform(-1, 1, size=(n, facts.n_features)).astype(np.float32)
    arrays["y"] = y.astype(np.int16)
    if facts.splits:
        rows = [rng.permutation(n)[: facts.splits[1]] for _ in range(facts.splits[0])]
        arrays["labeled_idx"] = np.array(rows, dtype=np.int32)
    if facts.n_train:
        arrays["n_train"] = np.array(facts.n_train)
    if name == "two_moons":
        arrays |= {"X_test": arrays["X"][:150] + 0.01, "y_test": arrays["y"][:150]}
    if name == "20news":
        arrays["class_names"] = np.array(NEWS_NAMES)
        arrays["vocab"] = np.array([f"w{k}" for k in range(facts.n_features)], dtype="S25")
        arrays |= {f"host_{key}": arrays[key] for key in ("data", "indices", "indptr", "shape")}
    return arrays


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
def archive(
    data_folder: Path | None, empty_cache: Path, tmp_path: Path, register: Callable[[Path], None]
) -> Callable[[str], Path]:
    """Give the folder of an archive: the real data folder, or one with a made archive in it."""

    def folder_of(name: str) -> Path:
        if data_folder is not None:
            return data_folder
        path = tmp_path / "made" / f"{name}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez(path, **made_arrays(name))
        register(path)
        return path.parent

    return folder_of


@pytest.fixture(params=sorted(FACTS))
def published(request: pytest.FixtureRequest) -> tuple[str, Facts]:
    """Name and facts of every archive in turn."""
    return request.param, FACTS[request.param]
