"""Random problems of every kind with random answers and multipliers, their proofs, and the same in a hundred digits."""

# ruff: noqa: F401 - tests take from here what they need

from dataclasses import replace

import exact_losses
import exact_numbers
import exact_values as exact
import numpy as np
import scipy.sparse as sp
from flint import arb, ctx

import specmargin as sm
from cvxproof.proofs.balls import BITS
from specmargin.kernels import LowRankKernel
from specmargin.objectives import (
    RMM,
    S3VM,
    Alignment,
    Features,
    LapSVM,
    RegularizedClustering,
    SpectralGraphTransducer,
    SpectralRidge,
    SpectrumMargin,
    WeightedSVM,
)
from specmargin.optima import S3VMRelaxation
from specmargin.proofs.translation import record_of
from specmargin.proofs.verifier import KINDS, read
from specmargin.results import Certificate, SolveResult, Status
from specmargin.spectra import Spectrum

wide = exact_numbers.wide


def answer(variables, duals=None, certificate=None):
    """A result of no solver."""
    certificate = Certificate(0.0, 0.0) if certificate is None else certificate
    return SolveResult("problem", Status.UNPROVED, variables, certificate, duals={} if duals is None else duals)


def proof(record):
    """What the function of a kind proves, without any comparison."""
    prove, arrays, numbers = KINDS[record.kind]
    with ctx.workprec(BITS):
        return prove(read(record, arrays, numbers))


def with_claim(record, **changes):
    """The record with another claim."""
    return replace(record, claim=replace(record.claim, **changes))


def with_arrays(record, **changes):
    """The record with other arrays."""
    return replace(record, arrays={**record.arrays, **changes})


def with_numbers(record, **changes):
    """The record with other numbers."""
    return replace(record, numbers={**record.numbers, **changes})


def proof_of(objective, variables, duals=None, certificate=None):
    """The proof of an answer."""
    return proof(record_of(objective, answer(variables, duals, certificate)))


def is_near(ball, decimal, digits=60):
    """Whether a ball is a number in a hundred digits but for its last ones."""
    with ctx.workprec(400):
        known = arb(str(decimal))
        return bool(abs(ball - known) <= arb(10) ** -digits * (abs(known) + 1e-30))


def labels_of(rng, n, l):
    """Labels of l of n samples, of both classes."""
    y = np.full(n, -1)
    at = rng.permutation(n)[:l]
    y[at] = rng.integers(0, 2, l)
    y[at[:2]] = 0, 1
    return sm.encode_labels(y)


def kernel_of(rng, n):
    """A kernel that is positive definite."""
    X = rng.standard_normal((n, n + 2))
    K = X @ X.T / n
    return (K + K.T) / 2


def laplacian_of(rng, n):
    """A matrix that is positive definite, and tells L K from K L."""
    W = rng.random((n, n))
    W = np.triu(W, 1) + np.triu(W, 1).T
    return np.diag(W.sum(axis=1) + 0.25) - W


def spectrum_of(rng, n, q, eigenvalues=None):
    """Eigenpairs of nothing: orthonormal columns."""
    U = np.linalg.qr(rng.standard_normal((n, q)))[0]
    return Spectrum(np.sort(rng.random(q)) if eigenvalues is None else eigenvalues, U, 1)
