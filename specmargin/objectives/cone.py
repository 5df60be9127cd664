"""The cone of admissible spectra: delta = A'kappa, kappa >= 0.

Eq. 13 of the spectrum paper changes variables so that an ordered spectrum becomes a nonnegative vector: kappa_1
is the weight of the first eigenvector, which is free, and kappa_i the drop delta_i - delta_{i+1} after it. Rows
of A are the extreme spectra (e_1 and the prefixes 2..i), ``c = A 1`` their traces, and for the squared scores p

    A p = (p_1, p_2, p_2 + p_3, ...)

are the cumulative sums that eq. 16 bounds by c tau. Without an order A is the identity and the family is that of
multiple kernel learning. Equal eigenvalues are given equal weights (rows only where a block of ties ends):
inside a block the eigenvectors are an arbitrary basis, and the answer must not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import isotonic_regression

from specmargin.typing import FloatArray, IntArray

__all__ = ["SpectrumCone"]


@dataclass(frozen=True, eq=False)
class SpectrumCone:
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

    @property
    def m(self) -> int:
        """Number of extreme rays, rows of A."""
        return 1 + len(self.block_ends) if self.order else self.q

    @cached_property
    def block_ends(self) -> IntArray:
        """`ends`, or every index from 1 where none were given."""
        return np.arange(1, self.q) if self.ends is None else np.asarray(self.ends, dtype=np.intp)

    @cached_property
    def c(self) -> FloatArray:
        """Traces A 1 of the extreme spectra, (m,)."""
        if not self.order:
            return np.ones(self.q)
        return np.concatenate([[1.0], self.block_ends.astype(float)])

    def sums(self, p: FloatArray) -> FloatArray:
        """Return A p, along the first axis: (q, ...) to (m, ...)."""
        if not self.order:
            return p
        return np.concatenate([p[:1], np.cumsum(p[1:], axis=0)[self.block_ends - 1]])

    def weights(self, kappa: FloatArray) -> FloatArray:
        """Return delta = A'kappa, along the first axis: (m, ...) to (q, ...)."""
        if not self.order:
            return kappa
        drops = np.zeros((self.q, *kappa.shape[1:]))
        drops[self.block_ends] = kappa[1:]
        delta = np.cumsum(drops[::-1], axis=0)[::-1]
        delta[0] = kappa[0]
        return delta

    def drops(self, delta: FloatArray) -> FloatArray:
        """Return the drops of a spectrum, the negative ones set to zero; on the cone `weights` undoes it."""
        if not self.order:
            return np.maximum(delta, 0.0)
        tail = np.append(delta, 0.0)
        ends = self.block_ends
        return np.maximum(np.concatenate([delta[:1], tail[ends] - tail[np.minimum(ends + 1, self.q)]]), 0.0)

    def best_for(self, v: FloatArray) -> FloatArray:
        """Return the spectrum of sum one that minimises sum_j v_j^2 / delta_j, in closed form.

        Without an order delta_j is proportional to |v_j|; an order replaces v_j^2 by its nonincreasing isotonic
        regression, blocks of ties by their mean.
        """
        squares = v**2
        if not self.order:
            delta = np.sqrt(squares)
        else:
            sizes = np.diff(np.concatenate([[0], self.block_ends])).astype(float)
            means = np.diff(self.sums(squares)[1:], prepend=0.0) / sizes
            if len(means):
                pooled = isotonic_regression(np.maximum(means, 0.0), weights=sizes, increasing=False).x
            else:
                pooled = means
            delta = np.concatenate([[abs(v[0])], np.repeat(np.sqrt(pooled), sizes.astype(int))])
        total = float(delta.sum())
        return delta / total if total > 0 else self.weights(np.full(self.m, 1.0 / self.c.sum()))

    def matrix(self) -> FloatArray:
        """Return A, (m, q), for small problems and for CVXPY."""
        return self.sums(np.eye(self.q))
