r"""The linear system of a Newton step for an SVM in w, by the smallest route to its solution.

Let the losses have slopes a and curvatures D >= 0 at the decisions f = A w + offset. Their quadratic model is least at
the *target*, where

    P w_T + A'[ a + D (A w_T + offset - f) ] = 0.

- With k samples where D > 0 and k below the number of features, the unknowns are v = -[...] on those samples,

      (1 + D^1/2 G D^1/2) D^-1/2 v = D^1/2 (f - offset - a/D - A h),    G = A A',  h = -A'a of the other samples,

  a Cholesky factorisation of the order k whose entries do not grow with the features. A free intercept, which P does
  not see, adds the row sum of all slopes = 0.
- Otherwise (P + A'DA)(w_T - w) = -(Pw + A'a) is factorised. From step to step few samples enter or leave, and the
  matrix is updated by their rows.
- Sparse or large: conjugate gradients on that equation, which never form a matrix (CGLS of Keerthi & DeCoste). Where a
  few samples H weigh much more than the rest, as labelled ones do, 1 + A_H' D A_H is inverted through H and
  preconditions them away.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from specmargin.objectives import Features
from specmargin.typing import FloatArray, IntArray

__all__ = ["NewtonSystem"]

_ORDER = 4000
"""Largest order of a matrix that is factorised."""
_SPARSE_ORDER = 300
"""The same for sparse features, where products are cheap."""
_FEW_FEATURES, _ENTRIES = 500, 10_000_000
"""Sparse features of no more columns and entries are as good as dense: they are multiplied out."""
_UPDATES = 50
"""Updates of a matrix by rows before it is summed anew, to be rid of their roundings."""
_HEAVY = 4.0
"""Curvature, over the median one, from which a sample belongs to the preconditioner."""
_STEPS = 500
"""Steps of conjugate gradients; Newton's method continues from wherever they end."""


