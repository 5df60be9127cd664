"""The tables of the primal-LapSVM paper: splits, what a split shares, the choice on V, tables and interruption."""

from __future__ import annotations

import csv
import io
import json
import math
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

import specmargin as sm
from specmargin.experiments import Cell, Line, Report, Section, SweepInterruptedError, evaluate, select
from specmargin.experiments import tasks as common
from specmargin.experiments.engine.published import published_parameters, published_sizes
from specmargin.experiments.engine.records import make_row
from specmargin.experiments.gallery import run_figures
from specmargin.kernels import gram
from specmargin.papers import _melacci_belkin_fits as methods
from specmargin.papers import _melacci_belkin_sections as report
from specmargin.papers import _melacci_belkin_tasks as tasks
from specmargin.papers import melacci_belkin_2011 as table
from specmargin.papers import run_table, tables

PAPER = "lapsvm_primal_2009"
SETTING = (1e-2, 1.0)
FIGURES = Path(__file__).parents[2] / "figures"


def samples_of(name, data=None):
    return common.samples(tasks.task_named(name), data)


def splits_of(name, data=None):
    return common.splits(tasks.task_named(name), data)


@pytest.fixture
def small(monkeypatch):
    """Make the bundled tasks smaller still."""
    for name, task in tasks.BUNDLED.items():
        monkeypatch.setitem(tasks.BUNDLED, name, replace(task, n=200, draw=tasks.FourFolds(30, 30)))


def test_splits_are_four_folds_dealt_three_times(rng):
    y = rng.permutation(np.repeat([0, 1, 2], [120, 80, 40]))
    found = tasks.four_fold_splits(y, n_labeled=12, n_validation=9, seed=5)
    assert [split.name for split in found] == [f"round{r}-fold{k}" for r in range(3) for k in range(4)]
    for r in range(3):
        folds = [split.test for split in found[4 * r : 4 * r + 4]]
        assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(240))
        assert all(np.array_equal(np.bincount(y[fold]), [30, 20, 10]) for fold in folds)
    assert not np.array_equal(found[0].test, found[4].test)
    for split in found:
        sizes = [len(getattr(split, part)) for part in ("labeled", "unlabeled", "validation", "test")]
        assert sizes == [12, 240 - 12 - 9 - 60, 9, 60]
        assert set(y[split.labeled]) == set(y[split.validation]) == {0, 1, 2}
    again = tasks.four_fold_splits(y, n_labeled=12, n_validation=9, seed=5)
    assert all(np.array_equal(a.labeled, b.labeled) for a, b in zip(found, again, strict=True))
    assert len({tuple(split.labeled) for split in found}) == 12
    other = tasks.four_fold_splits(y, n_labeled=12, n_validation=9, seed=6)
    assert not np.array_equal(found[0].test, other[0].test)


def test_fixed_test_set_has_three_draws(rng):
    y = np.repeat([[0, 1]], 50, axis=0).ravel()
    found = tasks.four_fold_splits(y, n_labeled=6, n_validation=4, n_train=70)
    assert [split.name for split in found] == ["round0-fold0", "round1-fold0", "round2-fold0"]
    assert all(np.array_equal(split.test, np.arange(70, 100)) for split in found)
    assert len({tuple(split.labeled) for split in found}) == 3


def test_draws_are_uniform_but_for_the_classes_that_must_be_there():
    """Two of 20 samples are of class 0: with both classes in a draw of 6, it holds 1 or 2 of them by chance."""
    y = np.repeat([0, 1], [2, 18])
    rng = np.random.default_rng(0)
    drawn = [tasks._draw(y, np.arange(20), 6, rng) for _ in range(3000)]
    two = np.mean([(y[draw] == 0).sum() == 2 for draw in drawn])
    one_way, two_ways = 2 * math.comb(18, 5), math.comb(18, 4)
    expected = two_ways / (one_way + two_ways)
    assert abs(two - expected) < 4 * math.sqrt(expected * (1 - expected) / 3000)
    # Taking one of each first, as `hide_labels` does, meets the other one in 5 of 19 draws.
    assert abs(expected - 5 / 19) > 8 * math.sqrt(expected * (1 - expected) / 3000)


def test_impossible_draws():
    with pytest.raises(ValueError, match="did not meet all of 3 classes"):
        tasks.four_fold_splits([0, 1, 2] * 8, n_labeled=2, n_validation=3)


