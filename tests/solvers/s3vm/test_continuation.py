"""Continuation: its path, that it starts convex, what it finds against others, bad input."""

from functools import partial

import numpy as np
import pytest
import s3vm_problems
import scipy.sparse as sp
from s3vm_problems import kernel_features, radial
from sklearn.datasets import load_digits

from reproduction.data import load
from specmargin.datasets import make_two_moons
from specmargin.labels import encode_labels, hide_labels
from specmargin.losses import ExpSquared
from specmargin.objectives.s3vm import S3VM
from specmargin.results import Status
from specmargin.solvers.s3vm.continuation import continuation, smoothing_path

gaussians = partial(s3vm_problems.gaussians, loss="hinge")


def moons(seed, n=100, width=0.2):
    X, truth = make_two_moons(n_samples=n, noise=0.1, random_state=seed)
    labels = encode_labels(hide_labels(truth, per_class=1, random_state=seed))
    return S3VM(
        kernel_features(radial(X, width), labels.unlabeled), labels, "hinge", "exp", C=100.0, C_star=100.0
    ), truth


def test_path_ends_where_the_paper_says(rng):
    """gamma_0 by all singular values of the rows written out, gamma_end by the longest row; geometric between."""
    for s in (3.0, 0.5):
        obj = gaussians(n=80, d=50, unlabeled_loss=ExpSquared(s), C_star=7.0)
        A = obj.features.dense()
        length = np.linalg.norm(A, axis=1)
        scaled = A[10:] / length[10:, None] ** 1.5
        path = smoothing_path(obj, 10)
        assert len(path) == 11
        assert path[0] == pytest.approx(
            (7.0 * np.linalg.norm(scaled, 2) ** 2) ** (2 / 3) / (2 * s) ** (1 / 3), rel=1e-4
        )
        assert path[-1] == pytest.approx(1.0 / (20 * s * length.max() ** 2), rel=1e-12)
        np.testing.assert_allclose(path[1:] / path[:-1], (path[-1] / path[0]) ** 0.1, rtol=1e-10)
        sparse = gaussians(n=80, d=50, unlabeled_loss=ExpSquared(s), C_star=7.0, form=sp.csr_array)
        np.testing.assert_allclose(smoothing_path(sparse, 10), path, rtol=1e-4)


@pytest.mark.parametrize("d", [3, 60])
def test_path_starts_convex_and_not_far_from_where_that_ends(d, rng):
    """At the peaks of all unlabelled losses at once, which no w need reach, and at many w."""
    obj = gaussians(n=100, d=d, C_star=20.0)
    steepest = smoothing_path(obj)[0]
    A = obj.features.dense()[10:]

    def least(gamma):
        bend = obj.smoothed(gamma).unlabeled_loss.curvature(np.zeros(len(A)))
        return 1.0 + np.linalg.eigvalsh(20.0 * (A.T * bend) @ A).min()

    assert least(steepest) >= -1e-4
    assert least(0.3 * steepest) < 0
    smooth = obj.smoothed(steepest)
    for size in (0.0, 0.1, 1.0, 10.0):
        assert np.linalg.eigvalsh(smooth.hessian(size * rng.normal(size=d))).min() > -1e-4


def test_zero_rows_and_repeated_rows_do_no_harm(rng):
    X = rng.normal(size=(30, 4))
    X -= X[10:].mean(axis=0)
    zeros = np.zeros((5, 4))
    labels = encode_labels([0, 1] * 5 + [-1] * 25)
    obj = S3VM(np.vstack([X, zeros]), labels, "hinge", "exp", balance=0.0)
    few = S3VM(X, encode_labels([0, 1] * 5 + [-1] * 20), "hinge", "exp", balance=0.0)
    np.testing.assert_allclose(smoothing_path(obj), smoothing_path(few), rtol=1e-6)
    assert continuation(obj).status is Status.STATIONARY
    double = S3VM(
        np.vstack([X, X]), encode_labels(np.r_[[0, 1] * 5, [-1] * 20, [0, 1] * 5, [-1] * 20]), "hinge", "exp", C=0.5
    )
    assert continuation(double).certificate.primal_objective == pytest.approx(
        continuation(S3VM(X, encode_labels([0, 1] * 5 + [-1] * 20), "hinge", "exp")).certificate.primal_objective,
        rel=1e-6,
    )


def test_start_is_no_matter(rng):
    """The first objective is convex, and so the walk is the same from anywhere, but for the tolerance."""
    obj = gaussians(C=10.0, C_star=5.0)
    cold = continuation(obj, tol=1e-7)
    for _ in range(3):
        warm = continuation(obj, 5.0 * rng.normal(size=6), tol=1e-7)
        assert warm.certificate.primal_objective == pytest.approx(cold.certificate.primal_objective, rel=1e-5)


def test_newton_finds_the_same_minimum_mostly():
    """Where the path forks the two may part: compare objectives, and allow one in ten."""
    same = []
    for seed in range(10):
        obj = gaussians(n=50, d=8, seed=seed, gap=1.0, C=10.0, C_star=10.0)
        values = [
            continuation(obj, minimizer=minimizer, tol=1e-8).history["objective"][-1]
            for minimizer in ("lbfgs", "newton")
        ]
        same.append(values[0] == pytest.approx(values[1], rel=1e-6))
    assert np.mean(same) >= 0.9


@pytest.mark.data
def test_error_on_a_pair_of_digits(data_folder):
    """Digits 2 against 7 of the published set: 2.9 % over all pairs in the paper, the SVM 9.2."""
    if data_folder is None:
        digits = load_digits()
        rows = np.flatnonzero(np.isin(digits.target, (2, 7)))
        X, truth, width = digits.data[rows] / 16.0, (digits.target[rows] == 7).astype(int), 2.0
        labeled = np.random.default_rng(0).permutation(len(rows))[:10]
    else:
        found = load("uspst", data_home=data_folder, download=False)
        rows = np.flatnonzero(np.isin(found.y, (2, 7)))
        X, truth, width = found.X[rows].astype(float), (found.y[rows] == 7).astype(int), 8.0
        labeled = np.flatnonzero(np.isin(rows, found.labeled_idx[0]))
    y = np.full(len(rows), -1)
    y[labeled] = truth[labeled]
    labels = encode_labels(y)
    obj = S3VM(kernel_features(radial(X, width), labels.unlabeled), labels, "hinge", "exp", C=100.0, C_star=100.0)
    result = continuation(obj)
    supervised = continuation(obj.supervised())
    free = labels.unlabeled
    error = (result.variables["labels"] != 2 * truth[free] - 1).mean()
    assert error <= 0.05
    assert result.certificate.primal_objective < obj.value_at(supervised.variables["w"])


@pytest.mark.parametrize("unlabeled_loss", ["symmetric_hinge", "symmetric_squared_hinge", "symmetric_ramp"])
def test_other_even_losses_are_taken(unlabeled_loss):
    obj = gaussians(unlabeled_loss=unlabeled_loss)
    assert smoothing_path(obj)[-1] == smoothing_path(gaussians())[-1]
    assert continuation(obj).status is Status.STATIONARY


@pytest.mark.parametrize("scale", [1e-140, 1e-20, 1e10, 1e140])
def test_features_of_extreme_scale_give_no_nan(scale):
    result = continuation(gaussians(form=lambda X: scale * X))
    assert np.isfinite(result.variables["w"]).all()
    assert np.isfinite(result.history["gamma"]).all()
