"""Answers to the exercises of the lessons: right, or which of the registered mistakes.

``exercises.json`` holds for each exercise the kind of its answer, the mark of the right one, and the marks of the
commonest wrong ones with a hint each. A mark is the hash of a rounded value. ``lesson_files.py --marks`` writes it from
the sources of the lessons. Where no stored value can decide, `teaching.properties` does.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np

from specmargin.checks import choice, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import FloatArray
from teaching.properties import PROPERTIES

__all__ = ["EXERCISES", "Verdict", "check", "guess", "mark", "marks"]

EXERCISES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("exercises.json").read_text(encoding="utf-8")
)
"""What is registered, by the name of the exercise."""
_GUESSES: dict[str, Any] = {}
_UNKNOWN = "Not right, and none of the mistakes that are registered. "
_COMPARE = "Compare signs, factors of 2 and which set is summed."
_ONE_WORD = "Answer by one letter or word, as the exercise says."
_NEAR = "Nearly: the right answer is less than 0.01 away. Give {} decimals or more."


@dataclass(frozen=True, repr=False)
class Verdict:
    """Outcome of `check`: true if the answer is right.

    Parameters
    ----------
    exercise : str
        Name of the exercise, such as "02.E1".
    right : bool
        Whether the answer is right.
    hint : str, default ""
        Mistake that the answer comes from, or what it violates.

    Examples
    --------
    >>> Verdict("02.E1", False, "The factor 2 is missing.")
    02.E1: not yet. The factor 2 is missing.
    """

    exercise: str
    right: bool
    hint: str = ""

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return f"{self.exercise}: " + ("right." if self.right else f"not yet. {self.hint}")


def check(exercise: str, answer: Any) -> Verdict:
    """Tell whether an answer is right, or which mistake it comes from.

    Parameters
    ----------
    exercise : str
        Name of the exercise, such as "02.E1".
    answer : number, array, str or what the exercise asks for
        The answer; numbers to as many decimals as the exercise says, or more. ``...`` is no answer yet.

    Returns
    -------
    Verdict

    Raises
    ------
    InvalidInputError
        If there is no such exercise, or the answer has another type or shape than asked for (then `InvalidTypeError`
        where it is the type), or holds NaN.

    Examples
    --------
    >>> check("02.E1", ...)
    02.E1: not yet. No answer yet: put yours in the place of the three dots.
    >>> check("02.E99", 1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    cvxproof.exceptions.InvalidInputError: exercise='02.E99' is unknown; take one of 02.E1, 02.E2, 02.E3, 02.E4, ...
    """
    lesson = [name for name in EXERCISES if isinstance(exercise, str) and name[:2] == exercise[:2]]
    choice(*sorted(lesson or EXERCISES))("exercise", exercise)
    if isinstance(answer, EllipsisType):
        return Verdict(exercise, False, "No answer yet: put yours in the place of the three dots.")
    entry = EXERCISES[exercise]
    value = _valued(exercise, answer, entry["kind"])
    given = marks(exercise, value, entry["decimals"])
    for hint, wrong in entry["wrong"].items():
        if wrong in given:
            return Verdict(exercise, False, hint)
    if exercise in PROPERTIES:
        hint = PROPERTIES[exercise](value)
        return Verdict(exercise, not hint, hint)
    right = entry["right"] in given
    if not right and _is_near(exercise, value, entry):
        return Verdict(exercise, right, _NEAR.format(entry["decimals"]))
    return Verdict(exercise, right, "" if right else _UNKNOWN + (_ONE_WORD if entry["kind"] == "text" else _COMPARE))


def guess(question: str, value: Any = None) -> Any:
    """Keep a guess until the kernel ends, or return the one that was made.

    Parameters
    ----------
    question : str
        Name of the question, such as "02.q1".
    value : object, optional
        The guess. ``...`` is none.

    Returns
    -------
    object
        The guess; None where none was made.

    Raises
    ------
    InvalidInputError
        If `question` is no name of a question.

    Examples
    --------
    >>> guess("02.q1", 40), guess("02.q1"), guess("02.q2")
    (40, 40, None)
    """
    if not (isinstance(question, str) and re.fullmatch(r"\d\d\.q\d", question)):
        raise InvalidInputError(f"question={shown(question)} is no name of a question; write it as in '02.q1'.")
    if value is not None and value is not ...:
        _GUESSES[question] = value
    return _GUESSES.get(question)


def mark(exercise: str, value: Any, decimals: int) -> str:
    """Return the hash of a text, or of an array's shape with rounded means of its entries."""
    return _hashed(exercise, value if isinstance(value, str) else (value.shape, *np.rint(_means(value, decimals))))


def marks(exercise: str, value: Any, decimals: int) -> set[str]:
    """Return the marks of a value rounded down and up, so that no border of rounding lies near the right one."""
    if not isinstance(value, np.ndarray):
        return {_hashed(exercise, value)} if isinstance(value, str) else set()
    means = _means(value, decimals)
    rounded = product(*zip(np.floor(means), np.ceil(means), strict=True))
    return {_hashed(exercise, (value.shape, *cells)) for cells in rounded}


def _is_near(exercise: str, value: Any, entry: dict[str, Any]) -> bool:
    """Tell whether the right answer is within half a unit of the decimal before the last; up to four numbers."""
    if not isinstance(value, np.ndarray) or value.size > 4:
        return False
    cells = [np.rint(mean) + np.arange(-5, 6) for mean in _means(value, entry["decimals"])]
    return any(_hashed(exercise, (value.shape, *near)) == entry["right"] for near in product(*cells))


def _means(value: FloatArray, decimals: int) -> FloatArray:
    """Return six weighted means (or the entries, if there are no more) in units of the last decimal.

    A mean moves by no more than the largest error of its entries.
    """
    parts = np.array_split(value.ravel() * 10.0**decimals, min(value.size, 6))
    weights = [1.0 + np.cos(np.arange(part.size)) for part in parts]
    return np.array([weight @ part / weight.sum() for weight, part in zip(weights, parts, strict=True)])


def _hashed(exercise: str, what: Any) -> str:
    text = what if isinstance(what, str) else f"{what[0]} {[int(cell) for cell in what[1:]]}"
    return hashlib.sha256(f"{exercise} {text}".encode()).hexdigest()[:12]


def _valued(exercise: str, answer: Any, kind: Any) -> Any:
    """Return an answer of the kind that is asked for: a text, a function, or an array of some shape."""
    if kind == "text" or kind == "function":
        if not (isinstance(answer, str) if kind == "text" else callable(answer)):
            raise InvalidTypeError(f"the answer to {exercise} must be a {kind}, not {shown(answer)}.")
        return answer.strip(" .:,;()'\"\n").lower() if kind == "text" else answer
    wanted = f"an array of shape {tuple(kind)}" if kind else "a number"
    try:
        value = np.asarray(answer, dtype=float)
    except (TypeError, ValueError) as error:
        remedy = "; hand in its attribute `value`" if hasattr(answer, "value") else ""
        raise InvalidTypeError(f"the answer to {exercise} must be {wanted}, not {shown(answer)}{remedy}.") from error
    if value.squeeze().shape != tuple(kind):
        raise InvalidInputError(f"the answer to {exercise} must be {wanted}, not of shape {value.shape}.")
    value = value.squeeze()  # a row or a column of the right length is what was asked for
    if not np.isfinite(value).all():
        raise InvalidInputError(f"the answer to {exercise} holds NaN or inf; look for a division by zero.")
    return value
