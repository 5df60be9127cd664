"""A proof is one of its problem, its answer and its data: pairs that do not belong together, and hostile files."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("flint")

import proof_problems
import tampering
from full_size import shortened

import specmargin as sm
from cvxproof.archive import read_archive, write_archive
from cvxproof.proofs.record import Claim, ProofRecord
from cvxproof.result_files import KIND
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs import LaplacianOperator
from specmargin.losses import Hinge, SymmetricRamp, get_loss
from specmargin.objectives import RMM, S3VM, Alignment, Features, LapSVM
from specmargin.optima import S3VMRelaxation
from specmargin.optima.records import tree_record_of
from specmargin.proofs.files import Verdict, verify_file
from specmargin.proofs.translation import record_of
from specmargin.proofs.verification import verify, verify_record
from specmargin.results import SolveResult, Status
from specmargin.spectra import Spectrum

X = np.array([[-2.0], [2.0], [-1.0], [1.0], [0.3], [-0.2]])
LABELS = sm.encode_labels([0, 1, -1, -1, -1, -1])


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return tampering.run(shortened(22, 33), 0, tmp_path_factory.mktemp("tampering"))


@pytest.mark.slow
def test_all_certificates_are_proved_from_their_files(rows):
    saved = [row for row in rows if row["way"] == "saved"]
    assert [row for row in saved if row["outcome"] != "proved"] == []
    assert {row["file"].partition("-")[0] for row in saved} == set(proof_problems.KINDS)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("clustering", 5030),  # K is semidefinite but for rounding, and what K + 2sI proves is too little
        ("clustering", 5054),
        ("s3vm_tree", 5010),  # tangents of exp over an interval of 1e8
        ("s3vm_tree", 5029),
        ("s3vm_tree", 5079),
    ],
)
def test_certificates_that_were_refuted_once(kind, seed, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = verify_file(proof_problems.saved(kind, seed, tmp_path))
    assert verdict.outcome == "proved", verdict.line()


def test_a_verifier_that_believes_everything_would_be_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(tampering, "verify_file", lambda path: Verdict(str(path), "proved", "I believe you", "rmm"))
    rows = tampering.run(4, 0, tmp_path)
    assert sum(bool(row["false"]) for row in rows) >= 10
    monkeypatch.setattr(tampering, "verify_file", lambda path: Verdict(str(path), "refuted", "no", "rmm"))
    said = []
    tampering.run(2, 0, tmp_path, most=0, fuzz=0, say=said.append)
    assert sum(line.startswith("LOOK") for line in said) == 2


@pytest.mark.slow
def test_what_is_proved_of_changed_files_is_so(rows):
    assert [row for row in rows if row["false"]] == []
    outcomes = {row["outcome"] for row in rows if row["way"] == "changed"}
    assert outcomes >= {"proved", "refuted", "unreadable"}


@pytest.mark.slow
def test_hostile_files_are_refused_in_time(rows):
    assert [row for row in rows if row["outcome"] == "raised" or row["seconds"] > tampering.SECONDS] == []


def test_a_false_claim_would_be_noticed():
    obj = RMM(np.eye(3), sm.encode_labels([0, 1, 1]), C=2.0)
    result = sm.solvers.relative_margin(obj)
    assert tampering.falsehood(obj, result) == ""
    assert "is beyond the bound" in tampering.falsehood(obj.with_(C=0.1), result)
    doubled = {"gamma": 2 * result.variables["gamma"], "b": result.variables["b"]}
    assert "the objective is" in tampering.falsehood(obj, replace(result, variables=doubled))
    certificate = replace(result.certificate, dual_objective=result.certificate.dual_objective * 1.1)
    assert "is beyond the bound" in tampering.falsehood(obj, replace(result, certificate=certificate))
    wide = replace(result.certificate, rounding=1.0)
    assert "called optimal" in tampering.falsehood(obj, replace(result, certificate=wide))
    negated = replace(result, variables={**result.variables, "f": -result.variables["f"]})
    assert "its decisions" in tampering.falsehood(obj, negated)


def file_with(tmp_path, change):
    """A file of a LapSVM of which something is changed, with right checksums."""
    K, L = np.eye(4) + 0.5, np.diag([1.0, 2, 2, 1]) - np.eye(4, k=1) - np.eye(4, k=-1)
    obj = LapSVM(K, L, sm.encode_labels([0, 1, -1, -1]), "squared_hinge", gamma_A=0.5, gamma_I=0.25)
    sm.save_result(tmp_path / "it.npz", obj, sm.solvers.factorized(obj))
    header, arrays = read_archive(tmp_path / "it.npz", KIND)
    change(header, arrays)
    write_archive(tmp_path / "it.npz", KIND, header, arrays)
    return verify_file(tmp_path / "it.npz")


def of_result(name, new):
    return lambda header, _: header["result"]["certificate"]["items"].update({name: new})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _, arrays: arrays.update({"result/variables/alpha": -arrays["result/variables/alpha"]}), "unreadable"),
        (lambda header, _: header["objective"]["fields"].update(gamma_A=1e-6), "refuted"),
        (lambda header, _: header["objective"]["fields"].update(fit_intercept=False), "refuted"),
        (lambda header, _: header["objective"]["fields"]["loss"].update({"class": "Hinge"}), "refuted"),
        (lambda _, arrays: arrays.update({"objective/labels/sign": -arrays["objective/labels/sign"]}), "refuted"),
        (of_result("primal_objective", 0.1), "refuted"),
        (of_result("rounding", 1.0), "refuted"),
        (of_result("dual_objective", 9.0), "refuted"),
        (of_result("sense", "maximize"), "refuted"),
        (lambda _, arrays: arrays.update({"result/variables/f": -arrays["result/variables/f"]}), "unreadable"),
        (lambda header, _: header["objective"]["fields"]["L"].update(array="objective/nothing"), "unreadable"),
        (lambda header, _: header["result"].update(message="as it was"), "proved"),
    ],
)
def test_members_of_a_file(tmp_path, change, said):
    assert file_with(tmp_path, lambda header, arrays: None).outcome == "proved"
    verdict = file_with(tmp_path, change)
    assert verdict.outcome == said, verdict.line()


def test_a_free_intercept_is_not_a_penalised_one():
    free, regularized = (S3VM(X, LABELS, "hinge", C=1.0, intercept=kind) for kind in ("free", "regularized"))
    tree = sm.optima.branch_and_bound(regularized, log=True)
    assert verify(regularized, tree)
    bounded = sm.optima.with_bound(regularized, sm.solvers.label_switching(regularized))
    assert verify(regularized, bounded)
    assert "a weight has the penalty 0" in verify(free, tree).message
    with pytest.raises(InvalidInputError, match="the bound of a free intercept is not written down"):
        verify(free, bounded)
    record = record_of(regularized, bounded)
    unpenalised = {**record.arrays, "P": np.array([1.0, 0.0])}
    assert "a weight has the penalty 0" in verify_record(replace(record, arrays=unpenalised)).message
    # What claims no bound is of either, and its objective is checked.
    local = sm.solvers.label_switching(free)
    assert verify(free, local).message == "nothing to verify: stationary"
    wrong = replace(local, certificate=replace(local.certificate, primal_objective=0.1))
    assert verify(free, wrong).message.startswith("the objective is")


def changes_of(objective):
    """The objective with each of its fields changed, one at a time."""
    for field in dataclasses.fields(objective):
        value = getattr(objective, field.name)
        if not field.init or value is None:
            continue
        if isinstance(value, bool):
            new = not value
        elif isinstance(value, float | int):
            new = 1.25 * value if np.isfinite(value) else 1.5
        elif isinstance(value, np.ndarray):
            new = 1.25 * value
        elif isinstance(value, Spectrum):
            new = replace(value, eigenvectors=1.25 * value.eigenvectors)
        elif isinstance(value, LaplacianOperator):
            new = replace(value, matrix=2 * value.matrix)
        elif isinstance(value, sm.labels.Labels):
            new = replace(value, sign=np.concatenate([-value.sign[:1], value.sign[1:]]))
        elif isinstance(value, Features):
            new = replace(value, X=1.25 * value.X)
            yield f"{field.name}.offset", replace(objective, **{field.name: replace(value, offset=value.offset + 0.25)})
        elif field.name in ("loss", "unlabeled_loss"):
            names = sm.losses.LOSSES if field.name == "loss" else sm.losses.UNLABELED_LOSSES
            new = next(one for one in names.values() if type(one) is not type(value))
        else:
            continue
        try:
            yield field.name, replace(objective, **{field.name: new})
        except (ValueError, TypeError):
            continue


@pytest.mark.parametrize("kind", list(proof_problems.KINDS)[:-1])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_whatever_the_value_depends_on_is_in_the_record(kind, seed):
    """A change of a field that changes the value is refuted, or refused by name."""
    problem = proof_problems.made(kind, seed)
    objective = problem.objective
    result = problem.solvers[min(problem.solvers, key=lambda name: name.startswith(("cvxpy", "s3vm_bound")))]()
    value = objective.value(result.variables)
    bare = replace(result, variables={name: result.variables[name] for name in objective.variables})
    for name, changed in changes_of(objective):
        with np.errstate(all="ignore"):
            there = changed.value(result.variables)
        if np.isfinite(there) and abs(there - value) > 1e-3 * abs(value) + 1e-9 * max(1.0, abs(value)):
            try:
                assert not verify(changed, bare), name
            except InvalidTypeError as error:
                assert "proof record" in str(error)  # noqa: PT017 - refused by name


class Doubled:
    """An L of which nothing is known but its products, with a name that says nothing of them."""

    def __init__(self, L):
        self.L, self.shape = L, L.shape

    def __matmul__(self, x):
        return 2.0 * (self.L @ x)


class Tilted(Hinge):
    """A loss of one's own by the name of another."""

    def value(self, t):
        return 0.5 * super().value(t)


