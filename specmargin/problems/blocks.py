r"""A classifier and one weight per block of features, in three equivalent forms.

All of them solve `specmargin.objectives.BlockMargin`: eq. 7 of the spectrum paper with blocks of any rank in place of
eigenvectors, any of its losses, and several classes that share one delta.

``literal``
    eq. 16: one quadratic constraint per extreme spectrum, 1/2 sum_k gamma_k'K_r gamma_k <= c_r tau - lambda_r. An order
    makes their cones grow with r.
``compact``
    one cone per *block*, 1/2 |R_b'Gamma|^2 <= t_b, whose sums over the rays are linear. The default.
``primal``
    over delta and v: 1/2 sum_b |v_b|^2 / delta_b with a cone per block, and the loss.

The multipliers of the constraints ``sums`` are kappa, delta = A'kappa, and those of ``balance`` the intercepts.
Quadratic constraints of full rank are where solvers of cones are slowest: `specmargin.solvers.block_margin` does the
same in a hundredth of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import cvxpy as cp
import numpy as np

from cvxproof.conic.values import parts_of
from specmargin.objectives.blocks import BlockMargin
from specmargin.problems._over_cone import Formulation, built, conjugate_lines, with_bounds
from specmargin.problems.base import BuiltProblem
from specmargin.problems.expressions import costs
from specmargin.problems.relabel import LabelData
from specmargin.typing import AnyArray, FloatArray

__all__ = ["BlockForm", "block_margin"]

BlockForm = Literal["literal", "compact", "primal"]


def block_margin(obj: BlockMargin, form: BlockForm = "compact") -> BuiltProblem:
    """Build the joint problem of classifier and weights of blocks.

    Parameters
    ----------
    obj : BlockMargin
        Objective with two classes or more, any loss, ordered or not.
    form : {"compact", "literal", "primal"}
        See the module's docstring. Variables by form: ``gamma tau t`` (compact), ``gamma tau`` (literal), with ``h``
        where B is finite, and ``v b delta xi`` (primal); gamma, h, v, b and xi have a column, or an entry, per class.
        Constraint labels: ``balance``, ``box``, ``nonnegative``, ``conjugate``, ``scores`` (z = U'gamma), ``blocks``,
        ``sums``; in the primal ``labeled`` (what the decisions of the labelled samples are), ``margin``,
        ``nonnegative``, ``upper``, ``lower``, ``rays``, ``order``, ``trace``, ``squares``. Parameters ``C``
        and, where finite, ``B``.

    Returns
    -------
    BuiltProblem
        Solved, it gives what `specmargin.solvers.block_margin` gives.

    Raises
    ------
    ValueError
        If the form is unknown.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eqs. 7 and 16. Bach, Lanckriet & Jordan, Multiple kernel learning,
    conic duality, and the SMO algorithm, ICML 2004.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> y = np.repeat([0, 1, 2], 6)
    >>> blocks = [np.eye(3)[y] * 3**0.5, np.random.default_rng(0).normal(size=(18, 2)) / 2**0.5]
    >>> obj = sm.objectives.BlockMargin(blocks, sm.encode_labels(y), C=1.0, loss="squared_hinge")
    >>> values = [sm.solve(sm.problems.block_margin(obj, form)).certificate.primal_objective
    ...           for form in ("literal", "compact", "primal")]
    >>> bool(np.ptp(values) < 1e-6)
    True
    """
    return built(obj, form, {"literal": _literal, "compact": _compact, "primal": _primal})


def _signs(obj: BlockMargin) -> FloatArray:
    """Return the signs, a column per class, (l, K) or (l, 1)."""
    sign = obj.labels.sign
    return sign[:, None] if sign.ndim == 1 else sign


def _pieces(obj: BlockMargin, v: Any) -> list[Any]:
    """Cut rows of v into those of the blocks."""
    ends = np.append(obj.cone.starts[1:], obj.cone.q)
    return [v[a:e] for a, e in zip(obj.cone.starts, ends, strict=True)]


def _multipliers(
    obj: BlockMargin, C: cp.Parameter, B: cp.Parameter | None
) -> tuple[cp.Variable, Any, dict[str, cp.Variable], dict[str, Any]]:
    """Return gamma (l, K), the sum of the loss's concave conjugate, the variables and the constraints on them."""
    Y = _signs(obj)
    gamma = cp.Variable(Y.shape, name="gamma")
    variables = {"gamma": gamma}
    s = cp.multiply(Y, gamma)
    constraints: dict[str, Any] = {"balance": cp.sum(gamma, axis=0) == 0}
    if B is not None:
        h = variables["h"] = cp.Variable(Y.shape, name="h")
        lines = conjugate_lines(s, h, C, B, obj.labels, lambda cost: _spread(cost, Y))
        constraints["conjugate"] = cp.vstack(lines) >= 0
        return gamma, cp.sum(h), variables, constraints
    if obj.loss.name != "squared":
        constraints["nonnegative"] = s >= 0
    if obj.loss.name == "hinge":
        constraints["box"] = s <= _spread(costs(C, obj.labels), Y)
        return gamma, cp.sum(s), variables, constraints
    half = cp.CallbackParam(lambda: 0.5 / C.value, nonneg=True, name="1 / (2 C)")
    squares = cp.sum(cp.square(gamma), axis=1)
    weighted = cp.sum(squares) if obj.labels.weights is None else (1.0 / obj.labels.weights) @ squares
    return gamma, cp.sum(s) - half * weighted, variables, constraints


def _spread(cost: Any, Y: Any) -> Any:
    """Return a cost per sample, or of all, for every class, as the shape of Y."""
    if not cost.shape:
        return cost * np.ones(Y.shape)
    return cp.reshape(cost, (Y.shape[0], 1), order="F") @ np.ones((1, Y.shape[1]))


def _read(constraint: Any) -> FloatArray:
    return np.ravel(np.asarray(constraint.dual_value, dtype=float))


def _of_classes(
    current: BlockMargin, gamma: FloatArray, kappa: FloatArray, b: FloatArray, v: FloatArray | None
) -> tuple[Any, ...]:
    """Return a candidate as `BlockMargin.repair` takes it: without columns where there are two classes."""
    if not current.labels.is_binary:
        return gamma, kappa, b, v
    return gamma[:, 0], kappa, b[0], None if v is None else v[:, 0]


def _of_multipliers(gamma: cp.Variable, constraints: dict[str, Any], eps: float) -> Callable[[BlockMargin], Any]:
    def candidate(current: BlockMargin) -> Any:
        kappa = np.concatenate([_read(one) for one in parts_of(constraints["sums"])]) - eps
        b, v = _read(constraints["balance"]), constraints["scores"].dual_value
        return _of_classes(current, np.asarray(gamma.value), kappa, b, v)

    return candidate


def _scores(obj: BlockMargin, gamma: cp.Variable, constraints: dict[str, Any]) -> cp.Variable:
    """Return Z = U'Gamma, (q, K). The multipliers of its definition are v, as exact as the solver's feasibility."""
    z = cp.Variable((obj.cone.q, gamma.shape[1]), name="z")
    constraints["scores"] = obj.U.T @ gamma - z == 0
    return z


def _literal(obj: BlockMargin, C: cp.Parameter, B: cp.Parameter | None) -> Formulation:
    gamma, value, variables, constraints = _multipliers(obj, C, B)
    tau = variables["tau"] = cp.Variable(name="tau")
    z = _scores(obj, gamma, constraints)
    rows = obj.cone.matrix()
    squares = [0.5 * cp.sum_squares(np.diag(np.sqrt(row))[row > 0] @ z) for row in rows]
    loss = value - tau
    if obj.eps > 0:
        lam = variables["lam"] = cp.Variable(obj.cone.m, name="lam", nonneg=True)
        loss = loss + obj.eps * cp.sum(lam)
        squares = [square + lam[r] for r, square in enumerate(squares)]
    constraints["sums"] = [square <= obj.cone.c[r] * tau for r, square in enumerate(squares)]
    return Formulation(cp.Maximize(loss), _of_multipliers(gamma, constraints, obj.eps), variables, constraints)


def _compact(obj: BlockMargin, C: cp.Parameter, B: cp.Parameter | None) -> Formulation:
    gamma, value, variables, constraints = _multipliers(obj, C, B)
    tau, t = cp.Variable(name="tau"), cp.Variable(len(obj.cone.starts), name="t")
    variables |= {"tau": tau, "t": t}
    pieces = _pieces(obj, _scores(obj, gamma, constraints))
    constraints["blocks"] = [0.5 * cp.sum_squares(piece) <= t[b] for b, piece in enumerate(pieces)]
    S = obj.cone.blocks.matrix() @ t
    constraints["sums"] = obj.cone.c * tau >= S
    loss = value - obj.rho * tau
    if obj.eps > 0:
        loss = loss - obj.eps * cp.sum(S)
    return Formulation(cp.Maximize(loss), _of_multipliers(gamma, constraints, 0.0), variables, constraints)


def _features(obj: BlockMargin) -> FloatArray:
    """Return the features of all samples whose coefficients are v, (n, q)."""
    maps = [np.asarray(F if Q is None else F @ Q, dtype=float) for F, (_, Q) in zip(obj.maps, obj.factors, strict=True)]
    return np.hstack(maps)


def _decisions(obj: BlockMargin, data: LabelData, v: cp.Variable, b: cp.Variable) -> cp.Expression:
    """Return the decisions of all samples, (n, K), or (n,) for two classes."""
    turned = any(Q is not None for _, Q in obj.factors)  # by the labelled rows
    f = (data.parameter("features", _features) if turned else _features(obj)) @ v + np.ones(
        (obj.labels.n_samples, 1)
    ) @ cp.reshape(b, (1, v.shape[1]), order="F")
    return f[:, 0] if obj.labels.is_binary else f


def _primal(obj: BlockMargin, C: cp.Parameter, B: cp.Parameter | None) -> Formulation:
    data = LabelData(obj)
    cone, Y = obj.cone, data.parameter("signs", _signs)
    n_blocks = len(cone.starts)
    v, delta = cp.Variable((cone.q, Y.shape[1]), name="v"), cp.Variable(n_blocks, name="delta")
    b, kappa = cp.Variable(Y.shape[1], name="b"), cp.Variable(cone.m, name="kappa")
    xi = cp.Variable(Y.shape, name="xi")
    constraints: dict[str, Any] = {}
    rows, ones = data.parameter("rows", lambda now: now.U), np.ones((Y.shape[0], 1))
    f = data.decisions(rows @ v + ones @ cp.reshape(b, (1, Y.shape[1]), order="F"), constraints)
    t = cp.multiply(Y, f)
    constraints |= {
        "margin": t + xi == 1 if obj.loss.name == "squared" else t + xi >= 1,
        "rays": delta == cone.blocks.matrix().T @ kappa,
        "order": kappa >= obj.eps,
        "trace": cone.c @ kappa == 1,
    }
    if obj.loss.name != "squared":
        constraints["nonnegative"] = xi >= 0
    if B is not None:
        constraints["upper"], constraints["lower"] = f <= B, f >= -B
    if obj.loss.name == "hinge":
        charged = cp.sum(cp.multiply(_spread(data.costs(C), Y), xi))
    else:
        # A cone of its own: in the quadratic part of the objective, next to the cones of the norms, Clarabel fails.
        weighted = xi
        if data.weights is not None:
            weighted = cp.multiply(
                data.parameter("roots", lambda now: np.sqrt(now.labels.weights_or_ones)[:, None]), xi
            )
        u, flat = cp.Variable(name="u"), cp.vec(weighted, order="F")
        constraints["squares"] = cp.SOC(u + 1, cp.hstack([2 * flat, u - 1]))
        charged = 0.5 * C * u
    norms = cp.sum(cp.hstack([cp.quad_over_lin(piece, delta[i]) for i, piece in enumerate(_pieces(obj, v))]))

    def candidate(current: BlockMargin) -> tuple[Any, ...]:
        multiplier = np.asarray(constraints["margin"].dual_value, dtype=float).reshape(Y.shape, order="F")
        gamma = _signs(current) * (-multiplier if obj.loss.name == "squared" else multiplier)
        gamma = with_bounds(gamma, constraints)
        return _of_classes(
            current, gamma, np.asarray(kappa.value) - current.eps, np.asarray(b.value), np.asarray(v.value)
        )

    variables = {"v": v, "b": b, "delta": delta, "xi": xi, "kappa": kappa}

    def derived(current: BlockMargin) -> dict[str, AnyArray]:
        coefficients, offset = np.asarray(v.value), np.asarray(b.value)
        binary = current.labels.is_binary
        at = (coefficients[:, 0], offset[0]) if binary else (coefficients, offset)
        return {"f": current.decisions_at(*at)}

    expressions = {"margins": t, "norm": norms, "spectrum": delta, "decisions": _decisions(obj, data, v, b)}
    return Formulation(
        cp.Minimize(0.5 * norms + charged), candidate, variables, constraints, derived, expressions, data
    )
