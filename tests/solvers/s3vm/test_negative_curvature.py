"""Searches for S3VMs that start, or end, where slopes cancel: no maximum and no saddle point is an answer."""

import numpy as np
import pytest

from specmargin import solvers
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.solvers.s3vm import cccp, homotopy
from specmargin.solvers.s3vm.negative_curvature import way_down

SEARCHES = [
    ("cccp", {"loss": "hinge", "unlabeled_loss": "symmetric_hinge"}),
    ("annealing", {"loss": "hinge"}),
    ("annealing", {"loss": "squared_hinge"}),
    ("continuation", {"loss": "squared_hinge", "unlabeled_loss": "exp"}),
    ("gradient", {"loss": "squared_hinge", "unlabeled_loss": "exp"}),
    ("quasi_newton", {"loss": "smooth_hinge", "unlabeled_loss": "exp"}),
]


@pytest.mark.parametrize(("name", "losses"), SEARCHES)
@pytest.mark.parametrize("C", [1.0, 500.0])
def test_four_points_at_the_decision_zero_are_not_kept_there(name, losses, C):
    """w = (1, 0) leaves all unlabelled samples at 0, for C = 500 at J = 2000.5 or so; beside it is one of 1 or so."""
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [0, 1], [0, -1], [0, -1]])
    obj = S3VM(X, encode_labels([1, 0, -1, -1, -1, -1]), C=C, **losses)
    result = getattr(solvers, name)(obj)
    assert result.status.name == "STATIONARY"
    w = result.variables["w"]
    assert obj.value_at(w) < 4.0
    assert np.abs(obj.decisions_at(w)[2:]).min() > 0.5
    assert way_down(obj, w) is None


@pytest.mark.parametrize(("name", "losses"), [SEARCHES[0], *SEARCHES[4:]])
def test_no_move_nearby_is_lower_than_the_answer(rng, name, losses):
    for kind in ("near the identity", "mirrored") * 8:
        if kind == "mirrored":
            half = rng.normal(size=(int(rng.integers(3, 7)), 3))
            X = np.vstack([half, -half])
        else:
            X = np.eye(8) + 1e-3 * rng.normal(size=(8, 8))
        y = np.full(len(X), -1)
        y[:2] = [0, 1]
        obj = S3VM(X, encode_labels(y), C=float(rng.choice([0.3, 1.0, 10.0])), **losses)
        w = getattr(solvers, name)(obj).variables["w"]
        value = obj.value_at(w)
        for _ in range(60):
            f = obj.decisions_at(w)
            # Along samples near 0, as well as anywhere.
            turn = obj.features.adjoint(rng.normal(size=len(f)) * ((np.abs(f) < 0.3) | (rng.random() < 0.5)))
            size = np.abs(obj.features.products(turn)).max()
            if size > 0:
                assert obj.value_at(w + 1e-2 / size * turn) >= value * (1 - 1e-4)


def test_a_minimum_has_no_way_down(monkeypatch):
    X = np.array([[-2.0], [2.0], [-1.5], [1.0], [1.8]])
    obj = S3VM(X, encode_labels([0, 1, -1, -1, -1]), "squared_hinge", "exp", balance=1 / 3)
    w = solvers.gradient(obj).variables["w"]
    assert way_down(obj, w) is None
    # Nothing is changed where there is none.
    for module in (homotopy, cccp):
        monkeypatch.setattr(module, "way_down", lambda obj, w: None)
    np.testing.assert_array_equal(solvers.gradient(obj).variables["w"], w)
