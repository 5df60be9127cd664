r"""Products of two affine functions of x that are not negative: what makes the relaxation of an S3VM tight.

Each is sign (x_i - p)(x_j - q) >= 0; with j = n the second factor is 1. There are

    x_j^2 >= 1                              of a free sample,
    y_i x_i >= 1                            of a known or decided one,
    (x_j - L_j)(U_j - x_j) >= 0             of any sample with a box,
    and the four products of the sides of two boxes.

**Triangles.** Products of three labels satisfy the triangle inequalities of the cut polytope. Those of x do not, where
|x| > 1; with the squares added they hold: for signs a, b, c

    1/2 (a x_i + b x_j + c x_k)^2 + 1/2 (x_i^2 + x_j^2 + x_k^2) >= 2        where all |x| >= 1.

Let one of three terms have another sign than the others, which are -u, -v, and be w: on w, u, v >= 1 the left-hand side
w^2 + u^2 + v^2 - wu - wv + uv is convex, its gradient (0, 2, 2) at (1, 1, 1) is not negative, so that its minimum is
its value there, 2. Of equal signs it is at least 6. Where the relaxation has all x^2 at 1, they are max-cut's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.typing import BoolArray, FloatArray, IntArray, SparseArray

__all__ = ["ROWS", "Cut", "Products", "Triangle", "separate", "separate_triangles"]

Cut = tuple[int, int, int]
"""Samples i < j and the kind of the product: 0 (high, high), 1 (low, low), 2 (low, high), 3 (high, low)."""

Triangle = tuple[int, int, int, int]
"""Samples i < j < k, of which k may be the constant 1, and the one whose sign differs: 0 none, 1 k, 2 j, 3 i."""

ROWS = ("i", "j", "p", "q", "sign", "kind")
"""Arrays of `Products` with an entry for each product of two factors."""
_LEAST = 1e-3
"""Violation of a product that is worth a cut."""
_SIGNS = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]])
_LOOKED = 20
"""Triangles that are looked at for each that is taken."""
_OFTEN = 3
"""How often a sample may be in new triangles, relative to the mean."""


@dataclass(frozen=True, eq=False)
class Products:
    """Functions sign (x_i - p)(x_j - q), one a row of the arrays i, j, p, q, sign, kind.

    Parameters
    ----------
    n : int
        Samples; j = n stands for the constant 1 (then q = 0).
    kind : ndarray of int
        What a row is, whatever its numbers: 4 of x_j^2 >= 1 and labels, 5 of both sides of a box, else that of a cut.
    triangles : ndarray of shape (k, 4), optional
        Triangles; their multipliers come after those of the rows.

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
    kind: IntArray
    triangles: IntArray = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))

    @classmethod
    def of(
        cls,
        labels: FloatArray,
        box: MarginBox | None,
        diagonal: IntArray | None = None,
        cuts: Iterable[Cut] = (),
        triangles: Iterable[Triangle] = (),
    ) -> Products:
        """Return labels and |x| >= 1, both sides' products of the boxes of `diagonal`, cuts, triangles, so ordered.

        Parameters
        ----------
        labels : ndarray of shape (n,)
            Those that are known or decided; 0 for the others.
        box : MarginBox, optional
            Box of the products; without it there are neither diagonal ones nor cuts.
        diagonal : ndarray of int, optional
            Samples; default: all with two finite sides.
        cuts : iterable of Cut
        triangles : iterable of Triangle
        """
        n = len(labels)
        free, known = np.flatnonzero(labels == 0), np.flatnonzero(labels)
        one, zero, y = np.ones(len(free)), np.zeros(len(known)), labels[known]
        parts = [
            (free, free, one, -one, one, np.full(len(free), 4)),
            (known, np.full(len(known), n), y, zero, y, np.full(len(known), 4)),
        ]
        if box is not None:
            finite = np.isfinite(box.low) & np.isfinite(box.high)
            k = np.flatnonzero(finite) if diagonal is None else diagonal[finite[diagonal]]
            parts.append((k, k, box.low[k], box.high[k], -np.ones(len(k)), np.full(len(k), 5)))
            i, j, kind = (np.array(list(cuts), dtype=np.intp).reshape(-1, 3)).T
            p = np.where((kind == 0) | (kind == 3), box.high[i], box.low[i])
            q = np.where((kind == 0) | (kind == 2), box.high[j], box.low[j])
            parts.append((i, j, p, q, np.where(kind < 2, 1.0, -1.0), kind))
        i, j, p, q, sign, kinds = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(n, i, j, p, q, sign, kinds, np.array(list(triangles), dtype=np.int64).reshape(-1, 4))

    def __len__(self) -> int:
        return len(self.i) + len(self.triangles)

    @property
    def squares(self) -> IntArray:
        """Which are x_j^2 >= 1."""
        return np.flatnonzero((self.i == self.j) & (self.sign > 0))

    @property
    def diagonal(self) -> IntArray:
        """Which are of one sample alone, quadratic."""
        return np.flatnonzero(self.i == self.j)

    @property
    def lines(self) -> IntArray:
        """Which are y_i x_i >= 1."""
        return np.flatnonzero(self.j == self.n)

    @property
    def signs(self) -> FloatArray:
        """Signs of the terms of the triangles, (k, 3)."""
        return np.asarray(_SIGNS[self.triangles[:, 3]])

    def chosen(self, which: BoolArray | IntArray) -> Products:
        """Return some of them, without the triangles."""
        rows: dict[str, Any] = {name: getattr(self, name)[which] for name in ROWS}
        return Products(self.n, **rows)

    def taken(self, other: Products, lam: FloatArray) -> FloatArray:
        """Return the multipliers that the same products and triangles have in another relaxation; NaN for new ones."""
        known = dict(zip(other.keys(), lam.tolist(), strict=True))
        return np.array([known.get(key, np.nan) for key in self.keys()])

    def keys(self) -> list[tuple[int, ...]]:
        """Return what tells products and triangles apart, whatever the box."""
        return [
            *zip(self.i.tolist(), self.j.tolist(), self.kind.tolist(), strict=True),
            *map(tuple, self.triangles.tolist()),
        ]

    def in_rows(self, lam: FloatArray) -> tuple[Products, FloatArray]:
        """Return rows and multipliers that add up to the same as the triangles: products of two x, squares and -2."""
        t, signs, rows = self.triangles[:, :3], self.signs, len(self.i)
        first, second = np.array([0, 0, 1, 0, 1, 2]), np.array([1, 2, 2, 0, 1, 2])
        last = np.full(len(t), self.n)
        i = np.concatenate([self.i, t[:, first].ravel(), last])
        j = np.concatenate([self.j, t[:, second].ravel(), last])
        sign = np.concatenate([self.sign, (signs[:, first] * signs[:, second]).ravel(), -np.ones(len(t))])
        p, q = (np.append(x, np.zeros(7 * len(t))) for x in (self.p, self.q))
        weights = np.concatenate([lam[:rows], np.repeat(lam[rows:], 6), 2.0 * lam[rows:]])
        return Products(self.n, i, j, p, q, sign, np.zeros_like(i)), weights

    def matrix(self, lam: FloatArray) -> FloatArray:
        """Return symmetric N with sum lam_c g_c(x) = (x, 1)' N (x, 1)."""
        if len(self.triangles):
            products, weights = self.in_rows(lam)
            return products.matrix(weights)
        size = self.n + 1
        rows, columns, values = self._entries(lam)
        N = np.bincount(rows * size + columns, values, size * size).reshape(size, size)
        return (N + N.T) / 2.0

    def sparse_matrix(self, lam: FloatArray) -> SparseArray:
        """Return `matrix`, of many samples, as a sparse one: a diagonal with a border, and an entry for each cut."""
        if len(self.triangles):
            products, weights = self.in_rows(lam)
            return products.sparse_matrix(weights)
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
        if not len(self.triangles):
            return np.asarray(self.sign * value)
        t = self.triangles[:, :3]
        M, signs = X[t[:, :, None], t[:, None, :]], self.signs
        squared = np.einsum("ka,kab,kb->k", signs, M, signs) + np.einsum("kaa->k", M)
        return np.append(self.sign * value, 0.5 * squared - 2.0 * X[last, last])


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


