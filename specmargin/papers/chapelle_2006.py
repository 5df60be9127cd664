"""The experiments of the continuation paper (Chapelle, Chi & Zien 2006): tables 1 to 4 and figures 3 to 7.

Four methods with fixed hyper-parameters, nothing tuned: the supervised SVM, continuation, gradient descent and
SVM-light's label switching, on all pairs of USPS digits and COIL-20 objects, one text task, and the ten digits at once.
Errors are transductive, those of the unlabelled samples of the fit; the mean label of the few labelled samples stands
for that of the others.

**Protocol**, the paper's. The ten published splits of uspst and mac_windows; a pair leaves the other classes out of
both parts. The splits of COIL-20 are not published: ten draws, two labelled samples per class. C = C* = 100, a Gaussian
kernel of width 8 (USPS) or 1000 (COIL-20), linear text. A `Block` is one setting.

**What it leaves open.** The paper says that gradient descent has the objective of continuation, with the hinge; the
method that it refers to has the squared hinge. ``grad_hinge`` is the former, ``grad_s3vm`` the latter: on the 450 runs
they err in 4.62 and 5.26 %, and 4.6 is printed. Widths of COIL-20 belong to
grey values from 0 to 255 of images that may have been reduced otherwise. Figure 6 names no values of gamma_I but its
best error, which the test points choose: ours is marked optimistic, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from specmargin.experiments.blocks import Blocks, Published
from specmargin.experiments.claims import objective_and_error, order, significance, wins, within
from specmargin.experiments.engine.published import published
from specmargin.experiments.engine.records import Row
from specmargin.experiments.report import Section
from specmargin.experiments.run import Experiment, Findings, Options, Setup
from specmargin.papers._chapelle_blocks import (
    Block,
    available_blocks,
    measure,
    seconds,
    sections,
    setup,
    work,
)
from specmargin.papers._chapelle_directions import DIRECTION
from specmargin.papers._chapelle_directions import said as direction_said
from specmargin.papers._chapelle_tasks import (
    BUNDLED,
    Representation,
    features,
    pairs,
    task_named,
)

__all__ = [
    "BUNDLED",
    "CONTINUATION_S3VM",
    "FOUR",
    "Block",
    "blocks",
    "bundled_blocks",
    "features",
    "measure",
    "seconds",
    "task_named",
]

PAPER = "continuation_s3vm_2006"
FOUR = ("svm", "cs3vm", "grad_hinge", "svmlight_s3vm")
_SECTION_33 = "Section 3.3, the split along v*"
GAMMA_I = (0.01, 0.1, 1.0, 10.0)
"""Of figure 6, next to gamma_A = 1 / C = 0.01."""


def blocks(*, every: int = 1) -> list[Block]:
    """Return the paper's settings.

    Parameters
    ----------
    every : int, default 1
        Take every k-th pair only.
    """
    usps, coil = tuple(pairs("uspst", 10, every)), tuple(pairs("coil20", 20, every))
    some, rbf, text = usps[::5], Representation(8.0), Representation()
    first = "Table 1, C = C* = 100"
    more = (*FOUR, "grad_s3vm", "grad_long")
    found = [
        Block(first, "uspst_pairs", usps, more, rbf, table="1"),
        Block(first, "coil20_pairs", coil, FOUR, Representation(1000.0), table="1"),
        Block(first, "mac_windows", ("mac_windows",), (*FOUR, "grad_s3vm"), text, table="1"),
        Block("Table 2, other C = C*", "uspst_pairs", usps, FOUR, rbf, 10.0, 10.0, "2", "C=C*=10", "C = C* = 10"),
        Block(
            "Table 2, other C = C*", "mac_windows", ("mac_windows",), FOUR, text, 1.0, 1.0, "2", "C=C*=1", "C = C* = 1"
        ),
        Block("Table 3, C* = 10", "uspst_pairs", usps, FOUR[1:3], rbf, 100.0, 10.0, "3", "C=100; C*=10", "C* = 10"),
        Block("Table 4, several clusters per class", "uspst", ("uspst",), FOUR, rbf, table="4"),
        Block("Table 4, several clusters per class", "uspstb", ("uspst halves",), FOUR, rbf, table="4"),
    ]
    found.append(Block(_SECTION_33, "uspst_pairs", usps, (DIRECTION,), rbf))
    found += [
        Block("Figure 5, width of the kernel", "uspst_pairs", usps, FOUR, Representation(s), said=f"sigma = {s:g}")
        for s in (4.0, 5.66, 8.0, 11.3, 16.0)
    ]
    found += [
        Block(
            "Figure 6, kernel deformed by a graph",
            "uspst_pairs",
            usps,
            ("svm", "cs3vm"),
            Representation(8.0, graph=100.0 * gamma_I),
            table="text 5.1",
            said=f"gamma_I = {gamma_I:g}",
        )
        for gamma_I in GAMMA_I
    ]
    found += [
        Block(
            f"Section 5.2, leading components, {len(some)} of the pairs",
            "uspst_pairs",
            some,
            ("cs3vm",),
            Representation(8.0, rank=rank),
            said=f"rank {rank}",
        )
        for rank in (10, 25, 50, 100, 200)
    ]
    return found + [
        Block(
            "Figure 7, MNIST 5 against 8, 20 labelled and 5000 unlabelled",
            "mnist_5_8",
            ("mnist 5-8 n=5020",),
            ("svm", "cs3vm") if q == 5020 else ("cs3vm",),
            Representation(1280.0, landmarks=q),
            said=f"p = q = {q}",
            n_splits=5,
        )
        for q in (78, 156, 312, 625, 1250, 2500, 5020)
    ]


def bundled_blocks() -> list[Block]:
    """Return settings of seconds on scikit-learn's digits, for which nothing is published."""
    three, rbf = ("digits 3-8", "digits 1-7", "digits 4-9"), Representation(20.0)
    return [
        Block("Table 1, in its place", "digits_pairs", three, (*FOUR, "grad_s3vm"), rbf, n_splits=2),
        Block("Table 3, in its place", "digits_pairs", three, FOUR[1:3], rbf, 100.0, 10.0, said="C* = 10", n_splits=2),
        Block(
            "Figure 6, in its place",
            "digits_pairs",
            three,
            ("svm", "cs3vm"),
            Representation(20.0, graph=100.0),
            said="gamma_I = 1",
            n_splits=2,
        ),
        Block(
            "Section 5.2, in its place",
            "digits_pairs",
            three,
            ("cs3vm",),
            Representation(20.0, rank=25),
            said="rank 25",
            n_splits=2,
        ),
    ]


