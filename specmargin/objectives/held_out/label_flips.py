r"""How many labels would have to be false before a decision changes its class: exact where decisions are linear in y.

With its parameters fixed, regularised least squares decides by f = H y, column by column: H (m, l) is the smoother,
which knows kernel, graph and weights, but no label. A false label moves the sign of one labelled sample i from its
class y_i to another class c, so that f_k changes by H_i at k = c and by -H_i at k = y_i, twice. Sample a decided for
the class a and a rival b, its margin f_a - f_b decreases by at most

    2 max(0, H_ia + H_ib, H_ia) where y_i = a    (moved to b, or elsewhere),
    2 max(0, -H_ia - H_ib, -H_ib) where y_i = b  (moved to a, or elsewhere),
    2 max(0, -H_ia, H_ib) else                   (moved to a, or to b),

H_ia the smoother of class a, which is mostly one for all. Labels change it independently of each other, so that the
worst r false labels are the r largest of these terms, and the least number that changes the class is the least r whose
sum reaches the margin, over all rivals: `linear_flips`, one sort per sample and rival. With two classes there is one
margin, 2 |f|, and a term 4 max(0, H_i y_i sign f).

Where thresholds or class balance follow from the labels and from the decisions of all samples, decisions are not
linear, and the answer is that of every set of r labels, moved in every way: `enumerated_flips`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb

import numpy as np

from specmargin.checks import AsText, whole
from specmargin.exceptions import InvalidInputError
from specmargin.objectives.held_out.leave_one_out import RidgePath
from specmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["LabelRobustness", "enumerated_flips", "false_labels", "label_sets_up_to", "linear_flips", "smoother"]

_SHOWN = 3
"""Labels that a line names: those that decide most."""


@dataclass(frozen=True, eq=False)
class LabelRobustness(AsText):
    """How many labels would have to be false before a prediction changes; made by `label_robustness` of a classifier.

    `specmargin.plots.LabelRobustnessDisplay` draws it.

    Parameters
    ----------
    codes : ndarray of int, of shape (m,)
        Predicted classes, as positions in `classes`.
    radius : ndarray of int, of shape (m,)
        The least number of false labels that changes a prediction; ``limit + 1`` where no `limit` of them do.
    flips : ndarray of int, of shape (m, l)
        Labels that change the prediction, as many: the position of the class that each would have to be of instead, -1
        for labels that stay. All stay where no `limit` of them change it.
    decides : ndarray of bool, of shape (m, l)
        Whether a label changes the prediction of a sample when it alone is false.
    labeled : ndarray of int, of shape (l,)
        Rows of the labelled samples in the training.
    classes : ndarray of shape (K,)
        Class values.
    limit : int
        Number of false labels up to which all is known, l at most.
    counted : ndarray of bool, of shape (m,)
        The samples that shares are of: those whose label is not given.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(truth, per_class=5, random_state=0)
    >>> clf = sm.LapRLS(gamma_A=1e-2, gamma_I=1.0, kernel=4.0, class_balance=None).fit(X, y)
    >>> robust = clf.label_robustness()
    >>> robust.limit, bool((robust.radius[robust.certified(1)] >= 2).all()), robust.share(0)
    (10, True, 1.0)
    """

    codes: IntArray
    radius: IntArray
    flips: IntArray = field(repr=False)
    decides: BoolArray = field(repr=False)
    labeled: IntArray
    classes: AnyArray
    limit: int
    counted: BoolArray

    def certified(self, r: int) -> BoolArray:
        """Return which predictions stay as they are whichever r labels, or fewer, are false, (m,).

        Raises
        ------
        ValueError
            If r is negative, larger than the number of labels, or beyond the `limit`.
        """
        if not 0 <= whole("r", r) <= len(self.labeled):
            raise InvalidInputError(
                f"r={r} labels cannot be false: there are {len(self.labeled)}; take 0 to {len(self.labeled)}."
            )
        if r > self.limit:
            raise InvalidInputError(
                f"r={r}, but all sets of up to {self.limit} labels were tried, and beyond that nothing is known; take "
                f"label_robustness(max_flips={r})."
            )
        return np.asarray(self.radius > r)

    def share(self, r: int) -> float:
        """Return the share of the predictions that survive r false labels, of samples whose label is not given."""
        return float(self.certified(r)[self.counted].mean()) if self.counted.any() else 1.0

    @property
    def influence(self) -> FloatArray:
        """Share of the predictions that each label changes when it alone is false, (l,)."""
        kept = self.decides[self.counted]
        return np.asarray(kept.mean(axis=0)) if len(kept) else np.zeros(len(self.labeled))

    def deciding(self, n_labels: int = _SHOWN) -> tuple[IntArray, float]:
        """Return the rows of a few labels, one of which decides most predictions each, and that share.

        They are chosen one after the other, each for the predictions that those before do not decide.
        """
        rest, chosen = self.decides[self.counted].copy(), []
        total = max(len(rest), 1)
        for _ in range(min(whole("n_labels", n_labels), rest.shape[1])):
            if not rest.any():
                break
            chosen.append(int(rest.sum(axis=0).argmax()))
            rest = rest[~rest[:, chosen[-1]]]
        return self.labeled[np.array(chosen, dtype=np.intp)], float((total - len(rest)) / total) if chosen else 0.0

    def __str__(self) -> str:
        l, (rows, share) = len(self.labeled), self.deciding()
        shown = range(1, min(self.limit, _SHOWN) + 1)
        survive = ", ".join(f"{self.share(r):.0%} survive {r} false label{'s' * (r > 1)}" for r in shown)
        line = f"{len(rows)} of {l} labels decide {share:.0%} of the predictions" if len(rows) else "no label decides"
        return f"{line}; {survive}"


def smoother(
    G: FloatArray, cross: FloatArray, penalty: float, fit_intercept: bool = True, weights: FloatArray | None = None
) -> FloatArray:
    """Return H (m, l) of the decisions f = H y of least squares with a kernel.

    Parameters
    ----------
    G : ndarray of shape (l, l)
        Kernel of the labelled samples.
    cross : ndarray of shape (m, l)
        Kernel between the samples that are decided and these.
    penalty : float
        Weight of the norm, > 0, next to a sum of squares.
    fit_intercept : bool, default True
        Whether there is an unpenalised intercept.
    weights : ndarray of shape (l,), optional
        Weights of the squares.

    Examples
    --------
    >>> smoother(np.eye(2), np.array([[1.0, 0.0], [0.0, 0.0]]), 1.0).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    v, b = RidgePath(G, np.eye(len(G)), fit_intercept, weights).solution(penalty)
    return np.asarray(cross @ v + b)


