"""Small S3VMs of all kinds, and their optima over all labelings by coordinate ascent: no code of the package.

The decisions are f = A w + b. Under given labels y the dual of the SVM in a, and in nu where the sum of the x of the
unlabelled samples is fixed, p = y a + nu on these,

    D = sum a_i (1 - y_i b) + nu total - 1/2 p'Qp,    Q = A A' + diag(1 / 2C_i), the latter of squared hinges alone,

is raised for all labelings at once, a coordinate after the other. D is a lower bound of J with those labels, and J at
w = A'p an upper one; those whose D has passed the lowest J are left behind.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM

LOSSES = (
    ("squared_hinge", "symmetric_squared_hinge"),
    ("hinge", "symmetric_hinge"),
    ("squared_hinge", "symmetric_hinge"),
    ("hinge", "symmetric_squared_hinge"),
    ("hinge", "exp"),
    ("squared_hinge", "exp"),
)
INTERCEPTS = ("balance", "regularized", "none", "slack")
SCALE = 3.0
"""s of exp(-s f^2), the package's default."""


@dataclass
class Small:
    """A problem: its objective, and the same once more in plain arrays."""

    name: str
    obj: S3VM
    A: np.ndarray
    b: float
    y: np.ndarray
    C: np.ndarray
    total: float | None
    losses: tuple[str, str]
    labelings: np.ndarray = field(init=False)
    """Of all samples, a row each; with one sign alone none if the sum of x is fixed."""

    def __post_init__(self):
        free = self.y == 0
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=int(free.sum()))))
        if self.total is not None:
            signs = signs[np.abs(signs.sum(axis=1)) < signs.shape[1]]
        self.labelings = np.tile(self.y, (len(signs), 1))
        self.labelings[:, free] = signs

    @property
    def free(self):
        return self.y == 0

    @property
    def smooth(self):
        return self.losses[1] == "exp"

    @property
    def squared(self):
        """Whose hinge is squared; of exp that of the SVMs which its descents start from."""
        known, hidden = (name.removeprefix("symmetric_") == "squared_hinge" for name in self.losses)
        return np.where(self.free, hidden or self.smooth, known)

    def value(self, W):
        """J at the rows of W, without labels of the unlabelled samples and without a sum of x."""
        f = W @ self.A.T + self.b
        slack = np.maximum(0.0, 1.0 - np.where(self.free, np.abs(f), self.y * f))
        losses = np.where(self.squared, slack**2, slack)
        if self.smooth:
            losses[:, self.free] = np.exp(-SCALE * f[:, self.free] ** 2)
        return 0.5 * (W**2).sum(axis=1) + losses @ self.C

    def value_in_x(self, W, Y, X):
        """J at (w, x) with x moved to where the labels Y and the sum allow it."""
        X = Y * np.maximum(Y * X, 1.0)
        lack = self.total - X[:, self.free].sum(axis=1)
        side = self.free & (np.where(lack > 0, 1.0, -1.0)[:, None] == Y)  # those that may go on in that direction
        X = X + side * (lack / side.sum(axis=1))[:, None]
        return 0.5 * (W**2).sum(axis=1) + (X - W @ self.A.T) ** 2 @ self.C


