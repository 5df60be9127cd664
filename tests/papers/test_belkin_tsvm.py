"""Joachims' transductive SVM on kernel matrices: against his algorithm on features, and at a pair of digits."""

import numpy as np
import pytest
from sklearn.svm import SVC

import specmargin as sm
from specmargin.kernels import gram
from specmargin.papers._belkin_tsvm import span, transductive_svm
from specmargin.results import Status


@pytest.fixture
def clusters(rng):
    """Return 40 training and 20 new samples of two clusters, their classes, and what is known of the former."""
    X = rng.normal(size=(60, 5))
    truth = np.arange(60) % 2
    X[:, 0] += 4.0 * truth
    return X[:40], X[40:], truth, sm.encode_labels(np.where(np.arange(40) < 4, truth[:40], -1))


def test_it_finds_two_clusters_in_and_out_of_the_sample(clusters):
    X, X_test, truth, labels = clusters
    K, K_test = gram(X, gamma=0.1), gram(X_test, X, gamma=0.1)
    found = transductive_svm(span(K), labels, C=10.0, K_test=K_test)
    assert found.result.status is Status.STATIONARY
    assert ((found.f > 0) == truth[:40]).mean() > 0.9
    assert ((found.f_test > 0) == truth[40:]).mean() > 0.9
    again = transductive_svm(span(K), labels, C=10.0, K_test=K)
    np.testing.assert_allclose(again.f_test, again.f, atol=1e-7)


def test_its_end_is_the_svm_of_the_labels_that_it_holds(clusters):
    """C* = C, the share of positive labels is that of the labelled samples, and libsvm agrees about the rest."""
    X, _, _, labels = clusters
    K = gram(X, gamma=0.1)
    found = transductive_svm(span(K), labels, C=3.0)
    held = found.result.variables["held_labels"]
    assert held.sum() == 0
    y = np.empty(40)
    y[labels.labeled], y[labels.unlabeled] = labels.sign, held
    svc = SVC(kernel="precomputed", C=3.0, tol=1e-8).fit(K, y)
    np.testing.assert_allclose(found.f, svc.decision_function(K), atol=1e-4)
    # No pair of labels within the margin is worth switching.
    positive, negative = found.f[labels.unlabeled][held > 0], found.f[labels.unlabeled][held < 0]
    if (positive < 1).any() and (negative > -1).any():
        assert positive.min() >= negative.max() - 1e-6


def test_share_of_positive_labels_may_be_given(clusters):
    X, _, _, labels = clusters
    found = transductive_svm(span(gram(X, gamma=0.1)), labels, C=3.0, balance=-0.5)
    assert (found.result.variables["held_labels"] > 0).mean() == 0.25
    assert found.seconds > 0
    assert found.f_test.shape == (0,)
