"""Published data: the real sets of the papers by name, checked, and downloaded where a public source is left.

`load` returns a set: from the data folder if it is there, by download where that is possible. `mnist_pair` and
`newsgroups_pair` take the two-class tasks of the papers from the larger sets; `load_text` reads large sparse text.
Classes count from 0, as those of `specmargin.datasets`, which draws the artificial sets.
"""

from reproduction.data.fetch import DataNotFoundError, Dataset, available, load
from reproduction.data.pairs import mnist_pair, newsgroups_pair
from reproduction.data.text import find_text, load_text

__all__ = [
    "DataNotFoundError",
    "Dataset",
    "available",
    "find_text",
    "load",
    "load_text",
    "mnist_pair",
    "newsgroups_pair",
]
