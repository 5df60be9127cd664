"""The QN-S3VM paper's table 2 and figures: partitions, units, tuning on the labelled part, what is measured."""

from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest
from sklearn.svm import SVC

from reproduction import tasks as common
from reproduction.blocks import available_blocks
from reproduction.engine.published import published, published_parameters
from reproduction.engine.records import Cell, make_row
from reproduction.engine.splits import random_splits
from reproduction.figure_scripts import figure_scripts, load_script
from reproduction.methods import decide
from reproduction.papers import gieseke_2014 as experiment
from reproduction.papers import run_table
from reproduction.papers._protocols import gieseke_fits as fits
from reproduction.papers._protocols.gieseke_fits import Partition
from reproduction.papers._protocols.s3vm_methods import Setting, fit
from reproduction.run import Options
from reproduction.tasks import labels_of
from specmargin.objectives.s3vm import S3VM

SMALL = Partition(16, 50, n=130)


def samples(name, n=None, data=None, sample=0):
    return common.samples(fits.task_named(name, n, sample), data)


def cell(method, how=SMALL, **options):
    options = {"powers": (-6, 0), "primes": (1.0,)} | options
    return experiment._block("t", "t", "digits_3_8", how, (method,), **options).cells()[0]


def problem(name, how):
    """Return all samples of a set, its first partition, and the problem of that."""
    split = next(iter(fits.partitions(name, how).values()))
    return samples(name, how.n).X, split, fits.problem(name, split.name, how)


def fitted(method, shared, setting):
    return fit(method, shared.X, labels_of(shared.y, shared.labeled), setting)


def error_of(answer, shared):
    return 100 * np.mean(decide(shared.X_test @ answer.v + answer.b) != shared.y_test)


def test_table_2_has_the_papers_rows():
    rows = experiment.table2()
    assert len(rows) == 53 == len(published("qn_s3vm", "2", method="svm"))
    sizes = {"g2c": 500, "g4c": 500, "real_sim": 72309, "gcat": 23149, "ccat": 23149, "aut_avn": 71175}
    sizes |= {"mac_windows": 1946, "usps_8_0": 2261, "usps_2_5": 1645, "usps_2_7": 1721, "usps_3_8": 1532}
    sizes |= {name: 1000 for name in fits.SETS if name.startswith("mnist")}
    sizes |= {name: 144 for name in fits.SETS if name.startswith("coil")}
    for row in rows:
        assert row.how.n_labeled + row.how.n_unlabeled + row.how.n_test == sizes[row.dataset]
        number = row.published("qn_s3vm")
        assert number.mean > 0 < number.std
        assert number.source == "qn_s3vm table 2"
    stated = published_parameters("qn_s3vm", "2").set_index(["method", "parameter"])["value"]
    assert stated["qn_s3vm", "lambda"] == "{2^-10, ..., 2^10}"
    assert (experiment.POWERS[0], experiment.POWERS[-1], len(experiment.POWERS)) == (-10, 10, 21)
    tried = {cell.method: tuple(cell.parameters["powers"]) for cell in rows[0].cells()}
    assert tried["svm"] == tried["qn_s3vm"] == experiment.POWERS
    assert tried["cccp_s3vm"] == tried["da_s3vm"] == tried["multiswitch_tsvm"] == tuple(range(-10, 11, 2))
    assert stated["qn_s3vm", "lambda_prime"] == "{0.01, 1, 100}"
    assert experiment.PRIMES == (0.01, 1.0, 100.0)
    assert np.isnan(replace(rows[0], title="Figure 5a").published("svm").mean)


