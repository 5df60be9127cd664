"""New labels for a built problem: every answer is that of a problem which is built anew from these labels."""

import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm
from specmargin import optima, problems
from specmargin.labels import Labels, Targets
from specmargin.results import Status

SPLITS = 3
N, L, Q = 24, 8, 9


def split(seed, n=N, l=L, classes=2, weights=False):
    """Return labels at l random places, of every class one at least; `weights` says whether they have weights."""
    rng = np.random.default_rng(100 + seed)
    y = np.full(n, -1)
    at = rng.permutation(n)[:l]
    y[at] = rng.integers(classes, size=l)
    y[at[:classes]] = np.arange(classes)
    labels = sm.encode_labels(y)
    return replace(labels, weights=rng.uniform(0.3, 3.0, size=l)) if weights else labels


def numbers(seed, weights=False):
    rng = np.random.default_rng(200 + seed)
    labeled = np.sort(rng.permutation(18)[:L])
    return Targets(rng.normal(size=L), labeled, 18, rng.uniform(0.3, 3.0, size=L) if weights else None)


@pytest.fixture(scope="module")
def makers(manifold_data, spectrum_data):
    """Functions that build a problem of each form from labels, and the labels of each split, by name."""
    kernel, laplacian, _ = manifold_data()
    spectrum, _ = spectrum_data("tied", n=N, q=Q)
    delta = sm.objectives.spectral_ridge.power_spectrum(spectrum)
    rng = np.random.default_rng(5)
    blocks = [np.eye(3)[np.arange(N) % 3] * 3**0.5, rng.normal(size=(N, 2)) / 2**0.5, rng.normal(size=(N, 1))]
    wide = [rng.normal(size=(N, 12)) / 12**0.5, blocks[1]]

    def margin(**options):
        return lambda labels: sm.objectives.SpectrumMargin(spectrum, labels, C=1.0, **options)

    def manifold(build, loss, **options):
        def make(labels):
            return build(
                sm.objectives.LapSVM(kernel, laplacian, labels, loss=loss, gamma_A=0.1, gamma_I=1.0, **options)
            )

        return make, lambda seed, weights=False: split(seed, n=18, weights=weights)

    def regression(build):
        def make(targets):
            given = {"labeled": targets.labeled, "targets": targets.values, "weights": targets.weights}
            return build(sm.objectives.LapRLS(kernel, laplacian, gamma_A=0.1, gamma_I=1.0, **given))

        return make, numbers

    def over_blocks(loss, classes=3, given=blocks, **options):
        def make(labels):
            return problems.block_margin(
                sm.objectives.BlockMargin(given, labels, C=1.0, loss=loss, **options), "primal"
            )

        return make, lambda seed, weights=False: split(seed, classes=classes, weights=weights)

    made = {
        "ridge": (
            lambda labels: problems.spectral_ridge_primal(sm.objectives.SpectralRidge(spectrum, labels, delta)),
            split,
        ),
        "ridge of classes": (
            lambda labels: problems.spectral_ridge_primal(sm.objectives.SpectralRidge(spectrum, labels, delta)),
            lambda seed, weights=False: split(seed, classes=3, weights=weights),
        ),
        "numbers primal": regression(problems.lapsvm_primal),
    }
    for name, options in (
        ("storm", {"B": 1.5, "eps": 1e-4}),
        ("stoam", {}),
        ("mkl", {"order": False}),
        ("narrow", {"B": 0.7}),
        ("svm", {"delta": delta}),
        ("rmm", {"delta": delta, "B": 1.5}),
    ):
        made[f"{name} primal"] = (
            lambda labels, options=options: problems.storm(margin(**options)(labels), "primal"),
            split,
        )
    for loss in ("hinge", "squared_hinge", "squared", "huber_hinge"):
        made[f"primal {loss}"] = manifold(problems.lapsvm_primal, loss)
    made["primal through 0"] = manifold(problems.lapsvm_primal, "hinge", fit_intercept=False)
    for loss in ("hinge", "squared_hinge", "squared"):
        made[f"blocks {loss} primal"] = over_blocks(loss)
    made["bounded blocks primal"] = over_blocks("hinge", classes=2, B=1.2)
    made["wide blocks primal"] = over_blocks("hinge", classes=2, given=wide)
    return made


