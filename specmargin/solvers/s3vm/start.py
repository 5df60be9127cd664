"""Start of a search: weights that the caller gave, or zero."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray

__all__ = ["start_vector"]


def start_vector(w: npt.ArrayLike | None, size: int) -> FloatArray:
    """Return a copy of the weights to start from, checked, or zeros, (size,).

    Examples
    --------
    >>> start_vector(None, 2).tolist(), start_vector([1, 2], 2).tolist()
    ([0.0, 0.0], [1.0, 2.0])
    """
    if w is None:
        return np.zeros(size)
    w = np.array(w, dtype=float)
    if w.shape != (size,) or not np.isfinite(w).all():
        raise InvalidInputError(f"the start w must be finite and of the shape ({size},), got {w.shape}.")
    return w
