"""Model files gone wrong, by accident and on purpose; and what must be true of each when it is loaded.

`run(count)` mutates small valid files `count` times, loads every mutant under watch, and counts outcomes.
Checksums are made right again for most of them, so that the layers behind the checksum are reached.
"""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import pickle
import struct
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sound import data, file_of, originals, parts, sealed, table, together
from watch import outcome, watched

from mercer import _state
from mercer.io import load
from mercer.io.codec import BY_NAME
from mercer.io.objects import classes

# -- mutations: bytes -----------------------------------------------------------------------------

Rng = np.random.Generator


def _flip(blob: bytes, rng: Rng) -> bytes:
    out = bytearray(blob)
    for _ in range(rng.integers(1, 9)):
        out[rng.integers(len(out))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def _truncate(blob: bytes, rng: Rng) -> bytes:
    return blob[: rng.integers(len(blob))]


def _cut(blob: bytes, rng: Rng) -> bytes:
    a, b = sorted(rng.integers(len(blob), size=2))
    return blob[:a] + blob[b:]


def _repeat(blob: bytes, rng: Rng) -> bytes:
    a, b = sorted(rng.integers(len(blob), size=2))
    return blob[:b] + blob[a:b] + blob[b:]


def _noise(blob: bytes, rng: Rng) -> bytes:
    a = int(rng.integers(len(blob)))
    noise = rng.bytes(int(rng.integers(1, 200)))
    return blob[:a] + noise + blob[a + len(noise) :]


def _resealed(mutation: Callable[[bytes, Rng], bytes]) -> Callable[[bytes, Rng], bytes]:
    def mutate(blob: bytes, rng: Rng) -> bytes:
        return sealed(mutation(blob[:-78], rng) + blob[-78:])

    mutate.__name__ = f"{mutation.__name__}_and_seal"
    return mutate


# -- mutations: members ---------------------------------------------------------------------------


def _members(blob: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def _swap_members(blob: bytes, rng: Rng) -> bytes:
    members = _members(blob)
    i, j = rng.integers(len(members), size=2)
    (a, x), (b, y) = members[i], members[j]
    members[i], members[j] = ((a, y), (b, x)) if rng.random() < 0.5 else ((b, y), (a, x))
    return together(members)


def _drop_member(blob: bytes, rng: Rng) -> bytes:
    members = _members(blob)
    members.pop(int(rng.integers(len(members))))
    return together(members)


def _extra_member(blob: bytes, rng: Rng) -> bytes:
    names = ["a" * 60_000, "../../escape.py", "/etc/passwd", "model.json", "arrays/0.npy", "arrays/999.npy"]
    members = _members(blob)
    extra = (names[rng.integers(len(names))], pickle.dumps({"a": 1}))
    members.insert(int(rng.integers(len(members) + 1)), extra)
    return together(members)


def _bomb(blob: bytes, rng: Rng) -> bytes:
    """Megabytes of zeros that take a few kilobytes, or members that lie on top of each other."""
    members = _members(blob)
    if rng.random() < 0.5:
        members[-1] = (members[-1][0], members[-1][1] + bytes(30_000_000))
        return together(members, zipfile.ZIP_DEFLATED)
    once = together([("model.json", members[0][1]), ("arrays/0.npy", bytes(200_000))])
    with zipfile.ZipFile(io.BytesIO(once)) as archive:
        start, at = archive.start_dir, archive.infolist()[1].header_offset
    entry = once[start : -22 - 78].split(b"PK\x01\x02")[2]
    many = [b"PK\x01\x02" + entry] * 100
    directory = b"PK\x01\x02" + once[start:].split(b"PK\x01\x02")[1] + b"".join(many)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 101, 101, len(directory), start, 78)
    assert at > 0
    return sealed(once[:start] + directory + end + once[-78:])


def _array_bytes(blob: bytes, rng: Rng) -> bytes:
    """Other numbers in an array, its header as it was."""
    structure, arrays = parts(blob)
    i = int(rng.integers(len(arrays)))
    head, body = arrays[i][:128], bytearray(arrays[i][128:])
    for _ in range(int(rng.integers(1, 5))):
        if len(body) < 8:
            break
        at = int(rng.integers(len(body) // 8)) * 8
        wild = [rng.bytes(8), bytes(8), b"\xff" * 8, *(struct.pack("<d", x) for x in (np.nan, 1e308))]
        wild += [struct.pack("<q", n) for n in (-5, 1 << 40)]
        body[at : at + 8] = wild[rng.integers(len(wild))]
    arrays[i] = head + bytes(body)
    return file_of(structure, arrays)


def _array_header(blob: bytes, rng: Rng) -> bytes:
    """Another dtype or shape in the header of an array, in the manifest, or in both."""
    structure, arrays = parts(blob)
    i = int(rng.integers(len(arrays)))
    line = structure["arrays"][i]
    dtypes = ["|O", "O", "<f8", "<f4", "<U99999999", "|V8", "<c16", "|S8", "<M8[us]", "|b1", "<U2", "", None]
    shapes = [[], [-1], [1 << 40, 1 << 40], [0, 1 << 47], [1] * 40, [2.0], ["3"], None, [-3, -8]]
    shapes.append(line["shape"][::-1])
    if rng.random() < 0.5:
        line["dtype"] = dtypes[rng.integers(len(dtypes))]
    else:
        line["shape"] = shapes[rng.integers(len(shapes))]
    if rng.random() < 0.6:
        text = f"{{'descr': '{line['dtype']}', 'fortran_order': False, 'shape': {line['shape']}, }}"
        text = text.replace("[", "(").replace("]", ")") if rng.random() < 0.5 else text
        arrays[i] = arrays[i][:10] + text.ljust(117).encode()[:117] + b"\n" + arrays[i][128:]
    return file_of(structure, arrays)


# -- mutations: what model.json says --------------------------------------------------------------

_CODE = "__import__('os').system('true')"
_NUMBERS = [True, False, -1, 0, 1, 2, 3.5, -0.0, 1e308, 10**30, 2**63, {"float": "nan"}, {"float": "inf"}]
_WORDS = ["", "x", "O", "|O", "\ud800", _CODE, "../../etc/passwd", "os.system", "kernels.Gaussian"]
_TAGS = [{"float": _CODE}, *({"@": i} for i in (0, 1, 2, -1, 10**9, True, "0", None))]
_CALLS = [{"__reduce__": ["os.system", ["true"]]}, {"py/object": "os.system"}, {"__class__": "os.system"}]
_NASTY: list[Any] = [None, [], {}, [[]], *_NUMBERS, *_WORDS, *_TAGS, *_CALLS]
_KEYS = ["", "x", "kind", "fit", "predict", "check_X", "__init__", "__class__", "__dict__", "__reduce__"]
_STRANGERS = ["os.system", "builtins.eval", "pickle.loads", "kernels.Nope", "subprocess.Popen"]


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every value inside."""
    out, stack = [], [tree]
    while stack:
        box = stack.pop()
        keys = list(box) if isinstance(box, dict) else range(len(box)) if isinstance(box, list) else []
        for key in keys:
            out.append((box, key))
            stack.append(box[key])
    return out


def _json_value(structure: Any, rng: Rng) -> None:
    for _ in range(int(rng.integers(1, 4))):
        places = _places(structure)
        box, key = places[rng.integers(len(places))]
        box[key] = copy.deepcopy(_NASTY[rng.integers(len(_NASTY))])


def _json_number(structure: Any, rng: Rng) -> None:
    """Numbers of the wrong size in places where numbers belong."""
    for _ in range(int(rng.integers(1, 3))):
        places = [
            (b, k) for b, k in _places(structure["objects"]) if isinstance(b[k], (int, float)) and k != "@"
        ]
        box, key = places[rng.integers(len(places))]
        old = box[key]
        new: list[Any] = [0, 1, -old, old + 1, old - 1, 10**18, -(10**18), 1e-320, 1e200, not old, float(old)]
        new.append({"float": "nan"})
        box[key] = new[rng.integers(len(new))]


def _json_text_value(structure: Any, rng: Rng) -> None:
    """A word from one place in another."""
    places = [(b, k) for b, k in _places(structure["objects"]) if isinstance(b[k], str)]
    (a, i), (b, j) = (places[n] for n in rng.integers(len(places), size=2))
    a[i] = b[j]


def _json_key(structure: Any, rng: Rng) -> None:
    boxes = [box[key] for box, key in _places(structure) if isinstance(box[key], dict)]
    box = boxes[rng.integers(len(boxes))]
    keys = list(box)
    if keys and rng.random() < 0.5:
        value = box.pop(keys[rng.integers(len(keys))])
        if rng.random() < 0.5:
            box[_KEYS[rng.integers(len(_KEYS))]] = value
    else:
        box[_KEYS[rng.integers(len(_KEYS))]] = copy.deepcopy(_NASTY[rng.integers(len(_NASTY))])


def _json_class(structure: Any, rng: Rng) -> None:
    rows = [r for r in structure["objects"] if r["kind"] == "object"]
    names = [*classes(), *_STRANGERS]
    rows[rng.integers(len(rows))]["class"] = names[rng.integers(len(names))]


def _json_kind(structure: Any, rng: Rng) -> None:
    rows = structure["objects"]
    kinds = [*BY_NAME, "?"]
    rows[rng.integers(len(rows))]["kind"] = kinds[rng.integers(len(kinds))]


def _json_reference(structure: Any, rng: Rng) -> None:
    """Another object in the place of one: later ones make circles, earlier ones wrong types."""
    places = [(b, k) for b, k in _places(structure) if isinstance(b[k], dict) and set(b[k]) == {"@"}]
    box, key = places[rng.integers(len(places))]
    box[key] = {"@": int(rng.integers(len(structure["objects"])))}


def _json_rows(structure: Any, rng: Rng) -> None:
    rows = structure["objects"]
    i, j = rng.integers(len(rows), size=2)
    if rng.random() < 0.5:
        rows[i], rows[j] = rows[j], rows[i]
    else:
        rows[i] = copy.deepcopy(rows[j])


def _json_doubling(structure: Any, rng: Rng) -> None:
    """A kernel that is the sum of itself and itself, many times over: small to say, endless to follow."""
    rows = structure["objects"]
    first = len(rows)
    rows.append({"kind": "object", "class": "kernels.Linear", "parameters": {}, "state": {}})
    levels = int(rng.integers(5, 40))
    for i in range(levels):
        pair = {"left": {"@": first + i}, "right": {"@": first + i}}
        if rng.random() < 0.2:
            pair["right"] = {"@": first}
        rows.append({"kind": "object", "class": "kernels.Sum", "parameters": pair, "state": {}})
    rows.append({"kind": "list", "items": [structure["root"], {"@": len(rows) - 1}]})
    structure["root"] = {"@": len(rows) - 1}


def _json_version(structure: Any, rng: Rng) -> None:
    key = ["format", "version", "mercer"][rng.integers(3)]
    structure[key] = [0, -1, 2, 10**9, "1", None, 1.0, True, "mercer", []][rng.integers(10)]


def _edited(edit: Callable[[Any, Rng], None]) -> Callable[[bytes, Rng], bytes]:
    def mutate(blob: bytes, rng: Rng) -> bytes:
        structure, arrays = parts(blob)
        edit(structure, rng)
        return file_of(structure, arrays)

    mutate.__name__ = edit.__name__
    return mutate


def _json_text(blob: bytes, rng: Rng) -> bytes:
    """Text that is no JSON, or JSON to choke on."""
    structure, arrays = parts(blob)
    text = json.dumps(structure).encode()
    a = int(rng.integers(len(text)))
    texts = [b"[" * 200_000, b'{"a":' * 100_000, b'"' * 99_999, b'"\\' * 50_000, b"1" * 50_000, b"-" * 9999]
    texts += [b"NaN", b"\xff\xfe", b"", text[:a], text + text, b"[" + text + b"]"]
    texts += [text[:a] + b"[" * 5000 + text[a:], text[:a] + b"\xe9" + text[a:], text.replace(b"null", b"NaN")]
    texts += [text.replace(b"1", b"9" * 5000), text.replace(b"0.", b"1e999")]
    return file_of(texts[rng.integers(len(texts))], arrays)


_BYTES = (_flip, _truncate, _cut, _repeat, _noise)
_EDITS = (
    _json_number,
    _json_text_value,
    _json_key,
    _json_class,
    _json_kind,
    _json_reference,
    _json_rows,
    _json_doubling,
    _json_version,
)
MUTATIONS: tuple[Callable[[bytes, Rng], bytes], ...] = (
    *_BYTES,
    *map(_resealed, _BYTES),
    _swap_members,
    _drop_member,
    _extra_member,
    _bomb,
    _array_bytes,
    _array_bytes,
    _array_header,
    *[_edited(_json_value)] * 6,
    *[_edited(edit) for edit in _EDITS for _ in range(2)],
    _json_text,
)


# -- many of them ---------------------------------------------------------------------------------


def run(count: int, seed: int = 0) -> Counter[str]:
    """Mutate, load and predict `count` times; outcomes, counted. The first that is not allowed is raised."""
    X, there = data()[0], table()
    files = originals()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mutant.mercer")
        for blob in files:  # what is imported and looked up once is, before the watch begins
            path.write_bytes(blob)
            assert outcome(path, X, there) == "predicts"
            repr(load(path))
        for cls in classes().values():
            _state.parameters_of(cls)
            if dataclasses.is_dataclass(cls):
                _state.types_of(cls)
        with watched():
            for i in range(count):
                rng = np.random.default_rng([seed, i])
                mutate = MUTATIONS[i % len(MUTATIONS)]
                path.write_bytes(mutate(files[rng.integers(len(files))], rng))
                try:
                    counts[outcome(path, X, there)] += 1
                except BaseException as error:
                    raise AssertionError(
                        f"mutant {i} of seed {seed} ({mutate.__name__}): {error!r}"
                    ) from error
    return counts


if __name__ == "__main__":
    import sys

    print(run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
