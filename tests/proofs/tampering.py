"""Every member of a file changed, and files that nobody made in earnest: what is proved of them must be so.

    python tests/proofs/tampering.py --n 1000 --out FOLDER

saves n results of all kinds and regimes of `proof_problems`, by our solvers and by CVXPY's, and verifies each from its
file. In each, members of ``objective/`` and ``result/`` are
changed one at a time (numbers, names, flags, entries of arrays: costs, labels, losses, intercepts, features, answers,
multipliers, certificates, the status), and sections are exchanged with those of another file. What is proved after that
is held against arithmetic in a hundred digits: the objective at the answer must be the one that is claimed, and no
point that solvers of the changed problem find may be below the bound. Then members are replaced by what no result
holds, and the file must be refused by an error of the package, in seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import proof_problems

import specmargin as sm
from cvxproof.archive import read_archive, write_archive
from cvxproof.result_files import KIND
from specmargin import optima
from specmargin.exceptions import SpecmarginError
from specmargin.objectives import (
    RMM,
    S3VM,
    Alignment,
    LapSVM,
    RegularizedClustering,
    SpectralGraphTransducer,
    SpectralRidge,
    SpectrumMargin,
    WeightedSVM,
)
from specmargin.optima import S3VMRelaxation
from specmargin.proofs.files import verify_file

sys.path.append(str(Path(__file__).resolve().parents[1] / "exact"))  # where only pytest looks by itself
import exact_values as exact

SECONDS = 10.0
"""Within which any file is judged."""
ALLOWED = 1e-6
"""Share of the objective that a kernel which is semidefinite but for rounding may cost."""
CLASSES = (
    ("Hinge", "SquaredHinge", "Squared"),
    ("SymmetricHinge", "SymmetricSquaredHinge", "ExpSquared", "SymmetricRamp"),
)
NAMES = (
    ("balance", "regularized", "free"),
    ("minimize", "maximize"),
    ("optimal", "stationary", "unproved", "max_iter"),
)

Contents = tuple[dict[str, Any], dict[str, Any]]
"""Header and arrays of a file."""


def members(value: Any, at: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield where the numbers, names and flags of a header are."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "array":
                yield from members(item, (*at, key))
    else:
        yield at


def put(header: dict[str, Any], at: tuple[Any, ...], new: Any) -> Any:
    """Put a value into a header, and return the old one."""
    for key in at[:-1]:
        header = header[key]
    old, header[at[-1]] = header[at[-1]], new
    return old


def other(value: Any, rng: np.random.Generator) -> Any:
    """Return another value of the same kind; None where there is none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return [2 * value, -value, value / 2, value + 1, value * (1 + 1e-4)][rng.integers(5)]
    groups = [group for group in (*CLASSES, *NAMES) if value in group]
    return rng.choice([name for name in groups[0] if name != value]).item() if groups else None


def others(contents: Contents, rng: np.random.Generator, most: int) -> Iterator[tuple[str, Contents]]:
    """Yield contents with one member changed."""
    header, arrays = contents
    places = [at for section in ("objective", "result") for at in members(header[section], (section,))]
    names = [name for name in arrays if arrays[name].size and arrays[name].dtype.kind in "fi"]
    chosen: list[Any] = [*places, *names, *names]
    for k in rng.permutation(len(chosen))[:most]:
        new_header, new_arrays, at = deepcopy(header), dict(arrays), chosen[k]
        if isinstance(at, tuple):
            old = put(new_header, at, None)
            new = other(old, rng)
            if new is None or new == old:
                continue
            put(new_header, at, new)
            yield f"{'/'.join(map(str, at))}: {old!r} -> {new!r}", (new_header, new_arrays)
        else:
            x = new_arrays[at] = arrays[at].copy()
            if rng.random() < 0.3:
                x *= -1
                yield f"{at} negated", (new_header, new_arrays)
            else:
                i = int(rng.integers(x.size))
                old = x.flat[i].item()
                x.flat[i] = -old if rng.random() < 0.5 and old else 1.5 * old + (x.dtype.kind == "i" or not old)
                yield f"{at}[{i}]: {old!r} -> {x.flat[i].item()!r}", (new_header, new_arrays)