def test_units_are_the_papers(rng):
    """Its objectives, as published, are ours but for the factor 2 lam (QN) or lam (SVMlin)."""
    X, y = rng.normal(size=(30, 4)), np.resize([0, 1], 30)
    labels = labels_of(y, np.arange(6))
    lam, prime, l, u, w = 2.0**-3, 100.0, 6, 24, rng.normal(size=4)
    setting = fits.grid("qn_s3vm", (-3,), (prime,), l, u)[0]
    obj = S3VM(X, labels, "smooth_hinge", "exp", C=setting.C, C_star=setting.C_star, balance=0.0)
    f = obj.decisions_at(w)
    logistic = np.log1p(np.exp(20 * (1 - labels.sign * f[:6]))) / 20
    theirs = logistic.mean() + prime * np.exp(-3 * f[6:] ** 2).mean() + lam * w @ w
    assert 2 * lam * obj.value_at(w) == pytest.approx(theirs, rel=1e-12)
    setting = fits.grid("da_s3vm", (-3,), (prime,), l, u)[0]
    svmlin = S3VM(X, labels, C=setting.C, C_star=setting.C_star, intercept="regularized")
    w = rng.normal(size=5)
    f = svmlin.decisions_at(w)
    hinge = np.maximum(0, 1 - labels.sign * f[:6]) ** 2
    theirs = lam / 2 * w @ w + hinge.sum() / (2 * l) + prime * (np.maximum(0, 1 - np.abs(f[6:])) ** 2).sum() / (2 * u)
    assert lam * svmlin.value_at(w) == pytest.approx(theirs, rel=1e-12)
    assert fits.grid("multiswitch_tsvm", (-3,), (prime,), l, u) == [setting]
    assert len(fits.grid("svm", experiment.POWERS, experiment.PRIMES, l, u)) == 21
    assert len(fits.grid("cccp_s3vm", experiment.POWERS, experiment.PRIMES, l, u)) == 63
    assert fits.grid("svm", (0, 1), (1.0,), 10, 100)[1].C == 2.0
    assert fits.grid("cccp_s3vm", (3,), (0.01,), 10, 100) == [Setting(8.0, 0.0001)]


def test_partitions_are_disjoint_and_as_large_as_asked():
    some, whole = (fits.partitions("digits_3_8", Partition(20, 100, u)) for u in (60, None))
    assert len(some) == 10
    for name, split in some.items():
        assert (len(split.labeled), len(split.unlabeled), len(split.test)) == (20, 60, 100)
        assert set(split.unlabeled) < set(whole[name].unlabeled)
        assert set(split.labeled) == set(whole[name].labeled)
        assert np.bincount(samples("digits_3_8").y[split.labeled]).tolist() == [10, 10]
    with pytest.raises(ValueError, match="are left of digits_3_8"):
        fits.partitions("digits_3_8", Partition(20, 100, 5000))


def test_labels_are_drawn_uniformly_where_that_is_asked_for():
    """Their number in a class is hypergeometric, but for the sample of each class that is there: none is a share."""
    y = samples("digits_3_8").y
    drawn = fits.partitions("digits_3_8", Partition(20, 100, uniform=True)).values()
    counts = [int(y[split.labeled].sum()) for split in drawn]
    assert len({*counts}) > 3  # in proportion there is one
    assert {len(split.labeled) for split in drawn} == {20}
    many = random_splits(y, 20, 2000, 0, n_test=100)
    ours = np.array([y[split.labeled].sum() for split in many])
    share, n = y.mean(), len(y)
    expected = 1 + 18 * (share * n - 1) / (n - 2)
    variance = 18 * share * (1 - share) * (n - 20) / (n - 3)
    assert abs(ours.mean() - expected) < 4 * np.sqrt(variance / 2000)
    assert ours.var() == pytest.approx(variance, rel=0.15)
    assert [split.labeled.tolist() for split in many[:10]] == [split.labeled.tolist() for split in drawn]


