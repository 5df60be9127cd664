r"""Kernel-target alignment as nonnegative least squares, by an active set.

The alignment (eq. 2 of the spectrum paper, `specmargin.objectives.Alignment`) is a cosine, so its best ray is the
projection of the label matrix yy' on the cone of admissible kernels. The cone is spanned by the kernels
K_r = sum_j A_rj u_j u_j' of its extreme spectra:

    min_{kappa >= 0}  1/2 | sum_r kappa_r K_r - yy' |^2  =  1/2 kappa'H kappa - h'kappa + const,

H = A M A', h = A a with M and a of the objective: for an ordered spectrum a double cumulative sum. Few rays are
positive at the optimum, and an active set finds them in two to ten steps; `alignment` is the function to call.

M squares what the eigenvectors know: where rays are nearly dependent, and always when there are more of them than the
l(l+1)/2 entries of a kernel, the normal equations do not see by how little. They are used while their pivots are
safe; below that the kernels K_r of the support themselves are factorised.
"""

from __future__ import annotations

import time
from functools import cached_property

import numpy as np
import scipy.linalg as sla

from specmargin.objectives import Alignment, BlockAlignment
from specmargin.results import History, SolveResult, Status
from specmargin.rounding import cholesky
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["alignment"]

_PEAK = 0.1  # prefixes enter together if their gradient is a peak of at least this share of the largest one,
_MORE = 4  # and as many as there are already, and these: most of a larger crowd would have to leave again
_LARGE, _CROWD = 0.05, 40  # the same for single eigenvectors, which are less alike and stay
_SAFE = 1e-3  # distance of a ray from the others, relative to its length, that H resolves to ten digits
_DEPENDENT = 1e-13  # relative distance at which a ray is a combination of the others, but for rounding
_VANISHING = 1e-28  # share of the largest trace below which a ray is rounding: eigenvectors of an unlabelled component
_KKT = 2e-15  # violation, relative to the largest |h|, that is left alone


def alignment(obj: Alignment | BlockAlignment, *, tol: float = 1e-10, max_iter: int | None = None) -> SolveResult:
    r"""Maximise the alignment of eq. 2 exactly.

    Active set of Lawson and Hanson, with several rays entering at once. In every step the peaks of the gradient
    h - H kappa enter the support, the least-squares problem on the support is solved, and rays that it would make
    negative leave. The objective falls strictly, so that no support returns.

    ``history`` holds per step the alignment ``objective``, the ``active`` number of positive rays, and ``kkt``, the
    largest violation of

        h - H kappa = 0 on the support,   h - H kappa <= 0 off it

    (kappa >= 0 holds exactly), with all K_r scaled to trace one and relative to max |h|.

    Parameters
    ----------
    obj : Alignment or BlockAlignment
        Ordered or not, with any ties; H may be singular.
    tol : float, default 1e-10
        Relative gap that the certificate has to prove for the status OPTIMAL.
    max_iter : int, optional
        Steps; default 3 m, far more than it takes.

    Returns
    -------
    SolveResult
        Variables ``delta`` (q,), the spectrum of sum one, ``kappa`` (m,), its drops, and ``alignment``. Multipliers
        ``order`` (m,) of kappa >= 0, in the units of `specmargin.problems.kta`.

    Raises
    ------
    ValueError
        If `max_iter` is less than one.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eq. 2, after Zhu, Kandola, Ghahramani & Lafferty. Lawson &
    Hanson, Solving least squares problems, ch. 23.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> from specmargin.solvers.spectrum.alignment import alignment
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> labels = sm.encode_labels(np.array([0, 0] + [-1] * 8 + [1, 1]))
    >>> result = alignment(sm.objectives.Alignment(sm.spectra.laplacian_eigenpairs(W, q=6), labels))
    >>> result.certificate.is_optimal(1e-12), round(float(result.variables["alignment"]), 6)
    (True, 1.0)
    """
    start = time.perf_counter()
    rays, history = _Rays(obj), History()
    kappa, message = _active_set(rays, 3 * obj.cone.m if max_iter is None else max_iter, history)
    multipliers = (rays.image(kappa) - rays.h) * rays.traces / (obj.cone.c * obj.target_norm * obj.unit)
    kappa = kappa * rays.inverse
    kappa /= float(obj.cone.c @ kappa)
    weights = obj.cone.weights(kappa)
    certificate, delta = obj.prove(weights), obj.repair(weights)  # which is what is certified
    return SolveResult(
        problem=obj.name,
        status=certificate.status(tol, None if message else Status.MAX_ITER),
        variables={
            "delta": obj.weights_of(delta),
            "kappa": kappa,
            "alignment": np.asarray(certificate.primal_objective),
        },
        duals={"order": np.maximum(multipliers, 0.0)},
        certificate=certificate,
        history=history,
        solver="alignment",
        n_iter=len(history),
        seconds=time.perf_counter() - start,
        message=message or "the steps ran out",
    )


