"""Checks of arguments: numbers, counts, choices, texts, and all the arguments of a function.

Every check raises `specmargin.exceptions.InvalidInputError` (where the kind is wrong, `InvalidTypeError`, which is one)
with the name, the value and what to pass instead. Arrays are checked by `specmargin.arrays`.
"""

from __future__ import annotations

import inspect
import math
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp

from cvxproof.checks import INSIDE, AsText, among, outside, path, shown, visible, warn
from specmargin.exceptions import InvalidInputError, InvalidTypeError

__all__ = [
    "AsText",
    "NUMBERS",
    "Rule",
    "accuracy",
    "among",
    "checked",
    "choice",
    "count",
    "flag",
    "foreign",
    "instance",
    "iterations",
    "maybe",
    "number",
    "numeric",
    "outside",
    "members",
    "path",
    "processes",
    "real",
    "seed",
    "shown",
    "solver_names",
    "texts",
    "visible",
    "warn",
    "whole",
]

Rule: TypeAlias = Callable[[str, Any], Any]
"""Takes the name and the value of an argument; returns the value, converted, or raises."""

P = ParamSpec("P")
R = TypeVar("R")

NUMBERS = (int, float, np.integer, np.floating)
"""Kinds of numbers that numpy computes with; it makes objects of others, such as fractions."""
INSIDE.append(f"{Path(__file__).parent}{os.sep}")


def real(name: str, value: Any, what: str) -> float:
    """Return a number as float; `what` describes the numbers that are meant, for the message. NaN passes."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, NUMBERS):
        raise InvalidTypeError(f"{name}={shown(value)} must be {what}, not of the type {type(value).__name__}.")
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidInputError(f"{name}={shown(value)} must be {what} that a double can hold.") from error


def number(
    *, above: float | None = None, least: float | None = None, most: float = math.inf, infinite: bool = False
) -> Rule:
    """Return the rule of a number in a range; by default any finite one.

    Examples
    --------
    >>> number(above=0)("C", 2)
    2.0
    >>> number(above=0)("C", -1.0)
    Traceback (most recent call last):
    cvxproof.exceptions.InvalidInputError: C=-1.0 must be a positive number.
    """
    bounded = most < math.inf
    if above is not None:
        what = "a positive number" if above == 0 else f"a number > {above:g}"
    else:
        what = "a finite number" if least is None else f"a number >= {least:g}"
    what += f" and at most {most:g}" if bounded else ""
    what += ", or inf" if infinite else ""

    def rule(name: str, value: Any) -> float:
        x = real(name, value, what)
        low = x > above if above is not None else least is None or x >= least
        if not (low and x <= most and (infinite or math.isfinite(x))):
            raise InvalidInputError(f"{name}={shown(value)} must be {what}.")
        return x

    return rule


def count(least: int = 1, most: int | None = None) -> Rule:
    """Return the rule of a whole number in a range.

    Examples
    --------
    >>> count(1)("n_neighbors", np.int64(3))
    3
    >>> count(1)("n_neighbors", 1.5)
    Traceback (most recent call last):
    cvxproof.exceptions.InvalidTypeError: n_neighbors=1.5 must be a whole number of at least 1.
    """
    what = f"a whole number of at least {least}" + ("" if most is None else f" and at most {most}")

    def rule(name: str, value: Any) -> int:
        given = whole(name, value, what)
        if given < least or (most is not None and given > most):
            raise InvalidInputError(f"{name}={shown(value)} must be {what}.")
        return given

    return rule


def flag(name: str, value: Any) -> bool:
    """Check that a value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidTypeError(f"{name}={shown(value)} must be True or False.")
    return bool(value)


def choice(*choices: Any) -> Rule:
    """Return the rule of a word out of several; None may be one of them.

    Examples
    --------
    >>> choice("ovr", "ovo")("multi_class", "both")
    Traceback (most recent call last):
    cvxproof.exceptions.InvalidInputError: multi_class='both' is unknown; take one of ovr, ovo.
    """

    def rule(name: str, value: Any) -> Any:
        if not (value is None or isinstance(value, str)) or value not in choices:
            kind = InvalidInputError if isinstance(value, str) else InvalidTypeError
            raise kind(f"{name}={shown(value)} is unknown; take one of {among(value, map(str, choices))}")
        return value

    return rule


def maybe(rule: Rule) -> Rule:
    """Return a rule that also takes None."""

    def optional(name: str, value: Any) -> Any:
        return None if value is None else rule(name, value)

    return optional


