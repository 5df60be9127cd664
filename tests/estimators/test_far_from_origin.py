"""Rows far from the origin: no search without an end, and a linear classifier that does not see where the origin is."""

import time

import numpy as np
import pytest

import specmargin as sm


@pytest.fixture(scope="module")
def far():
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 1.5 * truth[:, None]
    y = np.where(rng.random(60) < 0.5, truth, -1)
    y[:6] = truth[:6]
    return X, y


@pytest.mark.parametrize("template", [sm.LapSVM(), sm.STORM()])
@pytest.mark.parametrize("where", ["offset", "order numbers"])
@pytest.mark.filterwarnings("ignore")
def test_a_search_far_from_the_origin_ends(far, template, where):
    X, y = far
    moved = X + 1e9 if where == "offset" else np.column_stack([X, 4e9 + np.arange(60.0)])
    start = time.process_time()
    clf = sm.LabelSearch(template).fit(moved, y)
    assert time.process_time() - start < 60.0  # it has an end: ten seconds here, no measure of speed
    assert set(clf.predict(moved)) <= {0, 1}


@pytest.mark.parametrize("B", [np.inf, 1.5])
def test_a_linear_rmm_does_not_see_the_origin(far, B):
    X, y = far
    X = np.round(X * 2**20) / 2**20  # an offset of a power of two leaves such numbers as they are
    near = sm.RMM(B=B, kernel="linear").fit(X, y)
    moved = sm.RMM(B=B, kernel="linear").fit(X + 2.0**30, y)
    assert moved.result_.certificate.is_optimal(1e-6)
    np.testing.assert_allclose(moved.decision_function(X + 2.0**30), near.decision_function(X), atol=1e-6)
