r"""LapSVM, LapRLS, SVM and RLSC from one factorisation.

With X = S^-1 J' and the deformed kernel G = J K X (see `specmargin.objectives.LapSVM`) every loss has its optimum
at alpha = X v, f_lab = G v + b with the penalty v'G v, so that a problem of l unknowns is left:

- squared: (G + I) v = y - b, 1'v = 0: one linear system;
- other losses that are piecewise quadratic with a continuous slope: the same on the samples that are on parabolas,
  for the squared hinge those of the active set E = {y f < 1}. Who is where on the loss is found by Newton's method in
  a handful of steps, each with an exact line search;
- hinge: a support vector machine on the kernel G / 2 with C = 1, by libsvm, or by an interior-point method where G is
  so ill-conditioned that libsvm's steps are too many, then the linear system of its free support vectors to reach
  machine precision.

Where the answer is not proved, gamma_A is too far below gamma_I for S, and the reduction is computed once more on a
Cholesky factor of K (`specmargin.objectives.LapSVM.pivoted`).
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from specmargin.exceptions import SolverError
from specmargin.losses import Pieces
from specmargin.objectives import LapRLS, LapSVM
from specmargin.objectives.intercept import hinge_intercept
from specmargin.objectives.rounding.lapsvm import residual
from specmargin.results import Certificate, History, SolveResult, Status
from specmargin.rounding import cholesky
from specmargin.solvers.line_search import exact_step
from specmargin.solvers.manifold.answer import never_worse_than_zero
from specmargin.solvers.parts import require
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "factorized"]

REQUIRES = ("convex", "piecewise_quadratic", "smooth or box_dual")
"""Linear systems on the pieces of a loss: Newton's, or those of the free multipliers of the hinge's box."""

_SMO_STEPS = 100
"""Steps of libsvm per labelled sample: as many cost a fraction of the interior point's Cholesky factorisations."""
_SMO_TOL = 1e-5
"""libsvm keeps kernels in single precision: asked for more it may never end."""
_LARGEST = 1e150  # entries of a kernel up to which their squares are representable
_PATIENCE = 10
"""Steps of Newton's method in a row without a lower objective: rounding decides who is where, and no more will help."""
_OUTWARDS = (2.0**-48, 2.0**-40, 2.0**-34)
"""Shares by which the decisions grow where rounding leaves them short of the margin: each costs twice the penalty's."""
_SAFE = 1e-7  # smallest pivot, relative to the largest, at which Cholesky's method determines the free multipliers


def factorized(
    obj: LapSVM, *, tol: float = 1e-9, max_iter: int = 300, dtype: npt.DTypeLike | None = None
) -> SolveResult:
    """Solve a manifold-regularised problem exactly through its l-dimensional reduction.

    Parameters
    ----------
    obj : LapSVM or LapRLS
        Objective with a loss that is convex and piecewise quadratic: the hinge, or one of continuous slope. K may be
        singular, samples may repeat.
    tol : float, default 1e-9
        Relative gap that the certificate has to prove for the status OPTIMAL.
    max_iter : int, default 300
        Interior-point steps for the hinge, Newton steps for the other losses.
    dtype : {float64, float32}, optional
        Precision of the factorisation, if the objective has none yet (`specmargin.objectives.LapSVM.reduced`). With
        float32 it takes half the time, and refinement keeps the accuracy.

    Returns
    -------
    SolveResult
        Variables ``alpha`` (n,), ``b``, ``f`` (n,), ``beta`` (l,), ``v`` (l,).

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, eqs. 4, 7 and 14.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> K = sm.kernels.gram(np.arange(6.0)[:, None], gamma=0.5)
    >>> L = sm.graphs.laplacian(sm.graphs.knn_graph(np.arange(6.0)[:, None], n_neighbors=2))
    >>> obj = sm.objectives.LapSVM(K, L, sm.encode_labels([0, -1, -1, -1, -1, 1]), gamma_A=0.01, gamma_I=1.0)
    >>> sm.solvers.factorized(obj).certificate.is_optimal(1e-9)
    True
    """
    require("factorized", "LapSVM", obj.loss)
    if dtype is not None and not obj.is_reduced:
        obj = obj.reduced(dtype)
    return solved(obj, tol, max_iter)


