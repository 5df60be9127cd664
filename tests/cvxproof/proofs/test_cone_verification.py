"""CVXPY problems alone: solved in an order, verified, saved and read again, without an objective."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from cvxproof.conic.orders import solve
from cvxproof.exceptions import InvalidInputError, InvalidTypeError
from cvxproof.proofs.cone_verification import digest_of, verify
from cvxproof.result_files import load_result, read_provenance, save_result
from cvxproof.results import Status


@pytest.fixture
def problem():
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize(cp.norm1(x - np.arange(3))), [cp.sum(x) == 1])


def test_an_answer_is_verified_from_its_file(problem, tmp_path):
    result = solve(problem, ("SCS", "CLARABEL"))
    assert result.certificate.primal_objective == pytest.approx(2.0, abs=1e-6)
    verified = verify(problem, result)
    assert verified
    save_result(tmp_path / "it.npz", problem, result, note="mine")
    log, again = load_result(tmp_path / "it.npz")
    assert again.log is log
    assert again.certificate == result.certificate
    assert verify(log, again).digest == verified.digest == digest_of(result.log, result)
    assert read_provenance(tmp_path / "it.npz")["note"] == "mine"


def test_a_changed_claim_is_not_proved(problem):
    result = solve(problem)
    better = replace(result, certificate=replace(result.certificate, dual_objective=2.1))
    assert not verify(problem, better)
    assert digest_of(result.log, better) != digest_of(result.log, result)


def test_an_infeasible_problem_is_verified():
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 2, x <= 1])
    result = solve(problem)
    assert result.status is Status.INFEASIBLE
    assert verify(problem, result)


def test_results_of_others_are_refused(problem, tmp_path):
    result, x = solve(problem), cp.Variable(3, name="x")
    other = cp.Problem(cp.Minimize(cp.norm1(x)), [cp.sum(x) == 2])
    with pytest.raises(InvalidInputError, match="another problem"):
        verify(other, result)
    with pytest.raises(InvalidInputError, match="another problem"):
        save_result(tmp_path / "it.npz", other, result)
    with pytest.raises(InvalidTypeError, match="holds no proof"):
        verify(problem, replace(result, log=None))
    with pytest.raises(InvalidTypeError, match="is no path"):
        save_result(problem, problem, result)
