r"""Least squares in the span of a graph's eigenvectors: `SpectralRidge`, LapRLS in closed form.

With the q lowest eigenvectors U of a Laplacian and a fixed spectrum delta,

    min_{V, b}  sum_ik (y_ik - u_i'v_k - b_k)^2 + penalty sum_k sum_j v_jk^2 / delta_j,   f = sqrt(n) U V + b:

one problem for all classes k, because they share the matrix and differ in the right-hand side only. It is LapRLS
(eq. 14 of the primal paper) whose functions are confined to the span of U: there the graph norm f'L^p f is diagonal,
and ``delta = power_spectrum(spectrum, p)`` gives delta_j = lambda_j^-p up to scale. Squares of labels with weights
(`Labels.weights`) count c_i times; c is one elsewhere.

**Units.** Eigenvectors are scaled by sqrt(n) and delta to sum one, so that the mean of the kernel's diagonal is one,
as in `specmargin.objectives.SpectrumMargin`; the loss is a sum over the labelled samples. A penalty of 0.1 means the
same for every n and q.

**Duality.** With v = sqrt(delta) w and X = Ubar sqrt(delta) (labelled rows) the penalty is penalty |w|^2. Any theta
with 1'theta = 0 gives, per class,

    theta'y - sum_i theta_i^2 / (4 c_i) - |X'theta|^2 / (4 penalty)  <=  optimum,

with equality at twice the residuals of the solution, times c. The best multiple of theta is known, (theta'y)^2 over
sum_i theta_i^2 / c_i + |X'theta|^2 / penalty: `dual_bound`. With theta = 2 c r for the residuals r of a candidate
(w, b), b best for w, the gap before that scaling is |X'(c r) - penalty w|^2 / penalty: quadratic in the gradient.

**Leave-one-out** is exact and free. The hat matrix S, f_lab = S y, depends on no label, and leaving out sample i
changes its decision to y_i - r_i / (1 - S_ii). One singular value decomposition serves all penalties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.arrays import finite_numbers
from specmargin.checks import numeric, shown
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.objectives.contract import Arrays, ByName, Shapes, multipliers_of
from specmargin.objectives.held_out.ridge_factors import RidgeFactors
from specmargin.objectives.intercept import exactly_balanced, less_mean, weighted_mean
from specmargin.objectives.spectrum_margin import require_nodes
from specmargin.results import Certificate
from specmargin.rounding import UNIT, exact_dot, exact_sum, gamma, split_product, two_sum
from specmargin.spectra import Spectrum
from specmargin.spectra.transforms import shared_head
from specmargin.typing import FloatArray

__all__ = ["SpectralRidge", "power_spectrum"]

_NULL = 1e-12


def power_spectrum(spectrum: Spectrum, power: float = 2.0) -> FloatArray:
    r"""Return :math:`\delta_j \propto \lambda_j^{-p}` of sum one, the spectrum of the graph norm :math:`f'L^pf`.

    Column 0 gets weight 0: the intercept does its work. The other columns of the null space (a graph in several
    components) have :math:`\lambda = 0`, and so in effect do eigenvalues below 1e-12 of the largest; those of pieces
    that few edges join are nearly zero. They would be free of charge and take all of the trace: where an eigenvector
    outweighs all rougher ones together by more than :math:`4^p`, it and the smoother ones share this multiple of their
    weight (`specmargin.spectra.transforms.shared_head`). If all are zero, all weigh the same. With p = 1 these are the
    weights of `specmargin.spectra.transforms.inverse`; its ``power`` is one of the index, not of the eigenvalue.

    Parameters
    ----------
    spectrum : Spectrum
        The q >= 2 lowest eigenpairs of a Laplacian.
    power : float, default 2
        p >= 0; 0 is flat.

    Returns
    -------
    ndarray of shape (q,)

    Raises
    ------
    ValueError
        If `power` is negative or not finite, or `spectrum` has no column but the constant.

    Examples
    --------
    >>> s = Spectrum(np.array([0.0, 0.0, 0.5, 1.0]), np.eye(4), n_components=2)
    >>> (85 * power_spectrum(s, 2)).round(12).tolist()
    [0.0, 80.0, 4.0, 1.0]
    """
    if not (np.isfinite(power) and power >= 0):
        raise InvalidInputError(f"power={power!r} must be a number >= 0; 2 charges for the square of the Laplacian.")
    if spectrum.q < 2:
        raise InvalidInputError(f"q={spectrum.q} leaves nothing but the constant eigenvector; take q of 2 or more.")
    rates = spectrum.eigenvalues[1:]
    positive = rates[rates > _NULL * rates.max()]
    floor = float(positive.min()) if len(positive) else 1.0
    # Relative to the floor, so that no power overflows.
    weights = (np.maximum(rates, floor) / floor) ** -float(power)
    if power > 0 and len(positive):
        weights[rates < floor] = np.inf
        weights = shared_head(weights, power)
    return np.concatenate([[0.0], weights / weights.sum()])


@dataclass(frozen=True, eq=False)
class SpectralRidge(ByName):
    """Ridge regression on the labels, in the span of the eigenvectors, all classes at once.

    Shapes follow `Labels.sign`: with two classes v is (q,), b a float and decisions (n,); with K > 2 classes, one
    against the rest, they are (q, K), (K,) and (n, K).

    Parameters
    ----------
    spectrum : Spectrum
        The q lowest eigenpairs of a Laplacian of n samples.
    labels : Labels
        Labels of these samples, of two classes or more; their weights multiply the squares.
    delta : ndarray of shape (q,)
        Weights of the eigenvectors, >= 0, of sum one (`power_spectrum`); v_j = 0 where delta_j = 0. Another sum
        changes the unit of the penalty.
    penalty : float, default 0.1
        Weight of the norm per unit mean kernel diagonal, > 0.

    Raises
    ------
    ValueError
        For a penalty that is not positive, a delta of the wrong shape, negative, not finite or zero, or labels that
        do not match.

    Notes
    -----
    ``v`` and ``b`` decide the value. The multipliers of `certificate` are ``theta``, (l,) or (l, K), by default twice
    the residuals, times the weights.

    Examples
    --------
    >>> from specmargin.graphs import knn_graph
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.spectra import laplacian_eigenpairs
    >>> X = np.arange(8.0)[:, None]
    >>> spectrum = laplacian_eigenpairs(knn_graph(X, n_neighbors=2), q=4)
    >>> labels = encode_labels([0, -1, -1, 0, -1, -1, -1, 1])
    >>> obj = SpectralRidge(spectrum, labels, power_spectrum(spectrum))
    >>> round(obj.value({"v": np.zeros(4), "b": -1 / 3}), 12)
    2.666666666667
    """

    weights_only = frozenset({"penalty"})

    spectrum: Spectrum
    labels: Labels
    delta: FloatArray
    penalty: float = 0.1

    def __post_init__(self) -> None:
        self.renew()
        n, q = self.spectrum.n_samples, self.spectrum.q
        require_nodes(self.labels, n)
        delta = np.asarray(self.delta, dtype=np.float64)
        if delta.shape != (q,):
            raise InvalidInputError(
                f"delta={shown(self.delta)} has the shape {delta.shape}, but there are q={q} eigenvectors; pass ({q},)."
            )
        finite_numbers("delta", delta, "such weights as power_spectrum(spectrum) returns", least=0.0)
        if not delta.any():
            raise InvalidInputError(f"delta holds {q} zeros; pass such weights as power_spectrum(spectrum) returns.")
        object.__setattr__(self, "delta", delta)

    @cached_property
    def U(self) -> FloatArray:
        """Labelled rows of sqrt(n) times the eigenvectors, (l, q)."""
        return np.sqrt(self.spectrum.n_reached) * self.spectrum.eigenvectors[self.labels.labeled]

    @cached_property
    def design(self) -> FloatArray:
        """X = Ubar sqrt(delta) less its column means, rows times the roots of their weights, (l, q): b is gone."""
        return self.centred(self.U * np.sqrt(self.delta))

    @cached_property
    def target(self) -> FloatArray:
        """Labels less their means, times the roots of their weights, (l,) or (l, K)."""
        return self.centred(self.labels.sign)

    @cached_property
    def root(self) -> FloatArray:
        """Roots of the weights of the labels, (l,); ones without."""
        return np.sqrt(self.labels.weights_or_ones)

    def centred(self, rows: FloatArray) -> FloatArray:
        """Return rows less their weighted mean, times the roots of the weights: with those their product is zero."""
        apart = less_mean(rows, self.labels.weights)
        return apart if self.labels.weights is None else np.asarray((apart.T * self.root).T)

    @property
    def q(self) -> int:
        """Number of eigenvectors."""
        return self.spectrum.q

    name = "SpectralRidge"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"v": (self.q, *self._columns), "b": self._columns}

    @property
    def _columns(self) -> tuple[int, ...]:
        """Shape of one number per class."""
        return self.labels.sign.shape[1:]

    def renew(self) -> None:
        """Raise where the penalty is out of range."""
        numeric("penalty", self.penalty)
        _check_penalty(self.penalty)

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Return `prove` at ``v`` and ``b``, with the multipliers ``theta`` where they are given."""
        (theta,) = multipliers_of({"theta": self.labels.sign.shape}, duals)
        v, b = self._read(variables)
        return self.prove(v, b, theta)

    def decisions_at(self, v: FloatArray, b: FloatArray | float) -> FloatArray:
        """Return f = sqrt(n) U v + b at all samples."""
        return self.spectrum.eigenvectors @ (np.sqrt(self.spectrum.n_reached) * v) + b

    def moments(self, v: FloatArray, b: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of the decisions over all samples reached, without computing them.

        The eigenvectors are orthonormal: the mean square of sqrt(n) U v is v'v.
        """
        n = self.spectrum.n_reached
        mean = (self.spectrum.eigenvectors.sum(axis=0) / np.sqrt(n)) @ v
        return mean + b, np.sqrt(np.maximum((v**2).sum(axis=0) - mean**2, 0.0))

    def residuals(self, v: FloatArray, b: FloatArray | float) -> FloatArray:
        """Return y - f at the labelled samples."""
        return self.labels.sign - (self.U @ v + b)

    def value_at(self, v: FloatArray, b: FloatArray | float) -> float:
        """Return the objective; inf where v_j != 0 meets delta_j = 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            norm = np.where(v == 0, 0.0, (v**2).T / self.delta if v.ndim == 1 else v**2 / self.delta[:, None])
        return float(self._times(self.residuals(v, b) ** 2).sum() + self.penalty * norm.sum())

    def _times(self, rows: FloatArray, power: int = 1) -> FloatArray:
        """Return rows, one per labelled sample, times their weights, or (with the power -1) over them."""
        c = self.labels.weights
        return rows if c is None else np.asarray((rows.T * c if power > 0 else rows.T / c).T)

    def gradient(self, v: FloatArray, b: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives by v and b; 0 by the v_j that delta_j = 0 ties to zero."""
        r, used = self._times(self.residuals(v, b)), self.delta > 0
        slope = np.zeros_like(v)
        slope[used] = 2.0 * (self.penalty * (v[used].T / self.delta[used]).T - self.U[:, used].T @ r)
        return slope, -2.0 * r.sum(axis=0)

    def best_intercept(self, v: FloatArray) -> FloatArray:
        """Return the b of the smallest objective at v: the mean residual, by weights."""
        return weighted_mean(self.residuals(v, 0.0), self.labels.weights)

    def multipliers(self, v: FloatArray, b: FloatArray | float) -> FloatArray:
        """Return the theta that a candidate implies: twice its residuals, times their weights."""
        return 2.0 * self._times(self.residuals(v, b))

    def repair_multipliers(self, theta: FloatArray) -> FloatArray:
        """Return a theta nearby whose sum, per class, is exactly 0."""
        one, c = np.ones(len(theta)), self.labels.weights
        # The lighter a label, the more the bound minds another multiplier.
        share = 1.0 if c is None else (np.ones(theta.shape).T * (c / c.mean())).T
        centred = theta - share * theta.mean(axis=0)
        if centred.ndim == 1:
            return exactly_balanced(one, centred)
        return np.column_stack([exactly_balanced(one, column) for column in centred.T])

    def best_multiple(self, theta: FloatArray) -> Any:
        """Return the factor, per class, at which multiples of a balanced theta have their largest dual bound."""
        gain = (theta * self.labels.sign).sum(axis=0)
        image = self.design.T @ (theta.T / self.root).T
        cost = (theta * self._times(theta, -1)).sum(axis=0) + (image**2).sum(axis=0) / self.penalty
        return np.where(cost > 0, 2.0 * gain / np.where(cost > 0, cost, 1.0), 0.0)

    def dual_bound(self, theta: FloatArray) -> float:
        """Return the lower bound of the module's docstring at the best multiple, per class, of a balanced theta."""
        gain = (theta * self.labels.sign).sum(axis=0)
        return float((gain * self.best_multiple(theta)).sum() / 2.0)

    def prove(self, v: FloatArray, b: FloatArray | float, theta: FloatArray | None = None) -> Certificate:
        """Measure the gap at a candidate.

        Parameters
        ----------
        v : ndarray of shape (q,) or (q, K)
            The candidate's coefficients; they are set to zero where delta is.
        b : float or ndarray of shape (K,)
            Its intercepts.
        theta : ndarray of shape (l,) or (l, K), optional
            Multipliers; `multipliers` where they are not given.
        """
        feasible = np.where((self.delta > 0) if v.ndim == 1 else (self.delta > 0)[:, None], v, 0.0)
        given = self.multipliers(feasible, b) if theta is None else theta
        balanced = self.repair_multipliers(given)
        return Certificate(
            rounding=self._value_error(feasible, b) + self._bound_error(balanced),
            primal_objective=self.value_at(feasible, b),
            dual_objective=self.dual_bound(balanced),
            primal_residual=float(np.abs(feasible - v).max() / max(1e-300, np.abs(v).max())),
            dual_residual=float(np.abs(balanced - given).max() / max(1e-300, np.abs(given).max())),
        )

    def _value_error(self, v: FloatArray, b: FloatArray | float) -> float:
        """Return a bound on the rounding of `value`, by computing it with more digits."""
        terms, error, c = [], 0.0, self.labels.weights_or_ones
        signs, columns = _columns(self.labels.sign), _columns(v)
        for y, column, offset in zip(signs.T, columns.T, np.atleast_1d(np.asarray(b, dtype=float)), strict=True):
            high, low, off = split_product(self.U, column, 2)
            t, lost = two_sum(y, -offset)
            r, again = two_sum(t, -high)
            r = r + (lost + again - low)
            off = off + 2.0 * UNIT * np.abs(r) + 4.0 * UNIT * np.abs(low)
            error += float(c @ (2.0 * np.abs(r) * off + off**2))
            used = column != 0
            with np.errstate(divide="ignore"):
                terms += [c * r**2, self.penalty * (column[used] ** 2 / self.delta[used])]
        exact = exact_sum(np.concatenate(terms))
        return abs(self.value_at(v, b) - exact) + error + 8.0 * UNIT * abs(exact)

    def _bound_error(self, theta: FloatArray) -> float:
        """Return a bound on the rounding of `dual_bound` at a balanced theta, by computing it with more digits."""
        lower, c = 0.0, self.labels.weights_or_ones
        for y, column in zip(_columns(self.labels.sign).T, _columns(theta).T, strict=True):
            high, low, off = split_product(self.U.T, column, 2)
            image = np.abs(high + low) * (1.0 + 2.0 * UNIT) + off
            cost = float((column * (column / c)).sum() + (self.delta * image**2).sum() / self.penalty)
            cost *= 1.0 + gamma(len(column) + len(image) + 10)
            lower += exact_dot(column, y) ** 2 / cost if cost > 0 else 0.0
        return max(self.dual_bound(theta) - lower, 0.0) + 16.0 * UNIT * lower

    @cached_property
    def _factors(self) -> RidgeFactors:
        return RidgeFactors.of(self.design, self.target, self.labels.weights)

    def leave_one_out(self, penalties: Sequence[float] | FloatArray | None = None) -> FloatArray:
        """Return the decision at each labelled sample that the other labelled samples make: exact, without refitting.

        The sample keeps its place in the graph; only its label is withheld.

        Parameters
        ----------
        penalties : sequence of float, optional
            Penalties to go through at next to no cost; default the objective's own.

        Returns
        -------
        ndarray of shape (l,) or (l, K), with a leading axis where `penalties` are given
        """
        decisions = []
        for penalty in [self.penalty] if penalties is None else penalties:
            _check_penalty(penalty)
            decisions.append(self.labels.sign - (self._factors.left_out(penalty).T / self.root).T)
        return decisions[0] if penalties is None else np.stack(decisions)


def _columns(A: FloatArray) -> FloatArray:
    return A[:, None] if A.ndim == 1 else A


def _check_penalty(penalty: float) -> None:
    if not (np.isfinite(penalty) and penalty > 0):
        raise InvalidInputError(
            f"penalty={penalty!r} must be a positive number: without it the solution need not be unique. It is per "
            "unit mean kernel diagonal; 0.1 is a start."
        )
