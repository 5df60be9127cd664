"""The numbers of the papers, as published, for the columns "published" of every table.

`published` filters the results, `published_parameters` and `published_sizes` what else the papers state. They are CSV
files inside the package; nothing is downloaded.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from specmargin.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

_Name: TypeAlias = str | None


def published(
    paper: _Name = None,
    table: _Name = None,
    dataset: _Name = None,
    method: _Name = None,
    quantity: _Name = None,
    split: _Name = None,
) -> pd.DataFrame:
    """Return published results, filtered by any of the columns.

    Parameters
    ----------
    paper, table, dataset, method, quantity : str, optional
        Exact names, e.g. ``"survey2008"``, ``"15"``, ``"g50c"``, ``"lapsvm_dual"``, ``"error_percent"``.
    split : str, optional
        ``"U"`` unlabelled training points, ``"V"`` validation, ``"T"`` unseen test set, ``""`` not stated.

    Returns
    -------
    DataFrame
        Columns ``paper table dataset method quantity split mean std n_labeled note``; a dash of the table is NaN.
        Empty if every name exists but not together. Rows that differ in `n_labeled` or `note` alone are variants.

    Raises
    ------
    ValueError
        If nothing is known of a name; the message lists what is.

    Examples
    --------
    >>> published("survey2008", table="15", dataset="g50c", method="lapsvm_dual")["mean"].item()
    6.4
    """
    return _filtered("mean", paper=paper, table=table, dataset=dataset, method=method, quantity=quantity, split=split)


def published_parameters(
    paper: _Name = None, table: _Name = None, dataset: _Name = None, method: _Name = None, parameter: _Name = None
) -> pd.DataFrame:
    """Return published parameters (columns ``paper table dataset method parameter value note``), values as text.

    Filtered as by `published`.

    Examples
    --------
    >>> published_parameters("lapsvm_primal_2009", dataset="uspst", method="lapsvm_dual", parameter="nn").value.item()
    '10'
    """
    return _filtered("parameter", paper=paper, table=table, dataset=dataset, method=method, parameter=parameter)


def published_sizes(
    paper: _Name = None, table: _Name = None, dataset: _Name = None, quantity: _Name = None
) -> pd.DataFrame:
    """Return published sizes of data sets (columns ``paper table dataset quantity value note``), values as text.

    Filtered as by `published`.

    Examples
    --------
    >>> len(published_sizes("survey2008", dataset="g50c")) > 0
    True
    """
    return _filtered("size", paper=paper, table=table, dataset=dataset, quantity=quantity)


@cache
def _load(kind: str) -> pd.DataFrame:
    """All files of one kind, told apart by their columns, in the order of their names."""
    import pandas as pd

    files = sorted(Path(__file__).with_name("published_data").glob("*.csv"))
    frames = [pd.read_csv(file, dtype=str, keep_default_na=False) for file in files]
    kinds = [next((k for k in ("mean", "parameter") if k in frame.columns), "size") for frame in frames]
    table = pd.concat([frame for frame, k in zip(frames, kinds, strict=True) if k == kind], ignore_index=True)
    if kind == "mean":
        for name in ("mean", "std"):
            table[name] = pd.to_numeric(table[name])
        table["n_labeled"] = pd.to_numeric(table["n_labeled"]).astype("Int64")
    return table


def _filtered(kind: str, **wanted: _Name) -> pd.DataFrame:
    table = _load(kind)
    for column, value in wanted.items():
        if value is None:
            continue
        known = sorted(set(_load(kind)[column]))
        if str(value) not in known:
            raise InvalidInputError(
                f"nothing is published here for {column}={value!r}; take one of: {', '.join(known)}."
            )
        table = table[table[column] == str(value)]
    return table.reset_index(drop=True)
