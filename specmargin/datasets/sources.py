"""Where some of the sets can still be downloaded, and how the files become our archives.

`fetch` is the door: it tries the public sources of a set in their order, checks what came, converts it and
puts ``<name>.npz`` with its sha256 beside it into the cache, each by one atomic rename, so that a killed
process leaves no half file behind. Network access goes through `retrieve` alone (pooch). Files of Isolet and of the
CBCL faces that lie in that folder already are used where they are.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import math
import os
import re
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from specmargin.typing import AnyArray

__all__ = [
    "SourceError",
    "count_words",
    "faces_from_files",
    "fetch",
    "isolet_from_files",
    "read_idx",
    "retrieve",
    "uncompress",
    "usps_from_files",
]

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
ISOLET_SOURCE = "https://archive.ics.uci.edu/ml/machine-learning-databases/isolet/"
ISOLET_FILES = ("isolet1+2+3+4.data", "isolet5.data")
ISOLET_SPEAKERS = (120, 30)
"""Of the two files. Every group of 30 is one of isolet1 to isolet5."""
FACES_SOURCE = "http://www.ai.mit.edu/courses/6.899/lectures/faces.tar.gz"
FACES_FILES = ("svm.train.normgrey", "svm.test.normgrey")
FACES_SIZES = (6977, 24045)

_WORD = r"(?<![a-z0-9])[a-z][a-z0-9]{1,24}(?![a-z0-9])"
_SUBJECT = re.compile(r"^Subject:(.*)$", re.IGNORECASE | re.MULTILINE)


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


def uncompress(content: bytes) -> bytes:
    """Undo the Unix program compress (files that end in .Z): LZW with codes of 9 to 16 bits.

    Parameters
    ----------
    content : bytes
        The whole file.

    Raises
    ------
    ValueError
        If it is no such file.

    Examples
    --------
    >>> uncompress(bytes([0x1F, 0x9D, 0x90, 0x61, 0x02, 0x86, 0x01]))
    b'aaaa'
    """
    if content[:2] != b"\x1f\x9d" or len(content) < 3 or not 10 <= content[2] & 31 <= 16:
        raise ValueError(f"not a file of compress: it starts with {content[:3]!r}; download it again.")
    most, clears = content[2] & 31, bool(content[2] & 128)
    single = [bytes([k]) for k in range(256)] + [b""] * clears
    table, previous, pieces = single.copy(), b"", []
    width, start, at = 9, 24, 24
    while at + width <= 8 * len(content):
        word = int.from_bytes(content[at // 8 : at // 8 + 4], "little")
        code = word >> at % 8 & (1 << width) - 1
        at += width
        if clears and code == 256:
            table, previous = single.copy(), b""
        else:
            if code > len(table) or (code == len(table) and not previous):
                raise ValueError(f"code {code} in a table of {len(table)}: the file is damaged; download it again.")
            piece = table[code] if code < len(table) else previous + previous[:1]
            if previous and len(table) < 1 << most:
                table.append(previous + piece[:1])
            pieces.append(piece)
            previous = piece
        wanted = 9 if not previous else min(most, max(width, len(table).bit_length()))
        if wanted != width or not previous:
            # Codes are written by eights: what is left of the last eight is padding.
            at = start + -(-(at - start) // (8 * width)) * 8 * width
            width, start = wanted, at
    return b"".join(pieces)


def isolet_from_files(first: Path, second: Path) -> dict[str, AnyArray]:
    """Read Isolet: 617 features and the number of the letter per line, speakers one after the other.

    Parameters
    ----------
    first, second : Path
        ``isolet1+2+3+4.data`` and ``isolet5.data``, or the same compressed (``.Z``).

    Returns
    -------
    dict of str to ndarray
        ``X``, ``y`` (0 is A), ``speaker`` (from 1), ``group`` (1 to 5) and ``n_train``, the rows of the first file.
    """
    tables = []
    for path in (first, second):
        content = path.read_bytes()
        text = (uncompress(content) if path.suffix == ".Z" else content).decode("ascii")
        tables.append(np.loadtxt(text.splitlines(), delimiter=",", ndmin=2))
    # A speaker goes from A to Z, so that a letter before the last one is the next speaker's.
    turns = [1 + np.cumsum(np.diff(table[:, -1], prepend=table[:1, -1]) < 0) for table in tables]
    found, X = tuple(int(turn[-1]) for turn in turns), np.vstack(tables)
    y = X[:, -1] - 1
    if found != ISOLET_SPEAKERS or X.shape[1] != 618 or not np.isin(y, np.arange(26)).all():
        raise ValueError(
            f"{first.name} and {second.name} hold {found[0]} and {found[1]} speakers, {X.shape[1] - 1} features and "
            f"letters {y.min() + 1:g} to {y.max() + 1:g}; Isolet has {ISOLET_SPEAKERS[0]} and {ISOLET_SPEAKERS[1]}, "
            "617, and 1 to 26"
        )
    speaker = np.concatenate([turns[0], found[0] + turns[1]])
    return {
        "X": X[:, :-1].astype(np.float32),
        "y": y.astype(np.int16),
        "speaker": speaker.astype(np.int16),
        "group": (1 + (speaker - 1) // 30).astype(np.int16),
        "n_train": np.array(len(tables[0])),
    }


def _isolet(scratch: Path) -> dict[str, AnyArray]:
    def at_hand() -> dict[str, AnyArray]:
        first, second = (
            next((path for path in (folder / name, folder / f"{name}.Z") if path.is_file()), folder / name)
            for name in ISOLET_FILES
        )
        return isolet_from_files(first, second)

    def download() -> dict[str, AnyArray]:
        first, second = (retrieve(f"{ISOLET_SOURCE}{name}.Z", None, scratch) for name in ISOLET_FILES)
        return isolet_from_files(first, second)

    folder = scratch.parent
    return _first_of([(f"files in {folder}", at_hand), (ISOLET_SOURCE, download)])


def faces_from_files(train: Path, test: Path) -> dict[str, AnyArray]:
    """Read the CBCL faces: two lines with the numbers of images and pixels, then pixels and 1 or -1 per line.

    Parameters
    ----------
    train, test : Path
        ``svm.train.normgrey`` and ``svm.test.normgrey``.

    Returns
    -------
    dict of str to ndarray
        ``X`` (train, then test), ``y`` (1 is a face, -1 none) and ``n_train``.
    """
    tables = []
    for path in (train, test):
        with path.open(encoding="ascii") as file:
            announced = (int(float(file.readline())), int(float(file.readline())) + 1)
            tables.append(np.loadtxt(file, ndmin=2))
        if tables[-1].shape != announced:
            raise ValueError(f"{path.name} announces a table of {announced}, but holds {tables[-1].shape}")
    X, sizes = np.vstack(tables), tuple(len(table) for table in tables)
    y = X[:, -1]
    if sizes != FACES_SIZES or X.shape[1] != 362 or not np.isin(y, (-1, 1)).all():
        raise ValueError(
            f"{train.name} and {test.name} hold {sizes[0]} and {sizes[1]} images of {X.shape[1] - 1} pixels, labels "
            f"{y.min():g} to {y.max():g}; the CBCL faces are {FACES_SIZES[0]} and {FACES_SIZES[1]} of 361, labels -1 "
            "and 1"
        )
    return {"X": X[:, :-1].astype(np.float32), "y": y.astype(np.int16), "n_train": np.array(sizes[0])}


def _faces(scratch: Path) -> dict[str, AnyArray]:
    def at_hand() -> dict[str, AnyArray]:
        return faces_from_files(*(folder / name for name in FACES_FILES))

    def download() -> dict[str, AnyArray]:
        try:
            with tarfile.open(retrieve(FACES_SOURCE, None, scratch)) as archive:
                for name in FACES_FILES:
                    member = next((member for member in archive if Path(member.name).name == name), None)
                    content = None if member is None else archive.extractfile(member)
                    if content is None:
                        raise ValueError(f"the archive holds no file {name}")
                    (scratch / name).write_bytes(content.read())
        except tarfile.TarError as error:
            raise ValueError(f"not an archive of tar: {error}") from error
        return faces_from_files(*(scratch / name for name in FACES_FILES))

    folder = scratch.parent
    return _first_of([(f"files in {folder}", at_hand), (FACES_SOURCE, download)])
