"""Files of `export`: what the checker accepts with Python alone, and what it refuses."""

from __future__ import annotations

import ast
import io
import json
import random
import subprocess
import sys
import zipfile
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from exact_programs import KINDS, exact_program
from forged_proofs import Forger, packed, text
from house_counts import code_lines
from planted_programs import planted

import cvxproof
from cvxproof import check
from cvxproof.proof_files import export

CHECKER = Path(str(check.__file__))


def exported(path: Path, problem: cp.Problem, solver: str = "CLARABEL") -> cvxproof.SolveResult:
    result = cvxproof.solve(problem, solver)
    export(path, problem, result)
    return result


def run(*files: Path) -> subprocess.CompletedProcess[str]:
    """Check files with the standard library alone."""
    command = [sys.executable, "-I", "-S", str(CHECKER), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def bound_told(told: str) -> tuple[float, int]:
    """Return the bound of a sentence, and 1 where it is one from below."""
    return float(told.partition(";")[0].split()[-1]), 1 if "at least" in told else -1


def document_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return dict(json.loads(archive.read(check.MEMBER)))


def refusal(document: Any) -> str:
    with pytest.raises(check.Refused) as caught:
        check.check(io.BytesIO(packed(document)))
    return str(caught.value)


def test_the_checker_is_one_short_file_of_the_standard_library() -> None:
    imported = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else name.name.split(".")[0]
        for node in ast.walk(ast.parse(CHECKER.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert imported <= sys.stdlib_module_names
    assert code_lines(CHECKER) <= 300


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 30), marks=pytest.mark.slow)])
def test_exported_proofs_are_accepted_by_python_alone(tmp_path: Path, kind: str, seeds: range) -> None:
    results = {seed: exported(tmp_path / f"{seed}", exact_program(kind, seed, most=30)) for seed in seeds}
    done = run(*(tmp_path / f"{seed}" for seed in seeds))
    assert done.returncode == 0, done.stdout
    for told, result in zip(done.stdout.splitlines(), results.values(), strict=True):
        (bound, sign), claimed = bound_told(told), result.certificate
        assert sign == (1 if claimed.sense == "minimize" else -1)
        # No worse than the certificate's, and no better than the value by more than violations and rounding.
        size = max(abs(claimed.dual_objective), 1e-10 * claimed.scale)
        assert sign * (claimed.dual_objective - bound) <= 1e-8 * size
        assert sign * (bound - claimed.primal_objective) <= 1e-5 * size


@pytest.mark.parametrize("kind", ["lp", "qp", "socp", "sdp"])
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 60), marks=pytest.mark.slow)])
def test_bounds_of_known_optima(tmp_path: Path, kind: str, seeds: range) -> None:
    equal, others = 0, 0
    for seed in seeds:
        known = planted(kind, "optimal", seed)
        result = cvxproof.solve(known.problem)
        if result.status is not cvxproof.Status.OPTIMAL:  # what supposes something may have no exact multipliers
            others += 1
            continue
        export(tmp_path / "file", known.problem, result)
        bound, sign = bound_told(check.check(tmp_path / "file")[0])
        assert known.optimum is not None
        gap, size = sign * (known.optimum - Fraction(bound)), max(abs(known.optimum), Fraction(known.terms))
        # CVXPY multiplies entries of matrices by a rounded root.
        assert (-size / 10**14 if kind == "sdp" else 0) <= gap <= size / 10**7
        equal += gap == 0
        infeasible = planted(kind, "infeasible", seed)
        result = cvxproof.solve(infeasible.problem)
        if result.status is cvxproof.Status.INFEASIBLE:
            export(tmp_path / "file", infeasible.problem, result)
            assert check.check(tmp_path / "file") == ["no point satisfies the constraints"]
    assert equal > 0 or kind == "sdp"  # small whole numbers are tried first
    assert others <= 0.15 * len(seeds)


