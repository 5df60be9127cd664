"""A search that is killed and goes on from its file proves what it would have proved: every number is the same."""

import hashlib
import heapq
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from margin_problems import random_space, with_trees_of

from specmargin.exceptions import InvalidInputError
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import branch_and_bound
from specmargin.optima.boxes import nodes as box_nodes
from specmargin.optima.boxes import tree as box_tree
from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.search import BoxSearch
from specmargin.optima.boxes.tree import SavedTree


class KilledError(Exception):
    """What a killed process does not raise."""


def run(space, tree=None, killed_at=None, **options):
    """Search to the end, or until so many nodes are done."""

    def progress(nodes, *_):
        if nodes == killed_at:
            raise KilledError

    search = BoxSearch(space, 1e-6, **{"log": True, **options})
    search.run(progress=progress, keep=None if tree is None else SavedTree(tree, search).keep)
    return search


def told(search):
    """All that a search says, but for its times."""
    arrays = {name: x.tobytes() for name, x in search.log.finished().arrays.items()}
    numbers = search.lower, search.search.value, search.nodes, search.plain, search.root, search.bounding.n_sdp
    return arrays, numbers, search.history.columns, search.search.best.p.tobytes(), search.root_box.low.tobytes()


@pytest.fixture
def branching(monkeypatch):
    """From poor labels, without descents and with nothing left to enumeration, small problems take many nodes."""
    with_trees_of(monkeypatch, 0)
    for name in ("_flipped", "_relabeled"):
        monkeypatch.setattr(MarginSearch, name, lambda self, point: point)
    monkeypatch.setattr(MarginSearch, "sample", lambda *_: False)
    monkeypatch.setattr(MarginSearch, "signs", lambda self, x: poor(self.space))


def poor(space):
    """The samples' labels by turns."""
    labels = space.y.copy()
    labels[space.free] = np.resize([1.0, -1.0], len(space.free))
    return labels


def problem(seed):
    return random_space(seed, most=7, least=7)


@pytest.mark.parametrize("seed", [3, 8])  # with a balance on x, and without
def test_a_killed_search_proves_the_same_when_it_goes_on(seed, tmp_path, monkeypatch, branching):
    monkeypatch.setattr(box_tree, "_BETWEEN", 0.0)
    space = problem(seed)
    whole = run(space)
    assert whole.nodes > 6
    for killed_at in (1, 7):
        tree = tmp_path / f"{killed_at}.npz"
        with pytest.raises(KilledError):
            run(problem(seed), tree, killed_at)
        assert tree.exists() == (killed_at > 1)
        assert told(run(problem(seed), tree)) == told(whole)


def test_a_finished_search_is_read_from_its_file(tmp_path, monkeypatch, branching):
    space = problem(8)
    whole = run(space, tmp_path / "it.npz")
    monkeypatch.setattr(box_nodes.Bounding, "part", None)
    assert told(run(space, tmp_path / "it.npz")) == told(whole)


def test_a_tree_that_lost_something_proves_something_else(tmp_path, monkeypatch, branching):
    """Were the cuts, the multipliers or the order of the nodes not kept, the nodes below would be others."""
    space = problem(8)
    whole = told(run(space))
    monkeypatch.setattr(box_tree, "_BETWEEN", 0.0)
    with pytest.raises(KilledError):
        run(space, tmp_path / "it.npz", 5)
    unpacked = box_tree._unpacked

    def without_multipliers(arrays):
        node, count = unpacked(arrays)
        node.products = node.lam = node.x = None
        return node, count

    monkeypatch.setattr(box_tree, "_unpacked", without_multipliers)
    assert told(run(space, tmp_path / "it.npz")) != whole


def test_triangles_are_kept(tmp_path, monkeypatch):
    """A log leaves no room for them: a search without one, stopped after a round."""
    with_trees_of(monkeypatch, 0)
    space, tree = random_space(4, most=26, least=26), tmp_path / "it.npz"
    stopped = BoxSearch(space, 1e-6)
    stopped.run(max_nodes=3, keep=SavedTree(tree, stopped).keep)
    again = BoxSearch(space, 1e-6)
    SavedTree(tree, again)
    nodes = [node for _, _, node in stopped.open_nodes]
    assert sum(len(node.triangles) for node in nodes) > 0
    assert sum(len(node.products.triangles) for node in nodes) > 0
    for node, kept in zip(nodes, [node for _, _, node in again.open_nodes], strict=True):
        assert kept.triangles == node.triangles
        assert np.array_equal(kept.products.triangles, node.products.triangles)
        assert np.array_equal(kept.lam, node.lam)
    again.run()
    stopped.run()
    numbers = [(one.lower, one.search.value, one.nodes, one.bounding.n_sdp) for one in (again, stopped)]
    assert numbers[0] == numbers[1]


