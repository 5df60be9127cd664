r"""Kernels from the spectrum of a Laplacian by a fixed rule, to be used before learning it, or instead.

A kernel on the nodes of a graph is :math:`K = \sum_i r(\theta_i)\, \phi_i \phi_i^\top` with the Laplacian's eigenpairs
and a nonincreasing r: smooth eigenvectors weigh more. Each function of this module returns the weights of one rule,
scaled to the sum one (the package's unit, trace K = 1): ``delta = r(theta) / sum(r(theta))``. `TRANSFORMS` lists them
by name; `specmargin.SpectralKernelSVM` trains a classifier on any of them, `specmargin.STORM` learns delta instead.

=================  ==========================  =================================================================
name               r                           kernel
=================  ==========================  =================================================================
`diffusion`        exp(-theta / sigma^2)       diffusion (heat) kernel, expm(-L / sigma^2)
`gaussian_field`   1 / (sigma^2 + theta)       regularised Laplacian, inv(L + sigma^2 I)
`inverse`          1 / theta                   resistance kernel, pinv(L)
`power`            i^-exponent                 kernel of the spectral graph transducer (exponent 2), by index
`step`             1 for the first k           kernel PCA with k features
`geometric`        w^-i                        by index; the steepest spectrum that Xu et al. admit at their w
=================  ==========================  =================================================================

**The first eigenvector** obeys the rule at theta_1 = 0 like every other, and gets no weight where that is infinite
(`inverse`, `power`). Under the combinatorial Laplacian it is constant, so that the classifier's intercept absorbs
whatever it weighs. **Ties**: a block of equal eigenvalues has an arbitrary basis and gets one weight, the mean of the
rule over the block. **Units**: sigma^2 is in the units of the eigenvalues; left out, it is the mean of the five
smallest that are not zero, and the weights do not depend on the scale of L.

`analytic_centre` is no transform of eigenvalues but the centre of all ordered spectra, the comparator for the method
of Xu, Zhu, Lyu and King (2007).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from specmargin.arrays import finite_numbers, numbers_array
from specmargin.checks import checked, maybe, number, numeric, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.spectra.spectrum import Spectrum
from specmargin.typing import FloatArray, IntArray

__all__ = ["TRANSFORMS", "analytic_centre", "diffusion", "gaussian_field", "geometric", "inverse", "power", "step"]

Eigenvalues: TypeAlias = Spectrum | FloatArray


def _spectrum(name: str, value: Any) -> Any:
    if value is None or isinstance(value, str):
        raise InvalidTypeError(f"{name}={shown(value)} is no spectrum; pass a Spectrum, or its eigenvalues.")
    if not isinstance(value, Spectrum):
        numbers_array("a Spectrum, or its eigenvalues, (q,), from the lowest", finite=False)(name, value)
    return value


# Eigenvalues that make the default width: the mean of all would grow with their number. Five did well on the unlabelled
# samples of MNIST 3-8 and pc-mac; elsewhere it is only a default.
_LOWEST = 5
_NULL = 1e-12  # of the largest eigenvalue: below, one that was given as a number counts as zero


@checked(spectrum=_spectrum, sigma=maybe(numeric))
def diffusion(spectrum: Eigenvalues, sigma: float | None = None) -> FloatArray:
    r"""Return the weights of the diffusion kernel, :math:`r(\theta) = \exp(-\theta / \sigma^2)`.

    Parameters
    ----------
    spectrum : Spectrum or ndarray of shape (q,)
        The eigenpairs, or the eigenvalues alone, not decreasing.
    sigma : float, optional
        Square root of an eigenvalue's unit, > 0: the larger, the flatter the spectrum. By default sigma^2 is the mean
        of the five smallest eigenvalues that are not zero.

    Returns
    -------
    ndarray of shape (q,)
        Nonnegative, nonincreasing, of sum one.

    Raises
    ------
    ValueError
        If sigma is not positive, or so small that all weights but those of the null space vanish.

    References
    ----------
    Kondor & Lafferty, Diffusion kernels on graphs and other discrete input spaces, ICML 2002.

    Examples
    --------
    >>> diffusion(np.array([0.0, 1.0, 2.0]), sigma=1.0).round(3).tolist()
    [0.665, 0.245, 0.09]
    """
    theta = _eigenvalues(spectrum)
    weights = np.exp(-theta / _width(theta, sigma))
    if weights[theta > 0].sum() == 0 and (theta > 0).any():
        raise InvalidInputError(
            f"sigma={sigma!r} is so small that exp(-theta / sigma**2) vanishes at every eigenvalue from "
            f"{theta[theta > 0][0]:.3g} on; take one near {np.sqrt(_width(theta, None)):.3g}, or None."
        )
    return _scaled(spectrum, weights)


@checked(spectrum=_spectrum, sigma=maybe(numeric))
def gaussian_field(spectrum: Eigenvalues, sigma: float | None = None) -> FloatArray:
    r"""Return the weights of the Gaussian field (regularised Laplacian) kernel, :math:`1 / (\sigma^2 + \theta)`.

    Parameters
    ----------
    spectrum : Spectrum or ndarray of shape (q,)
        The eigenpairs, or the eigenvalues alone, not decreasing.
    sigma : float, optional
        The same as in `diffusion`. As sigma goes to zero the null space takes all the weight; `inverse` is the limit
        without it.

    Returns
    -------
    ndarray of shape (q,)
        Nonnegative, nonincreasing, of sum one.

    Raises
    ------
    ValueError
        If sigma is not positive.

    References
    ----------
    Zhu, Lafferty & Ghahramani, Semi-supervised learning: from Gaussian fields to Gaussian processes, 2003.

    Examples
    --------
    >>> gaussian_field(np.array([0.0, 1.0, 3.0]), sigma=1.0).round(3).tolist()
    [0.571, 0.286, 0.143]
    """
    theta = _eigenvalues(spectrum)
    return _scaled(spectrum, 1.0 / (_width(theta, sigma) + theta))


@checked(spectrum=_spectrum)
def inverse(spectrum: Eigenvalues) -> FloatArray:
    r"""Return the weights of the resistance kernel pinv(L), :math:`1 / \theta`, and 0 for the first eigenvector.

    :math:`K_{ii} + K_{jj} - 2 K_{ij}` is the effective resistance between nodes i and j of one component. Between two
    components it is infinite: the rest of the null space, which separates them, would not be penalised, and next to
    nothing of the trace would be left. It gets a finite weight instead, as `shared_head` says.

    Parameters
    ----------
    spectrum : Spectrum or ndarray of shape (q,)
        The eigenpairs, or the eigenvalues alone, not decreasing.

    Returns
    -------
    ndarray of shape (q,)
        Nonnegative, nonincreasing from the second on, of sum one.

    Examples
    --------
    >>> inverse(np.array([0.0, 1.0, 3.0])).tolist()
    [0.0, 0.75, 0.25]
    """
    theta = _eigenvalues(spectrum)
    weights = np.full(len(theta), np.inf if theta.any() else 1.0)
    np.divide(1.0, theta, out=weights, where=theta > 0)
    return _scaled(spectrum, np.append(0.0, shared_head(weights[1:], getattr(spectrum, "power", 1))))


@checked(spectrum=_spectrum, exponent=number(least=0))
def power(spectrum: Eigenvalues, exponent: float = 2.0) -> FloatArray:
    r"""Return weights by index, :math:`i^{-p}` for eigenvector i + 1: the spectral graph transducer's Q = i^2 inverted.

    The transducer leaves the first eigenvector out and counts from the second (i = 1).

    Parameters
    ----------
    spectrum : Spectrum or ndarray of shape (q,)
        The eigenpairs, or the eigenvalues alone, not decreasing. Only their order and ties are read.
    exponent : float, default 2.0
        p >= 0; 0 weighs all eigenvectors but the first alike.

    Returns
    -------
    ndarray of shape (q,)
        Nonnegative, nonincreasing from the second on, of sum one.

    Raises
    ------
    ValueError
        If the exponent is negative or not finite.

    References
    ----------
    Joachims, Transductive learning via spectral graph partitioning, ICML 2003.

    Examples
    --------
    >>> (power(np.array([0.0, 1.0, 3.0, 4.0])) * 49).round(9).tolist()
    [0.0, 36.0, 9.0, 4.0]
    """
    weights = np.arange(1.0, len(_eigenvalues(spectrum))) ** -exponent
    return _scaled(spectrum, np.append(0.0, weights))


@checked(spectrum=_spectrum)
def step(spectrum: Eigenvalues, k: int = 10) -> FloatArray:
    """Return equal weights for the first `k` eigenvectors: kernel PCA with k features.

    Any nonincreasing r, exp(-theta) for one, makes a kernel whose leading eigenvectors are the lowest ones of L.
    Kernel PCA keeps k of them; scaled to unit variance (whitened) these features have the kernel of this spectrum.
    Centring the kernel takes the constant eigenvector out, which is one of the k here.

    Parameters
    ----------
    spectrum : Spectrum or ndarray of shape (q,)
        The eigenpairs, or the eigenvalues alone, not decreasing. Only their order and ties are read.
    k : int, default 10
        1 to q, the constant eigenvector included. Where k cuts a block of equal eigenvalues, the block shares what
        its first members would have.

    Returns
    -------
    ndarray of shape (q,)
        Nonnegative, nonincreasing, of sum one.

    Raises
    ------
    ValueError
        If k is out of range.

    References
    ----------
    Schölkopf, Smola & Müller, Nonlinear component analysis as a kernel eigenvalue problem, 1998.

    Examples
    --------
    >>> step(np.array([0.0, 1.0, 2.0, 3.0]), k=2).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    theta = _eigenvalues(spectrum)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(theta):
        raise InvalidInputError(
            f"k={k!r}, but there are {len(theta)} eigenpairs; take an integer from 1 to {len(theta)}."
        )
    return _scaled(spectrum, (np.arange(len(theta)) < k).astype(float))