def test_tables_of_either_draw_share_no_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "available_blocks", lambda blocks, data: (list(blocks), []))
    monkeypatch.setattr(experiment.PartitionBlock, "splits", lambda *args: ["random20-seed0-00"])
    plans = {}
    for choices in ({}, {"labels": "uniform"}, {"rows": "few"}, {"labels": "uniform", "rows": "few"}):
        options = Options(tmp_path, choices=choices)
        plans[options.suffix] = set(experiment.QN_S3VM.setup(options).plan.cells(tmp_path))
    usual, uniform, few, few_uniform = plans.values()
    assert len(usual) == len(uniform) > 200
    assert not usual & uniform
    assert few < usual
    assert few_uniform < uniform
    assert {(cell.dataset, cell.parameters["how"]["n_labeled"]) for cell in few} == set(experiment.BY_LABELS)
    assert {cell.method for cell in few} == {"svm", "cccp_s3vm", "qn_s3vm"}
    assert all("uniform" not in cell.parameters["how"] for cell in usual)  # as the recorded rows are called
    assert {cell.parameters["ties"] for cell in uniform} == {"first"}
    with pytest.raises(ValueError, match=r"labels=drawn is unknown; take one of proportion, uniform"):
        experiment.QN_S3VM.setup(Options(tmp_path, choices={"labels": "drawn"}))


@pytest.mark.parametrize("labels", experiment.AXES["labels"])
def test_families_of_sets_divide_table_2(tmp_path, monkeypatch, labels):
    monkeypatch.setattr(experiment, "available_blocks", lambda wanted, data: (wanted, []))
    parts = [
        experiment.QN_S3VM.setup(Options(tmp_path, choices={"labels": labels, "rows": rows})).plan.blocks
        for rows in experiment.FAMILIES
    ]
    whole = experiment.QN_S3VM.setup(Options(tmp_path, choices={"labels": labels})).plan.blocks
    divided = [block for part in parts for block in part]
    assert Counter(divided) == Counter(block for block in whole if block.title == "Table 2")
    assert all(block.methods == experiment.METHODS and block.how.uniform == (labels == "uniform") for block in divided)
    assert all(parts)


def test_a_part_of_the_rows_judges_no_claim(tmp_path):
    """A sentence on the dense sets is not one on COIL."""
    plan = experiment.Blocks([replace(block, n_splits=3) for block in experiment.table2() if block.dataset == "g2c"])
    outcome = {"status": "ok", "error_test": 1.0, "tied": 1, **{f"error, {rule}": 1.0 for rule in fits.RULES}}
    rows = [make_row(cell, outcome) for cell in plan.cells()]
    for choices in ({}, {"rows": "coil"}, {"rows": "few"}):
        told = experiment.QN_S3VM.report(rows, plan, Options(tmp_path, choices=choices))
        assert len(told.sections) == 2
        assert any(remark.startswith("What the paper concludes") for remark in told.remarks) == (not choices)


def test_ties_go_where_the_cell_says():
    usual = cell("qn_s3vm", Partition(10, 50, n=130), powers=(-8, -4, 0), primes=(0.01, 1.0))
    first = replace(usual, parameters={**usual.parameters, "ties": "first"})
    rows = [fits.work(one) for one in (usual, first)]
    assert [row["C"] for row in rows] == [rows[0]["C, least hinge loss"], rows[0]["C, first"]]
    assert rows[1]["error_test"] == rows[0]["error, first"]
    assert rows[0]["C"] < rows[1]["C"] == 0.5 / (2.0**-8 * 10)  # the least lam


def test_problem_is_rotated_without_changing_it():
    X, split, rotated = problem("g2c", Partition(10, 50, n=100))
    assert rotated.X.shape[1] == 50 < X.shape[1]
    plain = rotated._replace(X=X[split.train], X_test=X[split.test])
    np.testing.assert_allclose(rotated.X @ rotated.X.T, plain.X @ plain.X.T, atol=1e-8)
    np.testing.assert_allclose(rotated.X_test @ rotated.X.T, plain.X_test @ plain.X.T, atol=1e-8)
    decisions = []
    for each in (plain, rotated):
        answer = fitted("qn_s3vm", each, Setting(1.0, 0.1))
        decisions.append(each.X_test @ answer.v + answer.b)
    np.testing.assert_allclose(*decisions, atol=0.01)


