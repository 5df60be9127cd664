"""What was tried, what was chosen and why, and whether the unlabelled samples helped: `SelectionReport`."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from specmargin.checks import visible
from specmargin.estimators.comparison import FEWEST, Comparison, ErrorEstimate
from specmargin.tables.candidates.constants import SUPERVISED

__all__ = ["SelectionReport"]

_FAMILIES = {
    "graph": "kernels of graph eigenvectors",
    "pca": "few principal components",
    "lap": "kernels that a graph deforms",
    "s3vm": "S3VMs, low density at the boundary",
    "sup": "supervised ridge",
    "svm": "supervised SVM",
}
_FALSE_LABELS = (
    "not told: weights and threshold follow from the labels, and decisions are no linear map of them. How many labels "
    "decide is told of one classifier by its label_robustness(): SpectralRidge, LapRLS, SpectralFilterClassifier"
)


@dataclass(frozen=True, repr=False)
class SelectionReport:
    """The report of `specmargin.AutoSSL`; `str` of it is a page of text.

    Parameters
    ----------
    n_samples : int
    label_counts : dict
        Labels of each class.
    n_kernels, n_candidates : int
    families : dict from str to float
        Weight of each family.
    leading : tuple of (str, str, float)
        Family, name and weight of the candidates that weigh most.
    estimate, baseline_estimate : ErrorEstimate
        Errors at left-out labels, of the mixture and of the supervised baseline.
    balanced_error, baseline_balanced_error : float
        Mean over the classes of the share of left-out labels that was wrong.
    comparison : Comparison
    """

    n_samples: int
    label_counts: dict[object, int]
    n_kernels: int
    n_candidates: int
    families: dict[str, float]
    leading: tuple[tuple[str, str, float], ...]
    estimate: ErrorEstimate
    baseline_estimate: ErrorEstimate
    balanced_error: float
    baseline_balanced_error: float
    comparison: Comparison

    @property
    def n_labeled(self) -> int:
        """Number of labels."""
        return self.estimate.n_labeled

    @property
    def verdict(self) -> str:
        """The comparison with the supervised baseline in one line."""
        return self.comparison.verdict

    @property
    def enough_labels(self) -> bool:
        """Whether counted errors say anything."""
        return self.n_labeled >= FEWEST

    def lines(self) -> list[tuple[str, str]]:
        """Return the report as pairs of a heading and a text."""
        counts = ", ".join(f"{label!r}: {count}" for label, count in self.label_counts.items())
        tried = (
            f"{self.n_candidates} candidates on {self.n_kernels} kernels. Each was asked about every label without "
            "having been shown it (ridge: exact leave-one-out; SVM and S3VM: folds)"
        )
        shares = ", ".join(f"{_FAMILIES[family]} ({family}) {weight:.0%}" for family, weight in self.families.items())
        unlabeled = sum(weight for family, weight in self.families.items() if family not in SUPERVISED)
        weights = (
            f"{shares}. Predictions are the weighted mean of all candidates: the worse one predicted labels that it "
            f"was not shown, the less it counts. {unlabeled:.0%} of the weight is with families that use the "
            "unlabelled samples"
        )
        if not self.enough_labels:
            weights += "; with so few labels these are nearly the weights that it starts with"
        leading = "; ".join(f"{family}: {name} ({weight:.1%})" for family, name, weight in self.leading)
        lines = [
            ("data", f"{self.n_samples} samples, {self.n_labeled} labelled ({counts})"),
            ("tried", tried),
            ("weights", weights),
            ("leading", leading),
        ]
        if not self.enough_labels:
            lines.append(("expected error", f"not estimated: {self.n_labeled} labels are too few (from {FEWEST} on)"))
        else:
            p, worse = self.comparison.p_better, self.comparison.p_worse
            lines += [
                ("expected error", _estimated(self.estimate, self.balanced_error)),
                ("supervised baseline", _estimated(self.baseline_estimate, self.baseline_balanced_error)),
                (
                    "difference",
                    f"{self.comparison.gains} labels right where the baseline is wrong, {self.comparison.losses} the "
                    f"other way. Were the two equally good, chance would make it look at least this good with "
                    f"p = {p:.3f}, at least this bad with p = {worse:.3f} (exact one-sided McNemar test). A "
                    f"classifier of half the baseline's error would be noticed in {self.comparison.power:.0%} of "
                    f"cases (the power of the test with {self.n_labeled} labels)",
                ),
            ]
        differently = f"{self.comparison.disagreement:.1%} of all samples are predicted differently by the baseline"
        lines.append(("disagreement", differently))
        lines.append(("false labels", _FALSE_LABELS))
        lines.append(("verdict", self.verdict))
        return lines

    def __str__(self) -> str:
        lines = self.lines()
        width = max(len(heading) for heading, _ in lines)
        return "\n".join(f"{heading:<{width}}  {text}" for heading, text in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [(heading, escape(visible(text))) for heading, text in self.lines()]
        rows = "".join(f"<tr><th>{heading}</th><td>{text}</td></tr>" for heading, text in lines)
        return f"<table>{rows}</table>"


def _estimated(estimate: ErrorEstimate, balanced: float) -> str:
    low, high = estimate.interval
    return (
        f"{estimate.error:.1%} of new samples, {low:.1%} to {high:.1%}; {estimate.wrong} of {estimate.n_labeled} "
        "left-out labels wrong. The interval is one of 95 %, but of the labels that chose the weights, too: in trials "
        f"it held the true error in about 80 % of cases. {balanced:.1%} as the mean over the classes"
    )
