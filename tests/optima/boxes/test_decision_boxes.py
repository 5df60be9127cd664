"""Bounds over boxes of decisions, against J at points of the boxes."""

from fractions import Fraction

import numpy as np
import pytest

from specmargin.labels import encode_labels
from specmargin.losses import ExpSquared
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.boxes.decision_boxes import Box, ExpBoxes
from specmargin.optima.branching import _Search, branch_and_bound
from specmargin.optima.local_search import LocalSearch
from specmargin.optima.nodes import Node
from specmargin.optima.relaxation import S3VMRelaxation


def boxes_of(seed, C, loss, s=3.0):
    rng = np.random.default_rng(seed)
    side = np.arange(10) % 2
    X = rng.standard_normal((10, 2)) + side[:, None]
    obj = S3VM(X, encode_labels(np.where(np.arange(10) < 4, side, -1)), loss, ExpSquared(s), C=C, balance=0.1)
    return obj, ExpBoxes(LocalSearch(S3VMRelaxation(obj)))


@pytest.mark.parametrize("C", [1e-3, 0.1, 3.0, 1e3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "smooth_hinge", "huber_hinge"])
def test_bounds_hold_for_every_point_of_a_box(loss, C):
    rng = np.random.default_rng(7)
    tight = 0
    for seed in range(6):
        obj, boxes = boxes_of(seed, C, loss)
        lift = boxes.relaxation.expand
        for width in (0.01, 0.1, 1.0):
            centre = rng.standard_normal(2) * rng.choice([0.1, 1.0])
            f = boxes.Z @ centre + boxes.b
            lo, hi = f - width * rng.uniform(0, 1, 6), f + width * rng.uniform(0, 1, 6)
            W = centre + width * rng.standard_normal((4000, 2))
            F = W @ boxes.Z.T + boxes.b
            inside = W[((lo <= F) & (hi >= F)).all(axis=1)]
            least = min(obj.value_at(lift(w)) for w in [centre, *inside])
            for start in (centre, inside[0] if len(inside) else centre):
                assert boxes.curved(Box(0.0, lo, hi), start)[0] <= least
            # The same with decided signs.
            signed = Box(0.0, np.where(f > 0, np.maximum(lo, 0), lo), np.where(f < 0, np.minimum(hi, 0), hi))
            kept = [w for w in inside if (signed.lo <= boxes.Z @ w + boxes.b).all()]
            kept = [w for w in kept if (signed.hi >= boxes.Z @ w + boxes.b).all()]
            least = min(obj.value_at(lift(w)) for w in [centre, *kept])
            bound, _, missed, _ = boxes.enveloped(signed, np.inf)
            assert bound <= least
            assert (missed >= -1e-9 * C).all()
            tight += bound > 0.9 * least
    assert tight > 6


@pytest.mark.parametrize("s", [0.5, 3.0])
def test_lines_are_below_the_loss_and_touch_it(s):
    _, boxes = boxes_of(0, 1.0, "hinge", s)
    loss = boxes.loss
    for lo, hi in ((0.0, np.inf), (0.0, 0.2), (0.1, 0.9), (0.3, np.inf), (0.9, 3.0), (1.4, np.inf)):
        t = np.linspace(lo, min(hi, 6.0), 4001)
        slopes = [boxes._first(lo, hi), *(-loss.gradient(np.array([0.7, 1.0, 1.5])))]
        tau, drop, floor = boxes._hinges(slopes, lo, hi)
        assert (np.diff(tau) < 0).all()
        assert (drop > 0).all()
        lines = floor + (drop * np.maximum(tau - t[:, None], 0.0)).sum(axis=1)
        missed = loss.value(t) - lines
        assert missed.min() >= -1e-14
        assert missed[0] <= 1e-9 or lo > 1.0
        assert missed.max() <= 0.35


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_features_that_tell_nothing_apart(loss):
    """Every decision is the offset: J is what it is, and proved, where a minimiser has no coordinate to search in."""
    labels = encode_labels([0, 1, -1, -1, -1])
    obj = S3VM(np.ones((5, 1)), labels, loss, "exp", C=0.5, balance=-0.6)
    search = LocalSearch(S3VMRelaxation(obj))
    assert search.descend(np.zeros(0))[0] == obj.value_at(np.zeros(1)) > 0.5
    result = branch_and_bound(obj)
    assert result.status.name == "OPTIMAL"
    assert result.history["objective"][0] == obj.value_at(np.zeros(1))


