"""The mixture against its formulas, written out candidate by candidate and label by label."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from specmargin.objectives.held_out.calibration import calibrated_scales
from specmargin.tables.candidates.bank import build_bank
from specmargin.tables.candidates.constants import CONSTANTS, FAMILIES, SUPERVISED
from specmargin.tables.candidates.mixture import Mixture
from specmargin.tables.candidates.offsets import log_offsets
from specmargin.tables.candidates.training import train_candidates


def data(n_classes, sizes, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_classes), np.array(sizes) * 150 // sum(sizes))  # labels are a sample of all
    X = rng.standard_normal((len(truth), 4)) + 2.5 * rng.standard_normal((n_classes, 4))[truth]
    labeled = np.sort(np.concatenate([np.flatnonzero(truth == c)[:size] for c, size in enumerate(sizes)]))
    return X, labeled, truth[labeled], truth


CASES = {"two": (2, (5, 9)), "three equal": (3, (6, 6, 6)), "three unequal": (3, (20, 2, 2)), "many": (2, (30, 30))}


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    n_classes, sizes = CASES[request.param]
    X, labeled, codes, truth = data(n_classes, sizes)
    bank = build_bank(X, families=FAMILIES)
    trained = train_candidates(bank, labeled, codes, n_classes, families=FAMILIES)
    return X, labeled, codes, truth, trained, Mixture(trained, codes, n_classes)


def spelled_out(trained, codes, n_classes):
    """Return prior weights, losses, and the probabilities of every candidate at all samples and at left-out labels.

    Of two classes the prior weights of what uses the unlabelled samples are those times the ratio of disagreements to
    its power.
    """
    equal = n_classes > 2 and len(set(np.bincount(codes).tolist())) == 1
    prior, losses, everywhere, held_out = [], [], [], []
    for group in trained:
        size = sum(len(g.names) for g in trained if g.family == group.family)
        for j in range(len(group.names)):
            f = group.map.values @ group.coefficients[:, j] + group.intercept[j]
            mean, scale = (f.mean(axis=0), f.std(axis=0)) if equal else (0.0, f.std(axis=0).mean())
            scale = np.maximum(scale, 1e-3)
            held = (group.held_out[j] - mean) / scale
            T = calibrated_scales(held[None], codes, bounds=(0.1, 30.0))[0]

            def probabilities(z):
                return softmax(np.column_stack([np.zeros(len(z)), z]) if n_classes == 2 else z, axis=1)

            p = probabilities(T * held)
            losses.append(-np.log(p[np.arange(len(codes)), codes]))
            everywhere.append(probabilities(T * (f - mean) / scale))
            # The threshold without a label makes up for the intercept without it, so that neither moves twice.
            moved = held + (group.intercept[j] - group.intercept_without[j]) / scale
            held_out.append(probabilities(T * moved))
            prior.append(dict(CONSTANTS.prior)[group.family] / size)
    prior, losses, everywhere = np.array(prior), np.array(losses), np.array(everywhere)
    if n_classes == 2:
        of = np.concatenate([[group.family] * len(group.names) for group in trained])
        sides = {family: of == family for family in ("graph", "pca", "lap", "s3vm")} | {
            "supervised": np.isin(of, SUPERVISED)
        }
        cut = {}
        for side, own in sides.items():
            log_p = np.log(
                np.tensordot((prior * np.exp(-losses.sum(axis=1) / CONSTANTS.temperature))[own], everywhere[own], 1)
            )
            cut[side] = (log_p + log_offsets(log_p, np.bincount(codes).astype(float))).argmax(axis=1)
        others = [cut[family] for family in ("graph", "pca", "lap", "s3vm")]
        among = sum(np.mean(a != b) for a in others for b in others) / 12  # of 12 ordered pairs
        apart = sum(np.mean(cut["supervised"] != a) for a in others) / 4
        prior = np.where(sides["supervised"], prior, prior * ((apart + 0.01) / (among + 0.01)) ** CONSTANTS.agreement)
    return prior, losses, everywhere, np.array(held_out)


def test_weights_and_probabilities_are_those_of_the_formula(fitted):
    _, _, codes, _, trained, mixture = fitted
    n_classes, c = mixture.n_classes, CONSTANTS.temperature
    prior, losses, everywhere, _ = spelled_out(trained, codes, n_classes)
    np.testing.assert_allclose(mixture.losses, losses, atol=1e-6)
    w = prior * np.exp(-losses.sum(axis=1) / c)
    w /= w.sum()
    np.testing.assert_allclose(mixture.weights, w, rtol=1e-5)
    log_p = np.log(np.tensordot(w, everywhere, 1))
    equal = n_classes > 2 and len(set(np.bincount(codes).tolist())) == 1
    assert mixture.equal == equal
    if not equal:
        log_p = log_p + log_offsets(log_p, mixture.counts)
    expected = softmax(log_p, axis=1)
    np.testing.assert_allclose(np.exp(mixture.log_probabilities), expected, atol=2e-2)  # small weights are left out
    assert np.mean(expected.argmax(axis=1) != mixture.log_probabilities.argmax(axis=1)) < 0.01


def test_each_label_is_left_out_of_weights_shares_and_threshold(fitted):
    _, _, codes, _, trained, mixture = fitted
    c = CONSTANTS.temperature
    prior, losses, everywhere, held_out = spelled_out(trained, codes, mixture.n_classes)
    for i, p in enumerate(mixture.held_out_proba()):
        w = prior * np.exp(-np.delete(losses, i, axis=1).sum(axis=1) / c)
        w /= w.sum()
        log_p = np.log(w @ held_out[:, i])
        if not mixture.equal:
            others = np.bincount(np.delete(codes, i), minlength=mixture.n_classes).astype(float)
            log_p = log_p + log_offsets(np.log(np.tensordot(w, everywhere, 1)), others)
        np.testing.assert_allclose(p, softmax(log_p), atol=1e-3)


def test_families_that_are_led_astray_each_in_its_own_way_count_less():
    rng = np.random.default_rng(3)
    clusters = np.repeat([0, 1], 150)
    noise = rng.standard_normal((300, 10))
    for X, y, agrees in (
        (noise + 2.0 * clusters[:, None] * (np.arange(10) < 2), clusters, True),
        (noise, (noise @ rng.standard_normal(10) > 0).astype(int), False),
    ):
        labeled = np.sort(np.concatenate([np.flatnonzero(y == c)[:10] for c in (0, 1)]))
        trained = train_candidates(build_bank(X), labeled, y[labeled], 2, families=FAMILIES)
        before = Mixture(trained, y[labeled], 2, constants=replace(CONSTANTS, agreement=0.0))
        after = Mixture(trained, y[labeled], 2)
        share = [sum(one.family_weights()[family] for family in SUPERVISED) for one in (before, after)]
        assert (after.disagreement_ratio > 0.9) == agrees
        assert before.disagreement_ratio == 1.0
        assert agrees or share[1] > 1.2 * share[0]
        # The candidates of one family keep their weights relative to one another.
        for family in FAMILIES:
            w, v = (one.weights[one.families == family] for one in (before, after))
            np.testing.assert_allclose(w / w.sum(), v / v.sum(), rtol=1e-9)


@pytest.mark.parametrize("families", [("graph", "sup"), ("graph", "pca"), SUPERVISED, ("lap",)])
def test_nothing_is_said_of_one_family_or_of_one_side(fitted, families):
    _, _, codes, _, trained, _ = fitted
    some = [group for group in trained if group.family in families]
    mixture = Mixture(some, codes, len(np.unique(codes)))
    assert mixture.disagreement_ratio == 1.0
    same = Mixture(some, codes, len(np.unique(codes)), constants=replace(CONSTANTS, agreement=0.0))
    np.testing.assert_array_equal(mixture.weights, same.weights)


@pytest.mark.parametrize(("sizes", "equal"), [((10, 15, 20), True), ((8, 15, 22), False)])
def test_classes_are_equal_unless_a_test_rejects_it_at_five_percent(sizes, equal):
    """The tail of chi-squared with two degrees of freedom is exp(-x / 2): 0.19 and 0.038 for counts about 15."""
    assert (np.exp(-sum((size - 15) ** 2 / 15 for size in sizes) / 2) >= 0.05) == equal
    X, labeled, codes, _ = data(3, sizes)
    trained = train_candidates(build_bank(X, families=("sup",)), labeled, codes, 3, families=("sup",))
    mixture = Mixture(trained, codes, 3)
    assert mixture.equal == equal
    assert (mixture.offsets == 0).all() == equal


def test_deviations_are_those_of_the_decisions(fitted):
    for group in fitted[4]:
        f = np.einsum("nr,rjc->njc", group.map.values, group.coefficients) + group.intercept
        np.testing.assert_allclose(group.deviations, f.std(axis=0), atol=1e-9)
        np.testing.assert_allclose(f.mean(axis=0), group.intercept, atol=1e-9)


def test_training_samples_are_predicted_as_before_once_they_are_forgotten(fitted):
    X, labeled, codes, truth, _, _ = fitted
    n_classes = len(np.unique(codes))
    trained = train_candidates(build_bank(X, families=FAMILIES), labeled, codes, n_classes, families=FAMILIES)
    mixture = Mixture(trained, codes, n_classes)
    before = mixture.log_probabilities
    assert np.mean(before.argmax(axis=1) == truth) > 0.8
    weights = mixture.family_weights()
    mixture.forget()
    for group in trained:
        group.map.forget()
    np.testing.assert_allclose(mixture.log_proba(X), before, atol=1e-6)
    assert all(abs(weights[family] - weight) < 0.05 for family, weight in mixture.family_weights().items())


def test_every_family_alone_is_a_mixture(fitted):
    _, _, codes, truth, trained, _ = fitted
    for family in dict.fromkeys(group.family for group in trained):
        mixture = Mixture([group for group in trained if group.family == family], codes, len(np.unique(codes)))
        assert mixture.weights.sum() == pytest.approx(1.0)
        assert mixture.family_weights() == {family: pytest.approx(1.0)}
        assert np.mean(mixture.log_probabilities.argmax(axis=1) == truth) > 0.5


def test_no_svm_is_trained_on_very_many_labels():
    X, labeled, codes, _ = data(2, (4, 4))
    bank = build_bank(X, families=SUPERVISED)
    for most, families in ((7, {"sup"}), (8, {"sup", "svm"})):
        constants = replace(CONSTANTS, hinge_labels=most)
        groups = train_candidates(bank, labeled, codes, 2, families=SUPERVISED, constants=constants)
        assert {group.family for group in groups} == families


def test_known_shares_take_the_place_of_those_of_the_labels(fitted):
    _, _, codes, truth, trained, _ = fitted
    n_classes = len(np.unique(codes))
    exact = np.bincount(truth) / len(truth)
    for prior in (exact, exact[::-1].copy()):
        mixture = Mixture(trained, codes, n_classes, known_shares=(prior, prior))
        assert not mixture.equal
        predicted = mixture.log_probabilities.argmax(axis=1)
        shares = np.exp(mixture.log_probabilities).mean(axis=0)
        if n_classes == 2:
            shares = np.bincount(predicted, minlength=2) / len(truth)
        np.testing.assert_allclose(shares, prior, atol=1 / len(truth))
        if prior is exact:
            assert np.mean(predicted == truth) > 0.9
    # Labels that are left out have the same threshold: theirs does not depend on the counts.
    held = mixture.held_out_proba()
    some = Mixture(trained, codes, n_classes, known_shares=(prior, prior))
    some.counts = some.counts[::-1].copy()
    np.testing.assert_array_equal(some.held_out_proba(), held)


def test_left_out_labels_are_told_as_by_exact_refits(monkeypatch):
    """Whole mixtures without each of ten labels; with thresholds alone that move, far more of these would be wrong."""
    rng, told, refitted, moved_once = np.random.default_rng(0), 0, 0, 0
    for _ in range(12):
        y = rng.integers(2, size=150)
        X = rng.standard_normal((150, 20)) + 1.5 * y[:, None] * (np.arange(20) < 4)
        bank = build_bank(X, families=SUPERVISED)
        labeled = np.sort(rng.permutation(150)[:10])
        codes = y[labeled]
        mixture = Mixture(train_candidates(bank, labeled, codes, 2, families=SUPERVISED), codes, 2)
        told += np.sum(mixture.held_out_proba().argmax(axis=1) != codes)
        monkeypatch.setattr(mixture, "_moves", np.zeros_like(mixture._moves))
        moved_once += np.sum(mixture.held_out_proba().argmax(axis=1) != codes)
        for i in range(10):
            kept = np.arange(10) != i
            trained = train_candidates(bank, labeled[kept], codes[kept], 2, families=SUPERVISED)
            predicted = Mixture(trained, codes[kept], 2).log_probabilities.argmax(axis=1)
            refitted += predicted[labeled[i]] != codes[i]
    assert abs(told - refitted) <= 5 < moved_once - refitted
