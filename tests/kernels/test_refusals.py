"""What kernels refuse, and in which words: what tests/contract does not reach, one row each."""

import numpy as np
import pytest

from specmargin.exceptions import InvalidInputError
from specmargin.kernels import BlockKernel, LowRankKernel, gram, landmark_features
from specmargin.kernels.maps import deformed_features, deformed_kernel, kernel_map

N = 30
X = np.random.default_rng(0).normal(size=(N, 4))
K, L = gram(X), 2.0 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1)

ROWS = [
    (lambda: gram(X, kernel=lambda a, b: a[:, 0]), r"shape \(30,\) where \(30, 30\)"),
    (lambda: gram(X, kernel=lambda a, b: np.arange(30.0)[:, None] - np.arange(30.0) / 2), r"not symmetric: K\[0, 29\]"),
    (lambda: gram(X, X[:, :3]), "X has 4 features but Y has 3"),
    (lambda: gram(1e3 * X, kernel="poly", gamma=1.0, degree=200), r"poly .* entries that are not finite .*degree=200"),
    (lambda: gram(X, kernel="poly", gamma=1.0, degree=2.5, coef0=0.0), "integer degree"),
    (lambda: LowRankKernel(np.array([[np.inf]])), r"factor\[0, 0\] is inf; pass a finite matrix"),
    (lambda: landmark_features(X, 1, include=np.array([0, 1])), "n_landmarks=1 must be between 2"),
    (lambda: landmark_features(np.zeros((5, 2)), 3, kernel="linear"), "vanishes at all 3 landmarks"),
    (lambda: BlockKernel(X, kernel="precomputed"), "stored already"),
    (lambda: kernel_map(-np.eye(3), rank=2), "eigenvalue -1"),
    (lambda: kernel_map(K)(np.ones((2, 3))), r"rows has the shape \(2, 3\); pass 30 columns"),
    (lambda: deformed_kernel(K, L, 1.0).rows(np.ones(3)), r"block has the shape \(3,\); pass the \(m, 30\)"),
    (lambda: deformed_kernel(np.empty((0, 0)), L, 1.0), "pass the square kernel matrix"),
    (lambda: deformed_features(np.empty((N, 0)), L, 1.0), "30, 0"),
    (lambda: deformed_features(1e200 * X, L, 1.0), "is not finite; scale the features"),
    (lambda: deformed_kernel(1e200 * K, L, 1e200), "is not finite; check L"),
]


@pytest.mark.parametrize(("call", "words"), ROWS, ids=range(len(ROWS)))
def test_what_is_refused_is_named(call, words):
    with pytest.raises(InvalidInputError, match=words):
        call()
