"""Programs whose end is known in rational numbers: built from a point and multipliers of small whole numbers.

An optimum is planted by x, s in the cones and z in their duals with s'z = 0: the right sides are A x + s, the costs
-A'z - P x, and no rounding takes part. Rays are planted in the same way. Rows and columns are then scaled by powers of
two, which changes neither the end nor the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np

from cvxproof.results import SolveResult

Array = np.ndarray


@dataclass(frozen=True)
class Block:
    """Slacks s and multipliers z of one cone, complementary, and a pair inside of both cones."""

    kind: str
    s: tuple[int | float, ...]
    z: tuple[int | float, ...]
    inside: tuple[float, ...]


ROW_AT_END = Block("nonnegative", (0,), (2,), (1.0,))
BLOCKS = {
    "lp": (ROW_AT_END, Block("nonnegative", (3,), (0,), (1.0,)), Block("zero", (0,), (-1,), (0.0,))),
    "socp": (
        Block("second_order", (5, 3, 4), (5, -3, -4), (2.0, 0.0, 0.0)),
        Block("second_order", (0, 0, 0), (3, 1, -2), (2.0, 0.0, 0.0)),
        ROW_AT_END,
    ),
    "sdp": (
        # (1, 2)(1, 2)' and (2, -1)(2, -1)', whose -2 counts twice
        Block("semidefinite", (1, 2, 4), (4, -4, 1), (1.0, 0.0, 1.0)),
        Block("semidefinite", (2, 1, 3), (0, 0, 0), (1.0, 0.0, 1.0)),
        ROW_AT_END,
    ),
    "exp": (
        Block("exponential", (0, 1, 1), (-1, -1, 1), (-1.0, 1.0, 2.0)),
        Block("exponential", (-2, 1, 1), (0, 0, 0), (-1.0, 1.0, 2.0)),
        ROW_AT_END,
    ),
    "power": (
        Block("power 0.5", (4, 16, 8), (1, 0.25, -1), (1.0, 1.0, 0.0)),
        Block("power 0.25", (16, 1, 2), (1 / 32, 1.5, -1), (1.0, 1.0, 0.0)),
        ROW_AT_END,
    ),
}
BLOCKS["qp"] = BLOCKS["lp"]
ENDS = ("optimal", "zero", "free", "infeasible", "unbounded", "weakly unbounded", "weakly infeasible")
ENTRIES = np.array([-3, -2, -1, 0, 0, 1, 2, 3])


@dataclass(frozen=True)
class Planted:
    """A problem and what is known of it."""

    problem: cp.Problem
    end: str
    """"optimal", "infeasible" or "unbounded"; "attained nowhere" where the optimum is no value of a point."""
    optimum: Fraction | None
    terms: float
    """Sum of the moduli of the terms of the objective at the planted point."""


def planted(kind: str, end: str, seed: int, powers: int = 0) -> Planted:
    """Return a program of a kind in `BLOCKS` that ends as in `ENDS`, its scales drawn from 2^-powers to 2^powers."""
    rng = np.random.default_rng([seed, powers, *map(ord, kind + end)])
    n = int(rng.integers(2, 7))
    if end == "weakly unbounded":
        return _unattained(rng, powers)
    if end == "weakly infeasible":
        return _weakly_infeasible(rng, powers)
    x = rng.integers(-3, 4, n).astype(float)
    P = np.zeros((n, n))
    if kind == "qp" or end == "free":
        F = rng.choice(ENTRIES, (n if end != "zero" else max(1, n - 1), n))
        P = (F.T @ F).astype(float)
    if end == "free":
        return _written(rng, powers, P, -P @ x, 0.0, [], np.zeros((0, n)), np.zeros(0), x, "optimal")
    blocks = [BLOCKS[kind][k] for k in rng.integers(0, len(BLOCKS[kind]), int(rng.integers(n, n + 4)))]
    s, z = (np.concatenate([getattr(block, name) for block in blocks]).astype(float) for name in ("s", "z"))
    A = rng.choice(ENTRIES, (len(s), n)).astype(float)
    if end == "infeasible":
        # A'z = 0 > b'z: the last row of an inequality completes the sum.
        blocks, z = [*blocks, ROW_AT_END], np.append(z, 1.0)
        A = np.vstack([A, -A.T @ z[:-1]])
        b = A @ x + np.concatenate([np.asarray(block.inside) for block in blocks])
        b[-1] -= b @ z + 2.0 ** -float(rng.integers(0, 12))
        return _written(rng, powers, P, rng.choice(ENTRIES, n).astype(float), 0.0, blocks, A, b, x, "infeasible")
    if end == "unbounded":
        # -A y in the cones, for a y of whole numbers: the first column, which has an entry of one, is changed so.
        y = np.concatenate([[1.0], rng.integers(-2, 3, n - 1)])
        A[:, 0] -= A @ y + s
        b = A @ x + np.concatenate([np.asarray(block.inside) for block in blocks])
        q = rng.choice(ENTRIES, n).astype(float)
        q[0] -= q @ y + 1
        return _written(rng, powers, 0 * P, q, 0.0, blocks, A, b, x, "unbounded")
    q = -A.T @ z - P @ x
    d = -float(q @ x + 0.5 * x @ P @ x) if end == "zero" else 0.0
    return _written(rng, powers, P, q, d, blocks, A, A @ x + s, x, "optimal")


def _written(
    rng: Any, powers: int, P: Array, q: Array, d: float, blocks: list[Block], A: Array, b: Array, x: Array, end: str
) -> Planted:
    """Return the program in CVXPY, its rows and columns scaled."""
    value = Fraction(d) + sum(Fraction(a) * Fraction(t) for a, t in zip(q.tolist(), x.tolist(), strict=True))
    for row, t in zip(P.tolist(), x.tolist(), strict=True):
        value += sum(Fraction(a) * Fraction(t) * Fraction(o) / 2 for a, o in zip(row, x.tolist(), strict=True))
    terms = float(np.abs(q) @ np.abs(x) + 0.5 * np.abs(x) @ np.abs(P) @ np.abs(x) + abs(d))

    def power(size: int | None = None) -> Any:
        return np.exp2(rng.integers(-powers, powers + 1, size))

    columns = power(len(x))
    whole = power()
    u = cp.Variable(len(x), name="x")
    held, at = [], 0
    for block in blocks:
        rows = slice(at, at + len(block.s))
        scale = power()
        part = scale * b[rows] - (scale * A[rows] * columns) @ u
        at = rows.stop
        held.append(_in_cone(block.kind, part))
    loss = whole * d + (whole * q * columns) @ u
    if P.any():
        loss += 0.5 * cp.quad_form(u, cp.psd_wrap(whole * P * np.outer(columns, columns)))
    optimum = value * Fraction(float(whole)) if end == "optimal" else None
    maximise = bool(rng.integers(0, 2))
    problem = cp.Problem(cp.Maximize(-loss) if maximise else cp.Minimize(loss), held)
    return Planted(problem, end, -optimum if maximise and optimum is not None else optimum, terms * float(whole))


def _in_cone(kind: str, part: cp.Expression) -> Any:
    if kind == "nonnegative":
        return part >= 0
    if kind == "zero":
        return part == 0
    if kind == "second_order":
        return cp.SOC(part[0], part[1:])
    if kind == "semidefinite":
        return cp.bmat([[part[0], part[1]], [part[1], part[2]]]) >> 0
    if kind == "exponential":
        return cp.constraints.ExpCone(part[0], part[1], part[2])
    return cp.constraints.PowCone3D(part[0], part[1], part[2], float(kind.split()[1]))


def _unattained(rng: Any, powers: int) -> Planted:
    """Return min x subject to x y >= c, or of exp(x), whose infimum 0 no point has."""
    scale, c = np.exp2(rng.integers(-powers, powers + 1, 2))
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    if rng.integers(0, 2):
        problem = cp.Problem(cp.Minimize(scale * x), [cp.SOC(x + y, cp.hstack([x - y, 2.0 * c])), x >= 0])
    else:
        problem = cp.Problem(cp.Minimize(cp.exp(x / scale)), [x <= c])
    return Planted(problem, "attained nowhere", Fraction(0), 0.0)


def _weakly_infeasible(rng: Any, powers: int) -> Planted:
    """Return x y >= c with x = 0: points are as near as one likes, and there is none."""
    c = float(np.exp2(rng.integers(-powers, powers + 1)))
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    problem = cp.Problem(cp.Minimize(y), [cp.SOC(x + y, cp.hstack([x - y, 2.0 * c])), x <= 0])
    return Planted(problem, "infeasible", None, 0.0)


def false_claim(known: Planted, result: SolveResult) -> str:
    """Return what a result claims that is false, if anything."""
    status, certificate = result.status.name, result.certificate
    if status in ("INFEASIBLE", "UNBOUNDED"):
        return "" if known.end == status.lower() else f"{status}, but it is {known.end}"
    if status not in ("OPTIMAL", "OPTIMAL_INACCURATE"):
        return ""
    if certificate.assumptions:
        return f"{status}, but it supposes {certificate.assumptions}"
    if known.optimum is None:
        # A point of an infeasible program may be called close to optimal only if it is said to be outside.
        is_told = status == "OPTIMAL_INACCURATE" and certificate.primal_residual > 1e-6
        return "" if known.end == "infeasible" and is_told else f"{status}, but it is {known.end}"
    optimum, sign = float(known.optimum), 1.0 if certificate.sense == "minimize" else -1.0
    if sign * (certificate.dual_objective - optimum) > 1e-11 * max(abs(optimum), known.terms):
        return f"the bound {certificate.dual_objective} is beyond the optimum {optimum}"
    tol = 1e-6 if status == "OPTIMAL" else 1e-2
    error, zero = abs(certificate.primal_objective - optimum), 1e-10 * max(known.terms, certificate.scale)
    if error > 2 * tol * abs(optimum) and not max(abs(optimum), error) <= 2 * zero:
        return f"{status}, but the value is {certificate.primal_objective}, not {optimum}"
    return ""


def every(seeds: range, powers: tuple[int, ...] = (0, 20, 36)) -> list[tuple[str, str, int, int]]:
    """Return the arguments of programs of all kinds, ends and scales."""
    return [(kind, end, seed, power) for seed in seeds for power in powers for end in ENDS for kind in BLOCKS]
