r"""Deterministic annealing (DA): unlabelled samples with probabilities in place of labels, cooled down.

The labels that minimise an S3VM objective are a combinatorial problem. DA lets sample j be positive with the
probability p_j and minimises the expected cost less T times the entropy of p. With w fixed the best p is a sigmoid of
what the wrong label would cost,

.. math:: p_j = \frac{1}{1 + \exp((g_j - \nu) / T)}, \qquad g_j = C^* [V(f_j) - V(-f_j)],

with nu such that the mean of p is R, the share of positive labels. With p fixed w is the optimum of a convex SVM,
`specmargin.objectives.WeightedSVM` with the weights C* p and C* (1 - p).

The paper alternates between the two until p stays; then T falls. Here p is eliminated: with the best p for every w the
cost is a function of w alone, the *free energy*, whose derivative is that of the SVM at this p (p is optimal, so
that what it changes with w does not count). L-BFGS minimises it, at a small part of the price, and further down: where
the alternation creeps it seems to have converged long before it has. A loss with a kink, the hinge, is left to the
alternation. At T = 0 all probabilities are 0 or 1, and the cost is that of a transductive SVM.

A hot system is convex, a cold one has all the local minima; somewhere between is the best w for the objective itself,
and that one is returned.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.special import entr, expit, logit, rel_entr

from specmargin.objectives.s3vm import S3VM
from specmargin.results import INACCURATE_GAP, Certificate, History, SolveResult, Status
from specmargin.solvers.lbfgs import lbfgs
from specmargin.solvers.parts import require
from specmargin.solvers.s3vm.negative_curvature import ESCAPES, way_down
from specmargin.solvers.s3vm.precision import ended, require_range, start_vector
from specmargin.solvers.s3vm.weighted_svm import supervised_svm, weighted_svm
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "annealing"]

REQUIRES = ("convex", "smooth or box_dual")
"""Trainings by `specmargin.solvers.weighted_svm`."""

_HOT = 10.0
"""Temperature of the start, in units of C*."""
_COLD = 1e-3
"""Temperature from which on a symmetric point is not left by itself, in units of C*."""
_COOLING = 1.5
_CONVERGED, _CONVERGED_FREE = 1e-4, 1e-7
"""Norm of the free energy's gradient, relative to the parts that cancel in it, at which T falls. The SVM's gap is like
its square, and like itself where the intercept is free."""
_SYSTEMS = (500, 50)
"""Linear systems of one SVM; the latter once one was beyond float64."""
_FAILED = 5
"""Temperatures in a row whose SVMs are beyond float64 that end the search."""
_PROVED = 1e-6
"""Relative gap of the SVM of p at which L-BFGS has converged in fact."""
_SVM_TOL = 1e-8
"""Relative gap to which every convex SVM is solved: far below what one step of p moves."""


def annealing(
    obj: S3VM, w: FloatArray | None = None, *, tol: float = 1e-6, max_iter: int = 30, max_inner: int = 100
) -> SolveResult:
    """Minimise an S3VM objective by deterministic annealing.

    Parameters
    ----------
    obj : S3VM
        Objective with a convex loss V. Its unlabelled loss judges the path; the path itself is that of V at either
        label, whose cold limit is V(|f|).
    w : ndarray of shape (size,), optional
        Weights that the first probabilities come from, and the first descent; by default every p_j is R.
    tol : float, default 1e-6
        Cooling ends when the mean entropy of p is below this, in nats. Where R times the number of samples is no whole
        number, one sample must stay undecided, and its entropy does not count. With the hinge, p is solved for at one
        temperature when its mean Kullback-Leibler divergence from the previous one is below this, too.
    max_iter : int, default 30
        Temperatures, from 10 C* down by a factor 1.5 each.
    max_inner : int, default 100
        Steps of L-BFGS per temperature; with the hinge, convex SVMs.

    Returns
    -------
    SolveResult
        Answer at the w of lowest ``obj.value`` along the path. The history holds, per temperature, with the hinge per
        convex SVM, ``objective``, ``gradient`` (`S3VM.stationarity`), ``temperature`` and ``entropy``; variables add
        ``p`` (u,), the probabilities there, whose SVM w solves. MAX_ITER means that the last temperature has not
        converged, NUMERICAL that rounding keeps the SVM from being solved.

    Raises
    ------
    ValueError
        If the loss does not meet `REQUIRES`, `max_iter` or `max_inner` is less than 1, `tol` negative, or w of another
        shape than it has to be.

    References
    ----------
    Sindhwani, Keerthi & Chapelle, Deterministic annealing for semi-supervised kernel machines, ICML 2006.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [-1.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> obj = S3VM(X, encode_labels([0, -1, -1, -1, -1, 1]), C=10.0)
    >>> result = annealing(obj)
    >>> result.status.name, result.variables["labels"].tolist()
    ('STATIONARY', [-1.0, -1.0, 1.0, 1.0])
    """
    require("annealing", "S3VM", obj.loss)
    require_range(obj)
    start = time.perf_counter()
    u, share = len(obj.unlabeled), obj.positive_share
    if obj.is_supervised:
        return supervised_svm(obj, w, solver="annealing", start=start, p=np.full(u, share))
    w = None if w is None else start_vector(w, obj.size)
    # Where all labels are known to be the same there is one SVM, and nothing to anneal.
    exact = not getattr(obj.loss, "smooth", False) or share in (0.0, 1.0)
    search = _Alternation(obj, tol, max_inner) if exact else _Descent(obj, max_inner)
    progress = _Progress(obj)
    temperature = _HOT * obj.C_star
    least = _entropy(np.array([share * u % 1.0])) / u
    p = np.full(u, share) if w is None else _probabilities(obj, obj.decisions_at(w), temperature)
    failed = 0
    for _ in range(max_iter):
        w, p, converged = search(w, p, temperature, progress)
        failed = failed + 1 if isinstance(search, _Alternation) and search.unproved is not None else 0
        if _entropy(p) / u - least <= tol or failed == _FAILED:
            break
        temperature /= _COOLING
    for _ in range(ESCAPES):  # symmetric probabilities keep a maximum
        cold = progress.history["temperature"][-1] <= _COLD * obj.C_star
        below = way_down(obj, progress.w) if converged and cold else None
        if below is None:
            break
        search, temperature = _Alternation(obj, tol, max_inner), progress.history["temperature"][-1]
        p = _probabilities(obj, obj.decisions_at(below), temperature)
        w, p, converged = search(below, p, temperature, progress)
    proof = obj.guessed(2.0 * progress.p - 1.0).prove(progress.w) if progress.converged else None
    if not exact and (not converged or (proof is not None and not proof.is_optimal(_PROVED))):
        # Large weights: L-BFGS, in too small steps or at its rounding, is where no SVM of its p has a minimum.
        search = _Alternation(obj, tol, max_inner)
        w, p, converged = search(progress.w, progress.p, progress.history["temperature"][-1], progress)
        proof = obj.guessed(2.0 * progress.p - 1.0).prove(progress.w)
    if isinstance(search, _Alternation) and search.unproved is not None:
        converged, proof = True, search.unproved  # for more iterations would not decide it
    message = f"mean entropy {_entropy(p) / u:.1e} at the temperature {progress.history['temperature'][-1]:.1e}"
    end = Status.STATIONARY if converged else Status.MAX_ITER, message
    w, p, history = progress.w, progress.p, progress.history
    return ended(obj, w, end, proof, solver="annealing", history=history, n_iter=len(history), start=start, p=p)


class _Progress:
    """The history of the annealing, and the point of the lowest J so far."""

    def __init__(self, obj: S3VM) -> None:
        self.obj, self.history = obj, History()
        self.w, self.p, self.value = np.zeros(obj.size), np.zeros(len(obj.unlabeled)), np.inf
        self.converged = False
        """Whether w counts as the optimum of the SVM of p, with multipliers that are the slopes at w."""

    def record(self, w: FloatArray, f: FloatArray, p: FloatArray, temperature: float, converged: bool = False) -> None:
        """Note weights, their decisions, and the probabilities that belong to them."""
        value = self.obj.value_at(w, f)
        self.history.record(
            objective=value,
            gradient=self.obj.stationarity(w, f),
            temperature=temperature,
            entropy=_entropy(p) / len(p),
        )
        if value < self.value:
            self.w, self.p, self.value, self.converged = w, p, value, converged


class _Descent:
    """Minimise the free energy by L-BFGS."""

    def __init__(self, obj: S3VM, max_steps: int) -> None:
        self.obj, self.max_steps, self.scale = obj, max_steps, 0.0

    def __call__(
        self, w: FloatArray | None, p: FloatArray, temperature: float, progress: _Progress
    ) -> tuple[FloatArray, FloatArray, bool]:
        """Return weights, their probabilities, and whether they have converged."""
        end = lbfgs(
            FreeEnergy(self.obj, temperature),
            np.zeros(self.obj.size) if w is None else np.asarray(w, dtype=float),
            self.obj.features.weights,
            tol=_CONVERGED_FREE if self.obj.features.penalty == 0.0 else _CONVERGED,
            max_iter=self.max_steps,
            scale=self.scale,
        )
        self.scale = end.scale
        f = self.obj.decisions_at(end.w)
        p = _probabilities(self.obj, f, temperature)
        progress.record(end.w, f, p, temperature, end.converged)
        return end.w, p, end.converged


class _Alternation:
    """Alternate between the SVM of p and the p of the SVM."""

    def __init__(self, obj: S3VM, tol: float, max_svms: int) -> None:
        self.obj, self.tol, self.max_svms = obj, tol, max_svms
        self.hard = False
        self.unproved: Certificate | None = None
        """Of the last SVM, where that was beyond float64."""

    def __call__(
        self, w: FloatArray | None, p: FloatArray, temperature: float, progress: _Progress
    ) -> tuple[FloatArray, FloatArray, bool]:
        """Return weights, the probabilities that follow, and whether they have converged."""
        for _ in range(self.max_svms):
            svm = self.obj.guessed(2.0 * p - 1.0)
            result = weighted_svm(svm, w, tol=_SVM_TOL, max_iter=_SYSTEMS[int(self.hard)])
            w = np.asarray(result.variables["w"])
            f = self.obj.decisions_at(w)
            progress.record(w, f, p, temperature)
            self.unproved = None if result.certificate.is_optimal(INACCURATE_GAP) else result.certificate
            self.hard |= not result.certificate.is_optimal(_PROVED)
            if self.unproved is not None:
                break
            before, p = p, _probabilities(self.obj, f, temperature)
            if (rel_entr(p, before) + rel_entr(1.0 - p, 1.0 - before)).sum() <= self.tol * len(p):
                return w, p, True
        assert w is not None
        return w, p, False


class FreeEnergy:
    """The least over p of the expected cost less T times the entropy of p, and its gradient by w.

    Value and gradient are those of `S3VM.guessed` at the best p, to the last bit, without the SVM's checks: L-BFGS asks
    ten thousand times.

    Parameters
    ----------
    obj : S3VM
        Objective with a smooth loss V.
    temperature : float
        T > 0.
    """

    def __init__(self, obj: S3VM, temperature: float) -> None:
        svm = obj.guessed(np.zeros(len(obj.unlabeled)))
        self.obj, self.temperature, self.cost = obj, temperature, svm.plus + svm.minus
        self.sign = np.zeros(len(self.cost))
        self.sign[obj.labels.labeled] = obj.labels.sign

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient at w."""
        features, loss, unlabeled = self.obj.features, self.obj.loss, self.obj.unlabeled
        f = features.decisions(w)
        as_plus, as_minus = loss.value(f), loss.value(-f)
        p = _best(self.obj, as_plus[unlabeled] - as_minus[unlabeled], self.temperature)
        self.sign[unlabeled] = 2.0 * p - 1.0
        plus, minus = self.cost * (1 + self.sign) / 2, self.cost * (1 - self.sign) / 2
        value = 0.5 * float(features.weights @ w**2)
        value += float(plus @ as_plus + minus @ as_minus)
        slopes = plus * loss.gradient(f) - minus * loss.gradient(-f)
        return value - self.temperature * _entropy(p), features.weights * w + features.adjoint(slopes)


def _probabilities(obj: S3VM, f: FloatArray, temperature: float) -> FloatArray:
    """Return the best p at the decisions f."""
    f = f[obj.unlabeled]
    return _best(obj, obj.loss.value(f) - obj.loss.value(-f), temperature)


def _best(obj: S3VM, more: FloatArray, temperature: float) -> FloatArray:
    """Return sigmoids of (nu - g) / T whose mean is the positive share; g is C* times what the label 1 costs `more`."""
    share = obj.positive_share
    if share in (0.0, 1.0):
        return np.full(len(more), share)
    g = obj.C_star * more
    middle = (len(g) - 1) // 2, len(g) // 2
    ordered = np.partition(g, middle)
    median = 0.5 * (ordered[middle[0]] + ordered[middle[1]])
    # In units of T, where a cold system may leave the range of double precision.
    with np.errstate(over="ignore"):
        e = np.clip((g - median) / temperature, -1e15, 1e15)
    return np.asarray(expit(_level(e, share) - e))


def _level(e: FloatArray, share: float) -> float:
    """Return the nu at which the sigmoids of nu - e have the mean `share`, by Newton's method between two bounds.

    The start is where the cold system ends: between the samples that are positive and those that are not, or, where a
    fraction of a sample remains, at that sample.
    """
    whole, part = divmod(share * len(e), 1.0)
    k = int(whole)
    if part < 1e-9 or part > 1.0 - 1e-9:
        k = round(share * len(e))
        last, first = max(k - 1, 0), min(k, len(e) - 1)
        ordered = np.partition(e, (last, first))
        nu = 0.5 * float(ordered[last] + ordered[first])
    else:
        nu = float(np.partition(e, k)[k] + logit(part))
    # At nu = e_j + logit(R) the sample j has the probability R: the ends make all of them at most, or at least, that.
    low, high = float(e.min() + logit(share)) - 1.0, float(e.max() + logit(share)) + 1.0
    for _ in range(200):
        p = expit(nu - e)
        surplus, slope = float(np.add.reduce(p)) / len(p) - share, float(np.add.reduce(p * (1.0 - p))) / len(p)
        if abs(surplus) <= 1e-15:
            break
        low, high = (low, nu) if surplus > 0 else (nu, high)
        following = nu - surplus / slope if slope > 0 else np.inf
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == nu:
            break
        nu = following
    return nu


def _entropy(p: FloatArray) -> float:
    return float((entr(p) + entr(1.0 - p)).sum())
