"""What the primal-LapSVM paper concludes, put to fits whose verdicts are known."""

import numpy as np
import pytest
from claim_rows import SPLITS, line_on

from reproduction.papers._claims import melacci_belkin as claims
from reproduction.papers._protocols.melacci_belkin_fits import RULES

OWN, NEWTONS = (1.0, 1.0), (0.1, 0.1)
AS_CONCLUDED = {
    "svm": (20.0, 0.0, 1, 0.1),
    "rls": (21.0, 0.0, 1, 0.1),
    "laprls": (10.2, 0.0, 1, 0.1),
    "lapsvm_dual": (10.4, 0.0, 9, 5.0),
    "lapsvm_newton": (10.0, 0.0, 4, 5.0),
    "lapsvm_pcg_stability": (10.5, 0.0, 40, 1.0),
    "lapsvm_pcg_validation": (10.5, 0.0, 20, 1.0),
    "lapsvm_pcg_mixed": (10.5, 0.0, 40, 1.0),
}
"""Error on U and T, on L, iterations and seconds of each method."""


def fits(task="coil20b", setting=OWN, **changes):
    """Return a fit of each method on each split; errors are far closer together than means are apart."""
    return [
        {
            "dataset": task,
            "method": method,
            "split": split,
            "setting": setting,
            "error_unlabeled": error + 0.01 * k,
            "error_test": error + 0.02 * k,
            "error_labeled": labeled,
            "iterations": [count],
            "seconds": seconds,
        }
        for method, (error, labeled, count, seconds) in (AS_CONCLUDED | changes).items()
        for k, split in enumerate(SPLITS)
    ]


def sentences(tasks=("coil20b", "g50c"), at_newton=None, **changes):
    """Return the sentences; the rules choose `OWN`, and Newton's method, too, but where `at_newton` changes fits."""
    grid = [fit for task in tasks for fit in fits(task, **changes)]
    timed, chosen = list(grid), {(row["dataset"], row["method"]): OWN for row in grid}
    if at_newton is not None:
        rows = [fit for task in tasks for fit in fits(task, NEWTONS, **(changes | at_newton))]
        timed += rows
        grid += [row for row in rows if row["method"] == "lapsvm_newton"]
        chosen |= {(task, "lapsvm_newton"): NEWTONS for task in tasks}
    return claims.sentences(grid, timed, chosen)


def verdict(text, *args, **changes):
    """Return the first words of the sentence on this, and the sentence."""
    line = line_on(text, sentences(*args, **changes))
    return line.split(":")[0], line


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("err clearly less", {"laprls": (22.0, 0.0, 1, 0.1)}),
        ("comparable errors", {"laprls": (11.7, 0.0, 1, 0.1)}),
        ("really close", {"laprls": (10.6, 0.0, 1, 0.1)}),
        ("right on the labelled", {"svm": (20.0, 2.0, 1, 0.1)}),
        ("less than six steps", {"lapsvm_newton": (10.0, 0.0, 6, 5.0)}),
        ("appreciably faster", {"lapsvm_dual": (10.4, 0.0, 9, 0.9)}),
        ("about the same time", {"lapsvm_dual": (10.4, 0.0, 9, 1.2)}),
        ("early stopping errs about", dict.fromkeys(RULES, (11.1, 0.0, 20, 1.0))),
        ("noticeably smaller", dict.fromkeys(RULES, (10.5, 0.0, 600, 1.0))),
        ("stability rule stops later", {"lapsvm_pcg_validation": (10.5, 0.0, 60, 1.0)}),
        ("stricter of the two", {"lapsvm_pcg_mixed": (10.5, 0.0, 41, 1.0)}),
    ],
)
def test_a_conclusion_comes_out_each_way(text, changes):
    assert verdict(text)[0] == "agrees"
    assert verdict(text, **changes)[0] == "differs"


