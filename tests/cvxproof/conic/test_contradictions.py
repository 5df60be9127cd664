"""Constraints that contradict each other, of any number, by name; attributes are among them."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from cvxproof import Status, solve
from cvxproof.conic import contradictions
from cvxproof.conic.contradictions import contradiction, parts_by_name


def planted(seed):
    """Return a problem of up to 480 constraints, and the labels of few that contradict each other."""
    rng = np.random.default_rng(seed)
    n, m, k, kind = int(rng.integers(4, 15)), int(rng.integers(20, 480)), int(rng.integers(2, 5)), seed % 4
    x = cp.Variable(n, name="x", nonneg=kind == 1, bounds=[-20, 20] if kind == 2 else None)
    x0, held = rng.random(n), []
    for i in range(m):
        if i % 5 < 4:
            a = rng.standard_normal(n)
            held.append((a @ x <= float(a @ x0) + 1 + rng.random()).set_label(f"c{i}"))
        else:
            held.append((cp.norm(x - rng.standard_normal(n)) <= float(10 + rng.random())).set_label(f"c{i}"))
    if kind == 1:
        names = {"x is nonneg", "negative"}
        held.append((cp.sum(x) <= -0.5).set_label("negative"))
    elif kind == 3:
        X, names = cp.Variable((3, 3), name="X", PSD=True), {"X is PSD", "off", "trace"}
        held += [(X[0, 1] >= 2).set_label("off"), (cp.trace(X) <= 3).set_label("trace"), X[2, 2] + x[0] <= 9]
    else:
        w = rng.integers(-3, 4, (k, n)).astype(float)
        b = np.round(w @ x0)
        held += [(w[i] @ x <= b[i]).set_label(f"p{i}") for i in range(k)]
        held.append((-(w.sum(axis=0)) @ x <= -b.sum() - 0.25).set_label("last"))
        names = {*(f"p{i}" for i in range(k)), "last"}
    rng.shuffle(held)
    return cp.Problem(cp.Minimize(cp.sum_squares(x)), held), names


def is_feasible(constraints):
    """Return what Clarabel says of constraints, asked by CVXPY alone."""
    problem = cp.Problem(cp.Minimize(0), constraints)
    problem.solve(solver="CLARABEL")
    return problem.status == "optimal"


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, 40))])
def test_a_few_of_many_constraints_are_named(seed):
    problem, names = planted(seed)
    found, parts = contradiction(problem), parts_by_name(problem)
    assert len(found.names) <= 2 * len(names)
    assert found.unsettled == ()
    assert str(found).endswith("none of it could be left out")
    assert not is_feasible([one for name in found.names for one in parts[name]])
    for left_out in found.names:
        assert is_feasible([one for name in found.names if name != left_out for one in parts[name]])
    assert repr(found.names[0]) in solve(problem).message


def test_rows_are_told_from_each_other_by_an_independent_solver(rng):
    A = rng.integers(-3, 4, (40, 6)).astype(float)
    b = A @ np.ones(6) + 1
    A[-1], b[-1] = -A[:3].sum(axis=0), -b[:3].sum() - 1
    x = cp.Variable(6)
    found = contradiction(cp.Problem(cp.Minimize(0), [(row @ x <= one) for row, one in zip(A, b, strict=True)]))
    at = [int(name.removeprefix("constraint_")) for name in found.names]
    ask = {"c": np.zeros(6), "bounds": (None, None), "method": "highs"}
    assert linprog(A_ub=A[at], b_ub=b[at], **ask).status == 2
    for k in at:
        rest = [i for i in at if i != k]
        assert linprog(A_ub=A[rest], b_ub=b[rest], **ask).status == 0


def test_shapes_of_variables_contradict_by_name():
    X, Z = cp.Variable((2, 2), symmetric=True, name="X"), cp.Variable((2, 2), hermitian=True, name="Z")
    found = contradiction(
        cp.Problem(cp.Minimize(0), [(X[0, 1] == 1).set_label("up"), (X[1, 0] == 2).set_label("down")])
    )
    assert set(found.names) == {"X is symmetric", "up", "down"}
    assert found.unsettled == ()
    found = contradiction(cp.Problem(cp.Minimize(0), [(cp.imag(Z[0, 0]) == 1).set_label("imaginary"), cp.real(Z) <= 1]))
    assert set(found.names) == {"Z is hermitian", "imaginary"}
    x = cp.Variable(2, name="x", bounds=[0, 1])
    found = contradiction(cp.Problem(cp.Minimize(0), [(cp.sum(x) >= 3).set_label("sum")]))
    assert set(found.names) == {"x has upper bounds", "sum"}


def test_what_cannot_be_proved_is_not_claimed():
    # No point, and no ray: the distance of both sets is zero.
    X = cp.Variable((2, 2), PSD=True, name="X")
    problem = cp.Problem(cp.Minimize(0), [X[0, 0] == 0, X[0, 1] == 1])
    assert solve(problem).status is not Status.INFEASIBLE
    found = contradiction(problem)
    assert (found.names, str(found)) == ((), "which constraints contradict each other is not proved")


def test_what_is_not_proved_is_not_needed(monkeypatch):
    """Where nothing is proved of the others a constraint stays, and is named as one that is not settled."""
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x), [(x <= 1).set_label("cap"), (x >= 4).set_label("need")])
    support = contradictions._Search.support
    monkeypatch.setattr(
        contradictions._Search, "support", lambda self, names: support(self, names) if len(names) == 2 else None
    )
    told = contradiction(problem)
    assert (set(told.names), set(told.unsettled)) == ({"cap", "need"}, {"cap", "need"})
    assert "could be left out is not proved" in str(told)