class Other(RMM):
    """A problem of one's own."""

    def value(self, variables):
        return 0.0


def test_what_is_not_what_it_is_called():
    K, L = np.eye(4) + 0.5, np.diag([1.0, 2, 2, 1]) - np.eye(4, k=1) - np.eye(4, k=-1)
    labels = sm.encode_labels([0, 1, -1, -1])
    obj = LapSVM(K, Doubled(L), labels, "squared_hinge", gamma_A=0.5, gamma_I=0.25)
    result = sm.solvers.pcg(obj)
    assert np.array_equal(record_of(obj, result).arrays["L"], 2 * L)
    assert verify(obj, result)
    with pytest.raises(InvalidTypeError, match=r"the loss Tilted\(\) of the class Tilted has no proof record"):
        verify(LapSVM(K, L, labels, Tilted(), gamma_A=0.5), result)
    mine = Other(np.eye(2), sm.encode_labels([0, 1]))
    with pytest.raises(InvalidTypeError, match="there is no proof of the objective Other"):
        verify(mine, sm.solvers.relative_margin(RMM(np.eye(2), sm.encode_labels([0, 1]))))


def test_what_is_told_of_an_answer_must_be_of_it():
    obj = S3VM(X, LABELS, "hinge", C=1.0, balance=0.0)
    result = sm.optima.with_bound(obj, sm.solvers.label_switching(obj))
    for name in ("f", "labels", "v", "b"):
        wrong = {**result.variables, name: np.asarray(result.variables[name]) * -1 - (name == "b")}
        with pytest.raises(InvalidInputError, match=f"{name} of the result is not that of its answer"):
            verify(obj, replace(result, variables=wrong))
    proved = {**result.variables, "proved": np.ones(4)}
    with pytest.raises(InvalidInputError, match="labels that all optima share rest on a log that was not kept"):
        verify(obj, replace(result, variables=proved))


