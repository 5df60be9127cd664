import numpy as np
import pytest

from specmargin.losses import LOSSES, Pieces


def test_a_kink_belongs_to_the_piece_below_it():
    pieces = Pieces((-1.0, 2.0), ((0.0, 0.0, 0.0), (1.0, 2.0, 1.0), (0.0, 6.0, -3.0)))
    u = np.array([[-2.0, -1.0], [np.nextafter(-1.0, 0.0), 2.0], [2.5, 9.0]])
    assert pieces.index(u).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert pieces.value(np.array([0.0, 2.0, 3.0])).tolist() == [1.0, 9.0, 15.0]
    assert pieces.square.tolist() == [0.0, 1.0, 0.0]
    assert pieces.linear.tolist() == [0.0, 1.0, 3.0]
    assert pieces.most_curved == 1


@pytest.mark.parametrize("name", LOSSES)
def test_registered_tables_have_a_parabola_more_than_kinks(name):
    pieces = LOSSES[name].pieces
    if pieces is not None:
        assert len(pieces.coefficients) == len(pieces.kinks) + 1
        assert list(pieces.kinks) == sorted(set(pieces.kinks))
