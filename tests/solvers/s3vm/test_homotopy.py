"""What all walks along a path of S3VM objectives have in common, and the polishing after them."""

import numpy as np
import pytest
import scipy.sparse as sp
from s3vm_problems import gaussians

from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.results import Status
from specmargin.solvers.s3vm.annealing import annealing
from specmargin.solvers.s3vm.cccp import cccp
from specmargin.solvers.s3vm.continuation import continuation, smoothing_path
from specmargin.solvers.s3vm.gradient import gradient
from specmargin.solvers.s3vm.label_switching import label_switching
from specmargin.solvers.s3vm.multi_switch import multi_switch
from specmargin.solvers.s3vm.polish import polish
from specmargin.solvers.s3vm.quasi_newton import quasi_newton


def polished(obj, w=None, **options):
    return polish(obj, np.zeros(obj.size) if w is None else w, **options)


LOSS = {gradient: "squared_hinge", quasi_newton: "smooth_hinge", continuation: "hinge", polished: "squared_hinge"}
WALKS = (gradient, quasi_newton, continuation)
BY_LABELS = {annealing: "squared_hinge", cccp: "hinge", label_switching: "hinge", multi_switch: "squared_hinge"}


def solvers(*functions):
    return pytest.mark.parametrize("solver", functions, ids=lambda solver: solver.__name__)


def problem(solver, **options):
    if solver in BY_LABELS:
        options["unlabeled_loss"] = None
    return gaussians(loss=(LOSS | BY_LABELS)[solver], **options)


@solvers(gradient, quasi_newton)
def test_warm_start_at_the_end_stays_there(solver):
    obj = problem(solver)
    cold = solver(obj, tol=1e-8)
    again = solver(obj, cold.variables["w"], schedule=[1.0], tol=1e-7)
    assert again.n_iter == 0
    assert (again.variables["w"] == cold.variables["w"]).all()
    assert not np.shares_memory(again.variables["w"], cold.variables["w"])


@solvers(*LOSS)
def test_start_is_not_written_to(solver):
    w = np.ones(6)
    solver(problem(solver), w)
    assert (w == 1).all()


@solvers(*LOSS, *BY_LABELS)
def test_sparse_is_dense(solver):
    dense, sparse = (solver(problem(solver, form=form), tol=1e-9) for form in (np.asarray, sp.csr_array))
    rel = 1e-12 if solver in (gradient, quasi_newton, polished) else 1e-7
    assert sparse.certificate.primal_objective == pytest.approx(dense.certificate.primal_objective, rel=rel)


@solvers(*WALKS)
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_features_that_say_nothing_give_zero(solver, value):
    result = solver(S3VM(np.full((5, 2), value), encode_labels([0, 1, -1, -1, -1]), LOSS[solver], "exp"))
    assert result.status is Status.STATIONARY
    assert (result.variables["w"] == 0).all()


@solvers(*WALKS, *BY_LABELS)
@pytest.mark.parametrize("options", [{"C_star": 0.0}, {"l": 60}])
def test_supervised_is_the_convex_svm(solver, options):
    obj = problem(solver, **options)
    result = solver(obj)
    assert result.status is Status.OPTIMAL
    assert result.certificate.is_optimal(1e-10)
    assert result.certificate.primal_objective == pytest.approx(obj.value_at(result.variables["w"]), rel=1e-12)
    # No direction from there descends on J itself.
    w, steps = result.variables["w"], np.random.default_rng(0).normal(size=(50, obj.size))
    assert min(obj.value_at(w + 1e-4 * step) for step in steps) >= obj.value_at(w)


@solvers(*LOSS)
def test_it_is_cut_off_after_max_iter(solver):
    start = np.full(6, 5.0) if solver is polished else None
    result = solver(problem(solver, C=100.0), start, tol=1e-12, max_iter=1)
    assert result.status is Status.MAX_ITER
    assert "raise max_iter" in result.message


@solvers(gradient, polished)
@pytest.mark.parametrize("scale", [1e-150, 1e-50, 1e-20, 1e10, 1e100, 1e150])
def test_features_of_extreme_scale_give_no_nan(solver, scale):
    obj = problem(solver, form=lambda X: scale * X)
    result = solver(obj)
    assert np.isfinite(result.variables["w"]).all()
    assert result.certificate.primal_objective <= obj.value_at(np.zeros(6))
    # Beyond 1e15 the penalty is lost in the rounding of the losses: no claim without a reason.
    assert (result.status is Status.STATIONARY) == (result.message == "")
    if scale <= 1e10 or solver is polished:
        assert (result.status is Status.STATIONARY) == (scale <= 1e10)


@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
@pytest.mark.parametrize(
    ("solver", "loss"),
    [*LOSS.items(), (gradient, "smooth_hinge"), (gradient, "squared")],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_end_is_a_minimum_and_stays_there_when_polished(solver, loss, intercept):
    obj = gaussians(loss=loss, intercept=intercept, C=10.0, C_star=5.0)
    result = solver(obj, tol=1e-8)
    w = result.variables["w"]
    assert result.status is Status.STATIONARY
    assert result.certificate.primal_objective == obj.value_at(w)  # of J itself, which continuation does not descend
    last = obj.smoothed(smoothing_path(obj)[-1]) if solver is continuation else obj
    assert last.stationarity(w) <= 1e-8
    assert np.linalg.eigvalsh(last.hessian(w)).min() > 0
    assert polish(last, w).certificate.primal_objective == pytest.approx(last.value_at(w), rel=1e-12)


SCHEDULE, SHAPE = "must be a sequence of numbers >= 0", r"w must be finite and of the shape \(6,\)"


def test_bad_starts_and_schedules_are_refused():
    starts = (np.zeros(5), np.zeros((6, 1)), np.full(6, np.nan), np.full(6, np.inf))
    schedules = ([], [0.5, -1.0], [np.nan], [[0.5], [1.0]], (0.0, np.inf))
    for solver, options, message in (
        *((solver, {"w": w}, SHAPE) for solver in (*LOSS, *BY_LABELS) for w in starts),
        *((solver, {"schedule": bad}, SCHEDULE) for solver in (gradient, quasi_newton, cccp) for bad in schedules),
    ):
        with pytest.raises(ValueError, match=message):
            solver(problem(solver), **options)
