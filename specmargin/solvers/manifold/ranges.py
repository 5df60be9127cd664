r"""The interval of a weight in which every decision of LapSVM or LapRLS stays, proved piece by piece.

From the optimum at one weight the derivatives predict those nearby: alpha, b and the multipliers theta move on a line
in t, the weights being gamma_A (1 + a t) and gamma_I (1 + e t). At t the prediction has a gap that is known in t: with
r = 2 S alpha - J'theta and k~ the kernel of the norm N there,

    gap / scale = sum_i [V_i(f_i) - theta_i f_i - V_i*(theta_i)] + r'K S^-1 r / 4,

and r is 0 but for rounding and for t^2 2 (a gamma_A alpha' + e gamma_I L K alpha'), alpha' the derivative; the sum is 0
but for rounding as long as every label is predicted to stay on its piece. K S^-1 at t is at most that at 0, over 1 - t
where the weights decrease. So one factorisation bounds the gap on all of an interval by its value at the end, the gap
bounds the distance of every decision of the optimum from its prediction (`specmargin.objectives.proved_decisions`), and
predictions are straight lines, whose signs two ends tell. What is computed is rounded outwards. The next node is put so
far beyond that its interval, towards both sides, meets that of the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.kernels.truncated import TruncatedKernel
from specmargin.objectives.intercept import exactly_balanced
from specmargin.objectives.lapsvm import LapSVM
from specmargin.objectives.proved_decisions import distances
from specmargin.objectives.rounding.lapsvm import Image, residual
from specmargin.objectives.sensitivity import derivatives_of, pieced
from specmargin.rounding import UNIT, gamma
from specmargin.solvers.manifold.factorized import solved
from specmargin.typing import BoolArray, FloatArray

__all__ = ["DIRECTIONS", "Stretch", "proved_stretch"]

DIRECTIONS = {"gamma_A": (1.0, 0.0), "gamma_I": (0.0, 1.0), "gammas": (1.0, 1.0)}
"""How gamma_A and gamma_I change with a weight."""
_SAFE = 1.0 + 1e-9
_TOL = 1e-13
_FARTHEST = {1.0: 1.0, -1.0: 0.5}  # of t, upwards and downwards
_SHARES = (0.7, 0.2, 0.02)  # of the last interval, at which the next node is tried beyond it
_NEAREST = (1e-3, 1e-4, 1e-5, 1e-6)  # and beyond a kink
_NODES = 100
_LEAST, _HALVINGS, _CLOSE = -30.0, 24, 1e-7

Stays = Callable[[list[FloatArray], list[FloatArray], list[FloatArray]], BoolArray]
"""Which decisions stay, (n,), from those of each problem at both ends, and how far the optimum's are at most."""

Flips = Callable[[list[FloatArray], list[FloatArray]], FloatArray]
"""At which t each decision changes, (n,), from those of each problem at 0, and their slopes; inf where it does not."""


class Stretch(NamedTuple):
    """How far decisions are proved to stay, one way."""

    end: float
    """As a multiple of the weight."""
    sample: int | None
    """The first to flip beyond, by its row; None where none does within the limit."""
    at: float
    """Where, as a multiple of the weight; computed, not proved. The limit where none does."""


class _Node:
    """The optimum of one problem, and what predictions from it need."""

    def __init__(self, obj: LapSVM) -> None:
        answer = solved(obj, _TOL)
        self.obj = obj.pivoted() if "pivoted" in answer.solver else obj
        f, beta = (np.asarray(answer.variables[name]) for name in ("f", "beta"))
        self.system = pieced(self.obj, f[obj.labels.labeled], beta)
        self.theta = obj.repair_multipliers(2.0 * self.system.optimum[0])
        self.change, self.known = derivatives_of(self.system), distances(self.obj)


