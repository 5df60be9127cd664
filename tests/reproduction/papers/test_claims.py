"""The small studies behind claims of the papers: what they measure, and verdicts on made-up rows, each way."""

from types import SimpleNamespace

import numpy as np
import pytest
from claim_rows import line_on
from scipy.optimize import minimize_scalar
from sklearn.kernel_ridge import KernelRidge

import specmargin as sm
from reproduction.data import available, load
from reproduction.judging import frame_of, judge
from reproduction.papers import claims, run_table
from reproduction.papers._claims import manifold, primal, s3vm, spectrum
from reproduction.papers._claims import study as of_studies
from reproduction.verdicts import VERDICTS, parse_claims


def row(dataset="generated moons", **columns):
    return {"dataset": dataset, "status": "ok", **columns}


def draws(**columns):
    """Return four draws on which the columns move by a hundredth."""
    moved = [{name: value * (1.0 + 0.01 * (-1) ** k) for name, value in columns.items()} for k in range(4)]
    return [row(split=f"draw-{k:02d}", **each) for k, each in enumerate(moved)]


WIDTHS = {f"{name}_{factor}": 9.0 for factor in ("0.3", "1", "3") for name in ("error", "iterations", "off_diagonal")}
NEAR = WIDTHS | {"error_0.03": 20.0, "iterations_0.03": 2.0, "off_diagonal_0.03": 0.01}
SVM, STORM = {"error_best": 1.0, "error_svm": 5.0}, {"seconds_q_200": 1.0, "seconds_dense": 9.0}
CASES = [
    ("width and start", "near the identity", NEAR, {"error_0.03": 3.0}, "differs"),
    ("width and start", "near the identity", NEAR, {"off_diagonal_0.03": 7.6}, "not judged"),
    ("clusters per class", "several", {"error_cs3vm_8": 5.0, "error_svm_8": 5.0}, {"error_cs3vm_8": 1.0}, "differs"),
    ("components of the kernel", "hold the clusters", SVM, {"error_best": 6.0}, "differs"),
    ("costs of STORM", "little next to", STORM, {"seconds_q_200": 10.0}, "differs"),
]
"""Study, words of its claim, columns that bear it out, and the changes that do not."""


@pytest.mark.parametrize(("study", "text", "good", "changes", "expected"), CASES)
def test_a_verdict_comes_out_each_way(study, text, good, changes, expected):
    of_study = [one for each in of_studies.CLAIMS.values() for one in each if one.source == study]
    for columns, word in ((good, "agrees"), (good | changes, expected)):
        judged = judge(of_study, {study: frame_of(draws(**columns))})
        assert line_on(text, judged).split(":")[0] == word


def test_slopes_are_those_of_each_draw_and_single_fits_say_nothing():
    powers = (2.9, 3.0, 3.1)
    rows = [
        row(split=f"draw-{k:02d}", **{f"seconds_{n}": 1e-9 * n**p for n in s3vm.SIZES}) for k, p in enumerate(powers)
    ]
    (one,) = [each for each in of_studies.CLAIMS["Continuation"] if each.source == "time of continuation"]
    derive = of_studies.DERIVED["time of continuation"]
    frame = frame_of(rows, derive)
    assert frame["slope"].tolist() == pytest.approx(powers)
    (line,) = judge([one], {one.source: frame})
    assert line.startswith("inconclusive: the run time is cubic")  # n^2 and n^4 are a session apart
    assert "slope 3.00 [1.83, 4.17]; 3 draws, and a factor of 2 from session to session" in line
    linear = frame_of([{**each, **{f"seconds_{n}": 1e-6 * n for n in s3vm.SIZES}} for each in rows], derive)
    assert judge([one], {one.source: linear})[0].startswith("differs: ")
    (line,) = judge([one], {one.source: frame_of(rows[:1], derive)})
    assert line.startswith("not judged: the run time is cubic in the number of samples (section 5.2). Single fits")


