"""False labels that change predictions: `label_robustness` of classifiers whose decisions are least squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specmargin.checks import whole
from specmargin.estimators._base.changed_model import refuse_changed
from specmargin.estimators._base.class_balance import UNDECIDED, Balance, codes_of
from specmargin.estimators._base.label_weights import weights_when_relabelled
from specmargin.estimators._base.semi_supervised import check_features, numerical_failures
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.labels import Labels
from specmargin.labels.shares import label_counts
from specmargin.objectives.held_out.label_flips import (
    LabelRobustness,
    enumerated_flips,
    label_sets_up_to,
    linear_flips,
)
from specmargin.typing import FloatArray, IntArray, Matrix

Smoother = Callable[[FloatArray | None], tuple[FloatArray, FloatArray]]
"""From the weights of the labels to H of the decisions f = H y: at the training samples, and at those asked for."""

Answers = Callable[[Labels], tuple[FloatArray, FloatArray]]
"""From labels to the decisions before classes are balanced: at the training samples, and at those asked for."""


class Products(NamedTuple):
    """Decisions f = H y; H anew where the weights follow from the labels."""

    smooth: Smoother
    anew: bool
    H: FloatArray
    at: FloatArray

    def __call__(self, labels: Labels) -> tuple[FloatArray, FloatArray]:
        H, at = self.smooth(labels.weights) if self.anew else (self.H, self.at)
        return _decided(H, labels), _decided(at, labels)


_MOST = 5_000
"""Sets of false labels that are tried unless more are asked for: seconds."""
_MOST_FITS = 300
"""The same where each is a fit."""
_REPRODUCED = 1e-5
"""Relative difference to the decisions of the fit up to which they are the same."""


class CountsFlips:
    """Label robustness; a subclass has ``_smoother(X)``, its decisions as a linear map of the labels."""

    classes_: Any
    class_balance: Any
    class_weight: Any
    scores_: FloatArray

    _is_linear: ClassVar[bool] = True
    """Whether decisions are linear in the labels."""

    def label_robustness(self, X: Matrix | None = None, *, max_flips: int | None = None) -> LabelRobustness:
        """Return how many labels would have to be false before each prediction changes its class, and which.

        A false label is one of any other class. Everything else is held as `fit` left it: **kernel, graph, weights
        and learned spectra stay, whatever chose them**, the labels included; only the decisions, the thresholds that
        follow from them, and the weights of ``class_weight`` are those of the changed labels. What is certified is
        the answer of the problem with these parameters, not that of a search that would choose others.

        Decisions are linear in the labels, and the worst r labels the r largest terms of a sum (`specmargin.objectives.
        held_out.label_flips` has the proof). With ``class_balance=None`` and no `class_weight` that is the whole
        answer: exact for every number of labels, at the cost of a fit or less. Otherwise thresholds or weights follow
        from the labels, too; then every set of labels is tried, moved in every way: exact as well, up to ``limit``
        labels. Decisions of `LapSVM` are not linear: there each set is a fit, on the factorisation of one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples; by default the training samples.
        max_flips : int, optional
            Largest number of false labels that is asked for. By default all of them; where sets have to be tried,
            as many as 5,000 sets (300 fits) allow, one at least.

        Returns
        -------
        LabelRobustness
            Arrays ``radius`` and ``flips``, and ``certified(r)``, ``share(r)``.
            `specmargin.plots.LabelRobustnessDisplay` draws it.

        Raises
        ------
        ValueError
            If there are fewer labels than `max_flips`, a class has one label only, or decisions are not linear:
            ``refine="kmeans"``, or another `model`.

        Examples
        --------
        >>> import specmargin as sm
        >>> X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
        >>> y = sm.hide_labels(truth, per_class=5, random_state=0)
        >>> robust = sm.SpectralRidge(class_balance=None).fit(X, y).label_robustness()
        >>> robust.share(1) >= robust.share(2), robust.flips.shape
        (True, (120, 10))
        """
        refuse_changed(self, "label robustness")
        labels: Labels = self._remembered().labels  # type: ignore[attr-defined]  # it is mixed in
        _check(labels, max_flips)
        if X is not None:
            X = check_features(self, X, reset=False)
        known, n_classes, l = labels.sign_codes, len(labels.classes), labels.n_labeled
        weigh = weights_when_relabelled(labels, self.class_weight)
        with numerical_failures(self):
            answers = self._products(X, labels) if self._is_linear else self._refits(X)
            if isinstance(answers, Products) and self.class_balance is None and self.class_weight is None:
                limit = l if max_flips is None else max_flips
                rounding = UNDECIDED * float(np.abs(self.scores_).max(initial=0.0))
                codes, radius, flips, decides = linear_flips(answers.at, known, n_classes, rounding=rounding)
                flips[radius > limit] = -1
                radius = np.minimum(radius, limit + 1)
            else:
                most = _MOST if self._is_linear else _MOST_FITS
                limit = label_sets_up_to(l, n_classes, most) if max_flips is None else max_flips

                def decide(codes: IntArray) -> IntArray:
                    other = labels.with_codes(codes)
                    other = replace(other, weights=weigh(other))
                    f, at = answers(other)
                    balance = Balance.of(f, other, self.class_balance)
                    rounding = UNDECIDED * float(np.abs(balance(f)).max(initial=0.0))
                    return codes_of(balance(at), rounding)

                codes, radius, flips, decides = enumerated_flips(decide, known, n_classes, limit)
        counted = np.ones(len(codes), dtype=bool)
        if X is None:
            counted[labels.labeled] = False
        return LabelRobustness(
            codes, radius, flips, decides, labels.labeled, labels.classes, limit, counted, self._held_fixed()
        )

    def _smoother(self, X: Matrix | None) -> Smoother:
        raise NotImplementedError

    def _refits(self, X: Matrix | None) -> Answers:
        """Return what makes decisions of other labels by a fit with the parameters in use."""
        raise NotImplementedError

    def _products(self, X: Matrix | None, labels: Labels) -> Products:
        smooth = self._smoother(X)
        products = Products(smooth, self.class_weight is not None, *smooth(labels.weights))
        self._require_reproduced(products(labels)[0], labels)
        return products

    def _held_fixed(self) -> str:
        """Return what stays as `fit` left it."""
        return "kernel, graph, penalties and learned weights are those of fit"

    def _require_reproduced(self, f: FloatArray, labels: Labels) -> None:
        """Raise where the linear map does not make the decisions of the fit: rounding has them."""
        scores = Balance.of(f, labels, self.class_balance)(f)
        error = float(np.abs(scores - self.scores_).max(initial=0.0))
        if not error <= _REPRODUCED * float(np.abs(self.scores_).max(initial=0.0)):
            raise SolverError(
                f"{type(self).__name__}: decisions as a linear map of the labels differ from those of fit "
                f"by {error:.1e}: weights are so far apart that rounding decides; take a larger gamma_A (penalty)."
            )


def _decided(H: FloatArray, labels: Labels) -> FloatArray:
    """Return the decisions H y, (m,) or (m, K)."""
    if H.ndim == 2:
        return np.asarray(H @ labels.sign)
    return np.stack([one @ labels.sign[:, k] for k, one in enumerate(H)], axis=1)


def _check(labels: Labels, max_flips: int | None) -> None:
    counts, l = label_counts(labels), labels.n_labeled
    if counts.min() < 2:
        alone = labels.classes.tolist()[int(counts.argmin())]
        raise InvalidInputError(
            f"the class {alone!r} has one label, and if that is false nothing is known of the class; label another "
            "sample of it."
        )
    if max_flips is not None and not 1 <= whole("max_flips", max_flips) <= l:
        raise InvalidInputError(f"max_flips={max_flips} of {l} labels cannot be false; take 1 to {l}.")
