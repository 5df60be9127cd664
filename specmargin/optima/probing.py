r"""Labels of unlabelled samples that hold in every global optimum, proved by bounds.

Take the label of one sample as known and bound the rest: where that bound exceeds J at some point, no global optimum
has this label, and the other one is proved. Proved labels sharpen all further bounds, so that the samples are probed in
rounds. Often every label is proved, and with them the global optimum itself.

A bound that is to refute a label must exceed J with all that rounding may have hidden of it (`S3VM.certificate`). In
integer programming this is called probing.

References
----------
Savelsbergh, Preprocessing and probing techniques for mixed integer programming problems, ORSA Journal on Computing 6,
1994.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from specmargin.objectives.s3vm import S3VM
from specmargin.optima.local_search import LocalSearch, signs_of
from specmargin.optima.nodes import Incumbent, Node, answered, bounded, by_labels, judged, root_node
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.optima.tree_log import Evidence, TreeLog
from specmargin.results import History, SolveResult
from specmargin.solvers.parts import require
from specmargin.solvers.s3vm.precision import start_vector
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "REQUIRES_UNLABELED", "probe"]

REQUIRES, REQUIRES_UNLABELED = ("slack_power",), ("convex_in_square",)


def probe(
    obj: S3VM,
    w: FloatArray | None = None,
    *,
    tol: float = 1e-6,
    rounds: int = 5,
    time_limit: float = 60.0,
    log: bool = False,
) -> SolveResult:
    """Prove labels of unlabelled samples.

    Parameters
    ----------
    obj : S3VM
        Objective with the hinge or the squared hinge for labelled samples, a symmetric hinge or exp(-s f^2) for
        unlabelled ones, and the intercept "balance" or "regularized".
    w, tol
        The same as in `specmargin.optima.branch_and_bound`; the lower J is at w, the more is proved.
    rounds : int, default 5
        Passes over the samples that are left; the last is the first that proves nothing.
    time_limit : float, default 60
        Seconds.
    log : bool, default False
        Whether to write down the proofs: the multipliers that refute labels, in a tree of the labels that were tried,
        as the result's ``log`` (`specmargin.optima.ProofLog`). It changes nothing else.

    Returns
    -------
    SolveResult
        Answer at the best w found, with ``proved`` (u,): +1 or -1 where *every* global optimum has that sign of the
        decision, 0 where nothing was proved (always so where a decision of zero is optimal), and ``bounds`` (u, 2):
        bounds for the labels -1 and +1 of every sample; J with that label is at least the lesser of it and of J at the
        answer. ``certificate.dual_objective`` is the bound that all proofs together give. OPTIMAL where it proves w to
        `tol`, else STATIONARY, or MAX_ITER after `time_limit`, or NUMERICAL if it is above J by more than their
        rounding. ``n_iter`` counts the bounds.

    Raises
    ------
    ValueError
        For other losses, and for a free intercept.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.0], [0.0], [1.0]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1]), C=10.0, intercept="regularized")
    >>> probe(obj).variables["proved"].tolist()
    [-1.0, 0.0, 1.0]
    """
    if w is not None:
        w = start_vector(w, obj.size)
    start = time.perf_counter()
    deadline = start + time_limit
    require("probe", "S3VM", obj.loss, obj.unlabeled_loss)
    relaxation = S3VMRelaxation(obj)
    best = Incumbent(LocalSearch(relaxation))
    written = TreeLog(obj.features.n_samples) if log else None
    node = root_node(best.search, tol=min(1e-3, 100 * tol), deadline=deadline, number=0 if log else None)
    best.start(w, node, tol, deadline)
    u = len(obj.unlabeled)
    probing = _Probing(relaxation, best, tol, deadline, np.full((u, 2), node.lower), log=written)
    probing.write(node)
    history = History()
    history.record(objective=best.value, bound=node.lower, proved=0)
    count = 1
    for _ in range(rounds if obj.C_star else 0):
        before = np.count_nonzero(node.signs)
        for j in np.argsort(-np.abs(best.search.decisions(best.w)), kind="stable"):
            if not node.signs[j] and not probing.late():
                count += probing.sample(node, int(j))
                if probing.proved:
                    node = node.child(int(j), probing.proved, probing.number)
        node = probing.bound(node, refute=False)
        probing.write(node)
        count += 1
        history.record(objective=best.value, bound=node.lower, proved=int(np.count_nonzero(node.signs)))
        if np.count_nonzero(node.signs) in (before, u) or probing.late():
            break
    weights = best.weights(w)
    certificate, cause = answered(obj, weights, node.lower, tol)
    result = obj.result(
        weights,
        solver="probe",
        history=history,
        n_iter=count,
        seconds=time.perf_counter() - start,
        message=f"{np.count_nonzero(node.signs)} of {u} labels proved by {count} bounds{'; ' + cause if cause else ''}",
        proved=node.signs,
        bounds=probing.bounds,
    )
    status, _ = judged(certificate, tol, probing.late(), exact=False)
    return replace(result, status=status, certificate=certificate, log=None if written is None else written.finished())


@dataclass
class _Probing:
    """State of a run: relaxation, incumbent, and the proved bounds of both labels of every sample."""

    relaxation: S3VMRelaxation
    best: Incumbent
    tol: float
    deadline: float
    bounds: FloatArray
    proved: float = 0.0
    """The label that the last sample must have, 0 if that is open."""
    number: int | None = None
    """The node of the log where it has that label."""
    log: TreeLog | None = None
    evidence: dict[tuple[int, int], Evidence | None] = field(default_factory=dict)
    """What proves the bounds of labels that are above that of the node they were tried at."""

    def write(self, node: Node) -> None:
        """Write down what proves the node's bound."""
        if self.log is not None:
            self.log.keep(node.evidence)

    def late(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() > self.deadline

    def bound(self, node: Node, refute: bool = True) -> Node:
        """Return the node with its own bound; its w is a start for a descent, too.

        To refute a label, the bound need only exceed J; otherwise it is to be as good as it gets.
        """
        search = self.best.search
        upper = self.best.upper
        target = upper if refute else np.inf
        if search.by_labels and node.point is not None:
            node = by_labels(search, node)
            assert node.point is not None
            if node.signs.all():
                self.best.offer(*search.at(node.point))
                return node
            if node.lower > target:
                return node
        tol = 0.1 * self.tol if refute or node.signs.all() else max(1e-4, self.tol)
        node, _ = bounded(self.relaxation, node, target=target, tol=tol, deadline=self.deadline)
        if node.lower <= upper:
            self.best.offer(*search.descend(node.w))
        return node

    def sample(self, node: Node, j: int) -> int:
        """Bound both labels of one sample, and return how many bounds that took.

        The label that is not expected comes first: if that is refuted, the other one needs no bound.
        """
        search = self.best.search
        side = float(signs_of(search.decisions(self.best.w)[j : j + 1])[0])
        self.proved = 0.0
        children = node.children(j, side, int(search.obj.unlabeled[j]), self.log)
        for count, child in enumerate(children, start=1):
            sign, number = child.signs[j], child.number
            child = self.bound(child)
            column = int(sign > 0)
            if child.lower > self.bounds[j, column]:
                self.bounds[j, column], self.evidence[j, column] = child.lower, child.evidence
            if self.bounds[j, column] > self.best.upper:
                self.proved, self.number = -sign, children[-count].number
                self._keep(j, column, number)
                return count
        # One of both labels is right.
        least = float(self.bounds[j].min())
        if least > node.lower:
            node.lower, node.evidence = least, None
            for child in children:
                self._keep(j, int(child.signs[j] > 0), child.number)
        return 2

    def _keep(self, j: int, column: int, number: int | None) -> None:
        """Write down what proves a label's bound, at the node where it is used."""
        if self.log is not None:
            self.log.keep(self.evidence.get((j, column)), number)
