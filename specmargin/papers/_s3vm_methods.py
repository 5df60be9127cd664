"""The methods of the experiments of semi-supervised SVMs on one split: what each minimises, and who minimises it.

`fit` runs one method on features and labels that are there already; several classes are one against the rest. Every
method minimises an objective of its own, so that values do not compare. `common_objective` is the same function for
all of them: 1/2 |v|^2 + C sum hinge + C* sum exp(-3 f^2) of the coefficients and intercept that a method ended with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.experiments.methods import Method
from specmargin.labels import Labels
from specmargin.losses import ExpSquared, SmoothLoss, SymmetricRamp
from specmargin.objectives.features import Features, Intercept
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.weighted_svm import WeightedSVM
from specmargin.results import SolveResult
from specmargin.solvers.s3vm.annealing import annealing
from specmargin.solvers.s3vm.cccp import cccp
from specmargin.solvers.s3vm.continuation import continuation, smoothing_path
from specmargin.solvers.s3vm.gradient import gradient
from specmargin.solvers.s3vm.label_switching import label_switching
from specmargin.solvers.s3vm.multi_switch import multi_switch
from specmargin.solvers.s3vm.quasi_newton import quasi_newton
from specmargin.solvers.s3vm.weighted_svm import weighted_svm
from specmargin.typing import FloatArray, IntArray

__all__ = ["METHODS", "Fit", "Setting", "common_objective", "decide", "fit", "supervised"]


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


def _on_the_hinge(obj: S3VM, **options: Any) -> SolveResult:
    """Descend on the hinge itself, rounded at its kink as little as the continuation's last step rounds it."""
    return gradient(obj.smoothed(float(smoothing_path(obj)[-1])), tol=1e-4, **options)


def _method(
    solver: Callable[[S3VM], SolveResult],
    loss: str,
    unlabeled: str | SmoothLoss | None,
    intercept: Intercept = "balance",
) -> Method:
    """Return a method by its losses V and U, U = None for V(|f|), and by how the class ratio enters.

    That is through the mean decision ("balance"), or through labels that the solver guesses. "exp" takes the setting's
    sharpness.
    """
    return Method(options={"loss": loss, "unlabeled_loss": unlabeled, "intercept": intercept}, solver=solver)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "cs3vm": _method(continuation, "hinge", "exp"),
        "grad_s3vm": _method(gradient, "squared_hinge", "exp"),
        "svmlight_s3vm": _method(label_switching, "hinge", None, "free"),
        "qn_s3vm": _method(quasi_newton, "smooth_hinge", "exp"),
        "multiswitch_tsvm": _method(multi_switch, "squared_hinge", None, "regularized"),
        "da_s3vm": _method(annealing, "squared_hinge", None, "regularized"),
        "cccp_s3vm": _method(cccp, "hinge", SymmetricRamp(-0.3)),
        "grad_hinge": _method(_on_the_hinge, "hinge", "exp"),
        "grad_long": _method(partial(_on_the_hinge, schedule=np.geomspace(1e-6, 1.0, 100)), "hinge", "exp"),
    }
)
"""By the names of the published tables; the supervised ``"svm"`` is `supervised`.

The last two are gradient descent on the objective of cs3vm, and the same with the long annealing of the continuation
paper's section 4.3: C* from a millionth of itself in 100 steps.
"""

_SMOOTH = ("cs3vm", "grad_s3vm", "qn_s3vm", "grad_hinge", "grad_long")
"""Their histories end with the relative gradient of what was descended on."""


class Fit(NamedTuple):
    """Decisions at all samples, coefficients v and intercepts b, a column or entry per class; how the solvers ended.

    Of several classes the worst stationarity and status, the sums of values, iterations and seconds. The stationarity
    is the relative gradient: of the smoothed objective for methods that descend on one, else of the method's own, where
    kinks make it mean little. An SVM has a relative gap instead.
    """

    f: FloatArray
    v: FloatArray
    b: FloatArray
    objective: float
    stationarity: float
    ended: str
    iterations: int
    seconds: float
    relative_gap: float | None = None


