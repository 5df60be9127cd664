"""Targets of regression: which samples are labelled, in every spelling of a missing value, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.labels import encode_targets

VALUES = np.array([1.5, np.nan, -2.0, np.nan, 0.0])
KNOWN = [0, 2, 4]


@pytest.mark.parametrize(
    "y",
    [
        VALUES,
        VALUES.astype(np.float32),
        np.where(np.isnan(VALUES), None, VALUES),
        [1.5, None, -2, None, 0],
        np.ma.masked_array(np.nan_to_num(VALUES), mask=np.isnan(VALUES)),
        pd.Series(VALUES).astype("Float64"),
        pd.Series([1.5, pd.NA, -2.0, pd.NA, 0.0], dtype=object),
    ],
)
def test_missing_values_are_unlabelled_samples(y):
    targets = encode_targets(y)
    np.testing.assert_array_equal(targets.values, [1.5, -2.0, 0.0])
    assert targets.values.dtype == np.float64
    assert targets.labeled.tolist() == KNOWN
    assert targets.n_samples == 5
    assert targets.columns.shape == (3, 1)
    assert targets.shaped(np.ones((4, 2, 1))).shape == (4, 2)


def test_several_outputs_are_columns():
    targets = encode_targets(np.column_stack([VALUES, 2 * VALUES]))
    assert targets.values.shape == targets.columns.shape == (3, 2)
    assert targets.shaped(np.ones((4, 2))).shape == (4, 2)
    one = encode_targets(VALUES[:, None])
    assert one.values.shape == (3, 1)
    assert one.shaped(np.ones((4, 1))).shape == (4, 1)


def test_whole_numbers_and_truth_values_are_numbers():
    np.testing.assert_array_equal(encode_targets([3, 1, 2]).values, [3.0, 1.0, 2.0])
    np.testing.assert_array_equal(encode_targets(np.array([True, False])).values, [1.0, 0.0])


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([1.0, np.nan, -1e101], InvalidInputError, r"too large for squares.*y\[2\] is -1e\+101"),
        ([[1.0, 2.0], [np.nan, 3.0]], InvalidInputError, r"y\[1\].*some of its outputs"),
        (["1", 2.0], InvalidTypeError, "no number|pass numbers"),
        (np.array(["2020-01-01"], dtype="M8[D]"), InvalidTypeError, "datetime64"),
        (np.array([object(), 1.0]), InvalidTypeError, "no number"),
    ],
)
def test_what_is_no_target_is_refused(y, error, message):
    with pytest.raises(error, match=message):
        encode_targets(y)
