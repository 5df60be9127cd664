"""What a record says, in floats: its objective and the bound of its evidence, by the formulas of the papers.

A third party to those who made the claim and to the verifier, from which it shares nothing: good to some digits, which
is enough to tell whether a change of a digit matters.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg as sla

from specmargin.losses import ExpSquared, HuberHinge, SmoothHinge, get_loss, get_unlabeled_loss
from specmargin.objectives import RelativeMargin
from specmargin.objectives.rounding.minorants import ExpEnvelope, minorant


def values(record):
    """Return the objective at the answer of a record, and the bound of its evidence; nan for what is not known."""
    with np.errstate(all="ignore"):
        return FORMULAS[record.kind](record.numbers, {name: np.asarray(x) for name, x in record.arrays.items()})


def margin_loss(name, p):
    """A loss of the margin by name and parameter."""
    parametric = {"huber_hinge": HuberHinge, "smooth_hinge": SmoothHinge, "exp_envelope": ExpEnvelope}
    return parametric[name](p) if name in parametric else get_loss(name)


def unlabeled_loss(name, q):
    """A loss of an unlabelled sample by name and parameter."""
    return ExpSquared(q) if name == "exp" else get_unlabeled_loss(name)


def balanced(y, s, low=-np.inf, high=np.inf, rest=0.0):
    """Multipliers in a box with y's + rest = 0: the side that is too heavy is scaled, or all are shifted."""
    s = np.clip(s, low, high)
    excess = float(y @ s) + rest
    if low == -np.inf:
        return s - y * excess / len(s)
    heavy = y * excess > 0
    share = 1.0 - abs(excess) / s[heavy].sum() if heavy.any() and s[heavy].sum() > 0 else 1.0
    return np.where(heavy, share * s, s)


def lapsvm(number, a):
    K = a["F"] @ a["F"].T if "F" in a else a["K"]
    n, J, y = len(K), a["J"], a["y"]
    L = np.linalg.matrix_power(a["L"], number["power"]) if number["gamma_I"] > 0 else np.zeros((n, n))
    loss = margin_loss(number["loss"], number["parameter"])
    S = number["gamma_A"] * np.eye(n) + number["gamma_I"] * L @ K
    f = K @ a["alpha"]
    primal = loss.value(y * (f[J] + number["b"])).sum() + number["gamma_A"] * a["alpha"] @ f
    primal += number["gamma_I"] * f @ (L @ f)
    beta = np.clip(y * a["theta"], loss.lower, loss.upper)  # as the verifier repairs them
    if number["fit_intercept"]:
        beta = balanced(y, beta, loss.lower, loss.upper)
    pull = np.zeros(n)
    pull[J] = y * beta
    x = np.linalg.solve(S, pull / 2)
    gains = loss.dual_value(np.clip(beta, loss.lower, loss.upper)).sum()
    return number["scale"] * primal, number["scale"] * (gains - pull @ (K @ x) / 2)


def bounded(B, f):
    """One, or inf where the decisions are out of bounds."""
    return 1.0 if np.abs(f).max() <= B * (1 + 1e-8) else math.inf


def rmm(number, a):
    loss, y = RelativeMargin(number["C"], number["B"]), a["y"]
    f = a["K"] @ a["c"]
    outside = bounded(number["B"], f + number["b"])
    primal = a["c"] @ f / 2 + number["C"] * np.maximum(0, 1 - y * (f + number["b"])).sum()
    box = (-np.inf, np.inf) if np.isfinite(number["B"]) else (0.0, number["C"])
    gamma = y * balanced(y, y * a["gamma"], *box)
    return outside * primal, loss.dual_value(y * gamma).sum() - gamma @ a["K"] @ gamma / 2


