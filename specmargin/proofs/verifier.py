r"""The verifier: claims of certificates, proved anew in ball and rational arithmetic from their floats taken as exact.

It imports numpy, python-flint and `specmargin.proofs.record`, and nothing of those who made the claims. Each kind of
record is one function with the primal, the dual and the constraints of its paper; `KINDS` lists the arrays and numbers
that it reads. A multiplier may be any number: it is clipped to its box and balanced in rationals first. Floats only
guess (factors, solutions of linear systems); what they guess is judged in balls of 256 bits (flint's arb).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from specmargin.exceptions import SolverNotInstalledError
from specmargin.proofs.record import Claim, ProofRecord, Verification
from specmargin.typing import AnyArray, FloatArray

try:
    from flint import arb, arb_mat, ctx
except ImportError as error:  # pragma: no cover
    raise SolverNotInstalledError("to verify needs python-flint: pip install 'specmargin[verify]'") from error

__all__ = ["BITS", "KINDS", "balls", "check", "conjugate", "gram", "height", "least_eigenvalue", "parabolas_minimum"]

BITS = 256
"""Precision of every ball; callers of the functions below work within ``flint.ctx.workprec(BITS)``."""
Ball = Any
ZERO, ONE, INFINITE = arb(0), arb(1), arb.pos_inf()


class Refuted(Exception):
    """What is claimed is not so; the text is the sentence of the `Verification`."""


class Proof(NamedTuple):
    """Primal and bound; where kernels are positive semidefinite up to a shift also those of the shifted problem."""

    primal: Ball
    bound: Ball
    assumption: str = ""
    shifted: tuple[Ball, Ball] | None = None


def balls(x: Any) -> AnyArray:
    """Return numbers as an object array of balls, without any rounding."""
    return np.array([arb(one) for one in (x.tolist() if isinstance(x, np.ndarray) else x)], dtype=object)


def floats(x: AnyArray) -> FloatArray:
    """Return the midpoints, rounded."""
    return np.array([float(one) for one in x.ravel()]).reshape(x.shape)


def entries(A: arb_mat) -> AnyArray:
    """Return a matrix as an object array."""
    return np.array(A.entries(), dtype=object).reshape(A.nrows(), A.ncols())


def times(A: arb_mat, v: AnyArray) -> AnyArray:
    """Return A v."""
    return entries(A * arb_mat(len(v), 1, list(v)))[:, 0]


def gram(X: arb_mat) -> arb_mat:
    """Return X X'."""
    return X * X.transpose()


def diagonal(x: Any) -> arb_mat:
    """Return the diagonal matrix."""
    return arb_mat(np.diag(np.asarray(x, dtype=object)).tolist())


def total(x: Any) -> Ball:
    """Return the sum, a ball even of nothing."""
    return sum(x, ZERO)


positive_part = np.frompyfunc(lambda t: t.max(ZERO), 1, 1)


def least_eigenvalue(A: arb_mat) -> Ball:
    """Return a proved lower bound on the smallest eigenvalue: s - |E| where A = sI + RR' + E, whatever s and R are."""
    values, V = np.linalg.eigh(floats(entries(A)))
    s, R = values[0], V * np.sqrt(values - values[0])
    E = A - gram(arb_mat(R.tolist())) - diagonal([arb(s)] * len(V))
    return (s - total(x * x for x in E.entries()).sqrt()).lower()


def is_definite(A: arb_mat) -> bool:
    """Whether A is proved to be positive definite: X A X' is diagonally dominant, X guessed anew from what is left."""
    X = diagonal([ONE] * A.nrows())
    for _ in range(8):
        B = entries(X * A * X.transpose())
        own = np.diag(B)
        if (own < 0).any():
            return False
        if (2 * own > abs(B).sum(axis=1)).all():
            return True
        values, V = np.linalg.eigh(floats(B))
        scale = np.maximum(abs(values), 1e-16 * abs(values).max())
        X = arb_mat((V / np.sqrt(scale)).T.tolist()) * X
    return False


