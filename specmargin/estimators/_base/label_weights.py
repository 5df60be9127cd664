"""Weights of the labelled samples' losses: ``sample_weight`` of `fit` and the parameter ``class_weight``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from specmargin.arrays import finite_numbers, numbers_array
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.typing import FloatArray, IntArray

_LIGHTEST = 1e-150
"""Weight from which on squares and their inverses neither underflow nor overflow."""


def weights_of_labeled(sample_weight: Any, labeled: IntArray, n: int) -> FloatArray:
    """Return the weights of the labelled samples, checked; those of the others may be anything."""
    numbers_array("one weight per sample", ndim=1, finite=False)("sample_weight", sample_weight)
    given = np.asarray(sample_weight, dtype=np.float64)
    if given.shape != (n,):
        raise InvalidInputError(
            f"sample_weight has {len(given)} entries for {n} samples: inconsistent numbers of samples; pass one weight "
            "per row, any for the unlabelled ones."
        )
    finite_numbers("sample_weight", given[labeled], "numbers >= 0, one per labelled sample", least=0.0)
    c = given[labeled]
    if ((c > 0) & (c < _LIGHTEST)).any() or c.max(initial=0.0) > 1.0 / _LIGHTEST:
        raise InvalidInputError(
            f"sample_weight holds {c[c > 0].min():g} to {c.max():g}, whose squares underflow or overflow; pass zeros "
            f"and numbers from {_LIGHTEST:g} to {1.0 / _LIGHTEST:g}."
        )
    return c


def weights_when_relabelled(labels: Labels, class_weight: Any) -> Callable[[Labels], FloatArray | None]:
    """Return the map from these labels, of other classes perhaps, to the weights that `fit` would give them."""
    if class_weight is None:
        return lambda _: labels.weights
    own = labels.weights_or_ones / weights_of_classes(labels, class_weight)
    return lambda other: own * weights_of_classes(other, class_weight)


def weights_of_classes(labels: Labels, class_weight: Any) -> FloatArray:
    """Return the weights of the labelled samples that are those of their classes."""
    if isinstance(class_weight, str):
        counts = np.maximum(labels.counts, 1)
        return np.asarray(labels.n_labeled / (len(counts) * counts))[labels.sign_codes]
    return np.array(of_classes("class_weight", class_weight, labels, 1.0), dtype=np.float64)[labels.sign_codes]


def of_classes(name: str, values: Mapping[Any, Any], labels: Labels, missing: Any) -> list[Any]:
    """Return what a mapping holds for each class, in their order."""
    classes = labels.classes.tolist()
    unknown = [one for one in values if one not in classes]
    if unknown:
        raise InvalidInputError(
            f"{name} names the classes {unknown}, but the labels are of {classes}; pass values of these."
        )
    return [values.get(one, missing) for one in classes]
