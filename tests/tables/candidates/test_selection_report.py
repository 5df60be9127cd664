"""The report in words and numbers, with many labels and with too few."""

from dataclasses import replace

import numpy as np

from specmargin.estimators.comparison import compare_errors, error_estimate
from specmargin.tables.candidates.selection_report import SelectionReport


def report(l, wrong, wrong_baseline):
    a, b = np.arange(l) < wrong, np.arange(l) < wrong_baseline
    return SelectionReport(
        n_samples=200,
        label_counts={"cat": l - 4, "<dog>": 4},
        n_kernels=3,
        n_candidates=15,
        families={"graph": 0.75, "svm": 0.25},
        leading=(("graph", "5 neighbours, step5, penalty 0.1", 0.5), ("svm", "linear, C 1", 0.25)),
        estimate=error_estimate(a),
        baseline_estimate=error_estimate(b),
        balanced_error=0.125,
        baseline_balanced_error=0.25,
        comparison=compare_errors(a, b, 0.1),
    )


def test_numbers_stand_in_the_text():
    many = report(40, 2, 12)
    text = str(many)
    assert many.enough_labels
    assert many.n_labeled == 40
    assert many.verdict == "better than supervised"
    for part in ("200 samples, 40 labelled ('cat': 36, '<dog>': 4)", "15 candidates on 3 kernels", "(graph) 75%"):
        assert part in text
    for part in ("6.1%", "2 of 40", "12 of 40", "12.5%", "p = 0.001", "75% of the weight is with families"):
        assert part in text
    assert "10 labels right where the baseline is wrong, 0 the other way" in text
    assert ("starts with" in str(report(8, 1, 3)), "starts with" in text) == (True, False)
    assert text.endswith("better than supervised")


def test_too_few_labels_give_no_error():
    few = report(8, 1, 3)
    text = str(few)
    assert not few.enough_labels
    assert "not estimated: 8 labels are too few" in text
    assert "McNemar" not in text
    assert "too few labels to judge" in text


def test_names_are_escaped_in_html():
    html = report(40, 2, 12)._repr_html_()
    assert "&lt;dog&gt;" in html
    assert html.count("<tr>") == len(report(40, 2, 12).lines())


def test_disagreement_is_told():
    many = report(40, 10, 10)
    assert "differently" in str(replace(many, comparison=compare_errors(np.arange(40) < 10, np.arange(40) < 10, 0.4)))