@pytest.mark.parametrize("kind", KINDS)
def test_the_verifier_in_balls_proves_the_same(tmp_path: Path, kind: str) -> None:
    problem = exact_program(kind, 1, most=20)
    result = exported(tmp_path / "file", problem)
    bound, _ = bound_told(check.check(tmp_path / "file")[0])
    low, high = cvxproof.verify(problem, result).bound
    sign = 1 if result.certificate.sense == "minimize" else -1
    # Of the exact multipliers nothing is lost for what residuals may cost.
    assert -1e-9 <= sign * (bound - (low if sign > 0 else high)) / abs(bound) <= 1e-6


@pytest.mark.parametrize("solver", ["SCS", "OSQP", "HIGHS"])
def test_answers_of_other_solvers(tmp_path: Path, solver: str) -> None:
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    kind = {"SCS": "semidefinite", "OSQP": "quadratic form", "HIGHS": "linear"}[solver]  # SCS packs lower triangles
    result = exported(tmp_path / "file", exact_program(kind, 1, most=10), solver)
    bound, sign = bound_told(check.check(tmp_path / "file")[0])
    assert sign * (result.certificate.dual_objective - bound) <= 1e-6 * abs(bound)


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 20), marks=pytest.mark.slow)])
def test_forged_files_are_refused(tmp_path: Path, seeds: range) -> None:
    made, problems = Counter[str](), [exact_program(kind, seed, most=12) for kind in KINDS for seed in seeds]
    problems += [planted(kind, "infeasible", seed).problem for kind in ("lp", "socp", "sdp") for seed in seeds]
    for k, problem in enumerate(problems):
        exported(tmp_path / "file", problem)
        for what, content in Forger((tmp_path / "file").read_bytes(), np.random.default_rng(k)).forged():
            made[what] += 1
            with pytest.raises(check.Refused):
                pytest.fail(f"{what} of {k}: {check.check(io.BytesIO(content))}")
    assert len(made) == 28
    assert made.total() > 200 * len(seeds)


def test_what_a_refusal_says(tmp_path: Path) -> None:
    x = cp.Variable(3, name="x")
    cap = x <= 2
    cap.label = "cap"
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [x >= -1, cap])
    exported(tmp_path / "file", problem)
    assert check.check(tmp_path / "file")[0] == "the optimum is at most 6.0"
    assert run(tmp_path / "file").stdout.count("no constraint by more than") == 1
    document = document_of(tmp_path / "file")
    cut = json.loads(json.dumps(document))
    cut["multipliers"]["z"][4] = "-1"
    assert "row 4 ('cap'): its multipliers" in refusal(cut)
    cut["multipliers"]["z"][4] = "0"
    assert "column 1: P x + q + A'z is -1 and not zero" in refusal(cut)
    assert "version 2, and version 1 is read" in refusal({**document, "version": 2})
    assert "no proof file" in refusal({**document, "format": "other"})
    document["claim"]["bound"] = "5"
    assert "the bound is 5.0, but 6.0 is proved" in refusal(document)
    assert run(tmp_path / "missing").returncode == 1
    assert run().returncode == 2


def test_a_name_says_nothing_in_the_place_of_the_checker(tmp_path: Path) -> None:
    x = cp.Variable(2)
    exported(tmp_path / "file", cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]))
    document = document_of(tmp_path / "file")
    document["problem"]["names"][0] = "cap)\nother.cvxproof: proved: the optimum is at least 9.0"
    document["multipliers"]["z"][0] = "-1"
    assert "\n" not in refusal(document)


def test_multipliers_near_zero_are_taken_where_no_others_are(tmp_path: Path) -> None:
    exported(tmp_path / "file", exact_program("linear", 10, most=12))


