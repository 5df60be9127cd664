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

import cvxproof
from cvxproof.proofs import cone_rays
from cvxproof.proofs.cone_records import cone_record_of
from cvxproof.verdicts import verify_file


def outcomes(tmp_path, status, kind, seeds):
    """Return what the files of programs that are proved in memory say."""
    lines, path = [], tmp_path / "it.npz"
    for seed in seeds:
        problem = RAYS[status, kind](seed)
        result = cvxproof.solve(problem)
        assert (result.status.value, "proved" in result.message) == (status, True)
        cvxproof.save_result(path, problem, result)
        verdict = verify_file(path)
        assert verdict.kind == "cone ray"
        assert verdict.outcome == "proved", f"{seed}: {verdict.line()}"
        lines.append(verdict.line())
    return lines


@pytest.mark.parametrize(("status", "kind"), RAYS)
def test_all_kinds_are_proved_from_their_files(tmp_path, status, kind):
    for line in outcomes(tmp_path, status, kind, range(2)):
        assert ("no point satisfies" if status == "infeasible" else "without end") in line
        assert "supposing" not in line


@pytest.mark.slow
@pytest.mark.parametrize(("status", "kind"), RAYS)
def test_many_are_proved_from_their_files(tmp_path, status, kind):
    outcomes(tmp_path, status, kind, shortened(range(2, 6), range(2, 12)))  # with those above 72 of each status


FEW = [("infeasible", "powers"), ("infeasible", "equalities"), ("infeasible", "rows"), ("unbounded", "norm")]


@pytest.mark.parametrize(
    ("status", "kind", "seed"),
    [*((*one, 0) for one in FEW), *(pytest.param(*one, 1, marks=pytest.mark.slow) for one in RAYS)],
)
def test_no_forged_file_is_proved(tmp_path, status, kind, seed):
    for one in shortened([seed], [seed, seed + 1]):
        proved, count = forged(tmp_path / "forged.npz", cvxproof.solve(RAYS[status, kind](one)), one)
        assert proved == []
        assert count > 33


def test_an_unbounded_program_has_a_point():
    x = cp.Variable(2)
    result = cvxproof.solve(cp.Problem(cp.Minimize(x[0]), [x[0] + x[1] <= 1]))
    assert str(cvxproof.verify(result.log, result)) == "proved: the objective of the cone program falls without end"
    # Where there is none, x <= -1 and x >= 1 in the second column, the same direction proves nothing.
    log = replace(
        result.log,
        A=type(result.log.A)(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])),
        b=-np.ones(3),
        z=np.zeros(3),
        x=np.array([-1.0, 0.0]),
        owner=np.full(3, -1),
        cones=(("nonnegative", np.arange(3)[:, None], ()),),
    )
    claimed = replace(result, log=log)
    assert "no point next to the stored one is proved to be feasible" in str(cvxproof.verify(log, claimed))


def test_a_direction_is_proved_on_a_face_of_matrices_and_nowhere_near_it():
    result = cvxproof.solve(RAYS["unbounded", "matrix"](0))
    assert cvxproof.verify(result.log, result)
    for far in (1e-6, 1e-12):
        off = replace(result.log, x=result.log.x + far * np.abs(result.log.x).max())
        assert "the direction leaves the cones by" in str(cvxproof.verify(off, replace(result, log=off)))


def test_multipliers_that_no_float_has_are_proved_next_to_those_of_the_file():
    x = cp.Variable(3)
    first = x[0] + x[2]  # columns that depend on each other
    rows = [0.1 * first + 0.7 * x[1] <= 1, -0.3 * first - 2.0 * x[1] <= -3.5, x[1] >= 0]
    result = cvxproof.solve(cp.Problem(cp.Minimize(0), rows))
    assert result.status is cvxproof.Status.INFEASIBLE
    assert cvxproof.verify(result.log, result)
    for changed in (-result.log.z, result.log.z * [1, 1 + 1e-6, 1], result.log.z * [1, 0, 1]):
        log = replace(result.log, z=changed)
        assert not cvxproof.verify(log, replace(result, log=log))


def test_a_ray_within_a_radius_is_refused():
    x = cp.Variable(2)
    result = cvxproof.solve(cp.Problem(cp.Minimize(0), [x[0] + x[1] >= 1, x[0] + x[1] <= 0]))
    tilted = result.log.A.tolil()
    tilted[0, 0] += 1e-6  # feasible at x_0 = 1e6, and nowhere near zero
    log = replace(result.log, A=tilted.tocsc())
    assert "nothing bounds them" in str(cvxproof.verify(log, replace(result, log=log)))
    within = cone_record_of(replace(result, log=log))
    within = replace(within, numbers={**within.numbers, "radius": 1000.0, "n_open": 2})
    assert "does not separate" in cone_rays.check(within).message


def test_what_is_no_ray_record_is_refuted(tmp_path):
    problem = RAYS["infeasible", "ball"](0)
    result = cvxproof.solve(problem)
    cvxproof.save_result(tmp_path / "it.npz", problem, result)
    record = cone_record_of(cvxproof.load_result(tmp_path / "it.npz")[1])
    assert cone_rays.check(record)
    assert record.arrays["z"].tolist() == cone_record_of(result).arrays["z"].tolist()
    for claim in (replace(record.claim, status="optimal"), replace(record.claim, primal=0.0)):
        assert not cone_rays.check(replace(record, claim=claim))
    for name in record.arrays:
        assert not cone_rays.check(replace(record, arrays={**record.arrays, name: np.array(["a"])}))
    with pytest.raises(ValueError, match="answers another problem"):
        cvxproof.verify(RAYS["infeasible", "ball"](1), result)


@pytest.mark.parametrize("solver", ["SCS", "ECOS"])
def test_rays_of_other_solvers(solver):
    if solver not in cp.installed_solvers():
        pytest.skip("not installed")
    for status in ("infeasible", "unbounded"):
        problem = RAYS[status, "rows"](0)
        result = cvxproof.solve(problem, solver)
        assert result.status.value == status
        assert cvxproof.verify(problem, result), result.message
