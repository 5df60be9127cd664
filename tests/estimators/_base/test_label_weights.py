"""sample_weight and class_weight: repeated labels, no weights, certificates, CVXPY, and what makes no sense."""

import warnings

import all_estimators
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

import specmargin as sm
from specmargin import solvers
from specmargin.estimators._search.candidates import folds_of
from specmargin.exceptions import SolverError
from specmargin.kernels import RBF
from specmargin.objectives import LapSVM
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.held_out.calibration import calibrated_scale
from specmargin.objectives.intercept import hinge_intercept, hinge_intercepts
from specmargin.proofs.translation import record_of
from specmargin.solvers import Search, Solver
from specmargin.solvers.parts import SEARCHES as METHODS
from specmargin.solvers.spectrum.spectral_ridge import choose_penalty

LOSSES = ("hinge", "squared_hinge", "huber_hinge", "squared")
losses = pytest.mark.parametrize("loss", LOSSES)


def case(seed=0, n=30, l=12):
    """A kernel, a Laplacian and noisy labels of two classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) + np.where(np.arange(n) % 2, 0.6, -0.6)[:, None]
    y = np.where(np.arange(n) < l, np.arange(n) % 2, -1)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=4)).toarray()
    return sm.kernels.gram(X, gamma=0.7), L, sm.encode_labels(y), rng


def answers(obj):
    """Answers of all solvers that take the loss."""
    by = {"factorized": solvers.factorized(obj)}
    if obj.loss.smooth:
        by |= {"newton": solvers.newton(obj), "pcg": solvers.pcg(obj)}
    return by


@losses
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_solvers_and_cvxpy_find_the_same_optimum(loss, fit_intercept):
    K, L, labels, rng = case()
    weighted = labels.weighted(rng.uniform(0.2, 3.0, 12))
    obj = LapSVM(K, L, weighted, loss=loss, gamma_A=0.1, gamma_I=0.3, fit_intercept=fit_intercept)
    by = answers(obj)
    by |= {"dual": sm.solve(sm.problems.lapsvm_dual(obj)), "primal": sm.solve(sm.problems.lapsvm_primal(obj))}
    best = by["factorized"].certificate.primal_objective
    for name, result in by.items():
        assert result.certificate.is_optimal(1e-6), name
        assert obj.value(result.variables) == pytest.approx(best, rel=1e-6), name
        assert obj.certificate(result.variables, result.variables).is_optimal(1e-6), name
    # Not the one without weights.
    assert not np.allclose(
        solvers.factorized(obj.with_(labels=labels)).variables["f"], by["dual"].variables["f"], atol=1e-3
    )


def test_a_loss_of_no_pieces_goes_through_cvxpy():
    K, L, labels, rng = case()
    obj = LapSVM(K, L, labels.weighted(rng.uniform(0.2, 3.0, 12)), loss="smooth_hinge", gamma_A=0.1, gamma_I=0.3)
    dual, primal = sm.solve(sm.problems.lapsvm_dual(obj)), sm.solve(sm.problems.lapsvm_primal(obj))
    assert dual.certificate.is_optimal(1e-6)
    assert primal.certificate.primal_objective == pytest.approx(dual.certificate.primal_objective, rel=1e-6)


@pytest.mark.parametrize(("B", "C"), [(1.5, 0.5), (0.7, 0.5), (np.inf, 10.0)])
def test_relative_margins_with_weights(B, C):
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.25, random_state=0)
    y, rng = sm.hide_labels(truth, n_labeled=14, random_state=0), np.random.default_rng(0)
    labels, known = sm.encode_labels(y), np.flatnonzero(y != -1)
    K = sm.kernels.gram(X[known], gamma=1.0)
    c = rng.integers(1, 4, 14)
    rows = np.repeat(np.arange(14), c)
    copied = sm.objectives.RMM(K[np.ix_(rows, rows)], sm.encode_labels(y[known][rows], unlabeled=7), C=C, B=B)
    obj = sm.objectives.RMM(K, labels.weighted(c), C=C, B=B)
    ours, theirs = (solvers.relative_margin(one) for one in (obj, copied))
    assert ours.certificate.primal_objective == pytest.approx(theirs.certificate.primal_objective, rel=1e-9)
    np.testing.assert_allclose(ours.variables["f"][rows], theirs.variables["f"], atol=1e-7)
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=15, normalized=False)
    for weights in (c, 10.0 ** rng.uniform(-8, 8, 14), np.full(14, 1e-8)):
        labeled = labels.weighted(weights)
        over = sm.objectives.SpectrumMargin(spectrum, labeled, C=C, B=B)
        fixed = over.with_(delta=np.arange(15.0, 0.0, -1.0))
        obj = sm.objectives.RMM(K, labeled, C=C, B=B)
        by = [solvers.relative_margin(obj), *(solvers.spectrum_margin(one) for one in (over, fixed))]
        assert all(result.certificate.is_optimal(1e-8) for result in by)
        if weights.max() > 10:
            continue
        built = [sm.problems.rmm(obj), sm.problems.storm(over, "compact"), sm.problems.storm(fixed, "literal")]
        for one, result in zip(built, by, strict=True):
            found = sm.solve(one).certificate.primal_objective
            assert found == pytest.approx(result.certificate.primal_objective, rel=1e-6)
            assert sm.certify(one.objective, result).is_optimal(1e-6)
    primal = sm.solve(sm.problems.storm(sm.objectives.SpectrumMargin(spectrum, labels.weighted(c), C=C, B=B), "primal"))
    by = solvers.spectrum_margin(sm.objectives.SpectrumMargin(spectrum, labels.weighted(c), C=C, B=B))
    assert primal.certificate.primal_objective == pytest.approx(by.certificate.primal_objective, rel=1e-6)
    with pytest.raises(TypeError, match="no proof record"):
        record_of(fixed, by)


@losses
def test_whole_weights_are_repeated_labels(loss):
    K, L, labels, rng = case(1)
    c = rng.integers(1, 4, 12)
    obj = LapSVM(K, L, labels.weighted(c), loss=loss, gamma_A=0.1, gamma_I=0.3)
    # Copies are samples without edges: the functions are the same, and their norms.
    rows = np.concatenate([np.arange(30), np.repeat(labels.labeled, c - 1)])
    y = np.zeros(len(rows))
    y[:12], y[30:] = labels.sign, np.repeat(labels.sign, c - 1)
    copied = LapSVM(
        K[np.ix_(rows, rows)],
        np.pad(L, (0, len(rows) - 30)),
        sm.encode_labels(y, unlabeled=0),
        loss=loss,
        gamma_A=0.1,
        gamma_I=0.3,
    )
    ours, theirs = solvers.factorized(obj), solvers.factorized(copied)
    assert ours.certificate.primal_objective == pytest.approx(theirs.certificate.primal_objective, rel=1e-9)
    np.testing.assert_allclose(ours.variables["f"], theirs.variables["f"][:30], atol=1e-7)


@losses
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_far_weights_are_certified(loss, scale):
    K, L, labels, rng = case(2)
    for c in (np.full(12, scale), 10.0 ** rng.uniform(-8, 8, 12)):
        obj = LapSVM(K, L, labels.weighted(c), loss=loss, gamma_A=0.1, gamma_I=0.3)
        result = solvers.factorized(obj)
        assert result.certificate.is_optimal(1e-8)
        assert result.certificate.gap >= 0


def test_hinge_intercepts_with_weights_are_those_of_repeated_samples():
    rng = np.random.default_rng(0)
    for _ in range(200):
        y, f = np.where(rng.random(7) < 0.5, 1.0, -1.0), rng.standard_normal(7).round(1)
        c = rng.integers(1, 4, 7)
        expected = hinge_intercepts(np.repeat(y, c), np.repeat(f, c))
        assert hinge_intercepts(y, f, c.astype(float)) == pytest.approx(expected)
        b = hinge_intercept(y, f, c / 7.0)
        around = b + np.linspace(-3, 3, 601)
        losses = (c * np.maximum(1.0 - y * (f + around[:, None]), 0.0)).sum(axis=1)
        assert (c * np.maximum(1.0 - y * (f + b), 0.0)).sum() <= losses.min() + 1e-12


MAKERS = {
    "LapSVM": sm.LapSVM(gamma_A=1.0, gamma_I=0.2, kernel=RBF(2.0)),
    "LapSVM, pcg": sm.LapSVM(gamma_A=1.0, gamma_I=0.2, loss="squared_hinge", kernel=RBF(2.0), solver="pcg"),
    "LapRLS": sm.LapRLS(gamma_A=1.0, gamma_I=0.2, kernel=RBF(2.0)),
    "SpectralRidge": sm.SpectralRidge(q=20, penalty=0.1),
    "RMM": sm.RMM(C=0.5, kernel=RBF(2.0)),
    "KTA": sm.KTA(C=0.3, q=20),
    "SpectralGraphTransducer": sm.SpectralGraphTransducer(q=20, tol=1e-9),
    "STORM": sm.STORM(C=0.3, q=20),
    "SpectralKernelSVM by CVXPY": sm.SpectralKernelSVM(C=0.3, q=20, solver="CLARABEL"),
    "QuasiNewtonS3VM": sm.S3VM(C=0.3, balance=None, search="quasi_newton"),
    "MultiSwitchTSVM": sm.S3VM(C=0.3, balance=None, search="multi_switch"),
    "CCCPS3VM, ovo": sm.S3VM(C=0.3, balance=None, multi_class="ovo", search="cccp"),
}
makers = pytest.mark.parametrize("name", MAKERS)


@makers
def test_a_label_of_weight_zero_is_no_label(name, blobs):
    X, _, y = blobs
    clf = MAKERS[name].set_params(unlabeled="?")
    weights, hidden = np.ones(len(y)), y.copy()
    out = np.flatnonzero(y != "?")[[0, 4]]
    weights[out], hidden[out] = 0.0, "?"
    np.testing.assert_array_equal(clf.fit(X, y, sample_weight=weights).scores_, clf.fit(X, hidden).scores_)


@makers
def test_class_weights_are_the_sample_weights_that_they_mean(name, blobs):
    X, truth, _ = blobs
    y = np.where(np.isin(np.arange(120), [0, 1, 2, 3, 40, 41, 80]), truth, "?")
    clf = MAKERS[name].set_params(unlabeled="?", class_weight="balanced")
    balanced = clf.fit(X, y).scores_
    given = np.select([y == "a", y == "b", y == "c"], [7 / 12, 7 / 6, 7 / 3])
    both = clf.set_params(class_weight={"c": 2.0}).fit(X, y, sample_weight=np.where(y == "c", given / 2, given)).scores_
    np.testing.assert_array_equal(clf.set_params(class_weight=None).fit(X, y, sample_weight=given).scores_, balanced)
    np.testing.assert_allclose(both, balanced, atol=1e-9)
    assert not np.allclose(clf.fit(X, y).scores_, balanced, atol=1e-3)


@makers
def test_left_out_decisions_have_weights_too(name, moons):
    X, _, y = moons
    known, rng = np.flatnonzero(y != -1), np.random.default_rng(0)
    weights = np.ones(len(y))
    weights[known] = rng.uniform(0.3, 3.0, len(known))
    clf = MAKERS[name].set_params(unlabeled=-1)
    if "class_balance" in clf.get_params():
        clf.set_params(class_balance=None)
    clf.fit(X, y, sample_weight=weights)
    T = clf.calibration_
    if "pcg" in name:
        clf = clone(clf).set_params(solver="auto")
    dealt = known[np.argsort(y[known] != y[known[0]], kind="stable")]  # the class of the first label first
    by_folds = "pcg" in name or not name.startswith(("Lap", "SpectralRidge"))
    folds = [dealt[k::5] for k in range(5)] if by_folds else list(known[:, None])
    held = []
    for fold in folds:
        others = y.copy()
        others[fold] = -1
        held.append(clf.fit(X, others, sample_weight=weights).scores_[fold])
    rows = np.concatenate(folds)
    expected = calibrated_scale(np.concatenate(held), np.where(y[rows] == 1, 1.0, -1.0))
    assert pytest.approx(expected, rel=1e-4) == T


def test_the_problem_that_is_built_has_the_weights(moons):
    X, _, y = moons
    clf = sm.LapSVM(gamma_A=0.05, gamma_I=0.2, class_weight={0: 3.0}, kernel=RBF(2.0))
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    built = clf.build_problem(X, y, sample_weight=weights)
    result = clf.fit(X, y, sample_weight=weights).result_
    assert sm.solve(built).certificate.primal_objective == pytest.approx(result.certificate.primal_objective, rel=1e-6)
    assert sm.certify(built.objective, result).is_optimal(1e-8)


def test_what_weights_leave_without_a_proof_is_refused(moons):
    X, _, y = moons
    for clf in (sm.LapRLS(class_weight={0: 2.0}, kernel=RBF(2.0)), sm.SpectralRidge(q=20, class_weight={0: 2.0})):
        with pytest.raises(ValueError, match="not exchangeable"):
            clf.fit(X, y).conformal_sets()
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=5, normalized=False)
    heavy = sm.encode_labels(y).weighted(np.full(8, 2.0))
    with pytest.raises(ValueError, match="labels have weights"):
        sm.objectives.Alignment(spectrum, heavy)
    clf = sm.LapSVM(class_weight={0: 2.0}, kernel=RBF(2.0))
    with pytest.raises(TypeError, match="no proof record"):
        record_of(clf.build_problem(X, y).objective, clf.fit(X, y).result_)


def test_spectral_ridge_weighs_what_chooses_its_penalty(moons):
    X, truth, _ = moons
    y = sm.hide_labels(truth, per_class=8, random_state=0)
    weights = np.where(y == 1, 20.0, 0.1)
    clf = sm.SpectralRidge(q=20).fit(X, y, sample_weight=weights)
    labels = sm.encode_labels(y).weighted(weights[y != -1])
    obj = sm.objectives.SpectralRidge(clf.spectrum_, labels, clf.delta_)
    assert clf.penalty_ == choose_penalty(obj)
    np.testing.assert_array_equal(
        clf.result_.variables["f"], solvers.spectral_ridge(obj.with_(penalty=clf.penalty_)).variables["f"]
    )
    built = sm.SpectralRidge(q=20).build_problem(X, y, sample_weight=weights)
    assert sm.certify(built.objective, clf.result_).is_optimal(1e-9)


# Searches

SMALL = {
    "kernel": [RBF(2.0)],
    "graph__n_neighbors": [6],
    "laplacian__power": [1],
    "gamma_I": ["0 gamma_A", "10 gamma_A"],
    "gamma_A": [0.03, 1.0],
}
FIVE = {"graph": [5], "C": [0.3, 3.0], "q": [12]}
PRECISE = Solver(tol=1e-9)
SEARCHES = {
    "LapRLS": sm.LabelSearch(sm.LapRLS(), grid=SMALL),
    "LapRLS, folds": sm.LabelSearch(sm.LapRLS(), grid=SMALL, criterion="sq", cv=2),
    "LapSVM": sm.LabelSearch(sm.LapSVM(loss="squared_hinge"), grid=SMALL),
    "LapSVM, hinge": sm.LabelSearch(
        estimator=sm.LapSVM(loss="hinge"), grid={**SMALL, "gamma_A": [1.0, 4.0]}, criterion="01"
    ),
    "STORM": sm.LabelSearch(estimator=sm.STORM(solver=PRECISE), grid={**FIVE, "B": [1.3, np.inf]}),
    "KTA": sm.LabelSearch(estimator=sm.KTA(solver=PRECISE), grid={**FIVE, "B": [1.3]}, criterion="sq", cv=2),
}
searches = pytest.mark.parametrize("name", SEARCHES)


def weighted_data(data, request):
    """Samples, labels and uneven weights of two classes or three."""
    X, _, y = request.getfixturevalue(data)
    marker = -1 if data == "moons" else "?"
    weights = np.full(len(y), np.nan)
    weights[y != marker] = np.random.default_rng(1).uniform(0.1, 4.0, int((y != marker).sum()))
    return X, y, marker, weights


@searches
@pytest.mark.parametrize("data", ["moons", "blobs"])
def test_searches_weigh_what_they_leave_out(name, data, request):
    """Every number is that of refits without the left-out labels, and of a mean by weights."""
    X, y, marker, weights = weighted_data(data, request)
    search = clone(SEARCHES[name]).set_params(estimator__unlabeled=marker, estimator__class_balance=None)
    search.fit(X, y, sample_weight=weights)
    at = np.flatnonzero(y != marker)
    labels = sm.encode_labels(y, marker)
    folds = folds_of("loo" if "Lap" in name and search.cv == "auto" else search.cv, X, labels)
    tested = np.concatenate([fold.test for fold in folds])
    graph = None
    if "Lap" not in name:  # whose estimator would take the eigenvectors of fewer neighbours
        graph = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=12, normalized=True)
    for k in (0, len(search.cv_results_["params"]) - 1):
        model, held = type(search.best_estimator_)(**search.cv_results_["params"][k]), []
        for left, test in folds:
            hidden = y.copy()
            hidden[at[left]] = marker
            held.append(
                model.fit(
                    X,
                    hidden,
                    graph=graph if search.cv_results_["params"][k].get("gamma_I") != 0 else None,
                    sample_weight=weights,
                ).scores_[at[test]]
            )
        f, sign, c = np.concatenate(held), labels.sign[tested], weights[at[tested]]
        expected = {
            "nll": np.average(loo.log_losses(f, sign), weights=c),
            "sq": np.average(loo.squares(f, sign), weights=c),
            "01": np.average(loo.wrong(f, sign) + 1e-3 * loo.log_losses(f, sign), weights=c),
        }
        for criterion, value in expected.items():
            assert search.cv_results_[criterion][k] == pytest.approx(value, rel=1e-3, abs=1e-4), criterion
    values = -search.cv_results_["mean_test_score"]
    assert search.best_index_ == (values <= values.min() * (1.0 + 1e-9)).argmax()  # the first of equally good ones


@searches
def test_a_search_hands_its_weights_on(name, moons):
    X, _, y = moons
    weights = np.full(len(y), np.nan)
    weights[y != -1] = np.random.default_rng(1).uniform(0.1, 4.0, 8)
    search = clone(SEARCHES[name]).set_params(
        estimator__unlabeled=-1, estimator__class_balance="shrunk", estimator__class_weight={1: 3.0}
    )
    search.fit(X, y, sample_weight=weights)
    assert search.best_params_["class_weight"] == {1: 3.0}
    again = type(search.best_estimator_)(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(again.scores_, search.scores_, atol=1e-6)
    both = np.where(y == 1, 3.0, 1.0) * weights
    apart = type(search.best_estimator_)(**{**search.best_params_, "class_weight": None}).fit(X, y, sample_weight=both)
    np.testing.assert_allclose(apart.scores_, search.scores_, atol=1e-6)
    base = search.baseline_.get_params(deep=False)
    expected = type(search.baseline_)(**{**base, "class_weight": None}).fit(X, y, sample_weight=both)
    np.testing.assert_allclose(expected.scores_, search.baseline_.scores_, atol=1e-6)
    plain = type(search.baseline_)(**{**base, "class_weight": None}).fit(X, y)
    assert np.abs(plain.scores_ - search.baseline_.scores_).max() > 1e-3
    search.set_params(estimator__class_weight=None)
    scores = search.fit(X, y).scores_
    for weights in (np.ones(len(y)), np.where(y == -1, np.nan, 1.0)):
        np.testing.assert_array_equal(search.fit(X, y, sample_weight=weights).scores_, scores)
        assert "class_weight" not in search.best_params_


@searches
def test_a_label_of_weight_zero_is_not_left_out_either(name, blobs):
    X, _, y = blobs
    search = clone(SEARCHES[name]).set_params(estimator__unlabeled="?", estimator__class_weight="balanced")
    weights, hidden = np.ones(len(y)), y.copy()
    out = np.flatnonzero(y != "?")[[0]]
    weights[out], hidden[out] = 0.0, "?"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two labels of a class are few
        ours, theirs = search.fit(X, y, sample_weight=weights).cv_results_, search.fit(X, hidden).cv_results_
    for criterion in ("nll", "sq", "01"):
        np.testing.assert_array_equal(ours[criterion], theirs[criterion])


@pytest.mark.parametrize("several", [False, True])
def test_numbers_with_weights_are_searched(several):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (60, 1))
    z = np.column_stack([np.sin(X[:, 0]), X[:, 0]]) + 0.2 * rng.normal(size=(60, 2))
    known = np.arange(60) < 12
    z[~known] = np.nan
    y, weights = z if several else z[:, 0], np.where(known, rng.uniform(0.1, 4.0, 60), np.nan)
    search = sm.LabelSearch(sm.LapRLSRegressor(), grid=SMALL).fit(X, y, sample_weight=weights)
    for params, found in zip(search.cv_results_["params"], search.cv_results_["sq"], strict=True):
        left_out = sm.LapRLSRegressor(**params).fit(X, y, sample_weight=weights).leave_one_out_
        squares = (left_out - y[known]) ** 2
        squares = squares.mean(axis=1) if several else squares
        assert found == pytest.approx(np.average(squares, weights=weights[known]), rel=1e-8)
    model = sm.LapRLSRegressor(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.transduction_, search.transduction_)
    at = np.where(search.cv_results_["supervised"], search.cv_results_["sq"], np.inf).argmin()
    base = sm.LapRLSRegressor(**search.cv_results_["params"][at]).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(base.transduction_, search.baseline_.transduction_)
    plain = search.fit(X, y).transduction_
    np.testing.assert_array_equal(search.fit(X, y, sample_weight=np.ones(60)).transduction_, plain)
    with pytest.raises(ValueError, match="sample_weight"):
        search.fit(X, y, sample_weight=-np.ones(60))


@pytest.mark.parametrize(
    "clf", [sm.LapSVM(gamma_A=0.1, gamma_I=1.0, kernel=RBF(2.0)), sm.SpectralRidge(q=15, penalty=0.01)]
)
def test_weights_at_both_ends_of_what_squares_can_hold_claim_no_proof(clf):
    """The last rounding of a pivot decides whether a factorisation breaks down, which is an error, or not."""
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.15, random_state=0)
    y = sm.hide_labels(truth, per_class=6, random_state=0)
    try:
        said = clf.fit(X, y, sample_weight=np.where(np.arange(60) % 2, 1e-150, 1e150)).result_.status.name
    except SolverError as error:
        said = str(error)
    assert "weights that are less far apart" in said or said == "UNPROVED"


def _parameters(cls):
    """Return the names of the parameters of an estimator, or of the one that a search chooses for."""
    params = cls().get_params()
    return {name.removeprefix("estimator__") for name in params}


def test_fit_says_who_takes_weights():
    for name in all_estimators.NAMES:
        cls = getattr(sm, name)
        takes = has_fit_parameter(cls, "sample_weight")
        assert takes == ("class_weight" in _parameters(cls) or "Regressor" in name), name


@pytest.mark.parametrize("search", METHODS)
def test_whole_weights_are_repeated_labels_of_an_s3vm(search):
    n = 16 if search == "branch_and_bound" else 60
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.2, random_state=1)
    y = sm.hide_labels(truth, per_class=4, random_state=0)
    known, rng = np.flatnonzero(y != -1), np.random.default_rng(0)
    weights = np.ones(n)
    weights[known] = rng.integers(1, 5, len(known))
    more = np.repeat(known, weights[known].astype(int) - 1)
    clf = sm.S3VM(C=0.4, balance=0.1, search=Search(search, tol=1e-8 if search == "continuation" else None))
    ours = clf.fit(X, y, sample_weight=weights)
    value, f, C_star = ours.result_.certificate.primal_objective, ours.scores_, ours.C_star_
    theirs = clf.fit(np.concatenate([X, X[more]]), np.concatenate([y, y[more]]))
    assert pytest.approx(theirs.C_star_) == C_star
    assert theirs.result_.certificate.primal_objective == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(f, theirs.scores_[:n], atol=2e-3)
    assert abs(clf.fit(X, y).result_.certificate.primal_objective - value) > 0.01 * value


def test_the_objective_of_an_s3vm_is_the_literal_sum():
    X, y = np.random.default_rng(0).standard_normal((9, 2)), np.array([0, 1, 0, 1, -1, -1, -1, -1, -1])
    c = np.array([0.5, 2.0, 1.0, 3.0])
    for loss in ("hinge", "squared_hinge", "smooth_hinge"):
        obj = sm.objectives.S3VM(X, sm.encode_labels(y).weighted(c), loss, C=2.0, C_star=0.3, intercept="regularized")
        w = np.array([0.3, -0.7, 0.2])
        f = obj.decisions_at(w)
        V, U = sm.losses.get_loss(loss), obj.unlabeled_loss
        literal = 0.5 * w @ w + 2.0 * sum(c * V.value(np.array([-1, 1, -1, 1]) * f[:4])) + 0.3 * U.value(f[4:]).sum()
        assert obj.value({"w": w}) == pytest.approx(literal, rel=1e-12)
        steps = 1e-6 * np.eye(3)
        slopes = [(obj.value_at(w + step) - obj.value_at(w - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(obj.gradient(w), slopes, atol=1e-5)
        np.testing.assert_allclose(obj.value_and_gradient(w)[1], slopes, atol=1e-5)
        with pytest.raises(TypeError, match="no proof record"):
            record_of(obj, obj.result(w, solver="none"))
        alone = obj.with_(C_star=0.0)
        assert sm.solvers.weighted_svm(alone.guessed(np.zeros(5), 0.0)).certificate.is_optimal(1e-6)
