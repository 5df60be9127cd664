"""Scikit-learn's own suite: it passes with NaN as the marker, and with -1 in all but the one check that uses -1."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from specmargin import (
    CCCPS3VM,
    KTA,
    MKL,
    RMM,
    STOAM,
    STORM,
    AnnealedS3VM,
    ContinuationS3VM,
    GradientS3VM,
    LabelSwitchingS3VM,
    LapSVM,
    MultiSwitchTSVM,
    QuasiNewtonS3VM,
    SpectralGraphTransducer,
    SpectralKernelSVM,
    XuSpectralSVM,
)

CLASSES = [LapSVM, STORM, STOAM, MKL, KTA, SpectralKernelSVM, XuSpectralSVM, SpectralGraphTransducer, RMM]
S3VMS = [
    ContinuationS3VM,
    GradientS3VM,
    QuasiNewtonS3VM,
    MultiSwitchTSVM,
    AnnealedS3VM,
    CCCPS3VM,
    LabelSwitchingS3VM,
]
CLASSES += S3VMS
CLASSIFIERS = [
    (LapSVM, {}),
    (LapSVM, {"loss": "squared_hinge"}),
    (LapSVM, {"solver": "dual"}),
    (STORM, {}),
    (STOAM, {}),
    (MKL, {}),
    (KTA, {}),
    (KTA, {"B": 1.5}),
    (STORM, {"B": "auto"}),
    (STORM, {"n_neighbors": [3, 5]}),
    (STORM, {"solver": "CLARABEL"}),
    (SpectralKernelSVM, {}),
    (SpectralKernelSVM, {"transformation": "inverse", "B": 1.5}),
    (XuSpectralSVM, {}),
    (SpectralGraphTransducer, {}),
    (RMM, {}),
    (RMM, {"B": "auto"}),
    *((cls, {}) for cls in S3VMS),
    (ContinuationS3VM, {"multi_class": "ovo", "kernel": "linear"}),
    (CCCPS3VM, {"multi_class": "ovo", "kernel": "linear"}),
    (GradientS3VM, {"gamma_I": 1.0, "n_neighbors": 3}),
    (GradientS3VM, {"n_landmarks": 5}),
    (GradientS3VM, {"span": "eigenvectors", "q": 10, "gamma_I": 1.0, "n_neighbors": 3}),
]

pytestmark = [
    pytest.mark.slow,
    # Their toy data sets are small and their graphs often fall apart; that the package says so is tested elsewhere.
    pytest.mark.filterwarnings("ignore::specmargin.exceptions.DisconnectedGraphWarning"),
]


@parametrize_with_checks([cls(**params, unlabeled=np.nan) for cls, params in CLASSIFIERS])
def test_with_nan_as_the_marker(estimator, check):
    check(estimator)


def minus_one_is_a_class(estimator):
    # This check labels with {-1, 1}; scikit-learn exempts its own semi-supervised classes from it by name.
    return {"check_classifiers_classes": "-1 marks unlabelled samples"}


@parametrize_with_checks([cls() for cls in CLASSES], expected_failed_checks=minus_one_is_a_class)
def test_with_the_default_marker(estimator, check):
    check(estimator)


def test_the_declared_failure_is_the_refusal_to_guess():
    X, y = np.arange(8.0)[:, None], np.array([-1, -1, 1, 1, -1, -1, 1, 1])
    for cls in CLASSES:
        with pytest.raises(ValueError, match=r"-1 is read as 'unlabelled'.*unlabeled=0 or unlabeled=np.nan"):
            cls().fit(X, y)
