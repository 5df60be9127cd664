"""Rounding of floating-point arithmetic: fl(x op y) = (x op y)(1 + d) with |d| at most a unit roundoff."""

import numpy as np

__all__ = ["EXTENDED_UNIT", "UNIT"]

UNIT = 2.0**-53
"""Unit roundoff of float64."""

EXTENDED_UNIT = float(np.finfo(np.longdouble).eps) / 2
"""Unit roundoff of long double: 2^-64 on x86, that of float64 where the platform has nothing better."""
