"""`WithUnlabeled`: the fit of the estimator to all samples, whatever the labels and features are kept in."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import RBF

X, TRUTH = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
Y = sm.hide_labels(TRUTH, per_class=8, random_state=0)
KNOWN = Y != -1
PLAIN = sm.LapRLS(kernel=RBF(4.0)).fit(np.vstack([X[KNOWN], X[~KNOWN]]), np.concatenate([Y[KNOWN], Y[~KNOWN]]))


@pytest.mark.parametrize(
    ("classes", "kind"),
    [([0, 1], int), ([-1, 1], int), (["moon", "sun"], str), ([-1.0, 2.0], float), ([False, True], bool)],
)
def test_any_value_is_a_class(classes: list[Any], kind: type) -> None:
    y = np.array(classes)[TRUTH]
    fitted = sm.WithUnlabeled(sm.LapRLS(kernel=RBF(4.0)), X[~KNOWN]).fit(X[KNOWN], y[KNOWN])
    assert fitted.classes_.tolist() == classes
    assert fitted.classes_.dtype == y.dtype == fitted.predict(X).dtype
    np.testing.assert_array_equal(fitted.predict(X), y[:0] if len(X) == 0 else np.array(classes)[PLAIN.predict(X)])
    np.testing.assert_array_equal(fitted.decision_function(X), PLAIN.decision_function(X))
    np.testing.assert_array_equal(fitted.predict_proba(X), PLAIN.predict_proba(X))
    assert len(fitted.estimator_.transduction_) == 60
    assert isinstance(fitted.classes_.tolist()[0], kind)


@pytest.mark.parametrize(
    ("own", "more"),
    [
        (sp.csr_matrix, sp.csr_matrix),
        (sp.csr_array, np.asarray),
        (np.ndarray.tolist, np.asarray),
        (pd.DataFrame, pd.DataFrame),
        (pd.DataFrame, np.asarray),
    ],
)
def test_features_of_any_kind(own: Any, more: Any) -> None:
    fitted = sm.WithUnlabeled(sm.LapRLS(kernel=RBF(4.0)), more(X[~KNOWN])).fit(own(X[KNOWN]), Y[KNOWN][:, None])
    np.testing.assert_allclose(fitted.estimator_.scores_, PLAIN.scores_, atol=1e-9)


def test_frames_keep_their_names_through_a_pipeline() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    pipeline = make_pipeline(StandardScaler(), sm.LapRLS())
    fitted = sm.WithUnlabeled(pipeline, frame[~KNOWN]).fit(frame[KNOWN], Y[KNOWN])
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    assert fitted.n_features_in_ == 2
    np.testing.assert_allclose(fitted.estimator_[0].mean_, X.mean(axis=0))  # of all samples
    assert pipeline[-1].unlabeled == -1
    with pytest.raises(InvalidInputError, match=r"\['b', 'a'\]"):
        sm.WithUnlabeled(pipeline, frame[["b", "a"]]).fit(frame[KNOWN], Y[KNOWN])


def test_clone_pickle_and_methods() -> None:
    whole = sm.WithUnlabeled(sm.LapRLS(kernel=RBF(4.0)), X[~KNOWN])
    fitted = clone(whole).fit(X[KNOWN], Y[KNOWN])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    assert fitted.score(X, TRUTH) > 0.9
    assert hasattr(whole, "predict_proba") == hasattr(whole.estimator, "predict_proba")
    assert not hasattr(whole, "estimator_")
    with pytest.raises(ValueError, match="not fitted"):
        whole.predict(X)


def test_what_cannot_be_fitted() -> None:
    with pytest.raises(InvalidInputError, match="no parameter 'unlabeled'"):
        sm.WithUnlabeled(LogisticRegression(), X).fit(X, Y)
    with pytest.raises(InvalidInputError, match=r"shape \(60, 1\), but X_unlabeled \(60, 2\)"):
        sm.WithUnlabeled(sm.LapRLS(), X).fit(X[:, :1], TRUTH)
