"""The bounds that the verifier proves: for each kind of record its primal, dual and constraints, as in its paper.

Multipliers may be any numbers: they are clipped to their boxes and balanced in rationals first, and points that are
feasible but for rounding are repaired. `cvxproof.proofs.balls` has the arithmetic, `specmargin.proofs.conjugates` the
losses; nothing is shared with those who made the claims. r holds a record (`specmargin.proofs.verifier.KINDS`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace

import numpy as np

from cvxproof.proofs.balls import (
    INFINITE,
    ONE,
    ZERO,
    Ball,
    Refuted,
    Shift,
    arb,
    arb_mat,
    balanced,
    balls,
    column,
    dense_times,
    diagonal,
    entries,
    floats,
    gram,
    gram_times,
    is_definite,
    largest,
    least_eigenvalue,
    matrix,
    outward,
    positive_part,
    shift,
    solution,
    sparse_times,
    times,
    total,
)
from cvxproof.proofs.judging import Proof
from specmargin.proofs.conjugates import box, branch, conjugate, margin_conjugate, parabola_top, unlabeled_value, value
from specmargin.typing import AnyArray

__all__ = [
    "GLOBAL",
    "alignment",
    "clustering",
    "graph_transducer",
    "lapsvm",
    "parabolas_minimum",
    "require_penalties",
    "rmm",
    "s3vm",
    "spectral_ridge",
    "spectrum_margin",
    "weighted_svm",
]


def lapsvm(r: SimpleNamespace) -> Proof:
    """LapSVM: scale [sum V(y f) + gamma_A a'Ka + gamma_I f'L^p f], f = Ka + b.

    Any theta with 1'theta = 0 and any a bound it by scale [sum V*(y theta) + a'KSa - theta'JKa - r'KS^-1 r / 4] with
    S = gamma_A + gamma_I L^p K, r = 2Sa - J'theta, KS^-1 <= K / gamma_A. For K + 2sI, where K + sI is semidefinite,
    decisions Ka have a norm of at most a'Ka + 2s|a|^2.
    """
    if (r.K is None and r.F is None) or (r.L is None and r.gamma_I > 0):
        raise Refuted("the kernel or the graph is missing")
    if not (r.fit_intercept or r.b == 0):
        raise Refuted(f"there is an intercept of {float(r.b):.17g} in a problem without one")
    K, s = (floats(entries(gram(r.F))), Shift("K")) if r.K is None else (r.K, shift(r.K, "K"))
    K_times = gram_times(r.F) if r.K is None else dense_times(K)
    size = arb(np.abs(K).sum(axis=1).max()) * (1 + len(K) * 2.0**-52)  # above the norm of K
    L = r.L if r.gamma_I > 0 else np.zeros_like(K)
    edges = sparse_times(L)
    t = shift(L, "L", edges) if r.gamma_I > 0 and r.power % 2 else Shift("L")
    beta = balanced(r.y, r.y * r.theta, *box(r.loss, r.parameter), r.fit_intercept)
    gains = total(conjugate(r.loss, r.parameter, x) for x in beta)
    placed = balls(np.zeros(len(L)))
    placed[r.J] = r.y * beta

    def powered(x: AnyArray) -> AnyArray:
        for _ in range(r.power):
            x = edges(x)
        return x

    def slope(f: AnyArray, x: AnyArray, t: Ball) -> AnyArray:
        return r.gamma_A * x + r.gamma_I * (powered(f) + t * f)

    def solved(s: Ball, t: Ball) -> AnyArray:
        def stored() -> arb_mat:
            I = diagonal([ONE] * len(L))
            exact = gram(r.F) if r.K is None else matrix(K)
            return I * r.gamma_A + (matrix(L) ** r.power + I * t) * (exact + I * s) * r.gamma_I

        about = float(r.gamma_I) * np.linalg.matrix_power(L, r.power) @ K
        near = float(r.gamma_A) * np.eye(len(L)) + about
        return solution(near, lambda x: slope(K_times(x) + s * x, x, t), placed / 2, stored)

    shifts = ((ZERO, ZERO), (2 * s.s, t.s**r.power))

    @cache
    def point(k: int) -> tuple[AnyArray, AnyArray]:
        a = r.alpha if k == 0 else solved(*shifts[k - 1])
        return a, K_times(a)

    @cache
    def images(k: int, shifted: int) -> tuple[AnyArray, AnyArray]:
        (a, Ka), (s, t) = point(k), shifts[shifted]
        f = Ka + s * a
        return f, slope(f, a, t)

    def bound(k: int, shifted: int, enough: Ball) -> Ball:
        (f, Sa), s = images(k, shifted), shifts[shifted][0]
        rest = 2 * Sa - placed
        most, dual = rest @ rest, gains + f @ Sa - f @ placed
        least = r.scale * (dual - (size + s) * most / (4 * r.gamma_A))
        if least >= enough:  # without another product with K
            return least
        return r.scale * (dual - positive_part(rest @ K_times(rest) + s * most) / (4 * r.gamma_A))

    def best(above: Ball, shifted: int) -> Ball:
        least = -INFINITE
        for k in range(2 + shifted):  # the coefficients of the answer prove nearly always as much as the best ones
            least = least.max(bound(k, shifted, above - r.claim.gap))
            if above - least <= r.claim.gap:
                break
        return least

    f, Sa = images(0, 0)
    losses = total(value(r.loss, r.parameter, u) for u in 1 - r.y * (f[r.J] + r.b))
    primal = r.scale * (losses + f @ Sa)
    least, charges = best(primal, 0), ZERO
    if s.s > 0 or t.s > 0:
        charges = r.scale * (2 * s.s * r.gamma_A * (r.alpha @ r.alpha) + r.gamma_I * t.s**r.power * (f @ f))
        charges += positive_part(least - best(primal + charges, 1))
    return Proof(primal, least, (s, t), charges)


def margins(r: SimpleNamespace, f: AnyArray) -> tuple[Ball, Ball, AnyArray, Ball]:
    """Return the factor that brings f within B, C sum max(0, 1 - y f) there, multipliers and sum of conjugates."""
    share = min([ONE] + [(r.B / abs(x)).lower() for x in f if not abs(x) <= r.B])
    if not share >= 1 - 2e-9:
        raise Refuted(f"decisions are up to {float(1 / share):.10g} times B = {float(r.B):.10g}")
    bounds = (-INFINITE, INFINITE) if r.B < INFINITE else (ZERO, r.C)
    gamma = r.y * balanced(r.y, r.y * r.gamma, *bounds)
    loss = r.C * total(positive_part(1 - r.y * share * f))
    return share, loss, gamma, total(margin_conjugate(r.C, r.B, s) for s in r.y * gamma)


def rmm(r: SimpleNamespace) -> Proof:
    """Bound 1/2 c'Kc + C sum max(0, 1 - y f), f = Kc + b, |f| <= B, by sum conjugate(y gamma) - 1/2 gamma'K gamma."""
    K, s = matrix(r.K), shift(r.K, "K")
    f = times(K, r.c)
    share, loss, gamma, gains = margins(r, f + r.b)
    primal, bound = share**2 * (r.c @ f) / 2 + loss, gains - gamma @ times(K, gamma) / 2
    return Proof(primal, bound, (s,), s.s * (r.c @ r.c + gamma @ gamma))


def blocks(r: SimpleNamespace) -> Iterator[tuple[AnyArray, slice, AnyArray]]:
    """Yield extreme spectra that begin together: which they are, where they lie, where in there each ends."""
    for i in np.unique(r.first):
        own = np.flatnonzero(r.first == i)
        yield own, slice(i, r.last[own].max() + 1), r.last[own] - i


def sums(r: SimpleNamespace, p: AnyArray) -> AnyArray:
    """Return Ap, the sums of p over the extreme spectra: rows of A are 1 from `first` to `last`."""
    out = balls(np.zeros(len(r.first)))
    for own, where, ends in blocks(r):
        out[own] = p[where].cumsum()[ends]
    return out


def weights(r: SimpleNamespace, kappa: AnyArray) -> AnyArray:
    """Return A'kappa."""
    out = balls(np.zeros(len(r.delta)))
    for own, where, ends in blocks(r):
        drops = balls(np.zeros(where.stop - where.start))
        drops[ends] = kappa[own]
        out[where] += drops[::-1].cumsum()[::-1]
    return out