def solution(A: FloatArray, residual: Callable[[AnyArray], AnyArray]) -> AnyArray:
    """Return about the x of residual(x) = 0, an affine map with the matrix -A: floats guess, balls correct them."""
    inverse, x = np.linalg.inv(A), balls(np.zeros(len(A)))
    for _ in range(6):
        x = x + balls(inverse @ floats(residual(x)))
    return x


def parabolas_minimum(G: arb_mat, b: Ball, h: AnyArray, g: AnyArray, theta: AnyArray) -> Ball:
    """Return a lower bound on min_w 1/2 |w|^2 + sum_i (h_i + g_i f_i - theta_i f_i^2 / 2), f = Zw + b, where ZZ' = G.

    The loss of every sample of an S3VM is above a parabola (theta = 0: a line). Where A = I - Z'diag(theta)Z > 0, w = Z'a
    has for any a the gradient Z'r, r = a + g - theta f, and the minimum is the value there less 1/2 r'Z A^-1 Z'r. -inf
    where A > 0 is not proved. b is a ball, and h, g, theta >= 0 are arrays of balls.
    """
    k, least = np.flatnonzero(theta > 0), ONE
    if len(k):
        root = np.array([x.sqrt() for x in theta[k]])
        A = np.eye(len(k)) - root[:, None] * entries(G)[np.ix_(k, k)] * root
        least = least.min(least_eigenvalue(arb_mat(A.tolist())))
    if not least > 0:
        return arb.neg_inf()
    A = np.eye(len(theta)) - floats(theta)[:, None] * floats(entries(G))
    a = solution(A, lambda a: theta * (times(G, a) + b) - g - a)
    f = times(G, a) + b
    r = a + g - theta * f
    return (a @ (f - b) / 2 + (h + g * f - theta * f**2 / 2).sum() - r @ times(G, r) / (2 * least)).lower()


def value(loss: str, p: Ball, u: Ball) -> Ball:
    """Return the loss V(1 - u) of a margin (u is the slack), or U(1 - u) of a decision; p is its parameter, if any."""
    if loss.startswith("symmetric_"):
        return value(loss.removeprefix("symmetric_"), p, 1 - abs(1 - u))
    if loss in ("hinge", "squared_hinge"):
        return positive_part(u) ** (1 if loss == "hinge" else 2)
    if loss == "squared":
        return u**2
    if loss == "huber_hinge":
        return positive_part(u - p) + positive_part(u + p).min(2 * p) ** 2 / (4 * p)
    if loss == "smooth_hinge":
        return positive_part(u) + (-abs(p * u)).exp().log1p() / p
    if loss == "exp":
        return (-p * (1 - u) ** 2).exp()
    if loss == "exp_envelope":
        (x, slope), t = touch(p), 1 - u
        return 1 - slope * t.min(x) + (-p * t.max(x) ** 2).exp() - (-p * x**2).exp()
    raise Refuted(f"the loss {loss!r} is not covered")


def touch(p: Ball) -> tuple[Ball, Ball]:
    """Return where the line from (0, 1) touches exp(-p t^2), and how steep it falls: exp(x) = 1 + 2x, x = p t^2."""
    x = -ONE / 2 - (-(-ONE / 2).exp() / 2).lambertw(-1)
    return (x / p).sqrt(), 2 * (p * x).sqrt() * (-x).exp()


def box(loss: str, p: Ball) -> tuple[Ball, Ball]:
    """Return the interval of the multipliers of a loss of the margin."""
    if loss == "exp_envelope":
        return ZERO, touch(p)[1].lower()
    return -INFINITE if loss == "squared" else ZERO, INFINITE if loss in ("squared", "squared_hinge") else ONE


def conjugate(loss: str, p: Ball, beta: Ball) -> Ball:
    """Return V*(beta) = inf_t V(t) + beta t of a loss of the margin, -inf where beta is not in its box."""
    if not (box(loss, p)[0] <= beta <= box(loss, p)[1]):
        return -INFINITE
    if loss in ("squared", "squared_hinge"):
        return beta - beta**2 / 4
    if loss == "huber_hinge":
        return beta + p * beta * (1 - beta)
    if loss == "smooth_hinge" and 0 < beta < 1:
        return beta - (beta * beta.log() + (1 - beta) * (1 - beta).log()) / p
    if loss == "exp_envelope" and beta > 0:  # exp(-x), x = p t^2, falls with the slope beta where x exp(-2x) = beta^2 / 4p
        x = -(-(beta**2) / (2 * p)).lambertw(-1) / 2
        return (-x).exp() + beta * (x / p).sqrt()
    return beta


