"""The campaign in small: certificates of all kinds and regimes are proved from their files, and none that is spoilt.

The whole is ``python tests/proofs/campaign.py --n 1000 --out FOLDER``.
"""

from __future__ import annotations

import sys
import warnings

import campaign
import numpy as np
import proof_problems
import pytest
import record_values

from specmargin.proofs.files import Verdict, verify_file
from specmargin.proofs.saving import read_provenance, read_record

SIZE = 66


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Every kind in six regimes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return campaign.campaign(SIZE, 0, tmp_path_factory.mktemp("campaign"))


@pytest.mark.slow
def test_all_certificates_are_proved_from_their_files(rows):
    wrong = [row for row in rows if row["outcome"] not in ("proved", "no certificate")]
    assert not wrong
    assert {row["kind"] for row in rows if row["outcome"] == "proved"} == set(proof_problems.KINDS)
    assert sum(row["outcome"] == "proved" for row in rows) == SIZE


@pytest.mark.slow
def test_no_spoilt_file_is_accepted(rows):
    spoilt = [row for row in rows if "caught" in row]
    assert [row for row in spoilt if not row["caught"]] == []
    assert len(spoilt) >= SIZE - 5
    # Bytes are caught by the checksum alone, digits and labels by what is proved.
    assert {row["how"] for row in spoilt if row["tampering"] == "bytes"} == {"unreadable"}
    assert {row["how"] for row in spoilt if row["tampering"] in ("multiplier", "data", "label")} == {"refuted"}
    assert {row["tampering"] for row in spoilt} >= {
        "bytes",
        "multiplier",
        "bound",
        "data",
        "label",
        "answer",
        "other part",
    }


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    path, _ = campaign.saved("rmm", 0, folder)
    return path


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("clustering", 5030),  # K is semidefinite but for rounding, and what K + 2sI proves is too little
        ("clustering", 5054),
        ("s3vm_tree", 5010),  # tangents of exp over an interval of 1e8
        ("s3vm_tree", 5029),
        ("s3vm_tree", 5079),
    ],
)
def test_certificates_that_were_refuted_once(kind, seed, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, _ = campaign.saved(kind, seed, tmp_path)
    verdict = verify_file(path)
    assert verdict.outcome == "proved", verdict.line()


def test_a_multiplier_that_is_repaired_to_what_it_was_is_no_forgery(tmp_path):
    path, _ = campaign.saved("lapsvm", 5047, tmp_path)
    record = read_record(path)
    k = int(np.flatnonzero(record.arrays["theta"] == -1.0)[0])
    other = campaign.changed(record, "theta", (k,), -5.0, False)
    assert not record.numbers["fit_intercept"]
    assert not campaign.matters(record, other)
    assert campaign.matters(record, campaign.changed(record, "theta", (k,), 0.0, False))


def test_a_verifier_that_believes_everything_would_be_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(campaign, "verify_file", lambda path: Verdict(str(path), "proved", "I believe you", "rmm"))
    monkeypatch.setattr(campaign, "judged", lambda record: Verdict("record", "proved", "I believe you", "rmm"))
    rows = campaign.campaign(7, 0, tmp_path)
    assert [row["caught"] for row in rows if "caught" in row].count(False) >= 5
    assert any(tmp_path.glob("*.spoilt.npz"))
    monkeypatch.setattr(sys, "argv", ["campaign.py", "--n", "7", "--out", str(tmp_path)])
    assert campaign.main() == 1


def test_a_refuted_certificate_would_be_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(campaign, "verify_file", lambda path: Verdict(str(path), "refuted", "no", "rmm"))
    said = []
    campaign.campaign(2, 0, tmp_path, said.append)
    assert sum(line.startswith("LOOK") for line in said) == 2
    monkeypatch.setattr(sys, "argv", ["campaign.py", "--n", "2", "--out", str(tmp_path)])
    assert campaign.main() == 1


@pytest.mark.parametrize("x", [0.98, -3.25e-300, 2.5e10, 5e-8])
@pytest.mark.parametrize("up", [None, True, False])
def test_another_leading_digit(x, up):
    text = f"{abs(x):.17e}"
    for seed in range(20):
        y = campaign.other_digit(x, np.random.default_rng(seed), up)
        if up is True and text[0] == "9":
            assert y == x  # there is no larger one
            continue
        others = [np.copysign(float(digit + text[1:]), x) for digit in "0123456789" if digit != text[0]]
        assert y in others
        assert up is None or (y > x) == up


def test_another_leading_digit_of_zero():
    assert campaign.other_digit(0.0, np.random.default_rng(0)) == 1.0
    assert campaign.other_digit(0.0, np.random.default_rng(0), False) == -1.0


def test_the_third_party_knows_what_matters(file):
    record = read_record(file)
    gamma = record.arrays["gamma"]
    heaviest = int(np.abs(gamma).argmax())
    for factor, does in ((3.0, True), (1.0, False), (1 + 1e-14, False)):
        other = campaign.changed(record, "gamma", (heaviest,), factor * gamma[heaviest], False)
        assert campaign.matters(record, other) is does


@pytest.mark.parametrize("kind", proof_problems.KINDS)
def test_the_third_party_agrees_with_the_certificates(kind, tmp_path):
    """In floats: to eight digits of the objective, and to six of the bound that the evidence proves."""
    path, _ = campaign.saved(kind, 0, tmp_path)
    record = read_record(path)
    primal, bound = record_values.values(record)
    assert primal == pytest.approx(record.claim.primal, rel=1e-8)
    assert np.isnan(bound) == (kind == "alignment")
    if not np.isnan(bound):
        assert bound == pytest.approx(record.claim.dual, rel=1e-6, abs=1e-6 * abs(record.claim.primal))


def test_tamperings_change_what_they_say(file, tmp_path):
    others = [campaign.saved("rmm", 1, tmp_path)[0]]
    for name, spoil in campaign.TAMPERINGS.items():
        target = tmp_path / f"{name}.npz"
        spoilt = spoil(file, target, np.random.default_rng(1), others)
        if name == "leaf":
            assert spoilt is None  # there is no log
            continue
        assert spoilt.caught, spoilt
        if name in ("bytes", "bound", "answer", "other part"):
            assert target.read_bytes() != file.read_bytes()
        if name in ("bound", "answer", "other part"):
            assert read_provenance(target) == read_provenance(file)
