"""What tools say, and what holds: the rows of docs/real_tools.md, which ``python tests/test_real_tools.py`` writes.

A row of a tool that is locked has a function: it does with the tool what the row tells, and returns whether the tool
still behaves so; what specmargin does it asserts, whatever the tool does. A tool of the version that is told must
behave as told; of another one it may not, and the test is skipped with these words. Rows without a function were
measured once. Nothing here makes a process crash or hang.
"""

from __future__ import annotations

import importlib.metadata
import io
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.csgraph import laplacian
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import kneighbors_graph
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC, LinearSVC

import specmargin as sm
from specmargin.exceptions import DisconnectedGraphWarning, InvalidInputError, MarkerWarning
from specmargin.problems.expressions import squares
from specmargin.results import SolveResult, Status

PAGE = Path(__file__).resolve().parents[1] / "docs" / "real_tools.md"
ROOT = PAGE.parents[1]
BEGIN, END = "<!-- rows of tests/test_real_tools.py -->", "<!-- end of rows -->"


class Surprise(NamedTuple):
    """A row: tools with their versions, what they say, what holds, what specmargin does, and how to see it."""

    tools: str
    says: str
    holds: str
    ours: str
    check: Callable[[], bool] | None = None

    @property
    def installed(self) -> dict[str, tuple[str, str]]:
        """The versions that are told and those that are installed, by tool."""
        told = (tool.rsplit(" ", 1) for tool in self.tools.split(", "))
        return {name: (version, importlib.metadata.version(name)) for name, version in told}


ROWS: list[Surprise] = []


def surprise(tools: str, says: str, holds: str, ours: str) -> Callable[[Callable[[], bool]], Callable[[], bool]]:
    """Make a row of a function."""

    def kept(check: Callable[[], bool]) -> Callable[[], bool]:
        ROWS.append(Surprise(tools, says, holds, ours, check))
        return check

    return kept


def honest(result: SolveResult, optimum: float, tol: float = 1e-5) -> None:
    """Raise where a result claims more than holds of a minimum that is known."""
    certificate = result.certificate
    room = tol * (1.0 + abs(optimum))
    if not certificate.assumptions:
        assert certificate.dual_objective <= optimum + room, result
        assert result.status is not Status.OPTIMAL or abs(certificate.primal_objective - optimum) <= room, result
    assert result.status not in (Status.INFEASIBLE, Status.UNBOUNDED), result


def blobs() -> tuple[Any, Any]:
    """Sixty points of three classes far apart."""
    rng = np.random.default_rng(0)
    return np.repeat([0.0, 6.0, -6.0], 20)[:, None] + rng.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)


# Solvers and what models them


@surprise(
    "cvxpy 1.9.3, scs 3.3.1",
    "`optimal_inaccurate` where `max_iters` stopped SCS, however far from the minimum",
    "the value is that of no minimum; other solvers say `user_limit`",
    "the status is that of the gap: UNPROVED or MAX_ITER",
)
def a_limit_stops_scs() -> bool:
    rng = np.random.default_rng(0)
    A, b, x = rng.normal(size=(30, 2)), rng.normal(size=30), cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.norm1(A @ x - b)), [cp.sum(x) == 3])
    optimum = problem.solve(cp.CLARABEL)
    value = problem.solve(cp.SCS, max_iters=3)
    told = problem.status == cp.OPTIMAL_INACCURATE and abs(value - optimum) > 0.1 * optimum
    result = sm.solve(problem, "SCS", max_iters=3)
    assert result.status in (Status.UNPROVED, Status.MAX_ITER)
    honest(result, optimum)
    return told


