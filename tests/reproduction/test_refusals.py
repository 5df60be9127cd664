"""What all of reproduction refuses: the call, the class of the error, and its words."""

import math
from functools import partial

import numpy as np
import pytest

from reproduction import data
from reproduction.data import conversions, text
from reproduction.engine.published import published, published_parameters, published_sizes
from reproduction.engine.records import Cell
from reproduction.engine.significance import paired_p_value, significance_marks
from reproduction.engine.splits import Split, random_splits
from reproduction.papers import claims, run_table, spectral_filters
from reproduction.papers._protocols import gieseke_fits, melacci_belkin_fits
from reproduction.papers._protocols import shivaswamy_jebara_fits as spectra
from reproduction.papers.shivaswamy_jebara_2010 import Plan
from reproduction.tasks import Samples
from specmargin.exceptions import InvalidInputError

Y = np.repeat([-1, 1, 7], [60, 30, 3])
NO_COMPRESS, NO_TASK, ONE_EACH = "not a file of compress", "there is no task", "one finite error per split"


def split(*parts):
    return partial(Split, *(np.array(part, dtype=int) for part in parts))


def dealt(y, n_labeled, n_validation):
    return melacci_belkin_fits.FourFolds(n_labeled, n_validation)(Samples(None, np.asarray(y), None, None))


def landmarks_without_kernel():
    how = gieseke_fits.Partition(10, 0, landmarks=3, n=60)
    gieseke_fits.problem("g2c", next(iter(gieseke_fits.partitions("g2c", how))), how)


def drawn(n_labeled, stratify, **options):
    return partial(random_splits, Y, n_labeled, 1, 0, stratify=stratify, **options)


REFUSED = [
    (partial(conversions.read_idx, b"\x00\x00\x09\x01\x00\x00\x00\x01a"), ValueError, "unsigned bytes"),
    (partial(conversions.read_idx, b"\x00\x00\x08"), ValueError, "unsigned bytes"),
    (partial(conversions.read_idx, b"\x00\x00\x08\x02\x00\x00\x00\x01"), ValueError, "within its header"),
    (partial(conversions.read_idx, b"\x00\x00\x08\x01\x00\x00\x00\x03ab"), ValueError, r"shape \(3,\) but holds 2"),
    (partial(conversions.read_idx, b"\x00\x00\x08\x01\x00\x00\x00\x01ab"), ValueError, r"shape \(1,\) but holds 2"),
    *(
        (partial(conversions.uncompress, content), ValueError, NO_COMPRESS)
        for content in (b"", b"<html>", b"\x1f\x8b\x90abc", b"\x1f\x9d\x89abc")
    ),
    (partial(conversions.uncompress, b"\x1f\x9d\x90\x61\xfe\xff"), ValueError, "code 511 in a table of 257"),
    (partial(data.load, "iris"), ValueError, r"no data set 'iris'.*g50c"),
    (partial(data.load, "minst"), ValueError, r"Did you mean 'mnist'\?"),
    (partial(data.newsgroups_pair, "cats-dogs"), ValueError, r"no task 'cats-dogs'.*pc-mac"),
    (partial(text.find_text, "rcv1"), ValueError, r"no text set 'rcv1'; take one of real_sim"),
    (partial(published, "survey"), ValueError, r"paper='survey'; take one of: .*survey2008"),
    (partial(published, "survey2008", method="lapsvm_"), ValueError, r"method='lapsvm_'.*lapsvm_dual"),
    (partial(published_parameters, parameter="sigma"), ValueError, r"parameter='sigma'.*gaussian_sigma"),
    (partial(published_sizes, dataset="g50"), ValueError, r"dataset='g50'.*g50c"),
    (partial(Cell, "e", "m", "d", "s", {"X": np.zeros(2)}), TypeError, r"array.*arrays are made inside the cell"),
    (partial(paired_p_value, [1.0, 2.0], [1.0]), ValueError, ONE_EACH),
    (partial(paired_p_value, [1.0, math.nan], [1.0, 2.0]), ValueError, ONE_EACH),
    (partial(paired_p_value, [[1.0]], [[1.0]]), ValueError, ONE_EACH),
    (partial(significance_marks, {"a": {"s0": 1, "s1": 2}}, level=5), ValueError, "between 0 and 1"),
    (split([], [1]), ValueError, "no labelled sample"),
    (split([0], [-1]), ValueError, "index -1"),
    (split([0], [1, 0]), ValueError, "sample 0 2 times"),
    (split([0], [1], [2], [2]), ValueError, "sample 2 2 times"),
    (partial(Split, np.array([True, False]), np.array([1.5])), TypeError, "pass whole numbers"),
    *(
        (drawn(n, stratify, **more), ValueError, rf"n_labeled={n}")
        for stratify in (False, True)
        for n, more in ((2, {}), (94, {}), (9, {"n_test": 85}))
    ),
    *((drawn(9, stratify, n_test=-1), ValueError, "n_test=-1") for stratify in (False, True)),
    (
        partial(claims.work, Cell("claims", "astrology", "generated moons", "draw-00", {"draw": 0})),
        InvalidInputError,
        "there is no study 'astrology'",
    ),
    *((partial(gieseke_fits.task_named, name), ValueError, f"no set '{name}'") for name in ("usps_3_5", "iris")),
    (landmarks_without_kernel, ValueError, "landmarks need a kernel"),
    (partial(dealt, [0, 1, 2] * 8, 2, 3), ValueError, "did not meet all of 3 classes"),
    (partial(run_table, "tyo"), ValueError, r"no table 'tyo'.*lapsvm_svm"),
    *(
        (partial(Plan, ("digits 3-8",), **{name: n}), ValueError, rf"{name}=.*take 1 to")
        for name, n in (("n_tuning", 0), ("n_tuning", 21), ("n_fresh", 101))
    ),
    *(
        (partial(spectra.samples, name, 100), ValueError, NO_TASK)
        for name in ("coil20 3-8", "mnist 38", "digits a-b", "mnist")
    ),
    (
        partial(spectral_filters.work, Cell("spectral_filters", "gat", "blocks of homophily 0.5, draw 0", "drawn-00")),
        InvalidInputError,
        "there is no method 'gat'; take one of features, ",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_what_cannot_be_done_is_refused_and_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
