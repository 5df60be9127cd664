"""The parts of several nodes of the exact search in x, bounded here or in other processes."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.nodes import Bounding, BoxNode
from specmargin.optima.boxes.pivoting import LabeledPoint

__all__ = ["Part", "bounded"]


@dataclass(eq=False)
class Part:
    """A part that was bounded, the best point that was met, and what that took: relaxations, cuts of one, programs."""

    node: BoxNode
    best: LabeledPoint | None
    n_sdp: int
    n_cuts: int
    n_programs: int


def bounded(bounding: Bounding, nodes: list[BoxNode], parallel: Parallel) -> list[tuple[Part | None, Part | None]]:
    """Return both parts of every node, None for those that the time did not suffice for.

    What comes out depends on the nodes and the incumbent alone: every part has a search of its own.

    Parameters
    ----------
    bounding : Bounding
        How parts are bounded, with the search that holds the incumbent.
    nodes : list of BoxNode
    parallel : joblib.Parallel
        What runs them, here or in other processes.
    """
    search = bounding.search
    # Of all clocks this is the one that processes share.
    until = time.time() + (search.deadline - time.perf_counter())
    own = MarginSearch(search.space, until, search.best)
    settings = replace(bounding, search=own, multipliers=None, n_sdp=0, n_cuts=0, n_programs=0)
    here = parallel.n_jobs == 1
    parts = parallel(delayed(_bounded)(settings, node, sign, here) for node in nodes for sign in (-1.0, 1.0))
    return list(zip(parts[::2], parts[1::2], strict=True))


def _bounded(settings: Bounding, node: BoxNode, sign: float, here: bool) -> Part | None:
    """Bound a part; elsewhere with one thread of linear algebra, however many cores and processes there are."""
    given = settings.search
    search = MarginSearch(given.space, time.perf_counter() + (given.deadline - time.time()), given.best)
    if search.late:
        return None
    bounding = replace(settings, search=search)
    with nullcontext() if here else threadpool_limits(1):
        part = bounding.part(node, sign)
    return None if part is None else Part(part, search.best, bounding.n_sdp, bounding.n_cuts, bounding.n_programs)
