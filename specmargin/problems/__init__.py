"""CVXPY problems. CVXPY is imported here and nowhere else.

A builder takes an objective and returns a `BuiltProblem` with named variables, parameters and labelled
constraints; `solve` solves it and has the objective certify the answer.
"""

from specmargin.problems.base import BuiltProblem, Recovered, default_solvers, solve
from specmargin.problems.cccp import cccp_subproblem
from specmargin.problems.expressions import as_cvxpy, conjugate_as_cvxpy
from specmargin.problems.kta import kta
from specmargin.problems.lapsvm import lapsvm_dual, lapsvm_primal
from specmargin.problems.rmm import rmm
from specmargin.problems.s3vm_bounds import s3vm_relaxation
from specmargin.problems.storm import Form, mkl, stoam, storm

__all__ = [
    "BuiltProblem",
    "Form",
    "Recovered",
    "as_cvxpy",
    "cccp_subproblem",
    "conjugate_as_cvxpy",
    "default_solvers",
    "kta",
    "lapsvm_dual",
    "lapsvm_primal",
    "mkl",
    "rmm",
    "s3vm_relaxation",
    "solve",
    "stoam",
    "storm",
]
