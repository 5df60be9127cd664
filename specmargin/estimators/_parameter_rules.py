"""Rules of the parameters of the estimators, one per name, checked before `fit` does any work.

A parameter is checked whether or not it is used: ``degree="three"`` is an error under every kernel. What depends on
the data (q at most n, candidates that fit the graph) is checked where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from specmargin.checks import (
    NUMBERS,
    Rule,
    accuracy,
    check_options,
    choice,
    count,
    flag,
    iterations,
    maybe,
    number,
    seed,
    shown,
    solver_names,
)
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.kinds import KIND
from specmargin.graphs.laplacians import POWERS
from specmargin.graphs.neighbors import METRIC, REDUCE
from specmargin.graphs.weights import WEIGHT
from specmargin.kernels.rules import GAMMA, KERNEL


def per_graph(rule: Rule) -> Rule:
    """Return the rule of one value, or of a list with one per graph."""

    def checked(name: str, value: Any) -> Any:
        if isinstance(value, list | tuple | np.ndarray):
            if len(value) == 0:
                raise InvalidInputError(
                    f"{name}={shown(value)} describes no graph: lists of graph parameters must have one length, got "
                    f"{{{name!r}: 0}}; pass one value, which is repeated, or one per graph."
                )
            for one in value:
                rule(name, one)
            return value
        return rule(name, value)

    return checked


def candidates(rule: Rule) -> Rule:
    """Return the rule of a list of at least one candidate."""

    def checked(name: str, value: Any) -> Any:
        listed = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
        if not listed or np.ndim(value) != 1 or len(value) == 0:
            raise InvalidInputError(f"{name}={shown(value)} must be a list of at least one candidate.")
        for one in value:
            rule(f"an entry of {name}", one)
        return value

    return checked


def or_word(rule: Rule, word: str) -> Rule:
    """Return a rule that also takes a word."""

    def checked(name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return rule(name, value)
        if value != word:
            raise InvalidInputError(f"{name}={shown(value)} is no number; take one, or {word!r}.")
        return value

    return checked


def _bound(name: str, value: Any) -> Any:
    text = isinstance(value, str)
    if text and value == "auto":
        return value
    if isinstance(value, bool) or not isinstance(value, NUMBERS):
        kind = InvalidInputError if text else InvalidTypeError
        raise kind(f"{name}={shown(value)} must be a number >= 0, inf, or 'auto'.")
    if not float(value) >= 0:
        raise InvalidInputError(f"{name}={value!r} must be >= 0, inf, or 'auto'.")
    return value


def _unlabeled(name: str, value: Any) -> Any:
    if np.ndim(value) != 0 or isinstance(value, Mapping | set | frozenset) or callable(value):
        raise InvalidTypeError(f"{name}={shown(value)}: the marker must be one scalar, nan or None; name one value.")
    return value


def _solver_params(name: str, value: Any) -> Any:
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        raise InvalidTypeError(f"{name}={shown(value)} must be a dict from names of options, or None.")
    return value


def _balance(name: str, value: Any) -> Any:
    if value is None or (isinstance(value, Mapping | Sequence | np.ndarray) and not isinstance(value, str)):
        return value  # checked against the classes
    if isinstance(value, str) and value == "shrunk":
        return value
    return mean_label(name, value)


def mean_label(name: str, value: Any) -> Any:
    """Check the mean label of unlabelled samples."""
    if isinstance(value, bool) or not (isinstance(value, NUMBERS) and -1.0 <= float(value) <= 1.0):
        raise InvalidInputError(
            f"{name}={shown(value)} must be a number in [-1, 1], the mean label of the unlabelled samples: 2 p - 1 "
            "where a share p of them is positive; or 'shrunk', to estimate it."
        )
    return value


def share_multiple(value: Any) -> float | None:
    """Return the m of the text "m share", 1 of "share", and None of anything else."""
    if not isinstance(value, str) or not (value == "share" or value.endswith(" share")):
        return None
    try:
        multiple = 1.0 if value == "share" else float(value.removesuffix(" share"))
    except ValueError:
        return None
    return multiple if 0 <= multiple < np.inf else None


def _share_or(rule: Rule) -> Rule:
    """Return a rule that also takes "share" and its multiples."""

    def checked(name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return rule(name, value)
        if share_multiple(value) is None:
            raise InvalidInputError(f"{name}={shown(value)} is no weight; take a number, 'share', or e.g. '0.5 share'.")
        return value

    return checked


def _penalty(name: str, value: Any) -> Any:
    if isinstance(value, str) and value != "loo":
        raise InvalidInputError(f"{name}={value!r} must be a positive number or 'loo'.")
    return value if isinstance(value, str) else number(above=0)(name, value)


def _gammas(name: str, value: Any) -> Any:
    # "0.5 median" is read where it is used.
    return value if isinstance(value, str) and value.endswith(" median") else GAMMA(name, value)


def _name_or_object(known: str) -> Rule:
    """Return the rule of a name, or of an object that is checked where it is used (a loss, a function, a splitter)."""

    def checked(name: str, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | list | tuple | dict):
            raise InvalidTypeError(f"{name}={shown(value)} is unknown; take {known}.")
        return value

    return checked


def _cv(name: str, value: Any) -> Any:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return count(2)(name, value)
    text = isinstance(value, str)
    if value != "loo" if text else not hasattr(value, "split") and not hasattr(value, "__iter__"):
        kind = InvalidInputError if text else InvalidTypeError
        raise kind(f"{name}={shown(value)} must be 'loo', a number of folds, or a splitter.")
    return value


RULES: dict[str, Rule] = {
    "B": _bound,
    "C": number(above=0),
    "C_star": maybe(_share_or(number(least=0))),
    "assign": choice("auto", "sign", "kmeans"),
    "balance": _balance,
    "class_balance": choice("credible", "shrunk", "zscore", "mass", None),
    "coef0": number(),
    "cv": _cv,
    "degree": number(least=0),
    "eigen_tol": number(least=0),
    "eps": number(least=0),
    "exponent": number(least=0),
    "fit_intercept": flag,
    "gamma": GAMMA,
    "gamma_A": number(above=0),
    "gamma_As": maybe(candidates(or_word(number(above=0), "auto"))),
    "gamma_I": number(least=0),
    "gamma_Is": maybe(candidates(number(least=0))),
    "gammas": candidates(_gammas),
    "intercept": choice("balance", "regularized", "free"),
    "k": count(1),
    "kernel": KERNEL,
    "kind": KIND,
    "loss": _name_or_object("a loss by its name, e.g. 'hinge' or 'squared_hinge'"),
    "max_iter": maybe(iterations),
    "metric": METRIC,
    "multi_class": choice("ovr", "ovo"),
    "n_clusters": count(1),
    "n_components": count(1),
    "n_landmarks": maybe(count(1)),
    "n_neighbors": maybe(count(1)),
    "normalized": flag,
    "one_flip": flag,
    "penalty": _penalty,
    "power": count(1, POWERS),
    "powers": candidates(count(1, POWERS)),
    "q": maybe(count(1)),
    "random_state": seed,
    "rank": maybe(count(1)),
    "ratio": number(least=0),
    "ratios": candidates(number(least=0)),
    "reduce": REDUCE,
    "refine": choice("kmeans", None),
    "s": number(),
    "sigma": maybe(number(above=0)),
    "solver": solver_names,
    "solver_params": _solver_params,
    "span": choice("auto", "kernel", "landmarks", "eigenvectors"),
    "tol": accuracy,
    "unlabeled": _unlabeled,
    "w": number(least=1),
    "weight": WEIGHT,
}
"""By the name of the parameter, which means the same in every estimator; exceptions are those of a class."""


def check_parameters(estimator: Any) -> None:
    """Check every parameter of an estimator by `RULES`, or by the ``_parameter_rules`` of its class and its bases."""
    rules = dict(RULES)
    for cls in reversed(type(estimator).__mro__):
        rules |= vars(cls).get("_parameter_rules", {})
    given = estimator.get_params(deep=False)
    for name, value in given.items():
        if isinstance(value, np.ndarray) and value.ndim == 0 and name != "unlabeled":
            raise InvalidTypeError(f"{name}={value!r} is an array; pass the number itself, {name}={value.item()!r}.")
    check_options(given, rules)