def linear_flips(
    H: FloatArray, known: IntArray, n_classes: int, *, rounding: float = 0.0
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """Return codes, radius, flips and decides of `LabelRobustness` for decisions f = H y, exactly.

    Parameters
    ----------
    H : ndarray of shape (m, l) or (K, m, l)
        Smoother of all classes, or one for each.
    known : ndarray of int, of shape (l,)
        Classes of the labels, 0 to K - 1.
    n_classes : int
        K. With two classes there is one column of decisions.
    rounding : float, default 0
        Decisions that differ by no more are equal, and the first class is predicted.

    Examples
    --------
    >>> H = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.9]])
    >>> codes, radius, flips, decides = linear_flips(H, np.array([1, 1, 0]), 2)
    >>> codes.tolist(), radius.tolist(), flips.tolist(), decides[1].tolist()
    ([1, 0], [1, 1], [[0, -1, -1], [-1, -1, 1]], [False, False, True])
    """
    each = np.broadcast_to(H, (n_classes, *H.shape[-2:]))
    f = np.stack([one @ np.where(known == k, 1.0, -1.0) for k, one in enumerate(each)], axis=1)
    # With two classes one column decides: the margin is twice as large, and so is what rounding makes of it.
    unsure = 2.0 * rounding if n_classes == 2 else rounding
    codes = np.asarray((f >= f.max(axis=1, keepdims=True) - unsure).argmax(axis=1))
    m, l = H.shape[-2:]
    radius, flips = np.full(m, l + 1), np.full((m, l), -1)
    decides = np.zeros((m, l), dtype=bool)
    others = f.copy()
    np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
    most = 4.0 * np.abs(each).max(axis=(0, 2))  # that one label can take from a margin
    for rivals in np.argsort(-others, axis=1, kind="stable").T[:-1]:  # from the nearest on
        margin = f[np.arange(m), codes] - f[np.arange(m), rivals]
        # Of equal decisions the first class is predicted.
        need = np.where(rivals < codes, margin - unsure, np.nextafter(margin + unsure, np.inf))
        rows = np.flatnonzero(np.maximum(radius - 1, 1) * most >= need)
        if not len(rows):
            continue
        a, b, need = codes[rows, None], rivals[rows, None], need[rows, None]
        drop, to = _drops(each[a[:, 0], rows], each[b[:, 0], rows], known, a, b, n_classes)
        decides[rows] |= drop >= need
        order = np.argsort(-drop, axis=1, kind="stable")
        dropped = np.cumsum(np.take_along_axis(drop, order, axis=1), axis=1) >= need
        least = np.where(dropped[:, -1], dropped.argmax(axis=1) + 1, l + 1)
        nearer = np.flatnonzero(least < radius[rows])
        radius[rows[nearer]] = least[nearer]
        rank = np.empty_like(order[nearer])
        np.put_along_axis(rank, order[nearer], np.arange(l)[None], axis=1)
        flips[rows[nearer]] = np.where(rank < least[nearer, None], to[nearer], -1)
    return codes, radius, flips, decides


def _drops(
    own: FloatArray, rival: FloatArray, known: IntArray, a: IntArray, b: IntArray, n_classes: int
) -> tuple[FloatArray, IntArray]:
    """Return by how much each false label lowers the margin of a over b at most, and its class then, (m, l) each."""
    of_own, of_rival, both = known == a, known == b, own + rival
    first = np.where(of_own, both, np.where(of_rival, -both, rival))
    then = np.where(of_own, own, np.where(of_rival, -rival, -own)) if n_classes > 2 else first
    elsewhere = np.where(np.minimum(a, b) > 0, 0, np.where((a != 1) & (b != 1), 1, 2))
    to_first, to_then = np.where(of_rival, a, b), np.where(of_own | of_rival, elsewhere, a)
    return 2.0 * np.maximum(np.maximum(first, then), 0.0), np.where(first >= then, to_first, to_then)


def label_sets_up_to(l: int, n_classes: int, most: int) -> int:
    """Return the largest r >= 1 whose sets of up to r false labels, moved in every way, are no more than `most`.

    Examples
    --------
    >>> label_sets_up_to(20, 2, 5000), label_sets_up_to(20, 10, 5000), label_sets_up_to(10, 2, 5000)
    (3, 1, 10)
    """
    total = 0
    for r in range(1, l + 1):
        total += comb(l, r) * (n_classes - 1) ** r
        if total > most:
            return max(r - 1, 1)
    return l


def false_labels(known: IntArray, n_classes: int, r: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield r positions of labels and the classes that they move to, every one."""
    for at in combinations(range(len(known)), r):
        others = [[k for k in range(n_classes) if k != known[i]] for i in at]
        for to in product(*others):
            yield np.array(at), np.array(to)


def enumerated_flips(
    decide: Callable[[IntArray], IntArray], known: IntArray, n_classes: int, limit: int
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """Return codes, radius, flips and decides of `LabelRobustness` by every set of up to `limit` false labels.

    Parameters
    ----------
    decide : callable
        Predicted classes (m,) of labels of the classes (l,), each by its position.
    known : ndarray of int, of shape (l,)
        Classes of the labels.
    n_classes : int
        K.
    limit : int
        Most labels that are false.

    Examples
    --------
    >>> majority = lambda codes: np.array([int(codes.sum() >= 2)])
    >>> [part.tolist() for part in enumerated_flips(majority, np.array([1, 1, 1]), 2, 3)][1:3]
    [[2], [[0, 0, -1]]]
    """
    codes, l = decide(known), len(known)
    radius, flips = np.full(len(codes), limit + 1), np.full((len(codes), l), -1)
    decides = np.zeros((len(codes), l), dtype=bool)
    for r in range(1, limit + 1):
        for at, to in false_labels(known, n_classes, r):
            labels = known.copy()
            labels[at] = to
            changed = decide(labels) != codes
            if r == 1:
                decides[changed, at[0]] = True
            new = np.flatnonzero(changed & (radius > r))
            radius[new] = r
            flips[new[:, None], at] = to
        if (radius <= r).all():
            break
    return codes, radius, flips, decides
