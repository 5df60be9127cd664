"""Certificates saved, verified from their files alone, and tampered with: none may be refuted, none accepted.

    python tests/proofs/campaign.py --n 1000 --seed 0 --out FOLDER

saves n results of all kinds and regimes of `proof_problems`, by our solvers and by CVXPY's, and verifies each of them
from its file. Then each file, or the record that is made of it, is spoilt in one way of `TAMPERINGS`, which go round,
and verified again. What is done is a line of FOLDER/campaign.jsonl.

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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import proof_problems
import record_values

import specmargin as sm
from specmargin.archive import read_archive, write_archive
from specmargin.proofs.files import Verdict, verify_file
from specmargin.proofs.saving import KIND, read_record
from specmargin.proofs.verification import verify_record

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


def judged(record: Any) -> Verdict:
    """Verify a record, as if a file held it."""
    verification = verify_record(record)
    return Verdict("record", "proved" if verification else "refuted", verification.message, record.kind, verification)


def with_claim(header: dict[str, Any], **changes: float) -> None:
    """Change the certificate of the result."""
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


def changed(record: Any, name: str, at: tuple[int, ...], value: float, mirrored: bool) -> Any:
    """Return a record with a number changed, in a symmetric matrix on both sides of the diagonal."""
    if name in record.numbers:
        return replace(record, numbers={**record.numbers, name: value})
    array = record.arrays[name].copy()
    array[at] = value
    if mirrored:
        array[at[::-1]] = value
    return replace(record, arrays={**record.arrays, name: array})


def matters(record: Any, other: Any) -> bool:
    """Whether a claim about one record is false of another: by a third party, in floats."""
    claim, sign = record.claim, -1 if record.claim.sense == "maximize" else 1
    try:
        (primal, bound), (new_primal, new_bound) = record_values.values(record), record_values.values(other)
    except (np.linalg.LinAlgError, ValueError):
        return False
    size = max(abs(claim.primal), abs(primal))
    trusted = abs(primal - claim.primal) <= 1e-3 * CLEAR * size
    allowed = 10 * (abs(claim.gap) + claim.rounding) + CLEAR * size
    if trusted and not abs(new_primal - primal) <= allowed:
        return True
    if math.isnan(bound) or not sign * (bound - claim.dual) >= -1e-3 * CLEAR * size:
        return False
    return not sign * (claim.dual - new_bound) <= allowed


def spoil_bytes(path: Path, target: Path, rng: np.random.Generator, others: list[Path]) -> Spoilt | None:
    """Change some bytes, and leave the checksum."""
    content = bytearray(path.read_bytes())
    at = sorted({int(k) for k in rng.integers(0, len(content), rng.integers(1, 4))})
    for k in at:
        content[k] ^= int(rng.integers(1, 256))
    target.write_bytes(bytes(content))
    return Spoilt(f"bytes {at}", verify_file(target))


def spoil_number(
    names: dict[str, tuple[str, ...]], path: Path, target: Path, rng: np.random.Generator, others: list[Path]
) -> Spoilt | None:
    """Change a leading digit that matters, of the arrays and numbers of these names."""
    record = read_record(path)
    for name, at in [*places(record, names[record.kind], rng)][:TRIES]:
        stored = name not in record.numbers
        old = float(record.arrays[name][at] if stored else record.numbers[name])
        new = other_digit(old, rng)
        mirrored = stored and name in ("K", "L") and at[0] != at[1] and bool(rng.integers(4))
        other = changed(record, name, at, new, mirrored)
        if matters(record, other):
            what = f"{name}{list(at) if stored else ''} {old!r} -> {new!r}{', mirrored' * mirrored}"
            return Spoilt(what, judged(other))
    return None


def spoil_bound(path: Path, target: Path, rng: np.random.Generator, others: list[Path]) -> Spoilt | None:
    """Claim a better bound, or a better objective: by the leading digit, in the claim and in the certificate."""
    claim = read_record(path).claim
    name = ("dual", "primal")[rng.integers(2)]
    old = getattr(claim, name)
    new = other_digit(old, rng, (claim.sense == "minimize") == (name == "dual"))
    if not abs(new - old) > 10 * (abs(claim.gap) + claim.rounding):
        return None
    verdict = edited(path, target, lambda header, _: with_claim(header, **{name: float(new)}))
    return Spoilt(f"{name} {old!r} -> {new!r}", verdict)


def spoil_label(path: Path, target: Path, rng: np.random.Generator, others: list[Path]) -> Spoilt | None:
    """Flip a label that matters; in a weighted SVM both of its weights change places."""
    record = read_record(path)
    labels = next((record.arrays[name] for name in ("y", "plus") if name in record.arrays), np.zeros(0))
    for k in rng.permutation(labels.size):
        new = {name: record.arrays[name].copy() for name in ("y", "plus", "minus") if name in record.arrays}
        if "y" in new:
            new["y"].flat[k] *= -1
        else:
            new["plus"][k], new["minus"][k] = new["minus"][k], new["plus"][k]
        other = replace(record, arrays={**record.arrays, **new})
        if matters(record, other):
            return Spoilt(f"label {k}", judged(other))
    return None


def spoil_proof(path: Path, target: Path, rng: np.random.Generator, others: list[Path]) -> Spoilt | None:
    """Put another problem into the file, or another answer, or an answer under the certificate of this one."""
    own, part = read_record(path).claim, ("objective", "result", "certificate")[rng.integers(3)]
    for k in rng.permutation(len(others)):
        apart = abs(read_record(others[k]).claim.primal - own.primal)
        if apart > 10 * (abs(own.gap) + own.rounding) + CLEAR * abs(own.primal):
            return Spoilt(f"the {part} of {others[k].stem}", edited(path, target, with_part(others[k], part)))
    return None


def with_part(other: Path, part: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """Return the change of a file's contents that puts in a part of another file."""
    section = "objective" if part == "objective" else "result"
    header, arrays = read_archive(other, KIND, prefix=f"{section}/")

    def change(mine: dict[str, Any], my_arrays: dict[str, Any]) -> None:
        for name in [name for name in my_arrays if name.startswith(f"{section}/")]:
            del my_arrays[name]
        my_arrays.update(arrays)
        kept = {} if section == part else {"certificate": mine[section]["certificate"]}
        mine[section] = {**header[section], **kept}

    return change


