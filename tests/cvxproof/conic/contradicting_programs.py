"""Programs of up to 500 constraints of which a few, attributes among them, have no common point, and their names.

All other constraints hold with room at a point that is drawn first. Rows, quadratic and second-order constraints and
matrix inequalities are mixed; every program has one contradiction of a known number of constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

__all__ = ["KINDS", "Contradicting", "contradicting", "has_no_point", "has_point"]

Made = tuple[set[str], list[Any]]


@dataclass(frozen=True)
class Contradicting:
    """A problem, and names of constraints of it that have no common point."""

    problem: cp.Problem
    names: set[str]


class _Draw:
    """Variables with attributes, the point, and numbers; `kind` decides what attributes contradict rows."""

    def __init__(self, kind: str, seed: int, most: int) -> None:
        self.rng = rng = np.random.default_rng([seed, *map(ord, kind)])
        self.n, self.m = int(rng.integers(4, 13)), int(rng.integers(20, most))
        signs = {"nonneg": {"nonneg": True}, "nonpos": {"nonpos": True}, "bounds": {"bounds": [-3, 3]}}
        self.x = cp.Variable(self.n, name="x", **signs.get(kind, {}))
        self.x0 = rng.uniform(0.1, 1, self.n) * (-1 if kind == "nonpos" else 1)
        self.y = cp.Variable(3, name="y", nonneg=True)
        self.Y = cp.Variable((3, 3), name="Y", PSD=True)
        self.N = cp.Variable((3, 3), name="N", NSD=True)
        self.S = cp.Variable((3, 3), name="S", symmetric=True)
        self.D = cp.Variable((3, 3), name="D", diag=True)

    def filler(self, k: int) -> Any:
        """Return a constraint that holds with room where x is x0, y one, Y the identity, N minus it, S and D zero."""
        rng, x, x0 = self.rng, self.x, self.x0
        a, room = rng.standard_normal(self.n), 1 + rng.random()
        match int(rng.integers(0, 20)):
            case 0 | 1:
                return cp.norm(x - rng.standard_normal(self.n)) <= 9 + room
            case 2 | 3:
                F = rng.standard_normal((2, self.n))
                return cp.sum_squares(F @ (x - x0)) + a @ x <= float(a @ x0) + room
            case 4:
                F = rng.standard_normal((2, self.n))
                return cp.norm(F @ x) <= a @ x - float(a @ x0) + room + np.linalg.norm(F @ x0)
            case 5 if k < 60:
                F = rng.standard_normal((2, 2, 2))
                G = [one + one.T for one in F]
                return room * np.eye(2) + (x[0] - x0[0]) * G[0] + (x[1] - x0[1]) * G[1] >> 0
            case 6:
                return a @ x + cp.sum(self.y) - self.y[0] <= float(a @ x0) + 2 + room
            case 7:
                return a @ x + self.Y[0, 1] + cp.trace(self.Y) <= float(a @ x0) + 3 + room
            case 8:
                return a @ x - cp.trace(self.N) <= float(a @ x0) + 3 + room
            case 9:
                return a @ x + self.S[0, 1] - self.D[1, 1] <= float(a @ x0) + room
            case 10:
                return cp.abs(a @ x - float(a @ x0)) <= room
            case _:
                return a @ x <= float(a @ x0) + room


def _rows(d: _Draw) -> Made:
    k = int(d.rng.integers(2, 6))
    w = d.rng.integers(-3, 4, (k, d.n)).astype(float)
    b = np.round(w @ d.x0)
    held = [(w[i] @ d.x <= b[i]).set_label(f"p{i}") for i in range(k)]
    held.append((-(w.sum(axis=0)) @ d.x <= -b.sum() - 0.25).set_label("last"))
    return {*(f"p{i}" for i in range(k)), "last"}, held


def _equalities(d: _Draw) -> Made:
    w = d.rng.integers(1, 4, (2, d.n)).astype(float)
    held = [(w[0] @ d.x == 1).set_label("one"), (w[1] @ d.x == 2).set_label("two")]
    held.append(((w[0] + w[1]) @ d.x >= 3.5).set_label("sum"))
    return {"one", "two", "sum"}, held


def _nonneg(d: _Draw) -> Made:
    w = d.rng.uniform(0.5, 2, d.n)
    return {"x is nonneg", "negative"}, [(w @ d.x <= -0.5).set_label("negative")]


def _nonpos(d: _Draw) -> Made:
    w = d.rng.uniform(0.5, 2, d.n)
    return {"x is nonpos", "positive"}, [(w @ d.x >= 0.5).set_label("positive")]


def _bounds(d: _Draw) -> Made:
    w = d.rng.uniform(0.5, 2, d.n)
    return {"x has upper bounds", "far"}, [(w @ d.x >= 3 * w.sum() + 0.5).set_label("far")]


def _positive(d: _Draw) -> Made:
    held = [(d.Y[0, 1] >= 2).set_label("off"), (d.Y[0, 0] + d.Y[1, 1] <= 3).set_label("diagonal")]
    return {"Y is PSD", "off", "diagonal"}, held


def _negative(d: _Draw) -> Made:
    held = [(d.N[0, 1] + d.x[0] >= 2).set_label("off"), (cp.trace(d.N) + 0.1 * d.x[0] >= -2).set_label("trace")]
    return {"N is NSD", "off", "trace", "small"}, [*held, (d.x[0] <= 0.5).set_label("small")]


def _symmetric(d: _Draw) -> Made:
    held = [(d.S[0, 1] + d.x[0] <= 1).set_label("up"), (d.S[1, 0] + d.x[0] >= 2).set_label("down")]
    return {"S is symmetric", "up", "down"}, held


def _diagonal(d: _Draw) -> Made:
    held = [(d.D[0, 1] + d.x[0] >= 4).set_label("off"), (d.x[0] <= 2).set_label("small")]
    return {"D is diagonal", "off", "small"}, held


def _ball(d: _Draw) -> Made:
    a, c = d.rng.standard_normal(d.n), d.x0 + d.rng.standard_normal(d.n)
    held = [(cp.norm(d.x - c) <= 2).set_label("ball")]
    held.append((a @ d.x >= float(a @ c) + 2.2 * np.linalg.norm(a)).set_label("beyond"))
    return {"ball", "beyond"}, held


def _balls(d: _Draw) -> Made:
    a = d.rng.standard_normal(d.n)
    held = [(cp.norm(d.x - d.x0) <= 1).set_label("here")]
    held.append((cp.norm(d.x - d.x0 - 2.3 * a / np.linalg.norm(a)) <= 1).set_label("there"))
    return {"here", "there"}, held


def _quadratic(d: _Draw) -> Made:
    F = d.rng.standard_normal((d.n, d.n)) + 3 * np.eye(d.n)
    a = d.rng.standard_normal(d.n)
    far = float(np.sqrt(a @ np.linalg.solve(F.T @ F, a)))  # the largest a'(x - x0) with |F (x - x0)| <= 1
    held = [(cp.sum_squares(F @ (d.x - d.x0)) <= 1).set_label("ellipsoid")]
    held.append((a @ d.x >= float(a @ d.x0) + 1.2 * far).set_label("beyond"))
    return {"ellipsoid", "beyond"}, held


def _matrix(d: _Draw) -> Made:
    F = d.rng.standard_normal((2, 3, 3))
    G, v = [one + one.T for one in F], d.rng.standard_normal(3)
    M = np.eye(3) + (d.x[0] - d.x0[0]) * G[0] + (d.x[1] - d.x0[1]) * G[1]
    w = np.array([v @ one @ v for one in G])
    row = float(w @ d.x0[:2] - v @ v) - 0.3 * float(np.abs(w).sum())
    return {"matrix", "below"}, [(M >> 0).set_label("matrix"), (w @ d.x[:2] <= row).set_label("below")]


KINDS: dict[str, Callable[[_Draw], Made]] = {
    "rows": _rows,
    "equalities": _equalities,
    "nonneg": _nonneg,
    "nonpos": _nonpos,
    "bounds": _bounds,
    "PSD": _positive,
    "NSD": _negative,
    "symmetric": _symmetric,
    "diag": _diagonal,
    "ball": _ball,
    "balls": _balls,
    "quadratic": _quadratic,
    "matrix": _matrix,
}


def contradicting(kind: str, seed: int, most: int = 490) -> Contradicting:
    """Return a program of fewer than `most` constraints and those that are planted."""
    draw = _Draw(kind, seed, most)
    names, planted = KINDS[kind](draw)
    held = [draw.filler(k).set_label(f"c{k}") for k in range(draw.m)] + planted
    draw.rng.shuffle(held)
    x, c = draw.x, draw.rng.standard_normal(draw.n)
    losses = (c @ x, cp.sum_squares(x) + c @ x, cp.norm(x - draw.x0), cp.sum(cp.abs(x)))
    return Contradicting(cp.Problem(cp.Minimize(losses[seed % len(losses)]), held), names)


def has_no_point(constraints: list[Any]) -> bool:
    """Whether SCS, of which the package takes nothing, says that constraints have no point."""
    problem = cp.Problem(cp.Minimize(0), constraints)
    problem.solve(solver="SCS", eps=1e-7, max_iters=100_000)
    return problem.status == "infeasible"


def has_point(constraints: list[Any]) -> bool:
    """Whether a point is shown: values whose violations, as CVXPY evaluates them, are rounding."""
    problem = cp.Problem(cp.Minimize(0), constraints)
    problem.solve(solver="CLARABEL")
    if problem.status != "optimal":
        return False
    return max((float(np.max(one.violation())) for one in constraints), default=0.0) <= 1e-7
