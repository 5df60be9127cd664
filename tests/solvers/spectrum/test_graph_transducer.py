"""The spectral graph transducer against all stationary points, a semidefinite program, and its own proof."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import specmargin as sm
from specmargin.objectives.graph_transducer import SpectralGraphTransducer
from specmargin.results import Status
from specmargin.solvers.spectrum.graph_transducer import _refined, graph_transducer
from specmargin.spectra import Spectrum

FAMILIES = ("random", "cycle", "mirror", "dark", "dark_pair")
families = pytest.mark.parametrize("family", FAMILIES)


def encoded(n, labeled, positive):
    y = np.full(n, -1)
    y[labeled] = positive
    return sm.encode_labels(y)


def classes(rng, l):
    positive = rng.integers(0, 2, size=l)
    positive[:2] = 0, 1
    return positive


def case(family, seed):
    """A random problem; the last three families are hard ones, mostly.

    mirror: a path whose labels are symmetric, the lowest eigenvector of A often antisymmetric. dark: one or two
    eigenvectors that vanish at the labelled samples, with equal Q where there are two.
    """
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    n = 2 * int(rng.integers(6, 16))
    k = int(rng.integers(2, 9))
    C = 10.0 ** rng.uniform(1, 6)
    Q = None
    if family == "mirror":
        half = rng.permutation(n // 2)[: int(rng.integers(2, n // 2))]
        positive = classes(rng, len(half))
        spectrum = sm.spectra.laplacian_eigenpairs(nx.to_numpy_array(nx.path_graph(n)), q=k + 1, normalized=False)
        labels = encoded(n, np.append(half, n - 1 - half), np.append(positive, positive))
        return SpectralGraphTransducer(spectrum, labels, C, spectrum.eigenvalues[1:] if seed % 2 else None)
    labeled = rng.permutation(n)[: int(rng.integers(2, n // 2))]
    labels = encoded(n, labeled, classes(rng, len(labeled)))
    if family == "cycle":
        spectrum = sm.spectra.laplacian_eigenpairs(nx.to_numpy_array(nx.cycle_graph(n)), q=k + 1, normalized=False)
        return SpectralGraphTransducer(spectrum, labels, C, spectrum.eigenvalues[1:] if seed % 2 else None)
    dark = {"random": 0, "dark": 1, "dark_pair": 2}[family]
    U = np.column_stack([np.ones(n), rng.normal(size=(n, k))])
    U[labeled, 1 : 1 + dark] = 0.0
    others = np.setdiff1d(np.arange(n), labeled)
    U[others, 1 : 1 + dark] -= U[others, 1 : 1 + dark].mean(axis=0)
    U = np.linalg.qr(U)[0]
    U[labeled, 1 : 1 + dark] = 0.0
    if dark == 2:
        Q = np.maximum(np.arange(1.0, k + 1.0) ** 2, 4.0)
    return SpectralGraphTransducer(Spectrum(np.arange(k + 1.0), U, 1), labels, C, Q)


class Written:
    """Eq. 1 in w, from the spectrum and the labels alone."""

    def __init__(self, obj):
        sign, self.n = obj.labels.sign, obj.spectrum.n_samples
        l_plus, l_minus = (sign > 0).sum(), (sign < 0).sum()
        self.p = obj.C * np.where(sign > 0, 1 / l_plus, 1 / l_minus)
        self.tau = np.where(sign > 0, np.sqrt(l_minus / l_plus), -np.sqrt(l_plus / l_minus))
        self.V = obj.spectrum.eigenvectors[obj.labels.labeled, 1:]
        self.Q = np.asarray(obj.Q)
        self.A = np.diag(self.Q) + 2 * self.V.T @ (self.p[:, None] * self.V)
        self.b = 2 * self.V.T @ (self.p * self.tau)

    def value(self, w):
        return self.Q @ w**2 / 2 + self.p @ (self.V @ w - self.tau) ** 2

    def polished(self, w, lam):
        """Newton's method on the stationarity of the Lagrangian and |w|^2 = n, in the given coordinates."""
        best, k = np.inf, len(self.Q)
        for _ in range(6):
            w = w * np.sqrt(self.n) / np.linalg.norm(w)
            best = min(best, self.value(w))
            r = self.Q * w - lam * w + 2 * self.V.T @ (self.p * (self.V @ w - self.tau))
            J = np.block([[self.A - lam * np.eye(k), -w[:, None]], [-w[None, :], np.zeros((1, 1))]])
            step = np.linalg.lstsq(J, -np.append(r, 0.0), rcond=1e-13)[0]
            w, lam = w + step[:k], lam + step[k]
        return best

    def optimum(self):
        """The least value of all stationary points on the sphere, and whether the case is hard.

        Those with A - lam I regular have lam among the real eigenvalues of a 2k x 2k matrix (Gander, Golub & von
        Matt); the others complete (A - a_j)^+ b by an eigenvector of a_j.
        """
        k = len(self.Q)
        roots = np.linalg.eigvals(np.block([[self.A, -np.eye(k)], [-np.outer(self.b, self.b) / self.n, self.A]]))
        roots = roots[np.abs(roots.imag) <= 1e-6 * (1 + np.abs(roots))].real
        points = [(np.linalg.lstsq(self.A - lam * np.eye(k), self.b, rcond=1e-13)[0], lam) for lam in roots]
        factor = np.vstack([np.diag(np.sqrt(self.Q)), np.sqrt(2 * self.p)[:, None] * self.V])
        _, singular, E = np.linalg.svd(factor, full_matrices=False)
        a, beta, hard = singular**2, E @ self.b, False
        for j in range(k):
            inside = np.abs(a - a[j]) <= 1e-9 * a[j] + 1e-12
            rest = E[~inside].T @ (beta[~inside] / (a[~inside] - a[j]))
            missing = self.n - rest @ rest
            if missing > 0:
                points += [(rest + side * np.sqrt(missing) * E[j], a[j]) for side in (-1, 1)]
                orthogonal = np.linalg.norm(beta[inside]) <= 1e-9 * np.linalg.norm(self.b)
                hard |= bool(orthogonal and inside[np.argmin(a)])
        return min(self.polished(w, lam) for w, lam in points if np.linalg.norm(w) > 0), hard


