"""The methods that are compared: what each needs, whether it fits the data, and how it is tuned on labels alone.

A `Method` gets features and codes of classes (-1 for unlabelled rows) and returns a `FittedMethod`. `choose_methods`
turns names and estimators into methods; `STANDARD` is what is compared by default.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from specmargin import estimators
from specmargin.checks import among, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.model_selection import LabeledKFold
from specmargin.objectives.held_out.calibration import class_probabilities
from specmargin.solvers.parts import SEARCHES
from specmargin.tables.assessment.measurement import Size, labeled_rows
from specmargin.tables.assessment.tuned_svm import TunedSVM
from specmargin.tables.auto_ssl import AutoSSL
from specmargin.tables.candidates import SUPERVISED
from specmargin.typing import AnyArray, FloatArray, IntArray, Matrix

__all__ = [
    "BASELINE",
    "STANDARD",
    "FittedMethod",
    "Method",
    "Supervised",
    "choose_methods",
    "estimators_of",
    "inner_folds",
]

BASELINE = "baseline"
STANDARD = ("majority", BASELINE, "AutoSSL", "svm", "SpectralRidge", "S3VM-quasi_newton", "LabelSearch-LapRLS")
"""In the order in which they run: what matters most first, then what costs least."""
_INNER, _INNER_S3VM = 5, 3
"""Folds that parameters are chosen by: fewer for S3VMs, which take longest."""
_DENSE_ROWS = 6000
"""Rows up to which methods that factorise a matrix of all pairs of rows are run."""
_UNIT = 8.0
_FAMILIES = {
    "graph": "graph kernels",
    "pca": "principal components",
    "lap": "deformed kernels",
    "s3vm": "S3VMs",
    "sup": "supervised ridge",
    "svm": "supervised SVM",
}

_CS: tuple[dict[str, Any], ...] = ({"C": 1.0}, {"C": 10.0}, {"C": 100.0}, {"C": 0.1})
_S3VM: tuple[dict[str, Any], ...] = ({}, {"C": 1.0})
"""The default C, and a smaller one; with the linear kernel, because an RBF kernel costs fifty times as much."""
GRIDS: dict[str, tuple[dict[str, Any], ...]] = {
    **dict.fromkeys(("STORM", "STOAM", "MKL", "RMM", "SpectralKernelSVM"), _CS),
    **dict.fromkeys(("S3VM", *(f"S3VM-{search}" for search in SEARCHES)), _S3VM),
    "SpectralGraphTransducer": ({"C": 1e4}, {"C": 1e2}, {"C": 1.0}),
}
"""Parameters that folds of the labels choose from; the first counts where errors are equal."""
_DENSE = ("LabelSearch-LapRLS", "LabelSearch-LapSVM", "LapSVM", "LapRLS")
"""Estimators with matrices of all pairs of rows."""
_SHARED = "LabelSearch-LapRLS"
"""Whose folds share the factorisations of its fit."""
Folds = list[tuple[IntArray, IntArray]]
"""Rows that train and that are tested."""


@dataclass(frozen=True, eq=False)
class FittedMethod:
    """A classifier that was fitted to codes of classes.

    Parameters
    ----------
    estimator : object
        Estimator with ``classes_`` and ``predict_proba`` or ``decision_function``.
    chosen : str
        What was chosen for it, in words.
    seconds_before : float, default 0
        Seconds of a fit that it shares with another method.
    """

    estimator: Any
    chosen: str
    seconds_before: float = 0.0

    @property
    def is_calibrated(self) -> bool:
        """Whether the scores are log-probabilities."""
        return hasattr(self.estimator, "predict_proba")

    def scores(self, X: Matrix, n_classes: int, *, trained: bool = False) -> FloatArray:
        """Return decisions or log-probabilities (m, n_classes).

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (m, d)
        n_classes : int
        trained : bool, default False
            Whether these are the samples that it was fitted to, which some classifiers know better.
        """
        estimator = self.estimator
        if not n_classes:
            return np.asarray(estimator.predict(X), dtype=float)[:, None]
        if self.is_calibrated:
            p = getattr(estimator, "probabilities_", None) if trained else None
            f = np.log(np.maximum(estimator.predict_proba(X) if p is None else p, 1e-12))
        else:
            f = np.asarray(estimator.decision_function(X), dtype=float)
            if f.ndim == 1:
                f = np.column_stack([-f / 2.0, f / 2.0])
        out = np.full((len(f), n_classes), np.nan)
        out[:, np.asarray(estimator.classes_, dtype=int)] = f
        # A class without a label in the training part comes last.
        lowest = np.log(1e-12) if self.is_calibrated else f.min(axis=1, keepdims=True) - 1.0
        return np.where(np.isnan(out), lowest, out)

    def probabilities(self, scores: FloatArray, scale: float) -> FloatArray:
        """Return probabilities (m, K) of what `scores` returns, decisions times `scale`."""
        p = np.exp(scores) if self.is_calibrated else class_probabilities(scale * scores)
        return np.asarray(p / p.sum(axis=1, keepdims=True))


class Method(ABC):
    """One row of the comparison: `name` for users' choice, `title` for the table."""

    name: str
    title: str
    judged: str = "folds of the labels"
    """How it is judged."""
    is_supervised: bool = False
    growth: float = 2.0
    """Power of the rows that its time grows by, at the most."""

    @property
    def trial(self) -> Method:
        """What is fitted to fewer rows to forecast its time."""
        return self

    refits: bool = True
    """Whether each fold of the labels costs as much as a fit."""

    @abstractmethod
    def fit(self, X: Matrix, codes: IntArray, seed: int) -> FittedMethod:
        """Tune on the labels, and fit."""

    def judged_fit(
        self, X: Matrix, codes: IntArray, seed: int, folds: Folds, progress: Callable[[str], None]
    ) -> tuple[FittedMethod, FloatArray | None]:
        """Return the fit, and the probabilities (l, K) of left-out labels where refits need not tell them."""
        fitted = self.fit(X, codes, seed)
        return fitted, None if self.refits else fitted.estimator.held_out_

    def bytes_needed(self, size: Size) -> float:
        """Estimate the memory of a fit."""
        return _UNIT * (3.0 * size.stored + size.l**2)

    def refuses(self, size: Size) -> str:
        """Return why the method does not fit the size, "" if it does."""
        return ""

    @property
    def settings(self) -> str:
        """What distinguishes it from other methods of its name, for the file that keeps its row."""
        return self.name


