"""Files: what is written comes back to the last bit, and no other file is taken for one."""

import hashlib
import json
import math
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from forged import closed, header, npy, opened

import cvxproof
from cvxproof.archive import FORMAT_VERSION, read_archive, replace_file, write_archive
from cvxproof.exceptions import InvalidInputError, InvalidTypeError

HEADER = {"C": 0.1, "name": "ünï", "on": True, "no": None, "list": [1, [2.5, "x"]], "deep": {"a": {"b": 2**70}}}
ARRAYS = {"proof/K": np.arange(6.0).reshape(2, 3), "objective/y": np.array([1, -1]), "text": np.array(["a", "bcd"])}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "it.npz"
    write_archive(file, "toy", HEADER, ARRAYS)
    return file


def alike(a, b):
    """Whether two arrays are the same in type, shape, order and every bit."""
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()) and (
        a.flags.c_contiguous == b.flags.c_contiguous and a.flags.f_contiguous == b.flags.f_contiguous
    )


RNG = np.random.default_rng(0)
CASES = {
    "nothing": np.zeros((0, 3)),
    "number": np.array(2.5),
    "special": np.array([-0.0, 0.0, np.nan, np.inf, -np.inf, 5e-324]),
    "payload": np.array([0x7FF8000000000123], dtype="u8").view("f8"),
    "rows": RNG.standard_normal((4, 3)),
    "columns": np.asfortranarray(RNG.standard_normal((4, 3))),
    "empty columns": np.zeros((2, 0, 3), order="F"),
    "cube": np.asfortranarray(RNG.standard_normal((2, 3, 4))),
    "half": np.arange(3, dtype="f2"),
    "complex": np.array([1j, np.nan]),
    "swapped": np.arange(3, dtype=">i4"),
    "flags": np.array([True, False]),
    "bytes": np.array([b"a", b"bc"]),
    "words": np.array(["", "größer", "\ud800"]),
    "days": np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    "spans": np.array([1, 2], dtype="m8[ns]"),
}


@pytest.mark.parametrize("name", CASES)
def test_arrays_come_back_to_the_last_bit(tmp_path, name):
    write_archive(tmp_path / "a.npz", "toy", {}, {name: CASES[name]})
    _, arrays = read_archive(tmp_path / "a.npz", "toy")
    assert list(arrays) == [name]
    assert alike(arrays[name], CASES[name])
    assert arrays[name].flags.writeable


def test_views_keep_their_values_and_their_order(tmp_path):
    A = np.asfortranarray(RNG.standard_normal((6, 5)))
    views = {"strided": A[::2, 1:], "rows": np.ascontiguousarray(A)[:, 1:4], "turned": A.T, "reversed": A[::-1]}
    write_archive(tmp_path / "a.npz", "toy", {}, views)
    _, arrays = read_archive(tmp_path / "a.npz", "toy")
    for name, view in views.items():
        np.testing.assert_array_equal(arrays[name], view)
    assert arrays["strided"].flags.f_contiguous
    assert arrays["rows"].flags.c_contiguous


def test_header_comes_back(path):
    header, _ = read_archive(path, "toy")
    assert header == HEADER
    assert list(header) == list(HEADER)
    assert type(header["on"]) is bool


@pytest.mark.parametrize("x", [math.inf, -math.inf, -0.0, 0.1 + 0.2, 5e-324, 1.7976931348623157e308])
def test_numbers_of_the_header_come_back_to_the_last_bit(tmp_path, x):
    write_archive(tmp_path / "a.npz", "toy", {"x": [x], "y": np.float64(x)}, {})
    header, _ = read_archive(tmp_path / "a.npz", "toy")
    assert [one.hex() for one in (*header["x"], header["y"])] == [x.hex()] * 2


def test_nan_and_tuples_of_the_header(tmp_path):
    write_archive(tmp_path / "a.npz", "toy", {"x": (math.nan, 1)}, {})
    header, _ = read_archive(tmp_path / "a.npz", "toy")
    assert math.isnan(header["x"][0])
    assert header["x"][1:] == [1]


def test_same_content_is_the_same_file(tmp_path, path):
    write_archive(tmp_path / "again.npz", "toy", dict(HEADER), dict(ARRAYS))
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    write_archive(tmp_path / "again.npz", "toy", {**HEADER, "C": math.nextafter(0.1, 1)}, ARRAYS)
    assert (tmp_path / "again.npz").read_bytes() != path.read_bytes()


