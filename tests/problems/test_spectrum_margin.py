"""STORM, STOAM and MKL: four forms, two solvers, literal models written here, and the limits between the methods."""

from contextlib import nullcontext
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm
from specmargin.objectives import SpectrumMargin
from specmargin.problems import mkl, solve, stoam, storm
from specmargin.results import Status

FORMS = ("literal", "chained", "compact", "primal")
METHODS = {"STORM": (True, 1.2), "STOAM": (True, np.inf), "MKL-R": (False, 1.2), "MKL-S": (False, np.inf)}
methods = pytest.mark.parametrize("method", METHODS)
forms = pytest.mark.parametrize("form", FORMS)
# The models written here ask for all the digits there are; the comparisons say whether stopping short mattered.
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
kinds = pytest.mark.parametrize("kind", ["simple", "tied", "split"])


def objective(data, method="STORM", C=5.0, **options):
    order, B = METHODS[method]
    obj = SpectrumMargin(*data, **{"C": C, "B": B, "order": order, **options})
    assert obj.name == method or "B" in options
    return obj


# The forms


@methods
@kinds
@pytest.mark.parametrize("eps", [0.0, 1e-4])
def test_forms_agree(method, kind, eps, spectrum_data):
    solver = sm.problems.default_solvers()[-1 if eps else 0]
    obj = objective(spectrum_data(kind), method, eps=eps)
    results = {form: solve(storm(obj, form), solver) for form in FORMS}
    for form, result in results.items():
        assert result.status is Status.OPTIMAL, (form, result.message)
        assert result.problem == f"{method} {form}"
        values = result.variables
        assert values["delta"].sum() == pytest.approx(1.0)
        np.testing.assert_allclose(obj.cone.weights(values["kappa"]), values["delta"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(values["f"], obj.decisions_at(values["v"], float(values["b"])), atol=1e-12)
        assert abs(values["gamma"].sum()) < 1e-12
        assert np.abs(values["f"][obj.labels.labeled]).max() <= obj.B * (1 + 1e-9)
        assert obj.dual_bound(values["gamma"]) == pytest.approx(result.certificate.dual_objective, rel=1e-12)
        np.testing.assert_allclose(values["delta"], results["compact"].variables["delta"], atol=1e-4)
    primals = [result.certificate.primal_objective for result in results.values()]
    duals = [result.certificate.dual_objective for result in results.values()]
    assert np.ptp(primals) <= 1e-6 * min(primals)
    assert np.ptp(duals) <= 1e-6 * min(primals)
    assert max(duals) <= min(primals) * (1 + 1e-12)


@methods
@forms
def test_problem_value_is_the_objective(method, form, spectrum_data, tight):
    obj = objective(spectrum_data(), method)
    built = storm(obj, form)
    result = solve(built, **tight["CLARABEL"])
    assert built.problem.value == pytest.approx(result.certificate.primal_objective, rel=1e-7)


@kinds
@pytest.mark.parametrize("method", ["STORM", "STOAM"])
def test_primal_form_at_default_tolerances_where_the_spectrum_has_zeros(method, kind, spectrum_data):
    """The cone's feasibility is its square in v where delta_j = 0: read off as it stands, v is good to 1e-4 only."""
    small, large = {"n": 30, "q": 12, "l": 16}, {"n": 40, "q": 20, "l": 24}
    for C, size in ((0.3, large), (1.0, small), (1e3, small), (1e3, large)):
        result = solve(storm(objective(spectrum_data(kind, **size), method, C=C), "primal"))
        assert result.certificate.relative_gap < 5e-7


@pytest.mark.parametrize("form", FORMS[:3])
@pytest.mark.parametrize(("kind", "eps"), [("simple", 1e-3), ("tied", 0.0), ("tied", 1e-3), ("split", 0.0)])
def test_multipliers_of_the_sums_are_the_drops_of_the_spectrum(form, kind, eps, spectrum_data, tight):
    obj = objective(spectrum_data(kind), eps=eps)
    primal = solve(storm(obj, "primal"), **tight["CLARABEL"])
    built = storm(obj, form)
    duals = solve(built, **tight["CLARABEL"]).duals
    # In the compact form lambda is eliminated and eps taken out of the multipliers with it.
    kappa = duals["sums"] + (eps if form == "compact" else 0.0)
    assert kappa.min() >= eps - 1e-7
    np.testing.assert_allclose(obj.cone.weights(kappa), primal.variables["delta"], atol=1e-4)
    assert obj.cone.c @ kappa == pytest.approx(1.0, abs=1e-7)
    assert duals["balance"] == pytest.approx(float(primal.variables["b"]), abs=1e-4)


@methods
@forms
def test_tiny_spectra(method, form, spectrum_data):
    for q, kind in ((2, "simple"), (3, "simple"), (3, "tied")):
        result = solve(storm(objective(spectrum_data(kind, q=q), method), form))
        assert result.certificate.is_optimal(1e-6)


@pytest.mark.parametrize("B", [0.0, 0.5, 1.0])
@forms
def test_bounds_up_to_one_are_feasible(B, form, spectrum_data):
    spectrum, labels = spectrum_data()
    with pytest.warns(UserWarning, match="below 1") if B < 1 else nullcontext():
        obj = SpectrumMargin(spectrum, labels, C=0.5, B=B)
        result = solve(storm(obj, form))
    assert result.certificate.is_optimal(1e-6)
    assert np.abs(result.variables["f"][labels.labeled]).max() <= B * (1 + 1e-9) + 1e-12


# Models written here


def literal_primal(obj):
    """Eq. 7, entry by entry."""
    y, q = obj.labels.sign, obj.q
    U = np.sqrt(obj.spectrum.n_samples) * obj.spectrum.eigenvectors[obj.labels.labeled]
    v, b, delta, xi = cp.Variable(q), cp.Variable(), cp.Variable(q), cp.Variable(len(y), nonneg=True)
    f = U @ v + b
    constraints = [cp.multiply(y, f) >= 1 - xi, cp.sum(delta) == 1, delta >= obj.eps]
    if np.isfinite(obj.B):
        constraints.append(cp.abs(f) <= obj.B)
    if obj.order:
        constraints += [delta[j] - delta[j + 1] >= obj.eps for j in range(1, q - 1)]
    norm = sum(cp.quad_over_lin(v[j], delta[j]) for j in range(q)) / 2
    return cp.Problem(cp.Minimize(norm + obj.C * cp.sum(xi)), constraints)


@methods
@pytest.mark.parametrize("eps", [0.0, 1e-3])
def test_eq_7_as_it_stands(method, eps, spectrum_data, tight):
    obj = objective(spectrum_data(), method, eps=eps)
    problem = literal_primal(obj)
    problem.solve(solver="CLARABEL", **tight["CLARABEL"])
    assert solve(storm(obj)).certificate.primal_objective == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize("B", [1.2, np.inf])
def test_without_an_order_it_is_the_group_lasso_form_of_kernel_learning(B, spectrum_data, tight):
    """min over delta of sum v_j^2 / delta_j is (sum |v_j|)^2."""
    obj = objective(spectrum_data(), "MKL-S" if np.isinf(B) else "MKL-R")
    y = obj.labels.sign
    v, b, xi = cp.Variable(obj.q), cp.Variable(), cp.Variable(len(y), nonneg=True)
    f = obj.U @ v + b
    bounds = [cp.abs(f) <= B] if np.isfinite(B) else []
    lasso = cp.Problem(
        cp.Minimize(0.5 * cp.square(cp.norm1(v)) + obj.C * cp.sum(xi)), [cp.multiply(y, f) >= 1 - xi, *bounds]
    )
    lasso.solve(solver="CLARABEL", **tight["CLARABEL"])
    result = solve(mkl(obj))
    assert result.certificate.primal_objective == pytest.approx(lasso.value, rel=1e-6)
    np.testing.assert_allclose(result.variables["v"], v.value, atol=1e-4)
    np.testing.assert_allclose(result.variables["delta"], np.abs(v.value) / np.abs(v.value).sum(), atol=1e-4)


def test_a_fixed_spectrum_cannot_do_better(spectrum_data):
    """The joint optimum is the least over spectra of the RMM on the spectrum's kernel."""
    obj = objective(spectrum_data())
    best = solve(storm(obj))
    delta = best.variables["delta"]
    fixed = [
        sm.objectives.RMM((obj.U * d) @ obj.U.T, obj.labels, C=obj.C, B=obj.B) for d in (delta, [1 / obj.q] * obj.q)
    ]
    values = [solve(sm.problems.rmm(rmm)).certificate.primal_objective for rmm in fixed]
    assert values[0] == pytest.approx(best.certificate.primal_objective, rel=1e-6)
    assert values[1] > 1.01 * best.certificate.primal_objective


# Limits


@pytest.mark.parametrize("order", [True, False])
def test_a_bound_that_does_not_bind_is_none(order, spectrum_data):
    free = objective(spectrum_data(), "STOAM" if order else "MKL-S")
    unbounded = solve(storm(free))
    largest = np.abs(unbounded.variables["f"][free.labels.labeled]).max()
    assert largest > 1.2
    values = {
        factor: solve(storm(replace(free, B=factor * largest))).certificate.primal_objective
        for factor in (0.9, 1.5, 100)
    }
    assert values[1.5] == pytest.approx(unbounded.certificate.primal_objective, rel=1e-6)
    assert values[100] == pytest.approx(unbounded.certificate.primal_objective, rel=1e-6)
    assert values[0.9] > unbounded.certificate.primal_objective * (1 + 1e-5)


def test_order_costs_and_so_do_eps_and_ties(spectrum_data):
    data = spectrum_data("tied")
    value = {
        name: solve(storm(obj)).certificate.primal_objective
        for name, obj in {
            "MKL": objective(data, "MKL-R"),
            "untied": objective(data, ties=False),
            "tied": objective(data),
            "eps": objective(data, eps=1e-3),
        }.items()
    }
    assert value["MKL"] < value["untied"] < value["tied"] < value["eps"]


def test_a_rotation_inside_a_tie_changes_nothing(spectrum_data):
    spectrum, labels = spectrum_data("tied")
    rng = np.random.default_rng(1)
    rotated = spectrum.eigenvectors.copy()
    for j in range(1, 9, 2):
        rotated[:, j : j + 2] = rotated[:, j : j + 2] @ np.linalg.qr(rng.normal(size=(2, 2)))[0]
    turned = replace(spectrum, eigenvectors=rotated)
    one, other = (solve(storm(objective((s, labels)))) for s in (spectrum, turned))
    assert other.certificate.primal_objective == pytest.approx(one.certificate.primal_objective, rel=1e-6)
    np.testing.assert_allclose(other.variables["delta"], one.variables["delta"], atol=1e-4)
    np.testing.assert_allclose(other.variables["f"], one.variables["f"], atol=1e-3)
    untied = [solve(storm(objective((s, labels), ties=False))).certificate.primal_objective for s in (spectrum, turned)]
    assert abs(untied[0] / untied[1] - 1) > 1e-4  # what the ties are for


# Parameters


@forms
@pytest.mark.parametrize("method", ["STORM", "MKL-S"])
def test_parameters_solve_again(form, method, spectrum_data):
    obj = objective(spectrum_data(), method, C=0.3)
    built = storm(obj, form)
    assert set(built.parameters) == ({"C", "B"} if np.isfinite(obj.B) else {"C"})
    first = solve(built).certificate.primal_objective
    changes = [{"C": 0.1}, {"C": 20.0}] + ([{"C": 2.0, "B": 1.05}] if np.isfinite(obj.B) else [])
    for change in changes:
        values = {"C": obj.C, "B": obj.B, **change}
        for name, parameter in built.parameters.items():
            parameter.value = values[name]
        fresh = replace(obj, **values)
        result, expected = solve(built), solve(storm(fresh, form))
        assert result.certificate.is_optimal(1e-6)
        assert result.certificate.primal_objective == pytest.approx(expected.certificate.primal_objective, rel=1e-6)
        assert fresh.dual_bound(result.variables["gamma"]) == pytest.approx(
            result.certificate.dual_objective, rel=1e-12
        )
        assert abs(result.certificate.primal_objective / first - 1) > 0.1


@pytest.mark.parametrize("form", ["compact", "literal"])
def test_bound_parameter_may_cross_one(form, spectrum_data):
    """The middle corner of the loss vanishes below B = 1: the conjugate has other lines there."""
    obj = objective(spectrum_data(), C=0.5)
    built = storm(obj, form)
    built.parameters["B"].value = 0.6
    with pytest.warns(UserWarning, match=r"B=0\.6 is below 1"):
        result = solve(built)
    with pytest.warns(UserWarning, match=r"B=0\.6 is below 1"):
        expected = solve(storm(replace(obj, B=0.6), form))
    assert result.certificate.is_optimal(1e-6)
    assert result.certificate.primal_objective == pytest.approx(expected.certificate.primal_objective, rel=1e-6)


# Names and errors


@pytest.mark.parametrize(
    ("form", "labels"),
    [
        ("literal", {"balance", "box", "nonnegative", "sums"}),
        ("chained", {"balance", "box", "nonnegative", "scores", "cones", "sums"}),
        ("compact", {"balance", "conjugate", "scores", "cones", "sums"}),
        ("primal", {"labeled", "margin", "upper", "lower", "order", "trace", "cones"}),
    ],
)
def test_labels_of_constraints(form, labels, spectrum_data):
    assert set(storm(objective(spectrum_data()), form).constraints) == labels
    tied = set(storm(objective(spectrum_data("tied")), form).constraints)
    extra = {"primal": {"ties"}, "chained": {"chain"}, "compact": {"chain"}}.get(form, set())
    assert tied == labels | extra


def test_builders_check_what_was_asked_for(spectrum_data):
    data = spectrum_data()
    assert stoam(objective(data, "STOAM")).name == "STOAM compact"
    assert mkl(objective(data, "MKL-R"), "primal").name == "MKL-R primal"
    with pytest.raises(ValueError, match="this objective is STORM: STOAM needs order=True and B=inf"):
        stoam(objective(data, "STORM"))
    with pytest.raises(ValueError, match="this objective is MKL-S: STOAM needs"):
        stoam(objective(data, "MKL-S"))
    with pytest.raises(ValueError, match="this objective is STOAM: multiple kernel learning needs order=False"):
        mkl(objective(data, "STOAM"))
    with pytest.raises(ValueError, match=r"unknown form 'dual'; choose one of \['chained', 'compact'"):
        storm(objective(data), "dual")
