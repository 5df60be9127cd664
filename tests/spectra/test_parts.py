"""Eigenvectors and transforms as objects: they are the functions of the room with parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specmargin.exceptions import InvalidInputError
from specmargin.graphs import KNN, Laplacian, laplacian
from specmargin.spectra import Eigenvectors, Transform, laplacian_eigenpairs, transforms
from specmargin.spectra.parts import transform_of

W = KNN(4)(np.random.default_rng(0).normal(size=(30, 3)))
THETA = np.array([0.0, 0.1, 0.4, 0.9])


def test_eigenvectors_are_those_of_the_function() -> None:
    L = laplacian(W, power=1)
    ours, theirs = Eigenvectors(5, random_state=2)(L), laplacian_eigenpairs(L, q=5, random_state=2)
    assert (ours.eigenvectors == theirs.eigenvectors).all()
    assert Eigenvectors(500)(L).q == 30


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (Transform(), transforms.diffusion(THETA)),
        (Transform("diffusion", sigma=0.3), transforms.diffusion(THETA, sigma=0.3)),
        (Transform("gaussian_field", sigma=0.3), transforms.gaussian_field(THETA, sigma=0.3)),
        (Transform("inverse"), transforms.inverse(THETA)),
        (Transform("power", exponent=3.0), transforms.power(THETA, exponent=3.0)),
        (Transform("step", k=2), transforms.step(THETA, k=2)),
        (Transform("geometric", w=1.5), transforms.geometric(THETA, w=1.5)),
    ],
)
def test_a_transform_is_its_rule(transform: Transform, expected: Any) -> None:
    assert (transform(THETA) == expected).all()
    assert transform(THETA).sum() == pytest.approx(1.0)


def test_short_forms() -> None:
    assert transform_of("transformation", "inverse") == Transform("inverse")
    assert transform_of("transformation", len) is len


@pytest.mark.parametrize("value", ["sine", None, 3, Transform, Laplacian()])
def test_what_is_no_transform(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="transformation="):
        transform_of("transformation", value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Eigenvectors(0),
        lambda: Eigenvectors(5, random_state="now"),
        lambda: Transform("sine"),
        lambda: Transform(sigma=0.0),
        lambda: Transform(exponent=-1.0),
        lambda: Transform(k=0),
        lambda: Transform(w=0.5),
    ],
)
def test_parameters_out_of_range_are_refused_at_once(make: Any) -> None:
    with pytest.raises(InvalidInputError):
        make()
