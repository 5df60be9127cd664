r"""Bounds on the decisions of the optimum, from an answer and the gap that its certificate proves.

A gap says how good the objective is; these bounds say which predictions are those of the optimum. All objectives here
are scale * [losses + N(g)] with f = g + b and a squared norm N, so that at an answer g and multipliers theta

    N(g - g*) + sum_i [V_i(f*_i) - theta_i f*_i - V_i*(theta_i)] <= gap / scale = rho^2,

g* and f* those of any optimum. The second sum is Fenchel's inequality at every label: it holds f*_i in an interval
around f_i, whatever the convex loss, and with it the intercept. The first is a ball: with the dual norm of N,

    |(g - g*)(x) - (g - g*)(x_i)| <= rho d(x, x_i),   d(x, x_i)^2 = k~(x, x) - 2 k~(x, x_i) + k~(x_i, x_i),

k~ the kernel of N. So f*(x) is within rho d(x, x_i) of g(x) - g(x_i) + f*_i for every label i, and the bound is the
best of them; without an intercept also within rho k~(x, x)^(1/2) of g(x). What of rho^2 the label takes the ball has
not: the bound is the worst over eight shares of it.

Of N = gamma_A |.|^2 + gamma_I <., L .> the deformed kernel is k~ = K S^-1. A factorisation gives columns A with
S A = I - R, R its rounding, and k~(mu) = mu'K S^-1 mu for mu = e_x - e_i has, as N >= gamma_A |.|^2,

    k~(mu)^(1/2) <= (mu'K A mu)^(1/2) + |R mu|_K / gamma_A^(1/2),

never more than |mu|_K / gamma_A^(1/2), which serves where nothing can be factorised. Rounding is part of every bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.exceptions import InvalidTypeError
from specmargin.kernels.operators import KernelOperator, LowRankKernel, kernel_diagonal, kernel_rows
from specmargin.kernels.truncated import TruncatedKernel
from specmargin.losses import get_loss
from specmargin.losses.weighted import Weighted
from specmargin.objectives.contract import Arrays
from specmargin.objectives.lapsvm import LapSVM
from specmargin.objectives.spectral_ridge import SpectralRidge
from specmargin.objectives.spectrum_margin import SpectrumMargin
from specmargin.results import Certificate
from specmargin.rounding import UNIT, gamma
from specmargin.typing import FloatArray

__all__ = [
    "DecisionBounds",
    "Distances",
    "ambient_distances",
    "chained",
    "decision_bounds",
    "distances",
    "products_apart",
]

_BATCH = 256  # columns of S^-1 that are held at once
_HALVINGS = 16
_SHARES = np.arange(1, 9) / 8  # exact in binary
_FARTHEST = 60.0  # powers of two that an interval may reach, either way
_SAFE = 1.0 + 1e-9  # covers the roundings of the bounds themselves


class DecisionBounds(NamedTuple):
    """Ends of the intervals that hold the decisions of every optimum, each of shape (n,) or (n, K)."""

    low: FloatArray
    high: FloatArray
    radius: float = 0.0
    """Bound on the norm of g - g*, of the square root of N."""
    lost: float = 0.0
    """Bound on the distance of g, in the norm of K, from the expansion over K that has its coefficients."""


class Distances(NamedTuple):
    """Bounds on the dual norm of N: of samples (n,), and between samples and labelled ones (n, l)."""

    own: FloatArray
    apart: FloatArray


def decision_bounds(
    objective: Any, variables: Arrays, duals: Arrays | None = None, *, known: Distances | None = None
) -> DecisionBounds:
    """Return bounds on the decisions of every optimum of an objective, from an answer to it.

    Parameters
    ----------
    objective : LapSVM, SpectralRidge, or SpectrumMargin with given weights
        The problem; its norm must not be learned.
    variables, duals : mapping of str to array
        Those of `Objective.certificate`: any answer will do, and its gap decides how wide the bounds are.
    known : Distances, optional
        `distances` of the objective, which depend on its norm and on which samples are labelled alone.

    Returns
    -------
    DecisionBounds
        Infinite where the gap proves nothing.

    Raises
    ------
    TypeError
        If the objective learns its norm, so that it is not strongly convex in the decisions.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    >>> labels = sm.encode_labels(sm.hide_labels(y, per_class=4, random_state=0))
    >>> K, L = sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=5))
    >>> obj = sm.objectives.LapSVM(K, L, labels, loss="squared_hinge", gamma_A=0.1, gamma_I=1.0)
    >>> low, high, *_ = decision_bounds(obj, sm.solvers.pcg(obj, tol=1e-3).variables)
    >>> exact = sm.solvers.factorized(obj).variables["f"]
    >>> bool(((low <= exact) & (exact <= high)).all()), float(((low > 0) | (high < 0)).mean())
    (True, 1.0)
    """
    makers: dict[type, Any] = {LapSVM: _of_lapsvm, SpectralRidge: _of_ridge, SpectrumMargin: _of_margin}
    made = makers.get(type(objective))
    if made is None or getattr(objective, "delta", True) is None:
        raise InvalidTypeError(
            f"{type(objective).__name__}: bounds on decisions follow from a norm that is given; take a LapSVM, a "
            "SpectralRidge, or a SpectrumMargin with delta."
        )
    bounds: DecisionBounds = made(objective, variables, duals or {}, known)
    return bounds


def distances(objective: Any) -> Distances:
    """Return the dual norms that the bounds of an objective need, the same for all classes."""
    if isinstance(objective, LapSVM):
        if isinstance(objective.K, KernelOperator) and not isinstance(objective.K, LowRankKernel):
            return ambient_distances(objective)
        _ = objective.reduction  # which makes certificates tight
        return _deformed_distances(objective)
    return _feature_distances(_features(objective), objective.labels.labeled)


def _of_lapsvm(obj: LapSVM, variables: Arrays, duals: Arrays, known: Distances | None) -> DecisionBounds:
    alpha, b = np.asarray(variables["alpha"]), float(variables["b"])
    given = {**variables, **duals}
    y, known = obj.labels.sign, known or distances(obj)
    beta = given.get("beta")
    beta = y * obj.multipliers(alpha, b) if beta is None else np.asarray(beta)
    certificate = obj.certificate({"alpha": alpha, "b": b}, {"beta": beta})
    theta = obj.repair_multipliers(y * beta)
    image = obj.products.image(alpha)
    assert image is not None
    error = image.f_error + 2.0 * UNIT * (np.abs(image.f) + abs(b))
    bounds = _bounds(
        obj.margin_loss, y, theta, _radius(certificate, obj.scale), known, obj.labels.labeled,
        image.f, b, error, obj.fit_intercept,
    )  # fmt: skip
    return bounds._replace(lost=obj.K.length_left(alpha)) if isinstance(obj.K, TruncatedKernel) else bounds


def _of_ridge(obj: SpectralRidge, variables: Arrays, duals: Arrays, known: Distances | None) -> DecisionBounds:
    v, b = np.asarray(variables["v"]), np.asarray(variables["b"])
    theta = obj.repair_multipliers(np.asarray({**variables, **duals}.get("theta", obj.multipliers(v, b))))
    radius = _radius(obj.prove(v, b, theta), 1.0)
    theta = obj.repair_multipliers(theta) * obj.best_multiple(obj.repair_multipliers(theta))
    rows = np.sqrt(obj.spectrum.n_reached) * obj.spectrum.eigenvectors
    loss: Any = get_loss("squared")
    loss = loss if obj.labels.weights is None else Weighted(loss, obj.labels.weights)
    known = known or distances(obj)
    columns = zip(obj.labels.sign.T.reshape(-1, len(theta)), theta.T.reshape(-1, len(theta)), strict=True)
    parts = []
    for (y, multipliers), w, offset in zip(columns, v.T.reshape(-1, len(v)), np.atleast_1d(b), strict=True):
        g, error = rows @ w, gamma(len(w) + 4) * (np.abs(rows) @ np.abs(w) + abs(offset))
        scaled = Distances(known.own / np.sqrt(obj.penalty), known.apart / np.sqrt(obj.penalty))
        parts.append(_bounds(loss, y, multipliers, radius, scaled, obj.labels.labeled, g, float(offset), error, True))
    low, high = (np.stack(each, axis=1) for each in ([one.low for one in parts], [one.high for one in parts]))
    return DecisionBounds(low, high, parts[0].radius) if v.ndim > 1 else parts[0]


def _of_margin(obj: SpectrumMargin, variables: Arrays, duals: Arrays, known: Distances | None) -> DecisionBounds:
    given = {**variables, **duals}
    point = obj.feasible(given, given)[0]
    radius = _radius(obj.certificate(given, given), 0.5)
    rows, b = _rows(obj), float(point.b)
    g, error = rows @ point.v, gamma(len(point.v) + 4) * (np.abs(rows) @ np.abs(point.v) + abs(b))
    return _bounds(
        obj.loss, obj.labels.sign, point.gamma, radius, known or distances(obj), obj.labels.labeled, g, b, error, True
    )


def _radius(certificate: Certificate, scale: float) -> float:
    """Return rho^2, inf where nothing is proved: a negative gap contradicts duality."""
    gap = certificate.gap
    return _SAFE * gap / scale if gap >= 0 else np.inf


def _bounds(
    loss: Any, y: FloatArray, theta: FloatArray, radius: float, known: Distances, labeled: Any,
    g: FloatArray, b: float, error: FloatArray, fit_intercept: bool,
) -> DecisionBounds:  # fmt: skip
    """Return the bounds of one column of decisions f = g + b, g computed up to `error`."""
    root = np.sqrt(radius)
    if not np.isfinite(root):
        return DecisionBounds(np.full(len(g), -np.inf), np.full(len(g), np.inf), np.inf)
    near = DecisionBounds(np.full(known.apart.shape, np.inf), np.full(known.apart.shape, -np.inf))
    for share in _SHARES:  # of rho^2 that the labels take at most; the ball has what they leave at least
        at = _label_intervals(loss, y, y * theta, g[labeled] + b, share * radius)
        ball = root * np.sqrt(1.0 - share + _SHARES[0]) * known.apart
        ends = _shifted(at, g, g[labeled], ball, error, error[labeled])
        near = DecisionBounds(np.minimum(near.low, ends.low), np.maximum(near.high, ends.high))
    near = DecisionBounds(near.low.max(axis=1), near.high.min(axis=1))
    own = _SAFE * root * known.own + error if not fit_intercept else np.inf
    return DecisionBounds(np.maximum(near.low, g - own), np.minimum(near.high, g + own), root)


def chained(
    at: DecisionBounds, g: FloatArray, g_at: FloatArray, apart: FloatArray, error: FloatArray, error_at: FloatArray
) -> DecisionBounds:
    """Return bounds at samples from those at others, whose differences g - g* are within `apart` (m, l) of theirs."""
    low, high, *_ = _shifted(at, g, g_at, apart, error, error_at)
    return DecisionBounds(low.max(axis=1), high.min(axis=1))


def _shifted(
    at: DecisionBounds, g: FloatArray, g_at: FloatArray, apart: FloatArray, error: FloatArray, error_at: FloatArray
) -> DecisionBounds:
    """Return the bounds at each sample that follow from each other one, (m, l)."""
    shift = g[:, None] - g_at
    off = _SAFE * (apart + error[:, None] + error_at) + 4.0 * UNIT * (np.abs(g)[:, None] + np.abs(g_at))
    low, high = at.low + shift - off, at.high + shift + off
    return DecisionBounds(low - 4.0 * UNIT * np.abs(low), high + 4.0 * UNIT * np.abs(high))


def _label_intervals(loss: Any, y: FloatArray, s: FloatArray, f: FloatArray, radius: float) -> DecisionBounds:
    """Return the intervals of labelled decisions in which Fenchel's inequality leaves no more than the radius."""
    least, t = loss.dual_value(s), y * f

    def excess(t: FloatArray) -> FloatArray:
        value = loss.value(t)
        slack = 32.0 * UNIT * (np.abs(value) + np.abs(s * t) + np.abs(least))
        return np.where(np.isfinite(value), value + s * t - least - slack, np.inf)

    with np.errstate(over="ignore", invalid="ignore"):
        most = np.maximum(radius, excess(t))  # of every interval the decisions are part, so that it grows from these
        known = np.isfinite(most)
        ends = [t + way * _extent(lambda t: excess(t) <= most, t, way) for way in (-1.0, 1.0)]
    below, above = (np.where(known, end, way * np.inf) for end, way in zip(ends, (-1.0, 1.0), strict=True))
    slack = 4.0 * UNIT * np.abs(t)
    return DecisionBounds(np.where(y > 0, below, -above) - slack, np.where(y > 0, above, -below) + slack)


