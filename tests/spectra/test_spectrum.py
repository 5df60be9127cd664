"""Eigenpairs as an object: blocks of equal eigenvalues, truncation."""

import numpy as np

from specmargin.spectra import Spectrum


def test_truncate_and_blocks():
    s = Spectrum(np.array([0.0, 0.0, 0.0, 1.0, 1.0 + 1e-12, 2.0]), np.eye(6), n_components=3, residual=1e-14)
    assert s.block_ends().tolist() == [2, 4, 5]
    assert s.block_ends(tol=1e-14).tolist() == [2, 3, 4, 5]
    assert s.truncate(6) is s
    two, four = s.truncate(2), s.truncate(4)
    assert (two.n_components, two.cuts_tie, two.block_ends().tolist()) == (2, True, [1])
    assert (four.n_components, four.cuts_tie, four.block_ends().tolist()) == (3, True, [2, 3])
    assert not s.truncate(3).cuts_tie
    assert s.truncate(1).block_ends().tolist() == []