def instance(kind: type | tuple[type, ...], remedy: str) -> Rule:
    """Return the rule of an object of a class; `remedy` says how to get one."""
    kinds = kind if isinstance(kind, tuple) else (kind,)

    def rule(name: str, value: Any) -> Any:
        if not isinstance(value, kinds):
            wanted = " or ".join(one.__name__ for one in kinds)
            raise InvalidTypeError(
                f"{name}={shown(value)} is of the type {type(value).__name__}, not {wanted}; {remedy}."
            )
        return value

    return rule


def whole(name: str, value: Any, what: str = "a whole number") -> int:
    """Check that a value is a whole number; its range is for the caller to check."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return operator.index(value)
    except TypeError as error:
        raise InvalidTypeError(f"{name}={shown(value)} must be {what}.") from error


def numeric(name: str, value: Any) -> float:
    """Check that a value is a real number; its range, NaN included, is for the caller to check."""
    return real(name, value, "a number")


def seed(name: str, value: Any) -> Any:
    """Check a seed: a whole number, a generator, or None."""
    if value is None or isinstance(value, np.random.Generator | np.random.RandomState):
        return value
    return count(0)(name, value)


def solver_names(name: str, value: Any) -> Any:
    """Check the name of a solver, or a list of names."""
    names = [value] if isinstance(value, str) else value
    if not (isinstance(names, Sequence) and len(names) > 0 and all(isinstance(one, str) for one in names)):
        raise InvalidTypeError(f"{name}={shown(value)} must be the name of a solver or a list of names, tried in turn.")
    return value


def texts(what: str, *known: str) -> Rule:
    """Return the rule of several texts, out of `known` if some are named; `what` describes them."""

    def rule(name: str, value: Any) -> Any:
        listed = isinstance(value, Iterable) and not isinstance(value, str | bytes)
        bad = [one for one in value if not isinstance(one, str) or (known and one not in known)] if listed else [value]
        if bad:
            held = f", which holds {shown(bad[0])}" if listed else ""
            raise InvalidTypeError(
                f"{name}={shown(value)}{held}; pass a list of {what}{': ' if known else ''}{among(bad[0], known)}"
            )
        return value

    return rule


def members(name: str, values: Any, kind: type, remedy: str) -> list[Any]:
    """Return the members of an iterable, if all of them are of a kind; `remedy` says how to get them."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise InvalidTypeError(f"{name}={shown(values)} is no list of {kind.__name__}; {remedy}.")
    listed = list(values)
    for k, one in enumerate(listed):
        if not isinstance(one, kind):
            raise InvalidTypeError(
                f"{name}[{k}]={shown(one)} is of the type {type(one).__name__}, not {kind.__name__}; {remedy}."
            )
    return listed


def processes(name: str, value: Any) -> int:
    """Check a number of processes."""
    if whole(name, value) == 0 or value < -1:
        raise InvalidInputError(f"{name}={value}; take a number of processes, or -1 for one per core.")
    return int(value)


accuracy: Rule = number(above=0)
"""Check a relative accuracy."""

iterations: Rule = count(1)
"""Check a limit of iterations."""


def checked(**rules: Rule) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check the arguments of a function by rules, under their names; for an unknown argument, list those that it has.

    Examples
    --------
    >>> @checked(tol=accuracy)
    ... def solve(obj, tol=1e-6):
    ...     return obj
    >>> solve(3, tol=float("nan"))
    Traceback (most recent call last):
    cvxproof.exceptions.InvalidInputError: tol=nan must be a positive number.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        called = function.__qualname__.removesuffix(".__init__")
        if not rules.keys() <= signature.parameters.keys():
            raise AssertionError(f"{function.__name__} has no arguments {set(rules) - set(signature.parameters)}")

        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                given = signature.bind(*args, **kwargs)
            except TypeError as error:
                unknown = next((name for name in kwargs if name not in signature.parameters), None)
                raise InvalidTypeError(
                    f"{called}: {error}; pass what it takes: {among(unknown, signature.parameters)}"
                ) from error
            for name, rule in rules.items():
                if name in given.arguments:
                    value = rule(name, given.arguments[name])
                    if sp.issparse(value):  # in canonical form
                        given.arguments[name] = value
            return function(*given.args, **given.kwargs)

        return wrapped

    return decorate


@contextmanager
def foreign(remedy: str) -> Iterator[None]:
    """Raise errors of scikit-learn, numpy and scipy as the package's own, with a remedy."""
    try:
        yield
    except InvalidInputError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        kind = InvalidTypeError if isinstance(error, TypeError | AttributeError) else InvalidInputError
        raise kind(f"{error}; {remedy}.") from error
