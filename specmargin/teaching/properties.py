"""Properties that decide where no stored value can: feasible, and a gap below a tolerance, so that any optimum passes.

A property takes the answer to an exercise, of the kind and shape that ``exercises.json`` names, and returns what it
violates; an empty text says that it is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from specmargin.datasets import make_two_moons
from specmargin.graphs import knn_graph, laplacian
from specmargin.kernels import gram
from specmargin.labels import encode_labels, hide_labels
from specmargin.objectives import LapSVM
from specmargin.typing import FloatArray

__all__ = ["PROPERTIES"]

_TOL = 1e-5
"""Allowed violation and relative gap: ten times what Clarabel leaves."""


def _dual_of_four_labels(beta: FloatArray) -> str:
    """Check the multipliers of lesson 02: the box, the balance, and a primal value that meets the dual one."""
    X, truth = make_two_moons(n_samples=200, noise=0.1, random_state=5)
    labels = encode_labels(hide_labels(truth, per_class=2, random_state=9))
    obj = LapSVM(gram(X, gamma=4.0), laplacian(knn_graph(X, n_neighbors=6)), labels, gamma_A=0.01, gamma_I=1.0)
    if beta.min() < -_TOL:
        return "A multiplier is negative: the constraint beta >= 0 is missing."
    if beta.max() > 1 + _TOL:
        return "A multiplier exceeds 1: the box is missing, so that a slack may be negative."
    if abs(labels.sign @ beta) > _TOL:
        return "y'beta is not 0: the balance is missing, which the free intercept asks for."
    g = obj.reduction.G @ (labels.sign * beta) / 2
    offsets = labels.sign - g  # the hinges are piecewise linear in the intercept, with a kink for each label
    hinges = min(np.maximum(0.0, 1.0 - labels.sign * (g + b)).sum() for b in offsets)
    norm = labels.sign * beta @ g / 2
    gap = (hinges + norm) - (beta.sum() - norm)
    return (
        "" if gap < _TOL else "Feasible, but not optimal: primal and dual value differ. Look at Q and its factor 1/2."
    )


PROPERTIES: dict[str, Callable[[Any], str]] = {"02.W": _dual_of_four_labels}
