"""The affine map of the decisions: against the centred matrix written out, dense and sparse, for every intercept."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.objectives.features import Features

intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
UNLABELED = np.array([0, 2, 3, 6, 8])


def written_out(X, intercept, balance):
    """A and the offset, from the definitions."""
    if intercept == "balance":
        return X - X[UNLABELED].mean(axis=0), balance
    return np.column_stack([X, np.ones(len(X))]), 0.0


@pytest.fixture
def X(rng):
    X = rng.normal(size=(9, 4)) + 3.0
    X[rng.random(X.shape) < 0.4] = 0.0
    return X


@intercepts
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, sp.coo_array, sp.csc_matrix])
def test_map_is_the_matrix_written_out(intercept, form, X, rng, tol):
    features = Features.of(form(X), intercept, rows=UNLABELED, balance=0.2)
    A, offset = written_out(X, intercept, 0.2)
    w, a = rng.normal(size=A.shape[1]), rng.normal(size=len(A))
    assert (features.n_samples, features.size) == A.shape
    assert features.is_sparse == (form is not np.asarray)
    np.testing.assert_allclose(features.decisions(w), A @ w + offset, rtol=tol["exact"], atol=1e-13)
    np.testing.assert_allclose(features.products(w), A @ w, rtol=tol["exact"], atol=1e-13)
    np.testing.assert_allclose(features.adjoint(a), A.T @ a, rtol=tol["exact"], atol=1e-13)
    np.testing.assert_allclose(features.dense(), A, rtol=tol["exact"], atol=1e-13)
    V, B = rng.normal(size=(A.shape[1], 3)), rng.normal(size=(len(A), 3))
    np.testing.assert_allclose(features.products(V), A @ V, rtol=tol["exact"], atol=1e-13)
    np.testing.assert_allclose(features.adjoint(B), A.T @ B, rtol=tol["exact"], atol=1e-13)


@intercepts
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_subset_keeps_the_centre(intercept, form, X, rng):
    features = Features.of(form(X), intercept, rows=UNLABELED, balance=0.2)
    w, rows = rng.normal(size=features.size), np.array([7, 1, 1])
    np.testing.assert_allclose(features.subset(rows).decisions(w), features.decisions(w)[rows], rtol=1e-14)


@intercepts
def test_plane_gives_the_decisions_of_raw_features(intercept, X, rng):
    features = Features.of(X, intercept, rows=UNLABELED, balance=-0.4)
    w = rng.normal(size=features.size)
    v, b = features.coefficients(w)
    np.testing.assert_allclose(X @ v + b, features.decisions(w), rtol=1e-12, atol=1e-13)


@intercepts
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_squared_norms_are_those_of_the_rows_without_intercept(intercept, form, X):
    features = Features.of(form(X), intercept, rows=UNLABELED)
    A = written_out(X, intercept, 0.0)[0][:, :4]
    np.testing.assert_allclose(features.squared_norms, (A**2).sum(axis=1), rtol=1e-12)


def test_squared_norms_of_sparse_rows_at_the_centre_are_not_negative():
    """|x|^2 - 2 x'mu + |mu|^2 cancels to rounding of either sign."""
    for seed in range(20):
        X = sp.csr_array(np.tile(np.random.default_rng(seed).normal(size=(1, 7)), (5, 1)))
        assert (Features.of(X, "balance", rows=np.arange(5)).squared_norms >= 0).all()


def test_mean_decision_of_the_unlabeled_is_the_balance(X, rng):
    for balance in (-1.0, 0.0, 0.3, 1.0):
        features = Features.of(sp.csr_array(X), "balance", rows=UNLABELED, balance=balance)
        for _ in range(3):
            f = features.decisions(10 * rng.normal(size=4))
            assert f[UNLABELED].mean() == pytest.approx(balance, abs=1e-13)


