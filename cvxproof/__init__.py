"""Proofs of convex CVXPY problems: every answer with a bound of its optimum, computed from the compiled cone program.

`solve` and `certify` return a `Certificate`, whose gap holds whatever the solver did. `verify` proves it anew in ball
and rational arithmetic, `save_result` writes the answer with its proof to a file, and `export` a proof in rational
numbers, which Python alone can check. The names below load when they are first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "conic.contradictions": ("Contradiction",),
    "conic.explaining": ("Explanation", "explain"),
    "conic.orders": ("default_solvers", "solve"),
    "conic.solving": ("certify",),
    "exceptions": ("CvxproofError", "InfeasibleError", "InvalidInputError", "SolverError"),
    "proof_files": ("export",),
    "proofs.cone_verification": ("verify",),
    "proofs.record": ("Verification",),
    "result_files": ("load_result", "read_provenance", "save_result"),
    "results": ("Certificate", "ConeProof", "SolveResult", "Status"),
    "verdicts": ("Verdict", "verify_file"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'cvxproof' has no attribute {name!r}")
    return getattr(import_module(f"cvxproof.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
