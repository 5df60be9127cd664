"""Markers of samples without a label, in every spelling."""

from __future__ import annotations

import re
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from specmargin.exceptions import MarkerWarning
from specmargin.labels import is_unlabeled, label_array, warn_of_marker

NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "marker", "expected"),
    [
        ([0, 1, -1], -1, [False, False, True]),
        ([0.0, NAN], NAN, [False, True]),
        (["a", "b"], NAN, [False, False]),
        ([0, None, 1], None, [False, True, False]),
        (["a", None], NAN, [False, True]),
        (["a", ""], None, [False, True]),
        ([b"a", b""], NAN, [False, True]),
        (np.array(["2020", "NaT"], "datetime64[Y]"), None, [False, True]),
        (np.ma.masked_array([0, 1], [True, False]), None, [True, False]),
        (np.ma.masked_array([0, 1], [True, False]), 0, [False, False]),
        ([0, pd.NA, -1, None], -1, [False, False, True, False]),
        ([0, pd.NA, "", None, NAN, pd.NaT, 1], pd.NA, [False, True, True, True, True, True, False]),
        ([0, Decimal("nan")], "", [False, True]),
        (["a", "-1", "?"], "-1", [False, True, False]),
        (["cat", -1], -1, [False, True]),
        (("cat", -1.0), -1, [False, True]),
        (["cat", "-1"], -1, [False, False]),
        ([b"a", b"?"], "?", [False, False]),
        ([True, False], -1, [False, False]),
        ([[0, -1], [-1, 2]], -1, [[False, True], [True, False]]),
    ],
)
def test_is_unlabeled(y: Any, marker: Any, expected: list[bool]) -> None:
    mask = is_unlabeled(y, marker)
    assert mask.dtype == np.bool_
    assert mask.tolist() == expected


@pytest.mark.parametrize("marker", [[-1, 0], (0,), np.array([1])])
def test_marker_is_one_value(marker: Any) -> None:
    with pytest.raises(TypeError, match="one scalar"):
        is_unlabeled([0, 1], marker)


@pytest.mark.parametrize(
    ("y", "marker", "text"),
    [
        ([0, 1, 0, 1], -1, r"no sample carries the marker unlabeled=-1: all 4 count as labelled"),
        ([0, 1, -1], NAN, "unlabeled=nan"),
        ([0, 1, 2, 2], -1, "Inside VotingClassifier, BaggingClassifier or Stacking.*specmargin.WithUnlabeled"),
        (["a", "b", "-1", "-1"], -1, r"y holds '-1' 2 times, which counts as a class: .*pass unlabeled='-1'"),
        (np.array(["a", "-1", "-1", -1], dtype=object), -1, "y holds '-1' 2 times"),
        (["a", "nan", "b"], NAN, "y holds 'nan' 1 times.*pass unlabeled='nan'"),
        ([0, 1, -1], "-1", "y holds -1 1 times.*pass unlabeled=-1"),
        (["a", "-1", "b"], "-1", None),
        ([-1, 1, 0, 0], -1, r"-1, 0 and 1 \(1, 2 and 1 times\).*pass unlabeled=0"),
        ([0, 1, -1, -1], -1, None),
        ([0, 0, -1], -1, None),
        ([0, 0, 0, 1, -1, 2], -1, None),
        ([-1, 1, 0, 0], 0, None),
        ([-1, 1, NAN], None, None),
    ],
)
def test_markers_that_probably_mean_something_else(y: Any, marker: Any, text: str | None) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_marker(y, marker)
    if text is None:
        assert not caught
        return
    (warning,) = caught
    assert warning.category is MarkerWarning
    assert warning.filename == __file__
    assert re.search(text, str(warning.message))


def test_label_array_keeps_values() -> None:
    array = np.array(["a", "b"])
    assert label_array(array) is array
    assert label_array(["a", -1, NAN, None]).tolist()[:2] == ["a", -1]
    assert label_array(["a", "b"]).dtype.kind == "U"
    assert label_array([b"a", 1]).tolist() == [b"a", 1]
    assert label_array([np.str_("a"), "b"]).dtype.kind == "U"
