"""What the seven faces of the S3VM share: features, balance, several classes.

One objective, `specmargin.objectives.s3vm.S3VM`; a subclass of `S3VMClassifier` names its losses and its solver.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from specmargin.checks import Rule, accuracy, maybe
from specmargin.estimators._base import SemiSupervisedClassifier, columns, unpacked
from specmargin.estimators._parameters import check_parameters
from specmargin.estimators._s3vm_features import (
    FeatureRoute,
    KernelRoute,
    LandmarkRoute,
    LinearRoute,
    require_scale,
)
from specmargin.estimators._span import precomputed
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian, laplacian
from specmargin.kernels import gram, resolve_gamma
from specmargin.labels import Labels
from specmargin.losses import SmoothLoss
from specmargin.objectives.s3vm import S3VM
from specmargin.results import SolveResult, Status
from specmargin.solvers.s3vm.one_flip import one_flip
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

__all__ = ["S3VMClassifier"]

_GUESSES = 2
"""How often the classes of unlabelled samples are guessed before one-vs-one pairs learn; a third round gains little."""


@dataclass(kw_only=True, eq=False, repr=False)
class S3VMClassifier(SemiSupervisedClassifier):
    """Base of the S3VM estimators; the parameters are documented with each of them."""

    C: float = 1.0
    C_star: float | None = None
    balance: Any = None
    kernel: Any = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 1.0
    n_landmarks: int | None = None
    rank: int | None = None
    intercept: Any = "balance"
    multi_class: str = "ovr"
    gamma_A: float = 1.0
    gamma_I: float = 0.0
    n_neighbors: int = 6
    kind: str = "symmetric"
    weight: str = "binary"
    metric: str = "euclidean"
    normalized: bool = True
    power: int = 1
    one_flip: bool = False
    tol: float | None = None
    max_iter: int | None = None
    solver_params: Mapping[str, Any] | None = None
    random_state: Any = 0
    unlabeled: Any = -1

    _parameter_rules: ClassVar[dict[str, Rule]] = {"tol": maybe(accuracy)}
    _loss: ClassVar[str]
    _unlabeled_loss: ClassVar[str | None] = None
    _solver: ClassVar[Callable[..., SolveResult]]
    """Called with the objective, tol and max_iter."""

    def _losses(self) -> tuple[str | SmoothLoss, str | SmoothLoss | None]:
        """Return the loss of labelled and that of unlabelled samples."""
        return self._loss, self._unlabeled_loss

    # Validation

    def _needs_graph(self) -> bool:
        return self.gamma_I != 0

    def _neighbor_graph(self, X: Matrix) -> SparseArray:
        if self.kernel == "precomputed":
            raise InvalidInputError(
                "kernel='precomputed' leaves no features to build a graph from; pass fit(K, y, graph=W), or gamma_I=0 "
                "for the kernel as it is."
            )
        return super()._neighbor_graph(X)

    def _validated(self, X: Matrix, y: Any, graph: Any) -> tuple[Matrix, Labels, SparseArray | None]:
        check_parameters(self)
        if self.n_landmarks is not None:
            if self.rank is not None:
                raise InvalidInputError(
                    "rank= truncates the map of the whole kernel; with n_landmarks= take fewer of those."
                )
            if self.kernel == "precomputed":
                raise InvalidInputError("n_landmarks= draws samples, and kernel='precomputed' holds none; take rank=.")
        X, labels, graph = super()._validated(X, y, graph)
        require_scale(X)
        self._balances(labels)  # a value out of range is named before the work
        return X, labels, graph

    def _balances(self, labels: Labels) -> list[float | None]:
        """Return the balance of every one-vs-rest problem, None where it is to be estimated."""
        given, classes = self.balance, labels.classes.tolist()
        if labels.is_binary:
            values: list[Any] = [given]
        elif given is None:
            values = [None] * len(classes)
        elif isinstance(given, Mapping):
            unknown = [name for name in given if name not in classes]
            if unknown:
                raise InvalidInputError(f"balance names the classes {unknown}, but the labels are of {classes}.")
            values = [given.get(name) for name in classes]
        elif np.ndim(given) == 1 and len(given) == len(classes):
            values = list(given)
        else:
            raise InvalidInputError(
                f"balance={given!r} does not tell {len(classes)} classes apart; pass a number per class, as a sequence "
                "in the order of classes_ or a mapping from the class."
            )
        for value in values:
            if value is not None and not (isinstance(value, numbers.Real) and -1.0 <= float(value) <= 1.0):
                raise InvalidInputError(
                    f"balance={value!r} must be a number in [-1, 1], the mean label of the unlabelled samples: 2 p - 1 "
                    "where a share p of them is positive."
                )
        return [None if value is None else float(value) for value in values]

    # Fitting

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        for name in ("coef_", "dual_coef_"):
            self.__dict__.pop(name, None)
        self.gamma_ = np.nan if self.kernel == "precomputed" else resolve_gamma(X, self.gamma)
        L = None if graph is None else laplacian(graph, normalized=self.normalized, power=self.power)
        route = self._route = self._features(X, labels, L)
        self._pairs: list[tuple[int, int]] | None = None
        if self.multi_class == "ovo" and not labels.is_binary:
            self._pairs = list(combinations(range(len(labels.classes)), 2))
            results = self._one_vs_one(route.Z, labels, self._pairs)
        else:
            problems = zip(labels.one_vs_rest(), self._balances(labels), strict=True)
            results = [self._solved(route.Z, binary, balance) for binary, balance in problems]
        self.result_ = unpacked(results)
        self._expansions = np.vstack([route.expansion(result.variables["v"]) for result in results])
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        f = np.column_stack([np.asarray(route.Z @ result.variables["v"]) for result in results]) + self.intercept_
        route.forget()
        if self.kernel == "linear" and self.n_landmarks is None:
            self.coef_ = self._expansions
            if isinstance(route, KernelRoute):
                # k(x, X) alpha = x'(X' alpha): the samples are not needed any more.
                self.coef_ = self._expansions = np.asarray((X.T @ self._expansions.T).T)
                self._route = LinearRoute(None, None, 0.0)
        else:
            self.dual_coef_ = self._expansions
        return self._scores(f), results

    def _features(self, X: Matrix, labels: Labels, L: Laplacian | None) -> FeatureRoute:
        n, d = X.shape
        ratio = self.gamma_I / self.gamma_A
        words = {"kernel": self.kernel, "gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        if self.n_landmarks is not None:
            return LandmarkRoute(X, self.n_landmarks, labels.labeled, self.random_state, L, ratio, **words)
        plain = L is None or (d <= n and not hasattr(X, "toarray"))
        if self.kernel == "linear" and self.rank is None and plain:
            return LinearRoute(X, L, ratio)
        matrix = precomputed if self.kernel == "precomputed" else partial(gram, **words)
        return KernelRoute(X, matrix, self.rank, L, ratio)

    def _solved(self, Z: Matrix, labels: Labels, balance: float | None) -> SolveResult:
        """Return the answer to one binary problem."""
        loss, unlabeled_loss = self._losses()
        obj = S3VM(
            Z,
            labels,
            loss,
            unlabeled_loss,
            C=self.C,
            C_star=self.C_star,
            balance=balance,
            intercept=self.intercept,
        )
        limits = {"tol": self.tol, "max_iter": self.max_iter}
        given = {name: value for name, value in limits.items() if value is not None}
        result = self._solver(obj, **{**given, **(self.solver_params or {})})
        if self.one_flip and len(obj.unlabeled):
            result = one_flip(obj, np.asarray(result.variables["w"]))
        return result

    def _one_vs_one(self, Z: Matrix, labels: Labels, pairs: list[tuple[int, int]]) -> list[SolveResult]:
        """Return the answers of all pairs, each with the unlabelled samples that look like one of its classes."""
        own, hidden = labels.sign.argmax(axis=1), labels.unlabeled
        shares = [None if r is None else (1.0 + r) / 2.0 for r in self._balances(labels)]

        def solved(i: int, j: int, others: IntArray) -> SolveResult:
            known = (own == i) | (own == j)
            rows = np.sort(np.concatenate([labels.labeled[known], others]))
            at = np.searchsorted(rows, labels.labeled[known])
            sign = np.where(own[known] == j, 1.0, -1.0)
            first, second = shares[i], shares[j]
            balance = None
            if first is not None and second is not None and first + second > 0:
                balance = (second - first) / (first + second)
            return self._solved(Z[rows], Labels(sign, at, labels.classes[[i, j]], len(rows)), balance)

        alone = np.empty(0, dtype=np.intp)
        results = [solved(i, j, alone) for i, j in pairs]
        if len(hidden) == 0:
            return results
        unlabeled = Z[hidden]
        for _ in range(_GUESSES):
            f = np.column_stack([np.asarray(unlabeled @ r.variables["v"]) + float(r.variables["b"]) for r in results])
            guess = _votes(f, pairs, len(labels.classes)).argmax(axis=1)
            results = [solved(i, j, hidden[(guess == i) | (guess == j)]) for i, j in pairs]
        return results

    # Prediction and reporting

    def _scores(self, f: FloatArray) -> FloatArray:
        if self._pairs is not None:
            return _votes(f, self._pairs, len(self.classes_))
        return columns(list(f.T))

    def _decision(self, X: Matrix) -> FloatArray:
        return self._scores(self._route.values(X, self._expansions) + self.intercept_)

    def _warn_of_gaps(self, results: list[SolveResult], stacklevel: int = 3) -> None:
        """Say which searches were cut off or failed; of a convex problem, without unlabelled losses, the gap counts."""
        convex = [result for result in results if np.isfinite(result.certificate.dual_objective)]
        super()._warn_of_gaps(convex, stacklevel + 1)
        searches = [result for result in results if not np.isfinite(result.certificate.dual_objective)]
        cut = [result for result in searches if result.status is Status.MAX_ITER]
        if cut:
            worst = max(result.certificate.dual_residual for result in cut)
            warnings.warn(
                f"{type(self).__name__}: {len(cut)} of {len(results)} binary classifiers were stopped at their limit "
                f"of iterations, at a relative gradient of up to {worst:.1e}. Raise max_iter, or tol.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        failed = [result for result in searches if result.status in (Status.NUMERICAL, Status.UNPROVED)]
        if failed:
            warnings.warn(
                f"{type(self).__name__}: {len(failed)} of {len(results)} searches failed for want of digits "
                f"({failed[0].message}); do not rely on this answer. Scale the features to entries of about one, and C "
                "to between 1e-6 and 1e6.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )


def _votes(f: FloatArray, pairs: list[tuple[int, int]], n_classes: int) -> FloatArray:
    """Return votes per class, (m, n_classes), from decisions per pair; summed decisions settle even ones."""
    votes, strength = np.zeros((len(f), n_classes)), np.zeros((len(f), n_classes))
    for k, (i, j) in enumerate(pairs):
        votes[:, j] += f[:, k] > 0
        votes[:, i] += f[:, k] <= 0
        strength[:, j] += f[:, k]
        strength[:, i] -= f[:, k]
    # Less than a third of a vote, however strong.
    return votes + strength / (3.0 * (1.0 + np.abs(strength)))
