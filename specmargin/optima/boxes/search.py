r"""Exact minimisation of S3VMs with the squared hinge: boxes, products of boxes, and few nodes.

In x, decision plus slack (`MarginSpace`), all labels are one constraint, |x_j| >= 1. At a node the boxes that hold
every better point (`MarginBox`) are cut by rigorous dual values, and their products and triangle inequalities of |x|
>= 1 (`Products`) tighten an SDP whose bound is proved by one Cholesky factor (`product_bound`). Programs with labels,
which start from that bound, go on from there where they promise to close the node, and raise its bound where they do
not (`LabelTree`); at the root they are tried before everything else. The open node of the lowest bound is next. It
branches on the sample of largest theta_j (1 - x_j^2), its share of what the relaxation gains by leaving the signs
open.

**Rounds.** The open nodes of the lowest bounds are branched `BATCH` at a time, and every part that this makes is
bounded from the same incumbent: it does not matter in how many processes, nor in what order they end. What a round has
found counts from the next one on.

References
----------
Piccialli, Schwiddessen & Sudoso, Optimization meets machine learning: an exact algorithm for semi-supervised support
vector machines, arXiv 2312.09789: boxes and products, by commercial solvers.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from joblib import Parallel

from specmargin.optima.boxes.log import BoxTreeLog, Evidence
from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.nodes import Bounding, BoxNode
from specmargin.optima.boxes.workers import bounded
from specmargin.results import History
from specmargin.typing import FloatArray

__all__ = ["BATCH", "BoxSearch"]

BATCH = 4
"""Nodes that are branched at a time."""
_ROOT_ROUNDS, _LARGE_ROUNDS = (2, 6), (8,)
"""Rounds of the root, each time before its labels are tried; those of problems where relaxations take the time."""
_FEW_CUTS = 0.5, 1.0
"""Cuts per sample that a round may add, and a node may have, where relaxations are what the time goes to."""
_SMALL = 0.02
"""Gap of the plain relaxation below which few cuts and more nodes are the quicker way."""


class BoxSearch:
    """The state of one search.

    Parameters
    ----------
    space : MarginSpace
        The problem.
    tol : float
        Relative gap that is to be proved.
    deadline : float
        Time of `time.perf_counter` to stop at; what runs then is ended within a step of its SDP.
    log : bool, default False
        Whether to keep what proves the bound.
    n_jobs : int, default 1
        Processes that bound parts.

    Examples
    --------
    >>> A = np.array([[-2.0], [2.0], [-1.0], [0.1], [0.9]])
    >>> search = BoxSearch(MarginSpace(A, np.full(5, 10.0), np.array([-1.0, 1.0, 0.0, 0.0, 0.0])), 1e-6)
    >>> search.run()
    >>> search.search.best.labels.tolist(), bool(search.lower >= search.search.value * (1 - 1e-6))
    ([-1.0, 1.0, -1.0, 1.0, 1.0], True)
    """

    def __init__(
        self, space: MarginSpace, tol: float = 1e-3, deadline: float = np.inf, *, log: bool = False, n_jobs: int = 1
    ) -> None:
        self.space, self.n_jobs = space, n_jobs
        self.log = BoxTreeLog(len(space.y)) if log else None
        self.search = MarginSearch(space, deadline)
        self.bounding = Bounding(self.search, tol)
        if self.bounding.is_large:
            self.bounding.per_round, self.bounding.most = _FEW_CUTS
        self.history = History()
        self.nodes = 0
        """Nodes that were bounded or branched: the root, and each whose children were bounded."""
        self.closed = np.inf
        """The lowest bound of all parts that are done."""
        self.plain = self.root = self.search.known.lower
        """Bounds of the relaxation without boxes, and of the root when it was done."""
        self.root_box: MarginBox | None = None
        """The box of the root when it was done."""
        self.open_nodes: list[tuple[float, int, BoxNode]] = []
        """Bounds, numbers in the order of their opening, and the nodes: a heap."""
        self.count = 0
        """Nodes that were opened."""

    @property
    def lower(self) -> float:
        """The proved bound on the optimum."""
        return min(self.open_nodes[0][0] if self.open_nodes else np.inf, self.closed)

    def run(
        self,
        starts: list[FloatArray] | None = None,
        max_nodes: int = 1_000_000,
        progress: Callable[[int, float, float], None] | None = None,
        keep: Callable[[bool], None] | None = None,
    ) -> None:
        """Search, or go on; `starts` are labels (n,) to begin with.

        `keep` is called after every whole round, and with True at the end.
        """
        if not len(self.history):
            self._begin(starts or [], max_nodes, progress)
        # Arrays in shared memory could not be written to, and begin elsewhere than others.
        with Parallel(self.n_jobs, max_nbytes=None) as parallel:
            while self.search.best is not None and self.stopped and self.nodes < max_nodes and not self.search.late:
                if keep is not None:
                    keep(False)
                if not self._round(parallel, min(BATCH, max_nodes - self.nodes), progress):
                    return
        if keep is not None:
            keep(True)

    def _begin(
        self, starts: list[FloatArray], max_nodes: int, progress: Callable[[int, float, float], None] | None
    ) -> None:
        """Bound the root."""
        node = self._root(starts, only_known=max_nodes < 1)
        self._take(node)
        self.root = min(self.lower, self.search.value)
        self._record(min(max_nodes, 1), progress)

    def _round(self, parallel: Parallel, count: int, progress: Callable[[int, float, float], None] | None) -> bool:
        """Branch the open nodes of the lowest bounds; False where the time did not suffice."""
        batch = [entry for entry in heapq.nsmallest(count, self.open_nodes) if entry[0] < self.bounding.level]
        answers, whole = bounded(self.bounding, [node for _, _, node in batch], parallel), True
        for (below, above), entry in zip(answers, batch, strict=True):
            if below is None or above is None:
                whole = False
                continue
            numbers = self._split(entry[2])
            self.open_nodes.remove(entry)
            heapq.heapify(self.open_nodes)
            for part, number in zip((below, above), numbers, strict=True):
                part.node.number = number
                self.search.take(part.best)
                self.bounding.n_sdp += part.n_sdp
                self.bounding.n_programs += part.n_programs
                self.bounding.n_cuts = max(self.bounding.n_cuts, part.n_cuts)
                self._take(part.node)
            self._record(1, progress)
        return whole

    def _split(self, node: BoxNode) -> tuple[int, int]:
        return (0, 0) if self.log is None else self.log.split(node.number, node.branching())

    def _take(self, node: BoxNode) -> None:
        """Count a part as done, by what it proves, or open it; keep what was proved of it, if that is asked for."""
        if self.log is not None:
            self.log.take(node.number, node.evidence)
        node.evidence = Evidence()
        if node.closed:
            self.closed = min(self.closed, node.proved)
        else:
            self.count += 1
            self.open(node, self.count)

    @property
    def stopped(self) -> bool:
        """Whether parts are open for lack of time or nodes."""
        return bool(self.open_nodes) and self.open_nodes[0][0] < self.bounding.level

    def open(self, node: BoxNode, count: int) -> None:
        """Add an open node that has a number."""
        heapq.heappush(self.open_nodes, (node.proved, count, node))

    def _record(self, nodes: int, progress: Callable[[int, float, float], None] | None) -> None:
        """Count nodes, and tell of them."""
        self.nodes += nodes
        if nodes and progress is not None:
            progress(self.nodes, self.lower, self.search.value)
        self.history.record(objective=self.search.value, bound=self.lower, nodes=self.nodes)

    def _root(self, starts: list[FloatArray], only_known: bool) -> BoxNode:
        """Return the root, bounded unless by the known labels only."""
        search, space, bounding = self.search, self.space, self.bounding
        search.offer(search.signs(search.known.x), flips=True)
        for labels in starts:
            search.offer(labels, flips=True)
        # What is proved with the factor of Q holds up to `highest` only.
        space.highest = search.value if np.isfinite(search.value) else 1.0
        node = BoxNode(search.known.lower, MarginBox.of(space.y, space.highest))
        node.evidence.labeled(0, search.known)
        self.root_box = node.box
        if only_known or search.best is None:
            return node
        node.closed = bounding.finish(node)
        if node.closed or search.late:
            return node
        X, proof = bounding.relax(node, None, root=True)
        if X is not None and proof is not None:
            self.plain = max(self.plain, proof.lower)
            search.offer(search.signs(X[-1, :-1]), flips=True)
            search.sample(X, 20, 0)
        if self.plain > (1.0 - _SMALL) * search.value:
            bounding.most = 1.0
        node.closed = node.lower >= bounding.level or not bounding.tighten(node, root=True)
        if not node.closed and X is not None and bounding.is_large:
            bounding.cut(node, X)
        for rounds in _LARGE_ROUNDS if bounding.is_large else _ROOT_ROUNDS:
            if not node.closed:
                node.closed = (
                    not bounding.is_small(node) and bounding.bound(node, rounds, root=True)
                ) or bounding.finish(node)
        return node
