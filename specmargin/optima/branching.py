r"""Exact minimisation of S3VM objectives: branch and bound over the labels of the unlabelled samples.

At a node some labels are decided: those samples are labelled samples of weight C*, the others keep their parabolas
(`specmargin.optima.S3VMRelaxation.assigned`). A node whose proved bound exceeds the best known J is done; the
others branch on the sample whose loss is furthest above its parabola.

**The SVM of the decided samples alone** (`LabelSVMs`) is a second bound, and at a leaf the exact one, solved by an
active set to rounding at any weights. Where few samples are free, their labelings are enumerated depth first by it:
every SVM is a warm start for its children, and a node is done as well where all free samples are beyond the margin.

**Order.** Every second node is the open one of the lowest bound, the others go depth first: the proof at a stop is the
lowest bound of all open nodes, and pure depth first leaves that at the root's.

**Squared hinges** of up to 1,200 samples are minimised in decision plus slack instead, by boxes, their products and few
nodes (`specmargin.optima.boxes.search`). The hinge and exp(-s f^2) stay here: a slack that costs nothing of
second order leaves no strictly convex quadratic in x, which boxes and products live on. The two searches share neither
bounds nor logs.

**A free intercept** is penalised by next to nothing (`specmargin.optima.free_intercept`).

**exp(-s f^2)** has no labels. Its sign is branched upon all the same, with the convex envelope of the loss on the
decided side. A leaf keeps a gap where 0 < |f| < 0.65 (s = 3): it is split further, into intervals of the decisions
(`specmargin.optima.boxes.decision_boxes`), until it is closed or the time is up.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.boxes.by_boxes import SAMPLES, by_boxes, is_for_boxes, refuse_boxes
from specmargin.optima.boxes.decision_boxes import Box, ExpBoxes
from specmargin.optima.free_intercept import by_penalty
from specmargin.optima.label_qp import PIVOTED
from specmargin.optima.local_search import LocalSearch
from specmargin.optima.nodes import Incumbent, Node, answered, bounded, by_labels, judged, root_node
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.optima.tree_log import TreeLog
from specmargin.results import History, SolveResult, Status
from specmargin.solvers.parts import require
from specmargin.solvers.s3vm.precision import start_vector
from specmargin.solvers.s3vm.weighted_svm import supervised_svm
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "REQUIRES_PAIR", "REQUIRES_UNLABELED", "branch_and_bound"]

REQUIRES, REQUIRES_UNLABELED = ("convex", "nonincreasing"), ("convex_in_square",)
REQUIRES_PAIR = ("slack_power", "smooth")
"""The searches by labels solve SVMs with hinges exactly; with exp(-s f^2) boxes of decisions take any labelled loss."""

_ENUMERATED = (5, 12)
"""Free samples whose labelings are enumerated: in any case, and where the SVM of the others is half the optimum."""


_SPLITS = 20_000
"""Boxes of one leaf with exp(-s f^2)."""


class _OpenNodes:
    """The open nodes, by the order of their creation and by their bounds."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self._heap: list[tuple[float, int]] = []
        self._count = 0

    def push(self, node: Node) -> None:
        self.nodes[self._count] = node
        heapq.heappush(self._heap, (node.lower, self._count))
        self._count += 1

    def pop(self, lowest: bool) -> Node:
        """Return the node of the lowest bound, or the youngest."""
        return self.nodes.pop(self._lowest()[1]) if lowest else self.nodes.popitem()[1]

    def _lowest(self) -> tuple[float, int]:
        while self._heap[0][1] not in self.nodes:
            heapq.heappop(self._heap)
        return self._heap[0]

    def lower(self) -> float:
        """Return the lowest bound of all open nodes."""
        return self._lowest()[0] if self.nodes else np.inf


