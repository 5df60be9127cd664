"""Claims as data: each kind of quantity agrees, differs and is inconclusive on numbers made by hand."""

from itertools import chain, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from reproduction.engine.equivalence import SESSION
from reproduction.judging import TABLE_CLAIMS, ClaimRow, frame_of, judge, reach, read_claims, slope, wide_frame
from reproduction.papers._claims.study import CLAIMS

ERRORS = {"near": (1.0, 2.0, 3.5), "far": (4.0, 5.5, 6.0), "odd": (9.0, 1.0, 2.0), "idle": (1.0, 2.0, 3.5)}


def errors(dataset, factor=1.0):
    return [
        {"dataset": dataset, "split": f"s{k}", "method": method, "error_test": factor * error}
        for method, own in ERRORS.items()
        for k, error in enumerate(own)
    ]


WIDE = wide_frame([*errors("a"), *errors("b", 0.5)], {"T": "error_test"}, fact="a fact")


def sentence(value, frame=WIDE, values=None, **options):
    one = ClaimRow("p", "s", "the claim", "gain in points", values or {"gain": value}, **options)
    found = judge([one], {"s": frame})
    return found[0] if found else ""


def verdict(value, **options):
    return sentence(value, **options).partition(":")[0]


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        ("T_far - T_near", {"at_least": 0}, "agrees"),
        ("T_near - T_far", {"at_least": 0}, "differs"),
        ("T_odd - T_near", {"at_least": 0}, "inconclusive"),
        ("T_far - T_near", {"at_most": 0}, "differs"),
        ("T_far - T_near", {"at_least": 1, "at_most": 4}, "agrees"),
        ("T_far - T_near", {"at_least": 1, "at_most": 2.3}, "inconclusive"),
        ("T_far - T_near", {"at_least": "0.1 * T_near.max()"}, "agrees"),
        ("T_far > T_near", {"at_least": 0.5}, "agrees"),  # a share
        ("T_far < T_near", {"at_least": 0.5}, "differs"),
        ("T_odd > T_near", {"at_least": 0.5}, "inconclusive"),
        ("T_far.max()", {"at_most": 6}, "agrees"),  # a fact
        ("T_far.max()", {"at_most": 5.9}, "differs"),
        ("@span(T_near / 3.5)", {"at_least": 0.5}, "inconclusive"),  # readings
        ("@span(T_near)", {"at_least": 0.5}, "agrees"),
        ("@spread(T_odd) - @spread(T_near)", {"at_least": 0, "where": "T_odd < 4"}, "not judged"),
        ("T_far - @better(T_near, T_odd)", {"at_least": 0}, "agrees"),
        ("(T_near - T_far) * @sign(T_near - T_far)", {"at_least": 0}, "agrees"),
        ("T_far - T_near", {"at_least": "@margin(4.0)"}, "agrees"),
    ],
)
def test_a_quantity_is_asked_where_it_lies(value, options, expected):
    assert verdict(value, **options) == expected


def test_the_interval_is_of_the_draws_and_not_of_the_runs():
    """Differences 3, 3.5, 2.5 on one set, and half of them on the other: 2.25, 2.625, 1.875 on the three draws."""
    means = np.array([2.25, 2.625, 1.875])
    half = t.isf(0.05, 2) * means.std(ddof=1) / np.sqrt(3)
    text = f"gain 2.25 [{2.25 - half:.2f}, {2.25 + half:.2f}]; 3 draws."
    assert sentence("T_far - T_near", at_least=0) == f"agrees: the claim. Gain in points, at least 0: {text}"
    columns = WIDE.reset_index()
    assert sentence("T_far - T_near", columns, at_least=0).endswith(text)


def test_numbers_of_labels_of_one_draw_are_tasks_of_it():
    """A gain that the draw makes: (1, 2, 3) with six labels, (3, 4, 5) with twenty, of three draws and not of six."""
    rows = [
        {"dataset": f"{n}", "split": f"random{n}-seed0-0{k}", "x": x + k}
        for n, x in ((6, 1.0), (20, 3.0))
        for k in range(3)
    ]
    half = t.isf(0.05, 2) / np.sqrt(3)
    assert f"gain 3.00 [{3 - half:.2f}, {3 + half:.2f}]; 3 draws." in sentence("x", frame_of(rows), at_least=0)


def test_how_far_a_run_is_from_its_own_and_which_column_is_above():
    """Of (4, 5.5, 6) on one set 7/6, 1/3 and 5/6, on the other half of it; odd is once above near, and twice below."""
    assert "gain 0.58 [" in sentence("@spread(T_far)", at_least=0)
    assert "gain 0.33 [-1.61, 2.28]" in sentence("@above(T_near, T_odd)", at_least=0)
    assert sentence("@above(T_near, T_idle)", at_least=0).startswith("inconclusive: the claim. Gain in points, at l")


