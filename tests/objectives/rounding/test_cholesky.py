import numpy as np
import pytest

from specmargin.rounding import cholesky


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("overwrite", [True, False])
def test_factor_of_a_definite_matrix_and_none_of_others(rng, clean, overwrite):
    A = rng.normal(size=(9, 12))
    A = A @ A.T
    C = cholesky(A.copy(), clean=clean, overwrite=overwrite)
    assert C is not None
    np.testing.assert_allclose(np.tril(C) @ np.tril(C).T, A, rtol=1e-12, atol=1e-12)
    assert (np.triu(C, 1) == 0).all() or not clean
    A[4, 4] = -1.0
    assert cholesky(A.copy(), clean=clean, overwrite=overwrite) is None


def test_the_callers_matrix_stays_unless_it_may_be_used():
    A = np.asfortranarray(np.eye(5) + 0.1)
    before = A.copy()
    cholesky(A)
    np.testing.assert_array_equal(A, before)
    np.testing.assert_array_equal(cholesky(A.T, clean=False), cholesky(A, clean=False))
