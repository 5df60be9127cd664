"""The experiments of the continuation paper (Chapelle, Chi & Zien 2006): tables 1 to 4 and figures 3 to 7.

Four methods with fixed hyper-parameters, nothing tuned: the supervised SVM, continuation, gradient descent and
SVM-light's label switching, on all pairs of USPS digits and COIL-20 objects, one text task, and the ten digits at once.
Errors are transductive, those of the unlabelled samples of the fit; the mean label of the few labelled samples stands
for that of the others.

**Protocol**, the paper's. The ten published splits of uspst and mac_windows; a pair leaves the other classes out of
both parts. The splits of COIL-20 are not published: ten draws, two labelled samples per class. C = C* = 100, a Gaussian
kernel of width 8 (USPS) or 1000 (COIL-20), linear text. A `ContinuationBlock` is one setting.

**What it leaves open.** The paper says that gradient descent has the objective of continuation, with the hinge; the
method that it refers to has the squared hinge. ``grad_hinge`` is the former, ``grad_s3vm`` the latter: on the 450 runs
they err in 4.62 and 5.26 %, and 4.6 is published. Widths of COIL-20 belong to
grey values from 0 to 255 of images that may have been reduced otherwise. Figure 6 names no values of gamma_I but its
best error, which the test points choose: ours is marked optimistic, too. What LapSVM loses there it loses by its
threshold: cut at the true shares of the classes, which nobody knows, its decisions err less than continuation's.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from reproduction.blocks import Blocks, Published, available_blocks, grouped
from reproduction.claims import objective_and_error, wins
from reproduction.engine.published import published
from reproduction.engine.records import Row
from reproduction.judging import TABLE_CLAIMS, judge
from reproduction.papers._claims import chapelle as claims
from reproduction.papers._protocols.chapelle_blocks import (
    DIRECTION,
    INSTEAD,
    S3VMBlock,
    measure,
    pairs,
    seconds,
    timed_features,
    work,
)
from reproduction.run import Experiment, Findings, Options, Setup, words

__all__ = ["CONTINUATION_S3VM", "FOUR", "ContinuationBlock", "blocks", "claims", "measure", "seconds", "timed_features"]

PAPER = "continuation_s3vm_2006"
FOUR = ("svm", "cs3vm", "grad_hinge", "svmlight_s3vm")
GAMMA_I = (0.01, 0.1, 1.0, 10.0)
"""Of figure 6, next to gamma_A = 1 / C = 0.01."""

_1, _2, _4 = "Table 1, C = C* = 100", "Table 2, other C = C*", "Table 4, several clusters per class"
_FIGURE_5, _FIGURE_6 = "Figure 5, width of the kernel", "Figure 6, kernel deformed by a graph"
_SHARES = "Kernel deformed by a graph, decisions cut at the true shares of the classes: OPTIMISTIC"
_5_2 = "Section 5.2, leading components, {} of the pairs"
_FIGURE_7 = "Figure 7, MNIST 5 against 8, 20 labelled and 5000 unlabelled"


class ContinuationBlock(S3VMBlock):
    """One setting of the paper."""

    experiment = "continuation_s3vm"

    def published(self, method: str, values: Sequence[float] = ()) -> Published:
        """Return the published error of a method, where it is, and a note on it."""
        name, table, note = method, self.table, ""
        if method in ("grad_hinge", "grad_long"):
            name, table = "grad_s3vm", "text 4.3" if method == "grad_long" else table
        if table == "text 5.1":
            name = {"svm": "lapsvm_dual", "cs3vm": "cs3vm_graph"}[method]
            note = "published is the best over gamma_I, optimistic"
        if not table:
            return Published()
        rows = published(PAPER, table, method=name)
        rows = rows[rows["dataset"] == self.dataset]
        if table in ("2", "3"):  # which have other weights, too
            weights = f"C=C*={self.C:g}" if table == "2" else f"C={self.C:g}; C*={self.C_star:g}"
            rows = rows[rows["note"] == weights]
        return Published.only(rows, f"{PAPER} {'' if 'text' in table else 'table '}{table}", note)


def blocks(*, every: int = 1) -> list[ContinuationBlock]:
    """Return the paper's settings, of its pairs every k-th."""
    usps, coil = ("uspst_pairs", pairs("uspst", 10, every)), ("coil20_pairs", pairs("coil20", 20, every))
    some, text = (usps[0], usps[1][::5]), ("mac_windows", ("mac_windows",))
    mnist = ("mnist_5_8", ("mnist 5-8 n=5020",))
    two, one = ("svm", "cs3vm"), ("cs3vm",)
    return [
        ContinuationBlock(_1, *usps, (*FOUR, "grad_s3vm", "grad_long"), sigma=8.0, table="1"),
        ContinuationBlock(_1, *coil, FOUR, sigma=1000.0, table="1"),
        ContinuationBlock(_1, *text, (*FOUR, "grad_s3vm"), table="1"),
        ContinuationBlock(_2, *usps, FOUR, "C = C* = 10", sigma=8.0, C=10.0, C_star=10.0, table="2"),
        ContinuationBlock(_2, *text, FOUR, "C = C* = 1", C=1.0, C_star=1.0, table="2"),
        ContinuationBlock("Table 3, C* = 10", *usps, FOUR[1:3], "C* = 10", sigma=8.0, C_star=10.0, table="3"),
        ContinuationBlock(_4, "uspst", ("uspst",), FOUR, sigma=8.0, table="4"),
        ContinuationBlock(_4, "uspstb", ("uspst halves",), FOUR, sigma=8.0, table="4"),
        ContinuationBlock("Section 3.3, the split along v*", *usps, (DIRECTION,), sigma=8.0),
        *(
            ContinuationBlock(_FIGURE_5, *usps, FOUR, f"sigma = {sigma:g}", sigma=sigma)
            for sigma in (4.0, 5.66, 8.0, 11.3, 16.0)
        ),
        *(
            ContinuationBlock(_FIGURE_6, *usps, two, f"gamma_I = {g:g}", sigma=8.0, graph=100.0 * g, table="text 5.1")
            for g in GAMMA_I
        ),
        *(
            ContinuationBlock(_SHARES, *usps, two, f"gamma_I = {g:g}", sigma=8.0, graph=100.0 * g, exact=True)
            for g in GAMMA_I[2:]
        ),
        *(
            ContinuationBlock(_5_2.format(len(some[1])), *some, one, f"rank {rank}", sigma=8.0, rank=rank)
            for rank in (10, 25, 50, 100, 200)
        ),
        *(
            ContinuationBlock(
                _FIGURE_7, *mnist, two if q == 5020 else one, f"p = q = {q}", 5, sigma=1280.0, landmarks=q
            )
            for q in (78, 156, 312, 625, 1250, 2500, 5020)
        ),
    ]


