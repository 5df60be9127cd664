r"""Deterministic annealing (DA): unlabelled samples with probabilities in place of labels, cooled down.

The labels that minimise an S3VM objective are a combinatorial problem. DA lets sample j be positive with the
probability p_j and minimises the expected cost less T times the entropy of p. With w fixed the best p is a sigmoid of
what the wrong label would cost,

.. math:: p_j = \frac{1}{1 + \exp((g_j - \nu) / T)}, \qquad g_j = C^* [V(f_j) - V(-f_j)],

with nu such that the mean of p is R, the share of positive labels. With p fixed w is the optimum of a convex machine,
`specmargin.objectives.WeightedSVM` with the weights C* p and C* (1 - p). The two steps alternate until p stays; then T
falls. At T = 0 all probabilities are 0 or 1, and the cost is that of a transductive SVM.

A hot system is convex, a cold one has all the local minima; somewhere between is the best w for the objective itself,
and that one is returned. Whether it is good depends on C*: with p = 1/2 the squared hinge charges C* sum (1 + f^2)
within the margin, so that a large C* makes the hot machine fit the labels along the directions of *least* variance.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr, expit, logit, rel_entr

from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.weighted import WeightedSVM
from specmargin.results import History, SolveResult, Status
from specmargin.solvers._newton_system import NewtonSystem
from specmargin.solvers.weighted_svm import supervised_svm, weighted_svm
from specmargin.typing import FloatArray

__all__ = ["annealing"]

_HOT = 10.0
"""Temperature of the start, in units of C*."""
_COOLING = 1.5
_MACHINE_TOL = 1e-8
"""Relative gap to which every convex machine is solved: far below what one step of p moves."""


def annealing(
    obj: S3VM, w: FloatArray | None = None, *, tol: float = 1e-6, max_iter: int = 30, max_inner: int = 100
) -> SolveResult:
    """Minimise an S3VM objective by deterministic annealing.

    Parameters
    ----------
    obj : S3VM
        With a convex loss V. Its unlabelled loss judges the path; the path itself is that of V at either label, whose
        cold limit is V(|f|).
    w : ndarray of shape (size,), optional
        Where the first probabilities come from; by default every p_j is R.
    tol : float, default 1e-6
        Cooling ends when the mean entropy of p is below this, in nats; at one temperature p is settled when its mean
        Kullback-Leibler divergence from the previous one is. Where R times the number of samples is no whole number,
        one sample must stay undecided, and its entropy does not count.
    max_iter : int, default 30
        Temperatures, from 10 C* down by a factor 1.5 each.
    max_inner : int, default 100
        Convex machines per temperature.

    Returns
    -------
    SolveResult
        At the w of lowest ``obj.value`` along the path. The history holds, per convex machine, ``objective``,
        ``gradient`` (`S3VM.stationarity`), ``temperature`` and ``entropy``; variables add ``p`` (u,), the
        probabilities of that machine. MAX_ITER means that p was not settled at the last temperature.

    Raises
    ------
    ValueError
        If `max_iter` or `max_inner` is less than 1, `tol` negative, or w of the wrong shape.

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
    if max_iter < 1 or max_inner < 1:
        raise ValueError(f"max_iter={max_iter!r} and max_inner={max_inner!r} must be at least 1.")
    if not tol >= 0:
        raise ValueError(f"tol={tol!r} must be a number >= 0.")
    start = time.perf_counter()
    history = History()
    u, share = len(obj.unlabeled), obj.positive_share
    if obj.is_supervised:
        return supervised_svm(obj, w, solver="annealing", start=start, p=np.full(u, share))
    if w is not None and np.shape(w) != (obj.size,):
        raise ValueError(f"w has the shape {np.shape(w)}, the machine ({obj.size},) weights.")
    temperature = _HOT * obj._C_star
    p = np.full(u, share) if w is None else _probabilities(obj, obj.decisions(w), temperature)
    least = _entropy(np.array([share * u % 1.0])) / u
    best, best_value, best_p = w, np.inf, p
    system = NewtonSystem(obj.features)
    settled = False
    for _ in range(max_iter):
        settled = False
        for _ in range(max_inner):
            machine = WeightedSVM.guessed(obj, 2.0 * p - 1.0)
            w = np.asarray(weighted_svm(machine, w, tol=_MACHINE_TOL, system=system).variables["w"])
            f = obj.decisions(w)
            value = obj.value(w, f)
            history.record(
                objective=value,
                gradient=obj.stationarity(w, f),
                temperature=temperature,
                entropy=_entropy(p) / u,
            )
            if value < best_value:
                best, best_value, best_p = w, value, p
            before, p = p, _probabilities(obj, f, temperature)
            settled = bool((rel_entr(p, before) + rel_entr(1.0 - p, 1.0 - before)).sum() <= tol * u)
            if settled:
                break
        if _entropy(p) / u - least <= tol:
            break
        temperature /= _COOLING
    assert best is not None
    return obj.result(
        best,
        solver="annealing",
        status=Status.STATIONARY if settled else Status.MAX_ITER,
        history=history,
        n_iter=len(history),
        seconds=time.perf_counter() - start,
        message=f"mean entropy {_entropy(p) / u:.1e} at the temperature {history['temperature'][-1]:.1e}",
        p=best_p,
    )


def _probabilities(obj: S3VM, f: FloatArray, temperature: float) -> FloatArray:
    """Return the best p at the decisions f: sigmoids of (nu - g) / T whose mean is the positive share."""
    loss, share = obj._losses[0], obj.positive_share
    f = f[obj.unlabeled]
    if share in (0.0, 1.0):
        return np.full(len(f), share)
    g = obj._C_star * (loss.value(f) - loss.value(-f))
    # In units of T, where a cold system may leave the range of double precision.
    with np.errstate(over="ignore"):
        e = np.clip((g - np.median(g)) / temperature, -1e15, 1e15)

    def surplus(nu: float) -> float:
        return float(expit(nu - e).mean()) - share

    # At nu = e_j + logit(R) the sample j has the probability R: the ends make all of them at most, or at least, that.
    low, high = e.min() + logit(share) - 1.0, e.max() + logit(share) + 1.0
    nu = brentq(surplus, low, high, xtol=1e-12, rtol=4 * np.finfo(float).eps, maxiter=500)
    return np.asarray(expit(nu - e))


def _entropy(p: FloatArray) -> float:
    return float((entr(p) + entr(1.0 - p)).sum())
