"""Certificates prove what they say, and results are values."""

from __future__ import annotations

import copy
import dataclasses
import html
import math
import pickle
import re
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxproof.results import Certificate, History, SolveResult, Status

INF, NAN = math.inf, math.nan
finite = st.floats(-1e9, 1e9)


def result(**changes: object) -> SolveResult:
    arguments = {
        "problem": "LapSVM dual",
        "status": Status.OPTIMAL,
        "variables": {"alpha": np.arange(3.0), "b": np.array(0.5)},
        "certificate": Certificate(2.0, 1.9999998),
        "duals": {"balance": np.array([1.0])},
        "solver": "CLARABEL",
        "solver_version": "0.11",
        "n_iter": 7,
    }
    return SolveResult(**{**arguments, **changes})


# Status.


def test_status_with_and_without_solution() -> None:
    without = {status for status in Status if not status.has_solution}
    assert without == {Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED}
    assert {Status.OPTIMAL, Status.STATIONARY, Status.MAX_ITER} < set(Status) - without
    assert Status("stationary") is Status.STATIONARY
    assert f"{Status.OPTIMAL}" == "optimal"


# Certificate.


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            Certificate(0.499806, 0.499806 - 2.5e-8, 4.6e-16),
            "optimum 0.499806 within 2.6e-08, proved; constraints hold to 4.6e-16",
        ),
        (Certificate(1 / 3, 1 / 3 - 1e-13), "optimum 0.333333333333333 within 1.1e-13, proved"),
        (Certificate(0.0, 0.0), "optimum 0 within 0, proved"),
        (Certificate(-3.0, -2.96875, sense="maximize"), "objective -3; the optimum is at most -2.96875, proved"),
        (Certificate(1.0, 0.5), "objective 1; the optimum is at least 0.5, proved"),
        (Certificate(1.0, 1 / 3), "objective 1; the optimum is at least 0.333333, proved"),
        (Certificate(-1.0, 1 / 3, sense="maximize"), "objective -1; the optimum is at most 0.333334, proved"),
        (Certificate(1.0, 0.5, rounding=0.25), "objective 1; the optimum is at least 0.25, proved"),
        (Certificate(1.0, -INF), "objective 1; no bound on the optimum is known"),
        (Certificate(1.0, 1.5), "nothing is proved: objective 1, bound 1.5"),
        (Certificate(NAN, 0.0), "nothing is proved: objective nan, bound 0"),
        (
            Certificate(1.0, 1.0, kind="cone program", violations={"box": 2**-30}, assumptions=("|x| <= 10", "y <= 1")),
            "optimum 1 within 0, supposing |x| <= 10 and y <= 1, which is not proved; constraints hold to 9.4e-10",
        ),
    ],
)  # fmt: skip
def test_a_certificate_is_written_as_one_sentence(given: Certificate, sentence: str) -> None:
    if "constraints hold" not in sentence:
        sentence = f"{sentence}; constraints hold to 0"
    assert str(given) == sentence
    assert given._repr_html_() == f"<pre>{html.escape(sentence)}</pre>"


@given(finite, st.floats(1e-12, 1e-2), st.floats(0, 1e-3))
def test_the_numbers_of_the_sentence_are_true(optimum: float, share: float, rounding: float) -> None:
    """Decimals are exact: what it says holds the whole interval that is proved."""
    given = Certificate(optimum, optimum - share * (abs(optimum) + 1.0), rounding=rounding)
    low, high = (Decimal(x) for x in (given.dual_objective, given.primal_objective))
    if match := re.match(r"optimum (\S+) within (\S+),", str(given)):
        value, within = map(Decimal, match.groups())
        assert value - within <= low - Decimal(rounding) / 2 <= high <= value + within
    elif match := re.search(r"the optimum is at least (\S+), proved", str(given)):
        assert Decimal(match[1]) <= low


@given(finite, finite)
def test_gap_by_its_definition(primal: float, dual: float) -> None:
    low, high = Certificate(primal, dual), Certificate(primal, dual, sense="maximize")
    assert low.gap == primal - dual
    assert high.gap == dual - primal
    scale = max(abs(primal), abs(dual))
    assert low.relative_gap == pytest.approx((primal - dual) / scale if scale else 0.0)
    assert high.relative_gap == -low.relative_gap


@given(finite, st.floats(0, 1), st.floats(0, 1))
def test_optimal_to_the_relative_tolerance_in_both_senses(dual: float, tol: float, rounding: float) -> None:
    for primal in (dual, dual + 0.1 * abs(dual), dual + 10.0, dual - 10.0):
        for sign, sense in ((1, "minimize"), (-1, "maximize")):
            gap = sign * (primal - dual) + rounding
            scale = max(abs(primal), abs(dual))
            relative = gap / scale if scale else gap
            if abs(relative - tol) > 1e-9 and abs(relative) > 1e-9:
                certificate = Certificate(primal, dual, sense=sense, rounding=rounding)
                assert certificate.is_optimal(tol) == (0 <= relative < tol)