def height(loss: str, p: Ball, theta: Ball) -> Ball:
    """Return h(theta) = min_f U(f) + theta f^2 / 2, the top of the highest parabola below the loss U of a decision."""
    if loss == "symmetric_squared_hinge":
        return theta / (2 + theta)
    if loss == "symmetric_hinge":
        return (theta.min(ONE) + 1 - 1 / theta.max(ONE)) / 2
    x = (theta / (2 * p)).min(ONE)  # exp(-p f^2)
    return x * (1 - x.log()) if x > 0 else ZERO


def balanced(y: AnyArray, s: AnyArray, low: Ball, high: Ball, free: Any = True, rest: Ball = ZERO) -> AnyArray:
    """Return multipliers in [low, high] with y's + rest = 0 in rationals: all are shifted, or those of a side scaled."""
    y, s, rest = ([x.fmpq() for x in y]), [x.max(low).min(high).fmpq() for x in s], rest.fmpq()
    excess = sum((a * b for a, b in zip(y, s, strict=True)), rest)
    if free and excess and not low > -INFINITE:
        share = excess / sum(abs(a) for a in y)
        s = [b - (share if a > 0 else -share) for a, b in zip(y, s, strict=True)]
    elif free and excess:
        share = 1 - excess / sum(a * b for a, b in zip(y, s, strict=True) if a * excess > 0)
        s = [b * share if a * excess > 0 else b for a, b in zip(y, s, strict=True)]
    return balls(s)


def shift(A: arb_mat, name: str) -> Ball:
    """Return an s >= 0 with which A + sI is proved to be positive semidefinite."""
    s, size = (-least_eigenvalue(A)).max(ZERO), max(entries(A).diagonal(), default=ONE, key=float)
    if not s <= 1e-6 * size:
        raise Refuted(f"{name} has entries of {float(size):.3g} and eigenvalues down to {-float(s):.3g}, it is indefinite")
    return s


def up_to(s: Ball, t: Ball = ZERO) -> str:
    """Say what is known of a kernel (and a graph) that is positive semidefinite but for rounding."""
    names = [f"{name} + {float(x):.1e} I" for name, x in (("K", s), ("L", t)) if not x <= 0]
    return f"{' and '.join(names)} positive semidefinite" if names else ""


def lapsvm(r: SimpleNamespace) -> Proof:
    """Bound scale [sum V(y f) + gamma_A a'Ka + gamma_I f'Lf], f = Ka + b, by any theta with 1'theta = 0:

    scale [sum V*(y theta) + a'KSa - theta'JKa - r'KS^-1 r / 4], S = gamma_A + gamma_I LK, r = 2Sa - J'theta, for any a,
    and KS^-1 <= K / gamma_A. Decisions Ka have in K + 2sI >= sI >= 0 a norm of at most a'Ka + 2s|a|^2.
    """
    n, J = len(r.alpha), r.J
    K, s = (gram(r.F), ZERO) if r.K is None else (r.K, shift(r.K, "K"))
    L, t = arb_mat(n, n), ZERO
    if r.gamma_I > 0:
        L, t = r.L**r.power, (shift(r.L, "L") ** r.power if r.power % 2 else ZERO)
    beta = balanced(r.y, r.y * r.theta, *box(r.loss, r.p), r.fit_intercept)
    pull = balls(np.zeros(n))
    pull[J] = r.y * beta
    f = times(K, r.alpha)
    losses = total(value(r.loss, r.p, u) for u in 1 - r.y * (f[J] + r.b))
    primal = r.scale * (losses + r.gamma_A * (r.alpha @ f) + r.gamma_I * (f @ times(L, f)))
    more = r.scale * (2 * s * r.gamma_A * (r.alpha @ r.alpha) + r.gamma_I * t * (f @ f))
    S = float(r.gamma_A) * np.eye(n) + float(r.gamma_I) * floats(entries(L)) @ floats(entries(K))

    def bound(s: Ball, t: Ball) -> Ball:
        def Kx(x: AnyArray) -> AnyArray:
            return times(K, x) + s * x

        def Sx(x: AnyArray, f: AnyArray) -> AnyArray:
            return r.gamma_A * x + r.gamma_I * (times(L, f) + t * f)

        a = solution(S, lambda a: pull / 2 - Sx(a, Kx(a)))
        f = Kx(a)
        rest = 2 * Sx(a, f) - pull
        gains = total(conjugate(r.loss, r.p, x) for x in beta)
        return r.scale * (gains + Sx(a, f) @ f - pull @ f - rest @ Kx(rest) / (4 * r.gamma_A))

    return Proof(primal, bound(ZERO, ZERO), up_to(s, t), (primal + more, bound(2 * s, t)))


