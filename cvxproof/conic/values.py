"""Values of variables and multipliers of constraints, as CVXPY holds them, as arrays."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from cvxproof.typing import AnyArray

__all__ = ["dense", "densify", "dual_of", "parts_of", "value_of"]


def parts_of(held: Any) -> list[Any]:
    """Return what is held under one label, such as constraints, as a list of them."""
    return held if isinstance(held, list) else [held]


def dual_of(constraint: Any) -> AnyArray | None:
    """Return CVXPY's multipliers of a constraint, of a cone its parts one after the other; None where it has none."""
    parts = parts_of(constraint.dual_value)
    if any(part is None for part in parts):
        return None
    whole = [np.asarray(part, dtype=complex if np.iscomplexobj(part) else float) for part in map(dense, parts)]
    return whole[0] if len(whole) == 1 else np.concatenate([np.ravel(part) for part in whole])


def value_of(part: Any) -> AnyArray | None:
    """Return the value of a variable or an expression as an array; None where it has none."""
    value = part.value if getattr(part, "sparse_idx", None) is None else part.value_sparse
    return None if value is None else np.asarray(dense(value))


def densify(problem: cp.Problem) -> None:
    """Let variables that are diagonal hold arrays: CVXPY cannot index the value that it gives them itself."""
    for variable in problem.variables():
        if variable.attributes["diag"] and sp.issparse(variable.value):
            variable.save_value(variable.value.toarray())


def dense(value: Any) -> Any:
    """Return an array in the place of a sparse one."""
    return value.toarray() if sp.issparse(value) else value
