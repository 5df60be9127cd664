"""Warnings and remedies for a user's own expressions: broadcast columns, Gram matrices that CVXPY calls indefinite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.broadcast_to import broadcast_to
from cvxpy.atoms.quad_form import QuadForm

from cvxproof.checks import warn
from cvxproof.exceptions import BroadcastWarning

__all__ = ["nodes", "remedy", "warn_of_broadcast"]

_ROUNDING = 1e-10
"""Eigenvalues of a smaller share of the largest are rounding."""


def warn_of_broadcast(problem: cp.Problem) -> None:
    """Give a BroadcastWarning where an (n, n) term was made of n entries and a column, one of them constant."""
    for part in nodes([problem.objective.expr, *problem.constraints]):
        shape = tuple(getattr(part, "shape", ()))
        n = shape[0] if shape else 0
        if n < 2 or shape != (n, n):
            continue
        args = [one.args[0] if isinstance(one, broadcast_to) else one for one in part.args]
        for one, other in combinations(args, 2):
            column, row = (one, other) if one.shape == (n, 1) else (other, one)
            if column.shape == (n, 1) and row.shape in ((n,), (1, n)) and column.is_constant() != row.is_constant():
                warn(
                    f"an expression of shape {row.shape} and one of shape {column.shape}, one of them constant, were "
                    f"broadcast to {shape}: {type(part).__name__} combines every entry with every other. If entry i "
                    "belongs to entry i, as a label to its sample, give both the same shape (y.ravel()).",
                    BroadcastWarning,
                )
                return


def remedy(parts: Iterable[Any]) -> str:
    """Return how to write those quadratic forms that CVXPY calls not convex, though their matrix is semidefinite."""
    for part in nodes(parts):
        if isinstance(part, QuadForm) and part.args[1].is_constant() and not part.is_dcp():
            M = part.args[1].value
            M = M.toarray() if sp.issparse(M) else np.asarray(M)
            values = np.linalg.eigvalsh((M + M.T) / 2)
            if np.isrealobj(M) and min(-values[0], values[-1]) <= _ROUNDING * np.abs(values).max():
                sign = "-" if values[-1] <= -values[0] else ""
                return (
                    f" The matrix M of a quad_form(x, M) is {'negative' if sign else 'positive'} semidefinite up to "
                    f"rounding (eigenvalues {values[0]:.1e} to {values[-1]:.1e}); CVXPY's iterative test of it errs "
                    f"where the eigenvalue 0 is repeated. Write {sign}cp.sum_squares(F.T @ x) with "
                    f"F = V * np.sqrt(np.maximum(w, 0)) and w, V = np.linalg.eigh({sign}M)."
                )
    return ""


def nodes(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield expressions and constraints, and all that they are made of, once."""
    open_parts, known = list(parts), set[int]()
    while open_parts:
        part = open_parts.pop()
        if id(part) not in known:
            known.add(id(part))
            open_parts += part if isinstance(part, list) else getattr(part, "args", ())  # a problem holds a list
            yield part
