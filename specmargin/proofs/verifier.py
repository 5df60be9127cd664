r"""The verifier: claims of certificates, proved anew in ball and rational arithmetic from their floats taken as exact.

It imports numpy, python-flint and `specmargin.proofs.record`, and nothing of those who made the claims. Each kind of
record is one function with the primal, the dual and the constraints of its paper. A multiplier may be any number: it is
clipped to its box and balanced in rationals first. Floats only guess (factors, solutions of linear systems); what they
guess is judged in balls of 256 bits, by flint (Arb), which encloses the exact value of every expression.
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
    from flint import arb, arb_mat, ctx, fmpq
except ImportError as error:  # pragma: no cover
    raise SolverNotInstalledError(
        "verification needs python-flint; install it with: pip install 'specmargin[verify]'"
    ) from error

__all__ = ["BITS", "balls", "check", "conjugate", "gram", "height", "least_eigenvalue", "parabolas_minimum"]

BITS = 256
"""Precision of every ball; callers of the functions below work within ``flint.ctx.workprec(BITS)``."""

Ball = Any
"""flint.arb"""


class Refuted(Exception):
    """What is claimed is not so; the text is the sentence of the `Verification`."""


def balls(x: Any) -> AnyArray:
    """Return numbers as an object array of balls, without any rounding."""
    return np.array([arb(value) for value in np.asarray(x).tolist()], dtype=object)


def rationals(x: AnyArray) -> AnyArray:
    """Return balls without radius as rational numbers."""
    return np.array([value.fmpq() for value in x], dtype=object)


positive_part = np.frompyfunc(lambda t: t.max(arb(0)), 1, 1)


def times(A: arb_mat, v: AnyArray) -> AnyArray:
    """Return A v, for a vector."""
    return np.array((A * arb_mat(len(v), 1, list(v))).entries(), dtype=object) if len(v) else balls(np.zeros(A.nrows()))


def floats(A: arb_mat) -> FloatArray:
    """Return the midpoints, rounded."""
    return np.array([float(x) for x in A.entries()]).reshape(A.nrows(), A.ncols())


def gram(X: arb_mat) -> arb_mat:
    """Return X X'."""
    return X * X.transpose()


def least_eigenvalue(A: arb_mat) -> Ball:
    """Return a proved lower bound on the smallest eigenvalue: A - sI = RR' + E for any s and R, so that it is s - |E|."""
    values, V = np.linalg.eigh(floats(A))
    s, R = values[0], V * np.sqrt(values - values[0])
    E = A - gram(arb_mat(R.tolist())) - arb_mat(np.diag(np.full(len(V), s)).tolist())
    return (arb(s) - sum((x * x for x in E.entries()), arb(0)).sqrt()).lower()


def solution(A: FloatArray, residual: Callable[[AnyArray], AnyArray], n: int) -> AnyArray:
    """Return about the x of residual(x) = 0, whose derivative is about -A: floats guess, balls correct them."""
    inverse, x = np.linalg.inv(A), balls(np.zeros(n))
    for _ in range(6):
        x = x + balls(inverse @ np.array([float(value) for value in residual(x)]))
    return x


