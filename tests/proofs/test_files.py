"""What is told of a file: whether its claim is proved, and what else it can be."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm
from cvxproof.proofs.record import Verification
from specmargin.objectives import RMM
from specmargin.proofs.files import Verdict, verify_file


@pytest.fixture
def file(tmp_path):
    svm = RMM(np.eye(3), sm.encode_labels([0, 1, 1]), C=2.0)
    sm.save_result(tmp_path / "svm.npz", svm, sm.solvers.relative_margin(svm))
    return tmp_path / "svm.npz"


def test_a_file_is_proved_or_unreadable(file):
    verdict = verify_file(file)
    assert (verdict.outcome, verdict.kind, verdict.exit_code) == ("proved", "rmm", 0)
    assert verdict.verification
    # In closed form: all three margins are one.
    assert verdict.verification.bound[0] <= 4 / 3 <= verdict.verification.primal[1]
    assert verdict.verification.gap[1] < 1e-12
    assert verify_file(str(file)) == verdict
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    assert verify_file(file).outcome == "unreadable"
    file.unlink()
    assert verify_file(file).exit_code == 2


def test_lines_and_json():
    ends = (1.0, 1.5), (0.5, 1.0), (0.0, np.inf)
    proved = Verification(True, "fine", *ends, assumptions=("K + 1e-12 I is semidefinite",), digest="0123" * 16)
    verdict = Verdict("a.npz", "proved", "fine", "rmm", proved)
    assert verdict.line() == "a.npz: rmm: proved: fine; K + 1e-12 I is semidefinite; sha256 0123012301230123"
    assert verdict.as_json()["gap"] == [0.0, None]
    assert verdict.as_json()["sha256"] == proved.digest
    assert verdict.as_json()["assumptions"] == ["K + 1e-12 I is semidefinite"]
    refuted = Verdict("a.npz", "refuted", "the bound is 1, not 2", "rmm", Verification(False, ""))
    assert refuted.line() == "a.npz: rmm: refuted: the bound is 1, not 2"
    assert [verdict.exit_code, refuted.exit_code, Verdict("a", "nothing to verify", "").exit_code] == [0, 1, 2]
    assert Verdict("a", "unproved", "").exit_code == 1


def test_changed_problems_of_the_package(tmp_path):
    X, truth = sm.datasets.make_two_moons(n_samples=60, random_state=0)
    labels = sm.encode_labels(sm.hide_labels(truth, per_class=4, random_state=0))
    graph = sm.graphs.knn_graph(X, n_neighbors=6)
    objective = sm.objectives.LapSVM(sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(graph), labels, gamma_A=0.01)
    lapsvm = sm.problems.lapsvm_primal(objective)
    f = lapsvm.expressions["decisions"]
    storm = sm.problems.storm(
        sm.objectives.SpectrumMargin(
            sm.spectra.laplacian_eigenpairs(graph, q=50, normalized=False), labels, C=10.0, B=1.5
        ),
        form="primal",
    )
    delta = storm.expressions["spectrum"]
    changes = {
        "fair": lapsvm.with_(constraints={"fair": cp.sum(f[:30]) == cp.sum(f[30:])}),
        "smooth": storm.with_(
            terms={"smooth": cp.sum_squares(cp.diff(delta, 2))}, constraints={"budget": cp.sum(delta[:5]) <= 0.6}
        ),
    }
    for name, changed in changes.items():
        result = sm.solve(changed)
        sm.save_result(tmp_path / "it.npz", changed, result)
        verdict = verify_file(tmp_path / "it.npz")
        assert verdict.outcome == "proved", f"{name}: {verdict.line()}"
        assert "not judged: " in verdict.line()  # what the objective derives
    # As its builder made it, a problem keeps the proof of its objective.
    result = sm.solve(lapsvm)
    sm.save_result(tmp_path / "it.npz", lapsvm, result)
    assert verify_file(tmp_path / "it.npz").kind == "lapsvm"