def test_a_negative_gap_is_no_proof() -> None:
    assert not Certificate(1.0, 1.1).is_optimal(1e-3)
    assert not Certificate(1.1, 1.0, sense="maximize").is_optimal(1e-3)
    # Rounding is no contradiction where the certificate measured it.
    assert not Certificate(1.0, 1.0 + 1e-12).is_optimal(1e-6)
    assert Certificate(1.0, 1.0 + 1e-12, rounding=2e-12).is_optimal(1e-6)


def test_the_answer_of_a_cone_program_has_to_be_feasible_as_well() -> None:
    for primal, residual, optimal in [
        (1.0, 1e-9, True),
        (1.0, 1e-3, False),
        (1.0 - 1e-7, 1e-9, True),
        (0.9, 0.0, False),
    ]:
        certificate = Certificate(primal, 1.0, primal_residual=residual, kind="cone program")
        assert certificate.is_optimal(1e-6) == optimal
        assert certificate.gap == abs(primal - 1.0)
    assert Certificate(1.0, 1.0, primal_residual=1e-3).is_optimal(1e-6)  # that of an objective is a point of it


@pytest.mark.parametrize(
    ("primal", "dual", "stopped", "status"),
    [
        (1.0, 1.0, None, Status.OPTIMAL),
        (1.0, 1.0, Status.MAX_ITER, Status.OPTIMAL),
        (1.0, 0.9999, None, Status.OPTIMAL_INACCURATE),
        (100.0, 99.0, None, Status.OPTIMAL_INACCURATE),  # at the limit, which belongs to it
        (1.0, 0.98, None, Status.UNPROVED),
        (1.0, -1.0, None, Status.UNPROVED),
        (1.0, -INF, None, Status.UNPROVED),
        (1.0, -INF, Status.MAX_ITER, Status.MAX_ITER),
        (1.0, 1.1, None, Status.NUMERICAL),
        (1.0, 1.1, Status.MAX_ITER, Status.NUMERICAL),
        (NAN, 1.0, None, Status.NUMERICAL),
    ],
)
def test_the_status_that_a_gap_deserves(primal: float, dual: float, stopped: Status | None, status: Status) -> None:
    assert Certificate(primal, dual).status(1e-6, stopped) is status


@pytest.mark.parametrize(
    ("certificate", "gap"),
    [
        (Certificate(1.0, -INF), INF),
        (Certificate(1.0, INF, sense="maximize"), INF),
        (Certificate(INF, 1.0), INF),
        (Certificate(INF, -INF), INF),
        (Certificate(1.0, INF), NAN),
        (Certificate(NAN, 1.0), NAN),
        (Certificate(1.0, NAN), NAN),
        (Certificate(INF, INF), NAN),
        (Certificate(-INF, -INF), NAN),
    ],
)
def test_no_bound_is_no_proof(certificate: Certificate, gap: float) -> None:
    assert certificate.relative_gap == pytest.approx(gap, nan_ok=True)
    assert not certificate.is_optimal(1e300)


def test_zero_objectives_are_optimal() -> None:
    assert Certificate(0.0, 0.0).is_optimal(0.0)
    assert Certificate(0.0, -1e-9).relative_gap == 1.0


def test_what_nobody_says_is_nothing() -> None:
    plain = Certificate(1.0, 0.5)
    assert (plain.primal_residual, plain.dual_residual, plain.complementarity, plain.rounding) == (0.0, 0.0, 0.0, 0.0)
    bare = SolveResult("LapSVM dual", Status.OPTIMAL, {}, plain)
    assert (dict(bare.duals), len(bare.history), bare.n_iter, bare.attempts) == ({}, 0, 0, ())
    assert (bare.solver, bare.solver_version, bare.message) == ("", "", "")
    assert math.isnan(bare.seconds)
    # Names are stored in files and tables.
    assert all(status.value == status.name.lower() for status in Status)


def test_certificates_are_values() -> None:
    certificate = Certificate(1.0, 0.5, primal_residual=1e-9)
    assert pickle.loads(pickle.dumps(certificate)) == certificate == copy.deepcopy(certificate)
    assert dataclasses.replace(certificate, dual_objective=0.9).gap == pytest.approx(0.1)
    with pytest.raises(AttributeError):
        certificate.primal_objective = 0.0


# History.


def test_history_records_columns_of_one_length() -> None:
    history = History()
    assert len(history) == 0
    assert list(history) == []
    for k in range(3):
        history.record(objective=np.float64(k), gradient=-k)
    assert len(history) == 3
    assert list(history) == ["objective", "gradient"]
    assert history["gradient"] == [0.0, -1.0, -2.0]
    assert all(type(value) is float for value in history["objective"])