def test_tasks_are_the_published_ones():
    for name, task in tasks.TASKS.items():
        printed = published_parameters(PAPER, "8", name, "lapsvm_newton").set_index("parameter")["value"]
        assert task.graph["n_neighbors"] == int(printed["nn"])
        assert task.power == int(printed["laplacian_degree_p"])
        if task.kernel["kernel"] == "rbf":
            assert task.kernel["gamma"] == pytest.approx(1 / (2 * float(printed["gaussian_sigma"]) ** 2))
        else:
            assert task.kernel["degree"] == int(printed["poly_degree"])
        sizes = published_sizes(PAPER, "2", name).set_index("quantity")["value"]
        assert [task.draw.n_labeled, task.draw.n_validation] == [int(sizes["n_labeled"]), int(sizes["n_validation"])]


def test_halves_are_the_first_and_the_last_classes(small, nowhere):
    digits = sm.datasets.load("digits").y[:200]
    assert np.array_equal(samples_of("digitsb", nowhere)[1], np.isin(digits, [5, 6, 7, 8, 9]))
    assert np.array_equal(samples_of("digits", nowhere)[1], digits)


def test_what_is_fitted_alone():
    """Newton's method and the dual as they were chosen; every rule with Newton's, its own and the printed gammas."""
    chosen = {("g50c", name): (float(k), 1.0) for k, name in enumerate((*methods.EXACT, *methods.RULES))}
    fits = table._to_time("g50c", chosen)
    newton = chosen["g50c", "lapsvm_newton"]
    assert fits[0] == ("lapsvm_newton", newton)
    assert {name for name, setting in fits if setting == newton} == {
        "lapsvm_newton",
        "lapsvm_pcg_safe",
        *methods.RULES,
    }
    for name in methods.RULES:
        assert [setting for other, setting in fits if other == name] == [chosen["g50c", name], newton, (0.1, 10.0)]
    assert [setting for name, setting in fits if name == "lapsvm_dual"] == [chosen["g50c", "lapsvm_dual"]]
    assert table._to_time("g50c", {}) == []  # where every cell failed


def test_certificates_of_early_stopped_fits_are_not_the_worst_of_the_table(small, nowhere):
    fits = [("lapsvm_dual", SETTING), ("lapsvm_pcg_stability", SETTING)]
    cell = Cell("t", "timed", "digitsb", "round0-fold0", {"phase": "timed", "weight": "heat", "fits": fits})
    row = table.work(cell, data=nowhere)
    dual, early = (one[-1]["relative_gap"] for one in json.loads(row["fits"]))
    assert row["relative_gap"] == dual
    assert abs(dual) < 1e-7 < early
    tuned = {"phase": "tuned", "weight": "heat", "settings": [SETTING]}
    assert "relative_gap" not in table.work(
        Cell("t", "lapsvm_pcg_stability", "digitsb", "round0-fold0", tuned), data=nowhere
    )


def test_printed_settings():
    assert table.printed_setting("g50c", "lapsvm_newton") == (0.1, 10.0)
    assert table.printed_setting("g50c", "svm") == (0.1, 0.0)
    assert table.printed_setting("coil20b", "lapsvm_pcg_validation") == (1.0, 100.0)
    assert table.printed_setting("digits", "lapsvm_newton") is None
    assert table.printed_setting("g50c", "lapsvm_pcg_safe") is None
    # All of them lie on the grid: what is read from the grid's fits misses none.
    for task in table.SMALL + table.LARGE:
        for name in (*methods.EXACT, *methods.RULES):
            found = table.printed_setting(task, name)
            assert found is None or (found[0] in table.GRID and found[1] in (0.0, *table.GRID))


