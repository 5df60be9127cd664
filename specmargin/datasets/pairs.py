"""The two-class tasks that the papers take from larger sets.

`mnist_pair` and `digits_pair` give two digits, each feature standardised; `newsgroups_pair` gives two
newsgroups in tf-idf. All return ``(X, y)`` with y = 0 for the first class and 1 for the second, in random
order, drawn without replacement from the whole set: training and test parts together, for the tasks are
transductive.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from specmargin.checks import among, checked, count, maybe, seed, shown, whole
from specmargin.datasets.fetch import Dataset, load
from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray, IntArray, SparseArray

__all__ = ["NEWSGROUPS_PAIRS", "digits_pair", "mnist_pair", "newsgroups_pair"]

NEWSGROUPS_PAIRS = {
    "baseball-hockey": ("rec.sport.baseball", "rec.sport.hockey"),
    "pc-mac": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "religion-atheism": ("talk.religion.misc", "alt.atheism"),
    "windows-xwindows": ("comp.os.ms-windows.misc", "comp.windows.x"),
    "mideast-misc": ("talk.politics.mideast", "talk.politics.misc"),
}
"""Newsgroups of class 0 and class 1 by the name of the task."""


def _draw(
    data: Dataset, a: int, b: int, n: int | None, random_state: int | np.random.Generator | None
) -> tuple[Any, IntArray]:
    """Draw n samples of the classes a and b uniformly; None takes all of them."""
    pool = np.flatnonzero((data.y == a) | (data.y == b))
    size = len(pool) if n is None else int(n)
    if not 2 <= size <= len(pool):
        raise InvalidInputError(
            f"n={n}, but {data.name} has {len(pool)} samples of the two classes; take 2 to {len(pool)}."
        )
    chosen = np.random.default_rng(random_state).permutation(pool)[:size]
    return data.X[chosen], (data.y[chosen] == b).astype(np.intp)


_of_a_draw = checked(n=maybe(count(2)), random_state=seed)


def _check_digits(a: int, b: int) -> None:
    """Raise where a pair is none: before a data set is looked for."""
    for value in (a, b):
        if whole("a digit", value) not in range(10):
            raise InvalidInputError(f"{value} is no digit; take one of {list(range(10))}.")
    if a == b:
        raise InvalidInputError(f"a and b are both {a}; name two different digits.")


def _image_pair(
    data: Dataset, a: int, b: int, n: int | None, random_state: int | np.random.Generator | None
) -> tuple[FloatArray, IntArray]:
    from sklearn.preprocessing import StandardScaler

    X, y = _draw(data, a, b, n, random_state)
    # Border pixels are constant: the scaler leaves them 0 instead of dividing by 0.
    return StandardScaler().fit_transform(X.astype(np.float64)), y


@_of_a_draw
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
    >>> from specmargin.datasets import available
    >>> X, y = mnist_pair(3, 8) if available()["mnist"] else digits_pair(3, 8)
    >>> sorted(set(y.tolist()))
    [0, 1]
    """
    _check_digits(a, b)
    return _image_pair(load("mnist", data_home=data_home), a, b, n, random_state)


@_of_a_draw
def digits_pair(
    a: int, b: int, n: int | None = None, random_state: int | np.random.Generator | None = 0
) -> tuple[FloatArray, IntArray]:
    """Return two of scikit-learn's bundled digits, every pixel scaled to mean 0 and variance 1.

    A small stand-in for `mnist_pair` that needs no file: about 180 images of 8 x 8 pixels per digit.

    Parameters
    ----------
    a, b : int
        The digits; a becomes class 0, b class 1.
    n : int or None, default None
        Images in all; None takes all.
    random_state : int, Generator or None, default 0
        Seed of ``numpy.random.default_rng``.

    Returns
    -------
    X : ndarray of shape (n, 64)
    y : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If a or b is no digit, if they are equal, or if there are fewer than n images.

    Examples
    --------
    >>> X, y = digits_pair(3, 8, n=100)
    >>> X.shape, bool(abs(X.mean(axis=0)).max() < 1e-12)
    ((100, 64), True)
    """
    _check_digits(a, b)
    return _image_pair(load("digits"), a, b, n, random_state)


@_of_a_draw
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
    >>> from specmargin.datasets import available
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
    counts, y = _draw(data, a, b, n, random_state)
    counts = counts[:, counts.getnnz(axis=0) > 0]
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), y
