"""Where three of the sets can still be downloaded, and how the files become our archives.

`fetch` is the door: it tries the public sources of a set in their order, checks what came, converts it and
puts ``<name>.npz`` with its sha256 beside it into the cache, each by one atomic rename, so that a killed
process leaves no half file behind. Network access goes through `retrieve` alone (pooch).
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import math
import os
import re
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from specmargin.typing import AnyArray

__all__ = ["SourceError", "count_words", "fetch", "read_idx", "retrieve", "usps_from_files"]

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
USPS_SIZES = (7291, 2007)

_WORD = r"(?<![a-z0-9])[a-z][a-z0-9]{1,24}(?![a-z0-9])"
_SUBJECT = re.compile(r"^Subject:(.*)$", re.IGNORECASE | re.MULTILINE)


def fetch(name: str, folder: Path) -> Path:
    """Download and convert a set into `folder`.

    Parameters
    ----------
    name : {"mnist", "usps", "20news"}
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
    """
    import pooch

    name = url.rsplit("/", 1)[-1]
    downloader = pooch.HTTPDownloader(timeout=60)
    return Path(pooch.retrieve(url, known_hash, fname=name, path=folder, downloader=downloader))


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
    target = folder / f"{name}.npz"
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            save: Any = np.savez_compressed
            save(file, **arrays)
        digest = hashlib.sha256(Path(temporary).read_bytes()).hexdigest()
        record = Path(f"{temporary}.sha256")
        record.write_text(digest + "\n", encoding="ascii")
        # The record first: an archive without its record would be refused, a record alone does no harm.
        record.replace(folder / f"{name}.npz.sha256")
        Path(temporary).replace(target)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return target


def read_idx(content: bytes) -> AnyArray:
    """Parse the idx format of MNIST (gzipped or not): magic number, sizes, unsigned bytes.

    Parameters
    ----------
    content : bytes
        The whole file.

    Returns
    -------
    ndarray of uint8

    Raises
    ------
    ValueError
        If the magic number or the length is wrong.

    Examples
    --------
    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])).tolist()
    [7, 8, 9]
    """
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise ValueError(f"not an idx file of unsigned bytes: it starts with {content[:4]!r}; download it again.")
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise ValueError(f"the idx file ends within its header, after {len(content)} bytes; download it again.")
    shape = tuple(int(size) for size in np.frombuffer(content[4:start], dtype=">u4"))
    if len(content) - start != math.prod(shape):
        raise ValueError(
            f"the idx file announces the shape {shape} but holds {len(content) - start} values; download it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _mnist(scratch: Path) -> dict[str, AnyArray]:
    def from_mirror(mirror: str) -> dict[str, AnyArray]:
        parts = [
            read_idx(retrieve(mirror + file, known_hash, scratch).read_bytes())
            for file, known_hash in MNIST_FILES.items()
        ]
        if len(parts[0]) != len(parts[1]) or len(parts[2]) != len(parts[3]):
            raise ValueError(f"{[len(part) for part in parts]} images and labels do not match")
        X = np.concatenate([part.reshape(len(part), -1) for part in parts[0::2]])
        return {
            "X": X,
            "y": np.concatenate(parts[1::2]).astype(np.int16),
            "n_train": np.array(len(parts[0])),
        }

    return _first_of([(mirror, partial(from_mirror, mirror)) for mirror in MNIST_MIRRORS])


def usps_from_files(train: Path, test: Path) -> dict[str, AnyArray]:
    """Read USPS from text (digit, 256 grey values) or from LIBSVM's format (digit + 1, then index:value).

    Parameters
    ----------
    train, test : Path
        ``zip.train.gz`` and ``zip.test.gz``, or ``usps.bz2`` and ``usps.t.bz2``.

    Returns
    -------
    dict of str to ndarray
        ``X`` (train, then test), ``y`` and ``n_train``.
    """
    if train.suffix == ".gz":
        tables = [np.loadtxt(path, ndmin=2) for path in (train, test)]
        X, y = (
            np.vstack([table[:, 1:] for table in tables]),
            np.concatenate([table[:, 0] for table in tables]),
        )
        n_train = len(tables[0])
    else:
        from sklearn.datasets import load_svmlight_files

        X_train, y_train, X_test, y_test = load_svmlight_files([str(train), str(test)], n_features=256)
        X = np.vstack([X_train.toarray(), X_test.toarray()])
        y, n_train = np.concatenate([y_train, y_test]) - 1, len(y_train)
    sizes = (n_train, len(y) - n_train)
    if sizes != USPS_SIZES or X.shape[1] != 256 or not np.isin(y, np.arange(10)).all() or np.abs(X).max() > 1:
        raise ValueError(
            f"{train.name} and {test.name} hold {sizes[0]} and {sizes[1]} images of {X.shape[1]} pixels up "
            f"to {np.abs(X).max():g} and digits {y.min():g} to {y.max():g}; USPS has {USPS_SIZES[0]} and "
            f"{USPS_SIZES[1]} of 256 pixels up to 1 and digits 0 to 9"
        )
    return {"X": X.astype(np.float32), "y": y.astype(np.int16), "n_train": np.array(n_train)}


def _usps(scratch: Path) -> dict[str, AnyArray]:
    def from_source(base: str, files: dict[str, str | None]) -> dict[str, AnyArray]:
        train, test = (retrieve(base + file, known_hash, scratch) for file, known_hash in files.items())
        return usps_from_files(train, test)

    return _first_of([(base, partial(from_source, base, files)) for base, files in USPS_SOURCES])


def count_words(texts: list[str]) -> tuple[Any, AnyArray]:
    r"""Count the words of newsgroup messages: subject and body, nothing else of the header.

    A word is a letter followed by 1 to 24 letters or digits, lower case, that occurs in two messages or more.
    There is no list of stop words and no stemming.

    Parameters
    ----------
    texts : list of str
        Messages: header lines, an empty line, the body.

    Returns
    -------
    counts : CSR matrix of shape (n, n_words)
    vocab : ndarray of bytes
        The words, sorted.

    Examples
    --------
    >>> counts, vocab = count_words(["From: a@b\nSubject: Puck\n\nthe puck", "Subject: Re\n\nThe puck is"])
    >>> vocab.tolist(), counts.toarray().tolist()
    ([b'puck', b'the'], [[2.0, 1.0], [1.0, 1.0]])
    """
    from sklearn.feature_extraction.text import CountVectorizer

    def subject_and_body(text: str) -> str:
        head, _, body = text.partition("\n\n")
        return "\n".join([*_SUBJECT.findall(head), body])

    vectorizer = CountVectorizer(token_pattern=_WORD, min_df=2, dtype=np.float32)
    counts = vectorizer.fit_transform([subject_and_body(text) for text in texts])
    return counts, np.array(vectorizer.get_feature_names_out(), dtype="S25")


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
