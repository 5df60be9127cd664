"""The faces of the primal paper: kernel, draws, conjugate gradients against dense solvers, sections and verdicts."""

import json
from dataclasses import replace

import numpy as np
import pytest
from claim_rows import line_on

import specmargin as sm
from reproduction.data import load
from reproduction.engine.records import Cell, make_row
from reproduction.papers import run_table
from reproduction.papers._protocols import melacci_belkin_faces as faces
from reproduction.papers._protocols import melacci_belkin_faces_report as report
from reproduction.papers._protocols.melacci_belkin_fits import MAX_ITER, PAPER, fits_of
from reproduction.tasks import samples, splits
from specmargin.graphs import KNN, Laplacian
from specmargin.kernels import RBF, gram

SETTING = [1e-3, 1e-2]
ERRORS = ("error_unlabeled", "error_validation", "error_test")
TASK = faces.FACEMIT["digits8"]
N = 1200


def fits_of_draw(data, normalized=True):
    """Return the row of a draw and its fits by method."""
    parameters = {"setting": SETTING, "normalized": normalized}
    cell = Cell("lapsvm_primal_faces", "all", "digits8", "round1-fold0", parameters)
    row = make_row(cell, {"status": "ok", **faces.work(cell, data=data)})
    return row, {fit["method"]: fit for fit in fits_of([row])}


@pytest.fixture
def draw(nowhere):
    """Return samples, classes and one split."""
    return *samples(TASK, nowhere)[:2], splits(TASK, nowhere)["round1-fold0"]


def test_macro_error_weighs_the_classes_alike():
    y = np.array([1, 1, 0, 0, 0, 0, 0, 0])
    assert faces.macro_error(y, np.where(y == 1, 1.0, -1.0)) == 0
    assert faces.macro_error(y, np.full(8, -1.0)) == 50
    assert faces.macro_error(y, np.array([1, -1, 1, -1, -1, -1, -1, -1.0])) == pytest.approx(100 * (1 / 2 + 1 / 6) / 2)


def test_stored_kernel_is_its_rounded_matrix(nowhere, rng):
    K = faces.stored_kernel(TASK, nowhere)
    exact = gram(load("digits").X[:N], gamma=1 / 800)
    dense = K.matrix.astype(np.float64)
    assert K.matrix.dtype == np.float32
    assert np.array_equal(dense, dense.T)
    np.testing.assert_allclose(dense, exact, rtol=1e-7)
    for v in (rng.normal(size=N), rng.normal(size=(N, 3))):
        np.testing.assert_allclose(K @ v, dense @ v, rtol=0, atol=1e-12 * np.abs(dense).sum(axis=1).max())
    index = np.array([7, 3])
    assert np.array_equal(K.rows(index), dense[index])
    assert K.trace() == N


def test_test_and_training_set_are_exchanged(monkeypatch):
    made = load("digits")
    monkeypatch.setattr(faces, "dataset", lambda *args: replace(made, y=made.y % 2, extras={"n_train": 1000}))
    X, y = faces.FACEMIT["facemit"].read(faces.FACEMIT["facemit"], None)
    np.testing.assert_array_equal(X[:797], made.X[1000:])
    np.testing.assert_array_equal(y[797:], made.y[:1000] % 2)


def test_draws(nowhere):
    drawn, y = splits(TASK, nowhere), samples(TASK, nowhere).y
    assert list(drawn) == [f"round{i}-fold0" for i in range(faces.N_DRAWS)]
    for split in drawn.values():
        assert sorted(y[split.labeled]) == [0, 1]
        assert set(y[split.validation]) == {0, 1}
        assert [len(split.validation), len(split.unlabeled)] == [50, N - 52]
        assert np.array_equal(split.test, np.arange(N, len(y)))
    assert len({tuple(split.labeled) for split in drawn.values()}) == faces.N_DRAWS
    few = replace(TASK.draw, n_rounds=3)(samples(TASK, nowhere))
    for split in few:
        assert np.array_equal(drawn[split.name].labeled, split.labeled)
        assert np.array_equal(drawn[split.name].validation, split.validation)