def test_orders_of_magnitude_are_those_of_the_sets_of_one_draw():
    rows = [row(name, split=f"s{k}", gradient=g * 10.0**k) for k in range(2) for name, g in (("a", 1.0), ("b", 100.0))]
    assert frame_of(rows, of_studies.DERIVED["conjugate gradients on the way"])["apart"].tolist() == pytest.approx(
        [2.0] * 4
    )


def test_plain_conjugate_gradients_end_where_newtons_method_does(rng):
    """Without a preconditioner the way is longer, and the minimum the same; one step is the exact one."""
    X, y = sm.datasets.make_two_moons(n_samples=40, random_state=0)
    labels = sm.encode_labels(sm.hide_labels(y, per_class=5, random_state=0))
    obj = sm.objectives.LapSVM(sm.kernels.gram(X, gamma=2.0), None, labels, "squared_hinge", 0.1, 0.0, False)
    best = obj.value(sm.solvers.newton(obj).variables)
    assert 0 < primal.iterations_to(obj, best * (1 + 1e-6)) < 2000
    assert primal.iterations_to(obj, 0.5 * best, most=7) == 7
    alpha, d = np.zeros(40), -obj.gradient(np.zeros(40), 0.0)[0]
    step = minimize_scalar(lambda s: obj.value_at(alpha + s * d, 0.0), bracket=(0.0, 1e-2)).x
    assert primal.iterations_to(obj, obj.value_at(step * d, 0.0) * (1 + 1e-9)) == 1
    assert primal.iterations_to(obj, obj.value_at(step * d, 0.0) * (1 - 1e-6)) > 1


def test_updates_of_the_directions():
    """Polak and Ribiere's iterations are those of `pcg`; on a quadratic both updates are one, elsewhere not."""
    X, y = sm.datasets.make_two_moons(n_samples=80, noise=0.1, random_state=0)
    labels = sm.encode_labels(sm.hide_labels(y, per_class=10, random_state=0))
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))

    def counts(gamma_A, above):
        obj = sm.objectives.LapSVM(sm.kernels.gram(X, gamma=2.0), L, labels, "squared_hinge", gamma_A, 1e-3, False)
        best = obj.value(sm.solvers.newton(obj).variables)
        history = np.asarray(sm.solvers.pcg(obj, tol=0.0, max_iter=300).history["objective"])
        both = [primal.iterations_to(obj, best * (1 + above), name, by_kernel=True) for name in primal.UPDATES]
        return [int(np.argmax(history <= best * (1 + above))), *both]

    pcg, polak_ribiere, fletcher_reeves = counts(1e-2, 1e-3)
    assert pcg == polak_ribiere < fletcher_reeves < 2000
    # So much is regularised here that every labelled sample keeps a loss.
    pcg, polak_ribiere, fletcher_reeves = counts(10.0, 1e-9)
    assert pcg == polak_ribiere == fletcher_reeves > 2


def test_every_study_is_complete_and_of_one_paper():
    studies = sorted(claims.STUDIES)
    judged_by = {one.source: one.paper for each in of_studies.CLAIMS.values() for one in each}
    assert sorted(judged_by) == studies
    assert all(one.paper == judged_by[one.source] for each in of_studies.CLAIMS.values() for one in each)
    for _, names, draws in claims.STUDIES.values():
        assert names
        assert draws >= 1
        assert all(claims.source_of(name) in ("", *available()) for name in names)


def test_quick_table_of_generated_sets(nowhere, tmp_path, monkeypatch):
    quick = ("eigenmap of new points", "restricted norm", "clock", "minima of one weight")
    monkeypatch.setattr(claims, "STUDIES", {name: claims.STUDIES[name] for name in (*quick, "no clusters")})
    report = run_table("claims", quick=True, out=tmp_path, progress=False)
    text = report.text()
    assert "QUICK: generated sets alone" in text
    assert "g10n" in text  # which is named as missing
    assert {line.method for section in report.sections for line in section.lines} == set(quick)
    found = parse_claims(report)
    assert len(found) == len(quick)
    assert {claim.verdict for claim in found} <= set(VERDICTS)
    assert {claim.context for claim in found} == {"Manifold regularization", "LapSVM in the primal", "Continuation"}


