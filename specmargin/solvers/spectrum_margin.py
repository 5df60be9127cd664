"""STORM, STOAM and multiple kernel learning without CVXPY: an interior point, then the active set.

`spectrum_margin` solves any `objectives.SpectrumMargin` (ordered or not, with or without a bound on the decisions,
over one graph or several, or on a fixed spectrum) and `relative_margin` the same machine on a Gram matrix. A step of
the interior point costs O(q l^2 + l^3) for l labelled samples and q eigenvectors, O(l q^2 + q^3) when l > q; the paper
expects O(q l^3) of a general solver. As soon as the interior point knows who is active, Newton's method on these
equations gives the last digits. What is returned is the point with the smallest gap, which the objective recomputes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from specmargin.exceptions import SolverError
from specmargin.objectives import RMM, FixedSpectrum, SpectrumMargin, SpectrumPoint
from specmargin.results import Certificate, History, SolveResult, Status
from specmargin.solvers._active_set import ActiveSet, identify, polish
from specmargin.solvers._interior_point import MarginData, Point, interior_step, start
from specmargin.typing import FloatArray

__all__ = ["relative_margin", "spectrum_margin"]

_PATIENCE = 12
"""Steps without a smaller gap, once it is small, after which rounding has the last word."""
_SMALL = 1e-5
"""Estimated gap from which on it has to shrink; far from the optimum it may well grow for a while."""
_CLOSE = 1e-3
"""Estimated gap from which on the margins must not drift from those of the multipliers."""
_ON_KINK = 1e-7
"""Distance from a kink of the loss at which a margin of the warm start counts as on it."""


class _Candidate(NamedTuple):
    """What the objective makes of an iterate: its certificate, and the variables of the repaired point."""

    certificate: Certificate
    point: SpectrumPoint


_Certify = Callable[[FloatArray, FloatArray, float], _Candidate]


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
        Of the same problem with other C or B: its active set is tried first.

    Returns
    -------
    SolveResult
        ``delta`` (q,), ``kappa`` (m,), ``v`` (q,), ``b``, ``gamma`` (l,), ``f`` (n,); multipliers ``balance`` (b) and
        ``sums`` (kappa), as those of `specmargin.problems.storm`. OPTIMAL if the gap is at most
        `tol`, else OPTIMAL_INACCURATE or MAX_ITER with the gap that was reached. The history holds, per step, the
        estimated gap, the length of the step and the largest residual.

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
    data = MarginData(obj.U, obj.labels.sign, obj.cone, obj.C, obj.B, obj.rho, obj.eps)

    def certify(gamma: FloatArray, kappa: FloatArray, b: float) -> _Candidate:
        point = obj.repair(gamma, kappa, b, data.weights(kappa) * (data.U.T @ gamma))
        return _Candidate(obj.certify(point, gamma, kappa), point)

    found = _solve(data, certify, obj.name, tol, max_iter, warm_start)
    point = found.candidate.point
    variables = {
        "delta": point.delta,
        "kappa": point.kappa + obj.eps,
        "v": point.v,
        "b": np.asarray(point.b),
        "gamma": point.gamma,
        "f": obj.decision(point.v, point.b),
    }
    duals = {"balance": np.asarray(point.b), "sums": variables["kappa"]}
    return found.result(obj.name, "spectrum_margin", variables, duals, tol)


def relative_margin(obj: RMM, *, tol: float = 1e-9, max_iter: int = 100) -> SolveResult:
    """Train the relative margin machine, or with B = inf the SVM, on a Gram matrix.

    The kernel's eigenvectors, weighted by its eigenvalues, are a spectrum that is fixed: the solver is that of
    `spectrum_margin`.

    Parameters
    ----------
    obj : RMM
        On the Gram matrix of the labelled samples.
    tol, max_iter
        As there.

    Returns
    -------
    SolveResult
        ``gamma`` (l,) with f = K gamma + b, ``b``, and ``f`` (l,) at the labelled samples.

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
    y = obj.labels.sign
    values, vectors = np.linalg.eigh((obj.K + obj.K.T) / 2)
    kept = values > 1e-15 * len(y) * max(float(values[-1]), 0.0)
    if not kept.any():
        raise ValueError("K is zero or negative definite: no kernel is left to learn with; check the features.")
    # The trace of the kernel is one in the units of the iteration: decisions stay, C and the objective are scaled.
    trace = float(values[kept].sum())
    scale = trace / len(y)
    U, cone = np.sqrt(len(y)) * vectors[:, kept], FixedSpectrum(values[kept])
    data = MarginData(U, y, cone, obj.C * scale, obj.B)

    def certify(gamma: FloatArray, kappa: FloatArray, b: float) -> _Candidate:
        certificate, expansion, offset = obj.repaired(gamma / scale, b)
        return _Candidate(certificate, SpectrumPoint(expansion, kappa, cone.delta, expansion, offset))

    name = "RMM" if np.isfinite(obj.B) else "SVM"
    found = _solve(data, certify, name, tol, max_iter, None)
    gamma, b = found.candidate.point.gamma, found.candidate.point.b
    variables = {"gamma": gamma, "b": np.asarray(b), "f": obj.K @ gamma + b}
    return found.result(name, "relative_margin", variables, {"balance": np.asarray(b)}, tol)