NAMES = (
    *("ridge", "ridge of classes", "numbers primal", "primal through 0", "bounded blocks primal", "wide blocks primal"),
    *(f"{name} primal" for name in ("storm", "stoam", "mkl", "narrow", "svm", "rmm")),
    *(f"primal {loss}" for loss in ("hinge", "squared_hinge", "squared", "huber_hinge")),
    *(f"blocks {loss} primal" for loss in ("hinge", "squared_hinge", "squared")),
)


def recompiled(problem):
    """Return what CVXPY holds of the compiled problem: another object once it was compiled anew."""
    return problem._cache.param_prog


def check(built, make, splits):
    """Relabel and solve, and compare with problems that are built anew."""
    known = None
    for labels in splits:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*not DPP")
            built.relabel(labels)
            result = sm.solve(built)
        known = recompiled(built.problem) if known is None else known
        assert recompiled(built.problem) is known is not None
        anew = make(labels)
        fresh = sm.solve(anew)
        assert result.status is fresh.status is Status.OPTIMAL, (result.message, fresh.message)
        ours, theirs = result.certificate, fresh.certificate
        size = max(abs(theirs.primal_objective), 1e-3)
        assert abs(ours.primal_objective - theirs.primal_objective) <= 1e-6 * size
        assert ours.relative_gap <= min(1e-6, 100 * theirs.relative_gap + 2e-9)
        assert abs(built.problem.value - anew.problem.value) <= 1e-6 * max(abs(anew.problem.value), 1e-3)
        for symbol in ("f", "delta"):
            if symbol in fresh.variables:
                np.testing.assert_allclose(result.variables[symbol], fresh.variables[symbol], atol=2e-3)
        certificate = sm.certify(built)
        assert certificate.is_optimal(1e-6)
        objective = built.current_objective()
        np.testing.assert_array_equal(objective.labels.labeled, labels.labeled)


@pytest.mark.filterwarnings("ignore:B=0.7 is below 1")
@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_a_problem_built_anew(makers, name):
    make, draw = makers[name]
    check(make(draw(SPLITS)), make, [draw(seed) for seed in range(SPLITS)])


@pytest.mark.filterwarnings("ignore:B=0.7 is below 1")
@pytest.mark.parametrize("name", NAMES)
def test_weights_of_the_labels_follow(makers, name):
    make, draw = makers[name]
    splits = [draw(0, weights=True), draw(1), draw(2, weights=True)]
    check(make(draw(SPLITS, weights=True)), make, splits)


@pytest.mark.parametrize("name", ["storm primal", "primal hinge", "blocks squared_hinge primal"])
def test_other_parameters_keep_their_values(makers, name):
    make, draw = makers[name]
    built = make(draw(SPLITS))
    for symbol in built.parameters:
        built.parameters[symbol].value *= 1.3

    def anew(labels):
        other = make(labels)
        for symbol in other.parameters:
            other.parameters[symbol].value *= 1.3
        return other

    check(built, anew, [draw(seed) for seed in range(SPLITS)])


def changed(built):
    """Return the problem with a term and a constraint that do not depend on labels."""
    f, w = built.expressions["decisions"], next(iter(built.variables.values()))
    half = np.arange(f.shape[0]) < f.shape[0] // 2
    return built.with_(
        terms={"pull": 0.05 * cp.sum_squares(w)},
        constraints={"fair": cp.sum(f[half], axis=0) == cp.sum(f[~half], axis=0)},
    )


@pytest.mark.parametrize("name", ["storm primal", "primal hinge", "ridge", "blocks hinge primal", "wide blocks primal"])
def test_changed_problems_keep_their_changes_and_compile_once(makers, name):
    make, draw = makers[name]
    built = make(draw(SPLITS))
    other, known = changed(built), None
    for seed in range(SPLITS):
        labels = draw(seed)
        other.relabel(labels)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*not DPP")
            result = sm.solve(other)
        known = recompiled(other.problem) if known is None else known
        assert recompiled(other.problem) is known is not None
        fresh = sm.solve(changed(make(labels)))
        assert result.certificate.kind == "cone program"
        assert result.status is fresh.status is Status.OPTIMAL
        assert result.certificate.primal_objective == pytest.approx(fresh.certificate.primal_objective, rel=1e-6)
        assert result.certificate.violation <= 1e-6
        np.testing.assert_allclose(result.variables["f"], fresh.variables["f"], atol=2e-3)
        # One labelling of all that were made from one another: the problem before the change follows.
        assert built.current_objective() is other.current_objective()


