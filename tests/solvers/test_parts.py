"""Solvers and searches as objects: what they hand on, and what they refuse."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from specmargin.exceptions import InvalidInputError
from specmargin.kernels import RBF
from specmargin.losses import SymmetricRamp, get_loss
from specmargin.solvers import Search, Solver
from specmargin.solvers.parts import SEARCHES, search_of, solver_of


def test_arguments_of_a_solver() -> None:
    assert Solver().arguments() == {"tol": 1e-6}
    assert Solver("pcg", tol=1e-4, max_iter=7, options={"stopping": "safe"}).arguments(gap_tol=1e-4) == {
        "gap_tol": 1e-4,
        "max_iter": 7,
        "stopping": "safe",
    }


def test_arguments_of_a_search() -> None:
    assert Search().arguments() == {}
    assert Search("cccp", tol=1e-3, max_iter=5, options={"inner_tol": 1e-9}).arguments() == {
        "tol": 1e-3,
        "max_iter": 5,
        "inner_tol": 1e-9,
    }


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_has_a_solver_and_its_losses(name: str) -> None:
    assert callable(getattr(import_module(SEARCHES[name].module), name))
    loss, unlabeled = Search(name).losses()
    assert get_loss(loss).name == loss
    assert (unlabeled == SymmetricRamp(s=-0.3)) if name == "cccp" else unlabeled in (None, "exp")


def test_the_end_of_the_ramp() -> None:
    assert Search("cccp", s=-0.5).losses()[1].s == -0.5


def test_short_forms() -> None:
    assert solver_of("solver", "newton") == Solver("newton")
    assert solver_of("solver", ["CLARABEL", "ECOS"]) == Solver(("CLARABEL", "ECOS"))
    assert search_of("search", "gradient") == Search("gradient")
    assert hash(Solver("pcg", options={"stopping": "safe"})) == hash(Solver("pcg"))


@pytest.mark.parametrize("value", [None, 3, [], [1], Search(), RBF(), Solver])
def test_what_is_no_solver(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="solver="):
        solver_of("solver", value)


@pytest.mark.parametrize("value", [None, 3, "QuasiNewton", Solver(), RBF(), Search])
def test_what_is_no_search(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="search="):
        search_of("search", value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Solver(3),
        lambda: Solver(tol=0.0),
        lambda: Solver(max_iter=0),
        lambda: Solver(options=[1]),
        lambda: Search("newton"),
        lambda: Search(3),
        lambda: Search(tol=-1.0),
        lambda: Search(max_iter=1.5),
        lambda: Search("branch_and_bound", max_iter=5),
        lambda: Search(intercept="none"),
        lambda: Search(one_flip=1),
        lambda: Search(s="left"),
        lambda: Search(bound=0.0),
        lambda: Search(bound="60"),
        lambda: Search(options={1: 2}),
    ],
)
def test_parameters_out_of_range_are_refused_at_once(make: Any) -> None:
    with pytest.raises(InvalidInputError):
        make()
