"""Plain numpy solvers over the same objectives as the CVXPY problems; they never see CVXPY.

The functions of this package check their arguments; those of its modules, which call each other, do not.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from specmargin.checks import (
    Rule,
    accuracy,
    checked,
    choice,
    count,
    instance,
    iterations,
    maybe,
    number,
)
from specmargin.exceptions import InvalidTypeError
from specmargin.objectives import (
    RMM,
    S3VM,
    Alignment,
    BlockAlignment,
    BlockMargin,
    LapRLS,
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
from specmargin.solvers.manifold.stopping import RULES
from specmargin.solvers.parts import Search, Solver
from specmargin.solvers.s3vm.annealing import annealing
from specmargin.solvers.s3vm.cccp import cccp
from specmargin.solvers.s3vm.continuation import continuation
from specmargin.solvers.s3vm.finite_newton import finite_newton
from specmargin.solvers.s3vm.gradient import gradient
from specmargin.solvers.s3vm.label_switching import label_switching
from specmargin.solvers.s3vm.multi_switch import multi_switch
from specmargin.solvers.s3vm.polish import polish
from specmargin.solvers.s3vm.quasi_newton import quasi_newton
from specmargin.solvers.s3vm.weighted_svm import weighted_svm
from specmargin.solvers.spectrum.alignment import alignment
from specmargin.solvers.spectrum.alternation import alternation
from specmargin.solvers.spectrum.block_margin import block_margin
from specmargin.solvers.spectrum.graph_transducer import graph_transducer
from specmargin.solvers.spectrum.path import spectrum_path
from specmargin.solvers.spectrum.spectral_ridge import spectral_ridge
from specmargin.solvers.spectrum.spectrum_margin import relative_margin, spectrum_margin

__all__ = [
    "Search",
    "Solver",
    "alignment",
    "alternation",
    "annealing",
    "block_margin",
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
    "pcg",
    "pcg_one_vs_rest",
    "polish",
    "quasi_newton",
    "relative_margin",
    "spectral_ridge",
    "spectrum_margin",
    "spectrum_path",
    "weighted_svm",
]

P = ParamSpec("P")
R = TypeVar("R")

_OBJ = "build one of specmargin.objectives from data and labels"
_RULES: dict[str, Rule] = {
    "tol": accuracy,
    "gap_tol": number(above=0, infinite=True),
    "max_iter": iterations,
    "max_inner": count(1),
    "max_switches": count(1),
    "check_every": count(1),
    "n_steps": count(0),
    "n_components": count(1),
    "m": count(1),
    "rate": number(above=1, infinite=True),
    "first_share": number(above=0, most=1),
    "proved": number(above=0, most=1),
    "stopping": choice(*RULES),
    "minimizer": choice("lbfgs", "newton"),
    "preconditioner": choice("scaled", "printed"),
}
"""What the arguments of the solvers have to be, by their names."""
_TO_THE_END: dict[str, Rule] = {**_RULES, "tol": number(least=0)}
"""Where a tolerance of zero means: until nothing changes, or the limit of iterations."""


def _check_arguments(function: Callable[P, R], *kinds: type, rules: Mapping[str, Rule] = _RULES) -> Callable[P, R]:
    """Check the objective of a solver, and its arguments by the rules of their names."""
    parameters = inspect.signature(function).parameters
    first: dict[str, Rule] = {next(iter(parameters)): instance(kinds, _OBJ)}
    return checked(**first, **{name: maybe(rule) for name, rule in rules.items() if name in parameters})(function)


def _of_signs(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse targets that are numbers, of which the solver sees the signs only."""
    return checked(**{next(iter(inspect.signature(function).parameters)): _signs})(function)


def _signs(name: str, value: Any) -> Any:
    if isinstance(value, LapRLS):
        raise InvalidTypeError(f"{name} is LapRLS with numbers for targets, one linear system; take factorized.")
    return value


alignment = _check_arguments(alignment, Alignment, BlockAlignment)
alternation = _check_arguments(alternation, SpectrumMargin)
annealing = _check_arguments(annealing, S3VM, rules=_TO_THE_END)
block_margin = _check_arguments(block_margin, BlockMargin)
cccp = _check_arguments(cccp, S3VM, rules=_TO_THE_END)
continuation = _check_arguments(continuation, S3VM)
eigenmaps = _check_arguments(eigenmaps, RegularizedClustering)
factorized = _check_arguments(factorized, LapSVM)
finite_newton = _check_arguments(finite_newton, WeightedSVM)
gradient = _check_arguments(gradient, S3VM)
graph_transducer = _check_arguments(graph_transducer, SpectralGraphTransducer)
label_switching = _check_arguments(label_switching, S3VM)
multi_switch = _check_arguments(multi_switch, S3VM)
newton = _of_signs(_check_arguments(newton, LapSVM))
pcg = _of_signs(_check_arguments(pcg, LapSVM, rules=_TO_THE_END))
pcg_one_vs_rest = _of_signs(_check_arguments(pcg_one_vs_rest, LapSVM, rules=_TO_THE_END))
polish = _check_arguments(polish, S3VM)
quasi_newton = _check_arguments(quasi_newton, S3VM)
relative_margin = _check_arguments(relative_margin, RMM)
spectral_ridge = _check_arguments(spectral_ridge, SpectralRidge)
spectrum_margin = _check_arguments(spectrum_margin, SpectrumMargin)
spectrum_path = _check_arguments(spectrum_path, SpectrumMargin)
weighted_svm = _check_arguments(weighted_svm, WeightedSVM)
