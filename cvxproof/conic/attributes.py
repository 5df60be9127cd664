"""The constraints of a problem by their names, and attributes of variables as constraints, such as "X is PSD"."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import cvxpy as cp
import numpy as np

__all__ = ["attribute_constraints", "named_constraints", "told_apart", "written_out"]

_SIGNS = ("nonneg", "nonpos", "pos", "neg", "PSD", "NSD")
_SHAPES = {"symmetric": "symmetric", "hermitian": "hermitian", "diag": "diagonal", "sparsity": "sparse"}


def told_apart(named: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a mapping of all that is named: one whose name is taken has its place behind it."""
    held: dict[str, Any] = {}
    for k, (name, part) in enumerate(named):
        while name in held:
            name = f"{name}_{k}"
        held[name] = part
    return held


def named_constraints(problem: cp.Problem) -> dict[str, Any]:
    """Return the constraints by their labels; those without one by their place, constraint_0, constraint_1 ...

    Of two with one label the second has its place behind it.
    """
    labels = (one.label for one in problem.constraints)
    names = (f"constraint_{k}" if label is None else str(label) for k, label in enumerate(labels))
    return told_apart(zip(names, problem.constraints, strict=True))


def attribute_constraints(problem: cp.Problem, shapes: bool = False) -> dict[str, list[Any]]:
    """Return what the attributes of the variables ask for, by the name of the variable and the attribute.

    With `shapes`, also that a variable is symmetric, hermitian, diagonal or sparse, of which no solver sees anything.
    """
    named: dict[str, list[Any]] = {}
    for variable in problem.variables():
        name, has, held = variable.name(), variable.attributes, variable.domain
        signs, shape = [sign for sign in _SIGNS if has[sign]], _shape(variable) if shapes else []
        if has["bounds"]:
            for one in held:
                named[f"{name} has {'lower' if one.args[1].variables() else 'upper'} bounds"] = [one]
        elif held:
            named[f"{name} is {' and '.join(signs)}"] = [*held, *(shape if has["PSD"] or has["NSD"] else [])]
        named |= {f"{name} is {word}": shape for key, word in _SHAPES.items() if shape and has[key]}
    return named


def _shape(variable: cp.Variable) -> list[Any]:
    """Return that entries are zero, or that a matrix is its own adjoint, each pair once where its entries are real."""
    if variable.sparse_idx is not None:
        is_zero = np.ones(variable.shape, dtype=bool)
        is_zero[variable.sparse_idx] = False
        return [variable[is_zero] == 0] if is_zero.any() else []
    if variable.ndim != 2 or variable.shape[0] != variable.shape[1] or variable.size < 2:
        return []
    if variable.attributes["diag"]:
        return [cp.upper_tri(variable) == 0, cp.upper_tri(variable.T) == 0]
    whole = variable - variable.H
    return [whole == 0 if variable.is_complex() else cp.upper_tri(whole) == 0]


def written_out(problem: cp.Problem, named: dict[str, list[Any]], shapes: bool = False) -> cp.Problem | None:
    """Return the problem whose variables have no attributes but those constraints, first, or None if it is not DCP.

    Variables and constraints keep their numbers, by which CVXPY hands over values and multipliers.
    """
    free = ("complex", "imag", *(() if shapes else _SHAPES))
    places: dict[int, Any] = {}
    for variable in problem.variables():
        has = {name: value for name, value in variable.attributes.items() if name in free and value}
        if variable.attributes["hermitian"]:
            has["complex" if shapes else "hermitian"] = True
        elif not shapes and (variable.attributes["PSD"] or variable.attributes["NSD"]):
            has["symmetric"] = True
        places[id(variable)] = cp.Variable(variable.shape, variable.name(), var_id=variable.id, **has)
    with suppress(Exception):  # what CVXPY cannot copy stays as it is
        held = [one.tree_copy(places) for part in named.values() for one in part]
        held += [one.tree_copy(places) for one in problem.constraints]
        out = cp.Problem(problem.objective.tree_copy(places), held)
        return out if out.is_dcp() else None
    return None