def solved(obj: LapSVM, tol: float, max_iter: int = 300) -> SolveResult:
    """Return the answer of `factorized` to an objective whose loss is known to be taken."""
    start = time.perf_counter()
    answers: list[SolveResult] = []
    failures: list[str] = []
    for variant in ("factorized", "factorized, pivoted"):
        try:
            answers.append(_answer(obj if not answers and not failures else obj.pivoted(), variant, tol, max_iter))
        except (SolverError, np.linalg.LinAlgError) as error:
            failures.append(f"{variant}: {error}")
            continue
        if answers[-1].status is Status.OPTIMAL:
            break
    best = answers[0] if len(answers) == 1 else _best(answers, failures, tol)
    if not best.certificate.is_optimal(tol):
        best = never_worse_than_zero(obj, best, tol)
    return replace(best, seconds=time.perf_counter() - start)


def _answer(obj: LapSVM, variant: str, tol: float, max_iter: int) -> SolveResult:
    """Solve by the reduction that the objective has."""
    history = History()
    G, y, loss = obj.reduction.G, obj.labels.sign, obj.margin_loss
    pieces = loss.pieces
    assert pieces is not None
    if isinstance(obj, LapRLS):
        centre = obj.constant()
        factor = obj.reduction.ridge_factor if len(y) and obj.labels.weights is None else None
        v, b = _ridge(G, obj.targets - centre, obj.fit_intercept, 1.0 / obj.labels.weights_or_ones, 0.0, factor)
        b, n_iter = b + centre, 1
    elif loss.box_dual:
        v, b, n_iter = _support_vectors(obj, tol, max_iter, history)
    else:
        v, b, n_iter = _active_set_newton(obj, pieces, max_iter, history)
    theta = obj.repair_multipliers(2.0 * v)

    def judged(alpha: FloatArray, b: float) -> tuple[Certificate, FloatArray, float, FloatArray]:
        image = obj.products.image(alpha)
        assert image is not None
        return obj.prove(alpha, b, theta, Ka=image, tol=tol), alpha, b, image.f + b

    answer = judged(obj.reduction.coefficients(v), b)
    if not answer[0].is_optimal(tol) and (refined := _refined(obj, theta, answer[1])) is not None:
        answer = min(answer, judged(refined, b), key=lambda one: one[0].gap)
    # A hinge counts what rounding leaves of a margin in full: where the optimum is far below one, that is all of it.
    _, start, offset, _ = answer
    for share in _OUTWARDS if loss.box_dual else ():
        if answer[0].is_optimal(tol):
            break
        answer = min(answer, judged((1.0 + share) * start, (1.0 + share) * offset), key=lambda one: one[0].gap)
    certificate, alpha, b, f = answer
    stopped = Status.MAX_ITER if pieces.kinks and n_iter >= max_iter else None
    return SolveResult(
        problem=obj.name,
        status=certificate.status(tol, stopped),
        variables={"alpha": alpha, "b": np.asarray(b), "f": f, "v": theta / 2, "beta": y * theta},
        duals={"balance": np.asarray(b)},
        certificate=certificate,
        history=history,
        solver=variant,
        n_iter=n_iter,
        message=f"relative gap {certificate.relative_gap:.1e}",
    )


def _refined(obj: LapSVM, theta: FloatArray, alpha: FloatArray) -> FloatArray | None:
    """Return alpha after one step of iterative refinement of 2 S alpha = J'theta, where the factors are kept."""
    image = obj.products.image(alpha, slices=2)
    step = None if image is None else obj.reduction.solve(residual(obj, theta, image)[0])
    return None if step is None or not np.isfinite(step).all() else alpha - step / 2


def _best(answers: list[SolveResult], failures: list[str], tol: float) -> SolveResult:
    """Return the answer of the lowest objective, under the best bound."""
    if not answers:
        raise SolverError(
            "neither factorisation is possible: " + "; ".join(failures) + ". Scale kernel and graph, or take gammas "
            "that are less extreme."
        )
    best = min(answers, key=lambda one: _or_infinite(one.certificate.primal_objective + one.certificate.rounding))
    # A bound holds for the problem, whoever proved it.
    proof = max(answers, key=lambda one: -_or_infinite(one.certificate.rounding - one.certificate.dual_objective))
    if proof is not best:
        theirs, ours = proof.certificate, best.certificate
        both = replace(ours, dual_objective=theirs.dual_objective, rounding=ours.rounding + theirs.rounding)
        if both.gap < ours.gap:
            stopped = Status.MAX_ITER if best.status is Status.MAX_ITER else None
            beta = {name: proof.variables[name] for name in ("v", "beta")}
            best = replace(
                best, certificate=both, status=both.status(tol, stopped), variables={**best.variables, **beta}
            )
    return best


def _or_infinite(value: float) -> float:
    return value if not np.isnan(value) else np.inf


