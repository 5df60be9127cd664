r"""Products of two affine functions of x that are not negative: what makes the relaxation of an S3VM tight.

Each is sign (x_i - p)(x_j - q) >= 0; with j = n the second factor is 1. There are

    x_j^2 >= 1                              of a free sample,
    y_i x_i >= 1                            of a known or decided one,
    (x_j - L_j)(U_j - x_j) >= 0             of any sample with a box,
    and the four products of the sides of two boxes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from specmargin.solvers.exact_s3vm.margin_boxes import MarginBox
from specmargin.typing import BoolArray, FloatArray, IntArray, SparseArray

__all__ = ["Cut", "Products", "separate"]

Cut = tuple[int, int, int]
"""Samples i < j and the kind of the product: 0 (high, high), 1 (low, low), 2 (low, high), 3 (high, low)."""

_LEAST = 1e-3
"""Violation of a product that is worth a cut."""


@dataclass(frozen=True, eq=False)
class Products:
    """Functions sign (x_i - p)(x_j - q), one a row of the arrays i, j, p, q, sign.

    Parameters
    ----------
    n : int
        Samples; j = n stands for the constant 1 (then q = 0).

    Examples
    --------
    >>> box = MarginBox(np.array([1.0, -2.0]), np.array([3.0, 2.0]))
    >>> products = Products.of(np.array([1.0, 0.0]), box, cuts=[(0, 1, 2)])
    >>> products.values(np.outer([2.0, 1.0, 1.0], [2.0, 1.0, 1.0])).tolist()
    [0.0, 1.0, 1.0, 3.0, 1.0]
    """

    n: int
    i: IntArray
    j: IntArray
    p: FloatArray
    q: FloatArray
    sign: FloatArray

    @classmethod
    def of(
        cls, labels: FloatArray, box: MarginBox | None, diagonal: IntArray | None = None, cuts: Iterable[Cut] = ()
    ) -> Products:
        """Return labels and |x| >= 1, the products of both sides of the boxes of `diagonal`, and the cuts, so ordered.

        Parameters
        ----------
        labels : ndarray of shape (n,)
            Those that are known or decided; 0 for the others.
        box : MarginBox, optional
            Box of the products; without it there are neither diagonal ones nor cuts.
        diagonal : ndarray of int, optional
            Samples; default: all with two finite sides.
        cuts : iterable of Cut
        """
        n = len(labels)
        free, known = np.flatnonzero(labels == 0), np.flatnonzero(labels)
        one, zero, y = np.ones(len(free)), np.zeros(len(known)), labels[known]
        parts = [(free, free, one, -one, one), (known, np.full(len(known), n), y, zero, y)]
        if box is not None:
            finite = np.isfinite(box.low) & np.isfinite(box.high)
            k = np.flatnonzero(finite) if diagonal is None else diagonal[finite[diagonal]]
            parts.append((k, k, box.low[k], box.high[k], -np.ones(len(k))))
            i, j, kind = (np.array(list(cuts), dtype=np.intp).reshape(-1, 3)).T
            p = np.where((kind == 0) | (kind == 3), box.high[i], box.low[i])
            q = np.where((kind == 0) | (kind == 2), box.high[j], box.low[j])
            parts.append((i, j, p, q, np.where(kind < 2, 1.0, -1.0)))
        return cls(n, *(np.concatenate(column) for column in zip(*parts, strict=True)))

    def __len__(self) -> int:
        return len(self.i)

    @property
    def squares(self) -> BoolArray:
        """Which are x_j^2 >= 1."""
        return (self.i == self.j) & (self.sign > 0)

    @property
    def diagonal(self) -> BoolArray:
        """Which are of one sample alone, quadratic."""
        return self.i == self.j

    @property
    def lines(self) -> BoolArray:
        """Which are y_i x_i >= 1."""
        return self.j == self.n

    def chosen(self, which: BoolArray) -> Products:
        """Return some of them."""
        return Products(self.n, self.i[which], self.j[which], self.p[which], self.q[which], self.sign[which])

    def matrix(self, lam: FloatArray) -> FloatArray:
        """Return symmetric N with sum lam_c g_c(x) = (x, 1)' N (x, 1)."""
        size = self.n + 1
        rows, columns, values = self._entries(lam)
        N = np.bincount(rows * size + columns, values, size * size).reshape(size, size)
        return (N + N.T) / 2.0

    def sparse_matrix(self, lam: FloatArray) -> SparseArray:
        """Return `matrix`, of many samples, as a sparse one: a diagonal with a border, and an entry for each cut."""
        rows, columns, values = self._entries(lam)
        N = sp.coo_array((values, (rows, columns)), shape=(self.n + 1, self.n + 1)).tocsr()
        return sp.csr_array((N + N.T) / 2.0)

    def _entries(self, lam: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        weight, last = lam * self.sign, np.full(len(lam), self.n)
        rows, columns = np.concatenate([self.i, self.i, last, last]), np.concatenate([self.j, last, self.j, last])
        return rows, columns, np.concatenate([weight, -weight * self.q, -weight * self.p, weight * self.p * self.q])

    def values(self, X: FloatArray) -> FloatArray:
        """Return g_c where X holds the second moments of (x, 1)."""
        last = self.n
        value = (
            X[self.i, self.j] - self.p * X[last, self.j] - self.q * X[self.i, last] + self.p * self.q * X[last, last]
        )
        return np.asarray(self.sign * value)


def separate(X: FloatArray, box: MarginBox, known: Iterable[Cut], count: int) -> list[Cut]:
    """Return the products of box sides that the moments X of (x, 1) violate most, at most `count`.

    Parameters
    ----------
    X : ndarray of shape (n + 1, n + 1)
    box : MarginBox
    known : iterable of Cut
        Those that are there already.
    count : int
    """
    n, x = len(box.low), X[-1, :-1]
    i, j = np.triu_indices(n, 1)
    low, high = box.low, box.high
    values = []
    for kind in range(4):
        p, q = (high if kind in (0, 3) else low)[i], (high if kind in (0, 2) else low)[j]
        with np.errstate(invalid="ignore"):
            value = X[i, j] - p * x[j] - q * x[i] + p * q
        value = (1.0 if kind < 2 else -1.0) * value
        values.append(np.where(np.isfinite(p) & np.isfinite(q), value, np.inf))
    flat = np.concatenate(values)
    have = set(known)
    most = min(count + len(have), len(flat))
    if not most or count <= 0:
        return []
    order = np.argpartition(flat, most - 1)[:most]
    order = order[np.argsort(flat[order], kind="stable")]
    cuts: list[Cut] = []
    for at in order[flat[order] < -_LEAST].tolist():
        kind, pair = divmod(at, len(i))
        cut = (int(i[pair]), int(j[pair]), kind)
        if cut not in have:
            cuts.append(cut)
            if len(cuts) == count:
                break
    return cuts
