"""The rules of the arguments that graph functions and the search for neighbours share."""

import re

import numpy as np
import pytest

from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.rules import KIND, WEIGHT
from specmargin.graphs.search_rules import METRIC, REDUCE


def distance(a, b):
    return float(np.abs(a - b).max())


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (KIND, "mutual+mst"),
        (WEIGHT, "heat"),
        (METRIC, "precomputed"),
        (METRIC, "manhattan"),
        (METRIC, distance),
        (REDUCE, None),
        (REDUCE, "auto"),
        (REDUCE, 3),
    ],
)
def test_good_values_are_returned(rule, value):
    assert rule("argument", value) is value


@pytest.mark.parametrize(
    ("rule", "value", "error", "message"),
    [
        (KIND, "or", InvalidInputError, "argument='or' is unknown; take one of symmetric, mutual, mutual+mst."),
        (KIND, 3, InvalidTypeError, "argument=3 is unknown; take one of symmetric"),
        (KIND, None, InvalidTypeError, "argument=None is unknown"),
        (WEIGHT, "gauss", InvalidInputError, "take one of binary, heat, cosine, self_tuning."),
        (WEIGHT, ["heat"], InvalidTypeError, "argument=['heat'] is unknown"),
        (METRIC, "nearest", InvalidInputError, "argument='nearest' is unknown; take one of "),
        (METRIC, 2, InvalidTypeError, "must be the name of a metric, or a function of two rows"),
        (REDUCE, 0, InvalidInputError, "argument=0; take a number of components >= 1, 'auto', or None"),
        (REDUCE, True, InvalidInputError, "argument=True; take a number of components"),
        (REDUCE, "half", InvalidInputError, "argument='half'; take a number of components"),
    ],
)
def test_bad_values_are_named_with_a_remedy(rule, value, error, message):
    with pytest.raises(error, match=re.escape(message)):
        rule("argument", value)