def test_norm_of_a_function_of_the_kernel(rng):
    A = rng.normal(size=(6, 6))
    K, f = A @ A.T + np.eye(6), rng.normal(size=6)
    assert manifold._squared_norm(K, f) == pytest.approx(f @ np.linalg.solve(K, f) / (f @ f), rel=1e-9)


def test_mean_share_and_distance_of_spectra():
    assert spectrum.apart(np.array([0.5, 0.5]), np.array([0.2, 0.8])) == pytest.approx(0.3)
    assert spectrum.shares(np.array([7.0, 2.0, 2.0])).tolist() == [0.5, 0.5]


def test_intrinsic_norm_of_the_kernel_itself():
    assert manifold.restricted_norm("generated moons", 0, None)["error_apart"] < 1e-6


def test_gradient_and_minima_of_s3vms():
    assert s3vm._gradient_error(np.random.default_rng(0)) < 1e-4
    counted = s3vm.minima("generated line", 0, None)
    assert counted["minima_start"] == 1.0
    assert counted["minima_end"] >= 1.0


def test_the_end_of_continuation_is_held_against_the_least_value(monkeypatch):
    """The objective of one weight written out; from a zero weight, which is a maximum of the unlabelled losses."""
    x = np.concatenate([[-1.0, 1.0], np.random.default_rng(4).normal(size=8)])
    about = x - x[2:].mean()  # the mean of the unlabelled decisions is zero

    def value(w):
        labels, unlabeled = (
            np.maximum(0.0, 1.0 - w * np.array([-1.0, 1.0]) * about[:2]),
            np.exp(-3.0 * (w * about[2:]) ** 2),
        )
        return w * w / 2 + 3.0 * labels.sum() + 3.0 * unlabeled.sum()

    least = min(minimize_scalar(value, bounds=(k, k + 0.5), method="bounded").fun for k in np.arange(-6.0, 6.0, 0.5))
    monkeypatch.setattr(s3vm, "continuation", lambda obj: SimpleNamespace(variables={"w": np.zeros(1)}))
    above = s3vm.minima("generated line", 4, None)["error_end"]
    assert above == pytest.approx(100.0 * (value(0.0) / least - 1.0), rel=1e-4)


def test_weights_of_qn_s3vm_are_those_of_means(rng):
    """The paper's lambda |w|^2 + mean labelled loss + mean unlabelled loss at lambda = 0.01, but for a factor."""
    y = np.arange(50) % 2
    shared = s3vm.gieseke.Problem(rng.normal(size=(50, 4)), None, y, None, np.arange(12))
    labels = sm.encode_labels(np.where(np.arange(50) < 12, y, -1))
    obj = s3vm._qn_objective(shared, labels)
    w = rng.normal(size=4)
    f = (shared.X - shared.X[12:].mean(axis=0)) @ w  # six labels of each class: the mean of the unlabelled is zero
    loss = sm.losses.get_loss("smooth_hinge").value((2.0 * y[:12] - 1) * f[:12]).mean()
    expected = 0.01 * w @ w + loss + np.exp(-3.0 * f[12:] ** 2).mean()
    assert 0.02 * obj.value({"w": w}) == pytest.approx(expected)


def test_rls_on_isolet_has_the_ridge_that_belongs_to_C(isolet, nowhere, monkeypatch):
    X, y, speaker = isolet
    decisions = []
    monkeypatch.setattr(manifold.belkin, "breakeven_error", lambda y, f: float(decisions.append(f) is None))
    manifold.isolet_weight("isolet", 1, nowhere)
    first = speaker <= 30
    known, rest = first & (speaker == 2), first & (speaker != 2)
    for C, f in zip(manifold.ISOLET_WEIGHTS, decisions[1::2], strict=True):
        ridge = KernelRidge(alpha=1.0 / (2.0 * C), kernel="rbf", gamma=1.0 / 200.0)
        ridge.fit(X[known], np.where(y[known] < 13, 1.0, -1.0))
        np.testing.assert_allclose(f, ridge.predict(X[rest]), rtol=1e-6, atol=1e-9)