def spectrum_margin(number, a):
    loss, y, delta = RelativeMargin(number["C"], number["B"]), a["y"], a["delta"]
    f = a["U"] @ a["v"] + number["b"]
    used = a["v"] != 0
    primal = (a["v"][used] ** 2 / delta[used]).sum() / 2 + number["C"] * np.maximum(0, 1 - y * f).sum()
    box = (-np.inf, np.inf) if np.isfinite(number["B"]) else (0.0, number["C"])
    gamma = y * balanced(y, y * a["gamma"], *box)
    p = (a["U"].T @ gamma) ** 2 / 2
    if number["fixed"]:
        spent = delta / delta.sum() @ p
    else:
        S = np.array([p[i : j + 1].sum() for i, j in zip(a["first"], a["last"], strict=True)])
        c = a["last"] - a["first"] + 1
        spent = (1 - number["eps"] * c.sum()) * (S / c).max() + number["eps"] * S.sum()
    return bounded(number["B"], f) * primal, loss.dual_value(y * gamma).sum() - spent


def alignment(number, a):
    x, M = (a["U"].T @ a["y"]) ** 2, (a["U"].T @ a["U"]) ** 2
    return x @ a["delta"] / (len(a["y"]) * math.sqrt(a["delta"] @ M @ a["delta"])), math.nan


def spectral_ridge(number, a):
    y, U, delta, penalty = a["y"], a["U"], a["delta"], number["penalty"]
    used = delta > 0
    primal = ((y - U @ a["v"] - a["b"]) ** 2).sum() + penalty * (a["v"][used] ** 2 / delta[used, None]).sum()
    theta = a["theta"] - a["theta"].mean(axis=0)
    cost = (theta**2).sum(axis=0) + (delta[:, None] * (U.T @ theta) ** 2).sum(axis=0) / penalty
    return primal, float(np.divide((theta * y).sum(axis=0) ** 2, cost, where=cost > 0, out=np.zeros(len(cost))).sum())


def graph_transducer(number, a):
    positive = a["y"] > 0
    many, few = positive.sum(), (~positive).sum()
    p = np.where(positive, 1 / many, 1 / few)
    tau = np.where(positive, math.sqrt(few / many), -math.sqrt(many / few))
    w = a["w"] * math.sqrt(number["n"] / (a["w"] @ a["w"]))
    primal = a["Q"] @ w**2 / 2 + number["C"] * p @ (a["V"] @ w - tau) ** 2
    A = np.diag(a["Q"]) + 2 * number["C"] * a["V"].T @ (p[:, None] * a["V"])
    eigenvalues, E = np.linalg.eigh(A)
    if number["lam"] >= eigenvalues[0]:
        return primal, primal if np.isclose(number["lam"], eigenvalues[0]) else -math.inf
    x = E.T @ (A @ w - number["lam"] * w - 2 * number["C"] * a["V"].T @ (p * tau))
    return primal, primal - (x**2 / (eigenvalues - number["lam"])).sum() / 2


def clustering(number, a):
    K, L, alpha = a["K"], np.linalg.matrix_power(a["L"], number["power"]), a["alpha"]
    n, m = alpha.shape
    k = K.sum(axis=0)
    if number["centred"]:
        P = np.eye(n) - 1 / n
        K0, alpha = P @ K @ P, alpha - alpha.mean(axis=0)
    else:
        K0, alpha = K - np.outer(k, k) / k.sum(), alpha - (k @ alpha) / k.sum()
    f = K @ alpha
    cost = number["gamma_A"] * alpha.T @ f + f.T @ L @ f
    primal = np.trace(np.linalg.solve(f.T @ f, cost))
    w, U = np.linalg.eigh(K0)
    kept = w > 1e-13 * w[-1]
    R = U[:, kept] * np.sqrt(w[kept])
    form = number["gamma_A"] * np.eye(kept.sum()) + R.T @ (L + (a["Z"] * a["s"]) @ a["Z"].T) @ R
    kappa = 1 / sla.eigh(R.T @ R, form, eigvals_only=True)[-1]
    return primal, m * kappa - a["s"] @ (a["Z"] ** 2).sum(axis=0)