def margin_conjugate(C: Ball, B: Ball, s: Ball) -> Ball:
    """Return inf of C max(0, 1 - t) + s t over |t| <= B, which is attained at a corner t = -B, 1 or B."""
    if not B < INFINITE:
        return s if 0 <= s <= C else -INFINITE
    ends = (C * (1 + B) - B * s).min(C * positive_part(1 - B) + B * s)
    return ends.min(s) if B >= 1 else ends


def margins(r: SimpleNamespace, f: AnyArray) -> tuple[Ball, Ball, AnyArray, Ball]:
    """Return the factor that brings f within B, C sum max(0, 1 - y f) there, balanced multipliers, their conjugates."""
    share = min([ONE] + [(r.B / abs(x)).lower() for x in f if not abs(x) <= r.B], key=float)
    if not share >= 1 - 2e-9:
        raise Refuted(f"the decisions are up to {float(1 / share):.10g} times B = {float(r.B):.17g}")
    gamma = r.y * balanced(r.y, r.y * r.gamma, *((-INFINITE, INFINITE) if r.B < INFINITE else (ZERO, r.C)))
    loss = r.C * total(positive_part(1 - r.y * share * f))
    return share, loss, gamma, total(margin_conjugate(r.C, r.B, s) for s in r.y * gamma)


def rmm(r: SimpleNamespace) -> Proof:
    """Bound 1/2 c'Kc + C sum max(0, 1 - y f), f = Kc + b, |f| <= B, by sum conjugate(y gamma) - 1/2 gamma'K gamma."""
    s, Kc = shift(r.K, "K"), times(r.K, r.c)
    share, loss, gamma, gains = margins(r, Kc + r.b)
    primal, bound = share**2 * (r.c @ Kc) / 2 + loss, gains - gamma @ times(r.K, gamma) / 2
    return Proof(primal, bound, up_to(s), (primal + s * (r.c @ r.c), bound - s * (gamma @ gamma)))


def spectrum_margin(r: SimpleNamespace) -> Proof:
    """Bound 1/2 sum v^2 / delta + C sum max(0, 1 - y f), f = Uv + b, |f| <= B, delta = A'(kappa + eps), c'kappa = rho, by

    sum conjugate(y gamma) - rho max_r (Ap)_r / c_r - eps 1'Ap, p = (U'gamma)^2 / 2. Rows of A are 1 from `first` to
    `last`, c = A1, rho = 1 - eps 1'c; where the spectrum is fixed it is the only row, and c = 1.
    """
    delta = r.delta if r.fixed else admissible(r.delta, r.first, r.last, r.eps)
    if (used := r.v != ZERO)[delta <= 0].any():
        raise Refuted("v is not 0 where delta is")
    share, loss, gamma, gains = margins(r, times(r.U, r.v) + r.b)
    p = times(r.U.transpose(), gamma) ** 2 / 2
    if r.fixed:
        spent = delta @ p
    else:
        S, c = sums(r, p), r.last - r.first + 1
        spent = (1 - r.eps * int(c.sum())) * largest(S / c) + r.eps * S.sum()
    return Proof(share**2 * total(r.v[used] ** 2 / delta[used]) / 2 + loss, gains - spent)


def largest(x: AnyArray) -> Ball:
    """Return the largest of balls."""
    out = -INFINITE
    for one in x:
        out = out.max(one)
    return out


