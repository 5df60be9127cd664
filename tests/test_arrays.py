"""What an array must be: the first bad entry is named, and the limits of scale are those of powers of the features."""

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.arrays import feature_rows, finite_numbers, finite_rows, first_of, numbers_array, vector
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
