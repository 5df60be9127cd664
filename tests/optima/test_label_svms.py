"""The exact active-set method of SVMs with given labels, in rational arithmetic and against other solvers."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.label_qp import LabelPoint
from specmargin.optima.label_svms import LabelSVMs
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.optima.row_space import RowSpace

MIXES = list(itertools.product(["hinge", "squared_hinge"], ["symmetric_hinge", "symmetric_squared_hinge"]))


def svm(seed, mix, hardness, l=4, u=10):
    """The SVMs of a random S3VM, and labels; every third with copies and a zero row, every fourth with ties."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((l + u, (2, 5, 20)[seed % 3]))
    if seed % 3 == 0:
        X[5] = X[6] = X[7]
        X[8] = 0.0
    if seed % 4 == 0:
        X = np.round(X)
    y = np.append(np.arange(l) % 2, np.full(u, -1))
    ratio = 0.3 if seed % 2 else 1.0
    obj = S3VM(X, encode_labels(y), *mix, C=hardness, C_star=ratio * hardness, balance=0.1)
    labels = rng.choice([-1.0, 1.0], u)
    if seed % 5 == 0:
        labels = np.where(X[l:] @ rng.standard_normal(X.shape[1]) > 0, 1.0, -1.0)
    return LabelSVMs(S3VMRelaxation(obj)), obj, labels


def objectives(qp, obj, labels, w, a):
    """J at w and the dual objective at a, both of the features themselves, in fractions."""
    A, b = obj.features.dense(), Fraction(obj.features.offset)
    y = qp.labels(labels)
    rows = [[Fraction(x) for x in row] for row in A.tolist()]
    w = [Fraction(x) for x in w.tolist()]
    primal, dual = sum(x * x for x in w) / 2, Fraction(0)
    q = [Fraction(0)] * len(w)
    for i, row in enumerate(rows):
        sign, c, p = Fraction(y[i]), Fraction(qp.c[i]), Fraction(a[i])
        slack = max(1 - sign * (sum(x * z for x, z in zip(row, w, strict=True)) + b), Fraction(0))
        primal += c * (slack if qp.hinge[i] else slack * slack)
        dual += p * (1 - sign * b) - (0 if qp.hinge[i] else p * p / (4 * c))
        q = [z + p * sign * x for x, z in zip(row, q, strict=True)]
    return primal, dual - sum(x * x for x in q) / 2


