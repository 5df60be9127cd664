"""CVXPY problems. CVXPY is imported here and nowhere else.

A builder takes an objective and returns a `BuiltProblem` with named variables, parameters and labelled
constraints; `solve` solves it and has the objective certify the answer.
"""

from typing import Any

import cvxpy as cp

from cvxproof.conic.orders import default_solvers
from specmargin.arrays import numbers_array
from specmargin.checks import checked, flag, instance, number, solver_names
from specmargin.objectives import (
    RMM,
    S3VM,
    Alignment,
    BlockAlignment,
    BlockMargin,
    LapSVM,
    SpectralRidge,
    SpectrumMargin,
)
from specmargin.problems import models
from specmargin.problems.alignment import kta
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.blocks import BlockForm, block_margin
from specmargin.problems.cccp import cccp_subproblem
from specmargin.problems.certifying import certify
from specmargin.problems.expressions import as_cvxpy, conjugate_as_cvxpy, squares
from specmargin.problems.lapsvm import lapsvm_dual, lapsvm_primal, lapsvm_problem
from specmargin.problems.primals import primal
from specmargin.problems.relative_margin import rmm, rmm_primal
from specmargin.problems.solving import solve
from specmargin.problems.spectral_ridge import spectral_ridge_primal
from specmargin.problems.spectrum_margin import Form, mkl, stoam, storm

__all__ = [
    "BlockForm",
    "BuiltProblem",
    "Form",
    "Recovered",
    "as_cvxpy",
    "block_margin",
    "cccp_subproblem",
    "certify",
    "conjugate_as_cvxpy",
    "default_solvers",
    "kta",
    "lapsvm_dual",
    "lapsvm_primal",
    "lapsvm_problem",
    "mkl",
    "models",
    "primal",
    "rmm",
    "rmm_primal",
    "solve",
    "spectral_ridge_primal",
    "squares",
    "stoam",
    "storm",
]

# The public functions check their arguments.
_OBJ = "build one of specmargin.objectives from data and labels"


def _names(name: str, value: Any) -> Any:
    return value if isinstance(value, tuple | list) and not value else solver_names(name, value)


_MARGIN = instance(SpectrumMargin, _OBJ)

block_margin = checked(obj=instance(BlockMargin, _OBJ))(block_margin)
cccp_subproblem = checked(obj=instance(S3VM, _OBJ))(cccp_subproblem)
kta = checked(obj=instance((Alignment, BlockAlignment), _OBJ))(kta)
lapsvm_dual = checked(obj=instance(LapSVM, _OBJ))(lapsvm_dual)
lapsvm_primal = checked(obj=instance(LapSVM, _OBJ))(lapsvm_primal)
lapsvm_problem = checked(obj=instance(LapSVM, _OBJ))(lapsvm_problem)
mkl = checked(obj=_MARGIN)(mkl)
rmm = checked(obj=instance(RMM, _OBJ))(rmm)
rmm_primal = checked(obj=instance(RMM, _OBJ))(rmm_primal)
spectral_ridge_primal = checked(obj=instance(SpectralRidge, _OBJ))(spectral_ridge_primal)
stoam = checked(obj=_MARGIN)(stoam)
storm = checked(obj=_MARGIN)(storm)
squares = checked(
    M=numbers_array("a symmetric matrix of finite numbers", ndim=2),
    x=instance(cp.Expression, "pass an affine expression of CVXPY"),
)(squares)
solve = checked(
    built=instance(
        (BuiltProblem, cp.Problem), "build one by a function of specmargin.problems, or pass a cvxpy.Problem"
    ),
    solver=_names,
    tol=number(least=0),
    check=flag,
)(solve)
