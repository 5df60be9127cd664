r"""How many predictions false labels change at once: what `label_flips` asks of one prediction, asked of all together.

Each of r false labels is chosen once, for all predictions. With u_ic = 1 where label i is of class c instead, and
z_ab = 1 where sample a falls to its rival b,

    max sum_a z_a   s. t.   sum_ic d_abic u_ic >= need_ab - M_ab (1 - z_ab),   z_a <= sum_b z_ab,   sum u <= r,

d_abic what the margin of a over b loses by that label, M_ab the most that others can add to it. Where the sets of r
labels are few, all are tried; else it is a mixed-integer linear program (HiGHS, through scipy), which takes decisions
for changed that are equal to within 1e-6. Predictions that r false labels of their own do not change are left out;
their number is the cheapest bound, the relaxation the next. What is attained is counted at the labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from specmargin.checks import AsText, numeric, whole
from specmargin.exceptions import InvalidInputError
from specmargin.objectives.held_out.label_flips import false_labels, label_sets_up_to, linear_flips
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["CollectiveFlips", "collective_flips"]

MOST_SETS = 50_000
"""Sets of false labels up to which all are tried: seconds."""
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
    codes, radius, _, _ = linear_flips(H, known, n_classes, rounding=rounding)
    every = np.ones(m, dtype=bool) if counted is None else counted
    classes, total = np.arange(n_classes)[:, None], int(every.sum())
    owner, rival = np.argwhere((every & (radius <= r))[:, None] & (codes[:, None] != classes.T)).T
    if not len(owner):
        return CollectiveFlips(r, 0, 0, 0.0, 0, total, np.full(l, -1))
    own, label, to = codes[owner], *np.argwhere(known[:, None] != classes.T).T  # each move of a label to another class
    f = np.stack([one @ np.where(known == k, 1.0, -1.0) for k, one in enumerate(each)])
    effect = each[:, :, label] * (2.0 * (to == classes) - 2.0 * (known[label] == classes))[:, None]
    D, margin = effect[rival, owner] - effect[own, owner], f[own, owner] - f[rival, owner]
    unsure = 2.0 * rounding if n_classes == 2 else rounding
    need = np.where(rival < own, margin - unsure, np.nextafter(margin + unsure, np.inf))
    program = _Program(D, need, np.unique(owner, return_inverse=True)[1], label, r)
    relaxed = program.solved(numeric("time_limit", time_limit), whole_numbers=False)
    alone = int(program.sample.max()) + 1
    proved = [float(alone)] if relaxed.fun is None else [float(alone), -relaxed.fun]
    if r <= label_sets_up_to(l, n_classes, MOST_SETS):
        chosen = program.best_set(known, n_classes)
        bound = program.changed(chosen)
    else:
        answer = program.solved(time_limit, whole_numbers=True)
        chosen = np.zeros(len(label)) if answer.x is None else np.round(answer.x[: len(label)])
        proved += [] if answer.mip_dual_bound is None else [-answer.mip_dual_bound]
        bound = max(int(np.floor(min(proved) + _WHOLE)), program.changed(chosen))
    flips = np.full(l, -1)
    flips[label[chosen > 0]] = to[chosen > 0]
    return CollectiveFlips(r, program.changed(chosen), bound, min(proved[:2]), alone, total, flips)


class _Program(NamedTuple):
    """Margins lost by each move (pairs, k), what each pair needs, its sample, the label of each move, and r."""

    D: FloatArray
    need: FloatArray
    sample: IntArray
    label: IntArray
    r: int

    def changed(self, chosen: FloatArray) -> int:
        """Return how many samples some moves change."""
        return int(np.count_nonzero(np.bincount(self.sample[self.D @ chosen >= self.need])))

    def best_set(self, known: IntArray, n_classes: int) -> FloatArray:
        """Return the moves that change most of all sets of up to r."""
        best, most = np.zeros(len(self.label)), 0
        for size in range(1, self.r + 1):
            for at, to in false_labels(known, n_classes, size):
                chosen = np.zeros(len(self.label))
                chosen[at * (n_classes - 1) + to - (to > known[at])] = 1.0
                if (changed := self.changed(chosen)) > most:
                    most, best = changed, chosen
        return best

    def solved(self, time_limit: float, whole_numbers: bool) -> OptimizeResult:
        """Return what HiGHS says of the program, or of its relaxation: u of moves, z of pairs, z of samples."""
        (pairs, k), n, l = self.D.shape, int(self.sample.max()) + 1, int(self.label.max()) + 1
        of_label, of_sample = np.equal.outer(np.arange(l), self.label), np.equal.outer(np.arange(n), self.sample)
        lost = np.array([np.maximum(-self.D[:, at], 0.0).max(axis=1) for at in of_label])
        M = self.need + np.sort(lost, axis=0)[::-1][: self.r].sum(axis=0)
        scale = 1.0 / np.maximum(np.abs(self.D).max(axis=1), 1e-300)  # what HiGHS allows for is absolute
        blocks: list[list[AnyArray]] = [
            [scale[:, None] * self.D, -np.diag(scale * M), np.zeros((pairs, n))],
            [np.zeros((n, k)), of_sample, -np.eye(n)],
            [of_label, np.zeros((l, pairs + n))],
            [np.ones((1, k)), np.zeros((1, pairs + n))],
        ]
        low = np.concatenate([scale * (self.need - M), np.zeros(n), np.full(l + 1, -np.inf)])
        high = np.concatenate([np.full(pairs + n, np.inf), np.ones(l), [self.r]])
        return milp(
            np.concatenate([np.zeros(k + pairs), -np.ones(n)]),
            constraints=LinearConstraint(np.block(blocks), low, high),
            integrality=np.full(k + pairs + n, int(whole_numbers)),
            bounds=Bounds(0, 1),
            # HiGHS 1.12 presolves some programs of small and large coefficients to a point that is not optimal.
            options={"time_limit": time_limit, "presolve": False},
        )
