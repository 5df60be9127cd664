"""The regressor over learned filters: its predictions written out, several outputs, and bad input."""

import numpy as np
import pytest

import specmargin as sm
from specmargin.estimators.spectral_filter_regressor import SpectralFilterRegressor
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import normalized_adjacency
from specmargin.spectra import filter_bank


def ring(n=120, d=6, seed=0):
    """A ring, numbers that change slowly along it, and noisy features of them."""
    rng = np.random.default_rng(seed)
    i = np.arange(n)
    W = np.zeros((n, n))
    W[i, (i + 1) % n] = W[(i + 1) % n, i] = W[i, (i + 2) % n] = W[(i + 2) % n, i] = 1.0
    z = np.column_stack([np.sin(2 * np.pi * i / n), np.cos(4 * np.pi * i / n)])
    X = z @ rng.normal(size=(2, d)) + 1.5 * rng.normal(size=(n, d))
    y = np.where((rng.random(n) < 0.4)[:, None], z, np.nan)
    return W, X, z, y


@pytest.mark.parametrize("learn", ["alignment", "single", "mean"])
def test_predictions_are_those_of_the_kernel_that_was_learned(learn):
    W, X, _, y = ring()
    model = SpectralFilterRegressor(learn=learn).fit(X, y, graph=W)
    labeled = np.flatnonzero(np.isfinite(y[:, 0]))
    bank = filter_bank(normalized_adjacency(W), X, normalization="centered")
    K = sum(d * F @ F[labeled].T for d, F in zip(model.filter_weights_, bank.blocks, strict=True))
    l = len(labeled)
    system = np.block([[K[labeled] + model.penalty_ * np.eye(l), np.ones((l, 1))], [np.ones((1, l)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([y[labeled], np.zeros(2)]))
    np.testing.assert_allclose(model.transduction_, K @ solved[:-1] + solved[-1], atol=1e-8)
    assert (model.result_ is None) == (learn != "alignment")
    assert model.leave_one_out_.shape == (l, 2)


def test_left_out_predictions_are_those_of_refits():
    W, X, _, y = ring()
    y = y[:, 0]
    model = SpectralFilterRegressor(penalty=0.2).fit(X, y, graph=W)
    labeled = np.flatnonzero(np.isfinite(y))
    bank = filter_bank(normalized_adjacency(W), X, normalization="centered")
    K = sum(d * F @ F.T for d, F in zip(model.filter_weights_, bank.blocks, strict=True))
    for k in (0, 5):
        kept = np.delete(labeled, k)
        l = len(kept)
        system = np.block(
            [[K[np.ix_(kept, kept)] + 0.2 * np.eye(l), np.ones((l, 1))], [np.ones((1, l)), np.zeros((1, 1))]]
        )
        solved = np.linalg.solve(system, np.append(y[kept], 0.0))
        assert abs(K[labeled[k], kept] @ solved[:-1] + solved[-1] - model.leave_one_out_[k]) < 1e-8


def test_outputs_apart_are_those_of_one_fit_each():
    W, X, _, y = ring()
    both = SpectralFilterRegressor(joint=False).fit(X, y, graph=W)
    assert both.filter_weights_.shape == (2, 7)
    for k in range(2):
        one = SpectralFilterRegressor().fit(X, y[:, k], graph=W)
        np.testing.assert_allclose(both.transduction_[:, k], one.transduction_, atol=1e-10)
        np.testing.assert_allclose(both.filter_weights_[k], one.filter_weights_, atol=1e-10)


def test_weights_of_samples_are_repetitions_of_the_losses():
    W, X, _, y = ring()
    weights = np.ones(len(y))
    weights[np.flatnonzero(np.isfinite(y[:, 0]))[:3]] = 0.0
    dropped = y.copy()
    dropped[weights == 0] = np.nan
    first = SpectralFilterRegressor(penalty=0.1).fit(X, y, graph=W, sample_weight=weights)
    second = SpectralFilterRegressor(penalty=0.1).fit(X, dropped, graph=W)
    np.testing.assert_allclose(first.transduction_, second.transduction_, atol=1e-10)


def test_a_margin_is_of_classes():
    W, X, _, y = ring()
    with pytest.raises(InvalidInputError, match="learn='margin'"):
        SpectralFilterRegressor(learn="margin").fit(X, y, graph=W)
    targets = sm.labels.encode_targets(y)
    with pytest.raises(InvalidInputError, match="margin of classes"):
        sm.solvers.spectrum.block_weights.learn_weights(
            filter_bank(normalized_adjacency(W), X, normalization="centered"), targets, "margin"
        )


def test_new_nodes_of_a_copy_of_the_graph_are_the_old_ones():
    W, X, _, y = ring()
    for targets in (y, y[:, 0]):
        for joint in (True, False):
            model = SpectralFilterRegressor(joint=joint).fit(X, targets, graph=W)
            twice = np.kron(np.eye(2), W)
            np.testing.assert_allclose(model.predict(X, graph=twice), model.transduction_, atol=1e-9)
