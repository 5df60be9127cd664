"""Progress on the error stream while figures are made: a line that says how long it should take, and bars.

There is a bar per figure with rich, one for all with tqdm, and with neither the line alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["Report", "duration", "figure_bars"]

Report: TypeAlias = Callable[[str, str], None]
"""Called with a figure's name and the stage that it has reached: a key of `_SHARE`."""

_SHARE = {"computing": 0, "running": 0, "drawing": 2, "done": 3, "failed": 3}


def duration(seconds: float) -> str:
    """Return seconds as a short text.

    Examples
    --------
    >>> duration(0.2), duration(89), duration(600), duration(9000)
    ('0 s', '89 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def figure_bars(names: Sequence[str], headline: str, seconds: Mapping[str, float]) -> Iterator[Report]:
    """Write a headline, show a bar for each name with what it should take, and yield a `Report`."""
    print(headline, file=sys.stderr, flush=True)  # noqa: T201  the error stream is this module's task
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:
        with _one_bar(len(names)) as report:
            yield report
        return
    columns = (
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description}"),
        BarColumn(24),
        TextColumn("{task.fields[stage]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[expected]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        expected = {name: f"of about {duration(each)}" for name, each in seconds.items()}
        bars = {
            name: progress.add_task(name, total=3, start=False, stage="", expected=expected.get(name, ""))
            for name in names
        }

        def report(name: str, stage: str) -> None:
            progress.start_task(bars[name])
            progress.update(bars[name], completed=_SHARE[stage], stage=stage)

        yield report


@contextmanager
def _one_bar(total: int) -> Iterator[Report]:
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda name, stage: None
        return
    with tqdm(total=total, unit="figure") as bar:

        def report(name: str, stage: str) -> None:
            bar.set_postfix_str(f"{name}: {stage}")
            if stage in ("done", "failed"):
                bar.update()

        yield report
