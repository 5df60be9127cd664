"""What `specmargin.compare` returns: `Comparison`, with its table, predictions, model, page and learning curve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cvxproof.files import replace_file
from specmargin.checks import AsText
from specmargin.checks import path as check_path
from specmargin.tables.assessment.comparison import FEWEST, Row, told_help
from specmargin.tables.assessment.evaluation import Outcome
from specmargin.tables.assessment.flaws import Flaw
from specmargin.tables.assessment.measurement import labeled_rows
from specmargin.tables.assessment.model import Predictions, TableModel, csv_bytes
from specmargin.tables.assessment.page import explanations, measures
from specmargin.tables.assessment.roles import Roles
from specmargin.tables.candidates import CONSTANTS, FAMILIES, SUPERVISED, Mixture, build_bank, train_candidates
from specmargin.tables.diagnosis import Diagnosis
from specmargin.typing import AnyArray, FloatArray, IntArray, Matrix

__all__ = ["Comparison", "LearningCurve", "Prepared", "aligned", "column_lines", "learning_curve"]

_SHARES = (0.25, 0.5, 0.75)
_DRAWS = 3


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Mean errors at the labels that were not given.

    Parameters
    ----------
    sizes : ndarray of shape (k,)
        Numbers of labels that were given, increasing.
    errors, deviations : dict of str to ndarray of shape (k,)
        Mean over the draws, and the standard error of that mean, by "AutoSSL" and "supervised baseline".
    n_draws : int
        Draws of each size.
    """

    sizes: IntArray
    errors: dict[str, FloatArray]
    deviations: dict[str, FloatArray]
    n_draws: int


def learning_curve(
    X: Matrix, codes: IntArray, *, n_draws: int | None = None, random_state: int = 0
) -> LearningCurve | None:
    """Give a quarter, a half and three quarters of the labels, and test on the others.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
    codes : ndarray of shape (n,)
        Classes, -1 for unlabelled rows.
    n_draws : int, optional
        Draws of each size, 3 by default; each has all classes.
    random_state : int

    Returns
    -------
    LearningCurve or None
        None where there are fewer than 12 labels, or too few of most classes.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, truth = sm.datasets.make_two_moons(n_samples=80, noise=0.1, random_state=0)
    >>> curve = learning_curve(X, sm.hide_labels(truth, per_class=8, random_state=0), n_draws=1)
    >>> curve.sizes.tolist(), sorted(curve.errors)
    ([4, 8, 12], ['AutoSSL', 'supervised baseline'])
    """
    known = np.flatnonzero(codes >= 0)
    n_classes, l = int(codes.max()) + 1, len(known)
    sizes = np.unique([max(n_classes, round(share * l)) for share in _SHARES])
    if l < 12 or l - sizes[0] < 4:
        return None
    n_draws = n_draws or _DRAWS
    bank = build_bank(X, families=FAMILIES, random_state=random_state)
    rng = np.random.default_rng(random_state)
    wrong = {name: np.zeros((len(sizes), n_draws)) for name in ("AutoSSL", "supervised baseline")}
    for i, size in enumerate(sizes):
        for draw in range(n_draws):
            given = _drawn(codes, known, size, rng)
            tested = np.setdiff1d(known, given)
            trained = train_candidates(
                bank, given, codes[given], n_classes, families=FAMILIES, random_state=random_state
            )
            for name, groups in (
                ("AutoSSL", trained),
                ("supervised baseline", [group for group in trained if group.family in SUPERVISED]),
            ):
                if len(tested) and groups:
                    mixture = Mixture(groups, codes[given], n_classes, constants=CONSTANTS, random_state=random_state)
                    decided = mixture.log_probabilities[tested].argmax(axis=1)
                    wrong[name][i, draw] = np.mean(decided != codes[tested])
    spread = max(n_draws - 1, 1)
    return LearningCurve(
        sizes,
        {name: values.mean(axis=1) for name, values in wrong.items()},
        {name: np.sqrt(values.var(axis=1) / spread) for name, values in wrong.items()},
        n_draws,
    )


