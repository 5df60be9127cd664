"""What the continuation paper concludes, put to rows whose verdicts are known."""

from __future__ import annotations

import pytest
from claim_rows import line_on, rows_of

from reproduction.papers import chapelle_2006 as experiment
from reproduction.papers._claims.chapelle import sentences

TASKS = ("uspst 0-1", "uspst 0-2")
AS_CONCLUDED = {
    "svm": (20.0, 0.0),
    "cs3vm": (5.0, 50.0),
    "grad_hinge": (8.0, 60.0),
    "svmlight_s3vm": (10.0, 70.0),
    "grad_long": (8.5, 60.0),
}
"""Error, and the common objective, of each method."""


def block(title, source="uspst", tuning="fixed", tasks=TASKS, **options):
    return experiment.ContinuationBlock(title, f"{source}_pairs", tasks, tuple(AS_CONCLUDED), tuning, **options)


def rows(tasks=TASKS, seconds=1.0, **changes):
    """Return a row for each method, task and split."""
    return [
        {**row, "fit_seconds": seconds}
        for task in tasks
        for row in rows_of(task, AS_CONCLUDED | changes, error_unlabeled=0.01, objective=0.001)
    ]


def settings(**changes):
    """Return the settings of all conclusions; `changes` are those of every one."""
    sets = {"uspst": 8.0, "coil20": 1000.0, "mac_windows": None}
    tables = [
        (block("Table 1", source, sigma=s, table="1", tasks=(f"{source} 0-1",)), {}) for source, s in sets.items()
    ]
    more = [
        (block("Figure 5", tuning="sigma = 4", sigma=4.0), {}),
        (block("Table 2", tuning="C = C* = 10", table="2"), {}),
        (block("Table 3", tuning="C* = 10", table="3"), {}),
        (block("Figure 6", tuning="gamma_I = 1", graph=100.0), {"svm": (5.2, 0.0), "cs3vm": (4.0, 0.0)}),
        (block("Figure 6", tuning="gamma_I = 10", graph=1000.0), {"svm": (9.0, 0.0), "cs3vm": (9.0, 0.0)}),
        (block("Figure 7", "mnist", landmarks=100), {"seconds": 0.01, "cs3vm": (5.9, 0.0)}),
        (block("Figure 7", "mnist", landmarks=50), {"seconds": 0.001, "cs3vm": (7.9, 0.0)}),
        (block("Figure 7", "mnist", landmarks=5000), {"seconds": 1.5}),
        (block("Table 4", table="4"), {"cs3vm": (25.0, 0.0), "grad_hinge": (19.5, 0), "svmlight_s3vm": (21.0, 0)}),
    ]
    return [(each, rows(each.tasks, **(own | changes))) for each, own in (*tables, *more)]


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("all err less than the SVM", {"grad_hinge": (21.0, 60.0)}, "partly reproduced"),
        ("least error on COIL-20", {"cs3vm": (9.0, 50.0)}, "partly reproduced"),
        ("better minima than both", {"grad_hinge": (8.0, 40.0)}, "partly reproduced"),
        ("better minima than both", {"cs3vm": (5.0, 90.0)}, "not reproduced"),
        ("minima err less", {"cs3vm": (11.0, 50.0)}, "not reproduced"),
        ("a long annealing", {"grad_long": (7.0, 60.0)}, "not reproduced"),
        ("over the widths", {"svm": (1.0, 0.0)}, "partly reproduced"),
        ("with other C = C*", {"cs3vm": (15.0, 0.0)}, "not reproduced"),
        ("with another C*", {"cs3vm": (15.0, 0.0)}, "not reproduced"),
        ("as good on USPS as LapSVM", {"svm": (4.0, 0.0)}, "not reproduced"),
        ("the hybrid is better", {"cs3vm": (5.0, 0.0)}, "not reproduced"),
        ("few kernel functions", {"seconds": 1.0}, "not reproduced"),
        ("few kernel functions", {"cs3vm": (5.0, 0.0)}, "reproduced"),
        ("several clusters", {"svm": (30.0, 0.0)}, "not reproduced"),
        ("hardly gain", {"svm": (22.0, 0.0)}, "partly reproduced"),
    ],
)
def test_a_conclusion_comes_out_each_way(text, changes, expected):
    assert line_on(text, sentences(settings())).startswith("reproduced: ")
    assert line_on(text, sentences(settings(**changes))).startswith(f"{expected}: ")


def test_numbers_of_the_sentences():
    judged = sentences(settings())
    assert judged[0].endswith(":")
    line = line_on("all err less", judged)
    assert "In 9 of 9 (sets and settings, rivals). uspst_pairs: cs3vm 5.01, svm 20.01 %, lower mean error in 1" in line
    assert "grad_hinge: lower in 3, higher in 0 of 3 runs" in line_on("better minima than both", judged)
    assert "cs3vm and svmlight_s3vm: 3 of 3; grad_hinge and svmlight_s3vm: 3 of 3" in line_on("minima err less", judged)
    line = line_on("as good on USPS", judged)
    assert "Continuation 5.01, LapSVM 5.21 (gamma_I = 1), hybrid 4.01 % (gamma_I = 1)" in line
    line = line_on("few kernel functions", judged)  # p = 50 is faster still, and errs too much
    assert "Up to 150 times within 1 point of p = 5000" in line
    assert "p = 50: 7.91 %, 1500 times, p = 100: 5.91 %, 150 times, p = 5000: 5.01 %, 1 times" in line


def test_ends_of_equal_errors_say_nothing_of_which_minima_err_less():
    """With the errors of continuation those of gradient descent agree with it and disagree with nobody."""
    judged = sentences(settings(grad_hinge=(5.0, 60.0)))
    line = line_on("minima err less", judged)
    assert "cs3vm and grad_hinge" not in line
    assert line.startswith("reproduced: ")
    assert "In 6 of 6 runs" in line


def test_equal_ends_and_failures_say_nothing():
    same = {name: (error, 50.0) for name, (error, _) in AS_CONCLUDED.items()}
    assert not any("minima" in line for line in sentences(settings(**same)))
    assert sentences([(each, [{**row, "status": "failed"} for row in of]) for each, of in settings()]) == []
    assert sentences([]) == []
