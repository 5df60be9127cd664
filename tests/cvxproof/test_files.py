"""Files: written whole or not at all whoever writes, and read within bounds whatever they hold."""

import errno
import gzip
import io
import multiprocessing
import os
import resource
import stat
import threading
import zipfile

import numpy as np
import pytest
from forged import header, npy, zipped

import cvxproof
from cvxproof.archive import read_archive, write_archive
from cvxproof.exceptions import InvalidInputError, NotWrittenError
from cvxproof.files import BadContentError, Members, gunzip, npy_array, parse_json, read_file, replace_file

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


# Writing


def test_many_threads_write_to_one_path(tmp_path):
    path, errors = tmp_path / "it.txt", []

    def write(k):
        try:
            for _ in range(50):
                replace_file(path, bytes([k]) * 1000)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    content = path.read_bytes()
    assert len(content) == 1000
    assert len(set(content)) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_permissions_of_the_user(tmp_path):
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "new.txt", b"x")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "new.txt") == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o755])
def test_a_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "it.npz"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_archive(path, "toy", {}, {"x": np.ones(2)})
    assert mode_of(path) == mode
    assert read_archive(path, "toy")[1]["x"].sum() == 2


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / "it.txt"
    target.write_text("old")
    for name, leads in (("link", "far/it.txt"), ("second", "link"), ("dangling", "far/new.txt")):
        (tmp_path / name).symlink_to(leads)
        replace_file(tmp_path / name, name.encode())
        assert os.readlink(tmp_path / name) == leads
        assert (tmp_path / name).read_text() == name
    assert target.read_text() == "second"
    assert sorted(path.name for path in (tmp_path / "far").iterdir()) == ["it.txt", "new.txt"]
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(NotWrittenError, match=r"cannot write .*loop"):
        replace_file(tmp_path / "loop", b"x")


@pytest.mark.parametrize("length", [245, 255])
def test_long_names(tmp_path, length):
    path = tmp_path / ("n" * (length - 4) + ".npz")
    write_archive(path, "toy", {}, {"x": np.ones(2)})
    assert read_archive(path, "toy")[1]["x"].sum() == 2
    path = tmp_path / ("ü" * (length // 2))
    replace_file(path, b"x")
    assert read_file(path) == b"x"


def test_names_that_are_too_long_are_named(tmp_path):
    path = tmp_path / ("n" * 256)
    with pytest.raises(NotWrittenError, match=r"cannot write .*n{256}'.*[Nn]ame too long"):
        replace_file(path, b"x")
    with pytest.raises(InvalidInputError, match=r"n{256}' cannot be read: .*too long"):
        read_file(path)
    assert list(tmp_path.iterdir()) == []


def test_paths_with_a_zero_byte():
    with pytest.raises(InvalidInputError, match="is no path"):
        replace_file("a\0b", b"x")
    with pytest.raises(InvalidInputError, match="is no path"):
        read_file("a\0b")


def made(kind, path):
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    return path


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a device"])
@pytest.mark.timeout(20)
def test_what_is_no_plain_file_is_named(tmp_path, kind):
    path = made(kind, tmp_path / "it")
    with pytest.raises(InvalidInputError, match=rf"it' is {kind}; pass the name of a file"):
        replace_file(path, b"x")
    for read in (read_file, cvxproof.load_result):
        with pytest.raises(InvalidInputError, match=rf"it' is {kind}; pass the name of a file"):
            read(path)


def in_child(function, *arguments):
    """Run a function in a process of its own, whose limits are not ours, and return its exit code."""
    process = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def write_beyond_a_limit(path):
    """As on a full disk: the system takes the beginning of a file and refuses the rest."""
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**13, 2**13))
    noise = {"x": np.random.default_rng(0).normal(size=10**5)}
    for write in (lambda: replace_file(path, bytes(10**5)), lambda: write_archive(path, "toy", {}, noise)):
        with pytest.raises(NotWrittenError, match=r"cannot write .*it.npz'.*kept; make room") as caught:
            write()
        assert caught.value.errno == errno.EFBIG


def test_a_full_disk_keeps_the_old_file_and_names_the_path(tmp_path):
    path = tmp_path / "it.npz"
    path.write_bytes(b"old")
    assert in_child(write_beyond_a_limit, path) == 0
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(AS_ROOT, reason="the administrator may write anywhere")
def test_a_folder_that_cannot_be_written_into_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(NotWrittenError, match=r"cannot write .*it.txt': Permission denied"):
        replace_file(tmp_path / "it.txt", b"x")


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWrittenError, match=r"cannot write .*it.txt': (Not a directory|File exists)"):
        replace_file(tmp_path / "file" / "it.txt", b"x")


