"""Bounds that a cone program implies, replayed in floats that are rounded outward: for every feasible x below a level.

Intervals go to and fro between columns and slacks, through rows, cones and the objective. Nothing is shared with those
who bounded the columns before (`cvxproof.conic`); a wrong program gives bounds of that program.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from cvxproof.typing import AnyArray, FloatArray, IntArray

__all__ = ["LARGE", "Cones", "Level", "Rows", "implied_box", "places"]

PASSES, MOST = 30, 1000
"""Passes, and how many at most as long as every one finds an end: an order of many columns takes one for each."""
EPS = 2.0**-52
LARGE = 1e150
"""Beyond it nothing is told of a column, so that no product leaves the range of floats; data must be below it."""

Cones = list[tuple[str, IntArray, tuple[float, ...]]]
"""Kinds, rows (count, length) and parameters, as in `cvxproof.ConeProof`."""


class Rows(NamedTuple):
    """Entries a of A by row i and column j, in order of rows, and the right sides."""

    i: IntArray
    j: IntArray
    a: FloatArray
    b: FloatArray


class Level(NamedTuple):
    """g'x + sum curvature x^2 / 2 <= limit for some g between both ends."""

    low: FloatArray
    high: FloatArray
    curvature: FloatArray
    limit: float


def down(x: FloatArray) -> FloatArray:
    return np.nextafter(x, -np.inf)


def up(x: FloatArray) -> FloatArray:
    return np.nextafter(x, np.inf)


