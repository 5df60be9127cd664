"""Kernels of one's own, weighed together with a classifier: what `MKL` learns from where it is given a list of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from specmargin.checks import shown, texts
from specmargin.estimators._base.bound import within_bound
from specmargin.estimators._base.parameters import part_of
from specmargin.estimators._base.semi_supervised import solved_by_cvxpy
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.kernels.maps import kernel_map
from specmargin.kernels.parts import Kernel, Precomputed, kernel_of
from specmargin.kernels.semidefinite import require_semidefinite, require_symmetric
from specmargin.labels import Labels
from specmargin.objectives.blocks import BlockMargin
from specmargin.results import SolveResult
from specmargin.solvers.spectrum.block_margin import block_margin
from specmargin.typing import FloatArray, Matrix

__all__ = [
    "KERNELS",
    "KernelExpansion",
    "OwnKernel",
    "blocks_side_by_side",
    "kernels_on",
    "learned",
    "objective_of",
]


@dataclass(frozen=True, eq=False)
class OwnKernel:
    """A kernel on some of the columns, with its name and what it is divided by."""

    name: str
    kernel: Kernel
    columns: Any
    scale: float = 1.0

    def block(self, X: Matrix, at: Matrix, rows: Any) -> FloatArray:
        """Return the values between samples and the labelled ones, `at`, which had these rows."""
        own = X[:, self.columns]
        if self.kernel.is_precomputed:
            K = np.asarray((own.toarray() if hasattr(own, "toarray") else own)[:, rows], dtype=np.float64)
        else:
            K = self.kernel.block(own, at[:, self.columns])
        return K / self.scale


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """f = sum_k delta_k K_k(., labelled) gamma + b."""

    kernels: list[OwnKernel]
    at: Matrix
    rows: Any
    delta: FloatArray
    gamma: FloatArray
    b: FloatArray

    def __call__(self, X: Matrix) -> FloatArray:
        """Return decisions; kernels without weight are not computed."""
        f = np.zeros((X.shape[0], *self.gamma.shape[1:]))
        for weight, one in zip(self.delta, self.kernels, strict=True):
            if weight > 0:
                f += weight * (one.block(X, self.at, self.rows) @ self.gamma)
        return np.asarray(f + self.b)


def KERNELS(name: str, value: Any) -> Any:
    """Check kernels: None, "precomputed", or one or more kernels, each alone or as (kernel, columns)."""
    if value is None or (isinstance(value, str) and value == "precomputed"):
        return value
    if not isinstance(value, Mapping | list | tuple):
        raise InvalidTypeError(
            f"{name}={shown(value)} is no list of kernels; pass e.g. [RBF(1.0), ('linear', slice(0, 5))], a dict from "
            "names to such, 'precomputed' to fit to a list of matrices, or None for the spectrum of a graph."
        )
    if not value:
        raise InvalidInputError(f"{name}={shown(value)} holds no kernel; pass one or more.")
    if isinstance(value, Mapping):
        texts("names of kernels")(name, list(value))
    entries(name, value)
    return value


def entries(name: str, value: Any) -> list[tuple[str, Kernel, Any]]:
    """Return the name, the kernel and the columns of each entry."""
    pairs = value.items() if isinstance(value, Mapping) else zip(map(str, range(len(value))), value, strict=True)
    read = []
    for key, entry in pairs:
        where = f"{name}[{key!r}]" if isinstance(value, Mapping) else f"{name}[{key}]"
        paired = isinstance(entry, tuple)
        if paired and len(entry) != 2:
            raise InvalidInputError(f"{where}={shown(entry)} must be a kernel or a pair (kernel, columns).")
        kernel, columns = entry if paired else (entry, slice(None))
        kernel = kernel_of(where, kernel)
        read.append((key if isinstance(value, Mapping) else f"{key}: {kernel!r}", kernel, columns))
    return read


def blocks_side_by_side(X: Any) -> Any:
    """Return matrices of precomputed kernels side by side, (rows, m n); an array of two axes is that already."""
    if not isinstance(X, list | tuple) and np.ndim(X) != 3:
        return X
    blocks = [np.asarray(one) for one in X]
    if not blocks or len({one.shape for one in blocks}) != 1 or blocks[0].ndim != 2:
        raise InvalidInputError(
            f"kernels of the shapes {[one.shape for one in blocks]} are none of the same samples; pass one matrix for "
            "each kernel, all of one shape."
        )
    return np.hstack(blocks)


def kernels_on(value: Any, X: Matrix, rows: Any, columns: Sequence[str] | None) -> list[OwnKernel]:
    """Return the kernels at samples, of mean diagonal one over the labelled samples, `rows`."""
    n, width = X.shape
    if isinstance(value, str):
        if width % n:
            raise InvalidInputError(
                f"kernels='precomputed' takes matrices of {n} columns for {n} samples, side by side or as a list, got "
                f"{width} columns."
            )
        read: list[Any] = [(str(k), Precomputed(), slice(k * n, (k + 1) * n)) for k in range(width // n)]
    else:
        read = entries("kernels", value)
    return [_scaled(name, kernel, _places(name, cols, width, columns), X, rows) for name, kernel, cols in read]


def _places(name: str, columns: Any, width: int, known: Sequence[str] | None) -> Any:
    """Return which columns are meant, by number, by name or as a slice."""
    if isinstance(columns, slice):
        places = np.arange(width)[columns]
    else:
        named = {one: at for at, one in enumerate(known if known is not None else ())}
        try:
            listed = [named[one] if isinstance(one, str) else one for one in np.atleast_1d(columns).tolist()]
            places = np.arange(width)[np.asarray(listed)]
        except (KeyError, IndexError) as error:
            raise InvalidInputError(f"kernel {name!r}: columns={shown(columns)} are not among the {width}.") from error
    if not len(places):
        raise InvalidInputError(f"kernel {name!r}: columns={shown(columns)} leave none of the {width} columns.")
    return places


def _scaled(name: str, kernel: Kernel, places: Any, X: Matrix, rows: Any) -> OwnKernel:
    own = OwnKernel(name, kernel.fitted_to(X[:, places]), places)
    if kernel.is_precomputed and len(places) != X.shape[0]:
        raise InvalidInputError(
            f"kernel {name!r} is precomputed for {X.shape[0]} samples and has {len(places)} columns; give it as many."
        )
    K = own.block(X[rows], X[rows], rows)
    require_symmetric(K, f"kernel {name!r}")
    scale = float(np.diagonal(K).mean())
    if not np.isfinite(K).all() or (scale <= 0 and not K.any()):
        what = "is zero at the labelled samples" if np.isfinite(K).all() else "has values that are not finite"
        raise InvalidInputError(f"kernel {name!r} {what}; leave it out.")
    require_semidefinite(K, name=f"kernel {name!r}")
    return OwnKernel(name, own.kernel, places, scale)


def objective_of(kernels: list[OwnKernel], X: Matrix, labels: Labels, **options: Any) -> BlockMargin:
    """Return the problem over the labelled samples, on which alone it depends."""
    rows, l = labels.labeled, labels.n_labeled
    own = Labels(labels.sign, np.arange(l), labels.classes, l, labels.weights)
    at, tol = X[rows], l * np.finfo(float).eps
    return BlockMargin([kernel_map(one.block(at, at, rows), tol=tol).Z for one in kernels], own, **options)


def learned(
    kernels: list[OwnKernel], X: Matrix, labels: Labels, solver: Any, B: float | str, **options: Any
) -> tuple[SolveResult, float, KernelExpansion]:
    """Return the answer, the bound in use and the decision function."""
    objective = objective_of(kernels, X, labels, **options)
    solve = partial(_solved, objective, part_of("solver", solver))
    result, bound = within_bound(B, solve, slice(None))
    known = result.variables
    b, rows = np.asarray(known["b"], dtype=float), labels.labeled
    return result, bound, KernelExpansion(kernels, X[rows], rows, known["delta"], known["gamma"], b)


def _solved(objective: BlockMargin, solver: Any, B: float) -> SolveResult:
    bounded = objective.with_(B=B)
    if solver.name == "auto":
        return block_margin(bounded, **solver.arguments())
    from specmargin import problems

    return solved_by_cvxpy(problems.block_margin(bounded), solver)
