"""`SolveResult.seconds`: the time that the solver took, and not another number."""

from __future__ import annotations

import time

import numpy as np
import pytest

import specmargin as sm
from specmargin import objectives, optima, solvers
from specmargin.objectives import Features, WeightedSVM
from specmargin.objectives.clustering import RegularizedClustering
from specmargin.objectives.graph_transducer import SpectralGraphTransducer
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.spectral_ridge import SpectralRidge, power_spectrum

X = np.array([[-2.0], [2.0], [-1.5], [-1.2], [1.0], [1.8]])
LABELS = sm.encode_labels([0, 1, -1, -1, -1, -1])
W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
SPECTRUM = sm.spectra.laplacian_eigenpairs(W, q=6, normalized=False)
OF_GRAPH = sm.encode_labels([0, 0] + [-1] * 8 + [1, 1])


def lapsvm(loss="squared_hinge"):
    K, L = sm.kernels.gram(X, gamma=0.5), sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=2))
    return objectives.LapSVM(K, L, LABELS, loss=loss, gamma_A=0.01, gamma_I=1.0)


def margin():
    return objectives.SpectrumMargin(SPECTRUM, OF_GRAPH, C=1.0, B=1.2)


def supervised(intercept):
    A = Features.of(np.array([[1.0], [-1.0]]), intercept, rows=np.array([0, 1]))
    loss = {"loss": "hinge"} if intercept == "free" else {}
    return WeightedSVM(A, np.array([1.0, 0.0]), np.array([0.0, 1.0]), **loss)


def s3vm(*losses, **options):
    return S3VM(X, LABELS, *losses, **{"C": 10.0, "intercept": "regularized"} | options)


def clustering():
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=3), normalized=False)
    return RegularizedClustering(sm.kernels.gram(X, gamma=1.0), L, gamma=0.1)


RUNS = {
    "alignment": lambda: solvers.alignment(objectives.Alignment(SPECTRUM, OF_GRAPH)),
    "alternation": lambda: solvers.alternation(margin()),
    "annealing": lambda: solvers.annealing(s3vm()),
    "branch_and_bound": lambda: optima.branch_and_bound(s3vm()),
    "cccp": lambda: solvers.cccp(s3vm("hinge")),
    "continuation": lambda: solvers.continuation(s3vm("hinge", "exp", balance=0.5)),
    "eigenmaps": lambda: solvers.eigenmaps(clustering()),
    "factorized": lambda: solvers.factorized(lapsvm()),
    "factorized, hinge": lambda: solvers.factorized(lapsvm("hinge")),
    "finite_newton": lambda: solvers.finite_newton(supervised("regularized")),
    "gradient": lambda: solvers.gradient(s3vm("squared_hinge", "exp", balance=0.5)),
    "graph_transducer": lambda: solvers.graph_transducer(SpectralGraphTransducer(SPECTRUM, OF_GRAPH, C=100.0)),
    "label_switching": lambda: solvers.label_switching(s3vm("hinge")),
    "multi_switch": lambda: solvers.multi_switch(s3vm()),
    "newton": lambda: solvers.newton(lapsvm()),
    "one_flip": lambda: optima.one_flip(s3vm()),
    "pcg": lambda: solvers.pcg(lapsvm()),
    "polish": lambda: solvers.polish(s3vm("squared_hinge", "exp", balance=0.5), np.array([0.3, 0.0])),
    "probe": lambda: optima.probe(s3vm()),
    "quasi_newton": lambda: solvers.quasi_newton(s3vm("smooth_hinge", "exp", balance=0.5)),
    "relative_margin": lambda: solvers.relative_margin(objectives.RMM(X @ X.T, sm.encode_labels([0, 1, 0, 0, 1, 1]))),
    "s3vm_bound": lambda: optima.s3vm_bound(s3vm()),
    "spectral_ridge": lambda: solvers.spectral_ridge(SpectralRidge(SPECTRUM, OF_GRAPH, power_spectrum(SPECTRUM))),
    "spectrum_margin": lambda: solvers.spectrum_margin(margin()),
    "block_margin": lambda: solvers.block_margin(objectives.BlockMargin([X], LABELS, loss="squared")),
    "weighted_svm": lambda: solvers.weighted_svm(supervised("free")),
    "a CVXPY problem": lambda: sm.problems.solve(sm.problems.lapsvm_dual(lapsvm())),
}
LISTS = {
    "spectrum_path": lambda: solvers.spectrum_path(margin(), [0.01, 0.1, 1.0]),
    "pcg_one_vs_rest": lambda: solvers.pcg_one_vs_rest(
        lapsvm(), sm.encode_labels([0, 1, 2, -1, -1, -1]), stopping="gradient"
    ),
}


def test_every_solver_is_here():
    named = {name.partition(",")[0] for name in (*RUNS, *LISTS)}
    public = {name: getattr(solvers, name) for name in solvers.__all__}
    public |= {name: getattr(optima, name) for name in optima.__all__ if name != "s3vm_relaxation"}
    functions = {name for name, value in public.items() if not isinstance(value, type)}
    # `with_bound` returns the result that it was given, with another certificate.
    assert functions - {"with_bound"} <= named


@pytest.mark.parametrize("name", RUNS)
def test_seconds_are_those_of_the_call(name):
    began = time.perf_counter()
    result = RUNS[name]()
    assert 0 < result.seconds <= time.perf_counter() - began


@pytest.mark.parametrize("name", LISTS)
def test_seconds_of_several_results_are_within_the_call(name):
    """Classes that are solved in step take the time of all."""
    began = time.perf_counter()
    results = list(LISTS[name]())
    assert len(results) == 3
    assert all(0 < result.seconds <= time.perf_counter() - began for result in results)