def test_equal_arrays_are_stored_once(tmp_path):
    A = RNG.standard_normal((50, 50))
    write_archive(tmp_path / "one.npz", "toy", {}, {"a": A})
    write_archive(tmp_path / "two.npz", "toy", {}, {"b": A, "a": A.copy(), "c": A.T, "d": A})
    with zipfile.ZipFile(tmp_path / "two.npz") as file:
        assert sorted(file.namelist()) == ["b.npy", "c.npy", "header.json"]
    assert (tmp_path / "two.npz").stat().st_size < 2.1 * (tmp_path / "one.npz").stat().st_size
    _, arrays = read_archive(tmp_path / "two.npz", "toy")
    assert list(arrays) == ["b", "a", "c", "d"]
    assert all(np.array_equal(arrays[name], A.T if name == "c" else A) for name in arrays)


def test_what_only_compares_equal_is_kept_apart(tmp_path):
    given = {"zero": np.zeros(2), "minus": -np.zeros(2), "whole": np.zeros(2, dtype=int), "wide": np.zeros((2, 1))}
    write_archive(tmp_path / "a.npz", "toy", {}, given)
    _, arrays = read_archive(tmp_path / "a.npz", "toy")
    assert all(alike(arrays[name], given[name]) for name in given)


def test_what_can_be_is_compressed(tmp_path):
    write_archive(tmp_path / "a.npz", "toy", {}, {"zeros": np.zeros(10**5), "noise": RNG.standard_normal(10**4)})
    with zipfile.ZipFile(tmp_path / "a.npz") as file:
        assert file.getinfo("zeros.npy").compress_size < 2000
        assert file.getinfo("noise.npy").compress_type == zipfile.ZIP_STORED


def test_numpy_and_unzip_read_it(path):
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["proof/K"], ARRAYS["proof/K"])
        document = json.loads(file["header.json"])
    assert (document["format_version"], document["package_version"]) == (FORMAT_VERSION, cvxproof.__version__)
    assert document["kind"] == "toy"


def test_some_of_the_arrays(path):
    assert list(read_archive(path, "toy", prefix="proof/")[1]) == ["proof/K"]
    assert sorted(read_archive(path, "toy", prefix=("proof/", "text"))[1]) == ["proof/K", "text"]


# Bad files


def refused(path, says, kind="toy", **more):
    with pytest.raises(InvalidInputError, match=says) as caught:
        read_archive(path, kind, **more)
    assert str(path) in str(caught.value)


def test_any_changed_byte_is_refused(path):
    """Also where only what is not returned has changed, and in places that zip archives do not check."""
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])
        with pytest.raises(InvalidInputError):
            read_archive(path, "toy", prefix="nothing")
    path.write_bytes(content)
    read_archive(path, "toy")


def test_any_missing_end_is_refused(path):
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(InvalidInputError):
            read_archive(path, "toy")
    path.write_bytes(content[: len(content) // 2])
    refused(path, "is truncated: .* after [0-9]+ bytes its end is missing; copy the whole file")
    path.write_bytes(content[:-3])
    refused(path, "does not match the checksum at its end")


@pytest.mark.parametrize(("before", "after"), [(b"", b"\0"), (b"", b"PK"), (b"#!/bin/sh\n", b"")])
def test_bytes_added_are_refused(path, before, after):
    path.write_bytes(before + path.read_bytes() + after)
    refused(path, "checksum|no archive")


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "it.npz"
    refused(path, "does not exist; check the name")
    refused(tmp_path, "is a folder; pass the name of a file")
    for content, says in (
        (b"", "is empty"),
        (b"alpha,b\n1,2\n", "begins with b'alpha,b"),
        (b"PK", "begins with b'PK'"),
    ):
        path.write_bytes(content)
        refused(path, f"{says}.*by save_result")
    np.savez(path, K=np.eye(2))
    refused(path, r"is a zip archive of \['K.npy'\], but none of cvxproof")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.json", json.dumps({"format": "another"}))
    refused(path, "but none of cvxproof")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.json", "[1, 2")
    refused(path, "but none of cvxproof")
    for value in (None, 3, "", np.eye(2)):
        with pytest.raises(InvalidTypeError, match=r"path=.* is no path"):
            read_archive(value, "toy")


def test_another_kind_is_refused(path):
    refused(path, "holds 'toy', not 'result'", kind="result")


def remade(path, change, members=None):
    """Change the document and the members of an archive, and mend its checksums, as a forger would."""
    document, content = opened(path.read_bytes())
    content.update(members or {})
    change(document, content)
    path.write_bytes(closed(document, content))


def test_a_newer_format_is_refused(path):
    remade(path, lambda document, _: document["header"].update(C=7.0))
    assert read_archive(path, "toy")[0]["C"] == 7.0  # what is changed in this way is read
    remade(path, lambda document, _: document.update(format_version=FORMAT_VERSION + 1, package_version="9.0"))
    refused(path, r"format version 2, written by cvxproof 9.0, but .* up to 1; use a newer one")
    remade(path, lambda document, _: document.update(format_version="new"))
    refused(path, "format version 'new'")


def test_a_header_that_does_not_match_its_checksum_is_refused(path):
    remade(path, lambda document, _: document.update(checksum="0" * 64))
    refused(path, "header that does not match its checksum '0000")


def test_arrays_that_do_not_match_their_checksum_are_refused(path):
    for other in (ARRAYS["proof/K"] + 1, ARRAYS["proof/K"].T, ARRAYS["proof/K"].astype("f4")):
        remade(path, lambda *_: None, {"proof/K.npy": npy(other)})
        refused(path, "array 'proof/K' that does not match its checksum '[0-9a-f]{64}'")


def test_what_only_pickle_could_read_is_refused(path, tmp_path):
    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "sprung"),))

    trap = npy(np.array([Trap()], dtype=object))

    def change(document, content):
        content["proof/K.npy"] = trap
        document["arrays"]["proof/K"].update(dtype="|O", shape=[1], sha256=hashlib.sha256(trap).hexdigest())

    remade(path, change)
    refused(path, "array 'proof/K' holds object, which only pickle could read")
    assert not (tmp_path / "sprung").exists()
    path.write_bytes(pickle.dumps(Trap()))
    refused(path, "no archive of cvxproof")
    assert not (tmp_path / "sprung").exists()


