"""The alignment solver against scipy, CVXPY, all supports, and the optimality conditions between formed kernels."""

import importlib
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from block_problems import blocks_of, labels_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

import specmargin as sm
from specmargin.objectives import Alignment, BlockAlignment
from specmargin.results import Status
from specmargin.solvers.spectrum.alignment import alignment
from specmargin.spectra import Spectrum

GRAPHS = {
    "simple": None,
    "cycle": nx.cycle_graph(24),
    "hypercube": nx.hypercube_graph(4),
    "complete": nx.complete_graph(12),
    "split": nx.disjoint_union(nx.cycle_graph(12), nx.path_graph(12)),
    "star": nx.star_graph(20),
}
kinds = pytest.mark.parametrize("kind", GRAPHS)
orders = pytest.mark.parametrize("order", [True, False], ids=["ordered", "unordered"])


def encoded(n, labeled, sign):
    y = np.full(n, -1)
    y[labeled] = sign > 0
    return sm.encode_labels(y)


def data(kind="simple", q=9, l=8, *, seed=0):
    """A spectrum with simple eigenvalues, with many tied ones, or of two components; random labels."""
    rng = np.random.default_rng(seed)
    if kind == "simple":
        W = nx.to_numpy_array(nx.path_graph(24)) + np.exp(-cdist(*2 * [rng.normal(size=(24, 2))])) * (1 - np.eye(24))
    else:
        W = nx.to_numpy_array(GRAPHS[kind])
    n = len(W)
    sign = rng.choice([-1.0, 1.0], size=min(l, n))
    sign[:2] = -1, 1
    labels = encoded(n, rng.permutation(n)[: len(sign)], sign)
    return sm.spectra.laplacian_eigenpairs(W, q=min(q, n), normalized=False), labels


def with_rows(U, sign, **options):
    """An objective whose labelled rows are U, whether or not the columns are those of any Laplacian."""
    n, q = 2 * len(U), U.shape[1]
    vectors = np.zeros((n, q))
    vectors[: len(U)] = U / np.sqrt(n)
    return Alignment(Spectrum(np.arange(float(q)), vectors, 1), encoded(n, np.arange(len(U)), sign), **options)


def digits(l, q, *, seed=0):
    X, target = load_digits(return_X_y=True)
    pair = np.isin(target, (3, 8))
    X, truth = X[pair], target[pair] == 3
    rng = np.random.default_rng(seed)
    labeled = rng.permutation(len(X))[:l]
    W = kneighbors_graph(X, 5)
    spectrum = sm.spectra.laplacian_eigenpairs(W.maximum(W.T), q=q, normalized=False)
    return spectrum, encoded(len(X), labeled, truth[labeled] - 0.5)


def kernels(obj):
    """The extreme kernels as columns of length one, and their lengths."""
    columns = np.array([((obj.U * ray) @ obj.U.T).ravel() for ray in obj.cone.matrix()]).T
    lengths = np.linalg.norm(columns, axis=0)
    zero = lengths <= 1e-28 * lengths.max()
    return np.where(zero, 0.0, columns / np.where(zero, 1.0, lengths)), lengths


def target(obj):
    return np.outer(obj.labels.sign, obj.labels.sign).ravel() / obj.labels.n_labeled


def by_scipy(obj):
    columns, lengths = kernels(obj)
    kappa, _ = nnls(columns, target(obj), maxiter=3000)
    delta = obj.cone.matrix().T @ np.divide(kappa, lengths, out=np.zeros_like(kappa), where=kappa > 0)
    return delta / delta.sum()


def violation(obj, result):
    """The optimality conditions with kernels formed and yy' - K as a matrix, relative to the largest h."""
    kappa, columns = result.variables["kappa"], kernels(obj)[0]
    K = (obj.U * obj.cone.weights(kappa)) @ obj.U.T
    yy = target(obj)
    gradient = columns.T @ (yy - K.ravel() * (K.ravel() @ yy) / (K.ravel() @ K.ravel()))
    wrong = np.where(kappa > 0, np.abs(gradient), np.maximum(gradient, 0.0))
    return wrong.max() / (columns.T @ yy).max()


# The optimum


