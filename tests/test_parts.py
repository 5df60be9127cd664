"""Parts of estimators: they never change, and scikit-learn's names reach into them."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import all_estimators
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import kernels as gp
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import radius_neighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs import KNN, Laplacian
from specmargin.graphs.parts import built_each
from specmargin.kernels import RBF, Cosine, Landmarks, Linear, Polynomial, Precomputed, PrincipalComponents
from specmargin.parts import Part, changed, parameters_of, require_part
from specmargin.solvers import Search, Solver
from specmargin.spectra import Eigenvectors, Transform

PARTS = [
    RBF(2.0),
    Polynomial(2),
    Linear(),
    Cosine(),
    Precomputed(),
    Landmarks(5),
    PrincipalComponents(3),
    KNN(5, weight="heat"),
    Laplacian(2, False),
    Eigenvectors(7),
    Transform("step", k=3),
    Solver("pcg", options={"stopping": "safe"}),
    Search("cccp", s=-0.5),
]


@pytest.fixture
def moons() -> tuple[Any, Any, Any]:
    """120 points of two moons, their classes, and four labels of each."""
    X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    return X, truth, sm.hide_labels(truth, per_class=4, random_state=0)


by_name = pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)


@by_name
def test_a_part_is_its_parameters(part: Part) -> None:
    again = type(part)(**part.get_params())
    assert again == part
    assert repr(again) == repr(part)
    assert eval(repr(part)) == part
    assert pickle.loads(pickle.dumps(part)) == part
    assert clone(part) is part
    assert hash(again) == hash(part)
    assert part.with_() == part
    assert parameters_of(part) == part.get_params()
    require_part("part", part)


@by_name
def test_a_part_does_not_change(part: Part) -> None:
    with pytest.raises(AttributeError):
        part.gamma = 3.0  # type: ignore[attr-defined]
    with pytest.raises(InvalidTypeError, match="does not change; make another one"):
        part.set_params(**part.get_params())


def test_other_parameters_make_another_part() -> None:
    assert repr(RBF()) == "RBF()"
    assert changed("kernel", RBF(), {"gamma": 3.0}) == RBF(3.0)
    with pytest.raises(InvalidInputError, match=r"kernel__gama is unknown.*Did you mean 'gamma'"):
        changed("kernel", RBF(), {"gama": 3.0})
    with pytest.raises(InvalidInputError, match="has no parameters; set the whole part"):
        changed("graph", max, {"n_neighbors": 3})


NESTED: dict[str, dict[str, Any]] = {
    "kernel": {"gamma": 3.0},
    "graph": {"n_neighbors": 4, "weight": "heat"},
    "laplacian": {"power": 3},
    "solver": {"tol": 1e-3},
    "search": {"name": "gradient", "tol": 1e-3},
    "transformation": {"rule": "step", "k": 2},
    "functions": {},
}


@pytest.mark.parametrize("name", all_estimators.NAMES)
def test_nested_names_set_parts_and_no_other_estimator(name: str) -> None:
    cls = getattr(sm, name)
    one, other = cls(), cls()
    before = repr(other.get_params())
    for part, values in NESTED.items():
        if part not in one.get_params(deep=False):
            continue
        if part == "kernel":
            one.set_params(kernel="rbf")
        for inner, value in values.items():
            assert f"{part}__{inner}" in one.get_params()
            one.set_params(**{f"{part}__{inner}": value})
            assert one.get_params()[f"{part}__{inner}"] == value
    assert repr(other.get_params()) == before == repr(cls().get_params())
    assert repr(clone(one).get_params()) == repr(one.get_params())


def test_nested_names_reach_into_short_forms_and_searches() -> None:
    svm = sm.LapSVM(kernel=4.0, graph=5, laplacian=2, functions="landmarks", solver="newton")
    svm.set_params(
        kernel__gamma=1.0, graph__metric="cosine", laplacian__normalized=False, functions__n=7, solver__tol=1e-3
    )
    assert svm.kernel == RBF(1.0)
    assert svm.graph == KNN(5, metric="cosine")
    assert svm.laplacian == Laplacian(2, False)
    assert svm.functions == Landmarks(7)
    assert svm.solver == Solver("newton", tol=1e-3)
    search = sm.LabelSearch(sm.STORM()).set_params(estimator__graph__weight="heat", estimator__C=3.0)
    assert (search.estimator.graph, search.estimator.C) == (KNN(weight="heat"), 3.0)
    piped = make_pipeline(StandardScaler(), sm.STORM()).set_params(storm__graph__n_neighbors=3)
    assert piped[-1].graph == KNN(3)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"kernel__width": 1.0}, "kernel__width is unknown: kernel=RBF.* has the parameters gamma"),
        ({"graph__gamma": 1.0}, "graph__gamma is unknown"),
        ({"loss__s": 1.0}, "loss='hinge' holds no parameters; set loss itself"),
        ({"functions__n": 5}, "functions__n is unknown"),
        ({"graphs__n_neighbors": 5}, "has no parameter 'graphs__n_neighbors'"),
    ],
)
def test_nested_names_that_do_not_exist(names: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        sm.LapSVM().set_params(**names)


@pytest.mark.parametrize(
    ("cls", "given", "nested"),
    [
        (sm.LapSVM, {"n_neighbors": 5}, "graph__n_neighbors=5"),
        (sm.LapSVM, {"normalized": False}, "laplacian__normalized=False"),
        (sm.LapSVM, {"gamma": 2.0}, "kernel__gamma=2.0"),
        (sm.S3VM, {"max_iter": 9}, "search__max_iter=9"),
        (sm.LabelSearch, {"weight": "heat"}, "estimator__graph__weight='heat'"),
    ],
)
def test_a_parameter_of_a_part_is_answered_by_its_nested_name_and_that_works(cls, given, nested):
    for call in (lambda: cls(**given), lambda: cls().set_params(**given)):
        with pytest.raises(InvalidTypeError, match=re.escape(f"; a part has it: set_params({nested}).")):
            call()
    name, value = nested.split("=")
    made = eval(f"cls().set_params({nested})", {"cls": cls})
    assert made.get_params()[name] == eval(value)


class Laplace(BaseEstimator):  # type: ignore[misc]  # of scikit-learn, which has no types
    """A kernel by a stranger."""

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def __call__(self, X: Any, Y: Any = None) -> Any:
        Y = X if Y is None else Y
        return np.exp(-self.gamma * np.abs(X[:, None] - Y[None]).sum(axis=2))


class Ball(BaseEstimator):  # type: ignore[misc]  # of scikit-learn, which has no types
    """A graph by a stranger."""

    def __init__(self, radius: float = 0.5) -> None:
        self.radius = radius

    def __call__(self, X: Any) -> Any:
        return radius_neighbors_graph(X, self.radius)


def test_parts_of_a_stranger(moons: Any) -> None:
    X, truth, y = moons
    W, K = radius_neighbors_graph(X, 0.4), Laplace(2.0)(X)
    own = sm.LapSVM(kernel=Laplace(2.0), graph=Ball(0.4), gamma_A=0.01, gamma_I=1.0).fit(X, y)
    given = sm.LapSVM(kernel="precomputed", gamma_A=0.01, gamma_I=1.0).fit(K, y, graph=W)
    np.testing.assert_allclose(own.scores_, given.scores_, atol=1e-9)
    np.testing.assert_allclose(own.decision_function(X[:5]), given.decision_function(K[:5]), atol=1e-9)
    more = sm.hide_labels(truth, per_class=8, random_state=0)
    grid = {"kernel__gamma": [1.0, 3.0], "graph__radius": [0.3, 0.5], "laplacian": [1, 2]}
    search = GridSearchCV(own, grid, cv=sm.LabeledKFold(3)).fit(X, more)
    assert search.best_estimator_.kernel.gamma in (1.0, 3.0)
    assert own.kernel.gamma == 2.0
    storm = sm.STORM(graph=[Ball(0.4), KNN(5)], q=12).fit(X, y)
    same = sm.STORM(q=12).fit(X, y, graph=[W, KNN(5)(X)])
    np.testing.assert_array_equal(storm.scores_, same.scores_)
    assert storm.decision_function(X[:3] + 0.01).shape == (3,)
    choosing = sm.LabelSearch(sm.LapRLS(), grid={"kernel": [Laplace(1.0), 4.0], "graph": [Ball(0.4), 6]}).fit(X, more)
    again = sm.LapRLS(**choosing.best_params_).fit(X, more)
    np.testing.assert_array_equal(again.scores_, choosing.scores_)


# What a stranger writes into a cell of a notebook: an own kernel, an own graph, and a search over both.
CELLS = {
    "kernel": """
