"""What the arguments of the functions of this package must be; see `specmargin.checks`."""

from __future__ import annotations

from typing import Any

import numpy as np

from specmargin.checks import NUMBERS, among, number, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError

__all__ = ["GAMMA", "KERNEL", "KERNELS", "SCALED", "WIDTHS", "check_kernel", "multiple_of_median"]

WIDTHS = ("scale", "median", "local")
"""Rules for the width of a kernel."""

SCALED = ("rbf", "poly", "polynomial")
"""Kernels that have a width."""

KERNELS = (*SCALED, "linear", "cosine", "precomputed")


def KERNEL(name: str, value: Any) -> Any:
    """Check a kernel: one of the names, or a function of two data matrices."""
    if not callable(value) and not (isinstance(value, str) and value in KERNELS):
        kind = InvalidInputError if isinstance(value, str) else InvalidTypeError
        raise kind(f"{name}={shown(value)} is unknown; take a callable, or one of {among(value, KERNELS)}")
    return value


def multiple_of_median(rule: str) -> float | None:
    """Return the m of the rule "m median", or None.

    Examples
    --------
    >>> multiple_of_median("0.5 median"), multiple_of_median("half")
    (0.5, None)
    """
    try:
        multiple = float(rule.removesuffix(" median")) if rule.endswith(" median") else np.nan
    except ValueError:
        return None
    return multiple if 0 < multiple < np.inf else None


def GAMMA(name: str, value: Any) -> Any:
    """Check an inverse width: a positive number, or a rule."""
    if isinstance(value, str):
        if value not in WIDTHS and multiple_of_median(value) is None:
            raise InvalidInputError(
                f"{name}={value!r} is unknown; take a positive number, 'scale', 'median' or 'local', or a multiple of "
                "the median distance such as '0.5 median'."
            )
        return value
    good = isinstance(value, NUMBERS) and not isinstance(value, bool)
    if not (good and np.isfinite(value) and value > 0):
        kind = InvalidInputError if good else InvalidTypeError
        raise kind(
            f"{name}={shown(value)} is no inverse width; take a positive number (1 / (2 sigma**2)), 'scale', "
            "'median' or 'local'."
        )
    return value


def check_kernel(kernel: Any, gamma: Any, degree: Any, coef0: Any) -> None:
    """Check the arguments of `specmargin.kernels.gram`."""
    KERNEL("kernel", kernel)
    GAMMA("gamma", gamma)
    number(least=0)("degree", degree)
    number()("coef0", coef0)
