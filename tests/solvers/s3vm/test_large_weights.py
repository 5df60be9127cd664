"""S3VM searches where C |x|^2 is far beyond float64's digits: what says STATIONARY has no way down, and all end soon.

A search over labels or probabilities is held against the convex SVM of those that it ended with, continuation
against the smoothed objective that it descends, all others against J itself: L-BFGS of scipy from the answer must not
lower that by more than 1e-6.
"""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from s3vm_problems import public_solver
from scipy.optimize import minimize

from specmargin import optima, solvers
from specmargin.labels import encode_labels
from specmargin.objectives import S3VM
from specmargin.results import Status
from specmargin.solvers.s3vm.box_qp import hinge_svm

SEARCHES = [
    ("annealing", "squared_hinge", None),
    ("annealing", "hinge", None),
    ("gradient", "squared_hinge", "exp"),
    ("quasi_newton", "smooth_hinge", "exp"),
    ("continuation", "hinge", "exp"),
    ("cccp", "hinge", None),
    ("label_switching", "hinge", None),
    ("label_switching", "squared_hinge", None),
    ("multi_switch", "squared_hinge", None),
    ("one_flip", "hinge", None),
    ("one_flip", "squared_hinge", None),
]


def blobs(n=60, scale=1.0, shift=0.0):
    """Two groups of samples and the labels of eight."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, n)
    side[:2] = 0, 1
    X = rng.standard_normal((n, 4)) + 2.0 * np.outer(2 * side - 1, [1.0, 0.5, 0.0, 0.0])
    return scale * X + shift, encode_labels(np.where(np.arange(n) < 8, side, -1))


def way_down(obj, result):
    """By which share of itself scipy lowers what the search has descended."""
    w = result.variables["w"]
    held = 2 * result.variables["p"] - 1 if "p" in result.variables else result.variables.get("held_labels")
    if result.solver == "continuation":
        obj = obj.smoothed(result.history["gamma"][-1])
    elif held is not None:
        obj = obj.guessed(held)
    before = obj.value_at(w)
    options = {"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-16, "gtol": 0.0}
    found = minimize(lambda v: (obj.value_at(v), obj.gradient(v)), w, jac=True, method="L-BFGS-B", options=options)
    return (before - found.fun) / before


SCALES = [(1.0, 1e10), (1.0, 1e20), (1e-8, 1.0), (1e8, 1.0), (1e-8, 1e10)]
SLOW = {
    ("regularized", "annealing", "hinge", 1e-8, 1e10),
    ("regularized", "one_flip", "hinge", 1e-8, 1e10),
    ("regularized", "one_flip", "hinge", 1e8, 1.0),
}
"""A constant of 1 beside features of 1e-8 or 1e8: many convex SVMs, each of them slow; longer than is allowed here."""
CASES = [
    (intercept, *search, *scales)
    for intercept in ("balance", "regularized")
    for search in SEARCHES
    for scales in SCALES
    if (intercept, *search[:2], *scales) not in SLOW
]


@pytest.mark.parametrize(("intercept", "name", "loss", "unlabeled_loss", "scale", "C"), CASES)
def test_stationary_is_said_where_no_way_leads_down(intercept, name, loss, unlabeled_loss, scale, C):
    X, labels = blobs(scale=scale)
    obj = S3VM(X, labels, loss, unlabeled_loss, C=C, balance=0.0, intercept=intercept)
    start = time.process_time()
    result = public_solver(name)(obj)
    assert time.process_time() - start < 5.0
    if result.status is Status.STATIONARY:
        assert way_down(obj, result) <= 1e-6
    else:
        assert result.status in (Status.NUMERICAL, Status.MAX_ITER)
        assert result.status is Status.MAX_ITER or "rounding decides: the weights times the squared" in result.message


def test_sparse_features_far_away_are_named_with_the_remedy():
    X, labels = blobs(shift=1e12)
    result = solvers.gradient(S3VM(sp.csr_array(X), labels, "squared_hinge", "exp", balance=0.0))
    assert result.status in (Status.NUMERICAL, Status.MAX_ITER)
    assert "the centre of the sparse features is at 2.0e+12" in result.message
    assert "pass X.toarray(), which is centred once, or subtract a typical row" in result.message
    # The remedy is one.
    dense = solvers.gradient(S3VM(X, labels, "squared_hinge", "exp", balance=0.0))
    assert dense.status is Status.STATIONARY
    assert "sparse" not in dense.message


@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
@pytest.mark.parametrize("C", [1e6, 1e10, 1e14])
def test_the_hinge_svm_ends_at_its_rounding(C, intercept):
    """Not after hundreds of systems in search of digits that there are not; and its multipliers keep theirs."""
    X, labels = blobs()
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    obj = S3VM(np.linalg.cholesky(K + 1e-9 * np.eye(len(K))), labels, "hinge", C=C, balance=0.0, intercept=intercept)
    svm = obj.guessed(obj.labels_of(optima.one_flip(obj, max_iter=1).variables["w"]))
    first = hinge_svm(svm, np.zeros(obj.size), obj.decisions_at(np.zeros(obj.size)), warm=False)
    again = hinge_svm(svm.with_(plus=0.7 * svm.plus, minus=0.7 * svm.minus), first.w, first.f)
    assert again.n_iter <= 20
    assert first.n_iter <= 100
    certificate = svm.prove(first.w, first.theta_plus, first.theta_minus)
    assert certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
def test_digits_beyond_doubles_are_refused_by_name(intercept):
    """Labels that overlap make every rounding of a decision cost C: below 1e8 all is proved, far above it is told."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, 60)
    side[:2] = 0, 1
    X = rng.standard_normal((60, 4)) + np.outer(2 * side - 1, [1.0, 0.5, 0.0, 0.0])
    labels = encode_labels(np.where(np.arange(60) < 40, side, -1))

    def answer(solver, C, **options):
        return solver(S3VM(X, labels, "hinge", C=C, balance=0.0, intercept=intercept, **options))

    assert answer(solvers.continuation, 1e7, C_star=0.0).status is Status.OPTIMAL
    for result in (answer(solvers.continuation, 1e13, C_star=0.0), answer(solvers.label_switching, 1e13)):
        assert result.status in (Status.NUMERICAL, Status.UNPROVED)
        assert "rounding decides: the weights times the squared length of the features are up to" in result.message
