"""Errors with fewer labels: a learning curve of AutoSSL and of its supervised baseline, from one bank of kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specmargin.tables.candidates import CONSTANTS, FAMILIES, SUPERVISED, Mixture, build_bank, train_candidates
from specmargin.typing import FloatArray, IntArray, Matrix

__all__ = ["LearningCurve", "learning_curve"]

_SHARES = (0.25, 0.5, 0.75)
_DRAWS = 3


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Mean errors at the labels that were not given.

    Parameters
    ----------
    sizes : ndarray of shape (k,)
        Numbers of labels that were given, increasing.
    errors, deviations : dict of str to ndarray of shape (k,)
        Mean over the draws, and the standard error of that mean, by "AutoSSL" and "supervised baseline".
    n_draws : int
        Draws of each size.
    """

    sizes: IntArray
    errors: dict[str, FloatArray]
    deviations: dict[str, FloatArray]
    n_draws: int


def learning_curve(
    X: Matrix, codes: IntArray, *, n_draws: int | None = None, random_state: int = 0
) -> LearningCurve | None:
    """Give a quarter, a half and three quarters of the labels, and test on the others.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
    codes : ndarray of shape (n,)
        Classes, -1 for unlabelled rows.
    n_draws : int, optional
        Draws of each size, 3 by default; each has all classes.
    random_state : int

    Returns
    -------
    LearningCurve or None
        None where there are fewer than 12 labels, or too few of most classes.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, truth = sm.datasets.make_two_moons(n_samples=80, noise=0.1, random_state=0)
    >>> curve = learning_curve(X, sm.hide_labels(truth, per_class=8, random_state=0), n_draws=1)
    >>> curve.sizes.tolist(), sorted(curve.errors)
    ([4, 8, 12], ['AutoSSL', 'supervised baseline'])
    """
    known = np.flatnonzero(codes >= 0)
    n_classes, l = int(codes.max()) + 1, len(known)
    sizes = np.unique([max(n_classes, round(share * l)) for share in _SHARES])
    if l < 12 or l - sizes[0] < 4:
        return None
    n_draws = n_draws or _DRAWS
    bank = build_bank(X, families=FAMILIES, random_state=random_state)
    rng = np.random.default_rng(random_state)
    wrong = {name: np.zeros((len(sizes), n_draws)) for name in ("AutoSSL", "supervised baseline")}
    for i, size in enumerate(sizes):
        for draw in range(n_draws):
            given = _drawn(codes, known, size, rng)
            tested = np.setdiff1d(known, given)
            trained = train_candidates(
                bank, given, codes[given], n_classes, families=FAMILIES, random_state=random_state
            )
            for name, groups in (
                ("AutoSSL", trained),
                ("supervised baseline", [group for group in trained if group.family in SUPERVISED]),
            ):
                if len(tested) and groups:
                    mixture = Mixture(groups, codes[given], n_classes, constants=CONSTANTS, random_state=random_state)
                    decided = mixture.log_probabilities[tested].argmax(axis=1)
                    wrong[name][i, draw] = np.mean(decided != codes[tested])
    spread = max(n_draws - 1, 1)
    return LearningCurve(
        sizes,
        {name: values.mean(axis=1) for name, values in wrong.items()},
        {name: np.sqrt(values.var(axis=1) / spread) for name, values in wrong.items()},
        n_draws,
    )


def _drawn(codes: IntArray, known: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """Draw labelled rows, one of each class at least."""
    first = [rng.choice(known[codes[known] == k]) for k in np.unique(codes[known])]
    others = np.setdiff1d(known, first)
    more = rng.choice(others, max(0, size - len(first)), replace=False)
    return np.sort(np.concatenate([first, more]).astype(np.intp))
