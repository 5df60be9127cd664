"""What the real data sets are: one `Entry` each, with the sha256 that its archive must have.

An archive is ``<name>.npz``, plain arrays without pickled objects. Dense: ``X`` and ``y``. Sparse: ``data``,
``indices``, ``indptr`` and ``shape`` of a CSR matrix, and ``y``. Where there are published splits,
``labeled_idx`` has a row of labelled indices per repetition. Read the archives by `specmargin.datasets.load`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["LAYOUTS", "REGISTRY", "Entry"]

LAYOUTS = {
    "dense": "X (n, d) and y (n,) [labeled_idx (splits, l), n_train]",
    "sparse": "data, indices, indptr, shape of a CSR matrix, and y (n,) [labeled_idx, n_train, class_names]",
}


@dataclass(frozen=True)
class Entry:
    """A data set that `load` knows.

    Parameters
    ----------
    name : str
        File name without ``.npz``.
    summary : str
        Size, kind and origin in one line.
    scaling : str
        Units of the features.
    sha256 : str or None
        Of the archive; None where there is none because the set comes with scikit-learn.
    layout : {"dense", "sparse"}
        Which arrays the archive holds.
    source : {"archive", "download", "formula", "bundled"}
        Where the set comes from when no folder holds it: nowhere, the network, a generator, scikit-learn.
    image_shape : tuple of int, optional
        Rows and columns of an image that is stored row by row.
    """

    name: str
    summary: str
    scaling: str
    sha256: str | None
    layout: Literal["dense", "sparse"] = "dense"
    source: Literal["archive", "download", "formula", "bundled"] = "archive"
    image_shape: tuple[int, int] | None = None


_ENTRIES = (
    Entry(
        "g50c",
        "550 x 50, 2 classes, 10 published splits: two Gaussians with 5 % Bayes error (Chapelle & Zien 2005)",
        "as published, unit variance within a class",
        "9d76d11620160ac8110b707ff010259ffac250fa6b2fdd21b2d1cde2321a00a8",
    ),
    Entry(
        "g10n",
        "550 x 10, 2 classes, 10 published splits: a non-linear problem (Chapelle & Zien 2005)",
        "as published",
        "d299475bc5bc1de2491959e3ba3850d7ac6b6fe01a4eaf36d00c30d909fa22fc",
    ),
    Entry(
        "uspst",
        "2007 x 256, 10 classes, 10 published splits: USPS digits, smoothed (Chapelle & Zien 2005)",
        "as published, -0.9375 to 0.9375 in steps of 1/16",
        "a5b93f0d72bbbf7b5440132634570e9477c4d55953007570b42d86c7f9ad23aa",
        image_shape=(16, 16),
    ),
    Entry(
        "usps",
        "9298 x 256, 10 classes, 7291 to train and 2007 to test: USPS postal digits (Hull 1994)",
        "-1 to 1",
        "8d6be394ab6579a6528b0d7855a58154ec8fc872a55fd3bb0f1613337139b75c",
        source="download",
        image_shape=(16, 16),
    ),
    Entry(
        "mac_windows",
        "1946 x 7511 sparse, 2 classes, 10 published splits: newsgroups, Mac hardware (0), MS Windows (1)",
        "tf-idf, rows of unit length",
        "b0b1dc7f9f6f9079c593c31b28f653db83dfbb5c8d5805d554abee3d4dbaa182",
        layout="sparse",
    ),
    Entry(
        "pcmac_counts",
        "1943 x 3289 sparse, 2 classes: newsgroups, PC (0) and Mac (1) hardware, vocabulary cut",
        "word counts",
        "e9ca48625fd8438239fbda0bc2b61a973901a7330e50cf71947572a65831a965",
        layout="sparse",
    ),
    Entry(
        "coil20",
        "1440 x 1024, 20 classes: objects on a turntable, 72 views each in order of angle (COIL-20, 1996)",
        "grey / 255, 0 to 1",
        "9425f6a1350b59e022b1a8431037cd820963f2a04299558df828b84239e6317a",
        image_shape=(32, 32),
    ),
    Entry(
        "mnist",
        "70000 x 784, 10 classes, 60000 to train and 10000 to test: handwritten digits (LeCun et al. 1998)",
        "raw grey 0 to 255 as uint8; convert before arithmetic",
        "9c1bb300cb73131fe4fa4a7e9899594a0a551df9477e89a128c2993ade19c749",
        source="download",
        image_shape=(28, 28),
    ),
    Entry(
        "isolet",
        "7797 x 617, 26 classes, 6238 to train: letters spoken by 150 people, with `speaker` and `group` "
        "(Cole & Fanty 1990)",
        "-1 to 1",
        "913cceb6d83a1cf80309e457717d3ab6c84274029b8e9b152fe05bf68e703d91",
        source="download",
    ),
    Entry(
        "cbcl_faces",
        "31021 x 361, 2 classes, 6977 to train: faces (1) and other image parts (0) (MIT CBCL face database 1); the "
        "public files have one test image more",
        "histogram-equalised grey, 0 to 1",
        "599a83619248c443b4ed36340e9a1dfce91ee6bad792ed1ae8a13e63fc0678dc",
        source="download",
        image_shape=(19, 19),
    ),
    Entry(
        "20news",
        "18846 x 63294 sparse, 20 classes, 11314 to train: newsgroups by date, subject and body (Lang 1995)",
        "word counts",
        "cdfdd36a2d910cc2847a85de13028b244abb1902fc25eee4f5a9c050d905a6a9",
        layout="sparse",
        source="download",
    ),
    Entry(
        "rcv1_ccat_sample",
        "1747 x 47236 sparse, 2 classes: Reuters stories, topic CCAT (1) or not (0) (Lewis et al. 2004)",
        "log tf-idf, rows of unit length",
        "e635a93f8fea7943d8966a2e7c449359b94113a90272a61089b8ef9389cc85ee",
        layout="sparse",
    ),
    Entry(
        "two_moons",
        "200 x 2, 2 classes, and 200 test points: the figures of the manifold-regularization paper",
        "as published",
        "dcf8e6643fe32c9b6cb2f091e46bb36da8f4cf56414142f8730c7cd23b439eb6",
    ),
    Entry(
        "clock",
        "147 x 2, 2 classes: a dial and two hands, from the primal LapSVM paper",
        "as published",
        "fb734bef9351f6ebd7b77a5d892f5de154e93396eb0f9889e07afca3b4f56d1a",
        source="formula",
    ),
    Entry(
        "two_circles",
        "315 x 2, 2 classes: concentric circles",
        "as published",
        "6812a5146795964a4bd7534c2655045ba28003fb8c3a7c9d302579dc17f1b688",
    ),
    Entry(
        "two_spirals",
        "194 x 2, 2 classes: interlocked spirals",
        "as published",
        "f18ab034441b4e2b4ba765b1fe2ee81799ebf7fa84af31bcd7e1214e85199132",
    ),
    Entry(
        "digits",
        "1797 x 64, 10 classes: the small digits that come with scikit-learn",
        "grey levels 0 to 16",
        None,
        source="bundled",
        image_shape=(8, 8),
    ),
)

REGISTRY: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
"""The entries by name."""