class _Rays:
    """The extreme kernels of the cone, scaled to trace one, and the target TT' of length one.

    `h` holds their inner products with the target. Those between each other, H, are never formed as a whole: A M
    gives a product with H, and the block of a support, by what is left of A. `inverse` are the reciprocal traces, zero
    for a vanishing ray: it then has no gradient, and never enters.
    """

    def __init__(self, obj: Alignment | BlockAlignment) -> None:
        cone = obj.cone
        self.traces: FloatArray = cone.sums(np.sqrt(obj.M.diagonal()))
        kept = self.traces > _VANISHING * self.traces.max()
        self.inverse: FloatArray = np.divide(1.0, self.traces, out=np.zeros_like(self.traces), where=kept)
        self.h: FloatArray = cone.sums(obj.a) * self.inverse / obj.target_norm
        self._AM = cone.sums(obj.M)
        self._obj = obj
        self._vectors: dict[int, FloatArray] = {}

    def image(self, kappa: FloatArray) -> FloatArray:
        """Return H kappa, a sum of nonnegative terms that has all its digits."""
        # Weights may come as a reversed view, which BLAS does not take.
        delta = np.ascontiguousarray(self._obj.cone.weights(kappa * self.inverse))
        return (self._AM @ delta) * self.inverse

    def inner_products(self, support: IntArray) -> FloatArray:
        """Return the rows and columns of H of a support."""
        scale = self.inverse[support]
        return self._obj.cone.sums(self._AM[support].T)[support] * scale * scale[:, None]

    def entering(self, gradient: FloatArray, n_support: int) -> IntArray:
        """Return the rays that join a support of that size, those of the largest gradient first."""
        if self._obj.order:
            return _largest_first(_peaks(gradient), _PEAK)[: n_support + _MORE]
        return _largest_first(gradient, _LARGE)[: n_support + _CROWD]

    def solve(self, support: IntArray, H: FloatArray) -> tuple[FloatArray, BoolArray | None]:
        """Return the least-squares coefficients on a support, or which of its rays depend on those before them."""
        h = self.h[support]
        factor = cholesky(H)
        if factor is not None and (factor.diagonal() ** 2 > _SAFE**2 * H.diagonal()).all():
            x = sla.lapack.dpotrs(factor, h, lower=1)[0]
            return x + sla.lapack.dpotrs(factor, h - H @ x, lower=1)[0], None
        K = np.column_stack([self._vector_of(int(r)) for r in support])
        Q, R = np.linalg.qr(K)
        distance = np.zeros(len(support))  # a kernel has l(l+1)/2 entries: further rays depend on these
        distance[: len(R)] = np.abs(R.diagonal())
        dependent = distance <= _DEPENDENT * np.linalg.norm(K, axis=0)
        if dependent.any():
            return np.zeros(len(support)), dependent
        x = sla.solve_triangular(R, Q.T @ self._target, check_finite=False)
        return x + sla.solve_triangular(R, Q.T @ (self._target - K @ x), check_finite=False), None

    @cached_property
    def _basis(self) -> tuple[FloatArray, FloatArray]:
        """Labelled rows and target; of more than q rows only what lies in the span of the columns of U."""
        U, T = self._obj.U, self._obj.target
        T = T if T.ndim == 2 else T[:, None]
        if len(U) <= U.shape[1]:
            return U, T
        Q, R = np.linalg.qr(U)
        return R, Q.T @ T

    @cached_property
    def _target(self) -> FloatArray:
        T = self._basis[1]
        return _vector(T @ T.T / self._obj.target_norm)

    def _vector_of(self, r: int) -> FloatArray:
        """Return a kernel of trace one as a vector."""
        if r not in self._vectors:
            ray = np.zeros(self._obj.cone.m)
            ray[r] = self.inverse[r]
            weights = self._obj.cone.weights(ray)
            used = np.flatnonzero(weights)
            U = self._basis[0][:, used]
            self._vectors[r] = _vector((U * weights[used]) @ U.T)
        return self._vectors[r]