def test_problems_whose_labels_are_shared_follow_one_another(makers):
    make, draw = makers["primal hinge"]
    built = make(draw(0))
    other = built.with_(terms={"pull": 0.05 * cp.sum_squares(built.variables["w"])})
    other.relabel(draw(1))
    assert sm.solve(built).certificate.primal_objective == pytest.approx(
        sm.solve(make(draw(1))).certificate.primal_objective, rel=1e-6
    )
    assert built.objective.labels is not draw(1)


# What is refused


def refuses(built, labels, match):
    """Relabel, see the message, and see that nothing has changed."""
    objective = built.current_objective()
    held = [np.array(parameter.value) for parameter in built.problem.parameters()]
    with pytest.raises(ValueError, match=match):
        built.relabel(labels)
    assert built.current_objective() is objective
    for parameter, value in zip(built.problem.parameters(), held, strict=True):
        np.testing.assert_array_equal(parameter.value, value)


@pytest.mark.parametrize("name", ["storm primal", "primal hinge", "ridge"])
def test_another_number_of_labels_is_refused(makers, name):
    make, draw = makers[name]
    n = 18 if name == "primal hinge" else N
    refuses(make(draw(0)), split(1, n=n, l=L - 1), rf"7 of {n} samples are labelled, but .* was built for 8 of {n}")
    refuses(make(draw(0)), split(1, n=n + 1), rf"8 of {n + 1} samples are labelled, but .*build it anew")


def test_no_label_at_all_is_refused(makers):
    make, draw = makers["storm primal"]
    nothing = Labels(np.zeros(0), np.zeros(0, dtype=int), np.array([0, 1]), N)
    refuses(make(draw(0)), nothing, "0 of 24 samples are labelled, but STORM primal was built for 8 of 24")


def test_other_classes_are_refused(makers):
    make, draw = makers["ridge"]
    refuses(make(draw(0)), split(1, classes=3), r"shape \(8, 3\), but SpectralRidge was built for \(8,\)")


def test_weights_need_a_problem_that_has_them(makers):
    make, draw = makers["storm primal"]
    refuses(make(draw(0)), draw(1, weights=True), "STORM primal was built from labels without; build it anew")


def test_what_are_no_labels_is_refused(makers):
    make, draw = makers["storm primal"]
    with pytest.raises(TypeError, match=r"are of the type list; pass what encode_labels returns"):
        make(draw(0)).relabel([0, 1, -1])
    make, draw = makers["numbers primal"]
    with pytest.raises(TypeError, match=r"are of the type Labels; pass what encode_targets returns"):
        make(draw(0)).relabel(split(0, n=18))


@pytest.mark.parametrize("form", ["literal", "chained", "compact"])
def test_forms_in_multipliers_hold_their_labels(spectrum_data, form):
    spectrum, labels = spectrum_data()
    built = problems.storm(sm.objectives.SpectrumMargin(spectrum, labels, B=1.5), form)
    refuses(built, labels, rf"STORM {form} takes no other labels: .*primal form")


def test_duals_name_the_primal(manifold_data, gram_data):
    kernel, laplacian, labels = manifold_data()
    duals = [problems.lapsvm_dual(sm.objectives.LapSVM(kernel, laplacian, labels))]
    K, labeled = gram_data()
    duals += [build(sm.objectives.RMM(K, labeled)) for build in (problems.rmm, problems.rmm_primal)]
    for built in duals:
        refuses(built, built.objective.labels, r"takes no other labels: .*primal form")


def test_problems_whose_shape_labels_decide_are_refused():
    X = np.random.default_rng(0).normal(size=(9, 2))
    labels = sm.encode_labels([0, 1, 0, 1, -1, -1, -1, -1, -1])
    obj = sm.objectives.S3VM(X, labels, "hinge")
    for built in (problems.cccp_subproblem(obj, np.zeros(5)), optima.s3vm_relaxation(obj)):
        with pytest.raises(ValueError, match=r"takes no other labels: .*the shape that they give it"):
            built.relabel(labels)
