"""Problems that their user changed: the values, multipliers and certificate of the changed problem, and of no other.

Every change is made to a problem of a builder. What CVXPY alone finds for the same program, built once more and solved
with tolerances of 1e-10, is the reference of the value; the certificate has to enclose it.
"""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm
from cvxproof.conic.values import parts_of
from specmargin import optima, problems
from specmargin.exceptions import InfeasibleError
from specmargin.results import Status

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


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
        made[f"stoam {form}"] = lambda form=form: problems.stoam(margin(), form)
        made[f"mkl {form}"] = lambda form=form: problems.mkl(margin(order=False), form)
    for loss in ("hinge", "squared_hinge", "squared", "huber_hinge"):
        made[f"dual {loss}"] = lambda loss=loss: problems.lapsvm_dual(manifold_of(loss))
        made[f"primal {loss}"] = lambda loss=loss: problems.lapsvm_primal(manifold_of(loss))
    made["primal through 0"] = lambda: problems.lapsvm_primal(manifold_of("hinge", fit_intercept=False))
    for form in ("compact", "literal", "primal"):
        for loss in ("hinge", "squared_hinge", "squared"):
            obj = sm.objectives.BlockMargin(blocks, classes, C=1.0, loss=loss)
            made[f"blocks {loss} {form}"] = lambda obj=obj, form=form: problems.block_margin(obj, form)
    made["kta"] = lambda: problems.kta(sm.objectives.Alignment(spectrum, spectrum_labels))
    made["kta of blocks"] = lambda: problems.kta(sm.objectives.BlockAlignment(blocks, classes))
    made["ridge"] = lambda: problems.spectral_ridge_primal(
        sm.objectives.SpectralRidge(
            spectrum, spectrum_labels, sm.objectives.spectral_ridge.power_spectrum(spectrum), penalty=0.1
        )
    )
    made["cccp"] = lambda: problems.cccp_subproblem(sm.objectives.S3VM(X, partly, "hinge"), np.linspace(-1, 1, 5))
    made["relaxation"] = lambda: optima.s3vm_relaxation(sm.objectives.S3VM(X, partly, C=1.0))
    return made


def first(built):
    return next(iter(built.variables.values()))


def rising(at):
    return np.linspace(1.0, 2.0, at.size).reshape(at.shape)


