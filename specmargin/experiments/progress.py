"""Progress on the error stream while figures are made: a bar per figure, one for all, or none.

The first needs rich, the second tqdm; with neither installed nothing is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

__all__ = ["Report", "figure_bars"]

Report = Callable[[str, str], None]
"""Called with the figure's name and the stage that it has reached."""


@contextmanager
def figure_bars(names: Sequence[str], enabled: bool) -> Iterator[Report]:
    """Yield a function to be told (name, stage).

    Parameters
    ----------
    names : sequence of str
        Figures that will be made.
    enabled : bool
        Whether to show anything.

    Yields
    ------
    callable
        Takes a name and one of ``"computing"``, ``"waiting or running"``, ``"drawing"``, ``"done"`` and
        ``"failed"``.
    """
    if not enabled:
        yield lambda name, stage: None
        return
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
    )
    share = {"computing": 0, "waiting or running": 0, "drawing": 2, "done": 3, "failed": 3}
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks = {name: progress.add_task(name, total=3, start=False, stage="") for name in names}

        def report(name: str, stage: str) -> None:
            progress.start_task(tasks[name])
            progress.update(tasks[name], completed=share[stage], stage=stage)

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