def test_a_relaxation_does_not_speak_of_the_global_minimum():
    obj = S3VM(X, LABELS, "hinge", C=1.0, balance=0.0)
    relaxed = verify(obj, sm.optima.s3vm_bound(obj))
    assert "to the optimum of the semidefinite relaxation: the minimum of J is at least" in relaxed.message
    assert "global" not in relaxed.message
    local = verify(obj, sm.optima.with_bound(obj, sm.solvers.label_switching(obj)))
    assert local.message.endswith("to the global minimum of J")
    decided = S3VMRelaxation(obj, np.array([1.0, -1.0, 0.0, 0.0]))
    said = verify(decided, sm.solve(sm.optima.s3vm_relaxation(decided)))
    assert "with 2 of the labels as this record decides them" in said.message
    assert "with others nothing is proved" in said.message


def test_a_gap_that_is_large_is_said_as_a_share():
    obj = S3VM(X, LABELS, "hinge", C=1.0, balance=0.0)
    result = sm.optima.with_bound(obj, sm.solvers.label_switching(obj))
    loose = replace(result.certificate, dual_objective=0.2 * result.certificate.primal_objective)
    claimed = replace(result, certificate=loose, status=Status.UNPROVED)
    record = record_of(obj, claimed)
    weak = replace(record, arrays={**record.arrays, "theta": 0.1 * record.arrays["theta"]})
    said = verify_record(replace(weak, claim=replace(weak.claim, dual=0.0)))
    assert said
    assert " % of the objective, to the global minimum" in said.message
    assert verify_record(replace(record, claim=replace(record.claim, status="optimal"))).message.startswith(
        "its status"
    )