# Global optimality


def without_rounding(result):
    """The relative gap of the certificate's two numbers themselves."""
    return abs(replace(result.certificate, rounding=0.0).relative_gap)


def test_many_cases_of_which_a_third_are_hard():
    hard = 0
    for seed in range(16):
        for family in FAMILIES:
            obj = case(family, seed)
            result = graph_transducer(obj, tol=1e-9)
            written = Written(obj)
            optimum, is_hard = written.optimum()
            value = written.value(result.variables["w"])
            assert value == pytest.approx(optimum, rel=1e-12, abs=1e-12), (family, seed)
            assert result.certificate.primal_objective == pytest.approx(value, rel=1e-12, abs=1e-12)
            assert without_rounding(result) <= 1e-12
            assert result.status is Status.OPTIMAL
            assert result.message.startswith("hard case") == is_hard, (family, seed)
            hard += is_hard
    assert 20 <= hard <= 48


@pytest.mark.parametrize("share", 10.0 ** -np.arange(1.0, 17.0, 3.0))
@pytest.mark.parametrize("C", [10.0, 1e4])
def test_nearly_hard_cases(share, C):
    """The dark eigenvector gains a little light: lam approaches the lowest eigenvalue, w_1 does not vanish."""
    obj = case("dark", 3)
    U = obj.spectrum.eigenvectors.copy()
    U[obj.labels.labeled[0], 1] = share
    obj = SpectralGraphTransducer(Spectrum(obj.spectrum.eigenvalues, U, 1), obj.labels, C)
    result = graph_transducer(obj)
    assert Written(obj).value(result.variables["w"]) == pytest.approx(Written(obj).optimum()[0], rel=1e-12)
    assert abs(result.certificate.relative_gap) <= 1e-12
    assert abs(result.variables["w"][0]) > 0.1
    assert result.n_iter <= 20


@pytest.mark.parametrize("cut", [False, True])
def test_large_symmetric_graphs_lose_no_digits(cut):
    """Eigenvalues of A from 1e-4 to 1e6 and a lowest eigenvector that b is orthogonal to, up to rounding of 1e6."""
    spectrum = sm.spectra.laplacian_eigenpairs(nx.to_numpy_array(nx.path_graph(400)), q=200, normalized=False)
    for seed in range(2):
        half = np.random.default_rng(seed).permutation(200)[:20]
        positive = half < 100
        positive[:2] = 0, 1
        for C in (1e1, 1e3, 1e6):
            obj = SpectralGraphTransducer(
                spectrum,
                encoded(400, np.append(half, 399 - half), np.append(positive, positive)),
                C,
                spectrum.eigenvalues[1:] if cut else None,
            )
            result = graph_transducer(obj)
            assert without_rounding(result) <= 1e-12
            # In the hard case the bound hangs on the lowest eigenvalue, 1e-3 beside 1e6, and on a residual of as much.
            assert result.certificate.is_optimal(max(1e-10, 1e-14 * C))


# The hard case


