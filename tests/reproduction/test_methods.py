"""Classes from decisions."""

import numpy as np
import pytest

from reproduction.methods import decide


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_shift_makes_the_share_right(rng, share):
    f = rng.normal(size=40) + 2
    decided = decide(f[:, None], np.array([share]))
    assert decided.sum() == round(40 * share)
    assert share in (0.0, 1.0) or f[decided == 1].min() > f[decided == 0].max()


def test_shift_is_to_the_middle_of_the_gap():
    """Shifted by 2.5 and by 0.6 the last row is -0.5 and -0.4; at the lower ends of the gaps both were 0."""
    F = np.array([[3.0, 0.0], [1.0, 1.0], [2.0, 0.2]])
    assert decide(F, np.array([1 / 3, 1 / 3])).tolist() == [0, 1, 1]


def test_decide_takes_the_largest_or_the_sign():
    assert decide(np.array([[0.1, -2.0, 0.3], [1.0, 0.5, 0.2]])).tolist() == [2, 0]
    assert decide(np.array([[0.1], [-0.1], [0.0]])).tolist() == [1, 0, 0]
    shifted = decide(np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]), np.array([1 / 3, 2 / 3]))
    assert shifted.tolist() == [0, 1, 1]