def sums(r: SimpleNamespace, p: AnyArray) -> AnyArray:
    """Return Ap."""
    return np.array([p[i : j + 1].sum() for i, j in zip(r.first, r.last, strict=True)], dtype=object)


def admissible(delta: AnyArray, first: AnyArray, last: AnyArray, eps: Ball = ZERO) -> AnyArray:
    """Return the spectrum of trace 1 and drops of at least eps that delta is but for rounding."""
    c = last - first + 1
    after = [delta[j + 1] if i in first[k + 1 : k + 2] else ZERO for k, (i, j) in enumerate(zip(first, last, strict=True))]
    kappa = positive_part(delta[last] - after - eps)
    kappa = kappa * ((1 - eps * int(c.sum())) / (c * kappa).sum()) + eps
    out = balls(np.zeros(len(delta)))
    for i, j, one in zip(first, last, kappa, strict=True):
        out[i : j + 1] += one
    if not largest(abs(out - delta)) <= 2e-9:
        raise Refuted("delta is not admissible: its sum is not 1, or its order is wrong")
    return out


def alignment(r: SimpleNamespace) -> Proof:
    """Bound a'delta / (l |K|), a = (U'y)^2, |K|^2 = delta'M delta, M = (U'U)^2, delta = A'kappa, from above by a t >= 0.

    <yy' - tK, K_r> = e_r of the extreme kernels, K_r = U diag(A_r) U', makes it (t |K| + sum_r max(0, e_r) / |K_r|) / l
    at most, as their inner products are not negative; or t |K| / l with the least t that leaves no e_r > 0.
    """
    delta, l = admissible(r.delta, r.first, r.last), len(r.y)
    a, M = times(r.U.transpose(), r.y) ** 2, entries(gram(r.U.transpose())) ** 2
    norm, image = (delta @ M @ delta).sqrt(), M @ delta
    h, Mh, lengths = sums(r, a), sums(r, image), np.array([M[i : j + 1, i : j + 1].sum().sqrt() for i, j in zip(r.first, r.last, strict=True)])
    kept = lengths > 1e-28 * largest(lengths)
    h, Mh, t = h[kept], Mh[kept], a @ delta / norm**2
    bound = t * norm + total(positive_part(h - t * Mh) / lengths[kept])
    if (Mh[h > 0] > 0).all():
        bound = bound.min(largest(h[h > 0] / Mh[h > 0]) * norm)
    return Proof(a @ delta / (l * norm), bound / l, "" if kept.all() else "extreme kernels of a share below 1e-28 are 0")


def spectral_ridge(r: SimpleNamespace) -> Proof:
    """Bound sum over classes of |y - Uv - b|^2 + penalty sum v^2 / delta by that of (theta'y)^2 / (|theta|^2 +

    sum delta (U'theta)^2 / penalty), with 1'theta = 0: theta'y - |theta|^2 / 4 - ... at the best multiple of theta.
    """
    primal = bound = ZERO
    for y, v, b, theta in zip(entries(r.y).T, entries(r.v).T, r.b, entries(r.theta).T, strict=True):
        used, rest = v != ZERO, y - times(r.U, v) - b
        if not (r.delta[used] > 0).all():
            raise Refuted("v is not 0 where delta is")
        primal += rest @ rest + r.penalty * total(v[used] ** 2 / r.delta[used])
        theta = balanced(balls([1.0] * len(y)), theta, -INFINITE, INFINITE)
        cost = theta @ theta + r.delta @ times(r.U.transpose(), theta) ** 2 / r.penalty
        bound += (theta @ y) ** 2 / cost if cost > 0 else ZERO
    return Proof(primal, bound)


