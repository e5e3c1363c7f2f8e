"""From objects to a flat table of plain descriptions, and back.

A value is a JSON scalar, or ``{"float": "inf"}``, or ``{"@": i}``: row i of the table. A row names its
kind (see `mercer.io.kinds`) and refers to earlier rows only, so there are no cycles to follow and no
nesting to fall into. An object met twice is one row, and one object again after loading.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._state import is_storable
from mercer.io import kinds, many
from mercer.io.errors import ModelFileError
from mercer.io.objects import ObjectKind, PipelineKind
from mercer.io.transformers import NAMES, TransformerKind

KINDS: tuple[kinds.Kind, ...] = (
    kinds.SequenceKind(list),
    kinds.SequenceKind(tuple),
    kinds.DictKind(),
    kinds.SliceKind(),
    kinds.BytesKind(),
    kinds.ScalarKind(),
    kinds.ArrayKind(),
    many.RaggedKind(),
    many.RecordsKind(),
    kinds.ObjectArrayKind(),
    kinds.SparseKind(),
    kinds.RandomKind(),
    PipelineKind(),
    TransformerKind(),
    ObjectKind(),
)
BY_NAME: dict[Any, kinds.Kind] = {kind.name: kind for kind in KINDS}
# Deeper objects would exhaust Python's stack when they are used.
_DEEPEST = 100
# Objects counted as often as they are met: shared parts could otherwise double at every level.
_HEAVIEST = 300_000
# No parameter or attribute can have this name.
REF = "@"
_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Encoder:
    """Rows and arrays for one object."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.arrays: list[np.ndarray] = []
        # By identity; the object is kept so that no other one takes its place.
        self._seen: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()
        self._memory: dict[Any, int] = {}
        self._sizes = _Sizes()

    def value(self, x: Any, path: str) -> Any:
        """The description of x; `path` says in errors where it was found."""
        if x is None or type(x) in (bool, str):
            return x
        if type(x) is int:
            if x.bit_length() > 10_000:
                raise ModelFileError(f"{path} is a whole number of more digits than files hold")
            return x
        if type(x) is float:
            return x if math.isfinite(x) else {"float": repr(x)}
        if id(x) not in self._seen:
            self._seen[id(x)] = (x, self._row(x, path))
        return {REF: self._seen[id(x)][1]}

    def _row(self, x: Any, path: str) -> int:
        identity = id(x)
        if identity in self._open:
            raise ModelFileError(f"{path} is part of itself, and can not be written down")
        if len(self._open) >= _DEEPEST:
            raise ModelFileError(f"{path[:200]}… is nested more than {_DEEPEST} deep")
        self._open.add(identity)
        x = _on_host(x)
        kind = next((kind for kind in KINDS if kind.takes(x)), None)
        if kind is None:
            raise ModelFileError(f"{path} is {_described(x)}")
        children: list[int] = []

        def put(child: Any, where: str) -> Any:
            said = self.value(child, path + where)
            children.extend(_references(said))
            return said

        row = {"kind": kind.name, **kind.encode(x, put, self, path)}
        self._open.discard(identity)
        self._sizes.add(children)
        self.rows.append(row)
        return len(self.rows) - 1

    def array(self, array: np.ndarray) -> int:
        """The number of the member for these data; arrays on the same memory share one."""
        order = "C" if array.flags.c_contiguous else "F"
        place = array.__array_interface__["data"][0]
        # (n,) and (n, 1) are the same data; transposes are not.
        key = (place, array.dtype.str, array.nbytes, order, array.shape if order == "F" else None)
        if array.nbytes == 0 or key not in self._memory:
            self._memory[key] = len(self.arrays)
            self.arrays.append(array)
        return self._memory[key]


