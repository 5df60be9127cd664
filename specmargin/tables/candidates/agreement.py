r"""Agreement of the families on all samples: what unlabelled samples say of which family to believe.

A family that errs at random places disagrees with every other. Where clusters speak of the classes, the families that
use the unlabelled samples err at the same few places, and the supervised ones differ from them all; where clusters say
nothing, each of the former is led astray in its own way, and the supervised ones lie between them. The ratio

.. math:: R = \frac{\text{mean disagreement of the supervised mixture with each semi-supervised family} + 0.01}
                   {\text{mean disagreement of two semi-supervised families} + 0.01}

is small in the second case. Twenty labels hardly tell the two apart, a thousand unlabelled samples do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from specmargin.typing import IntArray

__all__ = ["disagreement_ratio"]

_LEAST = 0.01
"""Share of the samples that is added to all disagreements: smaller ones are those of a few samples."""
_BOUNDS = (0.5, 2.0)
"""Of the ratio: beyond, a few samples of a small set would decide."""


def disagreement_ratio(supervised: IntArray, families: Sequence[IntArray]) -> float:
    """Return how much more the supervised predictions differ from those of the families than these from one another.

    Parameters
    ----------
    supervised : ndarray of shape (n,)
        Predicted classes.
    families : sequence of ndarray of shape (n,)
        Those of the semi-supervised families; with fewer than two the ratio is 1.

    Examples
    --------
    >>> a, b, c = np.array([0, 0, 0, 0]), np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    >>> disagreement_ratio(a, [b, c]), disagreement_ratio(b, [a, a]), disagreement_ratio(a, [b])
    (0.504950495049505, 2.0, 1.0)
    """
    if len(families) < 2:
        return 1.0
    apart = np.mean([np.mean(supervised != one) for one in families])
    among = np.mean([np.mean(one != other) for one, other in combinations(families, 2)])
    return float(np.clip((apart + _LEAST) / (among + _LEAST), *_BOUNDS))
