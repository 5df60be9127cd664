"""Every registered loss with every solver: solved and proved where the solver takes it, truly refused elsewhere."""

import inspect
from importlib import import_module

import numpy as np
import pytest
from s3vm_problems import public_solver

import specmargin as sm
from specmargin.losses import LOSSES, UNLABELED_LOSSES, HuberHinge, Loss, MarginLoss, Ramp, SmoothHinge
from specmargin.losses.unlabeled import UnlabeledLoss
from specmargin.objectives import S3VM, Features, LapSVM, WeightedSVM
from specmargin.solvers.parts import SOLVERS, missing, require, takers

MARGIN = {**LOSSES, "huber_hinge, h=0.05": HuberHinge(0.05)}
PAIRS = [(of, solver) for of, solvers in SOLVERS.items() for solver in solvers]


def moons():
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    return X, sm.encode_labels(sm.hide_labels(truth, per_class=4, random_state=0))


def lapsvm(loss):
    X, labels = moons()
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
    return LapSVM(sm.kernels.gram(X, gamma=4.0), L, labels, loss=loss, gamma_A=0.05, gamma_I=0.1)


def weighted_svm(loss):
    X, labels = moons()
    cost = np.random.default_rng(0).uniform(0.1, 2.0, (2, len(X)))
    return WeightedSVM(Features.of(X, "free", rows=labels.unlabeled), *cost, loss=loss)


def solved(solver, loss):
    if solver == "pcg_one_vs_rest":
        obj = lapsvm(loss)
        return sm.solvers.pcg_one_vs_rest(obj, obj.labels)[0]
    of = next(of for of, solvers in SOLVERS.items() if solver in solvers)
    return getattr(sm.solvers, solver)({"LapSVM": lapsvm, "WeightedSVM": weighted_svm}[of](loss))


@pytest.mark.parametrize("loss", MARGIN.values(), ids=MARGIN)
@pytest.mark.parametrize("solver", [*SOLVERS["LapSVM"], *SOLVERS["WeightedSVM"]])
def test_a_convex_solver_proves_what_it_takes_and_names_who_takes_the_rest(solver, loss):
    of = next(of for of, solvers in SOLVERS.items() if solver in solvers)
    if solver in takers(of, loss):
        result = solved(solver, loss)
        assert result.status is sm.Status.OPTIMAL
        assert result.certificate.is_optimal(1e-6)
        return
    with pytest.raises(ValueError, match=rf"solvers\.{solver} does not take the loss '{loss.name}': it ") as caught:
        solved(solver, loss)
    said = str(caught.value).split("What takes it: ")[1]
    others = [f"solvers.{other}" for other in takers(of, loss)]
    assert said.rstrip(".").split(", ") == others if others else "problems.lapsvm_dual" in said


@pytest.mark.parametrize("loss", MARGIN.values(), ids=MARGIN)
def test_all_lapsvm_solvers_and_both_problems_find_one_optimum(loss):
    obj = lapsvm(loss)
    values = [solved(solver, loss).certificate.primal_objective for solver in takers("LapSVM", loss)]
    for build in (sm.problems.lapsvm_dual, sm.problems.lapsvm_primal):
        result = sm.solve(build(obj), "CLARABEL")
        assert result.certificate.is_optimal(1e-6)
        values.append(result.certificate.primal_objective)
    np.testing.assert_allclose(values, values[0], rtol=2e-6)


@pytest.mark.parametrize(("of", "solver"), PAIRS)
def test_requirements_are_facts_that_losses_declare(of, solver):
    module = import_module(SOLVERS[of][solver], "specmargin.solvers")
    assert hasattr(module, "REQUIRES"), f"{module.__name__} says nothing about its losses"
    assert callable(public_solver(solver))
    known = {True: vars(Loss).keys() | vars(MarginLoss).keys(), False: vars(Loss).keys() | vars(UnlabeledLoss).keys()}
    for labeled, facts in zip((True, False), (module.REQUIRES, getattr(module, "REQUIRES_UNLABELED", ())), strict=True):
        for fact in facts:
            assert set(fact.split(" or ")) <= known[labeled]


def test_every_public_solver_of_an_objective_with_a_loss_is_listed():
    for name in {*sm.solvers.__all__, *sm.optima.__all__} - {"BoxLog", "ProofLog", "S3VMRelaxation"}:
        first = next(iter(inspect.signature(public_solver(name)).parameters.values()))
        of = str(first.annotation)
        if of in SOLVERS and name not in ("with_bound", "s3vm_relaxation"):  # which ask s3vm_bound, or the relaxation
            assert name in SOLVERS[of], name


