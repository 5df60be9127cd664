"""Losses and their concave conjugates in a hundred digits, written from their formulas and nothing else."""

from exact_numbers import INFINITE, ONE, ZERO, wide


def margin_loss(loss, t):
    """V(t), t the margin."""
    if loss.name == "hinge":
        return max(ONE - t, ZERO)
    if loss.name == "squared_hinge":
        return max(ONE - t, ZERO) ** 2
    if loss.name == "squared":
        return (ONE - t) ** 2
    if loss.name == "huber_hinge":
        h, u = wide(loss.h), ONE - t
        return u if u > h else max(u + h, ZERO) ** 2 / (4 * h)
    assert loss.name == "smooth_hinge"
    s = wide(loss.s)
    u = s * (ONE - t)
    return (max(u, ZERO) + (ONE + (-abs(u)).exp()).ln()) / s


def slope(loss, t):
    """-V'(t) of a smooth loss."""
    if loss.name == "squared_hinge":
        return 2 * max(ONE - t, ZERO)
    if loss.name == "squared":
        return 2 * (ONE - t)
    assert loss.name == "smooth_hinge"
    return ONE / (ONE + (-wide(loss.s) * (ONE - t)).exp())


def conjugate(loss, beta):
    """inf_t V(t) + beta t."""
    if loss.name == "squared":
        return beta - beta**2 / 4
    if beta < 0 or (beta > 1 and loss.name != "squared_hinge"):
        return -INFINITE
    if loss.name == "squared_hinge":
        return beta - beta**2 / 4
    if loss.name == "hinge":
        return beta
    if loss.name == "huber_hinge":
        return beta + wide(loss.h) * beta * (ONE - beta)
    assert loss.name == "smooth_hinge"
    entropy = -sum((p * p.ln() for p in (beta, ONE - beta) if p > 0), ZERO)
    return beta + entropy / wide(loss.s)


def bounds(loss):
    """The interval of the multipliers of V."""
    upper = INFINITE if loss.name in ("squared", "squared_hinge") else ONE
    return (-INFINITE if loss.name == "squared" else ZERO), upper


def relative_conjugate(C, B, s):
    """inf over |t| <= B of C max(0, 1 - t) + s t, at the corners of a piecewise linear function."""
    if B == INFINITE:
        return s if 0 <= s <= C else -INFINITE
    return min(C * max(ONE - t, ZERO) + s * t for t in (-B, ONE, B) if abs(t) <= B)


def unlabeled_loss(loss, f):
    """U(f) of an unlabelled sample."""
    if loss.name == "exp":
        return (-wide(loss.s) * f**2).exp()
    slack = max(ONE - abs(f), ZERO)
    if loss.name == "symmetric_ramp":
        return min(slack, ONE + wide(loss.s))
    return slack**2 if loss.name == "symmetric_squared_hinge" else slack


def height(loss, theta):
    """h(theta): the highest parabola h - theta f^2 / 2 below U."""
    if loss.name == "exp":
        x = min(theta / (2 * wide(loss.s)), ONE)
        return x * (ONE - x.ln()) if x > 0 else ZERO
    if loss.name == "symmetric_squared_hinge":
        return theta / (2 + theta)
    return theta / 2 if theta < 1 else ONE - ONE / (2 * theta)
