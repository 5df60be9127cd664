"""The parameter `model`: an estimator whose program its user changed learns, predicts and proves the changed one.

The reference is the same program written in CVXPY without the package's builders, solved with tolerances of 1e-10; the
predictions of new samples are those of the problem that is built and changed by hand.
"""

import pickle
from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import specmargin as sm
from specmargin import problems
from specmargin.exceptions import InfeasibleError

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
pytestmark = pytest.mark.filterwarnings("ignore::specmargin.exceptions.ClassShareWarning")


def difference(f, samples, mean=cp.sum):
    """Return the difference of the mean decisions of two halves."""
    group = samples[:, 0] > np.median(samples[:, 0])
    return mean(f[group]) / group.sum() - mean(f[~group]) / (~group).sum()


def fair(built, at_most=0.05):
    return built.with_(
        constraints={"fair": cp.abs(difference(built.expressions["decisions"], built.samples)) <= at_most}
    )


def balanced(built, share=0.5):
    f = built.expressions["decisions"]
    return built.with_(constraints={"shares": cp.sum(f) / f.shape[0] == 2 * share - 1})


def sparse(built, weight=0.05):
    return built.with_(terms={"sparse": weight * cp.norm1(built.expressions["decisions"])})


def nothing(built):
    return built


MODELS = {
    "LapSVM": (sm.LapSVM, {"gamma_A": 0.1, "gamma_I": 1.0, "kernel": 4.0}),
    "LapSVM of landmarks": (sm.LapSVM, {"gamma_A": 0.1, "gamma_I": 1.0, "kernel": 4.0, "functions": "landmarks"}),
    "LapSVM of eigenvectors": (sm.LapSVM, {"gamma_A": 0.1, "gamma_I": 1.0, "functions": "eigenvectors"}),
    "LapRLS": (sm.LapRLS, {"gamma_A": 0.1, "gamma_I": 1.0, "kernel": 4.0}),
    "STORM": (sm.STORM, {"C": 10.0, "q": 20}),
    "STOAM": (sm.STOAM, {"C": 10.0, "q": 20}),
    "MKL": (sm.MKL, {"C": 10.0, "q": 20, "B": "auto"}),
    "KTA": (sm.KTA, {"C": 10.0, "q": 20}),
    "SpectralKernelSVM": (sm.SpectralKernelSVM, {"C": 10.0, "q": 20}),
    "XuSpectralSVM": (sm.XuSpectralSVM, {"C": 10.0, "q": 20}),
    "SpectralRidge": (sm.SpectralRidge, {"penalty": 0.1, "q": 20}),
    "RMM": (sm.RMM, {"C": 10.0, "kernel": 4.0}),
}
every = pytest.mark.parametrize("name", MODELS)


def made(name, **params):
    cls, own = MODELS[name]
    usual = {} if name == "RMM" else {"class_balance": None}
    return cls(**own, **usual, **params)


def result_of(clf):
    return getattr(clf, "margin_result_", clf.result_)


def at_new(n=30):
    return sm.datasets.make_two_moons(n_samples=n, noise=0.13, random_state=8)[0]


@every
def test_the_answer_is_that_of_the_changed_problem(name, moons):
    X, _, y = moons
    clf = made(name, model=fair).fit(X, y)
    changed = clf.build_problem(X, y)
    by_hand = sm.solve(changed)
    result = result_of(clf)
    assert result.problem.endswith(", changed")
    assert result.certificate.kind == "cone program"
    assert result.certificate.is_optimal(1e-6)
    assert result.certificate.assumptions == ()
    assert result.certificate.violations["fair"] < 1e-6
    assert abs(difference(clf.scores_, X, np.sum)) == pytest.approx(0.05, abs=1e-6)
    assert abs(result.duals["fair"]) > 1e-4
    assert clf.scores_ == pytest.approx(by_hand.variables["f"] if name != "RMM" else clf.scores_, abs=1e-9)
    # CVXPY alone, on the same program.
    value = cp.Problem(changed.problem.objective, changed.problem.constraints).solve(solver="CLARABEL", **TIGHT)
    assert result.certificate.primal_objective == pytest.approx(value, rel=1e-5)
    assert result.certificate.dual_objective <= value + 1e-6 * abs(value)


@every
def test_a_model_that_changes_nothing_is_the_usual_one(name, moons):
    X, _, y = moons
    usual, same = made(name).fit(X, y), made(name, model=nothing).fit(X, y)
    assert result_of(same).certificate.kind == "objective"
    ours, theirs = (result_of(clf).certificate.primal_objective for clf in (usual, same))
    if name != "MKL":  # whose bound "auto" follows from decisions that a solver knows to its tolerance
        assert ours == pytest.approx(theirs, rel=1e-6)
    assert same.scores_ == pytest.approx(usual.scores_, abs=2e-3)


