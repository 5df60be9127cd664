r"""How many false labels a decision of LapSVM withstands for certain: a bound, where there are too many sets to refit.

On its labelled samples LapSVM is min_{v, b} P(v, b) = sum_j c_j V(y_j f_j) + v'G v with f = G v + b, V the hinge or its
square, and decides about a sample by h'v + b, h = G u + e for any u and what that leaves, e. Let it be positive there;
V_S denotes the optimum P_S with the labels of a set S flipped.

**Proof.** A flip set S that changes the decision has an optimum with u'G v + b <= eta, eta = max |e'v| (the slopes of
V bound the multipliers 2 v), so that V_S is the least value of P_S under this constraint. By weak duality it is at
least

    D_S = sum_{j not in S} d_j - eta mu_S - (1 - 1_S)'Q (1 - 1_S),   d_j = beta_j - beta_j^2 / (4 c_j) [squared hinge],

for any beta in [0, c] (squared hinge: beta >= 0), one for all S, whose multipliers of S are set to zero. The solution
before any flip bounds the same number from above, V_S <= P_S(v, b) = P + sum_{j in S} c_j (V(-y_j f_j) - V(y_j f_j)),
so that no S of r labels or fewer changes the decision where D_S > P_S(v, b) for all of them. D_S - P_S(v, b) is D - P
less linear terms and a quadratic one in the indicator of S, and what these take is bounded over all S by the r largest
rows, each with the r - 1 largest of its entries that are positive.

Here Q = Y B Gt B Y / 4 and mu_S = sum m_j >= 0 over those not in S; with an intercept Gt is the kernel of the
differences phi_j - phi_u and m = Y beta, else it is the Schur complement of G with respect to phi_u and m_j = (G u)_j
y_j beta_j / u'G u.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specmargin.objectives.lapsvm import LapSVM
from specmargin.rounding import gamma
from specmargin.typing import FloatArray, IntArray

__all__ = ["certified_flips"]

_SURE = 1e-6
"""Of the largest decision: what is certified stays that far from 0, beyond what rounding makes of a refit."""
_SWEEPS = (1, 2, 4, 8, 16)
"""Sweeps of coordinate ascent after which the bound is looked at; few leave multipliers small, and no label decides."""
_RIDGE = 1e-9
"""Of the mean diagonal of G, by which G u = h is damped."""
_TINY = 1e-200  # below every curvature and norm that is one
_BLOCK = 2**21
"""Entries of a block of samples."""


def certified_flips(obj: LapSVM, cross: FloatArray, v: FloatArray, b: float) -> IntArray:
    """Return a number of labels for each sample, (m,): whichever of them, or fewer, are flipped, its decision stays.

    Parameters
    ----------
    obj : LapSVM
        Objective with the hinge or the squared hinge.
    cross : ndarray of shape (m, l)
        h of each sample: its decision is h'v + b.
    v : ndarray of shape (l,)
        A solution for the labels as they are; the bound holds for any v and b, and is best for that.
    b : float
        Its intercept.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> labels = encode_labels([0] * 9 + [1] * 9)
    >>> K = np.kron(np.eye(2), np.full((9, 9), 1.0))
    >>> obj = LapSVM(K, None, labels, gamma_A=1.0, fit_intercept=False)
    >>> certified_flips(obj, obj.reduction.G, labels.sign / 9, 0.0)[:3].tolist()
    [2, 2, 2]
    """
    problem = _Problem.of(obj, v, b)
    known = cross @ v + b
    sure = _SURE * float(np.abs(known).max(initial=np.abs(problem.f).max()))
    counts = np.bincount((problem.y > 0).astype(np.intp), minlength=2)
    most, block = int(counts.min()) - 1, max(1, _BLOCK // len(v) ** 2)
    certified = np.zeros(len(cross), dtype=np.intp)
    for start in range(0, len(cross), block):
        at = slice(start, start + block)
        certified[at] = np.where(np.abs(known[at]) > sure, problem.certified(cross[at], known[at], sure, most), 0)
    return certified


class _Problem(NamedTuple):
    """The problem on the labelled samples, its value and what flips cost at its solution."""

    G: FloatArray
    y: FloatArray
    c: FloatArray
    power: int
    intercept: bool
    f: FloatArray
    value: float
    """P, with what rounding may hide of P and of all costs."""
    costs: FloatArray

    @classmethod
    def of(cls, obj: LapSVM, v: FloatArray, b: float) -> _Problem:
        G, y, c = obj.reduction.G, obj.labels.sign, obj.labels.weights_or_ones
        power, l = obj.margin_loss.slack_power, len(v)
        f = G @ v + b
        t, off = y * f, gamma(l + 2) * (np.abs(G) @ np.abs(v) + abs(b))
        true, false = (c * np.maximum(0.0, 1.0 - one) ** power for one in (t, -t))
        norm = float(v @ (G @ v))
        hidden = gamma(2 * l + 8) * (float(np.abs(v) @ (np.abs(G) @ np.abs(v))) + 2.0 * float((true + false).sum()))
        hidden += 4.0 * float((c * power * (1.0 + np.abs(t) + off) ** (power - 1) * off).sum())
        return cls(G, y, c, power, obj.fit_intercept, f, float(true.sum()) + norm + hidden, false - true)

    def certified(self, h: FloatArray, known: FloatArray, sure: float, most: int) -> IntArray:
        """Return the certified numbers of a block of samples, up to `most`."""
        G, y, c, l = self.G, self.y, self.c, len(self.y)
        u = np.linalg.solve(G + max(_RIDGE * np.trace(G) / l, _TINY) * np.eye(l), h.T).T
        Gu, size = u @ G, np.abs(u) @ np.abs(G)
        uGu, s = np.einsum("ij,ij->i", Gu, u), np.sign(known)[:, None]
        # The largest v_j of an optimum: half the slope of V, whose value there is at most that of f = 0.
        largest = c / 2.0 if self.power == 1 else np.sqrt(c * c.sum())
        eta = sure + (np.abs(h - Gu) + gamma(l + 2) * size) @ largest
        length = np.maximum(uGu, _TINY)
        if self.intercept:
            kernel, mass, part = G - Gu[:, :, None] - Gu[:, None, :] + uGu[:, None, None], s * y, np.ones(len(h))
        else:
            kernel, mass = G - Gu[:, :, None] * (Gu / length[:, None])[:, None, :], s * y * Gu / length[:, None]
            part = np.sqrt(np.abs(G).max() / length)
        error = np.abs(G).max() + 2.0 * size.max(axis=1) * part + np.einsum("ij,ij->i", size, np.abs(u)) * part**2
        error *= gamma(4 * l + 16)
        best, beta, slope = np.zeros(len(h), dtype=np.intp), np.zeros_like(h), np.ones_like(h)
        for sweep in range(1, _SWEEPS[-1] + 1):
            self._ascend(kernel, beta, slope)
            if sweep in _SWEEPS:
                np.maximum(best, self._withstood(kernel, beta, mass * beta, eta, error, most), out=best)
        return best

    def _ascend(self, kernel: FloatArray, beta: FloatArray, slope: FloatArray) -> None:
        """Move each multiplier of each sample to the best of its range; `slope` is that of the bound."""
        caps = self.c if self.power == 1 else np.where(self.c > 0, np.inf, 0.0)
        for j, (sign, cap) in enumerate(zip(self.y, caps, strict=True)):
            curvature = kernel[:, j, j] / 2.0 + self._curvatures[j]
            step = np.clip(beta[:, j] + slope[:, j] / np.maximum(curvature, _TINY), 0.0, cap) - beta[:, j]
            beta[:, j] += step
            slope -= (step * sign / 2.0)[:, None] * kernel[:, j] * self.y
            slope[:, j] -= step * self._curvatures[j]

    @property
    def _curvatures(self) -> FloatArray:
        """Second derivatives of -d."""
        return np.where(self.c > 0, 0.5 / np.maximum(self.c, 1e-300), 0.0) * (self.power == 2)

    def _withstood(
        self, kernel: FloatArray, beta: FloatArray, m: FloatArray, eta: FloatArray, error: FloatArray, most: int
    ) -> IntArray:
        """Return the largest r for which D_S > P_S of all S of r labels, for each sample."""
        l, signed = beta.shape[1], beta * self.y
        Q = kernel * signed[:, :, None] * signed[:, None, :] / 4.0
        d, rows, own = beta - self._curvatures * beta**2 / 2.0, Q.sum(axis=2), np.einsum("ijj->ij", Q).copy()
        terms = d - 2.0 * rows - eta[:, None] * m + self.costs
        gap = d.sum(axis=1) - eta * m.sum(axis=1) - rows.sum(axis=1) - self.value
        total = beta.sum(axis=1)
        gap -= error * total**2 + gamma(4 * l + 16) * (
            2.0 * total + 2.0 * eta * np.abs(m).sum(axis=1) + np.abs(Q).sum(axis=(1, 2)) + np.abs(self.costs).sum()
        )
        np.einsum("ijj->ij", Q)[:] = 0.0
        others = np.cumsum(np.sort(-np.maximum(Q, 0.0), axis=2), axis=2)
        taken = np.cumsum(-np.sort(-np.maximum(m, 0.0), axis=1), axis=1)
        left = m.sum(axis=1) * (1.0 - gamma(4 * l)) - gamma(4 * l) * np.abs(m).sum(axis=1)
        withstood, alive = np.zeros(len(beta), dtype=np.intp), np.ones(len(beta), dtype=bool)
        for r in range(1, most + 1):
            each = terms + own - (others[:, :, r - 2] if r > 1 else 0.0)
            worst = -np.sort(-np.maximum(each, 0.0), axis=1)[:, :r].sum(axis=1)
            alive &= (gap > worst) & (left >= taken[:, r - 1])
            withstood[alive] = r
            if not alive.any():
                break
        return withstood
