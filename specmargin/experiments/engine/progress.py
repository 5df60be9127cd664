"""Progress on the error stream while figures are made: a line that says how long it should take, and bars.

There is a bar per figure with rich, one for all with tqdm, and with neither the line alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

__all__ = ["Report", "figure_bars"]

Report = Callable[[str, str], None]
"""Called with the figure's name and the stage that it has reached."""


@contextmanager
def figure_bars(
    names: Sequence[str], enabled: bool, *, seconds: Mapping[str, float] | None = None, headline: str = ""
) -> Iterator[Report]:
    """Yield a function to be told (name, stage).

    Parameters
    ----------
    names : sequence of str
        Figures that will be made.
    enabled : bool
        Whether to show anything.
    seconds : mapping, optional
        What each figure should take, written beside its bar.
    headline : str, default ""
        Written first.

    Yields
    ------
    callable
        Takes a name and one of ``"computing"``, ``"running"``, ``"drawing"``, ``"done"`` and ``"failed"``.
    """
    if not enabled:
        yield lambda name, stage: None
        return
    if headline:
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
    share = {"computing": 0, "running": 0, "drawing": 2, "done": 3, "failed": 3}
    with Progress(*columns, console=Console(stderr=True)) as progress:
        expected = {name: f"of about {_clock(told)}" for name, told in (seconds or {}).items()}
        tasks = {
            name: progress.add_task(name, total=3, start=False, stage="", expected=expected.get(name, ""))
            for name in names
        }

        def report(name: str, stage: str) -> None:
            progress.start_task(tasks[name])
            progress.update(tasks[name], completed=share[stage], stage=stage)

        yield report


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


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
