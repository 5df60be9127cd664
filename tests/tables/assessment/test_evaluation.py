"""Left-out decisions: the same folds for all, no label seen, budgets kept; the tuned SVM against a search by hand."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss as reference_log_loss
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestCentroid
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.tables.assessment.evaluation import evaluate, log_loss
from specmargin.tables.assessment.measurement import Budget, BudgetExceededError, Meter, Size
from specmargin.tables.assessment.methods import FittedMethod, Method, choose_methods, inner_folds
from specmargin.tables.assessment.tuned_svm import TunedSVM
from specmargin.tables.candidates.held_out import stratified_folds


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + 2.0 * np.c_[truth == 1, truth == 2]
    codes = np.where(np.arange(60) < 24, truth, -1)
    return X, codes


def run(method, X, codes, budget=None):
    lines = []
    outcome = evaluate(method, X, codes, seed=0, budget=budget or Budget(None), progress=lines.append)
    return outcome, lines


class Spy(Method):
    """Decides at random, and keeps what it was given."""

    name = title = "spy"

    def __init__(self) -> None:
        self.given = []

    def fit(self, X, codes, seed):
        self.given.append(codes.copy())
        known = np.flatnonzero(codes >= 0)
        return FittedMethod(LogisticRegression().fit(X[known], codes[known]), "")


def test_no_left_out_label_is_seen(data) -> None:
    X, codes = data
    spy = Spy()
    outcome, lines = run(spy, X, codes)
    folds = inner_folds(codes, 0, 10)
    assert len(spy.given) == 11
    assert len(lines) == 10
    for (_, test), part in zip(folds, spy.given[1:], strict=True):
        assert (part[test] == -1).all()
        assert (np.delete(part, test) == np.delete(codes, test)).all()
    for _, test in folds[:2]:
        kept = np.setdiff1d(np.flatnonzero(codes >= 0), test)
        own = LogisticRegression().fit(X[kept], codes[kept]).predict_proba(X[test])
        np.testing.assert_allclose(outcome.held_out[test], own, atol=1e-9)


def test_decisions_get_a_scale_from_other_folds(data) -> None:
    X, codes = data
    (method,) = choose_methods([SVC()])[1:]
    outcome, _ = run(method, X, codes)
    np.testing.assert_allclose(outcome.held_out.sum(axis=1), 1.0)
    np.testing.assert_allclose(outcome.probabilities.sum(axis=1), 1.0)
    known = np.flatnonzero(codes >= 0)
    assert (outcome.probabilities.argmax(axis=1) == SVC().fit(X[known], codes[known]).predict(X)).all()


def test_a_class_with_one_label_and_one_class_left() -> None:
    X = np.arange(8.0)[:, None]
    codes = np.array([0, 0, 1, -1, -1, 2, -1, -1])
    (method,) = choose_methods([LogisticRegression()])[1:]
    outcome, _ = run(method, X, codes)
    assert outcome.held_out.shape == (4, 3)
    assert np.isfinite(np.log(outcome.held_out[outcome.held_out > 0])).all()
    two = np.array([0, 1, -1, -1, -1, -1, -1, -1])
    assert run(method, X, two)[0].held_out.argmax(axis=1).tolist() == [1, 0]


def test_a_budget_ends_between_two_folds(data) -> None:
    X, codes = data
    seconds = iter(np.arange(0.0, 1000.0, 1.0))
    with pytest.raises(BudgetExceededError, match=r"stopped after 1 of 10 folds: the others need about \d+ s"):
        run(Spy(), X, codes, Budget(4.0, clock=lambda: next(seconds)))


def test_all_folds_share_the_factorisations_of_a_search(data, monkeypatch) -> None:
    X, codes = data
    (method,) = choose_methods("LabelSearch-LapRLS")[1:]
    grid = {"kernel": [0.5, "linear"], "graph": [6], "laplacian": [1, 2], "gamma_A": [0.1, 1.0]}
    monkeypatch.setattr(method, "_made", lambda: sm.LabelSearch(sm.LapRLS(), grid))
    outcome, lines = run(method, X, codes)
    assert lines[1] == "LabelSearch-LapRLS: factorisation 2 for 11 sets of labels"
    monkeypatch.setattr(method, "refits", True)
    apart, lines = run(method, X, codes)
    assert len(lines) == 10
    np.testing.assert_allclose(outcome.held_out, apart.held_out, atol=1e-9)
    np.testing.assert_array_equal(outcome.probabilities, apart.probabilities)
    monkeypatch.setattr(method, "refits", False)
    seconds = iter(np.arange(0.0, 1000.0, 1.0))
    with pytest.raises(BudgetExceededError, match=r"stopped after factorisation 4 .*the budget of 4 s is spent"):
        run(method, X, codes, Budget(4.0, clock=lambda: next(seconds)))
    two = np.where(codes == 2, 1, codes)  # where one class is left, refits name it
    assert method.judged_fit(X, two, 0, [(np.flatnonzero(two == 0), np.flatnonzero(two == 1))], print)[1] is None


def test_estimators_without_unlabelled_rows_get_the_labelled_ones(data) -> None:
    X, codes = data
    _, plain, graph, ours = choose_methods([NearestCentroid(), LabelSpreading(), sm.LapRLS()])
    assert [plain.is_supervised, graph.is_supervised, ours.is_supervised] == [True, False, False]
    fitted = graph.fit(X, codes, 0).estimator
    assert (fitted.transduction_[codes >= 0] == codes[codes >= 0]).all()


def test_named_methods_choose_by_the_labels(data) -> None:
    X, codes = data
    (method,) = choose_methods("STORM")[1:]
    chosen = method.fit(X, np.where(codes == 2, -1, codes), 0).chosen
    assert chosen in {f"C = {C}" for C in ("1", "10", "100", "0.1")}
    dense = choose_methods("LabelSearch-LapRLS")[1]
    assert "all pairs" in dense.refuses(Size(50_000, 100, 500_000))
    assert dense.bytes_needed(Size(50_000, 100, 500_000)) > 8 * 50_000**2
    with pytest.raises(InvalidInputError, match="'LapRSL', which is unknown; take some of majority"):
        choose_methods(["LapRSL"])
    for no_classifier in ("LapRLSRegressor", "LabelSearch-LapRLSRegressor", "RegularizedEigenmaps"):
        with pytest.raises(InvalidInputError, match="which is unknown"):
            choose_methods([no_classifier])
    with pytest.raises(InvalidTypeError, match="methods holds 3 of the type int; pass names"):
        choose_methods([3])


def test_tuned_svm_is_the_best_of_its_grid(data) -> None:
    X, codes = data
    X, y = X[codes >= 0], codes[codes >= 0]
    svm = TunedSVM(random_state=0).fit(X, y)
    folds = stratified_folds(y, 5, np.random.default_rng(0))
    width = np.median(pairwise_distances(X)[np.triu_indices(len(X), 1)])

    def errors(**options) -> int:
        wrong = 0
        for k in range(5):
            fitted = SVC(**options).fit(X[folds != k], y[folds != k])
            wrong += int((fitted.predict(X[folds == k]) != y[folds == k]).sum())
        return wrong

    unit = (X**2).sum(axis=1).mean()
    grid = [errors(kernel="linear", C=C / unit) for C in (10, 1, 100, 0.1)]
    grid += [
        errors(kernel="rbf", gamma=0.5 / (w * width) ** 2, C=C) for C in (10, 1, 100, 0.1) for w in (1, 0.5, 2, 0.25)
    ]
    assert errors(**svm.options_) == min(grid)
    one = TunedSVM().fit(X[:3], [1, 1, 1])
    assert one.predict(X[:2]).tolist() == [1, 1]


def test_meter_sees_memory() -> None:
    with Meter() as meter:
        held = np.ones(20_000_000)
    assert meter.peak_bytes > 0.9 * held.nbytes


def test_log_loss_is_that_of_scikit_learn(rng) -> None:
    p, codes = rng.dirichlet(np.ones(3), size=20), np.arange(20) % 3
    assert log_loss(p, codes) == pytest.approx(reference_log_loss(codes, p))
    assert log_loss(np.array([[0.0, 1.0]]), np.array([0])) == pytest.approx(6 * np.log(10))  # bounded: 1e-6 at least
