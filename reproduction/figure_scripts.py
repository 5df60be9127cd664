"""Figure scripts: where they lie, what they offer and say of themselves, and on what their answer depends.

A script is a plain module ``figures/NAME.py``. The first line of its docstring is the title, the paragraph below it the
caption: what is drawn, whichever data sets are there, in sixty words at most. ``compute(size, seed=0)`` returns plain
data (arrays, numbers, strings, nested in dicts and lists), as much as the size asks for; ``draw(data)`` turns them into
a ``Figure``. The size ``"quick"`` is a look, ``"standard"`` is worth looking at and the default, ``"full"`` is for the
record. ``SECONDS`` says what each takes on one core, on bundled data and on the data folder, as in
``{"quick": (2, 3), ...}``: a plain literal, so that a script need not run to be planned.
"""

import ast
import hashlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import specmargin
from reproduction.engine.progress import duration
from specmargin.exceptions import SpecmarginError

DATA_VARIABLE = "SPECMARGIN_DATA"

Size: TypeAlias = Literal["quick", "standard", "full"]
"""How much a figure computes."""

SIZES: tuple[Size, ...] = get_args(Size)


def figure_scripts(folder: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Return the paths of the scripts by name; of the checkout's own, unless a folder is named."""
    place = Path(__file__).resolve().parents[1] / "figures" if folder is None else Path(folder)
    if not place.is_dir():
        raise SpecmarginError(f"there is no folder of figure scripts at {place}; pass folder=.")
    return {path.stem: path for path in sorted(place.glob("*.py")) if not path.stem.startswith("_")}


class Described(NamedTuple):
    """What a script says of its figure: one line, the caption, and the rest."""

    title: str
    caption: str
    details: str


def described(source: str) -> Described:
    r"""Return title, caption and details from the text of a script; no script is executed.

    Examples
    --------
    >>> described("'A title.\\n\\nA caption.\\n\\nMore.'")
    Described(title='A title.', caption='A caption.', details='More.')
    """
    title, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    caption, _, details = rest.strip().partition("\n\n")
    return Described(title, " ".join(caption.split()), details)


def expected_seconds(source: str, size: Size, real: bool) -> float | None:
    """Return what ``SECONDS`` in the text of a script says, on real data sets or bundled ones; None without it.

    Examples
    --------
    >>> expected_seconds("SECONDS = {'quick': (2, 3), 'standard': (20, 30)}", "standard", real=True)
    30.0
    """
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "SECONDS" for target in statement.targets
        ):
            seconds = ast.literal_eval(statement.value)
            return float(seconds[size][int(real)]) if size in seconds else None
    return None


def expected_durations(size: Size) -> dict[str, str]:
    """Return what every figure takes on one core with the data sets that are there, "35 s", by its name.

    Empty where a script does not tell. No script is executed.
    """
    real = has_real_data()
    told = {name: expected_seconds(path.read_text("utf-8"), size, real) for name, path in figure_scripts().items()}
    return {name: "" if seconds is None else duration(seconds) for name, seconds in told.items()}


def has_real_data() -> bool:
    """Say whether a data set is there that is neither bundled nor generated."""
    from reproduction.data import available

    return any(place and Path(place).is_file() for place in available().values())


def load_script(path: Path) -> ModuleType:
    """Import a script and check that it has ``compute`` and ``draw``."""
    name = f"_specmargin_figure_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses of a script look their module up
    spec.loader.exec_module(module)
    missing = [function for function in ("compute", "draw") if not callable(getattr(module, function, None))]
    if missing:
        raise SpecmarginError(
            f"figure script {path.name} has no {' and no '.join(missing)}; it needs compute(size, seed=0) "
            "and draw(data)."
        )
    first = next(iter(inspect.signature(module.compute).parameters), None)
    if first != "size":  # compute(quick=True) would take the name of any size for true
        raise SpecmarginError(
            f"compute of {path.name} takes {first!r} first; make that the size: compute(size, seed=0)."
        )
    return module


def script_dependencies(path: Path, size: Size, seed: int) -> dict[str, Any]:
    """Return what decides whether computed data are drawn again: the script but for `draw`, and its arguments.

    Not the library, whose every change would make every figure be computed anew; its commit is in the sidecar.
    """
    from reproduction.data import available

    # Sizes, not contents: `load` compares the checksum of every file that it reads.
    files = {
        name: Path(place).stat().st_size if place and Path(place).is_file() else place
        for name, place in available().items()
    }
    return {
        "script": _hash_of_script(path.read_text("utf-8")),
        "size": size,
        "seed": seed,
        "version": specmargin.__version__,
        "data": hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest(),
    }


def _hash_of_script(source: str) -> str:
    """Return a hash of the text of a script without its docstring, comments, layout and `draw`."""
    tree = ast.parse(source)
    counted = [
        statement
        for statement in tree.body
        if not (isinstance(statement, ast.FunctionDef) and statement.name == "draw")
        and not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
    ]
    return hashlib.sha256("\n".join(map(ast.unparse, counted)).encode()).hexdigest()[:16]


@contextmanager
def data_folder(data: str | None) -> Iterator[None]:
    """Let scripts, by `reproduction.data.load`, look into `data`, as if the variable had been set."""

    def set_variable(value: str | None) -> None:
        # A worker of an earlier call may have another folder in its environment, so that None is one, too.
        os.environ.pop(DATA_VARIABLE, None)
        if value is not None:
            os.environ[DATA_VARIABLE] = value

    before = os.environ.get(DATA_VARIABLE)
    set_variable(data)
    try:
        yield
    finally:
        set_variable(before)
