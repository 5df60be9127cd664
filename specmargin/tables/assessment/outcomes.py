"""The outcomes of the methods of a comparison: kept in files, computed here, or spread over other processes."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from cvxproof.archive import read_archive, write_archive
from specmargin import __version__
from specmargin.arrays import sparse_from_parts
from specmargin.exceptions import InvalidInputError, SpecmarginError
from specmargin.tables.assessment.evaluation import Outcome, evaluate, forecast
from specmargin.tables.assessment.measurement import Budget, BudgetExceededError, Size, available_memory
from specmargin.tables.assessment.methods import Automatic, Method
from specmargin.tables.assessment.result import Prepared
from specmargin.typing import AnyArray, IntArray, Matrix

__all__ = ["RowStore", "Spread", "compute_outcomes", "run_away"]

_logger = logging.getLogger(__name__)

_KIND = "row of a comparison"
_VERSION = 1
"""Of what an outcome means: a change of it makes all files void."""


class RowStore:
    """Outcomes of methods on one set of data.

    Parameters
    ----------
    folder : path or None
        Folder of the files; None keeps nothing.
    X : {ndarray, sparse matrix} of shape (n, d)
    codes : ndarray of shape (n,)
    seed : int
    """

    def __init__(self, folder: str | os.PathLike[str] | None, X: Matrix, codes: IntArray, seed: int) -> None:
        self.folder = None if folder is None else Path(folder) / "rows"
        self._data = _digest(X, codes, seed) if folder is not None else ""

    def path(self, method: Method) -> Path | None:
        """Return the file of a method."""
        if self.folder is None:
            return None
        key = hashlib.sha256(f"{self._data} {method.settings}".encode()).hexdigest()[:16]
        return self.folder / f"{re.sub(r'[^A-Za-z0-9]+', '_', method.name)}-{key}.npz"

    def read(self, method: Method) -> Outcome | None:
        """Return the outcome of a method for the same data, settings and version; None if there is none."""
        path = self.path(method)
        if path is None or not path.exists():
            return None
        try:
            header, arrays = read_archive(path, _KIND)
            return Outcome(
                method.name,
                method.title,
                is_supervised=method.is_supervised,
                held_out=arrays["held_out"],
                probabilities=arrays["probabilities"],
                **header,
            )
        except (InvalidInputError, KeyError, TypeError) as error:
            _logger.warning("the row of %s is computed again: %s", method.title, error)
            return None

    def write(self, method: Method, outcome: Outcome) -> None:
        """Keep an outcome; where it cannot be written, a warning says so, and the comparison goes on."""
        path = self.path(method)
        if path is None or not outcome.was_run:
            return
        header: dict[str, Any] = {
            name: getattr(outcome, name) for name in ("judged", "chosen", "seconds", "peak_bytes", "scale", "notes")
        }
        arrays = {"held_out": np.asarray(outcome.held_out), "probabilities": np.asarray(outcome.probabilities)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_archive(path, _KIND, header, arrays)
        except OSError as error:
            _logger.warning("the row of %s is not kept for a later run: %s", method.title, error)


def _digest(X: Matrix, codes: IntArray, seed: int) -> str:
    digest = hashlib.sha256(f"{__version__} {_VERSION} {seed} {X.shape}".encode())
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    for part in (*parts, codes):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


_SHARE = 0.9
"""Of the free memory that one method may need."""
_DATA = "compared"
"""What workers know the features and codes by."""


class Spread(Protocol):
    """Makes calls of a function somewhere, and yields the values as they come."""

    def __call__(
        self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], /, *, files: Mapping[str, Path]
    ) -> Iterable[Any]:
        """Yield ``function(*each)``; `files` lie as NAME.npz in the folder that ``$SPECMARGIN_DATA`` names there."""


def compute_outcomes(
    methods: Sequence[Method],
    data: Prepared,
    seed: int,
    clock: Budget,
    store: RowStore,
    say: Callable[[str], None],
    spread: Spread | None = None,
) -> dict[str, Outcome]:
    """Return the outcome of every method by its name, in their order.

    Parameters
    ----------
    methods : sequence of Method
    data : Prepared
    seed : int
        Deals out the folds.
    clock : Budget
    store : RowStore
        What it has is not computed, and what is computed goes there.
    say : callable
        Gets lines of text.
    spread : Spread, optional
        None computes here. Outcomes that were computed elsewhere come without the fitted classifier.

    Raises
    ------
    SpecmarginError
        If `spread` ends with one; what came before is in the store.
    """
    outcomes = {method.name: store.read(method) for method in methods}
    missing = []
    for method in methods:
        if outcomes[method.name] is None:
            missing.append(method)
        else:
            say(f"{method.title}: kept from an earlier run")
    known = {method.name: method for method in methods}
    here = ((method.name, _run(method, data.X, data.codes, seed, clock, say)) for method in missing)
    for name, outcome in here if spread is None else _away(missing, data, seed, clock, say, spread):
        outcomes[name] = named = _named(outcome, data.classes)
        store.write(known[name], named)
    return {name: outcome for name, outcome in outcomes.items() if outcome is not None}


def _away(
    methods: Sequence[Method], data: Prepared, seed: int, clock: Budget, say: Callable[[str], None], spread: Spread
) -> Iterable[tuple[str, Outcome]]:
    if not methods:
        return
    # Clocks of other processes count from elsewhere; that of the day is one for all.
    started = time.time() - clock.spent
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{_DATA}.npz"
        np.savez(file, **_as_arrays(data.X, data.codes))
        calls = [(method, seed, clock.seconds, started) for method in methods]
        say(f"{len(calls)} methods are computed elsewhere")
        try:
            for name, outcome, lines in spread(run_away, calls, files={_DATA: file}):
                for line in lines:
                    say(line)
                yield name, outcome
        except SpecmarginError as error:
            raise SpecmarginError(
                f"{error}. Finished methods are kept where a folder was named; the same call goes on from there."
            ) from error


def run_away(method: Method, seed: int, seconds: float | None, started: float) -> tuple[str, Outcome, list[str]]:
    """Run a method in another process, on the data that were sent there.

    Parameters
    ----------
    method : Method
    seed : int
        Deals out the folds.
    seconds : float or None
        Budget of the whole comparison.
    started : float
        Moment when it began, by the time of the day.

    Returns
    -------
    name : str
        Name of the method.
    outcome : Outcome
        Outcome without the fitted classifier, which may be large.
    lines : list of str
        Lines of its progress.
    """
    place = Path(os.environ["SPECMARGIN_DATA"]) / f"{_DATA}.npz"
    X, codes = _read(place, place.stat().st_mtime_ns)
    lines: list[str] = []
    outcome = _run(method, X, codes, seed, Budget(seconds, time.time, started), lines.append)
    return method.name, replace(outcome, fitted=None), lines


def _as_arrays(X: Matrix, codes: IntArray) -> dict[str, Any]:
    parts = {name: getattr(X, name) for name in ("data", "indices", "indptr", "shape")} if sp.issparse(X) else {"X": X}
    return {**parts, "codes": codes}


@lru_cache(maxsize=1)
def _read(file: Path, changed: int) -> tuple[Matrix, IntArray]:
    with np.load(file, allow_pickle=False) as arrays:
        if "X" in arrays:
            return arrays["X"], arrays["codes"]
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        return sparse_from_parts("X", parts, arrays["shape"].tolist()), arrays["codes"]


def _run(method: Method, X: Matrix, codes: IntArray, seed: int, clock: Budget, say: Callable[[str], None]) -> Outcome:
    """Run a method, or say why it was not run."""
    skipped = Outcome(method.name, method.title, is_supervised=method.is_supervised)
    size = Size.of(X, codes)
    needed, there = method.bytes_needed(size), available_memory()
    reason = method.refuses(size)
    if not reason and there is not None and needed > _SHARE * there:
        reason = f"it needs about {needed / 1e9:.1f} GB of memory, and {there / 1e9:.1f} GB are free"
    if not reason and clock.left <= 0:
        reason = f"the budget of {clock.seconds:g} s was spent before it"
    if not reason and clock.seconds is not None and not (isinstance(method, Automatic) and method.is_shared):
        seconds = forecast(method, X, codes, seed)
        if seconds > clock.left:
            reason = (
                f"it would take about {seconds:.0f} s, and {max(clock.left, 0):.0f} s of {clock.seconds:g} s are left"
            )
    if reason:
        say(f"{method.title}: skipped: {reason}")
        return replace(skipped, notes=[f"skipped: {reason}"])
    say(f"{method.title} (about {needed / 1e6:.0f} MB)")
    try:
        outcome = evaluate(method, X, codes, seed=seed, budget=clock, progress=say)
    except BudgetExceededError as error:
        say(f"{method.title}: {error}")
        return replace(skipped, notes=[str(error)])
    except (SpecmarginError, MemoryError, ValueError, ArithmeticError) as error:
        say(f"{method.title}: failed: {error}")
        return replace(skipped, notes=[f"failed: {error}"])
    say(f"{method.title}: done in {outcome.seconds:.1f} s")
    return outcome


def _named(outcome: Outcome, classes: AnyArray) -> Outcome:
    """Put the names of classes into texts that name their codes."""

    def with_name(text: str) -> str:
        return re.sub(r"class (\d+)", lambda hit: f"class {classes[int(hit[1])]!r}", text)

    return replace(outcome, chosen=with_name(outcome.chosen), notes=[with_name(note) for note in outcome.notes])
