"""Random programs without an optimum, over all cones: infeasible ones and unbounded ones, by their kind and number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np

Array = np.ndarray


def _rows(x: cp.Variable, A: Array, w: Array) -> list[Any]:
    return [A @ x <= -1, -(w @ A) @ x <= 0.5 * w.sum()]


def _ball(x: cp.Variable, A: Array, w: Array) -> list[Any]:
    return [cp.norm(x) <= 1, cp.sum(x) >= np.sqrt(x.size) + 0.1]


def _matrix(x: cp.Variable, A: Array, w: Array) -> list[Any]:
    X = cp.Variable((3, 3), PSD=True)
    return [cp.trace(X) <= 1, X[0, 1] >= 0.51 + w[0]]


def _exponentials(x: cp.Variable, A: Array, w: Array) -> list[Any]:
    return [cp.sum(cp.exp(x)) <= 1, cp.sum(x) >= -x.size * np.log(x.size) + 0.01 + w[0]]


def _powers(x: cp.Variable, A: Array, w: Array) -> list[Any]:
    a = 0.2 + 0.6 * w[0]
    mean = a**a * (1 - a) ** (1 - a)  # the largest x_0^a x_1^(1 - a) of a sum of one
    return [cp.PowCone3D(x[0], x[1], cp.Constant(mean + 0.01 + w[1]), a), x[0] + x[1] <= 1]


def _equalities(x: cp.Variable, A: Array, w: Array) -> list[Any]:
    return [A[: x.size] @ x == 1, A[: x.size] @ x == 1 + 1e-3]


def _falling_rows(x: cp.Variable, A: Array) -> tuple[Any, list[Any]]:
    return cp.sum(x), [np.abs(A) @ x <= 1]


def _norm(x: cp.Variable, A: Array) -> tuple[Any, list[Any]]:
    return -cp.sum(x) + 0.1 * cp.norm(x), []


def _free_column(x: cp.Variable, A: Array) -> tuple[Any, list[Any]]:
    return x[0] + cp.sum_squares(x[1:]), [x[0] <= 5]


def _falling_matrix(x: cp.Variable, A: Array) -> tuple[Any, list[Any]]:
    X = cp.Variable((3, 3), PSD=True)
    return -cp.trace(X), [X[0, 0] <= 1 + np.abs(A[0, 0]), cp.abs(X[0, 1]) <= 1]


def _logarithms(x: cp.Variable, A: Array) -> tuple[Any, list[Any]]:
    return -cp.sum(cp.log(x)) - cp.sum(x), [x[0] <= 2]


def _falling_powers(x: cp.Variable, A: Array) -> tuple[Any, list[Any]]:
    t = cp.Variable(x.size)
    return -cp.sum(t), [cp.PowCone3D(x, 2 * x + np.abs(A[0]), t, 0.3 + 0.4 * (A[0, 0] > 0)), t[0] <= 1]


_INFEASIBLE = {
    "rows": _rows,
    "ball": _ball,
    "matrix": _matrix,
    "exponentials": _exponentials,
    "powers": _powers,
    "equalities": _equalities,
}
_UNBOUNDED = {
    "rows": _falling_rows,
    "norm": _norm,
    "free column": _free_column,
    "matrix": _falling_matrix,
    "logarithms": _logarithms,
    "powers": _falling_powers,
}


def _infeasible(held: Callable[..., list[Any]], seed: int) -> cp.Problem:
    rng = np.random.default_rng(seed)
    x = cp.Variable(int(rng.integers(2, 15)))
    A, w = rng.standard_normal((x.size + 3, x.size)), rng.random(x.size + 3)
    return cp.Problem(cp.Minimize(cp.sum_squares(x)), held(x, A, w))


def _unbounded(parts: Callable[..., tuple[Any, list[Any]]], seed: int) -> cp.Problem:
    rng = np.random.default_rng(seed)
    x = cp.Variable(int(rng.integers(2, 15)))
    loss, held = parts(x, rng.standard_normal((x.size, x.size)))
    return cp.Problem(cp.Minimize(loss) if seed % 2 else cp.Maximize(-loss), held)


RAYS: dict[tuple[str, str], Callable[[int], cp.Problem]] = {
    **{("infeasible", kind): lambda seed, held=held: _infeasible(held, seed) for kind, held in _INFEASIBLE.items()},
    **{("unbounded", kind): lambda seed, parts=parts: _unbounded(parts, seed) for kind, parts in _UNBOUNDED.items()},
}
"""Programs by their number, of every status and kind."""
