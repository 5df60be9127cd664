# The public names, as type checkers read them.

from .conic.contradictions import Contradiction
from .conic.explaining import Explanation, explain
from .conic.orders import default_solvers, solve
from .conic.solving import certify
from .exceptions import CvxproofError, InfeasibleError, InvalidInputError, SolverError
from .proof_files import export
from .proofs.cone_verification import verify
from .proofs.record import Verification
from .result_files import load_result, read_provenance, save_result
from .results import Certificate, ConeProof, SolveResult, Status
from .verdicts import Verdict, verify_file

__version__: str

__all__ = [
    "Certificate",
    "ConeProof",
    "Contradiction",
    "CvxproofError",
    "Explanation",
    "InfeasibleError",
    "InvalidInputError",
    "SolveResult",
    "SolverError",
    "Status",
    "Verdict",
    "Verification",
    "certify",
    "default_solvers",
    "explain",
    "export",
    "load_result",
    "read_provenance",
    "save_result",
    "solve",
    "verify",
    "verify_file",
]
