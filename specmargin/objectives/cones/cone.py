"""The cone of admissible spectra: delta = A'kappa, kappa >= 0.

Eq. 13 of the spectrum paper changes variables so that an ordered spectrum becomes a nonnegative vector: kappa_1
is the weight of the first eigenvector, which is free, and kappa_i the drop delta_i - delta_{i+1} after it. Rows
of A are the extreme spectra (e_1 and the prefixes 2..i), ``c = A 1`` their traces, and for the squared scores p

    A p = (p_1, p_2, p_2 + p_3, ...)

are the cumulative sums that eq. 16 bounds by c tau. Without an order A is the identity and the family is that of
multiple kernel learning. Equal eigenvalues are given equal weights (rows only where a block of ties ends):
inside a block the eigenvectors are an arbitrary basis, and the answer must not depend on it.

`SpectrumCone` is that family. Two more speak the same language, so that whatever is written for a `Cone` serves them:
`FixedSpectrum` has one ray only (the classifier is then an SVM or a relative margin machine on a given kernel), and
`ProductCone` sets families side by side (several graphs at once, each with an order of its own).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.optimize import isotonic_regression

from specmargin.arrays import finite_numbers
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.typing import AnyArray, FloatArray, IntArray, SparseArray

__all__ = ["Cone", "FixedSpectrum", "ProductCone", "SpectrumCone", "kept_spectrum"]


class Cone(ABC):
    """A family of spectra delta = A'kappa with kappa >= 0.

    Examples
    --------
    >>> families = [SpectrumCone(3), SpectrumCone(3, order=False), FixedSpectrum(np.array([2.0, 1.0, 1.0]))]
    >>> [(family.m, family.best_for(np.array([0.0, 1.0, 3.0])).tolist()) for family in families]
    [(3, [0.0, 0.5, 0.5]), (3, [0.0, 0.25, 0.75]), (1, [0.5, 0.25, 0.25])]
    """

    q: int
    """Number of eigenvectors."""
    m: int
    """Number of extreme rays, rows of A."""
    c: FloatArray
    """Traces A 1 of the extreme spectra, (m,)."""

    @abstractmethod
    def sums(self, p: FloatArray) -> FloatArray:
        """Return A p, along the first axis: (q, ...) to (m, ...)."""

    @abstractmethod
    def weights(self, kappa: FloatArray) -> FloatArray:
        """Return delta = A'kappa, along the first axis: (m, ...) to (q, ...)."""

    @abstractmethod
    def drops(self, delta: FloatArray) -> FloatArray:
        """Return the kappa of a spectrum, negative ones set to zero; on the cone `weights` undoes it."""

    def admissible(self, delta: FloatArray, eps: float = 0.0) -> AnyArray:
        """Return, in extended precision, the spectrum of trace one and drops of at least eps that floats stand for.

        Floats sum to one, and keep an order, only up to rounding; that is what is taken away.
        """
        c = self.c.astype(np.longdouble)
        kappa = np.maximum(self.drops(delta.astype(np.longdouble)) - eps, 0)
        return self.weights(kappa * ((1 - eps * c.sum()) / (c @ kappa)) + eps)

    @abstractmethod
    def best_unscaled(self, v: FloatArray) -> FloatArray:
        """Return the spectrum that minimises sum_j v_j^2 / delta_j for its own sum, not scaled."""

    @abstractmethod
    def chain(self) -> tuple[SparseArray, SparseArray]:
        """Return sparse (m, m) and (m, q) matrices with ``first @ S = second @ p`` exactly where S = A p."""

    def best_for(self, v: FloatArray) -> FloatArray:
        """Return the spectrum of sum one that minimises sum_j v_j^2 / delta_j, in closed form.

        Without an order delta_j is proportional to |v_j|; an order replaces v_j^2 by its nonincreasing isotonic
        regression, blocks of ties by their mean.
        """
        delta = self.best_unscaled(v)
        total = float(delta.sum())
        return delta / total if total > 0 else self.weights(np.full(self.m, 1.0 / self.c.sum()))

    def matrix(self) -> FloatArray:
        """Return A, (m, q), for small problems and for CVXPY."""
        return self.sums(np.eye(self.q))


