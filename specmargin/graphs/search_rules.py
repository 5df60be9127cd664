"""What the arguments of a search for neighbours must be; see `specmargin.checks`."""

from __future__ import annotations

from typing import Any

import numpy as np

from specmargin.checks import among, count, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError

__all__ = ["METRIC", "REDUCE"]


def METRIC(name: str, value: Any) -> Any:
    """Check a metric: a name that scikit-learn's neighbours know, or a function of two rows."""
    if callable(value):
        return value
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name}={shown(value)} must be the name of a metric, or a function of two rows.")
    from sklearn.neighbors import VALID_METRICS

    known = {"precomputed", *VALID_METRICS["brute"], *VALID_METRICS["ball_tree"]}
    if value not in known:
        raise InvalidInputError(f"{name}={value!r} is unknown; take one of {among(value, sorted(known))}")
    return value


def REDUCE(name: str, value: Any) -> Any:
    """Check the number of components that rows are projected on."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    if isinstance(value, bool | str) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInputError(
            f"{name}={shown(value)}; take a number of components >= 1, 'auto', or None for no projection."
        )
    return count(1)(name, value)
