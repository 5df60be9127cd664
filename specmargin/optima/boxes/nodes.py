"""Nodes of the exact search in x: boxes, cuts and bounds of a part of the label tree of an S3VM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from specmargin.optima.boxes.label_tree import LabelTree
from specmargin.optima.boxes.log import Evidence
from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.product_bound import ProductBound, product_bound
from specmargin.optima.boxes.product_sdp import product_sdp
from specmargin.optima.boxes.products import Cut, Products, Triangle, separate, separate_triangles
from specmargin.typing import FloatArray

__all__ = ["BoxNode", "Bounding"]

_FEW = 12
_KEPT = 3e-3
"""Share of the largest multiplier above which a cut is kept."""
_KEPT_TRIANGLES = 0.02
"""The same of triangles, relative to the largest multiplier of a triangle."""
_TRIANGLES = 2.0, 4.0
"""Triangles per sample that a round may add, and that a node may have."""
_CANDIDATES = 250
"""Samples that triangles are looked for among: those that cost the relaxation most."""
_TOLERANCE = {True: 2e-3, False: 4e-3}
"""Relative gap of the relaxation, at the root and elsewhere."""
_MANY = 600
"""Samples beyond which a step of the relaxation takes a second: few cuts, at once, after a rough first relaxation."""
_ROUGH = 1e-2
"""Relative gap of that one, which says where to cut, where no other solver has it sooner."""
_SHARES = {True: (0.5, 0.8, 0.95), False: (0.8,)}
"""Shares of the diagonal multipliers in the quadratics that boxes are tightened by."""
_GAIN = {True: 0.03, False: 0.2}
"""Share of what is missing to the level that another round of cuts must gain."""


@dataclass(eq=False)
class BoxNode:
    """A part of the tree: a box, a proved bound over it, and what its relaxation left for its children.

    `lower` is infinite where the box is empty. What it proves for the part is `proved`: outside the box J is only known
    to be at least the level that the box was cut at.
    """

    lower: float
    box: MarginBox
    cuts: list[Cut] = field(default_factory=list)
    triangles: list[Triangle] = field(default_factory=list)
    products: Products | None = None
    lam: FloatArray | None = None
    """Products of the last relaxation, and the multipliers of its bound."""
    x: FloatArray | None = None
    number: int = 0
    """Its number in the log."""
    closed: bool = False
    """Whether it is done: no point of it is better than the level."""
    evidence: Evidence = field(default_factory=Evidence)
    """What the log has not taken yet."""

    @property
    def proved(self) -> float:
        """The proved bound of the part."""
        return min(self.lower, self.box.level)

    def child(self, j: int, sign: float) -> BoxNode:
        """Return the part where sample j has that label."""
        box, cuts, triangles = self.box.with_label(j, sign), list(self.cuts), list(self.triangles)
        return BoxNode(self.lower, box, cuts, triangles, self.products, self.lam, self.x)

    def branching(self) -> int:
        """Return the free sample that costs the relaxation most: theta_j (1 - x_j^2)."""
        free = np.flatnonzero(self.box.labels == 0)
        if self.products is None or self.lam is None or self.x is None:
            return int(free[0])
        score = self.cost()
        # Where no variance is left, the sample that is nearest to zero.
        return int(free[np.lexsort((np.abs(self.x[free]), -score[free]))[0]])

    def cost(self) -> FloatArray:
        """Return what each sample costs the relaxation: theta_j (1 - x_j^2), zero where its label is known."""
        assert self.products is not None
        assert self.lam is not None
        assert self.x is not None
        of, theta = self.products, np.zeros(len(self.x))
        theta[of.i[of.squares]] = self.lam[of.squares]
        t, lam = of.triangles[:, :3], self.lam[len(of.i) :]
        theta += np.bincount(t.ravel(), np.repeat(lam, 3), len(theta) + 1)[:-1]
        return np.where(self.box.labels == 0, theta * np.maximum(1.0 - self.x**2, 0.0), 0.0)


@dataclass(eq=False)
class Bounding:
    """How nodes are bounded: rounds of an SDP, cuts and boxes.

    Parameters
    ----------
    search : MarginSearch
        Search that holds the incumbent.
    tol : float
        Relative gap that is to be proved.
    per_round, most : float
        Cuts that a round may add, and that a node may have, per sample.
    multipliers : callable, optional
        Multipliers of the relaxation without boxes, by a solver that has them sooner.
    triangles : bool, default True
        Whether relaxations get triangles.
    """

    search: MarginSearch
    tol: float
    per_round: float = 1.5
    most: float = 3.0
    multipliers: Callable[[], FloatArray] | None = None
    triangles: bool = True
    n_sdp: int = 0
    n_cuts: int = 0
    """The most cuts that a relaxation had."""
    n_programs: int = 0
    """Nodes of trees of labels."""

    @property
    def space(self) -> MarginSpace:
        """The problem."""
        return self.search.space

    @property
    def is_large(self) -> bool:
        """Whether relaxations are what the time goes to."""
        return len(self.space.y) > _MANY

    @property
    def level(self) -> float:
        """The value that a better point would have to be below."""
        return self.search.level(self.tol)

    def views(self, node: BoxNode, root: bool) -> list[ProductBound | None]:
        """Return what proves quadratics below J in the node: nothing for J itself, and J less diagonal products."""
        views: list[ProductBound | None] = [None]
        if node.products is not None and node.lam is not None:
            products, lam = node.products.chosen(node.products.diagonal), node.lam[node.products.diagonal]
            bounds = (product_bound(self.space, products, share * lam) for share in _SHARES[root])
            views += [bound for bound in bounds if bound is not None]
        return views

    def tighten(self, node: BoxNode, root: bool) -> bool:
        """Tighten the node's box; False where it holds no better point."""
        if not self._decided(node):
            return False
        for proof in self.views(node, root):
            below = self.space.quadratic if proof is None else proof.quadratic()
            told, until = partial(node.evidence.cut, proof), self.search.deadline
            if not node.box.tighten(below, self.level, rounds=3 if root else 1, deadline=until, told=told):
                node.lower = np.inf
                return False
        return self._decided(node)

    def _decided(self, node: BoxNode) -> bool:
        """Take the labels that a count leaves no choice of; False where it forbids those that the node has."""
        if not self.space.is_possible(node.box.labels):
            node.lower = np.inf
            return False
        node.box.decide(self.space.decided(node.box.labels))
        return True

    def relax(
        self, node: BoxNode, box: MarginBox | None, root: bool
    ) -> tuple[FloatArray, ProductBound] | tuple[None, None]:
        """Solve the relaxation and prove its bound: moments of (x, 1), and the proof; None where nothing is proved."""
        diagonal = np.flatnonzero(node.box.labels == 0) if self.is_large else None
        if node.products is not None and node.lam is not None and not root:
            # Of known samples those whose product counted.
            of, lam = node.products, node.lam
            counted = of.diagonal[(of.sign[of.diagonal] < 0) & (lam[of.diagonal] > _KEPT * lam.max(initial=0.0))]
            diagonal = np.union1d(of.i[counted], np.flatnonzero(node.box.labels == 0))
        products = Products.of(node.box.labels, box, diagonal, node.cuts if box is not None else (), node.triangles)
        lam, X = self._solved(node, products, box is None, root)
        self.n_sdp += 1
        self.n_cuts = max(self.n_cuts, len(node.cuts) + len(node.triangles))
        proof = product_bound(self.space, products, lam)
        if proof is None:
            return None, None
        node.evidence.bounded(products, proof.lam)
        X = proof.moments() if X is None else X
        node.lower, node.x = max(node.lower, proof.lower), X[-1, :-1]
        node.products, node.lam = products, proof.lam
        return X, proof

    def _solved(
        self, node: BoxNode, products: Products, plain: bool, root: bool
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return multipliers, and moments of (x, 1) where they come with them."""
        if plain and self.multipliers is not None:
            return self.multipliers(), None
        start = None if node.products is None or node.lam is None else products.taken(node.products, node.lam)
        level, until = np.inf if plain else self.level, self.search.deadline
        tol = _ROUGH if plain and self.is_large else _TOLERANCE[root]
        relaxed = product_sdp(self.space, products, start=start, tol=tol, level=level, deadline=until)
        return relaxed.lam, relaxed.X

    def bound(self, node: BoxNode, rounds: int, root: bool = False) -> bool:
        """Bound a node by rounds of cuts and boxes; whether it holds no better point."""
        for round_ in range(rounds):
            before, labels = node.lower, node.box.labels
            X, proof = self.relax(node, node.box, root)
            if node.lower >= self.level:
                return True
            if X is None or proof is None:
                return False
            better = self.search.offer(self.search.signs(X[-1, :-1]), flips=root and round_ < 2)
            if root:
                better |= self.search.sample(X, 10, round_)
            if not self._reduced(node, proof):
                return True
            renewed = better or root or bool((node.box.labels != labels).any())
            if renewed and not self.tighten(node, root):
                return True
            if not (node.box.labels == 0).any() or self.search.late:
                return False
            self.cut(node, X)
            if (round_ > 0 or self.is_large) and node.lower - before < _GAIN[root] * (self.level - node.lower):
                break
        return False

    def _reduced(self, node: BoxNode, proof: ProductBound) -> bool:
        """Cut the box by the proof of the bound; False where that leaves nothing."""
        level, box = self.level, node.box
        before = MarginBox(box.low, box.high)
        inside = proof.reduce(box, level) and box.meet(*proof.quadratic().box(level), level)
        node.evidence.cut(proof, before, box)
        if not inside:
            node.lower = np.inf
        return inside

    def cut(self, node: BoxNode, X: FloatArray) -> None:
        """Drop the cuts that do nothing, and take those that X violates most."""
        assert node.lam is not None
        n, lam = len(node.box.low), node.lam
        last = len(lam) - len(node.triangles)
        _, of_cuts, of_triangles = np.split(lam, [last - len(node.cuts), last])
        kept = [cut for cut, one in zip(node.cuts, of_cuts, strict=True) if one > _KEPT * lam.max(initial=0.0)]
        count = int(min(self.per_round * n, max(self.most * n - len(kept), 0)))
        node.cuts = kept + separate(X, node.box, kept, count)
        if self.triangles and not self.is_large:
            self._cut_by_triangles(node, X, of_triangles)

    @staticmethod
    def _cut_by_triangles(node: BoxNode, X: FloatArray, lam: FloatArray) -> None:
        """Drop triangles that do little, and take those that X violates most."""
        n, least = len(node.box.low), _KEPT_TRIANGLES * lam.max(initial=0.0)
        kept = [triangle for triangle, one in zip(node.triangles, lam, strict=True) if one > least]
        free = np.flatnonzero(node.box.labels == 0)
        free = free[np.argsort(-node.cost()[free], kind="stable")[:_CANDIDATES]]
        per_round, most = _TRIANGLES
        count = int(min(per_round * n, max(most * n - len(kept), 0)))
        node.triangles = kept + separate_triangles(X, free, kept, count)

    @staticmethod
    def is_small(node: BoxNode) -> bool:
        """Whether so few samples are free that their labelings need no relaxation."""
        return int((node.box.labels == 0).sum()) <= _FEW

    def finish(self, node: BoxNode) -> bool:
        """Bound a node by programs with labels, as far as that pays; whether it holds no better point."""
        tree = LabelTree(self.search, self.tol, node.box.labels, node.evidence, node.products, node.lam)
        finished = tree.run()
        self.n_programs += tree.n_nodes
        node.lower = max(node.lower, tree.lower)
        return finished

    def part(self, node: BoxNode, sign: float) -> BoxNode | None:
        """Return the part of a node where the sample that it branches on has that label; None where the time is up."""
        part = node.child(node.branching(), sign)
        part.closed = (
            not self.tighten(part, root=False) or (not self.is_small(part) and self.bound(part, 1)) or self.finish(part)
        )
        return None if self.search.late else part
