r"""STORM, STOAM and multiple kernel learning over Laplacian eigenvectors, in four equivalent forms.

All of them solve eq. 7 of the spectrum paper for a `specmargin.objectives.SpectrumMargin`, in its scaled units:

``literal``
    eq. 16 as published: multipliers alpha, beta, eta and one quadratic constraint per extreme spectrum, whose cone
    grows with its index. For reading and for small oracles: q = 200 takes minutes.
``chained``
    the same multipliers, but the cumulative sums S are chained, S_r = S_{r-1} + sum of t_j, so that every cone has
    three rows.
``compact``
    alpha, beta, eta eliminated by the concave conjugate of the loss (three lines per sample), lambda eliminated,
    too. The fastest; the default.
``primal``
    over delta itself: min sum t_j + C sum xi with v_j^2 <= 2 t_j delta_j; a QP in w = v / sqrt(delta) where delta is
    given. Its labels are parameters.

The multipliers of the constraints ``sums`` are kappa, and eq. 13 recovers the spectrum from them: delta = A'kappa.
The intercept is the multiplier of ``balance``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import cvxpy as cp
import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives import SpectrumCone, SpectrumMargin
from specmargin.problems._over_cone import Formulation, built, conjugate_lines, multipliers_of, with_bounds
from specmargin.problems.base import BuiltProblem
from specmargin.problems.expressions import costs, decisions_from_duals, expansion_of
from specmargin.problems.relabel import LabelData
from specmargin.typing import AnyArray, FloatArray

__all__ = ["Form", "mkl", "stoam", "storm"]

Form = Literal["literal", "chained", "compact", "primal"]


_Candidate: TypeAlias = tuple[FloatArray, FloatArray, float, FloatArray]
"""gamma, kappa less eps, b and v, as `SpectrumMargin.repair` takes them."""


def storm(obj: SpectrumMargin, form: Form = "compact") -> BuiltProblem:
    """Build the joint problem of spectrum and classifier.

    Parameters
    ----------
    obj : SpectrumMargin
        Ordered or not, B finite or infinite; `stoam` and `mkl` are this with a check of what was asked for.
    form : {"compact", "chained", "literal", "primal"}
        See the module's docstring. Variables by form: ``alpha beta eta tau lam`` (literal, chained; lam is the
        paper's lambda), ``gamma h tau`` (compact), ``v b delta xi`` (primal). Constraint labels: ``balance``,
        ``box``, ``sums``, ``scores`` (z = Ubar'gamma), ``cones``, ``conjugate``; in the primal ``labeled`` (what the
        decisions of the labelled samples are), ``margin``, ``upper``, ``lower``, ``order``, ``ties``, ``rays``,
        ``trace``, ``cones``. Parameters ``C`` and, where finite, ``B``.

    Returns
    -------
    BuiltProblem
        Solved, it gives ``delta`` (q,), ``kappa`` (m,), ``v`` (q,), ``b``, ``gamma`` (l,), ``f`` (n,).

    Raises
    ------
    ValueError
        If the form is unknown.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eqs. 7, 13 and 16.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> y = np.array([0, 0] + [-1] * 8 + [1, 1])
    >>> obj = sm.objectives.SpectrumMargin(
    ...     sm.spectra.laplacian_eigenpairs(W, q=6), sm.encode_labels(y), C=1.0, B=1.2)
    >>> values = [sm.solve(sm.problems.storm(obj, form)).certificate.primal_objective
    ...           for form in ("literal", "chained", "compact", "primal")]
    >>> bool(np.ptp(values) < 1e-6)
    True
    """
    return built(obj, form, {"literal": _literal, "chained": _chained, "compact": _compact, "primal": _primal})


def stoam(obj: SpectrumMargin, form: Form = "compact") -> BuiltProblem:
    """Build STOAM: an ordered spectrum under the absolute margin, B = inf. See `storm`.

    Raises
    ------
    ValueError
        If the objective bounds the decisions or asks for no order.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> labels = sm.encode_labels(np.array([0, 0] + [-1] * 8 + [1, 1]))
    >>> spectrum = sm.spectra.laplacian_eigenpairs(W, q=6)
    >>> sm.problems.stoam(sm.objectives.SpectrumMargin(spectrum, labels)).name
    'STOAM compact'
    """
    if not obj.order or np.isfinite(obj.B):
        raise InvalidInputError(
            f"this objective is {obj.name}: STOAM needs order=True and B=inf; use problems.storm or mkl."
        )
    return storm(obj, form)


def mkl(obj: SpectrumMargin, form: Form = "compact") -> BuiltProblem:
    """Build multiple kernel learning over the rank-one kernels u_j u_j': a spectrum without order. See `storm`.

    Raises
    ------
    ValueError
        If the objective asks for an order.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> labels = sm.encode_labels(np.array([0, 0] + [-1] * 8 + [1, 1]))
    >>> spectrum = sm.spectra.laplacian_eigenpairs(W, q=6)
    >>> sm.problems.mkl(sm.objectives.SpectrumMargin(spectrum, labels, order=False)).name
    'MKL-S compact'
    """
    if obj.order:
        raise InvalidInputError(f"this objective is {obj.name}: multiple kernel learning needs order=False.")
    return storm(obj, form)


def _dual(constraint: Any) -> float:
    return float(np.ravel(constraint.dual_value)[0])


def _of_multipliers(gamma: Any, constraints: dict[str, Any], eps: float) -> Callable[[SpectrumMargin], _Candidate]:
    def candidate(current: SpectrumMargin) -> _Candidate:
        kappa = np.asarray(constraints["sums"].dual_value) - eps
        return np.asarray(gamma.value), kappa, _dual(constraints["balance"]), constraints["scores"].dual_value

    return candidate


def _literal(obj: SpectrumMargin, C: cp.Parameter, B: cp.Parameter | None) -> Formulation:
    gamma, value, variables, constraints = multipliers_of(obj, C, B)
    tau = variables["tau"] = cp.Variable(name="tau")
    lam = variables["lam"] = cp.Variable(obj.cone.m, name="lam", nonneg=True)
    constraints["sums"] = [
        0.5 * cp.sum_squares((obj.U[:, row > 0] * np.sqrt(row[row > 0])).T @ gamma) <= obj.cone.c[r] * tau - lam[r]
        for r, row in enumerate(obj.cone.matrix())
    ]

    def candidate(current: SpectrumMargin) -> _Candidate:
        kappa = np.array([_dual(row) for row in constraints["sums"]]) - current.eps
        b, multipliers = _dual(constraints["balance"]), np.asarray(gamma.value)
        f = decisions_from_duals(obj.labels.sign, constraints["box"].dual_value, constraints["nonnegative"].dual_value)
        delta = current.cone.weights(np.maximum(kappa + current.eps, 0.0))
        expansion = expansion_of((current.U * delta) @ current.U.T, f - b, multipliers)
        return multipliers, kappa, b, delta * (current.U.T @ expansion)

    return Formulation(cp.Maximize(value - tau + obj.eps * cp.sum(lam)), candidate, variables, constraints)


def _squares(obj: SpectrumMargin, gamma: cp.Expression) -> tuple[cp.Expression, dict[str, Any]]:
    """Return S >= A (z^2 / 2) by cones of three rows, where z = Ubar'gamma, and the constraints that say so."""
    cone = obj.cone
    z = cp.Variable(obj.q, name="z")
    constraints: dict[str, Any] = {"scores": obj.U.T @ gamma - z == 0}
    S = t = cp.Variable(cone.m, name="S")
    if isinstance(cone, SpectrumCone) and cone.m == obj.q:
        # Every eigenvalue stands alone: the t are differences of consecutive sums, no variables of their own.
        if cone.order and cone.m > 2:
            t = cp.hstack([S[:2], cp.diff(S[1:])])
    else:
        t = cp.Variable(obj.q, name="t")
        chain, gather = cone.chain()
        constraints["chain"] = chain @ S - gather @ t == 0
    constraints["cones"] = cp.SOC(2 * t + 1, cp.vstack([2 * z, 2 * t - 1]), axis=0)
    return S, constraints