class NewtonSystem:
    """Newton steps of one machine; it remembers the last matrix.

    Parameters
    ----------
    features : Features
        The map from w to the decisions.
    order : int, optional
        Largest order of a matrix to factorise; beyond it conjugate gradients step in.
    """

    def __init__(self, features: Features, order: int | None = None) -> None:
        self.features = features
        few = features.size <= _FEW_FEATURES and features.n_samples * features.size <= _ENTRIES
        self._sparse = features.is_sparse and not few
        self.order = order if order is not None else _SPARSE_ORDER if self._sparse else _ORDER
        self._free = features.penalty == 0.0
        self._bends = np.zeros(features.n_samples)
        self._hessian: FloatArray | None = None
        self._updates = 0
        self._heavy: _Heavy | None = None

    def gradient(self, w: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return P w + A'a."""
        return self.features.weights * w + self.features.adjoint(slopes)

    def target(
        self, w: FloatArray, f: FloatArray, slopes: FloatArray, bends: FloatArray, g: FloatArray, tolerance: float = 0.0
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return w_T, and the slopes a_T of the model there where they are by-products.

        Parameters
        ----------
        w, f : ndarray of shape (size,), (n,)
            Where the model touches.
        slopes, bends : ndarray of shape (n,)
            a and D >= 0.
        g : ndarray of shape (size,)
            The gradient at w.
        tolerance : float, default 0
            Norm of the residual at which conjugate gradients may end.
        """
        bent = np.flatnonzero(bends)
        if len(bent) == 0:
            step = -g.copy()  # P is one there, and where it is zero downhill will do: the line search knows how far
            return w + step, None
        if len(bent) <= self.order and (self._sparse or len(bent) < self.features.size):
            return self._by_samples(f, slopes, bends, bent)
        if self.features.size <= self.order and not self._sparse:
            return w - self._by_features(bends, g), None
        return w - self._by_conjugate_gradients(bends, g, tolerance), None

    def _by_samples(
        self, f: FloatArray, slopes: FloatArray, bends: FloatArray, bent: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        features = self.features
        kept: FloatArray | None = vars(features).get("gram")
        G = features.gram_of(bent)
        rest = slopes.copy()
        rest[bent] = 0.0
        right = f[bent] - features.offset - slopes[bent] / bends[bent]
        pushed = bool(rest.any())
        if pushed:
            h = features.adjoint(rest)
            if self._free:
                h[-1] = 0.0
            right += features.subset(bent).products(h) if kept is None else kept[bent] @ rest
        scale = np.sqrt(bends[bent])
        G *= scale
        G *= scale[:, None]
        G.ravel()[:: len(G) + 1] += 1.0
        sides = np.column_stack([scale * right, scale]) if self._free else (scale * right)[:, None]
        found = scale[:, None] * _solve(G, sides)
        v, b = found[:, 0], 0.0
        if self._free:
            b = float((v.sum() - rest.sum()) / found[:, 1].sum())
            v = v - b * found[:, 1]
        rest[bent] = -v
        target = -features.adjoint(rest)
        if self._free:
            target[-1] = b
        return target, rest

    def _by_features(self, bends: FloatArray, g: FloatArray) -> FloatArray:
        A = self.features.matrix
        changed = np.flatnonzero(bends != self._bends)
        if self._hessian is None or 2 * len(changed) > np.count_nonzero(bends) or self._updates >= _UPDATES:
            bent = np.flatnonzero(bends)
            scaled = A[bent] * np.sqrt(bends[bent])[:, None]
            self._hessian = scaled.T @ scaled
            self._hessian.ravel()[:: len(g) + 1] += self.features.weights
            self._updates = 0
        elif len(changed):
            rows = A[changed]
            self._hessian += (rows * (bends - self._bends)[changed, None]).T @ rows
            self._updates += 1
        self._bends = bends
        return _solve(self._hessian, g[:, None])[:, 0]

    def _by_conjugate_gradients(self, bends: FloatArray, g: FloatArray, tolerance: float) -> FloatArray:
        """Return an approximate solution d of (P + A'DA) d = g."""
        features, weights = self.features, self.features.weights
        relieve = self._preconditioner(bends)
        d, r = np.zeros_like(g), g.copy()
        p = relieve(r)
        length, square = float(np.linalg.norm(r)), float(r @ p)
        for _ in range(_STEPS):
            if length <= tolerance or square <= 0.0:
                break
            Hp = weights * p + features.adjoint(bends * features.products(p))
            step = square / float(p @ Hp)
            d += step * p
            r -= step * Hp
            z = relieve(r)
            length, square, last = float(np.linalg.norm(r)), float(r @ z), square
            p *= square / last
            p += z
        return d

    def _preconditioner(self, bends: FloatArray) -> Callable[[FloatArray], FloatArray]:
        rows = np.flatnonzero(bends > _HEAVY * np.median(bends[bends > 0]))
        if not 0 < len(rows) <= _SPARSE_ORDER:
            return np.copy
        if self._heavy is None or not np.array_equal(self._heavy.rows, rows):
            self._heavy = _Heavy(self.features, rows)
        return self._heavy.inverse(bends[rows])


class _Heavy:
    """The inverse of 1 + A_H' D A_H."""

    def __init__(self, features: Features, rows: IntArray) -> None:
        self.rows, self.features = rows, features.subset(rows)
        self.G = features.gram_of(rows)
        if features.penalty == 0.0:
            self.G = self.G + 1.0

    def inverse(self, bends: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the inverse at D."""
        A, inverse = self.features, np.linalg.inv(self.G + np.diag(1.0 / bends))
        return lambda r: r - A.adjoint(inverse @ A.products(r))


def _solve(M: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system by Cholesky's method; where rounding made it indefinite, lift it slightly."""
    if not (np.isfinite(M.ravel()[:: len(M) + 1]).all() and np.isfinite(right).all()):
        raise ValueError("the products of the features overflow; scale them to entries of about one.")
    shift = 0.0
    while True:
        lifted = M if shift == 0.0 else M + shift * np.diag(M.diagonal())
        # M is symmetric: its transpose is the memory order that LAPACK reads without a copy of its own.
        factor, failed = lapack.dpotrf(lifted.T, lower=1, clean=0)
        if failed == 0:
            return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])
        shift = max(100.0 * shift, 1e-15)
