"""The search by boxes against all labelings of small problems, solved by Clarabel."""

import time

import numpy as np
import pytest
from margin_problems import enumerated, random_space

from specmargin.solvers.exact_s3vm import box_search
from specmargin.solvers.exact_s3vm.box_search import BoxSearch
from specmargin.solvers.exact_s3vm.margin_search import MarginSearch

FAST, SLOW = range(10), range(10, 160)


def check(seed, tol):
    """Bounds below the optimum, the optimum found, fixed labels right, all better points in the boxes."""
    space = random_space(seed)
    labelings, values, points = enumerated(space)
    optimum = values.min()
    search = BoxSearch(space, tol)
    search.run()
    best, at = search.search.best, f"problem {seed}"
    assert search.plain <= optimum * (1 + 1e-7), at
    assert search.root <= optimum * (1 + 1e-7), at
    assert search.lower <= optimum * (1 + 1e-7), at
    assert not search.stopped, at
    assert search.lower >= best.value * (1 - tol), at
    assert optimum * (1 - 1e-7) <= best.value <= optimum * (1 + tol + 1e-7), at
    # No point that is better than the level was cut off, at the root or by the labels that its box fixes.
    better = values < search.bounding.level * (1 - 1e-7)
    assert not better.any(), at
    box = search.root_box
    within = values < best.value * (1 - 1.01 * tol)
    assert (points[within] >= box.low - 1e-5).all(), at
    assert (points[within] <= box.high + 1e-5).all(), at
    assert (box.labels * labelings[within] >= 0).all(), at
    return search


@pytest.mark.parametrize("seed", FAST)
def test_no_labeling_is_better_where_few_are_enumerated(seed, monkeypatch):
    monkeypatch.setattr(box_search, "_ENUMERATED", 1)
    check(seed, 1e-3)


@pytest.mark.parametrize("seed", FAST)
def test_no_labeling_is_better_to_six_digits(seed):
    check(seed, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_no_labeling_is_better_on_many_problems(part, monkeypatch):
    monkeypatch.setattr(box_search, "_ENUMERATED", 1)
    nodes = sum(check(seed, (1e-2, 1e-3, 1e-6)[seed % 3]).nodes for seed in SLOW[part::5])
    assert nodes > len(SLOW[part::5])  # some were branched


def test_bounds_and_values_of_the_history_never_get_worse(monkeypatch):
    monkeypatch.setattr(box_search, "_ENUMERATED", 1)
    space = random_space(8, most=16, least=16)
    search, seen = BoxSearch(space, 1e-6), []
    search.run(progress=lambda *values: seen.append(values))
    nodes, bounds, values = (np.array(column) for column in zip(*seen, strict=True))
    assert (np.diff(nodes) == 1).all()
    assert (np.diff(bounds) >= 0).all()
    assert (np.diff(values) <= 0).all()
    assert len(search.history) == len(seen) == search.nodes > 1


def test_what_the_time_does_not_suffice_for_stays_open(monkeypatch):
    monkeypatch.setattr(box_search, "_ENUMERATED", 1)
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
    monkeypatch.setattr(box_search, "_ENUMERATED", 1)
    monkeypatch.setattr(MarginSearch, "_flipped", lambda self, point: point)
    monkeypatch.setattr(MarginSearch, "_relabeled", lambda self, point: point)
    monkeypatch.setattr(MarginSearch, "sample", lambda *_: False)
    monkeypatch.setattr(MarginSearch, "signs", lambda self, x: poor(self.space))
    branched = 0
    for seed in range(8):
        search = check(seed, 1e-3)
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
