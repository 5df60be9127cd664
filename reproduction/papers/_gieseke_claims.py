"""What the QN-S3VM paper concludes from table 2 and figures 4 to 7, put to our rows.

`sentences` takes the blocks of `gieseke_2014` with their rows. Errors are those of unseen samples, compared partition
by partition by the paired t-test at 5 %. Seconds are those of our own solvers on one computer: the paper timed programs
of several authors in several languages, so that a verdict on them is one on the methods as we have them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.claims import claim, comparison_counts, yes_or_no
from reproduction.engine.records import Row
from reproduction.engine.significance import Comparison, Errors, paired_comparison, paired_p_value

SVM, UNIVERSVM, TSVMLIN, ANNEALING, QN = "svm", "cccp_s3vm", "multiswitch_tsvm", "da_s3vm", "qn_s3vm"
SEMI_SUPERVISED = (UNIVERSVM, TSVMLIN, ANNEALING, QN)
SPARSE = ("mac_windows", "real_sim", "gcat", "ccat", "aut_avn")

ALIKE = 1.0
"""Points of error, between methods that err alike."""
FACTOR, MUCH = 3.0, 5.0
"""Seconds over seconds: between run times that are alike at the most, and of one that is much slower at the least."""
LINEAR = 1.25
"""Slope of log seconds over log n that is still about linear."""
LEVEL = 0.05

Setting = tuple[Any, Sequence[Row]]
"""A block and its rows."""


def sentences(settings: Sequence[Setting]) -> list[str]:
    """Return one sentence per conclusion that the rows allow, verdict first."""
    table = [each for each in settings if each[0].title == "Table 2"]
    by_figure = {
        k: [each for each in settings if each[0].title.startswith(f"Figure {k}")] for k in ("4", "5a", "5b", "6", "7")
    }
    judged = [
        *_table_2(table),
        *_moons(by_figure["4"]),
        *_labelled(by_figure["5a"]),
        *_unlabelled(by_figure["5b"]),
        *_seconds(by_figure["6"]),
        *_many_samples(by_figure["7"]),
    ]
    return ["What the paper concludes, by these numbers:", *judged] if judged else []


def errors_of(rows: Iterable[Row], column: str = "error_test") -> Errors:
    """Return a column by method and partition; no failed cells."""
    errors: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["status"] == "ok":
            errors.setdefault(row["method"], {})[row["split"]] = row[column]
    return errors


def mean(errors: Errors, method: str) -> float:
    """Return the mean of a method, NaN where it has none."""
    return statistics.fmean(errors[method].values()) if errors.get(method) else math.nan


def _name(block: Any) -> str:
    return f"{block.dataset} l={block.how.n_labeled} u={block.how.n_unlabeled}"


def _compared(rows: Iterable[Errors], method: str, rival: str) -> Comparison:
    return paired_comparison(rows, method, rival)


def _table_2(table: Sequence[Setting]) -> list[str]:
    """Section 4.2.3."""
    errors = {_name(block): errors_of(rows) for block, rows in table}
    sparse = {_name(block): errors_of(rows) for block, rows in table if block.dataset in SPARSE}
    dense = {name: each for name, each in errors.items() if name not in sparse}
    judged = []
    against = {method: _compared(errors.values(), method, SVM) for method in SEMI_SUPERVISED}
    whole = sum(each.rows for each in against.values())
    if whole:
        counts = "; ".join(
            f"{method}: {comparison_counts(each, 'rows')}" for method, each in against.items() if each.rows
        )
        judged.append(
            claim(
                "semi-supervised methods are superior to the SVM, or at least competitive (section 4.2.3, table 2)",
                whole - sum(each.clearly_higher for each in against.values()),
                whole,
                f"Not significantly worse in {{part}} of {{whole}} (rows, methods): {counts}",
            )
        )
    best = {
        name: min((method for method in SEMI_SUPERVISED if each.get(method)), key=lambda m: mean(each, m))
        for name, each in dense.items()
        if each.get(QN) and sum(bool(each.get(method)) for method in SEMI_SUPERVISED) > 1
    }
    if best:
        others = ", ".join(f"{name}: {method}" for name, method in best.items() if method != QN)
        judged.append(
            claim(
                "QN-S3VM is the best semi-supervised method on the dense sets (section 4.2.3, table 2)",
                sum(method == QN for method in best.values()),
                len(best),
                f"Least mean error in {{part}} of {{whole}} rows{f'; elsewhere {others}' if others else ''}",
            )
        )
    return [*judged, *_sparse(sparse)]


def _sparse(rows: Mapping[str, Errors]) -> list[str]:
    three = (TSVMLIN, ANNEALING, QN)
    full = {name: each for name, each in rows.items() if all(each.get(method) for method in (SVM, *three))}
    if not full:
        return []
    apart = {
        name: max(mean(each, method) for method in three) - min(mean(each, method) for method in three)
        for name, each in full.items()
    }
    compared = {method: _compared(full.values(), method, SVM) for method in three}
    counts = "; ".join(f"{method}: {comparison_counts(each, 'rows')}" for method, each in compared.items())
    only = (
        f"of the paper's {len(SPARSE)} sparse sets {', '.join(dict.fromkeys(name.split()[0] for name in full))} alone"
    )
    return [
        claim(
            "on the sparse sets TSVMlin, DA and QN-S3VM are alike (section 4.2.3, table 2)",
            sum(gap <= ALIKE for gap in apart.values()),
            len(apart),
            f"Mean errors within {ALIKE:g} point in {{part}} of {{whole}} rows, furthest apart "
            f"{max(apart.values()):.2f}; {only}",
        ),
        claim(
            "on the sparse sets all three are significantly better than the SVM (section 4.2.3, table 2)",
            sum(each.clearly_lower for each in compared.values()),
            sum(each.rows for each in compared.values()),
            f"Significantly lower in {{part}} of {{whole}} (rows, methods): {counts}; {only}",
        ),
    ]


def _moons(settings: Sequence[Setting]) -> list[str]:
    """Section 4.2.1, at the width and the weights of least error on the test samples: optimistic."""
    best: dict[str, Mapping[str, float]] = {}
    for method in (SVM, UNIVERSVM, QN):
        tried = [each[method] for _, rows in settings if (each := errors_of(rows)).get(method)]
        if tried:
            best[method] = min(tried, key=lambda errors: statistics.fmean(errors.values()))
    if SVM not in best or len(best) < 2:
        return []
    splits = list(best[SVM])
    holds = {}
    for method in best:
        if method != SVM:
            ours, theirs = ([best[name][split] for split in splits] for name in (method, SVM))
            halved = statistics.fmean(ours) <= 0.5 * statistics.fmean(theirs)
            holds[method] = halved and paired_p_value(ours, theirs) < LEVEL
    counts = ", ".join(
        f"{method} {statistics.fmean(each.values()):.2f} (deviation {np.std(list(each.values()), ddof=1):.2f})"
        for method, each in best.items()
    )
    return [
        claim(
            "on two moons the S3VMs find a reasonable model and the SVM does not (section 4.2.1, figure 4)",
            sum(holds.values()),
            len(holds),
            "At most half of the SVM's error, significantly, for {part} of {whole} methods, each at its best width, "
            f"OPTIMISTIC: {counts}",
        )
    ]


def _labelled(settings: Sequence[Setting]) -> list[str]:
    """Section 4.2.2, figure 5a: from 20 % of the training samples on."""
    shares = {
        block.how.n_labeled / (block.how.n_labeled + block.how.n_unlabeled): errors_of(rows) for block, rows in settings
    }
    enough = {share: each for share, each in shares.items() if share >= 0.2 - 1e-9 and each.get(SVM) and each.get(QN)}
    if not enough:
        return []
    counts = ", ".join(
        f"{100 * share:.0f} %: {mean(each, QN):.2f} and {mean(each, SVM):.2f}"
        for share, each in sorted(shares.items())
        if each.get(SVM) and each.get(QN)
    )
    return [
        claim(
            "from 20 % of labels on QN-S3VM is clearly better than the SVM on G4C (section 4.2.2, figure 5a)",
            _compared(enough.values(), QN, SVM).clearly_lower,
            len(enough),
            f"Significantly lower at {{part}} of {{whole}} shares. Errors of QN-S3VM and of the SVM at each: {counts}",
        )
    ]


def _unlabelled(settings: Sequence[Setting]) -> list[str]:
    """Section 4.2.2, figure 5b."""
    by_number = {block.how.n_unlabeled: errors_of(rows) for block, rows in settings}
    by_number = {u: each for u, each in sorted(by_number.items()) if each.get(QN)}
    if len(by_number) < 2:
        return []
    few, many = min(by_number), max(by_number)
    first, last = ([by_number[u][QN][split] for split in by_number[few][QN]] for u in (few, many))
    p = paired_p_value(first, last)
    counts = ", ".join(
        f"{u}: {mean(each, QN):.2f} ({np.std(list(each[QN].values()), ddof=1):.2f})" for u, each in by_number.items()
    )
    holds = mean(by_number[many], QN) < mean(by_number[few], QN) and p < LEVEL
    return [
        f"{yes_or_no(holds)}: QN-S3VM needs enough unlabelled samples (section 4.2.2, figure 5b). Mean error "
        f"(deviation) by their number: {counts}; the first against the last p = {p:.2g}."
    ]


def _seconds(settings: Sequence[Setting]) -> list[str]:
    """Section 4.2.4, figure 6."""
    seconds = {f"{block.dataset} n={block.how.n}": errors_of(rows, "fit_seconds") for block, rows in settings}
    times = {
        name: {method: mean(each, method) for method in SEMI_SUPERVISED if each.get(method)}
        for name, each in seconds.items()
    }
    times = {name: each for name, each in times.items() if len(each) == len(SEMI_SUPERVISED)}
    sparse = {name: each for name, each in times.items() if name.split()[0] in SPARSE}
    dense = {name: each for name, each in times.items() if name not in sparse}
    judged = []
    if dense:
        ratios = {name: max(each.values()) / min(each.values()) for name, each in dense.items()}
        far = max(ratios, key=lambda name: ratios[name])
        slow, fast = (pick(dense[far], key=lambda m: dense[far][m]) for pick in (max, min))
        counts = (
            f"Within a factor of {FACTOR:g} in {{part}} of {{whole}} (sets, sizes), furthest apart {ratios[far]:.1f} "
            f"times ({far}: {slow} over {fast})"
        )
        near = sum(ratio <= FACTOR for ratio in ratios.values())
        judged.append(
            claim("run times are alike on the dense sets (section 4.2.4, figure 6)", near, len(ratios), counts)
        )
    if sparse:
        slower = {
            name: each[UNIVERSVM] / statistics.median(each[m] for m in SEMI_SUPERVISED[1:])
            for name, each in sparse.items()
        }
        counts = f"At least {MUCH:g} times the median of the others in {{part}} of {{whole}} sizes: {_listed(slower)}"
        much = sum(ratio >= MUCH for ratio in slower.values())
        text = "UniverSVM (our CCCP) is much slower on sparse data (section 4.2.4, figure 6)"
        judged.append(claim(text, much, len(slower), counts))
        faster = {f"{name} {m}": each[ANNEALING] / each[m] for name, each in sparse.items() for m in (TSVMLIN, QN)}
        counts = f"Faster in {{part}} of {{whole}} (sizes, methods), by the factors {_listed(faster)}"
        text = "TSVMlin and QN-S3VM are slightly faster than DA (section 4.2.4, figure 6)"
        judged.append(claim(text, sum(ratio > 1.0 for ratio in faster.values()), len(faster), counts))
    return judged


def _listed(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())


def _many_samples(settings: Sequence[Setting]) -> list[str]:
    """Section 4.2.4, figure 7, for QN-S3VM."""
    curves: dict[str, dict[int, float]] = {}
    for block, rows in settings:
        seconds = mean(errors_of(rows, "fit_seconds"), QN)
        if not math.isnan(seconds):
            curves.setdefault(block.dataset, {})[block.how.n] = seconds
    curves = {name: dict(sorted(each.items())) for name, each in curves.items() if len(each) > 1}
    if not curves:
        return []
    slopes = {
        name: float(np.polyfit(np.log(list(each)), np.log(list(each.values())), 1)[0]) for name, each in curves.items()
    }
    counts = "; ".join(
        f"{name}: slope {slopes[name]:.2f}, {each[max(each)]:.1f} s for {max(each)}" for name, each in curves.items()
    )
    return [
        claim(
            "10,000 dense images with 2,000 kernel functions are handled efficiently, here by QN-S3VM (figure 7)",
            sum(slope <= LINEAR for slope in slopes.values()),
            len(slopes),
            f"Seconds grow about as n or slower, a slope of at most {LINEAR:g} in log and log, for {{part}} of "
            f"{{whole}} pairs of digits: {counts}",
        )
    ]