def branch_and_bound(
    obj: S3VM,
    w: FloatArray | None = None,
    *,
    tol: float = 1e-6,
    time_limit: float = 60.0,
    max_nodes: int = 1_000_000,
    progress: Callable[[int, float, float], None] | None = None,
    log: bool = False,
    n_jobs: int = 1,
    tree: str | os.PathLike[str] | None = None,
) -> SolveResult:
    """Minimise an S3VM objective globally, or bound its optimum as well as the time allows.

    Parameters
    ----------
    obj : S3VM
        Objective with the hinge or the squared hinge for labelled samples, a symmetric hinge or exp(-s f^2) for
        unlabelled ones; with exp(-s f^2) any convex labelled loss that never rises. The intercept is any; a free one
        takes unlabelled losses that are those of the better label, or exp(-s f^2).
    w : ndarray of shape (size,), optional
        A local solution, from any solver: a good one saves time. Our own descents are tried besides.
    tol : float, default 1e-6
        Relative gap at which the optimum counts as proved.
    time_limit : float, default 60
        Seconds; checked between Newton steps.
    max_nodes : int, default 1,000,000
        Nodes.
    progress : callable, optional
        Called as ``progress(nodes, lower, upper)`` after every node.
    log : bool, default False
        Whether to write down the proof, as the result's ``log``: the tree, and the multipliers that bound its leaves
        (`specmargin.optima.ProofLog`), of the search by boxes also those that move the sides of its boxes
        (`specmargin.optima.BoxLog`).
    n_jobs : int, default 1
        Processes of the search by boxes, through joblib; -1 for one per core. It bounds the same nodes with the same
        result whatever their number, to the last bit where linear algebra has one thread: other processes have one.
        The search by labels has one process.
    tree : str or path, optional
        File that the search by boxes saves its tree to, after rounds of nodes. Where it is there already, the search
        goes on from it, whatever `w` is, and proves what it would have proved without the interruption.

    Returns
    -------
    SolveResult
        Variables as of any S3VM solver, and ``n_nodes``; of a search by boxes also ``n_cuts`` (products and triangles
        in its largest relaxation), ``n_programs`` (nodes of trees of labels, which ``n_nodes`` leaves out),
        ``n_fixed`` (labels that the root's boxes fix, none where its labels closed it before) and ``root_bound``, with
        all that was done at the root, and ``x`` where the balance is on slack. ``certificate.dual_objective`` is a
        proved lower bound whatever the status is: OPTIMAL when it proves the optimum to `tol`, its own rounding and
        that of J included; else MAX_ITER when time or nodes ran out, STATIONARY when there was nothing left to branch
        upon (exp(-s f^2) with more than 300 labelled samples alone), and NUMERICAL where the arithmetic failed: bounds
        above J, or leaves that were not solved to `tol`. ``history`` records objective, bound and nodes whenever one
        of the former moves.

    Raises
    ------
    ValueError
        For other losses, for a balance that no labels have, for a `tree` of another problem, and for a log, a tree or
        processes where the intercept is free.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.0], [0.1], [0.9]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1]), C=10.0, intercept="regularized")
    >>> result = branch_and_bound(obj)
    >>> result.status.name, result.variables["labels"].tolist(), result.certificate.is_optimal(1e-6)
    ('OPTIMAL', [-1.0, 1.0, 1.0], True)
    """
    if w is not None:
        w = start_vector(w, obj.size)
    start = time.perf_counter()
    require("branch_and_bound", "S3VM", obj.loss, obj.unlabeled_loss)
    if log and obj.count is not None:
        raise InvalidInputError("log=True: proofs with balance_on='labels' are not written down; leave log out.")
    given: dict[str, Any] = {"tol": tol, "time_limit": time_limit, "max_nodes": max_nodes, "progress": progress}
    if obj.features.penalty == 0.0:
        if obj.is_supervised:
            return supervised_svm(obj, w, solver="branch_and_bound", start=start)
        if log or tree is not None or n_jobs != 1:
            raise InvalidInputError(
                f"log={log}, tree={tree!r} and n_jobs={n_jobs} are not for a free intercept; leave them out, or take "
                "intercept='balance' or 'regularized'."
            )
        return by_penalty(branch_and_bound, obj, w, **given)
    if is_for_boxes(obj, tol):
        result = by_boxes(obj, w, **given, log=log, n_jobs=n_jobs, tree=tree)
        if result.status is not Status.NUMERICAL or obj.balance_on != "decision":
            return result
    elif obj.balance_on != "decision":
        refuse_boxes(obj, tol)
    elif tree is not None or n_jobs != 1:
        raise InvalidInputError(
            f"tree={tree!r} and n_jobs={n_jobs} are for the search by boxes: squared hinges, at most {SAMPLES} "
            "samples, and weights that float64 resolves; leave them out for this problem."
        )
    obj.require_weights()
    written = TreeLog(obj.features.n_samples) if log else None
    search = _Search(S3VMRelaxation(obj), tol, start + time_limit, written)
    n_nodes = search.run(w, max_nodes, progress)
    weights = search.best.weights(w)
    certificate, cause = answered(obj, weights, search.lower(), tol)
    result = obj.result(
        weights,
        solver="branch_and_bound",
        history=search.history,
        n_iter=n_nodes,
        seconds=time.perf_counter() - start,
        n_nodes=np.asarray(n_nodes),
    )
    status, reason = judged(certificate, tol, search.stopped, search.exact or search.boxes is not None)
    message = f"{reason}: relative gap {certificate.relative_gap:.1e}, {n_nodes} nodes{'; ' + cause if cause else ''}"
    proofs = None if written is None else written.finished()
    return replace(result, status=status, certificate=certificate, message=message, log=proofs)


