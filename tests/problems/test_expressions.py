"""The bridge from numpy losses to CVXPY closes: same values, right curvature, clear refusals."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from specmargin.losses import LOSSES
from specmargin.problems import as_cvxpy, conjugate_as_cvxpy, squares
from specmargin.problems.expressions import decisions_from_duals, expansion_of

losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
margins = arrays(float, st.integers(1, 6), elements=st.floats(-1e3, 1e3))


@losses
@given(t=margins)
def test_values_agree(loss, t):
    np.testing.assert_allclose(as_cvxpy(loss, cp.Constant(t)).value, loss.value(t), rtol=1e-12, atol=1e-12)


@losses
@given(t=margins)
def test_conjugates_agree_inside_the_bounds(loss, t):
    beta = np.clip(t, max(loss.lower, -1e3), min(loss.upper, 1e3))
    found = conjugate_as_cvxpy(loss, cp.Constant(beta)).value
    np.testing.assert_allclose(found, loss.dual_value(beta), rtol=1e-12, atol=1e-9)


@losses
def test_curvature_as_cvxpy_sees_it(loss):
    t = cp.Variable(3)
    for affine in (t, np.ones((3, 3)) @ t - 1):
        value, conjugate = as_cvxpy(loss, affine), conjugate_as_cvxpy(loss, affine)
        assert value.shape == conjugate.shape == (3,)
        assert value.is_convex()
        assert not value.is_concave()
        assert conjugate.is_concave()
        assert conjugate.is_affine() == (loss.name == "hinge")


@losses
def test_least_of_loss_plus_line_is_the_conjugate(loss):
    beta = np.array([0.0, 0.3, 1.0])
    t = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum(as_cvxpy(loss, t)) + beta @ t))
    problem.solve(solver="CLARABEL")
    assert problem.value == pytest.approx(loss.dual_value(beta).sum(), abs=1e-6)


@dataclass(frozen=True)
class Sigmoid:
    """Not convex, and therefore not registered."""

    name = "sigmoid"


def test_unregistered_losses_are_refused_by_name():
    with pytest.raises(TypeError, match=r"Sigmoid.* has no convex CVXPY expression.*Hinge"):
        as_cvxpy(Sigmoid(), cp.Variable(2))
    with pytest.raises(TypeError, match=r"Sigmoid.* has no dual in CVXPY; take .*Hinge, HuberHinge"):
        conjugate_as_cvxpy(Sigmoid(), cp.Variable(2))
    with pytest.raises(TypeError, match="loss='hinge'"):
        as_cvxpy("hinge", cp.Variable(2))


def test_decisions_from_the_multipliers_of_the_box(rng):
    """They are the decisions of the primal, on a margin problem solved here both ways."""
    X, y = rng.normal(size=(12, 2)), np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
    w, b, xi = cp.Variable(2), cp.Variable(), cp.Variable(12, nonneg=True)
    primal = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 2 * cp.sum(xi)), [cp.multiply(y, X @ w + b) >= 1 - xi])
    primal.solve(solver="CLARABEL")
    alpha = cp.Variable(12)
    box, nonnegative = alpha <= 2, alpha >= 0
    value = cp.sum(alpha) - 0.5 * cp.sum_squares(X.T @ cp.multiply(y, alpha))
    cp.Problem(cp.Maximize(value), [y @ alpha == 0, box, nonnegative]).solve(solver="CLARABEL")
    f = decisions_from_duals(y, box.dual_value, nonnegative.dual_value)
    np.testing.assert_allclose(f, X @ w.value + b.value, atol=1e-6)


def test_expansion_is_the_nearest_that_reproduces_the_decisions(rng):
    R = rng.normal(size=(6, 3))
    K, start = R @ R.T, rng.normal(size=6)
    f = K @ rng.normal(size=6)
    found = expansion_of(K, f, start)
    np.testing.assert_allclose(K @ found, f, atol=1e-10)
    null = np.linalg.svd(K)[0][:, 3:]
    np.testing.assert_allclose(null.T @ (found - start), 0, atol=1e-10)


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_squares_are_the_quadratic_form_for_any_rank(rank, rng):
    factor, x = rng.standard_normal((6, rank)), cp.Variable(6)
    M = factor @ factor.T
    for given_as in (M, sp.csr_array(M), M.tolist()):
        written = squares(given_as, x)
        x.value = rng.standard_normal(6)
        assert written.is_convex()
        assert float(written.value) == pytest.approx(x.value @ M @ x.value, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("x", [cp.Variable(3), cp.square(cp.Variable(6))])
def test_squares_refuse_what_is_no_vector_of_that_length_or_not_affine(x):
    with pytest.raises(ValueError, match="x must be affine, with as many entries"):
        squares(np.eye(6), x)
