"""What a file holds of a CVXPY problem, and what is refused before anything is proved."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import cvxproof
from cvxproof.exceptions import InvalidInputError, InvalidTypeError
from cvxproof.proofs.cone_records import cone_record_of, program_of


@pytest.fixture
def solved():
    x, a = cp.Variable(2, name="x"), cp.Parameter(name="a", value=1.0)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [(x >= a).set_label("least"), cp.norm(x) <= 3])
    return problem, cvxproof.solve(problem)


def test_a_problem_is_the_one_that_was_solved_or_refused(solved):
    problem, result = solved
    assert program_of(problem, result) is result.log
    assert program_of(result.log, result) is result.log
    other = cp.Problem(problem.objective, problem.constraints[:1])
    with pytest.raises(InvalidInputError, match="answers another problem"):
        cvxproof.verify(other, result)
    problem.parameters()[0].value = 2.0
    with pytest.raises(InvalidInputError, match="its parameters with the values that they had"):
        cvxproof.verify(problem, result)
    problem.parameters()[0].value = 1.0
    assert program_of(problem, result) is result.log


def test_what_holds_no_proof_is_refused(solved, tmp_path):
    problem, result = solved
    for nothing in (replace(result, log=None), {"x": np.ones(2)}):
        for call in (cvxproof.verify, lambda *it: cvxproof.save_result(tmp_path / "no.npz", *it)):
            with pytest.raises(InvalidTypeError, match="holds no proof of a cone program"):
                call(problem, nothing)
    assert not (tmp_path / "no.npz").exists()


def test_variables_are_those_of_the_answer(solved):
    _, result = solved
    record = cone_record_of(result)
    np.testing.assert_array_equal(record.arrays["x"][result.log.columns["x"]], result.variables["x"])
    assert record.numbers["names"].split("\n")[1:] == ["least", "constraint_1"]
    assert record.numbers["loose"] == ""
    with pytest.raises(InvalidInputError, match="x of the result is not that of the answer"):
        cone_record_of(replace(result, variables={"x": result.variables["x"] + 1e-4}))
    derived = cone_record_of(replace(result, variables={**result.variables, "f": np.ones(3)}))
    assert derived.numbers["loose"] == "f"


def test_assumptions_are_a_radius_or_refused(solved):
    _, result = solved
    text = "|x - x0| <= 1000 (1 + |x0|) in 2 of 3 columns"
    n = len(result.log.q)
    for assumptions, radius in (((text,), 0.0), ((), 1000.0), (("else",), 1000.0), ((text, "else"), 1000.0)):
        certificate = replace(result.certificate, assumptions=assumptions)
        with pytest.raises(InvalidInputError, match="has no verification"):
            cone_record_of(replace(result, certificate=certificate, log=replace(result.log, radius=radius)))
    certificate = replace(result.certificate, assumptions=(text.replace("of 3", f"of {n}"),))
    record = cone_record_of(replace(result, certificate=certificate, log=replace(result.log, radius=1000.0)))
    assert (record.numbers["n_open"], record.numbers["radius"]) == (2, 1000.0)


def test_a_ray_supposes_nothing():
    y = cp.Variable(name="y")
    none = cvxproof.solve(cp.Problem(cp.Minimize(y), [y >= 1, y <= 0]))
    endless = cvxproof.solve(cp.Problem(cp.Maximize(y), [y >= 1]))
    record = cone_record_of(none)
    assert (record.kind, record.claim.status, record.claim.primal) == ("cone ray", "infeasible", np.inf)
    record = cone_record_of(endless)
    assert (record.claim.sense, record.claim.primal) == ("maximize", -np.inf)

    def supposing(result, *texts, **changes):
        certificate = replace(result.certificate, assumptions=texts)
        return replace(result, certificate=certificate, log=replace(result.log, **changes))

    for wrong in (
        supposing(none, "|x| <= 1000", radius=1000.0),
        supposing(none, radius=1000.0),
        supposing(endless, "that there is a feasible point"),
        supposing(endless, radius=1000.0),
    ):
        with pytest.raises(InvalidInputError, match="then nothing is proved"):
            cone_record_of(wrong)
    for wrong in (
        replace(none, variables={"y": np.ones(1)}),
        replace(none, duals={"y": np.ones(1)}),
        replace(none, log=replace(none.log, names=("first",))),
        replace(none, log=replace(none.log, added=1.0)),
    ):
        with pytest.raises(InvalidInputError, match="is INFEASIBLE has no answer"):
            cone_record_of(wrong)