def exchanged(mine: Contents, theirs: Contents) -> Iterator[tuple[str, Contents]]:
    """Yield contents with the problem, the answer, or the certificate of another file."""
    for section in ("objective", "result"):
        arrays = {name: x for name, x in mine[1].items() if not name.startswith(f"{section}/")}
        arrays |= {name: x for name, x in theirs[1].items() if name.startswith(f"{section}/")}
        yield f"another {section}", ({**mine[0], section: theirs[0][section]}, arrays)
    result = {**mine[0]["result"], "certificate": theirs[0]["result"]["certificate"]}
    yield "another certificate", ({**mine[0], "result": result}, mine[1])


# The truth, in a hundred digits


def exact_value(objective: Any, variables: Any) -> float | None:
    """Return the objective at an answer, None where a hundred digits are not asked."""
    x = {name: np.asarray(value, dtype=float) for name, value in variables.items() if name in objective.variables}
    of = {
        LapSVM: lambda: exact.Manifold(objective).primal(x["alpha"], x["b"]),
        RMM: lambda: exact.on_kernel(objective, x["gamma"], x["b"], x["gamma"])[0],
        SpectrumMargin: lambda: exact.over_spectrum(objective, {**x, "gamma": objective.labels.sign})[0],
        Alignment: lambda: exact.aligned(objective, {"delta": objective.repair(x["delta"])})[0],
        SpectralRidge: lambda: exact.ridge(objective, {**x, "theta": objective.labels.sign})[0],
        SpectralGraphTransducer: lambda: exact.transduced(objective, {**x, "lam": -1e300})[0],
        WeightedSVM: lambda: exact.weighted(objective, x["w"], {})[0],
        S3VM: lambda: exact.nonconvex(objective, x["w"]),
    }
    return float(of[type(objective)]()) if type(objective) in of else None


def own_value(objective: Any, variables: Any) -> float:
    """Return the objective at an answer, repaired where it has to be, by the objective itself."""
    if isinstance(objective, S3VMRelaxation) and "M" not in variables:  # W = ww'
        w = objective.coordinates(np.asarray(variables["w"], dtype=float))
        return objective.value_at(w, np.zeros(len(objective.free)), 0.0)
    return float(objective.certificate(variables).primal_objective)


def found(objective: Any, result: Any) -> float:
    """Return the best value of a problem that its solvers find."""
    sign = -1.0 if isinstance(objective, Alignment) else 1.0
    problem = objective.obj if isinstance(objective, S3VMRelaxation) else objective
    solvers = sm.solvers
    if isinstance(problem, S3VM) and not problem.is_supervised:
        answers = [optima.branch_and_bound(problem, time_limit=5) if problem.features.penalty != 0.0 else None]
        answers += [solvers.gradient(problem) if problem.unlabeled_loss.name == "exp" else None]
    else:
        m = np.asarray(result.variables.get("alpha", 0)).reshape(problem.variables.get("alpha", (1,))[0], -1).shape[1]
        of = {
            LapSVM: lambda: sm.solve(sm.problems.lapsvm_dual(problem)),
            RMM: lambda: solvers.relative_margin(problem),
            SpectrumMargin: lambda: solvers.spectrum_margin(problem),
            Alignment: lambda: solvers.alignment(problem),
            SpectralRidge: lambda: solvers.spectral_ridge(problem),
            SpectralGraphTransducer: lambda: solvers.graph_transducer(problem),
            RegularizedClustering: lambda: solvers.eigenmaps(problem, m),
            WeightedSVM: lambda: solvers.weighted_svm(problem),
            S3VM: lambda: solvers.weighted_svm(problem.guessed(np.zeros(len(problem.unlabeled)), 0.0)),
        }
        answers = [of[type(problem)]()] if type(problem) in of else []
    values = [one.certificate.primal_objective + sign * one.certificate.rounding for one in answers if one is not None]
    return sign * min((sign * x for x in values), default=np.inf)


