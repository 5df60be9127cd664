"""Copies of built problems: the same answers, numbers of their own, and a refusal of what cannot be copied."""

import copy
import importlib.util
import pickle
import threading
from pathlib import Path

import cvxpy as cp
import cvxpy.lin_ops.lin_utils as counted
import numpy as np
import pytest

import specmargin as sm
from specmargin.exceptions import InvalidTypeError
from specmargin.problems import models
from specmargin.results import Status

# importlib mode cannot import a module of the folder above by name.
_SPEC = importlib.util.spec_from_file_location("specmargin_programs", Path(__file__).parents[1] / "test_programs.py")
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
PROGRAMS = _MODULE.PROGRAMS


def changed():
    """Return a problem with a constraint and a term over a variable of its own, and without a constraint."""
    built, bound = sm.problems.rmm_primal(_MODULE._rmm(B=1.5)), cp.Variable(name="bound")
    price = cp.Parameter(nonneg=True, value=0.5, name="price")
    parts = {"constraints": {"most": cp.abs(built.expressions["decisions"]) <= bound}, "terms": {"own": price * bound}}
    return built.with_(**parts, without=["upper"])


def relabelled():
    built = PROGRAMS["lapsvm_primal"]()
    y = np.full(_MODULE.SIZES["n"], -1)
    y[3:9] = [0, 1, 0, 1, 1, 1]
    built.relabel(sm.encode_labels(y))
    return models.class_shares(0.4)(built)


PROGRAMS = {**PROGRAMS, "changed": changed, "relabelled": relabelled}
COPIES = {
    "pickle": lambda built: pickle.loads(pickle.dumps(built)),
    "deepcopy": copy.deepcopy,
    "copy of a copy": lambda built: copy.deepcopy(copy.deepcopy(built)),
}


def numbers(built):
    """Return CVXPY's numbers of variables, parameters and constraints."""
    problem = built.problem
    return {one.id for one in (*problem.variables(), *problem.parameters(), *problem.constraints)}


@pytest.fixture
def process_of_its_own(monkeypatch):
    """Numbers that are counted from one, as those of a process that has just begun."""
    return lambda: monkeypatch.setattr(counted, "ID_COUNTER", counted.Counter())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_worker_gives_the_same_answer(name, process_of_its_own):
    built = PROGRAMS[name]()
    before = pickle.dumps(built)
    here = sm.solve(built)
    assert here.status is Status.OPTIMAL
    after = pickle.dumps(built)
    process_of_its_own()
    for content in (before, after):
        there = sm.solve(pickle.loads(content))
        assert there.status is Status.OPTIMAL
        assert there.certificate.primal_objective == pytest.approx(here.certificate.primal_objective, rel=1e-9)
        assert there.problem == here.problem
        for ours, theirs in ((here.variables, there.variables), (here.duals, there.duals)):
            assert list(ours) == list(theirs)
            for symbol, value in ours.items():
                np.testing.assert_allclose(theirs[symbol], value, atol=1e-7)


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", ["lapsvm_dual", "storm, primal", "cccp_subproblem", "changed", "relabelled"])
def test_copies_hold_what_the_problem_held_and_share_nothing(name, way):
    built = PROGRAMS[name]()
    result = sm.solve(built)
    other = COPIES[way](built)
    assert numbers(other).isdisjoint(numbers(built))
    assert len(numbers(other)) == len(numbers(built))
    assert (other.problem.status, other.problem.value) == (built.problem.status, built.problem.value)
    assert other.changes() == built.changes()
    assert not other.is_changed_in_place()
    theirs, ours = sm.certify(other), sm.certify(built)
    assert theirs.primal_objective == pytest.approx(ours.primal_objective, rel=1e-12)
    values = {symbol: np.array(variable.value) for symbol, variable in built.variables.items()}
    for parameter in other.parameters.values():
        parameter.value = 2 * parameter.value
    sm.solve(other)
    for symbol, variable in built.variables.items():
        np.testing.assert_array_equal(variable.value, values[symbol])
    for parameter, twice in zip(built.parameters.values(), other.parameters.values(), strict=True):
        np.testing.assert_array_equal(2 * parameter.value, twice.value)
    expected = pytest.approx(result.certificate.primal_objective, rel=1e-9)
    assert sm.solve(built).certificate.primal_objective == expected


def test_a_copy_and_its_origin_may_stand_in_one_problem():
    built = PROGRAMS["rmm"]()
    sm.solve(built)
    other = copy.deepcopy(built)
    both = cp.Problem(
        cp.Maximize(built.problem.objective.expr + other.problem.objective.expr),
        [*built.problem.constraints, *other.problem.constraints],
    )
    assert both.solve(solver="CLARABEL") == pytest.approx(2 * built.problem.value, rel=1e-6)


def test_labels_parameters_and_parts_go_on_in_a_copy():
    built = relabelled()
    other = copy.deepcopy(built)
    y = np.full(_MODULE.SIZES["n"], -1)
    y[-6:] = [0, 0, 1, 1, 0, 1]
    for one in (built, other):
        one.relabel(sm.encode_labels(y))
    values = [sm.solve(one.with_(without=["shares"])).certificate.primal_objective for one in (built, other)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    other.parameters["gamma_A"].value *= 3
    assert sm.solve(other).certificate.primal_objective > 1.001 * sm.solve(built).certificate.primal_objective


def test_a_shallow_copy_shares_the_problem():
    built = changed()
    other = copy.copy(built)
    assert other is not built
    assert other.problem is built.problem
    assert other.changes() == built.changes()


def test_a_list_of_constraints_that_was_changed_stays_so():
    built = PROGRAMS["rmm"]()
    built.problem._constraints.pop()
    assert copy.deepcopy(built).is_changed_in_place()


def test_what_cannot_be_copied_is_refused():
    built, lock = PROGRAMS["rmm_primal"](), threading.Lock()
    half = cp.CallbackParam(lambda: 0.5 if lock else 1.0, nonneg=True)
    other = built.with_(terms={"own": half * cp.norm1(built.variables["w"])})
    for way in COPIES.values():
        with pytest.raises(InvalidTypeError, match=r"SVM.*cannot be copied|RMM.*cannot be copied"):
            way(other)
