"""Eigenpairs of graph Laplacians: the null space from the components, the rest from LAPACK, ARPACK or block Lanczos.

`laplacian_eigenpairs` chooses the method by size and checks, for every method, the residual that was asked for,
recomputed in float64 from L itself, and that the eigenvectors are orthogonal to each other and to the null space.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from specmargin.arrays import first_of
from specmargin.exceptions import InvalidInputError, InvalidTypeError, SolverError
from specmargin.spectra.lanczos import lowest_eigenpairs
from specmargin.spectra.spectrum import Spectrum, pieces, residual_norms, tied
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

__all__ = ["LaplacianLike", "eigenpairs_of", "fix_signs", "laplacian_eigenpairs", "null_space"]

_LOGGER = logging.getLogger(__name__)
_DENSE_NODES = 2000  # below, LAPACK is as fast as ARPACK and needs no tolerance
_EXACT_NODES = 5000  # up to here machine precision costs little
_PRECISE = 1e-11  # residual, relative to the bound on the norm, that tol=0 asks for
_LOOSE = 1e-3  # default residual of the method "lanczos", relative to the mean degree
_SKEW = 1e-8  # by which eigenvectors may miss orthogonality
_SEARCH_TOL = 1e-6  # of the search for missed pairs: Ritz values err downwards, so it raises no false alarm
_MISSED = 1e-10  # relative to the norm: a pair below the last one by more was missed
_REMEDIES = {
    "dense": "weights of very different sizes exceed the accuracy of float64: rescale them, or ask for a looser tol",
    "arpack": "take method='dense', or ask for a looser tol",
    "lanczos": "take method='arpack', or ask for a looser tol",
}


class LaplacianLike(Protocol):
    """Attributes of a `specmargin.graphs.LaplacianOperator`, which is of the same layer and never imported."""

    matrix: SparseArray
    power: int
    normalized: bool
    degrees: FloatArray


@dataclass(eq=False)
class _Laplacian:
    """One that was made of an adjacency here."""

    matrix: SparseArray
    power: int
    normalized: bool
    degrees: FloatArray


def laplacian_eigenpairs(
    W: Matrix | LaplacianLike,
    q: int = 200,
    *,
    normalized: bool | None = None,
    method: str = "auto",
    tol: float | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Spectrum:
    r"""Return the `q` lowest eigenpairs of the graph Laplacian.

    The null space comes from the c components: column 0 is :math:`1/\sqrt n` (combinatorial) or proportional
    to :math:`\sqrt d` (normalized, 0 at nodes without edges); column j < c sets the (j + 1)-th largest
    component against the larger ones; under the normalized Laplacian a node without edges has a column of its
    own, after those. The other eigenvectors are computed on the orthogonal complement. Of every column but the
    first, the entry of largest modulus (the first of them) is positive.

    Parameters
    ----------
    W : sparse matrix or ndarray of shape (n, n), or Laplacian
        Symmetric nonnegative adjacency without self loops (`specmargin.graphs.check_adjacency` cleans one),
        or what `specmargin.graphs.laplacian` returns, with its kind and its power.
    q : int, default 200
        Eigenpairs, 1 to n.
    normalized : bool, optional
        ``I - D**-1/2 W D**-1/2``, the default as in `specmargin.graphs.laplacian` and the estimators, or ``D - W``. A
        `Laplacian` decides for itself.
    method : {"auto", "dense", "arpack", "lanczos"}, default "auto"
        "dense" is LAPACK, O(n**3) time and n**2 memory. "arpack" is Lanczos on ``s I - L``, whose wanted end is the
        well-separated one (for the normalized Laplacian: on the adjacency). "lanczos" is filtered block Lanczos
        (`specmargin.spectra.lanczos`), in float32 where `tol` allows: several times faster than ARPACK, also in
        float64. These two end with a search of the complement for eigenvectors that were missed, as copies of
        multiple eigenvalues can be; that none is missed is then likely, not proven. "auto" takes "dense" for
        n <= 2000 or q > n/3, else "lanczos". Where "arpack" or "lanczos" fails, the other one is tried, then "dense" on
        up to 5000 nodes.
    tol : float, optional
        Residual asked for, ``max_j |L u_j - lambda_j u_j| <= tol * bound`` (of L itself also where it has a power);
        the bound on the norm of L is 2 (normalized) or twice the largest degree. 0 is machine precision, checked to
        1e-11. None is machine precision too, but for "lanczos" on more than 5000 nodes a residual of 1e-3 (normalized)
        or 1e-3 times the mean degree. "lanczos" computes in float64 where ``tol < 5e-6``. An eigenvalue errs by at most
        the residual, and by about its square over the distance to unwanted eigenvalues: with a loose `tol` equal
        eigenvalues come out unequal, and `Spectrum.block_ends` does not see their blocks. `Spectrum.cuts_tie` allows
        for the residuals.
    random_state : int, Generator or None, default 0
        Start vectors of ARPACK and block Lanczos.

    Returns
    -------
    Spectrum

    Raises
    ------
    ValueError
        If `q` or `tol` is out of range, or `W` is no adjacency.
    SolverError
        If the residual asked for is not reached.

    Examples
    --------
    >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    >>> s = laplacian_eigenpairs(path, q=3, normalized=False)
    >>> s.eigenvalues.round(4).tolist(), s.eigenvectors[:, 0].tolist()
    ([0.0, 0.5858, 2.0], [0.5, 0.5, 0.5, 0.5])
    """
    return eigenpairs_of(read_laplacian(W, normalized), int(q), method, tol, random_state)


def eigenpairs_of(
    laplacian: LaplacianLike, q: int, method: str = "auto", tol: float | None = None, random_state: Any = 0
) -> Spectrum:
    """Return the same of a Laplacian that is known to be one."""
    if tol is not None and not 0 <= tol < 1:
        raise InvalidInputError(
            f"tol={tol!r} is relative to the norm of L; take a number from 0 (machine precision) to 1."
        )
    L, degrees, normalized = laplacian.matrix, laplacian.degrees, laplacian.normalized
    n = len(degrees)
    if q > n:
        raise InvalidInputError(f"q={q} eigenpairs, but the graph has {n} nodes; take an integer from 1 to {n}.")
    if method == "auto":
        method = "dense" if n <= _DENSE_NODES or q > n / 3 else "lanczos"
    bound = 2.0 if normalized else 2.0 * float(degrees.max())
    if tol is None:
        loose = method == "lanczos" and n > _EXACT_NODES and bound > 0
        tol = _LOOSE * (1.0 if normalized else float(degrees.mean())) / bound if loose else 0.0
    null, basis = null_space(csgraph.connected_components(L, directed=False)[1], degrees, normalized, q)
    c, component = basis.shape[1], basis.indices.astype(np.intp)
    values, vectors, order = np.zeros(q), null, np.arange(n)
    if q > c:
        if method == "lanczos":
            # Neighbours close to each other in memory: products are two to three times as fast.
            order = csgraph.reverse_cuthill_mckee(sp.csr_matrix(L), symmetric_mode=True)
            L, basis, null = L[order][:, order], basis[order], null[order]
        # One pair more tells whether the last block is cut.
        positive, U = _computed(method, L, basis, q - c, min(q - c + 1, n - c), bound, tol, random_state)
        values, vectors = np.concatenate([np.zeros(c), positive]), np.hstack([null, U])
    residuals = residual_norms(L, vectors, values)
    cuts_tie = q < c
    if not cuts_tie and len(values) > q:
        apart = values[q] - values[q - 1] <= residuals[q - 1] + residuals[q]
        cuts_tie = tied(values[q - 1], values[q]) or bool(apart)
    values, vectors, residual = values[:q], vectors[:, :q], float(residuals[:q].max())
    if residual > max(tol, _PRECISE) * bound:
        raise SolverError(_residual_message(method, residual, bound, tol, q, n))
    if laplacian.power > 1:
        image = vectors
        for _ in range(laplacian.power):
            image = L @ image
        values = values**laplacian.power
        residual = float(np.linalg.norm(image - vectors * values, axis=0).max())
    eigenvectors = np.empty((n, q))
    eigenvectors[order] = vectors
    fix_signs(eigenvectors[:, c:])
    return Spectrum(
        values, eigenvectors, min(c, q), normalized, residual, cuts_tie, degrees, laplacian.power, component
    )


def _computed(
    method: str, L: SparseArray, basis: SparseArray, n_asked: int, k: int, bound: float, tol: float, random_state: Any
) -> tuple[FloatArray, FloatArray]:
    """Return k eigenpairs, the first `n_asked` as exact as asked for, by a method or, where it fails, by another one.

    Few distinct eigenvalues of high multiplicity (complete graphs, rings of cliques) end a Krylov space early.
    """
    n = L.shape[0]
    others = {"arpack": ["lanczos"], "lanczos": ["arpack"]}.get(method, [])
    last = ["dense"] if others and n <= _EXACT_NODES else []
    failure: Exception | None = None
    for name in (method, *others, *last):
        solve = {"dense": _dense, "arpack": _arpack, "lanczos": _lanczos}[name]
        try:
            values, vectors = solve(L, basis, k, bound, tol, random_state)
        except SolverError as error:
            failure = failure or error
            _LOGGER.info("method=%r failed (%s)", name, error)
            continue
        values = np.maximum(values, 0.0)
        residual = float(residual_norms(L, vectors, values)[:n_asked].max())
        skew = float(np.abs(vectors.T @ vectors - np.eye(k)).max(initial=0.0))
        skew = max(float(np.abs(basis.T @ vectors).max(initial=0.0)), skew)
        if residual <= max(tol, _PRECISE) * bound and skew <= _SKEW:
            return values, vectors
        message = _residual_message(name, residual, bound, tol, n_asked, n)
        if residual <= max(tol, _PRECISE) * bound:  # a vector that was found twice, or one of the null space
            message = f"method={name!r} left eigenvectors that are orthogonal to {skew:.1e} only; {_REMEDIES[name]}."
        failure = failure or SolverError(message)
        _LOGGER.info("method=%r left the residual %.1e, and eigenvectors orthogonal to %.1e", name, residual, skew)
    assert failure is not None
    raise failure


def _residual_message(method: str, residual: float, bound: float, tol: float, q: int, n: int) -> str:
    """Return the message on eigenpairs that are less exact than asked for."""
    return (
        f"method={method!r} left the residual {residual / bound:.1e} (relative to the norm of L; {q} eigenpairs of "
        f"{n} nodes), where tol={max(tol, _PRECISE):.1e} was asked for; {_REMEDIES[method]}."
    )


def read_laplacian(W: Any, normalized: bool | None = None) -> LaplacianLike:
    """Return L, the degrees, the kind and the power, of an adjacency or of a Laplacian."""
    if hasattr(W, "matrix") and hasattr(W, "power"):
        given: LaplacianLike = W
        if normalized and not given.normalized:
            raise InvalidInputError(
                "normalized=True, but the Laplacian passed is combinatorial; "
                "build it with laplacian(W, normalized=True)."
            )
        return given
    if hasattr(W, "adjacency") and hasattr(W, "is_directed"):
        raise InvalidTypeError(
            f"W is a {type(W).__name__} of networkx; pass the matrix of graphs.from_networkx(graph)."
        )
    normalized = normalized is None or bool(normalized)
    W = sp.csr_array(W if sp.issparse(W) else np.asarray(W), dtype=np.float64)
    fault = ""
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        fault = f"is not square (shape {W.shape})"
    elif not np.isfinite(W.data).all() or (W.data < 0).any():
        bad = ~np.isfinite(W.data) | (W.data < 0)
        fault = f"holds weights that are negative or not finite, the first {first_of('W', W, bad)}"
    elif W.diagonal().any():
        fault = f"has {np.count_nonzero(W.diagonal())} self loops"
    elif W.nnz and (apart := abs(W - W.T).tocoo()).nnz and apart.data.max() > 1e-10 * W.data.max():
        i, j = (int(at[apart.data.argmax()]) for at in (apart.row, apart.col))
        fault = f"is not symmetric: W[{i}, {j}] = {W[i, j]:.6g} but W[{j}, {i}] = {W[j, i]:.6g}"
    if fault:
        raise InvalidInputError(
            f"the adjacency {fault}; pass graphs.check_adjacency(W), which says where, or cleans it."
        )
    L = sp.csr_array(csgraph.laplacian(W, normed=normalized))
    # The sum also drops stored zeros, which would count as edges between components.
    return _Laplacian(sp.csr_array((L + L.T) / 2), 1, normalized, np.asarray(W.sum(axis=1)).ravel())


def null_space(index: IntArray, degrees: FloatArray, normalized: bool, q: int) -> tuple[FloatArray, SparseArray]:
    """Return the first columns of the null space (n, min(c, q)), and all of it as a sparse basis (n, c).

    They follow from the component of every node, 0 to c - 1.
    """
    n, c = len(degrees), int(index.max()) + 1
    # The largest component first, so that nodes without edges, components of one node, come last.
    order = np.argsort(-np.bincount(index), kind="stable")
    rank = np.argsort(order)[index]
    edges = degrees > 0
    weighted = normalized and edges.any()
    root = np.sqrt(degrees) if weighted else np.ones(n)
    mass = np.bincount(rank, weights=root**2, minlength=c)
    isolated = mass == 0
    local = np.where(isolated[rank], 1.0, root / np.sqrt(np.where(isolated, 1.0, mass))[rank])
    basis = sp.csr_array((local, (np.arange(n), rank)), shape=(n, c))
    columns = np.zeros((n, min(c, q)))
    columns[:, 0] = root / np.sqrt(mass.sum()) if weighted else 1.0 / np.sqrt(n)
    below = np.cumsum(mass)
    for j in range(1, columns.shape[1]):
        inside = rank == j
        if isolated[j]:
            columns[inside, j] = 1.0
            continue
        # Constant (times the root) here and on the larger components, orthogonal to the columns before.
        columns[inside, j] = root[inside] * np.sqrt(below[j - 1] / (mass[j] * below[j]))
        larger = rank < j
        columns[larger, j] = -root[larger] * np.sqrt(mass[j] / (below[j - 1] * below[j]))
    fix_signs(columns[:, 1:])
    return columns, basis


def _dense(
    L: SparseArray, basis: SparseArray, k: int, bound: float, tol: float, random_state: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the k lowest eigenpairs orthogonal to `basis`, whose eigenvalue is shifted above the spectrum."""
    A = (L + 2.0 * bound * (basis @ basis.T)).toarray()
    values, vectors = scipy.linalg.eigh(A, subset_by_index=(0, k - 1), overwrite_a=True, check_finite=False)
    return values, vectors - basis @ (basis.T @ vectors)


