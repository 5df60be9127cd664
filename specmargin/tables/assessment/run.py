"""`compare`: from a table with some labels to a table of methods, predictions and a fitted model."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from specmargin import checks
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.node_names import by_row
from specmargin.labels import is_unlabeled
from specmargin.labels.markers import is_missing
from specmargin.tables.assessment.choice import choose, next_steps, told_false_labels
from specmargin.tables.assessment.columns import as_texts, objects
from specmargin.tables.assessment.comparison import compare_outcomes, error_of_choice
from specmargin.tables.assessment.evaluation import evaluate
from specmargin.tables.assessment.flaws import find_flaws, spellings
from specmargin.tables.assessment.measurement import Budget
from specmargin.tables.assessment.methods import BASELINE, Automatic, FittedMethod, choose_methods
from specmargin.tables.assessment.model import Predictions, TableModel, load_model
from specmargin.tables.assessment.outcomes import RowStore, Spread, compute_outcomes
from specmargin.tables.assessment.preparation import Preparation
from specmargin.tables.assessment.reading import read_settings, read_table
from specmargin.tables.assessment.regression import choose_regressors
from specmargin.tables.assessment.result import Comparison, Prepared, column_lines
from specmargin.tables.assessment.roles import choose_roles, described
from specmargin.tables.assessment.table import Table, as_table, split_target, target_labels
from specmargin.typing import AnyArray

__all__ = ["compare", "compare_file", "fit_table", "predict_file", "prepare"]

_logger = logging.getLogger(__name__)


def _function(remedy: str) -> checks.Rule:
    def rule(name: str, value: Any) -> Any:
        if not callable(value):
            raise InvalidTypeError(f"{name}={checks.shown(value)} cannot be called; pass {remedy}.")
        return value

    return checks.maybe(rule)


_TEXTS = _function("a function of a text, print say; True or False")


def _scalar(name: str, value: Any) -> Any:
    is_unlabeled([0], value)
    return value


@checks.checked(
    budget=checks.maybe(checks.number(above=0)),
    random_state=checks.count(0),
    text=checks.texts("names of columns"),
    ignore=checks.texts("names of columns"),
    target=checks.instance(str, "pass the name of the labels"),
    folder=checks.maybe(checks.path),
    progress=lambda name, value: value if isinstance(value, bool) else _TEXTS(name, value),
    unlabeled=_scalar,
    spread=_function("a function that computes calls elsewhere, partial(on_cluster, address=...) say"),
    exact=checks.flag,
)
def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[Any] | str | None = None,
    unlabeled: Any = -1,
    text: Sequence[str] = (),
    ignore: Sequence[str] = (),
    columns: Any = (),
    exact: bool = False,
    target: str = "y",
    budget: float | None = None,
    random_state: int = 0,
    folder: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | bool | None = None,
    spread: Spread | None = None,
) -> Comparison:
    """Compare methods on data of which some rows are labelled, and say whether the unlabelled ones help.

    Every method is tuned on the labels alone and judged by its decisions about left-out labels. The verdict of each
    is the exact one-sided McNemar test against the supervised baseline, corrected by Holm over the methods. With fewer
    than 10 labels there are predictions, and no numbers of error.

    Parameters
    ----------
    X : data frame, mapping of names to columns, array or sparse matrix
        Numbers, dates, categories and text; entries may be missing. Columns of no use are named and left out.
    y : array-like of shape (n,)
        Classes; missing values, and those equal to `unlabeled`, mean that a row has no label.
    methods : sequence of str and classifiers, or str, optional
        "majority", "svm", "baseline", "AutoSSL", names of classifiers of this package (tuned), and classifiers (as they
        are). By default a choice of methods that fit the size.
    unlabeled : scalar, default -1
        The marker of unlabelled rows, in addition to missing values.
    text, ignore : sequence of str
        Columns to be read as text, and not to be used.
    columns : mapping of str to str, sequence of NAME=KIND, or path of a TOML file
        What columns are, where it is not to be inferred: "number", "date", "category", "text", "id" or "ignore";
        "number:1.234,5", "date:%d/%m/%Y", "number:all" and "category:exact" say more. A column that is stated to be
        something is used, whatever is strange about it. The labels are numbers, for regression, where they are stated
        to be: ``columns={"y": "number"}``.
    exact : bool, default False
        Whether labels that differ in capitals and blanks only are different classes.
    target : str
        Name of the labels in the report.
    budget : float, optional
        Seconds; methods for which no time is left are skipped, or stopped between two folds, and the table says so.
    random_state : int
        Seed of the folds and of what methods draw.
    folder : path, optional
        Folder in which finished rows are kept, so that a run that was ended goes on.
    progress : callable or bool, optional
        Gets lines of text; True prints them, False is silent, as is the default. The log has them at the level INFO.
    spread : callable, optional
        Computes methods elsewhere, each by a call of its own, ``partial(on_cluster, address="tcp://10.0.0.7:8786")`` of
        `specmargin.tables.cluster` say. By default they run here, one after the other. Rows are kept by
        this process alone.

    Returns
    -------
    Comparison
        ``rows``, ``flaws``, ``predictions``, ``model``, ``to_html(path)``, ``save(folder)``.

    Raises
    ------
    ValueError
        If no row is labelled, or all are, there is one class only, or labels are numbers that are not whole.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=100, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=8, random_state=0)
    >>> comparison = sm.compare(X, y, methods=["majority", "svm", "AutoSSL"])
    >>> [row.title for row in comparison.rows]
    ['supervised baseline', 'majority class', 'tuned SVM', 'AutoSSL']
    >>> bool(np.mean(comparison.predictions.predicted == y_true) > 0.9)
    True
    """
    tell = print if progress is True else progress or (lambda _: None)

    def say(line: str) -> None:
        _logger.info("%s", line)
        tell(line)

    table, labels, numbers = _labelled(X, y, unlabeled, columns, text, ignore, target)
    chosen_methods, clock = choose_regressors(methods) if numbers else choose_methods(methods), Budget(budget)
    baseline = chosen_methods[0].name if numbers else BASELINE
    data, preparation = prepare(table, labels, target=target, exact=exact)
    flaws = find_flaws(table, labels, data.roles, target, exact=exact)
    for line in (*column_lines(data.columns), *(f"! {flaw}" for flaw in flaws)):
        say(line)
    store = RowStore(folder, data.X, data.codes, random_state)
    outcomes = compute_outcomes(chosen_methods, data, random_state, clock, store, say, spread)
    rows = compare_outcomes(list(outcomes.values()), data.codes, baseline)
    name, why = choose(rows, data.n_labeled)
    best = outcomes[name]
    fitted = best.fitted
    if fitted is None or name == BASELINE:
        # Read from a file; and the baseline is kept as an estimator of its own, which can be saved.
        say(f"{best.title}: fitted to all labels")
        alone = next(method for method in chosen_methods if method.name == name)
        fitted = (Automatic(supervised=True) if name == BASELINE else alone).fit(data.X, data.codes, random_state)
    model = _model(preparation, fitted, data, best.scale, best.title, table)
    predictions = Predictions(data.classes, best.probabilities, data.labels, data.ids)
    return Comparison(
        tuple(rows),
        tuple(flaws),
        name,
        why,
        model,
        predictions,
        data,
        outcomes,
        tuple(next_steps(rows, name, data.n_labeled)),
        error_of_choice(list(outcomes.values()), data.codes, baseline, choose),
        "" if numbers else told_false_labels(fitted.estimator, best.title),
    )


def _labelled(
    X: Any, y: Any, unlabeled: Any, stated: Any, text: Sequence[str], ignore: Sequence[str], target: str
) -> tuple[Table, AnyArray, bool]:
    """Return the table as it is to be read, its labels, and whether these are numbers."""
    table = as_table(X)
    marker = None if is_missing(unlabeled) else unlabeled
    stated = read_settings(stated)
    own = {**table.stated, **stated} if target not in table.cells else {}
    stated = {name: kind for name, kind in stated.items() if not (own and name == target)}
    table = table.reading({**stated, **dict.fromkeys(text, "text"), **dict.fromkeys(ignore, "ignore")})
    y = by_row(y, X if hasattr(X, "iloc") else range(table.n_rows), None, None)
    labels = target_labels(y, marker, target, own.get(target, ""))
    return table, labels, any(isinstance(label, float) for label in labels)


def _model(
    preparation: Preparation, fitted: FittedMethod, data: Prepared, scale: float, title: str, table: Table
) -> TableModel:
    own = data.target, data.roles.identifier, data.columns, table.names
    return TableModel(preparation, fitted, data.classes, scale, title, *own)


def compare_file(
    path: str | os.PathLike[str],
    target: str,
    *,
    unlabeled: Any = None,
    columns: Any = (),
    names: bool | None = None,
    **options: Any,
) -> Comparison:
    r"""Read a file and compare methods on it.

    Parameters
    ----------
    path : path
        See `specmargin.tables.read_table`.
    target : str
        The column of labels.
    unlabeled : scalar, optional
        A label that means "no label", in addition to empty cells.
    columns, names
        The same as for `read_table`.
    **options
        The same as for `compare`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "flowers.csv"
    >>> rows = [f"{k % 2 + k / 20:.2f},{('iris', 'rose')[k % 2] if k < 8 else ''}" for k in range(20)]
    >>> _ = file.write_text("\n".join(["size,kind", *rows]))
    >>> compare_file(file, "kind", methods=["majority"]).predictions
    Predictions(20 rows, 8 labelled, classes ['iris', 'rose'])
    """
    table = read_table(path, columns=columns, names=names)
    table, labels = split_target(table, target, unlabeled)
    return compare(table, labels, unlabeled=None, target=target, **options)


def fit_table(
    X: Any,
    y: Any,
    *,
    method: Any = "AutoSSL",
    unlabeled: Any = -1,
    text: Sequence[str] = (),
    ignore: Sequence[str] = (),
    columns: Any = (),
    exact: bool = False,
    target: str = "y",
    random_state: int = 0,
) -> TableModel:
    """Fit one method to a table, without comparing it.

    Parameters
    ----------
    X, y, unlabeled, text, ignore, columns, exact, target, random_state
        The same as for `compare`; all rows may be labelled.
    method : str or classifier, default "AutoSSL"
        A method as the methods of `compare`.

    Returns
    -------
    TableModel
        Model with ``predict``, ``predict_proba`` and ``save``.

    Examples
    --------
    >>> size = [0.1, 0.3, 0.2, 0.4, 2.1, 2.3, 2.2, 2.4, None]
    >>> kind = ["iris"] * 3 + [None] + ["rose"] * 3 + [None, None]
    >>> model = fit_table({"size": size}, kind, method="svm")
    >>> model.predict({"size": [0.0, 2.5]}).tolist()
    ['iris', 'rose']
    """
    table, labels, numbers = _labelled(X, y, unlabeled, columns, text, ignore, target)
    if numbers:
        method = choose_regressors(["ridge" if method == "AutoSSL" else method])[-1]
    else:
        method = choose_methods([method])[-1]
    data, preparation = prepare(table, labels, target=target, exact=exact, judged=False)
    fitted, scale = method.fit(data.X, data.codes, random_state), 1.0
    if not fitted.is_calibrated and not numbers:
        # Probabilities need decisions about left-out labels.
        outcome = evaluate(method, data.X, data.codes, seed=random_state, budget=Budget(None), progress=lambda _: None)
        fitted, scale = outcome.fitted, outcome.scale
    return _model(preparation, fitted, data, scale, method.title, table)


def predict_file(model: str | os.PathLike[str], path: str | os.PathLike[str]) -> Predictions:
    r"""Predict the rows of a file by the model of another file; labels that it has stand next to the predictions.

    Parameters
    ----------
    model : path
        What `TableModel.save` or ``specmargin compare`` has written.
    path : path
        A table with the same columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "flowers.csv"
    >>> rows = [f"{k % 2 + k / 20:.2f},{('iris', 'rose')[k % 2] if k < 8 else ''}" for k in range(20)]
    >>> _ = file.write_text("\n".join(["size,kind", *rows]))
    >>> table, labels = split_target(read_table(file), "kind")
    >>> fit_table(table, labels, method="svm", target="kind").save(file.with_suffix(".npz"))
    >>> predict_file(file.with_suffix(".npz"), file)
    Predictions(20 rows, 8 labelled, classes ['iris', 'rose'])
    """
    fitted = load_model(model)
    table, labels = read_table(path, names=fitted.names), None
    if fitted.target in table.cells:
        kind = "number" if not len(fitted.classes_) else "category"
        table, labels = split_target(table.reading({fitted.target: kind}), fitted.target)
    return fitted.predictions(table, labels)


def prepare(
    table: Table, labels: AnyArray, *, target: str = "y", exact: bool = False, judged: bool = True
) -> tuple[Prepared, Preparation]:
    """Return features and codes of classes, and what was learned to make them.

    Parameters
    ----------
    table : Table
        Table without labels.
    labels : ndarray of shape (n,)
        Objects, None for unlabelled rows; floats are no classes.
    target, exact
        The same as for `compare`.
    judged : bool, default True
        Whether errors will be told: then some row must be unlabelled, and columns that give labels away are left out.
    """
    if len(labels) != table.n_rows:
        raise InvalidInputError(f"X has {table.n_rows} rows, y has {len(labels)} labels; pass one label per row.")
    given = [label for label in labels if label is not None]
    if not given:
        raise InvalidInputError(
            f"no row is labelled: {target!r} is empty, or holds the marker everywhere. Label some rows of every class, "
            "10 or more together."
        )
    if len(given) == len(labels) and judged:
        raise InvalidInputError(
            f"all {len(labels)} rows are labelled, so that there is nothing to predict and no unlabelled row to learn "
            "from. Add rows with an empty label, name the marker of unlabelled rows by unlabeled=, or hide labels by "
            "sm.hide_labels."
        )
    if not exact:
        merged = {other: several[0] for several in spellings(labels).values() for other in several[1:]}
        if merged:
            labels = objects([merged.get(label, label) for label in labels])
    codes: AnyArray
    if any(isinstance(label, float) for label in given):
        classes = objects([])
        codes = np.array([np.nan if label is None else label for label in labels], dtype=np.float64)
    else:
        classes = _sorted([label for label in labels if label is not None])
        place = {label: k for k, label in enumerate(classes.tolist())}
        codes = np.array([place.get(label, -1) for label in labels], dtype=np.intp)
    if len(classes) == 1 or (not len(classes) and len(set(given)) == 1):
        raise InvalidInputError(
            f"all labels are {given[0]!r}: there is one class only. Label rows of another class, too."
        )
    roles = choose_roles(table, labels, target=target, strict=judged)
    preparation = Preparation.fit(table, roles.used, roles.identifier)
    X = preparation.transform(table)
    columns = described(table, roles, labels, target) if table.given else []
    ids = {name: as_texts(table.cells[name]) for name in (roles.identifier,) if name}
    return Prepared(X, codes, classes, labels, preparation.feature_names, roles, target, columns, ids), preparation


def _sorted(given: list[Any]) -> AnyArray:
    different = set(given)
    try:
        ordered = sorted(different)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in different})
        raise InvalidInputError(
            f"labels are of several types, {' and '.join(kinds)}, for instance {next(iter(different))!r}; spell all of "
            "them as texts or all as whole numbers."
        ) from None
    return objects(ordered)