def admissible(r: SimpleNamespace, eps: Ball) -> AnyArray:
    """Return A'kappa, kappa >= eps, of trace 1, that delta is but for rounding."""
    c, after = r.last - r.first + 1, balls(np.zeros(len(r.last)))
    if not eps * int(c.sum()) < 1:
        raise Refuted(f"eps={float(eps):.3g} leaves no trace to {len(c)} drops")
    nested = np.flatnonzero(r.first[1:] == r.first[:-1])
    after[nested] = r.delta[r.last[nested] + 1]
    kappa = positive_part(r.delta[r.last] - after - eps)
    kappa = kappa * ((1 - eps * int(c.sum())) / (c * kappa).sum()) + eps
    delta = weights(r, kappa)
    if not largest(abs(delta - r.delta)) <= 2e-9:
        raise Refuted(f"delta is not admissible: it is {float(largest(abs(delta - r.delta))):.3g} away from what is")
    return delta


def spectrum_margin(r: SimpleNamespace) -> Proof:
    """STORM, STOAM, MKL: 1/2 sum v^2 / delta + C sum max(0, 1 - y f), f = Uv + b, |f| <= B, delta = A'(kappa + eps).

    With p = (U'gamma)^2 / 2, c = A1, c'kappa = rho = 1 - eps 1'c the bound is sum conjugate(y gamma) -
    rho max_r (Ap)_r / c_r - eps 1'Ap; of a fixed spectrum it is sum conjugate(y gamma) - delta'p.
    """
    delta, used = r.delta if r.fixed else admissible(r, r.eps), r.v != ZERO
    if not ((delta[used] > 0).all() and (delta >= 0).all()):
        raise Refuted("delta is negative, or v is not 0 where delta is")
    share, loss, gamma, gains = margins(r, times(r.U, r.v) + r.b)
    p = times(r.U.transpose(), gamma) ** 2 / 2
    S, c = sums(r, p), r.last - r.first + 1
    spent = delta @ p if r.fixed else (1 - r.eps * int(c.sum())) * largest(S / c) + r.eps * total(S)
    return Proof(share**2 * total(r.v[used] ** 2 / delta[used]) / 2 + loss, gains - spent)


