"""The search by boxes against all labelings of small problems, solved by Clarabel."""

import time

import numpy as np
import pytest
from margin_problems import EDGES, edge_space, enumerated, random_space, with_trees_of

from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.search import BoxSearch

FAST, SLOW = range(10), range(10, 160)


class Audited(BoxSearch):
    """A search that remembers its parts when they are opened or closed: the labels branched upon, bound, box."""

    def __init__(self, *args):
        super().__init__(*args, log=True)
        self.parts = []

    def _take(self, node):
        super()._take(node)
        box, path, number = node.box, [], node.number
        while number:
            parent, j = self.log.splits[(number - 1) // 2]
            path.append((j, 1.0 if number % 2 == 0 else -1.0))
            number = parent
        self.parts.append((path, node.lower, box.low.copy(), box.high.copy(), box.level))


@pytest.mark.parametrize("seed", range(6))  # every second one with a balance on x
def test_decisions_of_a_point_are_those_of_its_weights(seed):
    space = random_space(seed)
    search = MarginSearch(space, np.inf)
    point = search.programs.solve(np.where(space.y != 0, space.y, np.resize([1.0, -1.0], len(space.y))))
    weights = space.A.T @ space.quadratic.completed(point.p)
    np.testing.assert_allclose(search.decisions(point), space.A @ weights + space.offset, atol=1e-10)


def check(space, tol, at, large=False):
    """The optimum is found, and no part of the tree has a bound or a box that one of its labelings contradicts.

    With C of 1e6 the programs may find points to no accuracy, and Clarabel the optimum to no more than six digits: what
    is proved is right all the same.
    """
    digits = 1e-6 if large else 1e-9
    labelings, values, points = enumerated(space)
    optimum = values.min()
    search = Audited(space, tol)
    search.run()
    value = search.search.value
    for bound in (search.plain, search.root, search.lower):
        assert bound <= optimum * (1 + digits), at
        assert bound <= value, at
    assert optimum * (1 - digits) <= value, at
    finished = search.lower >= search.bounding.level
    assert finished or large, at
    assert search.lower >= value * (1 - tol) or large, at
    assert value <= optimum * (1 + tol + digits) or not finished, at
    for path, lower, low, high, level in search.parts:
        inside = np.all([labelings[:, j] == sign for j, sign in path], axis=0) & np.ones(len(values), dtype=bool)
        assert values[inside].min(initial=np.inf) >= min(lower, level) * (1 - digits), (at, path)
        better = points[inside & (values < level * (1 - digits))]
        slack = 1e-5 * np.abs(better).max(initial=1.0)
        assert (better >= low - slack).all(), (at, path)
        assert (better <= high + slack).all(), (at, path)
    box = search.root_box
    assert (box.labels * labelings[values < box.level * (1 - digits)] >= 0).all(), at
    return search


def by_branching(monkeypatch, poorly=False, nodes=0):
    """Leave little to trees of labels and, if asked for, nothing to the descents either."""
    with_trees_of(monkeypatch, nodes)
    if poorly:
        monkeypatch.setattr(MarginSearch, "_flipped", lambda self, point: point)
        monkeypatch.setattr(MarginSearch, "_relabeled", lambda self, point: point)
        monkeypatch.setattr(MarginSearch, "sample", lambda *_: False)
        monkeypatch.setattr(MarginSearch, "signs", lambda self, x: poor(self.space))


@pytest.mark.parametrize("seed", FAST)
def test_no_labeling_is_better_where_few_are_enumerated(seed, monkeypatch):
    by_branching(monkeypatch)
    check(random_space(seed), 1e-3, seed)


@pytest.mark.parametrize("nodes", [1, 4])
@pytest.mark.parametrize("seed", FAST)
def test_no_labeling_is_better_where_trees_of_labels_end_early(seed, nodes, monkeypatch):
    by_branching(monkeypatch, poorly=True, nodes=nodes)
    search = check(random_space(seed), 1e-3, seed)
    assert search.bounding.n_programs > 0


@pytest.mark.parametrize("seed", FAST)
def test_no_labeling_is_better_to_six_digits(seed):
    check(random_space(seed), 1e-6, seed)


def test_a_part_whose_box_lost_the_optimum_proves_no_more_than_the_level_of_the_box(monkeypatch):
    """Boxes hold what is better than the level, so not the optimum once it is known: their bounds exceed J there."""
    by_branching(monkeypatch)
    search = check(random_space(101), 1e-6, 101)
    assert search.nodes > 1
    lost = [part for part in search.parts if part[1] > search.search.value]
    assert len(lost) > 1
    assert search.lower == search.bounding.level < search.search.value


@pytest.mark.slow
@pytest.mark.parametrize("poorly", [False, True])
@pytest.mark.parametrize("part", range(5))
def test_no_labeling_is_better_on_many_problems(part, poorly, monkeypatch):
    by_branching(monkeypatch, poorly)
    searches = [check(random_space(seed), (1e-2, 1e-3, 1e-6)[seed % 3], seed) for seed in SLOW[part::5]]
    # From good labels most roots close, from poor ones few.
    assert sum(search.nodes > 1 for search in searches) >= (12 if poorly else 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", EDGES)
def test_no_labeling_is_better_on_the_edges(kind, monkeypatch):
    """One unlabelled sample to nine, one label a class, balances that leave no room, C and C* of 1e-6 and 1e6."""
    by_branching(monkeypatch)
    for first in (0, 8):
        for seed in range(9 * (first + EDGES.index(kind)), 9 * (first + EDGES.index(kind) + 1)):
            check(edge_space(seed, most=9), (1e-2, 1e-3, 1e-6)[seed % 3], seed, large=kind in ("large", "steep"))


def test_bounds_and_values_of_the_history_never_get_worse(monkeypatch):
    with_trees_of(monkeypatch, 0)
    space = random_space(4, most=26, least=26)
    search, seen = BoxSearch(space, 1e-6), []
    search.run(progress=lambda *values: seen.append(values))
    nodes, bounds, values = (np.array(column) for column in zip(*seen, strict=True))
    assert (np.diff(nodes) == 1).all()
    assert (np.diff(bounds) >= 0).all()
    assert (np.diff(values) <= 0).all()
    assert len(search.history) == len(seen) == search.nodes > 1


def test_what_the_time_does_not_suffice_for_stays_open(monkeypatch):
    with_trees_of(monkeypatch, 0)
    space = random_space(8, most=30, least=30)
    whole = time.perf_counter()
    search = BoxSearch(space, 1e-6, deadline=whole + 0.3)
    search.run()
    assert search.stopped
    assert 0.0 < search.lower < search.search.value
    nothing = BoxSearch(random_space(8), 1e-6)
    nothing.run(max_nodes=0)
    assert nothing.nodes == 0
    assert nothing.lower == nothing.search.known.lower


def test_a_given_labeling_is_where_the_search_begins(monkeypatch):
    space = random_space(4)
    labelings, values, _ = enumerated(space)
    search = BoxSearch(space, 1e-3)
    monkeypatch.setattr(search.search, "_flipped", lambda point: point)
    monkeypatch.setattr(search.search, "_relabeled", lambda point: point)
    search.run([labelings[values.argmin()]], max_nodes=0)
    assert search.search.value == pytest.approx(values.min(), rel=1e-8)


def test_an_optimum_that_no_descent_finds_is_found_by_branching(monkeypatch):
    """Without flips, relabelling and samples the first labels are poor: the tree itself leads to the best ones."""
    by_branching(monkeypatch, poorly=True)
    branched = 0
    for seed in range(8):
        search = check(random_space(seed), 1e-3, seed)
        branched += search.search.best.labels.tolist() != poor(search.space).tolist()
    assert branched > 4


def poor(space):
    """The samples' labels by turns, whatever their features are."""
    labels = space.y.copy()
    labels[space.free] = np.resize([1.0, -1.0], len(space.free))
    return labels


@pytest.mark.parametrize("seed", range(6))
def test_no_flip_and_no_pair_improves_the_end_of_a_descent(seed):
    space = random_space(seed)
    search = MarginSearch(space)
    search.offer(poor(space), flips=True)
    labelings, values, _ = enumerated(space)
    flips = (labelings != search.best.labels).sum(axis=1)
    pairs = (flips == 2) & (labelings.sum(axis=1) == search.best.labels.sum()) & (space.total is not None)
    assert values[(flips == 1) | pairs].min() >= search.value * (1 - 1e-7)
    x = search.programs.solve(poor(space)).x
    assert search.signs(x)[space.free].tolist() == np.where(x[space.free] >= 0, 1.0, -1.0).tolist()
