r"""Newton's method in the full space (eq. 11 of the primal paper): LapSVM with the squared hinge, and LapRLS.

On the active set E = {y f < 1} the objective is quadratic, and its minimum solves

    [ 1'I_E 1    1'I_E K                 ] [ b     ]   [ 1'I_E y ]
    [ I_E 1      I_E K + gamma_A I + gamma_I L K ] [ alpha ] = [ I_E y   ].

The second row is the gradient by alpha with K divided out: nonsingular for gamma_A > 0 whatever K is, for products
of two positive semidefinite matrices have no negative eigenvalues. The first row as printed in eq. 11, (0, 1') with
the right side 0, follows from the second only when 1'L = 0, which the normalised Laplacian is not.

The paper always takes the whole step. So does `newton` where the target has the active set that it was computed for;
elsewhere E may cycle, and the exact line search (`specmargin.solvers.base`) goes as far as the objective falls.

Each step factorises n + 1 rows. `specmargin.solvers.factorized` needs one factorisation of n rows in all, and is what
to call for answers; this is the paper's method, and an independent way to the same optimum.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg as sla

from specmargin.exceptions import InvalidInputError
from specmargin.kernels.operators import kernel_rows
from specmargin.objectives import LapSVM
from specmargin.results import History, SolveResult, Status
from specmargin.solvers.base import exact_step, full_space_result, require_squared
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["newton"]


def newton(obj: LapSVM, *, tol: float = 1e-9, max_iter: int = 100) -> SolveResult:
    """Train in the primal by Newton's method.

    Parameters
    ----------
    obj : LapSVM
        With the loss "squared_hinge" or "squared" (one step); K may be singular, samples may repeat.
    tol : float, default 1e-9
        Relative gap that the certificate has to prove for the status OPTIMAL.
    max_iter : int, default 100
        Steps; five are usual.

    Returns
    -------
    SolveResult
        Variables ``alpha`` (n,), ``b``, ``f`` (n,), ``beta`` (l,). The history holds, per step, the ``objective``
        after it, the number of ``active`` samples that it was computed for, and its length ``step``.

    Raises
    ------
    ValueError
        If the loss is the hinge, or `tol` or `max_iter` is not positive.

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
    hinge = require_squared(obj, "newton")
    if not tol > 0:
        raise InvalidInputError(
            f"tol={tol!r} must be positive: it is the relative gap to be proved; 1e-9 is the default."
        )
    if max_iter < 1:
        raise InvalidInputError(f"max_iter={max_iter!r} must be at least 1; 100 is the default, 5 is usual.")
    y, labeled = obj.labels.sign, obj.labels.labeled
    S = _system(obj)
    history = History()
    alpha, b, Kalpha, step = np.zeros(len(S)), 0.0, np.zeros(len(S)), 1.0
    active: BoolArray = np.ones(len(y), dtype=bool)
    objective = obj.value_at(alpha, b)
    settled = False
    while not settled and len(history) < max_iter:
        target, target_b = _minimum_on(obj, S, active, b)
        Ktarget = obj.K @ target
        after = y * (Ktarget[labeled] + target_b) < 1
        settled = not hinge or bool((after == active).all())
        step = 1.0 if settled else _safeguarded(obj, alpha, b, Kalpha, target, target_b, Ktarget)
        last = objective
        if step == 1.0:
            alpha, b, Kalpha = target, target_b, Ktarget
        else:
            alpha, b = alpha + step * (target - alpha), b + step * (target_b - b)
            Kalpha = Kalpha + step * (Ktarget - Kalpha)
        used = int(active.sum())
        active = y * (Kalpha[labeled] + b) < 1
        t = y * (Kalpha[labeled] + b)
        objective = obj.scale * float(obj._loss.value(t).sum() + Kalpha @ obj.apply_S(alpha, Kalpha))
        history.record(objective=objective, active=used, step=step)
        # A sample on its margin may change sides by rounding for ever; the objective then falls no more.
        settled = settled or not objective < last * (1.0 - 1e-15)
    return full_space_result(
        obj,
        alpha,
        b,
        solver="newton",
        history=history,
        n_iter=len(history),
        seconds=time.perf_counter() - start,
        tol=tol,
        stopped=None if settled else Status.MAX_ITER,
        Kalpha=Kalpha if step == 1.0 else None,
        message="the active set settled" if settled else "the active set still changes",
    )


def _system(obj: LapSVM) -> FloatArray:
    """Return S = gamma_A I + gamma_I L K."""
    n = obj.labels.n_samples
    if obj.L is None or obj.gamma_I == 0:
        return obj.gamma_A * np.eye(n)
    S = obj.gamma_I * (obj.L @ kernel_rows(obj.K, np.arange(n)))
    S[np.diag_indices_from(S)] += obj.gamma_A
    return S


def _minimum_on(obj: LapSVM, S: FloatArray, active: BoolArray, b: float) -> tuple[FloatArray, float]:
    """Return the minimum of the quadratic that the objective is on an active set; without one, b stays."""
    if not active.any():
        return np.zeros(len(S)), b
    y, rows, k = obj.labels.sign[active], obj.labels.labeled[active], int(obj.fit_intercept)
    n = len(S)
    M = np.empty((n + k, n + k), order="F")
    M[k:, k:] = S
    M[k + rows, k:] += obj.labeled_rows[active]
    right = np.zeros(n + k)
    right[k + rows] = y
    if k:
        M[:, 0] = 0.0
        M[0, 0] = M[1 + rows, 0] = 1.0
        # The mean of the rows that it stands for, not their sum: one scale for all rows.
        M[0, 1:] = obj.labeled_rows[active].mean(axis=0)
        right[0] = y.mean()
    factor = sla.lu_factor(M, check_finite=False)
    z = sla.lu_solve(factor, right, check_finite=False)
    # Refinement, with the residual by products with K and L: M itself carries the roundings of L K.
    z += sla.lu_solve(factor, _residual(obj, rows, y, z[k:], z[0] if k else 0.0), check_finite=False)
    return z[k:], float(z[0]) if k else 0.0


def _residual(obj: LapSVM, rows: IntArray, y: FloatArray, alpha: FloatArray, b: float) -> FloatArray:
    """Return right side minus left side of the system."""
    Kalpha = obj.K @ alpha
    miss = y - Kalpha[rows] - b
    residual = -obj.apply_S(alpha, Kalpha)
    residual[rows] += miss
    return np.append(miss.mean(), residual) if obj.fit_intercept else residual


def _safeguarded(
    obj: LapSVM,
    alpha: FloatArray,
    b: float,
    Kalpha: FloatArray,
    target: FloatArray,
    target_b: float,
    Ktarget: FloatArray,
) -> float:
    """Return how far to go towards the target."""
    y, labeled = obj.labels.sign, obj.labels.labeled
    d, Kd, db = target - alpha, Ktarget - Kalpha, target_b - b
    slack, speed = 1.0 - y * (Kalpha[labeled] + b), y * (Kd[labeled] + db)
    Sd = obj.apply_S(d, Kd)
    slope = Kalpha @ Sd - (np.maximum(slack, 0.0) * speed).sum()
    steps = exact_step(slack[:, None], speed[:, None], np.array([slope]), np.array([Kd @ Sd]))
    return float(steps[0])