class _Line:
    """The predictions from a node in one direction of the gammas."""

    def __init__(self, node: _Node, way: tuple[float, float]) -> None:
        self.node, self.eased, obj = node, min(way) < 0, node.obj
        (v, b), combine = node.system.optimum, np.array(way)
        change = node.change.multipliers[:, :2] @ combine
        self.slope = exactly_balanced(np.ones(len(v)), change) if obj.fit_intercept else change
        first, second = (
            _image(obj, alpha) for alpha in (obj.reduction.coefficients(v), node.change.coefficients[:, :2] @ combine)
        )
        self.f = first.f, second.f
        self.errors = first.f_error + np.abs(first.f_low), second.f_error + np.abs(second.f_low)
        self.b = b, float(node.change.intercept[:2] @ combine)
        a, e = 2.0 * way[0] * obj.gamma_A, 2.0 * way[1] * obj.gamma_I
        moved = [a * image.alpha + e * (image.g + image.g_low) for image in (first, second)]
        rounded = [
            abs(e) * (image.g_error + image.g_shift) + 8.0 * UNIT * (np.abs(a * image.alpha) + np.abs(e * image.g))
            for image in (first, second)
        ]
        still, error = residual(obj, node.theta, first)
        more, error_of_more = residual(obj, self.slope, second)
        more = more + moved[0]
        error_of_more = error_of_more + rounded[0] + 4.0 * UNIT * (np.abs(more) + np.abs(moved[0]))
        parts = ((still, error), (more, error_of_more), (moved[1], rounded[1]))
        self.lengths = [_dual_length(obj, *part) for part in parts]

    def at(self, t: float) -> tuple[FloatArray, FloatArray]:
        """Return f predicted at t, and a bound on its rounding."""
        (f, df), (error, more), (b, db) = self.f, self.errors, self.b
        size = np.abs(f) + abs(b) + t * (np.abs(df) + abs(db))
        return f + b + t * (df + db), _SAFE * (error + t * more + 8.0 * UNIT * size)

    def radius(self, t: float) -> FloatArray:
        """Return bounds on |f* - f| of all samples at every weight up to t, inf where nothing is proved."""
        obj, system, known = self.node.obj, self.node.system, self.node.known
        y, rows, c, loss = obj.labels.sign, obj.labels.labeled, obj.labels.weights_or_ones, obj.margin_loss
        curved, free, (low, high) = system.curved, system.free, system.ends
        square = np.where(curved, system.square, 1.0)
        spent, inexact, room = np.zeros(len(y)), np.zeros(len(y)), np.full(len(y), np.inf)
        for s in (0.0, t):  # all that follows is largest, or smallest, at an end
            f, error = self.at(s)
            u, beta = 1.0 - y * f[rows], y * (self.node.theta + s * self.slope)
            off = error[rows] + 4.0 * UNIT * (1.0 + np.abs(f[rows]))
            # On a parabola the point of the multiplier and the prediction, which are apart by rounding.
            point = (beta / (2.0 * c) - system.half) / square
            sizes = (np.abs(beta) / c + np.abs(system.half)) / square
            apart = np.abs(u - point) + off + 8.0 * UNIT * (np.abs(point) + sizes)
            inside = np.minimum(point - low, high - point) - apart
            left = np.minimum(beta - loss.lower, loss.upper - beta) - 8.0 * UNIT * (np.abs(beta) + c)
            room = np.minimum(room, np.where(curved, inside, np.where(free, left, np.inf)))
            # On a line the multiplier is fixed, and the residual convex in the prediction.
            with np.errstate(invalid="ignore"):
                line = np.maximum(self._residual(u + off, beta), self._residual(u - off, beta))
            lost = np.where(curved, c * square * apart**2, np.where(free, c * (np.abs(u) + off), line))
            spent, inexact = np.maximum(spent, lost), np.maximum(inexact, np.where(curved, apart, np.abs(u) + off))
        if not ((room > 0).all() and np.isfinite(spent).all()):
            return np.full(len(f), np.inf)
        eased = 1.0 / np.sqrt(1.0 - t) if self.eased else 1.0
        still, more, bent = self.lengths
        ball = _SAFE * (float(spent.sum()) + (eased * (still + t * more + t**2 * bent) / 2.0) ** 2)
        root = np.sqrt(ball)
        own = np.where(curved, root / np.sqrt(c * square), np.where(free, ball / room, np.inf))
        own = np.where(curved & (own > room), np.inf, own) + inexact
        near = (own + root * eased * known.apart).min(axis=1)
        return _SAFE * (near if obj.fit_intercept else np.minimum(near, root * eased * known.own))

    def _residual(self, u: FloatArray, beta: FloatArray) -> FloatArray:
        loss = self.node.obj.margin_loss
        value, least = loss.value_of_slack(u), loss.dual_value(beta)
        return (
            value + beta * (1.0 - u) - least + 32.0 * UNIT * (np.abs(value) + np.abs(beta * (1.0 - u)) + np.abs(least))
        )


def _image(obj: LapSVM, alpha: FloatArray) -> Image:
    """Return K alpha and L K alpha, with more digits where they can be had."""
    image = obj.products.image(alpha, slices=2)
    image = obj.products.image(alpha) if image is None else image
    assert image is not None
    return image


