"""Classifiers on a spectrum that no label has touched: `SpectralKernelSVM` and `XuSpectralSVM`.

Both fix the weights of the Laplacian's eigenvectors beforehand, by a rule of `specmargin.spectra.transforms`, and train
a large (relative) margin classifier on the kernel K = n U diag(delta) U'. They are what learning the spectrum (`STORM`)
is measured against.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from specmargin.checks import Rule, shown
from specmargin.estimators._docstrings import documented
from specmargin.estimators._shared_parameters import BoundParameter
from specmargin.estimators._spectrum_classifier import FixedSpectrumClassifier
from specmargin.exceptions import InvalidInputError
from specmargin.spectra import Spectrum
from specmargin.spectra.transforms import TRANSFORMS, analytic_centre
from specmargin.typing import FloatArray

__all__ = ["SpectralKernelSVM", "XuSpectralSVM"]


def transformation(name: str, value: Any) -> Any:
    """Check a transform of the spectrum: one of the names, or a function."""
    if not callable(value) and not (isinstance(value, str) and value in TRANSFORMS):
        raise InvalidInputError(f"{name}={shown(value)} is unknown; take one of {list(TRANSFORMS)} or a function.")
    return value


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SpectralKernelSVM(BoundParameter, FixedSpectrumClassifier):
    """Support vector machine (or relative margin machine) on a parametric transform of the Laplacian's spectrum.

    Parameters
    ----------
    transformation : str or callable
        "diffusion", "gaussian_field", "inverse", "power", "step" or "geometric": the names of
        `specmargin.spectra.transforms.TRANSFORMS`, whose functions document the formulas. Or a function of the
        `Spectrum`, and of those of the four parameters below that it names, that returns nonnegative weights (q,).
    sigma : float
        Width, for "diffusion" and "gaussian_field"; by default sigma^2 is the mean of the five smallest eigenvalues
        that are not zero.
    exponent : float
        For "power".
    k : int
        Number of eigenvectors with equal weights, at most q, for "step".
    w : float
        Ratio of consecutive weights, >= 1, for "geometric".

    Notes
    -----
    The parameter is not called ``transform``: scikit-learn takes whatever has that attribute for a transformer.

    References
    ----------
    Smola & Kondor, Kernels and regularization on graphs, COLT 2003. Shivaswamy & Jebara, Laplacian spectrum learning,
    ECML 2010, section 2.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> svm = sm.SpectralKernelSVM(transformation="gaussian_field", sigma=0.3, C=10.0, q=20).fit(X, y)
    >>> svm.result_.problem, svm.result_.certificate.is_optimal(1e-6)
    ('SVM', True)
    """

    _parameter_rules: ClassVar[dict[str, Rule]] = {"transformation": transformation}

    transformation: str | Callable[..., FloatArray] = "diffusion"
    sigma: float | None = None
    exponent: float = 2.0
    k: int = 10
    w: float = 1.1

    def _weights(self, spectrum: Spectrum) -> FloatArray:
        rule = self.transformation if callable(self.transformation) else TRANSFORMS[self.transformation]
        named = {"sigma", "exponent", "k", "w"} & set(inspect.signature(rule).parameters)
        return rule(spectrum, **{name: getattr(self, name) for name in named})


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class XuSpectralSVM(FixedSpectrumClassifier):
    """Support vector machine on the spectrum of Xu et al. (2007): ordered, and independent of the labels.

    In their problem the weights delta touch neither the classifier nor the objective, so that every spectrum of
    their family is optimal: `specmargin.spectra.transforms.analytic_centre` has the argument. The family's analytic
    centre stands for whatever a solver returns.

    Parameters
    ----------
    w : float
        Least ratio of consecutive weights, delta_i >= w delta_{i+1}, >= 1.

    References
    ----------
    Xu, Zhu, Lyu & King, Maximum margin based semi-supervised spectral kernel learning, IJCNN 2007; the method "[9]" of
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y, other = (sm.hide_labels(y_true, per_class=3, random_state=seed) for seed in (0, 1))
    >>> a, b = (sm.XuSpectralSVM(C=10.0, q=20).fit(X, labels) for labels in (y, other))
    >>> bool((a.delta_ == b.delta_).all())
    True
    """

    w: float = 1.0

    def _weights(self, spectrum: Spectrum) -> FloatArray:
        return analytic_centre(spectrum, self.w)