def _printed(block: Block, method: str) -> Published:
    """Return the published error of a method, where it is, and what to say of it."""
    name, table = method, block.table
    if method in ("grad_hinge", "grad_long"):
        name, table = "grad_s3vm", "text 4.3" if method == "grad_long" else table
    if table == "text 5.1":
        name = {"svm": "lapsvm_dual", "cs3vm": "cs3vm_graph"}[method]
    if not table:
        return Published()
    found = published(PAPER, table, method=name)
    found = found[found["dataset"] == block.dataset]
    if block.note:
        found = found[found["note"] == block.note]
    if len(found) != 1:
        return Published()
    note = "published is the best over gamma_I, optimistic" if table == "text 5.1" else ""
    source = f"{PAPER} {'' if 'text' in table else 'table '}{table}"
    return Published(float(found["mean"].iloc[0]), source=source, note=note)


def _setup(options: Options) -> Setup:
    found, header = available_blocks(blocks(every=22) if options.quick else blocks(), bundled_blocks(), options.data)
    if options.quick:
        found = [replace(block, n_splits=2) for block in found if len(block.tasks) > 1]
    return setup(found, header, options.data)


def _report(found: Sequence[Row], plan: Blocks, options: Options) -> Findings:
    rows = {row["key"]: row for row in found}
    body = sections(rows, plan, _printed, options.data)
    return Findings(body, _PROTOCOL, [*_said(plan.blocks, rows, body, options), *seconds(rows.values())])


def _said(found: Sequence[Block], rows: Mapping[str, Row], report: Sequence[Section], options: Options) -> list[str]:
    """Return what the numbers say of the paper's claims."""
    first = found[0]
    mine = [rows[cell.key] for cell in first.cells(options.data)]
    lines = [line for line in report[0].lines if line.dataset == first.dataset and line.method in FOUR]
    text = [line for line in report[0].lines if line.dataset == "mac_windows" and line.method == "cs3vm"]
    goals = [(line, 0.7) for line in lines] + [(line, 0.5) for line in text]
    if options.quick:  # a few pairs prove nothing
        goals = []
    return [
        order(lines),
        *(within(line, points) for line, points in goals if math.isfinite(line.difference)),
        objective_and_error(mine, "cs3vm", "grad_hinge"),
        wins(mine, "cs3vm", "grad_hinge"),
        wins(mine, "cs3vm", "svmlight_s3vm"),
        *_section_33(found, rows, mine, options),
        *_significance(found, rows, options),
    ]


def _section_33(found: Sequence[Block], rows: Mapping[str, Row], plain: Sequence[Row], options: Options) -> list[str]:
    cells = [cell for b in found if DIRECTION in b.methods for cell in b.cells(options.data)]
    return direction_said([rows[cell.key] for cell in cells], plain)


def _significance(found: Sequence[Block], rows: Mapping[str, Row], options: Options) -> list[str]:
    """Return the tests on COIL-20: significant against gradient descent, not against SVM-light, the paper says."""
    coil = [b for b in found if b.dataset == "coil20_pairs" and b.table == "1"]
    mine = [rows[cell.key] for b in coil for cell in b.cells(options.data)]
    printed = {"grad_hinge": True, "svmlight_s3vm": False}
    return [
        f"COIL-20, {significance(mine, 'cs3vm', name, None if options.quick else verdict)}"
        for name, verdict in printed.items()
        if coil
    ]


_PROTOCOL = (
    "Fixed hyper-parameters, nothing tuned. Mean label of the unlabelled samples: that of the labelled ones. Means, "
    "and deviations, over all pairs and splits. Errors are transductive.",
    "svm: hinge, free intercept. grad_hinge: the hinge that the paper says, smoothed as at the end of continuation; "
    "grad_s3vm: the squared hinge of Chapelle & Zien (2005); grad_long: grad_hinge with C* from 1e-6 of itself in 100 "
    "steps.",
    "COIL-20: our draws, two labelled samples per class; width 1000 in grey values 0 to 255 of 32 x 32 pixels.",
    "Section 3.3: v_star is the sign of the projection on v*, cut at the mean and signed by the labelled samples.",
    "Figure 6: gamma_A = 1 / C; the published 2.8 and 1.8 are best values over gamma_I by test error: OPTIMISTIC.",
    "Figure 7: one sample of 5020 images, five draws of the labelled ones; the paper draws both anew.",
)


CONTINUATION_S3VM = Experiment(
    "continuation_s3vm",
    "Tables 1 to 4 and figures 3 to 7 of the continuation paper: S3VMs on pairs of digits and objects, and on text",
    "Continuation for semi-supervised SVMs: tables 1 to 4 and figures 3 to 7, errors on the unlabelled points",
    _setup,
    work,
    _report,
    quick="a few pairs, two splits; for a look, not for the record.",
)
"""Quick: every 22nd pair, two splits, tables 1 and 3 and figure 6."""
