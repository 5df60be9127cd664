"""The supervised twin: the best SVM of its grid, by brute force."""

import numpy as np
import pytest
from sklearn.svm import SVC

import specmargin as sm
from specmargin.estimators._search.candidates import folds_of
from specmargin.estimators._search.trials import judged
from specmargin.estimators._search.twin import supervised_twin


@pytest.mark.parametrize("weighted", [False, True])
def test_the_twin_is_the_best_svm_of_its_grid(blobs, weighted):
    X, _, y = blobs
    c = np.random.default_rng(0).uniform(0.2, 5.0, 9) if weighted else np.ones(9)
    labels = sm.encode_labels(y, "?").weighted(c) if weighted else sm.encode_labels(y, "?")
    folds = folds_of(3, X, labels)
    twin = supervised_twin(1e3 * X, labels, folds, (0.1, 10.0), "nll")
    known, median = X[labels.labeled], sm.kernels.resolve_gamma(X, "median")
    kernels = [{"kernel": "linear"}] + [{"kernel": "rbf", "gamma": median / m**2} for m in (0.5, 1.0, 2.0)]
    found, tested = [], np.concatenate([fold.test for fold in folds])
    for kernel in kernels:
        K = sm.kernels.gram(known, **kernel)
        unit = np.trace(K - K.mean(axis=0)) / 9
        for C in (0.1, 10.0):
            parts = []
            for left, test in folds:
                train = np.setdiff1d(np.arange(9), left)
                svms = [SVC(C=C / unit, **kernel).fit(known[train], s[train], c[train]) for s in labels.sign.T]
                parts.append(np.column_stack([svm.decision_function(known[test]) for svm in svms]))
            f = np.concatenate(parts)[None]
            found.append(judged(f, f, labels, "nll", tested))
    losses, wrong = np.concatenate([one.losses for one in found]), np.concatenate([one.wrong for one in found])
    assert -twin.score == pytest.approx(min(one.values["nll"][0] for one in found), abs=2e-3)
    chosen = [np.delete(losses, i, axis=1).sum(axis=1).argmin() for i in range(9)]
    assert twin.wrong[tested].tolist() == wrong[chosen, np.arange(9)].tolist()
    svm = twin.fitted(1e3 * X, y, labels, "?")
    assert np.isinf(svm.B)
    assert {**svm.get_params(), **twin.params} == svm.get_params()