@pytest.mark.parametrize("landmarks", [None, 30])
def test_gaussian_width_is_a_multiple_of_the_box(landmarks):
    X, split, shared = problem("digits_3_8", Partition(10, 40, sigma=0.3, landmarks=landmarks, n=100))
    s = np.sqrt(((X[split.train].max(axis=0) - X[split.train].min(axis=0)) ** 2).sum())
    squares = ((X[split.test][:, None] - X[split.train][None]) ** 2).sum(axis=2)
    K = np.exp(-squares / (2 * (0.3 * s) ** 2))
    exact = np.isclose(np.einsum("ij,ij->i", shared.X, shared.X), 1.0)
    assert exact.sum() == (landmarks or 60)
    assert landmarks is None or shared.X.shape == (60, landmarks)
    np.testing.assert_allclose((shared.X_test @ shared.X.T)[:, exact], K[:, exact], atol=1e-8)


def test_setting_comes_from_the_labelled_part_alone(monkeypatch):
    """Change every hidden label: the choice stays, the error is that of the others."""
    one = cell("qn_s3vm", powers=(-8, -4, 0), primes=(0.01, 1.0))
    honest = fits.work(one)
    shared = fits.problem("digits_3_8", one.split, SMALL)
    y = 1 - shared.y
    y[shared.labeled] = shared.y[shared.labeled]
    monkeypatch.setattr(fits, "problem", lambda *args: shared._replace(y=y, y_test=1 - shared.y_test))
    other = fits.work(one)
    same = ("C", "C_star", "error_folds", "tied")
    assert [honest[k] for k in same] == [other[k] for k in same]
    assert honest["error_test"] + other["error_test"] == pytest.approx(100)


def test_choice_among_ties_is_made_by_every_rule(monkeypatch):
    one = cell("qn_s3vm", powers=(0, 1, 2, 3, 4))
    scores = iter([(3, 0.1), (1, 5.0), (1, 2.0), (1, 2.0), (2, 0.0)])
    monkeypatch.setattr(fits, "_fold_error", lambda *args: next(scores))
    row = fits.work(one)
    shared = fits.problem("digits_3_8", one.split, SMALL)
    settings = fits.grid("qn_s3vm", (0, 1, 2, 3, 4), (1.0,), 16, 64)
    assert (row["C"], row["tied"]) == (settings[2].C, 3)
    assert row["error_folds"] == pytest.approx(100 / 16)
    chosen = {"least hinge loss": settings[2], "first": settings[1], "largest lam": settings[3]}
    assert list(chosen) == list(fits.RULES)
    assert row["error_test"] == row["error, least hinge loss"]
    for rule, setting in chosen.items():
        assert row[f"error, {rule}"] == pytest.approx(error_of(fitted("qn_s3vm", shared, setting), shared))
        assert row[f"C, {rule}"] == setting.C


def fold_error(shared, method, setting, entirely):
    """Return errors and hinge loss on the samples of each fold, which stay among the unlabelled ones or leave."""
    errors, hinge = 0, 0.0
    for left_out in fits.labeled_folds(shared.y, shared.labeled, fits.FOLDS):
        rest = np.setdiff1d(np.arange(len(shared.y)), left_out) if entirely else np.arange(len(shared.y))
        known = np.flatnonzero(np.isin(rest, np.setdiff1d(shared.labeled, left_out)))
        answer = fit(method, shared.X[rest], labels_of(shared.y[rest], known), setting)
        f = (shared.X[left_out] @ answer.v + answer.b)[:, 0]
        errors += ((f > 0) != (shared.y[left_out] == 1)).sum()
        hinge += np.maximum(0, 1 - (2 * shared.y[left_out] - 1) * f).sum()
    return errors, pytest.approx(hinge)


@pytest.mark.parametrize("entirely", [False, True])
@pytest.mark.parametrize(("method", "setting"), [("svm", Setting(1.0, 0.0)), ("qn_s3vm", Setting(1.0, 0.1))])
def test_fold_error_is_that_of_the_samples_left_out(method, setting, entirely):
    shared = fits.problem("digits_3_8", cell(method).split, SMALL)
    assert fits._fold_error(shared, method, setting, entirely) == fold_error(shared, method, setting, entirely)


