"""The experiments of the manifold-regularization paper: the protocol, each fit against CVXPY, table and figures."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import specmargin as sm
from specmargin.experiments import Cell, SweepInterruptedError, published_parameters
from specmargin.experiments.engine.records import make_row
from specmargin.experiments.gallery import run_figures
from specmargin.experiments.run import measured
from specmargin.papers import _belkin_claims as manifold_claims
from specmargin.papers import _belkin_tasks as manifold_tasks
from specmargin.papers import belkin_2006 as experiment
from specmargin.papers import run_table, tables
from specmargin.papers._belkin_tsvm import span, transductive_svm

METHODS = manifold_tasks.METHODS
TINY = manifold_tasks.Plan(("digits 3-8", "digits 4-7", "digits 1-8"), (1, 2), 3, 40, ("plain", "unit"))


@pytest.fixture
def isolet(nowhere, rng):
    """Put an archive like Isolet's into the data folder: four letters, 31 speakers in groups 1 and 5."""
    letters = np.array([0, 12, 13, 25])
    speaker = np.repeat([*range(1, 31), 121], 4)
    y = np.tile(letters, 31)
    X = np.eye(26)[y] * 30 + rng.normal(size=(31, 26))[np.repeat(np.arange(31), 4)] + rng.normal(size=(124, 26))
    group = np.where(speaker > 30, 5, 1)
    path = nowhere / "isolet.npz"
    np.savez(path, X=X, y=y, speaker=speaker, group=group, n_train=np.array(120))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (nowhere / "isolet.npz.sha256").write_text(digest)
    return X, y, speaker


def test_full_plan_is_the_papers():
    plan = manifold_tasks.Plan([f"usps {a}-{b}" for a in range(10) for b in range(a)])
    cells = plan.cells()
    assert len(cells) == len(set(cells)) == 45 * 4 * 8 * 10
    assert (plan.n, plan.per_class[1:]) == (400, (2, 4, 8, 16, 32, 64, 128))
    # A process makes a pair's matrices once.
    assert [cell.dataset for cell in cells[:: 4 * 8 * 10]] == list(plan.tasks)


def test_full_plan_of_the_bundled_digits_leaves_some_to_test(nowhere):
    plan = manifold_tasks.plan_for(manifold_tasks.pairs_available(nowhere)[0], seed=3)
    assert (len(plan.tasks), plan.per_class, plan.n, plan.seed) == (45, (1, 2, 4, 8, 16, 32), 100, 3)
    assert manifold_tasks.plan_for(["usps 3-8"], seed=3) == manifold_tasks.Plan(["usps 3-8"], seed=3)
    rows = [experiment.work(cell, data=nowhere) for cell in plan.cells()[50:60]]  # 32 labels per class
    assert all(0 <= row["error_test"] < 10 for row in rows)


def test_weights_are_the_published_ones():
    for source, figure in (("usps", "figures 4 and 5"), ("isolet", "figure 6")):
        name = {"usps": "usps_pairs", "isolet": "isolet_split"}[source]
        printed = published_parameters(manifold_claims.PAPER, figure, name).set_index("parameter")["value"]
        for method, known in METHODS.items():
            regularised = known.published.startswith("lap")
            gamma_A, gamma_I = manifold_tasks.gammas(method, source)
            assert gamma_A == float(printed["gamma_A_l" if regularised else "gamma_l"])
            assert gamma_I == (float(printed["gamma_I_l/(u+l)^2"]) if regularised else 0)


def test_breakeven_error_against_counting(rng):
    for n in (5, 40):
        positive, scores = rng.integers(0, 2, n), rng.normal(size=n)
        positive[:2] = 0, 1
        called = np.zeros(n, dtype=bool)
        called[np.argsort(scores)[n - positive.sum() :]] = True
        expected = 100 * np.mean(called != positive)
        assert experiment.breakeven_error(positive, scores) == pytest.approx(expected)
        assert experiment.breakeven_error(1 - positive, -scores) == pytest.approx(expected)


