"""What the seven variants of the S3VM share: features, balance, several classes.

One objective, `specmargin.objectives.s3vm.S3VM`; a subclass of `S3VMClassifier` names its losses and its solver.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from specmargin.checks import Rule, accuracy, maybe, number, outside
from specmargin.estimators._calibrated import CalibratedScores
from specmargin.estimators._feature_maps import ChosenFunctions, FeatureMap, KernelFunctions, RawFeatures, require_scale
from specmargin.estimators._label_weights import LabelWeights
from specmargin.estimators._parameter_rules import check_parameters, mean_label, or_word, share_multiple
from specmargin.estimators._semi_supervised import SemiSupervisedClassifier, columns, unpacked
from specmargin.estimators._shared_parameters import KernelParameters, LaplacianParameters, SearchedNeighbors
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import Laplacian, laplacian
from specmargin.labels import Labels
from specmargin.labels.shares import label_counts, shrunken_shares
from specmargin.losses import SmoothLoss
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.s3vm_weights import labeled_weight, unlabeled_weight
from specmargin.results import SolveResult, Status
from specmargin.solvers.s3vm.one_flip import one_flip
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

_HELD = {"kernel": 6, "landmarks": 4}
_HELD_WITH_GRAPH = {"kernel": 8, "landmarks": 4}
"""Number of matrices held at once, measured: by the maps (four, six of n x n), and by a solver on their features."""
_GUESSES = 2
"""How often the classes of unlabelled samples are guessed before one-vs-one pairs learn; a third round gains little."""


@dataclass(kw_only=True, eq=False, repr=False)
class S3VMClassifier(
    CalibratedScores,
    LabelWeights,
    KernelParameters,
    LaplacianParameters,
    SearchedNeighbors,
    ChosenFunctions,
    SemiSupervisedClassifier,
):
    """Base of the S3VM estimators.

    Parameters
    ----------
    C : float or "auto"
        Weight of the labelled losses, > 0: of their sum, next to 1/2 |w|^2, as in `sklearn.svm.SVC`. "auto": 10 over
        the mean squared distance of a sample from the mean, in the space of the kernel.
    C_star : float, "share" or None
        Weight of each unlabelled loss, >= 0. "share": C l / u of l labelled and u unlabelled samples, so that all
        unlabelled losses weigh as much as all labelled ones, and "0.5 share" half of that. A number is the weight
        itself, None is C, as in papers. 0 is the supervised SVM.
    balance : float, "shrunk", None, mapping or sequence
        r, the mean label of the unlabelled samples: in [-1, 1], 2 p - 1 where a share p of them is of ``classes_[1]``.
        Give it where it is known, for the estimate from few labels is often the largest error. "shrunk": p is the share
        among the labels and two more of each class, (l1 + 2) / (l + 4). None: the mean of the known labels. With more
        classes one of these per class, by class value ("shrunk" where there is none) or in the order of ``classes_``:
        the mean of +1 for that class and -1 for the rest.
    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable
        "linear" works in the features as they are, sparse ones included; any other in the map of the Gram matrix. In
        low dimension, where classes are no half-spaces, take "rbf".
    span : {"auto", "kernel", "landmarks", "eigenvectors"}
        The functions to choose from. "kernel": those of the kernel (all features, with ``kernel="linear"``), which
        stores n x n numbers; "landmarks": the kernel functions at `n_landmarks` samples, the labelled ones included;
        "eigenvectors": the `q` lowest eigenvectors of the graph Laplacian, with no kernel, where gamma_I > 0. "auto"
        takes "landmarks" where `n_landmarks` is given, else "kernel".
    rank : int
        Number of leading components of the kernel map to keep: faster, at little loss.
    intercept : {"balance", "regularized", "free"}
        "balance" fixes the mean decision on the unlabelled samples to r; see `specmargin.objectives.Features`.
    multi_class : {"ovr", "ovo"}
        How more than two classes are told apart; see the notes.
    gamma_A, gamma_I : float
        With gamma_I > 0 the classifier works on the kernel that a neighbour graph deforms, with the ratio
        gamma_I / gamma_A (the hybrid of S3VM and LapSVM); C keeps its meaning.
    one_flip : bool
        Afterwards flip single labels and retrain until no flip lowers the objective (`specmargin.solvers.one_flip`);
        ramps with s < 0 are refused.
    tol : float
        Relative gradient at which the solver stops (nothing is proved about the global optimum); by default its own.
    max_iter : int
        Its limit of iterations; by default its own. A ConvergenceWarning says where it was met.
    solver_params : dict
        Passed on to the solver, which the class is named after.

    Attributes
    ----------
    C_ : float
        The weight of the labelled losses in use.
    C_star_ : float or ndarray of shape (n_pairs,)
        That of the unlabelled losses; with "ovo" per pair.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Decisions of the training samples, as `decision_function` returns those of new ones: votes with "ovo".
    coef_ : ndarray of shape (n_binary, n_features)
        With ``kernel="linear"``: f = X coef_' + intercept_.
    dual_coef_ : ndarray of shape (n_binary, n)
        With any other kernel: coefficients of the expansion over all samples, f = k(x, X) dual_coef_' + intercept_.
        With landmarks those of their features; with eigenvectors the values f - b at the training samples.
    intercept_ : ndarray of shape (n_binary,)
    result_ : SolveResult or tuple of SolveResult
        One per binary classifier. The certificate holds the objective; its gap is infinite, for nothing is known about
        the global optimum (`specmargin.solvers.with_bound` adds one). The status NUMERICAL, with a warning, says that
        weights or features were too large for double precision.

    Notes
    -----
    The objective is not convex: another solver reaches another answer, and none claims more than a stationary
    point. Without unlabelled samples it is convex, the supervised SVM with a free intercept.

    **Several classes.** "ovr" sets each class against the rest. That the rest is no cluster costs more here than in
    supervised learning: the gap between two classes of the rest may be the widest of all. "ovo" sets each class against
    each other, where published results are far better; but a pair must not see unlabelled samples of other classes,
    whose classes are not known. Here supervised SVMs of all pairs guess them first; a pair then learns from those
    that were guessed to be of its two classes, and all is done once more with the better guesses that follow. Votes
    decide, and the decisions where they are even. ``result_`` and the coefficients are those of the pairs (0, 1),
    (0, 2), ..., (1, 2), ..., and a positive decision is for the second class.

    **Large samples.** The kernel functions of all samples store n x n numbers, and are refused before anything is
    computed where they do not fit into the memory.
    """

    kernel: Any = "linear"
    C: float | str = "auto"
    C_star: float | str | None = "share"
    balance: Any = "shrunk"
    rank: int | None = None
    intercept: Any = "balance"
    multi_class: str = "ovr"
    gamma_A: float = 1.0
    gamma_I: float = 0.0
    one_flip: bool = False
    tol: float | None = None
    max_iter: int | None = None
    solver_params: Mapping[str, Any] | None = None

    _parameter_rules: ClassVar[dict[str, Rule]] = {
        "C": or_word(number(above=0), "auto"),
        "tol": maybe(accuracy),
    }
    _without_graph: ClassVar[str] = "fit(K, y, graph=W), or gamma_I=0 for the kernel as it is"
    _reduce = None
    _loss: ClassVar[str]
    _unlabeled_loss: ClassVar[str | None] = None
    _solver: ClassVar[Callable[..., SolveResult]]
    """Called with the objective, tol and max_iter."""

    def _losses(self) -> tuple[str | SmoothLoss, str | SmoothLoss | None]:
        """Return the loss of labelled and that of unlabelled samples."""
        return self._loss, self._unlabeled_loss

    def _needs_graph(self) -> bool:
        return self.gamma_I != 0

    def _validated(self, X: Matrix, y: Any, graph: Any) -> tuple[Matrix, Labels, SparseArray | None]:
        check_parameters(self)
        if graph is not None and not self._needs_graph():
            raise InvalidInputError(
                f"{type(self).__name__} has gamma_I=0, the weight of a graph, and would ignore graph=; set "
                "gamma_I=1.0, say, or leave the graph out."
            )
        if self._chosen_span() != "kernel" and self.rank is not None:
            raise InvalidInputError(
                "rank= truncates the map of the whole kernel; with n_landmarks= take fewer of those."
            )
        if self._chosen_span() == "landmarks" and self._is_precomputed:
            raise InvalidInputError("n_landmarks= draws samples, and kernel='precomputed' holds none; take rank=.")
        X, labels, graph = super()._validated(X, y, graph)
        require_scale(X)
        self._balances(labels)  # a value out of range is named before the work
        return X, labels, graph

    def _balances(self, labels: Labels) -> list[float | None]:
        """Return the balance of every one-vs-rest problem, None where it is the mean of the labels."""
        given, classes = self.balance, labels.classes.tolist()
        if labels.is_binary:
            values: list[Any] = [given]
        elif given is None or isinstance(given, str):
            values = [given] * len(classes)
        elif isinstance(given, Mapping):
            unknown = [name for name in given if name not in classes]
            if unknown:
                raise InvalidInputError(f"balance names the classes {unknown}, but the labels are of {classes}.")
            values = [given.get(name, "shrunk") for name in classes]
        elif np.ndim(given) == 1 and len(given) == len(classes):
            values = list(given)
        else:
            raise InvalidInputError(
                f"balance={given!r} does not tell {len(classes)} classes apart; pass a number per class, as a sequence "
                "in the order of classes_ or a mapping from the class."
            )
        estimated = (2.0 * shrunken_shares(label_counts(labels)) - 1.0)[1 if labels.is_binary else 0 :]
        values = [
            r if isinstance(value, str) and value == "shrunk" else value
            for value, r in zip(values, estimated, strict=True)
        ]
        return [None if value is None else float(mean_label("balance", value)) for value in values]

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        for name in ("coef_", "dual_coef_"):
            self.__dict__.pop(name, None)
        self._resolve_gamma(X)
        L = None if graph is None else laplacian(graph, normalized=self.normalized, power=self.power)
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
        self._search = None
        if self.kernel == "linear" and self._chosen_span() == "kernel":
            self.coef_ = self._coefficients
            if isinstance(functions, KernelFunctions):
                # k(x, X) alpha = x'(X' alpha): the samples are not needed any more.
                self.coef_ = self._coefficients = np.asarray((X.T @ self._coefficients.T).T)
                self._functions = RawFeatures(None)
        else:
            self.dual_coef_ = self._coefficients
        return self._scores(f), results

    def _chosen_span(self) -> str:
        return self.span if self.span != "auto" else "kernel" if self.n_landmarks is None else "landmarks"

    def _features(self, X: Matrix, labels: Labels, L: Laplacian | None) -> tuple[FeatureMap, Matrix]:
        """Return the functions that the classifier consists of, and the features in which |w|^2 is their norm."""
        n, d = X.shape
        ratio, span = self.gamma_I / self.gamma_A, self._chosen_span()
        few = L is None or (d <= n and not hasattr(X, "toarray"))
        functions: FeatureMap
        if self.kernel == "linear" and span == "kernel" and self.rank is None and few:
            functions = RawFeatures(X)
        else:
            held = _HELD if L is None else _HELD_WITH_GRAPH
            functions = self._map(span, X, labels, L, held, self.gamma_, self._count(n))
        if isinstance(functions, KernelFunctions):
            return functions, functions.deformed(L, ratio, self.rank)
        return functions, functions.deformed(L, ratio)

    def _solved(self, Z: Matrix, labels: Labels, balance: float | None) -> SolveResult:
        """Return the answer to one binary problem."""
        C_star = self._unlabeled_weight(labels)
        obj = S3VM(Z, labels, *self._losses(), C=self.C_, C_star=C_star, balance=balance, intercept=self.intercept)
        limits = {"tol": self.tol, "max_iter": self.max_iter}
        given = {name: value for name, value in limits.items() if value is not None}
        result = self._solver(obj, **{**given, **(self.solver_params or {})})
        if self.one_flip and len(obj.unlabeled):
            result = one_flip(obj, np.asarray(result.variables["w"]))
        return result

    def _unlabeled_weight(self, labels: Labels) -> float:
        """Return C_star of a binary problem, as a number."""
        multiple = share_multiple(self.C_star)
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
        if self._pairs is not None:
            return _votes(f, self._pairs, len(self.classes_))
        return columns(list(f.T))

    def _decision(self, X: Matrix) -> FloatArray:
        return self._scores(self._functions.values(X, self._coefficients) + self.intercept_)

    def _warn_of_gaps(self, results: list[SolveResult]) -> None:
        """Warn of searches cut off or failed; of a convex problem, without unlabelled losses, the gap counts."""
        convex = [result for result in results if np.isfinite(result.certificate.dual_objective)]
        super()._warn_of_gaps(convex)
        searches = [result for result in results if not np.isfinite(result.certificate.dual_objective)]
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
            warnings.warn(f"{type(self).__name__}: {text}", ConvergenceWarning, stacklevel=outside())


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
