"""The programs of `benchmarks/failures.py`: 1,000 QPs and QCQPs, 40 semidefinite ones, generated or of bundled data.

Half of them lie in the ranges that the papers use, the other half at an edge: weights and penalties of 1e+-10, features
on scales of 1e+-8 or far from the origin, kernels near a singular one, duplicates, ties, separable classes, one label a
class. A program is known by its family, its regime and its number: the three of them seed everything that is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import specmargin as sm
from specmargin.objectives import RMM, S3VM, Alignment, LapSVM, SpectralRidge, SpectrumMargin
from specmargin.objectives.spectral_ridge import power_spectrum

__all__ = ["EDGES", "FAMILIES", "PAPERS", "Instance", "Program", "instances"]

PAPERS = "papers' range"
EDGES = ("weights", "gammas", "scale", "offset", "near-singular", "duplicates", "separable", "ties", "one label")

Array: TypeAlias = Any
Rng: TypeAlias = np.random.Generator


@dataclass(frozen=True)
class Program:
    """One convex program: its fresh objective, ours, and the CVXPY problem; each call builds anew."""

    ours: Callable[..., sm.SolveResult]
    """Solve by numpy, from the raw data on; takes tol."""
    built: Callable[[], sm.problems.BuiltProblem]
    """Build the CVXPY problem, from the raw data on."""
    size: int
    """Samples."""


@dataclass(frozen=True)
class Instance:
    """What names a program and draws it."""

    family: str
    regime: str
    number: int

    @property
    def key(self) -> str:
        """Name in the record of results."""
        return f"{self.family}/{self.regime}/{self.number}"

    def program(self) -> Program:
        """Draw the program: the same one at every call."""
        regimes = (PAPERS, *EDGES)
        rng = np.random.default_rng([6, list(FAMILIES).index(self.family), regimes.index(self.regime), self.number])
        return FAMILIES[self.family].draw(rng, self.regime)


@dataclass(frozen=True)
class Family:
    """Programs of one form, and how many of each half belong to the 1,000."""

    draw: Callable[[Rng, str], Program]
    kind: str
    """QP, QCQP or SDP."""
    count: int
    edges: tuple[str, ...]
    """Those that change such a program."""


def instances() -> list[Instance]:
    """Return the instances, families and regimes in turn, so that the first ones are a fair sample of all."""
    rounds = [list(_of(name, family)) for name, family in FAMILIES.items()]
    placed = [((k + 0.5) / len(some), instance) for some in rounds for k, instance in enumerate(some)]
    return [instance for _, instance in sorted(placed, key=lambda pair: pair[0])]


def _of(name: str, family: Family) -> Iterator[Instance]:
    for k in range(family.count):
        number, edge = divmod(k // 2, len(family.edges))
        yield Instance(name, family.edges[edge], number) if k % 2 else Instance(name, PAPERS, k // 2)


def size_of(rng: Rng, most: int = 300, least: int = 20) -> int:
    """Draw a number of samples, small ones as often as large ones on the scale of logarithms."""
    return round(float(np.exp(rng.uniform(np.log(least), np.log(most)))))


@lru_cache
def bundled(name: str) -> tuple[Array, Array]:
    """Return two classes of a data set that is bundled with scikit-learn, its features in units of their spread."""
    if name.startswith("digits"):
        X, y = sm.datasets.digits_pair(int(name[-2]), int(name[-1]))
        return X, y
    loader = {"breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}[name]
    X, y = loader(return_X_y=True)
    kept = y < 2 if name != "iris" else y > 0
    X, y = X[kept], (y[kept] == y[kept].max()).astype(int)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def sample(rng: Rng, regime: str, n: int) -> tuple[Array, Array]:
    """Draw n samples and their classes."""
    source = ("moons", "Gaussians", "digits38", "digits49", "breast cancer", "wine", "iris")[rng.integers(7)]
    if source == "moons":
        X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.15, random_state=int(rng.integers(2**31)))
    elif source == "Gaussians":
        X = rng.standard_normal((n, int(rng.integers(2, 30))))
        truth = (X[:, 0] + 0.5 * rng.standard_normal(n) > 0).astype(int)
    else:
        X, truth = bundled(source)
        rows = rng.permutation(len(X))[:n]
        X, truth = X[rows], truth[rows]
    X, truth = np.array(X, dtype=float), np.array(truth, dtype=int)
    if min(np.bincount(truth, minlength=2)) < 2:
        truth[:4] = 0, 1, 0, 1
    if regime == "scale":
        X = X * 10.0 ** rng.choice([-8, -6, -4, 4, 6, 8])
    elif regime == "offset":
        X = X + 10.0 ** rng.uniform(2, 8)
    elif regime == "duplicates":
        half = rng.integers(0, max(len(X) // 2, 4), len(X))
        half[:4] = np.concatenate([np.flatnonzero(truth == c)[:2] for c in (0, 1)])
        X, truth = X[half], truth[half]
    elif regime == "separable":
        X[:, 0] += np.where(truth == 1, 1.0, -1.0) * 5.0 * X.std()
    elif regime == "ties":
        X = np.round(2.0 * X / X.std()) / 2.0
    return X, truth


def spread_of(X: Array) -> float:
    """Return the median squared distance from the mean."""
    return float(np.median(((X - X.mean(axis=0)) ** 2).sum(axis=1))) or 1.0


def labelled(rng: Rng, regime: str, truth: Array, most: int) -> Array:
    """Hide the labels but some: one a class at that edge."""
    if regime == "one label":
        return sm.hide_labels(truth, per_class=1, random_state=int(rng.integers(2**31)))
    n = len(truth)
    l = min(int(rng.integers(4, max(6, most))), n - 2)
    y = np.full(n, -1)
    kept = np.concatenate([[rng.permutation(np.flatnonzero(truth == c))[0] for c in (0, 1)], rng.permutation(n)[:l]])
    y[kept] = truth[kept]
    return y


def kernel(rng: Rng, regime: str, X: Array) -> Array:
    """Return a Gram matrix: radial, linear or of degree two; at one edge so wide that K is all ones to rounding."""
    spread = spread_of(X)
    if regime == "near-singular":
        K = sm.kernels.gram(X, gamma=float(10 ** rng.uniform(-12, -4)) / spread)
    elif rng.random() < 0.6 and regime not in ("scale", "offset"):
        K = sm.kernels.gram(X, gamma=float(10 ** rng.uniform(-1, 1)) / spread)
    else:
        name = ("linear", "poly")[rng.integers(2)] if regime != "scale" else "linear"
        K = sm.kernels.gram(X, kernel=name, **({"gamma": 1.0 / spread, "degree": 2} if name == "poly" else {}))
    # A kernel in exact arithmetic, too: rounding leaves eigenvalues of about -1e-16 of the largest.
    return (K + K.T) / 2 + 1e-14 * len(X) * np.abs(K).max() * np.eye(len(X))


def weight(rng: Rng, regime: str) -> float:
    """Draw a weight C of the losses, for a kernel whose diagonal is one on average."""
    low, high = {"weights": (-10, 10), "separable": (2, 8)}.get(regime, (-2, 3))
    return float(10 ** rng.uniform(low, high))


def bound(rng: Rng) -> float:
    """Draw a bound on the decisions, infinite for every other program."""
    return float(rng.choice([np.inf, 1.01, 1.2, 1.5, 3.0], p=[0.5, 0.1, 0.15, 0.15, 0.1]))


def graph(rng: Rng, X: Array, kinds: tuple[str, ...] = ("symmetric",)) -> Array:
    """Return a graph of nearest neighbours, of samples about their mean."""
    neighbors = min(int(rng.integers(4, 9)), len(X) - 2)
    return sm.graphs.knn_graph(X - X.mean(axis=0), n_neighbors=neighbors, kind=kinds[rng.integers(len(kinds))])


def spectrum_of(rng: Rng, regime: str, X: Array, most: int = 60) -> tuple[sm.spectra.Spectrum, float]:
    """Return lowest eigenpairs and their unit: at three edges a ring's ties, columns that agree, another scale."""
    n = len(X)
    if regime == "ties":
        step = sp.csr_array(np.roll(np.eye(n), 1, axis=1))
        W: Array = step + step.T
    else:
        W = graph(rng, X, ("symmetric", "mutual") if regime == "duplicates" else ("symmetric",))
    q = min(int(rng.integers(5, most)), n - 2)
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=q, normalized=bool(rng.integers(2)))
    unit = 10.0 ** float(rng.choice([-8, -4, 4, 8])) if regime == "scale" else 1.0
    if regime == "near-singular":
        # Columns that nearly agree on all samples.
        U = spectrum.eigenvectors.copy()
        U[:, 2:4] = U[:, 1:2] + 10 ** rng.uniform(-12, -6) * rng.standard_normal((n, 2)) / np.sqrt(n)
        return replace(spectrum, eigenvectors=U), 1.0
    return replace(spectrum, eigenvectors=unit * spectrum.eigenvectors), unit


