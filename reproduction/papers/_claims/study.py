"""What the claims of the small studies need next to the columns of their rows: slopes, norms, sums, draw by draw.

The claims stand in ``study_claims.toml``, one table each, with the fields of `reproduction.judging.ClaimRow`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from reproduction.judging import read_claims, slope
from reproduction.papers._claims import primal as primal
from reproduction.papers._claims import s3vm as s3vm
from reproduction.papers._claims import spectrum as spectrum

CLAIMS = read_claims(Path(__file__).with_name("study_claims.toml"))
"""The claims of each paper that its studies judge."""


def _slopes(frame: pd.DataFrame, template: str, values: Sequence[int]) -> list[float]:
    """Return the slope of log seconds over log values of each row."""
    columns = [template.replace("@", str(value)) for value in values]
    return [slope(values, list(seconds)) for seconds in frame[columns].to_numpy()]


def _norms(frame: pd.DataFrame) -> dict[str, Any]:
    of_draw = frame.groupby("split")["gradient"]
    return {"apart": np.log10(of_draw.transform("max") / of_draw.transform("min").clip(lower=1e-300))}


def _lapsvm(frame: pd.DataFrame) -> dict[str, Any]:
    # Of 24,000 samples, the kernel included.
    need = {m: (1.0 + frame[f"memory_{m}_{primal.SIZES[-1]}"]) * 24000**2 * 8 / 1e9 for m in primal.SOLVERS}
    slopes = {f"slope_{m}": _slopes(frame, f"seconds_{m}_@", primal.SIZES[-2:]) for m in primal.SOLVERS}
    return {**slopes, **{f"need_{m}": each for m, each in need.items()}}


DERIVED: Mapping[str, Callable[[pd.DataFrame], Mapping[str, Any]]] = MappingProxyType(
    {
        "conjugate gradients on the way": _norms,
        "costs of LapSVM": _lapsvm,
        "costs of STORM": lambda frame: {
            "slope_q": _slopes(frame, "seconds_q_@", spectrum.NUMBERS),
            "slope_l": _slopes(frame, "seconds_l_@", spectrum.LABELS),
        },
        "time of continuation": lambda frame: {"slope": _slopes(frame, "seconds_@", s3vm.SIZES[-2:])},
        "costs of a call": lambda frame: {
            f"slope_{name}": _slopes(frame, f"seconds_{name}_@", (1, 2, 4)) for name in ("kernel", "d", "r", "s")
        },
    }
)
"""Slopes, norms and sums of the frame of a study that its rows do not have."""