def separate_triangles(X: FloatArray, samples: IntArray, known: Iterable[Triangle], count: int) -> list[Triangle]:
    """Return the triangles that the moments X of (x, 1) violate most, at most `count`, of samples and the constant 1.

    None of the samples is in many more of them than the others.
    """
    at = np.append(np.sort(samples), len(X) - 1)
    M, values, indices = X[np.ix_(at, at)], list[FloatArray](), list[IntArray]()
    own = M.diagonal()
    for k in range(2, len(at)):
        i, j = np.triu_indices(k, 1)
        squares, pairs = own[i] + own[j] + own[k] - 2.0, np.stack([M[i, j], M[i, k], M[j, k]])
        # The products of two signs, in the same order: a b, a c, b c.
        value = squares + (_SIGNS[:, [0, 0, 1]] * _SIGNS[:, [1, 2, 2]]) @ pairs
        kind, pair = np.nonzero(value < -_LEAST)
        values.append(value[kind, pair])
        indices.append(np.column_stack([i[pair], j[pair], np.full(len(pair), k), kind]))
    if count <= 0 or not values:
        return []
    value, rows = np.concatenate(values), np.concatenate(indices)
    if len(value) > _LOOKED * count:
        most = np.argpartition(value, _LOOKED * count)[: _LOOKED * count]
        value, rows = value[most], rows[most]
    have, used, often = set(known), np.zeros(len(at)), max(_OFTEN * 3.0 * count / len(at), 1.0)
    triangles: list[Triangle] = []
    for row in rows[np.lexsort((*rows.T[::-1], value))]:
        i, j, k = at[row[:3]].tolist()
        if (i, j, k, int(row[3])) in have or used[row[:3]].max() >= often:
            continue
        used[row[:3]] += 1
        triangles.append((i, j, k, int(row[3])))
        if len(triangles) == count:
            break
    return triangles
