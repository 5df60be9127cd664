"""Least squares in the span of a graph's eigenvectors, `SpectralRidge`, as a QP."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from cvxproof.conic.compiling import ParametrizedProblem
from specmargin.objectives import SpectralRidge
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.relabel import LabelData
from specmargin.typing import AnyArray, FloatArray

__all__ = ["spectral_ridge_primal"]


def spectral_ridge_primal(obj: SpectralRidge) -> BuiltProblem:
    """Build the ridge regression on the labels, of all classes at once.

    Variables ``w`` (q,), the coefficients in units of sqrt(delta), so that v_j = sqrt(delta_j) w_j, ``b`` and ``t``
    (l,), the residuals; parameter ``penalty``; constraint ``fit`` (sqrt(n) U v + b + t = y at the labelled samples),
    whose multipliers are theta. With K > 2 classes every variable has K columns. The result adds ``v`` and the
    decisions ``f``.

    Parameters
    ----------
    obj : SpectralRidge
        Objective with two classes or more.

    Returns
    -------
    BuiltProblem

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, JMLR 2011, eq. 14 (LapRLS), confined to
    the span of the eigenvectors.

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.objectives.spectral_ridge import power_spectrum
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> labels = sm.encode_labels(np.array([0, 0] + [-1] * 8 + [1, 1]))
    >>> spectrum = sm.spectra.laplacian_eigenpairs(W, q=6)
    >>> obj = sm.objectives.SpectralRidge(spectrum, labels, power_spectrum(spectrum))
    >>> sm.solve(sm.problems.spectral_ridge_primal(obj)).certificate.is_optimal(1e-6)
    True
    """
    shapes = obj.variables
    w, b = cp.Variable(shapes["v"], name="w"), cp.Variable(shapes["b"], name="b")
    data, root = LabelData(obj), np.sqrt(obj.delta)
    y, l = data.signs, obj.labels.n_labeled
    t = cp.Variable(y.shape, name="t")
    penalty = cp.Parameter(pos=True, name="penalty", value=float(obj.penalty))
    ones = np.ones((l, 1))
    weighted = t
    if data.weights is not None:
        of_rows = (l, *(1,) * (y.ndim - 1))
        weighted = cp.multiply(data.parameter("roots", lambda now: now.root.reshape(of_rows)), t)
    offset = b if y.ndim == 1 else ones @ cp.reshape(b, (1, y.shape[1]), order="C")
    constraints: dict[str, Any] = {"fit": data.parameter("rows", lambda now: now.U * root) @ w + offset + t == y}

    n = obj.spectrum.n_samples
    everywhere = b if y.ndim == 1 else np.ones((n, 1)) @ cp.reshape(b, (1, y.shape[1]), order="C")
    expressions = {
        "decisions": (obj.spectrum.eigenvectors * (np.sqrt(obj.spectrum.n_reached) * root)) @ w + everywhere,
        "loss": cp.sum_squares(weighted),
        "norm": cp.sum_squares(w),
    }

    def coefficients() -> FloatArray:
        return np.asarray((root * np.asarray(w.value).T).T)

    def derived(current: SpectralRidge) -> dict[str, AnyArray]:
        v = coefficients()
        return {"v": v, "f": current.decisions_at(v, np.asarray(b.value))}

    def recover(current: SpectralRidge) -> Recovered:
        v = coefficients()
        # The best intercept is known: a solver has it to its tolerance only.
        best = current.best_intercept(v)
        # At small penalties the residuals of a solver of cones are worse multipliers than its own.
        thetas = [current.multipliers(v, best), -np.asarray(constraints["fit"].dual_value)]
        theta = max(map(current.repair_multipliers, thetas), key=current.dual_bound)
        variables = {"v": v, "b": best, "f": current.decisions_at(v, best)}
        return Recovered(variables, current.prove(v, best, theta), {"theta": theta})

    return BuiltProblem(
        name="SpectralRidge",
        problem=ParametrizedProblem(
            cp.Minimize(expressions["loss"] + penalty * expressions["norm"]), list(constraints.values())
        ),
        objective=obj,
        variables={"w": w, "b": b, "t": t},
        constraints=constraints,
        recover=recover,
        derived=derived,
        parameters={"penalty": penalty},
        update=lambda objective, values: objective.with_(**values),
        expressions=expressions,
        label_data=data,
    )
