"""Objectives: immutable data and mathematics, written once, in numpy.

An objective knows its value, its dual bound and the certificate of a candidate. `specmargin.problems` turns it
into a CVXPY problem, `specmargin.solvers` attacks it directly; both hand their candidate back to it for proof.
"""

from specmargin.objectives.clustering import ClusteringBasis, RegularizedClustering
from specmargin.objectives.cone import Cone, FixedSpectrum, ProductCone, SpectrumCone
from specmargin.objectives.features import Features
from specmargin.objectives.manifold import LapSVM
from specmargin.objectives.margin import RMM, RelativeMargin
from specmargin.objectives.reduction import Reduction
from specmargin.objectives.ridge import SpectralRidge
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.s3vm_relaxation import S3VMRelaxation
from specmargin.objectives.spectrum import Alignment, SpectrumMargin, SpectrumPoint
from specmargin.objectives.transduction import SpectralGraphTransducer
from specmargin.objectives.weighted import WeightedSVM

__all__ = [
    "Alignment",
    "ClusteringBasis",
    "Cone",
    "Features",
    "FixedSpectrum",
    "LapSVM",
    "ProductCone",
    "RMM",
    "Reduction",
    "RegularizedClustering",
    "RelativeMargin",
    "S3VM",
    "S3VMRelaxation",
    "SpectralGraphTransducer",
    "SpectralRidge",
    "SpectrumCone",
    "SpectrumMargin",
    "SpectrumPoint",
    "WeightedSVM",
]
