"""Signs of the labelled samples, and the classes that they stand for: `Labels`."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from specmargin.arrays import finite_numbers
from specmargin.checks import seed, whole
from specmargin.exceptions import InvalidInputError
from specmargin.labels.markers import is_missing, is_unlabeled, label_vector, missing_values
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["Labels", "as_they_appear", "class_by_class", "encode_labels", "hide_labels", "several"]


def class_by_class(codes: npt.ArrayLike) -> IntArray:
    """Return the order of samples class by class, the classes as they first appear: it depends on no class's name.

    Examples
    --------
    >>> class_by_class(["b", "a", "a", "b"]).tolist(), class_by_class(["a", "b", "b", "a"]).tolist()
    ([0, 3, 1, 2], [0, 3, 1, 2])
    """
    return np.argsort(as_they_appear(codes), kind="stable")


def as_they_appear(codes: npt.ArrayLike) -> IntArray:
    """Return numbers of the classes in the order in which they first appear: they depend on no class's name.

    Examples
    --------
    >>> as_they_appear(["b", "a", "a", "c"]).tolist()
    [0, 1, 1, 2]
    """
    _, first, own = np.unique(np.asarray(codes), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[own]


@dataclass(frozen=True, eq=False)
class Labels:
    """Signs of the labelled samples.

    Parameters
    ----------
    sign : ndarray of shape (l,) or (l, n_classes)
        Signs in {-1, +1}; a column per class (one against the rest) when there are more than two classes. With two
        classes +1 means ``classes[1]``.
    labeled : ndarray of shape (l,)
        Increasing indices of the labelled samples.
    classes : ndarray
        The class values, sorted.
    n_samples : int
        Labelled and unlabelled samples together.
    weights : ndarray of shape (l,), optional
        Weights of the losses of the labelled samples, positive; None where all are one. `weighted` checks them.

    Attributes
    ----------
    n_labeled : int
        Number of labelled samples, l.
    is_binary : bool
        Whether there is one column of signs.
    sign_codes : ndarray of shape (l,)
        Class of every labelled sample, as an index into `classes`.
    counts : ndarray
        Number of labelled samples per class.
    unlabeled : ndarray
        Increasing indices of the unlabelled samples.
    weights_or_ones : ndarray of shape (l,)
        Weights of the labelled samples.
    """

    sign: FloatArray
    labeled: IntArray
    classes: AnyArray
    n_samples: int
    weights: FloatArray | None = None
    n_labeled: int = field(init=False, repr=False)
    is_binary: bool = field(init=False, repr=False)
    sign_codes: IntArray = field(init=False, repr=False)
    counts: IntArray = field(init=False, repr=False)
    weights_or_ones: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if np.ndim(self.labeled) != 1 or np.shape(self.labeled)[:1] != np.shape(self.sign)[:1]:
            raise InvalidInputError(
                f"labels have signs of shape {np.shape(self.sign)} and indices of shape {np.shape(self.labeled)}; pass "
                "one index for each row of the signs."
            )
        own = (self.sign > 0).astype(np.intp) if self.sign.ndim == 1 else self.sign.argmax(axis=1)
        vars(self).update(
            n_labeled=len(self.labeled),
            is_binary=self.sign.ndim == 1,
            sign_codes=own,
            counts=np.bincount(own, minlength=len(self.classes)),
            weights_or_ones=np.ones(len(self.labeled)) if self.weights is None else self.weights,
        )

    @cached_property
    def unlabeled(self) -> IntArray:
        """Increasing indices of the unlabelled samples."""
        mask = np.ones(self.n_samples, dtype=bool)
        mask[self.labeled] = False
        return np.flatnonzero(mask)

    def one_vs_rest(self) -> Iterator[Labels]:
        """Yield binary labels: themselves when binary, one per class otherwise."""
        if self.is_binary:
            yield self
            return
        for k in range(len(self.classes)):
            yield Labels(self.sign[:, k], self.labeled, np.array([False, True]), self.n_samples, self.weights)

    def with_codes(self, codes: IntArray) -> Labels:
        """Return labels of the same samples, weights and classes, each of another class by its position.

        Examples
        --------
        >>> encode_labels([0, 1, -1, 1]).with_codes(np.array([1, 1, 0])).sign.tolist()
        [1.0, 1.0, -1.0]
        """
        return replace(self, sign=_signs(codes, len(self.classes)))

    def weighted(self, weights: npt.ArrayLike) -> Labels:
        """Return the labels with weights of their losses; a label of weight zero is none: its sample is unlabelled.

        Parameters
        ----------
        weights : array-like of shape (l,)
            Finite, >= 0; of every class one is positive. They replace those that these labels have.

        Raises
        ------
        ValueError
            If a weight is negative or not finite, their number is another one, or a class has none.

        Examples
        --------
        >>> labels = encode_labels([0, 1, -1, 1]).weighted([2.0, 0.0, 0.5])
        >>> labels.labeled.tolist(), labels.weights.tolist()
        ([0, 3], [2.0, 0.5])
        """
        c = np.asarray(weights, dtype=np.float64)
        if c.shape != (self.n_labeled,):
            raise InvalidInputError(
                f"weights have the shape {c.shape}, but {self.n_labeled} samples are labelled; pass one for each."
            )
        finite_numbers("weights", c, "numbers >= 0, one per labelled sample", least=0.0)
        lost = np.setdiff1d(self.sign_codes, self.sign_codes[c > 0])
        if len(lost):
            raise InvalidInputError(
                f"all labelled samples of the class {self.classes.tolist()[lost[0]]!r} have the weight zero, so that "
                "nothing is known of it; give one of them a positive weight, or leave the class out."
            )
        kept = np.flatnonzero(c > 0)
        labels = self if len(kept) == self.n_labeled else self.at(kept)
        c = c[kept]
        return replace(labels, weights=None if (c == 1.0).all() else c)

    def at(self, kept: IntArray) -> Labels:
        """Return the labels of some of the labelled samples, by their position; the others are unlabelled ones."""
        weights = None if self.weights is None else self.weights[kept]
        return Labels(self.sign[kept], self.labeled[kept], self.classes, self.n_samples, weights)


def several(labels: Labels) -> str:
    """Return the text of a message on more classes than two, with the remedy.

    Examples
    --------
    >>> several(encode_labels([0, 1, 2, -1]))
    'those of 3 classes; iterate over labels.one_vs_rest()'
    """
    return f"those of {len(labels.classes)} classes; iterate over labels.one_vs_rest()"


def _classes(known: AnyArray, at: IntArray, unlabeled: Any) -> tuple[AnyArray, IntArray, IntArray]:
    """Sorted class values, their codes and counts; `at` holds the indices of the known labels in y."""
    if known.dtype.kind not in "biu" and (bad := missing_values(known)).any():
        raise InvalidInputError(
            f"y[{at[bad][0]}] is {known[bad].tolist()[0]!r}, a missing value, but the marker of unlabelled samples is "
            f"{unlabeled!r}; if it means 'unlabelled', pass unlabeled=np.nan"
        )
    # Numbers of one type as an array of that type: columns of pandas that may have missing values hold objects.
    types = {type(value) for value in known} if known.dtype.kind == "O" else set()
    if len(types) == 1 and issubclass(kind := types.pop(), bool | int | float | np.number | np.bool_):
        typed = np.array(known.tolist())
        known = known if typed.dtype.kind == "O" or issubclass(kind, np.longdouble) else typed
    if known.dtype.kind == "f" and np.isinf(known).any():
        k = int(np.isinf(known).argmax())
        raise InvalidInputError(
            f"y[{at[k]}] is {known[k]}, which is neither a class nor the marker of an unlabelled sample "
            f"({unlabeled!r}); if it means 'unlabelled', pass unlabeled=float('{known[k]}')"
        )
    try:
        return np.unique(known, return_inverse=True, return_counts=True)
    except (TypeError, ValueError) as error:
        kinds = sorted({type(value).__name__ for value in known})
        raise InvalidInputError(
            f"y mixes class values of the types {kinds}, which cannot be sorted; use one type, and name the "
            f"marker of unlabelled samples with unlabeled= (it is {unlabeled!r})."
        ) from error


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
        If no sample or only one class is labelled, or if y holds missing values that are not the marker.

    Examples
    --------
    >>> labels = encode_labels(["cat", "dog", "?", "cat"], unlabeled="?")
    >>> labels.sign.tolist(), labels.labeled.tolist(), labels.classes.tolist()
    ([-1.0, 1.0, -1.0], [0, 1, 3], ['cat', 'dog'])
    """
    y = label_vector(y)
    return labels_of(y, is_unlabeled(y, unlabeled), unlabeled)


