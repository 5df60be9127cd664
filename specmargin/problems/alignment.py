"""Kernel-target alignment of a Laplacian spectrum (eq. 2 of the spectrum paper) as a QP.

The alignment does not change when the spectrum is scaled, so its best ray is the projection of the label matrix
on the cone of admissible kernels: min 1/2 delta'M delta - a'delta over the cone, then sum(delta) = 1.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from specmargin.objectives import Alignment, BlockAlignment
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.expressions import semidefinite_form

__all__ = ["kta"]


def kta(obj: Alignment | BlockAlignment) -> BuiltProblem:
    """Build the projection whose ray has the best alignment.

    Variable ``kappa`` (m,), the drops of the spectrum; constraint ``order`` (kappa >= 0, which is delta_2 >= ... >=
    delta_q >= 0 and delta_1 >= 0), for eigenvectors of a common scale (`Alignment.unit`). The result adds ``delta``
    (q,) of sum one; its certificate is one of the *alignment*, a maximum.

    Parameters
    ----------
    obj : Alignment or BlockAlignment
        Ordered or not.

    Returns
    -------
    BuiltProblem

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eq. 2, after Zhu, Kandola, Ghahramani & Lafferty.

    Examples
    --------
    >>> import specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> labels = sm.encode_labels(np.array([0, 0] + [-1] * 8 + [1, 1]))
    >>> obj = sm.objectives.Alignment(sm.spectra.laplacian_eigenpairs(W, q=6), labels)
    >>> sm.solve(sm.problems.kta(obj)).certificate.is_optimal(1e-6)
    True
    """
    cone, scale = obj.cone, obj.unit * obj.target_norm
    kappa = cp.Variable(cone.m, name="kappa")
    A = cone.matrix()
    # Columns scaled to the trace of their extreme spectrum: all of them are then of one size.
    A = A / cone.c[:, None]
    H, h = A @ (obj.M / scale**2) @ A.T, A @ (obj.a / scale) / obj.target_norm
    constraints: dict[str, Any] = {"order": kappa >= 0}
    value = 0.5 * semidefinite_form(H, kappa) - h @ kappa

    def recover(current: Alignment | BlockAlignment) -> Recovered:
        solved = np.maximum(kappa.value, 0.0)
        # Near the optimum the bound is of first order in kappa, and a solver of cones knows kappa to 1e-4 only; who is
        # positive it does know, and the normal equations of these give all digits.
        support = kappa.value > constraints["order"].dual_value
        exact = np.zeros(cone.m)
        exact[support] = np.linalg.lstsq(H[np.ix_(support, support)], h[support], rcond=1e-14)[0]
        candidates = [current.cone.weights(np.maximum(k, 0.0) / current.cone.c) for k in (solved, exact)]
        candidates = [d for d in candidates if d.any()] or [current.cone.weights(1.0 / current.cone.c)]
        delta = min(candidates, key=lambda d: abs(current.prove(d).gap))
        return Recovered({"delta": current.weights_of(current.repair(delta))}, current.prove(delta))

    return BuiltProblem(
        name=obj.name,
        problem=cp.Problem(cp.Minimize(value), list(constraints.values())),
        objective=obj,
        variables={"kappa": kappa},
        constraints=constraints,
        recover=recover,
        has_value=False,  # the certificate is that of the alignment
    )
