"""The interior point method against CVXPY, and what ends it."""

import cvxpy as cp
import numpy as np
import pytest
from margin_problems import random_space

from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.product_sdp import product_sdp
from specmargin.optima.boxes.products import Products, separate, separate_triangles


def relaxation(space, products):
    """The relaxation over moments [[X, x], [x', 1]] by Clarabel."""
    n = len(space.y)
    M = cp.Variable((n + 1, n + 1), PSD=True)
    X, x = M[:n, :n], M[:n, n]
    P = np.linalg.inv(space.Q)
    c = np.full(n, space.offset)
    constraints = [M[n, n] == 1]
    for i, j, p, q, sign in zip(products.i, products.j, products.p, products.q, products.sign, strict=True):
        product = x[i] - p if j == n else X[i, j] - p * x[j] - q * x[i] + p * q
        constraints.append(sign * product >= 0)
    for (i, j, k), (r, s, t) in zip(products.triangles[:, :3].tolist(), products.signs.tolist(), strict=True):
        sums = r * s * M[i, j] + r * t * M[i, k] + s * t * M[j, k] + M[i, i] + M[j, j] + M[k, k]
        constraints.append(sums >= 2)
    if space.total is not None:
        a = space.balance
        constraints += [a @ x == space.total, X @ a == space.total * x]
    value = 0.5 * cp.trace(P @ X) - (P @ c) @ x + 0.5 * c @ P @ c
    return float(cp.Problem(cp.Minimize(value), constraints).solve("CLARABEL"))


@pytest.mark.parametrize("sparse", [0, 10_000])
@pytest.mark.parametrize("seed", range(6))
def test_the_value_is_that_of_clarabel(seed, sparse, monkeypatch):
    """With the zeros of F and of the products left out, as in large problems, and with full matrices."""
    monkeypatch.setattr("specmargin.optima.boxes.product_sdp._SPARSE", sparse)
    space = random_space(seed, most=6)
    plain = Products.of(space.y, None)
    value = product_sdp(space, plain, tol=1e-7).value
    # The price of the balance leaves a little.
    assert value == pytest.approx(relaxation(space, plain), rel=1e-6 if space.total is None else 3e-3)
    box = MarginBox.of(space.y)
    assert box.meet(*space.quadratic.box(2.0 * value + 0.1), 2.0 * value + 0.1)
    found = product_sdp(space, Products.of(space.y, box), tol=1e-7)
    cuts = separate(found.X, box, [], 10)
    products = Products.of(space.y, box, None, cuts)
    better = product_sdp(space, products, tol=1e-7)
    assert better.value == pytest.approx(relaxation(space, products), rel=1e-5 if space.total is None else 3e-3)
    assert better.value >= found.value * (1 - 1e-6) >= value * (1 - 2e-6)
    assert (better.lam >= 0).all()
    triangles = separate_triangles(better.X, space.free, [], 12)
    products = Products.of(space.y, box, None, cuts, triangles)
    best = product_sdp(space, products, tol=1e-7)
    assert best.value == pytest.approx(relaxation(space, products), rel=1e-5 if space.total is None else 3e-3)
    assert best.value >= better.value * (1 - 1e-6)
    assert len(best.lam) == len(products)


@pytest.mark.parametrize("seed", range(4))
def test_the_value_does_not_depend_on_the_start(seed):
    """From none, from what is known of another relaxation, from nonsense; the own multipliers are the quickest."""
    space = random_space(seed, most=20, least=16)
    plain = Products.of(space.y, None)
    found = product_sdp(space, plain)
    level = 2.0 * found.value + 0.1
    box = MarginBox.of(space.y)
    assert box.meet(*space.quadratic.box(level), level)
    products = Products.of(
        space.y, box, None, separate(found.X, box, [], 10), separate_triangles(found.X, space.free, [], 20)
    )
    known = products.taken(plain, found.lam)
    assert np.isfinite(known).sum() == len(plain) < len(products)
    best, rng = product_sdp(space, products, tol=1e-7), np.random.default_rng(seed)
    starts = [known, 0.0 * known, best.lam, np.full(len(known), np.nan), 1e8 * best.lam]
    for start in (*starts, np.where(rng.random(len(known)) < 0.5, best.lam, 0.0)):
        again = product_sdp(space, products, start=start, tol=1e-7)
        assert again.value == pytest.approx(best.value, rel=1e-6)
        assert (again.lam >= 0).all()
    assert product_sdp(space, products, start=best.lam).n_iter < product_sdp(space, products).n_iter


def test_a_level_that_is_reached_ends_it_early_and_one_that_is_near_does_not():
    space = random_space(2)
    products = Products.of(space.y, None)
    full = product_sdp(space, products, tol=1e-8)
    reached = product_sdp(space, products, tol=1e-8, level=0.5 * full.value)
    assert 0.5 * full.value < reached.value
    assert reached.n_iter < full.n_iter
    near, far = (product_sdp(space, products, tol=0.5, level=share * full.value) for share in (1.01, 3.0))
    assert full.value - near.value < 0.1 * (1.01 * full.value - near.value)
    assert near.n_iter > far.n_iter
    assert product_sdp(space, products, deadline=0.0).n_iter == 0
