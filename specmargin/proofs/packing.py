"""Objectives and what they are made of as JSON and arrays, and back: `pack` and `unpack`, to the last bit.

A value of one of the classes of `PACKED` becomes its class and its fields, an array or a sparse matrix its arrays.
Nothing else has a name in a file: what is read can build these classes only, whose own checks then hold.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from importlib import metadata
from typing import Any
from urllib.parse import quote

import numpy as np
import scipy.sparse as sp

from specmargin import __version__, objectives
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError, SpecmarginError
from specmargin.graphs.laplacians import LaplacianOperator
from specmargin.kernels.blocks import BlockKernel
from specmargin.kernels.operators import KernelOperator, LowRankKernel
from specmargin.labels import Labels
from specmargin.losses import LOSSES, UNLABELED_LOSSES, Ramp
from specmargin.objectives import (
    BlockAlignment,
    BlockMargin,
    Features,
    FixedSpectrum,
    LapSVM,
    MonotoneCone,
    ProductCone,
    SpectrumCone,
)
from specmargin.objectives.reduction import Applied
from specmargin.proofs.wings import CLASSES, loaded
from specmargin.results import ConeProof
from specmargin.spectra import Spectrum
from specmargin.typing import AnyArray

__all__ = [
    "LARGEST_DENSE",
    "OBJECTIVES",
    "PACKED",
    "class_named",
    "contents_of",
    "pack",
    "pack_sparse",
    "package_versions",
    "unpack",
    "unpack_sparse",
]

LARGEST_DENSE = 5000
"""Samples up to which an operator of which nothing is known but its products is saved as the matrix that it is."""

OBJECTIVES: dict[str, Any] = {
    name: getattr(objectives, name)
    for name in sorted(set(objectives.__all__) - {"Objective"})
    if hasattr(getattr(objectives, name), "certificate")
}
"""The classes of objectives that can be saved, by name."""

_LOSSES: dict[str, Any] = {
    type(loss).__name__: type(loss)
    for loss in (*LOSSES.values(), *UNLABELED_LOSSES.values(), Ramp())
    if type(loss).__module__.startswith("specmargin.losses.")
}
_CONES = (FixedSpectrum, MonotoneCone, ProductCone, SpectrumCone)
_PARTS = (*_CONES, BlockKernel, ConeProof, Features, Labels, LaplacianOperator, LowRankKernel, Spectrum)
PACKED: dict[str, Any] = {**OBJECTIVES, **_LOSSES, **{cls.__name__: cls for cls in _PARTS}}
"""The classes that a file can hold, by name; those of the wings are in `CLASSES`."""

_SPARSE: dict[str, tuple[str, ...]] = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}


def class_named(name: str) -> Any:
    """Return the class of that name that a file can hold, None if there is none."""
    return loaded(CLASSES[name]) if name in CLASSES else PACKED.get(name)


def pack(value: Any, arrays: dict[str, AnyArray], at: str) -> Any:
    """Return a value as JSON, and put its arrays into `arrays` under names that begin with `at`.

    Parameters
    ----------
    value : object
        Numbers, texts, None, arrays, sparse matrices, objects of `PACKED`, sequences and mappings of them.
    arrays : dict of str to ndarray
        Is added to.
    at : str
        What the value is called, in names of arrays and in messages.

    Raises
    ------
    TypeError
        If a value is of any other class, a loss of the user's own for instance; the text names it.

    Examples
    --------
    >>> arrays = {}
    >>> packed = pack({"C": 1.0, "x": np.arange(3)}, arrays, "data")
    >>> packed, list(arrays)
    ({'items': {'C': 1.0, 'x': {'array': 'data/x'}}}, ['data/x'])
    >>> unpack(packed, arrays)
    {'C': 1.0, 'x': array([0, 1, 2])}
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        items = [pack(item, arrays, f"{at}/{k}") for k, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {"items": {name: pack(item, arrays, f"{at}/{quote(name, safe='')}") for name, item in value.items()}}
    if isinstance(value, np.ndarray):
        return _packed_array(value, arrays, at)
    if sp.issparse(value):
        return pack_sparse(value, arrays, at)
    name = type(value).__name__
    if class_named(name) is type(value) and not callable(getattr(value, "kernel", None)):
        return {"class": name, "fields": _packed_fields(value, arrays, at)}
    if isinstance(value, Applied):
        return pack(value.L, arrays, at)  # the product with K is the same again
    return _packed_operator(value, arrays, at)


def _packed_fields(value: Any, arrays: dict[str, AnyArray], at: str) -> dict[str, Any]:
    given = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    if isinstance(value, BlockAlignment | BlockMargin):
        given["blocks"] = list(value.maps)
    if isinstance(value, BlockMargin):
        given["loss"] = value.loss.name
    packed = {name: pack(item, arrays, f"{at}/{name}") for name, item in given.items()}
    if isinstance(value, LapSVM):
        packed["reduced"] = value.is_reduced
    return packed


def _packed_array(value: AnyArray, arrays: dict[str, AnyArray], at: str) -> Any:
    if value.dtype.kind != "O":
        arrays[at] = np.asarray(value)
        return {"array": at}
    if value.ndim != 1:
        raise InvalidTypeError(f"{at}={shown(value)} holds Python objects; pass an array of numbers or texts.")
    return {"objects": [pack(item, arrays, f"{at}/{k}") for k, item in enumerate(value.tolist())]}


def pack_sparse(value: Any, arrays: dict[str, AnyArray], at: str) -> dict[str, Any]:
    """Return a sparse matrix as JSON, and put its arrays into `arrays`."""
    form = value if value.format in _SPARSE else value.tocsr()  # as which it multiplies
    parts = {part: pack(getattr(form, part), arrays, f"{at}/{part}") for part in _SPARSE[form.format]}
    is_array = isinstance(value, sp.sparray)
    return {"sparse": form.format, "is_array": is_array, "shape": list(form.shape), "parts": parts}


def _packed_operator(value: Any, arrays: dict[str, AnyArray], at: str) -> Any:
    """Save a kernel or a graph of which only products are known as the matrix of them."""
    cls = f"{type(value).__module__}.{type(value).__qualname__}"
    shape = getattr(value, "shape", None)
    if not (isinstance(value, KernelOperator) or (isinstance(shape, tuple) and hasattr(value, "__matmul__"))):
        raise InvalidTypeError(
            f"{at}={shown(value)} is of the class {cls}, which a file cannot hold; take one of the package: "
            f"{', '.join(sorted(_LOSSES if hasattr(value, 'gradient') else {*PACKED, *CLASSES}))}."
        )
    n = int(value.shape[0])
    if n > LARGEST_DENSE:
        raise InvalidInputError(
            f"{at}={shown(value)} is of the class {cls}, which is saved as a matrix, but not of {n} samples; take a "
            f"LowRankKernel, a sparse matrix, or at most {LARGEST_DENSE} samples."
        )
    dense = np.asarray(value) if isinstance(value, KernelOperator) else np.asarray(value @ np.eye(n))
    return pack(dense, arrays, at)


def unpack(value: Any, arrays: Mapping[str, AnyArray]) -> Any:
    """Return the value that `pack` was given.

    Raises
    ------
    ValueError
        If a class or an array is not known, or what a class is built from does not pass its checks.
    """
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "tuple" in value:
        return tuple(unpack(item, arrays) for item in value["tuple"])
    if "items" in value:
        return {name: unpack(item, arrays) for name, item in value["items"].items()}
    if "objects" in value:
        objects = np.empty(len(value["objects"]), dtype=object)
        objects[:] = [unpack(item, arrays) for item in value["objects"]]
        return objects
    if "sparse" in value:
        return unpack_sparse(value, arrays)
    cls = class_named(str(value.get("class")))
    if cls is None:
        raise InvalidInputError(
            f"the file holds an object of the class {value.get('class')!r}, which this version of specmargin does not "
            "know; use a newer one."
        )
    given = {name: unpack(item, arrays) for name, item in value["fields"].items()}
    reduced = given.pop("reduced", False)
    made = cls(**given)
    if reduced:
        _ = made.reduction  # with which `certificate` proves more
    return made


def unpack_sparse(value: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    """Return the sparse matrix that `pack_sparse` was given."""
    form, shape = value["sparse"], tuple(value["shape"])
    parts = [unpack(value["parts"][part], arrays) for part in _SPARSE[form]]
    cls = getattr(sp, f"{form}_{'array' if value['is_array'] else 'matrix'}")
    if form == "coo":
        return cls((parts[0], (parts[1], parts[2])), shape=shape)
    ends = np.concatenate([np.zeros(1), np.ravel(parts[2]).astype(float), [len(parts[1])]])
    if ends[1] != 0 or (np.diff(ends) < 0).any():  # of a negative count SciPy's own check, below, sees nothing
        raise InvalidInputError("a sparse matrix has rows whose entries do not follow one another; save it again.")
    matrix = cls(tuple(parts), shape=shape)
    matrix.check_format(full_check=True)  # compiled code would follow indices anywhere
    return matrix


def package_versions(*packages: str) -> dict[str, str | None]:
    """Return the versions of specmargin, of Python, and of packages, None of those that are not installed."""
    versions: dict[str, str | None] = {"specmargin": __version__, "python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except ImportError:
            versions[package] = None
    return versions


@contextmanager
def contents_of(path: Any) -> Iterator[None]:
    """Turn what is raised for a header of other contents into one message."""
    try:
        yield
    except SpecmarginError as error:
        raise InvalidInputError(f"path={str(path)!r} cannot be used: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"path={str(path)!r} has contents of another version ({type(error).__name__}: {error}); save it again, or "
            "use the specmargin that wrote it."
        ) from error
