"""Bounds on the false labels that LapSVM withstands: the numbers of the proof by definition, and all by refits."""

import itertools
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from full_size import shortened

from specmargin import solvers
from specmargin.labels import encode_labels
from specmargin.objectives import LapSVM
from specmargin.objectives.held_out.flip_bounds import _Problem, certified_flips
from specmargin.objectives.held_out.label_flips import attacked_flips

LOSSES = ("hinge", "squared_hinge")


def problem(seed, least=6, most=9, m=20):
    """Return a small LapSVM: two clusters, some of them near, weights in every third, no intercept in every fifth."""
    rng = np.random.default_rng(seed)
    l = int(rng.integers(least, most))
    truth = np.arange(m) % 2
    Z = rng.normal(size=(m, 2)) + np.outer(2 * truth - 1, [rng.choice([0.5, 2.0]), 0.0])
    K = np.exp(-rng.choice([0.05, 0.3, 1.0]) * ((Z[:, None] - Z) ** 2).sum(axis=-1)) + rng.choice([0.0, 0.2])
    labels = encode_labels(np.where(np.arange(m) < l, truth, -1))
    if seed % 3 == 0:
        labels = labels.weighted(rng.choice([0.5, 1.0, 2.0], size=l))
    gamma_A, loss = float(10.0 ** rng.uniform(-2, 1)), LOSSES[seed % 2]
    return LapSVM(K, None, labels, loss=loss, gamma_A=gamma_A, fit_intercept=bool(seed % 5))


def solved(obj):
    """Return decisions of all samples, v and b."""
    answer = solvers.factorized(obj).variables
    cross = obj.K @ obj.reduction.X
    return cross @ answer["v"] + answer["b"], np.asarray(answer["v"]), float(answer["b"])


def flipped(obj, false):
    """Return the problem with some labels flipped; None where one class is left."""
    codes = obj.labels.sign_codes.copy()
    codes[list(false)] ^= 1
    weights = obj.labels.weights
    return replace(obj, labels=replace(obj.labels.with_codes(codes), weights=weights)) if np.ptp(codes) else None


def changes(obj, codes, sets):
    """Return the size of the smallest of these sets that changes each decision, l + 1 where none does."""
    radius = np.full(len(codes), obj.labels.n_labeled + 1)
    for false in sets:
        other = flipped(obj, false)
        f = np.full(len(codes), 1.0 - 2.0 * codes) if other is None else solved(other)[0]
        changed = (f > 1e-9 * np.abs(f).max()) != codes
        radius[changed] = np.minimum(radius[changed], len(false))
    return radius


def attacked(obj, codes):
    """Return the sizes of the sets that are found, without any that are enumerated."""

    def answer(classes):
        other = flipped(obj, np.flatnonzero(classes != obj.labels.sign_codes))
        f = np.full(len(codes), 2.0 * classes[0] - 1.0) if other is None else solved(other)[0]
        return (f > 1e-9 * np.abs(f).max()).astype(int), f

    l = obj.labels.n_labeled
    return (attacked_flips(answer, obj.labels.sign_codes, 2, np.full((len(codes), l), -1), 0, 300) >= 0).sum(axis=1)


@pytest.mark.parametrize("seed", range(10))
def test_certified_enumerated_attacked(seed):
    obj = problem(seed)
    f, v, b = solved(obj)
    codes, l = (f > 1e-9 * np.abs(f).max()).astype(int), obj.labels.n_labeled
    found = attacked(obj, codes)
    assert (found > 0).all()
    enumerated = changes(
        obj, codes, [s for r in range(1, found.max() + 1) for s in itertools.combinations(range(l), r)]
    )
    assert (certified_flips(obj, obj.K @ obj.reduction.X, v, b) < enumerated).all()
    assert (enumerated <= found).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", shortened(range(10, 70), range(10, 200)))
def test_certified_enumerated_attacked_of_200_problems(seed):
    test_certified_enumerated_attacked(seed)


