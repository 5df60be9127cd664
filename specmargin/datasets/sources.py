"""Where some of the sets can still be downloaded, and how the files become our archives.

Call `fetch`: it tries the public sources of a set in their order, checks the download, converts it and
puts ``<name>.npz`` with its sha256 next to it into the cache, each by one atomic rename, so that a killed
process leaves no half file behind. Network access goes through `retrieve` alone (pooch). Files of Isolet and of the
CBCL faces that lie in that folder already are used where they are.
"""

from __future__ import annotations

import hashlib
import io
import logging
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from specmargin.datasets.conversions import (
    count_words,
    faces_from_files,
    isolet_from_files,
    read_idx,
    usps_from_files,
)
from specmargin.exceptions import InvalidInputError
from specmargin.files import replace_file
from specmargin.typing import AnyArray

__all__ = ["SourceError", "fetch", "retrieve"]

logger = logging.getLogger(__name__)


class SourceError(Exception):
    """Every source of a set failed; the text lists them with their reasons."""


MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
MNIST_FILES = {
    "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}
USPS_SOURCES: tuple[tuple[str, dict[str, str | None]], ...] = (
    ("https://hastie.su.domains/ElemStatLearn/datasets/", {"zip.train.gz": None, "zip.test.gz": None}),
    (
        "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/",
        {
            "usps.bz2": "md5:ec16c51db3855ca6c91edd34d0e9b197",
            "usps.t.bz2": "md5:8ea070ee2aca1ac39742fdd1ef5ed118",
        },
    ),
)
USPS_CONTENT = "355c2419d56ebc4921bc7130de2c38b72c114a9501ec1a72be0114a964f43109"
"""SHA-256 of X and y of the published archive: what files without a checksum of their own must convert to."""
ISOLET_SOURCE = "https://archive.ics.uci.edu/ml/machine-learning-databases/isolet/"
ISOLET_FILES = ("isolet1+2+3+4.data", "isolet5.data")
FACES_SOURCE = "https://www.ai.mit.edu/courses/6.899/lectures/faces.tar.gz"
MOST_BYTES = 300_000_000
"""Size limit of one downloaded file, and of one member of an archive; the largest, of the CBCL faces, has 80 MB."""
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
FACES_FILES = ("svm.train.normgrey", "svm.test.normgrey")


def fetch(name: str, folder: Path) -> Path:
    """Download and convert a set into `folder`.

    Parameters
    ----------
    name : {"mnist", "usps", "20news", "isolet", "cbcl_faces"}
        The set.
    folder : Path
        Where ``<name>.npz`` goes; made if it does not exist.

    Returns
    -------
    Path
        The archive.

    Raises
    ------
    SourceError
        If no source delivers, pooch is missing, or the folder cannot be written.
    """
    makers: dict[str, Callable[[Path], dict[str, AnyArray]]] = {
        "mnist": _mnist,
        "usps": _usps,
        "20news": _newsgroups,
        "isolet": _isolet,
        "cbcl_faces": _faces,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            arrays = makers[name](Path(scratch))
        return _store(name, folder, arrays)
    except ImportError as error:
        raise SourceError(f"{error}; install the extra: pip install 'specmargin[data]'") from error
    except OSError as error:
        raise SourceError(f"{type(error).__name__}: {error}") from error


def retrieve(url: str, known_hash: str | None, folder: Path) -> Path:
    """Download one file through pooch and check its hash.

    Parameters
    ----------
    url : str
        The file.
    known_hash : str or None
        ``"md5:..."`` or ``"sha256:..."``; None where the source publishes none.
    folder : Path
        Where it goes, under its own name.

    Raises
    ------
    ValueError
        If the address or one that it leads to is not https, the file is larger than any of ours, or has another hash.
    """
    import pooch

    name = url.rsplit("/", 1)[-1]
    file = Path(pooch.retrieve(url, known_hash, fname=name, path=folder, downloader=_download))
    if known_hash is None:
        logger.warning("no checksum of %s is published; sha256 %s", url, hashlib.sha256(file.read_bytes()).hexdigest())
    return file


def _download(url: str, target: Any, _: Any) -> None:
    """Write a file for pooch, piece by piece: over https, also after redirections, and no more than `MOST_BYTES`."""
    import requests

    with requests.get(url, stream=True, timeout=60) as response:
        response.raise_for_status()
        for visited in (*response.history, response):
            parts = urlsplit(visited.url)
            if parts.scheme != "https" and parts.hostname not in _LOCAL_HOSTS:
                raise InvalidInputError(f"{url} leads to {visited.url}, which is not https")
        size = 0
        with open(target, "wb") as file:
            for piece in response.iter_content(2**20):
                size += len(piece)
                if size > MOST_BYTES:
                    raise InvalidInputError(f"{url} sends more than {MOST_BYTES} bytes, which none of the files has")
                file.write(piece)


def _first_of(attempts: list[tuple[str, Callable[[], dict[str, AnyArray]]]]) -> dict[str, AnyArray]:
    """Return the first attempt that succeeds; network and format errors lead to the next one."""
    reasons = []
    for where, attempt in attempts:
        try:
            return attempt()
        except (OSError, ValueError, IndexError, EOFError, zlib.error) as error:
            logger.info("source %s failed: %s", where, error)
            reasons.append(f"{where} ({type(error).__name__}: {error})")
    raise SourceError("; ".join(reasons))


def _store(name: str, folder: Path, arrays: dict[str, AnyArray]) -> Path:
    target, buffer = folder / f"{name}.npz", io.BytesIO()
    save: Any = np.savez_compressed
    save(buffer, **arrays)
    content = buffer.getvalue()
    # The record first: an archive without its record would be refused, a record alone does no harm.
    replace_file(folder / f"{name}.npz.sha256", f"{hashlib.sha256(content).hexdigest()}\n".encode())
    replace_file(target, content)
    return target


def _mnist(scratch: Path) -> dict[str, AnyArray]:
    def from_mirror(mirror: str) -> dict[str, AnyArray]:
        parts = [
            read_idx(retrieve(mirror + file, known_hash, scratch).read_bytes())
            for file, known_hash in MNIST_FILES.items()
        ]
        if len(parts[0]) != len(parts[1]) or len(parts[2]) != len(parts[3]):
            raise InvalidInputError(f"{[len(part) for part in parts]} images and labels do not match")
        X = np.concatenate([part.reshape(len(part), -1) for part in parts[0::2]])
        return {
            "X": X,
            "y": np.concatenate(parts[1::2]).astype(np.int16),
            "n_train": np.array(len(parts[0])),
        }

    return _first_of([(mirror, partial(from_mirror, mirror)) for mirror in MNIST_MIRRORS])


def _usps(scratch: Path) -> dict[str, AnyArray]:
    def from_source(base: str, files: dict[str, str | None]) -> dict[str, AnyArray]:
        train, test = (retrieve(base + file, known_hash, scratch) for file, known_hash in files.items())
        arrays = usps_from_files(train, test)
        content = hashlib.sha256(arrays["X"].tobytes() + arrays["y"].tobytes()).hexdigest()
        if None in files.values() and content != USPS_CONTENT:
            raise InvalidInputError(f"{train.name} and {test.name} hold other images than the published archive")
        return arrays

    return _first_of([(base, partial(from_source, base, files)) for base, files in USPS_SOURCES])


def _newsgroups(scratch: Path) -> dict[str, AnyArray]:
    from sklearn.datasets import fetch_20newsgroups

    def from_sklearn() -> dict[str, AnyArray]:
        texts: list[str] = []
        y, doc_id = [], []
        for subset in ("train", "test"):
            part = fetch_20newsgroups(data_home=scratch, subset=subset, shuffle=False)
            number = np.array([int(Path(file).name) for file in part.filenames])
            order = np.lexsort((number, part.target))
            texts += [part.data[i] for i in order]
            y.append(part.target[order])
            doc_id.append(number[order])
        counts, vocab = count_words(texts)
        return {
            "data": counts.data,
            "indices": counts.indices.astype(np.int32),
            "indptr": counts.indptr.astype(np.int32),
            "shape": np.array(counts.shape),
            "y": np.concatenate(y).astype(np.int16),
            "doc_id": np.concatenate(doc_id).astype(np.int32),
            "n_train": np.array(len(y[0])),
            "class_names": np.array(part.target_names),
            "vocab": vocab,
        }

    return _first_of([("scikit-learn's fetch_20newsgroups", from_sklearn)])


def _isolet(scratch: Path) -> dict[str, AnyArray]:
    def from_folder() -> dict[str, AnyArray]:
        first, second = (
            next((path for path in (folder / name, folder / f"{name}.Z") if path.is_file()), folder / name)
            for name in ISOLET_FILES
        )
        return isolet_from_files(first, second)

    def download() -> dict[str, AnyArray]:
        first, second = (retrieve(f"{ISOLET_SOURCE}{name}.Z", None, scratch) for name in ISOLET_FILES)
        return isolet_from_files(first, second)

    folder = scratch.parent
    return _first_of([(f"files in {folder}", from_folder), (ISOLET_SOURCE, download)])


def _faces(scratch: Path) -> dict[str, AnyArray]:
    def from_folder() -> dict[str, AnyArray]:
        return faces_from_files(*(folder / name for name in FACES_FILES))

    def download() -> dict[str, AnyArray]:
        try:
            with tarfile.open(retrieve(FACES_SOURCE, None, scratch)) as archive:
                for name in FACES_FILES:
                    member = next((member for member in archive if Path(member.name).name == name), None)
                    content = None if member is None or not member.isreg() else archive.extractfile(member)
                    if member is None or content is None:
                        raise InvalidInputError(f"the archive holds no file {name}")
                    if member.size > MOST_BYTES:
                        raise InvalidInputError(f"{name} is announced with {member.size} bytes, more than {MOST_BYTES}")
                    with content, (scratch / name).open("wb") as file:
                        shutil.copyfileobj(content, file)
        except tarfile.TarError as error:
            raise InvalidInputError(f"not an archive of tar: {error}") from error
        return faces_from_files(*(scratch / name for name in FACES_FILES))

    folder = scratch.parent
    return _first_of([(f"files in {folder}", from_folder), (FACES_SOURCE, download)])