def spoil_answer(path: Path, target: Path, rng: np.random.Generator, others: list[Path]) -> Spoilt | None:
    """Negate, double or shift an answer, or call it optimal beside a large gap, in the result alone."""
    objective, result = sm.load_result(path)
    name = next(iter(objective.variables))
    how = ("negated", "doubled", "called optimal")[rng.integers(3)]
    claim = read_record(path).claim
    if how == "called optimal" or name not in result.variables or name == "M":  # whose factor is free
        gap = {"primal": claim.primal + (1.0 if claim.sense == "minimize" else -0.5) * abs(claim.primal) + 1.0}
        with_ = lambda header, _: (header["result"].update(status="optimal"), with_claim(header, **gap))
        return Spoilt("called optimal", edited(path, target, with_))
    x = np.asarray(result.variables[name], dtype=float)
    changed_x = -x if how == "negated" else 2.0 * x
    value = objective.value({**result.variables, name: changed_x})
    if not abs(value - claim.primal) > 10 * (abs(claim.gap) + claim.rounding) + CLEAR * abs(claim.primal):
        return None  # as the sign of eigenvectors, which is free
    verdict = edited(path, target, lambda _, arrays: arrays.update({f"result/variables/{name}": changed_x}))
    return Spoilt(f"{name} {how}", verdict)