@pytest.mark.parametrize("hardness", [1e-6, 1.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("mix", MIXES, ids="-".join)
def test_exact_at_every_weight(mix, hardness):
    for seed in range(12):
        qp, obj, labels = svm(seed, mix, hardness)
        point = qp.solve(qp.labels(labels))
        assert point.ended
        assert (point.a >= 0).all()
        assert (point.a <= qp.upper).all()
        lifted = [S3VMRelaxation(obj).expand(w) for w in qp.primal(point)]
        primal, dual = min(objectives(qp, obj, labels, w, point.a) for w in lifted)
        assert Fraction(qp.lower(point)) <= dual <= primal
        assert primal - Fraction(qp.lower(point)) <= Fraction(1, 10**10) * primal


@pytest.mark.parametrize("mix", MIXES, ids="-".join)
def test_a_warm_start_changes_nothing(mix, rng):
    """From fewer labels, from other labels, and from none."""
    for seed in range(8):
        qp, _, labels = svm(seed, mix, 1e5)
        cold = qp.lower(qp.solve(qp.labels(labels)))
        fewer = qp.solve(qp.labels(np.where(np.arange(10) < 5, labels, 0.0)))
        others = qp.solve(qp.labels(rng.choice([-1.0, 1.0], 10)))
        for warm in (fewer, others, qp.solve(qp.labels(labels)), qp.solve(qp.labels(np.zeros(10)))):
            point = qp.solve(qp.labels(labels), warm)
            assert point.ended
            assert qp.lower(point) == pytest.approx(cold, rel=1e-9)
        assert qp.lower(fewer) <= cold * (1 + 1e-9)


def test_any_multipliers_bound():
    """`lower` does not ask where they come from, and pays for coordinates that are off."""
    from dataclasses import replace

    rng = np.random.default_rng(5)
    for seed in range(10):
        qp, obj, labels = svm(seed, MIXES[seed % 4], 10.0 ** rng.integers(-3, 12))
        point = qp.solve(qp.labels(labels))
        a = np.minimum(point.a * rng.uniform(0.5, 1.5, len(point.a)), qp.upper)
        _, dual = objectives(qp, obj, labels, np.zeros(obj.size), a)
        lower = qp.lower(replace(point, a=a))
        assert Fraction(lower) <= dual
        space = S3VMRelaxation(obj).space
        off = 1e-7 * rng.standard_normal(space.Z.shape)
        rough = replace(space, Z=space.Z + off, errors=space.errors + np.linalg.norm(off, axis=1))
        rough_qp = LabelSVMs(S3VMRelaxation(obj, None, rough))
        assert Fraction(rough_qp.lower(replace(point, a=a))) <= dual
        # A basis that is longer than it should be, and coordinates that are shorter.
        longer = replace(space, Z=space.Z / (1 + 1e-7), V=space.V * (1 + 1e-7), skew=space.skew + 2.1e-7)
        long_qp = LabelSVMs(S3VMRelaxation(obj, None, longer))
        assert Fraction(long_qp.lower(replace(point, a=a))) <= dual


def test_multipliers_beyond_their_bounds_prove_nothing_more():
    """By however little: what is beyond them is left out."""
    from dataclasses import replace

    for seed in range(8):
        qp, obj, labels = svm(seed, MIXES[seed % 4], 10.0 ** (3 * seed - 12))
        point = qp.solve(qp.labels(labels))
        beyond = np.where(point.a == 0.0, -0.1, np.where(point.a == qp.upper, 2.0 * point.a, point.a))
        assert qp.lower(replace(point, a=beyond)) == qp.lower(point)
        _, dual = objectives(qp, obj, labels, np.zeros(obj.size), point.a)
        assert Fraction(qp.lower(point)) <= dual


def test_pulls_that_cancel_are_charged_for_their_rounding():
    """Long rows of large multipliers, whose sum in float64 is nearly zero and exactly is not."""
    missed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Z = np.append(1e6 * rng.standard_normal(6), 0.0)[:, None]
        y = np.append(np.where(Z[:6, 0] > 0, 1.0, -1.0) * np.array([1, -1, 1, -1, 1, -1]), 0.0)
        obj = S3VM(np.zeros((7, 1)), encode_labels(np.append((y[:6] > 0).astype(int), -1)), C=1e30, balance=0.0)
        qp = LabelSVMs(S3VMRelaxation(obj, None, RowSpace(Z, np.eye(1))))
        a = np.append(1e8 * rng.uniform(1.0, 2.0, 6), 0.0)
        pull = y * Z[:, 0]
        a[5] = -(a[:5] @ pull[:5]) / pull[5]
        if not a[5] > 0:
            continue
        q = sum(Fraction(x) * Fraction(z) for x, z in zip(a, pull, strict=True))
        dual = sum(Fraction(x) - Fraction(x) ** 2 / Fraction(4e30) for x in a) - q * q / 2
        assert Fraction(qp.lower(LabelPoint(y, a, np.zeros(0, dtype=int), np.zeros(1)))) <= dual
        missed += q * q / 2 > Fraction(1, 10**5)
    assert missed > 3


def test_unknown_labels_are_left_out():
    qp, _, labels = svm(1, MIXES[1], 10.0)
    none = qp.solve(qp.labels(np.zeros(10)))
    assert (none.a[qp.unlabeled] == 0).all()
    one = qp.solve(qp.labels(np.append(labels[:1], np.zeros(9))), none)
    assert qp.lower(none) <= qp.lower(one)