def _ridge(
    G: FloatArray, target: FloatArray, fit_intercept: bool, ridge: FloatArray, total: float, factor: Any = None
) -> tuple[FloatArray, float]:
    """Solve (G + diag(ridge)) v + b = target, 1'v = total; without an intercept b = 0, and any sum will do.

    `factor` is the Cholesky factor of the matrix, where it is known.
    """
    if len(target) == 0:
        return np.zeros(0), 0.0
    A = G + np.diag(ridge)
    try:
        factor = sla.cho_factor(A) if factor is None else factor
    except np.linalg.LinAlgError:
        return _ridge_by_modes(G, target, fit_intercept, ridge, total)
    if not fit_intercept:
        v = sla.cho_solve(factor, target)
        return v + sla.cho_solve(factor, target - A @ v), 0.0
    by_target, by_one = sla.cho_solve(factor, np.column_stack([target, np.ones_like(target)])).T
    b = float((by_target.sum() - total) / by_one.sum())
    v = by_target - b * by_one
    return v - by_one * ((v.sum() - total) / by_one.sum()), b


def _ridge_by_modes(
    G: FloatArray, target: FloatArray, fit_intercept: bool, ridge: FloatArray, total: float
) -> tuple[FloatArray, float]:
    """Solve the same where G is so large that the ridge is lost in its rounding: on what 1'v = total leaves of it."""
    l, least = len(G), float(ridge.min())
    basis = sla.helmert(l).T if fit_intercept else np.eye(l)
    start = np.full(l, total / l) if fit_intercept else np.zeros(l)
    # Only what the ridge exceeds its least entry by is for the eigenvalues; that itself is added to them.
    w, Q = np.linalg.eigh(basis.T @ (G + np.diag(ridge - least)) @ basis)
    B = basis @ Q
    rest = target - G @ start - ridge * start if total else target
    v = start + B @ ((B.T @ rest) / (np.maximum(w, 0.0) + least))
    return v, float((target - G @ v - ridge * v).mean()) if fit_intercept else 0.0


def _active_set_newton(obj: LapSVM, pieces: Pieces, max_iter: int, history: History) -> tuple[FloatArray, float, int]:
    """Newton's method on the piecewise quadratic; ends when the pieces repeat, or rounding decides."""
    G, y, fit_intercept, loss = obj.reduction.G, obj.labels.sign, obj.fit_intercept, obj.margin_loss
    weights = obj.labels.weights_or_ones
    v, b = np.zeros(len(y)), 0.0
    at = np.full(len(y), pieces.most_curved)
    least, futile = np.inf, 0
    for n_iter in range(1, max_iter + 1):
        curved, lines = weights * pieces.square[at], weights * pieces.linear[at]
        active = curved > 0
        # Who is on a line has a multiplier that is known.
        target_v = np.where(active, 0.0, y * lines)
        rest = target_v[~active]
        target = y[active] * (1.0 + lines[active] / curved[active])
        if rest.any():
            target = target - G[np.ix_(active, ~active)] @ rest
        ridge, bounded = 1.0 / curved[active], True
        # With all samples on their parabolas classes differ in their targets alone: they share one factor.
        factor = obj.reduction.ridge_factor if active.all() and (ridge == 1.0).all() else None
        block = G[np.ix_(active, active)]
        target_v[active], target_b = _ridge(block, target, fit_intercept, ridge, -rest.sum(), factor)
        if not active.any():
            imbalance = float(rest.sum()) * fit_intercept
            bounded = abs(imbalance) <= 1e-14 * float(np.abs(rest).sum())
            target_b = b if bounded else b + imbalance / len(rest)
        after = pieces.index(1.0 - y * (G @ target_v + target_b))
        # The target minimises on its own pieces; elsewhere a full step may overshoot, and sets may cycle.
        full = bounded and bool((after == at).all())
        step = 1.0 if full else _exact_step(obj, pieces, v, b, target_v - v, target_b - b)
        v, b = v + step * (target_v - v), b + step * (target_b - b)
        f = G @ v
        slack = 1.0 - y * (f + b)
        objective = obj.scale * float(loss.value_of_slack(slack).sum() + v @ f)
        if pieces.kinks:
            history.record(objective=objective, active=float(np.count_nonzero(active)), step=step)
        futile = 0 if objective < least else futile + 1
        least = min(least, objective)
        if full or futile >= _PATIENCE:
            return v, b, n_iter
        at = pieces.index(slack)
    return v, b, max_iter


