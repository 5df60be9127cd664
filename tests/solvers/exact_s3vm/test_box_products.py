"""Products of box sides: their values, their matrix, and the most violated ones."""

import numpy as np
import pytest

from specmargin.solvers.exact_s3vm.box_products import Products, separate
from specmargin.solvers.exact_s3vm.margin_boxes import MarginBox

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
    assert products.squares.sum() == products.lines.sum() == 2
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
