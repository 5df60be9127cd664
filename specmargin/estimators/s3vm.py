"""Semi-supervised support vector machines: `S3VM`, one objective and several searches among its local minima.

Minimises 1/2 |w|^2 + C sum V(y f) + C* sum U(f) (`specmargin.objectives.S3VM`); the searches, each with the losses V
and U that belong to it, are those of `specmargin.solvers.Search`. With ``gamma_I > 0`` any of them works on the kernel
that a graph of the samples deforms: the hybrid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from specmargin import objectives
from specmargin.checks import Rule, number, warn
from specmargin.estimators._base.classifier import SemiSupervisedClassifier
from specmargin.estimators._base.feature_maps import (
    FeatureMap,
    KernelFunctions,
    RawFeatures,
    feature_map,
)
from specmargin.estimators._base.label_weights import of_classes
from specmargin.estimators._base.parameters import mean_label, multiple_of, or_word, part_of
from specmargin.estimators._base.semi_supervised import columns, unpacked
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import KNN, Laplacian, LaplacianOperator
from specmargin.kernels import Linear, PrincipalComponents
from specmargin.labels import Labels
from specmargin.labels.shares import shrunken_shares
from specmargin.objectives.contract import unchecked
from specmargin.objectives.features import with_intercept
from specmargin.objectives.s3vm_weights import labeled_weight, unlabeled_weight
from specmargin.results import SolveResult, Status
from specmargin.solvers.parts import SEARCHES
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

__all__ = ["S3VM"]

_HELD = {"kernel": 6, "landmarks": 4}
_HELD_WITH_GRAPH = {"kernel": 8, "landmarks": 4}
"""Number of matrices held at once, measured: by the maps (four, six of n x n), and by a solver on their features."""
_GUESSES = 2
"""How often the classes of unlabelled samples are guessed before one-vs-one pairs learn; a third round gains little."""


@dataclass(kw_only=True, eq=False, repr=False)
class S3VM(SemiSupervisedClassifier):
    """Semi-supervised support vector machine: a large margin for labelled and unlabelled samples.

    Minimises 1/2 |w|^2 + C sum V(y_i f_i) over the labelled and C_star sum U(f_i) over the unlabelled samples. The
    objective is not convex; `search` says how its minimum is looked for, and with which losses V and U.

    Parameters
    ----------
    C : float or "auto", default "auto"
        Weight of the labelled losses, > 0: of their sum, next to 1/2 |w|^2, as in `sklearn.svm.SVC`. "auto": 10
        over the mean squared distance of a sample from the mean, in the space of the kernel.
    C_star : float, str or None, default "share"
        Weight of each unlabelled loss, >= 0. "share": C l / u of l labelled and u unlabelled samples, so that all
        unlabelled losses weigh as much as all labelled ones, and "0.5 share" half of that. A number is the weight
        itself, None is C, as in papers. 0 is the supervised SVM.
    search : str or Search, default "continuation"
        How the minimum is looked for, and the losses that belong to it: "continuation", "gradient", "quasi_newton",
        "annealing", "multi_switch", "label_switching", "cccp" or "branch_and_bound". `specmargin.solvers.Search`
        describes them, and holds the name with tol, max_iter, how the intercept is treated, and options.
    balance : float, "shrunk", None, mapping or sequence, default "shrunk"
        Mean label r of the unlabelled samples: in [-1, 1], 2 p - 1 where a share p of them is of ``classes_[1]``.
        Give it where it is known, for the estimate from few labels is often the largest error. "shrunk": p is the
        share among the labels and two more of each class, (l1 + 2) / (l + 4). None: the mean of the known labels.
        With more classes one of these per class, by class value ("shrunk" where there is none) or in the order of
        ``classes_``: the mean of +1 for that class and -1 for the rest.
    kernel : Kernel, str, float or callable, default Linear()
        Kernel of the expansion: one of `specmargin.kernels` such as ``RBF(1.0)``, a name ("rbf", "poly", "linear",
        "cosine", "precomputed"), a number (the gamma of `RBF`), or a function of two data matrices. "linear" works
        in the features as they are, sparse ones included; any other in the map of the Gram matrix. In low
        dimension, where classes are no half-spaces, take "rbf".
    functions : {"auto", "kernel"}, PrincipalComponents, Landmarks or Eigenvectors, default "auto"
        Functions to choose from. "kernel", which "auto" is: those of the kernel (all features, with the linear
        one), which stores n x n numbers. `specmargin.kernels.PrincipalComponents`: the leading ones of its map, faster
        at little loss. `specmargin.kernels.Landmarks`: the kernel functions at some samples, the labelled ones
        included. `specmargin.spectra.Eigenvectors`: the lowest eigenvectors of the graph Laplacian, with no kernel,
        where gamma_I > 0.
    gamma_I : float, default 0.0
        Weight of the graph norm next to the ambient norm, >= 0: gamma_I / gamma_A of `LapSVM`. Above 0 the
        classifier works on the kernel that the graph deforms (the hybrid of S3VM and LapSVM); C keeps its meaning.
    graph : KNN, int or callable, default KNN()
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them.
    laplacian : Laplacian or int, default Laplacian()
        Which Laplacian of the graph, and its power, the short form: `specmargin.graphs.Laplacian`.
    multi_class : {"ovr", "ovo"}, default "ovr"
        How more than two classes are told apart; see the notes.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes in the losses of the labelled samples, times `sample_weight` of `fit`. A dict from
        class values, whose missing classes have the weight 1; "balanced": l / (K l_k) for l_k of the l labels of K
        classes, so that all classes weigh the same.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included. Where decisions are equal but for rounding
        (with two classes: zero), it is the first of these classes, and a warning counts such samples.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Decisions of the training samples, as `decision_function` returns those of new ones: votes with "ovo".
    intercept_ : ndarray of shape (n_binary,)
    result_ : SolveResult or tuple of SolveResult
        One per binary classifier. The certificate holds the objective; its gap is infinite, for nothing is known about
        the global optimum, unless the search has a `bound`, or is "branch_and_bound". The status NUMERICAL, with a
        warning, says that weights or features were too large for double precision.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    kernel_ : Kernel
        The kernel in use, with a number for its width.
    calibration_ : float
        The scale T of `predict_proba`.
    C_ : float
        The weight of the labelled losses in use.
    C_star_ : float or ndarray of shape (n_pairs,)
        Weight of the unlabelled losses; with "ovo" per pair.
    coef_ : ndarray of shape (n_binary, n_features)
        Weights, with ``kernel="linear"``: f = X coef_' + intercept_.
    dual_coef_ : ndarray of shape (n_binary, n)
        Coefficients, with any other kernel, of the expansion over all samples, f = k(x, X) dual_coef_' + intercept_.
        With landmarks those of their features; with eigenvectors the values f - b at the training samples.

    Notes
    -----
    The objective is not convex: another solver reaches another answer, and none claims more than a stationary point.
    How far from the global optimum that is at most says ``search=Search("continuation", bound=60.0)``, with a bound for
    which 60 seconds may be spent; ``search=Search("branch_and_bound", options={"time_limit": 600.0})`` is the exact
    S3VM, which proves the global optimum of some dozens of unlabelled samples or tells the gap that is left. Without
    unlabelled samples the objective is convex, the supervised SVM with a free intercept.

    **Several classes.** "ovr" sets each class against the rest. That the rest is no cluster costs more here than in
    supervised learning: the gap between two classes of the rest may be the widest of all. "ovo" sets each class against
    each other, where published results are far better; but a pair must not see unlabelled samples of other classes,
    whose classes are not known. Here supervised SVMs of all pairs guess them first; a pair then learns from those that
    were guessed to be of its two classes, and all is done once more with the better guesses that follow. Votes decide,
    and the decisions where they are even. ``result_`` and the coefficients are those of the pairs (0, 1), (0, 2), ...,
    (1, 2), ..., and a positive decision is for the second class.

    **Large samples.** The kernel functions of all samples store n x n numbers, and are refused before anything is
    computed where they do not fit into the memory.

    **Annealing.** The weights matter more than with other searches. While it is hot, all p = R, the objective charges
    the squares of the unlabelled decisions: with a large C* it fits the labels along directions of little variance, and
    what it cools down to is a poor minimum. Tune C and C_star towards small values.

    References
    ----------
    Chapelle, Sindhwani & Keerthi, Optimization techniques for semi-supervised support vector machines, JMLR 2008. Those
    of the searches are listed by `specmargin.solvers.Search`.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=2, random_state=0)
    >>> clf = sm.S3VM(C=100.0, C_star=None, balance=0.0, kernel=sm.kernels.RBF(4.0)).fit(X, y)
    >>> clf.result_.status.name, bool((clf.transduction_ == y_true).mean() > 0.95)
    ('STATIONARY', True)

    How far from the global optimum, at most:

    >>> certified = clf.set_params(search=sm.solvers.Search("continuation", bound=60.0)).fit(X, y).result_
    >>> certified.status.name, bool(0 < certified.certificate.relative_gap < 1)
    ('STATIONARY', True)

    The exact S3VM, of fewer samples: the global optimum, proved.

    >>> few, kept = sm.solvers.Search("branch_and_bound", options={"time_limit": 60.0}), range(0, 120, 6)
    >>> y_few = sm.hide_labels(y_true[kept], per_class=2, random_state=0)
    >>> exact = sm.S3VM(search=few, kernel=sm.kernels.RBF(4.0)).fit(X[kept], y_few)
    >>> exact.result_.status.name, exact.result_.certificate.is_optimal(1e-6)
    ('OPTIMAL', True)

    Sparse features as they are:

    >>> import numpy as np, scipy.sparse as sp
    >>> X = sp.csr_array(np.array([[-2.0, 0.0], [2.0, 0.0], [-1.5, 1.0], [1.0, 0.0], [1.8, 1.0], [-1.0, 0.0]]))
    >>> clf = sm.S3VM(search="quasi_newton", balance=0.0).fit(X, [0, 1, -1, -1, -1, -1])
    >>> clf.transduction_.tolist(), clf.coef_.shape
    ([0, 1, 0, 1, 1, 0], (1, 2))
    """

    C: float | str = "auto"
    C_star: float | str | None = "share"
    search: Any = "continuation"
    balance: Any = "shrunk"
    kernel: Any = Linear()
    functions: Any = "auto"
    gamma_I: float = 0.0
    graph: Any = KNN()
    laplacian: Any = Laplacian()
    multi_class: str = "ovr"
    class_weight: Any = None
    unlabeled: Any = -1

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "C": or_word(number(above=0), "auto"),
        "gamma_I": number(least=0),
    }
    _without_graph: ClassVar[str] = "fit(K, y, graph=W), or gamma_I=0 for the kernel as it is"

    def _needs_graph(self) -> bool:
        return self.gamma_I != 0

    def _read(self, X: Any, y: Any, graph: Any, sample_weight: Any) -> tuple[Matrix, Any, Any, Any, Any]:
        if graph is not None and not self._needs_graph():
            raise InvalidInputError(
                "S3VM has gamma_I=0, the weight of a graph, and would ignore graph=; set gamma_I=1.0, say, or leave "
                "the graph out."
            )
        read = super()._read(X, y, graph, sample_weight)
        self._balances(read[2])  # a value out of range is named before the work
        return read

    def _balances(self, labels: Labels) -> list[float | None]:
        """Return the balance of every one-vs-rest problem, None where it is the mean of the labels."""
        given, n_classes = self.balance, len(labels.classes)
        if labels.is_binary:
            values: list[Any] = [given]
        elif given is None or isinstance(given, str):
            values = [given] * n_classes
        elif isinstance(given, Mapping):
            values = of_classes("balance", given, labels, "shrunk")
        elif np.ndim(given) == 1 and len(given) == n_classes:
            values = list(given)
        else:
            raise InvalidInputError(
                f"balance={given!r} does not tell {n_classes} classes apart; pass a number per class, as a sequence "
                "in the order of classes_ or a mapping from the class."
            )
        estimated = (2.0 * shrunken_shares(labels.counts) - 1.0)[1 if labels.is_binary else 0 :]
        balances: list[float | None] = []
        for value, share in zip(values, estimated, strict=True):
            known = share if isinstance(value, str) and value == "shrunk" else value
            balances.append(None if known is None else float(mean_label("balance", known)))
        return balances

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        for name in ("coef_", "dual_coef_"):
            self.__dict__.pop(name, None)
        self.kernel_ = part_of("kernel", self.kernel).fitted_to(X)
        L = None if graph is None else part_of("laplacian", self.laplacian).of(graph)
        functions, Z = self._features(X, labels, L)
        self._functions = functions
        self.C_ = labeled_weight(Z) if isinstance(self.C, str) else float(self.C)
        self._pairs: list[tuple[int, int]] | None = None
        if self.multi_class == "ovo" and not labels.is_binary:
            self._pairs = list(combinations(range(len(labels.classes)), 2))
            results, weights = self._one_vs_one(Z, labels, self._pairs)
            self.C_star_: float | FloatArray = np.array(weights)
        else:
            problems = zip(labels.one_vs_rest(), self._balances(labels), strict=True)
            results = [self._solved(Z, binary, balance) for binary, balance in problems]
            self.C_star_ = self._unlabeled_weight(labels)
        self.result_ = unpacked(results)
        self._coefficients = np.vstack([functions.from_weights(result.variables["v"]) for result in results])
        self.intercept_ = np.array([float(result.variables["b"]) for result in results])
        f = np.column_stack([np.asarray(Z @ result.variables["v"]) for result in results]) + self.intercept_
        functions.forget()
        self._place = None
        if isinstance(self.kernel_, Linear) and isinstance(functions, RawFeatures | KernelFunctions):
            self.coef_ = self._coefficients
            if isinstance(functions, KernelFunctions):
                # k(x, X) alpha = x'(X' alpha): the samples are not needed any more.
                self.coef_ = self._coefficients = np.asarray((X.T @ self._coefficients.T).T)
                self._functions = RawFeatures(None)
        else:
            self.dual_coef_ = self._coefficients
        return self._scores(f), results

    def _features(self, X: Matrix, labels: Labels, L: LaplacianOperator | None) -> tuple[FeatureMap, Matrix]:
        """Return the functions that the classifier consists of, and the features in which |w|^2 is their norm."""
        n, d = X.shape
        functions = part_of("functions", self.functions)
        few = L is None or (d <= n and not hasattr(X, "toarray"))
        made: FeatureMap
        if isinstance(self.kernel_, Linear) and isinstance(functions, str) and few:
            made = RawFeatures(X)
        else:
            which = "kernel" if isinstance(functions, str | PrincipalComponents) else functions
            held = _HELD if L is None else _HELD_WITH_GRAPH
            ties = (part_of("graph", self.graph), self._place)
            made = feature_map(which, self.kernel_, X, labels.labeled, L, *ties, held=held)
        if isinstance(made, KernelFunctions):
            rank = functions.rank if isinstance(functions, PrincipalComponents) else None
            return made, made.deformed(L, self.gamma_I, rank)
        return made, made.deformed(L, self.gamma_I)

    def _solved(self, Z: Matrix, labels: Labels, balance: float | None) -> SolveResult:
        """Return the answer to one binary problem."""
        search = part_of("search", self.search)
        weights = {"C": self.C_, "C_star": self._unlabeled_weight(labels)}
        loss, unlabeled_loss = search.losses()
        # What is known to be right: features, labels, and the numbers that the parameters gave.
        supervised = labels.n_labeled == labels.n_samples
        intercept: Any = "free" if search.intercept == "balance" and supervised else search.intercept
        mean = float(labels.sign.mean()) if balance is None else balance
        features = with_intercept(Z, intercept, labels.unlabeled, mean)
        obj = unchecked(
            objectives.S3VM, features, labels, loss, unlabeled_loss, **weights, balance=mean, intercept=intercept
        )
        module = SEARCHES[search.name].module
        # Options are whatever was given: they are checked.
        home = "specmargin.solvers" if search.options and module.startswith("specmargin.solvers") else module
        result: SolveResult = getattr(import_module(home), search.name)(obj, **search.arguments())
        if search.one_flip and len(obj.unlabeled) > 0:
            result = import_module("specmargin.optima").one_flip(obj, np.asarray(result.variables["w"]))
        if search.bound is None or obj.is_supervised:
            return result
        bounded: SolveResult = import_module("specmargin.optima").with_bound(obj, result, time_limit=search.bound)
        return bounded

    def _unlabeled_weight(self, labels: Labels) -> float:
        """Return C_star of a binary problem, as a number."""
        multiple = multiple_of("share", self.C_star)
        if multiple is not None:
            weighed = float(labels.weights_or_ones.sum())
            return unlabeled_weight(self.C_, weighed, labels.n_samples - labels.n_labeled, multiple)
        return self.C_ if self.C_star is None else float(self.C_star)

    def _one_vs_one(
        self, Z: Matrix, labels: Labels, pairs: list[tuple[int, int]]
    ) -> tuple[list[SolveResult], list[float]]:
        """Return the answers of all pairs, each with the unlabelled samples that look like one of its classes.

        The numbers are the weights of the unlabelled losses.
        """
        own, hidden = labels.sign.argmax(axis=1), labels.unlabeled
        shares = [None if r is None else (1.0 + r) / 2.0 for r in self._balances(labels)]

        def solved(i: int, j: int, others: IntArray) -> tuple[SolveResult, float]:
            known = (own == i) | (own == j)
            rows = np.sort(np.concatenate([labels.labeled[known], others]))
            at = np.searchsorted(rows, labels.labeled[known])
            sign = np.where(own[known] == j, 1.0, -1.0)
            first, second = shares[i], shares[j]
            balance = None
            if first is not None and second is not None and first + second > 0:
                balance = (second - first) / (first + second)
            weights = None if labels.weights is None else labels.weights[known]
            binary = Labels(sign, at, labels.classes[[i, j]], len(rows), weights)
            return self._solved(Z[rows], binary, balance), self._unlabeled_weight(binary)

        alone = np.empty(0, dtype=np.intp)
        results, weights = map(list, zip(*(solved(i, j, alone) for i, j in pairs), strict=True))
        if len(hidden) == 0:
            return results, weights
        unlabeled = Z[hidden]
        for _ in range(_GUESSES):
            f = np.column_stack([np.asarray(unlabeled @ r.variables["v"]) + float(r.variables["b"]) for r in results])
            guess = _votes(f, pairs, len(labels.classes)).argmax(axis=1)
            guessed = (solved(i, j, hidden[(guess == i) | (guess == j)]) for i, j in pairs)
            results, weights = map(list, zip(*guessed, strict=True))
        return results, weights

    def _scores(self, f: FloatArray) -> FloatArray:
        return _votes(f, self._pairs, len(self.classes_)) if self._pairs is not None else columns(list(f.T))

    def _decision(self, X: Matrix) -> FloatArray:
        return self._scores(self._functions.values(X, self._coefficients) + self.intercept_)

    def _warn_of_gaps(self, results: list[SolveResult]) -> None:
        """Warn of searches cut off or failed; of a convex problem, without unlabelled losses, the gap counts."""
        search = part_of("search", self.search)
        bounded = search.bound is not None and search.name != "branch_and_bound"  # which is no claim of the search
        claims = [not bounded and bool(np.isfinite(result.certificate.dual_objective)) for result in results]
        super()._warn_of_gaps([result for result, claim in zip(results, claims, strict=True) if claim])
        searches = [result for result, claim in zip(results, claims, strict=True) if not claim]
        texts = []
        if cut := [result for result in searches if result.status is Status.MAX_ITER]:
            worst = max(result.certificate.dual_residual for result in cut)
            texts.append(
                f"{len(cut)} of {len(results)} binary classifiers were stopped at their limit of iterations, at a "
                f"relative gradient of up to {worst:.1e}. Raise max_iter, or tol."
            )
        if failed := [result for result in searches if result.status in (Status.NUMERICAL, Status.UNPROVED)]:
            texts.append(
                f"{len(failed)} of {len(results)} searches failed for want of digits ({failed[0].message}); do not "
                "rely on this answer. Scale the features to entries of about one, and C to between 1e-6 and 1e6."
            )
        for text in texts:
            warn(f"{type(self).__name__}: {text}", ConvergenceWarning)


def _votes(f: FloatArray, pairs: list[tuple[int, int]], n_classes: int) -> FloatArray:
    """Return votes per class, (m, n_classes), from decisions per pair; summed decisions decide even ones."""
    votes, strength = np.zeros((len(f), n_classes)), np.zeros((len(f), n_classes))
    for k, (i, j) in enumerate(pairs):
        votes[:, j] += f[:, k] > 0
        votes[:, i] += f[:, k] <= 0
        strength[:, j] += f[:, k]
        strength[:, i] -= f[:, k]
    # Less than a third of a vote, however strong.
    return votes + strength / (3.0 * (1.0 + np.abs(strength)))
