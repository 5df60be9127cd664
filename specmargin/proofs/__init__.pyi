# The public names: read by type checkers, and at run time by lazy_loader.

from .saving import load_result, read_provenance, read_record, save_result
from .translation import Claim, ProofRecord, record_of
from .verification import Verification, verify

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