@pytest.mark.parametrize("normalized", [True, False])
def test_optimum_is_that_of_the_estimator(nowhere, draw, normalized):
    """Fitted through the public estimator in double precision, without the validation samples."""
    row, fits = fits_of_draw(nowhere, normalized)
    assert abs(row["relative_gap"]) < 1e-7
    (X, y, split), train = draw, draw[2].train
    options = {"kernel": RBF(1 / 800), "graph": KNN(6, "heat"), "laplacian": Laplacian(1, normalized)}
    options |= {"fit_intercept": False, "class_balance": None}
    estimator = sm.LapSVM(gamma_A=SETTING[0], gamma_I=SETTING[1], loss="squared_hinge", **options)
    with pytest.warns(UserWarning, match="components"):
        estimator.fit(X[train], np.where(np.isin(train, split.labeled), y[train], -1))
    for key in ERRORS:
        index = getattr(split, key.removeprefix("error_"))
        error = faces.macro_error(y[index], estimator.decision_function(X[index]))
        assert fits["lapsvm_exact"][key] == pytest.approx(error)
    assert fits["lapsvm_pcg_3"]["iterations"] == [3]
    assert fits["lapsvm_pcg_3"]["relative_gap"] > 1e-5 > abs(fits["lapsvm_exact"]["relative_gap"])


def test_rules_end_where_the_packages_solver_ends(nowhere, draw):
    """The one loop that serves all rules against `pcg`, rule by rule; the gammas are slow enough for the checks."""
    obj = faces.objective(TASK, "round1-fold0", (1e-6, 1e-4), True, nowhere)
    _, y, split = draw
    stops, first = faces.conjugate_gradients(obj, split, y)
    V, truth = split.validation, np.zeros(N)
    truth[V] = np.where(y[V] == 1, 1, -1)
    seen = set()
    for rule in ("stability", "validation", "mixed"):
        result = sm.solvers.pcg(obj, stopping=rule, max_iter=MAX_ITER, validation=V, truth=truth)
        point = stops[f"lapsvm_pcg_{rule}"]
        assert point.iterations == result.n_iter
        np.testing.assert_allclose(point.alpha, result.variables["alpha"], rtol=1e-6, atol=1e-12)
        assert not point.alpha[V].any()
        seen.add(result.n_iter)
    assert min(seen) >= round(np.sqrt(N) / 2)
    objectives = [point.objective for point in first]
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()
    assert [point.iterations for point in first] == list(range(1, faces.N_ITERATIONS + 1))


def test_svm_is_the_nearer_of_two(nowhere, draw):
    _, fits = fits_of_draw(nowhere)
    assert [fits["svm"][key] for key in ERRORS[::2]] == [fits["rls"][key] for key in ERRORS[::2]]
    X, y, split = draw

    def errors(positive, negative):
        nearer = ((X - negative) ** 2).sum(axis=1) - ((X - positive) ** 2).sum(axis=1)
        return [faces.macro_error(y[:N], nearer[:N]), faces.macro_error(y[N:], nearer[N:])]

    first, second = X[split.labeled]
    pair = (first, second) if y[split.labeled[0]] == 1 else (second, first)
    assert fits["svm"]["error_test"] == pytest.approx(errors(*pair)[1])
    many = faces.nearest_of_two(TASK, 70, nowhere)
    assert len(many) == 70
    rng = np.random.default_rng(0)
    pairs = [X[rng.choice(np.flatnonzero(y[:N] == c), 70)] for c in (1, 0)]
    for i in (0, 69):
        assert many[i] == pytest.approx(errors(pairs[0][i], pairs[1][i]))


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
            fit = dict.fromkeys(ERRORS, level - gain)
            fits.append([name, faces.GRID[0], {**fit, "relative_gap": gap, "seconds": 1.0, "iterations": [count]}])
        one = Cell("t", "all", "facemit", f"round{i}-fold0", {"setting": faces.GRID[0], "normalized": True})
        curve = [[t, level, level, level, 1.1] for t in range(1, 3 + i)]
        rows.append(make_row(one, {"status": "ok", "fits": json.dumps(fits), "curve": json.dumps(curve)}))
    return rows


