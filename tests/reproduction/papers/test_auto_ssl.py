"""The table of AutoSSL: its halves, its draws, a cell, and what the report says of rows made by hand."""

from pathlib import Path

import numpy as np
import pytest

from reproduction.engine.records import Cell
from reproduction.papers import tables
from reproduction.papers._protocols.auto_ssl_sets import (
    CHOOSING,
    CONFIRMING,
    FLOORS,
    PUBLISHED,
    SETS,
    SEVERAL,
    TEST_TUNED,
    UNSEEN,
)
from reproduction.papers.auto_ssl import AUTO_SSL, VARIANTS, draw_labels, tuned_svm, work
from reproduction.run import Options
from reproduction.tasks import samples, splits
from specmargin.exceptions import InvalidInputError

GENERATED = ("one Gaussian", "weak directions", "clusters against labels", "four clusters", "two_moons")


def test_the_halves_are_fixed_and_share_nothing():
    assert set(CHOOSING) | set(CONFIRMING) == set(SETS)
    assert not set(CHOOSING) & set(CONFIRMING)
    assert abs(len(CHOOSING) - len(CONFIRMING)) <= 1
    assert set(FLOORS) == set(SETS) - SEVERAL
    assert tables()["auto_ssl"] is AUTO_SSL


@pytest.mark.parametrize("name", GENERATED)
def test_generated_sets_are_always_the_same(name):
    X, y, *_ = samples(SETS[name], None)
    assert X.shape[0] == len(y) <= 1000
    assert set(np.unique(y).tolist()) == {0, 1}
    assert 0.4 < y.mean() < 0.6
    samples.cache_clear()
    np.testing.assert_array_equal(samples(SETS[name], None).X, X)


@pytest.mark.parametrize("name", ["checkerboard", "rings", "quadratic form", "other covariances"])
def test_unseen_shapes_are_always_the_same_and_their_classes_can_be_told(name):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score

    assert not set(UNSEEN) & (set(SETS) | set(PUBLISHED))
    X, y, *_ = samples(UNSEEN[name], None)
    samples.cache_clear()
    np.testing.assert_array_equal(samples(UNSEEN[name], None).X, X)
    assert 0.4 < y.mean() < 0.6
    assert cross_val_score(RandomForestClassifier(random_state=0), X, y, cv=3).mean() > 0.65


@pytest.mark.data
@pytest.mark.parametrize("name", ["baseball-hockey 1:4", "mnist 3-8 1:4"])
def test_thinned_sets_have_a_fifth_of_one_class(name, real_data):
    y = samples(SETS[name], real_data).y
    assert len(y) == 1000
    assert np.mean(y == 0) == pytest.approx(0.2, abs=0.01)


def test_every_class_is_drawn_and_every_draw_has_its_seed():
    y = np.repeat([0, 1, 2], [50, 45, 5])
    draws = [draw_labels(y, 6, seed) for seed in range(20)]
    assert all(len(np.unique(y[rows])) == 3 and len(rows) == 6 for rows in draws)
    assert len({tuple(rows) for rows in draws}) == 20
    np.testing.assert_array_equal(draw_labels(y, 6, 3), draws[3])
    with pytest.raises(InvalidInputError, match="take more"):
        draw_labels(y, 2, 0)


def test_the_tuned_svm_reads_labels_alone():
    X, y, *_ = samples(SETS["breast_cancer"], None)
    labeled = draw_labels(y, 30, 0)
    predicted = tuned_svm(X, y, labeled)
    assert np.mean(predicted != y) < 0.12
    hidden = np.where(np.isin(np.arange(len(y)), labeled), y, 0)
    np.testing.assert_array_equal(tuned_svm(X, hidden, labeled), predicted)


def test_a_cell_holds_the_errors_of_all_methods():
    cell = Cell("auto_ssl", "all", "breast_cancer", "draw1", {"labels": 12, "n": 120, "constants": "usual"})
    row = work(cell)
    names = ("tuned", "baseline", "auto", "graph", "pca", "lap", "sup", "svm")
    assert all(0 <= row[f"error_{name}"] < 50 for name in names)
    assert "error_known" not in row  # for sets with published splits
    assert row["told_low"] <= row["told"] <= row["told_high"]
    assert row == {**work(cell), "bank_seconds": row["bank_seconds"], "fit_seconds": row["fit_seconds"]}


