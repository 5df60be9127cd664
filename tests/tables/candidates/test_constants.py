"""Constants: copies with changes, names of families."""

import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from specmargin.exceptions import InvalidInputError
from specmargin.tables.candidates.constants import CONSTANTS, FAMILIES, SUPERVISED, Constants, check_families


def test_constants_cannot_be_changed_but_copied():
    with pytest.raises(FrozenInstanceError):
        CONSTANTS.rank = 3
    other = replace(CONSTANTS, rank=3)
    assert (other.rank, CONSTANTS.rank) == (3, 300)
    assert pickle.loads(pickle.dumps(other)) == other
    assert hash(Constants()) == hash(CONSTANTS)


def test_every_family_has_a_prior_weight():
    assert {family for family, _ in CONSTANTS.prior} == set(FAMILIES) > set(SUPERVISED)


def test_names_of_families():
    assert check_families("families", "graph") == ("graph",)
    assert check_families("families", ["svm", "graph", "svm"]) == ("svm", "graph")
    for wrong in ((), "trees", [3], None, {"graph"}):
        with pytest.raises(InvalidInputError, match="must be one or several"):
            check_families("families", wrong)