def rows(a):
    """The features, centred where a mean is given."""
    return a["X"] - a["mu"] if "mu" in a else a["X"]


def weighted_svm(number, a):
    loss, X, P = margin_loss(number["loss"], number["parameter"]), rows(a), a["P"]
    f = X @ a["w"] + number["b"]
    primal = P @ a["w"] ** 2 / 2 + a["linear"] @ f + a["plus"] @ loss.value(f) + a["minus"] @ loss.value(-f)
    c, y = np.concatenate([a["plus"], a["minus"]]), np.repeat([-1.0, 1.0], len(f))
    theta = np.clip(np.concatenate([a["theta_plus"], a["theta_minus"]]), loss.lower, loss.upper)
    used = P > 0
    if not used.all():
        theta = balanced(c * y, theta, loss.lower, loss.upper, a["linear"].sum())
    x = a["linear"] + (c * y * theta).reshape(2, -1).sum(axis=0)
    gains = (c * np.where(c > 0, loss.dual_value(theta), 0.0)).sum()
    return primal, gains + number["b"] * x.sum() - ((X.T @ x)[used] ** 2 / P[used]).sum() / 2


def s3vm(number, a):
    X = rows(a)
    T = X @ a["V"] if "V" in a else X
    f = T @ a["w"] + number["b"]
    length = ((a["V"] @ a["w"]) ** 2).sum() if "V" in a else a["w"] @ a["w"]
    spread = ((T @ a["F"]) ** 2).sum(axis=1) if "F" in a else np.zeros(len(f))
    length += ((a["V"] @ a["F"]) ** 2).sum() if "F" in a else 0.0
    decided = a.get("decided", np.zeros(0, dtype=int))
    free = np.setdiff1d(np.arange(len(f)), np.concatenate([a["J"], decided]))
    h, g, theta, primal = np.zeros(len(f)), np.zeros(len(f)), np.zeros(len(f)), length / 2
    beta, l = a.get("beta", np.zeros(len(a["J"]) + len(decided))), len(a["J"])
    sides = [(a["J"], a["y"], beta[:l], number["C"], margin_loss(number["loss"], number["parameter"]))]
    if len(decided):
        sides_of = {"symmetric_hinge": "hinge", "symmetric_squared_hinge": "squared_hinge", "exp": "exp_envelope"}
        side = margin_loss(sides_of[number["unlabeled_loss"]], number["unlabeled_parameter"])
        sides.append((decided, a["signs"], beta[l:], number["C_star"], side))
    for at, y, multipliers, c, loss in sides:
        multipliers = np.clip(multipliers, loss.lower, loss.upper)
        primal += c * loss.value(y * f[at]).sum()
        h[at], g[at] = c * loss.dual_value(multipliers), -c * y * multipliers
    U = unlabeled_loss(number["unlabeled_loss"], number["unlabeled_parameter"])
    if number["C_star"] > 0 and len(free):
        primal += number["C_star"] * U.value(np.sqrt(f[free] ** 2 + spread[free])).sum()
        theta[free] = np.maximum(a.get("theta", np.zeros(len(free))), 0.0)
        h[free] = number["C_star"] * minorant(U).value(theta[free] / number["C_star"])
    A = np.eye(X.shape[1]) - X.T @ (theta[:, None] * X)
    if np.linalg.eigvalsh(A)[0] <= 0:
        return primal, 0.0
    w = np.linalg.solve(A, X.T @ (theta * number["b"] - g))
    f = X @ w + number["b"]
    return primal, max(0.0, w @ w / 2 + (h + g * f - theta * f**2 / 2).sum())


