"""What objectives refuse, and in which words: what tests/contract does not reach, one row each.

There every argument of every public class meets numbers out of range, words, NaN and matrices of the wrong shape.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from block_problems import blocks_of, labels_of
from s3vm_problems import public_solver

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.objectives import (
    RMM,
    S3VM,
    Alignment,
    BlockAlignment,
    BlockCone,
    BlockMargin,
    Features,
    FixedSpectrum,
    LapRLS,
    LapSVM,
    MonotoneCone,
    RegularizedClustering,
    RelativeMargin,
    SpectralGraphTransducer,
    SpectralRidge,
    SpectrumCone,
    SpectrumMargin,
    WeightedSVM,
)
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.held_out.calibration import calibrated_scale
from specmargin.objectives.held_out.conformal import ConformalRidge
from specmargin.objectives.held_out.leave_one_out import RidgePath
from specmargin.objectives.held_out.refitting import refitted
from specmargin.objectives.manifold_weights import weights_of_paper
from specmargin.objectives.spectral_ridge import power_spectrum

N = 6
EYE, ONES, NAN, INF = np.eye(N), np.ones(N), np.nan, np.inf
X = np.arange(12.0).reshape(N, 2)
LABELS = sm.encode_labels([0, 1, -1, -1, -1, -1])
WEIGHTED = LABELS.weighted([1.0, 2.0])
PATH = np.diag(np.ones(N - 1), 1) + np.diag(np.ones(N - 1), -1)
SPECTRUM = sm.spectra.Spectrum(np.arange(4.0), np.linalg.qr(np.vander(np.arange(6.0), 4))[0], 1)
SHORT = sm.spectra.Spectrum(np.arange(3.0), np.linalg.qr(np.vander(np.arange(5.0), 3))[0], 1)
TWO, WILD = np.array([1.0, -1.0]), np.array([NAN, 1.0])
RIDGE, FOLDS = ConformalRidge(np.eye(2), TWO), [loo.Fold(np.arange(2), np.arange(2))]
ONE_CLASS, BLOCK_LABELS = replace(LABELS, sign=np.ones(2)), labels_of(2)
SEARCHES = ("annealing", "gradient", "label_switching", "multi_switch", "one_flip", "probe", "quasi_newton")


def laprls(**changes):
    return LapRLS(**{"K": EYE, "L": EYE, "labeled": [0, 1], "targets": [1.0, -2.0], **changes})


def spectrum(**changes):
    return SpectrumMargin(**{"spectrum": SPECTRUM, "labels": LABELS, **changes})


def transducer(**changes):
    return SpectralGraphTransducer(**{"spectrum": SPECTRUM, "labels": LABELS, "C": 1.0, **changes})


def margin(**changes):
    return BlockMargin(**{"blocks": blocks_of(BLOCK_LABELS, [3, 4]), "labels": BLOCK_LABELS, **changes})


def aligned(**changes):
    return BlockAlignment(**{"blocks": blocks_of(BLOCK_LABELS, [3, 4]), "labels": BLOCK_LABELS, **changes})


def weighted(**changes):
    return WeightedSVM(**{"features": Features(X), "plus": ONES, "minus": ONES, **changes})


def of(given=X, intercept="free", rows=(0, 1), balance=0.0):
    return Features.of(given, intercept, rows=np.array(rows, dtype=int), balance=balance)


def s3vm(on, **changes):
    return S3VM(X, LABELS, **{"C_star": 0.5, "balance": 0.2, "intercept": "none", "balance_on": on, **changes})


def paper(**changes):
    return weights_of_paper(**{"gamma_A": 1.0, "gamma_I": 1.0, "l": 2, "u": 3, "form": "means", **changes})


def clustering(K):
    return RegularizedClustering(np.asarray(K), np.zeros(np.shape(K)), 1.0)


ROWS = [
    (lambda: LapSVM(EYE, EYE, LABELS, sm.losses.SymmetricRamp()), "is not declared convex.*'hinge'.*MarginLoss"),
    (lambda: LapSVM(EYE, None, LABELS, gamma_I=2.0), r"gamma_I=2\.0 weighs a Laplacian, but L is None"),
    (lambda: LapSVM(np.eye(5), None, LABELS), r"K has the shape \(5, 5\), but there are 6 samples"),
    (lambda: LapSVM(EYE, PATH, LABELS, gamma_I=1.0), r"pass graphs\.laplacian"),
    (lambda: LapSVM(EYE, sp.csr_array(PATH), LABELS, gamma_I=1.0), r"pass graphs\.laplacian"),
    *(
        (lambda at=at: laprls(labeled=at), "labeled")
        for at in ([[0, 1]], [0, NAN], np.array([-1, 2]), np.zeros(0, int))
    ),
    (lambda: laprls(targets=[[1.0, 2.0]]), "targets has the shape .*one number per labelled sample"),
    *((lambda c=c: laprls(weights=c), "weights") for c in ([[1.0, 2.0]], [1.0, 0.0], [1.0, -1.0], [1.0, NAN], ONES)),
    (lambda: sm.solvers.newton(laprls()), InvalidTypeError, "numbers for targets"),
    (lambda: sm.solvers.pcg(laprls()), InvalidTypeError, "numbers for targets"),
    (lambda: RMM(np.eye(5), LABELS), r"K has the shape \(5, 5\).*2 labelled or of all 6"),
    (lambda: RelativeMargin(np.ones((2, 2))), r"C has the shape \(2, 2\); pass one weight of the loss"),
    (lambda: RelativeMargin(np.array([1.0, NAN])), r"C\[1\] is nan; pass one weight of the loss"),
    (lambda: RelativeMargin(1.0, -INF), "B=-inf must be >= 0"),
    *(
        (lambda w=w: S3VM(X, LABELS).prove(w), r"must be finite and of the shape")
        for w in (np.ones(4), np.full(2, NAN))
    ),
    (lambda: spectrum(spectrum=[SPECTRUM, 1]), InvalidTypeError, "spectrum=.* is no spectrum, nor a list of them"),
    (lambda: spectrum(spectrum=[SPECTRUM, SHORT]), r"these have \[6, 5\] nodes"),
    (lambda: spectrum(spectrum=[]), r"these have \[\] nodes"),
    (lambda: spectrum(eps=0.2), r"eps=0\.2 is too large for 4 eigenvectors.*below 1\.4e-01"),
    (lambda: spectrum(delta=np.ones(4), eps=1e-3), "nothing to keep"),
    (lambda: Alignment(SPECTRUM, WEIGHTED), "labels have weights, .* pass them without"),
    (lambda: transducer(C=np.nextafter(1e100, INF)), "C=.* must be a positive number"),
    (lambda: transducer(labels=ONE_CLASS), "of one class"),
    (lambda: transducer(spectrum=SPECTRUM.truncate(1)), "q=1 eigenvectors leaves none.* q >= 2"),
    (lambda: transducer(Q=[1.0, 3.0, 2.0]), r"Q\[1\] is 3.0, but Q\[2\] is 2.0"),
    (lambda: transducer(Q=[1.0, 2.0, INF]), r"Q\[2\] is inf"),
    *((lambda w=w: transducer().prove(w, 0.0), "finite nonzero vector") for w in (np.zeros(3), ONES, np.full(3, NAN))),
    (lambda: transducer().prove(np.ones(3), NAN), "lam=nan must be finite"),
    *((lambda c=c: weighted(linear=c), "linear") for c in ("x", np.full(N, NAN), np.full(N, INF))),
    (lambda: weighted(minus=-ONES), r"minus\[0\] is -1"),
    (lambda: FixedSpectrum(np.zeros(2)), "finite weights >= 0"),
    (lambda: FixedSpectrum(np.array([[1.0]])), "finite weights >= 0"),
    (lambda: BlockCone(MonotoneCone(3), [1, 2, 0]), "at least one, for each of the 3 blocks"),
    (lambda: BlockCone(MonotoneCone(3), [[1], [2], [3]]), "at least one, for each of the 3 blocks"),
    (lambda: SpectralRidge(SPECTRUM, LABELS, np.zeros(4)), "delta holds 4 zeros"),
    (lambda: SpectralRidge(SPECTRUM, LABELS, np.full(4, INF)), r"delta\[0\] is inf"),
    (lambda: SpectralRidge(SPECTRUM, LABELS, np.ones(4)).leave_one_out([1.0, 0.0]), "must be a positive number"),
    *((lambda power=power: power_spectrum(SPECTRUM, power), "power=") for power in (-1.0, NAN, INF)),
    (lambda: power_spectrum(SPECTRUM.truncate(1)), "q=1 leaves nothing"),
    (lambda: clustering(np.zeros((2, 2))), "K is zero"),
    (lambda: clustering([[1.0, 2.0], [2.0, 1.0]]).basis, "no kernel: it has the eigenvalue -1, with 3"),
    (lambda: clustering(EYE).feasible(np.column_stack([ONES * X[:, 0], 3.0 * X[:, 0]])), "columns of K alpha are dep"),
    (lambda: clustering(EYE).certificate({"alpha": X @ [[1.0, 0, 1], [0, 1.0, -0.7]]}), "dependent"),
    (lambda: clustering(EYE).feasible(ONES), "proportional to K1"),
    (lambda: of(sp.csr_array(np.where(np.arange(12).reshape(N, 2) == 3, NAN, X))), r"X\[1, 1\] is nan.*impute"),
    (lambda: of(np.ones((0, 2)), rows=()), r"X has the shape \(0, 2\); pass .*features"),
    (lambda: of(intercept="balance", balance=1.1), r"must be in \[-1, 1\]: it is the mean of the labels"),
    (lambda: of(intercept="balance", rows=()), "needs unlabelled samples to balance; pass 'free'"),
    (lambda: margin(blocks=[np.ones((30, 0))]), "are no feature maps"),
    (lambda: margin(blocks=[np.ones((9, 2))]), "labels speak of 30 samples"),
    (lambda: margin(B=2.0, loss="squared"), "leave it at inf"),
    (lambda: margin(eps=0.6), "eps=0.6 is too large for 2 blocks"),
    (lambda: margin(delta=np.ones(2), eps=1e-3), "nothing to keep"),
    (lambda: margin(order=SpectrumCone(5)), "a family of 5 weights, but there are 2 blocks"),
    (lambda: aligned(blocks=[np.ones((30, 2))]), "none of the 1 blocks correlates with the 20 labels"),
    (lambda: aligned(labels=labels_of(2, weights="some")), "labels have weights"),
    (lambda: aligned(order=SpectrumCone(5)), "a family of 5 weights"),
    *(
        (lambda r=r: s3vm("labels", balance=r), r"must be in \[-1, 1\]: no number of 4 labels")
        for r in (NAN, 1.5, -2.0)
    ),
    *((lambda r=r: s3vm("slack", balance=r), "must be a finite number") for r in (NAN, INF)),
    *(
        (lambda on=on, more=more: s3vm(on, **more), "is for squared hinges")
        for on in ("labels", "slack")
        for more in ({"loss": "hinge"}, {"unlabeled_loss": "exp"}, {"C_star": 0.0})
    ),
    *((lambda b=b: s3vm("labels", intercept=b), "goes with intercept='none' or 'reg") for b in ("balance", "free")),
    *((lambda b=b: s3vm("slack", intercept=b), "goes with intercept") for b in ("balance", "free", "regularized")),
    (
        lambda: S3VM(EYE[:2], sm.encode_labels([0, 1]), intercept="none", balance_on="labels"),
        "and 0 unlabelled samples",
    ),
    (lambda: s3vm("labels").with_(balance=0.0), "shape the features"),
    (lambda: s3vm("both"), "balance_on"),
    *(
        (lambda on=on, name=name: public_solver(name)(s3vm(on)), rf"balance_on='{on}'.*branch_and_bound|does not take")
        for on, names in (("labels", (*SEARCHES, "cccp")), ("slack", (*SEARCHES, "s3vm_bound")))
        for name in names
    ),
    (lambda: calibrated_scale(np.zeros(3), np.zeros(2)), "one sign per decision"),
    (lambda: ConformalRidge(np.eye(2), np.ones(3)), "shape"),
    (lambda: ConformalRidge(np.zeros((0, 0)), np.ones(0)), "l >= 1"),
    (lambda: ConformalRidge(np.diag(WILD), TWO), r"^[^.;:]*\bG\b"),
    (lambda: ConformalRidge(np.eye(2), WILD), "^targets"),
    (lambda: ConformalRidge(np.eye(2), TWO, 0.0), "penalty=0.0"),
    (lambda: RIDGE.p_values(np.zeros((1, 3)), np.ones(1)), r"cross and diagonal have the shapes \(1, 3\)"),
    (lambda: RIDGE.p_values(np.array([WILD]), np.ones(1)), r"^[^.;:]*\bcross\b"),
    (lambda: RIDGE.p_values(np.ones((1, 2)), WILD[:1]), r"^[^.;:]*\bdiagonal\b"),
    (lambda: RIDGE.intervals(np.ones((1, 2)), np.ones(1), "high"), r"^[^.;:]*\blevel\b"),
    (lambda: RidgePath(np.eye(3), TWO), r"G has the shape \(3, 3\)"),
    (lambda: RidgePath(np.diag(WILD), TWO), r"G\[0, 0\] is nan"),
    (lambda: RidgePath(np.eye(1), TWO[:1]), "fewer than 2 labelled"),
    *((lambda g=g: RidgePath(np.eye(2), TWO).leave_one_out([g]), "gamma_A=.* positive") for g in (0.0, -1.0, NAN, INF)),
    (lambda: RidgePath(np.eye(2), TWO).held_out([1.0], FOLDS), "leaves out all 2"),
    (lambda: refitted(np.eye(2), TWO, FOLDS, lambda G, sign: (np.ones(len(sign)), 0.0)), "leaves out all 2"),
    *(
        (lambda c=c: RidgePath(np.eye(2), TWO, True, c), "weights")
        for c in (np.ones(3), np.array([1.0, 0.0]), TWO, WILD)
    ),
    *((lambda value=value: paper(gamma_A=value), "gamma_A=") for value in (0.0, -1.0, NAN, "auto")),
    *((lambda value=value: paper(gamma_I=value), "gamma_I=") for value in (-1.0, INF)),
    *((lambda value=value: paper(l=value), r"\bl=") for value in (0, 1.5)),
    (lambda: paper(u=-1), r"\bu="),
    *((lambda value=value: paper(form=value), "form=") for value in ("mean", None, 3)),
]


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_what_is_refused_is_named(row):
    call, *kind, words = row
    with pytest.raises((kind or [InvalidInputError])[0], match=words):
        call()


@pytest.mark.parametrize(
    ("make", "numbers"),
    [
        (lambda: LapSVM(EYE, EYE, LABELS), ("gamma_A", "gamma_I")),
        (laprls, ("gamma_A", "gamma_I")),
        (lambda: RMM(np.eye(2), LABELS), ("C", "B")),
        (lambda: S3VM(X, LABELS), ("C", "C_star")),
        (spectrum, ("C", "B", "eps")),
        (lambda: SpectralRidge(SPECTRUM, LABELS, np.ones(4)), ("penalty",)),
        (lambda: RegularizedClustering(EYE, EYE, gamma=0.1), ("gamma",)),
    ],
)
def test_a_change_of_a_number_is_checked_as_at_first(make, numbers):
    for name in numbers:
        with pytest.raises(InvalidTypeError, match=f"{name}='1'"):
            make().with_(**{name: "1"})


@pytest.mark.parametrize(
    "make", [lambda B: RelativeMargin(1.0, B), lambda B: spectrum(B=B), lambda B: RMM(EYE, LABELS, B=B)]
)
def test_bounds_below_one_are_warned_about(make, recwarn):
    for B in (0.5, 0.99):
        with pytest.warns(UserWarning, match=f"B={B!r} is below 1"):
            make(B)
    recwarn.clear()
    make(1.0)
    assert not recwarn.list


def test_what_is_just_inside_is_taken():
    assert spectrum(eps=0.14).rho == pytest.approx(0.02)
    assert spectrum(eps=0.03, order=False).rho == pytest.approx(0.88)
    least = transducer(spectrum=SPECTRUM.truncate(2), C=1e100, Q=[1.0])
    assert (least.k, least.C) == (1, 1e100)
    assert RIDGE.p_values(np.zeros((0, 2)), np.ones(0)).shape == (0, 2)