def falsehood(objective: Any, result: Any) -> str:
    """Return what is false of a result, or nothing."""
    if isinstance(objective, S3VM) and result.problem == "S3VM relaxation":
        objective = S3VMRelaxation(objective)
    claim, sign = result.certificate, -1.0 if isinstance(objective, Alignment) else 1.0
    size = max(abs(claim.primal_objective), abs(claim.dual_objective)) if np.isfinite(claim.primal_objective) else 0.0
    is_kernel = isinstance(objective, LapSVM | RMM | RegularizedClustering)
    slack = claim.rounding + 1e-12 * size
    try:
        value = exact_value(objective, result.variables)
    except (ArithmeticError, AssertionError, TypeError):  # a loss of which a hundred digits are not known
        value = None
    if value is None or np.isinf(value):  # infinite before it is repaired
        value, slack = own_value(objective, result.variables), slack + 1e-8 * size
    if np.isfinite(claim.primal_objective) and not abs(value - claim.primal_objective) <= slack:
        return f"the objective is {value!r}, not {claim.primal_objective!r}"
    # With labels that a record decides, the bound is one of J with these.
    best = found(objective, result) if not np.any(getattr(objective, "signs", 0)) else np.inf
    if not sign * (best - claim.dual_objective) >= -claim.rounding - (ALLOWED if is_kernel else 1e-12) * size:
        return f"{best!r} is beyond the bound {claim.dual_objective!r}"
    if str(result.status) == "optimal" and not claim.relative_gap <= 0.01:
        return f"it is called optimal next to a gap of {claim.relative_gap}"
    f, own = result.variables.get("f"), objective.decisions(result.variables)
    if f is not None and not isinstance(objective, S3VMRelaxation) and not np.allclose(f, own, rtol=1e-5, atol=1e-5):
        return "its decisions are not those of its answer"
    return ""


# What nobody made in earnest


def deep(levels: int) -> Any:
    """Lists in lists."""
    out: Any = []
    for _ in range(levels):
        out = [out]
    return out


WILD = (
    *(np.nan, np.inf, -np.inf, -1, 0, -0.0, 10**6, 10**9, 10**30, 10**400, 1e308, 5e-324, True, None, "", "x" * 999),
    *([], {}, [None], {"array": "objective/labels/sign"}, {"array": "nothing"}, {"tuple": 3}, {"items": []}),
    *({"class": "LapSVM", "fields": {}}, {"class": "Labels"}, {"sparse": "csr"}, {"objects": [1]}, deep(300)),
)
SHAPES = (
    lambda x: x[:-1],
    lambda x: x[None],
    lambda x: x.ravel(),
    lambda x: np.zeros((0, *x.shape[1:]), x.dtype),
    lambda x: np.full(x.shape, np.nan),
    lambda x: np.full(x.shape, np.inf),
    lambda x: np.full(x.shape, 1e308),
    lambda x: np.full(x.shape, -1, dtype=np.int64),
    lambda x: np.full(x.shape, 2**62, dtype=np.int64),
    lambda x: x.astype(str),
    lambda x: x.astype(complex),
    lambda x: x.astype(bool),
    lambda x: x.astype(np.float16),
    lambda x: np.asarray(0.0),
    lambda x: np.concatenate([x, x]),
    lambda x: np.zeros_like(x),
    lambda x: x[::-1].copy(),
)


