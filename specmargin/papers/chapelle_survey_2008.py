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

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from specmargin.experiments.blocks import Blocks, Published
from specmargin.experiments.engine.published import published, published_parameters
from specmargin.experiments.engine.records import Row
from specmargin.experiments.run import Experiment, Findings, Options, Setup
from specmargin.papers._chapelle_blocks import Block, available_blocks, seconds, sections, setup, work
from specmargin.papers._chapelle_tasks import Representation, pairs

__all__ = ["ALL", "NEAREST", "blocks", "S3VM_SURVEY", "bundled_blocks"]

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


def blocks(*, every: int = 1) -> list[Block]:
    """Return the survey's settings.

    Parameters
    ----------
    every : int, default 1
        Take every k-th pair of digits only.
    """
    one_vs_rest = [(table, name) for table in ("8", "11", "13") for name in ("g50c", "mac_windows", "uspst")]
    return [
        *(_block(table, name, name, (name,)) for table, name in one_vs_rest),
        _block("14", "uspst_pairs", "uspst", tuple(pairs("uspst", 10, every))),
        _block("14", "uspstb", "uspst", ("uspst halves",)),
    ]


def _block(table: str, dataset: str, source: str, tasks: tuple[str, ...]) -> Block:
    printed = published_parameters(PAPER, "5", source).set_index("parameter")["value"].astype(float)
    C, representation = float(printed["C"]), Representation(float(printed["gaussian_sigma"]))
    return _setting(Block(_TITLES[table], dataset, tasks, ALL, representation, C, table=table))


def _setting(block: Block) -> Block:
    exact = block.table != "13"
    return replace(
        block,
        C_star=block.C / 100.0 if block.table == "11" else block.C,
        said="fixed with all labels, optimistic" if exact else "sigma and C with all labels",
        exact=exact,
        shifted=exact,
        sharpness=5.0,
        experiment="s3vm_survey",
    )


def bundled_blocks() -> list[Block]:
    """Return settings of seconds on scikit-learn's digits, for which nothing is published."""
    names = ("digits 3-8", "digits 4-9")
    return [
        replace(
            _setting(Block(_TITLES[table], "digits_pairs", names, ALL, Representation(20.0), 10.0, table=table)),
            n_splits=1,
        )
        for table in ("8", "13")
    ]


def _setup(options: Options) -> Setup:
    found, header = available_blocks(blocks(every=22) if options.quick else blocks(), bundled_blocks(), options.data)
    if options.quick:
        small = ("g50c", "uspst_pairs", "digits_pairs")
        found = [replace(block, n_splits=1) for block in found if block.dataset in small]
    return setup(found, header, options.data)


def _report(found: Sequence[Row], plan: Blocks, options: Options) -> Findings:
    rows = {row["key"]: row for row in found}
    return Findings(
        sections(rows, plan, _printed, options.data), _PROTOCOL, [*_shift(rows.values()), *seconds(rows.values())]
    )


def _printed(block: Block, method: str) -> Published:
    """Return the published error of a method or its nearest, where it is, and what to say of it."""
    name, table = NEAREST.get(method, method), block.table
    if method == "da_s3vm" and table in ("8", "11"):
        name, table = method, "2"
    found = published(PAPER, table)
    found = found[(found["dataset"] == block.dataset) & (found["method"] == name)]
    if table == "2":
        found = found[found["note"].str.endswith("C*=C" if block.table == "8" else "C*=C/100")]
    if len(found) != 1:
        return Published()
    note = f"{name} is the nearest that is published" if name != method else ""
    return Published(float(found["mean"].iloc[0]), source=f"{PAPER} table {table}", note=note)


def _shift(rows: Iterable[Row]) -> list[str]:
    """Say what shifting to the class ratio does to each method's error."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == "ok" and "error_unshifted" in row:
            found.setdefault(row["method"], []).append(row)
    words = (
        f"{method} {statistics.fmean(r['error_unlabeled'] for r in mine):.2f} "
        f"({statistics.fmean(r['error_unshifted'] for r in mine):.2f})"
        for method, mine in found.items()
    )
    return [f"mean error with decisions shifted to the class ratio (and as fitted): {', '.join(words)}."]


_PROTOCOL = (
    "sigma and C of the survey's table 5, chosen with all true labels. In tables 8, 11 and 14 the class ratio is that "
    "of the hidden labels. Both are OPTIMISTIC. There decisions are shifted to the ratio, for every method.",
    "multiswitch_tsvm and qn_s3vm are not the survey's: beside them stands the nearest published method; da_s3vm is "
    "that of its table 2, or beside gradient DA.",
)


S3VM_SURVEY = Experiment(
    "s3vm_survey",
    "Tables 8, 11, 13 and 14 of the 2008 survey: every semi-supervised SVM solver on g50c, text and uspst",
    "Semi-supervised SVMs, every solver beside the survey of 2008: errors on the unlabelled samples in percent",
    _setup,
    work,
    _report,
    quick="g50c or a few pairs, one split; for a look, not for the record.",
)
