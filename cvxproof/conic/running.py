"""How a problem is compiled for a solver, and how that is run: anew each time, its failures as SolverErrors.

CVXPY keeps the solver of a problem together with its settings, and warm starts it: what the options of one solve were
would decide the answer of the next. Here every run begins anew, and leaves nothing to the next solve of the user.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

import cvxpy as cp
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain

from cvxproof.checks import among
from cvxproof.conic.compiling import count_on, is_wide
from cvxproof.exceptions import CvxproofError, InvalidInputError, InvalidTypeError, SolverNotInstalledError

__all__ = ["as_solver_errors", "data_for", "require_options", "require_solver", "run", "solver_for", "told"]

_FEW = 50
"""Entries of parameters up to which CVXPY's default is faster."""
_LIMIT = 60.0
"""Seconds after which HiGHS stops at a quadratic program. With little curvature it may never return."""
_CONVEX = "only convex programs (DCP) are certified"
_COMPILED = "how a problem is compiled is decided here"
_ELSEWHERE: dict[str, tuple[Any, str]] = {
    "warm_start": (False, "every solve begins anew, so that no answer depends on what was solved before"),
    "gp": (False, _CONVEX),
    "qcp": (False, _CONVEX),
    "nlp": (False, _CONVEX),
    "requires_grad": (False, "call problem.solve(requires_grad=True) of CVXPY for derivatives"),
    "method": (None, "call problem.solve(method=...) of CVXPY for a method of your own"),
    "solver_path": (None, "pass an order of solvers, e.g. solver=('CLARABEL', 'SCS')"),
    "canon_backend": (None, _COMPILED),
    "ignore_dpp": (False, _COMPILED),
    "enforce_dpp": (False, _COMPILED),
    "use_quad_obj": (None, _COMPILED),
    "bibtex": (False, "pass verbose=True"),
    "solver_verbose": (False, "pass verbose=True"),
}
"""Keywords of CVXPY that are no options of a solver: the value that asks for nothing, and what holds of the others."""
_SETTINGS = {
    "CLARABEL": ("clarabel", lambda module: module.DefaultSettings()),
    "HIGHS": ("highspy", lambda module: module.HighsOptions()),
    "OSQP": ("osqp", lambda module: module.OSQP().ext.OSQPSettings()),
    "PIQP": ("piqp", lambda module: module.SparseSolver().settings),
    "QOCO": ("qoco", lambda module: module.QOCO().ext.QOCOSettings()),
}
"""Where a solver's package holds its settings, as attributes of an object that refuses values of a wrong type."""
_NAMES = {
    "CLARABEL": "accept_unknown",
    "CVXOPT": "abstol debug feastol kktreg kktsolver max_iters maxiters refinement reltol",
    "DAQP": "cycle_tol dual_tol eps_prox eta_prox fval_bound iter_limit pivot_tol primal_tol progress_tol zero_tol",
    "ECOS": "abstol abstol_inacc feastol feastol_inacc max_iters nitref reltol reltol_inacc",
    "GLOP": "parameters_proto time_limit_sec",
    "GLPK": "glpk",
    "HIGHS": "highs_options write_model_file",
    "OSQP": "cg_preconditioner polish solver_type",
    "PDLP": "parameters_proto time_limit_sec",
    "PIQP": "backend",
    "PROXQP": "backend eps_abs eps_rel max_iter mu_eq mu_in rho",
    "QOCO": "algebra dump_problem",
    "SCIPY": "scipy_options",
    "SCS": "acceleration_interval acceleration_lookback acceleration_regularization acceleration_relaxation "
    "acceleration_type_1 adaptive_diag_scale adaptive_scale alpha eps eps_abs eps_infeas eps_rel gpu linear_solver "
    "log_csv_filename max_iters mkl normalize rho_x scale time_limit_secs use_indirect write_data_filename",
}
"""Options that CVXPY hands on, or reads itself, of solvers whose packages do not list them."""


def data_for(problem: cp.Problem, solver: str) -> tuple[dict[str, Any], Any, list[Any]]:
    """Return what CVXPY compiles a problem to for a solver, with the chain of its reductions and their inverses."""
    count_on(problem)
    with as_solver_errors():
        data, chain, inverse = problem.get_problem_data(
            solver_for(problem, solver), ignore_dpp=is_wide(problem), canon_backend=backend_for(problem)
        )
    return data, chain, inverse


def backend_for(problem: cp.Problem) -> str | None:
    """Return the part of CVXPY that compiles a problem: its default one takes a step for every entry of a parameter."""
    if is_wide(problem):  # compiled for the present values: it has none
        return cp.SCIPY_CANON_BACKEND
    many = sum(parameter.size for parameter in problem.parameters()) > _FEW
    return cp.COO_CANON_BACKEND if many else None


def solver_for(problem: cp.Problem, name: str) -> Any:
    """Return what CVXPY shall be passed as the solver: a name, or the solver of that name without bounds.

    For solvers that take bounds of columns apart, CVXPY derives some of its own. Those of 1.9.0 to 1.9.3 may be wrong:
    a product of which either sign is possible has the bounds inf - inf, which become zero, and a hinge is then closed.
    Of a solver of one's own that takes none, the bounds that the user wrote are rows, and there are no others.
    """
    if not any(kinds[name].BOUNDED_VARIABLES for kinds in (SOLVER_MAP_CONIC, SOLVER_MAP_QP) if name in kinds):
        return name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY warns when it compiles
        kind: Any = type(resolve_and_build_chain(problem, name).solver)
    return _without_bounds(kind) if kind.BOUNDED_VARIABLES else name