@kinds
@orders
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize(("q", "l"), [(2, 2), (24, 2), (24, 4), (9, 12), (24, 12), (5, 20)])
def test_it_is_the_least_squares_of_scipy_and_satisfies_the_conditions(kind, order, ties, q, l):
    """With q = 24 and l <= 4 there are more rays than entries of a kernel: H is singular."""
    for seed in range(2):
        spectrum, labels = data(kind, q, l, seed=seed)
        try:
            obj = Alignment(spectrum, labels, order=order, ties=ties)
        except ValueError:  # the first two eigenvectors alone may have nothing to do with the labels
            assert q == 2
            continue
        result = alignment(obj)
        value = obj.value_at(result.variables["delta"])
        assert value == pytest.approx(obj.value_at(by_scipy(obj)), rel=1e-13)
        # Of an eigenvector that the labels hardly see, as one of many of an eigenvalue may be, h is rounding, too.
        assert violation(obj, result) < 1e-12 * max(1.0, 1e-4 / value)
        assert result.history["kkt"][-1] < 1e-13
        assert result.variables["kappa"].min() >= 0
        if order:
            # Without an order the bound may hang on rays that are rounding altogether.
            assert abs(result.certificate.relative_gap) < 1e-12
            assert result.status is Status.OPTIMAL


def exact(result):
    """The certificate without what rounding may have hidden, 1e-14 to 5e-12 here."""
    assert result.certificate.rounding <= 1e-11
    return replace(result.certificate, rounding=0.0)


# Hard numerics