def _dual_length(obj: LapSVM, r: FloatArray, error: FloatArray) -> float:
    """Return a bound on (r'K S^-1 r)^(1/2) of every vector within the error of r."""
    z, _ = obj.reduction.expanded(obj.K, obj.labels.labeled, r)
    image = _image(obj, z)
    n, graph = len(r), obj.gamma_I * (image.g + image.g_low)
    left = r - obj.gamma_A * z - graph
    error = error + obj.gamma_I * (image.g_error + image.g_shift)
    error = error + 8.0 * UNIT * (np.abs(r) + obj.gamma_A * np.abs(z) + np.abs(graph))
    inner = float(r @ image.f) + float(
        np.abs(r) @ (image.f_error + np.abs(image.f_low) + gamma(n + 2) * np.abs(image.f))
    )
    # r'K z with K z, less what is left of r: |e|_K / gamma_A^(1/2), twice, as S z differs from r by it.
    rest, off = obj.products.kernel(left)
    square = float(left @ rest) + float(np.abs(left) @ (off + gamma(n + 2) * np.abs(rest)))
    lengths = np.sqrt(max(square, 0.0)) + obj.products.length(error)
    return float(_SAFE * (np.sqrt(max(inner, 0.0)) + 2.0 * lengths / np.sqrt(obj.gamma_A)))


def _extent(lines: list[_Line], stays: Stays, most: float) -> float:
    """Return how far from a node decisions are proved to stay; 0 where not even there."""

    def holds(t: float) -> bool:
        ends = [[line.at(s) for line in lines] for s in (0.0, t)]
        radii = [line.radius(t) + np.maximum(a[1], b[1]) for line, a, b in zip(lines, *ends, strict=True)]
        return bool(stays([f for f, _ in ends[0]], [f for f, _ in ends[1]], radii).all())

    if holds(most):
        return most
    low, high = _LEAST, np.log2(most)
    if not holds(2.0**low):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(2.0**middle) else (low, middle)
    return float(2.0**low)


def proved_stretch(
    problems: list[LapSVM], weight: str, way: float, stays: Stays, flips: Flips, limit: float = 1e3
) -> Stretch:
    """Return how far every decision of some problems is proved to stay as a weight grows, or eased.

    Parameters
    ----------
    problems : list of LapSVM
        One of two classes, or one for each class.
    weight : {"gamma_A", "gamma_I", "gammas"}
        "gammas" are both of them, which is one over C.
    way : {1.0, -1.0}
        Growing or falling.
    stays, flips : callable
        What decisions are.
    limit : float, default 1000
        Factor up to which is looked.

    Raises
    ------
    ValueError
        Where there is no unique answer at the weight itself, and for a kernel that is not stored.
    """
    if any(isinstance(one.K, TruncatedKernel) for one in problems):
        raise InvalidInputError("this kernel is known up to an error; take functions=Landmarks(500) for proved ranges.")
    direction = DIRECTIONS[weight]

    def nodes(s: float) -> list[_Node]:
        a, e = (s if part else 1.0 for part in direction)
        return [_Node(one.with_(gamma_A=a * one.gamma_A, gamma_I=e * one.gamma_I)) for one in problems]

    def lines(at: list[_Node], way: float) -> list[_Line]:
        return [_Line(node, (way * direction[0], way * direction[1])) for node in at]

    farthest = limit if way > 0 else 1.0 / limit
    s, ahead = 1.0, lines(nodes(1.0), way)
    t = _extent(ahead, stays, _FARTHEST[way])
    end, last = s * (1.0 + way * t), t
    for _ in range(_NODES):
        if t == 0.0 or way * end >= way * farthest:
            break
        for step in (*(share * last for share in _SHARES), *_NEAREST):
            place = end * (1.0 + way * step)
            try:
                there = nodes(place)
            except (InvalidInputError, SolverError):  # at a kink, or no optimum that is known
                continue
            # Rounded so that the intervals overlap.
            back = place * (1.0 - way * _extent(lines(there, -way), stays, _FARTHEST[-way]) * (1.0 - 1e-12))
            if way * back < way * end:
                break
        else:
            break
        s, ahead, before = place, lines(there, way), end
        t = _extent(ahead, stays, _FARTHEST[way])
        end = place * (1.0 + way * t * (1.0 - 1e-12))
        last = t + abs(place - before) / before
        if last < _CLOSE:
            break
    if way * end >= way * farthest:
        return Stretch(farthest, None, farthest)
    until = flips([line.at(0.0)[0] for line in ahead], [line.at(1.0)[0] - line.at(0.0)[0] for line in ahead])
    sample = int(until.argmin())
    near = until[sample] <= max(10.0 * last, _NEAREST[0])
    return Stretch(end, sample if near else None, s * (1.0 + way * float(until[sample])) if near else float("nan"))