def s3vm_tree(number, a):
    """The bound of a node is the best of its evidence, and the lower one of its parts; what cannot be is infinite."""
    primal = s3vm(number, a)[0]
    X, count, free = rows(a), 2 * len(a["parent"]) + 1, np.ones(len(a["X"]), dtype=bool)
    free[a["J"]] = False
    loss = margin_loss(number["loss"], number["parameter"])
    exp = number["unlabeled_loss"] == "exp"
    radius = np.sqrt(2 * primal * (X**2).sum(axis=1)) if exp else np.full(len(X), np.inf)
    lo, hi = np.tile(number["b"] - radius, (count, 1)), np.tile(number["b"] + radius, (count, 1))
    for k, (parent, i, at) in enumerate(zip(a["parent"], a["sample"], a["at"], strict=True)):
        for child in (2 * k + 1, 2 * k + 2):
            lo[child], hi[child] = lo[parent], hi[parent]
        hi[2 * k + 1, i], lo[2 * k + 2, i] = min(hi[parent, i], at), max(lo[parent, i], at)
    bounds = np.where((lo > hi).any(axis=1) & exp, np.inf, 0.0)
    for e, node in enumerate(a["node"]):
        both, own = np.zeros(2 * len(X)), slice(a["start"][e], a["start"][e + 1])
        both[a["index"][own]] = a["value"][own]
        g, theta = np.split(both, 2)
        A = np.eye(X.shape[1]) - X.T @ (theta[:, None] * X)
        if not np.isfinite(bounds[node]) or np.linalg.eigvalsh(A)[0] <= 0 or theta[~free].any():
            continue
        beta = -a["y"] * g[a["J"]] / number["C"]
        inside = (beta >= loss.lower) & (beta <= loss.upper)
        h = number["C"] * np.where(inside, loss.dual_value(np.clip(beta, loss.lower, loss.upper)), -np.inf).sum()
        for i in np.flatnonzero(free):
            h += lowest(number, g[i], theta[i], lo[node, i], hi[node, i])
        w = np.linalg.solve(A, X.T @ (theta * number["b"] - g))
        f = X @ w + number["b"]
        bounds[node] = max(bounds[node], h + w @ w / 2 + (g * f - theta * f**2 / 2).sum())
    for k in reversed(range(len(a["parent"]))):
        bounds[a["parent"][k]] = max(bounds[a["parent"][k]], bounds[2 * k + 1 : 2 * k + 3].min())
    return primal, bounds[0]


def lowest(number, g, theta, lo, hi):
    """The least of C* U(f) + theta f^2 / 2 - g f on [lo, hi]: at an end, at a corner of U, or where its slope is 0."""
    c, U = number["C_star"], unlabeled_loss(number["unlabeled_loss"], number["unlabeled_parameter"])
    if theta < 0 or (theta == 0 and ((g > 0 and hi == np.inf) or (g < 0 and lo == -np.inf))):
        return -np.inf
    at = [-1.0, 0.0, 1.0, *(end for end in (lo, hi) if np.isfinite(end))]
    if number["unlabeled_loss"] == "exp":
        at += list(np.linspace(lo, hi, 2001))
    else:
        bend, slope = (0.0, c) if number["unlabeled_loss"] == "symmetric_hinge" else (2 * c, 2 * c)
        at += [(g + sign * slope) / (theta + bend) for sign in (-1, 1) if theta + bend > 0]
        at += [g / theta] if theta > 0 else []
    f = np.clip(at, lo, hi)
    values = c * U.value(f) + theta * f**2 / 2 - g * f
    if number["unlabeled_loss"] == "exp":
        k, step = int(values.argmin()), (hi - lo) / 2000
        near = np.clip(np.linspace(f[k] - step, f[k] + step, 2001), lo, hi)
        return min(values.min(), (c * U.value(near) + theta * near**2 / 2 - g * near).min())
    return values.min()


FORMULAS = {
    "lapsvm": lapsvm,
    "rmm": rmm,
    "spectrum_margin": spectrum_margin,
    "alignment": alignment,
    "spectral_ridge": spectral_ridge,
    "graph_transducer": graph_transducer,
    "clustering": clustering,
    "weighted_svm": weighted_svm,
    "s3vm": s3vm,
    "s3vm_tree": s3vm_tree,
}
