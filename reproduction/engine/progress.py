"""Progress on the error stream while figures are made: a line that says how long it should take, and a bar."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Report: TypeAlias = Callable[[str, str], None]
"""Called with a figure's name and the stage that it has reached; "done" and "failed" are the last."""


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
def figure_bar(total: int, headline: str) -> Iterator[Report]:
    """Write a headline, show a bar of `total` figures, and yield a `Report`."""
    from tqdm import tqdm

    print(headline, file=sys.stderr, flush=True)  # noqa: T201  the error stream is this module's task
    with tqdm(total=total, unit="figure") as bar:

        def report(name: str, stage: str) -> None:
            bar.set_postfix_str(f"{name}: {stage}")
            if stage in ("done", "failed"):
                bar.update()

        yield report