def test_first_training_images_train_after_their_pca(monkeypatch, rng):
    X, y = rng.normal(size=(600, 120)) * np.arange(1, 121), np.arange(600) % 10
    made = SimpleNamespace(X=X, y=y, extras={"n_train": 400})
    monkeypatch.setattr(manifold_tasks, "dataset", lambda *args: made)
    manifold_tasks._digits.cache_clear()
    manifold_tasks.samples_of.cache_clear()
    try:
        samples = manifold_tasks.samples_of("usps 3-8", 15, None)
        more = manifold_tasks.samples_of("usps 3-8", 50, None)
    finally:
        manifold_tasks._digits.cache_clear()
        manifold_tasks.samples_of.cache_clear()
    rows = np.flatnonzero((y == 3) | (y == 8))
    first = np.concatenate([np.flatnonzero(y == digit)[:15] for digit in range(10)])
    train = np.concatenate([rows[y[rows] == 3][:15], rows[y[rows] == 8][:15]])
    order = np.concatenate([train, np.setdiff1d(rows, train)])
    assert samples.n_train == 30
    assert more.n_train == 80  # none of the 60 images of a digit beyond the training part
    np.testing.assert_array_equal(samples.y, y[order] == 3)
    centred = X - X[first].mean(axis=0)
    axes = np.linalg.svd(centred[first])[2][:100]
    np.testing.assert_allclose(cdist(samples.X, samples.X), cdist(centred[order] @ axes.T, centred[order] @ axes.T))


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize(
    ("kernel", "normalized"), [("plain", False), ("plain", True), ("unit", False), ("scaled", True)]
)
def test_fit_is_the_problems_solution(nowhere, tol, method, kernel, normalized):
    task, n, per_class = "digits 3-8", 30, 2
    known, (gamma_A, gamma_I) = METHODS[method], manifold_tasks.gammas(method, task)
    parameters = {"per_class": per_class, "n": n, "kernel": kernel, "seed": 0}
    parameters["normalized"] = normalized if known.graph else None
    name = manifold_tasks._split_name(task, per_class, 0, 1)
    row = experiment.work(Cell("t", method, task, name, parameters), data=nowhere)
    data = sm.datasets.load("digits")
    threes, eights = (np.flatnonzero(data.y == digit) for digit in (3, 8))
    train, test = (np.concatenate([threes[part], eights[part]]) for part in (slice(n), slice(n, None)))
    X, Z = data.X[train] / 16, data.X[np.sort(test)] / 16
    K, K_test = (1 + X @ X.T) ** 3, (1 + Z @ X.T) ** 3
    if kernel == "scaled":
        K, K_test = (X @ X.T / 256) ** 3, (Z @ X.T / 256) ** 3
    if kernel == "unit":
        K_test = K_test / np.sqrt(np.outer((1 + (Z**2).sum(axis=1)) ** 3, np.diag(K)))
        K = K / np.sqrt(np.outer(np.diag(K), np.diag(K)))
    made = manifold_tasks.kernels_of(task, n, kernel, nowhere)
    np.testing.assert_allclose(made.K, K, rtol=tol["exact"])
    np.testing.assert_allclose(made.K_test, K_test, rtol=tol["exact"])
    W = sm.graphs.knn_graph(X, n_neighbors=6, kind="symmetric", weight="binary").toarray()
    labeled = manifold_tasks.splits_of(task, n, per_class, 0, nowhere)[name].labeled
    assert (len(labeled), (labeled < n).sum()) == (4, 2)
    y = np.repeat([1, 0], n)
    degrees = W.sum(axis=1)
    L = np.eye(2 * n) - W / np.sqrt(np.outer(degrees, degrees)) if normalized else np.diag(degrees) - W
    obj = sm.objectives.LapSVM(
        K,
        L,
        sm.encode_labels(np.where(np.isin(np.arange(2 * n), labeled), y, -1)),
        gamma_A=gamma_A,
        gamma_I=gamma_I,
        **known.options,
    )
    alpha = sm.solve(sm.problems.lapsvm_dual(obj), sm.problems.default_solvers()).variables["alpha"]
    hidden = np.setdiff1d(np.arange(2 * n), labeled)
    y_test = data.y[np.sort(test)] == 3
    assert row["error_unlabeled"] == pytest.approx(experiment.breakeven_error(y[hidden], (K @ alpha)[hidden]))
    assert row["error_test"] == pytest.approx(experiment.breakeven_error(y_test, K_test @ alpha))
    assert abs(row["relative_gap"]) < 1e-7
    assert row["error_test"] > 0


def test_draws_of_a_pair_share_one_factorisation(nowhere):
    manifold_tasks.reduction_of.cache_clear()
    plan = manifold_tasks.Plan(("digits 4-7", "digits 1-8"), (1, 2), 2, 20)
    for cell in plan.cells():
        experiment.work(cell, data=nowhere)
    # Per pair one with and one without the graph.
    assert manifold_tasks.reduction_of.cache_info().misses == 4


