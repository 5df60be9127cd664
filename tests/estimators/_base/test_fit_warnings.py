"""What classifiers warn of: each warning where it is due, none where it is not, and what it tells to do."""

import warnings
from math import comb
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import specmargin as sm
from cvxproof.results import INACCURATE_GAP, Certificate, SolveResult, Status
from specmargin.estimators import LapSVM
from specmargin.estimators._base.classifier import warn_of_classes as warn_of_positions
from specmargin.estimators._base.semi_supervised import _DOUBTFUL, warn_of_scales
from specmargin.exceptions import (
    ClassShareWarning,
    ColumnScaleWarning,
    DisconnectedGraphWarning,
    SingleClassWarning,
    SpecmarginWarning,
)
from specmargin.kernels import RBF
from specmargin.labels.shares import codes_of

MANIFOLD = {"kernel": [RBF(2.0)], "graph": [8], "laplacian": [2], "gamma_I": ["100 gamma_A"]}
CLASSIFIERS = {
    "LapSVM": {"kernel": RBF(2.0)},
    "LapRLS": {"kernel": RBF(2.0)},
    "LabelSearch": {"grid": MANIFOLD},
    "SpectralRidge": {},
    "STORM": {},
    "KTA": {},
    "SpectralGraphTransducer": {},
    "RMM": {},
    "S3VM": {"search": "quasi_newton"},
}


class Fitted:
    """A classifier that predicted something."""

    def __init__(self, scores, **params):
        self.scores_ = np.asarray(scores, dtype=float)
        vars(self).update(params)


def warn_of_classes(fitted, labels):
    warn_of_positions(fitted, labels, codes_of(fitted.scores_))


def labels_of(known, n):
    return sm.encode_labels(np.concatenate([known, np.full(n - len(known), -1)]).astype(int))


def told(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args)
    return [(one.category, str(one.message)) for one in caught]


def clusters(rng, n=160, share=0.5):
    truth = (np.arange(n) >= (1 - share) * n).astype(int)
    return rng.normal(size=(n, 3)) + 5.0 * truth[:, None], truth


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_columns_of_unequal_scale(name, rng):
    X, truth = clusters(rng)
    y = sm.hide_labels(truth, per_class=5, random_state=0)
    cls = getattr(sm, name)
    with pytest.warns(
        ColumnScaleWarning, match=r"column 2 spans .* and column 0 .*scale them.*StandardScaler"
    ) as caught:
        cls(**CLASSIFIERS[name]).fit(X * [1.0, 10.0, 1e4], y)
    caught = [one for one in caught if one.category is ColumnScaleWarning]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not [one for one in told(cls(**CLASSIFIERS[name]).fit, X, y) if one[0] is ColumnScaleWarning]


def test_scales_are_those_of_ranges(rng):
    X = rng.normal(size=(50, 4))
    ranges = np.ptp(X, axis=0)
    at = Fitted([0.0])
    assert told(warn_of_scales, at, X / ranges * [1.0, 999.0, 1.0, 1.0]) == []
    assert [kind for kind, _ in told(warn_of_scales, at, X / ranges * [1.0, 1001.0, 1.0, 1.0])] == [ColumnScaleWarning]
    # Constant columns have no scale, wherever they lie; nor has one column, or none that moves.
    constant = np.column_stack([X, np.full(50, 1e9), np.zeros(50), 1e9 * (1 + 1e-16 * np.arange(50))])
    for calm in (constant, X[:, :1], np.ones((5, 3)), X + 1e4, StandardScaler().fit_transform(X * [1, 1e6, 1, 1])):
        assert told(warn_of_scales, at, calm) == []
    # The zeros of a sparse matrix count: a word that is rare is on the scale of its entries.
    sparse = sp.csr_array((rng.random((400, 30)) < 0.01) * rng.random((400, 30)))
    assert told(warn_of_scales, at, sparse) == []
    assert told(warn_of_scales, at, sp.csr_array(sparse @ sp.diags_array(np.r_[1e5, np.ones(29)])))
    # Rows of length one, as tf-idf makes them, are meant so; of other words no advice centres the columns.
    counts = (rng.random((400, 30)) < 0.1) * np.r_[1e-4, np.ones(29)]
    counts[:, 5] += 0.5
    words = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    for kind in (np.asarray, sp.csr_array):
        assert told(warn_of_scales, at, kind(words)) == []
        ((_, message),) = told(warn_of_scales, at, kind(counts * np.r_[np.ones(5), 0.0, np.ones(24)]))
        assert "MaxAbsScaler" in message
        assert "StandardScaler" not in message
    named = Fitted([0.0], feature_names_in_=np.array(["age", "income"], dtype=object))
    assert "column 'income' spans" in told(warn_of_scales, named, X[:, :2] * [1.0, 1e5])[0][1]