def test_a_share_has_the_interval_of_a_share():
    """Wilson's of three of three, 0.53 to 1: the t interval of three equal values would have no width."""
    assert "gain 1.00 [0.53, 1.00]" in sentence("T_far > T_near", at_least=0.5)


def test_all_quantities_must_lie_in_the_range():
    both = {"over {rival}": "T_{rival} - T_near"}
    line = sentence("", values=both, over={"rival": ["far", "odd"]}, at_least=0)
    assert line.startswith("inconclusive: ")
    assert "over far 2.25 [" in line
    assert verdict("", values={**both, "no": "T_near - T_far"}, over={"rival": ["far", "odd"]}, at_least=0) == "differs"


def test_every_set_has_a_quantity_of_its_own():
    line = sentence("T_far - T_near", by="dataset", at_least=0)
    assert "a gain 3.00 [" in line
    assert "b gain 1.50 [" in line
    assert verdict("T_far - T_near", by="dataset", at_least=1.2) == "inconclusive"
    wide = sentence("", values={f"g{k}": "T_far - T_near" for k in range(8)} | {"odd": "T_odd - T_near"}, at_least=0)
    assert "8 of 9 agree, 1 inconclusive; not so odd 1.38 [" in wide


def test_one_of_many_quantities_differs_by_a_wider_interval():
    """At 5 % the mean -1.1 of (-0.6, -1.5, -1.2) is below zero, at 5 % / 8 it is not."""
    rows = [{"dataset": "d", "split": f"s{k}", "x": x, "y": 1.0 + 0.01 * k} for k, x in enumerate((-0.6, -1.5, -1.2))]
    frame = frame_of(rows)
    assert verdict("x", frame=frame, at_least=0) == "differs"
    assert verdict("", frame=frame, values={"x": "x", **{f"y{k}": "y" for k in range(7)}}, at_least=0) == "inconclusive"


SIZES = (1000, 2000, 4000, 9000)
POWER = {"times": f"@reach{SIZES}"}


def timed(power, at_sizes=(1.0, 1.0, 1.0, 1.0), at_rival=1.0):
    """Times that grow as a power of the size, those of a rival three times as long; a session changes some of them."""
    rows = []
    for draw, noise in enumerate((0.98, 1.0, 1.02)):
        times = [(n / 1000) ** (power * noise) * factor for n, factor in zip(SIZES, at_sizes, strict=True)]
        rows.append({"dataset": "d", "split": f"s{draw}", "slope": slope(SIZES, times), "ratio": 3 * noise * at_rival})
    return frame_of(rows)


@pytest.mark.parametrize(
    ("power", "bounds", "expected"),
    [
        (1.0, {"at_most": 2.3}, "agrees"),
        (2.0, {"at_most": 2.3}, "inconclusive"),
        (2.6, {"at_most": 2.3}, "inconclusive"),
        (3.0, {"at_most": 2.3}, "differs"),
        (3.0, {"at_least": 2.3}, "agrees"),
        (3.0, {"at_least": 2.7, "at_most": 3.3}, "inconclusive"),
        (3.0, {"at_least": 2.2, "at_most": 3.8}, "agrees"),
        (2.0, {"at_least": 2.7, "at_most": 3.3}, "differs"),
    ],
)
def test_a_session_cannot_turn_what_is_told_of_a_power(power, bounds, expected):
    """Of the sizes a session slows any, each by its factor or not at all: what is told by one is told by all."""
    sessions = [
        verdict("slope", frame=timed(power, factors), **bounds)
        for factors in product((1.0, SESSION), repeat=len(SIZES))
    ]
    assert verdict("slope", frame=timed(power), **bounds, **POWER) == expected
    assert {*sessions} == {expected} if expected != "inconclusive" else len({*sessions}) > 1


def test_reach_is_the_worst_of_all_sessions():
    assert reach(2000, 4000) == pytest.approx(np.log(SESSION) / np.log(2))
    for sizes in (SIZES, (1500, 9000), (100, 110, 5000)):
        slopes = [slope(sizes, factors) for factors in product((1.0, SESSION), repeat=len(sizes))]
        assert reach(*sizes) == pytest.approx(max(slopes), rel=1e-12)
        assert -reach(*sizes) == pytest.approx(min(slopes), rel=1e-12)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"at_least": 1.4}, "agrees"),
        ({"at_least": 2.0}, "inconclusive"),
        ({"at_least": 5.0}, "inconclusive"),
        ({"at_least": 7.0}, "differs"),
        ({"at_most": 6.5}, "agrees"),
        ({"at_most": 1.3}, "differs"),
    ],
)
def test_a_session_cannot_turn_what_is_told_of_a_ratio(bounds, expected):
    line = sentence("ratio", timed(1.0), times="ratio", **bounds)
    assert line.startswith(f"{expected}: ")
    assert line.endswith("; 3 draws, and a factor of 2 from session to session.")
    told = {verdict("ratio", frame=timed(1.0, at_rival=factor), **bounds) for factor in (1 / SESSION, SESSION)}
    assert told == {expected} if expected != "inconclusive" else len(told) > 1
    assert "session" not in sentence("ratio", timed(1.0), **bounds)