@pytest.mark.parametrize("normalized", [False, True])
def test_isolet_labels_one_speaker_after_the_other(nowhere, isolet, tol, normalized):
    X, y, speaker = isolet
    assert manifold_tasks.tasks_available(nowhere)[0][-1] == "isolet"
    plan = manifold_tasks.Plan(("isolet",), normalized=(normalized,))
    cells = [cell for cell in plan.cells() if cell.method in ("SVM", "LapSVM")]
    assert len(cells) == 60
    cell = cells[-23]
    assert (cell.method, cell.split) == ("LapSVM", "speaker-08")
    row = experiment.work(cell, data=nowhere)
    assert abs(row["relative_gap"]) < 1e-7
    train, seen = speaker <= 30, speaker == 8
    np.testing.assert_array_equal(manifold_tasks.samples_of("isolet", 400, nowhere).y, y < 13)
    K = manifold_tasks.kernels_of("isolet", 400, "rbf", nowhere).K
    np.testing.assert_allclose(K, np.exp(-cdist(X[train], X[train], "sqeuclidean") / 200), rtol=tol["linalg"])
    marked = np.where(seen, y < 13, -1)[train]
    clf = sm.LapSVM(gamma=1 / 200, gamma_A=0.005, gamma_I=0.005, n_neighbors=6, loss="hinge", normalized=normalized)
    with pytest.warns(UserWarning, match="components"):
        clf.fit(X[train], marked)
    hidden, f = train & ~seen, clf.decision_function(X)
    assert row["error_unlabeled"] == pytest.approx(experiment.breakeven_error((y < 13)[hidden], f[hidden]))
    assert row["error_test"] == pytest.approx(experiment.breakeven_error((y < 13)[~train], f[~train]))


def test_methods_without_a_graph_have_one_cell_for_both_laplacians():
    cells = manifold_tasks.Plan(("usps 3-8",), (2,), 5, normalized=(False, True)).cells()
    found = {method: [cell.parameters["normalized"] for cell in cells if cell.method == method] for method in METHODS}
    assert found == {name: [None] * 5 if name in ("RLS", "SVM") else [False] * 5 + [True] * 5 for name in METHODS}


def test_transductive_svm_has_the_papers_weight(nowhere):
    """C = 1 / (2 gamma l), as SVM-light writes its objective; balance and C* are left to `transductive_svm`."""
    assert pytest.approx(1 / (2 * manifold_tasks.gammas("SVM", "usps")[0])) == manifold_tasks.TSVM_C
    plan = manifold_tasks.Plan(("digits 3-8",), (1, 2, 4), 2, 30, kernels=("scaled",), transductive=True)
    cells = [cell for cell in plan.cells() if cell.method == "TSVM"]
    assert [cell.parameters["per_class"] for cell in cells] == [2, 2]
    row = experiment.work(cells[1], data=nowhere)
    data = sm.datasets.load("digits")
    threes, eights = (np.flatnonzero(data.y == digit) for digit in (3, 8))
    train, test = (np.concatenate([threes[part], eights[part]]) for part in (slice(30), slice(30, None)))
    X, Z = data.X[train] / 16, data.X[np.sort(test)] / 16
    y = np.repeat([1, 0], 30)
    labeled = manifold_tasks.splits_of("digits 3-8", 30, 2, 0, nowhere)[cells[1].split].labeled
    known = sm.encode_labels(np.where(np.isin(np.arange(60), labeled), y, -1))
    found = transductive_svm(span((X @ X.T / 256) ** 3), known, C=10.0, K_test=(Z @ X.T / 256) ** 3)
    hidden, y_test = np.setdiff1d(np.arange(60), labeled), data.y[np.sort(test)] == 3
    assert row["error_unlabeled"] == pytest.approx(experiment.breakeven_error(y[hidden], found.f[hidden]))
    assert row["error_test"] == pytest.approx(experiment.breakeven_error(y_test, found.f_test))
    assert "relative_gap" not in row


def rows_of(errors, per_class=2):
    """Return rows of three pairs and two draws from the errors of each method on U and T."""
    return [
        {
            "status": "ok",
            "dataset": f"usps 0-{pair}",
            "method": method,
            "split": f"s{draw}",
            "param_per_class": per_class,
            "param_kernel": "plain",
            "param_normalized": False if method in ("LapRLS", "LapSVM") else None,
            "error_unlabeled": u + spread * draw + pair,
            "error_test": t + spread * draw + pair,
        }
        for pair in (1, 2, 3)
        for method, (u, t, spread) in errors.items()
        for draw in (0, 1)
    ]


