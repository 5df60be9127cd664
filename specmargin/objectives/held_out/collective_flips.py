r"""How many predictions false labels change at once: what `label_flips` asks of one prediction, asked of all together.

Each of r false labels is chosen once, for all predictions. With u_ic = 1 where label i is of class c instead, and
z_ab = 1 where sample a falls to its rival b,

    max sum_a z_a   s. t.   sum_ic d_abic u_ic >= need_ab - M_ab (1 - z_ab),   z_a <= sum_b z_ab,   sum u <= r,

d_abic what the margin of a over b loses by that label, M_ab the most that others can add to it. Where the sets of r
labels are few, all are tried; else it is a mixed-integer linear program (HiGHS, through scipy). Predictions that r
false labels of their own do not change are left out; their number is the cheapest bound, the relaxation the next. What
is said to be attained is counted anew at the labels themselves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from specmargin.checks import AsText, numeric, whole
from specmargin.exceptions import InvalidInputError
from specmargin.objectives.held_out.label_flips import false_labels, label_sets_up_to
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["CollectiveFlips", "collective_flips"]

MOST_SETS = 50_000
"""Sets of false labels up to which all are tried: seconds."""
_MOST_CUTS = 20
_WHOLE = 1e-6
"""What HiGHS takes for a whole number."""


@dataclass(frozen=True, eq=False)
class CollectiveFlips(AsText):
    """The largest number of predictions that r false labels change at once.

    Parameters
    ----------
    r : int
        Number of false labels, at most.
    attained : int
        Number of predictions that `flips` changes.
    bound : int
        Number that no r false labels exceed; it is `attained` where that is the largest.
    relaxed : float
        The bound of the linear relaxation.
    one_at_a_time : int
        Predictions that r false labels change, chosen for each by itself.
    total : int
        Number of predictions.
    flips : ndarray of int, of shape (l,)
        Position of the class that each false label is of, -1 for labels that stay.

    Examples
    --------
    >>> print(CollectiveFlips(2, 3, 3, 3.5, 6, 10, np.array([1, 0, -1])))
    2 false labels change at most 3 of 10 predictions at once, and 3 they do; one at a time 6
    """

    r: int
    attained: int
    bound: int
    relaxed: float
    one_at_a_time: int
    total: int
    flips: IntArray = field(repr=False)

    @property
    def exact(self) -> bool:
        """Whether no other labels change more predictions."""
        return self.attained == self.bound

    def __str__(self) -> str:
        most = (
            f"{self.r} false label{'s' * (self.r > 1)} change at most {self.bound} of {self.total} predictions at once"
        )
        return f"{most}, and {self.attained} they do; one at a time {self.one_at_a_time}"


def collective_flips(
    H: FloatArray,
    known: IntArray,
    n_classes: int,
    r: int,
    *,
    counted: BoolArray | None = None,
    rounding: float = 0.0,
    time_limit: float = 60.0,
) -> CollectiveFlips:
    """Return the largest number of decisions f = H y that r false labels change at once, or a bound on it.

    Parameters
    ----------
    H, known, n_classes, rounding
        The same as for `specmargin.objectives.held_out.label_flips.linear_flips`.
    r : int
        Number of false labels, at most.
    counted : ndarray of bool, of shape (m,), optional
        Which decisions are counted; all by default.
    time_limit : float, default 60
        Seconds. Where they end first, the bound that is proved by then is the answer.

    Raises
    ------
    ValueError
        If r is not from 0 to the number of labels.

    Examples
    --------
    >>> H = np.array([[0.6, 0.3], [0.3, 0.6], [0.1, 0.9], [0.9, 0.1]])
    >>> print(collective_flips(H, np.array([1, 0]), 2, 1))
    1 false label change at most 2 of 4 predictions at once, and 2 they do; one at a time 4
    """
    m, l = H.shape[-2:]
    if not 0 <= whole("r", r) <= l:
        raise InvalidInputError(f"r={r} labels cannot be false: there are {l}; take 0 to {l}.")
    each = np.broadcast_to(H, (n_classes, m, l))
    moves = [(i, c) for i in range(l) for c in range(n_classes) if c != known[i]]
    label, to = np.array(moves).T
    effect = np.zeros((n_classes, m, len(moves)))  # of each move on the decisions of each class
    for k in range(n_classes):
        sign = 2.0 * (to == k) - 2.0 * (known[label] == k)
        effect[k] = each[k][:, label] * sign
    f = np.stack([one @ np.where(known == k, 1.0, -1.0) for k, one in enumerate(each)])
    unsure = 2.0 * rounding if n_classes == 2 else rounding
    codes = (f >= f.max(axis=0) - unsure).argmax(axis=0)
    rows, needs, owners = [], [], []
    for a in np.flatnonzero(np.ones(m, dtype=bool) if counted is None else counted):
        own = codes[a]
        for b in np.flatnonzero(np.arange(n_classes) != own):
            drop, margin = effect[b, a] - effect[own, a], f[own, a] - f[b, a]
            need = margin - unsure if b < own else np.nextafter(margin + unsure, np.inf)
            best = np.sort(np.array([drop[label == i].max() for i in range(l)]))[::-1][:r]
            if np.maximum(best, 0.0).sum() >= need:
                rows.append(drop)
                needs.append(need)
                owners.append(a)
    total = m if counted is None else int(counted.sum())
    if not rows:
        return CollectiveFlips(r, 0, 0, 0.0, 0, total, np.full(l, -1))
    D, need, owner = np.array(rows), np.array(needs), np.array(owners)
    relaxed = _solved(D, need, owner, label, r, numeric("time_limit", time_limit), [], whole_numbers=False)
    if r <= label_sets_up_to(l, n_classes, MOST_SETS):
        chosen = _best_set(D, need, owner, known, n_classes, r)
        proved = [float(np.count_nonzero(np.bincount(owner[D @ chosen >= need])))]
    else:
        chosen, proved = _by_highs(D, need, owner, label, r, time_limit)
    changed = len(np.unique(owner[D @ chosen >= need]))
    alone = len(np.unique(owner))
    proved += [] if relaxed.fun is None else [-relaxed.fun]
    flips = np.full(l, -1)
    flips[label[chosen > 0]] = to[chosen > 0]
    bound = max(min([alone, *(int(np.floor(one + _WHOLE)) for one in proved)]), changed)
    return CollectiveFlips(r, changed, bound, min([alone, *proved[-1:]]), alone, total, flips)


def _best_set(D: FloatArray, need: FloatArray, owner: IntArray, known: IntArray, n_classes: int, r: int) -> FloatArray:
    """Return the moves that change most of all sets of up to r."""
    samples, index = np.unique(owner, return_inverse=True)
    best, most = np.zeros(D.shape[1]), 0
    for size in range(1, r + 1):
        for at, to in false_labels(known, n_classes, size):
            moves = at * (n_classes - 1) + to - (to > known[at])
            changed = int(np.count_nonzero(np.bincount(index[D[:, moves].sum(axis=1) >= need], minlength=len(samples))))
            if changed > most:
                most, best = changed, np.bincount(moves, minlength=D.shape[1]).astype(np.float64)
    return best


def _by_highs(
    D: FloatArray, need: FloatArray, owner: IntArray, label: IntArray, r: int, time_limit: float
) -> tuple[FloatArray, list[float]]:
    """Return the moves that HiGHS finds, and the bound that it proves, if any."""
    end = time.monotonic() + time_limit
    cuts: list[tuple[int, FloatArray, bool]] = []
    for _ in range(_MOST_CUTS):
        found = _solved(D, need, owner, label, r, max(end - time.monotonic(), 0.01), cuts, whole_numbers=True)
        chosen = np.zeros(D.shape[1]) if found.x is None else np.round(found.x[: D.shape[1]])
        flipped = D @ chosen >= need
        # Sums that are equal but for rounding: what the program let pass needs another label, or one of these less.
        z = np.zeros(len(D)) if found.x is None else found.x[D.shape[1] :][: len(D)]
        passed = np.flatnonzero((z > 0.5) & ~flipped)
        if found.status != 0 or not len(passed):
            break
        cuts += [(int(row), chosen, bool(np.maximum(D[row], 0.0) @ chosen >= need[row])) for row in passed]
    bound = found.mip_dual_bound
    return chosen, [-bound] if bound is not None and np.isfinite(bound) else []


def _solved(
    D: FloatArray,
    need: FloatArray,
    owner: IntArray,
    label: IntArray,
    r: int,
    time_limit: float,
    cuts: list[Any],
    whole_numbers: bool,
) -> OptimizeResult:
    """Return what HiGHS says of the program, or of its relaxation: u of moves, z of rivals, z of samples."""
    (pairs, k), (samples, index) = D.shape, np.unique(owner, return_inverse=True)
    n, l = len(samples), int(label.max()) + 1
    against = np.sort(np.array([np.maximum(-D[:, label == i], 0.0).max(axis=1) for i in range(l)]), axis=0)[::-1][:r]
    M = need + against.sum(axis=0)
    scale = 1.0 / np.abs(D).max(axis=1)  # what HiGHS allows for is absolute
    of_label, of_sample = np.equal.outer(np.arange(l), label), np.equal.outer(np.arange(n), index)
    zero: AnyArray = np.zeros((n, k))
    A = np.block(
        [
            [scale[:, None] * D, -np.diag(scale * M), np.zeros((pairs, n))],
            [zero, of_sample, -np.eye(n)],
            [of_label, np.zeros((l, pairs + n))],
            [np.ones((1, k)), np.zeros((1, pairs + n))],
            *([1.0 - (1.0 + less) * chosen, -np.eye(pairs)[row], np.zeros(n)] for row, chosen, less in cuts),
        ]
    )
    low = np.concatenate(
        [scale * (need - M), np.zeros(n), np.full(l + 1, -np.inf), [-less * chosen.sum() for _, chosen, less in cuts]]
    )
    high = np.concatenate([np.full(pairs + n, np.inf), np.ones(l), [r], np.full(len(cuts), np.inf)])
    return milp(
        np.concatenate([np.zeros(k + pairs), -np.ones(n)]),
        constraints=LinearConstraint(A, low, high),
        integrality=np.full(k + pairs + n, int(whole_numbers)),
        bounds=Bounds(0, 1),
        # HiGHS 1.12 presolves some programs with small coefficients next to large ones to a point that is not optimal.
        options={"time_limit": time_limit, "presolve": False},
    )
