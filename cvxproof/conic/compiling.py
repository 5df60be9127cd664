"""Compilation of problems with many parameters, and of those that another process has made."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
from cvxpy.lin_ops.lin_utils import ID_COUNTER

__all__ = ["ParametrizedProblem", "count_on", "is_wide"]

_WIDE = 10**6
"""Products of an entry of a parameter and one of a variable up to which CVXPY may compile for all values of both."""


def is_wide(problem: cp.Problem) -> bool:
    """Whether a problem is best compiled for the present values of its parameters, ``ignore_dpp=True`` in CVXPY.

    For all values, CVXPY makes room for each entry of a parameter at each entry of a variable, whether one meets the
    other or not: gigabytes, where the matrices of one set of values have megabytes.
    """
    entries, unknowns = (sum(one.size for one in leaves) for leaves in (problem.parameters(), problem.variables()))
    return bool(entries * unknowns > _WIDE)


def count_on(problem: cp.Problem) -> None:
    """Let CVXPY count variables on from a problem's own numbers, which are those of the process that made it.

    A variable of the compiled problem would have the number, and be taken for, one of the problem's.
    """
    known = (one.id for one in (*problem.variables(), *problem.parameters(), *problem.constraints))
    ID_COUNTER.count = max(ID_COUNTER.count, *(number + 1 for number in known), 0)


class ParametrizedProblem(cp.Problem):
    """A CVXPY problem that is compiled for the present values of its parameters where these are many.

    The rows of labelled samples, for one, are as many parameters as they have entries. To compile them anew takes a
    fraction of the solver's time; to compile them for all values takes 18 GB for 300 labels of 2,000 samples.
    """

    def get_problem_data(
        self,
        solver: Any,
        gp: bool = False,
        enforce_dpp: bool = False,
        ignore_dpp: bool = False,
        verbose: bool = False,
        canon_backend: str | None = None,
        solver_opts: Any = None,
    ) -> Any:
        """Return what CVXPY hands to a solver, as the method of `cvxpy.Problem` does."""
        if is_wide(self) and not enforce_dpp and solver != cp.DIFFCP:  # which differentiates by the parameters
            ignore_dpp, canon_backend = True, canon_backend or cp.SCIPY_CANON_BACKEND
        return super().get_problem_data(solver, gp, enforce_dpp, ignore_dpp, verbose, canon_backend, solver_opts)
