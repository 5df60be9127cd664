r"""SVMs with the hinge: the box-constrained dual by active sets, led there by an augmented Lagrangian.

With the hinge the losses of sample i in `specmargin.objectives.WeightedSVM` are a convex piecewise linear function h_i
of its decision, with kinks at -1 and 1. Its slope a_i is the dual variable, and the dual is a quadratic program on a
box,

    max_a  -1/2 |P^(-1/2) A'a|^2 + offset sum(a) - sum_i h_i*(a_i),      t - p <= a <= t + m.

**The partition.** A sample is on one of the two kinks, where its decision is known and a_i is free, or off them, where
a_i is known. Given who is where, the free a_i solve a linear system of their Gram matrix; samples whose a_i leaves its
interval, or whose decision passes a kink, change sides, until nobody does. That is the optimum to rounding. From a good
start, or with a Gram matrix of full rank from any start, it takes a handful of Cholesky factorisations.

**The augmented Lagrangian** provides the start where that fails. At a centre c it replaces every h_i by its Moreau
envelope of width eps, shifted by eps c:

    minimise over w   1/2 w'Pw + sum_i e_i(f_i + eps c_i),     e_i'(u) = a_i(u),

where a_i(u) rises with the slope 1/eps at the kinks and is constant elsewhere. That is piecewise quadratic with a
continuous gradient, as the squared hinge is: Newton steps with an exact line search minimise it, and a(u) there is the
next centre, whatever the rank of the Gram matrix and whatever the intercept (`specmargin.solvers.s3vm.hinge_envelope`).

**Large weights.** Where the largest weight times |x|^2 is beyond 1e8, widths of the envelope and rounding meet: the
answer may lack digits, its certificate says how many, and searches end NUMERICAL with the weights named.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from specmargin.objectives import WeightedSVM
from specmargin.objectives.rounding.weighted_svm import decision_rounding
from specmargin.results import History
from specmargin.rounding import cholesky
from specmargin.solvers.newton_system import NewtonSystem
from specmargin.solvers.s3vm.hinge_envelope import Envelope, lowest_slopes, minimize
from specmargin.typing import FloatArray, IntArray

__all__ = ["HingePoint", "Partition", "hinge_svm"]

_GRAM = 4000
"""Samples up to which the Gram matrix is kept with the features."""
_KINK = 1e-6
"""Decisions of a warm start that are this close to a kink are taken to be on it."""
_INNER = 40
"""Newton steps at one width: where they zigzag the next width is of more use."""
_WIDTHS = tuple(10.0**-k for k in range(13))
"""Widths of the envelope, eps times the largest weight, in units of the margin."""
_IDLE = 4
"""Widths in a row that leave the gap as it is before the search gives up: rounding has it."""
_PATIENCE = 2
"""Partitions that may fail to lower the number of changes before the search gives up."""
_ROUNDING = 1e-12
_DIAGONAL_SHIFT = 1e-13
"""What is added to the diagonal of a Gram matrix, relative to its mean, so that copies of samples may be free."""


class HingePoint(NamedTuple):
    """A weight vector, its decisions, the slopes a of the losses, the multipliers of both labels, steps, the gap."""

    w: FloatArray
    f: FloatArray
    a: FloatArray
    theta_plus: FloatArray
    theta_minus: FloatArray
    n_iter: int
    gap: float


def hinge_svm(
    svm: WeightedSVM,
    w: FloatArray,
    f: FloatArray,
    *,
    warm: bool = True,
    tol: float = 1e-10,
    max_iter: int = 500,
    rough: float = 0.0,
    history: History | None = None,
) -> HingePoint:
    """Solve a weighted SVM with the hinge.

    Parameters
    ----------
    svm : WeightedSVM
        The SVM.
    w, f : ndarray of shape (size,), (n,)
        Start and its decisions.
    warm : bool, default True
        Whether the start is near the optimum, so that its partition is worth a trial.
    tol : float, default 1e-10
        Relative gap; a hundredth of it is aimed at.
    max_iter : int, default 500
        Most linear systems.
    rough : float, default 0
        A relative gap that will do, where a partition is found and rounding leaves it above `tol`.
    """
    if svm.features.n_samples <= _GRAM:
        _ = svm.features.gram  # kept from here on
    partition = Partition(svm)
    centre, taken = svm.slopes(f), 0
    best: HingePoint | None = None
    least = np.inf

    def accept(solution: tuple[FloatArray, FloatArray, FloatArray], enough: float, exact: bool = False) -> bool:
        nonlocal best, least
        gap, value, point = _measured(svm, *solution, taken)
        if history is not None:
            history.record(objective=value, gap=gap, systems=float(taken))
        if best is None or abs(gap) < least:
            best, least = point, abs(gap)
        if least <= enough * abs(value):
            return True
        # The optimum but for rounding, which large weights turn into a gap that no other point can do without.
        if not exact or abs(gap) > _rounding_cost(svm, point):
            return False
        best = _scaled_up(svm, point)
        return True

    if warm:
        solution, steps = partition.search(partition.of(f), max_iter)
        taken += steps
        if solution is not None and accept(solution, max(tol, rough), exact=True):
            return _with_count(best, taken)
    system = NewtonSystem(svm.features, order=_GRAM)
    heaviest = max(float(svm.plus.max()), float(svm.minus.max()), 1e-300)
    idle = 0
    for width in _WIDTHS[warm:]:
        before = least
        envelope = Envelope(svm, centre, width / heaviest)
        w, f, low, high, steps = minimize(svm, envelope, w, f, system, min(max_iter - taken, _INNER))
        taken += steps
        centre = envelope.lowest + low + high
        solution, steps = partition.search(partition.at(low, high), max_iter - taken)
        taken += steps
        if solution is not None and accept(solution, max(tol, rough), exact=True):
            break
        if accept((w, f, centre), 0.01 * tol) or taken >= max_iter:
            break
        idle = 0 if least < 0.5 * before else idle + 1
        if idle == _IDLE:
            break
    return _with_count(best, taken)


def _with_count(best: HingePoint | None, taken: int) -> HingePoint:
    """Return the point with the number of systems solved."""
    assert best is not None
    return best._replace(n_iter=taken)


def _rounding_cost(svm: WeightedSVM, point: HingePoint) -> float:
    """Return what the rounding of the decisions may cost: all samples within theirs of a kink, and the gradient's."""
    errors = decision_rounding(svm.features, point.w, point.f)
    return float((svm.plus + svm.minus) @ errors)


