"""The recurrences of preconditioned conjugate gradients, for one class or for a stack of them.

A column of every array belongs to a class. `Stack.advance` is the body of Algorithm 1 of the primal paper, with one
product of the kernel and one of the graph; `specmargin.solvers.pcg` decides when to leave it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from specmargin.objectives import LapSVM
from specmargin.solvers.line_search import exact_step
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["Stack", "StackedProblem", "kernel_product"]

_COLUMNS = 3
"""Columns from which one matrix product is faster than a product with each vector."""
_LANES = 4
"""Rows of single precision that OpenBLAS multiplies at once."""


def kernel_product(K: Any, D: FloatArray) -> FloatArray:
    """Return K D, multiplied in K's precision; a few columns of a stored K one by one, where that is faster."""
    D = D.astype(getattr(K, "dtype", D.dtype), copy=False)
    if D.shape[1] == 1 or (isinstance(K, np.ndarray) and D.shape[1] < _COLUMNS):
        return np.column_stack([K @ D[:, j] for j in range(D.shape[1])]).astype(np.float64, copy=False)
    if isinstance(K, np.ndarray) and K.dtype == np.float32:
        # D'K, which K's symmetry allows, filled up to whole vector registers: three quarters of the time of K D.
        c = D.shape[1]
        rows = np.zeros((-(-c // _LANES) * _LANES, len(D)), dtype=np.float32)
        rows[:c] = D.T
        return np.ascontiguousarray((rows @ K)[:c].T, dtype=np.float64)
    return np.asarray(K @ D, dtype=np.float64)


def _dots(A: FloatArray, B: FloatArray) -> FloatArray:
    """Inner products column by column."""
    return np.einsum("ij,ij->j", A, B)


class StackedProblem:
    """Several binary objectives that differ in the signs of their labels."""

    def __init__(self, obj: LapSVM, signs: FloatArray, *, scaled: bool, dtype: np.dtype[Any]) -> None:
        self.obj, self.signs, self.labeled = obj, signs, obj.labels.labeled
        pieces = obj.margin_loss.pieces
        assert pieces is not None
        self.pieces = pieces
        # A copy in single precision; an operator multiplies in its own.
        self.K = obj.K.astype(dtype) if dtype != np.float64 and hasattr(obj.K, "astype") else obj.K
        self.c = obj.labels.weights_or_ones[:, None]
        """Weights of the labelled samples."""
        self.root = np.sqrt(self.c[:, 0])
        weight = 1.0 / max(1.0, float(self.c.sum())) if scaled else 1.0
        self.weight = weight if obj.fit_intercept else 0.0
        """Preconditioner of the bias; 0 keeps b at 0."""

    def L(self, F: FloatArray) -> FloatArray:
        """Return L F, or zeros without a graph."""
        obj = self.obj
        return np.zeros_like(F) if obj.L is None or obj.gamma_I == 0 else obj.L @ F


@dataclass
class Stack:
    """What the recurrences carry along; a column per class that is still under way."""

    column: IntArray
    y: FloatArray
    alpha: FloatArray
    b: FloatArray
    Kalpha: FloatArray
    LKalpha: FloatArray
    g: FloatArray
    gb: FloatArray
    Kg: FloatArray
    d: FloatArray
    db: FloatArray
    Kd: FloatArray
    square: FloatArray
    """The squared mixed product, the length of the gradient in the preconditioner's norm."""

    @classmethod
    def at(cls, problem: StackedProblem, column: IntArray, alpha: FloatArray, b: FloatArray) -> Stack:
        """Begin at (alpha, b), with true products in double precision, downhill."""
        K, empty = problem.obj.K, np.zeros(0)
        Kalpha = kernel_product(K, alpha) if alpha.any() else np.zeros_like(alpha)
        y, LKalpha = problem.signs[:, column], problem.L(Kalpha)
        stack = cls(column, y, alpha, b, Kalpha, LKalpha, empty, empty, empty, empty, empty, empty, empty)
        stack.g, stack.gb = stack.gradient(problem)
        stack.Kg = kernel_product(K, stack.g)
        stack.square = problem.weight * stack.gb**2 + _dots(stack.g, stack.Kg)
        stack.d, stack.db, stack.Kd = -stack.g, -problem.weight * stack.gb, -stack.Kg
        return stack

    def renew(self, problem: StackedProblem, columns: BoolArray) -> None:
        """Start some columns anew where they are: true products, and downhill again."""
        if columns.any():
            fresh = Stack.at(problem, self.column[columns], self.alpha[:, columns], self.b[columns])
            for item in fields(self):
                getattr(self, item.name)[..., columns] = getattr(fresh, item.name)

    def keep(self, kept: BoolArray) -> None:
        """Drop the columns that are done."""
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name)[..., kept])

    def gradient(self, problem: StackedProblem) -> tuple[FloatArray, FloatArray]:
        """Return the inner gradient and the derivative by b."""
        obj = problem.obj
        g = obj.gamma_A * self.alpha + obj.gamma_I * self.LKalpha
        excess = self.Kalpha[problem.labeled] + self.b - self.y
        at = problem.pieces.index(-self.y * excess)  # 1 - y f, as y^2 = 1
        slopes = problem.c * (problem.pieces.square[at] * excess - problem.pieces.linear[at] * self.y)
        g[problem.labeled] += slopes
        return g, slopes.sum(axis=0) * obj.fit_intercept

    def advance(self, problem: StackedProblem) -> tuple[FloatArray, FloatArray]:
        """Take one iteration; return the steps, and what the objective falls by."""
        obj = problem.obj
        slope = self.gb * self.db + _dots(self.g, self.Kd)
        uphill = ~(slope < 0)
        if uphill.any():  # by rounding: start anew, downhill
            self.d[:, uphill], self.Kd[:, uphill] = -self.g[:, uphill], -self.Kg[:, uphill]
            self.db[uphill] = -problem.weight * self.gb[uphill]
            slope[uphill] = -self.square[uphill]
        LKd = problem.L(self.Kd)
        slack = 1.0 - self.y * (self.Kalpha[problem.labeled] + self.b)
        speed = self.y * (self.Kd[problem.labeled] + self.db)
        curvature = obj.gamma_A * _dots(self.d, self.Kd) + obj.gamma_I * _dots(self.Kd, LKd)
        step = exact_step(slack, speed, slope, curvature, pieces=problem.pieces, root=problem.root)
        self.alpha += step * self.d
        self.b = self.b + step * self.db
        self.Kalpha += step * self.Kd
        self.LKalpha += step * LKd
        before, before_b, length = self.g, self.gb, self.square
        self.g, self.gb = self.gradient(problem)
        self.Kg = kernel_product(problem.K, self.g)
        self.square = problem.weight * self.gb**2 + _dots(self.g, self.Kg)
        kept = problem.weight * self.gb * before_b + _dots(before, self.Kg)
        with np.errstate(divide="ignore", invalid="ignore"):
            update = (self.square - kept) / length
        update = np.where(np.isfinite(update) & (update > 0), update, 0.0)
        self.d = update * self.d - self.g
        self.db = update * self.db - problem.weight * self.gb
        self.Kd = update * self.Kd - self.Kg
        return step, -0.5 * step * slope

    def quantities(self, problem: StackedProblem) -> list[dict[str, float]]:
        """Return objective and norms of every column, in the units of the objective."""
        obj, unit = problem.obj, 2.0 * problem.obj.scale
        f = self.Kalpha[problem.labeled] + self.b
        t = self.y * f
        penalty = obj.gamma_A * _dots(self.alpha, self.Kalpha) + obj.gamma_I * _dots(self.Kalpha, self.LKalpha)
        columns = {
            "objective": obj.scale * (obj.margin_loss.value(t).sum(axis=0) + penalty),
            "gradient": unit * np.sqrt(self.gb**2 + _dots(self.Kg, self.Kg)),
            "preconditioned_gradient": unit * np.sqrt((problem.weight * self.gb) ** 2 + _dots(self.g, self.g)),
            "mixed_product": unit * np.sqrt(np.maximum(self.square, 0.0)),
            "active": np.count_nonzero(problem.pieces.square[problem.pieces.index(1.0 - t)], axis=0),
            "labeled_error": np.mean((f > 0) != (self.y > 0), axis=0),
        }
        return [{name: float(values[j]) for name, values in columns.items()} for j in range(len(self.b))]
