"""Why a problem has no optimum, and the least relaxation against elastic programs written by hand."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from cvxproof import explain


def elastic(A, b, scales):
    """Return the least sum of slacks over scales with A x <= b + slack, x >= -slack."""
    m, n = A.shape
    rows = np.block([[A, -np.eye(m), np.zeros((m, 1))], [-np.eye(n), np.zeros((n, m)), -np.ones((n, 1))]])
    bounds = [(None, None)] * n + [(0, None)] * (m + 1)
    return linprog(np.r_[np.zeros(n), 1 / scales], rows, np.r_[b, np.zeros(n)], bounds=bounds, method="highs").fun


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 100))])
def test_the_least_relaxation_is_that_of_an_elastic_program_written_by_hand(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(4, 12))
    A, b = rng.integers(-4, 5, (m, n)).astype(float), rng.integers(1, 9, m).astype(float)
    A[-1], b[-1] = -A[:2].sum(axis=0), -b[:2].sum() - 1 - rng.integers(0, 9)
    x = cp.Variable(n, nonneg=True, name="x")
    held = [(row @ x <= one).set_label(f"c{k}") for k, (row, one) in enumerate(zip(A, b, strict=True))]
    why = explain(cp.Problem(cp.Minimize(0), held))
    scales = np.array([*(why.scales[f"c{k}"] for k in range(m)), why.scales["x is nonneg"]])
    np.testing.assert_allclose(scales, [*np.abs(b), 1.0])
    least = elastic(A, b, scales)
    assert why.least == pytest.approx(least, rel=1e-5)
    assert least * (1 - 1e-5) <= why.proved <= least * (1 + 1e-9)
    assert sum(t / why.scales[name] for name, t in why.relaxation.items()) == pytest.approx(least, rel=1e-4)
    # What it says is enough: with a little more there is a point.
    most = {name: t + 1e-5 for name, t in why.relaxation.items()}
    enough = linprog(
        np.zeros(n), A, b + [most[f"c{k}"] for k in range(m)], bounds=(-most["x is nonneg"], None), method="highs"
    )
    assert enough.status == 0


def test_one_constraint_is_relaxed_by_what_is_proved():
    x = cp.Variable(2, name="x")
    held = [(cp.norm(x) <= 1).set_label("cap"), (x[0] >= 4.2).set_label("need")]
    why = explain(cp.Problem(cp.Minimize(cp.sum(x)), held), scales={"cap": 10})
    assert why.relaxation["cap"] == pytest.approx(3.2, rel=1e-5)
    assert why.relaxation["need"] == 0.0
    text = str(why)
    assert (
        "what contradicts each other is 'cap', 'need': none of it could be left out; relax cap by at least 3.2" in text
    )
    assert 3.1999 < float(text.rpartition("proved ")[2].rstrip(")")) <= 3.2


def test_cones_are_relaxed_into_their_inside():
    x, X = cp.Variable(3, name="x"), cp.Variable((2, 2), PSD=True, name="X")
    cones = {
        "matrix": [X[0, 0] <= 0.5, X[1, 1] <= 0.5, X[0, 1] == 1],
        "exponential": [cp.ExpCone(x[0], x[1], x[2]), x[0] >= 2, x[1] == 1, x[2] <= 3],
        "power": [cp.PowCone3D(x[0], x[1], x[2], 0.5), x[0] <= 1, x[1] <= 1, x[2] >= 2],
        "second order": [cp.SOC(x[0], x[1:]), x[0] <= 1, x[1] >= 2],
    }
    for name, held in cones.items():
        why = explain(cp.Problem(cp.Minimize(0), held))
        assert why.contradiction is not None, name
        assert 0 < why.proved <= why.least * (1 + 1e-6), name


def test_what_is_unbounded_names_the_variables():
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    why = explain(cp.Problem(cp.Minimize(x), [x + y == 1, cp.square(cp.Variable(name="w")) <= 1]))
    assert why.directions.keys() == {"x", "y"}
    assert "bound what grows" in str(why)


def test_a_problem_with_an_optimum_is_not_explained():
    x = cp.Variable(name="x")
    why = explain(cp.Problem(cp.Minimize(x), [x >= 1]))
    assert why.contradiction is None
    assert str(why).startswith("optimal")
    with pytest.raises(ValueError, match="must be positive numbers of constraints among"):
        explain(cp.Problem(cp.Minimize(x), [x >= 1, x <= 0]), scales={"cap": 1.0})