class _Search:
    """The state of one branch and bound."""

    def __init__(self, relaxation: S3VMRelaxation, tol: float, deadline: float, log: TreeLog | None = None) -> None:
        self.relaxation, self.tol, self.deadline, self.log = relaxation, tol, deadline, log
        self.local = LocalSearch(relaxation)
        self.exact = self.local.by_labels or relaxation.obj.is_supervised
        """Whether the SVM with all labels decided is the objective itself."""
        self.best = Incumbent(self.local)
        smooth = not self.exact and relaxation.obj.labels.n_labeled <= PIVOTED
        self.boxes = ExpBoxes(self.local) if smooth else None
        self.open = _OpenNodes()
        self.history = History()
        self.closed = np.inf
        """The lowest bound of all nodes that are done without having been branched."""
        self.stopped = False

    @property
    def target(self) -> float:
        """Bound above which a node is done."""
        return self.best.value - 0.999 * self.tol * abs(self.best.value)

    def lower(self) -> float:
        """Return the proved bound on the global optimum."""
        return min(self.open.lower(), self.closed)

    def late(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() > self.deadline

    def run(self, w: FloatArray | None, max_nodes: int, progress: Callable[[int, float, float], None] | None) -> int:
        """Search, and return the number of nodes."""
        number = None if self.log is None else 0
        root = root_node(self.local, tol=min(1e-3, 100 * self.tol), deadline=self.deadline, number=number)
        self.best.start(w, root, self.tol, self.deadline)
        if self.boxes is not None:
            self.best.offer(*self.boxes.descend(self.best.w))
        self.open.push(root)
        nodes = 0
        self._record(nodes)
        while self.open.nodes:
            if nodes >= max_nodes or self.late():
                self.stopped = True
                break
            node = self.open.pop(lowest=nodes % 2 == 1)
            nodes += 1
            self._visit(node, is_root=nodes == 1)
            self._record(nodes)
            if progress is not None:
                progress(nodes, self.lower(), self.best.value)
        if self.log is not None:
            for node in self.open.nodes.values():
                self.log.keep(node.evidence)
        return nodes

    def _close(self, leaf: Node | Box) -> None:
        """Count the bound of a node or a box that is done without having been branched."""
        self.closed = min(self.closed, leaf.lower)
        if self.log is not None:
            self.log.keep(leaf.evidence)

    def _record(self, nodes: int) -> None:
        values = {"objective": self.best.value, "bound": self.lower()}
        if not len(self.history) or any(self.history[name][-1] != value for name, value in values.items()):
            self.history.record(**values, nodes=nodes)

    def _visit(self, node: Node, is_root: bool) -> None:
        """Bound a node; close it or push its children."""
        problem = self.relaxation.with_(signs=node.signs)
        leaf = not len(problem.free)
        if node.lower <= self.target and self.exact and (leaf or (not is_root and node.point is not None)):
            node = by_labels(self.local, node)
            if leaf and node.point is not None:
                self.best.offer(*self.local.at(node.point))
                self._close(node)
                return
        if node.lower <= self.target and self.boxes is not None:
            box = self._box(node)
            if (box.lo > box.hi).any():
                # Where no point has J <= the best value, that value is the bound.
                box.bounded(self.best.value, None)
            else:
                box.bounded(*self.boxes.curved(box, self.best.w))
            node.lower, node.evidence = box.lower, box.evidence
        few = self._is_small(node, len(problem.free))
        if node.lower <= self.target and (leaf or few or not is_root):
            tol = 0.1 * self.tol
            node, problem = bounded(self.relaxation, node, target=self.target, tol=tol, deadline=self.deadline)
            if node.lower <= self.target:
                self.best.offer(*self.local.descend(node.w))
        if leaf and node.lower <= self.target and self.boxes is not None:
            self._split(self._box(node))
            return
        if node.lower > self.target or leaf:
            self._close(node)
            return
        if few:
            self._enumerate(node)
            return
        f = problem.Z_free @ node.w + problem.offset
        missing = problem.obj.C_star * problem.obj.unlabeled_loss.value(f) - (
            problem.minorant_values(node.theta) - 0.5 * node.theta * f**2
        )
        i = int(np.argmax(missing))
        j, side = int(problem.free[i]), 1.0 if f[i] >= 0 else -1.0
        for child in node.children(j, side, int(self.relaxation.obj.unlabeled[j]), self.log):
            self.open.push(child)

    def _box(self, node: Node) -> Box:
        """Return the decisions of points with its signs that are no worse than the best one, rounding included."""
        assert self.boxes is not None
        lo, hi = self.boxes.within(self.best.upper)
        lo, hi = np.where(node.signs > 0, np.maximum(lo, 0.0), lo), np.where(node.signs < 0, np.minimum(hi, 0.0), hi)
        return Box(node.lower, lo, hi, node.number, node.evidence)

    def _split(self, box: Box) -> None:
        """Close a box of decided signs by splitting it, the one of the lowest bound first."""
        boxes, count = self.boxes, 0
        assert boxes is not None
        heap = [(box.lower, count, box)]
        while heap:
            lower, _, box = heapq.heappop(heap)
            if lower > self.target or self.late() or count > _SPLITS:
                self.stopped |= lower <= self.target
                for rest in (box, *(other for _, _, other in heap)):
                    self._close(rest)  # the others are no lower
                return
            box.bounded(*boxes.curved(box, self.best.w))
            if box.lower <= self.target:
                bound, w, missed, evidence = boxes.enveloped(box, self.target)
                self.best.offer(*boxes.descend(w))
                box.bounded(bound, evidence)
                box.bounded(*boxes.curved(box, w))
            if box.lower > self.target:
                self._close(box)
                continue
            j = int(np.argmax(missed))
            f, lo, hi = float(boxes.Z[j] @ w + boxes.b), float(box.lo[j]), float(box.hi[j])
            margin = 0.1 * (hi - lo)
            at = min(max(f, lo + margin), hi - margin)
            for half in box.halves(j, at, int(self.relaxation.obj.unlabeled[j]), self.log):
                count += 1
                heapq.heappush(heap, (half.lower, count, half))

    def _is_small(self, node: Node, free: int) -> bool:
        """Whether enumeration beats the relaxation, which is strong where the labelled samples say little."""
        if not self.exact or node.point is None or free > _ENUMERATED[1]:
            return False
        return free <= _ENUMERATED[0] or self.local.qp.lower(node.point) >= 0.5 * self.best.value

    def _enumerate(self, node: Node) -> None:
        """Close a node by the SVMs of all labelings below it that matter."""
        local, stack = self.local, [node]
        U = self.relaxation.obj.unlabeled_loss
        while stack:
            node = stack.pop()
            if node.lower <= self.target and self.late():
                self.stopped = True
            elif node.lower <= self.target:
                node = by_labels(local, node)
            if self.stopped or node.lower > self.target or node.point is None:
                self._close(node)
                continue
            f = local.decisions(node.point.w)
            missing = np.where(node.signs == 0, U.value(f), 0.0)
            if not missing.any():
                self.best.offer(*local.at(node.point))
                self._close(node)
                continue
            j = int(np.argmax(missing))
            side = 1.0 if f[j] >= 0 else -1.0
            stack += node.children(j, side, int(self.relaxation.obj.unlabeled[j]), self.log)
