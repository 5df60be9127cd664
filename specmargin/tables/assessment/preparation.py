"""Preparation of named columns to features: scikit-learn's `ColumnTransformer`, fitted once and stored whole by skops.

Median, missing indicator and standard scores for numbers and dates, one-hot codes with rare values together for
categories, TF-IDF for text. It is fitted to all rows without looking at labels.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.checks import among
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.tables.assessment.columns import ColumnType, as_texts, missing_in, needed, pandas, spelling
from specmargin.tables.assessment.table import Table
from specmargin.typing import AnyArray, FloatArray, Matrix

__all__ = ["Preparation", "column_transformer", "from_bytes", "shared_unit", "to_bytes"]

_ABSENT = "(missing)"
_RARE = 0.01
"""Share of the rows below which categories are put together, but at least two rows."""
_MOST_TERMS = 20_000
_SPARSE_ABOVE = 200
"""Categories and terms above which features are kept sparse."""
_LARGEST = 1e150
"""Numbers whose squares can be added up."""
_TRUSTED = ("numpy.dtype", "specmargin.tables.assessment.tuned_svm.TunedSVM")


@dataclass(frozen=True, eq=False)
class Preparation:
    """What was learned from the columns of a table.

    Parameters
    ----------
    roles : dict of str to {"number", "date", "category", "text"}
        Roles of the columns that are used, in their order; empty for a matrix without names.
    types : dict of str to ColumnType
        What these columns, and the one that names the rows, are read as.
    transformer : ColumnTransformer, optional
        Fitted; None for a sparse matrix, which is left as it is.
    n_passed : int
        Features of a sparse matrix.
    """

    roles: dict[str, str]
    types: dict[str, ColumnType] = field(default_factory=dict)
    transformer: Any = None
    n_passed: int = 0

    @classmethod
    def fit(cls, table: Table, roles: Mapping[str, str], identifier: str = "") -> Preparation:
        """Learn from all rows of a table.

        Parameters
        ----------
        table : Table
        roles : mapping of str to {"number", "date", "category", "text"}
            Roles of the columns to be used.
        identifier : str, default ""
            The column that names the rows.

        Examples
        --------
        >>> from specmargin.tables.assessment.table import as_table
        >>> table = as_table({"age": [20.0, 40.0, None, None], "town": ["Rome", "Oslo", "Rome", "Oslo"]})
        >>> prepared = Preparation.fit(table, {"age": "number", "town": "category"})
        >>> prepared.feature_names
        ['age', 'age is missing', 'town = oslo', 'town = rome']
        >>> prepared.transform(table)[:3].round(2).tolist()
        [[-1.41, 0.0, 0.0, 1.0], [1.41, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
        """
        if table.matrix is not None:
            return cls({}, n_passed=table.matrix.shape[1])
        roles = {name: roles[name] for name in table.cells if name in roles}
        types = {name: kind for name, kind in table.types.items() if name in roles or name == identifier}
        prepared = cls(roles, types, column_transformer(roles, table))
        prepared.transformer.fit(prepared.frame(table))
        numbers = [table.columns[name] for name, role in roles.items() if role in ("number", "date")]
        if shared_unit(numbers):
            scaler = prepared.transformer.named_transformers_["numbers"][-1]
            unit = float(np.sqrt(np.mean(scaler.var_)))
            scaler.scale_ = np.full(len(numbers), unit if unit > 0 else 1.0)
        return prepared

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        if self.transformer is None:
            return [f"x{j}" for j in range(self.n_passed)]
        names = []
        for name in self.transformer.get_feature_names_out():
            block, _, rest = name.partition("__")
            if block in ("numbers", "missing"):
                names.append(rest if block == "numbers" else f"{rest.removeprefix('missingindicator_')} is missing")
                continue
            column = list(self.roles)[int(block.split()[1])]
            value = rest.removeprefix(f"{column}_").replace("infrequent_sklearn", "(rare)")
            names.append(f"{column} = {value}" if self.roles[column] == "category" else f"{column}: {rest}")
        return names

    def transform(self, table: Table) -> Matrix:
        """Return the features (n, d) of a table that has the same columns."""
        if self.transformer is None:
            X = table.matrix if table.matrix is not None else np.column_stack(list(table.columns.values()))
            if X.shape[1] != self.n_passed:
                raise InvalidInputError(
                    f"X has {X.shape[1]} features, the model was fitted with {self.n_passed}; pass as many."
                )
            return X
        X = self.transformer.transform(self.frame(table))
        if not sp.issparse(X):
            return np.asarray(X)
        names = self.transformer.get_feature_names_out()
        if sum(not name.startswith(("numbers__", "missing__")) for name in names) <= _SPARSE_ABOVE:
            return np.asarray(X.toarray())
        X = sp.csr_array(X)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # as libsvm wants them
        return X

    def read(self, table: Table) -> tuple[Table, list[str], list[str]]:
        """Read another table by the same types.

        Returns
        -------
        table : Table
        notes : list of str
            Cells that cannot be read, and values that were in no row of the table that this was fitted to.
        remarks : list of str
            The same, for each row.

        Raises
        ------
        ValueError
            If a column is missing, or most of its cells cannot be read.
        """
        lost = [name for name in self.roles if name not in table.cells]
        if lost:
            columns = among(lost[0], table.cells) if table.cells else "no columns."
            raise InvalidInputError(
                f"the columns {', '.join(map(repr, lost))} are missing, which the model was fitted with; the table has "
                f"{columns} Pass a table with the same columns."
            )
        remarks = [""] * table.n_rows
        notes: list[str] = []
        if self.transformer is None:
            return table, notes, remarks
        cells = {name: one for name, one in table.cells.items() if name in self.types}
        table = Table(cells, given=table.given, fixed=self.types)
        for name, role in self.roles.items():
            odd, there = table.odd(name), int((~missing_in(as_texts(table.cells[name]))).sum())
            if len(odd) > max(2, 0.5 * there) or (odd and len(odd) == there):
                raise InvalidInputError(
                    f"the column {name!r} held numbers or dates when the model was fitted "
                    f"({self.types[name].spelled()}), and now holds {odd[0][1]!r} in row {odd[0][0]}; mend the column."
                )
            strange = [(row, cell, "cannot be read, and counts as missing") for row, cell in odd]
            strange += self._unknown(name, table.columns[name]) if role == "category" else []
            for row, cell, what in strange:
                remarks[row - 1] += f"{'; ' if remarks[row - 1] else ''}{name}: {cell!r} {what}"
            if strange:
                named = ", ".join(dict.fromkeys(f"{cell!r} (row {row})" for row, cell, _ in strange[:4]))
                more = f" and {len(strange) - 4} more" if len(strange) > 4 else ""
                notes.append(f"{name!r}: {named}{more} {strange[0][2]}.")
        return table, notes, remarks

    def _unknown(self, name: str, column: AnyArray) -> list[tuple[int, str, str]]:
        step = f"category {list(self.roles).index(name)}"
        known = set(self.transformer.named_transformers_[step].categories_[0].tolist())
        keys = self._keys(name, column)
        new = [i for i, key in enumerate(keys) if key not in known and column[i] is not None]
        return [(i + 1, column[i], "was in no row that the model was fitted with") for i in new]

    def _keys(self, name: str, column: AnyArray) -> list[str]:
        exact = self.types[name].form == "exact"
        return [_ABSENT if text is None else text if exact else spelling(text) for text in column]

    def frame(self, table: Table) -> Any:
        """Return the columns as the transformer takes them: floats, keys of categories, texts."""
        columns: dict[str, Any] = {}
        for name, role in self.roles.items():
            column = table.columns[name]
            if role in ("number", "date"):
                columns[name] = _numbers(name, column)
                continue
            keys = self._keys(name, column) if role == "category" else [text or "" for text in column]
            columns[name] = pandas().Series(keys, dtype=object)
        return pandas().DataFrame(columns)

    def state(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return what a file needs: a header that JSON knows, and arrays."""
        header = {"roles": [list(item) for item in self.roles.items()], "n_passed": self.n_passed}
        header["types"] = [[name, asdict(kind)] for name, kind in self.types.items()]
        return header, {} if self.transformer is None else {"transformer": to_bytes(self.transformer)}

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Preparation:
        """Return the preparation that `state` has described."""
        types = {name: ColumnType(**{**kind, "marks": tuple(kind["marks"])}) for name, kind in header["types"]}
        transformer = from_bytes(arrays["transformer"]) if "transformer" in arrays else None
        return cls(dict(header["roles"]), types, transformer, header["n_passed"])


def column_transformer(roles: Mapping[str, str], table: Table) -> Any:
    """Return scikit-learn's transformer of the columns of a table, not yet fitted."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    steps: list[tuple[str, Any, Any]] = []
    numbers = [name for name, role in roles.items() if role in ("number", "date")]
    if numbers:
        steps.append(("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers))
        if any(missing_in(table.columns[name]).any() for name in numbers):
            steps.append(("missing", MissingIndicator(features="missing-only", error_on_new=False), numbers))
    fewest = max(2, int(np.ceil(_RARE * table.n_rows)))
    for j, (name, role) in enumerate(roles.items()):
        if role == "category":
            onehot = OneHotEncoder(min_frequency=fewest, handle_unknown="infrequent_if_exist")
            steps.append((f"category {j}", onehot, [name]))
        elif role == "text":
            terms = TfidfVectorizer(sublinear_tf=True, min_df=2, max_features=_MOST_TERMS)
            steps.append((f"text {j}", terms, name))
    return ColumnTransformer(steps, sparse_threshold=1.0)


def shared_unit(columns: list[AnyArray]) -> bool:
    """Whether numbers have one unit: more than 16 columns, half of which span at least half of the widest range.

    So it is with the pixels of images: dividing each by its own deviation would blow up those that hardly vary.

    Examples
    --------
    >>> shared_unit([np.array([0.0, 16.0])] * 20), shared_unit([np.array([0.0, 16.0])] * 3)
    (True, False)
    """
    if len(columns) <= 16 or any(column.dtype.kind != "f" for column in columns):
        return False
    ranges = np.array([np.ptp(column[np.isfinite(column)]) if np.isfinite(column).any() else 0 for column in columns])
    varies = ranges[ranges > 0]
    return len(varies) > 0 and bool(np.mean(varies >= varies.max() / 2) >= 0.5)


def _numbers(name: str, column: AnyArray) -> FloatArray:
    """Return numbers, dates as days; nan for what is missing or infinite."""
    values = column.astype("datetime64[s]").astype(np.float64) / 86400.0 if column.dtype.kind == "M" else column
    values = np.where(missing_in(column), np.nan, values)
    if np.any(np.abs(values) > _LARGEST):
        row = int(np.flatnonzero(np.abs(values) > _LARGEST)[0])
        raise InvalidInputError(
            f"the column {name!r} holds {values[row]:g} in row {row + 1}, too large to be squared; mend the cell, or "
            "leave the column out."
        )
    return values


def to_bytes(estimator: Any) -> AnyArray:
    """Return an estimator of scikit-learn as bytes, by skops.

    Raises
    ------
    TypeError
        If it holds what skops does not trust.
    """
    data = _skops().dumps(estimator)
    foreign = sorted(set(_skops().get_untrusted_types(data=data)) - set(_TRUSTED))
    if foreign:
        raise InvalidTypeError(
            f"{type(estimator).__name__} holds {', '.join(foreign)}, which is not read back from a file; save it with "
            "a tool of its own, skops with a list of types that you trust say."
        )
    return np.frombuffer(data, dtype=np.uint8)


def from_bytes(data: AnyArray) -> Any:
    """Return the estimator of `to_bytes`; only types of scikit-learn, numpy and scipy are made, and nothing is run."""
    content = data.tobytes()
    with zipfile.ZipFile(io.BytesIO(content)) as members:  # they are stored as they are: nothing unpacks to more
        if sum(info.file_size for info in members.infolist()) > len(content):
            raise InvalidInputError("it holds a compressed member, which specmargin does not write.")
    return _skops().loads(content, trusted=list(_TRUSTED))


def _skops() -> Any:
    return needed("skops.io", "models of tables are stored by skops")
