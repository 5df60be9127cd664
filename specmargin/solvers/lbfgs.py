r"""Limited-memory BFGS for objectives 1/2 w'Pw + losses, with little work next to the function calls.

The direction -H g of the two-loop recursion in four products of a matrix with a vector. With the pairs s_i, y_i as
rows of S and Y, oldest first, R the upper triangle of S Y' and D its diagonal, the two loops are two triangular solves:

    R a = S g,   q = g - Y'a,   R'c = D a - scale Y q,   H g = scale q + S'c.

A new pair needs no product of its own: S y is the difference of S g at both ends of its step.

The line search ends at the weak Wolfe conditions, mostly after one call, and takes a loss with kinks, too. Where the
decrease drowns in rounding it goes by the slopes (the approximate Wolfe conditions of Hager & Zhang); a trial at which
anything overflows is cut back. A descent that gets no further ends: it never loops at the rounding floor.

References: Nocedal & Wright, Numerical Optimization, section 7.2. Hager & Zhang, SIAM J. Optim. 16, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.blas import dnrm2, dtrsv  # the norm scales, so that squares of large numbers do not overflow

from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray

__all__ = ["Descent", "Function", "Progress", "lbfgs", "line_search", "relative_norm"]

Function = Callable[[FloatArray], tuple[float, FloatArray]]
"""w -> (value, gradient)."""

_DECREASE, _SLOPE = 1e-4, 0.9  # constants of the Wolfe conditions
_TRIALS = 30  # calls in one line search
_STALLED = 8  # steps in a row without progress that end the descent
_NOISE = 8 * float(np.finfo(float).eps)  # relative change of the value that is rounding
_FLOOR = 1e-6  # relative gradient up to which an end without progress is put down to rounding, not to a kink


@dataclass(frozen=True)
class Descent:
    """Point at which a minimiser ended.

    Parameters
    ----------
    w, gradient : ndarray of shape (d,)
        The point, and the gradient there.
    value : float
        The value there.
    n_iter, n_calls : int
        Steps, and calls of the function.
    converged : bool
        Whether the gradient is as small as was asked for, or as rounding lets it be.
    scale : float
        Last estimate of the size of the inverse Hessian: where to start the next problem of a sequence.
    """

    w: FloatArray
    value: float
    gradient: FloatArray
    n_iter: int
    n_calls: int
    converged: bool
    scale: float = 0.0

    def message(self, max_iter: int) -> str:
        """Return what went wrong, and what to do."""
        if self.converged:
            return ""
        if self.n_iter >= max_iter:
            return f"cut off after {max_iter} iterations; raise max_iter"
        return "no way down, but the gradient is not zero: a kink of a loss, or features of extreme scale"


def relative_norm(w: FloatArray, gradient: FloatArray, weights: FloatArray) -> float:
    """Return the norm of P w + (the losses' gradient), relative to the larger of the two parts that cancel in it."""
    regularisation = weights * w
    size = dnrm2(gradient)
    scale = max(dnrm2(regularisation), dnrm2(gradient - regularisation))
    return size / scale if scale > 0 else 0.0


def lbfgs(
    fun: Function,
    w: FloatArray,
    weights: FloatArray,
    *,
    tol: float,
    max_iter: int = 1000,
    memory: int = 50,
    scale: float = 0.0,
) -> Descent:
    """Minimise a function from w.

    Parameters
    ----------
    fun : callable
        w -> (value, gradient), of the form 1/2 w'Pw + losses.
    w : ndarray of shape (d,)
        Start; fun must be finite there.
    weights : ndarray of shape (d,)
        The diagonal of P.
    tol : float
        Ends where `relative_norm` is at most this, or gets no smaller.
    max_iter : int, default 1000
        Steps.
    memory : int, default 50
        Pairs that are kept.
    scale : float, default 0
        Length of the first step over the norm of the gradient; 0 makes that step one unit long.

    Raises
    ------
    ValueError
        If the value or the gradient is not finite at the start.
    """
    value, gradient = fun(w)
    if not (np.isfinite(value) and np.isfinite(dnrm2(gradient))):
        raise InvalidInputError("the objective overflows at the start; divide the features by their largest length.")
    pairs = _Pairs.empty(min(memory, max_iter), len(w))
    pairs.scale = scale if scale > 0 else 1.0 / max(dnrm2(gradient), 1e-300)
    progress = Progress()
    n_iter, n_calls = 0, 1
    while True:
        progress.note(value, gradient, relative_norm(w, gradient, weights))
        if progress.size <= tol or progress.stalled >= _STALLED or n_iter >= max_iter:
            break
        step = line_search(fun, w, value, gradient, pairs.direction(gradient))
        n_calls += step.n_calls
        if step.gradient is None:
            if pairs.count == 0:
                break  # not even the steepest descent descends
            pairs.forget()
            continue
        n_iter += 1
        w = w + step.moved
        pairs.add(step.moved, step.gradient - gradient)
        value, gradient = step.value, step.gradient
    converged = progress.size <= tol or (n_iter < max_iter and progress.at_floor)
    return Descent(w, value, gradient, n_iter, n_calls, converged, pairs.scale)


@dataclass
class Progress:
    """Whether a descent still gets on, and whether rounding has the blame where it does not."""

    size: float = np.inf
    """Last relative norm of the gradient."""
    stalled: int = 0
    """Steps since the value or that norm fell below all before."""
    lowest: float = np.inf
    least: float = np.inf
    steepest: float = 0.0
    length: float = 0.0

    def note(self, value: float, gradient: FloatArray, size: float) -> None:
        """Take note of a point."""
        self.stalled = 0 if value < self.lowest or size < 0.9 * self.least else self.stalled + 1
        self.size, self.lowest, self.least = size, min(value, self.lowest), min(size, self.least)
        self.length = dnrm2(gradient)
        self.steepest = max(self.length, self.steepest)

    @property
    def at_floor(self) -> bool:
        """Whether the gradient is as small as rounding at large losses leaves it; at a kink it is not."""
        return self.size <= _FLOOR or self.length <= _FLOOR * self.steepest


@dataclass
class _Pairs:
    """The last steps s and gradient changes y as rows of ring buffers, and the triangle R of S Y', oldest first."""

    S: FloatArray
    Y: FloatArray
    R: FloatArray
    products: FloatArray
    """S g of the last direction, by rows of the ring."""
    scale: float = 1.0
    count: int = 0
    newest: int = -1
    pending: bool = False
    """Whether the newest pair has no column in R yet, but for its diagonal."""

    @classmethod
    def empty(cls, memory: int, d: int) -> _Pairs:
        # Not zeros: memory that is never touched costs nothing.
        rows = np.empty((memory, d)), np.empty((memory, d))
        return cls(*rows, np.zeros((memory, memory), order="F"), np.zeros(memory))

    def forget(self) -> None:
        self.count, self.newest, self.pending = 0, -1, False

    def add(self, s: FloatArray, y: FloatArray) -> None:
        length = dnrm2(y)
        curvature = float(s @ y)
        if not curvature > 1e-15 * length * dnrm2(s):
            return
        memory = len(self.S)
        if self.count == memory:
            self.R[:-1, :-1] = self.R[1:, 1:]
        else:
            self.count += 1
        self.newest = (self.newest + 1) % memory
        self.S[self.newest], self.Y[self.newest] = s, y
        self.R[self.count - 1, self.count - 1] = curvature
        self.scale = curvature / length / length
        self.pending = True

    def direction(self, gradient: FloatArray) -> FloatArray:
        """Return -H g."""
        k = self.count
        if k == 0:
            return -self.scale * gradient
        order = (np.arange(k) + self.newest + 1 - k) % len(self.S)
        S, Y, R = self.S[:k], self.Y[:k], self.R[:k, :k]
        products = S @ gradient
        if self.pending:
            older = order[:-1]
            R[:-1, -1] = products[older] - self.products[older]
            self.pending = False
        self.products[:k] = products
        a = dtrsv(R, products[order])
        by_row = np.empty(k)
        by_row[order] = a
        q = gradient - by_row @ Y
        by_row[order] = dtrsv(R, R.diagonal() * a - self.scale * (Y @ q)[order], trans=1)
        q *= -self.scale
        q -= by_row @ S
        return q


@dataclass(frozen=True)
class _Step:
    """Result of a line search; one without a gradient met no lower point."""

    n_calls: int
    value: float = np.inf
    gradient: FloatArray | None = None
    moved: FloatArray = field(default_factory=lambda: np.zeros(0))


def line_search(fun: Function, w: FloatArray, value: float, gradient: FloatArray, direction: FloatArray) -> _Step:
    """Return a step along a direction that meets the weak Wolfe conditions, the whole one if that does."""
    slope = float(gradient @ direction)
    if not slope < 0:
        return _Step(0)
    noise = _NOISE * abs(value)
    low, low_value, low_slope, best = 0.0, value, slope, None
    high, high_value, high_slope = np.inf, np.inf, np.nan
    length, cut = 1.0, 0.1
    for n_calls in range(1, _TRIALS + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            moved = length * direction
            trial, trial_gradient = fun(w + moved)
            trial_slope = float(trial_gradient @ direction)
        if not (np.isfinite(trial) and np.isfinite(trial_slope)):
            # Nothing to interpolate, and nobody knows how far out this is: cut by ever more.
            high, high_value, high_slope = length, np.inf, np.nan
            length = low + max(cut, 1e-100) * (length - low)
            cut = cut**2
            continue
        lower = trial <= value + _DECREASE * length * slope or (
            trial <= value + noise and trial_slope <= (2 * _DECREASE - 1) * slope
        )
        if lower and trial_slope >= _SLOPE * slope:
            return _Step(n_calls, trial, trial_gradient, moved)
        if lower:
            low, low_value, low_slope = length, trial, trial_slope
            best = _Step(n_calls, trial, trial_gradient, moved)
        else:
            high, high_value, high_slope = length, trial, trial_slope
        if high < np.inf and high - low <= _NOISE * high:
            break
        length = _interpolated(low, low_value, low_slope, high, high_value, high_slope, slope)
    return best or _Step(n_calls)


def _interpolated(
    low: float, low_value: float, low_slope: float, high: float, high_value: float, high_slope: float, slope: float
) -> float:
    """Return where to try next, between the ends of the bracket, or beyond where there is no upper end yet."""
    if high == np.inf:
        # Where the slope would vanish if it went on as from zero to here.
        return low * float(np.clip(slope / (slope - low_slope) if low_slope > slope else 100.0, 2.0, 100.0))
    if high_value == np.inf:
        return low + 0.1 * (high - low)
    # The minimum of the cubic through both values and slopes, on the unit interval.
    start, end, rise = low_slope * (high - low), high_slope * (high - low), high_value - low_value
    unit = max(abs(start), abs(end), abs(rise))
    start, end, rise = start / unit, end / unit, rise / unit
    square, cube = 3.0 * rise - 2.0 * start - end, start + end - 2.0 * rise
    denominator = square + math.sqrt(max(square**2 - 3.0 * cube * start, 0.0))
    inside = -start / denominator if denominator > 0 else 0.5
    # Where the upper end is far out, the first minimum may be very near to zero.
    return low + (high - low) * float(np.clip(inside, 0.05 if low > 0 else 1e-200, 0.95))