def _exact_step(obj: LapSVM, pieces: Pieces, v: FloatArray, b: float, dv: FloatArray, db: float) -> float:
    """Return the step from (v, b) along (dv, db) that minimises the sum of the losses + v'G v."""
    G, y, root = obj.reduction.G, obj.labels.sign, np.sqrt(obj.labels.weights_or_ones)
    Gdv = G @ dv
    slack, speed = 1.0 - y * (G @ v + b), y * (Gdv + db)
    at = pieces.index(slack)
    slope = v @ Gdv - ((pieces.square[at] * (root * slack) + root * pieces.linear[at]) * (root * speed)).sum()
    return float(exact_step(slack, speed, slope, dv @ Gdv, pieces=pieces, root=root)[0])


def _step_bound(x: FloatArray, step: FloatArray) -> float:
    """Longest step up to 1 that keeps x >= 0."""
    down = step < 0
    return float(min(1.0, (-x[down] / step[down]).min(initial=np.inf)))


def _support_vectors(obj: LapSVM, tol: float, max_iter: int, history: History) -> tuple[FloatArray, float, int]:
    """Solve the hinge's problem, by libsvm where that ends and can be polished, else by an interior point."""
    G, y, weights = obj.reduction.G, obj.labels.sign, obj.labels.weights
    if not (largest := float(np.abs(G).max(initial=0.0))) < _LARGEST:
        raise SolverError(
            f"the deformed kernel has entries up to {largest:.1e} at gamma_A={obj.gamma_A:g}, whose products overflow; "
            "take a larger gamma_A, or scale the features."
        )
    if obj.fit_intercept and abs(y.sum()) == len(y):
        return np.zeros(len(y)), hinge_intercept(y, np.zeros(len(y))), 1  # one class: a constant
    if obj.fit_intercept and (start := _sequential(G, y, weights)) is not None:
        v, b, gap = _polished(obj, *start)
        if gap <= 0.1 * tol:
            history.record(gap=gap)
            return v, b, 1
    v, b, n_iter = _interior_point(G, y, weights, obj.fit_intercept, max_iter, history)
    return *_polished(obj, v, b)[:2], n_iter


