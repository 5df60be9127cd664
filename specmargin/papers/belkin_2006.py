"""LapRLS and LapSVM on 45 pairs of USPS digits and on Isolet: the experiments of the manifold-regularization paper.

RLS and SVM, which know the labelled samples only, against LapRLS and LapSVM, which also see the others through a graph
of 6 nearest neighbours (binary weights). An error is one at the precision-recall break-even point: as many
samples are called positive as are, so that no threshold, and no intercept, takes part. It is measured on the
unlabelled samples of the fit (the paper's U) and on samples that no fit saw (T).

**Protocol**, the paper's. USPS: the first 400 training images of each digit to train on, all others to test; PCA of the
4000 training images to 100 dimensions; polynomial kernel of degree 3; ten draws of the labelled samples. Isolet: the
speakers of isolet1 in turn are labelled, isolet5 tests; letters A to M against N to Z. Nothing is tuned. The paper
divides its sums by l and (l + u)^2; in the sums of `LapSVM` its weights are `gammas` whatever l is.

**Its Laplacian.** The text defines L = D - W. On Isolet the drawn errors of LapRLS and LapSVM are those of the
normalised Laplacian, speaker by speaker (16.99, 16.89 on U, 23.97, 23.99 % on T; drawn 16.98, 16.78, 23.90, 23.89), not
those of D - W (19.39, 19.25; 25.35, 25.27). Every table therefore has both (`normalized`), with a verdict on either.

**Its TSVM** is Joachims' (`_belkin_tsvm`), with C = 10 as the SVM: on Isolet 28.7 % on U and 30.6 % on
T, drawn 28.8 and 30.9, alike speaker by speaker (correlation 0.99). On pairs of digits, kernel "scaled", 3.2 % on three
draws, drawn 2.6 %.

**What it leaves open.** "2 of these were randomly labeled", l = 2 and u = 398: the sum is 400, so two of each digit's
images, four of a pair. So read, our supervised errors are the published ones; with one per digit they are half as large
again. `Plan` counts labels per class. Its kernel is said to be polynomial and no more: here it is (x'z + 1)^3, and
"unit", the same divided by the norms in feature space, is shown as well. The order of its 45 pairs is not said, so that
counts and means over the pairs are compared, not the pairs. Its numbers are read from drawings.

**Where we differ.** RLS and SVM come within 0.5 points of the published errors on U at every number of labels, but for
the SVM at two (8.3 against 9.9 %). LapRLS and LapSVM err less than published at few labels (1.4 against 2.8 and 2.6 %
at two) and slightly more at many (0.8 against 0.7 % at 128). But figure 4, with the same two labels, draws other means
than figure 5: 8.3 for RLS and SVM, as ours, and 2.2 and 2.1 for LapRLS and LapSVM. A graph that is weaker than the
kernel raises the first error and lowers the second; the plain kernel is so large that gamma_I hardly matters. Our
errors on T are above those on U also for the supervised classifiers; the paper's are not.

**A lead, not proved.** The experiments that the paper cites for C are remembered to have had the kernel (x'z / 256)^3,
"scaled" here (256 pixels). With it and D - W, on three draws, LapRLS and LapSVM err 1.8 and 1.8 % on U with two labels,
figure 4 has 2.2 and 2.1; and 1.2, 1.1 with 8, 0.7, 0.7 with 128, figure 5 has 1.6, 1.5 and 0.7, 0.7. Figure 5's 2.8 and
2.6 with two labels are not met: D - W is below, the normalised Laplacian above (3.3, 3.3).

The draws of a pair share one factorisation: `reduce` over all samples of the graph makes the deformed kernel once, and
a fit takes the rows and columns of its labelled samples. Certificates are of the whole problem, on K and L.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from specmargin.experiments.claims import LAPLACIANS
from specmargin.experiments.comparison import mean_and_deviation
from specmargin.experiments.engine.records import Cell, Row
from specmargin.experiments.engine.splits import Split
from specmargin.experiments.report import Line, Section
from specmargin.experiments.run import Experiment, Findings, Options, Setup
from specmargin.experiments.tasks import checksums
from specmargin.labels import Labels
from specmargin.model_selection import precision_recall_breakeven
from specmargin.objectives import LapSVM
from specmargin.papers._belkin_claims import (
    PAPER,
    by_task,
    certificates,
    claims,
    deviations,
    figure_4_mean,
    mean_errors,
    next_to_published,
    parameters,
    published_mean,
)
from specmargin.papers._belkin_isolet import (
    drawn_errors,
    isolet_claims,
    laplacian_verdicts,
)
from specmargin.papers._belkin_tasks import (
    METHODS,
    PAIRS,
    PARTS,
    SPEAKER_LABELS,
    TSVM,
    TSVM_C,
    TSVM_LABELS,
    Plan,
    gammas,
    kernels_of,
    laplacian_of,
    pairs_available,
    plan_for,
    reduction_of,
    samples_of,
    span_of,
    splits_of,
    tasks_available,
)
from specmargin.papers._belkin_tsvm import transductive_svm
from specmargin.typing import FloatArray, IntArray

__all__ = [
    "MANIFOLD_REGULARIZATION",
    "METHODS",
    "PAIRS",
    "PARTS",
    "SPEAKER_LABELS",
    "TSVM",
    "Plan",
    "breakeven_error",
    "by_task",
    "certificates",
    "claims",
    "deviations",
    "drawn_errors",
    "isolet_claims",
    "laplacian_verdicts",
    "mean_errors",
    "next_to_published",
    "pairs_available",
    "parameters",
    "plan_for",
    "tasks_available",
    "work",
]

SCALED_LABELS = (2, 8, 128)
"""Labels per class at which the kernel "scaled" is tried."""

LEAD = "a lead, not proved: the kernel that the experiments cited for C are remembered to have"
"""Note on the kernel "scaled"."""


def breakeven_error(positive: Any, scores: FloatArray) -> float:
    """Return the error rate in percent at the precision-recall break-even point.

    With P of n samples positive and P called positive, a missed one is paid for by a false one: the rate is
    2 (1 - precision) P / n. Which of two classes counts as positive does not matter.

    Examples
    --------
    >>> breakeven_error([1, 0, 1, 0], np.array([0.9, 0.8, 0.3, 0.1]))
    50.0
    """
    positive = np.asarray(positive) == 1
    return 200.0 * float(positive.mean()) * (1.0 - precision_recall_breakeven(positive, scores, pos_label=True))


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit one method on one draw of the labels.

    Returns
    -------
    dict
        ``error_unlabeled`` and ``error_test`` in percent, ``solver``, and ``relative_gap`` of the certificate; the
        transductive SVM, a search, has none.
    """
    parameters = cell.parameters
    n, kernel, normalized = parameters["n"], parameters["kernel"], parameters["normalized"]
    samples, (K, K_test) = samples_of(cell.dataset, n, data), kernels_of(cell.dataset, n, kernel, data)
    split = splits_of(cell.dataset, n, parameters["per_class"], parameters["seed"], data)[cell.split]
    labeled = split.labeled
    sign = np.where(samples.y[labeled] == 1, 1.0, -1.0)
    part, whole = (
        Labels(sign, index, np.array([0, 1]), size)
        for index, size in ((np.arange(len(sign)), len(sign)), (labeled, len(K)))
    )
    if cell.method == TSVM:
        found = transductive_svm(span_of(cell.dataset, n, kernel, data), whole, C=TSVM_C, K_test=K_test)
        return {**_errors(samples.y, split, found.f, found.f_test), "solver": found.result.solver}
    method = METHODS[cell.method]
    gamma_A, gamma_I = gammas(cell.method, cell.dataset)
    L = None if normalized is None else laplacian_of(cell.dataset, n, normalized, data)
    shared = reduction_of(cell.dataset, n, kernel, normalized, gamma_A, gamma_I, data)
    # On the deformed kernel it is a supervised method of l unknowns.
    result = method.solve(LapSVM(shared.G[np.ix_(labeled, labeled)], None, part, **method.options))
    v = np.zeros(len(K))
    v[labeled] = result.variables["alpha"]
    alpha, b = shared.coefficients(v), float(result.variables["b"])
    f = K @ alpha
    objective = LapSVM(K, L, whole, gamma_A=gamma_A, gamma_I=gamma_I, **method.options)
    certificate = objective.prove(alpha, b, 2.0 * v[labeled], Ka=f)
    return {
        **_errors(samples.y, split, f, K_test @ alpha),
        "relative_gap": certificate.relative_gap,
        "solver": result.solver,
    }


