"""Plain numpy solvers over the same objectives as the CVXPY problems; they never see CVXPY."""

from specmargin.solvers.alignment import alignment
from specmargin.solvers.alternation import alternation
from specmargin.solvers.eigenmaps import eigenmaps
from specmargin.solvers.factorized import factorized
from specmargin.solvers.graph_transducer import graph_transducer
from specmargin.solvers.newton import newton
from specmargin.solvers.path import spectrum_path
from specmargin.solvers.pcg import pcg, pcg_one_vs_rest
from specmargin.solvers.spectral_ridge import spectral_ridge
from specmargin.solvers.spectrum_margin import relative_margin, spectrum_margin

__all__ = [
    "alignment",
    "alternation",
    "eigenmaps",
    "factorized",
    "graph_transducer",
    "newton",
    "pcg",
    "pcg_one_vs_rest",
    "relative_margin",
    "spectral_ridge",
    "spectrum_margin",
    "spectrum_path",
]