def graph_transducer(r: SimpleNamespace) -> Proof:
    """Bound 1/2 w'Qw + C (Vw - tau)'P(Vw - tau), |w|^2 = n, by its Lagrangian: less 1/2 x'(A - lam)^-1 x,

    x = (A - lam)w - b, A = Q + 2C V'PV, b = 2C V'P tau, for any lam below all eigenvalues of A.
    """
    plus, n_plus = r.y > 0, int((r.y > 0).sum())
    p = np.where(plus, ONE / n_plus, ONE / (len(plus) - n_plus))
    tau = np.where(plus, (p[~plus][0] ** -1 / n_plus).sqrt(), -(p[plus][0] ** -1 / (len(plus) - n_plus)).sqrt())
    w = r.w * (r.n / (r.w @ r.w)).sqrt()
    missed = times(r.V, w) - tau
    primal = r.Q @ w**2 / 2 + r.C * (p @ missed**2)
    A = gram(r.V.transpose() * diagonal([(2 * r.C * x).sqrt() for x in p])) + diagonal(r.Q)
    pull, best, size = times(A, w) - 2 * r.C * times(r.V.transpose(), p * tau), -INFINITE, largest(entries(A).diagonal())
    for exponent in (-math.inf, *range(-40, 0, 2)):
        lam = r.lam - size * 10.0**exponent
        shifted = A - diagonal([lam] * len(w))
        if is_definite(shifted):
            x = pull - lam * w
            bound = primal - x @ entries(shifted.solve(arb_mat(len(x), 1, list(x))))[:, 0] / 2
            if not bound > best:
                break
            best = bound
    return Proof(primal, best)


def clustering(r: SimpleNamespace) -> Proof:
    """Bound trace(gamma alpha'K alpha + f'Lf), f = K alpha, f'f = I, 1'f = 0, by m kappa - sum_j s_j |z_j|^2 for any Z, s >= 0

    with gamma |f|_K^2 + f'(L + Z diag(s) Z')f >= kappa |f|^2 wherever 1'f = 0: for f = Kx, K positive definite,
    gamma K + K (L + Z diag(s) Z' - kappa + beta 11') K > 0 with any beta. In a larger K every f costs less.
    """
    n, m, L = r.alpha.nrows(), r.alpha.ncols(), r.L**r.power
    ones, s = arb_mat([[1.0]] * n), shift(r.K, "K")
    P = diagonal([ONE] * n) - gram(ones) * (ONE / n)
    K = P * r.K * P if r.centred else r.K
    if r.centred:
        alpha = P * r.alpha
    else:
        k = K * ones
        alpha = r.alpha - ones * (k.transpose() * r.alpha) * (1 / (ones.transpose() * k)[0, 0])
    f = K * alpha
    cost = alpha.transpose() * f * r.gamma + f.transpose() * L * f
    primal = (f.transpose() * f).solve(cost).trace()
    own = total(r.s * [total(z**2) for z in entries(r.Z).T])
    target = (arb(r.claim.dual) - r.claim.rounding).max(primal - (arb(r.claim.primal) - r.claim.dual + r.claim.rounding))
    target = (target + 1e-60 * abs(target)).upper()
    kappa = (target + own) / m
    beta = 1e15 * (L.trace() + kappa + own)
    form = L + r.Z * diagonal(r.s) * r.Z.transpose() - diagonal([kappa] * n) + gram(ones) * beta
    K = K + diagonal([2 * s] * n)
    proved = (r.s >= 0).all() and is_definite(K * r.gamma + K * form * K)
    return Proof(primal, target if proved else -INFINITE, up_to(s))


def rows(r: SimpleNamespace) -> arb_mat:
    """Return the features, centred where a mean is given."""
    return r.X if r.mu is None else r.X - arb_mat([[ONE]] * r.X.nrows()) * arb_mat([list(r.mu)])


def weighted_svm(r: SimpleNamespace) -> Proof:
    """Bound 1/2 w'Pw + sum [p V(f) + m V(-f) + t f], f = Xw + b, by sum [p V*(theta+) + m V*(theta-)] + b 1'a -

    1/2 a'XP^-1 X'a, a = t - p theta+ + m theta-, where P = 0 for a free intercept: 1'a = 0 then.
    """
    X, n, free = rows(r), len(r.plus), not (r.P > 0).all()
    f = times(X, r.w) + r.b
    sides = np.concatenate([f, -f])
    c, y = np.concatenate([r.plus, r.minus]), balls([-1.0] * n + [1.0] * n)
    used = c > 0
    primal = r.w @ (r.P * r.w) / 2 + r.linear @ f
    primal += total(c[i] * value(r.loss, r.p, 1 - sides[i]) for i in np.flatnonzero(used))
    theta = balanced(c * y, np.concatenate([r.theta_plus, r.theta_minus]), *box(r.loss, r.p), free, total(r.linear))
    a = r.linear + (c * y * theta).reshape(2, n).sum(axis=0)
    pulled = times(X.transpose(), a)[r.P > 0]
    gains = total(c[i] * conjugate(r.loss, r.p, theta[i]) for i in np.flatnonzero(used))
    return Proof(primal, gains + r.b * total(a) - total(pulled**2 / r.P[r.P > 0]) / 2)


