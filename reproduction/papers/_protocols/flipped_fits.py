"""Fits before and after labels are flipped: what a certificate said, and what happened, at one draw of one set.

Labels are flipped twice over. *Held*: parameters stay as the fit to the true labels left them, which is what its
certificate is about, so that no certified prediction may change; one that does is an error here. *Anew*: the classifier
chooses its parameters from the labels that it is given, as a user's does; the certificate of that fit is the one that
a user can have, and that of the parameters it happened to choose.
"""

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import specmargin as sm
from reproduction.engine.evaluation import percent
from specmargin.exceptions import ClassShareWarning, InvalidInputError, SpecmarginError
from specmargin.spectra import filter_bank
from specmargin.typing import BoolArray, FloatArray, IntArray

RATES = (5, 10, 20, 30)
"""Percent of the labels that are flipped."""

METHODS: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {
        "LapRLS": lambda: sm.LapRLS(class_balance=None),
        "LapSVM": lambda: sm.LapSVM(class_balance=None),
        "SpectralRidge": lambda: sm.SpectralRidge(class_balance=None),
        "SpectralFilterClassifier": lambda: sm.SpectralFilterClassifier(normalization="centered"),
        "kernel ridge": lambda: sm.LapRLS(gamma_I=0.0, class_balance=None),
    }
)
"""Classifiers by name, as they are without a parameter, but for two. Thresholds stay at zero: with those that
follow from the labels `label_robustness` would know no more than two flips. Filters see sizes of features and not their
direction alone, which is for words. "kernel ridge" is LapRLS without a graph, which sees the labelled samples alone."""


def n_flips(rate: float, n_labels: int) -> int:
    """Return how many of the labels a rate in percent flips, one at least."""
    return max(1, round(rate * n_labels / 100))


def flip_order(codes: IntArray, most: int, seed: int) -> IntArray:
    """Return the order in which labels are flipped, at random: whatever is flipped first leaves two of each class.

    Parameters
    ----------
    codes : ndarray of int, of shape (l,)
        Classes 0 and 1 of the labels.
    most : int
        Most labels that are flipped.
    seed : int

    Examples
    --------
    >>> flip_order(np.array([0, 0, 0, 1, 1, 1]), 2, seed=0).tolist()
    [3, 2, 5, 4, 0, 1]
    """
    rng = np.random.default_rng(seed)
    for _ in range(1000):
        order = rng.permutation(len(codes))
        ones = codes.sum() + np.cumsum(1 - 2 * codes[order])[:most]
        if min(*ones, codes.sum()) >= 2 and max(*ones, codes.sum()) <= len(codes) - 2:
            return order
    raise InvalidInputError(
        f"{len(codes)} labels, {codes.sum()} of the second class, hardly ever have two of each class after up to "
        f"{most} flips; take more labels."
    )


def held(clf: Any, X: Any) -> Callable[[IntArray], IntArray]:
    """Return what fits anew with the parameters of a fitted classifier, weights of filters included, to other labels.

    These are fits and no products of `label_robustness`. `SpecmarginError` if they do not repeat the fit itself.
    """
    if isinstance(clf, sm.LapSVM):  # LapRLS, too
        fixed = clone(clf).set_params(gamma_A=clf.gamma_A_, gamma_I=clf.gamma_I_, kernel=clf.kernel_)
        fixed.set_params(laplacian=clf.laplacian_ if clf.gamma_I_ else clf.laplacian)  # without a graph there is none
    elif isinstance(clf, sm.SpectralRidge):
        fixed = clone(clf).set_params(penalty=clf.penalty_)
    else:  # ridge regression with a kernel that is known now
        known = clf.bank_
        bank = filter_bank(known.operator, known.features, known.filters, normalization=known.normalization)
        X = np.asarray(sum(d * (F @ F.T) for d, F in zip(clf.filter_weights_, bank.blocks, strict=True)))
        fixed = sm.LapRLS(gamma_A=clf.penalty_, gamma_I=0.0, kernel="precomputed", class_balance=None)
    return lambda shown: np.asarray(clone(fixed).fit(X, shown).transduction_)