def lapsvm(rng: Rng, regime: str, form: str = "dual", most: int = 300) -> Program:
    """Draw a LapSVM with the hinge, the squared hinge or the Huber hinge."""
    X, truth = sample(rng, regime, size_of(rng, most))
    y = labelled(rng, regime, truth, len(X) // 2)
    K, labels = kernel(rng, regime, X), sm.encode_labels(y)
    L = sm.graphs.laplacian(graph(rng, X), normalized=bool(rng.integers(2)), power=int(rng.integers(1, 3)))
    diagonal = float(np.mean(K.diagonal()))
    gamma_A, gamma_I = diagonal * 10 ** rng.uniform(-6, 0), 10 ** rng.uniform(-6, 2)
    if regime == "weights":
        gamma_A = diagonal * 10 ** rng.uniform(-10, 10)
    elif regime == "gammas":
        gamma_A, gamma_I = diagonal * 10 ** rng.uniform(-10, 6), 10 ** rng.uniform(-6, 10)
    elif regime == "separable":
        gamma_A, gamma_I = diagonal * 10 ** rng.uniform(-10, -6), 10 ** rng.uniform(-10, -4)
    loss = ("hinge", "squared_hinge", "huber_hinge")[rng.choice(3, p=[0.5, 0.4, 0.1])]
    arguments = {"loss": loss, "gamma_A": float(gamma_A), "gamma_I": float(gamma_I)}

    def objective() -> LapSVM:
        return LapSVM(K, L, labels, **arguments)

    return Program(
        lambda **options: sm.solvers.factorized(objective(), **options),
        lambda: (sm.problems.lapsvm_dual if form == "dual" else sm.problems.lapsvm_primal)(objective()),
        len(X),
    )


def lapsvm_primal(rng: Rng, regime: str) -> Program:
    """Draw a LapSVM whose CVXPY problem is the primal, over functions."""
    return lapsvm(rng, regime, "primal", 120)


def relative_margin(rng: Rng, regime: str) -> Program:
    """Draw an SVM or a relative margin machine on a kernel."""
    X, truth = sample(rng, regime, size_of(rng, 200))
    K, labels = kernel(rng, regime, X), sm.encode_labels(labelled(rng, regime, truth, len(X)))
    C, B = weight(rng, regime) / float(np.mean(K.diagonal())), bound(rng)

    def objective() -> RMM:
        return RMM(K, labels, C=C, B=B)

    return Program(
        lambda **options: sm.solvers.relative_margin(objective(), **options),
        lambda: sm.problems.rmm(objective()),
        len(X),
    )


def spectrum_margin(rng: Rng, regime: str, form: str = "compact", most: int = 300) -> Program:
    """Draw STORM, STOAM or multiple kernel learning, of one graph or two."""
    X, truth = sample(rng, regime, size_of(rng, most))
    q = 60 if form == "compact" else 12
    first, unit = spectrum_of(rng, regime, X, q)
    spectra: Any = first
    if rng.random() < 0.25:
        other, _ = spectrum_of(rng, "papers", X[:, ::-1] ** 3 if regime != "scale" else X[:, ::-1], q)
        spectra = [first, replace(other, eigenvectors=unit * other.eigenvectors)]
    labels = sm.encode_labels(labelled(rng, regime, truth, len(X) // 2))
    arguments = {"C": weight(rng, regime) / unit**2, "B": bound(rng), "order": bool(rng.random() < 0.7)}
    arguments["eps"] = float(rng.choice([0.0, 1e-6], p=[0.7, 0.3]))

    def objective() -> SpectrumMargin:
        return SpectrumMargin(spectra, labels, **arguments)

    return Program(
        lambda **options: sm.solvers.spectrum_margin(objective(), **options),
        lambda: sm.problems.storm(objective(), form),
        len(X),
    )


def literal(rng: Rng, regime: str) -> Program:
    """Draw small ones for the paper's literal form, whose cones grow with their index."""
    return spectrum_margin(rng, regime, "literal", 80)


def alignment(rng: Rng, regime: str) -> Program:
    """Draw a kernel-target alignment."""
    X, truth = sample(rng, regime, size_of(rng))
    spectrum, _ = spectrum_of(rng, regime, X, 100)
    spectra: Any = [spectrum, spectrum.truncate(spectrum.q - 1)] if rng.random() < 0.2 else spectrum
    labels, order = sm.encode_labels(labelled(rng, regime, truth, len(X) // 2)), bool(rng.random() < 0.7)

    def objective() -> Alignment:
        return Alignment(spectra, labels, order=order)

    return Program(
        lambda **options: sm.solvers.alignment(objective(), **options),
        lambda: sm.problems.kta(objective()),
        len(X),
    )


def spectral_ridge(rng: Rng, regime: str) -> Program:
    """Draw least squares over eigenvectors."""
    X, truth = sample(rng, regime, size_of(rng))
    spectrum, unit = spectrum_of(rng, regime, X)
    labels = sm.encode_labels(labelled(rng, regime, truth, len(X) // 2))
    delta, penalty = power_spectrum(spectrum, float(rng.integers(0, 4))), unit**2 / weight(rng, regime)

    def objective() -> SpectralRidge:
        return SpectralRidge(spectrum, labels, delta, penalty)

    return Program(
        lambda **options: sm.solvers.spectral_ridge(objective(), **options),
        lambda: sm.problems.spectral_ridge_primal(objective()),
        len(X),
    )


def cccp_round(rng: Rng, regime: str) -> Program:
    """Draw a round of the concave-convex procedure for S3VMs."""
    X, truth = sample(rng, regime, size_of(rng, 200))
    if regime == "near-singular":
        X = np.column_stack([X, X[:, :1] + 1e-8 * rng.standard_normal((len(X), 1)) * np.sqrt(spread_of(X))])
    y = sm.encode_labels(labelled(rng, regime, truth, len(X) // 2))
    loss = ("hinge", "squared_hinge")[rng.integers(2)]
    C, balance = weight(rng, regime) / spread_of(X), float(rng.uniform(-0.2, 0.2))
    intercept = ("balance", "regularized")[rng.integers(2)]
    if regime in ("scale", "offset"):
        intercept = "balance"  # a constant of one is no feature next to such samples
    guess = np.where(rng.random(int((~np.isin(np.arange(len(X)), y.labeled)).sum())) < 0.5, 1.0, -1.0)

    def pair() -> tuple[S3VM, Array]:
        obj = S3VM(X, y, loss, C=C, balance=balance, intercept=intercept)
        return obj, obj.C_star * guess

    def ours(**options: float) -> sm.SolveResult:
        obj, beta = pair()
        both = obj.guessed(np.zeros(len(beta)), 2.0 * obj.C_star)
        linear = np.zeros(both.features.n_samples)
        linear[obj.unlabeled] = beta
        return sm.solvers.weighted_svm(both.with_(linear=linear), **options)

    return Program(ours, lambda: sm.problems.cccp_subproblem(*pair()), len(X))


def relaxation(rng: Rng, regime: str) -> Program:
    """Draw small S3VMs for the semidefinite relaxation."""
    X, truth = sample(rng, regime, int(rng.integers(12, 31)))
    y = sm.encode_labels(labelled(rng, regime, truth, 6))
    loss = ("hinge", "squared_hinge")[rng.integers(2)]
    unlabeled_loss = ("symmetric_hinge", "symmetric_squared_hinge", "exp")[rng.integers(3)]
    C = weight(rng, regime) / spread_of(X)
    intercept = "balance" if regime in ("scale", "offset") else "regularized"

    def objective() -> S3VM:
        return S3VM(X, y, loss, unlabeled_loss, C=C, balance=0.1, intercept=intercept)

    return Program(
        # Its own default, 1e-3, is one for bounds that will be improved by branching.
        lambda tol=1e-9: sm.optima.s3vm_bound(objective(), tol=tol),
        lambda: sm.optima.s3vm_relaxation(objective()),
        len(X),
    )


_OF_SPECTRA = ("scale", "near-singular", "duplicates", "separable", "ties", "one label")
_OF_SAMPLES = tuple(edge for edge in EDGES if edge != "gammas")

FAMILIES = {
    "LapSVM": Family(lapsvm, "QP", 160, EDGES),
    "LapSVM, primal": Family(lapsvm_primal, "QP", 60, EDGES),
    "SVM, RMM": Family(relative_margin, "QP", 200, _OF_SAMPLES),
    "STORM, STOAM, MKL": Family(spectrum_margin, "QCQP", 220, ("weights", *_OF_SPECTRA)),
    "the same, literal": Family(literal, "QCQP", 40, ("weights", *_OF_SPECTRA)),
    "alignment": Family(alignment, "QP", 120, _OF_SPECTRA),
    "SpectralRidge": Family(spectral_ridge, "QP", 60, ("weights", *_OF_SPECTRA)),
    "CCCP round": Family(cccp_round, "QP", 140, _OF_SAMPLES),
    "S3VM relaxation": Family(relaxation, "SDP", 40, _OF_SAMPLES),
}