def parabolas_minimum(G: arb_mat, b: Ball, h: AnyArray, g: AnyArray, theta: AnyArray) -> Ball:
    """Return a lower bound on min_w 1/2 |w|^2 + sum_i (h_i + g_i f_i - theta_i f_i^2 / 2), f = Zw + b, where ZZ' = G.

    With A = I - Z'diag(theta)Z > 0 and any a, w = Z'a leaves the gradient -Z'r, r = theta f - g - a, and the minimum is
    the value there less 1/2 r'Z A^-1 Z'r. Bounds of S3VMs are of this form: the loss of every sample is above its
    parabola. -inf where A > 0 is not proved. theta >= 0 is a number for each sample, 0 for a line.
    """
    k, n = [i for i, value in enumerate(theta) if value > 0], len(theta)
    least = arb(1)
    if k:
        root = [theta[i].sqrt() for i in k]
        A = [[(i == j) - s * G[i, j] * t for j, t in zip(k, root, strict=True)] for i, s in zip(k, root, strict=True)]
        least = least.min(least_eigenvalue(arb_mat(A)))
    if not least > 0:
        return arb.neg_inf()
    M = np.eye(n) - np.array([float(x) for x in theta])[:, None] * floats(G)
    a = solution(M, lambda a: theta * (times(G, a) + b) - g - a, n)
    Ga = times(G, a)
    f = Ga + b
    r = theta * f - g - a
    return (a @ Ga / 2 + (h + g * f - theta * f**2 / 2).sum() - r @ times(G, r) / (2 * least)).lower()


def value(loss: str, p: Ball, u: Ball) -> Ball:
    """Return the loss V at the slack u = 1 - t of a margin t; p is its parameter, where it has one."""
    if loss in ("hinge", "squared_hinge", "squared"):
        return u**2 if loss == "squared" else positive_part(u) ** (1 if loss == "hinge" else 2)
    if loss == "huber_hinge":  # u beyond p, (u + p)^2 / 4p within it
        return positive_part(u - p) + positive_part(u + p).min(2 * p) ** 2 / (4 * p)
    if loss == "smooth_hinge":
        return positive_part(u) + (-abs(p * u)).exp().log1p() / p
    raise Refuted(f"the loss {loss!r} is not covered")


def conjugate(loss: str, p: Ball, beta: Ball) -> Ball:
    """Return V*(beta) = inf_t V(t) + beta t of a loss of the margin; -inf where that is not proved to be finite."""
    if loss == "squared":
        return beta - beta**2 / 4
    if not beta >= 0 or not beta <= upper(loss, p):
        return arb.neg_inf()
    if loss == "hinge" or beta == 0:
        return beta
    if loss == "squared_hinge":
        return beta - beta**2 / 4
    if loss == "huber_hinge":
        return beta + p * beta * (1 - beta)
    if loss == "smooth_hinge":
        return beta if beta == 1 else beta - (beta * beta.log() + (1 - beta) * (1 - beta).log()) / p
    # The convex envelope of exp(-p t^2) on t >= 0 has the slope -beta where (p t^2) exp(-2 p t^2) = beta^2 / 4p.
    x = -(-(beta**2) / (2 * p)).lambertw(-1) / 2
    return (-x).exp() + beta * (x / p).sqrt()


def upper(loss: str, p: Ball) -> Ball:
    """Return the largest multiplier of a loss."""
    if loss == "exp_envelope":  # the slope of the line from (0, 1) that touches exp(-x), x = p t^2: exp(x) = 1 + 2x
        x = -arb(0.5) - (-(-arb(0.5)).exp() / 2).lambertw(-1)
        return 2 * (p * x).sqrt() * (-x).exp()
    return arb.pos_inf() if loss in ("squared", "squared_hinge") else arb(1)


def height(loss: str, p: Ball, theta: Ball) -> Ball:
    """Return h(theta) = min_f U(f) + theta f^2 / 2, the top of the highest parabola below the loss U of a decision."""
    if loss == "symmetric_squared_hinge":
        return theta / (2 + theta)
    if loss == "symmetric_hinge":
        return (theta.min(arb(1)) + 1 - 1 / theta.max(arb(1))) / 2
    x = (theta / (2 * p)).min(arb(1))  # exp(-p f^2)
    return x * (1 - x.log()) if x > 0 else arb(0)


class Proof(NamedTuple):
    """What was proved: primal and bound of the problem as it stands, and of one whose kernels are shifted."""

    primal: Ball
    bound: Ball
    shifted_primal: Ball = None
    shifted_bound: Ball = None
    assumption: str = ""


