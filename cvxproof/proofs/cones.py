"""The cones of a program in balls: what lies in them, how far slacks are outside, and steps that stay inside."""

from __future__ import annotations

import math

import numpy as np

from cvxproof.proofs import balls as of
from cvxproof.proofs.balls import ZERO, Ball, Refuted, arb, arb_mat, balls, largest, total
from cvxproof.proofs.implied_box import places
from cvxproof.typing import AnyArray, FloatArray

__all__ = ["directions", "in_dual", "is_zero", "violation"]

STEP = 1e-8
"""How far a block of multipliers is to move that is not on its ray, next to its size."""
logarithm = np.frompyfunc(lambda x: x.log(), 1, 1)


def in_dual(kind: str, z: AnyArray, parameters: tuple[float, ...]) -> bool:
    """Whether multipliers, balls, lie in a dual cone, for certain."""
    if kind == "zero" or is_zero(z):
        return True
    if kind == "nonnegative":
        return bool(z[0] >= 0)
    if kind == "second_order":
        return bool(z[0] >= 0 and z[0] * z[0] >= total(z[1:] ** 2))
    if kind == "semidefinite":
        return bool(z[0] >= 0) if len(z) == 1 else of.is_definite(filled(symmetric(z, parameters)))
    if kind == "exponential":
        u, v, w = (z[int(k)] for k in parameters)
        if u == 0:
            return bool(v >= 0 and w >= 0)
        return bool(u < 0 and w > 0 and v / u - 1 < w.log() - (-u).log())
    heads, tail = z[:-1], abs(z[-1])
    if tail == 0:
        return all(one >= 0 for one in heads)
    a = balls(parameters) / total(balls(parameters))
    return all(one > 0 for one in heads) and bool(total(a * logarithm(heads / a)) >= tail.log())


def is_zero(z: AnyArray) -> bool:
    """Whether all balls are zero, for certain."""
    return all(one == 0 for one in z)


def filled(M: arb_mat) -> arb_mat:
    """Return M with one on the diagonal where a row is zero for certain: semidefinite if and only if M is."""
    return M + of.diagonal([float(is_zero(row)) for row in of.entries(M)])


def symmetric(z: AnyArray, parameters: tuple[float, ...]) -> arb_mat:
    """Return the matrix of packed entries, off the diagonal over sqrt 2."""
    order, (i, j) = int(parameters[0]), places(parameters)
    M = np.full((order, order), ZERO, dtype=object)
    M[i, j] = M[j, i] = np.where(i == j, z, z / arb(2).sqrt())
    return arb_mat(M.tolist())


def violation(kind: str, s: AnyArray, parameters: tuple[float, ...]) -> Ball:
    """Return how far slacks are outside of their cone, in its own units; of a matrix an upper bound."""
    if kind == "zero":
        return abs(s[0])
    if kind == "nonnegative":
        return (-s[0]).max(ZERO)
    if kind == "second_order":
        return (total(s[1:] ** 2).sqrt() - s[0]).max(ZERO)
    if kind == "semidefinite":
        return _below_zero(symmetric(s, parameters))
    if kind == "exponential":
        x, y, z = (s[int(k)] for k in parameters)
        return (y * (x / y).exp() - z).max(ZERO) if y > 0 else largest([ZERO, -y, -z, x])
    a = balls(parameters) / total(balls(parameters))
    mean = total(a * logarithm(s[:-1])).exp() if all(one > 0 for one in s[:-1]) else ZERO
    return largest([ZERO, abs(s[-1]) - mean, *-s[:-1]])


def _below_zero(M: arb_mat) -> Ball:
    """Return a t >= 0 with which M + tI is proved to be positive semidefinite."""
    near = of.floats(of.entries(M))
    guess, size = max(-float(np.linalg.eigvalsh(near)[0]), 0.0), 1e-15 * float(np.abs(near).max()) + 1e-300
    for t in (0.0, *(guess * (1 + 1e-10) + size * 8.0**k for k in range(8))):
        if of.is_definite(filled(M + of.diagonal([t] * len(near)))):
            return arb(t)
    raise Refuted("nothing is proved of a matrix among the slacks of the answer")


def directions(kind: str, z: FloatArray, parameters: tuple[float, ...]) -> FloatArray:
    """Return the columns of F for one block: z, by which it stays in its cone, and a little in all directions.

    Of a matrix these are Z^1/2 E Z^1/2, which move least what is nearly singular. Next to the edge g = 0 of the dual of
    an exponential cone, g = v - u - u log(-w / u), two are along the edge, and one is g towards it.
    """
    if kind == "zero":
        return np.ones((1, 1))
    if kind == "semidefinite" and z.any():
        order, (i, j) = int(parameters[0]), places(parameters)
        weight, Z = np.where(i == j, 1.0, math.sqrt(2.0)), np.zeros((order, order))
        Z[i, j] = Z[j, i] = z / weight
        values, V = np.linalg.eigh(Z)
        root = (V * np.sqrt(np.maximum(values, 0.0))) @ V.T
        units = (np.outer(root[:, a], root[b]) for a, b in zip(i.tolist(), j.tolist(), strict=True))
        return np.column_stack([(unit + unit.T)[i, j] * weight for unit in units])
    if kind == "exponential":
        at = [int(k) for k in parameters]
        u, v, w = z[at].tolist()
        if u < 0 < w and (g := v - u - u * math.log(-w / u)) > 0:
            k, out = min(1.0, math.sqrt(g / -u)), np.zeros((3, 3))
            out[at] = np.array([[-u * k, 0, 0], [u * math.log(-u / w) * k, u * k, g], [0, w * k, 0]])
            return out
    return np.column_stack([z, STEP * np.abs(z).max() * np.eye(len(z))])