def alignment(r: SimpleNamespace) -> Proof:
    """KTA: a'delta / (l |K|), a = (U'y)^2, |K|^2 = delta'M delta, M = (U'U)^2, delta = A'kappa, to be maximised.

    What sticks out of the half-space of t >= 0, e_r = <yy' - tK, K_r> of the extreme kernels K_r, bounds it from above
    by (t |K| + sum_r max(0, e_r) / |K_r|) / l, as inner products of kernels are not negative; where t is so large that
    nothing sticks out it is t |K| / l. Kernels of nearly no trace are left out where they would decide, and named.
    """
    delta, U, a = admissible(r, ZERO), entries(r.U), times(r.U.transpose(), r.y) ** 2
    if r.U.ncols() > r.U.nrows():  # the diagonal of U'KU, without M
        K = arb_mat((U * delta).tolist()) * r.U.transpose()
        M_delta = (U * entries(K * r.U)).sum(axis=0)
    else:
        M_delta = entries(gram(r.U.transpose())) ** 2 @ delta
    aligned = a @ delta
    norm, h, Mh = (delta @ M_delta).sqrt(), sums(r, a), sums(r, M_delta)
    primal, bound, note = aligned / (len(r.y) * norm), INFINITE, ""
    out = ~(h <= 0)
    if (Mh[out] > 0).all():
        bound = largest(h[out] / Mh[out]) * norm / len(r.y)
    if not bound - primal <= r.claim.gap:
        sizes, traces, t = extreme_sizes(r), sums(r, (U**2).sum(axis=0)), aligned / norm**2
        kept = traces > 1e-28 * largest(traces)  # which `specmargin.objectives.Alignment` says, too
        out &= kept
        least = t * norm + total(positive_part(h - t * Mh)[kept] / sizes[kept])
        if (Mh[out] > 0).all():
            least = least.min(largest(h[out] / Mh[out]) * norm)
        bound = bound.min(least / len(r.y))
        if not kept.all():
            left = len(kept) - int(kept.sum())
            note = f"{left} of {len(kept)} extreme kernels of a share below 1e-28 are rounding, and do not count"
    return Proof(primal, bound, assumption=note)


def extreme_sizes(r: SimpleNamespace) -> AnyArray:
    """Return |K_r| of the extreme kernels."""
    M, sizes = entries(gram(r.U.transpose())) ** 2, balls(np.zeros(len(r.first)))
    for own, where, ends in blocks(r):  # entries are not negative: they grow by a row and a column at a time
        block = M[where, where]
        squares = (2 * np.triu(block, 1).sum(axis=0) + block.diagonal()).cumsum()
        sizes[own] = [x.sqrt() for x in squares[ends]]
    return sizes


