"""Products of box sides: their values, their matrix, and the most violated ones."""

import itertools

import numpy as np
import pytest

from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.products import Products, separate, separate_triangles

BOX = MarginBox(np.array([1.0, -2.0, -3.0, -np.inf]), np.array([2.5, 3.0, -1.0, np.inf]))
LABELS = np.array([1.0, 0.0, -1.0, 0.0])


def test_products_are_nonnegative_in_the_box_and_their_matrix_adds_them_up():
    cuts = [(0, 1, kind) for kind in range(4)] + [(1, 2, kind) for kind in range(4)]
    products = Products.of(LABELS, BOX, cuts=cuts)
    assert len(products) == 2 + 2 + 3 + 8  # no diagonal product of the sample without a box
    rng = np.random.default_rng(0)
    lam = rng.random(len(products))
    for _ in range(20):
        x = np.array([rng.uniform(1, 2.5), rng.choice([-2.0, -1.0, 1.0, 3.0]), rng.uniform(-3, -1), 1.5])
        z = np.append(x, 1.0)
        g = products.values(np.outer(z, z))
        assert (g >= -1e-12).all()
        assert z @ products.matrix(lam) @ z == pytest.approx(lam @ g)
    assert len(products.squares) == len(products.lines) == 2
    some = products.chosen(products.diagonal)
    assert len(some) == 2 + 3


def test_the_most_violated_products_are_found():
    rng = np.random.default_rng(1)
    box = MarginBox(np.full(6, -2.0), np.full(6, 2.0))
    B = rng.standard_normal((6, 6))
    x = rng.uniform(-1, 1, 6)
    X = np.block([[3 * B @ B.T + np.outer(x, x), x[:, None]], [x[None], np.ones((1, 1))]])
    every = [(i, j, kind) for i in range(6) for j in range(i + 1, 6) for kind in range(4)]
    values = Products.of(np.zeros(6), box, np.zeros(0, dtype=int), every).values(X)[6:]
    worst = [every[k] for k in np.argsort(values) if values[k] < -1e-3]
    assert len(worst) > 6
    assert separate(X, box, [], 5) == worst[:5]
    assert separate(X, box, worst[:3], 3) == worst[3:6]
    assert separate(X, box, [], 10_000) == worst
    assert separate(X, box, [], 0) == []


def test_a_side_that_is_nowhere_has_no_products():
    box = MarginBox(np.array([-np.inf, -2.0]), np.array([2.0, np.inf]))
    X = np.array([[1.0, 50.0, 0.0], [50.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    cuts = separate(X, box, [], 10)
    assert cuts == [(0, 1, 3)]


def test_multipliers_are_those_of_the_same_products_and_triangles():
    cuts, triangles = [(0, 1, 0), (0, 1, 1), (1, 2, 3)], [(0, 1, 2, 0), (0, 1, 4, 3)]
    old = Products.of(LABELS, BOX, cuts=cuts, triangles=triangles)
    lam = np.arange(1.0, len(old) + 1)
    wider = MarginBox(BOX.low - 1.0, BOX.high + 1.0)
    same = Products.of(LABELS, wider, cuts=cuts, triangles=triangles)
    assert same.taken(old, lam).tolist() == lam.tolist()
    # Sample 1 has a label; one of its cuts, the one with other sides, and one triangle are left.
    new = Products.of(np.array([1.0, 1.0, -1.0, 0.0]), BOX, cuts=[(0, 1, 1), (0, 1, 2)], triangles=triangles[1:])
    taken = dict(zip(new.keys(), new.taken(old, lam).tolist(), strict=True))
    known = dict(zip(old.keys(), lam.tolist(), strict=True))
    assert {key: x for key, x in taken.items() if x == x} == {key: known[key] for key in taken if key in known}
    assert [key for key, x in taken.items() if x != x] == [(1, 4, 4), (0, 1, 2)]
    assert taken[0, 1, 1] == lam[old.keys().index((0, 1, 1))]
    assert taken[0, 1, 4, 3] == lam[-1]


ALL = [(i, j, k, kind) for i, j, k in itertools.combinations(range(5), 3) for kind in range(4)]
"""The triangles of four samples and the constant 1."""


def triangle(i, j, k, kind, M):
    """A triangle's value where M holds the second moments of (x, 1), term by term."""
    a, b, c = ([1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1])[kind]
    pairs = a * b * M[i, j] + a * c * M[i, k] + b * c * M[j, k]
    return pairs + M[i, i] + M[j, j] + M[k, k] - 2.0


def test_triangles_hold_wherever_all_x_are_beyond_one_and_are_tight_there():
    grid = [-3.0, -2.0, -1.5, -1.0, 1.0, 1.5, 2.0, 3.0]
    products = Products.of(np.zeros(4), None, triangles=ALL)
    least = np.inf
    for x in itertools.product(grid, repeat=4):
        z = np.append(x, 1.0)
        g = products.values(np.outer(z, z))[4:]
        least = np.minimum(least, g)
    assert (least == 0.0).all()
    z = np.array([0.5, 0.5, -0.5, 1.0, 1.0])  # and not elsewhere
    assert products.values(np.outer(z, z)).min() < -1.0


def test_triangles_and_their_matrix_are_the_sums_of_their_rows():
    rng = np.random.default_rng(3)
    B = rng.standard_normal((5, 5))
    M = B @ B.T / (B[-1] @ B[-1])
    products = Products.of(LABELS, BOX, cuts=[(0, 1, 2)], triangles=ALL)
    values = products.values(M)
    assert len(products) == len(values) == 2 + 2 + 3 + 1 + len(ALL)
    assert values[8:] == pytest.approx([triangle(*one, M) for one in ALL])
    lam = rng.random(len(products))
    assert np.vdot(products.matrix(lam), M) == pytest.approx(lam @ values)
    rows, weights = products.in_rows(lam)
    assert weights @ rows.values(M) == pytest.approx(lam @ values)
    assert not len(products.chosen(products.diagonal).triangles)


def test_the_most_violated_triangles_are_found_and_no_sample_is_in_most_of_them():
    rng = np.random.default_rng(4)
    x = rng.uniform(-0.2, 0.2, 9)
    B = rng.standard_normal((9, 2))
    B /= np.linalg.norm(B, axis=1)[:, None]
    M = np.append(x, 1.0)
    M = np.outer(M, M)
    M[:9, :9] += B @ B.T
    samples = np.array([7, 0, 2, 3, 5, 8])
    every = [
        (*sorted(ijk), kind) for ijk in itertools.combinations([*sorted(samples.tolist()), 9], 3) for kind in range(4)
    ]
    worst = sorted((one for one in every if triangle(*one, M) < -1e-3), key=lambda one: triangle(*one, M))
    assert len(worst) > 8
    assert separate_triangles(M, samples, [], 1) == worst[:1]
    assert set(separate_triangles(M, samples, [], 10_000)) == set(worst)
    assert set(separate_triangles(M, samples, worst[:3], 10_000)) == set(worst[3:])
    assert separate_triangles(M, samples, [], 0) == separate_triangles(M, samples[:1], [], 5) == []
    few = separate_triangles(M, samples, [], 3)
    assert len(few) == 3
    assert max(sum(i in one[:3] for one in few) for i in range(10)) <= 4
