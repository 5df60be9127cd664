"""Global bounds of S3VMs: against Clarabel, at n = 1,000, exact solutions, and which solvers attain the optimum.

    python benchmarks/s3vm_bounds.py            as the goals ask for
    python benchmarks/s3vm_bounds.py --quick    n = 40 and 300, u = 50, one seed

USPST 2-7 is Chapelle & Zien's USPS sample with a radial kernel of width 8, four labelled samples and C = C* = 100;
without the real data, scikit-learn's digits are used.
"""

from __future__ import annotations

import statistics
from typing import Any

import _harness as harness
import numpy as np

from reproduction.papers.global_optima import rows, summary, tasks
from specmargin.objectives.s3vm import S3VM
from specmargin.problems import solve
from specmargin.problems.relaxation import s3vm_relaxation
from specmargin.solvers.exact_s3vm.bound import s3vm_bound
from specmargin.solvers.exact_s3vm.branch_and_bound import branch_and_bound
from specmargin.solvers.exact_s3vm.probing import probe


def named(options: Any, name: str, u: int, C: float, **losses: Any) -> S3VM:
    """Return the first draw of one of the sets of the table."""
    task = next(task for task in tasks(u, 1, options.data) if task.name.endswith(name))
    return task.objective(C).with_(**losses)


def against_clarabel(report: harness.Report, options: Any) -> None:
    u = 36 if options.quick else 76
    for losses in ({}, {"loss": "hinge", "unlabeled_loss": "symmetric_hinge"}, {"unlabeled_loss": "exp"}):
        obj = named(options, "moons", u, 1.0, **losses)
        results: dict[str, Any] = {}

        def ours(obj: S3VM = obj, results: dict[str, Any] = results) -> None:
            results["ours"] = s3vm_bound(obj, tol=1e-5)

        def clarabel(obj: S3VM = obj, results: dict[str, Any] = results) -> None:
            results["clarabel"] = solve(s3vm_relaxation(obj), "CLARABEL")

        times = harness.compare({"clarabel": clarabel, "ours": ours}, repeats=1, warm_up=False)
        times["ours"] = harness.compare({"ours": ours}, repeats=5)["ours"]
        name = f"n = {u + 4}, {obj.loss.name} and {obj.unlabeled_loss.name}"
        seconds = statistics.median(times["ours"])
        report.add(
            f"{name}: Clarabel / numpy",
            times["clarabel"][0] / seconds,
            at_least=None if options.quick else 50,
            note=f"{times['clarabel'][0]:.2f} s and {seconds:.3f} s",
        )
        bounds = [results[who].certificate.dual_objective for who in ("ours", "clarabel")]
        report.add(f"{name}: bounds differ by", abs(bounds[0] / bounds[1] - 1), "rel", at_most=1e-4)


def large(report: harness.Report, options: Any) -> None:
    """Time a kernel of low rank (two moons) and one of full rank (ten dimensions), with four labelled samples."""
    n = 300 if options.quick else 1004
    for name in ("moons", "Gaussians"):
        for losses in ({}, {"loss": "hinge", "unlabeled_loss": "symmetric_hinge"}, {"unlabeled_loss": "exp"}):
            obj = named(options, name, n - 4, 1.0, **losses)
            result = s3vm_bound(obj)
            note = f"rank {obj.size}, {result.n_iter} Newton steps, gap {result.certificate.relative_gap:.0e}"
            report.add(
                f"{n - 4} unlabelled, {name}, {obj.unlabeled_loss.name}", result.seconds, "s", at_most=20, note=note
            )


def exact(report: harness.Report, options: Any) -> None:
    cases = [("2-7", 100, 5.0), ("3-8", 50, None), ("3-8", 76, None), ("moons", 76, None)]
    for name, u, goal in [("2-7", 50, None)] if options.quick else cases:
        for losses in ({}, {"loss": "hinge", "unlabeled_loss": "symmetric_hinge"}):
            obj = named(options, name, u, 100.0, **losses)
            result = branch_and_bound(obj, time_limit=60)
            certificate = result.certificate
            note = (
                f"{result.n_iter} nodes, bound / best {certificate.dual_objective / certificate.primal_objective:.6f}"
            )
            at_most = goal if not losses else None
            report.add(f"{name}, u = {u}, {obj.loss.name}: exact", result.seconds, "s", at_most=at_most, note=note)
    obj = named(options, "2-7", 50 if options.quick else 100, 100.0)
    result = probe(obj)
    proved = int(np.count_nonzero(result.variables["proved"]))
    report.add(
        "2-7, labels proved by probing", proved, "labels", note=f"{result.n_iter} bounds, {result.seconds:.2f} s"
    )


def optima(report: harness.Report, options: Any) -> None:
    """Print the table of hits and keep it."""
    problems = list(tasks(20 if options.quick else 36, 1 if options.quick else 8, options.data))
    table = rows(problems)
    report.add("problems of the table solved exactly", 100 * statistics.fmean(row["proved"] for row in table), "%")
    for line in summary(table):
        note = f"{line['hit_flipped']:.0f} % after flips; median gap {line['gap']:.1f} and {line['gap_flipped']:.1f} %"
        note += f"; errors {line['error']:.1f}, {line['error_flipped']:.1f}, optimum {line['error_optimum']:.1f} %"
        report.add(f"C = {line['C']:g}, {line['solver']}: optimum found", line["hit"], "%", note=note)


def main() -> None:
    """Run what the command line asks for."""
    options = harness.options(__doc__.splitlines()[0])
    report = harness.Report("s3vm_bounds", "Global bounds of S3VMs")
    against_clarabel(report, options)
    large(report, options)
    exact(report, options)
    optima(report, options)
    print(f"written to {report.write()}")


if __name__ == "__main__":
    main()
