"""Ball arithmetic for the verifier: exact conversions, enclosed products, and matrices proved to be positive definite.

Numbers are flint's arb: a midpoint of `BITS` bits and a radius, so that every expression encloses its exact value.
Vectors are numpy arrays of balls, matrices arb_mat. Floats only guess (factors, solutions of linear systems), and balls
judge what they guessed; `least_eigenvalue` alone reckons with floats: whole numbers that they hold exactly, and a rest
whose rounding is bounded. All of it is called within ``flint.ctx.workprec(BITS)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dlauum, dpotrf

from cvxproof.exceptions import SolverNotInstalledError
from cvxproof.typing import AnyArray, FloatArray

try:
    from flint import arb, arb_mat, ctx
except ImportError as error:  # pragma: no cover - who runs the tests has it
    raise SolverNotInstalledError("to verify needs python-flint: pip install python-flint") from error

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
    "dense_times",
    "diagonal",
    "dominance",
    "entries",
    "floats",
    "gram",
    "gram_times",
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
LARGE = 128
"""Samples from which a matrix is multiplied by floats that hold whole numbers; a smaller one is faster in balls."""
Ball = Any
"""flint.arb"""
Product = Callable[[AnyArray], AnyArray]
"""x -> A x, of arrays of balls."""
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


def gram_times(X: arb_mat) -> Product:
    """Return x -> XX'x."""
    columns = X.transpose()
    return lambda x: times(X, times(columns, x))


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


def sparse_times(A: FloatArray) -> Product:
    """Return x -> A x for a matrix of floats of which most are zero, by balls of the others only."""
    row, at = divmod(np.flatnonzero(A), len(A))
    entry, first = balls(A[row, at]), np.flatnonzero(np.diff(row, prepend=-1))

    def product(x: AnyArray) -> AnyArray:
        out = balls(np.zeros(len(A)))
        if len(row):
            out[row[first]] = np.add.reduceat(entry * x[at], first)
        return out

    return product


def largest_size(A: FloatArray) -> float:
    """Return the largest absolute value of floats, without another array of them."""
    return float(max(A.max(), -A.min()))


def exact_bits(n: int) -> int:
    """Return how many bits integers may have for floats to hold eight sums of n products: n 2^(2 bits) <= 2^50."""
    return (50 - n.bit_length()) // 2


def slices(A: FloatArray, bits: int, count: int) -> tuple[FloatArray, int, float]:
    """Return integers A_i, k and the most that A differs by from 2^k sum_i 2^(-i bits) A_i, in units of 2^k.

    |A_0| <= 2^bits, and the others are at most half of that.
    """
    k, parts = int(np.frexp(largest_size(A))[1]) - bits, np.empty((count, *A.shape))
    A = np.ldexp(A, -k)
    for part in parts:
        np.rint(A, out=part)
        A -= part
        A *= 2.0**bits
    # Every step is exact but the first, which may leave the range of floats from below.
    return parts, k, largest_size(A) * 2.0 ** (-bits * count) + 1e-300


def dense_times(A: FloatArray) -> Product:
    """Return x -> A x for a square matrix of floats.

    To turn all entries of a large one into balls takes longer than all else. Instead A and x are cut into integers of
    few bits, whose products floats add without any rounding; what is left of both is the radius.
    """
    n = len(A)
    if n < LARGE:
        stored = matrix(A)
        return lambda x: times(stored, x)
    bits = exact_bits(n)
    count, finer = ctx.prec // 32, arb(2) ** bits
    parts, k, missed = slices(A, bits, count)
    stack = parts.reshape(count * n, n)

    def product(x: AnyArray) -> AnyArray:
        mantissa, exponent = largest(abs(x)).abs_upper().man_exp()
        unit, digits = arb(2) ** (int(exponent) + int(mantissa).bit_length() - bits), []
        left = x / unit
        for _ in range(count):
            digits.append(np.rint(floats(left)))
            left = (left - balls(digits[-1])) * finer
        sums = (stack @ np.array(digits).T).reshape(count, n, count)
        out = np.zeros(n, dtype=object)
        for level in range(2 * count - 1):
            whole = sum(sums[i, :, level - i] for i in range(count) if 0 <= level - i < count)
            out = (out << bits) + whole.astype(np.int64)
        off = n * largest(abs(left)) * finer ** (1 - count) + missed * total(abs(x / unit))
        scale = unit * arb(2) ** k
        return balls(out) * (scale * finer ** (2 - 2 * count)) + arb(0, (off * scale).abs_upper())

    return product