CHANGES = {
    "a bound": lambda w, at: {"constraints": {"added": cp.sum_squares(w) <= 0.6 * float((at**2).sum())}},
    "a sum": lambda w, at: {
        "constraints": {"added": cp.sum(cp.multiply(rising(at), w)) == 0.95 * float((rising(at) * at).sum())}
    },
    "a term": lambda w, at: {"terms": {"pull": 0.3 * cp.sum_squares(w - 0.9 * at)}},
    "a norm and a bound that is not felt": lambda w, at: {
        "terms": {"size": 0.01 * cp.sum(cp.abs(w))},
        "constraints": {"added": cp.sum_squares(w) <= 10.0 * float((at**2).sum()) + 10.0},
    },
}
"""Changes by the first variable of a problem and its value as built."""
BUILDS = (
    *("rmm", "svm", "kta", "kta of blocks", "ridge", "cccp", "relaxation", "primal through 0"),
    *(f"{name} {form}" for name in ("storm", "stoam", "mkl") for form in ("literal", "chained", "compact", "primal")),
    *(f"{form} {loss}" for form in ("dual", "primal") for loss in ("hinge", "squared_hinge", "squared", "huber_hinge")),
    *(f"blocks {loss} {form}" for loss in ("hinge", "squared_hinge", "squared") for form in ("compact", "literal")),
    *(f"blocks {loss} primal" for loss in ("hinge", "squared_hinge", "squared")),
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", BUILDS)
def test_a_changed_problem_has_its_own_answer_and_proof(builds, name, change):
    built = builds[name]()
    sm.solve(built, check=True)
    w = first(built)
    other = built.with_(**CHANGES[change](w, np.array(w.value)))
    result = sm.solve(other, check=True)
    certificate, least = result.certificate, isinstance(built.problem.objective, cp.Minimize)
    assert result.problem == f"{built.name}, changed"
    assert certificate.kind == "cone program"
    assert certificate.sense == ("minimize" if least else "maximize")
    assert certificate.relative_gap <= 1e-6, result.message
    assert certificate.violation <= 1e-6 * (1.0 + float(np.abs(w.value).max()) ** 2)
    for symbol, variable in built.variables.items():
        np.testing.assert_array_equal(result.variables[symbol], variable.value)
    for constraint in other.added():
        assert result.duals[constraint].size == other.problem.constraints[-1].size
    value = other.problem.value
    other.problem.solve(solver="CLARABEL", **TIGHT)
    slack = 1e-6 * max(1.0, abs(value))
    assert value == pytest.approx(other.problem.value, rel=1e-5, abs=slack)
    assert (1 if least else -1) * (other.problem.value - certificate.dual_objective) >= -slack


def test_the_reported_case_of_a_bounded_spectrum(builds):
    built = builds["storm primal"]()
    delta = built.variables["delta"]
    sm.solve(built, check=True)
    most = 0.5 * float(delta.value[:3].sum())
    other = built.with_(constraints={"low": cp.sum(delta[:3]) <= most})
    result = sm.solve(other, check=True)
    assert result.status is Status.OPTIMAL
    assert result.variables["delta"][:3].sum() <= most + 1e-7
    assert result.duals["low"] > 1e-3
    np.testing.assert_allclose(result.variables["f"], built.expressions["decisions"].value, atol=1e-12)
    np.testing.assert_allclose(
        result.variables["f"],
        built.objective.decisions_at(built.variables["v"].value, built.variables["b"].value),
        atol=1e-12,
    )


@pytest.mark.parametrize("name", ["primal hinge", "ridge", "cccp", "storm primal", "blocks squared_hinge primal"])
def test_expressions_are_what_the_objective_computes(builds, name):
    built = builds[name]()
    result = sm.solve(built, check=True)
    given = {symbol: np.asarray(variable.value) for symbol, variable in built.variables.items()}
    np.testing.assert_allclose(built.expressions["decisions"].value, built.derived(built.objective)["f"], atol=1e-9)
    assert built.expressions["decisions"].is_affine()
    assert all(part.is_convex() for part in built.expressions.values())
    assert all(np.isfinite(value).all() for value in given.values())
    assert result.status is Status.OPTIMAL


def test_the_penalised_parts_add_up_to_the_objective(builds):
    for name in ("primal hinge", "ridge", "storm primal"):
        built = builds[name]()
        sm.solve(built)
        parts = {
            part: float(built.expressions[part].value)
            for part in ("loss", "norm", "smoothness")
            if part in built.expressions
        }
        values = {symbol: parameter.value for symbol, parameter in built.parameters.items()}
        if name == "primal hinge":
            total = parts["loss"] + values["gamma_A"] * parts["norm"] + values["gamma_I"] * parts["smoothness"]
            total *= built.objective.scale
        elif name == "ridge":
            total = parts["loss"] + values["penalty"] * parts["norm"]
        else:
            total = parts["norm"] + values["C"] * parts["loss"]
        assert built.problem.value == pytest.approx(total, rel=1e-9)


def test_a_cone_and_a_variable_of_ones_own(builds):
    built = builds["storm primal"]()
    v, s = built.variables["v"], cp.Variable(name="s", nonneg=True)
    cone = cp.SOC(cp.Constant(0.4), v)
    other = built.with_(constraints={"named": cp.sum(v) <= 0.1, "tied": v[0] <= s, "ball": cone}, terms={"size": s})
    result = sm.solve(other, check=True)
    assert {"named", "tied", "ball"} <= set(result.duals)
    assert result.duals["ball"].shape == (1 + v.size,)
    assert result.variables["s"] == s.value
    np.testing.assert_allclose(result.duals["ball"], np.concatenate([np.ravel(one) for one in cone.dual_value]))


def test_changes_add_up_and_leave_the_original(builds):
    built = builds["svm"]()
    alpha = built.variables["alpha"]
    once = built.with_(constraints={"small": alpha <= 0.1})
    twice = once.with_(terms={"size": cp.sum_squares(alpha)})
    assert built.is_as_built()
    assert not once.is_as_built()
    assert list(twice.added()) == ["small"]
    assert twice.terms.keys() == {"size"}
    assert sm.solve(twice).certificate.primal_objective < sm.solve(once).certificate.primal_objective


BAD = {
    "taken": (lambda built, x: {"constraints": {"box": x <= 1}}, r"has a part 'box' already"),
    "not convex": (
        lambda built, x: {"constraints": {"odd": cp.square(x) >= 1}},
        r"'odd' is not convex by CVXPY's rules",
    ),
    "concave term": (lambda built, x: {"terms": {"odd": cp.sum(cp.sqrt(x))}}, r"'odd' is not convex"),
    "a vector": (lambda built, x: {"terms": {"odd": x}}, r"the term 'odd' has the shape"),
    "foreign": (
        lambda built, x: {"constraints": {"odd": cp.Variable() <= 1}},
        r"\['odd'\] have none of the variables of SVM",
    ),
    "a number": (lambda built, x: {"constraints": {"odd": 3}}, r"'odd' is a int; pass a constraint"),
    "a constraint as term": (lambda built, x: {"terms": {"odd": x <= 1}}, r"'odd' is a Inequality; pass an expression"),
    "two of a name": (
        lambda built, x: {"constraints": {"odd": x[0] <= cp.Variable(name="alpha")}},
        r"two variables are called 'alpha'",
    ),
    "an integer": (
        lambda built, x: {"constraints": {"odd": x[0] <= cp.Variable(integer=True, name="k")}},
        r"the variables \['k'\] are integer",
    ),
    "no value": (
        lambda built, x: {"constraints": {"odd": x <= cp.Parameter(name="p")}},
        r"the parameters \['p'\] have no values",
    ),
    "taken out, not there": (lambda built, x: {"without": ["boxes"]}, r"without='boxes' is no.*Did you mean 'box'"),
    "taken out, no label": (lambda built, x: {"without": [3]}, r"without=3 is no constraint"),
    "taken out, a number": (lambda built, x: {"without": 3}, r"without=3 must be a list of labels"),
    "taken out, a text": (lambda built, x: {"without": "box"}, r"without='box' must be a list of labels"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_added_is_refused_by_name(builds, name):
    built = builds["svm"]()
    change, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        sm.solve(built.with_(**change(built, built.variables["alpha"])))


def test_a_contradiction_is_proved_and_named(builds):
    built = builds["primal hinge"]()
    b = built.variables["b"]
    other = built.with_(constraints={"above": b >= 1, "below": b <= 0})
    result = sm.solve(other)
    assert result.status is Status.INFEASIBLE
    assert "infeasible, proved;" in result.message
    with pytest.raises(InfeasibleError, match="Loosen"):
        sm.solve(other, check=True)


def test_a_parameter_is_no_change(builds):
    built = builds["storm primal"]()
    built.parameters["C"].value, built.parameters["B"].value = 3.0, 1.2
    result = sm.solve(built)
    assert built.is_as_built()
    assert result.status is Status.OPTIMAL
    assert result.certificate.kind == "objective"
    own = cp.Parameter(nonneg=True, value=0.2)
    other = built.with_(constraints={"own": built.variables["delta"][1] <= own})
    weights = []
    for own.value in (0.2, 0.15):
        result = sm.solve(other, check=True)
        assert result.certificate.is_optimal(1e-6)
        weights.append(result.variables["delta"][1])
    np.testing.assert_allclose(weights, [0.2, 0.15], atol=1e-6)


def test_a_list_that_was_changed_in_place_is_refused(builds):
    built = builds["svm"]()
    built.problem.args[1].append(built.variables["alpha"] <= 0.1)
    with pytest.raises(ValueError, match=r"constraints of SVM was changed in place.*with_"):
        sm.solve(built)


def test_a_constraint_that_was_taken_out_is_a_change(builds):
    built = builds["svm"]()
    sm.solve(built)
    kept = [
        constraint for constraint in built.problem.constraints if constraint is not built.constraints["nonnegative"]
    ]
    result = sm.solve(replace(built, problem=cp.Problem(built.problem.objective, kept)))
    assert result.certificate.kind == "cone program"
    assert result.certificate.is_optimal(1e-6)
    assert "nonnegative" not in result.duals


@pytest.mark.parametrize("name", ["svm", "storm primal", "blocks hinge literal"])
def test_a_constraint_is_taken_out_and_another_takes_its_name(builds, name):
    built = builds[name]()
    label = {"svm": "box", "storm primal": "margin"}.get(name, "sums")
    held = parts_of(built.constraints[label])
    once = built.with_(without=(label,))
    ids = {constraint.id for constraint in once.problem.constraints}
    assert not ids & {constraint.id for constraint in held}
    assert len(once.problem.constraints) == len(built.problem.constraints) - len(held)
    assert label not in once.constraints
    assert label in built.constraints
    assert once.changes() == [f"constraints taken out: {len(held)}"]
    with pytest.raises(ValueError, match="is no constraint"):
        once.with_(without=(label,))
    copies = [type(constraint)(*(argument + 0 for argument in constraint.args)) for constraint in held]
    again = built.with_(constraints={label: copies[0]}, without=(label,))
    assert list(again.added()) == [label]
    if len(held) == 1:  # the same program, written anew
        ours, theirs = sm.solve(again, check=True), sm.solve(built, check=True)
        assert ours.certificate.kind == "cone program"
        assert ours.certificate.primal_objective == pytest.approx(theirs.certificate.primal_objective, rel=1e-6)
        np.testing.assert_allclose(ours.duals[label], theirs.duals[label], atol=1e-5)


def test_an_added_constraint_is_taken_out_again_and_cannot_be_added_twice(builds):
    built = builds["svm"]()
    small = {"small": built.variables["alpha"] <= 0.1}
    once = built.with_(constraints=small)
    with pytest.raises(ValueError, match="has a part 'small' already"):
        once.with_(constraints={"small": built.variables["alpha"] <= 0.2})
    assert once.with_(without=["small"]).is_as_built()


def test_the_next_solver_is_asked_where_the_first_leaves_a_gap(builds):
    built = builds["svm"]()
    other = built.with_(constraints={"small": built.variables["alpha"] <= 0.1})
    assert len(sm.solve(other, ("CLARABEL", "SCS")).attempts) == 1
    assert len(sm.solve(other, ("SCS", "CLARABEL"), tol=1e-13).attempts) == 2


def test_both_certificates_speak_of_the_same_optimum(builds):
    """On what is as built, the cone's bound and the objective's agree to what both leave open."""
    for name in ("svm", "storm compact", "primal hinge", "ridge"):
        built = builds[name]()
        proved = sm.solve(built, check=True).certificate
        cone = sm.certify(built.problem)
        assert proved.kind == "objective"
        assert cone.kind == "cone program"
        slack = proved.gap + cone.gap + 1e-12
        assert abs(proved.dual_objective - cone.dual_objective) <= 2 * slack


def test_a_built_problem_is_written_as_one_sentence(builds):
    built = builds["primal hinge"]()
    assert repr(built) == (
        "LapSVM primal: minimisation over w (18), b, t (7); constraints margin; parameters gamma_A = 0.1, gamma_I = 1"
    )
    changed = built.with_(
        constraints={"<low>": built.expressions["decisions"] >= -9},
        terms={"size": cp.norm1(built.expressions["decisions"])},
    )
    assert "; constraints margin, &lt;low&gt;; terms added size;" in changed._repr_html_()
    assert [text for build in builds.values() if len(text := repr(build())) >= 300] == []
