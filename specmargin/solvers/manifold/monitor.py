"""Decisions that an iterative solver looks at while it runs: for its stopping rule, and for its history."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["Monitor"]


class Monitor:
    """The samples monitored besides the labelled ones: unlabelled samples, a validation set, known truth."""

    def __init__(
        self, labels: Labels, n_classes: int, validation: npt.ArrayLike | None, truth: FloatArray | None, stopping: str
    ) -> None:
        n, nobody = labels.n_samples, np.array([], dtype=np.intp)
        self.validation = nobody if validation is None else _validation_samples(labels, validation)
        if stopping in ("validation", "mixed") and not len(self.validation):
            raise InvalidInputError(f"stopping={stopping!r} needs validation samples; name them, or stop by 'safe'.")
        if len(self.validation) and truth is None:
            raise InvalidInputError(
                "validation names samples, but not their labels; pass truth, the signs of all samples."
            )
        self.truth = np.zeros((n, n_classes)) if truth is None else np.nan_to_num(truth)
        if len(self.truth) != n:
            raise InvalidInputError(
                f"truth has {len(self.truth)} entries for {n} samples; pass one each, 0 where unknown."
            )
        if not np.isin(self.truth, (-1.0, 0.0, 1.0)).all():
            raise InvalidInputError(
                "truth holds values besides -1, 0 and 1: pass signs, with 0 for samples without a label."
            )
        unknown = self.validation[(self.truth[self.validation] == 0).any(axis=1)]
        if len(unknown):
            raise InvalidInputError(
                f"validation holds {len(unknown)} samples that truth has no label for: {_few(unknown)}."
            )
        others = np.setdiff1d(labels.unlabeled, self.validation)
        self.known = others[(self.truth[others] != 0).all(axis=1)]
        self.watched = next(group for group in (others, labels.unlabeled, np.arange(n)) if len(group))

    def errors(self, positive: BoolArray, column: int) -> dict[str, float]:
        """Return the shares of wrong decisions of one class, for the groups that have labels."""
        groups = {"unlabeled_error": self.known, "validation_error": self.validation}
        if not any(map(len, groups.values())):
            return {}
        wrong = positive != (self.truth[:, column] > 0)
        return {name: float(np.mean(wrong[group])) for name, group in groups.items() if len(group)}


def _few(samples: IntArray) -> str:
    return ", ".join(map(str, samples[:10].tolist())) + (", ..." if len(samples) > 10 else "")


def _validation_samples(labels: Labels, validation: npt.ArrayLike) -> IntArray:
    samples = np.asarray(validation)
    if samples.ndim != 1 or not samples.size or samples.dtype.kind not in "iu":
        raise InvalidInputError(
            f"validation must be a list of sample numbers, got the shape {samples.shape} of {samples.dtype}; "
            "np.flatnonzero(mask) makes one of a mask."
        )
    outside = samples[(samples < 0) | (samples >= labels.n_samples)]
    if len(outside):
        raise InvalidInputError(f"validation names {_few(outside)}, but samples are 0 to {labels.n_samples - 1}.")
    overlap = np.intersect1d(samples, labels.labeled)
    if len(overlap):
        raise InvalidInputError(
            f"{len(overlap)} validation samples are labelled training samples, too: {_few(overlap)}. Their error says "
            "nothing about other samples; hide their labels from the training, or take others."
        )
    return np.unique(samples).astype(np.intp)