def test_penalty_counts_the_intercept_where_it_is_regularized(X):
    assert Features.of(X, "balance", rows=UNLABELED).weights.tolist() == [1.0] * 4
    assert Features.of(X, "regularized", rows=UNLABELED).weights.tolist() == [1.0] * 5
    assert Features.of(X, "free", rows=UNLABELED).weights.tolist() == [1.0] * 4 + [0.0]


def test_sparse_features_stay_sparse_and_untouched(X):
    S = sp.csr_array(X)
    before = S.copy()
    features = Features.of(S, "balance", rows=UNLABELED)
    features.adjoint(np.ones(9))
    assert features.X.nnz == before.nnz
    assert (before != S).nnz == 0


def exact_decisions(X, rows, w, offset):
    """(X - mean of those rows) w + offset in fractions."""
    X, w = [[Fraction(x) for x in row] for row in X.tolist()], [Fraction(x) for x in w.tolist()]
    mu = [sum(X[i][k] for i in rows) / len(rows) for k in range(len(w))]
    return [float(sum((x - m) * z for x, m, z in zip(row, mu, w, strict=True)) + Fraction(offset)) for row in X]


@pytest.mark.parametrize("far", [1e3, 1e9, 1e12, 1e15])
def test_dense_features_far_from_the_origin_are_centred_once(far, rng):
    X = rng.normal(size=(9, 4)) + far * np.array([1.0, -1.0, 0.3, 0.0])
    features = Features.of(X, "balance", rows=UNLABELED, balance=0.2)
    w, a = rng.normal(size=4), rng.normal(size=9)
    exact = exact_decisions(X, UNLABELED, w, 0.2)
    np.testing.assert_allclose(features.decisions(w), exact, rtol=0, atol=1e-13 * (1 + far * 1e-15))
    np.testing.assert_allclose(features.dense() @ w + 0.2, features.decisions(w), rtol=0, atol=1e-14)
    np.testing.assert_allclose(features.adjoint(a), features.dense().T @ a, rtol=1e-12, atol=1e-13)
    assert features.decisions(w)[UNLABELED].mean() == pytest.approx(0.2, abs=1e-14)
    part = features.subset(np.array([1, 7]))
    np.testing.assert_allclose(part.decisions(w), features.decisions(w)[[1, 7]], rtol=1e-14)
    v, b = features.coefficients(w)
    np.testing.assert_allclose(X @ v + b, features.decisions(w), rtol=0, atol=1e-14 * far + 1e-12)


@intercepts
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("far", "length"), [(0.0, 3.0), (1e6, 3.0), (1e12, 3.0), (0.0, 1e-9)])
def test_errors_of_decisions_are_covered(intercept, form, far, length, X, rng):
    """Against fractions of the very numbers that the map is made of; sparse features pay for their distance."""
    X = np.where(X != 0, X + far, 0.0)
    features = Features.of(form(X), intercept, rows=UNLABELED, balance=0.2)
    w = length * rng.normal(size=features.size)
    if features.is_sparse and features.mu is not None:
        A = [[Fraction(x) - Fraction(m) for x, m in zip(row, features.mu, strict=True)] for row in X]
    else:
        A = [[Fraction(x) for x in row] for row in features.dense()]
    exact = [sum(x * Fraction(z) for x, z in zip(row, w, strict=True)) + Fraction(features.offset) for row in A]
    for f, errors in ((features.decisions(w), features.decision_errors(w)), features.accurate_decisions(w)):
        off = [abs(Fraction(x) - y) for x, y in zip(f, exact, strict=True)]
        assert all(x <= Fraction(e) for x, e in zip(off, errors, strict=True))
    lengths = np.array([float(sum(x * x for x in row)) ** 0.5 for row in A])
    if not (features.is_sparse and features.mu is not None):
        assert (features.decision_errors(w) <= 2.0**-52 * (11 * lengths * np.linalg.norm(w) + 1)).all()
    accurate, errors = features.accurate_decisions(w)
    assert (errors <= 1e-2 * features.decision_errors(w).max() + 2.0**-51 * (np.abs(accurate) + 1)).all()


