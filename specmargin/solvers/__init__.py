"""Plain numpy solvers over the same objectives as the CVXPY problems; they never see CVXPY."""

from specmargin.solvers.alignment import alignment
from specmargin.solvers.alternation import alternation
from specmargin.solvers.annealing import annealing
from specmargin.solvers.branch_and_bound import branch_and_bound
from specmargin.solvers.cccp import cccp
from specmargin.solvers.continuation import continuation
from specmargin.solvers.eigenmaps import eigenmaps
from specmargin.solvers.factorized import factorized
from specmargin.solvers.finite_newton import finite_newton
from specmargin.solvers.gradient import gradient
from specmargin.solvers.graph_transducer import graph_transducer
from specmargin.solvers.label_switching import label_switching
from specmargin.solvers.multi_switch import multi_switch
from specmargin.solvers.newton import newton
from specmargin.solvers.one_flip import one_flip
from specmargin.solvers.path import spectrum_path
from specmargin.solvers.pcg import pcg, pcg_one_vs_rest
from specmargin.solvers.polish import polish
from specmargin.solvers.probing import probe
from specmargin.solvers.quasi_newton import quasi_newton
from specmargin.solvers.s3vm_bound import certify, s3vm_bound
from specmargin.solvers.spectral_ridge import spectral_ridge
from specmargin.solvers.spectrum_margin import relative_margin, spectrum_margin
from specmargin.solvers.weighted_svm import weighted_svm

__all__ = [
    "alignment",
    "alternation",
    "annealing",
    "branch_and_bound",
    "cccp",
    "certify",
    "continuation",
    "eigenmaps",
    "factorized",
    "finite_newton",
    "gradient",
    "graph_transducer",
    "label_switching",
    "multi_switch",
    "newton",
    "one_flip",
    "pcg",
    "pcg_one_vs_rest",
    "polish",
    "probe",
    "quasi_newton",
    "relative_margin",
    "s3vm_bound",
    "spectral_ridge",
    "spectrum_margin",
    "spectrum_path",
    "weighted_svm",
]
