"""What objectives ask of their arguments: errors name the argument and what to pass, and defaults are documented."""

import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

import specmargin as sm
from specmargin import objectives, optima
from specmargin.objectives import contract
from specmargin.objectives.held_out.conformal import ConformalRidge
from specmargin.objectives.held_out.leave_one_out import RidgePath
from specmargin.objectives.manifold_weights import weights_of_paper

NAME, N = "specmargin.objectives", 6
LABELS = sm.encode_labels([0, 1, -1, -1, -1, -1])
WEIGHTED = LABELS.weighted([1.0, 2.0])
X = np.arange(12.0).reshape(N, 2)
EYE, NAN = np.eye(N), np.full(N, np.nan)
SPECTRUM = sm.spectra.Spectrum(np.arange(3.0), np.linalg.qr(np.vander(np.arange(6.0), 3))[0], 1)
FEATURES = objectives.Features(X)
S3VM = objectives.S3VM(X, LABELS)

GOOD = {
    "LapSVM": {"K": EYE, "L": EYE, "labels": LABELS},
    "LapRLS": {"K": EYE, "L": EYE, "labeled": [0, 1], "targets": [1.0, -2.0], "weights": [1.0, 2.0]},
    "RMM": {"K": np.eye(2), "labels": LABELS},
    "S3VM": {"X": X, "labels": LABELS, "unlabeled_loss": "symmetric_hinge", "C_star": 0.5, "balance": 0.0},
    "SpectrumMargin": {"spectrum": SPECTRUM, "labels": LABELS, "delta": np.ones(3)},
    "Alignment": {"spectrum": SPECTRUM, "labels": LABELS},
    "SpectralRidge": {"spectrum": SPECTRUM, "labels": LABELS, "delta": np.ones(3)},
    "SpectralGraphTransducer": {"spectrum": SPECTRUM, "labels": LABELS, "C": 1.0, "Q": np.array([1.0, 2.0])},
    "S3VMRelaxation": {"obj": S3VM},
    "WeightedSVM": {"features": FEATURES, "plus": np.ones(N), "minus": np.ones(N), "linear": np.zeros(N)},
    "RelativeMargin": {"C": np.array([1.0, 2.0])},
    "FixedSpectrum": {"delta": np.ones(3)},
    "SpectrumCone": {"q": 3},
    "RegularizedClustering": {"K": EYE, "L": EYE, "gamma": 0.1},
}
BAD = [
    ("LapSVM", "K", "x", "pass the kernel matrix of the samples"),
    ("LapSVM", "K", np.ones(N), r"has the shape \(6,\); pass the kernel matrix"),
    ("LapSVM", "K", np.full((N, N), np.nan), "K holds 36 values .* check its parameters"),
    ("LapSVM", "L", "x", "Laplacian.*specmargin.graphs.laplacian"),
    ("LapSVM", "labels", [0, 1], "specmargin.encode_labels"),
    ("LapSVM", "loss", "ramp", "unknown loss 'ramp'"),
    ("LapSVM", "loss", 1, "loss=1 is no loss; take one of"),
    ("LapSVM", "loss", sm.losses.SymmetricRamp(), "is not declared convex.*'hinge'.*MarginLoss"),
    ("LapSVM", "gamma_A", "1", "gamma_A='1'"),
    ("LapSVM", "gamma_I", "1", "gamma_I='1'"),
    ("LapSVM", "fit_intercept", 1, "fit_intercept=1 must be True or False"),
    ("LapRLS", "K", "x", "pass the kernel matrix of the samples"),
    ("LapRLS", "L", "x", "specmargin.graphs.laplacian"),
    ("LapRLS", "labeled", "x", r"pass indices of the labelled samples, \(l,\)"),
    ("LapRLS", "labeled", [[0, 1]], r"has the shape \(1, 2\); pass indices"),
    ("LapRLS", "labeled", [0, np.nan], "must be increasing indices"),
    ("LapRLS", "targets", [[1.0, 2.0]], r"targets has the shape \(1, 2\); pass one number per labelled sample"),
    ("LapRLS", "targets", [1.0, np.nan], r"targets\[1\] is nan; pass finite numbers"),
    ("LapRLS", "weights", [[1.0, 2.0]], r"weights has the shape \(1, 2\); pass one positive number"),
    ("LapRLS", "weights", [1.0, np.nan], r"weights\[1\] is nan; pass positive numbers"),
    ("LapRLS", "gamma_A", "1", "gamma_A='1'"),
    ("LapRLS", "gamma_I", "1", "gamma_I='1'"),
    ("LapRLS", "fit_intercept", 1, "fit_intercept=1 must be True or False"),
    ("RMM", "K", "x", "pass the kernel matrix"),
    ("RMM", "labels", "x", "specmargin.encode_labels"),
    ("RMM", "C", "1", "C='1'"),
    ("RMM", "B", "1", "B='1'"),
    ("S3VM", "X", "x", "pass finite features, a row per sample"),
    ("S3VM", "X", np.ones(N), r"has the shape \(6,\); pass finite features"),
    ("S3VM", "X", np.full((N, 2), np.nan), r"X\[0, 0\] is nan; pass finite features: impute"),
    ("S3VM", "labels", "x", "specmargin.encode_labels"),
    ("S3VM", "loss", "x", "unknown loss 'x'"),
    ("S3VM", "unlabeled_loss", 1, "loss=1 is no loss; take one of .*'symmetric_hinge'"),
    ("S3VM", "C", "1", "C='1'"),
    ("S3VM", "C_star", "1", "C_star='1'"),
    ("S3VM", "balance", "1", "balance='1'"),
    ("S3VM", "intercept", "x", "intercept='x' is unknown; take one of balance, regularized, free"),
    ("SpectrumMargin", "spectrum", X, "specmargin.spectra.laplacian_eigenpairs"),
    ("SpectrumMargin", "spectrum", "x", "specmargin.spectra.laplacian_eigenpairs"),
    ("SpectrumMargin", "spectrum", [SPECTRUM, 1], "is no spectrum, nor a list of them"),
    ("SpectrumMargin", "labels", "x", "specmargin.encode_labels"),
    ("SpectrumMargin", "C", "1", "C='1'"),
    ("SpectrumMargin", "B", "1", "B='1'"),
    ("SpectrumMargin", "eps", "1", "eps='1'"),
    ("SpectrumMargin", "order", 1, "order=1 must be True or False"),
    ("SpectrumMargin", "ties", 1, "ties=1 must be True or False"),
    ("SpectrumMargin", "delta", "x", "pass nonnegative weights of the eigenvectors"),
    ("SpectrumMargin", "delta", np.full(3, np.nan), "pass finite weights >= 0, one per eigenvector"),
    ("Alignment", "spectrum", 1, "specmargin.spectra.laplacian_eigenpairs"),
    ("Alignment", "labels", "x", "specmargin.encode_labels"),
    ("Alignment", "labels", WEIGHTED, "labels have weights, .* pass them without"),
    ("Alignment", "order", 1, "order=1 must be True or False"),
    ("Alignment", "ties", 1, "ties=1 must be True or False"),
    ("SpectralRidge", "spectrum", X, "specmargin.spectra.laplacian_eigenpairs"),
    ("SpectralRidge", "labels", "x", "specmargin.encode_labels"),
    ("SpectralRidge", "delta", "x", "pass nonnegative weights of the eigenvectors"),
    ("SpectralRidge", "penalty", "1", "penalty='1'"),
    ("SpectralGraphTransducer", "spectrum", X, "specmargin.spectra.laplacian_eigenpairs"),
    ("SpectralGraphTransducer", "labels", "x", "specmargin.encode_labels"),
    ("SpectralGraphTransducer", "C", "1", "C='1'"),
    ("SpectralGraphTransducer", "Q", "x", "pass nonnegative penalties of the eigenvectors"),
    ("SpectralGraphTransducer", "Q", np.full(2, np.nan), "Q"),
    ("S3VMRelaxation", "obj", X, r"pass specmargin.objectives.S3VM\(X, labels\)"),
    ("WeightedSVM", "features", X, r"pass Features.of\(X, intercept"),
    ("WeightedSVM", "plus", "x", "pass one weight per sample"),
    ("WeightedSVM", "plus", NAN, "plus holds 6 values that are not finite or below 0"),
    ("WeightedSVM", "minus", "x", "pass one weight per sample"),
    ("WeightedSVM", "minus", NAN, "minus holds 6 values that are not finite or below 0"),
    ("WeightedSVM", "linear", "x", "pass one weight per sample"),
    ("WeightedSVM", "linear", NAN, "linear holds 6 values that are not finite"),
    ("WeightedSVM", "loss", "x", "unknown loss 'x'"),
    ("RelativeMargin", "C", "x", "C='x'"),
    (
        "RelativeMargin",
        "C",
        np.ones((2, 2)),
        r"has the shape \(2, 2\); pass one weight of the loss, or one per labelled",
    ),
    ("RelativeMargin", "C", np.array([1.0, np.nan]), r"C\[1\] is nan; pass one weight of the loss"),
    ("RelativeMargin", "B", "1", "B='1'"),
    ("FixedSpectrum", "delta", "x", "pass nonnegative weights of the eigenvectors"),
    ("FixedSpectrum", "delta", np.full(3, np.nan), "pass finite weights >= 0, one per eigenvector"),
    ("SpectrumCone", "q", 0, "q=0 must be a whole number of at least 1"),
    ("SpectrumCone", "order", 1, "order=1 must be True or False"),
    ("RegularizedClustering", "K", "x", "pass the kernel matrix"),
    ("RegularizedClustering", "L", "x", "specmargin.graphs.laplacian"),
    ("RegularizedClustering", "gamma", "1", "gamma='1'"),
]