def _scaled_up(svm: WeightedSVM, point: HingePoint) -> HingePoint:
    """Return the point, or its weights scaled until margins that are short of 1 by rounding are not, if that is lower.

    Where an offset or an intercept alone keeps a margin scaling does not help; the value tells.
    """
    value = svm.value_at(point.w, point.f)
    length = float(decision_rounding(svm.features, point.w, point.f).max())
    for times in (4.0, 64.0):
        w = point.w * (1.0 + times * length)
        f = svm.features.decisions(w)
        if svm.value_at(w, f) < value:
            return point._replace(w=w, f=f)
    return point


def _measured(
    svm: WeightedSVM, w: FloatArray, f: FloatArray, a: FloatArray, n_iter: int
) -> tuple[float, float, HingePoint]:
    """Return the gap, which is that of complementarity and of the gradient, the objective, and the point."""
    lowest = lowest_slopes(svm)
    # From the end that either label alone leaves at zero: a - (-C) would lose what a C of 1e14 does not show.
    highest = lowest + svm.minus + svm.plus
    low, high = np.zeros_like(f), np.zeros_like(f)
    theta_minus = np.clip(np.divide(a - lowest, svm.minus, out=low, where=svm.minus > 0), 0.0, 1.0)
    theta_plus = np.clip(np.divide(highest - a, svm.plus, out=high, where=svm.plus > 0), 0.0, 1.0)
    value = svm.value_at(w, f)
    gap = float(svm.plus @ (np.maximum(1.0 - f, 0.0) - theta_plus * (1.0 - f)))
    gap += float(svm.minus @ (np.maximum(1.0 + f, 0.0) - theta_minus * (1.0 + f)))
    g = svm.features.weights * w + svm.features.adjoint(a)
    if svm.features.penalty == 0.0:
        gap += abs(float(g[-1])) * (1.0 + abs(float(w[-1])))
        g[-1] = 0.0
    gap += 0.5 * float(g @ g)
    return gap, value, HingePoint(w, f, a, theta_plus, theta_minus, n_iter, abs(gap) / max(abs(value), 1e-300))


