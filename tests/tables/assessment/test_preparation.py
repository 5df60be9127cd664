"""Features are those of scikit-learn's ColumnTransformer, before and after a file."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from specmargin.exceptions import InvalidInputError
from specmargin.tables import as_table
from specmargin.tables.assessment.preparation import Preparation


def frame_and_table():
    rng = np.random.default_rng(1)
    n = 60
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 9, n),
            "pay": rng.normal(2e4, 5e3, n),
            "town": rng.choice(["Rome", "Oslo", "Lima"], n, p=[0.6, 0.3, 0.1]),
            "note": [" ".join(rng.choice(["red", "green", "blue", "old", "new"], 4)) for _ in range(n)],
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[3, "town"] = "Bern"  # once: rare
    frame["town"] = frame["town"].astype(object)
    frame.loc[5, "town"] = None
    return frame, as_table(frame)


ROLES = {"age": "number", "pay": "number", "town": "category", "note": "text"}


def reference(frame: pd.DataFrame) -> np.ndarray:
    filled = frame.assign(town=frame["town"].fillna("(missing)"))
    transformer = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["age", "pay"]),
            ("missing", MissingIndicator(), ["age", "pay"]),
            ("town", OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist"), ["town"]),
            ("note", TfidfVectorizer(sublinear_tf=True, min_df=2), "note"),
        ],
        sparse_threshold=0.0,
    )
    return transformer.fit_transform(filled)


def test_features_are_those_of_a_column_transformer() -> None:
    frame, table = frame_and_table()
    prepared = Preparation.fit(table, ROLES)
    X = prepared.transform(table)
    np.testing.assert_allclose(X, reference(frame), atol=1e-12)
    assert X.shape[1] == len(prepared.feature_names)
    assert "town = (rare)" in prepared.feature_names


def test_state_goes_through_json() -> None:
    _, table = frame_and_table()
    prepared = Preparation.fit(table, ROLES)
    header, arrays = prepared.state()
    again = Preparation.from_state(json.loads(json.dumps(header)), arrays)
    assert (again.transform(table) == prepared.transform(table)).all()


def test_unknown_values_and_lost_columns() -> None:
    _, table = frame_and_table()
    prepared = Preparation.fit(table, ROLES)
    new = as_table({"age": [None, 40.0], "pay": [1.0, 2.0], "town": ["Paris", None], "note": ["xyz", None]})
    X = prepared.transform(new)
    names = prepared.feature_names
    assert X[0, names.index("town = (rare)")] == 1.0
    assert X[0, names.index("age is missing")] == 1.0
    assert not X[:, [k for k, name in enumerate(names) if name.startswith("note")]].any()
    with pytest.raises(InvalidInputError, match="'note' are missing"):
        prepared.read(new.without("note"))
    with pytest.raises(InvalidInputError, match=r"'age' held numbers .* now holds 'x' in row 1"):
        prepared.read(as_table({**new.columns, "age": ["x", "y"]}))
    _, notes, remarks = prepared.read(new)
    assert notes == ["'town': 'Paris' (row 1) was in no row that the model was fitted with."]
    assert remarks == ["town: 'Paris' was in no row that the model was fitted with", ""]


def test_many_terms_are_sparse_and_a_matrix_passes() -> None:
    rng = np.random.default_rng(0)
    notes = [" ".join(f"t{k}" for k in rng.integers(0, 300, 30)) for _ in range(80)]
    table = as_table({"note": notes, "x": rng.normal(size=80)})
    X = Preparation.fit(table, {"note": "text", "x": "number"}).transform(table)
    assert sp.issparse(X)
    assert X.indices.dtype == np.int32
    passed = as_table(X)
    assert (Preparation.fit(passed, {}).transform(passed) != X).nnz == 0


def test_pixels_share_one_unit() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 17, (40, 20)).astype(float)
    pixels[:, 0] = 0.0
    pixels[0, 0] = 1.0
    table = as_table(pixels)
    X = Preparation.fit(table, dict.fromkeys(table.columns, "number")).transform(table)
    centred = pixels - pixels.mean(axis=0)
    np.testing.assert_allclose(X, centred / np.sqrt(centred.var(axis=0).mean()), atol=1e-12)
