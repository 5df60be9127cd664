# The public names: read by type checkers, and at run time by lazy_loader.

from .record import Claim, ProofRecord, Verification
from .translation import record_of
from .verification import verify

__all__ = ["Claim", "ProofRecord", "Verification", "record_of", "verify"]
