"""No solver's proof contradicts that of another: losses of products of both signs."""

import cvxpy as cp
import numpy as np
import pytest
from full_size import shortened

import specmargin as sm
from specmargin.results import Status

SOLVERS = ("CLARABEL", "ECOS", "SCS", "OSQP", "HIGHS", "PIQP", "QOCO", "DAQP", "PROXQP")
"""Those that are not installed are left out."""
OPTIONS = {"HIGHS": {"time_limit": 10.0}}
TERMS = (
    lambda t, y: cp.sum(cp.pos(1 - cp.multiply(y, t))),
    lambda t, y: cp.sum(cp.maximum(0.3 * (t - y), -0.7 * (t - y))),
    lambda t, y: cp.sum(cp.abs(2 * (t - y))),
    lambda t, y: cp.max(3 * t - y) + cp.max(y - t),
    lambda t, y: cp.sum(cp.maximum(t, 1 - 2 * t, y)),
    lambda t, y: cp.norm1(-0.5 * t + y) + cp.norm_inf(2 * t),
    lambda t, y: cp.sum(cp.huber(t - y, 0.5)),
    lambda t, y: cp.sum_squares(cp.pos(1 - cp.multiply(y, t))),
    lambda t, y: cp.norm(t - y),
    lambda t, y: cp.sum_largest(cp.abs(t - y), 3),
)


def random_program(seed):
    """Return a program with an optimum, or one without a feasible point."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(6, 25)), int(rng.integers(2, 6))
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    x, b = cp.Variable(n), cp.Variable()
    t = (rng.standard_normal((m, n)) + 0.5 * y[:, None]) @ x + b
    chosen = rng.choice(len(TERMS), size=rng.integers(1, 4), replace=False)
    loss = sum(float(rng.uniform(0.1, 2)) * TERMS[k](t, y) for k in chosen)
    if rng.random() < 0.6:
        loss += float(10 ** rng.uniform(-2, 1)) * cp.sum_squares(x)
    held = [cp.abs(x) <= float(rng.uniform(0.5, 5)), cp.abs(b) <= 10]
    if rng.random() < 0.3:
        held.append(cp.sum(x) == float(rng.uniform(-1, 1)))
    if rng.random() < 0.3:
        held.append(cp.abs(2 * t - y) <= float(rng.uniform(0.2, 8)))
    if rng.random() < 0.3:
        held.append(cp.norm1(3 * t[:4]) <= float(rng.uniform(1, 9)))
    return cp.Problem(cp.Minimize(loss) if rng.random() < 0.7 else cp.Maximize(-loss), held)


def contradictions(results):
    """Return the pairs of proofs that cannot both be right."""
    found = []
    proved = {name: one for name, one in results.items() if one.status in (Status.OPTIMAL, Status.INFEASIBLE)}
    for name, one in proved.items():
        for other, two in proved.items():
            if one.status is not two.status:
                found.append((name, other, one.status.name, two.status.name))
            elif one.status is Status.OPTIMAL:
                side = 1 if one.certificate.sense == "minimize" else -1
                size = 1 + abs(two.certificate.primal_objective)
                above = side * (one.certificate.dual_objective - two.certificate.primal_objective)
                found += [(name, other, above)] if above > 2e-6 * size else []
    return found


@pytest.mark.parametrize("seed", range(shortened(12, 500)))
def test_no_proof_contradicts_that_of_another_solver(seed):
    results = {}
    for name in filter(cp.installed_solvers().__contains__, SOLVERS):
        results[name] = sm.solve(random_program(seed), name, **OPTIONS.get(name, {}))
    assert contradictions(results) == []
    assert any(one.status in (Status.OPTIMAL, Status.INFEASIBLE) for one in results.values())
