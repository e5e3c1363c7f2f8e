"""The container: what is in it, and what is refused before anything is made of it."""

import hashlib
import io
import json
import os
import zipfile

import numpy as np
import pytest

from mercer.io import archive, load
from mercer.io.archive import Reader
from mercer.io.errors import ModelFileError

MEMBERS = [np.arange(6.0).reshape(2, 3), np.array(["a", "b"])]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.mercer"
    with open(path, "xb") as file:
        archive.write(file, {"some": ["thing", None, 1.5]}, MEMBERS)
    return path


def test_round_trip(path):
    with open(path, "rb") as file:
        reader = Reader(file)
        structure = reader.structure()
        arrays = reader.arrays(structure.pop("arrays"))
    assert structure == {"some": ["thing", None, 1.5]}
    assert all(np.array_equal(a, b) for a, b in zip(arrays, MEMBERS, strict=True))


def test_it_is_an_ordinary_zip_file(path):
    with zipfile.ZipFile(path) as z:
        assert z.testzip() is None
        assert z.namelist() == ["model.json", "arrays/0.npy", "arrays/1.npy"]
        assert {i.compress_type for i in z.infolist()} == {zipfile.ZIP_STORED}
        assert json.loads(z.read("model.json"))["arrays"][1] == {"dtype": "<U1", "shape": [2], "order": "C"}
        assert z.comment.startswith(b"mercer sha256 ")


def test_sizes_beyond_32_bits(tmp_path, monkeypatch):
    """With the limit lowered, all numbers go the way those of files over 4 GB do."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    with open(tmp_path / "a", "xb") as file:
        archive.write(file, {}, MEMBERS)
    assert (tmp_path / "a").read_bytes().count(b"PK\x06\x06") == 1
    with open(tmp_path / "a", "rb") as file:
        reader = Reader(file)
        again = reader.arrays(reader.structure()["arrays"])
    assert all(np.array_equal(a, b) for a, b in zip(again, MEMBERS, strict=True))


def test_the_manifest_must_name_what_is_there(path):
    with open(path, "rb") as file:
        reader = Reader(file)
        manifest = reader.structure()["arrays"]
        for wrong in (None, manifest[:1], [*manifest, manifest[0]], manifest[::-1]):
            with pytest.raises(ModelFileError):
                reader.arrays(wrong)
        # A size that is not there is refused before room is made for it.
        with pytest.raises(ModelFileError, match="has not the size"):
            reader.arrays([{**manifest[0], "shape": [1 << 40]}, manifest[1]])


def test_too_large_for_this_machine(path, monkeypatch):
    monkeypatch.setattr(archive, "available_memory", lambda: 3000)
    with open(path, "rb") as file, pytest.raises(ModelFileError, match="too large to load with 0.0 GB"):
        Reader(file).structure()


def test_limits_are_those_of_writing_too(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_ARRAYS", 1)
    with open(tmp_path / "b", "xb") as file, pytest.raises(ModelFileError, match="made of 2 arrays"):
        archive.write(file, {}, MEMBERS)


@pytest.mark.parametrize("text", [b"[" * 13, b'{"a":[{"b":' * 9, b'"\\"[[["' + b"[" * 13])
def test_nesting_is_seen_without_following_it(text):
    with pytest.raises(ModelFileError, match="nested"):
        archive._check_depth(text)


@pytest.mark.parametrize(
    "text", [b'"' + b"[" * 99 + b'"', b'"\\"' + b"[" * 99, b"[]" * 99, b"", b'"' * 99, b'"a\\']
)
def test_brackets_in_text_do_not_count(text):
    archive._check_depth(text)


def test_brackets_of_hostile_text_are_counted_in_time():
    """Quotes that never end: a search that starts again at each of them would take hours."""
    archive._check_depth(b'"' + b'\\"' * 2_000_000)


def test_streams_without_an_end(path):
    with pytest.raises(ModelFileError, match="end is missing"):
        Reader(io.BytesIO(path.read_bytes()[:-1]))
    with pytest.raises(ModelFileError, match="altered or damaged"):
        Reader(io.BytesIO(path.read_bytes()[:-1] + b"0"))


def test_a_list_of_members_without_end_is_not_read(path, tmp_path):
    """An entry of 50 bytes becomes an object of a thousand: too many are refused unread."""
    blob = path.read_bytes()
    end = len(blob) - 22 - 78
    directory = int.from_bytes(blob[end + 12 : end + 16], "little")
    for length in (directory + (1 << 23), 1 << 31):
        longer = blob[: end + 12] + length.to_bytes(4, "little") + blob[end + 16 : -64]
        file = tmp_path / "long.mercer"
        file.write_bytes(longer + hashlib.sha256(longer).hexdigest().encode())
        with pytest.raises(ModelFileError, match="more members than any model"):
            load(file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mercer")
    for file in (tmp_path / "pipe.mercer", "/dev/zero"):
        with pytest.raises(ModelFileError, match="no ordinary file"):
            load(file)