@intercepts
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_what_margins_lack_of_one_is_right_to_the_last_digits(intercept, form, X):
    """At w whose margins are 1 but for rounding, where float64 knows 1 - y f to no digit at all."""
    features = Features.of(form(X[:3]), intercept, rows=np.arange(3), balance=0.2)
    y = np.array([1.0, -1.0, 1.0])
    w = np.linalg.lstsq(features.dense(), y - features.offset, rcond=None)[0]
    X = features.X.toarray() if features.is_sparse else features.dense()
    rows = [[Fraction(x) for x in row] for row in X]
    if features.is_sparse and features.mu is not None:
        rows = [[x - Fraction(m) for x, m in zip(row, features.mu, strict=True)] for row in rows]
    elif features.is_sparse:
        rows = [[*row, Fraction(1)] for row in rows]
    f = [sum(x * Fraction(z) for x, z in zip(row, w, strict=True)) + Fraction(features.offset) for row in rows]
    exact = [1 - Fraction(s) * x for s, x in zip(y, f, strict=True)]
    short = features.shortfalls(w, y)
    assert all(abs(Fraction(s) - e) <= Fraction(2.0**-52) * abs(e) for s, e in zip(short, exact, strict=True))
    if intercept != "balance":
        assert 0 < np.abs(short).max() < 1e-13  # nothing but rounding, and known all the same


def test_integers_are_read_as_floats():
    features = Features.of(np.array([[1], [2]]), "balance", rows=np.array([0, 1]))
    assert features.decisions(np.array([1.0])).tolist() == [-0.5, 0.5]


@intercepts
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_inner_products_are_those_that_the_penalty_sees(intercept, form, X):
    """A penalised intercept is a feature of ones, a free one is none; parts of the matrix are its parts."""
    features = Features.of(form(X), intercept, rows=UNLABELED, balance=0.2)
    A, _ = written_out(X, intercept, 0.2)
    A = A[:, :-1] if intercept == "free" else A
    rows = np.array([7, 1, 4])
    for _ in range(2):  # before the whole is kept, and after
        np.testing.assert_allclose(features.gram_of(rows), (A @ A.T)[np.ix_(rows, rows)], atol=1e-12)
        np.testing.assert_allclose(features.gram, A @ A.T, atol=1e-12)
    np.testing.assert_allclose(features.squared_norms + (intercept == "regularized"), (A**2).sum(axis=1), atol=1e-12)


def test_errors_of_the_decisions_of_empty_rows_count_the_centre(rng):
    """A sparse row of zeros far from the centre has the decision of minus the centre, with its rounding."""
    worst = 0.0
    for _ in range(50):
        X = 1e6 + rng.normal(size=(5, 3))
        X[0] = 0.0
        features = Features.of(sp.csr_array(X), "balance", rows=np.arange(1, 5), balance=0.2)
        w = rng.normal(size=3)
        exact = Fraction(0.2) - sum(Fraction(m) * Fraction(z) for m, z in zip(features.mu, w, strict=True))
        off = abs(Fraction(features.decisions(w)[0]) - exact)
        worst = max(worst, float(off))
        assert off <= Fraction(features.decision_errors(w)[0])
    assert worst > 1e-11


def test_indices_are_held_in_32_bits():
    S = sp.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]]))
    wide = sp.csr_array((S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64)), shape=S.shape)
    for form in (S, wide):
        X = Features.of(form, "free", rows=np.arange(2)).X
        assert X.indices.dtype == X.indptr.dtype == np.int32
        assert X.toarray().tolist() == [[0.0, 2.0], [1.0, 0.0]]


def test_features_that_are_no_matrix_are_named():
    with pytest.raises(TypeError, match="X='a' is no matrix; pass"):
        Features("a")
