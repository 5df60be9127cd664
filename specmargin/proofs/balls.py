"""Ball arithmetic for the verifier: exact conversions, enclosed products, and matrices proved to be positive definite.

Numbers are flint's arb: a midpoint of `BITS` bits and a radius, so that every expression encloses its exact value.
Vectors are numpy arrays of balls, matrices arb_mat. Floats only guess (factors, solutions of linear systems), and balls
judge what they guessed; `least_eigenvalue` alone reckons with floats, of whole numbers that they hold exactly. All of
it is called within ``flint.ctx.workprec(BITS)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

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
    "Shift",
    "arb",
    "arb_mat",
    "balanced",
    "balls",
    "column",
    "ctx",
    "diagonal",
    "dominance",
    "entries",
    "floats",
    "gram",
    "is_definite",
    "largest",
    "least_eigenvalue",
    "matrix",
    "outward",
    "positive_part",
    "shift",
    "solution",
    "sparse_times",
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


def matrix(A: FloatArray) -> arb_mat:
    """Return a matrix of floats as one of balls, without any rounding."""
    return arb_mat(A.tolist())


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


def sparse_times(A: FloatArray) -> Callable[[AnyArray], AnyArray]:
    """Return x -> A x for a matrix of floats of which most are zero, by balls of the others only."""
    row, at = np.nonzero(A)
    entry, first, rows = balls(A[row, at]), np.flatnonzero(np.diff(row, prepend=-1)), np.unique(row)

    def product(x: AnyArray) -> AnyArray:
        out = balls(np.zeros(len(A)))
        if len(row):
            out[rows] = np.add.reduceat(entry * x[at], first)
        return out

    return product


@np.errstate(invalid="ignore", over="ignore")
def dominance(A: FloatArray) -> Ball:
    """Return an s >= 0 with which A + sI is positive semidefinite by the dominance of its diagonal; inf for nothing.

    With positive weights x it is enough that (A_ii + s) x_i >= sum |A_ij| x_j over j != i, by Gershgorin's theorem for
    diag(x)^-1 A diag(x). The x of a Laplacian is guessed; whatever it is, balls find its s.
    """
    own = np.diag(A.diagonal())
    B, x = own - np.abs(A - own), np.ones(len(A))
    try:  # inverse iteration: where A has an eigenvalue 0 these are its eigenvector
        inverse = np.linalg.inv(B + 1e-9 * np.abs(own).max() * np.eye(len(A)))
    except np.linalg.LinAlgError:
        return INFINITE
    for _ in range(3):
        x = inverse @ x
        x = x / np.abs(x).max()
    if not (x > 0).all():
        return INFINITE
    weights = balls(x)
    return positive_part(largest(-sparse_times(B)(weights) / weights)).upper()


@np.errstate(invalid="ignore", over="ignore")  # infinite or not a number, which prove nothing
def least_eigenvalue(A: FloatArray) -> Ball:
    """Return a proved lower bound on the smallest eigenvalue: s - |E| where A = sI + RR' + E, whatever s and R are.

    A is symmetric to the last bit. R is cut into integers of few bits, R = 2^k sum_i 2^(-i bits) R_i, so that floats
    hold all sums of R_i R_j' without any rounding: they are integers below 2^53, in whatever order they are added. Only
    the subtractions from A round, each by at most 2^-53 of what is left, and that is small where R was guessed well.
    """
    n = len(A)
    values, V = np.linalg.eigh(A)
    R = V * np.sqrt(values - values[0])
    bits = (51 - n.bit_length()) // 2  # n 2^(2 bits) <= 2^51, and up to three such sums are added
    k = int(np.frexp(np.abs(R).max())[1]) - bits
    parts = []
    for i in range(3):
        parts.append(np.rint(np.ldexp(R, i * bits - k)))
        R = R - np.ldexp(parts[i], k - i * bits)
    E, wrong = A, np.full((n, n), 1e-300)  # more than ldexp loses below the range of normal floats
    for level in range(5):
        products = sum(parts[i] @ parts[level - i].T for i in range(3) if 0 <= level - i < 3)
        E = E - np.ldexp(products, 2 * k - level * bits)
        wrong += 2.0**-52 * np.abs(E)  # twice what the subtraction rounds
    E = E - values[0] * np.eye(n)
    wrong += 2.0**-52 * np.abs(E)
    # Sums of n floats above zero err by less than 2^-52 n of them; rows bound the norm of a symmetric matrix.
    norm = arb((np.abs(E) + wrong).sum(axis=1).max()) * (1 + 2.0**-50 * (n + 8))
    return (values[0] - norm).lower()


class Shift(NamedTuple):
    """An s >= 0 with which A + sI is proved to be positive semidefinite, and whether it is as small as rounding."""

    name: str
    s: Ball = ZERO
    is_rounding: bool = True


def shift(A: FloatArray, name: str) -> Shift:
    """Return the shift of a kernel or a graph."""
    size = A.diagonal().max()
    rounding = len(A) * 2.0**-48 * size
    s = dominance(A) if name == "L" else INFINITE  # without a factor where that is enough, as it is of a Laplacian
    if not s <= rounding:
        s = s.min((-least_eigenvalue(A)).max(ZERO))
    if not s <= 1e-6 * size:
        raise Refuted(f"{name} with a diagonal of {size:.3g} has eigenvalues down to {-float(s):.3g}: indefinite")
    return Shift(name, s, bool(s <= rounding))


def is_definite(A: arb_mat) -> bool:
    """Whether a symmetric A is proved to be positive definite: X A X' is diagonally dominant for some X.

    X is guessed from eigenvectors, and anew from those of what is left: the smallest eigenvalue of A may be any number
    of times smaller than the largest.
    """
    X, B = None, entries(A)
    for _ in range(8):
        if (B.diagonal() < 0).any():
            return False
        if (2 * B.diagonal() > abs(B).sum(axis=1)).all():
            return True
        values, V = np.linalg.eigh(floats(B))
        size = np.maximum(np.abs(values), 1e-16 * np.abs(values).max())
        guess = matrix((V / np.sqrt(size)).T)
        X = guess if X is None else guess * X
        B = entries(X * A * X.transpose())
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
            if total(rest**2) <= 2.0 ** (-15 * ctx.prec // 16) * total(b**2):
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
