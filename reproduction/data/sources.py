"""Sources from which some of the sets can still be downloaded, and how the files become our archives.

Call `fetch`: it tries the public sources of a set in their order, checks the download, converts it and
puts ``<name>.npz`` with its sha256 next to it into the cache, each by one atomic rename, so that a killed
process leaves no half file behind. Network access goes through `retrieve` alone (pooch). Files of Isolet and of the
CBCL faces that lie in that folder already are used where they are.
"""

from __future__ import annotations

import hashlib
import io
import logging
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from cvxproof.files import replace_file
from reproduction.data.conversions import (
    count_words,
    faces_from_files,
    isolet_from_files,
    mnist_from_files,
    usps_from_files,
)
from specmargin.exceptions import InvalidInputError
from specmargin.typing import AnyArray

__all__ = ["SourceError", "fetch", "retrieve"]

logger = logging.getLogger(__name__)


class SourceError(Exception):
    """Every source of a set failed; the text lists them with their reasons."""


_MNIST = {
    "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}
_USPS = {"usps.bz2": "md5:ec16c51db3855ca6c91edd34d0e9b197", "usps.t.bz2": "md5:8ea070ee2aca1ac39742fdd1ef5ed118"}
SOURCES: dict[str, dict[str, Mapping[str, str | None]]] = {
    "mnist": {
        "https://ossci-datasets.s3.amazonaws.com/mnist/": _MNIST,
        "https://storage.googleapis.com/cvdf-datasets/mnist/": _MNIST,
    },
    "usps": {
        "https://hastie.su.domains/ElemStatLearn/datasets/": {"zip.train.gz": None, "zip.test.gz": None},
        "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/": _USPS,
    },
    "isolet": {
        "https://archive.ics.uci.edu/ml/machine-learning-databases/isolet/": {
            "isolet1+2+3+4.data.Z": None,
            "isolet5.data.Z": None,
        }
    },
    "cbcl_faces": {"https://www.ai.mit.edu/courses/6.899/lectures/": {"faces.tar.gz": None}},
}
"""Pooch's registry of every set: per address the files with their hashes, or None where none is published."""
LOCAL_FILES = {
    "isolet": ("isolet1+2+3+4.data", "isolet5.data"),
    "cbcl_faces": ("svm.train.normgrey", "svm.test.normgrey"),
}
"""Files that are used, also compressed (``.Z``), where the folder holds them."""
MOST_BYTES = 300_000_000
"""Size limit of one downloaded file, and of one member of an archive; the largest, of the CBCL faces, has 80 MB."""
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


def fetch(name: str, folder: Path) -> Path:
    """Download and convert a set into `folder`.

    Parameters
    ----------
    name : {"mnist", "usps", "20news", "isolet", "cbcl_faces"}
        The set.
    folder : Path
        Folder into which ``<name>.npz`` goes; made if it does not exist.

    Returns
    -------
    Path
        The archive.

    Raises
    ------
    SourceError
        If no source delivers, pooch is missing, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            arrays = _arrays(name, folder, Path(scratch))
        return _store(name, folder, arrays)
    except ImportError as error:
        raise SourceError(f"{error}; pip install pooch") from error
    except OSError as error:
        raise SourceError(f"{type(error).__name__}: {error}") from error


def retrieve(base: str, registry: Mapping[str, str | None], folder: Path) -> list[Path]:
    """Download the files of a source through pooch and check their hashes.

    Parameters
    ----------
    base : str
        The address that the names of the files follow.
    registry : mapping
        Checksum of each file, ``"md5:..."`` or ``"sha256:..."``, None where the source publishes none.
    folder : Path
        Folder into which they go, under their own names; an archive of tar is unpacked there.

    Raises
    ------
    ValueError
        If an address or one that it leads to is not https, a file is larger than any of ours, or has another hash.
    """
    import pooch

    source = pooch.create(path=folder, base_url=base, registry=registry)
    return [path for name in registry for path in source.fetch(name, downloader=_download, processor=_unpacked)]


def _unpacked(file: str, _: str, source: Any) -> list[Path]:
    """Return, as a processor of pooch, the files of an archive, or the file itself; say what no hash vouches for."""
    path = Path(file)
    if source.registry[path.name] is None:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        logger.warning("no checksum of %s is published; sha256 %s", source.get_url(path.name), digest)
    return _untarred(path) if path.name.endswith(".tar.gz") else [path]


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


def _arrays(name: str, folder: Path, scratch: Path) -> dict[str, AnyArray]:
    """Convert what the first place delivers; network and format errors lead to the next one."""
    converters: dict[str, Callable[..., dict[str, AnyArray]]] = {
        "mnist": mnist_from_files,
        "usps": usps_from_files,
        "20news": _newsgroups,
        "isolet": isolet_from_files,
        "cbcl_faces": faces_from_files,
    }
    places: dict[str, Callable[[], list[Path]]] = {}
    if name == "20news":
        places["scikit-learn's fetch_20newsgroups"] = lambda: [scratch]
    if name in LOCAL_FILES:
        places[f"files in {folder}"] = lambda: [_present(folder / file) for file in LOCAL_FILES[name]]
    for base, registry in SOURCES.get(name, {}).items():
        places[base] = partial(retrieve, base, registry, scratch)
    reasons = []
    for where, files in places.items():
        try:
            return converters[name](*files())
        except (OSError, ValueError, IndexError, EOFError, zlib.error) as error:
            logger.info("source %s failed: %s", where, error)
            reasons.append(f"{where} ({type(error).__name__}: {error})")
    raise SourceError("; ".join(reasons))


def _present(path: Path) -> Path:
    """Return the name of a file, that of its compressed form if only this is there."""
    packed = path.with_name(f"{path.name}.Z")
    return packed if packed.is_file() and not path.is_file() else path


def _store(name: str, folder: Path, arrays: dict[str, Any]) -> Path:
    target, buffer = folder / f"{name}.npz", io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    # The record first: an archive without its record would be refused, a record alone does no harm.
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    replace_file(folder / f"{name}.npz.sha256", f"{digest}\n".encode())
    replace_file(target, buffer.getvalue())
    return target


def _newsgroups(scratch: Path) -> dict[str, AnyArray]:
    from sklearn.datasets import fetch_20newsgroups

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


def _untarred(packed: Path) -> list[Path]:
    """Unpack the files of the CBCL faces: pooch's `Untar` would follow links and has no limit of size."""
    files = [packed.with_name(name) for name in LOCAL_FILES["cbcl_faces"]]
    try:
        with tarfile.open(packed) as archive:
            for path in files:
                member = next((member for member in archive if Path(member.name).name == path.name), None)
                content = None if member is None or not member.isreg() else archive.extractfile(member)
                if member is None or content is None:
                    raise InvalidInputError(f"the archive holds no file {path.name}")
                if member.size > MOST_BYTES:
                    raise InvalidInputError(
                        f"{path.name} is announced with {member.size} bytes, more than {MOST_BYTES}"
                    )
                path.write_bytes(content.read())
    except tarfile.TarError as error:
        raise InvalidInputError(f"not an archive of tar: {error}") from error
    return files
