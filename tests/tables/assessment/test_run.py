"""From a file to a table of methods, predictions, a page and a model."""

import csv
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.stats import sem
from sklearn.linear_model import LogisticRegression

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.tables import compare_file, fit_table, load_model, predict_file, read_table
from specmargin.tables.assessment import methods, result
from specmargin.tables.assessment.choice import choose, next_steps
from specmargin.tables.assessment.comparison import Row
from specmargin.tables.assessment.methods import choose_methods
from specmargin.tables.assessment.outcomes import RowStore
from specmargin.tables.assessment.page import page as page_of
from specmargin.tables.assessment.result import Comparison, learning_curve

METHODS = ["majority", "svm", "AutoSSL"]
pytestmark = pytest.mark.usefixtures("small_grid")
VOID = {"meta", "path", "use", "br", "img"}


class Tags(HTMLParser):
    """Keeps the open elements, and what is loaded from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.loaded, self.wrong = [], [], []

    def handle_starttag(self, tag, attrs):
        self.loaded += [value for name, value in attrs if name == "src" or (name.endswith("href") and value[0] != "#")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def path(folder):
    from specmargin.datasets import make_two_moons

    rng = np.random.default_rng(0)
    X, truth = make_two_moons(n_samples=50, noise=0.1, random_state=0)
    X, truth = np.r_[X, [[4.0, 4.0]]], np.r_[truth, 2]
    shown = rng.permutation(50)[:15]
    lines = ["a,b,town,flat,kind"]
    for i, (x, k) in enumerate(zip(X, truth, strict=True)):
        label = ("left", "right", "far")[k] if i in shown or k == 2 else ""
        lines.append(f"{'' if i % 9 == 4 else round(x[0], 3)},{x[1]:.3f},{('Rome', 'Oslo')[i % 2]},1,{label}")
    file = folder / "moons.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="module")
def compared(path, folder):
    with pytest.MonkeyPatch.context() as patch:
        # One draw of two families is enough to be drawn on a page.
        patch.setattr(result, "FAMILIES", ("sup", "pca"))
        patch.setattr(result, "_DRAWS", 1)
        made = compare_file(path, "kind", methods=METHODS, folder=folder / "out")
        assert made.learning_curve is not None
    return made


def test_rows_and_predictions(compared) -> None:
    assert isinstance(compared, Comparison)
    assert [row.name for row in compared.rows] == ["baseline", *METHODS]
    text = repr(compared)
    for part in ("constant column: 'flat'", "class with one label", "missing entries: 'a'", "AutoSSL"):
        assert part in text
    assert compared.row("AutoSSL").judged == "exact leave-one-out"
    predictions = compared.predictions
    assert len(predictions) == 51
    assert predictions.labeled.sum() == 16
    assert compared.data.classes.tolist() == ["far", "left", "right"]
    assert predictions.columns()["p(left)"] == predictions.probabilities[:, 1].round(6).tolist()
    np.testing.assert_allclose(predictions.probabilities.sum(axis=1), 1.0)
    assert compared.row("AutoSSL").error < compared.row("majority").error
    assert len(compared.table()["method"]) == 4


def test_what_auto_ssl_reports_is_in_the_table(compared) -> None:
    auto = compared.outcomes["AutoSSL"]
    report = auto.fitted.estimator.report_
    row = compared.row("AutoSSL")
    assert row.error == report.estimate.error
    assert row.balanced_accuracy == pytest.approx(1 - report.balanced_error)
    assert (row.wins, row.losses) == (report.comparison.gains, report.comparison.losses)


def test_files(compared, folder, path) -> None:
    page, table, predictions, model = compared.save(folder / "out")
    with open(predictions, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["predicted"] for row in rows] == compared.predictions.predicted.tolist()
    assert [row["labelled"] for row in rows].count("yes") == 16
    with open(table, newline="") as file:
        assert [row["verdict"] for row in csv.DictReader(file)] == [row.verdict for row in compared.rows]
    again = predict_file(model, path)
    np.testing.assert_allclose(again.probabilities, compared.predictions.probabilities, atol=1e-9)
    assert again.labels.tolist() == compared.predictions.labels.tolist()
    assert b"pickle" not in model.read_bytes()
    tags, text = Tags(), page.read_text()
    assert len(page_of(compared)) == pytest.approx(len(text), rel=0.01)
    tags.feed(text)
    assert (tags.open, tags.loaded, tags.wrong) == ([], [], [])
    assert not re.search(r"<script|@import|url\((?!#)", text)
    assert text.count("<svg") == 7
    for row in compared.rows:
        assert row.verdict in text


def test_a_run_goes_on_where_it_ended(compared, path, folder, monkeypatch) -> None:
    lines = []
    fitted = []
    monkeypatch.setattr(methods, "_tuned_svm", lambda *_: fitted.append("svm") or pytest.fail("again"))
    again = compare_file(path, "kind", methods=METHODS, folder=folder / "out", progress=lines.append)
    assert [line for line in lines if "kept from an earlier run" in line] == [
        f"{row.title}: kept from an earlier run" for row in again.rows
    ]
    assert repr(again.rows) == repr(compared.rows)
    np.testing.assert_allclose(again.predictions.probabilities, compared.predictions.probabilities)
    assert again.model.fitted.estimator.transduction_.shape == (51,)


def test_damaged_rows_and_other_data_are_computed_again(tmp_path, compared) -> None:
    X, codes = compared.data.X, compared.data.codes
    (method,) = choose_methods(["svm"])[1:]
    store = RowStore(tmp_path, X, codes, 0)
    store.write(method, compared.outcomes["svm"])
    kept = store.read(method)
    assert (kept.held_out == compared.outcomes["svm"].held_out).all()
    assert RowStore(tmp_path, X, codes, 1).read(method) is None
    assert RowStore(tmp_path, X + 1e-9, codes, 0).read(method) is None
    store.path(method).write_bytes(b"PK")
    assert store.read(method) is None
    assert RowStore(None, X, codes, 0).read(method) is None


def test_a_spent_budget_and_little_memory_are_told(path, monkeypatch) -> None:
    monkeypatch.setattr(sm.tables.assessment.outcomes, "available_memory", lambda: 1e6)
    few = compare_file(path, "kind", methods=["majority", "svm", "AutoSSL"])
    assert "GB of memory" in few.row("AutoSSL").notes[0]
    assert few.row("AutoSSL").verdict == "not run"
    assert few.chosen == "svm"
    assert "the supervised baseline was not run" in few.row("svm").verdict
    assert "not run: skipped" in repr(few)
    with pytest.raises(InvalidInputError, match=r"no method could be run .*budget of 1e-09 s was spent"):
        compare_file(path, "kind", budget=1e-9, methods=["svm"])


@pytest.mark.parametrize("method", ["svm", "majority", "baseline", "LapRLS"])
def test_models_in_files(method, tmp_path, path) -> None:
    table, labels = sm.tables.split_target(read_table(path), "kind")
    model = fit_table(table, labels, method=method, unlabeled=None, target="kind")
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_allclose(again.predict_proba(table), model.predict_proba(table), atol=1e-10)
    assert again.predict(table).tolist() == model.predict(table).tolist()
    assert repr(again) == repr(model)


class Odd(LogisticRegression):
    """A class of one's own, which no file may make."""


