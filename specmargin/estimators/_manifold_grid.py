"""What `LapRLSCV` and `LapSVMCV` share: the grid, its factorisations, the folds, the record, and the refit.

Every (kernel width, neighbours, power, ratio gamma_I / gamma_A) costs one factorisation; widths share graphs, powers
and ratios share products of the graph with the kernel, and gamma_A, classes and criteria are nearly free.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specmargin import objectives
from specmargin.checks import Rule, count
from specmargin.estimators._class_balance import Balance, ClassBalanceParameter, in_force
from specmargin.estimators._feature_maps import ChosenFunctions, Eigenvectors, FeatureMap, KernelFunctions
from specmargin.estimators._label_search import OF_DECISIONS, LabelSearch, of_decisions
from specmargin.estimators._memory import require_memory
from specmargin.estimators._parameter_rules import candidates
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier
from specmargin.estimators._shared_parameters import (
    DEFAULT_NEIGHBORS,
    KernelFamily,
    SearchedNeighbors,
    SolverParameters,
)
from specmargin.estimators.lapsvm import LapSVM
from specmargin.exceptions import InvalidInputError, MarkerWarning
from specmargin.graphs import Laplacian, check_adjacency, knn_graph, laplacian
from specmargin.kernels import resolve_gamma
from specmargin.labels import Labels
from specmargin.objectives import leave_one_out as loo
from specmargin.objectives.manifold_weights import ambient_weight, ratio_for
from specmargin.objectives.reduction import Applied, graph_product
from specmargin.typing import FloatArray, Matrix, MatrixLike, SparseArray

_LOGGER = logging.getLogger(__name__)

CRITERIA = (*OF_DECISIONS, "gcv")
_UNITS = tuple(10.0 ** np.arange(-4.0, 0.5, 0.5))
"""gamma_A in units of the mean eigenvalue of the centred G, where none are given."""
_OF_THE_REFIT = (
    *("classes_", "transduction_", "scores_", "dual_coef_", "intercept_", "balance_", "result_", "gamma_"),
    *("gamma_A_", "gamma_I_", "n_iter_"),
)
_WITH_WIDTH = ("rbf", "poly", "polynomial")


class LeftOut(NamedTuple):
    """The labelled samples, those that each fold leaves out, and how the scores of the classes are compared."""

    labels: Labels
    folds: list[loo.Fold]
    rule: str | None


class Deformed(NamedTuple):
    """One factorisation: G and all that turns coefficients into decisions, at gamma_A = 1 and gamma_I = ratio."""

    params: dict[str, Any]
    ratio: float
    reduction: objectives.Reduction
    K: Any

    def decisions(self, v: FloatArray, b: FloatArray) -> FloatArray:
        """Return f at all samples for columns v (l, m) in units of gamma_A = 1."""
        known = self.reduction
        v = v + known.c * (known.G @ v)
        narrow = v.shape[1] <= len(v)
        values = self.K @ (known.damped @ v) if narrow else (self.K @ (known.damped @ np.eye(len(v)))) @ v
        return np.asarray(values) + b


@dataclass(kw_only=True, eq=False, repr=False)
class ManifoldCV(
    LabelSearch,
    KernelFamily,
    SearchedNeighbors,
    ChosenFunctions,
    ClassBalanceParameter,
    SolverParameters,
    SemiSupervisedClassifier,
):
    """Grid, folds, criteria and the refit; a subclass knows the decisions of left-out samples.

    Parameters
    ----------
    gammas : sequence of float or str
        Kernel parameters to try, of "rbf" and "poly". A number is gamma itself, 1 / (2 sigma^2); "median" is sigma =
        the median distance between samples, "0.5 median" half that sigma (four times that gamma), and so on; "scale"
        as in scikit-learn.
    gamma_As : sequence of float or "auto"
        Ambient weights to try, > 0. By default nine from 1e-4 to 1 in units of tr(H G H) / l, G the deformed kernel
        at gamma_A = 1 and H the centring: these suit any kernel and graph, and hardly cost more than one. An entry
        "auto" is 0.1 of these units, as of `LapSVM`.
    gamma_Is : sequence of float
        Intrinsic weights to try with each of `gamma_As`, >= 0, instead of `ratios`; a factorisation is paid for each
        distinct gamma_I / gamma_A, so that all of these are numbers.
    ratios : sequence of float
        gamma_I / gamma_A to try, >= 0, for a kernel whose diagonal has the mean one (over that mean, like `ratio` of
        `LapSVM`); 0 is supervised learning.
    n_neighbors : sequence of int
        Neighbours of the graphs to try, unless `fit` is given a graph; more than n - 1 are n - 1. It decides, with
        `powers`: images want 4 to 10, views of one object 2, Gaussian clusters and text 15 to 50.
    powers : sequence of int
        Powers of the Laplacian to try.
    fit_intercept : bool
        Whether f has an unpenalised intercept.
    span : {"auto", "kernel", "landmarks", "eigenvectors"}
        Fewer functions for large samples, as for `LapSVM`; the eigenvectors of a graph have no kernel width.
    solver : str or sequence of str
        Of the refit, as for `LapSVM`, like `solver_params`, `tol` and `max_iter`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_outputs, n)
        Coefficients, as of `LapSVM`.
    gamma_ : float
        The kernel parameter that was chosen.
    gamma_A_, gamma_I_ : float
        The weights that were chosen.
    """

    gammas: Sequence[float | str] = ("median",)
    gamma_As: Sequence[float | str] | None = None
    gamma_Is: Sequence[float] | None = None
    ratios: Sequence[float] = (1e2, 1e4, 1e6)
    n_neighbors: Sequence[int] = (5, 15)  # type: ignore[assignment]  # a search takes a list
    powers: Sequence[int] = (1, 2, 4)
    class_balance: str | None = "shrunk"
    fit_intercept: bool = True

    _without_graph: ClassVar[str] = "fit(K, y, graph=W), or ratios=[0] for supervised learning"
    _criteria: ClassVar[tuple[str, ...]] = CRITERIA
    _refitted: ClassVar[type[LapSVM]] = LapSVM
    _parameter_rules: ClassVar[dict[str, Rule]] = {"n_neighbors": candidates(count(1))}

    def _graph(self, X: Matrix, graph: Any) -> SparseArray | None:
        return None if graph is None else check_adjacency(graph, X.shape[0])  # `_deformed_kernels` makes them

    def _learn(self, X: Matrix, y: Any, labels: Labels, graph: SparseArray | None) -> None:
        """Choose the parameters by the labelled samples, then learn from all."""
        self._check_grid()
        folds = self._folds(X, labels)
        left_out = LeftOut(labels, folds, in_force(self.class_balance, labels))
        kept = self._counted(labels, folds)
        tested = np.concatenate([fold.test for fold in folds])[kept]
        settings: list[dict[str, Any]] = []
        n_factorized = 0
        for deformed, pairs in self._deformed_kernels(X, labels, graph):
            n_factorized += 1
            path = loo.RidgePath(deformed.reduction.G, labels.sign, self.fit_intercept)
            pairs = pairs or [(gamma_A, gamma_A * deformed.ratio) for gamma_A in self._ambient_weights(path)]
            gamma_As = np.array([gamma_A for gamma_A, _ in pairs])
            raw, maps = self._held_out(path, gamma_As, deformed, left_out)
            raw = raw[:, kept]
            compared = np.stack([change(f) for change, f in zip(maps, raw, strict=True)]) if maps else raw
            values = self._values(raw, compared, labels.sign[tested], path, gamma_As)
            for i, (gamma_A, gamma_I) in enumerate(pairs):
                params = {**deformed.params, "gamma_A": float(gamma_A), "gamma_I": float(gamma_I)}
                settings.append({"params": params, **{name: float(column[i]) for name, column in values.items()}})
            _LOGGER.debug(
                "%s, ratio %g: %s %.4g", deformed.params, deformed.ratio, self.criterion, np.min(values[self.criterion])
            )
        self._record(settings)
        _LOGGER.info(
            "%s: %d settings from %d factorisations, best %s %.4g at %s",
            *(type(self).__name__, len(settings), n_factorized),
            *(self.criterion, -self.best_score_, self.best_params_),
        )
        taken = signature(self._refitted).parameters.keys() - {"n_neighbors"}  # which are candidates here
        shared = {name: value for name, value in self.get_params(deep=False).items() if name in taken}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarkerWarning)  # warned of before
            self.estimator_ = self._refitted(**shared, **self.best_params_).fit(X, y, graph=graph)
        for name in _OF_THE_REFIT:
            setattr(self, name, getattr(self.estimator_, name))

    def _held_out(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed, left_out: LeftOut
    ) -> tuple[FloatArray, list[Balance]]:
        """Return the decisions at the tested samples, (n_settings, m[, K]), and the balance per setting if any."""
        raise NotImplementedError

    def _check_grid(self) -> None:
        self._check_criterion()
        if self.gamma_Is is not None and (self.gamma_As is None or "auto" in list(self.gamma_As)):
            raise InvalidInputError(
                f"gamma_Is={self.gamma_Is!r} needs numbers in gamma_As={self.gamma_As!r}, too; or give ratios "
                "gamma_I / gamma_A instead."
            )

    def _weights(self) -> list[tuple[float, list[tuple[float, float]]]]:
        """Return each distinct ratio with its pairs (gamma_A, gamma_I); none where it is one of `ratios`."""
        if self.gamma_As is None or self.gamma_Is is None:
            return [(float(ratio), []) for ratio in dict.fromkeys(self.ratios)]
        groups: dict[str, list[tuple[float, float]]] = {}
        for gamma_I in self.gamma_Is:
            for gamma_A in map(float, self.gamma_As):
                groups.setdefault(f"{gamma_I / gamma_A:.12g}", []).append((gamma_A, gamma_I))
        return [(pairs[0][1] / pairs[0][0], pairs) for pairs in groups.values()]

    @property
    def _has_pairs(self) -> bool:
        return self.gamma_As is not None and self.gamma_Is is not None

    def _ambient_weights(self, path: loo.RidgePath) -> list[float]:
        """Return the gamma_A to try with one of `ratios`."""
        if self.gamma_As is None:
            unit = path.unit if path.unit > 0 else 1.0
            return [float(unit * size) for size in _UNITS]
        auto = ambient_weight(path.G, centred=self.fit_intercept)
        return [auto if gamma_A == "auto" else float(gamma_A) for gamma_A in self.gamma_As]

    def _widths(self, X: Matrix) -> list[float | None]:
        if self.kernel not in _WITH_WIDTH:
            return [None]
        return list(dict.fromkeys(_resolved(X, gamma) for gamma in self.gammas))

    def _graphs(self, X: Matrix, graph: SparseArray | None) -> list[tuple[dict[str, Any], SparseArray]]:
        if graph is not None:
            return [({}, graph)]
        self._require_features()
        search = self._opened(X)
        counts = dict.fromkeys(min(int(k), X.shape[0] - 1) for k in self.n_neighbors)
        return [({"n_neighbors": k}, knn_graph(search, k, kind=self.kind, weight=self.weight)) for k in counts]

    def _functions(self, X: Matrix, labels: Labels, params: Mapping[str, Any], L: Laplacian | None) -> FeatureMap:
        """Return the functions that the estimator of these parameters chooses from."""
        default = min(DEFAULT_NEIGHBORS, X.shape[0] - 1)  # of the refit where the graph is given
        gamma = params.get("gamma", 1.0)  # a kernel without a width takes any
        return self._manifold_map(X, labels, L, gamma, params.get("n_neighbors", default))

    def _deformed_kernels(
        self, X: Matrix, labels: Labels, graph: SparseArray | None
    ) -> Iterator[tuple[Deformed, list[tuple[float, float]]]]:
        """Yield every factorisation of the grid with its pairs of gammas."""
        weights = self._weights()
        graphs = self._graphs(X, graph) if any(ratio > 0 for ratio, _ in weights) else []
        binary = next(iter(labels.one_vs_rest()))

        def deformed(K: Any, L: MatrixLike | None, ratio: float, params: dict[str, Any]) -> Deformed:
            ratio = ratio if self._has_pairs else ratio_for(K, ratio)
            unit = objectives.LapSVM(K, L, binary, loss="squared", gamma_I=ratio, fit_intercept=self.fit_intercept)
            return Deformed(params, ratio, unit.reduction, unit.K)

        spectral = False
        for width in self._widths(X):
            params: dict[str, Any] = {} if width is None else {"gamma": width}
            functions: FeatureMap | None = None
            for ratio, pairs in weights:
                if ratio == 0:
                    functions = self._functions(X, labels, params, None) if functions is None else functions
                    yield deformed(functions.kernel, None, 0.0, params), pairs
            if self.span == "auto" and not isinstance(functions, KernelFunctions):
                functions = None  # another one with a graph
            # Eigenvectors know no width, and the first has had them; all other functions know no graph.
            for which, W in [] if spectral else graphs:
                once, before = laplacian(W, normalized=self.normalized), 0
                if functions is None or isinstance(functions, Eigenvectors):
                    functions = self._functions(X, labels, {**params, **which}, once)
                K = functions.kernel
                product = K
                if isinstance(K, np.ndarray):
                    remedy = "take span='eigenvectors', or span='landmarks'"
                    require_memory(24.0 * K.size, f"sharing L K among the settings of {len(K)} samples", remedy)
                for power in sorted(dict.fromkeys(self.powers)):
                    L: MatrixLike = laplacian(W, normalized=self.normalized, power=power)
                    if isinstance(K, np.ndarray):
                        for _ in range(power - before):
                            product = graph_product(once, product)
                        before, L = power, Applied(L, K, product)
                    for ratio, pairs in weights:
                        if ratio > 0:
                            yield deformed(K, L, ratio, {**params, **which, "power": int(power)}), pairs
            spectral = spectral or isinstance(functions, Eigenvectors)

    def _values(
        self, raw: FloatArray, compared: FloatArray, sign: FloatArray, path: loo.RidgePath, gamma_As: FloatArray
    ) -> dict[str, FloatArray]:
        """Return every criterion per setting; those of the decisions are nan where no sample counts."""
        values = of_decisions(raw, compared, sign)
        if "gcv" in self._criteria:
            values["gcv"] = path.gcv(gamma_As)
        return values


def _resolved(X: Matrix, gamma: Any) -> float:
    """Return the kernel parameter that an entry of `gammas` means."""
    if isinstance(gamma, str) and gamma.endswith(" median"):
        try:
            multiple = float(gamma.removesuffix(" median"))
        except ValueError:
            multiple = np.nan
        if not (np.isfinite(multiple) and multiple > 0):
            raise InvalidInputError(f"gammas holds {gamma!r}; write a multiple of the median distance as '0.5 median'.")
        return resolve_gamma(X, "median") / multiple**2
    return resolve_gamma(X, gamma)