def clusters(seed):
    """Return a problem of forty labels in two clusters, most of which agree, and a smooth kernel."""
    rng, truth = np.random.default_rng(seed), np.arange(60) % 2
    Z = rng.normal(size=(60, 2)) + np.outer(2 * truth - 1, [2.0, 0.0])
    K = np.exp(-0.05 * ((Z[:, None] - Z) ** 2).sum(axis=-1))
    labels = encode_labels(np.where(np.arange(60) < 40, truth, -1))
    return LapSVM(K, None, labels, loss=LOSSES[seed % 2], gamma_A=[1.0, 3.0][seed % 3 // 2], fit_intercept=seed > 3)


@pytest.mark.parametrize("seed", range(8))
def test_more_labels_under_random_false_ones(seed):
    obj = clusters(seed)
    f, v, b = solved(obj)
    codes, rng = (f > 1e-9 * np.abs(f).max()).astype(int), np.random.default_rng(seed)
    certified = certified_flips(obj, obj.K @ obj.reduction.X, v, b)
    sets = [rng.choice(40, size=r, replace=False) for r in range(1, certified.max() + 1) for _ in range(40)]
    sets += [(i,) for i in range(40)]
    assert (certified < changes(obj, codes, sets)).all()


def test_something_is_certified():
    certified = []
    for seed in range(8):
        obj = clusters(seed)
        certified.append(certified_flips(obj, obj.K @ obj.reduction.X, *solved(obj)[1:]).mean())
    assert np.mean(certified) > 1.0, certified


def by_definition(obj, h, s, u, eta, beta, false):
    """Return the dual value of the constrained problem without some labels, and the multiplier of its constraint."""
    G, y, c = obj.reduction.G, obj.labels.sign, obj.labels.weights_or_ones
    kept = np.where(np.isin(np.arange(len(y)), false), 0.0, beta)
    d = kept - (kept**2 / (4 * c) if obj.loss.slack_power == 2 else 0.0)
    mu = float(s * (y @ kept)) if obj.fit_intercept else float(s * (u @ G @ (y * kept)) / (u @ G @ u))
    a = y * kept - mu * s * u
    return d.sum() - mu * eta - a @ G @ a / 4, mu


def parts(seed):
    obj = problem(seed, m=12)
    G, y, c = obj.reduction.G, obj.labels.sign, obj.labels.weights_or_ones
    f, v, b = solved(obj)
    i = int(np.argmax(np.abs(f[obj.labels.n_labeled :]))) + obj.labels.n_labeled
    h, s = (obj.K @ obj.reduction.X)[i], float(np.sign(f[i]))
    u = np.linalg.solve(G + 1e-9 * np.trace(G) / len(y) * np.eye(len(y)), h)
    rng = np.random.default_rng(seed)
    beta = rng.uniform(0.2, 1.0, len(y)) * np.where(y == s, c, 0.3 * c)
    return obj, v, b, h, s, u, beta


@pytest.mark.parametrize("seed", range(20))
def test_the_dual_value_bounds_the_constrained_problem(seed):
    obj, _, _, h, s, u, beta = parts(seed)
    G, y, c, eta = obj.reduction.G, obj.labels.sign, obj.labels.weights_or_ones, 0.1
    R = np.linalg.cholesky(G + 1e-10 * np.eye(len(y)))
    for false in [(), (0,), (1, 2)]:
        bound, mu = by_definition(obj, h, s, u, eta, beta, false)
        sign = np.where(np.isin(np.arange(len(y)), false), -y, y)
        w, b = cp.Variable(len(y)), cp.Variable() if obj.fit_intercept else 0.0
        slack = cp.pos(1 - cp.multiply(sign, R @ w + b)) ** obj.loss.slack_power
        held = [s * (u @ R @ w + b) <= eta]
        assert mu >= 0
        assert bound <= cp.Problem(cp.Minimize(c @ slack + cp.sum_squares(w)), held).solve(cp.CLARABEL) + 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_what_is_withstood_follows_from_the_dual_values_of_all_sets(seed):
    obj, v, b, h, s, u, beta = parts(seed)
    whole, l, eta = _Problem.of(obj, v, b), obj.labels.n_labeled, 0.01
    G, y = obj.reduction.G, obj.labels.sign
    mass = s * y if obj.fit_intercept else s * y * (G @ u) / (u @ G @ u)
    Z = np.eye(l) - u if obj.fit_intercept else None
    kernel = Z @ G @ Z.T if obj.fit_intercept else G - np.outer(G @ u, G @ u) / (u @ G @ u)
    few = [list(itertools.combinations(range(l), r)) for r in (1, 2, 3)]
    at_f = {false: float(whole.costs[list(false)].sum()) for sets in few for false in sets}
    left = [[by_definition(obj, h, s, u, eta, beta, false) for false in sets] for sets in few]
    least = [
        min(D - at_f[one] for one, (D, _) in zip(sets, values, strict=True))
        for sets, values in zip(few, left, strict=True)
    ]
    for value in (one + more for one in least for more in (-1.0, -1e-7, 1e-7, 1.0)):
        taken = whole._replace(value=float(value))
        found = taken._withstood(kernel[None], beta[None], (mass * beta)[None], np.array([eta]), np.zeros(1), 3)[0]
        truly = 0
        for r, (sets, values) in enumerate(zip(few, left, strict=True), start=1):
            if not all(value + at_f[one] < D and mu >= 0 for one, (D, mu) in zip(sets, values, strict=True)):
                break
            truly = r
        assert found <= truly
        assert (found >= 1) == (truly >= 1)  # of one label the bound is exact


def test_costs_are_those_of_flips():
    obj, v, b, *_ = parts(3)
    whole, c = _Problem.of(obj, v, b), obj.labels.weights_or_ones
    y, G = obj.labels.sign, obj.reduction.G
    for i in range(len(y)):
        sign = np.where(np.arange(len(y)) == i, -y, y)
        cost = c @ np.maximum(0, 1 - sign * (G @ v + b)) ** obj.loss.slack_power + v @ G @ v
        np.testing.assert_allclose(cost, whole.value + whole.costs[i], rtol=1e-12)


@pytest.mark.parametrize("gamma_A", [1e-10, 1e10])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_extreme_weights_and_scales(gamma_A, scale):
    obj = problem(7)
    obj = replace(obj, K=scale * obj.K, gamma_A=gamma_A)
    f, v, b = solved(obj)
    codes = (f > 1e-9 * np.abs(f).max()).astype(int)
    certified = certified_flips(obj, obj.K @ obj.reduction.X, v, b)
    assert (certified < changes(obj, codes, itertools.combinations(range(obj.labels.n_labeled), 1))).all()
