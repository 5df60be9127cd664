"""Rows of a sweep of a toy: two settings on two splits, with known errors."""

from reproduction.engine.records import Cell
from reproduction.engine.sweep import run_sweep

# Per split (validation error, unlabelled error) of the two settings.
ERRORS = {"s0": [(1.0, 12.0), (2.0, 8.0)], "s1": [(5.0, 10.0), (4.0, 11.0)]}


def rows_of(tmp_path, dataset="g50c", method="svm", errors=ERRORS, **options):
    cells = [Cell("t", method, dataset, s, {"k": k}) for k in range(2) for s in errors]

    def work(cell):
        v, u = errors[cell.split][cell.parameters["k"]]
        return {"error_validation": v, "error_unlabeled": u, "relative_gap": -1e-7 if u == 8.0 else 1e-9}

    return run_sweep(cells, work, folder=tmp_path / "sweep", progress=False, **options)
