"""Conversion of the files of public data sets, downloaded or present in a folder, into arrays.

Every function checks that a file is the expected one, by its size among others, and names the difference otherwise.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.typing import AnyArray

__all__ = [
    "count_words",
    "faces_from_files",
    "isolet_from_files",
    "mnist_from_files",
    "read_idx",
    "uncompress",
    "usps_from_files",
]

USPS_SIZES = (7291, 2007)
USPS_CONTENT = "355c2419d56ebc4921bc7130de2c38b72c114a9501ec1a72be0114a964f43109"
"""SHA-256 of X and y of the published archive: what files without a checksum of their own must convert to."""
ISOLET_SPEAKERS = (120, 30)
"""Of the two files. Every group of 30 is one of isolet1 to isolet5."""
FACES_SIZES = (6977, 24045)

_WORD = r"(?<![a-z0-9])[a-z][a-z0-9]{1,24}(?![a-z0-9])"
_SUBJECT = re.compile(r"^Subject:(.*)$", re.IGNORECASE | re.MULTILINE)


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
        raise InvalidInputError(
            f"not an idx file of unsigned bytes: it starts with {content[:4]!r}; download it again."
        )
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise InvalidInputError(f"the idx file ends within its header, after {len(content)} bytes; download it again.")
    shape = tuple(int(size) for size in np.frombuffer(content[4:start], dtype=">u4"))
    if len(content) - start != math.prod(shape):
        raise InvalidInputError(
            f"the idx file announces the shape {shape} but holds {len(content) - start} values; download it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def mnist_from_files(*files: Path) -> dict[str, AnyArray]:
    """Read MNIST from its images and labels to train, then those to test.

    Returns
    -------
    dict of str to ndarray
        ``X`` (train, then test), ``y`` and ``n_train``.
    """
    parts = [read_idx(file.read_bytes()) for file in files]
    if len(parts[0]) != len(parts[1]) or len(parts[2]) != len(parts[3]):
        raise InvalidInputError(f"{[len(part) for part in parts]} images and labels do not match")
    X = np.concatenate([part.reshape(len(part), -1) for part in parts[0::2]])
    return {"X": X, "y": np.concatenate(parts[1::2]).astype(np.int16), "n_train": np.array(len(parts[0]))}


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
    else:
        from sklearn.datasets import load_svmlight_files

        parts = load_svmlight_files([str(train), str(test)], n_features=256)
        tables = [np.column_stack([y - 1, X.toarray()]) for X, y in (parts[:2], parts[2:])]
    sizes, table = tuple(map(len, tables)), np.vstack(tables)
    X, y = table[:, 1:], table[:, 0]
    if sizes != USPS_SIZES or X.shape[1] != 256 or not np.isin(y, np.arange(10)).all() or np.abs(X).max() > 1:
        raise InvalidInputError(
            f"{train.name} and {test.name} hold {sizes[0]} and {sizes[1]} images of {X.shape[1]} pixels up "
            f"to {np.abs(X).max():g} and digits {y.min():g} to {y.max():g}; USPS has {USPS_SIZES[0]} and "
            f"{USPS_SIZES[1]} of 256 pixels up to 1 and digits 0 to 9"
        )
    X, y = X.astype(np.float32), y.astype(np.int16)
    # LIBSVM's files have checksums of their own.
    if train.suffix == ".gz" and hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest() != USPS_CONTENT:
        raise InvalidInputError(f"{train.name} and {test.name} hold other images than the published archive")
    return {"X": X, "y": y, "n_train": np.array(sizes[0])}


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
        raise InvalidInputError(f"not a file of compress: it starts with {content[:3]!r}; download it again.")
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
                raise InvalidInputError(
                    f"code {code} in a table of {len(table)}: the file is damaged; download it again."
                )
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
    n_speakers, X = tuple(int(turn[-1]) for turn in turns), np.vstack(tables)
    y = X[:, -1] - 1
    largest = float(np.abs(X[:, :-1]).max())
    if n_speakers != ISOLET_SPEAKERS or X.shape[1] != 618 or not np.isin(y, np.arange(26)).all() or not largest <= 1:
        raise InvalidInputError(
            f"{first.name} and {second.name} hold {n_speakers[0]} and {n_speakers[1]} speakers, {X.shape[1] - 1} "
            f"features up to {largest:g} and letters {y.min() + 1:g} to {y.max() + 1:g}; Isolet has "
            f"{ISOLET_SPEAKERS[0]} and {ISOLET_SPEAKERS[1]}, 617 up to 1, and 1 to 26"
        )
    speaker = np.concatenate([turns[0], n_speakers[0] + turns[1]])
    return {
        "X": X[:, :-1].astype(np.float32),
        "y": y.astype(np.int16),
        "speaker": speaker.astype(np.int16),
        "group": (1 + (speaker - 1) // 30).astype(np.int16),
        "n_train": np.array(len(tables[0])),
    }


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
            raise InvalidInputError(f"{path.name} announces a table of {announced}, but holds {tables[-1].shape}")
    X, sizes = np.vstack(tables), tuple(len(table) for table in tables)
    y, pixels = X[:, -1], X[:, :-1]
    in_range = bool(((pixels >= 0) & (pixels <= 1)).all())
    if sizes != FACES_SIZES or X.shape[1] != 362 or not np.isin(y, (-1, 1)).all() or not in_range:
        raise InvalidInputError(
            f"{train.name} and {test.name} hold {sizes[0]} and {sizes[1]} images of {X.shape[1] - 1} pixels from "
            f"{pixels.min():g} to {pixels.max():g}, labels {y.min():g} to {y.max():g}; the CBCL faces are "
            f"{FACES_SIZES[0]} and {FACES_SIZES[1]} of 361 from 0 to 1, labels -1 and 1"
        )
    return {"X": X[:, :-1].astype(np.float32), "y": y.astype(np.int16), "n_train": np.array(sizes[0])}
