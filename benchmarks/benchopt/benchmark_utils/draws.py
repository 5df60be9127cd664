"""Labels that are kept, and those that are hidden."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["with_hidden_labels"]


def with_hidden_labels(X: np.ndarray, truth: np.ndarray, per_class: int, seed: int) -> dict[str, Any]:
    """Return samples, labels with all but some of each class replaced by 0, and the truth."""
    rng, y = np.random.default_rng(seed), np.zeros(len(truth), dtype=int)
    for label in (-1, 1):
        kept = rng.choice(np.flatnonzero(truth == label), per_class, replace=False)
        y[kept] = label
    return {"X": X, "y": y, "truth": truth}
