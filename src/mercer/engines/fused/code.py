"""From a recipe to a callable: compiled once, kept in memory and on disk."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from mercer.codegen.llvm import processor
from mercer.codegen.llvm.code import function
from mercer.engines.fused.recipe import Recipe

_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_RUN = ctypes.CFUNCTYPE(None, *[_POINTER] * 7, *[_INT] * 8)
_PACK = ctypes.CFUNCTYPE(None, *[_POINTER] * 3, *[_INT] * 8, _DOUBLE, _DOUBLE)
_BLOCK = ctypes.CFUNCTYPE(None, *[_POINTER] * 3, *[_INT] * 5)

# What emits IR is imported when there is something to compile: loading code from disk takes less than that.


def require_compiler(dtype: Any) -> None:
    """Raise whatever is wrong where code can't be made or run."""
    processor.host()
    packer(dtype)


def loops(recipe: Recipe) -> Any:
    """run(x, z, constants, sizes, inner products, V, out, i0, i1, tile0, tile1, J, stride, n, m)"""

    def emit() -> str:
        from mercer.engines.fused.loops import loops_ir

        return loops_ir(recipe, processor.host())

    return function(recipe, "run", _RUN, emit)


def packer(dtype: Any) -> Any:
    """pack(source, mean, out, stride, n, rows, d, width, offset, B, slot, scale, factor)"""
    name = np.dtype(dtype).name

    def emit() -> str:
        from mercer.engines.fused.packing import pack_ir

        return pack_ir(name)

    return function(("pack", name), "pack", _PACK, emit)


def block_product(entries: Any, sums: Any, columns: int, transposed: bool) -> Any:
    """times or times_transposed(K, V, out, rows, columns, stride of K, of V, of out)"""
    names = np.dtype(entries).name, np.dtype(sums).name
    name = "times_transposed" if transposed else "times"

    def emit() -> str:
        from mercer.engines.fused.blocks import blocks_ir

        return blocks_ir(processor.host(), *names, columns)

    return function(("blocks", *names, columns), name, _BLOCK, emit)
