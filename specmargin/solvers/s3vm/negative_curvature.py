"""Ways down from a point where the gradient of an S3VM is zero, or its search stands still, but no minimum is.

The losses of unlabelled samples have their maximum at the decision 0, where symmetric data put them: slopes cancel
there, and descents stand still at a maximum or a saddle point. `way_down` looks along the direction of least
curvature, by second differences of the losses over a small step, which see a kink as well as a curvature.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from specmargin.objectives.s3vm import S3VM
from specmargin.typing import FloatArray

__all__ = ["ESCAPES", "way_down"]

ESCAPES = 5
"""Ways down that a search takes at most."""

_STEP = 1e-2  # of decisions, over which losses are looked at
_STEPS = (1e-3, 1e-2, 0.1, 0.5)
_DENSE = 300
_LOWER = 1e-9


def way_down(obj: S3VM, w: FloatArray) -> FloatArray | None:
    """Return a lower point near w, or None where there is none along the direction of least curvature.

    Parameters
    ----------
    obj : S3VM
    w : ndarray of shape (size,)
        Weights at which a search has ended.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> obj = S3VM(X, encode_labels([1, 0, -1, -1]), "squared_hinge", "exp", C=9.0)
    >>> w = np.array([0.9, 0.0])
    >>> float(obj.decisions_at(w)[2]), obj.value_at(way_down(obj, w)) < obj.value_at(w)
    (0.0, True)
    """
    if obj.is_supervised:
        return None
    f, features = obj.decisions_at(w), obj.features
    curvatures = np.zeros(len(f))
    labeled, free = obj.labels.labeled, obj.unlabeled
    sign = obj.labels.sign
    curvatures[labeled] = obj.costs * _second_difference(obj.loss, sign * f[labeled])
    curvatures[free] = obj.C_star * _second_difference(obj.unlabeled_loss, f[free])
    down = np.minimum(curvatures, 0.0)
    # The penalty alone outweighs the negative curvatures: most searches end so.
    if not down.any() or (features.weights.min() > 0 and -down @ features.squared_norms <= features.weights.min()):
        return None

    def product(v: FloatArray) -> FloatArray:
        v = v.ravel()
        return features.weights * v + features.adjoint(curvatures * features.products(v))

    n = obj.size
    if n <= _DENSE:
        H = np.column_stack([product(e) for e in np.eye(n)])
        value, vectors = sla.eigh((H + H.T) / 2, subset_by_index=(0, 0), check_finite=False)
    else:
        start = np.random.default_rng(0).normal(size=n)
        try:
            value, vectors = eigsh(
                LinearOperator((n, n), matvec=product, dtype=float), 1, which="SA", v0=start, tol=1e-2
            )
        except ArpackNoConvergence:
            return None
    direction = vectors[:, 0]
    size = float(np.abs(features.products(direction)).max(initial=0.0))
    if value[0] >= 0 or size == 0:
        return None
    tried = [w + turn * step / size * direction for step in _STEPS for turn in (1.0, -1.0)]
    values = [obj.value_at(one) for one in tried]
    best, before = int(np.argmin(values)), obj.value_at(w, f)
    return tried[best] if values[best] < before - _LOWER * abs(before) else None


def _second_difference(loss: object, t: FloatArray) -> FloatArray:
    value = loss.value  # type: ignore[attr-defined]  # every loss has one
    return np.asarray((value(t + _STEP) + value(t - _STEP) - 2.0 * value(t)) / _STEP**2)