def test_a_fold_without_a_class_can_learn_nothing():
    shared = fits.problem("digits_3_8", cell("svm").split, SMALL)
    ones, zeros = (shared.labeled[shared.y[shared.labeled] == k] for k in (1, 0))
    alone = shared._replace(labeled=np.sort(np.append(zeros[:5], ones[0])))
    assert fits._fold_error(alone, "svm", Setting(1.0, 0.0))[0] >= 1


def test_the_rows_that_hang_on_the_choice_are_computed_every_way():
    blocks = experiment.blocks()
    assert {(b.dataset, b.how.n_labeled) for b in blocks if b.left_out == "entirely"} == set(experiment.BY_RULE)
    others = [b for b in blocks if b.how.sample]
    assert {b.how.sample for b in others} == set(range(1, experiment.N_SAMPLES))
    assert {b.dataset for b in others} == {"g2c", "g4c"}
    assert all(b.published("qn_s3vm").mean > 0 for b in others)
    keys = [b.cells()[0].key for b in blocks if (b.dataset, b.how.n_labeled) == ("g2c", 25)]
    assert len(set(keys)) == len(keys) == 1 + 1 + experiment.N_SAMPLES - 1
    first, other = (samples("g2c", sample=k).X for k in (0, 1))
    assert not np.allclose(first, other)
    with pytest.raises(ValueError, match="sample=1, but digits_3_8 is not generated"):
        fits.task_named("digits_3_8", sample=1)


def test_one_partition_that_decides_is_named():
    for values in ([5.0, 6.0, 7.0], [5.0, 60.0], [2.0, 3.0, 4.0, 5.0]):
        assert experiment.one_split(values) == ""
    expected = "one partition decides: 51.0; median 3.50, mean of the others 3.00"
    assert experiment.one_split([2.0, 3.0, 51.0, 4.0]) == expected
    assert experiment.table2()[0].published("svm", [2.0, 3.0, 51.0, 4.0]).note == expected


def test_optimistic_and_timed_cells():
    how, powers = Partition(10, 40, sigma=0.3, n=100), (-8, 0, 4)
    one = cell("svm", how, kind="optimistic", powers=powers)
    row = fits.work(one)
    shared = fits.problem("digits_3_8", one.split, how)
    settings = fits.grid("svm", powers, (1.0,), 10, 50)
    errors = [error_of(fitted("svm", shared, setting), shared) for setting in settings]
    assert row["error_test"] == pytest.approx(min(errors))
    assert row["C"] == settings[int(np.argmin(errors))].C
    timed = fits.work(cell("qn_s3vm", Partition(10, 0, n=100), kind="timed"))
    assert timed["fit_seconds"] > 0
    assert timed["C"] == pytest.approx(1 / 20)
    fourth = [b for b in experiment.blocks() if b.kind == "optimistic"]
    assert fourth
    assert all("OPTIMISTIC" in b.title and "optimistic" in b.tuning for b in fourth)


def test_sets_of_files_are_missing_or_available(nowhere):
    names = ["g2c", "digits_3_8", "usps_2_5", "real_sim", "mac_windows"]
    wanted = [experiment._block("t", "t", name, SMALL) for name in names]
    there, (note,) = available_blocks(wanted, nowhere)
    assert [block.dataset for block in there] == ["g2c", "digits_3_8"]
    assert ": mac_windows, real_sim, usps_2_5; name their folder" in note
    (nowhere / "real-sim.bz2").write_bytes(b"")
    assert "real_sim" in [block.dataset for block in available_blocks(wanted, nowhere)[0]]