def test_free_direction_does_not_depend_on_lapack():
    """Any rotation of the lowest eigenspace, any signs of the others: the same answer."""
    compared = 0
    for family in ("dark", "dark_pair", "mirror"):
        for seed in range(16):
            obj = case(family, seed)
            result = graph_transducer(obj)
            if not result.message:
                continue
            a, E = obj.eigen
            rng = np.random.default_rng(seed)
            turned = E * rng.choice([-1.0, 1.0], size=obj.k)
            lowest = a <= a.min() * (1 + 1e-9)
            m = int(lowest.sum())
            turned[:, lowest] = turned[:, lowest] @ np.linalg.qr(rng.normal(size=(m, m)))[0]
            other = replace(obj)
            other.__dict__["_E"] = turned
            again = graph_transducer(other)
            np.testing.assert_allclose(again.variables["w"], result.variables["w"], atol=1e-6 * np.sqrt(obj.n))
            compared += 1
    assert compared >= 20


def test_no_label_reaches_the_spectrum():
    """All eigenvectors vanish at the labelled samples: b = 0, A = Q, and the smoothest eigenvector is the answer."""
    U = np.linalg.qr(np.column_stack([np.ones(8), np.random.default_rng(0).normal(size=(8, 3))]))[0]
    U[:2, 1:] = 0.0
    obj = SpectralGraphTransducer(Spectrum(np.arange(4.0), U, 1), encoded(8, [0, 1], [0, 1]), 100.0)
    result = graph_transducer(obj)
    np.testing.assert_allclose(result.variables["w"], [np.sqrt(8), 0, 0])
    assert float(result.variables["lam"]) == 1.0
    assert result.certificate.is_optimal(1e-13)
    assert without_rounding(result) <= 1e-15


# What comes back


@families
def test_variables_belong_together(family):
    obj = case(family, 11)
    result = graph_transducer(obj)
    w, h, f = (result.variables[name] for name in ("w", "h", "f"))
    np.testing.assert_allclose(h, obj.spectrum.eigenvectors[:, 1:] @ w, atol=1e-13)
    np.testing.assert_allclose(f, h - obj.threshold, atol=1e-14)
    assert float(result.variables["lam"]) <= obj.eigen[0].min()
    # Newton's method comes from the left of the root: the length falls to one, lam with it.
    assert (np.diff(result.history["lam"]) <= 0).all()
    assert (np.diff(result.history["length"]) <= 1e-15).all()


def test_a_single_eigenvector():
    spectrum = sm.spectra.laplacian_eigenpairs(nx.to_numpy_array(nx.path_graph(10)), q=2, normalized=False)
    obj = SpectralGraphTransducer(spectrum, encoded(10, [0, 9], [1, 0]), 10.0)
    result = graph_transducer(obj)
    assert (result.variables["f"] > 0).tolist() == [True] * 5 + [False] * 5
    assert result.status is Status.OPTIMAL


def test_steps_may_run_out():
    obj = case("random", 0)
    assert graph_transducer(obj).n_iter > 1
    result = graph_transducer(obj, max_iter=1, tol=0.0)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 1
    assert np.linalg.norm(result.variables["w"]) == pytest.approx(np.sqrt(obj.n))


@pytest.mark.parametrize("seed", range(2))
def test_a_refinement_is_a_newton_step(seed):
    """Near the optimum errors of w and lam are squared, both of them."""
    obj = case("random", seed)
    result = graph_transducer(obj)
    w, lam = result.variables["w"], float(result.variables["lam"])
    rng = np.random.default_rng(seed)
    size = 1e-4 * min(1.0, obj.eigen[0].min() - lam)
    for off, shift in (
        (size * rng.normal(size=obj.k), 0.0),
        (np.zeros(obj.k), size),
        (size * rng.normal(size=obj.k), size),
    ):
        start = (w + off) * np.sqrt(obj.n) / np.linalg.norm(w + off)
        better, better_lam = _refined(obj, start, lam + shift)
        before = np.linalg.norm(obj.residual(start, lam + shift))
        assert np.linalg.norm(obj.residual(better, better_lam)) < 1e-2 * before
        assert np.linalg.norm(better) == pytest.approx(np.sqrt(obj.n), rel=1e-14)


@pytest.mark.parametrize("C", [1e-300, 1e-200, 1e-30])
def test_weights_that_vanish(C):
    """Squares of the residual underflow; the answer is the smoothest eigenvector."""
    result = graph_transducer(replace(case("random", 3), C=C))
    assert result.status is Status.OPTIMAL
    assert np.isfinite(result.variables["h"]).all()


def test_weights_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="up to 1e\\+100"):
        replace(case("random", 3), C=1e300)