@checked(spectrum=_spectrum, w=number(least=1))
def geometric(spectrum: Eigenvalues, w: float = 1.1) -> FloatArray:
    r"""Return weights that decrease by one ratio, :math:`\delta_i = w\, \delta_{i+1}`.

    The spectra of Xu et al. (`analytic_centre`) decrease by the ratio w at least, this one by exactly w, from
    eigenvector to eigenvector.

    Parameters
    ----------
    spectrum : Spectrum or ndarray of shape (q,)
        The eigenpairs, or the eigenvalues alone, not decreasing. Only their order and ties are read.
    w : float, default 1.1
        Ratio of consecutive weights, >= 1; 1 weighs all eigenvectors alike.

    Returns
    -------
    ndarray of shape (q,)
        Nonnegative, nonincreasing, of sum one. Weights below the smallest float are zero.

    Raises
    ------
    ValueError
        If w is below one or not finite.

    Examples
    --------
    >>> (geometric(np.array([0.0, 1.0, 2.0]), w=2.0) * 7).round(9).tolist()
    [4.0, 2.0, 1.0]
    """
    return _scaled(spectrum, w ** -np.arange(len(_eigenvalues(spectrum)), dtype=float))


TRANSFORMS: Mapping[str, Callable[..., FloatArray]] = MappingProxyType(
    {
        "diffusion": diffusion,
        "gaussian_field": gaussian_field,
        "inverse": inverse,
        "power": power,
        "step": step,
        "geometric": geometric,
    }
)
"""The transforms by name, each called as ``TRANSFORMS[name](spectrum, **params)``."""


