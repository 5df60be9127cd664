"""What a problem may hold: numbers that are not finite, functions that CVXPY approximates, unknown options."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import cvxproof
from cvxproof import Status, solve
from cvxproof.exceptions import InvalidInputError, InvalidTypeError


def of_infinity():
    """Problems with infinity in a constraint, by what it is part of."""
    x, u = cp.Variable(2), np.array([np.inf, 5.0])
    parameter = cp.Parameter(2, value=u)
    return {
        "number": (x, x <= np.inf),
        "vector": (x, x <= u),
        "parameter": (x, x <= parameter),
        "from below": (x, -np.inf <= x),
        "sparse": (x, sp.csr_array(np.diag([1.0, np.inf])) @ x >= 0),
    }


@pytest.mark.parametrize("kind", of_infinity())
def test_a_bound_of_infinity_is_refused_with_what_to_write_instead(kind):
    x, bound = of_infinity()[kind]
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, bound])
    with pytest.raises(InvalidInputError, match=r"constraint_1 holds -?inf: .* leave it out, .* bounds="):
        solve(problem)


def test_bounds_that_are_declared_may_be_infinite():
    x = cp.Variable(2, bounds=[np.array([-np.inf, 1.0]), np.array([np.inf, 5.0])])
    result = solve(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0.5]))
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(1.5, rel=1e-6)


def test_an_objective_that_is_not_finite_is_refused():
    x = cp.Variable(2)
    with pytest.raises(InvalidInputError, match="the objective holds inf"):
        solve(cp.Problem(cp.Minimize(cp.sum(cp.maximum(x, np.inf))), [x >= 0]))


def test_loggamma_is_optimal_only_supposing_that_it_is_exact():
    x = cp.Variable(3)
    for problem in (
        cp.Problem(cp.Minimize(cp.sum(cp.loggamma(2.0 * x + 1.0)))),
        cp.Problem(cp.Minimize(cp.sum(x)), [cp.loggamma(x) <= 1]),
    ):
        result = solve(problem)
        assert result.status is Status.CONDITIONAL
        assert result.certificate.assumptions == (
            "that CVXPY's loggamma, the largest of ten simpler functions, is exact",
        )
    other = cp.Problem(cp.Minimize(cp.sum(cp.maximum(x, 1 - x, cp.square(x) - cp.log(x)))))
    assert solve(other).status is Status.OPTIMAL


@pytest.mark.skipif("HIGHS" not in cp.installed_solvers(), reason="HiGHS is not installed")
def test_highs_prints_nothing_of_an_option_that_is_refused(capfd):
    x = cp.Variable()
    with pytest.raises(InvalidTypeError, match="HIGHS has no option 'nonsense'"):
        solve(cp.Problem(cp.Minimize(x), [x >= 1]), "HIGHS", nonsense=3)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("tol", [-1.0, float("nan"), float("inf"), "1e-6", None])
def test_a_tolerance_that_is_none_is_refused_by_all_functions(tol, tmp_path):
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x), [x >= 1])
    problem.solve()
    for function in (cvxproof.solve, cvxproof.certify, cvxproof.explain):
        with pytest.raises(cvxproof.InvalidInputError, match="is no relative gap; pass a number"):
            function(problem, tol=tol)
    with pytest.raises(ImportError, match="solver 3 is not installed or not known"):
        cvxproof.certify(problem, solver=3)
    with pytest.raises(TypeError, match="path=3 is no path"):
        cvxproof.export(3, problem, cvxproof.solve(problem))
    wrong = cp.Problem(cp.Minimize(x), [x >= 1, x <= 0])
    with pytest.raises(cvxproof.InvalidInputError, match="must be positive numbers of constraints"):
        cvxproof.explain(wrong, scales={"constraint_0": "1"})
