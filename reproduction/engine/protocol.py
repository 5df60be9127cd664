"""Protocols of tuning: who chooses the parameters.

`evaluate` computes every criterion of a cell at once, and `select` makes the choice afterwards, from the table of
results: one sweep serves every protocol. The protocols are `ValidationSet`, `LabeledFolds` (honest: the labels of the
training part alone), `UnlabeledPoints` (the error that is reported also chooses: *optimistic*, and named so in every
table) and `FixedSetting` (no choice).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from specmargin.checks import count
from specmargin.exceptions import InvalidInputError
from specmargin.typing import IntArray


@dataclass(frozen=True)
class Tuning:
    """How one setting of the parameters is chosen among those of a sweep.

    Parameters
    ----------
    per : {"split", "dataset"}
        Choose anew on every split, or one setting by the mean over the splits. The papers differ.
    """

    per: Literal["split", "dataset"] = field(default="split", kw_only=True)
    optimistic: ClassVar[bool] = False
    """Whether the reported error takes part in the choice."""

    def __post_init__(self) -> None:
        if self.per not in ("split", "dataset"):
            raise InvalidInputError(f"per={self.per!r}; choose 'split' or 'dataset'.")

    @property
    def criterion(self) -> str:
        """Column of the rows that is minimised; empty where there is no choice."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """What is minimised, as text."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What a table shows; holds the word "optimistic" where it applies."""
        parts = [self.label] + ["mean over splits"] * (self.per == "dataset") + ["optimistic"] * self.optimistic
        return ", ".join(parts)


@dataclass(frozen=True)
class ValidationSet(Tuning):
    """Least error on the validation samples."""

    criterion = "error_validation"
    label = "validation set"


@dataclass(frozen=True)
class LabeledFolds(Tuning):
    """Cross-validation on the labelled samples; those left out of a fold stay as unlabelled samples of the fit.

    Parameters
    ----------
    n_splits : int, default 5
        Folds.
    seed : int, default 0
        Seed of the assignment to the folds.

    Examples
    --------
    >>> LabeledFolds(5).criterion, LabeledFolds(5, per="dataset").name
    ('error_5fold_seed0', '5 labelled folds, mean over splits')
    """

    n_splits: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        count(2)("n_splits", self.n_splits)
        count(0)("seed", self.seed)

    @property
    def criterion(self) -> str:  # noqa: D102 - as in `Tuning`
        return f"error_{self.n_splits}fold_seed{self.seed}"

    @property
    def label(self) -> str:  # noqa: D102 - as in `Tuning`
        return f"{self.n_splits} labelled folds"


@dataclass(frozen=True)
class UnlabeledPoints(Tuning):
    """Least error on the unlabelled samples, by their hidden labels: what some papers did, and *optimistic*."""

    criterion = "error_unlabeled"
    label = "unlabelled error"
    optimistic = True


@dataclass(frozen=True)
class FixedSetting(Tuning):
    """No choice: the rows must hold one setting per method."""

    criterion = ""
    label = "fixed"


def labeled_folds(y: npt.ArrayLike, labeled: npt.ArrayLike, folds: LabeledFolds) -> list[IntArray]:
    """Return the samples left out of each fold: a partition of `labeled`, stratified as far as the labels allow.

    `y` holds the labels of all samples, (n,), of which only those at the indices `labeled`, (l,), are read.
    `ValueError` if there are fewer labelled samples than folds.

    Examples
    --------
    >>> [len(fold) for fold in labeled_folds([0, 0, 1, 1, 9], [0, 1, 2, 3], LabeledFolds(2))]
    [2, 2]
    """
    labeled = np.sort(labeled)
    if len(labeled) < folds.n_splits:
        raise InvalidInputError(
            f"{len(labeled)} labelled samples are too few for n_splits={folds.n_splits} folds; take fewer folds."
        )
    shuffled = labeled[np.random.default_rng(folds.seed).permutation(len(labeled))]
    # In the order of the classes of a data set: recorded cells were.
    dealt = shuffled[np.argsort(np.asarray(y)[shuffled], kind="stable")]
    return [np.sort(dealt[k :: folds.n_splits]) for k in range(folds.n_splits)]


def select(rows: Iterable[Mapping[str, Any]], tuning: Tuning) -> list[dict[str, Any]]:
    """Choose a setting per method, data set and split, and return its row.

    Parameters
    ----------
    rows : iterable of rows
        Rows of `run_sweep`, in the declared order of the cells: among equal criteria the first setting wins. Failed
        cells take no part; with ``per="dataset"`` only settings that succeeded wherever any did are compared.
    tuning : Tuning
        The protocol.

    Returns
    -------
    list of dict
        One row per (experiment, method, dataset, split), in the order of the first appearance. A split on which
        every setting failed is missing.

    Raises
    ------
    ValueError
        If the rows do not hold the criterion, or if `FixedSetting` finds more than one setting.

    Examples
    --------
    >>> cell = {"experiment": "e", "method": "m", "dataset": "d", "split": "s", "status": "ok"}
    >>> rows = [cell | {"parameters": p, "error_unlabeled": e} for p, e in [("a", 3.0), ("b", 2.0), ("c", 2.0)]]
    >>> [row["parameters"] for row in select(rows, UnlabeledPoints())]
    ['b']
    """
    groups: dict[tuple[Any, ...], dict[str, dict[str, Mapping[str, Any]]]] = {}
    for row in rows:
        group = groups.setdefault((row["experiment"], row["method"], row["dataset"]), {})
        group.setdefault(row["split"], {})[row["parameters"]] = row
    chosen: list[Mapping[str, Any]] = []
    for name, group in groups.items():
        declared = dict.fromkeys(p for settings in group.values() for p in settings)
        good = [{p: row for p, row in settings.items() if row["status"] == "ok"} for settings in group.values()]
        good = [settings for settings in good if settings]
        if isinstance(tuning, FixedSetting):
            if len(declared) > 1:
                raise InvalidInputError(
                    f"FixedSetting found {len(declared)} settings of {name}: {sorted(declared)[:3]} ...; "
                    "pass the rows of one setting, or choose a protocol that tunes."
                )
            chosen += (row for settings in good for row in settings.values())
            continue
        if any(tuning.criterion not in row for settings in good for row in settings.values()):
            raise InvalidInputError(
                f"rows of {name} have no criterion {tuning.criterion!r}; evaluate the cells with "
                f"tunings=[{tuning!r}] (in a new folder or with fresh=True), or choose another protocol."
            )
        if tuning.per == "split":
            chosen += (min(settings.values(), key=lambda row: row[tuning.criterion]) for settings in good)
        elif complete := [p for p in declared if good and all(p in settings for settings in good)]:
            # fsum is exact: equal sets of errors tie whatever the order of the splits.
            best = min(complete, key=lambda p: math.fsum(settings[p][tuning.criterion] for settings in good))
            chosen += (settings[best] for settings in good)
    return [dict(row) for row in chosen]
