"""One file format for what the package saves: arrays and a JSON header in an npz file, checksummed, never pickled.

`write_archive` and `read_archive` are inverse to each other, to the last bit. What a file is for is its `kind`; what
the header and the names of the arrays mean is for those who write that kind.

A file is a zip archive without surprises: `numpy.load` reads its arrays by their names, `unzip -p FILE header.json`
shows the rest. ``header.json`` holds the kind, the versions of the format and of the package, the header itself, and of
every array its type, shape and SHA-256, so that the checksum of ``header.json`` is one of all content. Equal arrays are
stored once, under the first of their names. The comment at the end of the zip archive is the SHA-256 of all bytes
before it: nothing in the file can change unnoticed. The same content in the same order makes the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cvxproof import __version__, checks
from cvxproof.checks import shown
from cvxproof.exceptions import InvalidInputError, InvalidTypeError
from cvxproof.files import (
    KINDS,
    BadContentError,
    Members,
    npy_array,
    parse_json,
    read_file,
    replace_file,
    unpacked_limit,
)
from cvxproof.typing import AnyArray

__all__ = ["FORMAT_VERSION", "read_archive", "write_archive"]

FORMAT_VERSION = 1
"""Of the files that are written; those of later versions are refused."""

_FORMAT = "cvxproof archive"
_HEADER = "header.json"
_PAYS = 0.9
"""Share of its size to which a sample of an array must shrink for the array to be compressed,"""
_SAMPLE = 2**16
"""and the number of its bytes."""
_SEAL = b"sha256:"
_FREE, _RATIO = 2**22, 5
"""Bytes that the header of any file may have, and times the size of the file that it may have in addition."""
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError, OverflowError)
"""What is raised for a sealed file that was made wrongly."""


def write_archive(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> None:
    """Write a header and arrays to a file, which is the old one or the new one whatever happens.

    Parameters
    ----------
    path : str or path
        The file; its folder must exist.
    kind : str
        What the file holds, such as "result".
    header : mapping of str to object
        What JSON knows: texts, numbers (inf and nan, too), True, False, None, lists and mappings of them. Tuples come
        back as lists.
    arrays : mapping of str to ndarray
        Numbers, texts or times; they come back with the type, the shape and the order in memory that they have.

    Raises
    ------
    TypeError
        If the header holds what JSON does not know, or an array Python objects or numbers of extended precision.
    ValueError
        If there is no such folder, or the path is one.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "example.npz"
    >>> write_archive(path, "example", {"C": 1.0}, {"x": np.arange(3.0)})
    >>> read_archive(path, "example")
    ({'C': 1.0}, {'x': array([0., 1., 2.])})
    """
    checks.path("path", path)
    target = Path(path)
    if target.is_dir():
        raise InvalidInputError(f"path={str(path)!r} is a folder; pass the name of a file in it.")
    if not target.parent.is_dir():
        raise InvalidInputError(f"path={str(path)!r} lies in no folder that exists; make {str(target.parent)!r} first.")
    entries: dict[str, tuple[dict[str, Any], bytes]] = {}
    for name, array in arrays.items():
        if not isinstance(name, str) or not name.isprintable() or not name.strip("/") or "\\" in name:
            raise InvalidInputError(f"arrays holds the name {name!r}; take printable letters, and no backslash.")
        entries[name] = _entry(name, array)
    plain = _plain(header, "header")
    archive, size = _packed(kind, plain, entries, small=True)
    whole = size + sum(len(content) for _, content in entries.values())
    if size > _header_limit(archive) or whole > unpacked_limit(len(archive)):
        archive, _ = _packed(kind, plain, entries, small=False)  # which `read_archive` does not refuse
    replace_file(target, archive)


def _header_limit(content: bytes) -> int:
    return _FREE + _RATIO * len(content)


def _packed(
    kind: str, header: Any, entries: Mapping[str, tuple[dict[str, Any], bytes]], small: bool
) -> tuple[bytes, int]:
    """Return the file and the size of its header; a small one stores equal arrays once, and compresses."""
    members: dict[str, bytes] = {}
    table: dict[str, dict[str, Any]] = {}
    stored: dict[str, str] = {}
    for name, (entry, content) in entries.items():
        member = stored.setdefault(entry["sha256"] if small else name, f"{name}.npy")
        members.setdefault(member, content)
        table[name] = {**entry, "member": member}
    document = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": __version__,
        "kind": kind,
        "header": header,
        "arrays": table,
    }
    document["checksum"] = _digest(_canonical(document))
    text = json.dumps(document).encode()
    return _zipped({_HEADER: text, **members}, small), len(text)


def read_archive(
    path: str | os.PathLike[str], kind: str, *, prefix: str | tuple[str, ...] = ""
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Read what `write_archive` has written, if not a bit of the file has changed.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What it must hold.
    prefix : str or tuple of str, default ""
        Beginning of the names of the arrays to be returned.

    Returns
    -------
    header : dict
    arrays : dict of str to ndarray

    Raises
    ------
    ValueError
        If there is no such file, or it is no archive of the package, one of another kind, of a newer version of the
        format, truncated, or changed after it was written. The text says which.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "example.npz"
    >>> write_archive(path, "example", {}, {"data/x": np.arange(3.0), "answer/x": np.ones(1)})
    >>> read_archive(path, "example", prefix="data/")
    ({}, {'data/x': array([0., 1., 2.])})
    """
    checks.path("path", path)
    named = f"path={str(path)!r}"
    document, members = _opened(named, path)
    version = document.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InvalidInputError(
            f"{named} has the format version {version!r}, written by cvxproof {document.get('package_version')}, but "
            f"cvxproof {__version__} reads versions up to {FORMAT_VERSION}; use a newer one."
        )
    claimed = document.pop("checksum", None)
    with _made_wrongly(named):
        if claimed != _digest(_canonical(document)):
            raise InvalidInputError(
                f"{named} has a header that does not match its checksum {claimed!r}: it changed after it was written; "
                "use the original, or make it again."
            )
        if document.get("kind") != kind:
            raise InvalidInputError(
                f"{named} holds {document.get('kind')!r}, not {kind!r}; pass a file of that kind, or call what reads "
                "this."
            )
        table = document["arrays"]
        expected = {_HEADER, *(entry["member"] for entry in table.values())}
        if sorted(members.files) != sorted(expected):
            raise BadContentError(f"it holds {sorted(members.files)}, its header lists {sorted(expected)}")
        arrays = {
            name: _array(named, name, entry, members.read(entry["member"]))
            for name, entry in table.items()
            if name.startswith(prefix)
        }
        return _restored(document["header"]), arrays