def test_quick_table(nowhere, tmp_path, monkeypatch):
    few = [replace(block, n_splits=1) for block in experiment.bundled_blocks()[::2]]
    monkeypatch.setattr(experiment, "bundled_blocks", lambda: few)
    report = run_table("qn_s3vm", quick=True, data=nowhere, out=tmp_path, progress=False)
    assert [line.method for line in report.lines] == [*experiment.METHODS, *experiment.METHODS[1:]]
    assert all(line.mean < 50 for line in report.lines)
    text = report.text()
    assert "cross-validation was tied in" in text
    for rule in fits.RULES:
        assert f"ties, {rule}: mean error" in text
    assert "failed: 0" in text


@pytest.mark.data
def test_a_published_row_can_be_computed(data_folder):
    """One partition of MNIST 1 against 7, or of digits: the linear classifier errs rarely."""
    name, how = ("mnist_1_7", Partition(50, 500, 450)) if data_folder else ("digits_3_8", Partition(50, 150))
    split = next(iter(fits.partitions(name, how, data_folder)))
    parameters = {"how": asdict(how), "kind": "tuned", "powers": [-6], "primes": [0.01]}
    row = fits.work(Cell("t", "qn_s3vm", name, split, parameters), data=data_folder)
    assert row["error_test"] < 10
    shared = fits.problem(name, split, how, data_folder)
    assert shared.X.shape[0] == (500 if data_folder else 207)
    assert not data_folder or shared.X.max() <= 30


@pytest.mark.parametrize(
    "how",
    [
        Partition(10, 0, n=60),
        Partition(10, 0, n=60, sigma=0.5),
        Partition(10, 0, n=60, sigma=0.5, landmarks=30),
        Partition(10, 0, n=200),
    ],
)
def test_problems_without_unseen_samples(how):
    """Of fewer samples than features among them, as figure 6 has."""
    _, _, shared = problem("digits_3_8", how)
    assert shared.X.shape[0] == how.n == len(shared.y)
    assert shared.X_test.shape == (0, shared.X.shape[1])
    assert len(shared.y_test) == 0


@pytest.mark.slow
def test_figure_of_moons_shares_and_seconds(nowhere, beside_figure):
    told = beside_figure("qn_s3vm")
    moons = told["results"]["figure 4, TUNED ON THE TEST SET, error on unseen points, percent"]
    assert moons["QN-S3VM"]["mean"] <= moons["SVM"]["mean"]
    assert told["certificates"]["worst relative gap of an SVM"] < 1e-6
    seconds = told["results"]["figures 6 and 7, seconds on this machine"]
    assert all(name.split(", ")[1] in ("g2c", "digits_3_8") for name in seconds)
    assert min(value for each in seconds.values() for value in each["QN-S3VM"]) > 0
    assert told["data"]["two_moons"]["kind"] == "generated by make_two_moons"


def test_figure_of_losses_has_the_formulas_and_the_boundary_of_an_svm(nowhere):
    script = load_script(figure_scripts()["losses"])
    data = script.compute("quick")
    t, panels = data["decisions"], list(data["losses"].values())
    hinge, even = np.maximum(0, 1 - t), np.maximum(0, 1 - np.abs(t))
    rounded, surrogate = np.log(1 + np.exp(20 * (1 - t))) / 20, np.exp(-3 * t**2)
    formulas = [(hinge, hinge**2), (hinge, even, surrogate), (hinge, rounded, even, surrogate)]
    for panel, expected in zip(panels, formulas, strict=True):
        for drawn, values in zip(panel.values(), expected, strict=True):
            np.testing.assert_allclose(drawn["values"], values, atol=1e-12)
    for name in ("(d) G2C", "(e) G4C"):
        points = data["sets"][name]
        known = points["y"] != -1
        svm = SVC(kernel="linear", C=1.0, tol=1e-10).fit(points["X"][known], points["y"][known])
        np.testing.assert_allclose(points["lines"]["SVM"], [*svm.coef_[0], *svm.intercept_], atol=1e-5)
    assert data["data"]["two_moons"]["kind"] == "generated by make_two_moons"
    figure = script.draw(data)
    assert [len(ax.lines) for ax in figure.axes[:3]] == [2, 3, 4]
