"""Decisions about left-out labels, alike for all methods: `evaluate` returns an `Outcome`.

`AutoSSL` and its baseline decide about each label by exact leave-one-out, weights and threshold recomputed without it.
All others share ten stratified folds of the labels, and are tuned again within each of them. Decisions that are no
probabilities get a scale (`specmargin.objectives.held_out.calibration`) from the other folds. The features were
prepared without labels, so that they need no folds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from specmargin.exceptions import SpecmarginError
from specmargin.objectives.held_out.calibration import calibrated_scale, class_probabilities
from specmargin.tables.assessment.measurement import Budget, BudgetExceededError, Meter, labeled_rows
from specmargin.tables.assessment.methods import FittedMethod, Folds, Method, inner_folds
from specmargin.typing import AnyArray, FloatArray, IntArray, Matrix

__all__ = ["Outcome", "evaluate", "forecast"]

_FOLDS = 10
_TRIED = 300
"""Labelled rows, and unlabelled ones, of the fit that a forecast is made from."""
_LEAST = 1e-6
"""Probability of a class, for its logarithm."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one method did.

    Parameters
    ----------
    name, title, judged : str
    is_supervised : bool
    held_out : ndarray of shape (l, K)
        Probabilities of the labelled rows, each from the other labels; empty if it was not run.
    probabilities : ndarray of shape (n, K)
        Probabilities of all rows.
    chosen : str
    seconds, peak_bytes : float
    scale : float
        Scale of the decisions, to make probabilities of them.
    notes : list of str
        What it warned of; for a method that was not run, why.
    fitted : object, optional
        The estimator; None when the outcome was read from a file.
    """

    name: str
    title: str
    judged: str = ""
    is_supervised: bool = False
    held_out: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    probabilities: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    chosen: str = ""
    seconds: float = float("nan")
    peak_bytes: float = float("nan")
    scale: float = 1.0
    notes: list[str] = field(default_factory=list)
    fitted: Any = None

    @property
    def was_run(self) -> bool:
        """Whether there are decisions."""
        return len(self.held_out) > 0


def evaluate(
    method: Method, X: Matrix, codes: IntArray, *, seed: int, budget: Budget, progress: Callable[[str], None]
) -> Outcome:
    """Fit a method to all labels, and let it decide about each label without it.

    Parameters
    ----------
    method : Method
    X : {ndarray, sparse matrix} of shape (n, d)
    codes : ndarray of shape (n,)
        Classes 0, 1, ..., -1 for unlabelled rows; or numbers, nan for unlabelled rows.
    seed : int
        Deals out the folds.
    budget : Budget
    progress : callable
        Gets a line of text when something is done.

    Raises
    ------
    BudgetExceededError
        If the time is over, or would be before the last fold.
    """
    known, n_classes, folds = labeled_rows(codes), _n_classes(codes), inner_folds(codes, seed, _FOLDS)

    def report(what: str) -> None:
        progress(f"{method.title}: {what}")
        if budget.left <= 0:
            raise BudgetExceededError(f"stopped after {what}: the budget of {budget.seconds:g} s is spent")

    with Meter() as meter, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted, held = method.judged_fit(X, codes, seed, folds, report)
        scores = fitted.scores(X, n_classes, trained=True)
        scale = 1.0
        if held is None:
            held_scores, tested = _decided(method, X, codes, folds, seed, budget, progress)
            held, scale = _calibrated(held_scores, tested, codes[known], fitted) if n_classes else (held_scores, 1.0)
    return Outcome(
        method.name,
        method.title,
        method.judged,
        method.is_supervised,
        held_out=np.asarray(held),
        probabilities=fitted.probabilities(scores, scale) if n_classes else scores,
        chosen=fitted.chosen,
        seconds=meter.seconds + fitted.seconds_before,
        peak_bytes=float("nan") if fitted.seconds_before else meter.peak_bytes,
        scale=scale,
        notes=_notes(caught),
        fitted=fitted,
    )


def _n_classes(codes: AnyArray) -> int:
    """Return the number of classes, 0 for labels that are numbers."""
    return 0 if codes.dtype.kind == "f" else int(codes.max()) + 1


def forecast(method: Method, X: Matrix, codes: AnyArray, seed: int) -> float:
    """Return about how many seconds `evaluate` will take, from one fit to fewer rows; 0 if that fails."""
    rng, known = np.random.default_rng(seed), labeled_rows(codes)
    first = np.unique(codes[known], return_index=True)[1] if _n_classes(codes) else np.arange(2)
    given = np.union1d(known[first], rng.permutation(known)[:_TRIED])
    others = rng.permutation(np.setdiff1d(np.arange(X.shape[0]), known))[:_TRIED]
    rows = np.sort(np.r_[given, others])
    ratio = len(known) / len(given) if method.is_supervised else X.shape[0] / len(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        try:
            method.trial.fit(X[rows], codes[rows], seed)
        except (SpecmarginError, MemoryError, ValueError, ArithmeticError):
            return 0.0
        each = (time.perf_counter() - start) * max(ratio, 1.0) ** method.growth
    return each * (1 + min(_FOLDS, len(known)) if method.refits else 1)


def _decided(
    method: Method,
    X: Matrix,
    codes: IntArray,
    folds: Folds,
    seed: int,
    budget: Budget,
    progress: Callable[[str], None],
) -> tuple[FloatArray, IntArray]:
    """Return scores (l, K) of the labelled rows, and the fold that tests each."""
    known, n_classes = labeled_rows(codes), _n_classes(codes)
    place = {int(i): k for k, i in enumerate(known)}
    scores, tested = np.zeros((len(known), max(n_classes, 1))), np.zeros(len(known), dtype=np.intp)
    start = budget.spent
    for k, (_, test) in enumerate(folds):
        part = codes.copy()
        part[test] = -1 if n_classes else np.nan
        rows = [place[int(i)] for i in test]
        left = np.unique(part[labeled_rows(part)])
        if len(left) == 1 and n_classes:
            # One class is left: nothing can be fitted, and that class is named.
            scores[rows, left[0]] = 1.0
        else:
            scores[rows] = method.fit(X, part, seed).scores(X[test], n_classes)
        tested[rows] = k
        each = (budget.spent - start) / (k + 1)
        if k + 1 < len(folds) and each * (len(folds) - k - 1) > budget.left:
            raise BudgetExceededError(
                f"stopped after {k + 1} of {len(folds)} folds: the others need about "
                f"{each * (len(folds) - k - 1):.0f} s, and {max(budget.left, 0):.0f} s of {budget.seconds:g} s are left"
            )
        progress(f"{method.title}: fold {k + 1} of {len(folds)}")
    return scores, tested


def _calibrated(
    scores: FloatArray, tested: IntArray, codes: IntArray, fitted: FittedMethod
) -> tuple[FloatArray, float]:
    """Return probabilities (l, K) of left-out labels, each scaled by the other folds, and the scale from all."""
    if fitted.is_calibrated:
        return fitted.probabilities(scores, 1.0), 1.0
    sign = np.where(np.arange(scores.shape[1]) == codes[:, None], 1.0, -1.0)
    held = np.empty_like(scores)
    for k in np.unique(tested):
        others, own = tested != k, tested == k
        held[own] = class_probabilities(calibrated_scale(scores[others], sign[others]) * scores[own])
    return held, calibrated_scale(scores, sign)


def _notes(caught: list[warnings.WarningMessage]) -> list[str]:
    """Return the texts of the package's own and scikit-learn's warnings, each once."""
    texts = [" ".join(str(one.message).split()) for one in caught if issubclass(one.category, UserWarning)]
    return list(dict.fromkeys(texts))


def log_loss(held: FloatArray, codes: IntArray) -> float:
    """Return the mean of -log of the probability of the right class, in nats."""
    return float(-np.log(np.maximum(held[np.arange(len(codes)), codes], _LEAST)).mean())