@pytest.mark.parametrize("values", [{"objective": 1.0}, {}, {"objective": 1.0, "step": 2.0, "gradient": 0.0}])
def test_history_refuses_other_columns(values: dict[str, float]) -> None:
    history = History()
    history.record(objective=3.0, gradient=1.0)
    with pytest.raises(ValueError, match=r"columns \['gradient', 'objective'\].*record every quantity"):
        history.record(**values)
    assert len(history) == 1


def test_histories_do_not_share_columns() -> None:
    one, two = result().history, result().history
    one.record(objective=1.0)
    assert len(two) == 0


# SolveResult.


def test_one_line() -> None:
    assert repr(result()) == "LapSVM dual: OPTIMAL, relative gap 1.0e-07, 7 iterations, CLARABEL 0.11"
    stationary = result(status=Status.STATIONARY, certificate=Certificate(1.0, -INF))
    assert "optimal" not in repr(stationary).lower()
    assert "relative gap inf" in repr(stationary)


def test_results_are_read_only() -> None:
    given_variables = {"alpha": np.zeros(2)}
    answer = result(variables=given_variables)
    given_variables["alpha"] = np.ones(2)
    assert answer.variables["alpha"].tolist() == [0.0, 0.0]
    for mapping in (answer.variables, answer.duals):
        with pytest.raises(TypeError):
            mapping["new"] = np.zeros(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.status = Status.FAILED


@pytest.mark.parametrize("again", [lambda r: pickle.loads(pickle.dumps(r)), copy.deepcopy, copy.copy])
def test_results_can_be_kept(again: object) -> None:
    answer = result()
    answer.history.record(objective=1.0)
    other = again(answer)
    assert repr(other) == repr(answer)
    assert other.status is Status.OPTIMAL
    assert other.certificate == answer.certificate
    assert other.history["objective"] == [1.0]
    for mine, theirs in ((answer.variables, other.variables), (answer.duals, other.duals)):
        assert mine.keys() == theirs.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], theirs[name])
    for mapping in (other.variables, other.duals):
        with pytest.raises(TypeError):
            mapping["new"] = np.zeros(1)


def test_with_an_assumption_nothing_is_optimal() -> None:
    for gap, stopped, status in (
        (0.0, None, Status.CONDITIONAL),
        (1e-9, Status.MAX_ITER, Status.CONDITIONAL),
        (0.009, None, Status.CONDITIONAL),
        (0.009, Status.MAX_ITER, Status.MAX_ITER),
        (0.02, None, Status.UNPROVED),
    ):
        certificate = Certificate(1.0, 1.0 - gap, kind="cone program", assumptions=("|x| <= 1",))
        assert certificate.status(1e-6, stopped) is status
        assert not certificate.is_optimal(1.0)
        assert certificate.described.startswith("supposing |x| <= 1: gap ")
        assert dataclasses.replace(certificate, assumptions=()).is_optimal(0.03)


# Logs, of whatever kind.


def test_results_carry_logs_and_those_without_are_as_before() -> None:
    log = SimpleNamespace(parent=np.array([0, 2]), n_samples=4)
    plain, logged = result(), result(log=log)
    assert plain.log is None
    assert repr(plain) == repr(logged)
    assert pickle.loads(pickle.dumps(plain)).log is None
    again = pickle.loads(pickle.dumps(logged)).log
    assert (again.parent.tolist(), again.n_samples) == ([0, 2], 4)
    assert copy.deepcopy(logged).log.parent is not log.parent
    # Results of older versions have no such field.
    old = pickle.loads(pickle.dumps(plain))
    state = {name: x for name, x in old.__getstate__().items() if name != "log"}
    bare = SolveResult.__new__(SolveResult)
    bare.__setstate__(state)
    assert bare.log is None
    assert dataclasses.replace(logged, log=None).log is None


def test_a_notebook_shows_a_result_and_its_certificate() -> None:
    shown = result(problem="<b>")._repr_html_()
    assert shown == (
        "<pre>&lt;b&gt;: OPTIMAL, relative gap 1.0e-07, 7 iterations, CLARABEL 0.11</pre>"
        "<pre>optimum 2 within 2e-07, proved; constraints hold to 0</pre>"
    )


@pytest.mark.parametrize(("residual", "status"), [(1e-7, "OPTIMAL"), (1e-3, "OPTIMAL_INACCURATE"), (NAN, "UNPROVED")])
def test_an_answer_of_a_cone_program_is_no_better_than_its_residual(residual: float, status: str) -> None:
    certificate = Certificate(2.0, 2.0, primal_residual=residual, kind="cone program")
    assert certificate.status(1e-6).name == status
    assert certificate.is_optimal(1e-6) == (status == "OPTIMAL")
