"""Checks of answers say right or which mistake; guesses are kept; a bad argument has one error with its remedy."""

import cvxpy as cp
import numpy as np
import pytest
from teaching import Verdict, check, exercises, guess

from specmargin.exceptions import InvalidInputError, InvalidTypeError


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register three exercises of a lesson that does not exist."""

    def entry(name: str, kind: object, right: object, wrong: object) -> dict[str, object]:
        return {
            "kind": kind,
            "decimals": 3,
            "right": exercises.mark(name, right, 3),
            "wrong": {"The sign.": exercises.mark(name, wrong, 3)},
        }

    known = {
        "99.E1": entry("99.E1", [], np.array(2.5), np.array(-2.5)),
        "99.E2": entry("99.E2", [2, 2], np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 3.0], [2.0, 4.0]])),
        "99.E3": entry("99.E3", "text", "b", "c"),
    }
    monkeypatch.setattr(exercises, "EXERCISES", known)
    monkeypatch.setattr(exercises, "_GUESSES", {})


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("99.E1", 2.5),
        ("99.E1", np.float32(2.5)),
        ("99.E1", 2.5009),
        ("99.E1", 2.4991),
        ("99.E2", [[1, 2], [3, 4]]),
        ("99.E1", [[2.5]]),
        ("99.E2", np.array([[1.0, 2.0], [3.0, 4.0]]) + 4e-4),
        ("99.E2", [[[1, 2], [3, 4]]]),
        ("99.E3", " B "),
        ("99.E3", "b)"),
        ("99.E3", "(b)."),
    ],
)
def test_right_answers_pass_up_to_rounding(exercise: str, answer: object) -> None:
    assert check(exercise, answer)


@pytest.mark.parametrize(("exercise", "answer"), [("99.E1", -2.5), ("99.E2", [[1, 3], [2, 4]]), ("99.E3", "C")])
def test_a_registered_mistake_has_its_hint(exercise: str, answer: object) -> None:
    assert check(exercise, answer) == Verdict(exercise, False, "The sign.")
    assert repr(check(exercise, answer)) == f"{exercise}: not yet. The sign."


@pytest.mark.parametrize(
    ("exercise", "answer"), [("99.E1", 2.507), ("99.E1", 2.493), ("99.E2", [[1, 2], [3, 4.1]]), ("99.E3", "a")]
)
def test_other_answers_are_wrong_without_a_diagnosis(exercise: str, answer: object) -> None:
    verdict = check(exercise, answer)
    assert not verdict
    assert "none of the mistakes that are registered" in verdict.hint
    assert ("one letter or word" if exercise == "99.E3" else "factors of 2") in verdict.hint


@pytest.mark.parametrize(
    ("exercise", "answer"), [("99.E1", 2.503), ("99.E1", 2.496), ("99.E2", [[1.004, 1.996], [3.0, 4.005]])]
)
def test_an_answer_with_two_decimals_is_told_so(exercise: str, answer: object) -> None:
    verdict = check(exercise, answer)
    assert not verdict
    assert verdict.hint == "Nearly: the right answer is less than 0.01 away. Give 3 decimals or more."


def test_dots_are_no_answer() -> None:
    assert "No answer yet" in check("99.E1", ...).hint


@pytest.mark.parametrize(
    ("exercise", "answer", "kind", "text"),
    [
        ("99.E9", 1.0, InvalidInputError, "exercise='99.E9' is unknown; take one of 99.E1, 99.E2, 99.E3"),
        ("E1", 1.0, InvalidInputError, "take one of 99.E1, 99.E2, 99.E3"),
        (1, 1.0, InvalidTypeError, "exercise=1 is unknown"),
        ("99.E1", "2.5 m", InvalidTypeError, "the answer to 99.E1 must be a number, not '2.5 m'"),
        ("99.E1", None, InvalidInputError, "holds NaN or inf"),
        ("99.E1", float("nan"), InvalidInputError, "holds NaN or inf"),
        ("99.E1", [2.5, 2.5], InvalidInputError, r"must be a number, not of shape \(2,\)\.$"),
        ("99.E2", cp.Variable((2, 2)), InvalidTypeError, r"\(2, 2\), not .*; hand in its attribute `value`\.$"),
        ("99.E2", [1, 2, 3, 4], InvalidInputError, r"must be an array of shape \(2, 2\), not of shape \(4,\)"),
        ("99.E2", object(), InvalidTypeError, r"must be an array of shape \(2, 2\)"),
        ("99.E3", 2.5, InvalidTypeError, "the answer to 99.E3 must be a text, not 2.5"),
    ],
)
def test_bad_arguments_are_refused(exercise: object, answer: object, kind: type, text: str) -> None:
    with pytest.raises(kind, match=text):
        check(exercise, answer)  # type: ignore[arg-type]


def test_guesses_are_kept() -> None:
    assert guess("99.q1") is None
    assert guess("99.q1", ...) is None
    assert guess("99.q1", 40) == 40
    assert guess("99.q1", ...) == guess("99.q1") == 40  # the cell is run once more
    assert guess("99.q2") is None


@pytest.mark.parametrize("question", ["99.E1", "q1", 1, ""])
def test_what_is_no_question_is_refused(question: object) -> None:
    with pytest.raises(InvalidInputError, match=r"write it as in '02\.q1'"):
        guess(question, 1)  # type: ignore[arg-type]
