"""Results in files: what is loaded equals what was saved, to the last bit, and what cannot be saved is named."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import proof_problems
import pytest
import scipy.sparse as sp

import specmargin as sm
from cvxproof import Contradiction, result_files
from cvxproof.archive import read_archive, write_archive
from cvxproof.result_files import read_provenance
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.kernels import KernelOperator, LowRankKernel
from specmargin.losses import MarginLoss
from specmargin.objectives import RMM, LapSVM, SpectrumMargin
from specmargin.optima import ProofLog
from specmargin.proofs import packing, saving
from specmargin.proofs.packing import OBJECTIVES, PACKED, PACKING, pack, unpack
from specmargin.proofs.saving import read_record
from specmargin.proofs.wings import CLASSES
from specmargin.results import Certificate, History, SolveResult, Status


def same(a, b):
    """Whether two values are the same to the last bit, layouts of arrays included."""
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
            and (a.dtype.kind != "O" or a.tolist() == b.tolist())
            and (not a.flags.forc or a.flags.fnc == b.flags.fnc)
        )
    if sp.issparse(a):
        parts = ("data", "indices", "indptr") if a.format in ("csr", "csc", "bsr") else ("data",)
        return type(a) is type(b) and a.shape == b.shape and all(same(getattr(a, p), getattr(b, p)) for p in parts)
    if hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.init)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) or hasattr(a, "items"):
        return set(a) == set(b) and all(same(a[name], b[name]) for name in a)
    return a == b or (a != a and b != b)


def saved(tmp_path, objective, result, **more):
    sm.save_result(tmp_path / "it.npz", objective, result, **more)
    return sm.load_result(tmp_path / "it.npz")


@pytest.mark.parametrize("kind", proof_problems.KINDS)
@pytest.mark.parametrize("third", range(3))
def test_what_is_loaded_is_what_was_saved(tmp_path, kind, third):
    """Every kind in three regimes, every regime of some kinds, by our solver or by CVXPY."""
    seed = (4 * third + [*proof_problems.KINDS].index(kind)) % len(proof_problems.REGIMES)
    problem = proof_problems.made(kind, seed)
    objective = problem.objective
    solve = problem.solvers[sorted(problem.solvers)[seed % len(problem.solvers)]]
    result = solve()
    again, answer = saved(tmp_path, objective, result)
    assert same(answer, result)
    assert same(again, objective)
    if not result.status.has_solution:
        return
    assert again.value(answer.variables).hex() == float(objective.value(result.variables)).hex()
    assert same(again.decisions(answer.variables), objective.decisions(result.variables))
    assert same(sm.certify(again, answer), sm.certify(objective, result))


@pytest.fixture
def lapsvm():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12, 2))
    y = np.where(np.arange(12) < 6, (X[:, 0] > 0).astype(int), -1)
    y[:2] = 0, 1
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=3))
    return LapSVM(sm.kernels.gram(X), L, sm.encode_labels(y), gamma_A=0.1, gamma_I=1.0)


@pytest.fixture
def answer(lapsvm):
    return sm.solvers.factorized(lapsvm)


class Doubled:
    """An L of which nothing is known but its products."""

    def __init__(self, L):
        self.L, self.shape = L, L.shape

    def __matmul__(self, other):
        return 2.0 * (self.L @ other)


class Own(KernelOperator):
    """A kernel of one's own."""

    def __init__(self, K):
        self.K = K

    shape = property(lambda self: self.K.shape)

    def __matmul__(self, other):
        return self.K @ other

    def rows(self, index):
        return self.K[index]

    def trace(self):
        return float(np.trace(self.K))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_graphs_and_kernels(tmp_path, lapsvm, form, kind):
    L = getattr(sp, f"{form}_{kind}")(lapsvm.L.matrix)
    K = sp.csr_array(np.where(lapsvm.K > 0.3, lapsvm.K, 0.0) + 12 * np.eye(12))
    obj = replace(lapsvm, K=K, L=L)
    result = sm.solvers.factorized(obj)
    again, _ = saved(tmp_path, obj, result)
    assert same(again.K, obj.K)
    if form not in ("lil", "dok"):
        assert type(again.L) is type(obj.L)
    assert same(again.L @ np.linspace(0, 1, 12), obj.L @ np.linspace(0, 1, 12))
    assert same(sm.certify(again, result), sm.certify(obj, result))