@pytest.mark.parametrize("loss", ["squared_hinge", "smooth_hinge", "huber_hinge"])
def test_descent_ends_where_the_gradient_vanishes(loss):
    for C in (0.1, 10.0):
        obj, boxes = boxes_of(3, C, loss)
        value, w = boxes.descend(np.ones(2))
        assert value == pytest.approx(obj.value_at(boxes.relaxation.expand(w)), rel=1e-14)
        assert obj.stationarity(boxes.relaxation.expand(w)) < 1e-6
        assert value <= obj.value_at(boxes.relaxation.expand(np.ones(2)))


@pytest.mark.parametrize("loss", ["smooth_hinge", "huber_hinge"])
def test_tangents_of_a_labelled_loss_are_below_it_and_close_in(loss, rng):
    obj, boxes = boxes_of(0, 2.0, loss)
    costs, tangents = np.full(4, 2.0), [[0.3, 1.0] for _ in range(4)]
    missed = []
    for w in (2.0 * rng.standard_normal(2) for _ in range(6)):
        t = boxes.y * (boxes.search.Z[boxes.labeled] @ w + boxes.b)
        missed.append(boxes._add_tangents(tangents, w, costs))
        assert boxes._add_tangents(tangents, w, costs) < 1e-12
        rows, ys, kinks, weights, less = (np.concatenate(part) for part in map(list, _arrays(boxes, tangents, costs)))
        for i, row in enumerate(boxes.labeled):
            at = np.append(t[i], np.linspace(-3, 4, 201))
            mine = rows == row
            assert (ys[mine] == boxes.y[i]).all()
            lines = np.maximum(kinks[mine] - at[:, None], 0.0) @ weights[mine]
            over = lines - 2.0 * obj.loss.value(at)
            assert over.max() <= -less[i] + 1e-14
            assert over[0] > -1e-12
    assert min(missed) >= 0.0
    assert max(missed) > 1e-3


def _arrays(boxes, tangents, costs):
    *parts, constants = boxes._labeled_hinges(tangents, costs)
    return (*parts, [np.array(constants)])


def test_floors_of_many_samples_add_up_to_no_more_than_they_are():
    """A thousand samples that decide nothing cost C* each, and a sum in float64 may exceed that."""
    X = np.append([-1.0, 1.0], np.zeros(1000))[:, None]
    labels = encode_labels(np.append([0, 1], np.full(1000, -1)))
    obj = S3VM(X, labels, "hinge", ExpSquared(3.0), C=1e-30, C_star=0.7, balance=0.0)
    boxes = ExpBoxes(LocalSearch(S3VMRelaxation(obj)))
    lo = np.zeros(1000)
    bound = boxes.enveloped(Box(0.0, lo, lo + 1e-9), -np.inf)[0]
    least = 1000 * Fraction(0.7)  # of J without the two losses of 1e-30
    assert least * (1 - Fraction(1, 10**12)) <= Fraction(bound) <= least


def test_the_box_of_all_points_holds_the_best_one_whatever_is_known_of_its_value():
    """|w|^2 <= 2 J holds for J with its rounding, not for what float64 makes of it."""
    obj, boxes = boxes_of(0, 1e-9, "hinge")
    search = _Search(boxes.relaxation, 1e-6, np.inf)
    w = np.array([30.0, -40.0])
    value = obj.value_at(boxes.relaxation.expand(w))
    search.best.offer(value * (1 - 1e-3), w)
    box = search._box(Node(0.0, np.zeros(6), np.zeros(6), w))
    along = boxes.Z * (50.0 / boxes.search.qp.lengths[obj.unlabeled])[:, None]  # as long as w
    f = np.einsum("ij,ij->i", boxes.Z, along)
    assert (box.hi >= boxes.b + f).all()
    assert (box.lo <= boxes.b - f).all()
    assert (box.hi <= boxes.b + f * (1 + 1e-6)).all()
