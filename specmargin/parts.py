"""Parts that estimators are composed of: small objects with parameters, a repr and equality, that never change.

A part is a frozen dataclass that derives from `Part`. It can be called by itself (a kernel with samples, a graph with
samples, a Laplacian with an adjacency), and scikit-learn reads its parameters under nested names such as
``kernel__gamma``. `parameters_of` and `changed` treat a part of somebody else's, with or without scikit-learn's
``get_params``, in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np

from specmargin.checks import among, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError

__all__ = ["Part", "changed", "fitted_attribute", "parameters_of"]


class Part:
    """Base of the parts: parameters by name, and a repr that shows those that are not the default."""

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Refuse arrays in the place of numbers, which could be neither compared nor hashed."""
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        for name, value in {**dict(zip(names, given, strict=False)), **named}.items():
            if isinstance(value, np.ndarray) and value.ndim == 0:
                raise InvalidTypeError(
                    f"{name}={value!r} is an array; pass the number itself, {name}={value.item()!r}."
                )
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


def fitted_attribute(part: Any) -> str | None:
    """Return the name of an attribute that only something fitted has, or None."""
    own = vars(part) if hasattr(part, "__dict__") else {}
    return next((name for name in own if name.endswith("_") and not name.startswith("_")), None)