@pytest.mark.parametrize(("name", "argument", "value", "message"), BAD, ids=lambda x: str(x)[:30])
def test_what_an_argument_must_be_is_said_with_its_name(name, argument, value, message):
    kind = getattr(objectives if hasattr(objectives, name) else optima, name)
    kind(**GOOD[name])
    with pytest.raises(ValueError, match=message) as error:
        kind(**{**GOOD[name], argument: value})
    # As a word: a longer one that contains it would be another name.
    assert re.search(rf"\b{argument.removeprefix('unlabeled_')}\b", str(error.value))


TWO, WILD = np.array([1.0, -1.0]), np.array([np.nan, 1.0])
SKEW = np.array([[2.0, 1.0], [-1.0, 2.0]])
RIDGE = ConformalRidge(np.eye(2), TWO)
PAIR = sm.encode_labels([0, 1])
NAMED = [
    ("G", lambda: ConformalRidge(np.diag(WILD), TWO)),
    ("targets", lambda: ConformalRidge(np.eye(2), WILD)),
    ("cross", lambda: RIDGE.p_values(np.array([WILD]), np.ones(1))),
    ("diagonal", lambda: RIDGE.p_values(np.ones((1, 2)), WILD[:1])),
    ("level", lambda: RIDGE.intervals(np.ones((1, 2)), np.ones(1), "high")),
    ("X", lambda: objectives.Features.of("x", "free", rows=np.arange(2))),
    ("X", lambda: objectives.Features.of(np.array([WILD]), "free", rows=np.arange(1))),
    ("balance", lambda: objectives.Features.of(X, "balance", rows=np.arange(2), balance="none")),
    ("G", lambda: RidgePath(np.diag(WILD), TWO)),
    ("weights", lambda: RidgePath(np.eye(2), TWO, weights=WILD)),
    ("below 0", lambda: RidgePath(np.eye(2), TWO, weights=-TWO)),
    ("gamma_A", lambda: weights_of_paper(0.0, 1.0, 1, 1, "means")),
    ("gamma_I", lambda: weights_of_paper(1.0, -1.0, 1, 1, "means")),
    ("l", lambda: weights_of_paper(1.0, 1.0, 0, 1, "means")),
    ("u", lambda: weights_of_paper(1.0, 1.0, 1, -1, "means")),
    ("form", lambda: weights_of_paper(1.0, 1.0, 1, 1, "half")),
    ("K", lambda: objectives.LapSVM(SKEW, None, PAIR)),
    ("L", lambda: objectives.LapSVM(np.eye(2), SKEW, PAIR)),
    ("K", lambda: objectives.RMM(np.diag(WILD), PAIR)),
    ("delta", lambda: objectives.FixedSpectrum(WILD)),
    ("Q", lambda: objectives.SpectralGraphTransducer(SPECTRUM, LABELS, 1.0, WILD)),
    ("delta", lambda: objectives.SpectralRidge(SPECTRUM, LABELS, np.append(WILD, 1.0))),
]


