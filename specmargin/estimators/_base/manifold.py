"""Manifold regularization: the weights gamma_A and gamma_I, the functions, and the kernel that a graph deforms.

`ManifoldModel` is what `LapSVM`, `LapRLS` and `LapRLSRegressor` share.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cache, partial
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import clone

from specmargin.arrays import room_for
from specmargin.estimators._base.feature_maps import (
    EigenvectorFunctions,
    FeatureMap,
    KernelFunctions,
    LandmarkFunctions,
    factor_columns,
    feature_map,
    is_of_low_rank,
    require_landmarks,
)
from specmargin.estimators._base.parameters import multiple_of, part_of
from specmargin.estimators._base.semi_supervised import check_features, unpacked
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian, LaplacianOperator, NeighborSearch
from specmargin.kernels import RBF, Kernel, Landmarks, LowRankKernel, require_semidefinite
from specmargin.kernels.maps import deformed_features, deformed_kernel
from specmargin.labels import Labels, Targets
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.manifold_weights import ambient_weight, ratio_for, usual_ratio, weights_of_paper
from specmargin.objectives.proved_decisions import DecisionBounds, chained, products_apart
from specmargin.results import SolveResult
from specmargin.rounding import UNIT, gamma
from specmargin.spectra import Eigenvectors
from specmargin.typing import FloatArray, Matrix, SparseArray

USUAL_RATIO = 100.0
"""For the normalized Laplacian, where the ratio is not in units of the graph; a search looks near it first."""
_FULL_SAMPLES = 10_000
"""Up to here one factorisation takes seconds."""
STORED_SAMPLES = 5000
"""Up to here it takes no longer per sample than three times what 30,000 take in the span of fewer functions."""
_ENTRIES, _LANDMARKS = 10_000_000, (500, 1000)
"""Entries of the landmarks' features, between the least and the largest number of landmarks."""
_FEWER: dict[bool, Any] = {True: Eigenvectors(), False: Landmarks()}
"""Functions beyond, with a graph and without."""
NO_NODES = (
    "new samples are no nodes of the graph, and not exchangeable with the labelled samples, which are; fit with them "
    "among the unlabelled samples and leave X out."
)
_NATS = 1.0
"""Of 15 sets, half of them for confirmation, 1 was as good as 2 and better than 0 and 4, from 10 to 100 labels."""
_WIDE = RBF("4 median")
"""Kernel that takes part where the width is "auto": a nearly linear one. In its place 2 medians, linear kernels or
whitened ones changed mean errors on some thirty sets by .6 points at most."""
_SIZES = (1.0, 0.1, 10.0)
"""Values of gamma_A, in units of `ambient_weight`, where the width is "auto"."""
_BOUNDED = 0.1
"""The unit of losses of bounded slope, which cannot pull as far as the squares by which sizes are chosen."""
_FEWEST = 3
"""Numbers from which the deviation of an error can be seen."""
_KEPT_SAMPLES = 3000
"""Samples up to which the last fit keeps its kernel and factors: 144 MB at the most."""
_LAST: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()
_BATCH = 256  # samples whose kernel is computed to know its diagonal


class KernelBlocks(NamedTuple):
    """A kernel of no label: between the labelled samples, between others and these, and of the others themselves."""

    G: FloatArray
    cross: FloatArray
    diagonal: FloatArray

    @classmethod
    def of(cls, K: FloatArray, labeled: Any) -> KernelBlocks:
        """Return the blocks of all samples from their kernel."""
        cross = K[:, labeled]
        return cls(cross[labeled], cross, np.diag(K))

    @classmethod
    def of_features(cls, Z: FloatArray, labeled: Any) -> KernelBlocks:
        """Return the blocks of all samples from features of theirs."""
        cross = Z @ Z[labeled].T
        return cls(cross[labeled], cross, np.einsum("ij,ij->i", Z, Z))


