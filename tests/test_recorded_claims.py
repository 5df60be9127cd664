"""The claims judged by the recorded rows say what the records say, word by word."""

import pytest

from reproduction.papers import tables
from reproduction.recorded import recorded_folder, recorded_tables
from reproduction.run import Options

FOLDER = recorded_folder()
RECORDS = recorded_tables(FOLDER) if FOLDER is not None and FOLDER.is_dir() else {}
PLANLESS = ("claims", "lapsvm_primal_laplacian", "manifold_regularization")
"""Their claims are of the rows alone, in whatever order."""
SLOW = ("continuation_s3vm", "manifold_regularization", "qn_s3vm", "spectrum_learning")
JUDGED = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in RECORDS if "auto_ssl" not in name
]


@pytest.mark.parametrize("name", JUDGED)
def test_remarks_come_out_as_they_were_recorded(name, data_folder, tmp_path):
    record = RECORDS[name]
    planless = name == "claims" or (name in PLANLESS and data_folder is None)
    if data_folder is None and not planless:
        pytest.skip("the plan of this table needs the data sets")
    table = tables()[record.experiment]
    options = Options(tmp_path, data=data_folder, choices=dict(record.choices))
    rows = {row["key"]: row for row in record.rows()}
    if planless:
        results, plan = list(rows.values()), None
    else:
        plan = table.setup(options).plan
        results = table.measure(plan, lambda cells: [rows[cell.key] for cell in dict.fromkeys(cells)], data_folder)
    assert record.report is not None
    remarks = list(table.report(results, plan, options).remarks), list(record.report.remarks)
    ours, theirs = map(sorted, remarks) if planless else remarks
    assert ours == theirs