def test_a_kernel_has_no_columns(moons):
    X, _, y = moons
    K = np.diag(np.geomspace(1.0, 1e8, len(X)))
    assert not [one for one in told(sm.RMM(kernel="precomputed").fit, K, y) if one[0] is ColumnScaleWarning]


def test_one_class_for_all_training_samples():
    labels = labels_of([0, 1], 6)
    (one,) = told(warn_of_classes, Fitted(-np.ones(6)), labels)
    assert one[0] is SingleClassWarning
    assert "all 6 training samples are predicted to be of the class 0, though 2 classes are labelled" in one[1]
    assert "Check these, or label more samples." in one[1]
    assert told(warn_of_classes, Fitted(-np.ones(6), class_balance=None, classes_=[0, 1]), labels)[0][1].endswith(
        "or take class_balance='shrunk'."
    )
    assert "give balance=" in told(warn_of_classes, Fitted(-np.ones(6), balance=None), labels)[0][1]
    several = labels_of([0, 1, 2], 9)
    assert "class 2, though 3 classes" in told(warn_of_classes, Fitted(np.eye(3)[np.full(9, 2)]), several)[0][1]


def test_one_class_for_all_unlabelled_samples_is_no_chance():
    """By the labels 0 and 1 all u samples are of one class with the probability of Polya's urn."""
    for u in range(1, 12):
        labels = labels_of([0, 1], 2 + u)
        # Urn with 3 + 3 balls: (3 4 ... ) / (6 7 ... ) = 60 / ((u + 3)(u + 4)(u + 5)) for u draws of one colour.
        chance = comb(u + 2, 2) / comb(u + 5, 5)
        scores = np.r_[-1.0, 1.0, -np.ones(u)]
        kinds = [kind for kind, _ in told(warn_of_classes, Fitted(scores), labels)]
        assert (SingleClassWarning in kinds) == (chance <= 0.05), u
    lopsided = labels_of([0] * 400 + [1], 411)
    assert told(warn_of_classes, Fitted(np.r_[-np.ones(400), 1.0, -np.ones(10)]), lopsided) == []


def test_shares_that_the_labels_speak_against():
    """Four labels of each class: Beta(6, 6) has 95 % of its mass between 0.234 and 0.766."""
    labels = labels_of([0] * 4 + [1] * 4, 1000)
    for share, due in ((0.22, True), (0.25, False), (0.5, False), (0.75, False), (0.78, True)):
        f = np.where(np.arange(1000) < 1000 * share, 1.0, -1.0)
        caught = told(warn_of_classes, Fitted(f), labels)
        assert [kind for kind, _ in caught] == [ClassShareWarning] * due
        if due:
            assert "(4 of 8) 23% to 77% are credible. If labels were drawn at random" in caught[0][1]
            assert "label more samples." in caught[0][1]
            ((_, alone),) = told(warn_of_classes, Fitted(f, _alone=True), labels)
            assert "the graph or the parameters may mislead" in alone
            assert "features" not in alone
    many = labels_of([0] * 400 + [1] * 400, 10_000)
    assert told(warn_of_classes, Fitted(np.where(np.arange(10_000) < 5600, 1.0, -1.0)), many)
    assert not told(warn_of_classes, Fitted(np.where(np.arange(10_000) < 5200, 1.0, -1.0)), many)
    # All are labelled: nothing is predicted.
    full = labels_of([0] * 10 + [1] * 10, 20)
    assert told(warn_of_classes, Fitted(np.r_[np.ones(19), -1.0]), full) == []


