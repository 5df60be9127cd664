"""The shipped numbers, read by other means and spot-checked."""

import csv
from importlib import resources

import pandas as pd
import pytest

from reproduction.engine.published import _load, published, published_parameters, published_sizes

FOLDER = resources.files("reproduction.engine").joinpath("published_data")


def raw(name):
    with FOLDER.joinpath(name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_row_of_every_file_is_there():
    files = [file.name for file in FOLDER.iterdir() if file.name.endswith(".csv")]
    n_rows = sum(len(raw(name)) for name in files)
    assert len(files) >= 51
    assert n_rows >= 2387
    assert len(published()) + len(published_parameters()) + len(published_sizes()) == n_rows


def test_table_4_row_by_row():
    rows = raw("lapsvm_primal_table04_errors.csv")
    table = published("lapsvm_primal_2009", "4")
    assert len(table) == len(rows) == 114
    for row, (_, got) in zip(rows, table.iterrows(), strict=True):
        for name in ("dataset", "method", "quantity", "split", "note"):
            assert got[name] == row[name]
        for name in ("mean", "std"):
            assert str(got[name]) == str(float(row[name] or "nan"))
        assert str(got["n_labeled"]) == (row["n_labeled"] or "<NA>")


@pytest.mark.parametrize(
    ("query", "mean", "std"),
    [
        (("lapsvm_primal_2009", "4", "g50c", "svm", "error_percent", "U"), 9.33, 2.0),
        (("lapsvm_primal_2009", "4", "uspst", "lapsvm_newton", "error_percent", "T"), 15.38, 3.55),
        (("survey2008", "15", "uspst", "lapsvm_dual", None, None), 11.4, None),
        (("gcn_2017", "2", "cora", "gcn", "accuracy_percent", "U"), 81.5, None),
        (("gat_2018", "2", "cora", "gat", "accuracy_percent", "U"), 83.0, 0.7),
    ],
)
def test_spot_checks(query, mean, std):
    row = published(*query).iloc[0]
    assert len(published(*query)) == 1
    assert row["mean"] == mean
    assert pd.isna(row["std"]) if std is None else row["std"] == std


def test_parameters_and_sizes():
    query = {"dataset": "g50c", "method": "lapsvm_dual"}
    values = published_parameters("lapsvm_primal_2009", "8", **query).set_index("parameter")["value"]
    assert values.to_dict() == {
        "gaussian_sigma": "17.5",
        "nn": "50",
        "laplacian_degree_p": "5",
        "gamma_A": "1",
        "gamma_I": "10",
    }
    assert "550" in set(published_sizes(dataset="g50c")["value"])


def test_known_names_without_a_common_row_give_an_empty_table():
    assert published("survey2008", dataset="pcmac" if "pcmac" in set(published()["dataset"]) else "mnist").empty


def test_tables_are_copies():
    for table in (published(), published("survey2008")):
        table["mean"] = 0.0
    assert (_load("mean")["mean"] > 0).any()
    assert (published("survey2008")["mean"] > 0).any()
