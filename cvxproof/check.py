"""Check a proof file: python check.py FILE. This one file and Python are all that it needs; no solver, no packages.

The file holds a cone program, multipliers z and a point x, all exact, and a claim. With z in the dual cone, P positive
semidefinite and P x + q + A'z = 0, every feasible point has an objective of at least d - b'z - x'P x / 2: this is
computed in rational numbers. The format is described in docs/proof_files.md of the project; only version 1 is read.

Exit status: 0 the claim is proved, 1 it is not, or the file is none.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # next to this file lie modules of other meaning that are called as Python's own

import json
import re
import zipfile
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import isqrt, lcm, nextafter, sqrt
from typing import Any, NamedTuple

FORMAT, VERSION, MEMBER = "cvxproof", 1, "proof.json"
LARGEST = 2**28
"""Bytes of a file in memory."""
DIGITS = 2**18
"""Bits of the common denominator of a list of numbers."""
ORDER = 400
"""Order of a matrix, whose factor takes a time that grows with its cube."""
BITS = 100
"""Of the square roots and factors that matrices are compared with."""
NUMBER = re.compile(r"(-?[0-9a-f]+)(?:p(-?[0-9]{1,4}))?(?:/([0-9a-f]+))?", re.ASCII)
Entries = list[tuple[int, int, Fraction]]
Matrix = list[list[Fraction]]


class Refused(Exception):  # noqa: N818
    """Why nothing is proved."""


class Cone(NamedTuple):
    """Rows from `start` to before `end` that lie in one cone, and the place of their constraint's name."""

    kind: str
    start: int
    end: int
    owner: int


class Problem(NamedTuple):
    """Minimise x'P x / 2 + q'x + d subject to A x + s = b, s in the cones; P is symmetric."""

    sense: str
    d: Fraction
    q: list[Fraction]
    b: list[Fraction]
    P: Entries
    A: Entries
    cones: list[Cone]
    names: list[str]


# What a file holds


