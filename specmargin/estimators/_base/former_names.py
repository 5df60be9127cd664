"""What to write instead of parameters that estimators had once, most before they were composed of parts: `now_of`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specmargin.kernels import RBF, Landmarks, Polynomial, PrincipalComponents
from specmargin.spectra import Eigenvectors

__all__ = ["in_grid", "now_of"]

_WITHIN = {
    **dict.fromkeys(("n_neighbors", "kind", "weight", "metric", "reduce", "random_state"), "graph"),
    **dict.fromkeys(("normalized", "power"), "laplacian"),
    **dict.fromkeys(("tol", "max_iter", "solver_params"), "solver"),
    **dict.fromkeys(("intercept", "one_flip", "s"), "search"),
    **dict.fromkeys(("sigma", "exponent", "k", "w"), "transformation"),
}
"""The parts that hold former parameters."""
_SPANS = {"landmarks": Landmarks(), "eigenvectors": Eigenvectors()}
_SEARCHED = {
    "gammas": "kernel__gamma",
    "n_neighbors": "graph__n_neighbors",
    "powers": "laplacian__power",
    "ratios": "gamma_I",
    "filters": "filters",
    "self_loops": "self_loops",
}
"""Lists of a search, by their names in its grid; others had the name of the parameter in the plural."""


def now_of(name: str, value: Any, known: Sequence[str]) -> tuple[str, Any] | None:
    """Return the parameter, with a nested name, and its value that mean what a former one did; None of what is gone.

    Examples
    --------
    >>> now_of("n_neighbors", 5, ["graph", "kernel"]), now_of("ratio", 100, ["gamma_I"])
    (('graph__n_neighbors', 5), ('gamma_I', '100 gamma_A'))
    """
    root = _WITHIN.get(name, "")
    root = "search" if root == "solver" and "search" in known else root
    if root in known:
        inner = "options" if name == "solver_params" else name
        return f"{root}__{inner}", "auto" if name == "normalized" and value is None else value
    if "functions" in known and name in ("span", "n_landmarks", "q", "rank"):
        if name == "span":
            return "functions", _SPANS.get(value, value)
        if name == "rank":
            return "functions", PrincipalComponents(value)
        kind = Landmarks if name == "n_landmarks" else Eigenvectors
        return "functions", kind() if value is None else kind(value)
    if "kernel" in known and name in ("gamma", "degree", "coef0"):
        return "kernel", RBF(value) if name == "gamma" else Polynomial(**{name: value})
    if "gamma_I" in known and name == "ratio":
        return "gamma_I", value if isinstance(value, str) else f"{value} gamma_A"
    if "class_balance" in known and name == "class_prior":
        in_order = isinstance(value, list | tuple)
        return "class_balance", {f"classes_[{k}]": one for k, one in enumerate(value)} if in_order else value
    return None


def in_grid(name: str, value: Any, searched: Sequence[str]) -> dict[str, Any] | None:
    """Return the grid that means what a list of a search did; None of what was no such list.

    Examples
    --------
    >>> in_grid("ratios", [0.0, 100.0], ["gamma_I"])
    {'gamma_I': ['0 gamma_A', '100 gamma_A']}
    """
    now = ({f"{one}s": one for one in searched} | _SEARCHED).get(name, "")
    if now.partition("__")[0] not in searched:
        return None
    return {now: [f"{one:g} gamma_A" for one in value] if name == "ratios" else value}