def implied_box(
    rows: Rows, cones: Cones, level: Level, most: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of every feasible x below the level, infinite where there are none; `most` bounds its slacks."""
    n, m = len(level.low), len(rows.b)
    least, most = np.full(m, -np.inf), np.full(m, np.inf) if most is None else most
    with np.errstate(all="ignore"):
        low, high = pair_bounds(rows, cones, n)
        for k in range(MOST):
            before = np.concatenate([low, high, least, most])
            for kind, at, parameters in cones:
                tightened(kind, at, parameters, least, most)
            through_rows(rows, low, high, least, most)
            through_level(level, low, high)
            low[np.isnan(low)], high[np.isnan(high)] = -np.inf, np.inf
            # Where both ends have crossed, nothing feasible is below the level: what lies between them will do.
            low[:], high[:] = np.minimum(low, high), np.maximum(low, high)
            low[low < -LARGE], high[high > LARGE] = -np.inf, np.inf
            low[:], high[:] = np.minimum(low, LARGE), np.maximum(high, -LARGE)
            after = np.concatenate([low, high, least, most])
            if np.allclose(after, before, rtol=0.01, atol=1e-300):
                break
            if k >= PASSES and np.isfinite(after).sum() == np.isfinite(before).sum():
                break
    return low, high


def complementary(cones: Cones, low: FloatArray, high: FloatArray, room: float) -> FloatArray:
    """Return upper ends of the slacks of every x with s'z <= room, for multipliers z between their ends."""
    most = np.full(len(low), np.inf)
    for kind, at, _ in cones:
        inside = low[at[:, 0]]
        if kind == "second_order":  # s_0 z_0 - |s_1| |z_1| >= s_0 (z_0 - |z_1|)
            size = np.maximum(np.abs(low[at[:, 1:]]), np.abs(high[at[:, 1:]]))
            inside = down(inside - up(np.sqrt((size * size).sum(axis=1)) * (1 + (at.shape[1] + 4) * EPS)))
        elif kind != "nonnegative":
            continue
        positive = inside > 0
        most[at[positive, 0]] = up(room / inside[positive])
    return most


def pair_bounds(rows: Rows, cones: Cones, n: int) -> tuple[FloatArray, FloatArray]:
    """Return what the sum of two inequalities says that leaves one column, such as t >= u and t >= -u."""
    low, high, m = np.full(n, -np.inf), np.full(n, np.inf), len(rows.b)
    inequality = np.zeros(m, dtype=bool)
    for kind, at, _ in cones:
        inequality[at.ravel()] = kind == "nonnegative"
    A = csr_array((np.where(inequality[rows.i], rows.a, 0.0), (rows.i, rows.j)), shape=(m, n))
    A.eliminate_zeros()
    columns = A.tocsc()
    starts = columns.indptr[:-1][np.diff(columns.indptr) == 2]  # columns of two inequalities
    first, second = columns.indices[starts], columns.indices[starts + 1]
    whole = A[first] + A[second]
    whole.eliminate_zeros()
    single = np.diff(whole.indptr) == 1
    at, one, two = whole.indptr[:-1][single], rows.b[first[single]], rows.b[second[single]]
    j, a = whole.indices[at], whole.data[at]
    end, pad = (one + two) / a, 4 * EPS * (np.abs(one) + np.abs(two)) / np.abs(a) + 1e-300
    np.minimum.at(high, j[a > 0], (end + pad)[a > 0])
    np.maximum.at(low, j[a < 0], (end - pad)[a < 0])
    return low, high


def tightened(kind: str, at: IntArray, parameters: tuple[float, ...], least: FloatArray, most: FloatArray) -> None:
    """Tighten the bounds of slacks, in place, by what their cones say."""
    if kind == "zero":
        least[at], most[at] = 0.0, 0.0
    elif kind == "nonnegative":
        least[at] = np.maximum(least[at], 0.0)
    elif kind == "second_order":
        head, rest = at[:, :1], at[:, 1:]
        least[head] = np.maximum(least[head], 0.0)
        least[rest], most[rest] = np.maximum(least[rest], -most[head]), np.minimum(most[rest], most[head])
    elif kind == "semidefinite":
        i, j = places(parameters)
        on, off = at[:, i == j], at[:, i != j]
        least[on] = np.maximum(least[on], 0.0)
        root = up(np.sqrt(np.maximum(most[on], 0.0)))
        end = root[:, i[i != j]] * root[:, j[i != j]]  # |S_ij| <= sqrt(S_ii S_jj), and what is packed is sqrt 2 S_ij
        end = np.where(np.isnan(end), np.inf, end * math.sqrt(2.0) * (1 + 8 * EPS) + 1e-300)
        least[off], most[off] = np.maximum(least[off], -end), np.minimum(most[off], end)
    elif kind == "exponential":
        x, y, z = (at[:, int(k)] for k in parameters)
        least[y], least[z] = np.maximum(least[y], 0.0), np.maximum(least[z], 0.0)
        # x <= y log(z / y), which grows with z, and in y up to z / e.
        best = np.clip(most[z] / math.e, least[y], most[y])
        end = np.where(best > 0, best * np.log(most[z] / best), 0.0)
        end = np.where(np.isfinite(most[z]), end + 1e-12 * (np.abs(end) + best) + 1e-300, np.inf)
        most[x] = np.fmin(most[x], end)
        # z >= y exp(x / y), which grows with x, and is least at y = x.
        best = np.clip(least[x], least[y], most[y])
        end = np.where(best > 0, best * np.exp(np.minimum(least[x] / best, 600.0)) * (1 - 1e-12), 0.0)
        least[z] = np.fmax(least[z], end)
    else:
        heads, tail = at[:, :-1], at[:, -1]
        least[heads] = np.maximum(least[heads], 0.0)
        powers = np.array(parameters) / sum(parameters)
        end = np.exp((powers * np.log(np.maximum(most[heads], 1e-300))).sum(axis=1)) * (1 + 1e-12 * (8 + len(powers)))
        least[tail], most[tail] = np.fmax(least[tail], -end), np.fmin(most[tail], end)


def places(parameters: tuple[float, ...]) -> tuple[IntArray, IntArray]:
    """Return row and column of the packed entries of a symmetric matrix, by columns of its triangle."""
    order, is_lower = int(parameters[0]), parameters[1] == 1
    i, j = np.triu_indices(order) if is_lower else np.tril_indices(order)[::-1]
    return i, j


def through_rows(rows: Rows, low: FloatArray, high: FloatArray, least: FloatArray, most: FloatArray) -> None:
    """Tighten slacks by columns, then columns by slacks, in place: b_i - s_i = sum a_ij x_j."""
    i, j, a, b = rows
    rising = a > 0
    small, large = down(np.where(rising, a * low[j], a * high[j])), up(np.where(rising, a * high[j], a * low[j]))
    (small_sum, small_open), (large_sum, large_open) = sums(small, i, b, -1), sums(large, i, b, 1)
    most[:] = np.where(small_open == 0, np.fmin(most, up(b - small_sum)), most)
    least[:] = np.where(large_open == 0, np.fmax(least, down(b - large_sum)), least)
    top = up(up(b - least)[i] - without(small, small_sum, small_open, i, -1))
    bottom = down(down(b - most)[i] - without(large, large_sum, large_open, i, 1))
    upper, lower = up(np.where(rising, top, bottom) / a), down(np.where(rising, bottom, top) / a)
    np.fmin.at(high, j, np.where(np.isnan(upper), np.inf, upper))
    np.fmax.at(low, j, np.where(np.isnan(lower), -np.inf, lower))


def sums(terms: FloatArray, i: IntArray, b: FloatArray, side: int) -> tuple[FloatArray, AnyArray]:
    """Return the sums of the finite terms of each row, rounded to that side, also those without one; and the others."""
    m, finite = len(b), np.isfinite(terms)
    kept = np.where(finite, terms, 0.0)
    size = np.bincount(i, np.abs(kept), m)
    pad = (np.bincount(i, minlength=m) + 4) * EPS * size
    return np.bincount(i, kept, m) + side * pad, np.bincount(i, ~finite, m)


def without(terms: FloatArray, total: FloatArray, n_open: AnyArray, i: IntArray, side: int) -> FloatArray:
    """Return the sums of the other terms of each row; infinite to that side where one of them is."""
    finite = np.isfinite(terms)
    return np.where(n_open[i] - ~finite == 0, total[i] - np.where(finite, terms, 0.0), side * np.inf)


def through_level(level: Level, low: FloatArray, high: FloatArray) -> None:
    """Tighten every column, in place, by the level and the least values of the other columns."""
    p, size = level.curvature, np.maximum(np.abs(level.low), np.abs(level.high))
    corners = [np.where(g == 0, 0.0, g * x) for g in (level.low, level.high) for x in (low, high)]
    flat = down(np.min(corners, axis=0))
    least = np.where(p > 0, -up(up(size * size) / (2 * p)), np.where(np.isnan(flat), -np.inf, flat))
    finite = np.isfinite(least)
    kept = np.where(finite, least, 0.0)
    pad = (len(p) + 8) * EPS * float(np.abs(kept).sum() + abs(level.limit)) + 1e-300
    room = np.where((~finite).sum() - ~finite == 0, level.limit - (kept.sum() - kept) + pad, np.inf)
    # g x + p x^2 / 2 <= room: of a parabola around -g / p, of a line beyond its crossing.
    inner = up(2 * up(room + up(up(size * size) / (2 * p))) / p)
    half = up(np.sqrt(np.maximum(inner, 0.0)))
    round_high, round_low = up(up(-level.low / p) + half), down(down(-level.high / p) - half)
    straight = up(np.maximum(room / level.low, room / level.high))
    straight_low = down(np.minimum(room / level.low, room / level.high))
    upper = np.where(p > 0, round_high, np.where(level.low > 0, straight, np.inf))
    lower = np.where(p > 0, round_low, np.where(level.high < 0, straight_low, -np.inf))
    high[:] = np.fmin(high, np.where(np.isnan(upper), np.inf, upper))
    low[:] = np.fmax(low, np.where(np.isnan(lower), -np.inf, lower))