def test_operators(tmp_path, lapsvm, monkeypatch):
    obj = proof_problems.block_kernel(np.random.default_rng(0))
    result = sm.solvers.pcg(obj)
    again, _ = saved(tmp_path, obj, result)
    assert same(again, obj)
    assert again.value(result.variables) == obj.value(result.variables)
    for given, dense in (
        ({"K": Own(lapsvm.K)}, {"K": lapsvm.K}),
        ({"L": Doubled(lapsvm.L)}, {"L": 2 * lapsvm.L.toarray()}),
    ):
        obj = replace(lapsvm, loss="squared_hinge", **given)
        again, _ = saved(tmp_path, obj, sm.solvers.pcg(obj))
        (name, matrix) = dense.popitem()
        np.testing.assert_array_equal(getattr(again, name), matrix)
        monkeypatch.setattr(packing, "LARGEST_DENSE", 11)
        with pytest.raises(InvalidInputError, match=f"objective/{name}=.*not of 12 samples; take a LowR"):
            sm.save_result(tmp_path / "no.npz", obj, sm.solvers.pcg(obj))
        monkeypatch.undo()
    assert packing.LARGEST_DENSE == 5000


def test_callable_kernels_are_saved_as_matrices(tmp_path):
    obj = proof_problems.block_kernel(np.random.default_rng(0))
    own = replace(obj, K=replace(obj.K, kernel=lambda X, Y: X @ Y.T + 1.0))
    again, _ = saved(tmp_path, own, sm.solvers.pcg(own))
    np.testing.assert_array_equal(again.K, np.asarray(own.K))


def test_what_a_grid_shares_is_saved_once(tmp_path, lapsvm):
    from specmargin.objectives.reduction import Applied

    obj = replace(lapsvm, L=Applied(lapsvm.L, lapsvm.K, lapsvm.L @ lapsvm.K))
    again, _ = saved(tmp_path, obj, sm.solvers.factorized(obj))
    assert same(again.L, lapsvm.L)


def test_classes_of_any_kind(tmp_path):
    K = np.eye(4)
    for y in (["cat", "dog", "cat", "dog"], [2.5, 3.5, 2.5, 3.5], [True, False, True, False]):
        obj = RMM(K, sm.encode_labels(y, unlabeled=None))
        again, _ = saved(tmp_path, obj, sm.solvers.relative_margin(obj))
        assert same(again.labels, obj.labels)
    objects = np.array(["cat", "dog"], dtype=object)
    obj = RMM(K, replace(obj.labels, classes=objects))
    again, _ = saved(tmp_path, obj, sm.solvers.relative_margin(obj))
    assert again.labels.classes.dtype == object
    assert again.labels.classes.tolist() == ["cat", "dog"]


def test_views_of_eigenvectors(tmp_path):
    """Products may depend on the order in memory: it is kept."""
    X = np.random.default_rng(1).standard_normal((30, 2))
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=4), q=9, normalized=False)
    y = np.full(30, -1)
    y[:8] = [0, 1] * 4
    for vectors in (np.asfortranarray(spectrum.eigenvectors), np.ascontiguousarray(spectrum.eigenvectors)):
        obj = SpectrumMargin(replace(spectrum, eigenvectors=vectors).truncate(6), sm.encode_labels(y), C=3.0)
        result = sm.solvers.spectrum_margin(obj)
        again, answer = saved(tmp_path, obj, result)
        assert same(again.decisions(answer.variables), obj.decisions(result.variables))
        assert same(sm.certify(again, answer), sm.certify(obj, result))


def test_changed_objectives(tmp_path, lapsvm):
    """`with_` does not go through the constructor, and shares what is known."""
    obj = lapsvm.with_(gamma_A=0.2, loss="squared_hinge")
    result = sm.solvers.factorized(obj)
    again, _ = saved(tmp_path, obj, result)
    assert (again.gamma_A, again.margin_loss) == (0.2, obj.margin_loss)
    assert again.is_reduced
    assert same(sm.certify(again, result), sm.certify(obj, result))
    plain = replace(obj)
    again, _ = saved(tmp_path, plain, result)
    assert not again.is_reduced
    assert same(sm.certify(again, result), sm.certify(plain, result))


