"""New labels for a problem that is built: what labels decide is held as parameters of CVXPY, which change together."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.labels import Labels, Targets
from specmargin.typing import FloatArray

__all__ = ["LabelData"]


class LabelData:
    """What labels decide in a problem, and the objective at the labels that the problem has now.

    Problems that were made from one another by `BuiltProblem.with_` share it, as they share their parameters.

    Parameters
    ----------
    objective : object
        The objective that the problem is built from.
    relabelled : callable, optional
        Maps an objective and labels to the objective of these labels; by default `with_` of the objective.
    kind : type, optional
        What the labels are; by default what those of the objective are.
    """

    def __init__(
        self,
        objective: Any,
        relabelled: Callable[[Any, Any], Any] = lambda objective, labels: objective.with_(labels=labels),
        kind: type[Labels] | type[Targets] | None = None,
    ) -> None:
        self.objective = objective
        self._kind = type(objective.labels) if kind is None else kind
        self._relabelled = relabelled
        self._has_weights = objective.labels.weights is not None
        self._held: list[tuple[cp.Parameter, Callable[[Any], FloatArray]]] = []

    def parameter(self, name: str, of: Callable[[Any], FloatArray], **attributes: bool) -> Any:
        """Return an array that labels decide, as a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter.
        of : callable
            Maps an objective to the array, whose shape is that of all labels with as many labelled samples.
        **attributes : bool
            Attributes of the parameter, such as ``nonneg``.
        """
        value = of(self.objective)
        parameter = cp.Parameter(np.shape(value), name=name, value=value, **attributes)
        self._held.append((parameter, of))
        return parameter

    @cached_property
    def signs(self) -> Any:
        """Signs of the labelled samples, of the shape of `Labels.sign`."""
        return self.parameter("signs", lambda objective: objective.labels.sign)

    @cached_property
    def weights(self) -> Any:
        """Weights of the labelled samples, (l,); None where the labels have none."""
        if not self._has_weights:
            return None
        return self.parameter("weights", lambda objective: objective.labels.weights_or_ones, nonneg=True)

    def decisions(self, expression: cp.Expression, constraints: dict[str, Any]) -> Any:
        """Return decisions of the labelled samples that may be multiplied by `signs`: a variable, tied as ``labeled``.

        Rows of parameters times signs that are parameters, too, would be a product that CVXPY does not compile once.
        """
        f = cp.Variable(expression.shape, name="f_labeled")
        constraints["labeled"] = expression - f == 0
        return f

    def charged(self, C: cp.Expression, xi: cp.Expression) -> cp.Expression:
        """Return C sum_i c_i xi_i, c the weights of the labels."""
        cost = self.costs(C)
        return cost @ xi if cost.shape else cost * cp.sum(xi)

    def costs(self, C: cp.Expression) -> cp.Expression:
        """Return what C, or a multiple of it, is for each labelled sample, (l,); itself where labels have no weights.

        C is a parameter: a product of two is none that CVXPY compiles once.
        """
        weights = self.weights
        if weights is None:
            return C
        return cp.CallbackParam(lambda: C.value * weights.value, weights.shape, nonneg=True, name=f"{C.name()} weights")

    def assign(self, name: str, labels: Any) -> None:
        """Give all parameters the values of other labels; of labels that do not fit, none.

        Parameters
        ----------
        name : str
            Name of the problem, for the messages.
        labels : Labels or Targets
            Labels of as many samples, and of as many classes.
        """
        now = self.objective.labels
        if not isinstance(labels, self._kind):
            raise InvalidTypeError(
                f"labels={shown(labels)} are of the type {type(labels).__name__}; pass what "
                f"encode_{self._kind.__name__.lower()} returns."
            )
        if (labels.n_labeled, labels.n_samples) != (now.n_labeled, now.n_samples):
            raise InvalidInputError(
                f"{labels.n_labeled} of {labels.n_samples} samples are labelled, but {name} was built for "
                f"{now.n_labeled} of {now.n_samples}, which is the shape of its constraints; build it anew from these "
                "labels, or label as many."
            )
        shape, wanted = np.shape(_known(labels)), np.shape(_known(now))
        if shape != wanted:
            raise InvalidInputError(
                f"the labels have the shape {shape}, but {name} was built for {wanted}, of another number of classes; "
                "build it anew from these labels."
            )
        if labels.weights is not None and not self._has_weights:
            raise InvalidInputError(
                f"the labels have weights, but {name} was built from labels without; build it anew from labels with "
                "weights, which may be ones."
            )
        objective = self._relabelled(self.objective, labels)
        values = [of(objective) for _, of in self._held]
        for (parameter, _), value in zip(self._held, values, strict=True):
            parameter.value = value
        self.objective = objective


def _known(labels: Labels | Targets) -> FloatArray:
    return labels.sign if isinstance(labels, Labels) else labels.values
