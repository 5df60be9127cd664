"""How solvers are run: options by name, every run anew, and what they raise."""

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.solvers.qp_solvers.daqp_qpif import DAQP
from cvxpy.reductions.solvers.solving_chain import SolvingChain

import cvxproof
from cvxproof.conic import running
from cvxproof.conic.running import as_solver_errors, require_options, told
from cvxproof.exceptions import InvalidInputError, InvalidTypeError


def a_program(is_quadratic=True):
    """Return min |x - 3|^2, or x, with x >= 5."""
    x = cp.Variable(name="x")
    return cp.Problem(cp.Minimize(cp.square(x - 3) if is_quadratic else x), [x >= 5])


@pytest.fixture
def asked(monkeypatch):
    """Record the solver, its data, and its options, of every run."""
    genuine, seen = SolvingChain.solve_via_data, []

    def recorded(self, problem, data, **settings):
        seen.append((self.solver.name(), data, {**settings["solver_opts"], "verbose": settings["verbose"]}))
        return genuine(self, problem, data, **settings)

    monkeypatch.setattr(SolvingChain, "solve_via_data", recorded)
    return seen


# Options by name


@pytest.mark.parametrize(
    ("solver", "wrong", "right"),
    [
        ("CLARABEL", "max_iters", "max_iter"),
        ("CVXOPT", "max_iter", "max_iters"),
        ("DAQP", "iter_limits", "iter_limit"),
        ("ECOS", "max_iter", "max_iters"),
        ("GLOP", "time_limit", "time_limit_sec"),
        ("GLPK", "gplk", "glpk"),
        ("HIGHS", "time_limits", "time_limit"),
        ("OSQP", "max_iters", "max_iter"),
        ("PDLP", "time_limit", "time_limit_sec"),
        ("PIQP", "max_iters", "max_iter"),
        ("PROXQP", "max_iters", "max_iter"),
        ("QOCO", "max_iter", "max_iters"),
        ("SCS", "max_iter", "max_iters"),
    ],
)
def test_a_misspelt_option_is_named_with_the_nearest(solver, wrong, right):
    module, _ = running._SETTINGS.get(solver, (None, None))
    if module:
        pytest.importorskip({"HIGHS": "highspy"}.get(solver, module))
    with pytest.raises(InvalidTypeError, match=rf"{solver} has no option '{wrong}'.*Did you mean '{right}'\?"):
        require_options(solver, {wrong: 5})
    value = 5 if not right.startswith("glpk") else {"it_lim": 5}
    assert require_options(solver, {right: value, "verbose": True}) == {right: value, "verbose": True}


def test_names_are_those_that_cvxpy_hands_on():
    assert set(running._NAMES["DAQP"].split()) == set(DAQP.ALLOWED_SOLVER_OPTS)
    require_options("UNKNOWN", {"any": 1})


def test_options_of_highs_by_its_dictionary_and_those_that_it_does_not_list():
    pytest.importorskip("highspy")
    given = {"highs_options": {"time_limit": 5.0}, "presolve_rule_off": 1, "write_model_file": "model.mps"}
    assert require_options("HIGHS", given) == given
    with pytest.raises(TypeError, match=r"no option 'time_limt'.*'time_limit'\?"):
        require_options("HIGHS", {"highs_options": {"time_limt": 5.0}})


@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP", "HIGHS"])
def test_a_value_of_a_wrong_type_is_named(solver):
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    with pytest.raises(InvalidTypeError, match=f"{solver} does not take time_limit='soon'"):
        cvxproof.solve(a_program(), solver, time_limit="soon")


def test_every_solver_of_an_order_is_checked_before_the_first_is_run(asked):
    with pytest.raises(TypeError, match=r"CLARABEL has no option 'max_iters'.*An order of solvers takes"):
        cvxproof.solve(a_program(), ("SCS", "CLARABEL"), max_iters=5)
    assert asked == []


@pytest.mark.parametrize("name", running._ELSEWHERE)
def test_keywords_of_cvxpy_that_are_no_options(name):
    idle, _ = running._ELSEWHERE[name]
    assert require_options("CLARABEL", {name: idle}) == {}
    with pytest.raises(InvalidInputError, match=f"{name}='other' is no option of solve: "):
        require_options("CLARABEL", {name: "other"})


@pytest.mark.parametrize("is_loud", [True, False])
def test_a_solver_prints_where_it_is_asked_to(capfd, is_loud):
    assert cvxproof.solve(a_program(), verbose=is_loud).status is cvxproof.Status.OPTIMAL
    assert ("iter" in capfd.readouterr().out) is is_loud


def test_a_scale_is_an_option_of_scs_and_not_of_the_objective(asked):
    assert cvxproof.solve(a_program(), "SCS", scale=0.5).status.has_solution
    (_, _, options), *_ = asked
    assert options["scale"] == 0.5


def test_what_is_passed_is_not_written_into():
    given = {"glpk": {"it_lim": 5}}

    class Writes:
        def solve_via_data(self, problem, data, verbose, solver_opts):
            solver_opts["glpk"]["msg_lev"] = "GLP_MSG_OFF"
            assert not problem._solver_cache

    running.run("GLPK", Writes(), {}, [], given)
    assert given == {"glpk": {"it_lim": 5}}


# Time


@pytest.mark.parametrize(
    ("is_quadratic", "given", "limit"),
    [
        (True, {}, running._LIMIT),
        (True, {"time_limit": 600.0}, 600.0),
        (True, {"highs_options": {"time_limit": 5.0}}, 5.0),
        (False, {}, None),
    ],
)
def test_highs_stops_at_a_quadratic_program(asked, is_quadratic, given, limit):
    pytest.importorskip("highspy")
    assert cvxproof.solve(a_program(is_quadratic), "HIGHS", **given).status.has_solution
    (_, _, options), *_ = asked
    assert options.get("time_limit") == limit
    assert "highs_options" not in options


def test_a_time_limit_is_told():
    pytest.importorskip("highspy")
    said = "user_limit (stopped at the time limit of 60 s; pass another, e.g. time_limit=600)"
    assert told("HIGHS", cp.USER_LIMIT, 60.1, {}) == said
    assert "of 5 s" in told("HIGHS", cp.USER_LIMIT, 5.1, {"highs_options": {"time_limit": 5.0}})
    assert "of 5 s" in told("CLARABEL", cp.USER_LIMIT, 5.1, {"time_limit": 5.0})
    for others in (
        ("HIGHS", cp.USER_LIMIT, 3.0, {}),
        ("HIGHS", cp.USER_LIMIT, 99.0, {"simplex_iteration_limit": 9}),
        ("CLARABEL", cp.USER_LIMIT, 99.0, {}),
        ("HIGHS", cp.OPTIMAL, 99.0, {}),
    ):
        assert told(*others) == others[1]
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - np.arange(3))), [cp.sum(x) <= 1, x >= -1])
    result = cvxproof.solve(problem, "HIGHS", time_limit=0.0)
    assert "stopped at the time limit of 0 s" in result.message


# What is raised


@pytest.mark.parametrize("error", [ValueError, ImportError, ZeroDivisionError, BaseException])
def test_whatever_a_solver_raises_is_an_error_of_a_solver(error):
    with pytest.raises(cp.SolverError, match=f"{error.__name__}: broke"), as_solver_errors():
        raise error("broke")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, cp.SolverError, InvalidInputError])
def test_what_ends_a_run_or_is_meant_for_the_user_passes(error):
    with pytest.raises(error, match=r"^broke$") as caught, as_solver_errors():
        raise error("broke")
    assert type(caught.value) is error