def _extent(inside: Callable[[FloatArray], Any], start: FloatArray, way: float) -> FloatArray:
    """Return how far a convex set reaches from points of it, never too little: by powers of two, inf beyond all."""
    low, high = np.full(len(start), -_FARTHEST), np.full(len(start), _FARTHEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        within = inside(start + way * 2.0**middle)
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return np.where(high >= _FARTHEST, np.inf, _SAFE * 2.0**high)


def _rows(obj: SpectrumMargin) -> FloatArray:
    return np.sqrt(obj.labels.n_samples) * np.hstack([s.unit * s.eigenvectors for s in obj.spectra])


def _features(obj: Any) -> FloatArray:
    """Return features of all samples in which the squared length is 1 / N's weight of v."""
    if isinstance(obj, SpectralRidge):
        return obj.spectrum.eigenvectors * np.sqrt(obj.spectrum.n_reached * obj.delta)
    return _rows(obj) * np.sqrt(obj.cone.weights(np.ones(1)))


def _feature_distances(Z: FloatArray, labeled: Any) -> Distances:
    squares = (Z**2).sum(axis=1)
    return products_apart(squares, Z @ Z[labeled].T, squares[labeled], gamma(Z.shape[1] + 4))


def products_apart(own: FloatArray, cross: FloatArray, other: FloatArray, rounding: float) -> Distances:
    """Return distances from the squared lengths of two sets, and the products of their members."""
    total = own[:, None] + other
    apart = np.maximum(total - 2.0 * cross, 0.0) + 2.0 * rounding * total
    return Distances(_SAFE * np.sqrt(own * (1.0 + rounding)), _SAFE * np.sqrt(apart))


def _deformed_distances(obj: LapSVM) -> Distances:
    labeled, ambient = obj.labels.labeled, ambient_distances(obj)
    if obj.L is None or obj.gamma_I == 0 or isinstance(obj.K, TruncatedKernel):
        return ambient  # what a kernel leaves out may be of weight along the graph
    own, cross, back, lengths, sizes, left, depth = (
        _in_the_span(obj) if isinstance(obj.K, LowRankKernel) else _in_full(obj)
    )
    rounded = depth * (lengths * sizes)
    squares = own[:, None] - cross - back + own[labeled] + rounded[:, None] + rounded[labeled]
    squares += depth * (lengths[:, None] * sizes[labeled] + sizes[:, None] * lengths[labeled])
    apart = _SAFE * (np.sqrt(np.maximum(squares, 0.0)) + left[:, None] + left[labeled])
    alone = _SAFE * (np.sqrt(np.maximum(own, 0.0) + rounded) + left)
    return Distances(np.fmin(alone, ambient.own), np.fmin(apart, ambient.apart))


def ambient_distances(obj: LapSVM) -> Distances:
    """Return distances in the space of K itself, which bound those of the problem and need no factorisation."""
    diagonal, labeled = np.maximum(kernel_diagonal(obj.K), 0.0), obj.labels.labeled
    depth = obj.K.rounding if isinstance(obj.K, KernelOperator) else 4.0 * UNIT
    known = products_apart(diagonal, obj.labeled_rows.T, diagonal[labeled], depth)
    return Distances(known.own / np.sqrt(obj.gamma_A), known.apart / np.sqrt(obj.gamma_A))


_Columns = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]
"""Diagonal, columns and rows of labelled samples of K A, lengths, sizes, |R|_K / gamma_A^(1/2), and depth.

The entry (x, y) of K A is rounded by depth lengths[x] sizes[y] at most.
"""