@pytest.mark.parametrize("order", [True, False, sm.objectives.SpectrumCone(2)])
def test_blocks(tmp_path, order):
    """Blocks, cones and losses come back; there is no record of a proof, and the file and `verify` say so."""
    rng = np.random.default_rng(0)
    labels = sm.encode_labels([0, 1, 2, 0, 1, 2, 0, 1, 2, -1])
    blocks = [rng.normal(size=(10, 4)), rng.normal(size=(10, 2))]
    for obj, solver in (
        (sm.objectives.BlockMargin(blocks, labels, loss="squared", order=order), sm.solvers.block_margin),
        (sm.objectives.BlockAlignment(blocks, labels, order=order), sm.solvers.alignment),
    ):
        result = solver(obj)
        again, answer = saved(tmp_path, obj, result)
        assert same(again.decisions(answer.variables), obj.decisions(result.variables))
        assert same(sm.certify(again, answer), sm.certify(obj, result))
        sm.save_result(tmp_path / "blocks.npz", obj, result)
        with pytest.raises(InvalidInputError, match="it holds no proof: no record says yet"):
            read_record(tmp_path / "blocks.npz")
        with pytest.raises(TypeError, match=r"there is no proof of the objective Block\w+; call specmargin.certify"):
            sm.verify(obj, result)


def test_every_class_can_be_saved():
    """The list is that of the package: an objective or a loss that is added there must be known here."""
    names = {name for name in sm.objectives.__all__ if hasattr(getattr(sm.objectives, name), "certificate")}
    assert names - {"Objective"} == OBJECTIVES.keys()
    assert all(PACKING.known(name).__name__ == name for name in CLASSES)
    losses = {type(loss).__name__ for loss in (*sm.losses.LOSSES.values(), *sm.losses.UNLABELED_LOSSES.values())}
    assert losses | {"Ramp"} <= PACKED.keys()


# Results


def everything():
    """A result with a value in every field."""
    history = History()
    history.record(objective=3.0, gap=np.inf)
    history.record(objective=2.5, gap=np.nan)
    return SolveResult(
        problem="RMM",
        status=Status.MAX_ITER,
        variables={"gamma": np.array([-0.5, 0.5]), "b": 0.25, "y f >= 1 - xi": np.zeros((2, 0))},
        certificate=Certificate(1.0, -np.inf, 1e-9, 2e-9, 3e-9, "maximize", 1e-300),
        duals={"gamma": np.array([-0.5, 0.5]), "a/b|c": np.arange(3)},
        history=history,
        solver="CLARABEL",
        solver_version="0.11",
        message="größer",
        n_iter=2,
        seconds=0.1,
        attempts=("ECOS: failed", "CLARABEL: solved"),
        log=ProofLog(3, *np.split(np.arange(2), 2), np.zeros(1), *np.split(np.arange(4), 4)[:3], np.ones(1)),
        contradiction=Contradiction(("a", "b"), ("b",)),
    )


def test_every_field_of_a_result_is_kept(tmp_path):
    result = everything()
    assert all(getattr(result, field.name) not in ("", 0, (), None) for field in fields(result))
    _, answer = saved(tmp_path, RMM(np.eye(2), sm.encode_labels([0, 1])), result)
    assert same(answer, result)
    assert answer.status is Status.MAX_ITER
    assert type(answer.variables["b"]) is float
    assert type(answer.attempts) is tuple
    with pytest.raises(TypeError):
        answer.variables["b"] = 1.0


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED])
def test_results_without_an_answer(tmp_path, status):
    obj = RMM(np.eye(2), sm.encode_labels([0, 1]))
    result = SolveResult("RMM", status, {}, Certificate(np.nan, np.nan))
    _, answer = saved(tmp_path, obj, result)
    assert same(answer, result)
    with pytest.raises(InvalidInputError, match=rf"it.npz.* holds no proof: the result is {status.name} and"):
        read_record(tmp_path / "it.npz")


def test_logs_of_searches(tmp_path):
    obj = proof_problems.made("s3vm", 4).objective
    result = sm.optima.branch_and_bound(obj, log=True)
    assert result.log.n_leaves > 1
    _, answer = saved(tmp_path, obj, result)
    assert same(answer.log, result.log)
    _, arrays = read_archive(tmp_path / "it.npz", result_files.KIND, prefix="log/")
    assert len(arrays) == len(result.log.arrays)


def test_a_search_without_its_log_is_saved_without_a_proof(tmp_path):
    obj = proof_problems.made("s3vm", 4).objective
    result = sm.optima.branch_and_bound(obj)
    _, answer = saved(tmp_path, obj, result)
    assert same(answer, result)
    with pytest.raises(InvalidInputError, match=r"it\.npz.*the bound of branch_and_bound .* log=True"):
        read_record(tmp_path / "it.npz")
    with pytest.raises(InvalidInputError, match=r"the bound of branch_and_bound rests on a tree .* log=True"):
        sm.verify(obj, result)