def labels_of(y: AnyArray, hidden: BoolArray, unlabeled: Any) -> Labels:
    """Return the `Labels` of an array of one dimension, of which those samples carry the marker."""
    if hidden.all():
        raise InvalidInputError(
            f"y has no labelled sample: all {y.size} values equal the marker {unlabeled!r}. "
            "Label at least one sample of each of two classes, or name another marker with unlabeled=."
        )
    labeled = np.flatnonzero(~hidden)
    classes, codes, _ = _classes(y[labeled], labeled, unlabeled)
    if len(classes) < 2:
        message = f"y has labelled samples of one class only ({classes.tolist()[0]!r}); a classifier needs two. "
        if not is_missing(unlabeled) and unlabeled == -1 and hidden.any() and classes[0] == 1:
            message += (
                "-1 is read as 'unlabelled' here. If -1 is a class of yours, mark unlabelled samples by "
                "another value and pass it: unlabeled=0 or unlabeled=np.nan."
            )
        else:
            message += "Label at least one sample of another class."
        raise InvalidInputError(message)
    return Labels(_signs(codes, len(classes)), labeled, classes, len(y))


def _signs(codes: IntArray, n_classes: int) -> FloatArray:
    """Return the signs of classes by their positions, a column for each of more than two."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


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
    y = label_vector(y)
    if (n_labeled is None) == (per_class is None):
        raise InvalidInputError(f"give n_labeled or per_class, one of the two; got {n_labeled!r} and {per_class!r}.")
    if y.size == 0:
        raise InvalidInputError(f"y has the shape {y.shape}; pass one label per sample, of at least one.")
    if is_unlabeled(y, unlabeled).any():
        raise InvalidInputError(
            f"the marker {unlabeled!r} is itself a label in y, so that hidden and true labels could not be "
            "told apart; pass a marker that y does not hold, e.g. unlabeled=np.nan."
        )
    seed("random_state", random_state)
    rng = np.random.default_rng(random_state)
    classes, codes, counts = _classes(y, np.arange(len(y)), unlabeled)
    if per_class is not None:
        if not 1 <= whole("per_class", per_class) <= counts.min():
            raise InvalidInputError(
                f"per_class={per_class}, but class {classes.tolist()[counts.argmin()]!r} has {counts.min()} "
                f"samples; take 1 to {counts.min()}."
            )
        keep = np.concatenate(
            [rng.choice(np.flatnonzero(codes == k), per_class, replace=False) for k in range(len(classes))]
        )
    else:
        assert n_labeled is not None
        if not len(classes) <= whole("n_labeled", n_labeled) <= len(y):
            raise InvalidInputError(
                f"n_labeled={n_labeled} cannot hold one sample of each of {len(classes)} classes among "
                f"{len(y)} samples; take {len(classes)} to {len(y)}."
            )
        # One of each class first, the rest uniformly: rejection would never end with a rare class.
        first = np.array([rng.choice(np.flatnonzero(codes == k)) for k in range(len(classes))])
        rest = rng.permutation(np.setdiff1d(np.arange(len(y)), first))
        keep = np.concatenate([first, rest[: n_labeled - len(first)]])
    mask = np.ones(len(y), dtype=bool)
    mask[keep] = False
    return _with_marker(y, mask, unlabeled)


def _with_marker(y: AnyArray, mask: BoolArray, unlabeled: Any) -> AnyArray:
    """Copy of y with the marker where `mask` holds, in a dtype that changes neither labels nor marker."""
    dtype: Any = np.dtype(object)
    marker: Any = unlabeled
    if y.dtype.kind in "iuf" and type(unlabeled) is not bool and isinstance(unlabeled, numbers.Real):
        integral = isinstance(unlabeled, numbers.Integral) or y.dtype.kind == "f"
        dtype = np.result_type(y.dtype, np.min_scalar_type(marker)) if integral else np.dtype(np.float64)
    elif y.dtype.kind in "US" and isinstance(unlabeled, str if y.dtype.kind == "U" else bytes):
        dtype = np.result_type(y.dtype, np.asarray(unlabeled).dtype)
    hidden = y.astype(dtype)
    hidden[mask] = unlabeled
    # Integers beyond 2**53 have no float64 (seen only when Python compares), and 0.1 has no float32.
    kept = np.array_equal(hidden[~mask].astype(object), y[~mask].astype(object))
    if not (kept and np.array_equal(is_unlabeled(hidden, unlabeled), mask)):
        hidden = y.astype(object)
        hidden[mask] = unlabeled
    return hidden
