"""Ranges of weights in which decisions are proved to stay, and the path of the hinge."""

from __future__ import annotations

import numpy as np
import pytest
from piecewise_problems import piecewise_problem

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.solvers.manifold import ranges
from specmargin.solvers.manifold.ranges import DIRECTIONS, proved_stretch
from specmargin.solvers.manifold.weight_path import weight_path


def stays(start, end, radius):
    same = np.sign(start[0]) == np.sign(end[0])
    return same & (np.minimum(np.abs(start[0]), np.abs(end[0])) > radius[0])


def flips(f, change):
    with np.errstate(divide="ignore", invalid="ignore"):
        at = -f[0] / change[0]
    return np.where(at > 0, at, np.inf)


def refit(obj, weight, factor):
    a, e = (factor if part else 1.0 for part in DIRECTIONS[weight])
    other = obj.with_(gamma_A=a * obj.gamma_A, gamma_I=e * obj.gamma_I)
    return sm.solvers.factorized(other, tol=1e-13).variables["f"]


def check(seed, weight, refits):
    """Return how many refits inside the interval have another decision; refit at its ends and beyond, too."""
    obj = piecewise_problem(seed, 80)
    own, rng = refit(obj, weight, 1.0), np.random.default_rng(seed)
    try:
        stretches = [proved_stretch([obj], weight, way, stays, flips, 100.0) for way in (-1.0, 1.0)]
    except InvalidInputError:
        return None
    low, high = (one.end for one in stretches)
    assert low <= 1.0 <= high
    factors = [low, high, *np.exp(rng.uniform(np.log(low), np.log(high), refits))]
    wrong = sum(bool((np.sign(refit(obj, weight, factor)) != np.sign(own)).any()) for factor in factors)
    for way, one in zip((-1.0, 1.0), stretches, strict=True):
        if one.sample is not None:  # which changes where it is said to
            beyond = refit(obj, weight, one.at * (1.0 + 1e-5 * way))
            assert np.sign(beyond[one.sample]) != np.sign(own[one.sample])
            assert abs(np.log(one.at / one.end)) < 1e-3
    return wrong


@pytest.mark.parametrize("weight", ["gamma_A", "gamma_I", "gammas"])
@pytest.mark.parametrize("seed", range(4))
def test_no_refit_inside_has_another_decision(seed, weight):
    assert check(seed, weight, 6) == 0


@pytest.mark.slow
def test_two_thousand_refits():
    counted = [check(seed, weight, 18) for seed in range(35) for weight in DIRECTIONS]
    known = [one for one in counted if one is not None]
    assert len(known) * 20 >= 2000
    assert sum(known) == 0


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(8))
def test_predictions_are_as_near_to_the_optimum_as_is_said(seed, way):
    """The bound holds, and is not far above what it bounds."""
    obj = piecewise_problem(seed, 80)
    node, ratios = ranges._Node(obj), []
    for weight, direction in DIRECTIONS.items():
        line = ranges._Line(node, (way * direction[0], way * direction[1]))
        for t in (1e-3, 1e-2, 0.1, 0.3):
            radius = line.radius(t)
            if np.isfinite(radius).all():
                predicted, error = line.at(t)
                off = np.abs(refit(obj, weight, 1.0 + way * t) - predicted)
                assert (off <= radius + error + 1e-11).all()
                ratios.append(off.max() / radius.max())
    assert max(ratios, default=1.0) > 1e-3


def test_a_kernel_that_is_known_up_to_an_error_is_refused():
    from specmargin.kernels.truncated import truncated_kernel

    X = np.random.default_rng(0).normal(size=(60, 1))
    K = truncated_kernel(lambda a, b=None: sm.kernels.RBF(0.1)(a, b), X, 30)
    labels = sm.encode_labels([0, 1, *[-1] * 58])
    obj = sm.objectives.LapSVM(K, None, labels, gamma_A=0.1)
    with pytest.raises(InvalidInputError, match="known up to an error"):
        proved_stretch([obj], "gamma_A", 1.0, stays, flips)


@pytest.mark.parametrize("seed", range(6))
def test_the_path_is_that_of_refits(seed):
    obj, rng = piecewise_problem(seed, 80, loss="hinge"), np.random.default_rng(seed)
    for until in (30.0, 0.2):
        try:
            path = weight_path(obj, until)
        except InvalidInputError as error:
            assert any(what in str(error) for what in ("intercept", "depend on each other"))  # noqa: PT017
            continue
        assert (np.diff(path.C) > 0).all()
        assert path.gaps.max() < 1e-8
        assert path.stopped or np.isclose(path.C[0 if until < 1 else -1], until)
        for C in np.exp(rng.uniform(*np.log(path.C[[0, -1]]), 17)):
            expected = refit(obj, "gammas", 1.0 / C)
            np.testing.assert_allclose(path.decisions(C), expected, atol=1e-9 * np.abs(expected).max())


def test_a_path_says_where_it_ends():
    # Two labels: with C small both multipliers are at their bound, and the intercept is an interval.
    obj = sm.objectives.LapSVM(np.eye(3), None, sm.encode_labels([0, 1, -1]), gamma_A=0.1)
    path = weight_path(obj, 0.01)
    assert path.stopped == "the optimal intercept is an interval"
    assert np.isclose(path.C[0], 0.2)
    assert "it ends where the optimal intercept" in str(path)
    with pytest.raises(InvalidInputError, match="is outside of the path; take one from"):
        path.decisions(0.1)
    with pytest.raises(InvalidInputError, match="take loss='hinge'"):
        weight_path(piecewise_problem(1, 80, loss="squared"), 2.0)
    with pytest.raises(InvalidInputError, match="must be a positive number"):
        weight_path(obj, 0.0)
