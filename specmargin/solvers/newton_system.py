r"""The linear system of a Newton step for an SVM in w, by the smallest route to its solution.

Let the losses have slopes a and curvatures D >= 0 at the decisions f = A w + offset. Their quadratic model is least at
the *target*, where

    P w_T + A'[ a + D (A w_T + offset - f) ] = 0.

- With k samples where D > 0 and k below the number of features, the unknowns are v = -[...] on those samples,

      (1 + D^1/2 G D^1/2) D^-1/2 v = D^1/2 (f - offset - a/D - A h),    G = A A',  h = -A'a of the other samples,

  a Cholesky factorisation of the order k whose entries do not grow with the features. A free intercept, which P does
  not see, adds the row sum of all slopes = 0.
- Otherwise (P + A'DA)(w_T - w) = -(Pw + A'a) is factorised. From step to step few samples enter or leave, and the
  matrix is updated by their rows. A large factor is kept: as long as D stays near, it preconditions the conjugate
  gradients so well that a handful of products replace the next factorisation.
- Sparse or large: conjugate gradients on that equation, which never form a matrix (CGLS of Keerthi & DeCoste). Where a
  few samples H weigh much more than the rest, as labelled ones do, 1 + A_H' D A_H is inverted through H and
  preconditions them away.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import blas, lapack

from specmargin.exceptions import InvalidInputError
from specmargin.objectives import Features
from specmargin.rounding import cholesky
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
_KEPT_ORDER, _KEPT_STEPS = 200, 12
"""Order from which a factor is kept, and the steps with it after which a new one is the cheaper."""
_MOST_SAMPLES, _FEW_SAMPLES = 0.7, 0.2
"""Samples with curvature, as shares of the features, up to which they are the unknowns; the latter given a factor."""


class NewtonSystem:
    """Newton steps of one classifier; it remembers the last matrix.

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
        self._curvatures = np.zeros(features.n_samples)
        self._hessian: FloatArray | None = None
        self._updates = 0
        self._factor: FloatArray | None = None
        self._inverse: FloatArray | None = None
        self._woodbury: _WoodburyPreconditioner | None = None

    def gradient(self, w: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return P w + A'a."""
        return self.features.weights * w + self.features.adjoint(slopes)

    def target(
        self,
        w: FloatArray,
        f: FloatArray,
        slopes: FloatArray,
        curvatures: FloatArray,
        g: FloatArray,
        tolerance: float = 0.0,
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return w_T, and the slopes a_T of the model there where they are by-products.

        Parameters
        ----------
        w, f : ndarray of shape (size,), (n,)
            Point at which the model touches.
        slopes, curvatures : ndarray of shape (n,)
            a and D >= 0.
        g : ndarray of shape (size,)
            The gradient at w.
        tolerance : float, default 0
            Norm of the residual at which conjugate gradients may end.
        """
        bent = np.flatnonzero(curvatures)
        if len(bent) == 0:
            step = -g.copy()  # P is one there, and where it is zero downhill will do: the line search knows how far
            return w + step, None
        size, kept = self.features.size, self._factor is not None and tolerance > 0.0
        share = np.inf if self._sparse else _FEW_SAMPLES if kept else _MOST_SAMPLES if size >= _KEPT_ORDER else 1.0
        if len(bent) <= self.order and len(bent) < share * size:
            return self._by_samples(f, slopes, curvatures, bent)
        if size <= self.order and not self._sparse:
            return w - self._by_features(curvatures, g, tolerance if kept else 0.0), None
        precondition = self._preconditioner(curvatures)
        return w - self._by_conjugate_gradients(curvatures, g, tolerance, precondition, _STEPS)[0], None

    def _by_samples(
        self, f: FloatArray, slopes: FloatArray, curvatures: FloatArray, bent: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        features = self.features
        kept: FloatArray | None = vars(features).get("gram")
        G = features.gram_of(bent)
        rest = slopes.copy()
        rest[bent] = 0.0
        right = f[bent] - features.offset - slopes[bent] / curvatures[bent]
        has_rest = bool(rest.any())
        if has_rest:
            h = features.adjoint(rest)
            if self._free:
                h[-1] = 0.0
            right += features.subset(bent).products(h) if kept is None else kept[bent] @ rest
        scale = np.sqrt(curvatures[bent])
        G *= scale
        G *= scale[:, None]
        G.ravel()[:: len(G) + 1] += 1.0
        sides = np.column_stack([scale * right, scale]) if self._free else (scale * right)[:, None]
        solution = scale[:, None] * _solved(_factor(G), sides)
        v, b = solution[:, 0], 0.0
        if self._free:
            b = float((v.sum() - rest.sum()) / solution[:, 1].sum())
            v = v - b * solution[:, 1]
        rest[bent] = -v
        target = -features.adjoint(rest)
        if self._free:
            target[-1] = b
        return target, rest

    def _by_features(self, curvatures: FloatArray, g: FloatArray, tolerance: float) -> FloatArray:
        if tolerance > 0.0:
            d, residual = self._by_conjugate_gradients(curvatures, g, tolerance, self._by_factor, _KEPT_STEPS)
            if residual <= tolerance:
                return d
        A = self.features.matrix
        changed = np.flatnonzero(curvatures != self._curvatures)
        if self._hessian is None or 2 * len(changed) > np.count_nonzero(curvatures) or self._updates >= _UPDATES:
            bent = np.flatnonzero(curvatures)
            scaled = A[bent] * np.sqrt(curvatures[bent])[:, None]
            self._hessian = scaled.T @ scaled
            self._hessian.ravel()[:: len(g) + 1] += self.features.weights
            self._updates = 0
        elif len(changed):
            rows = A[changed]
            self._hessian += (rows * (curvatures - self._curvatures)[changed, None]).T @ rows
            self._updates += 1
        self._curvatures = curvatures
        factor = _factor(self._hessian)
        if len(g) >= _KEPT_ORDER:
            self._factor, self._inverse = factor, None
        return _solved(factor, g)

    def _by_factor(self, r: FloatArray) -> FloatArray:
        """Multiply by the inverse of the kept matrix: a third of the time of two triangular solves with the factor."""
        if self._inverse is None:
            self._inverse = lapack.dpotri(self._factor, lower=1)[0]
        return np.asarray(blas.dsymv(1.0, self._inverse, r, lower=1))

    def _by_conjugate_gradients(
        self,
        curvatures: FloatArray,
        g: FloatArray,
        tolerance: float,
        precondition: Callable[[FloatArray], FloatArray],
        most: int,
    ) -> tuple[FloatArray, float]:
        """Return an approximate solution d of (P + A'DA) d = g, and the norm of its residual."""
        features, weights = self.features, self.features.weights
        d, r = np.zeros_like(g), g.copy()
        p = precondition(r)
        length, square = float(np.linalg.norm(r)), float(r @ p)
        for _ in range(most):
            if length <= tolerance or square <= 0.0:
                break
            Hp = weights * p + features.adjoint(curvatures * features.products(p))
            step = square / float(p @ Hp)
            d += step * p
            r -= step * Hp
            z = precondition(r)
            length, square, last = float(np.linalg.norm(r)), float(r @ z), square
            p *= square / last
            p += z
        return d, length

    def _preconditioner(self, curvatures: FloatArray) -> Callable[[FloatArray], FloatArray]:
        rows = np.flatnonzero(curvatures > _HEAVY * np.median(curvatures[curvatures > 0]))
        if not 0 < len(rows) <= _SPARSE_ORDER:
            return np.copy
        if self._woodbury is None or not np.array_equal(self._woodbury.rows, rows):
            self._woodbury = _WoodburyPreconditioner(self.features, rows)
        return self._woodbury.inverse(curvatures[rows])


class _WoodburyPreconditioner:
    """The inverse of 1 + A_H' D A_H by Woodbury's identity, where H are the few samples of the largest curvatures."""

    def __init__(self, features: Features, rows: IntArray) -> None:
        self.rows, self.features = rows, features.subset(rows)
        self.G = features.gram_of(rows)
        if features.penalty == 0.0:
            self.G = self.G + 1.0

    def inverse(self, curvatures: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the inverse at D."""
        A, inverse = self.features, np.linalg.inv(self.G + np.diag(1.0 / curvatures))
        return lambda r: r - A.adjoint(inverse @ A.products(r))


def _factor(M: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a positive definite matrix; one made indefinite by rounding gets a diagonal shift.

    The factor is in LAPACK's lower triangle of the transpose, the memory order that it reads without a copy.
    """
    if not np.isfinite(M.ravel()[:: len(M) + 1]).all():
        raise InvalidInputError("the products of the features overflow; scale them to entries of about one.")
    shift = 0.0
    while True:
        shifted = M if shift == 0.0 else M + shift * np.diag(M.diagonal())
        factor = cholesky(shifted.T, clean=False)
        if factor is not None:
            return factor
        shift = max(100.0 * shift, 1e-15)


def _solved(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a factor for one right side, or for several in columns."""
    if not np.isfinite(right).all():
        raise InvalidInputError("the products of the features overflow; scale them to entries of about one.")
    return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])