def _longer(document, content):
    content["proof/K.npy"] += bytes(8)
    document["arrays"]["proof/K"]["sha256"] = hashlib.sha256(content["proof/K.npy"]).hexdigest()


def _huge(document, content):
    content["proof/K.npy"] = header((2**40, 2**40))
    entry = {"shape": [2**40] * 2, "sha256": hashlib.sha256(content["proof/K.npy"]).hexdigest()}
    document["arrays"]["proof/K"].update(entry)


@pytest.mark.parametrize(
    "change",
    [
        _longer,
        _huge,
        lambda document, content: content.update({"more.npy": npy(np.eye(2))}),
        lambda document, content: content.pop("proof/K.npy"),
        lambda document, content: content.update({"proof/K.npy": b"text"}),
        lambda document, content: document.update(arrays=[1]),
        lambda document, content: document["arrays"].update({"proof/K": {}}),
        lambda document, content: document["header"].update(C={"float": "many"}),
    ],
    ids=["longer", "huge", "more", "less", "no npy", "no table", "no entry", "no float"],
)
def test_sealed_files_that_nobody_wrote_are_refused(path, change):
    remade(path, change)
    refused(path, "has the right checksum, but was not written by cvxproof: ")


# Bad input


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (np.array([{}], dtype=object), r"arrays\['x'\] holds object"),
        (np.zeros(2, dtype=np.longdouble), r"arrays\['x'\] holds (float|longdouble)"),
        (np.zeros(2, dtype=[("a", float)]), r"arrays\['x'\] holds \["),
        ([1.0, 2.0], r"arrays\['x'\]=\[1.0, 2.0\] is a list"),
        (np.ma.masked_array([1.0], [True]), "is a MaskedArray"),
        (np.float64(3), "is a float64"),
    ],
)
def test_arrays_that_a_file_cannot_hold(tmp_path, value, says):
    with pytest.raises(InvalidTypeError, match=says):
        write_archive(tmp_path / "a.npz", "toy", {}, {"x": value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "value", [{1, 2}, 1j, b"x", np.arange(3), np.int64(3), {1: 2}, object(), {"float": "inf"}, np.bool_(True)]
)
def test_headers_that_json_does_not_know(tmp_path, value):
    with pytest.raises(InvalidTypeError, match=r"header\['a'\]\[0\]=.* JSON does not know; pass"):
        write_archive(tmp_path / "a.npz", "toy", {"a": [value]}, {})


@pytest.mark.parametrize("name", ["", "/", "a\nb", "a\\b", 3])
def test_names_that_an_archive_cannot_hold(tmp_path, name):
    with pytest.raises(InvalidInputError, match="arrays holds the name"):
        write_archive(tmp_path / "a.npz", "toy", {}, {name: np.eye(2)})


def test_places_that_cannot_be_written(tmp_path):
    for place, says in ((tmp_path, "is a folder"), (tmp_path / "no" / "it.npz", "lies in no folder that exists")):
        with pytest.raises(InvalidInputError, match=says):
            write_archive(place, "toy", {}, {})
    with pytest.raises(InvalidTypeError, match="is no path"):
        write_archive(3, "toy", {}, {})


def test_a_file_is_the_old_one_or_the_new_one(path, monkeypatch):
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("cvxproof.archive.os.fsync", fail)
        with pytest.raises(OSError, match="No space"):
            write_archive(path, "toy", {}, {})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    replace_file(path.parent / "new" / "it.npz", b"x")
    assert (path.parent / "new" / "it.npz").read_bytes() == b"x"


def test_nothing_heavy_is_imported():
    code = "import sys, cvxproof.archive; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"flint", "cvxpy", "sklearn", "matplotlib"} & set(loaded)
