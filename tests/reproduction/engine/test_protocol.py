"""Selection against brute force, folds, and the word "optimistic"."""

import warnings
from functools import reduce
from itertools import product
from operator import add

import numpy as np
import pytest

from reproduction.engine.protocol import (
    FixedSetting,
    LabeledFolds,
    UnlabeledPoints,
    ValidationSet,
    labeled_folds,
    select,
)

CRITERIA = ("error_validation", "error_unlabeled", "error_5fold_seed0")


def table(rng, n_settings=6, n_splits=4, fail=0.0):
    """Rows with many ties, in declared order: settings outside, splits inside."""
    rows = []
    for method, dataset, p, s in product("mn", ("d", "e"), range(n_settings), range(n_splits)):
        row = {"experiment": "x", "method": method, "dataset": dataset, "split": f"s{s}", "parameters": f'{{"p":{p}}}'}
        if rng.random() < fail:
            rows.append(row | {"status": "failed"})
        else:
            rows.append(row | {"status": "ok"} | {name: float(rng.integers(4)) for name in CRITERIA})
    return rows


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tuning", [ValidationSet(), UnlabeledPoints(), LabeledFolds(5)])
def test_selection_per_split_against_brute_force(tuning, seed):
    rows = table(np.random.default_rng(seed), fail=0.4)
    expected = []
    for method, dataset, s in product("mn", ("d", "e"), range(4)):
        best = None
        for row in rows:
            if (row["method"], row["dataset"], row["split"], row["status"]) != (method, dataset, f"s{s}", "ok"):
                continue
            if best is None or row[tuning.criterion] < best[tuning.criterion]:
                best = row
        if best is not None:
            expected.append(best)
    assert select(rows, tuning) == expected


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fail", [0.0, 0.1])
def test_selection_on_the_mean_against_brute_force(seed, fail):
    rows = table(np.random.default_rng(seed), fail=fail)
    expected = []
    for method, dataset in product("mn", ("d", "e")):
        group = [row for row in rows if (row["method"], row["dataset"]) == (method, dataset)]
        settings = list(dict.fromkeys(row["parameters"] for row in group))
        sums = []
        for p in settings:
            errors = [row.get("error_unlabeled", np.inf) for row in group if row["parameters"] == p]
            sums.append(sum(errors))
        if np.isfinite(min(sums)):
            best = settings[int(np.argmin(sums))]
            expected += [row for row in group if row["parameters"] == best]
    assert expected
    assert select(rows, UnlabeledPoints(per="dataset")) == expected


def test_a_split_on_which_everything_failed_is_left_out():
    rows = table(np.random.default_rng(0))
    rows = [
        {k: v for k, v in row.items() if k not in CRITERIA} | {"status": "failed"} if row["split"] == "s1" else row
        for row in rows
    ]
    for per in ("split", "dataset"):
        chosen = select(rows, UnlabeledPoints(per=per))
        assert {row["split"] for row in chosen} == {"s0", "s2", "s3"}
        assert len(chosen) == 12
    assert select([row for row in rows if row["split"] == "s1"], UnlabeledPoints(per="dataset")) == []


def test_equal_means_tie_whatever_the_order_of_the_splits():
    # 0.1 + 0.2 + 0.3 is larger than 0.3 + 0.2 + 0.1 in floating point; exact sums tie, and the first setting wins.
    errors = {"a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1]}
    rows = [
        {"experiment": "x", "method": "m", "dataset": "d", "split": str(s), "parameters": p, "status": "ok"}
        | {"error_unlabeled": errors[p][s]}
        for p in "ab"
        for s in range(3)
    ]
    # Term by term: `sum` compensates from Python 3.12 on.
    assert reduce(add, errors["a"]) > reduce(add, errors["b"])
    assert {row["parameters"] for row in select(rows, UnlabeledPoints(per="dataset"))} == {"a"}


def test_missing_criterion_is_an_error_with_the_remedy():
    rows = table(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"no criterion 'error_3fold_seed0'.*LabeledFolds"):
        select(rows, LabeledFolds(3))


def test_fixed_setting_takes_one_setting_only():
    rows = table(np.random.default_rng(0), n_settings=1)
    assert select(rows, FixedSetting()) == rows
    with pytest.raises(ValueError, match="found 2 settings"):
        select(table(np.random.default_rng(0), n_settings=2), FixedSetting())


def test_names_say_optimistic_where_it_applies():
    assert UnlabeledPoints.optimistic
    assert UnlabeledPoints().name == "unlabelled error, optimistic"
    assert UnlabeledPoints(per="dataset").name == "unlabelled error, mean over splits, optimistic"
    for tuning in (ValidationSet(), LabeledFolds(3, seed=2), FixedSetting()):
        assert not tuning.optimistic
        assert "optimistic" not in tuning.name
    assert LabeledFolds(3, seed=2).criterion == "error_3fold_seed2"


def test_folds_are_a_stratified_partition_of_the_labelled_samples(rng):
    y = rng.choice([-1, 1, 5], 200)
    labeled = rng.choice(200, 43, replace=False)
    folds = labeled_folds(y, labeled, LabeledFolds(5, seed=3))
    assert sorted(np.concatenate(folds)) == sorted(labeled)
    for k in (-1, 1, 5):
        counts = [np.sum(y[fold] == k) for fold in folds]
        assert max(counts) - min(counts) <= 1
    again = labeled_folds(y, labeled[::-1], LabeledFolds(5, seed=3))
    assert all(np.array_equal(a, b) for a, b in zip(folds, again, strict=True))
    others = labeled_folds(y, labeled, LabeledFolds(5, seed=4))
    assert any(not np.array_equal(a, b) for a, b in zip(folds, others, strict=True))


def test_folds_take_rare_classes_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folds = labeled_folds([0, 0, 0, 1, 2, 9], [0, 1, 2, 3, 4], LabeledFolds(5))
    assert sorted(np.concatenate(folds)) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="n_splits=6"):
        labeled_folds([0, 0, 0, 1, 2, 9], [0, 1, 2, 3, 4], LabeledFolds(6))
