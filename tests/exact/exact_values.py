"""Primal and dual objectives in a hundred digits at returned points, from the data of an objective alone.

The mathematics is that of the objectives' docstrings, written anew; nothing of the package is called but what holds
data. Multipliers are floats, whose sums are off by roundings: they are balanced exactly, in the way that costs least.
"""

import numpy as np
import scipy.sparse as sp
from exact_losses import (
    bounds,
    conjugate,
    height,
    margin_loss,
    relative_conjugate,
    slope,
    unlabeled_loss,
)
from exact_numbers import INFINITE, ONE, ZERO, balanced, definite, dot, number, orthonormal, solve, times, unit, wide

from specmargin.kernels import LowRankKernel


def signs(obj):
    """The labels, as decimals."""
    return wide(obj.labels.sign)


def dense(K):
    """A kernel or a graph as decimals."""
    if isinstance(K, LowRankKernel):
        F = wide(K.factor)
        return times(F, F.T)
    if not hasattr(K, "toarray") and not isinstance(K, np.ndarray):
        return wide(np.column_stack([K @ one for one in np.eye(K.shape[0])]))
    power = getattr(K, "power", 1)
    matrix = getattr(K, "matrix", K)
    one = out = wide(matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix))
    for _ in range(power - 1):
        out = times(one, out)
    return out


# Manifold regularization


class Manifold:
    """LapSVM and LapRLS."""

    def __init__(self, obj):
        self.obj, self.y, self.labeled = obj, signs(obj), obj.labels.labeled
        self.K = dense(obj.K)
        n = len(self.K)
        self.L = np.full((n, n), ZERO) if obj.L is None or obj.gamma_I == 0 else dense(obj.L)
        self.gamma_A, self.gamma_I = wide(obj.gamma_A), wide(obj.gamma_I)
        self.scale = wide(0.5 if obj.loss.name == "squared_hinge" else 1.0)

    def primal(self, alpha, b):
        """The objective at f = K alpha + b."""
        a, b = wide(alpha), wide(b)
        f = times(self.K, a)
        value = self.gamma_A * dot(a, f) + self.gamma_I * dot(f, times(self.L, f))
        losses = [margin_loss(self.obj.loss, y * (f[i] + b)) for i, y in zip(self.labeled, self.y, strict=True)]
        return self.scale * (value + sum(losses, ZERO))

    def dual(self, beta):
        """sum V*(beta) - 1/4 theta'G theta, theta = y beta."""
        lower, upper = bounds(self.obj.loss)
        beta = np.array([min(max(value, lower), upper) for value in wide(beta)], dtype=object)
        ways = balanced(self.y, beta, lower, upper) if self.obj.fit_intercept else [beta]
        n = len(self.K)
        S = self.gamma_I * times(self.L, self.K) + self.gamma_A * unit(n)
        pull = np.full((n, len(ways)), ZERO, dtype=object)
        pull[self.labeled] = np.array([self.y * way for way in ways]).T
        image = times(self.K, solve(S, pull))
        values = []
        for j, way in enumerate(ways):
            gains = sum((conjugate(self.obj.loss, value) for value in way), ZERO)
            values.append(self.scale * (gains - dot(pull[:, j], image[:, j]) / 4))
        return max(values)

    def __call__(self, result):
        found = result.variables
        assert self.obj.fit_intercept or not found["b"]
        return self.primal(found["alpha"], found["b"]), self.dual(found["beta"])


class Regression(Manifold):
    """LapRLS with numbers for targets."""

    def primal(self, alpha, b):
        """The objective at f = K alpha + b."""
        a, b = wide(alpha), wide(b)
        f = times(self.K, a)
        value = self.gamma_A * dot(a, f) + self.gamma_I * dot(f, times(self.L, f))
        r = wide(self.obj.targets) - f[self.labeled] - b
        return value + dot(r, r)

    def dual(self, beta):
        """z'theta - |theta|^2 / 4 - 1/4 theta'G theta at the balanced theta."""
        theta = wide(beta)
        theta = theta - sum(theta, ZERO) / len(theta) if self.obj.fit_intercept else theta
        n = len(self.K)
        S = self.gamma_I * times(self.L, self.K) + self.gamma_A * unit(n)
        pull = np.full((n, 1), ZERO, dtype=object)
        pull[self.labeled, 0] = theta
        image = times(self.K, solve(S, pull))
        return dot(wide(self.obj.targets), theta) - (dot(theta, theta) + dot(pull[:, 0], image[:, 0])) / 4


# Margins, absolute and relative