@pytest.mark.parametrize(("argument", "call"), NAMED, ids=[f"{i} {name}" for i, (name, _) in enumerate(NAMED)])
def test_what_is_refused_is_named_by_its_own_name(argument, call):
    with pytest.raises(ValueError, match=rf"^[^.;:]*\b{argument}\b"):
        call()


def test_what_may_be_left_out_may_be_none():
    for name, argument in (
        ("LapSVM", "L"),
        ("LapRLS", "L"),
        ("LapRLS", "weights"),
        ("S3VM", "unlabeled_loss"),
        ("S3VM", "C_star"),
        ("S3VM", "balance"),
        ("SpectrumMargin", "delta"),
        ("SpectralGraphTransducer", "Q"),
        ("WeightedSVM", "linear"),
    ):
        getattr(objectives if hasattr(objectives, name) else optima, name)(**{**GOOD[name], argument: None})


def test_what_is_read_already_is_taken_as_it_is():
    assert objectives.S3VM(FEATURES, LABELS).features is FEATURES
    operator = sm.kernels.operators.LowRankKernel(X)
    assert objectives.LapSVM(operator, None, LABELS).K is operator
    assert objectives.RelativeMargin(C=2.0).C == 2.0
    assert objectives.SpectrumMargin([SPECTRUM, SPECTRUM], LABELS).q == 6


