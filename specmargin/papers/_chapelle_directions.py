r"""Section 3.3 of the continuation paper: the direction that the widest smoothing leaves free.

At gamma_0 the smoothed objective stops being convex along v*, the leading eigenvector of

.. math:: M = \sum_{unlabelled} x x^\top / |x|^3,

which is why the paper expects continuation to set out along v*, and, "ignoring the denominator", calls v* the principal
component of the unlabelled samples in feature space. `row` puts numbers to both steps, and to what the split along v*
alone would err; `said` sums them up.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from specmargin.experiments.engine.records import Row
from specmargin.labels import Labels
from specmargin.losses import ExpSquared
from specmargin.objectives.s3vm import S3VM
from specmargin.papers._s3vm_methods import Setting, common_objective
from specmargin.solvers.s3vm.continuation import continuation, smoothing_path
from specmargin.solvers.s3vm.gradient import gradient
from specmargin.typing import FloatArray

__all__ = ["DIRECTION", "directions", "row", "said"]

DIRECTION = "v_star"
"""Name of the method whose decisions are the projections on v*."""


def directions(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return v* and the first principal component of centred samples, each of length one.

    Parameters
    ----------
    A : ndarray of shape (u, r)
        Rows, centred on their mean.

    Examples
    --------
    >>> v, p = directions(np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
    >>> np.abs(v).round(6).tolist(), np.abs(p).round(6).tolist()
    ([0.0, 1.0], [1.0, 0.0])
    """
    lengths = np.linalg.norm(A, axis=1)
    seen = lengths > 1e-6 * lengths.max(initial=0.0)
    scaled = A[seen] / lengths[seen, None] ** 1.5
    v, p = (np.linalg.svd(part, full_matrices=False)[2][0] for part in (scaled, A))
    return v, p


def row(X: Any, labels: Labels, setting: Setting) -> tuple[FloatArray, dict[str, Any]]:
    """Return decisions along v*, (n,), signed by the labelled samples, and what a row of the experiment holds.

    Parameters
    ----------
    X : ndarray of shape (n, r)
        Features.
    labels : Labels
        Binary.
    setting : Setting
        Weights and class ratio of the continuation.
    """
    start = time.perf_counter()
    balance = None if setting.balance is None else setting.balance[0]
    U = ExpSquared(setting.sharpness)
    obj = S3VM(X, labels, "hinge", U, C=setting.C, C_star=setting.C_star, balance=balance)
    A = obj.features.dense()
    v, p = directions(A[obj.unlabeled])
    f = A @ v
    if float(labels.sign @ f[labels.labeled]) < 0:
        v, f = -v, -f
    # The first objective of the path, minimised alone, and the end of all.
    first = gradient(obj.smoothed(float(smoothing_path(obj)[0])), schedule=1.0, tol=1e-4).variables["w"]
    end = continuation(obj).variables["w"]
    return f, {
        "objective": common_objective(X, labels, setting, v, -float(obj.features.mu @ v)),  # type: ignore[operator]
        "stationarity": 0.0,
        "ended": "stationary",
        "iterations": 0,
        "fit_seconds": time.perf_counter() - start,
        "cosine_principal": _cosine(v, p),
        "cosine_first": _cosine(v, first),
        "cosine_end": _cosine(v, end),
    }


def _cosine(a: FloatArray, b: FloatArray) -> float:
    """Return |cos| of the angle between two vectors, 0 where one vanishes."""
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return abs(float(a @ b)) / lengths if lengths > 0 else 0.0


def said(rows: Iterable[Row], others: Iterable[Row]) -> list[str]:
    """Say what the rows of `DIRECTION` show, next to those of other methods on the same runs."""
    mine = [one for one in rows if one["status"] == "ok" and one["method"] == DIRECTION]
    if not mine:
        return []
    principal, first, end = ([one[name] for one in mine] for name in ("cosine_principal", "cosine_first", "cosine_end"))
    runs = {(one["dataset"], one["split"]) for one in mine}
    errors = {
        name: [
            one["error_unlabeled"]
            for one in others
            if one["status"] == "ok" and one["method"] == name and (one["dataset"], one["split"]) in runs
        ]
        for name in ("svm", "cs3vm")
    }
    same = sum(value > 0.9 for value in principal)
    verdict = "reproduced" if statistics.median(principal) > 0.9 else "not reproduced"
    text = (
        f"{verdict}: section 3.3, v* is the principal component: |cos| {statistics.median(principal):.2f} (median of "
        f"{len(mine)} runs), above 0.9 in {same}. The minimum at gamma_0 has |cos| {statistics.median(first):.2f} with "
        f"v*, the end of continuation {statistics.median(end):.2f}. The split along v* errs "
        f"{statistics.fmean(one['error_unlabeled'] for one in mine):.2f} %"
    )
    told = [f"{name} {statistics.fmean(values):.2f} %" for name, values in errors.items() if values]
    return [text + (f"; {', '.join(told)}." if told else ".")]