def margin_losses(obj, f):
    """C sum of hinges at decisions, infinite beyond the bound."""
    C, B = wide(obj.C), wide(obj.B)
    if any(abs(t) > B for t in f):
        return INFINITE
    return C * sum((max(ONE - y * t, ZERO) for y, t in zip(signs(obj), f, strict=True)), ZERO)


def margin_multipliers(obj, gamma):
    """Balanced multipliers near gamma."""
    y, free = signs(obj), np.isfinite(obj.B)
    ways = balanced(y, y * wide(gamma), -INFINITE if free else ZERO, INFINITE if free else wide(obj.C))
    return [y * way for way in ways]


def margin_conjugates(obj, gamma):
    """The sum of the concave conjugates."""
    C, B = wide(obj.C), wide(obj.B)
    return sum((relative_conjugate(C, B, s) for s in signs(obj) * gamma), ZERO)


def on_kernel(obj, expansion, b, gamma):
    """`RMM` at f = K expansion + b, and at multipliers."""
    K, c = wide(obj.K), wide(expansion)
    f = times(K, c)
    primal = dot(c, f) / 2 + margin_losses(obj, f + wide(b))
    return primal, max(margin_conjugates(obj, g) - dot(g, times(K, g)) / 2 for g in margin_multipliers(obj, gamma))


def rays(obj, delta):
    """The extreme spectra, as lists of their weights, one after the other for every graph."""
    if getattr(obj, "delta", None) is not None:
        return wide(delta)[None]
    rows, spectra = [], obj.spectra
    offset, q = 0, sum(spectrum.q for spectrum in spectra)
    for spectrum in spectra:
        k = spectrum.q
        if obj.order:
            ends = spectrum.block_ends() if obj.ties else np.arange(1, k)
            parts = [[0], *([*range(1, end + 1)] for end in ends)]
        else:
            parts = [[j] for j in range(k)]
        for part in parts:
            row = np.full(q, ZERO, dtype=object)
            row[[offset + j for j in part]] = ONE
            rows.append(row)
        offset += k
    return np.array(rows)


def drops(obj, delta, A):
    """The weights of the extreme spectra in delta, negative ones as they are."""
    if len(A) == 1 and obj.delta is not None:
        return np.array([ONE])
    delta, at = wide(delta), [max(np.flatnonzero(row)) for row in A]
    if not obj.order:
        return delta[at]
    starts = {0, *np.cumsum([spectrum.q for spectrum in obj.spectra])}
    kappa = []
    for j in at:
        first = j in starts  # the weight of the first eigenvector is free
        after = delta[j + 1] if not first and j + 1 < len(delta) and j + 1 not in starts else ZERO
        kappa.append(delta[j] - after)
    return np.array(kappa)


def over_spectrum(obj, found):
    """`SpectrumMargin` at the admissible spectrum that delta stands for, and at multipliers."""
    A, eps, U, v = rays(obj, found["delta"]), wide(obj.eps), wide(obj.U), wide(found["v"])
    c = np.array([sum(row, ZERO) for row in A]) if obj.delta is None else np.array([ONE])
    rho = ONE - eps * sum(c, ZERO)
    kappa = np.array([max(value - eps, ZERO) for value in drops(obj, found["delta"], A)])
    if obj.delta is None:
        kappa = kappa * (rho / dot(c, kappa)) + eps
    delta = times(A.T, kappa)
    norm = ZERO
    for a, d in zip(v, delta, strict=True):
        norm = norm if not a else INFINITE if not d else norm + a * a / d / 2
    primal = norm + margin_losses(obj, times(U, v) + wide(found["b"]))
    duals = []
    for gamma in margin_multipliers(obj, found["gamma"]):
        S = times(A, np.array([z * z / 2 for z in times(U.T, gamma)]))
        largest = max(s / t for s, t in zip(S, c, strict=True))
        duals.append(margin_conjugates(obj, gamma) - rho * largest - eps * sum(S, ZERO))
    return primal, max(duals)


def aligned(obj, found):
    """`Alignment` at delta, and the bound of the half-space whose normal is yy' - t K."""
    delta, U, y = wide(found["delta"]), wide(obj.U), signs(obj)
    A, l = rays(obj, delta), len(y)
    a = np.array([x * x for x in times(U.T, y)])
    M = np.vectorize(lambda x: x * x, otypes=[object])(times(U.T, U))
    image = times(M, delta)
    norm, length = dot(delta, image).sqrt(), ONE * l
    value = dot(a, delta) / (length * norm)
    h, Mh = times(A, a), times(A, image)
    own = [dot(row, times(M, row)).sqrt() for row in A]
    bounded = []
    if all(m > 0 for m, g in zip(Mh, h, strict=True) if g > 0):
        bounded.append(max(g / m for g, m in zip(h, Mh, strict=True) if g > 0) * norm)
    t = dot(a, delta) / norm**2
    out = ((max(g - t * m, ZERO), k) for g, m, k in zip(h, Mh, own, strict=True))
    bounded.append(t * norm + sum((over / k for over, k in out if over), ZERO))
    return value, min(bounded) / length


