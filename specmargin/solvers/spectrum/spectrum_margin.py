"""STORM, STOAM, MKL and, on one kernel, RMM without CVXPY: an interior point, then the active set.

`spectrum_margin` solves any `objectives.SpectrumMargin` (ordered or not, with or without a bound on the decisions,
over one graph or several, or on a fixed spectrum) and `relative_margin` the same classifier on a Gram matrix. A step of
the interior point costs O(q l^2 + l^3) for l labelled samples and q eigenvectors, O(l q^2 + q^3) when l > q; the paper
expects O(q l^3) of a general solver. As soon as the interior point knows who is active, Newton's method on these
equations gives the last digits. What is returned is the point with the smallest gap, which the objective recomputes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.objectives import RMM, FixedSpectrum, RelativeMargin, SpectrumMargin, SpectrumPoint
from specmargin.objectives.margin_over_cone import MarginOverCone
from specmargin.results import Certificate, History, SolveResult, Status
from specmargin.solvers.spectrum.active_set import ActiveSet, identify, on_spectrum, polish, restore_margins
from specmargin.solvers.spectrum.interior_point import MarginData, Point, interior_step, start
from specmargin.solvers.spectrum.interior_run import InteriorRun, require_accuracy
from specmargin.typing import FloatArray

__all__ = ["margin_over_cone", "relative_margin", "spectrum_margin"]

_CONVERGED = 1e-12
"""Relative gap above which margins on a kink are looked at one by one."""
_STEEP, _STEEPER, _STEEPEST = 1e5, 4.0, 1e12
"""C of the iteration above which smaller ones lead the way: the first, the ratio of the next, where they end."""
_FINEST = 2e-16
"""Share of the largest eigenvalue of a kernel above which smaller ones count, where the answer is not proved else."""
_ON_KINK = 1e-7
"""Distance from a kink of the loss at which a margin of the warm start counts as on it."""


class _Candidate(NamedTuple):
    """What the objective makes of an iterate: its certificate, and the variables of the repaired point."""

    certificate: Certificate
    point: SpectrumPoint


class _Iterate(NamedTuple):
    """What the objective needs of an iterate, in the units of the iteration."""

    gamma: FloatArray
    kappa: FloatArray
    b: float


class _Problem(NamedTuple):
    """A problem in the units of the iteration, where the mean diagonal of the kernel is next to one.

    Features s U with C / s^2 are the same problem. `scale` is C here over that of the objective, and the multipliers of
    the objective over those here; `certify` is told, where they are known, which margins are fixed; `at` returns the
    same problem at another C of the iteration.
    """

    data: MarginData
    certify: Callable[[_Iterate, FloatArray | None], _Candidate]
    at: Callable[[float], _Problem]
    name: str
    scale: float


def spectrum_margin(
    obj: SpectrumMargin, *, tol: float = 1e-9, max_iter: int = 100, warm_start: SolveResult | None = None
) -> SolveResult:
    """Learn a spectrum and a large (relative) margin on it, with proof.

    Parameters
    ----------
    obj : SpectrumMargin
        STORM, STOAM, MKL-R, MKL-S, or an SVM or relative margin machine on a fixed spectrum.
    tol : float, default 1e-9
        Relative gap at which the interior point stops. The active set usually ends below 1e-12 whatever is asked.
    max_iter : int, default 100
        Steps of the interior point.
    warm_start : SolveResult, optional
        Answer of the same problem with other C or B: its active set is tried first.

    Returns
    -------
    SolveResult
        ``delta`` (q,), ``kappa`` (m,), ``v`` (q,), ``b``, ``gamma`` (l,), ``f`` (n,); multipliers ``balance`` (b) and
        ``sums`` (kappa), as those of `specmargin.problems.storm`. OPTIMAL if the gap, rounding
        included, is at most `tol`, else what `Certificate.status` makes of it. The history holds, per step, the
        estimated gap, the length of the step and the largest residual; for a large C the steps of smaller ones, too.

    Raises
    ------
    ValueError
        If `tol` or `max_iter` is not positive, or the warm start is of another problem.
    SolverError
        If no step can be taken at all, which speaks of data with NaN.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eqs. 7 and 16. Mehrotra, On the implementation of a primal-dual
    interior point method, SIAM J. Optim. 2, 1992.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> labels = sm.encode_labels(sm.hide_labels(y_true, per_class=3, random_state=0))
    >>> spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=20)
    >>> result = spectrum_margin(sm.objectives.SpectrumMargin(spectrum, labels, C=10.0, B=1.5))
    >>> result.status.name, result.certificate.relative_gap < 1e-12
    ('OPTIMAL', True)
    """
    return margin_over_cone(obj, "spectrum_margin", tol, max_iter, warm_start)


def margin_over_cone(
    obj: MarginOverCone, solver: str, tol: float, max_iter: int, warm_start: SolveResult | None = None
) -> SolveResult:
    """Solve for two classes and the hinge, whatever the columns are.

    `spectrum_margin` is this over eigenvectors, `block_margin` over blocks.
    """
    problem = _over_cone(obj)
    neighbor = None if warm_start is None else _neighbor(problem, warm_start, problem.scale)
    outcome = _solve(problem, tol, max_iter, neighbor)
    point = outcome.candidate.point
    variables = obj.solution(point)
    duals = {"balance": variables["b"], "sums": variables["kappa"]}
    return outcome.result(obj.name, solver, variables, duals, tol)


def relative_margin(obj: RMM, *, tol: float = 1e-9, max_iter: int = 100) -> SolveResult:
    """Train the relative margin machine, or with B = inf the SVM, on a Gram matrix.

    The kernel's eigenvectors, weighted by its eigenvalues, are a spectrum that is fixed: the solver is that of
    `spectrum_margin`.

    Parameters
    ----------
    obj : RMM
        Objective on the Gram matrix of the labelled samples.
    tol, max_iter
        The same as there.

    Returns
    -------
    SolveResult
        ``gamma`` (l,) with f = K gamma + b, ``b``, and ``f`` (l,) at the labelled samples; the dual ``gamma`` (l,), the
        balanced multipliers that the certificate rests on.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eqs. 5 and 6.

    Examples
    --------
    >>> import specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> obj = sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0, B=1.5)
    >>> relative_margin(obj).variables["f"].round(6).tolist()
    [-1.5, -0.9, 0.3, 1.5]
    """
    problem = _on_kernel(obj)
    outcome = _solve(problem, tol, max_iter, None)
    certificate = outcome.candidate.certificate
    if not certificate.is_optimal(tol) and _rank(finer := _on_kernel(obj, share=_FINEST)) > _rank(problem):
        # A large C makes the most of small eigenvalues, rounding or not: K is what is given.
        again = _solve(finer, tol, max_iter, None)
        if again.candidate.certificate.gap < certificate.gap or not certificate.gap >= 0:
            outcome = again._replace(seconds=outcome.seconds + again.seconds)
    gamma, b = outcome.candidate.point.v, outcome.candidate.point.b
    variables = {"gamma": gamma, "b": np.asarray(b), "f": obj.K @ gamma + b}
    multipliers = obj.loss.repair_multipliers(obj.labels.sign, outcome.candidate.point.gamma)
    return outcome.result(
        problem.name, "relative_margin", variables, {"balance": np.asarray(b), "gamma": multipliers}, tol
    )


def _over_cone(obj: MarginOverCone) -> _Problem:
    """Return the problem of an objective."""
    y, cone = obj.labels.sign, obj.cone
    diagonal = np.einsum("ij,ij->j", obj.U, obj.U) @ cone.weights(obj.rho / (cone.m * cone.c) + obj.eps) / len(y)
    # A power of two leaves every digit as it is.
    unit = 2.0 ** round(0.5 * np.log2(diagonal)) if 0 < diagonal < np.inf else 1.0
    scale = unit**2
    data = MarginData(obj.U / unit, y, cone, obj.loss.C * scale, obj.B, obj.rho, obj.eps)

    def certify(at: _Iterate, kink: FloatArray | None) -> _Candidate:
        gamma = at.gamma / scale
        point = obj.repair(gamma, at.kappa, at.b, data.weights(at.kappa) * (obj.U.T @ gamma))
        candidate = _Candidate(obj.prove(point, gamma, at.kappa), point)
        if kink is None or candidate.certificate.is_optimal(_CONVERGED):
            return candidate
        back = point.delta[:, None] * obj.U[~np.isnan(kink)].T
        restored = restore_margins(y, kink, obj.B, obj.U, back, point.v, point.b)
        return _better(
            candidate, restored, obj.U, obj.loss, y, lambda v, b: obj.prove(point._replace(v=v, b=b), gamma, at.kappa)
        )

    largest = float(obj.labels.weights_or_ones.max())
    return _Problem(data, certify, lambda C: _over_cone(obj.with_(C=C / scale / largest)), obj.name, scale)


def _on_kernel(obj: RMM, eigen: tuple[FloatArray, FloatArray] | None = None, share: float | None = None) -> _Problem:
    """Return the problem on a Gram matrix: its eigenvectors, weighted by its eigenvalues, are a fixed spectrum.

    Eigenvalues below `share` of the largest are left out, by default those that rounding may have made.
    """
    y = obj.labels.sign
    values, vectors = eigen = np.linalg.eigh((obj.K + obj.K.T) / 2) if eigen is None else eigen
    kept = values > (1e-15 * len(y) if share is None else share) * max(float(values[-1]), 0.0)
    if not kept.any():
        raise InvalidInputError("K is zero or negative definite: no kernel is left to learn with; check the features.")
    # The trace of the kernel is one in the units of the iteration: decisions stay, C and the objective are scaled.
    scale = float(values[kept].sum()) / len(y)
    cone = FixedSpectrum(values[kept])
    data = MarginData(np.sqrt(len(y)) * vectors[:, kept], y, cone, obj.loss.C * scale, obj.B)

    def certify(at: _Iterate, kink: FloatArray | None) -> _Candidate:
        gamma = at.gamma / scale
        # What is left of large multipliers in the span of the kernel may be small, and then has fewer digits to lose.
        within = vectors[:, kept] @ (vectors[:, kept].T @ gamma)
        certificate, expansion, offset = obj.repaired(gamma, at.b, within)
        candidate = _Candidate(certificate, SpectrumPoint(gamma, at.kappa, cone.delta, expansion, offset))
        if kink is None or certificate.is_optimal(_CONVERGED):
            return candidate
        restored = restore_margins(y, kink, obj.B, obj.K, np.eye(len(y))[:, ~np.isnan(kink)], expansion, offset)
        dual = obj.loss.repair_multipliers(y, gamma)
        return _better(candidate, restored, obj.K, obj.loss, y, lambda v, b: obj.prove(dual, v, b))

    name = "RMM" if np.isfinite(obj.B) else "SVM"
    largest = float(obj.labels.weights_or_ones.max())

    def at(C: float) -> _Problem:
        return _on_kernel(replace(obj, C=C / scale / largest), eigen, share)

    return _Problem(data, certify, at, name, scale)


def _rank(problem: _Problem) -> int:
    return int(problem.data.U.shape[1])


def _better(
    candidate: _Candidate,
    restored: tuple[FloatArray, float] | None,
    A: FloatArray,
    loss: RelativeMargin,
    y: FloatArray,
    certify: Callable[[FloatArray, float], Certificate],
) -> _Candidate:
    """Return the candidate at restored (v, b) where its gap is the smaller one."""
    if restored is None or not (np.isfinite(restored[0]).all() and np.isfinite(restored[1])):
        return candidate
    # Samples off the kinks may now exceed B.
    v, b = loss.correct_rounding(y, A, *restored, candidate.certificate.primal_objective)
    certificate = certify(v, b)
    if not certificate.gap < candidate.certificate.gap:
        return candidate
    return _Candidate(certificate, candidate.point._replace(v=v, b=b))


class _Outcome(NamedTuple):
    """The best candidate, and the run that led to it."""

    candidate: _Candidate
    iterate: _Iterate
    history: History
    n_iter: int
    seconds: float
    message: str
    out_of_steps: bool

    def result(
        self, problem: str, solver: str, variables: dict[str, FloatArray], duals: dict[str, FloatArray], tol: float
    ) -> SolveResult:
        """Return what the solver returns; its status is that of the certificate."""
        certificate = self.candidate.certificate
        return SolveResult(
            problem=problem,
            status=certificate.status(tol, Status.MAX_ITER if self.out_of_steps else None),
            variables=variables,
            duals=duals,
            certificate=certificate,
            history=self.history,
            solver=solver,
            message=self.message,
            n_iter=self.n_iter,
            seconds=self.seconds,
        )


class _Best:
    """The candidate of the smallest gap so far."""

    def __init__(self, problem: _Problem) -> None:
        self.problem = problem
        self.candidate: _Candidate | None = None
        self.iterate: _Iterate | None = None
        self.gap = np.inf

    def consider(self, iterate: _Iterate, kink: FloatArray | None = None) -> bool:
        """Certify an iterate; return whether it is the best one."""
        candidate = self.problem.certify(iterate, kink)
        gap = candidate.certificate.relative_gap
        gap = gap if gap >= 0 else np.inf  # a contradiction, or nan: better than nothing at all
        if not np.isfinite(candidate.certificate.primal_objective) or (self.candidate is not None and gap >= self.gap):
            return False
        self.candidate, self.iterate, self.gap = candidate, iterate, gap
        return True

    def is_optimal(self, tol: float) -> bool:
        """Whether the best candidate is proved."""
        return self.candidate is not None and self.candidate.certificate.is_optimal(tol)


def _solve(problem: _Problem, tol: float, max_iter: int, neighbor: _Iterate | None) -> _Outcome:
    """Solve; for a large C by way of smaller ones.

    Where the labels are separated the answer does not depend on C once it is large, and elsewhere the active set no
    longer does: what is hard from a cold start, where the multipliers may be of any size up to C, is easy from there.
    """
    require_accuracy(tol, max_iter)
    begin = time.perf_counter()
    history, best = History(), _Best(problem)
    if neighbor is not None:
        _from_neighbor(problem.data, neighbor, best)
    C = _STEEP
    last = min(float(np.max(problem.data.C)), _STEEPEST)
    while last > C and not best.is_optimal(tol):
        stage = _Best(problem.at(C))
        if neighbor is not None:
            _from_neighbor(stage.problem.data, neighbor, stage)
        if not stage.is_optimal(tol):
            _interior(stage, tol, max_iter, history)
        if (neighbor := stage.iterate) is None:
            break
        _from_neighbor(problem.data, neighbor, best)
        C *= _STEEPER
    message, out_of_steps = "active set of a neighbour", False
    if not best.is_optimal(tol):
        message, out_of_steps = _interior(best, tol, max_iter, history)
    if best.candidate is None or best.iterate is None:
        raise SolverError(
            f"{problem.name}: no step led to finite numbers ({message}); check features and graph for NaN."
        )
    seconds = time.perf_counter() - begin
    return _Outcome(best.candidate, best.iterate, history, len(history), seconds, message, out_of_steps)


def _interior(best: _Best, tol: float, max_iter: int, history: History) -> tuple[str, bool]:
    """Run the interior point until the active set, or it itself, is proved optimal; return how it ended."""
    data = best.problem.data
    run = InteriorRun(data, start(data), interior_step, _value, history)
    attempt, tried = 1e-2, 0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for k in range(1, max_iter + 1):
            if not run.advance():
                break
            point, gap = run.point, run.gap
            if gap < attempt or (gap < 1e-2 and k >= tried + 3):
                attempt, tried = min(attempt, gap) / 10, k
                polished = polish(data, identify(data, point), point.kappa, point.gamma, point.b)
                if polished is not None and polished.violation < 1e-6:
                    best.consider(_Iterate(*polished.solution[:3]), polished.active.kink)
                    if best.is_optimal(min(tol, 1e-11)):
                        run.message = f"active set after {k} steps"
                        break
            if gap < 0.1 * tol:
                better = best.consider(_Iterate(point.gamma, point.kappa, point.b))
                if best.is_optimal(tol) and (gap < 1e-4 * tol or not better):
                    run.message = "interior point"
                    break
            if run.gives_up():
                break
    if not best.is_optimal(tol):
        best.consider(_Iterate(run.point.gamma, run.point.kappa, run.point.b))
    return run.message, not run.message


def _value(data: MarginData, point: Point) -> float:
    """Return the dual objective of an iterate plus its products: a cheap stand-in for the primal one."""
    value = float(point.x[0].sum()) - data.rho * point.tau
    if len(point.x) == 4:
        value -= data.B * float(point.x[2].sum() + point.x[3].sum())
    return abs(value) + point.products()


def _neighbor(problem: _Problem, given: SolveResult, scale: float) -> _Iterate:
    """Return a result of another C or B in the units of the iteration."""
    data = problem.data
    gamma, kappa = np.asarray(given.variables["gamma"], dtype=float), np.asarray(given.variables["kappa"], dtype=float)
    if gamma.shape != data.y.shape or kappa.shape != (data.cone.m,):
        raise InvalidInputError(
            f"warm_start has {gamma.shape[0]} multipliers and {kappa.shape[0]} extreme spectra, this problem "
            f"{len(data.y)} and {data.cone.m}; pass a result of the same labels and spectrum."
        )
    return _Iterate(gamma * scale, np.maximum(kappa - data.eps, 0.0), float(given.variables["b"]))


def _from_neighbor(data: MarginData, given: _Iterate, best: _Best) -> None:
    """Try the active set of a neighbouring problem; multipliers that were at the old C are put at the new one."""
    gamma, kappa, b = given
    delta = data.weights(kappa)
    t = data.y * (data.U @ (delta * (data.U.T @ gamma)) + b)
    kink = np.full(len(t), np.nan)
    for value in (1.0, data.B, -data.B):
        if np.isfinite(value):
            kink[np.abs(t - value) < _ON_KINK * max(1.0, value)] = value
    active = ActiveSet(kink, np.where(t < 1.0, data.C, 0.0), kappa * data.cone.c > 1e-9 * data.rho)
    moved = np.isnan(kink) & (np.abs(data.y * gamma - active.fixed) > _ON_KINK * data.C)
    if moved.any() and (grown := on_spectrum(data, active, kappa, gamma)) is not None:
        gamma, b = grown
    polished = polish(data, active, kappa, gamma, b)
    if polished is not None and polished.violation < 1e-6:
        best.consider(_Iterate(*polished.solution[:3]), polished.active.kink)
    else:
        best.consider(_Iterate(gamma, kappa, b), kink)