def test_negative_eigenvalues_are_charged():
    """K is semidefinite but for -8e-15, where the coefficients are 1e7: what that costs is 0.4 of 1.5."""
    e = 8e-15
    v = np.array([1.0, -1.0]) / np.sqrt(2)
    K = np.block([[np.eye(2), np.zeros((2, 2))], [np.zeros((2, 2)), np.full((2, 2), 0.5)]])
    K[2:, 2:] -= e * np.outer(v, v)
    K = (K + K.T) / 2
    labels = sm.encode_labels([0, 1, -1, -1])
    obj = LapSVM(K, None, labels, "hinge", gamma_A=0.5)
    a = sm.solvers.factorized(obj).variables
    for size, holds in ((1e3, True), (1e7, False)):
        answer = {"alpha": a["alpha"] + size * np.array([0, 0, *v]), "b": a["b"]}
        certificate = obj.certificate(answer)
        result = SolveResult("LapSVM", certificate.status(1e-6), answer, certificate)
        said = verify(obj, result)
        assert bool(said) is holds, said
        least = obj.gamma_A * 2 * e * size**2  # of K + 2e I, whatever else K' is
        assert said.charge > 0.9 * least
        assert "is the charge for K + " in (said.assumptions[0] if holds else said.message)
        assert said or said.message.startswith("unproved: ")


def test_losses_of_unlabelled_samples():
    for wrong in (get_loss("hinge"), get_loss("squared"), sm.losses.Ramp(-0.5), Hinge, 3):
        with pytest.raises(InvalidTypeError, match="loss="):
            S3VM(X, LABELS, "hinge", unlabeled_loss=wrong)
    obj = S3VM(X, LABELS, "hinge", "symmetric_ramp", C=1.0, balance=0.0)
    result = sm.optima.branch_and_bound(obj, log=True)
    assert verify(obj, result)  # at s = 0 it is the symmetric hinge
    assert verify(obj, sm.optima.with_bound(obj, sm.solvers.label_switching(obj)))
    ramp = S3VM(X, LABELS, "hinge", SymmetricRamp(-0.5), C=1.0, balance=0.0)
    assert verify(ramp, ramp.result(result.variables["w"], solver="none")).message == "nothing to verify: stationary"
    with pytest.raises(InvalidInputError, match=r"(f|labels) of the result is not"):
        verify(ramp, replace(result, variables={**result.variables, "f": -result.variables["f"]}, log=None, solver=""))
    # A bound of the hinge is none of the lower ramp.
    claimed = ramp.prove(result.variables["w"], result.certificate.dual_objective)
    record = record_of(obj, sm.optima.with_bound(obj, sm.solvers.label_switching(obj)))
    numbers = {**record.numbers, "unlabeled_loss": "symmetric_ramp", "unlabeled_parameter": 0.5}
    claim = Claim(claimed.primal_objective, claimed.dual_objective, claimed.rounding)
    arrays = {**record.arrays, "w": result.variables["w"]}
    assert "the multipliers prove the bound" in verify_record(ProofRecord("s3vm", numbers, arrays, claim)).message
    for name in ("hinge", "squared", "anything", "", 3):
        refused = verify_record(replace(record, numbers={**record.numbers, "unlabeled_loss": name}))
        assert not refused
        assert f"unlabeled_loss={name!r} is no" in refused.message
    tree = tree_record_of(obj, result)
    for name in ("hinge", "symmetric_ramp"):
        assert not verify_record(replace(tree, numbers={**tree.numbers, "unlabeled_loss": name}))


