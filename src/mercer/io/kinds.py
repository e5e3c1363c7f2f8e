"""The kinds of things a file holds, besides plain numbers and text: one class each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._xp import issparse
from mercer.io.arrays import dtype_of, is_portable, portable, shape_of
from mercer.io.errors import ModelFileError

if TYPE_CHECKING:
    from mercer.io.codec import Decoder, Encoder

Put = Callable[[Any, str], Any]
Get = Callable[[Any], Any]

# So many keys of a dict may have one hash; of those nobody has chosen, hardly two do.
MOST_ALIKE = 16
# NumPy's characters have four bytes.
_CHARACTER, _PADDING = 4, 64


class Kind:
    """Contract: which things it takes, how they are written down as entries of a row, and the way back.

    ``put(part, where)`` is the description of a part, found at `where` below `path`; ``get(description)`` is
    the part again. `decode` may be given anything in its entries.
    """

    name: str = ""
    fields: tuple[str, ...] = ()

    def takes(self, x: Any) -> bool:
        raise NotImplementedError

    def encode(self, x: Any, put: Put, encoder: Encoder, path: str) -> dict[str, Any]:
        raise NotImplementedError

    def decode(self, row: dict[str, Any], get: Get, decoder: Decoder) -> Any:
        raise NotImplementedError


class SequenceKind(Kind):
    """A list or a tuple."""

    fields = ("items",)

    def __init__(self, cls: type):
        self.cls, self.name = cls, cls.__name__

    def takes(self, x):
        return type(x) is self.cls

    def encode(self, x, put, encoder, path):
        return {"items": [put(v, f"[{i}]") for i, v in enumerate(x)]}

    def decode(self, row, get, decoder):
        return self.cls(map(get, _list(row["items"])))


class DictKind(Kind):
    """A dict; keys may be anything that can be a key."""

    name = "dict"
    fields = ("items",)

    def takes(self, x):
        return type(x) is dict

    def encode(self, x, put, encoder, path):
        return {"items": [[put(k, ".keys()"), put(v, f"[{k!r}]")] for k, v in x.items()]}

    def decode(self, row, get, decoder):
        pairs = [(get(k), get(v)) for k, v in (_list(pair, 2) for pair in _list(row["items"]))]
        # Keys that share a hash, as numbers can be made to, are compared each with each.
        hashes = np.sort(np.array([hash(k) for k, _ in pairs], dtype=np.int64))
        if (hashes[MOST_ALIKE:] == hashes[:-MOST_ALIKE]).any():
            raise ModelFileError("the keys of a dict were chosen to make it slow")
        return dict(pairs)


class SliceKind(Kind):
    """The columns from here to there."""

    name = "slice"
    fields = ("items",)

    def takes(self, x):
        return type(x) is slice

    def encode(self, x, put, encoder, path):
        return {"items": [put(getattr(x, name), f".{name}") for name in ("start", "stop", "step")]}

    def decode(self, row, get, decoder):
        ends = [get(v) for v in _list(row["items"], 3)]
        if not all(v is None or type(v) is int for v in ends):
            raise ModelFileError("a slice is made of other things than whole numbers")
        return slice(*ends)


class BytesKind(Kind):
    """Bytes, as text whose letters have their numbers."""

    name = "bytes"
    fields = ("text",)

    def takes(self, x):
        return type(x) is bytes

    def encode(self, x, put, encoder, path):
        return {"text": put(x.decode("latin-1"), "")}

    def decode(self, row, get, decoder):
        text = get(row["text"])
        if type(text) is not str or not all(ord(letter) < 256 for letter in text):
            raise ModelFileError("bytes are given as something else than text with a letter for each")
        return text.encode("latin-1")


class ScalarKind(Kind):
    """A number, text or date of NumPy's."""

    name = "scalar"
    fields = ("dtype", "value")

    def takes(self, x):
        return isinstance(x, np.generic) and is_portable(np.asarray(x))

    def encode(self, x, put, encoder, path):
        stored = portable(np.asarray(x))
        value = int(stored.view(np.int64)) if stored.dtype.kind in "mM" else stored.item()
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        return {"dtype": stored.dtype.str, "value": put(value, "")}

    def decode(self, row, get, decoder):
        dtype = dtype_of(row["dtype"])
        value: Any = get(row["value"])
        wanted: type = {"b": bool, "f": float, "U": str, "S": str}.get(dtype.kind, int)
        if type(value) is not wanted:
            raise ModelFileError(f"a number of type {dtype} is given as {str(value)[:80]!r}")
        # Room is made for as many characters as the type has: those there are, and zeros at the end.
        if dtype.kind in "US" and dtype.itemsize > _CHARACTER * (len(str(value)) + _PADDING):
            raise ModelFileError(f"text of type {dtype} has {len(str(value)):,} characters")
        if dtype.kind == "S":
            value = str(value).encode("latin-1")
        return np.array(value, dtype=dtype)[()]


