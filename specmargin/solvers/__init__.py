"""Plain numpy solvers over the same objectives as the CVXPY problems; they never see CVXPY.

The functions of this package check their arguments; those of its modules, which call each other, do not.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from specmargin.checks import Rule, accuracy, checked, instance, iterations, maybe, number
from specmargin.objectives import (
    RMM,
    S3VM,
    Alignment,
    LapSVM,
    RegularizedClustering,
    SpectralGraphTransducer,
    SpectralRidge,
    SpectrumMargin,
    WeightedSVM,
)
from specmargin.solvers.manifold.eigenmaps import eigenmaps
from specmargin.solvers.manifold.factorized import factorized
from specmargin.solvers.manifold.newton import newton
from specmargin.solvers.manifold.pcg import pcg, pcg_one_vs_rest
from specmargin.solvers.s3vm.annealing import annealing
from specmargin.solvers.s3vm.bound import s3vm_bound, with_bound
from specmargin.solvers.s3vm.branch_and_bound import branch_and_bound
from specmargin.solvers.s3vm.cccp import cccp
from specmargin.solvers.s3vm.continuation import continuation
from specmargin.solvers.s3vm.finite_newton import finite_newton
from specmargin.solvers.s3vm.gradient import gradient
from specmargin.solvers.s3vm.label_switching import label_switching
from specmargin.solvers.s3vm.multi_switch import multi_switch
from specmargin.solvers.s3vm.one_flip import one_flip
from specmargin.solvers.s3vm.polish import polish
from specmargin.solvers.s3vm.probing import probe
from specmargin.solvers.s3vm.quasi_newton import quasi_newton
from specmargin.solvers.s3vm.weighted_svm import weighted_svm
from specmargin.solvers.spectrum.alignment import alignment
from specmargin.solvers.spectrum.alternation import alternation
from specmargin.solvers.spectrum.graph_transducer import graph_transducer
from specmargin.solvers.spectrum.path import spectrum_path
from specmargin.solvers.spectrum.spectral_ridge import spectral_ridge
from specmargin.solvers.spectrum.spectrum_margin import relative_margin, spectrum_margin

__all__ = [
    "alignment",
    "alternation",
    "annealing",
    "branch_and_bound",
    "cccp",
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
    "with_bound",
]

P = ParamSpec("P")
R = TypeVar("R")

_OBJ = "build one of specmargin.objectives from data and labels"
_RULES: dict[str, Rule] = {"tol": accuracy, "max_iter": iterations}
_TO_THE_END: dict[str, Rule] = {**_RULES, "tol": number(least=0)}
"""Where a tolerance of zero means: until nothing changes, or the limit of iterations."""


def _door(function: Callable[P, R], *kinds: type, rules: Mapping[str, Rule] = _RULES) -> Callable[P, R]:
    """Check the objective, the accuracy and the limit of iterations of a solver."""
    parameters = inspect.signature(function).parameters
    first: dict[str, Rule] = {next(iter(parameters)): instance(kinds, _OBJ)}
    return checked(**first, **{name: maybe(rule) for name, rule in rules.items() if name in parameters})(function)


alignment = _door(alignment, Alignment)
alternation = _door(alternation, SpectrumMargin)
annealing = _door(annealing, S3VM, rules=_TO_THE_END)
branch_and_bound = _door(branch_and_bound, S3VM)
cccp = _door(cccp, S3VM, rules=_TO_THE_END)
continuation = _door(continuation, S3VM)
eigenmaps = _door(eigenmaps, RegularizedClustering)
factorized = _door(factorized, LapSVM)
finite_newton = _door(finite_newton, WeightedSVM)
gradient = _door(gradient, S3VM)
graph_transducer = _door(graph_transducer, SpectralGraphTransducer)
label_switching = _door(label_switching, S3VM)
multi_switch = _door(multi_switch, S3VM)
newton = _door(newton, LapSVM)
one_flip = _door(one_flip, S3VM)
pcg = _door(pcg, LapSVM, rules=_TO_THE_END)
pcg_one_vs_rest = _door(pcg_one_vs_rest, LapSVM, rules=_TO_THE_END)
polish = _door(polish, S3VM)
probe = _door(probe, S3VM)
quasi_newton = _door(quasi_newton, S3VM)
relative_margin = _door(relative_margin, RMM)
s3vm_bound = _door(s3vm_bound, S3VM)
spectral_ridge = _door(spectral_ridge, SpectralRidge)
spectrum_margin = _door(spectrum_margin, SpectrumMargin)
spectrum_path = _door(spectrum_path, SpectrumMargin)
weighted_svm = _door(weighted_svm, WeightedSVM)
with_bound = _door(with_bound, S3VM)
