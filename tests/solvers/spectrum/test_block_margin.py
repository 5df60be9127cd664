"""Blocks of any rank: against CVXPY, `spectrum_margin` and scikit-learn, and at the edges."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from block_problems import LOSSES, blocks_of, labels_of
from sklearn.linear_model import Ridge

import specmargin as sm
from specmargin.objectives import BlockMargin, SpectrumCone, SpectrumMargin
from specmargin.results import Status
from specmargin.solvers import block_margin
from specmargin.solvers.spectrum import block_margin as module
from specmargin.solvers.spectrum.interior_run import solve

losses = pytest.mark.parametrize("loss", LOSSES)
classes = pytest.mark.parametrize("n_classes", [2, 4])


def proved(obj, tol=1e-9):
    result = block_margin(obj)
    assert result.status is Status.OPTIMAL, (result.message, result.certificate)
    assert sm.certify(obj, result).is_optimal(tol)
    return result


def jointly(obj):
    """By the interior point over classes, even where two classes and the hinge have a solver of their own."""
    return solve(module._over_blocks(obj), 1e-10, 100, None).candidate


@losses
@classes
@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("form", ["compact", "primal"])
def test_agrees_with_cvxpy(loss, n_classes, order, form):
    labels = labels_of(n_classes, weights="some" if order else None)
    obj = BlockMargin(blocks_of(labels, [3, 30, 1, 5]), labels, C=2.0, loss=loss, order=order)
    ours, theirs = proved(obj), sm.solve(sm.problems.block_margin(obj, form))
    assert theirs.status.has_solution
    assert ours.certificate.primal_objective == pytest.approx(theirs.certificate.primal_objective, rel=1e-6)
    np.testing.assert_allclose(ours.variables["delta"], theirs.variables["delta"], atol=3e-4)
    np.testing.assert_allclose(ours.variables["f"], theirs.variables["f"], atol=3e-3)


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("B", [0.8, 1.2])
def test_a_relative_margin_of_several_classes_agrees_with_cvxpy(n_classes, B):
    labels = labels_of(n_classes)
    with pytest.warns(UserWarning, match="below 1") if B < 1 else nullcontext():
        obj = BlockMargin(blocks_of(labels, [3, 30, 5]), labels, C=2.0, B=B)
    ours, theirs = proved(obj), sm.solve(sm.problems.block_margin(obj))
    assert ours.certificate.primal_objective == pytest.approx(theirs.certificate.primal_objective, rel=1e-6)
    assert np.abs(ours.variables["f"][labels.labeled]).max() <= B * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["simple", "tied"])
@pytest.mark.parametrize(("order", "B"), [(True, 1.3), (True, np.inf), (False, 1.3), (False, np.inf)])
def test_blocks_of_rank_one_are_storm_stoam_and_mkl(kind, order, B, spectrum_data):
    """To 1e-9, by the solver for two classes and by the interior point for any number of them."""
    spectrum, labels = spectrum_data(kind)
    U = np.sqrt(spectrum.n_samples) * spectrum.eigenvectors
    family = SpectrumCone(spectrum.q, True, spectrum.block_ends()) if order else False
    one = sm.solvers.spectrum_margin(SpectrumMargin(spectrum, labels, C=5.0, B=B, order=order))
    obj = BlockMargin([U[:, [j]] for j in range(spectrum.q)], labels, C=5.0, B=B, order=family)
    many = proved(obj)
    np.testing.assert_allclose(many.variables["delta"], one.variables["delta"], atol=1e-9)
    np.testing.assert_allclose(many.variables["f"], one.variables["f"], atol=1e-9)
    candidate = jointly(obj)
    assert candidate.certificate.relative_gap < 1e-9
    assert candidate.certificate.primal_objective == pytest.approx(one.certificate.primal_objective, rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_block_and_the_squared_loss_are_ridge_regression(n_classes):
    labels = labels_of(n_classes)
    (F,) = blocks_of(labels, [6])
    result = proved(BlockMargin([F], labels, C=3.0, loss="squared"))
    ridge = Ridge(alpha=1 / 3.0, solver="cholesky", tol=1e-12).fit(F[labels.labeled], labels.sign)
    np.testing.assert_allclose(result.variables["f"], ridge.predict(F), atol=1e-8)


def test_free_blocks_are_the_group_lasso():
    """Delta eliminated: 1/2 (sum_b |W_b|)^2; delta_b is the share of |W_b|."""
    labels = labels_of(4)
    obj = BlockMargin(blocks_of(labels, [3, 30, 5]), labels, C=2.0, loss="squared")
    result = proved(obj, tol=1e-12)
    pieces = np.split(result.variables["v"], obj.cone.starts[1:])
    lengths = np.array([np.linalg.norm(piece) for piece in pieces])
    losses = float(obj.loss.value(labels.sign * result.variables["f"][labels.labeled]).sum())
    assert result.certificate.primal_objective == pytest.approx(lengths.sum() ** 2 / 2 + losses, rel=1e-9)
    np.testing.assert_allclose(result.variables["delta"], lengths / lengths.sum(), atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_random_problems_are_proved(seed):
    """Ranks from 1 to 200, ties, copies, constant and empty blocks, several classes, C from 1e-4 to 1e5."""
    rng = np.random.default_rng(seed)
    l, m = int(rng.integers(6, 60)), int(rng.integers(1, 12))
    n_classes = int(rng.integers(2, 6))
    y = np.append(rng.integers(n_classes, size=l), -1)
    y[:n_classes] = range(n_classes)
    blocks = []
    for b in range(m):
        F = rng.normal(size=(l + 1, int(rng.integers(1, 200 if rng.random() < 0.1 else 30))))
        kind = rng.random()
        F = blocks[-1] if b and kind < 0.15 else np.tile(F[:1], (l + 1, 1)) if kind < 0.22 else F
        F = np.zeros_like(F) if m > 1 and 0.22 < kind < 0.27 else F * np.sqrt((l + 1) / max((F**2).sum(), 1e-9))
        blocks.append(F)
    loss = LOSSES[seed % 3]
    options = {"C": 10 ** rng.uniform(-4, 5), "loss": loss, "order": bool(rng.random() < 0.4)}
    options["B"] = 1.5 if loss == "hinge" and rng.random() < 0.3 else np.inf
    options["eps"] = 0.0 if rng.random() < 0.7 else 1e-6
    result = proved(BlockMargin(blocks, sm.encode_labels(y), **options))
    assert result.variables["delta"].sum() == pytest.approx(1.0)
    assert (result.variables["delta"] >= 0).all()


@pytest.mark.parametrize("seed", [*range(6), 10, 21, 28, 46, 72, 82, 117, 262, 296])
def test_large_costs_and_low_ranks_are_proved(seed):
    """C up to 1e10 where few directions separate no labels: multipliers of a size that nearly cancels in the scores.

    Each of the larger seeds needs something: the second order of the products in the corrector, the shift of the
    diagonal, margins that are restored on their kinks, or patience while residuals fall.
    """
    rng = np.random.default_rng(seed)
    l, m, n_classes = int(rng.integers(10, 60)), int(rng.integers(1, 6)), int(rng.integers(2, 6))
    y = np.append(rng.integers(n_classes, size=l), -1)
    y[:n_classes] = range(n_classes)
    blocks = [rng.normal(size=(l + 1, int(rng.integers(1, 4)))) for _ in range(m)]
    blocks = [F * np.sqrt((l + 1) / (F**2).sum()) for F in blocks]
    loss, C = LOSSES[seed % 3], 10 ** rng.uniform(2, 10)
    B = 1.5 if loss == "hinge" and rng.random() < 0.5 else np.inf
    order, eps = bool(rng.random() < 0.4), 0.0 if rng.random() < 0.7 else 1e-6
    obj = BlockMargin(blocks, sm.encode_labels(y), C=C, loss=loss, B=B, order=order, eps=eps)
    assert block_margin(obj).certificate.is_optimal(1e-8)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@losses
def test_scales_and_shifts_of_blocks_are_harmless(scale, loss):
    """Features s F with C / s^2 are the same problem; a common vector moves the intercept alone."""
    labels = labels_of(3)
    blocks = blocks_of(labels, [3, 30])
    obj = BlockMargin(blocks, labels, C=2.0, loss=loss)
    plain, scaled = proved(obj), proved(BlockMargin([scale * F for F in blocks], labels, C=2.0 / scale**2, loss=loss))
    np.testing.assert_allclose(scaled.variables["delta"], plain.variables["delta"], atol=1e-5)
    np.testing.assert_allclose(scaled.variables["f"], plain.variables["f"], atol=1e-5)
    moved = proved(BlockMargin([F + 10.0 for F in blocks], labels, C=2.0, loss=loss, delta=plain.variables["delta"]))
    kept = proved(replace(obj, delta=plain.variables["delta"]))
    np.testing.assert_allclose(moved.variables["f"], kept.variables["f"], atol=1e-5)


@pytest.mark.parametrize(("C", "scale"), [(1e-10, 1.0), (1e10, 1.0), (1e-16, 1e8), (1e16, 1e-8), (1.0, 1e-8)])
@losses
@pytest.mark.parametrize("n_classes", [2, 6])
def test_one_label_of_a_class_over_equal_and_empty_blocks_at_extreme_costs(C, scale, loss, n_classes):
    """C times the square of the features' scale is what counts: from 1e-16 to 1e10."""
    rng = np.random.default_rng(n_classes)
    y = np.append(rng.integers(1, n_classes, size=30), -1)
    y[:n_classes] = range(n_classes)
    wide, narrow = rng.normal(size=(31, 100)) / 10, rng.normal(size=(31, 3)) / np.sqrt(3)
    blocks = [scale * F for F in (narrow, narrow, wide, np.zeros((31, 5)), wide, rng.normal(size=(31, 1)))]
    for order in (False, True):
        obj = BlockMargin(blocks, sm.encode_labels(y), C=C, loss=loss, order=order)
        assert block_margin(obj).certificate.is_optimal(1e-8)


def test_a_step_too_few_is_said(monkeypatch):
    labels = labels_of(3)
    result = block_margin(BlockMargin(blocks_of(labels, [3, 30]), labels, C=2.0, loss="squared"), max_iter=2)
    assert (result.status, result.n_iter) == (Status.MAX_ITER, 2)
    assert result.certificate.relative_gap > 1e-9
    assert list(result.history["gap"]) == sorted(result.history["gap"], reverse=True)
