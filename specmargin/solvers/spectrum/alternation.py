r"""Spectrum and classifier in turns: a plain algorithm that shares nothing with the interior points it checks.

The joint problem of `specmargin.objectives.SpectrumMargin` is easy in either half. With the spectrum fixed it is a
support vector machine, or a relative margin machine (RMM), on the kernel U diag(delta) U'. With the coefficients v
fixed the best spectrum has a closed form (`specmargin.objectives.Cone.best_for`, by pooling adjacent violators). But
a weight that is zero stays zero, since its v is then zero, too. So the norm is smoothed,

    P_mu(v, b, delta) = 1/2 sum_j (v_j^2 + mu^2) / delta_j + C sum_i xi_i,      mu > 0,

and no weight of its best spectrum vanishes. P_mu is jointly convex.

**It never rises.** A better (v, b), a better delta and a smaller mu each lower P_mu or leave it, and the algorithm
makes no other move. What it records is therefore nonincreasing, and never below the objective itself.

**It gets there.** For a fixed mu both halves have one minimiser (in v and in delta), the nonsmooth parts are separate
and P_mu is differentiable in the rest: turns then reach the minimum [1]_. And with mu the minima fall to that of the
problem: a spectrum that keeps the share 1 - mu of the best one and spreads mu evenly shows

    min P_0  <=  min P_mu  <=  min P_0 / (1 - mu) + mu q^2 / 2.

How fast is another matter. A weight that wrongly came close to zero returns by a constant factor per turn, and this
factor is near one where the kernel it belongs to is nearly as good as the best: 50 to 300 turns are usual, thousands
happen. Call `alternation` where a second opinion is wanted.
"""

from __future__ import annotations

import time

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives import Cone, SpectrumMargin
from specmargin.objectives.cones.margin import SpectrumPoint
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.results import History, SolveResult, Status
from specmargin.typing import FloatArray

__all__ = ["alternation"]

_PATIENCE = 0.01  # mu is halved once a turn gains less than this share of what the smoothing costs
_LEAST_SMOOTHING = 1e-14  # of the mean |v|
_ROUNDING = 1e-13  # relative rise of the objective that counts as none
_RIDGE = 1e-11  # of the mean diagonal of the kernel
_TOL = 1e-12  # of a decision: when a multiplier at a corner may stay there