def _in_full(obj: LapSVM) -> _Columns:
    n, labeled, products = obj.labels.n_samples, obj.labels.labeled, obj.products
    K, roots, depth, L = kernel_rows(obj.K, np.arange(n)), products.roots, gamma(n + 2), obj.L
    S = obj.gamma_I * np.asarray(L @ K)  # type: ignore[operator]  # there is a graph
    S[np.diag_indices(n)] += obj.gamma_A

    def solved(at: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        unit = np.zeros((n, len(at)))
        unit[at, np.arange(len(at))] = 1.0
        A = sla.lu_solve(lu, unit, check_finite=False)
        A += sla.lu_solve(lu, unit - obj.apply_S(A), check_finite=False)
        KA, sizes = K @ A, roots @ np.abs(A)
        LKA, rounded = products.graph(KA)
        R = unit - obj.gamma_A * A - obj.gamma_I * LKA
        rounded = obj.gamma_I * (rounded + products.spread(depth * roots[:, None] * sizes))
        rounded += 4.0 * UNIT * (obj.gamma_A * np.abs(A) + obj.gamma_I * np.abs(LKA) + unit)
        square = np.maximum((R * (K @ R)).sum(axis=0), 0.0) + depth * (roots @ np.abs(R)) ** 2
        return KA, sizes, (np.sqrt(square) + roots @ rounded) / np.sqrt(obj.gamma_A)

    own, sizes, left, back = np.empty(n), np.empty(n), np.empty(n), np.empty((n, len(labeled)))
    with np.errstate(all="ignore"):  # of a factorisation that failed nothing is left, and K alone serves
        lu = sla.lu_factor(S, overwrite_a=True, check_finite=False)
        for start in range(0, n, _BATCH):
            at = np.arange(start, min(start + _BATCH, n))
            KA, sizes[at], left[at] = solved(at)
            own[at], back[at] = KA[at, np.arange(len(at))], KA[labeled].T
        cross = solved(labeled)[0]
    return own, cross, back, roots, sizes, left, depth


def _in_the_span(obj: LapSVM) -> _Columns:
    F, labeled, products = obj.K.factor, obj.labels.labeled, obj.products
    n, m = F.shape
    P = obj.gamma_I * obj.K.penalty(obj.L)
    lost = np.abs(F).T @ (products.graph(F)[1] + gamma(n + 4) * products.spread(np.abs(F)))
    P[np.diag_indices(m)] += obj.gamma_A
    factor, depth = sla.cho_factor(P, check_finite=False), gamma(m + 4)
    A = sla.cho_solve(factor, F.T, check_finite=False)
    A += sla.cho_solve(factor, F.T - P @ A, check_finite=False)
    rounded = (obj.gamma_I * lost + depth * np.abs(P)) @ np.abs(A) + depth * np.abs(F.T)
    left = (np.linalg.norm(F.T - P @ A, axis=0) + np.linalg.norm(rounded, axis=0)) / np.sqrt(obj.gamma_A)
    own, cross, back = np.einsum("ij,ji->i", F, A), F @ A[:, labeled], (F[labeled] @ A).T
    return own, cross, back, np.linalg.norm(F, axis=1), np.linalg.norm(A, axis=0), left, depth
