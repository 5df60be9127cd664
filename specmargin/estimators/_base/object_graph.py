"""Fitted estimators as JSON and arrays, and back: an object is its class and its state, shared ones are stored once.

What a file can hold is a closed set: numbers, texts, None, arrays, sparse matrices, sequences and mappings of them,
and objects of the classes of `known_classes`: those that the package itself defines where data are kept (`ROOMS`), and
the few of scikit-learn that estimators keep (`FOREIGN`). A new estimator belongs to it without a line here. Functions
do not: reading a file makes objects without a call of their constructors, and runs nothing that the file names.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import quote

import numpy as np
import scipy.sparse as sp

from cvxproof.packing import pack_sparse, unpack_sparse
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import AnyArray

__all__ = ["FOREIGN", "ROOMS", "Reader", "Writer", "class_name", "known_classes"]

ROOMS = (
    *("changes", "estimators", "graphs", "kernels", "labels", "losses", "model_selection", "results"),
    *("solvers.parts", "spectra", "tables.auto_ssl", "tables.candidates"),
)
"""Parts of the package whose classes a file can hold, by name: those of the tables load when a file is made or read."""

FOREIGN = (
    *("sklearn.cluster.KMeans", "sklearn.decomposition.PCA", "sklearn.decomposition.TruncatedSVD"),
    *("sklearn.model_selection.KFold", "sklearn.model_selection.StratifiedKFold"),
    *("sklearn.model_selection.ShuffleSplit", "sklearn.model_selection.StratifiedShuffleSplit"),
    *("sklearn.model_selection.LeaveOneOut", "sklearn.model_selection.PredefinedSplit"),
    *("sklearn.utils._metadata_requests.MetadataRequest", "sklearn.utils._metadata_requests.MethodMetadataRequest"),
)
"""Classes of scikit-learn that a file can hold."""

_LONG = 16  # numbers of a list that an array holds in less space
_LONGEST_RANGE = 10**6


@cache
def known_classes() -> dict[str, type]:
    """Return the classes that a file can hold, by their names in files."""
    classes: dict[str, type] = {}
    for room in ROOMS:
        home = "cvxproof" if room == "results" else "specmargin"  # where certificates are at home
        for module in _modules(importlib.import_module(f"{home}.{room}")):
            for value in vars(module).values():
                own = isinstance(value, type) and value.__module__ == module.__name__
                if own and not issubclass(value, BaseException) and not getattr(value, "_is_protocol", False):
                    name = f"{room}.{value.__qualname__}"  # without the module, from which a class may move
                    if name in classes:
                        raise AssertionError(f"{classes[name]} and {value} have one name in files; rename one")
                    classes[name] = value
    for name in FOREIGN:
        module_name, _, cls = name.rpartition(".")
        classes[name] = getattr(importlib.import_module(module_name), cls)
    return classes


def _modules(package: ModuleType) -> list[ModuleType]:
    paths = getattr(package, "__path__", [])
    inner = (importlib.import_module(f"{package.__name__}.{one.name}") for one in pkgutil.iter_modules(paths))
    return [package, *(module for one in inner for module in _modules(one))]


@cache
def _names() -> dict[type, str]:
    return {cls: name for name, cls in known_classes().items()}


def class_name(cls: type) -> str | None:
    """Return the name of a class in files, None of one that no file can hold."""
    return _names().get(cls)


class Writer:
    """Turns values into JSON; `arrays` and `objects` hold what they refer to."""

    def __init__(self) -> None:
        self.arrays: dict[str, AnyArray] = {}
        self.objects: list[dict[str, Any]] = []
        # With the values themselves: an identity is that of another object once the first is gone.
        self._seen: dict[int, tuple[Any, dict[str, Any]]] = {}

    def packed(self, value: Any, at: str) -> Any:
        """Return a value, called `at` in names of arrays and in messages, as JSON.

        Raises
        ------
        InvalidTypeError
            If it is of a class that no file can hold.
        """
        kind = type(value)
        if value is None or kind in (str, bool, int, float):
            return value
        if kind is list:
            if len(value) > _LONG and all(type(item) is float for item in value):
                return {"floats": self._array(np.array(value), at)}
            return self._items(value, at)
        if kind is tuple:
            return {"tuple": self._items(value, at)}
        if kind is range:
            return {"range": [value.start, value.stop, value.step]}
        if isinstance(value, Mapping):
            if all(type(name) is str and name != "float" for name in value):  # which the archive needs for itself
                path = f"{at}/" if at else ""
                return {"items": {one: self.packed(item, path + quote(one, safe="")) for one, item in value.items()}}
            return {"pairs": [self._items(pair, f"{at}/{k}") for k, pair in enumerate(value.items())]}
        if isinstance(value, np.generic) and value.dtype.kind in "biufcSUMm":
            return {"scalar": self._array(np.asarray(value), at)}
        if isinstance(value, np.dtype) and value.kind in "biufcSUMm":
            return {"dtype": value.str}
        if isinstance(value, Enum) and (name := class_name(kind)):
            return {"enum": name, "value": self.packed(value.value, at)}
        if id(value) not in self._seen:
            self._seen[id(value)] = (value, {})
            # Filled before what it holds is packed, which may refer to it.
            self._refer(value, at, self._seen[id(value)][1])
        return dict(self._seen[id(value)][1])

    def _items(self, values: Any, at: str) -> list[Any]:
        return [self.packed(item, f"{at}/{k}") for k, item in enumerate(values)]

    def _array(self, value: AnyArray, at: str) -> str:
        self.arrays[at] = value
        return at

    def _refer(self, value: Any, at: str, reference: dict[str, Any]) -> None:
        """Store a value that several others may share, and put the reference to it into `reference`."""
        kind = type(value)
        if kind in (np.ndarray, np.memmap):
            if value.dtype.kind == "O":
                reference.update(objects=self._items(value.ravel().tolist(), at), shape=list(value.shape))
            else:
                reference["array"] = self._array(np.asarray(value), at)
            return
        if sp.issparse(value) and kind.__module__.startswith("scipy."):
            reference["object"] = len(self.objects)
            self.objects.append(pack_sparse(value, self.arrays, at))
            return
        name = class_name(kind)
        if name is None:
            raise InvalidTypeError(f"{at}={shown(value)} {_not_held(value)}.")
        if isinstance(value, tuple):
            reference.update({"tuple": self._items(value, at), "class": name})
            return
        reference["object"] = len(self.objects)
        entry: dict[str, Any] = {"class": name}
        self.objects.append(entry)
        state = value.__getstate__()
        if not hasattr(kind, "__setstate__") and not (state is None or isinstance(state, dict)):
            raise InvalidTypeError(f"{at}={shown(value)} has slots; give {kind.__name__} a __setstate__.")
        entry["state"] = self.packed(state, at)


def _not_held(value: Any) -> str:
    """Return why no file can hold a value, and what to do."""
    cls = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return f"draws from a state ({cls}), which files do not keep; set a whole number instead"
    if cls.startswith("networkx."):
        return f"is a graph of networkx ({cls}); set specmargin.graphs.from_networkx of it, a matrix"
    if isinstance(value, type) or (callable(value) and not hasattr(value, "__array__")):
        return (
            f"is a function or a class ({cls}), and a file that held code would run it; name one of the package's "
            "instead, or compute the matrix and set 'precomputed'"
        )
    return (
        f"is of the class {cls}, which is not among those that files hold; set numbers, texts, arrays or objects of "
        "specmargin, or keep the whole with joblib where the file will be trusted"
    )


class Reader:
    """Turns JSON and arrays back into values; everything is made once, however often it is referred to."""

    def __init__(self, objects: list[dict[str, Any]], arrays: Mapping[str, AnyArray]) -> None:
        self._arrays = arrays
        self._objects = [self._blank(entry) for entry in objects]
        self._states = {k: entry["state"] for k, entry in enumerate(objects) if "class" in entry}
        for k in range(len(objects)):
            self._object(k)

    def unpacked(self, value: Any) -> Any:
        """Return the value that `Writer.packed` was given.

        Raises
        ------
        InvalidInputError
            If it is of a class that this version does not know.
        """
        if isinstance(value, list):
            return [self.unpacked(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "object" in value:
            return self._object(value["object"])
        if "array" in value:
            return self._arrays[value["array"]]
        if "items" in value:
            return {name: self.unpacked(item) for name, item in value["items"].items()}
        if "pairs" in value:
            return {self.unpacked(name): self.unpacked(item) for name, item in value["pairs"]}
        if "tuple" in value:
            items = tuple(self.unpacked(item) for item in value["tuple"])
            return tuple.__new__(_class(value["class"], tuple), items) if "class" in value else items
        if "floats" in value:
            return self._arrays[value["floats"]].tolist()
        if "scalar" in value:
            return self._arrays[value["scalar"]][()]
        if "objects" in value:
            objects = np.empty(len(value["objects"]), dtype=object)
            objects[:] = [self.unpacked(item) for item in value["objects"]]
            return objects.reshape(value["shape"])
        if "enum" in value:
            return _class(value["enum"], Enum)(self.unpacked(value["value"]))
        if "dtype" in value:
            return np.dtype(value["dtype"])
        numbers = range(*value["range"])
        # Whoever reads the estimator walks through it: a forged one would hold the reader for ever.
        if numbers[_LONGEST_RANGE:]:
            raise InvalidInputError(f"it holds {numbers!r}, longer than any of an estimator's; use another file.")
        return numbers

    def _object(self, k: int) -> Any:
        """Return an object with its state: those that it holds first, but for circles, as from a pickle."""
        made = self._objects[k]
        if k in self._states:
            state = self.unpacked(self._states.pop(k))
            if hasattr(made, "__setstate__"):
                made.__setstate__(state)
            elif state is not None:
                made.__dict__.update(state)
        return made

    def _blank(self, entry: Mapping[str, Any]) -> Any:
        """Return a sparse matrix, or an object without state: no constructor is called."""
        return unpack_sparse(entry, self._arrays) if "sparse" in entry else object.__new__(_class(entry["class"]))


def _class(name: Any, kind: type = object) -> Any:
    cls = known_classes().get(str(name))
    if cls is None or not issubclass(cls, kind):
        raise InvalidInputError(
            f"it holds an object of the class {name!r}, which this version of specmargin does not know; use a newer "
            "one, and no file of unknown origin."
        )
    return cls