def _vector(K: FloatArray) -> FloatArray:
    """Return the upper triangle of a symmetric matrix, so that inner products stay those of the matrices."""
    rows, columns = np.triu_indices(len(K))
    return np.asarray(K[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def _active_set(rays: _Rays, max_iter: int, history: History) -> tuple[FloatArray, str]:
    """Return the coefficients of the rays, and how it ended: nothing where the steps ran out."""
    h = rays.h
    kappa, support = np.zeros(len(h)), np.zeros(0, dtype=np.intp)
    gradient, scale = h, float(h.max())
    # In exact arithmetic the objective falls; its rounding is coarser than the gradient's, so supports are remembered.
    seen, barred = {b""}, np.zeros(len(h), dtype=bool)
    while True:
        free = np.where(barred, 0.0, gradient)
        free[support] = 0.0
        if free.max() <= _KKT * scale:
            return kappa, "a ray with a positive gradient depends on the support" if barred.any() else "optimal support"
        if len(history) >= max_iter:
            return kappa, ""
        entering = rays.entering(free, len(support))
        trial, trial_support = _optimum_on(rays, kappa, support, entering)
        key = np.sort(trial_support).tobytes()
        if key in seen:
            barred[entering] = True
            continue
        seen.add(key)
        barred[:] = False
        kappa, support = trial, trial_support
        image = rays.image(kappa)
        gradient = h - image
        violated = np.maximum(gradient, 0.0)
        violated[support] = np.abs(gradient[support])
        history.record(
            objective=float(h @ kappa / np.sqrt(kappa @ image)),
            kkt=float(violated.max()) / scale,
            active=len(support),
        )


def _peaks(gradient: FloatArray) -> FloatArray:
    """Return the gradient where it has a local maximum, else zero: neighbours of a peak are nearly collinear."""
    padded = np.concatenate([[-np.inf], gradient, [-np.inf]])
    return np.where((gradient >= padded[:-2]) & (gradient > padded[2:]), gradient, 0.0)


def _largest_first(gradient: FloatArray, share: float) -> IntArray:
    """Return where the gradient is at least that share of its largest value, the largest first."""
    largest = np.flatnonzero(gradient >= share * gradient.max())
    return largest[np.argsort(-gradient[largest], kind="stable")]


def _optimum_on(rays: _Rays, kappa: FloatArray, support: IntArray, entering: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the optimum over the enlarged support, shrunk until all its coefficients are positive."""
    # The old ones first: it is the newcomers that may depend on others.
    support = np.concatenate([support, entering])
    current, H = kappa[support], rays.inner_products(support)
    while len(support):
        target, leaving = rays.solve(support, H)
        if leaving is None:
            negative = target <= 0
            if not negative.any():
                current = target
                break
            leaving = negative & (current == 0)
            if not leaving.any():
                steps = np.full(len(support), np.inf)
                steps[negative] = current[negative] / (current - target)[negative]
                step = float(steps.min())
                current = np.maximum(current + step * (target - current), 0.0)
                leaving = (steps <= step) | (current == 0)
        staying = ~leaving
        support, current, H = support[staying], current[staying], H[staying][:, staying]
    trial = np.zeros_like(kappa)
    trial[support] = current
    return trial, support