@surprise(
    "cvxpy 1.9.3, clarabel 0.11.1",
    "`user_limit`, once more, of a solve without a limit that follows one with `max_iter`",
    "CVXPY keeps the solver with its settings from call to call",
    "each `sm.solve` has the settings of its own call",
)
def options_outlive_their_call() -> bool:
    def fresh() -> Any:
        rng = np.random.default_rng(0)
        A, b, x = rng.normal(size=(30, 2)), rng.normal(size=30), cp.Variable(2)
        return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b)), [x >= 0, cp.sum(x) <= 5])

    problem = fresh()
    problem.solve(cp.CLARABEL, max_iter=2)
    problem.solve(cp.CLARABEL)
    told = problem.status == cp.USER_LIMIT
    problem = fresh()
    sm.solve(problem, "CLARABEL", max_iter=2)
    assert sm.solve(problem, "CLARABEL").status is Status.OPTIMAL
    return told


@surprise(
    "cvxpy 1.9.3, clarabel 0.11.1, scs 3.3.1, osqp 1.1.3, highspy 1.15.1",
    "`optimal`, at 0 to 2.6, for the minimum of 1e-9 (x - 3)^2 over [0, 5]",
    "the minimum is at 3; tolerances are absolute",
    "OPTIMAL only at a value within the tolerance of its own size",
)
def small_objectives() -> bool:
    far = []
    for solver in ("CLARABEL", "SCS", "OSQP", "HIGHS"):
        x = cp.Variable()
        problem = cp.Problem(cp.Minimize(1e-9 * cp.square(x - 3)), [x >= 0, x <= 5])
        problem.solve(solver)
        far.append(problem.status == cp.OPTIMAL and abs(float(x.value) - 3) > 0.3)
        result = sm.solve(problem, solver)
        assert result.status is not Status.OPTIMAL or abs(float(x.value) - 3) < 0.1, (solver, result)
    return all(far)


@surprise(
    "cvxpy 1.9.3, clarabel 0.11.1",
    "`optimal`, 0, for the minimum of x0^2 - x1^2 over a box about 0, where `psd_wrap` calls the matrix convex",
    "0 is a saddle; the minimum is -1",
    "no bound, and no status that claims one",
)
def a_saddle_is_optimal() -> bool:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(np.diag([1.0, -1.0])))), [x >= -1, x <= 1])
    problem.solve(cp.CLARABEL)
    told = problem.status == cp.OPTIMAL and abs(problem.value) < 1e-3
    assert sm.solve(problem, "CLARABEL").status is not Status.OPTIMAL
    return told


@surprise(
    "cvxpy 1.9.3",
    "not convex: `quad_form(x, B @ B.T)` of a matrix of low rank",
    "it is convex; eigenvalues of rounding size are negative",
    "`sm.problems.squares` writes such a form as a sum of squares, which CVXPY accepts",
)
def gram_matrices_are_not_convex() -> bool:
    B, x = np.random.default_rng(0).normal(size=(40, 3)), cp.Variable(40)
    form = squares(B @ B.T, x)
    assert form.is_convex()
    x.value = np.arange(40.0)
    assert float(form.value) == pytest.approx(float(np.sum((B.T @ x.value) ** 2)), rel=1e-9)
    return not cp.quad_form(x, B @ B.T).is_convex()


@surprise(
    "cvxpy 1.9.3, scipy 1.17.1",
    "multiplier -1 (CVXPY), +1 (scipy) of the constraint x = 2 of min x",
    "the minimum grows by 1 with the right side: scipy has the derivative, CVXPY its negative",
    "certificates do not depend on it; `duals` of a built problem have the sign of the objective's docstring",
)
def signs_of_equality_multipliers() -> bool:
    x = cp.Variable()
    equal = x == 2
    problem = cp.Problem(cp.Minimize(x), [equal])
    problem.solve(cp.CLARABEL)
    told = np.isclose(equal.dual_value, -1.0) and np.isclose(linprog([1], A_eq=[[1]], b_eq=[2]).eqlin.marginals[0], 1.0)
    honest(sm.solve(problem, "CLARABEL"), 2.0)
    return bool(told)


@surprise(
    "cvxpy 1.9.3, scs 3.3.1",
    "`optimal` for the minimum of 1 / x",
    "the infimum 0 is not attained",
    "UNPROVED: a value above a bound that is 0 or less",
)
def an_infimum_that_is_not_attained() -> bool:
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.inv_pos(x)))
    problem.solve(cp.SCS)
    told = problem.status == cp.OPTIMAL
    for solver in ("SCS", "CLARABEL"):
        result = sm.solve(problem, solver)
        assert result.status is not Status.OPTIMAL
        honest(result, 0.0)
    return told