def _opened(named: str, path: str | os.PathLike[str]) -> tuple[dict[str, Any], Members]:
    """Return the document and the members of a file, or say why it is no archive of the package.

    Nothing is unpacked before the checksum of the whole file is known to be right.
    """
    content = read_file(path, named)
    try:
        members = Members(content)
    except BadContentError as error:
        if content.startswith(b"PK\x03\x04"):
            raise InvalidInputError(
                f"{named} is truncated: it begins as an archive does, but after {len(content)} bytes its end is "
                "missing; copy the whole file, or make it again."
            ) from error
        what = f"begins with {content[:8]!r}" if content else "is empty"
        raise InvalidInputError(f"{named} {what}: no archive of cvxproof; {_WROTE}.") from error
    seal = members.archive.comment
    if _SEAL not in seal:
        raise InvalidInputError(
            f"{named} is a zip archive of {shown(members.files)}, but none of cvxproof, which would have a checksum "
            f"at its end; {_WROTE}."
        )
    if seal != _seal(content[: len(content) - len(seal)]):
        raise InvalidInputError(
            f"{named} does not match the checksum at its end, sha256 of all before it: it changed after it was "
            "written, or its end is missing; use the original, or make it again."
        )
    with _made_wrongly(named):
        document = parse_json(members.read(_HEADER, _header_limit(content)))
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise BadContentError(f"its {_HEADER} is none of {_FORMAT!r}")
    return document, members


