"""Problems that their user changed: CVXPY's own values and multipliers, and no proof that is another problem's.

Every change is made to a problem of a builder; what CVXPY has in its variables when it has solved is the reference, and
a second solve of the same program, built by CVXPY alone, the value.
"""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm
from specmargin import problems
from specmargin.objectives.spectral_ridge import power_spectrum
from specmargin.results import Status


def changed(built, *constraints, term=None, **fields):
    """Return a built problem with constraints, and a term of the loss, added."""
    objective = built.problem.objective
    if term is not None:
        minimised = isinstance(objective, cp.Minimize)
        objective = cp.Minimize(objective.expr + term) if minimised else cp.Maximize(objective.expr - term)
    return replace(built, problem=cp.Problem(objective, [*built.problem.constraints, *constraints]), **fields)


@pytest.fixture(scope="module")
def builds(gram_data, manifold_data, spectrum_data):
    """One problem of each builder and form, by name."""
    K, labels = gram_data()
    manifold = manifold_data()
    spectrum, spectrum_labels = spectrum_data("tied")
    rng = np.random.default_rng(5)
    X = rng.normal(size=(9, 2))
    partly = sm.encode_labels([0, 1, 0, 1, -1, -1, -1, -1, -1])
    classes = sm.encode_labels(np.arange(12) % 3)
    blocks = [np.eye(3)[np.arange(12) % 3] * 3**0.5, rng.normal(size=(12, 2)) / 2**0.5, rng.normal(size=(12, 1))]

    def margin(**options):
        return sm.objectives.SpectrumMargin(spectrum, spectrum_labels, C=1.0, **options)

    def manifold_of(loss, **options):
        return sm.objectives.LapSVM(*manifold, loss=loss, gamma_A=0.1, gamma_I=1.0, **options)

    made = {"rmm": lambda: problems.rmm(sm.objectives.RMM(K, labels, C=2.0, B=1.5))}
    made["svm"] = lambda: problems.rmm(sm.objectives.RMM(K, labels, C=2.0))
    for form in ("literal", "chained", "compact", "primal"):
        made[f"storm {form}"] = lambda form=form: problems.storm(margin(B=1.5, eps=1e-4), form)
    made["stoam compact"] = lambda: problems.stoam(margin())
    made["mkl primal"] = lambda: problems.mkl(margin(order=False), "primal")
    for loss in ("hinge", "squared_hinge", "squared", "huber_hinge"):
        made[f"dual {loss}"] = lambda loss=loss: problems.lapsvm_dual(manifold_of(loss))
        made[f"primal {loss}"] = lambda loss=loss: problems.lapsvm_primal(manifold_of(loss))
    made["primal through 0"] = lambda: problems.lapsvm_primal(manifold_of("hinge", fit_intercept=False))
    for name in ("squared compact", "hinge literal", "squared_hinge primal", "squared primal"):
        loss, form = name.split()
        obj = sm.objectives.BlockMargin(blocks, classes, C=1.0, loss=loss)
        made[f"blocks {name}"] = lambda obj=obj, form=form: problems.block_margin(obj, form)
    made["kta"] = lambda: problems.kta(sm.objectives.Alignment(spectrum, spectrum_labels))
    made["kta of blocks"] = lambda: problems.kta(sm.objectives.BlockAlignment(blocks, classes))
    ridge = sm.objectives.SpectralRidge(spectrum, spectrum_labels, power_spectrum(spectrum), penalty=0.1)
    made["ridge"] = lambda: problems.spectral_ridge_primal(ridge)
    made["cccp"] = lambda: problems.cccp_subproblem(sm.objectives.S3VM(X, partly, "hinge"), np.linspace(-1, 1, 5))
    made["relaxation"] = lambda: problems.s3vm_relaxation(sm.objectives.S3VM(X, partly, C=1.0))
    return made


def first(built):
    return next(iter(built.variables.values()))


def rising(at):
    return np.linspace(1.0, 2.0, at.size).reshape(at.shape)