def spoil_leaf(path: Path, target: Path, rng: np.random.Generator, others: list[Path]) -> Spoilt | None:
    """Drop the evidence of a leaf of a log, and of all nodes above it but the root, where the root's is not enough."""
    record = read_record(path)
    if record.kind != "s3vm_tree" or not len(record.arrays["parent"]):
        return None
    relaxed = sm.solvers.s3vm_bound(sm.load_result(path)[0]).certificate
    if not record.claim.dual - 10 * record.claim.rounding > relaxed.dual_objective + 0.01 * abs(record.claim.dual):
        return None
    parent, node, start = (record.arrays[name] for name in ("parent", "node", "start"))
    leaves = np.setdiff1d(np.arange(1, 2 * len(parent) + 1), parent)
    leaf = int(rng.choice(leaves))
    above, at = [leaf], leaf
    while at > 0:
        at = int(parent[(at - 1) // 2])
        above.append(at)
    kept = np.flatnonzero(~np.isin(node, [one for one in above if one]))
    entries = [np.arange(start[e], start[e + 1]) for e in kept]
    new = {
        "node": node[kept],
        "start": np.cumsum([0, *map(len, entries)]),
        **{name: record.arrays[name][np.concatenate([np.zeros(0, int), *entries])] for name in ("index", "value")},
    }
    if len(kept) == len(node):
        return None
    other = replace(record, arrays={**record.arrays, **new})
    return Spoilt(f"leaf {leaf} of {len(leaves)}", judged(other))


TAMPERINGS: dict[str, Callable[[Path, Path, np.random.Generator, list[Path]], Spoilt | None]] = {
    "bytes": spoil_bytes,
    "multiplier": partial(spoil_number, MULTIPLIERS),
    "bound": spoil_bound,
    "data": partial(spoil_number, DATA),
    "label": spoil_label,
    "answer": spoil_answer,
    "other part": spoil_proof,
    "leaf": spoil_leaf,
}
"""What is done to files; each says what it has changed, or None where nothing of that kind would matter."""


# The campaign


def file_of(folder: Path, kind: str, seed: int) -> Path:
    """Name the file of a result."""
    return folder / f"{kind}-{seed}.npz"


def saved(kind: str, seed: int, folder: Path) -> tuple[Path | None, dict[str, Any]]:
    """Solve a problem and save the answer: one in five by CVXPY. No path where there is no certificate."""
    problem = proof_problems.made(kind, seed)
    ours = sorted(name for name in problem.solvers if not name.startswith("cvxpy"))
    cvxpy = sorted(problem.solvers.keys() - set(ours))
    round_ = seed // len(proof_problems.REGIMES) + seed
    names = cvxpy if cvxpy and (round_ % 5 == 0 or not ours) else ours
    solver = names[round_ % len(names)]
    row = {"kind": kind, "seed": seed, "regime": problem.regime, "solver": solver}
    result = problem.solvers[solver]()
    row["status"] = result.status.name
    certificate = result.certificate
    if not (result.status.has_solution and math.isfinite(certificate.dual_objective - certificate.rounding)):
        return None, row
    path = file_of(folder, kind, seed)
    sm.save_result(path, problem.objective, result, note={"kind": kind, "seed": seed})
    return path, row


def one(kind: str, seed: int, folder: Path, others: list[Path]) -> dict[str, Any]:
    """Save, verify and spoil one result; what happened as a line of the report."""
    start = time.perf_counter()
    path, row = saved(kind, seed, folder)
    if path is None:
        return {**row, "outcome": "no certificate"}
    solved = time.perf_counter()
    verdict = verify_file(path)
    row |= {"outcome": verdict.outcome, "message": verdict.line().partition(": ")[2]}
    row |= {"seconds": [round(solved - start, 3), round(time.perf_counter() - solved, 3)]}
    if verdict.outcome != "proved":
        return row
    rng = np.random.default_rng([seed, list(proof_problems.KINDS).index(kind)])
    names = [name for name in TAMPERINGS if name != "leaf" or kind == "s3vm_tree"]
    target = path.with_suffix(".spoilt.npz")
    for k in range(len(names)):
        name = names[(seed + k) % len(names)]
        spoilt = TAMPERINGS[name](path, target, rng, [other for other in others if other != path])
        if spoilt is not None:
            row |= {"tampering": name, "what": spoilt.what, "caught": spoilt.caught, "how": spoilt.verdict.outcome}
            row["said"] = spoilt.verdict.message
            break
    if row.get("caught", True):
        target.unlink(missing_ok=True)
    return row


def campaign(
    n: int,
    seed: int,
    folder: Path,
    say: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """Make n certificates of all kinds in turn, verify and spoil each."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "campaign.jsonl"
    rows: list[dict[str, Any]] = []
    others: dict[str, list[Path]] = {kind: [] for kind in proof_problems.KINDS}
    count, k = 0, seed
    while count < n:
        for kind in proof_problems.KINDS:
            if count >= n:
                break
            try:
                row = one(kind, k, folder, others[kind])
            except Exception as error:  # of any kind: the campaign goes on
                row = {"kind": kind, "seed": k, "outcome": "raised", "message": f"{type(error).__name__}: {error}"}
            rows.append(row)
            if file_of(folder, kind, k).is_file():
                others[kind].append(file_of(folder, kind, k))
            with report.open("a") as file:
                file.write(json.dumps(row) + "\n")
            count += row["outcome"] != "no certificate"
            if row["outcome"] not in ("proved", "no certificate") or not row.get("caught", True):
                say(f"LOOK {json.dumps(row)}")
            if count % 50 == 0:
                say(f"{count} of {n}")
        k += 1
    return rows


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """A line a kind: how many were proved, and how many of which tamperings were caught."""
    lines = []
    for kind in (*proof_problems.KINDS, "all"):
        own = [row for row in rows if kind in (row["kind"], "all")]
        if not own:
            continue
        outcomes = Counter(row["outcome"] for row in own)
        spoilt = [row for row in own if "caught" in row]
        ways: dict[str, list[bool]] = defaultdict(list)
        for row in spoilt:
            ways[row["tampering"]].append(row["caught"])
        parts = ", ".join(f"{name} {sum(ways[name])}/{len(ways[name])}" for name in TAMPERINGS if ways[name])
        told = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
        lines.append(f"{kind}: {told}; {sum(row['caught'] for row in spoilt)} of {len(spoilt)} caught: {parts}")
    return lines


def say(*lines: str) -> None:
    """Write lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def main() -> int:
    """Run the campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000, help="certificates")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each kind")
    parser.add_argument("--out", type=Path, required=True, help="folder of the files and the report")
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = campaign(given.n, given.seed, given.out, say)
    say(*summary(rows))
    bad = [row for row in rows if row["outcome"] in ("refuted", "unreadable", "raised") or not row.get("caught", True)]
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