def test_shares_of_several_classes():
    labels = labels_of([0, 1, 2] * 4, 900)
    balanced = np.eye(3)[np.arange(900) % 3]
    assert told(warn_of_classes, Fitted(balanced), labels) == []
    (one,) = told(warn_of_classes, Fitted(np.eye(3)[np.minimum(np.arange(900) // 400, 1)]), labels)
    assert one[0] is ClassShareWarning
    assert "0% of the 900 training samples are predicted to be of the class 2" in one[1]


def test_a_threshold_that_was_moved_is_told():
    """The cut makes the shares credible: what it had to mend is told all the same."""
    rng = np.random.default_rng(0)
    X, truth = clusters(rng, share=0.5)
    y = sm.hide_labels(truth, per_class=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sm.LapSVM().fit(X - 4.0 * truth[:, None], y)  # nothing to mend
    # A graph that ties all samples to those of the first class.
    W = np.zeros((160, 160))
    W[np.arange(159), np.arange(1, 160)] = W[np.arange(1, 160), np.arange(159)] = 1.0
    noise = rng.normal(size=(160, 3))
    y = np.full(160, -1)
    y[:5], y[150:152] = 0, 1
    with pytest.warns(
        ClassShareWarning, match=r"would be predicted.*class_balance='shrunk' moved the threshold, and \d+%"
    ):
        clf = sm.LapRLS(gamma_A=10.0, gamma_I=1e-3).fit(noise, y, graph=W)
    assert 0.2 < (clf.transduction_ == 1).mean() < 0.6
    with pytest.warns(SpecmarginWarning, match="or take class_balance='shrunk'"):
        sm.LapRLS(gamma_A=10.0, gamma_I=1e-3, class_balance=None).fit(noise, y, graph=W)


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name not in ("RMM", "S3VM")])
def test_a_component_without_a_label(name, rng):
    X, truth = clusters(rng)
    y = np.full(160, -1)
    y[:4], y[4:8] = 0, 1  # of the first cluster all
    with pytest.warns(
        DisconnectedGraphWarning, match=r"hold no label: .*Label one of each.*raise n_neighbors"
    ) as caught:
        getattr(sm, name)(**CLASSIFIERS[name]).fit(X + 100.0 * truth[:, None], y)
    assert {one.filename for one in caught} == {__file__}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_good_data_are_met_with_silence(name):
    X, truth = clusters(np.random.default_rng(2))
    X = X - 4.0 * truth[:, None]  # the clusters touch
    y = sm.hide_labels(truth, per_class=10, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpecmarginWarning)
        getattr(sm, name)(**CLASSIFIERS[name]).fit(X, y)


def test_the_table_of_statuses_in_the_documentation_is_whole() -> None:
    page = (Path(__file__).parents[3] / "docs" / "certificates.md").read_text(encoding="utf-8")
    table = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `") and "` |" in line]
    rows = {name.strip("`"): cells for name, *cells in table if name.strip("`").isupper()}
    assert list(rows) == [status.name for status in Status]
    words = [line.split(maxsplit=1)[0] for line in (Status.__doc__ or "").splitlines() if line.strip()]
    assert [word for word in words if word in Status.__members__] == list(rows)
    for status in Status:
        given, _, supposed, usable, warns = rows[status.name]
        assert (usable == "no") == (warns == "raises") == (not status.has_solution)
        assert (warns == "yes") == (status in _DOUBTFUL)
        if status in (Status.OPTIMAL, Status.OPTIMAL_INACCURATE, Status.INFEASIBLE, Status.UNBOUNDED):
            assert supposed == "nothing"
        if status in (Status.CONDITIONAL, Status.OPTIMAL_INACCURATE):
            assert f"relative gap <= {INACCURATE_GAP:g}" in given


def test_estimators_tell_what_an_answer_supposes() -> None:
    certificate = Certificate(1.0, 1.0, kind="cone program", assumptions=("|x| <= 1",))
    with pytest.warns(ConvergenceWarning, match=r"CONDITIONAL.* is proved to .* only, supposing \|x\| <= 1\."):
        LapSVM()._warn_of_gaps([SolveResult("LapSVM dual", certificate.status(1e-6), {}, certificate)])
