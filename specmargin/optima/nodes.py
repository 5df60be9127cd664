"""Nodes of the label tree of an S3VM, and the best known point: what branch and bound and probing share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from specmargin.objectives.s3vm import S3VM
from specmargin.optima.interior_point import barrier
from specmargin.optima.label_flips import flip_once
from specmargin.optima.label_qp import LabelPoint
from specmargin.optima.local_search import LocalSearch
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.optima.tree_log import Evidence, TreeLog
from specmargin.results import Certificate, Status
from specmargin.typing import FloatArray

__all__ = ["Incumbent", "Node", "answered", "bounded", "by_labels", "judged", "root_node"]


@dataclass
class Node:
    """Decided labels, a proved lower bound, and where the search for it ended.

    Parameters
    ----------
    lower : float
        Bound on J where the decided labels hold.
    signs : ndarray of shape (u,)
        +1, -1, or 0 where free.
    theta : ndarray of shape (k,)
        Multipliers of the samples that were free.
    w : ndarray of shape (rank,)
        The minimiser of the minorant.
    """

    lower: float
    signs: FloatArray
    theta: FloatArray
    w: FloatArray
    point: LabelPoint | None = None
    """The SVM of the labelled and decided samples alone, once it is solved: where its children start."""
    number: int | None = None
    """Its number in the log; None where none is written."""
    evidence: Evidence | None = None
    """What proves `lower`, here or at a node above; None where that is J >= 0, or a split that the log holds."""

    def child(self, j: int, sign: float, number: int | None = None) -> Node:
        """Return the node in which the unlabelled sample j has that label as well, with the bound of this one."""
        signs = self.signs.copy()
        signs[j] = sign
        return Node(self.lower, signs, self.theta, self.w, self.point, number, self.evidence)

    def children(self, j: int, side: float, sample: int, log: TreeLog | None) -> tuple[Node, Node]:
        """Return the nodes in which the unlabelled sample j has the label -side, and side; `sample` is its index."""
        if log is None or self.number is None:
            return self.child(j, -side), self.child(j, side)
        low, high = log.split(self.number, sample)
        return self.child(j, -side, low if side > 0 else high), self.child(j, side, high if side > 0 else low)


@dataclass
class Incumbent:
    """The best point found so far, in the row space."""

    search: LocalSearch
    value: float = np.inf
    w: FloatArray = field(default_factory=lambda: np.zeros(0))
    _upper: float = np.nan

    def offer(self, value: float, w: FloatArray) -> None:
        """Keep the point if it is better."""
        if value < self.value:
            self.value, self.w, self._upper = value, w, np.nan

    def start(self, w: FloatArray | None, root: Node, tol: float, deadline: float) -> None:
        """Find the first one: by descents from w, from the supervised SVM and from the root's w, and by flips."""
        search = self.search
        self.offer(*search.cold())
        self.offer(*search.descend(root.w))
        if w is not None:
            self.offer(*search.descend(search.coordinates(w)))
        better = True
        while better and self.value > root.lower * (1 + tol) and time.perf_counter() < deadline:
            improved, _ = flip_once(search, self.w, self.value, 1e-9, deadline=deadline)
            better = improved is not None
            if improved is not None:
                self.offer(*improved)

    @property
    def upper(self) -> float:
        """J at the best point with all that rounding may hide: an upper bound on the optimum."""
        if np.isnan(self._upper):
            certificate = self.search.obj.prove(self.search.expand(self.w))
            self._upper = certificate.primal_objective + certificate.rounding
        return self._upper

    def weights(self, given: FloatArray | None) -> FloatArray:
        """Return the weights of the objective, (size,): the best found or the given ones, whichever is lower."""
        obj = self.search.obj
        weights = self.search.expand(self.w)
        return given if given is not None and obj.value_at(given) < obj.value_at(weights) else weights