@checked(spectrum=_spectrum, w=number(least=1))
def analytic_centre(spectrum: Eigenvalues, w: float = 1.0) -> FloatArray:
    r"""Return the centre of the ordered spectra: no labels, no data but the eigenvalues' ties.

    The family is delta >= 0 with sum one and :math:`\delta_i \geq w\, \delta_{i+1}` from the second weight on (equal
    eigenvalues one weight). Its analytic centre maximises the sum of the logarithms of the m slacks kappa; with c_i
    the trace of the extreme spectrum that slack i belongs to, it is :math:`\kappa_i = 1 / (m c_i)`.

    It represents the spectra of Xu et al. They maximise
    :math:`2 \alpha^\top 1 - \mu \rho` over alpha, rho and delta, subject to :math:`0 \leq \alpha \leq C`,
    :math:`\alpha^\top y = 0`, :math:`(\bar u_i^\top Y \alpha)^2 \leq t_i \rho`, :math:`\delta_i \geq w\, \delta_{i+1}`,
    :math:`\delta \geq 0` and :math:`\sum_i \delta_i t_i = \mu`. No constraint ties delta to alpha or rho and the
    objective does not contain it: every feasible delta is optimal, whatever the labels, and the solver decides which
    one is returned. Interior-point methods tend to the analytic centre of the optimal set, here of the feasible one.

    Parameters
    ----------
    spectrum : Spectrum or ndarray of shape (q,)
        The eigenpairs, or the eigenvalues alone, not decreasing. Only their ties are read.
    w : float, default 1.0
        Least ratio of consecutive weights, >= 1.

    Returns
    -------
    ndarray of shape (q,)
        Positive, of sum one.

    Raises
    ------
    ValueError
        If w is below one.

    References
    ----------
    Xu, Zhu, Lyu & King, Maximum margin based semi-supervised spectral kernel learning, IJCNN 2007.

    Examples
    --------
    >>> (analytic_centre(np.array([0.0, 1.0, 2.0, 3.0])) * 24).round(9).tolist()
    [6.0, 11.0, 5.0, 2.0]
    """
    sizes = _block_sizes(spectrum)
    # Block g has the weight sum_{h >= g} w^(h-g) kappa_h; powers of 1/w keep every number below one.
    decay = w ** -np.arange(len(sizes), dtype=float)
    traces = np.cumsum(sizes * decay)
    centre = decay * np.cumsum(1.0 / traces[::-1])[::-1]
    return np.append(1.0, np.repeat(centre, sizes)) / (1 + len(sizes))


