"""A small part of Python, compiled: numbers, arrays, `for`, `while` and `if`.

Loops that go from one number to the next (an example at a time, a letter at a time) are slow in NumPy and
short in plain Python. Written in this subset they are both: Python runs them as they stand, which is what
tests and machines without LLVM do, and `compiled` turns the same source into machine code.

Parameters are annotated: ``int``, ``float``, an array as ``"f64[:]"``, ``"i64[:]"``, ``"f32[:,:]"`` (or
``"i32[:]"``, which is only read), or a function that returns nothing, with what it takes:
``"function(f64[:], int)"``; ``T`` in place of a number type is filled in when compiling. What travels
together is a record, a NamedTuple with such fields. A local variable has the type of the first thing it is
given; numbers in capitals are constants of the module. Sums may be reordered, as for vectors they must be.

Integers have 64 bits: of what ``+``, ``-``, ``*`` and ``<<`` give in Python, the last 64. ``&``, ``|``,
``^``, ``~`` and ``>>`` (which brings the sign in from the left) are what they are in Python. A shift may be
by any number of places but a negative one.

Nothing outside of an array is read or written. Arrays are checked when a function is called (rows contiguous,
aligned, not overlapping where one is written), and every index against the length of its axis: one that is
outside, negative ones included, ends the function with an IndexError, and so does a shift by less than no
places. What was written before stays written.
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import addressof
from operator import index
from types import FunctionType
from typing import Any

import numpy as np

from mercer.codegen.subset.grammar import (
    ArrayOf,
    FunctionOf,
    RecordOf,
    Unsupported,
    array_type,
    names_of,
    record_type,
    records_of,
    tree_of,
    types_of,
    written,
)

__all__ = ["Callback", "Compiled", "Emitted", "Unsupported", "compiled", "source_of"]

_DTYPES = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
}
_BYTE = ctypes.c_char
_NUMBERS: dict[str, Any] = {"int": ctypes.c_int64, "float": ctypes.c_double}
# As `subset_values` has them; what emits IR is imported only when there is something to compile.
_LINE_BITS, _CALLED_BACK = 32, -1


def _flat_types(kind: Any) -> list[Any]:
    """What is handed over for one parameter."""
    if isinstance(kind, ArrayOf):
        return [ctypes.c_void_p, *[ctypes.c_int64] * (1 if kind.axes == 1 else 3)]
    return [ctypes.c_int64 if isinstance(kind, FunctionOf) else _NUMBERS[kind]]


def _each(parameters: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Names and types of parameters, with what records hold in place of the records."""
    out = []
    for name, kind in parameters:
        inner = [(f"{name}.{field}", k) for field, k in kind.fields] if isinstance(kind, RecordOf) else []
        out += inner or [(name, kind)]
    return out


