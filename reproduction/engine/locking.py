"""One writer to a folder: a lock that ends with its process, however that ends.

`locked` holds a lock of the operating system on a small file, which also says who holds it. A process that dies, by
kill -9 even, holds nothing any more, so that nobody ever has to remove a lock. The file is removed with the lock.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from specmargin.exceptions import SpecmarginError
from specmargin.files import parse_json, read_file

__all__ = ["LockedError", "locked"]

_logger = logging.getLogger(__name__)
_held: set[Path] = set()
_FAR = 1 << 30  # Windows locks bytes and then nobody can read them: one beyond the text


class LockedError(SpecmarginError):
    """Another process writes there; the text says which, and since when."""


@contextmanager
def locked(path: Path, what: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `path` inside the ``with`` block; the same process may take it again within.

    Its folder is made, and messages name `what` is locked. Where another process holds the lock, wait for it or raise
    `LockedError`.
    """
    path = path.resolve()
    if path in _held:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file = _acquired(path, what, wait)
    _held.add(path)
    try:
        yield
    finally:
        _held.remove(path)
        # Removed before the lock ends: whoever waits sees that it is another file, or none.
        with suppress(OSError):
            path.unlink()
        os.close(file)


def _acquired(path: Path, what: str, wait: bool) -> int:
    """Return the open file of the lock, once it is ours."""
    told = False
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            free = _try(file)
            # Its last holder may have removed the file between the two steps: then it is a lock of nothing.
            if free and _same(file, path):
                _sign(file)
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        if free:
            continue
        holder = _holder(path)
        if not wait:
            raise LockedError(
                f"{holder} writes {what}. Wait for it with wait=True (--wait on the command line), or stop it; two "
                "runs side by side need two folders."
            )
        if not told:
            _logger.warning("%s writes %s; waiting for it", holder, what)
            told = True
        time.sleep(0.2)


def _try(file: int) -> bool:
    """Lock without waiting; True, with a warning, also where the file system knows no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, _FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            return False
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS):
            raise
        _logger.warning("this file system has no locks: two runs in one folder would not notice each other")
    return True


def _same(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _sign(file: int) -> None:
    holder = {
        "process": os.getpid(),
        "host": platform.node(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else "",
    }
    with suppress(OSError):  # a full disk: the lock holds without its text
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, json.dumps(holder).encode())


def _holder(path: Path) -> str:
    try:
        holder = parse_json(read_file(path))
        host = "" if holder["host"] == platform.node() else f" on {holder['host']}"
        return f"Process {holder['process']}{host} ({holder['command']}, since {holder['since']})"
    except (ValueError, KeyError, TypeError):  # not yet signed
        return "Another process"
