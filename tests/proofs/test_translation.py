"""Records of every objective: what is recorded is what the certificate was computed of, and what cannot be recorded."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("flint")

from proved import (
    RMM,
    S3VM,
    Alignment,
    LapSVM,
    LowRankKernel,
    RegularizedClustering,
    S3VMRelaxation,
    SpectralGraphTransducer,
    SpectralRidge,
    SpectrumMargin,
    answer,
    kernel_of,
    labels_of,
    laplacian_of,
    record_of,
    sm,
    spectrum_of,
)

from specmargin.kernels import BlockKernel
from specmargin.losses import ExpSquared, HuberHinge, SymmetricRamp
from specmargin.proofs.translation import DENSE
from specmargin.proofs.verification import verify
from specmargin.results import Certificate, SolveResult, Status


class Foreign:
    """What satisfies the protocol of an objective, and is none of this package."""

    name, variables = "foreign", {"x": ()}

    def value(self, variables):
        return 0.0

    def certificate(self, variables, duals=None):
        return Certificate(0.0, 0.0)

    def decisions(self, variables):
        return np.zeros(1)

    def with_(self, **changes):
        return self


@pytest.fixture
def rmm(rng):
    return RMM(kernel_of(rng, 6), labels_of(rng, 6, 6), C=2.0, B=1.25)


def test_what_is_no_objective_or_no_result(rmm):
    result = sm.solvers.relative_margin(rmm)
    for wrong in (None, RMM, "rmm"):
        with pytest.raises(
            sm.exceptions.InvalidTypeError, match=r"is no objective; build one of specmargin\.objectives"
        ):
            record_of(wrong, result)
    for wrong in (None, result.variables, result.certificate):
        with pytest.raises(sm.exceptions.InvalidTypeError, match="must be a SolveResult; pass what a solver returned"):
            record_of(rmm, wrong)
    with pytest.raises(sm.exceptions.InvalidTypeError, match="no proof of the objective Foreign"):
        record_of(Foreign(), result)
    nothing = SolveResult("RMM", Status.FAILED, {}, Certificate(np.inf, -np.inf))
    with pytest.raises(sm.exceptions.InvalidInputError, match="the result is FAILED: it holds no answer to verify"):
        record_of(rmm, nothing)


def test_the_answer_of_another_problem(rmm, rng):
    other = RMM(kernel_of(rng, 5), labels_of(rng, 5, 5))
    with pytest.raises(sm.exceptions.InvalidInputError, match=r"gamma has the shape \(6,\)"):
        record_of(other, sm.solvers.relative_margin(rmm))
    with pytest.raises(sm.exceptions.InvalidInputError, match="the variables lack 'v'"):
        record_of(SpectrumMargin(spectrum_of(rng, 6, 3), labels_of(rng, 6, 4)), sm.solvers.relative_margin(rmm))


def test_the_claim_is_that_of_the_result(rmm):
    result = sm.solvers.relative_margin(rmm)
    record, certificate = record_of(rmm, result), result.certificate
    claimed = record.claim.primal, record.claim.dual, record.claim.rounding, record.claim.sense
    assert claimed == (certificate.primal_objective, certificate.dual_objective, certificate.rounding, "minimize")
    assert record.claim.gap == certificate.gap
    assert record.numbers == {"C": 2.0, "B": 1.25, "b": float(result.variables["b"])}
    assert {type(x) for x in record.numbers.values()} == {float}
    for array in record.arrays.values():
        assert array.dtype in (np.float64, np.int64)
        assert array.flags.c_contiguous
    wrong = replace(result, certificate=replace(certificate, dual_objective=certificate.dual_objective * 1.001))
    assert not verify(rmm, wrong)


def test_points_beyond_the_bound_are_shortened_as_by_the_certificate(rmm):
    result = sm.solvers.relative_margin(rmm)
    far = {name: 2 * np.asarray(result.variables[name]) for name in ("gamma", "b")}
    assert not any("feasible point" in note for note in verify(rmm, result).assumptions)
    result = answer(far, certificate=rmm.certificate(far))
    said = verify(rmm, result)
    assert said, said
    assert "of the feasible point that the certificate is for, 1 from the answer" in said.assumptions[0]


def test_multipliers_are_derived_where_there_are_none(rng):
    n = 8
    labels = labels_of(rng, n, 5)
    K, L, spectrum = kernel_of(rng, n), laplacian_of(rng, n), spectrum_of(rng, n, 4)
    problems = [
        (LapSVM(K, L, labels, "squared", gamma_A=0.5, gamma_I=0.5), {"alpha": rng.standard_normal(n), "b": 0.25}),
        (LapSVM(K, L, labels, "hinge", gamma_A=0.5, gamma_I=0.5), {"alpha": rng.standard_normal(n), "b": 0.25}),
        (SpectralRidge(spectrum, labels, np.full(4, 0.25)), {"v": rng.standard_normal(4), "b": 0.0}),
        (SpectralRidge(spectrum, labels, np.array([0, 0.5, 0.5, 0])), {"v": rng.standard_normal(4), "b": 0.0}),
        (SpectralGraphTransducer(spectrum, labels, C=3.0), {"w": rng.standard_normal(3)}),
        (SpectrumMargin(spectrum, labels, C=2.0), {"v": np.full(4, 0.1), "b": 0.0, "delta": np.full(4, 0.25)}),
        (SpectrumMargin(spectrum, labels, C=2.0, B=1.5), {"v": np.full(4, 9.0), "b": 0.0, "delta": np.arange(4.0)}),
        (SpectrumMargin(spectrum, labels, C=2.0), {"v": np.full(4, 0.1), "b": 0.0, "delta": -np.arange(4.0)}),
        (RMM(K, labels, C=2.0), {"gamma": labels.sign * 0.25, "b": 0.0}),
        (Alignment(spectrum, labels), {"delta": np.arange(4.0)}),
        (RegularizedClustering(K, L, 0.25), {"alpha": rng.standard_normal((n, 2))}),
        (RegularizedClustering(K, L, 0.25), {"alpha": rng.standard_normal(n)}),
        (S3VM(rng.standard_normal((n, 2)), labels, C_star=0.0), {"w": rng.standard_normal(2)}),
        (S3VM(rng.standard_normal((n, 2)), labels).guessed(np.ones(3)), {"w": rng.standard_normal(2)}),
    ]
    for objective, variables in problems:
        verification = verify(objective, answer(variables, certificate=objective.certificate(variables)))
        assert verification, (objective.name, verification)


def test_kernels_in_all_their_forms(rng):
    n = 9
    labels, X = labels_of(rng, n, 5), rng.standard_normal((n, 3))
    W = sm.graphs.knn_graph(X, n_neighbors=3)
    L = sm.graphs.laplacian(W, power=2)
    forms = {
        "dense": sm.kernels.gram(X, gamma=0.5),
        "sparse": sp.csr_array(np.diag(1.0 + rng.random(n))),
        "factor": LowRankKernel(X),
        "blocks": BlockKernel(X, gamma=0.5, block_elements=9),
    }
    for name, K in forms.items():
        obj = LapSVM(K, L, labels, "squared_hinge", gamma_A=0.5, gamma_I=0.5)
        result = sm.solvers.pcg(obj)
        record = record_of(obj, result)
        assert ("F" in record.arrays) is (name == "factor")
        assert record.numbers["power"] == 2
        assert np.array_equal(record.arrays["L"], L.matrix.toarray())
        assert verify(obj, result), name


def test_graphs_in_all_their_forms(rng):
    n = 6
    labels, K, L = labels_of(rng, n, 4), kernel_of(rng, n), laplacian_of(rng, n)

    class Products:
        shape = (n, n)

        def __matmul__(self, x):
            return L @ x

    for graph in (L, sp.csr_array(L), Products(), sm.graphs.LaplacianOperator(sp.csr_array(L), 1, False, np.ones(n))):
        obj = LapSVM(K, graph, labels, "hinge", gamma_A=0.5, gamma_I=0.5)
        result = sm.solvers.factorized(obj)
        record = record_of(obj, result)
        assert record.numbers["power"] == 1
        assert np.allclose(record.arrays["L"], L, rtol=1e-15)
        assert verify(obj, result)
    without = record_of(LapSVM(K, L, labels, gamma_A=0.5), answer({"alpha": np.zeros(n), "b": 0.0}))
    assert "L" not in without.arrays


def test_kernels_that_are_too_large():
    n = DENSE + 1
    y = np.full(n, -1)
    y[:2] = 0, 1
    obj = LapSVM(BlockKernel(np.zeros((n, 1)) + np.arange(n)[:, None]), None, sm.encode_labels(y), gamma_A=1.0)
    with pytest.raises(sm.exceptions.InvalidInputError, match=f"K is of {n} samples and not stored: .* up to {DENSE}"):
        record_of(obj, answer({"alpha": np.zeros(n), "b": 0.0}))


def test_names_and_parameters_of_losses(rng):
    n = 6
    labels, X = labels_of(rng, n, 3), rng.standard_normal((n, 2))
    lap = LapSVM(kernel_of(rng, n), None, labels, HuberHinge(0.25), gamma_A=0.5)
    numbers = record_of(lap, answer({"alpha": np.zeros(n), "b": 0.0})).numbers
    assert (numbers["loss"], numbers["parameter"]) == ("huber_hinge", 0.25)
    for U, name, p in (
        (ExpSquared(2.5), "exp", 2.5),
        (SymmetricRamp(0.0), "symmetric_hinge", 1.0),
        (SymmetricRamp(-0.25), "symmetric_ramp", 0.25),
        ("symmetric_squared_hinge", "symmetric_squared_hinge", 1.0),
    ):
        obj = S3VM(X, labels, "hinge", U)
        numbers = record_of(obj, answer({"w": np.zeros(2)}, certificate=Certificate(1.0, -np.inf))).numbers
        assert (numbers["loss"], numbers["parameter"]) == ("hinge", 1.0)
        assert (numbers["unlabeled_loss"], numbers["unlabeled_parameter"]) == (name, p)


def test_extreme_spectra(rng):
    labels = labels_of(rng, 9, 5)
    several = [spectrum_of(rng, 9, 4, np.array([0.0, 0.25, 0.25, 0.5])), spectrum_of(rng, 9, 2)]
    rays = {}
    for order in (True, False):
        obj = SpectrumMargin(several, labels, C=1.0, order=order)
        delta = obj.cone.weights(np.full(obj.cone.m, 1.0 / obj.cone.c.sum()))
        record = record_of(obj, answer({"v": np.zeros(6), "b": 0.0, "delta": delta}))
        rays[order] = record.arrays["first"].tolist(), record.arrays["last"].tolist()
        A = np.zeros((obj.cone.m, 6))
        for row, i, j in zip(A, *rays[order], strict=True):
            row[i : j + 1] = 1.0
        assert np.array_equal(A, obj.cone.matrix())
        assert not record.numbers["fixed"]
    assert rays[True] == ([0, 1, 1, 4, 5], [0, 2, 3, 4, 5])
    fixed = SpectrumMargin(several[0], labels, delta=np.array([2.0, 1.0, 1.0, 0.0]))
    with pytest.raises(sm.exceptions.InvalidInputError, match="delta of the result is not the spectrum"):
        record_of(fixed, answer({"v": np.zeros(4), "b": 0.0, "delta": np.zeros(4)}))
    record = record_of(fixed, answer({"v": np.zeros(4), "b": 0.0, "delta": np.array([0.5, 0.25, 0.25, 0.0])}))
    assert record.numbers["fixed"]
    assert record.arrays["delta"].tolist() == [0.5, 0.25, 0.25, 0.0]


def test_s3vms(rng):
    n = 8
    labels, X = labels_of(rng, n, 4), rng.standard_normal((n, 2))
    obj = S3VM(X, labels, C=1.0, balance=0.0)
    local = sm.solvers.label_switching(obj)
    stationary = verify(obj, local)
    assert not stationary
    assert stationary.message == "nothing to verify: stationary"
    relaxed = sm.optima.s3vm_bound(obj)
    assert verify(obj, relaxed)  # that of the relaxation, whose problem it is
    assert verify(S3VMRelaxation(obj), relaxed)
    assert verify(obj, sm.optima.with_bound(obj, local))
    # A bound without its multipliers: those of the relaxation are computed anew.
    bare = replace(local, certificate=obj.prove(local.variables["w"], relaxed.certificate.dual_objective))
    assert verify(obj, bare)
    sparse = S3VM(sp.csr_array(X), labels, C=1.0, balance=0.0)
    record = record_of(sparse, sm.optima.with_bound(sparse, sm.solvers.label_switching(sparse)))
    assert np.array_equal(record.arrays["X"], X)
    assert np.array_equal(record.arrays["mu"], X[labels.unlabeled].mean(axis=0))


def test_the_result_of_a_changed_problem_is_refused(rmm):
    result = sm.solvers.relative_margin(rmm)
    assert verify(rmm, result)
    with pytest.raises(sm.exceptions.InvalidInputError, match="changed in CVXPY"):
        verify(rmm, replace(result, problem="RMM primal, changed"))