class Compiled:
    """A function of the subset in machine code, called with arrays and numbers."""

    def __init__(
        self, sources: Sequence[str], fill: str, constants: dict, records: Mapping[str, type] | None = None
    ):
        from mercer.codegen.llvm import code

        self._sources, self._records = tuple(sources), records or {}
        trees = [tree_of(source) for source in sources]
        types = {name: record_type(inspect.getsource(cls), fill) for name, cls in self._records.items()}
        self.kinds, result = types_of(trees[-1], fill, types)
        self.returns = result is not None
        changed = written(trees)
        # What __call__ looks at: the name, the type, the dtype of an array, whether it is written to.
        self._plan = [
            (name, kind, _DTYPES[kind.entries] if isinstance(kind, ArrayOf) else None, name in changed)
            for name, kind in _each(zip(names_of(trees[-1]), self.kinds, strict=True))
        ]
        flat = [part for _, kind, _, _ in self._plan for part in _flat_types(kind)]
        self._result = None if result is None else _NUMBERS[result]
        text = "\n".join([*sources, repr(types), repr(sorted(constants.items()))])
        digest = hashlib.sha256(text.encode()).hexdigest()

        def emit() -> str:
            from mercer.codegen.subset.statements import subset_ir

            return subset_ir(sources, fill, constants, types)

        last = [] if result is None else [ctypes.c_void_p]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *flat, *last)
        self._run = code.function(("subset", fill, digest), trees[-1].name, prototype, emit)
        # Where the machine code is, to be handed to another function of the subset.
        self.address: int = ctypes.cast(self._run, ctypes.c_void_p).value or 0

    def __call__(self, *args: Any) -> Any:
        flat: list[Any] = []
        spans: list[tuple[int, int, bool]] = []
        every = self._spread(args) if self._records else args
        for value, (name, kind, dtype, changed) in zip(every, self._plan, strict=True):
            if dtype is not None:
                _hand_over(name, value, kind.axes, dtype, changed, flat, spans)
            elif kind == "int":
                flat.append(_integer(value))
            else:
                flat.append(float(value) if kind == "float" else _address(value, kind))
        _require_apart(spans)
        if self._result is None:
            fault = self._run(*flat)
        else:
            result = self._result()
            fault = self._run(*flat, ctypes.byref(result))
        if fault:
            self._raise(fault, every)
        return None if self._result is None else result.value

    def _spread(self, args: Sequence[Any]) -> list[Any]:
        """Arguments with what records hold in place of the records."""
        out: list[Any] = []
        for value, kind in zip(args, self.kinds, strict=True):
            if not isinstance(kind, RecordOf):
                out.append(value)
            elif isinstance(value, self._records[kind.name]):
                out += tuple(value)  # type: ignore[arg-type]
            else:
                raise TypeError(f"a record {kind.name} is needed, got {type(value).__name__}")
        return out

    def _raise(self, fault: int, args: Sequence[Any]) -> None:
        if fault == _CALLED_BACK:
            for value in args:
                error = getattr(value, "error", None)
                if error is not None:
                    value.error = None
                    raise error
        if fault < 0 or fault >> _LINE_BITS > len(self._sources):
            raise IndexError("an index outside of its array, in a function that was handed over")
        source = textwrap.dedent(self._sources[(fault >> _LINE_BITS) - 1])
        line = source.splitlines()[(fault & ((1 << _LINE_BITS) - 1)) - 1].strip()
        raise IndexError(
            f"an index outside of its array, a number that is no integer, or a negative shift: {line}"
        )


def _hand_over(name, value, axes, dtype, changed, flat, spans) -> None:
    """An array as pointer and sizes, if it is what the code takes it for."""
    if type(value) is not np.ndarray and not isinstance(value, np.memmap):
        raise TypeError(f"{name}: an array is needed, got {type(value).__name__}")
    shape, strides, flags, item = value.shape, value.strides, value.flags, dtype.itemsize
    wrong = value.dtype != dtype or len(shape) != axes or not flags.aligned
    if wrong or not (strides[-1] == item or shape[-1] <= 1):
        raise TypeError(
            f"{name}: an aligned array of {dtype} with {axes} axes, in rows, is needed; got {value.dtype}, "
            f"shape {shape}, strides {strides}"
        )
    if changed and not flags.writeable:
        raise ValueError(f"{name} is read-only, and would be written to")
    # NumPy's own way takes longer than everything else here.
    quick = flags.carray and value.size
    first = addressof(_BYTE.from_buffer(value)) if quick else value.ctypes.data  # type: ignore[arg-type]
    flat.append(first)
    flat += shape
    apart = strides[0] if axes == 2 and shape[0] > 1 else shape[-1] * item
    if apart % item or apart < (shape[-1] * item if changed and axes == 2 else 0):
        raise TypeError(f"{name}: rows overlap or run backwards, strides are {strides}")
    if axes == 2:
        flat.append(apart // item)
    if value.size:
        rows = shape[0] if axes == 2 else 1
        spans.append((first, first + (rows - 1) * apart + shape[-1] * item, changed))


def _integer(value: Any) -> int:
    value = index(value)
    if not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} has more than 64 bits")
    return value


def _address(value: Any, kind: FunctionOf) -> int:
    """Where a function that is handed over begins, if it takes what it will be given."""
    if isinstance(value, Callback):
        return value.address
    if not isinstance(value, Compiled | Emitted) or value.returns or tuple(value.kinds) != kind.parameters:
        raise TypeError(f"a compiled function of {kind.parameters} without a result is needed, got {value!r}")
    return value.address