@dataclass(frozen=True, eq=False)
class SpectrumCone(Cone):
    """The spectra that are nonnegative and, unless told otherwise, nonincreasing from the second weight on.

    Parameters
    ----------
    q : int
        Number of eigenvectors.
    order : bool, default True
        Whether delta_2 >= delta_3 >= ... >= delta_q is asked for.
    ends : ndarray of int, optional
        0-based last indices of the blocks of equal eigenvalues among 1..q-1, `Spectrum.block_ends`; by default
        every eigenvalue stands alone. Not used without an order.

    Examples
    --------
    >>> cone = SpectrumCone(4)
    >>> cone.weights(np.array([0.1, 0.0, 0.1, 0.2])).round(3).tolist()
    [0.1, 0.3, 0.3, 0.2]
    >>> cone.sums(np.array([5.0, 1.0, 2.0, 3.0])).tolist(), cone.c.tolist()
    ([5.0, 1.0, 3.0, 6.0], [1.0, 1.0, 2.0, 3.0])
    """

    q: int
    order: bool = True
    ends: IntArray | None = None
    block_ends: IntArray = field(init=False, repr=False)
    """`ends`, or every index from 1 where none were given."""
    tied: bool = field(init=False, repr=False)
    """Whether some eigenvalues are equal, so that an ordered spectrum has fewer drops than weights."""

    def __post_init__(self) -> None:
        ends = np.arange(1, self.q) if self.ends is None else np.asarray(self.ends, dtype=np.intp)
        c = np.concatenate([[1.0], ends.astype(float)]) if self.order else np.ones(self.q)
        vars(self).update(block_ends=ends, c=c, m=len(c), tied=len(c) < self.q)

    def sums(self, p: FloatArray) -> FloatArray:
        """Return A p, along the first axis: (q, ...) to (m, ...)."""
        if not self.order:
            return p
        if not self.tied:
            sums = np.empty(p.shape, dtype=np.result_type(p, float))
            sums[0] = p[0]
            p[1:].cumsum(axis=0, out=sums[1:])
            return sums
        return np.concatenate([p[:1], np.cumsum(p[1:], axis=0)[self.block_ends - 1]])

    def weights(self, kappa: FloatArray) -> FloatArray:
        """Return delta = A'kappa, along the first axis: (m, ...) to (q, ...)."""
        if not self.order:
            return kappa
        drops = kappa
        if self.tied:
            drops = np.zeros((self.q, *kappa.shape[1:]), dtype=np.result_type(kappa, float))
            drops[self.block_ends] = kappa[1:]
        delta = drops[::-1].cumsum(axis=0)[::-1]
        delta[0] = kappa[0]
        return delta

    def drops(self, delta: FloatArray) -> FloatArray:
        """Return the drops of a spectrum, those of an ordered one from the end of one block of ties to the next."""
        if not self.order:
            return np.maximum(delta, 0.0)
        tail = np.append(delta, 0.0)
        ends = self.block_ends
        return np.maximum(np.concatenate([delta[:1], tail[ends] - tail[np.minimum(ends + 1, self.q)]]), 0.0)

    def best_unscaled(self, v: FloatArray) -> FloatArray:
        """Return the spectrum, not scaled, that minimises sum_j v_j^2 / delta_j for its sum."""
        if not self.order:
            return np.abs(v)
        squares = v**2
        sizes = np.diff(np.concatenate([[0], self.block_ends])).astype(float)
        means = np.empty(0)
        if len(sizes):
            # Block by block, not as differences of `sums`: what is small next to the sum before it counts, too.
            starts = np.concatenate([[0], self.block_ends[:-1]])
            means = np.add.reduceat(squares[1:], starts) / sizes
            means = isotonic_regression(np.maximum(means, 0.0), weights=sizes, increasing=False).x
        return np.concatenate([[abs(v[0])], np.repeat(np.sqrt(means), sizes.astype(int))])

    def chain(self) -> tuple[SparseArray, SparseArray]:
        """Return sparse (m, m) and (m, q) matrices with ``first @ S = second @ p`` exactly where S = A p.

        The first takes differences of consecutive sums: A itself has q^2 / 2 entries, these two have 2q.
        """
        if not self.order:
            return sp.eye_array(self.q, format="csr"), sp.eye_array(self.q, format="csr")
        block = np.searchsorted(self.block_ends, np.arange(1, self.q)) + 1
        gather = sp.csr_array((np.ones(self.q), (np.append(0, block), np.arange(self.q))), shape=(self.m, self.q))
        below = np.full(self.m - 1, -1.0)
        below[:1] = 0.0
        return sp.diags_array([np.ones(self.m), below], offsets=[0, -1], format="csr"), gather