class Partition:
    """The state of every decision: 0 left of -1, 1 on -1, 2 between, 3 on 1, 4 right of 1; odd ones are free."""

    def __init__(self, svm: WeightedSVM) -> None:
        self.svm, self.features = svm, svm.features
        self.lowest = lowest_slopes(svm)
        self.middle = self.lowest + svm.minus
        self.highest = self.middle + svm.plus
        self.free_intercept = svm.features.penalty == 0.0
        # Products with G, where they are cheaper than two with A.
        kept = vars(self.features).get("gram")
        self.kept: FloatArray | None = kept
        self.by_gram = kept is not None and (self.features.is_sparse or len(kept) <= 2 * self.features.size)

    def _on_weighted_kinks(self, state: IntArray) -> IntArray:
        """Return the states with samples taken off the kinks of labels of weight zero, which are no kinks."""
        state = np.where((self.svm.minus == 0) & (state < 2), 2, state)
        return np.where((self.svm.plus == 0) & (state > 2), 2, state)

    def of(self, f: FloatArray) -> IntArray:
        """Return the partition of decisions."""
        edges = np.array([-1.0 - _KINK, -1.0 + _KINK, 1.0 - _KINK, 1.0 + _KINK])
        return self._on_weighted_kinks(np.searchsorted(edges, f, side="right"))

    def at(self, low: FloatArray, high: FloatArray) -> IntArray:
        """Return the partition by how far a has risen at both kinks."""
        on_low = (low > 0).astype(np.intp) + (low >= self.svm.minus)
        steps = np.where(high > 0, 3 + (high >= self.svm.plus), on_low)
        return self._on_weighted_kinks(steps)

    def _products(self, a: FloatArray) -> FloatArray:
        """Return A A'a without the free intercept."""
        if self.by_gram:
            assert self.kept is not None
            return np.asarray(self.kept @ a)
        back = self.features.adjoint(a)
        if self.free_intercept:
            back[-1] = 0.0
        return self.features.products(back)

    def search(self, state: IntArray, max_iter: int) -> tuple[tuple[FloatArray, FloatArray, FloatArray] | None, int]:
        """Change the partition until it is that of an optimum: (w, f, a) and the systems solved, or None and those."""
        fewest, failed = len(state) + 1, 0
        for n_iter in range(1, max_iter + 1):
            solved = self._solve(state)
            if solved is None:
                return None, n_iter
            a, f, b = solved
            after = self._corrected(state, a, f)
            changes = int(np.count_nonzero(after != state))
            if changes == 0:
                w = -self.features.adjoint(a)
                if self.free_intercept:
                    w[-1] = b
                return (w, self.features.decisions(w), a), n_iter
            failed = 0 if changes < fewest else failed + 1
            fewest = min(fewest, changes)
            if failed > _PATIENCE:
                return None, n_iter
            state = after
        return None, max_iter

    def _solve(self, state: IntArray) -> tuple[FloatArray, FloatArray, float] | None:
        """Return a, f and the free intercept of a partition, None where it has no solution of its own."""
        free = np.flatnonzero(state & 1)
        if len(free) > _GRAM:
            return None
        a = np.where(state == 0, self.lowest, np.where(state == 4, self.highest, self.middle))
        a[free] = 0.0
        b, rest = self.features.offset, self._products(a)
        if len(free) == 0:
            return self._off_kinks(a, rest) if self.free_intercept else (a, b - rest, b)
        kink = state[free] - 2.0
        G = self.features.gram_of(free)
        regular = G.copy()
        regular.ravel()[:: len(G) + 1] += _DIAGONAL_SHIFT * float(G.diagonal().mean())
        factor = cholesky(regular.T, clean=False)
        if factor is None:
            return None
        by_one = lapack.dpotrs(factor, np.ones((len(free), 1)), lower=1)[0][:, 0] if self.free_intercept else None
        residual, excess, shifted = b - rest[free] - kink, float(a.sum()), 0.0
        for _ in range(2):  # a solution, and its refinement
            step = lapack.dpotrs(factor, residual[:, None], lower=1)[0][:, 0]
            if by_one is not None:
                shift = -float(step.sum() + excess) / float(by_one.sum())
                step = step + shift * by_one
                shifted += shift
            a[free] += step
            excess = float(a.sum())
            residual = b + shifted - rest[free] - G @ a[free] - kink
        f = b + shifted - self._products(a)
        f[free] = kink  # but for rounding
        return a, f, shifted

    def _off_kinks(self, a: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray, float] | None:
        """Return the point of a partition without samples on kinks: any intercept will do that passes none."""
        if abs(float(a.sum())) > _ROUNDING * float(np.abs(a).sum()):
            return None
        f, svm = -rest, self.svm
        at_low, at_middle, at_high = (np.abs(a - level) == 0 for level in (self.lowest, self.middle, self.highest))
        least, most = -np.inf, np.inf
        # The losses confine every decision from the side of the kinks that its slope excludes.
        for held, weight, kink in ((at_low, svm.minus, -1.0), (at_middle, svm.plus, 1.0)):
            most = min(most, float((kink - f)[held & (weight > 0)].min(initial=np.inf)))
        for held, weight, kink in ((at_middle, svm.minus, -1.0), (at_high, svm.plus, 1.0)):
            least = max(least, float((kink - f)[held & (weight > 0)].max(initial=-np.inf)))
        if least > most:
            return None
        b = 0.5 * (least + most) if np.isfinite(least + most) else least if np.isfinite(least) else most
        return a, f + b, b

    def _corrected(self, state: IntArray, a: FloatArray, f: FloatArray) -> IntArray:
        """Return the partition after the samples that violate their condition have changed their state."""
        after = state.copy()
        # With weights that are large for the features all a are far below them: to rounding means to theirs.
        slack = _ROUNDING * np.minimum(self.highest - self.lowest, np.abs(a).max(initial=0.0))
        on_low, on_high = state == 1, state == 3
        after[on_low & (a < self.lowest - slack)] = 0
        after[on_low & (a > self.middle + slack)] = 2
        after[on_high & (a < self.middle - slack)] = 2
        after[on_high & (a > self.highest + slack)] = 4
        between = state == 2
        after[(state == 0) & (f > -1.0 + _ROUNDING)] = 1
        after[between & (f < -1.0 - _ROUNDING) & (self.svm.minus > 0)] = 1
        after[between & (f > 1.0 + _ROUNDING) & (self.svm.plus > 0)] = 3
        after[(state == 4) & (f < 1.0 - _ROUNDING)] = 3
        return after