@cache
def _without_bounds(kind: Any) -> Any:
    name = f"{kind().name()} (bounds as rows)"  # CVXPY wants another name of a solver that is not its own
    reduced = {
        "BOUNDED_VARIABLES": False,
        "name": lambda self: name,
        "__reduce__": lambda self: (_without_bounds, (kind,)),
    }
    return type(kind.__name__, (kind,), reduced)()


def require_options(solver: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a solver; raise for a keyword that is none, or whose value is of a wrong type.

    Of a solver that is not known here nothing is refused.

    Examples
    --------
    >>> require_options("CLARABEL", {"max_iter": 5, "warm_start": False})
    {'max_iter': 5}
    >>> require_options("GLOP", {"time_limit": 5})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    cvxproof.exceptions.InvalidTypeError: ... but, among others, time_limit_sec. Did you mean 'time_limit_sec'? ...
    """
    kept = dict(options)
    for name in options.keys() & _ELSEWHERE.keys():
        idle, instead = _ELSEWHERE[name]
        if kept.pop(name) != idle:
            raise InvalidInputError(f"{name}={options[name]!r} is no option of solve: {instead}.")
    if solver not in _SETTINGS | _NAMES:
        return kept
    settings = _settings(solver)
    known = [name for name in dir(settings) if not name.startswith("_")] if settings is not None else []
    known += [*_NAMES.get(solver, "").split(), "verbose"]
    for name, value in {**kept, **kept.get("highs_options", {})}.items():
        if name not in known and not (solver == "HIGHS" and _is_known_to_highs(name)):
            near = get_close_matches(name, known, 5, 0.5) or known
            raise InvalidTypeError(
                f"{solver} has no option {name!r}, but, among others, {among(name, near)} "
                "An order of solvers takes options that each of them has."
            )
        if hasattr(settings, name):
            try:
                setattr(settings, name, value)
            except TypeError as error:
                raise InvalidTypeError(f"{solver} does not take {name}={value!r}: {error}") from error
    return kept


def _settings(solver: str) -> Any:
    """Return an object whose attributes are the options of a solver; None where its package has no such object."""
    module, made = _SETTINGS.get(solver, ("math", lambda module: None))
    return made(import_module(module))


def _is_known_to_highs(name: str) -> bool:
    """Whether HiGHS has an option that its object of options does not list."""
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)  # it would print that it has none of this name
    return bool(highs.getOptionValue(name)[0] == highspy.HighsStatus.kOk)


@cache  # CVXPY tries to import all solvers that it knows of
def require_solver(name: str) -> str:
    """Return the name of an installed solver in capitals, or raise."""
    installed = cp.installed_solvers()
    if not isinstance(name, str) or name.upper() not in installed:
        raise SolverNotInstalledError(
            f"the solver {name!r} is not installed or not known to CVXPY; installed are {installed}. "
            f"Install it, or pass solver='CLARABEL'."
        )
    return name.upper()


def run(solver: str, chain: Any, data: dict[str, Any], inverse: list[Any], options: Mapping[str, Any]) -> Any:
    """Run a solver on what CVXPY compiled, and return what it returns, to be inverted.

    Parameters
    ----------
    solver : str
        Its name.
    chain, data, inverse
        What ``cvxpy.Problem.get_problem_data`` returns.
    options : mapping
        Options of the solver, and ``verbose``.
    """
    given = copy.deepcopy({**options.get("highs_options", {}), **options})  # interfaces write into what they get
    given.pop("highs_options", None)
    if solver == "HIGHS" and data.get("P") is not None and data["P"].nnz:
        given.setdefault("time_limit", _LIMIT)
    verbose = given.pop("verbose", False)
    for one in inverse:
        if hasattr(one, "solver_options"):  # CVXPY fills it in when it solves by itself
            one.solver_options = given
    anew = cp.Problem(cp.Minimize(0))  # CVXPY keeps solvers with their settings in the problem that is passed
    return chain.solve_via_data(anew, data, verbose=verbose, solver_opts=dict(given))


@contextlib.contextmanager
def as_solver_errors() -> Iterator[None]:
    """Turn any exception of a solver into CVXPY's SolverError.

    A panic of native code is no `Exception`, and would pass all that catch these.
    """
    try:
        yield
    except (cp.SolverError, CvxproofError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise cp.SolverError(f"{type(error).__name__}: {error}") from error


def told(solver: str, status: str, seconds: float | None, options: Mapping[str, Any]) -> str:
    """Return what a solver reported, and the time limit where that stopped it."""
    given = {**options.get("highs_options", {}), **options}
    of_its_own = _LIMIT if solver == "HIGHS" and not any("limit" in name for name in given) else None
    limit = next((value for name, value in given.items() if name.startswith("time_limit")), of_its_own)
    if status != cp.USER_LIMIT or limit is None or (seconds or 0.0) < limit:
        return status
    return f"{status} (stopped at the time limit of {limit:g} s; pass another, e.g. time_limit={10 * limit:g})"