def spectral_ridge(r: SimpleNamespace) -> Proof:
    """Least squares: sum_k |y - Uv - b|^2 + penalty sum v^2 / delta.

    Any theta with 1'theta = 0 bounds a class by theta'y - |theta|^2 / 4 - sum delta (U'theta)^2 / (4 penalty), which is
    (theta'y)^2 / (|theta|^2 + sum delta (U'theta)^2 / penalty) at the best multiple.
    """
    primal = bound = ZERO
    for y, v, b, theta in zip(entries(r.y).T, entries(r.v).T, r.b, entries(r.theta).T, strict=True):
        used, missed = v != ZERO, y - times(r.U, v) - b
        if not ((r.delta[used] > 0).all() and (r.delta >= 0).all()):
            raise Refuted("delta is negative, or v is not 0 where delta is")
        primal += missed @ missed + r.penalty * total(v[used] ** 2 / r.delta[used])
        theta = balanced(balls(np.ones(len(y))), theta, -INFINITE, INFINITE)
        cost = theta @ theta + r.delta @ times(r.U.transpose(), theta) ** 2 / r.penalty
        bound += (theta @ y) ** 2 / cost if cost > 0 else ZERO
    return Proof(primal, bound)


def graph_transducer(r: SimpleNamespace) -> Proof:
    """SGT: 1/2 w'Qw + C (Vw - tau)'P(Vw - tau), |w|^2 = n.

    For any lam below the eigenvalues of A = Q + 2C V'PV the minimum of the Lagrangian is the value less
    1/2 x'(A - lam)^-1 x, x = (A - lam)w - 2C V'P tau.
    """
    plus = r.y > 0
    sizes = balls(np.where(plus, plus.sum(), (~plus).sum()).astype(float))
    stretch = (r.n / (r.w @ r.w)).sqrt()
    if not abs(stretch - 1) <= 2e-9:
        raise Refuted(f"|w|^2 is {float(r.w @ r.w):.17g}, not n = {float(r.n):.17g}")
    w, p = stretch * r.w, 1 / sizes
    tau = r.y * np.array([((len(plus) - x) / x).sqrt() for x in sizes])
    missed = times(r.V, w) - tau
    primal = r.Q @ w**2 / 2 + r.C * (p @ missed**2)
    A = diagonal(r.Q) + r.V.transpose() * diagonal(2 * r.C * p) * r.V
    slope = r.Q * w + 2 * r.C * times(r.V.transpose(), p * missed)
    bound, size = -INFINITE, largest(entries(A).diagonal())
    for lowered in (0.0, *10.0 ** np.arange(-40, 0, 2)):
        lam = r.lam - size * lowered
        shifted, x = A - diagonal([lam] * len(w)), slope - lam * w
        if is_definite(shifted):
            lower = primal - x @ entries(shifted.solve(column(x)))[:, 0] / 2
            bound = bound.max(lower)
            if lower < bound or primal - bound <= r.claim.gap:
                break
    return Proof(primal, bound)