def _errors(y: IntArray, split: Split, f: FloatArray, f_test: FloatArray) -> dict[str, float]:
    return {
        "error_unlabeled": breakeven_error(y[split.unlabeled], f[split.unlabeled]),
        "error_test": breakeven_error(y[split.test], f_test),
    }


class Plans(tuple[Plan, ...]):
    """All plans of the table: the paper's, then other kernels on the pairs."""

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return the cells of all plans."""
        return [cell for each in self if each.tasks for cell in each.cells()]


def _setup(options: Options) -> Setup:
    names, header = tasks_available(options.data)
    plan = plan_for(names, normalized=(False, True), transductive=True)
    if options.quick:
        plan = plan.quick()
    pairs = [task for task in plan.tasks if task != "isolet"]
    scaled = [per_class for per_class in SCALED_LABELS if per_class in plan.per_class]
    plans = [
        plan,
        replace(plan, tasks=pairs, per_class=(2,), kernels=("unit",), transductive=False),
        replace(plan, tasks=pairs, per_class=scaled, kernels=("scaled",)),
    ]
    return Setup(Plans(plans), checksums((task.split()[0] for task in plan.tasks), options.data), header)


def _report(rows: list[Row], plans: Plans, options: Options) -> Findings:
    plan = plans[0]
    header = list(_PROTOCOL)
    if any(task.startswith("usps") for task in plan.tasks):
        drawn = ", ".join(f"{method} {figure_4_mean(method):.2f}" for method in (*METHODS, TSVM))
        header.append(f"With two labels figure 4 draws other means over the pairs than figure 5: {drawn}.")
    settings = [(kernel, k) for each in plans if each.tasks for kernel in each.kernels for k in each.per_class]
    if "isolet" in plan.tasks:
        settings.append(("rbf", SPEAKER_LABELS))
    lines = [
        _line(rows, part, method, per_class, kernel, normalized)
        for kernel, per_class in settings
        for part in PARTS
        for method in _methods(kernel, per_class, plan)
        for normalized in (plan.normalized if method != TSVM and METHODS[method].graph else (None,))
    ]
    return Findings([Section("", lines)], header, _claims(rows, plans))


def _methods(kernel: str, per_class: int, plan: Plan) -> list[str]:
    """Return the methods of a setting."""
    with_it = plan.transductive and (kernel == "rbf" or (per_class == TSVM_LABELS and kernel != "unit"))
    return [*METHODS, TSVM] if with_it else list(METHODS)


def _claims(rows: Sequence[Row], plans: Sequence[Plan]) -> list[str]:
    """Return the paper's claims of the pairs, of Isolet, and what its numbers say of the Laplacian."""
    said: list[str] = []
    on_pairs = [row for row in rows if row["dataset"] != "isolet"]
    if on_pairs:
        for kernel, normalized in product(("plain", "scaled"), plans[0].normalized):
            said += claims(on_pairs, kernel=kernel, normalized=normalized)
    if len(on_pairs) < len(rows):
        for normalized in plans[0].normalized:
            said += isolet_claims(rows, normalized=normalized)
    return [*said, *laplacian_verdicts(rows)]