_WROTE = "pass a file that was written by it, by save_result for instance"


@contextmanager
def _made_wrongly(named: str) -> Iterator[None]:
    """Turn what zipfile and numpy raise for a sealed file that `write_archive` did not write into one message."""
    try:
        yield
    except InvalidInputError:
        raise
    except _UNREADABLE as error:
        raise InvalidInputError(
            f"{named} has the right checksum, but was not written by cvxproof: {error}; {_WROTE}."
        ) from error


def _entry(name: str, value: AnyArray) -> tuple[dict[str, Any], bytes]:
    """Return what the header says of an array, and the array in the format of npy."""
    if type(value) is not np.ndarray:
        raise InvalidTypeError(f"arrays[{name!r}]={shown(value)} is a {type(value).__name__}; pass an ndarray.")
    if value.dtype.kind not in KINDS or (value.dtype.kind in "fc" and value.dtype.newbyteorder("=") not in _FLOATS):
        raise InvalidTypeError(
            f"arrays[{name!r}] holds {value.dtype}, which no file can hold without pickle, or not on all computers; "
            "pass numbers of float64, or texts."
        )
    array = value if value.flags.forc else value.copy(order="K")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    content = buffer.getvalue()
    return {"dtype": value.dtype.str, "shape": list(value.shape), "sha256": _digest(content)}, content


_FLOATS = {np.dtype(one) for one in ("f2", "f4", "f8", "c8", "c16")}


def _array(named: str, name: str, entry: Mapping[str, Any], content: bytes) -> AnyArray:
    """Return an array from the format of npy, if it is the one that the header describes."""
    array = npy_array(content, name)
    if _digest(content) != entry["sha256"] or [array.dtype.str, list(array.shape)] != [entry["dtype"], entry["shape"]]:
        raise InvalidInputError(
            f"{named} has an array {name!r} that does not match its checksum {entry['sha256']!r}: it changed after it "
            "was written; use the original, or make it again."
        )
    return array


def _zipped(members: Mapping[str, bytes], small: bool) -> bytes:
    """Return a zip archive that says nothing of time and place, with its own checksum as the comment."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            sample = content[:_SAMPLE]
            pays = small and len(zlib.compress(sample, 6)) < _PAYS * len(sample)
            archive.writestr(info, content, zipfile.ZIP_DEFLATED if pays else zipfile.ZIP_STORED, 6)
        archive.comment = _seal(b"")  # of the right length, which the bytes before it tell
    content = buffer.getvalue()[: -len(_seal(b""))]
    return content + _seal(content)


def _seal(content: bytes) -> bytes:
    return _SEAL + _digest(content).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _canonical(document: Any) -> bytes:
    """JSON of which there is one for each document."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _plain(value: Any, where: str) -> Any:
    """Return what JSON knows, with inf and nan as ``{"float": "inf"}``."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_FLOAT: str(float(value))}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) and _FLOAT not in value:
        return {key: _plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    raise InvalidTypeError(
        f"{where}={shown(value)} is of the type {type(value).__name__}, which JSON does not know; pass texts, numbers, "
        "lists and mappings of texts to them, and arrays as arrays."
    )


_FLOAT = "float"


def _restored(value: Any) -> Any:
    """Put the numbers that JSON lacks back, in place."""
    if isinstance(value, dict):
        if value.keys() == {_FLOAT}:
            return float(value[_FLOAT])
        for key, item in value.items():
            value[key] = _restored(item)
    elif isinstance(value, list):
        value[:] = map(_restored, value)
    return value
