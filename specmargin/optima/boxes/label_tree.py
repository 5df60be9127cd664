r"""Parts of an exact search in x that programs with given labels bound: many nodes, each for a thousandth of an SDP.

A quadratic below J, with the labels of some samples, is a nonnegative quadratic program (`LabelPrograms`), and its
optimum a bound for all labelings of the others. The *ladder* of such quadratics is J less a share of the products that
the part's relaxation has proved: with nearly all of them the bound starts at the relaxation's, with none it ends at J
of the labeling itself. A node goes down the ladder as long as that raises its bound.

**Branching.** While the same margins bind, the label s of a free sample j adds (1 - s x_j)^2 / 2d_j to the bound, with
d_j = Q_jj less what the binding margins explain of it. The sample of the largest product of both gains is next.

**Order and effort.** The node of the lowest bound is next: whatever the incumbent is, no node is split whose bound
exceeds the optimum. That bound grows by nearly the same amount whenever the nodes double. So it is known early how many
it takes to the level; where they are too many, the tree ends, and the bound that it has reached is kept.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from specmargin.optima.boxes.log import Evidence, Step
from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.pivoting import LabeledPoint, LabelPrograms
from specmargin.optima.boxes.product_bound import product_bound
from specmargin.optima.boxes.products import Products
from specmargin.rounding import cholesky
from specmargin.typing import FloatArray

__all__ = ["LabelTree"]

_SHARES = (0.98, 0.8, 0.6, 0.4, 0.2)
"""Shares of the multipliers on the ladder, J itself after them."""
_TRIED, _MOST = 128, 8192.0
"""Nodes before the tree is judged, and those that it may be expected to take."""
_PER_SQUARE, _PER_SAMPLE = 1 / 128, 3.0
"""Nodes, per n^2 and per n, that a tree has in any case where a relaxation was solved: they take no longer than it."""
_BEYOND = 1e-9
"""What a margin may be short of 1 where a point counts as one of its labels."""
_LESSER = 1e-3
"""Weight of the lesser gain of both labels, added to the product of both."""


@dataclass(frozen=True, eq=False)
class _Rung:
    """A quadratic of the ladder: its programs, and the step of the log that holds its products; None for J itself."""

    programs: LabelPrograms
    step: Step | None


@dataclass(frozen=True, order=True)
class _Node:
    """An open node: its bound, the order of opening, its point and the rung of that, and its number in the log."""

    lower: float
    count: int
    point: LabeledPoint = field(compare=False)
    at: int = field(compare=False)
    number: int = field(compare=False)


class LabelTree:
    """The tree of one part.

    Parameters
    ----------
    search : MarginSearch
        Search that holds the incumbent, and the programs of J.
    tol : float
        Relative gap that is to be proved.
    labels : ndarray of shape (n,)
        Those that are known in the part, 0 for the others.
    evidence : Evidence
        What is proved of the part; splits and steps are added.
    products : Products, optional
        What is not negative in the part; None leaves J itself only.
    lam : ndarray of shape (m,), optional
        Multipliers of the products.

    Examples
    --------
    >>> from specmargin.optima.boxes.margin_space import MarginSpace
    >>> A = np.array([[-2.0], [2.0], [-1.0], [0.1], [0.9]])
    >>> search = MarginSearch(MarginSpace(A, np.full(5, 10.0), np.array([-1.0, 1.0, 0.0, 0.0, 0.0])))
    >>> tree = LabelTree(search, 1e-6, search.space.y, Evidence())
    >>> tree.run(), search.best.labels.tolist(), bool(tree.lower >= search.value * (1 - 1e-6))
    (True, [-1.0, 1.0, -1.0, 1.0, 1.0], True)
    """

    def __init__(
        self,
        search: MarginSearch,
        tol: float,
        labels: FloatArray,
        evidence: Evidence,
        products: Products | None = None,
        lam: FloatArray | None = None,
    ) -> None:
        self.search, self.tol, self.labels, self.evidence = search, tol, labels, evidence
        self.products, self.lam = products, lam
        self.n_nodes = 0
        """Nodes that were split."""
        self.closed = np.inf
        """The lowest bound of the labelings that are done."""
        n = len(labels)
        self._tried = _TRIED if products is None else max(_TRIED, int(n * min(_PER_SQUARE * n, _PER_SAMPLE)))
        self._shares = () if products is None else _SHARES
        self._rungs: dict[int, _Rung | None] = {len(self._shares): _Rung(search.programs, None)}
        self._heap: list[_Node] = []
        self._count = 0

    @property
    def level(self) -> float:
        """The value that a better point would have to be below."""
        return self.search.level(self.tol)

    @property
    def lower(self) -> float:
        """The proved bound."""
        return min(self._open, self.closed)

    @property
    def _open(self) -> float:
        return self._heap[0].lower if self._heap else np.inf

    def run(self) -> bool:
        """Split nodes until none is left below the level; False where that takes too long."""
        self._bound(self.labels, None, 0, 0, -np.inf)
        ago = self._open  # the bound when there were half as many
        while self._open < self.level:
            if not self.n_nodes & (self.n_nodes - 1):
                if self.n_nodes >= self._tried and self._expected(ago) > _MOST:
                    return False
                ago = self._open
                self.search.offer(self.search.signs(self._heap[0].point.x))
            if self.search.late:
                return False
            self._split(heapq.heappop(self._heap))
        return True

    def _expected(self, ago: float) -> float:
        """Return how many nodes the tree takes if their doubling raises the bound by what it last did."""
        pace, left = self._open - ago, self.level - self._open
        doublings = left / pace if pace > 0 else np.inf
        return float(min(2.0 ** min(np.sum(self.labels == 0), 500.0), self.n_nodes * 2.0 ** min(doublings, 500.0)))

    def _split(self, node: _Node) -> None:
        """Bound both parts of a node."""
        self.n_nodes += 1
        j = self._branching(node)
        for sign, number in zip((-1.0, 1.0), self.evidence.split(node.number, j), strict=True):
            labels = node.point.labels.copy()
            labels[j] = sign
            self._bound(labels, node.point, node.at, number, node.lower)

    def _bound(self, labels: FloatArray, warm: LabeledPoint | None, at: int, number: int, lower: float) -> None:
        """Bound a node down the ladder from a rung of it, and keep it open unless it is done."""
        space, last, known = self.search.space, len(self._shares), lower
        labels = space.decided(labels)
        if labels.all():
            at = last
        best, step = None, None
        for k in range(at, last + 1):
            rung = self._rung(k)
            if rung is None:
                continue
            point = rung.programs.solve(labels, best or warm)
            if best is not None and not point.lower > best.lower:
                break
            best, step, at, lower = point, rung.step, k, max(lower, point.lower)
            if lower >= self.level:
                break
        assert best is not None
        if best.lower > known:
            self.evidence.labeled(number, best, step)
        complete = np.where(labels == 0, np.sign(best.x), labels)
        if at == last and (np.abs(best.x[labels == 0]) >= 1.0 - _BEYOND).all() and space.is_possible(complete):
            if np.isfinite(best.value):
                self.search.offer(complete)
            self.closed = min(self.closed, lower)
            return
        self._count += 1
        heapq.heappush(self._heap, _Node(lower, self._count, best, at, number))

    def _rung(self, k: int) -> _Rung | None:
        """Return a quadratic of the ladder; None where its share of the multipliers proves nothing."""
        if k not in self._rungs:
            assert self.products is not None
            assert self.lam is not None
            space, rung = self.search.space, None
            proof = product_bound(space, self.products, _SHARES[k] * self.lam)
            if proof is not None:
                programs = LabelPrograms(space, proof.quadratic())
                rung = _Rung(programs, self.evidence.bounded(self.products, proof.lam))
            self._rungs[k] = rung
        return self._rungs[k]

    def _branching(self, node: _Node) -> int:
        """Return the free sample whose two labels raise the bound most."""
        rung, point = self._rung(node.at), node.point
        assert rung is not None
        Q, free, active = rung.programs.reduced.Q, np.flatnonzero(point.labels == 0), np.flatnonzero(point.active)
        own = Q.diagonal()[free]
        factor = cholesky(np.array(Q[np.ix_(active, active)], order="F")) if len(active) else None
        if factor is not None:
            explained = solve_triangular(factor, Q[np.ix_(active, free)], lower=True, check_finite=False)
            own = np.maximum(own - (explained**2).sum(axis=0), _BEYOND * own)
        room = self.level - node.lower
        below, above = (
            np.minimum(np.maximum(1.0 + side * point.x[free], 0.0) ** 2 / (2.0 * own), room) for side in (1.0, -1.0)
        )
        gains = below * above + _LESSER * room * np.minimum(below, above)
        if not gains.any():  # all are beyond their margins, but not as many of each label as a count asks for
            return int(free[np.argmin(np.abs(point.x[free]))])
        return int(free[np.argmax(gains)])