def clustering(r: SimpleNamespace) -> Proof:
    """Eigenmaps: trace(gamma_A a'Ka + f'L^p f), f = Ka, f'f = I, 1'f = 0.

    For any Z and s >= 0 it is at least m kappa - sum_j s_j |z_j|^2, where gamma_A |f|_K^2 + f'(L^p + Z diag(s) Z')f >=
    kappa |f|^2 if 1'f = 0; that is so if gamma_A K + KNK > 0, N = L^p + Z diag(s) Z' - kappa + beta 11' with any beta.
    In K + tI, t > s, every f costs less than in K: the bound holds for both, and the charge is that of the primal.
    """
    # Functions that K has by its rounding only cost gamma_A / t: s is to be as small as can be.
    n, m, L, s = r.alpha.nrows(), r.alpha.ncols(), matrix(r.L) ** r.power, shift(r.K, "K", tight=True)
    K, ones = matrix(r.K), arb_mat([[ONE]] * n)
    mean, I = ones.transpose() * K, diagonal([ONE] * n)
    P = I - gram(ones) * (ONE / n)
    if r.centred:
        K, alpha = P * K * P, P * r.alpha
    else:
        alpha = r.alpha - ones * (mean * r.alpha) * (1 / (mean * ones)[0, 0])
    f = K * alpha
    mass = f.transpose() * f
    off = largest(abs(x) for x in [*(mass - diagonal([ONE] * m)).entries(), *(mean * r.alpha).entries()])
    if not off <= 0.01:  # coefficients of size 1 / gamma_A round; what is proved is proved of the orthonormal ones
        raise Refuted(f"the columns of K alpha are not orthonormal and of mean 0: they miss it by {float(off):.3g}")
    primal = mass.solve(alpha.transpose() * f * r.gamma_A + f.transpose() * L * f).trace()
    if math.isinf(r.claim.dual):
        return Proof(primal, -INFINITE)
    own = total(r.s * [total(z**2) for z in entries(r.Z).T])
    bound = (arb(r.claim.dual) - r.claim.rounding).max(primal - (arb(r.claim.primal) - r.claim.dual + r.claim.rounding))
    bound = (bound + 1e-60 * abs(bound)).upper()
    kappa = (bound + own) / m
    N = L + r.Z * diagonal(r.s) * r.Z.transpose() - I * kappa + gram(ones) * (1e15 * (L.trace() + abs(kappa) + own))
    charge = r.gamma_A * mass.solve(alpha.transpose() * alpha).trace()
    for part in (1.0, 0.25, 0.0625) if (r.s >= 0).all() else ():  # k^2 / (k + t) <= k + st / (t - s) for k >= -s
        above = K + I * ((1 + part) * s.s)
        if is_definite(above * r.gamma_A + above * N * above):
            return Proof(primal, bound, (s._replace(s=(1 + part) / 2 * s.s),), (1 + part) / part * s.s * charge)
    return Proof(primal, -INFINITE)


def rows(r: SimpleNamespace) -> arb_mat:
    """Return the features, less their mean where it is given."""
    return r.X if r.mu is None else r.X - arb_mat([[ONE]] * r.X.nrows()) * arb_mat([list(r.mu)])


def weighted_svm(r: SimpleNamespace) -> Proof:
    """Weighted SVM: 1/2 w'Pw + sum [p V(f) + m V(-f) + t f], f = Xw + b.

    With a = t - p theta+ + m theta-, and 1'a = 0 where P has a zero (a free intercept), it is at least
    sum [p V*(theta+) + m V*(theta-)] + b 1'a - 1/2 a'XP^-1 X'a.
    """
    X, n, penalised = rows(r), len(r.plus), r.P > 0
    if not (entries(X)[:, ~penalised] == ONE).all():
        raise Refuted("a weight other than that of a constant feature has no penalty")
    f = times(X, r.w) + r.b
    c, y, t = np.concatenate([r.plus, r.minus]), balls([-1.0] * n + [1.0] * n), np.concatenate([f, -f])
    theta = np.concatenate([r.theta_plus, r.theta_minus])
    theta = balanced(c * y, theta, *box(r.loss, r.parameter), not penalised.all(), r.linear)
    used = np.flatnonzero(c > 0)
    losses = total(c[i] * value(r.loss, r.parameter, 1 - t[i]) for i in used)
    gains = total(c[i] * conjugate(r.loss, r.parameter, theta[i]) for i in used)
    a = r.linear + (c * y * theta).reshape(2, n).sum(axis=0)
    square = total(times(X.transpose(), a)[penalised] ** 2 / r.P[penalised])
    return Proof(r.w @ (r.P * r.w) / 2 + losses + r.linear @ f, gains + r.b * total(a) - square / 2)


def parabolas_minimum(Z: arb_mat, b: Ball, h: AnyArray, g: AnyArray, theta: AnyArray) -> Ball:
    """Return a lower bound on min_w 1/2 |w|^2 + sum_i (h_i + g_i f_i - theta_i f_i^2 / 2), f = Zw + b.

    The loss of every sample of an S3VM is above its parabola (theta = 0: a line). Where A = I - Z'diag(theta)Z > 0,
    w = Z'a has for any a the gradient Z'r, r = a + g - theta f, and the minimum is the value there less
    1/2 r'Z A^-1 Z'r. -inf where A > 0 is not proved. b is a ball; h, g, theta >= 0 are arrays of balls.
    """
    bent, least = np.flatnonzero(~(theta <= 0)), ONE
    if len(bent):
        root = np.array([x.sqrt() for x in theta[bent]])
        Y = arb_mat((root[:, None] * entries(Z)[bent]).tolist())
        M = -gram(Y.transpose() if Z.ncols() < len(bent) else Y)  # but for zeros, both have the same eigenvalues
        near = floats(entries(M))
        near = np.minimum(near, near.T)  # symmetric, however the product was rounded
        off = total(x.abs_upper() ** 2 for x in (M - matrix(near)).entries()).sqrt()
        least += (least_eigenvalue(near) - off).min(ZERO)
    if not least > 0:
        return -INFINITE
    rows, columns = floats(entries(Z)), Z.transpose()

    def G(x: AnyArray) -> AnyArray:
        return times(Z, times(columns, x))

    a = solution(
        np.eye(len(theta)) - (floats(theta)[:, None] * rows) @ rows.T,
        lambda x: x - theta * G(x),
        theta * b - g,
        lambda: diagonal([ONE] * len(theta)) - diagonal(theta) * gram(Z),
    )
    f = G(a) + b
    r = a + g - theta * f
    return (a @ (f - b) / 2 + total(h + g * f - theta * f**2 / 2) - r @ G(r) / (2 * least)).lower()


