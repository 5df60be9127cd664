"""Data: generators that need nothing, and the real sets of the papers.

`make_two_moons`, `make_clock` and others draw artificial sets. `load` returns a real one: from the
data folder if it is there, by download where a public source still exists. `mnist_pair`, `newsgroups_pair`
and `digits_pair` take the two-class tasks of the papers from the larger sets.

Every set counts its classes from 0, because -1 is the package's marker of an unlabelled sample.
"""

from reproduction.data.fetch import Dataset, available, load
from reproduction.data.pairs import mnist_pair, newsgroups_pair
from reproduction.data.text import find_text, load_text
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
    "Dataset",
    "load",
    "available",
    "mnist_pair",
    "newsgroups_pair",
    "digits_pair",
    "find_text",
    "load_text",
]