def test_iterations_count_until_the_error_stays_within_half_a_point(monkeypatch):
    """A history by hand: optimum at 4 %, the last error farther than half a point away at iteration 3."""
    X, y = sm.datasets.make_two_moons(n_samples=60, random_state=0)
    labels = sm.encode_labels(sm.hide_labels(y, per_class=5, random_state=0))
    obj = sm.objectives.LapSVM(
        sm.kernels.gram(X, gamma=2.0), None, labels, "squared_hinge", 1e-2, 0.0, fit_intercept=False
    )
    best = obj.value(sm.solvers.newton(obj).variables)
    history = {
        "unlabeled_error": [0.5, 0.1, 0.046, 0.034, 0.0449, 0.0351],
        "objective": [1.5 * best, 1.011 * best, 1.012 * best, 1.009 * best, best, best],
        "gradient": [8.0, 4.0, 6.0, 5.0, 5.5, 1.0],
        "preconditioned_gradient": [10.0, 5.0, 4.0, 3.0, 2.0, 1.0],
        "active": [10, 10, 9, 9, 9, 9],
    }
    seen = {}
    parts = {"labeled": y[labels.labeled], "unlabeled": y[labels.unlabeled]}
    shared = SimpleNamespace(y=parts, errors=lambda results: {"error_unlabeled": 4.0})
    monkeypatch.setattr(primal, "objective_of", lambda *_: (obj, shared))
    monkeypatch.setattr(primal, "pcg", lambda obj, **how: seen.update(how) or SimpleNamespace(history=history))
    assert primal.on_the_way("g50c", 0, None) == pytest.approx(
        {
            "error_unlabeled": 4.0,
            "iterations": 4.0,
            "samples": 60.0,
            "flat": 3.0,
            "gradient": 5.5 / 8.0,
            "preconditioned": 0.2,
            "rises": 0.4,
            "rises_with_change": 0.5,
        }
    )
    np.testing.assert_array_equal(seen["truth"], np.where(y == labels.classes[1], 1.0, -1.0))


def test_the_moons_of_the_figures_are_the_published_points(real_data):
    points = load("two_moons", data_home=real_data)
    X, y, labels = manifold.published_moons("two_moons", 3, real_data)
    np.testing.assert_array_equal(X, points.X)
    assert sorted(y[labels.labeled].tolist()) == sorted(set(y))
    for study in ("moons over parameters", "moons over gamma_I"):
        assert claims.STUDIES[study][1] == ("two_moons",)
    errors = manifold.moons_over_gamma("two_moons", 3, real_data)
    assert errors["error_0"] > errors["error_1"]


def test_iterations_on_two_moons_end_without_errors(real_data):
    numbers = primal.moons_by_iteration("two_moons", 0, real_data)
    assert numbers["error_25"] == 0.0
    assert numbers["first"] <= 25


def test_whole_steps_end_where_newtons_method_does(rng):
    """From zero, active sets alone; and where they cycle there is no number of steps."""
    X, y = sm.datasets.make_two_moons(n_samples=60, random_state=0)
    labels = sm.encode_labels(sm.hide_labels(y, per_class=5, random_state=0))
    K, L = sm.kernels.gram(X, gamma=2.0), sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
    obj = sm.objectives.LapSVM(K, L, labels, "squared_hinge", 1e-2, 1e-1, fit_intercept=False)
    optimum = sm.solvers.newton(obj).variables["alpha"]
    steps = primal.whole_steps(obj, optimum)
    assert 1 <= steps <= 10
    assert primal.whole_steps(obj, 2.0 * optimum) == 0.0  # no other point counts as the optimum
    assert primal.whole_steps(obj, optimum, most=0) == 0.0