def shared_head(weights: FloatArray, power: float) -> FloatArray:
    r"""Return weights :math:`\lambda_j^{-p}` in which no component of the graph, nor what is nearly one, takes all.

    The weights, from the smoothest on, are infinite at :math:`\lambda = 0`. Where one is more than :math:`4^p` times
    the sum of all after it, it and those before it weigh at most :math:`4^p / k` times that sum, k their number; the
    last such one counts. So the eigenvectors that tell components apart have a share of the trace that a weak edge
    between these does not change, and the others keep theirs. A chain of nodes is the smoothest graph in one piece: its
    second eigenvalue that is not zero is four times the first, and no weight exceeds the bound.

    Examples
    --------
    >>> shared_head(np.array([np.inf, 1.0, 0.5]), 1.0).tolist(), shared_head(np.array([1e9, 1.0, 0.5]), 1.0).tolist()
    ([6.0, 1.0, 0.5], [6.0, 1.0, 0.5])
    """
    bound = min(4.0 ** min(power, 100.0), 1e50)
    after = np.append(np.cumsum(weights[:0:-1])[::-1], 0.0)
    heavy = np.flatnonzero((after > 0) & np.isfinite(after) & (weights > bound * after))
    if not len(heavy):
        return weights
    last = int(heavy[-1])
    return np.minimum(weights, max(bound * float(after[last]) / (last + 1), float(weights[last + 1])))


def _eigenvalues(spectrum: Eigenvalues) -> FloatArray:
    """Return the eigenvalues, checked; numbers given by hand are zero up to rounding."""
    if isinstance(spectrum, Spectrum):
        return spectrum.eigenvalues
    theta = np.asarray(spectrum, dtype=float)
    finite_numbers("eigenvalues", theta, "those of a Laplacian, sorted")
    if theta.ndim != 1 or len(theta) == 0:
        raise InvalidInputError(f"eigenvalues must be a vector of finite numbers, got the shape {theta.shape}.")
    null = _NULL * float(np.abs(theta).max())
    if theta.min() < -null or (np.diff(theta) < -null).any():
        raise InvalidInputError(
            f"eigenvalues must be >= 0 and not decrease (smallest {theta.min():.3g}, largest drop "
            f"{-np.diff(theta).min(initial=0.0):.3g}); those of a Laplacian are, sorted."
        )
    return np.where(theta <= null, 0.0, theta)


def _block_sizes(spectrum: Eigenvalues) -> IntArray:
    """Return the number of eigenvalues in each block of ties, from the second eigenvalue on."""
    if not isinstance(spectrum, Spectrum):
        theta = _eigenvalues(spectrum)
        spectrum = Spectrum(theta, np.empty((0, len(theta))), n_components=0)
    return np.diff(spectrum.block_ends(), prepend=0)


def _width(theta: FloatArray, sigma: float | None) -> float:
    """Return sigma^2."""
    if sigma is None:
        return float(theta[theta > 0][:_LOWEST].mean()) if theta.any() else 1.0
    width = float(sigma) ** 2
    if not (sigma > 0 and np.isfinite(width) and width > 0):
        raise InvalidInputError(f"sigma={sigma!r} must be a positive number, or None for the scale of the eigenvalues.")
    return width


def _scaled(spectrum: Eigenvalues, weights: FloatArray) -> FloatArray:
    """Return weights of sum one, equal over blocks of equal eigenvalues."""
    sizes = _block_sizes(spectrum)
    if len(sizes):
        means = np.add.reduceat(weights[1:], np.cumsum(sizes) - sizes) / sizes
        weights = np.append(weights[:1], np.repeat(means, sizes))
    # A first eigenvector without others has all the weight, also where the rule gives it none.
    return weights / weights.sum() if len(sizes) else np.ones(1)