def _require_apart(spans: list[tuple[int, int, bool]]) -> None:
    """Code takes it that what it writes is read by no other name."""
    spans.sort()
    end, changing = 0, 0  # of all so far, and of those that are written
    for first, last, changed in spans:
        if first < (end if changed else changing):
            raise ValueError("two arrays share memory, and one of them is written to")
        end = max(end, last)
        changing = max(changing, last) if changed else changing


class Emitted:
    """A function that was emitted otherwise, to be handed to a function of the subset.

    It takes arrays of these types (pointer and lengths of each) and returns 0.
    """

    returns = False

    def __init__(self, kinds: Sequence[str], name: str, key: Any, emit: Callable[[], str]):
        from mercer.codegen.llvm import code

        self.kinds = [array_type(kind) for kind in kinds]
        flat = [part for kind in self.kinds for part in _flat_types(kind)]
        self._run = code.function(key, name, ctypes.CFUNCTYPE(ctypes.c_int64, *flat), emit)
        self.address: int = ctypes.cast(self._run, ctypes.c_void_p).value or 0


class Callback:
    """A Python function without arguments, to be handed to a function of the subset in place of a compiled
    one.

    What it is called with is dropped: it reads and writes arrays that both sides know. If it raises, the
    function that called it ends there, and its caller gets the error.
    """

    def __init__(self, function: Callable[[], None]):
        # More arguments than are given would be read from nowhere; the caller's are left where they are.
        self.error: BaseException | None = None

        def run() -> int:
            try:
                function()
            except BaseException as error:  # can't pass through machine code
                self.error = error
                return _CALLED_BACK
            return 0

        self._run = ctypes.CFUNCTYPE(ctypes.c_int64)(run)
        self.address: int = ctypes.cast(self._run, ctypes.c_void_p).value or 0


def source_of(function: Callable) -> str:
    """The source of a function of the subset."""
    return textwrap.dedent(inspect.getsource(function))


def _with_those_they_call(functions: Sequence[Callable | str]) -> list[Callable | str]:
    """These functions, each after those of its module that it calls."""
    out: list[Callable | str] = []

    def visit(function: Any) -> None:
        if function in out:
            return
        if not isinstance(function, str):
            for name in function.__code__.co_names:
                called = function.__globals__.get(name)
                if isinstance(called, FunctionType) and called is not function:
                    visit(called)
        out.append(function)

    for function in functions:
        visit(function)
    return out


def compiled(functions: Sequence[Callable | str], dtype: Any = np.float64) -> Compiled | None:
    """The last of some functions (or sources) in machine code, or None where LLVM does not work.

    Parameters
    ----------
    functions : each may call those before it, and functions of its module
    dtype : of arrays of ``T``

    Examples
    --------
    >>> import numpy as np
    >>> def dot(a: "f64[:]", b: "T[:]", n: int) -> float:
    ...     total = 0.0
    ...     for i in range(n):
    ...         total += a[i] * b[i]
    ...     return total
    >>> a, b = np.arange(5.0), np.ones(5, np.float32)
    >>> dot(a, b, 5)
    np.float64(10.0)
    >>> source = '''
    ... def dot(a: "f64[:]", b: "T[:]", n: int) -> float:
    ...     total = 0.0
    ...     for i in range(n):
    ...         total += a[i] * b[i]
    ...     return total
    ... '''
    >>> compiled([source], np.float32)(a, b, 5)
    10.0
    """
    fill = {"float64": "f64", "float32": "f32"}[np.dtype(dtype).name]
    functions = _with_those_they_call(functions)
    sources = [f if isinstance(f, str) else source_of(f) for f in functions]
    constants: dict[str, float] = {}
    for f in functions:
        here = {} if isinstance(f, str) else f.__globals__
        constants |= {k: v for k, v in here.items() if k.isupper() and type(v) in (int, float)}
    try:
        return Compiled(sources, fill, constants, records_of(functions))
    except Unsupported:
        raise
    except Exception:  # no LLVM, or one that can't work here: Python does the same, slowly
        return None
