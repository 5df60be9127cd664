"""Proofs of convex CVXPY problems: every answer with a bound of its optimum, computed from the compiled cone program.

`solve` and `certify` return a `Certificate`, whose gap holds whatever the solver did. `verify` proves it anew in ball
and rational arithmetic, and `save_result` writes the answer with its proof to a file. The names below load when they
are first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "ConeProof",
    "CvxproofError",
    "InfeasibleError",
    "InvalidInputError",
    "SolveResult",
    "SolverError",
    "Status",
    "Verdict",
    "Verification",
    "certify",
    "default_solvers",
    "load_result",
    "read_provenance",
    "save_result",
    "solve",
    "verify",
    "verify_file",
]

_HOMES = {
    "conic.orders": ("default_solvers", "solve"),
    "conic.solving": ("certified",),
    "exceptions": ("CvxproofError", "InfeasibleError", "InvalidInputError", "SolverError"),
    "proofs.cone_verification": ("verify",),
    "proofs.record": ("Verification",),
    "result_files": ("load_result", "read_provenance", "save_result"),
    "verdicts": ("Verdict", "verify_file"),
    "results": ("Certificate", "ConeProof", "SolveResult", "Status"),
}


def __getattr__(name: str) -> Any:
    own = "certified" if name == "certify" else name
    for home, names in _HOMES.items():
        if own in names and name in __all__:
            return getattr(import_module(f"cvxproof.{home}"), own)
    raise AttributeError(f"module 'cvxproof' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