def answered(obj: S3VM, w: FloatArray, lower: float, tol: float) -> tuple[Certificate, str]:
    """Return the certificate of an answer, and what stands in the way of a proof to `tol` if rounding does."""
    certificate = obj.prove(w, lower)
    wanted = 0.5 * tol * certificate.primal_objective
    if certificate.is_optimal(tol) or not certificate.gap >= 0 or not (cost := _rounded_margins(obj, w)) > wanted:
        return certificate, ""
    return certificate, (
        f"of J {cost:.2g} is the hinge of margins that must be 1 and that rounding misses; take a smaller "
        "C, a balance nearer to zero, or the squared hinge"
    )


def judged(certificate: Certificate, tol: float, stopped: bool, exact: bool = True) -> tuple[Status, str]:
    """Return the status of a search, and why: whether it had more to do, and whether its leaves were to be exact."""
    if certificate.is_optimal(tol):
        return Status.OPTIMAL, "global optimum proved"
    if not certificate.gap >= 0:
        return Status.NUMERICAL, "a lower bound above the objective"
    if stopped:
        return Status.MAX_ITER, "stopped"
    if exact:
        return Status.NUMERICAL, "leaves not solved to the tolerance"
    return Status.STATIONARY, "nothing left to branch upon"


def _rounded_margins(obj: S3VM, w: FloatArray) -> float:
    """Return the part of J(w) that is hinges of margins which are 1 but for rounding."""
    if not obj.has_hinges:
        return 0.0
    f = obj.decisions_at(w)
    y = np.where(f >= 0.0, 1.0, -1.0)
    y[obj.labels.labeled] = obj.labels.sign
    weights = np.zeros(obj.features.n_samples)
    if getattr(obj.loss, "slack_power", 0) == 1:
        weights[obj.labels.labeled] = obj.costs
    if getattr(obj.unlabeled_loss, "slack_power", 0) == 1:
        weights[obj.unlabeled] = obj.C_star
    at = np.abs(y * f - 1.0) <= 1e-9
    return float(weights[at] @ np.maximum(obj.features.shortfalls(w, y)[at], 0.0))


def root_node(search: LocalSearch, *, tol: float, deadline: float, number: int | None = None) -> Node:
    """Return the bound without decided labels; at least that of the known labels alone."""
    problem = search.relaxation
    result = barrier(problem, tol=tol, deadline=deadline)
    node = Node(max(result.lower, 0.0), np.zeros(len(search.obj.unlabeled)), result.theta, result.w, search.supervised)
    node.number = number
    if number is not None and result.lower > 0.0:
        node.evidence = Evidence.of_relaxation(number, problem, result.theta, result.beta)
    if node.point is not None:
        lower = search.qp.lower(node.point)
        if number is not None and lower > node.lower:
            node.evidence = Evidence.of_labels(number, search.qp, node.point)
        node.lower = max(node.lower, lower)
    return node


def by_labels(search: LocalSearch, node: Node) -> Node:
    """Return the node with the bound of its labelled and decided samples, the others left out: exact at a leaf."""
    qp = search.qp
    point = qp.solve(qp.labels(node.signs), node.point)
    lower, evidence = qp.lower(point), node.evidence
    if node.number is not None and lower > node.lower:
        evidence = Evidence.of_labels(node.number, qp, point)
    return Node(max(node.lower, lower), node.signs, node.theta, node.w, point, node.number, evidence)


def bounded(
    relaxation: S3VMRelaxation, node: Node, *, target: float, tol: float, deadline: float
) -> tuple[Node, S3VMRelaxation]:
    """Return the node with its own bound, at least the one it came with, and the relaxation at the node.

    Parameters
    ----------
    target : float
        A bound above it is good enough; that it cannot be reached ends the search, too.
    tol : float
        Relative gap of the node's own relaxation at which it is solved.
    """
    problem = relaxation.with_(signs=node.signs)
    # What a leaf leaves open stays open: its bound is to be as good as it gets.
    prune = target if len(problem.free) else np.inf
    result = barrier(problem, tol=tol, prune=prune, deadline=deadline)
    lower, evidence = max(node.lower, result.lower), node.evidence
    if node.number is not None and result.lower > node.lower:
        evidence = Evidence.of_relaxation(node.number, problem, result.theta, result.beta)
    return Node(lower, node.signs, result.theta, result.w, node.point, node.number, evidence), problem