def test_lapsvm_equals_the_program_written_from_nothing(moons):
    X, _, y = moons
    clf = sm.LapSVM(gamma_A=0.1, gamma_I=1.0, kernel=4.0, class_balance=None, model=fair).fit(X, y)
    K = sm.kernels.gram(X, gamma=4.0)
    L = np.asarray(clf.laplacian_(sm.graphs.KNN()(X)).toarray())
    labeled = np.flatnonzero(y != -1)
    sign = 2.0 * y[labeled] - 1
    values, V = np.linalg.eigh(K)
    R = V * np.sqrt(np.maximum(values, 0))
    w, b = cp.Variable(len(K)), cp.Variable()
    f = R @ w + b
    M = np.linalg.cholesky(R.T @ L @ R + 1e-12 * np.eye(len(K)))
    loss = cp.sum(cp.pos(1 - cp.multiply(sign, f[labeled])))
    program = cp.Problem(
        cp.Minimize(loss + 0.1 * cp.sum_squares(w) + cp.sum_squares(M.T @ w)), [cp.abs(difference(f, X)) <= 0.05]
    )
    value = program.solve(solver="CLARABEL", **TIGHT)
    assert clf.result_.certificate.primal_objective == pytest.approx(value, rel=1e-6)
    assert clf.scores_ == pytest.approx(f.value, abs=1e-4)


@every
def test_new_samples_are_predicted_by_the_changed_model(name, moons):
    X, _, y = moons
    new = at_new()
    clf = made(name, model=fair).fit(X, y)
    variables = sm.solve(clf.build_problem(X, y)).variables
    if name in ("LapSVM", "LapRLS"):
        expected = sm.kernels.gram(new, X, gamma=4.0) @ variables["alpha"] + variables["b"]
    elif name == "RMM":
        known = X[y != -1]
        expected = sm.kernels.gram(new, known, gamma=4.0) @ variables["gamma"] + variables["b"]
    elif name.startswith("LapSVM"):
        return  # functions of fewer features: training samples are new ones, below
    else:
        weights = clf.graph.weights(new, X)
        expected = np.asarray(weights @ variables["f"]).ravel() / np.asarray(weights.sum(axis=1)).ravel()
    assert clf.decision_function(new) == pytest.approx(expected, abs=1e-9)
    assert (clf.predict(new) == clf.classes_[(expected > 0).astype(int)]).all()


@every
def test_training_samples_keep_their_decisions(name, moons):
    X, _, y = moons
    clf = made(name, model=partial(fair, at_most=0.2)).fit(X, y)
    assert clf.decision_function(X) == pytest.approx(clf.scores_, abs=1e-9)
    again = pickle.loads(pickle.dumps(clf))
    assert (again.decision_function(X) == clf.decision_function(X)).all()
    assert clone(clf).model.keywords == {"at_most": 0.2}


def test_a_term_of_ones_own(moons):
    X, _, y = moons
    usual = made("STORM").fit(X, y)
    clf = made("STORM", model=partial(sparse, weight=0.05)).fit(X, y)
    assert np.abs(clf.scores_).sum() < np.abs(usual.scores_).sum()
    assert clf.result_.certificate.is_optimal(1e-6)


@pytest.mark.parametrize("name", ["LapSVM", "STORM", "SpectralRidge"])
def test_several_classes_have_a_problem_each_that_knows_its_class(name, blobs):
    X, _, y = blobs
    shares = {"a": 0.2, "b": 0.3, "c": 0.5}
    seen = []

    def known(built):
        seen.append(built.positive)
        f = built.expressions["decisions"]
        mean = cp.sum(f, axis=0) / f.shape[0]
        asked = 2 * np.array(list(shares.values())) - 1 if built.positive is None else 2 * shares[built.positive] - 1
        return built.with_(constraints={"shares": mean == asked})

    clf = made(name, model=known, unlabeled="?").fit(X, y)
    assert seen == ([None] if name == "SpectralRidge" else ["a", "b", "c"])
    assert clf.scores_.mean(axis=0) == pytest.approx([2 * share - 1 for share in shares.values()], abs=1e-6)


@pytest.mark.parametrize("name", ["LapSVM", "STORM"])
def test_shares_of_several_classes_are_given_by_name(name, blobs):
    X, _, y = blobs
    shares = {"a": 0.2, "b": 0.3, "c": (0.5, 0.5)}
    clf = made(name, model=problems.models.class_shares(shares), unlabeled="?").fit(X, y)
    assert clf.scores_.mean(axis=0) == pytest.approx([-0.6, -0.4, 0.0], abs=1e-6)
    for positive in (0.3, (0.2, 0.4), {"b": 0.5, "c": 0.5}):
        with pytest.raises(sm.exceptions.InvalidInputError, match=r"of the class 'a' alone, one of 3; pass a"):
            made(name, model=problems.models.class_shares(positive), unlabeled="?").fit(X, y)


def test_the_share_of_two_classes_may_have_a_name(moons):
    X, _, y = moons
    for positive in (0.4, {0: 0.6, 1: 0.4}):
        clf = made("LapSVM", model=problems.models.class_shares(positive)).fit(X, y)
        assert clf.scores_.mean() == pytest.approx(-0.2, abs=1e-6)


