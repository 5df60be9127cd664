"""Ball arithmetic for the verifier: exact conversions, enclosed products, and matrices proved to be positive definite.

Numbers are flint's arb: a midpoint of `BITS` bits and a radius, so that every expression encloses its exact value.
Vectors are numpy arrays of balls, matrices arb_mat. Floats only guess (factors, solutions of linear systems), and balls
judge what they guessed. All of it is called within ``flint.ctx.workprec(BITS)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from specmargin.exceptions import SolverNotInstalledError
from specmargin.typing import AnyArray, FloatArray

try:
    from flint import arb, arb_mat, ctx
except ImportError as error:  # pragma: no cover
    raise SolverNotInstalledError("to verify needs python-flint: pip install 'specmargin[verify]'") from error

__all__ = [
    "BITS",
    "INFINITE",
    "ONE",
    "ZERO",
    "Ball",
    "Refuted",
    "arb",
    "arb_mat",
    "balanced",
    "balls",
    "column",
    "ctx",
    "diagonal",
    "entries",
    "floats",
    "gram",
    "is_definite",
    "largest",
    "least_eigenvalue",
    "outward",
    "positive_part",
    "solution",
    "times",
    "total",
]

BITS = 256
"""Precision of midpoints."""
Ball = Any
"""flint.arb"""
ZERO, ONE, INFINITE = arb(0), arb(1), arb.pos_inf()


class Refuted(Exception):  # noqa: N818 - an outcome
    """What is claimed is not so; the text is the sentence of the `Verification`."""


def balls(x: Any) -> AnyArray:
    """Return numbers as an array of balls, floats without any rounding."""
    return np.array([arb(one) for one in (x.tolist() if isinstance(x, np.ndarray) else x)], dtype=object)


def floats(x: AnyArray) -> FloatArray:
    """Return the midpoints, rounded."""
    return np.array([float(one) for one in x.ravel()]).reshape(x.shape)


def outward(x: Ball) -> tuple[float, float]:
    """Return two floats with the ball between them."""
    return math.nextafter(float(x.lower()), -math.inf), math.nextafter(float(x.upper()), math.inf)


def entries(A: arb_mat) -> AnyArray:
    """Return a matrix as an array of balls."""
    return np.array(A.entries(), dtype=object).reshape(A.nrows(), A.ncols())


def column(v: AnyArray) -> arb_mat:
    """Return a vector as a matrix."""
    return arb_mat(len(v), 1, list(v))


def times(A: arb_mat, v: AnyArray) -> AnyArray:
    """Return A v."""
    return entries(A * column(v))[:, 0]


def gram(X: arb_mat) -> arb_mat:
    """Return X X'."""
    return X * X.transpose()


def diagonal(x: Iterable[Any]) -> arb_mat:
    """Return a diagonal matrix."""
    return arb_mat(np.diag(balls(list(x))).tolist())


def total(x: Iterable[Ball]) -> Ball:
    """Return the sum, a ball even of nothing."""
    return sum(x, ZERO)


def largest(x: Iterable[Ball]) -> Ball:
    """Return the maximum, -inf of nothing."""
    out = -INFINITE
    for one in x:
        out = out.max(one)
    return out


positive_part = np.frompyfunc(lambda t: t.max(ZERO), 1, 1)
"""max(0, t) of a ball or of an array of balls."""


def least_eigenvalue(A: arb_mat) -> Ball:
    """Return a proved lower bound on the smallest eigenvalue: s - |E| where A = sI + RR' + E, whatever s and R are."""
    values, V = np.linalg.eigh(floats(entries(A)))
    R = V * np.sqrt(values - values[0])
    E = A - gram(arb_mat(R.tolist())) - diagonal([values[0]] * len(V))
    return (values[0] - total(x.abs_upper() ** 2 for x in E.entries()).sqrt()).lower()


def is_definite(A: arb_mat) -> bool:
    """Whether a symmetric A is proved to be positive definite: X A X' is diagonally dominant for some X.

    X is guessed from eigenvectors, and anew from those of what is left: the smallest eigenvalue of A may be any number
    of times smaller than the largest.
    """
    X = diagonal([ONE] * A.nrows())
    for _ in range(8):
        B = entries(X * A * X.transpose())
        if (B.diagonal() < 0).any():
            return False
        if (2 * B.diagonal() > abs(B).sum(axis=1)).all():
            return True
        values, V = np.linalg.eigh(floats(B))
        size = np.maximum(np.abs(values), 1e-16 * np.abs(values).max())
        X = arb_mat((V / np.sqrt(size)).T.tolist()) * X
    return False


def solution(
    A: FloatArray, product: Callable[[AnyArray], AnyArray], b: AnyArray, stored: Callable[[], arb_mat]
) -> AnyArray:
    """Return about the solution of A x = b, to nearly all bits: by floats that balls correct, else by flint.

    A is that matrix in floats, `product` multiplies with it, and `stored` returns it.
    """
    x, rest = balls(np.zeros(len(b))), b
    try:
        inverse = np.linalg.inv(A)
        for _ in range(9):
            if total(rest**2) <= 2.0**-240 * total(b**2):
                return x
            x = x + balls(inverse @ floats(rest))
            rest = b - product(x)
    except np.linalg.LinAlgError:
        pass
    # Where A is too ill-conditioned for floats, this takes ten times as long.
    return np.asarray(entries(stored().solve(column(b)))[:, 0])


def balanced(y: AnyArray, s: AnyArray, low: Ball, high: Ball, free: bool = True, rest: Iterable[Ball] = ()) -> AnyArray:
    """Return multipliers in [low, high], in rationals, with y's + 1'rest = 0 where an intercept is free.

    What is too much is taken off in proportion: of the weights y where there are no bounds, else of the heavier side.
    """
    pairs = [(a.fmpq(), b.max(low).min(high).fmpq()) for a, b in zip(y, s, strict=True)]
    excess = sum((a * b for a, b in pairs), sum((x.fmpq() for x in rest), ZERO.fmpq()))
    if not free or excess == 0:
        return balls([b for _, b in pairs])
    if low > -INFINITE:
        heavy = sum(a * b for a, b in pairs if a * excess > 0)
        return balls([b * (1 - excess / heavy) if a * excess > 0 else b for a, b in pairs])
    share = excess / sum(abs(a) for a, _ in pairs)
    return balls([b - share if a > 0 else b + share for a, b in pairs])
