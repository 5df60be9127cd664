"""Candidates of every family on shared decompositions, and their mixture: the mathematics of `specmargin.AutoSSL`.

`build_bank` makes kernels from the features alone, `train_candidates` trains a ridge (or an SVM, an S3VM) on each and
decides about every label without it, and a `Mixture` weighs them. `Constants` holds what is not learned from the data.
"""

from specmargin.tables.candidates.bank import KernelGroup, build_bank, graph_bank
from specmargin.tables.candidates.constants import CONSTANTS, FAMILIES, SUPERVISED, Constants
from specmargin.tables.candidates.mixture import Mixture
from specmargin.tables.candidates.selection_report import SelectionReport
from specmargin.tables.candidates.training import CandidateGroup, train_candidates

__all__ = [
    "CONSTANTS",
    "FAMILIES",
    "SUPERVISED",
    "CandidateGroup",
    "Constants",
    "KernelGroup",
    "Mixture",
    "SelectionReport",
    "build_bank",
    "graph_bank",
    "train_candidates",
]
