"""Rigorous certificates of any convex CVXPY problem: cone programs, bounds, and the proofs behind these."""

from cvxproof.conic.evidence import is_of
from cvxproof.conic.running import as_solver_errors, data_for, require_options, require_solver, run, told
from cvxproof.conic.solving import certify, require_convex, solved

__all__ = [
    "as_solver_errors",
    "certify",
    "data_for",
    "is_of",
    "require_convex",
    "require_options",
    "require_solver",
    "run",
    "solved",
    "told",
]