def test_claims_count():
    good = rows_of({"RLS": (9, 9, 1), "LapRLS": (2, 2.9, 0.5), "SVM": (9, 9.1, 1), "LapSVM": (2.1, 2.9, 0.5)})
    said = manifold_claims.claims(good)
    assert [line.split(":")[0] for line in said[1:]] == ["reproduced"] * 6
    assert "U: lower mean error in 3 of 3 pairs" in said[1]
    assert "Smaller deviation over the draws in 12 of 12" in said[3]
    assert "T within one point of U in 3 of 3 pairs; mean U 4.25, T 5.15, largest difference 0.90" in said[4]
    assert "correlation 1.00" in said[4]
    assert "half a point in 6 of 6 (pairs, U and T), largest difference 0.10" in said[6]
    bad = rows_of({"RLS": (2, 2, 1), "LapRLS": (9, 11, 2), "SVM": (2, 9, 1), "LapSVM": (3, 3, 1)})
    said = manifold_claims.claims(bad)
    assert [line.split(":")[0] for line in said[1:]] == [
        "not reproduced",
        "partly reproduced",
        "not reproduced",
        "not reproduced",
        "reproduced",
        "not reproduced",
    ]
    assert "U: lower mean error in 0 of 3 pairs (0 significant), higher in 3 (3)" in said[1]
    # Other numbers of labels and other kernels take no part.
    mixed = [*good, *rows_of({"RLS": (0, 0, 0), "LapRLS": (50, 50, 9)}, per_class=4)]
    assert manifold_claims.claims(mixed) == manifold_claims.claims(good)


def test_claims_of_the_transductive_svm():
    good = {"RLS": (9, 9, 1), "LapRLS": (2, 2.9, 0.5), "SVM": (9, 9.1, 1), "LapSVM": (2.1, 2.9, 0.5)}
    said = manifold_claims.claims(rows_of({**good, "TSVM": (3, 3, 0.5)}))
    assert said[3].startswith("reproduced: manifold regularization compares well with the TSVM or outperforms it (U).")
    assert "LapSVM: significantly lower in 3 of 3 pairs, higher in 0; mean of the TSVM 5.25, as drawn 2.55" in said[3]
    said = manifold_claims.claims(rows_of({**good, "TSVM": (2.05, 3, 0.5)}))
    assert said[3].startswith("partly reproduced: manifold regularization")
    assert "LapSVM: significantly lower in 0 of 3 pairs, higher in 3" in said[3]
    assert len(manifold_claims.claims(rows_of(good))) == len(said) - 1


def test_published_means_are_the_drawings():
    assert manifold_claims.published_mean("LapSVM", "unlabeled", 2) == 2.62
    assert manifold_claims.published_mean("RLS", "test", 128) == 0.79
    assert np.isnan(manifold_claims.published_mean("RLS", "test", 1))
    assert 10 < manifold_claims.published_mean("LapRLS", "unlabeled", 26, isolet=True) < 25


def test_interrupted_table_goes_on_where_it_stopped(nowhere, isolet, tmp_path, monkeypatch):
    tasks = (*TINY.tasks, "isolet")
    plan = manifold_tasks.Plan(tasks, (1, 2), 3, 40, normalized=(False, True), transductive=True)
    monkeypatch.setattr(manifold_tasks.Plan, "quick", lambda self: plan)
    monkeypatch.setattr(manifold_tasks, "N_SPEAKERS", 4)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    options = {"quick": True, "data": nowhere, "progress": False}
    report = run_table("manifold_regularization", out=whole, **options)
    # Pairs, both numbers of labels and two more kernels at two, methods with either Laplacian, draws; the speakers.
    # The TSVM on pairs at two labels with two kernels.
    n_cells = 3 * (2 + 2) * 6 * 3 + 6 * 4 + 3 * 2 * 3 + 4
    done, work = [], experiment.work

    def interrupted(cell, *, data):
        if len(done) == 50:
            done.append(None)
            raise KeyboardInterrupt
        done.append(cell.key)
        return work(cell, data=data)

    monkeypatch.setitem(
        tables(), "manifold_regularization", replace(tables()["manifold_regularization"], work=interrupted)
    )
    with pytest.raises(SweepInterruptedError):
        run_table("manifold_regularization", out=parts, **options)
    again = run_table("manifold_regularization", out=parts, **options)
    assert len(done) == n_cells + 1
    assert len(set(done)) == n_cells + 1
    assert again.csv() == report.csv()
    text = report.text()
    assert "NOT AT HAND: usps. In its place: pairs of scikit-learn's digits" in text
    assert "QUICK" in text
    assert f"cells: {n_cells}, failed: 0" in text
    assert str(tmp_path) not in text
    # Two parts, methods with either Laplacian; both numbers of labels, the other kernels, the speakers.
    assert len(report.lines) == 2 * 6 * (2 + 2 + 1) + 2 * 3
    assert sum(line.method == "TSVM" for line in report.lines) == 6
    isolet_lines = [line for line in report.lines if line.dataset.startswith("isolet")]
    assert all(line.published_mean > 0 and line.n_splits == 4 for line in isolet_lines)
    assert all(np.isnan(line.published_mean) for line in report.lines if line.dataset.startswith("digits"))
    rows = [make_row(cell, {"status": "ok", **work(cell, data=nowhere)}) for cell in TINY.cells()]
    wanted = np.mean(
        [
            row["error_test"]
            for row in rows
            if (row["method"], row["param_per_class"], row["param_kernel"]) == ("LapRLS", 2, "unit")
        ]
    )
    (line,) = [
        line
        for line in report.lines
        if (line.dataset, line.method, line.tuning)
        == ("digits pairs, 2 per class, unit kernel, T", "LapRLS", "fixed, D - W")
    ]
    assert (line.mean, line.n_splits) == (pytest.approx(wanted), 9)
    leads = {line.dataset for line in report.lines if "a lead, not proved" in line.note}
    assert leads == {f"digits pairs, 2 per class, scaled kernel, {part}" for part in "UT"}
    for sentence in manifold_claims.claims(rows):
        assert sentence in text
    assert "compares well with the TSVM or outperforms it (U)" in text
    assert text.count("The paper's claims of Isolet by these numbers") == 2
    assert "isolet, LapRLS and LapSVM: neither Laplacian explains the print" in text


