"""What an array must be: the first bad entry is named, and the limits of scale are those of powers of the features."""

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.arrays import (
    checked_sparse,
    feature_rows,
    finite_numbers,
    finite_rows,
    first_of,
    numbers_array,
    sparse_from_parts,
    vector,
)
from specmargin.exceptions import InvalidInputError, InvalidTypeError

CORNER = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, -3.0]])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_array])
def test_the_first_bad_entry_is_named_in_every_form(form):
    with pytest.raises(InvalidInputError, match=r"1 values that are not finite or below 0, the first W\[1, 2\] is -3"):
        finite_numbers("W", form(CORNER), "weights", least=0.0)
    finite_numbers("W", form(CORNER), "weights", least=-3.0)
    spoilt = CORNER.copy()
    spoilt[0, 1] = np.inf
    with pytest.raises(InvalidInputError, match=r"not finite, the first W\[0, 1\] is inf"):
        finite_numbers("W", form(spoilt), "weights")


def test_an_entry_is_shown_by_its_place_and_value():
    values = np.array([[5.0, 6.0], [7.0, 8.0]])
    assert first_of("K", values, values > 6) == "K[1, 0] is 7.0"
    stored = sp.csr_array(np.array([[0.0, 6.0], [7.0, 0.0]]))
    assert first_of("K", stored, stored.data > 6) == "K[1, 0] is 7.0"
    assert first_of("y", np.array(["a", "b"], dtype=object), np.array([False, True])) == "y[1] is 'b'"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_features_are_refused_where_their_powers_leave_the_range(form):
    largest, smallest = 1e75, 1e-150
    assert np.isfinite(1e8 * largest**4)
    assert smallest**2 >= np.finfo(float).tiny
    for fine in (largest, smallest, 0.0):
        finite_rows(form(np.full((2, 2), fine)))
    with pytest.raises(InvalidInputError, match=r"X holds values up to 1.1e\+75, whose fourth powers overflow"):
        finite_rows(form(np.full((2, 2), 1.1 * largest)))
    with pytest.raises(InvalidInputError, match=r"Z holds values up to 9.0e-151, whose squares underflow"):
        finite_rows(form(np.full((2, 2), 0.9 * smallest)), "Z")
    finite_rows(form(np.full((2, 2), 0.9 * smallest)), small=False)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("a", InvalidTypeError, "v='a' is no array of numbers; pass weights"),
        (["a"], InvalidTypeError, r"v=\['a'\] holds <U1"),
        ([1j], InvalidTypeError, "holds complex128"),
        ([[1.0]], InvalidInputError, r"v has the shape \(1, 1\); pass weights"),
        ([1.0, None], InvalidInputError, r"the first v\[1\] is nan"),
    ],
)
def test_what_is_no_vector_of_numbers(value, error, message):
    with pytest.raises(error, match=message):
        vector("v", value, "weights")
    assert vector("v", [True, 2], "weights").tolist() == [1.0, 2.0]
    given = np.array([1, 2])
    assert numbers_array("weights")("v", given) is given


def test_rows_that_scikit_learn_refuses_are_refused_in_our_words():
    from sklearn.utils import check_array

    assert feature_rows([[1, 2]], "X", check_array).tolist() == [[1, 2]]
    with pytest.raises(InvalidInputError, match=r"X has the shape \(2,\).*Reshape your data"):
        feature_rows([1.0, 2.0], "X", check_array)
    with pytest.raises(InvalidInputError, match=r"X\[0, 1\] is 'a'"):
        feature_rows([[1.0, "a"]], "X", lambda X: check_array(X, dtype=float))
    masked = np.ma.masked_array(np.ones((2, 2)), mask=[[False, False], [True, False]])
    with pytest.raises(InvalidInputError, match=r"1 masked entries, the first at \(1, 0\)"):
        feature_rows(masked, "X", check_array)
    with pytest.raises(InvalidTypeError, match="have no scale"):
        feature_rows(np.array([["2026-01-01"]], dtype="datetime64[D]"), "X", check_array)


FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_sparse_matrices_that_are_equal_as_dense_ones_are_equal_at_the_door(form, kind):
    given = getattr(sp, f"{form}_{kind}")(CORNER)
    rows = checked_sparse("X", given)
    assert (rows.format, isinstance(rows, sp.sparray), given.format) == ("csr", kind == "array", form)
    assert (rows.data.tolist(), rows.indices.tolist(), rows.indptr.tolist()) == ([1.0, 2.0, -3.0], [0, 1, 2], [0, 2, 3])
    assert rows.indices.dtype == rows.indptr.dtype == np.int32


