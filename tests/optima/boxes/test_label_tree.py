"""Trees of labels: no node has a bound that one of its labelings contradicts, and their effort is known early."""

import numpy as np
import pytest
from margin_problems import enumerated, random_space, with_trees_of

from specmargin.optima.boxes import label_tree
from specmargin.optima.boxes.label_tree import LabelTree
from specmargin.optima.boxes.log import Evidence
from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.nodes import Bounding, BoxNode


class Audited(LabelTree):
    """A tree that remembers the labels and the bounds of its nodes, and the rungs that they were taken from."""

    def __init__(self, *args):
        super().__init__(*args)
        self.nodes, self.rungs = [], set()

    def _bound(self, labels, warm, at, number, lower):
        before, closed = len(self._heap), self.closed
        super()._bound(labels, warm, at, number, lower)
        own = max(self._heap, key=lambda node: node.count) if len(self._heap) > before else None
        self.nodes.append((labels, min(self.closed, closed) if own is None else own.lower))
        self.rungs.add(len(self._shares) if own is None else own.at)


def tree_of(space, tol=1e-3, relaxed=True):
    """A tree from poor labels, with the products of the plain relaxation where that is asked for."""
    search = MarginSearch(space)
    labels = space.y.copy()
    labels[space.free] = np.resize([1.0, -1.0], len(space.free))
    search.best = search.programs.solve(labels)
    space.highest = search.value
    node = BoxNode(search.known.lower, MarginBox.of(space.y, space.highest))
    if relaxed:
        Bounding(search, tol).relax(node, None, root=True)
    return Audited(search, tol, space.y, Evidence(), node.products, node.lam)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("seed", range(8))  # every second one with a balance on x
def test_no_labeling_is_better_than_the_bounds_of_its_nodes(seed, relaxed):
    space = random_space(seed)
    labelings, values, _ = enumerated(space)
    tree = tree_of(space, relaxed=relaxed)
    assert tree.run()
    assert min(tree.lower, tree.search.value) <= values.min() * (1 + 1e-9) <= tree.search.value * (1 + 2e-9)
    assert tree.search.value <= values.min() * (1 + 1e-3 + 1e-9)
    for labels, lower in tree.nodes:
        inside = (labelings * labels >= 0).all(axis=1)
        assert values[inside].min(initial=np.inf) >= lower * (1 - 1e-9)
    assert len(tree.evidence.splits) == tree.n_nodes == (len(tree.nodes) - 1) / 2


def test_nodes_go_down_the_ladder_to_j_itself():
    trees = [tree_of(random_space(seed), 1e-6) for seed in range(8)]
    assert all(tree.run() for tree in trees)
    rungs = set().union(*(tree.rungs for tree in trees))
    assert {0, len(label_tree._SHARES)} < rungs


@pytest.mark.parametrize("nodes", [0, 1, 2, 4])
def test_a_tree_that_takes_too_long_keeps_its_bound(nodes, monkeypatch):
    with_trees_of(monkeypatch, nodes)
    space = random_space(8, most=8, least=8)
    tree = tree_of(space, 1e-6)
    start = tree_of(space, 1e-6).search.known.lower
    assert not tree.run()
    assert tree.n_nodes == nodes
    assert start < tree.lower <= enumerated(space)[1].min() * (1 + 1e-9)


@pytest.mark.parametrize(("per_square", "per_sample"), [(1.0, 0.4), (0.03, 100.0)])
def test_the_fewer_of_nodes_per_square_and_per_sample_are_tried(per_square, per_sample, monkeypatch):
    with_trees_of(monkeypatch, 0)
    monkeypatch.setattr(label_tree, "_PER_SQUARE", per_square)
    monkeypatch.setattr(label_tree, "_PER_SAMPLE", per_sample)
    space = random_space(8, most=8, least=8)
    n, tree = len(space.y), tree_of(space, 1e-6)
    assert not tree.run()
    tried = min(per_square * n**2, per_sample * n)
    assert tree.n_nodes / 2 < int(tried) <= tree.n_nodes  # judged when nodes have doubled


def test_the_effort_is_expected_from_the_last_doubling():
    tree = tree_of(random_space(8, most=8, least=8))
    tree._bound(tree.labels, None, 0, 0, -np.inf)
    tree.n_nodes, gap = 8, tree.level - tree.lower
    assert tree._expected(tree.lower - gap / 3) == pytest.approx(64.0)
    assert tree._expected(tree.lower) == 2.0**8
    assert tree._expected(tree.lower - 10 * gap) == pytest.approx(8 * 2**0.1)
    tree.labels = np.zeros(1100)
    with np.errstate(all="raise"):  # more labelings than a float holds
        assert 2.0**490 < tree._expected(tree.lower) < np.inf


def test_a_tree_whose_time_is_up_proves_what_it_has():
    tree = tree_of(random_space(8, most=8, least=8))
    tree.search.deadline = -np.inf
    assert not tree.run()
    assert tree.n_nodes == 0
    assert tree.lower > 0


def test_a_count_that_leaves_no_choice_leaves_no_nodes():
    rng, y = np.random.default_rng(4), np.append([-1.0, 1.0], np.zeros(10))
    search = MarginSearch(MarginSpace(rng.standard_normal((12, 3)), np.full(12, 10.0), y, count=10))
    tree = LabelTree(search, 1e-6, y, Evidence())
    assert tree.run()
    assert tree.n_nodes == 0
    assert search.best.labels[2:].tolist() == [1.0] * 10
