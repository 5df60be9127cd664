"""What spectra and blocks share: sums over classes. Value, bound and proof are tested with their subclasses."""

import numpy as np

from specmargin.objectives.cones.margin import squared_lengths


def test_squared_lengths_are_those_of_rows(rng):
    z = rng.normal(size=(5, 3))
    np.testing.assert_allclose(squared_lengths(z), np.linalg.norm(z, axis=1) ** 2)
    np.testing.assert_allclose(squared_lengths(z[:, 0]), z[:, 0] ** 2)
