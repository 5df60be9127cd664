"""Whether a quadratic form is convex, proved: by Rump's test of floats, or in rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from cvxproof.conic.cones import definiteness_margin, is_definite
from cvxproof.typing import FloatArray, Matrix

__all__ = ["convexity", "is_semidefinite"]

_RATIONAL = 40
"""Matrices up to this order are looked at in rational arithmetic."""
_BLOCK = 2500
"""Largest connected block of P that is factorised."""


def convexity(P: Matrix) -> tuple[float, float]:
    """Return c and k of `ConeProgram.convexity`: Rump's test on every connected block, scaled by powers of two."""
    diagonal = P.diagonal()
    if (diagonal < 0).any() or np.ravel(abs(P).sum(axis=0))[diagonal == 0].any():
        return math.inf, 0.0
    kept = np.flatnonzero(diagonal > 0)
    scale = sp.diags(np.exp2(-np.round(np.log2(diagonal[kept]) / 2)))  # the scaled diagonal is in [1/2, 2]
    M = sp.csc_matrix(scale @ P[kept][:, kept] @ scale)
    n_blocks, block = sp.csgraph.connected_components(M, directed=False)
    defect, strength = 0.0, 1.0
    order = np.argsort(block, kind="stable")
    for at in np.split(order, np.cumsum(np.bincount(block, minlength=n_blocks))[:-1]):
        if len(at) == 1:
            continue
        if len(at) > _BLOCK:
            return math.inf, 0.0
        of_block = _of_block(M[at][:, at].toarray(), P[kept[at]][:, kept[at]])
        defect, strength = max(defect, of_block[0]), min(strength, of_block[1])
    return defect, strength


def _of_block(M: FloatArray, P: Matrix) -> tuple[float, float]:
    m, eye, margin = len(M), np.eye(len(M)), definiteness_margin(M)
    if is_definite(M):
        least = float(np.linalg.eigvalsh(M)[0])
        return (0.0, least / 4.2) if least > 0 and is_definite(M - least / 2 * eye) else (0.0, 0.0)
    if m <= _RATIONAL and is_semidefinite(P):
        return 0.0, 0.0
    if is_definite(M + 1.25 * margin * eye):  # singular but for rounding
        return 2.1 * 1.25 * margin, 0.0
    least = float(np.linalg.eigvalsh(M)[0])
    for shift in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8):
        whole = max(shift - min(least, 0.0), shift) * m
        if whole + least > 0.5 * margin and is_definite(M + whole * eye):  # below it the test would refuse
            return 2.1 * whole, 0.0
    return math.inf, 0.0


def is_semidefinite(P: Matrix) -> bool:
    """Whether a symmetric matrix is positive semidefinite, by elimination in rational arithmetic, sparse rows first."""
    P = sp.csr_matrix(P)
    place = np.empty(P.shape[0], dtype=int)
    place[np.argsort(np.diff(P.indptr), kind="stable")] = np.arange(P.shape[0])
    rows: list[dict[int, Fraction]] = [{} for _ in place]
    for i, (start, end) in enumerate(pairwise(P.indptr.tolist())):
        columns = place[P.indices[start:end]].tolist()
        entries = zip(columns, P.data[start:end].tolist(), strict=True)
        rows[place[i]] = {j: Fraction(entry) for j, entry in entries if entry}
    for i, pivots in enumerate(rows):
        pivot, others = pivots.get(i, Fraction(0)), {j: entry for j, entry in pivots.items() if j > i and entry}
        if pivot < 0 or (not pivot and others):
            return False
        for j, entry in others.items():  # the rows below that have an entry in this column, by symmetry
            row, factor = rows[j], entry / pivot
            for k, above in others.items():
                row[k] = row.get(k, Fraction(0)) - factor * above
    return True
