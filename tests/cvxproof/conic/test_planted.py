"""Programs whose end is known in rational numbers: no status claims what is false, whatever the scale."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from full_size import shortened
from planted_programs import BLOCKS, ENDS, every, false_claim, planted

import cvxproof


def outcomes(programs):
    """Return the false claims, and how often each status is given by end and scale."""
    false, counts = [], Counter()
    for kind, end, seed, powers in programs:
        known = planted(kind, end, seed, powers)
        result = cvxproof.solve(known.problem)
        if told := false_claim(known, result):
            false.append((kind, end, seed, powers, told, result.message))
        counts[end, powers, result.status.name] += 1
    return false, counts


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", BLOCKS)
def test_no_status_claims_what_is_false(kind, end):
    assert outcomes([(kind, end, 0, 36)])[0] == []


@pytest.mark.slow
def test_no_status_of_thousands_claims_what_is_false():
    false, counts = outcomes(every(shortened(range(1, 3), range(1, 17))))
    share = {}
    for end in ("optimal", "free", "zero", "infeasible", "unbounded"):
        status = end.upper() if end in ("infeasible", "unbounded") else "OPTIMAL"
        for powers in (0, 20, 36):
            whole = sum(count for (own, scale, _), count in counts.items() if (own, scale) == (end, powers))
            share[end, powers] = counts[end, powers, status] / whole
            sys.stdout.write(f"{end}, scales to 2^{powers}: {share[end, powers]:.0%} of {whole} are {status}\n")
    assert not false
    assert min(share["optimal", 0], share["free", 0], share["infeasible", 0]) > 0.9
    assert share["zero", 0] > 0.8
    assert share["optimal", 20] + share["free", 20] + share["zero", 20] >= 3 * 0.85


def test_the_oracle_knows_false_claims():
    """Each rule of the oracle, by a result that breaks it."""
    known = planted("lp", "optimal", 0)
    result = cvxproof.solve(known.problem)
    assert false_claim(known, result) == ""
    optimum = float(known.optimum)
    worse = result.certificate.__class__(optimum * (1 + 1e-4), optimum, sense=result.certificate.sense)
    assert "but the value is" in false_claim(known, replace(result, certificate=worse))
    sign = 1 if result.certificate.sense == "minimize" else -1
    beyond = replace(result.certificate, dual_objective=optimum + sign * 1e-6 * known.terms)
    assert "is beyond" in false_claim(known, replace(result, certificate=beyond))
    supposing = replace(result.certificate, assumptions=("|x| <= 1",))
    assert "supposes" in false_claim(known, replace(result, certificate=supposing))
    assert "but it is optimal" in false_claim(known, replace(result, status=cvxproof.Status.INFEASIBLE))
    assert "but it is unbounded" in false_claim(planted("lp", "unbounded", 0), result)


def ill_posed():
    """Yield programs whose sets are as near as one likes without a common point, or that no multipliers bound."""
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    X, Z = cp.Variable((2, 2), PSD=True, name="X"), cp.Variable((3, 3), PSD=True, name="Z")
    yield cp.Problem(cp.Minimize(X[1, 1]), [X[0, 0] == 0, X[0, 1] == 1])
    yield cp.Problem(cp.Minimize(y), [cp.SOC(x + y, cp.hstack([x - y, 2.0])), x <= 0])
    yield cp.Problem(cp.Minimize(x), [cp.exp(x) <= 0])
    yield cp.Problem(cp.Minimize(x), [cp.inv_pos(x) <= 0])
    yield cp.Problem(cp.Minimize(x), [cp.bmat([[x, 1], [1, 0]]) >> 0])
    yield cp.Problem(cp.Minimize(Z[1, 1]), [Z[0, 0] == 0, Z[1, 1] + 2 * Z[0, 2] == 1])  # 1, and 0 of its dual


def test_ill_posed_programs_are_called_neither_optimal_nor_infeasible():
    for problem in ill_posed():
        result = cvxproof.solve(problem)
        assert result.status.name not in ("OPTIMAL", "OPTIMAL_INACCURATE", "INFEASIBLE", "UNBOUNDED")
        assert "points come within" in result.message


@pytest.mark.parametrize("seed", range(2))
def test_a_ray_is_found_where_the_solver_breaks_down(seed):
    """Of one of these Clarabel says NumericalError; all cones relaxed at once is a program that it solves."""
    rng, order = np.random.default_rng(seed), 30
    draws = [rng.standard_normal((order, order)).round(1) for _ in range(10)]
    A, y, b = [one + one.T for one in draws], rng.standard_normal(10), rng.standard_normal(10)
    S = sum(one * part for one, part in zip(y, A, strict=True))
    S += (1 - np.linalg.eigvalsh(S)[0]) * np.eye(order)  # y'A is positive definite, and y'b = -1
    A[0] = (S - sum(one * part for one, part in zip(y[1:], A[1:], strict=True))) / y[0]
    b[0] = (-1 - y[1:] @ b[1:]) / y[0]
    X = cp.Variable((order, order), PSD=True, name="X")
    held = [cp.trace(part @ X) == one for part, one in zip(A, b.tolist(), strict=True)]
    result = cvxproof.solve(cp.Problem(cp.Minimize(cp.trace(X)), held))
    assert result.status is cvxproof.Status.INFEASIBLE
    assert "X is PSD" in result.contradiction.names