def balanced(y: AnyArray, s: AnyArray, low: Ball, high: Ball, free: bool = True) -> AnyArray:
    """Return multipliers in [low, high] whose signed sum y's is 0 in rationals: what is too much is scaled or shifted."""
    s = positive_part(s - low) + low if low > arb.neg_inf() else s
    s = -(positive_part(high - s) - high) if high < arb.pos_inf() else s
    excess = (y * s).sum()
    if not free or excess == 0:
        return s
    if not low > arb.neg_inf():
        return s - y * (excess / len(s))
    heavy = y * excess.sgn() > 0
    return np.where(heavy, s * (1 - abs(excess) / s[heavy].sum()), s)


def shift(A: arb_mat, name: str) -> Ball:
    """Return an s >= 0 for which A + sI is proved to be positive semidefinite."""
    s, size = (-least_eigenvalue(A)).max(arb(0)), max(float(A[i, i]) for i in range(A.nrows()))
    if not s <= 1e-6 * size:
        raise Refuted(
            f"{name} is not positive semidefinite: an eigenvalue may be {-float(s):.3g}, its diagonal {size:.3g}"
        )
    return s


def lapsvm(r: SimpleNamespace) -> Proof:
    """min scale [sum V(y f) + gamma_A a'Ka + gamma_I f'Lf], f = Ka + b, bounded by any theta with 1'theta = 0:

    scale [sum V*(y theta) + a'KSa - theta'JKa - r'KS^-1 r / 4], S = gamma_A + gamma_I LK, r = 2Sa - J'theta, for any a,
    where KS^-1 <= K / gamma_A.
    """
    n, J = len(r.alpha), r.J
    K, s = (gram(r.factor), arb(0)) if r.factor is not None else (r.K, shift(r.K, "K"))
    L, t = arb_mat(n, n), arb(0)
    if r.gamma_I > 0:
        L, t = r.L**r.power, shift(r.L, "L") ** r.power * (r.power % 2)
    V = np.frompyfunc(lambda u: value(r.loss, r.parameter, u), 1, 1)
    low = arb.neg_inf() if r.loss == "squared" else arb(0)
    beta = balanced(r.y, r.y * r.theta, low, upper(r.loss, r.parameter), r.fit_intercept)
    gains = sum((conjugate(r.loss, r.parameter, x) for x in beta), arb(0))
    pull = balls(np.zeros(n))
    pull[J] = r.y * beta

    def bound(s: Ball, t: Ball) -> Ball:
        def k(v: AnyArray) -> AnyArray:
            return times(K, v) + s * v

        def S(v: AnyArray, f: AnyArray) -> AnyArray:
            return r.gamma_A * v + r.gamma_I * (times(L, f) + t * f)

        matrix = float(r.gamma_A) * np.eye(n) + float(r.gamma_I) * floats(L) @ floats(K)
        a = solution(matrix, lambda a: pull / 2 - S(a, k(a)), n)
        f = k(a)
        rest = 2 * S(a, f) - pull
        return r.scale * (gains + S(a, f) @ f - pull @ f - rest @ k(rest) / (4 * r.gamma_A))

    f = times(K, r.alpha)
    primal = V(1 - r.y * (f[J] + r.b)).sum() + r.gamma_A * (r.alpha @ f) + r.gamma_I * (f @ times(L, f))
    primal, more = r.scale * primal, r.scale * (2 * s * r.gamma_A * (r.alpha @ r.alpha) + r.gamma_I * t * (f @ f))
    return Proof(primal, bound(arb(0), arb(0)), primal + more, bound(2 * s, t), assumption(s, t))


def assumption(s: Ball, t: Ball | int = 0) -> str:
    """Say what is known of a kernel (and a graph) that is positive semidefinite up to its rounding."""
    names = [f"{name} + {float(x):.1e} I" for name, x in (("K", s), ("L", t)) if x > 0]
    return " and ".join(names) + (" are" if len(names) > 1 else " is") + " positive semidefinite" if names else ""


