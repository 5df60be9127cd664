"""Descent over single label flips: what is left to gain after a local S3VM solver.

Flip the label of one unlabelled sample, retrain, let the labels converge, keep the answer if J is lower, and begin
again, least certain samples first. Local solvers often miss the global optimum by one or two labels, which this finds.
Labelings that differ in one label are what combinatorial optimisation calls the one-flip neighbourhood.
"""

from __future__ import annotations

import time

import numpy as np

from specmargin.objectives.s3vm import S3VM
from specmargin.optima.local_search import FeatureSearch, LocalSearch, has_relaxation, signs_of
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.results import History, SolveResult, Status
from specmargin.solvers.parts import require
from specmargin.solvers.s3vm.precision import ended, start_vector
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "REQUIRES_PAIR", "REQUIRES_UNLABELED", "one_flip"]

REQUIRES, REQUIRES_UNLABELED = ("convex", "smooth or box_dual"), ("convex_in_square",)
"""Trainings by `specmargin.solvers.weighted_svm`, and an unlabelled loss that guessed labels or a descent can lower."""
REQUIRES_PAIR = ("slack_power", "smooth")
"""Guessed labels are those of a loss that has its like for unlabelled samples; a descent needs no labels."""

_MARGIN = 1e-6
"""Decisions that are so near to the margin may be on it."""


def one_flip(obj: S3VM, w: FloatArray | None = None, *, tol: float = 1e-9, max_iter: int = 1000) -> SolveResult:
    """Improve a local solution by flipping single labels until no flip lowers J.

    With a symmetric hinge a flip is followed by retraining with fixed labels and by taking the signs of the decisions
    as labels, until they stay. Samples beyond the margin, |f| > 1, need no trial: without such a sample the minimum is
    the same, and no label of it makes it lower. (On the margin itself the hinge may push.) With exp(-s f^2) the
    decision of the sample is mirrored by the shortest step in w, and L-BFGS descends from there.

    Parameters
    ----------
    obj : S3VM
        Objective with any intercept. exp(-s f^2) goes with any labelled loss, the symmetric hinges with their own;
        ramps with s < 0 are refused.
    w : ndarray of shape (size,), optional
        Weights to start from; default: the supervised SVM.
    tol : float, default 1e-9
        Relative gain that counts.
    max_iter : int, default 1000
        Flips that are kept.

    Returns
    -------
    SolveResult
        STATIONARY, or MAX_ITER; J is never above its value at `w`. ``flips`` is the number of flips that were tried.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.0], [0.1], [0.9]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1]), C=10.0, intercept="regularized")
    >>> result = one_flip(obj)
    >>> result.status.name, result.variables["labels"].tolist()
    ('STATIONARY', [-1.0, 1.0, 1.0])
    """
    require("one_flip", "S3VM", obj.loss, obj.unlabeled_loss)
    start = time.perf_counter()
    history = History()
    search = LocalSearch(S3VMRelaxation(obj)) if has_relaxation(obj) else FeatureSearch(obj)
    if w is None:
        value, z = search.cold()
        weights = search.expand(z)
    else:
        weights = start_vector(w, obj.size)
        given = obj.value_at(weights)
        value, z = search.descend(search.coordinates(weights))
        if value <= given:
            weights = search.expand(z)
        else:
            value = given
    history.record(objective=value, flips=0)
    flips, kept, status = 0, 0, Status.MAX_ITER
    while kept < max_iter:
        improved, flips = flip_once(search, z, value, tol, flips)
        if improved is None:
            status = Status.STATIONARY
            break
        value, z = improved
        weights, kept = search.expand(z), kept + 1
        history.record(objective=value, flips=flips)
    end, proof = (status, f"{kept} of {flips} flips kept"), None
    if search.by_labels and getattr(obj.loss, "smooth", False):
        # With the labels as they are the objective is convex, and its gradient tells how far the descent came.
        proof = obj.guessed(obj.labels_of(weights)).prove(weights)
    return ended(
        obj, weights, end, proof, solver="one_flip", history=history, n_iter=kept, start=start, flips=np.asarray(flips)
    )


def flip_once(
    search: LocalSearch | FeatureSearch,
    w: FloatArray,
    value: float,
    tol: float,
    flips: int = 0,
    *,
    deadline: float = np.inf,
) -> tuple[tuple[float, FloatArray] | None, int]:
    """Return the first flip that lowers J, as (J, w) in the search's coordinates, or None; and how many were tried."""
    if search.obj.is_supervised:
        return None, flips
    f = search.decisions(w)
    labels = signs_of(f)
    for j in np.argsort(np.abs(f), kind="stable"):
        if time.perf_counter() > deadline:
            break
        if search.by_labels:
            if abs(f[j]) > 1.0 + _MARGIN:
                break
            guess = labels.copy()
            guess[j] = -guess[j]
            trial = search.alternate(guess, w)
        else:
            row = search.Z_unlabeled[j]
            length = float(row @ row)
            if length == 0.0:
                continue
            # A decision of nearly zero has no other side to speak of: at least as far as the loss is steep.
            to = -labels[j] * max(abs(f[j]), 0.5)
            trial = search.descend(w + (to - f[j]) / length * row)
        flips += 1
        if trial[0] < value - tol * abs(value):
            return trial, flips
    return None, flips
