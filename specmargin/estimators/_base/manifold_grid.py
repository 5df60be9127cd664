"""The grid that the searches over manifold regularization try: kernels, graphs, powers, weights, and factorisations.

Every (kernel, graph, Laplacian, ratio gamma_I / gamma_A) costs one factorisation, every kernel without a graph next to
nothing. Graphs share one search for neighbours, powers and ratios share products of the graph with the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from specmargin import objectives
from specmargin.estimators._base.feature_maps import EigenvectorFunctions, FeatureMap, KernelFunctions
from specmargin.estimators._base.label_search import Space
from specmargin.estimators._base.manifold import USUAL_RATIO
from specmargin.estimators._base.memory import require_memory
from specmargin.estimators._base.parameters import multiple_of, part_of
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian
from specmargin.graphs.parts import built_each
from specmargin.kernels import RBF, Kernel, Landmarks, Linear, LowRankKernel, resolve_gamma
from specmargin.labels import Labels, Targets
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.manifold_weights import ambient_weight, ratio_for
from specmargin.objectives.reduction import Applied, graph_product
from specmargin.spectra import Eigenvectors
from specmargin.typing import FloatArray, Matrix, MatrixLike, SparseArray

CANDIDATES: dict[str, Sequence[Any]] = {
    "kernel": (Linear(), RBF("0.5 median"), RBF("median")),
    "graph__n_neighbors": (2, 5, 15, 50),
    "laplacian__power": (1, 2, 4),
    "gamma_I": ("0 gamma_A", "100 gamma_A"),
}
"""What is tried of what the grid does not name."""
SEARCHED: tuple[str, ...] = ("kernel", "graph", "laplacian", "gamma_A", "gamma_I")
_LOW_RANK = 0.5
"""Features per sample up to which a linear kernel is worked with as that of its features."""
_USUAL_NEIGHBORS = 10


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


class ManifoldGrid:
    """What is tried, and how often something of size n is factorised for it.

    Parameters
    ----------
    space : Space
        The parameters that are tried, and the estimator that has all others.
    units : ndarray
        gamma_A in units of the mean eigenvalue of the centred G, where none is given.
    """

    def __init__(self, space: Space, units: FloatArray) -> None:
        self.space, self.units, self.template = space, units, space.template
        self.gamma_As: list[Any] = list(space.values("gamma_A"))
        self.gamma_Is: list[Any] = list(space.values("gamma_I"))
        self.has_pairs = any(_is_weight(gamma_I) for gamma_I in self.gamma_Is)
        if self.has_pairs and any(isinstance(gamma_A, str) for gamma_A in self.gamma_As):
            raise InvalidInputError(
                f"grid['gamma_I']={self.gamma_Is!r} holds numbers, which need numbers for gamma_A in the grid, too; or "
                "give multiples, such as '100 gamma_A'."
            )
        self._none: dict[str, Any] = {}
        if isinstance(part_of("functions", self.template.functions), Eigenvectors):
            self._none = {"functions": "kernel" if self.template._is_precomputed else Landmarks()}

    def ratios(self) -> list[tuple[float, list[tuple[float, float]]]]:
        """Return each distinct ratio with its pairs (gamma_A, gamma_I); none where it is a multiple of gamma_A."""
        if not self.has_pairs:
            multiples = [_multiple(gamma_I) for gamma_I in self.gamma_Is]
            return [(ratio, []) for ratio in dict.fromkeys(multiples)]
        groups: dict[str, list[tuple[float, float]]] = {}
        for gamma_I in self.gamma_Is:
            for gamma_A in map(float, self.gamma_As):
                weight = float(gamma_I) if _is_weight(gamma_I) else _multiple(gamma_I) * gamma_A
                groups.setdefault(f"{weight / gamma_A:.12g}", []).append((gamma_A, weight))
        return [(pairs[0][1] / pairs[0][0], pairs) for pairs in groups.values()]

    def tried(self, deformed: Deformed, path: loo.RidgePath) -> tuple[FloatArray, list[dict[str, Any]]]:
        """Return the gamma_A to try with one factorisation, and the parameters of the estimators."""
        pairs = deformed.pairs
        if not pairs and "gamma_A" not in self.space.tried and self.gamma_As == ["auto"]:
            unit = path.unit if path.unit > 0 else 1.0
            pairs = [(float(unit * size), float(unit * size) * deformed.ratio) for size in self.units]
        elif not pairs:
            auto = ambient_weight(path.G, centred=self.template.fit_intercept)
            gamma_As = [auto if gamma_A == "auto" else float(gamma_A) for gamma_A in self.gamma_As]
            pairs = [(gamma_A, gamma_A * deformed.ratio) for gamma_A in gamma_As]
        tried = [{**deformed.params, "gamma_A": float(a), "gamma_I": float(i)} for a, i in pairs]
        return np.array([gamma_A for gamma_A, _ in pairs]), tried

    def from_defaults(self, X: Matrix, deformed: Deformed, path: loo.RidgePath, params: Mapping[str, Any]) -> float:
        """Return how far a setting is from the defaults of the estimator, in logarithms; a graph comes first."""
        usual = type(self.template)()
        measured = [(params["gamma_A"], ambient_weight(path.G, centred=self.template.fit_intercept))]
        if (width := getattr(params["kernel"], "gamma", None)) is not None:
            measured.append((width, resolve_gamma(X, "median")))
        if (n_neighbors := getattr(params.get("graph"), "n_neighbors", None)) is not None:
            measured.append((n_neighbors, _USUAL_NEIGHBORS))
        if "laplacian" in params:
            measured.append((params["laplacian"].power, usual.laplacian.power))
        distance = sum(abs(float(np.log(value / unit))) for value, unit in measured)
        if deformed.is_supervised:
            return distance + 1e6
        graph = abs(float(np.log(deformed.ratio / ratio_for(deformed.K, USUAL_RATIO))))
        return distance + graph + 1e3 * (type(params["kernel"]) is not type(usual.kernel))

    def _kernels(self, X: Matrix) -> list[Kernel]:
        """Return the kernels to try, each with a number for its width."""
        tried = [kernel if kernel.is_precomputed else kernel.at(X) for kernel in self.space.values("kernel")]
        if len(tried) > 1 and any(kernel.is_precomputed for kernel in tried):
            raise InvalidInputError(
                f"grid['kernel']={self.space.values('kernel')!r} holds a precomputed kernel and others: X is a Gram "
                "matrix then, of which no other kernel can be made; pass it alone."
            )
        return [one for at, one in enumerate(tried) if one not in tried[:at]]

    def _graphs(self, X: Matrix, graph: SparseArray | None) -> list[tuple[dict[str, Any], SparseArray, Any]]:
        """Return the graphs to try, with their parameters and what new samples find neighbours in."""
        if graph is not None:
            return [({}, graph, None)]
        self.template._require_features()
        return [({"graph": part}, W, place) for part, W, place in built_each(self.space.values("graph"), X)]

    def _functions(
        self, X: Matrix, labels: Labels | Targets, params: Mapping[str, Any], L: Any, place: Any
    ) -> FeatureMap:
        """Return the functions that the estimator of these parameters chooses from; it shares the search."""
        made = clone(self.template).set_params(**params)
        made._place = place
        functions: FeatureMap = made._map(X, labels, L)
        return functions

    def factorisations(self, X: Matrix, labels: Labels | Targets, graph: SparseArray | None) -> Iterator[Deformed]:
        """Yield every factorisation of the grid, those without a graph first."""
        weights = self.ratios()
        graphs = self._graphs(X, graph) if any(ratio > 0 for ratio, _ in weights) else []
        rows = Labels(np.ones(len(labels.labeled)), labels.labeled, np.array([False, True]), X.shape[0])
        none, automatic = self._none, self.template.functions == "auto"

        def deformed(K: Any, L: MatrixLike | None, params: dict[str, Any], ratio: float, pairs: Any) -> Deformed:
            ratio = ratio if self.has_pairs else ratio_for(K, ratio)
            own = {"loss": "squared", "gamma_I": ratio, "fit_intercept": self.template.fit_intercept}
            unit = objectives.LapSVM(K, L, rows, **own)
            return Deformed(params, ratio, unit.reduction, unit.K, pairs)

        spectral = False
        for kernel in self._kernels(X):
            params = {"kernel": kernel}
            functions: FeatureMap | None = None
            for ratio, pairs in weights:
                if ratio == 0:
                    functions = functions or self._functions(X, labels, {**params, **none}, None, None)
                    yield deformed(functions.kernel, None, {**params, **none}, ratio, pairs)
            if none or (automatic and not isinstance(functions, KernelFunctions)):
                functions = None  # another one with a graph
            # Eigenvectors know no kernel, and the first has had them; all other functions know no graph.
            for which, W, place in [] if spectral else graphs:
                if functions is None or isinstance(functions, EigenvectorFunctions):
                    once = self._laplacians()[0].with_(power=1).of(W)
                    functions = self._functions(X, labels, {**params, **which}, once, place)
                for L, K, part in self._powers(X, W, functions, kernel):
                    for ratio, pairs in weights:
                        if ratio > 0:
                            yield deformed(K, L, {**params, **which, "laplacian": part}, ratio, pairs)
            spectral = spectral or isinstance(functions, EigenvectorFunctions)

    def _laplacians(self) -> list[Laplacian]:
        """Return the Laplacians to try, the lowest powers first."""
        read = [part.with_(normalized=bool(part.normalized)) for part in self.space.values("laplacian")]
        return sorted(dict.fromkeys(read), key=lambda part: (not part.normalized, part.power))

    def _powers(
        self, X: Matrix, W: SparseArray, functions: FeatureMap, kernel: Kernel
    ) -> Iterator[tuple[MatrixLike, Any, Laplacian]]:
        """Yield every Laplacian, with its product with the kernel where that is stored."""
        K = functions.kernel
        narrow = isinstance(kernel, Linear) and X.shape[1] <= _LOW_RANK * X.shape[0]
        if isinstance(functions, KernelFunctions) and narrow:
            K = LowRankKernel(X.toarray() if sp.issparse(X) else X)
        if isinstance(K, np.ndarray):
            remedy = "take functions='eigenvectors', or 'landmarks'"
            require_memory(24.0 * K.size, f"sharing L K among the settings of {len(K)} samples", remedy)
        product, before, of = K, 0, None
        for part in self._laplacians():
            L: MatrixLike = part.of(W)
            if isinstance(K, np.ndarray):
                if part.normalized is not of:
                    once, product, before, of = part.with_(power=1).of(W), K, 0, part.normalized
                for _ in range(part.power - before):
                    product = graph_product(once, product)
                before, L = part.power, Applied(L, K, product)
            yield L, K, part


def _is_weight(gamma_I: Any) -> bool:
    """Whether a weight of the graph norm is a number of its own, rather than a multiple of gamma_A."""
    return not isinstance(gamma_I, str) and gamma_I != 0


def _multiple(gamma_I: Any) -> float:
    """Return the multiple of gamma_A that a weight is."""
    if gamma_I == "auto":
        return USUAL_RATIO
    return 0.0 if not isinstance(gamma_I, str) else float(multiple_of("gamma_A", gamma_I) or 0.0)
