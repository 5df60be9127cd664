# The public names: read by type checkers, and at run time by lazy_loader.

from .record import Claim, ProofRecord, Verification
from .result_files import read_provenance
from .saving import load_result, read_record, save_result
from .translation import record_of
from .verification import verify

__all__ = [
    "Claim",
    "ProofRecord",
    "Verification",
    "load_result",
    "read_provenance",
    "read_record",
    "record_of",
    "save_result",
    "verify",
]