# Least squares and transduction over eigenvectors


def ridge(obj, found):
    """`SpectralRidge`: all classes, and at the best multiple of balanced residuals."""
    U, delta, penalty = wide(obj.U), wide(obj.delta), wide(obj.penalty)
    Y, V, T = (wide(np.reshape(x, (len(x), -1))) for x in (obj.labels.sign, found["v"], found["theta"]))
    primal = dual = ZERO
    for y, v, b, theta in zip(Y.T, V.T, wide(np.atleast_1d(found["b"])), T.T, strict=True):
        r = y - times(U, v) - b
        primal += dot(r, r)
        for a, d in zip(v, delta, strict=True):
            primal += penalty * a * a / d if a else ZERO
        theta = theta - sum(theta, ZERO) / len(theta)
        cost = dot(theta, theta) + dot(delta, [x * x for x in times(U.T, theta)]) / penalty
        dual += dot(theta, y) ** 2 / cost if cost else ZERO
    return primal, dual


def transduced(obj, found):
    """`SpectralGraphTransducer` at w on the sphere, and the Lagrangian's minimum at the best lam next to that given."""
    y, V = signs(obj), wide(obj.spectrum.eigenvectors[obj.labels.labeled, 1:])
    n, C, Q = wide(obj.spectrum.n_samples), wide(obj.C), wide(obj.Q)
    sizes = {sign: sum((ONE for label in y if label == sign), ZERO) for sign in (1, -1)}
    tau = np.array([sign * (sizes[-sign] / sizes[sign]).sqrt() for sign in map(int, y)])
    p = np.array([ONE / sizes[int(sign)] for sign in y])
    A = 2 * C * times(V.T * p, V)
    A[np.diag_indices(len(A))] += Q
    b = 2 * C * times(V.T, p * tau)
    w = wide(found["w"])
    w = w * (n / dot(w, w)).sqrt()
    miss = times(V, w) - tau
    primal = dot(Q, w * w) / 2 + C * dot(p, miss * miss)
    lam, size = wide(found["lam"]), max(A.diagonal())
    pulled, duals = times(A, w) - b, []
    for shift in [ZERO, *(size * number(10) ** e for e in range(-40, 0, 2))]:
        shifted = A - (lam - shift) * unit(len(A))
        if definite(shifted):
            r = pulled - (lam - shift) * w
            duals.append(primal - dot(r, solve(shifted, r)) / 2)
            if len(duals) > 1 and duals[-1] < duals[-2]:
                break
    return primal, max(duals, default=-INFINITE)


class Clustering:
    """`RegularizedClustering` with a kernel that is positive definite."""

    def __init__(self, obj):
        self.obj, self.K, self.L = obj, dense(obj.K), dense(obj.L)
        n = len(self.K)
        inverse = solve(self.K, unit(n))
        form = wide(obj.gamma) * (inverse + inverse.T) / 2 + self.L
        rows = form.sum(axis=0) / n
        self.form, self.mean = form - rows[:, None] - rows[None, :] + rows.sum() / n, np.full((n, n), ONE / n)

    def __call__(self, found):
        """The sum of Rayleigh quotients of the repaired columns, and the best bound that they give."""
        f = times(self.K, wide(found["alpha"]))
        Z = orthonormal(f - f.sum(axis=0) / len(f))
        theta = [dot(z, times(self.form, z)) for z in Z.T]
        weights = np.array([max(theta) - value for value in theta])
        primal, m = sum(theta, ZERO), len(theta)
        raised = self.form + times(Z * weights, Z.T)
        scale = max(theta)

        def proved(gap):
            kappa = (primal - gap + sum(weights, ZERO)) / m
            P = unit(len(self.K)) - self.mean
            return definite(raised - kappa * P + scale * self.mean)

        low, high = number("1e-40"), ONE  # of the primal
        if not proved(high * primal):
            return primal, -INFINITE
        for _ in range(16):
            middle = (low * high).sqrt()
            low, high = (low, middle) if proved(middle * primal) else (middle, high)
        return primal, primal * (ONE - high)


