"""Rules by which weights of blocks are found: each against the search that it stands for, written out."""

import numpy as np
import pytest
from block_problems import blocks_of, labels_of
from sklearn.linear_model import Ridge

from specmargin import certify
from specmargin.exceptions import InvalidInputError
from specmargin.labels import encode_labels, encode_targets
from specmargin.objectives import BlockAlignment, BlockMargin
from specmargin.solvers import alignment, block_margin
from specmargin.solvers.spectrum.block_weights import COSTS, PENALTIES, RULES, learn_weights, ridge_on_blocks

classes = pytest.mark.parametrize("n_classes", [2, 4])


def left_out(F, T, penalty):
    """Decisions at each row by a ridge regression on the others, fitted as many times."""
    others = [np.delete(np.arange(len(F)), i) for i in range(len(F))]
    fits = [Ridge(alpha=penalty, solver="cholesky").fit(F[kept], T[kept]) for kept in others]
    return np.array([fit.predict(F[[i]])[0] for i, fit in enumerate(fits)])


@classes
def test_leave_one_out_is_that_of_as_many_fits(n_classes):
    labels = labels_of(n_classes)
    blocks, delta = blocks_of(labels, [3, 6]), np.array([0.3, 0.7])
    rows = np.hstack([np.sqrt(d) * F[labels.labeled] for d, F in zip(delta, blocks, strict=True)])
    grams = np.stack([F[labels.labeled] @ F[labels.labeled].T for F in blocks])
    fitted = ridge_on_blocks(delta, grams, labels)
    np.testing.assert_allclose(fitted.left_out, left_out(rows, labels.sign, fitted.penalty), atol=1e-8)
    errors = [np.mean((left_out(rows, labels.sign, p) - labels.sign) ** 2) for p in PENALTIES[4::4]]
    assert fitted.error <= min(errors) + 1e-10
    expected = Ridge(alpha=fitted.penalty, solver="cholesky").fit(rows, labels.sign).predict(rows)
    np.testing.assert_allclose(np.tensordot(delta, grams, 1) @ fitted.gamma + fitted.b, expected, atol=1e-8)


@classes
def test_rules_are_what_they_say(n_classes):
    labels = labels_of(n_classes)
    blocks = blocks_of(labels, [3, 40, 1])
    grams = BlockMargin(blocks, labels).grams
    learned = {rule: learn_weights(blocks, labels, rule) for rule in RULES}
    for rule in RULES:
        assert learned[rule].delta.sum() == pytest.approx(1.0)
        assert all(result.certificate.is_optimal(1e-9) for result in learned[rule].results)
    aligned = alignment(BlockAlignment(blocks, labels)).variables["delta"]
    np.testing.assert_allclose(learned["alignment"].delta, aligned)
    np.testing.assert_allclose(learned["mean"].delta, 1 / 3)
    errors = [ridge_on_blocks(one, grams, labels).error for one in np.eye(3)]
    np.testing.assert_array_equal(learned["single"].delta, np.eye(3)[np.argmin(errors)])
    ordered = learned["ordered"].delta
    assert (np.diff(ordered) >= -1e-12).all()  # the last block is the smoothest


@pytest.mark.parametrize("wanted", [[0, 1], [1, 0], [0.3, -2.0], [0, 1, 2], [0, 0, 1, 1]])
@pytest.mark.parametrize("rule", ["alignment", "single"])
@pytest.mark.parametrize("smooth_first", [None, [1, 2, 0]])
def test_of_equally_good_blocks_the_smoothest_decides(wanted, rule, smooth_first, rng):
    # Blocks that say the same of the labelled samples: two of any kind, or copies of one.
    rows = [rng.normal(size=(len(wanted), 4)) for _ in range(3)] if len(wanted) == 2 else [rng.normal(size=(4, 3))] * 3
    rows = [block[: len(wanted)] for block in rows]
    labels = encode_labels(wanted) if isinstance(wanted[0], int) else encode_targets(wanted)
    expected = np.eye(3)[2 if smooth_first is None else 1]
    for _ in range(4):
        turned = [F @ np.linalg.qr(rng.normal(size=(F.shape[1],) * 2))[0] for F in rows]  # other last bits
        learned = learn_weights(turned, labels, rule, smooth_first=smooth_first)
        np.testing.assert_allclose(learned.delta, expected, atol=1e-9)
        for result in learned.results:
            assert result.certificate.is_optimal(1e-9)
            assert certify(BlockAlignment(turned, labels), result.variables).is_optimal(1e-9)


def test_a_rough_block_that_the_labels_want_stays(rng):
    y = np.array([0, 0, 1, 1])
    rough, smooth = np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([[1.0], [-1.0], [0.5], [-0.5]])
    learned = learn_weights([rough, smooth, smooth], encode_labels(y))
    np.testing.assert_allclose(learned.delta, [1.0, 0.0, 0.0], atol=1e-9)
    learned = learn_weights([rough, 0.0 * rough, smooth], encode_labels(y))  # one vanishes on the labelled samples
    np.testing.assert_allclose(learned.delta, [1.0, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("rule", ["margin", "ordered"])
@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "hinge"])
def test_the_cost_is_the_one_of_least_error(rule, loss):
    labels = labels_of(3)
    blocks = blocks_of(labels, [3, 40, 1])
    found = learn_weights(blocks, labels, rule, loss=loss, smooth_first=np.array([1, 2, 0]))
    order = [1, 2, 0] if rule == "ordered" else [0, 1, 2]
    errors = []
    for C in COSTS:
        obj = BlockMargin([blocks[b] for b in order], labels, C=C, loss=loss, order=rule == "ordered")
        result = block_margin(obj)
        delta = result.variables["delta"]
        errors.append(ridge_on_blocks(delta, obj.grams, labels, [1 / C]).error)
        if C == found.C:
            np.testing.assert_allclose(found.delta[order], delta, atol=1e-9)
            np.testing.assert_allclose(found.results[0].variables["f"], result.variables["f"], atol=1e-9)
            assert certify(obj, found.results[0]).is_optimal(1e-9)
    assert COSTS[int(np.argmin(errors))] == found.C


def test_labels_with_weights_are_heard_by_margin_and_ridge():
    labels = labels_of(3, weights="some")
    blocks = blocks_of(labels, [3, 40])
    assert learn_weights(blocks, labels).delta.sum() == pytest.approx(1.0)
    plain = learn_weights(blocks, labels_of(3), "margin", costs=[1.0]).delta
    assert np.abs(learn_weights(blocks, labels, "margin", costs=[1.0]).delta - plain).max() > 1e-4


def test_an_unknown_rule_is_refused():
    labels = labels_of(2)
    with pytest.raises(InvalidInputError, match="rule='best' is unknown; take one of alignment, margin"):
        learn_weights(blocks_of(labels, [3]), labels, "best")
