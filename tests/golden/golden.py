"""Golden outputs: the text, CSV and arrays of every quick table and figure, recorded before the code is rearranged.

    python tests/golden/golden.py record FOLDER [--data DATA]   run everything twice; what differs is written as ~
    python tests/golden/golden.py compare OLD NEW               say which numbers and words are no longer the same
    python tests/golden/golden.py check [--data DATA]           record anew, once, and compare with what is committed

``tests/golden/bundled`` was recorded without a data folder, ``tests/golden/real`` with one. Run times, versions and
commits differ from run to run and are masked by that; all other numbers must agree to `RTOL`, words exactly. BLAS and
its number of threads decide the last digits of a search, so that a recording belongs to one kind of machine: compare
on the machine that recorded. For that reason this is a command and no test.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
RTOL, ATOL = 1e-6, 1e-8
"""Two orders of summation lead to answers that differ by so much where a solver stops at a gap of 1e-9."""

MASK = "~"
_ANY = r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)"
_NUMBER = re.compile(rf"(?<![\w.]){_ANY}(?![\w.]*\w)", re.IGNORECASE)
_TOKEN = re.compile(rf"({MASK}|(?<![\w.]){_ANY}(?![\w.]*\w))", re.IGNORECASE)
# What belongs to a run and not to its answer.
_OF_THE_RUN = ("versions:", "the code has changed since", "command:", "the cells were computed by different versions:")
_NOT_COMPARED = ("data", "depends", "provenance", "seconds")


def run(folder: Path, data: Path | None, jobs: int) -> None:
    """Make every quick table and figure into a folder."""
    environment = {k: v for k, v in os.environ.items() if k != "SPECMARGIN_DATA"}
    # No cache of downloads either: a recording without data must mean without data.
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    if data is not None:
        environment["SPECMARGIN_DATA"] = str(data.resolve())
    command = [sys.executable, "-m", "reproduction"]
    common = ["--quick", "--fresh", "--jobs", str(jobs)]
    for words in (
        ["tables", "--all", *common, "--out", str(folder)],
        ["figures", *common, "--out", str(folder / "figures")],
    ):
        subprocess.run(
            [*command, *words], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )


def collected(folder: Path) -> dict[str, list[str]]:
    """Return lines by name: tables as they are, figures as ``path: value``."""
    found = {path.name: _lines(path.read_text("utf-8")) for path in sorted((folder / "tables").glob("*.[tc][xs][tv]"))}
    for path in sorted((folder / "figures").glob("*.json")):
        sidecar = json.loads(path.read_text("utf-8"))
        lines = [f"{k}: {v}" for k, v in _flat({k: v for k, v in sidecar.items() if k not in _NOT_COMPARED})]
        with np.load(path.with_suffix(".npz"), allow_pickle=False) as archive:
            tree = json.loads(str(archive["__tree__"]))
            lines += [f"data {k}: {v}" for k, v in _flat(tree)]
            for name in archive.files:
                if not name.startswith("__"):
                    lines.append(f"array {name}: {' '.join(_digest(archive[name]))}")
        found[f"{path.stem}.figure"] = lines
    return found


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if not line.startswith(_OF_THE_RUN)]


def _flat(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and "__array__" not in value:
        for key, item in value.items():
            yield from _flat(item, f"{where}/{key}")
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from _flat(item, f"{where}/{k}")
    else:
        yield where, " ".join(str(value).split())


def _digest(array: Any) -> list[str]:
    """Return shape and kind of an array, and of numbers a few sums that every entry moves."""
    words = [str(array.shape), array.dtype.kind]
    if array.dtype.kind in "biuf" and array.size:
        x = np.asarray(array, dtype=np.float64).ravel()
        good = x[np.isfinite(x)]
        waves = [np.cos(0.7 + k * np.arange(good.size)) for k in (0.0, 1.1, 2.3)]
        words += [str(good.size), *(f"{np.dot(wave, good) / math.sqrt(max(1, good.size)):.12g}" for wave in waves)]
        words += [f"{q:.12g}" for q in np.quantile(good, [0.0, 0.25, 0.5, 0.75, 1.0])] if good.size else []
    return words


def _split(line: str) -> tuple[list[str], list[str]]:
    """Return the numbers of a line, and what stands between them."""
    # Columns are as wide as their widest number.
    line = re.sub(r"[ \t]+", " ", line)
    line = line.replace(MASK, "0.0~")
    numbers = [m.group(0) for m in _NUMBER.finditer(line)]
    return numbers, _NUMBER.split(line)


def masked(first: list[str], second: list[str]) -> list[str]:
    """Return the first text with what the second does not share as `MASK`."""
    if len(first) != len(second):
        raise SystemExit("two runs of the same code differ in their number of lines; nothing can be recorded")
    found = []
    for one, two in zip(first, second, strict=True):
        if one == two:
            found.append(one)
            continue
        (a, between), (b, other) = _split(one), _split(two)
        if between != other:
            found.append(MASK)
            continue
        parts = [between[0]]
        for x, y, rest in zip(a, b, between[1:], strict=True):
            parts += [x if x == y else MASK, rest]
        found.append("".join(parts))
    return found


def differences(name: str, old: list[str], new: list[str]) -> list[str]:
    """Return what is no longer the same, line by line."""
    if len(old) != len(new):
        lost, come = [line for line in old if line not in new and MASK not in line], [l for l in new if l not in old]
        return [
            f"{name}: {len(old)} lines became {len(new)}",
            *(f"  - {l}" for l in lost[:8]),
            *(f"  + {l}" for l in come[:8]),
        ]
    found = []
    for k, (one, two) in enumerate(zip(old, new, strict=True), 1):
        if one == MASK or _same(one, two):
            continue
        # Seconds that two recordings have in common by chance.
        if re.sub(rf"{_ANY} s of work", "", one) != re.sub(rf"{_ANY} s of work", "", two):
            found += [f"{name}:{k}", f"  - {one[:300]}", f"  + {two[:300]}"]
    return found


def _same(old: str, new: str) -> bool:
    """Whether a line is the recorded one: masks stand for any number, other numbers agree to `RTOL`."""
    tokens = _TOKEN.split(re.sub(r"[ \t]+", " ", old))
    parts = [
        re.escape(token) if k % 2 == 0 else f"(?:{MASK}|{_ANY})" if token == MASK else f"({_ANY})"
        for k, token in enumerate(tokens)
    ]
    match = re.fullmatch("".join(parts), re.sub(r"[ \t]+", " ", new), re.IGNORECASE)
    if match is None:
        return False
    x = np.array([token for token in tokens[1::2] if token != MASK], dtype=float)
    return bool(np.isclose(x, np.array(match.groups(), dtype=float), rtol=RTOL, atol=ATOL, equal_nan=True).all())


def read(folder: Path) -> dict[str, list[str]]:
    """Return a recording."""
    return {path.name: path.read_text("utf-8").splitlines() for path in sorted(folder.iterdir()) if path.is_file()}


def write(folder: Path, recording: dict[str, list[str]]) -> None:
    """Write a recording."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in recording.items():
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")


def compared(old: dict[str, list[str]], new: dict[str, list[str]]) -> int:
    """Print what differs and return the number of differing files."""
    different = 0
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            print(f"{name}: only in the {'old' if name in old else 'new'} recording")
            different += 1
            continue
        found = differences(name, old[name], new[name])
        different += bool(found)
        for line in found[:24]:
            print(line)
    print(f"{len(old)} outputs, {different} differ")
    return different


def main() -> None:
    """Run a command of the docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["record", "compare", "check"])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.command == "compare":
        sys.exit(compared(read(options.folders[0]), read(options.folders[1])) > 0)
    recordings = []
    for _ in range(2 if options.command == "record" else 1):
        with tempfile.TemporaryDirectory() as place:
            run(Path(place), options.data, options.jobs)
            recordings.append(collected(Path(place)))
    if options.command == "record":
        first, second = recordings
        write(options.folders[0], {name: masked(lines, second[name]) for name, lines in first.items()})
    else:
        if options.folders:
            write(options.folders[0], recordings[0])
        sys.exit(compared(read(HERE / ("real" if options.data else "bundled")), recordings[0]) > 0)


if __name__ == "__main__":
    main()
