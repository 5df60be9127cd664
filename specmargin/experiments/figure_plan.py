"""How much a figure computes, how long that takes, and in which order figures are made.

There are three sizes: ``"quick"`` is a look, ``"standard"`` is worth looking at and is the default, ``"full"`` is for
the record. What they mean for a figure stands in its script, in ``SIZES``; beside it ``SECONDS`` says what each takes
on one core, on bundled data and on the data folder, ``{"quick": (2, 3), ...}``. Both are plain literals, so that a
script need not run to be planned.
"""

from __future__ import annotations

import ast
import heapq
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from specmargin.exceptions import InvalidInputError

__all__ = ["SIZES", "Size", "duration", "expected_seconds", "longest_first", "makespan", "size_of"]

Size: TypeAlias = Literal["quick", "standard", "full"]
"""How much a figure computes."""

SIZES: tuple[Size, ...] = get_args(Size)


def size_of(quick: bool, full: bool) -> Size:
    """Return the size that two switches ask for.

    Raises
    ------
    ValueError
        If both are set.
    """
    if quick and full:
        raise InvalidInputError("quick and full exclude each other; take one, or neither for the standard size.")
    return "quick" if quick else "full" if full else "standard"


def expected_seconds(source: str, size: Size, real: bool) -> float | None:
    """Return what ``SECONDS`` of a script says, without running it.

    Parameters
    ----------
    source : str
        Text of the script.
    size : {"quick", "standard", "full"}
        What will be computed.
    real : bool
        Whether real data sets are there.

    Returns
    -------
    float or None
        Of one core; None where the script says nothing.

    Examples
    --------
    >>> expected_seconds("SECONDS = {'quick': (2, 3), 'standard': (20, 30)}", "standard", real=True)
    30.0
    """
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "SECONDS" for target in statement.targets
        ):
            told = ast.literal_eval(statement.value)
            return float(told[size][int(real)]) if size in told else None
    return None


def longest_first(paths: Iterable[Path], seconds: dict[str, float]) -> list[Path]:
    """Return scripts in the order in which they should start: what takes long must not be last."""
    return sorted(paths, key=lambda path: (-seconds.get(path.stem, 0.0), path.stem))


def makespan(seconds: Sequence[float], jobs: int) -> float:
    """Return when the last of several tasks ends, each given to the first process that is free.

    Examples
    --------
    >>> makespan([3.0, 2.0, 2.0], jobs=2)
    4.0
    """
    free = [0.0] * max(1, jobs)
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def duration(seconds: float) -> str:
    """Return seconds in words: minutes, where there are some.

    Examples
    --------
    >>> duration(14), duration(45), duration(100), duration(5000)
    ('15 seconds', '45 seconds', '2 minutes', '1 hour 23 minutes')
    """
    if seconds < 55:
        return f"{max(5, 5 * round(seconds / 5))} seconds"
    hours, minutes = divmod(max(1, round(seconds / 60)), 60)
    words = [f"{n} {unit}{'s' if n > 1 else ''}" for n, unit in ((hours, "hour"), (minutes, "minute")) if n]
    return " ".join(words)
