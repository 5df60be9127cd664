"""The faces of the primal paper: kernel, draws, conjugate gradients against dense solvers, sections and verdicts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import specmargin as sm
from specmargin.experiments.engine.published import published_parameters, published_sizes
from specmargin.experiments.engine.records import Cell, make_row
from specmargin.experiments.gallery import run_figures
from specmargin.kernels import gram
from specmargin.papers import _melacci_belkin_faces as faces
from specmargin.papers import _melacci_belkin_faces_report as report
from specmargin.papers import run_table
from specmargin.papers._melacci_belkin_tasks import four_fold_splits
from specmargin.papers.melacci_belkin_2011 import fits_of

PAPER = "lapsvm_primal_2009"
SETTING = [1e-3, 1e-2]


def cell(setting=SETTING, normalized=True, split="round1-fold0"):
    return Cell("lapsvm_primal_faces", "all", "digits8", split, {"setting": setting, "normalized": normalized})


def test_task_and_settings_are_the_published_ones():
    task = faces.FACES["facemit"]
    printed = published_parameters(PAPER, "8", "facemit", "lapsvm_pcg").set_index("parameter")["value"]
    assert task.kernel["gamma"] == pytest.approx(1 / (2 * float(printed["gaussian_sigma"]) ** 2))
    assert [task.graph["n_neighbors"], task.power] == [int(printed["nn"]), int(printed["laplacian_degree_p"])]
    assert faces.GRID[0] == (float(printed["gamma_A"]), float(printed["gamma_I"]))
    sizes = published_sizes(PAPER, "2", "facemit").set_index("quantity")["value"]
    assert [task.draw.n_labeled, task.draw.n_validation] == [int(sizes["n_labeled"]), int(sizes["n_validation"])]


def test_macro_error_weighs_the_classes_alike():
    y = np.array([1, 1, 0, 0, 0, 0, 0, 0])
    assert faces.macro_error(y, np.where(y == 1, 1.0, -1.0)) == 0
    assert faces.macro_error(y, np.full(8, -1.0)) == 50
    assert faces.macro_error(y, np.array([1, -1, 1, -1, -1, -1, -1, -1.0])) == pytest.approx(100 * (1 / 2 + 1 / 6) / 2)


def test_stored_kernel_is_its_rounded_matrix(nowhere, rng):
    K = faces._kernel("digits8", nowhere)
    X = sm.datasets.load("digits").X[:1200]
    exact = gram(X, gamma=1 / 800)
    dense = K.matrix.astype(np.float64)
    assert K.matrix.dtype == np.float32
    assert np.array_equal(dense, dense.T)
    np.testing.assert_allclose(dense, exact, rtol=1e-7)
    for v in (rng.normal(size=1200), rng.normal(size=(1200, 3))):
        np.testing.assert_allclose(K @ v, dense @ v, rtol=0, atol=1e-12 * np.abs(dense).sum(axis=1).max())
    index = np.array([7, 3])
    assert np.array_equal(K.rows(index), dense[index])
    assert K.trace() == 1200


def test_test_and_training_set_are_exchanged(nowhere, monkeypatch):
    made = sm.datasets.load("digits")
    extras = {"n_train": 1000}
    monkeypatch.setattr(faces, "dataset", lambda *args: replace(made, y=made.y % 2, extras=extras))
    faces._samples.cache_clear()
    try:
        X, y, n = faces._samples("facemit", None)
    finally:
        faces._samples.cache_clear()
    assert n == 797
    np.testing.assert_array_equal(X[:n], made.X[1000:])
    np.testing.assert_array_equal(y[n:], made.y[:1000] % 2)


def test_draws(nowhere):
    drawn = faces.splits("digits8", 4, nowhere)
    _, y, n = faces._samples("digits8", nowhere)
    assert list(drawn) == [f"round{i}-fold0" for i in range(4)]
    for split in drawn.values():
        assert sorted(y[split.labeled]) == [0, 1]
        assert set(y[split.validation]) == {0, 1}
        assert [len(split.validation), len(split.unlabeled)] == [50, n - 52]
        assert np.array_equal(split.test, np.arange(n, len(y)))
    assert len({tuple(split.labeled) for split in drawn.values()}) == 4
    more = faces.splits("digits8", 6, nowhere)
    assert all(np.array_equal(more[name].labeled, split.labeled) for name, split in drawn.items())
    few = four_fold_splits(y, 2, 50, n_train=n)
    assert [split.name for split in few] == list(drawn)[:3]
    assert np.array_equal(few[2].validation, drawn["round2-fold0"].validation)


@pytest.mark.parametrize("normalized", [True, False])
def test_optimum_is_that_of_the_estimator(nowhere, normalized):
    """Fitted through the public estimator in double precision, without the validation samples."""
    row = faces.work(cell(normalized=normalized), data=nowhere)
    fits = {name: fit for name, *_, fit in json.loads(row["fits"])}
    assert abs(row["relative_gap"]) < 1e-7
    X, y, _ = faces._samples("digits8", nowhere)
    split = faces.splits("digits8", 4, nowhere)["round1-fold0"]
    train = split.train
    estimator = sm.LapSVM(
        gamma=1 / 800,
        n_neighbors=6,
        weight="heat",
        normalized=normalized,
        gamma_A=SETTING[0],
        gamma_I=SETTING[1],
        loss="squared_hinge",
        fit_intercept=False,
    )
    with pytest.warns(UserWarning, match="components"):
        estimator.fit(X[train], np.where(np.isin(train, split.labeled), y[train], -1))
    for part in ("unlabeled", "validation", "test"):
        index = getattr(split, part)
        error = faces.macro_error(y[index], estimator.decision_function(X[index]))
        assert fits["lapsvm_exact"][part] == pytest.approx(error)
    assert fits["lapsvm_pcg_3"]["iterations"] == [3]
    assert fits["lapsvm_pcg_3"]["relative_gap"] > 1e-5 > abs(fits["lapsvm_exact"]["relative_gap"])


def test_rules_end_where_the_packages_solver_ends(nowhere):
    """The one loop that serves all rules against `pcg`, rule by rule."""
    setting = (1e-6, 1e-4)  # slow enough for the checks
    shared = faces.problem("digits8", "round1-fold0", True, nowhere)
    ends, first = faces.conjugate_gradients(shared, setting)
    obj = sm.objectives.LapSVM(shared.K, shared.L, shared.labels, "squared_hinge", *setting, fit_intercept=False)
    n = len(shared.K)
    truth = np.zeros(n)
    truth[shared.split.validation] = np.where(shared.y[shared.split.validation] == 1, 1, -1)
    seen = set()
    for rule in ("stability", "validation", "mixed"):
        result = sm.solvers.pcg(
            obj, stopping=rule, max_iter=faces.MAX_ITERATIONS, validation=shared.split.validation, truth=truth
        )
        point = ends[f"lapsvm_pcg_{rule}"]
        assert point.iterations == result.n_iter
        np.testing.assert_allclose(point.alpha, result.variables["alpha"], rtol=1e-6, atol=1e-12)
        assert not point.alpha[shared.split.validation].any()
        seen.add(result.n_iter)
    assert min(seen) >= round(np.sqrt(n) / 2)
    objectives = [point.objective for point in first]
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()
    assert [point.iterations for point in first] == list(range(1, faces.N_ITERATIONS + 1))


def test_svm_is_the_nearer_of_two(nowhere):
    row = faces.work(cell(), data=nowhere)
    fits = {name: fit for name, *_, fit in json.loads(row["fits"])}
    assert [fits["svm"][part] for part in ("unlabeled", "test")] == [fits["rls"][p] for p in ("unlabeled", "test")]
    X, y, n = faces._samples("digits8", nowhere)
    split = faces.splits("digits8", 4, nowhere)["round1-fold0"]
    one, other = (X[split.labeled[y[split.labeled] == c][0]] for c in (1, 0))
    nearer = ((X - other) ** 2).sum(axis=1) - ((X - one) ** 2).sum(axis=1)
    assert fits["svm"]["test"] == pytest.approx(faces.macro_error(y[n:], nearer[n:]))
    many = faces.nearest_of_two("digits8", 70, nowhere)
    assert len(many) == 70
    rng = np.random.default_rng(0)
    pairs = [X[rng.choice(np.flatnonzero(y[:n] == c), 70)] for c in (1, 0)]
    for i in (0, 69):
        nearer = ((X - pairs[1][i]) ** 2).sum(axis=1) - ((X - pairs[0][i]) ** 2).sum(axis=1)
        expected = [faces.macro_error(y[:n], nearer[:n]), faces.macro_error(y[n:], nearer[n:])]
        assert many[i] == pytest.approx(expected)


def rows_by_hand(exact, three, n_draws=4):
    """Return rows of draws in which SVM errs 40 and more on U and T, the others less by the given points."""
    rows = []
    for i in range(n_draws):
        level = 40.0 + i
        fits = []
        for name, gain, gap, count in (
            ("svm", 0.0, 0.0, 1),
            ("rls", 0.0, 0.0, 1),
            ("lapsvm_pcg_3", three + 0.1 * i, 0.02, 3),
            *((f"lapsvm_pcg_{rule}", exact, 1e-5, 15) for rule in ("stability", "validation", "mixed")),
            ("lapsvm_exact", exact + 0.1 * i, 1e-9, 30),
        ):
            fit = dict.fromkeys(("unlabeled", "validation", "test"), level - gain)
            fits.append([name, *faces.GRID[0], {**fit, "relative_gap": gap, "seconds": 1.0, "iterations": [count]}])
        one = Cell("t", "all", "facemit", f"round{i}-fold0", {"setting": faces.GRID[0], "normalized": True})
        curve = [[t, level, level, level, 1.1] for t in range(1, 3 + i)]
        rows.append(make_row(one, {"status": "ok", "fits": json.dumps(fits), "curve": json.dumps(curve)}))
    return rows


@pytest.mark.parametrize(
    ("exact", "three", "verdicts"),
    [
        (1.5, 9.8, ["in its sign only", "reproduced"]),
        (0.0, -1.0, ["not reproduced", "not reproduced"]),  # 0.0, 0.1, 0.2, 0.3: p = 0.10
        (-3.0, 12.0, ["not reproduced", "reproduced"]),
    ],
)
def test_verdicts_by_hand(exact, three, verdicts):
    plan = faces.Plan(n_draws=4, n_grid=0)
    fits = fits_of(rows_by_hand(exact, three))
    said = report.faces_verdicts(fits, plan)
    assert said[1].startswith("reproduced: SVM and RLS err alike. On U in 4 of 4")
    gains = [line for line in said if "gain over the SVM on U" in line]
    assert [line.split(":")[0] for line in gains] == verdicts
    assert f"{exact + 0.15:.2f} points" in gains[0]
    assert "printed 9.83" in gains[0]
    assert "not reproduced: the algorithm converges in three iterations" in said[-1]
    assert "2.0 % above the dual bound in the mean" in said[-1]
    assert "the rules end after 15.0 iterations, the optimum takes 30.0" in said[-1]


def test_curves_keep_the_last_numbers():
    found = report.curves(rows_by_hand(1.0, 1.0), faces.Plan(n_draws=4))
    assert [t for t, _ in found] == [1, 2, 3, 4, 5]
    assert all(values == pytest.approx([41.5, 41.5, 41.5, 1.1]) for _, values in found)


def test_sections_stand_beside_the_published(nowhere):
    fits = fits_of(rows_by_hand(1.0, 9.0))
    parts = {part.title: part for part in report._sections(fits, faces.Plan(n_draws=4, n_grid=0))}
    lines = parts["Tables 4, 7 and 11, printed gammas, error on U in percent"].lines
    found = {(line.method, line.source): line for line in lines}
    assert found["svm", f"{PAPER} table 4 svm"].published_mean == 39.8
    assert found["lapsvm_pcg_3", f"{PAPER} table 4 lapsvm_pcg"].published_mean == 29.97
    assert {source for method, source in found if method == "lapsvm_pcg_mixed"} == {
        f"{PAPER} table {number} lapsvm_pcg_mixed" for number in ("7", "11")
    }
    (line,) = [line for line in lines if line.method == "lapsvm_exact"]
    assert (line.mean, line.note) == (pytest.approx(41.5 - 1.15), "nothing published")
    counts = parts["Tables 6 and 10, printed gammas, iterations"].lines
    assert {(line.mean, line.published_mean) for line in counts if line.method == "lapsvm_pcg_mixed"} == {(15.0, 3.0)}


def test_quick_table_and_figure(nowhere, tmp_path):
    found = run_table("lapsvm_primal_faces", quick=True, data=nowhere, out=tmp_path, progress=False)
    text = found.text()
    assert "NOT AT HAND: cbcl_faces" in text
    assert "cells: 5, failed: 0" in text
    assert "What the paper says of FACEMIT" not in text
    assert all(np.isnan(line.published_mean) for line in found.lines)
    (result,) = run_figures(["faces_iterations"], quick=True, out=tmp_path, progress=False, formats=("svg",))
    assert not result.warnings
    told = json.loads(result.sidecar.read_text())
    assert told["certificates"]["worst relative gap of an optimum"] < 1e-7
    rows = [
        make_row(c, {"status": "ok", **faces.work(c, data=nowhere)}) for c in faces.Plan("digits8", 3, 0).cells()[1:]
    ]
    exact = [fit["test"] for row in rows for name, *_, fit in json.loads(row["fits"]) if name == "lapsvm_exact"]
    assert told["results"]["errors of the optimum, percent"]["T"] == pytest.approx(np.mean(exact))
