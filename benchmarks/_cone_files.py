"""Convex programs of public collections as CVXPY problems: Maros-Meszaros, Netlib and SDPLIB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cvxpy as cp
import numpy as np
import scipy.io
import scipy.sparse as sp

NOT_CONVEX = ("VALUES",)

# Optima as published with SDPLIB 1.2 (Borchers, 1999), of the minimisation, to the digits that are printed there.
SDPLIB = {
    "control1": "1.778463e+01",
    "control2": "8.300000e+00",
    "hinf1": "2.0326e+00",
    "hinf2": "1.0967e+01",
    "hinf3": "5.69e+01",
    "hinf4": "2.74764e+02",
    "hinf5": "3.63e+02",
    "hinf6": "4.490e+02",
    "hinf7": "3.91e+02",
    "hinf8": "1.16e+02",
    "hinf9": "2.3625e+02",
    "hinf10": "1.09e+02",
    "hinf11": "6.59e+01",
    "hinf12": "2e-1",
    "hinf13": "4.6e+01",
    "maxG11": "6.291648e+02",
    "mcp100": "2.261574e+02",
    "mcp124-1": "1.419905e+02",
    "mcp124-2": "2.698802e+02",
    "mcp124-3": "4.677501e+02",
    "mcp124-4": "8.644119e+02",
    "mcp250-1": "3.172643e+02",
    "mcp250-2": "5.319301e+02",
    "mcp250-3": "9.811726e+02",
    "mcp250-4": "1.681960e+03",
    "mcp500-1": "5.981485e+02",
    "mcp500-2": "1.070057e+03",
    "qap5": "-4.360e+02",
    "qap6": "-3.8144e+02",
    "theta1": "2.300000e+01",
    "truss1": "-8.999996e+00",
    "truss2": "-1.233804e+02",
    "truss3": "-9.109996e+00",
    "truss4": "-9.009996e+00",
    "truss6": "-9.01001e+02",
    "truss7": "-9.00001e+02",
}


def published(name: str) -> tuple[float, float]:
    """Return the published optimum of a program of SDPLIB, and one unit of its last digit."""
    digits, exponent = SDPLIB[name].split("e")
    decimals = len(digits.partition(".")[2])
    return float(SDPLIB[name]), 10.0 ** (int(exponent) - decimals)


@dataclass
class LinearMatrixInequalities:
    """The program min c'x, F_1 x_1 + ... + F_m x_m - F_0 positive semidefinite, block by block.

    Parameters
    ----------
    c : ndarray of shape (m,)
        Objective.
    blocks : list of (int, bool, sparse matrix)
        Order, whether only the diagonal is given, and the entries of F_0, ..., F_m as columns.
    """

    c: np.ndarray
    blocks: list[tuple[int, bool, sp.csc_matrix]]

    @property
    def largest(self) -> int:
        """The largest order of a block that is more than a diagonal."""
        return max((order for order, is_diagonal, _ in self.blocks if not is_diagonal), default=0)

    def problem(self) -> cp.Problem:
        """Return the program."""
        x = cp.Variable(len(self.c))
        return cp.Problem(cp.Minimize(self.c @ x), self._held(x, 1.0, cp.Constant(0.0)))

    def has_interiors(self) -> tuple[bool, bool]:
        """Return whether the program and its dual have interior points, as far as floats can tell.

        The program: the largest t <= 1 with F(x) - F_0 - t I semidefinite is positive. The dual: the least c'd over all
        directions d with F(d) semidefinite and of trace one is positive. Along a d with c'd <= 0 the objective does not
        grow while x goes to infinity; there is none exactly if the dual has an interior point.
        """
        if self.largest >= 100:
            return True, True  # maximal cuts: a large diagonal, and the identity
        x, t = cp.Variable(len(self.c)), cp.Variable()
        trace = sum(F[_diagonal(order, is_diagonal), 1:].sum(axis=0) for order, is_diagonal, F in self.blocks)
        primal = cp.Problem(cp.Maximize(t), [*self._held(x, 1.0, t), t <= 1])
        dual = cp.Problem(cp.Minimize(self.c @ x), [*self._held(x, 0.0, cp.Constant(0.0)), np.ravel(trace) @ x == 1])
        depth, slope = (_optimum(one) for one in (primal, dual))
        return depth > 1e-6, slope > 1e-6

    def _held(self, x: cp.Variable, start: float, depth: cp.Expression) -> list[cp.Constraint]:
        held = []
        for order, is_diagonal, F in self.blocks:
            whole = F[:, 1:] @ x - start * F[:, [0]].toarray().ravel()
            if is_diagonal:
                held.append(whole - depth >= 0)
            else:
                held.append(cp.reshape(whole, (order, order), order="F") - depth * np.eye(order) >> 0)
        return held


def _diagonal(order: int, is_diagonal: bool) -> np.ndarray:
    return np.arange(order) * (1 if is_diagonal else order + 1)


def _optimum(problem: cp.Problem) -> float:
    try:
        return float(problem.solve(solver="CLARABEL", chordal_decomposition_enable=False))
    except cp.SolverError:  # of truss3, which SCS solves
        return float(problem.solve(solver="SCS", eps=1e-8))


def sdplib(folder: Path) -> Iterator[tuple[str, LinearMatrixInequalities]]:
    """Yield the programs, the smallest file first."""
    for path in sorted(folder.glob("sdplib/*.dat-s"), key=lambda path: path.stat().st_size):
        yield path.name.removesuffix(".dat-s"), _of_sdpa(path)


def _of_sdpa(path: Path) -> LinearMatrixInequalities:
    lines = [line for line in path.read_text().splitlines() if line.strip() and line[0] not in '"*']
    m, n_blocks = int(_numbers(lines[0])[0]), int(_numbers(lines[1])[0])
    sizes = [int(size) for size in _numbers(lines[2])[:n_blocks]]
    entries = np.array([_numbers(line) for line in lines[4:]])
    blocks = []
    for block, size in enumerate(sizes, 1):
        of_block = entries[entries[:, 1] == block]
        matrix, i, j = (of_block[:, k].astype(int) for k in (0, 2, 3))
        order, is_diagonal = abs(size), size < 0
        off = (i != j) & (not is_diagonal)
        rows = i - 1 if is_diagonal else (i - 1) * order + j - 1
        rows = np.concatenate([rows, ((j - 1) * order + i - 1)[off]])
        columns, values = np.concatenate([matrix, matrix[off]]), np.concatenate([of_block[:, 4], of_block[off, 4]])
        shape = (order if is_diagonal else order**2, m + 1)
        blocks.append((order, is_diagonal, sp.csc_matrix((values, (rows, columns)), shape)))
    return LinearMatrixInequalities(np.array(_numbers(lines[3])[:m]), blocks)


def _numbers(line: str) -> list[float]:
    return [float(word) for word in re.findall(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?", line)]


def maros_meszaros(folder: Path, least: float = 0, largest: float = np.inf) -> Iterator[tuple[str, cp.Problem]]:
    """Yield the quadratic programs of more columns than the least and at most the largest number, small files first."""
    for path in sorted(folder.glob("maros_meszaros/*.mat"), key=lambda path: path.stat().st_size):
        held = scipy.io.loadmat(path)
        P, A = sp.csc_matrix(held["P"]), sp.csc_matrix(held["A"])
        q, low, high = (held[name].ravel() for name in "qlu")
        if not least < len(q) <= largest:
            continue
        x = cp.Variable(len(q))
        fixed = low == high
        above, below = (high < 1e19) & ~fixed, (low > -1e19) & ~fixed
        constraints = []
        if fixed.any():
            constraints.append(A[fixed] @ x == low[fixed])
        if above.any():
            constraints.append(A[above] @ x <= high[above])
        if below.any():
            constraints.append(A[below] @ x >= low[below])
        quadratic = 0.5 * cp.quad_form(x, cp.psd_wrap(P)) if P.nnz else 0
        yield path.stem, cp.Problem(cp.Minimize(quadratic + q @ x + float(np.ravel(held["r"])[0])), constraints)


def netlib(folder: Path) -> Iterator[tuple[str, cp.Problem]]:
    """Yield the linear programs with the bounds of columns as constraints, small files first."""
    for path in sorted(folder.glob("netlib/*.npz"), key=lambda path: path.stat().st_size):
        held = np.load(path)
        A = sp.csr_matrix((held["A_data"], held["A_indices"], held["A_indptr"]), tuple(held["A_shape"]))
        low, high, sense, b, x = held["lb"], held["ub"], held["sense"], held["b"], cp.Variable(A.shape[1])
        below, above = np.isfinite(low), np.isfinite(high)
        rows = {sign: (A[sense == sign], b[sense == sign]) for sign in "=<>" if (sense == sign).any()}
        constraints = [x[below] >= low[below]] if below.any() else []
        constraints += [x[above] <= high[above]] if above.any() else []
        for sign, (part, side) in rows.items():
            constraints.append(
                part @ x == side if sign == "=" else part @ x <= side if sign == "<" else part @ x >= side
            )
        yield path.stem, cp.Problem(cp.Minimize(held["c"] @ x + float(held["offset"])), constraints)