def alternation(obj: SpectrumMargin, *, tol: float = 1e-8, max_iter: int = 5000) -> SolveResult:
    """Minimise a large (relative) margin over a spectrum by turns: STORM, STOAM, MKL; one turn where delta is given.

    Parameters
    ----------
    obj : SpectrumMargin
        Objective with ``eps=0``: a least drop between the weights leaves no closed form for the spectrum.
    tol : float, default 1e-8
        Relative gap that the certificate has to prove for the status OPTIMAL.
    max_iter : int, default 5000
        Turns.

    Returns
    -------
    SolveResult
        Variables ``delta`` (q,), ``kappa`` (m,), ``v`` (q,), ``b``, ``gamma`` (l,), ``f`` (n,). The history holds, per
        turn, ``objective`` (P_mu, never rising), ``smoothing`` (mu) and ``relative_gap`` (of the certificate).

    Raises
    ------
    ValueError
        If ``obj.eps`` is not zero, or `max_iter` is less than one.

    References
    ----------
    .. [1] P. Tseng, Convergence of a block coordinate descent method for nondifferentiable minimization, J. Optim.
       Theory Appl. 109, 2001. The smoothing is that of Argyriou, Evgeniou & Pontil, Convex multi-task feature
       learning, Machine Learning 73, 2008.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> labels = sm.encode_labels([0, 0] + [-1] * 8 + [1, 1])
    >>> obj = sm.objectives.SpectrumMargin(sm.spectra.laplacian_eigenpairs(W, q=6), labels, C=1.0, B=1.2)
    >>> result = sm.solvers.alternation(obj)
    >>> result.status, bool(np.diff(result.history["objective"]).max() < 1e-12)
    (<Status.OPTIMAL: 'optimal'>, True)
    """
    if obj.eps != 0:
        raise InvalidInputError(
            f"eps={obj.eps!r}: the spectrum has a closed form for eps=0 only, which is exact; use that."
        )
    start = time.perf_counter()
    cone, loss, y, U = obj.cone, obj.loss, obj.labels.sign, obj.U
    history = History()
    learned = cone.m > 1  # else the one ray is the spectrum
    gamma, kappa, v, b = np.zeros(len(y)), np.zeros(cone.m), np.zeros(obj.q), 0.0
    delta, mu, value = cone.best_for(np.ones(obj.q)), 0.0, np.inf

    def smoothed(v: FloatArray, b: float, delta: FloatArray) -> float:
        return obj.primal_objective(SpectrumPoint(gamma, kappa, delta, v, b)) + _excess(delta, mu)

    while True:
        gamma, offset = _classifier((U * delta) @ U.T, y, loss, gamma)
        coefficients = delta * (U.T @ gamma)
        scale, offset = loss.repair_decisions(y, U @ coefficients, offset)
        coefficients = scale * coefficients
        if len(history) == 0 and learned:
            mu = float(np.abs(coefficients).mean())
        # Both moves are exact but for rounding: larger rises are refused.
        before, moved = value, False
        if (trial := smoothed(coefficients, offset, delta)) <= value * (1 + _ROUNDING):
            v, b, value = coefficients, offset, trial
        spectrum = _best(cone, v, mu) if learned else delta
        if (trial := smoothed(v, b, spectrum)) <= value * (1 + _ROUNDING):
            delta, value, moved = spectrum, trial, True
        kappa = cone.drops(delta)
        point = obj.repair(gamma, kappa, b, v)
        certificate = obj.prove(point, gamma, kappa)
        history.record(objective=value, smoothing=mu, relative_gap=certificate.relative_gap)
        if certificate.is_optimal(tol) or len(history) >= max_iter or not learned:
            break
        if before - value < _PATIENCE * _excess(delta, mu):
            least = min(mu, _LEAST_SMOOTHING * float(np.abs(v).mean()))
            if not moved and mu == least:
                break
            mu = max(0.5 * mu, least)
            value = smoothed(v, b, delta)
    return SolveResult(
        problem=obj.name,
        status=certificate.status(tol, Status.MAX_ITER if len(history) >= max_iter else None),
        variables=obj.solution(point),
        duals={"balance": np.asarray(point.b)},
        certificate=certificate,
        history=history,
        solver="alternation",
        n_iter=len(history),
        seconds=time.perf_counter() - start,
        message=f"relative gap {certificate.relative_gap:.1e}",
    )


def _best(cone: Cone, v: FloatArray, mu: float) -> FloatArray:
    """Return ``cone.best_for(sqrt(v^2 + mu^2))``.

    What is added to all squares is added to their pooled means: added after pooling it is not rounded away.
    """
    delta = np.sqrt(cone.best_unscaled(v) ** 2 + mu**2)
    total = float(delta.sum())
    return delta / total if total > 0 else cone.best_for(v)


def _excess(delta: FloatArray, mu: float) -> float:
    """Return P_mu - P_0."""
    return 0.5 * mu**2 * float((1.0 / delta).sum()) if mu > 0 else 0.0


def _classifier(K: FloatArray, y: FloatArray, loss: RelativeMargin, gamma: FloatArray) -> tuple[FloatArray, float]:
    """Return the multipliers and the intercept of the SVM or RMM on K, starting from balanced multipliers.

    The dual is strictly concave only where K is positive definite; a proximal term makes it so, and is moved to the
    maximiser until it has no effect there.
    """
    ridge = _RIDGE * (float(K.trace()) / len(y) or 1.0)
    K = K + ridge * np.eye(len(y))
    corners = _corners(y, loss)
    b = 0.0
    for _ in range(5):
        anchor = gamma
        gamma, b = _active_set(K, ridge * anchor, *corners, anchor)
        if ridge * float(np.abs(gamma - anchor).max()) <= 1e-14:
            break
    return gamma, b


