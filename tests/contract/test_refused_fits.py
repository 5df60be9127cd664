"""A fit that is refused or stopped leaves every estimator as it was: with what it had learned, or with nothing."""

from __future__ import annotations

import warnings
from typing import Any

import all_estimators
import numpy as np
import pytest
from contract_estimators import CLUSTERING, REGRESSORS, make
from contract_inputs import NEW, W, X, Y

from specmargin.estimators._base.semi_supervised import SemiSupervised
from specmargin.exceptions import SolverError


def fit(estimator: Any, X: Any = X, y: Any = Y, **words: Any) -> Any:
    y = np.where(y == -1, np.nan, y) if type(estimator).__name__ in REGRESSORS else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, **({} if type(estimator).__name__ in CLUSTERING else {"y": y}), **words)


def refused(estimator: Any) -> None:
    lopsided = W.copy()
    lopsided[0, 1] += 1.0
    for words in ({"X": X * np.nan}, {"X": X[:0]}, {"graph": lopsided}, {"y": np.full(len(Y), -1)}):
        if "y" in words and type(estimator).__name__ in CLUSTERING:
            continue
        with pytest.raises(ValueError, match=r"NaN|sample|RMM learns|would ignore|symmetric|labelled"):
            fit(estimator, **words)


@pytest.mark.parametrize("name", all_estimators.NAMES)
def test_what_was_learned_is_still_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = fit(make(name))
    ask = "predict" if hasattr(estimator, "predict") else "transform"
    before, answer = dict(vars(estimator)), getattr(estimator, ask)(NEW)

    def unchanged() -> None:
        assert vars(estimator).keys() == before.keys()
        assert all(vars(estimator)[key] is value for key, value in before.items())
        np.testing.assert_array_equal(getattr(estimator, ask)(NEW), answer)

    refused(estimator)
    unchanged()
    # At the end of the work, when all is set.
    for error in (KeyboardInterrupt, SolverError("no answer")):
        if name in CLUSTERING:
            monkeypatch.setattr(type(estimator), "_keep", _raising(error))
        else:
            monkeypatch.setattr(SemiSupervised, "_warn_of_gaps", _raising(error))
            monkeypatch.setattr(type(estimator), "_warn_of_gaps", _raising(error))
        monkeypatch.setattr("specmargin.estimators.label_search.LabelSearch._record", _raising(error))
        with pytest.raises(BaseException, match=r"^$|no answer"):
            fit(estimator, X[::-1])
        unchanged()


def _raising(error: Any) -> Any:
    def stop(*_: Any, **__: Any) -> None:
        raise error

    return stop


@pytest.mark.parametrize("name", all_estimators.NAMES)
def test_an_estimator_that_was_never_fitted_is_not(name: str) -> None:
    estimator = make(name)
    before = dict(vars(estimator))
    refused(estimator)
    assert vars(estimator) == before