def _lanczos(
    L: SparseArray, basis: SparseArray, k: int, bound: float, tol: float, random_state: Any
) -> tuple[FloatArray, FloatArray]:
    """Return what `_dense` does, by filtered block Lanczos."""
    return lowest_eigenpairs(L, basis, k, bound, max(tol, _PRECISE), random_state)


def _arpack(
    L: SparseArray, basis: SparseArray, k: int, bound: float, tol: float, random_state: Any
) -> tuple[FloatArray, FloatArray]:
    """Return what `_dense` does, by ARPACK on ``bound I - L``."""
    n, c = basis.shape
    rng = np.random.default_rng(random_state)
    vectors = _top(L, basis, np.empty((n, 0)), k, bound, tol, rng)[1]
    values, vectors = _rayleigh_ritz(L, basis, vectors)
    # One start vector sees one direction of each eigenspace: other copies come in by rounding, or not at all.
    while (left := n - c - vectors.shape[1]) > 0:
        try:
            rest, _ = _top(L, basis, vectors, 1, bound, max(tol, _SEARCH_TOL), rng)
        except SolverError:
            _LOGGER.debug("the search for missed eigenvectors did not converge: there is none")
            break
        if bound - rest.max() >= values[k - 1] - max(_MISSED, tol) * bound:
            break
        _LOGGER.debug("ARPACK missed an eigenvalue near %g; searching again", bound - rest.max())
        _, extra = _top(L, basis, vectors, min(left, max(1, k // 10)), bound, tol, rng)
        values, vectors = _rayleigh_ritz(L, basis, np.column_stack([vectors, extra]))
        values, vectors = values[:k], vectors[:, :k]
    return values, vectors


def _top(
    L: SparseArray,
    basis: SparseArray,
    known: FloatArray,
    k: int,
    bound: float,
    tol: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return the top k eigenpairs of ``bound I - L``, with `basis` and `known` moved to the bottom."""
    n = basis.shape[0]

    def multiply(x: FloatArray) -> FloatArray:
        x = x.ravel()
        out = bound * x - L @ x - 2.0 * bound * (basis @ (basis.T @ x))
        return out - 2.0 * bound * (known @ (known.T @ x)) if known.shape[1] else out

    try:
        return eigsh(
            LinearOperator((n, n), matvec=multiply, dtype=np.float64),
            k=k,
            which="LA",
            tol=tol,
            v0=rng.standard_normal(n),
        )
    except ArpackError as error:
        done = len(error.eigenvalues) if isinstance(error, ArpackNoConvergence) else 0
        raise SolverError(
            f"ARPACK found {done} of {k} eigenpairs of {n} nodes ({error}); take method='dense', fewer "
            "eigenpairs (q), or a looser tol such as 1e-8."
        ) from error


def _rayleigh_ritz(L: SparseArray, basis: SparseArray, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Ritz pairs of `L` on the span of `vectors` off the null space."""
    for _ in range(2):  # what is left of a vector of the null space is rounding, and is made orthogonal to it again
        vectors = np.linalg.qr(vectors - basis @ (basis.T @ vectors))[0]
    values, rotation = np.linalg.eigh(vectors.T @ (L @ vectors))
    return values, vectors @ rotation


def fix_signs(vectors: FloatArray) -> None:
    """Flip columns, in place, so that their first entry of largest modulus is positive."""
    if vectors.shape[1] == 0:
        return
    # Equal entries differ by rounding (+a and -a in an antisymmetric vector): the first one decides.
    least = (1.0 - 1e-6) * np.maximum(vectors.max(axis=0), -vectors.min(axis=0))
    sign = np.zeros(vectors.shape[1])
    for rows in pieces(len(vectors)):
        piece = vectors[rows]
        first = (np.abs(piece) >= least).argmax(axis=0)
        entry = np.take_along_axis(piece, first[None, :], axis=0)[0]
        sign = np.where((sign == 0) & (np.abs(entry) >= least), np.sign(entry), sign)
    vectors *= sign