def test_estimators_of_scikit_learn_are_saved_and_others_are_not(tmp_path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = [0, 1] * 6 + [-1] * 8
    model = fit_table(X, y, method=LogisticRegression())
    model.save(tmp_path / "model.npz")
    assert (load_model(tmp_path / "model.npz").predict_proba(X) == model.predict_proba(X)).all()
    with pytest.raises(InvalidTypeError, match=r"Odd holds .*Odd, which is not read back.*skops"):
        fit_table(X, y, method=Odd()).save(tmp_path / "odd.npz")


def test_a_file_that_unpacks_to_more_or_holds_other_types_is_refused(tmp_path) -> None:
    import io
    import zipfile

    import skops.io

    from specmargin.tables.assessment.preparation import from_bytes

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", " " * 10**6)
    with pytest.raises(InvalidInputError, match="compressed member"):
        from_bytes(np.frombuffer(packed.getvalue(), dtype=np.uint8))
    with pytest.raises(skops.io.exceptions.UntrustedTypesFoundException):
        from_bytes(np.frombuffer(skops.io.dumps(Odd()), dtype=np.uint8))


def test_few_labels_have_no_numbers_of_error(tmp_path) -> None:
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    few = sm.compare(X, sm.hide_labels(truth, per_class=3, random_state=0), methods=["majority"])
    assert "too few labels to judge" in few.row("majority").verdict
    assert few.learning_curve is None
    few.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "no error can be told" in text
    assert "Label at least 4 more rows" in text


def test_labels_that_cannot_be_used() -> None:
    X = np.random.default_rng(0).normal(size=(6, 2))
    for y, says in (
        ([-1] * 6, "no row is labelled.*Label some rows of every class"),
        ([0, 1] * 3, "all 6 rows are labelled.*Add rows with an empty label"),
        ([1, 1, 1, -1, -1, -1], "all labels are 1: there is one class only"),
        ([0.5, 1.5, 2.5, np.nan, np.nan, 3.5], "quantity"),
        ([0, 1, -1], "6 rows, y has 3 labels"),
        (["a", 1, None, None, None, None], "several types"),
    ):
        with pytest.raises(InvalidInputError, match=says):
            sm.compare(X, y)
    with pytest.raises(InvalidInputError, match="budget=-1"):
        sm.compare(X, [0, 1, 0, 1, -1, -1], budget=-1)


def test_learning_curve_has_means_and_their_standard_errors(monkeypatch) -> None:
    """Of errors that are counted anew from the mixtures of every draw."""
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.3, random_state=0)
    codes = np.where(np.arange(60) < 24, truth, -1)
    drawn, made = [], []
    monkeypatch.setattr(result, "FAMILIES", ("sup",))
    draw, mixture = result._drawn, result.Mixture
    monkeypatch.setattr(result, "_drawn", lambda *args: drawn.append(draw(*args)) or drawn[-1])
    monkeypatch.setattr(result, "Mixture", lambda *args, **named: made.append(mixture(*args, **named)) or made[-1])
    curve = learning_curve(X, codes, n_draws=4)
    assert [len(given) for given in drawn] == np.repeat([6, 12, 18], 4).tolist() == np.repeat(curve.sizes, 4).tolist()
    assert all(len(set(codes[given].tolist())) == 2 for given in drawn)
    others = [np.setdiff1d(np.arange(24), given) for given in drawn]
    errors = [
        np.mean(one.log_probabilities[rows].argmax(axis=1) != truth[rows])
        for one, rows in zip(made[1::2], others, strict=True)
    ]
    by_size = np.reshape(errors, (3, 4))
    np.testing.assert_allclose(curve.errors["supervised baseline"], by_size.mean(axis=1))
    np.testing.assert_allclose(curve.deviations["supervised baseline"], sem(by_size, axis=1))
    assert (curve.deviations["supervised baseline"] > 0).all()