def test_weights_of_samples_are_those_of_the_changed_problem(moons):
    X, _, y = moons
    weights = np.where(y == 1, 5.0, 1.0)
    heavy = made("LapRLS", model=fair).fit(X, y, sample_weight=weights)
    built = made("LapRLS", model=fair).build_problem(X, y, sample_weight=weights)
    assert heavy.scores_ == pytest.approx(sm.solve(built).variables["f"], abs=1e-9)
    assert np.abs(heavy.scores_ - made("LapRLS", model=fair).fit(X, y).scores_).max() > 1e-3


def test_a_regressor_takes_a_change_too():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 6, (60, 1)), axis=0)
    y = np.where(np.arange(60) % 3 == 0, np.sin(X[:, 0]), np.nan)

    def rising(built):
        return built.with_(constraints={"rising": cp.diff(built.expressions["decisions"]) >= 0})

    model = sm.LapRLSRegressor(gamma_A=1e-3, gamma_I=1e-3, kernel=2.0, model=rising).fit(X, y)
    assert np.diff(model.transduction_).min() > -1e-6
    assert model.result_.certificate.is_optimal(1e-6)
    assert np.isnan(model.leave_one_out_).all()
    with pytest.raises(ValueError, match="conformal intervals of LapRLSRegressor"):
        model.conformal_intervals()


def test_a_model_of_the_package_is_saved_with_the_estimator(moons, tmp_path):
    X, _, y = moons
    group = X[:, 0] > np.median(X[:, 0])
    clf = made("LapSVM", model=problems.models.fairness(group, at_most=0.05)).fit(X, y)
    assert clf.scores_ == pytest.approx(made("LapSVM", model=fair).fit(X, y).scores_, abs=1e-6)
    sm.save(clf, tmp_path / "fair.npz")
    again = sm.load(tmp_path / "fair.npz")
    assert (again.decision_function(at_new()) == clf.decision_function(at_new())).all()
    assert repr(again.model) == repr(clf.model)
    assert (again.model.options["group"] == group).all()
    assert again.result_.certificate == clf.result_.certificate
    column = np.column_stack([X, group])
    by_column = made("LapSVM", model=problems.models.fairness(group=2)).fit(column, y)
    assert abs(by_column.scores_[group].mean() - by_column.scores_[~group].mean()) < 1e-6
    assert np.diff(np.diff(made("STORM", model=problems.models.convex()).fit(X, y).delta_[1:])).min() > -1e-6


def test_a_search_tries_changes(moons):
    X, _, y = moons
    models = [None, fair, partial(fair, at_most=10.0)]
    search = GridSearchCV(made("LapSVM"), {"model": models}, cv=sm.LabeledKFold(2)).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_probabilities_come_from_fits_of_the_changed_model(moons):
    X, _, y = moons
    p = made("LapSVM", model=fair).fit(X, y).predict_proba(X)
    assert p.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"model": 3}, TypeError, r"model=3 must be a function of the built problem"),
        ({"model": "fairness"}, TypeError, r"model='fairness' must be a function.*models.fairness\(group=0\)"),
        ({"model": problems.models.fairness}, TypeError, r"returned Change; return what built.with_"),
        (
            {"model": problems.models.fairness(group=7)},
            ValueError,
            r"group=7 is no column of the features; take 0 to 1",
        ),
        ({"model": lambda built: None}, TypeError, r"returned NoneType; return what built.with_"),
        ({"model": lambda built: problems.primal(built.objective)}, TypeError, r"returned BuiltProblem; return what"),
        ({"model": fair, "solver": "newton"}, ValueError, r"solver='newton' solves the model of the package"),
        ({"model": fair, "solver": sm.solvers.Solver(max_iter=3)}, ValueError, r"max_iter=3 limits the solvers of"),
        ({"model": partial(fair, at_most=-1.0)}, InfeasibleError, r"is infeasible"),
    ],
)
def test_a_wrong_change_is_refused_by_name(params, error, text, moons):
    X, _, y = moons
    with pytest.raises(error, match=text):
        made("LapSVM", **params).fit(X, y)


def test_what_follows_from_the_usual_model_is_refused(moons, tmp_path):
    X, _, y = moons
    with pytest.raises(ValueError, match="conformal sets of LapRLS follow from its own model"):
        made("LapRLS", model=fair).fit(X, y).conformal_sets()
    with pytest.raises(TypeError, match="model"):
        sm.save(made("LapSVM", model=fair).fit(X, y), tmp_path / "fair.npz")


def test_labelled_samples_alone_know_the_kernel_of_all(moons):
    X, _, y = moons
    K = sm.kernels.gram(X, gamma=4.0)
    group = X[:, 0] > np.median(X[:, 0])

    def by_array(built):
        assert built.samples is None
        f = built.expressions["decisions"]
        return built.with_(constraints={"fair": cp.sum(f[group]) / 60 - cp.sum(f[~group]) / 60 == 0.1})

    clf = sm.RMM(C=10.0, kernel="precomputed", model=by_array).fit(K, y)
    assert clf.decision_function(K)[group].mean() - clf.decision_function(K)[~group].mean() == pytest.approx(
        0.1, abs=1e-6
    )
