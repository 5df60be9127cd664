"""Every objective keeps one contract, and proves the answer of every one of its solvers anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from s3vm_problems import public_solver

import specmargin as sm
from specmargin import objectives, optima, problems, solvers
from specmargin.objectives import Objective

RNG = np.random.default_rng(7)
N = 30
X = np.vstack([RNG.normal(-1.0, 1.0, (N // 2, 3)), RNG.normal(1.0, 1.0, (N // 2, 3))])
Y = np.repeat([0, 1], N // 2)
HIDDEN = sm.hide_labels(Y, per_class=4, random_state=0)
LABELS = sm.encode_labels(HIDDEN)
THREE = sm.encode_labels(np.where(HIDDEN == -1, -1, np.arange(N) % 3))
K = sm.kernels.gram(X, gamma=0.3)
GRAPH = sm.graphs.knn_graph(X, n_neighbors=6)
L = sm.graphs.laplacian(GRAPH)
SPECTRUM = sm.spectra.laplacian_eigenpairs(GRAPH, q=7, normalized=True)
KNOWN = K[np.ix_(LABELS.labeled, LABELS.labeled)]


def lapsvm(loss: str = "hinge") -> objectives.LapSVM:
    return objectives.LapSVM(K, L, LABELS, loss, gamma_A=0.05, gamma_I=0.1)


def s3vm(loss: str = "squared_hinge", **more) -> objectives.S3VM:
    return objectives.S3VM(X, LABELS, loss, C=1.0, **more)


def weighted(loss: str, **more) -> objectives.WeightedSVM:
    return s3vm(loss).guessed(np.linspace(-1, 1, N - 8), **more)


BLOCKS = [F * np.sqrt(N / (F**2).sum()) for F in (X, RNG.normal(size=(N, 11)), X[:, :1] + 1.0)]


def blocks(labels, **more) -> objectives.BlockMargin:
    return objectives.BlockMargin(BLOCKS, labels, C=2.0, **more)


def margin(**more) -> objectives.SpectrumMargin:
    return objectives.SpectrumMargin(SPECTRUM, LABELS, C=2.0, **more)


def solved(builder, *more):
    return lambda obj: sm.solve(builder(obj, *more))


RIDGE = objectives.spectral_ridge.power_spectrum(SPECTRUM)
TRANSDUCER = objectives.SpectralGraphTransducer(SPECTRUM, LABELS, C=10.0)
CLUSTERING = objectives.RegularizedClustering(K, L, gamma=0.1)
BOTH = margin(B=1.2).with_(spectrum=[SPECTRUM, SPECTRUM])
FIXED = margin(delta=np.array([0.1, 0.5, 0.2, 0.1, 0.1, 0.0, 0.0]))
SUPERVISED = s3vm("hinge").supervised()
DECIDED = optima.S3VMRelaxation(s3vm("hinge")).with_(signs=np.r_[1.0, -1.0, np.zeros(N - 10)])

CONVEX = {
    "LapSVM, hinge, factorized": (lapsvm(), solvers.factorized),
    "LapSVM, squared hinge, factorized": (lapsvm("squared_hinge"), solvers.factorized),
    "LapSVM, squared hinge, newton": (lapsvm("squared_hinge"), solvers.newton),
    "LapSVM, squared hinge, pcg": (lapsvm("squared_hinge"), lambda obj: solvers.pcg(obj, tol=1e-10, max_iter=500)),
    "LapRLS, factorized": (lapsvm("squared"), solvers.factorized),
    "LapRLS, newton": (lapsvm("squared"), solvers.newton),
    "LapSVM, hinge, CVXPY dual": (lapsvm(), solved(problems.lapsvm_dual)),
    "LapSVM, squared hinge, CVXPY dual": (lapsvm("squared_hinge"), solved(problems.lapsvm_dual)),
    "LapSVM, hinge, CVXPY primal": (lapsvm(), solved(problems.lapsvm_primal)),
    "LapSVM, smooth hinge, CVXPY primal": (lapsvm("smooth_hinge"), solved(problems.lapsvm_primal)),
    "RMM, relative_margin": (objectives.RMM(KNOWN, LABELS, C=2.0, B=1.2), solvers.relative_margin),
    "SVM, relative_margin": (objectives.RMM(KNOWN, LABELS, C=2.0), solvers.relative_margin),
    "RMM, CVXPY": (objectives.RMM(KNOWN, LABELS, C=2.0, B=1.2), solved(problems.rmm)),
    "SVM, CVXPY": (objectives.RMM(KNOWN, LABELS, C=2.0), solved(problems.rmm)),
    "STORM, spectrum_margin": (margin(B=1.2), solvers.spectrum_margin),
    "STOAM, spectrum_margin": (margin(), solvers.spectrum_margin),
    "STOAM, eps": (margin(eps=1e-3), solvers.spectrum_margin),
    "MKL-S, spectrum_margin": (margin(order=False), solvers.spectrum_margin),
    "two graphs, spectrum_margin": (BOTH, solvers.spectrum_margin),
    "fixed spectrum, spectrum_margin": (FIXED, solvers.spectrum_margin),
    "STOAM, alternation": (margin(), solvers.alternation),
    "STOAM, path": (margin(), lambda obj: solvers.spectrum_path(obj, [2.0])[0]),
    **{
        f"STORM, CVXPY {form}": (margin(B=1.2), solved(problems.storm, form))
        for form in ("literal", "chained", "compact", "primal")
    },
    "STOAM, CVXPY": (margin(), solved(problems.stoam)),
    "MKL-S, CVXPY": (margin(order=False), solved(problems.mkl)),
    "KTA, alignment": (objectives.Alignment(SPECTRUM, LABELS), solvers.alignment),
    **{
        f"blocks, {loss}, {name}": (blocks(labels, loss=loss), solvers.block_margin)
        for loss in ("hinge", "squared_hinge", "squared")
        for name, labels in (("two classes", LABELS), ("three classes", THREE))
    },
    **{
        f"blocks, squared hinge, CVXPY {form}": (
            blocks(THREE, loss="squared_hinge"),
            solved(problems.block_margin, form),
        )
        for form in ("literal", "compact", "primal")
    },
    "blocks, alignment": (objectives.BlockAlignment(BLOCKS, THREE), solvers.alignment),
    "KTA, CVXPY": (objectives.Alignment(SPECTRUM, LABELS), solved(problems.kta)),
    "SpectralRidge": (objectives.SpectralRidge(SPECTRUM, LABELS, RIDGE), solvers.spectral_ridge),
    "SpectralRidge, three classes": (objectives.SpectralRidge(SPECTRUM, THREE, RIDGE), solvers.spectral_ridge),
    "SGT": (TRANSDUCER, solvers.graph_transducer),
    "regularized eigenmaps": (CLUSTERING, solvers.eigenmaps),
    "regularized eigenmaps, three": (CLUSTERING, lambda obj: solvers.eigenmaps(obj, 3)),
    "S3VM relaxation, CVXPY": (optima.S3VMRelaxation(s3vm("hinge")), solved(optima.s3vm_relaxation)),
    "S3VM relaxation, decided, CVXPY": (DECIDED, solved(optima.s3vm_relaxation)),
    "S3VM relaxation, s3vm_bound": (
        optima.S3VMRelaxation(s3vm()),
        lambda relaxation: optima.s3vm_bound(relaxation.obj),
    ),
    **{
        f"weighted SVM, {loss}": (weighted(loss), solvers.weighted_svm) for loss in ("hinge", "smooth_hinge", "squared")
    },
    "weighted SVM, finite_newton": (weighted("squared_hinge"), solvers.finite_newton),
    "weighted SVM, CVXPY": (
        s3vm("hinge").guessed(np.zeros(N - 8), 2.0).with_(linear=np.r_[np.zeros(N)]),
        lambda _: sm.solve(problems.cccp_subproblem(s3vm("hinge"), np.zeros(N - 8))),
    ),
    **{
        f"S3VM without unlabelled losses, {name}": (SUPERVISED, public_solver(name))
        for name in ("cccp", "gradient", "label_switching", "annealing")
    },
}
"""Objective and solver, by what they are."""
LOCAL = (
    *("annealing", "cccp", "continuation", "gradient", "label_switching", "multi_switch", "one_flip", "quasi_newton"),
    "branch_and_bound",
)
"""Solvers of S3VMs, whose `w` the objective proves nothing about but its value."""
SHORT = {"S3VM relaxation, s3vm_bound": 1e-9, "STOAM, alternation": 1e-9}
"""Relative differences of the gap from the stored one: the relaxation is measured in other coordinates there."""
ANSWERS: dict[str, sm.SolveResult] = {}


def answer(name: str) -> tuple[Objective, sm.SolveResult]:
    obj, solver = CONVEX[name]
    if name not in ANSWERS:
        ANSWERS[name] = solver(obj)
    return obj, ANSWERS[name]


@pytest.mark.parametrize("name", CONVEX)
def test_the_certificate_of_a_result_is_recomputed(name):
    obj, result = answer(name)
    again, stored = sm.certify(obj, result), result.certificate
    scale = abs(stored.primal_objective)
    assert again.sense == stored.sense
    assert again.primal_objective == pytest.approx(stored.primal_objective, rel=SHORT.get(name, 1e-13))
    # LapSVM keeps the cheapest bound that proves `tol`; here it is the best of two. Others differ by roundings.
    assert again.gap <= stored.gap + SHORT.get(name, 4e-14) * scale
    if not isinstance(obj, objectives.LapSVM):
        assert again.gap == pytest.approx(stored.gap, rel=1e-6, abs=SHORT.get(name, 4e-14) * scale)
    assert again.gap >= 0.0


@pytest.mark.parametrize("name", CONVEX)
def test_mappings_and_results_are_the_same_to_it(name):
    obj, result = answer(name)
    variables = {key: result.variables[key] for key in obj.variables}
    assert sm.certify(obj, variables, {**result.variables, **result.duals}) == sm.certify(obj, result)


@pytest.mark.parametrize("name", CONVEX)
def test_a_tampered_variable_has_a_worse_certificate(name):
    obj, result = answer(name)
    honest = sm.certify(obj, result)
    for key, shape in obj.variables.items():
        value = np.array(result.variables[key], dtype=float)
        rng = np.random.default_rng(3)
        moved = value + 0.2 * max(1.0, float(np.abs(value).max())) * rng.normal(size=value.shape)
        if key == "delta":
            moved = np.abs(moved)
        if isinstance(obj, optima.S3VMRelaxation):
            moved = value + np.diag(np.abs(np.diag(moved)))
        assert len(shape) == value.ndim
        spoilt = sm.certify(obj, {**result.variables, key: moved}, result.duals)
        if isinstance(obj, objectives.SpectrumMargin) and (obj.delta is not None) and key == "delta":
            assert spoilt.gap <= 1.01 * honest.gap + 1e-12  # there is one spectrum, to which any other is repaired
            continue
        assert spoilt.gap > honest.gap + 1e-7 * abs(honest.primal_objective), key


@pytest.mark.parametrize("name", CONVEX)
def test_value_and_decisions_are_those_of_the_result(name):
    obj, result = answer(name)
    value = obj.value(result.variables)
    assert value == pytest.approx(result.certificate.primal_objective, rel=1e-9) or not name.startswith("S3VM relax")
    if "f" in result.variables and not name.startswith("S3VM relaxation, s3vm_bound"):
        np.testing.assert_allclose(obj.decisions(result.variables), result.variables["f"], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", CONVEX)
def test_what_is_no_answer_is_refused(name):
    obj, result = answer(name)
    assert isinstance(obj, Objective)
    for key in obj.variables:
        rest = {other: value for other, value in result.variables.items() if other != key}
        for method in (obj.value, obj.decisions, obj.certificate):
            with pytest.raises(ValueError, match=f"lack '{key}'"):
                method(rest)
        with pytest.raises(ValueError, match=rf"{key} has the shape \(2, 1, 2\)"):
            sm.certify(obj, {**result.variables, key: np.ones((2, 1, 2))})
        for bad in (np.nan, np.inf, -np.inf):
            spoilt = np.array(result.variables[key], dtype=float)
            spoilt.flat[-1] = bad
            with pytest.raises(ValueError, match=f"{key} holds NaN or inf"):
                sm.certify(obj, {**result.variables, key: spoilt})


@pytest.mark.parametrize("solver", LOCAL)
def test_nothing_is_claimed_of_an_objective_that_is_not_convex(solver):
    obj = s3vm("hinge" if solver == "cccp" else "squared_hinge")
    result = public_solver(solver)(obj)
    again = sm.certify(obj, result)
    assert again.primal_objective == pytest.approx(result.certificate.primal_objective, rel=1e-14)
    assert again.dual_objective == -np.inf
    assert not again.is_optimal(1.0)
    assert again.dual_residual == result.certificate.dual_residual or solver == "branch_and_bound"
    spoilt = sm.certify(obj, {**result.variables, "w": result.variables["w"] + 0.1})
    assert spoilt.primal_objective > again.primal_objective or spoilt.dual_residual > again.dual_residual


def test_the_duals_of_a_result_count_before_variables_of_the_same_name():
    obj, result = answer("LapSVM, hinge, factorized")
    wrong = np.zeros_like(result.variables["beta"])
    stained = replace(result, variables={**result.variables, "beta": wrong}, duals={"beta": result.variables["beta"]})
    assert sm.certify(obj, stained).gap == pytest.approx(sm.certify(obj, result).gap, rel=1e-9)
    other = replace(result, duals={"beta": wrong})
    assert sm.certify(obj, other).dual_objective <= sm.certify(obj, result).dual_objective


def test_what_is_neither_an_objective_nor_an_answer_is_refused():
    obj, result = answer("RMM, relative_margin")
    with pytest.raises(ValueError, match="the result is INFEASIBLE: it holds no answer to certify"):
        sm.certify(obj, replace(result, status=sm.Status.INFEASIBLE))
    with pytest.raises(TypeError, match="no objective"):
        sm.certify("obj", result)
    with pytest.raises(TypeError, match="must be a SolveResult"):
        sm.certify(obj, 3)
    with pytest.raises(TypeError, match="no lam to change; its fields are K, labels, C, B"):
        obj.with_(lam=3)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("LapSVM, hinge, factorized", {"gamma_A": 0.1, "gamma_I": 0.2}),
        ("LapSVM, hinge, factorized", {"gamma_A": 0.1}),
        ("LapSVM, hinge, factorized", {"gamma_I": 0.0}),
        ("LapSVM, hinge, factorized", {"loss": "squared", "fit_intercept": False}),
        ("LapSVM, hinge, factorized", {"labels": sm.encode_labels(sm.hide_labels(Y, per_class=6, random_state=1))}),
        ("LapSVM, hinge, factorized", {"K": 2 * K}),
        ("RMM, relative_margin", {"C": 0.3, "B": 2.0}),
        ("RMM, relative_margin", {"K": 2 * KNOWN}),
        ("STORM, spectrum_margin", {"C": 0.3, "B": np.inf}),
        ("STORM, spectrum_margin", {"order": False}),
        ("KTA, alignment", {"order": False}),
        ("blocks, squared, three classes", {"C": 0.3}),
        ("blocks, squared, three classes", {"loss": "hinge"}),
        ("blocks, alignment", {"centered": False}),
        ("SpectralRidge", {"penalty": 0.7}),
        ("SpectralRidge", {"delta": np.ones(7)}),
        ("SGT", {"C": 3.0}),
        ("regularized eigenmaps", {"gamma": 0.7}),
        ("regularized eigenmaps", {"K": 2 * K}),
        ("weighted SVM, hinge", {"plus": np.ones(N)}),
        ("S3VM without unlabelled losses, cccp", {"C": 0.3}),
    ],
)
def test_a_changed_problem_is_the_one_that_is_built_anew(name, changes):
    obj, solver = CONVEX[name]
    _ = solver(obj)  # which fills the caches
    changed = obj.with_(**changes)
    fields = {
        key: getattr(obj, key) for key in type(obj).__dataclass_fields__ if type(obj).__dataclass_fields__[key].init
    }
    anew = type(obj)(**{**fields, **changes})
    first, second = solver(changed), solver(anew)
    assert first.certificate.is_optimal(1e-6)
    for key in obj.variables:
        np.testing.assert_allclose(first.variables[key], second.variables[key], rtol=1e-9, atol=1e-10)
    for key in changes:
        assert getattr(obj, key) is not getattr(changed, key)


def test_what_stays_true_is_shared():
    for name, changes, kept in (
        ("LapSVM, hinge, factorized", {"loss": "squared"}, ("products", "reduction", "labeled_rows")),
        ("SpectralRidge", {"penalty": 0.7}, ("U", "design")),
        ("STORM, spectrum_margin", {"C": 3.0}, ("U", "cone")),
        ("blocks, squared, three classes", {"C": 3.0}, ("U", "cone", "factors")),
        ("regularized eigenmaps", {"gamma": 0.7}, ("basis", "products")),
    ):
        obj, solver = CONVEX[name]
        _ = solver(obj), [getattr(obj, key) for key in kept]
        for key in kept:
            assert getattr(obj.with_(**changes), key) is getattr(obj, key)


def test_multipliers_of_another_problem_are_named():
    obj = lapsvm()
    variables = {"alpha": np.zeros(N), "b": 0.0}
    with pytest.raises(ValueError, match=r"beta has the shape \(3,\)"):
        obj.certificate(variables, {"beta": np.ones(3)})
    with pytest.raises(ValueError, match="alpha has the shape"):
        obj.certificate({"alpha": np.ones(3), "b": 0.0})