def _sequential(G: FloatArray, y: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, float] | None:
    """Return v and b by sequential minimal optimisation, None where its steps do not suffice."""
    from sklearn import config_context
    from sklearn.svm import SVC

    svm = SVC(C=1.0, kernel="precomputed", random_state=0, tol=_SMO_TOL, max_iter=_SMO_STEPS * len(y), cache_size=1000)
    # What it is given has been checked.
    with config_context(skip_parameter_validation=True, assume_finite=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a search that is cut short
        try:
            svm.fit(G / 2, y, weights)
        except ValueError:  # coefficients that are not finite, of a G beyond single precision
            return None
    if svm.fit_status_ != 0:
        return None
    v = np.zeros(len(y))
    v[svm.support_] = svm.dual_coef_[0] / 2
    return v, float(svm.intercept_[0])


def _interior_point(
    G: FloatArray, y: FloatArray, weights: FloatArray | None, fit_intercept: bool, max_iter: int, history: History
) -> tuple[FloatArray, float, int]:
    """Solve the hinge's dual, min 1/2 beta'Q beta - sum beta on [0, c] with y'beta = 0 and Q = Y G Y / 2.

    Mehrotra's predictor-corrector, started feasible. Rows of x are beta and c - beta, rows of z the multipliers of
    x >= 0. SMO takes 1e5 steps and more where gamma_A is small; this takes twenty.
    """
    Q = y[:, None] * (G / 2) * y
    share = float(np.average(y > 0, weights=weights)) if fit_intercept else 0.5
    caps = np.ones(len(y)) if weights is None else weights
    beta, b = np.where(y > 0, 1.0 - share, share) * (0.5 if fit_intercept else 1.0) * caps, 0.0
    # Both rows are carried along: close to the bound c - beta would be rounded to zero.
    x = np.stack([beta, caps - beta])
    residual = Q @ beta - 1.0
    z = np.maximum(np.stack([residual, -residual]), 0.0) + 0.5
    best = np.inf
    while len(history) < max_iter:
        gap = float((x * z).sum())
        # The gap may grow while the start is not yet dual feasible; at the end of the path rounding stops it.
        scale = float(x[0].sum())
        if gap <= 1e-15 * scale or (gap >= best and best <= 1e-8 * scale):
            break
        best = min(gap, best)
        history.record(gap=gap)
        try:
            factor = sla.cho_factor(Q + np.diag((z / x).sum(axis=0)))
        except sla.LinAlgError:  # rounding, at the end of the path: the polish takes over
            break
        stationarity = Q @ x[0] - 1.0 + y * b - z[0] + z[1]
        by_balance = sla.cho_solve(factor, y)
        target, shift, dx, dz = np.zeros_like(x), 0.0, np.zeros_like(x), np.zeros_like(x)
        for corrected in (False, True):
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is named below
                if corrected:
                    primal, dual = _step_bound(x, dx), _step_bound(z, dz)
                    left = float(((x + primal * dx) * (z + dual * dz)).sum())
                    target = ((left / gap) ** 3 * gap / x.size - dx * dz) / x
                slopes = target[0] - z[0] - target[1] + z[1] - stationarity
            if not np.isfinite(slopes).all():
                raise np.linalg.LinAlgError("the path to the optimum overflows; take weights that are less far apart")
            step = sla.cho_solve(factor, slopes)
            if fit_intercept:
                shift = float(y @ (step + x[0]) / (y @ by_balance))
                step -= shift * by_balance
            dx = np.stack([step, -step])
            dz = target - z - z / x * dx
        length = 0.9995 * min(_step_bound(x, dx), _step_bound(z, dz))
        x, z, b = x + length * dx, z + length * dz, b + length * shift
    return y * x[0] / 2, b, len(history)


def _polished(obj: LapSVM, v: FloatArray, b: float, steps: int = 5) -> tuple[FloatArray, float, float]:
    """Solve for the free multipliers given who is free; keep the point of the smallest gap on the labelled samples.

    The gap comes third, relative to the objective.
    """
    G, y, rows, weights = obj.reduction.G, obj.labels.sign, obj.labeled_rows, obj.labels.weights
    caps, coefficients = 1.0 if weights is None else weights, obj.reduction.coefficients

    def measured(v: FloatArray, b: float) -> tuple[float, FloatArray, float]:
        v = obj.repair_multipliers(2.0 * v) / 2
        # Decisions are those of the coefficients: G v is as exact as G only, and the hinge shows it in the first order.
        f = rows @ coefficients(v)
        if obj.fit_intercept:
            b = hinge_intercept(y, f, weights)
        # Primal minus dual: sum of the losses + v'Gv - (sum of beta - v'Gv).
        loss = float((caps * np.maximum(1.0 - y * (f + b), 0.0)).sum())
        return (loss + 2.0 * float(v @ (f - y))) / max(loss + float(v @ f), 1e-300), v, b

    best, v, b = measured(v, b)
    trial_v, trial_b = v, b
    for _ in range(steps):
        beta, slack = 2.0 * y * trial_v, 1.0 - y * (rows @ coefficients(trial_v) + trial_b)
        # Who is at a bound: complementarity, each side in its own scale.
        at_zero = beta < -slack
        at_one = (caps - beta < slack) & ~at_zero
        free = ~at_zero & ~at_one
        trial_v = np.where(free, trial_v, np.where(at_one, caps * y / 2, 0.0))
        # A correction, not the multipliers anew: of all solutions of a singular system the nearest one.
        rhs = (y - rows @ coefficients(trial_v) - trial_b)[free]
        if not free.any():
            break
        step, shift = _correction(G[np.ix_(free, free)], rhs, trial_v.sum(), obj.fit_intercept)
        trial_v[free] += step
        trial_b += shift
        gap, feasible, offset = measured(trial_v, trial_b)
        if abs(gap) >= abs(best):
            break
        best, v, b = gap, feasible, offset
    return v, b, abs(best)


def _correction(G: FloatArray, rhs: FloatArray, excess: float, fit_intercept: bool) -> tuple[FloatArray, float]:
    """Solve G step + shift = rhs, 1'step = -excess; the step of least norm where that is singular."""
    k = len(rhs)
    factor = cholesky(G)
    if factor is not None and factor.diagonal().min() > _SAFE * factor.diagonal().max():
        by_rhs, by_one = sla.lapack.dpotrs(factor, np.column_stack([rhs, np.ones(k)]), lower=1)[0].T
        shift = float((by_rhs.sum() + excess) / by_one.sum()) if fit_intercept else 0.0
        return by_rhs - shift * by_one, shift
    A = np.zeros((k + 1, k + 1))
    A[:k, :k] = G
    A[:k, k] = A[k, :k] = float(fit_intercept)
    A[k, k] = float(not fit_intercept)
    solution = np.linalg.lstsq(A, np.append(rhs, -excess * fit_intercept), rcond=1e-14)[0]
    return solution[:k], float(solution[k])
