"""Margins and alignments over blocks: values, bounds, reductions of the blocks, and functions back at all samples."""

import numpy as np
import pytest
from block_problems import LOSSES, blocks_of, labels_of

import specmargin as sm
from specmargin.labels import encode_targets
from specmargin.objectives import Alignment, BlockAlignment, BlockMargin, SpectrumCone, SpectrumMargin
from specmargin.objectives.cones import alignment as over_cone

losses = pytest.mark.parametrize("loss", LOSSES)
classes = pytest.mark.parametrize("n_classes", [2, 4])


def penalty(name, C, t):
    missing = 1 - t if name == "squared" else np.maximum(1 - t, 0)
    return C * missing if name == "hinge" else C / 2 * missing**2


@losses
@classes
@pytest.mark.parametrize("weights", [None, "some"])
def test_value_is_the_formula(loss, n_classes, weights, rng):
    """Over w_b in the features of the blocks, not over the rotated v."""
    labels = labels_of(n_classes, weights=weights)
    blocks = blocks_of(labels, [3, 40, 1])
    obj = BlockMargin(blocks, labels, C=2.5, loss=loss)
    shape = (n_classes,) if n_classes > 2 else ()
    v, b, delta = rng.normal(size=(obj.cone.q, *shape)), rng.normal(size=shape), np.array([0.5, 0.2, 0.3])
    W, start = [], 0
    for R, Q in obj.factors:
        piece = v[start : start + R.shape[1]]
        W.append(piece if Q is None else Q @ piece)
        start += R.shape[1]
    f = sum(F @ w for F, w in zip(blocks, W, strict=True)) + b
    norm = 0.5 * sum((w**2).sum() / d for w, d in zip(W, delta, strict=True))
    c = np.ones(labels.n_labeled) if labels.weights is None else labels.weights
    losses = penalty(loss, 2.5, labels.sign * f[labels.labeled])
    variables = {"v": v, "b": b, "delta": delta}
    assert obj.value(variables) == pytest.approx(norm + (c @ losses).sum(), rel=1e-12)
    np.testing.assert_allclose(obj.decisions(variables), f, atol=1e-12)
    assert obj.value({**variables, "delta": [0.5, 0.2, 0.4]}) == np.inf


@losses
@classes
@pytest.mark.parametrize("order", [False, True])
def test_the_bound_is_the_formula_and_below_every_value(loss, n_classes, order, rng):
    labels = labels_of(n_classes)
    blocks = blocks_of(labels, [3, 40, 1])
    obj = BlockMargin(blocks, labels, C=2.5, loss=loss, order=order)
    gamma = obj.loss.repair_multipliers(labels.sign, 0.3 * labels.sign + 0.1 * rng.normal(size=labels.sign.shape))
    G = gamma if gamma.ndim == 2 else gamma[:, None]
    grams = [F[labels.labeled] @ F[labels.labeled].T for F in blocks]
    q = np.array([0.5 * np.trace(G.T @ K @ G) for K in grams])
    rays = np.cumsum(q) / np.array([1, 2, 3]) if order else q
    s = labels.sign * gamma
    linear = s.sum() - (0 if loss == "hinge" else (s**2).sum() / 5.0)
    bound = obj.dual_bound(gamma)
    assert bound == pytest.approx(linear - rays.max(), rel=1e-12)
    delta = np.array([0.5, 0.3, 0.2])
    for _ in range(20):
        v, b = 0.1 * rng.normal(size=(obj.cone.q, *gamma.shape[1:])), 0.1 * rng.normal(size=gamma.shape[1:])
        assert obj.value({"v": v, "b": b, "delta": delta}) >= bound


def test_blocks_of_rank_one_are_spectrum_learning(spectrum_data, rng):
    """The same value, bound and certificate as `SpectrumMargin`, whose eigenvectors are the blocks."""
    spectrum, labels = spectrum_data("tied")
    U = np.sqrt(spectrum.n_samples) * spectrum.eigenvectors
    family = SpectrumCone(spectrum.q, True, spectrum.block_ends())
    for order in (True, False):
        one = SpectrumMargin(spectrum, labels, C=3.0, B=1.4, order=order)
        blocks = BlockMargin(
            [U[:, [j]] for j in range(spectrum.q)], labels, C=3.0, B=1.4, order=family if order else False
        )
        point = one.repair(rng.normal(size=labels.n_labeled), rng.random(one.cone.m), 0.1)
        variables = {"v": point.v, "b": point.b, "delta": point.delta}
        assert blocks.value(variables) == pytest.approx(one.value(variables), rel=1e-14)
        assert blocks.dual_bound(point.gamma) == pytest.approx(one.dual_bound(point.gamma), rel=1e-14)
        ours, theirs = (obj.certificate(variables, {"gamma": point.gamma}) for obj in (blocks, one))
        assert ours.gap == pytest.approx(theirs.gap, rel=1e-12)


