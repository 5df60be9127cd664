"""One writer to a folder: a lock of the operating system, by filelock, that ends with its process.

A process that dies, by kill -9 even, holds nothing any more. The empty file of the lock stays where it is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from specmargin.exceptions import SpecmarginError

__all__ = ["LockedError", "locked"]

_logger = logging.getLogger(__name__)


class LockedError(SpecmarginError):
    """Another process writes there; the text says what and where."""


@contextmanager
def locked(path: Path, what: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `path` inside the ``with`` block; the same process may take it again within.

    Its folder is made, and messages name `what` is locked. Where another process holds the lock, wait for it or raise
    `LockedError`.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, is_singleton=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if not wait:
            raise LockedError(
                f"Another process writes {what}. Wait for it with wait=True (--wait on the command line), or stop it; "
                "two runs side by side need two folders."
            ) from None
        _logger.warning("Another process writes %s; waiting for it", what)
        lock.acquire(poll_interval=0.2)
    try:
        yield
    finally:
        lock.release()
