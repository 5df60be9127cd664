"""The rules of a kernel and its width."""

import re

import numpy as np
import pytest

from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.kernels.rules import GAMMA, KERNEL, KERNELS


@pytest.mark.parametrize("value", [*KERNELS, np.dot])
def test_known_kernels_and_functions(value):
    assert KERNEL("kernel", value) is value


@pytest.mark.parametrize("value", ["scale", "median", 0.5, np.float64(2.0), 3])
def test_known_widths(value):
    assert GAMMA("gamma", value) is value


@pytest.mark.parametrize(
    ("rule", "value", "error", "message"),
    [
        (KERNEL, "gauss", InvalidInputError, "x='gauss' is unknown; take a callable, or one of rbf, poly"),
        (KERNEL, 3, InvalidTypeError, "x=3 is unknown"),
        (
            GAMMA,
            "auto",
            InvalidInputError,
            "x='auto' is unknown; take a positive number, 'scale', 'median' or 'local', or a multiple of the median "
            "distance such as '0.5 median'.",
        ),
        (GAMMA, 0.0, InvalidInputError, "x=0.0 is no inverse width; take a positive number"),
        (GAMMA, np.nan, InvalidInputError, "x=nan is no inverse width"),
        (GAMMA, True, InvalidTypeError, "x=True is no inverse width"),
        (GAMMA, None, InvalidTypeError, "x=None is no inverse width"),
    ],
)
def test_bad_values_are_named_with_a_remedy(rule, value, error, message):
    with pytest.raises(error, match=re.escape(message)):
        rule("x", value)
