"""Tables are found by themselves; `tests/test_contributing.py` adds a paper."""

from pathlib import Path

import pytest

from reproduction.papers import tables
from reproduction.run import Experiment, Options
from specmargin.exceptions import SpecmarginError

ROOT = Path(__file__).resolve().parents[3]


def test_tables_are_those_of_the_command_line():
    assert {"lapsvm_svm", "lapsvm_primal", "lapsvm_primal_faces", "qn_s3vm", "s3vm_optima"} <= set(tables())
    for name, table in tables().items():
        assert isinstance(table, Experiment)
        assert table.name == name
        assert table.summary
        assert table.work.__module__.startswith("reproduction.papers.")


def test_tables_without_their_data_say_which_and_where_from(nowhere, tmp_path):
    for name, table in tables().items():
        missing = [line for line in table.setup(Options(tmp_path, data=nowhere)).header if "NOT AVAILABLE: " in line]
        assert missing, name
        assert all("SPECMARGIN_DATA. Where each set comes from" in line for line in missing), (name, missing)


def test_figures_call_what_the_papers_export():
    for script in sorted((ROOT / "figures").glob("*.py")):
        text = script.read_text()
        assert "papers._" not in text, script.name
        assert "papers import _" not in text, script.name


def test_two_tables_of_one_name_are_refused(monkeypatch):
    from reproduction.papers import gieseke_2014, lapsvm_svm

    same = type(lapsvm_svm.LAPSVM_SVM)(**{**vars(lapsvm_svm.LAPSVM_SVM), "name": gieseke_2014.QN_S3VM.name})
    monkeypatch.setattr(lapsvm_svm, "LAPSVM_SVM", same)
    tables.cache_clear()
    try:
        with pytest.raises(SpecmarginError, match="two papers have a table 'qn_s3vm'"):
            tables()
    finally:
        tables.cache_clear()
