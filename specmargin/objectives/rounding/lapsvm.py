r"""Primal and dual value of LapSVM and LapRLS with bounds on their rounding: what their certificate is made of.

`LapSVM.prove` adds up the objective and the lower bound of the docstring of `specmargin.objectives.lapsvm` at a
candidate. Both share the penalty, whose error moves them alike, and rest on one image K alpha
(`specmargin.objectives.rounding.products.Image`), which is computed anew with more digits where rounding is what keeps
a proof away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from specmargin.kernels.operators import kernel_trace
from specmargin.kernels.truncated import TruncatedKernel
from specmargin.objectives.rounding.products import Image
from specmargin.rounding import UNIT, exact_dot, exact_sum, gamma, two_product, two_sum
from specmargin.typing import FloatArray

__all__ = ["dual_with_error", "penalty_with_error", "primal_with_error", "residual", "residual_bound"]

_CG_TOL, _CG_STEPS = 1e-8, 100
_TRUNCATED = 1e-10  # of the bound, that what is left out of a kernel may cost before it is looked at closely
LapSVM: TypeAlias = Any
"""`specmargin.objectives.LapSVM`, which calls this module and is not imported here."""


def penalty_with_error(obj: LapSVM, theta: FloatArray, image: Image) -> tuple[float, float]:
    """Return gamma_A a'Ka + gamma_I a'KLKa, and a bound on the error of that less theta'J Ka.

    An error of Ka moves that difference by its inner product with gamma_A a + 2 gamma_I L K a - J'theta, which is
    small where theta are the multipliers of a, far smaller than its three parts; and by terms of second order.
    """
    value, error = (obj.gamma_A * part for part in image.ambient())
    slope = obj.gamma_A * image.alpha
    size = np.abs(slope)
    if obj.products.L is not None:
        intrinsic, more = image.intrinsic()
        value, error = value + obj.gamma_I * intrinsic, error + obj.gamma_I * more
        part = 2.0 * obj.gamma_I * (image.g + image.g_low)
        slope, size = slope + part, size + np.abs(part)
    slope[obj.labels.labeled] -= theta
    size[obj.labels.labeled] += np.abs(theta)
    error += (1.0 + 1e-9) * float(image.f_error @ (np.abs(slope) + 8.0 * UNIT * size))
    return value, error + 4.0 * UNIT * abs(value)


def primal_with_error(obj: LapSVM, image: Image, b: float, theta: FloatArray, penalty: float) -> tuple[float, float]:
    """Return the objective, and a bound on its error but for that of the penalty; theta are near -y V'(y f).

    `penalty` is the value that `penalty_with_error` returns.
    """
    y, labeled = obj.labels.sign, obj.labels.labeled
    total, lost = two_sum(obj.slack_at_zero, -y * b)
    slack, again = two_sum(total, -y * image.f[labeled])
    low = lost + again - y * image.f_low[labeled]
    slack = slack + low
    # Of the error of f its product with theta is in `penalty_with_error`; the rest is convex, and largest at an end.
    off = image.f_error[labeled]
    known = 2.0 * UNIT * (np.abs(slack) + 2.0 * np.abs(low))
    share = 8.0 * UNIT
    losses_of = obj.margin_loss.value_of_slack
    if not obj.margin_loss.piecewise_quadratic:
        # Of the margin 1 - slack at which these are known, and of the logarithms; here, and at either end below.
        known, share = known + 16.0 * UNIT * (1.0 + np.abs(slack)), 32.0 * UNIT
    losses, beta = losses_of(slack), y * theta
    up, down = (np.maximum(losses_of(end + known), losses_of(end - known)) for end in (slack + off, slack - off))
    rest = np.maximum(up - losses - off * beta, down - losses + off * beta)
    error = float(rest.sum()) + share * float((np.maximum(up, down) + off * np.abs(beta)).sum())
    value = exact_sum(losses) + penalty
    return obj.scale * value, obj.scale * ((1.0 + 1e-9) * error + 4.0 * UNIT * abs(value))


def dual_with_error(
    obj: LapSVM,
    theta: FloatArray,
    image: Image,
    penalty: tuple[float, float],
    thorough: bool = True,
) -> tuple[float, float]:
    """Return the lower bound of `specmargin.objectives.lapsvm`, and a bound on its error but for that of the penalty.

    What a hundredth of the error outweighs is not made smaller.
    """
    y, labeled = obj.labels.sign, obj.labels.labeled
    gains, error = obj.dual_terms(y * theta)
    linear = exact_dot(theta, image.f[labeled]) + float(theta @ image.f_low[labeled])
    error += gamma(len(y) + 2) * float(np.abs(theta) @ np.abs(image.f_low[labeled])) + 4.0 * UNIT * abs(linear)
    lagrangian = exact_sum(gains) + penalty[0] - linear
    error += 4.0 * UNIT * (abs(penalty[0]) + abs(linear) + abs(lagrangian))
    enough = max(1e-13 * abs(lagrangian), 0.01 * (penalty[1] + error))
    missed = residual_bound(obj, theta, image, enough, thorough)
    if isinstance(obj.K, TruncatedKernel):
        # What it leaves out costs gamma_A (|a| + |r| / (2 gamma_A))^2 in the norm of that: twice either square.
        spare = math.sqrt((_TRUNCATED * abs(lagrangian) + 0.01 * missed) / obj.gamma_A)
        error += 2.0 * obj.gamma_A * obj.K.length_left(image.alpha, spare) ** 2
    value = lagrangian - missed
    return obj.scale * value, obj.scale * (error + 4.0 * UNIT * abs(value))


def residual(obj: LapSVM, theta: FloatArray, image: Image) -> tuple[FloatArray, FloatArray]:
    """Return r = 2 S a - J'theta, and a bound on the error of every entry."""
    labeled = obj.labels.labeled
    loss_part = np.zeros(len(image.alpha))
    loss_part[labeled] = theta
    r, off = two_product(2.0 * obj.gamma_A, image.alpha)
    # What is left of the parts may cancel, too: each counts by itself.
    parts, error = np.abs(off), np.zeros(len(r))
    if obj.products.L is not None:
        weight = 2.0 * obj.gamma_I
        part, rounded = two_product(weight, image.g)
        r, lost = two_sum(r, part)
        low = weight * image.g_low
        off = off + rounded + lost + low
        parts = parts + np.abs(rounded) + np.abs(lost) + np.abs(low)
        error = weight * (image.g_error + image.g_shift)
    r, lost = two_sum(r, -loss_part)
    r = r + (off + lost)
    error = error + 2.0 * UNIT * np.abs(r) + 8.0 * UNIT * (parts + np.abs(lost))
    return r, error


