"""The two-class tasks that the papers take from larger sets.

`mnist_pair` gives two digits, each pixel standardised, as `specmargin.datasets.digits_pair` does of smaller images;
`newsgroups_pair` gives two newsgroups in tf-idf. Both return ``(X, y)`` with y = 0 for the first class and 1 for the
second, in random order, drawn without replacement from the whole set: training and test parts together, for the tasks
are transductive.
"""

from __future__ import annotations

import os

import numpy as np

from reproduction.data.fetch import load
from specmargin.checks import among, shown
from specmargin.datasets.digits import check_digits, draw_pair, of_a_draw, standardised
from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray, IntArray, SparseArray

__all__ = ["NEWSGROUPS_PAIRS", "mnist_pair", "newsgroups_pair"]

NEWSGROUPS_PAIRS = {
    "baseball-hockey": ("rec.sport.baseball", "rec.sport.hockey"),
    "pc-mac": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "religion-atheism": ("talk.religion.misc", "alt.atheism"),
    "windows-xwindows": ("comp.os.ms-windows.misc", "comp.windows.x"),
    "mideast-misc": ("talk.politics.mideast", "talk.politics.misc"),
}
"""Newsgroups of class 0 and class 1 by the name of the task."""


@of_a_draw
def mnist_pair(
    a: int,
    b: int,
    n: int | None = 1000,
    random_state: int | np.random.Generator | None = 0,
    data_home: str | os.PathLike[str] | None = None,
) -> tuple[FloatArray, IntArray]:
    """Return n MNIST images of two digits, every pixel scaled to mean 0 and variance 1.

    Parameters
    ----------
    a, b : int
        The digits; a becomes class 0, b class 1.
    n : int or None, default 1000
        Images in all, drawn uniformly from both digits together; None takes all.
    random_state : int, Generator or None, default 0
        Seed of ``numpy.random.default_rng``.
    data_home : path, optional
        The same as in `load`.

    Returns
    -------
    X : ndarray of shape (n, 784)
        Standardised over the n images; pixels that never change are 0.
    y : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If a or b is no digit, if they are equal, or if there are fewer than n images.
    DataNotFoundError
        As in `load`.

    Examples
    --------
    >>> from reproduction.data import available
    >>> if available()["mnist"]:
    ...     X, y = mnist_pair(3, 8)
    ...     assert sorted(set(y.tolist())) == [0, 1]
    """
    check_digits(a, b)
    data = load("mnist", data_home=data_home)
    X, y = draw_pair((data.X, data.y), a, b, n, random_state, data.name)
    return standardised(X), y


@of_a_draw
def newsgroups_pair(
    task: str,
    n: int | None = 1000,
    random_state: int | np.random.Generator | None = 0,
    data_home: str | os.PathLike[str] | None = None,
) -> tuple[SparseArray, IntArray]:
    """Return n messages of two newsgroups as tf-idf.

    The term frequency is ``1 + log(count)``, the inverse document frequency is scikit-learn's smoothed one
    over the n messages, and rows have unit length. Words that none of the n messages holds are left out.

    Parameters
    ----------
    task : {"baseball-hockey", "pc-mac", "religion-atheism", "windows-xwindows", "mideast-misc"}
        The first newsgroup becomes class 0, the second class 1.
    n : int or None, default 1000
        Messages in all, drawn uniformly from both groups together; None takes all.
    random_state : int, Generator or None, default 0
        Seed of ``numpy.random.default_rng``.
    data_home : path, optional
        The same as in `load`.

    Returns
    -------
    X : CSR matrix of shape (n, n_words)
    y : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If the task is not known or has fewer than n messages.
    DataNotFoundError
        As in `load`.

    Examples
    --------
    >>> from reproduction.data import available
    >>> if available()["20news"]:
    ...     X, y = newsgroups_pair("pc-mac", n=None)
    ...     assert X.shape[0] == 1945
    """
    if not isinstance(task, str) or task not in NEWSGROUPS_PAIRS:
        raise InvalidInputError(f"there is no task {shown(task)}; take one of {among(task, NEWSGROUPS_PAIRS)}")
    from sklearn.feature_extraction.text import TfidfTransformer

    data = load("20news", data_home=data_home)
    names = data.extras["class_names"]
    a, b = (names.index(group) for group in NEWSGROUPS_PAIRS[task])
    counts, y = draw_pair((data.X, data.y), a, b, n, random_state, data.name)
    counts = counts[:, counts.getnnz(axis=0) > 0]
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), y
