"""What to write in the place of parameters that estimators had before they were composed of parts: `instead_of`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specmargin.checks import shown

_FORMER = {
    **dict.fromkeys(("n_neighbors", "kind", "weight", "metric", "reduce"), "graph=KNN({name}={value})"),
    **dict.fromkeys(("normalized", "power"), "laplacian=Laplacian({name}={value})"),
    "gamma": "kernel=RBF({value})",
    **dict.fromkeys(("degree", "coef0"), "kernel=Polynomial({name}={value})"),
    "span": "functions={value}, Landmarks(500) or Eigenvectors(200)",
    "n_landmarks": "functions=Landmarks({value})",
    "q": "functions=Eigenvectors({value})",
    "rank": "functions=PrincipalComponents({value})",
    "ratio": 'gamma_I="{value} gamma_A"',
    **dict.fromkeys(("tol", "max_iter"), "solver=Solver({name}={value})"),
    "solver_params": "solver=Solver(options={value})",
    **dict.fromkeys(("intercept", "one_flip", "s"), "search=Search({name}={value})"),
    **dict.fromkeys(("sigma", "exponent", "k", "w"), "transformation=Transform({name}={value})"),
    "gamma_A": "gamma_I={value}, the ratio gamma_I / gamma_A, which is all that counts",
    "random_state": "random_state={value} of the part that draws: KNN, Landmarks or Eigenvectors",
}
"""What to write in the place of a parameter that the estimators had before they were composed of parts."""
_SEARCHED = {
    "kernels": "kernel",
    "gammas": "kernel__gamma",
    "n_neighbors": "graph__n_neighbors",
    "powers": "laplacian__power",
    "ratios": "gamma_I",
    "gamma_As": "gamma_A",
    "gamma_Is": "gamma_I",
    "Cs": "C",
    "Bs": "B",
    "qs": "q",
    "learns": "learn",
    "filters": "filters",
    "self_loops": "self_loops",
}
"""The same for the lists of a search."""


def instead_of(
    name: str, value: Any, known: Sequence[str], searched: str = "", of_searched: Sequence[str] = ()
) -> str | None:
    """Return what to write in the place of a parameter that earlier versions had; None of what they had not.

    Parameters
    ----------
    name, value
        Of the parameter.
    known : sequence of str
        Parameters of the class.
    searched : str
        The estimator whose parameters a search chooses by default, as it is written, where the class is a search.
    of_searched : sequence of str
        Parameters of that estimator.

    Examples
    --------
    >>> instead_of("n_neighbors", 5, ["graph", "kernel"]), instead_of("ratios", [0, 100], ["grid"], "LapRLS()")
    ('graph=KNN(n_neighbors=5)', "grid={'gamma_I': ['0 gamma_A', '100 gamma_A']}")
    """
    if searched and name in _SEARCHED:
        multiples = [f"{one:g} gamma_A" for one in value] if name == "ratios" else value
        return f"grid={{{_SEARCHED[name]!r}: {shown(multiples)}}}"
    if searched:
        now = f"{name}={shown(value)}" if name in of_searched else instead_of(name, value, of_searched)
        opened = searched.removesuffix(")") + ("" if searched.endswith("()") else ", ")
        return None if now is None else f"estimator={opened}{now})"
    former = _FORMER.get(name)
    if former is None:
        return None
    if name in ("tol", "max_iter", "solver_params") and "search" in known:
        former = former.replace("solver=Solver", "search=Search")
    drawn = name == "random_state" and not {"graph", "functions"}.isdisjoint(known)
    return former.format(name=name, value=shown(value)) if drawn or former.partition("=")[0] in known else None
