"""What the QN-S3VM paper concludes, put to rows whose verdicts are known."""

from __future__ import annotations

import pytest
from claim_rows import SPLITS, line_on, rows_of
from scipy.stats import ttest_rel

from reproduction.papers import gieseke_2014 as experiment
from reproduction.papers._claims.gieseke import sentences
from reproduction.papers._protocols.gieseke_fits import Partition

AS_CONCLUDED = {
    "svm": (20.0, 1.0),
    "cccp_s3vm": (6.0, 1.5),
    "multiswitch_tsvm": (5.5, 1.2),
    "da_s3vm": (5.4, 1.4),
    "qn_s3vm": (5.0, 1.0),
}
"""Error and seconds of each method."""


def setting(title, dataset="usps_2_7", n_labeled=20, n_unlabeled=80, n=None, **changes):
    how = Partition(n_labeled, 100, n_unlabeled, n=n)
    block = experiment.PartitionBlock(title, dataset, (dataset,), tuple(AS_CONCLUDED), how=how)
    return block, rows_of(dataset, AS_CONCLUDED | changes, error_test=0.01, fit_seconds=0.0)


def settings(**changes):
    """Return the settings of all conclusions; `changes` are those of every one."""
    parts = [
        ("Table 2", {}),
        ("Table 2", {"dataset": "g4c"}),
        ("Table 2", {"dataset": "mac_windows"}),
        ("Figure 4, two moons", {"dataset": "two_moons"}),
        ("Figure 4, two moons", {"dataset": "two_moons", "qn_s3vm": (40.0, 1.0), "svm": (30.0, 1.0)}),
        ("Figure 5a", {"dataset": "g4c", "n_labeled": 10, "n_unlabeled": 90, "qn_s3vm": (30.0, 1.0)}),
        ("Figure 5a", {"dataset": "g4c"}),
        ("Figure 5b", {"dataset": "g4c", "n_unlabeled": 10, "qn_s3vm": (12.0, 1.0)}),
        ("Figure 5b", {"dataset": "g4c", "n_unlabeled": 90}),
        ("Figure 6, run time", {"n": 400}),
        ("Figure 6, run time", {"dataset": "mac_windows", "n": 400, "cccp_s3vm": (6.0, 9.0)}),
        ("Figure 7, run time", {"n": 1000, "qn_s3vm": (5.0, 0.1)}),
        ("Figure 7, run time", {"n": 10000}),
    ]
    return [setting(title, **(own | changes)) for title, own in parts]


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("at least competitive", {"qn_s3vm": (21.0, 1.0)}, "partly reproduced"),
        ("at least competitive", {"svm": (1.0, 1.0)}, "not reproduced"),
        ("best semi-supervised method", {"da_s3vm": (4.0, 1.4)}, "not reproduced"),
        ("are alike (section 4.2.3", {"da_s3vm": (6.2, 1.4)}, "not reproduced"),
        ("significantly better than the SVM", {"da_s3vm": (21.0, 1.4)}, "partly reproduced"),
        ("on two moons", {"cccp_s3vm": (11.0, 1.5)}, "partly reproduced"),
        ("from 20 % of labels", {"qn_s3vm": (21.0, 1.0)}, "not reproduced"),
        ("enough unlabelled", {"qn_s3vm": (5.0, 1.0)}, "not reproduced"),
        ("alike on the dense", {"cccp_s3vm": (6.0, 3.1)}, "not reproduced"),
        ("much slower on sparse", {"cccp_s3vm": (6.0, 3.1)}, "not reproduced"),
        ("slightly faster than DA", {"qn_s3vm": (5.0, 1.5)}, "partly reproduced"),
        ("handled efficiently", {"n_unlabeled": 5}, "reproduced"),
    ],
)
def test_a_conclusion_comes_out_each_way(text, changes, expected):
    assert line_on(text, sentences(settings())).startswith("reproduced: ")
    assert line_on(text, sentences(settings(**changes))).startswith(f"{expected}: ")