@surprise(
    "cvxpy 1.9.3, highspy 1.15.1",
    "`optimal`, 40, of a plain SVM whose optimum is 11.57: scores are a product with data of both signs",
    "bounds that CVXPY derives close the hinge for solvers that take bounds (not before 1.9.0)",
    "proves the problem as it was written, whatever is compiled; 40 is never OPTIMAL",
)
def derived_bounds_close_the_hinge() -> bool:
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(20), -np.ones(20)]
    X = rng.standard_normal((40, 3)) + 0.7 * y[:, None]

    def svm() -> Any:
        w, b = cp.Variable(3), cp.Variable()
        return cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))))

    optimum = svm().solve(cp.CLARABEL)
    problem = svm()
    try:
        told = problem.solve(cp.HIGHS) > 2 * optimum and problem.status == cp.OPTIMAL
    except ValueError:  # values outside of bounds that nobody wrote
        told = True
    honest(sm.solve(svm(), "HIGHS"), optimum)
    return bool(told)


@surprise(
    "cvxpy 1.9.3, clarabel 0.11.1",
    "`optimal`, -.1265, for the minimum of `loggamma`",
    "log(Gamma) is never below -.1215: `loggamma` is the largest of ten simpler functions, up to .036 below it",
    "CONDITIONAL, supposing that it is exact",
)
def loggamma_is_another_function() -> bool:
    problem = cp.Problem(cp.Minimize(cp.loggamma(cp.Variable())))
    value = problem.solve(cp.CLARABEL)
    result = sm.solve(problem)
    assert result.status is Status.CONDITIONAL
    assert "loggamma" in result.certificate.assumptions[0]
    return problem.status == cp.OPTIMAL and value < -0.126 < math.lgamma(1.4616321449683622)


@surprise(
    "cvxpy 1.9.3, clarabel 0.11.1, scs 3.3.1",
    "`optimal` by Clarabel, no answer by SCS, for the minimum of x over x >= 1 and x <= inf",
    "a bound of infinity bounds nothing; it is in the data that CVXPY hands to solvers",
    "refuses such a constraint by name, and says how to leave it out",
)
def bounds_of_infinity() -> bool:
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 1, x <= np.inf])
    problem.solve(cp.CLARABEL)
    with pytest.raises(InvalidInputError, match="constraint_1 holds inf"):
        sm.solve(problem)
    return problem.status == cp.OPTIMAL


@surprise(
    "cvxpy 1.9.3, highspy 1.15.1",
    "`optimal`, about -1e7, for the minimum of x^2 - z",
    "it is unbounded",
    "never OPTIMAL",
)
def highs_calls_an_unbounded_program_optimal() -> bool:
    def unbounded() -> Any:
        x, z = cp.Variable(2), cp.Variable()
        return cp.Problem(cp.Minimize(cp.square(x[0]) - z))

    problem = unbounded()
    problem.solve(cp.HIGHS)
    assert sm.solve(unbounded(), "HIGHS").status is not Status.OPTIMAL
    return problem.status == cp.OPTIMAL


# Learning


@surprise(
    "scikit-learn 1.9.1",
    "`SVC` and `LinearSVC` give class 1 the name 0 and class 2 the name 1, where `sample_weight` of class 0 is 0",
    "labels of all other classes are shifted, without a word",
    "`fit` refuses: a class all of whose labels have the weight 0 is none",
)
def a_class_of_weight_zero() -> bool:
    X, y = blobs()
    weight = np.where(y == 0, 0.0, 1.0)
    told = all((clf.fit(X, y, sample_weight=weight).predict(X[y == 1]) == 0).all() for clf in (SVC(), LinearSVC()))
    with pytest.raises(InvalidInputError, match="weight zero"):
        sm.LapSVM().fit(X, y, sample_weight=weight)
    return told


