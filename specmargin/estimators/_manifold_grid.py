"""The grid that `LapRLSCV` and `LapSVMCV` search: kernels, graphs, powers, weights, and their factorisations.

Every (kernel, neighbours, power, ratio gamma_I / gamma_A) costs one factorisation, every kernel without a graph next to
nothing. Kernels share one search for neighbours, powers and ratios share products of the graph with the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from specmargin import objectives
from specmargin.checks import Rule, count, shown
from specmargin.estimators._feature_maps import ChosenFunctions, Eigenvectors, FeatureMap, KernelFunctions
from specmargin.estimators._manifold_weights import USUAL_RATIO
from specmargin.estimators._memory import require_memory
from specmargin.estimators._parameter_rules import candidates
from specmargin.estimators._shared_parameters import (
    DEFAULT_NEIGHBORS,
    GraphParameters,
    SearchedNeighbors,
    neighbor_count,
)
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import check_adjacency, knn_graph, laplacian
from specmargin.kernels import LowRankKernel, resolve_gamma
from specmargin.kernels.rules import KERNEL
from specmargin.labels import Labels, Targets
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.manifold_weights import ambient_weight, ratio_for
from specmargin.objectives.reduction import Applied, graph_product
from specmargin.typing import FloatArray, Matrix, MatrixLike, SparseArray

_WITH_WIDTH = ("rbf", "poly", "polynomial")
_LOW_RANK = 0.5
"""Features per sample up to which a linear kernel is worked with as that of its features."""


class Deformed(NamedTuple):
    """One factorisation: G and all that turns coefficients into decisions, at gamma_A = 1 and gamma_I = ratio.

    ``pairs`` are the pairs (gamma_A, gamma_I) to try, none where gamma_A is in units of G.
    """

    params: dict[str, Any]
    ratio: float
    reduction: objectives.Reduction
    K: Any
    pairs: list[tuple[float, float]]

    @property
    def is_supervised(self) -> bool:
        """Whether no graph takes part."""
        return self.ratio == 0

    def decisions(self, v: FloatArray, b: FloatArray) -> FloatArray:
        """Return f at all samples for columns v (l, m) in units of gamma_A = 1."""
        known = self.reduction
        v = v + known.c * (known.G @ v)
        narrow = v.shape[1] <= len(v)
        values = self.K @ (known.damped @ v) if narrow else (self.K @ (known.damped @ np.eye(len(v)))) @ v
        return np.asarray(values) + b


@dataclass(kw_only=True, eq=False, repr=False)
class ManifoldGrid(SearchedNeighbors, GraphParameters, ChosenFunctions):
    """What is tried, and how often something of size n is factorised for it.

    Parameters
    ----------
    kernels : sequence of {"linear", "rbf", "poly", "cosine"} or callable
        Kernels to try, those with a width at each of `gammas`. ``["precomputed"]``: X is a Gram matrix.
    degree, coef0 : int, float
        Parameters of the polynomial kernel.
    gammas : sequence of float or str
        Kernel parameters to try, of "rbf" and "poly". A number is gamma itself, 1 / (2 sigma^2); "median" is sigma =
        the median distance between samples, "0.5 median" half that sigma (four times that gamma), and so on; "scale"
        as in scikit-learn.
    gamma_As : sequence of float or "auto"
        Ambient weights to try, > 0. By default from 1e-4 to 1 in units of tr(H G H) / l, G the deformed kernel at
        gamma_A = 1 and H the centring, which suit any kernel and graph: nine for `LapRLSCV`, which hardly cost more
        than one, the five powers of ten for `LapSVMCV`. An entry "auto" is 0.1 of these units, as of `LapSVM`.
    gamma_Is : sequence of float
        Intrinsic weights to try with each of `gamma_As`, >= 0, instead of `ratios`; a factorisation is paid for each
        distinct gamma_I / gamma_A, so that all of these are numbers.
    ratios : sequence of float
        gamma_I / gamma_A to try, >= 0, for a kernel whose diagonal has the mean one (over that mean, like `ratio` of
        `LapSVM`). 0 is supervised learning: tried once per kernel, and of no cost.
    n_neighbors : sequence of int
        Neighbours of the graphs to try, unless `fit` is given a graph; more than n - 1 are n - 1. It decides, with
        `powers`: images want 4 to 10, views of one object 2, Gaussian clusters and text 15 to 50.
    powers : sequence of int
        Powers of the Laplacian to try.
    fit_intercept : bool
        Whether f has an unpenalised intercept.
    span : {"auto", "kernel", "landmarks", "eigenvectors"}
        Fewer functions for large samples, as for `LapSVM`; the eigenvectors of a graph have no kernel. Supervised
        candidates, which have no graph, take landmarks in their place.
    """

    kernels: Sequence[Any] = ("linear", "rbf")
    degree: int = 3
    coef0: float = 1.0
    gammas: Sequence[float | str] = ("0.5 median", "median")
    gamma_As: Sequence[float | str] | None = None
    gamma_Is: Sequence[float] | None = None
    ratios: Sequence[float] = (0.0, 1e2)
    n_neighbors: Sequence[int] = (2, 5, 15, 50)  # type: ignore[assignment]  # a search takes a list
    powers: Sequence[int] = (1, 2, 4)
    fit_intercept: bool = True

    _units: ClassVar[FloatArray] = 10.0 ** np.arange(-4.0, 0.5, 0.5)
    """gamma_A in units of the mean eigenvalue of the centred G, where none are given."""
    _refitted: ClassVar[type[Any]]
    """The estimator whose parameters are chosen."""
    _parameter_rules: ClassVar[dict[str, Rule]] = {
        "kernels": candidates(KERNEL),
        "n_neighbors": candidates(count(1)),
    }

    @property
    def _is_precomputed(self) -> bool:
        listed = isinstance(self.kernels, Sequence | np.ndarray) and not isinstance(self.kernels, str)
        return listed and any(isinstance(kernel, str) and kernel == "precomputed" for kernel in self.kernels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of the class it is mixed into
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    def _graph(self, X: Matrix, graph: Any) -> SparseArray | None:
        return None if graph is None else check_adjacency(graph, X.shape[0])  # `_factorisations` makes them

    def _check_grid(self) -> None:
        if self._is_precomputed and len(self.kernels) > 1:
            raise InvalidInputError(
                f"kernels={shown(self.kernels)} holds 'precomputed' and others: X is a Gram matrix then, of which no "
                "other kernel can be made; pass ['precomputed'] alone."
            )
        if self.gamma_Is is not None and (self.gamma_As is None or "auto" in list(self.gamma_As)):
            raise InvalidInputError(
                f"gamma_Is={self.gamma_Is!r} needs numbers in gamma_As={self.gamma_As!r}, too; or give ratios "
                "gamma_I / gamma_A instead."
            )

    @property
    def _has_pairs(self) -> bool:
        return self.gamma_As is not None and self.gamma_Is is not None

    def _weights(self) -> list[tuple[float, list[tuple[float, float]]]]:
        """Return each distinct ratio with its pairs (gamma_A, gamma_I); none where it is one of `ratios`."""
        if self.gamma_As is None or self.gamma_Is is None:
            return [(float(ratio), []) for ratio in dict.fromkeys(self.ratios)]
        groups: dict[str, list[tuple[float, float]]] = {}
        for gamma_I in self.gamma_Is:
            for gamma_A in map(float, self.gamma_As):
                groups.setdefault(f"{gamma_I / gamma_A:.12g}", []).append((gamma_A, gamma_I))
        return [(pairs[0][1] / pairs[0][0], pairs) for pairs in groups.values()]

    def _tried(self, deformed: Deformed, path: loo.RidgePath) -> tuple[FloatArray, list[dict[str, Any]]]:
        """Return the gamma_A to try with one factorisation, and the parameters of the estimators."""
        pairs = self._pairs(deformed, path)
        tried = [{**deformed.params, "gamma_A": float(a), "gamma_I": float(i)} for a, i in pairs]
        return np.array([gamma_A for gamma_A, _ in pairs]), tried

    def _pairs(self, deformed: Deformed, path: loo.RidgePath) -> list[tuple[float, float]]:
        if deformed.pairs:
            return deformed.pairs
        if self.gamma_As is None:
            unit = path.unit if path.unit > 0 else 1.0
            gamma_As = [float(unit * size) for size in self._units]
        else:
            auto = ambient_weight(path.G, centred=self.fit_intercept)
            gamma_As = [auto if gamma_A == "auto" else float(gamma_A) for gamma_A in self.gamma_As]
        return [(gamma_A, gamma_A * deformed.ratio) for gamma_A in gamma_As]

    def _from_defaults(self, X: Matrix, deformed: Deformed, path: loo.RidgePath, params: Mapping[str, Any]) -> float:
        """Return how far a setting is from the defaults of the estimator, in logarithms; a graph comes first."""
        usual = self._refitted()
        units = {
            "gamma": _resolved(X, "median") if "gamma" in params else 1.0,
            "n_neighbors": DEFAULT_NEIGHBORS,
            "power": usual.power,
            "gamma_A": ambient_weight(path.G, centred=self.fit_intercept),
        }
        distance = sum(abs(float(np.log(params[name] / unit))) for name, unit in units.items() if name in params)
        if deformed.is_supervised:
            return distance + 1e6
        graph = abs(float(np.log(deformed.ratio / ratio_for(deformed.K, USUAL_RATIO))))
        return distance + graph + 1e3 * (params["kernel"] != usual.kernel)

    @property
    def _common(self) -> dict[str, Any]:
        """The parameters that all candidates share, those that the estimator's defaults do not imply."""
        own: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]  # of the class it is mixed into
        defaults = {name: one.default for name, one in signature(self._refitted).parameters.items()}
        tried = ("n_neighbors",)
        return {
            name: own[name]
            for name, default in defaults.items()
            if name in own and name not in tried and not _same(own[name], default)
        }

    def _kernels(self, X: Matrix) -> list[dict[str, Any]]:
        """Return the kernels to try, each with one width, as parameters of the estimator."""
        widths = None
        tried: list[dict[str, Any]] = []
        for kernel in self.kernels:
            name = str(kernel) if isinstance(kernel, str) else kernel
            if name in _WITH_WIDTH:
                widths = widths or list(dict.fromkeys(_resolved(X, gamma) for gamma in self.gammas))
                tried += [{"kernel": name, "gamma": width} for width in widths]
            else:
                tried.append({"kernel": name})
        return [one for at, one in enumerate(tried) if one not in tried[:at]]

    def _graphs(self, X: Matrix, graph: SparseArray | None) -> list[tuple[dict[str, Any], SparseArray]]:
        """Return the graphs to try with their parameters, from one search for neighbours."""
        if graph is not None:
            return [({}, graph)]
        if self._is_precomputed:
            raise InvalidInputError(
                "kernels=['precomputed'] leaves no features to build a graph from; pass fit(K, y, graph=W), or "
                "ratios=[0] for supervised learning."
            )
        self._search = self._opened(X)
        counts = list(dict.fromkeys(min(int(k), X.shape[0] - 1) for k in self.n_neighbors))
        self._search.reserve(max(counts))
        graphs = {k: knn_graph(self._search, k, kind=self.kind, weight=self.weight) for k in counts}
        return [({"n_neighbors": k}, W) for k, W in graphs.items()]

    def _candidate(self, params: Mapping[str, Any]) -> Any:
        """Return the estimator of these parameters, unfitted; it shares the search for neighbours."""
        made = self._refitted(**{**self._common, **params})
        made._search = self._search
        return made

    def _functions(
        self, X: Matrix, labels: Labels | Targets, params: Mapping[str, Any], graph: SparseArray | None
    ) -> FeatureMap:
        """Return the functions that the estimator of these parameters chooses from."""
        L = None if graph is None else laplacian(graph, normalized=self.normalized)
        default = neighbor_count(None, X.shape[0])  # of the refit where the graph is given
        # A kernel without a width takes any.
        gamma, k = params.get("gamma", 1.0), params.get("n_neighbors", default)
        functions: FeatureMap = self._candidate(params)._manifold_map(X, labels, L, gamma, k)
        return functions

    def _factorisations(self, X: Matrix, labels: Labels | Targets, graph: SparseArray | None) -> Iterator[Deformed]:
        """Yield every factorisation of the grid, those without a graph first."""
        weights = self._weights()
        graphs = self._graphs(X, graph) if any(ratio > 0 for ratio, _ in weights) else []
        rows = Labels(np.ones(len(labels.labeled)), labels.labeled, np.array([False, True]), X.shape[0])
        none = {"span": "kernel" if self._is_precomputed else "landmarks"} if self.span == "eigenvectors" else {}

        def deformed(K: Any, L: MatrixLike | None, params: dict[str, Any], ratio: float, pairs: Any) -> Deformed:
            ratio = ratio if self._has_pairs else ratio_for(K, ratio)
            unit = objectives.LapSVM(K, L, rows, loss="squared", gamma_I=ratio, fit_intercept=self.fit_intercept)
            return Deformed(params, ratio, unit.reduction, unit.K, pairs)

        spectral = False
        for kernel in self._kernels(X):
            functions: FeatureMap | None = None
            for ratio, pairs in weights:
                if ratio == 0:
                    functions = functions or self._functions(X, labels, {**kernel, **none}, None)
                    yield deformed(functions.kernel, None, {**kernel, **none}, ratio, pairs)
            if none or (self.span == "auto" and not isinstance(functions, KernelFunctions)):
                functions = None  # another one with a graph
            # Eigenvectors know no kernel, and the first has had them; all other functions know no graph.
            for which, W in [] if spectral else graphs:
                if functions is None or isinstance(functions, Eigenvectors):
                    functions = self._functions(X, labels, {**kernel, **which}, W)
                for L, K, power in self._powers(X, W, functions, kernel):
                    for ratio, pairs in weights:
                        if ratio > 0:
                            yield deformed(K, L, {**kernel, **which, "power": power}, ratio, pairs)
            spectral = spectral or isinstance(functions, Eigenvectors)
        self._search = None  # the refit has its own, for new samples

    def _powers(
        self, X: Matrix, W: SparseArray, functions: FeatureMap, kernel: Mapping[str, Any]
    ) -> Iterator[tuple[MatrixLike, Any, int]]:
        """Yield every power of the Laplacian, with its product with the kernel where that is stored."""
        K, before = functions.kernel, 0
        narrow = kernel["kernel"] == "linear" and X.shape[1] <= _LOW_RANK * X.shape[0]
        if isinstance(functions, KernelFunctions) and narrow:
            K = LowRankKernel(X.toarray() if sp.issparse(X) else X)
        product = K
        if isinstance(K, np.ndarray):
            remedy = "take span='eigenvectors', or span='landmarks'"
            require_memory(24.0 * K.size, f"sharing L K among the settings of {len(K)} samples", remedy)
        once = laplacian(W, normalized=self.normalized)
        for power in sorted(dict.fromkeys(map(int, self.powers))):
            L: MatrixLike = laplacian(W, normalized=self.normalized, power=power)
            if isinstance(K, np.ndarray):
                for _ in range(power - before):
                    product = graph_product(once, product)
                before, L = power, Applied(L, K, product)
            yield L, K, power


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(np.all(value == default)))


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