def test_over_fitting_is_a_lower_error_than_the_optimum():
    assert verdict("over-fitting")[0] == "differs"
    assert verdict("over-fitting", lapsvm_pcg_validation=(9.0, 0.0, 20, 1.0))[0] == "agrees"


def test_seconds_are_held_against_either_rival():
    """Three rules on two sets, a second each: 5 of Newton's and 0.9 of the dual solver's."""
    _, line = verdict("appreciably faster", lapsvm_dual=(10.4, 0.0, 9, 0.9))
    assert "6 of 12 agree, 6 differ; not so coil20b dual over stability 0.90 [0.45, 1.80]" in line
    assert "to coil20b newton over stability 5.00 [2.50, 10.00]; 3 draws, and a factor of 2" in line


def test_larger_sets_gain_more():
    slow, fast = fits("coil20b"), fits("g50c")
    chosen = {(row["dataset"], row["method"]): OWN for row in (*slow, *fast)}
    for factor, expected in ((0.2, "agrees"), (0.3, "inconclusive"), (3.0, "inconclusive"), (5.0, "differs")):
        quick = [{**row, "seconds": row["seconds"] * factor} if row["method"] in RULES else row for row in slow]
        line = line_on("the more so", claims.sentences([], [*quick, *fast], chosen))
        assert line.startswith(f"{expected}: ")
        # A session may change the ratio on either set by its factor.
        slope, moved = (np.log(each) / np.log(1040 / 364) for each in (1 / factor, 4.0))
        assert f"two classes slope {slope:.2f} [{slope - moved:.2f}, {slope + moved:.2f}]" in line
    # Twenty classes share a product with the kernel: they are no larger set of the same kind.
    assert claims.samples_of("coil20") == 1040
    many = [{**row, "dataset": "coil20"} for row in slow]
    chosen |= {("coil20", method): OWN for method in AS_CONCLUDED}
    assert not any("the more so" in line for line in claims.sentences([], [*many, *fast], chosen))


def test_coil20_is_the_farthest_from_the_optimum():
    tasks = ("coil20", "coil20b", "g50c")
    near = fits("coil20b") + fits("g50c")
    chosen = {(task, method): OWN for task in tasks for method in AS_CONCLUDED}
    for error, expected in ((15.0, "agrees"), (10.1, "differs")):
        far = fits("coil20", **dict.fromkeys(RULES, (error, 0.0, 20, 1.0)))
        judged = claims.sentences([], [*far, *near], chosen)
        line = line_on("farthest", judged)
        assert line.startswith(f"{expected}: ")
        assert f"g50c {error - 10.5:.2f}" in line
        assert "coil20b 0.50" in line_on("COIL20(B) is not far", judged)


def test_gammas_of_the_rules_next_to_newtons():
    tasks = ("coil20b", "g50c", "uspstb")
    same = sentences(tasks)
    assert any(line.startswith("agrees: the gammas chosen with early stopping") for line in same)
    assert not any("differ, gamma" in line or "tuned by the rule" in line for line in same)
    worse = dict.fromkeys(RULES, (12.0, 0.0, 90, 1.0))
    assert verdict("chosen with early stopping", tasks, at_newton=worse)[0] == "differs"
    assert verdict("differ, gamma", tasks, at_newton=worse)[0] == "agrees"  # 1 and 1 against 0.1 and 0.1
    word, line = verdict("tuned by the rule", tasks, at_newton=worse)
    assert word == "agrees"
    assert "iterations 56.67, U 1.50, T 1.50; 3 draws" in line  # 90 less 40, 20 and 40
    better = dict.fromkeys(RULES, (8.0, 0.0, 10, 1.0))
    assert verdict("tuned by the rule", tasks, at_newton=better)[0] == "differs"
    assert verdict("tuned by the rule", at_newton=worse)[0] == "not judged"  # two tasks


def test_nothing_is_said_of_nothing():
    assert claims.sentences([], [], {}) == []
    # Digits are no task of the paper: what needs its sizes is left out.
    assert not any("smaller than n" in line for line in sentences(("digits", "digitsb")))
