r"""All answers of LapSVM with the hinge as C grows: a path of straight pieces, a proof for each.

With both gammas times s = 1 / C the deformed kernel is G / s. As long as the same labels are at their margins the
system of `specmargin.objectives.sensitivity`, times s, is G v + s b = s y on these: v and s b are affine in s, and with
them s f at all samples. A piece ends where a multiplier meets its bound, or a decision the margin.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from specmargin.checks import AsText
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.objectives.lapsvm import LapSVM
from specmargin.objectives.sensitivity import Pieced, pieced
from specmargin.solvers.manifold.factorized import solved
from specmargin.typing import FloatArray

__all__ = ["WeightPath", "weight_path"]

_TOL = 1e-12
_BEYOND = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10)  # of a breakpoint, where the next piece is looked for
_MEET = 1e-9  # relative difference of the ends of two pieces that are one breakpoint


@dataclass(frozen=True, eq=False)
class WeightPath(AsText):
    """Decisions of all samples for every C between two, made by `weight_path`.

    Parameters
    ----------
    C : ndarray of shape (p + 1,)
        Ends of the p pieces, increasing.
    starts, slopes : ndarray of shape (p, n)
        Decisions on each piece, starts C + slopes.
    gaps : ndarray of shape (p,)
        The relative gap that the certificate proves in the middle of each piece.
    stopped : str
        Why the path ends before the C that was asked for; empty where it does not.
    """

    C: FloatArray
    starts: FloatArray = field(repr=False)
    slopes: FloatArray = field(repr=False)
    gaps: FloatArray = field(repr=False)
    stopped: str = ""

    def decisions(self, C: float) -> FloatArray:
        """Return f at all samples, (n,), for a C of the path."""
        if not self.C[0] <= C <= self.C[-1]:
            raise InvalidInputError(
                f"C={C!r} is outside of the path; take one from {self.C[0]:.6g} to {self.C[-1]:.6g}."
            )
        k = min(int(np.searchsorted(self.C, C, side="right")) - 1, len(self.gaps) - 1)
        return np.asarray(self.starts[k] * C + self.slopes[k])

    def __str__(self) -> str:
        until = f"; it ends where {self.stopped}" * bool(self.stopped)
        return (
            f"{len(self.gaps)} pieces from C = {self.C[0]:.6g} to {self.C[-1]:.6g}, each proved to a relative gap of "
            f"{self.gaps.max():.1e}{until}"
        )


def weight_path(obj: LapSVM, until: float) -> WeightPath:
    """Return the path of a problem with the hinge from C = 1, as it is, to another C.

    Parameters
    ----------
    obj : LapSVM
        The problem, with ``loss="hinge"``; C stands for weights C c of the labels, or for both gammas over C.
    until : float
        The other end, > 0.

    Raises
    ------
    ValueError
        For another loss, and where C = 1 itself is at a kink, or its intercept an interval.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    >>> labels = sm.encode_labels(sm.hide_labels(y, n_labeled=9, random_state=0))
    >>> obj = sm.objectives.LapSVM(sm.kernels.gram(X, gamma=4.0), None, labels, gamma_A=0.1)
    >>> path = weight_path(obj, 4.0)
    >>> refit = sm.solvers.factorized(obj.with_(gamma_A=0.1 / 3.0)).variables["f"]
    >>> bool(np.allclose(path.decisions(3.0), refit)), bool(path.gaps.max() < 1e-9)
    (True, True)
    """
    if not obj.margin_loss.box_dual:
        raise InvalidInputError(f"loss={obj.loss!r}: the path is that of the hinge; take loss='hinge'.")
    if not 0.0 < until < np.inf:
        raise InvalidInputError(f"until={until!r} must be a positive number, the other end of C.")
    way = 1.0 if until < 1.0 else -1.0  # of s = 1 / C
    s, goal, stopped = 1.0, 1.0 / until, ""
    ends: list[float] = [1.0]
    pieces: list[tuple[FloatArray, FloatArray, float]] = []
    system = _optimum(obj)
    while True:
        low, high, F, dF = _piece(system)  # s f = s0 (F + (s / s0 - 1) dF), s0 of the node
        end = min(s * high, goal) if way > 0 else max(s * low, goal)
        middle = float(np.sqrt(ends[-1] * end)) / s
        pieces.append((s * (F - dF), dF, _gap(system, middle)))
        ends.append(end)
        if way * end >= way * goal:
            break
        for beyond in _BEYOND:
            place = end * (1.0 + way * beyond)
            try:
                system = _optimum(obj.with_(gamma_A=place * obj.gamma_A, gamma_I=place * obj.gamma_I))
            except (InvalidInputError, SolverError) as error:
                stopped = str(error).partition(":")[0]
                continue
            low, high, _, _ = _piece(system)
            start = place * (low if way > 0 else high)
            if abs(start - end) <= _MEET * end:
                s, stopped = place, ""
                break
            stopped = "labels change their places faster than can be told apart"
        else:
            break
    order = slice(None) if way < 0 else slice(None, None, -1)
    starts, slopes, gaps = (np.array(part)[order] for part in zip(*pieces, strict=True))
    return WeightPath(1.0 / np.array(ends)[order], starts, slopes, gaps, stopped)


def _optimum(obj: LapSVM) -> Pieced:
    answer = solved(obj, _TOL)
    f, beta = (np.asarray(answer.variables[name]) for name in ("f", "beta"))
    return pieced(obj, f[obj.labels.labeled], beta)


def _affine(system: Pieced) -> tuple[FloatArray, float]:
    """Return the derivatives of v and of r b in r = s / s0."""
    change = np.zeros(system.obj.labels.n_labeled)
    change[system.free], shift = system.solve(system.obj.labels.sign[system.free])
    return change, float(shift)


def _piece(system: Pieced) -> tuple[float, float, FloatArray, FloatArray]:
    """Return the ends of r = s / s0 on the piece of a node, and r f of all samples at r = 1 with its derivative."""
    obj, (v, b), (dv, db) = system.obj, system.optimum, _affine(system)
    F = np.asarray(obj.K @ obj.reduction.coefficients(v)) + b
    dF = np.asarray(obj.K @ obj.reduction.coefficients(dv)) + db
    y, c, free = obj.labels.sign, obj.labels.weights_or_ones, system.free
    # What is positive on the piece: both distances of multipliers from their bounds, and slacks of their sign, times r.
    slack, away = 1.0 - y * F[obj.labels.labeled], 1.0 - y * dF[obj.labels.labeled]
    sign = np.where(system.at > 0, 1.0, -1.0)[~free]
    beta, move = (2.0 * y * v)[free], (2.0 * y * dv)[free]
    value = np.concatenate([beta, c[free] - beta, sign * slack[~free]])
    slope = np.concatenate([move, -move, sign * away[~free]])
    with np.errstate(divide="ignore", invalid="ignore"):
        at = 1.0 - value / slope
    return float(at[slope > 0].max(initial=0.0)), float(at[slope < 0].min(initial=np.inf)), F, dF


def _gap(system: Pieced, r: float) -> float:
    """Return the relative gap of what the piece says at s = r s0."""
    obj, (v, b), (dv, db) = system.obj, system.optimum, _affine(system)
    there = obj.with_(gamma_A=r * obj.gamma_A, gamma_I=r * obj.gamma_I)
    v, b = v + (r - 1.0) * dv, (b + (r - 1.0) * db) / r
    variables = {"alpha": there.reduction.coefficients(v), "b": np.asarray(b)}
    return float(there.certificate(variables, {"beta": 2.0 * obj.labels.sign * v}).relative_gap)
