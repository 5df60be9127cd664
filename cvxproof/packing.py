"""Values as JSON and arrays, and back, to the last bit: `pack` and `unpack`, of the classes that a file can hold.

A value of a known class becomes its class and its fields, an array or a sparse matrix its arrays. Nothing else has a
name in a file: what is read can build these classes only, whose own checks then hold.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from importlib import import_module, metadata
from typing import Any
from urllib.parse import quote

import numpy as np
import scipy.sparse as sp

from cvxproof.checks import shown
from cvxproof.exceptions import CvxproofError, InvalidInputError, InvalidTypeError
from cvxproof.results import ConeProof
from cvxproof.typing import AnyArray

__all__ = ["Packing", "contents_of", "loaded", "pack_sparse", "package_versions", "unpack_sparse"]

_SPARSE: dict[str, tuple[str, ...]] = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}

_CONTRADICTION = "cvxproof.conic.contradictions.Contradiction"


class Packing:
    """How values are packed: as which classes, by name.

    Parameters
    ----------
    classes : mapping of str to class or str
        Dataclasses by the names that they have in a file, or their dotted names.

    Examples
    --------
    >>> packing, arrays = Packing(), {}
    >>> packed = packing.pack({"C": 1.0, "x": np.arange(3)}, arrays, "data")
    >>> packed, list(arrays)
    ({'items': {'C': 1.0, 'x': {'array': 'data/x'}}}, ['data/x'])
    >>> packing.unpack(packed, arrays)
    {'C': 1.0, 'x': array([0, 1, 2])}
    """

    def __init__(self, classes: Mapping[str, Any] | None = None) -> None:
        self.classes = {"ConeProof": ConeProof, "Contradiction": _CONTRADICTION, **(classes or {})}

    def pack(self, value: Any, arrays: dict[str, AnyArray], at: str) -> Any:
        """Return a value as JSON, and put its arrays into `arrays` under names that begin with `at`.

        Parameters
        ----------
        value : object
            Numbers, texts, None, arrays, sparse matrices, objects of `classes`, sequences and mappings of them.
        arrays : dict of str to ndarray
            Is added to.
        at : str
            What the value is called, in names of arrays and in messages.

        Raises
        ------
        TypeError
            If a value is of any other class; the text names it.
        """
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            value = value.item()
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, list | tuple):
            items = [self.pack(item, arrays, f"{at}/{k}") for k, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
            return {
                "items": {name: self.pack(item, arrays, f"{at}/{quote(name, safe='')}") for name, item in value.items()}
            }
        if isinstance(value, np.ndarray):
            return self._packed_array(value, arrays, at)
        if sp.issparse(value):
            return pack_sparse(value, arrays, at)
        name = type(value).__name__
        if self.known(name) is type(value) and not callable(getattr(value, "kernel", None)):
            packed = {field: self.pack(item, arrays, f"{at}/{field}") for field, item in self.fields(value).items()}
            return {"class": name, "fields": packed}
        return self.packed_other(value, arrays, at)

    def fields(self, value: Any) -> dict[str, Any]:
        """Return what an object is built from again."""
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}

    def packed_other(self, value: Any, arrays: dict[str, AnyArray], at: str) -> Any:
        """Raise for a value of a class that has no name here; what extends `Packing` may return JSON for it."""
        cls = f"{type(value).__module__}.{type(value).__qualname__}"
        raise InvalidTypeError(
            f"{at}={shown(value)} is of the class {cls}, which a file cannot hold; take one of the package: "
            f"{', '.join(sorted(self.classes))}."
        )

    def unpack(self, value: Any, arrays: Mapping[str, AnyArray]) -> Any:
        """Return the value that `pack` was given.

        Raises
        ------
        ValueError
            If a class or an array is not known, or what a class is built from does not pass its checks.
        """
        if isinstance(value, list):
            return [self.unpack(item, arrays) for item in value]
        if not isinstance(value, dict):
            return value
        if "array" in value:
            return arrays[value["array"]]
        if "tuple" in value:
            return tuple(self.unpack(item, arrays) for item in value["tuple"])
        if "items" in value:
            return {name: self.unpack(item, arrays) for name, item in value["items"].items()}
        if "objects" in value:
            objects = np.empty(len(value["objects"]), dtype=object)
            objects[:] = [self.unpack(item, arrays) for item in value["objects"]]
            return objects
        if "sparse" in value:
            return unpack_sparse(value, arrays)
        name = str(value.get("class"))
        cls = self.known(name)
        if cls is None:
            raise InvalidInputError(
                f"the file holds an object of the class {name!r}, which this version does not know; use a newer one."
            )
        return self.built(cls, {name: self.unpack(item, arrays) for name, item in value["fields"].items()})

    def built(self, cls: Any, given: dict[str, Any]) -> Any:
        """Return the object of a class that has these fields."""
        return cls(**given)

    def known(self, name: str) -> Any:
        """Return the class of that name, None if there is none; it is loaded if it was given as a dotted name."""
        cls = self.classes.get(name)
        if isinstance(cls, str):
            cls = self.classes[name] = loaded(cls)
        return cls

    def _packed_array(self, value: AnyArray, arrays: dict[str, AnyArray], at: str) -> Any:
        if value.dtype.kind != "O":
            arrays[at] = np.asarray(value)
            return {"array": at}
        if value.ndim != 1:
            raise InvalidTypeError(f"{at}={shown(value)} holds Python objects; pass an array of numbers or texts.")
        return {"objects": [self.pack(item, arrays, f"{at}/{k}") for k, item in enumerate(value.tolist())]}


def loaded(name: str) -> Any:
    """Return what a dotted name means.

    Examples
    --------
    >>> loaded("cvxproof.exceptions.SolverError").__name__
    'SolverError'
    """
    module, _, own = name.rpartition(".")
    return getattr(import_module(module), own)


def pack_sparse(value: Any, arrays: dict[str, AnyArray], at: str) -> dict[str, Any]:
    """Return a sparse matrix as JSON, and put its arrays into `arrays`."""
    form = value if value.format in _SPARSE else value.tocsr()  # as which it multiplies
    for part in _SPARSE[form.format]:
        arrays[f"{at}/{part}"] = np.asarray(getattr(form, part))
    parts = {part: {"array": f"{at}/{part}"} for part in _SPARSE[form.format]}
    is_array = isinstance(value, sp.sparray)
    return {"sparse": form.format, "is_array": is_array, "shape": list(form.shape), "parts": parts}


def unpack_sparse(value: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    """Return the sparse matrix that `pack_sparse` was given."""
    form, shape = value["sparse"], tuple(value["shape"])
    parts = [arrays[value["parts"][part]["array"]] for part in _SPARSE[form]]
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
    """Return the versions of Python and of packages, None of those that are not installed."""
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in packages:
        loaded_version = getattr(sys.modules.get(package), "__version__", None)
        try:
            versions[package] = loaded_version or metadata.version(package)
        except ImportError:
            versions[package] = None
    return versions


@contextmanager
def contents_of(path: Any) -> Iterator[None]:
    """Turn what is raised for a header of other contents into one message."""
    try:
        yield
    except CvxproofError as error:
        raise InvalidInputError(f"path={str(path)!r} cannot be used: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"path={str(path)!r} has contents of another version ({type(error).__name__}: {error}); save it again, or "
            "use the version that wrote it."
        ) from error
