"""Kernels: matrices of inner products, and operators where a matrix of all pairs is too large to store.

`RBF`, `Polynomial`, `Linear`, `Cosine` and `Precomputed` are the kernels that estimators are composed of. `gram` and
`resolve_gamma` make matrices. `LowRankKernel` holds a factor of n x m numbers, `BlockKernel` the data only;
`landmark_features` makes the factor of Nyström's approximation. `require_semidefinite` refuses what is no kernel.
"""

from specmargin.checks import checked
from specmargin.kernels.blocks import BlockKernel, LandmarkFeatures, landmark_features
from specmargin.kernels.maps import DeformedKernel, KernelMap, deformed_features, deformed_kernel, kernel_map
from specmargin.kernels.matrices import COEF0, DEGREE, KERNEL, gram, resolve_gamma
from specmargin.kernels.operators import KernelOperator, LowRankKernel, as_kernel, kernel_rows, kernel_trace
from specmargin.kernels.parts import (
    RBF,
    Cosine,
    Kernel,
    Landmarks,
    Linear,
    Polynomial,
    Precomputed,
    PrincipalComponents,
)
from specmargin.kernels.semidefinite import is_semidefinite, require_semidefinite

__all__ = [
    "BlockKernel",
    "PrincipalComponents",
    "Cosine",
    "DeformedKernel",
    "Kernel",
    "KernelMap",
    "KernelOperator",
    "LandmarkFeatures",
    "Landmarks",
    "Linear",
    "LowRankKernel",
    "Polynomial",
    "Precomputed",
    "RBF",
    "as_kernel",
    "deformed_features",
    "deformed_kernel",
    "gram",
    "is_semidefinite",
    "kernel_map",
    "kernel_rows",
    "kernel_trace",
    "landmark_features",
    "require_semidefinite",
    "resolve_gamma",
]

is_semidefinite = checked(kernel=KERNEL, degree=DEGREE, coef0=COEF0)(is_semidefinite)
