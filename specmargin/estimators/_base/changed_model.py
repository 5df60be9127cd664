"""The parameter `model`: a change of the program that an estimator solves, and its answer.

The function gets the problem in the form that has decisions (`specmargin.problems.primal`), and returns what
`BuiltProblem.with_` makes of it.
The answer is that of the changed program, and so is the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from specmargin.estimators._base.parameters import is_precomputed
from specmargin.estimators._base.semi_supervised import solved_by_cvxpy
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.labels import Labels
from specmargin.results import SolveResult
from specmargin.solvers.parts import Solver
from specmargin.typing import FloatArray, Matrix

_OF_THE_PACKAGE = ("dual", "factorized", "newton", "pcg")


class ChangedModel(NamedTuple):
    """The change of one problem; none where `model` is None."""

    model: Any
    samples: Matrix | None = None
    positive: Any = None
    block: FloatArray | None = None
    """The kernel between all and the labelled samples, where the problem has decisions of the latter only."""
    n_classes: int = 2

    @classmethod
    def of(cls, estimator: Any, X: Matrix, positive: Any = None, block: FloatArray | None = None) -> ChangedModel:
        """Return the change that an estimator asks for, of the problem whose decisions are positive for a class."""
        return cls(estimator.model, None if is_precomputed(getattr(estimator, "kernel", None)) else X, positive, block)

    def __bool__(self) -> bool:
        """Whether there is one."""
        return self.model is not None

    def __call__(self, objective: Any) -> Any:
        """Return the problem of an objective with the change."""
        from specmargin import problems

        known = {"samples": self.samples, "positive": self.positive, "n_classes": self.n_classes}
        built = replace(problems.primal(objective), **known)
        if self.block is not None:
            decisions = self.block @ built.expressions["coefficients"] + built.variables["b"]
            built = replace(built, expressions={**built.expressions, "decisions": decisions})
        changed = self.model(built)
        if not isinstance(changed, problems.BuiltProblem) or changed.original is not built.original:
            raise InvalidTypeError(
                f"model={self.model!r} returned {type(changed).__name__}; return what built.with_(constraints=..., "
                "terms=...) makes of the problem that it was given."
            )
        return changed

    def solved(self, objective: Any, solver: Solver) -> SolveResult:
        """Return the answer of the changed problem."""
        from specmargin import problems

        names = problems.default_solvers() if solver.name == "auto" else solver.name
        if names in _OF_THE_PACKAGE:
            raise InvalidInputError(
                f"solver={names!r} solves the model of the package, and model={self.model!r} changes it; take "
                "'auto' or a solver of CVXPY such as 'CLARABEL'."
            )
        return solved_by_cvxpy(self(objective), solver, names)


def changes(
    estimator: Any, X: Matrix, labels: Labels, block: FloatArray | None = None
) -> Iterator[tuple[Labels, ChangedModel]]:
    """Yield the labels of each binary problem with its change."""
    positives = labels.classes.tolist()[labels.is_binary :]
    for positive, binary in zip(positives, labels.one_vs_rest(), strict=True):
        yield binary, ChangedModel.of(estimator, X, positive, block)._replace(n_classes=len(labels.classes))


def refuse_changed(estimator: Any, what: str) -> None:
    """Raise where something is asked for that holds for the model of the package alone."""
    if getattr(estimator, "model", None) is not None:
        raise InvalidInputError(
            f"{what} of {type(estimator).__name__} follow from its own model, and model={estimator.model!r} changes "
            "it; leave model out."
        )
