"""The methods of the experiments of semi-supervised SVMs on one split: what each minimises, and who minimises it.

`fit` runs one method on features and labels that are there already; several classes are one against the rest. Every
method minimises an objective of its own, so that values do not compare. `common_objective` is the same function for
all of them: 1/2 |v|^2 + C sum hinge + C* sum exp(-3 f^2) of the coefficients and intercept that a method ended with.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from specmargin import solvers
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.losses import ExpSquared, SmoothLoss, SymmetricRamp
from specmargin.objectives.features import Features, Intercept
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.weighted_svm import WeightedSVM
from specmargin.results import SolveResult
from specmargin.solvers.s3vm.continuation import smoothing_path
from specmargin.typing import FloatArray


@dataclass(frozen=True)
class Setting:
    """What all methods of an experiment share.

    Parameters
    ----------
    C, C_star : float
        Weights of labelled and unlabelled losses.
    balance : tuple of float, optional
        Mean label of the unlabelled samples, a number per class (one for two classes); None estimates it from the
        labelled ones.
    sharpness : float, default 3
        s of exp(-s f^2).
    """

    C: float
    C_star: float
    balance: tuple[float, ...] | None = None
    sharpness: float = 3.0

    def objective(
        self, X: Any, labels: Labels, balance: float | None, loss: str, unlabeled_loss: Any, intercept: Intercept
    ) -> S3VM:
        """Return the objective of two classes; the loss "exp" takes the sharpness."""
        unlabeled = ExpSquared(self.sharpness) if unlabeled_loss == "exp" else unlabeled_loss
        weights = {"C": self.C, "C_star": self.C_star}
        return S3VM(X, labels, loss, unlabeled, balance=balance, intercept=intercept, **weights)


def _on_the_hinge(obj: S3VM, **options: Any) -> SolveResult:
    """Descend on the hinge itself, rounded at its kink as little as the continuation's last step rounds it."""
    return solvers.gradient(obj.smoothed(float(smoothing_path(obj)[-1])), tol=1e-4, **options)


METHODS: Mapping[str, tuple[Callable[[S3VM], SolveResult], str, str | SmoothLoss | None, Intercept]] = MappingProxyType(
    {
        "cs3vm": (solvers.continuation, "hinge", "exp", "balance"),
        "grad_s3vm": (solvers.gradient, "squared_hinge", "exp", "balance"),
        "svmlight_s3vm": (solvers.label_switching, "hinge", None, "free"),
        "qn_s3vm": (solvers.quasi_newton, "smooth_hinge", "exp", "balance"),
        "multiswitch_tsvm": (solvers.multi_switch, "squared_hinge", None, "regularized"),
        "da_s3vm": (solvers.annealing, "squared_hinge", None, "regularized"),
        "cccp_s3vm": (solvers.cccp, "hinge", SymmetricRamp(-0.3), "balance"),
        "grad_hinge": (_on_the_hinge, "hinge", "exp", "balance"),
        "grad_long": (partial(_on_the_hinge, schedule=np.geomspace(1e-6, 1.0, 100)), "hinge", "exp", "balance"),
    }
)
"""By the names of the published tables: the solver; the losses V and U, U = None for V(|f|); the intercept, "balance"
where the class ratio enters through the mean decision and not through labels that the solver guesses. The supervised
``"svm"`` is `supervised`.

The last two are gradient descent on the objective of cs3vm, and the same with the long annealing of the continuation
paper's section 4.3: C* from a millionth of itself in 100 steps.
"""

_SMOOTH = ("cs3vm", "grad_s3vm", "qn_s3vm", "grad_hinge", "grad_long")
"""Their histories end with the relative gradient of what was descended on."""

FINISHED = ("optimal", "stationary")
"""How a solver ends that was not cut off."""


class Fit(NamedTuple):
    """Decisions at all samples, coefficients v and intercepts b, a column or entry per class; and what a row holds.

    ``measured`` has the sums over the classes of the common ``objective``, ``iterations`` and ``fit_seconds``, and the
    worst ``stationarity`` and status, ``ended``. The stationarity is the relative gradient: of the smoothed objective
    for methods that descend on one, else of the method's own, where kinks make it mean little. An SVM has a
    ``relative_gap`` instead.
    """

    f: FloatArray
    v: FloatArray
    b: FloatArray
    measured: dict[str, Any]


def fit(name: str, X: Any, labels: Labels, setting: Setting) -> Fit:
    """Run ``"svm"`` or one of `METHODS` on the features X of all samples, (n, d), an array or sparse matrix.

    Examples
    --------
    >>> from reproduction.methods import decide
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.5], [1.0], [1.8], [-1.9]])
    >>> fitted = fit("cs3vm", X, encode_labels([0, 1, -1, -1, -1, -1]), Setting(1.0, 1.0))
    >>> decide(fitted.f).tolist(), fitted.measured["ended"]
    ([0, 1, 0, 1, 1, 0], 'stationary')
    """
    start = time.perf_counter()
    columns = list(labels.one_vs_rest())
    balances = [None] * len(columns) if setting.balance is None else setting.balance
    if len(balances) != len(columns):
        raise InvalidInputError(f"balance has {len(balances)} numbers, but there are {len(columns)} binary problems.")
    results = [_solve(name, X, column, setting, r) for column, r in zip(columns, balances, strict=True)]
    v = np.column_stack([result.variables["v"] for result in results])
    b = np.array([float(result.variables["b"]) for result in results])
    statuses = [str(result.status) for result in results]
    measured: dict[str, Any] = {
        "objective": sum(common_objective(X, *each) for each in zip(columns, repeat(setting), v.T, b)),
        "stationarity": max(_stationarity(name, result) for result in results),
        "ended": max(statuses, key=lambda status: status not in FINISHED),
        "iterations": sum(result.n_iter for result in results),
    }
    f = np.asarray(X @ v) + b
    measured["fit_seconds"] = time.perf_counter() - start
    if name == "svm":
        measured["relative_gap"] = max((result.certificate.relative_gap for result in results), key=abs)
    return Fit(f, v, b, measured)


def _stationarity(name: str, result: SolveResult) -> float:
    if name == "svm":
        return 0.0
    return float(result.history["gradient"][-1] if name in _SMOOTH else result.certificate.dual_residual)


def _solve(name: str, X: Any, labels: Labels, setting: Setting, balance: float | None) -> SolveResult:
    if name == "svm":
        return supervised(X, labels, setting.C)
    solver, loss, unlabeled_loss, intercept = METHODS[name]
    return solver(setting.objective(X, labels, balance, loss, unlabeled_loss, intercept))


def supervised(X: Any, labels: Labels, C: float) -> SolveResult:
    """Return the hinge-loss SVM of the labelled samples, its intercept free, with a duality gap."""
    features = Features.of(X[labels.labeled], "free", rows=np.arange(labels.n_labeled))
    plus, minus = np.where(labels.sign > 0, C, 0.0), np.where(labels.sign < 0, C, 0.0)
    return solvers.weighted_svm(WeightedSVM(features, plus, minus, "hinge"))


def common_objective(X: Any, labels: Labels, setting: Setting, v: FloatArray, b: float) -> float:
    """Return 1/2 |v|^2 + C sum hinge(y f) + C* sum exp(-3 f^2) with f = X v + b.

    Whether the answer meets the balance is not asked: a method that balances otherwise may reach a lower value.
    """
    obj = S3VM(X, labels, "hinge", "exp", C=setting.C, C_star=setting.C_star, intercept="free")
    return obj.value_at(np.append(v, b))