def _corners(y: FloatArray, loss: RelativeMargin) -> tuple[FloatArray, FloatArray]:
    """Return the dual of the loss in gamma: its kinks (l, k), and the decision that each piece asks for (l, k + 1).

    With s = y gamma the slopes of `RelativeMargin.dual_value` are the corners t = B, 1, -B of the loss, or B, -B where
    B < 1. On a piece the decision f must equal y t; at a kink it may lie between those of the two pieces next to it.
    """
    C, B = np.broadcast_to(loss.C, y.shape), loss.B
    s = np.column_stack([np.zeros(len(y)), C]) if B >= 1 else C[:, None]
    t = np.array([B, 1.0, -B]) if B >= 1 else np.array([B, -B])
    positive = y[:, None] > 0
    return np.where(positive, s, -s[:, ::-1]), np.where(positive, t, -t[::-1])


def _active_set(
    K: FloatArray, h: FloatArray, kinks: FloatArray, levels: FloatArray, gamma: FloatArray
) -> tuple[FloatArray, float]:
    """Maximise sum g(gamma) - 1/2 gamma'K gamma + h'gamma under 1'gamma = 0 for positive definite K.

    Multipliers inside a piece are free and solve one linear system with b; the others sit at a kink. A step ends at the
    first kink in its way. Once it is complete, the multiplier leaves its kink that gains most by it. Every step
    raises the dual, so no set of free multipliers returns.
    """
    l = len(gamma)
    gamma, b = gamma.copy(), 0.0
    walls = np.column_stack([np.full(l, -np.inf), kinks, np.full(l, np.inf)])
    # Free: in piece `place`, between walls[place] and walls[place + 1]. Else: at kinks[place], its upper end.
    place = (kinks < gamma[:, None]).sum(axis=1)
    free = ~(kinks == gamma[:, None]).any(axis=1)
    for _ in range(50 + 20 * l):
        F = np.flatnonzero(free)
        if len(F):
            A = np.ones((len(F) + 1, len(F) + 1))
            A[:-1, :-1], A[-1, -1] = K[np.ix_(F, F)], 0.0
            kept = np.where(free, 0.0, gamma)
            solution = np.linalg.solve(A, np.append(levels[F, place[F]] + h[F] - K[F] @ kept, -kept.sum()))
            step, b = solution[:-1] - gamma[F], float(solution[-1])
            ahead = place[F] + (step > 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                lengths = np.where(step == 0, np.inf, (walls[F, ahead] - gamma[F]) / step)
            length = float(lengths.min())
            if length < 1:
                gamma[F] += length * step
                hit = lengths <= length
                stopped = F[hit]
                gamma[stopped], place[stopped], free[stopped] = walls[stopped, ahead[hit]], ahead[hit] - 1, False
                continue
            gamma[F] = solution[:-1]
        at = np.flatnonzero(~free)
        f = (K @ gamma - h)[at]
        # A kink holds its multiplier while f + b is within these; below the first it wants to grow, above to fall.
        least, most = levels[at, place[at] + 1] - f, levels[at, place[at]] - f
        if not len(F):
            b = float(least.max() + most.min()) / 2
        grow, decrease = float(least.max(initial=-np.inf)) - b, b - float(most.min(initial=np.inf))
        if max(grow, decrease) <= _TOL:
            break
        # With nobody free the balance lets only two move together.
        if grow >= decrease or not len(F):
            i = at[least.argmax()]
            free[i], place[i] = True, place[i] + 1
        if grow < decrease or not len(F):
            free[at[most.argmin()]] = True
    return gamma, b
