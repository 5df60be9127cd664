# The public names: read by type checkers, and at run time by lazy_loader.

from .checked import branch_and_bound, one_flip, probe, s3vm_bound, with_bound
from .relaxation import S3VMRelaxation
from .relaxation_program import s3vm_relaxation
from .search_log import BoxLog, ProofLog

__all__ = [
    "BoxLog",
    "ProofLog",
    "S3VMRelaxation",
    "branch_and_bound",
    "one_flip",
    "probe",
    "s3vm_bound",
    "s3vm_relaxation",
    "with_bound",
]
