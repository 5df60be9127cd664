"""Tables with the flaws of real ones: each is read right, or refused by a cell, before anything is computed."""

import numpy as np
import pytest

from specmargin.exceptions import InvalidInputError
from specmargin.tables import compare_file, read_table, split_target
from specmargin.tables.assessment import run
from specmargin.tables.assessment.flaws import find_flaws
from specmargin.tables.assessment.run import prepare

N, KNOWN = 80, 40
RNG = np.random.default_rng(7)
KIND = RNG.permutation(np.arange(N) % 2)
X = np.round(50 + 20 * KIND + RNG.normal(0, 8, N), 1)
Z = np.round(RNG.normal(0, 1, N), 3)
LABEL = [("no", "yes")[k] if i < KNOWN else "" for i, k in enumerate(KIND)]


def lines(header, *columns, separator=","):
    rows = zip(*columns, strict=True)
    return "\n".join([separator.join(header), *(separator.join(map(str, row)) for row in rows)]) + "\n"


def read(tmp_path, text, target="y", **options):
    """Return the table, what is wrong with it, and the data as methods would get them."""
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    table, labels = split_target(read_table(path, **options), target)
    data, _ = prepare(table, labels, target=target)
    return table, " | ".join(map(str, find_flaws(table, labels, data.roles, target))), data


def test_numbers_as_labels(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(run, "compute_outcomes", lambda *_: pytest.fail("computed"))
    price = [f"{3 * x:.0f}" if i < KNOWN else "" for i, x in enumerate(X)]
    path = tmp_path / "t.csv"
    path.write_text(lines(["m", "price"], X, price))
    with pytest.raises(InvalidInputError, match=r"a quantity, no class. For regression say --columns price=number"):
        compare_file(path, "price")
    path.write_text(lines(["m", "price"], X, [*price[:5], "on request", *price[6:]]))
    with pytest.raises(InvalidInputError, match="'on request' in row 6, which is no number"):
        compare_file(path, "price", columns={"price": "number"})


def test_quotes_and_separators(tmp_path) -> None:
    note = [f'"a; ""b"" {i % 3}, c\nnext"' for i in range(N)]
    text = "sep=;\n" + lines(
        ['"Größe; in, cm"', "note", "y"], [str(x).replace(".", ",") for x in X], note, LABEL, separator=";"
    )
    table, _, _ = read(tmp_path, text)
    assert list(table.columns) == ["Größe; in, cm", "note"]
    np.testing.assert_array_equal(table.columns["Größe; in, cm"], X)
    assert table.columns["note"][4] == 'a; "b" 1, c\nnext'
    broken = text.replace('"a; ""b"" 2, c\nnext"', '"a; ""b" 2, c\nnext"', 1)
    with pytest.raises(InvalidInputError, match="stops to be CSV at line 7"):
        read(tmp_path, broken)


def test_huge_numbers(tmp_path) -> None:
    cells = [f"{x}" for x in X]
    cells[5] = "1e200"
    table, flaws, data = read(tmp_path, lines("mzy", cells, Z, LABEL))
    assert np.isnan(table.columns["m"][5])
    assert "'m' holds 1e+200" in flaws
    assert np.isfinite(data.X).all()
    every = [f"{x}e200" if i % 3 else f"{x}" for i, x in enumerate(X)]
    with pytest.raises(InvalidInputError, match=r"the column 'm' holds [\d.]+e\+201 in row 2, too large"):
        read(tmp_path, lines("mzy", every, Z, LABEL))