def _chained(obj: SpectrumMargin, C: cp.Parameter, B: cp.Parameter | None) -> Formulation:
    gamma, value, variables, constraints = multipliers_of(obj, C, B)
    tau = variables["tau"] = cp.Variable(name="tau")
    lam = variables["lam"] = cp.Variable(obj.cone.m, name="lam", nonneg=True)
    S, squares = _squares(obj, gamma)
    constraints |= squares
    constraints["sums"] = obj.cone.c * tau - lam >= S
    candidate = _of_multipliers(gamma, constraints, obj.eps)
    return Formulation(cp.Maximize(value - tau + obj.eps * cp.sum(lam)), candidate, variables, constraints)


def _compact(obj: SpectrumMargin, C: cp.Parameter, B: cp.Parameter | None) -> Formulation:
    y = obj.labels.sign
    gamma = cp.Variable(len(y), name="gamma")
    tau = cp.Variable(name="tau")
    variables = {"gamma": gamma, "tau": tau}
    s = cp.multiply(y, gamma)
    constraints: dict[str, Any] = {"balance": cp.sum(gamma) == 0}
    if B is None:
        constraints["box"] = s <= costs(C, obj.labels)
        constraints["nonnegative"] = s >= 0
        value = cp.sum(s)
    else:
        h = variables["h"] = cp.Variable(len(y), name="h")
        lines = cp.hstack(conjugate_lines(s, h, C, B, obj.labels))
        constraints["conjugate"] = lines >= 0
        value = cp.sum(h)
    S, squares = _squares(obj, gamma)
    constraints |= squares
    constraints["sums"] = obj.cone.c * tau >= S
    objective = value - obj.rho * tau
    if obj.eps > 0:
        objective = objective - obj.eps * cp.sum(S)
    return Formulation(cp.Maximize(objective), _of_multipliers(gamma, constraints, 0.0), variables, constraints)


