"""What every objective offers, under the same names: six members, so that any answer of any solver can be proved anew.

    obj.name, obj.variables            what it is, and the arrays that decide its value
    obj.value(variables)               the objective there
    obj.certificate(variables, duals)  how far from the optimum that is, recomputed from the data
    obj.decisions(variables)           the decisions of the samples
    obj.with_(C=2.0)                   the same problem with a field changed; what stays true is not computed again

The data stay the caller's: a kernel may fill the memory. An objective, and a problem built from it, refer to the arrays
that they are given and compute some things once, so that a certificate is that of the data only while these are not
changed; pass copies of arrays that will be changed. Estimators copy what they are given.

`variables` are mappings of names to arrays, as in `SolveResult.variables`; names that an objective does not ask for
are ignored. `specmargin.certify` takes a whole result. Solvers call the methods below these, which take arrays and
what is known already (`value_at`, `prove`, `decisions_at`); the six call the same, so that nothing is written twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import fields, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from specmargin.checks import numeric, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.results import Certificate, SolveResult
from specmargin.typing import FloatArray

__all__ = [
    "ANY",
    "Arrays",
    "ByName",
    "Objective",
    "Shapes",
    "certify",
    "changed",
    "multipliers_of",
    "read",
    "require_fields",
    "unchecked",
]

Arrays = Mapping[str, Any]
"""Names and arrays, or numbers where the shape is ()."""
Shapes = Mapping[str, tuple[int, ...]]
"""Names and shapes."""
ANY = -1
"""A length that the objective leaves open."""

T = TypeVar("T")


@runtime_checkable
class Objective(Protocol):
    """An objective: data and mathematics, and nothing that changes.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.objectives import RMM
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> obj = RMM(X @ X.T, encode_labels([0, 0, 1, 1]), C=1.0)
    >>> isinstance(obj, Objective), obj.name, dict(obj.variables)
    (True, 'SVM', {'gamma': (4,), 'b': ()})
    >>> answer = {"gamma": np.array([0.0, -0.5, 0.5, 0.0]), "b": 0.0}
    >>> obj.value(answer), obj.certificate(answer).is_optimal(1e-14), obj.decisions(answer).tolist()
    (0.5, True, [-2.0, -1.0, 1.0, 3.0])
    >>> obj.with_(C=2.0).C
    2.0
    """

    @property
    def name(self) -> str:
        """What the problem is called."""

    @property
    def variables(self) -> Shapes:
        """Names and shapes of the variables that decide the value; a length of -1 is open, () is a number."""

    def value(self, variables: Arrays) -> float:
        """Return the objective; inf where a constraint is violated by more than rounding."""

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Measure the gap at the variables, recomputed from the data.

        Parameters
        ----------
        variables : mapping of str to array
            Arrays, at least those of `variables`. What is feasible up to rounding is taken as it is; other points are
            repaired first, which `Certificate.primal_residual` measures.
        duals : mapping of str to array, optional
            Multipliers, under the names that the objective's own docstring gives; any numbers are allowed, they are
            repaired. Those that are not given are derived from the variables.
        """

    def decisions(self, variables: Arrays) -> FloatArray:
        """Return the decisions of the samples."""

    def with_(self, **changes: Any) -> Self:
        """Return the same problem with fields changed, sharing what was computed and stays true."""


class ByName(ABC):
    """What the objectives of this package share: members of the contract, by the methods that take arrays.

    A subclass is a frozen dataclass. Its `value_at` and `decisions_at` take the arrays of `variables`, in that order.
    """

    value_at: Callable[..., float]
    decisions_at: Callable[..., FloatArray]
    weights_only: ClassVar[frozenset[str]] = frozenset()
    """Fields that `renew` looks at, and no cached property."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the problem is called."""

    @property
    @abstractmethod
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""

    def _read(self, variables: Arrays) -> list[Any]:
        """Return the arrays of `variables`."""
        return read(self.variables, variables)

    def value(self, variables: Arrays) -> float:
        """Return the objective at the variables; inf where a constraint is violated by more than rounding."""
        return self.value_at(*self._read(variables))

    def decisions(self, variables: Arrays) -> FloatArray:
        """Return f at all samples, with a column per class or function where there are several."""
        return self.decisions_at(*self._read(variables))

    def with_(self, **changes: Any) -> Self:
        """Return the same problem with fields changed, sharing what was computed where only weights are."""
        require_fields(self, changes)
        if changes.keys() - self.weights_only:
            return replace(self, **changes)  # type: ignore[type-var]  # subclasses are dataclasses
        for name, value in changes.items():
            numeric(name, value)
        other = changed(self, changes)
        other.renew()
        return other

    def renew(self) -> None:  # noqa: B027  # most have none of these fields
        """Check the fields of `weights_only`, and set what follows from them."""


def unchecked(cls: type[T], *args: Any, **fields: Any) -> T:
    """Return an objective of arguments that are known to be of the right kinds, which its public constructor asks."""
    made = object.__new__(cls)
    vars(cls)["__init__"].__wrapped__(made, *args, **fields)
    return made