class Laplace(BaseEstimator):
    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def __call__(self, X, Y=None):
        return np.exp(-self.gamma * cdist(X, X if Y is None else Y, "cityblock"))

svm = sm.LapSVM(kernel=Laplace(2.0)).fit(X, y)
search = GridSearchCV(svm, {"kernel__gamma": [1.0, 3.0]}, cv=sm.LabeledKFold(3)).fit(X, y)
assert search.best_estimator_.kernel.gamma == search.best_params_["kernel__gamma"]
""",
    "graph": """
class Ball(BaseEstimator):
    def __init__(self, radius=0.5):
        self.radius = radius

    def __call__(self, X):
        return radius_neighbors_graph(X, self.radius)

svm = sm.LapSVM(graph=Ball(0.4)).fit(X, y)
search = GridSearchCV(svm, {"graph__radius": [0.3, 0.5]}, cv=sm.LabeledKFold(3)).fit(X, y)
assert search.best_estimator_.graph.radius == search.best_params_["graph__radius"]
""",
    "both": """
@dataclass
class Wave(BaseEstimator):
    gamma: float = 1.0
    radius: float = 0.5

    def __call__(self, X, Y=None):
        return 1 / (1 + self.gamma * cdist(X, X if Y is None else Y, "sqeuclidean"))

