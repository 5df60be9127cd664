"""AutoSSL end to end: what it predicts, what it reports, and data at the edges."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.datasets import load_wine, make_blobs
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

import specmargin as sm
from specmargin.exceptions import InvalidInputError, SingleClassWarning
from specmargin.objectives.held_out.calibration import log_probabilities
from specmargin.tables import auto_ssl
from specmargin.tables.candidates import CONSTANTS, graph_bank, train_candidates


def blobs(n=120, n_classes=2, d=5, seed=0):
    return make_blobs(n, n_features=d, centers=n_classes, cluster_std=1.0, random_state=seed)


@pytest.fixture(scope="module")
def moons():
    X, truth = sm.datasets.make_two_moons(n_samples=160, noise=0.1, random_state=0)
    y = sm.hide_labels(truth, n_labeled=12, random_state=1)
    return X, y, truth, sm.AutoSSL().fit(X, y)


def test_training_samples_and_new_ones_are_predicted_alike(moons):
    X, _, truth, clf = moons
    assert np.mean(clf.transduction_ == truth) > 0.9
    np.testing.assert_allclose(clf.decision_function(X), clf.scores_, atol=1e-8)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p, clf.probabilities_, atol=1e-9)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), clf.scores_, atol=1e-7)
    assert (clf.classes_[p.argmax(axis=1)] == clf.predict(X)).all()
    new, labels = sm.datasets.make_two_moons(n_samples=300, noise=0.1, random_state=5)
    assert np.mean(clf.predict(new) == labels) > 0.9
    assert np.isfinite(clf.predict_proba(np.array([[1e6, -1e6]]))).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_mixture_at_the_scale_of_left_out_labels(n_classes):
    X, truth = make_blobs(150, n_features=4, centers=n_classes, cluster_std=4.0, random_state=3)
    y = sm.hide_labels(truth, n_labeled=24, random_state=0)
    clf = sm.AutoSSL().fit(X, y)
    for fitted, scale in ((clf, clf.calibration_), (clf.baseline_, clf.baseline_.calibration_)):
        held, own = np.log(fitted.held_out_), y[y != -1]
        ordered = np.sort(held, axis=1)
        margin = (ordered[:, -1] - ordered[:, :-1].mean(axis=1)).mean()
        pseudo = np.array([margin] + [0.0] * (n_classes - 1))

        def loss(T, held=held, own=own, pseudo=pseudo):
            of_labels = (logsumexp(T * held, axis=1) - T * held[np.arange(len(own)), own]).sum()
            return of_labels + sum(logsumexp(T * pseudo) - T * pseudo[k] for k in (0, 1))

        expected = minimize_scalar(loss, bounds=(1e-3, 30), options={"xatol": 1e-9}).x
        assert scale == pytest.approx(expected, rel=1e-5)
        mixture = fitted.mixture if fitted is clf.baseline_ else clf._fitted.mixture
        np.testing.assert_allclose(
            fitted.predict_proba(X), softmax(scale * mixture.log_proba(X), axis=1), rtol=1e-9, atol=1e-300
        )
        np.testing.assert_array_equal(fitted.predict(X), clf.classes_[mixture.log_proba(X).argmax(axis=1)])


def test_the_only_label_of_a_class_says_nothing_of_the_scale():
    X, truth = blobs(60)
    clf = sm.AutoSSL().fit(X, sm.hide_labels(truth, per_class=1, random_state=0))
    assert clf.calibration_ == 1.0
    np.testing.assert_allclose(clf.probabilities_, np.exp(clf._fitted.mixture.log_probabilities), rtol=1e-12)


def test_the_baseline_ignores_the_unlabelled_samples_but_for_centre_and_threshold(moons):
    X, y, _, clf = moons
    baseline = clf.baseline_
    assert set(baseline.mixture.family_weights()) == {"sup", "svm"}
    assert (baseline.predict(X) == baseline.transduction_).mean() > 0.99
    np.testing.assert_allclose(baseline.predict_proba(X), baseline.probabilities_, atol=1e-9)
    alone = sm.AutoSSL(families=("sup", "svm")).fit(X, y)
    np.testing.assert_allclose(alone.probabilities_, baseline.probabilities_, atol=1e-12)
    assert alone.report_.comparison.disagreement == 0


def test_the_report_says_what_was_tried_and_how_sure_that_is(moons):
    X, _, truth, clf = moons
    report = clf.report_
    assert (report.n_samples, report.n_labeled, sum(report.label_counts.values())) == (160, 12, 12)
    assert report.n_candidates == len(CONSTANTS.penalties) * report.n_kernels + 16 + 2 * len(CONSTANTS.s3vm_shares)
    assert sum(report.families.values()) == pytest.approx(1.0)
    assert report.leading[0][2] >= report.leading[-1][2]
    low, high = report.estimate.interval
    assert low <= report.estimate.error <= high
    text = str(report)
    for word in ("candidates", "expected error", "supervised baseline", "McNemar", "power", "verdict", report.verdict):
        assert word in text
    assert "<table>" in report._repr_html_()
    differs = np.mean(clf.transduction_ != clf.baseline_.transduction_)
    assert report.comparison.disagreement == pytest.approx(differs)
    few = sm.AutoSSL().fit(X, sm.hide_labels(truth, n_labeled=6, random_state=0)).report_
    assert few.verdict.startswith("too few labels to judge")
    assert "not estimated" in str(few)
    assert "McNemar" not in str(few)


def test_one_random_state_gives_one_answer(moons):
    X, y, _, clf = moons
    again = clone(clf).fit(X, y)
    np.testing.assert_array_equal(again.scores_, clf.scores_)
    assert str(again.report_) == str(clf.report_)


def test_constants_are_in_one_place(moons):
    X, y, _, clf = moons
    constants = replace(CONSTANTS, graph_neighbors=(4, 8), prior=(*CONSTANTS.prior[1:], ("graph", 9.0)))
    other = clone(sm.AutoSSL(constants=constants)).fit(X, y)
    assert other.report_.families["graph"] > clf.report_.families["graph"]
    assert other.report_.n_kernels < clf.report_.n_kernels


@pytest.mark.parametrize("n_classes", [3, 20])
def test_number_of_classes(n_classes):
    X, truth = blobs(400, n_classes, d=20)
    y = sm.hide_labels(truth, per_class=3, random_state=0)
    clf = sm.AutoSSL().fit(X, y)
    assert clf.predict_proba(X[:3]).shape == (3, n_classes)
    assert np.mean(clf.transduction_ == truth) > 0.97


@pytest.mark.parametrize(
    ("counts", "n"),
    [((1, 6), 120), ((1, 1, 1), 60), ((1, 1), 8), ((3, 3, 9), 29), ((30, 30), 60)],
)
def test_few_labels_few_samples_and_all_labelled(counts, n):
    X, truth = blobs(n, len(counts))
    y = np.full(n, -1)
    for c, count in enumerate(counts):
        y[np.flatnonzero(truth == c)[:count]] = c
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.exceptions.MarkerWarning)
        clf = sm.AutoSSL().fit(X, y)
    # Of one and six labels the shares cannot be known.
    assert np.mean(clf.transduction_ == truth) > (0.7 if counts == (1, 6) else 0.85)
    assert np.isfinite(clf.probabilities_).all()


def test_constant_and_duplicated_columns_and_rows_change_little():
    X, truth = blobs(100)
    y = sm.hide_labels(truth, per_class=5, random_state=0)
    plain = sm.AutoSSL().fit(X, y)
    more = sm.AutoSSL().fit(np.column_stack([X, X[:, 0], np.full(100, 7.0)]), y)
    assert np.mean(more.transduction_ == plain.transduction_) > 0.97
    twice = sm.AutoSSL().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert (twice.transduction_[::2] == twice.transduction_[1::2]).all()
    assert np.mean(twice.transduction_[::2] == truth) > 0.95


def test_samples_that_are_all_alike_are_answered_with_a_warning():
    y = np.array([0, 1, 0, 1, -1, -1, -1, -1])
    for families in ("graph", ("graph", "pca", "lap", "sup", "svm")):
        with pytest.warns(SingleClassWarning):
            clf = sm.AutoSSL(families=families).fit(np.ones((8, 2)), y)
        np.testing.assert_allclose(clf.probabilities_, 0.5)


@pytest.mark.parametrize(("scale", "offset"), [(1e-8, 1e3), (1e8, 0.0)])
def test_units_and_origin_do_not_matter(scale, offset):
    X, truth = blobs(90, 3)
    y = sm.hide_labels(truth, per_class=4, random_state=0)
    plain, moved = sm.AutoSSL().fit(X, y), sm.AutoSSL().fit(scale * (X + offset), y)
    np.testing.assert_allclose(moved.probabilities_, plain.probabilities_, atol=1e-4)
    np.testing.assert_allclose(moved.predict_proba(scale * (X[:5] + offset)), plain.probabilities_[:5], atol=1e-4)


def test_sparse_text_is_taken_as_it_is():
    rng = np.random.default_rng(0)
    truth = np.arange(100) % 2
    topics = rng.dirichlet(np.full(300, 0.1), size=2)
    X = sp.csr_matrix(np.array([rng.multinomial(60, topics[t]) for t in truth]).astype(float))
    y = sm.hide_labels(truth, per_class=4, random_state=0)
    for metric in ("euclidean", "cosine"):
        clf = sm.AutoSSL(metric=metric).fit(X, y)
        assert np.mean(clf.transduction_ == truth) > 0.9
        np.testing.assert_allclose(clf.predict_proba(X[:9]), clf.probabilities_[:9], atol=1e-6)


def test_a_row_of_zeros_has_no_direction_and_an_answer():
    X, truth = blobs(60)
    X[3] = 0.0
    y = sm.hide_labels(truth, per_class=4, random_state=0)
    clf = sm.AutoSSL(metric="cosine").fit(X, y)
    assert np.isfinite(clf.probabilities_).all()
    assert np.isfinite(clf.predict_proba(np.zeros((1, 5)))).all()


def test_a_given_graph_is_used():
    truth = np.arange(80) % 2
    X = np.random.default_rng(0).standard_normal((80, 3))  # no information
    W = (truth[:, None] == truth) * 1.0 - np.eye(80)
    y = sm.hide_labels(truth, per_class=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = sm.AutoSSL().fit(X, y, graph=W)
    assert np.mean(clf.transduction_ == truth) > 0.95
    assert np.mean(sm.AutoSSL().fit(X, y).transduction_ == truth) < 0.7


def test_bundled_data_are_classified_better_than_by_chance_and_calibrated():
    X, truth = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    y = sm.hide_labels(truth, n_labeled=20, random_state=3)
    clf = sm.AutoSSL().fit(X, y)
    hidden = y == -1
    error = np.mean(clf.transduction_[hidden] != truth[hidden])
    assert error < 0.12
    low, high = clf.report_.estimate.interval
    assert low - 0.05 < error < high + 0.05


@pytest.mark.slow
def test_a_class_of_one_in_fifty_is_recognised_as_by_a_balanced_svm():
    X, truth = sm.datasets.make_two_moons(n_samples=3000, noise=0.15, random_state=0)
    ours, svm = [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows = np.concatenate([rng.permutation(np.flatnonzero(truth == c))[:n] for c, n in ((1, 12), (0, 588))])
        y = np.full(600, -1)
        y[:3], y[12:159] = 1, 0
        hidden, t = y == -1, truth[rows]
        auto = sm.AutoSSL().fit(X[rows], y)
        supervised = SVC(class_weight="balanced").fit(X[rows][~hidden], y[~hidden])
        ours.append(balanced_accuracy_score(t[hidden], auto.transduction_[hidden]))
        svm.append(balanced_accuracy_score(t[hidden], supervised.predict(X[rows][hidden])))
    assert np.mean(ours) > np.mean(svm)  # 0.99 and 0.86
    assert min(ours) > 0.9


def test_s3vms_alone_are_for_two_classes(moons):
    X, y, truth, _ = moons
    alone = sm.AutoSSL(families="s3vm").fit(X, y)
    assert set(alone.report_.families) == {"s3vm"}
    assert np.mean(alone.transduction_ == truth) > 0.8
    several = np.where(y == 0, (X[:, 0] > 0) * 2, y)
    with pytest.raises(InvalidInputError, match="is for two classes, and y has 3; add another family"):
        sm.AutoSSL(families=["s3vm"]).fit(X, several)
    both = sm.AutoSSL(families=["s3vm", "graph"]).fit(X, several)
    assert set(both.report_.families) == {"graph"}


def test_known_shares_of_the_classes():
    X, truth = blobs(300, 3, d=2, seed=2)
    rare = np.concatenate([np.flatnonzero(truth == c)[:size] for c, size in enumerate((100, 30, 10))])
    X, names = 0.7 * X[rare], np.array(["a", "b", "c"])[truth[rare]]
    shares = {name: float(np.mean(names == name)) for name in "cab"}
    y = np.full(len(rare), "?", dtype=object)
    for name in "abc":
        y[np.flatnonzero(names == name)[:3]] = name
    with warnings.catch_warnings():
        warnings.simplefilter("error", sm.exceptions.ClassShareWarning)  # labels do not speak against known shares
        clf = sm.AutoSSL(class_balance=shares, unlabeled="?").fit(X, y)
    for one in (clf, clf.baseline_):
        p = np.exp(log_probabilities(np.log(one.probabilities_) / one.calibration_))
        np.testing.assert_allclose(p.mean(axis=0), [shares[name] for name in "abc"], atol=1e-3)
    with pytest.warns(sm.exceptions.ClassShareWarning, match="or give class_balance= where the shares are known"):
        plain = sm.AutoSSL(unlabeled="?").fit(X, y)
    assert np.mean(clf.transduction_ == names) >= np.mean(plain.transduction_ == names)
    intervals = {name: (share, share) for name, share in shares.items()}
    ends = sm.AutoSSL(class_balance=intervals, unlabeled="?").fit(X, y)
    np.testing.assert_array_equal(ends.probabilities_, clf.probabilities_)
    with pytest.raises(ValueError, match="never 1"):
        sm.AutoSSL(class_balance={"a": 0.5, "b": 0.1, "c": 0.1}, unlabeled="?").fit(X, y)


def test_shares_of_labels_do_not_matter_where_those_of_the_classes_are_known():
    X, truth = blobs(200)
    y = np.full(200, -1)
    y[np.flatnonzero(truth == 0)[:3]], y[np.flatnonzero(truth == 1)[:40]] = 0, 1
    clf = sm.AutoSSL(class_balance={0: 0.5, 1: 0.5}).fit(X, y)
    assert np.mean(clf.transduction_) == 0.5
    assert np.mean(clf.transduction_ == truth) > 0.99
    plain = sm.AutoSSL().fit(X, y)
    wide = sm.AutoSSL(class_balance={0: (0.0, 1.0), 1: (0.0, 1.0)}).fit(X, y)
    np.testing.assert_allclose(wide.probabilities_, plain.probabilities_, atol=1e-12)
    above = sm.AutoSSL(class_balance={0: (0.0, 0.4), 1: (0.6, 0.7)}).fit(X, y)
    assert 0.59 < np.mean(above.transduction_) < 0.71


@pytest.mark.parametrize(("large", "threads"), [(5000, [1]), (100, [3])])
def test_threads_share_the_decompositions_of_many_samples_only(large, threads, monkeypatch):
    X, truth = blobs(150)
    y, seen, built = sm.hide_labels(truth, per_class=4, random_state=0), set(), auto_ssl.build_bank

    def blas():
        return {one["filepath"]: one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    def bank(*args, **params):
        seen.update(count for path, count in blas().items() if path in before)
        return built(*args, **params)

    monkeypatch.setattr(auto_ssl, "build_bank", bank)
    with threadpool_limits(3, user_api="blas"):
        # A library that is loaded later has a number of its own, and one without threads has one.
        before = {path for path, count in blas().items() if count == 3}
        sm.AutoSSL(constants=replace(CONSTANTS, large=large)).fit(X, y)
        assert sorted(seen) == threads
        assert {count for path, count in blas().items() if path in before} == {3}


def test_a_graph_alone_is_learned_from():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 25)
    W = np.triu(rng.random((75, 75)) < np.where(truth[:, None] == truth, 0.35, 0.02), 1).astype(float)
    W += W.T
    y = sm.hide_labels(truth, per_class=3, random_state=0)
    clf = sm.AutoSSL().fit(None, y, graph=W)
    assert np.mean(clf.transduction_ == truth) > 0.95
    assert set(clf.report_.families) == {"graph"}
    assert clf.report_.comparison.disagreement == 0  # nothing is supervised
    assert clf.score(None, truth) == np.mean(clf.transduction_ == truth)
    order = rng.permutation(75)
    again = sm.AutoSSL().fit(None, y[order], graph=W[np.ix_(order, order)])
    np.testing.assert_allclose(again.probabilities_, clf.probabilities_[order], atol=1e-6)
    larger = np.zeros((76, 76))
    larger[:75, :75] = W
    larger[75, :3] = larger[:3, 75] = 1.0
    assert clf.predict(None, graph=larger)[0] == truth[0]
    with pytest.raises(InvalidInputError, match="learned from a graph alone"):
        clf.predict(np.eye(75)[:2])
    with pytest.raises(InvalidInputError, match="learned from a graph alone"):
        clf.predict_proba(np.eye(75)[:2])
    with pytest.raises(InvalidInputError, match=r"families=\('sup',\) need features"):
        sm.AutoSSL(families=("sup",)).fit(None, y, graph=W)


def test_label_spreading_is_among_the_candidates_of_a_graph_alone():
    rng = np.random.default_rng(1)
    W = sp.csr_array(np.triu(rng.random((30, 30)) < 0.3, 1).astype(float))
    W = sp.csr_array(W + W.T + sp.diags_array(np.ones(29), offsets=1) + sp.diags_array(np.ones(29), offsets=-1))
    codes, labeled = np.array([0, 1, 0, 1, 1, 0]), np.array([0, 4, 9, 13, 20, 29])
    [group] = graph_bank(W)
    root = np.sqrt(W.sum(axis=1))
    S = W.toarray() / np.outer(root, root)
    at = group.names.index("spreading 0.9")
    K = (group.map.values * group.weights[at]) @ group.map.values.T
    exact = np.linalg.inv(np.eye(30) - 0.9 * S)
    H = np.eye(30) - 1.0 / 30
    exact = H @ exact @ H
    np.testing.assert_allclose(K / np.trace(K), exact / np.trace(exact), atol=1e-8)
    # A large penalty adds the kernel over the labels, and a label that is left out is taken out of the sum.
    constants = replace(CONSTANTS, penalties=(1e9,))
    one = replace(group, names=[group.names[at]], weights=group.weights[[at]])
    [trained] = train_candidates([one], labeled, codes, 2, families=("graph",), constants=constants)
    f = group.map.values @ trained.coefficients[:, 0, 0]
    spread = K[:, labeled] @ np.where(codes == 1, 1.0, -1.0)
    np.testing.assert_allclose(f / np.abs(f).max(), spread / np.abs(spread).max(), atol=1e-6)


def test_a_graph_without_edges_is_answered_with_a_warning():
    y = np.array([0, 1, 0, 1, 0, *[-1] * 20])
    with pytest.warns(sm.exceptions.DisconnectedGraphWarning):
        clf = sm.AutoSSL().fit(None, y, graph=np.zeros((25, 25)))
    assert (clf.transduction_[5:] == clf.transduction_[5]).all()
    assert (clf.transduction_[:5] == y[:5]).mean() >= 0.6
