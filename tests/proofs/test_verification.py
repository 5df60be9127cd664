"""`sm.verify` accepts what every solver claims, in every regime."""

import subprocess
import sys
import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

pytest.importorskip("flint")

from exact_kinds import KINDS, REGIMES, solved

import specmargin as sm
from cvxproof.proofs.cone_verification import digest_of
from specmargin.optima.records import tree_record_of
from specmargin.proofs.packing import PACKING
from specmargin.proofs.translation import lacks_its_tree
from specmargin.proofs.verification import verify, verify_record

COVERED = [kind for kind in KINDS if kind != "regression"]
"""Records hold signs for labels, so that LapRLS with numbers has none."""


def refuted(kind, seeds):
    """What is refuted of the answers to random problems of a kind, and how many there are."""
    wrong, count = [], 0
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            regime, answers = solved(kind, seed)
        for one in answers:
            if one.result.status.has_solution and not lacks_its_tree(one.objective, one.result):
                verification, certificate = verify(one.objective, one.result), one.result.certificate
                count += 1
                if not np.isfinite(certificate.gap):
                    assert verification or verification.message.startswith("nothing to verify")
                elif not verification:
                    wrong.append(f"{seed}, {regime}, {one.solver}: {verification.message}")
                elif not verification.gap[1] <= certificate.gap * (1 + 1e-12):
                    wrong.append(
                        f"{seed}, {regime}, {one.solver}: {verification.gap}, but {certificate.gap} is claimed"
                    )
    return wrong, count


@pytest.mark.parametrize("kind", COVERED)
def test_no_certificate_is_refuted(kind):
    seeds = [100 + list(KINDS).index(kind)] if kind != "S3VM" else [3]
    wrong, count = refuted(kind, seeds)
    assert not wrong
    assert count


def test_numbers_for_targets_have_no_record():
    _, answers = solved("regression", 0)
    with pytest.raises(TypeError, match="LapRLS with numbers for targets has no proof record"):
        verify(answers[0].objective, answers[0].result)


@pytest.mark.slow
@pytest.mark.parametrize("kind", COVERED)
def test_no_certificate_is_refuted_in_any_regime(kind):
    wrong, count = refuted(kind, range(200, 200 + len(REGIMES)))
    assert not wrong
    assert count >= 4


def test_nothing_heavy_is_loaded_before_it_is_needed():
    code = (
        "import sys, specmargin as sm, specmargin.proofs.saving; sm.verify; "
        "print({'flint', 'cvxpy', 'matplotlib'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "set()"


def test_without_flint_the_error_says_what_to_install():
    code = """
import sys
sys.modules["flint"] = None
import numpy as np, specmargin as sm
svm = sm.objectives.RMM(np.eye(2), sm.encode_labels([0, 1]))
sm.verify(svm, sm.solvers.relative_margin(svm))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "SolverNotInstalledError" in done.stderr
    assert "pip install python-flint" in done.stderr


def test_wrong_arguments_are_refused_before_anything_is_computed():
    svm = sm.objectives.RMM(np.eye(2), sm.encode_labels([0, 1]))
    with pytest.raises(sm.exceptions.InvalidTypeError, match="is no objective"):
        sm.verify(None, None)
    with pytest.raises(sm.exceptions.InvalidTypeError, match="must be a SolveResult"):
        sm.verify(svm, {"gamma": np.zeros(2), "b": 0.0})
    assert isinstance(sm.verify(svm, sm.solvers.relative_margin(svm)), sm.Verification)


def test_a_log_is_replayed_and_what_has_none_is_checked():
    X = np.array([[-2.0], [2.0], [-1.0], [0.1], [0.9]])
    svm = sm.objectives.S3VM(X, sm.encode_labels([0, 1, -1, -1, -1]), C=10.0, intercept="regularized")
    logged = sm.optima.branch_and_bound(svm, log=True)
    assert verify(svm, logged)
    assert verify(svm, sm.optima.s3vm_bound(svm))
    record = tree_record_of(svm, logged)
    assert verify_record(record)
    claim = replace(record.claim, dual=record.claim.primal + 1.0)
    assert "splits below the root" in verify_record(replace(record, claim=claim)).message
    assert not verify_record(replace(record, kind="s3vm"))


def test_what_is_factorised_already_is_no_part_of_the_digest():
    labels, K = sm.encode_labels([0, 1, -1]), np.eye(3) + 0.5
    objective, fresh = (sm.objectives.LapSVM(K, None, labels, gamma_A=0.1) for _ in range(2))
    result = sm.solvers.factorized(objective)
    assert (objective.is_reduced, fresh.is_reduced) == (True, False)
    assert digest_of(fresh, result, PACKING) == digest_of(objective, result, PACKING)
    assert digest_of(objective.with_(gamma_A=0.2), result, PACKING) != digest_of(objective, result, PACKING)


def test_an_objective_is_no_problem_of_a_proof_of_cvxpy():
    x = cp.Variable(2, name="x")
    result = sm.solve(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]))
    for wrong in (sm.objectives.RMM(np.eye(2), sm.encode_labels([0, 1])), None):
        with pytest.raises(sm.exceptions.InvalidInputError, match="says nothing of what was changed"):
            sm.verify(wrong, result)
