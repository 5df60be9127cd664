"""Methods computed elsewhere have the outcomes that they have here; what ends a run leaves what was computed."""

import os
import pickle
import shutil
import time
from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError, SpecmarginError
from specmargin.tables.assessment import outcomes
from specmargin.tables.assessment.measurement import Budget
from specmargin.tables.assessment.methods import choose_methods
from specmargin.tables.assessment.outcomes import RowStore
from specmargin.tables.assessment.run import prepare
from specmargin.tables.assessment.table import as_table, class_labels

METHODS = ["majority", "svm", "LapRLS", "AutoSSL"]
OF_THE_CLOCK = ("seconds", "megabytes")
pytestmark = pytest.mark.usefixtures("small_grid")


@pytest.fixture(scope="module")
def data():
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    return X, sm.hide_labels(truth, per_class=7, random_state=0)


@pytest.fixture(scope="module")
def here(data, small_grid):
    return sm.compare(*data, methods=METHODS)


class Elsewhere:
    """Makes calls as another process does: arguments and values are pickled, files lie in another folder."""

    def __init__(self, folder, last_first=True, ends_after=None):
        self.folder, self.last_first, self.ends_after, self.called = folder, last_first, ends_after, []

    def __call__(self, function, arguments, /, *, files):
        self.folder.mkdir(exist_ok=True)
        for name, file in files.items():
            shutil.copy(file, self.folder / f"{name}.npz")
        before = os.environ.get("SPECMARGIN_DATA")
        calls = list(arguments)[:: -1 if self.last_first else 1]
        for k, each in enumerate(calls):
            if k == self.ends_after:
                raise SpecmarginError("the scheduler is gone")
            self.called.append(each[0].name)
            os.environ["SPECMARGIN_DATA"] = str(self.folder)
            try:
                value = pickle.dumps(function(*pickle.loads(pickle.dumps(each))))
            finally:
                if before is None:
                    del os.environ["SPECMARGIN_DATA"]
                else:
                    os.environ["SPECMARGIN_DATA"] = before
            yield pickle.loads(value)


def same(one, other):
    """Whether two comparisons have the same rows and predictions, but for seconds and memory."""
    names = [field.name for field in fields(one.rows[0]) if field.name not in OF_THE_CLOCK]
    rows = [[getattr(row, name) for name in names] for row in one.rows]
    np.testing.assert_equal(rows, [[getattr(row, name) for name in names] for row in other.rows])
    np.testing.assert_array_equal(one.predictions.probabilities, other.predictions.probabilities)
    assert (one.chosen, one.why) == (other.chosen, other.why)
    return True


def test_methods_elsewhere_have_the_same_rows_whatever_comes_first(data, here, tmp_path) -> None:
    spread, lines = Elsewhere(tmp_path / "worker"), []
    away = sm.compare(*data, methods=METHODS, spread=spread, progress=lines.append)
    assert spread.called == ["AutoSSL", "LapRLS", "svm", "majority", "baseline"]
    assert same(here, away)
    assert "5 methods are computed elsewhere" in lines
    assert any(line.startswith("LapRLS: done in") for line in lines)
    # The fitted classifier of the best method is made here.
    assert {name: outcome.fitted for name, outcome in away.outcomes.items()} == dict.fromkeys(here.outcomes)
    new = np.array([[0.0, 1.0], [1.0, -0.5]])
    np.testing.assert_array_equal(here.model.predict_proba(new), away.model.predict_proba(new))


def test_sparse_features_come_as_they_are(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((40, 30), density=0.2, rng=rng, format="csr")
    y = np.where(np.arange(40) < 16, np.arange(40) % 2, -1)
    here = sm.compare(X, y, methods=["svm"])
    assert same(here, sm.compare(X, y, methods=["svm"], spread=Elsewhere(tmp_path / "worker")))
    table, labels = as_table(X), class_labels(y, -1)
    prepared, _ = prepare(table, labels)
    assert sp.issparse(prepared.X)
    np.savez(tmp_path / "parts.npz", **outcomes._as_arrays(prepared.X, prepared.codes))
    again, codes = outcomes._read(tmp_path / "parts.npz", 0)
    outcomes._read.cache_clear()
    assert type(again) is type(prepared.X)
    assert (again != prepared.X).nnz == 0
    assert (codes == prepared.codes).all()


def test_a_run_that_ends_keeps_what_it_has(data, here, tmp_path) -> None:
    folder = tmp_path / "kept"
    ending = Elsewhere(tmp_path / "worker", last_first=False, ends_after=2)
    with pytest.raises(
        SpecmarginError, match=r"the scheduler is gone\. Finished methods are kept .* goes on from there"
    ):
        sm.compare(*data, methods=METHODS, folder=folder, spread=ending)
    again = Elsewhere(tmp_path / "worker")
    whole = sm.compare(*data, methods=METHODS, folder=folder, spread=again)
    assert set(again.called) == {"svm", "LapRLS", "AutoSSL"}
    assert same(whole, here)
    # Nothing is sent where nothing is missing.
    third = Elsewhere(tmp_path / "nowhere")
    assert same(whole, sm.compare(*data, methods=METHODS, folder=folder, spread=third))
    assert third.called == []
    assert not third.folder.exists()


def test_the_budget_counts_from_the_beginning(data, tmp_path, monkeypatch) -> None:
    with pytest.raises(InvalidInputError, match=r"budget of 1e-09 s was spent"):
        sm.compare(*data, budget=1e-9, methods=["svm"], spread=Elsewhere(tmp_path / "worker"))
    # A method that begins late has what is left, and not the whole.
    (majority,) = choose_methods(["majority"])[1:]
    np.savez(tmp_path / "compared.npz", X=data[0], codes=data[1])
    monkeypatch.setenv("SPECMARGIN_DATA", str(tmp_path))
    for ago, notes in ((100.0, ["skipped: the budget of 50 s was spent before it"]), (10.0, [])):
        name, outcome, _ = outcomes.run_away(majority, 0, 50.0, time.time() - ago)
        assert (name, outcome.notes, outcome.was_run) == ("majority", notes, not notes)
    rows = sm.compare(*data, budget=1e6, methods=["majority"], spread=Elsewhere(tmp_path / "worker")).rows
    assert all(row.error is not None for row in rows)


def test_seconds_that_were_spent_before_count_elsewhere_too(data, tmp_path) -> None:
    prepared, _ = prepare(as_table(data[0]), class_labels(data[1], -1))
    methods = choose_methods(["majority"])
    for seconds, was_run in ((50.0, False), (150.0, True)):
        clock = Budget(seconds, start=time.monotonic() - 100.0)
        store, spread = RowStore(None, prepared.X, prepared.codes, 0), Elsewhere(tmp_path / "worker")
        found = outcomes.compute_outcomes(methods, prepared, 0, clock, store, str, spread)
        assert [outcome.was_run for outcome in found.values()] == [was_run] * len(methods)


def test_a_method_that_fails_elsewhere_is_a_row(data, tmp_path) -> None:
    wrong = sm.LapSVM(graph=1000)
    here, away = (
        sm.compare(*data, methods=["svm", wrong], spread=spread) for spread in (None, Elsewhere(tmp_path / "worker"))
    )
    assert here.row("LapSVM").notes[0].startswith("failed: ")
    assert here.row("LapSVM").notes == away.row("LapSVM").notes


def test_what_cannot_be_called_is_named(data) -> None:
    with pytest.raises(InvalidTypeError, match=r"spread='tcp://127\.0\.0\.1:8786' cannot be called; pass a function"):
        sm.compare(*data, spread="tcp://127.0.0.1:8786")