@pytest.mark.parametrize("name", ["usps_pairs", "labels_needed"])
def test_figures_show_the_means_of_the_same_cells(nowhere, tmp_path, monkeypatch, name):
    monkeypatch.setattr(manifold_tasks.Plan, "quick", lambda self: TINY)
    (result,) = run_figures([name], quick=True, out=tmp_path, progress=False, formats=("svg",))
    assert not result.warnings
    told = json.loads(result.sidecar.read_text())
    assert told["certificates"]["with a relative gap above 1e-06"] == 0
    assert told["certificates"]["fits"] == len(TINY.cells())
    assert "NOT AT HAND" in told["results"]["data"][0]
    rows = measured(experiment.work)(TINY.cells())
    tasks = manifold_claims.by_task(rows, "test", per_class=2)
    wanted = np.mean([list(errors["LapSVM"].values()) for errors in tasks.values()])
    key, inner = {
        "usps_pairs": ("mean error over the pairs, percent", "plain"),
        "labels_needed": ("mean error over the pairs by labels per class, percent", "2"),
    }[name]
    shown = told["results"][key][inner]["LapSVM"]
    assert shown["T"] == pytest.approx(wanted)
    assert shown["published T"] == "nan"  # nothing is published for these digits


def test_clustering_figure_cuts_the_moons_and_then_the_plane(nowhere, tmp_path):
    (result,) = run_figures(["clustering"], quick=True, out=tmp_path, progress=False, formats=("svg",))
    assert not result.warnings
    told = json.loads(result.sidecar.read_text())
    errors = [each["error on the clustered samples, percent"] for each in told["results"].values()]
    others = [each["error on other samples, percent"] for each in told["results"].values()]
    assert errors[0] == others[0] == 0
    assert 0 < errors[1] < errors[2]
    for each in told["certificates"].values():
        assert 0 <= each["relative gap"] < 1e-7  # where gamma is small, it is what the kernel's own rounding may hide
        assert each["violation of the constraints"] < 1e-9


@pytest.mark.data
def test_unlabeled_digits_help(data_folder, nowhere):
    """The paper's main finding: lower mean errors with the graph, in and out of sample; every fit certified."""
    source, data = ("usps", data_folder) if data_folder else ("digits", nowhere)
    plan = manifold_tasks.Plan([f"{source} {pair}" for pair in ("1-8", "3-5", "4-9", "2-7")], (2,), 5, 90)
    rows = [make_row(cell, {"status": "ok", **experiment.work(cell, data=data)}) for cell in plan.cells()]
    for part in manifold_tasks.PARTS:
        tasks = manifold_claims.by_task(rows, part, per_class=2)
        for supervised, regularised in manifold_tasks.PAIRS:
            difference = manifold_claims.mean_errors(tasks, regularised) - manifold_claims.mean_errors(
                tasks, supervised
            )
            assert difference.mean() < -2
    assert all(abs(row["relative_gap"]) < 1e-7 for row in rows)