def test_a_power_may_be_moved_in_each_part_by_its_own():
    # Where draws of a part have other sizes, the widest counts.
    moved = {"a": [0.2] * 3, "b": [2.0, 0.1, 1.0]}
    frame = pd.concat([timed(1.0).assign(dataset=name, reach=each) for name, each in moved.items()])
    line = sentence("slope", frame, by="dataset", at_most=1.5, times="reach")
    half = t.isf(0.05, 2) * 0.02 / np.sqrt(3)
    assert f": a gain 1.00 [{0.8 - half:.2f}, {1.2 + half:.2f}], b gain 1.00 [{-1 - half:.2f}, {3 + half:.2f}];" in line
    assert line.startswith("inconclusive: ")


def test_all_claims_on_times_hold_what_a_session_changes():
    """Counts are no times: iterations and memory come back in every session."""
    claims = [*chain(*TABLE_CLAIMS.values()), *chain(*CLAIMS.values())]
    of_times = [one for one in claims if "second" in one.test]
    assert len(of_times) >= 16
    assert all(bool(one.times) == (one in of_times) for one in claims)
    assert all((one.times != "ratio") == one.test.startswith(("slope", "power")) for one in of_times)


def test_a_rival_that_does_nothing_is_not_judged():
    idle = {"needs": "T_idle != T_near", "why": "It ends as it starts in all {T_idle.count()} runs"}
    line = sentence("T_far - T_near", at_least=0, **idle)
    assert line == "not judged: the claim. It ends as it starts in all 6 runs."
    moved = WIDE.assign(T_idle=[9.0, *WIDE["T_idle"][1:]])
    assert verdict("T_far - T_near", frame=moved, at_least=0, **idle) == "agrees"


@pytest.mark.parametrize(("n", "words"), [(1, "Single fits have no interval"), (2, "2 draws have no interval")])
def test_too_few_draws_are_not_judged(n, words):
    frame = frame_of([{"dataset": "d", "split": f"s{k}", "ratio": 3.0 + k} for k in range(n)])
    line = sentence("ratio", frame, at_least=2)
    assert line.startswith(f"not judged: the claim. {words}. Gain in points, at least 2: gain 3.")


@pytest.mark.parametrize(
    ("field", "shown"),
    [("T_near:.2f", "1.62"), ("T_far.max():.0f", "6"), ("fact", "a fact"), ("missing:.2f", "-")],
)
def test_numbers_are_expressions(field, shown):
    assert sentence("T_far.max()", at_least=0, numbers=f"It is {{{field}}}").endswith(f" It is {shown}.")


def test_what_the_rows_do_not_have_is_not_judged():
    assert sentence("T_missing - T_far", at_least=0) == ""
    assert "x 2.25" in sentence("", values={"x": "T_far - T_near", "y": "T_missing"}, at_least=0)
    assert sentence("T_far", where="T_far < 0", at_least=0) == ""
    assert sentence("T_far", frame=pd.DataFrame(), at_least=0) == ""
    assert judge([ClaimRow("p", "other", "t", "q", {"a": "b"})], {"s": WIDE}) == []


def test_runs_that_one_method_lacks_take_no_part():
    rows = [row for row in errors("a") if (row["method"], row["split"]) != ("far", "s2")]
    frame = wide_frame(rows, {"T": "error_test"})
    assert np.isnan(frame["T_far"].iloc[-1])
    assert "2 draws have no interval" in sentence("T_far - T_near", frame, at_least=0)
    assert len(wide_frame([], {"T": "error_test"})) == 0


def test_other_data_sets_of_a_draw_and_derived_columns():
    rows = [
        {"dataset": name, "split": s, "a": v} for name, s, v in (("x 1", "0", 1.0), ("x 1", "1", 3.0), ("y", "0", 5.0))
    ]
    frame = frame_of(rows, lambda frame: {"most": frame["a"].max()})
    assert frame[["a_on_x_1", "most"]].values.tolist() == [[1.0, 5.0], [3.0, 5.0], [1.0, 5.0]]
    assert frame["a_on_y"].tolist()[::2] == [5.0, 5.0]


def test_claims_are_read_by_paper(tmp_path):
    lines = ["[[claim]]", 'paper = "p"', 'source = "s"', 'text = "t"', 'test = "q"', 'values = { a = "b" }']
    (tmp_path / "c.toml").write_text("\n".join(lines))
    assert read_claims(tmp_path / "c.toml") == {"p": [ClaimRow("p", "s", "t", "q", {"a": "b"})]}
