"""Data that need nothing: `make_two_moons`, `make_clock` and others draw them, `digits_pair` takes two bundled digits.

Every set counts its classes from 0, because -1 is the package's marker of an unlabelled sample. The published sets of
the papers are fetched and read by `reproduction.data`, which is in the repository and not in the wheel.
"""

from specmargin.datasets.digits import digits_pair
from specmargin.datasets.synthetic import (
    make_clock,
    make_g2c,
    make_g4c,
    make_g50c,
    make_two_circles,
    make_two_moons,
    make_two_spirals,
)

__all__ = [
    "make_two_moons",
    "make_two_circles",
    "make_two_spirals",
    "make_clock",
    "make_g2c",
    "make_g4c",
    "make_g50c",
    "digits_pair",
]
