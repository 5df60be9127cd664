"""The papers themselves: title, authors, venue, and which tables and figures of ours belong to each.

A table belongs to the paper whose module it stands in (`Paper.modules`), a figure to the one that names it
(`Paper.figures`). `PAPERS` is in the order of the page that ``python -m reproduction report`` writes. A DOI is given
where it is known for certain; the Journal of Machine Learning Research assigns none.
"""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.papers import modules

__all__ = ["PAPERS", "Paper", "homeless_tables", "paper_of_figure"]


@dataclass(frozen=True)
class Paper:
    """A paper, or a question of our own, that tables and figures belong to.

    Parameters
    ----------
    key : str
        One word, for links.
    title : str
        Of the paper.
    protocol : str
        What is done and what is measured, in two sentences.
    modules : tuple of str
        Modules of `reproduction.papers` whose tables are its own.
    figures : tuple of str
        Scripts of figures.
    authors, venue : str
        Empty where the question is our own.
    year : int or None
        Of the print.
    doi : str
        Empty where there is none, or none is known for certain.
    """

    key: str
    title: str
    protocol: str
    modules: tuple[str, ...]
    figures: tuple[str, ...] = ()
    authors: str = ""
    venue: str = ""
    year: int | None = None
    doi: str = ""

    @property
    def name(self) -> str:
        """Authors' names and year, or the title where the question is our own."""
        return f"{self.authors} ({self.year})" if self.authors else self.title

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of its tables."""
        known = modules()
        return tuple(experiment.name for module in self.modules for experiment in known.get(module, ()))


PAPERS = (
    Paper(
        "manifold_regularization",
        "Manifold regularization: a geometric framework for learning from labeled and unlabeled examples",
        "RLS and SVM, which see the labelled samples, against LapRLS and LapSVM, which also see the others through a "
        "graph of 6 nearest neighbours, on 45 pairs of USPS digits, ten draws of the labels each, and on 30 speakers "
        "of Isolet; nothing is tuned. Errors are those at the precision-recall break-even point, on the unlabelled "
        "samples (U) and on samples that no fit saw (T).",
        ("belkin_2006",),
        ("two_labels", "moons_methods", "two_moons", "clustering", "usps_pairs", "labels_needed", "isolet_speakers"),
        "Belkin, Niyogi & Sindhwani",
        "Journal of Machine Learning Research 7",
        2006,
    ),
    Paper(
        "primal_lapsvm",
        "Laplacian support vector machines trained in the primal",
        "Four stratified folds, dealt three times, are twelve splits into labelled (L), unlabelled (U), validation (V) "
        "and test samples (T); kernel and graph are the published ones. The least mean error on V over the splits "
        "chooses gamma_A and gamma_I for each task and method, and errors, iterations and times are measured at that "
        "choice.",
        ("melacci_belkin_2011", "lapsvm_svm"),
        ("clock", "pcg_iterations", "mnist_iterations", "faces_iterations"),
        "Melacci & Belkin",
        "Journal of Machine Learning Research 12",
        2011,
    ),
    Paper(
        "spectrum_learning",
        "Laplacian spectrum learning",
        "Ten tasks of 1000 samples, pairs of newsgroups and of MNIST digits, one graph of 5 nearest neighbours and its "
        "200 lowest eigenpairs for every method. The hyper-parameters of least error on the unlabelled points over 20 "
        "tuning splits are taken to 100 fresh ones, which is optimistic, for hidden labels of the same samples choose.",
        ("shivaswamy_jebara_2010",),
        ("spectra", "spectrum_errors", "spectrum_path"),
        "Shivaswamy & Jebara",
        "European Conference on Machine Learning (ECML PKDD)",
        2010,
    ),
    Paper(
        "continuation",
        "A continuation method for semi-supervised SVMs",
        "The supervised SVM, continuation, gradient descent and label switching, with fixed hyper-parameters, on all "
        "pairs of USPS digits and COIL-20 objects, on one text task, and on the ten digits at once. Errors are those "
        "of the unlabelled samples of the fit.",
        ("chapelle_2006",),
        ("s3vm_landscape", "continuation_s3vm"),
        "Chapelle, Chi & Zien",
        "International Conference on Machine Learning (ICML)",
        2006,
        "10.1145/1143844.1143868",
    ),
    Paper(
        "qn_s3vm",
        "Fast and simple gradient-based optimization for semi-supervised support vector machines",
        "Linear classifiers on ten random partitions into labelled, unlabelled and unseen samples, with class ratio "
        "and hyper-parameters by 5-fold cross-validation on the labelled part alone. Errors are those of the unseen "
        "samples.",
        ("gieseke_2014",),
        ("qn_s3vm",),
        "Gieseke, Airola, Pahikkala & Kramer",
        "Neurocomputing 123",
        2014,
        "10.1016/j.neucom.2012.12.056",
    ),
    Paper(
        "s3vm_survey",
        "Optimization techniques for semi-supervised support vector machines",
        "Every semi-supervised SVM solver on g50c, text and USPS, on the published splits, one against the rest and in "
        "pairs. Kernel width and C are those that cross-validation with all true labels chose, and the class ratio is "
        "that of the hidden labels but in table 13: both optimistic, as in the survey.",
        ("chapelle_survey_2008",),
        (),
        "Chapelle, Sindhwani & Keerthi",
        "Journal of Machine Learning Research 9",
        2008,
    ),
    Paper(
        "global_optima",
        "Do local searches find the global optimum?",
        "Small S3VM problems with four labelled samples, whose optimum branch and bound proves. The answers of all "
        "solvers are judged in one objective: as they are, with their labels converged, and after one-flip descent.",
        ("global_optima",),
        ("s3vm_gaps",),
    ),
    Paper(
        "auto_ssl",
        "AutoSSL on two dozen sets",
        "Labels are drawn at random until each class has one, and everything is tuned on them alone. Errors on the "
        "unlabelled samples stand next to those of a tuned SVM, of the supervised baseline, and of every family alone.",
        ("auto_ssl",),
    ),
    Paper(
        "spectral_filters",
        "Learned spectra over node features",
        "Cora with its public split and with random ones, Texas and Cornell (same features and classes, other edges), "
        "and generated block models from heterophily to homophily, every method tuned on the training labels alone. "
        "Accuracy on the test nodes stands next to that of features alone, graph alone, propagated labels, LapRLS "
        "and graph networks.",
        ("spectral_filters",),
        ("learned_filters",),
    ),
    Paper(
        "claims",
        "Further claims of the five papers",
        "Small studies, for claims that the papers' own tables do not judge: on generated sets, on published splits, "
        "and on some pairs of digits and of newsgroups. Nothing is tuned; errors are those of unlabelled samples.",
        ("claims",),
    ),
)
"""In the order in which they are shown: five papers, the survey, and questions of our own."""


def paper_of_figure(name: str) -> Paper | None:
    """Return the paper that a figure belongs to; None for one that no paper names."""
    return next((paper for paper in PAPERS if name in paper.figures), None)


def homeless_tables() -> tuple[str, ...]:
    """Return the tables in modules that no paper names, such as one that was just added."""
    named = {module for paper in PAPERS for module in paper.modules}
    return tuple(each.name for module, those in modules().items() if module not in named for each in those)