@np.errstate(invalid="ignore", over="ignore")
def dominance(A: FloatArray, A_times: Product | None = None) -> Ball:
    """Return an s >= 0 with which A + sI is positive semidefinite by the dominance of its diagonal; inf for nothing.

    With positive weights x it is enough that (A_ii + s) x_i >= sum |A_ij| x_j over j != i, by Gershgorin's theorem for
    diag(x)^-1 A diag(x). The x of a Laplacian is guessed; whatever it is, balls find its s. `A_times`, where it is
    given, is x -> A x.
    """
    B, x = -np.abs(A), np.ones(len(A))
    np.fill_diagonal(B, A.diagonal())
    near = B.copy()
    near.flat[:: len(A) + 1] += 1e-9 * np.abs(A.diagonal()).max()
    try:
        factor = cho_factor(near, overwrite_a=True)
        for _ in range(3):  # inverse iteration: where A has an eigenvalue 0 this is its eigenvector
            x = cho_solve(factor, x)
            x = x / np.abs(x).max()
    except np.linalg.LinAlgError:
        return INFINITE
    if not (x > 0).all():
        return INFINITE
    weights, B_times = balls(x), A_times if A_times and (A == B).all() else sparse_times(B)
    return positive_part(largest(-B_times(weights) / weights)).upper()


@np.errstate(invalid="ignore", over="ignore")  # infinite or not a number, which prove nothing
def least_eigenvalue(A: FloatArray, guess: float | None = None) -> Ball:
    """Return a proved lower bound on the smallest eigenvalue: s - |E| where A = sI + RR' + E, whatever s and R are.

    A is symmetric to the last bit. R is guessed, upper triangular: the Cholesky factor of A - sI for a guess s, else by
    eigenvectors. It is 2^k (H + W) with |W| <= 1/2. H are integers with rows of norms of about 2^26, so that floats
    hold all sums of HH', at most 2^53, without any rounding, in whatever order they are added. What is left of RR' is
    SW' + WS' with S = H + W / 2, where the rounding of sums of n products is bounded, in any order again, by 2^-53 n of
    what is small itself. Only the subtractions from A round besides, each by at most 2^-53 of what is left, and that is
    small where R was guessed well. Of symmetric matrices the upper half is looked at.
    """
    n = len(A)
    if guess is None:
        values, V = np.linalg.eigh(A)
        guess = float(values[0])
        R = qr((V * np.sqrt(values - guess))[::-1].T, mode="r", check_finite=False)[0].T[::-1, ::-1]
    else:
        reversed_, failed = dpotrf((A - guess * np.eye(n))[::-1, ::-1].T, lower=1, clean=1, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError
        R = reversed_[::-1, ::-1]
    norm = np.linalg.norm(R, axis=1).max()
    k = int(np.frexp(norm)[1]) - 26
    W = np.ldexp(np.asfortranarray(R), -k)
    H = np.rint(W)
    W -= H
    S, E, rounded = H + W / 2, np.triu(A), 0.0
    for product in (dlauum(H)[0], mixed := dtrmm(1.0, S, W.T), mixed.T):
        E -= product * np.ldexp(1.0, 2 * k)
        rounded += largest_size(E)
    E.flat[:: n + 1] -= guess
    # Two sums of n products err by less than 2^-53 (n + 2) |S| |W| each, S being rounded too: twice that, twice what
    # the subtractions round, and more than is lost below the range of normal floats, of every entry.
    least = np.linalg.norm(W, axis=1).max() + 2.0**-26
    wrong = arb(np.ldexp(norm * least * (n + 2), k - 51)) + 2.0**-52 * (rounded + largest_size(E)) + 1e-300
    # Sums of n floats above zero err by less than 2^-51 n of them; rows bound the norm of a symmetric matrix.
    E = np.abs(np.triu(E))
    rows = E.sum(axis=1) + E.sum(axis=0) - E.diagonal()
    return (guess - arb(rows.max()) * (1 + 2.0**-50 * (n + 8)) - n * wrong).lower()


class Shift(NamedTuple):
    """An s >= 0 with which A + sI is proved to be positive semidefinite, and whether it is as small as rounding."""

    name: str
    s: Ball = ZERO
    is_rounding: bool = True


def shift(A: FloatArray, name: str, A_times: Product | None = None, tight: bool = False) -> Shift:
    """Return the shift of a kernel or a graph, for which `A_times` saves time; as small as it can be where it matters.

    That takes more time than all else, so that with half of the bits, as `check` begins, it is asked for by `tight`.
    """
    size = A.diagonal().max()
    rounding = len(A) * 2.0**-48 * size
    s = dominance(A, A_times) if name == "L" else INFINITE  # without a factor where that is enough, as it mostly is
    for guess in (rounding / 8, -rounding / 16, None):  # of a definite matrix, of a singular one, of any
        if s <= rounding:
            break
        with suppress(np.linalg.LinAlgError):
            s = s.min(positive_part(-least_eigenvalue(A, guess)))
    if not s <= 1e-6 * size:
        raise Refuted(f"{name} with a diagonal of {size:.3g} has eigenvalues down to {-float(s):.3g}: indefinite")
    least = Shift(name, s, bool(s <= rounding))
    if s > 0 and (tight or (ctx.prec == BITS and least.is_rounding and len(A) <= LARGE)):
        exact, I = matrix(A), diagonal([ONE] * len(A))
        for part in 2.0 ** np.arange(-8, 0, 0.25):
            if is_definite(exact + I * (s * part)):
                return least._replace(s=s * part)
    return least


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


def solution(A: FloatArray, product: Product, b: AnyArray, stored: Callable[[], arb_mat]) -> AnyArray:
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