def _line(rows: Iterable[Row], part: str, method: str, per_class: int, kernel: str, normalized: bool | None) -> Line:
    tasks = by_task(rows, part, per_class=per_class, kernel=kernel, normalized=bool(normalized))
    errors = [error for errors in tasks.values() for error in errors.get(method, {}).values()]
    isolet = kernel == "rbf"
    real = isolet or any(task.startswith("usps") for task in tasks)
    value = published_mean(method, part, per_class, isolet=isolet) if real else np.nan
    name = "isolet" if isolet else f"{next(iter(tasks), 'no').split()[0]} pairs, {per_class} per class, {kernel} kernel"
    note = "nothing published" if np.isnan(value) else "read from a drawing"
    return Line(
        f"{name}, {PARTS[part]}",
        method,
        "fixed" if normalized is None else f"fixed, {LAPLACIANS[normalized]}",
        *mean_and_deviation(errors),
        value,
        source="" if np.isnan(value) else f"{PAPER} figure {6 if isolet else 4 if method == TSVM else 5}",
        note=f"{note}; {LEAD}" if kernel == "scaled" else note,
    )


_PROTOCOL = (
    "U: unlabelled samples of the fit, T: samples that no fit saw. Means, and deviations, over all pairs and "
    "draws. Published numbers are read from drawings.",
    "Labels are counted per class: the paper's l = 2 is read as two of each digit.",
    "L = D - W is the paper's text; the normalised Laplacian is shown because the drawn numbers of Isolet are its.",
)

MANIFOLD_REGULARIZATION = Experiment(
    "manifold_regularization",
    "RLS, LapRLS, SVM and LapSVM on 45 pairs of USPS digits and on Isolet, the protocol of the manifold paper",
    "Manifold regularization: error at the precision-recall break-even point in percent, mean (deviation)",
    _setup,
    work,
    _report,
    solver="factorized",
    quick="five pairs, three draws, small graphs; for a look, not for the record.",
)