@dataclass(frozen=True, eq=False)
class FixedSpectrum(Cone):
    """One spectrum and its multiples: the family of a given kernel.

    Parameters
    ----------
    delta : ndarray of shape (q,)
        Nonnegative weights; they are scaled to sum one.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or if all are zero.

    Examples
    --------
    >>> cone = FixedSpectrum(np.array([0.0, 3.0, 1.0]))
    >>> cone.weights(np.array([1.0])).tolist(), cone.c.tolist()
    ([0.0, 0.75, 0.25], [1.0])
    """

    delta: FloatArray

    def __post_init__(self) -> None:
        delta = np.asarray(self.delta, dtype=float)
        finite_numbers("delta", delta, "finite weights >= 0, one per eigenvector", least=0.0)
        if delta.ndim != 1 or not delta.any():
            raise InvalidInputError(
                f"delta={shown(self.delta)} must be finite weights >= 0, one per eigenvector, not all zero."
            )
        vars(self).update(delta=delta / delta.sum(), q=len(delta), m=1, c=np.ones(1))

    def sums(self, p: FloatArray) -> FloatArray:
        """Return A p = delta'p, (1, ...)."""
        return (self.delta @ p)[None]

    def weights(self, kappa: FloatArray) -> FloatArray:
        """Return kappa delta."""
        return np.multiply.outer(self.delta, kappa[0])

    def drops(self, delta: FloatArray) -> FloatArray:
        """Return the factor by which delta is the ray."""
        return np.maximum(np.array([delta.sum()]), 0.0)

    def admissible(self, delta: FloatArray, eps: float = 0.0) -> AnyArray:
        """Return the ray."""
        return self.delta.astype(np.longdouble)

    def best_unscaled(self, v: FloatArray) -> FloatArray:
        """Return the ray itself."""
        return self.delta

    def best_for(self, v: FloatArray) -> FloatArray:
        """Return the ray itself, to the last bit."""
        return self.delta

    def chain(self) -> tuple[SparseArray, SparseArray]:
        """Return 1 and delta'."""
        return sp.csr_array([[1.0]]), sp.csr_array(self.delta[None])


def kept_spectrum(delta: FloatArray, n: int, each: str) -> FixedSpectrum:
    """Return the family of given weights, after a check that there are n of them."""
    if np.shape(delta) != (n,):
        raise InvalidInputError(f"delta has the shape {np.shape(delta)}; pass one weight per {each}, ({n},).")
    return FixedSpectrum(delta)


@dataclass(frozen=True, eq=False)
class ProductCone(Cone):
    """Several families side by side: delta is the concatenation of their spectra, with one trace for all.

    Parameters
    ----------
    parts : tuple of Cone
        Cones, at least one.

    Examples
    --------
    >>> cone = ProductCone((SpectrumCone(3), SpectrumCone(2)))
    >>> cone.sums(np.arange(5.0)).tolist(), cone.c.tolist()
    ([0.0, 1.0, 3.0, 3.0, 4.0], [1.0, 1.0, 2.0, 1.0, 1.0])
    """

    parts: tuple[Cone, ...]

    def __post_init__(self) -> None:
        c = np.concatenate([part.c for part in self.parts])
        vars(self).update(q=sum(part.q for part in self.parts), m=len(c), c=c)

    def sums(self, p: FloatArray) -> FloatArray:
        """Return A p, along the first axis: (q, ...) to (m, ...)."""
        return np.concatenate([part.sums(piece) for part, piece in zip(self.parts, self.split(p), strict=True)])

    def weights(self, kappa: FloatArray) -> FloatArray:
        """Return delta = A'kappa, along the first axis: (m, ...) to (q, ...)."""
        pieces = np.split(kappa, np.cumsum([part.m for part in self.parts])[:-1])
        return np.concatenate([part.weights(piece) for part, piece in zip(self.parts, pieces, strict=True)])

    def drops(self, delta: FloatArray) -> FloatArray:
        """Return the drops of every part."""
        return np.concatenate([part.drops(piece) for part, piece in zip(self.parts, self.split(delta), strict=True)])

    def best_unscaled(self, v: FloatArray) -> FloatArray:
        """Return the best spectra of the parts, whose sums are then the best shares of the trace, too."""
        return np.concatenate(
            [part.best_unscaled(piece) for part, piece in zip(self.parts, self.split(v), strict=True)]
        )

    def chain(self) -> tuple[SparseArray, SparseArray]:
        """Return the block-diagonal matrices of the parts' chains."""
        chains, gathers = zip(*(part.chain() for part in self.parts), strict=True)
        return sp.block_diag(chains, format="csr"), sp.block_diag(gathers, format="csr")

    def split(self, delta: FloatArray) -> list[FloatArray]:
        """Cut along the first axis into the parts' pieces."""
        return np.split(delta, np.cumsum([part.q for part in self.parts])[:-1])
