"""From a recipe to a callable: compiled once, kept in memory and on disk."""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

import numpy as np

from mercer.codegen.llvm import processor
from mercer.codegen.llvm.code import function
from mercer.engines.fused.recipe import Recipe

_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_RUN = ctypes.CFUNCTYPE(None, *[_POINTER] * 7, *[_INT] * 8)
_PACK = ctypes.CFUNCTYPE(None, *[_POINTER] * 3, *[_INT] * 8, _DOUBLE, _DOUBLE)
_BLOCK = ctypes.CFUNCTYPE(None, *[_POINTER] * 3, *[_INT] * 5)


def require_compiler(dtype: Any) -> None:
    """Raise whatever is wrong where code can't be made or run."""
    processor.host()
    packer(dtype)


def _emit(module: str, *args: Any) -> str:
    """IR from a module that is imported only now: loading code from disk takes less time than that."""
    emitter = import_module(f"mercer.engines.fused.{module}")
    return getattr(emitter, f"{module}_ir")(processor.host(), *args)


def loops(recipe: Recipe) -> Any:
    """run(x, z, constants, sizes, inner products, V, out, i0, i1, tile0, tile1, J, stride, n, m)"""
    return function(recipe, "run", _RUN, lambda: _emit("loops", recipe))


def packer(dtype: Any) -> Any:
    """pack(source, mean, out, stride, n, rows, d, width, offset, B, slot, scale, factor)"""
    name = np.dtype(dtype).name
    return function(("pack", name), "pack", _PACK, lambda: _emit("packing", name))


def block_product(entries: Any, sums: Any, columns: int, transposed: bool) -> Any:
    """times or times_transposed(K, V, out, rows, columns, stride of K, of V, of out)"""
    key = np.dtype(entries).name, np.dtype(sums).name, columns
    name = "times_transposed" if transposed else "times"
    return function(("blocks", *key), name, _BLOCK, lambda: _emit("blocks", *key))
