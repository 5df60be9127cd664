"""What parts prove does not depend on the processes that bound them."""

import pickle
import time
from functools import cache

import numpy as np
import pytest
from joblib import Parallel, parallel_config
from margin_problems import with_trees_of
from threadpoolctl import threadpool_limits

from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import branch_and_bound
from specmargin.optima.boxes import search as box_search
from specmargin.optima.boxes import workers as box_workers
from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.search import BoxSearch
from specmargin.optima.boxes.workers import bounded


@pytest.fixture(autouse=True)
def branching(monkeypatch):
    with_trees_of(monkeypatch, 2)
    with threadpool_limits(1):  # several threads of linear algebra round by chance
        yield


def objective():
    """A problem that takes some twenty nodes."""
    rng = np.random.default_rng(1)
    return S3VM(rng.standard_normal((34, 10)), encode_labels(np.append([0, 1, 0, 1], np.full(30, -1))), C=0.1)


def told(result):
    arrays = {name: np.asarray(x).tobytes() for name, x in {**result.variables, **result.log.arrays}.items()}
    return arrays, result.certificate, result.status, result.n_iter, result.history.columns


@cache
def usual():
    return branch_and_bound(objective(), tol=1e-6, log=True, time_limit=np.inf)


def test_results_do_not_depend_on_the_number_of_workers():
    assert usual().n_iter > 6
    with parallel_config(backend="threading"):
        assert told(branch_and_bound(objective(), tol=1e-6, log=True, time_limit=np.inf, n_jobs=3)) == told(usual())


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes():
    # Forked processes know that trees of labels are to be small.
    with parallel_config(backend="multiprocessing"):
        assert told(branch_and_bound(objective(), tol=1e-6, log=True, time_limit=np.inf, n_jobs=2)) == told(
            branch_and_bound(objective(), tol=1e-6, log=True, time_limit=np.inf)
        )


@pytest.mark.parametrize("batch", [1, 8])
def test_batches_of_other_sizes_prove_as_much(batch, monkeypatch):
    monkeypatch.setattr(box_search, "BATCH", batch)
    other = branch_and_bound(objective(), tol=1e-6)
    for result in (usual(), other):
        assert result.certificate.is_optimal(1e-6)
    assert other.certificate.primal_objective == pytest.approx(usual().certificate.primal_objective, rel=1e-9)


def open_search():
    search = BoxSearch(MarginSpace.of(objective()), 1e-6)
    search.run(max_nodes=1)
    assert search.open_nodes
    return search


def test_what_goes_to_a_process_comes_back_the_same(monkeypatch):
    """A call that went through pickle, as it does on the way to a process, has the answer of one that did not."""
    search = open_search()
    nodes = [node for _, _, node in search.open_nodes]
    ((below, above),) = bounded(search.bounding, nodes[:1], Parallel(1))
    own = box_workers._bounded
    monkeypatch.setattr(
        box_workers, "_bounded", lambda *call: pickle.loads(pickle.dumps(own(*pickle.loads(pickle.dumps(call)))))
    )
    for here, there in zip((below, above), bounded(search.bounding, nodes[:1], Parallel(1))[0], strict=True):
        assert here.node.lower == there.node.lower
        assert np.array_equal(here.node.box.low, there.node.box.low)
        assert np.array_equal(here.node.lam, there.node.lam)
        assert (here.n_sdp, here.n_cuts) == (there.n_sdp, there.n_cuts)
        assert here.n_sdp > 0


def test_parts_that_the_time_does_not_suffice_for_are_none():
    search = open_search()
    search.search.deadline = time.perf_counter() - 1.0
    nodes = [node for _, _, node in search.open_nodes]
    assert bounded(search.bounding, nodes[:1], Parallel(1)) == [(None, None)]
