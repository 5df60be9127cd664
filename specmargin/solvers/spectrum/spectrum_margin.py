"""STORM, STOAM, MKL and, on one kernel, RMM without CVXPY: an interior point, then the active set.

`spectrum_margin` solves any `objectives.SpectrumMargin` (ordered or not, with or without a bound on the decisions,
over one graph or several, or on a fixed spectrum) and `relative_margin` the same classifier on a Gram matrix. A step of
the interior point costs O(q l^2 + l^3) for l labelled samples and q eigenvectors, O(l q^2 + q^3) when l > q; the paper
expects O(q l^3) of a general solver. As soon as the interior point knows who is active, Newton's method on these
equations gives the last digits. What is returned is the point with the smallest gap, which the objective recomputes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives import RMM, FixedSpectrum, SpectrumMargin, SpectrumPoint
from specmargin.objectives.cones.margin import MarginOverCone
from specmargin.results import Certificate, SolveResult
from specmargin.solvers.spectrum.active_set import restore_margins
from specmargin.solvers.spectrum.interior_point import MarginData
from specmargin.solvers.spectrum.interior_run import Candidate, Iterate, Problem, neighbor, solve
from specmargin.typing import BoolArray, FloatArray

__all__ = ["certified", "margin_over_cone", "over_cone", "relative_margin", "spectrum_margin"]

_CONVERGED = 1e-12
"""Relative gap above which margins on a kink are looked at one by one."""
_FINEST = 2e-16
"""Share of the largest eigenvalue of a kernel above which smaller ones count, where the answer is not proved else."""


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
    return margin_over_cone(obj, over_cone(obj), "spectrum_margin", tol, max_iter, warm_start)


def margin_over_cone(
    obj: MarginOverCone,
    problem: Problem,
    solver: str,
    tol: float,
    max_iter: int,
    warm_start: SolveResult | None = None,
) -> SolveResult:
    """Solve, whatever the columns are: `spectrum_margin` is this over eigenvectors, `block_margin` over blocks."""
    outcome = solve(problem, tol, max_iter, None if warm_start is None else neighbor(problem, warm_start))
    variables = obj.solution(outcome.candidate.point)
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
    outcome = solve(problem, tol, max_iter, None)
    certificate = outcome.candidate.certificate
    if not certificate.is_optimal(tol) and _rank(finer := _on_kernel(obj, share=_FINEST)) > _rank(problem):
        # A large C makes the most of small eigenvalues, rounding or not: K is what is given.
        again = solve(finer, tol, max_iter, None)
        if again.candidate.certificate.gap < certificate.gap or not certificate.gap >= 0:
            outcome = again._replace(seconds=outcome.seconds + again.seconds)
    gamma, b = outcome.candidate.point.v, outcome.candidate.point.b
    variables = {"gamma": gamma, "b": np.asarray(b), "f": obj.K @ gamma + b}
    multipliers = obj.loss.repair_multipliers(obj.labels.sign, outcome.candidate.point.gamma)
    return outcome.result(
        problem.name, "relative_margin", variables, {"balance": np.asarray(b), "gamma": multipliers}, tol
    )


def over_cone(obj: MarginOverCone) -> Problem:
    """Return the problem of an objective of two classes with the hinge."""
    y, cone = obj.labels.sign, obj.cone
    diagonal = np.einsum("ij,ij->j", obj.U, obj.U) @ cone.weights(obj.rho / (cone.m * cone.c) + obj.eps) / len(y)
    # A power of two leaves every digit as it is.
    unit = 2.0 ** round(0.5 * np.log2(diagonal)) if 0 < diagonal < np.inf else 1.0
    scale = unit**2
    data = MarginData(obj.U / unit, y, cone, obj.loss.C * scale, obj.B, obj.rho, obj.eps)
    largest = float(obj.labels.weights_or_ones.max())
    return Problem(
        data,
        lambda at, kink: certified(obj, at.gamma / scale, at.kappa, at.b, kink),
        obj.name,
        lambda C: over_cone(obj.with_(C=C / scale / largest)),
        scale,
    )


def certified(obj: MarginOverCone, gamma: FloatArray, kappa: FloatArray, b: Any, kink: FloatArray | None) -> Candidate:
    """Repair an iterate in the units of its objective, and prove how good it is."""
    z, delta = obj.U.T @ gamma, obj.cone.weights(kappa + obj.eps)
    point = obj.repair(gamma, kappa, b, (delta if z.ndim == 1 else delta[:, None]) * z)
    candidate = Candidate(obj.prove(point, gamma, kappa), point)
    if kink is None or candidate.certificate.is_optimal(_CONVERGED):
        return candidate
    return _restored(
        candidate,
        obj,
        obj.U,
        lambda on: point.delta[:, None] * obj.U[on].T,
        kink,
        lambda v, b: obj.prove(point._replace(v=v, b=b), gamma, kappa),
    )


def _on_kernel(obj: RMM, eigen: tuple[FloatArray, FloatArray] | None = None, share: float | None = None) -> Problem:
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

    def certify(at: Iterate, kink: FloatArray | None) -> Candidate:
        gamma = at.gamma / scale
        # What is left of large multipliers in the span of the kernel may be small, and then has fewer digits to lose.
        within = vectors[:, kept] @ (vectors[:, kept].T @ gamma)
        certificate, expansion, offset = obj.repaired(gamma, at.b, within)
        candidate = Candidate(certificate, SpectrumPoint(gamma, at.kappa, cone.delta, expansion, offset))
        if kink is None or certificate.is_optimal(_CONVERGED):
            return candidate
        return _restored(
            candidate,
            obj,
            obj.K,
            lambda on: np.eye(len(y))[:, on],
            kink,
            lambda v, b: obj.prove(obj.loss.repair_multipliers(y, gamma), v, b),
        )

    name = "RMM" if np.isfinite(obj.B) else "SVM"
    largest = float(obj.labels.weights_or_ones.max())

    def at(C: float) -> Problem:
        return _on_kernel(replace(obj, C=C / scale / largest), eigen, share)

    return Problem(data, certify, name, at, scale)


def _rank(problem: Problem) -> int:
    return int(problem.data.U.shape[1])


def _restored(
    candidate: Candidate,
    obj: MarginOverCone | RMM,
    A: FloatArray,
    back: Callable[[BoolArray], FloatArray],
    kink: FloatArray,
    prove: Callable[[FloatArray, Any], Certificate],
) -> Candidate:
    """Return the candidate with every margin on a kink where it belongs, class by class, if its gap is the smaller one.

    A margin that lacks a rounding costs C times that. Decisions are A v + b, and v moves in the span of ``back(on)``.
    """
    point, loss, primal = candidate.point, getattr(obj.loss, "one", obj.loss), candidate.certificate.primal_objective
    y, kinks, v = (part.reshape(len(part), -1) for part in (obj.labels.sign, kink, point.v.copy()))
    b = np.atleast_1d(np.array(point.b, dtype=float))
    for k in range(v.shape[1]):
        moved = restore_margins(y[:, k], kinks[:, k], obj.B, A, back(~np.isnan(kinks[:, k])), v[:, k], float(b[k]))
        if moved is not None and np.isfinite(moved[0]).all() and np.isfinite(moved[1]):
            # Samples off the kinks may now exceed B.
            v[:, k], b[k] = loss.correct_rounding(y[:, k], A, *moved, primal)
    moved_point = point._replace(v=v.reshape(point.v.shape), b=b.reshape(np.shape(point.b))[()])
    certificate = prove(moved_point.v, moved_point.b)
    return Candidate(certificate, moved_point) if certificate.gap < candidate.certificate.gap else candidate
