"""Certificates saved, verified from their files alone, and tampered with: none may be refuted, none accepted.

    python tests/proofs/campaign.py --n 1000 --seed 0 --out FOLDER

saves n results of all kinds and regimes of `proof_problems`, by our solvers and by CVXPY's, and verifies each of them
from its file. Then each file is spoilt in one way of `TAMPERINGS`, which go round, and verified again. What is done
is a line of FOLDER/campaign.jsonl; the same call goes on from there.

A file is caught if it cannot be read, or if its claim is refuted. What is accepted is judged by a third party: the
objective, whose code the verifier does not share, is built from the spoilt data and asked for its certificate. If the
claim is true nevertheless, as after a change of a multiplier that counts for nothing, it was no forgery, and the next
digit is tried.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import specmargin as sm
from specmargin.archive import read_archive, write_archive
from specmargin.proofs.files import Verdict, verify_file
from specmargin.proofs.saving import KIND, read_record

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
import proof_problems  # noqa: E402

sys.path.remove(HERE)

TAMPERINGS = ("bytes", "multiplier", "bound", "data", "label", "other proof", "leaf")

MULTIPLIERS = {
    "lapsvm": ("theta",),
    "rmm": ("gamma",),
    "spectrum_margin": ("gamma",),
    "alignment": ("delta",),
    "spectral_ridge": ("theta",),
    "graph_transducer": ("lam", "w"),
    "clustering": ("s", "Z", "alpha"),
    "weighted_svm": ("theta_plus", "theta_minus"),
    "s3vm": ("theta", "beta"),
    "s3vm_tree": ("value",),
}
"""The evidence of each kind, or the answer where the evidence is made of that."""

DATA = {
    "lapsvm": ("K", "F", "L", "gamma_A"),
    "rmm": ("K", "C"),
    "spectrum_margin": ("U", "C"),
    "alignment": ("U",),
    "spectral_ridge": ("U", "penalty"),
    "graph_transducer": ("V", "C"),
    "clustering": ("K", "L", "gamma_A"),
    "weighted_svm": ("X", "plus", "minus"),
    "s3vm": ("X", "C"),
    "s3vm_tree": ("X", "C"),
}
"""The problem."""

TRIES = 40
"""Digits that are looked at, for one that matters."""

CLEAR = 1e-6
"""A change matters if it moves the objective or the bound by this share of it, and ten times what the claim allows."""


@dataclass(frozen=True)
class Spoilt:
    """What was changed, and how the file then fared."""

    what: str
    verdict: Verdict

    @property
    def caught(self) -> bool:
        return self.verdict.outcome != "proved"


def other_digit(x: float, rng: np.random.Generator, up: bool | None = None) -> float:
    """Return x with another leading digit: a larger or a smaller one, as told."""
    if x == 0:
        return 1.0 if up is not False else -1.0
    text = f"{abs(x):.17e}"
    digit = int(text[0])
    larger = None if up is None else up == (x > 0)
    digits = [k for k in range(10) if k != digit and (larger is None or (k > digit) == larger)]
    return math.copysign(float(f"{rng.choice(digits)}{text[1:]}"), x) if digits else x


def edited(path: Path, target: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Verdict:
    """Change the contents of a file, mend its checksums as a forger would, and verify it."""
    header, arrays = read_archive(path, KIND)
    change(header, arrays)
    write_archive(target, KIND, header, arrays)
    return verify_file(target)


def with_claim(header: dict[str, Any], **changes: float) -> None:
    """Change the claim of the proof and the certificate of the result."""
    header["proof"]["claim"].update(changes)
    names = {"primal": "primal_objective", "dual": "dual_objective"}
    header["result"]["certificate"]["items"].update({names[name]: x for name, x in changes.items()})


def places(record: Any, names: tuple[str, ...], rng: np.random.Generator) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield where a digit may be changed: the largest entries of each array first, then any."""
    found = []
    for name in names:
        if name in record.numbers:
            found.append((1.0, name, ()))
        elif record.arrays.get(name, np.zeros(0)).size:
            x = np.abs(record.arrays[name])
            order = np.argsort(-x, axis=None)
            chosen = [*order[:4], *rng.choice(order, min(4, len(order)), replace=False)]
            found += [(rng.random(), name, tuple(map(int, np.unravel_index(k, x.shape)))) for k in chosen]
    yield from ((name, at) for _, name, at in sorted(found, key=lambda one: one[0], reverse=bool(rng.integers(2))))


def changed_record(record: Any, name: str, at: tuple[int, ...], value: float, mirrored: bool) -> Any:
    """Return a record with a number changed, in a symmetric matrix on both sides of the diagonal."""
    if name in record.numbers:
        return type(record)(record.kind, {**record.numbers, name: value}, record.arrays, record.claim)
    array = record.arrays[name].copy()
    array[at] = value
    if mirrored:
        array[at[::-1]] = value
    return type(record)(record.kind, record.numbers, {**record.arrays, name: array}, record.claim)


def matters(record: Any, other: Any) -> bool:
    """Whether a claim about one record is false of another: by a third party, in floats."""
    claim, maximize = record.claim, record.claim.sense == "maximize"
    try:
        (primal, bound), (new_primal, new_bound) = record_values.values(record), record_values.values(other)
    except (np.linalg.LinAlgError, ValueError):
        return False
    size = max(abs(claim.primal), abs(primal))
    trusted = abs(primal - claim.primal) <= 1e-3 * CLEAR * size
    allowed = 10 * (abs(claim.gap) + claim.rounding) + CLEAR * size
    if trusted and not abs(new_primal - primal) <= allowed:
        return True
    if math.isnan(bound) or not abs(bound - claim.dual) <= 1e-3 * CLEAR * size:
        return False
    worse = new_bound - bound if maximize else bound - new_bound
    return not worse <= allowed


