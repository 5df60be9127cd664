"""Small random programs over all cones, and linear programs whose optimum is a rational number."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
from exact_fractions import solved

KINDS = ("lp", "qp", "socp", "sdp", "exp", "power", "geo", "logdet")


def random_program(kind, seed):
    """Return a feasible and bounded program, its scale among 1e-6, 1 and 1e6, some with ties or redundant rows."""
    rng = np.random.default_rng([seed, *map(ord, kind)])
    n, m = int(rng.integers(3, 9)), int(rng.integers(4, 14))
    A, x0, c = rng.standard_normal((m, n)), rng.standard_normal(n), rng.standard_normal(n)
    if seed % 3 == 1:
        A = np.round(A)
    if seed % 4 == 2:
        A[m // 2 :] = A[: m - m // 2]
    x, y = cp.Variable(n, name="x"), rng.standard_normal(m)
    match kind:
        case "lp":
            loss, held = c @ x, [A @ x <= A @ x0 + rng.random(m), cp.norm_inf(x) <= 9, A[:1] @ x == A[:1] @ x0]
        case "qp":
            loss, held = cp.sum_squares(A @ x - y) + cp.norm1(x), [x >= np.minimum(x0, 0)]
        case "socp":
            loss, held = c @ x + cp.norm(A @ x - y), [cp.norm(x - x0) <= 2]
        case "sdp":
            S = rng.standard_normal((n, n))
            X = cp.Variable((n, n), PSD=True)
            loss, held = cp.trace((S + S.T) @ X), [cp.diag(X) == 1]
        case "exp":
            loss, held = cp.sum(cp.logistic(-cp.multiply(np.sign(y), A @ x))) + cp.norm1(x), []
        case "power":
            t = cp.Variable(n)
            held = [cp.constraints.PowCone3D(t, np.ones(n), x - x0, 0.3), cp.norm_inf(x) <= 5]
            loss = c @ x + cp.sum(t)
        case "geo":
            B = np.abs(A) + 0.1
            loss, held = -cp.geo_mean(x), [x <= 4, B @ x <= B.sum(axis=1)]
        case _:
            D = rng.standard_normal((n + 4, n))
            X = cp.Variable((n, n), symmetric=True)
            loss, held = -cp.log_det(X) + cp.trace(D.T @ D / (n + 4) @ X), []
    return cp.Problem(cp.Minimize((1.0, 1e-6, 1e6)[seed % 3] * loss), held)


def rational_program(seed):
    """Return a linear program and its optimum as a rational number, None where the vertex could not be confirmed."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(3, 9))
    A = np.vstack([rng.standard_normal((m, n)) * 10.0 ** rng.integers(-3, 4, (m, 1)), np.eye(n), -np.eye(n)])
    b = np.concatenate([np.abs(rng.standard_normal(m)), 10 * np.ones(2 * n)])
    c = rng.standard_normal(n) * 10.0 ** rng.integers(-5, 6)
    x = cp.Variable(n)
    problem = cp.Problem(cp.Minimize(c @ x), [A @ x <= b])
    problem.solve(solver="CLARABEL")
    active = np.argsort((b - A @ x.value) / np.linalg.norm(A, axis=1))[:n]
    vertex = solved(A[active], b[active])
    multipliers = solved(A[active].T, -c)
    if vertex is None or multipliers is None or min(multipliers) < 0:
        return None
    ends = zip(A.tolist(), b.tolist(), strict=True)
    if any(sum(Fraction(a) * t for a, t in zip(row, vertex, strict=True)) > Fraction(end) for row, end in ends):
        return None
    return problem, sum((Fraction(a) * t for a, t in zip(c.tolist(), vertex, strict=True)), Fraction(0))
