r"""Weights of float64 near others, at which margins that must be 1 are 1 as nearly as weights of float64 allow.

A mean decision of 1 over samples none of which may be below 1 forces every one of them to exactly 1, and no scaling
raises those margins. Each is then missed by the rounding of w, some 1e-16, of which a hinge of weight 1e10 makes 1e-6.
But w may move in the directions that the margins do not feel, for next to nothing, and among the many points of the
grid of float64 nearby some miss far less. Finding one is a closest vector problem: in units of the last place of w,

    find integers k that make the lengths of A diag(ulp) k - (what the margins lack) and of weight * k small,

solved by reducing a basis of that lattice (Lenstra, Lenstra & Lovasz, 1982) and rounding along it (Babai, 1986). The
basis is computed in floating point; nothing is claimed of its answer, which the objective's certificate judges.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specmargin.objectives.s3vm import S3VM
from specmargin.typing import FloatArray

__all__ = ["near_margins", "rounded_margins"]

_NEAR = 1e-9
"""How near to 1 a margin is that was meant to be 1."""
_ENTRIES = 2**16
"""Largest number of entries of features."""
_MARGINS, _SPARE = 40, 30
"""Largest number of margins that are kept, and of entries of w that move besides one for each margin."""
_WEIGHTS = (1e-2, 1e-4)
"""What a unit of k costs, against the largest change of a margin by one."""
_LOVASZ = 0.9


def rounded_margins(obj: S3VM, w: FloatArray) -> float:
    """Return the part of J(w) that is hinges of margins which are 1 but for rounding; 0 where features are many."""
    return _MarginsAtOne(obj, w).loss() if obj.has_hinges and obj.features.n_samples * obj.size <= _ENTRIES else 0.0


def near_margins(obj: S3VM, w: FloatArray) -> Iterator[FloatArray]:
    """Yield weights next to w whose margins of 1 are nearer to 1.

    Parameters
    ----------
    obj : S3VM
        With features so few that an (n, size) array of them can be had.
    w : ndarray of shape (size,)
        Weights, some of whose margins, those of the unlabelled samples at their best labels, are 1 but for rounding.
    """
    margins = _MarginsAtOne(obj, w)
    m, largest = len(margins.at), float(np.abs(w).max(initial=0.0))
    if not 0 < m <= _MARGINS or largest == 0.0:
        return
    # An entry that is nearly zero has far smaller units: too many for it to matter.
    units = np.spacing(np.maximum(np.abs(w), 1e-4 * largest))
    moving = np.argsort(units, kind="stable")[: m + _SPARE]
    effects = margins.y * (obj.features.dense()[np.ix_(margins.at, moving)] * units[moving]).T
    largest = float(np.abs(effects).max(initial=0.0))
    if largest == 0.0:
        return
    for weight in _WEIGHTS:
        basis = np.hstack([effects / largest, weight * np.eye(len(moving))])
        target = np.append(margins.short / largest, np.zeros(len(moving)))
        moved = w.copy()
        moved[moving] += _closest(basis, target)[m:] / weight * units[moving]
        yield moved


class _MarginsAtOne:
    """Samples whose margin is 1 up to rounding: indices `at`, labels `y`, and what each margin lacks of 1, `short`."""

    def __init__(self, obj: S3VM, w: FloatArray) -> None:
        self.obj, f = obj, obj.decisions_at(w)
        y = np.where(f >= 0.0, 1.0, -1.0)
        y[obj.labels.labeled] = obj.labels.sign
        self.at = np.flatnonzero(np.abs(y * f - 1.0) <= _NEAR)
        self.y, self.short = y[self.at], obj.features.shortfalls(w, y)[self.at]

    def loss(self) -> float:
        """Return the part of J that their hinges are."""
        loss, unlabeled_loss = self.obj.loss, self.obj.unlabeled_loss
        weights = np.zeros(self.obj.features.n_samples)
        if getattr(loss, "slack_power", 0) == 1:
            weights[self.obj.labels.labeled] = self.obj.costs
        if getattr(unlabeled_loss, "slack_power", 0) == 1:
            weights[self.obj.unlabeled] = self.obj.C_star
        return float(weights[self.at] @ np.maximum(self.short, 0.0))


def _closest(basis: FloatArray, target: FloatArray) -> FloatArray:
    """Return a point of the lattice of the rows of a basis that is near the target."""
    basis = _reduced(basis)
    Q, R = np.linalg.qr(basis.T)
    point = np.zeros_like(target)
    for k in range(len(basis) - 1, -1, -1):
        point += np.rint(Q[:, k] @ (target - point) / R[k, k]) * basis[k]
    return point


def _reduced(basis: FloatArray) -> FloatArray:
    """Return an LLL-reduced basis of the same lattice, the vectors as rows."""
    basis = basis.copy()
    R = np.array(np.linalg.qr(basis.T)[1])
    k = 1
    while k < len(basis):
        for j in range(k - 1, -1, -1):
            times = np.rint(R[j, k] / R[j, j])
            if times:
                basis[k] -= times * basis[j]
                R[: j + 1, k] -= times * R[: j + 1, j]
        above, below = R[k - 1, k], R[k, k]
        if above**2 + below**2 >= _LOVASZ * R[k - 1, k - 1] ** 2:
            k += 1
            continue
        # Exchange both vectors, and rotate them until R is triangular again.
        basis[[k - 1, k]] = basis[[k, k - 1]]
        R[:, [k - 1, k]] = R[:, [k, k - 1]]
        turn = np.array([[above, below], [-below, above]]) / np.hypot(above, below)
        R[k - 1 : k + 1, k - 1 :] = turn @ R[k - 1 : k + 1, k - 1 :]
        R[k, k - 1] = 0.0
        k = max(k - 1, 1)
    return basis
