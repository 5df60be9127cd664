"""Methods of experiments: what is fitted, who solves it, and the names of the hyper-parameters that a grid runs over.

A `Method` has an estimator for the plain experiments, whose cells `fit_cell` computes, or the options of an objective
and its solver for those that share factorisations between fits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.engine.evaluation import evaluate
from reproduction.engine.protocol import LabeledFolds
from reproduction.engine.records import Cell
from reproduction.tasks import Task, samples, splits
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, IntArray


def decide(F: FloatArray, positive: FloatArray | None = None) -> IntArray:
    """Return the class of each row of decisions (n, c), a column per class, or one in all for two classes.

    With shares `positive`, (c,), every column is first shifted so that this share of the rows is positive.

    Examples
    --------
    >>> decide(np.array([[0.5], [-0.5]])).tolist(), decide(np.array([[0.1, 0.3, 0.2]])).tolist()
    ([1, 0], [1])
    >>> decide(np.array([[0.5], [0.4], [0.1], [0.2]]), np.array([0.5])).tolist()
    [1, 1, 0, 0]
    """
    if positive is not None:
        counts = np.round(np.asarray(positive) * len(F)).astype(int).clip(0, len(F))
        F = F - np.array([_threshold(column, count) for column, count in zip(F.T, counts, strict=True)])
    return np.asarray((F[:, 0] > 0).astype(np.intp) if F.shape[1] == 1 else F.argmax(axis=1))


def _threshold(f: FloatArray, count: int) -> float:
    """Return the middle between the decisions of rank `count` and `count` + 1 from above."""
    ordered = np.sort(f)[::-1]
    if count == 0:
        return float(ordered[0]) + 1.0
    if count == len(f):
        return float(ordered[-1]) - 1.0
    return float(ordered[count - 1] + ordered[count]) / 2.0


@dataclass(frozen=True)
class Method:
    """A method of an experiment.

    Parameters
    ----------
    parameters : tuple of str
        Names of its hyper-parameters, in the order in which a grid runs, the last one fastest.
    options : mapping
        Arguments of its objective that are fixed: the loss, the intercept.
    solver : callable, optional
        ``solver(objective)`` minimises it.
    fit : callable, optional
        ``fit(shared, labels, settings)`` yields a fit per setting, for methods that share work between settings.
    estimator : callable, optional
        ``estimator(task, setting, data)`` returns a classifier and the features, or the kernel matrix, to fit it on.
    labeled_only : bool, default False
        Whether the estimator sees the labelled samples alone.
    on_graph : bool, default False
        Whether `fit` takes the adjacency of the graph itself, in the place of what is computed from it.
    published : str
        Its name in the published tables, where that is another.
    """

    parameters: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    solver: Callable[[Any], SolveResult] | None = None
    fit: Callable[..., Iterator[Any]] | None = None
    estimator: Callable[[Task, Mapping[str, Any], Path | None], tuple[Any, Any]] | None = None
    labeled_only: bool = False
    on_graph: bool = False
    published: str = ""

    @property
    def graph(self) -> bool:
        """Whether the graph takes part, with the weight gamma_I."""
        return "gamma_I" in self.parameters

    def solve(self, objective: Any) -> SolveResult:
        """Return the solver's answer."""
        assert self.solver is not None
        return self.solver(objective)

    def grid(self, values: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
        """Return every setting of a grid.

        Examples
        --------
        >>> Method(("C", "B")).grid({"C": [1.0], "B": [1.5, 4.0], "width": [0.1]})
        [{'C': 1.0, 'B': 1.5}, {'C': 1.0, 'B': 4.0}]
        """
        combinations = product(*(values[name] for name in self.parameters))
        return [dict(zip(self.parameters, combination, strict=True)) for combination in combinations]


def fit_cell(cell: Cell, tasks: Mapping[str, Task], methods: Mapping[str, Method], data: Path | None) -> dict[str, Any]:
    """Fit the estimator of a cell's method at its setting and return its errors, as `evaluate` does.

    A cell with a parameter ``folds`` is also cross-validated on that number of labelled folds.
    """
    task, method, setting = tasks[cell.dataset], methods[cell.method], cell.parameters
    assert method.estimator is not None
    estimator, X = method.estimator(task, setting, data)
    tunings = [LabeledFolds(setting["folds"])] if "folds" in setting else []
    split = splits(task, data)[cell.split]
    return evaluate(estimator, X, samples(task, data)[1], split, tunings=tunings, labeled_only=method.labeled_only)
