"""Random convex programs: ten classes that are solvable, and sparse ones of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

Made: TypeAlias = tuple[Any, list[Any]]
Rng: TypeAlias = np.random.Generator


class _Draw:
    """What the classes have in common: rows with ties and redundant ones among them, a point, right sides."""

    def __init__(self, seed: int, kind: str) -> None:
        self.rng = rng = np.random.default_rng([seed, *map(ord, kind)])
        self.seed = seed
        self.n, self.m = int(rng.integers(3, 25)), int(rng.integers(4, 40))
        self.A, self.x0 = rng.standard_normal((self.m, self.n)), rng.standard_normal(self.n)
        if seed % 4 == 2:
            self.A[:, : self.n // 2] = np.round(self.A[:, : self.n // 2])
        if seed % 5 == 3:
            self.A[self.m // 2 :] = self.A[: self.m - self.m // 2]
        self.c, self.y = rng.standard_normal(self.n), rng.standard_normal(self.m)
        self.x = cp.Variable(self.n)
        self.scale = 10.0 ** int(rng.integers(-6, 7)) if seed % 2 else 1.0


def _linear(d: _Draw) -> Made:
    room = d.rng.integers(0, 2, d.m) * d.rng.random(d.m)
    held = [d.A @ d.x <= d.A @ d.x0 + room, cp.norm_inf(d.x) <= 3 * (1 + np.abs(d.x0).max())]
    if d.seed % 2:
        held.append(d.A[:2] @ d.x == d.A[:2] @ d.x0)
    if d.seed % 4 == 2:
        held += [d.x >= np.minimum(d.x0, 0), d.x[0] == d.x0[0], 2 * d.x[0] == 2 * d.x0[0]]
    return d.c @ d.x, held


def _quadratic(d: _Draw) -> Made:
    if d.seed % 4 == 0:
        half = d.A[: max(d.n // 2, 1)]
        return cp.sum_squares(half @ d.x) + d.c @ d.x, [cp.abs(d.x) <= 5]
    return cp.sum_squares(d.A @ d.x - d.y) + cp.norm1(d.x), [d.x >= np.minimum(d.x0, 0)] if d.seed % 3 else []


def _second_order(d: _Draw) -> Made:
    held = [cp.norm(d.x - d.x0) <= 2]
    if d.seed % 2:
        held.append(cp.norm(d.A[:3] @ d.x) <= d.c[0] * d.x[0] + 1 + np.linalg.norm(d.A[:3] @ d.x0) + abs(d.c @ d.x0))
    return d.c @ d.x + cp.norm(d.A @ d.x - d.y), held


def _semidefinite(d: _Draw) -> Made:
    k = int(d.rng.integers(3, 9))
    S = d.rng.standard_normal((k, k))
    if d.seed % 3:
        X = cp.Variable((k, k), PSD=True)
        return cp.trace((S + S.T) @ X), [cp.diag(X) == 1]
    F, v = d.rng.standard_normal((4, k, k)), cp.Variable(4)
    return cp.lambda_max(S + S.T + sum(v[i] * (F[i] + F[i].T) for i in range(4))) + 8 * cp.norm1(v), []


def _exponential(d: _Draw) -> Made:
    if d.seed % 3 == 0:
        return cp.sum(-cp.entr(d.x)) + d.c @ d.x, [cp.sum(d.x) == 1, d.A[:2] @ d.x <= np.abs(d.A[:2]).max()]
    labels = np.sign(d.A @ d.x0 + 0.5 * d.y)
    return cp.sum(cp.logistic(-cp.multiply(labels, d.A @ d.x))) + 0.5 * cp.norm1(d.x), []


def _power(d: _Draw) -> Made:
    t, a = cp.Variable(d.n), float(d.rng.choice([0.2, 1 / 3, 0.5, 0.7]))
    return d.c @ d.x + cp.sum(t), [cp.PowCone3D(t, np.ones(d.n), d.x - d.x0, a), cp.norm_inf(d.x) <= 5]


def _n_power(d: _Draw) -> Made:
    k = int(d.rng.integers(3, 6))
    a, x, t = d.rng.dirichlet(np.ones(k)), cp.Variable(k), cp.Variable()
    return -t + 0.1 * cp.sum_squares(x), [cp.PowConeND(x, t, a), np.abs(d.rng.standard_normal((3, k))) @ x <= 4]


def _geometric(d: _Draw) -> Made:
    B = np.abs(d.A) + 0.1
    return -cp.geo_mean(d.x), [d.x <= 4, B @ d.x <= B.sum(axis=1)]


def _p_norm(d: _Draw) -> Made:
    B = np.abs(d.A) + 0.1
    return cp.pnorm(d.A @ d.x - d.y, 2.7) + cp.sum(cp.inv_pos(d.x)), [d.x <= 4, B @ d.x <= B.sum(axis=1)]


def _log_det(d: _Draw) -> Made:
    k = int(d.rng.integers(2, 6))
    D, X = d.rng.standard_normal((k + 4, k)), cp.Variable((k, k), symmetric=True)
    sparse = 0.1 * cp.sum(cp.abs(X)) if d.seed % 2 else 0
    return -cp.log_det(X) + cp.trace(D.T @ D / (k + 4) @ X) + sparse, []


CLASSES: dict[str, Callable[[_Draw], Made]] = {
    "linear": _linear,
    "quadratic": _quadratic,
    "second order": _second_order,
    "semidefinite": _semidefinite,
    "exponential": _exponential,
    "power": _power,
    "n-power": _n_power,
    "geometric mean": _geometric,
    "p-norm": _p_norm,
    "log-determinant": _log_det,
}


def random_program(kind: str, seed: int) -> cp.Problem:
    """Return a program that has an optimum: ties, redundant rows, and scales of the objective from 1e-6 to 1e6."""
    draw = _Draw(seed, kind)
    loss, held = CLASSES[kind](draw)
    return cp.Problem(cp.Minimize(draw.scale * loss), held)


def sparse_programs(n: int) -> Iterator[tuple[str, cp.Problem]]:
    """Yield a lasso, a linear program and a logistic regression of n columns, three entries a row."""
    rng = np.random.default_rng(0)
    m = n + n // 2

    def drawn(rows: int) -> sp.csr_matrix:
        at = np.repeat(np.arange(rows), 3), rng.integers(0, n, 3 * rows)
        return sp.csr_matrix((rng.standard_normal(3 * rows), at), (rows, n))

    A, x0, x = drawn(m), rng.standard_normal(n) * (rng.random(n) < 0.1), cp.Variable(n)
    y = A @ x0 + 0.1 * rng.standard_normal(m)
    yield "lasso", cp.Problem(cp.Minimize(0.5 * cp.sum_squares(A @ x - y) + 0.1 * cp.norm1(x)))
    B, x1 = drawn(n), rng.random(n)
    yield (
        "linear program",
        cp.Problem(cp.Minimize(rng.random(n) @ x), [B @ x <= B @ x1 + rng.random(n), x >= 0, x <= 2]),
    )
    labels = np.sign(A @ x0 + 0.1 * rng.standard_normal(m))
    losses = cp.sum(cp.logistic(-cp.multiply(labels, A @ x)))
    yield "logistic regression", cp.Problem(cp.Minimize(losses + 0.1 * cp.norm1(x)))
