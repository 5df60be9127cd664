"""What searches that choose by the labelled samples alone share: folds, criteria of left-out samples, the record."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from specmargin.estimators._fit_warnings import outside
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.model_selection import LabeledKFold
from specmargin.objectives import leave_one_out as loo
from specmargin.typing import AnyArray, BoolArray, FloatArray, Matrix

OF_DECISIONS = ("nll", "sq", "01")
"""The criteria that `of_decisions` returns."""


def of_decisions(raw: FloatArray, compared: FloatArray, sign: FloatArray) -> dict[str, FloatArray]:
    """Return every criterion per setting from the decisions at left-out samples; nan where there is none.

    Parameters
    ----------
    raw, compared : ndarray of shape (n_settings, m) or (n_settings, m, K)
        Decisions, and what the classes are compared by.
    sign : ndarray of shape (m,) or (m, K)
        True signs of these samples.
    """
    if not len(sign):
        return dict.fromkeys(OF_DECISIONS, np.full(len(raw), np.nan))
    nll = loo.nll(compared, sign)
    # Few labels make many ties.
    return {"nll": nll, "sq": loo.squared_error(raw, sign), "01": loo.zero_one(compared, sign) + 1e-3 * nll}


@dataclass(kw_only=True, eq=False, repr=False)
class LabelSearch:
    """A search among settings by the labels of left-out samples.

    Parameters
    ----------
    criterion : {"nll", "sq", "01"}
        Of the decisions of left-out samples: "nll", logistic (softmax) loss at the scale that suits them best; "sq",
        mean squared residual of f before balancing; "01", errors, ties broken by nll.
    cv : "loo", int or splitter
        "loo": leave one labelled sample out. A number of folds (stratified, in the order of the samples), or any
        splitter, which is shown the labelled samples only. Left-out samples stay as unlabelled ones.

    Attributes
    ----------
    best_params_ : dict
        Keyword arguments for `estimator_`.
    best_score_ : float
        The criterion with its sign changed, so that larger is better. **No estimate of accuracy**: see the notes.
    best_index_ : int
        Its position in `cv_results_`.
    cv_results_ : dict of ndarray
        ``params``, ``param_*``, ``mean_test_score``, ``rank_test_score``, and every criterion under its name.
    estimator_ : estimator
        Fitted with `best_params_` to all samples; the other attributes are copied from it.

    Notes
    -----
    The labelled samples alone choose. The minimum of a criterion over many settings is smaller than the criterion of
    a setting named in advance: `best_score_` is no estimate of the error. Keep labels aside for that.

    A sample that is the only labelled one of its class, or whose fold leaves one class to train on, does not count:
    no setting could name its class. If none counts, as with one label per class, the first candidates are taken, with
    a warning. Classes are balanced while choosing and after it.
    """

    criterion: str = "nll"
    cv: Any = "loo"

    _criteria: ClassVar[tuple[str, ...]] = OF_DECISIONS

    def _check_criterion(self) -> None:
        if self.criterion not in self._criteria:
            raise InvalidInputError(
                f"criterion={self.criterion!r} is unknown here; take one of {', '.join(self._criteria)}."
            )

    def _folds(self, X: Matrix, labels: Labels) -> list[loo.Fold]:
        l = labels.n_labeled
        if isinstance(self.cv, str):
            return loo.one_left_out(l)
        whole = isinstance(self.cv, int | np.integer)
        splitter = LabeledKFold(int(self.cv), shuffle=False) if whole else check_cv(self.cv)
        folds = []
        for train, test in splitter.split(X[labels.labeled], labels.sign_codes):
            left_out = np.setdiff1d(np.arange(l), train)
            if not np.isin(test, left_out).all():
                raise InvalidInputError("the splitter of cv tests labelled samples that it trains on.")
            folds.append(loo.Fold(left_out, np.asarray(test)))
        return folds

    def _counted(self, labels: Labels, folds: list[loo.Fold]) -> BoolArray:
        """Return which tested samples count; warn where none does and the criterion looks at them."""
        kept = loo.counted(labels.sign, folds)
        if not kept.any() and self.criterion in OF_DECISIONS:
            other = next((f", or take criterion={name!r}" for name in self._criteria if name not in OF_DECISIONS), "")
            warnings.warn(
                f"{type(self).__name__}: no fold tests a class that it trains on, so that the labelled samples cannot "
                f"choose; the first candidates are taken. Label two samples of a class{other}.",
                stacklevel=outside(),
            )
        return kept

    def _decision(self: Any, X: Matrix) -> FloatArray:
        return np.asarray(self.estimator_.decision_function(X))

    def _record(self, settings: list[dict[str, Any]]) -> None:
        """Keep what was tried, dicts of ``params`` and of every criterion, and which of it is the best."""
        scores = -np.array([entry[self.criterion] for entry in settings])
        ordered = np.where(np.isnan(scores), np.inf, -scores)
        self.best_index_ = int(ordered.argmin())
        self.best_score_ = float(scores[self.best_index_])
        self.best_params_ = dict(settings[self.best_index_]["params"])
        names = list(dict.fromkeys(name for entry in settings for name in entry["params"]))
        self.cv_results_ = {
            **{f"param_{name}": _column([entry["params"].get(name, np.nan) for entry in settings]) for name in names},
            "params": [entry["params"] for entry in settings],
            "mean_test_score": scores,
            "rank_test_score": rankdata(ordered, method="min").astype(np.int32),
            **{name: np.array([entry[name] for entry in settings]) for name in self._criteria},
        }


def _column(values: list[Any]) -> AnyArray:
    """Return values as an array of numbers, or of objects where some are none."""
    return np.array(values, dtype=object if any(isinstance(value, str) or value is None for value in values) else None)
