"""Kernels as objects: they are `gram` with parameters, and short forms mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import gaussian_process
from sklearn.metrics import pairwise

from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs import KNN
from specmargin.kernels import (
    RBF,
    Cosine,
    Kernel,
    Landmarks,
    Linear,
    Polynomial,
    Precomputed,
    PrincipalComponents,
    kernel_map,
    landmark_features,
    resolve_gamma,
)
from specmargin.kernels.parts import kernel_of

X = np.random.default_rng(0).normal(size=(12, 3))
OTHER = np.random.default_rng(1).normal(size=(5, 3))


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (RBF(0.7), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.7)),
        (Polynomial(2, gamma=0.5, coef0=2.0), lambda A, B: (0.5 * A @ B.T + 2.0) ** 2),
        (Linear(), lambda A, B: A @ B.T),
        (Cosine(), pairwise.cosine_similarity),
    ],
)
def test_a_kernel_is_its_formula(kernel: Kernel, reference: Any) -> None:
    assert kernel(X) == pytest.approx(reference(X, X), abs=1e-12)
    assert kernel(OTHER, X) == pytest.approx(reference(OTHER, X), abs=1e-12)
    assert (kernel(X) == kernel(X).T).all()


def test_a_precomputed_kernel_is_checked_and_dense() -> None:
    K = Linear()(X)
    assert (Precomputed()(K) == K).all()
    assert (Precomputed()(sp.csr_array(K[:2]), X) == K[:2]).all()
    with pytest.raises(InvalidInputError, match="square"):
        Precomputed()(K[:2])


@pytest.mark.parametrize("rule", ["scale", "median", "local", "0.5 median"])
def test_a_rule_becomes_a_number_on_the_training_rows(rule: str) -> None:
    resolved = RBF(rule).at(X)
    assert resolved == RBF(resolve_gamma(X, rule))
    assert (resolved(OTHER, X) == RBF(rule)(OTHER, X)).all()
    assert Polynomial(gamma=rule).at(X).gamma == resolved.gamma
    assert Linear().at(X) is not None


def test_half_the_median_distance_is_four_times_the_gamma() -> None:
    assert resolve_gamma(X, "0.5 median") == pytest.approx(4.0 * resolve_gamma(X, "median"))


@pytest.mark.parametrize(
    ("short", "kernel"),
    [
        ("rbf", RBF()),
        ("polynomial", Polynomial()),
        ("precomputed", Precomputed()),
        (4, RBF(4.0)),
        (np.float64(0.5), RBF(0.5)),
    ],
)
def test_short_forms(short: Any, kernel: Kernel) -> None:
    assert kernel_of("kernel", short) == kernel
    assert kernel_of("kernel", kernel) is kernel


def test_a_function_is_a_kernel_and_so_is_one_of_a_gaussian_process() -> None:
    own = kernel_of("kernel", lambda A, B: A @ B.T)
    assert own(X) == pytest.approx(X @ X.T)
    assert kernel_of("kernel", gaussian_process.kernels.RBF(2.0))(X) == pytest.approx(RBF(1.0 / 8.0)(X))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("rbff", "Did you mean 'rbf'"),
        (-1.0, "kernel=-1.0"),
        (None, "is no kernel"),
        (RBF, "pass an object, RBF"),
        (KNN(), "is no kernel"),
    ],
)
def test_what_is_no_kernel(value: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        kernel_of("kernel", value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RBF(0.0),
        lambda: RBF("wide"),
        lambda: RBF("-1 median"),
        lambda: RBF("half median"),
        lambda: RBF(None),
        lambda: Polynomial(-1),
        lambda: Polynomial(coef0=np.nan),
        lambda: Landmarks(0),
        lambda: PrincipalComponents(0),
    ],
)
def test_parameters_out_of_range_are_refused_at_once(make: Any) -> None:
    with pytest.raises(InvalidInputError):
        make()


def test_a_kernel_does_not_change() -> None:
    with pytest.raises(InvalidTypeError, match="does not change"):
        RBF().set_params(gamma=1.0)
    assert RBF(1.0).with_(gamma=2.0) == RBF(2.0)


def test_landmarks_and_components_are_the_maps_of_the_room() -> None:
    features = Landmarks(6, random_state=3)(X, RBF(0.5), np.array([1, 2]))
    expected = landmark_features(X, 6, include=np.array([1, 2]), random_state=3, kernel="rbf", gamma=0.5)
    assert (features(X) == expected(X)).all()
    assert len(Landmarks(100)(X, RBF(0.5)).landmarks) == 12
    assert len(Landmarks(100)(X, "linear").landmarks) == 3
    K = RBF(0.5)(X)
    assert (PrincipalComponents(3)(K).Z == kernel_map(K, rank=3).Z).all()
    assert PrincipalComponents(50)(K).rank == kernel_map(K).rank