@pytest.mark.parametrize("name", ["digitsb", "digits"])
def test_errors_are_those_of_the_estimators(small, nowhere, name):
    """Each method fitted through the public estimator, on kernel and graph made anew."""
    shared = tasks.problem(name, "round1-fold2", nowhere)
    X, y, *_ = samples_of(name, nowhere)
    split = splits_of(name, nowhere)["round1-fold2"]
    fits = dict(methods.exact(shared, [SETTING]))
    options = {"gamma": 1 / 800, "n_neighbors": 10, "weight": "heat", "power": 2}
    for method, fit in fits.items():
        known = methods.METHODS[method]
        estimator = sm.LapSVM(**options, gamma_A=SETTING[0], gamma_I=SETTING[1], **known.options)
        expected = evaluate(estimator, X, y, split)
        got = {f"error_{part}": getattr(fit, part) for part in ("unlabeled", "validation", "test")}
        assert got == {key: expected[key] for key in got}
        assert abs(fit.relative_gap) < 1e-7
    assert set(fits) == {"laprls", "lapsvm_dual", "lapsvm_newton", "lapsvm_newton_intercept"}
    assert len(fits["lapsvm_dual"].iterations) == (1 if name == "digitsb" else 10)


def test_supervised_methods_without_an_intercept(small, nowhere):
    """RLS is kernel ridge regression on the labelled samples."""
    shared = tasks.problem("digitsb", "round0-fold0", nowhere)
    X, y, *_ = samples_of("digitsb", nowhere)
    split = splits_of("digitsb", nowhere)["round0-fold0"]
    fits = dict(methods.exact(shared, [(1e-2, 0.0)]))
    assert set(fits) == {"svm", "rls"}
    ridge = KernelRidge(alpha=1e-2, kernel="precomputed")
    ridge.fit(gram(X[split.labeled], gamma=1 / 800), 2 * y[split.labeled] - 1)
    for part in ("unlabeled", "validation", "test"):
        samples = getattr(split, part)
        f = ridge.predict(gram(X[samples], X[split.labeled], gamma=1 / 800))
        assert getattr(fits["rls"], part) == pytest.approx(100 * np.mean((f > 0) != y[samples]))


def test_one_ratio_shares_and_gives_what_each_setting_gives_alone(small, nowhere):
    shared = tasks.problem("digitsb", "round0-fold0", nowhere)
    settings = [(1e-3, 1e-1), (1e-1, 10.0)]
    together = list(methods.exact(shared, settings))
    apart = [found for setting in settings for found in methods.exact(shared, [setting])]
    assert [name for name, _ in together] == [name for name, _ in apart]
    assert [fit[:3] for _, fit in together] == [fit[:3] for _, fit in apart]
    cell = Cell("t", "exact", "digitsb", "round0-fold0", {"phase": "exact", "weight": "heat", "settings": settings})
    rows = methods.fits_of([make_row(cell, {"status": "ok", **table.work(cell, data=nowhere)})])
    expected = [(setting, name) for setting in settings for name, _ in methods.exact(shared, [setting])]
    assert [(row["setting"], row["method"]) for row in rows] == expected
    assert [row["error_test"] for row in rows] == [fit.test for _, fit in apart]


def test_validation_samples_take_no_part_in_the_training(small, nowhere):
    shared = tasks.problem("digits", "round0-fold1", nowhere)
    K, L, labels, validation, known = shared.with_validation
    n = len(shared.K)
    assert labels.n_samples == n + 30
    assert np.array_equal(known[validation], shared.y["validation"])
    assert (known[:n] == -1).all()
    options = {"stopping": "stability", "check_every": 4}
    binary = next(shared.labels.one_vs_rest())
    alone = sm.objectives.LapSVM(shared.K, shared.L, binary, "squared_hinge", *SETTING, fit_intercept=False)
    both = replace(alone, K=K, L=L, labels=next(labels.one_vs_rest()))
    ours = methods.pcg_one_vs_rest(both, labels, **options, max_iter=12)
    theirs = methods.pcg_one_vs_rest(alone, shared.labels, **options, max_iter=12)
    for a, b in zip(ours, theirs, strict=True):
        assert not a.variables["alpha"][n:].any()
        np.testing.assert_allclose(a.variables["alpha"][:n], b.variables["alpha"], rtol=1e-9, atol=1e-12)
        outside = shared.K_outside[:30] @ b.variables["alpha"]
        np.testing.assert_allclose(a.variables["f"][n:], outside, rtol=1e-9, atol=1e-12)