def test_entries_in_parts_out_of_order_and_of_zero_become_one_each_on_a_copy():
    data, indices = np.array([1.5, 1.0, 0.5, 0.0, -3.0]), np.array([1, 0, 1, 0, 2], dtype=np.int64)
    given = sp.csr_array((data, indices, np.array([0, 3, 5], dtype=np.int64)), shape=(2, 3))
    assert given.indices.dtype == np.int64
    rows = checked_sparse("X", given)
    assert (rows.data.tolist(), rows.indices.tolist(), rows.indptr.tolist()) == ([1.0, 2.0, -3.0], [0, 1, 2], [0, 2, 3])
    assert rows.indices.dtype == rows.indptr.dtype == np.int32
    assert (given.nnz, given.indices.tolist(), given.data.tolist()) == (5, [1, 0, 1, 0, 2], data.tolist())
    clean = sp.csr_array(CORNER)
    assert np.shares_memory(checked_sparse("X", clean).data, clean.data)


SPOILT = {
    "an index beyond the columns": {"indices": [0, 7, 2]},
    "an index far beyond them": {"indices": [0, 2**33, 2]},
    "a negative index": {"indices": [0, -1, 2]},
    "indices that are no whole numbers": {"indices": np.array([0.0, 1.0, 2.0])},
    "too few indices": {"indices": [0, 1]},
    "a falling indptr": {"indptr": [0, 9, 3]},
    "a falling indptr that ends in zero": {"indptr": [0, 9, 0]},
    "steps of indptr that wrap": {"indptr": [0, -(2**31) + 1, 3]},
    "an indptr beyond the entries": {"indptr": [0, 2, 9]},
    "an indptr that starts late": {"indptr": [1, 2, 3]},
    "an indptr of three rows": {"indptr": [0, 1, 2, 3]},
    "too few values": {"data": [1.0, 2.0]},
    "values in two dimensions": {"data": [[1.0, 2.0, -3.0]]},
    "too many columns": {"shape": (2, 2**40)},
    "a side that is no number": {"shape": (2, 2.5)},
    "a negative side": {"shape": (2, -3)},
    "three sides": {"shape": (2, 3, 1)},
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_parts_that_do_not_fit_together_are_refused_by_name(spoilt):
    parts = {"data": [1.0, 2.0, -3.0], "indices": [0, 1, 2], "indptr": [0, 2, 3], "shape": (2, 3), **SPOILT[spoilt]}
    arrays = tuple(np.asarray(parts[name]) for name in ("data", "indices", "indptr"))
    with pytest.raises(InvalidInputError, match=r"^X .*(make|pass|leave)"):
        sparse_from_parts("X", arrays, parts["shape"])
    if "shape" not in SPOILT[spoilt]:
        for form in ("csr", "csc"):
            matrix = getattr(sp, f"{form}_array")(CORNER if form == "csr" else CORNER.T)
            for name, value in zip(("data", "indices", "indptr"), arrays, strict=True):
                setattr(matrix, name, value)
            with pytest.raises(InvalidInputError, match=r"^X of the shape"):
                checked_sparse("X", matrix)


def test_other_formats_are_refused_where_they_do_not_fit():
    block = sp.bsr_array((np.ones((2, 2, 2)), np.array([0, 1]), np.array([0, 1, 2])), shape=(4, 4))
    assert checked_sparse("X", block).nnz == 8
    block.indices = np.array([0, 2])
    ragged = sp.bsr_array((np.ones((1, 2, 2)), np.array([0]), np.array([0, 1])), shape=(3, 3))
    lists = sp.lil_array(CORNER)
    lists.rows[0] = [0]
    outside = sp.lil_array(CORNER)
    outside.rows[1] = [5]
    keys = sp.dok_array(CORNER)
    keys._dict[(0, 9)] = 1.0
    places = sp.coo_array(CORNER)
    places.coords = (np.array([0, 0, 9]), places.coords[1])
    bands = sp.dia_array((np.ones((1, 3)), np.array([0])), shape=(3, 3))
    bands.offsets = np.array([2**32])
    for matrix in (block, ragged, lists, outside, keys, places, bands, sp.coo_array((3, 2**27 + 1))):
        with pytest.raises(InvalidInputError, match=r"^X .*(make|pass)"):
            checked_sparse("X", matrix)
    with pytest.raises(InvalidInputError, match=r"shape \(3,\); pass a row per sample"):
        checked_sparse("X", sp.coo_array(np.ones(3)))