@pytest.mark.parametrize("distance", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("l", [6, 20])
def test_nearly_dependent_rays_keep_half_their_digits(distance, l):
    """y - d e and y + 2 d e make yy' best as 2 : 1, up to d^2. M tells them apart by d^2, their kernels by d."""
    rng = np.random.default_rng(l)
    sign = rng.permutation([-1.0, 1.0] * (l // 2))
    e = rng.normal(size=l)
    e -= sign * (sign @ e) / l
    U = np.column_stack([sign - distance * e, 0.1 * rng.normal(size=l), sign + 2 * distance * e])
    obj = with_rows(U, sign, order=False)
    result = alignment(obj)
    np.testing.assert_allclose(result.variables["delta"], [2 / 3, 0, 1 / 3], atol=1e-14 / distance + 4 * distance**2)
    assert violation(obj, result) < 1e-14
    assert abs(exact(result).relative_gap) <= 1e-14


@pytest.mark.parametrize("gradient", [1e-4, 1e-8, 1e-12, -1e-12])
def test_the_smallest_gradient_counts(gradient):
    """After p has entered, a p + b s + t has that much to gain, where s is what p leaves of y, and t new."""
    rng = np.random.default_rng(4)
    sign = rng.permutation([1.0, -1.0] * 5)
    p = sign * rng.uniform(0.5, 1.0, size=10)
    s = sign - p * (p @ sign) / (p @ p)
    known = np.column_stack([p, sign])
    t = rng.normal(size=10)
    t -= known @ np.linalg.lstsq(known, t, rcond=None)[0]
    obj = with_rows(np.column_stack([p, p + gradient * s / (s @ s) + t]), sign, order=False)
    result = alignment(obj)
    assert (result.variables["delta"] > 0).tolist() == [True, gradient > 0]
    assert violation(obj, result) < 1e-14


@orders
@pytest.mark.parametrize("kind", ["simple", "cycle", "complete"])
@pytest.mark.parametrize("l", [2, 4, 12])
def test_it_ends_even_if_rounding_is_never_left_alone(kind, order, l, monkeypatch):
    """Rays of a gradient of 1e-17 enter and leave: supports must not return for ever."""
    obj = Alignment(*data(kind, 24, l), order=order)
    expected = alignment(obj).certificate.primal_objective
    monkeypatch.setattr(importlib.import_module("specmargin.solvers.spectrum.alignment"), "_KKT", 0.0)
    result = alignment(obj)
    assert result.n_iter <= 60
    assert result.certificate.primal_objective == pytest.approx(expected, rel=1e-13)
    assert violation(obj, result) < 1e-12


@orders
def test_perfect_alignment(order):
    rng = np.random.default_rng(1)
    sign = rng.permutation([1.0, -1.0] * 4)
    U = np.column_stack([np.ones(8), sign, rng.normal(size=(8, 3))])
    result = alignment(with_rows(U, sign, order=order))
    np.testing.assert_allclose(result.variables["delta"], [0, 1, 0, 0, 0], atol=1e-15)
    assert result.certificate.primal_objective == pytest.approx(1.0, abs=1e-15)
    assert abs(exact(result).relative_gap) <= 1e-14


@pytest.mark.parametrize("entry", [0.0, 1e-17])
def test_an_eigenvector_that_vanishes_at_the_labels_gets_no_weight(entry):
    """It lives on another component; what rounding leaves of it at the labels means nothing."""
    rng = np.random.default_rng(2)
    U, sign = rng.normal(size=(6, 5)), np.array([1.0, 1, 1, -1, -1, 1])
    U[:, 2] = entry * sign
    result = alignment(with_rows(U, sign, order=False))
    without = alignment(with_rows(np.delete(U, 2, axis=1), sign, order=False))
    assert result.variables["delta"][2] == 0.0
    np.testing.assert_allclose(np.delete(result.variables["delta"], 2), without.variables["delta"], atol=1e-14)


@orders
def test_the_spectra_of_several_graphs(order):
    """One cone beside the other, one trace: at least as well aligned as either graph alone."""
    gains = []
    for seed in range(4):
        (one, labels), (other, _) = data("simple", 8, 10, seed=seed), data("cycle", 7, 10)
        both = Alignment([one, other], labels, order=order)
        result = alignment(both)
        assert result.variables["delta"].shape == (15,)
        assert result.certificate.is_optimal(1e-13)
        assert violation(both, result) < 1e-13
        assert both.value_at(by_scipy(both)) == pytest.approx(result.certificate.primal_objective, rel=1e-13)
        alone = [alignment(Alignment(spectrum, labels, order=order)) for spectrum in (one, other)]
        best = max(found.certificate.primal_objective for found in alone)
        gains.append(result.certificate.primal_objective / best - 1)
    assert min(gains) > -1e-14
    assert max(gains) > 1e-3


@orders
@pytest.mark.parametrize("kind", ["simple", "complete"])
def test_a_graph_beside_itself(order, kind):
    """Equal rays enter together, and one of each pair has to go."""
    spectrum, labels = data(kind, 9, 7)
    alone, twice = (alignment(Alignment(parts, labels, order=order)) for parts in (spectrum, [spectrum, spectrum]))
    assert twice.certificate.primal_objective == pytest.approx(alone.certificate.primal_objective, rel=1e-14)
    assert twice.certificate.is_optimal(1e-13) or not order
    delta = twice.variables["delta"]
    np.testing.assert_allclose(delta[:9] + delta[9:], alone.variables["delta"], atol=1e-11)


@orders
@pytest.mark.parametrize(("l", "q"), [(10, 200), (100, 200), (150, 80)])
def test_few_steps_on_digits(l, q, order):
    obj = Alignment(*digits(l, q), order=order)
    result = alignment(obj)
    assert result.n_iter <= 12
    assert abs(exact(result).relative_gap) < 1e-14
    assert violation(obj, result) < 1e-13
    assert obj.value_at(by_scipy(obj)) <= result.certificate.primal_objective * (1 + 1e-14)


# What comes back


@kinds
@orders
def test_variables_belong_together(kind, order):
    obj = Alignment(*data(kind, 12, 9), order=order)
    result = alignment(obj)
    delta, kappa = result.variables["delta"], result.variables["kappa"]
    np.testing.assert_allclose(obj.cone.drops(delta), kappa, atol=1e-15)
    if order:
        assert (np.diff(delta[1:]) <= 0).all()
        assert set(np.flatnonzero(np.diff(delta[1:]))) <= set(obj.cone.block_ends - 1)
    # Complementarity.
    assert result.duals["order"].min() >= 0
    assert (result.duals["order"] * kappa).max() < 1e-14


@orders
@given(seed=st.integers(0, 10**6))
def test_the_alignment_never_falls(order, seed):
    """Old rays leave one by one, where they reach zero: dropping all that would turn negative loses ground."""
    rng = np.random.default_rng(seed)
    l, q = int(rng.integers(3, 9)), int(rng.integers(5, 30))
    mixed = rng.normal(size=(l, 3)) @ rng.normal(size=(3, q)) + 0.3 * rng.normal(size=(l, q))
    sign = rng.choice([-1.0, 1.0], size=l)
    sign[:2] = 1, -1
    history = alignment(with_rows(mixed, sign, order=order)).history
    assert (np.diff(history["objective"]) >= -1e-14).all()


def test_steps_may_run_out():
    obj = Alignment(*digits(60, 100), order=False)
    result = alignment(obj, max_iter=1)
    assert result.status is Status.MAX_ITER
    assert result.variables["delta"].sum() == pytest.approx(1.0)
    assert result.certificate.relative_gap > 1e-3
    assert alignment(obj, tol=2.0, max_iter=1).status is Status.OPTIMAL


@pytest.mark.parametrize("seed", range(20))
def test_alignment_and_bound_are_those_of_fractions_where_products_cancel(seed):
    """Eigenvectors that are nearly orthogonal on the labelled samples, or to the labels: few digits are left."""
    rng = np.random.default_rng(seed)
    l, q = 8, 3
    sign = np.where(np.arange(l) % 2, 1.0, -1.0)
    U = np.linalg.qr(rng.normal(size=(l, q)))[0]
    U[:, 0] = (1e-8 * sign + U[:, 0] - sign * (sign @ U[:, 0]) / l) / np.sqrt(l)
    obj = with_rows(U, sign, order=False, ties=False)
    V, exact = obj.U.tolist(), Fraction
    a = [sum(exact(row[j]) * int(s) for row, s in zip(V, sign, strict=True)) ** 2 for j in range(q)]
    M = [[sum(exact(row[j]) * exact(row[k]) for row in V) ** 2 for k in range(q)] for j in range(q)]
    for delta in (np.eye(q)[0], rng.dirichlet(np.ones(q))):
        d = [exact(x) for x in delta.tolist()]
        aligned = sum(x * y for x, y in zip(a, d, strict=True))
        squared = sum(x * m * y for x, row in zip(d, M, strict=True) for m, y in zip(row, d, strict=True))
        least, most = obj._bounds(delta)
        assert exact(least) ** 2 * l**2 * squared <= aligned**2 <= exact(most) ** 2 * l**2 * squared
        if delta[0] == 1.0:
            assert least < obj.value_at(delta) * (1 - 1e-10)  # which rounding of 1e-16 of 1e-8 might have made up


# Blocks of features, several classes


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("order", [True, False])
def test_over_blocks_it_is_nonnegative_least_squares(n_classes, centered, order):
    labels = labels_of(n_classes)
    blocks = blocks_of(labels, [3, 40, 1, 7])
    obj = BlockAlignment(blocks, labels, order=order, centered=centered)
    kernels = [R @ R.T for R in np.split(obj.U, obj.cone.starts[1:], axis=1)]
    rays = np.tensordot(obj.cone.blocks.matrix(), kernels, 1)
    T = obj.target if obj.target.ndim == 2 else obj.target[:, None]
    kappa, _ = nnls(np.column_stack([K.ravel() for K in rays]), (T @ T.T).ravel())
    delta = obj.cone.blocks.weights(kappa)
    result = alignment(obj)
    np.testing.assert_allclose(result.variables["delta"], delta / delta.sum(), atol=1e-9)
    assert result.certificate.is_optimal(1e-10)
    assert sm.certify(obj, result).is_optimal(1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_over_blocks_are_proved(seed):
    rng = np.random.default_rng(seed)
    labels = labels_of(int(rng.integers(2, 6)), n=60, labelled=int(rng.integers(12, 50)), seed=seed)
    sizes = rng.integers(1, 60, size=int(rng.integers(1, 15)))
    blocks = blocks_of(labels, sizes, seed=seed, signal=float(rng.choice([0.0, 0.3, 1.0])))
    if len(blocks) > 1:
        blocks[-1] = blocks[0].copy() if rng.random() < 0.5 else 1e-8 * blocks[-1]
    result = alignment(BlockAlignment(blocks, labels, order=bool(rng.random() < 0.5)))
    assert result.certificate.is_optimal(1e-8), result.certificate
    assert result.variables["delta"].sum() == pytest.approx(1.0)
