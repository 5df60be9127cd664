"""Offsets: the shares of predictions that they leave, those of several classes against an optimiser."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from specmargin.labels.shares import shrunken_shares, sparse_share
from specmargin.tables.candidates.offsets import _nearest_within, even_labels, log_offsets


def test_few_labels_and_gaps_decide_the_shares_and_many_labels_do_not():
    p = np.random.default_rng(1).uniform(0.6, 1.0, 400)  # all of the second class by themselves
    log_p = np.log(np.column_stack([1 - p, p]))
    for counts, trust in (((5, 5), 1.0), ((2, 4), 1.0), ((500, 500), 0.02)):
        counts = np.array(counts, dtype=float)
        predicted = (log_p + log_offsets(log_p, counts)).argmax(axis=1)
        share = trust * sparse_share(log_p[:, 1] - log_p[:, 0], counts) + 1.0 - trust
        assert predicted.mean() == pytest.approx(share, abs=1 / 400)


def test_rare_classes_count_by_the_variance_of_their_ratio():
    # Simulated: the log-ratio of two counts varies as that of l' labels of equal classes does.
    rng = np.random.default_rng(0)
    for n, share in ((400, 0.5), (4000, 0.02)):
        l1 = rng.binomial(n, share, 20_000)
        even = even_labels(np.array([n * (1 - share), n * share]))
        half = rng.binomial(round(even), 0.5, 20_000)
        spread, same = (np.log(a / (b - a)).std() for a, b in ((l1, n), (half, round(even))))
        assert spread == pytest.approx(same, rel=0.03)
    assert even_labels(np.array([5.0, 5.0, 5.0])) == pytest.approx(15.0)
    assert even_labels(np.array([5.0, 0.0])) == 0.0


def test_a_rare_class_is_not_forgotten():
    # Scores that find 3 of 1000 samples by themselves, where 3 of 150 labels are of that class.
    scores = np.random.default_rng(3).standard_normal(1000) - 8.0
    scores[:3] = 1.0
    log_p = np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
    predicted = (log_p + log_offsets(log_p, np.array([147.0, 3.0]))).argmax(axis=1)
    assert 0.01 <= predicted.mean() <= 5.0 / 154.0  # the labels say 2 %, and with two more of each class 3.2
    assert predicted[:3].all()


def test_offsets_of_several_classes_give_mean_probabilities_that_are_the_aim():
    rng = np.random.default_rng(2)
    log_p = rng.standard_normal((300, 4)) * 2
    log_p -= logsumexp(log_p, axis=1, keepdims=True)
    counts = np.array([1.0, 1.0, 2.0, 6.0])  # as good as six labels of equal classes: they decide alone
    offsets = log_offsets(log_p, counts)
    means = np.exp(log_p + offsets - logsumexp(log_p + offsets, axis=1, keepdims=True)).mean(axis=0)
    aim = shrunken_shares(counts)
    np.testing.assert_allclose(means, aim, atol=1e-3)

    def potential(o):
        return logsumexp(log_p + o, axis=1).mean() - aim @ o

    best = minimize(potential, np.zeros(4))
    assert potential(offsets) <= best.fun + 1e-7
    near = log_offsets(log_p, counts, start=offsets)
    np.testing.assert_allclose(near - near.mean(), offsets - offsets.mean(), atol=1e-2)


@pytest.mark.parametrize("counts", [(5.0, 5.0), (500.0, 2.0), (1.0, 0.0)])
def test_known_shares_of_two_classes_are_those_of_the_predictions(counts):
    p = np.random.default_rng(1).uniform(0.6, 1.0, 400)
    log_p = np.log(np.column_stack([1 - p, p]))
    for share in (0.01, 0.3, 0.5, 0.99):
        offsets = log_offsets(log_p, np.array(counts), known_shares=(np.array([1.0 - share, share]),) * 2)
        assert (log_p + offsets).argmax(axis=1).sum() == round(400 * share)


def test_known_shares_of_several_classes_are_the_mean_probabilities():
    rng = np.random.default_rng(2)
    log_p = rng.standard_normal((300, 4)) * 2
    prior = np.array([0.01, 0.09, 0.2, 0.7])  # the first is below what estimates are held above
    own = log_p + log_offsets(log_p, np.array([1.0, 50.0, 1.0, 1.0]), known_shares=(prior, prior))
    means = np.exp(own - logsumexp(own, axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(means, prior, atol=1e-4)


def test_intervals_are_met_by_the_nearest_shares():
    rng = np.random.default_rng(0)
    for _ in range(50):
        k = int(rng.integers(2, 6))
        shares = rng.dirichlet(np.ones(k))
        low = rng.uniform(0.0, 1.0 / k, k)
        high = low + rng.uniform(1.0 / k, 1.0, k)
        nearest = _nearest_within(shares, low, high)
        x = cp.Variable(k)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(x - shares)), [x >= low, x <= high, cp.sum(x) == 1])
        problem.solve(cp.CLARABEL)
        np.testing.assert_allclose(nearest, x.value, atol=1e-5)
        assert abs(nearest.sum() - 1.0) < 1e-12
