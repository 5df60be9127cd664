r"""The spectral graph transducer, globally: one eigendecomposition and a secular equation.

`specmargin.objectives.SpectralGraphTransducer` reduces eq. 1 of the spectrum paper to a quadratic on a sphere,
min 1/2 w'A w - b'w with |w|^2 = n. In the eigenvectors E of A, with beta = E'b and d = a - lambda_min >= 0 the global
minimum is x = E'w with

    x_i = beta_i / (d_i + mu),   mu = lambda_min - lam >= 0 the root of  sum_i x_i^2 = n.

1 / |x(mu)| is concave and increasing, nearly a line, so that Newton's method from the left of the root climbs to it
without a safeguard. Counted from lambda_min, mu keeps its digits however close lam comes to it.

*Hard case.* Where beta vanishes along the lowest eigenvectors and |x(0)|^2 < n, mu is zero and any vector of the
lowest eigenspace that makes up the length is as good as any other.
"""

from __future__ import annotations

import math
import time

import numpy as np

from specmargin.objectives.graph_transducer import SpectralGraphTransducer
from specmargin.results import History, SolveResult, Status
from specmargin.typing import FloatArray

__all__ = ["graph_transducer"]

HARD_CASE = "hard case"
"""How the message of a result begins whose optimum is not the only one."""

_TIED = 1e-13  # eigenvalues of A closer than this, relative to the lowest, are one
_NULL = 1e-28  # and so are those below this share of the norm: rounding of zero
_EVEN = 1e-13  # change of the value, relative, below which two points are equally good
_ROUNDING = 16 * float(np.finfo(float).eps)  # of the length of b: a component of it that small is rounding of zero
_REFINEMENTS = 3  # at most; none where the gap is zero to rounding
_SHARE = 1e-8  # of the length: a component below it is no matter


def graph_transducer(obj: SpectralGraphTransducer, *, tol: float = 1e-10, max_iter: int = 100) -> SolveResult:
    r"""Solve eq. 1 to global optimality, and prove it.

    The hard case included: where turning the component of w in the lowest eigenspace of A over changes the value by
    rounding only, its direction is that of the projection of the coordinate axis that is nearest to the eigenspace
    (the first of them), so that the answer does not depend on LAPACK's signs. With a simple lowest eigenvalue this
    makes the coefficient of largest modulus positive.

    Parameters
    ----------
    obj : SpectralGraphTransducer
        The objective.
    tol : float, default 1e-10
        Relative gap that the certificate has to prove for the status OPTIMAL. The problem is not convex, but its
        Lagrangian dual has no gap.
    max_iter : int, default 100
        Steps of Newton's method; it takes 3 to 15.

    Returns
    -------
    SolveResult
        Variables ``w`` (k,), ``h`` (n,) = V w, ``f`` (n,) = h less the threshold, whose sign classifies, and ``lam``,
        the multiplier of the sphere. ``history`` holds ``lam`` and ``length``, that of w over sqrt(n).

    Raises
    ------
    ValueError
        If `max_iter` is less than one.

    References
    ----------
    Gander, Golub & von Matt, A constrained eigenvalue problem, Linear Algebra Appl. 114, 1989. More & Sorensen,
    Computing a trust region step, SIAM J. Sci. Stat. Comput. 4, 1983.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> from specmargin.objectives.graph_transducer import SpectralGraphTransducer
    >>> from specmargin.solvers.spectrum.graph_transducer import graph_transducer
    >>> W = sm.graphs.knn_graph(np.arange(10.0)[:, None], n_neighbors=2)
    >>> labels = sm.encode_labels([0, -1, -1, -1, -1, -1, -1, -1, 1, 1])
    >>> obj = SpectralGraphTransducer(sm.spectra.laplacian_eigenpairs(W, q=6), labels, C=100.0)
    >>> result = graph_transducer(obj)
    >>> result.status.name, result.certificate.is_optimal(1e-12), int((result.variables["f"] > 0).sum())
    ('OPTIMAL', True, 6)
    """
    start = time.perf_counter()
    history = History()
    a, E = obj.eigen
    lowest = float(a.min())
    beta, d = E.T @ obj.b, a - lowest
    mu, converged = _root(beta, d, obj.n, lowest, max_iter, history)
    x = np.divide(beta, d + mu, out=np.zeros_like(beta), where=beta != 0)
    # The share of the length in the lowest eigenspace: its direction may be free.
    block = d <= _TIED * lowest + _NULL * float(a.max())
    share = float(np.linalg.norm(x[block])) if mu > 0 else math.sqrt(max(obj.n - float((x[~block] ** 2).sum()), 0.0))
    slope = float(np.linalg.norm(beta[block]))
    even = _ROUNDING * float(np.linalg.norm(obj.b)) >= slope or 2.0 * slope * share <= _EVEN * obj.value_at(E @ x)
    hard = share > _SHARE * math.sqrt(obj.n) and even
    if hard:
        x[block] = share * _nearest_axis(E[:, block])
    x *= math.sqrt(obj.n) / float(np.linalg.norm(x))
    w, lam = E @ x, lowest - mu
    certificate = obj.prove(w, lam)
    for _ in range(_REFINEMENTS):
        if certificate.gap <= certificate.rounding or not converged:
            break
        better_w, better_lam = _refined(obj, w, lam)
        better = obj.prove(better_w, better_lam)
        if not better.gap < certificate.gap:
            break
        w, lam, certificate = better_w, better_lam, better
    h = obj.scores(w)
    return SolveResult(
        problem="SGT",
        status=certificate.status(tol, None if converged else Status.MAX_ITER),
        variables={"w": w, "h": h, "f": h - obj.threshold, "lam": np.asarray(lam)},
        duals={"sphere": np.asarray(lam)},
        certificate=certificate,
        history=history,
        solver="graph_transducer",
        n_iter=len(history),
        seconds=time.perf_counter() - start,
        message=f"{HARD_CASE}: {np.count_nonzero(block)} components are free but for their length" if hard else "",
    )