def made_row(name, draw, auto, tuned, baseline):
    families = {f"error_{family}": auto + k for k, family in enumerate(("graph", "pca", "lap", "sup", "svm"))}
    told = {"told": auto, "told_low": auto - 1, "told_high": auto + 1, "p_better": 0.01 if draw else 0.5}
    errors = {"error_auto": auto, "error_tuned": tuned, "error_baseline": baseline}
    return {"status": "ok", "dataset": name, "split": f"draw{draw}", "param_labels": 10, **errors, **families, **told}


@pytest.mark.filterwarnings("error")  # means of nothing
def test_the_report_counts_where_it_is_worse():
    plan, _, _ = AUTO_SSL.setup(Options(Path(), choices={"sets": "two_moons,one Gaussian", "draws": "3"}))
    rows = [made_row("two_moons", k, 10.0 + k, 20.0 + k, 15.0) for k in range(3)]
    rows += [made_row("one Gaussian", k, 30.0 + k, 20.0 + 0.8 * k, 30.0 + k) for k in range(3)]
    findings = AUTO_SSL.report(rows, plan, Options(Path()))
    lines = findings.sections[0].lines
    (auto,) = [line for line in lines if line.dataset == "two_moons, l = 10" and line.method == "auto"]
    assert (auto.mean, auto.n_splits, auto.published_mean) == (11.0, 3, FLOORS["two_moons"][10][1])
    assert {line.method for line in lines if "best" in line.method} == {"graph (best)"}
    text = " ".join(findings.remarks)
    assert "P(error > tuned SVM + 1) 0.50, P(error > baseline + 1) 0.00" in text
    assert "than the SVM on one Gaussian, than the baseline on none" in text
    assert "mean error tuned 20.9, baseline 23.0, auto 21.0" in text
    # These rows have no S3VM, like those of several classes.
    assert "one family for all sets 21.0 (graph); above the best family with hindsight by 0.0" in text
    assert "told in 0.67 of fits and true in 0.50 of these" in text


@pytest.mark.data
def test_whole_sets_have_the_splits_that_are_published(real_data):
    assert set(TEST_TUNED) == set(PUBLISHED)
    plan = AUTO_SSL.setup(Options(Path(), data=real_data, choices={"half": "published"})).plan
    cells = plan.cells(real_data)
    numbers = {cell.dataset: cell.parameters["labels"] for cell in cells}
    assert numbers == {"g50c whole": 50, "mac_windows whole": 50, "uspst whole": 50, "coil20 whole": 40}
    y = samples(PUBLISHED["coil20 whole"], real_data).y
    for split in splits(PUBLISHED["coil20 whole"], real_data).values():
        np.testing.assert_array_equal(np.bincount(y[split.labeled]), np.full(20, 2))
    row = work(next(cell for cell in cells if cell.dataset == "g50c whole"), data=real_data)
    assert row["error_auto"] < 12
    made = {"status": "ok", "dataset": "g50c whole", "param_labels": 50, "split": "published-00", **row}
    lines = AUTO_SSL.report([made], plan, Options(Path())).sections[0].lines
    (auto,) = [line for line in lines if line.method == "auto"]
    assert (auto.published_mean, auto.source) == (3.92, "test-tuned")
    (known,) = [line for line in lines if line.method == "auto, exact class shares"]
    assert (known.mean, known.tuning, known.published_mean) == (row["error_known"], "labels, class shares", 3.92)
    assert row["error_known"] < 12


def test_axes_of_the_table():
    everything = AUTO_SSL.setup(Options(Path(), choices={"sets": "wine,two_moons", "labels": "5", "draws": "2"})).plan
    assert [cell.parameters["labels"] for cell in everything.cells(None)] == [2, 2, 5, 5, 10, 10, 5, 5]
    for choices in ({"half": "third"}, {"constants": "unknown"}, {"sets": "moons"}):
        with pytest.raises(InvalidInputError, match="take"):
            AUTO_SSL.setup(Options(Path(), choices=choices))
    assert "usual" in VARIANTS
