"""Alignment over blocks: the definition written out, rank one against `Alignment`, and bounds above every value."""

import numpy as np
import pytest
from block_problems import blocks_of, labels_of

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.labels import encode_targets
from specmargin.objectives import Alignment, BlockAlignment, SpectrumCone
from specmargin.objectives.cones import alignment_over_cone

classes = pytest.mark.parametrize("n_classes", [2, 4])


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
    monkeypatch.setattr(alignment_over_cone, "gamma_bound", lambda n: 1e-6 if n == labels.n_labeled + 1 else 0.0)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blocks": [np.ones((30, 2))]}, "none of the 1 blocks correlates with the 20 labels"),
        ({"blocks": []}, "are no feature maps"),
        ({"labels": labels_of(2, weights="some")}, "labels have weights"),
        ({"centered": "yes"}, "centered"),
        ({"order": SpectrumCone(5)}, "a family of 5 weights"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    labels = labels_of(2)
    arguments = {"blocks": blocks_of(labels, [3, 4]), "labels": labels, **change}
    with pytest.raises((InvalidInputError, TypeError), match=message):
        BlockAlignment(**arguments)
