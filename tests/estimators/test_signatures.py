"""One word for one thing: the parameters of all public estimators and solvers, and docs/parameters.md made of them.

The page is written by ``python tests/estimators/test_signatures.py`` from `inspect.signature` and the tables below. A
parameter that no concept names, a name that is another spelling of one, and a default that differs from the usual one
without a reason are failures: decide on the word, or write the reason down.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import all_estimators
import pytest
from contract_estimators import make
from sklearn.utils.validation import check_is_fitted

import specmargin as sm
from specmargin import graphs, kernels, optima, solvers, spectra
from specmargin.estimators._base.parameters import Composed
from specmargin.parts import Part

PAGE = Path(__file__).parents[2] / "docs" / "parameters.md"

CONCEPTS = {
    "weight of the labelled losses": "C",
    "weight of the unlabelled losses": "C_star",
    "weight of the ambient norm": "gamma_A",
    "weight of the intrinsic norm": "gamma_I",
    "weight of the norm in least squares": "penalty",
    "relative margin": "B",
    "loss": "loss",
    "how the minimum of an S3VM is looked for": "search",
    "kernel": "kernel",
    "kernels that are weighed": "kernels",
    "order of the weights of kernels": "order",
    "graph of the samples": "graph",
    "Laplacian of the graph": "laplacian",
    "functions to choose from": "functions",
    "number of eigenvectors": "q",
    "exponent of the graph norm of a fixed spectrum": "power",
    "accuracy of the eigenvectors": "eigen_tol",
    "filters of the features": "filters",
    "how the weights of filters are learned": "learn",
    "weight of the loop at every node": "self_loops",
    "normalisation of filtered features": "normalization",
    "one filter for all classes": "joint",
    "transform of the spectrum": "transformation",
    "exponent of the penalties of a cut": "exponent",
    "ratio of consecutive weights": "w",
    "least drop between consecutive weights": "eps",
    "comparison of the classes": "class_balance",
    "weights of the classes in the losses": "class_weight",
    "constraint on the mean decision of an S3VM": "balance",
    "intercept of a convex classifier": "fit_intercept",
    "several classes": "multi_class",
    "clusters from the classes": "refine",
    "estimator whose parameters are chosen": "estimator",
    "what is tried": "grid",
    "what chooses": "criterion",
    "folds": "cv",
    "number of clusters": "n_clusters",
    "number of eigenfunctions": "n_components",
    "how clusters are assigned": "assign",
    "change of the problem that is solved": "model",
    "solver of a convex problem, its accuracy and limits": "solver",
    "accuracy, where there is one solver": "tol",
    "metric of the neighbours, where the graph is not one": "metric",
    "randomness": "random_state",
    "families of candidates": "families",
    "what is not learned from the data": "constants",
    "marker of unlabelled samples": "unlabeled",
}
"""Concepts of the estimators, each with its one name."""

PART_CONCEPTS = {
    "inverse width of a kernel": "gamma",
    "degree of the polynomial kernel": "degree",
    "constant of the polynomial kernel": "coef0",
    "number of landmarks": "n",
    "leading components of the kernel map": "rank",
    "neighbours of the graph": "n_neighbors",
    "edge weights": "weight",
    "how the neighbour relation is made symmetric": "kind",
    "metric of the neighbours": "metric",
    "components in which neighbours are searched": "reduce",
    "power of the Laplacian": "power",
    "kind of the Laplacian": "normalized",
    "number of eigenvectors": "q",
    "rule of a spectrum": "rule",
    "width of a rule": "sigma",
    "exponent of a rule": "exponent",
    "number of equal weights": "k",
    "ratio of consecutive weights": "w",
    "name of a solver or a search": "name",
    "accuracy: relative gap, or relative gradient where there is no proof": "tol",
    "limit of iterations": "max_iter",
    "options of the solver": "options",
    "intercept of an S3VM, three kinds": "intercept",
    "label flips after the search": "one_flip",
    "where a ramp ends": "s",
    "seconds for a bound of the optimum": "bound",
    "randomness": "random_state",
}
"""Concepts of the parts, each with its one name."""

SOLVER_CONCEPTS = {
    "objective": "obj",
    "weighted SVM (an objective)": "svm",
    "labels of all classes": "labels",
    "result to certify": "result",
    "weights to begin at (S3VM)": "w",
    "coefficients to begin at": "start",
    "share of C_star to begin with": "first_share",
    "result to begin at": "warm_start",
    "accuracy: relative gap, or relative gradient where there is no proof": "tol",
    "accuracy of the proof, where tol is that of a stopping rule": "gap_tol",
    "accuracy of convex problems on the way": "inner_tol",
    "limit of iterations": "max_iter",
    "limit of inner iterations": "max_inner",
    "limit of nodes": "max_nodes",
    "limit of switches at once": "max_switches",
    "limit of seconds": "time_limit",
    "number of processes": "n_jobs",
    "file that a search is kept in": "tree",
    "passes over the samples": "rounds",
    "factors of C_star": "schedule",
    "growth of C_star": "rate",
    "number of steps": "n_steps",
    "weights that begin unequal": "skewed",
    "inner method": "minimizer",
    "memory of L-BFGS": "m",
    "stopping rule": "stopping",
    "share of the decisions that are proved": "proved",
    "samples for the stopping rule": "validation",
    "true signs": "truth",
    "iterations between two looks": "check_every",
    "preconditioner": "preconditioner",
    "precision": "dtype",
    "tight proof after an early stop": "prove",
    "report of progress": "progress",
    "proof written down": "log",
    "weights of the loss, a path": "Cs",
    "number of eigenfunctions": "n_components",
    "options passed on": "options",
}

OTHER_SPELLINGS = {
    "B": ("margin",),
    "n_neighbors": ("k_neighbors", "neighbors", "n_nearest"),
    "weight": ("weights", "edge_weight"),
    "normalized": ("normalised", "normalize"),
    "n_landmarks": ("n_functions", "landmarks", "n_samples"),
    "q": ("n_eigenvectors", "n_eigenpairs", "n_functions"),
    "class_balance": ("balanced", "zscore", "priors", "class_prior", "class_shares", "proportions"),
    "solver": ("method", "algorithm"),
    "solver_params": ("solver_options", "solver_kwargs", "params"),
    "tol": ("tolerance", "epsilon", "rtol", "atol"),
    "max_iter": ("maxiter", "n_iter", "max_iterations", "max_steps"),
    "random_state": ("seed", "rng", "generator"),
    "unlabeled": ("unlabelled", "marker"),
}
"""Words that a parameter must not have, by the word to take."""


REASONS: dict[str, dict[str, str]] = {
    "B": {"1.5": "The relative margin is what `RMM` and `STORM` are for; elsewhere it is an option."},
    "C": {
        '"auto"': "In units of the features, which its kernel works in.",
        "10.0": "The alignment chose the spectrum already; on 19 sets ten errs less than one, whatever the labels.",
        "10000.0": "Its loss is a mean per class, which is not the loss of a margin.",
        '"loo"': "Left-out samples of the ridge regression that follows tell how hard the margin should be.",
    },
    "class_balance": {
        "None": "Weights of filters make decisions of features, whose own threshold serves.",
    },
    "gamma_A": {"0.01": "Without labels there is no unit in which the labels' losses would weigh it."},
    "gamma_I": {"0.0": "An S3VM is a hybrid with a graph only where that is asked for."},
    "graph": {
        "KNN(weight='self_tuning')": "The weights that its results were computed with; binary ones were not compared.",
    },
    "kernel": {
        "Linear()": "An S3VM errs least with a linear kernel; convex classifiers choose from many functions.",
        "RBF(gamma='auto')": "The width of what is curved or in pieces; without the graph the labels may say wide.",
        "RBF(gamma='median')": 'Tried first by the searches: on eleven sets it errs a point less than "scale".',
    },
    "laplacian": {
        "Laplacian(normalized=False)": "D - W, as in the paper, whose condition 1'f = 0 takes the null space out.",
        "Laplacian(power=2, normalized='auto')": "By the mean error on 19 sets, with weights in units of the data.",
    },
    "loss": {'"squared"': "One factorisation for all classes and filters; errors are those of the hinge."},
    "n_components": {"None": "Stands for n_clusters - 1; coordinates are those of a picture."},
    "normalization": {'"centered"': "Words count by their direction; for numbers, as in regression, sizes matter."},
}
"""Why a default is not the usual one (that of most classes), by parameter and default."""

PART_REASONS: dict[str, dict[str, str]] = {
    "gamma": {'"local"': "RBF: the width of what is curved or in pieces; a polynomial has no width."},
    "name": {'"auto"': "Of `Solver`: the package's own; a search has its losses, and is named."},
    "tol": {"1e-06": "Of `Solver`, which has to prove a relative gap; a search has its own, mostly without a proof."},
}
"""The same for parts."""

SOLVER_REASONS: dict[str, dict[str, str]] = {
    "time_limit": {"inf": "A bound is one relaxation, whose steps are limited; searches go on as long as they may."},
    "dtype": {"None": "The precision of the kernel."},
    "max_iter": {
        "None": "3 m steps, m the number of extreme spectra: far more than it takes.",
        "30": "Temperatures.",
        "300": "Newton or interior-point steps.",
        "500": "Newton steps.",
        "1000": "Steps without second derivatives at each weight; of `one_flip` flips.",
        "5000": "Steps that converge linearly.",
        "10000": "Trainings between switches of many labels.",
        "100000": "Trainings between switches of two labels.",
    },
    "schedule": {
        "None": "Doublings, n_steps of them.",
        "(0.0, 1e-06, 0.0001, 0.01, 0.1, 0.5, 1.0)": "The paper's annealing.",
    },
    "tol": {
        "0.0001": "A relative gradient, by L-BFGS.",
        "0.001": "The bound is asked for, not the optimum of its relaxation.",
        "1e-10": "Second-order methods on few unknowns; of `polish` the relative gradient.",
        "1e-08": "Linear convergence (`alternation`), a stopping rule (`pcg`), constraints as well (`eigenmaps`).",
        "1e-06": "Searches: a relative gradient, the gap of each training, the entropy, or the proof of an optimum.",
    },
    "w": {"required": "`polish` improves a point that it is given."},
}

NOTES = """`tol` is the relative gap that the certificate has to prove. Where nothing can be proved (the descents of
an S3VM) it is the relative gradient. `pcg` stops by a rule of the paper, on which `tol` is the threshold; `gap_tol` is
what its certificate has to prove, and `LapSVM(solver=Solver("pcg", tol=...))` sets that one. `annealing`
ends by entropy, `cccp` and `one_flip` by the share by which the objective still falls.

