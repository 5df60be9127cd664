"""Cones over blocks: sums and weights against the matrix A written out, best spectra against a search."""

import numpy as np
import pytest
from scipy.optimize import minimize

from specmargin.objectives import BlockCone, FixedSpectrum, MonotoneCone, SpectrumCone

FAMILIES = {
    "free": SpectrumCone(3, order=False),
    "monotone": MonotoneCone(3),
    "spectrum": SpectrumCone(3),
    "fixed": FixedSpectrum(np.array([0.5, 0.3, 0.2])),
}
families = pytest.mark.parametrize("family", FAMILIES)
SIZES = [2, 1, 3]
GATHER = np.repeat(np.eye(3), SIZES, axis=1)


@families
def test_sums_and_weights_are_those_of_a_matrix(family, rng):
    blocks = FAMILIES[family]
    cone, A = BlockCone(blocks, SIZES), blocks.matrix() @ GATHER
    p, kappa = rng.random((6, 2)), rng.random((cone.m, 4))
    np.testing.assert_allclose(cone.matrix(), A)
    np.testing.assert_allclose(cone.sums(p), A @ p)
    np.testing.assert_allclose(cone.weights(kappa), A.T @ kappa)
    kernels = rng.random((3, 4, 5))
    np.testing.assert_allclose(cone.of_rays(kernels), np.tensordot(blocks.matrix(), kernels, 1))
    np.testing.assert_array_equal(cone.c, blocks.matrix().sum(axis=1))
    assert (cone.q, cone.m) == (6, blocks.m)


@families
def test_differences_undo_weights_and_the_admissible_spectrum_has_trace_one(family, rng):
    cone = BlockCone(FAMILIES[family], SIZES)
    kappa = rng.random(cone.m)
    np.testing.assert_allclose(cone.drops(cone.weights(kappa)), kappa, atol=1e-14)
    exact = cone.admissible(cone.weights(kappa))
    assert exact.dtype == np.longdouble
    assert float(exact[cone.starts].sum()) == pytest.approx(1.0, abs=1e-15)


@families
def test_chain_determines_the_sums(family, rng):
    cone = BlockCone(FAMILIES[family], SIZES)
    first, second = (matrix.toarray() for matrix in cone.chain())
    p = rng.random(6)
    np.testing.assert_allclose(first @ cone.sums(p), second @ p, atol=1e-13)
    assert np.linalg.matrix_rank(first) == cone.m


@pytest.mark.parametrize("family", ["free", "monotone", "spectrum"])
@pytest.mark.parametrize("seed", range(4))
def test_best_weights_are_those_of_a_search(family, seed):
    """Over kappa by projected quasi-Newton steps, which know nothing of isotonic regression."""
    v = np.random.default_rng(seed).normal(size=6)
    cone = BlockCone(FAMILIES[family], SIZES)
    best = cone.best_for(v)

    def value(delta):
        return float((v**2 / np.maximum(delta, 1e-300)).sum())

    def of_logarithms(x):
        kappa = np.exp(x)
        return value(cone.weights(kappa / (cone.c @ kappa)))

    found = min(minimize(of_logarithms, start, method="BFGS").fun for start in (np.zeros(cone.m), -np.arange(cone.m)))
    assert best[cone.starts].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(cone.weights(cone.drops(best)), best, atol=1e-12)
    assert value(best) == pytest.approx(found, rel=1e-5)
    assert value(best) <= found * (1 + 1e-9)


def test_weights_of_nothing_are_even():
    np.testing.assert_allclose(BlockCone(SpectrumCone(3, order=False), SIZES).best_for(np.zeros(6)), 1 / 3)