@losses
@classes
def test_a_certificate_repairs_any_point_and_its_rounding_is_small(loss, n_classes, rng):
    labels = labels_of(n_classes)
    obj = BlockMargin(blocks_of(labels, [3, 40]), labels, C=1.5, loss=loss)
    shape = labels.sign.shape[1:]
    v, b = rng.normal(size=(obj.cone.q, *shape)), rng.normal(size=shape)
    certificate = obj.certificate({"v": v, "b": b, "delta": [0.9, 0.3]})
    assert certificate.primal_residual > 0
    assert 0 < certificate.gap < np.inf
    assert certificate.rounding < 1e-10 * certificate.primal_objective
    feasible = obj.certificate({"v": v, "b": b, "delta": [0.75, 0.25]})
    assert feasible.primal_objective == pytest.approx(obj.value({"v": v, "b": b, "delta": [0.75, 0.25]}), rel=1e-12)


def test_sums_over_columns_and_classes_are_charged_for_every_term(monkeypatch):
    """With a unit of 1e-6 for that of long doubles: q columns and K classes make sums of q + K - 1 terms."""
    from specmargin.objectives.cones import margin

    labels = labels_of(4)
    obj = BlockMargin(blocks_of(labels, [3, 4]), labels, C=1.5, loss="squared")
    gamma = obj.loss.repair_multipliers(labels.sign, 0.2 * labels.sign)
    z = obj.U.T @ gamma
    quadratic = -obj._dual_bounds(0.0 * gamma, z, 0.0 * z)[0]
    monkeypatch.setattr(margin, "EXTENDED_UNIT", 1e-6)
    value, least = obj._dual_bounds(0.0 * gamma, z, 0.0 * z)
    assert value - least == pytest.approx(8 * (7 + 4 + 3) * 1e-6 * quadratic, rel=1e-9)


def test_multipliers_that_are_not_balanced_are_charged_class_by_class():
    """What is missing in one class does not make up for another: intercepts are bounded, their products charged."""
    labels = labels_of(4)
    obj = BlockMargin(blocks_of(labels, [3, 4]), labels, C=1.5, loss="squared")
    point = obj.repair(0.2 * labels.sign, np.array([0.4, 0.6]), np.zeros(4))
    gamma = point.gamma.copy()
    gamma[0] += [1e-3, -1e-3, 0.0, 0.0]
    primal = obj.prove(point).primal_objective
    assert obj.prove(point).rounding < 1e-9
    assert obj.prove(point._replace(gamma=gamma)).rounding >= 2e-3 * obj._largest_intercept(primal)


def kernels_of(blocks, labels, centered):
    rows = [F[labels.labeled] for F in blocks]
    rows = [F - F.mean(axis=0) for F in rows] if centered else rows
    T = labels.sign[:, None] if labels.is_binary else (labels.sign > 0).astype(float)
    T = T - T.mean(axis=0) if centered else T
    return [F @ F.T for F in rows], T @ T.T


@classes
@pytest.mark.parametrize("centered", [True, False])
def test_value_is_the_cosine_of_two_matrices(n_classes, centered, rng):
    labels = labels_of(n_classes)
    blocks = blocks_of(labels, [3, 40, 1])
    obj = BlockAlignment(blocks, labels, centered=centered)
    kernels, target = kernels_of(blocks, labels, centered)
    for delta in rng.random((5, 3)):
        K = sum(d * one for d, one in zip(delta, kernels, strict=True))
        cosine = np.vdot(K, target) / (np.linalg.norm(K) * np.linalg.norm(target))
        assert obj.value({"delta": delta}) == pytest.approx(cosine, rel=1e-12)
        assert obj.upper_bound(obj.cone.over_columns(delta)) >= cosine


def test_an_offset_of_the_numbers_costs_no_digits(rng):
    blocks, far = [rng.normal(size=(12, 2)) for _ in range(3)], 1e8 + rng.normal(size=12)
    delta = {"delta": np.array([0.2, 0.5, 0.3])}
    near, moved = (BlockAlignment(blocks, encode_targets(y)) for y in (far - 1e8, far))
    assert moved.value(delta) == pytest.approx(near.value(delta), rel=1e-12)


