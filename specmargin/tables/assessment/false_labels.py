"""What a comparison says of false labels: `told_false_labels`, how many of them decide how much."""

from __future__ import annotations

import warnings
from typing import Any

from specmargin.estimators import LapRLS, SpectralFilterClassifier, SpectralRidge
from specmargin.exceptions import SpecmarginError

__all__ = ["told_false_labels"]

_NONE = (
    "False labels: of {} it is not told how many labels decide, because its decisions are no linear map of the labels; "
    "SpectralRidge().fit(X, y).label_robustness() tells it of another classifier."
)


def told_false_labels(estimator: Any, title: str) -> str:
    """Return how many labels decide how many predictions of a fitted classifier, in words; or why that is not told.

    The classifiers are those whose answer is exact and costs no more than a fit, each set of labels a product. Named
    are three labels, chosen one after the other: each changes predictions when it is false alone, so that their share
    is a lower bound of what as many false labels can change.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    >>> clf = sm.SpectralRidge().fit(X, sm.hide_labels(truth, per_class=3, random_state=0))
    >>> told_false_labels(clf, "SpectralRidge")[:35]
    'False labels: 3 of 6 labels (rows 3'
    """
    own = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(own, LapRLS | SpectralRidge | SpectralFilterClassifier):
        return _NONE.format(title)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fewer labels, and what fit reported
            robust = own.label_robustness(max_flips=1)
    except (SpecmarginError, MemoryError) as error:
        return f"False labels: of {title} it is not told how many labels decide: {error}"
    (rows, share), l = robust.deciding(), len(robust.labeled)
    fixed = "" if own is estimator else ", its parameters held fixed"
    if not len(rows):
        return f"False labels: none of the {l} labels changes a prediction of {title} when it alone is false{fixed}."
    named = ", ".join(map(str, rows.tolist()))
    return (
        f"False labels: {len(rows)} of {l} labels (rows {named}) decide {share:.0%} of the predictions of "
        f"{title}{fixed}. Each changes some when it alone is false, so that together they may change more; look at "
        "them twice."
    )
