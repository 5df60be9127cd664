r"""A proved lower bound for regularized spectral clustering, whatever float64 rounds.

The functions of mean zero that a kernel K can express, with its norm, have a kernel of their own,

    K0 = K - k k' / (1'k),   k = K1.

With its computed eigenvectors U and eigenvalues w, K0 = U (diag(w) + F) U' <= U diag(w + e) U', F the rounding of
LAPACK and e a bound on it: of its norm, or where that is too much one that is least for the eigenvalues that are all
rounding (`Envelope.refined`), since functions that K has by its rounding only are cheap where gamma is small. In a
larger kernel every function costs less, so that with f = U x,

    gamma |f|_K^2 + f'L f + f'Z diag(s) Z'f - kappa f'f
        >= x'( gamma diag(1 / (w + e)) + U'L U + U'Z diag(s) Z'U - (1 + eta) kappa I )x,

eta a bound on |U'U - I|. Where a Cholesky factorisation of that matrix, less its roundings, goes through, m functions
of mean zero cost at least m kappa - sum_j s_j |z_j|^2, for any Z at all. Nothing is left out: eigenvalues that are all
rounding are among the w + e.

Roundings of the matrix are bounded entry by entry, |E_ij| <= (eps_i eps_j)^(1/2), and cost no more than n diag(eps):
smooth eigenvectors are charged by their own small L u_i, and kernel eigenvalues near zero by their own large gamma / w.
References: Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.3; Rump, Verification of positive
definiteness, BIT 46, 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.objectives.rounding.lapsvm import Products
from specmargin.rounding import UNIT, gamma, is_definite, split_head, split_product, two_product, two_sum
from specmargin.typing import FloatArray

__all__ = ["Envelope", "centred_kernel"]

_SAFE = 1.0 + 1e-6
"""Covers the roundings of the bounds themselves."""
_BLOCK = 32
"""Least number of terms that are summed at a time."""
_NOISE = 2.0
"""Multiple of the rounding of a kernel up to which its eigenvalues count as nothing else."""
_TRIALS = 14
_WIDEN = 4.0


def centred_kernel(K: FloatArray, k: FloatArray | None) -> tuple[FloatArray, float]:
    """Return K0 = K - k k' / (1'k), symmetric, and a bound on its error in norm; without k it is K itself.

    Where 1'k may be rounding the error is infinite: kk' is then divided by anything.
    """
    skew, size = float(np.linalg.norm(K - K.T)) / 2, float(np.linalg.norm(K))
    if k is None:
        return (K + K.T) / 2, _SAFE * (skew + 2.0 * UNIT * size)
    high, low, error = split_product(K, np.ones(len(K)), 1)
    total, length = math.fsum(high), float(np.linalg.norm(high))
    off = float(np.linalg.norm(np.abs(low) + error))
    moved = _moved(len(K), total, length, off)
    if math.isinf(moved):
        return (K + K.T) / 2, math.inf
    K0 = K - np.multiply.outer(high, high / total)
    K0 = (K0 + K0.T) / 2
    return K0, _SAFE * (skew + moved + 8.0 * UNIT * (length**2 / abs(total) + size))


def _moved(n: int, total: float, length: float, off: float) -> float:
    """Return a bound on what k k' / (1'k) moves where k, of that length and sum, is off by a vector of length off."""
    blur = 1.001 * math.sqrt(n) * off
    if not blur < 0.5 * abs(total):
        return math.inf
    return (2.0 * length * off + off**2 + blur * length**2 / abs(total)) / (abs(total) - blur)


def _in_two_parts(K: FloatArray, k: FloatArray | None) -> tuple[FloatArray, FloatArray, float]:
    """Return the kernel of `centred_kernel` to twice the digits, as a sum of two matrices, and a bound on its error."""
    skew = float(np.linalg.norm(K - K.T)) / 2
    K0 = (K + K.T) / 2
    if k is None:
        return K0, np.zeros_like(K0), _SAFE * (skew + (UNIT * float(np.linalg.norm(K0)) if skew else 0.0))
    # To twice the digits of float64: what is left may be far smaller than K.
    high, low, error = split_product(K, np.ones(len(K)), 2)
    total, length, off = math.fsum(np.concatenate([high, low])), np.linalg.norm(high), np.linalg.norm(error)
    moved = _moved(len(K), total, float(length), float(off))
    if math.isinf(moved):
        return K0, np.zeros_like(K0), math.inf
    rest = math.fsum(np.concatenate([high, low, [-total]]))
    share = high / total
    product, lost = two_product(share, total)
    share_low = ((high - product) - lost + low - share * rest) / total
    part, part_low = two_product(high[:, None], share[None, :])
    part_low = part_low + np.multiply.outer(high, share_low) + np.multiply.outer(low, share)
    K0, K0_low = two_sum(K0, -part)
    K0_low = K0_low - part_low
    # The mean with its transpose, to the same digits.
    K0, lost = two_sum(K0 / 2, K0.T / 2)
    K0_low = (K0_low + K0_low.T) / 2 + lost
    moved += 64.0 * UNIT**2 * float(length) ** 2 / abs(total) + 4.0 * UNIT * float(np.linalg.norm(K0_low))
    return K0, K0_low, _SAFE * (skew + moved)


class _Decomposition(NamedTuple):
    """A kernel K and its row sums k, K0 of `centred_kernel`, the eigenvalues w, the remainder E and its error."""

    K: FloatArray
    k: FloatArray | None
    K0: FloatArray
    w: FloatArray
    E: FloatArray
    missed: float


@dataclass(frozen=True, eq=False)
class Envelope:
    """A kernel above K0, and the graph's form in its eigenvectors; no weight gamma plays a part.

    Parameters
    ----------
    U : ndarray of shape (n, n)
        Eigenvectors of K0.
    w : ndarray of shape (n,)
        w + e: the eigenvalues of the larger kernel, all positive.
    form : ndarray of shape (n, n)
        U'L U.
    charge : ndarray of shape (n,)
        Bounds eps_i on the rounding of `form`, times n.
    error : float
        What else is off by norm.
    eta : float
        Bound on |U'U - I|.
    rest : _Decomposition, optional
        What `refined` needs.
    """

    U: FloatArray
    w: FloatArray
    form: FloatArray
    charge: FloatArray
    error: float
    eta: float
    rest: _Decomposition | None = None

    @classmethod
    def of(
        cls, K0: FloatArray, error: float, k: FloatArray | None, w: FloatArray, U: FloatArray, products: Products
    ) -> Envelope:
        """Return the envelope of a kernel that is known up to an error, with its computed eigenpairs.

        Parameters
        ----------
        K0, error : ndarray of shape (n, n), float
            Kernel and its error from `centred_kernel`.
        k : ndarray of shape (n,) or None
            What that was given.
        w, U : ndarray of shape (n,), ndarray of shape (n, n)
            Eigenvalues and eigenvectors of K0, in any order.
        products : Products
            Products with K and L.
        """
        n = len(w)
        eta = _SAFE * (float(np.linalg.norm(U.T @ U - np.eye(n))) + n * gamma(n + 2) + 8.0 * UNIT * math.sqrt(n))
        roots = np.sqrt(np.maximum(w, UNIT * max(float(np.abs(w).max()), 1e-300)))
        E, missed = _left(K0, roots, U)
        off = (1.0 + 3.0 * eta) * (float(np.linalg.norm(E)) + missed + error)
        raised = roots**2 + _SAFE * (off + 4.0 * UNIT * roots**2)
        LU, rounded = products.graph(U)
        lengths = np.linalg.norm(LU, axis=0)
        form, depth = _in_blocks(U, LU)
        asymmetric = 0.0 if products.is_symmetric else float(np.linalg.norm(form - form.T))
        # Of the two products that make an entry, the one that errs less: their errors are of the size of L u.
        form = np.where(lengths[:, None] < lengths[None, :], form.T, form)
        form = (form + form.T) / 2
        charge = _SAFE * n * gamma(depth + 12) * lengths
        # The U that is meant are the rounded U diag(roots), over their roots.
        error = float(np.linalg.norm(rounded)) + asymmetric + 5.0 * UNIT * math.sqrt(n) * float(np.linalg.norm(lengths))
        return cls(U, raised, form, charge, _SAFE * error, eta, _Decomposition(products.K, k, K0, roots**2, E, missed))

    @cached_property
    def refined(self) -> Envelope:
        """The envelope with a closer bound on the rounding of the eigenvalues, at the price of some matrix products."""
        assert self.rest is not None
        K, k, K0, w, E, missed = self.rest
        high, low, error = _in_two_parts(K, k)
        apart = (high - K0) + low
        E = E + apart
        error += missed + 2.0 * UNIT * float(np.linalg.norm(E) + np.linalg.norm(apart))
        F = self.U.T @ (E @ self.U)
        error += (3.0 * len(w) * gamma(len(w) + 4) + 3.0 * self.eta) * float(np.linalg.norm(E))
        return replace(self, w=_dominated(w, (F + F.T) / 2, 1.1 * error), rest=None)

    def least(self, weight: float, Z: FloatArray, s: FloatArray) -> float:
        """Return a kappa that the least Rayleigh quotient is proved to reach, -inf where none is.

        Parameters
        ----------
        weight : float
            gamma, the weight of the kernel's norm.
        Z : ndarray of shape (n, m)
            Columns of about unit length.
        s : ndarray of shape (m,)
            Their weights, >= 0.
        """
        n, m = Z.shape
        x = self.U.T @ Z
        T = self.form + (x * s) @ x.T
        ambient = weight / self.w
        T[np.diag_indices(n)] += ambient
        diagonal = T.diagonal().copy()
        top, size = float(s.max(initial=0.0)), float(np.linalg.norm(x))
        blurred = self.error + top * (3.0 * gamma(n + 2) * math.sqrt(n * m) * size + gamma(m + 12) * size**2)
        charge = self.charge + (n + 8) * gamma(n + 8) * diagonal + _SAFE * blurred
        T[np.diag_indices(n)] -= charge
        # What the columns themselves cost in it, the last of them most: no kappa beyond that can be reached.
        lengths = (x**2).sum(axis=0)
        costs = (x * (T @ x)).sum(axis=0) / lengths
        j = int(costs.argmin())
        highest, spent = float(costs[j]), float(charge @ x[:, j] ** 2) / float(lengths[j])
        step = 0.5 * spent + gamma(n) * abs(highest)
        for trial in range(_TRIALS):
            if trial == 2:
                # The columns are not the lowest functions.
                highest = min(highest, self._lowest(T))
                step = 0.5 * spent + gamma(n) * abs(highest)
            kappa = (highest - step) / (1.0 + self.eta) - 4.0 * UNIT * abs(highest)
            if is_definite(T, kappa * (1.0 + self.eta) if kappa > 0 else kappa * (1.0 - self.eta)):
                # Below zero it makes the diagonal longer, and with it what the factorisation rounds.
                return kappa * (1.0 + (n + 8) * gamma(n + 8)) if kappa < 0 else kappa
            step *= _WIDEN
        return -math.inf

    def _lowest(self, T: FloatArray) -> float:
        """Return about the lowest eigenvalue of T, turned upside down: the large entries have no say then."""
        n, roots = len(T), np.sqrt(self.w)
        scaled, shift = T * np.multiply.outer(roots, roots), max(float(np.abs(self.form.diagonal()).mean()), 1e-300)
        scaled[np.diag_indices(n)] += shift * self.w
        try:
            nu = sla.eigh(np.diag(self.w), scaled, eigvals_only=True, subset_by_index=(n - 1, n - 1))
        except (sla.LinAlgError, ValueError):  # a kernel without a bound has no finite entries
            return math.inf
        return float(1.0 / nu[0]) - shift


def _in_blocks(A: FloatArray, B: FloatArray) -> tuple[FloatArray, int]:
    """Return A'B, summed block by block, and how many roundings a term meets at the most."""
    n = len(A)
    size = max(_BLOCK, -(-n // 8))
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, n, size):
        total += A[start : start + size].T @ B[start : start + size]
    return total, min(n, size + -(-n // size))


def _left(K0: FloatArray, roots: FloatArray, U: FloatArray) -> tuple[FloatArray, float]:
    """Return what the squares of the roots and U leave of K0, and a bound on the error of that in norm."""
    n, R = len(roots), U * roots
    largest = math.sqrt(float(np.einsum("ij,ij->i", R, R).max()))
    # A product that is exact in its leading bits: what is left of K0 is rounding, and must not have any of its own.
    bits = max(4, (51 - max(1, n - 1).bit_length()) // 2)
    head = split_head(R, largest, bits)
    tail = R - head
    # Columns of small eigenvalues have no leading bits.
    used = head.any(axis=0)
    head = head[:, used]
    across = head @ tail[:, used].T
    E = (K0 - head @ head.T) - (across + across.T) - tail @ tail.T
    tails, heads, size = float(np.linalg.norm(tail)), float(np.linalg.norm(head)), float(np.linalg.norm(E))
    error = gamma(n + 4) * (2.0 * heads + tails) * tails + 8.0 * UNIT * (size + 2.0 * heads * tails + tails**2)
    return E, error


def _dominated(w: FloatArray, F: FloatArray, error: float) -> FloatArray:
    """Return d with diag(w) + F <= diag(d), F known up to an error in norm.

    Where w is all rounding (S) a bound on the norm of that block of the sum will do, elsewhere (B) Gershgorin's discs.
    The blocks between them may cost B more and S less, where it counts: 2 x'Fz <= c x'x + z'F'F z / c for any c > 0.
    """
    noise = _norm(F)
    S = w <= _NOISE * noise
    B = ~S
    d = np.full(len(w), error)
    if B.any():
        d[B] += w[B] * 4.0 * UNIT + np.abs(F[np.ix_(B, B)]).sum(axis=1)
    if S.any():
        least = _norm(F[np.ix_(S, S)] + np.diag(w[S]))
        d[S] = least + error
        if B.any():
            between, spare = F[np.ix_(B, S)], max(0.3 * least, 0.1 * noise)
            d[S] += spare
            size = float(np.abs(between).max())
            if size > 0:  # and its square may underflow
                d[B] += _norm((between / size).T @ (between / size)) * size * (size / spare)
    return np.where(B, w, 0.0) + _SAFE * d


def _norm(A: FloatArray) -> float:
    """Return a bound on the norm of a symmetric matrix that is next to it: |A^4|_F^(1/4)."""
    largest = float(np.abs(A).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return largest
    unit = math.ldexp(1.0, math.frexp(largest)[1])  # fourth powers of roundings underflow
    A = A / unit
    squared = A @ A
    fourth = float(np.linalg.norm(squared @ squared)) + 3.0 * gamma(len(A) + 4) * float(np.linalg.norm(A)) ** 4
    return _SAFE * unit * fourth**0.25