def residual_bound(obj: LapSVM, theta: FloatArray, image: Image, negligible: float, thorough: bool = True) -> float:
    """Return an upper bound on r'K S^-1 r / 4, r = 2 S a - J'theta, without ado where the simple one is negligible.

    Whatever rounding may have made of r and of the products with it is part of the bound.
    """
    products = obj.products
    r, error = residual(obj, theta, image)
    unit = 1.0 / (4.0 * obj.gamma_A)

    def ambient(part: FloatArray, error: FloatArray) -> float:
        """Return a bound on the length of part in the kernel's norm, over 2 sqrt(gamma_A)."""
        image, off = products.kernel(part)
        inner, rounding = float(part @ image), float(np.abs(part) @ off)
        rounding += gamma(len(part) + 2) * products.length(np.abs(part)) ** 2
        if rounding * unit > 0.1 * negligible and (split := products.split_kernel(part, 2)) is not None:
            inner = exact_dot(part, split[0]) + float(part @ split[1])
            low = gamma(len(part) + 2) * np.abs(split[1])
            rounding = float(np.abs(part) @ (split[2] + low)) + 4.0 * UNIT * abs(inner)
        inner += rounding
        root = math.sqrt(max(inner, 0.0) * unit) * (1.0 + 16.0 * UNIT)
        if isinstance(obj.K, TruncatedKernel):
            root += math.sqrt(2.0 * unit) * obj.K.length_left(part, math.inf)
        return root + products.length(error) * math.sqrt(unit)

    # |v|_K is no more than sum_i sqrt(K_ii) |v_i|: where that decides it, a product with K is saved.
    n, coarse = len(r), products.length(np.abs(r) + error) ** 2 * unit
    if coarse <= negligible:
        return coarse
    simple = ambient(r, error) ** 2
    if simple <= negligible or not thorough or products.L is None or not np.isfinite(simple):
        return min(coarse, simple)
    # K S^-1 = (gamma_A K^-1 + gamma_I L)^-1 is a parallel sum: whatever x is, r = gamma_I L x + rest costs
    # gamma_I x'L x + rest'K rest / gamma_A. The best x is K S^-1 r; a few conjugate gradients find another one.
    bound = min(coarse, simple)
    for x in _splits(obj, r):
        Lx, rounded = products.graph(x)
        graph = obj.gamma_I * Lx
        inner = float(x @ graph) + float(np.abs(x) @ (obj.gamma_I * rounded + gamma(n + 2) * np.abs(graph)))
        more = error + obj.gamma_I * rounded + 4.0 * UNIT * (np.abs(graph) + np.abs(r))
        bound = min(bound, max(inner, 0.0) / 4.0 * (1.0 + 16.0 * UNIT) + ambient(r - graph, more) ** 2)
        if bound <= negligible:
            break
    return bound


def _splits(obj: LapSVM, r: FloatArray) -> Iterator[FloatArray]:
    """Yield candidates for the x of `residual_bound`."""
    solve = getattr(obj.reduction.damped, "solve", None) if "reduction" in vars(obj) else None
    if solve is not None:
        yield np.asarray(obj.K @ np.asarray(solve(r)))
    L, n, shift = obj.products.L, len(r), obj.gamma_A / max(kernel_trace(obj.K), 1e-300)
    assert L is not None
    # Conjugate gradients as scipy's, whose overhead would be most of the time on a small graph.
    x, left, direction, before = np.zeros(n), r.copy(), np.zeros(n), 1.0
    enough = _CG_TOL * float(np.linalg.norm(r))
    for _ in range(_CG_STEPS if enough > 0.0 else 0):
        if float(np.linalg.norm(left)) < enough:
            break
        square = float(left @ left)
        direction *= square / before
        direction += left
        image = shift * direction + obj.gamma_I * (L @ direction)
        step = square / float(direction @ image)
        x += step * direction
        left -= step * image
        before = square
    yield x