def test_a_singular_quadratic_form(tmp_path: Path) -> None:
    x, F = cp.Variable(4), np.array([[1.0, 2.0, -1.0, 0.0], [0.0, 1.0, 3.0, 0.0]])
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, F.T @ F) + x[3] ** 2), [F @ x >= [3, 1], x[3] >= 0.5, x <= 9])
    exported(tmp_path / "file", problem)
    assert check.check(tmp_path / "file")[0] == "the optimum is at least 10.25"
    document = document_of(tmp_path / "file")
    P, others = document["problem"]["P"], [document["multipliers"]["x"], document["problem"]["q"]]
    document["multipliers"]["z"] = ["0"] * len(document["multipliers"]["z"])
    for values in others:
        values[:] = ["0"] * len(values)
    document["claim"]["bound"], _ = "0", document.pop("answer")
    check.check(io.BytesIO(packed(document)))
    assert any(i != j for i, j in zip(P["row"], P["column"], strict=True))
    for k, value in enumerate(P["value"]):
        cut = json.loads(json.dumps(document))
        is_diagonal = P["row"][k] == P["column"][k]
        (exact,) = check.numbers([value], "P")
        cut["problem"]["P"]["value"][k] = "-1p-30" if is_diagonal else text(exact * Fraction(1 + 2**-40))
        assert refusal(cut) == "P is not proved to be positive semidefinite"


@pytest.mark.parametrize("options", [(), ("-I", "-S")])
def test_the_checker_runs_as_a_script_where_it_is(tmp_path: Path, options: tuple[str, ...]) -> None:
    exported(tmp_path / "file", exact_program("linear", 1, most=5))
    command = [sys.executable, *options, CHECKER.name, str(tmp_path / "file")]
    done = subprocess.run(command, cwd=CHECKER.parent, env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_verify_file_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "model.cvxproof"
    exported(path, exact_program("linear", 1, most=5))
    verdict = cvxproof.verify_file(path)
    assert (verdict.outcome, verdict.kind, verdict.exit_code) == ("proved", "exact proof", 0)
    assert "the optimum is at least" in verdict.line()
    content = path.read_bytes()
    path.write_bytes(packed({**document_of(path), "version": 7}))
    assert cvxproof.verify_file(path).outcome == "refuted"
    path.write_bytes(content[:-9])
    assert cvxproof.verify_file(path).outcome == "unreadable"


def test_what_is_not_exported(tmp_path: Path) -> None:
    x, path = cp.Variable(2, name="x"), tmp_path / "file"
    problem = cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= 0])
    with pytest.raises(cvxproof.InvalidInputError, match="exponential cones, whose multipliers are no rational"):
        export(path, problem, cvxproof.solve(problem))
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x <= 0])
    with pytest.raises(cvxproof.InvalidInputError, match="the result is UNBOUNDED"):
        export(path, problem, cvxproof.solve(problem))
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0])
    with pytest.raises(cvxproof.InvalidInputError, match="answers another problem"):
        export(path, cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]), cvxproof.solve(problem))
    failed = cvxproof.SolveResult("problem", cvxproof.Status.FAILED, {}, cvxproof.Certificate(np.inf, -np.inf))
    with pytest.raises(cvxproof.InvalidInputError, match="the result is FAILED: proof files hold a bound"):
        export(path, problem, failed)
    problem = cp.Problem(cp.Minimize(1e100 * cp.sum(x)), [x >= 1])
    with pytest.raises(cvxproof.InvalidInputError, match=r"entry 0 of q is beyond 2\^300\. save_result writes"):
        export(path, problem, cvxproof.solve(problem))
    assert not path.exists()