own = Wave(2.0)
svm = sm.LapSVM(kernel=own, graph=lambda X: radius_neighbors_graph(X, own.radius), gamma_I=1.0)
search = GridSearchCV(svm, {"kernel__gamma": [1.0, 3.0], "laplacian": [1, 2]}, cv=sm.LabeledKFold(3))
svm = search.fit(X, y).best_estimator_
""",
}


def test_cells_of_a_stranger_are_short_and_run(moons: Any) -> None:
    X, truth, _ = moons
    y = sm.hide_labels(truth, per_class=8, random_state=0)
    for name, cell in CELLS.items():
        assert len(cell.strip().splitlines()) <= 15, name
        shared: dict[str, Any] = {"X": X, "y": y, "dataclass": dataclass, "cdist": cdist, "__name__": "__main__"}
        shared |= {"radius_neighbors_graph": radius_neighbors_graph, "BaseEstimator": BaseEstimator, "np": np, "sm": sm}
        shared |= {"GridSearchCV": GridSearchCV}
        exec(cell, shared)  # whose names are those of the notebook
        svm = shared["svm"].fit(X, y)
        assert (clone(svm).fit(X, y).scores_ == svm.scores_).all()
        assert (svm.transduction_ == truth).mean() > 0.8
        assert svm.result_.certificate.is_optimal(1e-6)


def test_scikit_learn_searches_over_nested_names_of_the_defaults(moons: Any) -> None:
    X, truth, _ = moons
    y = sm.hide_labels(truth, per_class=8, random_state=0)
    search = GridSearchCV(
        sm.LapSVM(), {"graph__n_neighbors": [5, 10], "kernel__gamma": [1.0, 4.0]}, cv=sm.LabeledKFold(3)
    ).fit(X, y)
    assert search.best_params_.keys() == {"graph__n_neighbors", "kernel__gamma"}
    assert search.best_score_ > 0.9


SHORT = [
    ({"kernel": 4.0, "graph": 5, "laplacian": 1}, {"kernel": RBF(4.0), "graph": KNN(5), "laplacian": Laplacian()}),
    ({"kernel": "linear"}, {"kernel": Linear()}),
    ({"functions": "eigenvectors"}, {"functions": Eigenvectors()}),
    ({"solver": "dual"}, {"solver": Solver("dual")}),
    ({"kernel": np.float64(4.0), "graph": np.int64(5)}, {"kernel": RBF(4.0), "graph": KNN(5)}),
]


@pytest.mark.parametrize(("short", "whole"), SHORT)
def test_short_forms_fit_as_what_they_stand_for(moons: Any, short: Any, whole: Any, tmp_path: Path) -> None:
    X, _, y = moons
    one, other = sm.LapSVM(**short).fit(X, y), sm.LapSVM(**whole).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X + 0.01), other.decision_function(X + 0.01))
    sm.save(other, tmp_path / "model.npz")
    again = sm.load(tmp_path / "model.npz")
    assert again.get_params() == other.get_params()
    np.testing.assert_array_equal(again.decision_function(X + 0.01), other.decision_function(X + 0.01))


def test_the_page_of_an_estimator_shows_its_parts() -> None:
    page = sm.LapSVM(kernel=RBF(3.0), graph=KNN(7))._repr_html_()
    assert "RBF(gamma=3.0)" in page
    assert "KNN(n_neighbors=7)" in page
    assert repr(sm.LapSVM(kernel=RBF(3.0))) == "LapSVM(kernel=RBF(gamma=3.0))"


class Fitted:
    """A part that has learned something."""

    def __init__(self) -> None:
        self.mean_ = 1.0

    def __call__(self, *_: Any) -> Any:
        raise AssertionError("called")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": KNN(5)}, "kernel=KNN.* is no kernel"),
        ({"graph": RBF(1.0)}, "graph=RBF.* makes no graph"),
        ({"laplacian": KNN(5)}, "laplacian=KNN.* is no Laplacian"),
        ({"functions": RBF(1.0)}, "functions=RBF.* are no functions"),
        ({"solver": RBF(1.0)}, "solver=RBF.* is no solver"),
        ({"kernel": RBF}, "kernel=RBF is a class; pass an object, RBF"),
        ({"graph": KNN}, "graph=KNN is a class"),
        ({"laplacian": Laplacian}, "laplacian=Laplacian is a class"),
        ({"functions": Landmarks}, "functions=Landmarks is a class"),
        ({"solver": Solver}, "solver=Solver is a class"),
        ({"kernel": Fitted()}, r"is fitted \(it has mean_\)"),
        ({"graph": Fitted()}, r"is fitted \(it has mean_\)"),
        ({"functions": Fitted()}, r"is fitted \(it has mean_\)"),
        ({"graph": np.eye(120)}, "is an adjacency; pass it to fit"),
        ({"graph": [KNN(5), KNN(6)]}, "makes no graph"),
        ({"functions": PrincipalComponents(3)}, "are those of an S3VM"),
    ],
)
def test_parts_of_the_wrong_kind(moons: Any, params: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        sm.LapSVM(**params).fit(moons[0], moons[2])


@pytest.mark.parametrize("part", [Transform, Fitted()])
def test_a_rule_of_the_spectrum_is_an_object_that_is_not_fitted(part):
    with pytest.raises(InvalidInputError, match=r"is a class; pass an object|is fitted"):
        sm.SpectralKernelSVM(transformation=part)._check_parameters()


def test_graphs_that_differ_in_their_neighbours_alone_share_one_search(moons, monkeypatch):
    X = moons[0]
    parts = [KNN(5), KNN(9), KNN(5, kind="mutual"), KNN(4, weight="heat"), Ball(0.4), KNN(500), KNN(119)]
    alone = [part(X) for part in [*parts[:5], KNN(119)]]
    searches = []
    monkeypatch.setattr(
        KNN, "search", lambda self, X, search=KNN.search, **given: searches.append(self) or search(self, X)
    )
    made = built_each(parts, X)
    assert searches == [KNN(), KNN(weight="heat")]
    assert [part for part, _, _ in made] == [*parts[:5], KNN(119)]
    for (_, W, _), expected in zip(made, alone, strict=True):
        np.testing.assert_array_equal(W.toarray(), expected.toarray())


def test_parts_within_parts_are_changed_and_arrays_are_no_numbers():
    kernel = gp.RBF(2.0) + gp.RBF(0.5)
    clf = sm.LapSVM(kernel=kernel).set_params(kernel__k1__length_scale=3.0)
    assert clf.kernel == gp.RBF(3.0) + gp.RBF(0.5)
    assert kernel.k1.length_scale == 2.0
    with pytest.raises(InvalidInputError, match="pass the number itself"):
        KNN(np.array(5))
    with pytest.raises(InvalidInputError, match="set graph itself"):
        sm.STORM(graph=[5, 10]).set_params(graph__n_neighbors=3)