@pytest.mark.parametrize(
    ("exact", "three", "verdicts"),
    [
        (9.0, 9.8, ["agrees", "agrees"]),
        (1.5, 9.8, ["agrees", "differs"]),
        (0.0, 1.0, ["inconclusive", "differs"]),  # 0.0, 0.1, 0.2, 0.3 is no gain for certain
        (-3.0, 12.1, ["differs", "differs"]),
    ],
)
def test_verdicts_by_hand(exact, three, verdicts):
    remarks = report.verdicts(fits_of(rows_by_hand(exact, three)), faces.FacemitPlan(n_draws=4))
    assert remarks[1].startswith("agrees: SVM and RLS err alike. ")
    gains = [line for line in remarks if "errs less than the SVM" in line or "gain over the SVM on U" in line]
    assert [line.split(":")[0] for line in gains] == verdicts
    assert f"U optimum {exact + 0.15:.2f} [" in gains[0]
    assert "Published gains on U 9.83" in gains[0]
    assert "from 7.372 to 12.29" in gains[1]
    assert line_on("information is in the labels", remarks).startswith("agrees: ")
    assert remarks[-1].startswith("differs: the algorithm converges in three iterations. ")
    assert "at most 0.1: three iterations 2.00; 4 draws. The rules end after 15.0 iterations" in remarks[-1]


def test_information_that_is_not_in_the_labels():
    remarks = report.verdicts(fits_of(rows_by_hand(30.0, 9.0)), faces.FacemitPlan(n_draws=4))
    line = line_on("information is in the labels", remarks)
    assert line.startswith("differs: ")


def test_curves_keep_the_last_numbers():
    curves, optimum = report.figure_12(rows_by_hand(1.0, 1.0), faces.FacemitPlan(n_draws=4))
    assert optimum == pytest.approx([41.5 - 1.15] * 3)
    assert [t for t, _ in curves] == [1, 2, 3, 4, 5]
    assert all(values == pytest.approx([41.5, 41.5, 41.5, 1.1]) for _, values in curves)


def test_sections_stand_next_to_the_published():
    fits = fits_of(rows_by_hand(1.0, 9.0))
    parts = {part.title: part for part in report.sections(fits, faces.FacemitPlan(n_draws=4))}
    lines = parts["Tables 4, 7 and 11, published gammas, error on U in percent"].lines
    by_source = {(line.method, line.source): line for line in lines}
    assert by_source["svm", f"{PAPER} table 4 svm"].published_mean == 39.8
    assert by_source["lapsvm_pcg_3", f"{PAPER} table 4 lapsvm_pcg"].published_mean == 29.97
    assert {source for method, source in by_source if method == "lapsvm_pcg_mixed"} == {
        f"{PAPER} table {number} lapsvm_pcg_mixed" for number in ("7", "11")
    }
    (line,) = [line for line in lines if line.method == "lapsvm_exact"]
    assert (line.mean, line.note) == (pytest.approx(41.5 - 1.15), "nothing published")
    counts = parts["Tables 6 and 10, published gammas, iterations"].lines
    assert {(line.mean, line.published_mean) for line in counts if line.method == "lapsvm_pcg_mixed"} == {(15.0, 3.0)}


def test_quick_table_and_figure(nowhere, tmp_path, beside_figure):
    table = run_table("lapsvm_primal_faces", quick=True, data=nowhere, out=tmp_path, progress=False)
    text = table.text()
    assert "NOT AVAILABLE: cbcl_faces" in text
    assert "cells: 5, failed: 0" in text
    assert "What the paper says of FACEMIT" not in text
    assert all(np.isnan(line.published_mean) for line in table.lines)
    sidecar = beside_figure("faces_iterations")
    assert sidecar["certificates"]["worst relative gap of an optimum"] < 1e-7
    cells = faces.FacemitPlan(TASK, 3).cells()[1:4]
    rows = fits_of(make_row(cell, {"status": "ok", **faces.work(cell, data=nowhere)}) for cell in cells)
    exact = [row["error_test"] for row in rows if row["method"] == "lapsvm_exact"]
    assert sidecar["results"]["errors of the optimum, percent"]["T"] == pytest.approx(np.mean(exact))