def test_rules_stop_at_checks_and_in_their_order(small, nowhere):
    shared = tasks.problem("digits", "round0-fold0", nowhere)
    fits = {name: methods.early_stopped(shared, name, SETTING) for name in methods.STOPPING}
    every = round(math.sqrt(len(shared.K)) / 2)
    assert all(count % every == 0 and count > 0 for fit in fits.values() for count in fit.iterations)
    count = {name.removeprefix("lapsvm_pcg_"): np.array(fit.iterations) for name, fit in fits.items()}
    assert (count["mixed"] >= np.maximum(count["stability"], count["validation"])).all()
    assert (count["safe"] > count["stability"]).any()
    exact = dict(methods.exact(shared, [SETTING]))["lapsvm_newton"]
    assert abs(fits["lapsvm_pcg_safe"].unlabeled - exact.unlabeled) <= 2.0


def test_alone_gives_the_same_as_on_the_grid(small, nowhere):
    shared = tasks.problem("digits", "round0-fold0", nowhere)
    fits = dict(methods.exact(shared, [SETTING]))
    for name in ("lapsvm_newton", "lapsvm_dual"):
        alone = methods.timed(shared, name, SETTING)
        assert alone[:3] == fits[name][:3]
        assert alone.seconds > 0
        assert len(alone.iterations) == 10
    rule = "lapsvm_pcg_mixed"
    early = [methods.timed(shared, rule, SETTING), methods.early_stopped(shared, rule, SETTING)]
    assert early[0].iterations == early[1].iterations


@pytest.mark.parametrize(("name", "split", "words"), [("isolet", "x", "no task"), ("digits", "x", "no split 'x'")])
def test_unknown_names(nowhere, name, split, words):
    with pytest.raises(ValueError, match=words):
        tasks.problem(name, split, nowhere)


def fit(validation, test, iterations=(20,), seconds=1.0):
    return methods.Fit(test, validation, test, 1e-9, seconds, list(iterations))


def rows_of(fits):
    """Return rows of a sweep from {(method, split): {setting: Fit}}."""
    rows = []
    for (method, split), by_setting in fits.items():
        found = [[method, *setting, one._asdict()] for setting, one in by_setting.items()]
        rows.append(make_row(Cell("t", method, "g50c", split), {"status": "ok", "fits": json.dumps(found)}))
    return rows


def test_mean_validation_error_chooses_and_tables_stand_beside_the_published():
    """By hand: the second setting is better on V in the mean, the first on T; timed fits have steps and seconds."""
    first, second = (1e-1, 10.0), (1.0, 10.0)
    grid = methods.fits_of(
        rows_of(
            {
                ("lapsvm_newton", "s0"): {first: fit(4.0, 7.0), second: fit(5.0, 8.0)},
                ("lapsvm_newton", "s1"): {first: fit(9.0, 7.2), second: fit(2.0, 9.0)},
            }
        )
    )
    failed = make_row(Cell("t", "x", "g50c", "s0"), {"status": "failed", "error": "x"})
    assert methods.fits_of([failed]) == []
    timed = methods.fits_of(
        rows_of(
            {
                ("lapsvm_newton", "s0"): {second: fit(5.0, 8.0, [1, 2], seconds=2.0)},
                ("lapsvm_newton", "s1"): {second: fit(2.0, 9.0, [3, 2], seconds=4.0)},
                ("lapsvm_pcg_mixed", "s0"): {second: fit(5.0, 8.0, [20, 30], seconds=1.0)},
                ("lapsvm_pcg_mixed", "s1"): {second: fit(5.0, 8.0, [20, 20], seconds=1.0)},
            }
        )
    )
    chosen = {(row["dataset"], row["method"]): row["setting"] for row in select(grid, report.CHOICE)}
    assert chosen == {("g50c", "lapsvm_newton"): second}
    parts = {part.title: part for part in report.sections(grid, timed, chosen, table.printed_setting)}
    (line,) = parts["Table 4, error on T in percent"].lines
    assert (line.mean, line.published_mean, line.n_splits) == (8.5, 7.27, 2)
    assert "optimistic" not in line.tuning
    (line,) = parts["Table 4, error on V in percent"].lines
    assert (line.mean, line.published_mean) == (3.5, 6.17)
    assert "optimistic" in line.tuning  # the error that is reported has chosen
    (line,) = parts["Table 4, printed gammas, error on T in percent"].lines
    assert line.mean == pytest.approx(7.1)
    (line,) = parts["Table 5, Newton steps"].lines
    assert (line.mean, line.published_mean, line.n_splits) == (2.0, 1.0, 4)
    (line,) = parts["Table 5, printed gammas, Newton steps"].lines
    assert (line.mean, line.published_mean, line.n_splits) == (20.0, 1.0, 2)
    (line,) = parts["Table 10, iterations"].lines
    assert (line.mean, line.published_mean) == (22.5, 20.83)
    (line,) = parts["Table 10, time over that of Newton's method"].lines
    assert line.mean == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert line.published_mean == pytest.approx(0.044 / 0.134)
    assert "Table 6, iterations" not in parts  # tuned by itself: nothing was