def test_the_file_of_another_search_is_refused(tmp_path, branching):
    tree = tmp_path / "it.npz"
    run(problem(8), tree)
    for space, options in ((random_space(9), {}), (problem(8), {"log": False})):
        with pytest.raises(InvalidInputError, match="is of a"):
            run(space, tree, **options)
    search = BoxSearch(problem(8), 1e-3, log=True)
    with pytest.raises(InvalidInputError, match="another problem or tolerance"):
        SavedTree(tree, search)
    for name in ("A", "C", "y"):  # one number of the problem is another one
        space = problem(8)
        array = getattr(space, name).copy()
        array.flat[0] += 1.0
        object.__setattr__(space, name, array)
        with pytest.raises(InvalidInputError, match="another problem or tolerance"):
            SavedTree(tree, BoxSearch(space, 1e-6, log=True))


def test_nodes_without_a_relaxation_and_heaps_are_kept(tmp_path):
    space = problem(8)
    search = BoxSearch(space, 1e-6)
    search.run(max_nodes=0, keep=SavedTree(tmp_path / "it.npz", search).keep)
    again = BoxSearch(space, 1e-6)
    SavedTree(tmp_path / "it.npz", again)
    ((bound, count, node),) = again.open_nodes
    assert (bound, count, node.x, node.products, node.cuts) == (search.lower, 1, None, None, [])
    assert np.array_equal(node.box.low, search.root_box.low)
    again.run()
    assert again.lower >= again.bounding.level
    assert again.open_nodes == heapq.nsmallest(len(again.open_nodes), again.open_nodes)


def many_nodes():
    """An objective whose search takes a few seconds and some dozens of nodes."""
    rng = np.random.default_rng(4)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 8)) + 0.8 * (2 * y[:, None] - 1) * (np.arange(8) == 0)
    return S3VM(X, encode_labels(np.where(np.arange(40) < 6, y, -1)), C=0.3, balance=0.0)


def say(*what):
    """Write a line to the standard output at once."""
    sys.stdout.write(" ".join(map(str, what)) + "\n")
    sys.stdout.flush()


def search_aloud(tree):
    """Search without trees of labels, with a tree in that file: say the number of every node, then what was proved."""
    with_trees_of(pytest.MonkeyPatch(), 0)  # until this process ends
    settings = {"tol": 1e-4, "time_limit": 3600.0, "log": True, "tree": tree}
    result = branch_and_bound(many_nodes(), progress=lambda nodes, *_: say(nodes), **settings)
    proof = hashlib.sha256()
    for name, array in sorted(result.log.arrays.items()):
        proof.update(name.encode() + array.tobytes())
    proof.update(result.variables["w"].tobytes())
    numbers = result.certificate.primal_objective.hex(), result.certificate.dual_objective.hex(), result.n_iter
    say("proved", *numbers, proof.hexdigest())


def begun(tree):
    """Return a process that does `search_aloud`."""
    paths = [str(Path(__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    code = f"import test_tree; test_tree.search_aloud({str(tree)!r})"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_a_process_that_is_killed_at_any_moment_proves_the_same_when_it_goes_on(tmp_path):
    rng = np.random.default_rng()  # another moment in every run
    undisturbed = begun(tmp_path / "whole.npz").communicate()[0].splitlines()
    numbers = [int(line) for line in undisturbed[:-1]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 15
    tree, reached = tmp_path / "killed.npz", []
    for _ in range(6):
        with begun(tree) as process:
            reached += [int(process.stdout.readline()) for _ in range(int(rng.integers(1, 5)))]
            time.sleep(rng.uniform(0.0, 0.2))  # within a node, or while the file is written
            process.kill()
        assert process.returncode < 0
    assert max(reached) > 4  # further than any of them came alone
    last = begun(tree).communicate()[0].splitlines()
    assert int(last[0]) > 1
    assert last[-1] == undisturbed[-1]
