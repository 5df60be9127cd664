"""What the continuation paper concludes, put to rows whose verdicts are known."""

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
        (block("Figure 7", "mnist", landmarks=5000), {"seconds": 2.5}),
        (block("Table 4", table="4"), {"cs3vm": (25.0, 0.0), "grad_hinge": (19.5, 0), "svmlight_s3vm": (21.0, 0)}),
    ]
    return [(each, rows(each.tasks, **(own | changes))) for each, own in (*tables, *more)]


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("all err less than the SVM", {"grad_hinge": (21.0, 60.0)}, "differs"),
        ("errs least, then gradient descent", {"grad_hinge": (21.0, 60.0)}, "differs"),
        ("least error on COIL-20", {"cs3vm": (9.0, 50.0)}, "differs"),
        ("gradient descent is significantly worse", {"cs3vm": (9.0, 50.0)}, "differs"),
        ("SVM-light is not significantly worse", {"svmlight_s3vm": (10.0, 70.0)}, "differs"),
        ("better minima than both", {"grad_hinge": (8.0, 40.0)}, "inconclusive"),  # three draws of two shares
        ("better minima than both", {"cs3vm": (5.0, 90.0)}, "inconclusive"),
        ("minima err less", {"cs3vm": (11.0, 50.0)}, "inconclusive"),
        ("a long annealing", {"grad_long": (7.0, 60.0)}, "differs"),
        ("over the widths", {"svm": (1.0, 0.0)}, "differs"),
        ("with other C = C*", {"cs3vm": (15.0, 0.0)}, "differs"),
        ("with another C*", {"cs3vm": (15.0, 0.0)}, "differs"),
        ("as good on USPS as LapSVM", {"svm": (4.0, 0.0)}, "differs"),
        ("the hybrid is better", {"cs3vm": (5.0, 0.0), "svm": (4.0, 0.0)}, "differs"),
        ("few kernel functions", {"seconds": 1.0}, "differs"),
        ("several clusters", {"svm": (30.0, 0.0)}, "differs"),
        ("hardly gain", {"svm": (22.0, 0.0)}, "differs"),
    ],
)
def test_a_conclusion_comes_out_each_way(text, changes, expected):
    alike = {"svmlight_s3vm": (5.5, 70.0)} if "SVM-light is not" in text else {}
    order = {"svmlight_s3vm": (22.0, 70.0)} if "errs least, then" in text else {}
    assert line_on(text, sentences(settings(**alike, **order))).startswith("agrees: ")
    assert line_on(text, sentences(settings(**(alike | order | changes)))).startswith(f"{expected}: ")


def test_numbers_of_the_sentences():
    judged = sentences(settings())
    assert judged[0].endswith(":")
    assert "9 of 9 agree; from " in line_on("all err less", judged)
    assert "grad_hinge share 1.00 [0.53, 1.00], svmlight_s3vm share 1.00" in line_on("better minima than both", judged)
    assert "cs3vm, svmlight_s3vm share 1.00" in line_on("minima err less", judged)
    line = line_on("as good on USPS", judged)
    assert "Continuation 5.01, LapSVM 5.21 (gamma_I = 1), hybrid 4.01 % (gamma_I = 1)" in line
    line = line_on("few kernel functions", judged)  # p = 50 is faster still, and errs too much
    assert (
        "at least 100: ratio 250.00 [125.00, 500.00]; 3 draws, and a factor of 2 from session to session. 100 f" in line
    )
    assert "functions of 5000, 5.91 for 5.01 %" in line


def test_ends_of_equal_errors_say_nothing_of_which_minima_err_less():
    """With the errors of continuation those of gradient descent agree with it and disagree with nobody."""
    line = line_on("minima err less", sentences(settings(grad_hinge=(5.0, 60.0))))
    assert "cs3vm, grad_hinge" not in line
    assert line.startswith("agrees: ")


def test_equal_ends_and_failures_say_nothing():
    same = {name: (error, 50.0) for name, (error, _) in AS_CONCLUDED.items()}
    assert not any("minima" in line for line in sentences(settings(**same)))
    assert sentences([(each, [{**row, "status": "failed"} for row in of]) for each, of in settings()]) == []
    assert sentences([]) == []
