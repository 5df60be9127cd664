"""What objectives charge for rounding, with a unit so coarse that every part of the charge shows."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import specmargin as sm
from specmargin.objectives import S3VM, RegularizedClustering, SpectrumMargin, clustering, relative_margin_loss
from specmargin.objectives.cones import margin
from specmargin.objectives.intercept import hinge_intercepts
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.objectives.rounding import graph_transducer as graph_transducer_rounding
from specmargin.optima import S3VMRelaxation
from specmargin.optima import relaxation_rounding as s3vm_relaxation_proof
from specmargin.optima.row_space import RowSpace

UNIT = 2.0**-12


def coarse(n):
    """The cost of n operations in that unit."""
    return n * UNIT


# LapSVM


# Weighted SVMs


# Over eigenvectors


def test_the_sums_over_a_spectrum_are_charged(spectrum_data, monkeypatch):
    """With a unit of 1e-6 for long doubles: norms, and quadratic forms of the scores."""
    obj = SpectrumMargin(*spectrum_data(), C=2.0, order=False)
    n_labeled, delta = len(obj.labels.sign), np.full(obj.q, obj.rho / obj.q)
    v = np.linspace(1.0, 2.0, obj.q)
    point = margin.SpectrumPoint(np.zeros(n_labeled), np.zeros(obj.cone.m), delta, v, 0.0)
    f, zero = obj.U @ v, np.zeros(n_labeled)
    gamma = obj.labels.sign - obj.labels.sign.mean()
    z, none = obj.U.T @ gamma, np.zeros(obj.q)
    upper, lower = obj._primal_bounds(point, f, zero)[1], obj._dual_bounds(gamma, z, none)[1]
    monkeypatch.setattr(margin, "EXTENDED_UNIT", 1e-6)
    above = obj._primal_bounds(point, f, zero)[1] - upper
    norm, form = (v**2 / delta).sum() / 2, (z**2).max() / 2
    assert above == pytest.approx(16 * (obj.q + 4) * 1e-6 * norm, rel=1e-6)
    below = lower - obj._dual_bounds(gamma, z, none)[1]
    assert below == pytest.approx(8 * (obj.q + 4) * 1e-6 * form, rel=1e-6)


def test_the_sums_of_a_relative_margin_are_charged(monkeypatch):
    """Losses of decisions, and conjugates of multipliers, with a bound and without one."""
    monkeypatch.setattr(relative_margin_loss, "EXTENDED_UNIT", UNIT)
    y, f = np.array([1.0, -1.0, 1.0]), np.array([-2.0, 0.5, 0.25])
    for B in (np.inf, 4.0):
        loss = RelativeMargin(2.0, B)
        value, most = loss.value_bounds(y, f, np.zeros(3), 0.25)
        errors = 2 * UNIT * np.abs(f + 0.25)
        losses = 2 * np.maximum(1 - y * (f + 0.25), 0)
        assert value == losses.sum()
        above = 2 * np.maximum(1 - y * (f + 0.25) + errors, 0)
        assert most == pytest.approx(above.sum() * (1 + 4 * 7 * UNIT), rel=1e-12)
        s = np.array([0.25, 1.0, 1.5])
        total, least = loss.dual_bounds(s)
        charge = 4 * 7 * UNIT * s.sum()
        assert total == s.sum()
        assert charge * (1 - 1e-9) <= float(total - least)
        assert np.isfinite(B) or float(total - least) <= charge * (1 + 1e-9)


# The transducer


def test_the_lowest_eigenvalue_is_charged_for_every_product(monkeypatch):
    """For k (l + k + 24) operations."""
    rng, l, k = np.random.default_rng(2), 5, 4
    V, Q, C, p = rng.normal(size=(l, k)), np.array([0.1, 0.3, 0.5, 2.0]), 0.7, np.full(l, 1 / l)
    A = np.diag(Q) + 2 * C * (V.T * p) @ V
    a, E = np.linalg.eigh(A)
    obj = SimpleNamespace(labeled_rows=V, Q=Q, C=C, p=p, k=k, A=A, eigen=(a, E))
    monkeypatch.setattr(graph_transducer_rounding, "gamma", lambda n: 1e-4 * n)
    proofs = graph_transducer_rounding.GraphTransducerRounding(obj)
    share = k * 1e-4 * (l + k + 24)
    assert proofs.least_eigenvalue <= np.linalg.eigvalsh(A - share * np.diag(A.diagonal()))[0]
    assert proofs.least_eigenvalue > 0.5 * a[0]


# Clustering


def test_a_mean_that_is_cleared_costs_thrice_its_length(rng):
    """Of a kernel that is not centred: K c 1 is taken off a function, whose length is not known to more than that."""
    n = 12
    X = rng.normal(size=(n, n))
    K, zero = X @ X.T / n + 0.5, np.zeros((n, 1))
    obj = RegularizedClustering(K, np.zeros((n, n)), 1.0)
    k = K.sum(axis=1)
    alpha = rng.normal(size=(n, 1))
    alpha = alpha - (k @ alpha) / k.sum() + 1e-3
    f = K @ alpha
    c = abs(f.sum()) / k.sum()
    length, cost = np.linalg.norm(f), float((alpha * f).sum())
    moved = c * np.linalg.norm(k) / length
    cost += 2 * c * np.linalg.norm(k) * np.linalg.norm(alpha)
    found = obj._highest(alpha, f, zero, zero, zero)
    least = cost / length**2 / (1 - 2 * moved) / (1 - 3 * moved)
    assert least <= found <= least * (1 + 3 * moved)
    assert moved > 1e-4


@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_products_of_columns_are_charged_for_their_terms(size, monkeypatch, rng):
    n = 6
    obj = RegularizedClustering(np.eye(n) - 1 / n, np.zeros((n, n)), 1.0)
    alpha = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, 2))]))[0][:, 1:]
    alpha, zero = size * alpha, np.zeros((n, 2))
    monkeypatch.setattr(clustering, "gamma", lambda m: 1e-5 * m)
    found = obj._highest(alpha, alpha, zero, zero, zero)
    # Costs, lengths, inner products of both columns, and the sum of the two quotients.
    least = 2 * (1 + 1e-5 * (n + 8)) / (1 - 1e-5 * (n + 2)) / (1 - 2 * 1e-5 * (n + 2)) * (1 + 1e-5 * 10)
    assert least <= found <= 2.01


# The relaxation of S3VMs


@pytest.fixture
def relaxation(rng):
    """A relaxation of eleven samples in three coordinates whose rows have errors, and whose basis has a skew."""
    X = rng.normal(size=(11, 3))
    obj = S3VM(X, sm.encode_labels([0, 1, 1, 0, *[-1] * 7]), "hinge", C=0.7, C_star=0.4, balance=0.1)
    return S3VMRelaxation(obj, None, RowSpace(rng.normal(size=(11, 3)), np.eye(3), 0.2 * rng.uniform(size=11), 0.003))


def test_definiteness_is_charged_for_rows_and_basis(relaxation, rng):
    theta = 0.02 * rng.uniform(0.5, 1.0, 7)
    exact = replace(relaxation, space=RowSpace(relaxation.space.Z, np.eye(3), 0.0, 0.0))
    more = s3vm_relaxation_proof.definiteness_shift(relaxation, theta)
    more -= s3vm_relaxation_proof.definiteness_shift(exact, theta)
    rows = np.sqrt(theta @ relaxation.errors[0] ** 2)
    assert more == pytest.approx(2 * (relaxation.space.skew + 3 * rows), rel=1e-12)


@pytest.mark.parametrize("toward", [-1.0, 1.0])
def test_the_value_of_a_relaxation_is_charged_for_its_rows(toward, relaxation, rng):
    """Of rows that are all off along w, as far as they may be, towards the label or away from it, or from zero."""
    space, errors = relaxation.space, relaxation.space.errors
    y = np.zeros(11)
    y[relaxation.obj.labels.labeled] = relaxation.obj.labels.sign
    for size in (0.1, 0.5, 2.0):
        w, trace = size * rng.normal(size=3), 0.3
        spread = trace * rng.uniform(size=7)
        f = space.Z @ w + relaxation.offset
        side = toward * np.where(y == 0, np.sign(f), y)
        Z = space.Z + np.outer(side * errors, w / np.linalg.norm(w))
        moved = replace(relaxation, space=RowSpace(Z, np.eye(3), 0.0))
        # Rows are shorter or longer in every other direction, too.
        other = np.maximum(np.sqrt(spread) + toward * errors[relaxation.obj.unlabeled] * np.sqrt(trace), 0.0) ** 2
        change = moved.value_at(w, other, trace) - relaxation.value_at(w, spread, trace)
        known = s3vm_relaxation_proof.value_rounding(relaxation, w, spread, trace)
        assert abs(change) <= known
        assert known <= 60 * abs(change) + 1.0


# Repairs


def test_shortened_decisions_fit_between_their_bounds():
    """To the last digit, in fractions, and not by much more than that."""
    rng, loss = np.random.default_rng(0), RelativeMargin(1.0, 1.3)
    y = np.array([1.0, -1.0, 1.0, -1.0])
    for _ in range(200):
        f = 10.0 ** rng.uniform(0.7, 6) * np.append(rng.uniform(-1, 1, 2), [1.0, -1.0])
        scale, _ = loss.repair_decisions(y, f, 0.0)
        spread = Fraction(scale) * (Fraction(f.max()) - Fraction(f.min()))
        assert 2 * Fraction(1.3) * (1 - Fraction(3, 10**15)) <= spread <= 2 * Fraction(1.3)


@pytest.mark.parametrize("n", [40, 400])
def test_weights_whose_sums_differ_by_their_rounding_leave_an_interval(n, rng):
    """Both classes have the same weights in another order: between them the slope is zero but for that."""
    y, f = np.repeat([-1.0, 1.0], n), np.repeat([-1.0, 1.0], n) - np.arange(2.0 * n)
    for _ in range(20):
        c = rng.uniform(size=n)
        assert hinge_intercepts(y, f, np.append(c, rng.permutation(c))) == (n - 1.0, float(n))
