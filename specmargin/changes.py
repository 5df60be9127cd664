"""Changes of built problems: what a function of `specmargin.problems.models` returns, and the parameter `model` takes.

Nothing here needs CVXPY, so that an estimator with such a change is saved and loaded without it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, Concatenate, ParamSpec

import joblib

from specmargin.checks import Rule, checked, shown
from specmargin.exceptions import InvalidTypeError

__all__ = ["Change", "change"]

P = ParamSpec("P")

_FUNCTIONS: dict[str, Callable[..., Any]] = {}


@dataclass(frozen=True, eq=False, repr=False)
class Change:
    """A change of a built problem by name, with its options: called with the problem, it returns the changed one.

    Parameters
    ----------
    name : str
        Function of `specmargin.problems.models`, which makes the change.
    options : mapping of str to object
        Its arguments.

    Examples
    --------
    >>> import specmargin as sm
    >>> sm.problems.models.fairness(group=0, at_most=0.1)
    fairness(group=0, at_most=0.1, label='fairness')
    """

    name: str
    options: Mapping[str, Any]

    def __call__(self, built: Any) -> Any:
        """Return the changed problem."""
        if not hasattr(built, "expressions"):
            raise InvalidTypeError(
                f"built={shown(built)} is of the type {type(built).__name__}, not BuiltProblem; build one by a "
                "function of specmargin.problems."
            )
        if self.name not in _FUNCTIONS:
            import_module("specmargin.problems.models")
        return _FUNCTIONS[self.name](built, **self.options)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={shown(value)}' for name, value in self.options.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Change) and _digest(self) == _digest(other)

    def __hash__(self) -> int:
        return hash(_digest(self))


def _digest(change: Change) -> str:
    return str(joblib.hash((change.name, dict(change.options))))  # arrays by their values


def change(**rules: Rule) -> Callable[[Callable[Concatenate[Any, P], Any]], Callable[P, Change]]:
    """Turn a function of a built problem and options into one of the options, checked by rules, that makes a `Change`.

    Examples
    --------
    >>> from specmargin.checks import number
    >>> @change(at_most=number(least=0))
    ... def bounded(built, at_most):
    ...     return built.with_(constraints={"bound": built.expressions["decisions"] <= at_most})
    >>> bounded(2.0)
    bounded(at_most=2.0)
    """

    def decorate(function: Callable[Concatenate[Any, P], Any]) -> Callable[P, Change]:
        signature = inspect.signature(function)
        _, *options = signature.parameters.values()
        _FUNCTIONS[function.__name__] = function

        @wraps(function)
        def made(*args: P.args, **kwargs: P.kwargs) -> Change:
            bound = made.__signature__.bind(*args, **kwargs)  # type: ignore[attr-defined]
            bound.apply_defaults()  # so that a change is the same whether its options are named or not
            return Change(function.__name__, bound.arguments)

        made.__signature__ = signature.replace(parameters=options, return_annotation="Change")  # type: ignore[attr-defined]
        return checked(**rules)(made)

    return decorate
