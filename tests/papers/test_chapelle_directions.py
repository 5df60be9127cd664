"""Section 3.3 of the continuation paper: v* by brute force, and what a row says of it."""

import numpy as np
import pytest

import specmargin as sm
from specmargin.objectives.s3vm import S3VM
from specmargin.papers import _chapelle_blocks as blocks
from specmargin.papers import _chapelle_directions as experiment
from specmargin.papers._chapelle_tasks import Representation
from specmargin.papers._s3vm_methods import Setting
from specmargin.solvers.s3vm.continuation import smoothing_path


def test_v_star_is_the_leading_eigenvector_of_m(rng):
    A = rng.normal(size=(40, 6)) * np.array([3.0, 2.0, 1.0, 1.0, 0.5, 0.1])
    A -= A.mean(axis=0)
    M = sum(np.outer(x, x) / np.linalg.norm(x) ** 3 for x in A)
    v, p = experiment.directions(np.vstack([A, np.zeros(6)]))
    for found, matrix in ((v, M), (p, A.T @ A)):
        top = np.linalg.eigh(matrix)[1][:, -1]
        assert abs(found @ top) == pytest.approx(1.0, abs=1e-9)
    assert abs(v @ p) < 1 - 1e-6


def test_at_gamma_0_the_smoothed_objective_is_flat_along_v_star(rng):
    """With C* alone the smallest eigenvalue of the Hessian at w = 0 is at v*, and it is what gamma_0 promises."""
    X = rng.normal(size=(60, 5)) * np.array([4.0, 1.0, 1.0, 0.5, 0.5])
    labels = sm.encode_labels(np.where(np.arange(60) < 2, np.arange(60) % 2, -1))
    obj = S3VM(X, labels, "hinge", "exp", C=1e-9, C_star=30.0, balance=0.0)
    H = obj.smoothed(float(smoothing_path(obj)[0])).hessian(np.zeros(5))
    values, vectors = np.linalg.eigh(H)
    v, _ = experiment.directions(obj.features.dense()[obj.unlabeled])
    assert values[0] >= 0
    assert abs(vectors[:, 0] @ v) > 0.9


def test_a_row_holds_the_split_along_v_star():
    block = blocks.Block("t", "digits", ("digits 0-1",), (experiment.DIRECTION,), Representation(20.0), 10.0, 10.0)
    cell = block.cells()[0]
    found = blocks.work(cell)
    assert found["error_unlabeled"] < 10
    assert found["cosine_principal"] > 0.9
    assert 0 <= found["cosine_end"] <= 1
    X, y = blocks.features(cell.dataset, Representation(20.0)), blocks.samples(blocks.task_named(cell.dataset)).y
    split = blocks.splits(blocks.task_named(cell.dataset))[cell.split]
    f, _ = experiment.row(X, blocks.labels_of(y, split.labeled), Setting(10.0, 10.0))
    assert f[split.unlabeled].mean() == pytest.approx(0.0, abs=1e-9)
    assert ((2 * y - 1) * f)[split.labeled].sum() > 0


def test_what_is_said():
    def row(method, error, **more):
        return {"status": "ok", "method": method, "dataset": "d", "split": "s", "error_unlabeled": error, **more}

    cosines = {"cosine_principal": 0.95, "cosine_first": 0.8, "cosine_end": 0.3}
    (text,) = experiment.said([row("v_star", 7.0, **cosines)], [row("svm", 9.0), row("cs3vm", 3.0)])
    assert text.startswith("reproduced: section 3.3, v* is the principal component: |cos| 0.95")
    assert "v* errs 7.00 %; svm 9.00 %, cs3vm 3.00 %." in text
    assert experiment.said([], []) == []
