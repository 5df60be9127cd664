"""Bounds by products: recomputed from their multipliers in balls of 200 bits, and what follows from their proofs."""

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from margin_problems import column, exact, quadratic_form, random_space

from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.product_bound import product_bound
from specmargin.optima.boxes.product_sdp import product_sdp
from specmargin.optima.boxes.products import Products, separate, separate_triangles


def solved(seed, tol=1e-8):
    """A problem, its box at a rough level, products with cuts, and multipliers that are nearly best."""
    space = random_space(seed)
    space.highest = 1e3
    box = MarginBox.of(space.y)
    level = 1.5 * product_sdp(space, Products.of(space.y, None)).value + 1.0
    box.meet(*space.quadratic.box(level), level)
    found = product_sdp(space, Products.of(space.y, box))
    triangles = separate_triangles(found.X, space.free, [], 2 * len(space.y))
    products = Products.of(space.y, box, None, separate(found.X, box, [], 3 * len(space.y)), triangles)
    return space, products, product_sdp(space, products, tol=tol)


def lagrangian(space, products, lam):
    """The Hessian (half), the minimiser and the minimum of J - sum lam g + price (a'x - total)^2, in balls."""
    Q, a = exact(space)
    n = len(space.y)
    H, h, constant = Q.inv() / 2, arb_mat(n, 1), arb(0)
    c = column(np.full(n, space.offset))
    h -= H * c  # half of the slope
    constant += quadratic_form(H, c)
    if space.price:
        H += a * a.transpose() * arb(space.price)
        h -= a * arb(space.price * 1.0) * arb(space.total)
        constant += arb(space.price) * arb(space.total) ** 2
    rows = len(products.i)
    for t, signs, one in zip(
        products.triangles[:, :3].tolist(), products.signs.tolist(), lam[rows:].tolist(), strict=True
    ):
        constant += 2 * arb(one)
        for a in range(3):
            for b in range(3):  # a pair counts from both sides; a square for the square of the sum, and by itself
                weight = arb(one) * signs[a] * signs[b] / 2 * (2 if a == b else 1)
                i, j = t[a], t[b]
                if i == j == n:
                    constant -= weight
                elif j == n:
                    h[i, 0] -= weight / 2
                elif i == n:
                    h[j, 0] -= weight / 2
                else:
                    H[i, j] -= weight
    columns = (products.i, products.j, products.p, products.q, products.sign, lam[:rows])
    for i, j, p, q, sign, one in zip(*(x.tolist() for x in columns), strict=True):
        weight = arb(one) * sign
        if j == n:
            h[i, 0] -= weight / 2
            constant += weight * p
            continue
        H[i, j] -= weight / 2
        H[j, i] -= weight / 2
        h[i, 0] += weight * q / 2
        h[j, 0] += weight * p / 2
        constant -= weight * p * q
    x = H.solve(-h)
    return H, x, constant + (h.transpose() * x)[0, 0]


def is_positive_definite(H):
    """Whether all leading minors are positive, in balls."""
    n = H.nrows()
    return all(arb_mat([[H[i, j] for j in range(k)] for i in range(k)]).det() > 0 for k in range(1, n + 1))


@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_in_balls(seed):
    space, products, found = solved(seed)
    proof = product_bound(space, products, found.lam)
    with ctx.workprec(200):
        H, _, least = lagrangian(space, products, proof.lam)
        assert is_positive_definite(H)
        assert proof.lower <= least
        assert proof.lower >= least - 1e-6 * (1 + least)
        assert proof.lower == pytest.approx(found.value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_quadratics_below_j_hold_in_balls(seed):
    space, products, found = solved(seed, tol=1e-3)
    proof = product_bound(space, products, 0.9 * found.lam)
    quadratic, rng = proof.quadratic(), np.random.default_rng(seed)
    with ctx.workprec(200):
        H, x, least = lagrangian(space, products, proof.lam)
        inverse = H.inv()
        for _ in range(5):
            p, level = rng.standard_normal(len(proof.x)), proof.lower + 10.0 ** rng.uniform(-2, 1)
            e = column(p)
            radius = (arb(level) - least) * quadratic_form(inverse, e)
            most = (e.transpose() * x)[0, 0] + radius.sqrt()
            bound = quadratic.support(p, level)
            assert most <= bound <= most + 1e-3 * (1 + abs(most))


def test_any_multipliers_prove_something_once_they_are_small_enough():
    space, products, found = solved(3)
    least = product_bound(space, products, found.lam).lower
    for lam in (found.lam * (1 + 1e-9), found.lam - 1e-3, np.zeros(len(products))):
        proof = product_bound(space, products, lam)
        assert (proof.lam >= 0).all()
        assert proof.lower <= least + 1e-6 * abs(least)
    assert product_bound(space, products, 1e6 * (found.lam + 1)) is None


def test_single_multipliers_bound_their_products():
    space, products, found = solved(2)
    proof = product_bound(space, products, found.lam)
    level, box = proof.lower + 1e-3, MarginBox.of(space.y)
    assert proof.reduce(box, level)
    for c in products.squares:
        limit = np.sqrt(1 + 1e-3 / proof.lam[c])
        assert box.high[products.i[c]] == pytest.approx(limit, rel=1e-9) or limit > 1e6
    lines = products.lines[products.sign[products.lines] > 0]
    assert box.high[products.i[lines]] == pytest.approx(1 + 1e-3 / proof.lam[lines], rel=1e-6)
