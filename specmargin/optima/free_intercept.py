r"""S3VMs with a free intercept: bounded and minimised through a penalised one that costs next to nothing.

A penalty (b - b0)^2 / (2 kappa^2) on the intercept makes it the weight a of one more feature of kappa,
b = b0 + kappa a, and J is then that of an S3VM without a free intercept, with the fixed part b0. Where all points no
worse than a known one have |b - b0| <= r, no point has

    J < min(known J, least penalised J - r^2 / (2 kappa^2)),

for any kappa > 0. A large kappa loses little, and its relaxations say little as well: in branch and bound the SVMs of
decided labels (`LabelSVMs`) do the work (`by_penalty`). A bound without a tree (`free_bound`) splits the range of b,
always where the bound is lowest: in a short interval a small kappa costs little.

**The range of intercepts.** Where J <= t, |w| <= sqrt(2 t) and C_i V(y_i f_i) <= t, so that every labelled sample
bounds b on one side.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.features import Features
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.label_flips import flip_once
from specmargin.optima.local_search import FeatureSearch
from specmargin.results import History, SolveResult, Status
from specmargin.typing import FloatArray

__all__ = ["Penalized", "by_penalty", "free_bound", "intercept_range"]

_CHARGED = 0.25
"""Share of the tolerance that the penalty may cost."""
_LARGEST = 1e8
"""A kappa beyond which float64 resolves nothing."""
_AGAIN = 3
_SHARES = (0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-6)
"""What the penalty may cost relative to the known J, in the bound of an interval; the best is taken."""
_PIECES = 200
"""Intervals after which a bound gains nothing worth its time."""


def intercept_range(obj: S3VM, level: float) -> tuple[float, float]:
    """Return bounds of the intercept of all points with J <= level.

    Raises
    ------
    ValueError
        Where labelled samples of one class have no weight: their side is open.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> obj = S3VM(np.array([[-1.0], [1.0], [0.5]]), encode_labels([0, 1, -1]), "hinge", C=1.0, intercept="free")
    >>> [round(end, 6) for end in intercept_range(obj, 0.5)]
    [-0.5, 0.5]
    """
    y, rows = obj.labels.sign, obj.features.subset(obj.labels.labeled)
    costs = obj.costs * np.ones(len(y))
    power, steepest = getattr(obj.loss, "slack_power", 0), obj.loss.upper
    with np.errstate(divide="ignore"):
        if power:
            beyond = (level / costs) ** (1.0 / power) - 1.0
        else:  # the steepest tangent, V*(beta) - beta t, is below the loss
            beyond = (level / costs - float(obj.loss.dual_value(np.array([steepest]))[0])) / steepest
    ends = beyond + np.sqrt(2.0 * level * rows.squared_norms)
    ends += 1e-9 * (2.0 + np.abs(ends))
    low, high = -ends[y > 0].min(initial=np.inf), ends[y < 0].min(initial=np.inf)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InvalidInputError(
            "a free intercept is bounded by labelled samples of both classes, and those of one have no weight; take "
            "intercept='balance' or 'regularized'."
        )
    return float(low), float(high)


@dataclass(frozen=True)
class Penalized:
    """An S3VM whose free intercept is penalised: `obj` with b = centre + kappa a.

    Parameters
    ----------
    obj : S3VM
        Objective with a free intercept.
    centre, kappa : float
        The intercept of no penalty, and the scale of the penalty's square.
    radius : float
        Bound of |b - centre| for all points that matter.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> free = S3VM(np.array([[-1.0], [1.0], [0.5]]), encode_labels([0, 1, -1]), intercept="free")
    >>> part, w = Penalized(free, 0.5, 10.0, 2.0), np.array([0.3, 0.9])
    >>> part.weights(part.start(w)).tolist(), round(part.objective.value_at(part.start(w)) - free.value_at(w), 9)
    ([0.3, 0.9], 0.0008)
    """

    obj: S3VM
    centre: float
    kappa: float
    radius: float

    @property
    def charge(self) -> float:
        """What the penalty costs at most."""
        return 0.5 * (self.radius / self.kappa) ** 2 * (1.0 + 1e-12)

    @property
    def objective(self) -> S3VM:
        """The S3VM with the penalty."""
        obj, X = self.obj, self.obj.features.X
        column = np.full((obj.features.n_samples, 1), self.kappa)
        wider = sp.hstack([X, sp.csr_array(column)], format="csr") if sp.issparse(X) else np.hstack([X, column])
        losses = {"loss": obj.loss, "unlabeled_loss": obj.unlabeled_loss, "C": obj.C, "C_star": obj.C_star}
        return S3VM(Features(wider, offset=self.centre), obj.labels, **losses)

    def start(self, w: FloatArray) -> FloatArray:
        """Return the weights of `objective` at those of the free one."""
        return np.append(w[:-1], (w[-1] - self.centre) / self.kappa)

    def weights(self, w: FloatArray) -> FloatArray:
        """Return the weights of the free objective at those of `objective`."""
        return np.append(w[:-1], self.centre + self.kappa * w[-1])


def by_penalty(
    solve: Callable[..., SolveResult],
    obj: S3VM,
    w: FloatArray | None,
    *,
    tol: float,
    time_limit: float,
    max_nodes: int,
    progress: Callable[[int, float, float], None] | None,
) -> SolveResult:
    """Minimise an objective with a free intercept by `solve`, which is `branch_and_bound`, and answer as it does."""
    start = time.perf_counter()
    search, history, nodes, lower = FeatureSearch(obj), History(), 0, 0.0
    w = _local(search, w, start + time_limit)
    status = Status.MAX_ITER
    for _ in range(_AGAIN):
        proof = obj.prove(w)
        level = proof.primal_objective + proof.rounding
        if not level > 0:
            break
        ends = intercept_range(obj, level)
        radius = max(ends[1] - w[-1], w[-1] - ends[0], 0.0)
        kappa = min(radius / np.sqrt(2.0 * _CHARGED * tol * level), _LARGEST)
        part = Penalized(obj, float(w[-1]), max(float(kappa), 1e-8), float(radius))

        def told(
            more: int, bound: float, upper: float, before: int = nodes, least: float = lower, p: Any = part
        ) -> None:
            values = before + more, max(least, bound - p.charge), upper  # the bound holds less the charge
            history.record(objective=upper, bound=values[1], nodes=values[0])
            if progress is not None:
                progress(*values)

        left = max(start + time_limit - time.perf_counter(), 1e-9)
        limits = {"tol": 0.5 * tol, "time_limit": left, "max_nodes": max_nodes - nodes}
        solved = solve(part.objective, part.start(w), **limits, progress=told)
        nodes, status = nodes + solved.n_iter, solved.status
        lower = max(lower, min(level, solved.certificate.dual_objective - part.charge))
        end = search.descend(part.weights(np.asarray(solved.variables["w"])))
        w = end[1] if end[0] < obj.value_at(w) else w
        if obj.prove(w, lower).is_optimal(tol) or status is not Status.OPTIMAL:
            break
    certificate = obj.prove(w, lower)
    if status is Status.NUMERICAL:
        reason = f"the penalised problem: {solved.message}"
    elif certificate.is_optimal(tol):
        status, reason = Status.OPTIMAL, "global optimum proved"
    else:
        status, reason = (Status.NUMERICAL if status is Status.OPTIMAL else status), "stopped"
    result = obj.result(
        w,
        solver="branch_and_bound",
        history=history,
        n_iter=nodes,
        seconds=time.perf_counter() - start,
        message=f"{reason}: relative gap {certificate.relative_gap:.1e}, {nodes} nodes",
        n_nodes=np.asarray(nodes),
    )
    return replace(result, status=status, certificate=certificate)


def free_bound(
    bound: Callable[..., SolveResult], obj: S3VM, level: float, *, tol: float = 1e-3, time_limit: float = np.inf
) -> float:
    """Return a lower bound of an objective with a free intercept whose J is at most `level` somewhere.

    Parameters
    ----------
    bound : callable
        `specmargin.optima.s3vm_bound`.
    obj : S3VM
    level : float
        A value of J, rounding included.
    tol : float, default 1e-3
        Relative gap at which it ends, and at which the relaxations count as solved.
    time_limit : float, default inf
        Seconds; checked between steps of the relaxations.
    """
    deadline = time.perf_counter() + time_limit
    low, high = intercept_range(obj, level)

    def bounded(low: float, high: float, known: float) -> tuple[float, float, float]:
        centre, best = 0.5 * (low + high), known
        radius = max(high - centre, centre - low)
        for share in _SHARES:
            kappa = min(max(radius / np.sqrt(2.0 * share * level), 1e-8), _LARGEST)
            part, left = Penalized(obj, centre, kappa, radius), max(deadline - time.perf_counter(), 1e-9)
            best = max(best, bound(part.objective, tol=tol, time_limit=left).certificate.dual_objective - part.charge)
        return best, low, high

    heap = [bounded(low, high, 0.0)] if low < high and level > 0.0 else []
    while heap and heap[0][0] < level * (1.0 - tol) and len(heap) < _PIECES and time.perf_counter() < deadline:
        known, low, high = heapq.heappop(heap)
        for ends in ((low, 0.5 * (low + high)), (0.5 * (low + high), high)):
            heapq.heappush(heap, bounded(*ends, known))
    return min(level, heap[0][0]) if heap else 0.0


def _local(search: FeatureSearch, w: FloatArray | None, deadline: float) -> FloatArray:
    """Return weights where no single flip gains, from the given ones or the supervised SVM."""
    value, best = search.cold()
    if w is not None:
        value, best = min((value, best), search.descend(w), key=lambda end: end[0])
        if search.obj.value_at(w) < value:
            value, best = search.obj.value_at(w), w
    better = True
    while better and time.perf_counter() < deadline:
        improved, _ = flip_once(search, best, value, 1e-9, deadline=deadline)
        better = improved is not None
        value, best = improved or (value, best)
    return best