@classes
def test_decisions_are_sums_of_the_kernel_with_the_target(n_classes):
    labels = labels_of(n_classes)
    blocks, delta = blocks_of(labels, [3, 40]), np.array([0.25, 0.75])
    obj = BlockAlignment(blocks, labels)
    T = labels.sign if n_classes == 2 else (labels.sign > 0).astype(float)
    T = T - T.mean(axis=0)
    centred = [F - F[labels.labeled].mean(axis=0) for F in blocks]
    K = sum(d * F @ F[labels.labeled].T for d, F in zip(delta, centred, strict=True))
    found = obj.decisions({"delta": delta})
    # Features are not shifted at other samples: decisions agree but for a constant, which an intercept takes.
    np.testing.assert_allclose(found - found.mean(axis=0), K @ T - (K @ T).mean(axis=0), atol=1e-10)


def test_correlations_with_several_classes_are_charged_by_all_of_them(monkeypatch):
    """With a unit of 1e-6 for products with the target: |T'u|^2 may be smaller by 2e-6 |u| |T| |T'u| at least."""
    labels = labels_of(4)
    obj = BlockAlignment(blocks_of(labels, [3, 4]), labels)
    delta = obj.cone.over_columns(np.array([0.4, 0.6]))
    lengths, scores = np.linalg.norm(obj.U, axis=0), np.linalg.norm(obj.U.T @ obj.target, axis=1)
    missing = delta @ (2e-6 * lengths * np.linalg.norm(obj.target) * scores)
    norm = obj.target_norm * np.sqrt(delta @ obj.M @ delta)
    least = obj._bounds(delta)[0]
    monkeypatch.setattr(over_cone, "gamma_bound", lambda n: 1e-6 if n == labels.n_labeled + 1 else 0.0)
    assert obj._bounds(delta)[0] <= least - missing / norm


@pytest.mark.parametrize("order", [True, False])
def test_blocks_of_rank_one_are_the_alignment_of_a_spectrum(order, spectrum_data, rng):
    spectrum, labels = spectrum_data("tied")
    U = np.sqrt(spectrum.n_samples) * spectrum.eigenvectors
    family = SpectrumCone(spectrum.q, True, spectrum.block_ends()) if order else False
    one = Alignment(spectrum, labels, order=order)
    many = BlockAlignment([U[:, [j]] for j in range(spectrum.q)], labels, order=family, centered=False)
    delta = one.repair(rng.random(spectrum.q))
    assert many.value({"delta": delta}) == pytest.approx(one.value({"delta": delta}), rel=1e-13)
    ours, theirs = (obj.certificate({"delta": delta}) for obj in (many, one))
    assert ours.dual_objective == pytest.approx(theirs.dual_objective, rel=1e-13)
    first, second = sm.solvers.alignment(many), sm.solvers.alignment(one)
    np.testing.assert_allclose(first.variables["delta"], second.variables["delta"], atol=1e-9)


def test_single_precision_blocks_and_wide_ones_are_read_as_they_are(rng):
    labels = labels_of(2)
    F = rng.normal(size=(labels.n_samples, 90)).astype(np.float32)
    obj = BlockMargin([F], labels)
    rows = F[labels.labeled].astype(float)
    np.testing.assert_allclose(obj.grams[0], rows @ rows.T, rtol=1e-12, atol=1e-12)
    assert obj.U.shape == (labels.n_labeled, labels.n_labeled)


def test_functions_of_reduced_columns_are_those_of_the_features(rng):
    """With w_b = Q_b v_b, of a block that is wider than there are labels and of one that is not."""
    labels = labels_of(3)
    blocks = blocks_of(labels, [3, 45])
    obj = BlockMargin(blocks, labels)
    v = rng.normal(size=(obj.cone.q, 3))
    narrow, wide = np.split(v, obj.cone.starts[1:])
    Q = obj.factors[1][1]
    np.testing.assert_allclose(Q.T @ Q, np.eye(20), atol=1e-12)
    np.testing.assert_allclose(obj.over_samples(v), blocks[0] @ narrow + blocks[1] @ (Q @ wide), atol=1e-12)
    np.testing.assert_allclose(obj.over_samples(v)[labels.labeled], obj.U @ v, atol=1e-10)