class _Parts(NamedTuple):
    """What both primal forms have: intercept, slacks, the constraints of the margins, the loss, and expressions."""

    b: cp.Variable
    xi: cp.Variable
    constraints: dict[str, Any]
    charged: cp.Expression
    expressions: dict[str, cp.Expression]
    label_data: LabelData


def _margins(obj: SpectrumMargin, v: Any, C: cp.Parameter, B: cp.Parameter | None) -> _Parts:
    """Return the parts of a primal form, for f = Ubar v + b."""
    data, b = LabelData(obj), cp.Variable(name="b")
    xi = cp.Variable(obj.labels.n_labeled, name="xi", nonneg=True)
    constraints: dict[str, Any] = {}
    f = data.decisions(data.parameter("rows", lambda now: now.U) @ v + b, constraints)
    margins = cp.multiply(data.signs, f)
    constraints["margin"] = margins + xi >= 1
    if B is not None:
        constraints["upper"], constraints["lower"] = f <= B, f >= -B
    everywhere = np.hstack([s.eigenvectors * s.unit for s in obj.spectra]) * np.sqrt(obj.labels.n_samples)
    charged = data.charged(C, xi)
    expressions = {"decisions": everywhere @ v + b, "margins": margins, "loss": cp.sum(xi)}
    return _Parts(b, xi, constraints, charged, expressions, data)


def _fixed(obj: SpectrumMargin, C: cp.Parameter, B: cp.Parameter | None) -> Formulation:
    """Return the primal form where the spectrum is given: over w with v = sqrt(delta) w, a QP."""
    delta = obj.cone.weights(np.ones(1))
    root = np.sqrt(delta)
    w = cp.Variable(obj.q, name="w")
    b, xi, constraints, charged, expressions, data = _margins(obj, cp.multiply(root, w), C, B)
    expressions["norm"] = 0.5 * cp.sum_squares(w)

    def candidate(current: SpectrumMargin) -> _Candidate:
        gamma = with_bounds(current.labels.sign * np.asarray(constraints["margin"].dual_value), constraints)
        return gamma, np.ones(1), float(b.value), root * w.value

    def derived(current: SpectrumMargin) -> dict[str, AnyArray]:
        v = root * w.value
        return {"v": v, "delta": delta, "f": current.decisions_at(v, float(b.value))}

    variables = {"w": w, "b": b, "xi": xi}
    return Formulation(
        cp.Minimize(expressions["norm"] + charged), candidate, variables, constraints, derived, expressions, data
    )


def _primal(obj: SpectrumMargin, C: cp.Parameter, B: cp.Parameter | None) -> Formulation:
    if obj.delta is not None:
        return _fixed(obj, C, B)
    q, cone = obj.q, obj.cone
    v, delta, t = (cp.Variable(q, name=name) for name in ("v", "delta", "t"))
    b, xi, constraints, charged, expressions, data = _margins(obj, v, C, B)
    constraints["trace"] = cp.sum(delta) == 1
    if not isinstance(cone, SpectrumCone):
        kappa = cp.Variable(cone.m, name="kappa")
        constraints["order"], constraints["rays"] = kappa >= obj.eps, delta == cone.matrix().T @ kappa
    elif cone.order:
        ends = cone.block_ends
        following = ends[:-1] + 1
        drops = [delta[ends[:-1]] - delta[following]] if len(following) else []  # CVXPY 1.8 takes no empty part
        constraints["order"] = cp.hstack([delta[0], *drops, delta[q - 1]]) >= obj.eps
        inside = np.setdiff1d(np.arange(1, q - 1), ends)
        if len(inside):
            constraints["ties"] = delta[inside] == delta[inside + 1]
    else:
        constraints["order"] = delta >= obj.eps
    constraints["cones"] = cp.SOC(t + delta, cp.vstack([np.sqrt(2) * v, t - delta]), axis=0)

    def candidate(current: SpectrumMargin) -> _Candidate:
        gamma = with_bounds(current.labels.sign * np.asarray(constraints["margin"].dual_value), constraints)
        kappa = cone.drops(np.asarray(delta.value)) - current.eps
        # The solver's feasibility of v^2 <= 2 t delta shows as its square root in v where delta is zero; cutting that
        # off is the better point unless C is large.
        bound = np.sqrt(2.0 * np.maximum(t.value, 0.0) * np.maximum(delta.value, 0.0))
        candidates = [
            (gamma, kappa, float(b.value), coefficients) for coefficients in (v.value, np.clip(v.value, -bound, bound))
        ]
        return min(candidates, key=lambda candidate: current.primal_objective(current.repair(*candidate)))

    variables = {"v": v, "b": b, "delta": delta, "xi": xi}

    def derived(current: SpectrumMargin) -> dict[str, AnyArray]:
        return {"f": current.decisions_at(np.asarray(v.value), float(b.value))}

    expressions |= {"norm": cp.sum(t), "spectrum": delta}
    return Formulation(
        cp.Minimize(expressions["norm"] + charged), candidate, variables, constraints, derived, expressions, data
    )
