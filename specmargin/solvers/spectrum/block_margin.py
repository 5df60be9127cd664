"""A classifier and one weight per block of features without CVXPY: spectral filters, several kernels of any rank.

`block_margin` solves any `objectives.BlockMargin`. For two classes and the hinge, with or without a bound on the
decisions, it is the solver of `spectrum_margin`, whose active set gives the last digits; for squared losses, and for
several classes that share their weights, the interior point of `block_interior_point`. What is returned is the point
of the smallest gap, which the objective recomputes.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from specmargin.exceptions import SolverError
from specmargin.objectives.block_margin import BlockMargin
from specmargin.objectives.margin_over_cone import SpectrumPoint
from specmargin.results import Certificate, History, SolveResult, Status
from specmargin.solvers.spectrum.active_set import restore_margins
from specmargin.solvers.spectrum.block_interior_point import BlockData, BlockPoint, block_start, block_step
from specmargin.solvers.spectrum.interior_run import InteriorRun, require_accuracy
from specmargin.solvers.spectrum.spectrum_margin import margin_over_cone
from specmargin.typing import FloatArray

__all__ = ["block_margin"]

_CONVERGED = 1e-12
"""Relative gap above which margins on a kink are looked at one by one."""


def block_margin(obj: BlockMargin, *, tol: float = 1e-9, max_iter: int = 100) -> SolveResult:
    """Learn a weight per block together with a classifier, with proof.

    Parameters
    ----------
    obj : BlockMargin
        Objective with two classes or more, with any of its losses.
    tol : float, default 1e-9
        Relative gap to be proved.
    max_iter : int, default 100
        Steps of the interior point; 10 to 20 are usual.

    Returns
    -------
    SolveResult
        ``delta`` (m,) of sum one, ``kappa`` (rays,), ``v`` and ``b`` as `BlockMargin` names them, ``gamma`` (l,) or
        (l, K) with w_b = delta_b F_b[labelled]'gamma, ``f`` (n,) or (n, K); multipliers ``balance`` (b) and ``sums``
        (kappa). OPTIMAL if the gap, rounding included, is at most `tol`, else what `Certificate.status` makes of it.
        The history holds, per step, the estimated gap, the length of the step and the largest residual.

    Raises
    ------
    ValueError
        If `tol` or `max_iter` is not positive.
    SolverError
        If no step can be taken at all, which speaks of data with NaN.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eqs. 7 and 16. Mehrotra, On the implementation of a primal-dual
    interior point method, SIAM J. Optim. 2, 1992.

    Examples
    --------
    >>> import specmargin as sm
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 20)
    >>> blocks = [np.eye(3)[y] + rng.normal(size=(60, 3)), rng.normal(size=(60, 5))]
    >>> blocks = [F * np.sqrt(60 / (F**2).sum()) for F in blocks]
    >>> result = block_margin(sm.objectives.BlockMargin(blocks, sm.encode_labels(y), C=1.0, loss="squared"))
    >>> result.status.name, result.certificate.relative_gap < 1e-9, result.variables["delta"].round(2).tolist()
    ('OPTIMAL', True, [0.66, 0.34])
    """
    require_accuracy(tol, max_iter)
    if obj.labels.is_binary and obj.loss.name == "hinge":
        return margin_over_cone(obj, "block_margin", tol, max_iter)
    begin = time.perf_counter()
    problem = _Problem.of(obj)
    best, history, message, out_of_steps = _interior(problem, tol, max_iter)
    point, certificate = best.point, best.certificate
    variables = obj.solution(point)
    return SolveResult(
        problem=obj.name,
        status=certificate.status(tol, Status.MAX_ITER if out_of_steps else None),
        variables=variables,
        duals={"balance": variables["b"], "sums": variables["kappa"]},
        certificate=certificate,
        history=history,
        solver="block_margin",
        message=message,
        n_iter=len(history),
        seconds=time.perf_counter() - begin,
    )


class _Candidate(NamedTuple):
    """What the objective makes of an iterate."""

    certificate: Certificate
    point: SpectrumPoint


class _Problem(NamedTuple):
    """An objective, and the numbers that the iteration needs of it."""

    obj: BlockMargin
    data: BlockData

    @classmethod
    def of(cls, obj: BlockMargin) -> _Problem:
        sign = obj.labels.sign
        Y = sign[:, None] if sign.ndim == 1 else sign
        C = np.broadcast_to(np.asarray(obj.loss.C, dtype=float), (len(Y),))[:, None]
        rays = obj.cone.of_rays(obj.grams)
        return cls(obj, BlockData(obj.U, rays, obj.cone, Y, C, obj.loss.name, obj.B, obj.rho, obj.eps))

    def certify(self, at: BlockPoint) -> _Candidate:
        """Repair an iterate and prove how good it is."""
        obj = self.obj
        gamma, b = (at.gamma[:, 0], at.b[0]) if obj.labels.is_binary else (at.gamma, at.b)
        z = obj.U.T @ gamma
        delta = obj.cone.weights(at.kappa + obj.eps)
        point = obj.repair(gamma, at.kappa, b, (delta if z.ndim == 1 else delta[:, None]) * z)
        candidate = _Candidate(obj.prove(point, gamma, at.kappa), point)
        if obj.loss.name != "hinge" or candidate.certificate.is_optimal(_CONVERGED):
            return candidate
        v, b = self._restored(at, point)
        certificate = obj.prove(point._replace(v=v, b=b), gamma, at.kappa)
        better = certificate.gap < candidate.certificate.gap
        return _Candidate(certificate, point._replace(v=v, b=b)) if better else candidate

    def _restored(self, at: BlockPoint, point: SpectrumPoint) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients with every margin on a kink of the hinge where it belongs: class by class.

        A margin that lacks a rounding costs C times that.
        """
        obj, loss = self.obj, getattr(self.obj.loss, "one", self.obj.loss)
        v, b = point.v.reshape(len(point.v), -1).copy(), np.atleast_1d(np.array(point.b))
        scale = max(float(np.abs(at.gamma).max()), 1e-300)
        positive = at.x > scale * at.s
        for k in range(v.shape[1]):
            kink = np.where(positive[0][:, k] & positive[1][:, k], 1.0, np.nan)
            if len(positive) == 4:
                kink[positive[2][:, k]], kink[positive[3][:, k]] = obj.B, -obj.B
            y, back = self.data.Y[:, k], point.delta[:, None] * obj.U[~np.isnan(kink)].T
            moved = restore_margins(y, kink, obj.B, obj.U, back, v[:, k], float(b[k]))
            if moved is not None and np.isfinite(moved[0]).all() and np.isfinite(moved[1]):
                primal = obj.primal_objective(point)
                v[:, k], b[k] = loss.correct_rounding(y, obj.U, *moved, primal)
        return v.reshape(point.v.shape), b.reshape(np.shape(point.b))