class ArrayKind(Kind):
    """An array of numbers, text or dates; arrays on the same memory are on the same memory again."""

    name = "array"
    fields = ("array", "shape")

    def takes(self, x):
        return type(x) in (np.ndarray, np.memmap) and is_portable(x)

    def encode(self, x, put, encoder, path):
        stored = portable(np.asarray(x))
        return {"array": encoder.array(stored), "shape": list(stored.shape)}

    def decode(self, row, get, decoder):
        i, shape = row["array"], shape_of(row["shape"])
        if type(i) is not int or not 0 <= i < len(decoder.arrays):
            raise ModelFileError(f"there is no array {str(i)[:80]} in it")
        stored = decoder.arrays[i]
        if stored.shape == shape:
            return stored.view()
        if not stored.flags.c_contiguous:
            raise ModelFileError("an array is given a shape that its data have not")
        return stored.reshape(shape)


class ObjectArrayKind(Kind):
    """An array of Python objects, item by item; such as labels and names that came from pandas."""

    name = "objects"
    fields = ("shape", "items")

    def takes(self, x):
        return type(x) is np.ndarray and x.dtype == object

    def encode(self, x, put, encoder, path):
        return {"shape": list(x.shape), "items": [put(v, f".flat[{i}]") for i, v in enumerate(x.flat)]}

    def decode(self, row, get, decoder):
        shape, items = shape_of(row["shape"]), _list(row["items"])
        # Checked before room is made: the shape may promise more than there is.
        if math.prod(shape) != len(items):
            raise ModelFileError(f"an array of shape {shape} has {len(items)} items")
        flat = np.empty(len(items), dtype=object)
        for i, v in enumerate(items):
            flat[i] = get(v)
        return flat.reshape(shape)


class SparseKind(Kind):
    """A sparse matrix by rows (CSR); other layouts become that."""

    name = "sparse"
    fields = ("data", "indices", "indptr", "shape", "matrix")

    def takes(self, x):
        return issparse(x) and type(x).__module__.startswith("scipy.sparse") and is_portable(x.data)

    def encode(self, x, put, encoder, path):
        from scipy.sparse import sparray

        csr = x.tocsr()
        parts = {name: put(getattr(csr, name), f".{name}") for name in ("data", "indices", "indptr")}
        return {**parts, "shape": list(csr.shape), "matrix": not isinstance(csr, sparray)}

    def decode(self, row, get, decoder):
        from scipy.sparse import csr_array, csr_matrix

        parts = tuple(get(row[name]) for name in ("data", "indices", "indptr"))
        shape = shape_of(row["shape"])
        kinds = [getattr(p, "dtype", np.dtype("O")).kind for p in parts]
        if any(getattr(p, "ndim", 0) != 1 for p in parts) or len(shape) != 2 or kinds[1:] != ["i", "i"]:
            raise ModelFileError("a sparse matrix is not made of data, indices and ends of rows")
        out = (csr_matrix if row["matrix"] is True else csr_array)(parts, shape=shape)
        # SciPy's loops take the indices as they are: one outside the matrix would read foreign memory.
        out.check_format(full_check=True)
        return out


class RandomKind(Kind):
    """The state of a random number generator of NumPy's."""

    name = "random"
    fields = ("legacy", "state")
    _BITS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

    def takes(self, x):
        if type(x) is np.random.RandomState:
            return type(x._bit_generator) is np.random.MT19937
        return type(x) is np.random.Generator and type(x.bit_generator).__name__ in self._BITS

    def encode(self, x, put, encoder, path):
        legacy = type(x) is np.random.RandomState
        return {
            "legacy": legacy,
            "state": put(x.get_state(legacy=False) if legacy else x.bit_generator.state, ""),
        }

    def decode(self, row, get, decoder):
        state = get(row["state"])
        name = state.get("bit_generator") if isinstance(state, dict) else None
        if name not in self._BITS or (row["legacy"] is True and name != "MT19937"):
            raise ModelFileError("it holds a random number generator that NumPy does not have")
        bits = getattr(np.random, name)(0)
        legacy = np.random.RandomState(bits) if row["legacy"] is True else None
        # NumPy's C code takes sizes of arrays and positions in them as they are.
        usual = bits.state if legacy is None else legacy.get_state(legacy=False)
        positions = state["state"].get("pos", 0), state.get("buffer_pos", 0)
        if not _alike(state, usual) or not (0 <= positions[0] <= 624 and 0 <= positions[1] <= 4):
            raise ModelFileError("the state of a random number generator makes no sense")
        if legacy is not None:
            legacy.set_state(state)
            return legacy
        bits.state = state
        return np.random.Generator(bits)


def _alike(a: Any, b: Any) -> bool:
    """Are both made of the same types, names and shapes of arrays?"""
    if isinstance(b, dict):
        return isinstance(a, dict) and set(a) == set(b) and all(_alike(a[k], b[k]) for k in b)
    if isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
    return type(a) is type(b)


def _list(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise ModelFileError(f"{str(value)[:80]} stands where a list should be")
    return value