def test_numbers_of_the_sentences():
    judged = sentences(settings())
    assert judged[0].endswith(":")
    assert "qn_s3vm: lower mean error in 3 of 3 rows (3 significant)" in line_on("at least competitive", judged)
    assert "qn_s3vm 5.01 (deviation 0.01)" in line_on("on two moons", judged)  # at its better width
    line = line_on("from 20 %", judged)
    assert "at 1 of 1 shares" in line
    assert "10 %: 30.01 and 20.01, 20 %: 5.01 and 20.01" in line
    assert "10: 12.01 (0.01), 90: 5.01 (0.01)" in line_on("enough unlabelled", judged)
    assert "mac_windows n=400 7.5" in line_on("much slower", judged)  # 9 over 1.2
    assert "usps_2_7: slope 1.00, 1.0 s for 10000" in line_on("handled efficiently", judged)


def test_seconds_that_grow_faster_than_n():
    slow = [setting("Figure 7", n=n, qn_s3vm=(5.0, seconds)) for n, seconds in ((1000, 0.01), (10000, 1.0))]
    assert line_on("handled efficiently", sentences(slow)).startswith("not reproduced")


def test_seconds_as_n_to_the_power_one_and_a_half_are_not_handled_efficiently():
    slow = [setting("Figure 7", n=n, qn_s3vm=(5.0, seconds)) for n, seconds in ((100, 0.1), (10000, 100.0))]
    line = line_on("handled efficiently", sentences(slow))
    assert line.startswith("not reproduced")
    assert "slope 1.50" in line


def scattered(block, rows, method, errors):
    """Return the setting with these errors of a method on the splits."""
    own = dict(zip(SPLITS, errors, strict=True))
    return block, [{**row, "error_test": own[row["split"]]} if row["method"] == method else row for row in rows]


@pytest.mark.parametrize(
    ("errors", "expected"), [((8.0, 9.0, 10.0), "reproduced"), ((1.0, 8.0, 18.0), "not reproduced")]
)
def test_half_of_the_svms_error_must_be_significant(errors, expected):
    """Nine in the mean both times, of the SVM's 20; by the paired t-test p is 0.003 and 0.15."""
    block, rows = setting("Figure 4, two moons", "two_moons")
    rows = [row for row in rows if row["method"] in ("svm", "qn_s3vm")]
    assert (ttest_rel(errors, [20.0, 20.01, 20.02]).pvalue < 0.05) == (expected == "reproduced")
    line = line_on("on two moons", sentences([scattered(block, rows, "qn_s3vm", errors)]))
    assert line.startswith(f"{expected}: ")
    assert "qn_s3vm 9.00" in line


@pytest.mark.parametrize(
    ("errors", "expected"), [((11.0, 12.0, 13.0), "reproduced"), ((3.0, 8.0, 25.0), "not reproduced")]
)
def test_fewer_errors_with_more_unlabelled_samples_must_be_significant(errors, expected):
    """Twelve in the mean both times, and 5 with many."""
    few = scattered(*setting("Figure 5b", "g4c", n_unlabeled=10), "qn_s3vm", errors)
    assert (ttest_rel(errors, [5.0, 5.01, 5.02]).pvalue < 0.05) == (expected == "reproduced")
    line = line_on("enough unlabelled", sentences([few, setting("Figure 5b", "g4c", n_unlabeled=90)]))
    assert line.startswith(f"{expected}: ")
    assert "10: 12.00" in line


def test_missing_sets_and_failures_say_nothing():
    assert sentences([]) == []
    failed = [(block, [{**row, "status": "failed"} for row in rows]) for block, rows in settings()]
    assert sentences(failed) == []
    dense = [each for each in settings() if each[0].dataset != "mac_windows"]
    assert not any("sparse" in line for line in sentences(dense))