@pytest.mark.parametrize("kind", ["lapsvm", "clustering", "s3vm", "s3vm_relaxation"])
def test_data_that_are_too_large_for_a_proof(tmp_path, monkeypatch, kind):
    problem = proof_problems.made(kind, 0)
    monkeypatch.setattr(saving, "LARGEST_PROOF", 4)
    result = next(iter(problem.solvers.values()))()
    _, answer = saved(tmp_path, problem.objective, result)
    assert same(answer, result)
    with pytest.raises(InvalidInputError, match=r"it.npz.* holds no proof: [0-9]+ numbers .* more than the 16 of"):
        read_record(tmp_path / "it.npz")


def test_large_kernels_are_not_written_out(tmp_path):
    """A low-rank kernel and a sparse graph of 20,000 samples stay what they are."""
    rng = np.random.default_rng(0)
    n = 20_000
    y = np.full(n, -1)
    y[:4] = [0, 1, 0, 1]
    L = sm.graphs.laplacian(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], format="csr"))
    K = LowRankKernel(rng.standard_normal((n, 3)))
    obj = LapSVM(K, L, sm.encode_labels(y), "squared_hinge", gamma_A=1.0, gamma_I=1.0)
    result = sm.solvers.pcg(obj, max_iter=20)
    again, answer = saved(tmp_path, obj, result)
    assert same(answer, result)
    assert same(again, obj)
    assert (tmp_path / "it.npz").stat().st_size < 3e6


def test_provenance(tmp_path, lapsvm, answer):
    saved(tmp_path, lapsvm, answer, note={"data": "moons", "seed": 3})
    found = read_provenance(tmp_path / "it.npz")
    assert found["note"] == {"data": "moons", "seed": 3}
    assert found["versions"]["specmargin"] == sm.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert set(found["versions"]) >= {"python", "scipy", "cvxpy"}
    assert found["utc"].endswith("+00:00")
    assert "platform" in found
    saved(tmp_path, lapsvm, answer)
    assert read_provenance(tmp_path / "it.npz")["note"] is None


# Files that do not fit


def edited(path, change):
    """Change the contents of a file, with a right checksum."""
    header, arrays = read_archive(path, result_files.KIND)
    change(header, arrays)
    write_archive(path, result_files.KIND, header, arrays)


@pytest.fixture
def file(tmp_path, lapsvm, answer):
    sm.save_result(tmp_path / "it.npz", lapsvm, answer)
    return tmp_path / "it.npz"


def test_sections_of_other_versions_are_refused(file):
    def other(header, _):
        header["objective"]["class"] = "LapSVM2"

    edited(file, other)
    with pytest.raises(InvalidInputError, match=r"it.npz.*'LapSVM2', which this version does not know; use a newer"):
        sm.load_result(file)
    with pytest.raises(InvalidInputError, match=r"it.npz.*'LapSVM2'"):
        read_record(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, _: header["objective"]["fields"].pop("labels"),
        lambda header, _: header["objective"]["fields"].update(unknown=1),
        lambda header, _: header["result"].update(status="fine"),
        lambda header, _: header["result"].update(unknown=1),
        lambda header, _: header.pop("result"),
        lambda _, arrays: arrays.pop("objective/K"),
        lambda _, arrays: arrays.update({"objective/K": -arrays["objective/K"]}),
        lambda header, _: header["objective"]["fields"].update(gamma_A=-1.0),
    ],
)
def test_contents_that_do_not_fit_are_refused(file, change):
    edited(file, change)
    with pytest.raises(InvalidInputError, match=r"it\.npz"):
        sm.load_result(file)


@pytest.mark.parametrize("read", [sm.load_result, read_record, read_provenance])
def test_bad_files(tmp_path, read):
    path = tmp_path / "it.npz"
    with pytest.raises(InvalidInputError, match="does not exist"):
        read(path)
    np.savez(path, x=np.eye(2))
    with pytest.raises(InvalidInputError, match="none of cvxproof"):
        read(path)
    write_archive(path, "estimator", {}, {})
    with pytest.raises(InvalidInputError, match="holds 'estimator', not 'result'"):
        read(path)
    write_archive(path, result_files.KIND, {}, {})
    with pytest.raises(InvalidInputError, match=r"it.npz.* has contents of another version"):
        read(path)


