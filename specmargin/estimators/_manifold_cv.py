"""What `LapRLSCV` and `LapSVMCV` share: the grid, its factorisations, the folds, the record, and the refit.

Every (kernel width, neighbours, power, ratio gamma_I / gamma_A) costs one factorisation; widths share graphs, powers
and ratios share products of the graph with the kernel, and gamma_A, classes and criteria are nearly free.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from specmargin import objectives
from specmargin.checks import Rule, count
from specmargin.estimators._balance import Balance, in_force
from specmargin.estimators._base import SemiSupervisedClassifier, numerical_failures, outside
from specmargin.estimators._memory import require_memory
from specmargin.estimators._parameters import candidates
from specmargin.estimators._span import EigenvectorSpan, KernelSpan, Span
from specmargin.estimators.lapsvm import LapSVM
from specmargin.exceptions import InvalidInputError, MarkerWarning
from specmargin.graphs import Laplacian, check_adjacency, knn_graph, laplacian
from specmargin.kernels import resolve_gamma
from specmargin.labels import Labels
from specmargin.model_selection import LabeledKFold
from specmargin.objectives import leave_one_out as loo
from specmargin.objectives.reduction import Applied, graph_product
from specmargin.typing import FloatArray, Matrix, MatrixLike, SparseArray

__all__ = ["Deformed", "ManifoldCV"]

_LOGGER = logging.getLogger(__name__)

CRITERIA = ("nll", "sq", "01", "gcv")
_UNITS = tuple(10.0 ** np.arange(-4.0, 0.5, 0.5))
"""gamma_A in units of the mean eigenvalue of the centred G, where none are given."""
_WITH_WIDTH = ("rbf", "poly", "polynomial")


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
class ManifoldCV(SemiSupervisedClassifier):
    """Grid, folds, criteria and the refit; a subclass knows the decisions of left-out samples."""

    kernel: Any = "rbf"
    gammas: Sequence[float | str] = ("median",)
    degree: int = 3
    coef0: float = 1.0
    gamma_As: Sequence[float] | None = None
    gamma_Is: Sequence[float] | None = None
    ratios: Sequence[float] = (1e2, 1e4, 1e6)
    n_neighbors: Sequence[int] = (5, 15)  # type: ignore[assignment]
    kind: str = "symmetric"
    weight: str = "binary"
    metric: str = "euclidean"
    normalized: bool = True
    powers: Sequence[int] = (1, 2, 4)
    criterion: str = "nll"
    cv: Any = "loo"
    class_balance: str | None = "zscore"
    fit_intercept: bool = True
    span: str = "auto"
    n_functions: int | None = None
    tol: float = 1e-6
    random_state: Any = 0
    unlabeled: Any = -1

    _criteria: ClassVar[tuple[str, ...]] = CRITERIA
    _parameter_rules: ClassVar[dict[str, Rule]] = {"n_neighbors": candidates(count(1))}

    def fit(self, X: Matrix, y: Any = None, graph: Any = None) -> Any:
        """Choose the parameters by the labelled samples, then learn from all.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
            Features; an (n, n) Gram matrix where ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Labels; unlabelled samples hold the marker `unlabeled`.
        graph : {ndarray, sparse matrix} of shape (n, n) or networkx.Graph, optional
            Symmetric, nonnegative adjacency in the order of the rows (nodes) to use instead of nearest neighbours;
            `n_neighbors` is then not searched.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinite features, fewer than two classes among the labels, an asymmetric or negative
            graph, an empty list of candidates, or parameters out of range.

        Warns
        -----
        UserWarning
            If the labels are too few to choose by: see the notes of the class.
        """
        features, labels, _ = self._validated(X, y, None)
        with numerical_failures(self):
            return self._chosen(features, labels, y, graph)

    def _chosen(self, features: Matrix, labels: Labels, y: Any, graph: Any) -> Any:
        """Choose and refit, on checked data."""
        if graph is not None:
            graph = check_adjacency(graph, labels.n_samples)
        self._check_words()
        folds = self._folds(features, labels)
        rule = in_force(self.class_balance, labels)
        kept = loo.counted(labels.sign, folds)
        tested = np.concatenate([fold.test for fold in folds])[kept]
        if self.criterion != "gcv" and not kept.any():
            warnings.warn(
                f"{type(self).__name__}: no fold tests a class that it trains on, so that the labelled samples cannot "
                "choose; the first candidates are taken. Label two samples of a class, or take criterion='gcv'.",
                stacklevel=outside(),
            )
        found: list[dict[str, Any]] = []
        n_factorized = 0
        for deformed, pairs in self._deformed_kernels(features, labels, graph):
            n_factorized += 1
            path = loo.RidgePath(deformed.reduction.G, labels.sign, self.fit_intercept)
            if not pairs:
                unit = path.unit if path.unit > 0 else 1.0
                pairs = [(unit * size, unit * size * deformed.ratio) for size in _UNITS]
            gamma_As = np.array([gamma_A for gamma_A, _ in pairs])
            raw, maps = self._held_out(path, gamma_As, folds, deformed, labels, rule)
            raw = raw[:, kept]
            compared = np.stack([change(f) for change, f in zip(maps, raw, strict=True)]) if maps else raw
            values = self._values(raw, compared, labels.sign[tested], path, gamma_As)
            for i, (gamma_A, gamma_I) in enumerate(pairs):
                params = {**deformed.params, "gamma_A": float(gamma_A), "gamma_I": float(gamma_I)}
                found.append({"params": params, **{name: float(column[i]) for name, column in values.items()}})
            _LOGGER.debug(
                "%s, ratio %g: %s %.4g", deformed.params, deformed.ratio, self.criterion, np.min(values[self.criterion])
            )
        self._record(found)
        _LOGGER.info(
            "%s: %d settings from %d factorisations, best %s %.4g at %s",
            type(self).__name__,
            len(found),
            n_factorized,
            self.criterion,
            -self.best_score_,
            self.best_params_,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarkerWarning)  # said already
            self.estimator_ = self._estimator(self.best_params_).fit(features, y, graph=graph)
        for name in ("classes_", "transduction_", "dual_coef_", "intercept_", "result_", "gamma_", "n_iter_"):
            setattr(self, name, getattr(self.estimator_, name))
        return self

    def _held_out(
        self,
        path: loo.RidgePath,
        gamma_As: FloatArray,
        folds: list[loo.Fold],
        deformed: Deformed,
        labels: Labels,
        rule: str | None,
    ) -> tuple[FloatArray, list[Balance]]:
        """Return the decisions at the tested samples, (n_settings, m[, K]), and the balance per setting if any."""
        raise NotImplementedError

    def _estimator(self, params: Mapping[str, Any]) -> LapSVM:
        raise NotImplementedError

    def _needs_graph(self) -> bool:
        return False  # `_deformed_kernels` makes them

    def _decision(self, X: Matrix) -> FloatArray:
        return self.estimator_._decision(X)

    def _shared_words(self) -> dict[str, Any]:
        names = ("kernel", "degree", "coef0", "kind", "weight", "metric", "normalized", "class_balance")
        more = ("fit_intercept", "span", "n_functions", "tol", "random_state", "unlabeled")
        return {name: getattr(self, name) for name in (*names, *more)}

    def _check_words(self) -> None:
        if self.criterion not in self._criteria:
            raise InvalidInputError(
                f"criterion={self.criterion!r} is unknown here; take one of {', '.join(self._criteria)}."
            )
        for name in ("gammas", "gamma_As", "gamma_Is", "ratios", "n_neighbors", "powers"):
            value = getattr(self, name)
            if value is None and name in ("gamma_As", "gamma_Is"):
                continue
            if isinstance(value, str) or np.ndim(value) != 1 or len(value) == 0:
                raise InvalidInputError(f"{name}={value!r} must be a list of at least one candidate.")
        if self.gamma_Is is not None and self.gamma_As is None:
            raise InvalidInputError("gamma_Is needs gamma_As beside it; or give ratios gamma_I / gamma_A instead.")
        for name, least in (("gamma_As", "> 0"), ("gamma_Is", ">= 0"), ("ratios", ">= 0")):
            given = getattr(self, name)
            for value in () if given is None else given:
                if not (np.isfinite(value) and (value > 0 or (value == 0 and least == ">= 0"))):
                    raise InvalidInputError(f"{name} holds {value!r}; its entries must be numbers {least}.")

    def _folds(self, X: Matrix, labels: Labels) -> list[loo.Fold]:
        l = labels.n_labeled
        if isinstance(self.cv, str):
            if self.cv != "loo":
                raise InvalidInputError(f"cv={self.cv!r} must be 'loo', a number of folds, or a splitter.")
            return loo.one_left_out(l)
        codes = (labels.sign > 0).astype(int) if labels.is_binary else labels.sign.argmax(axis=1)
        whole = isinstance(self.cv, int | np.integer)
        splitter = LabeledKFold(int(self.cv), shuffle=False) if whole else check_cv(self.cv)
        folds = []
        for train, test in splitter.split(X[labels.labeled], codes):
            left_out = np.setdiff1d(np.arange(l), train)
            if not np.isin(test, left_out).all():
                raise InvalidInputError("the splitter of cv tests labelled samples that it trains on.")
            folds.append(loo.Fold(left_out, np.asarray(test)))
        return folds

    def _weights(self) -> list[tuple[float, list[tuple[float, float]]]]:
        """Return each distinct ratio with its pairs (gamma_A, gamma_I); none where gamma_A comes in units of G."""
        if self.gamma_As is None:
            return [(float(ratio), []) for ratio in dict.fromkeys(self.ratios)]
        if self.gamma_Is is None:
            return [(float(r), [(a, a * r) for a in self.gamma_As]) for r in dict.fromkeys(self.ratios)]
        groups: dict[str, list[tuple[float, float]]] = {}
        for gamma_I in self.gamma_Is:
            for gamma_A in self.gamma_As:
                groups.setdefault(f"{gamma_I / gamma_A:.12g}", []).append((gamma_A, gamma_I))
        return [(pairs[0][1] / pairs[0][0], pairs) for pairs in groups.values()]

    def _widths(self, X: Matrix) -> list[float | None]:
        if self.kernel not in _WITH_WIDTH:
            return [None]
        return list(dict.fromkeys(_resolved(X, gamma) for gamma in self.gammas))

    def _graphs(self, X: Matrix, graph: SparseArray | None) -> list[tuple[dict[str, Any], SparseArray]]:
        if graph is not None:
            return [({}, graph)]
        if self.kernel == "precomputed":
            raise InvalidInputError(
                "kernel='precomputed' leaves no features to build a graph from; pass fit(K, y, graph=W), or "
                "ratios=[0] for supervised learning."
            )
        search = self._estimator({})._opened(X)
        counts = dict.fromkeys(min(int(k), X.shape[0] - 1) for k in self.n_neighbors)
        return [({"n_neighbors": k}, knn_graph(search, k, kind=self.kind, weight=self.weight)) for k in counts]

    def _span(self, X: Matrix, labels: Labels, params: Mapping[str, Any], L: Laplacian | None) -> Span:
        """Return the functions that the estimator of these words chooses from."""
        template = self._estimator(params)
        template.gamma_, template._search = params.get("gamma", 1.0), None  # a kernel without a width takes any
        return template._functions(X, labels, L)

    def _deformed_kernels(
        self, X: Matrix, labels: Labels, graph: SparseArray | None
    ) -> Iterator[tuple[Deformed, list[tuple[float, float]]]]:
        """Yield every factorisation of the grid with its pairs of gammas."""
        weights = self._weights()
        graphs = self._graphs(X, graph) if any(ratio > 0 for ratio, _ in weights) else []
        binary = next(iter(labels.one_vs_rest()))

        def deformed(K: Any, L: MatrixLike | None, ratio: float, params: dict[str, Any]) -> Deformed:
            unit = objectives.LapSVM(K, L, binary, loss="squared", gamma_I=ratio, fit_intercept=self.fit_intercept)
            return Deformed(params, ratio, unit.reduction, unit.K)

        spectral = False
        for width in self._widths(X):
            params: dict[str, Any] = {} if width is None else {"gamma": width}
            span: Span | None = None
            for ratio, pairs in weights:
                if ratio == 0:
                    span = self._span(X, labels, params, None) if span is None else span
                    yield deformed(span.kernel, None, 0.0, params), pairs
            if self.span == "auto" and not isinstance(span, KernelSpan):
                span = None  # another one with a graph
            # Eigenvectors know no width, and the first has had them; all other functions know no graph.
            for which, W in [] if spectral else graphs:
                once, before = laplacian(W, normalized=self.normalized), 0
                if span is None or isinstance(span, EigenvectorSpan):
                    span = self._span(X, labels, {**params, **which}, once)
                K = span.kernel
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
            spectral = spectral or isinstance(span, EigenvectorSpan)

    def _values(
        self, raw: FloatArray, compared: FloatArray, sign: FloatArray, path: loo.RidgePath, gamma_As: FloatArray
    ) -> dict[str, FloatArray]:
        """Return every criterion per setting; those of the decisions are nan where no sample counts."""
        values = dict.fromkeys(self._criteria, np.full(len(gamma_As), np.nan))
        if len(sign):
            values["nll"] = loo.nll(compared, sign)
            values["sq"] = loo.squared_error(raw, sign)
            # Few labels make many ties.
            values["01"] = loo.zero_one(compared, sign) + 1e-3 * values["nll"]
        if "gcv" in self._criteria:
            values["gcv"] = path.gcv(gamma_As)
        return values

    def _record(self, found: list[dict[str, Any]]) -> None:
        scores = -np.array([entry[self.criterion] for entry in found])
        ordered = np.where(np.isnan(scores), np.inf, -scores)
        self.best_index_ = int(ordered.argmin())
        self.best_score_ = float(scores[self.best_index_])
        self.best_params_ = dict(found[self.best_index_]["params"])
        names = list(dict.fromkeys(name for entry in found for name in entry["params"]))
        self.cv_results_ = {
            **{f"param_{name}": np.array([entry["params"].get(name, np.nan) for entry in found]) for name in names},
            "params": [entry["params"] for entry in found],
            "mean_test_score": scores,
            "rank_test_score": rankdata(ordered, method="min").astype(np.int32),
            **{name: np.array([entry[name] for entry in found]) for name in self._criteria},
        }


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