def reshaped(way: Any, array: Any) -> Any:
    """Return an array as one of `SHAPES` makes it, None where it cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return way(array)
        except (ValueError, TypeError, IndexError):
            return None


def wild(contents: Contents, rng: np.random.Generator, most: int) -> Iterator[tuple[str, Contents]]:
    """Yield contents that no result has."""
    header, arrays = contents
    sections = ("objective", "result", "log")
    places = [at for section in sections for at in [(section,), *members(header[section], (section,))]]
    parents = [at[:-1] for at in places if len(at) > 1]
    for _ in range(most):
        new_header, new_arrays, way = deepcopy(header), dict(arrays), rng.random()
        if way < 0.6:
            among = places if way < 0.45 else parents
            at, new = among[rng.integers(len(among))], WILD[rng.integers(len(WILD))]
            put(new_header, at, deepcopy(new))
            yield f"{'/'.join(map(str, at))} = {str(new)[:40]}", (new_header, new_arrays)
        else:
            name = str(rng.choice(list(arrays)))
            if way < 0.65:
                del new_arrays[name]
                yield f"no {name}", (new_header, new_arrays)
                continue
            k = int(rng.integers(len(SHAPES)))
            new_arrays[name] = reshaped(SHAPES[k], arrays[name])
            if new_arrays[name] is not None:
                yield f"{name}, way {k}", (new_header, new_arrays)


def judged(contents: Contents, folder: Path) -> tuple[str, str, float]:
    """Return how a file of contents fares, what is said, and in what time; "raised" is a defect."""
    path, start = folder / "changed.npz", time.perf_counter()
    try:
        write_archive(path, KIND, *contents)
    except (SpecmarginError, OverflowError, ValueError, RecursionError):  # cannot be in a file
        return "none", "", 0.0
    start = time.perf_counter()
    try:
        verdict = verify_file(path)
    except Exception as error:  # of any kind: that is what is looked for
        return "raised", f"{type(error).__name__}: {error}", time.perf_counter() - start
    verdict.line(), verdict.as_json()
    return verdict.outcome, verdict.message, time.perf_counter() - start


def examined(
    path: Path, partner: Path | None, seed: int, folder: Path, most: int, fuzz: int
) -> Iterator[dict[str, Any]]:
    """Yield what became of every change of a file."""
    rng, contents = np.random.default_rng(seed), read_archive(path, KIND)
    start, verdict = time.perf_counter(), verify_file(path)
    row = {"file": path.stem, "way": "saved", "what": "as it is", "outcome": verdict.outcome, "false": ""}
    yield {**row, "seconds": round(time.perf_counter() - start, 3), "message": verdict.message}
    pairs = [*others(contents, rng, most), *(exchanged(contents, read_archive(partner, KIND)) if partner else ())]
    for way, changes in (("changed", pairs), ("wild", list(wild(contents, rng, fuzz)))):
        for what, new in changes:
            outcome, message, seconds = judged(new, folder)
            row = {"file": path.stem, "way": way, "what": what, "outcome": outcome, "seconds": round(seconds, 3)}
            false = ""
            if outcome == "proved":
                try:
                    false = falsehood(*sm.load_result(folder / "changed.npz"))
                except Exception as error:  # of a judge, not of the verifier: looked at by hand
                    false = f"not judged: {type(error).__name__}: {error}"
            yield {**row, "false": false, "message": message[:200] if outcome in ("raised", "unreadable") else ""}


def is_wrong(row: dict[str, Any]) -> bool:
    """Whether a certificate is not proved, something false is, or a file is not judged in time."""
    unproved = row["way"] == "saved" and row["outcome"] != "proved"
    return bool(unproved or row["false"] or row["outcome"] == "raised" or row["seconds"] > SECONDS)


def run(n: int, seed: int, folder: Path, most: int = 8, fuzz: int = 2, say: Any = None) -> list[dict[str, Any]]:
    """Save n results of all kinds in turn and examine each."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    last: dict[str, Path] = {}
    count, k = 0, seed
    with warnings.catch_warnings(), open(folder / "tampering.jsonl", "a") as report:
        warnings.simplefilter("ignore")
        while count < n:
            for kind in proof_problems.KINDS:
                path = proof_problems.saved(kind, k, folder) if count < n else None
                if path is None:
                    continue
                count += 1
                for row in examined(path, last.get(kind), k, folder, most, fuzz):
                    rows.append(row)
                    report.write(json.dumps(row) + "\n")
                    if is_wrong(row):
                        report.flush()
                        if say:
                            say(f"LOOK {json.dumps(row)}")
                last[kind] = path
            k += 1
            if say and k % 5 == 0:
                say(f"{count} records, {len(rows)} changes: {dict(Counter(row['outcome'] for row in rows))}")
    return rows


def summary(rows: list[dict[str, Any]]) -> str:
    """One line for each way of changing."""
    lines = []
    for way in ("saved", "changed", "wild"):
        own = [row for row in rows if row["way"] == way]
        slow = max((row["seconds"] for row in own), default=0.0)
        told = dict(Counter(row["outcome"] for row in own))
        lines.append(f"{way}: {len(own)}: {told}, {sum(bool(row['false']) for row in own)} false, {slow} s at most")
    return "\n".join(lines)


def main() -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000, help="records")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each kind")
    parser.add_argument("--most", type=int, default=8, help="changes of a record")
    parser.add_argument("--fuzz", type=int, default=2, help="wild changes of a record")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    given = parser.parse_args()
    rows = run(given.n, given.seed, given.out, given.most, given.fuzz, proof_problems.say)
    proof_problems.say(summary(rows))
    return int(any(map(is_wrong, rows)))


if __name__ == "__main__":
    sys.exit(main())