def spoil_bytes(path: Path, target: Path, rng: np.random.Generator) -> Spoilt | None:
    """Change some bytes, and leave the checksum."""
    content = bytearray(path.read_bytes())
    at = sorted({int(k) for k in rng.integers(0, len(content), rng.integers(1, 4))})
    for k in at:
        content[k] ^= int(rng.integers(1, 256))
    target.write_bytes(bytes(content))
    return Spoilt(f"bytes {at}", verify_file(target))


def spoil_numbers(path: Path, target: Path, rng: np.random.Generator, names: tuple[str, ...]) -> Spoilt | None:
    """Change a leading digit that matters."""
    record = read_record(path)
    tried = 0
    for name, at in places(record, names, rng):
        stored = name not in record.numbers
        old = float(record.arrays[name][at] if stored else record.numbers[name])
        square = stored and name in ("K", "L") and at[0] != at[1]
        for _ in range(3):
            new, mirrored = other_digit(old, rng), square and bool(rng.integers(4))
            tried += 1
            if matters(record, changed_record(record, name, at, new, mirrored)):

                def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
                    if not stored:
                        header["proof"]["numbers"][name] = new  # noqa: B023
                        return
                    array = arrays[f"proof/{name}"].copy()  # noqa: B023
                    array[at] = new  # noqa: B023
                    if mirrored:  # noqa: B023
                        array[at[::-1]] = new  # noqa: B023
                    arrays[f"proof/{name}"] = array  # noqa: B023

                where = f"{name}{list(at) if stored else ''}"
                return Spoilt(f"{where} {old!r} -> {new!r}{', mirrored' * mirrored}", edited(path, target, change))
        if tried >= TRIES:
            break
    return None


def spoil_multiplier(path: Path, target: Path, rng: np.random.Generator) -> Spoilt | None:
    """Change a leading digit of the evidence."""
    return spoil_numbers(path, target, rng, MULTIPLIERS[read_record(path).kind])


def spoil_data(path: Path, target: Path, rng: np.random.Generator) -> Spoilt | None:
    """Change a leading digit of the problem."""
    return spoil_numbers(path, target, rng, DATA[read_record(path).kind])


def spoil_bound(path: Path, target: Path, rng: np.random.Generator) -> Spoilt | None:
    """Claim a better bound, or a better objective: by the leading digit, in the claim and in the certificate."""
    claim = read_record(path).claim
    name = ("dual", "primal")[rng.integers(2)]
    up = (claim.sense == "minimize") == (name == "dual")
    old = getattr(claim, name)
    new = other_digit(old, rng, up)
    name, old, new = ("dual", claim.dual, claim.dual + claim.primal) if new == old else (name, old, new)
    if not abs(new - old) > 10 * (abs(claim.gap) + claim.rounding):
        return None
    change = {name: float(new)}
    verdict = edited(path, target, lambda header, _: with_claim(header, **change))
    return Spoilt(f"{name} {old!r} -> {new!r}", verdict)


def spoil_label(path: Path, target: Path, rng: np.random.Generator) -> Spoilt | None:
    """Flip a label."""
    record = read_record(path)
    name = "y" if "y" in record.arrays else "plus"
    if name == "y":
        y = record.arrays["y"]
        for k in rng.permutation(y.size):
            flipped = y.copy()
            flipped.flat[k] *= -1
            if matters(record, type(record)(record.kind, record.numbers, {**record.arrays, "y": flipped}, record.claim)):
                verdict = edited(path, target, lambda _, arrays: arrays.update({"proof/y": flipped}))  # noqa: B023
                return Spoilt(f"label {k}", verdict)
        return None
    plus, minus = record.arrays["plus"], record.arrays["minus"]
    for k in rng.permutation(len(plus)) if record.kind == "weighted_svm" else ():
        sides = {"plus": plus.copy(), "minus": minus.copy()}
        sides["plus"][k], sides["minus"][k] = minus[k], plus[k]
        if matters(record, type(record)(record.kind, record.numbers, {**record.arrays, **sides}, record.claim)):
            change = {f"proof/{side}": x for side, x in sides.items()}
            return Spoilt(f"label {k}", edited(path, target, lambda _, arrays: arrays.update(change)))  # noqa: B023
    return None


def spoil_proof(path: Path, target: Path, rng: np.random.Generator, others: list[Path]) -> Spoilt | None:
    """Put the proof of another problem into the file: as it is, or under the claim of this one."""
    for other in rng.permutation(np.array(others, dtype=object)):
        if other == path:
            continue
        header, arrays = read_archive(other, KIND, prefix="proof/")
        own = read_record(path).claim
        claim = header["proof"]["claim"]
        if not abs(claim["primal"] - own.primal) > 10 * (abs(own.gap) + own.rounding) + CLEAR * abs(own.primal):
            continue
        keep = bool(rng.integers(2))

        def change(mine: dict[str, Any], own_arrays: dict[str, Any]) -> None:
            for name in [name for name in own_arrays if name.startswith("proof/")]:
                del own_arrays[name]
            own_arrays.update(arrays)  # noqa: B023
            kept = mine["proof"]["claim"]
            mine["proof"] = header["proof"]  # noqa: B023
            if keep:  # noqa: B023
                mine["proof"]["claim"] = kept

        under = "under this claim" if keep else "with its claim"
        return Spoilt(f"the proof of {other.stem} {under}", edited(path, target, change))
    return None
