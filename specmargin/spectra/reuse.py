"""Eigenpairs that were computed once and serve many fits: what they must be, and the part of them that a fit takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.spectra.spectrum import TIE, Spectrum

__all__ = ["USUAL_Q", "reused"]

USUAL_Q = 200
"""Eigenvectors where no number is asked for."""

_NORM = 1e-3
"""Deviation of the norm of a column from one that no accuracy of an eigensolver explains."""


def reused(spectrum: Spectrum, n_samples: int, *, q: int | None, normalized: bool, power: int = 1) -> Spectrum:
    """Return the eigenpairs that an estimator would have computed, from those that were passed to it.

    Parameters
    ----------
    spectrum : Spectrum
        What `specmargin.spectra.laplacian_eigenpairs` returned for a graph of these samples, in their order.
    n_samples : int
        Rows of the data.
    q : int or None
        Eigenpairs asked for; None for at most 200, as many as there are. Fewer than there are: the lowest.
    normalized : bool
        The kind of Laplacian asked for.
    power : int, default 1
        The power of the Laplacian asked for. Eigenpairs of L are those of every power of it.

    Raises
    ------
    ValueError
        If these are not eigenpairs of what is asked for, or fewer than q.

    Examples
    --------
    >>> s = Spectrum(np.array([0.0, 1.0, 2.0]), np.eye(3), n_components=1)
    >>> reused(s, 3, q=2, normalized=False, power=2).eigenvalues.tolist()
    [0.0, 1.0]
    """
    if spectrum.n_samples != n_samples:
        raise InvalidInputError(
            f"the spectrum is that of a graph of {spectrum.n_samples} nodes but the data has {n_samples} rows; build "
            "the graph on the same rows, labelled and unlabelled together, in the same order."
        )
    if spectrum.normalized != normalized:
        kind, asked = ("normalized", "combinatorial") if spectrum.normalized else ("combinatorial", "normalized")
        raise InvalidInputError(
            f"the spectrum is that of the {kind} Laplacian, but normalized={normalized} asks for the {asked} one; set "
            f"normalized={spectrum.normalized}, or pass laplacian_eigenpairs(W, normalized={normalized})."
        )
    if spectrum.power not in (1, power):
        raise InvalidInputError(
            f"the spectrum is that of L^{spectrum.power}, but power={power} is asked for; pass the eigenpairs of L "
            "itself, which serve every power."
        )
    if q is not None and q > spectrum.q:
        raise InvalidInputError(
            f"q={q}, but the spectrum that was passed holds {spectrum.q} eigenpairs; take q={spectrum.q} at most, or "
            f"pass laplacian_eigenpairs(W, q={q})."
        )
    _check(spectrum)
    spectrum = spectrum.truncate(min(USUAL_Q, spectrum.q) if q is None else q)
    if power == spectrum.power:
        return spectrum
    return replace(spectrum, eigenvalues=spectrum.eigenvalues**power, power=power, residual=np.nan)


def _check(spectrum: Spectrum) -> None:
    """Raise unless eigenvalues ascend from zero on and eigenvectors have length one."""
    values = spectrum.eigenvalues
    allowed = TIE * float(np.abs(values).max())
    wrong = np.append(values[:1] < -allowed, np.diff(values) < -allowed)
    if wrong.any():
        k = int(wrong.argmax())
        raise InvalidInputError(
            f"eigenvalues of a Laplacian ascend from 0, but eigenvalues[{k}] is {values[k]:.6g}"
            f"{f' after {values[k - 1]:.6g}' if k else ''}; pass what laplacian_eigenpairs(W) returns."
        )
    norms = np.sqrt(np.einsum("ij,ij->j", spectrum.eigenvectors, spectrum.eigenvectors))
    wrong = ~(np.abs(norms - 1.0) <= _NORM)
    if wrong.any():
        k = int(wrong.argmax())
        raise InvalidInputError(
            f"eigenvectors have length one, but column {k} has {norms[k]:.6g}; pass what laplacian_eigenpairs(W) "
            "returns."
        )
