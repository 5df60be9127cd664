"""Estimators on the scikit-learn contract: they validate, call, and keep arrays."""

from specmargin.estimators.alignment import KTA
from specmargin.estimators.manifold import LapSVM
from specmargin.estimators.spectrum import MKL, STOAM, STORM

__all__ = ["KTA", "LapSVM", "MKL", "STOAM", "STORM"]
