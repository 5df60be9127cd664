"""Rigorous certificates of any convex CVXPY problem: cone programs, their bounds, and the proofs on which these rest."""

from specmargin.problems.conic.solving import certified, solved

__all__ = ["certified", "solved"]