class Supervised(Method):
    """A method that sees the labelled rows alone.

    Parameters
    ----------
    name, title : str
    make : callable
        Returns the fitted estimator and what it chose, from features, labels and the seed.
    """

    is_supervised = True

    def __init__(self, name: str, title: str, make: Callable[[Matrix, AnyArray, int], tuple[Any, str]]) -> None:
        self.name, self.title, self._make = name, title, make

    def fit(self, X: Matrix, codes: AnyArray, seed: int) -> FittedMethod:
        """Fit to the labelled rows."""
        known = labeled_rows(codes)
        return FittedMethod(*self._make(X[known], codes[known], seed))


def _majority(X: Matrix, codes: IntArray, seed: int) -> tuple[Any, str]:
    from sklearn.dummy import DummyClassifier

    counts = np.bincount(codes)
    most = f"class {counts.argmax()} has {counts.max()} of {len(codes)} labels"
    return DummyClassifier(strategy="prior").fit(np.zeros((len(codes), 1)), codes), most


def _tuned_svm(X: Matrix, codes: IntArray, seed: int) -> tuple[Any, str]:
    svm = TunedSVM(random_state=seed).fit(X, codes)
    return svm, svm.chosen_


class Automatic(Method):
    """`specmargin.AutoSSL`, or the mixture of its supervised candidates, which the same fit makes.

    Parameters
    ----------
    supervised : bool
        Whether this is the baseline.
    shared : dict, optional
        Store in which the two methods of one comparison keep the fit that they share; without it the baseline is fitted
        alone.
    """

    judged = "exact leave-one-out"
    growth = 1.5
    refits = False

    def __init__(self, supervised: bool, shared: dict[str, Any] | None = None) -> None:
        self.name = BASELINE if supervised else "AutoSSL"
        self.title = "supervised baseline" if supervised else "AutoSSL"
        self.is_supervised, self._shared = supervised, shared

    @property
    def is_shared(self) -> bool:
        """Whether the other method of the comparison has fitted it already."""
        return bool(self._shared)

    @property
    def trial(self) -> Method:
        """The same without what is shared."""
        return Automatic(self.is_supervised and self._shared is None)

    def bytes_needed(self, size: Size) -> float:
        """Estimate the memory of some 25 maps of 300 columns, and of their filters."""
        return _UNIT * (7500.0 * size.n + 3.0 * size.stored)

    def fit(self, X: Matrix, codes: IntArray, seed: int) -> FittedMethod:
        """Fit all families, or take what the other method has fitted."""
        if self._shared is None:
            alone: dict[str, Any] = {"families": SUPERVISED} if self.is_supervised else {}
            fitted = AutoSSL(random_state=seed, **alone).fit(X, codes)
            return FittedMethod(fitted, _families(fitted.report_.families))
        fitted, seconds = self._shared.pop("fitted", (None, 0.0))
        if fitted is None:
            start = time.perf_counter()
            fitted = AutoSSL(random_state=seed).fit(X, codes)
            self._shared["fitted"] = fitted, time.perf_counter() - start
        if not self.is_supervised:
            return FittedMethod(fitted, _families(fitted.report_.families), seconds)
        return FittedMethod(fitted.baseline_, _families(fitted.baseline_.mixture.family_weights()), seconds)


