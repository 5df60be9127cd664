"""Forged proof files: each says what its multipliers do not prove, or is no file of the format.

A change is made only where it must be refused: another residual, a smaller bound, a multiplier outside of its cone.
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from cvxproof import check

Document = dict[str, Any]
LEAST = Fraction(1, 2**60)
"""Share by which a claim is worse than what is proved."""


def text(value: Fraction) -> str:
    """Return a number as files have it; powers of two below it are exponents."""
    below = value.denominator
    if below & (below - 1):
        return f"{value.numerator:x}/{below:x}"
    return f"{value.numerator:x}p{1 - below.bit_length()}"


def packed(document: Any, member: str = check.MEMBER) -> bytes:
    """Return a document as a file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, document if isinstance(document, str) else json.dumps(document))
    return buffer.getvalue()


class Forger:
    """What is known of a file, and random changes of it."""

    def __init__(self, content: bytes, rng: np.random.Generator) -> None:
        self.content, self.rng = content, rng
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            self.text = archive.read(check.MEMBER).decode()
        self.document: Document = json.loads(self.text)
        self.problem = check.problem_of(self.document["problem"])
        self.has_point = self.document["claim"]["kind"] == "bound"
        given = self.document["multipliers"]
        self.z, self.x = (check.numbers(given[name], name, binary=False) for name in "zx")
        self.rows: dict[int, dict[int, Fraction]] = {i: {} for i in range(len(self.z))}
        for i, j, a in self.problem.A:
            self.rows[i][j] = a
        self.kinds = [cone.kind for cone in self.problem.cones for _ in range(cone.start, cone.end)]

    def one(self, places: Any) -> Any:
        """Return one of the places, or raise IndexError where there is none."""
        places = list(places)
        return places[int(self.rng.integers(len(places)))] if places else [][0]

    def used(self) -> list[int]:
        """Return rows with entries and a multiplier."""
        return [i for i, z in enumerate(self.z) if z and any(self.rows[i].values())]

    def entry(self) -> int:
        """Return the place of an entry of A whose row has a multiplier."""
        return int(self.one(k for k, (i, _, a) in enumerate(self.problem.A) if self.z[i] and a))

    # Pairings and signs

    def swapped(self, d: Document) -> None:
        i = self.one(self.used())
        k = self.one(k for k in self.rows if self.z[k] != self.z[i] and self.rows[k] != self.rows[i])
        z = d["multipliers"]["z"]
        z[i], z[k] = z[k], z[i]

    def negated(self, d: Document) -> None:
        i = self.one(self.used())
        d["multipliers"]["z"][i] = text(-self.z[i])

    def row_and_multiplier_negated(self, d: Document) -> None:
        """The residual and the bound stay, and the multiplier is negative."""
        i = self.one(i for i in self.used() if self.kinds[i] == "nonnegative")
        d["multipliers"]["z"][i], d["problem"]["b"][i] = text(-self.z[i]), text(-self.problem.b[i])
        for k, (row, _, a) in enumerate(self.problem.A):
            if row == i:
                d["problem"]["A"]["value"][k] = text(-a)

    def head_lowered(self, d: Document) -> None:
        """The residual is made up for in q, and the multipliers are outside of their cone."""
        kinds = ("second_order", "semidefinite")
        cones = self.problem.cones
        start, end = self.one((at, to) for kind, at, to, _ in cones if kind in kinds and any(self.z[at:to]))
        size = max(abs(one) for one in self.z[start:end])
        d["multipliers"]["z"][start] = text(self.z[start] - 2 * size)
        for j, a in self.rows[start].items():
            d["problem"]["q"][j] = text(self.problem.q[j] + 2 * size * a) if self.has_point else text(Fraction(0))

    def off_a_little(self, d: Document) -> None:
        i = self.one(self.used())
        d["multipliers"]["z"][i] = text(self.z[i] * (1 + LEAST))

    def dropped(self, d: Document) -> None:
        d["multipliers"]["z"][self.one(self.used())] = "0"

    # Rows

    def sides_swapped(self, d: Document) -> None:
        i = self.one(self.used())
        b, z = self.problem.b, self.z
        k = self.one(k for k in self.rows if (b[k] - b[i]) * (z[i] - z[k]) > self.scale())
        sides = d["problem"]["b"]
        sides[i], sides[k] = sides[k], sides[i]

    def side_moved(self, d: Document) -> None:
        i = self.one(i for i, z in enumerate(self.z) if z)
        step = self.scale() / abs(self.z[i])
        power = Fraction(2) ** (step.numerator.bit_length() - step.denominator.bit_length() + 1)
        d["problem"]["b"][i] = text(self.problem.b[i] + (power if self.z[i] > 0 else -power))

    def entry_moved(self, d: Document) -> None:
        A = d["problem"]["A"]
        at = set(zip(A["row"], A["column"], strict=True))
        k = self.entry()
        i, j, a = self.problem.A[k]
        other = self.one(row for row in self.rows if (row, j) not in at and self.z[row] != self.z[i])
        moved = sorted(
            [*((*entry[:2], text(entry[2])) for n, entry in enumerate(self.problem.A) if n != k), (other, j, text(a))]
        )
        d["problem"]["A"] = {name: [one[n] for one in moved] for n, name in enumerate(("row", "column", "value"))}

    def constraint_dropped(self, d: Document) -> None:
        """A row without entries and side: what it gave to the residual is missing."""
        i = self.one(self.used())
        A = d["problem"]["A"]
        kept = [k for k, row in enumerate(A["row"]) if row != i]
        d["problem"]["A"] = {name: [column[k] for k in kept] for name, column in A.items()}

    # Numbers

    def exponent_of_multiplier(self, d: Document) -> None:
        i = self.one(self.used())
        d["multipliers"]["z"][i] = text(self.z[i] * Fraction(2) ** int(self.one((-2, -1, 1, 2, 30))))

    def exponent_of_entry(self, d: Document) -> None:
        k = self.entry()
        d["problem"]["A"]["value"][k] = text(self.problem.A[k][2] * Fraction(2) ** int(self.one((-2, -1, 1, 2))))

    def exponent_of_cost(self, d: Document) -> None:
        j = self.one(j for j, q in enumerate(self.problem.q) if q and self.has_point)
        d["problem"]["q"][j] = text(self.problem.q[j] * 2)

    def point(self, d: Document) -> None:
        j = self.one(j for _, j, a in self.problem.P if a and self.has_point)
        d["multipliers"]["x"][j] = text(self.x[j] + LEAST)

    def curvature(self, d: Document) -> None:
        k = self.one(range(len(d["problem"]["P"]["row"]) if self.has_point else 0))
        a = check.numbers(d["problem"]["P"]["value"], "P")[k]
        d["problem"]["P"]["value"][k] = text(-a)
        i, j = d["problem"]["P"]["row"][k], d["problem"]["P"]["column"][k]
        if i != j and not (self.x[i] or self.x[j]):
            raise IndexError

    def constant(self, d: Document) -> None:
        self.require_point()
        d["problem"]["constant"] = text(self.problem.d - self.scale())

    # Claims

    def require_point(self) -> None:
        if not self.has_point:
            raise IndexError

    def scale(self) -> Fraction:
        """Return what is more than the claim leaves of the bound."""
        claim = self.document["claim"]["bound"]
        if claim is None:
            return -check.dot(self.problem.b, self.z)
        return max(abs(check.numbers([claim], "")[0]) / 2**40, LEAST)

    def bound(self, d: Document) -> None:
        self.require_point()
        claimed = check.numbers([d["claim"]["bound"]], "")[0]
        sign = 1 if self.problem.sense == "minimize" else -1
        d["claim"]["bound"] = text(claimed + sign * self.scale() * int(self.one((1, 100, 2**30))))

    def other_claim(self, d: Document) -> None:
        claims = [{"kind": "bound", "bound": "0"}, {"kind": "bound", "bound": None}]
        if self.has_point:
            claims = [{"kind": "infeasible", "bound": None}, {"kind": "optimal", "bound": "0"}, claims[1]]
        d["claim"] = self.one(claims)

    def value(self, d: Document) -> None:
        self.require_point()
        d["answer"]["value"] = text(check.numbers([d["answer"]["value"]], "")[0] + LEAST)

    def answer(self, d: Document) -> None:
        self.require_point()
        j = self.one(j for j, q in enumerate(self.problem.q) if q and not any(j == k for k, _, _ in self.problem.P))
        d["answer"]["x"][j] = text(check.numbers(d["answer"]["x"], "")[j] + LEAST)

    def violations(self, d: Document) -> None:
        self.require_point()
        told = check.numbers(d["answer"]["violations"], "")
        k = self.one(k for k, one in enumerate(told) if one > Fraction(1, 10**12))
        d["answer"]["violations"][k] = text(told[k] / 2)

    # The format

    def of_format(self, d: Document) -> None:
        p, m, n = d["problem"], len(self.z), len(self.problem.q)
        changes: list[Callable[[], Any]] = [
            lambda: d.update(version=self.one((0, 2, 1.0, True, "1", None))),
            lambda: d.update(format="other"),
            lambda: d.update(more=1),
            lambda: d.pop("multipliers"),
            lambda: p.update(sense="max"),
            lambda: p["b"].append("0"),
            lambda: p["q"].pop(),
            lambda: p["A"]["row"].__setitem__(-1, self.one((m, -1, 0.0, True, "0", None))),
            lambda: p["A"]["column"].__setitem__(-1, self.one((n, -1))),
            lambda: [values.append(values[-1]) for values in p["A"].values()],
            lambda: [values.reverse() for values in p["A"].values()],
            lambda: p["P"].update(row=[1], column=[0], value=["1"]),
            lambda: p["cones"].pop(),
            lambda: p["cones"][0].update(kind=self.one(("exponential", "free", None, []))),
            lambda: p["cones"][0].update(rows=self.one((0, -1, m + 1, 10**30, 1.0))),
            lambda: p["cones"][0].update(of=self.one((-1, 10**6, "0"))),
            lambda: p.update(names=self.one(([], [1], "name", None))),
            lambda: d["multipliers"]["z"].__setitem__(
                0, self.one(("1/0", "g", "0x1", "", "1p99999", "1e3 ", "١", 1, None))
            ),
            lambda: d["multipliers"].update(z=d["multipliers"]["z"][:-1]),
            lambda: p["b"].__setitem__(0, self.one(("1/3", "1p400", "inf", "nan", "1.5", 0, [], {}))),
        ]
        self.one(changes)()

    def forged(self) -> Iterator[tuple[str, bytes]]:
        """Yield a file of each kind that is possible, and what was done."""
        changes = [self.swapped, self.negated, self.row_and_multiplier_negated, self.head_lowered, self.off_a_little]
        changes += [self.dropped, self.sides_swapped, self.side_moved, self.entry_moved, self.constraint_dropped]
        changes += [self.exponent_of_multiplier, self.exponent_of_entry, self.exponent_of_cost, self.point]
        changes += [self.curvature, self.constant, self.bound, self.other_claim, self.value, self.answer]
        changes += [self.violations, self.of_format, self.of_format, self.of_format]
        for change in changes:
            document = copy.deepcopy(self.document)
            try:
                change(document)
            except IndexError:
                continue
            yield change.__name__, packed(document)
        yield "truncated", self.content[: int(self.rng.integers(len(self.content)))]
        at = int(self.rng.integers(40, len(self.content) - 120)) if len(self.content) > 200 else 45
        yield "a byte", self.content[:at] + bytes([self.content[at] ^ 255]) + self.content[at + 1 :]
        yield "text cut off", packed(self.text[: int(self.rng.integers(len(self.text)))])
        yield "a name twice", packed(self.text.replace("{", '{"format":"cvxproof",', 1))
        yield (
            "no number",
            packed(self.text.replace('"version": 1', '"version": NaN').replace('"version":1', '"version":NaN')),
        )
        yield "another member", packed(self.text, "other.json")