def test_features_and_their_intercept_agree():
    for kind, penalty in (("regularized", 1.0), ("free", 0.0), ("balance", None)):
        features = Features.of(X, kind, rows=LABELS.unlabeled, balance=0.25)
        assert features.penalty == penalty
        for said in ("regularized", "free", "balance"):
            obj = S3VM(features, LABELS, "hinge", intercept=said, balance=-0.5)
            assert obj.intercept == kind
            assert obj.balance == (0.25 if kind == "balance" else -0.5)
    with pytest.raises(InvalidInputError, match="unbounded"):
        S3VMRelaxation(S3VM(replace(features, mu=None, penalty=0.5), LABELS, "hinge"))
    both = S3VM(Features(X, mu=np.ones(1), penalty=1.0), LABELS, "hinge")
    with pytest.raises(InvalidInputError, match="a mean and an intercept of their own"):
        verify(both, SolveResult("S3VM", Status.STATIONARY, {"w": np.ones(2)}, both.prove(np.ones(2))))
    residue = Features(sp.csr_array(X), mu=np.zeros(1), residue=np.ones(1))
    obj = S3VM(residue, LABELS, "hinge")
    with pytest.raises(InvalidInputError, match="residue of their mean"):
        verify(obj, SolveResult("S3VM", Status.STATIONARY, {"w": np.ones(1)}, obj.prove(np.ones(1))))


def test_powers_of_a_graph_are_bounded():
    for power in (0, -1, 101, 10**6, 1.0, True):
        with pytest.raises(InvalidInputError, match="power="):
            LaplacianOperator(sp.csr_array(np.eye(2)), power, False, np.ones(2))
    K = np.eye(2)
    obj = LapSVM(K, sm.graphs.laplacian([[0, 1], [1, 0]], power=2), sm.encode_labels([0, 1]), gamma_A=1.0, gamma_I=1.0)
    record = record_of(obj, sm.solvers.factorized(obj))
    assert verify_record(record)
    assert verify_record(replace(record, numbers={**record.numbers, "power": 10**6})).message.startswith(
        "power=1000000"
    )


def test_alignments_have_no_negative_rounding():
    count = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, q = int(rng.integers(6, 14)), int(rng.integers(2, 6))
        U = np.linalg.qr(rng.standard_normal((n, q)))[0] * 10.0 ** rng.integers(-8, 9)
        y = np.full(n, -1)
        at = rng.permutation(n)[: int(rng.integers(2, n + 1))]
        y[at] = rng.integers(0, 2, len(at))
        y[at[:2]] = 0, 1
        small = np.flatnonzero(rng.random(q) < 0.4)
        U[np.ix_(y >= 0, small)] *= 10.0 ** -rng.uniform(8, 25, len(small))
        try:
            obj = Alignment(Spectrum(np.sort(rng.random(q)), U, 1), sm.encode_labels(y), order=bool(seed % 3))
        except ValueError:  # no eigenvector correlates with the labels
            continue
        for delta in (rng.exponential(size=q), np.eye(q)[0]):
            certificate = obj.certificate({"delta": delta})
            assert certificate.rounding >= 0, (seed, certificate)
            result = SolveResult("KTA", certificate.status(1e-6), {"delta": delta}, certificate)
            said = verify(obj, result)
            assert said or said.message.startswith("nothing to verify"), (seed, said)
            count += any("are rounding, and do not count" in note for note in said.assumptions)
    assert count > 2  # and it is said where kernels were left out


def test_hostile_records_are_refused():
    """Of every kind, with a number or an array that is none: an answer, not an exception."""
    kinds = ("lapsvm", "rmm", "spectrum_margin", "alignment", "s3vm", "s3vm_tree", "clustering", "graph_transducer")
    for kind in kinds:
        problem = proof_problems.made(kind, 1)
        result = problem.solvers[min(problem.solvers, key=lambda name: name.startswith("cvxpy"))]()
        make = tree_record_of if result.log is not None else record_of
        record = make(problem.objective, result)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for k, name in enumerate(record.numbers):  # of a kind every fourth value in turn
                for bad in tampering.WILD[k % 4 :: 4]:
                    verify_record(replace(record, numbers={**record.numbers, name: bad}))
            for k, (name, array) in enumerate(record.arrays.items()):
                for way in tampering.SHAPES[k % 3 :: 3]:
                    bad = tampering.reshaped(way, array)
                    if bad is not None:
                        verify_record(replace(record, arrays={**record.arrays, name: bad}))