def fit(name: str, X: Any, labels: Labels, setting: Setting) -> Fit:
    """Run a method.

    Parameters
    ----------
    name : str
        ``"svm"`` or one of `METHODS`.
    X : ndarray or sparse matrix of shape (n, d)
        Features of all samples.
    labels : Labels
        Of the labelled ones.
    setting : Setting
        Weights and class ratio.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.5], [1.0], [1.8], [-1.9]])
    >>> found = fit("cs3vm", X, encode_labels([0, 1, -1, -1, -1, -1]), Setting(1.0, 1.0))
    >>> decide(found.f).tolist(), found.ended
    ([0, 1, 0, 1, 1, 0], 'stationary')
    """
    start = time.perf_counter()
    columns = list(labels.one_vs_rest())
    balance = setting.balance
    if balance is not None and len(balance) != len(columns):
        raise InvalidInputError(f"balance has {len(balance)} numbers, but there are {len(columns)} binary problems.")
    results, values = [], []
    for k, column in enumerate(columns):
        r = None if balance is None else balance[k]
        result = supervised(X, column, setting.C) if name == "svm" else _solve(name, X, column, setting, r)
        results.append(result)
        values.append(common_objective(X, column, setting, result.variables["v"], float(result.variables["b"])))
    v = np.column_stack([result.variables["v"] for result in results])
    b = np.array([float(result.variables["b"]) for result in results])
    gaps = [result.certificate.relative_gap for result in results]
    return Fit(
        np.asarray(X @ v) + b,
        v,
        b,
        sum(values),
        max(_stationarity(name, result) for result in results),
        max((str(result.status) for result in results), key=lambda s: s not in ("optimal", "stationary")),
        sum(result.n_iter for result in results),
        time.perf_counter() - start,
        max(gaps, key=abs) if name == "svm" else None,
    )


def _stationarity(name: str, result: SolveResult) -> float:
    if name == "svm":
        return 0.0
    return float(result.history["gradient"][-1] if name in _SMOOTH else result.certificate.dual_residual)


def _solve(name: str, X: Any, labels: Labels, setting: Setting, balance: float | None) -> SolveResult:
    method = METHODS[name]
    options = dict(method.options)
    if options["unlabeled_loss"] == "exp":
        options["unlabeled_loss"] = ExpSquared(setting.sharpness)
    return method.solve(S3VM(X, labels, C=setting.C, C_star=setting.C_star, balance=balance, **options))


def supervised(X: Any, labels: Labels, C: float) -> SolveResult:
    """Return the hinge-loss SVM of the labelled samples, its intercept free, with a duality gap."""
    features = Features.of(X[labels.labeled], "free", rows=np.arange(labels.n_labeled))
    plus, minus = np.where(labels.sign > 0, C, 0.0), np.where(labels.sign < 0, C, 0.0)
    return weighted_svm(WeightedSVM(features, plus, minus, "hinge"))


def common_objective(X: Any, labels: Labels, setting: Setting, v: FloatArray, b: float) -> float:
    """Return 1/2 |v|^2 + C sum hinge(y f) + C* sum exp(-3 f^2) with f = X v + b.

    Whether the answer meets the balance is not asked: a method that balances otherwise may reach a lower value.
    """
    obj = S3VM(X, labels, "hinge", "exp", C=setting.C, C_star=setting.C_star, intercept="free")
    return obj.value_at(np.append(v, b))


def decide(F: FloatArray, positive: FloatArray | None = None) -> IntArray:
    """Return the class of each row of decisions, (n,).

    Parameters
    ----------
    F : ndarray of shape (n, c)
        Decisions; one column for two classes.
    positive : ndarray of shape (c,), optional
        Shares: every column is shifted so that this share of the rows is positive, before classes are compared.
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