def certify(objective: Objective, result: SolveResult | Arrays, duals: Arrays | None = None) -> Certificate:
    """Recompute from the data how far an answer is from the optimum, whoever found it.

    Parameters
    ----------
    objective : Objective
        The problem that was solved.
    result : SolveResult or mapping of str to array
        Result of any solver, here or elsewhere: at least the variables that `Objective.variables` names.
    duals : mapping of str to array, optional
        Multipliers, for a mapping of variables. The objective's docstring names those that count. They are looked for
        among the duals of a result, then among its variables, and derived from the variables where there are none.

    Returns
    -------
    Certificate
        Certificate by the objective, which looks at nothing but the data. Of a problem that is not convex it holds the
        value and how nearly the point is stationary, and no bound: its gap is infinite.

    Raises
    ------
    TypeError
        If `objective` is no objective, or `result` neither a result nor a mapping.
    ValueError
        If a variable is missing, of another shape, or not finite.

    Examples
    --------
    >>> import specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> obj = sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0, B=1.5)
    >>> certify(obj, sm.solve(sm.problems.rmm(obj))).is_optimal(1e-6)
    True
    >>> certify(obj, sm.solvers.relative_margin(obj)).is_optimal(1e-12)
    True
    >>> certify(obj, {"gamma": np.zeros(4), "b": 0.0}).primal_objective
    4.0
    """
    if isinstance(objective, type) or not isinstance(objective, Objective):
        raise InvalidTypeError(
            f"objective={shown(objective)} is no objective; build one of specmargin.objectives from data and labels."
        )
    if isinstance(result, SolveResult):
        variables, known = result.variables, result.duals
        if not result.status.has_solution:
            raise InvalidInputError(f"the result is {result.status.name}: it holds no answer to certify.")
    else:
        variables, known = result, {} if duals is None else duals
    if not isinstance(variables, Mapping):
        raise InvalidTypeError(
            f"result={shown(result)} must be a SolveResult, or a mapping of names to arrays; pass a result's variables."
        )
    if not isinstance(known, Mapping):
        raise InvalidTypeError(f"duals={shown(known)} must be a mapping of names to arrays; pass a result's duals.")
    return objective.certificate(variables, {**variables, **known})


def read(shapes: Shapes, given: Arrays) -> list[Any]:
    """Return the arrays of those names, in that order, and numbers where the shape is ().

    Raises
    ------
    TypeError, ValueError
        If `given` is no mapping, lacks a name, or holds anything but finite numbers of the right shape.

    Examples
    --------
    >>> w, b = read({"w": (2,), "b": ()}, {"w": [1, 2], "b": 0.5, "f": None})
    >>> w.tolist(), float(b)
    ([1.0, 2.0], 0.5)
    """
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            f"variables must map names to arrays, such as a result's variables, not be of type {type(given).__name__}; "
            f"pass {{{', '.join(f'{name!r}: ...' for name in shapes)}}}."
        )
    missing = [name for name in shapes if name not in given]
    if missing:
        raise InvalidInputError(
            f"the variables lack {', '.join(map(repr, missing))}, but the objective depends on "
            f"{', '.join(f'{name} of the shape {_shape(shape)}' for name, shape in shapes.items())}; "
            "pass the answer of a solver of this very problem."
        )
    return [_array(name, given[name], shape) for name, shape in shapes.items()]


def multipliers_of(shapes: Shapes, duals: Arrays | None) -> list[FloatArray | None]:
    """Return the multipliers of those names, None for the ones that are not given."""
    held = {} if duals is None else duals
    return [_array(name, held[name], shape) if name in held else None for name, shape in shapes.items()]


def _array(name: str, value: Any, shape: tuple[int, ...]) -> FloatArray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(
            f"{name} must hold numbers, of the shape {_shape(shape)}, not {value!r}; pass an array of them."
        ) from error
    if array.ndim == 1 and len(shape) == 2 and shape[1] == ANY:
        array = array[:, None]
    if array.ndim != len(shape) or any(k not in (ANY, m) for m, k in zip(array.shape, shape, strict=True)):
        raise InvalidInputError(
            f"{name} has the shape {np.shape(value)}, but this problem's is {_shape(shape)}; pass the answer of a "
            "solver of this very problem."
        )
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{name} holds NaN or inf; pass an answer of finite numbers.")
    return array[()]


def _shape(shape: tuple[int, ...]) -> str:
    return str(shape).replace(str(ANY), "any number")


def require_fields(objective: Any, changes: Mapping[str, Any]) -> None:
    """Raise where changes name what is no field of an objective."""
    known = [field.name for field in fields(objective) if field.init]
    unknown = sorted(changes.keys() - set(known))
    if unknown:
        raise InvalidTypeError(
            f"{type(objective).__name__} has no {', '.join(unknown)} to change; its fields are {', '.join(known)}."
        )


def changed(objective: T, changes: Mapping[str, Any], untrue: Iterable[str] = ()) -> T:
    """Return a copy with fields set and with all cached properties but those that are no longer true.

    Parameters
    ----------
    objective : object
        Frozen, its caches are `functools.cached_property`.
    changes : mapping of str to object
        New values of fields, checked already; or of a cached property, where it is known.
    untrue : iterable of str
        Cached properties that depend on these fields.
    """
    other = copy(objective)
    for name in untrue:
        if name in vars(other):
            object.__delattr__(other, name)
    for name, value in changes.items():
        object.__setattr__(other, name, value)
    return other
