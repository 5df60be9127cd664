"""The logs of searches: how large they are, and what they are made of."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from specmargin.optima.search_log import ProofLog


def log_of_three_leaves() -> ProofLog:
    return ProofLog(
        4,
        parent=np.array([0, 2]),
        sample=np.array([1, 3]),
        at=np.array([0.0, 0.5]),
        node=np.array([1, 4]),
        start=np.array([0, 1, 3]),
        index=np.array([0, 0, 5]),
        value=np.array([0.5, -1.0, 0.25]),
    )


def test_a_proof_log_tells_how_large_it_is_and_is_made_of_its_arrays() -> None:
    log = log_of_three_leaves()
    assert (log.n_nodes, log.n_leaves, repr(log)) == (5, 3, "ProofLog: 3 leaves of 5 nodes, 2 bounds")
    assert list(log.arrays) == ["parent", "sample", "at", "node", "start", "index", "value"]
    assert all(log.arrays[name] is getattr(log, name) for name in log.arrays)
    again = ProofLog(log.n_samples, **log.arrays)
    assert again.arrays.keys() == log.arrays.keys()
    assert all(again.arrays[name] is x for name, x in log.arrays.items())
    assert log == log
    assert log != again
    for other in (pickle.loads(pickle.dumps(log)), copy.deepcopy(log)):
        assert (other.n_samples, other.n_leaves) == (4, 3)
        assert {name: x.tolist() for name, x in other.arrays.items()} == {n: x.tolist() for n, x in log.arrays.items()}
    # A node that is split twice is one node less among the leaves.
    twice = dataclasses.replace(log, parent=np.array([0, 0]))
    assert (twice.n_nodes, twice.n_leaves) == (5, 4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        log.node = np.zeros(1)