@surprise(
    "scikit-learn 1.9.1",
    "ensembles such as `BaggingClassifier` list -1, the mark of unlabelled samples, among the classes",
    "they count -1 as a class, and hand it on under a number of its own",
    "a MarkerWarning where such a class arrives; `sm.WithUnlabeled` holds the unlabelled samples instead",
)
def ensembles_make_a_class_of_the_marker() -> bool:
    X, truth = blobs()
    y = np.where(np.arange(60) % 3 == 0, truth, -1)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        bagged = BaggingClassifier(sm.SpectralRidge(graph=5), n_estimators=2, random_state=0).fit(X, y)
    told = -1 in bagged.classes_
    assert not told or any(issubclass(one.category, MarkerWarning) for one in given)
    apart = BaggingClassifier(sm.WithUnlabeled(sm.SpectralRidge(graph=5), X[y < 0]), n_estimators=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert -1 not in apart.fit(X[y >= 0], y[y >= 0]).classes_
    return told


@surprise(
    "scikit-learn 1.9.1",
    "`LabelSpreading` gives points that no label reaches the first class, and nan as probabilities",
    "nothing is known of them",
    "a DisconnectedGraphWarning counts them; probabilities are numbers",
)
def an_unreached_point() -> bool:
    X, truth = blobs()
    y = np.full(60, -1)
    y[[20, 40]] = truth[[20, 40]]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spread = LabelSpreading(kernel="knn", n_neighbors=5).fit(X, y)
        told = (spread.transduction_[:20] == 1).all() and np.isnan(spread.predict_proba(X[:1])).all()
    with pytest.warns(DisconnectedGraphWarning):
        ours = sm.LapSVM(graph=5).fit(X, y)
    assert np.isfinite(ours.predict_proba(X)).all()
    return bool(told)


@surprise(
    "scikit-learn 1.9.1",
    "liblinear, sag and saga err on 38 to 44 % where all features are moved by 50, lbfgs on 12 % as before",
    "the intercept is penalised, or steps are short: a matter of units; no warning names it",
    "kernels and graphs of differences do not change, the intercept is free",
)
def features_are_moved() -> bool:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + 0.85 * (2 * truth - 1)[:, None]
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for solver in ("lbfgs", "liblinear", "sag", "saga"):
            scores[solver] = LogisticRegression(solver=solver).fit(X + 50, truth).score(X + 50, truth)
        y = sm.hide_labels(truth, per_class=40, random_state=0)
        here, there = (sm.LapSVM().fit(Z, y).transduction_ for Z in (X, X + 50))
    assert (here != there).mean() < 0.01
    return scores["lbfgs"] > 0.85 and max(scores[solver] for solver in ("liblinear", "sag", "saga")) < 0.7


# Graphs and files


@surprise(
    "scipy 1.17.1, networkx 3.6.1",
    "the Laplacian of a directed graph has in-degrees (scipy), out-degrees (networkx)",
    "two matrices have one name",
    "asymmetric graphs are refused, with the two ways to make them symmetric",
)
def directed_laplacians() -> bool:
    W = np.array([[0.0, 2.0], [1.0, 0.0]])
    ours = nx.laplacian_matrix(nx.from_numpy_array(W, create_using=nx.DiGraph)).toarray()
    with pytest.raises(InvalidInputError, match="not symmetric"):
        sm.graphs.laplacian(W)
    return np.diag(laplacian(W)).tolist() == [1.0, 2.0] and np.diag(ours).tolist() == [2.0, 1.0]


@surprise(
    "networkx 3.6.1",
    "`from_numpy_array` takes an asymmetric matrix and keeps one of two weights",
    "half of the input is dropped, without a word",
    "such a matrix is refused",
)
def one_of_two_weights() -> bool:
    W = np.array([[0.0, 2.0], [1.0, 0.0]])
    with pytest.raises(InvalidInputError, match="not symmetric"):
        sm.graphs.check_adjacency(W)
    return len({nx.from_numpy_array(W)[0][1]["weight"]} & {1.0, 2.0}) == 1


@surprise(
    "scipy 1.17.1",
    "the Laplacian of weights of 8 bits has the degree -56 for 200",
    "sums of small integers wrap around",
    "weights are floating-point numbers first",
)
def integers_wrap() -> bool:
    W = (100 * (1 - np.eye(3))).astype(np.int8)
    ours = sm.graphs.laplacian(W, normalized=False) @ np.eye(3)
    assert np.diag(ours).tolist() == [200.0] * 3
    return np.diag(laplacian(W)).tolist() == [-56] * 3


@surprise(
    "scipy 1.17.1, scikit-learn 1.9.1",
    "`D.maximum(D.T)` of a sparse graph of distances has no edge between duplicates",
    "their distance 0 is stored, and dropped by the maximum: duplicates lose their nearest neighbours",
    "`knn_graph` keeps them, and joins them by the largest weight",
)
def duplicates_are_cut() -> bool:
    X = np.array([[0.0], [0.0], [1.0], [1.5]])
    D = kneighbors_graph(X, 1, mode="distance")
    assert sp.csr_array(sm.graphs.knn_graph(X, n_neighbors=1))[0, 1] > 0
    return D.nnz == 4 and D.maximum(D.T).nnz == 2


@surprise(
    "networkx 3.6.1",
    "no weight on an edge of a GraphML file whose key has a default weight",
    "the default is in `graph.graph['edge_default']`; igraph 1.0.0 puts it on the edges",
    "an edge without a weight weighs 1; set the default before the graph is passed",
)
def graphml_defaults() -> bool:
    text = (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="w" for="edge" attr.name="weight" '
        'attr.type="double"><default>5.0</default></key><graph edgedefault="undirected"><node id="a"/><node id="b"/>'
        '<edge source="a" target="b"/></graph></graphml>'
    )
    graph = nx.parse_graphml(text)
    told = "weight" not in graph["a"]["b"] and graph.graph["edge_default"] == {"weight": 5.0}
    nx.set_edge_attributes(graph, {edge: {"weight": 5.0} for edge in graph.edges})
    assert sp.csr_array(sm.graphs.check_adjacency(graph)).toarray().tolist() == [[0.0, 5.0], [5.0, 0.0]]
    return told


@surprise(
    "networkx 3.6.1",
    "a Pajek file is directed or not by its first section of edges",
    "a file may hold both; the second is read as the first",
    "a directed graph is refused",
)
def pajek_sections() -> bool:
    head, arcs, edges = "*Vertices 3\n1 a\n2 b\n3 c\n", "*Arcs\n1 2\n", "*Edges\n2 3\n"
    directed, undirected = (nx.parse_pajek(head + text) for text in (arcs + edges, edges + arcs))
    with pytest.raises(InvalidInputError):
        sm.graphs.check_adjacency(nx.DiGraph([(0, 1)]))
    return bool(directed.is_directed() and not undirected.is_directed())


@surprise(
    "scikit-learn 1.9.1",
    "`load_svmlight_file` reads (2, 2) features that `dump_svmlight_file` wrote as (2, 1), if the first column is 0",
    "whether indices begin with 0 or 1 is guessed from the least that occurs",
    "reads LIBSVM's own files, whose indices begin with 1, with the number of features that is known",
)
def svmlight_indices() -> bool:
    file = io.BytesIO()
    dump_svmlight_file(np.array([[0.0, 1.0], [0.0, 2.0]]), [0, 1], file)
    file.seek(0)
    return load_svmlight_file(file)[0].shape == (2, 1)


# Measured once: tools that are not locked, or what no test should do

ROWS += [
    Surprise(*row)
    for row in (
        (
            "cvxpy 1.9.3",
            "nothing, of `C @ (P @ x)` with a parameter P, which is compiled in 7.7 s and 1.8 GB at n = 200",
            "with `z == P @ x` between them it takes no time",
            "`sm.solve` compiles for the present values where parameters are many",
        ),
        (
            "cvxpy 1.9.3",
            "n x n terms, of a hinge whose labels are a column (n, 1) and whose scores are a vector (n,)",
            "labels and scores are broadcast, as in numpy",
            "gives a BroadcastWarning; flatten the labels",
        ),
        (
            "clarabel 0.11.1, scs 3.3.1, osqp 1.1.3, highspy 1.15.1, qoco, piqp, proxsuite, daqp",
            "one answer or another, where one triangle of P is given",
            "five read the upper triangle, two the lower, DAQP neither",
            "P is whole and symmetric, and the proof rests on the problem, not on what a solver reads",
        ),
        (
            "highspy 1.15.1",
            "`kOptimal`, -10.5, of a quadratic program whose optimum is -1000.5",
            "HiGHS regularises quadratic objectives, and the regularisation is part of what is minimised",
            "the gap is that of the objective as it was written",
        ),
        (
            "highspy 1.15.1",
            "nothing, for hours, of some small quadratic programs with tiny curvature",
            "it need not return; a time limit ends it",
            "stops it after a minute by default, `time_limit=` names another limit: MAX_ITER, with its gap",
        ),
        (
            "highspy 1.15.1",
            "a lower bound that one did not write, where an MPS file has a negative bound UP alone",
            "readers of MPS files differ here",
            "reads no MPS files; pass a `cvxpy.Problem`",
        ),
        (
            "qoco",
            "nothing, of an option that is spelt wrongly; unbounded programs are `optimal`",
            "the option is dropped; such programs have no optimum",
            "an option is checked by name, and an answer without a bound is UNPROVED",
        ),
        (
            "ortools (GLOP)",
            "`infeasible`, of unbounded programs",
            "they are feasible",
            "INFEASIBLE needs a proof, which there is not",
        ),
        (
            "proxsuite",
            "`infeasible`, of 28 of 30 regressions with absolute losses",
            "all are feasible",
            "as above",
        ),
        (
            "qpax",
            "a gradient of the solution that differs from the exact one",
            "it is smoothed, by design",
            "asks no solver for a gradient",
        ),
        (
            "POT",
            "a plan of transport that ignores the labels, where the classes are -1 and +1",
            "-1 marks a sample without a label there",
            "the same mark by default; `unlabeled=` names another one",
        ),
        (
            "MAPIE",
            "sets that hold the class in 100 % of cases, where 90 % were asked for and scores are tied",
            "at least 90 % is what is promised",
            "the same promise: ties raise p-values, so that sets grow",
        ),
        (
            "graphlearning",
            "an answer, where the graph has one isolated node, or where classes are not 0 to k - 1",
            "neither is provided for",
            "classes are any values; isolated nodes are counted in a DisconnectedGraphWarning",
        ),
    )
]


def written(text: str) -> str:
    """Return the page with the rows as they are here."""
    heads = ("tool", "what it says", "what holds", "what specmargin does")
    cells = [(row.tools if row.check else f"{row.tools} *", *row[1:4]) for row in ROWS]
    table = "\n".join(f"| {' | '.join(line)} |" for line in (heads, ("---",) * 4, *cells))
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"{PAGE.name} has lost {END}"
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.check], ids=lambda row: row.check.__name__)
def test_a_tool_says_what_is_told_and_specmargin_stays_right(row: Surprise) -> None:
    assert row.check is not None
    if not row.check():
        others = {name: now for name, (told, now) in row.installed.items() if told != now}
        assert others, f"{row.tools} no longer behave as told: {row.says}"
        pytest.skip(f"told of {row.tools}; of {others} it is no longer true: {row.says}")


def test_the_page_has_the_rows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert written(text) == text, "python tests/test_real_tools.py"


def test_versions_are_those_of_the_lock() -> None:
    """A row of another version would be skipped, and nobody would see it."""
    for row in (row for row in ROWS if row.check):
        assert {name: told for name, (told, _) in row.installed.items()} == {
            name: now for name, (_, now) in row.installed.items()
        }, row.tools


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)} is up to date.\n")
