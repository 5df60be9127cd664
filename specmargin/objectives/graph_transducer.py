r"""Transduction on a graph: the spectral graph transducer.

Joachims' relaxation of the normalised graph cut (eq. 1 of the spectrum paper) gives all n samples values h at once,

    min_h  1/2 h'V Q V'h + C (h - tau)'P (h - tau)   s.t.  h in span(V),  h'h = n,

with the eigenvectors V of a Laplacian after the first one, a diagonal Q that penalises the rough ones, P_ii = 1/l+ at
the l+ positive samples and 1/l- at the l- negative ones, and the targets tau+ = sqrt(l-/l+), tau- = -sqrt(l+/l-).
The paper prints tau without roots and signs, and asks for h'1 = 0 only: every h that is orthogonal to V and follows
tau at the labelled samples would then be free of cost. Samples are classified by h against (tau+ + tau-) / 2.
A label of weight c counts as c labels of its sample (not as c rows, each a node of the graph): P_ii = c_i / l+ where l+
and l- are the sums of the weights of each class.

**Reduced.** h = V w with |w|^2 = n leaves a quadratic on a sphere,

    min_w  1/2 w'A w - b'w + C tau'P tau,   A = Q + 2 C Vbar'P Vbar,   b = 2 C Vbar'P tau.

**Duality.** The sphere is not convex, yet there is no gap: for every lam <= lambda_min(A) the Lagrangian

    L(w, lam) = value(w) - lam/2 (|w|^2 - n)

is convex in w, so that its minimum bounds the optimum from below, and the best such lam closes the gap. For any w at
all that minimum is L(w, lam) - 1/2 r'(A - lam)^+ r with the residual r = (A - lam) w - b: small as r^2, and free of
the cancellation that -1/2 b'(A - lam)^+ b suffers from where C is large. `certificate` evaluates this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.arrays import finite_numbers
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, several
from specmargin.objectives.contract import Arrays, ByName, Shapes, multipliers_of
from specmargin.objectives.rounding.graph_transducer import GraphTransducerRounding
from specmargin.objectives.spectrum_margin import require_nodes
from specmargin.results import Certificate
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray

__all__ = ["SpectralGraphTransducer"]

_LARGEST = 1e100  # squares of larger weights overflow
_FEASIBLE = 1e-9
"""Relative distance from the sphere that counts as rounding."""
_SHIFTS = np.concatenate([[0.0], np.logspace(-20, -8, 25)])
"""How far `prove` lowers lam, relative to the norm of A: at lambda_min itself the rounding of r counts in full."""


@dataclass(frozen=True, eq=False)
class SpectralGraphTransducer(ByName):
    """The objective of the spectral graph transducer (eq. 1 of the spectrum paper).

    Parameters
    ----------
    spectrum : Spectrum
        The lowest eigenpairs of a Laplacian of n samples. Column 0 is left out, the k = spectrum.q - 1 others are V.
        On a disconnected graph the rest of the null space belongs to V: it separates the components, and costs least.
    labels : Labels
        Binary labels of these samples, of both classes; those with weights count as often.
    C : float
        Weight of the loss, > 0; from 1e1 to 1e6, say: the values h have mean square one, the loss is a class mean.
    Q : array-like of shape (k,), optional
        Diagonal, nonnegative and not decreasing; default 1, 4, 9, ..., k^2. The eigenvalues
        ``spectrum.eigenvalues[1:]`` are Joachims' relaxed cut itself.

    Raises
    ------
    ValueError
        For C or Q out of range, fewer than two eigenvectors, or labels that do not match.

    Notes
    -----
    ``w`` (k,) decides the value. The multiplier of `certificate` is ``lam``, that of the sphere, by default the one
    that leaves the least residual.

    References
    ----------
    Joachims, Transductive learning via spectral graph partitioning, ICML 2003. Shivaswamy & Jebara, Laplacian
    spectrum learning, ECML 2010, eq. 1.

    Examples
    --------
    >>> from specmargin.graphs import knn_graph
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.spectra import laplacian_eigenpairs
    >>> spectrum = laplacian_eigenpairs(knn_graph(np.arange(8.0)[:, None], n_neighbors=2), q=4)
    >>> obj = SpectralGraphTransducer(spectrum, encode_labels([0, -1, -1, -1, -1, -1, -1, 1]), C=100.0)
    >>> w = np.array([-np.sqrt(8.0), 0.0, 0.0])
    >>> obj.k, obj.threshold, (obj.decisions({"w": w}) > 0).tolist()
    (3, 0.0, [False, False, False, False, True, True, True, True])
    >>> obj.certificate({"w": w}, {"lam": 0.0}).relative_gap < 1
    True
    """

    spectrum: Spectrum
    labels: Labels
    C: float
    Q: Any = None

    def __post_init__(self) -> None:
        n, labels, k = self.spectrum.n_samples, self.labels, self.spectrum.q - 1
        if not labels.is_binary:
            raise InvalidInputError(f"the transducer takes binary labels, not {several(labels)}.")
        require_nodes(labels, n)
        if (labels.sign > 0).all() or (labels.sign < 0).all():
            raise InvalidInputError(
                "all labelled samples are of one class; label at least one sample of each of two classes."
            )
        if k < 1:
            raise InvalidInputError(f"a spectrum of q={k + 1} eigenvectors leaves none after the first; take q >= 2.")
        if not 0 < self.C <= _LARGEST:
            raise InvalidInputError(
                f"C={self.C!r} must be a positive number up to {_LARGEST:.0e}: it weighs the loss, often 1e1 to 1e6."
            )
        Q = np.arange(1.0, k + 1.0) ** 2 if self.Q is None else np.array(self.Q, dtype=float)
        if Q.shape != (k,):
            raise InvalidInputError(
                f"Q has the shape {Q.shape}, but there are {k} eigenvectors after the first; pass ({k},)."
            )
        finite_numbers("Q", Q, "penalties >= 0 that do not decrease: they are on rough eigenvectors", least=0.0)
        if (np.diff(Q) < 0).any():
            k = int((np.diff(Q) < 0).argmax())
            raise InvalidInputError(
                f"Q[{k}] is {Q[k]}, but Q[{k + 1}] is {Q[k + 1]}: of rough eigenvectors, it must not decrease."
            )
        object.__setattr__(self, "Q", Q)

    name = "SGT"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"w": (self.k,)}

    def value(self, variables: Arrays) -> float:
        """Return the objective of eq. 1 at ``w``, on the sphere |w|^2 = n but for rounding; inf off it."""
        (w,) = self._read(variables)
        return self.value_at(w) if abs(math.sqrt(float(w @ w) / self.n) - 1.0) <= _FEASIBLE else math.inf

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Return `prove` at ``w``, with the multiplier ``lam`` where it is given."""
        (w,) = self._read(variables)
        (lam,) = multipliers_of({"lam": ()}, duals)
        return self.prove(w, self._multiplier(w) if lam is None else float(lam))

    def _multiplier(self, w: FloatArray) -> float:
        """Return the lam of least |(A - lam) w - b| for w scaled to the sphere."""
        length = float(np.linalg.norm(w))
        if length == 0:
            return 0.0  # `prove` says what is wrong
        w = math.sqrt(self.n) / length * w
        return float(w @ (self.A @ w - self.b)) / self.n

    @property
    def k(self) -> int:
        """Number of eigenvectors in V."""
        return self.spectrum.q - 1

    @property
    def n(self) -> int:
        """Number of samples that the eigenvectors are of, the squared radius of the sphere."""
        return self.spectrum.n_reached

    @cached_property
    def sizes(self) -> tuple[float, float]:
        """Sums of the weights of the positive and of the negative labels, their numbers without weights."""
        positive, c = self.labels.sign > 0, self.labels.weights_or_ones
        return math.fsum(c[positive]), math.fsum(c[~positive])

    @cached_property
    def p(self) -> FloatArray:
        """P at the labelled samples."""
        return self.labels.weights_or_ones / np.where(self.labels.sign > 0, *self.sizes)

    @cached_property
    def tau(self) -> FloatArray:
        """Targets of the labelled samples, (l,)."""
        l_positive, l_negative = self.sizes
        ratio = math.sqrt(l_negative / l_positive)
        return np.where(self.labels.sign > 0, ratio, -1.0 / ratio)

    @property
    def threshold(self) -> float:
        """Midpoint of the two targets: h above it is positive."""
        return float(self.tau.max() + self.tau.min()) / 2

    @cached_property
    def labeled_rows(self) -> FloatArray:
        """Labelled rows of V, (l, k)."""
        return self.spectrum.eigenvectors[self.labels.labeled, 1:]

    @cached_property
    def _rows(self) -> tuple[FloatArray, FloatArray]:
        """The loss as least squares: (2 C P)^(1/2) times Vbar and times tau."""
        root = np.sqrt(2.0 * self.C * self.p)
        return root[:, None] * self.labeled_rows, root * self.tau

    @cached_property
    def A(self) -> FloatArray:
        """Quadratic part Q + 2 C Vbar'P Vbar, (k, k)."""
        R = self._rows[0]
        A = R.T @ R
        A[np.diag_indices(self.k)] += self.Q
        return A

    @cached_property
    def b(self) -> FloatArray:
        """Linear part 2 C Vbar'P tau, (k,)."""
        R, t = self._rows
        return R.T @ t

    @cached_property
    def eigen(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues (k,) and eigenvectors (k, k) of A.

        The eigenvalues are Rayleigh quotients, sums of squares: errors of the eigenvectors count squared only, and
        the smallest ones keep their digits next to large ones.
        """
        return self.Q @ self._E**2 + (self._rows_in_eigenvectors**2).sum(axis=0), self._E

    @cached_property
    def _E(self) -> FloatArray:
        return np.linalg.eigh(self.A)[1]

    @cached_property
    def _rows_in_eigenvectors(self) -> FloatArray:
        """Rows of the loss in the eigenvectors of A: products with the low ones lose no digits to the high ones."""
        return self._rows[0] @ self._E

    def scores(self, w: FloatArray) -> FloatArray:
        """Return h = V w at all samples, (n,)."""
        return self.spectrum.eigenvectors[:, 1:] @ w

    def decisions_at(self, w: FloatArray) -> FloatArray:
        """Return f = V w less the threshold at all samples, (n,): its sign classifies."""
        return self.scores(w) - self.threshold

    def value_at(self, w: FloatArray) -> float:
        """Return the objective of eq. 1 at h = V w, whatever the length of w."""
        R, t = self._rows
        return 0.5 * float(self.Q @ w**2 + ((R @ w - t) ** 2).sum())

    def lagrangian(self, w: FloatArray, lam: float) -> float:
        """Return value(w) - lam/2 (|w|^2 - n)."""
        return self.value_at(w) - 0.5 * lam * float(w @ w - self.n)

    def residual(self, w: FloatArray, lam: float) -> FloatArray:
        """Return the gradient of the Lagrangian, (A - lam I) w - b, in the eigenvectors of A, (k,)."""
        R, t = self._rows
        return self._E.T @ ((self.Q - lam) * w) + self._rows_in_eigenvectors.T @ (R @ w - t)

    def dual_bound(self, lam: float) -> float:
        """Return the minimum of the Lagrangian over w, a lower bound on the optimum; -inf for lam > lambda_min(A).

        At lambda_min itself it is finite only if b has no component along the lowest eigenvectors.
        """
        a, E = self.eigen
        if not lam <= a.min():
            return -math.inf
        beta, curvature = E.T @ self.b, a - lam
        w = E @ np.divide(beta, curvature, out=np.zeros_like(beta), where=curvature > 0)
        return self.lagrangian(w, lam) - float(self._excess(w, lam, np.zeros(1))[0])

    def _excess(self, w: FloatArray, lam: float, shifts: FloatArray) -> FloatArray:
        """Return 1/2 r'(A - lam)^+ r, what L(w, .) lies above its minimum, for lam less each of the shifts."""
        a, E = self.eigen
        r = self.residual(w, lam) + shifts[:, None] * (E.T @ w)
        curvature = a - lam + shifts[:, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return 0.5 * np.where(r == 0, 0.0, (r / np.sqrt(curvature)) ** 2).sum(axis=1)  # r**2 may underflow

    def prove(self, w: FloatArray, lam: float) -> Certificate:
        """Measure the gap at the nearest point of the sphere, against the dual bound at lam.

        Parameters
        ----------
        w : ndarray of shape (k,)
            Coefficients of h = V w, not all zero; scaled to |w|^2 = n.
        lam : float
            Multiplier of the sphere. It is lowered to lambda_min(A) where it exceeds it, and below it by the little
            that makes the bound best: in the hard case b is orthogonal to the lowest eigenvectors up to rounding only.

        Returns
        -------
        Certificate
            A gap of zero proves that w is a *global* optimum. ``primal_residual`` is | |w| / sqrt(n) - 1 |,
            ``dual_residual`` by how much lam exceeded lambda_min(A), relative to the norm of A.

        Raises
        ------
        ValueError
            If w is zero, of the wrong shape, or not finite, or lam is not.
        """
        w = np.asarray(w, dtype=float)
        length = float(np.linalg.norm(w)) if w.shape == (self.k,) else math.nan
        if not (math.isfinite(length) and length > 0):
            raise InvalidInputError(
                f"w must be a finite nonzero vector of shape ({self.k},), got the shape {w.shape} and the norm "
                f"{np.linalg.norm(w)}."
            )
        if not math.isfinite(lam):
            raise InvalidInputError(
                f"lam={lam!r} must be finite; any number up to the smallest eigenvalue of A bounds."
            )
        stretch = math.sqrt(self.n) / length
        given, w = w, w * stretch
        a = self.eigen[0]
        lowest, norm = float(a.min()), float(a.max())
        # On the sphere L(w, .) is the value for every lam.
        primal = self.value_at(w)
        excess = float(self._excess(w, min(lam, lowest), _SHIFTS * norm).min())
        return Certificate(
            primal_objective=primal,
            dual_objective=primal - excess,
            rounding=self._rounding.of_gap(given, min(lam, lowest), primal, excess),
            primal_residual=abs(1.0 / stretch - 1.0),
            dual_residual=max(0.0, lam - lowest) / norm if norm > 0 else 0.0,
        )

    @cached_property
    def _rounding(self) -> GraphTransducerRounding:
        return GraphTransducerRounding(self)
