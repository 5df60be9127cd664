"""Labels of a partly labelled sample.

Above this module a *marker* says which samples have no label (-1 by scikit-learn's convention, or any scalar
that the caller names). Below it the marker does not exist: `encode_labels` turns ``y`` into `Labels`, and the
objectives read signs in {-1, +1} at the indices of the labelled samples. Values are never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["Labels", "encode_labels", "hide_labels", "is_unlabeled"]


@dataclass(frozen=True)
class Labels:
    """Signs of the labelled samples.

    Parameters
    ----------
    sign : ndarray of shape (l,) or (l, n_classes)
        In {-1, +1}; a column per class (one against the rest) when there are more than two classes. With two
        classes +1 means ``classes[1]``.
    labeled : ndarray of shape (l,)
        Increasing indices of the labelled samples.
    classes : ndarray
        The class values, sorted.
    n_samples : int
        Labelled and unlabelled samples together.
    """

    sign: FloatArray
    labeled: IntArray
    classes: AnyArray
    n_samples: int

    @property
    def n_labeled(self) -> int:
        """Number of labelled samples, l."""
        return len(self.labeled)

    @property
    def unlabeled(self) -> IntArray:
        """Increasing indices of the unlabelled samples."""
        mask = np.ones(self.n_samples, dtype=bool)
        mask[self.labeled] = False
        return np.flatnonzero(mask)

    @property
    def is_binary(self) -> bool:
        """Whether there is one column of signs."""
        return self.sign.ndim == 1

    def one_vs_rest(self) -> Iterator[Labels]:
        """Yield binary labels: themselves when binary, one per class otherwise."""
        if self.is_binary:
            yield self
            return
        for k in range(len(self.classes)):
            yield Labels(self.sign[:, k], self.labeled, np.array([False, True]), self.n_samples)


def is_unlabeled(y: npt.ArrayLike, unlabeled: Any = -1) -> BoolArray:
    """Return the mask of the samples that carry the marker `unlabeled`.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels and markers.
    unlabeled : scalar, nan or None, default -1
        The marker; ``np.nan`` and ``None`` are compared by identity of meaning, not by ``==``.

    Examples
    --------
    >>> is_unlabeled([0, 1, -1]).tolist(), is_unlabeled([0.0, np.nan], unlabeled=np.nan).tolist()
    ([False, False, True], [False, True])
    """
    y = np.asarray(y)
    if unlabeled is None:
        return np.array([value is None for value in y.ravel()], dtype=bool).reshape(y.shape)
    if isinstance(unlabeled, float | np.floating) and np.isnan(unlabeled):
        if y.dtype.kind == "f":
            return np.asarray(np.isnan(y))
        if y.dtype.kind == "O":
            return np.array([value != value for value in y.ravel()], dtype=bool).reshape(y.shape)
        return np.zeros(y.shape, dtype=bool)
    if y.dtype.kind in "US" and not isinstance(unlabeled, str):
        return np.zeros(y.shape, dtype=bool)
    return np.asarray(y == unlabeled, dtype=bool)


def encode_labels(y: npt.ArrayLike, unlabeled: Any = -1) -> Labels:
    """Read labels and markers into `Labels`.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class values of any sortable kind; unlabelled samples hold the marker.
    unlabeled : scalar, nan or None, default -1
        The marker. With labels in {-1, +1} name another one: ``unlabeled=0`` or ``unlabeled=np.nan``.

    Returns
    -------
    Labels

    Raises
    ------
    ValueError
        If no sample or only one class is labelled, or if y holds NaN that is not the marker.

    Examples
    --------
    >>> labels = encode_labels(["cat", "dog", "?", "cat"], unlabeled="?")
    >>> labels.sign.tolist(), labels.labeled.tolist(), labels.classes.tolist()
    ([-1.0, 1.0, -1.0], [0, 1, 3], ['cat', 'dog'])
    """
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, got the shape {y.shape}; pass one label per sample.")
    hidden = is_unlabeled(y, unlabeled)
    known = y[~hidden]
    if known.dtype.kind == "f" and not np.isfinite(known).all():
        at = int(np.flatnonzero(~hidden)[~np.isfinite(known)][0])
        raise ValueError(
            f"y[{at}] is {y[at]}, which is neither a class nor the marker of an unlabelled sample "
            f"({unlabeled!r}). If it means 'unlabelled', pass unlabeled=np.nan."
        )
    if known.size == 0:
        raise ValueError(
            f"y has no labelled sample: all {y.size} values equal the marker {unlabeled!r}. "
            "Label at least one sample of each of two classes, or name another marker with unlabeled=."
        )
    if known.dtype.kind == "O":
        kinds = {type(value).__name__ for value in known}
        try:
            classes, codes = np.unique(known, return_inverse=True)
        except TypeError as error:
            raise ValueError(
                f"y mixes class values of the types {sorted(kinds)}, which cannot be sorted; use one type."
            ) from error
    else:
        classes, codes = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        message = (
            f"y has labelled samples of one class only ({classes[0]!r}); a classifier needs two classes or more. "
        )
        if unlabeled == -1 and hidden.any() and classes[0] == 1:
            message += (
                "-1 is read as 'unlabelled' here. If -1 is a class of yours, mark unlabelled samples by another "
                "value and pass it: unlabeled=0 or unlabeled=np.nan."
            )
        else:
            message += "Label at least one sample of another class."
        raise ValueError(message)
    labeled = np.flatnonzero(~hidden)
    if len(classes) == 2:
        sign = np.where(codes == 1, 1.0, -1.0)
    else:
        sign = np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)
    return Labels(sign, labeled, classes, len(y))


def hide_labels(
    y: npt.ArrayLike,
    *,
    n_labeled: int | None = None,
    per_class: int | None = None,
    unlabeled: Any = -1,
    random_state: int | np.random.Generator | None = None,
) -> AnyArray:
    """Return a copy of `y` in which all but a few labels are replaced by the marker.

    Parameters
    ----------
    y : array-like of shape (n,)
        True labels.
    n_labeled : int, optional
        Labels to keep, drawn at random until each class has at least one.
    per_class : int, optional
        Labels to keep of every class. Give this or `n_labeled`.
    unlabeled : scalar, nan or None, default -1
        The marker. It must not be a class of `y`.
    random_state : int, Generator or None
        Seed of ``numpy.random.default_rng``.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        If both or neither count is given, if a count cannot be met, or if the marker is a class of y.

    Examples
    --------
    >>> hide_labels([0, 0, 1, 1], per_class=1, random_state=0).tolist().count(-1)
    2
    """
    y = np.asarray(y)
    if (n_labeled is None) == (per_class is None):
        raise ValueError(f"give n_labeled or per_class, one of the two; got {n_labeled!r} and {per_class!r}.")
    if is_unlabeled(y, unlabeled).any():
        raise ValueError(
            f"the marker {unlabeled!r} is itself a label in y, so that hidden and true labels could not be told "
            "apart; pass another marker: unlabeled=0 or unlabeled=np.nan."
        )
    rng = np.random.default_rng(random_state)
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if per_class is not None:
        if not 1 <= per_class <= counts.min():
            raise ValueError(
                f"per_class={per_class}, but class {classes[counts.argmin()]!r} has {counts.min()} samples; "
                f"take 1 to {counts.min()}."
            )
        keep = np.concatenate(
            [rng.choice(np.flatnonzero(codes == k), per_class, replace=False) for k in range(len(classes))]
        )
    else:
        assert n_labeled is not None
        if not len(classes) <= n_labeled <= len(y):
            raise ValueError(
                f"n_labeled={n_labeled} cannot hold one sample of each of {len(classes)} classes among "
                f"{len(y)} samples; take {len(classes)} to {len(y)}."
            )
        # One of each class first, the rest uniformly: rejection would never end with a rare class.
        first = np.array([rng.choice(np.flatnonzero(codes == k)) for k in range(len(classes))])
        rest = rng.permutation(np.setdiff1d(np.arange(len(y)), first))
        keep = np.concatenate([first, rest[: n_labeled - len(first)]])
    mask = np.ones(len(y), dtype=bool)
    mask[keep] = False
    dtype: Any = y.dtype
    if unlabeled is None:
        dtype = object
    elif isinstance(unlabeled, float | np.floating) and y.dtype.kind in "iub":
        dtype = np.float64
    elif y.dtype.kind in "USb" or (y.dtype.kind == "u" and unlabeled < 0):
        dtype = object if y.dtype.kind != "u" else np.int64
        if y.dtype.kind in "US" and isinstance(unlabeled, str):
            dtype = np.result_type(y.dtype, np.asarray(unlabeled).dtype)
    hidden = y.astype(dtype)
    hidden[mask] = unlabeled
    return hidden
