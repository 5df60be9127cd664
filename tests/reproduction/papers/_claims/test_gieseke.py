"""What the QN-S3VM paper concludes, put to rows whose verdicts are known."""

import pytest
from claim_rows import SPLITS, line_on, rows_of

from reproduction.papers import gieseke_2014 as experiment
from reproduction.papers._claims.gieseke import sentences
from reproduction.papers._protocols.gieseke_fits import Partition

AS_CONCLUDED = {
    "svm": (20.0, 1.0),
    "cccp_s3vm": (6.0, 1.1),
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
        ("Figure 6, run time", {"dataset": "mac_windows", "n": 400, "cccp_s3vm": (6.0, 15.0)}),
        ("Figure 7, run time", {"n": 100, "qn_s3vm": (5.0, 0.01)}),
        ("Figure 7, run time", {"n": 10000}),
    ]
    return [setting(title, **(own | changes)) for title, own in parts]


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("at least competitive", {"qn_s3vm": (22.0, 1.0)}, "differs"),
        ("best semi-supervised method", {"da_s3vm": (4.0, 1.4)}, "differs"),
        ("are alike (section 4.2.3", {"da_s3vm": (6.7, 1.4)}, "differs"),
        ("significantly better than the SVM", {"da_s3vm": (21.0, 1.4)}, "differs"),
        ("on two moons", {"cccp_s3vm": (11.0, 1.5)}, "differs"),
        ("from 20 % of labels", {"qn_s3vm": (21.0, 1.0)}, "differs"),
        ("alike on the dense", {"cccp_s3vm": (6.0, 6.1)}, "differs"),
        ("much slower on sparse", {"cccp_s3vm": (6.0, 2.1)}, "differs"),
    ],
)
def test_a_conclusion_comes_out_each_way(text, changes, expected):
    assert line_on(text, sentences(settings())).startswith("agrees: ")
    assert line_on(text, sentences(settings(**changes))).startswith(f"{expected}: ")


@pytest.mark.parametrize(("seconds", "expected"), [(1.0, "inconclusive"), (2.9, "differs"), (0.1, "differs")])
def test_no_session_tells_slightly_faster_but_fourteen_times_is_not_slightly(seconds, expected):
    line = line_on("slightly faster than DA", sentences(settings(qn_s3vm=(5.0, seconds))))
    assert line.startswith(f"{expected}: ")


def test_numbers_of_the_sentences():
    judged = sentences(settings())
    assert judged[0].endswith(":")
    assert "Errors svm 20.01, cccp_s3vm 6.01, qn_s3vm 5.01 %" in line_on("on two moons", judged)  # at its better width
    assert "20 % gain 15.00; 3 draws" in line_on("from 20 %", judged)
    assert "10: 12.01, 90: 5.01" in line_on("enough unlabelled", judged)
    assert "mac_windows n=400 ratio 12.50 [6.25, 25.00]" in line_on("much slower", judged)  # 15 over 1.2
    line = line_on("handled efficiently", judged)  # log 2 over log 100 either way
    assert "usps_2_7 slope 1.00 [0.85, 1.15]; 3 draws, and a factor of 2" in line
    assert ". At n = 10000 it takes 1.0 s" in line


@pytest.mark.parametrize(("power", "expected"), [(1.0, "agrees"), (1.5, "differs")])
def test_seconds_over_samples(power, expected):
    timed = [setting("Figure 7", n=n, qn_s3vm=(5.0, 1e-4 * n**power)) for n in (100, 10000)]
    line = line_on("handled efficiently", sentences(timed))
    assert line.startswith(f"{expected}: ")
    assert f"slope {power:.2f}" in line


def test_seconds_are_judged_by_their_repeats():
    """A ratio whose repeats lie on both sides of the limit is inconclusive, and a single fit says nothing."""
    block, rows = setting("Figure 6, run time", "mac_windows", n=400, cccp_s3vm=(6.0, 12.4))
    factors = dict(zip(SPLITS, (0.8, 1.0, 1.2), strict=True))
    noisy = [
        row | {"fit_seconds": row["fit_seconds"] * factors[row["split"]]} if row["method"] == "cccp_s3vm" else row
        for row in rows
    ]
    text = "much slower on sparse"
    assert line_on(text, sentences([(block, rows)])).startswith("agrees: ")
    assert line_on(text, sentences([(block, noisy)])).startswith("inconclusive: ")
    single = [row for row in rows if row["split"] == SPLITS[0]]
    assert "Single fits have no interval" in line_on(text, sentences([(block, single)]))


@pytest.mark.parametrize(("few", "expected"), [(12.0, "agrees"), (4.0, "differs")])
def test_errors_fall_with_more_unlabelled_samples(few, expected):
    both = [setting("Figure 5b", "g4c", n_unlabeled=u, qn_s3vm=(e, 1.0)) for u, e in ((10, few), (90, 5.0))]
    assert line_on("enough unlabelled", sentences(both)).startswith(f"{expected}: ")


def scattered(block, rows, method, errors):
    """Return the setting with these errors of a method on the splits."""
    own = dict(zip(SPLITS, errors, strict=True))
    return block, [{**row, "error_test": own[row["split"]]} if row["method"] == method else row for row in rows]


@pytest.mark.parametrize(("errors", "expected"), [((8.0, 9.0, 9.1), "agrees"), ((1.0, 8.0, 18.0), "inconclusive")])
def test_half_of_the_svms_error_must_be_clear_of_chance(errors, expected):
    block, rows = setting("Figure 4, two moons", "two_moons")
    rows = [row for row in rows if row["method"] in ("svm", "qn_s3vm")]
    line = line_on("on two moons", sentences([scattered(block, rows, "qn_s3vm", errors)]))
    assert line.startswith(f"{expected}: ")


def test_missing_sets_and_failures_say_nothing():
    assert sentences([]) == []
    failed = [(block, [{**row, "status": "failed"} for row in rows]) for block, rows in settings()]
    assert sentences(failed) == []
    dense = [each for each in settings() if each[0].dataset != "mac_windows"]
    assert not any("sparse" in line for line in sentences(dense))