def margin_loss(C: Ball, B: Ball, y: AnyArray, f: AnyArray) -> Ball:
    """Return C sum max(0, 1 - y f)."""
    return C * positive_part(1 - y * f).sum()


def margin_conjugate(C: Ball, B: Ball, s: Ball) -> Ball:
    """Return inf of C max(0, 1 - t) + s t over |t| <= B: it is attained at a corner t = -B, 1 or B."""
    if not B < arb.pos_inf():
        return s if s >= 0 and s <= C else arb.neg_inf()
    least = (C * (1 + B) - B * s).min(C * positive_part(1 - B) + B * s)
    return least.min(s) if B >= 1 else least


def margin_gains(r: SimpleNamespace) -> tuple[Ball, AnyArray]:
    """Return the sum of the conjugates at the balanced multipliers, and these."""
    bounded = r.B < arb.pos_inf()
    box = (arb.neg_inf(), arb.pos_inf()) if bounded else (arb(0), r.C)
    gamma = r.y * balanced(r.y, r.y * r.gamma, *box)
    return sum((margin_conjugate(r.C, r.B, s) for s in r.y * gamma), arb(0)), gamma


def within(B: Ball, f: AnyArray) -> Ball:
    """Return the factor that brings decisions f within B: 1, or less by the rounding that is put up with."""
    share = min((arb(1).min(B / abs(x)) for x in f if not abs(x) <= B), key=float, default=arb(1)).lower()
    if not share >= 1 - 2e-9:
        raise Refuted(f"a decision exceeds B = {float(B):.17g} by the factor {float(1 / share):.10g}")
    return share


def rmm(r: SimpleNamespace) -> Proof:
    """min 1/2 c'Kc + C sum max(0, 1 - y f), f = Kc + b, |f| <= B, bounded by sum conjugate(y gamma) - 1/2 gamma'K gamma."""
    s = shift(r.K, "K")
    f = times(r.K, r.c)
    share = within(r.B, f + r.b)
    c, f = share * r.c, share * f
    gains, gamma = margin_gains(r)
    primal, bound = c @ f / 2 + margin_loss(r.C, r.B, r.y, f + share * r.b), gains - gamma @ times(r.K, gamma) / 2
    return Proof(primal, bound, primal + s * (c @ c), bound - s * (gamma @ gamma), assumption(s))


def s3vm(r: SimpleNamespace) -> Proof:
    """J(w) = 1/2 |w|^2 + C sum V(y f) + C* sum U(f), f = Xw + b, bounded by its parabolas (`parabolas_minimum`)."""
    f = times(r.X, r.w) + r.b
    free = np.setdiff1d(np.arange(len(f)), r.J)
    primal = r.w @ r.w / 2 + r.C * sum((value(r.loss, r.parameter, u) for u in 1 - r.y * f[r.J]), arb(0))
    primal += r.C_star * sum((unlabeled_value(r.unlabeled_loss, r.unlabeled_parameter, x) for x in f[free]), arb(0))
    h, g, theta = (balls(np.zeros(len(f))) for _ in range(3))
    beta = balanced(r.y, r.beta, arb(0), upper(r.loss, r.parameter), False)
    h[r.J], g[r.J] = [r.C * conjugate(r.loss, r.parameter, x) for x in beta], -r.C * r.y * beta
    if r.C_star > 0:
        theta[free] = positive_part(r.theta)
        tops = [height(r.unlabeled_loss, r.unlabeled_parameter, x / r.C_star) for x in theta[free]]
        h[free] = [r.C_star * top for top in tops]
    return Proof(primal, parabolas_minimum(gram(r.X), r.b, h, g, theta))


def unlabeled_value(loss: str, p: Ball, f: Ball) -> Ball:
    """Return U(f)."""
    if loss == "exp":
        return (-p * f**2).exp()
    return positive_part(1 - abs(f)) ** (1 if loss == "symmetric_hinge" else 2)


