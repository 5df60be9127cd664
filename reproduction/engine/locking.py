"""One writer to a folder: a lock of the operating system, by filelock, that ends with its process.

A process that dies, by kill -9 even, holds nothing any more. The empty file of the lock stays where it is, and so does
the one next to it, which has the number of the process that held it last.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from specmargin.exceptions import SpecmarginError

_logger = logging.getLogger(__name__)


class LockedError(SpecmarginError):
    """Another process writes there; the text says which, what and where."""


@contextmanager
def locked(path: Path, what: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `path` inside the ``with`` block; the same process may take it again within.

    Its folder is made, and messages name `what` is locked. Where another process holds the lock, wait for it or raise
    `LockedError`.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    lock, holder = FileLock(path, is_singleton=True), path.with_suffix(".pid")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        other = f"Another process{f' ({holder.read_text()})' if holder.is_file() else ''} writes {what}"
        if not wait:
            raise LockedError(
                f"{other}. Wait for it with wait=True (--wait on the command line), or stop it; "
                "two runs side by side need two folders."
            ) from None
        _logger.warning("%s; waiting for it", other)
        lock.acquire(poll_interval=0.2)
    try:
        with suppress(OSError):  # a full disk: the number is a courtesy
            holder.write_text(str(os.getpid()))
        yield
    finally:
        lock.release()
