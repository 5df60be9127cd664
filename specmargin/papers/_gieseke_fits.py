"""The cells of the QN-S3VM paper's experiment: settings in the units of `S3VM`, cross-validation, fits.

`work` tunes a method on one partition by 5-fold cross-validation on the labelled part, or times it; `optimistic` is the
choice on the test set of the paper's figure 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from specmargin.experiments.engine.protocol import LabeledFolds, labeled_folds
from specmargin.experiments.engine.records import Cell
from specmargin.experiments.tasks import labels_of
from specmargin.papers._gieseke_partitions import Partition, Problem, problem
from specmargin.papers._s3vm_methods import Setting, decide, fit
from specmargin.typing import IntArray

__all__ = ["FOLDS", "RULES", "grid", "optimistic", "work"]

FOLDS = LabeledFolds(5)
RULES: dict[str, Callable[[Setting, float], tuple[float, ...]]] = {
    "least hinge loss": lambda setting, loss: (loss,),
    "first": lambda setting, loss: (),
    # lam is 1 / C but for a factor.
    "largest lam": lambda setting, loss: (setting.C,),
}
"""Which of the settings of least fold error is taken: the least key counts, then the first of the grid."""


def grid(method: str, powers: Sequence[int], primes: Sequence[float], l: int, u: int) -> list[Setting]:
    """Return the settings of a method for l labelled and u unlabelled samples, in the units of `S3VM`.

    Examples
    --------
    >>> grid("qn_s3vm", [0], [1.0], 10, 100)
    [Setting(C=0.05, C_star=0.005, balance=None, sharpness=3.0)]
    >>> grid("svm", [0, 1], [1.0], 10, 100)[1].C, grid("cccp_s3vm", [3], [0.01], 10, 100)[0].C_star
    (2.0, 0.0001)
    """
    if method == "svm":
        return [Setting(2.0**k, 0.0) for k in powers]
    if method == "cccp_s3vm":
        return [Setting(2.0**k, prime / u) for k, prime in product(powers, primes)]
    return [Setting(0.5 / (2.0**k * l), 0.5 * prime / (2.0**k * u)) for k, prime in product(powers, primes)]


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Tune a method on one partition, or time it.

    Returns
    -------
    dict
        ``error_test`` in percent of the chosen setting; ``C``, ``C_star`` and, of a tuned cell, ``error_folds`` of it,
        how many settings ``tied``, and error and C by each of the `RULES` (``"error, first"``); ``objective``,
        ``stationarity``, ``ended`` and ``fit_seconds`` of its fit.
    """
    p = cell.parameters
    shared = problem(cell.dataset, cell.split, Partition(**p["how"]), data)
    l, u = len(shared.labeled), len(shared.y) - len(shared.labeled)
    if p["kind"] == "timed":
        setting = Setting(1.0, 1.0) if cell.method == "cccp_s3vm" else grid(cell.method, (0,), (1.0,), l, u)[0]
        return _measured(shared, cell.method, setting)
    settings = grid(cell.method, p["powers"], p["primes"], l, u)
    if p["kind"] == "optimistic":
        return optimistic(shared, cell.method, settings)
    entirely = p.get("left_out") == "entirely"
    scores = [_fold_error(shared, cell.method, setting, entirely) for setting in settings]
    least = min(error for error, _ in scores)
    tied = [k for k, (error, _) in enumerate(scores) if error == least]
    rows: dict[int, dict[str, Any]] = {}
    chosen = {rule: min(tied, key=lambda k: (*key(settings[k], scores[k][1]), k)) for rule, key in RULES.items()}
    for k in chosen.values():
        if k not in rows:
            rows[k] = _measured(shared, cell.method, settings[k])
    row = {**rows[chosen["least hinge loss"]], "error_folds": 100.0 * least / l, "tied": len(tied)}
    for rule, k in chosen.items():
        row |= {f"error, {rule}": rows[k]["error_test"], f"C, {rule}": settings[k].C}
    return row


def optimistic(shared: Problem, method: str, settings: Sequence[Setting]) -> dict[str, Any]:
    """Choose the setting by the error on the unseen samples themselves, as figure 4 does: no estimate of anything.

    Parameters
    ----------
    shared : Problem
        Features and labels of one partition.
    method : str
        Of `METHODS`.
    settings : sequence of Setting
        What to try; of equal errors the first counts.

    Returns
    -------
    dict
        ``error_test`` in percent, ``C``, ``C_star`` and the rest of what `work` returns of a fit.
    """
    return min((_measured(shared, method, setting) for setting in settings), key=lambda row: row["error_test"])


def _fold_error(shared: Problem, method: str, setting: Setting, entirely: bool = False) -> tuple[int, float]:
    """Return the number of errors on labelled samples left out, and their hinge loss."""
    errors, loss = 0, 0.0
    for left_out in labeled_folds(shared.y, shared.labeled, FOLDS):
        known = np.setdiff1d(shared.labeled, left_out)
        y = shared.y[left_out]
        if len(np.unique(shared.y[known])) < 2:
            # The only labelled sample of a class was left out: nothing can be learned, and nothing of it is right.
            errors, loss = errors + len(y), loss + 2.0 * len(y)
            continue
        if entirely:
            rest = np.setdiff1d(np.arange(len(shared.y)), left_out)
            labels = labels_of(shared.y[rest], np.searchsorted(rest, known))
            found = fit(method, shared.X[rest], labels, setting)
            f = np.asarray(shared.X[left_out] @ found.v)[:, 0] + found.b[0]
        else:
            f = fit(method, shared.X, labels_of(shared.y, known), setting).f[left_out, 0]
        errors += int((decide(f[:, None]) != y).sum())
        loss += float(np.maximum(0.0, 1.0 - np.where(y == 1, f, -f)).sum())
    return errors, loss


def _measured(shared: Problem, method: str, setting: Setting) -> dict[str, Any]:
    """Fit with all labels and measure on the unseen samples; without any, on the unlabelled ones."""
    found = fit(method, shared.X, labels_of(shared.y, shared.labeled), setting)
    if len(shared.y_test):
        error = _error(decide(np.asarray(shared.X_test @ found.v) + found.b), shared.y_test)
    else:
        hidden = np.setdiff1d(np.arange(len(shared.y)), shared.labeled)
        error = _error(decide(found.f[hidden]), shared.y[hidden])
    row = {
        "error_test": error,
        "C": setting.C,
        "C_star": setting.C_star,
        "objective": found.objective,
        "stationarity": found.stationarity,
        "ended": found.ended,
        "fit_seconds": found.seconds,
    }
    return row if found.relative_gap is None else {**row, "relative_gap": found.relative_gap}


def _error(decided: IntArray, y: IntArray) -> float:
    return 100.0 * float(np.mean(decided != y))
