"""What objectives ask of their arguments: what may be left out, and that defaults are documented."""

import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

import specmargin as sm
from specmargin import objectives, optima
from specmargin.objectives import contract

NAME, N = "specmargin.objectives", 6
LABELS = sm.encode_labels([0, 1, -1, -1, -1, -1])
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
