# The public names: read by type checkers, and at run time by lazy_loader.

from . import (
    datasets,
    exceptions,
    graphs,
    kernels,
    labels,
    losses,
    model_selection,
    objectives,
    optima,
    plots,
    problems,
    results,
    solvers,
    spectra,
    tables,
    terms,
)
from .estimators import (
    KTA,
    MKL,
    RMM,
    S3VM,
    STOAM,
    STORM,
    LabelSearch,
    LapRLS,
    LapRLSRegressor,
    LapSVM,
    RegularizedEigenmaps,
    RegularizedSpectralClustering,
    SpectralFilterClassifier,
    SpectralFilterRegressor,
    SpectralGraphTransducer,
    SpectralKernelSVM,
    SpectralRidge,
    XuSpectralSVM,
)
from .estimators.sensitivity import Sensitivity, sensitivity
from .estimators.storage import load, save
from .estimators.with_unlabeled import WithUnlabeled
from .exceptions import SolverError
from .labels import encode_labels, hide_labels
from .model_selection import LabeledKFold, Nodes, labeled_accuracy, precision_recall_breakeven
from .problems import certify, solve
from .proofs import Verification, load_result, save_result, verify
from .results import Certificate, SolveResult, Status
from .tables import Comparison, compare
from .tables.auto_ssl import AutoSSL
from .tables.diagnosis import Diagnosis, diagnose

__version__: str

__all__ = [
    # modules, from the data to the picture
    "datasets",
    "labels",
    "kernels",
    "graphs",
    "spectra",
    "losses",
    "objectives",
    "problems",
    "solvers",
    "optima",
    "terms",
    "results",
    "model_selection",
    "plots",
    "exceptions",
    # labels
    "encode_labels",
    "hide_labels",
    # before anything is learned
    "diagnose",
    "Diagnosis",
    # estimators
    "AutoSSL",
    "LapSVM",
    "LapRLS",
    "LapRLSRegressor",
    "KTA",
    "LabelSearch",
    "MKL",
    "RMM",
    "S3VM",
    "STOAM",
    "STORM",
    "SpectralFilterClassifier",
    "SpectralFilterRegressor",
    "SpectralGraphTransducer",
    "SpectralKernelSVM",
    "SpectralRidge",
    "XuSpectralSVM",
    "RegularizedSpectralClustering",
    "RegularizedEigenmaps",
    # what a weight changes
    "sensitivity",
    "Sensitivity",
    # tables of one's own
    "tables",
    "compare",
    "Comparison",
    # model selection
    "LabeledKFold",
    "Nodes",
    "WithUnlabeled",
    "labeled_accuracy",
    "precision_recall_breakeven",
    # solving, and what comes back
    "solve",
    "certify",
    "verify",
    "save_result",
    "load_result",
    "save",
    "load",
    "SolveResult",
    "Status",
    "Certificate",
    "Verification",
    "SolverError",
]
