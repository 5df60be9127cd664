"""Files: written whole or not at all, read within bounds.

`replace_file` is how the package writes every file that it keeps. `read_file` reads plain files and nothing that could
keep it waiting, `parse_json` and `gunzip` say in one kind of error what they cannot read, and `Members` reads the
arrays of an npz file: nothing is unpacked before its size is known and the file is large enough for it.
"""

from __future__ import annotations

import io
import json
import math
import os
import secrets
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from cvxproof.exceptions import InvalidInputError, NotWrittenError
from cvxproof.typing import AnyArray

__all__ = [
    "KINDS",
    "BadContentError",
    "Members",
    "gunzip",
    "npy_array",
    "parse_json",
    "read_file",
    "replace_file",
    "unpacked_limit",
]

KINDS = "biufcSUMm"
"""Kinds of numpy's types that a file can hold: numbers, texts and times."""
_FREE, _RATIO = 2**26, 200
"""Bytes to which any file may be unpacked, and times its own size that it may have in addition."""
_LONGEST = 120
"""Bytes of a name that the name of a temporary file begins with; with the rest they are fewer than systems allow."""


class BadContentError(ValueError):
    """A file does not hold what it should; whoever raises its own error from this one names the file."""


# Writing


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a new file, bring it to the disk, rename: the file is the old one or the new one, whatever happens.

    A file that is there keeps its permissions, and a link leads to the same place as before. Several threads and
    processes may write to one path: one of them is the last. Missing folders are made.

    Raises
    ------
    InvalidInputError
        If the path is a folder or a device, or no path.
    NotWrittenError
        If the system cannot write there: the disk is full, the folder cannot be written into.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new" / "it.txt"
    >>> replace_file(path, b"text")
    >>> path.read_bytes(), [file.name for file in path.parent.iterdir()]
    (b'text', ['it.txt'])
    """
    named, new = f"{os.fspath(path)!r}", None
    try:
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = _mode(target, named)
        new = target.with_name(_temporary(target.name))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        # What only the owner may read must not be readable for a moment.
        with os.fdopen(os.open(new, flags, 0o666 if mode is None else 0o600), "wb") as file:
            if mode is not None:
                os.chmod(new, mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        message = f"cannot write {named}: {reason}. What was there before is kept; make room, or name another place."
        raise NotWrittenError(error.errno or 0, message) from error
    except ValueError as error:  # a zero byte
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{named} is no path ({error}); pass the name of a file.") from error
    finally:
        if new is not None:
            with suppress(OSError):
                new.unlink(missing_ok=True)


def _mode(target: Path, named: str) -> int | None:
    """Return the permissions of a file, None where there is none yet."""
    try:
        there = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(there.st_mode):
        raise InvalidInputError(f"{named} is {_what(there.st_mode)}; pass the name of a file.")
    return stat.S_IMODE(there.st_mode)


def _temporary(name: str) -> str:
    start = os.fsencode(name)[:_LONGEST].decode("utf-8", "ignore")
    return f".{start}.{secrets.token_hex(8)}.tmp"


def _what(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    kinds = {stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket", stat.S_ISCHR: "a device", stat.S_ISBLK: "a device"}
    return next((what for test, what in kinds.items() if test(mode)), "no plain file")


# Reading


def read_file(path: str | os.PathLike[str], named: str | None = None) -> bytes:
    """Return the content of a plain file.

    Parameters
    ----------
    path : str or path
    named : str, optional
        What messages call it; default ``path='...'``.

    Raises
    ------
    InvalidInputError
        If there is no such file, it cannot be read, or is a folder, a pipe or a device, which could go on for ever.

    Examples
    --------
    >>> read_file("no.npz")
    Traceback (most recent call last):
    cvxproof.exceptions.InvalidInputError: path='no.npz' does not exist; check the name and the folder, '.'.
    """
    named = f"path={os.fspath(path)!r}" if named is None else named
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise InvalidInputError(f"{named} is a folder; pass the name of a file in it.")
        if not stat.S_ISREG(mode):
            raise InvalidInputError(f"{named} is {_what(mode)}; pass the name of a file.")
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InvalidInputError(
            f"{named} does not exist; check the name and the folder, {str(Path(path).parent)!r}."
        ) from error
    except OSError as error:
        raise InvalidInputError(
            f"{named} cannot be read: {error.strerror or error}; make it readable, or name another file."
        ) from error
    except ValueError as error:  # a zero byte
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{named} is no path ({error}); pass the name of a file.") from error


def parse_json(content: bytes | str) -> Any:
    """Return what JSON says.

    Raises
    ------
    BadContentError
        If it is none, or nests deeper than Python can follow.

    Examples
    --------
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    cvxproof.files.BadContentError: it is no JSON (it nests too deep)
    """
    try:
        return json.loads(content)
    except RecursionError:
        raise BadContentError("it is no JSON (it nests too deep)") from None
    except ValueError as error:
        raise BadContentError(f"it is no JSON ({error})") from error


def unpacked_limit(n_bytes: int) -> int:
    """Return how many bytes a file of `n_bytes` may become in memory.

    Examples
    --------
    >>> unpacked_limit(0), unpacked_limit(10**6)
    (67108864, 267108864)
    """
    return _FREE + _RATIO * n_bytes


def gunzip(content: bytes) -> bytes:
    """Undo gzip.

    Raises
    ------
    BadContentError
        If it is no gzip, is cut off, or would be larger than `unpacked_limit`.

    Examples
    --------
    >>> import gzip
    >>> gunzip(gzip.compress(b"text"))
    b'text'
    """
    most, unpacker = unpacked_limit(len(content)), zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(content, most + 1)
    except zlib.error as error:
        raise BadContentError(f"it is no gzip ({error})") from error
    if len(text) > most:
        raise BadContentError(f"its {len(content)} bytes would be more than {most} in memory")
    if not unpacker.eof or unpacker.unused_data:
        raise BadContentError("it is cut off, or goes on after its end")
    return text


class Members(Mapping[str, AnyArray]):
    """Arrays of an npz file by their names, each unpacked when it is asked for.

    Parameters
    ----------
    content : bytes
        The file.

    Attributes
    ----------
    left : int
        Bytes that may still be unpacked.

    Raises
    ------
    BadContentError
        From here and from every access: if it is no zip archive, a member is compressed by anything but deflate, is no
        array of numbers, texts or times, has another size than it announces, or what was asked for so far is more than
        `unpacked_limit`.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.savez(file, X=np.eye(2), y=np.array(["a", "b"]))
    >>> members = Members(file.getvalue())
    >>> list(members), members.shape("X"), members["y"].tolist()
    (['X', 'y'], (2, 2), ['a', 'b'])
    """

    def __init__(self, content: bytes) -> None:
        try:
            self.archive = zipfile.ZipFile(io.BytesIO(content))
        except Exception as error:  # zipfile raises some ten types on damaged bytes
            raise BadContentError(f"it is no zip archive ({error})") from error
        self.left = unpacked_limit(len(content))
        self._infos = {info.filename: info for info in self.archive.infolist()}
        if len(self._infos) < len(self.archive.infolist()):
            raise BadContentError("two members of it have one name")

    @property
    def files(self) -> list[str]:
        """Names of all members."""
        return list(self._infos)

    def __iter__(self) -> Iterator[str]:
        return (name.removesuffix(".npy") for name in self._infos if name.endswith(".npy"))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> AnyArray:
        if f"{name}.npy" not in self._infos:
            raise KeyError(name)
        return npy_array(self.read(f"{name}.npy"), name)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that an array announces, without reading it."""
        with _as_bad(name), self._open(f"{name}.npy") as file:
            return _announced(file, name)[0]

    def read(self, member: str, most: int | None = None) -> bytes:
        """Return the bytes of a member, of which there may be `most`."""
        info = self._infos.get(member)
        if info is None:
            raise BadContentError(f"it has no member {member!r}")
        if info.file_size > (self.left if most is None else min(most, self.left)):
            raise BadContentError(
                f"{member!r} would be {info.file_size} bytes in memory, more than a file of this size may have"
            )
        self.left -= info.file_size
        with _as_bad(member), self._open(member) as file:
            content = file.read(info.file_size + 1)
        if len(content) != info.file_size:
            raise BadContentError(f"{member!r} has other than the {info.file_size} bytes that are announced")
        return content

    def _open(self, member: str) -> IO[bytes]:
        info = self._infos[member]
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BadContentError(f"{member!r} is compressed in the way {info.compress_type}; only deflate is read")
        return self.archive.open(info)