def small_problem(seed, most):
    """Problem of up to `most` unlabelled samples; losses and intercepts by turns, C |z|^2 from 0.03 to 30 or 300."""
    rng = np.random.default_rng([53, seed])
    intercept = INTERCEPTS[seed % 4]
    losses = LOSSES[0 if intercept == "slack" else seed // 4 % len(LOSSES)]
    u, l, d = int(rng.integers(1 + (intercept == "slack"), most + 1)), int(rng.integers(2, 6)), int(rng.integers(1, 6))
    y = np.concatenate([np.resize([1.0, -1.0], l), np.zeros(u)])
    X = rng.standard_normal((l + u, d))
    X[:, 0] += rng.choice([0.0, 1.0, 2.5]) * np.where(y == 0, rng.choice([-1.0, 1.0], l + u), y)
    if rng.random() < 0.2:
        X = np.round(X)  # ties
    hardest = 1.5 if "hinge" in losses or "symmetric_hinge" in losses else 2.5  # ascent is slow on hard margins
    C = 10.0 ** rng.uniform(-1.5, hardest) / float((X**2).sum(axis=1).mean())
    C_star, balance = C * float(rng.choice([1.0, l / u, 0.2])), float(rng.choice([0.0, 0.2, -0.5]))
    known = np.where(y == 0, -1, (y > 0).astype(int))
    options = {"C": C, "C_star": C_star, "balance": balance, "intercept": "none" if intercept == "slack" else intercept}
    if intercept == "slack":
        options["balance_on"] = "slack"
    A, b, total = X, 0.0, None
    if intercept == "balance":
        A, b = X - X[y == 0].mean(axis=0), balance
    elif intercept == "regularized":
        A = np.column_stack([X, np.ones(l + u)])
    elif intercept == "slack":
        total = balance * u
    obj = S3VM(X, encode_labels(known), *losses, **options)
    name = f"{seed}: {intercept}, {' and '.join(losses)}, l = {l}, u = {u}, d = {d}, C = {C:.2g}, C* = {C_star:.2g}"
    return Small(name, obj, A, b, y, np.where(y == 0, C_star, C), total, losses)


@dataclass
class Optima:
    """What the labelings say: lower and upper bounds of J with each, the latter those of J at the points W."""

    lower: np.ndarray
    upper: np.ndarray
    W: np.ndarray

    @property
    def best(self):
        return float(self.upper.min())


def enumerated(small, sweeps=20000, digits=1e-10):
    """Bounds of J over all labelings; those that may be the lowest are solved until their bounds meet."""
    A, b, C, squared, Y = small.A, small.b, small.C, small.squared, small.labelings
    Q = A @ A.T + np.diag(np.where(squared, 0.5 / C, 0.0))
    n, free = len(C), small.free.astype(float)
    linear, top = 1.0 - b * Y, np.where(squared, np.inf, C)
    own, row = np.maximum(Q.diagonal(), 1e-300), Q @ free
    a, nu, g = np.zeros_like(Y), np.zeros(len(Y)), np.zeros_like(Y)
    lower, upper, W = np.full(len(Y), -np.inf), np.full(len(Y), np.inf), np.zeros((len(Y), A.shape[1]))
    active = np.arange(len(Y))
    for sweep in range(sweeps):
        y, a_, g_, nu_ = Y[active], a[active], g[active], nu[active]
        for i in range(n):
            new = np.clip(a_[:, i] + (linear[active, i] - y[:, i] * g_[:, i]) / own[i], 0.0, top[i])
            g_ += (y[:, i] * (new - a_[:, i]))[:, None] * Q[i]
            a_[:, i] = new
        if small.total is not None:
            step = (small.total - g_ @ free) / float(free @ row)
            nu_ = nu_ + step
            g_ += step[:, None] * row
        a[active], g[active], nu[active] = a_, g_, nu_
        if sweep % 10 < 9 and sweep < sweeps - 1:
            continue
        p = y * a_ + nu_[:, None] * (free if small.total is not None else 0.0)
        w = p @ A
        quadratic = 0.5 * np.einsum("ki,ij,kj->k", p, Q, p)
        dual = (a_ * linear[active]).sum(axis=1) + nu_ * (small.total or 0.0) - quadratic
        value = small.value(w) if small.total is None else small.value_in_x(w, y, p @ Q)
        lower[active] = np.maximum(lower[active], dual)
        better = value < upper[active]
        upper[active[better]], W[active[better]] = value[better], w[better]
        least = upper.min()
        open_ = (lower < least * (1.0 - digits)) & (lower < upper * (1.0 - digits))
        if small.smooth and sweep >= 29:
            break
        active = np.flatnonzero(open_)
        if not len(active):
            break
    if small.smooth:
        return _descended(small, upper, W)
    return Optima(lower, upper, W)


def _descended(small, upper, W, count=12):
    """Descend on J of exp from the best of some points."""
    free, y, squared = small.free, small.y, small.squared

    def J(w):
        f = small.A @ w + small.b
        slack = np.maximum(0.0, 1.0 - y * f) * ~free
        loss = np.where(free, np.exp(-SCALE * f**2), np.where(squared, slack**2, slack))
        slope = np.where(squared, -2.0 * y * slack, -y * (slack > 0))
        slope = np.where(free, -2.0 * SCALE * f * np.exp(-SCALE * f**2), slope)
        return 0.5 * w @ w + small.C @ loss, w + small.A.T @ (small.C * slope)

    points = [minimize(J, W[k], jac=True, method="BFGS").x for k in np.argsort(upper)[:count]]
    W = np.vstack([W, points])
    return Optima(np.full(len(W), -np.inf), small.value(W), W)
