"""Every way of taking the step that makes multipliers stationary, against dense least squares."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from conic_programs import random_program

from cvxproof.conic import correction
from cvxproof.conic.compiled import compiled
from cvxproof.conic.correction import Metric, corrections
from cvxproof.conic.outward import Outward

WAYS = {
    "orthogonal factors": ({}, False),
    "augmented": ({"_DENSE": 0}, True),
    "sparse": ({"_DENSE": 0}, False),
    "without a factorisation": ({"_DENSE": 0, "_LARGE": 0}, False),
}


def lasso():
    """Return a program whose P is diagonal and touches some columns."""
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((12, 6)), cp.Variable(6)
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - 1) + 0.5 * cp.norm1(x)))


def deep(form):
    """Return F'A for multipliers that are well inside of the dual cone, and P."""
    program, answer = form.program, form.solved()
    z = program.moved_inside(answer.z, 1e-2, program.slacks(answer.x))
    return Metric(Outward(program), z).times(), program.P


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("made", [lasso, lambda: random_program("lp", 0), lambda: random_program("exp", 0)])
def test_a_step_removes_the_residual_by_the_least_change(monkeypatch, way, made):
    changes, augmented = WAYS[way]
    for name, value in changes.items():
        monkeypatch.setattr(correction, name, value)
    B, P = deep(compiled(made()))
    y = np.random.default_rng(1).standard_normal(B.shape[1])
    dx, w = correction.Stationarity(B, P, augmented).step(y)
    np.testing.assert_allclose(B.T @ w + P @ dx, y, atol=1e-8)
    # The least change: (w, P^(1/2) dx) of least norm.
    root = np.sqrt(P.diagonal())
    whole = np.vstack([B.toarray(), np.diag(root)])
    least = np.linalg.lstsq(whole.T, y, rcond=None)[0]
    np.testing.assert_allclose(w, least[: B.shape[0]], atol=1e-7)
    np.testing.assert_allclose(root * dx, least[B.shape[0] :], atol=1e-7)


def test_columns_without_a_common_row_are_orthogonal():
    B = sp.csc_matrix(np.array([[1.0, 0, 1, 1], [0, 2, 0, 1], [0, 2, 0, 0], [0, 0, 1, 1]]))
    chosen = correction._orthogonal_columns(B)
    assert chosen.tolist() == [1, 0]
    rng = np.random.default_rng(0)
    B = sp.random(60, 40, 0.05, random_state=rng, format="csc")
    T = B[:, correction._orthogonal_columns(B)]
    gram = (T.T @ T).toarray()
    assert T.shape[1] > 10
    assert np.count_nonzero(gram - np.diag(np.diag(gram))) == 0


def test_steps_without_a_factorisation_converge_where_columns_are_nearly_parallel(monkeypatch):
    """x and the t of |x| <= t differ by the curvature of the losses alone, at an x that is not zero."""
    monkeypatch.setattr(correction, "_DENSE", 0)
    monkeypatch.setattr(correction, "_LARGE", 0)
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((40, 10)), cp.Variable(10)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.logistic(-cp.multiply(np.sign(A[:, 0]), A @ x))) + 0.1 * cp.norm1(x)))
    form = compiled(problem)
    answer, outward = form.solved(), Outward(form.program)
    residuals = [
        float(np.abs(outward.residual(xh, z)[0]).max())
        for xh, z in corrections(outward, answer.x, answer.z, 1)
        if form.program.proves(z)
    ]
    assert min(residuals[1:]) < 1e-6 * residuals[0]
