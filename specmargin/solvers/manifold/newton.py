r"""Newton's method in the full space (eq. 11 of the primal paper): LapSVM with losses of parabolas, and LapRLS.

With the squared hinge the objective is quadratic on the active set E = {y f < 1}, and its minimum solves

    [ 1'I_E 1    1'I_E K                 ] [ b     ]   [ 1'I_E y ]
    [ I_E 1      I_E K + gamma_A I + gamma_I L K ] [ alpha ] = [ I_E y   ].

The second row is the gradient by alpha with K divided out: nonsingular for gamma_A > 0 whatever K is, for products
of two positive semidefinite matrices have no negative eigenvalues. The first row as published in eq. 11, (0, 1') with
the right side 0, follows from the second only when 1'L = 0, which the normalised Laplacian is not.

Any loss that is convex and piecewise quadratic with a continuous slope has such a system: on its piece a u^2 + b u + c
of the slack u = 1 - y f a sample has the weight a instead of the ones of I_E, and y (a + b / 2) on the right. The
samples on straight pieces are on the right side alone.

The paper always takes the whole step. So does `newton` where the target has the active set that it was computed for;
elsewhere E may cycle, and the exact line search (`specmargin.solvers.line_search`) goes as far as the objective falls.

Each step factorises n + 1 rows. `specmargin.solvers.factorized` needs one factorisation of n rows in all, and is what
to call for answers; this is the paper's method, and an independent way to the same optimum.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg as sla

from specmargin.kernels.operators import kernel_rows
from specmargin.losses import Pieces
from specmargin.objectives import LapSVM
from specmargin.results import History, SolveResult, Status
from specmargin.solvers.line_search import exact_step
from specmargin.solvers.manifold.answer import full_space_result
from specmargin.solvers.parts import require
from specmargin.typing import FloatArray, IntArray

__all__ = ["REQUIRES", "newton"]

REQUIRES = ("convex", "smooth", "piecewise_quadratic")
"""A minimum that a linear system gives once every sample's piece of the loss is known, and a slope on the way there."""

_Point = tuple[FloatArray, float, FloatArray]
"""alpha, b and K alpha."""


def newton(obj: LapSVM, *, tol: float = 1e-9, max_iter: int = 100) -> SolveResult:
    """Train in the primal by Newton's method.

    Parameters
    ----------
    obj : LapSVM
        Objective with a loss that is convex and piecewise quadratic, of continuous slope: "squared_hinge",
        "huber_hinge", or "squared" (one step). K may be singular, samples may repeat.
    tol : float, default 1e-9
        Relative gap that the certificate has to prove for the status OPTIMAL.
    max_iter : int, default 100
        Steps; five are usual.

    Returns
    -------
    SolveResult
        Variables ``alpha`` (n,), ``b``, ``f`` (n,), ``beta`` (l,). The history holds, per step, the ``objective``
        after it, the number of ``active`` samples that it was computed for, those on curved pieces of the loss, and
        its length ``step``.

    Raises
    ------
    ValueError
        If the loss does not meet `REQUIRES`, or `tol` or `max_iter` is not positive.

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, section 3.1.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> X = np.arange(6.0)[:, None]
    >>> L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=2))
    >>> labels = sm.encode_labels([0, -1, -1, -1, -1, 1])
    >>> K = sm.kernels.gram(X, gamma=0.5)
    >>> obj = sm.objectives.LapSVM(K, L, labels, loss="squared_hinge", gamma_A=0.01, gamma_I=1.0)
    >>> result = newton(obj)
    >>> result.status.name, result.history["step"]
    ('OPTIMAL', [1.0])
    """
    start = time.perf_counter()
    require("newton", "LapSVM", obj.loss)
    y, labeled = obj.labels.sign, obj.labels.labeled
    pieces = obj.margin_loss.pieces
    assert pieces is not None
    S = _system(obj)
    history = History()
    alpha, b, Kalpha, step = np.zeros(len(S)), 0.0, np.zeros(len(S)), 1.0
    at = np.full(len(y), pieces.most_curved)
    objective = obj.value_at(alpha, b)
    converged = False
    while not converged and len(history) < max_iter:
        target, target_b = _minimum_on(obj, pieces, S, at, b)
        Ktarget = obj.K @ target
        after = pieces.index(1.0 - y * (Ktarget[labeled] + target_b))
        converged = bool((after == at).all()) and _has_minimum(obj, pieces, at)
        step = 1.0 if converged else _safeguarded(obj, pieces, (alpha, b, Kalpha), (target, target_b, Ktarget))
        last = objective
        if step == 1.0:
            alpha, b, Kalpha = target, target_b, Ktarget
        else:
            alpha, b = alpha + step * (target - alpha), b + step * (target_b - b)
            Kalpha = Kalpha + step * (Ktarget - Kalpha)
        used = float(np.count_nonzero(pieces.square[at]))
        t = y * (Kalpha[labeled] + b)
        at = pieces.index(1.0 - t)
        objective = obj.scale * float(obj.margin_loss.value(t).sum() + Kalpha @ obj.apply_S(alpha, Kalpha))
        history.record(objective=objective, active=used, step=step)
        # A sample on a kink may change sides by rounding for ever; the objective then falls no more.
        converged = converged or not objective < last * (1.0 - 1e-15)
    return full_space_result(
        obj,
        alpha,
        b,
        solver="newton",
        history=history,
        n_iter=len(history),
        seconds=time.perf_counter() - start,
        tol=tol,
        stopped=None if converged else Status.MAX_ITER,
        Kalpha=Kalpha if step == 1.0 else None,
        message="the active set has converged" if converged else "the active set still changes",
    )


