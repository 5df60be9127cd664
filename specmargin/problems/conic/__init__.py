"""Rigorous certificates of any convex CVXPY problem: cone programs, bounds, and the proofs behind these."""

from specmargin.problems.conic.evidence import is_of
from specmargin.problems.conic.program import backend_for, solver_for
from specmargin.problems.conic.solving import certified, require_convex, solved

__all__ = ["backend_for", "certified", "is_of", "require_convex", "solved", "solver_for"]
