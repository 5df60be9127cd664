"""Global bounds of S3VMs: against Clarabel, at n = 1,000, and exact solutions.

    python benchmarks/s3vm_bounds.py            as the goals ask for
    python benchmarks/s3vm_bounds.py --quick    n = 40 and 300, u = 50, one seed

USPST 2-7 is Chapelle & Zien's USPS sample with a radial kernel of width 8, four labelled samples and C = C* = 100;
without the real data, scikit-learn's digits are used. `python -m reproduction tables s3vm_optima` asks which solvers
attain the optimum.
"""

from __future__ import annotations

import statistics
from typing import Any

import _harness as harness
import numpy as np

from reproduction.data import DataNotFoundError, load
from specmargin.kernels import gram, kernel_map
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.bound import s3vm_bound
from specmargin.optima.branching import branch_and_bound
from specmargin.optima.probing import probe
from specmargin.optima.relaxation_program import s3vm_relaxation
from specmargin.problems import solve


def named(options: Any, name: str, u: int, C: float, **losses: Any) -> S3VM:
    """Return a problem with four labels, two of each class: two moons, two Gaussians, or a pair of digits."""
    n, rng = u + 4, np.random.default_rng(0)
    y = np.arange(n) % 2
    if name == "moons":
        t = rng.uniform(0, np.pi, n)
        arcs = np.where(y[:, None] == 1, np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)])
        X, gamma = arcs + 0.1 * rng.standard_normal((n, 2)), 2.0
    elif name == "Gaussians":
        X, gamma = rng.standard_normal((n, 10)) + np.outer(y, 3.0 * np.eye(10)[0]), 0.02
    else:
        try:
            data = load("uspst", data_home=options.data, download=False)
            images, gamma = np.asarray(data.X, dtype=float), 1 / (2 * 8.0**2)
        except DataNotFoundError:
            data = load("digits")
            images, gamma = np.asarray(data.X, dtype=float) / 16.0, 0.1
        of_class = [rng.permutation(np.flatnonzero(data.y == int(digit))) for digit in name.split("-")]
        X = images[np.column_stack([rows[: (n + 1) // 2] for rows in of_class]).ravel()[:n]]
    labels = encode_labels(np.where(np.arange(n) < 4, y, -1))
    return S3VM(kernel_map(gram(X, gamma=gamma), tol=1e-9).Z, labels, "squared_hinge", C=C).with_(**losses)


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
            if not losses:
                root = branch_and_bound(obj, max_nodes=1, time_limit=300)
                gain = root.certificate.dual_objective / result.certificate.dual_objective
                note = f"{float(root.variables['n_cuts']):.0f} cuts, bound {gain:.4f} times the relaxation's"
                named_root = f"{n - 4} unlabelled, {name}: root by boxes and cuts"
                report.add(named_root, root.seconds, "s", at_most=60, note=note)


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


def main() -> None:
    """Run what the command line asks for."""
    options = harness.options(__doc__.splitlines()[0])
    report = harness.Report("s3vm_bounds", "Global bounds of S3VMs")
    against_clarabel(report, options)
    large(report, options)
    exact(report, options)
    print(f"written to {report.write()}")


if __name__ == "__main__":
    main()
