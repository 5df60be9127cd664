"""The low end of a graph's spectrum: eigenpairs, the null space, and values at new points.

Spectrum learning writes a function on the samples as ``f = U v`` with the q smoothest eigenvectors of the
graph Laplacian and learns how much of each to use. Call `laplacian_eigenpairs` for the `Spectrum`; `extend`
carries scores (and `nystrom` eigenvectors) to new points.

The null space is not left to the eigensolver. Its dimension is the number of connected components, so it is
built from their indicators, exactly, with the constant first; solvers only look for the rest. Within a block
of equal eigenvalues the basis is still arbitrary: an answer that depends on it depends on LAPACK's mood.
`Spectrum.block_ends` says where blocks end, `Spectrum.cuts_tie` whether the last one is cut.

`transforms` holds the spectra that are set by a rule (diffusion, Gaussian field, ...) instead of learned.
"""

from specmargin.spectra import transforms
from specmargin.spectra.eigenpairs import laplacian_eigenpairs
from specmargin.spectra.extension import extend, nystrom
from specmargin.spectra.spectrum import Spectrum

__all__ = ["laplacian_eigenpairs", "Spectrum", "extend", "nystrom", "transforms"]