def _interior(problem: _Problem, tol: float, max_iter: int) -> tuple[_Candidate, History, str, bool]:
    """Run the interior point; return the candidate of the smallest gap, and how it ended."""
    best: _Candidate | None = None
    run = InteriorRun(problem.data, block_start(problem.data), block_step, _value, History())

    def consider(at: BlockPoint) -> bool:
        nonlocal best
        candidate = problem.certify(at)
        size = candidate.certificate.relative_gap
        if not np.isfinite(candidate.certificate.primal_objective):
            return False
        if best is not None and not 0 <= size < best.certificate.relative_gap:
            return False
        best = candidate
        return True

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(max_iter):
            if not run.advance():
                break
            if run.gap < 0.1 * tol:
                better = consider(run.point)
                proved = best is not None and best.certificate.is_optimal(tol)
                if proved and (run.gap < 1e-4 * tol or not better):
                    run.message = "interior point"
                    break
            if run.gives_up():
                break
    if best is None or not best.certificate.is_optimal(tol):
        consider(run.point)
    if best is None:
        raise SolverError(
            f"{problem.obj.name}: no step led to finite numbers ({run.message}); check features and graph for NaN."
        )
    return best, run.history, run.message, not run.message


def _value(data: BlockData, point: BlockPoint) -> float:
    """Return the dual objective of an iterate plus its products: a cheap stand-in for the primal one."""
    s = data.Y * point.gamma
    value: Any = s.sum() if data.loss != "hinge" else point.x[0].sum()
    if data.loss != "hinge":
        value = value - (s**2 / (2 * data.C)).sum()
    elif len(point.x) == 4:
        value = value - data.B * (point.x[2].sum() + point.x[3].sum())
    q = float(data.squares(data.U.T @ point.gamma).sum()) if data.eps else 0.0
    return abs(float(value) - data.rho * point.tau - data.eps * q) + point.products()
