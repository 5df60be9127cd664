"""Folds, and SVMs trained in them, against scikit-learn on the features themselves."""

import numpy as np
from sklearn.svm import SVC

from specmargin.labels.encoding import as_they_appear
from specmargin.tables.candidates.hinge import held_out_hinge, stratified_folds
from specmargin.tables.candidates.ridge import targets


def test_folds_are_stratified():
    codes = np.repeat([0, 1, 2], [7, 12, 4])
    folds = stratified_folds(codes, 10, np.random.default_rng(0))
    assert sorted(np.bincount(folds).tolist()) == [2] * 7 + [3] * 3
    for c in range(3):
        assert np.bincount(folds[codes == c], minlength=10).max() <= np.ceil((codes == c).sum() / 10)
    assert stratified_folds(np.array([0, 1, 1]), 10, np.random.default_rng(0)).max() == 2


def test_decisions_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    codes = np.concatenate([np.arange(3), rng.integers(3, size=21)])
    P = rng.standard_normal((24, 5)) + codes[:, None]
    Y, folds = targets(codes, 3), stratified_folds(codes, 10, rng)
    fits = held_out_hinge(P, Y, Cs=(1.0, 10.0), folds=folds)
    for p, C in enumerate((1.0, 10.0)):
        for c in range(3):
            f = P @ (P.T @ fits.dual[p, :, c]) + fits.intercept[p, c]
            np.testing.assert_allclose(f, SVC(kernel="linear", C=C).fit(P, Y[:, c]).decision_function(P), atol=2e-2)
            test = folds == 4
            svm = SVC(kernel="linear", C=C).fit(P[~test], Y[~test, c])
            np.testing.assert_allclose(fits.held_out[p, test, c], svm.decision_function(P[test]), atol=2e-2)
            np.testing.assert_allclose(fits.intercept_without[p, test, c], svm.intercept_[0], atol=2e-2)


def test_one_class_in_a_part_is_its_decision():
    Y = np.array([[-1.0], [1.0], [1.0]])
    held = held_out_hinge(np.arange(3.0)[:, None], Y, Cs=(1.0,), folds=np.arange(3)).held_out
    assert held[0, 0, 0] == 1.0


def test_names_of_classes_change_no_fold():
    codes = np.random.default_rng(3).integers(0, 3, 40)
    folds = [
        stratified_folds(as_they_appear(one), 10, np.random.default_rng(0)).tolist()
        for one in (codes, np.array([2, 0, 1])[codes])
    ]
    assert folds[0] == folds[1]
