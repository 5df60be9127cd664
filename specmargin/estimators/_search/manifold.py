"""Manifold regularization by the labels: kernels, graphs, powers and weights, by exact leave-one-out.

The deformed kernel G ignores the labels, so that the decisions of left-out samples follow from it without refitting
anything of size n (`specmargin.objectives.held_out.leave_one_out`). Every (kernel, graph, Laplacian, ratio gamma_I /
gamma_A) costs one factorisation, every kernel without a graph next to nothing; graphs share one search for neighbours,
powers and ratios share products of the graph with the kernel. gamma_A, classes, balance and criteria are nearly free
(least squares) or cost a few problems with l unknowns each (`LapSVM`).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from specmargin import objectives, solvers
from specmargin.arrays import require_memory
from specmargin.estimators._base.calibrated import Calibration
from specmargin.estimators._base.feature_maps import EigenvectorFunctions, FeatureMap, KernelFunctions
from specmargin.estimators._base.manifold import STORED_SAMPLES, USUAL_RATIO
from specmargin.estimators._base.parameters import multiple_of, part_of
from specmargin.estimators._base.semi_supervised import columns
from specmargin.estimators._search.candidates import Candidates
from specmargin.estimators._search.trials import OF_DECISIONS, Settings, Trials
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian, check_adjacency
from specmargin.graphs.parts import built_each
from specmargin.kernels import RBF, Kernel, Landmarks, Linear, LowRankKernel, resolve_gamma
from specmargin.labels import Labels, Targets
from specmargin.labels.shares import Balance, in_force
from specmargin.losses import LOSSES
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.held_out.calibration import class_probabilities
from specmargin.objectives.held_out.principal_pivots import squared_hinge_leave_one_out
from specmargin.objectives.held_out.refitting import refitted, solution_near
from specmargin.objectives.intercept import hinge_intercept
from specmargin.objectives.manifold_weights import ambient_weight, ratio_for
from specmargin.objectives.reduction import Applied, graph_product
from specmargin.spectra import Eigenvectors
from specmargin.typing import BoolArray, FloatArray, IntArray, MatrixLike, SparseArray

_LOGGER = logging.getLogger(__name__)
_LOW_RANK = 0.5
"""Features per sample up to which a linear kernel is worked with as that of its features."""
_USUAL_NEIGHBORS = 10


@dataclass(eq=False)
class Deformed:
    """One factorisation: G and all that turns coefficients into decisions, at gamma_A = 1 and gamma_I = ratio.

    ``pairs`` are the pairs (gamma_A, gamma_I) to try, none where gamma_A is in units of G. It serves any part of the
    labels: their G is a block, and the coefficients of all others are zero.
    """

    params: dict[str, Any]
    ratio: float
    reduction: objectives.Reduction
    K: Any
    pairs: list[tuple[float, float]]

    @cached_property
    def images(self) -> FloatArray:
        """K times the columns of `damped`, (n, l)."""
        return np.asarray(self.K @ (self.reduction.damped @ np.eye(len(self.reduction.G))))

    def decisions(
        self, solutions: list[tuple[FloatArray, FloatArray]], among: Any = slice(None), *, shared: bool = False
    ) -> FloatArray:
        """Return f at all samples (n, P[, K]), for v (l[, K]) and b of P settings in units of gamma_A = 1.

        `among` are the places of the l labels among all; `shared` says that other parts of them will ask, too.
        """
        v, b = np.stack([v for v, _ in solutions], axis=1), np.stack([b for _, b in solutions])
        G, shape = self.reduction.G, v.shape[1:]
        whole = np.zeros((len(G), b.size))
        whole[among] = v.reshape(len(v), -1)
        whole += self.reduction.c * (G @ whole)
        few = not shared and b.size <= len(G)
        f = self.K @ (self.reduction.damped @ whole) if few else self.images @ whole
        return (np.asarray(f) + b.ravel()).reshape(-1, *shape)


class RidgeCandidates(Candidates):
    """Settings of `LapRLSRegressor`, and what those of the classifiers share with them."""

    usual: ClassVar[Mapping[str, Sequence[Any]]] = {
        "kernel": (Linear(), RBF("0.5 median"), RBF("median")),
        "graph__n_neighbors": (2, 5, 15, 50),
        "laplacian__power": (1, 2, 4),
        "gamma_I": ("0 gamma_A", "100 gamma_A"),
    }
    names: ClassVar[tuple[str, ...]] = ("kernel", "graph", "laplacian", "gamma_A", "gamma_I")
    most_folds: ClassVar[float] = np.inf  # whatever is left out follows from one factorisation
    units: ClassVar[FloatArray] = 10.0 ** np.arange(-4.0, 0.5, 0.5)
    """gamma_A in units of the mean eigenvalue of the centred G, where none is given."""
    among: Any = slice(None)
    """Places of the labels among those that are factorised for."""

    def settings(self) -> Iterator[Settings]:
        """Yield the settings of each factorisation."""
        return map(self._settings_of, self._factorisations())

    def _settings_of(self, one: Deformed) -> Settings:
        labels, intercept, gamma_As = self.labels, self.template.fit_intercept, self.values("gamma_A")
        truth = labels.values if isinstance(labels, Targets) else labels.sign
        can_choose = self.can_choose
        path = loo.RidgePath(one.reduction.G[self.among][:, self.among], truth, intercept, labels.weights)
        pairs = one.pairs or [(gamma_A, gamma_A * one.ratio) for gamma_A in self._in_units(path, gamma_As)]
        tried = [{**one.params, "gamma_A": float(a), "gamma_I": float(i)} for a, i in pairs]
        each = np.array([gamma_A for gamma_A, _ in pairs])
        if can_choose:
            raw, balances = self._left_out(path, each, one)
        else:  # decisions that nothing looks at
            n_tested = sum(len(fold.test) for fold in self.folds)
            raw, balances = np.full((len(tried), n_tested, *truth.shape[1:]), np.nan), []
        compared = np.stack([change(f) for change, f in zip(balances, raw, strict=True)]) if balances else raw
        criteria = {name: path.gcv(each) for name in self.criteria if name == "gcv"}
        ranks = None if can_choose else [self._from_defaults(one, path, params) for params in tried]
        _LOGGER.debug("%s, ratio %g: %d settings", one.params, one.ratio, len(tried))
        return Settings(tried, raw, compared, one.ratio == 0, criteria, ranks)

    def baseline(self, trials: Trials, chosen: Any) -> tuple[Any, float, BoolArray]:
        """Return the supervised candidate that the criterion chooses, fitted; None where there is none."""
        if not trials.supervised.any():
            return None, np.nan, np.zeros(0, dtype=bool)
        at = trials.best(trials.supervised)
        wrong = trials.wrong_when_chosen_by_others(trials.supervised)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the answer is that of `chosen`, which has had its say
            own = {"sample_weight": self.sample_weight}
            fitted = chosen if at == trials.best() else self.made(trials.tried[at]).fit(self.X, self.y, **own)
        return fitted, -float(trials.values[trials.criterion][at]), wrong

    def _left_out(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed
    ) -> tuple[FloatArray, list[Balance]]:
        """Return the decisions at the tested samples, (P, m) or (P, m, K), and the balance of each setting if any."""
        alone = isinstance(self.cv, str)
        return path.leave_one_out(gamma_As) if alone else path.held_out(gamma_As, self.folds), []

    def _in_units(self, path: loo.RidgePath, gamma_As: list[Any]) -> list[float]:
        """Return gamma_A as numbers, in units of G where none is asked for."""
        if "gamma_A" not in self.tried and gamma_As == ["auto"]:
            unit = path.unit if path.unit > 0 else 1.0
            return [float(unit * size) for size in self.units]
        auto = ambient_weight(path.G, centred=self.template.fit_intercept)
        return [auto if gamma_A == "auto" else float(gamma_A) for gamma_A in gamma_As]

    def _from_defaults(self, one: Deformed, path: loo.RidgePath, params: Mapping[str, Any]) -> float:
        """Return how far a setting is from the defaults of the estimator, in logarithms; a graph comes first."""
        usual = type(self.template)()
        measured = [(params["gamma_A"], ambient_weight(path.G, centred=self.template.fit_intercept))]
        if (width := getattr(params["kernel"], "gamma", None)) is not None:
            measured.append((width, resolve_gamma(self.X, "median")))
        if (n_neighbors := getattr(params.get("graph"), "n_neighbors", None)) is not None:
            measured.append((n_neighbors, _USUAL_NEIGHBORS))
        if "laplacian" in params:
            measured.append((params["laplacian"].power, usual.laplacian.power))
        distance = sum(abs(float(np.log(value / unit))) for value, unit in measured)
        if one.ratio == 0:
            return distance + 1e6
        graph = abs(float(np.log(one.ratio / ratio_for(one.K, USUAL_RATIO))))
        return distance + graph + 1e3 * (type(params["kernel"]) is not type(usual.kernel))

    def _weights(self) -> tuple[bool, list[tuple[float, list[tuple[float, float]]]]]:
        """Return whether ratios are those of pairs of numbers, and each distinct ratio with its pairs."""
        gamma_As, gamma_Is = self.values("gamma_A"), self.values("gamma_I")
        if all(isinstance(gamma_I, str) or gamma_I == 0 for gamma_I in gamma_Is):
            return False, [(ratio, []) for ratio in dict.fromkeys(map(_multiple, gamma_Is))]
        if any(isinstance(gamma_A, str) for gamma_A in gamma_As):
            raise InvalidInputError(
                f"grid['gamma_I']={gamma_Is!r} holds numbers, which need numbers for gamma_A in the grid, too; or give "
                "multiples, such as '100 gamma_A'."
            )
        groups: dict[str, list[tuple[float, float]]] = {}
        for gamma_I in gamma_Is:
            for gamma_A in map(float, gamma_As):
                number = not isinstance(gamma_I, str) and gamma_I != 0
                weight = float(gamma_I) if number else _multiple(gamma_I) * gamma_A
                groups.setdefault(f"{weight / gamma_A:.12g}", []).append((gamma_A, weight))
        return True, [(pairs[0][1] / pairs[0][0], pairs) for pairs in groups.values()]

    def _kernels(self) -> list[Kernel]:
        """Return the kernels to try, each with a number for its width."""
        tried = [kernel if kernel.is_precomputed else kernel.at(self.X) for kernel in self.values("kernel")]
        if len(tried) > 1 and any(kernel.is_precomputed for kernel in tried):
            raise InvalidInputError(
                f"grid['kernel']={self.values('kernel')!r} holds a precomputed kernel and others: X is a Gram matrix "
                "then, of which no other kernel can be made; pass it alone."
            )
        return [one for at, one in enumerate(tried) if one not in tried[:at]]

    def _graphs(self) -> list[tuple[dict[str, Any], SparseArray, Any]]:
        """Return the graphs to try, with their parameters and what new samples find neighbours in."""
        if self.graph is not None:
            return [({}, self.graph, None)]
        clone(self.template).set_params(kernel=self.values("kernel")[0])._require_features()
        return [({"graph": part}, W, place) for part, W, place in built_each(self.values("graph"), self.X)]

    def _functions(self, params: Mapping[str, Any], L: Any, place: Any) -> FeatureMap:
        """Return the functions that the estimator of these parameters chooses from; it shares the search."""
        made = clone(self.template).set_params(**params)
        made._place = place
        functions: FeatureMap = made._map(self.X, self.labels, L)
        return functions

    def _factorisations(self) -> Iterator[Deformed]:
        """Yield every factorisation, those without a graph first."""
        template, labels, n = self.template, self.labels, self.X.shape[0]
        if self.graph is not None:
            self.graph = check_adjacency(self.graph, n)
        paired, weights = self._weights()
        graphs = self._graphs() if any(ratio > 0 for ratio, _ in weights) else []
        rows = Labels(np.ones(len(labels.labeled)), labels.labeled, np.array([False, True]), n)
        none: dict[str, Any] = {}
        if isinstance(part_of("functions", template.functions), Eigenvectors):
            none = {"functions": "kernel" if template._is_precomputed else Landmarks()}
        automatic, of_size = template.functions == "auto", {}
        if automatic and n > STORED_SAMPLES:  # where a fit by itself would ask the labels
            none, of_size = ({"functions": template._chosen_functions(n, with_graph)} for with_graph in (False, True))

        def deformed(K: Any, L: MatrixLike | None, params: dict[str, Any], ratio: float, pairs: Any) -> Deformed:
            ratio = ratio if paired else ratio_for(K, ratio)
            own = {"loss": "squared", "gamma_I": ratio, "fit_intercept": template.fit_intercept}
            unit = objectives.LapSVM(K, L, rows, **own)
            return Deformed(params, ratio, replace(unit.reduction, inverse=None), unit.K, pairs)  # one of many

        laplacians, spectral = self._laplacians(), False
        for kernel in self._kernels():
            params = {"kernel": kernel}
            functions: FeatureMap | None = None
            for ratio, pairs in weights:
                if ratio == 0:
                    functions = functions or self._functions({**params, **none}, None, None)
                    yield deformed(functions.kernel, None, {**params, **none}, ratio, pairs)
            if none or (automatic and not isinstance(functions, KernelFunctions)):
                functions = None  # another one with a graph
            # Eigenvectors know no kernel, and the first has had them; all other functions know no graph.
            for which, W, place in [] if spectral else graphs:
                if functions is None or isinstance(functions, EigenvectorFunctions):
                    once = laplacians[0].with_(power=1).of(W)
                    functions = self._functions({**params, **which, **of_size}, once, place)
                for L, K, part in self._powers(W, laplacians, functions, kernel):
                    for ratio, pairs in weights:
                        if ratio > 0:
                            yield deformed(K, L, {**params, **which, **of_size, "laplacian": part}, ratio, pairs)
            spectral = spectral or isinstance(functions, EigenvectorFunctions)

    def _laplacians(self) -> list[Laplacian]:
        """Return the Laplacians to try, the lowest powers first."""
        read = [part.with_(normalized=bool(part.normalized)) for part in self.values("laplacian")]
        return sorted(dict.fromkeys(read), key=lambda part: (not part.normalized, part.power))

    def _powers(
        self, W: SparseArray, laplacians: list[Laplacian], functions: FeatureMap, kernel: Kernel
    ) -> Iterator[tuple[MatrixLike, Any, Laplacian]]:
        """Yield every Laplacian, with its product with the kernel where that is stored."""
        X, K = self.X, functions.kernel
        narrow = isinstance(kernel, Linear) and X.shape[1] <= _LOW_RANK * X.shape[0]
        if isinstance(functions, KernelFunctions) and narrow:
            K = LowRankKernel(X.toarray() if sp.issparse(X) else X)
        if isinstance(K, np.ndarray):
            remedy = "take functions='eigenvectors', or 'landmarks'"
            require_memory(24.0 * K.size, f"sharing L K among the settings of {len(K)} samples", remedy)
        product, before, of = K, 0, None
        for part in laplacians:
            L: MatrixLike = part.of(W)
            if isinstance(K, np.ndarray):
                if part.normalized is not of:
                    once, product, before, of = part.with_(power=1).of(W), K, 0, part.normalized
                for _ in range(part.power - before):
                    product = graph_product(once, product)
                before, L = part.power, Applied(L, K, product)
            yield L, K, part


class SquaredCandidates(RidgeCandidates):
    """Settings of `LapRLS`; `parts` are the searches by fewer labels, which share its factorisations."""

    criteria: ClassVar[tuple[str, ...]] = (*OF_DECISIONS, "gcv")
    instead: ClassVar[str] = "the setting nearest to the defaults of {} is taken"
    parts: Sequence[FewerLabels] = ()
    progress: Callable[[str], None] | None = None

    @classmethod
    def shares(cls, template: Any, n: int) -> bool:
        """Whether the functions of n samples know no label, and are at new samples what they are at equal old ones."""
        return all(template._chosen_functions(n, with_graph) == "kernel" for with_graph in (True, False))

    def settings(self) -> Iterator[Settings]:
        """Yield the settings of each factorisation, once the parts have seen it."""
        for count, one in enumerate(self._factorisations(), start=1):
            for part in self.parts:
                part.rated.append(part._settings_of(one))
            yield self._settings_of(one)
            if self.progress is not None:
                self.progress(f"factorisation {count} for {1 + len(self.parts)} sets of labels")

    def _left_out(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed
    ) -> tuple[FloatArray, list[Balance]]:
        decisions, rule = path.held_out(gamma_As, self.folds), in_force(self.template.class_balance, self.labels)
        if rule is None:
            return decisions, []
        f = deformed.decisions([path.solution(gamma_A) for gamma_A in gamma_As], shared=len(self.parts) > 0)
        return decisions, [Balance.of(f[:, i], self.labels, rule) for i in range(len(gamma_As))]


class Decided(NamedTuple):
    """What one setting decides at some samples, how classes are balanced, and decisions at left-out labels."""

    decisions: FloatArray
    balance_: Balance
    left_out: FloatArray


class FewerLabels(SquaredCandidates):
    """The search by some of the labels that another one has, from whose factorisations everything follows.

    ``rows`` are the samples that are asked about.
    """

    rows: IntArray
    rated: list[Settings]
    answers: list[Decided]

    @classmethod
    def of(cls, whole: SquaredCandidates, y: Any, labels: Labels, rows: IntArray) -> FewerLabels:
        """Return the search by other labels of the same samples, all of them labels of the whole."""
        one = cls(whole.template, whole.grid, whole.X, y, labels, whole.graph, whole.sample_weight, whole.cv)
        one.among, one.rows = np.searchsorted(whole.labels.labeled, labels.labeled), rows
        one.rated, one.answers = [], []
        if not one.can_choose:
            raise InvalidInputError("a fold leaves one label of each class, which cannot choose; leave more labels in.")
        return one

    def probabilities(self, criterion: str) -> FloatArray:
        """Return the probabilities of the classes at ``rows`` by the setting that the criterion chooses."""
        best = self.answers[Trials(self.rated, self.labels, self.folds, criterion).best()]
        scores = best.balance_(best.decisions)
        scale = Calibration(self.labels, best.left_out).scale_of(best)
        return class_probabilities(scale * (scores[:, None] if scores.ndim == 1 else scores))

    def _left_out(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed
    ) -> tuple[FloatArray, list[Balance]]:
        f = deformed.decisions([path.solution(gamma_A) for gamma_A in gamma_As], self.among, shared=True)
        balances = [Balance.of(f[:, i], self.labels, self.template.class_balance) for i in range(len(gamma_As))]
        self.answers += map(Decided, f[self.rows].swapaxes(0, 1), balances, path.leave_one_out(gamma_As))
        return path.held_out(gamma_As, self.folds), balances


class MarginCandidates(SquaredCandidates):
    """Settings of `LapSVM`.

    A left-out sample that is no support vector changes nothing; others cost a problem with l - 1 unknowns, or, with
    the squared hinge, mostly a formula.
    """

    criteria: ClassVar[tuple[str, ...]] = OF_DECISIONS
    units: ClassVar[FloatArray] = 10.0 ** np.arange(-4.0, 1.0)  # each costs l problems

    @classmethod
    def serve(cls, template: Any, graph: Any) -> bool:
        """Whether left-out samples follow for the loss."""
        return super().serve(template, graph) and template.loss in LOSSES and LOSSES[template.loss].slack_power > 0

    def _left_out(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed
    ) -> tuple[FloatArray, list[Balance]]:
        labels, loss = self.labels, LOSSES[self.template.loss]
        own: Any = {"fit_intercept": self.template.fit_intercept}
        # A loss without curvature leaves an interval of intercepts.
        rule_of_b = None if loss.curved or not self.template.fit_intercept else hinge_intercept
        nearby: Any = partial(solution_near, loss=self.template.loss, **own)
        weights: tuple[FloatArray, ...] = () if labels.weights is None else (labels.weights,)
        decisions, balances, rule = [], [], in_force(self.template.class_balance, labels)
        before: dict[int, tuple[FloatArray, float]] = {}
        for gamma_A in gamma_As:
            # Rounding is all that tells constant functions apart, and would be solved for at length.
            G, parts, each = path.G / gamma_A if path.unit > 0 else np.zeros_like(path.G), [], []
            for k, binary in enumerate(labels.one_vs_rest()):
                near = nearby(G, binary.sign, *before[k], *weights) if k in before else None
                full = before[k] = self._solve(G, binary.sign, *weights) if near is None else near
                known: Any = {"full": full, "nearby": nearby, "weights": labels.weights}
                if loss.smooth and isinstance(self.cv, str):
                    part = squared_hinge_leave_one_out(G, binary.sign, self._solve, **own, **known)
                else:
                    part = refitted(G, binary.sign, self.folds, self._solve, intercept=rule_of_b, **known)
                parts.append(part)
                each.append((full[0] / gamma_A, np.asarray(full[1])))
            decisions.append(columns(parts))
            if rule is not None:
                f = deformed.decisions(each)
                balances.append(Balance.of(f[:, 0] if labels.is_binary else f, labels, rule))
        return np.stack(decisions), balances

    def _solve(self, G: FloatArray, sign: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, float]:
        """Solve the problem whose kernel is the deformed one."""
        labels = Labels(sign, np.arange(len(sign)), np.array([False, True]), len(sign), weights)
        own = {"loss": self.template.loss, "fit_intercept": self.template.fit_intercept}
        result = solvers.factorized(objectives.LapSVM(G, None, labels, gamma_A=1.0, **own))
        return np.asarray(result.variables["v"]), float(result.variables["b"])


def _multiple(gamma_I: Any) -> float:
    """Return the multiple of gamma_A that a weight is."""
    if gamma_I == "auto":
        return USUAL_RATIO
    return 0.0 if not isinstance(gamma_I, str) else float(multiple_of("gamma_A", gamma_I) or 0.0)
