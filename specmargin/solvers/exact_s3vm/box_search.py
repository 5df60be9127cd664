r"""Exact minimisation of S3VMs with the squared hinge: boxes, products of boxes, and few nodes.

In x, decision plus slack (`MarginSpace`), all labels are one constraint, |x_j| >= 1. At a node the boxes that hold
every better point (`MarginBox`) are cut by rigorous dual values, and their products (`Products`) tighten an SDP whose
bound is proved by one Cholesky factor (`product_bound`). The open node of the lowest bound is next. It branches on the
sample of largest theta_j (1 - x_j^2), its share of what the relaxation gains by leaving the signs open. Below twelve
free samples the labelings are enumerated.

References
----------
Piccialli, Schwiddessen & Sudoso, Optimization meets machine learning: an exact algorithm for semi-supervised support
vector machines, arXiv 2312.09789: boxes and products, by commercial solvers.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable

import numpy as np

from specmargin.results import History
from specmargin.solvers.exact_s3vm.box_nodes import Bounding, BoxNode
from specmargin.solvers.exact_s3vm.margin_boxes import MarginBox
from specmargin.solvers.exact_s3vm.margin_search import MarginSearch
from specmargin.solvers.exact_s3vm.margin_space import MarginSpace
from specmargin.solvers.exact_s3vm.pivoting import LabeledPoint
from specmargin.typing import FloatArray

__all__ = ["BoxSearch"]

_ENUMERATED = 12
_ROOT_ROUNDS = 8
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

    Examples
    --------
    >>> A = np.array([[-2.0], [2.0], [-1.0], [0.1], [0.9]])
    >>> search = BoxSearch(MarginSpace(A, np.full(5, 10.0), np.array([-1.0, 1.0, 0.0, 0.0, 0.0])), 1e-6)
    >>> search.run()
    >>> search.search.best.labels.tolist(), bool(search.lower >= search.search.value * (1 - 1e-6))
    ([-1.0, 1.0, -1.0, 1.0, 1.0], True)
    """

    def __init__(self, space: MarginSpace, tol: float = 1e-3, deadline: float = np.inf) -> None:
        self.space, self.deadline = space, deadline
        self.search = MarginSearch(space, deadline)
        self.bounding = Bounding(self.search, tol)
        self.history = History()
        self.nodes = 0
        """Nodes that were bounded or branched: the root, and each whose children were bounded."""
        self.closed = np.inf
        """The lowest bound of all parts that are done."""
        self.plain = self.root = self.search.known.lower
        """Bounds of the relaxation without boxes, and of the root when it was done."""
        self.root_seconds = 0.0
        self.root_box: MarginBox | None = None
        """The box of the root when it was done."""
        self._heap: list[tuple[float, int, BoxNode]] = []
        self._count = 0

    @property
    def lower(self) -> float:
        """The proved bound on the optimum."""
        return min(self._heap[0][0] if self._heap else np.inf, self.closed)

    def run(
        self,
        starts: list[FloatArray] | None = None,
        max_nodes: int = 1_000_000,
        progress: Callable[[int, float, float], None] | None = None,
    ) -> None:
        """Search; `starts` are labels (n,) to begin with."""
        begin = time.perf_counter()
        node = self._root(starts or [], only_known=max_nodes < 1)
        if node is not None:
            self._open(node)
        self.root, self.root_seconds = min(self.lower, self.search.value), time.perf_counter() - begin
        self._record(min(max_nodes, 1), progress)
        while self.search.best is not None and self.stopped and self.nodes < max_nodes and not self.search.late:
            children = self._branched(self._heap[0][2])
            if children is None:  # no time for it
                break
            heapq.heappop(self._heap)
            for child in children:
                self._open(child)
            self._record(1, progress)

    @property
    def stopped(self) -> bool:
        """Whether parts are open for lack of time or nodes."""
        return bool(self._heap) and self._heap[0][0] < self.bounding.level

    @property
    def finished(self) -> bool:
        """Whether every part is closed, to the tolerance."""
        return self.lower >= self.bounding.level

    def _open(self, node: BoxNode) -> None:
        self._count += 1
        heapq.heappush(self._heap, (node.proved, self._count, node))

    def _record(self, nodes: int, progress: Callable[[int, float, float], None] | None) -> None:
        """Count nodes, and tell of them."""
        self.nodes += nodes
        if nodes and progress is not None:
            progress(self.nodes, self.lower, self.search.value)
        self.history.record(objective=self.search.value, bound=self.lower, nodes=self.nodes)

    def _root(self, starts: list[FloatArray], only_known: bool) -> BoxNode | None:
        """Return the root, bounded unless by the known labels only; None where it is closed."""
        search, space = self.search, self.space
        search.offer(search.signs(search.known.x), flips=True)
        for labels in starts:
            search.offer(labels, flips=True)
        # What is proved with the factor of Q holds up to `highest` only.
        space.highest = search.value if np.isfinite(search.value) else 1.0
        node = BoxNode(search.known.lower, MarginBox.of(space.y, space.highest))
        self.root_box = node.box
        if only_known or search.best is None:
            return node
        if not len(space.free):
            return self._enumerate(node)
        relaxed = self.bounding.relax(node, None, root=True)
        if relaxed is not None:
            search.offer(search.signs(relaxed.X[-1, :-1]), flips=True)
            search.sample(relaxed.X, 20, 0)
        self.plain = node.proved
        if self.plain > (1.0 - _SMALL) * search.value:
            self.bounding.most = 1.0
        if node.lower >= self.bounding.level or not self.bounding.tighten(node, root=True):
            self._close(node)
            return None
        if self._is_small(node):
            return self._enumerate(node)
        if self.bounding.bound(node, _ROOT_ROUNDS, root=True):
            self._close(node)
            return None
        return self._enumerate(node) if self._is_small(node) else node

    def _close(self, node: BoxNode) -> None:
        """Count a part as done, by what it proves."""
        self.closed = min(self.closed, node.proved)

    @staticmethod
    def _is_small(node: BoxNode) -> bool:
        return int((node.box.labels == 0).sum()) <= _ENUMERATED

    def _branched(self, node: BoxNode) -> list[BoxNode] | None:
        """Return the children of a node that are open, bounded; None where the time did not suffice."""
        j, children = node.branching(), []
        for sign in (-1.0, 1.0):
            child = node.child(j, sign)
            bounding = self.bounding
            if not bounding.tighten(child, root=False) or (not self._is_small(child) and bounding.bound(child, 1)):
                self._close(child)
            else:  # boxes may have left few signs open, or none
                rest = self._enumerate(child) if self._is_small(child) else child
                children += [] if rest is None else [rest]
            if self.search.late:
                return None
        return children

    def _enumerate(self, node: BoxNode) -> BoxNode | None:
        """Close a node by the programs of its labelings; return it where the time did not suffice."""
        search, lowest = self.search, np.inf
        stack: list[tuple[FloatArray, LabeledPoint | None]] = [(node.box.labels, None)]
        while stack:
            if search.late:
                return node
            labels, warm = stack.pop()
            point = search.programs.solve(labels, warm)
            free = np.flatnonzero(labels == 0)
            if point.lower >= self.bounding.level or not len(free):
                if not len(free) and np.isfinite(point.value):
                    search.offer(labels)
                lowest = min(lowest, point.lower)
                continue
            j = free[int(np.argmin(np.abs(point.x[free])))]
            side = 1.0 if point.x[j] >= 0 else -1.0
            for sign in (-side, side):
                new = labels.copy()
                new[j] = sign
                stack.append((new, point))
        node.lower = max(lowest, node.lower)
        self._close(node)
        return None
