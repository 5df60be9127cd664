"""LapRLSRegressor: what is solved, what left-out labels predict, intervals, and input that makes no sense."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import specmargin as sm
from specmargin.exceptions import DisconnectedGraphWarning, InvalidInputError, InvalidTypeError
from specmargin.graphs import Laplacian
from specmargin.kernels import RBF, Landmarks
from specmargin.spectra import Eigenvectors

pytestmark = pytest.mark.filterwarnings("ignore::specmargin.exceptions.DisconnectedGraphWarning")


@pytest.fixture
def sines(rng):
    """120 samples in two dimensions, 25 of them labelled."""
    X = rng.uniform(0.0, 3.0, size=(120, 2))
    truth = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=120)
    y = np.full(120, np.nan)
    known = np.sort(rng.permutation(120)[:25])
    y[known] = truth[known]
    return X, truth, y


def literal(X, y, gamma, gamma_A, gamma_I, k=6, power=1):
    """The normal equations in (alpha, b), with a graph made here."""
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(-1))
    W = sm.graphs.knn_graph(X, n_neighbors=k).toarray()
    d = W.sum(axis=1)
    L = np.linalg.matrix_power(np.eye(len(X)) - W / np.sqrt(np.outer(d, d)), power)
    J, n = (~np.isnan(y)).astype(float), len(X)
    z = np.nan_to_num(y)
    A = np.block(
        [[J[:, None] * K + gamma_A * np.eye(n) + gamma_I * L @ K, J[:, None]], [(J @ K)[None], J.sum()[None, None]]]
    )
    solution = np.linalg.solve(A, np.append(z, z.sum()))
    return K @ solution[:n] + solution[n]


def test_predictions_are_those_of_the_normal_equations(sines):
    X, _, y = sines
    model = sm.LapRLSRegressor(
        gamma_A=0.02, gamma_I=0.3, kernel=RBF(1.5), graph=6, laplacian=Laplacian(power=2, normalized="auto")
    ).fit(X, y)
    f = literal(X, y, 1.5, 0.02, 0.3, power=2)
    np.testing.assert_allclose(model.predict(X), f, atol=1e-8)
    np.testing.assert_allclose(model.transduction_, f, atol=1e-8)
    assert model.result_.certificate.is_optimal(1e-9)
    assert model.result_.problem == "LapRLS"


def test_without_the_graph_it_is_scikit_learns_kernel_ridge(sines):
    X, _, y = sines
    known = ~np.isnan(y)
    model = sm.LapRLSRegressor(gamma_A=0.1, gamma_I=0.0, fit_intercept=False, kernel=RBF(2.0)).fit(X, y)
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=2.0).fit(X[known], y[known])
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-9)


def test_signs_for_targets_are_the_classifier(moons):
    X, _, y = moons
    weights = {"kernel": RBF(2.0), "gamma_A": 0.02, "gamma_I": 0.5, "graph": 6, "laplacian": 1}
    clf = sm.LapRLS(**weights, class_balance=None).fit(X, y)
    z = np.where(y == -1, np.nan, np.where(y == 1, 1.0, -1.0))
    np.testing.assert_allclose(sm.LapRLSRegressor(**weights).fit(X, z).predict(X), clf.decision_function(X), atol=1e-9)


def test_weights_are_those_of_the_squares(sines, rng):
    X, _, y = sines
    known = np.flatnonzero(~np.isnan(y))
    c = np.full(len(y), np.nan)
    c[known] = np.exp(rng.normal(size=len(known)))
    model = sm.LapRLSRegressor(gamma_A=0.1, gamma_I=0.0, fit_intercept=False, kernel=RBF(2.0)).fit(
        X, y, sample_weight=c
    )
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=2.0).fit(X[known], y[known], sample_weight=c[known])
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-9)
    options = {"kernel": RBF(1.5), "gamma_A": 0.02, "gamma_I": 0.3}
    plain = sm.LapRLSRegressor(**options).fit(X, y)
    one = sm.LapRLSRegressor(**options).fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(one.transduction_, plain.transduction_)
    both = sm.LapRLSRegressor(**options).fit(X, np.column_stack([y, 2 * y]), sample_weight=c)
    np.testing.assert_allclose(both.transduction_[:, 1], 2 * both.transduction_[:, 0], atol=1e-9)
    assert all(result.certificate.is_optimal(1e-9) for result in both.result_)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_left_out_targets_with_weights_are_those_of_refits(sines, rng, fit_intercept):
    X, _, y = sines
    c = np.exp(rng.normal(size=len(y)))
    options = {"kernel": RBF(1.5), "gamma_A": 0.05, "gamma_I": 0.2, "fit_intercept": fit_intercept}
    model = sm.LapRLSRegressor(**options).fit(X, y, sample_weight=c)
    for k, i in enumerate(np.flatnonzero(~np.isnan(y))[:5]):
        without = np.where(np.arange(len(y)) == i, 0.0, c)
        again = sm.LapRLSRegressor(**options).fit(X, y, sample_weight=without)
        assert model.leave_one_out_[k] == pytest.approx(again.transduction_[i], abs=1e-9)


def test_twins_of_huge_weights_have_an_answer(sines):
    """Nothing can be left out of a matrix that is singular to rounding; the fit itself is another one."""
    X, _, y = sines
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a gap that is not proved to 1e-6 is told
        model = sm.LapRLSRegressor(gamma_A=1.0, gamma_I=0.0).fit(X, y, sample_weight=np.full(len(y), 1e20))
    assert np.isfinite(model.transduction_).all()


def test_weights_that_make_no_sense_are_refused(sines):
    X, _, y = sines
    model = sm.LapRLSRegressor(gamma_A=0.1, gamma_I=0.1)
    for c in (np.zeros(120), np.full(120, -1.0), np.full(120, np.nan), np.ones(119), np.full(120, 1e-310)):
        with pytest.raises(InvalidInputError, match="weight"):
            model.fit(X, y, sample_weight=c)
    with pytest.raises(InvalidInputError, match="not exchangeable"):
        model.fit(X, y, sample_weight=np.arange(120.0) + 1.0).conformal_intervals()


@pytest.mark.parametrize("params", [{}, {"functions": Landmarks(60)}, {"functions": Eigenvectors(40)}])
def test_all_functions_predict_what_it_fits(sines, params):
    X, truth, y = sines
    model = sm.LapRLSRegressor(gamma_A=1e-3, gamma_I=1e-3, kernel=RBF(1.0), **params).fit(X, y)
    assert model.result_.certificate.is_optimal(1e-6)
    if not isinstance(params.get("functions"), Eigenvectors):
        np.testing.assert_allclose(model.predict(X), model.transduction_, atol=1e-9)
    assert model.score(X, truth) > 0.6


def test_a_graph_helps_where_targets_are_smooth_along_it(rng):
    t = np.sort(rng.uniform(2.0, 12.0, 400))
    X = np.column_stack([t * np.cos(t), t * np.sin(t)]) + 0.05 * rng.normal(size=(400, 2))  # a spiral
    y = np.full(400, np.nan)
    known = rng.permutation(400)[:30]
    y[known] = t[known]
    scores = [
        sm.LapRLSRegressor(
            gamma_A=1e-4, gamma_I=gamma_I, kernel=RBF(1.0), laplacian=Laplacian(power=2, normalized="auto")
        )
        .fit(X, y)
        .score(X, t)
        for gamma_I in (0.0, 0.1)
    ]
    assert scores[1] > 0.9
    assert scores[0] < 0.85


def test_left_out_predictions_are_those_of_refits(sines):
    X, _, y = sines
    both = np.column_stack([y, 3.0 - 2.0 * y])
    for fit_intercept in (True, False):
        weights = {"kernel": RBF(1.0), "gamma_A": 0.05, "gamma_I": 0.2, "fit_intercept": fit_intercept}
        model = sm.LapRLSRegressor(**weights).fit(X, both)
        for i, row in enumerate(np.flatnonzero(~np.isnan(y))[:5]):
            without = both.copy()
            without[row] = np.nan
            expected = sm.LapRLSRegressor(**weights).fit(X, without).transduction_[row]
            np.testing.assert_allclose(model.leave_one_out_[i], expected, atol=1e-9)


def test_several_outputs_are_as_many_fits(sines):
    X, _, y = sines
    both = np.column_stack([y, np.cos(y), y**2])
    model = sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, both)
    assert len(model.result_) == 3
    assert model.predict(X[:4]).shape == (4, 3)
    assert model.transduction_.shape == (120, 3)
    intervals = model.conformal_intervals(level=0.8)
    assert intervals.shape == (120, 2, 3)
    for k in range(3):
        one = sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, both[:, k])
        np.testing.assert_allclose(model.predict(X)[:, k], one.predict(X), atol=1e-10)
        np.testing.assert_allclose(intervals[:, :, k], one.conformal_intervals(level=0.8), atol=1e-9)
    column = sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, y[:, None])
    assert column.predict(X).shape == (120, 1)
    np.testing.assert_allclose(column.predict(X)[:, 0], sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, y).predict(X))


@pytest.mark.parametrize(("scale", "offset"), [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e8), (1e6, -1e9)])
def test_units_and_levels_of_the_targets_change_nothing(sines, scale, offset):
    X, _, y = sines
    plain = sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, y)
    other = sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, scale * y + offset)
    assert other.result_.certificate.is_optimal(1e-6)
    np.testing.assert_allclose(other.predict(X), scale * plain.predict(X) + offset, rtol=1e-12, atol=1e-9 * scale)


def test_score_is_that_of_the_labelled_samples(sines):
    X, truth, y = sines
    model = sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, y)
    known = ~np.isnan(y)
    assert model.score(X, y) == pytest.approx(r2_score(y[known], model.predict(X)[known]))
    weight = np.arange(120.0)
    expected = r2_score(y[known], model.predict(X)[known], sample_weight=weight[known])
    assert model.score(X, y, weight) == pytest.approx(expected)
    assert model.score(X, truth) == pytest.approx(r2_score(truth, model.predict(X)))


def test_scikit_learns_tools_take_it(sines):
    X, truth, _ = sines
    scores = cross_val_score(sm.LapRLSRegressor(gamma_A=1e-3, gamma_I=1e-3, kernel=RBF(1.0)), X, truth, cv=4)
    assert scores.min() > 0.8
    pipeline = make_pipeline(StandardScaler(), sm.LapRLSRegressor(gamma_A=1e-3))
    search = GridSearchCV(pipeline, {"laprlsregressor__gamma_I": [0.0, 1e-3, 1e3]}, cv=3).fit(X, truth)
    assert search.best_params_["laprlsregressor__gamma_I"] < 1e3


def test_pickles_are_small_and_predict_alike(sines):
    X, _, y = sines
    model = sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, y)
    stored = pickle.dumps(model)
    assert len(stored) < 8 * 120 * 120 / 2, "an n x n matrix is kept"
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.predict(X + 0.01), model.predict(X + 0.01))
    np.testing.assert_array_equal(again.conformal_intervals(), model.conformal_intervals())


def test_a_precomputed_kernel_predicts_alike(sines):
    X, _, y = sines
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    plain = sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, y, graph=W)
    given = sm.LapRLSRegressor(kernel="precomputed").fit(sm.kernels.gram(X, gamma=1.0), y, graph=W)
    np.testing.assert_allclose(given.predict(sm.kernels.gram(X + 0.1, X, gamma=1.0)), plain.predict(X + 0.1), atol=1e-9)
    with pytest.raises(InvalidInputError, match="ConformalRidge"):
        given.conformal_intervals()


def test_intervals_are_where_refits_fit_no_worse_than_the_level(sines):
    """The studentised residuals of a literal augmented fit, at both ends of an interval."""
    X, _, y = sines
    weights = {"kernel": RBF(1.0), "gamma_A": 0.05, "gamma_I": 0.2, "graph": 6}
    low, high = sm.LapRLSRegressor(**weights).fit(X, y).conformal_intervals(level=0.8).T
    known = np.flatnonzero(~np.isnan(y))

    def p_value(j, t):
        augmented = y.copy()
        augmented[j] = t
        rows = np.sort(np.append(known, j))
        model = sm.LapRLSRegressor(**weights).fit(X, augmented)
        fitted = augmented[rows] - model.transduction_[rows]
        # The geometric mean of both residuals is the fitted one over the root of 1 - h_i.
        scores = np.sqrt(np.abs(fitted * (augmented[rows] - model.leave_one_out_)))
        own = scores[rows == j][0]
        return (scores >= own - 1e-9).sum() / len(rows)

    for j in np.flatnonzero(np.isnan(y))[:3]:
        step = 1e-4 * (high[j] - low[j])
        assert p_value(j, low[j] + step) > 0.2
        assert p_value(j, high[j] - step) > 0.2
        assert p_value(j, low[j] - step) <= 0.2
        assert p_value(j, high[j] + step) <= 0.2


def test_intervals_cover(rng):
    covered, known_alone = [], True
    for _ in range(40):
        X = rng.uniform(0.0, 3.0, size=(90, 1))
        truth = np.sin(2.0 * X[:, 0]) + (0.1 + 0.3 * X[:, 0]) * rng.normal(size=90)
        y = np.where(np.arange(90) < 30, truth, np.nan)
        model = sm.LapRLSRegressor(gamma_A=0.05, gamma_I=0.05, kernel=RBF(1.0)).fit(X, y)
        low, high = model.conformal_intervals(level=0.8).T
        covered.append(((low <= truth) & (truth <= high))[30:].mean())
        known_alone &= bool((low[:30] == truth[:30]).all() and (high[:30] == truth[:30]).all())
    assert 0.76 <= np.mean(covered) <= 0.87  # at most 1 / 31 above the level; a standard error is .013
    assert known_alone


def test_new_samples_of_a_supervised_model_get_intervals(sines):
    X, _, y = sines
    new = np.isnan(y)
    model = sm.LapRLSRegressor(gamma_I=0.0, kernel=RBF(1.0)).fit(X, y)
    np.testing.assert_allclose(model.conformal_intervals(X[new]), model.conformal_intervals()[new], atol=1e-10)
    with pytest.raises(InvalidInputError, match="no nodes of the graph"):
        sm.LapRLSRegressor().fit(X, y).conformal_intervals(X[:2])
    with pytest.raises(InvalidInputError, match="landmarks"):
        sm.LapRLSRegressor(functions=Landmarks(30)).fit(X, y).conformal_intervals()
    for level in (0.0, 1.0, "high", np.nan):
        with pytest.raises(InvalidInputError, match="level="):
            model.conformal_intervals(level=level)


def test_one_label_is_a_constant_without_left_out_prediction(sines):
    X = sines[0]
    alone = np.full(120, np.nan)
    alone[7] = 2.5
    model = sm.LapRLSRegressor().fit(X, alone)
    np.testing.assert_allclose(model.predict(X), 2.5)
    assert np.isnan(model.leave_one_out_).all()
    assert np.isinf(model.conformal_intervals(level=0.5)[0]).all()
    with pytest.raises(InvalidInputError, match="two labelled samples"):
        model.score(X, alone)


def test_all_labelled_equal_targets_and_duplicates_are_answered(sines):
    X, truth, _ = sines
    assert sm.LapRLSRegressor().fit(X, truth).result_.certificate.is_optimal(1e-9)
    equal = sm.LapRLSRegressor().fit(X, np.full(120, 0.1))
    np.testing.assert_allclose(equal.predict(X), 0.1)
    assert equal.result_.status is sm.Status.OPTIMAL
    twice = np.repeat(X[:40], 3, axis=0)
    assert sm.LapRLSRegressor().fit(twice, np.tile([0.0, np.nan, 1.0], 40)).result_.certificate.is_optimal(1e-6)


@pytest.mark.parametrize("params", [{"gamma_A": 1e-10}, {"gamma_A": 1e10}, {"gamma_I": 1e10}, {"gamma_I": 1e-10}])
def test_extreme_weights_are_answered_with_a_proof(sines, params):
    X, _, y = sines
    assert sm.LapRLSRegressor(kernel=RBF(1.0), **params).fit(X, y).result_.certificate.is_optimal(1e-6)


def test_an_unlabelled_component_is_warned_of(rng):
    X = np.concatenate([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 100.0])
    y = np.where(np.arange(60) < 10, X[:, 0], np.nan)
    with pytest.warns(DisconnectedGraphWarning, match="component"):
        sm.LapRLSRegressor().fit(X, y)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, InvalidTypeError, "requires y to be passed"),
        (np.full(120, np.nan), InvalidInputError, "no labelled sample"),
        (np.full(120, np.inf), InvalidInputError, "contains infinity"),
        (np.full(120, 1e200), InvalidInputError, "too large for squares"),
        (np.arange(119.0), InvalidInputError, "X has 120 rows, but y has 119 targets"),
        (["a"] * 120, InvalidTypeError, "pass numbers"),
        (np.full(120, 1j), InvalidTypeError, "pass numbers"),
        (np.array([object()] * 120), InvalidTypeError, "no number"),
        (np.ones((120, 2, 2)), InvalidInputError, r"shape \(120, 2, 2\)"),
        (np.where(np.arange(240).reshape(120, 2) == 5, np.nan, 1.0), InvalidInputError, r"y\[2\].*some of its outputs"),
    ],
)
def test_targets_that_make_no_sense_are_refused(sines, y, error, message):
    with pytest.raises(error, match=message):
        sm.LapRLSRegressor().fit(sines[0], y)


def test_missing_targets_in_every_spelling_are_unlabelled(sines):
    X, _, y = sines
    plain = sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, y).predict(X)
    objects = y.astype(object)
    objects[np.isnan(y)] = None
    masked = np.ma.masked_array(np.nan_to_num(y, nan=-9.0), mask=np.isnan(y))
    for other in (objects, objects.tolist(), masked, y.astype(np.float32).astype(float) * 0 + y):
        np.testing.assert_array_equal(sm.LapRLSRegressor(kernel=RBF(1.0)).fit(X, other).predict(X), plain)
