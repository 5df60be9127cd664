"""Workers of the exact search in x: the parts of several nodes, bounded here or in other processes."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.nodes import Bounding, BoxNode
from specmargin.optima.boxes.pivoting import LabeledPoint

__all__ = ["Part", "Workers"]


@dataclass(eq=False)
class Part:
    """A part that was bounded, the best point that was met, and what that took: relaxations, cuts of one, programs."""

    node: BoxNode
    best: LabeledPoint | None
    n_sdp: int
    n_cuts: int
    n_programs: int


class Workers:
    """Processes that bound parts, within a `with`.

    What comes out depends on the nodes and the incumbent alone: every part has a search of its own.

    Parameters
    ----------
    bounding : Bounding
        How parts are bounded, with the search that holds the incumbent.
    n_jobs : int
        Processes, as of joblib; with 1 there is no other one.
    """

    def __init__(self, bounding: Bounding, n_jobs: int) -> None:
        self.bounding, self.n_jobs = bounding, n_jobs
        self._parallel: Any = None

    def __enter__(self) -> Workers:
        if self.n_jobs != 1:
            from joblib import Parallel

            # Arrays in shared memory could not be written to, and begin elsewhere than others.
            self._parallel = Parallel(self.n_jobs, max_nbytes=None).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._parallel is not None:
            self._parallel.__exit__(kind, error, trace)

    def bounded(self, nodes: list[BoxNode]) -> list[tuple[Part | None, Part | None]]:
        """Return both parts of every node, None for those that the time did not suffice for."""
        search = self.bounding.search
        # Of all clocks this is the one that processes share.
        until = time.time() + (search.deadline - time.perf_counter())
        own = MarginSearch(search.space, until, search.best)
        settings = replace(self.bounding, search=own, multipliers=None, n_sdp=0, n_cuts=0, n_programs=0)
        calls = [(settings, node, sign) for node in nodes for sign in (-1.0, 1.0)]
        if self._parallel is None:
            parts = [_bounded(*call) for call in calls]
        else:
            from joblib import delayed

            parts = self._parallel(delayed(_in_process)(*call) for call in calls)
        return list(zip(parts[::2], parts[1::2], strict=True))


def _in_process(settings: Bounding, node: BoxNode, sign: float) -> Part | None:
    """Bound a part with one thread of linear algebra, however many cores and processes there are."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _bounded(settings, node, sign)


def _bounded(settings: Bounding, node: BoxNode, sign: float) -> Part | None:
    given = settings.search
    search = MarginSearch(given.space, time.perf_counter() + (given.deadline - time.time()), given.best)
    if search.late:
        return None
    bounding = replace(settings, search=search)
    part = bounding.part(node, sign)
    return None if part is None else Part(part, search.best, bounding.n_sdp, bounding.n_cuts, bounding.n_programs)
