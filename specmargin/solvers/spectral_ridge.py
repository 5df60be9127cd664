r"""Ridge regression in the span of the eigenvectors, by one Cholesky factorisation for all classes.

With the centred design X (l, q) and the centred labels Y of `specmargin.objectives.SpectralRidge`

    (X'X + penalty I) w = X'Y   or   (XX' + penalty I) a = Y,  w = X'a,

whichever matrix is smaller, q or l. The decisions of all n samples are one (n, q) x (q, K) product.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg as sla

from specmargin.objectives.ridge import SpectralRidge
from specmargin.results import SolveResult, Status
from specmargin.typing import FloatArray

__all__ = ["spectral_ridge"]


def spectral_ridge(obj: SpectralRidge, *, tol: float = 1e-9) -> SolveResult:
    """Solve the ridge regression of all classes.

    Parameters
    ----------
    obj : SpectralRidge
        The objective.
    tol : float, default 1e-9
        Relative gap that the certificate has to prove for the status OPTIMAL.

    Returns
    -------
    SolveResult
        Variables ``v`` (q,), ``b`` (), ``f`` (n,) and ``theta`` (l,), the multipliers; with K > 2 classes each has a
        trailing axis of that length.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> from specmargin.objectives.ridge import SpectralRidge, power_spectrum
    >>> W = sm.graphs.knn_graph(np.arange(9.0)[:, None], n_neighbors=2)
    >>> spectrum = sm.spectra.laplacian_eigenpairs(W, q=5, normalized=True)
    >>> labels = sm.encode_labels([0, -1, -1, -1, 1, -1, -1, -1, 2])
    >>> result = spectral_ridge(SpectralRidge(spectrum, labels, power_spectrum(spectrum), penalty=0.01))
    >>> result.certificate.is_optimal(1e-12), result.variables["f"].argmax(axis=1).tolist()
    (True, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    """
    start = time.perf_counter()
    X, y = obj.design, obj.labels.sign
    target = y - y.mean(axis=0)
    w, theta = _by_samples(X, target, obj.penalty) if len(X) < obj.q else _by_columns(X, target, obj.penalty)
    v = (w.T * np.sqrt(obj.delta)).T
    b = obj.best_intercept(v)
    certificate = obj.certificate(v, b, theta)
    return SolveResult(
        problem="SpectralRidge",
        status=Status.OPTIMAL if certificate.is_optimal(tol) else Status.OPTIMAL_INACCURATE,
        variables={"v": v, "b": b, "f": obj.decision(v, b), "theta": theta},
        duals={"balance": b},
        certificate=certificate,
        solver="spectral_ridge",
        n_iter=1,
        seconds=time.perf_counter() - start,
        message=f"relative gap {certificate.relative_gap:.1e}",
    )


def _by_columns(X: FloatArray, target: FloatArray, penalty: float) -> tuple[FloatArray, FloatArray]:
    """Factorise the (q, q) matrix; return w and theta."""
    A = X.T @ X
    A[np.diag_indices_from(A)] += penalty
    factor = sla.cho_factor(A, check_finite=False)
    w = sla.cho_solve(factor, X.T @ target)
    # One step of refinement, on residuals that never saw the square of X.
    w += sla.cho_solve(factor, X.T @ (target - X @ w) - penalty * w)
    return w, 2.0 * (target - X @ w)


def _by_samples(X: FloatArray, target: FloatArray, penalty: float) -> tuple[FloatArray, FloatArray]:
    """Factorise the (l, l) matrix; return w and theta."""
    A = X @ X.T
    # X is centred: along the constant A is zero, and may be anything as long as the right-hand side is centred, too.
    A += np.trace(A) / len(A) ** 2
    A[np.diag_indices_from(A)] += penalty
    factor = sla.cho_factor(A, check_finite=False)
    a = sla.cho_solve(factor, target)
    a += sla.cho_solve(factor, target - X @ (X.T @ a) - penalty * a)
    a -= a.mean(axis=0)
    return X.T @ a, 2.0 * penalty * a
