"""The race of benchmarks/benchopt: its values are those of the objectives, and its classes keep benchopt's contract.

The problems are plain numpy and are always tested; what benchopt loads is left out by name where it is not installed.
"""

import importlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import specmargin as sm

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "benchopt"
CLASSES = [*FOLDER.glob("solvers/*.py"), *FOLDER.glob("datasets/*.py"), FOLDER / "objective.py"]


@pytest.fixture(scope="module")
def shared():
    """The modules that objective, data sets and solvers share."""
    sys.path.insert(0, str(FOLDER))
    try:
        for name in ("problems", "objectives", "draws"):
            importlib.import_module(f"benchmark_utils.{name}")
        yield sys.modules["benchmark_utils"]
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def drawn(shared):
    X, truth = sm.datasets.make_two_moons(n_samples=40, noise=0.15, random_state=0)
    return shared.draws.with_hidden_labels(X, 2 * truth - 1, 4, 0)


def loaded(path):
    """A file of the race as a module, as benchopt loads it."""
    spec = importlib.util.spec_from_file_location(f"race_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_labels_are_hidden_but_some_of_each_class(drawn):
    y, truth = drawn["y"], drawn["truth"]
    assert [(y == label).sum() for label in (-1, 0, 1)] == [4, 32, 4]
    assert (y == truth)[y != 0].all()


def test_the_graph_is_a_laplacian_without_loops(shared, drawn):
    L = shared.problems.graph(shared.problems.radial_kernel(drawn["X"]))
    W = np.diag(np.diag(L)) - L
    assert (L == L.T).all()
    assert (L.sum(axis=1) == 0).all()
    assert (W.sum(axis=1) >= 6).all()
    assert set(np.unique(W)) == {0.0, 1.0}


@pytest.mark.parametrize("name", ["lapsvm", "storm", "s3vm"])
def test_values_are_those_of_the_objectives(shared, drawn, rng, name):
    problem = shared.problems.PROBLEMS[name].of(drawn["X"], drawn["y"])
    objective = shared.objectives.objective_of(problem)
    answer = {k: np.asarray(v, dtype=float) for k, v in problem.trivial().items()}
    for step in (0.0, 0.01, 1.0):
        point = {k: v + step * rng.standard_normal(v.shape) for k, v in answer.items() if k != "delta"}
        if name == "storm":
            drops = answer["delta"] + step * np.sort(rng.random(len(answer["delta"])))[::-1]
            point = {**point, "delta": drops / drops.sum()}
            f = (problem.U @ point["v"] + point["b"])[problem.y != 0]
            share = min(1.0, problem.B / np.abs(f).max(initial=1e-9))
            point = {**point, "v": share * point["v"], "b": share * point["b"]}
        value, decisions = problem.evaluate(**point)
        assert value == pytest.approx(objective.value(point), rel=1e-9)
        np.testing.assert_allclose(decisions, objective.decisions(point), rtol=1e-7, atol=1e-8)


def test_an_answer_that_misses_a_constraint_is_moved_onto_it(shared, drawn, rng):
    problem = shared.problems.STORM.of(drawn["X"], drawn["y"])
    q = len(problem.eigenvalues)
    value, f = problem.evaluate(rng.standard_normal(q), 0.0, rng.random(q) - 0.1)
    assert np.isfinite(value)
    assert np.abs(f[problem.y != 0]).max() == pytest.approx(problem.B)
    best = sm.solvers.spectrum_margin(shared.objectives.objective_of(problem))
    assert value > best.certificate.primal_objective


@pytest.mark.parametrize("path", sorted(CLASSES), ids=lambda path: path.stem)
def test_classes_keep_benchopts_contract(shared, path):
    benchopt = pytest.importorskip("benchopt", reason="benchopt is not installed (make setup ARGS=race installs it)")
    base = {"solvers": "Solver", "datasets": "Dataset"}.get(path.parent.name, "Objective")
    made = getattr(loaded(path), base)
    assert issubclass(made, getattr(benchopt, f"Base{base}"))
    assert isinstance(made.name, str)
    assert all(isinstance(values, list) for values in made.parameters.values())


@pytest.mark.parametrize("solver", ["numpy_solvers", "cvxpy_solvers", "scikit_learn"])
def test_solvers_agree_where_the_problem_is_convex(shared, drawn, solver):
    pytest.importorskip("benchopt", reason="benchopt is not installed (make setup ARGS=race installs it)")
    made = loaded(FOLDER / "solvers" / f"{solver}.py").Solver
    chosen = {"numpy_solvers": "factorized", "cvxpy_solvers": "CLARABEL", "scikit_learn": 1e-8}[solver]
    problem = shared.problems.LapSVM.of(drawn["X"], drawn["y"])
    rival = made.get_instance(**{next(iter(made.parameters)): chosen})
    assert rival.skip(problem=problem)[0] is False
    rival.set_objective(problem=problem)
    rival.run(None)
    value, _ = problem.evaluate(**rival.get_result())
    best = sm.solvers.factorized(shared.objectives.objective_of(problem)).certificate.primal_objective
    assert value == pytest.approx(best, rel=1e-5)
