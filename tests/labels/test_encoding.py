"""Markers become signs, and nothing else changes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from specmargin.labels import Labels, encode_labels, hide_labels, is_unlabeled

NAN = float("nan")

# Class values of every kind, as lists that hold all of their classes.
ALPHABETS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(10**6), 10**6),
    "big int": st.integers(2**53, 2**60),
    "float": st.floats(-1e6, 1e6),
    "bool": st.booleans(),
    "str": st.text("abcxyz -1", min_size=1, max_size=4),
}
MARKERS = st.sampled_from([-1, 0, NAN, None, "?", "a much longer marker", -(10**9), 0.5, -1.0, np.float32(NAN)])


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[Any], np.ndarray]:
    """Classes and a sample in which each occurs twice at least, as numpy reads it."""
    kind = draw(st.sampled_from(sorted(ALPHABETS)))
    classes = draw(st.lists(ALPHABETS[kind], min_size=2, max_size=2 if kind == "bool" else 5, unique=True))
    y = 2 * classes + draw(st.lists(st.sampled_from(classes), max_size=12))
    return sorted(classes), np.array(draw(st.permutations(y)))


@settings(max_examples=120)
@given(samples(), MARKERS, st.integers(0, 2**32 - 1), st.booleans())
def test_hide_then_encode(sample: tuple[list[Any], np.ndarray], marker: Any, seed: int, balanced: bool) -> None:
    classes, y = sample
    before = y.copy()
    assume(marker not in classes)
    count = {"per_class": 2} if balanced else {"n_labeled": (len(classes) + len(y)) // 2}
    hidden = hide_labels(y, unlabeled=marker, random_state=seed, **count)
    np.testing.assert_array_equal(y, before)
    mask = is_unlabeled(hidden, marker)
    kept = np.flatnonzero(~mask)
    # Only the hidden values changed, and each class kept as many labels as was asked for.
    assert hidden.shape == y.shape
    assert hidden[kept].tolist() == y[kept].tolist()
    expected = 2 * len(classes) if balanced else count["n_labeled"]
    assert len(kept) == expected
    numbers = [y[kept].tolist().count(value) for value in classes]
    assert numbers == [2] * len(classes) if balanced else min(numbers) >= 1

    labels = encode_labels(hidden, unlabeled=marker)
    assert labels.classes.tolist() == classes
    assert labels.n_samples == len(y)
    assert labels.n_labeled == len(kept)
    assert labels.labeled.tolist() == kept.tolist()
    assert labels.unlabeled.tolist() == np.flatnonzero(mask).tolist()
    for row, i in enumerate(labels.labeled):
        truth = [1.0 if y[i] == value else -1.0 for value in classes]
        assert (labels.sign[row].tolist() if len(classes) > 2 else labels.sign[row]) == (
            truth if len(classes) > 2 else truth[1]
        )


@given(samples(), st.integers(0, 2**32 - 1))
def test_encoding_follows_a_permutation(sample: tuple[list[Any], np.ndarray], seed: int) -> None:
    _, y = sample
    marked = y.astype(object)
    marked[0] = None
    assume(len(set(marked.tolist())) > 2)
    order = np.random.default_rng(seed).permutation(len(y))
    labels, moved = encode_labels(marked, None), encode_labels(marked[order], None)
    assert moved.classes.tolist() == labels.classes.tolist()
    full = np.zeros((len(y), *labels.sign.shape[1:]))
    full[labels.labeled] = labels.sign
    full_moved = np.zeros_like(full)
    full_moved[moved.labeled] = moved.sign
    np.testing.assert_array_equal(full_moved, full[order])


# Markers.


MISSING = [None, NAN, pd.NA, "", np.float32(NAN), pd.NaT]
"""Markers that all mean: a missing value."""


@pytest.mark.parametrize("marker", MISSING, ids=repr)
@pytest.mark.parametrize("dtype", [object, "str", "string", "category"])
@pytest.mark.parametrize("spelling", [None, NAN, pd.NA, ""], ids=repr)
def test_pandas_columns_of_strings(dtype: Any, spelling: Any, marker: Any) -> None:
    y = pd.Series(["dog", "cat", spelling, "dog"], dtype=dtype)
    labels = encode_labels(y, marker)
    assert labels.classes.tolist() == ["cat", "dog"]
    assert labels.labeled.tolist() == [0, 1, 3]
    assert labels.sign.tolist() == [1.0, -1.0, 1.0]
    with pytest.raises(ValueError, match=r"y\[2\] is .*, a missing value.*pass unlabeled=np\.nan$"):
        encode_labels(y, "?")


@pytest.mark.parametrize("marker", MISSING, ids=repr)
@pytest.mark.parametrize("dtype", [object, "Int64", "Float64", "boolean", "category", float])
@pytest.mark.parametrize("spelling", [None, NAN, pd.NA], ids=repr)
def test_pandas_columns_of_numbers(dtype: Any, spelling: Any, marker: Any) -> None:
    values = [True, False] if dtype == "boolean" else [1, 0]
    y = pd.Series([*values, None if dtype is float else spelling, values[0]], dtype=dtype)
    labels = encode_labels(y, marker)
    assert labels.classes.tolist() == values[::-1]
    assert labels.classes.dtype.kind in "bif"
    assert labels.labeled.tolist() == [0, 1, 3]
    with pytest.raises(ValueError, match=r"y\[2\] is .*, a missing value.*pass unlabeled=np\.nan$"):
        encode_labels(y, -1)
    assert encode_labels(y.dropna(), -1).classes.tolist() == values[::-1]


def test_numbers_of_one_type_in_objects_become_an_array_of_them() -> None:
    assert encode_labels(np.array([3, 1, None], dtype=object), None).classes.dtype.kind == "i"
    assert encode_labels(np.array([0.5, 1.5, None], dtype=object), None).classes.dtype.kind == "f"
    assert encode_labels(np.array([2**70, 1, None], dtype=object), None).classes.tolist() == [1, 2**70]
    assert encode_labels(np.array([True, False, None], dtype=object), None).classes.dtype.kind == "b"
    assert encode_labels(np.array(["b", "a", None], dtype=object), None).classes.dtype.kind == "O"


# Encoding.


def test_binary_signs_follow_the_sorted_classes() -> None:
    labels = encode_labels([5, 3, -1, 5])
    assert labels.is_binary
    assert labels.sign.tolist() == [1.0, -1.0, 1.0]
    assert labels.sign.dtype == np.float64
    assert labels.classes.tolist() == [3, 5]
    assert list(labels.one_vs_rest()) == [labels]


def test_one_column_per_class() -> None:
    labels = encode_labels(["c", "a", "?", "b", "a"], "?")
    assert not labels.is_binary
    assert labels.sign.tolist() == [[-1, -1, 1], [1, -1, -1], [-1, 1, -1], [1, -1, -1]]
    columns = list(labels.one_vs_rest())
    assert len(columns) == 3
    for k, binary in enumerate(columns):
        assert binary.is_binary
        assert binary.n_samples == 5
        np.testing.assert_array_equal(binary.sign, labels.sign[:, k])
        np.testing.assert_array_equal(binary.labeled, labels.labeled)


def test_everything_labeled() -> None:
    labels = encode_labels([0, 1])
    assert labels.unlabeled.tolist() == []
    assert labels.unlabeled.dtype == np.intp


def test_labels_are_values_that_can_be_kept() -> None:
    labels = encode_labels([0, 1, -1])
    for other in (pickle.loads(pickle.dumps(labels)), copy.deepcopy(labels)):
        np.testing.assert_array_equal(other.sign, labels.sign)
    with pytest.raises(AttributeError):
        labels.sign = np.zeros(2)
    # Arrays have no single truth value: labels compare and hash by identity instead of failing.
    assert labels != copy.deepcopy(labels)
    assert len({labels, labels}) == 1
    assert isinstance(labels, Labels)


@pytest.mark.parametrize(
    ("y", "marker", "text"),
    [
        # -1 as a class under the default marker: the message names the way out.
        ([-1, 1, -1, 1], -1, r"one class only \(1\).*unlabeled=0 or unlabeled=np\.nan"),
        ([1, 1], -1, "Label at least one sample of another class"),
        ([0.0, NAN, 1.0], -1, r"y\[1\] is nan.*unlabeled=np\.nan"),
        (np.array([0, 1, NAN], dtype=object), -1, r"y\[2\] is nan.*unlabeled=np\.nan"),
        ([0, 1, pd.NA], -1, r"y\[2\] is <NA>, a missing value.*pass unlabeled=np\.nan$"),
        (["a", "?", "b", NAN], "?", r"y\[3\] is nan, a missing value.*pass unlabeled=np\.nan$"),
        ([(0, 1), 1, 0], -1, "is no array of labels.*pass one label per sample"),
        (["a", 1, "b", -1], -1, r"types \['int', 'str'\]"),
    ],
)
def test_encode_refuses(y: Any, marker: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        encode_labels(y, marker)


def test_minus_one_is_a_class_under_another_marker() -> None:
    for y, marker in (([-1, 1, 0], 0), ([-1, 1, NAN], NAN), ([-1, 1, None], None)):
        labels = encode_labels(y, marker)
        assert labels.sign.tolist() == [-1.0, 1.0]
        assert labels.labeled.tolist() == [0, 1]


# Hiding.


@pytest.mark.parametrize(
    ("y", "marker", "kind"),
    [
        (np.array([0, 1], np.uint8), -1, "i"),
        (np.array([0, 1], np.uint8), 999, "u"),
        (np.array([0, 1], np.int8), -1000, "i"),
        (np.array([0, 1], np.int8), 10**30, "O"),
        (np.array([0, 1]), NAN, "f"),
        (np.array([2**60, 2**60 + 1]), NAN, "O"),
        (np.array([2**63 + 1, 1], np.uint64), -1, "O"),
        (np.array([0.5, 1.5], np.float32), -1, "f"),
        (np.array([0.5, 1.5], np.float32), np.float64(0.1), "O"),
        (np.array([True, False]), -1, "O"),
        (np.array(["a", "b"]), "unknown", "U"),
        (np.array(["a", "b"]), b"?", "O"),
        (np.array(["a", "b"]), -1, "O"),
        (np.array([0, 1]), None, "O"),
        (["a", "b"], -1, "O"),
    ],
)
def test_the_marker_fits(y: Any, marker: Any, kind: str) -> None:
    y = [*y, *y] if isinstance(y, list) else np.tile(y, 2)
    hidden = hide_labels(y, per_class=1, unlabeled=marker, random_state=0)
    mask = is_unlabeled(hidden, marker)
    assert hidden.dtype.kind == kind
    assert mask.sum() == 2
    assert hidden[~mask].tolist() == np.asarray(y)[~mask].tolist()


def test_hiding_is_seeded() -> None:
    y = np.arange(40) % 4
    one, two = (hide_labels(y, n_labeled=10, random_state=s) for s in (1, np.random.default_rng(1)))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, hide_labels(y, n_labeled=10, random_state=2))


def test_a_rare_class_keeps_its_label() -> None:
    y = np.array([0] * 500 + [1])
    for seed in range(20):
        hidden = hide_labels(y, n_labeled=2, random_state=seed)
        assert hidden[500] == 1
        assert (hidden == 0).sum() == 1


def test_hiding_is_uniform() -> None:
    # Within a class every sample is kept equally often: chi-square with 9 degrees, 99.9 % point 27.9.
    y = np.repeat([0, 1], 10)
    for count in ({"per_class": 2}, {"n_labeled": 8}):
        kept = sum((hide_labels(y, random_state=s, **count) != -1).astype(int) for s in range(500))
        for label in (0, 1):
            part = kept[y == label]
            assert ((part - part.mean()) ** 2 / part.mean()).sum() < 27.9


@pytest.mark.parametrize(
    ("y", "arguments", "error", "text"),
    [
        ([-1, 1], {"per_class": 1}, ValueError, r"marker -1 is itself a label.*unlabeled=np.nan"),
        ([0, 1, 1], {"per_class": 2}, ValueError, "class 0 has 1 samples; take 1 to 1"),
        (["a", "b", "b"], {"per_class": 2}, ValueError, "class 'a' has 1 samples"),
        ([0, 1], {"n_labeled": 3}, ValueError, "take 2 to 2"),
        ([0.0, 1.0, NAN], {"per_class": 1}, ValueError, r"y\[2\] is nan"),
        ([0, 1, None], {"per_class": 1, "unlabeled": ""}, ValueError, "marker '' is itself a label"),
    ],
)
def test_hide_refuses(y: Any, arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        hide_labels(y, **arguments)


@pytest.mark.parametrize("labeled", [[[0, 1, 2]], [0, 1], 0])
def test_labels_with_another_number_of_indices_are_refused(labeled: Any) -> None:
    with pytest.raises(ValueError, match="one index for each row"):
        Labels(np.array([1.0, -1.0, 1.0]), np.array(labeled), np.array([0, 1]), 5)