def _system(obj: LapSVM) -> FloatArray:
    """Return S = gamma_A I + gamma_I L K."""
    n = obj.labels.n_samples
    if obj.L is None or obj.gamma_I == 0:
        return obj.gamma_A * np.eye(n)
    S = obj.gamma_I * (obj.L @ kernel_rows(obj.K, np.arange(n)))
    S[np.diag_indices_from(S)] += obj.gamma_A
    return S


def _has_minimum(obj: LapSVM, pieces: Pieces, at: IntArray) -> bool:
    """Whether the quadratic on these pieces of the loss has a minimum: lines alone may pull b without end."""
    pulls = obj.labels.sign * obj.labels.weights_or_ones * pieces.linear[at]
    balanced = abs(float(pulls.sum())) <= 1e-14 * float(np.abs(pulls).sum())
    return not obj.fit_intercept or balanced or bool(pieces.square[at].any())


def _minimum_on(obj: LapSVM, pieces: Pieces, S: FloatArray, at: IntArray, b: float) -> tuple[FloatArray, float]:
    """Return the minimum of the quadratic that the objective is on these pieces of the loss.

    Where nothing holds b it stays, or goes on in the direction in which the lines pull it.
    """
    charged = (pieces.square[at] != 0.0) | (pieces.linear[at] != 0.0)
    if not charged.any():
        return np.zeros(len(S)), b
    weights = obj.labels.weights_or_ones
    rows, curved = obj.labels.labeled[charged], (weights * pieces.square[at])[charged]
    # Half the slope of the loss by f is curved * f - pull.
    loss_part = obj.labels.sign[charged] * (curved + (weights * pieces.linear[at])[charged])
    total = float(curved.sum())
    n, k = len(S), int(obj.fit_intercept and total > 0)
    M = np.empty((n + k, n + k), order="F")
    M[k:, k:] = S
    weighted = curved[:, None] * obj.labeled_rows[charged]
    M[k + rows, k:] += weighted
    right = np.zeros(n + k)
    right[k + rows] = loss_part
    if k:
        M[:, 0] = 0.0
        M[0, 0], M[1 + rows, 0] = 1.0, curved
        # The mean of the rows that it stands for, not their sum: one scale for all rows.
        M[0, 1:] = weighted.sum(axis=0) / total
        right[0] = loss_part.sum() / total
    factor = sla.lu_factor(M, check_finite=False)
    z = sla.lu_solve(factor, right, check_finite=False)
    # Refinement, with the residual by products with K and L: M itself carries the roundings of L K.
    residual = _residual(obj, rows, curved, loss_part, z[k:], z[0] if k else 0.0)
    z += sla.lu_solve(factor, residual if k else residual[-n:], check_finite=False)
    if obj.fit_intercept and not k:
        return z, b + float(loss_part.mean())
    return z[k:], float(z[0]) if k else 0.0


def _residual(
    obj: LapSVM, rows: IntArray, curved: FloatArray, loss_part: FloatArray, alpha: FloatArray, b: float
) -> FloatArray:
    """Return right side minus left side of the system, that of b first."""
    Kalpha = obj.K @ alpha
    missing = loss_part - curved * Kalpha[rows] - curved * b
    residual = -obj.apply_S(alpha, Kalpha)
    residual[rows] += missing
    return np.append(missing.sum() / max(float(curved.sum()), 1e-300), residual)


def _safeguarded(obj: LapSVM, pieces: Pieces, at: _Point, target: _Point) -> float:
    """Return how far to go towards the target."""
    y, labeled = obj.labels.sign, obj.labels.labeled
    alpha, b, Kalpha = at
    d, db, Kd = target[0] - alpha, target[1] - b, target[2] - Kalpha
    t, speed = y * (Kalpha[labeled] + b), y * (Kd[labeled] + db)
    Sd = obj.apply_S(d, Kd)
    slope = Kalpha @ Sd + (0.5 * obj.margin_loss.gradient(t) * speed).sum()
    root = np.sqrt(obj.labels.weights_or_ones)
    return float(exact_step(1.0 - t, speed, slope, Kd @ Sd, pieces=pieces, root=root)[0])
