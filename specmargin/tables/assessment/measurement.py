"""Seconds, memory and size of a piece of work, the time that is left of a budget, and the memory that is free."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from specmargin.arrays import available_memory
from specmargin.typing import AnyArray, IntArray, Matrix

__all__ = ["Budget", "BudgetExceededError", "Meter", "Size", "available_memory", "labeled_rows"]

_EVERY = 0.01  # seconds between two looks at the memory
_STATM = Path("/proc/self/statm")


class BudgetExceededError(Exception):
    """The time that a comparison may take is over; the text says how much of a method was done."""


class Budget:
    """Seconds that may be spent, counted from when this is made; None means without end.

    Parameters
    ----------
    seconds : float or None
    clock : callable
        Returns the time.
    start : float, optional
        Time by that clock; now by default.

    Examples
    --------
    >>> Budget(None).left, Budget(60.0).left > 59.0
    (inf, True)
    """

    def __init__(
        self, seconds: float | None, clock: Callable[[], float] = time.monotonic, start: float | None = None
    ) -> None:
        self.seconds, self._clock, self._start = seconds, clock, clock() if start is None else start

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    @property
    def left(self) -> float:
        """Seconds that are left; negative when more were spent."""
        return float("inf") if self.seconds is None else self.seconds - self.spent


class Meter:
    """Measure the seconds and the additional memory of a ``with`` block.

    Attributes
    ----------
    seconds : float
    peak_bytes : float
        Largest resident memory less that at the start; nan where the system does not tell.

    Examples
    --------
    >>> with Meter() as meter:
    ...     held = bytearray(10)
    >>> meter.seconds >= 0
    True
    """

    seconds: float = 0.0
    peak_bytes: float = float("nan")

    def __enter__(self) -> Self:
        self._started, self._first = time.perf_counter(), _resident()
        self._peak, self._over = self._first, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(_EVERY):
            self._peak = max(self._peak, _resident())

    def __exit__(self, *_: Any) -> None:
        self._over.set()
        self._thread.join()
        self.seconds = time.perf_counter() - self._started
        self.peak_bytes = max(self._peak, _resident()) - self._first


def _resident() -> float:
    """Return the resident memory in bytes; elsewhere than on Linux its maximum so far, nan if that is unknown."""
    try:
        return float(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        try:
            import resource
        except ImportError:
            return float("nan")
        unit = 1.0 if sys.platform == "darwin" else 1024.0
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def labeled_rows(codes: AnyArray) -> IntArray:
    """Return the rows that have a label: a code of a class from 0, or a number that is not nan.

    Examples
    --------
    >>> labeled_rows(np.array([1, -1, 0])).tolist(), labeled_rows(np.array([-2.5, np.nan])).tolist()
    ([0, 2], [0])
    """
    return np.flatnonzero(~np.isnan(codes) if codes.dtype.kind == "f" else codes >= 0)


@dataclass(frozen=True)
class Size:
    """What methods need to know of the data: rows, labels, numbers stored."""

    n: int
    l: int
    stored: int

    @classmethod
    def of(cls, X: Matrix, codes: IntArray) -> Size:
        """Return the size of features and of the codes of their classes."""
        return cls(X.shape[0], len(labeled_rows(codes)), int(X.nnz if hasattr(X, "nnz") else X.size))
