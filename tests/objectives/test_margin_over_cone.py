"""What spectra and blocks share: sums over classes. Value, bound and proof are tested with their subclasses."""

import numpy as np
import pytest

from specmargin.objectives.margin_over_cone import MarginOverCone, squared_lengths


def test_squared_lengths_are_those_of_rows(rng):
    z = rng.normal(size=(5, 3))
    np.testing.assert_allclose(squared_lengths(z), np.linalg.norm(z, axis=1) ** 2)
    np.testing.assert_allclose(squared_lengths(z[:, 0]), z[:, 0] ** 2)


@pytest.mark.parametrize("name", ["U", "cone", "name", "variables"])
def test_a_subclass_has_to_say_what_it_is(name):
    with pytest.raises(NotImplementedError):
        getattr(MarginOverCone(), name)