def test_verdicts_by_hand():
    def line(method, mean, std, published, published_std, dataset="g50c"):
        return Line(dataset, method, "v", mean, std, 12, published, published_std)

    lines = [
        line("svm", 10.0, 3.0, 8.0, 2.0),  # 2 sqrt((9 + 4) / 12) = 2.08
        line("rls", 10.2, 3.0, 8.0, 2.0),
        line("lapsvm_newton", 20.0, 0.0, 20.0, 0.0),
        line("laprls", 20.1, 0.0, 20.0, 0.0),
        line("svm", 30.0, 0.0, 20.0, 0.0, "coil20"),
        line("svm", 30.0, 0.0, math.nan, math.nan),
    ]
    first, *rest = report.verdicts([Section("Table 4", lines), Section("time", lines)])
    assert first == "Table 4: 2 of 5 within two standard errors."
    assert [text.split(":")[0].strip() for text in rest] == ["g50c rls", "g50c laprls", "coil20 svm"]
    assert rest[0].endswith("- unknown")
    assert "sigma = 0.6" in rest[2]
    # Where other gammas were chosen, that is said; with the printed ones it is no reason.
    moved = {("g50c", "rls")}
    assert report.verdicts([Section("Table 4", lines[1:2])], moved)[1].endswith(report._MOVED)
    fixed = replace(lines[1], tuning="printed gammas")
    assert report.verdicts([Section("Table 4", [fixed])], moved)[1].endswith("- unknown")
    by_newton = replace(lines[1], method="lapsvm_pcg_mixed", tuning="gammas of Newton")
    said = report.verdicts([Section("Table 10", [by_newton])], {("g50c", "lapsvm_newton")})
    assert said[1].endswith(report._MOVED)
    again = replace(lines[1], source="lapsvm_primal_jmlr2011 table 6 lapsvm_pcg_mixed")
    assert report.verdicts([Section("Table 6", [again])])[1].endswith(report._REPRINTED)


def test_report_holds_every_section():
    lines = [Line("a", "svm", "v", 1.0, 0.5, 2), Line("b", "svm", "v", 2.0, 0.5, 2)]
    parts = [Section("Table 4", lines[:1]), Section("Table 5", lines[1:])]
    whole = Report("x", "All", parts, ["before"], ["after"], ["so it is"])
    text, markdown = whole.text(), whole.markdown()
    for words in ("All", "before", "Table 4", "Table 5", "so it is", "after"):
        assert words in text
        assert words in markdown
    assert text.index("Table 4") < text.index("Table 5") < text.index("so it is") < text.index("after")
    rows = list(csv.DictReader(io.StringIO(whole.csv())))
    assert [(row["section"], row["dataset"]) for row in rows] == [("Table 4", "a"), ("Table 5", "b")]


def without_times(found):
    return [line for part in found.sections if "time" not in part.title for line in part.lines]