class _Found(NamedTuple):
    """The best candidate, and how it was found."""

    candidate: _Candidate
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
        if certificate.is_optimal(tol):
            status = Status.OPTIMAL
        else:
            status = Status.MAX_ITER if self.out_of_steps else Status.OPTIMAL_INACCURATE
        return SolveResult(
            problem=problem,
            status=status,
            variables=variables,
            duals=duals,
            certificate=certificate,
            history=self.history,
            solver=solver,
            message=self.message,
            n_iter=self.n_iter,
            seconds=self.seconds,
        )


def _solve(
    data: MarginData,
    certify: _Certify,
    name: str,
    tol: float,
    max_iter: int,
    warm_start: SolveResult | None,
) -> _Found:
    """Run the interior point until the active set, or it itself, is proved optimal."""
    if not tol > 0:
        raise ValueError(f"tol={tol!r} must be positive: it is the relative gap to be proved; 1e-9 is the default.")
    if max_iter < 1:
        raise ValueError(f"max_iter={max_iter!r} must be at least 1; 100 is the default, 15 is usual.")
    begin = time.perf_counter()
    history = History()
    best: _Candidate | None = None
    message = ""

    def consider(gamma: FloatArray, kappa: FloatArray, b: float) -> bool:
        nonlocal best
        candidate = certify(gamma, kappa, b)
        gap = abs(candidate.certificate.relative_gap)
        if np.isfinite(gap) and (best is None or gap < abs(best.certificate.relative_gap)):
            best = candidate
            return True
        return False

    if warm_start is not None:
        _from_neighbor(data, warm_start, consider)
        if best is not None and best.certificate.is_optimal(tol):
            return _Found(best, history, 0, time.perf_counter() - begin, "active set of the warm start", False)
    point = start(data)
    attempt, tried = 1e-2, 0
    least, stalled = np.inf, 0
    gap = residual = np.inf
    k = 0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for k in range(1, max_iter + 1):
            try:
                # Early on the margins may well drift for a while; the path is then left and found again.
                step = interior_step(data, point, residual if gap < _CLOSE else np.inf)
            except np.linalg.LinAlgError:
                message = "the linear system became singular"
                break
            if not np.isfinite(step.length) or not np.isfinite(step.point.products()):
                message = "the linear system lost its digits"
                break
            point, residual = step.point, step.residual
            gap = point.products() / max(_value(data, point), 1e-300)
            history.record(gap=gap, length=step.length, residual=step.residual)
            stalled = 0 if gap < 0.9 * least else stalled + 1
            least = min(least, gap)
            if gap < attempt or (gap < 1e-2 and k >= tried + 3):
                attempt, tried = min(attempt, gap) / 10, k
                polished = polish(data, identify(data, point), point.kappa, point.gamma, point.b)
                if polished is not None and polished.violation < 1e-6:
                    consider(*polished.solution[:3])
                    if best is not None and best.certificate.is_optimal(min(tol, 1e-11)):
                        message = f"active set after {k} steps"
                        break
            if gap < 0.1 * tol:
                better = consider(point.gamma, point.kappa, point.b)
                if best is not None and best.certificate.is_optimal(tol) and (gap < 1e-4 * tol or not better):
                    message = "interior point"
                    break
            if stalled > _PATIENCE and least < _SMALL:
                message = "the gap shrinks no more"
                break
    if best is None or not best.certificate.is_optimal(tol):
        consider(point.gamma, point.kappa, point.b)
    if best is None:
        raise SolverError(f"{name}: no step led to finite numbers ({message}); check features and graph for NaN.")
    return _Found(best, history, k, time.perf_counter() - begin, message, k == max_iter and not message)


def _value(data: MarginData, point: Point) -> float:
    """Return the dual objective of an iterate plus its products: a cheap stand-in for the primal one."""
    value = float(point.x[0].sum()) - data.rho * point.tau
    if len(point.x) == 4:
        value -= data.B * float(point.x[2].sum() + point.x[3].sum())
    return abs(value) + point.products()


def _from_neighbor(
    data: MarginData, given: SolveResult, consider: Callable[[FloatArray, FloatArray, float], bool]
) -> None:
    """Try the active set of a neighbouring problem; multipliers that were at the old C are put at the new one."""
    gamma, kappa = np.asarray(given.variables["gamma"], dtype=float), np.asarray(given.variables["kappa"], dtype=float)
    if gamma.shape != data.y.shape or kappa.shape != (data.cone.m,):
        raise ValueError(
            f"warm_start has {gamma.shape[0]} multipliers and {kappa.shape[0]} extreme spectra, this problem "
            f"{len(data.y)} and {data.cone.m}; pass a result of the same labels and spectrum."
        )
    kappa = np.maximum(kappa - data.eps, 0.0)
    b = float(given.variables["b"])
    t = data.y * (data.U @ (data.weights(kappa) * (data.U.T @ gamma)) + b)
    kink = np.full(len(t), np.nan)
    for value in (1.0, data.B, -data.B):
        if np.isfinite(value):
            kink[np.abs(t - value) < _ON_KINK * max(1.0, value)] = value
    active = ActiveSet(kink, np.where(t < 1.0, data.C, 0.0), kappa * data.cone.c > 1e-9 * data.rho)
    polished = polish(data, active, kappa, gamma, b)
    if polished is not None and polished.violation < 1e-6:
        consider(*polished.solution[:3])