`SpectralGraphTransducer`, the regressors, `SpectralRidge`, `RegularizedSpectralClustering` and `RegularizedEigenmaps`
have one way to be solved: they have a `tol`, which their certificate is held against, and no `solver`."""


def _shown(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    return f'"{default}"' if isinstance(default, str) else getattr(default, "__name__", repr(default))


def defaults(objects: Mapping[str, Callable[..., Any]]) -> dict[str, dict[str, list[str]]]:
    """Return, by parameter and default, the names of those that have it."""
    table: dict[str, dict[str, list[str]]] = {}
    for name, value in sorted(objects.items()):
        for parameter in inspect.signature(value).parameters.values():
            table.setdefault(parameter.name, {}).setdefault(_shown(parameter.default), []).append(name)
    return table


def public(module: Any) -> dict[str, Callable[..., Any]]:
    return {name: getattr(module, name) for name in module.__all__ if callable(getattr(module, name))}


def parts() -> dict[str, Callable[..., Any]]:
    """Return the parts that estimators are composed of, by name."""
    rooms = (kernels, graphs, spectra, solvers)
    named = {name: getattr(room, name) for room in rooms for name in room.__all__}
    made = {name: value for name, value in named.items() if isinstance(value, type) and issubclass(value, Part)}
    return {name: value for name, value in made.items() if name != "Kernel"}


searches = {name: f for name, f in public(optima).items() if name != "s3vm_relaxation"}  # a problem
GROUPS = {
    "Estimators": ({name: getattr(sm, name) for name in all_estimators.NAMES}, CONCEPTS, REASONS),
    "Parts": (parts(), PART_CONCEPTS, PART_REASONS),
    "Solvers": (
        {n: f for n, f in {**public(solvers), **searches}.items() if not isinstance(f, type)},
        SOLVER_CONCEPTS,
        SOLVER_REASONS,
    ),
}
groups = pytest.mark.parametrize("group", GROUPS)


def usual(by_default: Mapping[str, list[str]]) -> str:
    return max(by_default, key=lambda default: len(by_default[default]))


def faults(
    objects: Mapping[str, Callable[..., Any]], concepts: Mapping[str, str], reasons: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """Say what is wrong with the parameters of some classes or functions."""
    table, names, wrong = defaults(objects), list(concepts.values()), []
    others = {bad: word for word, spellings in OTHER_SPELLINGS.items() for bad in spellings}
    wrong += [f"{name}: named by two concepts" for name in set(names) if names.count(name) > 1]
    wrong += [f"{name}: another spelling of {others[name]}" for name in table if name in others]
    wrong += [f"{name}: no concept" for name in table if name not in names and name not in others]
    wrong += [f"{name}: nobody has it" for name in names if name not in table]
    for name, by_default in table.items():
        odd = set(by_default) - {usual(by_default)}
        given = set(reasons.get(name, {}))
        wrong += [f"{name}={default} ({', '.join(by_default[default])}): why?" for default in sorted(odd - given)]
        wrong += [f"{name}={default}: a reason for nothing" for default in sorted(given - odd)]
    wrong += [f"{name}: reasons for nothing" for name in reasons if name not in table]
    return wrong


def _who(names: list[str], everyone: list[str]) -> str:
    return f"all {len(everyone)}" if set(everyone) == set(names) else ", ".join(f"`{name}`" for name in names)


def page() -> str:
    """Return docs/parameters.md."""
    lines = [
        "# Parameters",
        "",
        "One word for one thing: what every public estimator, part and solver calls its parameters, and their",
        "defaults. This page is written by `python tests/estimators/test_signatures.py` from the signatures; a test",
        "checks that it is current, that no concept has two names, and that a default which is not the usual one has a",
        "reason.",
        "",
        NOTES,
    ]
    for title, (objects, concepts, reasons) in GROUPS.items():
        table = defaults(objects)
        lines += ["", f"## {title}", "", "| concept | name | default | who | why |", "|---|---|---|---|---|"]
        for concept, name in concepts.items():
            by_default = table[name]
            first = usual(by_default)
            for default in [first, *sorted(set(by_default) - {first})]:
                why = reasons.get(name, {}).get(default, "")
                who = _who(by_default[default], sorted(objects))
                head = f"| {concept} | `{name}` " if default == first else "| | "
                lines.append(f"{head}| `{default}` | {who} | {why} |")
    return "\n".join(lines) + "\n"


@groups
def test_one_word_for_one_thing_and_a_reason_for_every_other_default(group: str) -> None:
    assert faults(*GROUPS[group]) == []


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python tests/write_pages.py"


@pytest.mark.parametrize("name", all_estimators.NAMES)
def test_parameters_are_few_and_so_are_the_classes_above(name: str) -> None:
    cls = getattr(sm, name)
    has = list(inspect.signature(cls).parameters)
    own = [each for each in cls.__mro__[1:] if each.__module__.startswith("specmargin.")]
    assert len({*has} - {"model"}) <= 12  # the usual model has twelve; this one changes it
    assert len(own) <= 6
    assert Composed in own
    assert not {"fit_intercept", "intercept"} <= set(has)
    assert not {"class_balance", "balance"} <= set(has)
    if "q" in has:  # eigenvectors are searched for from a random start
        assert "random_state" in has


def described(cls: type) -> dict[str, str]:
    """Return the parameters that the docstring of a class describes, with the defaults that it names."""
    section = re.search(r"Parameters\n-+\n(.*?)\n\n(?:[A-Z]\w+)\n-+\n", inspect.getdoc(cls) or "", re.DOTALL)
    assert section
    table = {}
    for head in re.findall(r"^(\S.*)$", section[1], re.MULTILINE):
        names, _, kind = head.partition(" : ")
        default = re.search(r"(?:, default (.*)|, (optional))$", kind)
        assert default, head
        table |= dict.fromkeys(names.split(", "), default[1] or "None")
    return table


@pytest.mark.parametrize("name", all_estimators.NAMES)
def test_every_parameter_is_documented_with_its_default(name: str) -> None:
    cls = getattr(sm, name)
    documented = described(cls)
    signature = {name: _shown(value.default) for name, value in inspect.signature(cls).parameters.items()}
    signature = {name: text.replace("'", '"') for name, text in signature.items()}
    written = {name: text.replace("e-", "e-0") for name, text in documented.items()}
    assert list(written.items()) == list(signature.items()), "in the order of the signature"


@pytest.mark.parametrize("name", all_estimators.NAMES)
def test_every_public_attribute_is_documented(name: str, moons: Any) -> None:
    X, _, y = moons
    cls = getattr(sm, name)
    fitted = make(name).fit(X, y)
    check_is_fitted(fitted)
    text = inspect.getdoc(cls) or ""
    section = text[text.index("Attributes\n---") :]
    known = {word for head in re.findall(r"^(\S.*?)(?: : .*)?$", section, re.MULTILINE) for word in head.split(", ")}
    public = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert public - known == set()
    if "classes_" in vars(fitted):  # what a search chose has it, not the search
        assert {"scores_", "transduction_"} <= public


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
