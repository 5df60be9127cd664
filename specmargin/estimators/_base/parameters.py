"""Parameters of estimators: numbers and texts by rules of their names, parts by what reads their short forms.

A parameter is checked whether or not it is used. What depends on the data (q at most n) is checked where it is used.
`Composed` is the base of all estimators: it reads parts, sets parameters inside of them by nested names, and names the
part that has a parameter which the estimator itself has not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from specmargin.checks import (
    NUMBERS,
    Rule,
    accuracy,
    among,
    choice,
    count,
    flag,
    maybe,
    number,
    seed,
    shown,
)
from specmargin.estimators._base.sklearn_bases import BaseEstimator
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.parts import graph_of, laplacian_of
from specmargin.kernels.parts import Kernel, Landmarks, PrincipalComponents, kernel_of
from specmargin.parts import Part, SignatureOfInit, changed, parameters_of, require_number, require_part
from specmargin.solvers.parts import search_of, solver_of
from specmargin.spectra.parts import Eigenvectors, transform_of

__all__ = ["PARTS", "RULES", "Composed", "is_precomputed", "multiple_of", "part_of", "per_graph"]


_FUNCTIONS = {"auto": "auto", "kernel": "kernel", "landmarks": Landmarks(), "eigenvectors": Eigenvectors()}


def functions_of(name: str, value: Any) -> Any:
    """Return the functions that a parameter means: "auto", "kernel", or a part that makes fewer."""
    if isinstance(value, str):
        if value not in _FUNCTIONS:
            raise InvalidInputError(f"{name}={value!r} is unknown; take one of {among(value, _FUNCTIONS)}")
        return _FUNCTIONS[value]
    require_part(name, value)
    if not isinstance(value, Landmarks | Eigenvectors | PrincipalComponents):
        raise InvalidTypeError(
            f"{name}={shown(value)} are no functions; take 'auto', 'kernel', specmargin.kernels.Landmarks(500) or "
            "specmargin.spectra.Eigenvectors(200)."
        )
    return value


PARTS: dict[str, Callable[[str, Any], Any]] = {
    "functions": functions_of,
    "graph": graph_of,
    "kernel": kernel_of,
    "laplacian": laplacian_of,
    "search": search_of,
    "solver": solver_of,
    "transformation": transform_of,
}
"""What reads each part, short forms included."""


def part_of(name: str, value: Any) -> Any:
    """Return the part that a checked parameter means: itself, or that of a short form."""
    return value if isinstance(value, Part) else PARTS[name](name, value)


def is_precomputed(kernel: Any) -> bool:
    """Whether a kernel, which need not have been checked, is one whose matrices are passed."""
    return bool(getattr(kernel, "is_precomputed", False) or (isinstance(kernel, str) and kernel == "precomputed"))


def per_graph(rule: Rule) -> Rule:
    """Return the rule of one value, or of a list with one per graph."""

    def checked(name: str, value: Any) -> Any:
        several = isinstance(value, list | tuple | np.ndarray)
        if several and len(value) == 0:
            raise InvalidInputError(
                f"{name}={shown(value)} describes no graph: lists of graph parameters must have one length, got "
                f"{{{name!r}: 0}}; pass one value, which is repeated, or one per graph."
            )
        for one in value if several else [value]:
            rule(name, one)
        return value

    return checked


def or_word(rule: Rule, *texts: str, unit: str | None = None) -> Rule:
    """Return a rule that also takes one of some texts, or a multiple of a unit as text."""
    known = " or ".join(map(repr, texts if unit is None else (*texts, f"0.5 {unit}")))

    def checked(name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return rule(name, value)
        if value not in texts and (unit is None or multiple_of(unit, value) is None):
            raise InvalidInputError(f"{name}={shown(value)} is no number; take one, or {known}.")
        return value

    return checked


def multiple_of(unit: str, value: Any) -> float | None:
    """Return the m of a text "m unit", 1 of the unit alone, and None of anything else.

    Examples
    --------
    >>> multiple_of("gamma_A", "100 gamma_A"), multiple_of("share", "share"), multiple_of("share", 0.5)
    (100.0, 1.0, None)
    """
    if not isinstance(value, str) or not (value == unit or value.endswith(f" {unit}")):
        return None
    try:
        multiple = 1.0 if value == unit else float(value.removesuffix(f" {unit}"))
    except ValueError:
        return None
    return multiple if 0 <= multiple < np.inf else None


def _unlabeled(name: str, value: Any) -> Any:
    if np.ndim(value) != 0 or isinstance(value, Mapping | set | frozenset) or callable(value):
        raise InvalidTypeError(f"{name}={shown(value)}: the marker must be one scalar, nan or None; name one value.")
    return value


def _balance(name: str, value: Any) -> Any:
    if isinstance(value, Mapping | list | tuple | np.ndarray):
        return value  # checked against the classes
    return maybe(or_word(mean_label, "shrunk"))(name, value)


def mean_label(name: str, value: Any) -> Any:
    """Check the mean label of unlabelled samples."""
    if isinstance(value, bool) or not (isinstance(value, NUMBERS) and -1.0 <= float(value) <= 1.0):
        raise InvalidInputError(
            f"{name}={shown(value)} must be a number in [-1, 1], the mean label of the unlabelled samples: 2 p - 1 "
            "where a share p of them is positive; or 'shrunk', to estimate it."
        )
    return value


def or_shares(*choices: str | None) -> Rule:
    """Return the rule of a word out of several, or of a dict from classes to their known shares or intervals."""

    def rule(name: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return choice(*choices)(name, value)
        for key, share in value.items():
            for end in share if isinstance(share, tuple | list) else (share,):
                number(least=0)(f"{name}[{key!r}]", end)
        return value

    return rule


def _class_weight(name: str, value: Any) -> Any:
    if value is None or (isinstance(value, str) and value == "balanced"):
        return value
    if not isinstance(value, Mapping):
        kind = InvalidInputError if isinstance(value, str) else InvalidTypeError
        raise kind(f"{name}={shown(value)} must be 'balanced', a dict from classes to weights, or None.")
    for key, weight in value.items():
        number(above=0)(f"{name}[{key!r}]", weight)
    return value


def _model(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise InvalidTypeError(
            f"{name}={shown(value)} must be a function of the built problem that returns built.with_(...), such as "
            "specmargin.problems.models.fairness(group=0), or None."
        )
    return value


def _loss(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | list | tuple | dict):
        raise InvalidTypeError(
            f"{name}={shown(value)} is unknown; take a loss by its name, e.g. 'hinge' or 'squared_hinge'."
        )
    return value


def _cv(name: str, value: Any) -> Any:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return count(2)(name, value)
    text = isinstance(value, str)
    if value != "loo" if text else not hasattr(value, "split") and not hasattr(value, "__iter__"):
        kind = InvalidInputError if text else InvalidTypeError
        raise kind(f"{name}={shown(value)} must be 'loo', a number of folds, or a splitter.")
    return value


RULES: dict[str, Rule] = {
    "B": or_word(number(least=0, infinite=True), "auto"),
    "C": number(above=0),
    "C_star": maybe(or_word(number(least=0), unit="share")),
    "assign": choice("auto", "sign", "kmeans"),
    "balance": _balance,
    "class_balance": or_shares("shrunk", "zscore", "mass", None),
    "class_weight": _class_weight,
    "cv": _cv,
    "eigen_tol": number(least=0),
    "eps": number(least=0),
    "exponent": number(least=0),
    "fit_intercept": flag,
    "gamma_A": or_word(number(above=0), "auto"),
    "gamma_I": or_word(number(least=0), "auto", unit="gamma_A"),
    "loss": _loss,
    "model": _model,
    "multi_class": choice("ovr", "ovo"),
    "n_clusters": count(1),
    "n_components": count(1),
    "penalty": or_word(number(above=0), "loo"),
    "q": maybe(count(1)),
    "random_state": seed,
    "refine": choice("kmeans", None),
    "tol": accuracy,
    "unlabeled": _unlabeled,
    "w": number(least=1),
    **PARTS,
}
"""By the name of the parameter, which means the same in every estimator; exceptions are those of a class."""


class _Names(dict[type, tuple[str, ...]]):
    """Names of the parameters of classes; "**" is among them where one takes any."""

    def __missing__(self, cls: type) -> tuple[str, ...]:
        parameters = inspect.signature(cls).parameters.values()
        self[cls] = tuple("**" if one.kind is one.VAR_KEYWORD else one.name for one in parameters)
        return self[cls]


_KNOWN = _Names()


class Composed(BaseEstimator):
    """Estimator whose parameters are numbers, texts, and parts."""

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {}
    """Rules of the class instead of `RULES`."""
    __signature__ = SignatureOfInit()

    def __new__(cls, *_: Any, **given: Any) -> Self:
        if not given.keys() <= set(_KNOWN[cls]):
            for name, value in given.items():
                cls._require_known(name, value)
        return super().__new__(cls)

    @classmethod
    def _require_known(cls, name: str, value: Any) -> None:
        """Raise for the name of a parameter that there is not; name the part that has it."""
        known = _KNOWN[cls]
        if name in known or "**" in known:
            return
        held = [one for one in cls().get_params() if one.endswith(f"__{name}")]
        remedy = f"a part has it: set_params({held[0]}={shown(value)})." if held else f"it takes {among(name, known)}"
        raise InvalidTypeError(f"{cls.__name__} has no parameter {name!r}; {remedy}")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep` those of parts, too, such as ``kernel__gamma``.

        Parameters
        ----------
        deep : bool, default True
            Whether parameters of parts are listed.

        Returns
        -------
        dict
        """
        params = dict(super().get_params(deep=deep))
        for name, value in super().get_params(deep=False).items() if deep else ():
            if not hasattr(value, "get_params"):
                with suppress(InvalidInputError):
                    held = parameters_of(self._held(name), deep=True)
                    params |= {f"{name}__{inner}": own for inner, own in held.items()}
        return params

    def _held(self, name: str) -> Any:
        """Return the object whose parameters have nested names under that of a parameter; None where there is none."""
        value = getattr(self, name)
        if name == "estimator" and value is None:
            return self._usual()
        return PARTS[name](name, value) if name in PARTS and not hasattr(value, "get_params") else value

    @classmethod
    def _usual(cls) -> Any:
        """Return the estimator that a search stands for where none is given."""
        raise NotImplementedError

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``kernel__gamma`` puts another kernel instead of the one that there is.

        Parameters
        ----------
        **params
            Parameters, those of parts under nested names.

        Returns
        -------
        self
        """
        nested: dict[str, dict[str, Any]] = {}
        known = _KNOWN[type(self)]
        for name, value in params.items():
            root, _, inner = name.partition("__")
            if inner and root in known:
                nested.setdefault(root, {})[inner] = value
            else:
                self._require_known(name, value)
                setattr(self, name, value)
        for root, changes in nested.items():
            setattr(self, root, self._changed(root, changes))
        return self

    def _changed(self, name: str, changes: Mapping[str, Any]) -> Any:
        """Return a parameter with other values of what it holds."""
        several = name in ("graph", "laplacian") and isinstance(getattr(self, name), list | tuple)
        held = getattr(self, name) if several else self._held(name)
        if isinstance(held, BaseEstimator) and name == "estimator":
            return clone(held).set_params(**changes)
        if several or name not in PARTS:
            raise InvalidInputError(f"{name}={shown(held)} holds no parameters; set {name} itself.")
        return changed(name, held, changes)

    def _check_parameters(self) -> None:
        """Raise for a parameter that is none, whether it is used or not; a default is one."""
        rules: dict[str, Rule] = {}
        for name in _KNOWN[type(self)]:
            value = getattr(self, name)
            if value is getattr(type(self), name, ...):
                continue
            if not rules:
                rules |= RULES
                for cls in reversed(type(self).__mro__):
                    rules |= vars(cls).get("_parameter_rules", {})
            if name != "unlabeled":
                require_number(name, value)
            if name in rules:
                rules[name](name, value)

    @property
    def _is_precomputed(self) -> bool:
        """Whether matrices of a kernel are passed instead of samples."""
        kernel = getattr(self, "kernel", None)
        return kernel.is_precomputed if isinstance(kernel, Kernel) else kernel is not None and is_precomputed(kernel)
