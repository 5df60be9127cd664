"""Losses of the verifier in balls: their values, concave conjugates, and the parabolas below them.

Written from their formulas alone: V(t) of a margin t = y f with V*(beta) = inf_t V(t) + beta t, U(f) of a decision with
h(theta) = inf_f U(f) + theta f^2 / 2. p is the parameter of a loss that has one: of the symmetric ramp what its
largest value is short of 1. A name that is in neither list below is refused.
"""

from __future__ import annotations

from cvxproof.proofs.balls import INFINITE, ONE, ZERO, Ball, Refuted, positive_part

__all__ = [
    *("MARGIN_LOSSES", "UNLABELED_LOSSES", "box", "branch", "conjugate", "parabola_top", "margin_conjugate", "touch"),
    *("unlabeled_value", "value"),
]

MARGIN_LOSSES = ("hinge", "squared_hinge", "squared", "huber_hinge", "smooth_hinge", "exp_envelope")
UNLABELED_LOSSES = ("symmetric_hinge", "symmetric_squared_hinge", "exp", "symmetric_ramp")


def value(loss: str, p: Ball, u: Ball) -> Ball:
    """Return V at the slack u = 1 - t."""
    if loss == "hinge":
        return positive_part(u)
    if loss == "squared_hinge":
        return positive_part(u) ** 2
    if loss == "squared":
        return u**2
    if loss == "huber_hinge":
        return positive_part(u - p) + positive_part(u + p).min(2 * p) ** 2 / (4 * p)
    if loss == "smooth_hinge":
        return positive_part(u) + (-abs(p * u)).exp().log1p() / p
    if loss == "exp_envelope":  # of exp(-p t^2) on t >= 0: the line from (0, 1) that touches it, and beyond it that
        t, (end, slope) = 1 - u, touch(p)
        return 1 - slope * t.min(end) + (-p * t.max(end) ** 2).exp() - (-p * end**2).exp()
    raise Refuted(f"the loss {loss!r} is not covered")


def unlabeled_value(loss: str, p: Ball, f: Ball) -> Ball:
    """Return U(f)."""
    if loss == "exp":
        return (-p * f**2).exp()
    if loss == "symmetric_ramp":
        return positive_part(1 - abs(f)).min(1 - p)
    return value(branch(loss), p, 1 - abs(f))


def branch(loss: str) -> str:
    """Return the loss of the margin that an unlabelled sample has whose label is decided."""
    branches = {"symmetric_hinge": "hinge", "symmetric_squared_hinge": "squared_hinge", "exp": "exp_envelope"}
    if loss not in branches:
        raise Refuted(f"the loss {loss!r} is not covered")
    return branches[loss]


def touch(p: Ball) -> tuple[Ball, Ball]:
    """Return where the line from (0, 1) touches exp(-p t^2), and how steep it falls: exp(x) = 1 + 2x, x = p t^2."""
    x = -ONE / 2 - (-(-ONE / 2).exp() / 2).lambertw(-1)
    return (x / p).sqrt(), 2 * (p * x).sqrt() * (-x).exp()


def box(loss: str, p: Ball) -> tuple[Ball, Ball]:
    """Return the interval of the multipliers of V."""
    if loss == "exp_envelope":
        return ZERO, touch(p)[1].lower()
    return -INFINITE if loss == "squared" else ZERO, INFINITE if loss in ("squared", "squared_hinge") else ONE


def conjugate(loss: str, p: Ball, beta: Ball) -> Ball:
    """Return V*(beta), -inf where beta is not in its box."""
    low, high = box(loss, p)
    if not low <= beta <= high:
        return -INFINITE
    if loss in ("squared", "squared_hinge"):
        return beta - beta**2 / 4
    if loss == "huber_hinge":
        return beta + p * beta * (1 - beta)
    if loss == "smooth_hinge" and 0 < beta < 1:
        return beta - (beta * beta.log() + (1 - beta) * (1 - beta).log()) / p
    if (
        loss == "exp_envelope" and beta > 0
    ):  # exp(-x), x = p t^2, falls with the slope beta where x exp(-2x) = beta^2 / 4p
        x = -(-(beta**2) / (2 * p)).lambertw(-1) / 2
        return (-x).exp() + beta * (x / p).sqrt()
    if loss not in ("hinge", "smooth_hinge", "exp_envelope"):
        raise Refuted(f"the loss {loss!r} is not covered")
    return beta


def parabola_top(loss: str, p: Ball, theta: Ball) -> Ball:
    """Return h(theta), or less."""
    if loss == "symmetric_squared_hinge":
        return theta / (2 + theta)
    if loss == "symmetric_hinge":
        return (theta.min(ONE) + 1 - 1 / theta.max(ONE)) / 2
    if loss == "symmetric_ramp":
        return parabola_top("symmetric_hinge", p, theta).min(1 - p)
    if loss != "exp":
        raise Refuted(f"no parabola is known below the loss {loss!r}")
    x = (theta / (2 * p)).min(ONE)
    return x * (1 - x.log()) if x > 0 else ZERO


def margin_conjugate(C: Ball, B: Ball, s: Ball) -> Ball:
    """Return the infimum of C max(0, 1 - t) + s t over |t| <= B, which is attained at a corner t = -B, 1 or B."""
    if not B < INFINITE:
        return s if 0 <= s <= C else -INFINITE
    ends = (C * (1 + B) - B * s).min(C * positive_part(1 - B) + B * s)
    return ends.min(s) if B >= 1 else ends