def _families(weights: dict[str, float]) -> str:
    return ", ".join(f"{_FAMILIES[family]} {weight:.0%}" for family, weight in weights.items() if weight >= 0.005)


class Named(Method):
    """An estimator of the package by its name, tuned by folds of the labels or by itself.

    Of `S3VM` with a search, such as "S3VM-cccp", of `LabelSearch` with what it searches for: "LabelSearch-LapRLS".
    """

    def __init__(self, name: str) -> None:
        self.name = self.title = name
        self.grid = GRIDS.get(name, ({},))
        self.growth = 3.0 if name in _DENSE else 2.0
        self.refits = name != _SHARED

    def bytes_needed(self, size: Size) -> float:
        """Matrices of all pairs of rows for kernels, some hundred eigenvectors for spectra."""
        if self.name in _DENSE:
            return _UNIT * (4.0 * size.n**2 + 3.0 * size.stored)
        return _UNIT * (1500.0 * size.n + 4.0 * size.stored)

    def refuses(self, size: Size) -> str:
        """Refuse matrices of all pairs of very many rows."""
        if self.name in _DENSE and size.n > _DENSE_ROWS:
            return (
                f"it factorises a matrix of all pairs of {size.n} rows, which takes too long above {_DENSE_ROWS} rows"
            )
        return ""

    def fit(self, X: Matrix, codes: IntArray, seed: int) -> FittedMethod:
        """Choose by folds of the labels, and fit to all of them."""
        options = self.grid[0]
        if len(self.grid) > 1:
            folds = inner_folds(codes, seed, _INNER_S3VM if self.grid is _S3VM else _INNER)
            options = min(self.grid, key=lambda one: _wrong(self._made(**one), X, codes, folds))
        return _described(self._made(**options).fit(X, codes), options)

    def judged_fit(
        self, X: Matrix, codes: IntArray, seed: int, folds: Folds, progress: Callable[[str], None]
    ) -> tuple[FittedMethod, FloatArray | None]:
        """Return the fit; with what is left out where all folds share its factorisations, and leave labels enough."""
        counts = [np.sort(np.bincount(codes[train][codes[train] >= 0], minlength=2)) for train, _ in folds]
        if self.refits or any(each[-2] == 0 or each[-1] < 2 for each in counts):
            return self.fit(X, codes, seed), None
        fitted = self._made()
        held = fitted.fit_held_out(X, codes, folds, progress=progress)
        return _described(fitted, {}), held[labeled_rows(codes)]

    def _made(self, **options: Any) -> Any:
        name, _, inner = self.name.partition("-")
        own: list[Any] = [getattr(estimators, inner)()] if name == "LabelSearch" else []
        return getattr(estimators, name)(*own, **({"search": inner} if inner and not own else {}), **options)


def _described(fitted: Any, options: dict[str, Any]) -> FittedMethod:
    best = getattr(fitted, "best_params_", options)
    return FittedMethod(fitted, ", ".join(f"{key} = {_short(value)}" for key, value in best.items()) or "its defaults")


class Given(Method):
    """An estimator that the caller has made; one that knows no unlabelled rows gets the labelled ones."""

    def __init__(self, estimator: Any, name: str) -> None:
        self.estimator, self.name, self.title = estimator, name, name
        self.is_supervised = not _knows_unlabeled(estimator)

    @property
    def settings(self) -> str:
        """The estimator with its parameters."""
        return f"{self.name} {self.estimator!r}"

    def fit(self, X: Matrix, codes: IntArray, seed: int) -> FittedMethod:
        """Fit a clone."""
        own = clone(self.estimator)
        known = np.flatnonzero(codes >= 0)
        fitted = own.fit(X[known], codes[known]) if self.is_supervised else own.fit(X, codes)
        return FittedMethod(fitted, "as it was passed")


