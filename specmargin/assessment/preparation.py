"""From named columns to features: what scikit-learn's `ColumnTransformer` learns, kept as plain arrays.

`Preparation.fit` makes a `ColumnTransformer` (median, missing indicator and standard scores for numbers and dates,
one-hot codes with rare values together for categories, TF-IDF for text), fits it to all rows without looking at labels,
and keeps what it has learned. `transform` computes the same features from those arrays, and `state` is what a file
needs: no pickle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.assessment.columns import missing_in
from specmargin.assessment.table import Table
from specmargin.exceptions import InvalidInputError
from specmargin.typing import AnyArray, FloatArray, Matrix

__all__ = ["Preparation", "column_transformer", "shared_unit"]

ABSENT = "(missing)"
"""The category of missing entries."""
_RARE = 0.01
"""Share of the rows below which categories are put together, but at least two rows."""
_MOST_TERMS = 20_000
_SPARSE_ABOVE = 200
"""Categories and terms above which features are kept sparse."""


@dataclass(frozen=True, eq=False)
class Preparation:
    """What was learned from the columns of a table.

    Parameters
    ----------
    roles : dict of str to {"number", "date", "category", "text"}
        Of the columns that are used, in their order; empty for a matrix without names.
    medians, means, scales : ndarray of shape (a,)
        Of numbers and dates.
    indicated : list of str
        Numbers and dates with missing entries.
    categories : dict of str to list of str
        Values that have a feature of their own; all others share the last one, if there are rare ones.
    rare : dict of str to bool
        Whether the column has a feature of the rare values.
    terms : dict of str to list of str
        Of text columns.
    idf : dict of str to ndarray
        Inverse document frequencies of the terms.
    n_passed : int
        Features of a sparse matrix, which is left as it is.
    """

    roles: dict[str, str]
    medians: FloatArray = field(default_factory=lambda: np.empty(0))
    means: FloatArray = field(default_factory=lambda: np.empty(0))
    scales: FloatArray = field(default_factory=lambda: np.empty(0))
    indicated: list[str] = field(default_factory=list)
    categories: dict[str, list[str]] = field(default_factory=dict)
    rare: dict[str, bool] = field(default_factory=dict)
    terms: dict[str, list[str]] = field(default_factory=dict)
    idf: dict[str, FloatArray] = field(default_factory=dict)
    n_passed: int = 0

    @classmethod
    def fit(cls, table: Table, roles: Mapping[str, str]) -> Preparation:
        """Learn from all rows of a table.

        Parameters
        ----------
        table : Table
        roles : mapping of str to {"number", "date", "category", "text"}
            Of the columns to be used.

        Examples
        --------
        >>> from specmargin.assessment.table import as_table
        >>> table = as_table({"age": [20.0, 40.0, None, None], "town": ["Rome", "Oslo", "Rome", "Oslo"]})
        >>> prepared = Preparation.fit(table, {"age": "number", "town": "category"})
        >>> prepared.feature_names
        ['age', 'age is missing', 'town = Oslo', 'town = Rome']
        >>> prepared.transform(table)[:3].round(2).tolist()
        [[-1.41, 0.0, 0.0, 1.0], [1.41, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
        """
        if table.matrix is not None:
            return cls({}, n_passed=table.matrix.shape[1])
        roles = {name: roles[name] for name in table.columns if name in roles}
        transformer = column_transformer(roles, table)
        transformer.fit(_array(table, roles))
        return cls._of(transformer, roles)

    @classmethod
    def _of(cls, transformer: Any, roles: dict[str, str]) -> Preparation:
        named, learned = transformer.named_transformers_, {}
        if "numbers" in named:
            impute, scale = named["numbers"]
            learned = {"medians": impute.statistics_, "means": scale.mean_, "scales": scale.scale_}
            numbers = _of_kind(roles, "number", "date")
            learned["indicated"] = [numbers[j] for j in named["missing"].features_] if "missing" in named else []
        categories, rare = {}, {}
        if "categories" in named:
            onehot = named["categories"]
            infrequent = onehot.infrequent_categories_
            for name, values, few in zip(_of_kind(roles, "category"), onehot.categories_, infrequent, strict=True):
                together = set() if few is None else set(few.tolist())
                categories[name] = [str(value) for value in values if value not in together]
                rare[name] = few is not None
        terms, idf = {}, {}
        for name in _of_kind(roles, "text"):
            vectorizer = named[f"text {name}"]
            terms[name] = vectorizer.get_feature_names_out().tolist()
            idf[name] = vectorizer.idf_
        return cls(roles, **learned, categories=categories, rare=rare, terms=terms, idf=idf)

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        names = _of_kind(self.roles, "number", "date")
        names += [f"{name} is missing" for name in self.indicated]
        for name, values in self.categories.items():
            names += [f"{name} = {value}" for value in values]
            names += [f"{name} = (rare)"] if self.rare[name] else []
        for name, terms in self.terms.items():
            names += [f"{name}: {term}" for term in terms]
        return names or [f"x{j}" for j in range(self.n_passed)]

    def transform(self, table: Table) -> Matrix:
        """Return the features (n, d) of a table that has the same columns."""
        if self.n_passed:
            return _passed(table, self.n_passed)
        self._check(table)
        numbers = _of_kind(self.roles, "number", "date")
        blocks: list[Any] = []
        if numbers:
            values = np.column_stack([_numbers(table.columns[name]) for name in numbers])
            filled = np.where(np.isnan(values), self.medians, values)
            blocks.append((filled - self.means) / self.scales)
        if self.indicated:
            blocks.append(np.column_stack([missing_in(table.columns[name]) for name in self.indicated]).astype(float))
        blocks += [self._one_hot(name, table.columns[name]) for name in self.categories]
        blocks += [self._text(name, table.columns[name]) for name in self.terms]
        if self.is_sparse:
            X = sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"))
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # as libsvm wants them
            return X
        return np.hstack([np.asarray(block.todense()) if sp.issparse(block) else block for block in blocks])

    @property
    def is_sparse(self) -> bool:
        """Whether the features are a sparse matrix."""
        return sum(map(len, (*self.categories.values(), *self.terms.values()))) > _SPARSE_ABOVE

    def _check(self, table: Table) -> None:
        lost = [name for name in self.roles if name not in table.columns]
        if lost:
            raise InvalidInputError(
                f"the columns {', '.join(map(repr, lost))} are missing, which the model was fitted with; the table has "
                f"{', '.join(map(repr, table.columns)) or 'no columns'}. Pass a table with the same columns."
            )
        for name in _of_kind(self.roles, "number", "date"):
            if table.columns[name].dtype.kind == "O" and not missing_in(table.columns[name]).all():
                first = next(value for value in table.columns[name] if value is not None)
                raise InvalidInputError(
                    f"the column {name!r} held numbers or dates when the model was fitted, and now holds {first!r}; "
                    "mend the column."
                )

    def _one_hot(self, name: str, column: AnyArray) -> Any:
        values, codes = np.unique(_texts(column), return_inverse=True)
        place = {value: j for j, value in enumerate(self.categories[name])}
        width = len(place) + self.rare[name]
        # Unknown values count as rare; where there are none, they have no feature.
        at = np.array([place.get(value, len(place)) for value in values.tolist()])[codes]
        kept = np.flatnonzero(at < width)
        return sp.csr_array((np.ones(len(kept)), (kept, at[kept])), shape=(len(column), width))

    def _text(self, name: str, column: AnyArray) -> Any:
        vectorizer = _vectorizer(vocabulary=self.terms[name])
        vectorizer.idf_ = self.idf[name]
        return sp.csr_array(vectorizer.transform(_texts(column, "")))

    def state(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return what a file needs: a header that JSON knows, and arrays."""
        header = {
            "roles": [[name, role] for name, role in self.roles.items()],
            "indicated": self.indicated,
            "categories": [[name, values, self.rare[name]] for name, values in self.categories.items()],
            "texts": list(self.terms),
            "n_passed": self.n_passed,
        }
        arrays = {"medians": self.medians, "means": self.means, "scales": self.scales}
        for k, name in enumerate(self.terms):
            arrays |= {f"terms{k}": np.array(self.terms[name], dtype=str), f"idf{k}": np.asarray(self.idf[name])}
        return header, arrays

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Preparation:
        """Return the preparation that `state` has described."""
        return cls(
            dict(header["roles"]),
            arrays["medians"],
            arrays["means"],
            arrays["scales"],
            list(header["indicated"]),
            {name: values for name, values, _ in header["categories"]},
            {name: rare for name, _, rare in header["categories"]},
            {name: arrays[f"terms{k}"].tolist() for k, name in enumerate(header["texts"])},
            {name: arrays[f"idf{k}"] for k, name in enumerate(header["texts"])},
            header["n_passed"],
        )


def column_transformer(roles: Mapping[str, str], table: Table) -> Any:
    """Return scikit-learn's transformer of the columns of a table, to be fitted to objects (n, number of roles)."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    place = {name: j for j, name in enumerate(roles)}
    steps: list[tuple[str, Any, Any]] = []
    numbers = [place[name] for name in _of_kind(roles, "number", "date")]
    if numbers:
        scale = _scaler(table, _of_kind(roles, "number", "date"))
        steps.append(("numbers", make_pipeline(SimpleImputer(strategy="median"), scale), numbers))
        if any(missing_in(table.columns[name]).any() for name in _of_kind(roles, "number", "date")):
            steps.append(("missing", MissingIndicator(features="missing-only", error_on_new=False), numbers))
    categories = [place[name] for name in _of_kind(roles, "category")]
    if categories:
        onehot = OneHotEncoder(
            min_frequency=max(2, int(np.ceil(_RARE * table.n_rows))), handle_unknown="infrequent_if_exist"
        )
        steps.append(("categories", onehot, categories))
    steps += [(f"text {name}", _vectorizer(), place[name]) for name in _of_kind(roles, "text")]
    return ColumnTransformer(steps)


def _scaler(table: Table, names: list[str]) -> Any:
    from sklearn.preprocessing import StandardScaler

    class SharedScaler(StandardScaler):
        """Columns of one unit: centred, and divided by one number."""

        def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
            super().fit(X, y, sample_weight)
            unit = float(np.sqrt(np.mean(np.asarray(self.var_))))
            self.scale_ = np.full(X.shape[1], unit if unit > 0 else 1.0)
            return self

    return SharedScaler() if shared_unit([table.columns[name] for name in names]) else StandardScaler()


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


def _vectorizer(vocabulary: Any = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, min_df=2, max_features=_MOST_TERMS, vocabulary=vocabulary)


def _of_kind(roles: Mapping[str, str], *kinds: str) -> list[str]:
    return [name for name, role in roles.items() if role in kinds]


def _array(table: Table, roles: Mapping[str, str]) -> AnyArray:
    array = np.empty((table.n_rows, len(roles)), dtype=object)
    for j, (name, role) in enumerate(roles.items()):
        column = table.columns[name]
        if role in ("number", "date"):
            array[:, j] = _numbers(column)
        else:
            array[:, j] = _texts(column, "" if role == "text" else ABSENT)
    return array


def _numbers(column: AnyArray) -> FloatArray:
    """Return numbers, dates as days; nan for what is missing or infinite."""
    if column.dtype.kind == "O":
        return np.full(len(column), np.nan)
    values = column.astype("datetime64[s]").astype(np.float64) / 86400.0 if column.dtype.kind == "M" else column
    return np.where(missing_in(column), np.nan, values)


def _texts(column: AnyArray, absent: str = ABSENT) -> AnyArray:
    gone = missing_in(column)
    plain = column.tolist() if column.dtype.kind != "f" else [f"{value:g}" for value in column]
    out = np.empty(len(column), dtype=object)
    out[:] = [absent if missing else str(value) for value, missing in zip(plain, gone, strict=True)]
    return out


def _passed(table: Table, n_features: int) -> Matrix:
    X = table.matrix if table.matrix is not None else np.column_stack(list(table.columns.values()))
    if X.shape[1] != n_features:
        raise InvalidInputError(f"X has {X.shape[1]} features, the model was fitted with {n_features}; pass as many.")
    return X