CHANGES = {
    "a bound that is felt": lambda built, at: [cp.sum_squares(first(built)) <= 0.6 * float((at**2).sum())],
    "a bound that is not felt": lambda built, at: [cp.sum_squares(first(built)) <= 10.0 * float((at**2).sum()) + 10.0],
    "a sum": lambda built, at: [cp.sum(cp.multiply(rising(at), first(built))) == 0.95 * float((rising(at) * at).sum())],
}
"""Constraints on the first variable of a problem, whose value is `at` as built."""
BUILDS = (
    *("rmm", "svm", "kta", "kta of blocks", "ridge", "cccp", "relaxation", "primal through 0"),
    *("storm literal", "storm chained", "storm compact", "storm primal", "stoam compact", "mkl primal"),
    *(f"{form} {loss}" for form in ("dual", "primal") for loss in ("hinge", "squared_hinge", "squared", "huber_hinge")),
    *("blocks squared compact", "blocks hinge literal", "blocks squared_hinge primal", "blocks squared primal"),
)


def check(built, result, violation=1e-6):
    """Hold a result against what CVXPY has in the variables and constraints."""
    assert result.status in (Status.UNPROVED, Status.MAX_ITER)
    assert result.problem == f"{built.name}, changed"
    assert "the problem was changed" in result.message
    assert "the certificate is of the unchanged problem" in result.message
    for name, variable in built.variables.items():
        np.testing.assert_allclose(result.variables[name], variable.value, rtol=0, atol=1e-9)
    value = built.problem.value
    assert result.certificate.primal_objective == pytest.approx(value, rel=1e-12)
    for constraint in built.problem.constraints:
        scale = 1.0 + max(float(np.abs(variable.value).max()) for variable in constraint.variables())
        assert np.max(constraint.violation()) <= violation * scale, str(constraint)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", BUILDS)