def bundled_blocks() -> list[ContinuationBlock]:
    """Return settings of seconds on scikit-learn's digits, for which nothing is published."""
    three = ("digits_pairs", ("digits 3-8", "digits 1-7", "digits 4-9"))
    return [
        ContinuationBlock("Table 1, in its place", *three, (*FOUR, "grad_s3vm"), "fixed", 2, sigma=20.0),
        ContinuationBlock("Table 3, in its place", *three, FOUR[1:3], "C* = 10", 2, sigma=20.0, C_star=10.0),
        ContinuationBlock(
            "Figure 6, in its place", *three, ("svm", "cs3vm"), "gamma_I = 1", 2, sigma=20.0, graph=100.0
        ),
        ContinuationBlock("Section 5.2, in its place", *three, ("cs3vm",), "rank 25", 2, sigma=20.0, rank=25),
    ]


def _setup(options: Options) -> Setup:
    wanted = blocks(every=22) if options.quick else blocks()
    available, header = available_blocks(wanted, options.data, bundled_blocks(), INSTEAD)
    if options.quick:
        available = [replace(block, n_splits=2) for block in available if len(block.tasks) > 1]
    return Blocks(available).setup(header)


def _report(rows: Sequence[Row], plan: Blocks, options: Options) -> Findings:
    by_key = {row["key"]: row for row in rows}
    sections = plan.sections(by_key, options.data)
    remarks = _claims(plan.blocks, by_key, options)
    if not options.quick:  # a few pairs prove nothing
        settings = [(block, block.rows(by_key, options.data)) for block in plan.blocks]
        remarks += ["", *claims.sentences(settings), ""]
    return Findings(sections, remarks=[*remarks, *seconds(by_key.values())])


def _claims(plan: Sequence[ContinuationBlock], by_key: Mapping[str, Row], options: Options) -> list[str]:
    """Return how methods compare run by run, and what the direction v* is."""
    mine = plan[0].rows(by_key, options.data)
    along_v = [row for block in plan if DIRECTION in block.methods for row in block.rows(by_key, options.data)]
    return [
        objective_and_error(mine, "cs3vm", "grad_hinge"),
        wins(mine, "cs3vm", "grad_hinge"),
        wins(mine, "cs3vm", "svmlight_s3vm"),
        *section_33(along_v, mine),
    ]


def section_33(rows: Iterable[Row], others: Iterable[Row]) -> list[str]:
    """Return what the rows of `DIRECTION` show, compared with those of other methods on the same runs."""
    mine = pd.DataFrame([row for row in rows if row["status"] == "ok"], columns=_DIRECTION_COLUMNS)
    runs = set(zip(mine["dataset"], mine["split"], strict=True))
    rivals = grouped((row for row in others if (row["dataset"], row["split"]) in runs), lambda row: row["method"])
    errors = ", ".join(f"{name} {_mean_error(rivals[name])}" for name in ("svm", "cs3vm") if name in rivals)
    mine.attrs["others"] = errors and f"; {errors}"
    return judge(TABLE_CLAIMS[PAPER], {"split along v*": mine})


_DIRECTION_COLUMNS = ["dataset", "split", "error_unlabeled", "cosine_principal", "cosine_first", "cosine_end"]


def _mean_error(rows: Sequence[Row]) -> str:
    return f"{statistics.fmean(row['error_unlabeled'] for row in rows):.2f} %"


CONTINUATION_S3VM = Experiment(**words("continuation_s3vm"), setup=_setup, work=work, report=_report)
"""Quick: every 22nd pair, two splits, tables 1 and 3 and figure 6."""