def compared(
    make: Callable[[], Any], X: Any, y: IntArray, labeled: IntArray, *, seed: int = 0, trials: int = 3
) -> dict[str, float | None]:
    """Return what one classifier's certificates said and what happened, by the names of columns, in percent.

    Parameters
    ----------
    make : callable
        Returns the classifier.
    X : ndarray of shape (n, d)
    y : ndarray of int, of shape (n,)
        True classes, 0 and 1.
    labeled : ndarray of int, of shape (l,)
        Rows whose class is given.
    seed : int, default 0
        Chooses the labels that are flipped: those of a lower rate among those of a higher one.
    trials : int, default 3
        Times that as many labels of the flipped ones are flipped at random, to see what changes: a rival of the
        certificate that proves nothing.

    Returns
    -------
    dict
        Shares of the predictions of the other samples. With the true labels: ``error_clean``, ``one``, what survives
        any one false label, and ``flips``, the mean number of flips that were found to change a prediction. With a rate
        at their end: ``survive`` any r flips of the true labels, proved, and ``found``, where no r flips were found
        that change it; ``user``, ``user_one`` and ``user_flips`` are the same of the fit to the flipped labels,
        ``trial`` what changes when r of these are flipped at random; ``error``, ``changed`` and ``broken`` (certified
        for r flips, and not the class that the true labels give) of that fit; ``error_held`` and ``changed_held`` of
        the one with parameters held. ``auc`` and ``auc_margin``: how well the number of flips found, and the size of
        the decision, tell what changed; None where all or nothing did.

    Raises
    ------
    SpecmarginError
        If a certified prediction changes while parameters are held: one of the two is wrong.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassShareWarning)  # thresholds stay at zero, whatever the labels say
        return _compared(make, X, y, labeled, seed, trials)


def _compared(
    make: Callable[[], Any], X: Any, y: IntArray, labeled: IntArray, seed: int, trials: int
) -> dict[str, float | None]:
    shown = np.full(len(y), -1)
    shown[labeled] = y[labeled]
    hidden, l = shown < 0, len(labeled)
    order = flip_order(y[labeled], n_flips(RATES[-1], l), seed)
    clean = make().fit(X, shown)
    before, known, again = clean.transduction_, clean.label_robustness(), _repeats(clean, X, shown)
    told: dict[str, float | None] = {
        "error_clean": percent((before != y)[hidden]),
        "one": percent(known.certified(1)[hidden]),
        "flips": float(known.attacked[hidden].mean()),
    }
    for rate in RATES:
        r = n_flips(rate, l)
        false = shown.copy()
        false[labeled[order[:r]]] = 1 - false[labeled[order[:r]]]
        after = again(false)
        kept, changed = known.certified(r), after != before
        if (kept & changed).any():
            raise SpecmarginError(
                f"{make()!r}: {(kept & changed).sum()} predictions that were certified for {r} flips changed."
            )
        clf = make().fit(X, false)
        user, now, other = clf.label_robustness(), clf.transduction_, _repeats(clf, X, false)
        moved = (now != before)[hidden]
        trial = [
            percent((other(_random_flips(false, labeled, r, (seed, rate, k))) != now)[hidden]) for k in range(trials)
        ]
        told |= {
            f"survive_{rate}": percent(kept[hidden]),
            f"found_{rate}": percent((known.attacked > r)[hidden]),
            f"user_one_{rate}": percent(user.certified(1)[hidden]),
            f"user_flips_{rate}": float(user.attacked[hidden].mean()),
            f"user_{rate}": percent(user.certified(r)[hidden]),
            f"trial_{rate}": float(np.mean(trial)),
            f"error_{rate}": percent((now != y)[hidden]),
            f"changed_{rate}": percent(moved),
            f"broken_{rate}": percent(moved & user.certified(r)[hidden]),
            f"error_held_{rate}": percent((after != y)[hidden]),
            f"changed_held_{rate}": percent(changed[hidden]),
            f"auc_{rate}": _auc(moved, -user.attacked[hidden]),
            f"auc_margin_{rate}": _auc(moved, -np.abs(clf.scores_[hidden])),
        }
    return told


def _repeats(clf: Any, X: Any, shown: IntArray) -> Callable[[IntArray], IntArray]:
    again = held(clf, X)
    if (again(shown) != clf.transduction_).any():
        raise SpecmarginError(f"{clf!r}: a fit with its parameters is not the fit; something else follows from labels.")
    return again


def _random_flips(shown: IntArray, labeled: IntArray, r: int, seed: tuple[int, ...]) -> IntArray:
    codes = shown.copy()
    at = labeled[flip_order(shown[labeled], r, int(np.random.default_rng(seed).integers(2**31)))[:r]]
    codes[at] = 1 - codes[at]
    return codes


def _auc(moved: BoolArray, likely: IntArray | FloatArray) -> float | None:
    """Return in percent how often what changed was likelier to than what did not; ties count half."""
    return None if moved.all() or not moved.any() else 100.0 * float(roc_auc_score(moved, likely))
