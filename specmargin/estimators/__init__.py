"""Estimators on the scikit-learn contract: they validate, call, and keep arrays."""

from specmargin.estimators.alignment import KTA
from specmargin.estimators.clustering import RegularizedEigenmaps, RegularizedSpectralClustering
from specmargin.estimators.fixed_spectrum import SpectralKernelSVM, XuSpectralSVM
from specmargin.estimators.graph_transducer import SpectralGraphTransducer
from specmargin.estimators.label_search import LabelSearch
from specmargin.estimators.laprls import LapRLS
from specmargin.estimators.laprls_regressor import LapRLSRegressor
from specmargin.estimators.lapsvm import LapSVM
from specmargin.estimators.mkl import MKL
from specmargin.estimators.relative_margin import RMM
from specmargin.estimators.s3vm import S3VM
from specmargin.estimators.spectral_filter import SpectralFilterClassifier
from specmargin.estimators.spectral_filter_regressor import SpectralFilterRegressor
from specmargin.estimators.spectral_ridge import SpectralRidge
from specmargin.estimators.spectrum_margin import STOAM, STORM

__all__ = [
    "KTA",
    "LabelSearch",
    "LapRLS",
    "LapRLSRegressor",
    "LapSVM",
    "MKL",
    "RMM",
    "RegularizedEigenmaps",
    "RegularizedSpectralClustering",
    "S3VM",
    "STOAM",
    "STORM",
    "SpectralFilterClassifier",
    "SpectralFilterRegressor",
    "SpectralGraphTransducer",
    "SpectralKernelSVM",
    "SpectralRidge",
    "XuSpectralSVM",
]