def test_learning_curve_tests_on_other_labels(monkeypatch) -> None:
    monkeypatch.setattr(result, "FAMILIES", ("sup", "pca"))
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + 8.0 * truth[:, None]
    codes = np.where(np.arange(60) < 20, truth, -1)
    curve = learning_curve(X, codes, n_draws=2)
    assert curve.sizes.tolist() == [5, 10, 15]
    # A draw of four labels of one class and six of the other cuts at a share of 0.57: one of ten may be wrong then.
    assert all(values[0] == values[2] == 0 and values[1] <= 0.05 for values in curve.errors.values())
    assert learning_curve(X, np.where(np.arange(60) < 8, truth, -1)) is None


def row(name: str, verdict: str, loss: float = 0.5, **more: float) -> Row:
    return Row(name, name, verdict=verdict, log_loss=loss, p=0.01, **more)


def test_which_method_is_taken() -> None:
    base, auto = row("baseline", "the baseline"), row("AutoSSL", "no difference seen")
    good, best = row("a", "better than supervised", 0.3), row("b", "better than supervised", 0.2)
    assert choose([base, auto, good, best], 40)[0] == "b"
    assert choose([base, auto], 40)[0] == "AutoSSL"
    assert choose([base, row("AutoSSL", "worse: take the supervised one")], 40)[0] == "baseline"
    assert choose([row("majority", ""), row("svm", "", 0.4), row("c", "", 0.3)], 40)[0] == "c"
    base = row("baseline", "the baseline", error=0.1)
    steps = next_steps([base, row("AutoSSL", "", power=0.1, differs=0.2)], "AutoSSL", 40)
    assert ["300 labels" in steps[0], "20%" in steps[1]] == [True, True]
    base = row("baseline", "the baseline", error=0.001)
    assert "even 5000" in next_steps([base, row("AutoSSL", "", power=0.0)], "AutoSSL", 24)[0]


