"""`label_robustness` of each classifier that has it, against fits with false labels and the same parameters."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

import specmargin as sm
from specmargin.estimators.spectral_filter import SpectralFilterClassifier
from specmargin.exceptions import InvalidInputError

FIXED = {"gamma_A": 0.05, "gamma_I": 0.5, "kernel": 1.0, "graph": 5, "laplacian": 1}

CLASSIFIERS = {
    "LapRLS": lambda **k: sm.LapRLS(**FIXED, **k),
    "LapRLS, no graph, no intercept": lambda **k: sm.LapRLS(**FIXED | {"gamma_I": 0.0}, fit_intercept=False, **k),
    "LapRLS, eigenvectors": lambda **k: sm.LapRLS(**FIXED, functions=sm.spectra.Eigenvectors(15), **k),
    "LapRLS, landmarks": lambda **k: sm.LapRLS(**FIXED, functions=sm.kernels.Landmarks(20), **k),
    "SpectralRidge": lambda **k: sm.SpectralRidge(penalty=0.1, q=15, **k),
    "SpectralFilterClassifier": lambda **k: SpectralFilterClassifier(learn="mean", penalty=0.3, **k),
}
BALANCES = {2: (None, "shrunk", "zscore", "mass"), 3: (None, "zscore", "mass")}


def samples(n_classes, n=36, per_class=3):
    rng = np.random.default_rng(n_classes)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 2)) + 1.5 * np.column_stack([np.cos(truth * 2.1), np.sin(truth * 2.1)])
    return X, truth, sm.hide_labels(truth, per_class=per_class, random_state=0)


def false_labels(y, r):
    """Yield copies of the labels of which r are false, every one that leaves each class a label."""
    at, classes = np.flatnonzero(y >= 0), np.unique(y[y >= 0])
    for rows in itertools.combinations(at, r):
        for to in itertools.product(classes, repeat=r):
            moved = y.copy()
            moved[list(rows)] = to
            if (moved != y).sum() == r and len(np.unique(moved[moved >= 0])) == len(classes):
                yield moved


def radius_by_fits(clf, X, y, most, new=None, **fit):
    """Return the predictions of all samples, and the least number of false labels that changes them, up to `most`."""

    def predicted(labels):
        fitted = clone(clf).fit(X, labels, **fit)
        return fitted.transduction_ if new is None else np.append(fitted.transduction_, fitted.predict(new))

    base = predicted(y)
    radius = np.full(len(base), most + 1)
    for r in range(most, 0, -1):
        for moved in false_labels(y, r):
            radius[predicted(moved) != base] = r
    return base, radius


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_linear_decisions_of_two_classes(name):
    X, _, y = samples(2, n=24)
    clf = CLASSIFIERS[name](class_balance=None)
    robust = clf.fit(X, y).label_robustness()
    base, radius = radius_by_fits(clf, X, y, 2)
    np.testing.assert_array_equal(robust.classes[robust.codes], base)
    np.testing.assert_array_equal(np.minimum(robust.radius, 3), radius)
    assert robust.limit == 6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_classes", BALANCES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_radius_is_that_of_fits_with_false_labels(name, n_classes):
    X, _, y = samples(n_classes, n=24)
    new, most = X[::4] + 0.1, 1 if n_classes == 3 else 2
    weight = np.where(np.arange(len(X)) % 2, 1.0, 2.0)
    for i, rule in enumerate(BALANCES[n_classes]):
        if rule == "mass" and name == "SpectralRidge":
            continue
        clf, fit = CLASSIFIERS[name](class_balance=rule), {"sample_weight": weight} if i % 2 else {}
        clf.fit(X, y, **fit)
        both = [clf.label_robustness(at, max_flips=most) for at in (None, new)]
        base, radius = radius_by_fits(clf, X, y, most, new, **fit)
        np.testing.assert_array_equal(clf.classes_[np.concatenate([one.codes for one in both])], base)
        np.testing.assert_array_equal(np.concatenate([one.radius for one in both]), radius)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}])
@pytest.mark.parametrize("rule", [None, "shrunk"])
def test_class_weights_follow_the_false_labels(class_weight, rule):
    X, _, y = samples(2)
    for name in ("LapRLS", "SpectralRidge", "SpectralFilterClassifier"):
        clf = CLASSIFIERS[name](class_balance=rule, class_weight=class_weight)
        robust = clf.fit(X, y).label_robustness(max_flips=2)
        base, radius = radius_by_fits(clf, X, y, 2)
        np.testing.assert_array_equal(robust.classes[robust.codes], base)
        np.testing.assert_array_equal(robust.radius, radius)


@pytest.mark.parametrize("joint", [True, False])
def test_learned_filters_are_held_fixed(joint):
    X, _, y = samples(3)
    clf = SpectralFilterClassifier(joint=joint).fit(X, y)
    robust = clf.label_robustness()
    F = [
        np.asarray(one)
        for one in sm.spectra.filter_bank(
            clf.bank_.operator, clf.bank_.features, clf.bank_.filters, normalization=clf.bank_.normalization
        ).blocks
    ]
    at, l = np.flatnonzero(y >= 0), 9

    def decided(labels):
        columns = []
        for k in range(3):
            delta = clf.filter_weights_ if joint else clf.filter_weights_[k]
            penalty = clf.penalty_ if joint else clf.penalty_[k]
            K = sum(d * one @ one[at].T for d, one in zip(delta, F, strict=True))
            A = np.block([[K[at] + penalty * np.eye(l), np.ones((l, 1))], [np.ones((1, l)), np.zeros((1, 1))]])
            v = np.linalg.solve(A, np.append(np.where(labels[at] == k, 1.0, -1.0), 0.0))
            columns.append(K @ v[:l] + v[l])
        return np.argmax(columns, axis=0)

    base, radius = decided(y), np.full(len(X), 3)
    for r in (2, 1):
        for moved in false_labels(y, r):
            radius[decided(moved) != base] = r
    np.testing.assert_array_equal(robust.codes, base)
    np.testing.assert_array_equal(np.minimum(robust.radius, 3), radius)


def test_limit_and_counted():
    X, _, y = samples(2)
    clf = sm.LapRLS(**FIXED).fit(X, y)
    robust = clf.label_robustness()
    assert robust.limit == 6  # all 64 sets
    assert robust.counted.sum() == 30
    assert clf.label_robustness(X[:4]).counted.all()
    y[:20] = np.arange(20) % 2
    one = sm.LapRLS(**FIXED, class_balance=None).fit(X, y).label_robustness(max_flips=1)
    assert one.radius.max() == 2
    assert (one.flips[one.radius == 2] == -1).all()


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_linear_is_refused():
    X, _, y = samples(2)
    with pytest.raises(InvalidInputError, match="refine=None"):
        sm.SpectralRidge(refine="kmeans").fit(X, y).label_robustness()
    with pytest.raises(InvalidInputError, match="leave model out"):
        sm.SpectralRidge(q=10, model=lambda built: built).fit(X, y).label_robustness()
    with pytest.raises(InvalidInputError, match="label_flips"):
        sm.LapRLS(gamma_I=0.0, kernel="precomputed").fit(X @ X.T, y).label_robustness()
    with pytest.raises(AttributeError, match="'label_robustness'; best_estimator_ has it"):
        sm.LabelSearch(sm.LapRLS(), grid={"graph": [5]}).fit(X, y).label_robustness()


@pytest.mark.parametrize("max_flips", [0, 7, -1])
def test_more_false_labels_than_labels_are_refused(max_flips):
    X, _, y = samples(2)
    with pytest.raises(InvalidInputError, match="take 1 to 6"):
        sm.SpectralRidge().fit(X, y).label_robustness(max_flips=max_flips)


def test_a_class_of_one_label_is_refused():
    X, truth, _ = samples(3)
    y = sm.hide_labels(truth, per_class=1, random_state=0)
    with pytest.raises(InvalidInputError, match="the class 0 has one label"):
        sm.SpectralRidge().fit(X, y).label_robustness()
    with pytest.raises(InvalidInputError, match="continuous"):
        sm.SpectralRidge().fit(X, np.where(np.arange(len(X)) < 9, X[:, 0], -1.0))


# Predictions that change at once


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_as_many_change_at_once_as_in_the_worst_fit(name, n_classes):
    X, _, y = samples(n_classes)
    clf = CLASSIFIERS[name](class_balance=None).fit(X, y)
    found = clf.collective_flips(1)
    hidden = y < 0
    refits = [
        (clone(clf).fit(X, moved).transduction_ != clf.transduction_)[hidden].sum() for moved in false_labels(y, 1)
    ]
    assert found.exact
    assert found.attained == max(refits)
    assert found.one_at_a_time == (clf.label_robustness().radius[hidden] <= 1).sum()


@pytest.mark.filterwarnings("ignore")
def test_new_samples_change_at_once():
    X, _, y = samples(2)
    clf = CLASSIFIERS["LapRLS"](class_balance=None).fit(X, y)
    found = clf.collective_flips(2, X[:4] + 0.1)
    assert found.total == 4
    assert found.bound <= 4


@pytest.mark.parametrize(
    ("clf", "r", "text"),
    [
        (sm.LapRLS(**FIXED), 1, "take class_balance=None"),
        (sm.LapRLS(**FIXED, class_balance=None, class_weight="balanced"), 1, "class_weight=None"),
        (sm.LapRLS(**FIXED, class_balance=None), 7, "there are 6; take 0 to 6"),
    ],
)
def test_what_is_not_linear_and_too_many_labels_are_refused(clf, r, text):
    X, _, y = samples(2)
    with pytest.raises(InvalidInputError, match=text):
        clf.fit(X, y).collective_flips(r)