KINDS: dict[str, tuple[Callable[[SimpleNamespace], Proof], str, str]] = {
    "lapsvm": (
        lapsvm,
        "K=nn? factor=nm? L=nn? J=l y=l alpha=n theta=l",
        "loss parameter power gamma_A gamma_I scale fit_intercept b",
    ),
    "rmm": (rmm, "K=ll y=l c=l gamma=l", "C B b"),
    "s3vm": (s3vm, "X=nd J=l y=l w=d beta=l theta=u", "loss parameter unlabeled_loss unlabeled_parameter C C_star b"),
}


def check(record: ProofRecord) -> Verification:
    """Return what is proved of a record.

    Raises
    ------
    SolverNotInstalledError
        Without python-flint.
    """
    with ctx.workprec(BITS):
        try:
            if record.kind not in KINDS:
                raise Refuted(f"there is no proof of the kind {record.kind!r}")
            prove, arrays, numbers = KINDS[record.kind]
            return judged(record.claim, prove(read(record, arrays, numbers)))
        except Refuted as refuted:
            return Verification(False, str(refuted))


def read(record: ProofRecord, arrays: str, numbers: str) -> SimpleNamespace:
    """Return what a kind needs as balls, its shapes checked."""
    out, sizes = SimpleNamespace(), {}
    for name in numbers.split():
        if name not in record.numbers:
            raise Refuted(f"a record of the kind {record.kind!r} has no number {name}")
        x = record.numbers[name]
        setattr(out, name, arb(x) if isinstance(x, float) else x)
    for spec in arrays.split():
        name, shape = spec.rstrip("?").split("=")
        if name not in record.arrays:
            if not spec.endswith("?"):
                raise Refuted(f"a record of the kind {record.kind!r} has no array {name}")
            setattr(out, name, None)
            continue
        x = np.asarray(record.arrays[name])
        expected = tuple(sizes.setdefault(letter, size) for letter, size in zip(shape, x.shape, strict=False))
        if x.ndim != len(shape) or x.shape != expected or not np.isfinite(x).all():
            raise Refuted(f"{name} of the shape {x.shape} does not fit, or is not finite")
        if x.dtype.kind in "iu":
            setattr(out, name, x)
        else:
            setattr(out, name, balls(x) if x.ndim == 1 else arb_mat(x.tolist()))
    return out


def judged(claim: Claim, proof: Proof) -> Verification:
    """Compare what was proved with what is claimed."""
    sign = 1 if claim.sense == "minimize" else -1
    primal, bound = (outward(x) for x in (proof.primal, proof.bound))
    difference = sign * (proof.primal - proof.bound)
    gap = outward(difference)
    found = {"primal": primal, "bound": bound, "gap": gap}
    if not abs(proof.primal - claim.primal) <= arb(claim.rounding) + math.ulp(claim.primal):
        return Verification(False, f"the objective is {primal[0]:.17g}, not {claim.primal:.17g}", **found)
    if not sign * (proof.bound - claim.dual) >= -arb(claim.rounding):
        return Verification(False, f"the evidence proves the bound {bound[0]:.17g}, not {claim.dual:.17g}", **found)
    claimed = sign * (arb(claim.primal) - claim.dual) + claim.rounding
    if not difference <= claimed:
        return Verification(False, f"the gap is {gap[1]:.17g}, not {float(claimed):.17g}", **found)
    message = f"the gap is at most {gap[1]:.3g}"
    if not proof.assumption:
        return Verification(True, message, **found)
    whole = outward(sign * (proof.shifted_primal - proof.shifted_bound))
    assumptions = (f"{proof.assumption}; for that kernel the gap is at most {whole[1]:.3g}",)
    return Verification(True, message, **found, assumptions=assumptions)


def outward(x: Ball) -> tuple[float, float]:
    """Return floats around a ball."""
    low, high = float(x.lower()), float(x.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