def test_interrupted_run_goes_on_where_it_stopped(small, nowhere, tmp_path, monkeypatch):
    tiny = table.Plan(["digitsb"], gamma_A=(1e-2,), gamma_I=(1e-1, 1.0), n_splits=2)
    monkeypatch.setattr(table.Plan, "quick", lambda self: tiny)
    options = {"quick": True, "data": nowhere, "progress": False}
    whole = run_table("lapsvm_primal", out=tmp_path / "whole", **options)
    work, done = table.work, []

    def interrupted(cell, *, data):
        if len(done) in (3, 8, 13):  # once in each phase
            done.append(None)
            raise KeyboardInterrupt
        done.append(cell.key)
        return work(cell, data=data)

    monkeypatch.setitem(tables(), "lapsvm_primal", replace(tables()["lapsvm_primal"], work=interrupted))
    for _ in range(3):
        with pytest.raises(SweepInterruptedError, match="the same call goes on from there"):
            run_table("lapsvm_primal", out=tmp_path / "parts", **options)
    again = run_table("lapsvm_primal", out=tmp_path / "parts", **options)
    n_cells = 2 * 3 + 2 * 3 + 2  # ratios, rules, splits
    assert len(done) == n_cells + 3
    assert len(set(done)) == n_cells + 1  # nothing was computed twice
    assert repr(without_times(again)) == repr(without_times(whole))  # repr: NaN equals NaN
    text = (tmp_path / "whole" / "tables" / "lapsvm_primal-quick.txt").read_text()
    assert "NOT AT HAND: g50c, coil20b, mac_windows, uspstb, coil20, uspst. In their place: 600" in text
    assert "FACEMIT" in text
    assert "QUICK" in text
    assert f"cells: {n_cells}, failed: 0" in text
    assert "worst relative gap of a certificate: " in text
    assert "command: specmargin tables lapsvm_primal --quick --jobs 1" in text
    assert str(tmp_path) not in text
    assert again.sections[-1].lines  # times


@pytest.mark.data
def test_quick_mnist_is_no_mnist(small, data_folder, nowhere, tmp_path, monkeypatch):
    nothing = replace(table.LAPSVM_PRIMAL_MNIST, measure=lambda plan, run, data: table.Measurements([], [], {}))
    monkeypatch.setitem(tables(), "lapsvm_primal_mnist", nothing)
    found = run_table("lapsvm_primal_mnist", quick=True, data=data_folder or nowhere, out=tmp_path, progress=False)
    assert any("in the place of MNIST" in line for line in found.header)


@pytest.mark.data
def test_errors_are_near_the_published_ones(data_folder, nowhere):
    """With the printed parameters: on g50c within two standard errors of U and T, on digits better than the SVM."""
    name, data = ("g50c", data_folder) if data_folder else ("digitsb", nowhere)
    setting = table.printed_setting("g50c", "lapsvm_newton") if data_folder else SETTING
    fits = {"lapsvm_newton": [], "svm": []}
    for split in list(splits_of(name, data))[:: 1 if data_folder else 6]:
        shared = tasks.problem(name, split, data)
        for method, one in [*methods.exact(shared, [setting]), *methods.exact(shared, [(0.1, 0.0)])]:
            if method in fits:
                fits[method].append(one)
    mean = {method: np.mean([one[:3] for one in found], axis=0) for method, found in fits.items()}
    assert (mean["lapsvm_newton"] < mean["svm"]).all()
    if data_folder:
        for method, found in fits.items():
            for part, column in (("U", "unlabeled"), ("T", "test")):
                errors = [getattr(one, column) for one in found]
                known = report.Reference(PAPER, "4", method, part).find("g50c")
                line = Line("g50c", method, "", np.mean(errors), np.std(errors, ddof=1), 12, *known[:2])
                assert report._within(line)


def test_figure_of_the_iterations_ends_at_the_exact_solution(nowhere, tmp_path):
    (result,) = run_figures(["pcg_iterations"], quick=True, out=tmp_path, progress=False, formats=("svg",))
    assert not result.warnings
    told = json.loads(result.sidecar.read_text())
    assert told["certificates"]["worst relative gap of an exact solution"] < 1e-9
    curves = runpy.run_path(str(FIGURES / "pcg_iterations.py"))["compute"]("quick")["curves"]
    assert list(curves) == ["digitsb", "digits"]
    for task, curve in curves.items():
        np.testing.assert_allclose(curve["errors"][-1], curve["exact"], atol=0.5)
        assert (curve["errors"][0, 1:] > curve["exact"][1:] + 5.0).all()
        objective, *norms = curve["quantities"]
        assert (np.diff(objective) <= 1e-12 * objective[0]).all()
        assert all(norm[-1] < 1e-9 for norm in norms)
        settled = told["results"]["iterations after which all errors stay within half a point of the exact ones"][task]
        assert 4 <= settled <= 64
        # An independent machine errs as often: the table's own exact LapSVM on that split.
        shared = tasks.problem(task, next(iter(splits_of(task))))
        (fit,) = [fit for _, fit in methods.exact(shared, [SETTING], ["lapsvm_newton"])]
        np.testing.assert_allclose(curve["exact"][1:], [fit.unlabeled, fit.validation, fit.test])
