"""Hints on a user's own expressions: what was broadcast, and what CVXPY wrongly calls not convex."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import cvxproof
from cvxproof.conic.hints import remedy
from cvxproof.exceptions import BroadcastWarning

N = 20
Z = np.random.default_rng(0).standard_normal((N, 3))
Y = np.where(Z[:, 0] > 0, 1.0, -1.0)
K = Z @ Z.T
w, W, b, x = cp.Variable(3), cp.Variable((3, 1)), cp.Variable(), cp.Variable(N)
f = Z @ w + b
BROADCAST = {
    "hinge of a column of labels": cp.sum(cp.pos(1 - cp.multiply(Y[:, None], f))),
    "squares of a column of labels": cp.sum_squares(f - Y[:, None]),
    "maximum with a column": cp.sum(cp.maximum(f, Y[:, None])),
    "quotient by a column": cp.sum(cp.abs(f / Y[:, None])),
    "labels in a row, decisions in a column": cp.sum_squares(Z @ W - Y),
    "in a constraint": (cp.sum_squares(w), [f >= Y[:, None]]),
}
MEANT = {
    "labels of the shape of the decisions": cp.sum(cp.pos(1 - cp.multiply(Y, f))),
    "all columns": cp.sum(cp.pos(1 - cp.multiply(Y[:, None], Z @ W + b))),
    "differences of all pairs": cp.sum(cp.abs(cp.reshape(f, (N, 1), order="F") - f)),
    "a matrix and a vector": cp.sum(cp.abs(K + x)),
    "one entry": cp.sum_squares(cp.Variable(1) - np.ones((1, 1))),
}


def _problem(term):
    objective, held = term if isinstance(term, tuple) else (term, [])
    variables = objective.variables()
    return cp.Problem(cp.Minimize(objective + 0.1 * sum(map(cp.sum_squares, variables))), held)


@pytest.mark.parametrize("name", BROADCAST)
def test_columns_that_were_broadcast_are_named(name):
    with pytest.warns(BroadcastWarning, match=rf"\({N},\).*\({N}, 1\).*broadcast to \({N}, {N}\)|\({N}, 1\)"):
        cvxproof.solve(_problem(BROADCAST[name]))


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant_is_not_warned_of(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error", BroadcastWarning)
        cvxproof.solve(_problem(MEANT[name]))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gram_matrix_that_cvxpy_calls_indefinite_has_a_remedy(sign):
    form = cp.quad_form(x, sign * K)
    objective = cp.Minimize(form) if sign > 0 else cp.Maximize(form)
    assert not objective.is_dcp(), "CVXPY knows the matrix to be semidefinite: the hint is superfluous"
    with pytest.raises(ValueError, match=rf"Write {'-' if sign < 0 else ''}cp\.sum_squares\(F\.T @ x\) with"):
        cvxproof.solve(cp.Problem(objective, [cp.sum(x) == 1]))
    w, V = np.linalg.eigh(K)  # as it is told
    F = V * np.sqrt(np.maximum(w, 0))
    squares = cp.sum_squares(F.T @ x) + 1e-3 * cp.sum_squares(x)
    result = cvxproof.solve(cp.Problem(cp.Minimize(squares), [cp.sum(x) == 1]))
    inverse = np.linalg.inv(K + 1e-3 * np.eye(N))
    assert result.certificate.is_optimal(1e-6)
    assert result.certificate.primal_objective == pytest.approx(1 / inverse.sum(), rel=1e-5)


def test_an_indefinite_matrix_has_none():
    with pytest.raises(ValueError, match="not convex") as caught:
        cvxproof.solve(cp.Problem(cp.Minimize(cp.quad_form(x, np.diag(np.r_[-1.0, np.ones(N - 1)])))))
    assert "sum_squares" not in str(caught.value)


def test_a_complex_matrix_has_no_remedy():
    M = np.array([[1, 2j], [-2j, 1]])  # eigenvalues -1 and 3, its real part is the identity
    form = cp.quad_form(cp.Variable(2, complex=True), M)
    assert not form.is_dcp()
    assert remedy([form]) == ""
