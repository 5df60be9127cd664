"""The small studies behind claims of the papers: what they measure, and verdicts on made-up rows, each way."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from claim_rows import line_on
from scipy.optimize import minimize_scalar
from sklearn.kernel_ridge import KernelRidge

import specmargin as sm
from reproduction.engine.records import Cell
from reproduction.judging import frame_of, judge
from reproduction.papers import _claims_manifold as manifold
from reproduction.papers import _claims_primal as primal
from reproduction.papers import _claims_s3vm as s3vm
from reproduction.papers import _claims_spectrum as spectrum
from reproduction.papers import _study_claims, claims, run_table
from reproduction.verdicts import VERDICTS, parse_claims
from specmargin.exceptions import InvalidInputError

METHODS = ("KTA", "STOAM", "STORM", "MKL-S", "MKL-R")


def row(dataset="generated moons", **columns):
    return {"dataset": dataset, "status": "ok", **columns}


def over(prefix, values):
    """Return columns that begin alike."""
    return {f"{prefix}_{name}": value for name, value in values.items()}


def spectra_row(**changes):
    columns = {
        **over("error", {"KTA": 6.0, "STOAM": 5.0, "STORM": 4.0, "MKL-S": 8.0, "MKL-R": 9.0, "eps": 4.1}),
        **over("objective", {"KTA": 9.0, "STOAM": 5.0, "STORM": 6.0, "MKL-S": 3.0, "MKL-R": 4.0}),
        **over("first", {"KTA": 0.9, "STOAM": 0.5, "STORM": 0.4, "MKL-S": 0.6, "MKL-R": 0.5}),
        **over("rises", {"MKL-S": 3.0, "MKL-R": 4.0}),
        "apart_STORM": 0.1,
        "others_STORM": 0.3,
        "apart_MKL-R": 0.1,
        "others_MKL-R": 0.3,
        "changed_eps": 0.0,
    }
    return row("mnist 3-8", **(columns | changes))


def numbers_row(order=METHODS, mutual=METHODS):
    at = {method: 2.0 + k for k, method in enumerate(("STORM", "STOAM", "KTA", "MKL-S", "MKL-R"))}
    swapped = dict(zip(order, at.values(), strict=True)) if order is not METHODS else at
    other = dict(zip(mutual, at.values(), strict=True)) if mutual is not METHODS else at
    columns = {f"error_{q}_{m}": (at if q == 200 else swapped)[m] for q in spectrum.NUMBERS for m in METHODS}
    return row("mnist 3-8", **columns, **{f"error_{k}_{m}": other[m] for k in spectrum.KINDS[1:] for m in METHODS})


def cost_row(powers, product=0.9):
    """Return costs of LapSVM whose seconds grow as these powers of n."""
    columns = {}
    for method, power in powers.items():
        columns |= over(f"seconds_{method}", {n: (n / 1000.0) ** power for n in primal.SIZES})
        columns |= over(f"memory_{method}", {n: {"pcg": 0.0, "newton": 3.0, "dual": 1.5}[method] for n in primal.SIZES})
    slow = max(powers, key=lambda method: powers[method])
    return row(
        **columns, **over("seconds_product", {n: product * columns[f"seconds_{slow}_{n}"] for n in primal.SIZES})
    )


def grows(power, sizes, prefix="seconds"):
    return over(prefix, {n: float(n) ** power for n in sizes})


ON_THE_WAY = {"iterations": 5.0, "samples": 400.0, "flat": 9.0, "rises": 0.1, "rises_with_change": 0.5}
WAY = [
    row("g50c", **ON_THE_WAY, gradient=1e-1),
    row("mac_windows", **(ON_THE_WAY | {"rises": 0.4}), gradient=1e-4),
]
WIDTHS = {
    **over("error", {0.1: 9.0, 0.3: 5.0, "1": 4.0, "3": 4.0}),
    **over("iterations", {0.1: 2, 0.3: 5, "1": 9, "3": 9}),
}
MOONS = {**over("error", {4: 0.0, 25: 0.0}), "first": 3.0, "flat": 12.0}
OPTIMUM = {"nonzero": 1.0, "whole": 3.0}
SHARES = {"off": 9.0, "error_hard": 8.0, "error_hard_exact": 1.0, "error_mean": 3.0, "error_mean_exact": 2.0}
CHOICES = {
    f"{column}_{key}": value
    for key in ("m_3", "m_10", "m_50", "schedule_one", "schedule_six", "schedule_long")
    for column, value in (("error", 2.0), ("objective", 5.0), ("iterations", 20.0))
}
FEATURES = {
    f"{column}_{way}_{r}": 2.0 for column in ("error", "seconds") for way in ("pca", "landmarks") for r in (10, 30, 100)
}
CALLS = {
    k: v
    for name, p in (("kernel", 2), ("d", 1), ("r", 1), ("s", 1))
    for k, v in grows(p, (1, 2, 4), f"seconds_{name}").items()
}
CLUSTERS = {f"error_{m}_{k}": 5.0 for m in ("svm", "cs3vm") for k in s3vm.CLUSTERS}
LAPRLS = {f"error_{p}_{r}": 9.0 for p in ("unlabeled", "test") for r in ("optimum", "stability", "validation", "mixed")}
LAPRLS |= over("iterations", {"stability": 20.0, "validation": 20.0, "mixed": 20.0})
GRID = {
    f"error_{m}_{how}": e for m, e in (("svm", 20.0), ("tsvm", 10.0), ("lapsvm", 0.0)) for how in ("least", "median")
}
ISOLET = {f"error_{m}_{C:g}": 20.0 + abs(np.log10(C) - 1) for m in ("svm", "rls") for C in manifold.ISOLET_WEIGHTS}
CLUSTERING = {f"error_{w}_{g:g}": 1.0 for w in ("in", "out") for g in manifold.SMOOTHNESS}
CLUSTERING |= over("roughness", {"0.0001": 3.0, "1": 2.0, "100": 1.0})
FOUR = over("error", {"svm": 10.0, "cs3vm": 11.0, "grad_hinge": 12.0, "svmlight_s3vm": 13.0})
COSTS = {
    **grows(1.0, spectrum.NUMBERS, "seconds_q"),
    **grows(2.0, spectrum.LABELS, "seconds_l"),
    "seconds_eigenpairs": 1.0,
}

CASES = [
    ("moons over parameters", "does not get the two moons", GRID, {"error_tsvm_least": 0.0}),
    ("moons over parameters", "wide range", GRID, {"error_lapsvm_median": 11.0}),
    ("moons over gamma_I", "follows the moons", over("error", {"0": 9.0, "0.01": 4.0, "1": 0.0}), {"error_1": 5.0}),
    ("seconds of LapSVM and TSVM", "faster", {"seconds_lapsvm": 1.0, "seconds_tsvm": 3.0}, {"seconds_tsvm": 1.5}),
    (
        "width on Isolet",
        "sigma = 10",
        over("error", {"2.5": 9.0, "5": 5.0, "10": 4.0, "20": 5.0, "40": 9.0}),
        {"error_10": 10.0},
    ),
    ("C on Isolet", "for the SVM", ISOLET, {"error_svm_10": 30.0}),
    ("C on Isolet", "for the RLS", ISOLET, {"error_rls_10": 30.0}),
    ("clustering", "how smooth", CLUSTERING, {"roughness_100": 4.0}),
    ("clustering", "points outside", CLUSTERING, {"error_out_0.0001": 9.0}),
    ("eigenmap of new points", "eigenmap", {"error_in": 1.0, "error_out": 2.0}, {"error_out": 30.0}),
    (
        "S3VM by branch and bound",
        "intractable",
        over("proved", {20: 1.0, 40: 1.0, 80: 0.0, 160: 0.0}),
        {"proved_80": 1.0, "proved_160": 1.0},
    ),
    ("restricted norm", "nothing but gamma", {"error_apart": 1e-9}, {"error_apart": 1.0}),
    ("Newton's optimum", "differ from zero", OPTIMUM, {"nonzero": 0.9}),
    ("Newton's optimum", "whole Newton steps", OPTIMUM, {"whole": 0.0}),
    ("without the preconditioner", "preconditioning", {"with": 5.0, "without": 50.0}, {"with": 60.0}),
    (
        "width and start",
        "near the identity",
        WIDTHS | {"iterations_seeded": 3.0},
        {"iterations_0.1": 20, "error_0.1": 3.0},
    ),
    ("width and start", "rough estimate", WIDTHS | {"iterations_seeded": 3.0}, {"iterations_seeded": 10.0}),
    ("moons by iteration", "four iterations", MOONS, {"error_4": 1.0}),
    ("moons by iteration", "nothing but the values", MOONS, {"flat": 2.0}),
    (
        "rules for LapRLS",
        "serve LapRLS",
        LAPRLS,
        {k: 10.1 for k in LAPRLS if k.startswith("error") and not k.endswith("optimum")},
    ),
    ("clock", "dial from hands", over("error", {0: 40.0, 1: 0.0}), {"error_1": 1.0}),
    (
        "costs of STORM",
        "O(q l^3)",
        {**COSTS, "seconds_dense": 1e4},
        {**grows(2.0, spectrum.NUMBERS, "seconds_q"), "seconds_dense": 0.0},
    ),
    (
        "no balance",
        "all get one class",
        {"error_free": 50.0, "error_balanced": 2.0, "larger_free": 1.0, "larger_balanced": 0.5},
        {"larger_free": 0.6},
    ),
    ("shares of positive labels", "badly estimated", SHARES, {"error_hard": 0.5}),
    ("shares of positive labels", "more flexible", SHARES, {"error_mean": 12.0}),
    ("no clusters", "gains nothing", FOUR, {"error_svm": 20.0}),
    ("a graph on text", "worse on text", FOUR | {"error_graph": 20.0}, {"error_graph": 5.0}),
    ("time of continuation", "cubic", grows(3.0, s3vm.SIZES), grows(2.0, s3vm.SIZES)),
    ("clusters per class", "several clusters", CLUSTERS, {"error_cs3vm_8": 1.0}),
    (
        "components of the kernel",
        "hold the clusters",
        {"error_best": 1.0, "error_first": 2.0, "error_svm": 5.0},
        {"error_best": 6.0},
    ),
    (
        "minima of one weight",
        "one minimum",
        {"minima_start": 1.0, "minima_end": 3.0, "error_end": 0.0},
        {"minima_start": 2.0},
    ),
    ("choices of QN-S3VM", "pairs of L-BFGS", CHOICES, {"objective_m_3": 6.0, "error_m_10": 9.0}),
    ("choices of QN-S3VM", "short annealing", CHOICES, {"objective_schedule_six": 6.0}),
    ("few features", "subset of regressors", FEATURES, {f"error_pca_{r}": 9.0 for r in (10, 30, 100)}),
    ("costs of QN-S3VM", "value and gradient", CALLS, {k: v**3 for k, v in CALLS.items()}),
]
"""Study, words of its claim, columns that bear it out, and the changes that do not."""


def judged(study, rows):
    """Return the sentences on a study."""
    of_study = [one for each in _study_claims.CLAIMS.values() for one in each if one.source == study]
    return judge(of_study, {study: frame_of(rows, _study_claims.DERIVED.get(study))})


def verdict(study, text, rows):
    return line_on(text, judged(study, rows)).split(":")[0]


@pytest.mark.parametrize(("study", "text", "good", "bad"), CASES)
def test_a_verdict_comes_out_each_way(study, text, good, bad):
    rows = [row(**good), row(**good)]
    assert verdict(study, text, rows) == "reproduced"
    worse = [row(**(good | bad)) for _ in rows]
    assert verdict(study, text, worse) == "not reproduced"


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("over-fitting", {"error_MKL-S": 1.0, "error_MKL-R": 1.0}),
        ("over-fitting", {"objective_MKL-S": 9.0, "objective_MKL-R": 9.0}),
        ("closer to each other", {"apart_STORM": 0.4, "apart_MKL-R": 0.4}),
        ("top few eigenvectors", {"first_KTA": 0.1}),
        ("fails to keep the order", {"rises_MKL-S": 0.0, "rises_MKL-R": 0.0}),
        ("eps is not a parameter", {"error_eps": 4.6}),
    ],
)
def test_verdicts_on_learned_spectra(text, bad):
    assert verdict("learned spectra", text, [spectra_row()]) == "reproduced"
    assert verdict("learned spectra", text, [spectra_row(**bad)]) == "not reproduced"


def test_verdicts_on_eigenvectors_and_graphs():
    turned = METHODS[::-1]
    assert verdict("eigenvectors and graphs", "favours nobody", [numbers_row()]) == "reproduced"
    assert verdict("eigenvectors and graphs", "favours nobody", [numbers_row(order=turned)]) == "not reproduced"
    assert verdict("eigenvectors and graphs", "mutual", [numbers_row()]) == "reproduced"
    assert verdict("eigenvectors and graphs", "mutual", [numbers_row(mutual=turned)]) == "not reproduced"


def test_verdicts_on_the_way_of_conjugate_gradients():
    study = "conjugate gradients on the way"
    for text, bad in (
        ("far fewer than n", {"iterations": 300.0}),
        ("flattens only later", {"flat": 2.0}),
        ("no threshold", {"gradient": 1e-2}),
        ("unsteady", {"rises": 0.2}),
    ):
        assert verdict(study, text, WAY) == "reproduced"
        assert verdict(study, text, [each | bad for each in WAY]) == "not reproduced"


def test_verdicts_on_the_balance_of_coil20():
    study, text = "shares of positive labels", "SVM-light gains on COIL-20"
    for error, expected in ((2.0, "reproduced"), (4.0, "not reproduced")):
        rows = [row("coil20 0-1", **(SHARES | {"error_hard": error}))]
        assert verdict(study, text, rows) == expected
    assert not any(text in line for line in judged(study, [row("uspst 0-1", **SHARES)]))


def test_verdicts_on_costs_of_lapsvm():
    study, good = "costs of LapSVM", cost_row({"pcg": 2.0, "newton": 3.0, "dual": 3.0})
    bad = cost_row({"pcg": 2.9, "newton": 3.0, "dual": 3.0}, product=0.1)
    assert verdict(study, "O(n^2)", [good]) == "reproduced"
    assert verdict(study, "O(n^2)", [bad]) == "not reproduced"
    steep = cost_row({"pcg": 2.4, "newton": 3.0, "dual": 3.0})
    assert verdict(study, "O(n^2)", [steep]) == "partly reproduced"
    assert verdict(study, "forming L K", [good]) == "reproduced"
    assert verdict(study, "forming L K", [bad]) == "not reproduced"
    assert verdict(study, "memory", [good]) == "reproduced"  # 4.6 GB for the kernel, 11.5 GB and more for the others
    small = {key: 0.1 for key in good if key.startswith("memory")}
    assert verdict(study, "memory", [good | small]) == "not reproduced"


@pytest.mark.parametrize(
    "change",
    [
        grows(1.5, spectrum.NUMBERS, "seconds_q"),
        grows(3.6, spectrum.LABELS, "seconds_l"),
        {"seconds_dense": 300.0},  # of which 200, the seconds of STORM, are more than half
    ],
)
def test_each_part_of_the_costs_of_storm_counts(change):
    columns = {**COSTS, "seconds_dense": 1e4}
    (line,) = judged("costs of STORM", [row(**(columns | change))])
    assert line.startswith("partly reproduced: ")
    assert "2 of 3 hold" in line


def test_every_study_is_complete_and_of_one_paper():
    studies = sorted(claims.STUDIES)
    judged_by = {one.source: one.paper for each in _study_claims.CLAIMS.values() for one in each}
    assert sorted(judged_by) == studies
    assert all(one.paper == judged_by[one.source] for each in _study_claims.CLAIMS.values() for one in each)
    for _, names, draws in claims.STUDIES.values():
        assert names
        assert draws >= 1
        assert all(claims.source_of(name) in ("", *sm.datasets.available()) for name in names)


def test_unknown_studies_are_named():
    with pytest.raises(InvalidInputError, match="there is no study 'astrology'"):
        claims.work(Cell("claims", "astrology", "generated moons", "draw-00", {"draw": 0}))


def test_quick_table_of_generated_sets(nowhere, tmp_path, monkeypatch):
    quick = ("moons over gamma_I", "restricted norm", "clock", "minima of one weight")
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


def test_iterations_on_two_moons_end_without_errors():
    numbers = primal.moons_by_iteration("generated moons", 0, None)
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