def read(path: Any) -> dict[str, Any]:
    """Return the document of a file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if [info.filename for info in members] != [MEMBER] or members[0].file_size > LARGEST:
                raise Refused(f"it is no proof file: it does not hold {MEMBER!r} alone, of at most {LARGEST} bytes")
            content = archive.read(MEMBER)
        document = json.loads(content, object_pairs_hook=_once, parse_constant=_once, parse_float=_once)
    except Refused:
        raise
    except Exception as error:  # zipfile, zlib and json raise some ten types on damaged bytes
        raise Refused(f"it cannot be read ({type(error).__name__}: {error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Refused(f"it is no proof file: its format is not {FORMAT!r}")
    if type(version := document.get("version")) is not int or version != VERSION:
        raise Refused(
            f"it is of the version {version!r}, and version {VERSION} is read: use the checker of that version"
        )
    return document


def _once(pairs: Any) -> dict[str, Any]:
    if not isinstance(pairs, list) or len(dict(pairs)) < len(pairs):
        raise Refused("it has a name twice, or a number that is none of its format")
    return dict(pairs)


def fields(value: Any, names: str, where: str) -> list[Any]:
    """Return the fields of an object that has these and no others."""
    if not isinstance(value, dict) or sorted(value) != sorted(names.split()):
        raise Refused(f"{where} does not hold {names}, and nothing else")
    return [value[name] for name in names.split()]


def numbers(values: Any, where: str, size: int | None = None, binary: bool = True) -> list[Fraction]:
    """Return exact numbers; binary ones are whole numbers times powers of two."""
    if not isinstance(values, list) or size not in (None, len(values)):
        raise Refused(f"{where} is no list of {'numbers' if size is None else f'{size} numbers'}")
    out = []
    for k, value in enumerate(values):
        match = NUMBER.fullmatch(value) if isinstance(value, str) else None
        above, power, below = match.groups() if match else ("0", None, "0")
        under = int(below or "1", 16)
        if under == 0 or (binary and under != 1):
            raise Refused(f"entry {k} of {where} is no exact number: {str(value)[:50]!r}")
        out.append(Fraction(int(above, 16), under) * Fraction(2) ** int(power or 0))
        if abs(out[-1]) >= 2**300:
            raise Refused(f"entry {k} of {where} is beyond 2^300")
    return out


def places(values: Any, where: str, limit: int, size: int | None = None) -> list[int]:
    """Return whole numbers from 0 to below `limit`."""
    if not isinstance(values, list) or size not in (None, len(values)):
        raise Refused(f"{where} is no list of {'places' if size is None else f'{size} places'}")
    for value in values:
        if type(value) is not int or not 0 <= value < limit:
            raise Refused(f"{where} holds {str(value)[:50]!r}, which is no whole number from 0 to below {limit}")
    return values


def entries(value: Any, where: str, n_rows: int, n_columns: int) -> Entries:
    """Return the entries of a sparse matrix, each place once and in order."""
    rows, columns, data = fields(value, "row column value", where)
    a = numbers(data, where)
    i, j = places(rows, f"{where}.row", n_rows, len(a)), places(columns, f"{where}.column", n_columns, len(a))
    at = list(zip(i, j, strict=True))
    if any(one >= two for one, two in pairwise(at)):
        raise Refused(f"the entries of {where} are not in order, or one is there twice")
    return list(zip(i, j, a, strict=True))


def problem_of(value: Any) -> Problem:
    """Return the cone program of a file."""
    sense, d, q, b, P, A, cones, names = fields(value, "sense constant q b P A cones names", "problem")
    if sense not in ("minimize", "maximize"):
        raise Refused("the sense is neither 'minimize' nor 'maximize'")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refused("the names are no texts")
    costs, sides = numbers(q, "q"), numbers(b, "b")
    n, m = len(costs), len(sides)
    upper = entries(P, "P", n, n)
    if any(i > j for i, j, _ in upper):
        raise Refused("P has entries below its diagonal; it is symmetric, and those above are enough")
    whole = upper + [(j, i, a) for i, j, a in upper if i < j]
    held, at = list[Cone](), 0
    for cone in cones if isinstance(cones, list) else ():
        kind, count, owner = fields(cone, "kind rows of", "a cone")
        (size,), (place,) = places([count], "a cone", m + 1), places([owner], "a cone", len(names))
        order = order_of(size)
        is_triangle = kind == "semidefinite" and 0 < order * (order + 1) == 2 * size
        if not is_triangle and (kind not in ("zero", "nonnegative", "second_order") or not size):
            raise Refused(f"row {at}: there is no cone {str(kind)[:50]!r} of {size} rows in version {VERSION}")
        step = 1 if kind in ("zero", "nonnegative") else size
        held += [Cone(kind, start, start + step, place) for start in range(at, at + size, step)]
        at += size
    if at != m:
        raise Refused(f"the cones hold {at} rows, and b has {m}")
    return Problem(sense, numbers([d], "constant")[0], costs, sides, whole, entries(A, "A", m, n), held, names)


def order_of(size: int) -> int:
    """Return the order of a symmetric matrix whose triangle has this number of entries."""
    return (isqrt(8 * size + 1) - 1) // 2


# Exact arithmetic


def whole(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return values as whole numbers over one denominator."""
    below = 1
    for value in values:
        below = lcm(below, value.denominator)
        if below.bit_length() > DIGITS:
            raise Refused(f"the common denominator of {len(values)} numbers has more than {DIGITS} bits")
    return [value.numerator * (below // value.denominator) for value in values], below


def product(matrix: Entries, x: Sequence[Fraction], size: int, transposed: bool = False) -> list[Fraction]:
    """Return A x, or A'x."""
    (a, under), (t, below), out = whole([entry[2] for entry in matrix]), whole(x), [0] * size
    for (i, j, _), one in zip(matrix, a, strict=True):
        if transposed:
            i, j = j, i
        out[i] += one * t[j]
    return [Fraction(one, under * below) for one in out]


def dot(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    """Return x'y."""
    return product([(0, j, one) for j, one in enumerate(x)], y, 1)[0]


def at_most(value: Fraction) -> float:
    """Return a float that is no larger, next to it."""
    near = value.numerator / value.denominator
    return near if near <= value else nextafter(near, -float("inf"))


# Cones


def inside(kind: str, s: Sequence[Fraction], by: Fraction = Fraction(0)) -> bool:
    """Whether s, moved inside by so much, is proved to be in a cone; of equalities, whether it is within that of zero.

    A semidefinite cone has the upper triangle of a matrix by columns, off the diagonal times the root of two.
    """
    if kind == "zero":
        return abs(s[0]) <= by
    if kind == "nonnegative":
        return s[0] + by >= 0
    if kind == "second_order":
        (head, *tail), _ = whole([s[0] + by, *s[1:]])
        return head >= 0 and head * head >= sum(one * one for one in tail)
    order, at = order_of(len(s)), 0
    require_order(order)
    M = [[Fraction(0)] * order for _ in range(order)]
    for j in range(order):
        for i in range(j + 1):
            M[i][j] = M[j][i] = s[at] + (by if i == j else 0)
            at += 1
    return is_semidefinite(M, root=True)


def require_order(order: int) -> None:
    """Refuse matrices that take too long."""
    if order > ORDER:
        raise Refused(f"a matrix has the order {order}, and those of up to {ORDER} are checked")


def is_semidefinite(M: Matrix, root: bool = False) -> bool:
    """Whether a symmetric matrix is proved to be positive semidefinite; `root`: off the diagonal times the root of two.

    A factor L in floats is a guess; the rest M - L L' is computed in whole numbers, and has a dominant diagonal. Where
    there is no such factor the matrix is reduced in rational numbers, which says it of singular matrices, too.
    """
    for i, row in enumerate(M):
        if row[i] < 0 or any(one * one > 2 * row[i] * M[j][j] for j, one in enumerate(row) if one):
            return False
    kept = [i for i, row in enumerate(M) if sum(map(bool, row)) > 1]
    # Scaled by powers of two to a diagonal near one, and rounded to 2 BITS digits: off by less than one each.
    power = [BITS - (M[i][i].numerator.bit_length() - M[i][i].denominator.bit_length()) // 2 for i in kept]
    N = []
    for i, p in zip(kept, power, strict=True):
        row = [M[i][j] * Fraction(2) ** (p + o) for j, o in zip(kept, power, strict=True)]
        size = [
            isqrt(int(one * one / 2)) if root and i != j else int(abs(one)) for j, one in zip(kept, row, strict=True)
        ]
        N.append([-one if exact < 0 else one for one, exact in zip(size, row, strict=True)])
    order = len(kept)
    if any(_has_factor(N, shift) for shift in (order * 2.0**-50, order * order * 2.0**-49)):
        return True
    return not root and _is_reduced([[M[i][j] for j in kept] for i in kept])


def _has_factor(N: list[list[int]], shift: float) -> bool:
    """Whether N 4^-BITS - shift has a factor in floats whose rest is diagonally dominant, by more than the rounding."""
    L, whole_L, room = list[list[float]](), list[list[int]](), [-len(N) for _ in N]
    for i, whole_row in enumerate(N):
        row: list[float] = []
        for j in range(i + 1):
            left = whole_row[j] / 4**BITS - sum(map(float.__mul__, row, L[j] if j < i else row))
            if j == i and left <= shift:
                return False
            row.append(left / L[j][j] if j < i else sqrt(left - shift))
        L.append(row)
        whole_L.append([int(one * 2.0**BITS) for one in row])
        for j in range(i + 1):
            rest = whole_row[j] - sum(map(int.__mul__, whole_L[i], whole_L[j]))
            room[i] += rest if j == i else -abs(rest)
            room[j] -= 0 if j == i else abs(rest)
    return min(room, default=0) >= 0


def _is_reduced(M: Matrix) -> bool:
    """Whether elimination in rational numbers meets no pivot below zero, and nothing in the row of one that is zero."""
    for i, row in enumerate(M):
        if row[i] < 0 or (row[i] == 0 and any(row[i:])):
            return False
        for k, below in enumerate(M[i + 1 :], i + 1) if row[i] else ():
            if below[i]:
                factor = below[i] / row[i]
                M[k] = [one - factor * above if above else one for one, above in zip(below, row, strict=True)]
    return True


# What is proved


def bound(problem: Problem, z: Sequence[Fraction], x: Sequence[Fraction]) -> Fraction:
    """Return the bound of the minimum that multipliers and a point prove, or refuse them."""
    for kind, start, end, owner in problem.cones:
        if kind != "zero" and not inside(kind, z[start:end]):
            named = f"row {start} ({problem.names[owner]!r})"
            raise Refused(f"{named}: its multipliers are not proved to be in the dual of the {kind} cone")
    n = len(problem.q)
    Px, Az = product(problem.P, x, n), product(problem.A, z, n, transposed=True)
    for j, terms in enumerate(zip(Px, problem.q, Az, strict=True)):
        if rest := sum(terms):
            raise Refused(f"column {j}: P x + q + A'z is {float(rest):.3g} and not zero")
    used = {j: k for k, j in enumerate({j for i, j, _ in problem.P if i != j})}
    require_order(len(used))
    M = [[Fraction(0)] * len(used) for _ in used]
    for i, j, a in problem.P:
        if i in used:
            M[used[i]][used[j]] = a
    if any(i == j and a < 0 for i, j, a in problem.P) or not is_semidefinite(M):
        raise Refused("P is not proved to be positive semidefinite")
    return problem.d - dot(problem.b, z) - dot(Px, x) / 2


def without_objective(problem: Problem) -> Problem:
    """Return the problem that asks for a point alone, of which a bound above zero says that there is none."""
    return problem._replace(d=Fraction(0), q=[Fraction(0)] * len(problem.q), P=[])


def answer_told(problem: Problem, value: Any) -> list[str]:
    """Return what is so of the answer of a file: its objective, and how far it is outside; or refuse it."""
    point, stated, outside = fields(value, "x value violations", "answer")
    x = numbers(point, "answer.x", len(problem.q))
    claimed, allowed = numbers([stated], "answer.value")[0], numbers(outside, "violations", len(problem.names))
    exact = problem.d + dot(problem.q, x) + dot(product(problem.P, x, len(x)), x) / 2
    if (exact if problem.sense == "minimize" else -exact) != claimed:
        raise Refused("the objective at the answer is another than its value")
    s = [b - one for b, one in zip(problem.b, product(problem.A, x, len(problem.b)), strict=True)]
    for kind, start, end, owner in problem.cones:
        if not inside(kind, s[start:end], allowed[owner]):
            raise Refused(f"row {start} ({problem.names[owner]!r}): the answer is outside by more than it says")
    worst, name = max(zip(allowed, problem.names, strict=True), default=(Fraction(0), ""))
    most = f"{-at_most(-worst)!r}, {name!r}" if worst else "0"
    return [f"its answer has the objective {float(claimed)!r}, and violates no constraint by more than {most}"]


def check(path: Any) -> list[str]:
    """Return what a file proves, in sentences, or raise `Refused`."""
    document = read(path)
    optional = " answer" if "answer" in document else ""
    given, claim, evidence, *_ = fields(document, "problem claim multipliers format version" + optional, "the file")
    problem = problem_of(given)
    z, x = fields(evidence, "z x", "multipliers")
    z = numbers(z, "z", len(problem.b), binary=False)
    x = numbers(x, "x", len(problem.q), binary=False)
    kind, stated = fields(claim, "kind bound", "claim")
    if kind == "infeasible" and stated is None and not optional:
        if bound(without_objective(problem), z, x) <= 0:
            raise Refused("-b'z is not above zero: the multipliers do not prove that there is no point")
        return ["no point satisfies the constraints"]
    if kind != "bound":
        raise Refused(f"there is no claim {str(kind)[:50]!r} with such a bound or answer")
    claimed = numbers([stated], "bound")[0]
    proved, upwards = bound(problem, z, x), problem.sense == "minimize"
    if (claimed > proved) if upwards else (claimed < -proved):
        raise Refused(f"the bound is {float(claimed)!r}, but {float(proved if upwards else -proved)!r} is proved")
    side, near = ("least", at_most(claimed)) if upwards else ("most", -at_most(-claimed))
    return [f"the optimum is at {side} {near!r}", *(answer_told(problem, document["answer"]) if optional else ())]


def main(arguments: Sequence[str]) -> int:
    """Check the files that are named, and print what each of them proves."""
    if not arguments:
        print("python check.py FILE ...", file=sys.stderr)  # noqa: T201
        return 2
    failed = 0
    for path in arguments:
        try:
            told = f"proved: {'; '.join(check(path))}"
        except Refused as error:
            told, failed = f"refused: {error}", 1
        print(f"{path}: {told}")  # noqa: T201
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