# SVMs in the weights of features


def rows_of(features):
    """The map of w to the decisions: dense features that are centred are the centred ones, sparse ones are not."""
    if not sp.issparse(features.X) or features.mu is None:
        return wide(features.dense())
    return wide(features.X.toarray()) - wide(features.mu)


def weighted(svm, w, duals):
    """`WeightedSVM` at w, and at multipliers: those given, or the slopes of the losses at w."""
    A, w, b, V = rows_of(svm.features), wide(w), wide(svm.features.offset), svm.loss
    p, m, P = wide(svm.plus), wide(svm.minus), wide(svm.features.weights)
    t = wide(np.zeros(len(A)) if svm.linear is None else svm.linear)
    f = times(A, w) + b
    primal = dot(P, w * w) / 2 + dot(t, f)
    primal += sum((p[i] * margin_loss(V, f[i]) + m[i] * margin_loss(V, -f[i]) for i in range(len(f))), ZERO)
    lower, upper = bounds(V)
    if duals:
        up, down = ([min(max(x, lower), upper) for x in wide(duals[name])] for name in ("plus", "minus"))
    else:
        up, down = ([slope(V, side * x) for x in f] for side in (1, -1))
    # All multipliers in one list: s weighs c on the side y.
    c = np.concatenate([p, m])
    y = np.concatenate([wide(-np.ones(len(f))), wide(np.ones(len(f)))])
    s = np.array([*up, *down], dtype=object)
    ways = [s]
    if svm.features.penalty == 0.0:
        ways = weighted_balance(c, y, s, sum(t, ZERO), lower)
    values = []
    for way in ways:
        a = (c * y * way).reshape(2, -1).sum(axis=0) + t
        pulled = times(A.T, a)
        square = sum((x * x / q for x, q in zip(pulled, P, strict=True) if q), ZERO)
        gains = sum((weight * conjugate(V, x) for weight, x in zip(c, way, strict=True) if weight), ZERO)
        values.append(gains - square / 2 + b * sum(a, ZERO))
    return primal, max(values)


def weighted_balance(c, y, s, lift, lower):
    """Multipliers near s whose weighted sum, with the lift of the tilt, is zero."""
    excess = dot(c * y, s) + lift
    if not excess:
        return [s]
    if lower != 0:
        return [s - y * (excess / sum(c, ZERO))]
    side = 1 if excess > 0 else -1
    heavy = [i for i in range(len(s)) if y[i] == side]
    total = sum((c[i] * s[i] for i in heavy), ZERO)
    if total < abs(excess):
        return []
    scaled = s.copy()
    scaled[heavy] = scaled[heavy] * ((total - abs(excess)) / total)
    return [scaled]


def nonconvex(obj, w):
    """J(w) of an `S3VM`."""
    A, w = rows_of(obj.features), wide(w)
    f = times(A, w) + wide(obj.features.offset)
    value = dot(wide(obj.features.weights), w * w) / 2
    C, C_star = wide(obj.C), wide(obj.C_star)
    margins = (y * f[i] for i, y in zip(obj.labels.labeled, signs(obj), strict=True))
    value += C * sum((margin_loss(obj.loss, t) for t in margins), ZERO)
    if C_star:
        value += C_star * sum((unlabeled_loss(obj.unlabeled_loss, f[j]) for j in obj.unlabeled), ZERO)
    return value


def relaxed(obj, theta, beta):
    """LB(theta, beta) of the semidefinite relaxation of an `S3VM`."""
    A, b = rows_of(obj.features), wide(obj.features.offset)
    theta = [max(x, ZERO) for x in wide(theta)] if obj.C_star else []
    lower, upper = bounds(obj.loss)
    beta = [min(max(x, lower), upper) for x in wide(beta)]
    C, C_star, y = wide(obj.C), wide(obj.C_star), signs(obj)
    free, known = A[obj.unlabeled][: len(theta)], A[obj.labels.labeled]
    value = sum((C_star * height(obj.unlabeled_loss, x / C_star) - x * b * b / 2 for x in theta), ZERO)
    value += C * sum((conjugate(obj.loss, x) - x * s * b for x, s in zip(beta, y, strict=True)), ZERO)
    q = C * times(known.T, y * np.array(beta))
    form = unit(A.shape[1])
    if len(theta):
        q = q + b * times(free.T, np.array(theta))
        form = form - times(free.T * np.array(theta), free)
    return value - dot(q, solve(form, q)) / 2 if definite(form) else -INFINITE
