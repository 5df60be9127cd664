"""Plain numpy solvers over the same objectives as the CVXPY problems; they never see CVXPY."""

from specmargin.solvers.factorized import factorized

__all__ = ["factorized"]
