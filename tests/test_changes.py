"""Changes of built problems: made from options, checked at once, pickled, and refused for what is no problem."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import specmargin as sm
from specmargin.problems import models


def test_a_change_holds_its_options_and_makes_the_change():
    obj = sm.objectives.LapSVM(np.eye(4), None, sm.encode_labels([0, 0, 1, 1]), gamma_A=0.1)
    built = sm.problems.lapsvm_primal(obj)
    group = np.array([True, False, True, True])
    change = models.fairness(group, at_most=0.5)
    assert change.options.keys() == {"group", "at_most", "label"}
    again = pickle.loads(pickle.dumps(change))
    f, g = (sm.solve(one(built)).variables["f"] for one in (change, again))
    assert f[group].mean() - f[~group].mean() == pytest.approx(0.5, abs=1e-6)
    np.testing.assert_array_equal(f, g)


def test_changes_are_equal_by_the_values_of_their_options():
    group = np.array([True, False, True])
    change = models.fairness(group)
    for same in (
        models.fairness(group.copy()),
        models.fairness(group, at_most=0.0),
        pickle.loads(pickle.dumps(change)),
        clone(sm.STORM(model=change)).model,
    ):
        assert same == change
        assert hash(same) == hash(change)
    assert change not in (models.fairness(~group), models.fairness(group, at_most=0.1), "fairness")
    assert models.smooth(1.0) != models.convex()


def test_the_signature_is_that_of_the_options():
    assert [*inspect.signature(models.fairness).parameters] == ["group", "at_most", "label"]
    assert repr(models.links(must=[(0, 1)])) == "links(must=[(0, 1)], cannot=(), within=0.0)"
    with pytest.raises(TypeError, match="wieght"):
        models.convex(wieght=1.0)
    with pytest.raises(ValueError, match=r"at_most=-1\.0 must be"):  # before there is a problem
        models.fairness(0, at_most=-1.0)


def test_what_is_no_problem_is_named():
    with pytest.raises(TypeError, match="built=3 is of the type int, not BuiltProblem; build one"):
        models.convex()(3)


def test_a_change_that_is_loaded_finds_its_function():
    code = (
        "from types import SimpleNamespace\n"
        "from specmargin.changes import Change\n"
        "try: Change('convex', {})(SimpleNamespace(expressions={}, name='X'))\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "X, which has no spectrum" in done.stdout