@pytest.mark.parametrize("unlabeled", UNLABELED_LOSSES.values(), ids=UNLABELED_LOSSES)
@pytest.mark.parametrize("loss", [*LOSSES.values(), Ramp()], ids=[*LOSSES, "ramp"])
@pytest.mark.parametrize("solver", SOLVERS["S3VM"])
def test_an_s3vm_solver_takes_what_it_says_and_refuses_the_rest(solver, loss, unlabeled):
    X = np.array([[-2.0, 0.3], [2.0, 0.1], [-1.5, 0.0], [1.0, -0.4], [1.8, 0.2], [-0.9, 0.4]])
    obj = S3VM(X, sm.encode_labels([0, 1, -1, -1, -1, -1]), loss, unlabeled, intercept="regularized")
    arguments = (obj, np.array([0.3, 0.1, 0.0])) if solver == "polish" else (obj,)
    if solver in takers("S3VM", loss, unlabeled):
        result = public_solver(solver)(*arguments)
        assert np.isfinite(result.variables["w"]).all()
        if solver not in ("gradient", "quasi_newton", "one_flip") or (loss.smooth and unlabeled.smooth):
            assert result.status in (sm.Status.OPTIMAL, sm.Status.STATIONARY)
        return
    with pytest.raises(
        ValueError, match=rf"(solvers|optima)\.{solver} does not take the (unlabelled )?loss '.*': it"
    ) as caught:
        public_solver(solver)(*arguments)
    for other in takers("S3VM", loss, unlabeled):
        assert f"{'optima' if hasattr(sm.optima, other) else 'solvers'}.{other}" in str(caught.value)


def test_the_reason_is_the_true_one():
    """The smooth hinge has a continuous slope: what it lacks is parabolas."""
    with pytest.raises(ValueError, match="it is not piecewise quadratic") as caught:
        sm.solvers.newton(lapsvm("smooth_hinge"))
    assert "slope" not in str(caught.value)
    with pytest.raises(ValueError, match="it has no continuous slope"):
        sm.solvers.newton(lapsvm("hinge"))
    with pytest.raises(ValueError, match="it is not convex and"):
        require("factorized", "LapSVM", Ramp())
    with pytest.raises(ValueError, match=r"loss 'hinge': it is piecewise linear.*; polish obj.smoothed"):
        require("polish", "S3VM", LOSSES["hinge"], UNLABELED_LOSSES["exp"])


def test_of_a_pair_of_facts_one_is_enough():
    """`one_flip` trains on guessed labels where the loss is a power of the slack, or descends on a smooth one."""
    power, smooth, neither = LOSSES["hinge"], UNLABELED_LOSSES["exp"], UNLABELED_LOSSES["symmetric_hinge"]
    assert "one_flip" in takers("S3VM", power, neither)
    assert "one_flip" in takers("S3VM", LOSSES["smooth_hinge"], smooth)
    assert "one_flip" not in takers("S3VM", LOSSES["smooth_hinge"], neither)
    require("one_flip", "S3VM", power, neither)
    with pytest.raises(ValueError, match=r"one_flip does not take the unlabelled loss 'symmetric_hinge'"):
        require("one_flip", "S3VM", LOSSES["smooth_hinge"], neither)


def test_what_is_not_declared_is_missing():
    class Foreign:
        def value(self, t):
            return t**2

    assert missing(Foreign(), ("convex", "smooth or box_dual")) == ["convex", "smooth or box_dual"]
    with pytest.raises(ValueError, match=r"does not take the loss 'Foreign'.*No solver of this objective takes it"):
        require("newton", "LapSVM", Foreign())
    assert takers("LapSVM", SmoothHinge()) == []


BAD = [
    (solver, {name: value})
    for solvers, arguments in (
        ("annealing", {"max_inner": (0,)}),
        ("branch_and_bound", {"time_limit": (0,), "max_nodes": (-1,)}),
        ("probe", {"time_limit": (0, -1.0), "rounds": (-1,)}),
        ("continuation", {"n_steps": (-1,), "minimizer": ("cg",)}),
        ("gradient", {"n_steps": (-1,)}),
        ("quasi_newton", {"m": (0,)}),
        ("label_switching multi_switch", {"rate": (1.0, np.nan), "first_share": (0.0, 1.5)}),
        ("multi_switch", {"max_switches": (0,)}),
        ("pcg", {"stopping": ("whenever",), "preconditioner": ("none",), "check_every": (0,), "gap_tol": (0.0,)}),
    )
    for solver in solvers.split()
    for name, values in arguments.items()
    for value in values
]


def test_arguments_out_of_range_are_refused_by_name():
    """Those of one solver or a few; `tol` and `max_iter` of all are in the contract's table."""
    X, labels = moons()
    objectives = {"LapSVM": lapsvm("squared_hinge"), "WeightedSVM": weighted_svm("hinge"), "S3VM": S3VM(X, labels)}
    for solver, options in BAD:
        of = next(of for of, solvers in SOLVERS.items() if solver in solvers)
        name, value = next(iter(options.items()))
        with pytest.raises(ValueError, match=f"{name}={value!r}.* (must be|is unknown; take one of)"):
            public_solver(solver)(objectives[of], **options)
    with pytest.raises(ValueError, match="n_components=0 must be a whole number of at least 1"):
        sm.solvers.eigenmaps(sm.objectives.RegularizedClustering(np.eye(3), np.zeros((3, 3)), gamma=1.0), 0)
