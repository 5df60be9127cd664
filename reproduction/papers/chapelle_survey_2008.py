"""The survey of semi-supervised SVMs (Chapelle, Sindhwani & Keerthi 2008): tables 8, 11, 13 and 14, for every solver.

g50c, mac_windows (the survey's Text) and uspst on their published splits, one against the rest (tables 8, 11, 13) and
in pairs (14), by all seven local searches of this package and the supervised SVM.

**Protocol**, the survey's. Gaussian kernels; sigma and C are those that cross-validation with *all true labels* chose
for a supervised SVM (`published_parameters`), C* = C, in table 11 C / 100; exp(-5 f^2) for unlabelled samples where
that is the loss. The class ratio is that of the hidden labels in tables 8, 11 and 14: twice *optimistic*, and named so.
Table 13 estimates it from the labelled samples.

**What it leaves open.** The survey holds the exact ratio hard. Methods that balance mean decisions have no hard ratio:
here they are fitted with the ratio as the mean, and decisions are then shifted until the share of positive ones is
right, for every method alike; the row keeps the error without the shift, too. With an estimated ratio nothing is
shifted: on g50c that is about a point nearer to table 13 for the methods that balance means. Annealing is held against
the survey's table 2 where that has it, and else against its gradient DA; ``qn_s3vm`` against gradient descent, whose
objective it nearly has.

**What it shows.** The survey's S3VM-light must have had the squared hinge: `multi_switch`, which has it, stays within
half a point of its numbers in every row, where the hinge of the original program is up to four points off on uspst.
Descending on its free energy, annealing is far better on text than the survey's was.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from reproduction.blocks import Blocks, Published, available_blocks, grouped
from reproduction.engine.published import published, published_parameters
from reproduction.engine.records import Row
from reproduction.papers._protocols.chapelle_blocks import INSTEAD, S3VMBlock, pairs, seconds, work
from reproduction.run import Experiment, Findings, Options, Setup, words

PAPER = "survey2008"
ALL = ("svm", "cs3vm", "grad_s3vm", "qn_s3vm", "svmlight_s3vm", "multiswitch_tsvm", "da_s3vm", "cccp_s3vm")
NEAREST = {"multiswitch_tsvm": "svmlight_s3vm", "da_s3vm": "grad_da", "qn_s3vm": "grad_s3vm"}
"""Whose published number stands next to a method that the survey's tables do not have."""

_TITLES = {
    "8": "Table 8, class ratio of the hidden labels, C* = C: OPTIMISTIC",
    "11": "Table 11, the same with C* = C / 100: OPTIMISTIC",
    "13": "Table 13, class ratio estimated from the labelled samples, C* = C",
    "14": "Table 14, pairs and 0-4 against 5-9, class ratio of the hidden labels: OPTIMISTIC",
}


class SurveyBlock(S3VMBlock):
    """One setting of the survey."""

    experiment = "s3vm_survey"

    def published(self, method: str, values: Sequence[float] = ()) -> Published:
        """Return the published error of a method or its nearest, where it is, and a note on it."""
        name, table = NEAREST.get(method, method), self.table
        if method == "da_s3vm" and table in ("8", "11"):
            name, table = method, "2"
        rows = published(PAPER, table)
        rows = rows[(rows["dataset"] == self.dataset) & (rows["method"] == name)]
        if table == "2":
            rows = rows[rows["note"].str.endswith("C*=C" if self.table == "8" else "C*=C/100")]
        note = f"{name} is the nearest that is published" if name != method else ""
        return Published.only(rows, f"{PAPER} table {table}", note)


def _block(table: str, dataset: str, tasks: tuple[str, ...], C: float, sigma: float, **options: Any) -> SurveyBlock:
    exact = table != "13"
    tuning = "fixed with all labels, optimistic" if exact else "sigma and C with all labels"
    options |= {"C": C, "C_star": C / 100.0 if table == "11" else C, "sharpness": 5.0}
    return SurveyBlock(_TITLES[table], dataset, tasks, ALL, tuning, sigma=sigma, table=table, exact=exact, **options)


def blocks(*, every: int = 1) -> list[SurveyBlock]:
    """Return the survey's settings, of the pairs of digits every k-th."""
    rows: list[tuple[str, str, tuple[str, ...]]]
    rows = [(table, name, (name,)) for table in ("8", "11", "13") for name in ("g50c", "mac_windows", "uspst")]
    rows += [("14", "uspst_pairs", pairs("uspst", 10, every)), ("14", "uspstb", ("uspst halves",))]
    chosen = published_parameters(PAPER, "5").set_index(["dataset", "parameter"])["value"].astype(float)
    return [
        _block(table, dataset, tasks, *(float(chosen[tasks[0].split()[0], name]) for name in ("C", "gaussian_sigma")))
        for table, dataset, tasks in rows
    ]


def bundled_blocks() -> list[SurveyBlock]:
    """Return settings of seconds on scikit-learn's digits, for which nothing is published."""
    names = ("digits 3-8", "digits 4-9")
    return [_block(table, "digits_pairs", names, 10.0, 20.0, n_splits=1) for table in ("8", "13")]


def _setup(options: Options) -> Setup:
    wanted = blocks(every=22) if options.quick else blocks()
    available, header = available_blocks(wanted, options.data, bundled_blocks(), INSTEAD)
    if options.quick:
        small = ("g50c", "uspst_pairs", "digits_pairs")
        available = [replace(block, n_splits=1) for block in available if block.dataset in small]
    return Blocks(available).setup(header)


def _report(rows: Sequence[Row], plan: Blocks, options: Options) -> Findings:
    by_key = {row["key"]: row for row in rows}
    effects = [*_shift_effects(by_key.values()), *seconds(by_key.values())]
    return Findings(plan.sections(by_key, options.data), remarks=effects)


def _shift_effects(rows: Iterable[Row]) -> list[str]:
    """Return what shifting to the class ratio does to each method's error."""
    shifted = grouped((row for row in rows if "error_unshifted" in row), lambda row: row["method"])
    effects = (
        f"{method} {statistics.fmean(row['error_unlabeled'] for row in mine):.2f} "
        f"({statistics.fmean(row['error_unshifted'] for row in mine):.2f})"
        for method, mine in shifted.items()
    )
    return [f"mean error with decisions shifted to the class ratio (and as fitted): {', '.join(effects)}."]


S3VM_SURVEY = Experiment(**words("s3vm_survey"), setup=_setup, work=work, report=_report)
