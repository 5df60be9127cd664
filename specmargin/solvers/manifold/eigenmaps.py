r"""Regularized spectral clustering and Laplacian eigenmaps by a generalised eigenproblem that stays in float64.

The lowest functions of `specmargin.objectives.clustering.RegularizedClustering`, in the coordinates of its `basis`:
an eigendecomposition of K, a Householder reflection for 1'f = 0, and the largest eigenpairs of mass against the
(shifted) penalties. A last Rayleigh-Ritz step, with K and L themselves, removes what the coordinates have rounded.

What is left is the rounding of K alpha itself: |alpha| grows as gamma falls and as the kernel widens, and a sum of
terms of that size that cancel to |f| = 1 is known to about 1e-16 |K| |alpha| only.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg as sla

from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.objectives.clustering import RegularizedClustering
from specmargin.results import SolveResult, Status

__all__ = ["eigenmaps"]


def eigenmaps(obj: RegularizedClustering, n_components: int = 1, *, tol: float = 1e-8) -> SolveResult:
    """Find the lowest eigenfunctions of a graph that a kernel can carry to new samples.

    Parameters
    ----------
    obj : RegularizedClustering
        The objective; K may be singular, samples may repeat, the graph may fall apart.
    n_components : int, default 1
        m, the number of functions; one is enough for two clusters.
    tol : float, default 1e-8
        Relative gap that the certificate has to prove, and violation of the constraints that it may show, for
        the status OPTIMAL.

    Returns
    -------
    SolveResult
        Variables ``alpha`` (n, m), ``f`` (n, m) with f'f = I and 1'f = 0, ``eigenvalues`` (m,), rising. Of every
        column of f the entry of largest modulus is positive.

    Raises
    ------
    ValueError
        If K has fewer than `n_components` functions with 1'f = 0.
    SolverError
        If the eigenproblem is beyond double precision.

    References
    ----------
    Belkin, Niyogi & Sindhwani, On manifold regularization, AISTATS 2005, eqs. 12 and 13.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> from specmargin.objectives.clustering import RegularizedClustering
    >>> X = np.array([[0.0], [0.1], [0.2], [2.0], [2.1], [2.2]])
    >>> L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=3), normalized=False)
    >>> result = eigenmaps(RegularizedClustering(sm.kernels.gram(X, gamma=1.0), L, gamma=0.1))
    >>> result.certificate.is_optimal(1e-10), len(set(np.sign(result.variables["f"][:3, 0])))
    (True, 1)
    """
    start = time.perf_counter()
    basis = obj.basis
    if n_components > basis.dimension:
        raise InvalidInputError(
            f"n_components={n_components}, but the kernel of {len(obj.K)} samples has {basis.dimension} functions with "
            "mean zero; take fewer components, more samples, or a richer kernel (rbf, or a larger gamma)."
        )
    try:
        y = basis.lowest(obj.forms, int(n_components))[1]
        alpha = obj.feasible(basis.coefficients(y))
        certificate = obj.prove(alpha, tol=tol)
    except sla.LinAlgError as error:
        raise SolverError(
            f"the eigenproblem of gamma={obj.gamma!r} failed in double precision ({error}); take a larger gamma, and "
            "make sure that L is positive semidefinite."
        ) from error
    f = obj.decisions_at(alpha)
    columns = np.arange(f.shape[1])
    signs = np.where(f[np.abs(f).argmax(axis=0), columns] < 0, -1.0, 1.0)
    alpha, f = alpha * signs, f * signs
    status = certificate.status(tol)
    if status is Status.OPTIMAL and not certificate.primal_residual <= tol:
        status = Status.OPTIMAL_INACCURATE  # of functions that are not quite orthonormal
    return SolveResult(
        problem="regularized eigenmaps",
        status=status,
        variables={"alpha": alpha, "f": f, "eigenvalues": obj.rayleigh_quotients(alpha)},
        certificate=certificate,
        solver="eigenmaps",
        seconds=time.perf_counter() - start,
        message=f"relative gap {certificate.relative_gap:.1e}, violation {certificate.primal_residual:.1e}",
    )
