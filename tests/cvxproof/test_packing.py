"""Values as JSON and arrays: what is packed comes back to the last bit, and nothing else is built."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from cvxproof.exceptions import InvalidInputError, InvalidTypeError
from cvxproof.packing import Packing, package_versions


@dataclass
class Pair:
    first: object
    second: object = None


PLAIN = [None, True, 3, -0.0, "text", [1, [2.5, None]], (1, "two"), {"a b/c": {"d": 1}}]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_come_back(value):
    packing = Packing()
    packed = packing.pack(value, {}, "at")
    assert packing.unpack(json.loads(json.dumps(packed)), {}) == value


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil"])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_sparse_matrices_come_back(form, make):
    M, arrays, packing = make(np.diag([1.0, np.nextafter(2, 3), 0.0])).asformat(form), {}, Packing()
    again = packing.unpack(packing.pack(M, arrays, "M"), arrays)
    assert np.array_equal(again.toarray(), M.toarray())
    assert isinstance(again, sp.sparray) is isinstance(M, sp.sparray)


def test_classes_are_those_of_the_packing():
    arrays, packing = {}, Packing({"Pair": Pair})
    packed = packing.pack(Pair(np.arange(3), (1, 2)), arrays, "pair")
    assert list(arrays) == ["pair/first"]
    again = packing.unpack(packed, arrays)
    assert isinstance(again, Pair)
    assert (again.first.tolist(), again.second) == ([0, 1, 2], (1, 2))
    with pytest.raises(InvalidTypeError, match="Pair, which a file cannot hold; take one of the package: ConeProof"):
        Packing().pack(Pair(1), {}, "pair")
    with pytest.raises(InvalidInputError, match="'Pair', which this version"):
        Packing().unpack(packed, arrays)


def test_a_dotted_name_is_loaded_where_it_is_asked_for():
    packing = Packing({"Status": "cvxproof.results.Status"})
    assert packing.classes["Status"] == "cvxproof.results.Status"
    assert packing.known("Status").__name__ == "Status"
    assert packing.known("Nothing") is None


def test_versions_of_what_is_not_installed_are_none():
    versions = package_versions("numpy", "no-such-package")
    assert versions["numpy"] == np.__version__
    assert versions["no-such-package"] is None
