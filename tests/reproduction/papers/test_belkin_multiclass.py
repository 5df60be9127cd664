"""Tables 3 and 4 of the manifold paper: all classes at once, against estimators and scikit-learn; printed numbers."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.svm import SVC

import specmargin as sm
from reproduction import tasks
from reproduction.engine.published import published, published_parameters
from reproduction.engine.records import Cell
from reproduction.papers import belkin_multiclass as table
from reproduction.papers._protocols import belkin_fits as fits
from reproduction.run import Options
from specmargin.graphs import KNN, Laplacian
from specmargin.kernels import RBF

SPLIT = "random50-seed0-01"


def digits(nowhere):
    """Return images, classes, and the labelled and unlabelled ones of a split of the stand-in."""
    task = table.TASKS["digits600"]
    X, y, *_ = tasks.samples(task, nowhere)
    split = tasks.splits(task, nowhere)[SPLIT]
    return X, y, split.labeled, split.unlabeled


def worked(method, nowhere, weight=None, normalized=None, **rule):
    cell = Cell("t", method, "digits600", SPLIT, {"weight": weight, "normalized": normalized, **rule})
    return table.work(cell, data=nowhere)


@pytest.mark.parametrize("weight", ["heat", "binary"])
@pytest.mark.parametrize(
    ("method", "estimator", "intercept"),
    [("LapRLS", sm.LapRLS, False), ("LapSVM", sm.LapSVM, True)],
)
def test_regularised_methods_are_the_estimators(nowhere, method, estimator, intercept, weight):
    X, y, labeled, unlabeled = digits(nowhere)
    gamma_A, gamma_I = table.weights_of(method, "digits600")
    clf = estimator(
        gamma_A=gamma_A,
        gamma_I=gamma_I,
        kernel=RBF(1 / 800),
        graph=KNN(10, weight),
        laplacian=Laplacian(2, True),
        fit_intercept=intercept,
        class_balance=None,
    )
    clf.fit(X, np.where(np.isin(np.arange(len(y)), labeled), y, -1))
    got = worked(method, nowhere, weight, True)
    assert got["error_unlabeled"] == pytest.approx(100 * np.mean(clf.transduction_[unlabeled] != y[unlabeled]))
    assert abs(got["relative_gap"]) < 1e-6
    assert "error_test" not in got


def test_rules_that_compare_the_classes_are_those_of_the_estimator(nowhere):
    X, y, labeled, unlabeled = digits(nowhere)
    gamma_A, gamma_I = table.weights_of("LapSVM", "digits600")
    known = np.where(np.isin(np.arange(len(y)), labeled), y, -1)
    shares = {digit: float(np.mean(y == digit)) for digit in range(10)}
    errors = set()
    for rule, balance in (("zscore", "zscore"), ("shares", shares), (None, None)):
        clf = sm.LapSVM(
            gamma_A=gamma_A,
            gamma_I=gamma_I,
            kernel=RBF(1 / 800),
            graph=KNN(10, "heat"),
            laplacian=Laplacian(2, True),
            class_balance=balance,
        ).fit(X, known)
        expected = 100 * np.mean(clf.transduction_[unlabeled] != y[unlabeled])
        got = worked("LapSVM", nowhere, "heat", True, **({"rule": rule} if rule else {}))
        assert got["error_unlabeled"] == pytest.approx(expected), rule
        errors.add(expected)
    assert len(errors) == 3  # or the split could not tell them apart


def test_supervised_methods_are_those_of_textbooks(nowhere):
    X, y, labeled, unlabeled = digits(nowhere)
    K = sm.kernels.gram(X, gamma=1 / 800)
    signs = np.where(y[labeled][:, None] == np.arange(10), 1.0, -1.0)
    C = 1 / (2 * table.weights_of("SVM", "digits600")[0])
    G, rest = K[np.ix_(labeled, labeled)], K[np.ix_(unlabeled, labeled)]
    machines = [SVC(C=C, kernel="precomputed", tol=1e-8).fit(G, sign) for sign in signs.T]
    svm = np.column_stack([machine.decision_function(rest) for machine in machines])
    rls = rest @ np.linalg.solve(G + table.weights_of("RLS", "digits600")[0] * np.eye(len(G)), signs)
    for method, scores in (("SVM", svm), ("RLS", rls)):
        expected = 100 * np.mean(scores.argmax(axis=1) != y[unlabeled])
        assert worked(method, nowhere)["error_unlabeled"] == pytest.approx(expected)


def test_the_transductive_svm_has_the_c_of_the_svm(nowhere, monkeypatch):
    asked = []

    def transduced(task, labels, C, data):
        asked.append(C)
        return np.zeros(labels.n_samples), np.zeros(0), {"solver": "none"}

    monkeypatch.setattr(fits, "transduced", transduced)
    worked(fits.TSVM, nowhere)
    assert asked == 10 * [1 / (2 * table.weights_of("SVM", "digits600")[0])]


def test_settings_are_the_published_ones():
    names = {"RLS": "rls", "LapRLS": "laprls", "SVM": "svm", "LapSVM": "lapsvm_dual"}
    for method, name in names.items():
        found = published_parameters("lapsvm_primal_2009", "8", "uspst", name).set_index("parameter")["value"]
        given = found.astype(float)
        assert table.weights_of(method, "uspst") == (given["gamma_A"], given.get("gamma_I", 0.0))
        assert table.TASKS["uspst"].kernel == {"kernel": "rbf", "gamma": 1 / (2 * given["gaussian_sigma"] ** 2)}
        if "lap" in name:
            task = table.TASKS["uspst"]
            assert (task.graph["n_neighbors"], task.power) == (given["nn"], given["laplacian_degree_p"])
        assert table.weights_of(method, "isolet26") == fits.gammas(method, "isolet")
    assert table.weights_of(fits.TSVM, "isolet26") == fits.gammas("SVM", "isolet")
    letters = table.TASKS["isolet26"]
    assert (letters.kernel, letters.graph) == (tasks.rbf(10.0), fits.GRAPH)


def test_letters_keep_their_classes_and_a_speaker_is_labelled_at_a_time(tmp_path, monkeypatch, rng):
    group = np.repeat([1, 2, 5], [60, 20, 30])
    made = SimpleNamespace(
        X=rng.normal(size=(110, 4)),
        y=np.arange(110) % 26,
        extras={"group": group, "speaker": np.repeat([1, 2, 3, 9, 11], [30, 30, 20, 15, 15])},
    )
    monkeypatch.setattr(fits, "dataset", lambda *args: made)
    task = table.TASKS["isolet26"]
    for cached in (fits.splits_of, tasks.samples):
        cached.cache_clear()
    try:
        drawn, splits = tasks.samples(task, tmp_path), table._splits(task, tmp_path)
    finally:
        for cached in (fits.splits_of, tasks.samples):
            cached.cache_clear()
    assert drawn.n_train == 60
    assert drawn.y.tolist() == [*made.y[:60], *made.y[80:]]
    assert list(splits) == ["speaker-01", "speaker-02"]
    assert splits["speaker-02"].labeled.tolist() == list(range(30, 60))


def test_every_printed_number_has_its_line_and_every_line_its_number(tmp_path):
    plan = table.Plan([table.TASKS["uspst"], table.TASKS["isolet26"]])
    rows = [
        {
            "dataset": name,
            "method": method,
            "param_weight": weight,
            "param_normalized": normalized,
            "status": "ok",
            "error_unlabeled": 10.0,
            "error_test": 20.0,
        }
        for name in table.TABLES
        for method, of in fits.METHODS.items()
        for weight, normalized in (table.GRAPHS[name] if of.graph else ((None, None),))
    ]
    ours = [{**rows[6], "param_rule": rule, "error_unlabeled": 5.0} for rule in table.RULES]
    lines = table.MANIFOLD_MULTICLASS.report([*rows, *ours], plan, Options(tmp_path)).sections[0].lines
    told = [(line.tuning.split(", ")[-1], line.mean, line.source) for line in lines[-2:]]
    assert told == [("z-scores of the decisions", 5.0, ""), ("cut at the true shares: OPTIMISTIC", 5.0, "")]
    sections = table.MANIFOLD_MULTICLASS.report(rows, plan, Options(tmp_path)).sections
    printed = {key: published(table.PAPER, key) for key in ("3", "4")}
    for section, key, sets in zip(sections, ("3", "4"), (("U",), ("U", "T")), strict=True):
        assert section.title.startswith(f"Table {key}")
        assert Counter(line.published_mean for line in section.lines).keys() == set(printed[key]["mean"])
        assert [line.mean for line in section.lines] == [
            m for s, m in (("U", 10.0), ("T", 20.0)) if s in sets for _ in range(7)
        ]
        of = {(line.method, line.dataset[-1]): line.published_mean for line in section.lines}
        for _, row in printed[key].iterrows():
            (name,) = [n for n, m in fits.METHODS.items() if m.published == row["method"]]
            assert of[name, row["split"]] == row["mean"]


def test_missing_data_are_named_and_digits_stand_in(nowhere, tmp_path):
    plan, sources, header = table.MANIFOLD_MULTICLASS.setup(Options(tmp_path, quick=True, data=nowhere))
    assert [task.name for task in plan.tasks] == ["digits600"]
    assert sources == {"digits"}
    assert "NOT AVAILABLE: uspst and isolet26. In their place: 600 of scikit-learn's digits" in header[0]
    cells = plan.cells(nowhere)
    assert Counter(cell.method for cell in cells) == {
        name: 4 if method.graph else 2 for name, method in fits.METHODS.items()
    } | {"LapSVM": 8}
    assert Counter(cell.parameters.get("rule") for cell in cells if cell.method == "LapSVM") == {
        None: 4,
        "zscore": 2,
        "shares": 2,
    }
    assert any("WebKB" in line and "not in the data folder" in line for line in table.MANIFOLD_MULTICLASS.protocol)


@pytest.mark.data
def test_the_svm_errs_as_printed_on_ten_digits(real_data):
    cells = [c for c in table.Plan([table.TASKS["uspst"]]).cells(real_data) if c.method == "SVM"]
    mean = np.mean([table.work(cell, data=real_data)["error_unlabeled"] for cell in cells])
    assert abs(mean - 23.6) < 0.5