class Decoder:
    """Objects from rows and arrays; what is wrong with them gives a ModelFileError."""

    def __init__(self, rows: Any, arrays: list[np.ndarray]):
        if not isinstance(rows, list):
            raise ModelFileError("its table of objects is no table")
        self.arrays = arrays
        self._rows = rows
        self._objects: list[Any] = []

    def root(self, said: Any) -> Any:
        """The object a description of `Encoder.value` speaks of."""
        self._measure(said)
        for row in self._rows:
            self._objects.append(self._object(row))
        return self._value(said)

    def _measure(self, root: Any) -> None:
        """Refuse what refers to later rows, is endless to follow or of no use, before anything is made."""
        sizes = _Sizes()
        used: set[int] = set()
        for i, row in enumerate([*self._rows, root]):
            children = _references(row)
            if any(not 0 <= c < i for c in children):
                raise ModelFileError("an object in it refers to one that is not there yet")
            used.update(children)
            if i < len(self._rows):
                sizes.add(children)
        if len(used) != len(self._rows):
            raise ModelFileError("it holds objects that are part of nothing")

    def _object(self, row: Any) -> Any:
        kind = BY_NAME.get(row.get("kind")) if isinstance(row, dict) else None
        if kind is None:
            what = repr(row.get("kind") if isinstance(row, dict) else row)[:80]
            raise ModelFileError(f"it holds an object of the unknown kind {what}")
        if set(row) != {"kind", *kind.fields}:
            raise ModelFileError(f"an object of kind {kind.name!r} has other entries than {kind.fields}")
        return kind.decode(row, self._value, self)

    def _value(self, said: Any) -> Any:
        if said is None or isinstance(said, (bool, int, float, str)):
            return said
        if isinstance(said, dict) and len(said) == 1:
            (tag, what) = next(iter(said.items()))
            if tag == "float" and isinstance(what, str) and what in _FLOATS:
                return _FLOATS[what]
            if tag == REF and type(what) is int:
                return self._objects[what]
        raise ModelFileError(f"{str(said)[:80]} is neither a value nor a reference to one")


def _references(said: Any) -> list[int]:
    """Rows a description refers to, as often as it does."""
    found, stack = [], [said]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if type(part.get(REF)) is int:
                found.append(part[REF])
            stack.extend(v for v in part.values() if isinstance(v, (dict, list)))
        elif isinstance(part, list):
            stack.extend(v for v in part if isinstance(v, (dict, list)))
    return found


class _Sizes:
    """How deep and how heavy every row is, given those it refers to."""

    def __init__(self) -> None:
        self._depth: list[int] = []
        self._weight: list[int] = []

    def add(self, children: list[int]) -> None:
        depth = 1 + max((self._depth[i] for i in children), default=0)
        weight = 1 + sum(self._weight[i] for i in children)
        if depth > _DEEPEST or weight > _HEAVIEST:
            raise ModelFileError(
                f"it is nested more than {_DEEPEST} deep, or made of more than {_HEAVIEST:,} parts"
            )
        self._depth.append(depth)
        self._weight.append(weight)


def _on_host(x: Any) -> Any:
    """A tensor as the array it holds; torch is not imported here, tensors bring it along."""
    tensor = type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "numpy")
    return x.numpy(force=True) if tensor else x


def _described(x: Any) -> str:
    """What something is that can't be saved, and what to do instead."""
    cls = type(x)
    if isinstance(x, type) or (callable(x) and hasattr(x, "__qualname__")):
        return (
            f"the Python function or class {getattr(x, '__qualname__', x)}: files hold data, not code. Use "
            "one of mercer's kernels, losses or feature maps there"
        )
    if cls.__module__.startswith("sklearn.") and is_storable(cls):
        why = ", whose function is code" if cls.__name__ == "FunctionTransformer" else ""
        if hasattr(x, "best_estimator_"):
            return f"a {cls.__name__} of {cls.__module__}: save its best_estimator_, which predicts the same"
        return (
            f"a {cls.__name__} of {cls.__module__}{why}. Of scikit-learn files hold {', '.join(NAMES)} and "
            "pipelines of these: save the parts that are among them, or use pickle, for readers who trust you"
        )
    if is_storable(cls):
        return (
            f"a {cls.__name__} of {cls.__module__}. Files hold objects of mercer's own classes only, since "
            "no code is ever loaded from them: save the parts that are mercer's, or use pickle, for readers "
            "who trust you"
        )
    dtype = f" of {x.dtype}" if isinstance(x, np.ndarray) else ""
    return (
        f"a {cls.__name__}{dtype}, which files have no form for. They hold mercer's own classes, numbers, "
        "text, dates, arrays, and lists, tuples and dicts of these"
    )
