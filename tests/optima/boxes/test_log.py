"""Logs of the exact search in x: numbers of parts, and what is written down comes back."""

import numpy as np
from margin_problems import random_space, with_trees_of

from specmargin.optima.boxes.log import BoxTreeLog, Evidence, Step, joined, starts
from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.products import Products
from specmargin.optima.boxes.search import BoxSearch


def test_a_step_holds_products_with_multipliers_and_the_sides_that_moved():
    box = MarginBox(np.array([1.0, -2.0]), np.array([3.0, 2.0]))
    products = Products.of(np.array([1.0, 0.0]), box, cuts=[(0, 1, 2)])
    step = Step.of(4, products, np.array([0.5, 0.0, 2.0, 0.0, 1.0]))
    assert step.pair.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert step.ends.tolist() == [[1, -1], [1, 3], [1, 2]]
    assert step.weight.tolist() == [0.5, -2.0, -1.0]
    assert (step.node, step.level, step.claim.tolist()) == (4, np.inf, [])
    assert (step.triangle.tolist(), step.triangle_weight.tolist()) == ([], [])
    after = MarginBox(np.array([1.0, 1.0]), np.array([2.5, 2.0]), 7.0)
    moved = step.moving(box, after)
    assert (moved.level, moved.claim.tolist(), moved.end.tolist()) == (7.0, [1, -2], [2.5, 1.0])
    assert moved.weight.tolist() == step.weight.tolist()


def test_a_step_holds_triangles_with_multipliers_after_the_products():
    products = Products.of(np.array([1.0, 0.0]), None, triangles=[(0, 1, 2, 0), (0, 1, 2, 3)])
    step = Step.of(0, products, np.array([0.5, 0.25, 0.0, 2.0]))
    assert step.weight.tolist() == [0.5, 0.25]
    assert step.triangle.tolist() == [[0, 1, 2, 3]]
    assert step.triangle_weight.tolist() == [2.0]


def test_parts_get_the_numbers_of_the_whole():
    log, part = BoxTreeLog(5), Evidence()
    assert log.split(0, 3) == (1, 2)
    assert log.split(1, 4) == (3, 4)
    assert part.split(0, 1) == (1, 2)
    assert part.split(2, 2) == (3, 4)
    for node in (0, 4, 1):
        part.steps.append(Step.of(node, None, None))
    log.take(2, part)
    assert log.splits == [(0, 3), (1, 4), (2, 1), (6, 2)]
    assert [step.node for step in log.steps] == [2, 8, 5]


def test_a_log_comes_back_from_its_arrays(monkeypatch):
    with_trees_of(monkeypatch, 0)
    search = BoxSearch(random_space(10, most=14, least=14), 1e-6, log=True)
    search.run()
    log = search.log.finished()
    again = BoxTreeLog.of(log).finished()
    assert again.n_samples == log.n_samples
    for name, x in log.arrays.items():
        assert np.array_equal(x, again.arrays[name]), name
        assert x.dtype == again.arrays[name].dtype, name
    assert len(log.side) > 0
    assert len(log.weight) > 0
    assert len(log.triangle_weight) > 0
    nothing = BoxTreeLog(3).finished()
    assert {name: len(x) for name, x in nothing.arrays.items() if len(x)} == dict.fromkeys(
        ("first_product", "first_triangle", "first_row", "first_entry", "first_claim"), 1
    )
    assert BoxTreeLog.of(nothing).finished().n_nodes == 1


def test_parts_are_joined_in_order():
    assert starts([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert joined([np.array([1.0]), np.array([2.0])], np.zeros(0, dtype=int)).tolist() == [1, 2]
