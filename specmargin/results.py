"""What every solve returns: a status, the variables, the multipliers, and a certificate (`cvxproof.results`)."""

from cvxproof.results import CHANGED, INACCURATE_GAP, Certificate, ConeProof, History, SolveResult, Status

__all__ = ["CHANGED", "INACCURATE_GAP", "Certificate", "ConeProof", "History", "SolveResult", "Status"]
