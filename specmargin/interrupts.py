"""What ends a long run: signals that pass through the same code as Ctrl-C, and workers that die."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from specmargin.exceptions import SpecmarginError

__all__ = ["Terminated", "WorkerDiedError", "in_order"]

_ENDING = ("SIGTERM", "SIGHUP")


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, whose name is the text and whose `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class WorkerDiedError(SpecmarginError):
    """A worker process ended without an answer: most often for want of memory."""


@contextmanager
def in_order() -> Iterator[None]:
    """Raise `Terminated` at SIGTERM or SIGHUP inside the ``with`` block.

    A handler that somebody else has set stays, and so do the signals of programs that run this in a thread.
    """

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise Terminated(number)

    ours: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
        ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
