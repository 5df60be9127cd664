"""S3VMs with a free intercept: the exact search and the bound, against enumeration by a convex solver and scans."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from s3vm_problems import weighted_by_cvxpy
from scipy.optimize import minimize

from specmargin import optima, verify
from specmargin.exceptions import InvalidInputError
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import free_intercept
from specmargin.optima.bound import s3vm_bound, with_bound
from specmargin.optima.free_intercept import Penalized, free_bound, intercept_range
from specmargin.optima.label_svms import LabelSVMs
from specmargin.results import Status

LOSSES = ["squared_hinge", "hinge"]


def objective(seed=0, u=6, d=2, gap=0.5, form=np.asarray, weights=None, **options):
    rng = np.random.default_rng(seed)
    side = np.arange(u + 4) % 2
    X = rng.standard_normal((u + 4, d)) + gap * (2 * side[:, None] - 1)
    labels = replace(encode_labels(np.where(np.arange(u + 4) < 4, side, -1)), weights=weights)
    return S3VM(form(X), labels, **{"loss": "squared_hinge", "C": 1.0, "intercept": "free", **options})


def enumerated(obj):
    """The optimum over all labelings, each by a convex solver that shares no code."""
    labelings = product([-1.0, 1.0], repeat=len(obj.unlabeled))
    return min(weighted_by_cvxpy(obj.guessed(np.array(labels)))[0] for labels in labelings)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("seed", "C", "C_star", "gap"), [(0, 1.0, 1.0, 0.5), (1, 30.0, 3.0, 0.0), (2, 0.1, 1.0, 1.0)])
def test_the_answer_is_the_optimum_over_all_labelings(loss, seed, C, C_star, gap):
    obj = objective(seed, loss=loss, C=C, C_star=C_star, gap=gap, u=5)
    optimum = enumerated(obj)
    result = optima.branch_and_bound(obj)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert optimum * (1 - 1e-6) <= result.certificate.dual_objective <= optimum * (1 + 1e-8)
    assert obj.value_at(result.variables["w"]) == pytest.approx(optimum, rel=1e-6)
    local = optima.one_flip(obj)
    for level in (local.certificate.primal_objective, obj.value_at(np.zeros(obj.size))):
        assert 0 <= free_bound(s3vm_bound, obj, level, time_limit=0.5) <= optimum * (1 + 1e-8)
    certified = with_bound(obj, local, time_limit=0.5)
    assert certified.certificate.dual_objective <= optimum * (1 + 1e-8)


def scanned(obj):
    """The least J of one feature and the intercept: a grid, then descents."""
    reach = np.sqrt(2 * obj.value_at(np.zeros(2)))
    grid = np.stack(np.meshgrid(np.linspace(-reach, reach, 161), np.linspace(-4, 4, 161)), axis=-1).reshape(-1, 2)
    values = np.array([obj.value_at(w) for w in grid])
    starts = grid[np.argsort(values)[:60:6]]
    options = {"xatol": 1e-9, "fatol": 1e-13}
    return min(minimize(obj.value_at, w, method="Nelder-Mead", options=options).fun for w in starts)


@pytest.mark.parametrize("loss", [*LOSSES, "smooth_hinge"])
def test_exp_against_a_scan(loss):
    obj = objective(1, d=1, loss=loss, unlabeled_loss="exp", C=10.0)
    optimum = scanned(obj)
    result = optima.branch_and_bound(obj, time_limit=2.0)
    assert result.status in (Status.OPTIMAL, Status.MAX_ITER)
    assert result.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert 0 < result.certificate.dual_objective <= optimum * (1 + 1e-8)
    certified = with_bound(obj, optima.one_flip(obj), time_limit=1.0).certificate
    assert 0 < certified.dual_objective <= optimum * (1 + 1e-8)


@pytest.mark.parametrize("loss", [*LOSSES, "smooth_hinge", "huber_hinge"])
def test_no_point_of_the_level_has_an_intercept_outside_the_range(loss, rng):
    obj = objective(3, loss=loss, C=2.0, unlabeled_loss=None if loss in LOSSES else "exp")
    w = optima.one_flip(obj).variables["w"]
    level = 1.5 * obj.value_at(w)
    low, high = intercept_range(obj, level)
    assert low <= w[-1] <= high
    for b in (low - 1e-3, high + 1e-3):  # the least J of the labelled samples alone at that intercept
        fixed = obj.with_(C_star=0.0)
        least = minimize(lambda v, b=b, of=fixed: of.value_at(np.append(v, b)), np.zeros(2), method="Nelder-Mead").fun
        assert least > level
    near = w + 0.3 * rng.standard_normal((2000, 3))
    inside = near[[obj.value_at(one) <= level for one in near]]
    assert len(inside) > 10
    assert ((inside[:, -1] >= low) & (inside[:, -1] <= high)).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_penalty_adds_its_square_and_nothing_else(form, rng):
    obj = objective(form=form, weights=rng.uniform(0.5, 2.0, 4))
    part = Penalized(obj, -0.7, 3.0, 2.0)
    w = rng.standard_normal(3)
    there = part.start(w)
    np.testing.assert_allclose(part.weights(there), w, atol=1e-14)
    np.testing.assert_allclose(part.objective.decisions_at(there), obj.decisions_at(w), atol=1e-13)
    assert part.objective.value_at(there) - obj.value_at(w) == pytest.approx(0.5 * (w[-1] + 0.7) ** 2 / 9.0, rel=1e-9)
    assert part.charge == pytest.approx(2.0 / 9.0, rel=1e-9)


def test_a_bound_is_charged_for_the_penalty(monkeypatch):
    """Where the relaxation is exact, and the range of intercepts is not split."""
    monkeypatch.setattr(free_intercept, "_PIECES", 1)
    obj = objective(6, C=10.0, C_star=1e-7, u=3)
    obj = replace(obj, X=replace(obj.features, X=obj.features.X + 3.0))  # for whose intercept there is much to pay
    optimum = enumerated(obj)
    bound = free_bound(s3vm_bound, obj, 1.2 * optimum, tol=1e-6)
    assert 0.8 * optimum < bound <= optimum * (1 + 1e-8)


def test_more_time_splits_the_range_and_raises_the_bound():
    obj = objective(4, u=20, gap=1.0, C=3.0)
    level = optima.one_flip(obj).certificate.primal_objective
    bounds = [free_bound(s3vm_bound, obj, level, time_limit=limit) for limit in (1e-9, 0.5, 3.0)]
    assert (np.diff(bounds) >= 0).all()
    assert bounds[-1] > bounds[0]


def test_larger_problems_reports_and_limits():
    obj = objective(5, u=24, gap=0.8, C=3.0)
    seen = []
    result = optima.branch_and_bound(obj, np.ones(3), progress=lambda *values: seen.append(values))
    assert result.status is Status.OPTIMAL
    assert result.n_iter == int(result.variables["n_nodes"]) == seen[-1][0] == result.history["nodes"][-1]
    assert (np.diff([lower for _, lower, _ in seen]) >= 0).all()
    assert result.certificate.primal_objective <= optima.one_flip(obj).certificate.primal_objective * (1 + 1e-12)
    stopped = optima.branch_and_bound(obj, max_nodes=0)
    assert stopped.status is Status.MAX_ITER
    assert 0 <= stopped.certificate.dual_objective <= result.certificate.primal_objective
    again = optima.branch_and_bound(obj, result.variables["w"])
    assert again.certificate.primal_objective <= result.certificate.primal_objective * (1 + 1e-12)


def test_a_bound_above_the_objective_is_an_alarm(monkeypatch):
    """What fails in the penalised problem fails here, whatever the gap is."""
    dual_bound = LabelSVMs.lower
    monkeypatch.setattr(LabelSVMs, "lower", lambda self, point: 1.2 * dual_bound(self, point))
    result = optima.branch_and_bound(objective(u=4))
    assert result.status is Status.NUMERICAL
    assert "a lower bound above the objective" in result.message


def test_what_cannot_be_answered_is_refused_with_the_reason(tmp_path):
    for given in ({"log": True}, {"n_jobs": 2}, {"tree": tmp_path / "it.npz"}):
        with pytest.raises(InvalidInputError, match="are not for a free intercept"):
            optima.branch_and_bound(objective(), **given)
    with pytest.raises(InvalidInputError, match="is not the better label's"):
        optima.branch_and_bound(objective(unlabeled_loss="symmetric_hinge"))
    one_class = objective(weights=np.array([0.0, 1.0, 0.0, 1.0]))
    with pytest.raises(InvalidInputError, match="those of one have no weight"):
        intercept_range(one_class, 1.0)
    assert optima.branch_and_bound(one_class).certificate.primal_objective == 0.0  # all on one side
    with pytest.raises(InvalidInputError, match="the bound of a free intercept is not written down"):
        verify(objective(), optima.branch_and_bound(objective()))
    assert verify(objective(), optima.one_flip(objective())).message == "nothing to verify: stationary"
