"""The container: a zip file with model.json and one .npy member an array, sealed by a checksum.

Members are stored, not compressed: nothing can unfold to more than the size of the file. The comment at
the end of the zip file holds the SHA-256 of every byte before it, so no altered byte goes unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zipfile
from collections.abc import Sequence
from typing import IO, Any, BinaryIO

import numpy as np

from mercer._memory import available_memory
from mercer.io import arrays
from mercer.io.arrays import Entry
from mercer.io.errors import ModelFileError

STRUCTURE = "model.json"
MOST_ARRAYS = 50_000
MOST_TEXT = 256 << 20
_DEEPEST_TEXT = 12
_SEAL = b"mercer sha256 "
_DIGEST = 64
_CHUNK = 1 << 20
# Objects of Python take so much more room than the text they are read from, at worst.
_UNFOLDING = 40
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
# The records at the end of a zip file, as its specification has them, and the most its list of members takes.
_END, _FAR_END, _LOCATOR = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q"), 20
_FAR = 0xFFFFFFFF
_MOST_DIRECTORY = 128 * (MOST_ARRAYS + 1)
# A match from every quote on, whatever follows: one that could fail would be tried again from the next.
_TEXT_IN_QUOTES = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)


# -- writing --------------------------------------------------------------------------------------


def write(file: IO[bytes], structure: dict[str, Any], members: Sequence[np.ndarray]) -> None:
    """Structure and arrays into an open file that has a name; the same content gives the same bytes."""
    structure = {**structure, "arrays": [Entry.of(a).line() for a in members]}
    text = json.dumps(structure, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(members) > MOST_ARRAYS or len(text) > MOST_TEXT:
        raise ModelFileError(
            f"it is made of {len(members):,} arrays and {len(text):,} bytes of other things; a file holds up "
            f"to {MOST_ARRAYS:,} and {MOST_TEXT:,}"
        )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _SEAL + b"0" * _DIGEST
        archive.writestr(zipfile.ZipInfo(STRUCTURE, _FIRST_DAY), text)
        for i, array in enumerate(members):
            member = zipfile.ZipInfo(_name(i), _FIRST_DAY)
            member.file_size = Entry.of(array).size  # known beforehand, large ones get the headers they need
            with archive.open(member, "w") as stream:
                arrays.write(stream, array)  # type: ignore[arg-type]
    # zipfile goes back to fill in sizes, so the checksum is that of the finished file.
    file.flush()
    with open(file.name, "rb") as finished:
        digest = _digest(finished, finished.seek(0, os.SEEK_END) - _DIGEST)
    file.seek(-_DIGEST, os.SEEK_END)
    file.write(digest)


def _name(i: int) -> str:
    return f"arrays/{i}.npy"


def _digest(file: BinaryIO, length: int) -> bytes:
    file.seek(0)
    sha = hashlib.sha256()
    while length > 0:
        part = file.read(min(_CHUNK, length))
        if not part:
            break
        sha.update(part)
        length -= len(part)
    return sha.hexdigest().encode("ascii")


# -- reading --------------------------------------------------------------------------------------


class Reader:
    """A sealed file, opened: `structure` first, then `arrays`, which the structure lists."""

    def __init__(self, file: BinaryIO):
        self._size = file.seek(0, os.SEEK_END)
        _check_seal(file, self._size)
        _check_directory(file, self._size)
        self._archive = zipfile.ZipFile(file)
        members = self._archive.infolist()
        names = [m.filename for m in members]
        if not names or names != [STRUCTURE, *(_name(i) for i in range(len(names) - 1))]:
            raise ModelFileError("its members are not model.json and a list of arrays")
        if len(names) > MOST_ARRAYS + 1:
            raise ModelFileError(f"it holds {len(names):,} members, more than any model has")
        for m in members:
            if m.compress_type != zipfile.ZIP_STORED or m.file_size != m.compress_size or m.flag_bits & 1:
                raise ModelFileError(f"its member {m.filename} is compressed or encrypted")
        # Members that overlap would make more of the file than there is.
        if sum(m.file_size for m in members) > self._size:
            raise ModelFileError("its members are larger than the file")
        self._members = members

    def structure(self) -> dict[str, Any]:
        """What model.json says."""
        member = self._members[0]
        room = available_memory()
        if member.file_size > MOST_TEXT or member.file_size * _UNFOLDING + self._size > room:
            raise ModelFileError(f"it is too large to load with {room / 1e9:.1f} GB of memory free")
        with self._archive.open(member) as stream:
            text = stream.read(member.file_size)
        _check_depth(text)
        structure = json.loads(text.decode("ascii"), parse_constant=_no_constant)
        if not isinstance(structure, dict):
            raise ModelFileError("its model.json is not a table of names and values")
        return structure

    def arrays(self, manifest: Any) -> list[np.ndarray]:
        """The arrays, each checked against its line of the manifest before room is made for it."""
        if not isinstance(manifest, list) or len(manifest) != len(self._members) - 1:
            raise ModelFileError("its list of arrays does not name the arrays there are")
        out = []
        for line, member in zip(manifest, self._members[1:], strict=True):
            entry = Entry.read(line)
            if entry.size != member.file_size:
                raise ModelFileError(f"{member.filename} has not the size of the array it should be")
            with self._archive.open(member) as stream:
                out.append(arrays.read(stream, entry))  # type: ignore[arg-type]
        return out


def _check_seal(file: BinaryIO, size: int) -> None:
    file.seek(0)
    if file.read(4) != b"PK\x03\x04":
        raise ModelFileError("it is not a model saved by mercer.save")
    tail = len(_SEAL) + _DIGEST
    file.seek(max(size - tail, 0))
    end = file.read(tail)
    if not end.startswith(_SEAL) or not re.fullmatch(rb"[0-9a-f]{64}", end[len(_SEAL) :]):
        raise ModelFileError("its end is missing, or it is another kind of zip file")
    if _digest(file, size - _DIGEST) != end[len(_SEAL) :]:
        raise ModelFileError("it was altered or damaged after it was saved: its checksum is wrong")


def _check_directory(file: BinaryIO, size: int) -> None:
    """Refuse a list of members that is longer than that of any model, before it is read."""
    end = size - _END.size - len(_SEAL) - _DIGEST
    file.seek(max(end, 0))
    mark, *_, length, _, comment = _END.unpack(file.read(_END.size))
    if mark != b"PK\x05\x06" or comment != len(_SEAL) + _DIGEST:
        raise ModelFileError("its end is missing, or it is another kind of zip file")
    if length == _FAR:  # of files beyond 4 GB: a longer record stands before this one
        file.seek(max(end - _LOCATOR - _FAR_END.size, 0))
        length = _FAR_END.unpack(file.read(_FAR_END.size))[-2]
    if length > _MOST_DIRECTORY:
        raise ModelFileError("it holds more members than any model has")


def _check_depth(text: bytes) -> None:
    """Brackets nest a few deep in every file this format has; more would exhaust the parser."""
    bare = _TEXT_IN_QUOTES.sub(b"", text)
    codes = np.frombuffer(bare, np.uint8)
    steps = np.isin(codes, np.frombuffer(b"[{", np.uint8)).astype(np.int8)
    steps -= np.isin(codes, np.frombuffer(b"]}", np.uint8)).astype(np.int8)
    if steps.size and int(np.cumsum(steps, dtype=np.int64).max()) > _DEEPEST_TEXT:
        raise ModelFileError("its model.json is nested more deeply than any model")


def _no_constant(name: str) -> Any:
    raise ModelFileError(f"its model.json holds {name}, which is no number there")
