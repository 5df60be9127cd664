"""Saved estimators predict as before, to the last bit; what no file can hold is named; no file runs code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import specmargin as sm
from specmargin import estimators

METHODS = ("predict", "decision_function", "predict_proba", "transform")


def test_a_loaded_classifier_is_the_same(moons: Any, tmp_path: Any) -> None:
    X, _, y = moons
    fitted = sm.LapRLS().fit(X, y)
    sm.save(fitted, tmp_path / "model.npz")
    again = sm.load(tmp_path / "model.npz")
    assert isinstance(again, estimators.LapRLS)
    assert again.get_params() == fitted.get_params()
    for method in ("predict", "decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(again, method)(X + 0.01), getattr(fitted, method)(X + 0.01))


def test_estimators_of_other_packages_are_refused(tmp_path: Any) -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(sm.exceptions.InvalidTypeError, match=r"save its fitted step"):
        sm.save(make_pipeline(StandardScaler(), sm.LapSVM()), tmp_path / "model.npz")