def s3vm(r: SimpleNamespace) -> Proof:
    """Bound 1/2 |w|^2 + C sum V(y f) + C* sum U(f), f = Xw + b, by a parabola or a line below every loss.

    The relaxation writes W = ww' + FF' for ww', and U(sqrt(f^2 + x'FF'x)) for U(f). Decided samples have V or an envelope.
    """
    X = rows(r)
    T = X if r.V is None else X * r.V
    f, free = times(T, r.w) + r.b, np.setdiff1d(np.arange(X.nrows()), np.concatenate([r.J, r.decided]))
    spread, square = balls(np.zeros(len(f))), total(times(r.V, r.w) ** 2) if r.V is not None else r.w @ r.w
    if r.F is not None:
        spread, square = (entries(T * r.F) ** 2).sum(axis=1), square + total(x**2 for x in (r.V * r.F).entries())
    h, g, theta, primal = *(balls(np.zeros(len(f))) for _ in range(3)), square / 2
    sides = [(r.J, r.y, r.beta[: len(r.J)], r.C, r.loss, r.p), (r.decided, r.signs, r.beta[len(r.J) :], r.C_star, r.branch, r.q)]
    for at, y, beta, c, loss, p in sides:
        beta = balanced(y, beta, *box(loss, p), False)
        primal += c * total(value(loss, p, u) for u in 1 - y * f[at])
        h[at], g[at] = [c * conjugate(loss, p, x) for x in beta], -c * y * beta
    if r.C_star > 0:
        theta[free] = positive_part(r.theta)
        h[free] = [r.C_star * height(r.unlabeled_loss, r.q, x / r.C_star) for x in theta[free]]
        primal += r.C_star * total(value(r.unlabeled_loss, r.q, 1 - x.sqrt()) for x in f[free] ** 2 + spread[free])
    return Proof(primal, parabolas_minimum(gram(X), r.b, h, g, theta).max(ZERO))


KINDS: dict[str, tuple[Callable[[SimpleNamespace], Proof], str, str]] = {
    "lapsvm": (lapsvm, "K:nn? F:nm? L:nn? J:l y:l alpha:n theta:l", "loss p power gamma_A gamma_I scale fit_intercept b"),
    "rmm": (rmm, "K:ll y:l c:l gamma:l", "C B b"),
    "spectrum_margin": (spectrum_margin, "U:lq y:l first:m last:m v:q delta:q gamma:l", "C B eps fixed b"),
    "alignment": (alignment, "U:lq y:l first:m last:m delta:q", ""),
    "spectral_ridge": (spectral_ridge, "U:lq y:lk delta:q v:qk b:k theta:lk", "penalty"),
    "graph_transducer": (graph_transducer, "V:lk y:l Q:k w:k", "C n lam"),
    "clustering": (clustering, "K:nn L:nn alpha:nm Z:nm s:m", "gamma centred power"),
    "weighted_svm": (weighted_svm, "X:nd mu:d? P:d plus:n minus:n linear:n w:d theta_plus:n theta_minus:n", "loss p b"),
    "s3vm": (s3vm, "X:nd mu:d? V:dr? F:rs? J:l y:l decided:c signs:c w:r beta:k theta:u", "loss p unlabeled_loss branch q C C_star b"),
}
"""The kinds: a function, the arrays and their shapes (letters are sizes, those with ? may be missing), the numbers.

`loss` has the parameter p, `unlabeled_loss` and `branch` have q. L may also be given as L_data, L_indices, L_indptr (CSR).
"""
POSITIVE, NONNEGATIVE = {"C", "gamma_A", "gamma", "scale", "penalty", "n", "power"}, {"gamma_I", "C_star", "B", "eps", "plus", "minus"}


