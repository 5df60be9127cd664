"""Estimators on the scikit-learn contract: they validate, call, and keep arrays."""

from specmargin.estimators.alignment import KTA
from specmargin.estimators.fixed_spectrum import SpectralKernelSVM, XuSpectralSVM
from specmargin.estimators.graph_transducer import SpectralGraphTransducer
from specmargin.estimators.manifold import LapSVM
from specmargin.estimators.ridge import SpectralRidge
from specmargin.estimators.rmm import RMM
from specmargin.estimators.spectrum import MKL, STOAM, STORM

__all__ = [
    "KTA",
    "LapSVM",
    "MKL",
    "RMM",
    "STOAM",
    "STORM",
    "SpectralGraphTransducer",
    "SpectralKernelSVM",
    "SpectralRidge",
    "XuSpectralSVM",
]