def numbers_file(folder, n: int = 90):
    """Write a table whose labels are a smooth function of one column, and return file and truth."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=(n, 2))
    y = 100 + 30 * np.sin(2 * x[:, 0]) + rng.normal(size=n)
    lines = ["name;a;b;price"]
    for i in range(n):
        cells = [f"H{i:03d}", f"{x[i, 0]:.3f}", f"{x[i, 1]:.3f}", f"{y[i]:.2f}" if i < 45 else ""]
        lines.append(";".join(cells).replace(".", ","))
    file = folder / "houses.csv"
    file.write_text("\n".join(lines) + "\n")
    return file, y


def test_numbers_are_compared_fitted_and_predicted(tmp_path) -> None:
    file, y = numbers_file(tmp_path)
    with pytest.raises(InvalidInputError, match="--columns price=number"):
        compare_file(file, "price")
    stated = {"price": "number"}
    made = compare_file(file, "price", columns=stated, methods=["ridge", "mean", "LapRLSRegressor"])
    assert [row.name for row in made.rows] == ["ridge", "mean", "LapRLSRegressor"]
    assert made.chosen == "LapRLSRegressor"
    assert made.row("LapRLSRegressor").verdict == "better than supervised"
    predicted = made.predictions.predicted
    assert np.std(predicted[45:] - y[45:]) < 0.8 * np.std(y[45:])
    _, _, predictions, model = made.save(tmp_path / "out")
    with open(predictions, newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert list(rows[0]) == ["row", "name", "labelled", "label", "predicted"]
    assert rows[5]["name"] == "H005"
    again = predict_file(model, file)
    np.testing.assert_allclose(again.predicted, load_model(model).predict(read_table(file)))
    assert again.labels[:45].tolist() == made.predictions.labels[:45].tolist()
    assert "Its error, as a share of the labels' deviation, is about" in repr(made)
    page = page_of(made)
    heads = re.findall(r"<th scope=col>([^<]*)", page[page.index("<table class=methods") :])
    assert heads == ["Method", "Error", "95 % interval", "Nearer / ridge nearer", "p (Holm)", "Seconds", "MB"]
    assert "<h2>How this was computed" in page
    assert not re.search("McNemar|labels that are wrong|about 80 %", page)
    with pytest.raises(InvalidInputError, match="fits no numbers; take some of ridge"):
        compare_file(file, "price", columns=stated, methods=["STORM"])


def test_ridge_is_that_of_scikit_learn(tmp_path) -> None:
    from sklearn.linear_model import RidgeCV

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=40)
    given = np.where(np.arange(40) < 25, y, np.nan)
    model = fit_table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}, given, method="ridge", columns={"y": "number"})
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    own = RidgeCV(np.logspace(-3, 5, 17)).fit(Z[:25], y[:25]).predict(Z)
    np.testing.assert_allclose(model.predict({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), own)


def test_spellings_of_a_label_are_one_class_unless_they_are_said_to_differ() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = ["ja", "Ja", "JA", "nein", "nein ", "ja"] * 4 + [None] * 16
    assert sm.compare(X, y, methods=["majority"]).predictions.classes.tolist() == ["ja", "nein"]
    apart = sm.compare(X, y, methods=["majority"], exact=True)
    assert apart.predictions.classes.tolist() == ["JA", "Ja", "ja", "nein", "nein "]


def test_dollars_in_names_and_a_page_that_fails_leave_the_predictions(tmp_path, monkeypatch) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = ["$1% to $2%", "$2% and _{more}$ $"] * 12 + [None] * 16
    made = sm.compare(X, y, methods=["majority"])
    assert all(path.exists() for path in made.save(tmp_path / "a"))
    monkeypatch.setattr(Comparison, "to_html", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made.save(tmp_path / "b")
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["model.npz", "predictions.csv", "table.csv"]


def test_what_does_not_fit_into_the_budget_is_not_begun(path, monkeypatch) -> None:
    monkeypatch.setattr(sm.tables.assessment.outcomes, "forecast", lambda method, *_: 1e6 * (method.name == "svm"))
    fitted = []
    monkeypatch.setattr(methods, "_tuned_svm", lambda *_: fitted.append("svm"))
    made = compare_file(path, "kind", methods=["svm", "majority"], budget=1000.0)
    assert "it would take about 1000000 s" in made.row("svm").notes[0]
    assert fitted == []
    assert made.row("majority").was_run


def test_a_forecast_is_of_the_order_of_what_it_takes() -> None:
    from specmargin.tables.assessment.evaluation import forecast
    from specmargin.tables.assessment.measurement import Meter

    X, truth = sm.datasets.make_two_moons(n_samples=900, noise=0.1, random_state=0)
    codes = sm.hide_labels(truth, per_class=10, random_state=0)
    for name in ("LapRLS", "SpectralRidge"):
        method = choose_methods([name])[-1]
        method.fit(X[:50], codes[:50], 0)
        seconds = forecast(method, X, codes, 0)
        with Meter() as meter:
            method.fit(X, codes, 0)
        assert 0.1 < seconds / (11 * meter.seconds) < 40


def test_values_of_no_fitted_row_are_named(tmp_path) -> None:
    model = fit_table({"town": ["Rome", "Oslo"] * 20, "m": ["1.5", "2.5"] * 20}, ["a", "b"] * 20, method="svm")
    with pytest.warns(sm.exceptions.SpecmarginWarning) as caught:
        made = model.predictions({"town": ["rome ", "Paris", "Oslo"], "m": ["1.5", "2.5", "x"], "more": [1, 2, 3]})
    assert [str(one.message)[:16] for one in caught] == ["'town': 'Paris' ", "'m': 'x' (row 3)"]
    assert [bool(remark) for remark in made.remarks] == [False, True, True]
    assert made.columns()["remark"] == list(made.remarks)


def test_words_before_the_details(compared) -> None:
    """Columns, flaws, errors and the choice are stated in at most 600 words; the rest is folded or comes later."""
    text = page_of(compared)
    before = text[text.index("<body>") : text.index("<h2>Where it is wrong")]
    before = re.sub(r"<(svg|details|style).*?</\1>", " ", before, flags=re.DOTALL)
    words = re.sub(r"<[^>]*>", " ", before).split()
    assert 100 < len(words) <= 600
    order = [
        text.index(f"<h2>{head}") for head in ("What was read", "Flaws of the data", "Methods", "Where it is wrong")
    ]
    assert order == sorted(order)
    assert text.index("corrected for its being chosen") < order[0]


def test_progress_may_be_printed_or_not(capsys) -> None:
    X, truth = sm.datasets.make_two_moons(n_samples=40, random_state=0)
    y = sm.hide_labels(truth, per_class=4, random_state=0)
    for progress in (False, None, True):
        assert capsys.readouterr().out == ""
        sm.compare(X, y, methods=["majority"], progress=progress)
    assert "majority" in capsys.readouterr().out
    with pytest.raises(TypeError, match="progress='yes' cannot be called; pass a function of a text"):
        sm.compare(X, y, methods=["majority"], progress="yes")