def test_further_defaults():
    """One of each weight, as the papers have them; the hinge, and for S3VMs its square."""
    for name, known in {
        "LapSVM": {"loss": "hinge", "gamma_A": 1.0},
        "LapRLS": {"gamma_A": 1.0, "gamma_I": 0.0, "fit_intercept": True, "weights": None},
        "RMM": {"C": 1.0},
        "S3VM": {"loss": "squared_hinge", "unlabeled_loss": None, "C": 1.0, "C_star": None, "balance": None},
        "SpectrumMargin": {"C": 1.0, "delta": None},
        "SpectralGraphTransducer": {"Q": None},
        "WeightedSVM": {"loss": "squared_hinge", "linear": None},
        "S3VMRelaxation": {"signs": None},
    }.items():
        parameters = inspect.signature(getattr(objectives if hasattr(objectives, name) else optima, name)).parameters
        assert {argument: parameters[argument].default for argument in known} == known
    assert objectives.LapRLS(**GOOD["LapRLS"]).margin_loss.name == "squared"


def test_a_length_of_minus_one_is_open():
    clustering = objectives.RegularizedClustering(**GOOD["RegularizedClustering"])
    assert clustering.variables == {"alpha": (N, -1)}
    assert contract.ANY == -1
    for m in (1, 4):
        (alpha,) = contract.read({"alpha": (N, -1)}, {"alpha": np.ones((N, m))})
        assert alpha.shape == (N, m)
    (column,) = contract.read({"alpha": (N, -1)}, {"alpha": np.ones(N)})
    assert column.shape == (N, 1)
    with pytest.raises(ValueError, match=r"alpha has the shape \(5, 2\), but this problem's is \(6, any number\)"):
        contract.read({"alpha": (N, -1)}, {"alpha": np.ones((5, 2))})


def test_laprls_makes_its_labels_and_its_loss_itself():
    parameters = inspect.signature(objectives.LapRLS).parameters
    assert not {"labels", "loss"} & parameters.keys()


@pytest.mark.parametrize(
    "name", ["LapSVM", "LapRLS", "RMM", "S3VM", "SpectrumMargin", "SpectralRidge", "RegularizedClustering"]
)
def test_a_change_of_a_number_is_checked_as_at_first(name):
    obj = getattr(objectives if hasattr(objectives, name) else optima, name)(**GOOD[name])
    for other, argument, value, message in BAD:
        if other == name and argument != "balance" and isinstance(value, str) and value == "1":
            with pytest.raises(ValueError, match=message):
                obj.with_(**{argument: value})


def _functions():
    found = pkgutil.walk_packages(objectives.__path__, f"{objectives.__name__}.")
    for name in (objectives.__name__, *(module.name for module in found)):
        module = importlib.import_module(name)
        for thing in list(vars(module).values()):
            if getattr(thing, "__module__", None) == module.__name__:
                parts = [thing, *vars(thing).values()] if inspect.isclass(thing) else [thing]
                yield from (part for part in map(_unwrapped, parts) if inspect.isroutine(part) or inspect.isclass(part))


def _unwrapped(part):
    return getattr(part, "__func__", part)


def test_defaults_of_functions_are_those_of_their_documentation():
    """All public ones of all modules, and the classes that `specmargin.objectives` does not name."""
    seen = set()
    for function in _functions():
        text = inspect.getdoc(function) or ""
        for arguments, default in re.findall(r"^([\w, ]+) : [^\n]*default ([^\s,;]+)$", text, re.M):
            for argument in arguments.split(", "):
                found = inspect.signature(function).parameters[argument].default
                found = getattr(found, "__name__", found)
                assert str(found).removesuffix(".0") == default.strip('"').removesuffix(".0") or found == float(default)
                seen.add((function.__qualname__, argument))
    assert len(seen) > 30
    assert ("ConformalRidge.intervals", "level") in seen
