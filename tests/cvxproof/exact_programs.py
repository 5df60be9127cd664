"""Random programs of up to n variables whose proofs are exported: linear, quadratic, second-order, semidefinite."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

KINDS = ("linear", "free linear", "quadratic", "quadratic form", "second order", "semidefinite", "matrix inequality")


def exact_program(kind: str, seed: int, most: int = 100) -> cp.Problem:
    """Return a program with an optimum, of 2 to `most` variables, their logarithm uniform.

    The objective is scaled by 1e-3 to 1e3.
    """
    rng = np.random.default_rng([seed, *map(ord, kind)])
    n = int(np.exp(rng.uniform(np.log(2), np.log(most + 1))))
    m, x, x0 = n + n // 2, cp.Variable(n, name="x"), rng.standard_normal(n)
    A, c, y = rng.standard_normal((m, n)), rng.standard_normal(n), rng.standard_normal(m)
    rows = A @ x <= A @ x0 + rng.random(m)
    scale = 10.0 ** int(rng.integers(-3, 4))
    if kind == "linear":
        loss, held = c @ x, [rows, cp.norm_inf(x) <= 3 + np.abs(x0).max(), A[0] @ x == A[0] @ x0]
    elif kind == "free linear":  # a multiple of every row, so that no column has a bound of its own
        loss, held = (rng.random(m) @ -A) @ x, [rows]
    elif kind == "quadratic":
        loss, held = cp.sum_squares(A @ x - y) + cp.norm1(x), [x >= np.minimum(x0, 0)] if seed % 2 else []
    elif kind == "quadratic form":
        loss, held = cp.quad_form(x, A.T @ A / m + np.eye(n) / 100) + c @ x, [rows, cp.sum(x) == x0.sum()]
    elif kind == "second order":
        loss, held = c @ x + cp.norm(A @ x - y), [cp.norm(x - x0) <= 2, cp.norm(x[: n // 2 + 1], 1) <= 5 * n]
    elif kind == "semidefinite":
        k = max(2, int(np.sqrt(2 * n)))
        S, X = rng.standard_normal((k, k)), cp.Variable((k, k), name="X", PSD=True)
        loss, held = cp.trace((S + S.T) @ X), [cp.diag(X) == 1 + rng.random(k), cp.sum(X) <= 2 * k]
    else:
        k = int(rng.integers(2, 14))
        F = rng.standard_normal((n, k, k))
        F, S = F + F.transpose(0, 2, 1), np.eye(k) * (4 + np.sqrt(n * k))
        loss, held = c @ x, [S + sum(x[i] * F[i] for i in range(n)) >> 0, cp.norm(x) <= 2]
    problem = cp.Problem(cp.Minimize(scale * loss), held)
    return cp.Problem(cp.Maximize(-scale * loss), held) if seed % 3 == 0 else problem