def test_a_changed_problem_keeps_the_values_of_cvxpy(builds, name, change):
    built = builds[name]()
    free = sm.solve(built, check=True)
    optimum = built.problem.value
    parts = CHANGES[change](built, np.asarray(first(built).value))
    other = changed(built, *parts)
    result = sm.solve(other, check=True)
    assert result.status.has_solution
    check(other, result)
    (label,) = other.added()
    assert label == "added_0"
    np.testing.assert_array_equal(result.duals[label], parts[0].dual_value)
    assert set(free.duals) <= {*result.duals, "gamma", "theta", "plus", "minus"}
    # The bound of the unchanged problem is one of the changed one, and says which way.
    certificate, least = result.certificate, isinstance(built.problem.objective, cp.Minimize)
    assert certificate.sense == ("minimize" if least else "maximize")
    if name.startswith("kta"):
        assert abs(certificate.dual_objective) == np.inf
        assert "says nothing here" in result.message
        return
    assert f"no value is {'below' if least else 'above'}" in result.message
    slack = 1e-6 * (1.0 + abs(optimum))
    best = np.sign(1 if least else -1) * (optimum - certificate.dual_objective)
    assert -slack <= best < np.inf, "the bound has to hold for the unchanged problem"
    assert certificate.gap >= -10 * slack
    if change == "a bound that is not felt":
        assert built.problem.value == pytest.approx(optimum, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", BUILDS)
def test_another_objective_has_no_bound(builds, name):
    built = builds[name]()
    sm.solve(built, check=True)
    w = first(built)
    other = changed(built, term=0.3 * cp.sum_squares(w - 0.9 * w.value))
    result = sm.solve(other, check=True)
    check(other, result)
    assert result.certificate.relative_gap == np.inf
    assert "another objective" in result.message
    assert "says nothing here" in result.message


def test_the_reported_case_of_a_bounded_spectrum(builds):
    built = builds["storm primal"]()
    delta = built.variables["delta"]
    sm.solve(built, check=True)
    most = 0.5 * float(delta.value[:3].sum())
    low = (cp.sum(delta[:3]) <= most).set_label("low")
    result = sm.solve(changed(built, low), check=True)
    assert result.variables["delta"][:3].sum() <= most + 1e-7
    assert result.duals["low"] > 1e-3
    v, b = built.variables["v"].value, built.variables["b"].value
    np.testing.assert_allclose(result.variables["f"], built.objective.decisions_at(v, b), atol=1e-12)
    by_hand = changed(built, low)
    by_hand.problem.solve(solver="CLARABEL")
    np.testing.assert_allclose(result.variables["delta"], delta.value, atol=1e-12)


@pytest.mark.parametrize("name", ["primal hinge", "ridge", "cccp", "blocks squared_hinge primal", "storm primal"])
def test_decisions_follow_from_the_variables_of_a_changed_primal(builds, name):
    built = builds[name]()
    free = sm.solve(built, check=True)
    held = sm.solve(changed(built, cp.norm(first(built)) <= 1e6), check=True)
    np.testing.assert_allclose(held.variables["f"], free.variables["f"], atol=2e-3)
    tight = sm.solve(changed(built, cp.norm(first(built)) <= 0.0), check=True)
    assert np.ptp(tight.variables["f"], axis=0).max() < 1e-4


def test_multipliers_of_labelled_unlabelled_and_conic_constraints(builds):
    built = builds["storm primal"]()
    v, s = built.variables["v"], cp.Variable(name="s", nonneg=True)
    named = (cp.sum(v) <= 0.1).set_label("named")
    cone = cp.SOC(cp.Constant(0.4), v).set_label("ball")
    other = changed(built, named, v[0] <= s, cone, term=s)
    result = sm.solve(other, check=True)
    assert {"named", "added_1", "ball"} <= set(result.duals)
    assert result.duals["ball"].shape == (1 + v.size,)
    assert result.variables["s"] == s.value
    assert set(built.constraints) - {"cones"} <= set(result.duals)
    np.testing.assert_allclose(result.duals["ball"], np.concatenate([np.ravel(one) for one in cone.dual_value]))


def test_constraints_may_be_given_by_label(builds):
    built = builds["svm"]()
    small = built.variables["alpha"] <= 0.1
    other = changed(built, small, constraints={**built.constraints, "small": small})
    assert not other.is_as_built()
    result = sm.solve(other)
    check(other, result)
    np.testing.assert_array_equal(result.duals["small"], small.dual_value)
    assert result.variables["alpha"].max() <= 0.1 + 1e-7


def test_names_that_are_taken_are_refused(builds):
    built = builds["svm"]()
    alpha = built.variables["alpha"]
    with pytest.raises(ValueError, match="two constraints have the label 'box'"):
        sm.solve(changed(built, (alpha <= 0.5).set_label("box")))
    other = cp.Variable(name="alpha")
    with pytest.raises(ValueError, match="two variables are called 'alpha'"):
        sm.solve(changed(built, alpha[0] <= other, other <= 0.1))


def test_a_parameter_is_no_change(builds):
    built = builds["storm primal"]()
    built.parameters["C"].value, built.parameters["B"].value = 3.0, 1.2
    result = sm.solve(built)
    assert built.is_as_built()
    assert result.status is Status.OPTIMAL
    own = cp.Parameter(nonneg=True, value=0.2)
    other = changed(built, built.variables["delta"][1] <= own)
    weights = []
    for own.value in (0.2, 0.15):
        result = sm.solve(other, check=True)
        check(other, result)
        weights.append(result.variables["delta"][1])
    np.testing.assert_allclose(weights, [0.2, 0.15], atol=1e-6)


def test_a_list_that_was_changed_in_place_is_refused(builds):
    built = builds["svm"]()
    built.problem.args[1].append(built.variables["alpha"] <= 0.1)
    with pytest.raises(ValueError, match=r"constraints of SVM was changed in place.*dataclasses\.replace"):
        sm.solve(built)


def test_a_limit_on_iterations_is_told_of_a_changed_problem(builds):
    built = builds["storm compact"]()
    result = sm.solve(changed(built, built.variables["tau"] <= 0.1), max_iter=3)
    assert result.status is Status.MAX_ITER
    assert "changed" in result.message


def test_the_first_solver_that_is_done_answers_a_changed_problem(builds):
    built = builds["svm"]()
    other = changed(built, built.variables["alpha"] <= 0.1)
    assert len(sm.solve(other, ("CLARABEL", "SCS")).attempts) == 1
