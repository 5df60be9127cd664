"""The low end of a graph's spectrum: eigenpairs, the null space, and values at new points.

Spectrum learning writes a function on the samples as ``f = U v`` with the q smoothest eigenvectors of the
graph Laplacian and learns how much of each to use. Call `laplacian_eigenpairs` for the `Spectrum`; `extend`
carries scores (and `nystrom` eigenvectors) to new points. A `Spectrum` serves many fits: STORM, KTA and the other
estimators over a spectrum take it as ``fit(X, y, graph=spectrum)``.

The null space is not left to the eigensolver. Its dimension is the number of connected components, so it is
built from their indicators, exactly, with the constant first; solvers only compute the rest. Within a block
of equal eigenvalues the basis is still arbitrary: an answer that depends on it depends on LAPACK's version.
`Spectrum.block_ends` says where blocks end, `Spectrum.cuts_tie` whether the last one is cut.

`transforms` holds the spectra that are set by a rule (diffusion, Gaussian field, ...) instead of learned.

Where nodes have features, `filter_bank` filters them by a family of functions of the graph's spectrum (`Resolvents`,
`Powers`, `Bernstein`, `Bands`), without an eigenvector.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import numbers_array
from specmargin.checks import checked, choice, count, flag, instance, maybe, number, seed
from specmargin.exceptions import InvalidInputError
from specmargin.spectra import transforms
from specmargin.spectra.eigenpairs import laplacian_eigenpairs
from specmargin.spectra.extension import extend, nystrom
from specmargin.spectra.filtered_features import FilterBank, filter_bank, filter_new_nodes
from specmargin.spectra.filters import Bands, Bernstein, GraphFilters, Powers, Resolvents, family_rule
from specmargin.spectra.parts import Eigenvectors, Transform
from specmargin.spectra.spectrum import Spectrum

__all__ = [
    "laplacian_eigenpairs",
    "Spectrum",
    "Eigenvectors",
    "Transform",
    "extend",
    "nystrom",
    "transforms",
    "filter_bank",
    "filter_new_nodes",
    "FilterBank",
    "GraphFilters",
    "Resolvents",
    "Powers",
    "Bernstein",
    "Bands",
]

# Arguments are checked at these public entries; the modules call each other unchecked.
_SPECTRUM = instance(Spectrum, "pass specmargin.spectra.laplacian_eigenpairs(W)")
_WEIGHTS = numbers_array("the weights of specmargin.graphs.neighbor_weights, (m, n)", ndim=2)


def _graph(name: str, W: Any) -> Any:
    if hasattr(W, "matrix") or hasattr(W, "adjacency"):
        return W
    what = "the adjacency of a graph, (n, n), as specmargin.graphs.check_adjacency returns it"
    W = numbers_array(what, ndim=2)(name, W)
    stored = W.data if sp.issparse(W) else np.asarray(W)
    largest = float(np.abs(stored).max(initial=0.0))
    if largest > 1e75 or 0 < largest < 1e-75:
        raise InvalidInputError(
            f"the adjacency holds weights up to {largest:.1e}, whose fourth powers {'over' if largest > 1 else 'under'}"
            "flow; scale them, e.g. divide by the largest."
        )
    return W


laplacian_eigenpairs = checked(
    W=_graph,
    q=count(1),
    normalized=maybe(flag),
    method=choice("auto", "dense", "lanczos", "arpack"),
    tol=maybe(number(least=0)),
    random_state=seed,
)(laplacian_eigenpairs)
extend = checked(values=numbers_array("values of the training samples, (n,) or (n, k)"), weights=_WEIGHTS)(extend)
filter_bank = checked(
    S=numbers_array("specmargin.graphs.normalized_adjacency(W), (n, n)", ndim=2),
    X=maybe(numbers_array("finite features of the nodes, a row per node", ndim=2)),
    filters=maybe(family_rule),
    normalization=choice("unit", "centered", "trace", None),
    tol=number(above=0),
)(filter_bank)
filter_new_nodes = checked(
    bank=instance(FilterBank, "pass what specmargin.spectra.filter_bank returns"),
    S=numbers_array("specmargin.graphs.normalized_adjacency(W), (n + k, n + k)", ndim=2),
    X=numbers_array("finite features of the new nodes, a row per node", ndim=2),
)(filter_new_nodes)
nystrom = checked(spectrum=_SPECTRUM, weights=_WEIGHTS, floor=number(above=0))(nystrom)