def _drawn(codes: IntArray, known: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """Draw labelled rows, one of each class at least."""
    first = [rng.choice(known[codes[known] == k]) for k in np.unique(codes[known])]
    others = np.setdiff1d(known, first)
    more = rng.choice(others, max(0, size - len(first)), replace=False)
    return np.sort(np.concatenate([first, more]).astype(np.intp))


_UNLABELED = "\0"
"""A label that no class has."""
_MOST_ROWS, _MOST_LABELS, _MANY_LABELS = 5000, 1000, 200
"""Of a learning curve, which would take too long beyond."""
_COLUMNS = 40
"""Lines of the table of columns in a terminal."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """The data as the methods see them.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
    codes : ndarray of shape (n,)
        Classes 0, 1, ...; -1 for unlabelled rows.
    classes : ndarray of shape (K,)
        Objects.
    labels : ndarray of shape (n,)
        Objects, None for unlabelled rows.
    feature_names : list of str
    roles : Roles
    target : str
    columns : list of dict
        What was read: see `specmargin.tables.assessment.roles.described`.
    ids : dict of str to ndarray
        The column that names the rows, if there is one.
    """

    X: Matrix
    codes: IntArray
    classes: AnyArray
    labels: AnyArray
    feature_names: list[str]
    roles: Roles
    target: str
    columns: list[dict[str, Any]] = field(default_factory=list)
    ids: dict[str, AnyArray] = field(default_factory=dict)

    @property
    def n_labeled(self) -> int:
        """Number of labels."""
        return len(labeled_rows(self.codes))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(AsText):
    """Methods compared on one table; `repr` of it is a table of text.

    Parameters
    ----------
    rows : tuple of Row
        One per method, in the order in which they ran.
    flaws : tuple of Flaw
        What is wrong with the data.
    chosen : str
        Name of the method whose predictions and model these are.
    why : str
        Why that one.
    model : TableModel
        Fitted, with ``predict`` and ``predict_proba`` for tables with the same columns, and ``save``.
    predictions : Predictions
        Predictions of all rows.
    data : Prepared
        The features and the codes of the classes.
    outcomes : dict of str to Outcome
        Left-out decisions and probabilities of each method that was run.
    next_steps : tuple of str
        What to do next.
    error : tuple of float
        Error of the chosen method, corrected for its being chosen by the same labels, and a 95 % interval.
    false_labels : str
        How many labels decide how many predictions of the chosen method, or why that is not told; "" for numbers.
    """

    rows: tuple[Row, ...]
    flaws: tuple[Flaw, ...]
    chosen: str
    why: str
    model: TableModel
    predictions: Predictions
    data: Prepared
    outcomes: dict[str, Outcome]
    next_steps: tuple[str, ...] = ()
    error: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    false_labels: str = ""

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """What the graph of neighbours looks like; None with fewer than three rows, or numbers as labels."""
        from specmargin.tables.diagnosis import diagnose

        labels = np.array([_UNLABELED if label is None else str(label) for label in self.data.labels], dtype=object)
        if len(labels) < 3 or not len(self.data.classes):
            return None
        return diagnose(self.data.X, labels, unlabeled=_UNLABELED)

    @cached_property
    def learning_curve(self) -> LearningCurve | None:
        """Errors with a quarter, a half and three quarters of the labels; None for few or very many."""
        n, l = len(self.data.codes), self.data.n_labeled
        if n > _MOST_ROWS or l > _MOST_LABELS or not len(self.data.classes):
            return None
        return learning_curve(self.data.X, self.data.codes, n_draws=1 if l > _MANY_LABELS else None)

    def row(self, name: str) -> Row:
        """Return the row of a method by its name."""
        return next(row for row in self.rows if row.name == name)

    def table(self) -> dict[str, list[Any]]:
        """Return the numbers of all rows, by column: what a data frame is made of."""
        lines = []
        for row in self.rows:
            low, high = row.interval
            line = {"method": row.title, "error": row.error, "error_low": low, "error_high": high, **vars(row)}
            for name in ("name", "title", "interval", "is_supervised", "was_run"):
                del line[name]
            lines.append(line | {"notes": " | ".join(row.notes)})
        columns = {name: [line[name] for line in lines] for name in lines[0]}
        return {name: ["" if one != one else one for one in values] for name, values in columns.items()}

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as a CSV file."""
        check_path("path", path)
        replace_file(Path(path), csv_bytes(self.table()))

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write one page with everything: it needs no other file and no network."""
        from specmargin.tables.assessment.page import page

        check_path("path", path)
        replace_file(Path(path), page(self).encode())

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write page.html, table.csv, predictions.csv and model.npz into a folder, and return their paths."""
        check_path("folder", folder)
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        paths = [target / name for name in ("page.html", "table.csv", "predictions.csv", "model.npz")]
        self.predictions.to_csv(paths[2])
        self.to_csv(paths[1])
        try:
            self.model.save(paths[3])
        finally:
            self.to_html(paths[0])
        return paths

    def lines(self, *, table: bool = True) -> list[str]:
        """Return the report as lines of text, with the table of columns and the flaws or without them."""
        data = self.data
        lines = [self.told_help, "", *(column_lines(data.columns) if table else [])]
        counts = ", ".join(f"{name!r} {int((data.codes == k).sum())}" for k, name in enumerate(data.classes.tolist()))
        counts = f" ({counts})" if counts else ""
        lines.append(
            f"{len(data.codes)} rows, {data.n_labeled} labelled{counts}, {data.X.shape[1]} features of "
            f"{len(data.roles.used) or data.X.shape[1]} columns"
        )
        lines += [f"! {flaw}" for flaw in self.flaws] if table else []
        columns, ran = measures(not len(data.classes)), [row for row in self.rows if row.was_run]
        cells = [(row.title, *(column.text(row) for column in columns)) for row in ran]
        lines += ["", *aligned([("method", *(column.name for column in columns)), *cells], 1), ""]
        lines += [f"{row.title}: {row.verdict}" for row in self.rows if row.was_run]
        lines += [f"{row.title}: not run: {'; '.join(row.notes)}" for row in self.rows if not row.was_run]
        if data.n_labeled >= FEWEST:
            lines += ["", *(f"{name}: {text}" for name, text in explanations(not len(data.classes)))]
        chosen = f"Chosen: {self.row(self.chosen).title}. {self.why}"
        return [*lines, "", chosen, *filter(None, [self.told_error, self.false_labels]), *self.next_steps]

    @property
    def told_help(self) -> str:
        """Whether unlabelled rows helped, in a sentence with its numbers."""
        return told_help(self.rows, self.data.n_labeled, not len(self.data.classes))

    @property
    def told_error(self) -> str:
        """The error of the chosen method, corrected, in words; "" where there are too few labels."""
        if np.isnan(self.error[0]):
            return ""
        error, low, high = (f"{value:.1%}" for value in self.error)
        what = "Its error" if len(self.data.classes) else "Its error, as a share of the labels' deviation,"
        return f"{what} is about {error} ({low} to {high}), corrected for its being chosen by the same labels."

    def __repr__(self) -> str:
        return "\n".join(self.lines())


def aligned(cells: Sequence[Sequence[str]], n_left: int) -> list[str]:
    """Return lines of text with columns, the first `n_left` set to the left.

    Examples
    --------
    >>> aligned([("a", "bc"), ("abc", "1")], 1)
    ['a    bc', 'abc   1']
    """
    widths = [max(len(line[j]) for line in cells) for j in range(len(cells[0]))]
    return [
        "  ".join(
            cell.ljust(width) if j < n_left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


def column_lines(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of columns as lines of text; the first 40 of very many."""
    if not columns:
        return []
    lines = aligned([tuple(columns[0]), *(tuple(map(str, row.values())) for row in columns[:_COLUMNS])], 6)
    more = [f"... and {len(columns) - _COLUMNS} more columns"] if len(columns) > _COLUMNS else []
    return [*lines, *more, ""]