# Bad input


@dataclass(frozen=True)
class Bent(MarginLoss):
    """A loss of one's own."""

    name = "bent"
    lower, upper = 0.0, 2.0
    convex = True

    def value(self, t):
        return 2.0 * np.maximum(1.0 - t, 0.0)

    def gradient(self, t):
        return np.where(t < 1, -2.0, 0.0)

    def dual_value(self, beta):
        return np.where((beta >= 0) & (beta <= 2), beta, -np.inf)


def test_a_loss_of_ones_own_is_named(tmp_path, lapsvm, answer):
    with pytest.raises(InvalidTypeError, match=r"objective/loss=.*Bent, which a file cannot hold; take .*SquaredHinge"):
        sm.save_result(tmp_path / "it.npz", lapsvm.with_(loss=Bent()), answer)
    assert not (tmp_path / "it.npz").exists()


def test_what_is_no_objective_or_no_result(tmp_path, lapsvm, answer):
    class Mine(LapSVM):
        pass

    mine = Mine(**{field.name: getattr(lapsvm, field.name) for field in fields(lapsvm) if field.init})
    for bad in (None, np.eye(2), sm.LapSVM(), LapSVM, mine):
        with pytest.raises(InvalidTypeError, match=r"objective=.*pass one of specmargin.objectives: Alignment"):
            sm.save_result(tmp_path / "it.npz", bad, answer)
    for bad in (None, dict(answer.variables), answer.certificate):
        with pytest.raises(InvalidTypeError, match=r"result=.*pass what a solver returned"):
            sm.save_result(tmp_path / "it.npz", lapsvm, bad)
    with pytest.raises(InvalidTypeError, match="note=3 is no text"):
        sm.save_result(tmp_path / "it.npz", lapsvm, answer, note=3)
    with pytest.raises(InvalidTypeError, match=r"note.*JSON does not know"):
        sm.save_result(tmp_path / "it.npz", lapsvm, answer, note={"X": np.eye(2)})
    with pytest.raises(InvalidInputError, match="no folder that exists"):
        sm.save_result(tmp_path / "no" / "it.npz", lapsvm, answer)


def test_an_answer_to_another_problem_is_refused(tmp_path, lapsvm):
    obj = RMM(np.eye(2), sm.encode_labels([0, 1]))
    with pytest.raises(InvalidInputError):
        sm.save_result(tmp_path / "it.npz", lapsvm, sm.solvers.relative_margin(obj))
    assert not (tmp_path / "it.npz").exists()


# Packing


def test_packing_of_plain_values():
    given = {"a": (1, [2.5, None, "x", True]), "b c/d": {"e": np.arange(3)}, "np": np.float64(0.1), "n": np.int64(3)}
    arrays = {}
    assert same(unpack(pack(given, arrays, "at"), arrays), {**given, "np": 0.1, "n": 3})
    assert list(arrays) == ["at/b%20c%2Fd/e"]


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, np.array([[{}]], dtype=object), {1: 2}, np.longdouble(1)])
def test_what_cannot_be_packed(value):
    with pytest.raises(InvalidTypeError, match="at/x"):
        pack({"x": value}, {}, "at")


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_sparse_matrices_whose_entries_lie_anywhere(form):
    """SciPy's own check sees nothing of pointers that fall below zero, and its products would end the process."""
    arrays = {}
    packed = pack(getattr(sp, f"{form}_array")(np.eye(5)), arrays, "at")
    assert np.array_equal(unpack(packed, arrays).toarray(), np.eye(5))
    for wrong in (-arrays["at/indptr"], arrays["at/indptr"] + 1, arrays["at/indptr"][::-1].copy(), np.arange(3)):
        with pytest.raises(ValueError, match=r"do not follow|index pointer|indptr|should be|shape"):
            unpack(packed, {**arrays, "at/indptr": wrong})
    with pytest.raises(ValueError, match="must be"):
        unpack(packed, {**arrays, "at/indices": arrays["at/indices"] - 3})


def test_only_classes_of_the_list_are_built():
    with pytest.raises(InvalidInputError, match=r"'os.system'"):
        unpack({"class": "os.system", "fields": {"command": "true"}}, {})


def test_the_path_comes_first(tmp_path):
    with pytest.raises(InvalidTypeError, match=r"is no path; pass it first, save_result\(path, objective, result\)"):
        sm.save_result(RMM(np.eye(2), sm.encode_labels([0, 1])), None, tmp_path / "it.npz")
