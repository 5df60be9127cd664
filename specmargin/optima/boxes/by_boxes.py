"""The search by boxes as a solver: from an S3VM to a `SolveResult`, for `specmargin.optima.branch_and_bound`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.bound import s3vm_bound
from specmargin.optima.boxes.margin_space import MarginSpace, has_margin_space
from specmargin.optima.boxes.search import BoxSearch
from specmargin.optima.boxes.tree import SavedTree
from specmargin.optima.nodes import judged
from specmargin.results import SolveResult, Status
from specmargin.typing import FloatArray

__all__ = ["SAMPLES", "by_boxes", "is_for_boxes", "refuse_boxes"]

SAMPLES = 1200
"""Samples up to which the relaxation with products is the one to take: at a thousand it takes half a minute."""
_ROUNDING = 1e-2
"""Share of the tolerance that the rounding of Q may take."""


def is_for_boxes(obj: S3VM, tol: float) -> bool:
    """Whether boxes are the way to minimise an objective: a quadratic in x, of few samples, that float64 resolves."""
    if not has_margin_space(obj) or obj.features.n_samples > SAMPLES:
        return False
    space = MarginSpace.of(obj)
    return space.allowance <= _ROUNDING * tol * space.highest


def refuse_boxes(obj: S3VM, tol: float) -> None:
    """Raise for an objective that boxes alone minimise, and that is not for them; say what is too large."""
    n = obj.features.n_samples
    what = f"balance_on={obj.balance_on!r} is minimised by the search by boxes alone"
    if n > SAMPLES:
        raise InvalidInputError(f"{what}, of at most {SAMPLES} samples, and here are {n}; take fewer, or 'decision'.")
    space, weights = MarginSpace.of(obj), f"C={float(obj.C):g} and C_star={float(obj.C_star):g}"
    raise InvalidInputError(
        f"{what}, and {weights} are too large for features of this scale: float64 resolves its bounds to "
        f"{space.allowance / space.highest:.0e} of the value only, and tol={tol:g} asks for {_ROUNDING * tol:.0e}. "
        "Divide the features by their deviation (weights count times the square of their scale), or take smaller "
        "weights or a larger tol."
    )


def by_boxes(
    obj: S3VM,
    w: FloatArray | None,
    *,
    tol: float,
    time_limit: float,
    max_nodes: int,
    progress: Callable[[int, float, float], None] | None,
    log: bool = False,
    n_jobs: int = 1,
    tree: str | os.PathLike[str] | None = None,
) -> SolveResult:
    """Minimise an objective that `is_for_boxes`; arguments and answer are those of `branch_and_bound`."""
    start = time.perf_counter()
    space = MarginSpace.of(obj)
    search = BoxSearch(space, tol, start + time_limit, log=log, n_jobs=n_jobs)
    if search.bounding.is_large and obj.total is None:
        search.bounding.multipliers = partial(_multipliers, obj, start + time_limit)
    given = [] if w is None else [search.search.signs(obj.decisions_at(w))]
    saved = None if tree is None else SavedTree(tree, search)
    search.run(given, max_nodes, progress, None if saved is None else saved.keep)
    best = search.search.best
    if best is None:  # no labels were solved to any accuracy
        return _numerical(obj, start)
    p = space.quadratic.completed(best.p)
    weights = space.A.T @ p
    own: dict[str, Any] = {"labels": best.labels[obj.unlabeled]}
    if obj.total is not None:
        own["x"] = best.x
    elif w is not None and obj.value_at(w) < obj.value_at(weights):
        weights, own = w, {}
    elif (obj.labels_of(weights) != own["labels"]).any():
        own = {}  # samples that cost nothing either way
    fixed = 0 if search.root_box is None else int(np.count_nonzero(search.root_box.labels[space.free]))
    result = obj.result(
        weights,
        solver="branch_and_bound",
        history=search.history,
        n_iter=search.nodes,
        seconds=time.perf_counter() - start,
        n_nodes=np.asarray(search.nodes),
        n_cuts=np.asarray(search.bounding.n_cuts),
        n_programs=np.asarray(search.bounding.n_programs),
        n_fixed=np.asarray(fixed),
        root_bound=np.asarray(search.root),
        **own,
    )
    certificate = replace(result.certificate, dual_objective=max(search.lower, search.search.known.lower, 0.0))
    status, reason = judged(certificate, tol, search.stopped)
    message = f"{reason}: relative gap {certificate.relative_gap:.1e}, {search.nodes} nodes"
    proofs = None if search.log is None else search.log.finished()
    return replace(result, status=status, certificate=certificate, message=message, log=proofs)


def _multipliers(obj: S3VM, deadline: float = np.inf) -> FloatArray:
    """Return multipliers of x_j^2 >= 1 and y_i x_i >= 1 from those of the decisions' parabolas and losses.

    What is left of C (x - f)^2 - lam (x^2 - 1) where x is best is the parabola lam - theta f^2 / 2 of that theta.
    """
    bound = s3vm_bound(obj, time_limit=deadline - time.perf_counter())
    theta, C = bound.variables["theta"], obj.C_star
    return np.concatenate([theta * C / (2.0 * C + theta), obj.costs * bound.variables["beta"]])


def _numerical(obj: S3VM, start: float) -> SolveResult:
    w, more = np.zeros(obj.size), dict[str, Any]()
    if obj.total is not None:
        more["x"] = np.zeros(obj.features.n_samples)
    result = obj.result(w, solver="branch_and_bound", seconds=time.perf_counter() - start, **more)
    return replace(result, status=Status.NUMERICAL, message="no labels were solved to any accuracy")
