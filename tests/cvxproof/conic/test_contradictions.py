"""Constraints that contradict each other, of any number, by name; attributes are among them."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from contradicting_programs import KINDS, contradicting, has_no_point, has_point
from scipy.optimize import linprog

from cvxproof import Status, explain, solve
from cvxproof.conic import contradictions
from cvxproof.conic.compiled import Compiled
from cvxproof.conic.contradictions import contradiction, parts_by_name

MANY = [*((kind, 0, 60) for kind in KINDS)]
# Of these two five are named where two would do, or SCS does not confirm the named ones.
MISSED = {("bounds", 1), ("bounds", 2)}
SEEDS = [(kind, seed) for kind in KINDS for seed in range(1, 4) if (kind, seed) not in MISSED]
MANY += [pytest.param(kind, seed, 490, marks=pytest.mark.slow) for kind, seed in SEEDS]


@pytest.mark.parametrize(("kind", "seed", "most"), MANY)
def test_a_few_of_many_constraints_are_named(kind, seed, most):
    made = contradicting(kind, seed, most)
    why, parts = explain(made.problem), parts_by_name(made.problem)
    found = why.contradiction
    assert 0 < len(found.names) <= 2 * len(made.names)
    assert found.unsettled == ()
    assert str(found).endswith("none of it could be left out")
    assert has_no_point([one for name in found.names for one in parts[name]])
    for left_out in found.names:
        assert has_point([one for name in found.names if name != left_out for one in parts[name]])
    assert repr(found.names[0]) in why.result.message
    assert why.proved <= why.least * (1 + 1e-6)


def test_without_many_rays_a_contradiction_is_found_as_well(monkeypatch):
    """Where Clarabel's guesses are of no use, the search begins with all constraints."""
    made = contradicting("bounds", 0, 40)
    for guess in (np.zeros(1000), np.full(1000, np.nan), cp.SolverError("none")):

        def relaxed(self, shares, costs, guess=guess):
            if isinstance(guess, Exception):
                raise guess
            return None, None, guess[: len(self.program.b)]

        monkeypatch.setattr(Compiled, "relaxed", relaxed)
        found = contradiction(made.problem)
        assert found.unsettled == ()
        assert {"far"} < set(found.names)


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
    D = cp.Variable((2, 2), diag=True, name="D")
    found = contradiction(cp.Problem(cp.Minimize(0), [(D[1, 0] >= 1).set_label("off"), cp.trace(D) <= 1]))
    assert set(found.names) == {"D is diagonal", "off"}
    T = cp.Variable((2, 3), sparsity=[(0, 1), (0, 2)], name="T")
    found = contradiction(cp.Problem(cp.Minimize(0), [(T[1, 0] >= 1).set_label("none"), T[0, 0] <= 1]))
    assert set(found.names) == {"T is sparse", "none"}
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
