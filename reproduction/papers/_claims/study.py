"""What the claims of the small studies need next to the columns of their rows: slopes, medians, sums.

The claims stand in ``study_claims.toml``, one table each, with the fields of `reproduction.judging.ClaimRow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from reproduction.judging import read_claims, slope
from reproduction.papers._claims import primal as primal
from reproduction.papers._claims import s3vm as s3vm
from reproduction.papers._claims import spectrum as spectrum

CLAIMS = read_claims(Path(__file__).with_name("study_claims.toml"))
"""The claims of each paper that its studies judge."""

RULES = ("stability", "validation", "mixed")


def _at(frame: pd.DataFrame, template: str, values: Iterable[object]) -> list[float]:
    return [float(frame[template.replace("@", str(value))].mean()) for value in values]


def _norms(frame: pd.DataFrame) -> dict[str, float]:
    norms = frame.groupby("dataset")["gradient"].median()
    return {**{f"norm_{name}": norm for name, norm in norms.items()}, "apart": norms.max() / max(norms.min(), 1e-300)}


def _rules(frame: pd.DataFrame) -> dict[str, float]:
    parts = product(("unlabeled", "test"), RULES)
    return {"worst": max((frame[f"error_{part}_{r}"] - frame[f"error_{part}_optimum"]).max() for part, r in parts)}


def _lapsvm(frame: pd.DataFrame) -> dict[str, float]:
    last, n = primal.SIZES[-2:], primal.SIZES[-1]
    row = {f"slope_{m}": slope(last, _at(frame, f"seconds_{m}_@", last)) for m in primal.SOLVERS}
    product_, *others = (_at(frame, f"seconds_@_{n}", [name])[0] for name in ("product", "newton", "dual"))
    row |= {f"share_{m}": product_ / seconds for m, seconds in zip(("newton", "dual"), others, strict=True)}
    # Of 24,000 samples, the kernel included.
    return row | {f"need_{m}": (1.0 + _at(frame, f"memory_@_{n}", [m])[0]) * 24000**2 * 8 / 1e9 for m in primal.SOLVERS}


DERIVED: Mapping[str, Callable[[pd.DataFrame], Mapping[str, float]]] = MappingProxyType(
    {
        "conjugate gradients on the way": _norms,
        "rules for LapRLS": _rules,
        "costs of LapSVM": _lapsvm,
        "costs of STORM": lambda frame: {
            "slope_q": slope(spectrum.NUMBERS, _at(frame, "seconds_q_@", spectrum.NUMBERS)),
            "slope_l": slope(spectrum.LABELS, _at(frame, "seconds_l_@", spectrum.LABELS)),
        },
        "time of continuation": lambda frame: {
            "slope": slope(s3vm.SIZES[-2:], _at(frame, "seconds_@", s3vm.SIZES[-2:]))
        },
        "costs of QN-S3VM": lambda frame: {
            f"slope_{name}": slope((1, 2, 4), _at(frame, f"seconds_{name}_@", (1, 2, 4)))
            for name in ("kernel", "d", "r", "s")
        },
    }
)
"""Slopes, medians and sums of the frame of a study that its rows do not have."""