def npy_array(content: bytes, name: str) -> AnyArray:
    """Return an array from the format of npy: writeable, and with the memory that its header announces.

    Raises
    ------
    BadContentError
        If it is none of numbers, texts or times, or of another size.
    """
    file = io.BytesIO(content)
    with _as_bad(name):
        shape, fortran, dtype = _announced(file, name)
        count = math.prod(shape)
        order: Literal["C", "F"] = "F" if fortran else "C"
        if len(content) - file.tell() != count * dtype.itemsize or (count and not dtype.itemsize):
            raise BadContentError(f"the array {name!r} has the shape {shape}, but other than {count} numbers")
        if not count:
            return np.zeros(shape, dtype, order=order)
        return np.frombuffer(content, dtype, count, file.tell()).copy().reshape(shape, order=order)


def _announced(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, Any]:
    """Return shape, order and type that an array has by its header."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise BadContentError(f"the array {name!r} is in version {version} of the format npy; 1.0 and 2.0 are read")
    shape, fortran, dtype = readers[version](file)
    if dtype.kind not in KINDS:
        why = "only pickle could read" if dtype.hasobject else "is no number, text or time"
        raise BadContentError(f"the array {name!r} holds {dtype}, which {why}")
    if any(size < 0 for size in shape):
        raise BadContentError(f"the array {name!r} has the shape {shape}")
    return shape, fortran, dtype


@contextmanager
def _as_bad(name: str) -> Iterator[None]:
    """Turn whatever zipfile, zlib and numpy raise for damaged bytes into one kind of error."""
    try:
        yield
    except BadContentError:
        raise
    except Exception as error:  # some ten types
        raise BadContentError(f"{name!r} cannot be read ({type(error).__name__}: {error})") from error
