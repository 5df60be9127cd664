"""The QN-S3VM paper's table 2 and figures: partitions, units, tuning on the labelled part, what is measured."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from specmargin.experiments import Cell, published, published_parameters
from specmargin.experiments.gallery import run_figures
from specmargin.experiments.tasks import labels_of
from specmargin.objectives.s3vm import S3VM
from specmargin.papers import _gieseke_fits as fits
from specmargin.papers import _gieseke_partitions as partitions
from specmargin.papers import gieseke_2014 as experiment
from specmargin.papers import run_table
from specmargin.papers._gieseke_partitions import Partition
from specmargin.papers._s3vm_methods import Setting, decide, fit

SMALL = Partition(16, 50, n=130)


def cell(method, kind="tuned", powers=(-6, 0), primes=(1.0,), how=SMALL, index=0):
    one = experiment.Block("t", "t", "digits_3_8", how, (method,), kind, powers, primes)
    return one.cells(None)[index]


def test_table_2_has_the_papers_rows():
    found = experiment.table2()
    assert len(found) == 53 == len(published("qn_s3vm", "2", method="svm"))
    sizes = {"g2c": 500, "g4c": 500, "real_sim": 72309, "gcat": 23149, "ccat": 23149, "aut_avn": 71175}
    sizes |= {"mac_windows": 1946, "usps_8_0": 2261, "usps_2_5": 1645, "usps_2_7": 1721, "usps_3_8": 1532}
    sizes |= {name: 1000 for name in partitions.SETS if name.startswith("mnist")}
    sizes |= {name: 144 for name in partitions.SETS if name.startswith("coil")}
    for one in found:
        assert one.how.n_unlabeled is not None
        assert one.how.n_labeled + one.how.n_unlabeled + one.how.n_test == sizes[one.dataset]
        mean, std = experiment._printed(one, "qn_s3vm")
        assert mean > 0 < std
    printed = published_parameters("qn_s3vm", "2").set_index(["method", "parameter"])["value"]
    assert printed["qn_s3vm", "lambda"] == "{2^-10, ..., 2^10}"
    assert (experiment.POWERS[0], experiment.POWERS[-1], len(experiment.POWERS)) == (-10, 10, 21)
    tried = {cell.method: tuple(cell.parameters["powers"]) for cell in found[0].cells(None)}
    assert tried["svm"] == tried["qn_s3vm"] == experiment.POWERS
    assert tried["cccp_s3vm"] == tried["da_s3vm"] == tried["multiswitch_tsvm"] == tuple(range(-10, 11, 2))
    assert printed["qn_s3vm", "lambda_prime"] == "{0.01, 1, 100}"
    assert experiment.PRIMES == (0.01, 1.0, 100.0)
    assert experiment._printed(replace(found[0], title="Figure 5a"), "svm")[0] != 13.2


def test_units_are_the_papers(rng):
    """Its objectives, written as printed, are ours but for the factor 2 lam (QN) or lam (SVMlin)."""
    X, y = rng.normal(size=(30, 4)), np.resize([0, 1], 30)
    labels = labels_of(y, np.arange(6))
    lam, prime, l, u, w = 2.0**-3, 100.0, 6, 24, rng.normal(size=4)
    setting = experiment.grid("qn_s3vm", (-3,), (prime,), l, u)[0]
    obj = S3VM(X, labels, "smooth_hinge", "exp", C=setting.C, C_star=setting.C_star, balance=0.0)
    f = obj.decisions_at(w)
    logistic = np.log1p(np.exp(20 * (1 - labels.sign * f[:6]))) / 20
    printed = logistic.mean() + prime * np.exp(-3 * f[6:] ** 2).mean() + lam * w @ w
    assert 2 * lam * obj.value_at(w) == pytest.approx(printed, rel=1e-12)
    setting = experiment.grid("da_s3vm", (-3,), (prime,), l, u)[0]
    svmlin = S3VM(X, labels, C=setting.C, C_star=setting.C_star, intercept="regularized")
    w = rng.normal(size=5)
    f = svmlin.decisions_at(w)
    hinge = np.maximum(0, 1 - labels.sign * f[:6]) ** 2
    printed = lam / 2 * w @ w + hinge.sum() / (2 * l) + prime * (np.maximum(0, 1 - np.abs(f[6:])) ** 2).sum() / (2 * u)
    assert lam * svmlin.value_at(w) == pytest.approx(printed, rel=1e-12)
    assert experiment.grid("multiswitch_tsvm", (-3,), (prime,), l, u) == [setting]
    assert len(experiment.grid("svm", experiment.POWERS, experiment.PRIMES, l, u)) == 21
    assert len(experiment.grid("cccp_s3vm", experiment.POWERS, experiment.PRIMES, l, u)) == 63


def test_partitions_are_disjoint_and_as_large_as_asked():
    found = partitions.partition("digits_3_8", Partition(20, 100, 60))
    assert len(found) == 10
    whole = partitions.partition("digits_3_8", Partition(20, 100))
    for name, split in found.items():
        assert (len(split.labeled), len(split.unlabeled), len(split.test)) == (20, 60, 100)
        assert set(split.unlabeled) < set(whole[name].unlabeled)
        assert set(split.labeled) == set(whole[name].labeled)
        assert np.bincount(partitions.samples("digits_3_8")[1][split.labeled]).tolist() == [10, 10]
    with pytest.raises(ValueError, match="are left of digits_3_8"):
        partitions.partition("digits_3_8", Partition(20, 100, 5000))


def test_problem_is_rotated_without_changing_it(tol):
    how = Partition(10, 50, n=100)
    name = next(iter(partitions.partition("g2c", how)))
    found = partitions.problem("g2c", name, how)
    split = partitions.partition("g2c", how)[name]
    X = partitions.samples("g2c", 100)[0]
    assert found.X.shape[1] == 50 < X.shape[1]
    np.testing.assert_allclose(found.X @ found.X.T, X[split.train] @ X[split.train].T, atol=1e-8)
    np.testing.assert_allclose(found.X_test @ found.X.T, X[split.test] @ X[split.train].T, atol=1e-8)
    plain = fit("qn_s3vm", X[split.train], labels_of(found.y, found.labeled), Setting(1.0, 0.1))
    turned = fit("qn_s3vm", found.X, labels_of(found.y, found.labeled), Setting(1.0, 0.1))
    np.testing.assert_allclose(X[split.test] @ plain.v + plain.b, found.X_test @ turned.v + turned.b, atol=0.01)


@pytest.mark.parametrize("landmarks", [None, 30])
def test_gaussian_width_is_a_multiple_of_the_box(landmarks, tol):
    how = Partition(10, 40, sigma=0.3, landmarks=landmarks, n=100)
    name = next(iter(partitions.partition("digits_3_8", how)))
    found = partitions.problem("digits_3_8", name, how)
    split = partitions.partition("digits_3_8", how)[name]
    X = partitions.samples("digits_3_8", 100)[0]
    s = np.sqrt(((X[split.train].max(axis=0) - X[split.train].min(axis=0)) ** 2).sum())
    squares = ((X[split.test][:, None] - X[split.train][None]) ** 2).sum(axis=2)
    K = np.exp(-squares / (2 * (0.3 * s) ** 2))
    if landmarks is None:
        np.testing.assert_allclose(found.X_test @ found.X.T, K, atol=1e-8)
    else:
        assert found.X.shape == (60, 30)
        exact = np.isclose(np.einsum("ij,ij->i", found.X, found.X), 1.0)
        assert exact.sum() == 30
        np.testing.assert_allclose((found.X_test @ found.X.T)[:, exact], K[:, exact], atol=1e-8)


def test_setting_comes_from_the_labelled_part_alone(monkeypatch):
    """Change every hidden label: the choice stays, the error is that of the others."""
    one = cell("qn_s3vm", powers=(-8, -4, 0), primes=(0.01, 1.0))
    honest = experiment.work(one)
    shared = partitions.problem("digits_3_8", one.split, SMALL)
    y = 1 - shared.y
    y[shared.labeled] = shared.y[shared.labeled]
    monkeypatch.setattr(fits, "problem", lambda *args: shared._replace(y=y, y_test=1 - shared.y_test))
    other = experiment.work(one)
    same = ("C", "C_star", "error_folds", "tied")
    assert [honest[k] for k in same] == [other[k] for k in same]
    assert honest["error_test"] + other["error_test"] == pytest.approx(100)


def test_choice_among_ties_is_made_by_every_rule(monkeypatch):
    one = cell("qn_s3vm", powers=(0, 1, 2, 3, 4))
    scores = iter([(3, 0.1), (1, 5.0), (1, 2.0), (1, 2.0), (2, 0.0)])
    monkeypatch.setattr(fits, "_fold_error", lambda *args: next(scores))
    found = experiment.work(one)
    shared = partitions.problem("digits_3_8", one.split, SMALL)
    settings = experiment.grid("qn_s3vm", (0, 1, 2, 3, 4), (1.0,), 16, 64)
    assert (found["C"], found["tied"]) == (settings[2].C, 3)
    assert found["error_folds"] == pytest.approx(100 / 16)
    chosen = {"least hinge loss": settings[2], "first": settings[1], "largest lam": settings[3]}
    assert list(chosen) == list(fits.RULES)
    assert found["error_test"] == found["error, least hinge loss"]
    for rule, setting in chosen.items():
        fitted = fit("qn_s3vm", shared.X, labels_of(shared.y, shared.labeled), setting)
        expected = 100 * np.mean(decide(shared.X_test @ fitted.v + fitted.b) != shared.y_test)
        assert found[f"error, {rule}"] == pytest.approx(expected)
        assert found[f"C, {rule}"] == setting.C


def test_samples_of_a_fold_may_leave_the_training_set():
    """The labels of a fold, changed, change nothing; nor do its features, but through its own decisions."""
    one = cell("qn_s3vm")
    shared = partitions.problem("digits_3_8", one.split, SMALL)
    setting = Setting(1.0, 0.1)
    found = fits._fold_error(shared, "qn_s3vm", setting, True)
    expected, hinge = 0, 0.0
    for left_out in fits.labeled_folds(shared.y, shared.labeled, fits.FOLDS):
        rest = np.setdiff1d(np.arange(len(shared.y)), left_out)
        y = np.full(len(shared.y), -1)
        y[shared.labeled] = shared.y[shared.labeled]
        known = np.flatnonzero(y[rest] >= 0)
        fitted = fit("qn_s3vm", shared.X[rest], labels_of(shared.y[rest], known), setting)
        f = (shared.X[left_out] @ fitted.v + fitted.b)[:, 0]
        expected += ((f > 0) != (shared.y[left_out] == 1)).sum()
        hinge += np.maximum(0, 1 - (2 * shared.y[left_out] - 1) * f).sum()
    assert found == (expected, pytest.approx(hinge))
    stays = fits._fold_error(shared, "qn_s3vm", setting)
    assert stays[1] != found[1]
    # Without unlabelled losses the samples left out weigh nothing either way.
    svm = [fits._fold_error(shared, "svm", Setting(1.0, 0.0), how) for how in (False, True)]
    assert svm[0] == (svm[1][0], pytest.approx(svm[1][1], rel=1e-6))


def test_the_rows_that_hang_on_the_choice_are_computed_every_way():
    found = experiment.blocks()
    hung = {(one.dataset, one.how.n_labeled) for one in found if one.left_out == "entirely"}
    assert hung == set(experiment.BY_RULE)
    samples = [one for one in found if one.how.sample]
    assert {one.how.sample for one in samples} == set(range(1, experiment.N_SAMPLES))
    assert {one.dataset for one in samples} == {"g2c", "g4c"}
    assert all(experiment._printed(one, "qn_s3vm")[0] > 0 for one in samples)
    keys = [one.cells(None)[0].key for one in found if (one.dataset, one.how.n_labeled) == ("g2c", 25)]
    assert len(set(keys)) == len(keys) == 1 + 1 + experiment.N_SAMPLES - 1
    first, other = (partitions.samples("g2c", None, None, k)[0] for k in (0, 1))
    assert not np.allclose(first, other)
    with pytest.raises(ValueError, match="sample=1, but digits_3_8 is not generated"):
        partitions.samples("digits_3_8", None, None, 1)


def test_one_partition_that_decides_is_named():
    assert experiment._one_split([5.0, 6.0, 7.0]) == ""
    assert experiment._one_split([5.0, 60.0]) == ""
    assert "one partition decides: 51.7; median 5.50" in experiment._one_split([5.0, 6.0, 51.7, 4.0])


def test_fold_error_is_that_of_the_samples_left_out():
    one = cell("svm")
    shared = partitions.problem("digits_3_8", one.split, SMALL)
    errors, loss = fits._fold_error(shared, "svm", Setting(1.0, 0.0))
    expected, hinge = 0, 0.0
    for left_out in fits.labeled_folds(shared.y, shared.labeled, fits.FOLDS):
        known = np.setdiff1d(shared.labeled, left_out)
        f = fit("svm", shared.X, labels_of(shared.y, known), Setting(1.0, 0.0)).f[:, 0]
        expected += ((f[left_out] > 0) != (shared.y[left_out] == 1)).sum()
        hinge += np.maximum(0, 1 - (2 * shared.y[left_out] - 1) * f[left_out]).sum()
    assert (errors, loss) == (expected, pytest.approx(hinge))
    # One label of a class: the fold without it can learn nothing.
    ones, zeros = (shared.labeled[shared.y[shared.labeled] == k] for k in (1, 0))
    alone = shared._replace(labeled=np.sort(np.append(zeros[:5], ones[0])))
    assert fits._fold_error(alone, "svm", Setting(1.0, 0.0))[0] >= 1


def test_optimistic_and_timed_cells():
    how = Partition(10, 40, sigma=0.3, n=100)
    one = cell("svm", "optimistic", powers=(-8, 0, 4), how=how)
    found = experiment.work(one)
    shared = partitions.problem("digits_3_8", one.split, how)
    errors = []
    for setting in experiment.grid("svm", (-8, 0, 4), (1.0,), 10, 50):
        fitted = fit("svm", shared.X, labels_of(shared.y, shared.labeled), setting)
        errors.append(100 * np.mean(decide(shared.X_test @ fitted.v + fitted.b) != shared.y_test))
    assert found["error_test"] == pytest.approx(min(errors))
    settings = experiment.grid("svm", (-8, 0, 4), (1.0,), 10, 50)
    again = experiment.optimistic(shared, "svm", settings)
    assert (again["error_test"], again["C"]) == (found["error_test"], settings[int(np.argmin(errors))].C)
    timed = experiment.work(cell("qn_s3vm", "timed", how=Partition(10, 0, n=100)))
    assert timed["fit_seconds"] > 0
    assert timed["C"] == pytest.approx(1 / 20)
    fourth = [e for e in experiment.blocks() if e.kind == "optimistic"]
    assert fourth
    assert all("OPTIMISTIC" in e.title and "optimistic" in e.said for e in fourth)


@pytest.mark.parametrize("name", ["usps_3_5", "iris"])
def test_unknown_set(name):
    with pytest.raises(ValueError, match=f"there is no set '{name}'"):
        partitions.samples(name)


def test_landmarks_need_a_kernel():
    how = Partition(10, 0, landmarks=3, n=60)
    name = next(iter(partitions.partition("g2c", how)))
    with pytest.raises(ValueError, match="landmarks need a kernel"):
        partitions.problem("g2c", name, how)


@pytest.mark.data
def test_more_samples_than_there_are(data_folder):
    if data_folder is None:
        with pytest.raises(ValueError, match="n=1000, but"):
            partitions.samples("digits_3_8", 1000)
        return
    with pytest.raises(ValueError, match="n=99999, but usps_2_5 has 1645 samples"):
        partitions.samples("usps_2_5", 99999, data_folder)


def test_sets_of_files_are_missing_or_found(nowhere):
    names = ["g2c", "digits_3_8", "usps_2_5", "real_sim", "mac_windows"]
    assert partitions.available_sets(names, nowhere) == (["g2c", "digits_3_8"], ["usps_2_5", "real_sim", "mac_windows"])
    (nowhere / "real-sim.bz2").write_bytes(b"")
    assert "real_sim" in partitions.available_sets(names, nowhere)[0]
    assert partitions.checksum("g4c", nowhere) is None


def test_quick_table(nowhere, tmp_path, monkeypatch):
    few = [replace(e, n_splits=1) for e in experiment.bundled()[::2]]
    monkeypatch.setattr(experiment, "bundled", lambda: few)
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
    """One partition of MNIST 1 against 7, or of digits: the linear machine errs rarely."""
    name, how = ("mnist_1_7", Partition(50, 500, 450)) if data_folder else ("digits_3_8", Partition(50, 150))
    split = next(iter(partitions.partition(name, how, data_folder)))
    parameters = {"how": asdict(how), "kind": "tuned", "powers": [-6], "primes": [0.01]}
    found = experiment.work(Cell("t", "qn_s3vm", name, split, parameters), data=data_folder)
    assert found["error_test"] < 10
    shared = partitions.problem(name, split, how, data_folder)
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
    split = next(iter(partitions.partition("digits_3_8", how)))
    shared = partitions.problem("digits_3_8", split, how)
    assert shared.X.shape[0] == how.n == len(shared.y)
    assert shared.X_test.shape == (0, shared.X.shape[1])
    assert len(shared.y_test) == 0


@pytest.mark.slow
def test_figure_of_moons_shares_and_seconds(nowhere, tmp_path):
    (result,) = run_figures(["qn_s3vm"], quick=True, out=tmp_path, progress=False, formats=("svg",))
    assert not result.warnings
    told = json.loads(result.sidecar.read_text())
    moons = told["results"]["figure 4, TUNED ON THE TEST SET, error on unseen points, percent"]
    assert moons["QN-S3VM"]["mean"] <= moons["SVM"]["mean"]
    assert told["certificates"]["worst relative gap of an SVM"] < 1e-6
    seconds = told["results"]["figures 6 and 7, seconds on this machine"]
    assert all(name.split(", ")[1] in ("g2c", "digits_3_8") for name in seconds)
    assert min(value for each in seconds.values() for value in each["QN-S3VM"]) > 0
    assert told["data"]["two_moons"]["kind"] == "generated by make_two_moons"