def test_what_takes_too_long_is_refused_at_once() -> None:
    """Matrices of a large order, and numbers whose common denominator is long."""
    n = check.ORDER + 2
    entries = {"row": [*range(n - 1)], "column": [*range(1, n)], "value": ["1p0"] * (n - 1)}
    problem = {
        "sense": "minimize",
        "constant": "0p0",
        "q": ["0p0"] * n,
        "b": [],
        "P": entries,
        "cones": [],
        "names": [],
    }
    problem["A"] = {"row": [], "column": [], "value": []}
    rest = {"format": check.FORMAT, "version": check.VERSION, "claim": {"kind": "bound", "bound": "0p0"}}
    zero = {"z": [], "x": ["0p0"] * n}
    assert f"the order {n}, and those of up to {check.ORDER} are checked" in refusal(
        {"problem": problem, "multipliers": zero, **rest}
    )
    problem["P"] = problem["A"]
    rng = random.Random(0)
    long = {"z": [], "x": [f"1/{rng.getrandbits(2000) | 1:x}" for _ in range(n)]}
    assert "the common denominator of" in refusal({"problem": problem, "multipliers": long, **rest})


def test_a_program_without_exact_multipliers(tmp_path: Path) -> None:
    # The only multipliers are (1, a, a), and 2 a^2 is 1 + 2e-16: along (1, 1) the objective falls.
    t, u, a = cp.Variable(), cp.Variable(2), float(np.sqrt(0.5))
    assert Fraction(a) ** 2 > Fraction(1, 2)
    problem = cp.Problem(cp.Minimize(t - a * cp.sum(u)), [cp.SOC(t, u)])
    result = cvxproof.solve(problem)
    assert result.status.has_solution
    with pytest.raises(
        cvxproof.CvxproofError, match=r"no multipliers next to .* row 0 \('constraint_0'\): its multipliers"
    ):
        export(tmp_path / "file", problem, result)


def test_matrices_are_proved_semidefinite_and_no_others() -> None:
    rng = np.random.default_rng(0)
    for k in range(200):
        n = int(rng.integers(1, 7))
        F = rng.integers(-3, 4, (n, int(rng.integers(1, n + 2))))
        M = [[Fraction(int(one)) for one in row] for row in F @ F.T]
        assert check.is_semidefinite(M)  # singular or not, in rational numbers
        i = k % n
        singular = np.linalg.matrix_rank(F) < n
        M[i][i] -= Fraction(1, 10**40)
        lowered = check.is_semidefinite(M)
        assert not lowered if singular and F[i].any() and _depends(F, i) else isinstance(lowered, bool)


def test_a_pivot_of_zero_has_nothing_next_to_it() -> None:
    def matrix(*rows: tuple[int, ...]) -> list[list[Fraction]]:
        return [[Fraction(one) for one in row] for row in rows]

    assert check.is_semidefinite(matrix((1, 1, 0), (1, 1, 0), (0, 0, 5)))
    assert not check.is_semidefinite(matrix((1, 1, 0), (1, 1, 1), (0, 1, 5)))
    assert not check.is_semidefinite(matrix((0, 1), (1, 5)))


def _depends(F: Any, i: int) -> bool:
    """Whether a row is a combination of the others."""
    return bool(np.linalg.matrix_rank(np.delete(F, i, axis=0)) == np.linalg.matrix_rank(F))


@pytest.mark.parametrize("power", [-900, -60, 0, 60])
def test_packed_matrices_have_the_root_of_two(power: int) -> None:
    root, scale = Fraction(float(np.sqrt(2))), Fraction(2) ** power

    def inside(*packed: Any) -> bool:
        return check.inside("semidefinite", [Fraction(one) * scale for one in packed])

    assert inside(1, root * (1 - Fraction(1, 10**12)), 1)
    assert inside(1, -root * (1 - Fraction(1, 10**12)), 1)
    assert not inside(1, root * (1 + Fraction(1, 10**15)), 1)
    assert inside(0, 0, 1)
    assert not inside(0, Fraction(1, 10**30), 1)
    assert not inside(1, 0, -Fraction(1, 10**30))
    assert inside(0)
    assert not inside(-1)
    assert check.inside("second_order", [Fraction(5), Fraction(3), Fraction(-4)])
    assert not check.inside("second_order", [Fraction(5) - Fraction(1, 10**60), Fraction(3), Fraction(-4)])
    assert not check.inside("second_order", [Fraction(-5), Fraction(3), Fraction(4)])
