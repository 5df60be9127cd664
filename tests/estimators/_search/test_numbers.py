"""Numbers by their labels: the choice is that of refits, and the best parameters make the fit again."""

import numpy as np
import pytest
from sklearn.base import clone

import specmargin as sm
from specmargin.graphs import Laplacian
from specmargin.kernels import Landmarks

pytestmark = pytest.mark.filterwarnings("ignore::specmargin.exceptions.DisconnectedGraphWarning")

GRID = {"kernel": ["linear", 1.0], "graph": [4, 7], "laplacian": [1, 2], "gamma_I": ["0 gamma_A", "10 gamma_A"]}


@pytest.fixture
def sines(rng):
    """80 samples in two dimensions, 12 of them labelled, of two outputs."""
    X = rng.uniform(0.0, 3.0, size=(80, 2))
    truth = np.column_stack([np.sin(2.0 * X[:, 0]) + X[:, 1], 5.0 - X[:, 1]]) + 0.1 * rng.normal(size=(80, 2))
    y = np.full((80, 2), np.nan)
    known = np.sort(rng.permutation(80)[:12])
    y[known] = truth[known]
    return X, truth, y, known


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("params", [{}, {"functions": Landmarks(20)}, {"fit_intercept": False}], ids=str)
def test_every_number_is_that_of_refits(sines, several, params):
    X, _, y, known = sines
    y = y if several else y[:, 0]
    search = sm.LabelSearch(sm.LapRLSRegressor(**params), {**GRID, "gamma_A": [0.01, 0.3]}).fit(X, y)
    results = search.cv_results_
    assert len(results["params"]) == 2 * 2 + 2 * 2 * 2 * 2
    for at in range(0, 20, 3):
        model = sm.LapRLSRegressor(**results["params"][at])
        if "functions" in params:  # which are drawn next to the labelled ones
            left_out = model.fit(X, y).leave_one_out_
        else:
            hidden = [
                np.where((np.arange(80) == i)[:, None] if several else np.arange(80) == i, np.nan, y) for i in known
            ]
            left_out = [clone(model).fit(X, one).predict(X[[i]])[0] for i, one in zip(known, hidden, strict=True)]
        expected = np.mean((np.array(left_out) - y[known]) ** 2)
        assert results["sq"][at] == pytest.approx(expected, rel=1e-6)
    assert search.best_index_ == results["sq"].argmin() == results["mean_test_score"].argmax()
    assert search.best_params_ == results["params"][search.best_index_]
    assert -search.best_score_ == pytest.approx(np.mean((search.leave_one_out_ - y[known]) ** 2), rel=1e-9)


@pytest.mark.parametrize("own_graph", [False, True])
def test_the_best_parameters_make_the_fit_again(sines, own_graph):
    X, truth, y, _ = sines
    graph = sm.graphs.knn_graph(X, 5) if own_graph else None
    powers = {"laplacian": [Laplacian(1, False), Laplacian(2, False)]}
    search = sm.LabelSearch(
        sm.LapRLSRegressor(tol=1e-8, laplacian=Laplacian(normalized=False)), {**GRID, **powers}
    ).fit(X, y, graph=graph)
    again = sm.LapRLSRegressor(**search.best_params_).fit(X, y, graph=graph)
    np.testing.assert_array_equal(again.transduction_, search.transduction_)
    np.testing.assert_array_equal(again.predict(X[:4] + 0.1), search.predict(X[:4] + 0.1))
    assert search.score(X, truth) == again.score(X, truth) > 0.5
    results = search.cv_results_
    values = np.where(results["supervised"], results["sq"], np.inf)
    baseline = sm.LapRLSRegressor(**results["params"][values.argmin()]).fit(X, y)
    np.testing.assert_array_equal(search.baseline_.transduction_, baseline.transduction_)
    assert baseline.gamma_I_ == 0


def test_one_output_and_no_supervised_candidate(sines):
    X, _, y, _ = sines
    search = sm.LabelSearch(sm.LapRLSRegressor(), grid={**GRID, "gamma_I": ["10 gamma_A"]}).fit(X, y[:, 0])
    assert search.baseline_ is None
    assert search.predict(X).shape == (80,)
    np.testing.assert_allclose(search.predict(X), search.transduction_, atol=1e-9)
    alone = sm.LabelSearch(sm.LapRLSRegressor(), grid={**GRID, "gamma_I": [0.0]}).fit(X, y[:, 0])
    assert alone.baseline_ is alone.best_estimator_


def test_one_label_leaves_none_to_learn_from(sines):
    X, _, y, known = sines
    y[known[1:]] = np.nan
    with pytest.raises(ValueError, match="leaving one of fewer than 2 labelled samples out leaves none"):
        sm.LabelSearch(sm.LapRLSRegressor(), grid=GRID).fit(X, y)