def _root(
    beta: FloatArray, d: FloatArray, n: int, lowest: float, max_iter: int, history: History
) -> tuple[float, bool]:
    """Return the root mu >= 0 of |x(mu)|^2 = n, or 0 where |x| is too short for any, and whether it converged."""
    beta, d = np.abs(beta[beta != 0]), d[beta != 0]
    radius = math.sqrt(n)
    # Every component alone bounds the root from below, and x is no longer than sqrt(n) in any of them.
    mu = float((beta / radius - d).max(initial=0.0))
    for _ in range(max_iter):
        x = beta / (d + mu)
        length = float(np.linalg.norm(x)) / radius
        history.record(lam=lowest - mu, length=length)
        if length <= 1.0:
            return mu, True
        step = (length - 1.0) * float(x @ x) / float(x @ (x / (d + mu)))
        if mu + step == mu:
            return mu, True
        mu += step
    return mu, False


def _refined(obj: SpectralGraphTransducer, w: FloatArray, lam: float) -> tuple[FloatArray, float]:
    """Return (w, lam) after a step of Newton's method on both, with A taken as diagonal in its eigenvectors.

    The eigenvectors err by the rounding of the largest eigenvalue, the residual does not: what is left near the hard
    case, where lam - lambda_min is no larger than that, goes away.
    """
    a, E = obj.eigen
    r, x = obj.residual(w, lam), E.T @ w
    curvature = np.maximum(a - lam, np.finfo(float).eps * float(a.max()))
    shift = ((obj.n - float(x @ x)) / 2 + float(x @ (r / curvature))) / float(x @ (x / curvature))
    w = w + E @ ((shift * x - r) / curvature)
    return w * (math.sqrt(obj.n) / float(np.linalg.norm(w))), lam + shift


def _nearest_axis(basis: FloatArray) -> FloatArray:
    """Return the direction, in terms of an orthonormal basis (k, m), of the projection of the nearest axis."""
    leverage = (basis**2).sum(axis=1)
    # Axes that are equally near differ by rounding: the first one decides.
    axis = int((leverage >= (1.0 - 1e-6) * leverage.max()).argmax())
    return basis[axis] / math.sqrt(leverage[axis])
