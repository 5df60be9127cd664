"""Proof files of programs without an optimum: infeasible ones by their rays, unbounded ones by a direction."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

pytest.importorskip("flint")

from cone_tampering import forged
from full_size import shortened
from ray_programs import RAYS

import specmargin as sm
from specmargin.proofs import cone_rays
from specmargin.proofs.cone_records import cone_record_of
from specmargin.proofs.files import verify_file
from specmargin.proofs.saving import read_record


def outcomes(tmp_path, status, kind, seeds):
    """Return what the files of programs that are proved in memory say."""
    lines, path = [], tmp_path / "it.npz"
    for seed in seeds:
        problem = RAYS[status, kind](seed)
        result = sm.solve(problem)
        assert (result.status.value, "proved" in result.message) == (status, True)
        sm.save_result(path, problem, result)
        verdict = verify_file(path)
        assert verdict.kind == "cone ray"
        assert verdict.outcome == "proved", f"{seed}: {verdict.line()}"
        lines.append(verdict.line())
    return lines


@pytest.mark.parametrize(("status", "kind"), RAYS)
def test_all_kinds_are_proved_from_their_files(tmp_path, status, kind):
    for line in outcomes(tmp_path, status, kind, range(2)):
        assert ("no point satisfies" if status == "infeasible" else "without end") in line
        assert ("is exact" in line) == ((status, kind) == ("unbounded", "matrix"))


@pytest.mark.slow
@pytest.mark.parametrize(("status", "kind"), RAYS)
def test_many_are_proved_from_their_files(tmp_path, status, kind):
    outcomes(tmp_path, status, kind, shortened(range(2, 6), range(2, 12)))  # with those above 72 of each status


FEW = [("infeasible", "powers"), ("infeasible", "rows"), ("unbounded", "norm")]


@pytest.mark.parametrize(
    ("status", "kind", "seed"),
    [*((*one, 0) for one in FEW), *(pytest.param(*one, 1, marks=pytest.mark.slow) for one in RAYS)],
)
def test_no_forged_file_is_proved(tmp_path, status, kind, seed):
    for one in shortened([seed], [seed, seed + 1]):
        proved, count = forged(tmp_path / "forged.npz", sm.solve(RAYS[status, kind](one)), one)
        assert proved == []
        assert count > 33


def test_an_unbounded_program_without_a_point_supposes_one():
    x = cp.Variable(2)
    result = sm.solve(cp.Problem(cp.Minimize(x[0]), [x[0] + x[1] <= 1]))
    assert str(sm.verify(result.log, result)) == "proved: the objective of the cone program falls without end"
    certificate = replace(result.certificate, assumptions=("that there is a feasible point",))
    # Also where there is none: x <= -1 and x >= 1 in the second column.
    log = replace(
        result.log,
        A=type(result.log.A)(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])),
        b=-np.ones(3),
        z=np.zeros(3),
        x=np.array([-1.0, 0.0]),
        owner=np.full(3, -1),
        cones=(("nonnegative", np.arange(3)[:, None], ()),),
    )
    supposing = replace(result, certificate=certificate, log=log)
    assert "supposing that there is a feasible point" in str(sm.verify(log, supposing))
    claimed = replace(result, log=log)
    assert "no point next to the stored one is proved to be feasible" in str(sm.verify(log, claimed))


def test_a_direction_on_an_edge_is_not_claimed_to_be_exact():
    result = sm.solve(RAYS["unbounded", "matrix"](0))
    assert "off by" in str(sm.verify(result.log, result))
    claimed = replace(result, certificate=replace(result.certificate, assumptions=()))
    assert "the direction leaves the cones by" in str(sm.verify(result.log, claimed))
    off = replace(result.log, x=result.log.x + 1e-6 * np.abs(result.log.x).max())
    assert not sm.verify(off, replace(result, log=off))


def test_a_proof_within_a_radius_says_so():
    x = cp.Variable(2)
    result = sm.solve(cp.Problem(cp.Minimize(0), [x[0] + x[1] >= 1, x[0] + x[1] <= 0]))
    tilted = result.log.A.tolil()
    tilted[0, 0] += 1e-6  # feasible at x_0 = 1e6, and nowhere near zero
    certificate = replace(result.certificate, assumptions=("|x| <= 1000",))
    log = replace(result.log, A=tilted.tocsc(), radius=1000.0)
    within = replace(result, certificate=certificate, log=log)
    assert str(sm.verify(log, within)).endswith("; supposing |x| <= 1000")
    without = replace(result, log=replace(log, radius=0.0))
    assert "nothing bounds them" in str(sm.verify(without.log, without))
    far = replace(certificate, assumptions=("|x| <= 1e+07",))
    wider = replace(within, certificate=far, log=replace(log, radius=1e7))
    assert "does not separate" in str(sm.verify(wider.log, wider))


def test_what_is_no_ray_record_is_refuted(tmp_path):
    problem = RAYS["infeasible", "ball"](0)
    result = sm.solve(problem)
    sm.save_result(tmp_path / "it.npz", problem, result)
    record = read_record(tmp_path / "it.npz")
    assert cone_rays.check(record)
    assert record.arrays["z"].tolist() == cone_record_of(result).arrays["z"].tolist()
    for claim in (replace(record.claim, status="optimal"), replace(record.claim, primal=0.0)):
        assert not cone_rays.check(replace(record, claim=claim))
    for name in record.arrays:
        assert not cone_rays.check(replace(record, arrays={**record.arrays, name: np.array(["a"])}))
    with pytest.raises(ValueError, match="answers another problem"):
        sm.verify(RAYS["infeasible", "ball"](1), result)


@pytest.mark.parametrize("solver", ["SCS", "ECOS"])
def test_rays_of_other_solvers(solver):
    if solver not in cp.installed_solvers():
        pytest.skip("not installed")
    for status in ("infeasible", "unbounded"):
        problem = RAYS[status, "rows"](0)
        result = sm.solve(problem, solver)
        assert result.status.value == status
        assert sm.verify(problem, result), result.message
