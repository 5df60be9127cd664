"""Weights of float64 at which margins that must be 1 are 1: lattices against their definition, J in fractions."""

from fractions import Fraction

import numpy as np
import pytest

from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.solvers.s3vm.branch_and_bound import branch_and_bound
from specmargin.solvers.s3vm.lattice import _closest, _reduced, near_margins, rounded_margins


def test_a_reduced_basis_spans_the_same_lattice(rng):
    basis = rng.integers(-1000, 1000, size=(6, 6)).astype(float)
    reduced = _reduced(basis)
    change = np.linalg.solve(basis.T, reduced.T).T
    np.testing.assert_allclose(change, np.rint(change), rtol=0, atol=1e-6)
    assert abs(np.linalg.det(change)) == pytest.approx(1.0)
    R = np.linalg.qr(reduced.T, mode="r")
    sizes = np.diag(R)
    assert (np.abs(np.triu(R, 1)) <= 0.5 * np.abs(sizes)[:, None] + 1e-9).all()
    assert (R.diagonal(1) ** 2 + sizes[1:] ** 2 >= 0.9 * sizes[:-1] ** 2 * (1 - 1e-9)).all()


def test_the_closest_point_of_a_skewed_basis(rng):
    """The lattice of integers: rounding is the answer, whatever basis it is given in."""
    basis = np.eye(5)
    for i, j in ((0, 1), (1, 2), (3, 0), (4, 3), (2, 4), (0, 2), (1, 4)):
        basis[i] += 17 * basis[j]
    target = 100.0 * rng.standard_normal(5)
    np.testing.assert_allclose(_closest(basis, target), np.rint(target), rtol=0, atol=1e-9)


def forced(seed, C):
    """A balance of 1: no unlabelled decision may be below 1, and none can be above."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 30))
    return S3VM(X, encode_labels([0, 1] + 6 * [-1]), "hinge", C=C, balance=1.0)


def decisions(rows, w):
    """Return 1 + the products of rows with w, in fractions."""
    return [1 + sum(Fraction(x) * Fraction(z) for x, z in zip(row, w, strict=True)) for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_weights_nearby_meet_margins_that_rounding_misses(seed):
    obj = forced(seed, 1e10)
    # The shortest w with f = -1, 1, ..., 1.
    y = np.append(-1.0, np.ones(7))
    w = np.linalg.lstsq(obj.features.dense(), y - 1.0, rcond=1e-12)[0]
    rows, before = obj.features.dense(), rounded_margins(obj, w)
    moved = min(near_margins(obj, w), key=lambda v: rounded_margins(obj, v))
    f = decisions(rows, w)
    charged = [max(1 + f[0], Fraction(0)), *(max(1 - x, Fraction(0)) for x in f[1:])]
    assert before == pytest.approx(1e10 * float(sum(charged)), rel=1e-9)
    v, f = [Fraction(x) for x in moved], decisions(rows, moved)
    # The centred rows do not sum to zero, but to their rounding: what that leaves no w nearby can mend.
    left = 1e10 * max(0.0, float(sum(1 - x for x in f[2:])))
    assert before > 1e-5
    assert left <= rounded_margins(obj, moved) <= left + 0.01 * before
    np.testing.assert_allclose(moved, w, rtol=0, atol=1e-9)
    # What is claimed of J there is true, in fractions and to ten digits.
    short = [max(1 + f[0], Fraction(0)), *(max(1 - x, Fraction(0)) for x in f[1:])]
    value = sum(x * x for x in v) / 2 + Fraction(1e10) * sum(short)
    certificate = obj.prove(moved)
    assert certificate.rounding <= 1e-10 * certificate.primal_objective
    assert abs(Fraction(certificate.primal_objective) - value) <= Fraction(certificate.rounding)


def test_where_even_that_fails_the_message_says_why():
    obj = forced(0, 1e12)
    result = branch_and_bound(obj)
    assert result.status.name == "NUMERICAL"
    assert "take a smaller C, a balance nearer to zero, or the squared hinge" in result.message
    assert "take a smaller" not in branch_and_bound(forced(0, 1e6)).message