class ManifoldModel:
    """The weights of two norms, and the functions that they are norms of.

    It is mixed into an estimator with the parameters gamma_A, gamma_I, kernel, graph, laplacian, functions and
    fit_intercept.
    """

    kernel_: Kernel
    laplacian_: Laplacian
    gamma_A_: float
    gamma_I_: float
    _functions: FeatureMap
    _place: Matrix | NeighborSearch | None
    _in_use: Any = None
    """Functions that were chosen among several."""

    _tells_classes: ClassVar[bool] = True
    _keeps_training: ClassVar[bool] = True

    @classmethod
    def from_published(cls: Any, *, gamma_A: float, gamma_I: float, l: int, u: int, form: str, **params: Any) -> Any:
        """Return an estimator with the weights that a paper reports.

        Parameters
        ----------
        gamma_A, gamma_I : float
            Weights of the two norms, as published.
        l, u : int
            Numbers of labelled and of unlabelled samples that the classifier is to learn from.
        form : {"means", "sums"}
            "means": 1/l sum V(y_i f_i) + gamma_A |f|^2 + gamma_I / (l+u)^2 f'L f, as in the manifold-regularization
            paper; here l gamma_A and l gamma_I / (l+u)^2. "sums": sum V(y_i f_i) + gamma_A |f|^2 + gamma_I f'L f, or
            half of all that, as in the primal paper; here the same numbers.
        **params
            All other parameters. The papers compare decisions with 0 (``class_balance=None``) and take Laplacians,
            neighbours and kernels of their own.

        Returns
        -------
        estimator

        Raises
        ------
        ValueError
            For numbers out of range or another form.

        References
        ----------
        Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006, eqs. 4 and 5. Melacci & Belkin, Laplacian
        support vector machines trained in the primal, JMLR 2011, eqs. 4, 7 and 14.

        Examples
        --------
        >>> import specmargin as sm
        >>> svm = sm.LapSVM.from_published(gamma_A=0.005, gamma_I=4.0, l=4, u=16, form="means", class_balance=None)
        >>> svm.gamma_A, svm.gamma_I
        (0.02, 0.04)
        """
        ours = weights_of_paper(gamma_A, gamma_I, l, u, form)
        return cls(gamma_A=ours[0], gamma_I=ours[1], **params)

    def _needs_graph(self: Any) -> bool:
        return self.gamma_I == "auto" or not (self.gamma_I == 0 or multiple_of("gamma_A", self.gamma_I) == 0)

    def _graph(self: Any, X: Matrix, graph: Any) -> Any:
        n, functions = X.shape[0], self.functions
        if functions == "kernel" or (functions == "auto" and n <= STORED_SAMPLES):
            factor_columns(n, part_of("kernel", self.kernel))
        elif isinstance(functions, Landmarks):
            require_landmarks(n, min(functions.n, n))
        return super()._graph(X, graph)  # type: ignore[misc]

    def _chosen_functions(self: Any, n: int, with_graph: bool) -> Any:
        """Return the functions; those that suit n samples are all samples', then eigenvectors, or landmarks."""
        if self._in_use is not None:
            return self._in_use
        if not (isinstance(self.functions, str) and self.functions == "auto"):
            return part_of("functions", self.functions)
        if n <= _FULL_SAMPLES or self._is_precomputed:
            return "kernel"
        return _FEWER[with_graph]

    def _norms(
        self: Any, X: Matrix, labels: Labels | Targets, graph: SparseArray | None
    ) -> tuple[FeatureMap, LaplacianOperator | None, float]:
        """Return the functions, the Laplacian, and gamma_I / gamma_A before any label is asked."""
        if graph is None:
            return self._map(X, labels, None), None, 0.0
        # Of classes, where an intercept takes constants, the ratio is in units of the graph and the kernel.
        in_units = self._tells_classes and self.fit_intercept and self.gamma_I == "auto"
        part = part_of("laplacian", self.laplacian)
        normalized = bool(part.normalized)
        if part.normalized == "auto":
            normalized = not in_units or isinstance(self._chosen_functions(X.shape[0], True), Eigenvectors)
        self.laplacian_ = part.resolved(normalized=normalized)
        L = self.laplacian_.of(graph)
        functions = self._map(X, labels, L)
        if in_units:
            return functions, L, usual_ratio(functions.kernel, L)
        multiple = multiple_of("gamma_A", self.gamma_I)
        return functions, L, ratio_for(functions.kernel, USUAL_RATIO if multiple is None else multiple)

    def _map(
        self: Any, X: Matrix, labels: Labels | Targets, L: LaplacianOperator | None, kernel: Kernel | None = None
    ) -> FeatureMap:
        """Return the functions of the expansion, and keep the kernel in use."""
        self.kernel_ = (part_of("kernel", self.kernel) if kernel is None else kernel).fitted_to(X)
        # The first eigenvector, constant or the roots of the degrees, is the intercept's where there is one.
        functions = feature_map(
            self._chosen_functions(X.shape[0], L is not None),
            self.kernel_,
            X,
            labels.labeled,
            L,
            part_of("graph", self.graph),
            self._place,
            first=int(self.fit_intercept),
        )
        if isinstance(functions, KernelFunctions) and not self.kernel_.is_semidefinite:
            require_semidefinite(functions.kernel, name="the kernel matrix")
        return functions

    def _keep_answers(self: Any, results: list[SolveResult], problem: Any = None) -> None:
        """Keep the coefficients of all answers, which predictions follow from; and the problem until the next fit."""
        if isinstance(self._in_use, Eigenvectors | Landmarks):
            kind = "landmarks" if isinstance(self._in_use, Landmarks) else "eigenvectors"
            over = f"over {self._functions.features.shape[1]} {kind}"
            results = [replace(result, problem=f"{result.problem} {over}") for result in results]
        self.result_ = unpacked(results)
        _LAST.clear()
        if problem is not None and len(problem.K) <= _KEPT_SAMPLES:
            _LAST[self] = (self.result_, problem)
        self.dual_coef_ = np.vstack([self._functions.from_dual(result.variables["alpha"]) for result in results])
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        self._functions.forget()
        self._place = None  # functions that ask for neighbours of new samples have the search themselves

    def _with_functions(
        self: Any, X: Matrix, labels: Any, graph: Any, made: Callable[..., Any], targets: FloatArray, **options: Any
    ) -> Any:
        """Return `_with_weights` of the functions by which the labels lose least, where several suit the samples."""
        n, self._in_use = X.shape[0], None
        if self.functions != "auto" or self._is_precomputed or n <= STORED_SAMPLES:
            return self._with_weights(X, labels, graph, made, targets, **options)
        candidates: list[Any] = [] if graph is None else [Eigenvectors()]
        landmarks = Landmarks(int(np.clip(_ENTRIES // n, *_LANDMARKS)))
        if graph is None or room_for(40.0 * n) >= landmarks.n:
            candidates.append(landmarks)
        if n <= _FULL_SAMPLES and is_of_low_rank(X, part_of("kernel", self.kernel).fitted_to(X)):
            candidates = ["kernel"]
        tried = []
        for functions in candidates:
            self._in_use = functions
            objective = self._with_weights(X, labels, graph, made, targets, **options)
            loss = self._losses(objective.reduction.G, targets, [1.0], **options)[0]  # G holds gamma_A
            tried.append((loss, dict(vars(self)), objective))
        _, kept, objective = min(tried, key=itemgetter(0))
        vars(self).update(kept)
        return objective

    def _losses(
        self: Any, G: FloatArray, targets: FloatArray, gamma_As: list[float], numbers: bool = False
    ) -> FloatArray:
        """Return what the labelled samples lose by each other's least squares, in nats, per gamma_A."""
        kept = np.ones(len(targets), bool) if numbers else loo.told_alone(targets)
        if not kept.any():
            return np.zeros(len(gamma_As))
        modes = loo.modes((G + G.T) / 2, targets, self.fit_intercept, None, None)
        held = loo.ridge_left_out(modes, targets, gamma_As)[:, kept]
        if numbers:
            # A normal error of the deviation that suits it best, up to a constant.
            errors = np.maximum(loo.squared_error(held, targets), np.finfo(float).tiny)
            losses = 0.5 * len(targets) * np.log(errors)
        else:
            losses = loo.log_losses(held, targets[kept]).sum(axis=-1)
        return np.nan_to_num(losses, nan=np.inf)

    def _with_weights(
        self: Any,
        X: Matrix,
        labels: Labels | Targets,
        graph: SparseArray | None,
        made: Callable[..., Any],
        targets: FloatArray,
        numbers: bool = False,
    ) -> Any:
        """Return the objective with the weights in use, which are kept; set the functions that it chooses from.

        `made` returns it from kernel, Laplacian and weights; `targets` are those by which ``gamma_I="auto"`` is judged.
        """
        self._functions, L, ratio = self._norms(X, labels, graph)
        made, unit, size = partial(made, K=self._functions.kernel, L=L), None, 1.0
        if self.gamma_I == "auto":
            unit = made(gamma_A=1.0, gamma_I=ratio)
            alone = unit.renewed(gamma_I=0.0)
            Gs = [unit.reduction.G, alone.reduction.G]
            own = part_of("kernel", self.kernel)
            free = not numbers and isinstance(own, RBF) and own.gamma == "auto"
            free &= not isinstance(self._functions, EigenvectorFunctions)
            if free:
                wide = _WIDE.fitted_to(X)
                Gs.append(np.asarray(wide.block(X[labels.labeled])))
            best, sizes = 0, _SIZES if free and self.gamma_A == "auto" else (1.0,)
            losses: list[FloatArray] = []
            for G in Gs if not numbers or len(targets) >= _FEWEST else ():
                usual = ambient_weight(G, centred=self.fit_intercept) if self.gamma_A == "auto" else float(self.gamma_A)
                lost = self._losses(G, targets, [one * usual for one in sizes], numbers)
                losses.append(lost + (_NATS if losses else 0.0))  # the first has the graph
            if losses:
                best, k = divmod(int(np.argmin(losses)), len(sizes))
                size = sizes[k]
            if free and np.isfinite(unit.margin_loss.upper).all():
                size *= _BOUNDED
            if best > 0:
                unit, ratio = alone, 0.0
            if best > 1:
                self._functions = self._map(X, labels, None, wide)
                unit = made(K=self._functions.kernel, L=None, gamma_A=1.0, gamma_I=0.0)
        if self.gamma_A != "auto":
            self.gamma_A_ = float(self.gamma_A)
        else:
            unit = unit or made(gamma_A=1.0, gamma_I=ratio)
            self.gamma_A_ = size * ambient_weight(unit.reduction.G, centred=self.fit_intercept)
        self.gamma_I_ = ratio * self.gamma_A_ if isinstance(self.gamma_I, str) else float(self.gamma_I)
        # The ratio is the same, so that what was factorised serves again.
        return (unit.renewed if unit is not None else made)(gamma_A=self.gamma_A_, gamma_I=self.gamma_I_)

    def _apart(self: Any) -> tuple[Any, Any]:
        """Return an estimator with the weights in use, and the objective that it makes of what was learned from."""
        known, labels, graph = self._remembered()
        apart: Any = clone(self).set_params(gamma_A=self.gamma_A_, gamma_I=self.gamma_I_, kernel=self.kernel_)
        apart.set_params(laplacian=getattr(self, "laplacian_", self.laplacian))
        apart.set_params(functions=self.functions if self._in_use is None else self._in_use)
        return apart, apart._objective(known, labels, graph)

    def _objectives(self: Any) -> Any:
        kept = _LAST.get(self)
        own = kept[1] if kept and kept[0] is self.result_ else self._apart()[1]
        return own.one_vs_rest(self._remembered().labels)

    def _values_of(self: Any, K: Any, alpha: FloatArray) -> Callable[[Matrix], FloatArray]:
        """Return what gives K alpha at new samples, of several columns of coefficients."""
        functions = copy(self._functions)
        functions.kernel = K
        coefficients = functions.from_dual(alpha).T
        return lambda X: np.asarray(functions.values(X, coefficients))

    def _bounds_at(self: Any, X: Matrix, bounds: list[DecisionBounds]) -> list[DecisionBounds]:
        """Return bounds at new samples: those of each training sample, and how far k lets both differ."""
        X, known = check_features(self, X, reset=False), self._remembered().X
        results = self.result_ if len(bounds) > 1 else (self.result_,)
        if isinstance(self._functions, EigenvectorFunctions):
            ends = [self._functions.values(X, np.array([one[end] for one in bounds])).T for end in (0, 1)]
            return [DecisionBounds(low, high) for low, high in zip(*ends, strict=True)]
        parts: list[list[DecisionBounds]] = [[] for _ in bounds]
        for start in range(0, X.shape[0], _BATCH):
            rows = X[start : start + _BATCH]
            own, cross, other = self._functions.products(rows, known)
            apart = products_apart(own, cross, other, gamma(sum(cross.shape))).apart / np.sqrt(self.gamma_A_)
            g = self._functions.values(rows, self.dual_coef_)
            for k, (one, result) in enumerate(zip(bounds, results, strict=True)):
                b, f = float(result.variables["b"]), np.asarray(result.variables["f"])
                size = float(np.sqrt(other) @ np.abs(np.asarray(result.variables["alpha"])))
                error, error_at = (
                    gamma(2 * len(f) + 8) * np.sqrt(squares) * size + 4.0 * UNIT * abs(b) for squares in (own, other)
                )
                parts[k].append(
                    chained(one, g[:, k] + b, f, one.radius * apart, error + one.lost * np.sqrt(own), error_at)
                )
        joined = [[np.concatenate([part[end] for part in each]) for end in (0, 1)] for each in parts]
        return [DecisionBounds(low, high) for low, high in joined]

    def _kernel_blocks(self: Any, X: Matrix | None) -> tuple[KernelBlocks, float]:
        """Return the blocks of the training samples, or of new ones where no graph takes part, and the penalty gamma_A.

        "auto" means no look at labels, nor at which samples have some: gamma_A is in units of all training samples,
        and a graph takes part.
        """
        known, labels, graph = self._remembered()
        kernel, chosen, self._in_use = self.kernel_, self._in_use, None
        functions, L, ratio = self._norms(known, labels, graph)
        self.kernel_, self._in_use = kernel, chosen
        if isinstance(functions, LandmarkFunctions):
            raise InvalidInputError(
                "functions=Landmarks(...) takes the labelled samples for landmarks, so that they are not exchangeable "
                "with others; take functions='kernel', or Eigenvectors(200) with a graph."
            )
        if X is not None and graph is not None:
            raise InvalidInputError(f"{NO_NODES[:-1]}, or take gamma_I=0.")
        K = functions.kernel
        low_rank = isinstance(K, LowRankKernel)

        @cache
        def deformed(ratio: float) -> FloatArray:
            if L is None or ratio == 0:
                return np.asarray(K.factor if low_rank else K)
            return np.asarray(
                deformed_features(K.factor, L, ratio).Z if low_rank else deformed_kernel(K, L, ratio).matrix
            )

        gamma_A = self._unit_weight(deformed(ratio), low_rank) if self.gamma_A == "auto" else float(self.gamma_A)
        own = deformed(ratio if isinstance(self.gamma_I, str) else float(self.gamma_I) / gamma_A)
        if X is not None:
            return self._new_blocks(X, known[labels.labeled]), gamma_A
        return (KernelBlocks.of_features if low_rank else KernelBlocks.of)(own, labels.labeled), gamma_A

    def _unit_weight(self: Any, own: FloatArray, low_rank: bool) -> float:
        """Return gamma_A in units of a kernel of all samples, or of the kernel of features."""
        if not low_rank:
            return ambient_weight(own, centred=self.fit_intercept)
        Z = own - own.mean(axis=0) if self.fit_intercept else own
        return ambient_weight(Z.T @ Z, centred=False) * Z.shape[1] / len(Z)

    def _new_blocks(self: Any, X: Matrix, labeled: Matrix) -> KernelBlocks:
        X = check_features(self, X, reset=False)
        batches = (X[start : start + _BATCH] for start in range(0, X.shape[0], _BATCH))
        own = np.concatenate([np.diag(np.asarray(self.kernel_(batch, batch))) for batch in batches])
        return KernelBlocks(np.asarray(self.kernel_(labeled)), np.asarray(self.kernel_(X, labeled)), own)