def s3vm(r: SimpleNamespace) -> Proof:
    """S3VM: 1/2 w'Pw + C sum V(y f) + C* sum U(f), f = Xw + b, with a line or a parabola below every loss, P = I.

    The relaxation has W = ww' + FF' for ww', and U(sqrt(f^2 + |F'x|^2)); decided samples have a loss of the margin.
    """
    if len(r.beta) != len(r.J) + len(r.decided) or np.isin(r.J, r.decided).any():
        raise Refuted("there is no multiplier for each of the labelled and decided samples")
    X, V = rows(r), diagonal([ONE] * r.X.ncols()) if r.V is None else r.V
    f, F = times(X * V, r.w) + r.b, arb_mat(V.ncols(), 1) if r.F is None else r.F
    free, spread = np.setdiff1d(np.arange(len(f)), [*r.J, *r.decided]), (entries(X * V * F) ** 2).sum(axis=1)
    squares = times(V, r.w) ** 2 + (entries(V * F) ** 2).sum(axis=1)
    primal = (total(squares) if r.P is None else r.P @ squares) / 2
    h, g, theta = (balls(np.zeros(len(f))) for _ in range(3))
    sides = [(r.J, r.y, r.C, r.loss, r.parameter, r.beta[: len(r.J)])]
    if len(r.decided):
        of_side = r.C_star, branch(r.unlabeled_loss), r.unlabeled_parameter
        sides.append((r.decided, r.signs, *of_side, r.beta[len(r.J) :]))
    for at, y, c, loss, p, multipliers in sides:
        beta = balanced(y, multipliers, *box(loss, p), False)
        primal += c * total(value(loss, p, u) for u in 1 - y * f[at])
        h[at], g[at] = [c * conjugate(loss, p, x) for x in beta], -c * y * beta
    if r.C_star > 0 and len(r.theta) != len(free):
        raise Refuted("there is no multiplier for each of the free samples")
    if r.C_star > 0:
        loss, p, theta[free] = r.unlabeled_loss, r.unlabeled_parameter, positive_part(r.theta)
        primal += r.C_star * total(unlabeled_value(loss, p, x.sqrt()) for x in f[free] ** 2 + spread[free])
    if math.isinf(r.claim.dual):
        return Proof(primal, -INFINITE)
    require_penalties(r)
    if r.C_star > 0:
        h[free] = [r.C_star * parabola_top(loss, p, x / r.C_star) for x in theta[free]]
    bound = parabolas_minimum(X, r.b, h, g, theta).max(ZERO)
    if r.V is None and not len(r.decided):
        return Proof(primal, bound, of=GLOBAL)
    least = f"the minimum of J is at least {outward(bound)[0]:.6g}, and may be higher"
    if len(r.decided):
        made = f"relaxation with {len(r.decided)} of the labels as this record decides them"
        return Proof(primal, bound, of=f"the optimum of the {made}: with these {least}, with others nothing is proved")
    return Proof(primal, bound, of=f"the optimum of the semidefinite relaxation: {least}")


GLOBAL = "the global minimum of J"


def require_penalties(r: SimpleNamespace) -> None:
    """Raise where a weight has another penalty than 1, as a free intercept has: lines and parabolas bound |w|^2."""
    if r.P is not None and not (r.P == ONE).all():
        raise Refuted(
            f"a weight has the penalty {float(r.P[r.P != ONE][0]):.3g}, and the bounds are for penalties of 1"
        )