def _knows_unlabeled(estimator: Any) -> bool:
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return "unlabeled" in last.get_params() or type(last).__module__.startswith("sklearn.semi_supervised")


def choose_methods(methods: Sequence[Any] | str | None) -> list[Method]:
    """Return the methods of names and estimators; the standard ones for None.

    Parameters
    ----------
    methods : sequence of str and estimators, or str, optional
        "majority", "svm" (tuned), "baseline" (the supervised mixture of AutoSSL), "AutoSSL", names of classifiers of
        the package, or classifiers, as they are. A text is split at its commas. The baseline is always among them,
        because all others are compared with it.

    Examples
    --------
    >>> [method.name for method in choose_methods("AutoSSL, STORM")]
    ['baseline', 'AutoSSL', 'STORM']
    """
    if methods is None:
        wanted: list[Any] = list(STANDARD)
    elif isinstance(methods, str):
        wanted = [name.strip() for name in methods.split(",") if name.strip()]
    elif isinstance(methods, Sequence):
        wanted = list(methods)
    else:
        raise InvalidTypeError(
            f"methods={shown(methods)} is no list; pass names and estimators, e.g. ['svm', 'STORM']."
        )
    if not wanted:
        raise InvalidInputError(f"methods={shown(methods)} names none; take some of {', '.join(STANDARD)}.")
    named = [one.lower() for one in wanted if isinstance(one, str)]
    shared: dict[str, Any] | None = {} if "autossl" in named else None
    chosen: dict[str, Method] = {}
    for one in wanted if BASELINE in named else [BASELINE, *wanted]:
        method = _method(one, shared)
        if method.name in chosen and not isinstance(method, Given):
            continue
        while method.name in chosen:
            method.name = method.title = method.name + "'"
        chosen[method.name] = method
    return list(chosen.values())


def _method(one: Any, shared: dict[str, Any] | None) -> Method:
    if isinstance(one, str):
        if one.lower() == "majority":
            return Supervised("majority", "majority class", _majority)
        if one.lower() == "svm":
            return Supervised("svm", "tuned SVM", _tuned_svm)
        if one.lower() in (BASELINE, "autossl"):
            return Automatic(one.lower() == BASELINE, shared)
        names = ["AutoSSL", *estimators_of(ClassifierMixin), *(f"S3VM-{search}" for search in SEARCHES)]
        names += ("LabelSearch-LapRLS", "LabelSearch-LapSVM", "LabelSearch-STORM", "LabelSearch-KTA")
        known = {name.lower(): name for name in names}
        if one.lower() not in known:
            listed = among(one, ["majority", "svm", BASELINE, *sorted(known.values())])
            raise InvalidInputError(f"methods names {one!r}, which is unknown; take some of {listed}")
        return Named(known[one.lower()])
    if not (isinstance(one, BaseEstimator) and hasattr(one, "fit") and hasattr(one, "predict")):
        raise InvalidTypeError(
            f"methods holds {shown(one)} of the type {type(one).__name__}; pass names of methods, or classifiers "
            "such as sm.LapSVM(gamma_I=1.0)."
        )
    return Given(one, type(one).__name__)


def estimators_of(kind: type) -> list[str]:
    """Return the names of the estimators of the package that are of a kind."""
    return [name for name in estimators.__all__ if issubclass(getattr(estimators, name), kind)]


def inner_folds(codes: IntArray, seed: int, n_folds: int = _INNER) -> Folds:
    """Return folds of the labelled rows, which always train with all unlabelled ones."""
    known = labeled_rows(codes)
    n_splits = max(2, min(n_folds, len(known)))
    if codes.dtype.kind == "f":
        drawn = np.random.default_rng(seed).permutation(known)
        return [(np.setdiff1d(known, test), np.sort(test)) for test in np.array_split(drawn, n_splits)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with one label: the list of flaws names them
        return list(LabeledKFold(n_splits, random_state=seed).split(codes, codes))


def _wrong(estimator: Any, X: Matrix, codes: IntArray, folds: Folds) -> int:
    wrong = 0
    for _, test in folds:
        part = codes.copy()
        part[test] = -1
        known = np.unique(part[part >= 0])
        if len(known) == 1:
            predicted: Any = known[0]
        else:
            predicted = clone(estimator).fit(X, part).predict(X[test])
        wrong += int((predicted != codes[test]).sum())
    return wrong


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
