"""Parts that estimators are composed of: small objects with parameters, a repr and equality, that never change.

A part is a frozen dataclass that derives from `Part`. It can be called by itself (a kernel with samples, a graph with
samples, a Laplacian with an adjacency), and scikit-learn reads its parameters under nested names such as
``kernel__gamma``. `parameters_of` and `changed` treat a part of somebody else's, with or without scikit-learn's
``get_params``, in the same way. A function ``*_of`` next to each kind of part reads what a parameter means, short forms
included; `require_part` and `from_number` are what these functions share.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from specmargin.checks import among, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError

__all__ = ["Part", "SignatureOfInit", "changed", "from_number", "parameters_of", "require_number", "require_part"]


class SignatureOfInit:
    """The signature of a class whose ``__new__`` takes anything, for tools that ask ``__new__`` before ``__init__``."""

    def __get__(self, instance: object, cls: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        _, *parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]  # of this very class
        return inspect.Signature(parameters)


class Part:
    """Base of the parts: parameters by name, and a repr that shows those that are not the default."""

    __signature__ = SignatureOfInit()

    if not TYPE_CHECKING:  # of a part without parameters a type checker would ask what it takes

        def __new__(cls, *given: Any, **named: Any) -> Self:
            """Refuse arrays where numbers are meant."""
            names = [field.name for field in fields(cls)]
            for name, value in {**dict(zip(names, given, strict=False)), **named}.items():
                require_number(name, value)
            return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn asks for them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Refuse: several estimators may hold one part, and none would know that it has changed."""
        raise InvalidTypeError(
            f"{self!r} does not change; make another one, {type(self).__name__}(...), or set the nested name of the "
            "estimator, such as set_params(kernel__gamma=1.0)."
        )

    def with_(self, **changes: Any) -> Self:
        """Return a part with other values of some parameters."""
        return replace(self, **changes)  # type: ignore[type-var]  # every part is a dataclass

    def resolved(self, **values: Any) -> Self:
        """Return a part with values that rules of this one have led to, which nobody has to check."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), **values)
        return made

    def __sklearn_clone__(self) -> Self:
        return self

    def __repr__(self) -> str:
        given = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)  # type: ignore[arg-type]
            if repr(getattr(self, field.name)) != repr(field.default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"


def parameters_of(part: Any, deep: bool = False) -> dict[str, Any]:
    """Return the parameters of a part by name; none of a function.

    Examples
    --------
    >>> from specmargin.kernels import RBF
    >>> parameters_of(RBF(2.0)), parameters_of(max)
    ({'gamma': 2.0}, {})
    """
    return dict(part.get_params(deep=deep)) if hasattr(part, "get_params") and not isinstance(part, type) else {}


def changed(name: str, part: Any, changes: Mapping[str, Any]) -> Any:
    """Return a part like this one with other values of some parameters; `name` is that of the estimator's parameter.

    Raises
    ------
    InvalidInputError
        If it has no parameter of such a name.

    Examples
    --------
    >>> from specmargin.graphs import KNN
    >>> changed("graph", KNN(5), {"weight": "heat"})
    KNN(n_neighbors=5, weight='heat')
    """
    own = parameters_of(part)
    deeper: dict[str, dict[str, Any]] = {}
    for inner, value in changes.items():
        first, _, rest = inner.partition("__")
        if first not in own:
            raise InvalidInputError(
                f"{name}__{inner} is unknown: {name}={shown(part)} has "
                + (f"the parameters {among(inner, own)}" if own else "no parameters; set the whole part instead.")
            )
        if rest:
            deeper.setdefault(first, {})[rest] = value
        else:
            own[first] = value
    for first, within in deeper.items():
        own[first] = changed(f"{name}__{first}", own[first], within)
    return type(part)(**own)


def require_number(name: str, value: Any) -> None:
    """Raise for an array of no dimension: parameters are compared and hashed, which it cannot be."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        raise InvalidTypeError(f"{name}={value!r} is an array; pass the number itself, {name}={value.item()!r}.")


def require_part(name: str, value: Any) -> None:
    """Raise for a class where its object is meant, and for something fitted."""
    if isinstance(value, type):
        raise InvalidTypeError(f"{name}={value.__name__} is a class; pass an object, {value.__name__}().")
    own = vars(value) if hasattr(value, "__dict__") else {}
    fitted = [attribute for attribute in own if attribute.endswith("_") and not attribute.startswith("_")]
    if fitted:
        raise InvalidInputError(f"{name}={shown(value)} is fitted (it has {fitted[0]}); pass one that is not.")


def from_number(name: str, value: Any, make: Callable[[Any], Any]) -> Any:
    """Return the part that a number is the short form of; its errors name the parameter."""
    try:
        return make(value)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}={shown(value)}: {error}") from error