def test_the_error_survives_a_way_through_processes():
    import pickle

    error = pickle.loads(pickle.dumps(NotWrittenError(errno.ENOSPC, "cannot write 'it'")))
    assert (error.errno, str(error)) == (errno.ENOSPC, "cannot write 'it'")


# Reading


@pytest.mark.parametrize("text", ["[" * 10**5, '{"a":' * 10**5, "", "nul", "9" * 5000, b"\xff\xfe\x00"])
def test_what_is_no_json(text):
    with pytest.raises(BadContentError, match="it is no JSON"):
        parse_json(text)


def test_gzip(tmp_path):
    text = bytes(range(256)) * 100
    packed = gzip.compress(text)
    assert gunzip(packed) == text
    for bad in (b"", packed[:-1], packed + b"x", packed[:50], b"text", packed[:-5] + b"12345"):
        with pytest.raises(BadContentError):
            gunzip(bad)
    with pytest.raises(BadContentError, match=r"would be more than 8.* in memory"):
        gunzip(gzip.compress(bytes(10**8)))


def npz(method=zipfile.ZIP_DEFLATED, **members):
    content = {f"{name}.npy": one if isinstance(one, bytes) else npy(one) for name, one in members.items()}
    return zipped(content, method, seal=False)


@pytest.mark.parametrize(
    "array", [np.eye(3), np.asfortranarray(np.ones((2, 3))), np.array(1), np.array(["a", "ü"]), np.zeros((0, 4))]
)
def test_members_are_those_of_numpy(tmp_path, array):
    np.savez_compressed(tmp_path / "a.npz", a=array, b=[1])
    members = Members((tmp_path / "a.npz").read_bytes())
    with np.load(tmp_path / "a.npz") as numpys:
        assert list(members) == numpys.files
        np.testing.assert_array_equal(members["a"], numpys["a"])
        assert members["a"].flags.f_contiguous == numpys["a"].flags.f_contiguous
    assert members.shape("a") == array.shape
    assert "c" not in members
    assert members["a"].flags.writeable


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no zip archive"),
        (npz(a=b""), "'a' cannot be read"),
        (npz(a=header((10**9,))), "has the shape .* but other than 1000000000 numbers"),
        (npz(a=header((-1, -8)) + bytes(64)), "has the shape"),
        (npz(a=header((2**62, 2**62, 0))), "cannot be read"),
        (npz(a=header((10**12,), "<U0")), "other than 10*"),
        (npz(a=header((2,), "|O") + bytes(16)), "only pickle could read"),
        (npz(a=npy(np.zeros(2, [("x", "f8")]))), "which is no number, text or time"),
        (npz(a=b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535), "cannot be read"),
        (npz(a=b"\x93NUMPY\x03\x00\x02\x00\x00\x00{}"), "in version"),
        (npz(zipfile.ZIP_BZIP2, a=np.eye(2)), "only deflate is read"),
        (npz(zipfile.ZIP_LZMA, a=np.eye(2)), "only deflate is read"),
    ],
)
def test_bad_arrays_are_refused(content, says):
    with pytest.raises(BadContentError, match=says):
        Members(content)["a"]


def test_bombs_are_not_unpacked():
    bomb = npz(a=np.zeros(2 * 10**7), b=np.eye(2))
    assert len(bomb) < 200_000
    members = Members(bomb)
    np.testing.assert_array_equal(members["b"], np.eye(2))  # what was not asked for does no harm
    with pytest.raises(BadContentError, match=r"'a.npy' would be 160000128 bytes in memory, more than a file of this"):
        members["a"]


def test_what_is_asked_for_often_is_counted_often():
    members = Members(npz(a=np.zeros(5 * 10**6)))
    members["a"]
    with pytest.raises(BadContentError, match="more than a file of this size"):
        members["a"]


def test_two_members_of_one_name_are_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.npy", npy(1))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.npy", npy(2))
    with pytest.raises(BadContentError, match="one name"):
        Members(buffer.getvalue())


def test_longer_and_shorter_arrays_are_refused():
    for content in (npy(np.eye(2)) + b"x", npy(np.eye(2))[:-1]):
        with pytest.raises(BadContentError, match=r"has the shape \(2, 2\), but other than 4 numbers"):
            npy_array(content, "a")
