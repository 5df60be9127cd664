"""The cone of spectra against its definition and against CVXPY."""

import cvxpy as cp
import numpy as np
import pytest

from specmargin.objectives import FixedSpectrum, ProductCone, SpectrumCone

CONES = {
    "ordered": SpectrumCone(6),
    "unordered": SpectrumCone(6, order=False),
    "ties": SpectrumCone(7, ends=np.array([2, 3, 6])),
    "one tie": SpectrumCone(5, ends=np.array([4])),
    "q=2": SpectrumCone(2),
    "q=1": SpectrumCone(1),
}
OTHERS = {
    "fixed": FixedSpectrum(np.array([0.5, 0.0, 2.0, 1.0])),
    "product": ProductCone((SpectrumCone(4), SpectrumCone(5, ends=np.array([2, 4])))),
    "product of unlike": ProductCone((SpectrumCone(3, order=False), FixedSpectrum(np.array([1.0, 3.0])))),
}
every = pytest.mark.parametrize("cone", [*CONES.values(), *OTHERS.values()], ids=[*CONES, *OTHERS])
cones = pytest.mark.parametrize("cone", CONES.values(), ids=CONES)


def in_cone(cone, delta, atol=0.0):
    """The definition: nonnegative, nonincreasing from the second on, equal inside a block."""
    inside = (delta >= -atol).all()
    if cone.order:
        inside &= (np.diff(delta[1:]) <= atol).all()
        blocks = np.split(delta[1:], cone.block_ends[:-1]) if cone.q > 1 else []
        inside &= all(np.ptp(block) <= atol for block in blocks)
    return bool(inside)


def test_rows_of_A_are_the_extreme_spectra():
    assert SpectrumCone(4).matrix().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]]
    assert SpectrumCone(5, ends=np.array([2, 4])).matrix().tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 1, 1, 1, 1],
    ]
    assert SpectrumCone(3, order=False).matrix().tolist() == np.eye(3).tolist()


@every
def test_sums_and_weights_are_adjoint(cone, rng):
    A = cone.matrix()
    p, kappa = rng.normal(size=cone.q), rng.normal(size=cone.m)
    np.testing.assert_allclose(cone.sums(p), A @ p, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(cone.weights(kappa), A.T @ kappa, rtol=1e-14, atol=1e-14)
    assert cone.sums(p) @ kappa == pytest.approx(p @ cone.weights(kappa), rel=1e-13)
    np.testing.assert_allclose(cone.c, A.sum(axis=1), rtol=0 if cone in CONES.values() else 1e-14)
    assert A.shape == (cone.m, cone.q)


@every
def test_sums_and_weights_take_columns(cone, rng):
    P, kappas = rng.normal(size=(cone.q, 3)), rng.normal(size=(cone.m, 3))
    atol = 0.0 if cone in CONES.values() else 1e-14
    for j in range(3):
        np.testing.assert_allclose(cone.sums(P)[:, j], cone.sums(P[:, j]), rtol=0, atol=atol)
        np.testing.assert_allclose(cone.weights(kappas)[:, j], cone.weights(kappas[:, j]), rtol=0, atol=atol)


@every
def test_drops_undo_weights_on_the_cone(cone, rng):
    kappa = rng.exponential(size=cone.m)
    delta = cone.weights(kappa)
    assert cone in OTHERS.values() or in_cone(cone, delta)
    assert delta.sum() == pytest.approx(cone.c @ kappa)
    np.testing.assert_allclose(cone.drops(delta), kappa, rtol=1e-12)


@cones
def test_drops_of_any_spectrum_are_admissible(cone, rng):
    for _ in range(20):
        kappa = cone.drops(rng.normal(size=cone.q))
        assert (kappa >= 0).all()
        assert in_cone(cone, cone.weights(kappa), atol=1e-15)


def cost(v, delta):
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(v == 0, 0.0, v**2 / delta).sum())


@cones
@pytest.mark.parametrize("seed", range(3))
def test_best_for_is_the_optimum_that_cvxpy_finds(cone, seed):
    v = np.random.default_rng(seed).normal(size=cone.q)
    delta = cone.best_for(v)
    assert in_cone(cone, delta, atol=1e-15)
    assert delta.sum() == pytest.approx(1.0)
    # The order is spelled out entry by entry, not through A.
    x = cp.Variable(cone.q)
    constraints = [cp.sum(x) == 1, x >= 0]
    if cone.order:
        constraints += [x[j] >= x[j + 1] for j in range(1, cone.q - 1)]
        inside = set(range(1, cone.q)) - set(cone.block_ends)
        constraints += [x[j] == x[j + 1] for j in inside]
    problem = cp.Problem(cp.Minimize(sum(cp.quad_over_lin(v[j], x[j]) for j in range(cone.q))), constraints)
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    assert cost(v, delta) == pytest.approx(problem.value, rel=1e-8)
    np.testing.assert_allclose(delta, x.value, atol=1e-4)


def test_best_for_nothing_is_any_admissible_spectrum():
    for cone in CONES.values():
        delta = cone.best_for(np.zeros(cone.q))
        assert in_cone(cone, delta)
        assert delta.sum() == pytest.approx(1.0)


@every
def test_chain_determines_the_sums(cone, rng):
    first, second = (matrix.toarray() for matrix in cone.chain())
    p = rng.normal(size=cone.q)
    np.testing.assert_allclose(np.linalg.solve(first, second @ p), cone.sums(p), atol=1e-13)


def test_a_fixed_spectrum_is_scaled_to_sum_one():
    cone = FixedSpectrum(np.array([0.0, 3.0, 1.0]))
    np.testing.assert_array_equal(cone.best_for(np.array([5.0, 1.0, 1.0])), [0.0, 0.75, 0.25])


@pytest.mark.parametrize("seed", range(4))
def test_shares_of_a_product_are_the_best(seed):
    """Against CVXPY, with both orders spelled out and one trace for both parts."""
    cone = ProductCone((SpectrumCone(4), SpectrumCone(3)))
    v = np.random.default_rng(seed).normal(size=7)
    x = cp.Variable(7)
    order = [x[1] >= x[2], x[2] >= x[3], x[5] >= x[6], cp.sum(x) == 1, x >= 0]
    problem = cp.Problem(cp.Minimize(sum(cp.quad_over_lin(v[j], x[j]) for j in range(7))), order)
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    assert cost(v, cone.best_for(v)) == pytest.approx(problem.value, rel=1e-8)


def test_small_coefficients_keep_their_weights():
    """A weight lost to rounding would make v_j^2 / delta_j infinite."""
    v = np.array([0.0, 1.0, 1e-9, 5e-10])
    delta = SpectrumCone(4).best_for(v)
    np.testing.assert_allclose(delta * np.abs(v).sum(), np.abs(v), rtol=1e-12)