def check(record: ProofRecord) -> Verification:
    """Return what is proved of a record."""
    with ctx.workprec(BITS):
        try:
            if record.kind not in KINDS:
                raise Refuted(f"nothing is known of the kind {record.kind!r}")
            if not math.isfinite(record.claim.dual):
                raise Refuted("nothing to verify: stationary")
            prove, arrays, numbers = KINDS[record.kind]
            return judged(record.claim, prove(read(record, arrays, numbers)))
        except Refuted as refuted:
            return Verification(False, str(refuted))
        except (np.linalg.LinAlgError, ZeroDivisionError) as error:
            return Verification(False, f"the numbers leave the range of floats: {error}")


def read(record: ProofRecord, arrays: str, numbers: str) -> SimpleNamespace:
    """Return what a kind needs, floats as balls, their shapes and signs checked."""
    out, sizes = SimpleNamespace(claim=record.claim), {}
    for name in numbers.split():
        x = record.numbers.get(name)
        if x is None or (isinstance(x, float) and math.isnan(x)) or (name in POSITIVE and not x > 0) or (name in NONNEGATIVE and not x >= 0):
            raise Refuted(f"{name}={x!r} makes no problem of the kind {record.kind!r}")
        setattr(out, name, arb(x) if isinstance(x, float) else x)
    given = dict(record.arrays)
    if "L_data" in given:
        dense = np.zeros([len(given["L_indptr"]) - 1] * 2)
        dense[np.repeat(np.arange(len(dense)), np.diff(given["L_indptr"])), given["L_indices"]] = given["L_data"]
        given["L"] = dense
    for name, shape in (spec.split(":") for spec in arrays.split()):
        if name not in given and shape.endswith("?"):
            setattr(out, name, None)
            continue
        x = np.asarray(given.get(name, math.nan))
        expected = [sizes.setdefault(letter, size) for letter, size in zip(shape, x.shape, strict=False)]
        if x.ndim != len(shape.rstrip("?")) or list(x.shape) != expected or not np.isfinite(x).all():
            raise Refuted(f"{name} of the shape {x.shape} is no finite array of a record of the kind {record.kind!r}")
        if (shape[:2] == "nn" and (x != x.T).any()) or (name == "y" and (abs(x) != 1).any()) or (name in NONNEGATIVE and (x < 0).any()):
            raise Refuted(f"{name} has entries that are not allowed in it")
        if x.dtype.kind in "iu":
            setattr(out, name, x)
        else:
            setattr(out, name, balls(x) if x.ndim == 1 else arb_mat(x.tolist()))
    return out


def judged(claim: Claim, proof: Proof) -> Verification:
    """Compare what was proved with what is claimed."""
    sign = 1 if claim.sense == "minimize" else -1
    gap, claimed = sign * (proof.primal - proof.bound), sign * (arb(claim.primal) - claim.dual) + claim.rounding
    found = {name: outward(x) for name, x in (("primal", proof.primal), ("bound", proof.bound), ("gap", gap))}
    message = f"the gap is at most {found['gap'][1]:.3g}"
    if not abs(proof.primal - claim.primal) <= arb(claim.rounding) + math.ulp(claim.primal):
        message = f"the objective is {found['primal'][0]:.17g}, not {claim.primal:.17g}"
    elif not sign * (proof.bound - claim.dual) >= -arb(claim.rounding):
        message = f"the multipliers prove the bound {found['bound'][0]:.17g}, not {claim.dual:.17g}"
    elif not gap <= claimed:
        message = f"the gap is {found['gap'][1]:.17g}, not {float(claimed):.17g}"
    else:
        assumptions: tuple[str, ...] = ()
        if proof.assumption:
            assumptions = (proof.assumption,)
            if proof.shifted is not None:
                whole = outward(sign * (proof.shifted[0] - proof.shifted[1]))
                assumptions = (f"{proof.assumption}; of that problem the gap is at most {whole[1]:.3g}",)
        return Verification(True, message, **found, assumptions=assumptions)
    return Verification(False, message, **found)


def outward(x: Ball) -> tuple[float, float]:
    """Return floats around a ball."""
    return math.nextafter(float(x.lower()), -math.inf), math.nextafter(float(x.upper()), math.inf)
